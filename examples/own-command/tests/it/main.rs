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
