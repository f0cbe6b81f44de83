//! The output and the exit code of an example program.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use opendp_core::Result;

/// If the program succeeded, print its text. Otherwise print the error and return exit code 1.
pub fn finish(text: Result<String>) -> ExitCode {
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        // A program that reads the output, such as `head`, can stop reading early. Such a stop is
        // not an error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
