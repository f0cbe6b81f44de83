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
use opendp_examples::{page, report, statistics, table::Source, terminal};

/// Print private statistics of a table of people.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: Source,
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
    let people = arguments.source.people()?;
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
