//! Sums that are checked for overflow, under their older names.

use opendp_core::arith::{Directed, InfCast, Integer};
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, Distance, Error, Result, SymmetricDistance,
    Transformation, VectorDomain,
};

use crate::stated::bounded;
use crate::{Pairwise, Sequential, Summand, Summation, make_sum};

/// Add up a known number of bounded integers whose sum cannot overflow.
///
/// This is [`make_sum`] under an older name, on an input space that it builds itself. The sum is
/// computed exactly and rounded once, so the order of the records does not matter.
///
/// # Arguments
/// * `size` - the number of records
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// The sum of `size` integers within the bounds fits `T`.
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
/// `MakeTransformation` when a sum may not fit `T`. The map gives `Overflow` when the bound does
/// not fit `T`.
///
/// ```
/// # use opendp_transformations::*;
/// let sum = make_sized_bounded_int_checked_sum(3, opendp_core::Bounds::new(1, 10)?)?;
/// assert_eq!((sum.invoke(&vec![1, 2, 3])?, sum.map(&2)?), (6, 9));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_sized_bounded_int_checked_sum<T>(
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
    let extreme = |bound: T| bound.to_i128()?.checked_mul(size.try_into().ok()?);
    for bound in [bounds.lower(), bounds.upper()] {
        if extreme(bound).is_none_or(|sum| T::saturating_from_i128(sum).to_i128() != Some(sum)) {
            return Err(potential(size));
        }
    }
    make_sum(bounded(Some(size), bounds)?)
}

register! {
    "checked_sum.rs": make_sized_bounded_int_checked_sum(size, bounds)
        for T in integers = i32;
}

/// Add up an unknown number of bounded floats.
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
/// let sum = make_bounded_float_checked_sum::<Pairwise<f64>>(3, bounds)?;
/// assert_eq!((sum.invoke(&vec![1.0, 2.0, 3.5])?, sum.map(&2)?), (6.5, 20.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_bounded_float_checked_sum<S>(
    size_limit: usize,
    bounds: Bounds<S::Item>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<S::Item>>,
        SymmetricDistance,
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
    "checked_sum.rs": make_bounded_float_checked_sum(size_limit, bounds)
        for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>] = Pairwise<f64>;
}

/// Add up a known number of bounded floats.
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
/// let sum = make_sized_bounded_float_checked_sum::<Pairwise<f64>>(3, bounds)?;
/// assert_eq!((sum.invoke(&vec![1.0, 2.0, 3.5])?, sum.map(&2)?), (6.5, 10.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_sized_bounded_float_checked_sum<S>(
    size: usize,
    bounds: Bounds<S::Item>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<S::Item>>,
        SymmetricDistance,
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
    "checked_sum.rs": make_sized_bounded_float_checked_sum(size, bounds)
        for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>] = Pairwise<f64>;
}

/// Check that the sum of this many records is a float.
pub(crate) fn fits<T: Summand<Total = f64>>(size: usize, bounds: &Bounds<T>) -> Result<()> {
    for bound in [bounds.lower(), bounds.upper()] {
        let bound = bound.to_f64().unwrap_or(f64::NAN).abs();
        if f64::inf_cast(size)?.inf_mul(bound).is_err() {
            return Err(potential(size));
        }
    }
    Ok(())
}
#[cold]
fn potential(size: usize) -> Error {
    Error::MakeTransformation(format!(
        "bounds: potential for overflow: the sum of {size} records may not fit its type"
    ))
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
        for bounds in [(-42, 42), (0, 42)] {
            check(bounds, |bounds| make_sized_bounded_int_checked_sum(3, bounds));
        }
        check_floats(|bounds| make_bounded_float_checked_sum::<Pairwise<f64>>(9, bounds));
        check_floats(|bounds| make_sized_bounded_float_checked_sum::<Sequential<f64>>(3, bounds));
    }
    #[test]
    fn promises_less_than_sums_of_rounded_floats_do() {
        let bounds = Bounds::new(-5.0, 10.0).unwrap();
        let sum = make_bounded_float_checked_sum::<Pairwise<f64>>(1 << 20, bounds).unwrap();
        assert_eq!(sum.map(&1), Ok(10.0));
        let sum = make_sized_bounded_float_checked_sum::<Sequential<f64>>(10, bounds).unwrap();
        assert_eq!([0, 1, 2, 3].map(|d| sum.map(&d).unwrap()), [0.0, 0.0, 15.0, 15.0]);
    }
    #[test]
    fn refuses_sums_that_may_overflow() {
        let gist = |error: Error| {
            assert_eq!(error.kind(), "MakeTransformation");
            assert!(error.to_string().contains("potential for overflow"), "{error}");
        };
        let bytes =
            |size| make_sized_bounded_int_checked_sum(size, Bounds::new(-64_i8, 1).unwrap());
        assert!(bytes(2).is_ok());
        gist(bytes(3).unwrap_err());
        gist(bytes(usize::MAX).unwrap_err());
        let wide = Bounds::new(0, i128::MAX).unwrap();
        gist(make_sized_bounded_int_checked_sum(2, wide).unwrap_err());
        let huge = Bounds::new(-1e308, 0.0).unwrap();
        gist(make_bounded_float_checked_sum::<Pairwise<f64>>(2, huge).unwrap_err());
        gist(make_sized_bounded_float_checked_sum::<Pairwise<f64>>(2, huge).unwrap_err());
        assert!(make_bounded_float_checked_sum::<Pairwise<f64>>(1, huge).is_ok());
    }
}
