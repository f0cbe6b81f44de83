//! Dominating pairs for mechanisms that are known only by a zero-concentrated loss.

use std::fmt;

use super::curve_pair::by_curve;
use super::pair::{Buckets, DominatingPair, Grid};
use super::profile::NEGLIGIBLE;
use super::{CurvePair, concentrated_delta, concentrated_epsilon};

/// A pair for a mechanism that is known only to be `rho`-zero-concentrated differentially private.
///
/// Compositions of such mechanisms are `(sum rho)`-zero-concentrated (Bun, Steinke 2016, Lemma
/// 2.3). So an account contains at most one such pair, with the sum of all `rho`. The account
/// converts this pair to a profile once. If the account has other pairs, the profile is composed
/// with the other pairs, as a [`CurvePair`].
#[derive(Clone)]
pub struct ConcentratedPair {
    rho: f64,
    curve: CurvePair,
}

impl ConcentratedPair {
    /// Make a pair from a `rho`. The `rho` must be at least 0.
    pub fn new(rho: f64) -> Self {
        let reach = move || concentrated_epsilon(rho, NEGLIGIBLE).unwrap_or(f64::INFINITY);
        let delta = move |epsilon| concentrated_delta(rho, epsilon).unwrap_or(1.0);
        ConcentratedPair { rho, curve: CurvePair::reaching(reach, delta) }
    }
}
impl fmt::Debug for ConcentratedPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcentratedPair").field("rho", &self.rho).finish()
    }
}
impl DominatingPair for ConcentratedPair {
    by_curve!();
    fn concentrated(&self) -> Option<f64> {
        Some(self.rho)
    }
}

#[cfg(test)]
mod tests {
    use opendp_core::PrivacyProfile;

    use super::super::*;

    fn all(profiles: &[PrivacyProfile]) -> PrivacyProfile {
        PrivacyProfile::compose(profiles).unwrap()
    }

    #[test]
    fn losses_of_which_only_rho_is_known_are_added_and_converted_once() {
        let single = profile_of_concentrated(1.0 / 32.0).unwrap();
        let epsilon = all(&vec![single.clone(); 100]).epsilon(1e-6).unwrap();
        assert_eq!(epsilon, concentrated_epsilon(3.125, 1e-6).unwrap());
        // The bound stays the same in two other cases. In the first case, some of the given
        // profiles are themselves compositions of copies of `single`. In the second case, each
        // profile is constructed separately.
        let parts = [all(&vec![single.clone(); 60]), single.clone(), all(&vec![single; 39])];
        assert_eq!(all(&parts).epsilon(1e-6).unwrap(), epsilon);
        let many: Vec<_> = (0..100).map(|_| profile_of_concentrated(1.0 / 32.0).unwrap()).collect();
        assert_eq!(all(&many).epsilon(1e-6).unwrap(), epsilon);
        assert_eq!(all(&many).epsilon(0.0).unwrap(), f64::INFINITY);
    }
    #[test]
    fn a_composition_is_never_above_what_the_sum_of_rho_says() {
        let list = [
            profile_of_concentrated(0.02).unwrap(),
            profile_of_gaussian(1.0, 3.0).unwrap(),
            profile_of_discrete_laplace(1.0, 8.0).unwrap(),
            profile_of_discrete_gaussian(1.0, 9.0).unwrap(),
        ];
        let rho = 0.02 + 1.0 / 18.0 + 0.125 * (0.0625f64).tanh() + 1.0 / 162.0;
        let found = all(&list);
        for delta in [1e-3, 1e-6, 1e-9, 1e-12] {
            let epsilon = found.epsilon(delta).unwrap();
            assert!(epsilon <= concentrated_epsilon(rho * (1.0 + 1e-12), delta).unwrap());
            // The composition has a larger epsilon than the Gaussian noise alone.
            assert!(gaussian_epsilon(1.0 / 3.0, delta).unwrap().upper < epsilon);
        }
    }
}
