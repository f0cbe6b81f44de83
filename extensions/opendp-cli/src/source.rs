//! The place of a crate: a folder or a git repository.

use std::path::{Path, PathBuf};

use opendp_core::{Error, Result};
use serde_json::Value as Json;

/// The words that cannot be the name of a crate in code: the keywords of Rust, and the crates that
/// come with Rust.
const RESERVED: &str = "abstract alloc as async await become box break const continue core crate do \
                        dyn else enum extern false final fn for gen if impl in let loop macro match \
                        mod move mut override priv proc_macro pub ref return self static std struct \
                        super test trait true try type typeof unsafe unsized use virtual where while \
                        yield";
/// The name of each crate of the framework is `opendp-` and one of these words. A package cannot
/// depend on a crate of the same name and version, even through other crates.
const PARTS: [&str; 13] = [
    "analysis",
    "cli",
    "core",
    "data",
    "features",
    "fourier",
    "ledger",
    "measurements",
    "python",
    "registry",
    "report",
    "study",
    "transformations",
];
/// The crates of the framework that a generated package can depend on, each with its folder.
const FOLDERS: [(&str, &str); 6] = [
    ("opendp-core", "opendp-core"),
    ("opendp-transformations", "opendp-transformations"),
    ("opendp-measurements", "opendp-measurements"),
    ("opendp-registry", "opendp-registry"),
    ("opendp-cli", "extensions/opendp-cli"),
    ("opendp-python", "extensions/opendp-python"),
];

/// The place of a crate or of the framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A folder.
    Folder(PathBuf),
    /// A git repository. The reference has a kind, which is `rev`, `branch` or `tag`, and a value.
    Git { url: String, reference: Option<(String, String)> },
}
impl Source {
    /// Read a place in one of the forms `FOLDER`, `URL`, `URL#REVISION`, `URL#branch=NAME` and
    /// `URL#tag=NAME`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (url, reference) = match text.split_once('#') {
            Some((url, reference)) => (url, Some(reference)),
            None => (text, None),
        };
        let remote = url.contains("://") || url.starts_with("git@") || url.ends_with(".git");
        if !remote {
            let folder = std::path::absolute(text).map_err(|error| format!("{text}: {error}"))?;
            return Ok(Source::Folder(folder));
        }
        let reference = reference.map(|text| match text.split_once('=') {
            Some((kind @ ("rev" | "branch" | "tag"), value)) => (kind.to_owned(), value.to_owned()),
            _ => ("rev".to_owned(), text.to_owned()),
        });
        Ok(Source::Git { url: url.to_owned(), reference })
    }
    /// Read the place of a package from a text in the output of `cargo metadata`. For example, this
    /// text can be `git+URL?branch=NAME#COMMIT`.
    fn locked(text: &str) -> Option<Self> {
        let text = text.strip_prefix("git+")?;
        let text = text.rsplit_once('#').map_or(text, |(before, _)| before);
        let (url, query) = text.split_once('?').map_or((text, None), |(u, q)| (u, Some(q)));
        let reference = query
            .and_then(|query| query.split_once('='))
            .map(|(kind, value)| (kind.to_owned(), value.to_owned()));
        Some(Source::Git { url: url.to_owned(), reference })
    }
    /// Return the place of the framework that a crate uses. The input is the output of
    /// `cargo metadata` for the crate.
    pub(crate) fn of_framework(metadata: &Json) -> Option<Self> {
        let packages = metadata["packages"].as_array()?;
        let core = packages.iter().find(|package| package["name"] == "opendp-core")?;
        match core["source"].as_str() {
            Some(source) => Source::locked(source),
            None => {
                let manifest = Path::new(core["manifest_path"].as_str()?);
                Some(Source::Folder(manifest.parent()?.parent()?.to_owned()))
            }
        }
    }
    /// If this place is a folder, check that its subfolder `below` has a file `Cargo.toml`. `what`
    /// is the argument that an error names. If this place is a git repository, check nothing.
    pub(crate) fn check(&self, what: &str, below: &str) -> Result<()> {
        match self {
            Source::Folder(folder) if !folder.join(below).join("Cargo.toml").is_file() => {
                let file = Path::new(below).join("Cargo.toml");
                let reason = format!(
                    "the folder {} has no file {}; state another folder, or a git URL",
                    folder.display(),
                    file.display()
                );
                Err(Error::argument(what, reason))
            }
            _ => Ok(()),
        }
    }
    /// Write the entry of Cargo.toml for a dependency on a crate of the framework. The framework is
    /// at this place.
    pub(crate) fn framework(&self, name: &str) -> Result<String> {
        let folder = FOLDERS.iter().find(|(known, _)| *known == name).map_or(name, |found| found.1);
        match self {
            Source::Folder(root) => Source::Folder(root.join(folder)).dependency(name),
            Source::Git { .. } => self.dependency(name),
        }
    }
    /// Write the entry of Cargo.toml for a dependency on a crate. The crate is at this place.
    pub(crate) fn dependency(&self, name: &str) -> Result<String> {
        let place = match self {
            Source::Folder(folder) => format!("path = {}", quoted(&utf8(folder)?)),
            Source::Git { url, reference: None } => format!("git = {}", quoted(url)),
            Source::Git { url, reference: Some((kind, value)) } => {
                format!("git = {}, {kind} = {}", quoted(url), quoted(value))
            }
        };
        Ok(format!("{name} = {{ {place} }}\n"))
    }
    /// Return the path of the file `Cargo.lock` in `below`, a folder within the framework's folder.
    /// This file states the versions of packages with which the framework was tested. Return `None`
    /// if there is no such file, or if the framework's source is a git repository.
    pub(crate) fn lock_file(&self, below: &str) -> Option<PathBuf> {
        match self {
            Source::Folder(root) => {
                Some(root.join(below).join("Cargo.lock")).filter(|file| file.is_file())
            }
            Source::Git { .. } => None,
        }
    }
}
/// Quote a text for Cargo.toml. JSON and Cargo.toml escape characters in the same way.
pub(crate) fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let reason =
            format!("the path {} is not UTF-8, but Cargo.toml needs UTF-8", path.display());
        Error::FailedFunction(reason)
    })
}

