//! Finds the bin of each record.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, Codec, DatasetMetric, Error, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::increasing::{any_null, increase};
use crate::rows::each::{call, each, rows_by};

/// Find the bin of each record among bins separated by edges.
///
/// # Arguments
/// * `edges` - the numbers at which the bins after bin 0 begin, in increasing order
///
/// # Precondition
/// Each edge is larger than the previous edge, and no edge is NaN.
///
/// # Postcondition
/// The output has one index for each record, in the same order. The index is the number of edges
/// that are less than or equal to the record. So `n` edges make `n + 1` bins. Bin 0 contains the
/// records below the first edge. Bin `n` contains the records that are at or above the last edge,
/// and also NaN. To keep NaN out of bin `n`, use `make_impute_constant` or `make_drop_null` first.
/// The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record. The outputs of `0.0` and `-0.0` are equal,
/// and all NaN have the same output; see [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeTransformation` when the edges do not strictly increase, or when an edge is NaN.
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_find_bin;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let find = make_find_bin(input, vec![2, 3, 5])?;
/// assert_eq!(find.invoke(&vec![1, 2, 3, 4, 5, 6])?, [0, 1, 2, 2, 3, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_find_bin<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    edges: Vec<T>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<usize>>, M>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    M: MetricOn<VectorDomain<AtomDomain<usize>>>,
{
    // A single edge is in no comparison, so NaN needs its own test.
    if !increase(&edges) || any_null(&edges) {
        return Err(Error::MakeTransformation(
            "edges: expected strictly increasing values, and no NaN: sort them, and leave out repeats"
                .into(),
        ));
    }
    let label = call("find_bin", [edges.to_json()]);
    let find = move |row: &T| match row.is_null() {
        true => edges.len(),
        false => edges.partition_point(|edge| *edge <= *row),
    };
    each(input, AtomDomain::default(), rows_by(find).labelled(label))
}

register! {
    "find_bin.rs": make_find_bin(input, edges)
        for T in numbers, M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::each::rows;
    use crate::test_checks::check_rows;
    use opendp_core::{
        ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance, laws,
    };

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::INFINITY];
        let edges = || vec![f64::NEG_INFINITY, -0.0, 5e-324, f64::INFINITY];
        check_rows(&floats, &alphabet, |x: Space<_, SymmetricDistance>| make_find_bin(x, edges()));
        check_rows(&floats, &alphabet, |x: Space<_, HammingDistance>| make_find_bin(x, Vec::new()));
        let integers = AtomDomain::<i8>::default();
        let alphabet = [i8::MIN, -1, 0, 1, i8::MAX];
        let ends = || vec![i8::MIN, i8::MAX];
        check_rows(&integers, &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_find_bin(x, ends())
        });
        check_rows(&integers, &alphabet, |x: Space<_, ChangeOneDistance>| {
            make_find_bin(x, vec![0])
        });
    }
    #[test]
    fn a_bin_begins_at_its_edge() {
        let input = VectorDomain::new(AtomDomain::<i32>::default());
        let find =
            make_find_bin(Space::new(input, SymmetricDistance).unwrap(), vec![2, 3, 5]).unwrap();
        let bins = find.invoke(&(1..10).collect()).unwrap();
        assert_eq!(bins, [0, 1, 2, 2, 3, 3, 3, 3, 3]);
    }
    #[test]
    fn nan_is_in_the_last_bin_and_zeros_are_in_one() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let find =
            make_find_bin(Space::new(input, SymmetricDistance).unwrap(), vec![0.0, 1.0]).unwrap();
        let data = vec![f64::NAN, -f64::NAN, -0.0, 0.0, -5e-324, f64::INFINITY];
        assert_eq!(find.invoke(&data).unwrap(), [2, 2, 1, 1, 0, 2]);
    }
    #[test]
    fn the_laws_refuse_bins_that_tell_the_zeros_apart() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let find = |row: &f64| usize::from(row.total_cmp(&0.0).is_ge());
        let wrong = each(input, AtomDomain::default(), rows(find)).unwrap();
        assert!(laws::stable(&wrong, &laws::vectors(&[-0.0, 0.0], 1)).is_err());
    }
    #[test]
    fn refuses_edges_that_do_not_increase() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        for edges in [vec![1.0, 0.0], vec![0.0, -0.0], vec![f64::NAN], vec![0.0, f64::NAN]] {
            let error = make_find_bin(input.clone(), edges).unwrap_err();
            assert!(error.kind() == "MakeTransformation" && error.to_string().contains("edges"));
        }
    }
}
