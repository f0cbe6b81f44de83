//! Aggregates in documents, under the older and newer names of OpenDP.

use opendp_core::Codec;
use opendp_core::erased::AnyValue;
use serde_json::{Value as Json, json};

use crate::{build, map, measurement};

fn chain(atom: Json, size: Json, links: Json) -> Json {
    json!({
        "space": {
            "domain": {"vector_domain": {"atom_domain": atom, "size": size}},
            "metric": "symmetric_distance",
        },
        "chain": links,
    })
}
fn foreign(function: &str, kwargs: Json) -> Json {
    json!({
        "__function__": function, "__module__": "transformations", "__kwargs__": kwargs,
        "__version__": "0.16.0",
    })
}
#[track_caller]
fn maps(document: Json, d_in: Json, d_out: Json) {
    assert_eq!(map(&build(document).unwrap(), d_in).unwrap(), d_out);
}

#[test]
fn sums_by_their_older_names_describe_their_own_data() {
    for name in ["monotonic", "split", "ordered"] {
        let bounds = json!({"__tuple__": [0, 10]});
        let unsized_name = format!("make_bounded_int_{name}_sum");
        maps(foreign(&unsized_name, json!({"bounds": bounds, "T": "i32"})), json!(2), json!(20));
        let sized_name = format!("make_sized_bounded_int_{name}_sum");
        let sized = json!({"size": 9, "bounds": bounds, "T": null});
        maps(foreign(&sized_name, sized), json!(4), json!(20));
    }
    let checked = json!({"size": 10, "bounds": {"__tuple__": [1, 10]}, "T": "i64"});
    maps(foreign("make_sized_bounded_int_checked_sum", checked), json!(3), json!(9));
    for (types, d_out) in [(json!({}), 10.0), (json!({"S": "Sequential<f32>"}), 10.0)] {
        let args = json!({"size_limit": 100, "bounds": [0.0, 10.0]});
        for name in ["make_bounded_float_checked_sum", "make_bounded_float_ordered_sum"] {
            let document = json!({"constructor": name, "types": types, "args": args});
            maps(document, json!(1), json!(d_out));
        }
    }
    let clamped = json!([
        {"clamp": {"bounds": [0, 10]}},
        {"bounded_int_split_sum": {"bounds": [0, 10]}},
        {"laplace": {"scale": 10.0}},
    ]);
    let private = measurement(chain(json!({"T": "i32"}), json!(null), clamped));
    assert!(private.invoke(&AnyValue::new(vec![1, 2, 30])).is_ok());
}
#[test]
fn spreads_take_the_name_of_a_summation_or_none() {
    for (float, width) in [("f64", 10.0), ("f32", 10.0)] {
        let spread = |name: &str, args: Json| {
            let links = json!([{"clamp": {"bounds": [0.0, width]}}, {name: args}]);
            chain(json!({"T": float, "nan": false}), json!(10), links)
        };
        maps(spread("sum_of_squared_deviations", json!({})), json!(2), json!(90.0));
        let named = json!({"S": format!("Sequential<{float}>")});
        maps(spread("sum_of_squared_deviations", named), json!(2), json!(90.0));
        let bound = map(&build(spread("variance", json!({}))).unwrap(), json!(2)).unwrap();
        let bound = bound.as_f64().unwrap();
        assert!((10.0..10.00001).contains(&bound), "{bound}");
        let old = json!({"size": 10, "ddof": 1});
        assert!(build(spread("sized_bounded_variance", old)).is_ok());
    }
    let pair = json!({"atom_domain": {"T": "f64", "bounds": [0.0, 1.0]}});
    let pairs = json!({"pair_domain": {"domain_0": pair, "domain_1": pair}});
    maps(chain(pairs, json!(4), json!([{"covariance": {"ddof": 0}}])), json!(2), json!(0.1875));
    let older = json!({"size": 4, "bounds_0": [0.0, 1.0], "bounds_1": [0.0, 1.0], "ddof": 0});
    let older = json!({"constructor": "make_sized_bounded_covariance", "args": older});
    maps(older, json!(2), json!(0.1875));
}
#[test]
fn counts_and_trees_chain_into_private_releases() {
    let values = foreign(
        "make_count_by",
        json!({
            "input_domain": {"__function__": "vector_domain", "__module__": "domains",
                "__kwargs__": {"size": null, "atom_domain": {"__function__": "atom_domain",
                    "__module__": "domains", "__version__": "0.16.0",
                    "__kwargs__": {"bounds": null, "nan": null, "T": "String"}}},
                "__version__": "0.16.0"},
            "input_metric": {"__function__": "symmetric_distance", "__module__": "metrics",
                "__kwargs__": {}, "__version__": "0.16.0"},
            "TV": "i32",
        }),
    );
    maps(values, json!(6), json!([6, 6, 6]));
    let links = json!([{"count_distinct": {"TO": "i64"}}, {"laplace": {"scale": 1.0}}]);
    maps(chain(json!({"T": "String"}), json!(null), links), json!(1), json!(1.0));
    let tree = json!([
        {"count_by_categories": {"categories": [1, 2, 3], "null_category": false}},
        {"b_ary_tree": {"leaf_count": 3, "branching_factor": 2}},
    ]);
    maps(chain(json!({"T": "i32"}), json!(null), tree), json!(1), json!(3));
    let released = json!([
        {"count_by_categories": {"categories": [1, 2, 3], "null_category": false}},
        {"b_ary_tree": {"leaf_count": 3, "branching_factor": 2}},
        {"laplace": {"scale": 0.0}},
        {"consistent_b_ary_tree": {"branching_factor": 2}},
        {"cdf": {}},
    ]);
    let private = measurement(chain(json!({"T": "i32"}), json!(null), released));
    let cdf = private.invoke(&AnyValue::new(vec![1, 2, 2, 3, 9])).unwrap().to_json();
    assert_eq!(cdf, json!([0.25, 0.75, 1.0]));
    let tree = json!({
        "constructor": "make_b_ary_tree",
        "args": {
            "input": {
                "domain": {"vector_domain": {"atom_domain": {"T": "i64"}}},
                "metric": {"l2_distance": {"T": "f64"}},
            },
            "leaf_count": 4, "branching_factor": 4,
        },
    });
    let bound = map(&build(tree).unwrap(), json!(2.0)).unwrap().as_f64().unwrap();
    assert!((20_f64.sqrt()..20_f64.sqrt() * (1.0 + 1e-12)).contains(&bound), "{bound}");
}
