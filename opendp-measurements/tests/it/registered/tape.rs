//! Tests that registered mechanisms and typed mechanisms give equal releases from the same random
//! words.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;

use opendp_core::erased::AnyValue;
use opendp_core::{
    AbsoluteDistance, Approximate, Args, AtomDomain, BitVector, BitVectorDomain, Bounds, Carrier,
    Constructed, DiscreteDistance, Domain, Function, Kind, L1Distance, L01InfDistance, L2Distance,
    L02InfDistance, LInfDistance, MapDomain, MaxDivergence, Measure, Measurement, Metric,
    Queryable, Registration, Space, StabilityMap, SymmetricDistance, TheMeasure, Transformation,
    VectorDomain, ZeroConcentratedDivergence, laws,
};
use opendp_measurements::{
    Optimize, Scale, Temperature, make_above_threshold, make_alp_queryable, make_canonical_noise,
    make_gaussian, make_gaussian_threshold, make_geometric, make_gumbel_max, make_laplace,
    make_laplace_threshold, make_noise, make_noise_threshold, make_noisy_max, make_noisy_top_k,
    make_poisson_subsampling, make_randomized_response, make_randomized_response_bitvec,
    make_randomized_response_bool, make_report_noisy_max_gumbel,
};
use serde_json::json;

use super::fitting;

/// Construct a measurement by its name. Check that this measurement gives the same releases as the
/// typed measurement, and that the releases vary.
#[track_caller]
fn check<DI: Domain, MI: Metric, MO: Measure, TO: Carrier + PartialEq + Debug>(
    name: &str,
    made: &str,
    args: &Args,
    typed: &Measurement<DI, MI, MO, TO>,
    data: &DI::Carrier,
) {
    let registered = fitting(name, args, made).construct(args).unwrap().measurement().unwrap();
    let erased = AnyValue::new(data.clone());
    let mut releases = Vec::new();
    // For each mechanism below, the probability that all 100 releases are equal is below 1e-15.
    for _ in 0..100 {
        let (first, other) =
            laws::on_one_tape(|| typed.invoke(data), || registered.invoke(&erased)).unwrap();
        let first = first.unwrap();
        assert_eq!(other.unwrap().downcast::<TO>().unwrap(), first, "{name}");
        releases.push(first);
    }
    assert!(releases.iter().any(|release| *release != releases[0]), "{name} drew no noise");
}
fn scale() -> Scale {
    Scale::new(2.5).unwrap()
}
fn scaled<D: Domain, M: Metric>(input: &Space<D, M>) -> Args {
    Args::new().with("input", &input.clone().erase()).with("scale", json!(2.5))
}

