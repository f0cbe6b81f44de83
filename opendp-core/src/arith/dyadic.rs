//! Exact conversion of floats to `mantissa * 2^exponent`, and correct rounding back.

use dashu_int::ops::{BitTest, DivRem};
use dashu_int::{IBig, Sign, UBig};

/// The rounding direction: the choice between the two floats next to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The smallest float that is at least the number.
    Up,
    /// The largest float that is at most the number.
    Down,
    /// Of the two floats next to the number, the float nearer to zero.
    TowardZero,
    /// The float nearest to the number. Of two equally near floats, the float with the even
    /// mantissa.
    Nearest,
}

/// A binary float format whose values are all `f64` values.
///
/// The finite values of a format are `m * 2^e` for integers `m` and `e` with `|m| < 2^precision`
/// and `min_exponent <= e`. The magnitude of a finite value is less than `2^max_power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    precision: i64,
    min_exponent: i64,
    max_power: i64,
}

impl Format {
    /// The format of `f64`.
    pub const F64: Self = Self { precision: 53, min_exponent: -1074, max_power: 1024 };
    /// The format of `f32`.
    pub const F32: Self = Self { precision: 24, min_exponent: -149, max_power: 128 };

    /// Return the precision, which is the number of bits of a full mantissa.
    pub fn precision_bits(self) -> usize {
        self.precision as usize
    }

    /// Round `mantissa * 2^exponent` once to this format, including its subnormal values.
    ///
    /// If the magnitude exceeds the largest finite value, the rounding direction decides between an
    /// infinity and the largest finite value. `Nearest` gives an infinity if the magnitude exceeds
    /// the largest finite value by at least half a unit in the last place. A zero result is `+0.0`.
    pub fn round(self, mantissa: &IBig, exponent: i64, rounding: Rounding) -> f64 {
        let (sign, magnitude) = (mantissa.sign(), mantissa.as_sign_words().1);
        let magnitude = UBig::from_words(magnitude);
        if magnitude.is_zero() {
            return 0.0;
        }
        let direction = match (rounding, sign) {
            (Rounding::Up, Sign::Positive) | (Rounding::Down, Sign::Negative) => Magnitude::Grow,
            (Rounding::Nearest, _) => Magnitude::Nearest,
            _ => Magnitude::Shrink,
        };
        let rounded = self.round_magnitude(&magnitude, exponent, direction);
        // Adding zero turns -0.0 into +0.0.
        if sign == Sign::Negative { -rounded + 0.0 } else { rounded }
    }

    fn round_magnitude(self, magnitude: &UBig, exponent: i64, direction: Magnitude) -> f64 {
        // 2^(power - 1) <= magnitude * 2^exponent < 2^power.
        let power = exponent.saturating_add(magnitude.bit_len() as i64);
        if power > self.max_power {
            return self.overflow(direction);
        }
        let unit = power.saturating_sub(self.precision).max(self.min_exponent);
        if power < unit {
            // The magnitude of the number is less than half of the smallest subnormal.
            return if direction == Magnitude::Grow { two_to(unit) } else { 0.0 };
        }
        let kept = if exponent >= unit {
            // The shifted magnitude has at most `precision` bits. So the shift is by fewer than
            // `precision` bits, and the conversion to `u64` is exact.
            u64::try_from(magnitude << (exponent - unit) as usize).unwrap_or(0)
        } else {
            let drop = (unit - exponent) as usize;
            let kept = u64::try_from(magnitude >> drop).unwrap_or(0);
            let lowest = magnitude.trailing_zeros().unwrap_or(0);
            let grow = match direction {
                Magnitude::Shrink => false,
                Magnitude::Grow => lowest < drop,
                Magnitude::Nearest => {
                    magnitude.bit(drop - 1) && (lowest < drop - 1 || kept % 2 == 1)
                }
            };
            kept + u64::from(grow)
        };
        // kept <= 2^precision, so the conversion of kept to a float is exact. The product of kept
        // and 2^unit is also exact if it is below 2^max_power.
        let rounded = scale(kept as f64, unit);
        if rounded >= two_to_or_infinity(self.max_power) {
            return self.overflow(direction);
        }
        rounded
    }

    fn overflow(self, direction: Magnitude) -> f64 {
        if direction == Magnitude::Shrink {
            let ones = ((1u64 << self.precision) - 1) as f64;
            scale(ones, self.max_power - self.precision)
        } else {
            f64::INFINITY
        }
    }
}

/// Write a finite float exactly as `mantissa * 2^exponent`.
///
/// Return `None` for infinities and NaN. The mantissa is odd, or both the mantissa and the exponent
/// are zero.
pub fn dyadic(x: f64) -> Option<(IBig, i32)> {
    let (negative, mantissa, exponent) = decode(x)?;
    let mantissa = IBig::from(mantissa);
    Some((if negative { -mantissa } else { mantissa }, exponent))
}

