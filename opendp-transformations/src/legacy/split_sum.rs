//! Sums of integers of both signs, under their older names.

use opendp_core::arith::Integer;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, Distance, Result, SymmetricDistance, Transformation,
    VectorDomain,
};

use crate::stated::bounded;
use crate::{Summand, make_sum};

/// Add up an unknown number of bounded integers of either sign.
///
/// This is [`make_sum`] under an older name, on an input space that it builds itself. The sum is
/// computed exactly and rounded once, so the order of the records does not matter.
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// The records are within the bounds.
///
/// # Postcondition
/// The output is the sum; a sum beyond the range of `T` is the nearest `T`.
///
/// # Map
/// With bounds `[L, U]`: `d_in * max(|L|, |U|)`.
///
/// # Proof
/// The proof of `make_sum` applies.
///
/// # Errors
/// The map gives `Overflow` when the bound does not fit `T`.
///
/// ```
/// # use opendp_transformations::*;
/// let sum = make_bounded_int_split_sum(opendp_core::Bounds::new(-10, 10)?)?;
/// assert_eq!((sum.invoke(&vec![-10, -10, -10, 7])?, sum.map(&2)?), (-23, 20));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_bounded_int_split_sum<T>(
    bounds: Bounds<T>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        SymmetricDistance,
        AtomDomain<T>,
        AbsoluteDistance<T>,
    >,
>
where
    T: Summand<Total = T> + Integer + Distance,
{
    make_sum(bounded(None, bounds)?)
}

register! {
    "split_sum.rs": make_bounded_int_split_sum(bounds)
        for T in integers = i32;
}

/// Add up a known number of bounded integers of either sign.
///
/// This is [`make_sum`] under an older name, on an input space that it builds itself. The sum is
/// computed exactly and rounded once, so the order of the records does not matter.
///
/// # Arguments
/// * `size` - the number of records
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// The records are within the bounds.
///
/// # Postcondition
/// The output is the sum; a sum beyond the range of `T` is the nearest `T`.
///
/// # Map
/// With bounds `[L, U]`: `floor(d_in / 2) * (U - L)`.
///
/// # Proof
/// The proof of `make_sum` applies.
///
/// # Errors
/// The map gives `Overflow` when the bound does not fit `T`.
///
/// ```
/// # use opendp_transformations::*;
/// let sum = make_sized_bounded_int_split_sum(3, opendp_core::Bounds::new(-10, 10)?)?;
/// assert_eq!((sum.invoke(&vec![-10, -10, 7])?, sum.map(&2)?), (-13, 20));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_sized_bounded_int_split_sum<T>(
    size: usize,
    bounds: Bounds<T>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        SymmetricDistance,
        AtomDomain<T>,
        AbsoluteDistance<T>,
    >,
>
where
    T: Summand<Total = T> + Integer + Distance,
{
    make_sum(bounded(Some(size), bounds)?)
}

register! {
    "split_sum.rs": make_sized_bounded_int_split_sum(size, bounds)
        for T in integers = i32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::Records;
    use opendp_core::{DatasetMetric, DistanceOn, StabilityMap, laws};

    #[track_caller]
    fn check<M: DatasetMetric + Default + DistanceOn<Records<i8>>>(
        bounds: (i8, i8),
        make: impl Fn(
            Bounds<i8>,
        )
            -> Result<Transformation<Records<i8>, M, AtomDomain<i8>, AbsoluteDistance<i8>>>,
    ) {
        let sum = make(Bounds::new(bounds.0, bounds.1).unwrap()).unwrap();
        let alphabet = [bounds.0, 0, 1, bounds.1];
        assert!(laws::all(&sum, &alphabet, 3).unwrap() > 0);
        let map = StabilityMap::new(|d: &u32| Ok(i8::from(*d > 1)));
        let (output, function) = (sum.output().clone(), sum.function().clone());
        let wrong = Transformation::new(sum.input().clone(), output, function, map);
        assert!(laws::stable(&wrong, &laws::vectors(&alphabet, 3)).is_err());
    }

    #[test]
    fn obeys_the_laws_of_either_sign() {
        for bounds in [(-127, 127), (-20, 127), (0, 127)] {
            check(bounds, make_bounded_int_split_sum);
            check(bounds, |bounds| make_sized_bounded_int_split_sum(3, bounds));
        }
    }
    #[test]
    fn saturates_the_exact_sum_once() {
        let sum = make_bounded_int_split_sum(Bounds::new(i8::MIN, i8::MAX).unwrap()).unwrap();
        assert_eq!(sum.invoke(&vec![-128, 127, 127]), Ok(126));
        assert_eq!(sum.invoke(&vec![-128, -1, 1]), Ok(-128));
    }
}
