//! Reads the cells of a Parquet file as texts.

use std::{fmt, fs::File};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use opendp_core::Result;

use crate::parquet::Table;
use crate::progress::{broken, undecoded};

/// The rows of a Parquet file as texts. The texts are the same as in a CSV table with the same
/// content.
///
/// A null cell is an empty text. If the type of a column has no text form, all its cells are empty
/// texts.
pub struct ParquetTexts {
    names: Vec<String>,
    batches: ParquetRecordBatchReader,
    columns: Vec<StringArray>,
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
    /// Read the cells of the next row.
    ///
    /// # Errors
    /// `Argument` when the records cannot be decoded, for example because a text is not UTF-8.
    pub fn next_row(&mut self) -> Result<Option<Vec<String>>> {
        while self.columns.first().is_none_or(|column| column.len() <= self.row) {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            (self.columns, self.row) = (texts(&batch.map_err(|_| undecoded())?)?, 0);
        }
        let row = self.row;
        self.row += 1;
        let cell = |column: &StringArray| match column.is_null(row) {
            true => String::new(),
            false => column.value(row).trim().to_owned(),
        };
        Ok(Some(self.columns.iter().map(cell).collect()))
    }
}
fn texts(batch: &RecordBatch) -> Result<Vec<StringArray>> {
    let text = |column: &ArrayRef| {
        let none = || new_null_array(&DataType::Utf8, batch.num_rows());
        let text = cast(column, &DataType::Utf8).unwrap_or_else(|_| none());
        text.as_string_opt::<i32>().cloned().ok_or_else(broken)
    };
    batch.columns().iter().map(text).collect()
}
impl fmt::Debug for ParquetTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetTexts").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}
