//! Exact discrete Laplace noise at any float scale.

use super::{
    dyadic::Dyadic,
    exponential::{LazyExponential, LazyReal},
    logarithm::neg_ln,
};
use dashu_int::{IBig, Sign, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource};

/// Draw an integer `k` with probability proportional to `exp(-|k| / scale)`.
///
/// Return whether `k` is negative, and the magnitude `|k|`. The magnitude saturates at `u128::MAX`.
/// This saturation does not change a sum that is clamped to an integer type of at most 128 bits:
/// see the proof of [`add_noise`](super::add_noise).
///
/// Let `E = -ln U` for a uniform variable `U`. Then `E` is a standard exponential variable. Let
/// `q = e^(-1 / scale)`. Then `P[floor(scale E) >= m] = P[E >= m / scale] = q^m`, so the magnitude
/// `floor(scale E)` is geometric (Ghosh, Roughgarden, Sundararajan 2012, "Universally
/// utility-maximizing privacy mechanisms").
///
/// * Scales of at least 16: a fair sign is drawn, and a zero with a negative sign is rejected. Then
///   `P[k]` is proportional to `q^|k| / 2` for every integer `k` (Canonne, Kamath, Steinke 2020,
///   "The discrete Gaussian for differential privacy", algorithm 2).
/// * Smaller scales: the method for large scales would often reject a zero. So the noise is the
///   difference of two independent magnitudes `floor(scale E)`. Let `g` be the smaller magnitude.
///   Then `P[k]` is the sum of `(1 - q) q^g (1 - q) q^(g + |k|)` over all `g >= 0`. This sum equals
///   `q^|k| (1 - q) / (1 + q)` (Inusah, Kozubowski 2006, "A discrete analogue of the Laplace
///   distribution", proposition 2.3).
///
/// # Exactness
///
/// The scale is the rational number that the float represents. The probabilities are exact for
/// every scale from `5e-324` to `f64::MAX`. If a lower and an upper float bound of `scale E` have
/// the same floor, this floor is the result. Otherwise more digits of `U` are drawn until exact
/// integers decide the floor.
///
/// Scale 0 gives 0 and draws nothing. A negative scale counts as its magnitude. Infinity or NaN
/// counts as some number above `f64::MAX`, so such a mistake adds too much noise.
///
/// For many draws with the same small scale, an [`IntegerTable`](super::IntegerTable) is faster.
///
/// Cost: for scales of at least 16, about 20 ns and one word, which also contains the sign. For
/// smaller scales, the cost is 45 ns and one word, which contains the digits of both magnitudes. If
/// integers decide the floor, a draw costs about 2 microseconds. For scales of at least 16,
/// integers decide with probability about `2^-48 scale`. For smaller scales, this probability is
/// about `2^-31 scale`. For scales of at least `2^50`, integers decide in most draws.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn discrete_laplace<S: RandomSource>(
    scale: f64,
    source: &mut S,
) -> Result<(bool, u128), NoEntropy> {
    if scale == 0.0 {
        return Ok((false, 0));
    }
    let scale = scale.abs();
    if scale < SMALL {
        return difference(scale, source);
    }
    loop {
        let (negative, digit, bits) = signed_digit(source)?;
        let magnitude = floor_of_product(scale, digit, bits, source)?;
        // The operator `|` avoids a branch on the sign. The sign is random, so the processor would
        // mispredict half of these branches.
        if (magnitude != 0) | !negative {
            return Ok((negative, magnitude));
        }
    }
}

/// If the scale is below this constant, noise is drawn as the difference of two magnitudes.
const SMALL: f64 = 16.0;

/// Draw the noise of a small scale, as the difference of two magnitudes.
#[inline]
fn difference<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
    let word = source.word()?;
    let (a, b, bits) = match S::BITS {
        64 => (word >> 32, word & u64::from(u32::MAX), 32),
        bits => (word, source.word()?, bits),
    };
    let (Some(a), Some(b)) = (fast_floor(scale, a, bits), fast_floor(scale, b, bits)) else {
        let a = floor_of_product(scale, a, bits, source)?;
        let b = floor_of_product(scale, b, bits, source)?;
        return Ok((a < b, a.abs_diff(b)));
    };
    Ok((a < b, u128::from(a.abs_diff(b))))
}

/// Draw a fair sign, and the first digit of a uniform variable. Also return the number of bits of
/// this digit.
///
/// One word contains the sign and the digit. If a word of the source has fewer than 64 bits (only
/// in tests), two words are drawn.
#[inline]
pub(super) fn signed_digit<S: RandomSource>(source: &mut S) -> Result<(bool, u64, u32), NoEntropy> {
    let word = source.word()?;
    match S::BITS {
        64 => Ok((word & 1 == 1, word >> 1, 63)),
        bits => Ok((source.word()? & 1 == 1, word, bits)),
    }
}

