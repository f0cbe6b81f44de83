//! What the command answers to the mistakes of a newcomer: what is wrong, where, and what to do.

use crate::Desk;

const FLOATS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false},
    "size": 10}}, "metric": "symmetric_distance""#;
const INTEGERS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": 10}},
    "metric": "symmetric_distance""#;
const TEXTS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "String"}}},
    "metric": "symmetric_distance""#;

const UNSIZED: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}},
    "metric": "symmetric_distance""#;
const NUMBER: &str = r#""domain": {"atom_domain": {"T": "i32"}},
    "metric": {"absolute_distance": {"T": "i32"}}"#;
const FRAME: &str = r#""domain": {"dataframe_domain": {"col_names": ["a"],
    "element_domains": [{"atom_domain": {"T": "i32"}}]}}, "metric": "symmetric_distance""#;
const CLAMP: &str = r#"{"clamp": {"bounds": [0.0, 1.0]}}"#;

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
        &["link 2 `mean`", "the records are i32", "`f64`, `f32`", "cast_default", "clamp after"],
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

/// The same for single arguments. `CLAMP` stands before each chain that begins with a comma.
const ARGUMENTS: &[(&str, &str, &[&str])] = &[
    (UNSIZED, ", \"mean\"", &["link 2 `mean`", "number of records", "use `make_resize` first"]),
    (FLOATS, "\"mean\"", &["link 1 `mean`", "must be bounded", "use `make_clamp` first"]),
    (
        FLOATS,
        r#"{"clamp": {"lower": 0.0, "upper": 1.0}}"#,
        &["link 1 `clamp`", "`lower`: unknown argument", "`bounds`"],
    ),
    (
        FRAME,
        r#"{"select_column": {"name": "a"}}"#,
        &["link 1 `select_column`", "`name`: unknown argument", "`key`"],
    ),
    (FLOATS, r#"{"clamp": {"bounds": [100.0, 0.0]}}"#, &["`bounds`", "lower bound 100.0", "upper"]),
    (FLOATS, r#"{"clamp": {"bounds": [100.0]}}"#, &["`bounds`", "a pair [lower, upper]"]),
    (
        FLOATS,
        r#"{"clamp": {"bounds": [0.0, 1e400]}}"#,
        &["`bounds`", "at most 1.79e308", "outside its range"],
    ),
    (
        FLOATS,
        r#"{"clamp": {"bounds": [0.0, "Infinity"]}}, "sum""#,
        &["link 2 `sum`", "must be finite", "use `make_clamp` first"],
    ),
    (FLOATS, r#"{"clmp": {}}"#, &["`clmp`", "did you mean `make_clamp`?"]),
    (FLOATS, "", &["`chain`", "from 1 to 256 links, found 0"]),
    (
        INTEGERS,
        r#"{"count_by_categories": {"categories": ["1"]}}"#,
        &["link 1 `count_by_categories`", "an integer of type i32, found a string"],
    ),
    (
        INTEGERS,
        r#"{"count_by_categories": {"categories": [1, 1]}}"#,
        &["categories: expected distinct values, found one twice"],
    ),
    (
        INTEGERS,
        r#"{"quantile_score_candidates": {"candidates": [1, 2], "alpha": 50}}"#,
        &["`alpha`", "a number in [0, 1], found 50"],
    ),
    (
        INTEGERS,
        r#"{"quantile_score_candidates": {"candidates": [], "alpha": 0.5}}"#,
        &["candidates: expected at least one value, found none"],
    ),
    (
        NUMBER,
        r#"{"composition": {"measurements": [{"chain": [{"laplace": {"scale": 1.0}}]},
            {"chain": [{"gaussian": {"scale": 1.0}}]}]}}"#,
        &["measurements[1]", "zero_concentrated_divergence", "convert one", "pureDP_to_zCDP"],
    ),
    (
        UNSIZED,
        r#", {"resize": {"size": 5, "constant": 7.0}}"#,
        &["link 2 `resize`", "constant", "\"bounds\":[0.0,1.0]"],
    ),
];
/// The scale of noise after a count, and the parts of the message.
const SCALES: &[(&str, &[&str])] = &[
    ("", &["`scale`: missing", "a scale, a number of at least 0"]),
    (r#""scal": 1.0"#, &["`scal`: unknown argument", "did you mean `scale`?"]),
    (r#""scale": 1.0, "epsilon": 1.0"#, &["`epsilon`: unknown argument", "`scale`"]),
    (r#""scale": "0.5""#, &["`scale`", "expected a number", "found a string"]),
    (r#""scale": "1/2""#, &["`scale`", "expected a number", "found a string"]),
    (r#""scale": null"#, &["`scale`", "expected a number", "found null"]),
    (r#""scale": -0.5"#, &["`scale`", "at least 0, found -0.5"]),
    (r#""scale": 1e400"#, &["`scale`", "at most 1.79e308", "outside its range"]),
];
/// Each space, and the parts of the message.
const SPACES: &[(&str, &[&str])] = &[
    (r#""metric": "symmetric_distance""#, &["space", "`domain`: missing", "\"vector_domain\""]),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}"#,
        &["space", "`metric`: missing", "\"symmetric_distance\""],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "f64", "nans": false}}},
            "metric": "symmetric_distance""#,
        &["`nans`: unknown argument", "did you mean `nan`?"],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "f64"}, "size": "1000"}},
            "metric": "symmetric_distance""#,
        &["`size`", "expected an integer", "found a string"],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {}}}, "metric": "symmetric_distance""#,
        &["`atom_domain`", "choose T among `f64`, `i32`, `i64`, `bool`, `String`, and 12 more"],
    ),
    (
        r#""domain": {"vector_domain": {"atom_domain": {"T": "f64"}}},
            "metric": "change_one_distance""#,
        &["link 1 `count`", "under `ChangeOneDistance`", "\"metric_unbounded\""],
    ),
];

