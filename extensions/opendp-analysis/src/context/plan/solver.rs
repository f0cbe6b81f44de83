//! The search for the scales of several questions together.
//!
//! The room of a plan is the largest loss that the plan may spend. The room has two limits. The
//! first limit is for the sum of pure losses. The second limit is for the sum of the `mu^2` of
//! Gaussian noise. The `mu` of Gaussian noise is the largest change of the released numbers in the
//! L2 norm, divided by the scale of the noise. A release is `mu`-GDP (Gaussian differentially
//! private) if the following is true for all neighbours: two neighbours are at least as hard to
//! distinguish by this release as by a number with Gaussian noise of this `mu`.
//!
//! All numbers here are approximate. The account checks the exact losses when it admits releases.

use opendp_core::Result;
use opendp_measurements::accounting::joined_mu;

/// A mechanism with a pure loss `e` is also `mu`-GDP. The least such `mu` depends on `e`. The ratio
/// of this `mu` to `e` is at most `sqrt(pi / 2)`.
const MU_OF_PURE: f64 = 1.253_314_137_315_500_3;
/// The search divides each room by this factor, so that losses that are rounded up still fit the
/// room.
const ROOM: f64 = 1.0 + 1e-8;
/// The search tries `TRIALS + 1` values for the part of epsilon that pure losses get. If there is
/// only one interval (see [`NODES`]), the search tries only the two ends of this interval.
const TRIALS: u32 = 512;
/// The number of intervals into which epsilon is divided. If the questions together need only one
/// kind of room in every [`Mode`], there is only one interval. The ends of the intervals are called
/// nodes. The room for Gaussian noise is computed at the nodes, and interpolated between them.
const NODES: u32 = 12;

