//! The command `opendp`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    opendp_cli::main()
}
