//! The mean of a known number of bounded records.

use std::marker::PhantomData;

use opendp_core::arith::dyadic::Rounding;
use opendp_core::arith::{Float, Integer};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, ChangeOneDistance, DatasetMetric, Distance, Error, Fold,
    Function, HammingDistance, InsertDeleteDistance, MetricOn, Result, Space, StabilityMap,
    SymmetricDistance, Transformation, VectorDomain, register,
};

use crate::lattice::Lattice;
use crate::stated::known_size;
use crate::symmetric::{Aggregate, Records, through_symmetric};

/// Average a known number of bounded records.
///
/// The sum is exact while it is computed; its quotient by the number of records is rounded once, so
/// that the mean does not depend on the order of the records nor on how they are divided.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The number of records is known and not zero: use `make_resize` first. The records are within
/// bounds that are finite, and not NaN: use `make_clamp` first.
///
/// # Function
/// Each record is rounded to a multiple of about `2^-51` of the larger bound, these multiples are
/// added exactly, and their sum divided by the number of records is cut, toward zero, to a multiple
/// of `g`, the spacing of floats of type `T` at the larger bound.
///
/// # Postcondition
/// The output is the mean, within the precision above; it is never NaN nor infinite.
///
/// # Map
/// With `n` records, bounds `[L, U]` and a symmetric distance `d`, which is `d_in`, or twice as
/// much when the metric counts replaced records: `floor(d / 2) * (U - L) / n`, computed exactly and
/// rounded up to a multiple of `g`, then to a float.
///
/// # Proof
/// Let the bounds stand for `L <= U` once rounded outward to the multiples. Two data sets of the
/// same size at symmetric distance `d` differ in `floor(d / 2)` replaced records, so that their
/// exact quotients `a >= b` differ by at most `floor(d / 2) * (U - L) / n`. Cutting to multiples of
/// `g` toward zero moves numbers of different signs closer, and moves `a - b`, when they have the
/// same sign, to at most the next multiple of `g`. The rounded bounds are at most `2^p * g`, for a
/// mantissa of `p` bits, so that each cut quotient is a float or else beyond the largest one, which
/// then replaces it; this brings no two of them further apart.
///
/// # Errors
/// `MakeTransformation` when the size is unknown or zero, when the records have no bounds or may be
/// NaN, and when a bound is infinite. The map gives `Overflow` when the bound does not fit `T`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_mean;
/// let scores = AtomDomain::bounded(Bounds::new(0.0, 10.0)?);
/// let input = Space::new(VectorDomain::new(scores).with_size(4), SymmetricDistance)?;
/// let mean = make_mean(input)?;
/// assert_eq!(mean.invoke(&vec![1.0, 2.0, 3.0, 8.0])?, 3.5);
/// assert_eq!(mean.map(&2)?, 2.5);
/// # Ok::<(), Error>(())
/// ```
pub fn make_mean<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    through_symmetric(input, mean)
}

register! {
    "mean.rs": make_mean(input)
        for T in [f32, f64],
            M in [SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance];
}

fn mean<T: Atom + Float + Distance + Into<f64>>(
    input: Space<Records<T>, SymmetricDistance>,
) -> Result<Aggregate<T, AtomDomain<T>, AbsoluteDistance<T>>> {
    let size = known_size(input.domain(), None, "use `make_resize` first")?;
    let bounds = input.domain().element().closed_bounds()?;
    let lattice = Lattice::new(bounds.lower().to_f64(), bounds.upper().to_f64())?;
    // The spacing of the smallest positive floats: their bit pattern is one.
    let lowest = 2 - T::MIN_EXPONENT_SHIFT;
    let grid = Grid::new(&lattice, size, T::MANTISSA_BITS, lowest)?;
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let map = StabilityMap::new(move |d_in: &u32| {
        let d_out = T::from_dyadic(
            &grid.sensitivity(*d_in, &lattice).to_ibig(),
            grid.exponent.into(),
            Rounding::Up,
        );
        if Float::is_finite(d_out) { Ok(d_out) } else { Err(overflow(*d_in)) }
    });
    let fold = Mean::<T> { lattice, grid, records: PhantomData };
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}
