//! Counts the distinct records.

mod distinct;

use opendp_core::{
    AbsoluteDistance, AtomDomain, DatasetMetric, Fold, Function, MetricOn, Named, Result, Space,
    Transformation, TypeName, VectorDomain,
};

use crate::count::label;
use crate::count::tally::{Tally, tally};
use crate::symmetric::sized_count;
use crate::{Key, count::table};

/// Count the distinct values among the records.
///
/// # Arguments
/// There are no arguments except the type `TO` of the count.
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or inserted and deleted
/// records (`InsertDeleteDistance`). In Rust, the metric can also count replaced records. The map
/// counts each of them as two records.
///
/// # Postcondition
/// Let `m` be the largest number such that `TO` represents every integer from 0 to `m`. The output
/// is the number of different values that occur. If there are more than `m` different values, the
/// output is `m`. The output is never NaN.
///
/// # Map
/// `d_out = d_in`, or `d_out = d_in / 2` if the size is known. The bound is rounded up, and cast to
/// `TO`.
///
/// # Proof
/// Two data sets at symmetric distance `d` are `d` steps apart. Each step adds or removes one
/// record. A step changes at most one value from absent to present, or from present to absent. So
/// the numbers of distinct values in the two data sets differ by at most `d`. The distance between
/// `min(x, m)` and `min(y, m)` is at most the distance between `x` and `y`.
///
/// If the size is known, `d` is even, and the two data sets are `d / 2` replacements apart. A
/// replacement removes one record and adds one record. The removal decreases the number of distinct
/// values by at most one, and never increases it. The addition increases this number by at most
/// one, and never decreases it. So each replacement changes this number by at most one.
///
/// # Errors
/// The map returns `FailedCast` when its value does not fit `TO`. In Rust, the map also returns
/// `Overflow` when twice the number of replaced records does not fit `u32`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_count_distinct;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let count = make_count_distinct::<_, _, i32>(input)?;
/// assert_eq!(count.invoke(&vec![5, 7, 5, 5])?, 2);
/// assert_eq!(count.map(&2)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_count_distinct<T, M, TO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<TO>, AbsoluteDistance<TO>>>
where
    T: Key,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    TO: Tally,
{
    Transformation::from_fns(input, sized_count, distinct)
}
fn distinct<T: Key, TO: Tally>() -> Function<Vec<T>, TO> {
    let fold = Distinct { seed: table::seed(), output_type: <TO as Named>::type_name };
    Function::fold_then(fold, tally)
}

register! {
    "count_distinct.rs": make_count_distinct(input)
        for T in hashable_atoms,
            M in unsized_metrics,
            TO in [i32, i64, u32, u64, usize, f64] = i32;
}

