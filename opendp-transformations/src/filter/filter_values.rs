//! Keeps the records that are in a list of values.

use opendp_core::{
    AtomDomain, Codec, DatasetMetric, HashableAtom, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::filter::kept;
use crate::rows::each::call;
use crate::rows::find::places;

/// Keep the records that are in a list of values.
///
/// # Arguments
/// * `values` - the values to keep, in any order
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or it counts inserted and
/// deleted records (`InsertDeleteDistance`).
///
/// # Postcondition
/// The output contains the records of the input that are equal to one of `values`, in the order of
/// the input. The output has the element domain and the metric of the input. The size of the output
/// is unknown, even if the size of the input is known.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The decision to keep a record depends only on that record; see
/// [`make_filter`](crate::make_filter).
///
/// # Errors
/// `MetricSpace` when the metric requires a known size.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_filter_values;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let some = make_filter_values(input, vec![1, 3])?;
/// assert_eq!(some.invoke(&vec![3, 2, 1, 3])?, [3, 1, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_filter_values<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    values: Vec<T>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>>
where
    T: HashableAtom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    let label = call("filter_values", [values.to_json()]);
    let values = places(values);
    let element = input.domain().element().clone();
    Transformation::each_kept(
        input,
        element,
        false,
        kept(move |row| values.contains_key(row)).labelled(label),
    )
}

register! {
    "filter_values.rs": make_filter_values(input, values)
        for T in hashable_atoms,
            M in unsized_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{Function, InsertDeleteDistance, StabilityMap, SymmetricDistance, laws};

    #[test]
    fn obeys_the_laws() {
        let words = ["", "a", "A", "é"].map(str::to_owned);
        check_rows(&AtomDomain::default(), &words, |x: Space<_, SymmetricDistance>| {
            make_filter_values(x, vec!["é".to_owned(), "a".to_owned(), "a".to_owned()])
        });
        check_rows(&AtomDomain::default(), &[true, false], |x: Space<_, InsertDeleteDistance>| {
            make_filter_values(x, Vec::new())
        });
    }
    #[test]
    fn the_laws_refuse_a_filter_that_keeps_the_first_of_each() {
        let input = VectorDomain::new(AtomDomain::<i32>::default());
        let input = Space::new(input, InsertDeleteDistance).unwrap();
        let first = Function::map(|records: &Vec<i32>| {
            let mut out: Vec<i32> = Vec::new();
            for record in records {
                if out.last() != Some(record) {
                    out.push(*record);
                }
            }
            Ok(out)
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input.clone(), input, first, map);
        let data = laws::vectors(&[1, 2], 3);
        assert!(laws::stable(&wrong, &data).is_err());
        assert!(crate::test_checks::row_law(&wrong, &data).is_err());
    }
}
