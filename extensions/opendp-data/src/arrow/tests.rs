//! Tests of columns that are read from arrays.

use std::sync::Arc;

use super::*;
use crate::progress::tests::Ascending;
use arrow::array::{
    BooleanArray, Date32Array, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    ListArray, RunArray,
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
    // The controls: a dictionary whose only value has a text is read, and so is a dictionary
    // without values.
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

/// A cast of such a column casts all values of its dictionary for each cell. So one value without a
/// text would make all cells missing.
#[test]
fn a_dictionary_inside_of_another_type_is_refused() {
    let column = |days: Vec<i32>| -> ArrayRef {
        let days =
            DictionaryArray::new(Int8Array::from(vec![0, 1]), Arc::new(Date32Array::from(days)));
        Arc::new(RunArray::try_new(&Int32Array::from(vec![1, 2]), &days).unwrap())
    };
    let texts = VectorDomain::new(OptionDomain::new(AtomDomain::<String>::default()));
    let errors = [vec![0, 1], vec![0, i32::MAX]].map(|days| {
        let error = texts.read_array(&column(days)).unwrap_err();
        assert!(error.to_string().contains("replace the dictionary by its values"), "{error}");
        error
    });
    assert_eq!(errors[0], errors[1]);
    // The control: without the dictionary, only the cell without a text is missing.
    let plain = |days: Vec<i32>| -> ArrayRef {
        let days = Date32Array::from(days);
        Arc::new(RunArray::try_new(&Int32Array::from(vec![1, 2]), &days).unwrap())
    };
    let read = texts.read_array(&plain(vec![0, i32::MAX])).unwrap();
    assert_eq!(read, [Some("1970-01-01".to_owned()), None]);
}
