//! Laplace noise and the exponential mechanism: losses with an exponential density.

use std::sync::Arc;

use super::concentrated_rho_of_pure;
use super::elementary::{U, cis, exp, exp_m1, ln};
use super::listed_transform::{Atoms, TiltedList};
use super::pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
use super::quadrature::{NODE_ERROR, Rule, SIZES, rule};
use super::sampled_pair::{FixedSizePair, ln_unmixed, mixed};
use super::transform::{Tilted, TiltedEnds};
use crate::collected::Collected;

/// A bound on the relative error of the masses in this file.
pub(super) const ERROR: f64 = 256.0 * U;

/// The pair for Laplace noise of scale `sensitivity / epsilon`.
///
/// The pair `(P, Q)` for noise on one number also dominates noise on vectors under the L1 distance.
/// A test between two laws has two error probabilities, one under each law. The trade-off function
/// of the laws gives the least second error probability for each first error probability. A larger
/// trade-off function means a smaller loss. Let `T_a` be the trade-off function of the noise and
/// the noise shifted by `a`. For a log-concave density, the trade-off function of the shift by
/// `a + b` is `T_b(1 - T_a(x))` at `x` (Dong, Roth, Su 2022, on log-concave noise). Now shift one
/// coordinate of a vector by `a`, and another coordinate by `b`. The trade-off function of both
/// shifts together is at least `T_b(1 - T_a(x))` at `x`. To prove this, first shift only the first
/// coordinate, and then only the second coordinate. The trade-off functions of these two steps are
/// `T_a` and `T_b`. Group privacy gives the bound for both steps together (Dong, Roth, Su 2022, on
/// group privacy). So the loss of both shifts together is at most the loss of one number that is
/// shifted by `a + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplacePair {
    /// The sensitivity divided by the scale of the noise.
    pub epsilon: f64,
}

/// The transform of noise on a sample is computed only if the largest loss without sampling is
/// below this value.
const MOST_TILTED: f64 = 50.0;
/// The logarithm of the largest allowed relative error of a quadrature.
const SMALL: f64 = -27.0;

/// Return two masses of the losses from `low` to `high`: the mass under `P`, and the mass under
/// `Q`. At a loss `x`, the density under `P` is `e^((x - end) / 2) / 4`. The density under `Q` is
/// `e^-x` times the density under `P`. Laplace noise with the largest loss `end` has these
/// densities at the losses between `-end` and `end`.
pub(super) fn exponential(end: f64, low: f64, high: f64) -> (f64, f64) {
    if !(low < high) {
        return (0.0, 0.0);
    }
    // No exponent is positive, so nothing overflows.
    let width = -exp_m1(-(high - low) / 2.0) / 2.0;
    (exp((high - end) / 2.0) * width, exp(-(low + end) / 2.0) * width)
}

impl DominatingPair for LaplacePair {
    fn range(&self, _: f64) -> (f64, f64) {
        (-self.epsilon, self.epsilon)
    }
    fn unit(&self) -> Option<f64> {
        Some(self.epsilon)
    }
    fn most(&self) -> f64 {
        self.epsilon
    }
    fn concentrated(&self) -> Option<f64> {
        concentrated_rho_of_pure(self.epsilon).ok()
    }
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        Some((LogConcaveNoise::Laplace, self.epsilon))
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        Some(Box::new(TiltedEnds::new(self.epsilon, tilt, true)))
    }
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledLaplacePair { epsilon: self.epsilon, rate, removed }))
    }
    /// Let `p` and `q` be the centres of `P` and `Q`. The outputs at `p`, and on the side of `p`
    /// away from `q`, have the loss `epsilon`. Together, these outputs have the probability `1/2`
    /// under `P`. The outputs at `q`, and on the side of `q` away from `p`, have the loss
    /// `-epsilon`. Together, these outputs have the probability `e^-epsilon / 2` under `P`. Between
    /// the centres, the loss `x` has the density `e^((x - epsilon) / 2) / 4` under `P`.
    fn buckets(&self, grid: &Grid) -> Buckets {
        let end = self.epsilon;
        let mut buckets = Buckets::empty(grid, ERROR + 4.0 * U * end, 4.0 * U * end);
        for i in 0..grid.count {
            let (low, high) = (grid.edge(i).max(-end), grid.edge(i + 1).min(end));
            let (p, q) = exponential(end, low, high);
            buckets.p[i] = p;
            buckets.q[i] = q;
        }
        buckets.lose(grid, -end, end, |low, high| exponential(end, low, high).0);
        buckets.atom(grid, end, 0.5, 0.5 * exp(-end));
        buckets.atom(grid, -end, 0.5 * exp(-end), 0.5);
        buckets
    }
}

