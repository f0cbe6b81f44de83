//! Adds up bounded records.

// Constructors.
mod covariance;
mod mean;
mod sum_of_squared_deviations;
mod summation;
mod variance;

// Shared code.
mod exact;

use opendp_core::arith::Number;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Distance, MetricOn, Result, Space,
    SymmetricDistance, Transformation, VectorDomain,
};

use crate::sum::exact::{float_sum, integer_sum};
use crate::symmetric::{Aggregate, Records, through_symmetric};

pub use covariance::make_covariance;
pub use mean::make_mean;
pub use sum_of_squared_deviations::make_sum_of_squared_deviations;
pub use summation::{Pairwise, Sequential, Summation};
pub use variance::make_variance;

/// Add up the records.
///
/// Integers are added exactly. Each float is first rounded to a multiple of a power of two. The
/// multiples are added exactly, and the total is rounded once at the end. So the sum does not
/// depend on the order of the records, or on their division among cores and machines.
///
/// # Arguments
/// There are no arguments. The sum of integers of type `T` has type `T`. The sum of floats has type
/// `f64`, because an `f32` has too few digits for a sum of many `f32` records.
///
/// # Precondition
/// The records are within finite bounds and not NaN. If the domain has no bounds, use `make_clamp`
/// first.
///
/// # Function
/// Integers are added exactly. A total out of the range of `T` becomes the nearest value of `T`.
/// For floats, let `m` be the larger magnitude of the two bounds. Each float is rounded to a
/// multiple of a power of two. This power is about `2^-51 m`. These multiples are added exactly,
/// and the total is rounded toward zero to an `f64`. If the size is unknown, the magnitude of the
/// total is compared with a limit. This limit is at least `2^32 m`, so a sum of up to four billion
/// records does not exceed it. If the magnitude exceeds the limit, the function reduces the part
/// above the limit. The proof of the map requires this reduction. If `m` is an integer below 900
/// times a power of two, such as 1 or 1000, the limit is above `10^13 m`.
///
/// # Postcondition
/// The output is the sum, with the rounding and the limits described above. The output is never NaN
/// or infinite.
///
/// # Map
/// Let `[L, U]` be the bounds. If the metric counts replaced records, let `d` be `2 * d_in`.
/// Otherwise let `d` be `d_in`. The map is
///
/// - unknown size: `d * max(|L|, |U|)`;
/// - known size: `floor(d / 2) * (U - L)`.
///
/// For integers, the map is this product, without rounding. For floats, `L` and `U` are first
/// rounded outward to multiples of the power of two. At the end, the map is rounded up to an `f64`.
/// For floats in data of unknown size, the map is the smaller of two numbers. The first number is
/// the product of `d` and `max(|L|, |U|)`, where `max(|L|, |U|)` is first rounded up to 21
/// significant bits. The second number is the product without this rounding, plus the place value
/// of the last of these 21 bits. For floats in data of known size, let `g` be the spacing of floats
/// at the largest possible sum. Then the map is `floor(d / 2) * (U - L)`, rounded up to a multiple
/// of `g`.
///
/// # Proof
/// A record that is added or removed changes the exact sum by at most `max(|L|, |U|)`. Two data
/// sets of the same size at symmetric distance at most `d` differ in at most `floor(d / 2)`
/// replaced records. Each replaced record changes the exact sum by at most `U - L`. Saturation at
/// the ends of `T` does not increase the distance between two integers. The source files
/// `float_sum.rs` and `rounding.rs` prove that the map covers the rounding of floats.
///
/// # Errors
/// `MakeTransformation` when the input domain has no bounds or contains NaN, or when a bound is
/// infinite. `MakeTransformation` when the size is known and a sum of floats can exceed the largest
/// `f64`. The map returns `Overflow` when its value does not fit the type of the sum.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_sum;
/// let ages = AtomDomain::bounded(Bounds::new(0_i32, 120)?);
/// let sum = make_sum(Space::new(VectorDomain::new(ages), SymmetricDistance)?)?;
/// assert_eq!(sum.invoke(&vec![30, 50])?, 80);
/// assert_eq!(sum.map(&2)?, 240);
/// # Ok::<(), Error>(())
/// ```
pub fn make_sum<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        AtomDomain<T::Total>,
        AbsoluteDistance<T::Total>,
    >,
>
where
    T: Summand,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    through_symmetric(input, T::sum)
}