/// Compute `floor(scale E)`, saturated at `u128::MAX`. Here `E = -ln U`, and the first digit of `U`
/// is given.
#[inline]
fn floor_of_product<S: RandomSource>(
    scale: f64,
    digit: u64,
    bits: u32,
    source: &mut S,
) -> Result<u128, NoEntropy> {
    if let Some(floor) = fast_floor(scale, digit, bits) {
        return Ok(u128::from(floor));
    }
    let e = LazyExponential::from_first(digit, bits);
    let floor = exact_floor(scale, e, Some(128), source)?;
    Ok(u128::try_from(floor).unwrap_or(u128::MAX))
}

/// Return `floor(scale E)`, with `E = -ln U`, if float bounds show that all `U` with the given
/// first digit have the same floor. Otherwise return `None`.
///
/// # Bound of the fast path
///
/// Let `lo` be the float that bounds `E` from below, and `v = 2^-53`. The two roundings of
/// `scale * lo * (1 - 4v)` raise the product by at most the factor `(1 + v)^2`, and
/// `(1 + v)^2 (1 - 4v) < 1`. So the result is below `scale E`. In the same way, the float upper
/// bound is above `scale E`, because `(1 - v)^2 (1 + 4v) > 1`. A subnormal product has a larger
/// relative error. But then both this product and the exact product are below 1/2, and their floor
/// is 0.
#[inline]
fn fast_floor(scale: f64, digit: u64, bits: u32) -> Option<u64> {
    let (lo, hi) = neg_ln(digit, bits);
    let lo = scale * lo * (1.0 - 2.0 * f64::EPSILON);
    let hi = scale * hi * (1.0 + 2.0 * f64::EPSILON);
    if !(hi < FAST_LIMIT) {
        return None;
    }
    // The code uses `i64`, because conversions between floats and `u64` are slower.
    let floor = lo as i64;
    (hi < (floor + 1) as f64).then_some(floor as u64)
}

/// Draw an integer of any length with the distribution of [`discrete_laplace`], without saturation.
/// Zero, negative, infinite and NaN scales have the same meaning as in [`discrete_laplace`].
///
/// Cost: 40 to 100 ns for scales below `2^50`, and otherwise about 2 microseconds.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn big_discrete_laplace<S: RandomSource>(
    scale: f64,
    source: &mut S,
) -> Result<IBig, NoEntropy> {
    if scale == 0.0 {
        return Ok(IBig::ZERO);
    }
    big_parts(scale.abs(), source).map(signed)
}

pub(super) fn signed((negative, magnitude): (bool, UBig)) -> IBig {
    IBig::from_parts(if negative { Sign::Negative } else { Sign::Positive }, magnitude)
}

/// Draw the sign and the magnitude of noise of a positive scale. For all scales, this function uses
/// the method that [`discrete_laplace`] uses for scales of at least 16.
pub(super) fn big_parts<S: RandomSource>(
    scale: f64,
    source: &mut S,
) -> Result<(bool, UBig), NoEntropy> {
    loop {
        let (negative, digit, bits) = signed_digit(source)?;
        let magnitude = match fast_floor(scale, digit, bits) {
            Some(floor) => UBig::from(floor),
            None => exact_floor(scale, LazyExponential::from_first(digit, bits), None, source)?,
        };
        if !magnitude.is_zero() || !negative {
            return Ok((negative, magnitude));
        }
    }
}

/// If `scale E` is at least this number, its floor is computed in integers. Below this number, a
/// cast from `f64` to `i64` gives the floor, and a cast from `i64` to `f64` is exact.
const FAST_LIMIT: f64 = (1_u64 << 53) as f64;

