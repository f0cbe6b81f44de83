//! Engines: they run exact plans, and decide nothing about privacy.

use opendp_core::{Error, Result};

use crate::Dialect;
use crate::metadata::Table;

mod embedded;

pub use embedded::{DataFusion, Source, cells};

/// A row of a result: cells as text, or null.
pub type Cells = Vec<Option<String>>;

/// Runs SQL over the private tables. Results never leave the process without noise.
pub trait Engine: Send + Sync {
    /// Return the name of the engine, for release documents.
    fn name(&self) -> String;
    /// Return the dialect in which statements are printed.
    fn dialect(&self) -> Dialect;
    /// Open a table under its name, with the described columns in their declared types.
    ///
    /// # Errors
    /// `FailedFunction` when the source cannot be opened. An engine that has its tables already
    /// takes no source.
    fn register(&self, name: &str, _: &Table, source: Source) -> Result<()> {
        let engine = self.name();
        Err(Error::NotImplemented(format!(
            "table `{name}`: the engine {engine} takes no source {source:?}, because it has its \
             tables already"
        )))
    }
    /// Run a statement and return all rows.
    ///
    /// # Errors
    /// Any error stands for a failure of the machine. `NotFound` says which part of the machine
    /// does not answer: its text must not contain data, and is shown. The text of other errors may
    /// contain data, so the session replaces it.
    fn run(&self, statement: &str) -> Result<Vec<Cells>>;
    /// Return the number of rows that the statement which runs now has read, if it is known. It is
    /// private, and only for people who may see the data.
    fn rows_read(&self) -> Option<u64> {
        None
    }
}

/// The error that stands for the failure of an engine, without data.
pub(crate) fn without_data(error: Error) -> Error {
    match error {
        Error::NotFound(_) => error,
        _ => failed(),
    }
}
/// The error that stands for all other failures.
pub(crate) fn failed() -> Error {
    Error::FailedFunction(
        "the engine failed while it ran the exact plan, and nothing was released.\n\
         Its message may contain data, so it is not shown. Check that every file can be read."
            .into(),
    )
}
