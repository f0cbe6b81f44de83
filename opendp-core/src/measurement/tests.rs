use super::*;
use crate::{AbsoluteDistance, AtomDomain, MaxDivergence};

#[test]
fn an_alpha_outside_of_its_range_is_refused_with_and_without_an_accuracy() {
    let input = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
    let map = PrivacyMap::<AbsoluteDistance<i32>, MaxDivergence>::new(|_: &i32| Ok(0.0));
    let function = Function::map(|x: &i32| Ok(*x));
    let unknown = Measurement::new(input.unwrap(), MaxDivergence, function, map);
    let known = unknown.clone().with_accuracy(|_| Ok(vec![Some(0.0)]));
    for alpha in [0.0, -0.5, 1.0_f64.next_up(), f64::NAN] {
        assert_eq!(unknown.accuracy(alpha).unwrap_err().kind(), "InvalidDistance");
        assert_eq!(known.accuracy(alpha).unwrap_err().kind(), "InvalidDistance");
    }
    assert_eq!(unknown.accuracy(1.0), Ok(vec![None]));
    assert_eq!(known.accuracy(0.05), Ok(vec![Some(0.0)]));
}
#[test]
fn other_maps_and_measures_keep_what_an_accuracy_bounds() {
    let input = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
    let map = PrivacyMap::<AbsoluteDistance<i32>, MaxDivergence>::new(|_: &i32| Ok(0.0));
    let function = Function::map(|x: &i32| Ok(*x));
    let made = Measurement::new(input.unwrap(), MaxDivergence, function, map.clone());
    let number = made.with_accuracy(|_| Ok(vec![Some(1.0)]));
    let choice = number.clone().with_accuracy_of_scores(|_| Ok(vec![Some(1.0)]));
    for (made, in_scores) in [(number, false), (choice, true)] {
        assert_eq!(made.bounds_scores(), in_scores);
        let converted = made.with_loss(MaxDivergence, map.clone());
        assert_eq!(converted.bounds_scores(), in_scores);
        assert_eq!(converted.accuracy(0.05), Ok(vec![Some(1.0)]));
        let released = converted.then(|| Ok(Function::map(|x: &i32| Ok(*x))));
        assert!(!released.unwrap().bounds_scores());
        let composed = made.clone().with_accuracy_of([made.clone(), made]);
        assert_eq!(composed.bounds_scores(), in_scores);
    }
}

/// A panic of the drop of an accuracy that a later accuracy replaces.
struct Fragile;
impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("a fault of the author")
    }
}

#[test]
fn a_panic_of_the_drop_of_an_earlier_accuracy_does_not_end_the_process() {
    let input = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new());
    let map = PrivacyMap::<AbsoluteDistance<i32>, MaxDivergence>::new(|_: &i32| Ok(0.0));
    let function = Function::map(|x: &i32| Ok(*x));
    let made = Measurement::new(input.unwrap(), MaxDivergence, function, map);
    let fragile = Fragile;
    let made = made.with_accuracy(move |_| {
        let _kept = &fragile;
        Ok(vec![None])
    });
    let made = made.with_accuracy(|_| Ok(vec![Some(1.0)]));
    assert_eq!(made.accuracy(0.05), Ok(vec![Some(1.0)]));
}
