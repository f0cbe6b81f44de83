//! Elementary functions, rounded once. An enclosure of a number is a pair of bounds on the number.
//!
//! The enclosures of exponentials and logarithms come from [`fixed`]. The enclosures of powers come
//! from `enclose_power`. The ends of an enclosure are integers times a power of two. The code
//! refines the enclosure until both ends round to the same float. This float is the tightest bound.
//! The precision of the refinement has a limit, which `converge` states. Each result is NaN, an
//! infinity, or an `f64` that the given format represents exactly.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};

use super::dyadic::{Format, Rounding, decode};
use super::fixed;

/// Compute `e^x`, rounded once. Return NaN if `x` is not finite.
pub(super) fn exp(x: f64, format: Format, rounding: Rounding) -> f64 {
    let x = clamp(x);
    if x != 0.0 && x.abs() < TINY {
        return nudge(1.0, x > 0.0, format, rounding);
    }
    let Some((numerator, fraction_bits)) = fraction(x) else {
        return f64::NAN;
    };
    converge(format.precision_bits() + 24, format, rounding, |bits| {
        let (lo, hi, k) = fixed::exp_scaled(&numerator, fraction_bits, bits);
        (lo.into(), hi.into(), k - bits as i64)
    })
}

/// Compute `e^x - 1`, rounded once. Return NaN if `x` is not finite.
pub(super) fn exp_m1(x: f64, format: Format, rounding: Rounding) -> f64 {
    let x = clamp(x);
    if x != 0.0 && x.abs() < TINY {
        // x < e^x - 1 < x + x^2.
        return nudge(x, true, format, rounding);
    }
    if x < -60.0 {
        return nudge(-1.0, true, format, rounding);
    }
    let Some((numerator, fraction_bits)) = fraction(x) else {
        return f64::NAN;
    };
    converge(2 * format.precision_bits() + 24, format, rounding, |bits| {
        let (lo, hi, k) = fixed::exp_scaled(&numerator, fraction_bits, bits);
        let (lo, hi) = (IBig::from(lo), IBig::from(hi));
        let exponent = k - bits as i64;
        if exponent > 0 {
            ((lo << exponent as usize) - 1, (hi << exponent as usize) - 1, 0)
        } else {
            let unit = IBig::ONE << exponent.unsigned_abs() as usize;
            (lo - &unit, hi - unit, exponent)
        }
    })
}

/// Compute `ln(x)`, rounded once. Return NaN if `x` is not finite or not positive.
pub(super) fn ln(x: f64, format: Format, rounding: Rounding) -> f64 {
    match decode(x) {
        Some((false, mantissa, exponent)) if mantissa > 0 => {
            ln_of(&mantissa.into(), exponent, format, rounding)
        }
        _ => f64::NAN,
    }
}

/// Compute `ln(1 + x)`, rounded once. Return NaN if `x` is not finite or is at most -1.
pub(super) fn ln_1p(x: f64, format: Format, rounding: Rounding) -> f64 {
    if x != 0.0 && x.abs() < TINY {
        // x - x^2 < ln(1 + x) < x.
        return nudge(x, false, format, rounding);
    }
    let Some((negative, mantissa, exponent)) = decode(x).filter(|_| x > -1.0) else {
        return f64::NAN;
    };
    // Write 1 + x in units of 2^min(exponent, 0).
    let unit = UBig::ONE << exponent.min(0).unsigned_abs() as usize;
    let x = UBig::from(mantissa) << exponent.max(0) as usize;
    let sum = if negative { unit - x } else { unit + x };
    ln_of(&sum, exponent.min(0), format, rounding)
}

/// Compute `x^power`, rounded once. Return NaN if `x` is not finite, or if `x` is 0 and `power` is
/// negative.
pub(super) fn powi(x: f64, power: i32, format: Format, rounding: Rounding) -> f64 {
    let Some((negative, mantissa, exponent)) = decode(x) else {
        return f64::NAN;
    };
    if power == 0 {
        return 1.0;
    }
    let exponent = i64::from(exponent);
    let negative = negative && power % 2 != 0;
    match mantissa {
        0 if power > 0 => 0.0,
        0 => f64::NAN,
        1 => {
            let sign = if negative { -IBig::ONE } else { IBig::ONE };
            format.round(&sign, exponent * i64::from(power), rounding)
        }
        _ => converge(2 * format.precision_bits() + 24, format, rounding, |bits| {
            let (lo, hi, scale) = enclose_power(mantissa, power.unsigned_abs(), bits);
            let scale = scale + exponent * i64::from(power.unsigned_abs());
            let (lo, hi) = (IBig::from(lo), IBig::from(hi));
            let (lo, hi, scale) = if power > 0 {
                (lo, hi, scale)
            } else {
                let unit = IBig::ONE << (2 * bits);
                (&unit / hi, unit / lo + 1, -scale - 2 * bits as i64)
            };
            if negative { (-hi, -lo, scale) } else { (lo, hi, scale) }
        }),
    }
}

