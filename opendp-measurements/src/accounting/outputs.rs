//! The exact profile of one release whose outputs are listed. No grid is needed to compute this
//! profile.

use super::account::Certified;
use super::elementary::{U, exp_m1};
use crate::collected::Collected;

/// The outputs of a pair. Each output has a loss, and a probability under `P` and under `Q`.
///
/// # Theorem
/// Let `p` be the probability of an output under `P`, and `x` the loss of this output. The delta of
/// one release at an epsilon of at least 0 is the sum, over all outputs, of
/// `p max(0, 1 - e^(epsilon - x))`. No term is negative. So if each probability has a relative
/// error of at most `c`, the sum has a relative error of at most `c`. No term decreases if a loss
/// increases. So for an upper bound on delta, the bound on the error of a loss is added to each
/// loss. For a lower bound on delta, the bound on the error is subtracted from each loss.
///
/// A pair with many outputs does not list them. See [`Outputs::of`].
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The outputs as losses, masses under `P`, and masses under `Q`.
    list: Vec<(f64, f64, f64)>,
    /// A bound on the relative error of the masses.
    relative: f64,
    /// A bound on the error of each loss.
    shift: f64,
    /// An upper bound on the mass of `P` that is not listed and can have a positive loss. In delta,
    /// the loss of this mass counts as infinite.
    above: f64,
}

impl Outputs {
    /// The largest number of listed outputs. For more outputs, a grid takes less time than a sum
    /// over the outputs.
    pub const MOST: usize = 1 << 17;

    /// Make a list of outputs. Each output has a loss, a mass under `P` and a mass under `Q`.
    /// Return `None` if there are more than [`MOST`](Self::MOST) outputs.
    ///
    /// `relative` bounds the relative error of the masses, and `shift` bounds the error of the
    /// losses. `above` bounds the mass of `P` that is not listed and can have a positive loss.
    pub fn of(
        outputs: impl Iterator<Item = (f64, f64, f64)>,
        relative: f64,
        shift: f64,
        above: f64,
    ) -> Option<Self> {
        let list: Vec<_> = outputs.filter(|(_, p, _)| 0.0 < *p).take(Self::MOST + 1).collected();
        let few = list.len() <= Self::MOST;
        few.then_some(Outputs { list, relative, shift, above })
    }
    /// Add mass of `P` whose loss is unknown.
    #[must_use]
    pub fn with_above(mut self, more: f64) -> Self {
        self.above += more;
        self
    }
    /// Enclose delta at an epsilon of at least 0.
    pub(crate) fn delta(&self, epsilon: f64) -> Certified {
        let error = 2.0 * self.relative + 64.0 * U + 4.0 * U * self.list.len() as f64;
        let upper = self.sum(epsilon, self.shift) * (1.0 + error) + self.above;
        let lower = self.sum(epsilon, -self.shift) * (1.0 - error);
        Certified { lower: lower.clamp(0.0, 1.0), upper: (upper * (1.0 + 4.0 * U)).min(1.0) }
    }
    /// Return the sum of the theorem at [`Outputs`], after `shift` is added to all losses.
    fn sum(&self, epsilon: f64, shift: f64) -> f64 {
        let mut total = 0.0;
        for (loss, p, _) in &self.list {
            let excess = loss + shift - epsilon;
            if 0.0 < excess {
                total += p * -exp_m1(-excess);
            }
        }
        total
    }
    /// Enclose the smallest epsilon at which delta is at most the given delta.
    pub(crate) fn epsilon(&self, delta: f64) -> Certified {
        let upper = self.smallest(|epsilon| self.delta(epsilon).upper <= delta);
        let lower = self.smallest(|epsilon| self.delta(epsilon).lower <= delta);
        // At the epsilon `upper`, the upper bound on delta is at most `delta`. The lower end of the
        // result is the largest epsilon at which the lower bound on delta is above `delta`. If
        // there is no such epsilon, the lower end is 0.
        Certified { lower: lower.next_down().max(0.0).min(upper), upper }
    }
    /// Find by bisection the smallest epsilon that satisfies a condition. All larger epsilons must
    /// satisfy the condition too. Return infinity if there is no such epsilon.
    fn smallest(&self, holds: impl Fn(f64) -> bool) -> f64 {
        if holds(0.0) {
            return 0.0;
        }
        let losses = self.list.iter().map(|(loss, ..)| *loss);
        let largest = losses.filter(|loss| loss.is_finite()).fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, (largest + self.shift) * (1.0 + 4.0 * U));
        if !holds(high) {
            return f64::INFINITY;
        }
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || high <= middle {
                return high;
            }
            if holds(middle) { high = middle } else { low = middle }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::accounting::{
        Account, Certified, DiscreteGaussianPair, DominatingPair, FinitePair, PrivatePair,
        ThresholdedPair, profile_of_laplace,
    };

