//! The command `opendp`: build pipelines from documents, evaluate their maps, and release.
//!
//! This crate is a library. To make a command with your own constructors, write a short program
//! that calls `opendp_cli::main`. The program must name the crates of your constructors. Then
//! `list` shows your constructors, and documents can use them.
//!
//! ```no_run
//! # use opendp_transformations as my_mechanisms;
//! use my_mechanisms as _;
//! fn main() -> std::process::ExitCode {
//!     opendp_cli::main()
//! }
//! ```
//!
//! In help, errors and completions, the name of the command is the name of the program's file.
//! `examples/own-command` is a program with its own constructors.
#![forbid(unsafe_code)]

mod ask;
mod batch;
mod budget;
mod bundle;
mod cargo;
mod catalogue;
mod caution;
mod columns;
mod data;
mod external;
mod families;
mod inspect;
mod operations;
mod pages;
mod panics;
mod pipeline;
mod reference;
mod run;
mod search;
mod source;
mod suggest;
mod template;
mod words;

use std::io::{ErrorKind::BrokenPipe, Write};
use std::{path::PathBuf, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use opendp_analysis as _;
use opendp_core::{Error, Kind, Result};
use opendp_measurements as _;
use opendp_registry::Registry;
use opendp_transformations as _;
use pipeline::{Pipeline, parse_json, parse_setting};
use serde_json::{Value as Json, json};

/// Differential privacy from pipeline documents.
///
/// Answers go to standard output, and errors go to standard error. The exit code is 1 when an
/// operation fails and 2 when the command line is wrong.
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
    /// List the registered constructors, with the origin and the number of signatures of each
    List {
        /// List only constructors of this kind: domain, metric, measure, transformation,
        /// measurement, function or odometer
        #[arg(long, value_parser = parse_kind)]
        kind: Option<Kind>,
        /// List only constructors that match this word: a word of a name, of a summary, or of
        /// common usage, such as histogram, median or average
        word: Option<String>,
        /// Also list older names. Each older name has a recommended replacement
        #[arg(long)]
        all: bool,
        /// List only constructors that take this space. Its JSON is {"domain": ..., "metric": ...}
        #[arg(long, value_name = "SPACE", value_parser = suggest::parse_object)]
        takes: Option<Json>,
        /// With --takes, list only the measurements that state their loss in this measure
        #[arg(long, value_name = "MEASURE", requires = "takes")]
        leads_to: Option<String>,
    },
    /// Show the documentation, arguments, formulas, signatures and errors of a constructor
    Describe {
        /// The name of the constructor, with or without `make_`
        name: String,
        /// List every signature
        #[arg(long)]
        signatures: bool,
    },
    /// Suggest short pipelines from the data to a release within a budget
    ///
    /// Every suggestion can be built, and the scale of its noise is computed from the budget. If
    /// bounds, a size or categories are missing, the answer names them. The exit code is 1 if no
    /// pipeline was found.
    Suggest(Box<suggest::Arguments>),
    /// Print a pipeline in the format of another library
    Convert {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The format: opendp, the JSON that `deserialize` of OpenDP 0.16 reads
        #[arg(long, value_parser = ["opendp"])]
        to: String,
    },
    /// Write the reference of all constructors: pages in Markdown, and an index
    Reference {
        /// The folder for the pages
        folder: PathBuf,
    },
    /// Evaluate the map of a pipeline at a distance, and print the result
    Map {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The distance of neighbouring inputs, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
    },
    /// Print whether a pipeline's map meets a bound
    Check {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The distance of neighbouring inputs, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
        /// The bound on the output distance or the privacy loss, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_out: Json,
        /// End with exit code 1 if the map does not meet the bound
        #[arg(long)]
        exit_code: bool,
    },
    /// Find the value of a parameter, written {"param": NAME}, for which the map meets a bound
    Solve {
        #[command(flatten)]
        pipeline: Pipeline,
        /// The name of the parameter to find
        #[arg(long)]
        param: String,
        /// The distance of neighbouring inputs, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_in: Json,
        /// The bound on the output distance or the privacy loss, as JSON
        #[arg(long, allow_hyphen_values = true, value_parser = parse_json)]
        d_out: Json,
    },
    /// Release: run a measurement on data, and print its loss and its accuracy
    ///
    /// Cells are read without the spaces around them. So a category that begins or ends with a
    /// space always counts 0.
    Run(run::Arguments),
    /// Answer all questions of a study, a document with a budget and questions about a table
    ///
    /// First use --dry-run, which spends nothing. With --id, later runs with the same id print the
    /// same answers and spend nothing. Without --id, each run spends the study's budget again.
    Ask(ask::Arguments),
    /// Count the kinds of cells in a table: the exact counts are PRIVATE, only for the curator
    ///
    /// The report has a part for each column. A part contains the type (stated or guessed) and a
    /// suitable domain. For a number type, the part also contains the minimum and the maximum. A
    /// part counts the cells that are missing, unreadable, infinite, or out of the range of the
    /// type. No noise is added. Show the report only to people who may see the data.
    Inspect(inspect::Arguments),
    /// Manage budgets in a file that several processes may share
    Budget {
        #[command(subcommand)]
        command: budget::Command,
    },
    /// Query private tables in SQL with the program `opendp-sql`
    ///
    /// The command searches for the program in the folder of the command, and then on the PATH. The
    /// program gets all arguments; `opendp sql --help` shows them.
    #[command(disable_help_flag = true)]
    Sql(Passed),
    /// Print the cost of a query on private tables, and the accuracy of its answer
    ///
    /// This is `opendp-sql explain`. No row is read, and nothing is spent.
    #[command(disable_help_flag = true)]
    Explain(Passed),
    /// Make a crate of mechanisms to start from: types, constructors, tests, and a program
    New(template::Arguments),
    /// Make a command and a Python package that also have the constructors of other crates
    ///
    /// A compiled crate cannot be loaded at run time, because Rust has no stable binary interface.
    /// So this command writes a program that names the crates, and builds the program with `cargo`.
    Bundle(Box<bundle::Arguments>),
    /// Answer requests: read and write JSON lines. The exit code is 1 if a request fails
    Batch,
    /// Print a script that completes this command in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page of this command, or of one of its commands
    Man {
        /// The command, such as `run` or `budget create`
        #[arg(value_name = "COMMAND")]
        path: Vec<String>,
    },
}

