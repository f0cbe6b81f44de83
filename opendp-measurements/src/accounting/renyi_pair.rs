//! Pairs known only by their Renyi divergences.

use std::fmt;

use opendp_core::RenyiCurve;

use super::curve_pair::by_curve;
use super::pair::{Buckets, DominatingPair, Grid};
use super::profile::NEGLIGIBLE;
use super::{CurvePair, renyi_delta, renyi_epsilon};

/// A pair for a mechanism that is known only by bounds on its Renyi divergence of every order.
///
/// The bounds of such mechanisms are added at each order (Mironov 2017, on composition). The sum of
/// the bounds is converted to a profile. If an account has other pairs, this profile is composed
/// with the other pairs, as a [`CurvePair`].
#[derive(Clone)]
pub struct RenyiPair {
    renyi: RenyiCurve,
    curve: CurvePair,
}

impl RenyiPair {
    /// Make a pair from a function that returns a bound on the divergence of each order.
    pub fn new(renyi: RenyiCurve) -> Self {
        let (first, second) = (renyi.clone(), renyi.clone());
        let reach =
            move || renyi_epsilon(|a| first.epsilon(a), NEGLIGIBLE).unwrap_or(f64::INFINITY);
        let delta = move |epsilon| renyi_delta(|a| second.epsilon(a), epsilon).unwrap_or(1.0);
        RenyiPair { renyi, curve: CurvePair::reaching(reach, delta) }
    }
}
impl fmt::Debug for RenyiPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RenyiPair").field(&self.curve).finish()
    }
}
impl DominatingPair for RenyiPair {
    by_curve!();
    fn renyi(&self) -> Option<RenyiCurve> {
        Some(self.renyi.clone())
    }
}

#[cfg(test)]
mod tests {
    use opendp_core::{PrivacyProfile, Result};

    use super::super::*;
    use super::*;

    fn linear(rho: f64) -> PrivacyProfile {
        profile_of_renyi(RenyiCurve::new(move |order| Ok(order * rho))).unwrap()
    }
    fn epsilon(profiles: &[PrivacyProfile]) -> Result<f64> {
        PrivacyProfile::compose(profiles)?.epsilon(1e-6)
    }

    #[test]
    fn renyi_divergences_are_added_at_each_order_and_converted_once() {
        let many: Vec<_> = (0..1000).map(|i| linear(1e-4 * f64::from(1 + i % 3))).collect();
        let rho = 1e-4 * (334.0 + 2.0 * 333.0 + 3.0 * 333.0);
        let (found, exact) = (epsilon(&many).unwrap(), concentrated_epsilon(rho, 1e-6).unwrap());
        assert!((found / exact - 1.0).abs() < 1e-9, "{found} {exact}");
        // A known `rho` gives a bound at every order. These bounds are also added.
        let mixed = [linear(0.02), profile_of_concentrated(0.03).unwrap(), linear(0.05)];
        let (found, exact) = (epsilon(&mixed).unwrap(), concentrated_epsilon(0.1, 1e-6).unwrap());
        assert!((found / exact - 1.0).abs() < 1e-9, "{found} {exact}");
    }
}
