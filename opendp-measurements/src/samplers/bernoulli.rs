//! Exact coin flips with float and rational probabilities.

use super::dyadic::Dyadic;
use opendp_core::random::{NoEntropy, RandomSource};

/// Flip a coin that shows `true` with probability exactly `p`.
///
/// A digit is a number of [`RandomSource::BITS`] bits. Each random word is one digit of a variable
/// `U`, which is uniform from 0 to 1. The digits of `U` are drawn one after another and compared
/// with the digits of `p`. The binary expansion of `p` is finite. The first digit that differs
/// decides `U < p`. If `p` has no digits left, `U < p` is false (Karney 2016, arXiv:1303.6257,
/// section 3). The probability is exact for every float in `[0, 1]`, including subnormal floats and
/// the float next to 1.
///
/// If `p` is below 0 or NaN, `p` counts as 0. If `p` is above 1, `p` counts as 1.
///
/// Cost: if `p` is 0 or 1, nothing is drawn. Otherwise one word of [`RandomSource::BITS`] bits is
/// drawn, and a second word with probability at most `2^-BITS`.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn bernoulli<S: RandomSource>(p: f64, source: &mut S) -> Result<bool, NoEntropy> {
    if p >= 1.0 {
        return Ok(true);
    }
    if p.is_nan() || p <= 0.0 {
        return Ok(false);
    }
    let (mantissa, mut places) = expansion(p);
    loop {
        places -= S::BITS as i32;
        let digit = digit(mantissa, places, S::BITS);
        let word = source.word()?;
        if word != digit {
            return Ok(word < digit);
        }
        if places <= 0 {
            return Ok(false);
        }
    }
}

/// Flip the coin of [`bernoulli`] with a number of words that depends on `p` alone.
///
/// `U < p` is decided as in [`bernoulli`]. But the words after the first differing digit are also
/// drawn and compared. Bit operations combine the results of the comparisons, without a branch on a
/// word. If `p` is at least `1/2` and words have 64 bits, one word is drawn. But Rust guarantees no
/// durations: the compiler and the processor can make the duration depend on the words.
///
/// If `p` is below 0 or NaN, `p` counts as 0. If `p` is above 1, `p` counts as 1.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn bernoulli_constant_time<S: RandomSource>(p: f64, source: &mut S) -> Result<bool, NoEntropy> {
    if p >= 1.0 {
        return Ok(true);
    }
    if p.is_nan() || p <= 0.0 {
        return Ok(false);
    }
    let (mantissa, mut places) = expansion(p);
    let (mut less, mut decided) = (false, false);
    while places > 0 {
        places -= S::BITS as i32;
        let digit = digit(mantissa, places, S::BITS);
        let word = source.word()?;
        less |= (word < digit) & !decided;
        decided |= word != digit;
    }
    Ok(less)
}

/// Write `p` as `mantissa 2^-places` with an odd mantissa. `p` is above 0 and below 1.
///
/// The result satisfies `0 < places <= 1074`.
fn expansion(p: f64) -> (u128, i32) {
    let parts = Dyadic::new(p);
    let zeros = parts.mantissa.trailing_zeros();
    (u128::from(parts.mantissa >> zeros), -parts.exponent - zeros as i32)
}

/// Return the lowest `bits` bits of `floor(mantissa 2^-places)`.
///
/// These bits are one digit of `p`. After this digit, `p` has `places` more binary places. If
/// `places` is negative, the digit ends with `-places` zeros. A left shift is by fewer than `bits`
/// places, and `bits` is at most 64. So the shifted mantissa of 53 bits fits in 128 bits.
fn digit(mantissa: u128, places: i32, bits: u32) -> u64 {
    let shifted = match places {
        128.. => 0,
        0.. => mantissa >> places,
        _ => mantissa << -places,
    };
    shifted as u64 & mask(bits)
}

