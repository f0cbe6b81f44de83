//! Discrete Gaussian noise of a large scale, enclosed between two continuous ones.

use std::f64::consts::PI;
use std::sync::Arc;

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat};

use super::elementary::exp;
use super::pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
use super::{GaussianPair, SampledPair};

/// Two pairs that enclose some releases with one pair. Compositions are computed with these.
///
/// Let `(P, Q)` be the pair of all these releases, and `f` the `failure`. The contract is:
/// - `A` is the pair of `times` releases with `above`. For every epsilon of any sign the
///   hockey-stick divergence of `(P, Q)` is at most `f` plus `1 - f` times the divergence of `A`.
///   So `(P, Q)` is dominated by `A` together with an event of probability `f` in which everything
///   is lost. So compositions lose at most the delta of all `A`, plus the sum of all `f`.
/// - `(C, D)` is the pair of `times` releases with `below`. A function of the output, possibly
///   random, maps `P` to at least `(1 - f) C` and `Q` to at most `D / (1 - f)`. In a composition
///   let `C` and `D` be the products, and let `F <= 1/3` be the sum of all `f`. Take the best event
///   for `C` and `D`, where `C - e^epsilon D = delta`. For this event the composition has at least
///   `delta - F C - (1 / (1 - F) - 1) e^epsilon D`. This is at least `delta - 3 F`, because
///   `e^epsilon D <= C <= 1`.
#[derive(Clone, Debug)]
pub struct Between {
    /// A pair that dominates, except for the failure.
    pub above: Arc<dyn DominatingPair>,
    /// A pair that is dominated, except for the failure, if one is known.
    pub below: Option<Arc<dyn DominatingPair>>,
    /// How often each of them counts.
    pub times: u64,
    /// The probability of the failure, of all releases together.
    pub failure: f64,
}

/// A pair whose single release lies [between](Between) two other pairs.
#[derive(Clone, Debug)]
pub struct EnclosedPair {
    between: Between,
    rho: Option<f64>,
    shift: Option<(LogConcaveNoise, f64)>,
    integers: Option<(f64, f64)>,
}

/// Bound `1 - (1 - h) / (1 + h)`, where `h` is the sum of `e^(-2 pi^2 v k^2)` over all integers `k`
/// but 0, for a `v` of at least 1/4. This sum is at most `2.02 e^(-2 pi^2 v)`.
pub(super) fn roughness(variance: f64) -> f64 {
    4.1 * exp((-2.0 * PI * PI * variance * (1.0 - 1e-9)).max(-690.0))
}

/// Return the variance that is subtracted or added, at a scale of at least [`LEAST_SCALE`].
///
/// A larger value makes the failure smaller; at 40 it is negligible.
pub(super) fn smoothing(scale: f64) -> f64 {
    (scale * 1e-6 * scale).clamp(3.0, 40.0)
}
/// Return normal noise with the variance reduced by a share of it, and with the variance increased
/// by that share. The quotients of distance and standard deviation are rounded up and down.
pub(super) fn continuous(more: f64, less: f64, part: f64) -> Result<(GaussianPair, GaussianPair)> {
    let above = more.inf_div(1f64.neg_inf_sub(part)?.neg_inf_sqrt()?)?;
    let below = less.neg_inf_div(1f64.inf_add(part)?.inf_sqrt()?)?;
    Ok((GaussianPair { mu: above }, GaussianPair { mu: below }))
}
/// The smallest scale at which integers are enclosed.
pub(super) const LEAST_SCALE: f64 = 100.0;

