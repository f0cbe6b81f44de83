//! Tests of documents that compose mechanisms or draw samples.

use opendp_core::erased::AnyValue;
use opendp_core::{Codec, Measure};
use serde_json::{Value as Json, json};

use crate::{build, map};

#[test]
fn a_composition_repeats_members_and_is_tight_in_profiles() {
    let document = |measure: &str, times: Json| {
        let laplace = json!({"laplace": {"scale": 10.0, "MO": measure}});
        json!({
            "space": {"domain": {"atom_domain": {"T": "i32"}}, "metric": "absolute_distance"},
            "chain": [{"composition": {"measurements": [
                {"chain": [laplace.clone()], "repeat": times},
                {"measurement": {"chain": [laplace]}, "repeat": 1},
            ]}}],
        })
    };
    let pure = build(document("MaxDivergence", json!(99))).unwrap();
    assert_eq!(map(&pure, json!(1)).unwrap().as_f64().unwrap(), 10.0_f64.next_up());
    let made = build(document("SmoothedMaxDivergence", json!(99))).unwrap().measurement().unwrap();
    let d_in = made.input().metric().decode(&json!(1)).unwrap();
    let profile = made.measure().profile(&made.map(&d_in).unwrap()).unwrap();
    let epsilon = profile.epsilon(1e-5).unwrap();
    // At distance 1, the privacy loss of Laplace noise on integers has only two possible values. So
    // the loss of the composition is a linear function of a binomial random variable. The
    // distribution of this loss gives the expected epsilon.
    assert!((4.306_791..4.306_82).contains(&epsilon), "{epsilon}");
    for wrong in [json!(-1), json!("two"), json!(1u64 << 40)] {
        assert_eq!(build(document("MaxDivergence", wrong)).unwrap_err().kind(), "Argument");
    }
}
#[test]
fn only_measurements_are_repeated() {
    let composed = |member: Json| {
        let members = json!([{"measurement": member, "repeat": 1000}]);
        let space = json!({"domain": {"atom_domain": {"T": "i32"}}, "metric": "absolute_distance"});
        let chain = json!([{"composition": {"measurements": members}}]);
        build(json!({"space": space, "chain": chain}))
    };
    let alone = |link: Json| json!({"chain": [link]});
    for wrong in [json!(1.5), json!("text"), json!([0, 1]), json!({"a": "b"})] {
        let error = composed(wrong).unwrap_err().to_string();
        assert!(error.contains("expected a measurement to repeat"), "{error}");
    }
    // The control: a measurement can be repeated.
    assert!(composed(alone(json!({"laplace": {"scale": 1e9}}))).is_ok());
}
/// Check the epsilon of compositions when one record is added or removed. Several privacy
/// accountants agree on the expected values.
#[test]
fn sampled_steps_compose_to_what_accountants_say() {
    let noisy = |scale: f64| json!({"gaussian": {"scale": scale, "MO": "SmoothedMaxDivergence"}});
    let alone = |noise: Json| json!({"chain": ["sum", noise]});
    let sampled = |noise: Json, rate: f64| -> Json {
        json!({"constructor": "poisson_subsampling", "args": {"measurement": alone(noise), "rate": rate}})
    };
    let laplace = json!({"laplace": {"scale": 10.0, "MO": "SmoothedMaxDivergence"}});
    let mix = [(sampled(noisy(0.8), 0.005), 100), (alone(noisy(8.0)), 200), (alone(laplace), 100)];
    let cases = [
        (vec![(sampled(noisy(1.0), 0.01), 10_000)], 1e-5, 6.187_713),
        (vec![(sampled(noisy(4.0), 0.01), 1000)], 1e-5, 0.272_137),
        (vec![(sampled(noisy(0.9), 256.0 / 100_000.0), 4900)], 1e-5, 1.139_923),
        (mix.to_vec(), 1e-6, 11.149_20),
    ];
    let rows =
        json!({"vector_domain": {"atom_domain": {"T": "f64", "bounds": [0.0, 1.0], "nan": false}}});
    for (members, delta, expected) in cases {
        let members: Vec<Json> = members
            .iter()
            .map(|(measurement, times)| json!({"measurement": measurement, "repeat": times}))
            .collect();
        let made = build(json!({
            "space": {"domain": rows, "metric": "symmetric_distance"},
            "chain": [{"composition": {"measurements": members}}],
        }));
        let made = made.unwrap().measurement().unwrap();
        let d_in = made.input().metric().decode(&json!(1)).unwrap();
        let profile = made.measure().profile(&made.map(&d_in).unwrap()).unwrap();
        let epsilon = profile.epsilon(delta).unwrap();
        assert!(expected < epsilon + 1e-6 && epsilon < expected * 1.0001, "{epsilon} {expected}");
    }
}
/// Compare the epsilon with values that were computed with a simple Fourier transform. Each step
/// draws a Poisson sample of the records, and releases the noisy sum of the sample. The records are
/// between -1 and 1. The two data sets differ in one replaced record. The loss compares the
/// distributions of the releases for the two data sets.
#[test]
fn sampled_steps_of_data_of_one_size_count_replaced_records() {
    let rows = |size: Json| {
        let atom = json!({"T": "f64", "bounds": [-1.0, 1.0], "nan": false});
        json!({"vector_domain": {"atom_domain": atom, "size": size}})
    };
    for (metric, counted) in [
        ("change_one_distance", "symmetric_distance"),
        ("hamming_distance", "insert_delete_distance"),
    ] {
        for (scale, rate, times, expected) in
            [(1.0, 0.01, 1000, 2.843_440), (4.0, 0.01, 1000, 0.561_36)]
        {
            let step = json!({
                "space": {"domain": rows(Json::Null), "metric": counted},
                "chain": ["sum", {"gaussian": {"scale": scale, "MO": "SmoothedMaxDivergence"}}],
            });
            let sampled = json!({
                "constructor": "poisson_subsampling",
                "args": {"measurement": step, "rate": rate, "size": 5000},
            });
            let made = build(json!({
                "space": {"domain": rows(json!(5000)), "metric": metric},
                "chain": [
                    "metric_unbounded",
                    {"composition": {"measurements": [{"measurement": sampled, "repeat": times}]}},
                ],
            }));
            let made = made.unwrap().measurement().unwrap();
            let d_in = made.input().metric().decode(&json!(1)).unwrap();
            let profile = made.measure().profile(&made.map(&d_in).unwrap()).unwrap();
            let epsilon = profile.epsilon(1e-5).unwrap();
            assert!(
                expected < epsilon + 1e-5 && epsilon < expected * 1.0001,
                "{epsilon} {expected}"
            );
            let release = made.invoke(&AnyValue::new(vec![1.0; 5000])).unwrap();
            assert_eq!(release.to_json().as_array().unwrap().len(), times);
        }
    }
}
