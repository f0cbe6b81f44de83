//! The integers that rows add to sums, and the buckets of quantiles.
//!
//! These numbers equal the numbers that the statements of the module `sql` compute, bit for bit.
//! Some functions here replace an SQL expression or a function of `sql`. The comment of such a
//! function names the replaced expression or function.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Float64Type, Int64Type};
use opendp_core::Result;

use super::groups::as_type;
use crate::Type;
use crate::engine::failed;
use crate::ir::{Addend, Buckets, Lattice, Plan, Row, Sum};

/// A column that the statement of `Plan::picked_statement` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    pub(crate) kind: Type,
    /// Whether the column has floats that are read from a table without a change. In such a column,
    /// NaN is not replaced by null yet.
    pub(crate) raw: bool,
}
/// Describe the columns that the statement of `Plan::picked_statement` returns. Return `None` if
/// the type of a column is unknown, or if a column has different types in two branches.
pub(crate) fn picked(plan: &Plan) -> Option<Vec<Picked>> {
    let first = plan.branches.first()?;
    let describe = |place: usize| {
        let rows = || plan.branches.iter().map(|branch| branch.columns.get(place));
        let kind = rows().next()??.kind()?;
        let same = rows().all(|row| row.is_some_and(|row| row.kind() == Some(kind)));
        let column = |row: Option<&Row>| matches!(row, Some(Row::Column { .. }));
        same.then(|| Picked { kind, raw: kind == Type::Float && rows().all(column) })
    };
    (0..first.columns.len()).map(describe).collect()
}

