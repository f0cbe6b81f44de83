//! Certified bounds for pure losses, and for pure losses composed with Gaussian noise. The noise is
//! described by the `mu` of Gaussian differential privacy. A pure loss can be converted to a `mu`.
//!
//! A test decides from an output which of two laws the output has. For each of the two laws, the
//! test errs with some probability. For each value of the first error probability, consider the
//! tests with this value. Take the least second error probability of these tests. The trade-off
//! function of the two laws maps the first value to this least value. The normal shift by `mu` is
//! the pair of the laws `N(0, 1)` and `N(mu, 1)`. Take the laws of a release on two neighbours. If
//! their trade-off function is nowhere below the trade-off function of the normal shift, the
//! release is `mu`-GDP: Gaussian differentially private (Dong, Roth, Su 2022). Let `T(x)` be the
//! probability that a standard normal number is at least `x`.

use opendp_core::arith::{Directed, DirectedFloat, shown};
use opendp_core::{Error, Result};

use super::elementary::ln_1p;
use super::gaussian::{gaussian_delta, normal_tail};
use super::normal_mass::{MASS_ERROR, upper_tail};
use crate::recent::{Recent, recent};

/// A bisection stops when the relative distance between the two ends of its interval is at most
/// this value. The bisection returns the end that is a valid bound.
const CLOSE: f64 = 1e-6;
const INVERSE_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;
/// A bound on the relative error of a computed normal tail. The bound also holds for a tail that is
/// computed as 1 minus another tail.
const TAIL_ERROR: f64 = 2.0 * MASS_ERROR;
/// The upper bound on a normal tail is computed in floats only for arguments whose magnitude is at
/// most this number.
const LIMIT: f64 = 37.0;
/// Above this epsilon, `e^epsilon` can exceed all floats.
const FAR: f64 = 700.0;

/// Return an upper bound on the least `mu` for which every `epsilon`-DP mechanism is `mu`-GDP. The
/// least `mu` satisfies `T(mu / 2) = 1 / (1 + e^epsilon)`.
///
/// # Proof
/// The worst `epsilon`-DP mechanism is randomized response (Kairouz, Oh, Viswanath 2015). The
/// trade-off function of randomized response joins `(0, 1)`, `(v, v)` and `(1, 0)` by lines, with
/// `v = 1 / (1 + e^epsilon)` (Wasserman, Zhou 2010). Let `G` be the trade-off function of the
/// normal shift by `mu`. All `epsilon`-DP mechanisms are `mu`-GDP if and only if `G` is nowhere
/// above these lines. `G` is convex, with `G(0) = 1` and `G(1) = 0`. So `G` is nowhere above the
/// lines if and only if `G(v) <= v`. `G` decreases, and its fixed point is `T(mu / 2)`. So
/// `G(v) <= v` holds if and only if `T(mu / 2) <= v`.
///
/// For an epsilon above 700, `e^-epsilon` is near the smallest floats. Then the result is `2 x`
/// with `x^2 / 2 = epsilon - 9/2`. This `x` is above 37, and `T(x)` is at most the density at `x`
/// divided by `x`. So `T(x) <= e^(9/2) e^-epsilon / (37 sqrt(2 pi)) < 0.98 e^-epsilon`, which is
/// below `v`. The exact `mu` is at most 0.1 % smaller.
///
/// ```
/// # use opendp_measurements::accounting::{mu_of_pure, normal_tail};
/// let mu = mu_of_pure(1.0)?;
/// let v = 1.0 / (1.0 + 1_f64.exp());
/// assert!((normal_tail(mu / 2.0)?.upper - v).abs() < 1e-12);
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Errors
/// `Overflow` when epsilon is NaN.
pub fn mu_of_pure(epsilon: f64) -> Result<f64> {
    if epsilon <= 0.0 {
        return Ok(0.0);
    }
    if 1e300 < epsilon {
        return Ok(f64::INFINITY);
    }
    if FAR < epsilon {
        return 2.0.inf_mul(2.0.inf_mul(epsilon.inf_sub(4.5)?)?.inf_sqrt()?);
    }
    let least = response(epsilon)?;
    let mut x =
        if epsilon < 16.0 { from_below(epsilon, least)? } else { from_above(epsilon, least)? };
    // Then increase `x` until `T(x)` is at most `least`. So the result `2 x` is a bound even if
    // Newton's method stops far from the root.
    let mut by = f64::EPSILON;
    while least < tail_above(x, epsilon)? {
        x *= 1.0 + by;
        by *= 2.0;
    }
    2.0.inf_mul(x)
}

