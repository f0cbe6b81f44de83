//! Pairs for mechanisms that are known only to be `(epsilon, delta)`-differentially private.

use std::sync::Arc;

use super::concentrated_rho_of_pure;
use super::elementary::{U, exp, ln_1p};
use super::finite_pair::{MOST_TILTED, fill};
use super::lattice_transform::TiltedLattice;
use super::outputs::Outputs;
use super::pair::{Buckets, DominatingPair, Grid};
use super::sampled_pair::{FixedSizePair, listed_at, mixed};
use super::transform::Tilted;

/// A pair for a mechanism that is known only to be `(epsilon, delta)`-differentially private.
///
/// Such a mechanism is a post-processing of this pair (Kairouz, Oh, Viswanath 2015).
/// With delta 0, powers of this pair give the optimal composition of pure differential privacy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivatePair {
    /// The largest loss, except in an event of probability delta.
    pub epsilon: f64,
    /// The probability of the event of unbounded loss.
    pub delta: f64,
}
impl PrivatePair {
    fn list(&self) -> [(f64, f64, f64); 3] {
        let (e, rest) = (self.epsilon, 1.0 - self.delta);
        let (more, less) = (rest / (1.0 + exp(-e)), rest * exp(-e) / (1.0 + exp(-e)));
        [(f64::INFINITY, self.delta, 0.0), (e, more, less), (-e, less, more)]
    }
}
impl DominatingPair for PrivatePair {
    fn range(&self, _: f64) -> (f64, f64) {
        (-self.epsilon, self.epsilon)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        fill(grid, 32.0 * U, 0.0, self.list().into_iter())
    }
    fn outputs(&self) -> Option<Outputs> {
        Outputs::of(self.list().into_iter(), 32.0 * U, 0.0, 0.0)
    }
    fn unit(&self) -> Option<f64> {
        Some(self.epsilon)
    }
    fn revealed(&self) -> f64 {
        self.delta
    }
    fn most(&self) -> f64 {
        if self.delta == 0.0 { self.epsilon } else { f64::INFINITY }
    }
    fn concentrated(&self) -> Option<f64> {
        concentrated_rho_of_pure(self.most()).ok().filter(|rho| rho.is_finite())
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        let pure = self.delta == 0.0 && 0.0 < self.epsilon && self.epsilon < MOST_TILTED;
        pure.then(|| Box::new(TiltedLattice::new(self.epsilon, 1.0, tilt)) as Box<dyn Tilted>)
    }
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledPrivatePair { inner: *self, rate, removed }))
    }
}

/// The pair for an `(epsilon, delta)`-private mechanism on a Poisson sample, if one record is
/// removed or added.
///
/// Let `(P, Q)` be the [`PrivatePair`], and `q` the rate. For a removed record, the pair is
/// `((1 - q) Q + q P, Q)`. For an added record, the pair is `(P, (1 - q) P + q Q)` (Zhu, Dong, Wang
/// 2022, Theorem 11). `P` and `Q` have four outputs:
///
/// | output | under `P` | under `Q` | loss if removed | loss if added |
/// |---|---|---|---|---|
/// | only under `P` | `delta` | 0 | infinity | `-ln(1 - q)` |
/// | likely | `a` | `b` | `ln(1 - q + q e^epsilon)` | `-ln(1 - q + q e^-epsilon)` |
/// | unlikely | `b` | `a` | `ln(1 - q + q e^-epsilon)` | `-ln(1 - q + q e^epsilon)` |
/// | only under `Q` | 0 | `delta` | `ln(1 - q)` | minus infinity |
///
/// Here `a = (1 - delta) / (1 + e^-epsilon)` and `b = a e^-epsilon`. So the pair has at most four
/// outputs, and needs no grid for one release. In both directions, `delta` counts about `q` times:
/// for an added record, the output only under `P` has a loss that is finite and near `q`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampledPrivatePair {
    pub(super) inner: PrivatePair,
    /// The probability that a record is in the sample, above 0 and below 1.
    pub(super) rate: f64,
    /// The direction: `true` for a removed record, `false` for an added record.
    pub(super) removed: bool,
}

impl SampledPrivatePair {
    /// A bound on the relative error of the masses. The masses of the [`PrivatePair`] err by at
    /// most `32 u`. A mixture adds two products of positive numbers, which errs by at most `4 u`
    /// more. Only for an epsilon above 700, `e^-epsilon` counts as 0. This changes masses by less
    /// than `10^-304`.
    const RELATIVE: f64 = 64.0 * U;

