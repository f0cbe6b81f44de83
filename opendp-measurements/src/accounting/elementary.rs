//! Elementary functions in plain floats with a proven error, for computations with many values.
//!
//! The directed functions of `arith` have the smallest possible error, but each call takes
//! microseconds. A loss distribution needs millions of values. A relative error of a few units in
//! the last place is acceptable if a bound on this error is *known*. This bound is added to delta.
//! All floating-point arithmetic of the functions in this file is `+ - * /` on IEEE doubles. So the
//! results of the functions are the same on every platform. `u = 2^-53` is the unit roundoff.

/// A bound on the relative error of [`exp`] for arguments in `[-700, 700]`.
#[cfg(test)]
const EXP_ERROR: f64 = 8.0 * U;
/// A bound on the relative error of [`exp_m1`] for arguments in `[-700, 700]`.
#[cfg(test)]
const EXP_M1_ERROR: f64 = 32.0 * U;
/// A bound on the relative error of [`ln`] and [`ln_1p`].
pub(crate) const LN_ERROR: f64 = 16.0 * U;
/// The unit roundoff.
pub(crate) const U: f64 = f64::EPSILON / 2.0;

/// The first 32 bits of `ln 2`. The sum of this number and [`LN_2_LOW`] differs from `ln 2` by less
/// than `2^-86`.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// `1 / n!` for n from 2 to 17.
const INVERSE_FACTORIALS: [f64; 16] = [
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
    1.0 / 87_178_291_200.0,
    1.0 / 1_307_674_368_000.0,
    1.0 / 20_922_789_888_000.0,
    1.0 / 355_687_428_096_000.0,
];

/// Compute `e^x`. For `x` below -700, the exact value is below `10^-304`, and the result is 0. For
/// `x` above 709, the result is infinity.
///
/// Write `x = k ln 2 + r` with `|r| < 0.35`. The product `k * LN_2_HIGH` and its difference from
/// `x` are exact. The product `k * LN_2_LOW` is off by less than `2^-75`. The rounding error of the
/// last subtraction is at most `u |r|`. So `r` is off by at most `u |r| + 2^-75`. The polynomial
/// omits terms of about `r^15 / 15! < 2^-61`. The rounding errors of the last steps add up to at
/// most `(1 + 0.35 + ...) u`. Together with the error of `r`, the relative error is below `4 u`.
/// The scaling by `2^k` is exact.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    if !(x <= 709.0) {
        return f64::INFINITY;
    }
    let k = nearest(x * std::f64::consts::LOG2_E);
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let p = 1.0 + (r + r * r * tail(r));
    let half = (k as i64) / 2;
    p * power_of_two(half) * power_of_two(k as i64 - half)
}

/// Compute `e^x - 1`.
///
/// For `|x| < 0.35`, the result is a sum of two terms. The first term is `x`, which has no error.
/// The second term is below `|x| / 5` in magnitude. So the relative error of the sum is below
/// `4 u`. For larger `|x|`, the relative error of [`exp`] is multiplied by at most
/// `e^0.35 / (e^0.35 - 1) < 3.4`.
#[inline]
pub(crate) fn exp_m1(x: f64) -> f64 {
    if x.abs() < 0.35 { x + x * x * tail(x) } else { exp(x) - 1.0 }
}

/// Compute the sum of `r^n / (n + 2)!` for n from 0 to 12. The even and the odd powers are two
/// chains of operations, which a processor runs at the same time.
#[inline]
fn tail(r: f64) -> f64 {
    let z = r * r;
    let (mut even, mut odd) = (INVERSE_FACTORIALS[12], 0.0);
    for n in [10, 8, 6, 4, 2, 0] {
        even = even * z + INVERSE_FACTORIALS[n];
        odd = odd * z + INVERSE_FACTORIALS[n + 1];
    }
    even + r * odd
}

/// Round `x` to the nearest integer. The magnitude of `x` must be below `2^51`. The sum
/// `x + NO_FRACTIONS` has no bits for fractions, so the addition rounds to an integer. The
/// subtraction of `NO_FRACTIONS` is exact. Older processors have no instruction that rounds to an
/// integer.
#[inline]
fn nearest(x: f64) -> f64 {
    const NO_FRACTIONS: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    (x + NO_FRACTIONS) - NO_FRACTIONS
}

