//! Builds a command and a Python package from a list of crates.

mod files;

use std::path::{Path, PathBuf};
use std::process::Command;

use opendp_core::{Error, Result};
use serde_json::{Value as Json, json};

use crate::cargo::{cargo, check_one_core, metadata, run, said};
use crate::source::{Source, check_name, write_file};
use crate::template::{copy, name_or_folder};
use files::Listed;

/// The arguments of the command `bundle`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A crate that registers constructors: its name, and a folder, a git URL or URL#REVISION.
    /// Can be given several times
    #[arg(long = "crate", value_name = "NAME=WHERE", required = true, value_parser = parse_crate)]
    crates: Vec<Listed>,
    /// The folder to write. Files that an earlier run wrote there are replaced
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// The name of the command. Defaults to the name of the folder
    #[arg(long)]
    name: Option<String>,
    /// Where the new command finds the `opendp-...` crates: a folder with a clone of their
    /// repository, a git URL, or URL#REVISION. Defaults to the place that the first crate in a
    /// folder uses
    #[arg(long, value_name = "WHERE", value_parser = Source::parse)]
    framework: Option<Source>,
    /// Also build a Python package (a wheel). Needs maturin, or Python with pip, which downloads
    /// maturin
    #[arg(long)]
    wheel: bool,
    /// Build with little optimisation, which takes less time
    #[arg(long)]
    debug: bool,
    /// Do not use the network
    #[arg(long)]
    offline: bool,
    /// Write the files, and do not build them. Print the commands that build the program and the
    /// wheel
    #[arg(long)]
    no_build: bool,
}
fn parse_crate(text: &str) -> Result<Listed, String> {
    let (name, place) = text
        .split_once('=')
        .ok_or("expected NAME=FOLDER or NAME=URL, such as acme-dp=../acme-dp")?;
    check_name("crate", name).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), Source::parse(place)?))
}

/// The result of a run.
struct Built {
    /// The path of the program, or, if nothing was built, the command that builds the program.
    command: String,
    /// The name of each crate, with the number of its constructors. Empty if nothing was built.
    constructors: Vec<(String, usize)>,
    /// The folder with the wheel, or, if nothing was built, the command that builds the wheel.
    wheel: Option<String>,
}

/// Write the packages. If `--no-build` is not given, also build the packages, and check that each
/// crate registers a constructor.
pub(crate) fn answer(arguments: &Arguments, as_json: bool) -> Result<String> {
    let name = name_or_folder(arguments.name.as_deref(), &arguments.out)?;
    let framework = framework(arguments)?;
    framework.check("framework", "opendp-core")?;
    for (crate_name, source) in &arguments.crates {
        source.check(crate_name, "")?;
        if *crate_name == name {
            let reason =
                format!("`{name}` is the name of a crate; choose another name with --name NAME");
            return Err(Error::argument("name", reason));
        }
    }
    let out =
        &std::path::absolute(&arguments.out).map_err(|error| unwritable(&arguments.out, &error))?;
    check_free(out)?;
    let manifest = write_command(out, &name, &arguments.crates, &framework)?;
    let known = metadata(&manifest, arguments.offline)?;
    check_one_core(&known)?;
    let wheel = match arguments.wheel {
        true => Some(write_wheel(out, &name, arguments, &framework)?),
        false => None,
    };
    let built = if arguments.no_build {
        Built {
            command: shown(&build(&manifest, arguments)),
            constructors: Vec::new(),
            wheel: wheel.map(|folder| shown(&maturin(&folder, &out.join("wheels"), arguments))),
        }
    } else {
        run(build(&manifest, arguments))?;
        let program = program_file(&known, &name, arguments.debug);
        let constructors = contributions(&listed(&program)?, &arguments.crates)?;
        if let Some(folder) = &wheel {
            run_maturin(folder, &out.join("wheels"), arguments)?;
        }
        let wheels = wheel.map(|_| out.join("wheels").display().to_string());
        Built { command: program.display().to_string(), constructors, wheel: wheels }
    };
    Ok(tell(&built, arguments.no_build, as_json))
}
fn tell(built: &Built, only_written: bool, as_json: bool) -> String {
    if as_json {
        let constructors: serde_json::Map<String, Json> =
            built.constructors.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        let answer = json!({
            "command": built.command, "constructors": constructors, "wheel": built.wheel,
            "built": !only_written,
        });
        return answer.to_string();
    }
    if only_written {
        let wheel = built.wheel.iter().map(|command| format!("\n  {command}"));
        return format!("Build it:\n  {}{}", built.command, wheel.collect::<String>());
    }
    let mut lines = vec![format!("command  {}", built.command)];
    lines.extend(built.constructors.iter().map(|(name, count)| {
        let plural = if *count == 1 { "" } else { "s" };
        format!("         with {count} name{plural} of constructors from `{name}`")
    }));
    lines.extend(built.wheel.iter().map(|folder| format!("wheel    in {folder}: pip install it")));
    lines.join("\n")
}

