//! Test a mechanism of a third party. The options of a query contain the name of the mechanism.
#![allow(clippy::unwrap_used, reason = "tests stop by panicking")]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use opendp_core::{
    AtomDomain, IBig, L1Distance, MaxDivergence, Measurement, Result, Space, VectorDomain, register,
};
use opendp_measurements::{Scale, make_laplace};
use opendp_tables::{Budget, Metadata, Session, Source, datafusion};

type Vectors = VectorDomain<AtomDomain<IBig>>;

/// Make a measurement that adds Laplace noise. The scale of the noise is half of the argument
/// `scale`.
fn make_half_laplace(
    input: Space<Vectors, L1Distance<f64>>,
    scale: Scale,
) -> Result<Measurement<Vectors, L1Distance<f64>, MaxDivergence, Vec<IBig>>> {
    make_laplace(input, Scale::new(scale.value() / 2.0)?, None)
}
register! {
    "mechanism.rs": make_half_laplace as ["acme::make_half_laplace"](input, scale);
}

fn session() -> Session {
    let metadata = "[budget]\nepsilon = 4\n[tables.t]\nunit = { rows = 1 }\n[tables.t.columns]\n\
                    age = { type = 'integer', bounds = [0, 100] }\n";
    let ages = Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef;
    let rows = RecordBatch::try_from_iter([("age", ages)]).unwrap();
    let metadata = Metadata::parse(metadata).unwrap();
    Session::new(metadata, vec![("t".into(), Source::Batches(vec![rows]))]).unwrap()
}
#[test]
fn a_query_names_the_mechanism_of_a_third_party() {
    let session = session();
    let ask = || session.query("SELECT COUNT(*) FROM t").unwrap();
    let question = ask().spending(Budget::epsilon(1.0).unwrap());
    let question = question.mechanism("acme::make_half_laplace");
    let explained = question.explain().unwrap();
    // The privacy map of the mechanism computes the loss. For the same loss, the argument `scale`
    // is twice the scale of `make_laplace`.
    assert_eq!(explained.releases[0].mechanism, "acme::make_half_laplace");
    assert!((explained.releases[0].scale - 2.0).abs() < 1e-6, "{:?}", explained.releases);
    assert_eq!(explained.loss.show(true), "epsilon 1");
    let answer = question.release().unwrap();
    assert_eq!(answer.document["releases"][0]["mechanism"], "acme::make_half_laplace");
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 3");

    let unknown = ask().spending(Budget::epsilon(1.0).unwrap()).mechanism("acme::make_nothing");
    let error = unknown.release().unwrap_err();
    assert!(error.to_string().contains("acme::make_nothing"), "{error}");
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 3", "errors cost nothing");
}
