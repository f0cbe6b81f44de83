//! Computes exact sums of squared deviations from the mean, in one pass.
//!
//! **Function.** The distance of each record from the lower bound is rounded to `I` times a power
//! of two, with an integer `I` (see `offset.rs`). Divide the width of the bounds by this power, and
//! round the quotient up to `R`. So `I` is from `0` to `R`. Let `A` be the sum of these integers,
//! and `B` the sum of their squares. Both sums are exact in any order. Use the square of this power
//! of two as the unit. Then the sum of squared deviations of the `n` rounded distances is the
//! quotient `(n B - A^2) / n` of two integers. This quotient is rounded toward zero once, to a
//! float; see `grid.rs`.
//!
//! **Sensitivity.** Let `x` be a list of `n` numbers between `0` and `R`, with `n >= 1`. Let `V(x)`
//! be the sum of their squared deviations.
//!
//! **Lemma.** Let `y` be `x` with at most `k` numbers replaced, where `k <= n`. Then
//! `V(x) - V(y) <= a (n - a) / n * R^2`, where `a = min(k, floor(n / 2))`.
//!
//! *Proof.* If fewer than `k` numbers are replaced, choose further numbers, and replace each of
//! them by itself. Let `z` be the `n - k` numbers that `x` and `y` share, and `u` the other `k`
//! numbers of `x`. If `z` is not empty, then `V(y) >= V(z)`. There are two reasons. First, `z` is a
//! part of `y`. Second, the sum of squared deviations of `z` from a point is smallest at the mean
//! of `z`. If `z` is empty, then `V(y) >= 0`. In this case let `V(z) = 0`, and choose any number
//! from `0` to `R` as the mean of `z`. The deviations of `x` split into deviations within `u`,
//! deviations within `z`, and deviations between `u` and `z`:
//! `V(x) = V(u) + V(z) + k (n - k) / n * (mean(u) - mean(z))^2`. So `V(x) - V(y)` is at most
//! `D = V(u) + k (n - k) / n * (mean(u) - mean(z))^2`. `D` is convex in each number of `u`, and in
//! `mean(z)`. So `D` is largest when all these numbers are `0` or `R`. By symmetry, assume that
//! `mean(z) = 0`. Let `j` of the numbers in `u` be `R`, and let the others be `0`. Then
//! `D = (j (k - j) / k + (n - k) j^2 / (n k)) R^2 = j (n - j) / n * R^2`. This value grows with `j`
//! up to `n / 2`, and then falls. `j` is an integer and `j <= k`, so the value is largest at
//! `j = a`. The bound is attained if `a` numbers of `u` are `R`, and all other numbers of `x` and
//! `y` are `0`. So no smaller bound holds. By symmetry, `V(y) - V(x)` has the same bound.

use std::marker::PhantomData;

use dashu_int::{Sign, UBig};
use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Distance, Error, Fold, Function, Result, Space,
    StabilityMap, SymmetricDistance, Transformation,
};

use crate::stated::{degrees_of_freedom, size_with_mean};
use crate::sum::exact::grid::{Exact, Grid};
use crate::sum::exact::offset::{Moments, Offset};
use crate::symmetric::{Aggregate, Records};

/// Build the transformation that adds up the squared deviations of bounded records from their mean.
/// The number of records must be known. If `ddof` is given, the sum is divided by the number of
/// records minus `ddof`.
pub(crate) fn deviations<T: Atom + Float + Distance + Into<f64>>(
    input: Space<Records<T>, SymmetricDistance>,
    ddof: Option<usize>,
) -> Result<Aggregate<T, AtomDomain<T>, AbsoluteDistance<T>>> {
    let size = size_with_mean(input.domain(), "use `make_resize` first")?;
    let divisor = ddof.map_or(Ok(1), |ddof| degrees_of_freedom(size, ddof))?;
    let bounds = input.domain().element().closed_bounds()?;
    let offset = Offset::new(bounds.lower().to_f64(), bounds.upper().to_f64())?;
    let rule = Rule { size, divisor, range: offset.range(), exponent: 2 * offset.exponent() };
    let grid = Grid::new::<T>(&rule.sensitivity(size));
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let map = StabilityMap::new(move |d_in: &u32| {
        let replaced = usize::try_from(d_in / 2).unwrap_or(usize::MAX);
        let d_out: T = grid.up(&rule.sensitivity(replaced));
        if Float::is_finite(d_out) { Ok(d_out) } else { Err(overflow(*d_in)) }
    });
    let fold = Deviations::<T> { offset, rule, grid, records: PhantomData };
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    size: usize,
    divisor: usize,
    range: u64,
    exponent: i64,
}
impl Rule {
    /// Divide `numerator` by the number of records and by `divisor`. `numerator` is the sum of
    /// squared deviations, times the number of records.
    fn result(&self, numerator: UBig) -> Exact {
        let denominator = UBig::from(self.size) * UBig::from(self.divisor);
        Exact { numerator, denominator, exponent: self.exponent }
    }
    /// Return an upper bound on the change of the result when `replaced` records are replaced. If
    /// all records are replaced, the bound is the largest possible result.
    fn sensitivity(&self, replaced: usize) -> Exact {
        let moved = replaced.min(self.size / 2);
        let range = UBig::from(self.range);
        self.result(UBig::from(moved) * UBig::from(self.size - moved) * &range * &range)
    }
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!(
        "bounds: the sensitivity of squared deviations at distance {d_in} is not finite; \
         state narrower bounds"
    ))
}

/// The fold of squared deviations. [`Offset`] maps each record to an integer. The state is the
/// exact sum of these integers, and the exact sum of their squares.
struct Deviations<T> {
    offset: Offset,
    rule: Rule,
    grid: Grid,
    records: PhantomData<fn() -> T>,
}
impl<T: Atom + Float + Into<f64>> Fold<Vec<T>, T> for Deviations<T> {
    type State = Moments;
    fn label(&self) -> String {
        let Rule { size, divisor, .. } = self.rule;
        let lattice = self.offset.label();
        format!("squared deviations of {size} {} as {lattice} by {divisor}", T::type_name())
    }
    fn start(&self) -> Moments {
        Moments::default()
    }
    fn absorb(&self, state: &mut Moments, rows: &[T]) -> Result<()> {
        self.offset.moments(rows, state);
        Ok(())
    }
    fn merge(&self, state: &mut Moments, other: Moments) -> Result<()> {
        state.merge(&other);
        Ok(())
    }
    fn finish(&self, state: Moments) -> Result<T> {
        let result = self.rule.result(state.deviations(self.rule.size));
        Ok(self.grid.cut(Sign::Positive, &result))
    }
}

#[cfg(test)]
mod tests;
