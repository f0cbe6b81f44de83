//! The commands of the page `CLUSTER.md` run in order, in one shell. Only the port is replaced, and
//! the block that builds the commands is left out.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::nodes::alone;

/// Return the blocks of shell commands of a page, without the block that compiles the programs.
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
    // The port in the commands of the page can be in use, so replace this port by a free one.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = script(text).replace("50050", &free.to_string());

    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    // The trap ends the nodes when the shell ends.
    let script =
        format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    let output = Command::new("timeout")
        .args(["300", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    // The page prints the remaining budget twice: after the query in one process, and after the
    // query on the cluster. Each of these queries costs half of the budget. The third query repeats
    // the first query with the same id, so the third query costs nothing and gives the same answer.
    let rests: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("epsilon ")?.strip_suffix(" is left"))
        .collect();
    assert_eq!(rests.len(), 2, "{said}");
    assert_eq!(rests[0], "0.5", "{said}");
    assert!(rests[1].parse::<f64>().is_ok_and(|rest| rest < 1e-9), "{said}");
    let answers: Vec<&str> = said.split("| sex | n").skip(1).collect();
    assert_eq!(answers.len(), 3, "{said}");
    let rows = |answer: &str| answer.lines().take(11).skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(rows(answers[0]), rows(answers[2]), "{said}");
    assert_ne!(rows(answers[0]), rows(answers[1]), "{said}");
}
