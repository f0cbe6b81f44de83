//! Tests of the files that `opendp bundle` writes for a list of crates. A command and a wheel can
//! be built from these files. `.ci/template` builds the command and, with `--wheel`, the wheel.

use crate::Desk;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn crate_at(folder: &str) -> String {
    format!("custom-mechanism={folder}")
}
fn example() -> String {
    crate_at(&format!("{ROOT}/examples/custom-mechanism"))
}

#[test]
fn the_files_are_written_and_the_commands_told() {
    let desk = Desk::new();
    let written = ["bundle", "--crate", &example(), "--out", "mine", "--no-build", "--offline"];
    let said = desk.says(&written);
    assert!(said.contains("cargo build --manifest-path") && said.contains("--release"), "{said}");
    let read = |file: &str| std::fs::read_to_string(desk.0.path().join("mine").join(file)).unwrap();
    let program = read("src/main.rs");
    assert!(program.contains("\nuse custom_mechanism as _;\n"), "{program}");
    let manifest = read("Cargo.toml");
    // The command uses the same framework as the crate.
    assert!(manifest.contains("opendp-cli = { path = "), "{manifest}");
    assert!(manifest.contains("\ncustom-mechanism = { path = "), "{manifest}");
    assert!(!desk.0.path().join("mine/target").exists());
    // A second run replaces the files of the first run.
    let again = desk.says(&[&written[..], &["--debug", "--name", "graphs", "--json"]].concat());
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["built"], false);
    assert!(!again["command"].as_str().unwrap().contains("--release"), "{again}");
    assert!(read("Cargo.toml").contains("name = \"graphs\""));
}
#[test]
fn what_cannot_become_a_bundle_is_refused_before_it_is_built() {
    let desk = Desk::new();
    let fails = |crates: &str, more: &[&str]| {
        let arguments = ["bundle", "--crate", crates, "--no-build", "--offline", "--out", "mine"];
        desk.fails(&[&arguments[..], more].concat(), 1)
    };
    let error = fails(&crate_at("nowhere"), &[]);
    assert!(error.contains("nowhere has no file Cargo.toml"), "{error}");
    let error = fails(&example(), &["--name", "custom-mechanism"]);
    assert!(error.contains("is the name of a crate; choose another name"), "{error}");
    let error = fails("acme-dp=https://example.org/acme.git", &[]);
    assert!(error.contains("state the framework that they use"), "{error}");
    let error = fails(&format!("other-name={ROOT}/examples/custom-mechanism"), &[]);
    assert!(error.contains("`cargo metadata` failed") && error.contains("other-name"), "{error}");
    std::fs::remove_dir_all(desk.0.path().join("mine")).unwrap();
    std::fs::create_dir(desk.0.path().join("mine")).unwrap();
    desk.file("mine/notes.txt", "mine");
    let error = fails(&example(), &[]);
    assert!(error.contains("files that this command did not write; choose a new"), "{error}");
    let error = desk.fails(&["bundle", "--crate", "acme-dp", "--out", "mine"], 2);
    assert!(error.contains("expected NAME=FOLDER or NAME=URL"), "{error}");
}
#[test]
fn a_crate_that_does_not_use_the_framework_is_named() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.0.path().join("plain/src")).unwrap();
    desk.file("plain/src/lib.rs", "");
    desk.file(
        "plain/Cargo.toml",
        "[package]\nname = \"plain\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    let crates = ["bundle", "--crate", "plain=plain", "--out", "mine", "--no-build", "--offline"];
    let error = desk.fails(&crates, 1);
    assert!(error.contains("`plain` does not depend on `opendp-core`"), "{error}");
}
#[test]
fn two_copies_of_the_framework_are_refused() {
    let desk = Desk::new();
    let package = |name: &str, version: &str, more: &str| {
        std::fs::create_dir_all(desk.0.path().join(name).join("src")).unwrap();
        desk.file(&format!("{name}/src/lib.rs"), "");
        let head = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\n");
        desk.file(&format!("{name}/Cargo.toml"), format!("{head}edition = \"2024\"\n{more}"));
    };
    package(
        "acme-dp",
        "0.1.0",
        "[workspace]\n[dependencies]\nopendp-core = { path = \"../opendp-core\" }\n",
    );
    let bundle =
        ["bundle", "--crate", "acme-dp=acme-dp", "--out", "mine", "--no-build", "--offline"];
    for (version, says) in [("0.1.0", "package collision"), ("0.2.0", "needed by acme-dp")] {
        package("opendp-core", version, "");
        let error = desk.fails(&[&bundle[..], &["--framework", ROOT]].concat(), 1);
        assert!(error.contains(says), "{error}");
        assert!(
            error.contains("State the same source of `opendp-core` in each Cargo.toml"),
            "{error}"
        );
    }
}
