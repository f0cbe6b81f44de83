//! Distances between frames: the number of rows that differ.

use super::dataset::{change_one, hamming, insert_delete, known_size, symmetric};
use crate::{
    ChangeOneDistance, DataFrame, DataFrameDomain, DistanceOn, HammingDistance, HashableAtom,
    InsertDeleteDistance, MetricOn, Result, SymmetricDistance,
};

/// A row of a frame. As in records, NaN equals NaN. Rows are compared cell by cell, so NaN in one
/// column does not hide a difference in another column.
struct Row<'a, K> {
    frame: &'a DataFrame<K>,
    row: usize,
}
impl<K: HashableAtom> PartialEq for Row<'_, K> {
    fn eq(&self, other: &Self) -> bool {
        self.frame.same_row(self.row, other.frame, other.row)
    }
}
fn rows<K: HashableAtom>(frame: &DataFrame<K>) -> Vec<Row<'_, K>> {
    (0..frame.rows()).map(|row| Row { frame, row }).collect()
}

impl<K: HashableAtom> MetricOn<DataFrameDomain<K>> for SymmetricDistance {}
impl<K: HashableAtom> MetricOn<DataFrameDomain<K>> for InsertDeleteDistance {}
impl<K: HashableAtom> MetricOn<DataFrameDomain<K>> for ChangeOneDistance {
    fn check(&self, domain: &DataFrameDomain<K>) -> Result<()> {
        known_size(domain.size(), "ChangeOneDistance")
    }
}
impl<K: HashableAtom> MetricOn<DataFrameDomain<K>> for HammingDistance {
    fn check(&self, domain: &DataFrameDomain<K>) -> Result<()> {
        known_size(domain.size(), "HammingDistance")
    }
}
impl<K: HashableAtom> DistanceOn<DataFrameDomain<K>> for SymmetricDistance {
    fn distance(&self, left: &DataFrame<K>, right: &DataFrame<K>) -> Result<Option<u32>> {
        symmetric(&rows(left), &rows(right), Row::eq).map(Some)
    }
}
impl<K: HashableAtom> DistanceOn<DataFrameDomain<K>> for InsertDeleteDistance {
    fn distance(&self, left: &DataFrame<K>, right: &DataFrame<K>) -> Result<Option<u32>> {
        insert_delete(&rows(left), &rows(right), Row::eq).map(Some)
    }
}
impl<K: HashableAtom> DistanceOn<DataFrameDomain<K>> for ChangeOneDistance {
    fn distance(&self, left: &DataFrame<K>, right: &DataFrame<K>) -> Result<Option<u32>> {
        change_one(&rows(left), &rows(right), Row::eq)
    }
}
impl<K: HashableAtom> DistanceOn<DataFrameDomain<K>> for HammingDistance {
    fn distance(&self, left: &DataFrame<K>, right: &DataFrame<K>) -> Result<Option<u32>> {
        hamming(&rows(left), &rows(right), Row::eq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Space};

    fn frame(x: &[f64], y: &[i32]) -> DataFrame<String> {
        DataFrame::new([
            ("x".to_owned(), Column::new(x.to_vec())),
            ("y".to_owned(), Column::new(y.to_vec())),
        ])
        .unwrap()
    }
    #[track_caller]
    fn check(left: &DataFrame<String>, right: &DataFrame<String>, expected: [Option<u32>; 4]) {
        for (left, right) in [(left, right), (right, left)] {
            let found = [
                distance(SymmetricDistance, left, right),
                distance(InsertDeleteDistance, left, right),
                distance(ChangeOneDistance, left, right),
                distance(HammingDistance, left, right),
            ];
            assert_eq!(found, expected);
        }
    }
    fn distance<M: DistanceOn<DataFrameDomain<String>>>(
        metric: M,
        left: &DataFrame<String>,
        right: &DataFrame<String>,
    ) -> Option<M::Distance> {
        metric.distance(left, right).unwrap()
    }

    #[test]
    fn counts_rows_that_differ() {
        let left = frame(&[1.0, 2.0], &[1, 2]);
        check(&left, &left, [Some(0), Some(0), Some(0), Some(0)]);
        check(&left, &frame(&[2.0, 1.0], &[2, 1]), [Some(0), Some(2), Some(0), Some(2)]);
        check(&left, &frame(&[1.0, 2.0], &[1, 3]), [Some(2), Some(2), Some(1), Some(1)]);
        check(&left, &frame(&[2.0], &[2]), [Some(1), Some(1), None, None]);
    }
    #[test]
    fn nan_in_one_cell_does_not_hide_a_difference_in_another() {
        let (left, right) = (frame(&[f64::NAN], &[1]), frame(&[f64::NAN], &[2]));
        check(&left, &right, [Some(2), Some(2), Some(1), Some(1)]);
        check(&left, &left, [Some(0); 4]);
        check(&frame(&[0.0], &[1]), &frame(&[-0.0], &[1]), [Some(0); 4]);
    }
    #[test]
    fn rows_of_other_columns_are_other_rows() {
        let other = DataFrame::new([("x".to_owned(), Column::new(vec![1.0]))]).unwrap();
        check(&frame(&[1.0], &[1]), &other, [Some(2), Some(2), Some(1), Some(1)]);
    }
    #[test]
    fn asks_for_a_known_size_where_sizes_are_equal() {
        let any = DataFrameDomain::<String>::default();
        assert_eq!(Space::new(any.clone(), ChangeOneDistance).unwrap_err().kind(), "MetricSpace");
        assert_eq!(Space::new(any.clone(), HammingDistance).unwrap_err().kind(), "MetricSpace");
        assert!(Space::new(any.clone().with_size(3), HammingDistance).is_ok());
        assert!(Space::new(any, SymmetricDistance).is_ok());
    }
}
