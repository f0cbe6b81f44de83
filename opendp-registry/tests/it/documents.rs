//! Pipeline documents in the native form.

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    AbsoluteDistance, AtomDomain, Codec, Domain, Measure, Metric, Queryable, Session,
    Transformation,
};
use serde_json::{Value as Json, json};

use crate::{build, map, measurement, transformation};

fn space(domain: Json) -> Json {
    json!({"domain": domain, "metric": "symmetric_distance"})
}
fn ages() -> Json {
    space(json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 1000}}))
}
fn integers() -> Json {
    space(json!({"vector_domain": {"atom_domain": {"T": "i32"}}}))
}

#[test]
fn the_design_example_builds_and_maps() {
    let made = build(json!({
        "space": ages(),
        "chain": [{"clamp": {"bounds": [0.0, 100.0]}}, {"mean": {}}, {"laplace": {"scale": 0.5}}],
    }))
    .unwrap();
    let loss = map(&made, json!(2)).unwrap().as_f64().unwrap();
    assert!((0.2..0.2 * (1.0 + 1e-12)).contains(&loss), "{loss}");
    let mean = made.measurement().unwrap();
    assert_eq!(mean.measure().to_json(), json!("max_divergence"));
    assert_eq!(mean.input().to_json(), ages());
}
#[test]
fn a_space_is_written_in_four_ways() {
    let written = [
        json!({"vector_domain": {"atom_domain": {"T": "i32"}}}),
        json!({"vector_domain": {"atom_domain": {"atom_domain": {"T": "i32"}}}}),
        json!("VectorDomain<AtomDomain<i32>>"),
        json!("VectorDomain<AllDomain<int>>"),
    ];
    let canonical = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
    for domain in written {
        let t = transformation(json!({"space": space(domain), "chain": ["count"]}));
        assert_eq!(t.input().domain().to_json(), canonical);
    }
    let options = json!({"vector_domain": {"option_domain": {"element_domain": {"atom_domain": {"T": "i32"}}}}});
    let canonical = json!({"vector_domain": {"atom_domain": {
        "option_domain": {"element_domain": {"atom_domain": {"T": "i32"}}}}}});
    for domain in [options, canonical.clone()] {
        let made = build(domain).unwrap().domain().unwrap();
        assert_eq!(made.to_json(), canonical);
    }
}
#[test]
fn every_description_reads_back_as_itself() {
    let descriptions = [
        json!({"atom_domain": {"T": "i8", "bounds": [-128, 127]}}),
        json!({"atom_domain": {"T": "i128", "bounds": [0, 170141183460469231731687303715884105727_i128]}}),
        json!({"atom_domain": {"T": "f64", "bounds": [-1.5, 1e300], "nan": false}}),
        json!({"vector_domain": {"atom_domain": {"T": "String"}, "size": 3}}),
        json!({"map_domain": {"key_domain": {"atom_domain": {"T": "String"}},
                              "value_domain": {"atom_domain": {"T": "i32"}}}}),
        json!("symmetric_distance"),
        json!("discrete_distance"),
        json!({"absolute_distance": {"T": "i64"}}),
        json!({"l2_distance": {"T": "f64"}}),
        json!({"linf_distance": {"T": "u64", "monotonic": true}}),
        json!({"range_distance": {"T": "usize"}}),
        json!({"l01inf_distance": {"metric": {"absolute_distance": {"T": "i32"}}}}),
        json!("max_divergence"),
        json!({"approximate": {"measure": "zero_concentrated_divergence"}}),
    ];
    for description in descriptions {
        let object = match &description {
            Json::String(name) => json!({"constructor": name}),
            other => other.clone(),
        };
        let made = build(object).unwrap();
        let written = match &made {
            opendp_core::Constructed::Domain(domain) => domain.to_json(),
            opendp_core::Constructed::Metric(metric) => metric.to_json(),
            opendp_core::Constructed::Measure(measure) => measure.to_json(),
            other => panic!("{other:?}"),
        };
        assert_eq!(written.to_string(), description.to_string());
    }
    let fixed = build(json!({"constructor": "fixed_smoothed_max_divergence"})).unwrap();
    assert_eq!(
        fixed.measure().unwrap().to_json(),
        json!({"approximate": {"measure": "max_divergence"}})
    );
}
#[test]
fn a_metric_takes_the_number_type_of_its_domain() {
    let made = measurement(json!({
        "space": {"domain": {"atom_domain": {"T": "i32"}}, "metric": "absolute_distance"},
        "chain": [{"laplace": {"scale": 2.0}}],
    }));
    assert_eq!(made.input().metric().to_json(), json!({"absolute_distance": {"T": "i32"}}));
}
#[test]
fn sums_and_counts_release_what_they_say() {
    let chain =
        |last: Json| json!({"space": integers(), "chain": [{"clamp": {"bounds": [0, 10]}}, last]});
    let sum = transformation(chain(json!("sum")));
    assert_eq!(sum.invoke(&AnyValue::new(vec![-5, 5, 50])).unwrap().to_json(), json!(15));
    let count = transformation(chain(json!({"make_count": {"TO": "f64"}})));
    assert_eq!(count.invoke(&AnyValue::new(vec![1, 2, 3])).unwrap().to_json(), json!(3.0));
    let categories =
        json!({"count_by_categories": {"categories": [1, 2], "MO": {"l1_distance": {"T": "i32"}}}});
    let histogram = transformation(json!({"space": integers(), "chain": [categories]}));
    assert_eq!(
        histogram.invoke(&AnyValue::new(vec![1, 1, 7])).unwrap().to_json(),
        json!([2, 0, 1])
    );
}
#[test]
fn an_exponential_mechanism_selects_a_quantile() {
    let median = measurement(json!({
        "space": integers(),
        "chain": [
            {"quantile_score_candidates": {"candidates": [0, 25, 50, 75, 100], "alpha": 0.5}},
            {"gumbel_max": {"temperature": 0.01, "optimize": "min"}},
        ],
    }));
    let data = AnyValue::new((0..=100).collect::<Vec<i32>>());
    assert_eq!(median.invoke(&data).unwrap().to_json(), json!(2));
}
#[test]
fn measurements_compose_inside_a_chain() {
    let noisy = json!({"chain": ["sum", {"laplace": {"scale": 10.0}}]});
    let count = json!({"chain": [{"count": {"TO": "i64"}}, {"laplace": {"scale": 1.0}}]});
    let both = json!({
        "space": integers(),
        "chain": [{"clamp": {"bounds": [0, 10]}}, {"composition": {"measurements": [noisy, count]}}],
    });
    let both = build(both).unwrap();
    assert_eq!(map(&both, json!(1)).unwrap(), json!(2.0));
    let release = both.measurement().unwrap().invoke(&AnyValue::new(vec![1, 2])).unwrap();
    assert_eq!(release.to_json().as_array().unwrap().len(), 2);
}
#[test]
fn a_single_call_stands_anywhere() {
    let made = build(json!({
        "constructor": "make_laplace",
        "types": {"MO": "MaxDivergence"},
        "args": {
            "input_domain": {"atom_domain": {"T": "f64", "nan": false}},
            "input_metric": {"absolute_distance": {"T": "f64"}},
            "scale": 4,
        },
    }))
    .unwrap();
    assert_eq!(map(&made, json!(1)).unwrap(), json!(0.25));
    let input = json!({"domain": {"atom_domain": {"T": "i32"}}, "metric": {"absolute_distance": {"T": "i32"}}});
    let made =
        build(json!({"constructor": "laplace", "args": {"input": input, "scale": 4.0}})).unwrap();
    assert_eq!(map(&made, json!(1)).unwrap(), json!(0.25));
}
#[test]
fn a_single_call_inside_a_chain_starts_from_the_space_reached() {
    let count = json!({"constructor": "make_count", "types": {"TO": "int"}});
    let laplace = json!({"constructor": "make_laplace", "args": {"scale": 4.0}});
    let made =
        build(json!({"space": integers(), "chain": [count.clone(), laplace.clone()]})).unwrap();
    assert_eq!(map(&made, json!(1)).unwrap(), json!(0.25));
    let both = json!({"composition": {"measurements": [laplace.clone(), laplace]}});
    let made = build(json!({"space": integers(), "chain": [count, both]})).unwrap();
    assert_eq!(map(&made, json!(1)).unwrap(), json!(0.5));
}
#[test]
fn chains_join_by_the_combinators_too() {
    let clamp = json!({"space": integers(), "chain": [{"clamp": {"bounds": [0, 10]}}]});
    let bounded = space(json!({"vector_domain": {"atom_domain": {"T": "i32", "bounds": [0, 10]}}}));
    let sum = json!({"space": bounded, "chain": ["sum"]});
    let both = json!({"constructor": "make_chain_tt", "args": {"transformation1": sum, "transformation0": clamp}});
    assert_eq!(map(&build(both).unwrap(), json!(1)).unwrap(), json!(10));
}
#[test]
fn non_finite_numbers_are_strings() {
    let made =
        build(json!({"atom_domain": {"T": "f64", "bounds": ["-Infinity", "Infinity"]}})).unwrap();
    assert!(made.domain().unwrap().member(&AnyValue::new(f64::INFINITY)));
}
#[test]
fn conversations_are_built_from_documents() {
    let plan = build(json!({
        "space": integers(),
        "chain": [{"adaptive_composition": {
            "output_measure": "max_divergence", "d_in": 1, "d_mids": [0.5, 0.25],
        }}],
    }));
    assert_eq!(map(&plan.unwrap(), json!(1)), Ok(json!(0.75)));
    let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
    let filter = build(json!({"constructor": "make_privacy_filter", "args": {
        "odometer": {"constructor": "make_fully_adaptive_composition", "args": {
            "input_domain": domain,
            "input_metric": "symmetric_distance",
            "output_measure": {"approximate": {"measure": "max_divergence"}},
        }},
        "d_in": 2,
        "d_out": [1.0, 1e-6],
    }}))
    .unwrap();
    // The budget in the JSON is exactly one millionth. The float nearest to one millionth is
    // smaller than one millionth. So the map returns the next larger float.
    assert_eq!(map(&filter, json!(2)), Ok(json!([1.0, 1e-6_f64.next_up()])));
    assert_eq!(map(&filter, json!(3)).unwrap_err().kind(), "FailedMap");
    let opened = filter.measurement().unwrap().invoke(&AnyValue::new(vec![1, 2, 3])).unwrap();
    let session: AnySession = opened.downcast().unwrap();
    let sums = json!({
        "space": {"domain": domain, "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0, 10]}}, "sum", {"laplace": {"scale": 80.0}}],
    });
    let pure = build(sums.clone()).unwrap().measurement().unwrap();
    assert_eq!(session.ask(&pure).unwrap_err().kind(), "MeasureMismatch");
    let both = json!({"constructor": "make_approximate", "args": {"measurement": sums}});
    let question = build(both).unwrap().measurement().unwrap();
    for _ in 0..4 {
        session.ask(&question).unwrap();
    }
    assert_eq!(session.left().unwrap().to_json(), json!([0.0, 1e-6]));
    assert_eq!(session.ask(&question).unwrap_err().kind(), "BudgetExceeded");
}
type AnySession = Session<AnyDomain, AnyMetric, AnyMeasure>;
#[test]
fn conversations_are_about_any_space_that_is_one() {
    let filter = |domain: Json, metric: Json, d_in: Json, d_out: Json| {
        build(json!({"constructor": "make_privacy_filter", "args": {
            "odometer": {"constructor": "make_fully_adaptive_composition", "args": {
                "input_domain": domain, "input_metric": metric,
                "output_measure": "zero_concentrated_divergence",
            }},
            "d_in": d_in, "d_out": d_out,
        }}))
    };
    let frames = json!({"dataframe_domain": {"col_names": ["a"], "element_domains": [{"atom_domain": {"T": "i32"}}]}});
    let texts = json!({"vector_domain": {"option_domain": {"element_domain": {"atom_domain": {"T": "String"}}}}});
    let number = json!({"atom_domain": {"T": "f64", "nan": false}});
    let absolute = json!({"absolute_distance": {"T": "f64"}});
    for (domain, metric, d_in) in [
        (frames, json!("symmetric_distance"), json!(1)),
        (texts, json!("insert_delete_distance"), json!(1)),
        (number.clone(), absolute.clone(), json!(0.5)),
    ] {
        let made = filter(domain, metric, d_in.clone(), json!(0.25)).unwrap();
        assert_eq!(map(&made, d_in), Ok(json!(0.25)));
    }
    // A document of a privacy filter gives an error if the space, `d_in` or `d_out` is invalid.
    let texts = json!({"vector_domain": {"atom_domain": {"T": "String"}}});
    let error = filter(texts.clone(), json!("hamming_distance"), json!(1), json!(0.25));
    assert_eq!(error.unwrap_err().kind(), "MetricSpace");
    let error = filter(texts.clone(), absolute, json!(1), json!(0.25)).unwrap_err();
    assert_eq!(error.kind(), "MetricSpace");
    let error = filter(texts.clone(), json!("symmetric_distance"), json!(0.5), json!(0.25));
    assert!(error.unwrap_err().to_string().contains("`d_in`"));
    let error = filter(texts, json!("symmetric_distance"), json!(1), json!("much")).unwrap_err();
    assert!(error.to_string().contains("`d_out`"), "{error}");
}
#[test]
fn a_sparse_vector_asks_transformations_of_documents() {
    type Query = Transformation<AnyDomain, AnyMetric, AtomDomain<i32>, AbsoluteDistance<i32>>;
    let made = build(json!({"space": integers(), "chain": [{"sparse_vector": {
        "d_in": 1, "sensitivity": 1, "threshold": 500, "limit": 1, "scales": [4.0, 8.0],
        "T": "i32", "Q": "i32",
    }}]}))
    .unwrap();
    assert_eq!(map(&made, json!(1)), Ok(json!(0.5)));
    let data = AnyValue::new(vec![7; 1000]);
    let many = made.measurement().unwrap().invoke(&data).unwrap();
    let many: Queryable<Query, bool> = many.downcast().unwrap();
    let count = |value: i32| -> Query {
        let chain = json!([{"filter_values": {"values": [value]}}, {"count": {"TO": "i32"}}]);
        let made = transformation(json!({"space": integers(), "chain": chain}));
        made.typed().unwrap()
    };
    assert_eq!(many.ask(&count(8)), Ok(false));
    assert_eq!(many.ask(&count(7)), Ok(true));
    assert_eq!(many.ask(&count(7)).unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn conversions_stand_around_a_chain() {
    let noisy =
        json!({"chain": [{"clamp": {"bounds": [0, 10]}}, "sum", {"gaussian": {"scale": 40.0}}]});
    let profile = json!({"constructor": "zCDP_to_approxDP", "args": {"measurement": noisy}});
    let fixed = json!({
        "space": integers(),
        "chain": [{"fix_delta": {"measurement": profile, "delta": 1e-3}}],
    });
    let fixed = build(fixed).unwrap();
    let loss = map(&fixed, json!(1)).unwrap();
    let epsilon = loss[0].as_f64().unwrap();
    assert!((epsilon - 0.6880024554878085).abs() < 1e-12, "{loss}");
    assert_eq!(loss[1], json!(1e-3));
    let measure = fixed.measurement().unwrap().measure().to_json();
    assert_eq!(measure, json!({"approximate": {"measure": "max_divergence"}}));
    let pure =
        json!({"chain": [{"clamp": {"bounds": [0, 10]}}, "sum", {"laplace": {"scale": 1.0}}]});
    let wrong =
        json!({"space": integers(), "chain": [{"zCDP_to_approxDP": {"measurement": pure}}]});
    assert_eq!(build(wrong).unwrap_err().kind(), "Argument");
}
#[test]
fn a_call_that_states_two_spaces_is_refused() {
    let rows = |atom: &str| json!({"vector_domain": {"atom_domain": {"T": atom}}});
    let space = json!({"domain": rows("i32"), "metric": "symmetric_distance"});
    let both = json!({"constructor": "make_count", "args": {
        "input": space, "input_domain": rows("f64"), "input_metric": "symmetric_distance",
    }});
    let error = build(both.clone()).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("state the space once"), "{error}");
    // The control: a document that states the space in only one of the two forms is accepted.
    for forms in [&["input"][..], &["input_domain", "input_metric"]] {
        let mut alone = both.clone();
        alone["args"].as_object_mut().unwrap().retain(|key, _| forms.contains(&key.as_str()));
        assert!(build(alone).is_ok());
    }
}
#[test]
fn the_first_link_of_a_chain_starts_from_the_space_that_the_chain_states() {
    let rows = |atom: &str| {
        json!({"domain": {"vector_domain": {"atom_domain": {"T": atom}}},
               "metric": "symmetric_distance"})
    };
    let (stated, other) = (rows("i32"), rows("String"));
    let counted = |input: Json| json!({"count": {"input": input}});
    let nested = |input: Json| json!({"space": input, "chain": ["count"]});
    for link in [counted(other.clone()), nested(other.clone())] {
        let error = build(json!({"space": stated, "chain": [link]})).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        let error = error.to_string();
        assert!(error.contains("i32") && error.contains("String"), "{error}");
    }
    // The control: a chain and its first link can state the same space. An inner chain can leave
    // out its space.
    for link in [counted(stated.clone()), nested(stated.clone())] {
        assert!(build(json!({"space": stated, "chain": [link]})).is_ok());
    }
    let inner = json!({"chain": [{"chain": ["count"]}, {"laplace": {"scale": 1.0}}]});
    let made = build(json!({"space": stated, "chain": [inner]})).unwrap();
    assert_eq!(map(&made, json!(1)), Ok(json!(1.0)));
}
