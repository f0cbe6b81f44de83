//! Tests that run the command of a third party as a user does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

use std::process::Command;

use serde_json::{Value as Json, json};

/// Run the command. Return three results: whether the command succeeded, its output, and its
/// errors.
fn graphs(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_graphs")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}
fn says(arguments: &[&str]) -> String {
    let (success, out, err) = graphs(arguments);
    assert!(success, "{err}");
    out
}

#[test]
fn a_constructor_of_another_crate_is_listed_and_described() {
    let list = says(&["list", "graph"]);
    assert!(list.contains("acme::make_randomized_graph"), "{list}");
    assert!(list.contains("custom-mechanism"), "{list}");
    let described = says(&["describe", "acme::randomized_graph"]);
    assert!(described.contains("# Proof") && described.contains("custom-mechanism"), "{described}");
    assert!(described.contains("# Signatures\n  acme::make_randomized_graph("), "{described}");
    // The control: a name that no crate registers is not found.
    let (success, _, error) = graphs(&["describe", "acme::make_nothing"]);
    assert!(!success && error.contains("acme::make_nothing"), "{error}");
}
#[test]
fn a_mechanism_of_another_crate_is_run_with_its_loss() {
    let desk = tempfile::tempdir().unwrap();
    let file = |name: &str, json: Json| {
        let path = desk.path().join(name);
        std::fs::write(&path, json.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pipeline = file(
        "count.json",
        json!({
            "space": {"domain": {"acme::graph_domain": {"nodes": 4}},
                      "metric": "acme::edge_distance"},
            "chain": ["acme::edge_count", {"laplace": {"scale": 5.0}}],
        }),
    );
    let data = file("graph.json", json!([[0, 1], [2, 3]]));
    let run = ["run", "-p", &pipeline, "--data", &data, "--d-in", "1"];
    let text = says(&run);
    assert!(text.contains("loss      epsilon 0.2, when"), "{text}");
    let report: Json = serde_json::from_str(&says(&[&run[..], &["--json"]].concat())).unwrap();
    assert!(report["release"].is_i64(), "{report}");
}
#[test]
fn a_study_asks_a_mechanism_of_another_crate() {
    let desk = tempfile::tempdir().unwrap();
    let place = |name: &str| desk.path().join(name).to_str().unwrap().to_owned();
    let (table, page, ledger) = (place("people.csv"), place("page.html"), place("ledger"));
    let rows = (0..200).map(|i| format!("{},city {}\n", 20 + i % 60, i % 7));
    std::fs::write(&table, format!("age,city\n{}", rows.collect::<String>())).unwrap();
    let study =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../custom-mechanism/documents/study.json").to_owned();
    let ask = ["ask", &study, "--data", &table];

    // The probability is 1 / (1 + e), for a share of 1.
    let plan = says(&["ask", &study, "--dry-run"]);
    let line = |name: &str| plan.lines().find(|line| line.starts_with(name)).unwrap();
    let presence = line("anybody aged 90 or more");
    assert!(presence.contains(" not known ") && presence.contains("presence, flip 0.26"), "{plan}");
    let cities = line("number of cities");
    assert!(cities.contains("+/- 3 ") && cities.ends_with("laplace, scale 1"), "{plan}");
    assert!(plan.contains("the answers cost epsilon 2 of epsilon 2"), "{plan}");
    let json = says(&[&ask[..], &["--json", "--html", &page]].concat());
    let json: Json = serde_json::from_str(&json).unwrap();
    let [presence, cities] = [&json["answers"][0], &json["answers"][1]];
    assert!(presence["values"][0]["value"].is_boolean(), "{json}");
    assert_eq!(presence["parameter"]["name"], "flip");
    assert_eq!(cities["constructors"], json!(["count_distinct", "laplace"]));
    assert!(cities["values"][0]["interval"].is_array(), "{json}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("acme::randomized_presence, flip 0.26"), "{html}");
    let csv = says(&[&ask[..], &["--csv"]].concat());
    assert!(csv.starts_with("question,label,value"), "{csv}");
    let presence = csv.lines().nth(1).unwrap();
    assert!(presence.ends_with("true,,,,") || presence.ends_with("false,,,,"), "{csv}");

    // A ledger charges the loss, and the same id gives the same answers.
    let survey = format!("{ledger}:survey");
    let create = ["budget", "create", &survey, "--epsilon", "3", "--unit", "1"];
    says(&[&create[..], &["--metric", "symmetric_distance"]].concat());
    let charged = [&ask[..], &["--budget", &survey, "--id", "a", "--json"]].concat();
    let first: Json = serde_json::from_str(&says(&charged)).unwrap();
    let again: Json = serde_json::from_str(&says(&charged)).unwrap();
    assert_eq!(first["answers"], again["answers"]);
    assert_eq!(again["charge"]["repeated"], true);
    let (success, _, error) =
        graphs(&[&ask[..], &["--budget", &survey, "--id", "b", "--json"]].concat());
    assert!(!success && error.contains("BudgetExceeded"), "{error}");
    // The control: a command without the crate does not know the constructor.
    let unknown = std::fs::read_to_string(&study).unwrap().replace("acme::", "other::");
    let path = place("unknown.json");
    std::fs::write(&path, unknown).unwrap();
    let (success, _, error) = graphs(&["ask", &path, "--dry-run"]);
    assert!(!success && error.contains("other::randomized_presence"), "{error}");
}
#[test]
fn the_command_goes_by_the_name_of_its_file() {
    let help = says(&["--help"]);
    // The help also names the program `opendp-sql`, which is not renamed.
    let own = help.replace("opendp-sql", "");
    assert!(own.contains("Usage: graphs ") && !own.contains("opendp"), "{help}");
    assert!(says(&["--version"]).starts_with("graphs "));
    assert!(says(&["list"]).contains("`graphs describe NAME`"));
    assert!(says(&["completions", "bash"]).contains("_graphs()"));
    assert!(says(&["man"]).contains("graphs"));
    // In error messages of libraries, too, the command is called `graphs`.
    let desk = tempfile::tempdir().unwrap();
    let table = desk.path().join("people.csv");
    std::fs::write(&table, "31,Ada\n44,Carl\n").unwrap();
    let study = desk.path().join("study.json");
    let context = json!({
        "unit": {"person": 1}, "budget": {"epsilon": 1}, "data": "people.csv",
        "columns": {"name": "String"},
    });
    let text = json!({"context": context, "questions": [{"count": {}}]}).to_string();
    std::fs::write(&study, text).unwrap();
    let (success, _, error) = graphs(&["ask", study.to_str().unwrap()]);
    assert!(!success && error.contains("`graphs inspect"), "{error}");
    assert!(!error.contains("`opendp"), "{error}");
}