/// What each row or each id adds to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Each row adds 1.
    Rows,
    /// Each row adds a stored value.
    Stored(usize),
    /// Each id adds 1.
    Ids,
    /// Each id adds 1 to a group if at least one of its rows in this group has the stored value 1.
    IdsWith(usize),
}
/// The values that are stored with each row: first the values of sums, then the buckets of
/// quantiles.
pub(crate) struct Layout<'a> {
    plan: &'a Plan,
    columns: Vec<Picked>,
    pub(crate) sums: Vec<Slot>,
    /// The index of the first bucket among the stored values.
    pub(crate) buckets: usize,
    pub(crate) width: usize,
}
impl<'a> Layout<'a> {
    pub(crate) fn new(plan: &'a Plan, columns: Vec<Picked>) -> Self {
        let mut buckets = 0;
        let mut stored = || {
            buckets += 1;
            buckets - 1
        };
        let slot = |sum: &Sum| match (&sum.addend, sum.only) {
            (Addend::One, None) => Slot::Rows,
            (Addend::Id, None) => Slot::Ids,
            (Addend::Id, Some(_)) => Slot::IdsWith(stored()),
            _ => Slot::Stored(stored()),
        };
        let sums = plan.sums.iter().map(slot).collect();
        Layout { plan, columns, sums, buckets, width: buckets + plan.buckets.len() }
    }
    /// Return the number of buckets of a quantile.
    pub(crate) fn places(&self, quantile: usize) -> usize {
        self.plan.buckets.get(quantile).map_or(0, |buckets| 2 * buckets.candidates.len() + 1)
    }
    /// Return the range of each stored value: its least and its largest number. A null is stored as
    /// 0 among the values of sums, and as -1 among the buckets.
    pub(crate) fn ranges(&self) -> Vec<(i64, i64)> {
        let stored = self.plan.sums.iter().zip(&self.sums);
        let stored = stored.filter(|(_, slot)| !matches!(slot, Slot::Rows | Slot::Ids));
        let magnitude = |x: u64| i64::try_from(x).unwrap_or(i64::MAX);
        let sum = |(sum, _): (&Sum, &Slot)| {
            let (low, high) = sum.ends();
            (-magnitude(low), magnitude(high))
        };
        let place = |quantile| (-1, i64::try_from(self.places(quantile)).unwrap_or(i64::MAX) - 1);
        stored.map(sum).chain((0..self.width - self.buckets).map(place)).collect()
    }
    /// Compute the stored values of some rows.
    pub(crate) fn values(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<Vec<i64>>> {
        let stored = self.plan.sums.iter().zip(&self.sums);
        let stored = stored.filter(|(_, slot)| !matches!(slot, Slot::Rows | Slot::Ids));
        let mut all = Vec::new();
        for (sum, _) in stored {
            let mut values = self.addends(&sum.addend, columns, rows)?;
            self.only(sum.only, columns, &mut values, 0)?;
            all.push(values);
        }
        for buckets in &self.plan.buckets {
            let mut places = self.buckets_of(buckets, columns)?;
            self.only(buckets.only, columns, &mut places, -1)?;
            all.push(places);
        }
        Ok(all)
    }
    fn addends(&self, addend: &Addend, columns: &[ArrayRef], rows: usize) -> Result<Vec<i64>> {
        match addend {
            Addend::One | Addend::Id => Ok(vec![1; rows]),
            Addend::Known(place) => self.known(*place, columns),
            Addend::Value(place, lattice) => {
                let centre = lattice.centre;
                self.points(*place, lattice, columns, move |point| point - centre)
            }
            Addend::Square(place, lattice) => {
                let centre = lattice.centre;
                self.points(*place, lattice, columns, move |p| (p - centre) * (p - centre))
            }
        }
    }
    fn column<'b>(&self, place: usize, from: &'b [ArrayRef]) -> Result<(Picked, &'b ArrayRef)> {
        let described = self.columns.get(place).copied();
        described.zip(from.get(place)).ok_or_else(failed)
    }
    /// Compute `CASE WHEN c IS NOT NULL THEN 1 ELSE 0 END`.
    fn known(&self, place: usize, columns: &[ArrayRef]) -> Result<Vec<i64>> {
        let (picked, column) = self.column(place, columns)?;
        if picked.kind == Type::Float {
            let column = as_type(column, &DataType::Float64)?;
            return Ok(floats(column.as_primitive(), picked.raw, 0, |_| 1));
        }
        let nulls = column.logical_nulls();
        let known = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        Ok((0..column.len()).map(|row| i64::from(known(row))).collect())
    }
    /// Move the values of the column at `place` into the bounds of the lattice, and round them to
    /// lattice points, as `on_lattice` does. Apply `convert` to each point. A null gives 0.
    fn points(
        &self,
        place: usize,
        lattice: &Lattice,
        columns: &[ArrayRef],
        convert: impl Fn(i64) -> i64,
    ) -> Result<Vec<i64>> {
        let (picked, column) = self.column(place, columns)?;
        let Lattice { exponent, low, high, .. } = *lattice;
        let inside = |point: i64| point.min(high).max(low);
        let (step, steps) = (lattice.step(), 2f64.powi(-exponent));
        // `on_lattice` computes these two bounds in the same way.
        let (least, largest) = (low as f64 * step, high as f64 * step);
        let point = |x: f64| match x {
            x if x.total_cmp(&least).is_le() => convert(low),
            x if x.total_cmp(&largest).is_ge() => convert(high),
            x => convert(inside((moderate(x) * steps + 0.5).floor() as i64)),
        };
        match picked.kind {
            Type::Integer => {
                let column = as_type(column, &DataType::Int64)?;
                let column = column.as_primitive::<Int64Type>();
                Ok(match exponent {
                    0 => each(column, 0, |x| convert(inside(x))),
                    _ => each(column, 0, |x| point(x as f64)),
                })
            }
            Type::Float => {
                let column = as_type(column, &DataType::Float64)?;
                let column = column.as_primitive::<Float64Type>();
                if picked.raw && column.null_count() == 0 && Nearest::fits(lattice) {
                    let nearest = Nearest::new(lattice);
                    // The lattice point is computed for NaN, too, so that the loop has no branches.
                    let value = |x: &f64| select(x.is_nan(), 0, convert(nearest.point(*x)));
                    return Ok(column.values().iter().map(value).collect());
                }
                Ok(floats(column, picked.raw, 0, point))
            }
            _ => Err(failed()),
        }
    }
    /// Find the buckets of the values of a column, as `search` does. The result for a null is -1.
    fn buckets_of(&self, buckets: &Buckets, columns: &[ArrayRef]) -> Result<Vec<i64>> {
        let (picked, column) = self.column(buckets.column, columns)?;
        let candidates = &buckets.candidates;
        let place = |x: f64| {
            let below = candidates.partition_point(|candidate| *candidate < x);
            let equal = candidates.get(below).is_some_and(|found| *found == x);
            i64::try_from(2 * below + usize::from(equal)).unwrap_or(-1)
        };
        match picked.kind {
            Type::Integer => {
                let column = as_type(column, &DataType::Int64)?;
                Ok(each(column.as_primitive::<Int64Type>(), -1, |x| place(x as f64)))
            }
            Type::Float => {
                let column = as_type(column, &DataType::Float64)?;
                Ok(floats(column.as_primitive(), picked.raw, -1, place))
            }
            _ => Err(failed()),
        }
    }
    /// Compute `CASE WHEN condition THEN value ELSE otherwise END`.
    fn only(
        &self,
        only: Option<usize>,
        columns: &[ArrayRef],
        values: &mut [i64],
        otherwise: i64,
    ) -> Result<()> {
        let Some(place) = only else { return Ok(()) };
        let (_, column) = self.column(place, columns)?;
        let column = as_type(column, &DataType::Boolean)?;
        let column: &BooleanArray = column.as_boolean();
        for (value, condition) in values.iter_mut().zip(column) {
            if condition != Some(true) {
                *value = otherwise;
            }
        }
        Ok(())
    }
}
/// A rounding of floats to lattice points. The code has no branches, so that a loop is compiled to
/// vector instructions. The point of each float is the point that `on_lattice` finds, before it
/// subtracts the centre.
///
/// `on_lattice` rounds a float `x` between the bounds to `floor(x / step + 1/2)`. A float beyond a
/// bound becomes this bound, which is a lattice point. The formula maps each lattice point to
/// itself. So this struct first replaces a float beyond a bound by this bound, and then applies the
/// formula. A division by the step is exact, because the step is a power of two.
#[derive(Clone, Copy)]
struct Nearest {
    least: f64,
    largest: f64,
    steps: f64,
}
impl Nearest {
    /// The floats from `2^52` to `2^53` are exactly the integers in this range. This constant is
    /// the middle of the range. Suppose that a number `x` with `|x| < 2^51` is added to this
    /// constant. Then the sum is rounded to an integer. Read the sum and the constant as integers
    /// (`to_bits`). The difference of these two integers is `x`, rounded to an integer.
    const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;

