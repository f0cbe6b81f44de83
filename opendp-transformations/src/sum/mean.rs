//! Computes the mean of a known number of bounded records.

use std::{any::Any, marker::PhantomData};

use dashu_int::{Sign, UBig};
use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Distance, Error, Fold, Function, MetricOn,
    Result, Space, StabilityMap, SymmetricDistance, Transformation, VectorDomain,
};

use crate::stated::size_with_mean;
use crate::sum::exact::grid::{Exact, Grid};
use crate::sum::exact::lattice::Lattice;
use crate::symmetric::{Aggregate, Records, through_symmetric};

/// Average a known number of bounded records.
///
/// The sum is computed exactly, divided by the number of records, and rounded once. So the mean
/// does not depend on the order of the records or on their division into chunks.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The number of records is known and not zero. If the size is not known, use `make_resize` first.
/// The records are within finite bounds and not NaN. If the domain has no bounds, use `make_clamp`
/// first.
///
/// # Function
/// Let `m` be the larger magnitude of the two bounds. Each record is rounded to a multiple of a
/// power of two. This power is about `2^-51 m`. These multiples are added exactly. Let `g` be the
/// spacing of floats of type `T` at `m`. The sum, divided by the number of records, is rounded
/// toward zero to a multiple of `g`.
///
/// # Postcondition
/// The output is the mean, with the rounding described above. The output is never NaN or infinite.
///
/// # Map
/// Let `n` be the number of records, and `[L, U]` the bounds. If the metric counts replaced
/// records, let `d` be `2 * d_in`. Otherwise let `d` be `d_in`. The map is
/// `floor(d / 2) * (U - L) / n`. In this formula, `L` and `U` are rounded outward to multiples of
/// the power of two. The value is computed exactly, rounded up to a multiple of `g`, and then
/// rounded up to a float.
///
/// # Proof
/// Records are rounded to multiples of a power of two. Let `L <= U` be the bounds, rounded outward
/// to such multiples. Two data sets of the same size at symmetric distance at most `d` differ in at
/// most `floor(d / 2)` replaced records. For each of the two data sets, add up the rounded records
/// exactly, and divide the sum by `n`. Let `a >= b` be the two quotients. Then `a` and `b` differ
/// by at most `floor(d / 2) * (U - L) / n`. Rounding toward zero to multiples of `g` does not
/// increase the distance between numbers of different signs. For numbers of the same sign, round
/// `a - b` up to a multiple of `g`. The distance between the rounded numbers is at most this
/// multiple. The magnitudes of the rounded bounds are at most `2^p * g`, for a mantissa of `p`
/// bits. So each rounded quotient is a float, or it exceeds the largest float. A quotient that
/// exceeds the largest float is replaced by the largest float. The replacement does not increase
/// the distance between two quotients.
///
/// # Errors
/// `MakeTransformation` when the size is unknown or zero, or when a bound is infinite.
/// `MakeTransformation` when the input domain has no bounds, or contains NaN. The map returns
/// `Overflow` when its value does not fit `T`.
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
            M in dataset_metrics;
}

fn mean<T: Atom + Float + Distance + Into<f64>>(
    input: Space<Records<T>, SymmetricDistance>,
) -> Result<Aggregate<T, AtomDomain<T>, AbsoluteDistance<T>>> {
    let size = size_with_mean(input.domain(), "use `make_resize` first")?;
    let bounds = input.domain().element().closed_bounds()?;
    let lattice = Lattice::new(bounds.lower().to_f64(), bounds.upper().to_f64())?;
    let rule = Rule { size, exponent: lattice.exponent().into() };
    // The magnitude of a mean is at most the larger magnitude of the two bounds.
    let largest = UBig::from(size) * UBig::from(lattice.magnitude());
    let grid = Grid::new::<T>(&rule.quotient(largest));
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let map = StabilityMap::new(move |d_in: &u32| {
        let change = UBig::from(d_in / 2) * UBig::from(lattice.range());
        let d_out: T = grid.up(&rule.quotient(change));
        if Float::is_finite(d_out) { Ok(d_out) } else { Err(overflow(*d_in)) }
    });
    let fold = Mean::<T> { lattice, rule, grid, records: PhantomData };
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}

/// The exact quotients of a number of units of the lattice, and the number of records.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The number of records, which is at least 1.
    size: usize,
    exponent: i64,
}
impl Rule {
    fn quotient(&self, numerator: UBig) -> Exact {
        Exact { numerator, denominator: self.size.into(), exponent: self.exponent }
    }
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!(
        "bounds: the sensitivity of the mean at distance {d_in} is not finite; state narrower \
         bounds"
    ))
}

