//! Conversion of Renyi divergences and zero-concentrated privacy to (epsilon, delta).
//!
//! Every order gives a valid bound. So an inexact search for the order with the smallest bound is
//! enough, and the search runs in plain floats. The bound is then computed once, at the order that
//! was found, and rounded up.

use opendp_core::arith::{Directed, DirectedFloat, shown};
use opendp_core::{Error, Result};

use super::elementary::{exp, ln, ln_1p};

/// Compute an upper bound on delta at an epsilon, from bounds on the Renyi divergence of every
/// order.
///
/// Let `r` be the divergence of order `a > 1`. Then
/// `delta <= e^((a - 1)(r - epsilon)) / (a - 1) * (1 - 1/a)^a` (Canonne, Kamath, Steinke 2020,
/// Proposition 12). The result is rounded up.
///
/// # Errors
/// `InvalidDistance` when epsilon is negative or NaN.
pub fn renyi_delta(curve: impl Fn(f64) -> Result<f64>, epsilon: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    let order = best_order(|above| {
        let order = 1.0 + above;
        let divergence = curve(order).unwrap_or(f64::INFINITY);
        above * (divergence - epsilon) + order * ln_1p(-1.0 / order) - ln(above)
    });
    if epsilon == f64::INFINITY {
        // If the divergence of some order is finite, every outcome that is possible under one
        // neighbour is also possible under the other neighbour. So delta is 0 at an infinite
        // epsilon.
        return Ok(if curve(order).is_ok_and(f64::is_finite) { 0.0 } else { 1.0 });
    }
    Ok(delta_at(order, curve, epsilon).unwrap_or(1.0))
}

/// Compute an upper bound on epsilon at a delta, from bounds on the Renyi divergence of every
/// order.
///
/// Let `r` be the divergence of order `a`. For each order `a`, `epsilon` is at most
/// `r + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)`. This is the bound of [`renyi_delta`], solved
/// for epsilon. The result is 0 if this bound is negative, and infinite if no divergence is known.
///
/// # Errors
/// `InvalidDistance` when delta is 0, negative, above 1 or NaN.
pub fn renyi_epsilon(curve: impl Fn(f64) -> Result<f64>, delta: f64) -> Result<f64> {
    check_delta(delta)?;
    let log = ln(delta);
    let order = best_order(|above| {
        let order = 1.0 + above;
        let divergence = curve(order).unwrap_or(f64::INFINITY);
        divergence + ln_1p(-1.0 / order) - (log + ln(order)) / above
    });
    Ok(epsilon_at(order, curve, delta).unwrap_or(f64::INFINITY))
}

/// Compute an upper bound on delta at an epsilon, under `rho`-zero-concentrated differential
/// privacy.
///
/// The divergence of order `a` is at most `a rho`. Put `r = a rho` into the bound of
/// [`renyi_delta`], and take the logarithm as a function of `a`. The derivative of this function is
/// `(2a - 1) rho - epsilon + ln(1 - 1/a)`, which increases with `a`. So the bound is smallest at
/// the root of this derivative.
///
/// # Errors
/// `InvalidDistance` when an argument is negative or NaN.
pub fn concentrated_delta(rho: f64, epsilon: f64) -> Result<f64> {
    check_rho(rho)?;
    check_epsilon(epsilon)?;
    if rho == f64::INFINITY {
        return Ok(1.0);
    }
    if rho == 0.0 || epsilon == f64::INFINITY {
        return Ok(0.0);
    }
    let order = root(|above| (2.0 * above + 1.0) * rho - epsilon - ln_1p(1.0 / above));
    Ok(delta_at(order, |order| order.inf_mul(rho), epsilon).unwrap_or(1.0))
}

