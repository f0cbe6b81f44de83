//! A fast natural logarithm with a proven error bound.

/// Enclose `-ln(U)` for every `U` that begins with the given digit.
///
/// `bits` is from 1 to 64. For all real `U` in `(0, 1)` with `digit <= 2^bits U <= digit + 1`, the
/// result `(lo, hi)` satisfies `0 <= lo <= -ln U <= hi`. `hi` is infinite for digit 0.
///
/// # Bound
///
/// Let `u` be an integer from 1 to `2^64 - 1`, and `v = 2^-53`. Let `y` be the value that
/// `neg_ln_point` returns for `-ln(u / 2^64)`. The relative error of `y` is at most `8v` (see the
/// proof at `ln_scaled` below).
///
/// * Upper end: let `u` be the left end of the interval of `2^64 U`. Then
///   `-ln U <= -ln(u / 2^64) <= y / (1 - 8v) <= y (1 + 8.1v)`. The rounding of `y * (1 + 12v)`
///   lowers this product by a relative error of less than `1.1v`. So the rounded product `hi` is
///   above `y (1 + 8.1v)`.
/// * Lower end, for at least 32 bits: let `u` be the left end and `w = 2^(64 - bits)` the width of
///   the interval. Let `z` be the number of leading zeros of `u`. Then
///   `ln((u + w) / u) <= w/u <= w 2^(z - 63)`, so `-ln U >= y (1 - 8v) - w 2^(z - 63)`. The product
///   `y * (1 - 12v)` is rounded to at most `y (1 - 10.9v)`. The rounding of the difference adds at
///   most `v y`. So `lo` is at most `y (1 - 9.9v) - w 2^(z - 63)`, which is below `-ln U`.
/// * For digit 0, the lower end is evaluated at `u = w`, which is the right end of the interval.
/// * Lower end, for fewer than 32 bits: let `u` be the right end of the interval. If `u` is `2^64`,
///   the bound is 0. Otherwise, the bound is `y (1 - 12v)`.
///
/// Near `U = 1`, the computation uses the exact integer `2^64 - u`. So `hi` has full relative
/// precision there. For `U >= 1/2` and without the factors `1 ± 12v`, the difference `hi - lo`
/// would be at most `2 / 2^bits`. This bound is twice the width of the interval of `U`.
///
/// Cost: about 6 ns for each call, if many calls are independent. The latency of one call is 25 ns.
/// For at least 32 bits, the code has no branch except for digit 0.
#[inline]
pub fn neg_ln(digit: u64, bits: u32) -> (f64, f64) {
    if bits >= 32 {
        let places = 64 - bits;
        let u = (digit | u64::from(digit == 0)) << places;
        let zeros = u.leading_zeros();
        let y = neg_ln_point(u, zeros);
        let width = f64::from_bits(u64::from(zeros + places + (1023 - 63)) << 52);
        let lo = (y * (1.0 - SLACK) - width).max(0.0);
        return (lo, if digit == 0 { f64::INFINITY } else { y * (1.0 + SLACK) });
    }
    let value_at = |n: u64| {
        let u = n << (64 - bits);
        neg_ln_point(u, u.leading_zeros())
    };
    let lo = if digit + 1 == 1 << bits { 0.0 } else { value_at(digit + 1) * (1.0 - SLACK) };
    (lo, if digit == 0 { f64::INFINITY } else { value_at(digit) * (1.0 + SLACK) })
}

/// Enclose `ln(x)` for a positive float.
///
/// The result `(lo, hi)` satisfies `lo <= ln x <= hi`. For 0, the result is the limit
/// `(-inf, -inf)`. For infinity, the result is `(inf, inf)`. A subnormal argument is treated as the
/// range from 0 to the least normal number. For other arguments, the bounds differ from `ln x` by a
/// relative error of at most `22 * 2^-53`, even near `x = 1`.
#[inline]
pub fn ln(x: f64) -> (f64, f64) {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return match x {
            _ if x <= 0.0 => (f64::NEG_INFINITY, f64::NEG_INFINITY),
            _ if x < 1.0 => (f64::NEG_INFINITY, -708.0),
            _ => (f64::INFINITY, f64::INFINITY),
        };
    }
    let bits = x.to_bits();
    let y = ln_scaled(1 << 63 | bits << 11, (bits >> 52) as i32 - 1022);
    let slack = y.abs() * SLACK;
    (y - slack, y + slack)
}

/// Twelve times the unit roundoff `2^-53`. Eight units cover the error of `ln_scaled`, and four
/// units cover the roundings of its callers.
const SLACK: f64 = 6.0 * f64::EPSILON;

/// The upper bits of ln 2. The last 17 bits of the mantissa are 0, so the product with an integer k
/// is exact for |k| < 2^17.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fefa_0000);