#[test]
fn noise_on_numbers_is_the_same_bit_for_bit() {
    let number = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let floats = VectorDomain::new(AtomDomain::<f64>::non_nan());
    let first = Space::new(floats.clone(), L1Distance::<f64>::new()).unwrap();
    let second = Space::new(floats, L2Distance::<f64>::new()).unwrap();
    let data = vec![0.5, -1e9, 3.25];

    let args = scaled(&number);
    let pure = TheMeasure(MaxDivergence);
    let concentrated = TheMeasure(ZeroConcentratedDivergence);
    let laplace = make_laplace(number.clone(), scale(), None).unwrap();
    check("make_laplace", " MaxDivergence", &args, &laplace, &7);
    let noise = make_noise(number.clone(), pure, scale(), None).unwrap();
    let with_measure = args.clone().with_value("output_measure", MaxDivergence);
    check("make_noise", "", &with_measure, &noise, &7);
    let geometric = make_geometric(number.clone(), scale(), None).unwrap();
    check("make_geometric", "", &args, &geometric, &7);
    let bounds = Bounds::new(0, 9).unwrap();
    let geometric = make_geometric(number.clone(), scale(), Some(bounds)).unwrap();
    check("make_geometric", "", &args.with("bounds", json!([0, 9])), &geometric, &7);
    let laplace = make_laplace(first.clone(), scale(), Some(-3)).unwrap();
    check("make_laplace", " MaxDivergence", &scaled(&first).with("k", json!(-3)), &laplace, &data);

    let gaussian = make_gaussian(second.clone(), scale(), None).unwrap();
    check("make_gaussian", " ZeroConcentratedDivergence", &scaled(&second), &gaussian, &data);
    let noise = make_noise(second.clone(), concentrated, scale(), None).unwrap();
    let args = scaled(&second).with_value("output_measure", ZeroConcentratedDivergence);
    check("make_noise", "", &args, &noise, &data);
    let number = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    let canonical = make_canonical_noise(number.clone(), 1.0, (0.1, 1e-7)).unwrap();
    let args = Args::new().with("input", &number.erase());
    let args = args.with("d_in", json!(1.0)).with("d_out", json!([0.1, 1e-7]));
    check("make_canonical_noise", "", &args, &canonical, &0.25);
}
#[test]
fn thresholds_and_noisy_maps_are_the_same_bit_for_bit() {
    let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i32>::default());
    let first = Space::new(domain.clone(), L01InfDistance::new(AbsoluteDistance::<i32>::new()));
    let second = Space::new(domain, L02InfDistance::new(AbsoluteDistance::<f64>::new()));
    let (first, second) = (first.unwrap(), second.unwrap());
    let data: HashMap<String, i32> =
        ["a", "b", "c", "d"].map(str::to_owned).into_iter().zip([9, 10, 11, 100]).collect();
    let with_threshold = |args: Args| args.with("threshold", json!(10));

    let typed = make_laplace_threshold(first.clone(), scale(), 10, None).unwrap();
    check("make_laplace_threshold", "", &with_threshold(scaled(&first)), &typed, &data);
    let typed = make_gaussian_threshold(second.clone(), scale(), 10, None).unwrap();
    check("make_gaussian_threshold", "", &with_threshold(scaled(&second)), &typed, &data);
    let pure = TheMeasure(Approximate(MaxDivergence));
    let typed = make_noise_threshold(first.clone(), pure, scale(), 10, None).unwrap();
    let args = scaled(&first).with_value("output_measure", Approximate(MaxDivergence));
    check("make_noise_threshold", "", &with_threshold(args), &typed, &data);

    let typed = make_alp_queryable(first.clone(), 2.5, 200, Some(150), 50, 4).unwrap();
    let args = scaled(&first).with("total_limit", json!(200)).with("value_limit", json!(150));
    let registered = fitting("make_alp_queryable", &args, "").construct(&args).unwrap();
    let (registered, erased) = (registered.measurement().unwrap(), AnyValue::new(data.clone()));
    let (first, other) =
        laws::on_one_tape(|| typed.invoke(&data), || registered.invoke(&erased)).unwrap();
    let other = other.unwrap().downcast::<Queryable<String, f64>>().unwrap();
    let first = first.unwrap();
    let keys = data.keys().cloned().chain((0..50).map(|key| key.to_string()));
    for key in keys {
        assert_eq!(first.ask(&key).unwrap(), other.ask(&key).unwrap(), "{key}");
    }
}
#[test]
fn choices_and_comparisons_are_the_same_bit_for_bit() {
    let domain = VectorDomain::new(AtomDomain::<i32>::default()).with_size(4);
    let input = Space::new(domain, LInfDistance::<i32>::new(true)).unwrap();
    let data = vec![3, 5, 4, 4];
    let pure = || TheMeasure(MaxDivergence);
    let args = || scaled(&input).with_value("output_measure", MaxDivergence);

    let temperature = Temperature::new(2.5).unwrap();
    let typed = make_gumbel_max(input.clone(), temperature, Optimize::Max).unwrap();
    let heated = Args::new().with("input", &input.clone().erase()).with("temperature", json!(2.5));
    check("make_gumbel_max", "", &heated, &typed, &data);
    let typed = make_report_noisy_max_gumbel(input.clone(), scale(), Optimize::Min).unwrap();
    let least = scaled(&input).with("optimize", json!("min"));
    check("make_report_noisy_max_gumbel", "", &least, &typed, &data);
    let typed = make_noisy_max(input.clone(), pure(), scale(), false).unwrap();
    check("make_noisy_max", "", &args(), &typed, &data);
    let typed = make_noisy_top_k(input.clone(), pure(), 2, scale(), false).unwrap();
    check("make_noisy_top_k", "", &args().with("k", json!(2)), &typed, &data);

    let input =
        Space::new(VectorDomain::new(AtomDomain::<i32>::default()), LInfDistance::new(true));
    let input: Space<_, LInfDistance<i32>> = input.unwrap();
    let typed = make_above_threshold(input.clone(), 4, 1, (scale(), scale())).unwrap();
    let args = Args::new().with("input", &input.erase()).with("threshold", json!(4));
    check("make_above_threshold", "", &args.with("scales", json!([2.5, 2.5])), &typed, &data);
}
#[test]
fn randomized_response_is_the_same_bit_for_bit() {
    let typed = make_randomized_response_bool(0.7, false).unwrap();
    let args = Args::new().with("prob", json!(0.7));
    check("make_randomized_response_bool", "", &args, &typed, &true);
    let typed = make_randomized_response(vec![1, 2, 3], 0.5).unwrap();
    let args = Args::new().with("categories", json!([1, 2, 3])).with("prob", json!(0.5));
    check("make_randomized_response", "<i32>", &args, &typed, &2);
    let domain = BitVectorDomain::new().with_size(9).with_max_weight(2);
    let input = Space::new(domain, DiscreteDistance).unwrap();
    let typed = make_randomized_response_bitvec(input.clone(), 0.5, false).unwrap();
    let args = Args::new().with("input", &input.clone().erase()).with("f", json!(0.5));
    let data = BitVector::from_words(vec![0b1_0000_0100], 9);
    check("make_randomized_response_bitvec", "", &args, &typed, &data);
}
#[test]
fn combinators_are_the_same_bit_for_bit() {
    let rows = VectorDomain::new(AtomDomain::<i32>::default());
    let rows = Space::new(rows, SymmetricDistance).unwrap();
    let number = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let size = Function::map(|rows: &Vec<i32>| Ok(i32::try_from(rows.len()).unwrap()));
    let count = Transformation::new(rows, number, size, StabilityMap::from_constant(1));
    let release = count.then(|space| make_laplace(space, scale(), None)).unwrap();
    let data: Vec<i32> = (0..40).collect();

    let typed = make_poisson_subsampling(release.clone(), 0.5, None).unwrap();
    let measurement = Constructed::from(release.erase());
    let args = Args::new().with("measurement", measurement).with("rate", json!(0.5));
    check("make_poisson_subsampling", " MaxDivergence", &args, &typed, &data);
}
/// Check that every registered mechanism of this crate is compared above, or is listed as an
/// exception.
#[test]
fn every_registered_mechanism_is_compared() {
    let drawing: BTreeSet<&str> = include_str!("tape.rs")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("check(\""))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let others = [
        // A test above compares the answers of this mechanism with the answers of the typed
        // mechanism. The test does not call the function `check`.
        "make_alp_queryable",
        // These constructors do not draw random numbers. They run the measurements or functions of
        // the caller. Then they combine or transform the releases, or only convert the loss.
        "make_RDP_to_approxDP",
        "make_adaptive_composition",
        "make_approximate",
        "make_chain_mt",
        "make_chain_pm",
        "make_composition",
        "make_fix_delta",
        "make_fixed_approxDP_to_approxDP",
        "make_group_privacy",
        "make_parallel_composition",
        "make_population_amplification",
        "make_privacy_filter",
        "make_pureDP_to_zCDP",
        "make_user_measurement",
        "make_zCDP_to_approxDP",
        // These mechanisms draw random numbers, but they are not compared above. The first two
        // mechanisms take measurements as arguments. `make_sparse_vector` answers questions, and
        // each question is a transformation. In the registered signatures, these measurements and
        // transformations have an erased input domain and an erased input metric.
        "make_fixed_size_subsampling",
        "make_select_private_candidate",
        "make_sparse_vector",
    ];
    let own = |registration: &&Registration| {
        registration.family.origin.package == "opendp-measurements"
            && registration.kind() == Kind::Measurement
    };
    let names: BTreeSet<&str> =
        Registration::all().filter(own).map(|registration| registration.family.names[0]).collect();
    let known: BTreeSet<&str> = drawing.iter().chain(&others).copied().collect();
    assert_eq!(names.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(known.difference(&names).collect::<Vec<_>>(), Vec::<&&str>::new());
}
