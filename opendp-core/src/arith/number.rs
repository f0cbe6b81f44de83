//! Traits of the primitive numeric types.

use std::fmt::{self, Debug, Display, LowerExp};
use std::hash::Hash;

use dashu_int::{IBig, Sign};
use num_traits::{Bounded, Num, NumCast};

use super::cast::InfCast;
use super::directed::Directed;
use super::dyadic::{Format, Rounding};
use super::elementary::DirectedFloat;
use crate::{Error, Result};

/// A primitive integer or float.
pub trait Number:
    Directed + Num + Bounded + NumCast + PartialOrd + Debug + Display + Send + Sync + 'static
{
    /// The lowest finite value.
    const FINITE_MIN: Self;
    /// The largest finite value.
    const FINITE_MAX: Self;

    /// Return whether the value is NaN. All other values are ordered.
    fn is_nan(self) -> bool;

    /// Compute the absolute value, exactly.
    ///
    /// # Errors
    /// `Overflow` for the lowest value of a signed integer type, for infinities and for NaN. The
    /// message does not show the value.
    fn total_abs(self) -> Result<Self>;

    /// Write the number in the form of [`shown`](super::shown()).
    #[doc(hidden)]
    fn write_shown(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self, f)
    }
}

/// A primitive integer.
pub trait Integer: Number + Ord + Eq + Hash {
    /// Convert to `i128`. Return `None` when the value is too large. Only `u128` has such values.
    fn to_i128(self) -> Option<i128>;

    /// Convert from `i128`, saturating at the ends of the range of this type.
    fn saturating_from_i128(value: i128) -> Self;

    /// Convert to a big integer.
    fn to_ibig(self) -> IBig;

    /// Convert from a big integer, saturating at the ends of the range of this type.
    fn saturating_from_ibig(value: &IBig) -> Self;
}

/// A primitive float.
pub trait Float: Number + DirectedFloat {
    /// The number of mantissa bits, including the leading bit.
    const MANTISSA_BITS: u32;

    /// Return whether the value is finite. Infinities and NaN are not finite.
    fn is_finite(self) -> bool;

    /// Convert to `f64`, exactly.
    fn to_f64(self) -> f64;

    /// Convert from `f64`, rounding toward zero.
    ///
    /// A finite value beyond the range of this type becomes the nearest finite value of this type.
    /// Infinities and NaN are kept. A zero result is `+0.0`.
    fn from_f64_toward_zero(value: f64) -> Self;

    /// Round `mantissa * 2^exponent` once to this type. The result can be an infinity.
    fn from_dyadic(mantissa: &IBig, exponent: i64, rounding: Rounding) -> Self;
}

#[cold]
fn no_absolute_value<T>() -> Error {
    let name = std::any::type_name::<T>();
    Error::Overflow(format!("abs: expected a finite argument and a result that fits {name}"))
}

macro_rules! impl_integer {
    ($($t:ident: |$value:ident| $abs:expr;)*) => {$(
        impl Number for $t {
            const FINITE_MIN: Self = $t::MIN;
            const FINITE_MAX: Self = $t::MAX;

            #[inline]
            fn is_nan(self) -> bool {
                false
            }
            #[inline]
            fn total_abs(self) -> Result<Self> {
                let $value = self;
                $abs.ok_or_else(no_absolute_value::<Self>)
            }
        }

        impl Integer for $t {
            #[inline]
            fn to_i128(self) -> Option<i128> {
                i128::try_from(self).ok()
            }
            #[inline]
            fn saturating_from_i128(value: i128) -> Self {
                match $t::try_from(value) {
                    Ok(value) => value,
                    Err(_) if value < 0 => $t::MIN,
                    Err(_) => $t::MAX,
                }
            }
            fn to_ibig(self) -> IBig {
                self.into()
            }
            fn saturating_from_ibig(value: &IBig) -> Self {
                match ($t::try_from(value), value.sign()) {
                    (Ok(value), _) => value,
                    (Err(_), Sign::Negative) => $t::MIN,
                    (Err(_), Sign::Positive) => $t::MAX,
                }
            }
        }
    )*};
}
impl_integer! {
    i8: |x| x.checked_abs(); i16: |x| x.checked_abs(); i32: |x| x.checked_abs();
    i64: |x| x.checked_abs(); i128: |x| x.checked_abs(); isize: |x| x.checked_abs();
    u8: |x| Some(x); u16: |x| Some(x); u32: |x| Some(x);
    u64: |x| Some(x); u128: |x| Some(x); usize: |x| Some(x);
}

