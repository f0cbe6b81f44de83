//! Adds up the squared deviations of bounded records from their mean. The number of records is
//! known.

use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Distance, MetricOn, Result, Space,
    Transformation, VectorDomain,
};

use crate::sum::exact::deviations::deviations;
use crate::symmetric::through_symmetric;
use crate::{Pairwise, Sequential};

/// Add up the squared deviations of the records from their mean.
///
/// The sums are computed exactly, in one pass, and the result is rounded once. So the result does
/// not depend on the order of the records or on their division into chunks.
///
/// # Arguments
/// There are no arguments. Pipeline documents can state the type argument `S`, the name of a
/// summation algorithm. `S` has no effect.
///
/// # Precondition
/// The number of records is known and not zero. If the size is not known, use `make_resize` first.
/// The records are within finite bounds and not NaN. If the domain has no bounds, use `make_clamp`
/// first.
///
/// # Function
/// Let `w` be the width of the bounds. The distance between each record and the lower bound is
/// rounded to a multiple of a power of two. This power is about `2^-51 w`. The sum of squared
/// deviations of these multiples is a quotient of integers. Let `g` be the spacing of floats of
/// type `T` at the largest possible result. The quotient is rounded toward zero to a multiple of
/// `g`.
///
/// # Postcondition
/// The output is the sum of squared deviations, with the rounding described above. The output is
/// never negative, NaN or infinite.
///
/// # Map
/// Let `n` be the number of records, and `[L, U]` the bounds. If the metric counts replaced
/// records, let `k` be `d_in`. Otherwise let `k` be `floor(d_in / 2)`. Let
/// `a = min(k, floor(n / 2))`. The map is `a (n - a) / n * (U - L)^2`. In this formula, `U - L` is
/// rounded up to a multiple of the power of two. The value is computed exactly and rounded up to a
/// multiple of `g`. For one replaced record, the formula is `(n - 1) / n * (U - L)^2`.
///
/// # Proof
/// Two data sets of the same size at distance `d_in` differ in at most `k` replaced records. Let
/// `W` be the width of the bounds, rounded up to a multiple of the power of two. Each rounded
/// distance is from 0 to `W`. The file `deviations.rs` proves that the results for the rounded
/// distances differ by at most `a (n - a) / n * W^2`. The file also proves that no smaller bound
/// holds. Let `h` be a multiple of `g`. If two results differ by at most `h`, the rounded results
/// also differ by at most `h`. The file `grid.rs` proves this.
///
/// # Errors
/// `MakeTransformation` when the size is unknown or zero, or when a bound is infinite.
/// `MakeTransformation` when the input domain has no bounds, or contains NaN. The map returns
/// `Overflow` when its value does not fit `T`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_sum_of_squared_deviations;
/// let scores = AtomDomain::bounded(Bounds::new(0.0, 10.0)?);
/// let input = Space::new(VectorDomain::new(scores).with_size(5), SymmetricDistance)?;
/// let spread = make_sum_of_squared_deviations(input)?;
/// assert_eq!(spread.invoke(&vec![1.0, 2.0, 3.0, 4.0, 5.0])?, 10.0);
/// assert_eq!(spread.map(&2)?, 80.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_sum_of_squared_deviations<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    through_symmetric(input, |input| deviations(input, None))
}

/// Call [`make_sum_of_squared_deviations`]. Pipeline documents can state the additional type
/// argument `S`, the name of a summation algorithm. The sums are exact, so `S` has no effect.
#[allow(clippy::extra_unused_type_parameters, reason = "documents state `S`")]
fn sum_of_squared_deviations_at<T, M, S>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    make_sum_of_squared_deviations(input)
}

register! {
    "sum_of_squared_deviations.rs": make_sum_of_squared_deviations via sum_of_squared_deviations_at
            as ["make_sum_of_squared_deviations"](input)
        for T in [f64],
            M in dataset_metrics,
            S in [Pairwise<f64>, Sequential<f64>] as Pairwise<f64> = Pairwise<f64>;
}
register! {
    "sum_of_squared_deviations.rs": make_sum_of_squared_deviations via sum_of_squared_deviations_at
            as ["make_sum_of_squared_deviations"](input)
        for T in [f32],
            M in dataset_metrics,
            S in [Pairwise<f32>, Sequential<f32>] as Pairwise<f32> = Pairwise<f32>;
}
