//! Tests that a number without a fraction parses as an integer, in CSV tables and Arrow arrays.
#![allow(clippy::unwrap_used, reason = "tests stop by panicking")]

use opendp_core::{AtomDomain, ColumnDomain, DataFrameDomain, OptionDomain, Result, VectorDomain};
use opendp_data::{CsvColumn, CsvFrame};

const TABLE: &[u8] =
    b"AGE\n47.0\n47.\n4.7e1\n+47\n  47.0  \n\"47.0\"\n47.5\nx\n\n9007199254740993.0\n";
const AGES: [i64; 10] = [47, 47, 47, 47, 47, 47, 0, 0, 0, 9_007_199_254_740_993];

#[test]
fn a_whole_number_with_a_point_reads_as_an_integer_in_a_column_of_csv() {
    let ages = VectorDomain::new(AtomDomain::<i64>::default());
    let read = CsvColumn::new(TABLE, Some("AGE"), &ages).unwrap().collect::<Result<Vec<_>>>();
    assert_eq!(read.unwrap().concat(), AGES);
    let small = VectorDomain::new(OptionDomain::new(AtomDomain::<u8>::default()));
    let read = CsvColumn::new(TABLE, Some("AGE"), &small).unwrap().collect::<Result<Vec<_>>>();
    let expected: Vec<Option<u8>> = [vec![Some(47); 6], vec![None; 4]].concat();
    assert_eq!(read.unwrap().concat(), expected);
}
#[test]
fn a_whole_number_with_a_point_reads_as_an_integer_in_a_frame() {
    let ages = ColumnDomain::new(AtomDomain::<i64>::default());
    let schema = DataFrameDomain::with_schema([("AGE".to_owned(), ages)]).unwrap();
    let frame = CsvFrame::new(TABLE, &schema).unwrap().next().unwrap().unwrap();
    assert_eq!(frame.cells::<i64>(&"AGE".to_owned()).unwrap(), AGES);
}
#[cfg(feature = "arrow")]
#[test]
fn a_whole_number_with_a_point_reads_as_an_integer_in_columns_of_text_and_of_floats() {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float32Array, Float64Array, StringArray};
    use opendp_data::ArrowDomain;

    let ages = VectorDomain::new(OptionDomain::new(AtomDomain::<i32>::default()));
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("47.0"), Some(" 4.7e1"), None]));
    assert_eq!(ages.read_array(&text).unwrap(), [Some(47), Some(47), None]);
    let doubles = vec![47.0, -1.0, 1.5, f64::NAN, 1e9, 1e10, f64::INFINITY, -0.0];
    let doubles: ArrayRef = Arc::new(Float64Array::from(doubles));
    let expected = [Some(47), Some(-1), None, None, Some(1_000_000_000), None, None, Some(0)];
    assert_eq!(ages.read_array(&doubles).unwrap(), expected);
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![47.0, 0.5]));
    assert_eq!(ages.read_array(&floats).unwrap(), [Some(47), None]);
}