#[inline]
fn power_of_two(k: i64) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// Compute `ln x` for a positive float. Return minus infinity for zero and negative numbers.
///
/// Write `x = 2^k m` with `m` within a factor `sqrt 2` of 1. Then `ln m = 2 atanh(s)` for
/// `s = (m - 1) / (m + 1)`, and `|s| < 0.1716`. The numerator is exact, and the relative error of
/// the quotient is at most `2 u`. The first omitted term of the series is `2 s^25 / 25`. Its
/// magnitude is below `2^-60 |s|`. The product `k * LN_2_HIGH` is exact. If `k != 0`, the magnitude
/// of the sum `k ln 2 + ln m` is at least `|ln m|`. So the error of `ln m`, divided by this sum, is
/// at most the relative error of `ln m`.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    if !(0.0 < x) {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let (x, scale) = if x < f64::MIN_POSITIVE { (x * power_of_two(60), -60) } else { (x, 0) };
    let bits = x.to_bits();
    let mut k = ((bits >> 52) as i64) - 1023 + scale;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        k += 1;
    }
    let near = two_atanh((m - 1.0) / (m + 1.0));
    let k = k as f64;
    k * LN_2_HIGH + (k * LN_2_LOW + near)
}

/// Compute `ln(1 + x)` for `x > -1`.
#[inline]
pub(crate) fn ln_1p(x: f64) -> f64 {
    // If |x| is at least 0.35, the magnitude of the logarithm exceeds 0.3. The sum 1 + x has a
    // relative rounding error of at most u. So the rounding of the sum changes the logarithm by a
    // relative error of less than 4 u. For x below -1/2, the sum is exact.
    if x.abs() < 0.35 { two_atanh(x / (2.0 + x)) } else { ln(1.0 + x) }
}

#[inline]
fn two_atanh(s: f64) -> f64 {
    let z = s * s;
    let square = z * z;
    // As in `tail`, the even and the odd powers of `z` are two chains of operations.
    let (mut even, mut odd) = (1.0 / 23.0, 0.0);
    for n in [19.0, 15.0, 11.0, 7.0, 3.0] {
        even = even * square + 1.0 / n;
        odd = odd * square + 1.0 / (n + 2.0);
    }
    2.0 * (s + s * (z * (even + z * odd)))
}

/// The first 33 bits of `pi / 2`. The sum of this number and [`HALF_PI_LOW`] differs from `pi / 2`
/// by less than `2^-86`.
const HALF_PI_HIGH: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
const HALF_PI_LOW: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);
/// A bound on the errors of the cosine and the sine from [`cis`], for arguments up to
/// [`CIS_LIMIT`]. The error of the sine, divided by the magnitude of the argument, is also at most
/// this constant.
pub(crate) const CIS_ERROR: f64 = 8.0 * U;
/// The largest argument of [`cis`]. Up to this argument, the product `k * HALF_PI_HIGH` is exact.
pub(crate) const CIS_LIMIT: f64 = 1_000_000.0;

/// Compute the cosine and the sine of `x`, for `|x|` up to [`CIS_LIMIT`].
///
/// Write `x = k pi / 2 + r` with `|r| < 0.79`. The product `k * HALF_PI_HIGH` and its difference
/// from `x` are exact. The product `k * HALF_PI_LOW` is below `2^-14`, so `r` is off by at most
/// `u |r| + 2^-66`. If `k` is 0, `r` is exact. The polynomials omit `r^18 / 18! < 2^-58` and
/// `r^19 / 19!`. The rounding errors of the last steps add up to at most `2 u`. For the sine of
/// `r`, this error is relative to `r`. If `k` is not 0, `|x|` is above 0.78. So the errors relative
/// to `|x|` are at most 1.3 times the absolute errors.
#[inline]
pub(crate) fn cis(x: f64) -> (f64, f64) {
    let k = nearest(x * std::f64::consts::FRAC_2_PI);
    let r = (x - k * HALF_PI_HIGH) - k * HALF_PI_LOW;
    let z = -r * r;
    let (mut sine, mut cosine) = (0.0, 0.0);
    // The coefficients are 1 / (n + 3)! and 1 / (n + 2)!. The signs of the terms alternate, because
    // z is -r^2.
    for n in [14, 12, 10, 8, 6, 4, 2, 0] {
        sine = sine * z + INVERSE_FACTORIALS[n + 1];
        cosine = cosine * z + INVERSE_FACTORIALS[n];
    }
    let (sine, cosine) = (r + r * (z * sine), 1.0 + z * cosine);
    match k as i64 & 3 {
        0 => (cosine, sine),
        1 => (-sine, cosine),
        2 => (-cosine, -sine),
        _ => (sine, -cosine),
    }
}