macro_rules! impl_float {
    ($($t:ident $format:expr;)*) => {$(
        impl Number for $t {
            const FINITE_MIN: Self = $t::MIN;
            const FINITE_MAX: Self = $t::MAX;

            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline]
            fn total_abs(self) -> Result<Self> {
                if self.is_finite() { Ok(self.abs()) } else { Err(no_absolute_value::<Self>()) }
            }
            fn write_shown(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self == 0.0 || !self.is_finite() || (1e-5..1e16).contains(&self.abs()) {
                    Display::fmt(&self, f)
                } else {
                    LowerExp::fmt(&self, f)
                }
            }
        }

        impl Float for $t {
            const MANTISSA_BITS: u32 = $t::MANTISSA_DIGITS;

            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn from_f64_toward_zero(value: f64) -> Self {
                let nearest = value as $t;
                // If this type is `f64`, the condition is always true. Adding zero turns -0.0 into
                // +0.0.
                if Float::to_f64(nearest) == value || value.is_nan() {
                    return nearest + 0.0;
                }
                let cast = if value > 0.0 { $t::neg_inf_cast(value) } else { $t::inf_cast(value) };
                // A cast toward zero fails only for infinities and NaN. For these values, the
                // function has already returned.
                cast.unwrap_or(nearest)
            }
            fn from_dyadic(mantissa: &IBig, exponent: i64, rounding: Rounding) -> Self {
                $format.round(mantissa, exponent, rounding) as $t
            }
        }
    )*};
}
impl_float! { f32 Format::F32; f64 Format::F64; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_absolute_values_unless_they_do_not_fit() {
        assert_eq!((-127i8).total_abs(), Ok(127));
        assert!(matches!(i8::MIN.total_abs(), Err(Error::Overflow(_))));
        assert!(i128::MIN.total_abs().is_err());
        assert_eq!(u128::MAX.total_abs(), Ok(u128::MAX));
        assert_eq!((-0.0f32).total_abs().map(f32::to_bits), Ok(0));
        assert!(f64::NAN.total_abs().is_err() && f32::INFINITY.total_abs().is_err());
    }

    #[test]
    fn saturates_at_the_closer_end() {
        assert_eq!(u8::saturating_from_i128(-1), 0);
        assert_eq!(u8::saturating_from_i128(256), 255);
        assert_eq!(i64::saturating_from_i128(i128::MIN), i64::MIN);
        assert_eq!(u128::saturating_from_i128(i128::MAX), i128::MAX as u128);
        let huge = IBig::ONE << 200usize;
        assert_eq!(u128::saturating_from_ibig(&huge), u128::MAX);
        assert_eq!(i8::saturating_from_ibig(&-huge), -128);
        assert_eq!(usize::saturating_from_ibig(&IBig::from(77)), 77);
        assert_eq!(u128::MAX.to_ibig(), (IBig::ONE << 128usize) - 1);
    }

    #[test]
    fn converts_every_integer_that_an_i128_holds() {
        assert_eq!(u64::MAX.to_i128(), Some(u64::MAX as i128));
        assert_eq!((-3isize).to_i128(), Some(-3));
        assert_eq!(u128::MAX.to_i128(), None);
    }

    #[test]
    fn cuts_doubles_toward_zero() {
        let third = 1.0 / 3.0;
        assert!(f32::from_f64_toward_zero(third).to_f64() < third);
        assert!(f32::from_f64_toward_zero(-third).to_f64() > -third);
        assert_eq!(f32::from_f64_toward_zero(1e300), f32::MAX);
        assert_eq!(f32::from_f64_toward_zero(-1e300), f32::MIN);
        assert_eq!(f32::from_f64_toward_zero(-1e-300).to_bits(), 0);
        assert_eq!(f32::from_f64_toward_zero(f64::INFINITY), f32::INFINITY);
        assert_eq!(f64::from_f64_toward_zero(-0.1), -0.1);
        assert!(f32::from_f64_toward_zero(f64::NAN).is_nan());
        assert_eq!(f32::from_dyadic(&IBig::from(3), -151, Rounding::Down).to_bits(), 0);
        assert_eq!(f32::from_dyadic(&IBig::from(3), -151, Rounding::Up), 1e-45);
    }
}