/// Check that a message is short and has all parts.
#[track_caller]
fn has(message: &str, parts: &[&str], of: &str) {
    for part in parts {
        assert!(message.contains(part), "{of}: {part} is not in {message}");
    }
    assert!(message.trim_end().lines().count() <= 3 && message.len() < 500, "{message}");
    // At most five types are listed.
    let types =
        ["f64", "f32", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "IBig"];
    let listed = types.iter().filter(|name| message.contains(&format!("`{name}`"))).count();
    assert!(listed <= 5, "{message}");
}

#[test]
fn each_wrong_argument_is_answered_by_what_is_wrong_where_and_what_to_do() {
    let desk = Desk::new();
    let map = |space: &str, chain: &str| {
        desk.file("p.json", format!("{{\"space\": {{{space}}}, \"chain\": [{chain}]}}"));
        desk.fails(&["map", "-p", "p.json", "--d-in", "2"], 1)
    };
    for (space, chain, parts) in ARGUMENTS {
        let clamped = if chain.starts_with(',') { CLAMP } else { "" };
        has(&map(space, &format!("{clamped}{chain}")), parts, chain);
    }
    for (scale, parts) in SCALES {
        let message = map(FLOATS, &format!("\"count\", {{\"laplace\": {{{scale}}}}}"));
        has(&message, &[&["link 2 `laplace`"], *parts].concat(), scale);
    }
    for (space, parts) in SPACES {
        has(&map(space, "\"count\""), parts, space);
    }
}
#[test]
fn each_wrong_text_is_answered_by_its_place_and_what_to_write() {
    let desk = Desk::new();
    for (text, parts) in [
        ("{'space': {}}", &["line 1 column 2", "in double quotes"][..]),
        ("{\"chain\": [],\n \"space\": True}", &["line 2 column 11", "JSON writes true"]),
        ("// the mean\n{}", &["line 1 column 1", "JSON has no comments"]),
        ("{\"x\": .5}", &["line 1 column 7", "a digit before the point"]),
        ("{\"space\" {}}", &["line 1 column 10", "expected `:`"]),
        ("{\"space\": ", &["the text ends too early"]),
        ("{\"chain\": [], \"chain\": []}", &["`chain` occurs twice"]),
        ("{\"space\": {}, \"chains\": []}", &["`space` and `chain`", "did you mean `chain`?"]),
    ] {
        desk.file("p.json", text);
        has(&desk.fails(&["map", "-p", "p.json", "--d-in", "1"], 1), parts, text);
    }
    desk.file("x.csv", "age\n1\n");
    let message = desk.fails(&["map", "-p", "x.csv", "--d-in", "1"], 1);
    has(&message, &["x.csv looks like a table", "with -p", "with --data"], "x.csv");
    // Data are not hinted at.
    let chain = format!(
        "{{\"space\": {{{FLOATS}}}, \"chain\": [\"count\", {{\"laplace\": {{\"scale\": 1}}}}]}}"
    );
    desk.file("p.json", chain);
    desk.file("x.json", "[True]");
    let message = desk.fails(&["run", "-p", "p.json", "--data", "x.json", "--d-in", "2"], 1);
    assert!(!message.contains("true"), "{message}");
}
#[test]
fn each_wrong_line_is_answered_by_what_to_write() {
    let desk = Desk::new();
    let chain = |scale: &str| {
        let laplace = format!("{{\"laplace\": {{\"scale\": {scale}}}}}");
        format!("{{\"space\": {{{FLOATS}}}, \"chain\": [\"count\", {laplace}]}}")
    };
    desk.file("p.json", chain("4.0"));
    desk.file("open.json", chain("{\"param\": \"scale\"}"));
    desk.file("x.csv", "age,sex\n".to_owned() + &"1,1\n".repeat(10));
    desk.file("short.csv", "age\n1\n");
    desk.file("other.csv", "age;sex\n1;1\n");
    desk.file("tabs.csv", "age\tsex\n1\t1\n");
    desk.file("empty.csv", "");
    let run = "run -p p.json --d-in 2 --data";
    for (line, code, parts) in [
        (format!("{run} x.csv --column Age"), 1, &["`column`", "none of them `Age`"][..]),
        (format!("{run} x.csv"), 1, &["`column`", "state which of the 2 columns"]),
        (format!("{run} no.csv --column age"), 1, &["`no.csv`", "No such file"]),
        ("map -p no.json --d-in 1".into(), 1, &["`no.json`", "No such file"]),
        (format!("{run} short.csv"), 1, &["`data`", "number of rows is not its `size`"]),
        (format!("{run} other.csv --column age"), 1, &["separator", "--separator ';'"]),
        (format!("{run} tabs.csv --column age"), 1, &["separator", "--separator tab"]),
        (format!("{run} empty.csv --column age"), 1, &["the file is empty", "names its columns"]),
        ("map -p p.json --d-in 1.5".into(), 1, &["d_in", "not an integer"]),
        ("map -p p.json --d-in -1".into(), 1, &["d_in", "at least 0"]),
        ("map -p p.json --d-in two".into(), 2, &["--d-in", "expected a number"]),
        ("map p.json".into(), 2, &["'p.json'", "--pipeline <FILE>"]),
        ("check -p p.json --d-in 2 --d-out [1,1e-6]".into(), 1, &["d_out", "expected a number"]),
        ("solve -p open.json --param scal --d-in 2 --d-out 1".into(), 1, &["`scal`", "`scale`"]),
        ("solve -p open.json --param scale --d-in 2 --d-out 0".into(), 1, &["a loss is above 0"]),
        (
            "solve -p open.json --param scale --d-in 1 --d-out 1".into(),
            1,
            &["no two data sets of 10 rows are at distance 1", "distance 2"],
        ),
        ("budget create b.ledger:x --epsilon abc".into(), 1, &["epsilon", "such as 0.1 or 1/3"]),
        ("budget create b.ledger:x --epsilon inf".into(), 1, &["epsilon", "such as 0.1 or 1/3"]),
        ("budget create b.ledger --epsilon 1".into(), 2, &["expected FILE:NAME"]),
        ("budget create b.ledger:x --epsilon 1 --rho 1".into(), 2, &["cannot be used with '--rho"]),
        ("budget create b.ledger:x --delta 1e-6".into(), 2, &["--epsilon <EPSILON>"]),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let message = desk.fails(&words, code);
        for part in parts {
            assert!(message.contains(part), "{line}: {part} is not in {message}");
        }
    }
    // An unattainable distance is a warning of `map`.
    let output = desk.run(&["map", "-p", "p.json", "--d-in", "1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("one replaced row is distance 2"));
}
#[test]
fn each_wrong_charge_is_answered_by_what_there_is_and_what_is_left() {
    let desk = Desk::new();
    let chain = |scale: &str| {
        let laplace = format!("{{\"laplace\": {{\"scale\": {scale}}}}}");
        desk.file(
            "p.json",
            format!("{{\"space\": {{{FLOATS}}}, \"chain\": [\"count\", {laplace}]}}"),
        );
    };
    chain("4.0");
    desk.file("x.csv", "age,sex\n".to_owned() + &"1,1\n".repeat(10));
    desk.says(&["budget", "create", "b.ledger:x", "--epsilon", "1"]);
    let run = ["run", "-p", "p.json", "--data", "x.csv", "--d-in", "2", "--column"];
    let charge = |column, place, id| [&run[..], &[column, "--budget", place, "--id", id]].concat();
    let no_id = desk.fails(&[&run[..], &["age", "--budget", "b.ledger:x"]].concat(), 2);
    assert!(no_id.contains("--id <ID>"), "{no_id}");
    let none = desk.fails(&charge("age", "no.ledger:x", "a"), 1);
    assert!(none.contains("there is no ledger at no.ledger"), "{none}");
    let unknown = desk.fails(&charge("age", "b.ledger:y", "a"), 1);
    assert!(unknown.contains("no budget `y`, it has `x`"), "{unknown}");
    desk.says(&charge("age", "b.ledger:x", "a"));
    let other = desk.fails(&charge("sex", "b.ledger:x", "a"), 1);
    assert!(other.contains("another data or column: use another id"), "{other}");
    chain("3.0");
    let other = desk.fails(&charge("age", "b.ledger:x", "a"), 1);
    assert!(other.contains("another pipeline") && other.contains("use another id"), "{other}");
    let over = desk.fails(&charge("age", "b.ledger:x", "b"), 1);
    assert!(over.contains("costs epsilon 0.6667, and epsilon 0.5 is left"), "{over}");
}
#[cfg(not(feature = "parquet"))]
#[test]
fn a_parquet_file_without_its_feature_is_answered_by_how_to_install_it() {
    let desk = Desk::new();
    desk.file(
        "p.json",
        format!(
            "{{\"space\": {{{FLOATS}}}, \"chain\": [\"count\", {{\"laplace\": {{\"scale\": 1}}}}]}}"
        ),
    );
    desk.file("x.parquet", "PAR1");
    let message = desk.fails(&["run", "-p", "p.json", "--data", "x.parquet", "--d-in", "2"], 1);
    assert!(message.contains("--features parquet"), "{message}");
}
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
