//! Writes a new crate of mechanisms. The crate is a copy of `examples/custom-mechanism` under
//! another name. The guide for authors of mechanisms explains this example.

use std::path::{Path, PathBuf};

use opendp_core::{Error, Result};
use serde_json::json;

use crate::source::{Source, check_name, check_new, trial_profile, write_file};

/// Include a file of the template.
macro_rules! template {
    ($($file:literal)*) => {
        [$(($file, include_str!(concat!("../../../examples/custom-mechanism/", $file)))),*]
    };
}
/// The files of the template. Cargo.toml is not copied. [`manifest`] writes this file, because the
/// dependencies of the new crate are at other places.
const FILES: [(&str, &str); 22] = template! {
    "README.md"
    "documents/edge_count.json"
    "documents/graph.json"
    "documents/study.json"
    "examples/release.py"
    "examples/release.rs"
    "src/debiased_edge_count.rs"
    "src/edge_count.rs"
    "src/edge_distance.rs"
    "src/flip_probability.rs"
    "src/gaussian_accounting.rs"
    "src/gaussian_tradeoff.rs"
    "src/graph.rs"
    "src/graph_domain.rs"
    "src/graph_samples.rs"
    "src/lib.rs"
    "src/more_types.rs"
    "src/randomized_graph.rs"
    "src/randomized_presence.rs"
    "src/repeat.rs"
    "tests/it/laws.rs"
    "tests/it/main.rs"
};
/// The crates of the framework that the template uses.
const USED: [&str; 3] = ["opendp-core", "opendp-measurements", "opendp-transformations"];
const USED_BY_TESTS: [&str; 1] = ["opendp-registry"];

/// The arguments of the command that writes a new crate.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the new crate
    folder: PathBuf,
    /// Where the new crate finds the `opendp-...` crates: a folder with a clone of their
    /// repository, a git URL, or URL#REVISION
    #[arg(long, value_name = "WHERE", value_parser = Source::parse)]
    framework: Source,
    /// The name of the crate. Defaults to the name of the folder
    #[arg(long)]
    name: Option<String>,
    /// The prefix of all names in documents: `acme` gives acme::make_edge_count. Defaults to the
    /// name of the crate
    #[arg(long)]
    prefix: Option<String>,
}

/// Write the crate. Return a text with the next steps, or, if `as_json` is true, a JSON object that
/// describes the crate.
pub(crate) fn answer(arguments: &Arguments, as_json: bool) -> Result<String> {
    let Arguments { folder, framework, .. } = arguments;
    let name = name_or_folder(arguments.name.as_deref(), folder)?;
    let code = name.replace('-', "_");
    let prefix = arguments.prefix.as_deref().unwrap_or(&code);
    check_prefix(prefix)?;
    framework.check("framework", "opendp-core")?;
    if std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()) || folder.is_file() {
        let reason = format!("{} exists and is not empty; choose another folder", folder.display());
        return Err(Error::argument("folder", reason));
    }
    for (file, text) in FILES {
        write_file(&folder.join(file), &renamed(text, &name, prefix))?;
    }
    write_file(&folder.join("Cargo.toml"), &manifest(&name, framework)?)?;
    write_file(&folder.join(".gitignore"), "/target\n")?;
    if let Some(lock) = framework.lock_file("") {
        copy(&lock, &folder.join("Cargo.lock"))?;
    }
    let (program, shown) = (crate::program(), folder.display());
    if as_json {
        return Ok(json!({"folder": folder, "crate": name, "prefix": prefix}).to_string());
    }
    Ok(format!(
        "{shown} has the crate `{name}`; its names in documents begin with `{prefix}::`.\n\
         Test it:           cd {shown} && cargo test\n\
         Release from JSON: cargo run --example release -- documents/edge_count.json \
         documents/graph.json 1\n\
         Your own command:  {program} bundle --crate {name}={shown} --out FOLDER"
    ))
}
/// Return the given name. If no name is given, return the name of the folder. Check that the result
/// is a valid name of a new crate.
pub(crate) fn name_or_folder(name: Option<&str>, folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let of_folder = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.map_or_else(of_folder, str::to_owned);
    check_name("name", &name)?;
    check_new("name", &name)?;
    Ok(name)
}
fn check_prefix(prefix: &str) -> Result<()> {
    let within = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if prefix.starts_with(|c: char| c.is_ascii_lowercase()) && prefix.chars().all(within) {
        return Ok(());
    }
    let reason = format!(
        "expected lower-case letters, digits and _, with a letter first, found `{prefix}`; choose \
         such a word, as in acme"
    );
    Err(Error::argument("prefix", reason))
}
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map(drop).map_err(|error| {
        let (from, to) = (from.display(), to.display());
        Error::FailedFunction(format!("{from} cannot be copied to {to}: {error}"))
    })
}

