//! Discrete Gaussian noise of a large scale, enclosed between two kinds of continuous noise.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat};

use super::elementary::exp;
use super::pair::{Buckets, DominatingPair, Grid, Inner, LogConcaveNoise};
use super::{GaussianPair, SampledPair};

/// Bounds on the loss of several copies of one release: a dominating pair `above` gives an upper
/// bound, and a pair `below`, if known, gives a lower bound. Compositions are computed with these
/// two pairs.
///
/// Let `(P, Q)` be the pair of all these releases, and `f` the `failure`. Two conditions must hold:
/// - Let `A` be the pair of `times` releases with `above`. Take the hockey-stick divergences of
///   `(P, Q)` and of `A` at any positive or negative epsilon. The first condition is: the
///   divergence of `(P, Q)` is at most `f + (1 - f) a`, where `a` is the divergence of `A`. So
///   `(P, Q)` is dominated by `A` together with an event of probability `f` that reveals all data.
///   So the delta of a composition is at most the delta of the composition of all `A`, plus the sum
///   of all `f`.
/// - Let `(C, D)` be the pair of `times` releases with `below`. The second condition is: there is a
///   (possibly random) function of the output with two properties. If the output has the law `P`,
///   the law of the result is at least `(1 - f) C`. If the output has the law `Q`, the law of the
///   result is at most `D / (1 - f)`. For a composition, let `P`, `Q`, `C` and `D` now be the
///   products of these distributions over all releases. Let `F` be the sum of all `f`, and let
///   `F <= 1/3`. Let `delta` be the delta of `(C, D)`: the largest `C(E) - e^epsilon D(E)` of any
///   event `E`. Take an event `E` with this largest value, and let `c = C(E)` and `d = D(E)`. Let
///   the functions of all releases act on the output of the composition. Consider the probability
///   that the result of these functions is in `E`. Under `P`, this probability is at least
///   `(1 - F) c`. Under `Q`, it is at most `d / (1 - F)`. So the delta of the composition is at
///   least `delta - F c - (1 / (1 - F) - 1) e^epsilon d`. This value is at least `delta - 3 F`,
///   because `e^epsilon d <= c <= 1`.
#[derive(Clone)]
pub struct Between {
    /// The pair `above`: `times` releases with this pair dominate `(P, Q)`, except for the failure.
    pub above: Arc<dyn DominatingPair>,
    /// The pair `below`: `(P, Q)` dominates `times` releases with this pair, except for the
    /// failure. `None` if no such pair is known.
    pub below: Option<Arc<dyn DominatingPair>>,
    /// The number of releases with `above`, which is also the number of releases with `below`.
    pub times: u64,
    /// The probability of a failure in any of the enclosed releases.
    pub failure: f64,
}
impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Between");
        text.field("above", &Inner(&self.above)).field("below", &self.below.as_ref().map(Inner));
        text.field("times", &self.times).field("failure", &self.failure).finish()
    }
}

/// The pair of a single release. Two other pairs [enclose](Between) this pair.
#[derive(Clone, Debug)]
pub struct EnclosedPair {
    between: Between,
    rho: Option<f64>,
    shift: Option<(LogConcaveNoise, f64)>,
    integers: Option<(f64, f64)>,
}

/// For a variance `v` of at least 1/4, let `h` be the sum of `e^(-2 pi^2 v k^2)` over all integers
/// `k` except 0. Return an upper bound on `1 - (1 - h) / (1 + h)`. The sum `h` is at most
/// `2.02 e^(-2 pi^2 v)`.
pub(super) fn roughness(variance: f64) -> f64 {
    4.1 * exp((-2.0 * PI * PI * variance * (1.0 - 1e-9)).max(-690.0))
}