/// Solve `T(x) = least` approximately, by Newton's method from 0. `T` is convex for positive
/// arguments, so `x` approaches the root from below. For a large epsilon, this needs hundreds of
/// steps.
fn from_below(epsilon: f64, least: f64) -> Result<f64> {
    let mut x = 0.0_f64;
    for _ in 0..200 {
        let step = (tail_above(x, epsilon)? - least) / density(x)?;
        if !(x * 1e-13 < step) {
            break;
        }
        x += step;
    }
    Ok(x)
}
/// Solve `ln T(x) = ln least` approximately, by Newton's method from `sqrt(2 epsilon)`. There, `T`
/// is at most `e^-epsilon / 2`. `ln T` is concave, so `x` approaches the root from above. For a
/// small epsilon, the rounded `T` is constant near the root, and `x` can stop far above the root.
fn from_above(epsilon: f64, least: f64) -> Result<f64> {
    let mut x = (2.0 * epsilon).sqrt();
    for _ in 0..100 {
        let tail = tail_above(x, epsilon)?;
        let step = ln_1p((tail - least) / least) * tail / density(x)?;
        if !(x * 1e-13 < step.abs() && step.is_finite()) {
            break;
        }
        x += step;
    }
    Ok(x)
}
/// Return about the density of the standard normal distribution.
fn density(x: f64) -> Result<f64> {
    Ok(INVERSE_SQRT_TWO_PI * (-x * x / 2.0).neg_inf_exp()?)
}

/// Return a lower bound on the largest epsilon for which every `epsilon`-DP mechanism is `mu`-GDP.
/// This function is the inverse of [`mu_of_pure`]: for the result, `mu_of_pure` returns at most
/// `mu`.
///
/// # Errors
/// `InvalidDistance` when `mu` is not finite.
pub fn pure_of_mu(mu: f64) -> Result<f64> {
    // Queries with equal shares of a budget need the result for the same `mu`. So keep the last
    // results.
    thread_local! {
        static LAST: Recent = const { Recent::new([None; 2]) };
    }
    recent(&LAST, mu, search_pure)
}
fn search_pure(mu: f64) -> Result<f64> {
    let tail = normal_tail(mu / 2.0)?.upper;
    let odds = 1.0.neg_inf_sub(2.0.inf_mul(tail)?)?.neg_inf_div(tail)?;
    if !(0.0 < odds) {
        return Ok(0.0);
    }
    let epsilon = odds.neg_inf_ln_1p()?.min(FAR);
    let mut by = f64::EPSILON;
    while by < 1.0 {
        let found = epsilon * (1.0 - by);
        if mu_of_pure(found)? <= mu {
            return Ok(found);
        }
        by *= 4.0;
    }
    Ok(0.0)
}
/// Return an upper bound on `T(x)`. If epsilon is small or `x` is large, compute with more digits
/// than floats have. Otherwise compute in floats.
fn tail_above(x: f64, epsilon: f64) -> Result<f64> {
    if epsilon < 0.01 || LIMIT < x {
        return Ok(normal_tail(x)?.upper);
    }
    upper_tail(x).inf_mul(1.0 + TAIL_ERROR)
}
/// Compute `1 / (1 + e^epsilon)`, rounded down.
fn response(epsilon: f64) -> Result<f64> {
    1.0.neg_inf_div(1.0.inf_add(epsilon.inf_exp()?)?)
}

/// Return an upper bound on the delta of Gaussian noise at an epsilon. Compute in floats if the
/// relative error of this delta is below a millionth. Otherwise call [`gaussian_delta`].
///
/// Delta is `T(a) - e^epsilon T(b)` with `a = epsilon / mu - mu / 2` and `b = a + mu`. Here `a` and
/// the second term are rounded down; `b` and the first term are rounded up.
fn gaussian_delta_above(mu: f64, epsilon: f64) -> Result<f64> {
    let exact = || gaussian_delta(mu, epsilon).map(|found| found.upper);
    if !(1e-100 < mu && mu < 1e100 && epsilon < FAR) {
        return exact();
    }
    let a = epsilon.neg_inf_div(mu)?.neg_inf_sub(mu / 2.0)?;
    let b = epsilon.inf_div(mu)?.inf_add(mu / 2.0)?;
    if !(a.abs() < LIMIT) {
        return exact();
    }
    let near = upper_tail(a);
    let far = epsilon.neg_inf_exp()?.neg_inf_mul(upper_tail(b))?;
    let far = far.neg_inf_mul(1.0 - TAIL_ERROR)?;
    let delta = near.inf_mul(1.0 + TAIL_ERROR)?.inf_sub(far)?;
    // The error of delta is below `4 * near * TAIL_ERROR`. If delta is less than a million times
    // this error, compute delta exactly.
    if delta < near * TAIL_ERROR * 4e6 { exact() } else { Ok(delta.min(1.0)) }
}

