//! The page `CLUSTER.md`: its commands run as they stand, in order, in one shell.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::nodes::alone;

/// The blocks of shell commands of a page, except the one that builds the commands.
fn script(page: &str) -> String {
    let mut blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let build = blocks.next().unwrap();
    assert!(build.contains("cargo build"), "{build}");
    blocks.collect()
}
#[test]
fn the_commands_of_the_page_run_as_they_stand() {
    let _one = alone();
    let text = include_str!("../../../CLUSTER.md");
    let commands = Path::new(env!("CARGO_BIN_EXE_opendp-cluster")).parent().unwrap();
    let sql = commands.join("opendp-sql");
    assert!(sql.exists(), "build the whole workspace: {} is missing", sql.display());
    // The port of the page may be in use, so another one takes its place.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = script(text).replace("50050", &free.to_string());

    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    // Whatever happens, the nodes end with the shell.
    let script =
        format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("epsilon 0.5 is left"), "{said}");
    assert!(said.contains("epsilon 0 is left"), "{said}");
    assert_eq!(said.matches("| sex | n").count(), 3, "{said}");
}
