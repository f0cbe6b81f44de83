//! The computation of a delta or an epsilon on a grid. The choice of the parameters affects how
//! tight the bounds are. The bounds hold for every choice. A tilt `t` multiplies the mass at a loss
//! `x` by `e^(t x)`. The window of a plan contains the sums of losses whose masses are computed.

use std::sync::Arc;

use opendp_core::Result;

use super::account::Side;
use super::convolution::Convolution;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{exp, ln};
use super::inversion::Target;
use super::pair::{DominatingPair, Grid};
use super::threads::each;
use crate::collected::Collected;

mod coarse;

use coarse::{Coarse, Estimate};

/// A part of an account: a dominating pair, and the number of releases with this pair.
pub(super) type PairCount = (Arc<dyn DominatingPair>, u64);

/// The length of the shortest Fourier transform.
const SHORTEST: usize = 1 << 12;
/// The length of the longest Fourier transform of a plan. A computation with such a transform takes
/// about 50 MB. If too much mass is outside the window of the plan, a transform of twice this
/// length is allowed.
const LONGEST: usize = 1 << 19;
/// The largest number of buckets of all pairs together.
const MOST_BUCKETS: f64 = (1 << 20) as f64;
/// The maximum number of plans for one result.
const PLANS: usize = 3;

/// Compute a bound on delta at an epsilon, or on epsilon at a delta.
///
/// The first plan is made from a coarse estimate. This estimate can be poor, for example if a large
/// loss is rare. Then the errors are large, and the next plan is made from a bound that was already
/// found.
pub(super) fn on_grid(
    parts: &[PairCount],
    target: Target,
    tolerance: f64,
    side: Side,
) -> Result<f64> {
    let mut found = Plan::of(parts, target, tolerance).result(parts, target, side)?;
    let mut best = found.value;
    for _ in 1..PLANS {
        if found.error <= tolerance {
            break;
        }
        let (epsilon, delta) = match (side, target) {
            (Side::Above, _) => (found.epsilon, found.delta),
            (Side::Below, Target::Epsilon(epsilon)) => {
                (epsilon, on_grid(parts, target, tolerance, Side::Above)?)
            }
            (Side::Below, Target::Delta(delta)) => {
                (on_grid(parts, target, tolerance, Side::Above)?, delta)
            }
        };
        if !(epsilon.is_finite() && 0.0 < delta && delta < 1.0) {
            break;
        }
        let mut plan = Plan::known(parts, (epsilon, delta), found.sharpness, tolerance);
        let Ok(now) = plan.result(parts, target, side) else { break };
        found = now;
        best = match side {
            Side::Above => best.min(found.value),
            Side::Below => best.max(found.value),
        };
    }
    Ok(best)
}

/// A result, and the point for which the next plan is made: an epsilon and its delta.
struct Found {
    value: f64,
    epsilon: f64,
    delta: f64,
    /// The growth of `ln delta` if a small loss is added, divided by the variance of the added
    /// loss: see [`shape`].
    sharpness: f64,
    /// An estimate of the error that is due to the plan. The estimate is the smaller of two errors:
    /// the error of delta relative to delta, and the error of epsilon relative to epsilon.
    error: f64,
}

/// The parameters of the computation on a grid.
#[derive(Clone, Debug)]
struct Plan {
    tilt: f64,
    step: f64,
    centre: f64,
    /// An approximation of epsilon: of the given epsilon, or of the epsilon at the given delta.
    target: f64,
    /// The largest allowed tilted mass outside the window.
    outside: f64,
    length: usize,
    /// The range of losses of each pair. Lower losses are treated as losses at the low end. Higher
    /// losses are treated as infinite.
    ranges: Vec<(f64, f64)>,
    /// A tilt `t`, and the logarithm of a number `c`. The losses below the ranges increase delta at
    /// an epsilon by at most about `c e^(-t epsilon)`.
    moved: (f64, f64),
}