/// Return the smallest `f64` that is at least `mantissa * 2^exponent`.
///
/// If the number exceeds the largest finite value, the result is infinity.
pub fn to_f64_up(mantissa: &IBig, exponent: i64) -> f64 {
    Format::F64.round(mantissa, exponent, Rounding::Up)
}

/// Return the largest `f64` that is at most `mantissa * 2^exponent`.
///
/// If the number is below the lowest finite value, the result is minus infinity.
pub fn to_f64_down(mantissa: &IBig, exponent: i64) -> f64 {
    Format::F64.round(mantissa, exponent, Rounding::Down)
}

/// Round `mantissa * 2^exponent` toward zero to an `f64`.
///
/// The result is always finite.
pub fn to_f64_toward_zero(mantissa: &IBig, exponent: i64) -> f64 {
    Format::F64.round(mantissa, exponent, Rounding::TowardZero)
}

/// Round `mantissa * 2^exponent` to the nearest `f64`. If two floats are equally near, take the
/// float with an even mantissa.
pub fn to_f64_nearest(mantissa: &IBig, exponent: i64) -> f64 {
    Format::F64.round(mantissa, exponent, Rounding::Nearest)
}

/// Return the smallest `f64` that is at least `num / den`. The result can be infinity.
///
/// If only the denominator is zero, the result is an infinity with the sign of `num`. If both
/// numbers are zero, the result is NaN.
pub fn ratio_to_f64_up(num: &IBig, den: &UBig) -> f64 {
    round_ratio(num, den, Format::F64, Rounding::Up)
}

/// Return the largest `f64` that is at most `num / den`. The result can be minus infinity.
///
/// A zero denominator is treated as in [`ratio_to_f64_up`].
pub fn ratio_to_f64_down(num: &IBig, den: &UBig) -> f64 {
    round_ratio(num, den, Format::F64, Rounding::Down)
}

/// Round `num / den` once to a format.
///
/// A zero denominator is treated as in [`ratio_to_f64_up`].
pub fn round_ratio(num: &IBig, den: &UBig, format: Format, rounding: Rounding) -> f64 {
    if den.is_zero() {
        return match (num.is_zero(), num.sign()) {
            (true, _) => f64::NAN,
            (false, Sign::Positive) => f64::INFINITY,
            (false, Sign::Negative) => f64::NEG_INFINITY,
        };
    }
    let (sign, magnitude) = num.clone().into_parts();
    // The shift gives a quotient of at least 64 bits. The mantissa of every format has fewer bits.
    let shift = (64 + den.bit_len()).saturating_sub(magnitude.bit_len());
    let (quotient, remainder) = (magnitude << shift).div_rem(den);
    // Append one bit to the quotient. The bit states whether the quotient is inexact. This one bit
    // is enough for correct rounding.
    let sticky = (quotient << 1usize) + UBig::from(!remainder.is_zero());
    format.round(&IBig::from_parts(sign, sticky), -(shift as i64) - 1, rounding)
}

/// Split a finite float into its sign (`true` for minus), its mantissa (odd or zero) and its binary
/// exponent. Return `None` for infinities and NaN.
pub(super) fn decode(x: f64) -> Option<(bool, u64, i32)> {
    if !x.is_finite() {
        return None;
    }
    let bits = x.to_bits();
    let biased = (bits >> 52) as i32 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if biased == 0 { fraction } else { fraction | (1 << 52) };
    if mantissa == 0 {
        return Some((x.is_sign_negative(), 0, 0));
    }
    let zeros = mantissa.trailing_zeros();
    Some((x.is_sign_negative(), mantissa >> zeros, biased.max(1) - 1075 + zeros as i32))
}

/// The effect that a rounding direction has on the absolute value of a number.
#[derive(Clone, Copy, PartialEq)]
enum Magnitude {
    Grow,
    Shrink,
    Nearest,
}

/// Multiply by `2^power` for `-1074 <= power <= 1023`.
///
/// Callers pass an integer `x <= 2^53`. So the product is exact if it does not overflow.
fn scale(x: f64, power: i64) -> f64 {
    x * two_to(power)
}

/// Build `2^power` for `-1074 <= power <= 1023` from its bit pattern.
fn two_to(power: i64) -> f64 {
    f64::from_bits(if power >= -1022 { ((power + 1023) as u64) << 52 } else { 1 << (power + 1074) })
}

