//! Reads several columns of Arrow record batches as frames.

use std::fmt;

use arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use opendp_core::{
    AtomDomain, Column, ColumnDomain, DataFrame, DataFrameDomain, Domain, Error, OptionDomain,
    Result, VectorDomain,
};

use crate::csv_frame::places;
use crate::progress::{Meter, broken, undecoded};
use crate::{ArrowDomain, Progress};

/// Return the names of the columns of a schema.
pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}
/// Return the batch if its columns have the given names, in this order. Columns are read by their
/// positions in `names`, so a batch with other columns is an error.
pub(crate) fn checked(
    batch: Result<RecordBatch, ArrowError>,
    names: &[String],
) -> Result<RecordBatch> {
    // The source can check each cell while it decodes a batch, so a failure can depend on a record.
    let batch = batch.map_err(|_| undecoded())?;
    let found = batch.schema_ref().fields().iter().map(|field| field.name());
    if found.eq(names) {
        return Ok(batch);
    }
    let reason = "a batch has other columns than the schema: give all batches the same columns, in \
                  the order of the schema";
    Err(Error::argument("data", reason))
}
/// Read a column of a frame from an array. Errors state the name of the column.
fn read_column(name: &str, domain: &ColumnDomain, array: &ArrayRef) -> Result<Column> {
    read(domain, array).map_err(|error| error.at(format!("column `{name}`")))
}
/// Read a column of a frame from an array, by the rules of [`ArrowDomain`].
fn read(domain: &ColumnDomain, array: &ArrayRef) -> Result<Column> {
    macro_rules! first {
        ($($t:ident)*) => {$(
            if let Some(cells) = domain.cell::<$t>() {
                let cells: &AtomDomain<$t> = cells;
                return VectorDomain::new(cells.clone()).read_array(array).map(Column::new);
            }
            if let Some(cells) = domain.cell::<Option<$t>>() {
                let cells: &OptionDomain<AtomDomain<$t>> = cells;
                return VectorDomain::new(cells.clone()).read_array(array).map(Column::new);
            }
        )*};
    }
    first!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool String);
    let found = domain.cell_type();
    Err(Error::argument("data", format!("expected a schema of atoms, found a column of {found}")))
}