/// Return the place of the framework. If no framework is given, return the framework of the first
/// crate that is in a folder.
fn framework(arguments: &Arguments) -> Result<Source> {
    if let Some(given) = &arguments.framework {
        return Ok(given.clone());
    }
    let folders = arguments.crates.iter().find_map(|(name, source)| match source {
        Source::Folder(folder) => Some((name, source, folder)),
        Source::Git { .. } => None,
    });
    let unknown = |reason: String| Error::argument("framework", reason);
    let (name, source, folder) = folders.ok_or_else(|| {
        unknown(
            "all crates are given by URL; state the framework that they use, as a git URL".into(),
        )
    })?;
    source.check(name, "")?;
    let known = metadata(&folder.join("Cargo.toml"), arguments.offline)?;
    Source::of_framework(&known).ok_or_else(|| {
        unknown(format!("`{name}` does not depend on `opendp-core`, so it registers nothing"))
    })
}
/// Check that a folder is new, is empty, or was written by an earlier run.
fn check_free(out: &Path) -> Result<()> {
    let empty = match std::fs::read_dir(out) {
        Ok(mut files) => files.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(unwritable(out, &error)),
    };
    let manifest = std::fs::read_to_string(out.join("Cargo.toml"));
    if empty || manifest.is_ok_and(|text| text.starts_with(files::MARK)) {
        return Ok(());
    }
    let reason =
        format!("{} has files that this command did not write; choose a new folder", out.display());
    Err(Error::argument("out", reason))
}
fn unwritable(folder: &Path, error: &std::io::Error) -> Error {
    Error::FailedFunction(format!("{} cannot be used: {error}", folder.display()))
}

/// Write the package of the command, and return its Cargo.toml.
fn write_command(out: &Path, name: &str, crates: &[Listed], framework: &Source) -> Result<PathBuf> {
    let manifest = out.join("Cargo.toml");
    write_file(&manifest, &files::command_manifest(name, crates, framework)?)?;
    write_file(&out.join("src/main.rs"), &files::command_program(name, crates))?;
    write_file(&out.join(".gitignore"), "target\n/wheels\n")?;
    if let Some(lock) = framework.lock_file("") {
        copy(&lock, &out.join("Cargo.lock"))?;
    }
    Ok(manifest)
}
/// Write the Python package, and return its folder. The Python files are copied from the framework.
fn write_wheel(
    out: &Path,
    name: &str,
    arguments: &Arguments,
    framework: &Source,
) -> Result<PathBuf> {
    let folder = out.join("python");
    let manifest = folder.join("Cargo.toml");
    write_file(&manifest, &files::wheel_manifest(name, &arguments.crates, framework)?)?;
    write_file(&folder.join("src/lib.rs"), &files::wheel_library(&arguments.crates))?;
    write_file(&folder.join("pyproject.toml"), &files::wheel_project(name))?;
    if let Some(lock) = framework.lock_file("extensions/opendp-python") {
        copy(&lock, &folder.join("Cargo.lock"))?;
    }
    let known = metadata(&manifest, arguments.offline)?;
    check_one_core(&known)?;
    let packages = known["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let binding = packages.iter().find(|package| package["name"] == "opendp-python");
    let binding =
        binding.and_then(|package| Path::new(package["manifest_path"].as_str()?).parent());
    let binding = binding.ok_or_else(|| {
        Error::NotFound("the framework has no crate `opendp-python`; use a newer framework".into())
    })?;
    copy(&binding.join("LICENSE"), &folder.join("LICENSE"))?;
    copy_sources(&binding.join("python/opendp_rs"), &folder.join("python/opendp_rs"))?;
    Ok(folder)
}
/// Copy the Python files of a folder: code, types, and the marker file of a typed package.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    let unread = |error: std::io::Error| {
        Error::FailedFunction(format!("folder `{}` cannot be read: {error}", from.display()))
    };
    std::fs::create_dir_all(to).map_err(|error| unwritable(to, &error))?;
    for entry in std::fs::read_dir(from).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        let python = ["py", "pyi", "typed"].map(|wanted| file.extension() == Some(wanted.as_ref()));
        if let (true, Some(name)) = (python.contains(&true), file.file_name()) {
            copy(&file, &to.join(name))?;
        }
    }
    Ok(())
}