    /// Return true if all points of a lattice have a magnitude of at most `2^50`, and the step of
    /// the lattice is not extreme. For such a lattice, a float is rounded to the same point with
    /// and without [`moderate`]. The function `moderate` changes only very large and very small
    /// floats. The large floats have magnitudes above `1e100`, so they are beyond the bounds before
    /// and after the change. The small floats have magnitudes below `1e-83`. These magnitudes are
    /// far less than half a step, so the floats are rounded to the same point before and after the
    /// change.
    fn fits(lattice: &Lattice) -> bool {
        let small = |point: &i64| point.unsigned_abs() <= 1 << 50;
        lattice.exponent.abs() <= 200 && [lattice.low, lattice.high].iter().all(small)
    }
    fn new(lattice: &Lattice) -> Nearest {
        let bound = |point: i64| point as f64 * lattice.step();
        let steps = 2f64.powi(-lattice.exponent);
        Nearest { least: bound(lattice.low), largest: bound(lattice.high), steps }
    }
    fn point(self, x: f64) -> i64 {
        let above = select(x > self.least, x, self.least);
        let inside = select(above < self.largest, above, self.largest);
        let scaled = inside * self.steps + 0.5;
        let near = (scaled + Self::SHIFT) - Self::SHIFT;
        let floor = near - select(near > scaled, 1.0, 0.0);
        let bits = (floor + Self::SHIFT).to_bits();
        bits.wrapping_sub(Self::SHIFT.to_bits()).cast_signed()
    }
}
fn select<T>(condition: bool, value: T, otherwise: T) -> T {
    if condition { value } else { otherwise }
}
fn each<T: ArrowPrimitiveType>(
    column: &PrimitiveArray<T>,
    null: i64,
    convert: impl Fn(T::Native) -> i64,
) -> Vec<i64> {
    match column.null_count() {
        0 => column.values().iter().map(|value| convert(*value)).collect(),
        _ => column.iter().map(|value| value.map_or(null, &convert)).collect(),
    }
}
fn floats(
    column: &PrimitiveArray<Float64Type>,
    raw: bool,
    null: i64,
    convert: impl Fn(f64) -> i64,
) -> Vec<i64> {
    if raw {
        each(column, null, |x| if x.is_nan() { null } else { convert(moderate(x)) })
    } else {
        each(column, null, convert)
    }
}
/// Limit the magnitude of a float to `1e100`, and round tiny floats, as `unchecked_moderate` does.
fn moderate(x: f64) -> f64 {
    // Adding and then subtracting 1e-100 changes only tiny values.
    (x.clamp(-1e100, 1e100) + 1e-100) - 1e-100
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the lattice point of `x` by the definition in `on_lattice`.
    fn stated(x: f64, lattice: &Lattice) -> i64 {
        let steps = 2f64.powi(-lattice.exponent);
        match x {
            x if x <= lattice.low as f64 * lattice.step() => lattice.low,
            x if x >= lattice.high as f64 * lattice.step() => lattice.high,
            x => ((moderate(x) * steps + 0.5).floor() as i64).min(lattice.high).max(lattice.low),
        }
    }
    #[test]
    fn points_without_jumps_are_the_stated_points() {
        let tiny = [0.0, f64::MIN_POSITIVE, f64::from_bits(1), 1e-101, 1e-99];
        let large = [1e100, 1e200, f64::MAX, f64::INFINITY];
        let bounds = [(0.0, 100.0), (-7.5, 80_000.3), (-1e-35, 1e-40), (3.0, 3.0), (-1e60, 1.0)];
        for ((low, high), bits) in bounds.into_iter().flat_map(|b| [(b, 40), (b, 25), (b, 50)]) {
            let lattice = Lattice::of(low, high, false, bits);
            assert!(Nearest::fits(&lattice));
            let nearest = Nearest::new(&lattice);
            let near = |point: i64| {
                // Return four floats: this point, the middle between this point and the next point,
                // and the two floats next to this middle.
                let middle = (point as f64 + 0.5) * lattice.step();
                [middle.next_down(), middle, middle.next_up(), point as f64 * lattice.step()]
            };
            let some = (0..=40_i64).map(|k| {
                lattice.low + (i128::from(lattice.high - lattice.low) * i128::from(k) / 40) as i64
            });
            let some = some.flat_map(near).chain(tiny).chain(large).chain([low, high]);
            for x in some.flat_map(|x| [x, -x]) {
                assert_eq!(nearest.point(x), stated(x, &lattice), "{x} {lattice:?}");
            }
        }
    }
    #[test]
    fn extreme_lattices_are_rounded_one_by_one() {
        for (high, bits) in [(1.0, 53), (1e-60, 40), (1e80, 40)] {
            assert!(!Nearest::fits(&Lattice::of(0.0, high, false, bits)), "{high} {bits}");
        }
    }
}