/// The remainder `ln 2 - LN2_HI`, with an error of at most 2^-93.
const LN2_LO: f64 = f64::from_bits(0x3d7c_f79a_bc9e_3b3a);

/// The integer nearest to `2^63 sqrt(2)`.
const SQRT_2: u64 = 0xb504_f333_f9de_6484;

/// Approximate `-ln(u / 2^64)` for `u > 0`. `zeros` is the number of leading zeros of `u`.
#[inline]
fn neg_ln_point(u: u64, zeros: u32) -> f64 {
    -ln_scaled(u << zeros, -(zeros as i32))
}

/// Approximate `ln(significand / 2^64 * 2^top)` for a significand of at least `2^63`.
///
/// The relative error is at most `8v` with `v = 2^-53`, for `|top| <= 2^14`.
///
/// # Proof
///
/// Let `result` be the exact logarithm. Write the argument of this logarithm as `m 2^k`, with
/// `m = 1 + d / unit` between `sqrt(1/2)` and `sqrt(2)`. If the significand is below
/// `2^63 sqrt(2)`, `unit` is `2^63`, and otherwise `2^64`. `d` is an exact integer of magnitude at
/// most `2^63`. With `s = (m - 1) / (m + 1) = d / (2 unit + d)`,
///
/// `ln m = 2 atanh(s) = 2 s (1 + z (1/3 + z/5 + z^2/7 + ...))`, `z = s^2`
///
/// (Abramowitz and Stegun 1964, 4.1.27), `|s| <= 3 - 2 sqrt(2) < 0.1716` and `z < 0.02945`.
///
/// 1. *Argument.* The conversion of `d` to a float has a relative error of `v`. This error causes a
///    relative error of `s` of at most `2 unit / (2 unit + d) v <= 1.18 v`. The roundings of the
///    denominator and of the quotient add `v` each. So the relative error of `s` is at most
///    `3.18 v`. The condition number of atanh is at most `1 / (1 - z) < 1.031`. So the relative
///    error of `ln m` is at most `3.28 v`.
/// 2. *Truncation.* The terms after the nine terms from `z/3` to `z^9/19` are omitted. Their sum is
///    at most `z^10 / 21 / (1 - z) < 2^-55`, relative to the leading 1. `2^-55` is `0.25 v`.
/// 3. *Evaluation.* All terms of the polynomial are positive. Consider the longest path of
///    operations from `z` or a coefficient to the polynomial. This path has 12 roundings, including
///    the roundings of `z`, of its powers and of the coefficients. So the relative error of the
///    polynomial is at most `1.01 v` times 12. The polynomial is then multiplied by `z` and `s` (2
///    more roundings). The product is at most the fraction `z * 0.344 < 0.0102` of `ln m`, so the
///    error of the product adds `0.15 v`. The last addition adds `v`. Together with the errors of
///    items 1 and 2, the relative error of `ln m` is less than `4.8 v`.
/// 4. *Recombination.* For `k = 0` the products with `k` and both additions are exact. Otherwise,
///    `result = k ln 2 + ln m` and `|ln m| <= ln(2) / 2 <= |result|`, so the error of `ln m` is at
///    most `4.8 v |result|`. `k LN2_HI` is exact. Each of the two additions has a relative error of
///    `v`. The first sum, `k LN2_HI + ln m`, differs from the result by at most `2^-30 |result|`.
///    The error of `k LN2_LO` is less than `|k| (2^-93 + 2^-40 v) < 2^-20 v |result|`. The total
///    error is less than `7 v |result|`.
///
/// `SQRT_2` is `2^63 sqrt(2)`, rounded to an integer. So `m` can be outside of the interval from
/// `sqrt(1/2)` to `sqrt(2)`, by a relative distance of at most `2^-63`. This distance does not
/// change the rounded constants of this proof.
#[inline]
fn ln_scaled(significand: u64, top: i32) -> f64 {
    let low = significand < SQRT_2;
    let d = significand.wrapping_sub(u64::from(low) << 63) as i64 as f64;
    let twice_unit = if low { TWO_64 } else { 2.0 * TWO_64 };
    let k = f64::from(top - i32::from(low));

    let s = d / (twice_unit + d);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let c01 = 1.0 / 3.0 + z * (1.0 / 5.0);
    let c23 = 1.0 / 7.0 + z * (1.0 / 9.0);
    let c45 = 1.0 / 11.0 + z * (1.0 / 13.0);
    let c67 = 1.0 / 15.0 + z * (1.0 / 17.0);
    let c48 = (c45 + z2 * c67) + z4 * (1.0 / 19.0);
    let polynomial = (c01 + z2 * c23) + z4 * c48;
    let twice = s + s;
    let ln_m = twice + twice * (z * polynomial);
    (k * LN2_HI + ln_m) + k * LN2_LO
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;