/// Find `floor(scale E)` in integers, where `E` is the given number. Draw more digits of the
/// uniform variable behind `E` (see [`LazyReal`]) until they decide the floor.
///
/// If the result has more bits than the limit, return only a lower bound on the result. This bound
/// also has more bits than the limit.
///
/// This function terminates with probability 1. The enclosure of `scale E` shrinks to a point, and
/// this point is an integer with probability 0.
#[cold]
#[inline(never)]
pub(super) fn exact_floor<S: RandomSource>(
    scale: f64,
    mut e: impl LazyReal,
    limit: Option<usize>,
    source: &mut S,
) -> Result<UBig, NoEntropy> {
    let parts = Dyadic::new(scale);
    let exponent = i64::from(parts.exponent);
    // First, draw about as many digits as a decision needs. If the scale has far more bits than the
    // limit, draw no digits here.
    let integer_bits = exponent + parts.mantissa.bit_len() as i64;
    let integer_bits = usize::try_from(integer_bits).unwrap_or(0);
    if integer_bits != 0 && limit.is_none_or(|limit| integer_bits <= limit + 64) {
        e.refine_to(integer_bits + 8, source)?;
    }
    loop {
        let precision = e.bits() + 8;
        let shift = exponent - precision as i64;
        let floor = |bound: UBig| {
            let product = bound * parts.mantissa;
            let count = shift.unsigned_abs() as usize;
            if shift < 0 { product >> count } else { product << count }
        };
        let (lo, hi) = e.enclose(precision);
        let lo = floor(lo);
        let long = limit.is_some_and(|limit| limit < lo.bit_len());
        if long || hi.is_some_and(|hi| floor(hi) == lo) {
            return Ok(lo);
        }
        e.refine(source)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::tests::short_tapes::check_ends;
    use opendp_core::random::{Failing, Seeded, Tape};

    #[test]
    fn scale_zero_draws_nothing() {
        let mut source = Failing::default();
        assert_eq!(discrete_laplace(0.0, &mut source), Ok((false, 0)));
        assert_eq!(source.attempts(), 0);
    }

    #[test]
    fn a_failing_source_is_reported_at_every_word() {
        assert_eq!(discrete_laplace(1.0, &mut Failing::default()), Err(NoEntropy));
        for scale in [5e-324, 0.1, 1.0, 1e12, 1e300] {
            check_ends(5, |tape: &mut Tape<4>| discrete_laplace(scale, tape));
        }
    }

    #[test]
    fn a_tiny_scale_gives_zero_and_a_huge_one_saturates() {
        let mut source = Seeded::<64>::new(1);
        for _ in 0..1000 {
            assert_eq!(discrete_laplace(5e-324, &mut source), Ok((false, 0)));
            assert_eq!(discrete_laplace(f64::MAX, &mut source).unwrap().1, u128::MAX);
        }
    }

    #[test]
    fn senseless_scales_add_much_noise_and_return() {
        let mut source = Seeded::<64>::new(2);
        for scale in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(discrete_laplace(scale, &mut source).unwrap().1, u128::MAX);
        }
        let nonzero = (0..100).filter(|_| discrete_laplace(-1e9, &mut source).unwrap().1 > 0);
        assert!(nonzero.count() > 90);
    }

    #[test]
    fn negative_zero_is_rejected() {
        // U near 1 gives magnitude 0. The last bit of the word is the sign. If this bit is 1, the
        // zero is rejected. If this bit is 0, the zero is accepted.
        let mut tape = Tape::<64>::new(vec![u64::MAX, u64::MAX - 1]);
        assert_eq!(discrete_laplace(16.0, &mut tape), Ok((false, 0)));
        assert_eq!(tape.used(), 2);
        // U = 1/4 gives the magnitude floor(16 ln 4) = 22.
        let mut tape = Tape::<64>::new(vec![(1 << 62) + 1]);
        assert_eq!(discrete_laplace(16.0, &mut tape), Ok((true, 22)));
    }

    #[test]
    fn half_words_give_a_difference_at_small_scales() {
        // The magnitudes are floor(15 ln 4) = 20 and floor(15 ln 2) = 10.
        let (quarter, half) = (1_u64 << 30, 1_u64 << 31);
        let mut tape = Tape::<64>::new(vec![quarter << 32 | half, half << 32 | quarter]);
        assert_eq!(discrete_laplace(15.0, &mut tape), Ok((false, 10)));
        assert_eq!(discrete_laplace(15.0, &mut tape), Ok((true, 10)));
        // For the first magnitude, the first digit of the uniform variable U is 0, so another digit
        // of U is drawn. The two digits together give U = 2^-33, so the first magnitude is
        // floor(22.87) = 22. The second magnitude is floor(ln 2) = 0.
        let mut tape = Tape::<64>::new(vec![half, 1 << 63, 0, 0]);
        assert_eq!(discrete_laplace(1.0, &mut tape), Ok((false, 22)));
    }

    #[test]
    fn float_and_integer_paths_agree_on_the_same_digits() {
        let mut source = Seeded::<64>::new(3);
        let mut decided = 0;
        for scale in [0.3, 1.0, 77.7, 1e6, 1e10] {
            for _ in 0..2000 {
                let digit = source.word().unwrap();
                let mut rest = Tape::<64>::new(vec![0; 4]);
                let e = LazyExponential::from_first(digit, 64);
                let exact = exact_floor(scale, e, None, &mut rest).unwrap();
                let fast = fast_floor(scale, digit, 64);
                assert!(fast.is_none_or(|fast| UBig::from(fast) == exact));
                decided += u32::from(fast.is_some());
            }
        }
        assert!(decided > 9_990, "{decided}");
    }

    #[test]
    fn the_first_digit_zero_is_refined() {
        // U is in (0, 2^-64), so E is above 44. E has no upper bound until a later digit is not
        // zero.
        let mut tape = Tape::<64>::new(vec![0, 0, 1 << 63, 0]);
        // The floor is 133, because -ln(2^-193) = 133.78.
        assert_eq!(floor_of_product(1.0, 0, 64, &mut tape), Ok(133));
    }

    #[test]
    fn saturation_begins_exactly_at_two_to_the_128() {
        // For U = 1/2, E is ln 2. The two scales are 2^128 times 1.4 and 2^128 times 1.5. The
        // magnitude saturates only for the second scale, because ln 2 * 1.4 < 1 < ln 2 * 1.5.
        for (factor, saturates) in [(1.4, false), (1.5, true)] {
            let mut tape = Tape::<64>::new(vec![1 << 63, 0, 0, 0]);
            let scale = 2f64.powi(128) * factor;
            let (_, magnitude) = discrete_laplace(scale, &mut tape).unwrap();
            assert_eq!(magnitude == u128::MAX, saturates);
        }
    }
}
