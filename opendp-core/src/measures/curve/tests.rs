//! Tests of profiles and curves.

use super::*;
use crate::{Approximate, MaxDivergence, Measure};

#[test]
fn finds_the_epsilon_of_a_delta() {
    let profile = PrivacyProfile::new(|epsilon| Ok(1.0 / (1.0 + epsilon)));
    let epsilon = profile.epsilon(0.25).unwrap();
    assert!(profile.delta(epsilon).unwrap() <= 0.25 && (epsilon - 3.0).abs() < 1e-12);
    assert_eq!(profile.epsilon(1.0).unwrap(), 0.0);
    assert_eq!(PrivacyProfile::new(|_| Ok(0.5)).epsilon(0.4).unwrap(), f64::INFINITY);
    assert_eq!(PrivacyProfile::new(|_| Ok(0.5)).epsilon(0.5).unwrap(), 0.0);
    for delta in [-0.0, -1.0, 1.5, f64::NAN] {
        assert_eq!(profile.epsilon(delta).unwrap_err().kind(), "InvalidDistance");
    }
    assert!(profile.delta(-1.0).is_err() && profile.delta(f64::NAN).is_err());
}
#[test]
fn composes_without_a_known_loss_by_adding_deltas_at_a_share_of_epsilon() {
    let profile = || PrivacyProfile::from_points(vec![(1.0, 0.25), (2.0, 0.0)]);
    let both = PrivacyProfile::compose(&[profile(), profile()]).unwrap();
    assert_eq!([1.0, 2.0, 4.0].map(|e| both.delta(e).unwrap()), [1.0, 0.5, 0.0]);
    assert_eq!(PrivacyProfile::compose(&[]).unwrap().delta(0.0).unwrap(), 0.0);
    assert_eq!(PrivacyProfile::compose(&[profile()]).unwrap().delta(1.0).unwrap(), 0.25);
}
#[test]
fn a_curve_that_fails_everywhere_is_not_written_as_an_empty_one() {
    let fails = || Err(Error::Overflow("the loss exceeds all floats".into()));
    let profile = PrivacyProfile::new(move |_| fails());
    assert_eq!(profile.written().unwrap_err().kind(), "Overflow");
    assert_eq!(RenyiCurve::new(move |_| fails()).written().unwrap_err().kind(), "Overflow");
    let late = PrivacyProfile::new(move |epsilon| if epsilon < 1.0 { fails() } else { Ok(0.5) });
    assert_eq!(late.written().unwrap(), late.to_json());
    assert_eq!(late.to_json()["profile"][0], json!([1.0, 0.5]));
}
#[test]
fn asks_the_loss_that_it_carries() {
    struct Known;
    impl ComposableLoss for Known {
        fn delta(&self, _: f64) -> Result<f64> {
            Ok(0.125)
        }
        fn epsilon(&self, _: f64) -> Result<f64> {
            Ok(7.0)
        }
        fn compose(&self, profiles: &[PrivacyProfile]) -> Result<PrivacyProfile> {
            let count = profiles.len() as f64;
            Ok(PrivacyProfile::new(move |_| Ok(1.0 / count)))
        }
    }
    let known = PrivacyProfile::of_loss(Arc::new(Known));
    assert_eq!((known.delta(1.0).unwrap(), known.epsilon(0.5).unwrap()), (0.125, 7.0));
    let plain = PrivacyProfile::new(|_| Ok(0.5));
    let both = PrivacyProfile::compose(&[plain, known.clone()]).unwrap();
    assert_eq!(both.delta(0.0).unwrap(), 0.5);
    assert_eq!(known.with_delta(|_| Ok(0.0)).delta(1.0).unwrap(), 0.0);
    assert_eq!(ComposableLoss::delta_below(&Known, 1.0).unwrap(), 0.0);
}
#[test]
fn an_inverse_that_returns_no_epsilon_is_an_error() {
    for wrong in [-1.0, f64::NAN] {
        let profile = PrivacyProfile::new(|_| Ok(0.5)).with_epsilon(move |_| Ok(wrong));
        assert_eq!(profile.epsilon(0.1).unwrap_err().kind(), "FailedMap");
    }
    let infinite = PrivacyProfile::new(|_| Ok(0.5)).with_epsilon(|_| Ok(f64::INFINITY));
    assert_eq!(infinite.epsilon(0.1).unwrap(), f64::INFINITY);
}
#[test]
fn reads_points_as_a_step_that_is_never_too_small() {
    let profile = PrivacyProfile::from_points(vec![(1.0, 0.1), (2.0, 0.01)]);
    assert_eq!([0.5, 1.0, 1.5, 3.0].map(|e| profile.delta(e).unwrap()), [1.0, 0.1, 0.1, 0.01]);
}
#[test]
fn a_profile_that_is_read_is_never_below_the_one_that_was_written() {
    let profile = PrivacyProfile::from_table(vec![(0.3, 0.4), (1.1, 0.1), (2.3, 0.01)]).unwrap();
    let again = PrivacyProfile::from_json(&profile.to_json()).unwrap();
    for epsilon in [0.0, 0.2, 0.6, 1.0, 1.7, 3.0, 9.0, 90.0] {
        let (written, read) = (profile.delta(epsilon).unwrap(), again.delta(epsilon).unwrap());
        assert!(written <= read * (1.0 + 1e-12), "{epsilon}: {written} {read}");
    }
    // If a delta exceeds the delta at the previous point, the smaller delta is written for both
    // points.
    let wobbles = PrivacyProfile::new(|epsilon| Ok(if epsilon < 3.0 { 0.1 } else { 0.2 }));
    let again = PrivacyProfile::from_json(&wobbles.to_json()).unwrap();
    assert_eq!(again.delta(4.0).unwrap(), 0.1);
    assert!(PrivacyProfile::from_json(&json!({"profile": [[1.0, -5.0]]})).is_err());
}

