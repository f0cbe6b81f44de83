//! Reads the batches of a Parquet file. A panic of the Parquet library becomes an error.

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::panics::caught;
use crate::progress::wide;

/// The batches of a Parquet file. If the library panics, or if the file does not have the number of
/// rows that it states, the next batch is an error. Each later call also returns an error.
pub(crate) struct Batches {
    /// The reader, or `None` after an error.
    reader: Option<ParquetRecordBatchReader>,
    schema: SchemaRef,
    /// The number of rows that the file states, minus the number of rows that were read.
    left: u64,
}
impl Batches {
    /// Make the batches of a file. `rows` is the number of rows that the file states.
    pub(crate) fn new(reader: ParquetRecordBatchReader, rows: u64) -> Self {
        Batches { schema: reader.schema(), reader: Some(reader), left: rows }
    }
    /// Return the schema of each batch.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
    /// Read the next batch. Return an error if the file is damaged.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let damaged = || ArrowError::ParquetError("the file is damaged".into());
        let mut reader = self.reader.take().ok_or_else(damaged)?;
        let batch = caught(|| reader.next()).ok_or_else(damaged)?.transpose()?;
        self.left = match &batch {
            Some(batch) => self.left.checked_sub(wide(batch.num_rows())).ok_or_else(damaged)?,
            None if self.left == 0 => 0,
            None => return Err(damaged()),
        };
        self.reader = Some(reader);
        Ok(batch)
    }
}
impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, SeekFrom, Write};
    use std::sync::Arc;

    use super::*;
    use crate::{ParquetColumn, ParquetTexts, depends_on_records};
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    use arrow::array::Int64Array;
    use opendp_core::{AtomDomain, Result, VectorDomain};

    /// Write a file with the rows 1, 2 and 3. The footer states the number of rows `rows`, and that
    /// the column begins `moved` bytes before its true position.
    fn file(rows: i64, moved: i64) -> File {
        let column = Arc::new(Int64Array::from(vec![1, 2, 3])) as _;
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let read = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
        let column = read.row_group(0).column(0);
        let first = column.dictionary_page_offset().map(|first| first - moved);
        let column = column.clone().into_builder().set_dictionary_page_offset(first);
        let group = read.row_group(0).clone().into_builder().set_num_rows(rows);
        let group = group.set_column_metadata(vec![column.build().unwrap()]).build().unwrap();
        // The writer adds up the rows of all groups, and states this sum.
        let stated = read.into_builder().set_row_groups(vec![group]).build();
        // Readers find the footer from the end of the file, so the earlier footer can remain.
        file.seek(SeekFrom::End(0)).unwrap();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &stated).finish().unwrap();
        file.write_all(&footer).unwrap();
        file.rewind().unwrap();
        file
    }
    fn read(file: File) -> Result<Vec<i64>> {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        Ok(ParquetColumn::new(file, None, &domain)?.collect::<Result<Vec<_>>>()?.concat())
    }

    #[test]
    fn a_file_with_fewer_rows_than_it_states_is_an_error() {
        assert_eq!(read(file(3, 0)).unwrap(), [1, 2, 3]);
        for rows in [4, i64::MAX] {
            assert!(depends_on_records(&read(file(rows, 0)).unwrap_err()), "{rows}");
        }
        assert!(read(file(-1, 0)).unwrap_err().to_string().contains("not a Parquet file"));
    }
    #[test]
    fn a_damaged_file_is_an_error_and_no_panic() {
        // The library panics if the stated start of a column is before the start of the file.
        let error = read(file(3, 1 << 20)).unwrap_err().to_string();
        assert!(error.contains("the records cannot be decoded"), "{error}");
        let mut texts = ParquetTexts::open(file(3, 1 << 20)).unwrap();
        for _ in 0..2 {
            assert!(texts.next_row().is_err());
        }
    }
}
