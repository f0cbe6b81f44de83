//! Tests of the composition of measurements that are known in advance.

use opendp_core::erased::AnyDistance;
use opendp_core::{
    AbsoluteDistance, AtomDomain, MaxDivergence, PrivacyProfile, SmoothedMaxDivergence, Space,
    ZeroConcentratedDivergence,
};

use super::*;
use crate::{Scale, make_laplace, make_laplace_in};

type Numbers = AtomDomain<i32>;
type Noise = Measurement<Numbers, AbsoluteDistance<i32>, MaxDivergence, i32>;

fn numbers() -> Space<Numbers, AbsoluteDistance<i32>> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
fn noise(scale: f64) -> Noise {
    make_laplace(numbers(), Scale::new(scale).unwrap(), None).unwrap()
}
/// Make a measurement with a constant release. At every distance, its loss is the given loss.
fn constant<MO: Measure>(
    measure: MO,
    loss: MO::Distance,
) -> Measurement<Numbers, AbsoluteDistance<i32>, MO, i32> {
    let map = PrivacyMap::new(move |_| Ok(loss.clone()));
    Measurement::new(numbers(), measure, Function::map(|_: &i32| Ok(0)), map)
}

#[test]
fn a_repeated_member_is_asked_for_its_loss_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let map = PrivacyMap::new(move |_: &i32| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(0.5)
    });
    let function = Function::map(|_: &i32| Ok(0));
    let mut made = Measurement::new(numbers(), MaxDivergence, function, map).erase();
    let distance = AnyDistance::new(1);
    for (thousands, total) in [(1, 500.0), (2, 500_000.0), (3, 500_000_000.0)] {
        made = make_composition(vec![made; 1000]).unwrap().erase();
        asked.store(0, Ordering::Relaxed);
        assert_eq!(made.map(&distance).unwrap().downcast_ref::<f64>(), Ok(&total), "{thousands}");
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{thousands}");
    }
}
#[test]
fn adds_losses_once_rounded() {
    let both = make_composition(vec![noise(1.0), noise(2.0)]).unwrap();
    assert_eq!(both.map(&1).unwrap(), 1.5);
    assert_eq!(both.map(&0).unwrap(), 0.0);
    assert_eq!(both.map(&-1).unwrap_err().kind(), "FailedMap");
    let none = make_composition(vec![noise(1.0), noise(0.0)]).unwrap();
    assert_eq!((none.map(&0).unwrap(), none.map(&1).unwrap()), (0.0, f64::INFINITY));
    let rhos = [0.5, 0.125].map(|rho| constant(ZeroConcentratedDivergence, rho));
    assert_eq!(make_composition(rhos.to_vec()).unwrap().map(&1).unwrap(), 0.625);
}
#[test]
fn releases_every_answer_in_order_and_independently() {
    let exact = make_composition(vec![noise(0.0), noise(0.0)]).unwrap();
    assert_eq!(exact.invoke(&7).unwrap(), [7, 7]);
    let both = make_composition(vec![noise(0.0), noise(1e6), noise(1e6)]).unwrap();
    let answers = both.invoke(&7).unwrap();
    assert_eq!(answers[0], 7);
    let pairs: Vec<_> = (0..8).map(|_| both.invoke(&7).unwrap()).collect();
    assert!(pairs.iter().any(|answers| answers[1] != answers[2]));
}
#[test]
fn lists_the_accuracies() {
    let both = make_composition(vec![noise(1.0), noise(2.0)]).unwrap();
    assert_eq!(both.accuracy(0.05).unwrap(), [Some(3.0), Some(6.0)]);
    assert_eq!(both.accuracy(0.0).unwrap_err().kind(), "InvalidDistance");
}
#[test]
fn refuses_members_that_do_not_fit() {
    let none: Vec<Noise> = Vec::new();
    assert_eq!(make_composition(none).unwrap_err().kind(), "MakeMeasurement");

    let bounded = AtomDomain::bounded(opendp_core::Bounds::new(0, 9).unwrap());
    let bounded = Space::new(bounded, AbsoluteDistance::<i32>::new()).unwrap();
    let other = make_laplace(bounded, Scale::new(1.0).unwrap(), None).unwrap();
    let error = make_composition(vec![noise(1.0), other]).unwrap_err();
    assert_eq!(error.kind(), "DomainMismatch");
    assert!(error.to_string().starts_with("measurements[1]: "), "{error}");

    let other = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<f64>::new());
    let other = make_laplace(other.unwrap(), Scale::new(1.0).unwrap(), None).unwrap();
    let error = make_composition(vec![noise(1.0).erase(), other.erase()]).unwrap_err();
    assert_eq!(error.kind(), "MetricMismatch");

    let other = constant(ZeroConcentratedDivergence, 0.5).erase();
    let error = make_composition(vec![noise(1.0).erase(), other]).unwrap_err();
    assert_eq!(error.kind(), "MeasureMismatch");
}
#[test]
fn composes_profiles_as_tightly_as_their_losses_allow() {
    let noise = |scale| {
        let noise: Measurement<Numbers, AbsoluteDistance<i32>, SmoothedMaxDivergence, i32> =
            make_laplace_in(numbers(), Scale::new(scale).unwrap(), None).unwrap();
        noise
    };
    let many = make_composition(vec![noise(10.0); 100]).unwrap().map(&1).unwrap();
    let epsilon = many.epsilon(1e-5).unwrap();
    // At an epsilon that is 0.1 % smaller than the reported epsilon, the exact delta exceeds
    // the given delta. So the error of the reported epsilon is at most 0.1 %. For comparison,
    // basic composition gives an epsilon of 10.
    let loss = many.loss().unwrap();
    assert!(loss.delta_below(epsilon * 0.999).unwrap() > 1e-5);
    assert!(loss.delta(epsilon).unwrap() < 1.001e-5 && epsilon < 5.0);
    // If a profile does not contain the distribution of the loss, a composition uses only the
    // deltas of this profile.
    let profile = PrivacyProfile::from_points(vec![(0.5, 1e-9)]);
    let other = constant(SmoothedMaxDivergence, profile);
    let both = make_composition(vec![other.clone(), noise(1.0)]).unwrap().map(&1).unwrap();
    let epsilon = both.epsilon(1e-6).unwrap();
    assert!((1.4..1.7).contains(&epsilon), "{epsilon}");
    let plain = make_composition(vec![other.clone(), other]).unwrap().map(&1).unwrap();
    assert_eq!(plain.delta(1.0).unwrap(), 2e-9);
}
#[test]
fn joins_erased_members_of_different_types() {
    let text = noise(0.0).then(|| Ok(Function::map(|x: &i32| Ok(x.to_string())))).unwrap();
    let inner = make_composition(vec![noise(2.0).erase(), noise(1.0).erase()]).unwrap();
    // A composition can be a member of another composition after its list of answers is
    // converted to one answer.
    let inner =
        inner.then(|| Ok(Function::map(|all: &Vec<AnyValue>| Ok(AnyValue::new(all.clone())))));
    let both = make_composition(vec![text.erase(), inner.unwrap()]).unwrap();
    let answers = both.invoke(&AnyValue::new(7)).unwrap();
    assert_eq!(answers[0].downcast_ref::<String>().unwrap(), "7");
    assert_eq!(answers[1].downcast_ref::<Vec<AnyValue>>().unwrap().len(), 2);
    let total = both.map(&AnyDistance::new(0)).unwrap();
    assert_eq!(*total.downcast_ref::<f64>().unwrap(), 0.0);
    let error = both.map(&AnyDistance::new(1.0)).unwrap_err();
    assert_eq!(error.kind(), "FailedCast");
}
/// If a composition states that one of its members selects the highest score, a chain refuses an
/// earlier step whose lowest score is the best. Without this statement, the chain would accept such
/// a step.
#[test]
fn a_composition_states_that_a_member_selects_the_highest_score() {
    let other = |input| {
        let map = PrivacyMap::new(|_: &i32| Ok(0.0));
        Measurement::new(input, MaxDivergence, Function::map(|_: &i32| Ok(0)), map)
    };
    let (plain, highest) = (other(numbers()), other(numbers().with_highest_best()));
    for (members, wanted) in [
        (vec![plain.clone(), highest.clone()], true),
        (vec![highest, plain.clone()], true),
        (vec![plain.clone(), plain], false),
    ] {
        let made = make_composition(members).unwrap();
        assert_eq!(made.input().selects_highest(), wanted);
    }
}
