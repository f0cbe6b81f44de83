//! Tests of pairs that are equal only to themselves, and of infinite losses.

use super::*;
use crate::accounting::pair::{Buckets, Grid};
use crate::accounting::{
    BoundedRangePair, DiscreteGaussianPair, FinitePair, LaplacePair, PrivatePair,
    SampledGaussianPair, SampledPair, profile_of_gaussian, profile_of_private,
};
use opendp_core::{MaxDivergence, Measure, PrivacyProfile};
use std::fmt;

/// A pair with an empty `Debug` text.
pub(in crate::accounting) struct Unnamed(pub(in crate::accounting) Arc<dyn DominatingPair>);
impl fmt::Debug for Unnamed {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
impl DominatingPair for Unnamed {
    fn range(&self, tail: f64) -> (f64, f64) {
        self.0.range(tail)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        self.0.buckets(grid)
    }
    fn most(&self) -> f64 {
        self.0.most()
    }
    fn only_above(&self) -> bool {
        self.0.only_above()
    }
    fn concentrated(&self) -> Option<f64> {
        self.0.concentrated()
    }
}
fn pure(epsilon: f64) -> Arc<dyn DominatingPair> {
    Arc::new(Unnamed(Arc::new(LaplacePair { epsilon })))
}

#[test]
fn wrappers_of_pairs_without_a_name_are_different() {
    let sample = |epsilon| SampledPair::of(pure(epsilon), 0.5, true);
    let account = Account::new().with(sample(0.01), 1).with(sample(5.0), 1);
    assert_eq!(account.parts().len(), 2);
    assert!(4.0 < account.epsilon_above(0.0).unwrap());
    // The control: copies of one wrapper are joined.
    let same = sample(0.01);
    assert_eq!(Account::new().with(same.clone(), 1).with(same, 1).parts().len(), 1);
}
#[test]
fn a_joined_rho_does_not_keep_the_name_of_its_first_pair() {
    let rho = |rho: f64| Arc::new(Unnamed(Arc::new(ConcentratedPair::new(rho))));
    let first = rho(0.01);
    let address: Arc<str> = format!("{:p}", Arc::as_ptr(&first)).into();
    let account = Account::new().with(first, 1).with(rho(0.02), 1);
    assert_eq!(account.parts().len(), 1);
    assert!(!account.names.contains(&address) && !account.places.contains_key(&address));
    let account = account.with(Arc::new(ConcentratedPair::new(0.03)), 1);
    assert_eq!(account.parts().len(), 1);
    assert!((account.rho().unwrap() - 0.06).abs() < 1e-12);
}
#[test]
fn delta_at_an_infinite_epsilon_is_the_mass_of_infinite_losses() {
    let half = FinitePair::new(vec![0.5, 0.5], vec![1.0, 0.0]).unwrap();
    let account = Account::new().with(Arc::new(half), 1);
    let delta = account.delta_above(f64::INFINITY).unwrap();
    assert!((0.5..0.500_001).contains(&delta), "{delta}");
    let profiles = [profile_of_private(1.0, 0.1).unwrap(), profile_of_gaussian(1.0, 1.0).unwrap()];
    let delta = PrivacyProfile::compose(&profiles).unwrap().delta(f64::INFINITY).unwrap();
    assert!((0.1..0.101).contains(&delta), "{delta}");
    // The control: if all losses are finite, delta at an infinite epsilon is 0.
    let finite = Account::new().with(Arc::new(PrivatePair { epsilon: 3.0, delta: 0.0 }), 9);
    assert_eq!(finite.delta_above(f64::INFINITY).unwrap(), 0.0);
}
#[test]
fn without_a_delta_the_lower_bound_on_epsilon_is_finite() {
    let account = Account::new().with(Arc::new(LaplacePair { epsilon: 1.0 }), 3);
    let epsilon = account.epsilon(0.0).unwrap();
    assert!(epsilon.lower <= 3.0 && epsilon.upper == 3.0, "{epsilon:?}");
    assert_eq!(Account::new().epsilon(0.0).unwrap(), Certified { lower: 0.0, upper: 0.0 });
}
#[test]
fn an_epsilon_that_is_not_a_distance_is_an_error() {
    let accounts = [Account::new(), Account::new().with(Arc::new(LaplacePair { epsilon: 1.0 }), 1)];
    for account in accounts {
        for bad in [f64::NAN, -1.0] {
            for found in [account.delta_above(bad), account.delta_below(bad)] {
                assert_eq!(found.unwrap_err().kind(), "InvalidDistance");
            }
        }
        assert!(account.delta_above(0.0).unwrap() < 1.0);
    }
}
#[test]
fn an_infinite_pure_loss_joins_a_known_loss() {
    let exact = MaxDivergence.profile(&f64::INFINITY).unwrap();
    let both = PrivacyProfile::compose(&[exact, profile_of_gaussian(1.0, 1.0).unwrap()]).unwrap();
    for epsilon in [0.0, 1.0, f64::MAX, f64::INFINITY] {
        assert_eq!(both.delta(epsilon), Ok(1.0), "{epsilon}");
    }
}
/// Most of the mass of a composition can have an infinite loss. Check numbers `n` of releases for
/// which `(1 - delta)^n` is above, at and below the smallest positive result of `exp`.
#[test]
fn releases_that_reveal_almost_surely_have_a_delta_of_one() {
    let revealing =
        |count: u64| Account::new().with(Arc::new(PrivatePair { epsilon: 0.1, delta: 0.3 }), count);
    for count in [1900, 1962, 1963, 1975, 1987, 1988, 3000] {
        for epsilon in [0.0, 1.0, 1000.0] {
            assert_eq!(revealing(count).delta_above(epsilon), Ok(1.0), "{count} {epsilon}");
        }
        assert_eq!(revealing(count).epsilon_above(0.5), Ok(f64::INFINITY), "{count}");
    }
    let few = revealing(2).delta_above(10.0).unwrap();
    assert!((0.51..0.51 * 1.000_001).contains(&few), "{few}");
    // With a probability above 0.24, both releases have their largest loss, 1394.
    let sharp = Account::new().with(Arc::new(LaplacePair { epsilon: 1394.0 }), 2);
    let sharp = sharp.delta_above(2000.0).unwrap();
    assert!(0.24 < sharp, "{sharp}");
}
#[test]
fn the_square_of_a_distance_is_rounded_up() {
    // The exact square is 9007199515875289, an odd number above `2^53`.
    let pair = DiscreteGaussianPair { sensitivity: 94_906_267, scale: 1e9 };
    assert_eq!(pair.integer_gaussian().unwrap().0, 9_007_199_515_875_290.0);
}
#[test]
fn a_choice_of_range_zero_has_no_loss() {
    let nothing = Account::new().with(Arc::new(BoundedRangePair { epsilon: 0.0 }), 3);
    let none = Certified { lower: 0.0, upper: 0.0 };
    assert_eq!(nothing.delta(0.5).unwrap(), none);
    let laplace = |account: Account| account.with(Arc::new(LaplacePair { epsilon: 1.0 }), 2);
    let (found, exact) = (laplace(nothing), laplace(Account::new()));
    let (found, exact) = (found.delta(0.5).unwrap(), exact.delta(0.5).unwrap());
    assert!(exact.lower <= found.upper && found.lower <= exact.upper, "{found:?} {exact:?}");
    assert!(found.upper <= exact.upper * 1.001, "{found:?} {exact:?}");
}
#[test]
fn a_delta_far_beyond_all_likely_losses_is_tiny() {
    // The standard deviation of the total loss is about 0.0003.
    let pair = SampledGaussianPair { mu: 0.1, rate: 1e-5, removed: true };
    let account = Account::new().with(Arc::new(pair), 100_000);
    let found: Vec<f64> =
        [0.01, 0.1, 0.5, 2.0, 5.0].map(|x| account.delta_above(x).unwrap()).into();
    assert!(found.iter().all(|delta| *delta < 1e-100), "{found:?}");
    // A release that reveals everything with probability 0.1 keeps its delta.
    let revealing = account.with(Arc::new(PrivatePair { epsilon: 0.0, delta: 0.1 }), 1);
    assert!(0.1 <= revealing.delta_above(2.0).unwrap());
}