/// Write the settings for builds with little optimisation. The packages in `unoptimised` get no
/// optimisation.
///
/// A crate of the framework has the same settings in all generated packages, so the packages can
/// share compiled crates.
pub(crate) fn trial_profile(unoptimised: &[&str]) -> String {
    let lines = unoptimised.iter().map(|name| opt_level("dev", name, "0"));
    format!(
        "# Tests draw many samples: without a little optimisation they take minutes.\n\
         [profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n{}",
        lines.collect::<String>()
    )
}
/// Write the optimisation level of a package in a profile.
pub(crate) fn opt_level(profile: &str, package: &str, level: &str) -> String {
    format!("[profile.{profile}.package.{package}]\nopt-level = {level}\n")
}

/// Check the name of a crate. A valid name has lower-case letters, digits, `-` and `_`, and begins
/// with a letter.
pub(crate) fn check_name(argument: &str, name: &str) -> Result<()> {
    let within = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    if first && name.chars().all(within) {
        return Ok(());
    }
    let reason = format!(
        "expected lower-case letters, digits, - and _, with a letter first, found `{name}`; \
         choose such a name, as in acme-dp"
    );
    Err(Error::argument(argument, reason))
}
/// Check the name of a new crate. The name must not be a word of Rust or the name of a
/// crate that the new crate depends on.
pub(crate) fn check_new(argument: &str, name: &str) -> Result<()> {
    let code = name.replace('-', "_");
    let reason = if RESERVED.split(' ').any(|word| word == code) {
        "Rust uses this name itself"
    } else if code == "serde_json"
        || code.strip_prefix("opendp_").is_some_and(|part| PARTS.contains(&part))
    {
        "the new crate uses a crate of this name"
    } else {
        return Ok(());
    };
    let reason = format!("{reason}, found `{name}`; choose another name, as in acme-dp");
    Err(Error::argument(argument, reason))
}
/// Write a file, and the folders above it.
pub(crate) fn write_file(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, text)).map_err(|error| {
        Error::FailedFunction(format!("{} cannot be written: {error}", file.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(text: &str) -> String {
        Source::parse(text).unwrap().dependency("acme-dp").unwrap()
    }

    #[test]
    fn a_place_becomes_a_dependency() {
        assert_eq!(line("/a b/\"c\""), "acme-dp = { path = \"/a b/\\\"c\\\"\" }\n");
        assert!(
            line("near")
                .contains(&quoted(std::env::current_dir().unwrap().to_str().unwrap())[1..9])
        );
        assert_eq!(line("https://x.org/y"), "acme-dp = { git = \"https://x.org/y\" }\n");
        for (written, read) in [("1f", "rev = \"1f\""), ("tag=v=1", "tag = \"v=1\"")] {
            let text = format!("git@x.org:y.git#{written}");
            let expected = format!("acme-dp = {{ git = \"git@x.org:y.git\", {read} }}\n");
            assert_eq!(line(&text), expected);
        }
    }
    #[test]
    fn the_framework_of_a_crate_is_found_as_the_crate_names_it() {
        let source_of = |source: Json| {
            let core = json!({"name": "opendp-core", "source": source,
                              "manifest_path": "/house/opendp-core/Cargo.toml"});
            Source::of_framework(&json!({"packages": [{"name": "other"}, core]})).unwrap()
        };
        let folder = source_of(Json::Null);
        assert_eq!(folder, Source::Folder("/house".into()));
        let cli = folder.framework("opendp-cli").unwrap();
        assert_eq!(cli, "opendp-cli = { path = \"/house/extensions/opendp-cli\" }\n");
        let branch = source_of(json!("git+https://x.org/y?branch=main#0123"));
        assert_eq!(branch, Source::parse("https://x.org/y#branch=main").unwrap());
        let plain = source_of(json!("git+https://x.org/y#0123"));
        assert_eq!(plain, Source::parse("https://x.org/y").unwrap());
        assert_eq!(Source::of_framework(&json!({"packages": [{"name": "other"}]})), None);
    }
    #[test]
    fn names_of_crates_are_checked() {
        for name in ["acme-dp", "a", "a_1"] {
            assert!(check_name("name", name).is_ok());
        }
        for name in ["", "1a", "-a", "Acme", "a b", "a.b", "é"] {
            assert_eq!(check_name("name", name).unwrap_err().kind(), "Argument");
        }
        for name in ["acme-dp", "fn-dp", "opendp-acme", "opendp"] {
            assert!(check_new("name", name).is_ok(), "{name}");
        }
        for name in ["fn", "test", "core", "proc-macro", "serde-json", "opendp-core"] {
            let error = check_new("name", name).unwrap_err().to_string();
            assert!(error.contains(&format!("found `{name}`")), "{error}");
        }
    }
}
