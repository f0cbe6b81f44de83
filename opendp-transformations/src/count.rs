//! Counts records.

// Constructors.
mod count_by;
mod count_by_categories;
mod count_distinct;

// Shared code.
pub(crate) mod counts;
mod key;
mod table;
mod tally;

use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Fold, Function, MetricOn, Named, Result,
    Space, Transformation, TypeName, VectorDomain,
};

use crate::count::tally::tally;
use crate::symmetric::{self, row_count};

pub use count_by::make_count_by;
pub use count_by_categories::{Norm, make_count_by_categories};
pub use count_distinct::make_count_distinct;
pub use key::{Form, Key, LongKey, NoLongKey};
pub use tally::Tally;

/// Count the records.
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
/// is the number of records. If there are more than `m` records, the output is `m`. The output is
/// never NaN.
///
/// # Map
/// `d_out = d_in`, cast to `TO` and rounded up.
///
/// # Proof
/// If one record is added or removed, the number of records changes by one. If two numbers `x` and
/// `y` become `min(x, m)` and `min(y, m)`, the distance between them does not increase. So the
/// symmetric distance between two data sets bounds the difference of their counts. A known size
/// does not change the function or the map.
///
/// # Errors
/// The map returns `FailedCast` when its value does not fit `TO`. In Rust, the map also returns
/// `Overflow` when twice the number of replaced records does not fit `u32`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_count;
/// let input = Space::new(VectorDomain::new(AtomDomain::<bool>::default()), SymmetricDistance)?;
/// let count = make_count::<_, _, i32>(input)?;
/// assert_eq!(count.invoke(&vec![true, false, true])?, 3);
/// assert_eq!(count.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_count<T, M, TO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<TO>, AbsoluteDistance<TO>>>
where
    T: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    TO: Tally,
{
    // The map is the same for a known size; `DECISIONS.md` says why.
    Transformation::from_fns(input, symmetric::count, count)
}
fn count<T: Atom, TO: Tally>() -> Function<Vec<T>, TO> {
    Function::fold_then(Count { output_type: <TO as Named>::type_name }, tally)
}

register! {
    "count.rs": make_count(input)
        for T in atoms,
            M in unsized_metrics,
            TO in [i32, i64, u32, u64, usize, f64] = i32;
}

/// Make a transformation that counts records as an `i32`. If a pipeline document calls
/// [`make_count`] without a type, the type is also `i32`.
///
/// A program that calls this function needs no type argument.
///
/// # Errors
/// The errors of [`make_count`].
///
/// # Example
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_count_i32;
/// let people = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
/// let count = make_count_i32(people)?;
/// assert_eq!(count.invoke(&vec![31, 58, 44])?, 3);
/// # Ok::<(), Error>(())
/// ```
pub fn make_count_i32<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<i32>, AbsoluteDistance<i32>>>
where
    T: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    make_count(input)
}

/// Write the label of a fold that counts `rows` as `counts`.
fn label(what: &str, rows: fn() -> TypeName, counts: fn() -> TypeName) -> String {
    format!("{what} {} as {}", rows(), counts())
}

/// The fold of `make_count`. The state is the number of rows that were read so far.
struct Count {
    /// A function that returns the type name of the count.
    output_type: fn() -> TypeName,
}
impl<T: Atom> Fold<Vec<T>, u64> for Count {
    type State = u64;
    fn label(&self) -> String {
        label("count of", T::type_name, self.output_type)
    }
    fn start(&self) -> u64 {
        0
    }
    fn absorb(&self, state: &mut u64, rows: &[T]) -> Result<()> {
        *state = state.saturating_add(row_count(rows));
        Ok(())
    }
    fn merge(&self, state: &mut u64, other: u64) -> Result<()> {
        *state = state.saturating_add(other);
        Ok(())
    }
    fn finish(&self, state: u64) -> Result<u64> {
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::arith::InfCast;
    use opendp_core::{DistanceOn, InsertDeleteDistance, StabilityMap, SymmetricDistance, laws};

    #[track_caller]
    fn check<T: Atom, M, TO: Tally + InfCast<TO>>(alphabet: &[T], size: Option<usize>)
    where
        M: DatasetMetric + Default + DistanceOn<VectorDomain<AtomDomain<T>>>,
    {
        let mut domain = VectorDomain::new(AtomDomain::<T>::default());
        if let Some(size) = size {
            domain = domain.with_size(size);
        }
        let input = Space::new(domain, M::default()).unwrap();
        let count = make_count::<T, M, TO>(input.clone()).unwrap();
        assert!(laws::all(&count, alphabet, 3).unwrap() > 0);
        if size.is_none() {
            let wrong = Transformation::new(
                input,
                count.output().clone(),
                count.function().clone(),
                StabilityMap::new(|d: &u32| {
                    TO::inf_cast(*d)?.inf_sub(TO::inf_cast(u32::from(*d > 0))?)
                }),
            );
            assert!(laws::stable(&wrong, &laws::vectors(alphabet, 2)).is_err());
        }
    }

    #[test]
    fn obeys_the_laws_and_promises_no_more_than_needed() {
        check::<_, SymmetricDistance, i32>(&[f64::NAN, -0.0, 0.0, 5e-324, f64::MAX], None);
        check::<_, SymmetricDistance, f64>(&[i32::MIN, 0, i32::MAX], Some(2));
        check::<_, InsertDeleteDistance, u64>(&[true, false], None);
        check::<_, InsertDeleteDistance, usize>(&["".to_owned(), "é".to_owned()], Some(3));
        check::<_, InsertDeleteDistance, i8>(&[u8::MIN, u8::MAX], None);
    }
    #[test]
    fn saturates_instead_of_wrapping() {
        let input =
            Space::new(VectorDomain::new(AtomDomain::<u8>::default()), SymmetricDistance).unwrap();
        let count = make_count::<_, _, i8>(input).unwrap();
        assert_eq!(count.invoke(&vec![0; 300]).unwrap(), 127);
        assert_eq!(count.map(&127), Ok(127));
        assert_eq!(count.map(&128).unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn maps_as_the_catalogue_lists() {
        let input =
            Space::new(VectorDomain::new(AtomDomain::<u8>::default()), SymmetricDistance).unwrap();
        assert_eq!(make_count::<_, _, i32>(input.clone()).unwrap().map(&7), Ok(7));
        assert_eq!(make_count::<_, _, f64>(input.clone()).unwrap().map(&3), Ok(3.0));
        // No `f32` equals this distance, so the map rounds the distance up.
        let rounded = make_count::<_, _, f32>(input).unwrap().map(&16_777_217);
        assert_eq!(rounded, Ok(16_777_218.0));
    }
}
