//! The quotient of a distance and a scale. For many mechanisms, this quotient is the loss.

use dashu_int::{IBig, UBig};

use opendp_core::arith::cast::ratio_to_f64_up;
use opendp_core::arith::{Directed, Exact, InfCast, Number, shown};
use opendp_core::{Error, Result};

use crate::samplers::Dyadic;

/// Divide a distance by a finite divisor that is not negative, and round up once.
///
/// The result is the smallest float that is at least the exact quotient. The distance 0 gives 0 for
/// every divisor. Any other distance divided by 0 gives infinity.
///
/// # Errors
/// `FailedMap` when the distance is not finite; `Overflow` when the quotient exceeds all floats.
pub(crate) fn quotient<Q>(d_in: Q, divisor: f64) -> Result<f64>
where
    Q: Number,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    let d_in = finite_distance(d_in)?;
    let above = f64::inf_cast(d_in)?;
    if above == f64::neg_inf_cast(d_in)? {
        return divide(above, divisor);
    }
    // Every distance of a float type equals an `f64`. So a distance that equals no `f64` is an
    // integer, and its conversion to `i128` is exact.
    divide_integer(i128::inf_cast(d_in)?, divisor)
}

/// Compute half of the square of `d_in / divisor`, and round up once.
///
/// The result is the smallest float that is at least the exact value. The distance 0 gives 0 for
/// every divisor. Any other distance with the divisor 0 gives infinity.
///
/// # Errors
/// `FailedMap` when the distance is not finite; `Overflow` when the value exceeds all floats.
pub(crate) fn half_square_quotient<Q>(d_in: Q, divisor: f64) -> Result<f64>
where
    Q: Number,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    let d_in = finite_distance(d_in)?;
    let above = f64::inf_cast(d_in)?;
    let (number, exponent) = if above == f64::neg_inf_cast(d_in)? {
        let parts = Dyadic::new(above);
        (IBig::from(parts.mantissa), parts.exponent)
    } else {
        // As in `quotient`, a distance that equals no float is an integer.
        (IBig::from(i128::inf_cast(d_in)?), 0)
    };
    if number.is_zero() {
        return Ok(0.0);
    }
    let parts = Dyadic::new(divisor);
    let mantissa = UBig::from(parts.mantissa);
    let divided_by = (&mantissa * &mantissa) << 1_usize;
    let shift = 2 * (exponent - parts.exponent);
    ratio(&number * &number, divided_by, shift, || {
        format!("half the square of {} / {}", shown(above), shown(divisor))
    })
}

/// Divide as [`quotient`] does, but do not round the result. An integer distance beyond 2^53 can
/// differ from every float. Such a distance is first rounded up to a float.
///
/// # Errors
/// `FailedMap` when the distance is not finite.
pub(crate) fn exact_quotient<Q>(d_in: Q, divisor: f64) -> Result<Exact>
where
    Q: Number,
    f64: InfCast<Q>,
{
    exact_float_quotient(f64::inf_cast(finite_distance(d_in)?)?, divisor)
}
fn exact_float_quotient(d_in: f64, divisor: f64) -> Result<Exact> {
    Ok(Exact::from_f64(d_in)?.over(&Exact::from_f64(divisor)?))
}

/// Compute half of the square of `d_in / divisor`, and do not round the result. As in
/// [`exact_quotient`], an integer distance that equals no float is first rounded up to a float.
///
/// # Errors
/// `FailedMap` when the distance is not finite.
pub(crate) fn exact_half_square_quotient<Q>(d_in: Q, divisor: f64) -> Result<Exact>
where
    Q: Number,
    f64: InfCast<Q>,
{
    let quotient = exact_quotient(d_in, divisor)?;
    Ok(quotient.times(&quotient).over(&Exact::from_f64(2.0)?))
}

/// Return an error if the distance is not finite.
pub(crate) fn finite_distance<Q: Number>(d_in: Q) -> Result<Q> {
    if d_in <= Q::FINITE_MAX {
        Ok(d_in)
    } else {
        Err(Error::FailedMap("d_in: expected a finite distance".into()))
    }
}

