//! What the command answers to the mistakes of a newcomer: what is wrong, where, and what to do.

use crate::Desk;

const FLOATS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false},
    "size": 10}}, "metric": "symmetric_distance""#;
const INTEGERS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": 10}},
    "metric": "symmetric_distance""#;
const TEXTS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "String"}}},
    "metric": "symmetric_distance""#;

/// Each space and chain, and the parts of the message.
const CASES: &[(&str, &str, &[&str])] = &[
    (
        FLOATS,
        r#"{"laplace": {"scale": 1.0}}"#,
        &["link 1 `laplace`", "found `VectorDomain<AtomDomain<f64>>`", "\"sum\" or \"mean\""],
    ),
    (
        FLOATS,
        r#"{"clamp": {"bounds": [0.0, 1.0]}}, {"laplace": {"scale": 1.0}}, "mean""#,
        &["link 2 `laplace`", "put an aggregation before it"],
    ),
    (
        FLOATS,
        r#""count", {"clamp": {"bounds": [0.0, 1.0]}}"#,
        &["link 2 `clamp`", "put it before the aggregation"],
    ),
    (FLOATS, r#""clamp""#, &["link 1 `clamp`", "`bounds`: missing", "a pair [lower, upper]"]),
    (FLOATS, r#"{"clamp": [0, 100]}"#, &["link 1 `clamp`", "by their names"]),
    (FLOATS, r#"{"clamp": {"bounds": [0.0, 1.0]}, "sum": {}}"#, &["link 1", "one name"]),
    (FLOATS, r#"{"clamp": {"bound": [0.0, 1.0]}}"#, &["`bound`", "did you mean `bounds`?"]),
    (
        FLOATS,
        r#""count", {"laplace": {"scale": {"param": "scale"}}}"#,
        &["`scale`", "no value", "--set"],
    ),
    (
        INTEGERS,
        r#"{"clamp": {"bounds": [0, 100]}}, "mean""#,
        &["link 2 `mean`", "the records are i32", "`f32`, `f64`", "cast_default", "clamp after"],
    ),
    (TEXTS, r#"{"clamp": {"bounds": [0, 1]}}"#, &["the records are String", "`i32`"]),
    (
        INTEGERS,
        r#""count_by", {"laplace": {"scale": 1.0}}"#,
        &["link 2 `laplace`", "\"laplace_threshold\""],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "f64"}}}, "metric": "symetric_distance""#,
        r#""count""#,
        &["symetric_distance", "did you mean `symmetric_distance`?"],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "f64"}}}, "metric": "absolute_distance""#,
        r#""count""#,
        &["link 1 `count`", "`AbsoluteDistance<f64>`", "\"symmetric_distance\""],
    ),
];

#[test]
fn each_mistake_is_answered_by_what_is_wrong_where_and_what_to_do() {
    let desk = Desk::new();
    for (space, chain, parts) in CASES {
        desk.file("p.json", format!("{{\"space\": {{{space}}}, \"chain\": [{chain}]}}"));
        let message = desk.fails(&["map", "-p", "p.json", "--d-in", "2"], 1);
        for part in *parts {
            assert!(message.contains(part), "{chain}: {part} is not in {message}");
        }
        assert!(message.trim_end().lines().count() <= 3, "{message}");
        assert!(message.len() < 500, "{message}");
    }
}
#[test]
fn the_advised_cast_works() {
    let desk = Desk::new();
    let chain = r#"{"cast_default": {"TOA": "f64"}}, {"impute_constant": {"constant": 0.0}},
        {"clamp": {"bounds": [0.0, 100.0]}}, "mean", {"laplace": {"scale": 10.0}}"#;
    desk.file("p.json", format!("{{\"space\": {{{INTEGERS}}}, \"chain\": [{chain}]}}"));
    assert_eq!(desk.says(&["map", "-p", "p.json", "--d-in", "2"]), "1.0");
}
#[test]
fn a_negative_budget_and_noise_of_another_measure_are_refused_with_a_reason() {
    let desk = Desk::new();
    let create = |epsilon| ["budget", "create", "b.ledger:x", "--epsilon", epsilon];
    assert!(desk.fails(&create("-1"), 1).contains("at least 0"));
    desk.says(&create("1"));
    let chain = r#""count", {"gaussian": {"scale": 1.0}}"#;
    desk.file("p.json", format!("{{\"space\": {{{INTEGERS}}}, \"chain\": [{chain}]}}"));
    desk.file("x.csv", "age\n1\n");
    let run = ["run", "-p", "p.json", "--data", "x.csv", "--column", "age", "--d-in", "2"];
    let charged = [&run[..], &["--budget", "b.ledger:x", "--id", "a"]].concat();
    assert!(desk.fails(&charged, 1).contains("a budget of epsilon takes Laplace noise"));
}
#[test]
fn what_is_missing_at_the_end_or_wrong_in_the_text_is_told() {
    let desk = Desk::new();
    desk.file("x.csv", "age\n1\n");
    let chain = |space: &str, chain: &str| {
        desk.file("p.json", format!("{{\"space\": {{{space}}}, \"chain\": [{chain}]}}"));
    };
    chain(FLOATS, r#""count""#);
    let run = ["run", "-p", "p.json", "--data", "x.csv", "--column", "age", "--d-in", "2"];
    assert!(desk.fails(&run, 1).contains("end the chain with noise, such as {\"laplace\""));
    let map = ["map", "-p", "p.json", "--d-in", "2"];
    chain(&FLOATS.replace(", \"nan\": false", ""), r#"{"clamp": {"bounds": [0.0, 1.0]}}"#);
    assert!(desk.fails(&map, 1).contains("put {\"impute_constant\": {\"constant\": 0.0}} before"));
    chain(FLOATS, r#""count","#);
    let message = desk.fails(&map, 1);
    assert!(message.contains("trailing comma") && message.contains("line 2"), "{message}");
    chain(FLOATS, r#""count", {"laplace": {"scale": {"param": "s"}}}"#);
    let solve = ["solve", "-p", "p.json", "--param", "s", "--d-in", "2", "--d-out", "-0.1"];
    let message = desk.fails(&solve, 1);
    assert!(message.contains("`s`") && message.contains("a loss is above 0"), "{message}");
}