/// Arguments for another program.
#[derive(clap::Args)]
struct Passed {
    /// The arguments of `opendp-sql`, such as --config FILE and a query
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<std::ffi::OsString>,
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    Kind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Return the name of the file of this program.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(|path| path.file_name()?.to_str());
    let name = name.map(|name| name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(name));
    name.filter(|name| !name.is_empty()).unwrap_or("opendp").to_owned()
}
/// Describe the arguments of the command, under the name of this program.
fn command() -> clap::Command {
    Cli::command().bin_name(program()).display_name(program())
}

/// The answer to a command.
struct Answer {
    /// The text for standard output.
    text: String,
    /// Whether the exit code is 0. A text can also answer a command that reached a part of its
    /// purpose.
    success: bool,
}
impl From<String> for Answer {
    fn from(text: String) -> Self {
        Answer { text, success: true }
    }
}

/// Run the command with the arguments of this program, and return its exit code.
pub fn main() -> ExitCode {
    let parsed = Cli::from_arg_matches(&command().get_matches());
    let cli = parsed.unwrap_or_else(|error| error.exit());
    panics::hide_messages();
    let answered = panics::caught(|| answer(&cli));
    say_notes(cli.json);
    match answered {
        Ok(Answer { text, success }) => match write(&text) {
            // A reader of the output can stop early, as in `opendp list | head`. This is no error.
            Err(error) if error.kind() != BrokenPipe || !pages::is_page(&cli.command) => {
                fail(&cli, &unwritten(&cli, &error))
            }
            _ => ExitCode::from(u8::from(!success)),
        },
        Err(error) => fail(&cli, &error),
    }
}
/// Print the recommended name for each older name that the documents of this run use.
fn say_notes(as_json: bool) {
    for note in Registry::global().take_notes() {
        caution::say(&note, as_json);
    }
}
fn write(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
/// Return the error for an answer that cannot be written. If a budget was charged for the answer,
/// the error advises how to get the answer again.
fn unwritten(cli: &Cli, error: &std::io::Error) -> Error {
    let charged = match &cli.command {
        Command::Run(run::Arguments { budget: Some(_), .. })
        | Command::Ask(ask::Arguments { budget: Some(_), dry_run: false, .. }) => {
            ". The release is charged: ask again with the same --id, which costs nothing more"
        }
        _ => "",
    };
    let early = "its reader ended early, so a part of the answer is lost".to_owned();
    let reason = if error.kind() == BrokenPipe { early } else { error.to_string() };
    Error::FailedFunction(format!("standard output cannot be written: {reason}{charged}"))
}
fn fail(cli: &Cli, error: &Error) -> ExitCode {
    print_error(error, cli.json);
    ExitCode::from(1)
}
/// Print an error on standard error.
fn print_error(error: &Error, as_json: bool) {
    // If standard error is also closed, only the exit code reports the error.
    let _ = if as_json {
        writeln!(std::io::stderr(), "{}", json!({"error": operations::error_json(error)}))
    } else {
        // In messages of libraries, the command is called `opendp`. Replace this name by the name
        // of this program.
        let text = error.to_string().replace("`opendp ", &format!("`{} ", program()));
        writeln!(std::io::stderr(), "error[{}]: {text}", error.kind())
    };
}

/// Run the command, and return its answer.
fn answer(cli: &Cli) -> Result<Answer> {
    let (registry, as_json) = (Registry::global(), cli.json);
    let value = |json: Json| Ok(json.to_string());
    let text: Result<String> = match &cli.command {
        // These commands have more exit codes.
        Command::Check { pipeline, d_in, d_out, exit_code } => {
            return check(pipeline, d_in, d_out, *exit_code, as_json);
        }
        Command::Suggest(arguments) => return suggest::answer(arguments, registry, as_json),
        Command::Ask(arguments) => return ask::answer(arguments, as_json),
        Command::List { kind, word, all, takes, leads_to } => {
            let among = suggest::among(registry, takes.as_ref(), leads_to.as_deref())?;
            let list = catalogue::Selection { kind: *kind, word: word.as_deref(), among };
            if as_json {
                value(catalogue::list(registry, &list))
            } else {
                Ok(catalogue::list_text(registry, &list, *all))
            }
        }
        Command::Describe { name, signatures } => {
            let description = catalogue::describe(registry, name)?;
            if as_json {
                value(description)
            } else {
                Ok(catalogue::describe_text(&description, *signatures))
            }
        }
        Command::Convert { pipeline, .. } => value(pipeline.read()?.to_opendp(registry)?),
        Command::Reference { folder } => reference::write(registry, folder),
        Command::Map { pipeline, d_in } => {
            let made = pipeline.read()?.build(registry)?;
            let loss = made.map(d_in)?;
            caution::of_map(&made, d_in, &loss, as_json);
            value(loss)
        }
        Command::Solve { pipeline, param, d_in, d_out } => {
            value(pipeline.read()?.solve(registry, param, d_in, d_out)?)
        }
        Command::Run(arguments) => {
            let report = run::answer(arguments, registry, as_json)?;
            if as_json { value(report.json) } else { Ok(report.text()) }
        }
        Command::Inspect(arguments) => {
            let report = inspect::answer(arguments)?;
            if as_json { value(report) } else { Ok(inspect::text(&report)) }
        }
        Command::Budget { command } => budget::answer(command, as_json),
        Command::Sql(Passed { arguments }) => {
            std::process::exit(external::sql("sql", arguments, as_json)?)
        }
        Command::Explain(Passed { arguments }) => {
            std::process::exit(external::sql("explain", arguments, as_json)?)
        }
        Command::New(arguments) => template::answer(arguments, as_json),
        Command::Bundle(arguments) => bundle::answer(arguments, as_json),
        Command::Batch => std::process::exit(batch::answer(registry, as_json)?),
        Command::Completions { shell } => pages::completions(*shell),
        Command::Man { path } => pages::manual(path),
    };
    text.map(Answer::from)
}
/// Print whether the map of a pipeline meets a bound. Such an answer is normal, even if the bound
/// is not met. With `exit_code`, a bound that is not met also makes the command fail.
fn check(
    pipeline: &Pipeline,
    d_in: &Json,
    d_out: &Json,
    exit_code: bool,
    as_json: bool,
) -> Result<Answer> {
    let made = pipeline.read()?.build(Registry::global())?;
    let met = made.check(d_in, d_out)?;
    caution::of_distance(&made, d_in, as_json);
    Ok(Answer { text: met.to_string(), success: met || !exit_code })
}
