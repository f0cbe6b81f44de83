//! Tests of suggestions, conversions and older names, as a user sees them.

use serde_json::{Value as Json, json};

use crate::{Desk, sum};

const MEAN: [&str; 12] = [
    "suggest",
    "mean",
    "--column-type",
    "f64",
    "--no-nan",
    "--size",
    "1000",
    "--bounds",
    "0,100",
    "--epsilon",
    "1",
    "--json",
];

#[test]
fn each_suggestion_is_a_document_that_meets_the_budget() {
    let desk = Desk::new();
    let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    let space = r#"{"domain":{"atom_domain":{"T":"i64"}},"metric":"absolute_distance"}"#;
    let mut unknown = vec!["suggest", "--space", space];
    unknown.extend(words(r#"--measure renyi_divergence --d-out {"renyi":[[2.0,1.0]]} --json"#));
    let grid = [
        MEAN.to_vec(),
        words("suggest count --column-type String --rho 0.1 --json"),
        words("suggest --column-type i64 --bounds -5,5 --epsilon 0.1 --json"),
        words("suggest median --column-type i32 --fact candidates=[0,5,10] --epsilon 1 --json"),
        words(
            "suggest histogram --column-type String --fact categories=[\"a\",\"b\"] --epsilon 1 \
             --delta 1e-6 --json",
        ),
        words(
            "suggest sum --column-type f32 --no-nan --metric insert_delete_distance --bounds 0,1 \
             --epsilon 2 --d-in 3 --json",
        ),
        unknown,
    ];
    for (place, arguments) in grid.into_iter().enumerate() {
        let output = desk.run(&arguments);
        // The exit code is 1 if no chain was found.
        assert_eq!(output.status.code(), Some(i32::from(place == 6)), "{arguments:?}");
        let found: Json = serde_json::from_slice(&output.stdout).unwrap();
        let suggestions = found["suggestions"].as_array().unwrap();
        // For the last goal, the list is empty: no chain from its space leads to its measure.
        assert_eq!(suggestions.is_empty(), place == 6, "{arguments:?}: {found}");
        assert_eq!(found["complete"], true);
        let value = |name: &str| {
            let place = arguments.iter().position(|it| *it == name)?;
            arguments.get(place + 1).copied()
        };
        for suggestion in suggestions {
            desk.file("one.json", suggestion["document"].to_string());
            let budget = match (value("--epsilon"), value("--delta"), value("--rho")) {
                (Some(epsilon), Some(delta), _) => format!("[{epsilon}, {delta}]"),
                (epsilon, _, rho) => epsilon.or(rho).unwrap().to_owned(),
            };
            let d_in = value("--d-in").unwrap_or("1");
            let check = ["check", "-p", "one.json", "--d-in", d_in, "--d-out", &budget];
            assert_eq!(desk.says(&check), "true", "{suggestion}");
        }
    }
}
#[test]
fn a_suggestion_is_told_with_its_noise_its_loss_and_its_accuracy() {
    let desk = Desk::new();
    let text = desk.says(&MEAN[..11]);
    for part in [
        "1. clamp, mean, laplace",
        "scale 0.1",
        "loss epsilon 1",
        "accuracy within 0.2996",
        "\"chain\": [",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
#[test]
fn what_is_missing_is_named_with_the_flag_that_states_it() {
    let desk = Desk::new();
    let output = desk.run(&["suggest", "sum", "--column-type", "i64", "--epsilon", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["No chain was found", "  sum: ", "  clamp: state `bounds`, as --fact bounds=VALUE"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = desk.fails(&["suggest", "frobnicate", "--column-type", "i64", "--epsilon", "1"], 1);
    assert!(text.contains("frobnicate") && text.contains("list"), "{text}");
    for (arguments, code) in [
        (&["suggest", "sum", "--epsilon", "1"][..], 2),
        (&["suggest", "sum", "--column-type", "i64"], 2),
        (&["suggest", "sum", "--column-type", "i64", "--epsilon", "-1"], 2),
        (&["suggest", "sum", "--column-type", "i64", "--epsilon", "NaN"], 2),
        (&["suggest", "sum", "--column-type", "i64", "--delta", "1e-6", "--rho", "1"], 2),
        (&["suggest", "sum", "--column-type", "i64", "--bounds", "1", "--epsilon", "1"], 2),
        (&["suggest", "sum", "--column-type", "i65", "--epsilon", "1"], 1),
        (&["suggest", "sum", "--column-type", "i64", "--epsilon", "1", "--d-in", "x"], 2),
    ] {
        desk.fails(arguments, code);
    }
}
#[test]
fn a_distance_at_which_no_tables_of_a_public_size_differ_is_named_as_the_reason() {
    let desk = Desk::new();
    let line = "suggest sum --column-type i64 --bounds 0,9 --size 1000 --epsilon 1 --metric";
    let words: Vec<&str> = line.split(' ').chain(["symmetric_distance"]).collect();
    let output = desk.run(&words);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let reason = "  --d-in: no two data sets of size 1000 are at distance 1; one replaced row is \
                  distance 2: state 2, or use `change_one_distance`";
    assert!(text.contains("No chain was found") && text.contains(reason), "{text}");
    // This is the only obstacle: without it, the bounds and the word would fit.
    assert_eq!(text.lines().filter(|line| line.starts_with("  ")).count(), 1, "{text}");
    let json = desk.run(&[&words[..], &["--json"]].concat());
    let json: Json = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["obstacles"][0]["constructor"], "d_in");
    // The advice works.
    assert!(desk.says(&[&words[..], &["--d-in", "2"]].concat()).contains("1. "));
    let space = r#"{"domain": {"atom_domain": {"T": "i64"}}, "metric": {"absolute_distance": {"T": "f64"}}}"#;
    let output = desk.run(&["suggest", "--space", space, "--epsilon", "1", "--d-in", "0.5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("  --d-in: a positive distance between integers is at least 1"),
        "{text}"
    );
}
#[test]
fn bounds_a_budget_and_a_distance_that_fit_nothing_are_errors_with_a_reason() {
    let desk = Desk::new();
    let start = ["suggest", "sum", "--column-type", "i64"];
    for (rest, code, reason) in [
        (&["--bounds", "100,0", "--epsilon", "1"][..], 2, "100 is above the upper bound 0"),
        (&["--fact", "clamp.bounds=[5,-5]", "--epsilon", "1"], 2, "5 is above the upper bound -5"),
        (&["--bounds", "0,100", "--epsilon", "0"], 1, "`epsilon`: no release"),
        (&["--bounds", "0,100", "--rho", "0.0"], 1, "`rho`: no release"),
        (&["--bounds", "0,100", "--epsilon", "1", "--d-in", "0"], 1, "`d_in`: data at distance 0"),
    ] {
        let message = desk.fails(&[&start[..], rest].concat(), code);
        assert!(message.contains(reason), "{message}");
    }
    let equal = ["--bounds", "5,5", "--epsilon", "0", "--delta", "1e-6"];
    desk.says(&[&start[..], &equal].concat());
}
#[test]
fn a_suggested_sum_is_released_beyond_the_bounds_of_its_rows() {
    let desk = Desk::new();
    let suggest = ["suggest", "sum", "--column-type", "i64", "--bounds", "0,100"];
    let found = desk.says(&[&suggest[..], &["--epsilon", "1000", "--json"]].concat());
    let found: Json = serde_json::from_str(&found).unwrap();
    desk.file("sum.json", found["suggestions"][0]["document"].to_string());
    desk.file("x.csv", "age\n".to_owned() + &"90\n".repeat(50));
    let run = ["run", "-p", "sum.json", "--data", "x.csv", "--d-in", "1", "--json"];
    let report: Json = serde_json::from_str(&desk.says(&run)).unwrap();
    let release = report["release"].as_f64().unwrap();
    assert!((release - 4500.0).abs() < 100.0, "{report}");
}
#[test]
fn a_list_names_what_takes_a_space_and_what_leads_to_a_measure() {
    let desk = Desk::new();
    let space = r#"{"domain": {"atom_domain": {"T": "i64"}}, "metric": "absolute_distance"}"#;
    let text = desk.says(&["list", "--takes", space]);
    assert!(text.contains("make_laplace") && text.contains("make_gaussian"), "{text}");
    assert!(!text.contains("make_count"), "{text}");
    let pure = ["list", "--takes", space, "--leads-to", "max_divergence"];
    let text = desk.says(&pure);
    assert!(text.contains("make_laplace") && !text.contains("make_gaussian"), "{text}");
    desk.fails(&["list", "--leads-to", "max_divergence"], 2);
}
#[test]
fn a_pipeline_is_converted_and_what_cannot_be_is_named() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    let text = desk.says(&["convert", "-p", "sum.json", "--to", "opendp"]);
    desk.file("theirs.json", &text);
    assert!(text.contains("__function__"), "{text}");
    assert_eq!(desk.says(&["map", "-p", "theirs.json", "--d-in", "1"]), "0.5");
    let mut filtered = sum(20.0);
    filtered["chain"][0] = json!({"filter_bounds": {"bounds": [0, 10]}});
    desk.file("filtered.json", filtered.to_string());
    let text = desk.fails(&["convert", "-p", "filtered.json", "--to", "opendp"], 1);
    assert!(
        text.contains("chain link 1 `filter_bounds`") && text.contains("OpenDP 0.16"),
        "{text}"
    );
    desk.file("domain.json", json!({"atom_domain": {"T": "i64"}}).to_string());
    let text = desk.fails(&["convert", "-p", "domain.json", "--to", "opendp"], 1);
    assert!(text.contains("this document is a domain") && text.contains("`chain`"), "{text}");
    desk.fails(&["convert", "-p", "sum.json", "--to", "nonsense"], 2);
}
#[test]
fn an_older_name_gives_one_warning_on_standard_error() {
    let desk = Desk::new();
    let older = json!({"constructor": "bounded_int_split_sum", "args": {"bounds": [0, 9]}});
    desk.file("older.json", older.to_string());
    let output = desk.run(&["map", "-p", "older.json", "--d-in", "1"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "9\n");
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(warning.matches("warning").count(), 1, "{warning}");
    assert!(
        warning.contains("`make_bounded_int_split_sum` is deprecated: use `make_sum`"),
        "{warning}"
    );
    let json = desk.run(&["map", "-p", "older.json", "--d-in", "1", "--json"]);
    let warning: Json = serde_json::from_slice(&json.stderr).unwrap();
    assert!(warning["warning"].is_string());
}

#[test]
fn a_list_in_json_describes_each_constructor_in_full() {
    let desk = Desk::new();
    let list: Json =
        serde_json::from_str(&desk.says(&["list", "--json", "--kind", "transformation"])).unwrap();
    for constructor in list.as_array().unwrap() {
        for part in ["documentation", "summary", "formula", "errors"] {
            assert!(constructor[part].is_string(), "{part} of {}", constructor["name"]);
        }
        assert!(constructor["arguments"].is_array() && constructor["origins"].is_array());
        for signature in constructor["signatures"].as_array().unwrap() {
            assert!(signature["types"].is_object() && signature["output"].is_string());
        }
    }
    let named = |name: &str| list.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(named("make_count")["signatures"][0]["defaults"], json!({"TO": "i32"}));
    assert_eq!(named("make_clamp")["signatures"][0]["defaults"], json!({}));
    let text = desk.says(&["describe", "count"]);
    assert!(
        text.contains("; if left out, i32") && text.contains("make_count<T, M, TO>("),
        "{text}"
    );
    assert!(text.contains("# Document\n  {\"space\""), "{text}");
}
#[test]
fn a_size_of_no_records_is_refused() {
    let desk = Desk::new();
    for size in ["0", "-1", "1.5", "99999999999999999999"] {
        let size = format!("--size={size}");
        let line = ["suggest", "count", "--column-type", "f64", &size, "--epsilon", "1"];
        assert!(desk.fails(&line, 2).contains("the public number of records, at least 1"));
    }
}
