//! Ten questions about a labour force survey, within one budget of an epsilon and a delta.
//!
//! ```text
//! cargo run --release -p example-budget
//! cargo run --release -p example-budget -- --data lfs.csv --epsilon 0.5 --json
//! cargo run --release -p example-budget -- --ledger survey.ledger
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]

mod survey;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use opendp_core::{Error, Result};
use opendp_examples::terminal;

/// Ask ten questions about a labour force survey within a privacy budget.
#[derive(Parser)]
struct Arguments {
    /// A CSV file with the columns SEX, AGE, ILOSTAT, HWUSUAL and NACE1D.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["people", "seed"])]
    data: Option<PathBuf>,
    /// The number of people to generate when there is no file.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    people: usize,
    /// The seed of the generated people.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The epsilon of the budget for all questions together.
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    epsilon: f64,
    /// The delta of the budget.
    #[arg(long, value_name = "D", default_value_t = 1e-6)]
    delta: f64,
    /// Keep the budget in this ledger, so the losses of earlier runs remain charged.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    terminal::finish(run(&Arguments::parse()))
}
fn run(arguments: &Arguments) -> Result<String> {
    let table = match &arguments.data {
        Some(path) => workers::read(path)?,
        None => workers::generate(arguments.people, arguments.seed)?,
    };
    let (epsilon, delta) = (arguments.epsilon, arguments.delta);
    let context = match &arguments.ledger {
        Some(path) => survey::open_in(path, table, epsilon, delta)?,
        None => survey::open(table, epsilon, delta)?,
    };
    let answers = match survey::ask(&context) {
        Err(Error::BudgetExceeded(reason)) => {
            // Show the report of the budget together with the error, because it is possible that
            // earlier runs spent the budget.
            return Err(Error::BudgetExceeded(format!("{reason}\n\n{}", context.report())));
        }
        answers => answers?,
    };
    Ok(match arguments.json {
        true => format!("{:#}", context.report().to_json()),
        false => format!("{}\n{}", survey::text(&answers), context.report()),
    })
}
