//! Tests that call mechanisms by their registered names.

use std::collections::HashMap;

use opendp_core::arith::Number;
use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::{
    AbsoluteDistance, Approximate, Args, Atom, AtomDomain, BitVectorDomain, Codec,
    DiscreteDistance, Distance, L1Distance, L01InfDistance, L2Distance, L02InfDistance,
    LInfDistance, MapDomain, MaxDivergence, Measure, Measurement, Metric, Queryable, Space,
    VectorDomain, ZeroConcentratedDivergence,
};
use opendp_measurements::{Optimize, Scale, make_gaussian, make_laplace};
use serde_json::{Value as Json, json};

use super::{fitting, named, single};

fn vectors<T: Atom>() -> VectorDomain<AtomDomain<T>> {
    VectorDomain::new(AtomDomain::non_nan())
}
fn numbers<T: Atom, Q: Distance + Number>() -> Space<AtomDomain<T>, AbsoluteDistance<Q>> {
    Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
}

/// Check the signatures of a mechanism of additive noise. Construct a measurement by the name of
/// the mechanism, with the scale 2. Compare this measurement with the typed measurement on vectors
/// of two integers.
fn noise_is_registered<M, MO>(
    (name, noise): (&str, &str),
    (metric, measure): (&str, &str),
    typed: &Measurement<VectorDomain<AtomDomain<i32>>, M, MO, Vec<i32>>,
    distances: [f64; 3],
) where
    M: Metric<Distance = f64>,
    MO: Measure<Distance = f64>,
{
    let all = named(name);
    // There are signatures for numbers and for vectors, and for each of two measures. Apart from
    // `u128` and `IBig`, there are twelve number types. Of these twelve types, `f64` has one
    // distance type, and each other type has two. The types `u128` and `IBig` have only the
    // distance type `f64`.
    assert_eq!(all.len(), 2 * 2 * (12 * 2 - 1 + 2));
    let first = &all[0];
    assert!(all.iter().all(|offer| offer.names() == first.names()
        && offer.registration.identity() == first.registration.identity()));
    let documented = format!("Make a measurement that adds {noise} noise");
    assert!(first.documentation().starts_with(&documented));

    let args = Args::new().with("input", &typed.input().erase());
    let found = fitting(name, &args, &format!(" {measure}"));
    assert_eq!(
        found.output(),
        format!("Measurement<VectorDomain<AtomDomain<i32>>, {metric}, {measure}, Vec<i32>>")
    );
    let args = args.with("scale", json!(2));
    let erased = found.construct(&args).unwrap().measurement().unwrap();
    for d_in in distances {
        let loss = erased.map(&AnyDistance::new(d_in)).unwrap();
        assert_eq!(*loss.downcast_ref::<f64>().unwrap(), typed.map(&d_in).unwrap());
    }
    let released = erased.invoke(&AnyValue::new(vec![5, 6])).unwrap();
    assert_eq!(released.downcast_ref::<Vec<i32>>().unwrap().len(), 2);
    assert_eq!(erased.accuracy(0.05).unwrap(), typed.accuracy(0.05).unwrap());
    for (argument, value, kind) in [
        ("scale", json!(-1), "MakeMeasurement"),
        ("scale", json!("Infinity"), "MakeTransformation"),
        ("scale", json!("2"), "Argument"),
        ("k", json!(3), "MakeMeasurement"),
        ("k", json!(0.5), "Argument"),
    ] {
        let error = found.construct(&args.clone().with(argument, value)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}
#[test]
fn laplace_noise_is_registered_at_every_type_under_three_names() {
    let input = Space::new(vectors().with_size(2), L1Distance::<f64>::new()).unwrap();
    let typed = make_laplace(input, Scale::new(2.0).unwrap(), None).unwrap();
    let names = ("make_base_discrete_laplace", "Laplace");
    let types = ("L1Distance<f64>", "MaxDivergence");
    noise_is_registered(names, types, &typed, [0.0, 1.5, 1e300]);
}
#[test]
fn gaussian_noise_is_registered_at_every_type_under_three_names() {
    let input = Space::new(vectors().with_size(2), L2Distance::<f64>::new()).unwrap();
    let typed = make_gaussian(input, Scale::new(2.0).unwrap(), None).unwrap();
    let names = ("make_base_discrete_gaussian", "Gaussian");
    let types = ("L2Distance<f64>", "ZeroConcentratedDivergence");
    noise_is_registered(names, types, &typed, [0.0, 1.5, 1e150]);
}
#[test]
fn geometric_noise_is_registered_by_both_names_for_integers_only() {
    let all = named("make_geometric");
    // Ten integer types have signatures. Each type has signatures for two distance types, and for
    // numbers and vectors.
    assert_eq!((all.len(), named("make_base_geometric").len()), (40, 40));
    assert!(
        all.iter()
            .all(|offer| { offer.documentation().starts_with("Make a measurement that adds") })
    );
    let input = numbers::<i32, i32>().erase();
    let args = |bounds: &Json| {
        let args = Args::new().with("input", &input).with("scale", json!(1.0));
        args.with("bounds", bounds.clone())
    };
    let made = |bounds| all.iter().find_map(|offer| offer.construct(&args(&bounds)).ok());
    let release = made(json!([5, 5])).unwrap();
    let told = release.measurement().unwrap().invoke(&AnyValue::new(9_i32)).unwrap();
    assert_eq!(told.downcast_ref::<i32>(), Ok(&5));
    assert!(made(json!([6, 5])).is_none());
}
#[test]
fn thresholds_are_registered_for_all_maps_of_numbers() {
    assert_eq!(named("make_laplace_threshold").len(), 7 * 13);
    assert_eq!(named("make_gaussian_threshold").len(), 7 * 13);
    assert_eq!(named("make_noise_threshold").len(), 2 * 7 * 13);
    assert_eq!(named("make_noise").len(), 4 * 25);

    let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<f64>::non_nan());
    let metric = L01InfDistance::new(AbsoluteDistance::<f64>::new());
    let first = Space::new(domain.clone(), metric).unwrap().erase();
    let metric = L02InfDistance::new(AbsoluteDistance::<f64>::new());
    let second = Space::new(domain, metric).unwrap().erase();
    let args = |space| {
        let args = Args::new().with("input", space).with("scale", json!(1));
        args.with("threshold", json!(10)).with("k", json!(null))
    };
    let data = AnyValue::new(HashMap::from([("a".to_owned(), 1e6), ("b".to_owned(), -1e6)]));
    let check = |name: &str, args: &Args| {
        let made = fitting(name, args, "").construct(args).unwrap().measurement().unwrap();
        let released = made.invoke(&data).unwrap();
        let released = released.downcast_ref::<HashMap<String, f64>>().unwrap();
        assert_eq!(released.keys().collect::<Vec<_>>(), ["a"]);
    };
    check("make_laplace_threshold", &args(&first));
    check("make_gaussian_threshold", &args(&second));
    let pure = Approximate(MaxDivergence);
    check("make_noise_threshold", &args(&first).with_value("output_measure", pure));
    let concentrated = Approximate(ZeroConcentratedDivergence);
    check("make_noise_threshold", &args(&second).with_value("output_measure", concentrated));
    let wrong = args(&first).with("threshold", json!(-1));
    let error = fitting("make_laplace_threshold", &wrong, "").construct(&wrong).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
}
#[test]
fn choices_by_noise_of_gumbel_are_registered_at_every_type_under_two_names() {
    let all = named("make_base_discrete_exponential");
    assert_eq!(all.len(), 24);
    let names = ["make_gumbel_max", "make_base_discrete_exponential"];
    assert!(all.iter().all(|offer| offer.names() == names));
    assert!(all[0].documentation().starts_with("Make a measurement that chooses the index"));
    assert_eq!(named("make_report_noisy_max_gumbel").len(), 24);

    let domain = vectors::<u8>().with_size(2);
    let input = Space::new(domain, LInfDistance::<u8>::new(true)).unwrap().erase();
    let args = Args::new().with("input", &input);
    let found = fitting("make_base_discrete_exponential", &args, "");
    let args = args.with("temperature", json!(0.5));
    let erased = found.construct(&args).unwrap().measurement().unwrap();
    let loss = erased.map(&AnyDistance::new(3_u8)).unwrap();
    assert_eq!(*loss.downcast_ref::<f64>().unwrap(), 6.0);
    let chosen = erased.invoke(&AnyValue::new(vec![0_u8, 255])).unwrap();
    assert_eq!(*chosen.downcast_ref::<usize>().unwrap(), 1);
    let least = found.construct(&args.clone().with("optimize", json!("min"))).unwrap();
    let chosen = least.measurement().unwrap().invoke(&AnyValue::new(vec![0_u8, 255])).unwrap();
    assert_eq!(*chosen.downcast_ref::<usize>().unwrap(), 0);

    for (argument, value, kind, text) in [
        ("optimize", json!("most"), "Argument", "\"max\" or \"min\""),
        ("optimize", json!(1), "Argument", "\"max\" or \"min\""),
        ("temperature", json!(0), "MakeMeasurement", "`temperature`: expected a positive number"),
        ("temperature", json!("1"), "Argument", "f64"),
    ] {
        let error = found.construct(&args.clone().with(argument, value)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    for optimize in [Optimize::Max, Optimize::Min] {
        assert_eq!(Optimize::from_json(&optimize.to_json()), Ok(optimize));
    }
}
#[test]
fn choices_are_registered_for_both_measures() {
    assert_eq!(named("make_noisy_top_k").len(), 48);
    assert_eq!(named("make_noisy_max").len(), 48);
    let input = Space::new(vectors::<u8>(), LInfDistance::<u8>::new(true)).unwrap().erase();
    let args = Args::new().with("input", &input);
    let args = args.with_value("output_measure", ZeroConcentratedDivergence);
    let args = args.with("scale", json!(0.001)).with("negate", json!(true));
    let found = fitting("make_noisy_max", &args, "");
    let made = found.construct(&args).unwrap().measurement().unwrap();
    let chosen = made.invoke(&AnyValue::new(vec![9_u8, 0, 200])).unwrap();
    assert_eq!(chosen.downcast_ref::<usize>(), Ok(&1));
    let wrong = args.clone().with("scale", json!(-1));
    assert_eq!(found.construct(&wrong).unwrap_err().kind(), "MakeMeasurement");
}
#[test]
fn randomized_response_is_registered_by_name() {
    let args = Args::new().with("prob", json!(1.0));
    let made = single("make_randomized_response_bool").construct(&args).unwrap();
    let told = made.measurement().unwrap().invoke(&AnyValue::new(true)).unwrap();
    assert_eq!(told.downcast_ref::<bool>(), Ok(&true));
    let all = named("make_randomized_response");
    assert_eq!(all.len(), 7);
    assert!(
        all.iter()
            .all(|offer| { offer.documentation().starts_with("Make a measurement that releases") })
    );

    let domain = BitVectorDomain::new().with_size(9).with_max_weight(2);
    let input = Space::new(domain, DiscreteDistance).unwrap().erase();
    let args = Args::new().with("input", &input).with("f", json!(0.5));
    let made = single("make_randomized_response_bitvec").construct(&args).unwrap();
    assert!(made.measurement().is_ok());
}
#[test]
fn canonical_noise_is_registered_by_name() {
    let args = Args::new().with("input", &numbers::<f64, f64>().erase()).with("d_in", json!(1.0));
    let args = args.with("d_out", json!([0.1, 1e-7]));
    assert!(single("make_canonical_noise").construct(&args).unwrap().measurement().is_ok());
}
#[test]
fn noisy_maps_are_registered_with_defaults() {
    let offers = named("make_alp_queryable");
    let named = |name| Some(String::from(name));
    let found = offers
        .iter()
        .find(|offer| offer.generic("K") == named("i32") && offer.generic("V") == named("i32"));
    let domain = MapDomain::new(AtomDomain::<i32>::default(), AtomDomain::<i32>::default());
    let metric = L01InfDistance::new(AbsoluteDistance::<i32>::new());
    let args = Args::new()
        .with("input", &Space::new(domain, metric).unwrap().erase())
        .with("scale", json!(1.0))
        .with("total_limit", json!(100))
        .with("value_limit", json!(10));
    let made = found.unwrap().construct(&args).unwrap().measurement().unwrap();
    let released = made.invoke(&AnyValue::new(HashMap::from([(1, 5)]))).unwrap();
    let released = released.downcast::<Queryable<i32, f64>>().unwrap();
    assert!((0.0..=12.0).contains(&released.ask(&1).unwrap()));
}
#[test]
fn comparisons_with_a_threshold_are_registered() {
    let offers = named("make_above_threshold");
    let input = Space::new(vectors::<f64>(), LInfDistance::<f64>::new(true)).unwrap();
    let args = Args::new()
        .with("input", &input.erase())
        .with("threshold", json!(1.5))
        .with("scales", json!([1.0, 2.0]));
    let found = offers.iter().find(|offer| offer.generic("T").as_deref() == Some("f64")).unwrap();
    let made = found.construct(&args).unwrap().measurement().unwrap();
    assert!(made.input().domain().is::<VectorDomain<AtomDomain<f64>>>());
    let released = made.invoke(&AnyValue::new(vec![1.0, 2.0])).unwrap();
    assert!((1..=2).contains(&released.downcast::<Vec<bool>>().unwrap().len()));
    assert_eq!(made.map(&AnyDistance::new(0.5)).unwrap().downcast_ref::<f64>(), Ok(&0.75));
    assert!(made.map(&AnyDistance::new(1_u32)).is_err(), "a distance of another type is accepted");
}