/// Compute an upper bound on epsilon at a delta, under `rho`-zero-concentrated differential
/// privacy.
///
/// The divergence of order `a` is at most `a rho`. Put `r = a rho` into the bound of
/// [`renyi_epsilon`]. The derivative of this bound with respect to `a` has the sign of
/// `rho (a - 1)^2 + ln delta + ln a`, which increases with `a`. So the bound is smallest at the
/// root of this expression.
///
/// # Errors
/// `InvalidDistance` when `rho` is negative or NaN, or when delta is 0, negative, above 1 or NaN.
pub fn concentrated_epsilon(rho: f64, delta: f64) -> Result<f64> {
    check_rho(rho)?;
    check_delta(delta)?;
    if rho == 0.0 || delta == 1.0 {
        return Ok(0.0);
    }
    if rho == f64::INFINITY {
        return Ok(f64::INFINITY);
    }
    let log = ln(delta);
    let order = root(|above| rho * above * above + log + ln_1p(above));
    Ok(epsilon_at(order, |order| order.inf_mul(rho), delta).unwrap_or(f64::INFINITY))
}

/// Compute an upper bound on the `rho` of a mechanism that is `epsilon`-differentially private. The
/// bound is `epsilon tanh(epsilon / 2)`, rounded up. Before rounding, the bound is at most
/// `epsilon^2 / 2`.
///
/// No smaller `rho` is valid for every such mechanism. Randomized response that keeps its bit with
/// probability `e^epsilon / (1 + e^epsilon)` dominates the mechanism (Kairouz, Oh, Viswanath 2015).
/// The Renyi divergence of this response, of order `a`, is `(g(a) - g(1)) / (a - 1)` with `g(a) =
/// ln cosh((a - 1/2) epsilon)`. As a function of `s = (a - 1/2)^2`, `g` is `ln cosh(sqrt(s)
/// epsilon)`. The derivative of `g` with respect to `s` is `epsilon tanh(sqrt(s) epsilon) / (2
/// sqrt(s))`, which decreases with `s`. So `g` is concave in `s`, and is nowhere above its tangent
/// at `s = 1/4`. At this `s`, the order `a` is 1. So `g(a) - g(1) <= ((a - 1/2)^2 - 1/4) epsilon
/// tanh(epsilon / 2)`. The first factor of this bound is `a (a - 1)`. So the divergence is at most
/// `a epsilon tanh(epsilon / 2)`. A `rho` is valid if the divergence of every order `a > 1` is at
/// most `a rho`. So `epsilon tanh(epsilon / 2)` is a valid `rho`. As `a` tends to 1, the divergence
/// tends to `epsilon tanh(epsilon / 2)`, and `a rho` tends to `rho`. So a smaller `rho` is
/// impossible.
///
/// # Errors
/// `InvalidDistance` when epsilon is negative or NaN.
pub fn concentrated_rho_of_pure(epsilon: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    if epsilon == 0.0 || epsilon == f64::INFINITY {
        return Ok(epsilon);
    }
    // Let m = e^epsilon - 1. Then tanh(epsilon / 2) = m / (m + 2), which increases with m.
    let tanh = match epsilon.inf_exp_m1() {
        Ok(m) if m < 1e300 => m.inf_div(m.neg_inf_add(2.0)?)?.min(1.0),
        _ => 1.0,
    };
    let rho = epsilon.inf_mul(tanh)?;
    Ok(match epsilon.inf_mul(epsilon).and_then(|square| square.inf_div(2.0)) {
        Ok(half) => rho.min(half),
        Err(_) => rho,
    })
}

