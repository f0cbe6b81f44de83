//! The end of an example program.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use opendp_core::Result;

/// Print the text of a program that succeeded, or report the error, with exit code 1.
pub fn finish(text: Result<String>) -> ExitCode {
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        // A reader that stops early, such as `head`, is not an error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
