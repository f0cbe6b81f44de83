//! Reads a column of Arrow record batches.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, new_empty_array};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Schema, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Atom, AtomDomain, Carrier, Domain, Error, OptionDomain, Result, VectorDomain};

use crate::Progress;
use crate::arrow_frame::{checked, names};
use crate::progress::{Meter, broken, outside, place};

/// A domain whose members can be read from an Arrow column.
///
/// A column that has the type of the domain is read directly. A column of a narrower number type is
/// widened. Any other column is converted to text, and read like the cells of a CSV table. The
/// [crate](crate) documents how a cell that is null or does not parse becomes a member.
pub trait ArrowDomain: Domain {
    /// Read the rows of an array.
    ///
    /// # Errors
    /// `Argument` when the type of the column has no text form, or when an erased domain is not a
    /// domain of rows of atoms. These errors do not depend on the rows.
    fn read_array(&self, array: &ArrayRef) -> Result<Self::Carrier>;
}

/// An atomic type whose values can be read from an Arrow array.
trait ArrowAtom: Atom {
    /// The Arrow type of a column that is read directly, without a conversion to text.
    const NATIVE: DataType;
    /// Other Arrow types. Every value of these types converts to `NATIVE` exactly.
    const NARROWER: &'static [DataType] = &[];
    /// Read a column whose type is `NATIVE`. Return `None` for a column of another type.
    fn read(array: &ArrayRef) -> Option<Vec<Option<Self>>>;
}
fn primitive<A: ArrowPrimitiveType>(array: &ArrayRef) -> Option<Vec<Option<A::Native>>> {
    Some(array.as_primitive_opt::<A>()?.iter().collect())
}
macro_rules! numbers {
    ($($t:ident $arrow:ident $native:ident [$($narrower:ident),*];)*) => {$(
        impl ArrowAtom for $t {
            const NATIVE: DataType = DataType::$native;
            const NARROWER: &'static [DataType] = &[$(DataType::$narrower),*];
            fn read(array: &ArrayRef) -> Option<Vec<Option<Self>>> {
                primitive::<$arrow>(array)
            }
        }
    )*};
}
numbers! {
    i8 Int8Type Int8 [];
    i16 Int16Type Int16 [Int8, UInt8];
    i32 Int32Type Int32 [Int8, Int16, UInt8, UInt16];
    i64 Int64Type Int64 [Int8, Int16, Int32, UInt8, UInt16, UInt32];
    u8 UInt8Type UInt8 [];
    u16 UInt16Type UInt16 [UInt8];
    u32 UInt32Type UInt32 [UInt8, UInt16];
    u64 UInt64Type UInt64 [UInt8, UInt16, UInt32];
    f32 Float32Type Float32 [Int8, Int16, UInt8, UInt16];
    f64 Float64Type Float64 [Int8, Int16, Int32, UInt8, UInt16, UInt32, Float32];
}
macro_rules! words {
    ($($t:ident as $same:ident;)*) => {$(
        impl ArrowAtom for $t {
            const NATIVE: DataType = $same::NATIVE;
            const NARROWER: &'static [DataType] = $same::NARROWER;
            fn read(array: &ArrayRef) -> Option<Vec<Option<Self>>> {
                let wide = |value: $same| $t::try_from(value).ok();
                Some($same::read(array)?.into_iter().map(|value| value.and_then(wide)).collect())
            }
        }
    )*};
}
words! { isize as i64; usize as u64; i128 as i64; u128 as u64; }
impl ArrowAtom for bool {
    const NATIVE: DataType = DataType::Boolean;
    fn read(array: &ArrayRef) -> Option<Vec<Option<Self>>> {
        Some(array.as_boolean_opt()?.iter().collect())
    }
}
impl ArrowAtom for String {
    const NATIVE: DataType = DataType::Utf8;
    const NARROWER: &'static [DataType] = &[DataType::LargeUtf8, DataType::Utf8View];
    fn read(array: &ArrayRef) -> Option<Vec<Option<Self>>> {
        let text: &StringArray = array.as_string_opt()?;
        Some(text.iter().map(|cell| cell.map(|cell| cell.trim().to_owned())).collect())
    }
}

