//! Reads the cells of a Parquet file as texts.

use std::{fmt, fs::File};

use arrow::array::ArrayRef;
use opendp_core::Result;

use crate::arrow::texts;
use crate::parquet::Table;
use crate::parquet_batches::Batches;
use crate::progress::undecoded;

/// The rows of a Parquet file as texts. The texts are the same as in a CSV table with the same
/// content.
///
/// A null cell is an empty text. A value that cannot be written as a text, such as a date with a
/// very large year, is also an empty text. If the type of a column has no text form, all its cells
/// are empty texts.
pub struct ParquetTexts {
    names: Vec<String>,
    batches: Batches,
    /// The cells of the current batch, column by column.
    columns: Vec<Vec<Option<String>>>,
    row: usize,
}
impl ParquetTexts {
    /// Open a file.
    ///
    /// # Errors
    /// `Argument` when the file is not a Parquet file, or has a group without columns.
    pub fn open(file: File) -> Result<Self> {
        let table = Table::open(file)?;
        let names = table.names.clone();
        let (batches, _) = table.columns(0..names.len())?;
        Ok(ParquetTexts { names, batches, columns: Vec::new(), row: 0 })
    }
    /// Return the names of the columns of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }
    /// Read the cells of the next row. Return `None` at the end of the file.
    ///
    /// # Errors
    /// `Argument` when the records cannot be decoded, for example because a text is not UTF-8.
    pub fn next_row(&mut self) -> Result<Option<Vec<String>>> {
        while self.columns.first().is_none_or(|column| column.len() <= self.row) {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(|_| undecoded())?;
            // If the type of a column has no text form, its cells become empty texts.
            let cells =
                |array: &ArrayRef| texts(array).unwrap_or_else(|_| vec![None; batch.num_rows()]);
            (self.columns, self.row) = (batch.columns().iter().map(cells).collect(), 0);
        }
        let row = self.row;
        self.row += 1;
        let cell = |column: &mut Vec<Option<String>>| column.get_mut(row)?.take();
        Ok(Some(self.columns.iter_mut().map(|column| cell(column).unwrap_or_default()).collect()))
    }
}
impl fmt::Debug for ParquetTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetTexts").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;
    use std::sync::Arc;

    use super::*;
    use ::parquet::arrow::ArrowWriter;
    use arrow::array::{Date32Array, RecordBatch};

    #[test]
    fn a_date_without_a_text_is_one_empty_cell() {
        let dates = Arc::new(Date32Array::from(vec![0, i32::MAX, 0])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("day", dates)]).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file.rewind().unwrap();
        let mut rows = ParquetTexts::open(file).unwrap();
        for text in ["1970-01-01", "", "1970-01-01"] {
            assert_eq!(rows.next_row().unwrap().unwrap(), [text]);
        }
        assert_eq!(rows.next_row().unwrap(), None);
    }
}
