//! Coarse estimates of a composition. The parameters of the computation on a grid are chosen from
//! these estimates. A tilt `t` multiplies the mass at a loss `x` by `e^(t x)`.

use super::super::discrete_loss::DiscreteLoss;
use super::super::elementary::{exp, ln};
use super::super::inversion::Target;
use super::super::pair::Grid;
use super::{PairCount, each, reach, saddle_point};
use crate::collected::Collected;

/// Two numbers of buckets. The second number is divided evenly among all dominating pairs. But each
/// dominating pair gets at most the first number of buckets, and at least 256 buckets.
const BUCKETS: (f64, f64) = (4096.0, 32768.0);
/// The maximum number of buckets in the shortest interval that contains 0 and a range of losses.
const FINEST: f64 = 65536.0;
/// The maximum number of times that ranges are narrowed.
const ROUNDS: usize = 8;

/// Losses on coarse grids.
pub(super) struct Coarse {
    /// The losses of each pair on a grid, with the number of releases of the pair.
    losses: Vec<(DiscreteLoss, u64)>,
    /// The mass below the range of each pair.
    below: Vec<f64>,
    /// For each pair, the range of the losses that contribute to the result. See
    /// [`Coarse::narrowed`].
    pub(super) ranges: Vec<(f64, f64)>,
}

/// A coarse estimate of the composition. `delta` is the estimate of delta at the epsilon `centre`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) tilt: f64,
    /// The mean of the tilted sum of losses.
    pub(super) centre: f64,
    pub(super) variance: f64,
    pub(super) delta: f64,
}