/// Read a column as values of type `T`. A cell that is null or does not parse becomes `None`.
fn values<T: ArrowAtom>(array: &ArrayRef) -> Result<Vec<Option<T>>> {
    let unreadable = |_| {
        let found = array.data_type();
        Error::argument("column", format!("expected a column of values, found one of type {found}"))
    };
    if let Some(values) = T::read(array) {
        return Ok(values);
    }
    // A cast of a slice casts all values of its dictionary, and one bad value makes the cast fail.
    // So read each value once, and look up the value of each cell.
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let known = values::<T>(dictionary.values())?;
        let keys = if known.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        let cell = |row: usize| match dictionary.keys().is_null(row) {
            true => None,
            false => known.get(*keys.get(row)?)?.clone(),
        };
        return Ok((0..array.len()).map(cell).collect());
    }
    // If the cast fails, for example because the total length of the texts is too large, the cells
    // are read one by one below. So an error does not depend on the cells.
    if T::NARROWER.contains(array.data_type())
        && let Ok(native) = cast(array, &T::NATIVE)
        && let Some(values) = T::read(&native)
    {
        return Ok(values);
    }
    let cells = |array: &ArrayRef| {
        let text = crate::panics::as_texts(array).map_err(unreadable)?;
        let text: &StringArray = text.as_string_opt().ok_or_else(broken)?;
        Ok(text.iter().map(|cell| T::from_cell(cell?.trim())).collect::<Vec<_>>())
    };
    match cells(array) {
        // The cast fails if a cell has no text, such as a date with a very large year. So read the
        // cells one by one: such a cell is `None`, and an error depends only on the type.
        Err(_) if can_cast_types(array.data_type(), &DataType::Utf8) => {
            let cell = |row| cells(&array.slice(row, 1)).ok()?.pop()?;
            Ok((0..array.len()).map(cell).collect())
        }
        read => read,
    }
}
/// Read a column as texts. A cell that is null or has no text becomes `None`.
pub(crate) fn texts(array: &ArrayRef) -> Result<Vec<Option<String>>> {
    values(array)
}
impl<T: ArrowAtom> ArrowDomain for VectorDomain<AtomDomain<T>> {
    fn read_array(&self, array: &ArrayRef) -> Result<Vec<T>> {
        Ok(values(array)?.into_iter().map(|value| self.element().admit(value)).collect())
    }
}
impl<T: ArrowAtom> ArrowDomain for VectorDomain<OptionDomain<AtomDomain<T>>> {
    fn read_array(&self, array: &ArrayRef) -> Result<Vec<Option<T>>> {
        Ok(values(array)?.into_iter().map(|value| self.element().admit(value)).collect())
    }
}
impl ArrowDomain for AnyDomain {
    fn read_array(&self, array: &ArrayRef) -> Result<AnyValue> {
        macro_rules! first {
            ($($t:ident)*) => {$(
                if let Ok(domain) = self.downcast_ref::<VectorDomain<AtomDomain<$t>>>() {
                    return domain.read_array(array).map(AnyValue::new);
                }
                if let Ok(domain) =
                    self.downcast_ref::<VectorDomain<OptionDomain<AtomDomain<$t>>>>()
                {
                    return domain.read_array(array).map(AnyValue::new);
                }
            )*};
        }
        first!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool String);
        Err(Error::argument(
            "data",
            format!("expected a domain of rows of atoms, found {}", self.to_json()),
        ))
    }
}

