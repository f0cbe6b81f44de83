//! Sums of records in order, under their older names.

use opendp_core::arith::Integer;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, Distance, InsertDeleteDistance, Result, Transformation,
    VectorDomain,
};

use crate::legacy::checked_sum::fits;
use crate::stated::bounded;
use crate::{Pairwise, Sequential, Summand, Summation, make_sum};

/// Add up an unknown number of bounded integers in order.
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
/// let sum = make_bounded_int_ordered_sum(opendp_core::Bounds::new(-10, 10)?)?;
/// assert_eq!((sum.invoke(&vec![-10, -10, 7])?, sum.map(&2)?), (-13, 20));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_bounded_int_ordered_sum<T>(
    bounds: Bounds<T>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        InsertDeleteDistance,
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
    "ordered_sum.rs": make_bounded_int_ordered_sum(bounds)
        for T in integers = i32;
}

/// Add up a known number of bounded integers in order.
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
/// let sum = make_sized_bounded_int_ordered_sum(3, opendp_core::Bounds::new(-10, 10)?)?;
/// assert_eq!((sum.invoke(&vec![-10, -10, 7])?, sum.map(&2)?), (-13, 20));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_sized_bounded_int_ordered_sum<T>(
    size: usize,
    bounds: Bounds<T>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        InsertDeleteDistance,
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
    "ordered_sum.rs": make_sized_bounded_int_ordered_sum(size, bounds)
        for T in integers = i32;
}

/// Add up an unknown number of bounded floats in order.
///
/// This is [`make_sum`] under an older name, on an input space that it builds itself. The sum is
/// computed exactly and rounded once, so the order of the records does not matter.
///
/// # Arguments
/// * `size_limit` - the largest expected number of records. It has no effect on the sum: no record
///   is left out
/// * `bounds` - a pair `[lower, upper]`
///
/// The type argument `S` names a summation algorithm and has no effect.
///
/// # Precondition
/// The records are within the bounds.
///
/// # Postcondition
/// The output is the sum; it is never NaN or infinite.
///
/// # Map
/// With bounds `[L, U]`: `d_in * max(|L|, |U|)`, rounded up as by `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies.
///
/// # Errors
/// `MakeTransformation` when a bound is infinite, or when the sum of `size_limit` records may
/// exceed the largest `f64`. The map gives `Overflow` when the bound exceeds the largest `f64`.
///
/// ```
/// # use opendp_transformations::*;
/// let bounds = opendp_core::Bounds::new(0.0, 10.0)?;
/// let sum = make_bounded_float_ordered_sum::<Pairwise<f64>>(3, bounds)?;
/// assert_eq!((sum.invoke(&vec![1.0, 2.0, 3.5])?, sum.map(&2)?), (6.5, 20.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_bounded_float_ordered_sum<S>(
    size_limit: usize,
    bounds: Bounds<S::Item>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<S::Item>>,
        InsertDeleteDistance,
        AtomDomain<f64>,
        AbsoluteDistance<f64>,
    >,
>
where
    S: Summation<Item: Summand<Total = f64>>,
{
    fits(size_limit, &bounds)?;
    make_sum(bounded(None, bounds)?)
}

register! {
    "ordered_sum.rs": make_bounded_float_ordered_sum(size_limit, bounds)
        for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>] = Pairwise<f64>;
}

/// Add up a known number of bounded floats in order.
///
/// This is [`make_sum`] under an older name, on an input space that it builds itself. The sum is
/// computed exactly and rounded once, so the order of the records does not matter.
///
/// # Arguments
/// * `size` - the number of records
/// * `bounds` - a pair `[lower, upper]`
///
/// The type argument `S` names a summation algorithm and has no effect.
///
/// # Precondition
/// The records are within the bounds.
///
/// # Postcondition
/// The output is the sum; it is never NaN or infinite.
///
/// # Map
/// With bounds `[L, U]`: `floor(d_in / 2) * (U - L)`, rounded up as by `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies.
///
/// # Errors
/// `MakeTransformation` when a bound is infinite, or when the sum of `size` records may exceed the
/// largest `f64`. The map gives `Overflow` when the bound exceeds the largest `f64`.
///
/// ```
/// # use opendp_transformations::*;
/// let bounds = opendp_core::Bounds::new(0.0, 10.0)?;
/// let sum = make_sized_bounded_float_ordered_sum::<Pairwise<f64>>(3, bounds)?;
/// assert_eq!((sum.invoke(&vec![1.0, 2.0, 3.5])?, sum.map(&2)?), (6.5, 10.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_sized_bounded_float_ordered_sum<S>(
    size: usize,
    bounds: Bounds<S::Item>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<S::Item>>,
        InsertDeleteDistance,
        AtomDomain<f64>,
        AbsoluteDistance<f64>,
    >,
>
where
    S: Summation<Item: Summand<Total = f64>>,
{
    make_sum(bounded(Some(size), bounds)?)
}

register! {
    "ordered_sum.rs": make_sized_bounded_float_ordered_sum(size, bounds)
        for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>] = Pairwise<f64>;
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

    type Floats<M> = Transformation<Records<f64>, M, AtomDomain<f64>, AbsoluteDistance<f64>>;
    #[track_caller]
    fn check_floats<M: DatasetMetric + Default + DistanceOn<Records<f64>>>(
        make: impl Fn(Bounds<f64>) -> Result<Floats<M>>,
    ) {
        let sum = make(Bounds::new(-1.0, 0.1).unwrap()).unwrap();
        assert!(laws::all(&sum, &[-1.0, -0.0, 5e-324, 0.1], 3).unwrap() > 0);
        let map = StabilityMap::new(|d: &u32| Ok(f64::from(d / 2) * 0.9));
        let (output, function) = (sum.output().clone(), sum.function().clone());
        let wrong = Transformation::new(sum.input().clone(), output, function, map);
        assert!(laws::stable(&wrong, &laws::vectors(&[-1.0, 0.1], 3)).is_err());
    }

    #[test]
    fn obeys_the_laws() {
        for bounds in [(-127, 127), (0, 127)] {
            check(bounds, make_bounded_int_ordered_sum);
            check(bounds, |bounds| make_sized_bounded_int_ordered_sum(3, bounds));
        }
        check_floats(|bounds| make_bounded_float_ordered_sum::<Pairwise<f64>>(2, bounds));
        check_floats(|bounds| make_sized_bounded_float_ordered_sum::<Sequential<f64>>(3, bounds));
    }
    #[test]
    fn no_order_matters_and_no_record_is_left_out() {
        let bounds = Bounds::new(i8::MIN, i8::MAX).unwrap();
        let sum = make_bounded_int_ordered_sum(bounds).unwrap();
        assert_eq!(sum.invoke(&vec![127, 127, -128]), Ok(126));
        let bounds = Bounds::new(0.0_f32, 10.0).unwrap();
        let sum = make_bounded_float_ordered_sum::<Pairwise<f32>>(2, bounds).unwrap();
        assert_eq!(sum.invoke(&vec![1.0, 2.0, 3.0]), Ok(6.0));
    }
}
