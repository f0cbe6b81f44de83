//! Certified upper bounds on the tails of additive noise.
//!
//! Each of the four functions bounds `P[Z >= t]` for noise `Z`. Each bound is for one tail, which
//! includes `Z = t`. For the continuous distributions and a scale above 0, `P[Z > t]` equals
//! `P[Z >= t]`. For the discrete distributions, `Z` is an integer, and
//! `P[Z > t] = P[Z >= floor(t) + 1]`. A bound is a float that is never below the probability. If
//! the probability is positive but below all positive floats, the bound is at least the smallest
//! positive float. By symmetry, the bound also holds for `P[Z <= -t]`. `P[|Z| >= t]` is at most
//! twice the bound. The functions for discrete noise first round `t` up to an integer, and use this
//! integer in place of `t`. In all four functions, the bound is 1 if `t` (for discrete noise, the
//! rounded `t`) is below 0. If the scale is 0, the noise is always 0. Then the bound is 1 for
//! `t <= 0`, and 0 for `t > 0`.

use dashu_int::ops::UnsignedAbs;
use dashu_int::{IBig, UBig};

use opendp_core::arith::cast::{ratio_to_f64_up, to_f64_up};
use opendp_core::arith::{Directed, DirectedFloat, fixed, shown};
use opendp_core::{Error, Result};

use crate::Scale;
use crate::samplers::Dyadic;

/// The number of bits with which exponentials are computed.
const BITS: usize = 128;
/// The number of binary digits after the binary point, for arguments and sums.
const FRACTION: usize = 192;
/// `2^128 / sqrt(2 pi)`, rounded down.
const DENSITY: u128 = 0x6621_14cf_50d9_4234_3f2c_f140_2eae_38bf;
/// If the ratio of `t` to the scale is at least this number, a Gaussian tail is below all positive
/// floats.
const GAUSSIAN_END: f64 = 40.0;
/// If the ratio of `t` to the scale is at least this number, a Laplace tail is below all positive
/// floats.
const LAPLACE_END: f64 = 800.0;
/// The largest scale for which the bound on the discrete Gaussian tail is computed as a sum of
/// weights.
const SUMMED: f64 = 256.0;

/// Return an upper bound on `P[Z >= t]` for `Z` of density `exp(-|z| / scale) / (2 scale)`. For
/// `t >= 0`, this probability is `exp(-t / scale) / 2`. For `t < 0`, the bound is 1.
///
/// # Errors
/// `InvalidDistance` when `t` is not finite.
///
/// ```
/// use opendp_measurements::{Scale, tails::laplacian_tail};
/// assert_eq!(laplacian_tail(Scale::new(1.0)?, 4.0)?, 0.009157819444367091);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn laplacian_tail(scale: Scale, t: f64) -> Result<f64> {
    if let Some(bound) = at_ends(scale, t, LAPLACE_END)? {
        return Ok(bound);
    }
    let (_, above, k) = fixed::exp_scaled(&-ratio(t, scale.value()), FRACTION, BITS);
    Ok(to_f64_up(&above.into(), k - BITS as i64 - 1))
}

/// Return an upper bound on `P[Z >= t]` for integers `Z` of probability proportional to
/// `exp(-|z| / scale)`.
///
/// Let `q = exp(-1 / scale)` and `m = ceil(t) >= 0`. The tail is `q^m / (1 + q)`, which is the sum
/// of `q^z (1 - q) / (1 + q)` over all integers `z >= m`.
///
/// # Errors
/// `InvalidDistance` when `t` is not finite.
///
/// ```
/// use opendp_measurements::{Scale, tails::discrete_laplacian_tail};
/// assert_eq!(discrete_laplacian_tail(Scale::new(1.0)?, 4.0)?, 0.013389804932698453);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn discrete_laplacian_tail(scale: Scale, t: f64) -> Result<f64> {
    let (m, s) = (t.ceil(), scale.value());
    if let Some(bound) = at_ends(scale, m, LAPLACE_END)? {
        return Ok(bound);
    }
    // `q` is rounded down, so the divisor `1 + q` is rounded down, too.
    let q = fixed::exp(&-(ratio(1.0, s) + IBig::ONE), FRACTION, BITS).0;
    let (_, above, k) = fixed::exp_scaled(&-ratio(m, s), FRACTION, BITS);
    Ok(quotient_up(above, (UBig::ONE << BITS) + q, k))
}

