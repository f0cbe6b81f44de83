//! Reports the progress of a source, and contains the checks that all sources share.

use opendp_core::{Error, Result};
use serde_json::Value as Json;

/// The progress of a source.
///
/// The number of records is private data, so show this number only to people who may see the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of records that were read so far.
    pub rows: u64,
    /// The number of bytes that were read so far. For CSV, this is the number of bytes of the lines
    /// after the header. For Arrow and Parquet, this is the size of the arrays in memory.
    pub bytes: u64,
    /// The total number of records, if it is known in advance.
    pub total_rows: Option<u64>,
}

/// A function that is called with the progress after each chunk or batch.
pub(crate) type Listener = Box<dyn FnMut(Progress) + Send>;

/// A counter of records. It reports the progress, and compares the number of records with the size
/// that the domain states.
pub(crate) struct Meter {
    pub(crate) progress: Progress,
    pub(crate) listener: Option<Listener>,
    /// Whether the source has ended, by its last record or by an error.
    pub(crate) ended: bool,
    size: Option<u64>,
}
impl Meter {
    /// Start counting. `records` is the number of records that the domain states. `total_rows` is
    /// the number of records that the file states.
    pub(crate) fn new(records: Option<usize>, total_rows: Option<u64>) -> Self {
        let (size, progress) = (records.map(wide), Progress { total_rows, ..Progress::default() });
        Meter { progress, listener: None, ended: false, size }
    }
    /// Add the number of new records and their bytes to the progress, and call the listener.
    pub(crate) fn add(&mut self, rows: usize, bytes: usize) {
        self.progress.rows = self.progress.rows.saturating_add(wide(rows));
        self.progress.bytes = self.progress.bytes.saturating_add(wide(bytes));
        if let Some(listener) = &mut self.listener {
            listener(self.progress);
        }
    }
    /// At the end of the source, compare the number of records with the size that the domain
    /// states. Return the error [`outside`] if the two numbers differ.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.ended = true;
        if self.size.is_none_or(|size| size == self.progress.rows) {
            return Ok(());
        }
        Err(outside())
    }
    /// Return a chunk, or `None` at the end. An error is the last item of a source.
    pub(crate) fn item<T>(&mut self, chunk: Result<Option<T>>) -> Option<Result<T>> {
        self.ended |= chunk.is_err();
        chunk.transpose()
    }
}
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Find the position of a column by its name, or the position of the only column.
///
/// An error shows only the name that the caller gave, and no other column name of the table. If a
/// table has no header, its first record is read as the names, so the names can be private data.
pub(crate) fn place(names: &[String], column: Option<&str>) -> Result<usize> {
    let Some(name) = column else {
        return match names.len() {
            0 => Err(Error::argument("data", "expected at least one column, found none")),
            1 => Ok(0),
            several => Err(Error::argument(
                "column",
                format!("state which of the {several} columns to read. {WHERE}"),
            )),
        };
    };
    let mut places = names.iter().enumerate().filter(|(_, known)| *known == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => {
            let name = name.escape_debug();
            Err(Error::argument(
                "column",
                format!("the table has the column `{name}` twice: rename one"),
            ))
        }
        (None, _) => Err(absent("column", names, name, "")),
    }
}
/// A hint at the end of some error messages. The hint states where the names of the columns are.
const WHERE: &str =
    "The first line of a CSV file is its header; the curator can show it with `opendp inspect`";

/// Make the error for a column that the table does not have. `rule` is the end of a sentence that
/// states the domain of the column, or is empty.
#[cold]
pub(crate) fn absent<S: AsRef<str>>(argument: &str, names: &[S], name: &str, rule: &str) -> Error {
    let (columns, name) = (names.len(), name.escape_debug());
    let s = if columns == 1 { "" } else { "s" };
    let found = format!("the table has {columns} column{s}, none of them `{name}`{rule}");
    // A header of one cell that contains another separator was probably split wrongly.
    let split = match names {
        [only] => [',', ';', '\t', '|'].into_iter().find(|c| only.as_ref().contains(*c)),
        _ => None,
    };
    let split = split.map_or_else(String::new, |separator| {
        let shown = separator.escape_debug();
        format!(
            ". Its name contains `{shown}`: if this is the separator, state it by `--separator`"
        )
    });
    Error::argument(argument, format!("{found}{split}. {WHERE}"))
}
/// Make the error for data that are not a member of the expected domain.
///
/// The error is the same for all data that are not a member. The error reveals that the data are
/// not a member, but this crate charges no privacy loss for this information. So show the error
/// only to people who may see the data, or charge the error to a budget ([`depends_on_records`]).
#[cold]
pub fn outside() -> Error {
    Error::argument(
        "data",
        "the data are not in the pipeline's domain: the number of rows is not its `size`, or a \
         value is outside of the domain",
    )
}
/// Return whether an error of a source may depend on its records.
///
/// Such an error is [`outside`], or states that the records of a Parquet file or of an Arrow batch
/// cannot be decoded. The decoder checks every cell. So a single cell, such as a text that is not
/// UTF-8, can decide whether there is an error. Charge such an error to a budget, like a release.
/// Any other error depends only on the format of the file, on its columns, and on whether the file
/// can be read.
pub fn depends_on_records(error: &Error) -> bool {
    let root = error.root();
    *root == outside() || *root == undecoded()
}
/// Make the error for records that cannot be decoded.
#[cold]
pub(crate) fn undecoded() -> Error {
    Error::argument(
        "data",
        "the records cannot be decoded: the file is damaged, or a text in it is not UTF-8; write \
         the file again",
    )
}
#[cold]
pub(crate) fn broken() -> Error {
    Error::argument(
        "data",
        "the table cannot be read to its end: the file is damaged or cut off; write the file again",
    )
}
#[cold]
pub(crate) fn rowless(domain: &Json) -> Error {
    Error::argument("data", format!("a table has rows, but {domain} is not a domain of rows"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use opendp_core::{AtomDomain, Domain, VectorDomain, named};

    /// The set of all columns whose rows are in ascending order. If records of several members are
    /// combined, the new column can have another order. So this domain does not
    /// [recombine](Domain::recombines).
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Ascending;
    named!(Ascending as "Ascending");
    impl Domain for Ascending {
        type Carrier = Vec<i64>;
        fn member(&self, rows: &Vec<i64>) -> bool {
            rows.is_sorted()
        }
        fn read_cells(&self, cells: &[&str]) -> Option<Result<Vec<i64>>> {
            VectorDomain::new(AtomDomain::<i64>::default()).read_cells(cells)
        }
    }
    #[test]
    fn without_a_name_a_table_must_have_one_column() {
        let found = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            place(&names, None).map_err(|error| error.to_string())
        };
        assert_eq!(found(&["x"]), Ok(0));
        assert!(found(&[]).unwrap_err().contains("expected at least one column, found none"));
        assert!(found(&["x", "y"]).unwrap_err().contains("which of the 2 columns"));
    }
    #[cfg(feature = "arrow")]
    impl crate::ArrowDomain for Ascending {
        fn read_array(&self, array: &arrow::array::ArrayRef) -> Result<Vec<i64>> {
            let numbers = VectorDomain::new(AtomDomain::<i64>::default());
            crate::ArrowDomain::read_array(&numbers, array)
        }
    }
}
