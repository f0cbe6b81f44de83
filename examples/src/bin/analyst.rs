//! An analyst asks a dozen questions within one budget. The analyst sees each answer before the
//! next question.
//!
//! ```text
//! cargo run --release -p opendp-examples --bin analyst
//! cargo run --release -p opendp-examples --bin analyst -- --data people.csv --epsilon 0.5
//! ```
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use opendp_core::Result;
use opendp_examples::{interview, population, table::People, terminal};

/// Ask questions about a table of people within a privacy budget.
#[derive(Parser)]
struct Arguments {
    /// A CSV file with the columns age, sex, educ, race, income and married.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["people", "seed"])]
    data: Option<PathBuf>,
    /// The number of people to generate when there is no file.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    people: usize,
    /// The seed of the generated people.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The epsilon of the budget for all questions together.
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    epsilon: f64,
}

fn main() -> ExitCode {
    terminal::finish(run(&Arguments::parse()))
}
fn run(arguments: &Arguments) -> Result<String> {
    let people = match &arguments.data {
        Some(path) => People::read(path)?,
        None => population::generate(arguments.people, arguments.seed),
    };
    let lines = interview::hold(&people, arguments.epsilon)?;
    Ok(interview::text(&lines, arguments.epsilon))
}