/// Estimate two properties of delta at an epsilon.
///
/// The first property is the slope of `-ln delta`. For the second property, add an independent loss
/// of a small variance `v` and the mean `v / 2`. The property is the growth of `ln delta`, divided
/// by `v`. This quotient is `(delta'' - delta') / (2 delta)`, with derivatives with respect to
/// epsilon. Each derivative is computed from deltas that clearly differ.
fn shape(delta: impl Fn(f64) -> f64, epsilon: f64, least: f64) -> (f64, f64) {
    let first = delta(epsilon);
    let slope = ((first - delta(epsilon + least)) / (least * first)).max(0.0);
    let by = least.max(0.25 / slope);
    let (next, last) = (delta(epsilon + by), delta(epsilon + 2.0 * by));
    (slope, (0.5 * ((first - 2.0 * next + last) / by + (first - next)) / (by * first)).max(0.0))
}
/// Take the shortest interval that contains 0 and a range of losses. Return the length of this
/// interval, but at most `2 * Grid::REACH`. The interval contains 0, because some pairs compute all
/// buckets from 0 on.
fn reach((low, high): (f64, f64)) -> f64 {
    (high.max(0.0) - low.min(0.0)).min(2.0 * Grid::REACH)
}
/// Some losses of one release may be treated as infinite losses. Return the largest allowed mass of
/// these losses. This mass is far below delta.
fn tail(delta: f64, count: f64) -> f64 {
    (delta * 1e-7).max(1e-280) / count
}
fn releases(parts: &[PairCount]) -> f64 {
    parts.iter().map(|(_, count)| *count as f64).sum()
}

