//! Sums of squared deviations from the mean, in one pass and exact.
//!
//! **Function.** Each record is rounded, alone, to an integer `I` from `0` to `R`, a multiple of a
//! power of two above the lower bound; see `offset.rs`. The sums `A` of these and `B` of their
//! squares are integers, exact in any order. The sum of squared deviations of `n` records is
//! `(n B - A^2) / n`, a quotient of integers, which is rounded toward zero once, to a float; see
//! `grid.rs`.
//!
//! **Sensitivity.** Let `V(x)` be the sum of squared deviations of `n >= 1` numbers `x` from `0` to
//! `R`. **Lemma.** If `y` comes from `x` by replacing at most `k` of them, then
//! `V(x) - V(y) <= a (n - a) / n * R^2`, where `a = min(k, floor(n / 2))`. *Proof.* Let `z` be the
//! `n - k` numbers they share, and `u` the `k` others of `x`. If `z` is not empty, then
//! `V(y) >= V(z)`, since the squared deviations of `z` from a point have the smallest sum at the
//! mean of `z`. If `z` is empty, then `V(y) >= 0`; let `V(z) = 0` and choose any number as the mean
//! of `z`. The deviations of `x` split into those within `u`, within `z`, and between both:
//! `V(x) = V(u) + V(z) + k (n - k) / n * (mean(u) - mean(z))^2`. So the difference is at most
//! `V(u) + k (n - k) / n * (mean(u) - mean(z))^2`. This is convex in each number of `u`, and in
//! `mean(z)`. So it is largest where all of these are `0` or `R` and, by symmetry, where
//! `mean(z) = 0`. If `j` of the numbers in `u` are `R` and the others `0`, then it is `(j (k - j) /
//! k + (n - k) j^2 / (n k)) R^2 = j (n - j) / n * R^2`, which grows with `j` up to `n / 2`, and `j
//! <= k`. The bound is attained by `z = 0` and `y =
//! 0`, so no smaller bound holds. The same holds with `x` and `y` exchanged.

use std::marker::PhantomData;

use dashu_int::{Sign, UBig};
use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Distance, Error, Fold, Function, Result, Space,
    StabilityMap, SymmetricDistance, Transformation,
};

use crate::stated::known_size;
use crate::sum::exact::grid::{Exact, Grid};
use crate::sum::exact::offset::{Moments, Offset};
use crate::symmetric::{Aggregate, Records};

/// Build the sum of squared deviations of a known number of bounded records, optionally divided by
/// the number of records less `ddof`.
pub(crate) fn deviations<T: Atom + Float + Distance + Into<f64>>(
    input: Space<Records<T>, SymmetricDistance>,
    ddof: Option<usize>,
) -> Result<Aggregate<T, AtomDomain<T>, AbsoluteDistance<T>>> {
    let size = known_size(input.domain(), None, "use `make_resize` first")?;
    if size == 0 {
        return Err(Error::MakeTransformation(
            "input: expected a size of at least 1, found 0 records, which have no mean; use \
             `make_resize` first"
                .into(),
        ));
    }
    let divisor = match ddof {
        None => 1,
        Some(ddof) => size.checked_sub(ddof).filter(|rest| 0 < *rest).ok_or_else(|| {
            Error::MakeTransformation(format!(
                "ddof: expected less than {size}, the number of records, found {ddof}"
            ))
        })?,
    };
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
    /// Convert the sum of squared deviations, times the number of records, to the result.
    fn result(&self, numerator: UBig) -> Exact {
        let denominator = UBig::from(self.size) * UBig::from(self.divisor);
        Exact { numerator, denominator, exponent: self.exponent }
    }
    /// Bound the change when this many records are replaced. For all records, this is the largest
    /// result.
    fn sensitivity(&self, replaced: usize) -> Exact {
        let moved = replaced.min(self.size / 2);
        let range = UBig::from(self.range);
        self.result(UBig::from(moved) * UBig::from(self.size - moved) * &range * &range)
    }
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!(
        "bounds: the sensitivity of squared deviations at distance {d_in} is not finite"
    ))
}

/// Its state is the exact sum of the records, as multiples, and the exact sum of their squares.
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