/// Return an upper bound on delta at an epsilon, for a `pure`-DP mechanism composed with Gaussian
/// noise of `mu`. If epsilon is below `pure`, or if `pure` is infinite, the result is 1.
///
/// Let `p = 1 / (1 + e^-pure)`, and let `D(x)` be the delta of the Gaussian noise alone at the
/// epsilon `x`: see [`gaussian_delta`]. Delta is `p D(epsilon - pure) + (1 - p) D(epsilon + pure)`.
/// The reason: the worst `pure`-DP mechanism is randomized response. Under the first of its two
/// laws, randomized response has the loss `pure` with probability `p`. Otherwise, the loss is
/// `-pure`. Delta is the mean of `D(epsilon - loss)` over this loss. At an infinite epsilon, a
/// finite loss changes nothing, so delta is `D(epsilon)`.
///
/// # Errors
/// `InvalidDistance` when `pure` or epsilon is negative or NaN. `InvalidDistance` also when `pure`
/// is finite, epsilon is at least `pure`, and `mu` is negative or NaN.
pub fn joined_delta(pure: f64, mu: f64, epsilon: f64) -> Result<f64> {
    if !(0.0 <= pure && 0.0 <= epsilon) {
        return Err(Error::InvalidDistance(format!(
            "expected a pure loss and an epsilon of at least 0, found {} and {}",
            shown(pure),
            shown(epsilon)
        )));
    }
    if epsilon < pure || pure == f64::INFINITY {
        return Ok(1.0);
    }
    if pure == 0.0 || epsilon == f64::INFINITY {
        return gaussian_delta_above(mu, epsilon);
    }
    let likely = 1.0.inf_div(1.0.neg_inf_add((-pure).neg_inf_exp()?)?)?;
    let unlikely = 1.0.inf_div(1.0.neg_inf_add(pure.min(FAR).neg_inf_exp()?)?)?;
    let near = gaussian_delta_above(mu, epsilon.neg_inf_sub(pure)?)?;
    let far = gaussian_delta_above(mu, epsilon.neg_inf_add(pure)?)?;
    Ok(likely.inf_mul(near)?.inf_add(unlikely.inf_mul(far)?)?.min(1.0))
}

/// Find a `mu` for which a `pure`-DP mechanism composed with Gaussian noise of `mu` is
/// `(epsilon, delta)`-DP. If `pure` is above epsilon, or if no such `mu` is found, the result is 0.
/// Otherwise, the relative difference between the result and the largest such `mu` is at most about
/// a millionth.
///
/// # Errors
/// The errors of [`joined_delta`].
pub fn joined_mu(pure: f64, epsilon: f64, delta: f64) -> Result<f64> {
    if !(0.0 < delta && pure <= epsilon) {
        return Ok(0.0);
    }
    let fits = |mu: f64| joined_delta(pure, mu, epsilon).map(|found| found <= delta);
    let (mut low, mut high) = (1.0, 2.0);
    while fits(high)? && high < 1e100 {
        (low, high) = (high, high * 2.0);
    }
    while !fits(low)? {
        (low, high) = (low / 2.0, low);
        if low < 1e-100 {
            return Ok(0.0);
        }
    }
    while low * (1.0 + CLOSE) < high {
        let middle = low + (high - low) / 2.0;
        if fits(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Compose a `pure`-DP mechanism with Gaussian noise of `mu`. Find an epsilon at which the delta of
/// this composition is at most the given delta. The result is an upper bound on the smallest such
/// epsilon. This bound is close if the smallest such epsilon is at least `pure`. If the smallest
/// such epsilon is below `pure`, the result is `pure` or 0. If no such epsilon is found, the result
/// is infinity.
///
/// # Errors
/// The errors of [`joined_delta`].
pub fn joined_epsilon(pure: f64, mu: f64, delta: f64) -> Result<f64> {
    let fits = |epsilon: f64| joined_delta(pure, mu, epsilon).map(|found| found <= delta);
    if mu == 0.0 || 1.0 <= delta {
        return Ok(if mu == 0.0 { pure } else { 0.0 });
    }
    if !(0.0 < delta && mu.is_finite() && pure.is_finite()) {
        return Ok(f64::INFINITY);
    }
    if fits(pure)? {
        return Ok(pure);
    }
    let (mut low, mut high) = (pure, pure + mu.max(1e-300));
    while !fits(high)? {
        let wider = pure + 2.0 * (high - pure);
        (low, high) = (high, wider);
        if !(high < 1e300) {
            return Ok(f64::INFINITY);
        }
    }
    while low * (1.0 + CLOSE) < high && f64::MIN_POSITIVE < high - low {
        let middle = low + (high - low) / 2.0;
        if middle <= low || high <= middle {
            break;
        }
        if fits(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests;