/// The chunks of several columns, which are read from a stream of record batches. Each chunk is a
/// member of a domain of frames with a schema.
///
/// Each row of a batch is one row of a frame. Every cell becomes a member of the domain of its
/// column, as in [`ArrowColumn`](crate::ArrowColumn). A chunk has the same errors as a chunk of an
/// `ArrowColumn`.
pub struct ArrowFrame {
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    names: Vec<String>,
    /// For each column of the domain's schema, its position in a batch.
    places: Vec<usize>,
    domain: DataFrameDomain<String>,
    meter: Meter,
    begun: bool,
    ended: bool,
}
impl ArrowFrame {
    /// Read the columns that the schema of the domain lists.
    ///
    /// # Errors
    /// `Argument` when the domain has no schema. `Argument` when the schema of the batches lacks a
    /// column of the domain, or contains such a column twice. `Argument` when the type of such a
    /// column has no text form, or has a dictionary inside of another type. `Argument` when a
    /// column of the domain has a cell type that cannot be read from Arrow, such as `IBig`.
    pub fn new(
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        domain: &DataFrameDomain<String>,
    ) -> Result<Self> {
        let places = places(&names(schema), domain)?;
        ArrowFrame::at(schema, places, None, Box::new(batches), domain)
    }
    /// Read the columns at the positions `places` from each batch. Entry `i` of `places` belongs to
    /// column `i` of the domain's schema. `schema` is the schema of each batch. The types of the
    /// columns are checked before rows are read.
    pub(crate) fn at(
        schema: &Schema,
        places: Vec<usize>,
        total_rows: Option<u64>,
        batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
        domain: &DataFrameDomain<String>,
    ) -> Result<Self> {
        for ((name, cells), place) in domain.schema().unwrap_or_default().iter().zip(&places) {
            let field = schema.fields().get(*place).ok_or_else(broken)?;
            read_column(name, cells, &new_empty_array(field.data_type()))?;
        }
        let (names, meter) = (names(schema), Meter::new(domain.records(), total_rows));
        let domain = domain.clone();
        Ok(ArrowFrame { batches, names, places, domain, meter, begun: false, ended: false })
    }
    /// Call `listener` with the progress, once for each batch.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.meter.listener = Some(Box::new(listener));
        self
    }
    fn chunk(&mut self) -> Result<Option<DataFrame<String>>> {
        let Some(batch) = self.batches.next() else {
            self.ended = true;
            self.meter.end()?;
            // A table without rows gives one chunk. This chunk has the columns, and no rows.
            return Ok((!self.begun).then(|| self.domain.empty()));
        };
        self.begun = true;
        let batch = checked(batch, &self.names)?;
        let (mut columns, mut bytes) = (Vec::new(), 0);
        for ((name, domain), place) in
            self.domain.schema().unwrap_or_default().iter().zip(&self.places)
        {
            let array = batch.columns().get(*place).ok_or_else(broken)?;
            bytes += array.get_array_memory_size();
            columns.push((name.clone(), read_column(name, domain, array)?));
        }
        self.meter.add(batch.num_rows(), bytes);
        DataFrame::new(columns).map(Some)
    }
}
impl Iterator for ArrowFrame {
    type Item = Result<DataFrame<String>>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let chunk = self.chunk().transpose();
        self.ended |= matches!(chunk, Some(Err(_)));
        chunk
    }
}
impl fmt::Debug for ArrowFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowFrame").field("domain", &self.domain).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Field};
    use opendp_core::Bounds;

    fn schema() -> DataFrameDomain<String> {
        let unit = AtomDomain::bounded(Bounds::new(0.5, 1.0).unwrap());
        DataFrameDomain::with_schema([
            ("x".to_owned(), ColumnDomain::new(unit)),
            ("y".to_owned(), ColumnDomain::new(OptionDomain::new(AtomDomain::<i32>::default()))),
        ])
        .unwrap()
    }
    fn batch() -> (Schema, RecordBatch) {
        let schema = Schema::new(vec![
            Field::new("y", DataType::Utf8, true),
            Field::new("other", DataType::Int64, true),
            Field::new("x", DataType::Float64, true),
        ]);
        let y = StringArray::from(vec![Some(" 5"), Some("1e400"), None]);
        let x = Float64Array::from(vec![Some(f64::NAN), Some(0.75), None]);
        let columns: Vec<ArrayRef> =
            vec![Arc::new(y), Arc::new(Int64Array::from(vec![0; 3])), Arc::new(x)];
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns).unwrap();
        (schema, batch)
    }

    #[test]
    fn every_cell_becomes_a_member() {
        let (arrow, batch) = batch();
        let batches = vec![Ok(batch.clone()), Ok(batch)].into_iter();
        let frames = ArrowFrame::new(&arrow, batches, &schema().with_size(6)).unwrap();
        let frames = frames.collect::<Result<Vec<_>>>().unwrap();
        assert!(frames.len() == 2 && frames.iter().all(|frame| schema().member(frame)));
        let y = frames[1].cells::<Option<i32>>(&"y".to_owned()).unwrap();
        assert_eq!(y, [Some(5), None, None]);
        assert_eq!(frames[0].cells::<f64>(&"x".to_owned()).unwrap(), [0.5, 0.75, 0.5]);
    }
    #[test]
    fn a_table_without_records_is_one_empty_chunk_of_the_schema() {
        let (arrow, _) = batch();
        let frames = ArrowFrame::new(&arrow, std::iter::empty(), &schema()).unwrap();
        assert_eq!(frames.collect::<Vec<_>>(), [Ok(schema().empty())]);
    }
    #[test]
    fn a_column_of_a_wrong_type_is_the_same_error_with_and_without_rows() {
        use crate::ArrowColumn;
        use arrow::array::StructArray;
        let item = Arc::new(Field::new("item", DataType::Int64, true));
        let cells: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let structs = StructArray::from(vec![(item, cells)]);
        let x: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        let batch = RecordBatch::try_from_iter([("x", x), ("y", Arc::new(structs) as ArrayRef)]);
        let batch = batch.unwrap();
        let column = VectorDomain::new(AtomDomain::<i32>::default());
        let errors = [batch.slice(0, 0), batch].map(|batch| {
            let (arrow, batches) = (batch.schema(), || vec![Ok(batch.clone())].into_iter());
            let frame = ArrowFrame::new(&arrow, batches(), &schema());
            let column = ArrowColumn::new(&arrow, batches(), Some("y"), &column);
            (frame.unwrap_err(), column.unwrap_err())
        });
        assert_eq!(errors[0], errors[1]);
    }
    #[test]
    fn a_list_is_a_cell_that_does_not_read() {
        let lists = Int64Array::from(vec![5, 6]);
        let offsets = OffsetBuffer::from_lengths([1, 1]);
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let lists = ListArray::new(item, offsets, Arc::new(lists), None);
        let x = Float64Array::from(vec![0.5, 0.75]);
        let columns: [(&str, ArrayRef); 2] = [("x", Arc::new(x)), ("y", Arc::new(lists))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let arrow = batch.schema();
        let mut frames = ArrowFrame::new(&arrow, vec![Ok(batch)].into_iter(), &schema()).unwrap();
        let frame = frames.next().unwrap().unwrap();
        assert_eq!(frame.cells::<Option<i32>>(&"y".to_owned()).unwrap(), [None, None]);
    }
    #[test]
    fn a_batch_with_other_columns_than_the_schema_is_an_error() {
        let (arrow, batch) = batch();
        let swapped = batch.project(&[0, 2, 1]).unwrap();
        for (batch, right) in [(batch, true), (swapped, false)] {
            let mut frames =
                ArrowFrame::new(&arrow, vec![Ok(batch)].into_iter(), &schema()).unwrap();
            assert_eq!(frames.next().unwrap().is_ok(), right);
        }
    }
    #[test]
    fn a_wrong_size_is_an_error_at_the_end() {
        let (arrow, batch) = batch();
        let batches = vec![Ok(batch)].into_iter();
        let mut frames = ArrowFrame::new(&arrow, batches, &schema().with_size(4)).unwrap();
        assert!(frames.next().unwrap().is_ok());
        assert!(frames.next().unwrap().is_err() && frames.next().is_none());
    }
    #[test]
    fn asks_for_a_schema_whose_columns_the_batches_have() {
        let (arrow, _) = batch();
        let none = || std::iter::empty();
        let any = DataFrameDomain::default();
        assert_eq!(ArrowFrame::new(&arrow, none(), &any).unwrap_err().kind(), "Argument");
        let cells = ColumnDomain::new(AtomDomain::<bool>::default());
        let more = schema().with_column("z".into(), cells);
        assert_eq!(ArrowFrame::new(&arrow, none(), &more).unwrap_err().kind(), "Argument");
    }
}
