//! Conversions between primitive numbers, exact or rounded in a chosen direction.

pub use super::dyadic::{
    dyadic, ratio_to_f64_down, ratio_to_f64_up, to_f64_down, to_f64_nearest, to_f64_toward_zero,
    to_f64_up,
};
use super::float::finite;
use super::{Number, shown};
use crate::{Error, Result};

/// A conversion from `T` to this type, rounded in a chosen direction.
///
/// This trait is implemented for all pairs of primitive number types. A conversion between integers
/// is exact. A conversion from a float to an integer rounds to the ceiling or to the floor. A
/// conversion into a float gives the tightest bound. A zero result is `+0.0`.
///
/// # Errors
/// `FailedCast` when the result is not a finite value of this type. Infinities and NaN always fail,
/// even in a conversion of a type to itself. The message shows the value. Do not pass the message
/// on when the value is private.
pub trait InfCast<T>: Sized {
    /// Convert to the smallest value that is at least `value`.
    fn inf_cast(value: T) -> Result<Self>;
    /// Convert to the largest value that is at most `value`.
    fn neg_inf_cast(value: T) -> Result<Self>;
}

/// A conversion that does not change the value.
pub trait ExactCast<T>: Sized {
    /// Convert a value exactly. The target type must represent the value.
    ///
    /// # Errors
    /// `FailedCast` when the target type cannot represent the value exactly. `-0.0` counts as zero.
    /// The message shows the value. Do not pass the message on when the value is private.
    fn exact_cast(value: T) -> Result<Self>;
}

impl<T: Number, U: InfCast<T> + PartialEq> ExactCast<T> for U {
    #[inline]
    fn exact_cast(value: T) -> Result<Self> {
        // The value is representable if and only if its two directed conversions are equal.
        match (U::inf_cast(value), U::neg_inf_cast(value)) {
            (Ok(above), Ok(below)) if above == below => Ok(above),
            _ => Err(failed_cast::<T, U>(value, "an exactly representable value")),
        }
    }
}

#[cold]
#[inline(never)]
fn failed_cast<T: Number, U>(value: T, expected: &str) -> Error {
    let (value, name) = (shown(value), std::any::type_name::<U>());
    Error::FailedCast(format!("{value} to {name}, expected {expected}"))
}

/// Implement [`InfCast`] from each type of a list to the type `$to`. The expressions `$inf` and
/// `$neg_inf` are the bodies of the functions of [`InfCast`].
macro_rules! impl_cast {
    ($to:ty: $($from:ty)* => |$value:ident| $inf:expr, $neg_inf:expr) => {$(
        impl InfCast<$from> for $to {
            #[inline]
            fn inf_cast($value: $from) -> Result<Self> {
                $inf
            }
            #[inline]
            fn neg_inf_cast($value: $from) -> Result<Self> {
                $neg_inf
            }
        }
    )*};
}

macro_rules! impl_integer {
    ($($to:ty)*) => {$(
        impl_cast!($to: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize => |value|
            integer_to_integer!(value => $to), integer_to_integer!(value => $to));
        impl_cast!($to: f32 f64 => |value|
            float_to_integer!(value, ceil => $to), float_to_integer!(value, floor => $to));
    )*};
}

macro_rules! impl_float {
    ($($to:ident)*) => {$(
        impl_cast!($to: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize => |value|
            integer_to_float!(value, true => $to), integer_to_float!(value, false => $to));
        impl_cast!($to: f32 f64 => |value|
            float_to_float!(value, <, next_up => $to), float_to_float!(value, >, next_down => $to));
    )*};
}

macro_rules! integer_to_integer {
    ($value:ident => $to:ty) => {
        match <$to>::try_from($value) {
            Ok(value) => Ok(value),
            Err(_) => Err(failed_cast::<_, $to>($value, "an integer in range")),
        }
    };
}

