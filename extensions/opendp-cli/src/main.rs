//! The command `opendp`: build pipelines from documents, ask for their maps, and release.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]

mod batch;
mod budget;
mod catalogue;
mod data;
mod operations;
mod run;

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use opendp_analysis as _;
use opendp_core::{Error, Kind, Result};
use opendp_measurements as _;
use opendp_registry::{Document, Registry, json};
use opendp_transformations as _;
use serde_json::{Value as Json, json};

/// Differential privacy from pipeline documents.
///
/// Answers go to standard output, errors to standard error. The exit code is 1 when an operation
/// fails and 2 when the command line is wrong.
#[derive(Parser)]
#[command(name = "opendp", version)]
struct Cli {
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List every registered constructor, where it comes from, and its signatures
    List {
        /// Only this kind: domain, metric, measure, transformation, measurement or function
        #[arg(long, value_parser = parse_kind)]
        kind: Option<Kind>,
    },
    /// Show the documentation, arguments, formulas, signatures and errors of a constructor
    Describe {
        /// The name, with or without `make_`
        name: String,
    },
    /// Print the map of a pipeline at a distance
    Map {
        #[command(flatten)]
        pipeline: Pipeline,
        /// How far apart neighbouring inputs are, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
    },
    /// Print whether a pipeline's map meets a bound
    Check {
        #[command(flatten)]
        pipeline: Pipeline,
        /// How far apart neighbouring inputs are, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
        /// The bound on the output distance or the privacy loss, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_out: Json,
    },
    /// Find the value of a parameter, written {"param": NAME}, that meets a bound
    Solve {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The name of the parameter
        #[arg(long)]
        param: String,
        /// How far apart neighbouring inputs are, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
        /// The bound on the output distance or the privacy loss, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_out: Json,
    },
    /// Release: run a measurement on data, and print its loss and its accuracy
    Run {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The data: a table, CSV with a header or Parquet, or a value in a JSON file
        ///
        /// A pipeline that begins with a `dataframe_domain` reads the columns that it names; another
        /// one reads one column.
        #[arg(long)]
        data: PathBuf,
        /// The column of the data, where the pipeline reads one of several
        #[arg(long)]
        column: Option<String>,
        /// How far apart neighbouring inputs are, as JSON; without it no loss is printed
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Option<Json>,
        /// Charge the release to a budget before it is printed; needs --d-in and --id
        #[arg(long, value_name = "FILE:NAME", requires_all = ["d_in", "id"])]
        budget: Option<budget::Place>,
        /// The id of the release: the same id gives the same release, and is charged once
        #[arg(long, requires = "budget")]
        id: Option<String>,
        /// Who asks, for the ledger
        #[arg(long, requires = "budget")]
        by: Option<String>,
    },
    /// Keep budgets in a file that several processes may share
    Budget {
        #[command(subcommand)]
        command: budget::Command,
    },
    /// Answer requests: JSON lines in, JSON lines out
    Batch,
}

/// Where the pipeline is.
#[derive(clap::Args)]
struct Pipeline {
    /// The file of the pipeline document, or `-` for standard input
    #[arg(short, long = "pipeline", value_name = "FILE")]
    pipeline: PathBuf,
}
impl Pipeline {
    fn read(&self) -> Result<Document> {
        Document::parse(&data::read_text(&self.pipeline)?)
            .map_err(|error| error.at(format!("pipeline {}", self.pipeline.display())))
    }
}

fn parse_json(text: &str) -> Result<Json, String> {
    json::parse(text).map_err(|_| "expected a number, or a list of numbers, as JSON".to_owned())
}
fn parse_kind(text: &str) -> Result<Kind, String> {
    Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match answer(&cli) {
        Ok(text) => match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever read the answer has gone, as `head` does.
            Err(_) => ExitCode::from(1),
        },
        Err(error) if cli.json => {
            eprintln!("{}", json!({"error": operations::error_json(&error)}));
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error[{}]: {error}", error.kind());
            ExitCode::from(1)
        }
    }
}

/// Do what the command says, and give the text to print.
fn answer(cli: &Cli) -> Result<String> {
    let registry = Registry::global();
    let value = |json: Json| Ok(json.to_string());
    match &cli.command {
        Command::List { kind } => {
            let list = catalogue::list(registry, *kind)?;
            if cli.json { value(list) } else { Ok(catalogue::list_text(&list)) }
        }
        Command::Describe { name } => {
            let description = catalogue::describe(registry, name)?;
            if cli.json { value(description) } else { Ok(catalogue::describe_text(&description)) }
        }
        Command::Map { pipeline, d_in } => value(pipeline.read()?.build(registry)?.map(d_in)?),
        Command::Check { pipeline, d_in, d_out } => {
            value(Json::Bool(pipeline.read()?.build(registry)?.check(d_in, d_out)?))
        }
        Command::Solve { pipeline, param, d_in, d_out } => {
            value(pipeline.read()?.solve(registry, param, d_in, d_out)?)
        }
        Command::Run { pipeline, data, column, d_in, budget, id, by } => {
            let document = pipeline.read()?;
            let made = document.build(registry)?;
            let charge = budget.as_ref().zip(id.as_deref()).map(|(place, id)| run::Charge {
                place,
                id,
                by: by.as_deref().unwrap_or_default(),
                document: document.json(),
            });
            let run = run::Run { data, column: column.as_deref(), d_in: d_in.as_ref(), charge };
            let report = run.release(&made, !cli.json)?;
            if cli.json { value(report) } else { Ok(run::text(&report)) }
        }
        Command::Budget { command } => budget::answer(command, cli.json),
        Command::Batch => {
            let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
            batch::serve(registry, input, output)
                .map_err(|error| Error::FailedFunction(format!("batch: {error}")))?;
            std::process::exit(0);
        }
    }
}
