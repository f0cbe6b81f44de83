//! The files of a bundle: a command, and a Python package.

use opendp_core::Result;

use crate::source::{Source, opt_level, quoted, trial_profile};

/// The first line of each TOML file that this command writes. If the `Cargo.toml` of a folder
/// begins with this line, a later run may replace the files in the folder.
pub(super) const MARK: &str = "# Written by `opendp bundle`, which may write it again.";

/// A crate in a bundle: its name and its place.
pub(super) type Listed = (String, Source);

/// Write Cargo.toml of the command.
pub(super) fn command_manifest(
    name: &str,
    crates: &[Listed],
    framework: &Source,
) -> Result<String> {
    Ok(format!(
        r#"{}
[dependencies]
{}{}
# There are many signatures, and each is called rarely. So their code is optimised for size.
[profile.release]
strip = "symbols"
{}
{}"#,
        package(name),
        framework.framework("opendp-cli")?,
        dependencies(crates)?,
        for_size(&["opendp-study"]),
        trial_profile(&["opendp-analysis", "opendp-study", "opendp-transformations"])
    ))
}
/// Write the program of the command.
pub(super) fn command_program(name: &str, crates: &[Listed]) -> String {
    format!(
        "//! The command `{name}`: all of `opendp`, and the constructors of other crates.\n\
         #![forbid(unsafe_code)]\n\n{}\n\
         fn main() -> std::process::ExitCode {{\n    opendp_cli::main()\n}}\n",
        uses(crates)
    )
}
/// Write Cargo.toml of the Python package.
pub(super) fn wheel_manifest(name: &str, crates: &[Listed], framework: &Source) -> Result<String> {
    Ok(format!(
        r#"{}
[lib]
name = "opendp_bundle"
crate-type = ["cdylib"]

[dependencies]
{}{}
[profile.release]
strip = "symbols"
lto = "thin"
{}
{}"#,
        package(&format!("{name}-python")),
        framework.framework("opendp-python")?,
        dependencies(crates)?,
        for_size(&[]),
        trial_profile(&["opendp-analysis", "opendp-transformations"])
    ))
}
/// Write the library of the Python package.
pub(super) fn wheel_library(crates: &[Listed]) -> String {
    format!(
        "//! The package `opendp_rs`, with the constructors of other crates.\n\
         #![forbid(unsafe_code)]\n\n\
         // The crate with the module that Python loads.\nuse opendp_python as _;\n\n{}",
        uses(crates)
    )
}
/// Write pyproject.toml.
///
/// This package and the package of the framework are both imported as `opendp_rs`, so only one of
/// them can be installed. Both packages also have the same name. So if pip installs one of them,
/// pip removes the other. The version contains the name of the command.
pub(super) fn wheel_project(name: &str) -> String {
    let crates: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '.' }).collect();
    let local = crates.split('.').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    format!(
        r#"{MARK}
[build-system]
requires = ["maturin>=1.9,<2"]
build-backend = "maturin"

[project]
name = "opendp-rs"
version = "0.1.0+{local}"
description = "Differential privacy: OpenDP-rs with the constructors of other crates"
license-files = ["LICENSE"]
requires-python = ">=3.10"

[tool.maturin]
module-name = "opendp_rs._native"
python-source = "python"
profile = "release"
"#
    )
}

/// Write the head of a Cargo.toml: a package that is a workspace of its own.
fn package(name: &str) -> String {
    format!(
        r#"{MARK}
[package]
name = {}
version = "0.1.0"
edition = "2024"
publish = false

[workspace]
"#,
        quoted(name)
    )
}
fn dependencies(crates: &[Listed]) -> Result<String> {
    crates.iter().map(|(name, source)| source.dependency(name)).collect()
}
fn uses(crates: &[Listed]) -> String {
    let lines = crates.iter().map(|(name, _)| format!("use {} as _;\n", name.replace('-', "_")));
    let why = "// The linker drops a crate that no code names, and its constructors with it.\n";
    format!("{why}{}", lines.collect::<String>())
}
/// Write settings that optimise some packages for size in release builds. These are the packages of
/// the framework that contain constructors, and the packages in `others`.
fn for_size(others: &[&str]) -> String {
    let catalogues = ["opendp-analysis", "opendp-measurements", "opendp-transformations"];
    catalogues.iter().chain(others).map(|name| opt_level("release", name, "\"s\"")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates() -> Vec<Listed> {
        let place = Source::parse("https://x.org/acme").unwrap();
        vec![("acme-dp".to_owned(), place.clone()), ("other".to_owned(), place)]
    }

    #[test]
    fn each_crate_is_a_dependency_and_is_named_in_code() {
        let framework = Source::parse("https://x.org/house").unwrap();
        let command = command_manifest("mine", &crates(), &framework).unwrap();
        let wheel = wheel_manifest("mine", &crates(), &framework).unwrap();
        for manifest in [&command, &wheel] {
            assert!(manifest.starts_with(MARK));
            assert!(manifest.contains("\nacme-dp = { git = \"https://x.org/acme\" }\nother = "));
        }
        assert!(command.contains("opendp-cli = { git = \"https://x.org/house\" }"), "{command}");
        assert!(wheel.contains("opendp-python = { git = \"https://x.org/house\" }"), "{wheel}");
        for code in [command_program("mine", &crates()), wheel_library(&crates())] {
            assert!(code.contains("\nuse acme_dp as _;\nuse other as _;\n"), "{code}");
        }
    }
    #[test]
    fn the_version_of_the_wheel_says_which_bundle_it_is() {
        for (name, version) in [("acme", "0.1.0+acme"), ("my--dp_1-", "0.1.0+my.dp.1")] {
            let project = wheel_project(name);
            assert!(project.contains(&format!("version = \"{version}\"\n")), "{project}");
        }
    }
}
