//! Exact discrete Gaussian noise at any float scale.

use super::{
    discrete_laplace::{big_parts, discrete_laplace, exact_floor, signed},
    dyadic::Dyadic,
    exponential::LazyExponential,
    logarithm::neg_ln,
    strips::{LazyPoint, Pick, ROUNDED, Strips, accept},
};
use dashu_int::{IBig, UBig};
use opendp_core::random::{NoEntropy, RandomSource};

/// Draw an integer `k` with probability proportional to `exp(-k^2 / (2 sigma^2))`.
///
/// Return whether `k` is negative, and `|k|` saturated at `u128::MAX`: see
/// [`add_noise`](super::add_noise) for why no sum of at most 128 bits can tell the difference.
///
/// From sigma 1 on, let `r = floor(sigma x + 1/2)` for a point `x` uniform in one of the `Strips`
/// of an envelope of `e^(-x^2 / 2)`. It is accepted if a uniform `V` is below the quotient of
/// `e^(-r^2 / (2 sigma^2))` and the envelope at `x`. The points that round to `r` make up an
/// interval of the same length for every `r > 0`, and of half this length for 0. The points
/// of each strip are accepted with a probability inversely proportional to the envelope there. A
/// random sign then gives every integer its law. The envelope is high enough because `r / sigma` is
/// within `1 / (2 sigma)` of `x`.
///
/// Below sigma 1, a candidate `y` from the discrete Laplace distribution of scale `t` is accepted
/// with probability `exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2))` and otherwise replaced. Since
///
/// `|y| / t + (|y| - sigma^2 / t)^2 / (2 sigma^2) = y^2 / (2 sigma^2) + sigma^2 / (2 t^2)`,
///
/// the accepted integers have the stated law, for every `t > 0` (Canonne, Kamath, Steinke 2020,
/// "The discrete Gaussian for differential privacy", arXiv:2004.00010, algorithm 3). Here `t` is
/// the larger of `sigma` and 1, which accepts more often than their `floor(sigma) + 1`.
///
/// # Exactness
///
/// `sigma` is the rational number that the float represents, and the probabilities are exact for
/// every one from `5e-324` to `f64::MAX`. The candidate is exact, and it is accepted if a standard
/// exponential variable `E` exceeds the rational exponent, because `P[E > x] = e^-x`. Float
/// enclosures of both decide when they are disjoint. Otherwise exact integers decide, after as many
/// more digits of `E` as needed.
///
/// Sigma 0 gives 0 and draws nothing. A negative sigma means its magnitude. An infinite one or NaN
/// means some number above `f64::MAX`, so a mistake adds too much noise rather than none.
///
/// Many draws of one small sigma are faster from an [`IntegerTable`](super::IntegerTable).
///
/// Cost: about 20 ns and two words from sigma 16 on, and twice as much below 16. From `2^50` on,
/// integers decide everything, which takes some microseconds, and 0.1 ms at `1e300`.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn discrete_gaussian<S: RandomSource>(
    sigma: f64,
    source: &mut S,
) -> Result<(bool, u128), NoEntropy> {
    if sigma == 0.0 {
        return Ok((false, 0));
    }
    let sigma = sigma.abs();
    // In this form of the comparison NaN counts as a large number.
    let small = sigma < FAST_LIMIT;
    if !small {
        return large(sigma, source);
    }
    let [fine, middle, coarse] = &*ROUNDED;
    match sigma {
        16.0.. => return rounded(sigma, fine, source),
        4.0.. => return rounded(sigma, middle, source),
        1.0.. => return rounded(sigma, coarse, source),
        _ => {}
    }
    loop {
        let (negative, magnitude) = discrete_laplace(1.0, source)?;
        if accept_candidate(sigma, &UBig::from(magnitude), source)? {
            return Ok((negative, magnitude));
        }
    }
}

/// From here on integers handle candidates and decisions.
const FAST_LIMIT: f64 = (1_u64 << 50) as f64;

