//! A column of a CSV table.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
};

use opendp_core::{Domain, Result};

use crate::Progress;
use crate::cells::Cells;
use crate::progress::{Meter, broken, place, rowless};

/// Rows that become one chunk.
const CHUNK: usize = 1 << 16;

/// The chunks of a column of a CSV table, as members of a domain of rows.
///
/// The first line names the columns. Every line after it is one record, whatever it holds, an empty
/// line too: quotes count within a line and never beyond it, so that no person's cell can change the
/// record of another, or how many there are. Text that is not UTF-8 is a cell that does not read.
pub struct CsvColumn<D> {
    lines: BufReader<Box<dyn Read + Send>>,
    cells: Cells,
    place: usize,
    domain: D,
    meter: Meter,
    ended: bool,
}
impl<D: Domain> CsvColumn<D> {
    /// Read a column by its name; the name may be left out where there is only one.
    ///
    /// # Errors
    /// `Argument` when the header cannot be read or has no such column.
    pub fn new(
        source: impl Read + Send + 'static,
        column: Option<&str>,
        domain: &D,
    ) -> Result<Self> {
        let mut lines: BufReader<Box<dyn Read + Send>> =
            BufReader::with_capacity(1 << 18, Box::new(source));
        let (mut cells, mut header) = (Cells::new(), Vec::new());
        lines.read_until(b'\n', &mut header).map_err(|_| broken())?;
        // Some programs begin a text with a mark of its encoding.
        let names = cells.all(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header));
        let place = place(&names, column)?;
        let meter = Meter::new(&domain.to_json(), None);
        Ok(CsvColumn { lines, cells, place, domain: domain.clone(), meter, ended: false })
    }
    /// Tell how far the table has been read, once a chunk.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.meter.listener = Some(Box::new(listener));
        self
    }
    fn chunk(&mut self) -> Result<Option<D::Carrier>> {
        let (mut found, mut line): (Vec<String>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while found.len() < CHUNK {
            line.clear();
            let read = self.lines.read_until(b'\n', &mut line).map_err(|_| broken())?;
            if read == 0 {
                self.ended = true;
                break;
            }
            bytes += read;
            found.push(self.cells.nth(&line, self.place));
        }
        self.meter.add(found.len(), bytes);
        if self.ended {
            self.meter.end()?;
        }
        if found.is_empty() && 0 < self.meter.progress.rows {
            return Ok(None);
        }
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        match self.domain.read_cells(&found) {
            Some(rows) => rows.map(Some),
            None => Err(rowless(&self.domain.to_json())),
        }
    }
}
impl<D: Domain> Iterator for CsvColumn<D> {
    type Item = Result<D::Carrier>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let chunk = self.chunk().transpose();
        self.ended |= matches!(chunk, Some(Err(_)));
        chunk
    }
}
impl<D: fmt::Debug> fmt::Debug for CsvColumn<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvColumn").field("domain", &self.domain).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use opendp_core::{AtomDomain, Bounds, OptionDomain, VectorDomain};

    fn read<D: Domain<Carrier = Vec<T>>, T>(table: &'static [u8], domain: &D) -> Result<Vec<T>> {
        let chunks: Result<Vec<Vec<T>>> = CsvColumn::new(table, Some("x"), domain)?.collect();
        Ok(chunks?.into_iter().flatten().collect())
    }

    #[test]
    fn hostile_cells_are_members_and_never_change_the_number_of_records() {
        let table = "y,x\n1,1e400\n1,NaN\n1, 5\n1,٣\n1,\n1,9223372036854775808\n\n1,\"a\n2,7\n";
        let bytes = table.as_bytes();
        let whole = VectorDomain::new(AtomDomain::<i64>::default());
        assert_eq!(read(bytes, &whole).unwrap(), [0, 0, 5, 0, 0, 0, 0, 0, 7]);
        let options = VectorDomain::new(OptionDomain::new(AtomDomain::<f64>::non_nan()));
        let found = read(bytes, &options).unwrap();
        let big = Some(9_223_372_036_854_775_808.0);
        assert_eq!(
            found,
            [Some(f64::INFINITY), None, Some(5.0), None, None, big, None, None, Some(7.0)]
        );
        let unit = AtomDomain::bounded(Bounds::new(0.5, 1.0).unwrap());
        let found = read(bytes, &VectorDomain::new(unit.clone())).unwrap();
        assert!(found.len() == 9 && found.iter().all(|x| unit.member(x)));
    }
    #[test]
    fn an_unknown_column_is_named_with_the_known_ones() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let error = CsvColumn::new(&b"a,b\n1,2\n"[..], Some("x"), &domain).unwrap_err();
        assert_eq!(error.to_string(), "argument `column`: expected one of `a`, `b`");
        assert!(CsvColumn::new(&b"a,b\n"[..], None, &domain).is_err());
        assert!(CsvColumn::new(&b"a\n1\n"[..], None, &domain).is_ok());
    }
    #[test]
    fn a_wrong_size_is_an_error_at_the_end() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        assert_eq!(read(b"x\n1\n2\n", &domain.clone().with_size(2)).unwrap(), [1, 2]);
        assert!(read(b"x\n1\n2\n", &domain.with_size(3)).is_err());
    }
    #[test]
    fn a_table_without_records_is_one_empty_chunk() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let chunks: Vec<_> = CsvColumn::new(&b"x\n"[..], None, &domain).unwrap().collect();
        assert_eq!(chunks, [Ok(vec![])]);
    }
    #[test]
    fn progress_counts_rows_and_bytes_of_many_chunks() {
        let table: String = std::iter::once("x\n").chain(vec!["1\n"; CHUNK + 3]).collect();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let teller = seen.clone();
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let rows: usize = CsvColumn::new(std::io::Cursor::new(table), None, &domain)
            .unwrap()
            .on_progress(move |progress| teller.lock().unwrap().push(progress))
            .map(|chunk| chunk.unwrap().len())
            .sum();
        assert_eq!(rows, CHUNK + 3);
        let last = seen.lock().unwrap().last().copied().unwrap();
        assert_eq!((last.rows, last.bytes), (CHUNK as u64 + 3, 2 * CHUNK as u64 + 6));
    }
}