// The code compares the rounded float with two bounds: MIN, and MAX + 1. Each bound is zero, a
// power of two or a negated power of two. So a float represents the bound exactly. The upper bound
// is MAX + 1 and not MAX, because a float cannot always represent MAX exactly. NaN fails the
// comparison.
macro_rules! float_to_integer {
    ($value:ident, $round:ident => $to:ty) => {{
        let integral = f64::from($value).$round();
        if integral >= <$to>::MIN as f64 && integral < 2.0 * (<$to>::MAX / 2 + 1) as f64 {
            Ok(integral as $to)
        } else {
            Err(failed_cast::<_, $to>($value, "a finite number in range"))
        }
    }};
}

// Convert only the leading bits of the integer's magnitude. This conversion is exact. If one of the
// dropped bits is 1, the result is nearer to zero than the integer. In this case, if the rounding
// direction is away from zero, move to the next float away from zero.
macro_rules! integer_to_float {
    ($value:ident, $up:literal => $to:ident) => {{
        // This line uses `cmp`, because lints reject `$value < 0` for unsigned types.
        let negative = $value.cmp(&0).is_lt();
        let magnitude = if negative { ($value as i128).unsigned_abs() } else { $value as u128 };
        let length = u128::BITS - magnitude.leading_zeros();
        let float = if length <= $to::MANTISSA_DIGITS {
            magnitude as u64 as $to
        } else {
            let drop = length - $to::MANTISSA_DIGITS;
            let kept = magnitude >> drop;
            // The product of `kept` and `power` is exact in f64. The mantissa of the target type
            // holds all kept bits, so the product is exact in the target type too.
            let power = f64::from_bits(u64::from(1023 + drop) << 52);
            let float = (kept as u64 as f64 * power) as $to;
            if kept << drop != magnitude && negative != $up { float.next_up() } else { float }
        };
        finite(if negative { -float } else { float }, || {
            failed_cast::<_, $to>($value, "an integer in range")
        })
    }};
}

// Convert to the nearest float of the target type. If this float is on the wrong side of the value,
// return the adjacent float in the rounding direction.
macro_rules! float_to_float {
    ($value:ident, $wrong:tt, $next:ident => $to:ident) => {{
        let nearest = $value as $to;
        let wrong = f64::from(nearest) $wrong f64::from($value);
        let float = if wrong { nearest.$next() } else { nearest };
        // Infinities and NaN always fail.
        let float = if $value.is_finite() { float } else { $to::NAN };
        finite(float, || failed_cast::<_, $to>($value, "a finite number in range"))
    }};
}

impl_integer!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
impl_float!(f32 f64);

#[cfg(test)]
mod tests {
    use dashu_int::IBig;
    use proptest::prelude::*;

    use super::super::dyadic::{Format, Rounding};
    use super::*;

    /// Convert one integer to both float types. Compare the results with the rounding of big
    /// integers.
    macro_rules! check_into_floats {
        ($value:expr) => {{
            let (value, exact) = ($value, IBig::from($value));
            for (rounding, wide, narrow) in [
                (Rounding::Up, f64::inf_cast(value), f32::inf_cast(value)),
                (Rounding::Down, f64::neg_inf_cast(value), f32::neg_inf_cast(value)),
            ] {
                let expected = Format::F64.round(&exact, 0, rounding);
                prop_assert_eq!(wide.ok(), Some(expected));
                let expected = Format::F32.round(&exact, 0, rounding);
                prop_assert_eq!(narrow.ok(), expected.is_finite().then_some(expected as f32));
            }
        }};
    }

    #[test]
    fn keeps_integers_or_fails() {
        assert_eq!(u8::inf_cast(255i128), Ok(255));
        assert_eq!(i8::neg_inf_cast(-128isize), Ok(-128));
        assert_eq!(u64::exact_cast(u64::MAX), Ok(u64::MAX));
        assert!(matches!(u8::inf_cast(-1i8), Err(Error::FailedCast(_))));
        assert!(i128::neg_inf_cast(u128::MAX).is_err());
        assert!(usize::exact_cast(-1i32).is_err());
    }

