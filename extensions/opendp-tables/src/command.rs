//! Code that the commands `opendp-sql` and `opendp-cluster` share: the arguments of a question, and
//! functions that print.

use std::io::Write;
use std::path::{Path, PathBuf};

use opendp_analysis::context::visible;
use opendp_core::{Error, Result};
use opendp_report::{check_writable, is_pipe_or_device, is_same_file, resolved};

use crate::{Answer, Budget, Metadata, NoiseKind, Question, Session};

/// A question, as the arguments of a command line state it.
#[derive(Clone, Debug, clap::Args)]
pub struct Ask {
    /// The metadata file: tables, bounds, keys, privacy unit and budget, in TOML or JSON.
    #[arg(long)]
    pub config: PathBuf,
    /// The query.
    pub sql: String,
    /// The largest epsilon that the query may cost.
    #[arg(long)]
    epsilon: Option<f64>,
    /// The largest delta that the query may cost besides epsilon.
    #[arg(long, requires = "epsilon")]
    delta: Option<f64>,
    /// The largest rho that the query may cost.
    #[arg(long, conflicts_with = "epsilon")]
    rho: Option<f64>,
    /// A constructor of the registry for the noise of sums.
    #[arg(long)]
    mechanism: Option<String>,
    /// The kind of the noise: `best`, `laplace` or `gaussian`.
    #[arg(long, default_value = "best")]
    noise: NoiseKind,
    /// The weight of a column of the answer when the aggregates share the loss, as in `mean=2`.
    #[arg(long = "weight", value_name = "NAME=NUMBER")]
    weights: Vec<String>,
    /// The id of the release. With a ledger, the same id gives the same release.
    #[arg(long)]
    id: Option<String>,
    /// The name of the person who asks, for the ledger.
    #[arg(long, default_value = "")]
    by: String,
    /// Print the release document as JSON.
    #[arg(long)]
    pub json: bool,
}
impl Ask {
    /// Ask the question of the arguments. Nothing is read and nothing is spent yet.
    ///
    /// # Errors
    /// The errors of [`Session::query`], and `Argument` when an amount or a weight is invalid.
    pub fn question<'a>(&self, session: &'a Session) -> Result<Question<'a>> {
        let mut question = session.query(&self.sql)?.by(&self.by);
        let spending = match (self.epsilon, self.delta, self.rho) {
            (Some(epsilon), None, _) => Some(Budget::epsilon(epsilon)?),
            (Some(epsilon), Some(delta), _) => Some(Budget::epsilon_delta(epsilon, delta)?),
            (_, _, Some(rho)) => Some(Budget::rho(rho)?),
            _ => None,
        };
        if let Some(spending) = spending {
            question = question.spending(spending);
        }
        question = question.noise(self.noise);
        if let Some(mechanism) = &self.mechanism {
            question = question.mechanism(mechanism);
        }
        for text in &self.weights {
            question = question.weight_in(text)?;
        }
        Ok(match &self.id {
            Some(id) => question.id(id),
            None => question,
        })
    }
}
impl Ask {
    /// Print notes about an answer to standard error. They state whether the answer is repeated,
    /// whether `--id` has no effect, and the rest of the budget.
    pub fn remark(&self, session: &Session, answer: &Answer) {
        let id = self.id.as_deref().map(visible);
        match id {
            Some(id) if answer.document["repeated"] == true => eprintln!(
                "note: repeated: this is the answer of an earlier question with the id `{id}`: no \
                 new noise is drawn, and nothing is charged again"
            ),
            Some(_) if !session.account.keeps_releases() => eprintln!(
                "note: `--id` has no effect without a ledger: the same id gives a new answer, \
                 which is charged again"
            ),
            _ => {}
        }
        remark(session);
    }
}
/// Print warnings about a loss to standard error.
pub fn warn(cautions: &[String]) {
    for caution in cautions {
        eprintln!("warning: {caution}");
    }
}
/// Print the note about the rest of the budget to standard error.
pub fn remark(session: &Session) {
    if let Ok(note) = session.note() {
        eprintln!("note: {note}");
    }
}
/// Print a text to standard output, or return the reason why it cannot be printed.
///
/// # Errors
/// The reason, for example that the disk is full.
pub fn printed(text: &str) -> Result<(), String> {
    written(text).map_err(unprinted)
}
fn written(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush())
}
fn unprinted(error: std::io::Error) -> String {
    format!("the answer cannot be printed: {error}")
}
/// Print a text to standard output. If the reader closes the pipe early, as `head` does, this is no
/// error, because the text can be printed again.
///
/// # Errors
/// `FailedFunction` when the text cannot be printed.
pub fn print(text: &str) -> Result<()> {
    match written(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::FailedFunction(unprinted(error)))
        }
        _ => Ok(()),
    }
}
/// Print an answer that was charged to standard output.
///
/// # Errors
/// `FailedFunction` when the answer cannot be printed, also if the reader closes the pipe early.
pub fn print_charged(text: &str) -> Result<()> {
    printed(text).map_err(Error::FailedFunction)
}
/// Check that files can be written, before a budget is charged. `config` is the metadata file. Each
/// file comes with the name of its argument.
///
/// # Errors
/// `Argument` when two arguments name one file, when a file is the metadata file, the ledger or a
/// file of a table, or when a file cannot be opened. The errors of [`Metadata::open`].
pub fn check_files(config: &Path, files: &[(&str, &Path)]) -> Result<()> {
    let metadata = Metadata::open(config)?;
    let ledger = metadata.budget.ledger.iter().map(Path::new);
    let tables = metadata.tables.values().filter_map(|table| table.path.as_deref());
    for (k, (argument, file)) in files.iter().enumerate() {
        if is_pipe_or_device(file) {
            continue;
        }
        let is_same = |other: &Path| is_same_file(other, file);
        let refused = |reason: String| {
            let reason = format!("{reason}: name another file. Nothing is charged");
            Err(Error::argument(*argument, reason))
        };
        let shown = visible(&file.to_string_lossy());
        if let Some((other, _)) = files.iter().take(k).find(|(_, other)| is_same(other)) {
            return refused(format!("`--{other}` and `--{argument}` both name `{shown}`"));
        }
        if std::iter::once(config).chain(ledger.clone()).any(is_same) {
            return refused(format!("`{shown}` is the metadata file or the ledger"));
        }
        if tables.clone().any(|table| is_read(file, table)) {
            return refused(format!("`{shown}` is a file of a table, or is in its folder"));
        }
        if let Err(error) = check_writable(file) {
            return refused(format!("`{shown}` cannot be written: {error}"));
        }
    }
    Ok(())
}
/// Return whether a file is, or would be, a file of a table. `table` is the path of a file or of a
/// folder, or a pattern. The files of a pattern are in a folder that exists, and have the ending of
/// the pattern.
fn is_read(file: &Path, table: &str) -> bool {
    let table = Path::new(table.strip_prefix("file://").unwrap_or(table));
    let place = resolved(file);
    if table.exists() {
        return place.starts_with(resolved(table)) || is_same_file(file, table);
    }
    let table = std::path::absolute(table).unwrap_or_else(|_| table.to_owned());
    let folder = table.ancestors().skip(1).find(|folder| folder.exists());
    folder.is_some_and(|folder| place.starts_with(resolved(folder)))
        && place.extension() == table.extension()
}