/// The fold of the mean. The state is the exact sum, in units of the spacing of the lattice.
struct Mean<T> {
    lattice: Lattice,
    rule: Rule,
    grid: Grid,
    records: PhantomData<fn() -> T>,
}
impl<T: Atom + Float + Into<f64>> Fold<Vec<T>, T> for Mean<T> {
    type State = i128;
    fn label(&self) -> String {
        let size = self.rule.size;
        format!("mean of {} as {} by {size}", T::type_name(), self.lattice.label())
    }
    fn start(&self) -> i128 {
        0
    }
    fn absorb(&self, state: &mut i128, rows: &[T]) -> Result<()> {
        *state = state.saturating_add(self.lattice.total(rows));
        Ok(())
    }
    fn merge(&self, state: &mut i128, other: i128) -> Result<()> {
        *state = state.saturating_add(other);
        Ok(())
    }
    fn finish(&self, state: i128) -> Result<T> {
        let sign = if state < 0 { Sign::Negative } else { Sign::Positive };
        Ok(self.grid.cut(sign, &self.rule.quotient(state.unsigned_abs().into())))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.lattice.projects::<T>(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::metrics::*;
    use opendp_core::arith::InfCast;
    use opendp_core::{Bounds, DistanceOn, laws};

    fn domain<T: Atom>(lower: T, upper: T, size: usize) -> Records<T> {
        let bounds = Bounds::new(lower, upper).unwrap();
        VectorDomain::new(AtomDomain::bounded(bounds)).with_size(size)
    }
    #[track_caller]
    fn check<T, M>(lower: T, upper: T, alphabet: &[T], size: usize)
    where
        T: Atom + Float + Distance + Into<f64> + InfCast<T>,
        M: DatasetMetric + Default + DistanceOn<Records<T>>,
    {
        let input = Space::new(domain(lower, upper, size), M::default()).unwrap();
        assert!(laws::all(&make_mean(input).unwrap(), alphabet, 3).unwrap() > 0);
    }
    #[track_caller]
    fn check_all<T>(lower: T, upper: T, alphabet: &[T])
    where
        T: Atom + Float + Distance + Into<f64> + InfCast<T>,
    {
        for size in 1..=3 {
            check::<T, SymmetricDistance>(lower, upper, alphabet, size);
            check::<T, InsertDeleteDistance>(lower, upper, alphabet, size);
            check::<T, ChangeOneDistance>(lower, upper, alphabet, size);
            check::<T, HammingDistance>(lower, upper, alphabet, size);
        }
    }

    #[test]
    fn obeys_the_laws_under_every_metric() {
        check_all(-1.0, 0.1, &[-1.0, -0.0, 0.0, 5e-324, 0.1]);
        check_all(0.0, 5e-324, &[-0.0, 0.0, 5e-324]);
        check_all(-f64::MAX, 1e308, &[-f64::MAX, -0.0, 1.0, 1e290, 1e308]);
        check_all(-f32::MAX, f32::MAX, &[-f32::MAX, -1e-45, 0.0, 1e-45, f32::MAX]);
        check_all(-1e-45, 1e-44_f32, &[-1e-45, -0.0, 0.0, 1e-45, 1e-44]);
        check_all(0.1_f32, 0.3, &[0.1, 0.15, 0.2, 0.25, 0.3]);
        check_all(-0.0, 0.0_f32, &[-0.0, 0.0]);
    }
    #[test]
    fn maps_to_the_range_by_the_number_of_records() {
        let make = |size| {
            make_mean(Space::new(domain(0.0, 10.0, size), SymmetricDistance).unwrap()).unwrap()
        };
        assert_eq!([0, 1, 2, 3, 4].map(|d| make(10).map(&d).unwrap()), [0.0, 0.0, 1.0, 1.0, 2.0]);
        let d_out = make(1000).map(&2).unwrap();
        assert!((0.01..0.01 + 2e-15).contains(&d_out));
        let input = Space::new(domain(0.0, 10.0_f32, 10), HammingDistance).unwrap();
        assert_eq!(make_mean(input).unwrap().map(&1), Ok(1.0));
    }
    #[test]
    fn averages() {
        let make = |lower, upper, size| {
            make_mean(Space::new(domain(lower, upper, size), SymmetricDistance).unwrap()).unwrap()
        };
        assert_eq!(make(0.0, 10.0, 5).invoke(&vec![1.0, 2.0, 3.0, 4.0, 5.0]), Ok(3.0));
        assert_eq!(make(-1.0, 0.0, 3).invoke(&vec![-1.0, 0.0, -0.5]), Ok(-0.5));
        let huge = make(-f64::MAX, f64::MAX, 2);
        assert_eq!(huge.invoke(&vec![f64::MAX; 2]), Ok(f64::MAX));
        assert_eq!(huge.map(&2).unwrap_err().kind(), "Overflow");
        let third = make(0.0, 1.0, 3).invoke(&vec![0.0, 0.0, 1.0]).unwrap();
        assert!((1.0 / 3.0 - third).abs() < 2e-16);
    }
    #[test]
    fn a_map_below_the_grid_is_refused() {
        let base = 2_f64.powi(50);
        let input = Space::new(domain(base, base + 1.0, 3), SymmetricDistance).unwrap();
        let honest = make_mean(input.clone()).unwrap();
        let map = StabilityMap::new(|d: &u32| Ok(f64::from(d / 2) / 3.0));
        let wrong =
            Transformation::new(input, honest.output().clone(), honest.function().clone(), map);
        let data = laws::vectors(&[base, base + 1.0], 3);
        assert!(laws::stable(&honest, &data).unwrap() > 0);
        assert!(laws::stable(&wrong, &data).is_err());
    }
    #[test]
    fn says_what_is_missing() {
        let refuse = |domain: Records<f64>, gist: &str| {
            let error = make_mean(Space::new(domain, SymmetricDistance).unwrap()).unwrap_err();
            assert_eq!(error.kind(), "MakeTransformation");
            assert!(error.to_string().contains(gist), "{error}");
        };
        refuse(domain(0.0, 1.0, 0), "make_resize");
        refuse(domain(0.0, 1.0, 0).without_size(), "make_resize");
        refuse(VectorDomain::new(AtomDomain::non_nan()).with_size(1), "make_clamp");
        refuse(domain(0.0, f64::INFINITY, 1), "make_clamp");
    }
}
