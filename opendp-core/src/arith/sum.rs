//! Exact summation of floats with a single rounding.

use dashu_int::IBig;

use super::Directed;
use super::dyadic::{decode, to_f64_down, to_f64_up};
use crate::{Error, Result};

/// Sum finite floats exactly and round once toward plus infinity.
///
/// The result is the smallest float that is at least the exact sum. So the result does not depend
/// on the order of `values`. If the sum is zero or there are no values, the result is `+0.0`.
///
/// # Errors
/// `Overflow` when a value is not finite, or when the sum exceeds the largest float. A partial sum
/// is allowed to exceed the largest float.
pub fn inf_sum(values: &[f64]) -> Result<f64> {
    match values {
        // Two values need a single addition, which rounds once and is faster than `rounded_sum`.
        [left, right] => left.inf_add(*right).map_err(|_| overflow()),
        _ => rounded_sum(values, to_f64_up),
    }
}

/// Sum finite floats exactly and round once toward minus infinity.
///
/// The result is the largest float that is at most the exact sum. See [`inf_sum`].
///
/// # Errors
/// `Overflow` when a value is not finite, or when the sum is below the lowest float.
pub fn neg_inf_sum(values: &[f64]) -> Result<f64> {
    rounded_sum(values, to_f64_down)
}

/// The number of digits of the accumulator, which stores an exact sum in base `2^32`. Digit `i`
/// counts units of `2^(32 i - 1074)`.
///
/// Let `2^(p - 1074)` be the value of the bit at position `p`. The lowest bit of an odd mantissa is
/// at position 2097 or below. This position is in digit 65 or below. The mantissa extends into at
/// most two more digits. Digits are `i64`, so carries can be delayed for `CARRY_PERIOD` additions.
const DIGITS: usize = 68;

/// The number of additions between carries. Each addition changes a digit by less than 2^32. So the
/// magnitude of a digit stays below 2^63.
const CARRY_PERIOD: usize = 1 << 30;

fn rounded_sum(values: &[f64], round: fn(&IBig, i64) -> f64) -> Result<f64> {
    let mut total = IBig::ZERO;
    for chunk in values.chunks(CARRY_PERIOD) {
        total += exact_sum(chunk)?;
    }
    let sum = round(&total, -1074);
    if sum.is_finite() { Ok(sum) } else { Err(overflow()) }
}

/// Sum at most `CARRY_PERIOD` floats exactly, in units of `2^-1074`.
fn exact_sum(values: &[f64]) -> Result<IBig> {
    let mut digits = [0i64; DIGITS];
    for &value in values {
        let Some((negative, mantissa, exponent)) = decode(value) else {
            return Err(overflow());
        };
        let position = (exponent + 1074) as usize;
        let spread = u128::from(mantissa) << (position % 32);
        // The shifted mantissa has at most 53 + 31 bits, so it fits into three digits of the
        // accumulator.
        let first = position / 32;
        for (i, digit) in digits.iter_mut().skip(first).take(3).enumerate() {
            let part = i64::from((spread >> (32 * i)) as u32);
            *digit += if negative { -part } else { part };
        }
    }
    let mut sum = IBig::ZERO;
    for digit in digits.iter().rev().skip_while(|digit| **digit == 0) {
        sum = (sum << 32usize) + *digit;
    }
    Ok(sum)
}

#[cold]
fn overflow() -> Error {
    // The values can be private data, so the message shows no value.
    Error::Overflow("sum: expected finite terms and a total that fits f64".to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dyadic::dyadic;
    use super::*;

    #[test]
    fn rounds_repeated_tenths_once() {
        // The float 0.1 exceeds a tenth. So the sum of ten such floats exceeds 1, but by less than
        // the spacing of floats at 1.
        assert_eq!(inf_sum(&[0.1; 10]), Ok(1f64.next_up()));
        assert_eq!(neg_inf_sum(&[0.1; 10]), Ok(1.0));
        assert_eq!(inf_sum(&[0.5; 10]), Ok(5.0));
    }

    #[test]
    fn passes_through_overflow_and_cancellation() {
        assert_eq!(inf_sum(&[f64::MAX, f64::MAX, -f64::MAX, 1.0, -f64::MAX]), Ok(1.0));
        assert_eq!(neg_inf_sum(&[1e300, 5e-324, -1e300]), Ok(5e-324));
        assert_eq!(inf_sum(&[f64::MAX, 5e-324]).ok(), None);
        assert_eq!(neg_inf_sum(&[f64::MAX, f64::MAX]), Ok(f64::MAX));
        assert_eq!(inf_sum(&[f64::MAX; 1000]).ok(), None);
    }

    #[test]
    fn gives_positive_zero_and_rejects_values_that_are_not_finite() {
        assert_eq!(inf_sum(&[]).map(f64::to_bits), Ok(0));
        assert_eq!(neg_inf_sum(&[-0.0, -1.0, 1.0]).map(f64::to_bits), Ok(0));
        for zero in [[-0.0, -0.0], [0.0, -0.0], [-1.0, 1.0]] {
            assert_eq!(inf_sum(&zero).map(f64::to_bits), Ok(0));
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for values in [&[bad][..], &[1.0, bad], &[bad, 1.0, 1.0]] {
                assert_eq!(inf_sum(values), Err(overflow()));
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_rounded_big_integer_sum_in_any_order(
            bits in prop::collection::vec(any::<u64>(), 0..20), near in -1e3f64..1e3,
        ) {
            let mut values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            values.retain(|x| x.abs() < 1e306);
            // If large terms cancel, the small terms determine the sum.
            values.extend([near, near * 1e-17]);
            let negated: Vec<f64> = values.iter().skip(1).map(|x| -x).collect();
            let pair = values.iter().rev().take(2).copied().collect();
            for mut values in [values.clone(), pair, [values, negated].concat()] {
                let exact: IBig = values
                    .iter()
                    .map(|&x| dyadic(x).unwrap())
                    .map(|(mantissa, exponent)| mantissa << (exponent + 1074) as usize)
                    .sum();
                for _ in 0..2 {
                    prop_assert_eq!(inf_sum(&values), Ok(to_f64_up(&exact, -1074)));
                    prop_assert_eq!(neg_inf_sum(&values), Ok(to_f64_down(&exact, -1074)));
                    values.reverse();
                }
            }
        }
    }
}
