//! Tests documents with a mistake. Each document gives the intended result, or an error that states
//! the correct form.

use opendp_core::Error;
use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::{build, map};

#[track_caller]
fn refused(document: Json, parts: &[&str]) -> Error {
    let error = match build(document) {
        Err(error) => error,
        Ok(made) => panic!("{made:?}"),
    };
    for part in parts {
        assert!(error.to_string().contains(part), "`{error}` does not say `{part}`");
    }
    error
}
fn on(domain: Json, metric: &str, chain: Json) -> Json {
    json!({"space": {"domain": domain, "metric": metric}, "chain": chain})
}
fn integers(chain: Json) -> Json {
    on(json!({"vector_domain": {"atom_domain": {"T": "i32"}}}), "symmetric_distance", chain)
}

#[test]
fn a_domain_whose_type_nothing_decides_is_refused() {
    for open in [json!({}), json!({"nan": false}), json!({"bounds": null}), json!({"T": null})] {
        for domain in
            [json!({"atom_domain": open}), json!({"vector_domain": {"atom_domain": open}})]
        {
            let error = refused(domain, &["choose T among `f64`, `i32`, `i64`, `bool`, `String`"]);
            assert_eq!(error.kind(), "Ambiguous");
        }
    }
    // The bounds determine the type.
    for (bounds, atom) in [
        (json!([0, 10]), "i32"),
        (json!([0, 5_000_000_000_u64]), "i64"),
        (json!([0.0, 10.0]), "f64"),
        (json!([0, 0.5]), "f64"),
    ] {
        let made = build(json!({"atom_domain": {"bounds": bounds}})).unwrap().domain().unwrap();
        assert_eq!(opendp_core::Domain::to_json(&made)["atom_domain"]["T"], atom, "{bounds}");
    }
}
#[test]
fn a_cast_is_advised_only_if_it_is_possible() {
    for record in ["u128", "i8", "i16", "i128", "u8", "u16", "isize", "bool", "i32", "i64", "u32"] {
        let mean = |chain: Json| {
            on(
                json!({"vector_domain": {"atom_domain": {"T": record}}}),
                "symmetric_distance",
                chain,
            )
        };
        let message = refused(mean(json!(["mean"])), &["the records are", record]).to_string();
        let cast = json!([{"cast_default": {"TOA": "f64"}}]);
        assert_eq!(message.contains("cast_default"), build(mean(cast)).is_ok(), "{message}");
    }
}
#[test]
fn a_metric_with_arguments_takes_the_type_of_its_domain_too() {
    let scores = json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 3}});
    let metric = json!({"linf_distance": {"monotonic": true}});
    let chain = json!([{"gumbel_max": {"temperature": 1.0}}]);
    let made = build(json!({"space": {"domain": scores, "metric": metric}, "chain": chain}));
    let metric = made.unwrap().measurement().unwrap().input().metric().clone();
    let expected = json!({"linf_distance": {"T": "f64", "monotonic": true}});
    assert_eq!(opendp_core::Metric::to_json(&metric), expected);
}
#[test]
fn a_type_argument_that_says_more_than_its_type_is_refused() {
    let scores = |metric: Json| {
        let arguments = json!({"candidates": [0, 1], "alpha": 0.5, "MO": metric});
        integers(json!([{"quantile_score_candidates": arguments}]))
    };
    // Test each document twice. In the second test, the signature can come from the cache of
    // resolved requests. This cache compares only the types of the arguments, and not their
    // content.
    for _ in 0..2 {
        assert!(build(scores(json!({"linf_distance": {"T": "u64"}}))).is_ok());
        let promise = json!({"linf_distance": {"T": "u64", "monotonic": true}});
        refused(scores(promise), &["`MO`", "LInfDistance<u64>", "leave them out"]);
    }
    refused(scores(json!({"linf_distance": {"monotonic": true}})), &["`MO`", "choose T"]);
}
#[test]
fn scores_of_which_the_least_is_best_are_not_chosen_by_the_largest() {
    let scores = json!({"quantile_score_candidates": {"candidates": [0, 50, 100], "alpha": 0.5}});
    let sized = |choice: Json| {
        let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}, "size": 3}});
        let arguments = json!({"candidates": [0, 50, 100], "alpha": 0.5});
        let scores = json!({"sized_quantile_score_candidates": arguments});
        on(domain, "symmetric_distance", json!([scores, choice]))
    };
    let choices = [
        ("noisy_max", json!({"scale": 0.0, "output_measure": "max_divergence"}), "negate"),
        (
            "noisy_top_k",
            json!({"scale": 0.0, "k": 1, "output_measure": "max_divergence"}),
            "negate",
        ),
        ("report_noisy_max_gumbel", json!({"scale": 1.0}), "optimize"),
        ("gumbel_max", json!({"temperature": 1.0}), "optimize"),
    ];
    for (name, arguments, orientation) in choices {
        let (wrong, right) = match orientation {
            "negate" => (json!(false), json!(true)),
            _ => (json!("max"), json!("min")),
        };
        let choice = |oriented: Option<&Json>| {
            let mut arguments = arguments.clone();
            if let Some(oriented) = oriented {
                arguments[orientation] = oriented.clone();
            }
            json!({name: arguments})
        };
        let said = format!("expected {right}");
        for oriented in [None, Some(&wrong), Some(&json!(null))] {
            let choice = choice(oriented);
            let inside = json!({"composition": {"measurements": [{"chain": [choice]}]}});
            let called = json!({"constructor": name, "args": choice[name]});
            for chain in [
                json!([scores, choice]),
                json!([{"chain": [scores]}, {"chain": [choice]}]),
                json!([scores, inside]),
                json!([scores, called]),
            ] {
                // If the argument is null, the constructor cannot read it, and the error contains
                // the word `null`.
                let null = oriented.is_some_and(Json::is_null);
                refused(integers(chain), &[orientation, if null { "null" } else { &said }]);
            }
        }
        assert!(build(integers(json!([scores, choice(Some(&right))]))).is_ok(), "{name}");
        assert!(build(sized(choice(Some(&right)))).is_ok(), "{name}");
        refused(sized(choice(None)), &[orientation, &said]);
    }
    // The scores below do not come from `quantile_score_candidates`. So a selection from them can
    // take the largest or the smallest score.
    let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
    let metric = json!({"linf_distance": {"T": "i32"}});
    for largest in [
        json!({"noisy_max": {"scale": 1.0, "output_measure": "max_divergence"}}),
        json!({"gumbel_max": {"temperature": 1.0}}),
    ] {
        let space = json!({"domain": domain, "metric": metric});
        assert!(build(json!({"space": space, "chain": [largest]})).is_ok());
    }
}
#[test]
fn links_of_chains_within_chains_count() {
    let clamps = |n: usize| -> Json {
        (0..n).map(|_| json!({"clamp": {"bounds": [0, 1]}})).collect::<Vec<_>>().into()
    };
    let chains = |n: usize, each: usize| -> Json {
        integers((0..n).map(|_| json!({"chain": clamps(each)})).collect::<Vec<_>>().into())
    };
    assert!(build(chains(2, 128)).is_ok());
    refused(chains(129, 2), &["256 links", "inner chains"]);
    refused(chains(250, 250), &["256 links"]);
    // The limit of 256 links applies to each path through a document. A path contains the links of
    // a chain, and the links in the arguments of these links.
    let noise = json!({"chain": ["sum", {"laplace": {"scale": 1.0}}]});
    let nested = |before: usize| {
        let mut links = clamps(before);
        let list = links.as_array_mut().unwrap();
        list.push(json!({"composition": {"measurements": [noise.clone()]}}));
        integers(links)
    };
    assert!(build(nested(253)).is_ok());
    refused(nested(254), &["256 links"]);
    // A path contains only one member of each list. So the links of different members add up only
    // in the total number of links, which has a larger limit.
    let many = |n: usize| {
        let members: Vec<Json> = (0..n).map(|_| noise.clone()).collect();
        let clamp = json!({"clamp": {"bounds": [0, 1]}});
        integers(json!([clamp, {"composition": {"measurements": members}}]))
    };
    assert_eq!(map(&build(many(1000)).unwrap(), json!(1)).unwrap(), json!(1000.0));
    refused(many(8192), &["16384 links in all"]);
}
#[test]
fn a_key_that_occurs_twice_in_a_document_is_refused() {
    let text = r#"{"space": {"domain": {"atom_domain": {"T": "i32"}}, "metric": "absolute_distance"},
        "chain": [{"laplace": {"scale": 1.0, "scale": 0.0}}]}"#;
    let error = Document::parse(text).unwrap_err().to_string();
    assert!(error.contains("`scale` occurs twice") && error.contains("line 2"), "{error}");
}
#[test]
fn a_number_is_read_as_it_is_written() {
    let read = |text: &str| Document::parse(text).unwrap().build(Registry::global());
    let sized = |size: &str| {
        read(&format!(r#"{{"vector_domain": {{"atom_domain": {{"T": "i32"}}, "size": {size}}}}}"#))
    };
    assert!(sized("1e3").is_ok());
    for wrong in ["1e-400", "1.0000000000000000000000001", "-0.1", "1e400", "18446744073709551616"]
    {
        assert!(sized(wrong).unwrap_err().to_string().contains("`size`"), "{wrong}");
    }
    let noise = |scale: &str| {
        read(&format!(
            r#"{{"space": {{"domain": {{"atom_domain": {{"T": "i32"}}}}, "metric": "absolute_distance"}},
                "chain": [{{"laplace": {{"scale": {scale}}}}}]}}"#
        ))
    };
    for wrong in ["1e-400", "1e400"] {
        let error = noise(wrong).unwrap_err().to_string();
        assert!(error.contains("`scale`") && error.contains("range"), "{error}");
    }
    let count = integers(json!(["count"]));
    let tiny: Json = serde_json::from_str("1e-400").unwrap();
    assert!(map(&build(count).unwrap(), tiny).unwrap_err().to_string().contains("d_in"));
}
#[test]
fn a_distance_between_f32_is_read_upward() {
    let loss = |metric: &str| {
        let domain = json!({"atom_domain": {"T": "f32", "nan": false}});
        let made = build(json!({
            "space": {"domain": domain, "metric": {"absolute_distance": {"T": metric}}},
            "chain": [{"laplace": {"scale": 1.0}}],
        }));
        map(&made.unwrap(), json!(0.7)).unwrap().as_f64().unwrap()
    };
    // The f32 nearest to 0.7 is below 0.7. So the distance 0.7 is read as the next larger f32.
    assert_eq!(loss("f32"), f64::from(0.7_f32.next_up()));
    assert_eq!(loss("f64"), 0.7);
}