/// The chunks of one column, which is read from a stream of record batches. Each chunk is a member
/// of a domain of rows.
///
/// The columns of each batch must have the names of the schema, in the same order. A batch with
/// other columns is an error. If the stream returns an error in place of a batch, the error of the
/// chunk may depend on the records ([`depends_on_records`](crate::depends_on_records)). If the
/// domain does not [recombine](Domain::recombines), all rows are one chunk.
pub struct ArrowColumn<D> {
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    names: Vec<String>,
    place: usize,
    domain: D,
    meter: Meter,
    begun: bool,
    ended: bool,
}
impl<D: ArrowDomain> ArrowColumn<D> {
    /// Read a column by its name. The name is optional if there is only one column.
    ///
    /// # Errors
    /// `Argument` when the schema has no column or several columns with this name. `Argument` when
    /// no name is given, and the schema does not have exactly one column. Further errors are the
    /// errors of [`ArrowDomain::read_array`].
    pub fn new(
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        column: Option<&str>,
        domain: &D,
    ) -> Result<Self> {
        let place = place(&names(schema), column)?;
        ArrowColumn::at(schema, place, None, Box::new(batches), domain)
    }
    /// Read the column at position `place` of each batch. The type of the column is checked first,
    /// so an error about the type does not depend on whether the table has rows.
    pub(crate) fn at(
        schema: &Schema,
        place: usize,
        total_rows: Option<u64>,
        batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
        domain: &D,
    ) -> Result<Self> {
        let field = schema.fields().get(place).ok_or_else(broken)?;
        domain.read_array(&new_empty_array(field.data_type()))?;
        let (names, meter) = (names(schema), Meter::new(domain.records(), total_rows));
        let domain = domain.clone();
        Ok(ArrowColumn { batches, names, place, domain, meter, begun: false, ended: false })
    }
    /// Call `listener` with the progress, once for each batch.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.meter.listener = Some(Box::new(listener));
        self
    }
    /// Read the next chunk. If the domain can have a condition on all rows, read all rows at once.
    fn chunk(&mut self) -> Result<Option<D::Carrier>> {
        let Some(mut rows) = self.batch()? else { return Ok(None) };
        if self.domain.recombines() {
            return Ok(Some(rows));
        }
        while !self.ended {
            if let Some(more) = self.batch()? {
                Carrier::append_rows(&mut rows, Carrier::chunk(&more));
            }
        }
        if self.domain.member(&rows) { Ok(Some(rows)) } else { Err(outside()) }
    }
    fn batch(&mut self) -> Result<Option<D::Carrier>> {
        let Some(batch) = self.batches.next() else {
            self.ended = true;
            self.meter.end()?;
            if self.begun {
                return Ok(None);
            }
            return self.domain.read_array(&new_empty_array(&DataType::Utf8)).map(Some);
        };
        self.begun = true;
        let batch = checked(batch, &self.names)?;
        let column = batch.columns().get(self.place).ok_or_else(broken)?;
        self.meter.add(column.len(), column.get_array_memory_size());
        self.domain.read_array(column).map(Some)
    }
}
impl<D: ArrowDomain> Iterator for ArrowColumn<D> {
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
impl<D: fmt::Debug> fmt::Debug for ArrowColumn<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowColumn").field("domain", &self.domain).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::progress::tests::Ascending;
    use arrow::array::{
        BooleanArray, Date32Array, DictionaryArray, Float64Array, Int8Array, Int64Array, ListArray,
    };
    use arrow::datatypes::{Field, Int32Type};
    use opendp_core::Bounds;

