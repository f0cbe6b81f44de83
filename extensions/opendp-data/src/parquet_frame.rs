//! Reads several columns of a Parquet file as frames.

use std::{fmt, fs::File};

use opendp_core::{DataFrame, DataFrameDomain, Result};

use crate::csv_frame::places;
use crate::parquet::Table;
use crate::{ArrowFrame, Progress};

/// The chunks of several columns, which are read from a Parquet file. Each chunk is a member of a
/// domain of frames with a schema. Only the pages of these columns are read.
///
/// Each row of the file is one row of a frame. Every cell becomes a member of the domain of its
/// column, as in [`ParquetColumn`](crate::ParquetColumn).
pub struct ParquetFrame(ArrowFrame);
impl ParquetFrame {
    /// Read the columns that the schema of the domain lists.
    ///
    /// # Errors
    /// `Argument` when the file is not a Parquet file, or has a group without columns. `Argument`
    /// when the domain has no schema. `Argument` when the file lacks a column of the schema, or
    /// contains such a column twice. `Argument` when the type of such a column has no text form.
    /// `Argument` when a column of the domain has a cell type that cannot be read from Arrow, such
    /// as `IBig`.
    pub fn new(file: File, domain: &DataFrameDomain<String>) -> Result<Self> {
        let table = Table::open(file)?;
        let places = places(&table.names, domain)?;
        // The batches contain the columns in the order of the file. For each column of the schema,
        // `among` contains the position of this column in a batch.
        let mut order = places.clone();
        order.sort_unstable();
        let among = places.iter().map(|place| order.partition_point(|other| other < place));
        let (among, (batches, rows)) = (among.collect(), table.columns(places)?);
        let schema = batches.schema();
        ArrowFrame::at(&schema, among, Some(rows), Box::new(batches), domain).map(ParquetFrame)
    }
    /// Call `listener` with the progress, once for each batch of rows that is read.
    #[must_use]
    pub fn on_progress(self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        ParquetFrame(self.0.on_progress(listener))
    }
}
impl Iterator for ParquetFrame {
    type Item = Result<DataFrame<String>>;
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
impl fmt::Debug for ParquetFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ParquetFrame").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::sync::Arc;

    use super::*;
    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use opendp_core::{AtomDomain, Bounds, ColumnDomain, Domain, OptionDomain};
    use parquet::arrow::ArrowWriter;

    /// Make a file with the columns `z`, `unused`, `x` and `a`. In the schema of these tests, the
    /// columns have another order.
    fn file(rows: i64) -> File {
        let z = StringArray::from_iter((0..rows).map(|i| (i % 4 != 0).then(|| format!(" {i} "))));
        let x = Float64Array::from_iter((0..rows).map(|i| match i % 3 {
            0 => None,
            1 => Some(f64::NAN),
            _ => Some(i as f64),
        }));
        let columns: [(&str, ArrayRef); 4] = [
            ("z", Arc::new(z)),
            ("unused", Arc::new(Int64Array::from(vec![7; rows as usize]))),
            ("x", Arc::new(x)),
            ("a", Arc::new(Int64Array::from_iter_values(0..rows))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file.rewind().unwrap();
        file
    }
    fn schema() -> DataFrameDomain<String> {
        let bounded = AtomDomain::bounded(Bounds::new(0.5, 4.0).unwrap());
        DataFrameDomain::with_schema([
            ("a".to_owned(), ColumnDomain::new(AtomDomain::<i32>::default())),
            ("x".to_owned(), ColumnDomain::new(bounded)),
            ("z".to_owned(), ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default()))),
        ])
        .unwrap()
    }

