//! Choose the tilt and the frequencies of an [`Inversion`](super::Inversion). A tilt `t` multiplies
//! the mass at each loss `x` by `e^(t x)`.

use super::super::elementary::{exp, ln};
use super::super::plan::{PairCount, saddle_point};
use super::{SHARE, Target, Tilt, omitted};

/// A tilted sum of losses, with the properties that a plan needs.
struct Sum {
    tilt: f64,
    all: Tilt,
    /// `ln M(t)` at the tilt `t` (see the proof at `Inversion`), and a bound on the error of
    /// `ln M(t)`.
    log: (f64, f64),
    centre: f64,
    variance: f64,
}

impl Sum {
    fn at(parts: &[PairCount], tilt: f64) -> Option<Sum> {
        let all = Tilt::new(parts, tilt, 0.0)?;
        let (log, centre) = (all.log(), all.centre().0);
        Some(Sum { tilt, log, centre, variance: all.total(&|part| part.variance()), all })
    }
    /// Estimate the logarithm of delta at the centre.
    fn log_delta(&self) -> f64 {
        self.log.0 - self.tilt * self.centre - saddle_point(self.tilt, self.variance)
    }
}

/// Find a tilt for a target, which is an epsilon or a delta. The centre of a tilt is the mean of
/// the tilted total loss. For an epsilon, the wanted centre equals this epsilon. For a delta, the
/// estimate of delta at the wanted centre equals this delta. The tilt with the wanted centre is
/// called the saddle point. The tilt of the result differs from the saddle point by a few percent.
/// Every tilt gives valid bounds.
///
/// For an epsilon, the search compares centres. For a delta, the search compares square roots of
/// `-ln delta`. If losses have a normal distribution, the centre and this root are about linear in
/// the tilt. So the search computes each next tilt from a line through two known points. A step
/// multiplies the tilt by at most 4, because losses can be very skewed.
fn saddle(parts: &[PairCount], target: Target) -> Option<Sum> {
    let height = |sum: &Sum| match target {
        Target::Epsilon(_) => sum.centre,
        Target::Delta(_) => (-sum.log_delta()).max(0.0).sqrt(),
    };
    let goal = match target {
        Target::Epsilon(epsilon) => epsilon,
        Target::Delta(delta) => (-ln(delta)).max(0.0).sqrt(),
    };
    let start = Sum::at(parts, 0.0)?;
    let least = height(&start);
    if goal <= least {
        return Some(start);
    }
    let (mut low, mut high, mut tilt) = ((0.0, least), None, 1.0);
    while low.0 < 1e6 {
        let found = Sum::at(parts, tilt)?;
        let now = height(&found);
        if now.is_nan() {
            // Without this check, the search would not end.
            return None;
        }
        if (now - goal).abs() <= 0.015 * (goal - least) {
            return Some(found);
        }
        if now < goal {
            low = (tilt, now);
        } else {
            high = Some((tilt, now));
        }
        tilt = match high {
            Some((end, _)) if end - low.0 <= 0.03 * end || end <= 1e-6 => return Some(found),
            Some((end, above)) => {
                let share = ((goal - low.1) / (above - low.1)).clamp(0.05, 0.95);
                low.0 + share * (end - low.0)
            }
            None => low.0 * ((goal - least) / (now - least)).clamp(1.25, 4.0),
        };
    }
    None
}

/// The parameters of a sum of waves (values of the Fourier transform of the total loss).
pub(super) struct WavePlan {
    pub(super) tilt: f64,
    pub(super) expected: f64,
    pub(super) spacing: f64,
    /// The number of frequencies in the sum.
    pub(super) many: usize,
    /// A product of waves is negligible if its modulus is below this bound. The sum of all
    /// negligible products is far below the target error.
    pub(super) negligible: f64,
    pub(super) others: [(f64, f64); 2],
}

impl WavePlan {
    /// Choose the tilt, the spacing and the number of frequencies for a target. Return `None` if
    /// more than `limit` frequencies are needed.
    pub(super) fn of(
        parts: &[PairCount],
        target: Target,
        tolerance: f64,
        limit: usize,
    ) -> Option<WavePlan> {
        let saddle = saddle(parts, target)?;
        let expected = match target {
            Target::Epsilon(epsilon) => epsilon,
            Target::Delta(_) => saddle.centre.max(0.0),
        };
        let log_delta = saddle.log_delta();
        // At tilts below `least`, the repetitions with `m < 0` decay too slowly. (The proof at
        // `Inversion` defines the repetitions and `m`.)
        let least = 1.0 / saddle.variance.sqrt();
        let sum = if saddle.tilt < least { Sum::at(parts, least)? } else { saddle };
        let tilt = sum.tilt;
        // Errors are multiplied by the factor `M(t) e^(-t epsilon)`, where `t` is the tilt. The
        // proof at `Inversion` defines `M`. Divide this factor by delta. `excess` is the logarithm
        // of the quotient, or 0 if this logarithm is negative.
        let excess = (sum.log.0 - tilt * expected - log_delta).max(0.0);
        let needed = excess - ln(SHARE * tolerance);
        let guess = (2.0 * needed / sum.variance).sqrt();
        // Another tilt is `by` above or below `tilt`, and `by` is `share` times `guess`. `length`
        // is the least `2 pi / spacing` at which the bound on the repetitions from the other tilt
        // is small enough. As `share` grows, `length` first falls and then grows. If losses have a
        // normal distribution, the best `share` is 1.
        let side = |sign: f64| {
            let reach = |share: f64| {
                let by = if sign < 0.0 { (share * guess).min(tilt) } else { share * guess };
                let other = Sum::at(parts, tilt + sign * by)?;
                let length = (other.log.0 - sum.log.0 - sign * by * expected + needed) / by;
                // The derivative of `length` with respect to `by`, multiplied by `by`.
                let slope = sign * (other.centre - expected) - length;
                Some(((length, (other.tilt, other.log.0 + other.log.1)), slope))
            };
            let (mut best, slope) = reach(1.0)?;
            let others: &[f64] = if slope < 0.0 { &[1.4] } else { &[0.6, 0.3, 0.1] };
            for share in others {
                let found = reach(*share)?.0;
                // Also stop if the length is `NaN`.
                if !(found.0 < best.0) {
                    break;
                }
                best = found;
            }
            Some(best)
        };
        let ((left, lower), (right, upper)) = (side(-1.0)?, side(1.0)?);
        let length = left.max(right).max(f64::MIN_POSITIVE);
        // Keep only the leading 39 bits of the spacing. So the products of the spacing and integers
        // up to 2^14 = `MOST_SMOOTHED` are exact.
        let spacing = f64::from_bits((std::f64::consts::TAU / length).to_bits() & !0x3fff);
        let goal = length * exp(-needed);
        let many = fewest(limit, |n| omitted(&sum.all, n, spacing) < goal)?;
        let kernel = (tilt * (tilt + 1.0)).min(1.0);
        let negligible = 1e-3 * goal * kernel / many as f64;
        Some(WavePlan { tilt, expected, spacing, many, negligible, others: [lower, upper] })
    }
}

/// Find the smallest number of at least 5 that satisfies a condition. All larger numbers must also
/// satisfy the condition. Return `None` if no such number is found up to about `limit`.
fn fewest(limit: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let mut many = 8;
    while !holds(many) {
        many *= 2;
        if many > limit {
            return None;
        }
    }
    let mut few = many / 2;
    while few + 1 < many {
        let middle = (few + many) / 2;
        if holds(middle) { many = middle } else { few = middle }
    }
    Some(many)
}
