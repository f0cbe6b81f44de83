//! Computes the covariance of a known number of bounded pairs.

use std::marker::PhantomData;

use dashu_int::{Sign, UBig};
use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Distance, Error, Fold, Function, MetricOn,
    PairDomain, Result, Space, StabilityMap, Transformation, VectorDomain,
};
use serde::{Deserialize, Serialize};

use crate::stated::{degrees_of_freedom, size_with_mean};
use crate::sum::exact::grid::{Exact, Grid};
use crate::sum::exact::offset::{Offset, Wide};
use crate::{Pairwise, Sequential};

/// Compute the covariance of a known number of bounded pairs.
///
/// The sums are computed exactly, in one pass, and the covariance is rounded once. So the
/// covariance does not depend on the order of the records or on their division into chunks.
///
/// # Arguments
/// * `ddof` - the delta degrees of freedom. Let `n` be the number of records. The sum of the
///   products of deviations is divided by `n - ddof`.
///
/// Pipeline documents can state the type argument `S`, the name of a summation algorithm. `S` has
/// no effect.
///
/// # Precondition
/// The number of records is known and greater than `ddof`. Both parts of each record are within
/// finite bounds and are not NaN.
///
/// # Function
/// For each part, let `w` be the width of its bounds. The distance between the part and its lower
/// bound is rounded to a multiple of a power of two. This power is about `2^-51 w`. The covariance
/// of these multiples is a quotient of integers. Let `g` be the spacing of floats of type `T` at
/// the largest possible covariance. The quotient is rounded toward zero to a multiple of `g`.
///
/// # Postcondition
/// The output is the covariance, with the rounding described above. The output is never NaN or
/// infinite.
///
/// # Map
/// Let `n` be the number of records. Let `W` and `W'` be the widths of the bounds of the two parts.
/// Each part has its own power of two. The width of its bounds is rounded up to a multiple of this
/// power. If the metric counts replaced records, let `k` be `d_in`. Otherwise let `k` be
/// `floor(d_in / 2)`. The map is
/// `min(k (n - 1), 2 floor(n / 2) ceil(n / 2)) / (n (n - ddof)) * W W'`. The value is computed
/// exactly, rounded up to a multiple of `g`, and then rounded up to a float.
///
/// # Proof
/// Each part is rounded to a multiple of a power of two. Use this power as the unit for the part.
/// In these units, let `R` and `R'` be the widths of the bounds, rounded up. The first parts are
/// integers from `0` to `R`, and the second parts are integers from `0` to `R'`. The deviation of a
/// part is its difference from the mean of this part over all records. For each record, multiply
/// the deviations of both parts. Let `C` be the sum of these products. If `n = 1`, `C` is zero.
/// Otherwise let one record `(x, y)` be replaced. Let `(m, m')` be the mean of the other records.
/// Let `C'` be the sum of the same products for these other records, with deviations from
/// `(m, m')`. Then `C = C' + (n - 1) / n * (x - m) (y - m')`. The product `(x - m) (y - m')` is
/// bilinear, so its extremes are at the corners of the range of `(x, y)`. The positive extremes are
/// `m m'` and `(R - m)(R' - m')`. The negative extremes are `-m (R' - m')` and `-(R - m) m'`. The
/// difference between a positive and a negative extreme is `m R'`, `(R - m) R'`, `R m'` or
/// `R (R' - m')`. So this difference is at most `R R'`. If `k` records are replaced, `C` changes by
/// at most `k (n - 1) / n * R R'`.
///
/// There is a second bound. By the Cauchy-Schwarz inequality, `C^2` is at most the product of the
/// two sums of squared deviations. Let `q = floor(n / 2) ceil(n / 2) / n`. By the lemma in
/// `deviations.rs`, the sum for the first parts is at most `q R^2`, and the sum for the second
/// parts is at most `q R'^2`. So the distance between two values of `C` is at most `2 q R R'`. Let
/// `h` be a multiple of `g`. If two results differ by at most `h`, the rounded results also differ
/// by at most `h`. The file `grid.rs` proves this.
///
/// # Errors
/// `MakeTransformation` when the size is unknown, zero, or not above `ddof`.
/// `MakeTransformation` when the domain of a part has no bounds, contains NaN, or has an infinite
/// bound. The map returns `Overflow` when its value does not fit `T`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_covariance;
/// let unit = AtomDomain::bounded(Bounds::new(0.0, 1.0)?);
/// let points = VectorDomain::new(PairDomain::new(unit.clone(), unit)).with_size(4);
/// let input = Space::new(points, SymmetricDistance)?;
/// let covariance = make_covariance(input, 0)?;
/// assert_eq!(covariance.invoke(&vec![(0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 1.0)])?, 0.25);
/// assert_eq!(covariance.map(&2)?, 0.1875);
/// # Ok::<(), Error>(())
/// ```
pub fn make_covariance<T, M>(
    input: Space<VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>, M>,
    ddof: usize,
) -> Result<
    Transformation<
        VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>,
        M,
        AtomDomain<T>,
        AbsoluteDistance<T>,
    >,
