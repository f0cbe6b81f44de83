//! The command `opendp-sql`: private queries on tables, from a metadata file and SQL.
#![forbid(unsafe_code)]

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use indicatif::ProgressBar;
use opendp_core::{Error, Result};
use opendp_tables::command::{Ask, check_files, print, printed, remark, warn};
use opendp_tables::{Dialect, Metadata, Session};

/// Run private queries on tables, in SQL.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    ask: Option<Ask>,
    #[command(flatten)]
    files: Files,
}
#[derive(Subcommand)]
enum Command {
    /// Charge the budget for a query, and release the answer of the query.
    Query {
        #[command(flatten)]
        ask: Ask,
        #[command(flatten)]
        files: Files,
    },
    /// Print the cost and the accuracy of a query. No row is read, and nothing is spent.
    Explain(Ask),
    /// Print the exact plan in the SQL of PostgreSQL. The results of the plan are private.
    Plan(Ask),
    /// Create the budget of a metadata file in its ledger. Do this once, before the first query.
    Create {
        /// The metadata file.
        #[arg(long)]
        config: PathBuf,
    },
    /// Print the remaining budget.
    Budget {
        /// The metadata file.
        #[arg(long)]
        config: PathBuf,
    },
}
/// The files that a query writes.
#[derive(Args)]
struct Files {
    /// Write the release document to a file.
    #[arg(long)]
    document: Option<PathBuf>,
    /// Write a page with charts to a file. The page needs no network and no script.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}
impl Files {
    /// Return the files with the names of their arguments.
    fn named(&self) -> Vec<(&str, &Path)> {
        let all = [("document", &self.document), ("html", &self.html)];
        all.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).collect()
    }
}
fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match (cli.command, cli.ask) {
        (Some(Command::Query { ask, files }), _) => query(&ask, &files),
        (None, Some(ask)) => query(&ask, &cli.files),
        (Some(Command::Explain(ask)), _) => explain(&ask),
        (Some(Command::Plan(ask)), _) => plan(&ask),
        (Some(Command::Create { config }), _) => create(&config),
        (Some(Command::Budget { config }), _) => budget(&config),
        (None, None) => {
            eprintln!("expected --config FILE and a query; see --help");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", error.kind());
            ExitCode::from(1)
        }
    }
}
fn query(ask: &Ask, files: &Files) -> Result<()> {
    let session = Session::open(&ask.config)?;
    let question = ask.question(&session)?;
    check_files(&ask.config, &files.named())?;
    let answer = watched(&session, |warn| question.release_with(warn))?;
    let document = format!("{:#}", answer.document);
    let text = if ask.json { document.clone() } else { answer.to_string() };
    let written = [
        files.document.as_ref().map(|path| write(path, &document, "release document")),
        files.html.as_ref().map(|path| write(path, &answer.to_html(), "page")),
    ];
    ask.remark(&session, &answer);
    // The budget is already charged, so print the answer even if a file could not be written.
    let printed = printed(&text);
    let place = if printed.is_ok() { ", and the answer is printed" } else { "" };
    let outcomes = written.into_iter().flatten().chain([printed]);
    let failures: Vec<String> = outcomes.filter_map(Result::err).collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(Error::FailedFunction(format!(
        "{}.\nThe budget is charged{place}. With a ledger and `--id`, ask again with the same id to \
         get the same answer. The second question costs nothing.",
        failures.join(".\n")
    )))
}
/// Call `release`, and meanwhile show the number of read rows on a terminal. The number may be
/// shown, because the person who runs this command can read the files. `release` gets the function
/// that prints warnings.
fn watched<T>(session: &Session, release: impl FnOnce(&dyn Fn(&[String])) -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return release(&warn);
    }
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(Duration::from_millis(100));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shown = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let rows = session.rows_read().unwrap_or(0);
                progress.set_message(format!("running the exact plan; rows read: {rows}"));
                std::thread::park_timeout(Duration::from_millis(200));
            }
            progress.finish_and_clear();
        });
        let released = release(&|cautions| progress.suspend(|| warn(cautions)));
        done.store(true, Ordering::Relaxed);
        shown.thread().unpark();
        released
    })
}
fn write(path: &Path, text: &str, what: &str) -> Result<(), String> {
    let reason = |error| format!("the {what} cannot be written to {}: {error}", path.display());
    std::fs::write(path, text).map_err(reason)
}
fn explain(ask: &Ask) -> Result<()> {
    let session = Session::open_to_explain(&ask.config)?;
    let question = ask.question(&session)?;
    let explanation = question.explain()?;
    warn(&explanation.cautions);
    if !session.has_budget() {
        remark(&session);
    }
    print(&if ask.json { format!("{:#}", explanation.to_json()) } else { explanation.to_string() })
}
fn plan(ask: &Ask) -> Result<()> {
    // A plan depends only on the query and the metadata, and spends nothing. So it needs no budget.
    let session = Session::open_to_explain(&ask.config)?;
    let statements = session.statements(&ask.sql, Dialect::PostgreSql)?;
    let all: Vec<String> = statements.sums.into_iter().chain(statements.buckets).collect();
    print(&all.join(";\n\n"))
}
fn create(config: &Path) -> Result<()> {
    let metadata = Metadata::open(config)?;
    let loss = metadata.create_budget()?;
    warn(&metadata.cautions(&loss));
    print(&format!("created; {} is left", loss.say(false)))
}
fn budget(config: &Path) -> Result<()> {
    print(&format!("{} is left", Session::open(config)?.remaining()?.say(false)))
}
