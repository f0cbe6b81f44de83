//! Private statistics of a table of people.
//!
//! ```text
//! cargo run --release -p opendp-examples --bin census
//! cargo run --release -p opendp-examples --bin census -- --data people.csv --epsilon 0.5 --json
//! cargo run --release -p opendp-examples --bin census -- --html census.html
//! ```
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use opendp_core::{Error, Result};
use opendp_examples::{page, population, report, statistics, table::People, terminal};

/// Print private statistics of a table of people.
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
    /// The privacy budget for all statistics together.
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    epsilon: f64,
    /// Print JSON, with all digits.
    #[arg(long)]
    json: bool,
    /// Also write a page with charts.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn main() -> ExitCode {
    terminal::finish(run(&Arguments::parse()))
}
fn run(arguments: &Arguments) -> Result<String> {
    let people = match &arguments.data {
        Some(path) => People::read(path)?,
        None => population::generate(arguments.people, arguments.seed),
    };
    let census = statistics::census(&people, arguments.epsilon)?;
    if let Some(path) = &arguments.html {
        let html = page::page(&census, arguments.epsilon).to_html();
        std::fs::write(path, html).map_err(|error| {
            Error::FailedFunction(format!(
                "--html {}: the file cannot be written: {error}",
                path.display()
            ))
        })?;
    }
    Ok(match arguments.json {
        true => format!("{:#}", report::json(&census)),
        false => report::table(&census),
    })
}