register! {
    "sum.rs": make_sum(input)
        for T in numbers, M in dataset_metrics;
}

/// A type of numbers whose sums are computed exactly.
pub trait Summand: Atom + Number {
    /// The type of these sums.
    type Total: Atom + Number + Distance;
    /// Build the transformation that adds up bounded records. The input metric is the symmetric
    /// distance.
    ///
    /// # Errors
    /// The errors of [`make_sum`].
    fn sum(
        input: Space<Records<Self>, SymmetricDistance>,
    ) -> Result<Aggregate<Self, AtomDomain<Self::Total>, AbsoluteDistance<Self::Total>>>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Summand for $t {
            type Total = $t;
            fn sum(
                input: Space<Records<Self>, SymmetricDistance>,
            ) -> Result<Aggregate<Self, AtomDomain<$t>, AbsoluteDistance<$t>>> {
                integer_sum::sum(input)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Summand for $t {
            type Total = f64;
            fn sum(
                input: Space<Records<Self>, SymmetricDistance>,
            ) -> Result<Aggregate<Self, AtomDomain<f64>, AbsoluteDistance<f64>>> {
                float_sum::sum(input)
            }
        }
    )*};
}
floats!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::metrics::*;
    use opendp_core::arith::InfCast;
    use opendp_core::{Bounds, DistanceOn, laws};

    #[track_caller]
    fn check<T, M>(lower: T, upper: T, alphabet: &[T], size: Option<usize>)
    where
        T: Summand,
        M: DatasetMetric + Default + DistanceOn<Records<T>>,
        T::Total: InfCast<T::Total>,
    {
        let domain = VectorDomain::new(AtomDomain::bounded(Bounds::new(lower, upper).unwrap()));
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        let sum = make_sum(Space::new(domain, M::default()).unwrap()).unwrap();
        assert!(laws::all(&sum, alphabet, 3).unwrap() > 0);
    }
    #[track_caller]
    fn check_all<T: Summand>(lower: T, upper: T, alphabet: &[T])
    where
        T::Total: InfCast<T::Total>,
    {
        for size in [None, Some(0), Some(2), Some(3)] {
            check::<T, SymmetricDistance>(lower, upper, alphabet, size);
            check::<T, InsertDeleteDistance>(lower, upper, alphabet, size);
        }
        check::<T, ChangeOneDistance>(lower, upper, alphabet, Some(3));
        check::<T, HammingDistance>(lower, upper, alphabet, Some(3));
    }

    #[test]
    fn obeys_the_laws_for_integers() {
        check_all(-128, 127, &[i8::MIN, -1, 0, 1, i8::MAX]);
        check_all(0, 100, &[0_u8, 1, 50, 99, 100]);
        check_all(i64::MIN, i64::MAX, &[i64::MIN, -1, 0, 1, i64::MAX]);
        check_all(i128::MIN, i128::MAX, &[i128::MIN, -1, 0, 1, i128::MAX]);
        check_all(0, usize::MAX, &[0, 1, 2, usize::MAX / 2, usize::MAX]);
    }
    #[test]
    fn obeys_the_laws_for_floats() {
        check_all(-1.0, 0.1, &[-1.0, -0.0, 0.0, 5e-324, 0.1]);
        check_all(0.0, 5e-324, &[-0.0, 0.0, 5e-324]);
        check_all(-1e-310, 1e-323, &[-1e-310, -5e-324, 0.0, 1e-323]);
        check_all(-1e300, 1e307, &[-1e300, -0.0, 1.0, 1e290, 1e307]);
        check_all(1.0 / 3.0, 1e16, &[1.0 / 3.0, 0.5, 1e15 + 0.1, 1e16 - 2.0, 1e16]);
        check_all(-f32::MAX, f32::MAX, &[-f32::MAX, -1e-45, 0.0, 1e-45, f32::MAX]);
        check_all(0.1_f32, 0.3, &[0.1, 0.15, 0.2, 0.25, 0.3]);
        check_all(-0.0, 0.0, &[-0.0, 0.0]);
    }
    #[test]
    fn asks_for_bounds_by_the_name_of_the_constructor_that_makes_them() {
        let records = VectorDomain::new(AtomDomain::<i32>::default());
        let error = make_sum(Space::new(records, SymmetricDistance).unwrap()).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains("make_clamp"));
    }
}
