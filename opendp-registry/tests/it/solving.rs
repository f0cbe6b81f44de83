//! Parameters of documents: filled, and solved for.

use std::collections::BTreeMap;

use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::map;

fn document() -> Document {
    Document::new(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": "symmetric_distance"},
        "chain": [
            {"clamp": {"bounds": [0, {"param": "upper"}]}},
            "sum",
            {"laplace": {"scale": {"param": "scale"}}},
        ],
    }))
    .unwrap()
}
fn values(pairs: &[(&str, Json)]) -> BTreeMap<String, Json> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
fn scaled(scale: Json) -> Document {
    Document::new(json!({
        "space": {"domain": {"atom_domain": {"T": "f64", "nan": false}}, "metric": {"absolute_distance": {"T": "f64"}}},
        "chain": [{"laplace": {"scale": scale}}],
    }))
    .unwrap()
}

#[test]
fn parameters_are_listed_and_filled() {
    assert_eq!(document().parameters(), ["scale", "upper"]);
    let given = values(&[("upper", json!(10)), ("scale", json!(20.0))]);
    let made = document().build_with(Registry::global(), &given).unwrap();
    assert_eq!(map(&made, json!(1)).unwrap(), json!(0.5));
}
#[test]
fn a_missing_or_unknown_parameter_is_named() {
    let error = document().build(Registry::global()).unwrap_err();
    assert!(error.kind() == "Argument" && error.to_string().contains("upper"), "{error}");
    let given = values(&[("upper", json!(10)), ("scale", json!(1.0)), ("x", json!(1))]);
    let error = document().build_with(Registry::global(), &given).unwrap_err();
    assert!(error.to_string().contains("`x`"), "{error}");
}
#[test]
fn the_smallest_scale_that_meets_a_budget_is_found() {
    let solve = |d_in: Json, d_out: Json| {
        scaled(json!({"param": "scale"})).solve(Registry::global(), "scale", &d_in, &d_out)
    };
    assert_eq!(solve(json!(1.0), json!(1.0)).unwrap(), json!(1.0));
    let scale = solve(json!(1.0), json!(0.1)).unwrap();
    let made = scaled(scale.clone()).build(Registry::global()).unwrap();
    assert!(map(&made, json!(1.0)).unwrap().as_f64().unwrap() <= 0.1);
    let value = scale.as_f64().unwrap();
    let less =
        scaled(json!(f64::from_bits(value.to_bits() - 1))).build(Registry::global()).unwrap();
    assert!(0.1 < map(&less, json!(1.0)).unwrap().as_f64().unwrap());
    assert_eq!(solve(json!(1.0), json!(0.0)).unwrap_err().kind(), "Search");
    assert_eq!(solve(json!(-1.0), json!(1.0)).unwrap_err().kind(), "FailedMap");
    assert_eq!(solve(json!("x"), json!(1.0)).unwrap_err().kind(), "FailedCast");
}
#[test]
fn a_size_is_searched_among_whole_numbers() {
    let mean = Document::new(json!({
        "space": {
            "domain": {"vector_domain": {"atom_domain": {"T": "f64", "bounds": [0.0, 10.0]}, "size": {"param": "n"}}},
            "metric": "symmetric_distance",
        },
        "chain": ["mean", {"laplace": {"scale": 1.0}}],
    }))
    .unwrap();
    let n = mean.solve(Registry::global(), "n", &json!(2), &json!(0.1)).unwrap();
    // The mean of n moves by 10/n, which rounds up at n = 100 to a little more than 0.1.
    assert!([json!(100), json!(101)].contains(&n), "{n}");
}
#[test]
fn an_unknown_parameter_is_not_solved_for() {
    let error = scaled(json!({"param": "scale"}))
        .solve(Registry::global(), "sclae", &json!(1.0), &json!(1.0))
        .unwrap_err();
    assert!(error.to_string().contains("`scale`"), "{error}");
}
