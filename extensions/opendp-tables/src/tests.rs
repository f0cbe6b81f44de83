//! Tests of the whole crate. They are in one program, because every program links the engine, and
//! linking takes a long time.

mod bounds;
mod calendar;
mod clauses;
mod composition;
mod coverage;
mod dates;
mod direct;
mod ends;
mod exchanges;
mod expansion;
mod extremes;
mod files;
mod gaussian;
mod headers;
mod individuals;
mod intervals;
mod kinds;
mod ledgers;
mod nesting;
mod pages;
mod paths;
mod postgres;
mod queries;
mod quotes;
mod refusals;
mod selection;
mod sensitivity;
mod sources;
mod statistics;
mod texts;
mod times;
mod weights;

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{Float64Type, Int32Type, Int64Type};

use crate::{Answer, Budget, Column, Metadata, PrivacyUnit, Session, Source, Table, Type};

/// Return a budget whose epsilon is so large that there is practically no noise.
pub(crate) fn plenty() -> Budget {
    Budget::epsilon(1e11).unwrap()
}
pub(crate) fn metadata(table: Table) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.budget.epsilon = Some(1e13);
    metadata.tables.insert("people".into(), table);
    metadata
}
/// Describe the columns of [`people`].
pub(crate) fn described(unit: PrivacyUnit) -> Table {
    Table::private(unit)
        .with("pid", Column::new(Type::Integer))
        .with("sex", Column::new(Type::Text).keys(["f", "m", "x"]))
        .with("town", Column::new(Type::Text))
        .with("age", Column::new(Type::Integer).bounds(0.0, 100.0))
        .with("income", Column::new(Type::Float).bounds(0.0, 1000.0))
        .with("employed", Column::new(Type::Boolean))
}
/// Make eight rows. Two rows have no id. Some cells are null, NaN or infinite.
pub(crate) fn people() -> RecordBatch {
    let pid =
        Int64Array::from(vec![Some(1), Some(1), Some(1), Some(2), Some(3), None, None, Some(4)]);
    let sex =
        vec![Some("f"), Some("f"), Some("m"), Some("m"), Some("f"), Some("f"), None, Some("z")];
    let town = vec!["a", "a", "a", "b", "b", "b", "a", "a"];
    let age = vec![Some(10), Some(20), Some(200), None, Some(40), Some(50), Some(60), Some(-5)];
    let income = vec![
        Some(10.5),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(-3.0),
        None,
        Some(100.0),
        Some(1.0),
        Some(2.0),
    ];
    let employed =
        vec![Some(true), Some(false), None, Some(true), Some(true), None, None, Some(false)];
    RecordBatch::try_from_iter(vec![
        ("pid", Arc::new(pid) as ArrayRef),
        ("sex", Arc::new(StringArray::from(sex))),
        ("town", Arc::new(StringArray::from(town))),
        ("age", Arc::new(Int64Array::from(age))),
        ("income", Arc::new(Float64Array::from(income))),
        ("employed", Arc::new(BooleanArray::from(employed))),
    ])
    .unwrap()
}
pub(crate) fn session(unit: PrivacyUnit) -> Session {
    let source = Source::Batches(vec![people()]);
    Session::new(metadata(described(unit)), vec![("people".into(), source)]).unwrap()
}
pub(crate) fn ask(session: &Session, sql: &str) -> Answer {
    session.query(sql).unwrap().spending(plenty()).release().unwrap()
}
/// Return all cells of a table as numbers, row by row. Null becomes -999, and text becomes NaN.
pub(crate) fn numbers(table: &RecordBatch) -> Vec<Vec<f64>> {
    let cell = |column: &ArrayRef, row: usize| {
        use datafusion::arrow::datatypes::DataType;
        match column.data_type() {
            _ if column.is_null(row) => -999.0,
            DataType::Float64 => column.as_primitive::<Float64Type>().value(row),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row) as f64,
            DataType::Int32 => f64::from(column.as_primitive::<Int32Type>().value(row)),
            DataType::Boolean => f64::from(u8::from(column.as_boolean().value(row))),
            _ => f64::NAN,
        }
    };
    (0..table.num_rows())
        .map(|row| table.columns().iter().map(|column| cell(column, row)).collect())
        .collect()
}
