//! Exact choice of a candidate with softmax probability, by the Gumbel-max trick.

use super::{
    dyadic::Dyadic,
    exponential::LazyExponential,
    logarithm::{ln, neg_ln},
    score::Score,
};
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;
use opendp_core::random::{NoEntropy, RandomSource};

/// State which end of the scores is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimize {
    /// Prefer large scores.
    Max,
    /// Prefer small scores.
    Min,
}

/// Choose index `i` with probability proportional to `exp(±scores[i] / temperature)`.
///
/// The sign is `+` for [`Optimize::Max`] and `-` for [`Optimize::Min`]. No scores give `None`; a
/// single one is chosen without a draw.
///
/// The index maximises `±s_i / temperature + G_i` with independent standard Gumbel variables
/// `G_i = -ln(E_i)`, `E_i` standard exponential. That this has softmax probabilities is the
/// Gumbel-max trick (Maddison, Tarlow, Minka 2014, "A* Sampling", section 2); used for privacy by
/// Medina and Gillenwater (2020, "Duff"), it is the exponential mechanism of McSherry and Talwar
/// (2007) with `temperature = 2 sensitivity / epsilon`.
///
/// # Exactness
///
/// Scores and temperature are the rational numbers they stand for, and `G_i` is real, its digits
/// drawn lazily. Candidates are dropped only when an upper bound of theirs is below a lower bound
/// of another, so the one left is the true maximum; ties have probability 0. Probabilities are
/// exactly softmax, whatever the magnitudes.
///
/// 1. Scores are shifted by the best one, which changes no comparison. Each candidate draws one
///    word. `E >= 1 - U` gives `G <= -ln(1 - U) <= (z + 1) ln 2` with `z` the leading zeros of
///    `1 - U`; most candidates end here. Otherwise `G` is enclosed in floats. Each float operation
///    is correctly rounded, so the neighbours of its result enclose the exact one.
/// 2. The few candidates whose enclosures reach the best lower bound draw further digits, and big
///    integers enclose the same expressions ever closer, until one is left.
///
/// Scores must be finite and so must the temperature, above 0. Of the values that are not: a
/// temperature of 0 means `5e-324`, a negative one its magnitude, NaN and infinity mean `f64::MAX`.
/// NaN or infinite scores are read as numbers beyond `f64::MAX`; this call then still returns.
///
/// Cost: about 12 ns per score, with its one word. Time depends on scores and choice.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn gumbel_argmax<T: Score, S: RandomSource>(
    scores: &[T],
    temperature: f64,
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
    let temperature = match temperature.abs() {
        t if t < 5e-324 => 5e-324,
        t if t <= f64::MAX => t,
        _ => f64::MAX,
    };
    let mut survivors = first_words(scores, best, temperature, source)?
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
        keep_contenders(&mut survivors, temperature);
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
fn first_words<T: Score, S: RandomSource>(
    scores: &[T],
    best: T,
    temperature: f64,
    source: &mut S,
) -> Result<Vec<Candidate>, NoEntropy> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut bar = f64::NEG_INFINITY;
    for (index, score) in scores.iter().enumerate() {
        let digit = source.word()?;
        let (near, far) = score.distance(best);
        let near = (near / temperature).next_down().max(0.0);
        if (gumbel_cap(digit, S::BITS) - near).next_up() < bar {
            continue;
        }
        let far = (far / temperature).next_up();
        let (e_lo, e_hi) = neg_ln(digit, S::BITS);
        let upper = (-ln(e_lo).0 - near).next_up();
        if upper < bar {
            continue;
        }
        let lower = (-ln(e_hi).1 - far).next_down();
        candidates.push(Candidate { index, digit, upper });
        if lower > bar {
            bar = lower;
            candidates.retain(|candidate| candidate.upper >= bar);
        }
    }
    Ok(candidates)
}

/// Bound the Gumbel variable `-ln(-ln U)` of a first digit from above, roughly.
///
/// `-ln U >= 1 - U >= (2^bits - 1 - digit) / 2^bits >= 2^(length - 1 - bits)`, `length` the number
/// of bits of that numerator. So the variable is at most `(bits + 1 - length) ln 2`, and the bound
/// `0.6932` of `ln 2` leaves `5e-5` per bit, more than the rounded product loses.
#[inline]
fn gumbel_cap(digit: u64, bits: u32) -> f64 {
    let complement = u64::MAX >> (64 - bits) ^ digit;
    let zeros = complement.leading_zeros() + bits - 64;
    if complement == 0 { f64::INFINITY } else { f64::from(zeros + 1) * 0.6932 }
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
fn keep_contenders(survivors: &mut Vec<Survivor>, temperature: f64) {
    let bounds: Vec<_> = survivors.iter().map(|survivor| survivor.bounds(temperature)).collect();
    // A missing lower bound is minus infinity, which Option orders first.
    let bar = bounds.iter().map(|(lower, _)| lower).max().cloned().flatten();
    let mut uppers = bounds.into_iter().map(|(_, upper)| upper);
    survivors.retain(|_| match (uppers.next().flatten(), &bar) {
        (Some(upper), Some(bar)) => upper >= *bar,
        _ => true,
    });
}

impl Survivor {
    /// Enclose `-distance / temperature - ln(E)` in units of `2^-precision`; `None` is infinite.
    ///
    /// The precision follows from the digits drawn, of which all survivors have the same number.
    fn bounds(&self, temperature: f64) -> (Option<IBig>, Option<IBig>) {
        let precision = self.e.bits() + 8;
        let exponent = -(precision as i64);
        let (e_lo, e_hi) = self.e.enclose(precision);
        let (near, far) = self.shift(temperature, precision);
        let positive = |e: &UBig| !e.is_zero();
        let upper =
            Some(e_lo).filter(positive).map(|e| -fixed::ln(&e, exponent, precision).0 - near);
        let lower = e_hi.filter(positive).map(|e| -fixed::ln(&e, exponent, precision).1 - far);
        (lower, upper)
    }

    /// Round `2^precision distance / temperature` down and up.
    fn shift(&self, temperature: f64, precision: usize) -> (IBig, IBig) {
        let parts = Dyadic::new(temperature);
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