    fn once(pair: impl DominatingPair + 'static) -> Account {
        Account::new().with(Arc::new(pair), 1)
    }
    #[track_caller]
    fn close(found: Certified, exact: f64) {
        // The computed losses of a `FinitePair` have errors of at most 3e-12.
        let (low, high) = (exact * (1.0 - 1e-9) - 1e-11, exact * (1.0 + 1e-9) + 1e-11);
        let inside = low <= found.lower && found.upper <= high;
        assert!(inside && found.lower <= high && low <= found.upper, "{found:?} for {exact}");
        assert!(found.lower <= found.upper, "{found:?}");
    }

    #[test]
    fn one_release_of_discrete_gaussian_noise_is_exact_at_every_delta() {
        // The exact epsilons follow from sums over all outputs, computed with 60 digits.
        for (scale, delta, exact) in [
            (0.5, 1e-200, 61.999_965_581_926_19),
            (0.5, 1e-120, 46.0),
            (0.5, 1e-80, 37.999_999_999_711_62),
            (1.0, 1e-300, 37.495_271_873_424_82),
            (1.0, 1e-120, 23.499_981_379_834_98),
            (1.0, 1e-9, 6.321_419_129_811_859),
            (3.0, 1e-80, 6.277_629_387_083_226),
            (30.0, 1e-200, 0.999_911_172_728_137_1),
            (30.0, 1e-50, 0.484_633_708_493_685_3),
        ] {
            let account = once(DiscreteGaussianPair { sensitivity: 1, scale });
            let found = account.epsilon(delta).unwrap();
            let slack = if delta < 1e-290 { 1e-3 } else { 1e-10 };
            assert!(found.lower <= exact * (1.0 + 1e-14) && exact <= found.upper * (1.0 + 1e-14));
            assert!(found.upper <= exact * (1.0 + slack), "{scale} {delta} {found:?} {exact}");
            assert!(account.delta(found.upper).unwrap().upper <= delta * (1.0 + 1e-9));
        }
    }
    #[test]
    fn one_release_of_listed_outputs_is_exact_in_both_directions() {
        let pair = || FinitePair::new(vec![0.625, 0.25, 0.125], vec![0.25, 0.25, 0.5]).unwrap();
        for epsilon in [0.0, 0.25, 0.5, 0.9, 1.0, 2.0] {
            let e = f64::exp(epsilon);
            // The largest loss is ln 2.5 in one direction, and ln 4 in the reverse direction.
            let exact = (0.625 - e * 0.25).max(0.5 - e * 0.125).max(0.0);
            close(once(pair()).delta(epsilon).unwrap(), exact);
            if 0.0 < exact {
                close(once(pair()).epsilon(exact).unwrap(), epsilon);
            }
        }
        let one_way = FinitePair::new(vec![0.5, 0.5], vec![1.0, 0.0]).unwrap();
        close(once(one_way.clone()).delta(3.0).unwrap(), 0.5);
        assert_eq!(once(one_way).epsilon(0.25).unwrap().upper, f64::INFINITY);
    }
    #[test]
    fn added_events_are_added() {
        let noise = Arc::new(PrivatePair { epsilon: 1.0, delta: 0.0 });
        let account = once(ThresholdedPair { noise, delta: 1e-3 });
        let without = (1f64.exp() - 0.5f64.exp()) / (1.0 + 1f64.exp());
        let found = account.delta(0.5).unwrap();
        assert!((found.upper - without - 1e-3).abs() < 1e-12, "{found:?}");
        assert_eq!(account.epsilon(0.9e-3).unwrap().upper, f64::INFINITY);
    }
    #[test]
    fn long_lists_are_not_made() {
        let outputs = |scale| DiscreteGaussianPair { sensitivity: 1, scale }.outputs();
        assert!(outputs(99.0).is_some() && outputs(60_000.0).is_none());
    }
    #[test]
    fn one_release_of_laplace_noise_has_a_closed_form() {
        let profile = profile_of_laplace(1.0, 2.0).unwrap();
        for delta in [0.0, 1e-300, 1e-9, 0.1, 0.25] {
            let (found, exact) = (profile.epsilon(delta).unwrap(), 0.5 + 2.0 * (-delta).ln_1p());
            assert!(exact.max(0.0) <= found + 1e-15 && found <= exact.max(0.0) + 1e-15, "{found}");
        }
        assert_eq!(profile.epsilon(1.0), Ok(0.0));
    }
}
