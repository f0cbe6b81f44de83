//! Tests hostile documents. Each document gives an error that names the mistake.

use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::{build, map};

#[track_caller]
fn refuse(document: Json, kind: &str, parts: &[&str]) {
    let error = match build(document) {
        Err(error) => error,
        Ok(made) => panic!("{made:?}"),
    };
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "`{error}` does not say `{part}`");
    }
}
fn floats(chain: Json) -> Json {
    let domain = json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}});
    json!({"space": {"domain": domain, "metric": "symmetric_distance"}, "chain": chain})
}
fn scalar(atom: &str, link: Json) -> Json {
    let domain = json!({"atom_domain": {"T": atom, "nan": if atom == "f64" { json!(false) } else { json!(null) }}});
    json!({"space": {"domain": domain, "metric": {"absolute_distance": {"T": atom}}}, "chain": [link]})
}

#[test]
fn bounds_that_are_nan_or_reversed() {
    refuse(
        floats(json!([{"clamp": {"bounds": ["NaN", 1.0]}}])),
        "FailedFunction",
        &["bounds", "NaN"],
    );
    refuse(
        floats(json!([{"clamp": {"bounds": [1.0, 0.0]}}])),
        "MakeDomain",
        &["bounds", "swap them"],
    );
    refuse(json!({"atom_domain": {"T": "i32", "bounds": [2, 1]}}), "MakeDomain", &["bounds"]);
    refuse(json!({"atom_domain": {"T": "i32", "nan": true}}), "MakeDomain", &["nan", "i32"]);
}
#[test]
fn candidates_and_alpha() {
    let scores = |candidates: Json, alpha: Json| {
        floats(json!([{"quantile_score_candidates": {"candidates": candidates, "alpha": alpha}}]))
    };
    refuse(
        scores(json!([2.0, 1.0]), json!(0.5)),
        "MakeTransformation",
        &["candidates", "increasing"],
    );
    refuse(scores(json!([1.0, 1.0]), json!(0.5)), "MakeTransformation", &["candidates"]);
    refuse(scores(json!(["NaN", 1.0]), json!(0.5)), "MakeTransformation", &["candidates"]);
    refuse(scores(json!([]), json!(0.5)), "MakeTransformation", &["candidates"]);
    for alpha in [json!(1.5), json!(-0.1), json!("NaN")] {
        refuse(scores(json!([1.0]), alpha), "MakeTransformation", &["alpha"]);
    }
}
#[test]
fn scales_and_temperatures() {
    let laplace = |scale: Json| scalar("f64", json!({"laplace": {"scale": scale}}));
    refuse(laplace(json!(-1.0)), "MakeMeasurement", &["scale"]);
    refuse(laplace(json!("NaN")), "MakeMeasurement", &["scale"]);
    refuse(laplace(json!("Infinity")), "MakeTransformation", &["scale"]);
    refuse(laplace(json!("x")), "Argument", &["scale"]);
    // A noise scale of 0 is allowed. The loss of a mechanism without noise is infinite.
    let exact = build(laplace(json!(0.0))).unwrap();
    assert_eq!(map(&exact, json!(1.0)).unwrap(), json!("Infinity"));
    for temperature in [json!(0.0), json!(-1.0), json!("Infinity"), json!("NaN")] {
        let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
        let document = json!({
            "space": {"domain": domain, "metric": {"range_distance": {"T": "i32"}}},
            "chain": [{"gumbel_max": {"temperature": temperature, "optimize": "max"}}],
        });
        refuse(document, "MakeMeasurement", &["temperature"]);
    }
    refuse(scalar("i32", json!({"laplace": {"scale": 1.0, "k": 3}})), "MakeMeasurement", &["k"]);
}
#[test]
fn json_of_the_wrong_type() {
    refuse(floats(json!([{"clamp": {"bounds": 5}}])), "Argument", &["bounds", "number"]);
    refuse(floats(json!([{"clamp": {"bounds": [0.0]}}])), "Argument", &["bounds"]);
    refuse(floats(json!([{"clamp": {"bounds": {"a": 1}}}])), "Argument", &["bounds"]);
    refuse(floats(json!([{"clamp": 7}])), "Argument", &["clamp"]);
    refuse(floats(json!([7])), "Argument", &["chain"]);
    refuse(floats(json!({})), "Argument", &["chain"]);
    refuse(floats(json!([])), "Argument", &["chain"]);
    refuse(json!({"space": 1, "chain": ["count"]}), "Argument", &["space"]);
    refuse(json!({"chain": ["count"]}), "Argument", &["space", "missing"]);
    refuse(json!(7), "Argument", &["pipeline"]);
    refuse(json!({"constructor": 7}), "Argument", &["constructor"]);
    refuse(json!({"constructor": "make_count", "kwargs": {}}), "Argument", &["kwargs"]);
}
#[test]
fn numbers_that_lose_their_value() {
    let text = r#"{"space": {"domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}},
        "metric": "symmetric_distance"}, "chain": [{"clamp": {"bounds": [0, 9223372036854775808]}}]}"#;
    let error = Document::parse(text).unwrap().build(Registry::global()).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("bounds") && error.to_string().contains("f64"), "{error}");
    let exact = text.replace("9223372036854775808", "9.223372036854775808e18");
    assert!(Document::parse(&exact).unwrap().build(Registry::global()).is_ok());
    refuse(
        json!({"atom_domain": {"T": "i64", "bounds": [0, 9223372036854775808_u64]}}),
        "Argument",
        &["bounds"],
    );
}
#[test]
fn unknown_names_anywhere() {
    refuse(floats(json!(["clomp"])), "NotFound", &["clomp", "did you mean", "make_clamp"]);
    refuse(json!({"constructor": "make_lapace"}), "NotFound", &["make_laplace"]);
    let space = |domain: &str, metric: &str| json!({"space": {"domain": domain, "metric": metric}, "chain": ["count"]});
    refuse(space("VectorDomain<AtomDomain<i33>>", "symmetric_distance"), "TypeParse", &["i33"]);
    refuse(
        space("VectorDomain<AtomDomain<i32>>", "symetric_distance"),
        "TypeParse",
        &["symetric_distance"],
    );
    let typo = json!({"vector_domain": {"atom_domain": {"t": "i32"}}});
    refuse(
        json!({"space": {"domain": typo, "metric": "symmetric_distance"}, "chain": ["count"]}),
        "Argument",
        &["`t`", "the known ones are"],
    );
}
#[test]
fn depth_length_and_size() {
    for open in ["[", "{\"chain\":", "{\"a\":["] {
        let error = Document::parse(&open.repeat(1_000_000)).unwrap_err();
        assert!(error.to_string().contains("128 levels"), "{error}");
    }
    let long: Vec<Json> = (0..100_000).map(|_| json!({"clamp": {"bounds": [0.0, 1.0]}})).collect();
    refuse(floats(json!(long)), "Argument", &["chain", "256"]);
    let longest: Vec<Json> = (0..256).map(|_| json!({"clamp": {"bounds": [0.0, 1.0]}})).collect();
    let made = build(floats(json!(longest))).unwrap().transformation().unwrap();
    assert!(made.invoke(&opendp_core::erased::AnyValue::new(vec![0.5; 10_000])).is_ok());
    let deep = format!("Vec<{}", "Vec<".repeat(100_000));
    refuse(
        json!({"space": {"domain": deep, "metric": "symmetric_distance"}, "chain": ["count"]}),
        "NotFound",
        &[],
    );
}
#[test]
fn links_that_do_not_fit() {
    refuse(
        floats(
            json!([{"clamp": {"bounds": [0.0, 1.0]}}, "sum", {"laplace": {"scale": 1.0}}, "count"]),
        ),
        "Argument",
        &["link 4", "count"],
    );
    refuse(floats(json!(["sum"])), "MakeTransformation", &["link 1", "make_clamp"]);
    refuse(
        floats(json!([{"clamp": {"bounds": [0.0, 1.0]}}, "mean"])),
        "MakeTransformation",
        &["link 2", "size"],
    );
}
#[test]
fn distances_that_are_none() {
    let count = build(floats(json!(["count"]))).unwrap();
    for d_in in [json!(-1), json!(1.5), json!("x"), json!(4294967296_u64), json!(null)] {
        assert!(map(&count, d_in).is_err());
    }
    let laplace = build(scalar("f64", json!({"laplace": {"scale": 1.0}}))).unwrap();
    for d_in in [json!(-1.0), json!("NaN"), json!("Infinity")] {
        assert_eq!(map(&laplace, d_in).unwrap_err().kind(), "FailedMap");
    }
}
#[test]
fn versions_to_come() {
    let mut document = floats(json!(["count"]));
    document["version"] = json!(1);
    assert!(build(document.clone()).is_ok());
    for version in [json!(2), json!(0), json!("1"), json!(1.5)] {
        document["version"] = version;
        let error = Document::new(document.clone()).unwrap_err();
        assert!(error.to_string().contains("version"), "{error}");
    }
}