/// Return the command that builds the program.
fn build(manifest: &Path, arguments: &Arguments) -> Command {
    let mut command = cargo("build", manifest, arguments.offline);
    if !arguments.debug {
        command.arg("--release");
    }
    command
}
/// Return the command that builds the wheel.
fn maturin(folder: &Path, wheels: &Path, arguments: &Arguments) -> Command {
    let mut command = Command::new("maturin");
    command.arg("build").arg("--manifest-path").arg(folder.join("Cargo.toml"));
    command.arg("--out").arg(wheels);
    if arguments.debug {
        command.args(["--profile", "dev"]);
    }
    if arguments.offline {
        command.arg("--offline");
    }
    command
}
/// Build the wheel with maturin. If maturin is not installed, use pip, which downloads maturin.
/// With `--offline` or `--debug`, maturin must be installed.
fn run_maturin(folder: &Path, wheels: &Path, arguments: &Arguments) -> Result<()> {
    let mut found = Command::new("maturin");
    found.arg("--version");
    if said(found).is_ok() {
        return run(maturin(folder, wheels, arguments));
    }
    if arguments.offline || arguments.debug {
        let reason = "--wheel with --offline or --debug needs the program `maturin`; install it: \
                      `pip install maturin`";
        return Err(Error::NotFound(reason.into()));
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "wheel", "--no-deps", "--wheel-dir"]).arg(wheels).arg(folder);
    run(pip)
}
/// Write a command as a user types it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| match word.to_string_lossy() {
        word if word.contains(|c: char| c.is_whitespace() || c == '\'') => {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
        word => word.into_owned(),
    });
    words.collect::<Vec<String>>().join(" ")
}
/// Return the path of the program that was built.
fn program_file(metadata: &Json, name: &str, debug: bool) -> PathBuf {
    let target = Path::new(metadata["target_directory"].as_str().unwrap_or("target"));
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    target.join(if debug { "debug" } else { "release" }).join(file)
}
/// Run the program that was built, and return its list of constructors.
fn listed(program: &Path) -> Result<Json> {
    let mut list = Command::new(program);
    list.args(["list", "--json"]);
    serde_json::from_str(&said(list)?).map_err(|error| {
        let program = program.display();
        Error::FailedFunction(format!("`{program} list --json` did not print JSON: {error}"))
    })
}
/// Count the names that each crate registers. The input is a list of all constructors.
///
/// # Errors
/// `NotFound` when some crates register no name. The error lists these crates.
fn contributions(list: &Json, crates: &[Listed]) -> Result<Vec<(String, usize)>> {
    let constructors = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let comes_from = |constructor: &Json, name: &str| {
        let origins = constructor["origins"].as_array().map(Vec::as_slice).unwrap_or_default();
        origins.iter().any(|origin| origin["package"] == name)
    };
    let count = |name: &str| {
        constructors.iter().filter(|constructor| comes_from(constructor, name)).count()
    };
    let counts: Vec<_> = crates.iter().map(|(name, _)| (name.clone(), count(name))).collect();
    let silent: Vec<&str> =
        counts.iter().filter(|(_, count)| *count == 0).map(|(name, _)| name.as_str()).collect();
    if silent.is_empty() {
        return Ok(counts);
    }
    Err(Error::NotFound(format!(
        "no constructor comes from `{}`; write `register!` below each function that a crate offers",
        silent.join("`, `")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_registers_nothing_is_named() {
        let from = |packages: &[&str]| {
            let origins: Vec<Json> = packages.iter().map(|name| json!({"package": name})).collect();
            json!({"origins": origins})
        };
        let list = json!([from(&["house", "acme-dp"]), from(&["acme-dp"]), from(&["other"])]);
        let crates = |names: &[&str]| -> Vec<Listed> {
            names.iter().map(|name| ((*name).to_owned(), Source::Folder("x".into()))).collect()
        };
        let counts = contributions(&list, &crates(&["acme-dp", "other"])).unwrap();
        assert_eq!(counts, [("acme-dp".to_owned(), 2), ("other".to_owned(), 1)]);
        let error = contributions(&list, &crates(&["acme-dp", "silent"])).unwrap_err().to_string();
        assert!(error.contains("no constructor comes from `silent`"), "{error}");
    }
    #[test]
    fn a_command_is_written_as_it_is_typed() {
        let mut command = Command::new("cargo");
        command.args(["build", "a b"]);
        assert_eq!(shown(&command), "cargo build 'a b'");
    }
}