/// The pair for every mechanism of bounded range: the losses of such a mechanism lie in an interval
/// of length `epsilon`. An example is the exponential mechanism.
///
/// Let `x` be from `-epsilon` to `epsilon`, `a = e^(epsilon / 2)` and `r = e^x`. The profile of
/// each such mechanism at `x` is at most `(a - sqrt(r))^2 / (a^2 - 1)`. The worst mechanisms of
/// this range have only two losses, `t` and `t - epsilon`, for a `t` from 0 to `epsilon`. The loss
/// `t` has the probability `p = (a^2 - e^t) / (a^2 - 1)`. The bound is the largest value of
/// `p (1 - r e^-t)` over all `t` (Dong, Durfee, Rogers 2020). This bound is also the profile of a
/// loss with the density `a e^(x / 2) / (2 (a^2 - 1))` from `-epsilon` to `epsilon`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedRangePair {
    /// The range of the loss: the length of the interval of losses.
    pub epsilon: f64,
}

impl DominatingPair for BoundedRangePair {
    fn range(&self, _: f64) -> (f64, f64) {
        (-self.epsilon, self.epsilon)
    }
    fn unit(&self) -> Option<f64> {
        Some(self.epsilon)
    }
    fn most(&self) -> f64 {
        self.epsilon
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        let pair = || Box::new(TiltedEnds::new(self.epsilon, tilt, false)) as Box<dyn Tilted>;
        (f64::MIN_POSITIVE < self.epsilon).then(pair)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let end = self.epsilon;
        if end <= f64::MIN_POSITIVE {
            let mut buckets = Buckets::empty(grid, ERROR, end);
            buckets.atom(grid, 0.0, 1.0, 1.0);
            return buckets;
        }
        // With `a = e^(end / 2)`, the density of this loss is `a e^(x / 2) / (2 (a^2 - 1))`. The
        // density in the function `exponential` is `e^((x - end) / 2) / 4`. The first density is
        // `2 / (1 - e^-end)` times the second density.
        let factor = 2.0 / -exp_m1(-end);
        let mut buckets = Buckets::empty(grid, ERROR + 8.0 * U * end, 4.0 * U * end);
        let masses = |low: f64, high: f64| {
            let (p, q) = exponential(end, low, high);
            (factor * p, factor * q)
        };
        for i in 0..grid.count {
            let (low, high) = (grid.edge(i).max(-end), grid.edge(i + 1).min(end));
            (buckets.p[i], buckets.q[i]) = masses(low, high);
        }
        buckets.lose(grid, -end, end, |low, high| masses(low, high).0);
        buckets
    }
}

/// The pair for Laplace noise on a Poisson sample, if one record is removed or added.
///
/// Let `q` be the rate, and `L(x)` the Laplace distribution centred at `x`. For a removed record,
/// the pair is `(1 - q) L(0) + q L(epsilon)` and `L(0)`. For an added record, the two distributions
/// are exchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledLaplacePair {
    /// The sensitivity divided by the scale of the noise.
    pub epsilon: f64,
    /// The probability that a record is in the sample, above 0 and below 1.
    pub rate: f64,
    /// The direction: `true` for a removed record, `false` for an added record.
    pub removed: bool,
}

