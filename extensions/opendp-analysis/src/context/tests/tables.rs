//! Test tables that are made from several frames.

use opendp_core::{Column, DataFrame};

use super::*;

fn frame(columns: Vec<(&str, Column)>) -> Result<DataFrame<String>> {
    DataFrame::new(columns.into_iter().map(|(name, column)| (name.to_owned(), column)))
}
fn ages(rows: Vec<i64>) -> (&'static str, Column) {
    ("age", Column::new(rows))
}

#[test]
fn frames_of_a_table_have_columns_of_the_same_names_and_types() {
    let size = Column::new(vec![1.7]);
    for other in [
        frame(vec![("age", Column::new(vec![44_i32]))]),
        frame(vec![("years", Column::new(vec![44_i64]))]),
        frame(vec![ages(vec![44]), ("size", size)]),
        frame(vec![("age", Column::new(Vec::<i32>::new()))]),
        frame(vec![]),
    ] {
        let other = other.unwrap();
        let first = frame(vec![ages(vec![31, 58])]);
        let error = Table::from_frames([first.clone(), Ok(other.clone())]).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("the columns of the first frame"), "{error}");
        assert!(Table::from_frames([Ok(other), first]).is_err());
    }
    // The control: frames with the same columns make a table, even if some frames have no rows.
    let frames = [vec![], vec![31, 58], vec![], vec![44]].map(|rows| frame(vec![ages(rows)]));
    let table = Table::from_frames(frames).unwrap();
    assert_eq!(table.rows::<i64>("age").unwrap(), &[31, 58, 44]);
}
