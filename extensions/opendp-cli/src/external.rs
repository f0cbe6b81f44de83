//! Commands that run another program, `opendp-sql`. This program is separate, because building it
//! takes a long time.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use opendp_core::{Error, Result};

/// The program for queries on tables.
const SQL: &str = "opendp-sql";

/// Run `opendp-sql`, the program for queries on tables, and return its exit code. Search for
/// `opendp-sql` in the folder of this program, then on the PATH.
pub(crate) fn sql(command: &str, arguments: &[OsString], json: bool) -> Result<i32> {
    let program = beside(SQL).unwrap_or_else(|| SQL.into());
    let mut run = Command::new(&program);
    if command != "sql" {
        run.arg(command);
    }
    run.args(arguments);
    if json && !arguments.iter().any(|argument| argument == "--json") {
        run.arg("--json");
    }
    match run.status() {
        // If a signal ended the program, there is no exit code.
        Ok(status) => Ok(status.code().unwrap_or(1)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NotFound(format!(
                "`opendp {command}` needs the program `{SQL}`, and neither the PATH nor the folder \
                 of this command contains it.\nInstall it in a clone of the project: \
                 `cargo install --locked --path extensions/opendp-tables`"
            )))
        }
        Err(error) => {
            let file = program.display();
            Err(Error::FailedFunction(format!("the program {file} cannot be started: {error}")))
        }
    }
}
/// Return the path of the file `name` (with the suffix of programs) in the folder of the running
/// program. Return `None` if there is no such file.
fn beside(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.parent()?.join(file);
    path.is_file().then_some(path)
}
