//! Tests that a registered constructor accepts a user's function whose types are erased.

use opendp_core::erased::AnyValue;
use opendp_core::{
    Arg, Args, AtomDomain, Constructed, Function, HammingDistance, Made, Registration, Result,
    Space, StabilityMap, SymmetricDistance, TheDomain, TheMetric, UserDistance, UserDomain,
    VectorDomain,
};
use opendp_transformations as _;

fn rows() -> Space<VectorDomain<AtomDomain<i32>>, SymmetricDistance> {
    Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
}
fn construct(args: &Args) -> Result<Constructed> {
    let mut all = Registration::all();
    let made = all.find(|r| r.family.names.contains(&"make_user_transformation")).unwrap();
    made.construct(args)
}
fn pair(domain: Constructed, metric: Constructed) -> Arg {
    Arg::Pair(domain.domain().unwrap(), metric.metric().unwrap())
}
fn args(input: Arg, output: Arg) -> Args {
    let length = Function::map(|rows: &Vec<i32>| Ok(rows.len() as i32));
    Args::new()
        .with("input", input)
        .with("output", output)
        .with("function", Constructed::from(length.erase()))
        .with_value("stability_map", map().erase())
}
fn map() -> StabilityMap<SymmetricDistance, UserDistance> {
    StabilityMap::new(|d: &u32| Ok(f64::from(*d)))
}

#[test]
fn is_made_of_values_whose_types_are_erased() {
    let output = || {
        let domain = UserDomain::new("lengths", |x| x.downcast_ref::<i32>().is_ok());
        pair(TheDomain(domain).erased(), TheMetric(UserDistance::new("rows")).erased())
    };
    let input = Arg::from(&rows().erase());
    let made = construct(&args(input, output())).unwrap().transformation().unwrap();
    let length = made.invoke(&AnyValue::new(vec![5, 6, 7])).unwrap();
    assert_eq!(length.downcast::<i32>().unwrap(), 3);
    let d_in = made.input().metric().decode(&2.into()).unwrap();
    assert_eq!(*made.map(&d_in).unwrap().downcast_ref::<f64>().unwrap(), 2.0);
    assert!(made.output().domain().is::<UserDomain>());
}
#[test]
fn pairs_of_the_house_are_checked_though_their_types_are_erased() {
    let with = |metric| {
        let domain = || TheDomain(VectorDomain::new(AtomDomain::<i32>::default())).erased();
        construct(&args(pair(domain(), metric), Arg::from(&rows().erase())))
    };
    assert!(with(TheMetric(SymmetricDistance).erased()).is_ok());
    // The Hamming distance requires a known size, but this domain states no size.
    let error = with(TheMetric(HammingDistance).erased()).unwrap_err();
    assert_eq!(error.kind(), "MetricSpace", "{error}");
    assert!(with(TheMetric(UserDistance::new("rows")).erased()).is_ok());
}