/// One kind of noise for a question, with the numbers that the search needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The product of the loss and the noise scale. The loss is an epsilon, a `mu`, or the square
    /// root of twice a rho.
    pub(super) size: f64,
    /// The error of the answer at a noise scale of 1.
    pub(super) error: f64,
    /// The largest noise scale with the wanted accuracy, if the question has a wanted accuracy.
    pub(super) fixed: Option<f64>,
}
/// A question with its kinds of noise: noise with a pure loss, Gaussian noise, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) pure: Option<Way>,
    pub(super) gaussian: Option<Way>,
    /// Whether the question is a choice among candidates. If `true`, `gaussian` is Gumbel noise.
    pub(super) choice: bool,
    /// The weight of the question. The weight is 0 if an accuracy is wanted.
    pub(super) weight: f64,
}
/// The room for a sum of pure losses, and for a sum of `mu^2`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Endowment {
    pub(crate) pure: f64,
    pub(crate) square: f64,
}
/// The kinds of noise that questions get, and the way in which pure losses are charged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode {
    /// Whether numbers get Gaussian noise if Gaussian noise is possible.
    pub(super) gaussian: bool,
    /// Whether choices get Gumbel noise if Gumbel noise is possible.
    pub(super) gumbel: bool,
    /// Whether a pure loss is charged to the room for `mu^2`. The charge for a pure loss `e` is
    /// `(MU_OF_PURE * e)^2`.
    pub(super) by_mu: bool,
}
/// The sums from which the noise is computed. Each question adds to exactly one of these sums. For
/// questions with wanted accuracies, `pure` is the sum of the pure losses, and `square` is the sum
/// of the `mu^2`. Each question with a weight has a number `c = weight * (error * size)^2`. Here
/// `weight` is a field of its [`Item`], and `error` and `size` are fields of its [`Way`]. For these
/// questions, `pure_weight` is the sum of the cube roots of `c`, and `square_weight` is the sum of
/// the square roots of `c`. [`value`](Demand::value) explains these sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    pub(super) pure: f64,
    pub(super) square: f64,
    pure_weight: f64,
    square_weight: f64,
}
impl Mode {
    /// Return the modes to try for the given questions. If no question is a choice that can have
    /// Gumbel noise, all modes have `gumbel: false`. If `tight` is `false`, the measure of the
    /// budget determines the kind of noise of each question. So the only mode is the one in which
    /// all fields are `false`.
    pub(super) fn all(items: &[Item], tight: bool) -> Vec<Mode> {
        let choices = items.iter().any(|item| item.choice && item.gaussian.is_some());
        let mut modes = Vec::new();
        for gumbel in [true, false] {
            for gaussian in [true, false] {
                for by_mu in [false, true] {
                    let fits = choices || !gumbel;
                    if fits && (tight || !(gaussian || gumbel || by_mu)) {
                        modes.push(Mode { gaussian, gumbel, by_mu });
                    }
                }
            }
        }
        modes
    }
    /// Return whether a question gets the noise in its field `gaussian`: Gumbel noise for a choice,
    /// and Gaussian noise for numbers.
    pub(super) fn takes_gaussian(self, item: &Item) -> bool {
        let chosen = if item.choice { self.gumbel } else { self.gaussian };
        item.gaussian.is_some() && (chosen || item.pure.is_none())
    }
    /// Return the noise of a question, and whether this noise is charged to the room for `mu^2`.
    pub(super) fn of(self, item: &Item) -> Option<(Way, bool)> {
        match (item.gaussian, item.pure) {
            (Some(way), _) if self.takes_gaussian(item) => Some((way, true)),
            (_, Some(way)) if self.by_mu => {
                Some((Way { size: way.size * MU_OF_PURE, ..way }, true))
            }
            (_, way) => way.map(|way| (way, false)),
        }
    }
    /// Add up the demands of the questions. Return `None` if a question has no possible noise.
    pub(super) fn demand(self, items: &[Item]) -> Option<Demand> {
        let mut all = Demand::default();
        for item in items {
            let (way, square) = self.of(item)?;
            match (way.fixed, square) {
                (Some(scale), false) => all.pure += way.size / scale,
                (Some(scale), true) => all.square += (way.size / scale).powi(2),
                (None, false) => all.pure_weight += third(item.weight * square_of(way)),
                (None, true) => all.square_weight += (item.weight * square_of(way)).sqrt(),
            }
        }
        Some(all)
    }
    /// Find the noise scales of all questions.
    pub(super) fn scales(self, items: &[Item], all: &Demand, room: Endowment) -> Vec<f64> {
        let pure = (room.pure - all.pure) / ROOM / all.pure_weight;
        let square = (room.square - all.square) / ROOM / all.square_weight;
        let mut scales = Vec::with_capacity(items.len());
        for item in items {
            scales.push(match self.of(item) {
                None => f64::INFINITY,
                Some((Way { fixed: Some(scale), .. }, _)) => scale,
                // A statistic that no person can change needs no noise.
                Some((way, _)) if way.size == 0.0 => 0.0,
                Some((way, false)) => way.size / (pure * third(item.weight * square_of(way))),
                Some((way, true)) => {
                    way.size / (square * (item.weight * square_of(way)).sqrt()).sqrt()
                }
            });
        }
        scales
    }
}
impl Demand {
    /// For the room `room`, return two numbers: the weighted sum of squared errors, and the
    /// fraction of the room that the questions with a wanted accuracy use. There are two such
    /// fractions: one of the room for pure losses, and one of the room for `mu^2`. The second
    /// returned number is the larger fraction. Return `None` when the room is too small.
    ///
    /// [`Demand`] defines the number `c` of a question. Fix the sum of the epsilons. By Lagrange
    /// multipliers, the sum of `c / epsilon^2` is then least if the epsilon of each question is
    /// proportional to the cube root of its `c`. Or fix the sum of the `mu^2`. Then the sum of
    /// `c / mu^2` is least if the `mu^2` of each question is proportional to the square root of its
    /// `c`.
    pub(super) fn value(&self, room: Endowment) -> Option<(f64, f64)> {
        let part = |taken: f64, weight: f64, room: f64, power: i32| {
            if taken == 0.0 && weight == 0.0 {
                return Some((0.0, 0.0));
            }
            let left = room / ROOM - taken;
            let enough = if weight == 0.0 { 0.0 <= left } else { 0.0 < left };
            let value = if weight == 0.0 { 0.0 } else { weight.powi(power + 1) / left.powi(power) };
            enough.then(|| (value, taken / room))
        };
        let pure = part(self.pure, self.pure_weight, room.pure, 2)?;
        let square = part(self.square, self.square_weight, room.square, 1)?;
        Some((pure.0 + square.0, pure.1.max(square.1)))
    }
    /// Return the least factor by which all wanted errors must be multiplied so that the losses of
    /// the questions fit the room.
    pub(super) fn stretch(&self, room: Endowment) -> f64 {
        let pure = if self.pure == 0.0 { 0.0 } else { self.pure / room.pure };
        let square = if self.square == 0.0 { 0.0 } else { (self.square / room.square).sqrt() };
        pure.max(square) * ROOM
    }
    fn takes_only_one_kind(&self) -> bool {
        self.pure + self.pure_weight == 0.0 || self.square + self.square_weight == 0.0
    }
}
fn square_of(way: Way) -> f64 {
    (way.error * way.size).powi(2)
}
/// Compute the cube root by Newton's method.
fn third(x: f64) -> f64 {
    if !(0.0 < x && x.is_finite()) {
        return x;
    }
    // The exponent of the first value is about a third of the exponent of `x`. The first value
    // differs from the cube root by less than a factor of 2.
    let mut root = f64::from_bits(x.to_bits() / 3 + (0x3ff << 52) / 3 * 2);
    for _ in 0..40 {
        let next = (2.0 * root + x / (root * root)) / 3.0;
        if (next - root).abs() <= 1e-15 * root {
            break;
        }
        root = next;
    }
    root
}

