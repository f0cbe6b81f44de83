//! Tests that run the programs `census` and `analyst` as a user does.
#![allow(clippy::unwrap_used, reason = "tests fail by a panic")]

mod people;

use std::process::{Command, Output};

fn census(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_census")).args(arguments).output().unwrap()
}
fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn prints_a_table_that_ends_with_the_total_and_the_neighbours() {
    let output = census(&["--people", "500"]);
    assert!(output.status.success() && output.stderr.is_empty());
    let table = text(&output.stdout);
    assert!(table.starts_with("statistic "));
    assert!(table.contains("\ntotal epsilon 1; neighbours are tables that differ by one person"));
}
#[test]
fn prints_json_within_the_budget() {
    let output = census(&["--people", "500", "--seed", "4", "--epsilon", "0.25", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let total: f64 = json["total_epsilon"].to_string().parse().unwrap();
    assert!(0.2499 < total && total <= 0.25);
    assert_eq!(json["statistics"].as_array().unwrap().len(), 10);
}
#[test]
fn writes_a_page_besides_the_table() {
    let path = std::env::temp_dir().join(format!("census-{}.html", std::process::id()));
    let output = census(&["--people", "500", "--html", path.to_str().unwrap()]);
    assert!(output.status.success() && text(&output.stdout).starts_with("statistic "));
    let html = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(html.contains("<h2>People by education</h2>") && html.ends_with("</html>\n"));
}
#[test]
fn tells_what_is_wrong_and_fails() {
    let check = |arguments: &[&str], part: &str| {
        let output = census(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let error = text(&output.stderr);
        assert!(error.starts_with("error: ") && error.contains(part), "{error}");
    };
    check(&["--data", "no/such/file.csv"], "no/such/file.csv");
    check(&["--epsilon", "0"], "`epsilon`");
    check(&["--html", "no/such/folder/page.html"], "--html no/such/folder/page.html");
    // The file `Cargo.toml` exists, but contains no table of people.
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    check(&["--data", manifest], "`age`: no column has this name");
}
#[test]
fn the_analyst_is_refused_at_the_end() {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_analyst")).args(arguments).output().unwrap()
    };
    let output = run(&["--people", "2000", "--epsilon", "2"]);
    assert!(output.status.success() && output.stderr.is_empty());
    let table = text(&output.stdout);
    assert!(table.starts_with("question "), "{table}");
    assert_eq!(table.matches(" refused ").count(), 1, "{table}");
    assert!(table.contains("All answers together lose at most epsilon 2;"), "{table}");
    let output = run(&["--epsilon", "-1"]);
    assert_eq!(output.status.code(), Some(2), "an option, to the reader of the command line");
    let output = run(&["--epsilon", "0"]);
    assert_eq!(output.status.code(), Some(1));
}
