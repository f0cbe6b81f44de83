//! Tests of parameters of documents. A parameter gets a given value, or a search finds its value.

use std::collections::BTreeMap;
use std::f64::consts::E;

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
    // All numbers are between 0 and 10. If one of n numbers is replaced, their mean changes by at
    // most 10/n. For n = 100, the map can round 10/n up to slightly more than 0.1. Then the search
    // returns 101.
    assert!([json!(100), json!(101)].contains(&n), "{n}");
}
#[test]
fn an_unknown_parameter_is_not_solved_for() {
    let error = scaled(json!({"param": "scale"}))
        .solve(Registry::global(), "sclae", &json!(1.0), &json!(1.0))
        .unwrap_err();
    assert!(error.to_string().contains("`scale`"), "{error}");
}
#[test]
fn no_noise_is_never_the_answer() {
    let solve = |document: &Document, name: &str, d_in: Json, d_out: Json| {
        document.solve(Registry::global(), name, &d_in, &d_out)
    };
    let scale = scaled(json!({"param": "scale"}));
    for d_out in [json!("Infinity"), json!(1e308)] {
        match solve(&scale, "scale", json!(1.0), d_out.clone()) {
            Ok(scale) => assert!(scale.as_f64().is_some_and(|scale| 0.0 < scale), "{d_out}"),
            Err(error) => {
                assert_eq!((error.kind(), &d_out), ("Search", &json!("Infinity")));
                assert!(error.to_string().contains("no noise"), "{error}");
            }
        }
    }
    // If nine records are always 5, their sum is constant. So a release of the sum meets every
    // budget, even without noise. A selection with any positive temperature meets an infinite
    // budget. In both cases, all valid values of the parameter meet the budget, so the search gives
    // an error.
    let constant = Document::new(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": 9}}, "metric": "change_one_distance"},
        "chain": [{"clamp": {"bounds": [5, 5]}}, "sum", {"laplace": {"scale": {"param": "s"}}}],
    }))
    .unwrap();
    let error = solve(&constant, "s", json!(1), json!(0.5)).unwrap_err();
    assert!(error.kind() == "Search" && error.to_string().contains("no noise"), "{error}");
    let choice = Document::new(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": {"range_distance": {"T": "i32"}}},
        "chain": [{"gumbel_max": {"temperature": {"param": "t"}, "optimize": "max"}}],
    }))
    .unwrap();
    let error = solve(&choice, "t", json!(1), json!("Infinity")).unwrap_err();
    assert!(error.kind() == "Search" && error.to_string().contains("no noise"), "{error}");
    // The solved parameter can also be a bound of the data, and its value can be 0.
    let mut upper = document().json().clone();
    upper["chain"][2]["laplace"]["scale"] = json!(1.0);
    let upper = Document::new(upper).unwrap();
    assert_eq!(solve(&upper, "upper", json!(1), json!(0.5)), Ok(json!(0)));
}
#[test]
fn a_threshold_is_found_where_the_map_fails_at_smaller_ones() {
    let document = |mechanism: &str, value: &str, scale: f64| {
        let atom = |name: &str| json!({"atom_domain": {"T": name, "nan": json!(null)}});
        let value_domain = match value {
            "f64" => json!({"atom_domain": {"T": "f64", "nan": false}}),
            other => atom(other),
        };
        let domain =
            json!({"map_domain": {"key_domain": atom("String"), "value_domain": value_domain}});
        let norm = if mechanism.starts_with('l') { "L01" } else { "L02" };
        let metric = format!("{norm}InfDistance<AbsoluteDistance<{value}>>");
        let noise = json!({mechanism: {"scale": scale, "threshold": {"param": "t"}}});
        let space = json!({"domain": domain, "metric": metric});
        Document::new(json!({"space": space, "chain": [noise]})).unwrap()
    };
    for mechanism in ["laplace_threshold", "gaussian_threshold"] {
        for value in ["i32", "f64"] {
            for largest in [2, 3, 7, 50] {
                let document = document(mechanism, value, f64::from(largest));
                let (d_in, d_out) = (json!([1, largest, largest]), json!([10.0, 1e-6]));
                let meets = |t: &Json| {
                    let given = values(&[("t", t.clone())]);
                    let made = document.build_with(Registry::global(), &given)?;
                    made.check(&d_in, &d_out)
                };
                let told = format!("{mechanism} {value} {largest}");
                // At small thresholds such as 1, the map fails. An earlier version of the search
                // returned such a threshold.
                assert!(meets(&json!(1)).is_err(), "{told}");
                let found = document.solve(Registry::global(), "t", &d_in, &d_out).unwrap();
                assert_eq!(meets(&found), Ok(true), "{told}: {found}");
                let less = match value {
                    "i32" => json!(found.as_i64().unwrap() - 1),
                    _ => json!(found.as_f64().unwrap().next_down()),
                };
                assert_ne!(meets(&less), Ok(true), "{told}: {found}");
            }
        }
    }
}
/// Make a document whose data are ten numbers of type `f64`.
fn rows(chain: Json) -> Document {
    let rows = json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 10}});
    let space = json!({"domain": rows, "metric": "symmetric_distance"});
    Document::new(json!({"space": space, "chain": chain})).unwrap()
}
#[test]
fn the_number_of_copies_is_found_although_no_composition_has_0_copies() {
    let composed = rows(json!([
        {"clamp": {"bounds": [0.0, 100.0]}}, "sum",
        {"composition": {"measurements": [
            {"repeat": {"param": "p"}, "chain": [{"laplace": {"scale": 100.0}}]},
        ]}},
    ]));
    let solve = |d_out: Json| composed.solve(Registry::global(), "p", &json!(2), &d_out);
    for copies in [1, 9, 10, 100] {
        assert_eq!(solve(json!(copies)).unwrap(), json!(copies));
    }
    assert_eq!(solve(json!(10.5)).unwrap(), json!(10));
    let error = solve(json!(0.5)).unwrap_err().to_string();
    assert!(error.contains("no value of `p` was found that meets 0.5"), "{error}");
    assert!(error.contains("the least loss that was found is 1.0, at 1"), "{error}");
    // Every number of copies that a document can have meets this bound. The result is the largest
    // of them, because its loss is the largest.
    assert_eq!(solve(json!(1e9)).unwrap(), json!(100_000));
}
#[test]
fn a_bound_of_the_data_is_found_beyond_the_last_value_of_the_steps() {
    let lower = |d_out: Json| {
        let chain = json!([
            {"clamp": {"bounds": [{"param": "p"}, 100.0]}}, "sum", {"laplace": {"scale": 100.0}},
        ]);
        rows(chain).solve(Registry::global(), "p", &json!(2), &d_out)
    };
    // The lower bound is at most 100. If it is `p`, the loss is `(100 - p) / 100`.
    for (d_out, p) in [(0.1, 90.0), (0.125, 87.5), (0.75, 25.0), (1.5, -50.0)] {
        assert_eq!(lower(json!(d_out)).unwrap(), json!(p), "{d_out}");
    }
}
#[test]
fn a_probability_is_found_between_the_ends_of_its_range() {
    let response = Document::new(json!({
        "space": {"domain": {"atom_domain": {"T": "bool"}}, "metric": "discrete_distance"},
        "chain": [{"randomized_response_bool": {"prob": {"param": "p"}}}],
    }))
    .unwrap();
    let found = response.solve(Registry::global(), "p", &json!(1), &json!(1.0)).unwrap();
    let prob = found.as_f64().unwrap();
    assert!((prob - E / (1.0 + E)).abs() < 1e-9, "{prob}");
    let met = |prob: f64| {
        let made = response.build_with(Registry::global(), &values(&[("p", json!(prob))])).unwrap();
        made.check(&json!(1), &json!(1.0)).unwrap()
    };
    assert!(met(prob) && !met(prob.next_up()));
    // The probability 1 means that the release is the data.
    let error = response.solve(Registry::global(), "p", &json!(1), &json!("Infinity")).unwrap_err();
    assert!(error.kind() == "Search" && error.to_string().contains("no noise"), "{error}");
}
