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
use crate::panics::{as_texts, caught};
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
    /// `Argument` when the type of the column has no text form, when a dictionary is inside of
    /// another type, or when an erased domain is not a domain of rows of atoms. These errors do not
    /// depend on the rows.
    fn read_array(&self, array: &ArrayRef) -> Result<Self::Carrier>;
}

/// An atomic type whose values can be read from an Arrow array.
trait ArrowAtom: Atom {
    /// The Arrow type of a column that is read directly, without a conversion to text.
    const NATIVE: DataType;
    /// The Arrow types of columns that are widened to `NATIVE`. Every value of these types converts
    /// to `NATIVE` exactly.
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
    // A dictionary inside of another type cannot be separated from the cells.
    if let DataType::RunEndEncoded(_, item) | DataType::FixedSizeList(item, _) = array.data_type()
        && has_dictionary(item.data_type())
    {
        let found = array.data_type();
        let reason = format!(
            "expected a column whose dictionary is not inside of another type, found one of type \
             {found}; replace the dictionary by its values"
        );
        return Err(Error::argument("column", reason));
    }
    // If the cast fails or panics, for example because the total length of the texts is too large,
    // the cells are read one by one below. So an error does not depend on the cells.
    if T::NARROWER.contains(array.data_type())
        && let Some(Ok(native)) = caught(|| cast(array, &T::NATIVE))
        && let Some(values) = T::read(&native)
    {
        return Ok(values);
    }
    let cells = |array: &ArrayRef| {
        let text = as_texts(array).map_err(unreadable)?;
        let text: &StringArray = text.as_string_opt().ok_or_else(broken)?;
        Ok(text.iter().map(|cell| T::from_cell(cell?.trim())).collect::<Vec<_>>())
    };
    match cells(array) {
        // The cast fails if a cell cannot be written as text, for example a date with a very large
        // year. So read the cells one by one. A cell that cannot be written as text is `None`. An
        // error depends only on the type.
        Err(_) if can_cast_types(array.data_type(), &DataType::Utf8) => {
            let cell = |row| cells(&array.slice(row, 1)).ok()?.pop()?;
            Ok((0..array.len()).map(cell).collect())
        }
        read => read,
    }
}
/// Return whether a type is a dictionary, or contains a dictionary.
fn has_dictionary(found: &DataType) -> bool {
    match found {
        DataType::Dictionary(..) => true,
        DataType::RunEndEncoded(_, item) | DataType::FixedSizeList(item, _) => {
            has_dictionary(item.data_type())
        }
        _ => false,
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
mod tests;