/// Find, up to rounding, the largest `rho` for which `rho`-zero-concentrated privacy implies
/// `(epsilon, delta)`-privacy by [`concentrated_delta`].
///
/// # Errors
/// The errors of [`concentrated_delta`].
pub fn concentrated_rho(epsilon: f64, delta: f64) -> Result<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    while concentrated_delta(high, epsilon)? <= delta && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || high <= middle || high - low < high * 1e-15 {
            break;
        }
        if concentrated_delta(middle, epsilon)? <= delta { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Compute an upper bound on the Renyi divergence of order `a > 1`. The bound holds for every
/// mechanism that is `epsilon`-differentially private. If an exponential overflows, the result is
/// epsilon. Otherwise, the result is the smallest such bound, up to rounding.
///
/// Randomized response dominates the mechanism: see [`concentrated_rho_of_pure`]. This response
/// keeps its bit with probability `p = e^epsilon / (1 + e^epsilon)`. So the divergence is
/// `ln(p^a (1 - p)^(1 - a) + (1 - p)^a p^(1 - a)) / (a - 1)`. The argument of the logarithm is
/// `1 + (e^(a epsilon) - 1) (1 - e^(-(a - 1) epsilon)) / (1 + e^epsilon)`. This form has no
/// cancellation. The divergence is also at most `epsilon`.
///
/// # Errors
/// `InvalidDistance` when epsilon is negative or NaN.
pub(super) fn divergence_of_pure(order: f64, epsilon: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    let divergence = || {
        let (above, below) = (order.inf_sub(1.0)?, order.neg_inf_sub(1.0)?);
        let grown = order.inf_mul(epsilon)?.inf_exp_m1()?;
        let fallen = -(-above.inf_mul(epsilon)?).neg_inf_exp_m1()?;
        let both = epsilon.neg_inf_exp_m1()?.neg_inf_add(2.0)?;
        grown.inf_mul(fallen)?.inf_div(both)?.inf_ln_1p()?.inf_div(below)
    };
    // If an exponential overflows, the bound `epsilon` is close to the divergence.
    Ok(divergence().map_or(epsilon, |divergence: f64| divergence.min(epsilon)))
}

/// Find an order and a limit for the Renyi divergence of this order. Every mechanism whose
/// divergence of this order is at most the limit is `(epsilon, delta)`-private, by the formula of
/// [`renyi_delta`]. Up to rounding, the limit is the order times [`concentrated_rho`]. This product
/// is the divergence of Gaussian noise with this `rho`. Return `None` if no such order is found.
///
/// # Errors
/// The errors of [`concentrated_rho`].
pub(super) fn renyi_limit(epsilon: f64, delta: f64) -> Result<Option<(f64, f64)>> {
    let rho = concentrated_rho(epsilon, delta)?;
    let order = root(|above| (2.0 * above + 1.0) * rho - epsilon - ln_1p(1.0 / above));
    // Round `order - 1` to 24 bits, so that `order - 1` can later be computed without rounding.
    let order = 1.0 + f64::from((order - 1.0) as f32);
    if !(0.0 < rho && (1.001..1e6).contains(&order)) {
        return Ok(None);
    }
    // `all` is the product of the rounded order and `rho`. The order was rounded, so at the
    // divergence `all` the bound on delta can slightly exceed `delta`. So reduce the limit until
    // the bound is at most `delta`.
    let (all, mut less) = (order.neg_inf_mul(rho)?, 1e-15);
    for _ in 0..48 {
        let limit = all * (1.0 - less);
        if delta_at(order, |_| Ok(limit), epsilon).is_ok_and(|found| found <= delta) {
            return Ok(Some((order, limit)));
        }
        less *= 2.0;
    }
    Ok(None)
}

/// Compute an upper bound on epsilon at a delta, from the Renyi divergence of one order.
pub(super) fn epsilon_of_order(order: f64, divergence: f64, delta: f64) -> Result<f64> {
    check_delta(delta)?;
    epsilon_at(order, |_| Ok(divergence), delta)
}

pub(super) fn check_rho(rho: f64) -> Result<()> {
    if 0.0 <= rho {
        return Ok(());
    }
    let reason = format!("rho: expected a number of at least 0, found {}", shown(rho));
    Err(Error::InvalidDistance(reason))
}

fn check_epsilon(epsilon: f64) -> Result<()> {
    if 0.0 <= epsilon {
        return Ok(());
    }
    let reason = format!("epsilon: expected a number of at least 0, found {}", shown(epsilon));
    Err(Error::InvalidDistance(reason))
}
fn check_delta(delta: f64) -> Result<()> {
    if 0.0 < delta && delta <= 1.0 {
        return Ok(());
    }
    let reason = format!("delta: expected a number above 0 and at most 1, found {}", shown(delta));
    Err(Error::InvalidDistance(reason))
}

/// Return the bound on delta from the divergence of one order, rounded up.
fn delta_at(order: f64, curve: impl Fn(f64) -> Result<f64>, epsilon: f64) -> Result<f64> {
    let below = order.neg_inf_sub(1.0)?;
    let above = order.inf_sub(1.0)?;
    let gap = curve(order)?.inf_sub(epsilon)?;
    let first = gap.inf_mul(if gap < 0.0 { below } else { above })?;
    let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?.inf_mul(order)?;
    let log = first.inf_add(shrink)?.inf_sub(below.neg_inf_ln()?)?;
    if log < 0.0 { Ok(log.inf_exp()?.min(1.0)) } else { Ok(1.0) }
}
/// Return the bound on epsilon from the divergence of one order, rounded up.
fn epsilon_at(order: f64, curve: impl Fn(f64) -> Result<f64>, delta: f64) -> Result<f64> {
    let both = delta.neg_inf_ln()?.neg_inf_add(order.neg_inf_ln()?)?;
    let divisor = if both < 0.0 { order.neg_inf_sub(1.0)? } else { order.inf_sub(1.0)? };
    let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?;
    Ok(curve(order)?.inf_add(shrink)?.inf_sub(both.neg_inf_div(divisor)?)?.max(0.0))
}

/// Find an order near the root of an increasing function of `order - 1`. All orders of the search
/// exceed 1 by at least `e^-24`. So `order - 1` has at least five correct digits.
fn root(increasing: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-24.0, 690.0);
    for _ in 0..44 {
        let middle = low + (high - low) / 2.0;
        if increasing(exp(middle)) < 0.0 { low = middle } else { high = middle }
    }
    1.0 + exp(high)
}

