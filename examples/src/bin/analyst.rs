//! An analyst asks a dozen questions within one budget. The analyst sees each answer before the
//! next question.
//!
//! ```text
//! cargo run --release -p opendp-examples --bin analyst
//! cargo run --release -p opendp-examples --bin analyst -- --data people.csv --epsilon 0.5
//! ```
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use opendp_core::Result;
use opendp_examples::{interview, table::Source, terminal};

/// Ask questions about a table of people within a privacy budget.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The epsilon of the budget for all questions together.
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    epsilon: f64,
}

fn main() -> ExitCode {
    terminal::finish(run(&Arguments::parse()))
}
fn run(arguments: &Arguments) -> Result<String> {
    let people = arguments.source.people()?;
    let lines = interview::hold(&people, arguments.epsilon)?;
    Ok(interview::text(&lines, arguments.epsilon))
}