/// The fold of `make_count_distinct`. The state is the set of values that occurred. All states that
/// this fold starts share one seed. States with the same seed merge faster than states with
/// different seeds.
struct Distinct {
    seed: u64,
    /// A function that returns the type name of the count.
    output_type: fn() -> TypeName,
}
impl<T: Key> Fold<Vec<T>, u64> for Distinct {
    type State = distinct::Set<T::Long>;
    fn label(&self) -> String {
        label("distinct", T::type_name, self.output_type)
    }
    fn start(&self) -> distinct::Set<T::Long> {
        distinct::Set::new(self.seed)
    }
    fn absorb(&self, state: &mut distinct::Set<T::Long>, rows: &[T]) -> Result<()> {
        state.extend(rows);
        Ok(())
    }
    fn merge(
        &self,
        state: &mut distinct::Set<T::Long>,
        other: distinct::Set<T::Long>,
    ) -> Result<()> {
        state.merge(other);
        Ok(())
    }
    fn finish(&self, state: distinct::Set<T::Long>) -> Result<u64> {
        Ok(u64::try_from(state.count()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{symmetric::Records, test_checks::space};
    use opendp_core::arith::InfCast;
    use opendp_core::{
        ChangeOneDistance, DistanceOn, InsertDeleteDistance, StabilityMap, SymmetricDistance, laws,
    };

    #[track_caller]
    fn check<T: Key, M, TO: Tally + InfCast<TO>>(alphabet: &[T], size: Option<usize>)
    where
        M: DatasetMetric + Default + DistanceOn<Records<T>>,
    {
        let input: Space<Records<T>, M> = space(size);
        let count = make_count_distinct::<T, M, TO>(input.clone()).unwrap();
        assert!(laws::all(&count, alphabet, 3).unwrap() > 0);
        let exact = count.stability_map().clone();
        let wrong = Transformation::new(
            input,
            count.output().clone(),
            count.function().clone(),
            StabilityMap::new(move |d: &u32| {
                exact.eval(d)?.inf_sub(TO::inf_cast(u32::from(*d > 0))?)
            }),
        );
        assert!(laws::stable(&wrong, &laws::vectors(alphabet, size.unwrap_or(2))).is_err());
    }

    #[test]
    fn obeys_the_laws_and_promises_no_more_than_needed() {
        check::<_, SymmetricDistance, i32>(&[i64::MIN, -1, 0, 1, i64::MAX], None);
        check::<_, SymmetricDistance, f64>(&[i32::MIN, 0, i32::MAX], Some(2));
        check::<_, InsertDeleteDistance, u64>(&[true, false], None);
        check::<_, InsertDeleteDistance, usize>(&["", "a", "é"].map(str::to_owned), Some(3));
        check::<_, InsertDeleteDistance, i8>(&[u8::MIN, 1, u8::MAX], None);
        check::<_, SymmetricDistance, i64>(&[i128::MIN, 0, i128::MAX], None);
    }
    #[test]
    fn counts_values_and_not_records() {
        let domain = VectorDomain::new(AtomDomain::<String>::default());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let count = make_count_distinct::<_, _, i32>(input).unwrap();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(count.invoke(&words("a b a c  b")), Ok(4));
        assert_eq!(count.invoke(&vec![]), Ok(0));
        assert_eq!(count.map(&2), Ok(2));
    }
    #[test]
    fn a_known_size_halves_the_map() {
        fn map<M: DatasetMetric + Default + DistanceOn<Records<bool>>>(d_in: u32) -> i32 {
            make_count_distinct(space::<bool, M>(Some(9))).unwrap().map(&d_in).unwrap()
        }
        assert_eq!([0, 1, 2, 3, 4].map(map::<SymmetricDistance>), [0, 1, 1, 2, 2]);
        assert_eq!([0, 1, 2].map(map::<ChangeOneDistance>), [0, 1, 2]);
    }
    #[test]
    fn counts_many_values_the_same_in_any_division() {
        let domain = VectorDomain::new(AtomDomain::<i64>::default());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let count = make_count_distinct::<_, _, i64>(input).unwrap();
        // There are 30 000 values near zero and 30 000 values far from zero. Each of these values
        // occurs about five times.
        let row = |i: i64| (i % 60_000 - 30_000) * if i % 2 == 0 { 1 } else { 1 << 40 };
        let data: Vec<i64> = (0..300_000).map(|i| row(i * 7 + i / 60_000)).collect();
        let expected = data.iter().collect::<std::collections::HashSet<_>>().len() as i64;
        assert!(50_000 < expected);
        assert_eq!(count.invoke(&data), Ok(expected));
        let chunks = data.chunks(777).map(|chunk| Ok(chunk.to_vec()));
        assert_eq!(count.invoke_chunks(chunks), Ok(expected));
        let mut whole = count.start().unwrap();
        for part in data.chunks(100_000) {
            let mut state = count.start().unwrap();
            state.absorb(&part.to_vec()).unwrap();
            let bytes = state.to_bytes().unwrap();
            whole.merge(count.function().resume(&bytes).unwrap()).unwrap();
        }
        assert_eq!(whole.finish(), Ok(expected));
    }
    #[test]
    fn saturates_instead_of_wrapping() {
        let domain = VectorDomain::new(AtomDomain::<u16>::default());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let count = make_count_distinct::<_, _, i8>(input).unwrap();
        assert_eq!(count.invoke(&(0..300).collect()).unwrap(), 127);
        assert_eq!(count.map(&128).unwrap_err().kind(), "FailedCast");
    }
}
