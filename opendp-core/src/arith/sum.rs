//! Exact summation of floats with a single rounding.

use dashu_int::IBig;

use super::dyadic::{decode, to_f64_down, to_f64_up};
use crate::{Error, Result};

/// Sum finite floats exactly and round once toward plus infinity.
///
/// The result is the smallest float not below the exact sum, for every order of `values`. The empty
/// sum, and any sum of zero, is `+0.0`.
///
/// # Errors
/// `Overflow` when a value is not finite, or when the sum exceeds the largest float. Partial sums
/// never overflow.
pub fn inf_sum(values: &[f64]) -> Result<f64> {
    rounded_sum(values, to_f64_up)
}

/// Sum finite floats exactly and round once toward minus infinity.
///
/// The result is the largest float not above the exact sum; see [`inf_sum`].
///
/// # Errors
/// `Overflow` when a value is not finite, or when the sum is below the lowest float.
pub fn neg_inf_sum(values: &[f64]) -> Result<f64> {
    rounded_sum(values, to_f64_down)
}

/// The number of digits of the accumulator: digit `i` weighs `2^(32 i - 1074)`.
///
/// Odd mantissas begin at bit 2097 at the latest, in digit 65, and extend into two more digits.
/// Digits are `i64`, so carries can be delayed for `CARRY_PERIOD` additions.
const DIGITS: usize = 68;

/// Each addition changes a digit by less than 2^32, so this many additions cannot overflow 2^63.
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
        // At most 53 + 31 bits, so three digits.
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
    // The values may be data, so the message shows none of them.
    Error::Overflow("sum: expected finite terms and a total that fits f64".to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dyadic::dyadic;
    use super::*;

    #[test]
    fn rounds_repeated_tenths_once() {
        // 0.1 exceeds a tenth, so ten of them exceed 1 by less than a float's spacing there.
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
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(inf_sum(&[1.0, bad]), Err(Error::Overflow(_))));
        }
    }

    proptest! {
        #[test]
        fn equals_the_rounded_big_integer_sum_in_any_order(
            bits in prop::collection::vec(any::<u64>(), 0..20), near in -1e3f64..1e3,
        ) {
            let mut values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            values.retain(|x| x.abs() < 1e306);
            // Large terms cancel in some cases, so the small ones matter.
            values.extend([near, near * 1e-17]);
            let negated: Vec<f64> = values.iter().skip(1).map(|x| -x).collect();
            for mut values in [values.clone(), [values, negated].concat()] {
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