#[test]
fn an_infinite_loss_has_the_delta_one_at_every_epsilon() {
    let exact = MaxDivergence.profile(&f64::INFINITY).unwrap();
    let approximate = Approximate(MaxDivergence).profile(&(f64::INFINITY, 0.0)).unwrap();
    let private = MaxDivergence.profile(&1.0).unwrap();
    let both = PrivacyProfile::compose(&[exact.clone(), private.clone()]).unwrap();
    for epsilon in [0.0, 1.0, f64::MAX, f64::INFINITY] {
        for profile in [&exact, &approximate, &both] {
            assert_eq!(profile.delta(epsilon), Ok(1.0), "{epsilon}");
        }
    }
    assert_eq!(exact.epsilon(0.5), Ok(f64::INFINITY));
    assert_eq!(private.delta(f64::INFINITY), Ok(0.0));
}
#[test]
fn a_curve_with_a_bound_below_zero_is_an_error() {
    for bad in [-1e-300, -1.0, f64::NEG_INFINITY, f64::NAN] {
        let curve = RenyiCurve::new(move |_| Ok(bad));
        assert_eq!(curve.epsilon(2.0).unwrap_err().kind(), "FailedMap");
    }
    let read = RenyiCurve::from_json(&json!({"renyi": [[64, -999.99]]})).unwrap();
    assert_eq!(read.epsilon(2.0).unwrap_err().kind(), "FailedMap");
    assert_eq!(RenyiCurve::new(|_| Ok(0.0)).epsilon(2.0), Ok(0.0));
}
#[test]
fn a_profile_with_a_bound_of_nan_or_below_zero_is_an_error() {
    for bad in [-1e-300, -1.0, f64::NEG_INFINITY, f64::NAN] {
        let profile = PrivacyProfile::new(move |_| Ok(bad));
        assert_eq!(profile.delta(1.0).unwrap_err().kind(), "FailedMap");
        assert_eq!(profile.epsilon(1e-6).unwrap_err().kind(), "FailedMap");
    }
    assert_eq!(PrivacyProfile::new(|_| Ok(0.0)).delta(1.0), Ok(0.0));
    assert_eq!(PrivacyProfile::new(|_| Ok(7.0)).delta(1.0), Ok(1.0));
}
