//! Compares the cells of a column with a value.

use std::sync::Arc;

use opendp_core::{
    Atom, AtomDomain, Chunk, Codec, Column, ColumnDomain, DataFrameDomain, DatasetMetric,
    FrameChunk, HashableAtom, MetricOn, Result, Space, Transformation,
};

use crate::dataframe::replaced::{has, replaced};
use crate::rows::each::call;
use crate::rows::is_equal::compare;

/// Test each cell of a column for equality with a value.
///
/// # Arguments
/// * `column_name` - the name of the column
/// * `value` - the value to compare with
///
/// # Precondition
/// The input is any space of frames. If the schema of the frames is known, the schema contains the
/// column with type `TIA`.
///
/// # Postcondition
/// The output has one row for each row of the input, in the same order. Each cell of the column is
/// replaced by `true` if the cell equals `value`, and by `false` otherwise. A NaN is not equal to
/// any value, including NaN. If the schema is not known, some rows can lack the column, or have a
/// column of another type. The new cell of such a row is `false`. The other columns and the size do
/// not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// Each row of the output depends only on the same row of the input; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeTransformation` when the schema is known, and lacks the column or states another type for
/// the column. `MetricSpace` when the metric is not defined on the output domain. Every dataset
/// metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_df_is_equal;
/// let input = Space::new(DataFrameDomain::<String>::default(), SymmetricDistance)?;
/// let adult = make_df_is_equal(input, "group".into(), 2)?;
/// let groups = DataFrame::new([("group".to_owned(), Column::new(vec![1, 2]))])?;
/// let flags = adult.invoke(&groups)?;
/// assert_eq!(flags.cells::<bool>(&"group".to_owned()).unwrap(), [false, true]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_df_is_equal<K, M, TIA>(
    input: Space<DataFrameDomain<K>, M>,
    column_name: K,
    value: TIA,
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
    TIA: Atom,
{
    let flags = ColumnDomain::new(AtomDomain::<bool>::default());
    let atom = TIA::type_name().to_string();
    let label = call("df_is_equal", [column_name.to_json(), atom.to_json(), value.to_json()]);
    let equal = move |rows: FrameChunk<'_, K>, name: &K| {
        let mut equal = Vec::with_capacity(rows.rows());
        compare(rows.cells(name).unwrap_or_default(), &value, &mut equal);
        equal.resize(rows.rows(), false);
        Ok(Column::new(equal))
    };
    let label = Box::new(label);
    replaced(input, column_name, flags, label, Arc::new(equal), has::<K, TIA>)
}

register! {
    "df_is_equal.rs": make_df_is_equal(input, column_name, value)
        for K in [String],
            M in unsized_metrics,
            TIA in castable_atoms;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataframe::select_column::tests::{check, domains, frames, rows, schema};
    use crate::test_checks::metrics::*;
    use opendp_core::{DataFrame, Function, StabilityMap, laws};

    #[test]
    fn obeys_the_laws() {
        for domain in domains() {
            let input = Space::new(domain, SymmetricDistance).unwrap();
            check(&make_df_is_equal(input.clone(), "x".into(), 0.0).unwrap());
            check(&make_df_is_equal(input.clone(), "x".into(), f64::NAN).unwrap());
            check(&make_df_is_equal(input, "y".into(), String::new()).unwrap());
        }
        let input = Space::new(schema(), InsertDeleteDistance).unwrap();
        check(&make_df_is_equal(input, "x".into(), -0.0).unwrap());
        let input = Space::new(schema().with_size(2), HammingDistance).unwrap();
        check(&make_df_is_equal(input, "x".into(), 1.0).unwrap());
    }
    #[test]
    fn never_finds_nan_and_finds_zero_of_either_sign() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let frame = laws::frames(&rows()[1..3], 2).pop().unwrap();
        let joint = |value: f64| {
            let equal = make_df_is_equal(input.clone(), "x".into(), value).unwrap();
            let out = equal.invoke(&frame).unwrap();
            out.cells::<bool>(&"x".to_owned()).unwrap().to_vec()
        };
        assert_eq!((joint(0.0), joint(f64::NAN)), (vec![true; 2], vec![false; 2]));
    }
    #[test]
    fn other_columns_stay_as_they_are() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let equal = make_df_is_equal(input, "x".into(), 0.0).unwrap();
        let frame = rows()[3].clone();
        let out = equal.invoke(&frame).unwrap();
        for name in ["y".to_owned(), "z".to_owned()] {
            assert_eq!(out.column(&name), frame.column(&name));
        }
    }
    #[test]
    fn a_schema_that_does_not_fit_is_an_error_of_the_construction() {
        let input = Space::new(schema(), SymmetricDistance).unwrap();
        let other = make_df_is_equal(input.clone(), "x".into(), 1).unwrap_err();
        assert_eq!(other.kind(), "MakeTransformation");
        assert!(make_df_is_equal(input, "w".into(), 0.0).is_err());
    }
    #[test]
    fn the_laws_refuse_a_comparison_with_the_first_row() {
        let input = Space::new(DataFrameDomain::default(), SymmetricDistance).unwrap();
        let honest = make_df_is_equal(input.clone(), "x".into(), 0.0).unwrap();
        let first = Function::map(|frame: &DataFrame<String>| {
            let cells = frame.cells::<f64>(&"x".to_owned()).unwrap_or_default();
            let flags = cells.iter().map(|cell| Some(cell) == cells.first()).collect::<Vec<_>>();
            DataFrame::new([("x".to_owned(), Column::new(flags))])
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), first, map);
        assert!(laws::stable(&wrong, &frames()).is_err());
    }
}