#[inline]
fn divide(d_in: f64, divisor: f64) -> Result<f64> {
    if d_in == 0.0 {
        Ok(0.0)
    } else if divisor == 0.0 {
        Ok(f64::INFINITY)
    } else {
        d_in.inf_div(divisor)
    }
}

/// Divide an integer that is not 0. If the integer were first converted to a float, the result
/// would be rounded twice.
fn divide_integer(d_in: i128, divisor: f64) -> Result<f64> {
    let parts = Dyadic::new(divisor);
    let (dividend, mantissa) = (IBig::from(d_in), UBig::from(parts.mantissa));
    ratio(dividend, mantissa, -parts.exponent, || format!("{d_in} / {}", shown(divisor)))
}

/// Compute `2^shift dividend / divisor`, and round up to a float once. If `divisor` is 0, the
/// result is infinity.
fn ratio(dividend: IBig, divisor: UBig, shift: i32, describe: impl Fn() -> String) -> Result<f64> {
    let bits = usize::try_from(shift.unsigned_abs()).unwrap_or_default();
    let by_zero = divisor.is_zero();
    let loss = if shift < 0 {
        ratio_to_f64_up(&dividend, &(divisor << bits))
    } else {
        ratio_to_f64_up(&(dividend << bits), &divisor)
    };
    if loss.is_finite() || by_zero {
        Ok(loss)
    } else {
        let loss = describe();
        Err(Error::Overflow(format!(
            "the loss, {loss}, exceeds the largest f64: state a larger scale, or narrower bounds"
        )))
    }
}

#[cfg(test)]
mod tests {
    use dashu_int::Sign;
    use proptest::prelude::*;

    use super::*;

    /// Check that `a * divisor >= d_in`, in exact integers.
    fn covers(a: f64, d_in: (IBig, i64), divisor: f64) -> bool {
        let part = |x: f64| {
            let parts = Dyadic::new(x);
            (IBig::from(parts.signed_mantissa()), i64::from(parts.exponent))
        };
        let ((m, e), (n, f)) = (part(a), part(divisor));
        let (product, exponent) = (m * n, e + f);
        let low = exponent.min(d_in.1);
        let aligned = |m: IBig, e: i64| m << usize::try_from(e - low).unwrap();
        let difference = aligned(product, exponent) - aligned(d_in.0, d_in.1);
        difference == IBig::ZERO || difference.sign() == Sign::Positive
    }
    #[track_caller]
    fn check(loss: Result<f64>, d_in: (IBig, i64), divisor: f64) -> bool {
        let Ok(loss) = loss else {
            assert!(!covers(f64::MAX, d_in, divisor), "an error although the quotient fits");
            return false;
        };
        assert!(covers(loss, d_in.clone(), divisor), "{loss} is too low");
        assert!(loss == 0.0 || !covers(loss.next_down(), d_in, divisor), "{loss} is loose");
        true
    }

    #[test]
    fn knows_the_ends() {
        assert_eq!(quotient(0_u32, 0.0), Ok(0.0));
        assert_eq!(quotient(-0.0, 3.0).map(f64::to_bits), Ok(0));
        assert_eq!(quotient(1_i8, 0.0), Ok(f64::INFINITY));
        assert_eq!(quotient(i128::MAX, 0.0), Ok(f64::INFINITY));
        assert_eq!(quotient(f64::INFINITY, 1.0).unwrap_err().kind(), "FailedMap");
        assert_eq!(quotient(f32::INFINITY, 0.0).unwrap_err().kind(), "FailedMap");
        assert_eq!(quotient(1.0, 5e-324).unwrap_err().kind(), "Overflow");
        assert_eq!(quotient(u64::MAX, 1e-300).unwrap_err().kind(), "Overflow");
        assert_eq!(quotient(5e-324, f64::MAX), Ok(5e-324));
        // 2^53 + 1 is not a float. If this number were rounded to the nearest float first, the
        // result would be 2.
        assert_eq!(quotient((1_u64 << 53) + 1, (1_u64 << 52) as f64), Ok(2.0_f64.next_up()));
        let exact = exact_quotient((1_u64 << 53) + 1, 1.0).unwrap();
        assert_eq!(exact.to_f64_down(), 9_007_199_254_740_994.0);
    }