    #[test]
    fn a_date_beyond_the_calendar_is_an_unreadable_cell() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), Some(i32::MAX), None]));
        let texts = VectorDomain::new(OptionDomain::new(AtomDomain::<String>::default()));
        let read = texts.read_array(&dates).unwrap();
        assert_eq!(read, [Some("1970-01-01".to_owned()), None, None]);
    }
    #[test]
    fn a_value_of_a_dictionary_without_a_text_affects_only_its_own_cells() {
        let dates = |days: Vec<i32>, keys: Vec<Option<i8>>| -> ArrayRef {
            let days = Arc::new(Date32Array::from(days));
            Arc::new(DictionaryArray::new(Int8Array::from(keys), days))
        };
        let texts = VectorDomain::new(OptionDomain::new(AtomDomain::<String>::default()));
        let day = || Some("1970-01-01".to_owned());
        let bad = dates(vec![0, i32::MAX], vec![Some(0), Some(1), None, Some(0)]);
        assert_eq!(texts.read_array(&bad).unwrap(), [day(), None, None, day()]);
        // The controls: a dictionary whose only value has a text, and a dictionary without values.
        let good = dates(vec![0], vec![Some(0), Some(0)]);
        assert_eq!(texts.read_array(&good).unwrap(), [day(), day()]);
        assert_eq!(texts.read_array(&dates(vec![], vec![None])).unwrap(), [None]);
    }
    fn rows<T: ArrowAtom>(array: impl Array + 'static) -> Vec<T> {
        let array: ArrayRef = Arc::new(array);
        VectorDomain::new(AtomDomain::<T>::non_nan()).read_array(&array).unwrap()
    }
    #[test]
    fn every_cell_becomes_a_member() {
        let longs = Int64Array::from(vec![Some(1), None, Some(1 << 40), Some(-1)]);
        assert_eq!(rows::<i64>(longs.clone()), [1, 0, 1 << 40, -1]);
        assert_eq!(rows::<i32>(longs.clone()), [1, 0, 0, -1]);
        assert_eq!(rows::<u8>(longs.clone()), [1, 0, 0, 0]);
        assert_eq!(rows::<String>(longs.clone()), ["1", "", "1099511627776", "-1"]);
        let array: ArrayRef = Arc::new(longs);
        let bounded = VectorDomain::new(AtomDomain::bounded(Bounds::new(2_i64, 9).unwrap()));
        assert_eq!(bounded.read_array(&array).unwrap(), [2, 2, 9, 2]);
        let options = VectorDomain::new(OptionDomain::new(AtomDomain::<i32>::default()));
        assert_eq!(options.read_array(&array).unwrap(), [Some(1), None, None, Some(-1)]);
    }
    #[test]
    fn a_column_of_another_type_reads_as_its_text() {
        let doubles = Float64Array::from(vec![1.5, f64::NAN, f64::INFINITY, -0.0]);
        assert_eq!(rows::<f64>(doubles.clone()), [1.5, 0.0, f64::INFINITY, 0.0]);
        assert_eq!(rows::<i32>(doubles.clone()), [0, 0, 0, 0]);
        let text = StringArray::from(vec![Some(" 5"), Some("1e400"), Some("٣"), None, Some("")]);
        assert_eq!(rows::<i32>(text.clone()), [5, 0, 0, 0, 0]);
        assert_eq!(rows::<f64>(text)[1], f64::INFINITY);
        let flags = BooleanArray::from(vec![Some(true), None]);
        assert_eq!(rows::<bool>(flags.clone()), [true, false]);
        assert_eq!(rows::<String>(flags), ["true", ""]);
    }
    #[test]
    fn a_column_without_text_is_refused_whatever_its_rows_are() {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]);
        let array: ArrayRef = Arc::new(list);
        let domain = VectorDomain::new(AtomDomain::<i32>::default());
        // An `i32` cannot be read from a list. So the result must be the default 0, or an error.
        match domain.read_array(&array) {
            Ok(rows) => assert_eq!(rows, [0]),
            Err(error) => assert_eq!(error.kind(), "Argument"),
        }
    }
    #[test]
    fn streams_batches_of_a_named_column_typed_and_erased() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
        ]));
        let batch = |value: i64| {
            let (a, b) = (Int64Array::from(vec![0; 3]), Int64Array::from(vec![value; 3]));
            RecordBatch::try_new(schema.clone(), vec![Arc::new(a), Arc::new(b)])
        };
        let domain = VectorDomain::new(AtomDomain::<i64>::default()).with_size(6);
        let batches = || vec![batch(1), batch(2)].into_iter();
        let column = ArrowColumn::new(&schema, batches(), Some("b"), &domain).unwrap();
        let rows: Result<Vec<Vec<i64>>> = column.collect();
        assert_eq!(rows.unwrap().concat(), [1, 1, 1, 2, 2, 2]);
        let short = domain.clone().with_size(5);
        let mut column = ArrowColumn::new(&schema, batches(), Some("b"), &short).unwrap();
        assert!(column.nth(2).unwrap().is_err() && column.next().is_none());
        assert!(ArrowColumn::new(&schema, batches(), Some("c"), &domain).is_err());
        assert!(ArrowColumn::new(&schema, batches(), None, &domain).is_err());
    }
    #[test]
    fn a_condition_on_all_rows_is_checked_for_all_batches_together() {
        let read = |second: i64| {
            let batch = |x: i64| {
                RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![x])) as ArrayRef)])
            };
            let (schema, batches) = (batch(0).unwrap().schema(), vec![batch(2), batch(second)]);
            let column = ArrowColumn::new(&schema, batches.into_iter(), None, &Ascending).unwrap();
            column.collect::<Result<Vec<_>>>()
        };
        assert_eq!(read(3).unwrap(), [[2, 3]]);
        assert_eq!(read(1).unwrap_err(), outside());
    }
    #[test]
    fn a_batch_that_fails_or_has_other_columns_than_the_schema_is_an_error() {
        let cell = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let batch = |first: &str, second: &str| {
            RecordBatch::try_from_iter([(first, cell(1)), (second, cell(2))])
        };
        let schema = batch("a", "b").unwrap().schema();
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let read = |batch: Result<RecordBatch, ArrowError>| {
            let batches = vec![batch].into_iter();
            ArrowColumn::new(&schema, batches, Some("a"), &domain).unwrap().next().unwrap()
        };
        assert_eq!(read(batch("a", "b")).unwrap(), [1]);
        let error = read(batch("b", "a")).unwrap_err();
        assert!(!crate::depends_on_records(&error), "{error}");
        let error = read(Err(ArrowError::ParquetError(String::new()))).unwrap_err();
        assert!(crate::depends_on_records(&error), "{error}");
    }
}