impl EnclosedPair {
    /// Make a pair from its enclosing pairs, and from its `rho` if it is zero-concentrated.
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
    /// at least 20. `square` is at least 1, and at least the square of the distance; `sensitivity`
    /// is the distance.
    ///
    /// # Theorem
    /// Let `v` be from 3 to `s^2 / 99`, and `h` the sum of `e^(-2 pi^2 w k^2)` over all `k` but 0,
    /// with `w = 0.99 v`. Numbers that do not differ have the same noise on both sides and reveal
    /// nothing. At most `square` numbers differ, because they are integers. For each of them:
    ///
    /// *Above.* From a real number `x` draw an integer `y` of the discrete Gaussian distribution
    /// about `x`, `e^(-(y - x)^2 / (2 v)) / W(x)`. By Poisson's summation `W(x)` is `sqrt(2 pi v)`,
    /// up to a factor in `[1 - h, 1 + h]`. If `x` is normal about an integer `c` with variance
    /// `s^2 - v`, then `y` has the probability `e^(-(y - c)^2 / (2 s^2)) / sqrt(2 pi s^2)`, up to a
    /// factor of at most `1 / (1 - h)`, because two normal variables add up to one of variance
    /// `s^2`. The discrete noise has this probability up to a factor in `[1 / (1 + h), 1]`. So its
    /// law is `1 - f` times the law of `y` plus `f` times some other law, with
    /// `f = 1 - (1 - h) / (1 + h)`.
    ///
    /// *Below.* Add a normal variable of variance `v` to the discrete noise about `c`. The density
    /// at `x` is the density of a normal variable of variance `s^2 + v`, times
    /// `sum_y e^(-(y - y0)^2 / (2 t)) / sqrt(2 pi t)`, divided by `W / sqrt(2 pi s^2)`. Here
    /// `t = s^2 v / (s^2 + v) >= w`, `y0` depends on `x` and `c`, and `W` is the sum of
    /// `e^(-y^2 / (2 s^2))`. Both quotients are in `[1 - h, 1 + h]`, and the second is at least 1.
    ///
    /// The failures of independent numbers add up. The rest is normal noise on a vector whose
    /// length is at most the distance. Its loss is the loss on one number (Dong, Roth, Su 2022).
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
    /// Mark the noise as discrete Gaussian on vectors of integers, by the square of the distance.
    pub(super) fn of_integers(self, square: f64, scale: f64) -> Self {
        EnclosedPair { integers: Some((square, scale)), ..self }
    }
    /// Mark the noise as being on one integer; samples of it may have tighter pairs.
    pub(super) fn on_one_integer(self, sensitivity: f64, scale: f64) -> Self {
        let noise = LogConcaveNoise::DiscreteGaussian { scale };
        EnclosedPair { shift: Some((noise, sensitivity)), ..self }
    }
    /// Derive another pair, and enclose it with the pairs that are derived in the same way from the
    /// enclosing pairs.
    fn and_then(
        &self,
        of: impl Fn(&Arc<dyn DominatingPair>) -> Option<Arc<dyn DominatingPair>>,
    ) -> Option<Arc<dyn DominatingPair>> {
        let Between { above, below, failure, .. } = &self.between;
        let below = below.as_ref().and_then(&of);
        Some(Arc::new(EnclosedPair::new(of(above)?, below, *failure, None)))
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
    /// A sample mixes `P` and `Q`, and the enclosing pairs in the same way.
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        self.and_then(|pair| Some(SampledPair::of(pair.clone(), rate, removed)))
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        self.and_then(|pair| pair.reverse())
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    /// Delta of discrete noise, summed over its outputs.
    fn exact(shift: f64, scale: f64, epsilon: f64) -> f64 {
        let weight = |z: f64| (-(z / scale).powi(2) / 2.0).exp();
        let reach = (14.0 * scale).ceil() as i64;
        let total: f64 = (-reach..=reach).map(|z| weight(z as f64)).sum();
        let one = |z: i64| {
            let loss = shift * (shift + 2.0 * z as f64) / (2.0 * scale * scale);
            if epsilon < loss { -(epsilon - loss).exp_m1() * weight(z as f64) } else { 0.0 }
        };
        (-reach..=reach).map(one).sum::<f64>() / total
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
    /// The continuous noise itself is not a bound: between its losses the discrete noise has a
    /// larger delta.
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
        // One release is amplified by a formula (Balle, Barthe, Gaboardi 2018, Theorem 8).
        let exact = rate * exact(100.0, 100.0, (epsilon.exp_m1() / rate).ln_1p());
        let found = sample.delta(epsilon).unwrap();
        assert!(found.lower <= exact && exact <= found.upper, "{found:?} {exact}");
        assert!(found.upper < found.lower * 1.01, "{found:?}");
    }
}