/// Return an upper bound on `P[Z >= t]` for normal `Z` with standard deviation `scale`.
///
/// The bound is computed with at least 100 bits and then rounded up to a float.
///
/// # Proof
/// For `t < 0`, the bound is 1. Now let `t >= 0`. Let `x` be `t / scale`, rounded down. This
/// rounding can only raise the tail. Let `phi` be the standard normal density and `Q` the tail at
/// `x`.
///
/// *For `x < 4`*, `Q = 1/2 - phi(x) sum_n x^(2n+1) / (2n+1)!!` over all `n >= 0` (Abramowitz,
/// Stegun 1964, 26.2.11). Here `(2n+1)!!` is the product of the odd numbers from 1 to `2n + 1`. All
/// terms are at least 0. The computation uses the lower end of the enclosure of `phi(x)`, rounds
/// each term down, and adds only finitely many terms. So the result is rounded up.
///
/// *For `x >= 4`*, let `h_n = integral_0^inf (u^n / n!) phi(x + u) du`, and `h_(-1) = phi(x)`.
/// Integration by parts gives `h_(n-1) = x h_n + (n + 1) h_(n+1)`. So the ratios
/// `g_n = h_(n-1) / h_n` satisfy `g_n = x + (n + 1) / g_(n+1)` and `g_n > x`. Also,
/// `Q = h_0 = phi(x) / g_0`. Begin at an index `N`. The lower bound `x` of `g_N` gives an upper
/// bound of `g_(N-1)`, then a lower bound of `g_(N-2)`, and so on. Each step is rounded in the
/// direction of its bound. For even `N`, the last step bounds `g_0` from below.
///
/// For `x >= 40`, `Q <= exp(-x^2 / 2) <= exp(-800)` is below all positive floats.
///
/// # Errors
/// `InvalidDistance` when `t` is not finite.
///
/// ```
/// use opendp_measurements::{Scale, tails::gaussian_tail};
/// assert_eq!(gaussian_tail(Scale::new(1.0)?, 8.0)?, 6.220960574271785e-16);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn gaussian_tail(scale: Scale, t: f64) -> Result<f64> {
    if let Some(bound) = at_ends(scale, t, GAUSSIAN_END)? {
        return Ok(bound);
    }
    let x = ratio(t, scale.value());
    let (below, above, k) = fixed::exp_scaled(&-(&x * &x), 2 * FRACTION + 1, BITS);
    if x < IBig::from(4) << FRACTION {
        // `exp_scaled` returns exp(-x^2 / 2) in units of 2^(k - BITS). So both terms of the
        // difference below are in units of 2^(k - 2 BITS - FRACTION). The number exp(-x^2 / 2) is
        // at most 1. So k is not positive, and 1/2 is a whole number of units.
        let exponent = k - (2 * BITS + FRACTION) as i64;
        let half = IBig::ONE << usize::try_from(-exponent - 1).unwrap_or(0);
        return Ok(to_f64_up(&(half - odd_series(&x) * below * IBig::from(DENSITY)), exponent));
    }
    let weight = (UBig::from(DENSITY) + 1_u8) * above;
    // `weight` is in units of 2^(k - 2 BITS), and `divisor(x)` is in units of 2^-FRACTION.
    Ok(quotient_up(weight << FRACTION, divisor(x.unsigned_abs()) << (2 * BITS), k))
}