/// Draw at a sigma from 1 to [`FAST_LIMIT`], by rounding points of strips.
///
/// Rounding moves a point by at most `1 / (2 sigma)`, which the strips allow for.
///
/// # Bound
///
/// With `n <= 2^61 x <= n + 1`, the products of the mantissa of sigma with both ends are exact, so
/// `2 sigma x` is between the two shifted products. If both have the same floor, so has
/// `2 sigma x`. Then `floor(sigma x + 1/2) = floor((floor(2 sigma x) + 1) / 2)`. The terms of the
/// exponent `(r / sigma)^2 / 2` are exact. Its computation rounds twice, and the first rounding
/// error is squared with the quotient. So the relative error is at most `3.1v`.
#[inline]
fn rounded<S: RandomSource>(
    sigma: f64,
    strips: &Strips,
    source: &mut S,
) -> Result<(bool, u128), NoEntropy> {
    let parts = Dyadic::new(sigma);
    let places = (60 - parts.exponent).clamp(0, 127);
    loop {
        let pick = strips.pick(source)?;
        let digit = source.word()?;
        if let Some(n) = pick.point(digit).filter(|_| S::BITS == 64) {
            let near = u128::from(parts.mantissa) * u128::from(n);
            let (low, high) = (near >> places, (near + u128::from(parts.mantissa)) >> places);
            if low == high {
                let magnitude = (low + 1) >> 1;
                if pick.surely {
                    return Ok((pick.negative, magnitude));
                }
                let d = magnitude as u64 as f64 / sigma;
                let exponent = 0.5 * (d * d);
                let bounds = (exponent * (1.0 - SLACK), exponent * (1.0 + SLACK));
                match strips.judge(&pick, bounds) {
                    Some(true) => return Ok((pick.negative, magnitude)),
                    Some(false) => continue,
                    None => {}
                }
            }
        }
        if let Some(magnitude) = exactly_rounded(sigma, strips, &pick, digit, source)? {
            return Ok((pick.negative, u128::try_from(magnitude).unwrap_or(u128::MAX)));
        }
    }
}

/// Decide in integers when floats could not decide.
#[cold]
#[inline(never)]
fn exactly_rounded<S: RandomSource>(
    sigma: f64,
    strips: &Strips,
    pick: &Pick,
    digit: u64,
    source: &mut S,
) -> Result<Option<UBig>, NoEntropy> {
    let mut point = strips.strip(pick, source)?;
    point.begin(digit, S::BITS);
    let magnitude = (exact_floor(2.0 * sigma, point.clone(), None, source)? + 1_u8) >> 1_usize;
    let parts = Dyadic::new(sigma);
    let square = |x: &UBig| x * x;
    let (numerator, denominator) = (square(&magnitude), square(&UBig::from(parts.mantissa)));
    let exponent = |_: &mut LazyPoint, precision: usize, _: &mut S| {
        // 2^precision r^2 / (2 sigma^2), for a sigma whose last place is at most 1/8.
        let places = precision - 1 + 2 * parts.exponent.unsigned_abs() as usize;
        let least = (&numerator << places) / &denominator;
        let most = &least + 1_u8;
        Ok((least, most))
    };
    Ok(accept(&mut point, pick.v(), exponent, source)?.then_some(magnitude))
}

/// Draw at a sigma of at least 1, in integers of any length.
#[cold]
#[inline(never)]
fn large<S: RandomSource>(sigma: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
    let (negative, magnitude) = parts(sigma, source)?;
    Ok((negative, u128::try_from(magnitude).unwrap_or(u128::MAX)))
}

/// Draw the sign and the magnitude at a positive sigma, in integers of any length.
fn parts<S: RandomSource>(sigma: f64, source: &mut S) -> Result<(bool, UBig), NoEntropy> {
    // In this form of the comparison NaN counts as a large number.
    let wide = if sigma < 1.0 { 1.0 } else { sigma };
    loop {
        let (negative, magnitude) = big_parts(wide, source)?;
        if accept_candidate(sigma, &magnitude, source)? {
            return Ok((negative, magnitude));
        }
    }
}

/// Draw an integer of any length with the law of [`discrete_gaussian`], without saturation. Sigma
/// is read in the same way.
///
/// Cost: 100 to 250 ns, and some microseconds from `2^50` on.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn big_discrete_gaussian<S: RandomSource>(
    sigma: f64,
    source: &mut S,
) -> Result<IBig, NoEntropy> {
    if sigma == 0.0 {
        return Ok(IBig::ZERO);
    }
    parts(sigma.abs(), source).map(signed)
}

