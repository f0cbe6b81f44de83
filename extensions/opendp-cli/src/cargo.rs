//! Runs the program `cargo`, which builds the packages that `opendp` writes.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use opendp_core::{Error, Result};
use serde_json::Value as Json;

/// The advice in an error about several copies of the framework.
const ONE_FRAMEWORK: &str =
    "State the same source of `opendp-core` in each Cargo.toml, and as --framework";

/// Return the program `cargo`. If `cargo` has started this program, return the same `cargo`.
fn program() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
/// Return a command that calls `cargo` with a subcommand and the path of a Cargo.toml. If `offline`
/// is true, `cargo` does not use the network.
pub(crate) fn cargo(command: &str, manifest: &Path, offline: bool) -> Command {
    let mut run = program();
    run.arg(command).arg("--manifest-path").arg(manifest);
    if offline {
        run.arg("--offline");
    }
    run
}
/// Run a program to its end. The output of the program goes to standard error, because this output
/// is not part of the answer of `opendp`.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let name = named(&command);
    let status = command.stdout(Stdio::from(std::io::stderr())).status();
    match status.map_err(|error| unstarted(&name, &error))? {
        status if status.success() => Ok(()),
        status => {
            let reason = format!("`{name}` failed ({status}); its messages are above");
            Err(Error::FailedFunction(reason))
        }
    }
}
/// Run a program to its end, and return its standard output.
pub(crate) fn said(mut command: Command) -> Result<String> {
    let name = named(&command);
    let output = command.output().map_err(|error| unstarted(&name, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(Error::FailedFunction(format!("`{name}` failed:\n{}", told.trim_end())))
}
/// Return the output of `cargo metadata`: the packages that a package needs on this platform.
pub(crate) fn metadata(manifest: &Path, offline: bool) -> Result<Json> {
    let mut command = cargo("metadata", manifest, offline);
    command.args(["--format-version", "1"]);
    // Without `--filter-platform`, `cargo metadata` would download the packages for all platforms.
    let mut version = program();
    version.arg("-vV");
    if let Some(host) = said(version)?.lines().find_map(|line| line.strip_prefix("host: ")) {
        command.args(["--filter-platform", host]);
    }
    let text = said(command).map_err(|error| match error {
        // If two folders have packages of the same name and version, cargo itself returns an error.
        Error::FailedFunction(told) if told.contains("package collision") => {
            Error::FailedFunction(format!("{told}\n{ONE_FRAMEWORK}"))
        }
        other => other,
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Error::FailedFunction(format!("`cargo metadata` did not print JSON: {error}"))
    })
}

/// Return the name of a program and its first argument, for an error message.
fn named(command: &Command) -> String {
    let first = command.get_args().next().map(|text| text.to_string_lossy().into_owned());
    let program = Path::new(command.get_program()).file_stem().map(OsString::from);
    let program = program.unwrap_or_default().to_string_lossy().into_owned();
    first.map_or(program.clone(), |first| format!("{program} {first}"))
}
fn unstarted(name: &str, error: &std::io::Error) -> Error {
    Error::FailedFunction(format!(
        "`{name}` cannot be started: {error}. Install the program and put it on the PATH"
    ))
}

/// Check that all crates share one copy of the core crate. Each copy of the core crate defines its
/// own type of registrations, and lists only registrations of this type. Suppose that a crate uses
/// another copy than the program that writes the list of constructors. Then this list would not
/// contain the constructors of the crate.
///
/// # Errors
/// `FailedFunction` when there are several copies. The error lists the copies, and the crates that
/// need each copy.
pub(crate) fn check_one_core(metadata: &Json) -> Result<()> {
    let list = |json: &'_ Json| json.as_array().cloned().unwrap_or_default();
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let copies: Vec<&Json> = packages.iter().filter(|p| p["name"] == "opendp-core").collect();
    if copies.len() < 2 {
        return Ok(());
    }
    let name_of = |id: &Json| packages.iter().find(|p| p["id"] == *id).map(|p| text(&p["name"]));
    let needed_by = |copy: &Json| -> String {
        let nodes = list(&metadata["resolve"]["nodes"]);
        let needs = |node: &&Json| list(&node["dependencies"]).contains(&copy["id"]);
        let names = nodes.iter().filter(needs).filter_map(|node| name_of(&node["id"]));
        names.collect::<Vec<String>>().join(", ")
    };
    let lines = copies.iter().map(|copy| {
        let source = copy["source"]
            .as_str()
            .unwrap_or_else(|| copy["manifest_path"].as_str().unwrap_or_default());
        format!("\n  {source}\n    needed by {}", needed_by(copy))
    });
    Err(Error::FailedFunction(format!(
        "the crates use {} copies of `opendp-core`, and each copy lists only its own constructors. \
         {ONE_FRAMEWORK}:{}",
        copies.len(),
        lines.collect::<String>()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn core(id: &str, source: &Json) -> Json {
        json!({"name": "opendp-core", "id": id, "source": source, "manifest_path": "/house/a.toml"})
    }

    #[test]
    fn two_copies_of_core_are_refused_with_who_needs_them() {
        let acme = json!({"name": "acme-dp", "id": "3"});
        let single = core("1", &Json::Null);
        let two = core("2", &json!("git+https://x.org/y#01"));
        let nodes = json!({"nodes": [{"id": "3", "dependencies": ["2"]}]});
        let error = check_one_core(&json!({"packages": [single, two, acme], "resolve": nodes}));
        let error = error.unwrap_err().to_string();
        for part in ["2 copies", "/house/a.toml", "https://x.org/y", "needed by acme-dp"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(check_one_core(&json!({"packages": [single, acme], "resolve": nodes})).is_ok());
    }
    #[test]
    fn a_program_that_is_missing_or_fails_is_named() {
        let missing = said(Command::new("opendp-no-such-program")).unwrap_err().to_string();
        assert!(missing.contains("`opendp-no-such-program` cannot be started"), "{missing}");
        let mut fails = cargo("metadata", Path::new("no/such/Cargo.toml"), true);
        fails.arg("--no-deps");
        let error = said(fails).unwrap_err().to_string();
        assert!(
            error.starts_with("`cargo metadata` failed:") && error.contains("no/such"),
            "{error}"
        );
    }
}