/// Return an upper bound on `P[Z >= t]` for integers `Z` of probability proportional to
/// `exp(-z^2 / (2 scale^2))`.
///
/// Up to a scale of 256, the bound is computed with at least 100 bits and then rounded up to a
/// float. Above 256, the bound exceeds the tail by a relative amount below `2^-14`. For a scale
/// above 256, the computation of the bound takes no longer than for the scale 256.
///
/// # Proof
/// Let `m = ceil(t) >= 0`, `s` the scale, `w(z) = exp(-z^2 / (2 s^2))`, and `W` the sum of all
/// weights. By Poisson's summation formula, `W = s sqrt(2 pi) (1 + 2 sum_j exp(-2 (pi s j)^2))`,
/// with `j` from 1 to infinity. So `W >= s sqrt(2 pi)`. Also, `W >= w(0) = 1`.
///
/// *Up to `s = 256`.* The first weight is `w(m)`. Each later weight is the previous weight times a
/// ratio. Each later ratio is the previous ratio times `exp(-1 / s^2)`. All weights and ratios are
/// rounded up. The ratios decrease. So the sum of the weights after a weight `w` with ratio `r < 1`
/// is at most `w r / (1 - r)`. For `s < 4`, the sum of the first weights, rounded down, is a lower
/// bound of `W`. For `s >= 4`, `s sqrt(2 pi)` is a lower bound of `W`. For these `s`, the relative
/// difference between this bound and `W` is less than `2^-400`.
///
/// *Above `s = 256`.* By the formula of Euler and Maclaurin, the sum of `w(z)` over `z >= m` is
/// `integral_m^inf w + w(m) / 2 - w'(m) / 12 + R`. Let `B_3` be the third Bernoulli polynomial on
/// `[0, 1]`, with `max |B_3| = sqrt(3) / 36`. Then
/// `|R| <= (max |B_3| / 6) * integral_m^inf |w'''|`. With `x = m / s`, `-w'(m) = x w(m) / s`. The
/// integral of `|w'''|` over `z >= m` is the total variation over `z >= m` of
/// `w''(z) = ((z / s)^2 - 1) w(z) / s^2`. The function `w''` increases from `-1 / s^2` at 0 to its
/// maximum `2 exp(-3/2) / s^2` at `sqrt(3) s`, and then decreases to 0. So the variation over all
/// `z >= 0` is `(1 + 4 exp(-3/2)) / s^2`. For `m >= sqrt(3) s`, the variation over all `z >= m` is
/// `w''(m)`. The whole sum is divided by `s sqrt(2 pi)`, so the first term becomes the Gaussian
/// tail.
///
/// *For `x = m / s >= 40`*, the tail is below all positive floats. Indeed,
/// `w(z) <= w(m) exp(-(z - m) m / s^2)` for `z >= m`. So the tail is at most
/// `w(m) / (W (1 - exp(-x / s)))`. Here `w(m) <= exp(-800)`, and
/// `W (1 - exp(-40 / s)) >= max(1, 2.5 s) (1 - exp(-40 / s)) > 1/2` for every `s`.
///
/// # Errors
/// `InvalidDistance` when `t` is not finite.
///
/// ```
/// use opendp_measurements::{Scale, tails::discrete_gaussian_tail};
/// let tail = discrete_gaussian_tail(Scale::new(1.0)?, 8.0)?;
/// assert_eq!(tail, 5.053299110804104e-15);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn discrete_gaussian_tail(scale: Scale, t: f64) -> Result<f64> {
    let (m, s) = (t.ceil(), scale.value());
    if let Some(bound) = at_ends(scale, m, GAUSSIAN_END)? {
        return Ok(bound);
    }
    if SUMMED < s {
        return integrated(scale, m);
    }
    let x = ratio(m, s);
    let (_, first, k) = fixed::exp_scaled(&-(&x * &x), 2 * FRACTION + 1, BITS);
    // m is at most 40 s, and s is at most 256, so m is at most 10240.
    let (inverse, odd) = (inverse_square(s), 2 * m as u64 + 1);
    let above = |numerator: IBig| fixed::exp(&-numerator, FRACTION + 1, BITS).1;
    let (mut ratio, change) = (above(&inverse * odd), above(inverse * 2));
    let (mut weight, mut sum) = (first, UBig::ZERO);
    while weight > UBig::ONE << (BITS / 2) {
        sum += &weight;
        weight = ((weight * &ratio) >> BITS) + UBig::ONE;
        ratio = ((ratio * &change) >> BITS) + UBig::ONE;
    }
    let rest = (weight << BITS) / ((UBig::ONE << BITS) - ratio) + UBig::ONE;
    Ok(quotient_up(sum + rest, all_weights(s), k).min(1.0))
}

/// Return the bound on a tail if `t` or the scale is extreme, and `None` otherwise. If `t` is not
/// finite, return an error. If `t` is below 0, the bound is 1. If the scale is 0, the bound is 1
/// for `t = 0`, and 0 for `t > 0`. If `t` divided by the scale is at least `end`, the tail is below
/// all positive floats. Then the bound is the least positive float.
fn at_ends(scale: Scale, t: f64, end: f64) -> Result<Option<f64>> {
    if !t.is_finite() {
        let reason = format!("t: expected a finite number, found {}", shown(t));
        return Err(Error::InvalidDistance(reason));
    }
    let s = scale.value();
    if t < 0.0 {
        Ok(Some(1.0))
    } else if s == 0.0 {
        Ok(Some(if t == 0.0 { 1.0 } else { 0.0 }))
    } else if t.neg_inf_div(s).map_or(true, |ratio| end <= ratio) {
        Ok(Some(f64::from_bits(1)))
    } else {
        Ok(None)
    }
}

/// Compute `2^FRACTION t / s`, rounded down, for `t >= 0` and `s > 0`.
fn ratio(t: f64, s: f64) -> IBig {
    let (t, s) = (Dyadic::new(t), Dyadic::new(s));
    shifted_quotient(t.mantissa.into(), s.mantissa.into(), t.exponent - s.exponent)
}
/// Compute `2^FRACTION / s^2`, rounded down.
fn inverse_square(s: f64) -> IBig {
    let s = Dyadic::new(s);
    let mantissa = UBig::from(s.mantissa);
    shifted_quotient(UBig::ONE, &mantissa * &mantissa, -2 * s.exponent)
}
/// Compute `2^(FRACTION + exponent) dividend / divisor`, rounded down.
fn shifted_quotient(dividend: UBig, divisor: UBig, exponent: i32) -> IBig {
    let bits = exponent.unsigned_abs() as usize;
    let dividend = dividend << FRACTION;
    let quotient =
        if exponent < 0 { dividend / (divisor << bits) } else { (dividend << bits) / divisor };
    quotient.into()
}