/// If the magnitude of the argument is below this number, the value of `exp`, `exp_m1` or `ln_1p`
/// is close to a known float. For `exp`, this float is 1. For `exp_m1` and `ln_1p`, this float is
/// the argument. The difference between the value and this float is far smaller than the spacing of
/// floats near this float.
const TINY: f64 = 1.0 / (1u64 << 60) as f64;

fn ln_of(mantissa: &UBig, exponent: i32, format: Format, rounding: Rounding) -> f64 {
    // If the argument is a float next to 1, the magnitude of its logarithm is about the spacing of
    // floats near 1. The ends of the enclosure are multiples of `2^-bits`. So a full mantissa of
    // this logarithm needs about twice as many bits as the precision of the format.
    converge(2 * format.precision_bits() + 24, format, rounding, |bits| {
        let (lo, hi) = fixed::ln(mantissa, exponent.into(), bits);
        (lo, hi, -(bits as i64))
    })
}

/// Enclose `base^power` in `lo * 2^scale ..= hi * 2^scale`.
///
/// The enclosure is exact if the number `base^power` has at most `bits` bits.
fn enclose_power(base: u64, power: u32, bits: usize) -> (UBig, UBig, i64) {
    let (mut lo, mut hi, mut scale) = (UBig::ONE, UBig::ONE, 0i64);
    for i in (0..u32::BITS - power.leading_zeros()).rev() {
        lo = &lo * &lo;
        hi = &hi * &hi;
        scale *= 2;
        if power >> i & 1 == 1 {
            lo *= base;
            hi *= base;
        }
        if let Some(drop @ 1..) = hi.bit_len().checked_sub(bits) {
            lo >>= drop;
            hi = UBig::try_from(fixed::ceil_shift(&hi.into(), drop)).unwrap_or(UBig::ONE);
            scale += drop as i64;
        }
    }
    (lo, hi, scale)
}

/// Move a finite argument of an exponential into `[-2000, 2000]`. The move changes an argument only
/// if its exponential is outside of the range of positive finite floats. The exponential of the new
/// argument is then outside of this range too, on the same side. Return NaN for an argument that is
/// not finite.
fn clamp(x: f64) -> f64 {
    if x.is_finite() { x.clamp(-2000.0, 2000.0) } else { f64::NAN }
}

/// Write a finite float as `numerator / 2^fraction_bits`.
fn fraction(x: f64) -> Option<(IBig, usize)> {
    let (negative, mantissa, exponent) = decode(x)?;
    let numerator = IBig::from(mantissa) << exponent.max(0) as usize;
    let fraction_bits = exponent.min(0).unsigned_abs() as usize;
    Some((if negative { -numerator } else { numerator }, fraction_bits))
}

/// Round a number that is close to the float `x`. The difference between the number and `x` is much
/// less than the spacing of floats near `x`. The number is above `x` if `above` is true, and below
/// `x` otherwise.
fn nudge(x: f64, above: bool, format: Format, rounding: Rounding) -> f64 {
    let Some((negative, mantissa, exponent)) = decode(x) else {
        return f64::NAN;
    };
    let mantissa = IBig::from(mantissa) << 64usize;
    let mantissa = if negative { -mantissa } else { mantissa };
    let mantissa = if above { mantissa + 1 } else { mantissa - 1 };
    format.round(&mantissa, i64::from(exponent) - 64, rounding)
}

/// Round a number that is known only by its enclosures. Double the precision of the enclosure until
/// both ends round to the same float.
///
/// `enclose` returns `(lo, hi, exponent)` such that the result is in
/// `lo * 2^exponent ..= hi * 2^exponent`. The largest precision is 32 times the first precision. If
/// the rounded ends still differ at this precision, use the rounded upper end for rounding up. For
/// other rounding directions, use the rounded lower end.
fn converge(
    mut bits: usize,
    format: Format,
    rounding: Rounding,
    enclose: impl Fn(usize) -> (IBig, IBig, i64),
) -> f64 {
    let limit = 32 * bits;
    loop {
        let (lo, hi, exponent) = enclose(bits);
        let low = format.round(&lo, exponent, rounding);
        let high = format.round(&hi, exponent, rounding);
        if low == high || bits >= limit {
            return if rounding == Rounding::Up { high } else { low };
        }
        bits *= 2;
    }
}
