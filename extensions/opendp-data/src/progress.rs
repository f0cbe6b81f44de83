//! How far a source has been read, and the checks that all sources share.

use opendp_core::{Error, Result};
use serde_json::Value as Json;

/// How far a source has been read.
///
/// The number of records is data: show it to whoever may see the data, and to nobody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records read so far.
    pub rows: u64,
    /// Bytes read so far, where the source counts them.
    pub bytes: u64,
    /// Records in all, where the source knows beforehand.
    pub total_rows: Option<u64>,
}

/// Who is told of the progress, once a chunk.
pub(crate) type Listener = Box<dyn FnMut(Progress) + Send>;

/// Counts records, tells of them, and compares them with what the domain states.
pub(crate) struct Meter {
    pub(crate) progress: Progress,
    pub(crate) listener: Option<Listener>,
    size: Option<u64>,
}
impl Meter {
    /// Start counting. `domain` is the domain as a document writes it.
    pub(crate) fn new(domain: &Json, total_rows: Option<u64>) -> Self {
        let size = |of: &str| domain[of]["size"].as_u64();
        let size = size("vector_domain").or_else(|| size("dataframe_domain"));
        Meter { progress: Progress { total_rows, ..Progress::default() }, listener: None, size }
    }
    /// Count the records of a chunk.
    pub(crate) fn add(&mut self, rows: usize, bytes: usize) {
        let wide = |count| u64::try_from(count).unwrap_or(u64::MAX);
        self.progress.rows = self.progress.rows.saturating_add(wide(rows));
        self.progress.bytes = self.progress.bytes.saturating_add(wide(bytes));
        if let Some(listener) = &mut self.listener {
            listener(self.progress);
        }
    }
    /// Compare the number of records with the one that the domain states, at the end.
    pub(crate) fn end(&self) -> Result<()> {
        if self.size.is_none_or(|size| size == self.progress.rows) {
            return Ok(());
        }
        Err(Error::argument(
            "data",
            "the number of rows is not the `size` that the pipeline's domain states",
        ))
    }
}

/// Find the place of a column by its name, or the only one.
pub(crate) fn place(names: &[String], column: Option<&str>) -> Result<usize> {
    let place = match column {
        Some(name) => {
            let mut places = names.iter().enumerate().filter(|(_, known)| *known == name);
            let (first, second) = (places.next(), places.next());
            if second.is_some() {
                return Err(Error::argument("column", format!("the table names `{name}` twice")));
            }
            first.map(|(place, _)| place)
        }
        None if names.len() == 1 => Some(0),
        None => None,
    };
    place.ok_or_else(|| {
        Error::argument("column", format!("expected one of `{}`", names.join("`, `")))
    })
}
#[cold]
pub(crate) fn broken() -> Error {
    Error::argument("data", "the table cannot be read to its end")
}
#[cold]
pub(crate) fn rowless(domain: &Json) -> Error {
    Error::argument("data", format!("a table has rows, and {domain} has none"))
}
