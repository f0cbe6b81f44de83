//! Engines run exact plans. They make no decisions about privacy.

use std::thread::ScopedJoinHandle;

use opendp_core::{Error, Result};

use crate::Dialect;
use crate::metadata::Table;

mod background;
mod dates;
mod embedded;
mod files;
mod header;
pub(crate) mod parse;
mod quotes;
mod settings;
mod source;
mod text;
mod typed;

pub use embedded::DataFusion;
pub(crate) use files::{is_compressed, places};
pub use source::Source;
pub(crate) use source::is_url;
pub use text::cells;

/// A row of a result: cells as text, or null.
pub type Cells = Vec<Option<String>>;

/// An engine runs SQL over the private tables. The session releases the results only with noise.
pub trait Engine: Send + Sync {
    /// Return the name of the engine, for release documents.
    fn name(&self) -> String;
    /// Return the dialect in which statements are printed.
    fn dialect(&self) -> Dialect;
    /// Open a table under its name. The table has the described columns with their declared types.
    ///
    /// # Errors
    /// `FailedFunction` when the source cannot be opened; `NotImplemented` when the engine cannot
    /// read a source of this kind, or when the engine already has its tables and takes no source.
    fn register(&self, name: &str, _: &Table, source: Source) -> Result<()> {
        let engine = self.name();
        Err(Error::NotImplemented(format!(
            "table `{name}`: the engine {engine} takes no source {source:?}, because the \
             engine already has its tables"
        )))
    }
    /// Run a statement and return all rows.
    ///
    /// # Errors
    /// `NotFound` when a part of the engine does not answer; any other error when the engine fails.
    /// The text of `NotFound` is shown, so it must not contain data. The error of
    /// [`check_quotes`](DataFusion::check_quotes) is also shown, and its question is charged. The
    /// text of any other error can contain data. So the session replaces any other error by an
    /// error without data.
    fn run(&self, statement: &str) -> Result<Vec<Cells>>;
    /// Return the number of rows that the running statement has read, if it is known. The number is
    /// private, so show it only to people who may see the data.
    fn rows_read(&self) -> Option<u64> {
        None
    }
    /// Return this engine, if it is the engine [`DataFusion`] in this process and does not run
    /// [portable](DataFusion::portable) statements. For most plans, a session uses the returned
    /// engine only to read, join and filter the rows. The session itself enforces the limits and
    /// computes the sums. The results are the same as the results of portable statements. Other
    /// engines keep this default, which returns `None`.
    fn embedded(&self) -> Option<&DataFusion> {
        None
    }
}

/// Replace the error of an engine by an error without data.
pub(crate) fn without_data(error: Error) -> Error {
    match error {
        Error::NotFound(_) => error,
        error if error == undecoded() => error,
        _ => failed(),
    }
}
/// Return the error for records that the engine in this process cannot decode. A single record can
/// cause this error, so the error depends on the data. For this reason, the loss of the release is
/// charged.
pub(crate) fn undecoded() -> Error {
    Error::argument(
        "data",
        "the records cannot be decoded: a line has a wrong number of cells, a quote of a CSV \
         file is not closed or is escaped by a backslash, a text is not UTF-8, or the file is \
         damaged; write the file again",
    )
}
/// Return the error that replaces the errors of an engine, except `NotFound` and [`undecoded`].
pub(crate) fn failed() -> Error {
    Error::FailedFunction(
        "the engine failed while it ran the exact plan, and nothing was released.\n\
         Its message may contain data, so it is not shown. Check that every file can be read."
            .into(),
    )
}
/// Wait for all threads, and return their results. A panic can depend on the data, so it becomes
/// the error [`undecoded`]. If several threads fail, [`undecoded`] comes before all other errors,
/// because only this error is charged.
pub(crate) fn joined<T>(threads: Vec<Result<ScopedJoinHandle<'_, Result<T>>>>) -> Result<Vec<T>> {
    let joined =
        |thread: Result<ScopedJoinHandle<'_, _>>| thread?.join().map_err(|_| undecoded())?;
    let results: Vec<Result<T>> = threads.into_iter().map(joined).collect();
    let charged = |result: &Result<T>| result.as_ref().is_err_and(|error| *error == undecoded());
    if results.iter().any(charged) {
        return Err(undecoded());
    }
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Join three threads that end with the given results. The thread `None` panics.
    fn ends(results: [Option<Result<u8>>; 3]) -> Result<Vec<u8>> {
        std::thread::scope(|scope| {
            let start = |result: Option<Result<u8>>| Ok(scope.spawn(move || result.unwrap()));
            joined(results.into_iter().map(start).collect())
        })
    }
    #[test]
    fn a_panic_and_a_record_that_cannot_be_decoded_come_before_other_errors() {
        assert_eq!(ends([Some(Ok(1)), Some(Ok(2)), Some(Ok(3))]), Ok(vec![1, 2, 3]));
        assert_eq!(ends([Some(Ok(1)), Some(Err(failed())), Some(Ok(3))]), Err(failed()));
        let refused = Some(Err(undecoded()));
        assert_eq!(ends([Some(Err(failed())), Some(Ok(2)), refused]), Err(undecoded()));
        assert_eq!(ends([Some(Err(failed())), None, None]), Err(undecoded()));
    }
}
