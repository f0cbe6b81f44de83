//! Certified enclosures of the logarithm and the exponential in fixed-point arithmetic. An
//! enclosure is a pair of bounds.
//!
//! Every value is an integer that counts units of `2^-bits`. Intermediate results have additional
//! bits, called guard bits. The code bounds the sum of the truncation errors, and widens the
//! enclosure by this bound. Floats are used only to choose an entry of a table. The bounds are
//! correct for every choice of the entry.

use std::sync::OnceLock;

use dashu_int::ops::{BitTest, DivRemEuclid};
use dashu_int::{IBig, Sign, UBig};

/// The largest argument of [`exp`].
pub const EXP_MAX: i64 = 20_000;

/// Enclose the natural logarithm of `mantissa * 2^exponent`.
///
/// Return integers `lo` and `hi` with `lo <= 2^bits * ln(mantissa * 2^exponent) <= hi` and
/// `hi - lo <= 2`. If the argument is 1, the enclosure is exactly `(0, 0)`.
///
/// `mantissa` must be positive: `ln(0)` is minus infinity, so no enclosure exists. Debug builds
/// assert this condition. Release builds replace the argument zero by `2^(-2^63)`, so `hi` is still
/// an upper bound.
pub fn ln(mantissa: &UBig, exponent: i64, bits: usize) -> (IBig, IBig) {
    debug_assert!(!mantissa.is_zero(), "the logarithm of zero has no enclosure");
    let Some(top) = mantissa.bit_len().checked_sub(1) else {
        return ln(&UBig::ONE, i64::MIN, bits);
    };
    // The argument is f * 2^k with f in [1, 2).
    let mut k = exponent as i128 + top as i128;
    // Let w be the working precision in bits. One unit is 2^-w. The guard bits absorb two errors:
    // 2|k| units from the product k ln 2, and 4n + 9 units from all other truncations. Here n is
    // the number of terms of the series of atanh, and n is at most w / 3 + 2.
    let w = bits + 16 + int_bits(k.unsigned_abs()) + int_bits(bits as u128);

    // Write f in units of 2^-w. Because f >= 1, the dropped low bits change ln f by less than one
    // unit.
    let (f, truncated) = if top <= w {
        (mantissa << (w - top), false)
    } else {
        let drop = top - w;
        (mantissa >> drop, mantissa.trailing_zeros().is_some_and(|zeros| zeros < drop))
    };

    // Choose the centre c = 1 + j/128 that is nearest to f. Then |f - c| <= 2^-8. If the table is
    // not used, c is 1 or 2, and |f - c| <= 1/2.
    let coarse = if w <= CACHE_BITS { 7 } else { 0 };
    let nearest = usize::try_from((&f >> (w - coarse - 1)) - (UBig::ONE << (coarse + 1)));
    let mut j = (nearest.unwrap_or(0).div_ceil(2)) << (7 - coarse);
    let centre = UBig::from(STEPS + j) << (w - 7);
    if j == STEPS {
        // If c = 2, increment k instead of using a table entry.
        j = 0;
        k += 1;
    }

    let (mut lo, mut hi) = scaled_ln_2(k, w);
    if j > 0 {
        let ln_centre = IBig::from(ln_centre(j, w));
        lo += &ln_centre;
        hi += ln_centre + 2;
    }
    // ln(f / c) = 2 atanh((f - c) / (f + c)).
    let difference = IBig::from(f.clone()) - IBig::from(centre.clone());
    if !difference.is_zero() {
        let (sign, distance) = difference.into_parts();
        let (sum, error) = atanh((distance << w) / (&f + centre), w);
        let (near, far) = (IBig::from(&sum << 1usize), IBig::from((sum + error) << 1usize));
        if sign == Sign::Positive {
            lo += near;
            hi += far;
        } else {
            lo -= far;
            hi -= near;
        }
    }
    if truncated {
        hi += 1;
    }
    // Here hi - lo < 2^(w - bits), so the width is at most 2 after rounding outward.
    (lo >> (w - bits), ceil_shift(&hi, w - bits))
}

