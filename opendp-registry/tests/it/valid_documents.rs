//! A valid document of each kind, which tests modify.

use serde_json::{Value as Json, json};

fn rows(atom: Json) -> Json {
    json!({"vector_domain": {"atom_domain": atom}})
}
fn on(domain: Json, metric: Json, chain: Json) -> Json {
    json!({"space": {"domain": domain, "metric": metric}, "chain": chain})
}
fn sized(size: u32) -> Json {
    let atom = json!({"T": "f64", "bounds": [0.0, 10.0], "nan": false});
    json!({"vector_domain": {"atom_domain": atom, "size": size}})
}
fn integers(chain: Json) -> Json {
    on(rows(json!({"T": "i32"})), json!("symmetric_distance"), chain)
}
fn bounded(chain: Json) -> Json {
    on(rows(json!({"T": "i32", "bounds": [0, 5]})), json!("symmetric_distance"), chain)
}
fn number(atom: &str, chain: Json) -> Json {
    let nan = if atom.starts_with('f') { json!(false) } else { json!(null) };
    on(json!({"atom_domain": {"T": atom, "nan": nan}}), json!("absolute_distance"), chain)
}
fn keyed(metric: &str, chain: Json) -> Json {
    let atom = |name: &str| json!({"atom_domain": {"T": name}});
    let domain = json!({"map_domain": {"key_domain": atom("String"), "value_domain": atom("i32")}});
    let metric = json!({metric: {"metric": {"absolute_distance": {"T": "i32"}}}});
    on(domain, metric, chain)
}
fn scores(chain: Json) -> Json {
    let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}, "size": 3}});
    on(domain, json!({"linf_distance": {"T": "i32", "monotonic": true}}), chain)
}
fn noisy(mechanism: &str, measure: &str) -> Json {
    json!({"chain": ["sum", {mechanism: {"scale": 2.0, "MO": measure}}]})
}
fn around(name: &str, mut arguments: Json, member: Json) -> Json {
    arguments["measurement"] = member;
    let member = json!({"constructor": name, "args": arguments});
    bounded(json!([member]))
}

