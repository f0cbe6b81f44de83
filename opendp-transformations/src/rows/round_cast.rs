//! Casts that return no errors. The result is `None` if a value has no cast to the other type.

use opendp_core::{Atom, Result};

/// A type to which values of type `TI` can be cast.
///
/// | from | to | result |
/// |---|---|---|
/// | number | integer | rounded toward zero; `None` if the result is out of range, or if the number is NaN |
/// | number | float | the nearest float, ties to even; the result can be infinite; NaN stays NaN |
/// | number | `bool` | `true` if the number is not zero; NaN is not zero |
/// | number | `String` | the shortest decimal digits that parse as the number, without an exponent; `NaN`, `inf`, `-inf`; zero of either sign is `0` |
/// | `bool` | number, `String` | `0` or `1`; `false` or `true` |
/// | `String` | integer | the number, if the whole text is an integer in the range of the type, without spaces around it; `47.0` and `4.7e1` are integers; otherwise `None` |
/// | `String` | float | the nearest float, if the whole text parses as a number, without spaces around it; otherwise `None` |
/// | `String` | `bool` | `true` if the text is not empty |
///
/// Equal values have equal results. Metrics treat `0.0` and `-0.0` as equal, and all NaN as equal.
/// Therefore a cast to a text never writes the sign of zero.
pub trait RoundCast<TI>: Sized {
    /// Cast a value, or return `None` when no value of this type represents the result.
    fn round_cast(value: &TI) -> Option<Self>;
}

/// Append the casts of `rows` to `out`. Append `None` when the cast has no result or when the
/// result is NaN.
pub(crate) fn casts<I, O: Atom + RoundCast<I>>(rows: &[I], out: &mut Vec<Option<O>>) -> Result<()> {
    out.reserve(rows.len());
    for row in rows {
        out.push(present(O::round_cast(row)));
    }
    Ok(())
}
/// Return `None` if the value is null.
#[inline]
fn present<T: Atom>(value: Option<T>) -> Option<T> {
    value.filter(|value| !value.is_null())
}
/// Append the casts of `rows` to `out`. Append the default value when the cast has no result.
pub(crate) fn defaults<I, O: Default + RoundCast<I>>(rows: &[I], out: &mut Vec<O>) -> Result<()> {
    out.reserve(rows.len());
    for row in rows {
        out.push(O::round_cast(row).unwrap_or_default());
    }
    Ok(())
}

macro_rules! casts {
    ($($from:ty)* => $to:ty: |$value:ident| $cast:expr) => {$(
        impl RoundCast<$from> for $to {
            #[inline]
            fn round_cast($value: &$from) -> Option<Self> {
                $cast
            }
        }
    )*};
}

macro_rules! integers {
    ($($to:ty)*) => {$(
        casts!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize => $to: |value|
            <$to>::try_from(*value).ok());
        casts!(f32 f64 => $to: |value| {
            // Each limit is zero, a power of two, or the negative of a power of two. So each limit
            // is exact. The two comparisons are false for NaN.
            let whole = f64::from(*value).trunc();
            let fits = <$to>::MIN as f64 <= whole && whole < 2.0 * (<$to>::MAX / 2 + 1) as f64;
            fits.then_some(whole as $to)
        });
        casts!(bool => $to: |value| Some(<$to>::from(*value)));
        casts!(String => $to: |value| <$to>::from_cell(value));
        casts!($to => bool: |value| Some(*value != 0));
        casts!($to => String: |value| Some(value.to_string()));
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($to:ty)*) => {$(
        // No integer of these types exceeds the largest float of type `f32` or `f64`. So the cast
        // of an integer is finite.
        casts!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize f32 f64 => $to: |value|
            Some(*value as $to));
        casts!(bool => $to: |value| Some(if *value { 1.0 } else { 0.0 }));
        casts!(String => $to: |value| value.parse().ok());
        casts!($to => bool: |value| Some(*value != 0.0));
        // Adding zero turns -0.0 into 0.0.
        casts!($to => String: |value| Some((*value + 0.0).to_string()));
    )*};
}
floats!(f32 f64);

