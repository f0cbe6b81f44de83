//! The command `graphs`: the command `opendp` with the mechanisms of `custom-mechanism`.
#![forbid(unsafe_code)]

use custom_mechanism as _;
fn main() -> std::process::ExitCode {
    opendp_cli::main()
}