/// Flip a coin that shows `true` with probability exactly `numerator / denominator`.
///
/// The digits of a uniform variable are drawn one after another. They are compared with the digits
/// of the quotient, which are computed by long division. A quotient of 1 or more counts as 1. For
/// denominator 0, the probability is 1.
///
/// Cost: for the probabilities 0 and 1 nothing is drawn. Otherwise one word of
/// [`RandomSource::BITS`] bits is drawn, and a second word with probability at most `2^-BITS`. If
/// the denominator fits in 64 bits, each word costs one division. Otherwise, each word costs `BITS`
/// additions.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn bernoulli_ratio<S: RandomSource>(
    numerator: u128,
    denominator: u128,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    if numerator >= denominator {
        return Ok(true);
    }
    let mut rest = numerator;
    while rest != 0 {
        let digit;
        (digit, rest) = next_digit(rest, denominator, S::BITS);
        let word = source.word()?;
        if word != digit {
            return Ok(word < digit);
        }
    }
    Ok(false)
}

/// Divide `rest * 2^bits` by the denominator. Return the quotient, which is the next digit, and the
/// remainder. `rest` is the remainder of the previous division, so `rest < denominator`.
fn next_digit(mut rest: u128, denominator: u128, bits: u32) -> (u64, u128) {
    if denominator <= u128::from(u64::MAX) {
        let scaled = rest << bits;
        return ((scaled / denominator) as u64, scaled % denominator);
    }
    let mut digit = 0;
    for _ in 0..bits {
        // Compute `2 rest` modulo the denominator. No intermediate number exceeds 128 bits.
        let complement = denominator - rest;
        let carry = rest >= complement;
        rest = if carry { rest - complement } else { rest + rest };
        digit = digit << 1 | u64::from(carry);
    }
    (digit, rest)
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    /// Count the tapes (sequences of random words) of n bits for which the coin shows true. Also
    /// count the tapes that end before a decision.
    fn enumerate(n: u32, flip: impl Fn(&mut Tape<1>) -> Result<bool, NoEntropy>) -> (u64, u64) {
        (0..1 << n).fold((0, 0), |(heads, open), number| {
            match flip(&mut Tape::from_bits(number, n)) {
                Ok(result) => (heads + u64::from(result), open),
                Err(NoEntropy) => (heads, open + 1),
            }
        })
    }

    #[test]
    fn all_tapes_together_bracket_each_float_probability_exactly() {
        for n in 1..=16 {
            for (numerator, places) in [(1, 1), (1, 10), (1023, 10), (5, 3)] {
                let p = numerator as f64 / f64::from(1 << places);
                let (heads, open) = enumerate(n, |tape| bernoulli(p, tape));
                // Check heads <= 2^n p <= heads + open. All terms are multiplied by 2^places.
                assert!(heads << places <= numerator << n);
                assert!(numerator << n <= (heads + open) << places);
                assert!(open <= 1);
                // Each p has exactly `places` binary digits. So every tape of n bits decides the
                // coin if and only if n is at least `places`.
                assert_eq!(open == 0, n >= places, "{numerator} / 2^{places} on {n} bits");
            }
        }
    }

    #[test]
    fn all_tapes_together_bracket_each_rational_probability_exactly() {
        let wide = u128::MAX;
        for n in 1..=16 {
            for (numerator, denominator) in [(1, 3), (2, 3), (1, 7), (3, 1 << 70), (wide / 3, wide)]
            {
                let (heads, open) =
                    enumerate(n, |tape| bernoulli_ratio(numerator, denominator, tape));
                let (low, high) = (u128::from(heads), u128::from(heads + open));
                let scaled = dashu_int::UBig::from(numerator) << n as usize;
                assert!(dashu_int::UBig::from(denominator) * low <= scaled);
                assert!(scaled <= dashu_int::UBig::from(denominator) * high);
                assert!(open <= 1);
            }
        }
    }

    #[test]
    fn constant_time_gives_the_same_coin_and_always_draws_as_much() {
        for (p, places) in [(0.5, 1), (0.625, 3), (0.375, 3), (1023.0 / 1024.0, 10)] {
            let mut varies = false;
            for number in 0..1 << 12 {
                let (mut first, mut second) =
                    (Tape::<1>::from_bits(number, 12), Tape::<1>::from_bits(number, 12));
                let coin = bernoulli_constant_time(p, &mut first);
                assert_eq!(coin, bernoulli(p, &mut second));
                assert_eq!(first.used(), places);
                varies |= second.used() != places;
            }
            // The control: without constant time, the number of bits varies.
            assert!(varies || places == 1, "{p}");
            let (heads, open) = enumerate(10, |tape| bernoulli_constant_time(p, tape));
            assert_eq!((heads as f64, open), (p * 1024.0, 0));
        }
        for p in [0.75, 1.0 - f64::EPSILON / 2.0] {
            let mut source = Seeded::<64>::new(1);
            for draws in 1..=100 {
                bernoulli_constant_time(p, &mut source).unwrap();
                assert_eq!(source.used(), draws);
            }
        }
    }

    #[test]
    fn certain_outcomes_draw_nothing() {
        let mut source = Failing::default();
        for (p, expected) in [(0.0, false), (1.0, true), (-1.0, false), (2.0, true)] {
            assert_eq!(bernoulli(p, &mut source), Ok(expected));
            assert_eq!(bernoulli_constant_time(p, &mut source), Ok(expected));
        }
        assert_eq!(bernoulli_constant_time(f64::NAN, &mut source), Ok(false));
        assert_eq!(bernoulli(f64::NAN, &mut source), Ok(false));
        assert_eq!(bernoulli_ratio(0, 3, &mut source), Ok(false));
        assert_eq!(bernoulli_ratio(3, 3, &mut source), Ok(true));
        assert_eq!(source.attempts(), 0);
    }

    #[test]
    fn an_uncertain_outcome_needs_the_source() {
        let mut source = Failing::default();
        assert_eq!(bernoulli(5e-324, &mut source), Err(NoEntropy));
        assert_eq!(bernoulli(1.0 - f64::EPSILON / 2.0, &mut source), Err(NoEntropy));
        assert_eq!(bernoulli_ratio(1, 2, &mut source), Err(NoEntropy));
    }

    #[test]
    fn the_least_float_is_compared_to_its_last_bit() {
        // The least positive float has 1074 binary places: 16 words of zeros, then 50 more places.
        let zeros = vec![0; 17];
        assert_eq!(bernoulli(5e-324, &mut Tape::<64>::new(zeros.clone())), Ok(true));
        let mut last = zeros.clone();
        last[16] = 1 << 14;
        assert_eq!(bernoulli(5e-324, &mut Tape::<64>::new(last)), Ok(false));
        let mut below = zeros.clone();
        below[16] = (1 << 14) - 1;
        assert_eq!(bernoulli(5e-324, &mut Tape::<64>::new(below)), Ok(true));
        assert_eq!(bernoulli(5e-324, &mut Tape::<64>::new(vec![0; 16])), Err(NoEntropy));
    }

    #[test]
    fn the_float_below_one_misses_only_the_last_of_2_to_53_cells() {
        let p = 1.0 - f64::EPSILON / 2.0;
        let flip = |word| bernoulli(p, &mut Tape::<64>::new(vec![word]));
        assert_eq!(flip(u64::MAX << 11), Ok(false));
        assert_eq!(flip((u64::MAX << 11) - 1), Ok(true));
    }

    #[test]
    fn float_and_ratio_agree_word_for_word() {
        for (p, numerator, denominator) in [(0.1, 0x0019_9999_9999_999a, 1 << 56), (0.75, 3, 4)] {
            let mut a = Seeded::<4>::new(9);
            let mut b = Seeded::<4>::new(9);
            for _ in 0..10_000 {
                let float = bernoulli(p, &mut a);
                assert_eq!(float, bernoulli_ratio(numerator, denominator, &mut b));
            }
            assert_eq!(a.used(), b.used());
        }
    }

    #[test]
    fn frequencies_match_and_a_wrong_probability_is_noticed() {
        let draws = 1_000_000;
        let mut source = Seeded::<64>::new(3);
        let heads = (0..draws).filter(|_| bernoulli(0.3, &mut source).unwrap()).count() as f64;
        let z = |p: f64| (heads - draws as f64 * p) / (draws as f64 * p * (1.0 - p)).sqrt();
        assert!(z(0.3).abs() < 6.2);
        assert!(z(0.305).abs() > 6.2);
    }
}
