//! Tests of the command that writes a new crate of mechanisms. `.ci/template` also builds and tests
//! such a crate.

use std::path::Path;

use crate::Desk;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn a_new_crate_is_the_example_under_another_name() {
    let desk = Desk::new();
    let said = desk.says(&["new", "edge-dp", "--framework", ROOT, "--prefix", "edge"]);
    assert!(said.contains("cd edge-dp && cargo test"), "{said}");
    let read =
        |file: &str| std::fs::read_to_string(desk.0.path().join("edge-dp").join(file)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("\nname = \"edge-dp\"\n"), "{manifest}");
    let core = manifest.lines().find(|line| line.starts_with("opendp-core = { path = \"/"));
    assert!(core.is_some_and(|line| line.ends_with("opendp-core\" }")), "{manifest}");
    assert!(read("src/graph.rs").contains("named!(Graph as \"edge::Graph\");"));
    assert!(read("tests/it/main.rs").contains("use edge_dp::{EdgeDistance"));
    assert!(read("documents/edge_count.json").contains("edge::graph_domain"));
    // The new crate has the lock file of the framework. The framework was tested with the versions
    // in this file.
    assert_eq!(read("Cargo.lock"), std::fs::read_to_string(format!("{ROOT}/Cargo.lock")).unwrap());
    let mut texts = Vec::new();
    texts_below(&desk.0.path().join("edge-dp"), &mut texts);
    assert!(20 < texts.len());
    for (file, text) in texts.iter().filter(|(file, _)| !file.ends_with("Cargo.lock")) {
        for old in ["acme", "custom-mechanism", "custom_mechanism"] {
            assert!(!text.contains(old), "{file}: {old}");
        }
    }
}
fn texts_below(folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => texts_below(&path, texts),
            false => {
                texts.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
            }
        }
    }
}
#[test]
fn the_framework_may_be_in_a_git_repository() {
    let desk = Desk::new();
    let url = "https://example.org/house.git#tag=v2";
    let said = desk.says(&["new", "folder", "--name", "my-dp", "--framework", url, "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let expected = serde_json::json!({"folder": "folder", "crate": "my-dp", "prefix": "my_dp"});
    assert_eq!(said, expected);
    let manifest = std::fs::read_to_string(desk.0.path().join("folder/Cargo.toml")).unwrap();
    let expected = "opendp-core = { git = \"https://example.org/house.git\", tag = \"v2\" }\n";
    assert!(manifest.contains(expected), "{manifest}");
    let graph = std::fs::read_to_string(desk.0.path().join("folder/src/graph.rs")).unwrap();
    assert!(graph.contains("\"my_dp::Graph\""), "{graph}");
    assert!(!desk.0.path().join("folder/Cargo.lock").exists());
}
#[test]
fn nothing_is_overwritten_and_wrong_names_are_refused() {
    let desk = Desk::new();
    std::fs::create_dir(desk.0.path().join("mine")).unwrap();
    let kept = desk.file("mine/notes.txt", "mine");
    let error = desk.fails(&["new", "mine", "--framework", ROOT], 1);
    assert!(error.contains("mine exists and is not empty; choose another"), "{error}");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine");

    let error = desk.fails(&["new", "Mine", "--framework", ROOT], 1);
    assert!(error.contains("`name`") && error.contains("found `Mine`"), "{error}");
    for (name, reason) in [
        ("fn", "Rust uses this name"),
        ("core", "Rust uses this name"),
        ("test", "Rust uses this name"),
        ("opendp-core", "the new crate uses a crate of this name"),
    ] {
        for place in [&[name][..], &["other", "--name", name]] {
            let error = desk.fails(&[&["new", "--framework", ROOT], place].concat(), 1);
            assert!(error.contains(reason), "{error}");
            assert!(error.contains(&format!("found `{name}`")), "{error}");
            assert!(!desk.0.path().join(name).exists());
        }
    }
    let error = desk.fails(&["new", "other", "--framework", ROOT, "--prefix", "a::b"], 1);
    assert!(error.contains("`prefix`") && error.contains("found `a::b`"), "{error}");
    let error = desk.fails(&["new", "other", "--framework", "mine"], 1);
    assert!(error.contains("has no file opendp-core"), "{error}");
    assert!(!desk.0.path().join("other").exists());
}