/// Rename the crate and the prefix of its names.
fn renamed(text: &str, name: &str, prefix: &str) -> String {
    // The new name can contain an old name. So first replace all old names by control characters,
    // and then replace these characters by the new names.
    text.replace("custom-mechanism", "\u{1}")
        .replace("custom_mechanism", "\u{2}")
        .replace("acme", "\u{3}")
        .replace('\u{1}', name)
        .replace('\u{2}', &name.replace('-', "_"))
        .replace('\u{3}', prefix)
}
/// Write Cargo.toml.
fn manifest(name: &str, framework: &Source) -> Result<String> {
    let lines = |names: &[&str]| -> Result<String> {
        names.iter().map(|name| framework.framework(name)).collect()
    };
    Ok(format!(
        r#"[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
rust-version = "1.89"
publish = false

# This crate is not a member of a workspace in a folder above it. To make the crate a member, remove
# the line `[workspace]`.
[workspace]

[lints.rust]
unsafe_code = "forbid"
missing_docs = "warn"

[[example]]
name = "release"
test = true

[dependencies]
{}serde_json = "1"

[dev-dependencies]
{}
{}"#,
        lines(&USED)?,
        lines(&USED_BY_TESTS)?,
        trial_profile(&["opendp-transformations"])
    ))
}

/// The doc tests of this package include the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mechanism-authors.md")]
struct Guide;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/custom-mechanism");

    fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => files_below(&entry.path(), &format!("{name}/"), found),
                false => drop(found.insert(name)),
            }
        }
    }
    #[test]
    fn every_file_of_the_example_is_in_the_template() {
        let mut found = BTreeSet::new();
        files_below(Path::new(FOLDER), "", &mut found);
        let listed = FILES.iter().map(|(file, _)| (*file).to_owned());
        assert_eq!(found, listed.chain(["Cargo.toml".to_owned()]).collect());
    }
    #[test]
    fn the_new_crate_depends_on_what_the_example_depends_on() {
        let example = std::fs::read_to_string(format!("{FOLDER}/Cargo.toml")).unwrap();
        let sections = |text: &str| -> Vec<Vec<String>> {
            let section = |title: &str| text.split(title).nth(1).unwrap().to_owned();
            ["\n[dependencies]\n", "\n[dev-dependencies]\n"]
                .map(|title| {
                    let lines = section(title);
                    let lines =
                        lines.lines().take_while(|line| line.starts_with(char::is_alphabetic));
                    lines.map(|line| line.split(['.', ' ']).next().unwrap().to_owned()).collect()
                })
                .to_vec()
        };
        let new = manifest("acme-dp", &Source::parse("https://x.org/y").unwrap()).unwrap();
        assert_eq!(sections(&new), sections(&example));
        assert_eq!(sections(&new).concat().len(), USED.len() + USED_BY_TESTS.len() + 1);
    }
    #[test]
    fn all_names_are_replaced_even_by_names_that_contain_the_old() {
        let text = "use custom_mechanism as _; // custom-mechanism, acme::make";
        let expected = "use my_dp as _; // my-dp, mine::make";
        assert_eq!(renamed(text, "my-dp", "mine"), expected);
        let twice = "use acme_dp as _; // acme-dp, acme_dp::make";
        assert_eq!(renamed(text, "acme-dp", "acme_dp"), twice);
    }
}
