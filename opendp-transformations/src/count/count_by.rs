//! Counts the records with each value.

use std::collections::HashMap;

use opendp_core::{
    AbsoluteDistance, AtomDomain, DatasetMetric, Fold, Function, L01InfDistance, MapDomain,
    MetricOn, Named, Result, Space, Transformation, TypeName, VectorDomain,
};

use crate::count::label;
use crate::count::table::Table;
use crate::symmetric::one_in_one;
use crate::{Key, Tally};

/// For each value that occurs, count the records with this value.
///
/// # Arguments
/// There are no arguments except the type `TV` of the counts.
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or inserted and deleted
/// records (`InsertDeleteDistance`). In Rust, the metric can also count replaced records. The map
/// counts each of them as two records.
///
/// # Postcondition
/// The keys of the output are the values that occur among the records. The set of keys is private.
/// A measurement may release this set only if the privacy loss of the measurement covers the
/// release. Let `m` be the largest number such that `TV` represents every integer from 0 to `m`.
/// The count of a key is the number of records that are equal to the key. A count above `m` becomes
/// `m`.
///
/// # Map
/// `d_out = (d_in, d_in, d_in)`. If the size is known, `d_out = (d_in, d_in, d_in / 2)`. The three
/// parts bound the number of changed counts, the sum of the changes, and the largest change. The
/// last two parts are rounded up, and cast to `TV`.
///
/// # Proof
/// A value that is not a key of the output has count zero. If a record is added or removed, the
/// count of its value changes by one, and no other count changes. Two data sets at symmetric
/// distance `d` are `d` steps apart, where each step adds or removes one record. So at most `d`
/// counts change, and the changes add up to at most `d`. So each count changes by at most `d`. If
/// the size is known, then `d / 2` of the steps add a record, and `d / 2` of the steps remove a
/// record. So each count increases by at most `d / 2`, and decreases by at most `d / 2`. Saturation
/// at `m` does not increase the distance between two counts, and equal counts stay equal. Suppose
/// that the size is unknown. If `d` records of `d` different values are added, the changes attain
/// the first two bounds. If `d` records of one value are added, the change attains the last bound.
///
/// # Errors
/// The map returns `FailedCast` when its value does not fit `TV`. In Rust, the map also returns
/// `Overflow` when twice the number of replaced records does not fit `u32`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_count_by;
/// let input = Space::new(VectorDomain::new(AtomDomain::<bool>::default()), SymmetricDistance)?;
/// let count = make_count_by::<_, _, i32>(input)?;
/// assert_eq!(count.invoke(&vec![true, false, true])?, [(true, 2), (false, 1)].into());
/// assert_eq!(count.map(&6)?, (6, 6, 6));
/// # Ok::<(), Error>(())
/// ```
pub fn make_count_by<T, M, TV>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        MapDomain<AtomDomain<T>, AtomDomain<TV>>,
        L01InfDistance<AbsoluteDistance<TV>>,
    >,
>
where
    T: Key,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    TV: Tally,
{
    let (element, metric, sized) = copied(&input);
    let (domain, map) = (tallied(element), one_in_one(metric, sized));
    let metric = const { L01InfDistance::new(AbsoluteDistance::new()) };
    Transformation::checked(input, domain, metric, count_by(), map)
}
/// Copy the parts of the input space that the output needs. The `Clone` of a user's key or metric
/// runs only here, because it can panic.
fn copied<T: Key, M: DatasetMetric>(
    input: &Space<VectorDomain<AtomDomain<T>>, M>,
) -> (AtomDomain<T>, M, bool) {
    (input.domain().element().clone(), input.metric().clone(), input.domain().size().is_some())
}
/// Return the output domain of `make_count_by`. For the C ABI, see [`one_in_one`].
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn tallied<T: Key, TV: Tally>(
    element: AtomDomain<T>,
) -> MapDomain<AtomDomain<T>, AtomDomain<TV>> {
    MapDomain::new(element, AtomDomain::non_nan())
}
/// Return the function of `make_count_by`. For the C ABI, see [`one_in_one`].
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn count_by<T: Key, TV: Tally>() -> Function<Vec<T>, HashMap<T, TV>> {
    Function::fold_then(CountBy { output_type: <TV as Named>::type_name }, tallies)
}

register! {
    "count_by.rs": make_count_by(input)
        for T in hashable_atoms,
            M in unsized_metrics,
            TV in [i32, i64, u32, u64, usize, f64] = i32;
}