/// Enclose the exponential of `x = numerator / 2^fraction_bits`.
///
/// Return integers `lo` and `hi` with `lo <= 2^bits * exp(x) <= hi` and `hi - lo <= 2`. The
/// enclosure of `exp(0)` is exact. If `2^bits * exp(x)` is certainly less than 1/2, the enclosure
/// can be `(0, 1)`.
///
/// The domain is `x <= EXP_MAX`. This domain limits the size of the result, which has about
/// `bits + 1.45 x` bits. Debug builds assert `x <= EXP_MAX`. Outside the domain, release builds
/// return the enclosure of `exp(EXP_MAX)`. Then only `lo` is a bound on `exp(x)`.
pub fn exp(numerator: &IBig, fraction_bits: usize, bits: usize) -> (UBig, UBig) {
    let floor = numerator >> fraction_bits;
    // Here x < -bits - 1, so exp(x) < 2^-bits / e.
    if floor < -IBig::from(bits) - 1 {
        return (UBig::ZERO, UBig::ONE);
    }
    let small = i64::try_from(floor).ok().filter(|&floor| floor <= EXP_MAX);
    debug_assert!(small.is_some(), "the argument of exp exceeds {EXP_MAX}");
    let Some(floor) = small else {
        return exp(&IBig::from(EXP_MAX), 0, bits);
    };
    // Let k be the exponent that `exp_scaled` returns. Except for a tiny rounding error, k is at
    // most x / ln 2. If x >= 0, then x / ln 2 <= 1.5 x. If x < 0, then x / ln 2 < x.
    let k_max = if floor >= 0 { floor + floor / 2 + 2 } else { floor + 1 };
    let relative_bits = usize::try_from(bits as i64 + k_max).unwrap_or(0);
    let (lo, hi, k) = exp_scaled(numerator, fraction_bits, relative_bits);
    // Because relative_bits >= bits + k_max >= bits + k, the shift is never to the left.
    let drop = usize::try_from(relative_bits as i64 - bits as i64 - k).unwrap_or(0);
    (&lo >> drop, ceil_shift_unsigned(&hi, drop))
}

