//! A metric of a third party, whose `clone` panics. The panic must not end the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opendp_core::{
    AtomDomain, DatasetMetric, Domain, L1Distance, Metric, MetricOn, Named, Result, Space,
    SymmetricDistance, TypeName, VectorDomain,
};
use opendp_transformations::{make_count_by, make_count_by_categories};
use serde_json::Value as Json;

#[derive(Debug, PartialEq)]
struct Fragile;
impl Clone for Fragile {
    fn clone(&self) -> Self {
        panic!("a fault of the author")
    }
}
impl Named for Fragile {
    fn type_name() -> TypeName {
        TypeName::plain("Fragile")
    }
}
impl Metric for Fragile {
    type Distance = u32;
    fn to_json(&self) -> Json {
        SymmetricDistance.to_json()
    }
}
impl DatasetMetric for Fragile {
    fn sized(&self) -> bool {
        false
    }
    fn ordered(&self) -> bool {
        false
    }
    fn to_symmetric(&self, d_in: u32) -> Result<u32> {
        Ok(d_in)
    }
}
impl<D: Domain> MetricOn<VectorDomain<D>> for Fragile {}

fn panics<T>(
    made: impl FnOnce(Space<VectorDomain<AtomDomain<i32>>, Fragile>) -> Result<T>,
) -> bool {
    let input = Space::new(VectorDomain::new(AtomDomain::default()), Fragile).unwrap();
    catch_unwind(AssertUnwindSafe(|| made(input).is_ok())).is_err()
}

#[test]
fn a_panic_of_the_clone_of_a_metric_stays_a_panic() {
    assert!(panics(make_count_by::<_, _, i32>));
    assert!(panics(|input| {
        make_count_by_categories::<_, _, L1Distance<i32>, i32>(input, vec![1], true)
    }));
}
