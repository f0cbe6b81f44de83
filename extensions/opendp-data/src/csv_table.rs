//! Reads the header and the lines of a CSV table.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
};

use opendp_core::{DataFrameDomain, Domain, Error, Result};

use crate::cells::{Cells, Texts};
use crate::format::{Source, check_header, text};
use crate::progress::{Meter, broken};
use crate::{CsvColumn, CsvFrame};

/// The largest length of a header, in bytes. Without this limit, data without line ends would be
/// read into memory completely.
const LONGEST_HEADER: u64 = 1 << 20;

/// A CSV table whose header was read. The source is text, which can be compressed by gzip or zstd.
///
/// ```
/// # use opendp_core::{AtomDomain, Result, VectorDomain};
/// # use opendp_data::CsvTable;
/// let table = CsvTable::open(&b"name;age\nAda;36\n"[..], Some(b';'))?;
/// let ages = table.column(Some("age"), &VectorDomain::new(AtomDomain::<i64>::default()))?;
/// assert_eq!(ages.collect::<Result<Vec<_>>>()?, [vec![36]]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct CsvTable {
    lines: BufReader<Source>,
    cells: Cells,
    names: Vec<String>,
    odd_quotes: u64,
}
impl CsvTable {
    /// Read the header, which is the first line. Cells are separated by `separator`, or by a comma
    /// if `separator` is `None`.
    ///
    /// # Errors
    /// `Argument` when `separator` is a quote, a line end or NUL, or is not ASCII. `Argument` when
    /// the source cannot be read or is empty, or when the first line is too long for a header.
    /// `Argument` when the source is an archive, a Parquet file or text in UTF-16. `Argument` when
    /// the source is compressed twice, or compressed by an unsupported method. `Argument` when the
    /// first line contains NUL or CR. A CR directly before the LF at the end of the line is
    /// allowed. `Argument` when no separator is given, and the header has another common separator
    /// instead of a comma.
    pub fn open(source: impl Read + Send + 'static, separator: Option<u8>) -> Result<Self> {
        if separator.is_some_and(|byte| !byte.is_ascii() || b"\"\r\n\0".contains(&byte)) {
            let reason = "expected one ASCII character other than a quote, NUL or a line end";
            return Err(Error::argument("separator", reason));
        }
        let mut lines = BufReader::with_capacity(1 << 18, text(source)?);
        let (mut cells, mut header) = (Cells::new(separator.unwrap_or(b',')), Vec::new());
        let read = (&mut lines).take(LONGEST_HEADER).read_until(b'\n', &mut header);
        let read = read.map_err(|_| broken())?;
        let ended = header.ends_with(b"\n") || u64::try_from(read).unwrap_or(0) < LONGEST_HEADER;
        // Some programs write a byte order mark before the text. Leave out this mark.
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header);
        check_header(header, ended, separator)?;
        let names = cells.all(header).into_iter().map(Option::unwrap_or_default).collect();
        Ok(CsvTable { lines, cells, names, odd_quotes: 0 })
    }
    /// Return the cells of the first line. If a table has no header, these cells are its first
    /// record. So show the cells only to people who may see the data.
    pub fn names(&self) -> &[String] {
        &self.names
    }
    /// Read a column by its name. The name is optional if there is only one column.
    ///
    /// # Errors
    /// The errors of [`CsvColumn::new`].
    pub fn column<D: Domain>(self, name: Option<&str>, domain: &D) -> Result<CsvColumn<D>> {
        CsvColumn::of(self, name, domain)
    }
    /// Read the columns of a schema.
    ///
    /// # Errors
    /// The errors of [`CsvFrame::new`].
    pub fn frame(self, domain: &DataFrameDomain<String>) -> Result<CsvFrame> {
        CsvFrame::of(self, domain)
    }
    /// Read the cells of the next line. Return `None` at the end of the table. Spaces around a cell
    /// are removed. A cell that is not UTF-8 is an empty text.
    ///
    /// # Errors
    /// `Argument` when a read of the source fails, for example because a compressed source is
    /// damaged.
    pub fn next_row(&mut self) -> Result<Option<Vec<String>>> {
        let row = self.next_cells()?;
        Ok(row.map(|cells| cells.into_iter().map(Option::unwrap_or_default).collect()))
    }
    /// Read the cells of the next line, like [`next_row`](CsvTable::next_row). A cell that is not
    /// UTF-8 is `None`. Columns and frames read such a cell like an empty cell.
    ///
    /// # Errors
    /// `Argument` when a read of the source fails, for example because a compressed source is
    /// damaged.
    pub fn next_cells(&mut self) -> Result<Option<Vec<Option<String>>>> {
        let mut line = Vec::new();
        let read = self.next_line(&mut line)?;
        let quotes = line.iter().filter(|byte| **byte == b'"').count();
        self.odd_quotes += u64::from(quotes % 2 == 1);
        Ok((0 < read).then(|| self.cells.all(&line)))
    }
    /// Return the number of lines with an odd number of quotes. Only the lines that
    /// [`next_row`](CsvTable::next_row) and [`next_cells`](CsvTable::next_cells) have read are
    /// counted.
    ///
    /// Some programs write a line break within a quoted cell. The first and the last line of such a
    /// cell usually have an odd number of quotes. This type reads each of these lines as one
    /// record. The result is an exact fact about the data, so show the result only to people who
    /// may see the data.
    pub fn odd_quotes(&self) -> u64 {
        self.odd_quotes
    }
    /// Read the next line, and return the number of its bytes. Return zero at the end of the table.
    fn next_line(&mut self, line: &mut Vec<u8>) -> Result<usize> {
        line.clear();
        self.lines.read_until(b'\n', line).map_err(|_| broken())
    }
    /// Read at most `limit` rows. Return the number of rows, and their cells in each column whose
    /// position is in `places`. The positions are distinct. A table without rows has one chunk
    /// without rows.
    pub(crate) fn chunk(
        &mut self,
        places: &[usize],
        limit: usize,
        meter: &mut Meter,
    ) -> Result<Option<(usize, Vec<Texts>)>> {
        if meter.ended {
            return Ok(None);
        }
        let mut found = vec![Texts::default(); places.len()];
        let mut columns: Vec<Option<usize>> = Vec::new();
        for (column, place) in places.iter().enumerate() {
            columns.resize(columns.len().max(place + 1), None);
            columns[*place] = Some(column);
        }
        let (mut line, mut rows, mut bytes, mut ended) = (Vec::new(), 0, 0, false);
        while rows < limit && !ended {
            let read = self.next_line(&mut line)?;
            ended = read == 0;
            if !ended {
                self.cells.visit(&line, columns.len(), |place, cell| {
                    if let Some(Some(column)) = columns.get(place) {
                        found[*column].set(rows, cell.unwrap_or_default());
                    }
                });
                (rows, bytes) = (rows + 1, bytes + read);
            }
        }
        let first = meter.progress.rows == 0;
        meter.add(rows, bytes);
        if ended {
            meter.end()?;
        }
        Ok((0 < rows || first).then_some((rows, found)))
    }
}
impl fmt::Debug for CsvTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvTable").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(table: &'static [u8]) -> String {
        CsvTable::open(table, None).unwrap_err().to_string()
    }

    #[test]
    fn a_header_with_another_separator_is_refused_with_what_to_state() {
        assert!(refused(b"name;age\nAda;36\n").contains("--separator ';'"));
        assert!(refused(b"name\tage\nAda\t36\n").contains("--separator tab"));
        assert!(refused(b"name|age\n").contains("--separator '|'"));
        for (table, separator) in
            [("a;b\n1;2\n", b';'), ("a\tb\n1\t2\n", b'\t'), ("a,b\n1,2\n", b',')]
        {
            let mut table = CsvTable::open(table.as_bytes(), Some(separator)).unwrap();
            assert_eq!(table.names(), ["a", "b"]);
            assert_eq!(table.next_row().unwrap().unwrap(), ["1", "2"]);
            assert_eq!(table.next_row().unwrap(), None);
        }
        // If the header has a comma, or if the separator is given, any other separator in the
        // header is a part of a name.
        assert_eq!(CsvTable::open(&b"a;b,c\n"[..], None).unwrap().names(), ["a;b", "c"]);
        assert_eq!(CsvTable::open(&b"a;b\n"[..], Some(b',')).unwrap().names(), ["a;b"]);
        for bad in [b'"', b'\n', b'\r', 0, 0xe9] {
            assert!(CsvTable::open(&b"a\n"[..], Some(bad)).is_err());
        }
    }
    #[test]
    fn lines_that_begin_or_end_inside_a_quote_are_counted() {
        let table = &b"x,y\n1,\"a, \"\"b\"\"\"\n2,\"c\nd\"\n"[..];
        let mut table = CsvTable::open(table, None).unwrap();
        let (mut rows, mut counts) = (0, Vec::new());
        while table.next_row().unwrap().is_some() {
            rows += 1;
            counts.push(table.odd_quotes());
        }
        assert_eq!((rows, counts), (3, vec![0, 1, 2]));
    }
    #[test]
    fn a_cell_that_is_not_utf_8_is_told_from_an_empty_cell() {
        let mut table = CsvTable::open(&b"city,age\nBesan\xe7on,31\n,\n"[..], None).unwrap();
        let age = Some("31".to_owned());
        assert_eq!(table.next_cells().unwrap(), Some(vec![None, age.clone()]));
        let empty = Some(String::new());
        assert_eq!(table.next_cells().unwrap(), Some(vec![empty.clone(), empty]));
        assert_eq!(table.next_cells().unwrap(), None);
        let mut table = CsvTable::open(&b"city,age\nBesan\xe7on,31\n"[..], None).unwrap();
        assert_eq!(table.next_row().unwrap(), Some(vec![String::new(), "31".to_owned()]));
    }
    #[test]
    fn a_header_with_a_nul_is_refused_and_a_record_with_a_nul_is_read() {
        assert!(refused(b"a\0,\0b\0\n\0").contains("UTF-16"));
        let mut table = CsvTable::open(&b"a\n\0\n"[..], None).unwrap();
        assert_eq!(table.next_row().unwrap(), Some(vec!["\0".to_owned()]));
    }
    #[test]
    fn lines_that_end_with_cr_alone_are_refused_and_not_read_as_no_rows() {
        for table in
            [&b"age\r1\r2\r"[..], b"age,sex\r1,2\r3,4", b"age\r", b"age\r1\n2\n", b"a\r\r\n"]
        {
            assert!(refused(table).contains("CR"), "{table:?}");
        }
        let mut table = CsvTable::open(&b"age\r\n1\r\n2\r3\r\n"[..], None).unwrap();
        assert_eq!(table.names(), ["age"]);
        let mut rows = 0;
        while table.next_row().unwrap().is_some() {
            rows += 1;
        }
        // The CR between 2 and 3 is a part of a cell, and does not end the line. So there are two
        // rows.
        assert_eq!(rows, 2);
    }
    #[test]
    fn a_header_without_an_end_is_not_read_into_memory() {
        let endless = std::io::repeat(b'a');
        let error = CsvTable::open(endless, None).unwrap_err().to_string();
        assert!(error.contains("first line is too long"), "{error}");
    }
}