    #[test]
    fn takes_ceilings_and_floors_within_range_only() {
        assert_eq!(i32::inf_cast(-1.5f64), Ok(-1));
        assert_eq!(i32::neg_inf_cast(-1.5f32), Ok(-2));
        assert_eq!(u8::inf_cast(-0.5f64), Ok(0));
        assert!(u8::neg_inf_cast(-0.5f64).is_err());
        assert_eq!(u8::neg_inf_cast(255.5f64), Ok(255));
        assert!(u8::inf_cast(255.5f64).is_err());
        assert_eq!(i64::inf_cast(-(2f64.powi(63))), Ok(i64::MIN));
        assert!(i64::inf_cast(2f64.powi(63)).is_err());
        assert_eq!(u64::inf_cast((2f64.powi(64)).next_down()), Ok(u64::MAX - 2047));
        assert!(u64::neg_inf_cast(2f64.powi(64)).is_err());
        assert!(i64::neg_inf_cast(-(2f64.powi(63)).next_up()).is_err());
        assert_eq!(u128::inf_cast(f32::MAX), Ok(u128::MAX << 104));
        assert!(u128::inf_cast(2f64.powi(128)).is_err());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(i128::inf_cast(bad).is_err() && u8::neg_inf_cast(bad as f32).is_err());
            assert!(f32::inf_cast(bad).is_err() && f32::neg_inf_cast(bad).is_err());
            assert!(f64::inf_cast(bad).is_err() && f64::neg_inf_cast(bad).is_err());
        }
    }

    #[test]
    fn narrows_floats_toward_the_chosen_side() {
        let f32_max = f64::from(f32::MAX);
        assert!(f32::inf_cast(f32_max.next_up()).is_err());
        assert_eq!(f32::neg_inf_cast(f64::MAX), Ok(f32::MAX));
        assert_eq!(f32::inf_cast(f64::MIN), Ok(f32::MIN));
        assert_eq!(f32::inf_cast(5e-324f64), Ok(1e-45));
        assert_eq!(f32::neg_inf_cast(5e-324f64).map(f32::to_bits), Ok(0));
        assert_eq!(f32::inf_cast(-5e-324f64).map(f32::to_bits), Ok(0));
        assert!(f32::exact_cast(0.1f64).is_err());
        assert_eq!(f32::exact_cast(0.5f64), Ok(0.5));
    }

    #[test]
    fn refuses_inexact_conversions() {
        assert!(f64::exact_cast((1u64 << 53) + 1).is_err());
        assert_eq!(f64::exact_cast((1u64 << 53) + 2), Ok(9007199254740994.0));
        assert_eq!(f64::exact_cast(i128::MIN), Ok(-(2f64.powi(127))));
        assert!(f64::exact_cast(i128::MAX).is_err());
        assert!(f32::exact_cast(u128::MAX).is_err());
        assert!(i32::exact_cast(0.5f64).is_err());
        assert_eq!(i32::exact_cast(-0.0f32), Ok(0));
    }

    proptest! {
        #[test]
        fn brackets_integers_by_adjacent_floats(value in any::<i128>(), drop in 0u32..128) {
            check_into_floats!(value >> drop);
            check_into_floats!((value as u128) >> drop);
            check_into_floats!(u128::MAX - ((value as u128) >> drop));
            check_into_floats!((value >> drop) as i64);
            check_into_floats!((value >> drop) as i32);
            check_into_floats!((value >> drop) as u8);
        }

        #[test]
        fn brackets_doubles_by_adjacent_singles(bits in any::<u64>(), x in -1e39f64..1e39) {
            for x in [f64::from_bits(bits), x, x * 1e-80] {
                prop_assume!(x.is_finite());
                let (mantissa, exponent) = dyadic(x).unwrap();
                let up = Format::F32.round(&mantissa, exponent.into(), Rounding::Up);
                let down = Format::F32.round(&mantissa, exponent.into(), Rounding::Down);
                prop_assert_eq!(f32::inf_cast(x).ok(), up.is_finite().then_some(up as f32));
                prop_assert_eq!(f32::neg_inf_cast(x).ok(), down.is_finite().then_some(down as f32));
            }
        }
    }
}