/// Add non-negative numbers by pairwise summation. The relative error is at most
/// `(log2(length) + 32) u`.
pub(crate) fn sum(values: &[f64]) -> f64 {
    if values.len() <= 32 {
        return values.iter().sum();
    }
    let (left, right) = values.split_at(values.len() / 2);
    sum(left) + sum(right)
}

#[cfg(test)]
mod tests {
    use opendp_core::arith::DirectedFloat;
    use proptest::prelude::*;

    use super::*;

    /// Check whether a value is in an enclosure, up to a relative error.
    fn near(value: f64, low: f64, high: f64, error: f64) -> bool {
        let slack = error * low.abs().max(high.abs());
        low - slack <= value && value <= high + slack
    }

    proptest! {
        #[test]
        fn stays_within_the_stated_errors(x in -700f64..700.0, small in -1f64..1.0, e in -300i32..300) {
            for x in [x, small, small * 1e-6, x / 10.0] {
                let (low, high) = (x.neg_inf_exp().unwrap(), x.inf_exp().unwrap());
                prop_assert!(near(exp(x), low, high, EXP_ERROR));
                // The control: the check detects an error of 20 u, which is 2.5 times the bound.
                prop_assert!(!near(exp(x) * (1.0 + 20.0 * U), low, high, EXP_ERROR));
                let (low, high) = (x.neg_inf_exp_m1().unwrap(), x.inf_exp_m1().unwrap());
                prop_assert!(near(exp_m1(x), low, high, EXP_M1_ERROR));
            }
            for x in [(1.0 + small.abs()) * 2f64.powi(e), 1.0 + small * 0.9, 1.0 + small * 1e-9] {
                let (low, high) = (x.neg_inf_ln().unwrap(), x.inf_ln().unwrap());
                prop_assert!(near(ln(x), low, high, LN_ERROR), "{x}");
            }
            for x in [small, small * 0.1, small * 1e-9, x.abs()] {
                if x > -1.0 && x != 0.0 {
                    let (low, high) = (x.neg_inf_ln_1p().unwrap(), x.inf_ln_1p().unwrap());
                    prop_assert!(near(ln_1p(x), low, high, LN_ERROR), "{x}");
                }
            }
        }
    }

    #[test]
    fn turns_stay_within_the_stated_error() {
        // The functions of the standard library have an error of about one ulp (unit in the last
        // place). This error is below the tolerance of the check.
        let near = |x: f64, slack: f64| {
            let ((cosine, sine), (s, c)) = (cis(x), x.sin_cos());
            (cosine - c).abs() <= slack && (sine - s).abs() <= slack * x.abs().min(1.0)
        };
        for i in -40_000i32..40_000 {
            let x = f64::from(i);
            for x in [x * 24.987_654_321, x * 1e-4, x * std::f64::consts::FRAC_PI_4, x * 1e-9] {
                assert!(near(x, CIS_ERROR), "{x}");
            }
        }
        // The control: the check detects a small error of the argument.
        let (c, s) = cis(1.0 + 64.0 * U);
        let exact = 1f64.sin_cos();
        assert!((c - exact.1).abs() > CIS_ERROR && (s - exact.0).abs() > CIS_ERROR);
    }

    #[test]
    fn ends_where_floats_do() {
        assert_eq!((exp(-1e9), exp(1e9), exp(0.0)), (0.0, f64::INFINITY, 1.0));
        assert_eq!((ln(1.0), ln(0.0), exp_m1(0.0), ln_1p(0.0)), (0.0, f64::NEG_INFINITY, 0.0, 0.0));
        assert!((ln(5e-324) + 744.44).abs() < 0.01);
    }
}