>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>>,
{
    let domain = input.domain();
    let size = size_with_mean(domain, "state the `size` of the domain")?;
    let divisor = degrees_of_freedom(size, ddof)?;
    let offset = |part: &AtomDomain<T>| {
        let bounds = part.closed_bounds()?;
        Offset::new(bounds.lower().to_f64(), bounds.upper().to_f64())
    };
    let offsets = (offset(domain.element().first())?, offset(domain.element().second())?);
    let rule = Rule { size, divisor, offsets };
    let grid = Grid::new::<T>(&rule.result(rule.largest()));
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let metric = input.metric().clone();
    let map = StabilityMap::new(move |d_in: &u32| {
        let d_out: T = grid.up(&rule.sensitivity(metric.to_symmetric(*d_in)? / 2));
        if Float::is_finite(d_out) { Ok(d_out) } else { Err(overflow(*d_in)) }
    });
    let fold = Covariance::<T> { rule, grid, records: PhantomData };
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}

/// Call [`make_covariance`]. Pipeline documents can state the additional type argument `S`, the
/// name of a summation algorithm. The sums are exact, so `S` has no effect.
#[allow(clippy::extra_unused_type_parameters, reason = "documents state `S`")]
fn covariance_at<T, M, S>(
    input: Space<VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>, M>,
    ddof: usize,
) -> Result<
    Transformation<
        VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>,
        M,
        AtomDomain<T>,
        AbsoluteDistance<T>,
    >,
>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>>,
{
    make_covariance(input, ddof)
}

register! {
    "covariance.rs": make_covariance via covariance_at as ["make_covariance"](input, ddof = 1)
        for T in [f64],
            M in dataset_metrics,
            S in [Pairwise<f64>, Sequential<f64>] as Pairwise<f64> = Pairwise<f64>;
}
register! {
    "covariance.rs": make_covariance via covariance_at as ["make_covariance"](input, ddof = 1)
        for T in [f32],
            M in dataset_metrics,
            S in [Pairwise<f32>, Sequential<f32>] as Pairwise<f32> = Pairwise<f32>;
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    size: usize,
    divisor: usize,
    offsets: (Offset, Offset),
}
impl Rule {
    /// Divide `numerator` by the number of records and by `divisor`. `numerator` is the sum of
    /// products of deviations, times the number of records.
    fn result(&self, numerator: UBig) -> Exact {
        let denominator = UBig::from(self.size) * UBig::from(self.divisor);
        let exponent = self.offsets.0.exponent() + self.offsets.1.exponent();
        Exact { numerator, denominator, exponent }
    }
    fn largest(&self) -> UBig {
        let halves = UBig::from(self.size / 2) * UBig::from(self.size - self.size / 2);
        halves * UBig::from(self.offsets.0.range()) * UBig::from(self.offsets.1.range())
    }
    fn sensitivity(&self, replaced: u32) -> Exact {
        let ranges = UBig::from(self.offsets.0.range()) * UBig::from(self.offsets.1.range());
        let others = UBig::from(self.size.saturating_sub(1));
        let change = UBig::from(replaced) * others * ranges;
        self.result(change.min(UBig::from(2_u8) * self.largest()))
    }
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!(
        "bounds: the sensitivity of the covariance at distance {d_in} is not finite; state \
         narrower bounds"
    ))
}

/// Three exact sums: of the first parts, of the second parts, and of the products of both parts.
/// [`Offset`] maps each part to an integer before the parts are added or multiplied.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Products {
    first: u128,
    second: u128,
    products: Wide,
}

struct Covariance<T> {
    rule: Rule,
    grid: Grid,
    records: PhantomData<fn() -> T>,
}
impl<T: Atom + Float + Into<f64>> Fold<Vec<(T, T)>, T> for Covariance<T> {
    type State = Products;
    fn label(&self) -> String {
        let Rule { size, divisor, offsets: (first, second) } = self.rule;
        let (first, second) = (first.label(), second.label());
        format!("covariance of {size} {} as {first} and {second} by {divisor}", T::type_name())
    }
    fn start(&self) -> Products {
        Products::default()
    }
    fn absorb(&self, state: &mut Products, rows: &[(T, T)]) -> Result<()> {
        let (first, second) = &self.rule.offsets;
        for (x, y) in rows {
            let (x, y) = (first.multiple((*x).into()), second.multiple((*y).into()));
            state.first = state.first.saturating_add(x.into());
            state.second = state.second.saturating_add(y.into());
            state.products.add(Wide::new(u128::from(x) * u128::from(y)));
        }
        Ok(())
    }
    fn merge(&self, state: &mut Products, other: Products) -> Result<()> {
        state.first = state.first.saturating_add(other.first);
        state.second = state.second.saturating_add(other.second);
        state.products.add(other.products);
        Ok(())
    }
    fn finish(&self, state: Products) -> Result<T> {
        let products = state.products.to_ubig() * UBig::from(self.rule.size);
        let means = UBig::from(state.first) * UBig::from(state.second);
        let (sign, numerator) = match means <= products {
            true => (Sign::Positive, products - means),
            false => (Sign::Negative, means - products),
        };
        Ok(self.grid.cut(sign, &self.rule.result(numerator)))
    }
}

#[cfg(test)]
mod tests;
