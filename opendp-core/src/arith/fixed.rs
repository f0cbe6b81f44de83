//! Certified fixed-point enclosures of the logarithm and the exponential.
//!
//! Every value is an integer that counts units of `2^-bits`. Intermediate results carry guard bits.
//! Every truncation is counted, and the count is added to the upper bound. The only floating-point
//! operation picks a table entry; the result is correct for every choice.

use std::sync::OnceLock;

use dashu_int::ops::{BitTest, DivRemEuclid};
use dashu_int::{IBig, Sign, UBig};

/// The upper bound on the arguments of [`exp`].
pub const EXP_MAX: i64 = 20_000;

/// Enclose the natural logarithm of `mantissa * 2^exponent`.
///
/// Return integers with `lo <= 2^bits * ln(mantissa * 2^exponent) <= hi` and `hi - lo <= 2`.
/// If `mantissa * 2^exponent` is 1, the enclosure is exactly `(0, 0)`.
///
/// `mantissa` must be positive: `ln(0)` is minus infinity, so no enclosure exists. Debug builds
/// assert this; release builds use `2^(-2^63)` in place of zero, which keeps `hi` an upper bound.
pub fn ln(mantissa: &UBig, exponent: i64, bits: usize) -> (IBig, IBig) {
    debug_assert!(!mantissa.is_zero(), "the logarithm of zero has no enclosure");
    let Some(top) = mantissa.bit_len().checked_sub(1) else {
        return ln(&UBig::ONE, i64::MIN, bits);
    };
    // The argument is f * 2^k with f in [1, 2).
    let mut k = exponent as i128 + top as i128;
    // The guard bits absorb the 2|k| units that k multiples of ln 2 contribute, and 4n + 7 units
    // from everything else, where n <= w / 3 + 2 is the number of series terms.
    let w = bits + 16 + int_bits(k.unsigned_abs()) + int_bits(bits as u128);

    // f in units of 2^-w. Because f >= 1, the dropped low bits contribute less than one unit to ln
    // f.
    let (f, truncated) = if top <= w {
        (mantissa << (w - top), false)
    } else {
        let drop = top - w;
        (mantissa >> drop, mantissa.trailing_zeros().is_some_and(|zeros| zeros < drop))
    };

    // The nearest centre c = 1 + j/128 leaves |f - c| <= 2^-8, or 1/2 when there is no table.
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
    // hi - lo < 2^(w - bits) so far, so at most 2 after rounding outward.
    (lo >> (w - bits), ceil_shift(&hi, w - bits))
}

/// Enclose the exponential of `x = numerator / 2^fraction_bits`.
///
/// Return integers with `lo <= 2^bits * exp(x) <= hi` and `hi - lo <= 2`. The enclosure of `exp(0)`
/// is exact. When `2^bits * exp(x) < 1 / 2` is certain, the enclosure may be `(0, 1)`.
///
/// The domain is `x <= EXP_MAX`: the result has about `bits + 1.45 x` bits. Debug builds assert it.
/// Outside the domain, return the enclosure of `exp(EXP_MAX)`: then only `lo` is a bound.
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
    // The binary exponent k of exp(x) is at most x / ln 2 < 1.5 x, or at most x when x < 0.
    let k_max = if floor >= 0 { floor + floor / 2 + 2 } else { floor + 1 };
    let relative_bits = usize::try_from(bits as i64 + k_max).unwrap_or(0);
    let (lo, hi, k) = exp_scaled(numerator, fraction_bits, relative_bits);
    // relative_bits >= bits + k_max >= bits + k, so the shift is never to the left.
    let drop = usize::try_from(relative_bits as i64 - bits as i64 - k).unwrap_or(0);
    (&lo >> drop, ceil_shift_unsigned(&hi, drop))
}

