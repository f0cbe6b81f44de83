use std::{fs, path::Path, process::Command};

use clap::FromArgMatches;
use opendp_core::{
    AtomDomain, Function, MaxDivergence, Measurement, PrivacyMap, Result, Space, SymmetricDistance,
    VectorDomain, register,
};
use serde_json::json;

type Texts = VectorDomain<AtomDomain<String>>;

/// Panic if there are rows.
fn make_panics_on_rows(
    input: Space<Texts, SymmetricDistance>,
) -> Result<Measurement<Texts, SymmetricDistance, MaxDivergence, bool>> {
    let function = Function::map(|rows: &Vec<String>| match rows.as_slice() {
        [] => Ok(true),
        [first, ..] => panic!("the first row is {first}"),
    });
    let map = PrivacyMap::new(|_: &u32| Ok(0.5));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}
register! { "tests.rs": make_panics_on_rows as ["test::make_panics_on_rows"](input); }

/// The folder of the files of [`ask_in_a_child`].
const FOLDER: &str = "OPENDP_TEST_FOLDER";
/// The arguments of the command in [`ask_in_a_child`], as a JSON array.
const ARGUMENTS: &str = "OPENDP_TEST_ARGUMENTS";

/// Run the command in the folder that the test below names. Without a folder, do nothing.
#[test]
fn ask_in_a_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    std::env::set_current_dir(folder).unwrap();
    let arguments: Vec<String> = serde_json::from_str(&std::env::var(ARGUMENTS).unwrap()).unwrap();
    let matches = crate::command().get_matches_from(arguments);
    let cli = crate::Cli::from_arg_matches(&matches).unwrap();
    super::hide_messages();
    let answer = super::caught(|| crate::answer(&cli));
    eprintln!("{}", answer.err().map_or_else(|| "answered".into(), |error| error.to_string()));
}
/// Run the command in a child process. Return what it writes to standard error.
fn errors(folder: &Path, arguments: &[&str]) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "panics::tests::ask_in_a_child", "--nocapture"])
        .env("RUST_BACKTRACE", "1")
        .env(FOLDER, folder)
        .env(ARGUMENTS, json!(arguments).to_string())
        .output()
        .unwrap();
    String::from_utf8(child.stderr).unwrap()
}

#[test]
fn under_a_budget_nothing_shows_that_a_mechanism_panicked() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let link = "test::panics_on_rows";
    let space = json!({
        "domain": {"vector_domain": {"atom_domain": {"T": "String"}}},
        "metric": "symmetric_distance",
    });
    write("pipeline.json", &json!({"space": space, "chain": [link]}).to_string());
    let study = json!({
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1},
            "columns": {"city": {"T": "String", "missing": ""}},
        },
        "questions": [{"mechanism": {"column": "city", "chain": [link]}}],
    });
    write("study.json", &study.to_string());
    write("people.csv", "city\nsecret\n");
    let errors = |arguments: &[&str]| errors(folder.path(), &[&["opendp"], arguments].concat());
    let unit = ["--unit", "1", "--metric", "symmetric_distance"];
    let created = errors(&[&["budget", "create", "l:b", "--epsilon", "9"][..], &unit].concat());
    assert!(created.contains("answered"), "{created}");

    let run = ["run", "-p", "pipeline.json", "--data", "people.csv"];
    let budget = ["--budget", "l:b", "--id"];
    let charged = errors(&[&run[..], &budget, &["run"]].concat());
    let asked = ["ask", "study.json", "--data", "people.csv"];
    let asked = errors(&[&asked[..], &budget, &["ask"]].concat());
    for text in [charged, asked] {
        assert!(text.contains("no release is possible"), "{text}");
        assert!(!text.contains("secret") && !text.contains("panic"), "{text}");
    }
    // The control: without a budget, the message of the panic is shown.
    let free = errors(&[&run[..], &["--d-in", "1"]].concat());
    assert!(free.contains("the first row is secret"), "{free}");
}