/// Compute `2^k dividend / divisor`, rounded up to a float.
fn quotient_up(dividend: UBig, divisor: UBig, k: i64) -> f64 {
    let bits = usize::try_from(k.unsigned_abs()).unwrap_or(0);
    if k < 0 {
        ratio_to_f64_up(&dividend.into(), &(divisor << bits))
    } else {
        ratio_to_f64_up(&(dividend << bits).into(), &divisor)
    }
}

/// Compute the sum `sum_n x^(2n+1) / (2n+1)!!` of [`gaussian_tail`], rounded down, for `x >= 0`.
/// `x` and the sum are in units of `2^-FRACTION`.
fn odd_series(x: &IBig) -> IBig {
    let square = x * x;
    let (mut term, mut sum, mut odd) = (x.clone(), IBig::ZERO, 1_u32);
    while term != IBig::ZERO {
        sum += &term;
        odd += 2;
        term = ((term * &square) >> (2 * FRACTION)) / odd;
    }
    sum
}
/// Compute `g_0` of the proof at [`gaussian_tail`], rounded down, in units of `2^-FRACTION`.
fn divisor(x: UBig) -> UBig {
    // `x` is at least 4. At x = 4, this number of steps gives a relative error of less than 2^-102.
    // At larger x, the error is smaller.
    const STEPS: u32 = 100;
    let mut ratio = x.clone();
    for n in (0..STEPS).rev() {
        let rest = (UBig::from(n + 1) << (2 * FRACTION)) / ratio;
        // Ratios `g_n` with an odd index `n` are rounded up.
        ratio = &x + rest + UBig::from(n % 2);
    }
    ratio
}

/// Compute a lower bound on `W` in units of `2^-BITS`, for `s <= SUMMED`. Here `W` is the sum of
/// the weights `exp(-z^2 / (2 s^2))` of all integers `z`.
fn all_weights(s: f64) -> UBig {
    if 4.0 <= s {
        // The lower bound on `W` is s sqrt(2 pi). DENSITY + 1 is above 2^BITS / sqrt(2 pi), so the
        // quotient is rounded down.
        let s = Dyadic::new(s);
        let bits = (2 * BITS).saturating_sub(s.exponent.unsigned_abs() as usize);
        return (UBig::from(s.mantissa) << bits) / (UBig::from(DENSITY) + 1_u8);
    }
    let inverse = inverse_square(s) + IBig::ONE;
    let below = |numerator: IBig| fixed::exp(&-numerator, FRACTION + 1, BITS).0;
    let (mut ratio, change) = (below(inverse.clone()), below(inverse * 2));
    let (mut weight, mut sum) = (UBig::ONE << BITS, UBig::ZERO);
    while !weight.is_zero() {
        weight = (weight * &ratio) >> BITS;
        ratio = (ratio * &change) >> BITS;
        sum += &weight;
    }
    (UBig::ONE << BITS) + (sum << 1_usize)
}

/// Compute the upper bound on the discrete Gaussian tail by the formula of Euler and Maclaurin, for
/// an integer `m >= 0`.
fn integrated(scale: Scale, m: f64) -> Result<f64> {
    // REMAINDER is sqrt(3) / 216 = 0.008018..., rounded up. VARIATION is 1 + 4 exp(-3/2) =
    // 1.89252..., rounded up. ROOT is sqrt(2 pi) = 2.5066282..., rounded down.
    const REMAINDER: f64 = 0.008_019;
    const VARIATION: f64 = 1.892_53;
    const ROOT: f64 = 2.506_628;
    let s = scale.value();
    let (low, high) = (m.neg_inf_div(s)?, m.inf_div(s)?);
    let weight = (0.0 - low.neg_inf_mul(low)? / 2.0).inf_exp()?;
    let variation =
        if 1.732_1 < low { high.inf_mul(high)?.inf_sub(1.0)?.inf_mul(weight)? } else { VARIATION };
    let ends = weight.inf_mul(high.inf_div(s)?.inf_div(12.0)?.inf_add(0.5)?)?;
    let remainder = variation.inf_mul(REMAINDER)?.inf_div(s)?.inf_div(s)?;
    let rest = ends.inf_add(remainder)?.inf_div(ROOT)?.inf_div(s)?;
    Ok(gaussian_tail(scale, m)?.inf_add(rest)?.min(1.0))
}

#[cfg(test)]
mod tests;
