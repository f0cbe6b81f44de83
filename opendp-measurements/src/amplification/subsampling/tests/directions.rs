//! Tests of compositions in which a transformation exchanges the direction of one member.

use super::*;
use crate::make_approximate;

/// Make a transformation that returns `[4]` for empty data, and empty data for other data. One
/// added row changes the output by at most one row, so the map is the identity. The neighbours `[]`
/// and `[4]` give the outputs `[4]` and `[]`, so the direction is exchanged.
fn exchanged() -> Transformation<Bits, SymmetricDistance, Bits, SymmetricDistance> {
    let space = Space::new(bits(), SymmetricDistance).unwrap();
    let function = Function::map(|rows: &Vec<i32>| match rows.is_empty() {
        true => Ok(vec![4]),
        false => Ok(Vec::new()),
    });
    Transformation::new(space.clone(), space, function, StabilityMap::new(|d_in: &u32| Ok(*d_in)))
}
/// Return the law of two independent releases.
fn both(first: &[f64], second: &[f64]) -> Vec<f64> {
    first.iter().flat_map(|p| second.iter().map(move |q| p * q)).collect()
}

#[test]
fn a_transformation_can_exchange_the_direction_of_one_member() {
    let (rate, epsilon) = (0.1, 1.75);
    let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 4);
    let sampled = make_poisson_subsampling(whole, rate, None).unwrap();
    let turned = exchanged().then(|_| Ok(sampled.clone())).unwrap();
    // The loss of a single member does not change, because its profile bounds both directions.
    let single = |loss: Result<PrivacyProfile>| loss.unwrap().delta(epsilon).unwrap();
    assert_eq!(single(turned.map(&1)), single(sampled.map(&1)));
    let composed = |members| {
        let made = make_composition::<Bits, SymmetricDistance, SmoothedMaxDivergence, i32>(members);
        made.unwrap().map(&1).unwrap().delta(epsilon).unwrap()
    };
    // The composition runs on the neighbours `[]` and `[4]`. The first member samples from `[]` and
    // `[4]`. The second member samples from `[4]` and `[]`, because the transformation exchanges
    // the two data sets.
    let (empty, full) = (poisson(&[], rate), poisson(&[4], rate));
    let exact = either(&both(&empty, &full), &both(&full, &empty), epsilon);
    let bound = composed(vec![sampled.clone(), turned.clone()]);
    assert!(exact <= bound && bound < 3.0 * exact, "{exact} {bound}");
    // The control: the loss of two members in one direction is too small as a bound.
    let same = composed(vec![sampled.clone(), sampled.clone()]);
    assert!(same < 0.8 * exact, "{same} {exact}");
    // The order of the members does not change the bound. The bound also holds after two exchanges.
    assert_eq!(composed(vec![turned.clone(), sampled]), bound);
    let again = exchanged().then(|_| Ok(turned.clone())).unwrap();
    assert!(exact <= composed(vec![again, turned]));
}
#[test]
fn erased_chains_bound_both_directions_too() {
    let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 4);
    let sampled = make_poisson_subsampling(whole, 0.1, None).unwrap();
    let typed = exchanged().then(|_| Ok(sampled.clone())).unwrap();
    let erased = exchanged().erase().then(|_| Ok(sampled.erase())).unwrap();
    let composed = |loss: PrivacyProfile, other: PrivacyProfile| {
        PrivacyProfile::compose(&[loss, other]).unwrap().delta(1.75).unwrap()
    };
    let alone = sampled.map(&1).unwrap();
    let d_in = erased.input().metric().decode(&serde_json::json!(1)).unwrap();
    let loss = erased.map(&d_in).unwrap().downcast_ref::<PrivacyProfile>().unwrap().clone();
    let wanted = composed(alone.clone(), typed.map(&1).unwrap());
    assert_eq!(composed(alone, loss), wanted);
}
/// In the approximate measure, a loss is a pair of a profile and a delta.
#[test]
fn approximate_profiles_bound_both_directions_too() {
    let (rate, epsilon) = (0.1, 1.75);
    let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 4);
    let sampled = make_poisson_subsampling(whole, rate, None).unwrap();
    let approximate = make_approximate(sampled).unwrap();
    let turned = exchanged().then(|_| Ok(approximate.clone())).unwrap();
    let (empty, full) = (poisson(&[], rate), poisson(&[4], rate));
    let exact = either(&both(&empty, &full), &both(&full, &empty), epsilon);
    let typed = make_composition(vec![approximate.clone(), turned]).unwrap();
    let (profile, delta) = typed.map(&1).unwrap();
    assert!(exact <= profile.delta(epsilon).unwrap() + delta);
    let erased = exchanged().erase().then(|_| Ok(approximate.erase())).unwrap();
    let erased = make_composition(vec![approximate.erase(), erased]).unwrap();
    let d_in = erased.input().metric().decode(&serde_json::json!(1)).unwrap();
    let loss = erased.map(&d_in).unwrap();
    let (profile, delta) = loss.downcast_ref::<(PrivacyProfile, f64)>().unwrap();
    assert!(exact <= profile.delta(epsilon).unwrap() + delta);
    // The control: the loss of two members in one direction is too small as a bound.
    let same = make_composition(vec![approximate.clone(), approximate]).unwrap();
    assert!(same.map(&1).unwrap().0.delta(epsilon).unwrap() < 0.8 * exact);
}