impl SampledLaplacePair {
    /// Return the loss on a sample, for a removed record. `x` is the loss without sampling at the
    /// same output.
    fn sampled(&self, x: f64) -> f64 {
        mixed(x, self.rate)
    }
    /// Return the loss without sampling. `loss` is the loss on a sample at this output, for a
    /// removed record.
    fn unsampled(&self, loss: f64) -> f64 {
        ln_unmixed(loss, self.rate).clamp(-self.epsilon, self.epsilon)
    }
    /// Return the losses of the pair as atoms (losses of positive probability). Two atoms are the
    /// smallest and the largest loss. The other atoms are the nodes of a quadrature rule, which
    /// replace the continuous part of the losses.
    fn atoms(&self, rule: &Rule) -> Atoms {
        let end = self.epsilon;
        let inner = rule.nodes.iter().map(|(place, weight)| {
            let x = end * place;
            (x, weight * end * exp(-(x + end) / 2.0) / 4.0)
        });
        let atoms = inner.chain([(end, exp(-end) / 2.0), (-end, 0.5)]);
        let sign = if self.removed { 1.0 } else { -1.0 };
        let atom_of = |(x, mass): (f64, f64)| {
            let ratio = (1.0 - self.rate) + self.rate * exp(x);
            (sign * self.sampled(x), if self.removed { ratio * mass } else { mass })
        };
        let relative = 1.01 * rule.error + U * (128.0 + 64.0 * end);
        let blur = end * NODE_ERROR + U * (72.0 * end + 8.0);
        Atoms { atoms: atoms.map(atom_of).collected(), relative, blur }
    }
    /// Return pairs of numbers `(c, l)`. Let a quadrature rule with `n` nodes compute the transform
    /// at a tilt, for any frequency up to `highest`. For each `(c, l)`, the logarithm of the error
    /// of this rule is at most `c - n l`.
    ///
    /// The continuous part of the transform is an integral over `z` from -1 to 1. Let `end` be
    /// epsilon, `x = end z` the loss without sampling, `q` the rate, `w(y) = 1 - q + q e^y`, and
    /// `w = w(x)`. Let `t` be the tilt, `s` the frequency, and `v` the power of `w` in the
    /// transform: `t + 1` for a removed record, and `-t` for an added record. Let `r` be a number
    /// above 1. Now let `z` be complex. Take the ellipse that has the foci -1 and 1, and whose
    /// half-axes add up to `r`. On this ellipse, the magnitude of the real part of `x` is at most
    /// `a = end (r + 1/r) / 2`. The magnitude of the imaginary part is at most
    /// `b = end (r - 1/r) / 2`. Choose `r` so that `b` is below 1.5. So `|w|` is at most `w(a)` and
    /// at least `cos(b) w(-a)`. Also, `|arg w|` is at most `q e^a sin(b) / (1 - q + q e^a cos(b))`.
    /// So the magnitude of the integrand is at most
    /// `|w|^v e^(s |arg w|) end e^((a - end) / 2) / 4`. In this bound, replace `|w|` and `|arg w|`
    /// by the bounds above, and let `M` be the result. The error of a rule with `n` nodes is at
    /// most `8 M r^(1 - n) / (r - 1)`: see [`Rule`].
    fn rule_errors(&self, tilt: f64, highest: f64) -> [(f64, f64); 8] {
        let (end, rate) = (self.epsilon, self.rate);
        [1.4, 1.0, 0.7, 0.5, 0.3, 0.15, 0.05, 0.01].map(|b| {
            let a = (end * end + b * b).sqrt();
            let (r, grown) = ((a + b) / end, rate * exp(a));
            let (c, d) = cis(b);
            let turn = highest * grown * d / ((1.0 - rate) + grown * c);
            let size = match self.removed {
                true => (tilt + 1.0) * ln((1.0 - rate) + grown),
                false => -tilt * (ln(c) + ln((1.0 - rate) + rate * exp(-a))),
            };
            let log = size + turn + (a - end) / 2.0 + ln(2.0 * end) - ln((r - 1.0) / r);
            (log + 1e-6 * (1.0 + log.abs()), ln(r) * (1.0 - 1e-9))
        })
    }
}

