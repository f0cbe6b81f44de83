use opendp_core::arith::Exact;
use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, Distance, Function, MaxDivergence, Measurement,
    PrivacyMap, SmoothedMaxDivergence, Space, TheMeasure, ZeroConcentratedDivergence,
};

use super::*;
use crate::{Scale, make_gaussian, make_laplace};

type Numbers = AtomDomain<i32>;
type Change = AbsoluteDistance<i32>;

fn numbers() -> Space<Numbers, Change> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
fn costing<MO: Measure>(measure: MO, loss: MO::Distance) -> Measurement<Numbers, Change, MO, i32> {
    let map = PrivacyMap::new(move |_| Ok(loss.clone()));
    Measurement::new(numbers(), measure, Function::map(|_| Ok(0)), map)
}

/// Return whether the reports of an odometer are correct after each of 1000 equal questions.
/// Correct reports do not decrease. After `k` questions, the epsilon of a correct report is at most
/// the exact sum, rounded up. If `k` questions fail independently, at least one of them fails with
/// probability `1 - (1 - delta)^k`. The delta of a correct report is at least this probability.
fn sound(epsilon: f64, delta: f64, report: impl Fn(u32) -> (f64, f64)) -> bool {
    let exact = |x: f64| Exact::from_f64(x).unwrap();
    let (mut before, mut none_failed) = ((0.0, 0.0), 1.0_f64);
    (1..=1000).all(|k| {
        none_failed *= 1.0 - delta;
        let now = report(k);
        let limit = exact(epsilon).times(&exact(f64::from(k)));
        let fair = before.at_most(&now).unwrap()
            && 1.0 - none_failed - 1e-12 <= now.1
            && exact(now.0.next_down()) < limit;
        before = now;
        fair
    })
}
#[test]
fn a_thousand_equal_questions_are_reported_soundly() {
    for (epsilon, delta) in [(0.1, 1e-2), (0.01, 1e-6), (1.0, 0.5)] {
        let measure = Approximate(MaxDivergence);
        let odometer = make_fully_adaptive_composition(numbers(), TheMeasure(measure)).unwrap();
        let session = odometer.invoke(&7).unwrap();
        let question = costing(measure, (epsilon, delta));
        assert!(sound(epsilon, delta, |_| {
            session.ask(&question).unwrap();
            session.loss(&1).unwrap()
        }));
        // The controls are three wrong reports: a delta that is too small, a delta that decreases
        // between two reports, and an epsilon that is too large.
        assert!(!sound(epsilon, delta, |k| (f64::from(k) * epsilon, delta)));
        assert!(!sound(epsilon, delta, |k| (epsilon, 1.0 / f64::from(k))));
        assert!(!sound(epsilon, delta, |k| (f64::from(k + 1) * epsilon, 1.0)));
    }
}
#[test]
fn says_the_loss_at_any_distance_and_again_after_more_questions() {
    let odometer = make_fully_adaptive_composition(numbers(), TheMeasure(MaxDivergence)).unwrap();
    let session = odometer.invoke(&7).unwrap();
    let tenth = make_laplace(numbers(), Scale::new(10.0).unwrap(), None).unwrap();
    assert_eq!(session.loss(&1).unwrap(), 0.0);
    for asked in 1..=10 {
        session.ask(&tenth).unwrap();
        for d_in in 0..12 {
            let exact: Exact = format!("{}e-1", asked * d_in).parse().unwrap();
            assert_eq!(session.loss(&d_in).unwrap(), exact.to_f64_up());
        }
    }
    assert_eq!(session.loss(&-1).unwrap_err().kind(), "FailedMap");
    assert_eq!(session.left().unwrap_err().kind(), "NotImplemented");
    session.ask(&make_laplace(numbers(), Scale::new(0.0).unwrap(), None).unwrap()).unwrap();
    assert_eq!((session.loss(&0).unwrap(), session.loss(&1).unwrap()), (0.0, f64::INFINITY));
}
#[test]
fn adds_rho_without_rounding() {
    let measure = TheMeasure(ZeroConcentratedDivergence);
    let session = make_fully_adaptive_composition(numbers(), measure).unwrap().invoke(&7).unwrap();
    for _ in 0..50 {
        session.ask(&make_gaussian(numbers(), Scale::new(5.0).unwrap(), None).unwrap()).unwrap();
    }
    assert_eq!(session.loss(&1).unwrap(), 1.0);
}
#[test]
fn refuses_measures_whose_losses_have_no_parts() {
    let error = make_fully_adaptive_composition(numbers(), TheMeasure(SmoothedMaxDivergence));
    assert_eq!(error.unwrap_err().kind(), "MakeMeasurement");
}
