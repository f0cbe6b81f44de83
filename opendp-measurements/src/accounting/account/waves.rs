//! Accounts that compute delta without a grid of losses. Here, delta is a sum over a few values of
//! the Fourier transform of the loss. These values are called waves.

use std::cell::Cell;

use super::super::inversion::{Inversion, MOST, MOST_LISTED, SKETCHED, Target};
use super::super::plan::{PairCount, smallest};
use super::{Account, Certified, MANY, Side, TOLERANCE};

impl Account {
    /// Compute a bound on delta without a grid. Return this bound only if its error is within the
    /// tolerance.
    pub(super) fn inverted_delta(
        &self,
        parts: &[PairCount],
        epsilon: f64,
        side: Side,
    ) -> Option<f64> {
        let delta_of = |sum: Inversion| self.exact(&sum, epsilon).map(|found| found.of(side));
        self.inverted(parts, Target::Epsilon(epsilon), side, delta_of)
    }
    /// Compute a bound on epsilon without a grid. Return this bound only if its error is within the
    /// tolerance.
    pub(super) fn inverted_epsilon(
        &self,
        parts: &[PairCount],
        delta: f64,
        side: Side,
    ) -> Option<f64> {
        // The first sum is planned for an estimate of epsilon. The estimate is the mean of the
        // tilted total loss at the saddle point (see `wave_plan`). This estimate is poor for very
        // skewed losses. If the first sum is not exact enough at the resulting epsilon, a second
        // sum is planned for this epsilon. The second sum is more exact than the first sum.
        let found = Cell::new(None);
        let epsilon_of = |sum: Inversion| {
            let epsilon = self.epsilon_of_waves(&sum, delta, side);
            found.set(epsilon.or(found.get()));
            epsilon.filter(|epsilon| self.exact(&sum, *epsilon).is_some())
        };
        let again = || self.inverted(parts, Target::Epsilon(found.get()?), side, epsilon_of);
        self.inverted(parts, Target::Delta(delta), side, epsilon_of).or_else(again)
    }
    /// Try the sum of waves for the parts (pairs with their numbers of releases). The smoothed
    /// parts are the parts and a small Gaussian release. For an upper bound with many parts, also
    /// try the sum of waves for the smoothed parts. The original parts are tried first, except in
    /// two cases in which the smoothed parts take less time. In the first case, there are very many
    /// parts. In the second case, there are many parts, and at least one part lists its losses (see
    /// `Tilted::listed`). In both cases, the tolerance must be at least the default.
    fn inverted(
        &self,
        parts: &[PairCount],
        target: Target,
        side: Side,
        answer: impl Fn(Inversion) -> Option<f64>,
    ) -> Option<f64> {
        let listed = |(pair, _): &PairCount| {
            pair.tilted(0.0, 0.0).is_some_and(|tilted| tilted.listed().is_some())
        };
        let listed = parts.iter().any(listed);
        let limit = if listed && TOLERANCE <= self.tolerance { MOST_LISTED } else { MOST };
        let plain = || Inversion::of(parts, target, self.tolerance, limit).and_then(&answer);
        let smooth = || Inversion::smoothed(parts, target, self.tolerance).and_then(&answer);
        let faster = || SKETCHED <= parts.len() || listed;
        match (side, parts.len()) {
            (Side::Above, MANY..) if TOLERANCE <= self.tolerance && faster() => {
                smooth().or_else(plain)
            }
            (Side::Above, MANY..) => plain().or_else(smooth),
            _ => plain(),
        }
    }
    /// Find the smallest epsilon at which the bound on delta is at most `delta`. The search takes
    /// place in the window of the sum, which is an interval. Return `None` if this epsilon is
    /// outside the window.
    fn epsilon_of_waves(&self, sum: &Inversion, delta: f64, side: Side) -> Option<f64> {
        let bound = |epsilon: f64| match side {
            Side::Above => sum.delta_above(epsilon),
            Side::Below => sum.delta_below(epsilon),
        };
        let (first, last) = sum.window();
        let epsilon = smallest(bound, delta, side, sum.expected, (first, last), f64::INFINITY);
        let inside = (first <= 0.0 || first < epsilon) && epsilon < last;
        inside.then_some(epsilon)
    }
    /// Enclose delta at an epsilon. Return the two bounds only if they are close. Their difference
    /// may be at most the tolerance times the upper bound, plus the bound on the mass with an
    /// infinite loss.
    fn exact(&self, sum: &Inversion, epsilon: f64) -> Option<Certified> {
        let (lower, upper) = (sum.delta_below(epsilon), sum.delta_above(epsilon));
        (upper - lower <= self.tolerance * upper + sum.infinite)
            .then_some(Certified { lower, upper })
    }
}
