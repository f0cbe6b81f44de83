//! Gaussian differential privacy. This file defines a privacy measure.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{
    Error, Measure, PrivacyProfile, Result, TheMeasure, descriptor, named, register,
};
use serde_json::Value as Json;

/// Gaussian differential privacy (mu-GDP): the loss is the number mu.
///
/// Take two tasks. The first task is to distinguish two neighbours by a release. The second task is
/// to distinguish two normal distributions, with variance 1 and means 0 and mu, by one draw. A
/// mechanism is mu-GDP if the first task is at least as hard as the second (Dong, Roth, Su 2022,
/// "Gaussian Differential Privacy", Definition 4).
///
/// The losses `mu_1` to `mu_n` of several mechanisms compose as `sqrt(mu_1^2 + ... + mu_n^2)`
/// (Corollary 2 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GaussianTradeoff;

impl Measure for GaussianTradeoff {
    type Distance = f64;
    fn to_json(&self) -> Json {
        descriptor("acme::gaussian_tradeoff", [])
    }
    /// Compute the root of the sum of the squares of the losses. Each operation rounds up. A single
    /// loss stays unchanged.
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        if losses.iter().any(|loss| loss.is_nan()) {
            return Err(Error::FailedMap("a loss in the composition is NaN".into()));
        }
        if losses.contains(&f64::INFINITY) {
            return Ok(f64::INFINITY);
        }
        if let [loss] = losses {
            return Ok(*loss);
        }
        losses.iter().try_fold(0.0, |sum: f64, mu| sum.inf_add(mu.inf_mul(*mu)?))?.inf_sqrt()
    }
    /// Return the upper bound `exp(-t^2 / 2) / 2` on delta, for `t = epsilon / mu - mu / 2 > 0`. If
    /// `t` is not above 0, or if `mu` is infinite, return the bound 1. If `mu` is 0, or if only
    /// `epsilon` is infinite, return 0.
    ///
    /// Let `Phi` be the distribution function of a standard normal variable. A mu-GDP mechanism is
    /// (epsilon, delta)-DP for `delta = Phi(-t) - exp(epsilon) Phi(-t - mu)` (Corollary 1 of the
    /// paper). This delta is at most `Phi(-t)`. Let `x = exp(-t^2 / 2)`. Take two independent
    /// standard normal variables. The probability of the square `[-t, t]^2` is `(1 - 2 Phi(-t))^2`.
    /// The probability of the disk of radius `t` inside this square is `1 - x`. So
    /// `2 Phi(-t) <= 1 - sqrt(1 - x) <= x`.
    fn profile(&self, loss: &f64) -> Result<PrivacyProfile> {
        let mu = *loss;
        Ok(PrivacyProfile::new(move |epsilon| {
            if mu == 0.0 {
                return Ok(0.0);
            }
            if mu == f64::INFINITY {
                return Ok(1.0);
            }
            if epsilon == f64::INFINITY {
                return Ok(0.0);
            }
            // Round t down, because a smaller t gives a larger bound on delta.
            let t = epsilon.neg_inf_div(mu)?.neg_inf_sub(mu.inf_div(2.0)?)?;
            if !(0.0 < t) {
                return Ok(1.0);
            }
            let exponent = t.neg_inf_mul(t)?.neg_inf_div(2.0)?;
            (-exponent).inf_exp()?.inf_div(2.0)
        }))
    }
}
named!(GaussianTradeoff as "acme::GaussianTradeoff");

/// Measure the loss by the number mu of Gaussian differential privacy.
pub fn gaussian_tradeoff() -> Result<TheMeasure<GaussianTradeoff>> {
    Ok(TheMeasure(GaussianTradeoff))
}
register! { "gaussian_tradeoff.rs": gaussian_tradeoff as ["acme::gaussian_tradeoff"](); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composes_as_the_root_of_the_sum_of_squares() {
        let compose = |losses: &[f64]| GaussianTradeoff.compose(losses);
        assert_eq!(compose(&[3.0, 4.0]).unwrap(), 5.0);
        assert_eq!(compose(&[0.5; 4]).unwrap(), 1.0);
        assert_eq!(compose(&[]).unwrap(), 0.0);
        assert_eq!(compose(&[0.1]).unwrap(), 0.1);
        assert_eq!(compose(&[1.0, f64::INFINITY]).unwrap(), f64::INFINITY);
        assert_eq!(compose(&[f64::NAN]).unwrap_err().kind(), "FailedMap");
        // The composed loss is rounded up, so its square is at least the exact sum 0.1^2 + 0.1^2.
        let both = compose(&[0.1, 0.1]).unwrap();
        assert!(2.0 * 0.1 * 0.1 <= both * both && both < 0.141_421_356_3);
    }
    #[test]
    fn bounds_delta_from_above_and_not_absurdly() {
        // `exact` is the delta of 1-GDP, rounded down.
        let profile = GaussianTradeoff.profile(&1.0).unwrap();
        for (epsilon, exact) in [(1.0, 0.126_936_7), (2.0, 0.020_923_6), (4.0, 4.71e-5)] {
            let delta = profile.delta(epsilon).unwrap();
            assert!(exact <= delta && delta < 30.0 * exact, "{epsilon}: {delta}");
        }
        assert_eq!(profile.delta(0.0).unwrap(), 1.0);
        assert!(profile.epsilon(1e-6).unwrap() < 6.0);
    }
    #[test]
    fn knows_the_profiles_at_the_ends() {
        let delta = |mu: f64, epsilon| GaussianTradeoff.profile(&mu).unwrap().delta(epsilon);
        assert_eq!(delta(0.0, 0.0).unwrap(), 0.0);
        assert_eq!(delta(f64::INFINITY, 9.0).unwrap(), 1.0);
        assert_eq!(delta(1.0, f64::INFINITY).unwrap(), 0.0);
    }
}
