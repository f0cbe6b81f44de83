//! The computation of a delta or an epsilon on a grid. The choices here affect how tight the bounds
//! are. The bounds hold for every choice.

use std::sync::Arc;

use opendp_core::Result;

use super::account::Side;
use super::convolution::Convolution;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{exp, ln};
use super::inversion::Target;
use super::pair::{DominatingPair, Grid};

/// The parameters of the computation on a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) tilt: f64,
    pub(super) tail: f64,
    pub(super) step: f64,
    pub(super) centre: f64,
    /// An estimate of the given or requested epsilon.
    pub(super) target: f64,
    /// The largest allowed tilted mass outside the window.
    pub(super) outside: f64,
    pub(super) length: usize,
}

/// A dominating pair, and the number of releases with this pair.
pub(super) type PairCount = (Arc<dyn DominatingPair>, u64);
type Losses = Vec<(Arc<DiscreteLoss>, u64)>;

/// The number of buckets for each pair in the first (coarse) estimate.
const COARSE: f64 = 4096.0;
/// The length of the shortest Fourier transform, and the length of the longest.
const SHORTEST: usize = 1 << 13;
const LONGEST: usize = 1 << 21;

impl Plan {
    /// Choose the tilt, the mass of the tails, the step of the grid, and the window of losses.
    pub(super) fn of(parts: &[PairCount], target: Target, tolerance: f64) -> Plan {
        let count: f64 = parts.iter().map(|(_, count)| *count as f64).sum();
        let mut tail = match target {
            Target::Delta(delta) => (delta * 1e-7).max(1e-280) / count,
            Target::Epsilon(_) => 1e-16 / count,
        };
        let mut found = coarse_estimate(&coarse(parts, tail), target);
        if let Target::Epsilon(_) = target {
            for _ in 0..6 {
                let wanted = (found.delta * 1e-7).max(1e-280) / count;
                if tail <= wanted * 10.0 {
                    break;
                }
                tail = wanted;
                found = coarse_estimate(&coarse(parts, tail), target);
            }
        }
        // With a step h, "connect the dots" increases the variance of each loss by at most h^2 / 6.
        // The logarithm of delta grows by half the added variance times t (t + 1), where t is the
        // tilt. If t is small, the factor is 1 / variance instead of t (t + 1).
        let variance = found.variance.max(1e-300);
        let sharpness = (found.tilt * (found.tilt + 1.0) / 2.0).max(0.5 / variance);
        let fine = (6.0 * tolerance / (count * sharpness)).sqrt();
        let window = Window::at(&coarse(parts, tail), &found, count, tolerance);
        let width = window.high - window.low + 16.0 * fine;
        let length = (width / fine).clamp(SHORTEST as f64, LONGEST as f64) as usize;
        let length = length.next_power_of_two();
        // The step has a lower limit. A much finer step has no advantage, and the loss of a single
        // release then has too many buckets.
        let widest = parts.iter().map(|(pair, _)| pair.range(tail)).map(|(low, high)| high - low);
        let widest = widest.fold(0.0, f64::max).min(2.0 * Grid::REACH);
        let mut step = (width / length as f64).max(fine / 64.0).max(widest / LONGEST as f64);
        // The mass of an atom at an edge of the grid stays at this edge. So if the losses of all
        // atoms are multiples of one step, choose the grid to contain these losses.
        let units: Vec<f64> = parts.iter().filter_map(|(pair, _)| pair.unit()).collect();
        let unit = units.iter().copied().fold(f64::INFINITY, f64::min);
        let multiple = |other: &f64| (other / unit - (other / unit).round()).abs() < 1e-12;
        if 0.0 < unit && step < unit && unit.is_finite() && units.iter().all(multiple) {
            step = unit / (unit / step).ceil();
        }
        let centre = (window.low + window.high) / 2.0;
        Plan {
            tilt: window.tilt,
            tail,
            step,
            centre,
            target: found.centre,
            outside: window.outside,
            length,
        }
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
    /// Choose the tilt with the narrowest window.
    ///
    /// With the tilt of the saddle point, all errors are relative to delta. But this tilt can make
    /// the window of a sum with rare large losses very wide. If delta is large, a smaller tilt is
    /// possible. A smaller tilt then multiplies the errors only by a small factor.
    fn at(losses: &Losses, found: &CoarseEstimate, count: f64, tolerance: f64) -> Window {
        let base = ln(found.delta.max(1e-300));
        let at = |tilt: f64| {
            let now = cumulants(losses, tilt);
            // The logarithm of the factor by which the tilt multiplies the errors, relative to
            // delta.
            let excess = (now.0 - tilt * found.centre - base).max(0.0);
            let outside = 0.05 * tolerance * exp(-excess);
            let needed = -ln(outside);
            let side = |sign: f64| {
                let guess = (2.0 * needed / now.2.max(1e-300)).sqrt();
                let reach = |by: f64| {
                    let by = sign
                        * by.min(600.0 / losses.iter().map(|(l, _)| l.step).fold(1e-3, f64::max));
                    let other = cumulants(losses, tilt + by);
                    sign * ((other.0 - now.0 + needed) / by - now.1)
                };
                let best = [1.3, 1.0, 0.6, 0.3, 0.1].map(|share| reach(share * guess));
                best.into_iter().filter(|x| x.is_finite() && *x > 0.0).fold(f64::INFINITY, f64::min)
            };
            let ends = |end: fn(&DiscreteLoss) -> f64| -> f64 {
                losses.iter().map(|(loss, k)| *k as f64 * end(loss)).sum()
            };
            let least = ends(|loss| loss.loss(0));
            let most = ends(|loss| loss.loss(loss.mass.len() - 1));
            let low = (now.1 - side(-1.0)).max(least);
            let high = (now.1 + side(1.0)).min(most);
            let usable = excess < ln(1e-3 * tolerance / (count.max(10.0) * 1e-13));
            let high = high.max(found.centre + 0.02 * (high - low));
            let low = low.min(found.centre - 0.02 * (high - low));
            (usable, Window { tilt, low, high, outside })
        };
        let mut best = at(found.tilt).1;
        for share in [0.75, 0.5, 0.25, 0.0] {
            let (usable, window) = at(found.tilt * share);
            if usable && window.high - window.low < 0.8 * (best.high - best.low) {
                best = window;
            }
        }
        best
    }
}

/// Return the cumulant of the sum of losses at a tilt, and the first two derivatives of the
/// cumulant.
fn cumulants(losses: &Losses, tilt: f64) -> (f64, f64, f64) {
    losses.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (loss, count)| {
        let (log, mean, variance) = loss.cumulant(tilt);
        let k = *count as f64;
        (a + k * log, b + k * mean, c + k * variance)
    })
}