/// Search the orders above 1 for a small value of a function of `order - 1`. A coarse search comes
/// first. Then a golden-section search follows, near the best order of the coarse search.
fn best_order(value: impl Fn(f64) -> f64) -> f64 {
    let value_at = |exponent: f64| {
        let found = value(exp(exponent));
        if found.is_nan() { f64::INFINITY } else { found }
    };
    let (mut best, mut place) = (f64::INFINITY, 0.0);
    for step in -40..=80 {
        let exponent = f64::from(step) / 4.0;
        let found = value_at(exponent);
        if found < best {
            (best, place) = (found, exponent);
        }
    }
    let (mut low, mut high) = (place - 0.25, place + 0.25);
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..48 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (first, second) = (value_at(left), value_at(right));
        for (found, exponent) in [(first, left), (second, right)] {
            if found < best {
                (best, place) = (found, exponent);
            }
        }
        if first <= second { high = right } else { low = left }
    }
    1.0 + exp(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last number of each tuple is the least float above the exact delta. The exact delta was
    /// computed with 60 digits.
    #[test]
    fn the_delta_of_a_divergence_is_rounded_up() {
        for (order, divergence, epsilon, least) in [
            (2.0, 0.1, 0.3, 0.20468268826949548),
            (2.0, 0.7, 1.1, 0.1675800115089098),
            (1.3, 1.0, 30.0, 8.253687579915077e-5),
            (1.7, 1.0, 50.0, 4.0133287145085117e-16),
            (2.7, 1.0, 70.0, 1.9245902258053877e-52),
            (5.7, 1.0, 7.0, 4.0111496512086546e-14),
        ] {
            let delta = delta_at(order, |_| Ok(divergence), epsilon).unwrap();
            assert!(
                least <= delta && delta < least * (1.0 + 1e-12),
                "{order} {epsilon}: {delta:e}"
            );
        }
    }
    /// The second number of each pair is the least float above the exact `rho`. The exact `rho` was
    /// computed with 60 digits.
    #[test]
    fn the_rho_of_a_pure_loss_is_rounded_up() {
        for (epsilon, least) in [
            (0.0625, 0.0019524894653769537),
            (0.3125, 0.04843460324113235),
            (1.0, 0.4621171572600098),
            (1.5, 0.9527234285809311),
            (2.0, 1.52318831191153),
            (4.0, 3.8561103203032676),
        ] {
            let rho = concentrated_rho_of_pure(epsilon).unwrap();
            assert!(least <= rho && rho < least * (1.0 + 1e-15), "{epsilon}: {rho:e}");
        }
    }
}
