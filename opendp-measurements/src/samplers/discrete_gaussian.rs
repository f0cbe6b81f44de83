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
/// Return whether `k` is negative, and the magnitude `|k|`. The magnitude saturates at `u128::MAX`.
/// This saturation does not change a sum that is clamped to an integer type of at most 128 bits:
/// see the proof of [`add_noise`](super::add_noise).
///
/// For `1 <= sigma < 2^50`, the sampler uses an envelope (see `Strips`): a function that is at
/// least `e^(-x^2 / 2)` at every `x >= 0`. The envelope is constant on intervals (the strips). The
/// probability of a strip is proportional to the area below the envelope in this strip. A strip is
/// drawn, and a point `x` is drawn uniformly in the strip. Let `r = floor(sigma x + 1/2)`. The
/// point is accepted if a uniform `V` from 0 to 1 is below the quotient of `e^(-r^2 / (2 sigma^2))`
/// and the envelope at `x`. So the density of accepted points is proportional to
/// `e^(-r^2 / (2 sigma^2))`. All points with the same `r` form an interval. All intervals with
/// `r > 0` have the same length. The interval with `r = 0` has half of this length. A random sign
/// halves the probability of each `r > 0`, so every integer has the stated probability. The
/// distance between `r / sigma` and `x` is at most `1 / (2 sigma)`. The envelope at `x` is at least
/// `e^(-y^2 / 2)` for every `y >= 0` within this distance of `x`. So the quotient is at most 1.
///
/// For `sigma < 1` and for `sigma >= 2^50`, a candidate `y` is drawn from the discrete Laplace
/// distribution of scale `t`. The candidate is accepted with probability
/// `exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2))`, and otherwise another candidate is drawn. The
/// accepted integers have the stated distribution for every `t > 0`, because
///
/// `|y| / t + (|y| - sigma^2 / t)^2 / (2 sigma^2) = y^2 / (2 sigma^2) + sigma^2 / (2 t^2)`.
///
/// (Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential privacy",
/// arXiv:2004.00010, algorithm 3.) Here `t` is the larger of `sigma` and 1. The article uses
/// another scale, `floor(sigma) + 1`. For `sigma < 1`, this scale is also 1. For `sigma >= 1`, this
/// scale is larger than `sigma`, and candidates are accepted less often than with `t = sigma`.
///
/// # Exactness
///
/// `sigma` is the rational number that the float represents. The probabilities are exact for every
/// `sigma` from `5e-324` to `f64::MAX`. Candidates have exactly the discrete Laplace distribution
/// of scale `t`. Let `E = -ln U` for a uniform variable `U`. Then `E` is a standard exponential
/// variable, and `P[E > h] = e^-h` for every `h >= 0`. So a candidate is accepted if `E` exceeds
/// the rational number `(|y| - sigma^2 / t)^2 / (2 sigma^2)`. This rational number is called the
/// exponent. If float bounds of `E` and of the exponent do not overlap, the floats decide.
/// Otherwise more digits of `U` are drawn until exact integers decide. In the sampler with strips,
/// if floats do not decide, more digits of `x` and of `V` are drawn until exact integers decide.
///
/// Sigma 0 gives 0 and draws nothing. A negative sigma counts as its magnitude. Infinity or NaN
/// counts as some number above `f64::MAX`, so such a mistake adds too much noise.
///
/// For many draws with the same small sigma, an [`IntegerTable`](super::IntegerTable) is faster.
///
/// Cost: about 20 ns and two words, if sigma is at least 16 and below `2^50`. For sigma below 16,
/// the cost is twice as much. If sigma is at least `2^50`, integers decide whether a candidate is
/// accepted, and a draw takes some microseconds. At sigma `1e300`, a draw takes 0.1 ms.
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
    // This comparison is false for NaN, so NaN counts as a large number.
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

/// If sigma is at least this number, integers decide whether a candidate is accepted.
const FAST_LIMIT: f64 = (1_u64 << 50) as f64;

/// Draw the noise for a sigma from 1 to [`FAST_LIMIT`], by rounding a point that [`Strips`] draws.
///
/// The rounding moves a point `x` to `r / sigma`, with `r = floor(sigma x + 1/2)`. So a point moves
/// by at most `1 / (2 sigma)`. The caller chooses an envelope that allows for this distance.
///
/// # Bound
///
/// Let `sigma = m 2^e` with an integer `m`, and let `n` be the integer with `n <= 2^61 x <= n + 1`.
/// The products `m n` and `m (n + 1)` are exact. So `2 sigma x` is between `m n 2^(e - 60)` and
/// `m (n + 1) 2^(e - 60)`. If both bounds have the same floor, this floor is also the floor of
/// `2 sigma x`. Then `floor(sigma x + 1/2) = floor((floor(2 sigma x) + 1) / 2)`. In the exponent
/// `(r / sigma)^2 / 2`, both `r` and `sigma` are exact floats. The computation of the exponent
/// rounds the quotient and then the square. The square doubles the relative error of the quotient.
/// So the relative error of the exponent is at most `3.1v`, with `v = 2^-53`.
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

