//! Reads a column of a CSV table.

use std::{fmt, io::Read};

use opendp_core::{Domain, Result};

use crate::progress::{Meter, outside, place, rowless};
use crate::{CsvTable, Progress};

/// The number of rows in one chunk.
const CHUNK: usize = 1 << 16;

/// The chunks of one column, which is read from a CSV table. Each chunk is a member of a domain of
/// rows.
///
/// The first line contains the names of the columns. Every later line is one record, whatever its
/// content. An empty line is also a record. Quotes have an effect only within a line. So a line
/// cannot change the record of another line, and the number of records is the number of lines after
/// the header. A cell that is not UTF-8 is read like an empty cell.
///
/// The bound on the distance between neighbouring tables assumes a maximum number of records for
/// each person. Some programs write a line break within a quoted cell. Such a cell is read as
/// several records. One person can then have more records than this maximum. So remove the line
/// breaks from all cells before the table is written.
///
/// If the domain does not [recombine](Domain::recombines), all rows are one chunk. If this chunk is
/// not a member, the error is [`outside`](crate::outside).
pub struct CsvColumn<D> {
    table: CsvTable,
    place: usize,
    domain: D,
    meter: Meter,
}
impl<D: Domain> CsvColumn<D> {
    /// Read a column by its name. The name is optional if there is only one column.
    ///
    /// If the separator is not a comma, use [`CsvTable`].
    ///
    /// # Errors
    /// The errors of [`CsvTable::open`]. `Argument` when the header has no column or several
    /// columns with this name. `Argument` when no name is given, and the header does not have
    /// exactly one column. `Argument` when `domain` is not a domain of rows.
    pub fn new(
        source: impl Read + Send + 'static,
        column: Option<&str>,
        domain: &D,
    ) -> Result<Self> {
        CsvColumn::of(CsvTable::open(source, None)?, column, domain)
    }
    pub(crate) fn of(table: CsvTable, column: Option<&str>, domain: &D) -> Result<Self> {
        let place = place(table.names(), column)?;
        // A domain of rows reads any number of cells. Check that `domain` is a domain of rows
        // before a line is read. So the error does not depend on the number of rows.
        if domain.read_cells(&[]).is_none() || domain.read_cells(&[""]).is_none() {
            return Err(rowless(&domain.to_json()));
        }
        let meter = Meter::new(domain.records(), None);
        Ok(CsvColumn { table, place, domain: domain.clone(), meter })
    }
    /// Call `listener` with the progress, once for each chunk. If the last chunk is full, there is
    /// one more call at the end of the table.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.meter.listener = Some(Box::new(listener));
        self
    }
    fn chunk(&mut self) -> Result<Option<D::Carrier>> {
        // The domain can have a condition on all rows together. Then one chunk has all rows.
        let together = !self.domain.recombines();
        let limit = if together { usize::MAX } else { CHUNK };
        let chunk = self.table.chunk(&[self.place], limit, &mut self.meter)?;
        let Some((rows, found)) = chunk else { return Ok(None) };
        let found = found.first().map(|found| found.list(rows)).unwrap_or_default();
        let rows = self.domain.read_cells(&found);
        let rows = rows.ok_or_else(|| rowless(&self.domain.to_json()))??;
        if together && !self.domain.member(&rows) {
            return Err(outside());
        }
        Ok(Some(rows))
    }
}
impl<D: Domain> Iterator for CsvColumn<D> {
    type Item = Result<D::Carrier>;
    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.chunk();
        self.meter.item(chunk)
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
    use crate::progress::tests::Ascending;
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
    fn an_error_about_a_column_never_shows_the_first_record_of_a_table_without_a_header() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let table = &b"31,Ada Lovelace,HIV+\x1b[2J\n44,Carl,x\n"[..];
        for column in [Some("age\x1b[2J"), None] {
            let error = CsvColumn::new(table, column, &domain).unwrap_err().to_string();
            for cell in ["31", "Ada", "HIV", "44", "Carl", "\x1b"] {
                assert!(!error.contains(cell), "{error}");
            }
            assert!(error.contains("3 columns") && error.contains("opendp inspect"), "{error}");
        }
        assert!(CsvColumn::new(&b"a,b\n"[..], None, &domain).is_err());
        assert!(CsvColumn::new(&b"a\n1\n"[..], None, &domain).is_ok());
    }
    #[test]
    fn a_wrong_size_is_an_error_at_the_end() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        assert_eq!(read(b"x\n1\n2\n", &domain.clone().with_size(2)).unwrap(), [1, 2]);
        assert!(read(b"x\n1\n2\n", &domain.with_size(3)).is_err());
    }
    /// The set of all columns with three rows. The JSON of this domain does not state the number of
    /// rows.
    #[derive(Clone, Debug, PartialEq)]
    struct Triples;
    opendp_core::named!(Triples as "Triples");
    impl Domain for Triples {
        type Carrier = Vec<i64>;
        fn member(&self, value: &Vec<i64>) -> bool {
            value.len() == 3
        }
        fn records(&self) -> Option<usize> {
            Some(3)
        }
        fn read_cells(&self, cells: &[&str]) -> Option<Result<Vec<i64>>> {
            VectorDomain::new(AtomDomain::<i64>::default()).read_cells(cells)
        }
    }
    #[test]
    fn the_number_of_records_of_any_domain_is_checked() {
        assert_eq!(read(b"x\n1\n2\n3\n", &Triples).unwrap(), [1, 2, 3]);
        assert_eq!(read(b"x\n1\n2\n", &Triples).unwrap_err(), crate::outside());
    }
    #[test]
    fn a_condition_on_all_rows_is_checked_for_the_whole_column() {
        let read = |last: &str| {
            let table = "x\n".to_owned() + &"1\n".repeat(CHUNK) + last;
            let column = CsvColumn::new(std::io::Cursor::new(table), None, &Ascending).unwrap();
            column.map(|chunk| Ok(chunk?.len())).collect::<Result<Vec<usize>>>()
        };
        assert_eq!(read("1\n").unwrap(), [CHUNK + 1]);
        assert_eq!(read("0\n").unwrap_err(), outside());
    }
    #[test]
    fn a_domain_without_rows_is_refused_before_a_line_is_read() {
        for table in [&b"x\n"[..], b"x\n1\n", b"x\n1\n2\n"] {
            let error = CsvColumn::new(table, None, &AtomDomain::<i64>::default()).unwrap_err();
            assert!(error.to_string().contains("is not a domain of rows"), "{error}");
        }
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
