//! Tests that a registration is called only with the types that its signatures list.

use opendp_core::{
    Args, AtomDomain, ChangeOneDistance, Constructed, InsertDeleteDistance, MetricOn, Registration,
    Result, Space, SymmetricDistance, VectorDomain,
};
use opendp_transformations as _;
use serde_json::json;

type Rows = VectorDomain<AtomDomain<i32>>;
/// Call each registration with a name, and return the results.
fn construct<M: MetricOn<Rows>>(name: &str, metric: M) -> Vec<Result<Constructed>> {
    let rows = VectorDomain::new(AtomDomain::default()).with_size(3);
    let space = Space::new(rows, metric).unwrap().erase();
    let args = Args::new().with("input", &space).with("bounds", json!([0, 1]));
    let named = Registration::all().filter(|r| r.family.names.contains(&name));
    named.map(|registration| registration.construct(&args)).collect()
}

#[test]
fn a_metric_that_no_signature_lists_is_refused() {
    // `make_count` is compiled for four metrics, but its signatures list only two of them. The
    // signatures of `make_clamp` list all four.
    let works = |made: &[Result<Constructed>]| made.iter().any(Result::is_ok);
    for name in ["make_count", "make_clamp"] {
        assert!(works(&construct(name, SymmetricDistance)), "{name}");
        assert!(works(&construct(name, InsertDeleteDistance)), "{name}");
    }
    assert!(works(&construct("make_clamp", ChangeOneDistance)));
    let refused = construct("make_count", ChangeOneDistance);
    let errors: Vec<_> = refused.into_iter().map(Result::unwrap_err).collect();
    assert!(errors.iter().all(|error| error.kind() == "Argument"), "{errors:?}");
    let says = "argument `input`: expected `Space<VectorDomain<AtomDomain<i32>>, \
                InsertDeleteDistance>` or `Space<VectorDomain<AtomDomain<i32>>, \
                SymmetricDistance>`, found a space (VectorDomain<AtomDomain<i32>>, \
                ChangeOneDistance)";
    assert!(errors.iter().any(|error| error.to_string() == says), "{errors:?}");
}