/// Decide in integers whether a point is accepted, if floats could not decide. Return the rounded
/// magnitude of an accepted point, and `None` for a rejected point.
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
        // Compute a lower and an upper bound on 2^precision r^2 / (2 sigma^2), where r is the
        // magnitude. The unit in the last place of sigma is at most 1/8, so the exponent of sigma
        // is negative.
        let places = precision - 1 + 2 * parts.exponent.unsigned_abs() as usize;
        let lower = (&numerator << places) / &denominator;
        let upper = &lower + 1_u8;
        Ok((lower, upper))
    };
    Ok(accept(&mut point, pick.v(), exponent, source)?.then_some(magnitude))
}

/// Draw the noise of a large sigma in integers of any length. Then saturate the magnitude at
/// `u128::MAX`.
#[cold]
#[inline(never)]
fn large<S: RandomSource>(sigma: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
    let (negative, magnitude) = parts(sigma, source)?;
    Ok((negative, u128::try_from(magnitude).unwrap_or(u128::MAX)))
}

/// Draw the sign and the magnitude of the noise for a positive sigma, in integers of any length.
fn parts<S: RandomSource>(sigma: f64, source: &mut S) -> Result<(bool, UBig), NoEntropy> {
    // This comparison is false for NaN, so NaN counts as a large number.
    let wide = if sigma < 1.0 { 1.0 } else { sigma };
    loop {
        let (negative, magnitude) = big_parts(wide, source)?;
        if accept_candidate(sigma, &magnitude, source)? {
            return Ok((negative, magnitude));
        }
    }
}

/// Draw an integer of any length with the distribution of [`discrete_gaussian`], without
/// saturation. Zero, negative, infinite and NaN sigmas have the same meaning as in
/// [`discrete_gaussian`].
///
/// Cost: 100 to 250 ns for sigma below `2^50`, and otherwise some microseconds.
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

/// Decide whether to accept a candidate magnitude.
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
        let (lower, upper) = exponent_bounds(sigma, magnitude as f64);
        if upper <= low {
            return Ok(true);
        }
        if high < lower {
            return Ok(false);
        }
    }
    exact_accept(sigma, magnitude, LazyExponential::from_first(digit, S::BITS), source)
}

/// Enclose the exponent `(y - sigma^2 / t)^2 / (2 sigma^2)` for an integer `y < 2^53` and
/// `t = max(sigma, 1)`. The caller compares the exponential variable `E` with the exponent.
///
/// # Bound
///
/// The exponent is `d^2 / 2` with `d = (y - sigma^2 / t) / sigma`. Let `v = 2^-53`.
///
/// * `sigma >= 1`: `y` and `sigma` are exact, so the computation of `d = (y - sigma) / sigma`
///   rounds only twice.
/// * `sigma < 1`, `y = 0`: the code computes `sigma`, which is exactly `-d`.
/// * `sigma < 1 <= y`: `d = ((y - 1) + (1 - sigma)(1 + sigma)) / sigma`, where no term is negative.
///   `y - 1` is exact. So the relative error of the numerator is at most `4.1v`, and the relative
///   error of `d` is at most `5.2v`.
///
/// So the relative error of the computed `d^2 / 2` is at most `11.5v`. The bounds are this computed
/// value times the factors `1 ± 16v`, widened by the smallest normal float. These factors also
/// cover the rounding of the two products. If a value underflows, its error is less than the
/// smallest normal float. If a value overflows, the true value is above `2^1000`. Every finite
/// upper bound of `E` is below `2^1000`. An infinite upper bound of `E` is not below the infinite
/// value, so floats do not decide in this case.
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
    let (lower, upper) = (exponent * (1.0 - SLACK), exponent * (1.0 + SLACK));
    (lower - f64::MIN_POSITIVE, upper + f64::MIN_POSITIVE)
}

/// Sixteen times the unit roundoff `2^-53`.
const SLACK: f64 = 8.0 * f64::EPSILON;

/// Decide in integers whether to accept a candidate magnitude: whether the exponential variable `E`
/// exceeds the exponent of [`exponent_ratio`]. Draw more digits of `U`, where `E = -ln U`, until
/// these digits decide.
///
/// This function terminates with probability 1, because the enclosure of `E` shrinks to a point,
/// and `E` equals the exponent with probability 0.
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

/// Return the exact numerator and denominator of the exponent
/// `(|y| - sigma^2 / t)^2 / (2 sigma^2)`. Here `|y|` is the magnitude and `t = max(sigma, 1)`.
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
        // The exponent is (y - sigma^2)^2 / (2 sigma^2), with sigma^2 = mantissa^2 / 2^(2 places).
        let mantissa = square(&mantissa);
        let denominator = &mantissa << (2 * places + 1);
        (gap(y << (2 * places), mantissa), denominator)
    } else {
        // The exponent is (y - sigma)^2 / (2 sigma^2). Here, y and sigma are integers in the same
        // unit, which is the smaller of 1 and the unit in the last place of sigma.
        let (sigma, y) =
            if parts.exponent < 0 { (mantissa, y << places) } else { (mantissa << places, y) };
        let denominator = square(&sigma) << 1_usize;
        (gap(y, sigma), denominator)
    }
}

#[cfg(test)]
mod tests;