/// The room for Gaussian noise, as a function of the part of epsilon that pure losses take. The
/// delta is fixed.
pub(super) struct Frontier {
    epsilon: f64,
    /// For each node, a pure loss, and the largest `mu` that can be spent in addition to this loss.
    nodes: Vec<(f64, f64)>,
}
impl Frontier {
    pub(super) fn new(epsilon: f64, delta: f64, demands: &[(Mode, Demand)]) -> Result<Self> {
        // If no demand needs both kinds of room, the first and the last node are enough.
        let ends = demands.iter().all(|(_, demand)| demand.takes_only_one_kind());
        let count = if ends { 1 } else { NODES };
        let mut nodes = Vec::new();
        for k in 0..=count {
            let pure = epsilon * smooth(f64::from(k) / f64::from(count));
            nodes.push((pure, joined_mu(pure, epsilon, delta)?));
        }
        Ok(Frontier { epsilon, nodes })
    }
    /// Try several parts of epsilon for the pure losses. Return each part together with the `mu^2`
    /// that remains for Gaussian noise.
    pub(super) fn trials(&self) -> Vec<Endowment> {
        let count = if self.nodes.len() == 2 { 1 } else { TRIALS };
        let mut trials = Vec::new();
        for k in 0..=count {
            let pure = self.epsilon * smooth(f64::from(k) / f64::from(count));
            let mu = self.nodes.windows(2).find_map(|pair| match pair {
                [a, b] if pure <= b.0 => Some(a.1 + (pure - a.0) / (b.0 - a.0) * (b.1 - a.1)),
                _ => None,
            });
            trials.push(Endowment { pure, square: mu.unwrap_or(0.0).powi(2) });
        }
        trials
    }
}
/// Map the interval from 0 to 1 onto itself. The map grows slowly near 0 and near 1.
fn smooth(u: f64) -> f64 {
    u * u * (3.0 - 2.0 * u)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_roots_are_right() {
        for x in [1e-300, 1e-9, 0.5, 1.0, 8.0, 1e9, 1e300] {
            let root = third(x);
            assert!((root * root * root / x - 1.0).abs() < 1e-14, "{x} {root}");
        }
        assert_eq!(third(0.0), 0.0);
    }
    #[test]
    fn the_room_between_nodes_is_interpolated_to_half_a_percent() {
        let mixed = Demand { pure: 1.0, square: 1.0, ..Demand::default() };
        let mode = Mode { gaussian: true, gumbel: false, by_mu: false };
        let frontier = Frontier::new(1.0, 1e-6, &[(mode, mixed)]).unwrap();
        for room in frontier.trials().into_iter().step_by(37).filter(|room| room.pure < 0.9) {
            let exact = joined_mu(room.pure, 1.0, 1e-6).unwrap();
            assert!((room.square.sqrt() / exact - 1.0).abs() < 5e-3, "{room:?} {exact}");
        }
        let ends = Frontier::new(1.0, 1e-6, &[(mode, Demand::default())]).unwrap();
        assert_eq!(ends.trials().len(), 2);
    }
}