fn two_to_or_infinity(power: i64) -> f64 {
    if power > 1023 { f64::INFINITY } else { two_to(power) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finite() -> impl Strategy<Value = f64> {
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite())
    }

    #[test]
    fn splits_floats_exactly() {
        assert_eq!(dyadic(0.0), Some((IBig::ZERO, 0)));
        assert_eq!(dyadic(-6.0), Some((IBig::from(-3), 1)));
        assert_eq!(dyadic(5e-324), Some((IBig::ONE, -1074)));
        assert_eq!(dyadic(f64::MAX), Some((IBig::from((1u64 << 53) - 1), 971)));
        assert_eq!(dyadic(f64::NAN), None);
        assert_eq!(dyadic(f64::INFINITY), None);
    }

    #[test]
    fn rounds_beyond_the_largest_float_as_the_direction_demands() {
        let huge = IBig::ONE << 1024usize;
        for exponent in [0, 7, i64::MAX] {
            assert_eq!(to_f64_up(&huge, exponent), f64::INFINITY);
            assert_eq!(to_f64_down(&huge, exponent), f64::MAX);
            assert_eq!(to_f64_toward_zero(&huge, exponent), f64::MAX);
            assert_eq!(to_f64_nearest(&huge, exponent), f64::INFINITY);
            assert_eq!(to_f64_up(&-&huge, exponent), f64::MIN);
            assert_eq!(to_f64_down(&-&huge, exponent), f64::NEG_INFINITY);
        }
        // The first number is halfway between the largest float and 2^1024. The second number is
        // slightly smaller.
        let half = (IBig::ONE << 54usize) - 1;
        assert_eq!(to_f64_nearest(&half, 970), f64::INFINITY);
        assert_eq!(to_f64_nearest(&((half << 9usize) - 1), 961), f64::MAX);
        let f32_up = Format::F32.round(&((IBig::ONE << 25usize) - 1), 103, Rounding::Up);
        assert_eq!(f32_up, f64::INFINITY);
        let f32_down = Format::F32.round(&((IBig::ONE << 25usize) - 1), 103, Rounding::Down);
        assert_eq!(f32_down, f32::MAX as f64);
    }

    #[test]
    fn rounds_below_the_smallest_float_as_the_direction_demands() {
        for exponent in [-1076, -1077, -9999, i64::MIN] {
            assert_eq!(to_f64_up(&IBig::ONE, exponent), 5e-324);
            assert_eq!(to_f64_nearest(&IBig::from(3), exponent.max(-2000) - 2), 0.0);
            assert_eq!(to_f64_down(&-IBig::ONE, exponent), -5e-324);
            assert!(to_f64_up(&-IBig::ONE, exponent).is_sign_positive());
            assert_eq!(to_f64_toward_zero(&IBig::ONE, exponent), 0.0);
        }
        assert_eq!(to_f64_nearest(&IBig::ONE, -1075), 0.0);
        assert_eq!(to_f64_nearest(&IBig::from(3), -1076), 5e-324);
        assert_eq!(to_f64_nearest(&IBig::from(3), -1075), 1e-323);
    }

    proptest! {
        #[test]
        fn returns_every_float_unchanged(x in finite(), pad in 0usize..200) {
            let (mantissa, exponent) = dyadic(x).unwrap();
            let (mantissa, exponent) = (mantissa << pad, exponent as i64 - pad as i64);
            for rounding in [Rounding::Up, Rounding::Down, Rounding::TowardZero, Rounding::Nearest] {
                prop_assert_eq!(Format::F64.round(&mantissa, exponent, rounding), x);
            }
        }

        #[test]
        fn rounds_points_between_neighbours(x in finite(), offset in 1u64..(1 << 20)) {
            // The tested number is between `x` and the next float. Its distance from `x` is
            // `offset / 2^20` of the distance between these two floats.
            let x = x.abs();
            prop_assume!(x > 0.0 && x < f64::MAX);
            let (mantissa, exponent) = dyadic(x).unwrap();
            let (next, next_exponent) = dyadic(x.next_up()).unwrap();
            let low = exponent.min(next_exponent);
            let mantissa = mantissa << ((exponent - low) as usize + 20);
            let next = next << ((next_exponent - low) as usize + 20);
            let between = &mantissa + (&next - &mantissa) * IBig::from(offset) / (1 << 20);
            let exponent = low as i64 - 20;
            prop_assert_eq!(to_f64_up(&between, exponent), x.next_up());
            prop_assert_eq!(to_f64_down(&between, exponent), x);
            prop_assert_eq!(to_f64_toward_zero(&-&between, exponent), -x);
            prop_assert_eq!(to_f64_down(&-&between, exponent), -x.next_up());
            let near = to_f64_nearest(&between, exponent);
            let even_is_up = x.next_up().to_bits() % 2 == 0;
            let up = offset > 1 << 19 || (offset == 1 << 19 && even_is_up);
            prop_assert_eq!(near, if up { x.next_up() } else { x });
        }

        #[test]
        fn rounds_ratios_to_the_neighbours_of_the_quotient(num in any::<i128>(), den in 1u128..) {
            let (up, down) = (
                ratio_to_f64_up(&IBig::from(num), &UBig::from(den)),
                ratio_to_f64_down(&IBig::from(num), &UBig::from(den)),
            );
            let compare = |x: f64| {
                let (mantissa, exponent) = dyadic(x).unwrap();
                let (left, right) = (mantissa * IBig::from(den), IBig::from(num));
                if exponent < 0 {
                    left.cmp(&(right << -exponent as usize))
                } else {
                    (left << exponent as usize).cmp(&right)
                }
            };
            prop_assert!(compare(up).is_ge() && compare(down).is_le());
            prop_assert!(compare(up.next_down()).is_lt() && compare(down.next_up()).is_gt());
        }
    }
}
