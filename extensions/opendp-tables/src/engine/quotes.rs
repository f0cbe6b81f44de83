//! Check the quotes of CSV files.
//!
//! If a quoted cell is not closed, it contains the following lines, so one record removes rows of
//! other people. Usually, a reader of CSV does not notice this. After a closing quote, such a
//! reader accepts any text, and reads the text as a part of the cell. One cause is a writer that
//! escapes quotes by backslashes. So the bytes of a file are checked separately, for each question
//! that reads the file. The quotes are not checked when a table is opened, because an error at that
//! time is not charged.

use std::sync::{Arc, PoisonError};

use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use futures::StreamExt;
use opendp_core::Result;

use super::header::files;
use super::{DataFusion, failed, parse, undecoded};

/// The number of bytes that are read at once.
const CHUNK: u64 = 1 << 20;
/// Some programs write these bytes at the start of a file. They are not a part of a cell.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl DataFusion {
    /// Check the quotes of the CSV files of all tables that a statement reads. A quote that closes
    /// a cell must come before a separator, the end of a line or the end of the file. At the end of
    /// a file, all quotes must be closed. Each file is read once, in chunks.
    ///
    /// An engine that runs its statements elsewhere calls this function for each statement.
    ///
    /// # Errors
    /// If a file breaks these rules, the error states that the records cannot be decoded. This
    /// error depends on the data, so a question with this error is charged. `FailedFunction` when a
    /// file or the statement cannot be read.
    pub fn check_quotes(&self, statement: &str) -> Result<()> {
        let tables = self.csv.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if tables.is_empty() {
            return Ok(());
        }
        let checked = self.wait(async {
            let statement = parse::parsed(statement, parse::PRINTED)?;
            let named = self.context().state().resolve_table_references(&statement)?;
            let is_read = |name: &String| named.iter().any(|table| table.table() == name);
            let mut checked = Vec::new();
            for (_, url) in tables.iter().filter(|(name, _)| is_read(name)) {
                checked.extend(self.check_files(url).await?);
            }
            Ok(checked)
        });
        let checked = checked.map_err(|_| failed())?;
        // If there are several errors, return the error about quotes, because only this error is
        // charged.
        if checked.iter().any(|file| matches!(file, Ok(false))) {
            return Err(undecoded());
        }
        if checked.iter().all(|file| file.is_ok()) { Ok(()) } else { Err(failed()) }
    }
    /// Check the files at a place, several files at a time. For each file, return whether its
    /// quotes follow the rules, or the error of the object store.
    async fn check_files(
        &self,
        url: &ListingTableUrl,
    ) -> Result<Vec<Result<bool, DataFusionError>>, DataFusionError> {
        let files = files(self.context(), url, ".csv").await?.unwrap_or_default();
        let store = self.context().runtime_env().object_store(url)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let check = |file| tokio::spawn(is_well_quoted(store.clone(), file));
        let checks = futures::stream::iter(files.into_iter().map(check)).buffered(threads);
        // A panic can depend on the data.
        Ok(checks.map(|checked| checked.unwrap_or(Ok(false))).collect().await)
    }
}
/// Return whether the quotes of a file follow the rules.
async fn is_well_quoted(
    store: Arc<dyn ObjectStore>,
    file: ObjectMeta,
) -> Result<bool, DataFusionError> {
    let (mut place, mut start) = (Place::Start, 0);
    while start < file.size {
        let end = file.size.min(start + CHUNK);
        let chunk = store.get_range(&file.location, start..end).await?;
        let bytes = if start == 0 { chunk.strip_prefix(MARK) } else { None }.unwrap_or(&chunk);
        match place.after(bytes) {
            Some(next) => place = next,
            None => return Ok(false),
        }
        start = end;
    }
    Ok(place != Place::Quoted)
}
/// The place of the next byte of a CSV file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// The start of a cell. Only here, a quote opens a quoted cell.
    Start,
    /// Inside a cell without quotes. Here, a quote is a byte like any other.
    Plain,
    /// Inside a quoted cell.
    Quoted,
    /// After a quote in a quoted cell. If a second quote follows, the two quotes stand for one
    /// quote in the cell.
    Closed,
}
impl Place {
    /// Return the place after the bytes `bytes`, which begin at this place. Return `None` if a
    /// closing quote is not at the end of its cell.
    fn after(self, bytes: &[u8]) -> Option<Place> {
        bytes.iter().try_fold(self, |place, byte| match (place, byte) {
            (Place::Quoted, b'"') => Some(Place::Closed),
            (Place::Quoted, _) | (Place::Start | Place::Closed, b'"') => Some(Place::Quoted),
            (_, b',' | b'\r' | b'\n') => Some(Place::Start),
            (Place::Closed, _) => None,
            (Place::Start | Place::Plain, _) => Some(Place::Plain),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells with correct quotes.
    const ACCEPTED: &str =
        r#"|a,b|"a","b"|""|"","",|""""|"a""b"|"a,","""c"""|a"b,c"| "a" b|"a\"|\"a"#;
    /// Cells with a quote that is not closed, or with text after a closing quote.
    const REFUSED: &str = r#""|a,"|a,"b|"a"b|"a" ,b|a,"b\""|a,"b\"c"|"a""|"""|""a""|"a"\"#;
    /// Check the bytes of a file, in chunks of `length` bytes.
    fn is_accepted(text: &str, length: usize) -> bool {
        let last = text.as_bytes().chunks(length).try_fold(Place::Start, Place::after);
        last.is_some_and(|place| place != Place::Quoted)
    }
    #[test]
    fn a_closing_quote_is_at_the_end_of_a_cell() {
        for length in 1..8 {
            for end in ["", "\n", "\r", "\r\n", "\n\"a\nb\"", "\na"] {
                for text in ACCEPTED.split('|').map(|text| format!("{text}{end}")) {
                    assert!(is_accepted(&text, length), "{text:?} in chunks of {length}");
                }
            }
            for end in ["", "\n", "\r\n", "\na,b\n"] {
                for text in REFUSED.split('|').map(|text| format!("{text}{end}")) {
                    assert!(!is_accepted(&text, length), "{text:?} in chunks of {length}");
                }
            }
        }
    }
}