    #[test]
    fn every_cell_becomes_a_member_of_its_own_column() {
        let frames = ParquetFrame::new(file(6), &schema().with_size(6)).unwrap();
        let frames = frames.collect::<Result<Vec<_>>>().unwrap();
        let [frame] = &frames[..] else { panic!("expected one chunk") };
        assert!(schema().member(frame));
        assert_eq!(frame.cells::<i32>(&"a".to_owned()).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(frame.cells::<f64>(&"x".to_owned()).unwrap(), [0.5, 0.5, 2.0, 0.5, 0.5, 4.0]);
        let z = frame.cells::<Option<i64>>(&"z".to_owned()).unwrap();
        assert_eq!(z, [None, Some(1), Some(2), Some(3), None, Some(5)]);
    }
    #[test]
    fn a_context_asks_about_the_table_of_a_file_and_of_batches() {
        use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};

        let unit = AtomDomain::bounded(Bounds::new(0.5, 4.0).unwrap());
        let columns = [
            ("a".to_owned(), ColumnDomain::new(AtomDomain::<i32>::default())),
            ("x".to_owned(), ColumnDomain::new(unit)),
        ];
        let domain = DataFrameDomain::with_schema(columns).unwrap();
        let sums = |table: Table| {
            let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(1e9).unwrap());
            let context = Context::new(table, unit, budget, Split::as_you_go()).unwrap();
            let groups = context.query().group_by(["a"]).keys("a", 0..3).others().impute("x", 0.0);
            let rows = groups.sum("x", (0.0, 4.0)).release().unwrap().rows(0.05).unwrap();
            rows.iter().map(|row| (row.value * 1e3).round() / 1e3).collect::<Vec<_>>()
        };
        let frames = ParquetFrame::new(file(6), &domain).unwrap();
        assert_eq!(sums(Table::from_frames(frames).unwrap()), [0.5, 0.5, 2.0, 5.0]);
        let column = |cells: Vec<f64>| Arc::new(Float64Array::from(cells)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([
            ("x", column(vec![2.0, 1.0, 9.0])),
            ("a", Arc::new(Int64Array::from(vec![2, 0, 7]))),
        ])
        .unwrap();
        let batches = [Ok(batch.clone()), Ok(batch.clone())].into_iter();
        let frames = crate::ArrowFrame::new(&batch.schema(), batches, &domain).unwrap();
        assert_eq!(sums(Table::from_frames(frames).unwrap()), [2.0, 0.0, 4.0, 8.0]);
    }
    #[test]
    fn many_chunks_hold_every_row_once_and_progress_is_told() {
        let rows = 150_000;
        let (tell, told) = std::sync::mpsc::channel();
        let frames = ParquetFrame::new(file(rows), &schema()).unwrap();
        let frames = frames.on_progress(move |progress| tell.send(progress).unwrap());
        let (mut seen, mut chunks) = (Vec::new(), 0);
        for frame in frames {
            let frame = frame.unwrap();
            seen.extend_from_slice(frame.cells::<i32>(&"a".to_owned()).unwrap());
            chunks += 1;
        }
        assert!(2 < chunks && seen.into_iter().map(i64::from).eq(0..rows));
        let told: Vec<Progress> = told.iter().collect();
        assert_eq!(told.len(), chunks);
        let last = told.last().unwrap();
        assert_eq!((last.rows, last.total_rows), (150_000, Some(150_000)));
    }
    #[test]
    fn a_table_without_records_is_one_empty_chunk_of_the_schema() {
        let frames = ParquetFrame::new(file(0), &schema()).unwrap();
        assert_eq!(frames.collect::<Vec<_>>(), [Ok(schema().empty())]);
    }
    #[test]
    fn refuses_what_is_not_parquet_and_schemas_that_do_not_fit() {
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"a,x,z\n1,2,3\n").unwrap();
        text.rewind().unwrap();
        assert_eq!(ParquetFrame::new(text, &schema()).unwrap_err().kind(), "Argument");
        assert!(ParquetFrame::new(file(3), &DataFrameDomain::default()).is_err());
        let flags = ColumnDomain::new(AtomDomain::<bool>::default());
        let more = schema().with_column("flag".into(), flags);
        let error = ParquetFrame::new(file(3), &more).unwrap_err().to_string();
        assert!(error.contains("`flag`") && error.contains("bool") && error.contains("4 columns"));
        let wrong = ParquetFrame::new(file(3), &schema().with_size(4)).unwrap();
        assert!(wrong.collect::<Result<Vec<_>>>().is_err());
    }
}
