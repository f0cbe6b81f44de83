//! Finds the index of each record in a list of categories.

use std::collections::HashMap;

use opendp_core::{
    AtomDomain, Codec, DatasetMetric, Error, HashableAtom, MetricOn, OptionDomain, Result, Space,
    Transformation, VectorDomain,
};

use crate::rows::each::{call, each, rows_by};
use foldhash::fast::RandomState;

/// Find the index of each record in a list of categories.
///
/// # Arguments
/// * `categories` - the distinct values to look for
///
/// # Precondition
/// No category occurs twice.
///
/// # Postcondition
/// The output has one index for each record, in the same order. Indices start at zero. The output
/// is null for a record that is not a category. To treat these records as one more category, use
/// `make_impute_constant` afterwards, with the number of categories as the constant. The size does
/// not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MakeTransformation` when a category occurs twice. `MetricSpace` when the metric is not defined
/// on the output domain. Every dataset metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_find;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let find = make_find(input, vec![10, 20])?;
/// assert_eq!(find.invoke(&vec![20, 30])?, [Some(1), None]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_find<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    categories: Vec<T>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        VectorDomain<OptionDomain<AtomDomain<usize>>>,
        M,
    >,
>
where
    T: HashableAtom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    M: MetricOn<VectorDomain<OptionDomain<AtomDomain<usize>>>>,
{
    let label = call("find", [categories.to_json()]);
    let index = index(categories)?;
    let find = rows_by(move |row: &T| index.get(row).copied());
    each(input, OptionDomain::new(AtomDomain::default()), find.labelled(label))
}

register! {
    "find.rs": make_find(input, categories)
        for T in hashable_atoms,
            M in dataset_metrics;
}

/// Map each category to its index. Return `MakeTransformation` if a category occurs twice.
fn index<T: HashableAtom>(categories: Vec<T>) -> Result<HashMap<T, usize, RandomState>> {
    let count = categories.len();
    let index = places(categories);
    if index.len() < count {
        return Err(Error::MakeTransformation(
            "categories: expected distinct values, found the same value twice".into(),
        ));
    }
    Ok(index)
}
/// Map each value to its place in the list. If a value occurs several times, the table states its
/// last place.
pub(crate) fn places<T: HashableAtom>(values: Vec<T>) -> HashMap<T, usize, RandomState> {
    let mut places = HashMap::with_capacity_and_hasher(values.len(), RandomState::default());
    for (place, value) in values.into_iter().enumerate() {
        places.insert(value, place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::{check_rows, metrics::*};
    use opendp_core::laws;

    #[test]
    fn obeys_the_laws() {
        let words = ["", "a", "A", "é", "longer than eight bytes"].map(str::to_owned);
        let some = words[1..].to_vec();
        let texts = AtomDomain::<String>::default();
        check_rows(&texts, &words, |x: Space<_, SymmetricDistance>| make_find(x, some.clone()));
        let integers = AtomDomain::<i64>::default();
        let alphabet = [i64::MIN, -1, 0, i64::MAX];
        let ends = || vec![i64::MAX, i64::MIN];
        check_rows(&integers, &alphabet, |x: Space<_, InsertDeleteDistance>| make_find(x, ends()));
        check_rows(&integers, &alphabet, |x: Space<_, ChangeOneDistance>| make_find(x, ends()));
        check_rows(&integers, &alphabet, |x: Space<_, HammingDistance>| make_find(x, Vec::new()));
    }
    #[test]
    fn finds_categories_in_order_and_no_others() {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let input = VectorDomain::new(AtomDomain::<String>::default());
        let find = make_find(Space::new(input, SymmetricDistance).unwrap(), letters("ab")).unwrap();
        assert_eq!(find.invoke(&letters("azb")).unwrap(), [Some(0), None, Some(1)]);
    }
    #[test]
    fn the_laws_refuse_places_by_order_of_appearance() {
        let input = VectorDomain::new(AtomDomain::<i32>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let seen = opendp_core::Function::rows(|records: &[i32], out: &mut Vec<Option<usize>>| {
            out.extend(records.iter().map(|row| records.iter().position(|other| other == row)));
            Ok(())
        });
        let wrong = each(input, OptionDomain::new(AtomDomain::default()), seen).unwrap();
        let data = laws::vectors(&[1, 2], 3);
        assert!(laws::stable(&wrong, &data).is_err());
        assert!(crate::test_checks::row_law(&wrong, &data).is_err());
    }
    #[test]
    fn refuses_a_category_that_occurs_twice() {
        let input = VectorDomain::new(AtomDomain::<i32>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let error = make_find(input, vec![1, 2, 1]).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("categories"));
    }
}
