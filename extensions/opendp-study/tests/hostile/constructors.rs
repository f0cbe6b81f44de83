//! Constructors of another crate. Most of them have a fault.

use std::collections::HashMap;

use opendp_core::arith::DirectedFloat;
use opendp_core::erased::AnyValue;
use opendp_core::{
    AtomDomain, Carrier, ChangeOneDistance, Error, Function, MaxDivergence, Measurement,
    PrivacyMap, Queryable, Result, Space, SymmetricDistance, VectorDomain, register,
};

type Texts = VectorDomain<AtomDomain<String>>;
type Rows = Space<Texts, SymmetricDistance>;
type Release<T> = Result<Measurement<Texts, SymmetricDistance, MaxDivergence, T>>;

fn release<T: Carrier>(
    input: Rows,
    loss: f64,
    run: impl Fn(&Vec<String>) -> T + Send + Sync + 'static,
) -> Release<T> {
    let map = PrivacyMap::new(move |_: &u32| Ok(loss));
    Ok(Measurement::new(input, MaxDivergence, Function::map(move |rows| Ok(run(rows))), map))
}
/// Release a constant. The map is the map of randomized response.
fn make_present(input: Rows, flip: f64) -> Release<bool> {
    if !(0.0 < flip && flip <= 0.5) {
        return Err(Error::argument("flip", "expected a number above 0 and at most 0.5"));
    }
    release(input, ((1.0 - flip) / flip).inf_ln()?, |_| true)
}
/// Release a constant. The loss is the argument.
fn make_of_epsilon(input: Rows, epsilon: f64) -> Release<bool> {
    if !(0.0 < epsilon && epsilon < 1e9) {
        return Err(Error::argument("epsilon", "expected a number above 0 and below 1e9"));
    }
    release(input, epsilon, |_| true)
}
/// Release a constant. The map returns the argument.
fn make_of_loss(input: Rows, loss: f64) -> Release<bool> {
    release(input, loss, |_| true)
}
/// Release a constant. The map returns NaN at every scale.
fn make_faulty(input: Rows, scale: f64) -> Release<bool> {
    release(input, scale * f64::NAN, |_| true)
}
/// Release a constant. The loss does not depend on the scale.
fn make_scaleless(input: Rows, scale: f64) -> Release<bool> {
    release(input, 0.5, move |_| scale < 0.0)
}
/// Release a conversation.
fn make_conversation(input: Rows) -> Release<Queryable<i32, i32>> {
    release(input, 0.5, |_| Queryable::stateless(|question: &i32| Ok(*question)))
}
/// Panic in each release.
fn make_panics(input: Rows) -> Release<bool> {
    release(input, 0.5, |_| panic!("always"))
}
/// Panic if there are rows.
fn make_panics_on_rows(input: Rows) -> Release<bool> {
    release(input, 0.5, |rows| if rows.is_empty() { true } else { panic!("{} rows", rows.len()) })
}
/// Panic in the constructor.
fn make_panics_when_made(input: Rows) -> Release<bool> {
    if input.domain().size().is_none() {
        panic!("at once");
    }
    release(input, 0.5, |_| true)
}
/// Panic after a release.
fn make_panics_after() -> Result<Function<AnyValue, AnyValue>> {
    Ok(Function::map(|_: &AnyValue| panic!("afterwards")))
}
/// Fail in each release.
fn make_fails(input: Rows) -> Release<bool> {
    let map = PrivacyMap::new(|_: &u32| Ok(0.5));
    let function = Function::map(|_: &Vec<String>| Err(Error::FailedFunction("no".into())));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}
/// Release a constant map.
fn make_map(input: Rows) -> Release<HashMap<String, i64>> {
    release(input, 0.5, |_| HashMap::from([("here".to_owned(), 1)]))
}
/// Release a constant list of lists.
fn make_nested(input: Rows) -> Release<Vec<Vec<i64>>> {
    release(input, 0.5, |_| vec![vec![1]])
}
/// Take rows of texts under another metric.
fn make_on_graphs(
    input: Space<Texts, ChangeOneDistance>,
) -> Result<Measurement<Texts, ChangeOneDistance, MaxDivergence, bool>> {
    let map = PrivacyMap::new(|_: &u32| Ok(0.5));
    Ok(Measurement::new(input, MaxDivergence, Function::map(|_: &Vec<String>| Ok(true)), map))
}
register! { "constructors.rs": make_present as ["test::make_present"](input, flip); }
register! { "constructors.rs": make_of_epsilon as ["test::make_of_epsilon"](input, epsilon); }
register! { "constructors.rs": make_of_loss as ["test::make_of_loss"](input, loss); }
register! { "constructors.rs": make_faulty as ["test::make_faulty"](input, scale); }
register! { "constructors.rs": make_scaleless as ["test::make_scaleless"](input, scale); }
register! { "constructors.rs": make_conversation as ["test::make_conversation"](input); }
register! { "constructors.rs": make_panics as ["test::make_panics"](input); }
register! { "constructors.rs": make_panics_on_rows as ["test::make_panics_on_rows"](input); }
register! { "constructors.rs": make_panics_when_made as ["test::make_panics_when_made"](input); }
register! { "constructors.rs": make_panics_after as ["test::make_panics_after"](); }
register! { "constructors.rs": make_fails as ["test::make_fails"](input); }
register! { "constructors.rs": make_map as ["test::make_map"](input); }
register! { "constructors.rs": make_nested as ["test::make_nested"](input); }
register! { "constructors.rs": make_on_graphs as ["test::make_on_graphs"](input); }