/// A valid document of each kind. Together they name every constructor that documents can name.
pub(crate) fn documents() -> Vec<Json> {
    let mut all = rowwise();
    all.extend(folds());
    all.extend(mechanisms());
    all.extend(combinators());
    all
}
fn rowwise() -> Vec<Json> {
    let texts = |chain: Json| on(rows(json!({"T": "String"})), json!("symmetric_distance"), chain);
    let floats = |chain: Json| on(rows(json!({"T": "f64"})), json!("symmetric_distance"), chain);
    let text = |chain: Json| {
        on(json!({"atom_domain": {"T": "String"}}), json!("symmetric_distance"), chain)
    };
    let frame = |chain: Json| {
        let domain = json!({"dataframe_domain": {
            "col_names": ["a", "b"],
            "element_domains": [{"atom_domain": {"T": "u32"}}, {"atom_domain": {"T": "bool"}}],
        }});
        on(domain, json!("symmetric_distance"), chain)
    };
    vec![
        integers(json!([{"clamp": {"bounds": [0, 10]}}, "identity", {"is_equal": {"value": 3}}])),
        integers(
            json!([{"filter_bounds": {"bounds": [0, 10]}}, {"filter_values": {"values": [1, 2]}}]),
        ),
        integers(json!([
            {"find": {"categories": [1, 2]}}, {"impute_constant": {"constant": 1}},
            {"index": {"categories": [0.5, 1.5], "null": 2.5}},
        ])),
        integers(json!([{"find_bin": {"edges": [0, 10, 20]}}, "count_by"])),
        integers(json!([{"resize": {"size": 3, "constant": 0}}, "ordered_random", "unordered"])),
        on(
            sized(3),
            json!("hamming_distance"),
            json!(["unordered", "metric_unbounded", "metric_bounded"]),
        ),
        floats(json!([{"cast": {"TOA": "i32"}}, "drop_null"])),
        floats(
            json!([{"impute_uniform_float": {"bounds": [0.0, 1.0]}}, {"cast_default": {"TOA": "i64"}}]),
        ),
        floats(json!([{"cast_inherent": {"TOA": "f32"}}, "is_null"])),
        text(json!(["split_lines", {"split_records": {"separator": ";"}},
            {"create_dataframe": {"col_names": ["a", "b"]}},
            {"df_cast_default": {"column_name": "a", "TIA": "String", "TOA": "u32"}},
            {"select_column": {"key": "a", "TOA": "u32"}}])),
        text(json!([{"split_dataframe": {"separator": ",", "col_names": ["a"]}}])),
        frame(json!([{"df_is_equal": {"column_name": "a", "value": 7, "TIA": "u32"}},
            {"subset_by": {"indicator_column": "a", "keep_columns": ["b"]}}])),
        texts(json!([{"count_by_categories": {"categories": ["a", "b"], "null_category": true}}])),
    ]
}
fn folds() -> Vec<Json> {
    let sums = [
        "sized_bounded_float_checked_sum",
        "sized_bounded_float_ordered_sum",
        "sized_bounded_int_checked_sum",
        "sized_bounded_int_monotonic_sum",
        "sized_bounded_int_ordered_sum",
        "sized_bounded_int_split_sum",
    ];
    let open = ["bounded_int_monotonic_sum", "bounded_int_ordered_sum", "bounded_int_split_sum"];
    let limited = ["bounded_float_checked_sum", "bounded_float_ordered_sum"];
    let called = |name: &str, mut arguments: Json| {
        arguments["bounds"] =
            if name.contains("float") { json!([0.0, 5.0]) } else { json!([1, 5]) };
        json!({"constructor": name, "args": arguments})
    };
    let mut all: Vec<Json> = sums.iter().map(|name| called(name, json!({"size": 3}))).collect();
    all.extend(open.iter().map(|name| called(name, json!({}))));
    all.extend(limited.iter().map(|name| called(name, json!({"size_limit": 3}))));
    let quantile = json!({"candidates": [0, 10, 20], "alpha": [1, 3]});
    let mut sized_quantile = quantile.clone();
    sized_quantile["size"] = json!(3);
    all.extend([
        integers(json!(["count", {"geometric": {"scale": 1.5, "bounds": [0, 100]}}])),
        integers(json!(["count_distinct", {"laplace": {"scale": 1.5, "k": 0}}])),
        integers(json!([{"count_by": {"TV": "i64"}}])),
        integers(json!([{"bounded_sum": {"bounds": [0, 10]}}])),
        on(sized(3), json!("change_one_distance"), json!([{"sized_bounded_sum": {"size": 3, "bounds": [0.0, 10.0]}}])),
        on(sized(3), json!("symmetric_distance"), json!([{"sized_bounded_mean": {"size": 3, "bounds": [0.0, 10.0]}}])),
        on(sized(3), json!("symmetric_distance"), json!([{"sized_bounded_variance": {"size": 3, "bounds": [0.0, 10.0], "ddof": 1}}])),
        on(sized(3), json!("symmetric_distance"), json!(["mean", {"gaussian": {"scale": 2.0, "k": -20}}])),
        on(sized(3), json!("symmetric_distance"), json!([{"variance": {"ddof": 1}}])),
        on(sized(3), json!("symmetric_distance"), json!(["sum_of_squared_deviations"])),
        on(sized(3), json!("symmetric_distance"), json!(["sum", {"noise": {"scale": 2.0, "output_measure": "max_divergence"}}])),
        on(json!({"vector_domain": {"atom_domain": {"pair_domain": {
            "domain_0": {"atom_domain": {"T": "f64", "bounds": [0.0, 1.0]}},
            "domain_1": {"atom_domain": {"T": "f64", "bounds": [0.0, 1.0]}},
        }}, "size": 3}}), json!("symmetric_distance"), json!([{"covariance": {"ddof": 1}}])),
        json!({"constructor": "sized_bounded_covariance", "args": {
            "size": 3, "bounds_0": [0.0, 1.0], "bounds_1": [0.0, 1.0], "ddof": 1,
        }}),
        integers(json!([{"quantile_score_candidates": quantile.clone()}, {"gumbel_max": {"temperature": 5.0, "optimize": "min"}}])),
        on(
            sized(3),
            json!("symmetric_distance"),
            json!([{"sized_quantile_score_candidates": sized_quantile}]),
        ),
        integers(json!([{"private_quantile": {"candidates": [0, 10], "alpha": 0.5, "scale": 2.0, "output_measure": "max_divergence"}}])),
        // The noise is in a separate document, because mutations may make its input as large as a
        // number allows.
        integers(json!([
            {"count_by_categories": {"categories": [1, 2, 3]}},
            {"b_ary_tree": {"leaf_count": 4, "branching_factor": 2}},
        ])),
        on(
            json!({"vector_domain": {"atom_domain": {"T": "i32"}, "size": 7}}),
            json!("l1_distance"),
            json!([
                {"laplace": {"scale": 1.0}},
                {"consistent_b_ary_tree": {"branching_factor": 2, "TIA": "i32"}},
                {"quantiles_from_counts": {
                    "bin_edges": [0, 1, 2, 3], "alphas": [0.5], "interpolation": "linear", "F": "f64",
                }},
            ]),
        ),
        json!({"constructor": "cdf"}),
        number("f64", json!([{"lipschitz_float_mul": {"constant": 2.0, "bounds": [0.0, 10.0]}}])),
    ]);
    all
}
fn mechanisms() -> Vec<Json> {
    let bits = json!({"bitvector_domain": {"max_weight": 4, "size": 8}});
    vec![
        number("i32", json!([{"laplace": {"scale": 2.0, "MO": "SmoothedMaxDivergence"}}])),
        number("f32", json!([{"gaussian": {"scale": 2.0, "k": -10}}])),
        number("i64", json!([{"gaussian": {"scale": 2.0, "MO": "SmoothedMaxDivergence"}}])),
        number("f64", json!([{"canonical_noise": {"d_in": 1.0, "d_out": [1.0, 1e-6]}}])),
        keyed("l01inf_distance", json!([{"laplace_threshold": {"scale": 2.0, "threshold": 20}}])),
        keyed(
            "l01inf_distance",
            json!([{"noise_threshold": {"scale": 2.0, "threshold": 20, "k": 0,
            "output_measure": {"approximate": {"measure": "max_divergence"}}}}]),
        ),
        keyed(
            "l01inf_distance",
            json!([{"alp_queryable": {"scale": 1.0, "total_limit": 100, "value_limit": 10, "size_factor": 50, "alpha": 4}}]),
        ),
        keyed("l02inf_distance", json!([{"gaussian_threshold": {"scale": 2.0, "threshold": 20}}])),
        integers(json!(["count_by", {"laplace_threshold": {"scale": 2.0, "threshold": 20}}])),
        scores(
            json!([{"noisy_max": {"scale": 2.0, "output_measure": "max_divergence", "negate": false}}]),
        ),
        scores(
            json!([{"noisy_top_k": {"scale": 2.0, "k": 2, "output_measure": "zero_concentrated_divergence"}}]),
        ),
        scores(json!([{"report_noisy_max_gumbel": {"scale": 2.0, "optimize": "max"}}])),
        scores(json!([{"above_threshold": {"threshold": 5, "limit": 1, "scales": [4.0, 8.0]}}])),
        integers(
            json!([{"sparse_vector": {"d_in": 1, "sensitivity": 1, "threshold": 500, "limit": 1,
            "scales": [4.0, 8.0], "monotonic": false, "T": "i32", "Q": "i32"}}]),
        ),
        json!({"constructor": "randomized_response", "args": {"categories": [1, 2, 3], "prob": 0.75}}),
        json!({"constructor": "randomized_response_bool", "args": {"prob": 0.75, "constant_time": false}}),
        on(
            bits,
            json!("discrete_distance"),
            json!([{"randomized_response_bitvec": {"f": 0.5, "constant_time": false}}]),
        ),
    ]
}
fn combinators() -> Vec<Json> {
    let laplace = || noisy("laplace", "MaxDivergence");
    let profiled = || noisy("gaussian", "SmoothedMaxDivergence");
    let zcdp = || noisy("gaussian", "ZeroConcentratedDivergence");
    let renyi = || {
        json!({"chain": [{"adaptive_composition": {
            "output_measure": "renyi_divergence", "d_in": 1, "d_mids": [{"renyi": [[2.0, 0.5]]}],
        }}]})
    };
    let domain = rows(json!({"T": "i32", "bounds": [0, 5]}));
    let space = json!({"input_domain": domain, "input_metric": "symmetric_distance"});
    let mut odometer = space.clone();
    odometer["output_measure"] = json!("max_divergence");
    let clamp = integers(json!([{"clamp": {"bounds": [0, 5]}}]));
    let sum = bounded(json!(["sum"]));
    let noise = number("i32", json!([{"laplace": {"scale": 2.0}}]));
    let approximate =
        json!({"constructor": "make_approximate", "args": {"measurement": laplace()}});
    vec![
        bounded(
            json!([{"composition": {"measurements": [laplace(), {"measurement": laplace(), "repeat": 10}]}}]),
        ),
        bounded(
            json!([{"composition": {"measurements": [profiled(), {"measurement": profiled(), "repeat": 10}]}}]),
        ),
        bounded(
            json!([{"adaptive_composition": {"output_measure": "max_divergence", "d_in": 1, "d_mids": [0.5, 0.25]}}]),
        ),
        bounded(
            json!([{"parallel_composition": {"part": {"edges": [1, 3]}, "measurements": [laplace(), laplace(), laplace()]}}]),
        ),
        around("make_approximate", json!({}), laplace()),
        around("fixed_approxDP_to_approxDP", json!({}), approximate.clone()),
        around("pureDP_to_zCDP", json!({}), laplace()),
        around("zCDP_to_approxDP", json!({}), zcdp()),
        around("RDP_to_approxDP", json!({}), renyi()),
        around("fix_delta", json!({"delta": 1e-6}), profiled()),
        around("group_privacy", json!({"size": 3}), laplace()),
        around("poisson_subsampling", json!({"rate": 0.1}), laplace()),
        around("poisson_subsampling", json!({"rate": 0.1}), profiled()),
        around(
            "select_private_candidate",
            json!({"stop_probability": 0.5, "threshold": 1.0}),
            json!({"chain": [
                {"composition": {"measurements": [laplace(), laplace()]}},
            ]}),
        ),
        on(
            sized(100),
            json!("change_one_distance"),
            json!([
                {"fixed_size_subsampling": {"measurement": on(sized(10), json!("change_one_distance"), json!(["mean", {"laplace": {"scale": 2.0}}])), "size": 100}},
            ]),
        ),
        on(
            sized(100),
            json!("change_one_distance"),
            json!([
                {"population_amplification": {"measurement": {"chain": ["mean", {"laplace": {"scale": 2.0}}]}, "population_size": 1000}},
            ]),
        ),
        json!({"constructor": "chain_tt", "args": {"transformation1": sum, "transformation0": clamp}}),
        json!({"constructor": "chain_mt", "args": {"measurement1": noise, "transformation0": sum}}),
        json!({"constructor": "chain_pm", "args": {"postprocess1": {"constructor": "cdf"}, "measurement0": noise}}),
        json!({"constructor": "fully_adaptive_composition", "args": odometer}),
        json!({"constructor": "privacy_filter", "args": {
            "odometer": {"constructor": "fully_adaptive_composition", "args": odometer}, "d_in": 1, "d_out": 1.0,
        }}),
    ]
}
