//! The race of candidates whose scores get independent noise, decided exactly.

use super::{
    Optimize, dyadic::Dyadic, exponential::LazyExponential, logarithm::neg_ln, score::Score,
};
use dashu_int::{IBig, UBig};
use opendp_core::random::{NoEntropy, RandomSource};

/// A noise that is a function of one standard exponential variable `E`, either increasing with it
/// or decreasing.
pub(super) trait Noise {
    /// Bound the noise of a first digit of `U`, `E = -ln U`, from above, roughly but fast.
    fn cap(digit: u64, bits: u32) -> f64;
    /// Bound the noise from above, for `E` between two floats.
    fn upper(e: (f64, f64)) -> f64;
    /// Bound the noise from below, for `E` between two floats.
    fn lower(e: (f64, f64)) -> f64;
    /// Enclose the noise in units of `2^-precision`; `None` is infinite, on its own side.
    fn enclose(e: &LazyExponential, precision: usize) -> (Option<IBig>, Option<IBig>);
}

/// Find the index that maximises `±scores[i] / scale` plus independent noise, exactly.
///
/// Scores and scale are the rational numbers they stand for, and the noise is real, its digits
/// drawn lazily. Candidates are dropped only when an upper bound of theirs is below a lower bound
/// of another, so the one left is the true maximum; ties have probability 0, because the noise has
/// a density.
///
/// 1. Scores are shifted by the best one, which changes no comparison. Each candidate draws one
///    word. A rough bound ends the race for most of them; otherwise the noise is enclosed in
///    floats. Each float operation is correctly rounded, so the neighbours of its result enclose
///    the exact one.
/// 2. The few candidates whose enclosures reach the best lower bound draw further digits, and big
///    integers enclose the same expressions ever closer, until one is left.
///
/// Of a scale that is not finite and positive: 0 means `5e-324`, a negative one its magnitude, NaN
/// and infinity `f64::MAX`. No scores give `None`; a single one is chosen without a draw.
pub(super) fn race<N: Noise, T: Score, S: RandomSource>(
    scores: &[T],
    scale: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Option<usize>, NoEntropy> {
    let better = |a: T, b: T| match optimize {
        Optimize::Max => a > b,
        Optimize::Min => a < b,
    };
    let best = scores.iter().copied().reduce(|best, s| if better(s, best) { s } else { best });
    let Some(best) = best.filter(|_| scores.len() > 1) else {
        return Ok((!scores.is_empty()).then_some(0));
    };
    let scale = match scale.abs() {
        t if t < 5e-324 => 5e-324,
        t if t <= f64::MAX => t,
        _ => f64::MAX,
    };
    let mut survivors = first_words::<N, _, _>(scores, best, scale, source)?
        .into_iter()
        .map(|Candidate { index, digit, .. }| Survivor {
            index,
            distance: distance(scores[index], best),
            e: LazyExponential::from_first(digit, S::BITS),
        })
        .collect::<Vec<_>>();
    while survivors.len() > 1 {
        for survivor in &mut survivors {
            survivor.e.refine(source)?;
        }
        keep_contenders::<N>(&mut survivors, scale);
    }
    Ok(survivors.first().map(|survivor| survivor.index))
}

/// A candidate after its first word: all of its values are at most `upper`.
struct Candidate {
    index: usize,
    digit: u64,
    upper: f64,
}

/// Draw the first word of every candidate and keep those that may be the maximum.
fn first_words<N: Noise, T: Score, S: RandomSource>(
    scores: &[T],
    best: T,
    scale: f64,
    source: &mut S,
) -> Result<Vec<Candidate>, NoEntropy> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut bar = f64::NEG_INFINITY;
    for (index, score) in scores.iter().enumerate() {
        let digit = source.word()?;
        let (near, far) = score.distance(best);
        let near = (near / scale).next_down().max(0.0);
        if (N::cap(digit, S::BITS) - near).next_up() < bar {
            continue;
        }
        let far = (far / scale).next_up();
        let e = neg_ln(digit, S::BITS);
        let upper = (N::upper(e) - near).next_up();
        if upper < bar {
            continue;
        }
        let lower = (N::lower(e) - far).next_down();
        candidates.push(Candidate { index, digit, upper });
        if lower > bar {
            bar = lower;
            candidates.retain(|candidate| candidate.upper >= bar);
        }
    }
    Ok(candidates)
}

/// A candidate in the running after the first words.
struct Survivor {
    index: usize,
    /// The distance to the best score, as integer and exponent.
    distance: (UBig, i64),
    e: LazyExponential,
}

/// Compute the exact distance of two scores.
fn distance<T: Score>(score: T, best: T) -> (UBig, i64) {
    let ((m, e), (n, f)) = (score.dyadic(), best.dyadic());
    let exponent = e.min(f);
    let at = |m: IBig, e: i64| m << (e - exponent).unsigned_abs() as usize;
    let (_, distance) = (at(m, e) - at(n, f)).into_parts();
    (distance, exponent)
}

/// Drop the survivors that are certainly not the maximum.
fn keep_contenders<N: Noise>(survivors: &mut Vec<Survivor>, scale: f64) {
    let bounds: Vec<_> = survivors.iter().map(|survivor| survivor.bounds::<N>(scale)).collect();
    // A missing lower bound is minus infinity, which Option orders first.
    let bar = bounds.iter().map(|(lower, _)| lower).max().cloned().flatten();
    let mut uppers = bounds.into_iter().map(|(_, upper)| upper);
    survivors.retain(|_| match (uppers.next().flatten(), &bar) {
        (Some(upper), Some(bar)) => upper >= *bar,
        _ => true,
    });
}

impl Survivor {
    /// Enclose the noise less `distance / scale`, in units of `2^-precision`; `None` is infinite.
    ///
    /// The precision follows from the digits drawn, of which all survivors have the same number.
    fn bounds<N: Noise>(&self, scale: f64) -> (Option<IBig>, Option<IBig>) {
        let precision = self.e.bits() + 8;
        let (lower, upper) = N::enclose(&self.e, precision);
        let (near, far) = self.shift(scale, precision);
        (lower.map(|lower| lower - far), upper.map(|upper| upper - near))
    }

    /// Round `2^precision distance / scale` down and up.
    fn shift(&self, scale: f64, precision: usize) -> (IBig, IBig) {
        let parts = Dyadic::new(scale);
        let (distance, exponent) = &self.distance;
        let exponent = exponent - i64::from(parts.exponent) + precision as i64;
        // Negative exponents go to the divisor.
        let divisor = IBig::from(parts.mantissa) << exponent.min(0).unsigned_abs() as usize;
        let dividend = IBig::from(distance.clone()) << exponent.max(0).unsigned_abs() as usize;
        let floor = &dividend / &divisor;
        let ceil = if &floor * divisor == dividend { floor.clone() } else { &floor + 1 };
        (floor, ceil)
    }
}

/// Bound `-ln(n / 2^bits)` from above, roughly, for an integer `n` below `2^bits`; 0 gives infinity.
///
/// `n >= 2^(length - 1)`, `length` the number of its bits, so the logarithm is at most
/// `(bits + 1 - length) ln 2`. The bound `0.6932` of `ln 2` leaves `5e-5` per bit, more than the
/// rounded product loses.
#[inline]
pub(super) fn neg_ln_cap(n: u64, bits: u32) -> f64 {
    let zeros = n.leading_zeros() + bits - 64;
    if n == 0 { f64::INFINITY } else { f64::from(zeros + 1) * 0.6932 }
}
