//! Tests of the answers to mistakes that need files or ledgers. `mistakes.json` contains the other
//! mistakes.

use crate::Desk;

const FLOATS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false},
    "size": 10}}, "metric": "symmetric_distance""#;
const INTEGERS: &str = r#""domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": 10}},
    "metric": "symmetric_distance""#;

#[test]
fn a_table_in_place_of_a_document_is_told_and_data_are_not_hinted_at() {
    let desk = Desk::new();
    desk.file("x.csv", "age\n1\n");
    let message = desk.fails(&["map", "-p", "x.csv", "--d-in", "1"], 1);
    for part in ["x.csv looks like a table", "with -p", "with --data"] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    // If a document contains `True`, the error says that this value is `true` in JSON. If the data
    // contain `True`, the error does not have this hint, because the hint would show the content of
    // the data.
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
        ("map -p p.json --d-in -1".into(), 1, &["d_in", "from 0 to 4294967295"]),
        ("map -p p.json --d-in two".into(), 2, &["--d-in", "expected a number"]),
        ("map p.json".into(), 2, &["'p.json'", "--pipeline <FILE>"]),
        ("check -p p.json --d-in 2 --d-out [1,1e-6]".into(), 1, &["d_out", "expected a number"]),
        ("solve -p open.json --param scal --d-in 2 --d-out 1".into(), 1, &["`scal`", "`scale`"]),
        ("solve -p open.json --param scale --d-in 2 --d-out 0".into(), 1, &["a loss is above 0"]),
        (
            "solve -p open.json --param scale --d-in 1 --d-out 1".into(),
            1,
            &["no two data sets of size 10 are at distance 1", "distance 2"],
        ),
        ("budget create b.ledger:x --epsilon abc".into(), 1, &["epsilon", "such as 0.1 or 1/3"]),
        ("budget create b.ledger:x --epsilon inf".into(), 1, &["epsilon", "such as 0.1 or 1/3"]),
        ("budget create b.ledger --epsilon 1".into(), 2, &["expected FILE:NAME"]),
        ("budget create b.ledger:x --epsilon 1 --rho 1".into(), 2, &["cannot be used with '--rho"]),
        ("budget create b.ledger:x --delta 1e-6".into(), 2, &["--epsilon <EPSILON>", "--rho"]),
        ("budget create b.ledger:x --epsilon 1,5".into(), 1, &["epsilon: invalid", "found `1,5`"]),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let message = desk.fails(&words, code);
        for part in parts {
            assert!(message.contains(part), "{line}: {part} is not in {message}");
        }
    }
    // `map` warns about a distance that no two data sets can have.
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
    assert!(unknown.contains("no budget `y`; its budgets are `x`"), "{unknown}");
    desk.says(&charge("age", "b.ledger:x", "a"));
    let other = desk.fails(&charge("sex", "b.ledger:x", "a"), 1);
    assert!(other.contains("another data or column: use another id"), "{other}");
    chain("3.0");
    let other = desk.fails(&charge("age", "b.ledger:x", "a"), 1);
    assert!(other.contains("another pipeline") && other.contains("use another id"), "{other}");
    let id = desk.fails(&charge("age", "b.ledger:x", "a "), 1);
    assert!(id.contains("no space at its ends") && id.contains("found `a `"), "{id}");
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
    assert!(desk.fails(&charged, 1).contains("a budget of epsilon needs Laplace noise"));
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
/// A mistake in a study is found by a dry run. The error says what is wrong, where, and what to do.
#[test]
fn a_wrong_field_of_a_study_is_answered_by_what_to_write() {
    let desk = Desk::new();
    let answer = |context: &str, columns: &str, question: &str| {
        let context = format!("{context}, \"budget\": {{\"epsilon\": 1}}");
        let study = format!(
            "{{\"context\": {{{context}, \"columns\": {columns}}}, \"questions\": [{question}]}}"
        );
        desk.file("study.json", study);
        desk.run(&["ask", "study.json", "--dry-run"])
    };
    let (person, count) = (r#""unit": {"person": 1}"#, r#"{"count": {}}"#);
    let rows = |rows: &str| format!(r#""unit": {{"answers_of_person": 1}}, "rows": {rows}"#);
    let missing =
        |kind: &str, word: &str| format!(r#"{{"x": {{"T": "{kind}", "missing": {word}}}}}"#);
    let top =
        |k: &str| format!(r#"{{"top_k": {{"column": "x", "k": {k}, "categories": ["a", "b"]}}}}"#);
    let texts = r#"{"x": "String"}"#;
    let wide = r#"{"x": {"T": "f64", "bounds": [-1e308, 1e308], "missing": 0}}"#;
    let drop = "argument `missing`: found \"Drop\": write \"drop\", in lower case";
    for (context, columns, question, parts) in [
        (person, &*missing("i64", "\"Drop\""), count, &["context: column `x`", drop][..]),
        (person, &missing("f64", "\"Drop\""), count, &["context: column `x`", drop]),
        (person, &missing("bool", "\"Drop\""), count, &["context: column `x`", drop]),
        // A column of texts would count missing cells as the category `Drop`.
        (person, &missing("String", "\"Drop\""), count, &["context: column `x`", drop]),
        (&*rows("-3"), texts, count, &["context: rows", "whole number of at least 0, found -3"]),
        (&rows("2.5"), texts, count, &["context: rows", "whole number of at least 0, found 2.5"]),
        (&rows("1e30"), texts, count, &["found 1e+30: state a smaller number"]),
        (&rows("\"7\""), texts, count, &["found the text \"7\": write numbers without quotes"]),
        (person, texts, &top("-1"), &["item 1: top_k: k", "at least 0, found -1"]),
        (
            person,
            texts,
            &top("3"),
            &["question 1: argument `k`: expected at most the number of categories, 2, found 3"],
        ),
        (
            person,
            wide,
            r#"{"mean": {"column": "x"}}"#,
            &["question 1: mean: no scale of the noise fits", "state narrower bounds"],
        ),
    ] {
        let output = answer(context, columns, question);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.lines().count() <= 3, "{message}");
        for part in parts {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
    // The controls.
    for (context, columns, question) in [
        (&*rows("3"), &*missing("String", "\"drop\""), count),
        (person, &missing("String", "\"dropped\""), count),
        (person, texts, &top("2")),
    ] {
        let output = answer(context, columns, question);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
#[test]
fn a_loss_above_all_floats_is_an_error_that_names_the_scale_and_the_bounds() {
    let desk = Desk::new();
    let chain =
        "[{\"clamp\": {\"bounds\": [-1e308, 1e308]}}, \"mean\", {\"gaussian\": {\"scale\": 1.0}}]";
    desk.file("p.json", format!("{{\"space\": {{{FLOATS}}}, \"chain\": {chain}}}"));
    let message = desk.fails(&["map", "-p", "p.json", "--d-in", "2"], 1);
    assert!(message.contains("exceeds the largest f64: state a larger scale, or narrower bounds"));
}
