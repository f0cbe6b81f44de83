//! Tests of the commands `sql` and `explain`. These commands run the program `opendp-sql`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Desk;

/// Copy a program. A separate process makes the copy.
///
/// A program cannot be started while a process has the file of the program open for writing. So the
/// copy is written by the program `cp`, and not by this process. If this process wrote the copy
/// itself, another test could start a new process before the copy is complete. The new process
/// would inherit the open file of the copy. It would keep this file open until it runs its own
/// program. Until then, the copy could not be started.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success(), "cp {to:?}");
}
/// Write a program `opendp-sql` that prints `name` and its arguments, and ends with code 3.
fn place(folder: &Path, name: &str) {
    let text = folder.join("text");
    std::fs::write(&text, format!("#!/bin/sh\necho {name} \"$@\"\nexit 3\n")).unwrap();
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
    copy(&text, &folder.join("opendp-sql"));
}
/// Copy the command to a folder without other programs, and return the path of this folder.
fn alone(desk: &Desk) -> PathBuf {
    let folder = desk.0.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    copy(Path::new(env!("CARGO_BIN_EXE_opendp")), &folder.join("opendp"));
    folder
}
fn run(folder: &Path, path: &Path, arguments: &[&str]) -> Output {
    Command::new(folder.join("opendp")).env("PATH", path).args(arguments).output().unwrap()
}
#[test]
fn the_program_beside_comes_first_then_that_on_the_path() {
    let desk = Desk::new();
    let folder = alone(&desk);
    let path = desk.0.path().join("path");
    std::fs::create_dir(&path).unwrap();
    place(&path, "path");
    let says = |arguments: &[&str], text: &str| {
        let output = run(&folder, &path, arguments);
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{text}\n"));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    };
    says(&["sql", "--config", "a.toml", "SELECT 1"], "path --config a.toml SELECT 1");
    says(&["explain", "--epsilon", "1", "-"], "path explain --epsilon 1 -");
    says(&["sql", "budget", "--help"], "path budget --help");
    says(&["--json", "sql", "q"], "path q --json");
    says(&["sql", "--json", "q"], "path q --json");
    says(&["sql", "q", "--json"], "path q --json");
    place(&folder, "beside");
    says(&["sql", "q"], "beside q");
}
#[test]
fn a_missing_program_is_named_with_its_installation() {
    let desk = Desk::new();
    let folder = alone(&desk);
    let output = run(&folder, &folder.join("nothing"), &["explain", "q"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("error[NotFound]: `opendp explain` needs the program `opendp-sql`"));
    assert!(error.contains("cargo install --locked --path extensions/opendp-tables"), "{error}");
}