    #[test]
    fn knows_the_ends_of_half_a_square() {
        assert_eq!(half_square_quotient(0_u32, 0.0), Ok(0.0));
        assert_eq!(half_square_quotient(-0.0, 3.0).map(f64::to_bits), Ok(0));
        assert_eq!(half_square_quotient(1_i8, 0.0), Ok(f64::INFINITY));
        assert_eq!(half_square_quotient(5e-324, 0.0), Ok(f64::INFINITY));
        assert_eq!(half_square_quotient(f64::INFINITY, 1.0).unwrap_err().kind(), "FailedMap");
        assert_eq!(half_square_quotient(1.0, 1e-160).unwrap_err().kind(), "Overflow");
        assert_eq!(half_square_quotient(i128::MAX, 1e-130).unwrap_err().kind(), "Overflow");
        assert_eq!(half_square_quotient(5e-324, f64::MAX), Ok(5e-324));
        assert_eq!(half_square_quotient(f64::MAX, f64::MAX), Ok(0.5));
        assert_eq!(half_square_quotient(3.0, 2.0), Ok(1.125));
        // The exact value is (2^53 + 1)^2 / 2^107 = 1/2 + 2^-53 + 2^-107. This value is slightly
        // above the float 1/2 + 2^-53, so the result is the next larger float.
        let above = half_square_quotient((1_u64 << 53) + 1, (1_u64 << 53) as f64);
        assert_eq!(above, Ok(0.5_f64.next_up().next_up()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn half_a_square_is_the_smallest_float_not_below(
            bits in 0_u64..0x7ff << 52, other in 1_u64..0x7ff << 52,
            wide in 1..i128::MAX, drop in 0_u32..126, scale in 1e-9..1e9,
        ) {
            // Let a be the result, d the distance and s the scale. Then a >= (d / s)^2 / 2 if and
            // only if 2 a s^2 >= d^2.
            let part = |x: f64| {
                let parts = Dyadic::new(x);
                (IBig::from(parts.mantissa), i64::from(parts.exponent))
            };
            let check = |loss: Result<f64>, (m, e): (IBig, i64), s: f64| {
                let (n, f) = part(s);
                let covers = |a: f64| {
                    let (a, g) = part(a);
                    let (left, right) = (a * &n * &n, &m * &m);
                    let (i, j) = (g + 2 * f + 1, 2 * e);
                    let low = i.min(j);
                    let aligned = |m: IBig, e: i64| m << usize::try_from(e - low).unwrap();
                    aligned(left, i) >= aligned(right, j)
                };
                match loss {
                    Ok(loss) => covers(loss) && (loss == 0.0 || !covers(loss.next_down())),
                    Err(_) => !covers(f64::MAX),
                }
            };
            let (d_in, divisor) = (f64::from_bits(bits), f64::from_bits(other));
            prop_assert!(check(half_square_quotient(d_in, divisor), part(d_in), divisor));
            let near: f64 = d_in * (0.5 + 1e-10 * scale);
            if 0.0 < near && near.is_finite() {
                prop_assert!(check(half_square_quotient(d_in, near), part(d_in), near));
            }
            let integer = wide >> drop;
            prop_assert!(check(half_square_quotient(integer, scale), (integer.into(), 0), scale));
        }

        #[test]
        fn is_the_smallest_float_not_below_the_quotient(
            bits in 0_u64..0x7ff << 52, other in 1_u64..0x7ff << 52,
            wide in 0..i128::MAX, drop in 0_u32..127, scale in 1e-9..1e9,
        ) {
            let (d_in, divisor) = (f64::from_bits(bits), f64::from_bits(other));
            let part = |x: f64| {
                let parts = Dyadic::new(x);
                (IBig::from(parts.mantissa), i64::from(parts.exponent))
            };
            check(quotient(d_in, divisor), part(d_in), divisor);
            check(quotient(scale, scale * 1.1), part(scale), scale * 1.1);
            let single = scale as f32;
            check(quotient(single, divisor), part(single.into()), divisor);
            let integer = wide >> drop;
            prop_assert!(check(quotient(integer, scale), (integer.into(), 0), scale));
            check(quotient(integer, divisor), (integer.into(), 0), divisor);
            let integer = integer as u64;
            prop_assert!(check(quotient(integer, scale), (integer.into(), 0), scale));
        }
    }
}
