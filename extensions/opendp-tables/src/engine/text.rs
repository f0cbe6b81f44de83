//! Write the cells of results as text.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use opendp_core::{Error, Result};

use super::Cells;

/// Write the rows of batches as text.
///
/// # Errors
/// `FailedFunction` when a column cannot be written as text.
pub fn cells(batches: &[RecordBatch]) -> Result<Vec<Cells>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(text).collect::<Result<Vec<_>>>()?;
        rows.extend((0..batch.num_rows()).map(|row| {
            let cell = |column: &Vec<Option<String>>| column.get(row).cloned().flatten();
            columns.iter().map(cell).collect::<Cells>()
        }));
    }
    Ok(rows)
}
fn text(column: &ArrayRef) -> Result<Vec<Option<String>>> {
    let column =
        cast(column, &DataType::Utf8).map_err(|error| Error::FailedFunction(error.to_string()))?;
    let column = column.as_string::<i32>();
    Ok((0..column.len())
        .map(|row| column.is_valid(row).then(|| column.value(row).to_owned()))
        .collect())
}