/// Return how much the variance of the noise of an enclosing pair differs from the variance of the
/// given noise. The magnitude of this difference is the same for both enclosing pairs. The scale
/// must be at least 20.
///
/// A larger difference makes the probability of a failure smaller, but the bounds less tight. At a
/// difference of 40, this probability is negligible.
pub(super) fn smoothing(scale: f64) -> f64 {
    (scale * 1e-6 * scale).clamp(3.0, 40.0)
}
/// Return two pairs of normal noise that enclose given noise. Let `v` be the variance of the given
/// noise. The noise of the first pair has the variance `(1 - part) v`, and the noise of the second
/// pair has the variance `(1 + part) v`. Divide the distance of the means by the standard deviation
/// of the given noise. `more` is this quotient rounded up, and `less` is this quotient rounded
/// down.
pub(super) fn continuous(more: f64, less: f64, part: f64) -> Result<(GaussianPair, GaussianPair)> {
    let above = more.inf_div(1f64.neg_inf_sub(part)?.neg_inf_sqrt()?)?;
    let below = less.neg_inf_div(1f64.inf_add(part)?.inf_sqrt()?)?;
    Ok((GaussianPair { mu: above }, GaussianPair { mu: below }))
}
/// Below this scale, other bounds for discrete Gaussian noise are preferred to the enclosure by
/// continuous noise.
pub(super) const LEAST_SCALE: f64 = 100.0;

impl EnclosedPair {
    /// Make a pair from its enclosing pairs. `rho` is the zero-concentrated loss of the pair, if it
    /// is known.
    pub(super) fn new(
        above: Arc<dyn DominatingPair>,
        below: Option<Arc<dyn DominatingPair>>,
        failure: f64,
        rho: Option<f64>,
    ) -> Self {
        let between = Between { above, below, times: 1, failure };
        EnclosedPair { between, rho, shift: None, integers: None }
    }
    /// Enclose discrete Gaussian noise on integers under the L2 distance.
    ///
    /// The noise of each number has `P[z]` proportional to `e^(-z^2 / (2 s^2))` with a scale `s` of
    /// at least 20. `sensitivity` is the distance. `square` is at least 1. If there is more than
    /// one number, `square` is also at least the square of the distance.
    ///
    /// # Theorem
    /// Let `v` be from 3 to `s^2 / 99`, and let `w = 0.99 v`. Let `h` be the sum of
    /// `e^(-2 pi^2 w k^2)` over all integers `k` except 0. If a number is equal on both neighbours,
    /// the noisy number has the same law on both. So this number reveals nothing. Each difference
    /// is an integer, so the square of each nonzero difference is at least 1. If there is more than
    /// one number, these squares add up to at most `square`. So in each case, at most `square`
    /// numbers differ. The following two bounds hold for each number that differs.
    ///
    /// *Above.* For a real number `x`, draw an integer `y` with the probability
    /// `e^(-(y - x)^2 / (2 v)) / W(x)`. This is the discrete Gaussian distribution centred at `x`.
    /// By Poisson's summation, the normaliser `W(x)` is `sqrt(2 pi v)`, up to a factor in
    /// `[1 - h, 1 + h]`. Let `x` be normal with mean `c`, an integer, and with variance `s^2 - v`.
    /// Two independent normal variables of variances `s^2 - v` and `v` add up to a normal variable
    /// of variance `s^2`. So `y` has the probability `e^(-(y - c)^2 / (2 s^2)) / sqrt(2 pi s^2)`,
    /// up to a factor of at most `1 / (1 - h)`. The discrete noise has this probability up to a
    /// factor in `[1 / (1 + h), 1]`. Let `f = 1 - (1 - h) / (1 + h)`. Then the law of the discrete
    /// noise is `1 - f` times the law of `y` plus `f` times some other law.
    ///
    /// *Below.* Let `X` be the sum of the discrete noise centred at `c` and a normal variable of
    /// variance `v`. Let `t = s^2 v / (s^2 + v)`, which is at least `w`. Let `W` be the sum of
    /// `e^(-y^2 / (2 s^2))` over all integers `y`. The density of `X` at `x` has three factors. The
    /// first factor is the density of a normal variable of variance `s^2 + v`. The second factor is
    /// `sum_y e^(-(y - y0)^2 / (2 t)) / sqrt(2 pi t)`, where the number `y0` depends on `x` and
    /// `c`. The third factor is the inverse of `W / sqrt(2 pi s^2)`. The second factor and
    /// `W / sqrt(2 pi s^2)` are in `[1 - h, 1 + h]`, and `W / sqrt(2 pi s^2)` is at least 1. So the
    /// density of `X` is at least `1 - f` times and at most `1 / (1 - f)` times the first factor.
    ///
    /// The probabilities of the failures of all numbers that differ add up to at most `square`
    /// times `f`. Without failures, the noise is normal noise. The length of the vector of all
    /// differences is at most the distance. Take one number that differs between the two neighbours
    /// by this distance. Then the loss is at most the loss of this number with normal noise (Dong,
    /// Roth, Su 2022).
    ///
    /// # Errors
    /// `Overflow` when a quotient is not finite.
    pub(super) fn gaussian(sensitivity: f64, square: f64, scale: f64) -> Result<Self> {
        let ratio = sensitivity.inf_div(scale)?;
        let variance = smoothing(scale);
        let part = variance.inf_div(scale)?.inf_div(scale)?;
        let (above, below) = continuous(ratio, sensitivity.neg_inf_div(scale)?, part)?;
        let failure = square.inf_mul(roughness(0.99 * variance))?;
        let rho = ratio.inf_mul(ratio)?.inf_div(2.0)?;
        let pair = EnclosedPair::new(Arc::new(above), Some(Arc::new(below)), failure, Some(rho));
        Ok(pair.of_integers(square.max(sensitivity.inf_mul(sensitivity)?.floor()), scale))
    }
    /// Mark the noise as discrete Gaussian noise on vectors of integers. `square` is the square of
    /// the distance.
    pub(super) fn of_integers(self, square: f64, scale: f64) -> Self {
        EnclosedPair { integers: Some((square, scale)), ..self }
    }
    /// Mark the noise as noise on one integer. For such noise on a Poisson sample, a `ReplacedPair`
    /// can be tighter than the enclosing pairs.
    pub(super) fn on_one_integer(self, sensitivity: f64, scale: f64) -> Self {
        let noise = LogConcaveNoise::DiscreteGaussian { scale };
        EnclosedPair { shift: Some((noise, sensitivity)), ..self }
    }
    /// Make a pair from other enclosing pairs. Apply `pair_of` to each enclosing pair of this pair,
    /// and use the results as enclosing pairs.
    fn and_then(
        &self,
        pair_of: impl Fn(&Arc<dyn DominatingPair>) -> Option<Arc<dyn DominatingPair>>,
    ) -> Option<Arc<dyn DominatingPair>> {
        let Between { above, below, failure, .. } = &self.between;
        let below = below.as_ref().and_then(&pair_of);
        Some(Arc::new(EnclosedPair::new(pair_of(above)?, below, *failure, None)))
    }
}