/// Enclose `exp(numerator / 2^fraction_bits)`. The width of the enclosure is proportional to the
/// magnitude of the result.
///
/// Let `x` be the argument. Return `(lo, hi, k)` with `lo <= 2^(bits - k) * exp(x) <= hi`,
/// `hi - lo <= 2` and `2^(k - 1) < exp(x) < 2^(k + 2)`. The domain is `|x| < 2^40`. In this domain,
/// `k` fits into an `i64`.
pub fn exp_scaled(numerator: &IBig, fraction_bits: usize, bits: usize) -> (UBig, UBig, i64) {
    if numerator.is_zero() {
        let unit = UBig::ONE << bits;
        return (unit.clone(), unit, 0);
    }
    let floor = numerator >> fraction_bits;
    debug_assert!(floor.bit_len() <= 40, "the argument of exp_scaled is out of range");
    // Let w be the working precision in bits. One unit is 2^-w. The code below writes x as k ln 2 +
    // r with |k| <= 1.5 |x| + 2, and sums n <= w terms of a series. The enclosure of the result is
    // narrower than 4 (10 |k| + 2n + 18) units, and the guard bits absorb this width.
    let w = bits + 16 + floor.bit_len() + 2 + int_bits(bits as u128 + 64);

    // Write x in units of 2^-w. The truncated x is too small by less than one unit.
    let x = if fraction_bits <= w {
        numerator << (w - fraction_bits)
    } else {
        numerator >> (fraction_bits - w)
    };
    // Write x = k ln 2 + r with r in [0, ln 2). The division uses a lower bound on ln 2 instead of
    // ln 2.
    let (k, r) = x.div_rem_euclid(IBig::from(ln_centre(STEPS, w)));
    let k = i64::try_from(k).unwrap_or(0);
    let (j, s) = subtract_centre(r, w);
    // Let c = 1 + j/128. Replace r by s = r - ln c. The error of x makes the computed s too small
    // by less than one unit. The error of ln c makes the computed s too large by less than two
    // units. The error of k ln 2 changes s by less than 2 |k| units. So the error of s is less than
    // 2 |k| + 2 units.
    let drift = 2 * k.unsigned_abs() + 2;

    // Sum the Taylor series of exp(s) for 0 <= s < ln 2, with all truncations downward. All
    // numbers, including s, are stored in units of 2^-w. Let e[i] be the error of term i: the exact
    // term minus the computed term. Then e[0] = 0 and e[i] < e[i-1] ln 2 / i + 1 < 2. Take the
    // first i >= 1 at which the computed term is 0. The exact term i is below 2 units. So the sum
    // of term i and all later terms is below 2 / (1 - ln 2) < 7 units.
    let mut sum = UBig::ONE << w;
    let mut term = sum.clone();
    let mut count = 0u64;
    loop {
        count += 1;
        term *= &s;
        term >>= w;
        term /= count;
        if term.is_zero() {
            break;
        }
        sum += &term;
    }
    // Let d be `drift`, a bound on the error of s in units. This error multiplies exp(s) by a
    // factor from 1 - 2 d 2^-w to 1 + 2 d 2^-w. Here exp(s) < 2.1. So this error changes the result
    // by less than 5 d units.
    let error = UBig::from(2 * count + 8) + UBig::from(drift) * UBig::from(5u8);
    let centre = UBig::from(STEPS + j);
    let lo = (&sum - (&error).min(&sum)) * &centre;
    let hi = (sum + error) * centre;
    // Here hi - lo < 2^(w + 7 - bits), so the width is at most 2 after rounding outward.
    let drop = w + 7 - bits;
    (&lo >> drop, ceil_shift_unsigned(&hi, drop), k)
}

/// Shift right by `drop` bits, rounding toward plus infinity.
pub fn ceil_shift(value: &IBig, drop: usize) -> IBig {
    -(-value >> drop)
}

/// The number of steps of the table of logarithms. The table has the logarithms of `1 + j / STEPS`
/// for `0 <= j <= STEPS`.
const STEPS: usize = 128;

/// The largest working precision, in bits, for which the table is used.
const CACHE_BITS: usize = 640;

fn int_bits(value: u128) -> usize {
    (u128::BITS - value.leading_zeros()) as usize
}

fn ceil_shift_unsigned(value: &UBig, drop: usize) -> UBig {
    let inexact = value.trailing_zeros().is_some_and(|zeros| zeros < drop);
    (value >> drop) + UBig::from(inexact)
}

/// Enclose `k ln 2` in units of `2^-w`. The width of the enclosure is `2 |k|`.
fn scaled_ln_2(k: i128, w: usize) -> (IBig, IBig) {
    if k == 0 {
        return (IBig::ZERO, IBig::ZERO);
    }
    let low = IBig::from(ln_centre(STEPS, w)) * k;
    let high = &low + 2 * IBig::from(k);
    if k > 0 { (low, high) } else { (high, low) }
}

/// Return a lower bound on `2^w ln(1 + j / 128)`. The bound is too small by less than 2.
fn ln_centre(j: usize, w: usize) -> UBig {
    static TABLE: [OnceLock<UBig>; STEPS + 1] = [const { OnceLock::new() }; STEPS + 1];
    if j == 0 {
        return UBig::ZERO;
    }
    match TABLE.get(j) {
        Some(entry) if w <= CACHE_BITS => {
            entry.get_or_init(|| compute(j, CACHE_BITS)) >> (CACHE_BITS - w)
        }
        _ => compute(j, w),
    }
}