casts!(bool => bool: |value| Some(*value));
casts!(bool => String: |value| Some(value.to_string()));
casts!(String => bool: |value| Some(!value.is_empty()));
casts!(String => String: |value| Some(value.clone()));

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<TI, TO>(cases: &[(TI, Option<TO>)])
    where
        TO: RoundCast<TI> + PartialEq + std::fmt::Debug,
    {
        for (i, (value, expected)) in cases.iter().enumerate() {
            assert_eq!(TO::round_cast(value), *expected, "case {i}");
        }
    }

    #[test]
    fn cuts_numbers_toward_zero_or_gives_none() {
        check(&[(1.9, Some(1)), (-1.9, Some(-1)), (3e10, None), (f64::NAN, None)]);
        check(&[(-0.9, Some(0_u8)), (-1.0, None), (255.9, Some(255)), (256.0, None)]);
        check(&[(2_f64.powi(63), None), (-(2_f64.powi(63)), Some(i64::MIN))]);
        check(&[(2_f64.powi(63).next_down(), Some(i64::MAX - 1023))]);
        check(&[(-2_f64.powi(63).next_down(), Some(i64::MIN + 1024))]);
        check(&[(-2_f64.powi(63).next_up(), None::<i64>)]);
        check(&[(2_f64.powi(64), None), (2_f64.powi(64).next_down(), Some(u64::MAX - 2047))]);
        check(&[(f32::INFINITY, None::<i128>), (f32::MIN, None)]);
        check(&[(1_i64 << 32, None), (-1, Some(-1_i32))]);
        check(&[(-1_i8, None::<usize>), (127, Some(127))]);
    }
    #[test]
    fn rounds_to_the_nearest_float() {
        check(&[((1_i64 << 53) + 1, Some(9_007_199_254_740_992.0)), (-3, Some(-3.0))]);
        check(&[(1e300, Some(f32::INFINITY)), (5e-324, Some(0.0)), (0.1, Some(0.1_f32))]);
        check(&[(i128::MAX, Some(2_f32.powi(127)))]);
        assert!(f32::round_cast(&f64::NAN).unwrap().is_nan());
        check(&[(true, Some(1.0)), (false, Some(0.0))]);
    }
    #[test]
    fn reads_and_writes_texts() {
        let texts = |cases: &[&str]| cases.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let read = |text: &String| i32::round_cast(text);
        let found: Vec<_> = texts(&["1", "+5", "-0", "x", "2.5", " 5", "٣", "2147483648", ""])
            .iter()
            .map(read)
            .collect();
        let expected = [Some(1), Some(5), Some(0), None, None, None, None, None, None];
        assert_eq!(found, expected);
        // Some programs write integers as floats, so a text such as `47.0` is cast to an integer.
        let whole = texts(&["47.0", "4.7e1", "47.", "-0.0", "4.71e1", "1e10", "47.0 "]);
        let found: Vec<_> = whole.iter().map(read).collect();
        assert_eq!(found, [Some(47), Some(47), Some(47), Some(0), None, None, None]);
        let cases =
            [("1e3", Some(1e3)), ("1e400", Some(f64::INFINITY)), ("-inf", Some(f64::NEG_INFINITY))];
        check(&cases.map(|(text, value)| (text.to_owned(), value)));
        assert!(f64::round_cast(&"NaN".to_owned()).unwrap().is_nan());
        check(&[(0.5, Some("0.5".to_owned())), (f64::INFINITY, Some("inf".to_owned()))]);
        check(&[(f32::NAN, Some("NaN".to_owned())), (-f32::NAN, Some("NaN".to_owned()))]);
        check(&[(i128::MIN, Some(i128::MIN.to_string())), (7, Some("7".to_owned()))]);
        check(&[(true, Some("true".to_owned()))]);
        check(&[("".to_owned(), Some(false)), ("false".to_owned(), Some(true))]);
    }
    #[test]
    fn no_text_shows_the_sign_of_zero() {
        check(&[(-0.0, Some("0".to_owned())), (0.0, Some("0".to_owned()))]);
        check(&[(-0.0_f32, Some("0".to_owned())), (-5e-1, Some("-0.5".to_owned()))]);
    }
    #[test]
    fn what_is_not_zero_is_true() {
        check(&[
            (0.0, Some(false)),
            (-0.0, Some(false)),
            (f64::NAN, Some(true)),
            (0.1, Some(true)),
        ]);
        check(&[(0_u8, Some(false)), (2, Some(true))]);
    }
}
