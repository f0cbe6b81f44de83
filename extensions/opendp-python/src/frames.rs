//! Converts tables to frames. A table is a dictionary of columns, or a table of pandas, Polars or
//! pyarrow.

use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Column, DataFrame, DataFrameDomain, HashableAtom};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::values::Cell;

/// Convert a table to a frame whose columns have the types of the domain. The frame can be outside
/// of the domain. `None` means that the domain has no schema, that the value is not a table, or
/// that a column or a cell does not fit.
pub(crate) fn frame(table: &Bound<'_, PyAny>, domain: &AnyDomain) -> Option<AnyValue> {
    macro_rules! names {
        ($($k:ident)*) => {$(
            if let Ok(domain) = domain.downcast_ref::<DataFrameDomain<$k>>() {
                return of_schema(table, domain).map(AnyValue::new);
            }
        )*};
    }
    names!(String bool i32 i64 u32 u64 usize);
    None
}
fn of_schema<K: HashableAtom + Cell>(
    table: &Bound<'_, PyAny>,
    domain: &DataFrameDomain<K>,
) -> Option<DataFrame<K>> {
    let schema = domain.schema()?;
    let read = table.py().import("opendp_rs._columns").ok()?.getattr("as_columns").ok()?;
    let columns = read.call1((table,)).ok()?.cast_into::<PyDict>().ok()?;
    if columns.len() != schema.len() {
        return None;
    }
    let mut found = Vec::with_capacity(schema.len());
    for (name, cells) in columns.iter() {
        let name = K::from_python(&name)?;
        let cell_type = domain.column(&name)?.cell_type().to_string();
        found.push((name, column(&cells, &cell_type)?));
    }
    DataFrame::new(found).ok()
}
/// Convert a list of cells to a column of a type.
fn column(cells: &Bound<'_, PyAny>, cell_type: &str) -> Option<Column> {
    macro_rules! types {
        ($($t:ident)*) => {$(
            if cell_type == stringify!($t) {
                return Vec::<$t>::from_python(cells).map(Column::new);
            }
            if cell_type == concat!("Option<", stringify!($t), ">") {
                return Vec::<Option<$t>>::from_python(cells).map(Column::new);
            }
        )*};
    }
    types!(bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
    None
}