impl Plan {
    /// Choose the parameters by a coarse estimate of the result.
    fn of(parts: &[PairCount], target: Target, tolerance: f64) -> Plan {
        let count = releases(parts);
        let mut cut = match target {
            Target::Delta(delta) => tail(delta, count),
            Target::Epsilon(_) => 1e-16 / count,
        };
        let mut found = Coarse::of(parts, target, cut, tolerance);
        if let Target::Epsilon(_) = target {
            for _ in 0..6 {
                let wanted = tail(found.1.delta, count);
                if cut <= wanted * 10.0 {
                    break;
                }
                cut = wanted;
                found = Coarse::of(parts, target, cut, tolerance);
            }
        }
        Plan::at(parts, found, tolerance, 0.0)
    }
    /// Choose the parameters for an epsilon, if good estimates of delta and of the sharpness
    /// (see [`Found`]) are known.
    fn known(
        parts: &[PairCount],
        (epsilon, delta): (f64, f64),
        sharpness: f64,
        tolerance: f64,
    ) -> Plan {
        let cut = tail(delta, releases(parts));
        let (coarse, found) = Coarse::of(parts, Target::Epsilon(epsilon), cut, tolerance);
        let found = Estimate { centre: epsilon, delta, ..found };
        Plan::at(parts, (coarse, found), tolerance, sharpness)
    }
    /// Choose the step of the grid, and the window of losses.
    fn at(
        parts: &[PairCount],
        (coarse, found): (Coarse, Estimate),
        tolerance: f64,
        sharpness: f64,
    ) -> Plan {
        let count = releases(parts);
        // With a step h, the method "connect the dots" (see `DiscreteLoss::above`) increases the
        // variance of each loss by at most about h^2 / 4. The increase is about h^2 / 6 if the
        // losses are spread evenly over the buckets. Let g be the increase of the variance of all
        // losses together, and t the tilt. The logarithm of delta grows by about g t (t + 1) / 2.
        // Let `variance` be the variance of the tilted sum of losses. If t is small, this growth is
        // about g / (2 variance) instead.
        let variance = found.variance.max(1e-300);
        let estimated = (found.tilt * (found.tilt + 1.0) / 2.0).max(0.5 / variance);
        let sharpness = estimated.max(sharpness);
        let fine = (6.0 * tolerance / (count * sharpness)).sqrt();
        let window = Window::at(&coarse, &found, count, tolerance);
        let width = window.high - window.low + 16.0 * fine;
        let length = (width / fine).clamp(SHORTEST as f64, LONGEST as f64) as usize;
        let length = length.next_power_of_two();
        // The step has two lower limits. With the step `fine`, the error due to the grid is about
        // the tolerance, so a step far below `fine` has no advantage. With a step below `least`,
        // the losses of the single releases need too many buckets.
        let reaches = || coarse.ranges.iter().map(|range| reach(*range));
        let least = reaches().fold(0.0, f64::max) / LONGEST as f64;
        let least = least.max(reaches().sum::<f64>() / MOST_BUCKETS);
        let mut step = (width / length as f64).max(fine / 64.0).max(least);
        // The mass of an atom at an edge of the grid stays at this edge. So if the losses of all
        // atoms are multiples of one unit, choose a grid with an edge at each of these losses.
        let units: Vec<f64> = parts.iter().filter_map(|(pair, _)| pair.unit()).collected();
        let unit = units.iter().copied().fold(f64::INFINITY, f64::min);
        let multiple = |other: &f64| (other / unit - (other / unit).round()).abs() < 1e-12;
        if 0.0 < unit && step < unit && unit.is_finite() && units.iter().all(multiple) {
            step = unit / (unit / step).ceil();
        }
        Plan {
            tilt: window.tilt,
            step,
            centre: (window.low + window.high) / 2.0,
            target: found.centre,
            outside: window.outside.max(5e-300), // No computed bound above 0 is below 2e-300.
            length,
            moved: (found.tilt, coarse.moved(found.tilt)),
            ranges: coarse.ranges,
        }
    }
    /// Compute the result for a target, and an estimate of the error that is due to the plan.
    fn result(&mut self, parts: &[PairCount], target: Target, side: Side) -> Result<Found> {
        let sum = self.convolve(parts, side)?;
        let bound = |epsilon: f64| match side {
            Side::Above => sum.delta_above(epsilon),
            Side::Below => sum.delta_below(epsilon),
        };
        let (value, epsilon, delta) = match target {
            Target::Epsilon(epsilon) => (bound(epsilon), epsilon, bound(epsilon)),
            Target::Delta(delta) => {
                // The bounds are tight within a few `1 / tilt` of the expected epsilon.
                let step = 0.1 / self.tilt;
                let epsilon = smallest(bound, delta, side, self.target, sum.window(), step);
                (epsilon, epsilon.min(sum.window().1), delta)
            }
        };
        let moved = exp((self.moved.1 - self.moved.0 * epsilon).min(690.0));
        let (slope, sharpness) = shape(bound, epsilon, 4.0 * self.step);
        let grid = releases(parts) * self.step * self.step / 6.0 * sharpness;
        let error = ((sum.error(epsilon) + moved) / delta).max(grid / 4.0);
        // If delta falls steeply, a small relative error of epsilon is a large relative error of
        // delta. So return the smaller of the two relative errors.
        Ok(Found { value, epsilon, delta, sharpness, error: error / (slope * epsilon).max(1.0) })
    }
    /// Put the losses on a grid, and convolve them. If too much mass is outside the window,
    /// convolve them again with a longer window.
    fn convolve(&mut self, parts: &[PairCount], side: Side) -> Result<Convolution> {
        let mut losses = self.discretise(parts, side);
        loop {
            let sum = Convolution::new(&losses, self.tilt, self.centre, self.length, self.outside)?;
            if sum.outside() <= 2.0 * self.outside || self.length >= 2 * LONGEST {
                return Ok(sum);
            }
            self.length *= 2;
            if self.length > LONGEST {
                self.step *= 2.0;
                losses = self.discretise(parts, side);
            }
        }
    }
    fn discretise(&self, parts: &[PairCount], side: Side) -> Vec<(DiscreteLoss, u64)> {
        let discretised = |place: usize| {
            let ((pair, count), (low, high)) = (&parts[place], &self.ranges[place]);
            // Extend the grid by one step. So rounding cannot move the largest loss above the grid.
            let grid = Grid::covering(self.step, *low, high + self.step);
            let buckets = pair.buckets(&grid);
            let loss = match side {
                Side::Above => DiscreteLoss::above(&buckets, &grid),
                Side::Below => DiscreteLoss::below(&buckets, &grid),
            };
            (loss, *count)
        };
        each(parts.len().min(self.ranges.len()), discretised)
    }
}

/// A tilt, and the window of the tilted sum.
struct Window {
    tilt: f64,
    low: f64,
    high: f64,
    /// The largest allowed tilted mass outside the window.
    outside: f64,
}