impl DominatingPair for SampledLaplacePair {
    fn range(&self, _: f64) -> (f64, f64) {
        let (low, high) = (self.sampled(-self.epsilon), self.sampled(self.epsilon));
        if self.removed { (low, high) } else { (-high, -low) }
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (end, rate) = (self.epsilon, self.rate);
        let reach = grid.edge(0).abs().max(grid.edge(grid.count).abs());
        let mut buckets =
            Buckets::empty(grid, ERROR + 4.0 * U * end, 256.0 * U * (1.0 + reach + end));
        // For the mechanism without sampling, P is L(epsilon) and Q is L(0).
        let mixtures = |(with, without): (f64, f64)| {
            let mixture = (1.0 - rate) * without + rate * with;
            if self.removed { (mixture, without) } else { (without, mixture) }
        };
        let place = |edge: f64| self.unsampled(if self.removed { edge } else { -edge });
        let between = |low: f64, high: f64| {
            let (first, second) = (place(low), place(high));
            mixtures(exponential(end, first.min(second), first.max(second)))
        };
        for i in 0..grid.count {
            (buckets.p[i], buckets.q[i]) = between(grid.edge(i), grid.edge(i + 1));
        }
        let (low, high) = self.range(0.0);
        buckets.lose(grid, low, high, |low, high| between(low, high).0);
        for (loss, with, without) in [(end, 0.5, 0.5 * exp(-end)), (-end, 0.5 * exp(-end), 0.5)] {
            let (p, q) = mixtures((with, without));
            let loss = self.sampled(loss);
            buckets.atom(grid, if self.removed { loss } else { -loss }, p, q);
        }
        buckets
    }
    fn tilted(&self, tilt: f64, highest: f64) -> Option<Box<dyn Tilted>> {
        if !(self.epsilon < MOST_TILTED) {
            return None;
        }
        let errors = self.rule_errors(tilt, highest);
        let error = |n: usize| {
            let all = errors.iter().map(|(log, fall)| log - n as f64 * fall);
            all.fold(f64::INFINITY, f64::min)
        };
        // Use the first quadrature rule whose error is small relative to the whole transform.
        let whole = TiltedList::new(self.atoms(rule(0)?), tilt)?.log().0;
        let size = SIZES.iter().position(|n| error(*n) < whole + SMALL)?;
        let list = TiltedList::new(self.atoms(rule(size)?), tilt)?;
        Some(Box::new(list.with_error(error(SIZES[size]))?))
    }
    fn most(&self) -> f64 {
        // Let `X` be epsilon with a probability of `rate`, and otherwise 0. The largest loss is
        // `ln E[e^X]` for a removed record, and `-ln E[e^-X]` for an added record. The exponential
        // is convex, so the first loss is at least `E[X]`, and the second is at most `E[X]`.
        self.sampled(self.epsilon) * (1.0 + 256.0 * U)
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledLaplacePair { removed: !self.removed, ..*self }))
    }
    fn in_either_direction(&self) -> Option<Arc<dyn DominatingPair>> {
        let pair = LaplacePair { epsilon: self.epsilon };
        Some(Arc::new(FixedSizePair::of(Arc::new(pair), self.rate)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Account, LaplacePair};
    use super::*;

    fn account(pair: impl DominatingPair + 'static, count: u64) -> Account {
        Account::new().with(Arc::new(pair), count)
    }

    #[test]
    fn the_largest_loss_of_a_sample_is_right_above_700() {
        for epsilon in [690.0, 699.0, 800.0, 1e6, 1e300] {
            let pair = SampledLaplacePair { epsilon, rate: 0.5, removed: true };
            let largest = account(pair, 2).epsilon_above(0.0).unwrap();
            // The largest loss of one release is `ln(1 - 0.5 + 0.5 e^epsilon)`.
            let exact = 2.0 * (epsilon - 2f64.ln());
            assert!(exact <= largest && largest <= exact * (1.0 + 1e-12), "{epsilon}");
        }
    }
    /// A composition of releases reveals at least as much as each single release. So the delta of a
    /// composition is at least the delta of each single release. Here the delta of a single release
    /// is about the rate. The reason is that the loss is far above the given epsilon if the record
    /// is in the sample. If a distribution is too wide to compose, the account returns an error.
    #[test]
    fn a_composition_loses_no_loss_above_700() {
        let mut composed = 0;
        for (epsilon, rate) in [(1e3, 1e-5), (1e3, 1e-6), (1e3, 1e-10), (800.0, 1e-40), (1e9, 0.3)]
        {
            for (removed, count) in [(true, 1), (false, 1), (true, 2), (false, 2), (true, 7)] {
                let releases = account(SampledLaplacePair { epsilon, rate, removed }, count);
                let case = format!("{epsilon} {rate} {removed} {count}");
                if let Ok(delta) = releases.delta_above(680.0) {
                    assert!(rate * 0.5 <= delta, "{case}: {delta}");
                    composed += 1;
                }
                if let Ok(found) = releases.epsilon_above(rate / 10.0) {
                    assert!(epsilon + rate.ln() - 1.0 <= found, "{case}: {found}");
                    composed += 1;
                }
            }
        }
        assert!(20 <= composed, "{composed}");
    }
    /// The control of `a_composition_loses_no_loss_above_700`. Here the loss is cut off at 700
    /// before the rate is taken into account. Then the check of that test fails.
    #[test]
    fn a_loss_that_is_cut_off_before_the_rate_is_found() {
        let rate = 1e-6;
        let delta_of = |epsilon: f64| {
            let pair = SampledLaplacePair { epsilon, rate, removed: true };
            account(pair, 2).delta_above(690.0).unwrap()
        };
        let bounds_a_member = |delta: f64| rate * 0.5 <= delta;
        assert!(bounds_a_member(delta_of(1e3)));
        assert!(!bounds_a_member(delta_of(1e3_f64.min(700.0))));
    }
    #[test]
    fn a_number_of_releases_is_not_rounded_down() {
        let count = (1 << 53) + 1;
        let total = account(LaplacePair { epsilon: 1.0 }, count).most();
        assert_eq!(total, (1u64 << 53) as f64 + 2.0);
    }
}