/// A coarse estimate of the result.
struct CoarseEstimate {
    tilt: f64,
    centre: f64,
    variance: f64,
    delta: f64,
}

fn coarse(parts: &[PairCount], tail: f64) -> Losses {
    let one = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
        let (low, high) = pair.range(tail);
        let step = ((high - low) / COARSE).max(1e-12);
        let grid = Grid::covering(step, low, high);
        (Arc::new(DiscreteLoss::above(&pair.buckets(&grid), &grid)), *count)
    };
    parts.iter().map(one).collect()
}

fn discretise(parts: &[PairCount], step: f64, tail: f64, side: Side) -> Losses {
    let one = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
        let (low, high) = pair.range(tail);
        let grid = Grid::covering(step, low, high);
        let buckets = pair.buckets(&grid);
        let loss = match side {
            Side::Above => DiscreteLoss::above(&buckets, &grid),
            Side::Below => DiscreteLoss::below(&buckets, &grid),
        };
        (Arc::new(loss), *count)
    };
    parts.iter().map(one).collect()
}

/// Put the losses on a grid, and convolve them. If too much mass is outside the window, repeat this
/// with a longer window.
pub(super) fn convolve(parts: &[PairCount], plan: Plan, side: Side) -> Result<Convolution> {
    let mut plan = plan;
    loop {
        let losses = discretise(parts, plan.step, plan.tail, side);
        let sum = Convolution::new(&losses, plan.tilt, plan.centre, plan.length, plan.outside)?;
        if sum.outside() <= 2.0 * plan.outside || plan.length >= 2 * LONGEST {
            return Ok(sum);
        }
        plan.length *= 2;
        if plan.length > LONGEST {
            plan.step *= 2.0;
        }
    }
}

/// Return the logarithm of the quotient of `M(t) e^(-t epsilon)` and delta. Here `M(t)` is the
/// moment generating function of the sum at the tilt `t`, and epsilon is the tilted mean.
///
/// Let the tilted sum be normal with standard deviation `s`. The quotient is about
/// `t (t + 1) s sqrt(2 pi)` if `t s` is large. The quotient is about `sqrt(2 pi) / s` if `s` is
/// small, and about 1 between these cases.
pub(super) fn saddle_point(tilt: f64, variance: f64) -> f64 {
    let spread = (std::f64::consts::TAU * variance).sqrt();
    ln(1.0 + std::f64::consts::TAU / spread + tilt * (tilt + 1.0) * spread)
}

/// Find the saddle point: the tilt at which the mean of the sum is the requested epsilon.
fn coarse_estimate(losses: &Losses, target: Target) -> CoarseEstimate {
    let at = |tilt: f64| {
        let (log, mean, variance) = cumulants(losses, tilt);
        let delta = log - tilt * mean - saddle_point(tilt, variance);
        CoarseEstimate { tilt, centre: mean, variance, delta: exp(delta.clamp(-690.0, 0.0)) }
    };
    let enough = |found: &CoarseEstimate| match target {
        Target::Epsilon(epsilon) => found.centre >= epsilon,
        Target::Delta(delta) => found.delta <= delta.max(1e-290),
    };
    let mut high = 1.0;
    let mut found = at(0.0);
    if enough(&found) {
        return found;
    }
    let mut low = 0.0;
    for _ in 0..24 {
        found = at(high);
        // If the last condition holds, the tilted sum is concentrated at the largest loss.
        if enough(&found) || found.variance * high * high < 1e-3 {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..7 {
        let middle = (low + high) / 2.0;
        found = at(middle);
        if enough(&found) { high = middle } else { low = middle }
    }
    found
}

/// Find the smallest epsilon at which a bound on delta is at most `delta`. The result is rounded up
/// for `Side::Above`, and down for `Side::Below`.
///
/// Bounds are poor far from the expected epsilon. So the search starts at the expected epsilon
/// and moves outward.
pub(super) fn smallest(
    bound: impl Fn(f64) -> f64,
    delta: f64,
    side: Side,
    expected: f64,
    (first, last): (f64, f64),
) -> f64 {
    let (first, last) = (first.max(0.0), last.max(0.0));
    let expected = expected.clamp(first, last);
    // After the two loops, the bound at `high` is at most delta, and the bound at `low` is above
    // delta.
    let (mut low, mut high) = (expected, expected);
    let mut by = (last - first) / 1024.0;
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