/// Enclose `exp(numerator / 2^fraction_bits)` relative to its magnitude.
///
/// Return `(lo, hi, k)` with `lo <= 2^(bits - k) * exp(x) <= hi`, `hi - lo <= 2` and
/// `2^(k - 1) < exp(x) < 2^(k + 2)`, where `x` is the argument. The domain is `|x| < 2^40`, so `k`
/// is found exactly.
pub fn exp_scaled(numerator: &IBig, fraction_bits: usize, bits: usize) -> (UBig, UBig, i64) {
    if numerator.is_zero() {
        let one = UBig::ONE << bits;
        return (one.clone(), one, 0);
    }
    let floor = numerator >> fraction_bits;
    debug_assert!(floor.bit_len() <= 40, "the argument of exp_scaled is out of range");
    // With |k| <= 1.5 |x| + 2 and n <= w terms, the guard absorbs 4 (10 |k| + 2n + 18) units.
    let w = bits + 16 + floor.bit_len() + 2 + int_bits(bits as u128 + 64);

    // x in units of 2^-w. It is too small by less than one unit.
    let x = if fraction_bits <= w {
        numerator << (w - fraction_bits)
    } else {
        numerator >> (fraction_bits - w)
    };
    // x = k ln 2 + r with r in [0, ln 2), computed with the lower bound of ln 2.
    let (k, r) = x.div_rem_euclid(IBig::from(ln_centre(STEPS, w)));
    let k = i64::try_from(k).unwrap_or(0);
    let (j, s) = subtract_centre(r, w);
    // The true remainder differs from s by less than one unit from x, two per multiple of ln 2
    // and two from ln c.
    let drift = 2 * k.unsigned_abs() + 2;

    // Taylor series of exp(s), 0 <= s < 2^w ln 2, all truncations downward. With t[i] short of the
    // exact term by e[i]: e[0] = 0 and e[i] < e[i-1] ln 2 / i + 1 < 2. At the first vanishing term
    // (i >= 1) the exact one is < 2, and the tail is below 2 / (1 - ln 2) < 7 units.
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
    // A drift of d units multiplies exp(s) < 2.1 by 1 +- 2 d 2^-w at most: under 5 d units.
    let error = UBig::from(2 * count + 8) + UBig::from(drift) * UBig::from(5u8);
    let centre = UBig::from(STEPS + j);
    let lo = (&sum - (&error).min(&sum)) * &centre;
    let hi = (sum + error) * centre;
    // hi - lo < 2^(w + 7 - bits) so far, so at most 2 after rounding outward.
    let drop = w + 7 - bits;
    (&lo >> drop, ceil_shift_unsigned(&hi, drop), k)
}

/// Shift right by `drop` bits, rounding toward plus infinity.
pub fn ceil_shift(value: &IBig, drop: usize) -> IBig {
    -(-value >> drop)
}

/// The number of steps of the table, which holds logarithms of `1 + j / STEPS` for
/// `0 <= j <= STEPS`.
const STEPS: usize = 128;

/// The largest working precision that the table serves.
const CACHE_BITS: usize = 640;

fn int_bits(value: u128) -> usize {
    (u128::BITS - value.leading_zeros()) as usize
}

fn ceil_shift_unsigned(value: &UBig, drop: usize) -> UBig {
    let inexact = value.trailing_zeros().is_some_and(|zeros| zeros < drop);
    (value >> drop) + UBig::from(inexact)
}

/// Enclose `k ln 2` in units of `2^-w`, with a width of `2 |k|`.
fn scaled_ln_2(k: i128, w: usize) -> (IBig, IBig) {
    if k == 0 {
        return (IBig::ZERO, IBig::ZERO);
    }
    let low = IBig::from(ln_centre(STEPS, w)) * k;
    let high = &low + 2 * IBig::from(k);
    if k > 0 { (low, high) } else { (high, low) }
}

/// Bound `2^w ln(1 + j / 128)` from below. The shortfall is less than 2.
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

/// Bound `2^w ln(1 + j / 128)` from below. The shortfall is less than `1 + 2^-3`.
///
/// Sum `ln(1 + j/128) = 2 atanh(z)` with `z = j / (256 + j) <= 1/3`. Multiply by the small fraction
/// `z^2` instead of a long one. Each power is short by `e[0] < 1` and `e[i] < e[i-1] / 9 + 1 < 2`,
/// so each of `n <= w / 3 + 2` terms is short by less than 2 and the tail is below 3. The guard
/// bits reduce these `2 (2n + 3)` units to an eighth of a unit.
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
/// Return `(sum, error)` with the exact value in `[sum, sum + error]`. All truncations are
/// downward. Write `p[i]` for the computed `2^w z^(2i + 1)` and `e[i]` for its shortfall.
/// The square `q` of `z` is short by less than `2z + 1 <= 5/3`, so `e[0] < 1` and
/// `e[i] < e[i-1] / 9 + (5/3) z^(2i - 1) + 1 < 2`. The term `p[i] / (2i + 1)` is short by less
/// than 1 for `i = 0` and `2/3 + 1 < 2` afterwards. At the first vanishing `p[i]` the exact power
/// is below 2 and the remaining terms sum to less than `2 * 9/8 < 3`.
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
    // (odd - 1) / 2 terms were summed, each short by less than 2, and the tail adds less than 3.
    (sum, odd + 2)
}

/// Split `r` in `[0, ln 2)` as `ln(1 + j / 128) + s` with `s >= 0` as small as the table allows.
fn subtract_centre(r: UBig, w: usize) -> (usize, UBig) {
    if w > CACHE_BITS {
        return (0, r);
    }
    // The float gives only an estimate of j. The loop makes s nonnegative for every estimate.
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
