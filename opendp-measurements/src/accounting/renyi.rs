//! From Renyi divergences, and zero-concentrated privacy, to (epsilon, delta).
//!
//! Every order gives a bound. So the search for the best order runs in plain floats. The bound is
//! computed once, at the order found, rounding up.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{Error, Result};

use super::elementary::{exp, ln, ln_1p};

/// Bound delta at an epsilon, from bounds on the Renyi divergence of every order.
///
/// For each order `a > 1` with divergence `r`,
/// `delta <= e^((a - 1)(r - epsilon)) / (a - 1) * (1 - 1/a)^a` (Canonne, Kamath, Steinke 2020,
/// Proposition 12). Every order gives a bound, so the search for the best need not be exact; the
/// evaluation rounds up.
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
        // With a finite divergence of any order, every outcome is possible under both neighbours.
        return Ok(if curve(order).is_ok_and(f64::is_finite) { 0.0 } else { 1.0 });
    }
    Ok(delta_at(order, curve, epsilon).unwrap_or(1.0))
}

/// Bound epsilon at a delta, from bounds on the Renyi divergence of every order.
///
/// For each order `a`, `epsilon <= r + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)`. This solves the
/// bound of [`renyi_delta`] for epsilon. It is 0 if this is negative, and infinite if nothing is
/// known.
///
/// # Errors
/// `InvalidDistance` unless delta is above 0 and at most 1.
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

/// Bound delta at an epsilon under `rho`-zero-concentrated differential privacy.
///
/// The derivative of the logarithm of the bound of [`renyi_delta`] in the order `a` has the sign of
/// `(2a - 1) rho - epsilon + ln(1 - 1/a)`, which increases.
///
/// # Errors
/// `InvalidDistance` when an argument is negative or NaN.
pub fn concentrated_delta(rho: f64, epsilon: f64) -> Result<f64> {
    check_rho(rho)?;
    check_epsilon(epsilon)?;
    if rho == 0.0 || epsilon == f64::INFINITY {
        return Ok(0.0);
    }
    if rho == f64::INFINITY {
        return Ok(1.0);
    }
    let order = root(|above| (2.0 * above + 1.0) * rho - epsilon - ln_1p(1.0 / above));
    Ok(delta_at(order, |order| order.inf_mul(rho), epsilon).unwrap_or(1.0))
}

/// Bound epsilon at a delta under `rho`-zero-concentrated differential privacy.
///
/// The derivative of the bound of [`renyi_epsilon`] in the order `a` has the sign of
/// `rho (a - 1)^2 + ln delta + ln a`, which increases.
///
/// # Errors
/// `InvalidDistance` when `rho` is negative or NaN, or delta is not above 0 and at most 1.
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

/// Bound the `rho` of a mechanism that is `epsilon`-differentially private:
/// `rho = epsilon tanh(epsilon / 2)`, rounded up, which is at most `epsilon^2 / 2`.
///
/// It is the best such bound. Randomized response that keeps its bit with probability
/// `e^epsilon / (1 + e^epsilon)` dominates the mechanism (Kairouz, Oh, Viswanath 2015).
/// Its Renyi divergence of order `a` is `(g(a) - g(1)) / (a - 1)` with
/// `g(a) = ln cosh((a - 1/2) epsilon)`. As a function of `s = (a - 1/2)^2`, `g` is
/// `ln cosh(sqrt(s) epsilon)`, whose derivative `epsilon tanh(sqrt(s) epsilon) / (2 sqrt(s))`
/// decreases. So `g` is concave in `s` and lies below its tangent at `s = 1/4`, that is `a = 1`:
/// `g(a) - g(1) <= ((a - 1/2)^2 - 1/4) epsilon tanh(epsilon / 2)`, where the first factor is
/// `a (a - 1)`. As `a` goes to 1 the divergence goes to `epsilon tanh(epsilon / 2)` itself.
///
/// # Errors
/// `InvalidDistance` when epsilon is negative or NaN; `Overflow` when the bound exceeds all floats.
pub fn concentrated_rho_of_pure(epsilon: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    if epsilon == 0.0 || epsilon == f64::INFINITY {
        return Ok(epsilon);
    }
    // tanh(epsilon / 2) = m / (m + 2) for m = e^epsilon - 1, which increases in m.
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

/// Find the largest `rho` that is certainly `(epsilon, delta)`-private.
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

pub(super) fn check_rho(rho: f64) -> Result<()> {
    if 0.0 <= rho {
        return Ok(());
    }
    Err(Error::InvalidDistance(format!("rho: expected a number of at least 0, found {rho}")))
}

fn check_epsilon(epsilon: f64) -> Result<()> {
    if 0.0 <= epsilon {
        return Ok(());
    }
    let reason = format!("epsilon: expected a number of at least 0, found {epsilon}");
    Err(Error::InvalidDistance(reason))
}
fn check_delta(delta: f64) -> Result<()> {
    if 0.0 < delta && delta <= 1.0 {
        return Ok(());
    }
    let reason = format!("delta: expected a number above 0 and at most 1, found {delta}");
    Err(Error::InvalidDistance(reason))
}

/// Return the bound on delta at one order, rounded up.
fn delta_at(order: f64, curve: impl Fn(f64) -> Result<f64>, epsilon: f64) -> Result<f64> {
    let below = order.neg_inf_sub(1.0)?;
    let above = order.inf_sub(1.0)?;
    let gap = curve(order)?.inf_sub(epsilon)?;
    let first = gap.inf_mul(if gap < 0.0 { below } else { above })?;
    let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?.inf_mul(order)?;
    let log = first.inf_add(shrink)?.inf_sub(below.neg_inf_ln()?)?;
    if log < 0.0 { Ok(log.inf_exp()?.min(1.0)) } else { Ok(1.0) }
}
/// Return the bound on epsilon at one order, rounded up.
fn epsilon_at(order: f64, curve: impl Fn(f64) -> Result<f64>, delta: f64) -> Result<f64> {
    let both = delta.neg_inf_ln()?.neg_inf_add(order.neg_inf_ln()?)?;
    let divisor = if both < 0.0 { order.neg_inf_sub(1.0)? } else { order.inf_sub(1.0)? };
    let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?;
    Ok(curve(order)?.inf_add(shrink)?.inf_sub(both.neg_inf_div(divisor)?)?.max(0.0))
}

/// Find an order near the root of an increasing function of `order - 1`. Orders stay far enough
/// from 1 that `order - 1` keeps many digits.
fn root(increasing: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-24.0, 690.0);
    for _ in 0..44 {
        let middle = low + (high - low) / 2.0;
        if increasing(exp(middle)) < 0.0 { low = middle } else { high = middle }
    }
    1.0 + exp(high)
}

/// Search the orders above 1 for a small value of a function of `order - 1`: first a coarse search,
/// then golden-section search about the best order.
fn best_order(value: impl Fn(f64) -> f64) -> f64 {
    let at = |exponent: f64| {
        let found = value(exp(exponent));
        if found.is_nan() { f64::INFINITY } else { found }
    };
    let (mut best, mut place) = (f64::INFINITY, 0.0);
    for step in -40..=80 {
        let exponent = f64::from(step) / 4.0;
        let found = at(exponent);
        if found < best {
            (best, place) = (found, exponent);
        }
    }
    let (mut low, mut high) = (place - 0.25, place + 0.25);
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..48 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (one, two) = (at(left), at(right));
        for (found, exponent) in [(one, left), (two, right)] {
            if found < best {
                (best, place) = (found, exponent);
            }
        }
        if one <= two { high = right } else { low = left }
    }
    1.0 + exp(place)
}