    /// List the outputs as losses, masses of the first and masses of the second distribution.
    fn list(&self) -> [(f64, f64, f64); 4] {
        let (PrivatePair { epsilon, delta }, rate) = (self.inner, self.rate);
        let [.., (_, more, less), _] = self.inner.list();
        let mixture = |with: f64, without: f64| (1.0 - rate) * without + rate * with;
        let (high, low) = (mixed(epsilon, rate), mixed(-epsilon, rate));
        let least = ln_1p(-rate);
        if self.removed {
            [
                (f64::INFINITY, rate * delta, 0.0),
                (high, mixture(more, less), less),
                (low, mixture(less, more), more),
                (least, (1.0 - rate) * delta, delta),
            ]
        } else {
            [
                (-least, delta, (1.0 - rate) * delta),
                (-low, more, mixture(less, more)),
                (-high, less, mixture(more, less)),
                (f64::NEG_INFINITY, 0.0, rate * delta),
            ]
        }
    }
    /// Return a bound on the error of the losses. The loss of largest magnitude is that of the
    /// likely output, or that of an output which only one distribution has. [`mixed`] errs by at
    /// most `64 u`, relative to the loss.
    fn shift(&self) -> f64 {
        128.0 * U * mixed(self.inner.epsilon, self.rate).max(-ln_1p(-self.rate))
    }
}
impl DominatingPair for SampledPrivatePair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let (epsilon, delta, rate) = (self.inner.epsilon, self.inner.delta, self.rate);
        let (high, low) = (mixed(epsilon, rate), mixed(-epsilon, rate));
        let least = if listed_at(rate, delta, tail) { ln_1p(-rate) } else { low };
        if self.removed { (least, high) } else { (-high, -least) }
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        fill(grid, Self::RELATIVE, self.shift(), self.list().into_iter())
    }
    fn outputs(&self) -> Option<Outputs> {
        Outputs::of(self.list().into_iter(), Self::RELATIVE, self.shift(), 0.0)
    }
    /// The exponential is convex. So the largest loss for a removed record is at least the largest
    /// loss for an added record.
    fn most(&self) -> f64 {
        // The last term is for products that are subnormal.
        mixed(self.inner.most(), self.rate) * (1.0 + 256.0 * U) + f64::MIN_POSITIVE
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledPrivatePair { removed: !self.removed, ..*self }))
    }
    fn in_either_direction(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(FixedSizePair::of(Arc::new(self.inner), self.rate)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Account;
    use super::*;

    /// Compute the delta of `count` releases by adding up all combinations of outputs.
    fn exact(pair: &SampledPrivatePair, count: i32, epsilon: f64) -> f64 {
        let list: Vec<_> = pair.list().into_iter().filter(|(_, p, _)| 0.0 < *p).collect();
        (0..count)
            .fold(vec![(0.0, 1.0)], |sums: Vec<(f64, f64)>, _| {
                let add = |(x, m): (f64, f64)| list.iter().map(move |(y, p, _)| (x + y, m * p));
                sums.into_iter().flat_map(add).collect()
            })
            .into_iter()
            .map(|(x, m)| m * (1.0 - (epsilon - x).exp()).max(0.0))
            .sum()
    }

    #[test]
    fn a_composition_on_samples_has_the_delta_of_all_combinations_of_outputs() {
        let mut control = false;
        for (epsilon, delta, rate) in [
            (1.0, 1e-6, 0.01),
            (0.1, 1e-3, 0.5),
            (3.0, 1e-9, 0.2),
            (0.5, 0.1, 0.9),
            (1.0, 0.0, 0.3),
            (2.0, 1e-4, 1.0 - 1e-9),
            (1.0, 1e-5, 1e-5),
        ] {
            let inner = PrivatePair { epsilon, delta };
            let pairs = [true, false].map(|removed| SampledPrivatePair { inner, rate, removed });
            for count in [1, 2, 5] {
                let account = Account::new().with(Arc::new(pairs[0]), count as u64);
                for part in [0.0, 0.2, 0.7, 0.95] {
                    let target = part * f64::from(count) * mixed(epsilon, rate);
                    let [first, second] = pairs.map(|pair| exact(&pair, count, target));
                    let (exact, other) = (first.max(second), first.min(second));
                    let found = account.delta(target).unwrap();
                    // The control: the other direction has a smaller delta.
                    control |= other < 0.9 * found.lower;
                    let case = format!("{inner:?} {rate} {count} {target}: {found:?} {exact}");
                    assert!(found.lower <= exact * (1.0 + 1e-9), "{case}");
                    assert!(exact * (1.0 - 1e-9) <= found.upper, "{case}");
                    assert!(found.upper <= exact * 1.01 + 1e-15, "{case}");
                }
            }
        }
        assert!(control);
    }
    #[test]
    fn many_releases_on_samples_lose_the_rate_times_their_deltas() {
        let (inner, rate, count) = (PrivatePair { epsilon: 1.0, delta: 1e-8 }, 0.01, 1000);
        for removed in [true, false] {
            let pair = SampledPrivatePair { inner, rate, removed };
            let account = Account::new().with(Arc::new(pair), count);
            // At this epsilon, the finite losses have a negligible delta.
            let found = account.delta_above(5.0).unwrap();
            let exact = rate * inner.delta * count as f64;
            assert!((exact * 0.999..exact * 1.01).contains(&found), "{found:e}");
        }
    }
    #[test]
    fn delta_above_all_finite_losses_is_the_probability_of_an_infinite_loss() {
        for (epsilon, delta, rate, count) in [(0.4, 1e-9, 0.9, 3), (2.7, 9e-12, 0.1, 5)] {
            let inner = PrivatePair { epsilon, delta };
            let pair = SampledPrivatePair { inner, rate, removed: true };
            let target = f64::from(count) * mixed(epsilon, rate) * 1.01;
            let account = Account::new().with(Arc::new(pair), count as u64);
            let (found, exact) =
                (account.delta_above(target).unwrap(), exact(&pair, count, target));
            assert!(exact * (1.0 - 1e-9) <= found && found <= exact * 1.01, "{found} {exact}");
        }
    }
}
