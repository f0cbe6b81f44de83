//! Choose the tilt and the frequencies of an [`Inversion`](super::Inversion).

use super::super::elementary::{exp, ln};
use super::super::plan::{PairCount, saddle_point};
use super::{SHARE, Target, Tilt, omitted};

/// A first estimate of epsilon and delta for a target, at the saddle point.
struct Saddle {
    tilt: f64,
    centre: f64,
    /// The logarithm of the estimated delta.
    log: f64,
}

fn saddle(parts: &[PairCount], target: Target) -> Option<Saddle> {
    let at = |tilt: f64| {
        let all = Tilt::new(parts, tilt, 0.0)?;
        let (centre, variance) = (all.centre().0, all.total(|part| part.variance()));
        let log = all.log().0 - tilt * centre - saddle_point(tilt, variance);
        Some(Saddle { tilt, centre, log })
    };
    let enough = |found: &Saddle| match target {
        Target::Epsilon(epsilon) => found.centre >= epsilon,
        Target::Delta(delta) => found.log <= ln(delta),
    };
    let mut found = at(0.0)?;
    if enough(&found) {
        return Some(found);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !enough(&at(high)?) {
        low = high;
        high *= 2.0;
        if high > 1e6 {
            return None;
        }
    }
    while high - low > 0.03 * high && high > 1e-6 {
        let middle = (low + high) / 2.0;
        found = at(middle)?;
        if enough(&found) { high = middle } else { low = middle }
    }
    Some(found)
}

/// The parameters of a sum of waves.
pub(super) struct WavePlan {
    pub(super) tilt: f64,
    pub(super) expected: f64,
    pub(super) spacing: f64,
    /// The number of frequencies in the sum.
    pub(super) many: usize,
    pub(super) others: [(f64, f64); 2],
}

impl WavePlan {
    /// Choose the tilt, the spacing and the number of frequencies for a target. Return `None` if
    /// more than `most` frequencies are needed.
    pub(super) fn of(
        parts: &[PairCount],
        target: Target,
        tolerance: f64,
        most: usize,
    ) -> Option<WavePlan> {
        let saddle = saddle(parts, target)?;
        let expected = match target {
            Target::Epsilon(epsilon) => epsilon,
            Target::Delta(_) => saddle.centre.max(0.0),
        };
        // At smaller tilts, the repetitions on the left side decay too slowly. (The proof at
        // `Inversion` defines repetitions.)
        let variance = Tilt::new(parts, saddle.tilt, 0.0)?.total(|part| part.variance());
        let tilt = saddle.tilt.max(1.0 / variance.sqrt());
        let all = Tilt::new(parts, tilt, 0.0)?;
        let (log, variance) = (all.log(), all.total(|part| part.variance()));
        // The logarithm of the factor by which the errors are multiplied, relative to delta.
        let excess = (log.0 - tilt * expected - saddle.log).max(0.0);
        let needed = excess - ln(SHARE * tolerance);
        let guess = (2.0 * needed / variance).sqrt();
        let side = |sign: f64| {
            let mut best = (f64::INFINITY, (0.0, 0.0));
            for share in [1.4, 1.0, 0.6, 0.3, 0.1] {
                let by = if sign < 0.0 { (share * guess).min(tilt) } else { share * guess };
                let (other, error) = Tilt::new(parts, tilt + sign * by, 0.0)?.log();
                let length = (other - log.0 - sign * by * expected + needed) / by;
                if length < best.0 {
                    best = (length, (tilt + sign * by, other + error));
                }
            }
            Some(best)
        };
        let ((left, lower), (right, upper)) = (side(-1.0)?, side(1.0)?);
        let length = left.max(right).max(f64::MIN_POSITIVE);
        // Keep only the leading bits of the spacing, so that multiples of the spacing are exact.
        let spacing = f64::from_bits((std::f64::consts::TAU / length).to_bits() & !0xfff);
        let goal = length * exp(-needed);
        let many = fewest(most, |n| omitted(&all, n, spacing) < goal)?;
        Some(WavePlan { tilt, expected, spacing, many, others: [lower, upper] })
    }
}

/// Find the smallest number of at least 5 that satisfies a condition. All larger numbers must also
/// satisfy the condition. Return `None` if no such number is found up to about `most`.
fn fewest(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let mut many = 8;
    while !holds(many) {
        many *= 2;
        if many > most {
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
