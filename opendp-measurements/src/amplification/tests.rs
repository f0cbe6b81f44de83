//! Tests that losses on samples are rounded up. Unless a comment says otherwise, a number called
//! `least` is the least float above the exact value, which was computed with 60 digits.

use opendp_core::{
    Approximate, AtomDomain, ChangeOneDistance, DataFrame, DataFrameDomain, Function,
    MaxDivergence, Measurement, PrivacyMap, PrivacyProfile, SmoothedMaxDivergence, Space,
    SymmetricDistance, VectorDomain,
};

use super::*;
use crate::accounting::{
    SampledGaussianPair, profile_of, profile_of_gaussian, profile_of_laplace, profile_of_mixture,
    profile_of_poisson_sample,
};

#[test]
fn the_loss_of_a_replaced_record_is_rounded_up() {
    for (share, added, replaced, least) in [
        (0.1, 1.0, 2.0, 0.22386341473926283),
        (0.1, 0.5, 1.0, 0.10299667222413558),
        (0.1, 1.5, 2.5, 0.3640456425931773),
        (0.7, 1.0, 2.0, 1.3739928217340027),
        (0.7, 0.25, 0.5, 0.349564569454296),
        (0.05, 2.0, 3.0, 0.30933338752260103),
    ] {
        let loss = MaxDivergence::amplified_by_replacement(share, &added, &replaced).unwrap();
        assert!(least <= loss && loss < least * (1.0 + 2e-15), "{share} {added}: {loss:e}");
    }
}
#[test]
fn a_delta_on_a_sample_and_the_share_of_the_sample_are_rounded_up() {
    // The product of the floats 0.1 and 0.3 is above the float 0.03.
    let (_, delta) = Approximate::<MaxDivergence>::amplified(0.1, &(1.0, 0.3)).unwrap();
    assert_eq!(delta, 0.030000000000000002);
    // A sample of 10 of 70 records contains the replaced record with probability 1/7. The delta
    // without sampling is 1/2, so the delta on the sample is 1/14.
    let rows = VectorDomain::new(AtomDomain::<i32>::default()).with_size(10);
    let map = PrivacyMap::new(|d: &u32| Ok((0.0, 0.5 * f64::from(*d))));
    let whole = Measurement::new(
        Space::new(rows, ChangeOneDistance).unwrap(),
        Approximate(MaxDivergence),
        Function::map(|_: &Vec<i32>| Ok(0)),
        map,
    );
    let sampled = make_population_amplification(whole, 70).unwrap();
    assert_eq!(sampled.map(&1).unwrap(), (0.0, 0.07142857142857144));
}
#[test]
fn the_profile_on_a_sample_is_rounded_up() {
    let flat = PrivacyProfile::new(|_| Ok(0.3));
    let delta = profile_of_mixture(&flat, 0.1).unwrap().delta(1.0).unwrap();
    assert_eq!(delta, 0.030000000000000002);
    for (share, epsilon, least) in [
        (0.1, 0.5, 0.06285472347373039),
        (0.1, 2.0, 0.4940287080441788),
        (0.25, 3.0, 1.752911953099566),
        (0.3, 1.0, 0.4157352218436287),
    ] {
        let whole = PrivacyProfile::new(|_| Ok(0.0)).with_epsilon(move |_| Ok(epsilon));
        let found = profile_of_mixture(&whole, share).unwrap().epsilon(1e-9).unwrap();
        assert!(least <= found && found < least * (1.0 + 2e-15), "{share} {epsilon}: {found:e}");
    }
}
/// In a composition, the first distributions of all members must belong to the same data set. So
/// the profile of a sample must have the direction of a removal. Two compositions must be nearly
/// equal: this profile with the pair of a sampled removal, and this profile with itself.
#[test]
fn the_profile_of_a_sample_has_the_direction_of_a_removal() {
    let (mu, rate) = (2.0, 0.1);
    let sampled = profile_of_poisson_sample(&profile_of_gaussian(mu, 1.0).unwrap(), rate).unwrap();
    let pair = |removed| profile_of(SampledGaussianPair { mu, rate, removed });
    let with = |other: PrivacyProfile| {
        let both = PrivacyProfile::compose(&[sampled.clone(), other]).unwrap();
        [0.5, 1.0, 2.0].map(|epsilon| both.delta(epsilon).unwrap())
    };
    let twice = with(sampled.clone());
    let near = |found: [f64; 3]| found.iter().zip(&twice).all(|(a, b)| (a / b - 1.0).abs() < 1e-3);
    assert!(near(with(pair(true))), "{twice:?} {:?}", with(pair(true)));
    // The control: a sampled addition has another profile.
    assert!(!near(with(pair(false))), "{twice:?}");
}
/// A path of single changes gives a bound in every measure. Without a delta, the loss of `k`
/// changed records is at most `k` times the loss of one changed record.
#[test]
fn several_changed_records_cost_at_most_a_path_of_single_changes() {
    fn sampled<MO: AmplifiableMeasure>(
        measure: MO,
        loss: fn(u32) -> MO::Distance,
    ) -> Measurement<VectorDomain<AtomDomain<i32>>, SymmetricDistance, MO, i32> {
        let rows = VectorDomain::new(AtomDomain::<i32>::default());
        let space = Space::new(rows, SymmetricDistance).unwrap();
        let map = PrivacyMap::new(move |d: &u32| Ok(loss(*d)));
        let whole = Measurement::new(space, measure, Function::map(|_: &Vec<i32>| Ok(0)), map);
        make_poisson_subsampling(whole, 0.01, None).unwrap()
    }
    let pure = sampled(MaxDivergence, f64::from);
    let approximate = sampled(Approximate(MaxDivergence), |d| (f64::from(d), 0.0));
    let profile =
        sampled(SmoothedMaxDivergence, |d| profile_of_laplace(f64::from(d), 1.0).unwrap());
    for records in [2, 3, 8] {
        let epsilon = pure.map(&records).unwrap();
        assert!(epsilon <= f64::from(records) * pure.map(&1).unwrap() * (1.0 + 1e-12));
        let pair = approximate.map(&records).unwrap();
        assert!(pair.0 <= epsilon * (1.0 + 1e-12) && pair.1 == 0.0, "{records}: {pair:?}");
        let curve = profile.map(&records).unwrap();
        let found = curve.epsilon(1e-9).unwrap();
        assert!(found <= epsilon * (1.0 + 1e-9), "{records}: {found} {epsilon}");
        // A composition also uses the bound from the path.
        let twice = PrivacyProfile::compose(&[curve.clone(), curve]).unwrap();
        assert!(twice.epsilon(1e-9).unwrap() <= 2.001 * epsilon, "{records}");
    }
    // At a rate near 1, the path gives the larger bound, and the smaller bound is used.
    let rows = VectorDomain::new(AtomDomain::<i32>::default());
    let space = Space::new(rows, SymmetricDistance).unwrap();
    let map = PrivacyMap::new(|d: &u32| profile_of_gaussian(f64::from(*d), 1.0));
    let whole =
        Measurement::new(space, SmoothedMaxDivergence, Function::map(|_: &Vec<i32>| Ok(0)), map);
    let half = make_poisson_subsampling(whole.clone(), 0.9, None).unwrap().map(&2).unwrap();
    let unsampled = whole.map(&2).unwrap();
    assert!(half.delta(1.0).unwrap() <= unsampled.delta(1.0).unwrap());
}
/// Frames without a schema can have different columns, so their rows do not fit into one frame.
#[test]
fn no_sample_is_taken_from_data_whose_rows_do_not_recombine() {
    let frames = DataFrameDomain::<String>::default;
    let function = || Function::map(|_: &DataFrame<String>| Ok(0));
    let loss = |d: &u32| Ok(f64::from(*d));
    let space = Space::new(frames(), SymmetricDistance).unwrap();
    let whole = Measurement::new(space, MaxDivergence, function(), PrivacyMap::new(loss));
    let error = make_poisson_subsampling(whole, 0.5, None).unwrap_err().to_string();
    assert!(error.contains("selected one by one"), "{error}");
    let space = Space::new(frames().with_size(10), ChangeOneDistance).unwrap();
    let whole = Measurement::new(space, MaxDivergence, function(), PrivacyMap::new(loss));
    let error = make_population_amplification(whole, 70).unwrap_err().to_string();
    assert!(error.contains("selected one by one"), "{error}");
}
