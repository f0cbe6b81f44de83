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
    // Newton's method solves `ln T(x) = ln least`. It starts at `sqrt(2 epsilon)`, where `T` is at
    // most `e^-epsilon / 2`. `ln T` is concave, so `x` approaches the root from above. Newton's
    // method for `T` itself would need several hundred steps for a large epsilon.
    let mut x = (2.0 * epsilon).sqrt();
    for _ in 0..100 {
        let density = INVERSE_SQRT_TWO_PI * (-x * x / 2.0).neg_inf_exp()?;
        let tail = tail_above(x, epsilon)?;
        let step = ln_1p((tail - least) / least) * tail / density;
        if !(x * 1e-13 < step.abs() && step.is_finite()) {
            break;
        }
        x += step;
    }
    // Then increase `x` until `T(x)` is at most `least`. So the result `2 x` is a bound even if
    // Newton's method stops far from the root.
    let mut by = f64::EPSILON;
    while least < tail_above(x, epsilon)? {
        x *= 1.0 + by;
        by *= 2.0;
    }
    2.0.inf_mul(x)
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
mod tests {
    use super::super::gaussian::gaussian_tradeoff;
    use super::*;

    #[test]
    fn the_normal_shift_of_a_pure_loss_is_below_randomized_response_everywhere() {
        for epsilon in [1e-9, 1e-3, 0.2, 1.0, 5.0, 30.0] {
            let mu = mu_of_pure(epsilon).unwrap();
            let e = f64::exp(epsilon);
            let response = |alpha: f64| (1.0 - e * alpha).max((1.0 - alpha) / e).max(0.0);
            for step in 0..=200 {
                let alpha = f64::from(step) / 200.0;
                let normal = gaussian_tradeoff(mu, alpha).unwrap().lower;
                assert!(normal <= response(alpha) + 1e-12, "{epsilon} {alpha}");
            }
            // The control: for a slightly smaller `mu`, the trade-off function of the normal shift
            // is above the point `(v, v)` of randomized response.
            let v = 1.0 / (1.0 + e);
            assert!(v < normal_tail(mu / 2.0 * (1.0 - 1e-6)).unwrap().lower, "{epsilon}");
            let back = pure_of_mu(mu).unwrap();
            assert!((back / epsilon - 1.0).abs() < 1e-6, "{epsilon} {back}");
            assert!(mu_of_pure(back).unwrap() <= mu);
        }
        assert_eq!(mu_of_pure(0.0).unwrap(), 0.0);
        assert_eq!(pure_of_mu(0.0).unwrap(), 0.0);
        // For a small loss, `mu` is about sqrt(pi / 2) times epsilon.
        assert!((mu_of_pure(1e-4).unwrap() / 1.253_314_137e-4 - 1.0).abs() < 1e-6);
    }
    /// The exact values are the roots of `T(mu / 2) = 1 / (1 + e^epsilon)`, with 60 digits.
    #[test]
    fn the_mu_of_a_large_pure_loss_is_tight() {
        for (epsilon, exact) in [
            (20.0, 11.758_418_713_653_1),
            (200.0, 39.607_338_760_602_42),
            (553.0, 66.246_805_931_716_46),
            (699.0, 74.536_552_124_149_92),
            (701.0, 74.643_727_962_346_27),
            (1e5, 894.395_787_357_050_2),
        ] {
            let found = mu_of_pure(epsilon).unwrap();
            assert!(exact * (1.0 - 1e-15) <= found, "{epsilon}: {found}");
            let slack = if epsilon <= 700.0 { 1e-9 } else { 1e-3 };
            assert!(found <= exact * (1.0 + slack), "{epsilon}: {found}");
        }
        assert_eq!(mu_of_pure(f64::INFINITY).unwrap(), f64::INFINITY);
        assert!(mu_of_pure(f64::NAN).is_err());
        let found: Vec<f64> = (0..1600).map(|e| mu_of_pure(f64::from(e)).unwrap()).collect();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
    }
    #[test]
    fn delta_in_floats_is_never_below_the_certified_one_and_close_to_it() {
        for mu in [1e-9, 1e-4, 0.02, 0.3, 1.0, 7.0, 60.0] {
            for part in [0.0, 1e-3, 0.5, 1.0, 3.0, 8.0, 30.0] {
                let epsilon = part * mu + mu * mu / 2.0;
                let exact = gaussian_delta(mu, epsilon).unwrap();
                let found = gaussian_delta_above(mu, epsilon).unwrap();
                assert!(exact.lower <= found, "{mu} {epsilon}: {found} {exact:?}");
                assert!(found <= exact.upper * (1.0 + 2e-6), "{mu} {epsilon}: {found} {exact:?}");
            }
        }
    }
    #[test]
    fn a_negative_loss_is_refused() {
        for (pure, epsilon) in [(-1.0, 1.0), (0.0, -1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
            let error = joined_delta(pure, 0.5, epsilon).unwrap_err();
            assert_eq!(error.kind(), "InvalidDistance", "{pure} {epsilon}");
        }
    }
    #[test]
    fn an_infinite_epsilon_leaves_only_infinite_losses() {
        let infinite = f64::INFINITY;
        for pure in [0.0, 1e-300, 1.0, f64::MAX] {
            assert_eq!(joined_delta(pure, 0.5, infinite), Ok(0.0), "{pure}");
            assert_eq!(joined_delta(pure, infinite, infinite), Ok(1.0), "{pure}");
            let error = joined_delta(pure, f64::NAN, infinite).unwrap_err();
            assert_eq!(error.kind(), "InvalidDistance", "{pure}");
            assert!(1e99 < joined_mu(pure, infinite, 1e-6).unwrap(), "{pure}");
        }
        for epsilon in [0.0, 1.0, infinite] {
            assert_eq!(joined_delta(infinite, 0.5, epsilon), Ok(1.0), "{epsilon}");
            assert_eq!(joined_mu(infinite, epsilon, 1e-6), Ok(0.0), "{epsilon}");
        }
        assert_eq!(joined_epsilon(infinite, 0.5, 1e-6), Ok(infinite));
    }
    #[test]
    fn a_pure_loss_shifts_a_gaussian_profile_by_less_than_itself() {
        let (pure, mu) = (0.4, 0.15);
        // Integrate on a fine grid over the loss of the Gaussian noise, which has the law
        // `N(mu^2 / 2, mu^2)`.
        let direct = |epsilon: f64| -> f64 {
            let p = 1.0 / (1.0 + f64::exp(-pure));
            [(p, pure), (1.0 - p, -pure)]
                .map(|(mass, loss)| {
                    (-80_000..80_000)
                        .map(|step| {
                            let z = f64::from(step) / 10_000.0;
                            let density = 0.398_942_280_401_432_7 * f64::exp(-z * z / 2.0) / 1e4;
                            let total = loss + mu * mu / 2.0 + mu * z;
                            mass * density * (1.0 - f64::exp(epsilon - total)).max(0.0)
                        })
                        .sum::<f64>()
                })
                .iter()
                .sum()
        };
        for epsilon in [0.5, 0.8, 1.0] {
            let found = joined_delta(pure, mu, epsilon).unwrap();
            assert!((found / direct(epsilon) - 1.0).abs() < 1e-5, "{epsilon} {found}");
            assert!(found < gaussian_delta(mu, epsilon - pure).unwrap().lower);
            let back = joined_mu(pure, epsilon, found).unwrap();
            assert!(back <= mu * (1.0 + 1e-9) && mu * (1.0 - 2e-6) < back, "{back}");
            let back = joined_epsilon(pure, mu, found * (1.0 + 1e-12)).unwrap();
            assert!(epsilon * (1.0 - 1e-9) <= back && back < epsilon * (1.0 + 2e-6), "{back}");
        }
        assert_eq!(joined_mu(0.4, 0.3, 1e-6).unwrap(), 0.0);
        assert_eq!(joined_mu(0.0, 1.0, 0.0).unwrap(), 0.0);
        assert_eq!(joined_epsilon(0.4, 0.0, 0.0).unwrap(), 0.4);
        assert_eq!(joined_epsilon(0.0, 0.1, 0.0).unwrap(), f64::INFINITY);
    }
}