/// The fold of `make_count_by`. The state is a table with the count of each value that occurred.
struct CountBy {
    /// A function that returns the type name of the counts.
    output_type: fn() -> TypeName,
}
impl<T: Key> Fold<Vec<T>, Vec<(T, u64)>> for CountBy {
    type State = Table<T::Long, u64>;
    fn label(&self) -> String {
        label("counts of each", T::type_name, self.output_type)
    }
    fn start(&self) -> Table<T::Long, u64> {
        Table::new()
    }
    fn absorb(&self, state: &mut Table<T::Long, u64>, rows: &[T]) -> Result<()> {
        for row in rows {
            let count = state.entry(row.form());
            *count = count.saturating_add(1);
        }
        Ok(())
    }
    fn merge(&self, state: &mut Table<T::Long, u64>, other: Table<T::Long, u64>) -> Result<()> {
        state.merge(&other, |count, more| *count = count.saturating_add(more));
        Ok(())
    }
    fn finish(&self, state: Table<T::Long, u64>) -> Result<Vec<(T, u64)>> {
        state.list()
    }
}
fn tallies<T: Key, TV: Tally>(mut counts: Vec<(T, u64)>) -> Result<HashMap<T, TV>> {
    let mut tallies = HashMap::new();
    tallies.reserve(counts.len());
    while let Some((key, count)) = counts.pop() {
        tallies.insert(key, TV::saturating_count(count));
    }
    Ok(tallies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::Records;
    use crate::test_checks::{metrics::*, space};
    use opendp_core::arith::InfCast;
    use opendp_core::{Bounds, DistanceOn, Domain, StabilityMap, laws};

    #[track_caller]
    fn check<T: Key, M, TV>(alphabet: &[T])
    where
        M: DatasetMetric + Default + DistanceOn<Records<T>>,
        TV: Tally + InfCast<TV> + InfCast<f64>,
        f64: InfCast<TV>,
    {
        for size in [None, Some(2)] {
            let count = make_count_by::<T, M, TV>(space(size)).unwrap();
            assert!(laws::all(&count, alphabet, 3).unwrap() > 0);
        }
        // A map with a smaller value in any of its three parts violates the stability law.
        for (part, size) in (0..3).flat_map(|part| [(part, None), (part, Some(2))]) {
            let honest = make_count_by::<T, M, TV>(space(size)).unwrap();
            let map = StabilityMap::new(move |d: &u32| {
                let parts = [*d, *d, if size.is_some() { d.div_ceil(2) } else { *d }];
                let less = |this: usize| parts[this].saturating_sub(u32::from(this == part));
                Ok((less(0), TV::inf_cast(less(1))?, TV::inf_cast(less(2))?))
            });
            let (output, function) = (honest.output().clone(), honest.function().clone());
            let wrong = Transformation::new(honest.input().clone(), output, function, map);
            assert!(laws::stable(&wrong, &laws::vectors(alphabet, 2)).is_err(), "{part}");
        }
    }

    #[test]
    fn obeys_the_laws_and_promises_no_more_than_needed() {
        check::<_, SymmetricDistance, i32>(&["", "a", "A", "é"].map(str::to_owned));
        check::<_, InsertDeleteDistance, f64>(&[i64::MIN, -1, 0, i64::MAX]);
        check::<_, SymmetricDistance, u64>(&[true, false]);
        check::<_, InsertDeleteDistance, i64>(&[i128::MIN, 0, i128::MAX]);
        check::<_, SymmetricDistance, usize>(&[0_u8, 1, u8::MAX]);
    }
    #[test]
    fn counts_each_value_that_occurs_and_no_other() {
        let count = make_count_by::<_, SymmetricDistance, i32>(space(None)).unwrap();
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let expected = [("a", 2), ("b", 1)].map(|(k, v)| (k.to_owned(), v)).into();
        assert_eq!(count.invoke(&letters("aba")).unwrap(), expected);
        assert!(count.invoke(&vec![]).unwrap().is_empty());
        assert_eq!(count.map(&6), Ok((6, 6, 6)));
        assert_eq!(count.map(&0), Ok((0, 0, 0)));
        let sized = make_count_by::<bool, SymmetricDistance, i32>(space(Some(9))).unwrap();
        assert_eq!(sized.map(&6), Ok((6, 6, 3)));
        let replaced = make_count_by::<bool, ChangeOneDistance, i32>(space(Some(9))).unwrap();
        assert_eq!(replaced.map(&3), Ok((6, 6, 3)));
    }
    #[test]
    fn keeps_the_bounds_of_the_keys() {
        let bounded = AtomDomain::bounded(Bounds::new(0, 9).unwrap());
        let input = Space::new(VectorDomain::new(bounded), SymmetricDistance).unwrap();
        let count = make_count_by::<i32, _, i8>(input).unwrap();
        assert!(!count.output().domain().member(&HashMap::from([(10, 1)])));
        assert_eq!(count.invoke(&vec![7; 300]).unwrap(), HashMap::from([(7, 127)]));
        assert_eq!(count.map(&128).unwrap_err().kind(), "FailedCast");
    }
}
