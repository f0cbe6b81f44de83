//! Looks up the category at each index.

use opendp_core::{
    Atom, AtomDomain, Codec, DatasetMetric, MetricOn, Result, Space, Transformation, VectorDomain,
};

use crate::rows::each::{call, each, rows};

/// Look up the category at each index.
///
/// # Arguments
/// * `categories` - the values, in the order of their indices
/// * `null` - the value for an index beyond the last category
///
/// # Precondition
/// The records are indices, counted from zero.
///
/// # Postcondition
/// The output has one value for each record, in the same order. The value is the category at the
/// index, or `null` when the index is beyond the last category. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_index;
/// let input = Space::new(VectorDomain::new(AtomDomain::<usize>::default()), SymmetricDistance)?;
/// let index = make_index(input, vec!['A'.to_string(), 'B'.to_string()], 'N'.to_string())?;
/// assert_eq!(index.invoke(&vec![0, 1, 7])?, ["A", "B", "N"]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_index<M, TOA>(
    input: Space<VectorDomain<AtomDomain<usize>>, M>,
    categories: Vec<TOA>,
    null: TOA,
) -> Result<Transformation<VectorDomain<AtomDomain<usize>>, M, VectorDomain<AtomDomain<TOA>>, M>>
where
    TOA: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<usize>>>,
    M: MetricOn<VectorDomain<AtomDomain<TOA>>>,
{
    let label = call("index", [categories.to_json(), null.to_json()]);
    let look = move |row: &usize| categories.get(*row).unwrap_or(&null).clone();
    each(input, AtomDomain::default(), rows(look).labelled(label))
}

// If a pipeline document gives no type argument, the type of the categories is inferred from their
// JSON.
register! {
    "index.rs": make_index(input, categories, null)
        for M in dataset_metrics,
            TOA in [String] = String;
}
register! {
    "index.rs": make_index(input, categories, null)
        for M in dataset_metrics,
            TOA in [bool] = bool;
}
register! {
    "index.rs": make_index(input, categories, null)
        for M in dataset_metrics,
            TOA in [i32] = i32;
}
register! {
    "index.rs": make_index(input, categories, null)
        for M in dataset_metrics,
            TOA in [f64] = f64;
}
register! {
    "index.rs": make_index(input, categories, null)
        for M in dataset_metrics,
            TOA in [i64, u32, u64, usize, f32] = i32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::{check_rows, metrics::*};
    use opendp_core::laws;

    #[test]
    fn obeys_the_laws() {
        let indices = AtomDomain::<usize>::default();
        let alphabet = [0, 1, 2, usize::MAX];
        let look = || (vec![f64::NAN, -0.0], 0.0);
        check_rows(&indices, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_index(x, look().0, look().1)
        });
        check_rows(&indices, &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_index(x, vec!["a".to_owned(); 2], String::new())
        });
        check_rows(&indices, &alphabet, |x: Space<_, ChangeOneDistance>| {
            make_index(x, vec![true], false)
        });
        check_rows(&indices, &alphabet, |x: Space<_, HammingDistance>| {
            make_index(x, Vec::new(), 7_i32)
        });
    }
    #[test]
    fn the_laws_refuse_the_claim_that_categories_are_not_nan() {
        let input = VectorDomain::new(AtomDomain::<usize>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let honest = make_index(input.clone(), vec![f64::NAN], 0.0).unwrap();
        let wrong = each(input, AtomDomain::non_nan(), honest.function().clone()).unwrap();
        assert!(laws::member(&honest, &[vec![0]]).is_ok());
        assert!(laws::member(&wrong, &[vec![0]]).is_err());
    }
}