/// Return a lower bound on `2^w ln(1 + j / 128)`. The bound is too small by less than `1 + 2^-3`.
///
/// Sum the series of `ln(1 + j/128) = 2 atanh(z)` with `z = j / (256 + j) <= 1/3`. Power `i` is
/// `z^(2i + 1)`, which is the product of the previous power and the small fraction `z^2`. Let the
/// computed power `i` be too small by `e[i]` units of `2^-(w + guard)`. Then `e[0] < 1` and
/// `e[i] < e[i-1] / 9 + 1 < 2`. Term `i` is power `i` divided by `2i + 1`. So each computed term is
/// too small by less than 2. There are `n <= w / 3 + 2` computed terms. The remaining terms sum to
/// less than 3. The sum is doubled, so its error is less than `2 (2n + 3)` units of
/// `2^-(w + guard)`. Here `w >= CACHE_BITS`. So the error is less than `2^-3` units of `2^-w`. The
/// last shift truncates by less than one unit of `2^-w`.
fn compute(j: usize, w: usize) -> UBig {
    let guard = 4 + int_bits(2 * w as u128 + 64);
    let (j, denominator) = (j as u64, (2 * STEPS + j) as u64);
    let mut power = (UBig::from(j) << (w + guard)) / denominator;
    let mut sum = power.clone();
    let mut odd = 1u64;
    while !power.is_zero() {
        power *= j * j;
        power /= denominator * denominator;
        odd += 2;
        sum += &power / odd;
    }
    (sum << 1usize) >> guard
}

/// Sum the series of `2^w atanh(z)` for `2^w z` in `[arg, arg + 1)` and `z <= 1 / 3`.
///
/// Return `(sum, error)` such that the exact value is in `[sum, sum + error]`. All truncations are
/// downward. Let `p[i]` be the computed value of `2^w z^(2i + 1)`, and let `e[i]` be the difference
/// between the exact and the computed value. The computed square of `z` is too small by less than
/// `2z + 1 <= 5/3`. So `e[0] < 1` and `e[i] < e[i-1] / 9 + (5/3) z^(2i - 1) + 1 < 2`. The term
/// `p[i] / (2i + 1)` is too small by less than 1 for `i = 0`, and by less than `2/3 + 1 < 2` for
/// larger `i`. At the first `p[i]` that is 0, the exact power is below 2. The remaining terms then
/// sum to less than `2 * 9/8 < 3`.
fn atanh(arg: UBig, w: usize) -> (UBig, u64) {
    let square = (&arg * &arg) >> w;
    let mut sum = arg.clone();
    let mut power = arg;
    let mut odd = 1u64;
    loop {
        power *= &square;
        power >>= w;
        odd += 2;
        if power.is_zero() {
            break;
        }
        sum += &power / odd;
    }
    // Each of the (odd - 1) / 2 terms is too small by less than 2. The remaining terms sum to less
    // than 3.
    (sum, odd + 2)
}

/// Write `r` in `[0, ln 2)` as `ln(1 + j / 128) + s` with `s >= 0`. If the table is used, choose
/// `j` such that `s` is small. Otherwise, `j` is 0.
fn subtract_centre(r: UBig, w: usize) -> (usize, UBig) {
    if w > CACHE_BITS {
        return (0, r);
    }
    // The float gives only an estimate of j. If the estimate is too large, the loop lowers j until
    // s is nonnegative.
    let approximate = u32::try_from(&r >> (w - 16)).unwrap_or(0) as f64 / 65536.0;
    #[allow(clippy::disallowed_methods, reason = "a wrong guess costs time, not correctness")]
    let guess = (approximate.exp_m1() * STEPS as f64) as usize;
    let mut j = guess.min(STEPS - 1);
    loop {
        let ln_centre = ln_centre(j, w);
        if ln_centre <= r {
            return (j, r - ln_centre);
        }
        j = j.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
