//! From Renyi divergences, and zero-concentrated privacy, to (epsilon, delta).

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{Error, Result};

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
    if !(0.0 <= epsilon) {
        let reason = format!("epsilon: expected a number of at least 0, found {epsilon}");
        return Err(Error::InvalidDistance(reason));
    }
    // The logarithm of the bound.
    let best = minimum(|order| {
        let below = order.neg_inf_sub(1.0)?;
        let above = order.inf_sub(1.0)?;
        let gap = curve(order)?.inf_sub(epsilon)?;
        let first = gap.inf_mul(if gap < 0.0 { below } else { above })?;
        let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?.inf_mul(order)?;
        first.inf_add(shrink)?.inf_sub(below.neg_inf_ln()?)
    });
    Ok(if best < 0.0 { best.inf_exp()?.min(1.0) } else { 1.0 })
}

/// Bound epsilon at a delta, from bounds on the Renyi divergence of every order.
///
/// For each order `a`, `epsilon <= r + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)`: the bound of
/// [`renyi_delta`], solved. It is 0 where this is negative.
///
/// # Errors
/// `InvalidDistance` unless delta is above 0 and at most 1.
pub fn renyi_epsilon(curve: impl Fn(f64) -> Result<f64>, delta: f64) -> Result<f64> {
    if !(0.0 < delta && delta <= 1.0) {
        let reason = format!("delta: expected a number above 0 and at most 1, found {delta}");
        return Err(Error::InvalidDistance(reason));
    }
    let log = delta.neg_inf_ln()?;
    let best = minimum(|order| {
        let both = log.neg_inf_add(order.neg_inf_ln()?)?;
        let divisor = if both < 0.0 { order.neg_inf_sub(1.0)? } else { order.inf_sub(1.0)? };
        let shrink = (-1.0f64.neg_inf_div(order)?).inf_ln_1p()?;
        curve(order)?.inf_add(shrink)?.inf_sub(both.neg_inf_div(divisor)?)
    });
    Ok(best.max(0.0))
}

/// Bound delta at an epsilon under `rho`-zero-concentrated differential privacy.
///
/// # Errors
/// `InvalidDistance` when an argument is negative or NaN.
pub fn concentrated_delta(rho: f64, epsilon: f64) -> Result<f64> {
    check(rho)?;
    if rho == 0.0 || epsilon == f64::INFINITY {
        return Ok(0.0);
    }
    if rho == f64::INFINITY { Ok(1.0) } else { renyi_delta(|order| order.inf_mul(rho), epsilon) }
}

/// Bound epsilon at a delta under `rho`-zero-concentrated differential privacy.
///
/// # Errors
/// `InvalidDistance` when `rho` is negative or NaN, or delta is not above 0 and at most 1.
pub fn concentrated_epsilon(rho: f64, delta: f64) -> Result<f64> {
    check(rho)?;
    if rho == 0.0 {
        return Ok(0.0);
    }
    renyi_epsilon(|order| order.inf_mul(rho), delta)
}

/// Find the largest `rho` that is surely `(epsilon, delta)`-private.
///
/// # Errors
/// Those of [`concentrated_delta`].
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

fn check(rho: f64) -> Result<()> {
    if 0.0 <= rho {
        return Ok(());
    }
    Err(Error::InvalidDistance(format!("rho: expected a number of at least 0, found {rho}")))
}

/// Search the orders above 1 for the smallest value: a coarse look, then golden sections about the
/// best. Orders at which the value is not finite do not count.
fn minimum(value: impl Fn(f64) -> Result<f64>) -> f64 {
    let at = |exponent: f64| {
        let order = 1.0 + exponent.inf_exp().unwrap_or(f64::MAX);
        value(order).ok().filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY)
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
        best = best.min(one).min(two);
        if one <= two { high = right } else { low = left }
    }
    best
}