impl DominatingPair for EnclosedPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        self.between.above.range(tail)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let mut buckets = self.between.above.buckets(grid);
        buckets.above += self.between.failure * (1.0 + 1e-15);
        buckets
    }
    fn only_above(&self) -> bool {
        true
    }
    fn between(&self, count: u64) -> Option<Between> {
        let failure = self.between.failure * count as f64 * (1.0 + 1e-15);
        Some(Between { times: count, failure, ..self.between.clone() })
    }
    fn concentrated(&self) -> Option<f64> {
        self.rho
    }
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        self.shift
    }
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        self.integers
    }
    /// On a Poisson sample, one distribution of the new pair is a mixture of the `P` and `Q` of
    /// this pair. The distributions of each enclosing pair are mixed in the same way.
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        self.and_then(|pair| Some(SampledPair::of(pair.clone(), rate, removed)))
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        self.and_then(|pair| pair.reverse())
    }
    /// A pair that dominates both directions of `above` also dominates both directions of this
    /// pair, except for the failure. The bound from below does not hold for both directions.
    fn in_either_direction(&self) -> Option<Arc<dyn DominatingPair>> {
        let above = self.between.above.in_either_direction()?;
        Some(Arc::new(EnclosedPair::new(above, None, self.between.failure, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    /// Compute delta of discrete noise as a sum over its outputs.
    fn exact(shift: f64, scale: f64, epsilon: f64) -> f64 {
        let weight = |z: f64| (-(z / scale).powi(2) / 2.0).exp();
        let reach = (14.0 * scale).ceil() as i64;
        let total: f64 = (-reach..=reach).map(|z| weight(z as f64)).sum();
        let term = |z: i64| {
            let loss = shift * (shift + 2.0 * z as f64) / (2.0 * scale * scale);
            if epsilon < loss { -(epsilon - loss).exp_m1() * weight(z as f64) } else { 0.0 }
        };
        (-reach..=reach).map(term).sum::<f64>() / total
    }

    #[test]
    fn integers_of_a_large_scale_lie_between_continuous_noise() {
        for (shift, scale) in [(1u32, 101.0), (30, 101.0), (500, 250.0), (1000, 1000.0)] {
            let pair = DiscreteGaussianPair { sensitivity: shift, scale };
            assert!(pair.between(1).is_some());
            let account = Account::new().with(Arc::new(pair), 1);
            for part in [0.0, 0.3, 1.0, 2.5, 4.0] {
                let mu = f64::from(shift) / scale;
                let epsilon = part * mu;
                let (found, exact) =
                    (account.delta(epsilon).unwrap(), exact(shift.into(), scale, epsilon));
                let name = format!("{shift} {scale} {epsilon}: {found:?} {exact}");
                assert!(found.lower <= exact * (1.0 + 1e-9), "{name}");
                assert!(exact <= found.upper * (1.0 + 1e-9), "{name}");
                assert!(found.upper <= found.lower * 1.01, "{name}");
            }
        }
    }
    /// The delta of continuous noise of the same scale is not an upper bound on the delta of
    /// discrete noise. If epsilon is midway between two losses of the discrete noise, the delta of
    /// the discrete noise can be larger.
    #[test]
    fn continuous_noise_of_the_same_scale_is_no_bound_of_integers() {
        let (shift, scale) = (1.0, 100.0);
        let epsilon = shift * (shift + 2.0 * 150.5) / (2.0 * scale * scale);
        let continuous = gaussian_delta(shift / scale, epsilon).unwrap().upper;
        assert!(continuous * (1.0 + 1e-6) < exact(shift, scale, epsilon));
    }
    #[test]
    fn roughness_bounds_what_a_sum_over_integers_is_off_by() {
        for variance in [0.25, 0.4, 0.6, 1.0, 1.3] {
            let sum = |shift: f64| -> f64 {
                let term = |z: i32| (-(f64::from(z) - shift).powi(2) / (2.0 * variance)).exp();
                (-60..=60).map(term).sum::<f64>() / (2.0 * PI * variance).sqrt()
            };
            let (high, low) = (sum(0.0), sum(0.5));
            let off = 1.0 - low / high;
            assert!(off <= roughness(variance) + 1e-15, "{variance}: {off}");
            assert!(roughness(variance) < 1.1 * off + 1e-14, "{variance}: {off}");
        }
    }
    #[test]
    fn samples_of_integers_of_a_large_scale_lie_between_samples_of_continuous_noise() {
        let pair = Arc::new(DiscreteGaussianPair { sensitivity: 100, scale: 100.0 });
        let sample = Account::new().with(SampledPair::of(pair, 0.1, true), 1);
        let (rate, epsilon): (f64, f64) = (0.1, 0.2);
        // The exact delta of one release on a sample has a formula (Balle, Barthe, Gaboardi 2018,
        // Theorem 8).
        let exact = rate * exact(100.0, 100.0, (epsilon.exp_m1() / rate).ln_1p());
        let found = sample.delta(epsilon).unwrap();
        assert!(found.lower <= exact && exact <= found.upper, "{found:?} {exact}");
        assert!(found.upper < found.lower * 1.01, "{found:?}");
    }
}