/// Accept a candidate.
#[inline]
fn accept_candidate<S: RandomSource>(
    sigma: f64,
    magnitude: &UBig,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    let digit = source.word()?;
    let short = u64::try_from(magnitude).ok().filter(|magnitude| *magnitude < 1 << 53);
    if let Some(magnitude) = short.filter(|_| sigma < FAST_LIMIT) {
        let (low, high) = neg_ln(digit, S::BITS);
        let (least, most) = exponent_bounds(sigma, magnitude as f64);
        if most <= low {
            return Ok(true);
        }
        if high <= least {
            return Ok(false);
        }
    }
    exact_accept(sigma, magnitude, LazyExponential::from_first(digit, S::BITS), source)
}

/// Enclose `(y - sigma^2 / t)^2 / (2 sigma^2)` for an integer `y < 2^53` and `t = max(sigma, 1)`.
///
/// # Bound
///
/// The exponent is `d^2 / 2` with `d` as below; `v = 2^-53`.
///
/// * `sigma >= 1`: `d = (y - sigma) / sigma` takes two roundings, since both terms are exact.
/// * `sigma < 1`, `y = 0`: `d = -sigma` is exact except for its sign.
/// * `sigma < 1 <= y`: `d = ((y - 1) + (1 - sigma)(1 + sigma)) / sigma`, where no term is negative.
///   `y - 1` is exact, so the relative error of the numerator is at most `4.1v`, and of `d` at most
///   `5.2v`.
///
/// So the relative error of `d^2 / 2` is at most `11.5v`. The factors `1 ± 16v` also cover the
/// rounding of their product. A value that underflows is wrong by less than the smallest normal
/// float. If a value overflows, the true value is above `2^1000`, and no finite upper bound of `E`
/// is that large.
#[inline]
fn exponent_bounds(sigma: f64, y: f64) -> (f64, f64) {
    let d = if sigma >= 1.0 {
        (y - sigma) / sigma
    } else if y == 0.0 {
        sigma
    } else {
        ((y - 1.0) + (1.0 - sigma) * (1.0 + sigma)) / sigma
    };
    let exponent = 0.5 * (d * d);
    let (least, most) = (exponent * (1.0 - SLACK), exponent * (1.0 + SLACK));
    (least - f64::MIN_POSITIVE, most + f64::MIN_POSITIVE)
}

/// Sixteen units roundoff.
const SLACK: f64 = 8.0 * f64::EPSILON;

/// Decide in integers whether to accept a candidate. Draw digits of `E` until they decide.
///
/// Terminates with probability 1, because the enclosure of `E` shrinks to a point, and `E` equals
/// the exponent with probability 0.
#[cold]
#[inline(never)]
fn exact_accept<S: RandomSource>(
    sigma: f64,
    magnitude: &UBig,
    mut e: LazyExponential,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    let (numerator, denominator) = exponent_ratio(sigma, magnitude);
    loop {
        let precision = e.bits() + 8;
        let exponent = &numerator << precision;
        let (lo, hi) = e.enclose(precision);
        if exponent <= lo * &denominator {
            return Ok(true);
        }
        if hi.is_some_and(|hi| hi * &denominator <= exponent) {
            return Ok(false);
        }
        e.refine(source)?;
    }
}

/// Return the numerator and denominator of the exponent, exactly.
fn exponent_ratio(sigma: f64, magnitude: &UBig) -> (UBig, UBig) {
    let parts = Dyadic::new(sigma);
    let (mantissa, y) = (UBig::from(parts.mantissa), magnitude.clone());
    let places = parts.exponent.unsigned_abs() as usize;
    let square = |x: &UBig| x * x;
    let gap = |x: UBig, y: UBig| {
        let (_, gap) = (IBig::from(x) - IBig::from(y)).into_parts();
        square(&gap)
    };
    if sigma < 1.0 {
        // (y - sigma^2)^2 / (2 sigma^2), and sigma^2 = mantissa^2 / 2^(2 places).
        let mantissa = square(&mantissa);
        let denominator = &mantissa << (2 * places + 1);
        (gap(y << (2 * places), mantissa), denominator)
    } else {
        // (y - sigma)^2 / (2 sigma^2), in units of the last place of sigma.
        let (sigma, y) =
            if parts.exponent < 0 { (mantissa, y << places) } else { (mantissa << places, y) };
        let denominator = square(&sigma) << 1_usize;
        (gap(y, sigma), denominator)
    }
}

#[cfg(test)]
mod tests;
