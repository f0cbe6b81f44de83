//! How an example program ends.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use opendp_core::Result;

/// Print the text of a program that succeeded, or tell what went wrong, with exit code 1.
pub fn finish(text: Result<String>) -> ExitCode {
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        // A reader that has seen enough, such as `head`, is no mistake.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
