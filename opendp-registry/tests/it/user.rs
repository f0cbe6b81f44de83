//! Definitions that users add by name at run time.

use opendp_core::erased::{AnyDistance, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Args, Constructed, Domain, Function, MaxDivergence, Measure, PrivacyMap, Result, TheMeasure,
    UserDomain,
};
use opendp_registry::Registry;
use serde_json::json;

use crate::{build, measurement, transformation};

fn make(name: &str, args: Args) -> Result<Constructed> {
    Registry::global().make(name, &args)
}
fn doubling() -> PrivacyMap<AnyMetric, AnyMeasure> {
    PrivacyMap::new(|d: &AnyDistance| {
        let d = *d.downcast_ref::<f64>()?;
        Ok(AnyDistance::new(2.0 * d))
    })
}

#[test]
fn a_measurement_of_ones_own_ends_a_chain_of_the_house() {
    let sum = transformation(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}},
                  "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0.0, 10.0]}}, "sum"],
    }));
    let told = Function::map(|_: &f64| Ok("nothing".to_owned())).erase();
    let args = Args::new()
        .with("input", sum.output())
        .with("output_measure", build(json!({"max_divergence": {}})).unwrap())
        .with("function", Constructed::from(told))
        .with_value("privacy_map", doubling());
    let silent = make("make_user_measurement", args).unwrap().measurement().unwrap();
    let chain = sum.then(|_| Ok(silent)).unwrap();
    let answer = chain.invoke(&AnyValue::new(vec![1.0, 2.0])).unwrap();
    assert_eq!(answer.downcast::<String>().unwrap(), "nothing");
    let distance = chain.input().metric().decode(&json!(1)).unwrap();
    assert_eq!(*chain.map(&distance).unwrap().downcast_ref::<f64>().unwrap(), 20.0);
    assert_eq!(*chain.measure(), AnyMeasure::from(TheMeasure(MaxDivergence)));
}
#[test]
fn spaces_and_measures_of_ones_own_stand_in_documents() {
    let metric = build(json!({"user_distance": {"identifier": "edits"}})).unwrap();
    assert_eq!(metric.kind().name(), "metric");
    let measure = build(json!({"user_divergence": {"identifier": "bits", "descriptor": [1]}}));
    let measure = measure.unwrap().measure().unwrap();
    assert!(measure.compose(&[]).is_err());
    let texts = json!({"atom_domain": {"T": "String"}});
    let filter = json!({"constructor": "make_privacy_filter", "args": {
        "odometer": {"constructor": "make_fully_adaptive_composition", "args": {
            "input_domain": texts, "input_metric": {"user_distance": {"identifier": "edits"}},
            "output_measure": "max_divergence",
        }},
        "d_in": 0.5, "d_out": 1.0,
    }});
    let talk = measurement(filter.clone());
    let edit = talk.input().metric().decode(&json!(0.5)).unwrap();
    assert_eq!(*talk.map(&edit).unwrap().downcast_ref::<f64>().unwrap(), 1.0);
    // The control: the metric is replaced by a built-in metric that does not fit this domain. Then
    // the check of the space gives an error.
    let text = filter
        .to_string()
        .replace(r#"{"user_distance":{"identifier":"edits"}}"#, r#""hamming_distance""#);
    assert_eq!(build(text.parse().unwrap()).unwrap_err().kind(), "MetricSpace");
}
#[test]
fn a_domain_and_a_function_are_given_as_values() {
    let short = Function::map(|text: &String| Ok(text.len() < 5)).erase();
    let args = Args::new()
        .with("identifier", json!("short texts"))
        .with("member", Constructed::from(short.clone()));
    let domain = make("user_domain", args).unwrap().domain().unwrap();
    assert!(domain.is::<UserDomain>());
    assert!(domain.member(&AnyValue::new("four".to_owned())));
    assert!(!domain.member(&AnyValue::new("longer".to_owned())));
    assert!(!domain.member(&AnyValue::new(4)));
    let args = Args::new().with("function", Constructed::from(short));
    let function = make("make_user_postprocessor", args).unwrap().function().unwrap();
    let answer = function.eval(&AnyValue::new("four".to_owned())).unwrap();
    assert!(answer.downcast::<bool>().unwrap());
    // A document cannot contain a function.
    let error = build(json!({"user_domain": {"identifier": "x", "member": "y"}})).unwrap_err();
    assert!(error.to_string().contains("`member`"), "{error}");
}
#[test]
fn parts_are_written_in_documents() {
    let member = json!({"chain": [{"count": {"TO": "i32"}}, {"laplace": {"scale": 2.0}}]});
    let document = |part: serde_json::Value, members: usize| {
        json!({
            "space": {"domain": {"vector_domain": {"atom_domain": {"T": "String"}}},
                      "metric": "symmetric_distance"},
            "chain": [{"parallel_composition": {
                "part": part, "measurements": vec![member.clone(); members],
            }}],
        })
    };
    let made = build(document(json!({"categories": ["a", "b", "c"]}), 3)).unwrap();
    assert_eq!(made.map(&json!(1)), Ok(json!(0.5)));
    assert_eq!(made.map(&json!(2)), Ok(json!(1.0)));
    let error = build(document(json!({"edges": ["m"]}), 3)).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    assert!(build(document(json!({"edges": ["m"]}), 2)).is_ok());
    assert!(build(document(json!(["m"]), 2)).is_err());
}
