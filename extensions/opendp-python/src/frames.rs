//! Converts tables to frames. A table is a dictionary of columns, or a table of pandas, Polars or
//! pyarrow.

use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Column, DataFrame, DataFrameDomain, HashableAtom, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callbacks::unless_stopped;
use crate::columns::texts;
use crate::values::Cell;

/// Convert a table to a frame whose columns have the types of the domain. The frame can be outside
/// of the domain. `None` means that the domain has no schema, that the value is not a table, or
/// that a column or a cell does not fit.
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn frame(table: &Bound<'_, PyAny>, domain: &AnyDomain) -> Result<Option<AnyValue>> {
    macro_rules! names {
        ($($k:ident)*) => {$(
            if let Ok(domain) = domain.downcast_ref::<DataFrameDomain<$k>>() {
                return Ok(of_schema(table, domain)?.map(AnyValue::new));
            }
        )*};
    }
    names!(String bool i32 i64 u32 u64 usize);
    Ok(None)
}
fn of_schema<K: HashableAtom + Cell>(
    table: &Bound<'_, PyAny>,
    domain: &DataFrameDomain<K>,
) -> Result<Option<DataFrame<K>>> {
    let Some(schema) = domain.schema() else { return Ok(None) };
    let read = || {
        let read = table.py().import("opendp_rs._columns")?.getattr("as_columns")?;
        Ok(read.call1((table,))?.cast_into::<PyDict>()?)
    };
    let columns = unless_stopped(table.py(), read())?;
    let Some(columns) = columns.filter(|columns| columns.len() == schema.len()) else {
        return Ok(None);
    };
    let mut found = Vec::with_capacity(schema.len());
    for (name, cells) in columns.iter() {
        let Some(name) = K::from_python(&name)? else { return Ok(None) };
        let Some(known) = domain.column(&name) else { return Ok(None) };
        let Some(cells) = column(&cells, &known.cell_type().to_string())? else { return Ok(None) };
        found.push((name, cells));
    }
    Ok(DataFrame::new(found).ok())
}
/// Convert a list of cells, or texts in memory, to a column of a type.
fn column(cells: &Bound<'_, PyAny>, cell_type: &str) -> Result<Option<Column>> {
    macro_rules! types {
        ($($t:ident)*) => {$(
            if cell_type == stringify!($t) {
                return Ok(Vec::<$t>::from_python(cells)?.map(Column::new));
            }
            if cell_type == concat!("Option<", stringify!($t), ">") {
                return Ok(Vec::<Option<$t>>::from_python(cells)?.map(Column::new));
            }
        )*};
    }
    if let Some(texts) = texts::in_memory(cells)? {
        return Ok(match cell_type {
            "String" => texts.into_iter().collect::<Option<Vec<_>>>().map(Column::new),
            "Option<String>" => Some(Column::new(texts)),
            _ => None,
        });
    }
    types!(bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
    Ok(None)
}