impl Coarse {
    fn new(parts: &[PairCount], ranges: Vec<(f64, f64)>) -> Coarse {
        let buckets = (BUCKETS.1 / parts.len() as f64).clamp(256.0, BUCKETS.0);
        let coarsened = |place: usize| {
            let ((pair, count), (low, high)) = (&parts[place], &ranges[place]);
            let finest = (reach((*low, *high)) / FINEST).max(1e-12);
            let step = ((high - low) / buckets).max(finest);
            let grid = Grid::covering(step, *low, high + step);
            let buckets = pair.buckets(&grid);
            ((DiscreteLoss::above(&buckets, &grid), *count), buckets.below)
        };
        let (losses, below) = each(parts.len().min(ranges.len()), coarsened).into_iter().unzip();
        Coarse { losses, below, ranges }
    }
    /// Put the losses on grids, and estimate the result. The ranges of the grids are narrowed until
    /// no range becomes much narrower, but at most `ROUNDS` times.
    pub(super) fn of(
        parts: &[PairCount],
        target: Target,
        tail: f64,
        tolerance: f64,
    ) -> (Coarse, Estimate) {
        let ranges = parts.iter().map(|(pair, _)| pair.range(tail)).collected();
        let mut coarse = Coarse::new(parts, ranges);
        let mut found = coarse.estimate(target);
        for _ in 0..ROUNDS {
            let Some(ranges) = coarse.narrowed(found.tilt, tolerance) else { break };
            coarse = Coarse::new(parts, ranges);
            found = coarse.estimate(target);
        }
        (coarse, found)
    }
    /// Return narrower ranges, or `None` if no range becomes much narrower.
    ///
    /// The mass below a range is moved up to the low end of the range. Let `M(t)` be the moment
    /// generating function of the sum of losses at the tilt `t`. The move multiplies `M(t)` by a
    /// factor. Let `1 + b` be a bound on this factor. By Chernoff's bound, the moved mass adds at
    /// most `b M(t) e^(-t epsilon)` to the delta at an epsilon. The ranges are chosen so that `b`
    /// is far below the tolerance. If the tilt is large, the highest losses contribute most of
    /// `M(t)`. Then the low end of a range can be close to the highest losses.
    fn narrowed(&self, tilt: f64, tolerance: f64) -> Option<Vec<(f64, f64)>> {
        let count: f64 = self.losses.iter().map(|(_, count)| *count as f64).sum();
        let small = 1e-6 * tolerance / count;
        let mut much = false;
        let narrow = |((loss, _), (low, high)): (&(DiscreteLoss, u64), &(f64, f64))| {
            let limit = loss.cumulant(tilt).0 + ln(small);
            let (mut below, mut cut) = (0.0, *low);
            for (i, mass) in loss.mass.iter().enumerate() {
                if below > 0.0 && ln(below) + tilt * loss.loss(i) > limit {
                    break;
                }
                cut = loss.loss(i).clamp(cut, *high);
                below += mass;
            }
            much |= high - cut < 0.5 * (high - low);
            (cut, *high)
        };
        let ranges = self.losses.iter().zip(&self.ranges).map(narrow).collected();
        much.then_some(ranges)
    }
    /// Return the logarithm of `b M(t)` for a tilt `t`. The number `b` and the function `M` are
    /// defined at [`narrowed`](Coarse::narrowed).
    pub(super) fn moved(&self, tilt: f64) -> f64 {
        let share = |((loss, count), below): (&(DiscreteLoss, u64), &f64)| {
            *count as f64 * below * exp((tilt * loss.loss(0) - loss.cumulant(tilt).0).min(690.0))
        };
        let share: f64 = self.losses.iter().zip(&self.below).map(share).sum();
        ln(share.max(1e-300)) + self.cumulants(tilt).0
    }
    /// Return the logarithm of the moment generating function of the sum of losses at a tilt, and
    /// the first two derivatives of this logarithm.
    pub(super) fn cumulants(&self, tilt: f64) -> (f64, f64, f64) {
        self.losses.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (loss, count)| {
            let (log, mean, variance) = loss.cumulant(tilt);
            let k = *count as f64;
            (a + k * log, b + k * mean, c + k * variance)
        })
    }
    /// Return the smallest and the largest sum of losses.
    pub(super) fn ends(&self) -> (f64, f64) {
        self.losses.iter().fold((0.0, 0.0), |(low, high), (loss, count)| {
            let k = *count as f64;
            (low + k * loss.loss(0), high + k * loss.loss(loss.mass.len() - 1))
        })
    }
    /// Return the largest step of the grids, or 0.001 if all steps are smaller.
    pub(super) fn step(&self) -> f64 {
        self.losses.iter().map(|(loss, _)| loss.step).fold(1e-3, f64::max)
    }
    /// Find a tilt that is approximately the saddle point of the target, and return the estimate at
    /// this tilt. If the target is an epsilon, the saddle point is the tilt at which the mean of
    /// the tilted sum is this epsilon. If the target is a delta, the saddle point is the tilt at
    /// which the estimate of delta is this delta.
    fn estimate(&self, target: Target) -> Estimate {
        let state_at = |tilt: f64| {
            let (log, mean, variance) = self.cumulants(tilt);
            let delta = log - tilt * mean - saddle_point(tilt, variance);
            Estimate { tilt, centre: mean, variance, delta: exp(delta.clamp(-690.0, 0.0)) }
        };
        let enough = |found: &Estimate| match target {
            Target::Epsilon(epsilon) => found.centre >= epsilon,
            Target::Delta(delta) => found.delta <= delta.max(1e-290),
        };
        let (_, highest) = self.ends();
        let mut high = 1.0;
        let mut found = state_at(0.0);
        if enough(&found) {
            return found;
        }
        let mut low = 0.0;
        let finest = self.losses.iter().map(|(loss, _)| loss.step).fold(f64::INFINITY, f64::min);
        let steepest = 1e7 / self.ranges.iter().map(|range| reach(*range)).fold(1e-12, f64::max);
        loop {
            found = state_at(high);
            // The second condition holds if the tilted sum is concentrated at the largest sum of
            // losses. The third condition holds if rounding errors would be large at a larger tilt.
            if enough(&found) || highest - found.centre < 1e-3 * finest || steepest <= high {
                break;
            }
            low = high;
            high *= 2.0;
        }
        for _ in 0..7 {
            let middle = (low + high) / 2.0;
            found = state_at(middle);
            if enough(&found) { high = middle } else { low = middle }
        }
        found
    }
}