impl Window {
    /// Choose a tilt and its window: the saddle point, or a smaller tilt with a much narrower
    /// window.
    ///
    /// At the saddle point, the mean of the tilted sum of losses is the expected epsilon. With this
    /// tilt, all errors are proportional to delta. But this tilt can make the window of a sum with
    /// rare large losses very wide. If delta is large, a smaller tilt multiplies the errors only by
    /// a small factor. So a smaller tilt can then be used.
    fn at(losses: &Coarse, found: &Estimate, count: f64, tolerance: f64) -> Window {
        let base = ln(found.delta.max(1e-300));
        let (lowest, highest) = losses.ends();
        let farthest = 600.0 / losses.step();
        let window_at = |tilt: f64| {
            let now = losses.cumulants(tilt);
            // The tilt multiplies the errors by a factor. Divide this factor by delta. `excess` is
            // the logarithm of the quotient, or 0 if this logarithm is negative.
            let excess = (now.0 - tilt * found.centre - base).max(0.0);
            let outside = 0.05 * tolerance * exp(-excess);
            let needed = -ln(outside);
            let guess = (2.0 * needed / now.2.max(1e-300)).sqrt();
            let side = |sign: f64| {
                let reach = |by: f64| {
                    let by = sign * by.min(farthest);
                    let other = losses.cumulants(tilt + by);
                    sign * ((other.0 - now.0 + needed) / by - now.1)
                };
                // For the low end of the window, also try a tilt of 0 and half of the tilt. These
                // tilts can give a narrower window than the tilts from `shares`.
                let to_zero = [tilt, 0.5 * tilt].into_iter().filter(|by| sign < 0.0 && 0.0 < *by);
                let shares = [1.3, 1.0, 0.6, 0.3, 0.1].map(|share| share * guess);
                let best = shares.into_iter().chain(to_zero).map(reach);
                best.filter(|x| x.is_finite() && *x > 0.0).fold(f64::INFINITY, f64::min)
            };
            let low = (now.1 - side(-1.0)).max(lowest);
            let high = (now.1 + side(1.0)).min(highest);
            let usable = excess < ln(1e-3 * tolerance / (count.max(10.0) * 1e-13));
            let high = high.max(found.centre + 0.02 * (high - low));
            let low = low.min(found.centre - 0.02 * (high - low));
            (usable, Window { tilt, low, high, outside })
        };
        let mut best = window_at(found.tilt).1;
        for share in [0.75, 0.5, 0.25, 0.0] {
            let (usable, window) = window_at(found.tilt * share);
            if usable && window.high - window.low < 0.8 * (best.high - best.low) {
                best = window;
            }
        }
        best
    }
}

/// Estimate the logarithm of `M(t) e^(-t epsilon) / delta`. Here `M(t)` is the moment generating
/// function of the sum of losses at the tilt `t`, and epsilon is the mean of the tilted sum.
///
/// Suppose that the tilted sum is normal with the standard deviation `s`. Then this quotient is
/// about `t (t + 1) s sqrt(2 pi)` if `t s` is large, about `sqrt(2 pi) / s` if `s` is small, and
/// about 1 between these cases.
pub(super) fn saddle_point(tilt: f64, variance: f64) -> f64 {
    let spread = (std::f64::consts::TAU * variance).sqrt();
    ln(1.0 + std::f64::consts::TAU / spread + tilt * (tilt + 1.0) * spread)
}

/// Find the smallest epsilon at which a bound on delta is at most `delta`. The result is rounded up
/// for `Side::Above`, and down for `Side::Below`.
///
/// Bounds are loose far from the expected epsilon. So the search starts at the expected epsilon and
/// moves outward. The first move is at most `step`.
pub(super) fn smallest(
    bound: impl Fn(f64) -> f64,
    delta: f64,
    side: Side,
    expected: f64,
    (first, last): (f64, f64),
    step: f64,
) -> f64 {
    let (first, last) = (first.max(0.0), last.max(0.0));
    let expected = expected.clamp(first, last);
    // After the two loops, the bound at `high` is at most delta, and the bound at `low` is above
    // delta.
    let (mut low, mut high) = (expected, expected);
    let mut by = step.min((last - first) / 1024.0);
    while bound(low) <= delta {
        if low <= first {
            return if first == 0.0 || side == Side::Above { low } else { 0.0 };
        }
        (low, high) = ((low - by).max(first), low);
        by *= 2.0;
    }
    while delta < bound(high) {
        if high >= last {
            return if side == Side::Above { f64::INFINITY } else { high };
        }
        (low, high) = (high, (high + by).min(last));
        by *= 2.0;
    }
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || high <= middle {
            return if side == Side::Above { high } else { low };
        }
        if bound(middle) <= delta { high = middle } else { low = middle }
    }
}

#[cfg(test)]
mod tests;
