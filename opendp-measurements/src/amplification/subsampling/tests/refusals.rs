//! Tests of losses that sampling does not reduce, and of refused domains and distances.

use super::*;

#[test]
fn a_loss_to_the_order_of_records_is_not_hidden_by_a_sample() {
    fn with<MO: Measure + Default>(
        domain: Bits,
        loss: impl Fn(u32) -> MO::Distance + Send + Sync + 'static,
    ) -> Measurement<Bits, SymmetricDistance, MO, i32> {
        Measurement::new(
            Space::new(domain, SymmetricDistance).unwrap(),
            MO::default(),
            Function::map(|rows: &Vec<i32>| Ok(rows.first().copied().unwrap_or(0))),
            PrivacyMap::new(move |d_in: &u32| Ok(loss(*d_in))),
        )
    }
    fn check<MO: AmplifiableMeasure + Default>(
        right: fn(u32) -> MO::Distance,
        wrong: fn(u32) -> MO::Distance,
    ) {
        assert!(make_poisson_subsampling(with::<MO>(bits(), right), 0.5, None).is_ok());
        let two = || bits().with_size(2);
        assert!(make_fixed_size_subsampling(with::<MO>(two(), right), 3).is_ok());
        for error in [
            make_poisson_subsampling(with::<MO>(bits(), wrong), 0.5, None).err(),
            make_poisson_subsampling(with::<MO>(bits(), wrong), 0.5, Some(9)).err(),
            make_fixed_size_subsampling(with::<MO>(two(), wrong), 3).err(),
            crate::make_population_amplification(with::<MO>(two(), wrong), 3).err(),
        ] {
            let error = error.unwrap();
            assert!(error.kind() == "MakeMeasurement", "{error}");
            assert!(error.to_string().contains("distance 0"), "{error}");
        }
    }
    check::<MaxDivergence>(f64::from, |d| f64::from(d) + 1.0);
    fn none_at_0(d: u32) -> f64 {
        if d == 0 { 0.0 } else { 1e-6 }
    }
    check::<Approximate<MaxDivergence>>(
        |d| (f64::from(d), none_at_0(d)),
        |d| (f64::from(d) + 1.0, 1e-6),
    );
    check::<SmoothedMaxDivergence>(
        |d| PrivacyProfile::from_points(vec![(f64::from(d), none_at_0(d))]),
        |d| PrivacyProfile::from_points(vec![(f64::from(d) + 1.0, 1e-6)]),
    );
    // In the next two calls, the loss of the refused map at distance 0 is only a delta.
    check::<Approximate<MaxDivergence>>(|d| (0.0, none_at_0(d)), |d| (f64::from(d), 1e-6));
    check::<SmoothedMaxDivergence>(
        |d| PrivacyProfile::from_points(vec![(0.0, none_at_0(d))]),
        |d| PrivacyProfile::from_points(vec![(f64::from(d), 1e-6)]),
    );
}
/// If the constructor did not refuse the measurement, the map of the sample would be `(0, 1e-6)` at
/// distance 0, and `(1.04, 1e-8)` at distance 1. The delta at distance 1 would be too small,
/// because data at distance 0 are also within distance 1.
#[test]
fn a_delta_that_is_lost_at_distance_0_is_refused() {
    let counts = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    let rows = Space::new(bits(), SymmetricDistance).unwrap();
    let count = Transformation::new(
        rows,
        counts,
        Function::map(|rows: &Vec<i32>| Ok(rows.len() as f64)),
        StabilityMap::new(|d_in: &u32| Ok(f64::from(*d_in))),
    );
    let noisy = count.then(|n| crate::make_gaussian(n, crate::Scale::new(1.0)?, None)).unwrap();
    let profile = crate::make_zCDP_to_approxDP(noisy).unwrap();
    let early = crate::make_fix_delta(profile.clone(), 1e-6).unwrap();
    assert_eq!(early.map(&0).unwrap(), (0.0, 1e-6));
    let error = make_poisson_subsampling(early, 0.01, None).unwrap_err();
    assert!(error.kind() == "MakeMeasurement" && error.to_string().contains("distance 0"));
    // The control: the delta is fixed after sampling. Then the loss has the same delta at every
    // distance, and the epsilon does not fall when the distance grows.
    let sampled = make_poisson_subsampling(profile, 0.01, None).unwrap();
    let late = crate::make_fix_delta(sampled, 1e-8).unwrap();
    let losses = [0, 1, 2].map(|d| late.map(&d).unwrap());
    assert!(losses.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
}
#[test]
fn a_sample_is_released_only_once() {
    let whole =
        || -> Measurement<_, _, SmoothedMaxDivergence, _> { noisy(bits(), SymmetricDistance, 1) };
    let sampled = || make_poisson_subsampling(whole(), 0.1, None).unwrap();
    let (sample, other) = (sampled(), sampled());
    let (mut part, bytes) = (sample.start().unwrap(), whole().start().unwrap().to_bytes().unwrap());
    // A partial result that is written to bytes could be finished several times. Then one secret
    // sample would be released several times.
    let error = part.to_bytes().unwrap_err();
    assert_eq!(error.kind(), "NotImplemented");
    assert!(error.to_string().contains("draws a secret sample"), "{error}");
    assert!(sample.function().resume(&bytes).is_err());
    // The control: without a sample, the measurement writes and reads its partial results.
    assert!(whole().function().resume(&bytes).is_ok());
    assert!(part.merge(other.start().unwrap()).is_err());
    part.merge(sample.start().unwrap()).unwrap();
    part.absorb(&vec![0, 1]).unwrap();
    assert!(part.finish().is_ok());
    // A copy of the function with a label also refuses to write and to read partial results.
    let labelled = sample.function().clone().labelled(|| "labelled".into());
    assert_eq!(labelled.start().unwrap().to_bytes().unwrap_err().kind(), "NotImplemented");
    assert!(labelled.resume(&bytes).is_err());
}
#[test]
fn maps_do_not_fall_after_a_distance_that_no_data_of_one_size_have() {
    let sized = |size| noisy::<_, MaxDivergence>(bits().with_size(size), SymmetricDistance, 1);
    let fixed = make_fixed_size_subsampling(sized(10), 1000).unwrap();
    let any = noisy::<_, MaxDivergence>(bits(), SymmetricDistance, 1);
    let poisson = make_poisson_subsampling(any, 0.01, Some(1000)).unwrap();
    for made in [fixed, poisson] {
        let losses: Vec<f64> = (0..12).map(|d| made.map(&d).unwrap()).collect();
        assert!(losses.is_sorted(), "{losses:?}");
        // Two data sets that differ by one replaced record have distance 2. So an odd distance
        // allows only as many replaced records as the even distance just below.
        assert_eq!((losses[1], losses[3]), (0.0, losses[2]));
    }
    let any = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 1);
    let poisson = make_poisson_subsampling(any, 0.01, Some(1000)).unwrap();
    assert_eq!(poisson.map(&1).unwrap().delta(0.0), Ok(0.0));
}
