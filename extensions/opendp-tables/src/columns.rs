//! Compute the columns of an answer: values and intervals. The functions use only noisy sums,
//! candidates that were chosen with noise, and public numbers.

use opendp_core::{Error, Result};

use crate::check::{Checked, Output};
use crate::ir::{Lattice, Plan};
use crate::mechanisms::{Mechanisms, fraction};
use crate::noise::{ALPHA, Noise};
use crate::released::Noisy;

/// One released number and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: f64,
    /// The 95 % interval, if the error of the mechanism is known.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether the interval contains all possible values, so that the value gives no information.
    pub(crate) vague: bool,
}
impl Cell {
    /// Make a cell. For all possible rows, the value that the cell estimates is between `low` and
    /// `high`.
    fn within(value: f64, interval: Option<(f64, f64)>, (low, high): (f64, f64)) -> Self {
        let vague = low < high && interval.is_some_and(|(a, b)| a <= low && high <= b);
        Cell { value, interval, vague }
    }
}
/// The cells of one aggregate, and the scale of their noise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReleasedColumn {
    pub(crate) cells: Vec<Cell>,
    /// The scale of the noise. For a quantile, the scale is in ranks. If the value depends on
    /// several sums, the field has the scale of the noise of the first sum, in the unit of the
    /// first sum. For `VAR` and `STDDEV`, the first sum is a sum of squares.
    pub(crate) scale: f64,
}

pub(crate) fn columns(
    checked: &Checked,
    mechanisms: &Mechanisms,
    noisy: &Noisy,
) -> Result<Vec<ReleasedColumn>> {
    let reader = Reader { plan: &checked.plan, mechanisms, noisy };
    checked.outputs.iter().map(|output| reader.column(output)).collect()
}
struct Reader<'a> {
    plan: &'a Plan,
    mechanisms: &'a Mechanisms,
    noisy: &'a Noisy,
}
impl Reader<'_> {
    fn column(&self, output: &Output) -> Result<ReleasedColumn> {
        let groups = 0..self.noisy.groups.len();
        let (cells, scale) = match output {
            Output::Sum { sum, step } => {
                let error = self.error(*sum, ALPHA);
                let cell = |group| {
                    let (value, interval) =
                        (self.sum(*sum, group)?, self.around(*sum, group, error)?);
                    let scaled = |(low, high)| (low * step, high * step);
                    let interval = interval.map(scaled);
                    Ok(Cell { value: value * step, interval, vague: false })
                };
                (groups.map(cell).collect::<Result<_>>()?, self.scale(*sum) * step)
            }
            Output::Public { value } => {
                let interval = Some((*value, *value));
                let cell = Cell { value: *value, interval, vague: false };
                (groups.map(|_| cell).collect(), 0.0)
            }
            Output::MeanOf { sum, rows, lattice } => {
                let cell = |group| self.mean_of(*sum, *rows as f64, lattice, group);
                let scale = self.scale(*sum) * lattice.step() / *rows as f64;
                (groups.map(cell).collect::<Result<_>>()?, scale)
            }
            Output::Mean { sum, count, lattice } => {
                let cell = |group| self.mean(*sum, *count, lattice, group);
                (groups.map(cell).collect::<Result<_>>()?, self.scale(*sum) * lattice.step())
            }
            Output::Spread { squares, sum, count, lattice, sample, root } => {
                let cell = |group| {
                    let cell = self.variance([*squares, *sum, *count], lattice, *sample, group)?;
                    Ok(if *root { rooted(cell) } else { cell })
                };
                let scale = self.scale(*squares) * lattice.step() * lattice.step();
                (groups.map(cell).collect::<Result<_>>()?, scale)
            }
            Output::Quantile { buckets, alpha } => self.quantile(*buckets, fraction(*alpha))?,
        };
        Ok(ReleasedColumn { cells, scale })
    }
    fn quantile(&self, buckets: usize, alpha: (u64, u64)) -> Result<(Vec<Cell>, f64)> {
        let lost = || Error::FailedFunction("a quantile was not released".into());
        let same =
            |choice: &crate::mechanisms::Choice| choice.buckets == buckets && choice.alpha == alpha;
        let place = self.mechanisms.choices.iter().position(same).ok_or_else(lost)?;
        let choice = self.mechanisms.choices.get(place).ok_or_else(lost)?;
        let candidates = &self.plan.buckets.get(buckets).ok_or_else(lost)?.candidates;
        let chosen = self.noisy.choices.get(place).ok_or_else(lost)?;
        let cell = |chosen: &usize| {
            let value = candidates.get(*chosen).copied().ok_or_else(lost)?;
            Ok(Cell { value, interval: None, vague: false })
        };
        let cells = chosen.iter().map(cell).collect::<Result<_>>()?;
        Ok((cells, choice.noise.scale / choice.alpha.1 as f64))
    }
    /// Return the noisy sum of a group, in steps of its lattice.
    fn sum(&self, sum: usize, group: usize) -> Result<f64> {
        let text = self.noisy.sums.get(sum).and_then(|sums| sums.get(group));
        let value = text.and_then(|text| text.parse::<f64>().ok());
        value.ok_or_else(|| Error::FailedFunction("a sum was not released".into()))
    }
    fn noise(&self, sum: usize) -> Option<&Noise> {
        match &self.mechanisms.selection {
            Some(selection) if selection.sum == sum => Some(&selection.noise),
            _ => self.mechanisms.sums.get(sum)?.as_ref(),
        }
    }
    fn scale(&self, sum: usize) -> f64 {
        self.noise(sum).map_or(f64::NAN, |noise| noise.scale)
    }
    /// Return a bound on the error of a noisy sum. The error exceeds the bound with probability at
    /// most `alpha`.
    fn error(&self, sum: usize, alpha: f64) -> Option<f64> {
        self.noise(sum)?.accuracy(alpha)
    }
    fn around(&self, sum: usize, group: usize, error: Option<f64>) -> Result<Option<(f64, f64)>> {
        let value = self.sum(sum, group)?;
        Ok(error.map(|error| (value - error, value + error)))
    }
    fn mean_of(&self, sum: usize, rows: f64, lattice: &Lattice, group: usize) -> Result<Cell> {
        let (bounds, step) = (bounds_of(lattice), lattice.step());
        let centre = lattice.centre as f64 * step;
        let scaled = |x: f64| (centre + x / rows * step).clamp(bounds.0, bounds.1);
        let around = self.around(sum, group, self.error(sum, ALPHA))?;
        let interval = around.map(|(low, high)| (scaled(low), scaled(high)));
        Ok(Cell::within(scaled(self.sum(sum, group)?), interval, bounds))
    }
    fn mean(&self, sum: usize, count: usize, lattice: &Lattice, group: usize) -> Result<Cell> {
        let (bounds, step) = (bounds_of(lattice), lattice.step());
        let centre = lattice.centre as f64 * step;
        let scaled = |x: f64| (centre + x * step).clamp(bounds.0, bounds.1);
        let value = scaled(self.sum(sum, group)? / self.sum(count, group)?.max(1.0));
        let sums = self.around(sum, group, self.error(sum, ALPHA / 2.0))?;
        let counts = self.around(count, group, self.error(count, ALPHA / 2.0))?;
        let interval = match (sums, counts) {
            (Some(sums), Some(counts)) => Some(match quotient(sums, counts) {
                Some((low, high)) => (scaled(low), scaled(high)),
                None => bounds,
            }),
            _ => None,
        };
        Ok(Cell::within(value, interval, bounds))
    }
    /// Compute a variance: the mean of squares minus the square of the mean. The mean of squares
    /// and the mean are computed from the differences between the values and the centre. If
    /// `sample` is true, multiply the result by `n / (n - 1)`, where `n` is the noisy count, or 2
    /// if the noisy count is below 2. The product is the variance of a sample.
    fn variance(
        &self,
        [squares, sum, count]: [usize; 3],
        lattice: &Lattice,
        sample: bool,
        group: usize,
    ) -> Result<Cell> {
        let (low, high) = bounds_of(lattice);
        let unit = lattice.step() * lattice.step();
        let half = (high - low) / 2.0;
        // For given bounds, the variance of a sample is largest if the sample has two rows, one at
        // each bound.
        let limit = if sample { 2.0 * half * half } else { half * half };
        let correction = |n: f64| if sample { n / (n - 1.0) } else { 1.0 };
        let n = self.sum(count, group)?.max(if sample { 2.0 } else { 1.0 });
        let mean = self.sum(sum, group)? / n;
        let spread = self.sum(squares, group)? / n - mean * mean;
        let value = (spread * correction(n) * unit).clamp(0.0, limit);
        let third = ALPHA / 3.0;
        let parts =
            [squares, sum, count].map(|sum| self.around(sum, group, self.error(sum, third)));
        let [squares, sums, counts] = parts;
        let (Some(squares), Some(sums), Some(counts)) = (squares?, sums?, counts?) else {
            return Ok(Cell { value, interval: None, vague: false });
        };
        let quotients = (quotient((squares.0.max(0.0), squares.1), counts), quotient(sums, counts));
        let (Some(squares), Some(means)) = quotients else {
            return Ok(Cell::within(value, Some((0.0, limit)), (0.0, limit)));
        };
        let square = |x: f64| x * x;
        let farthest = square(means.0).max(square(means.1));
        let crosses = means.0 <= 0.0 && 0.0 <= means.1;
        let nearest = if crosses { 0.0 } else { square(means.0).min(square(means.1)) };
        let (least, largest) = (squares.0 - farthest, squares.1 - nearest);
        let fewest = counts.0.max(1.0);
        let upper =
            if sample && fewest < 2.0 { limit } else { largest * correction(fewest) * unit };
        let interval = ((least * unit).clamp(0.0, limit), upper.clamp(0.0, limit));
        Ok(Cell::within(value, Some(interval), (0.0, limit)))
    }
}
fn rooted(cell: Cell) -> Cell {
    let interval = cell.interval.map(|(low, high)| (low.sqrt(), high.sqrt()));
    Cell { value: cell.value.sqrt(), interval, ..cell }
}
/// Return the bounds of a lattice as numbers.
fn bounds_of(lattice: &Lattice) -> (f64, f64) {
    (lattice.low as f64 * lattice.step(), lattice.high as f64 * lattice.step())
}
/// Bound the quotient of a number and a count. The number and the count are given as intervals. The
/// bounds hold for all counts of at least 1 in the interval of the count. Return `None` if all
/// counts in this interval are below 1.
fn quotient(sum: (f64, f64), count: (f64, f64)) -> Option<(f64, f64)> {
    if count.1 < 1.0 {
        return None;
    }
    let (few, many) = (count.0.max(1.0), count.1);
    let all = [sum.0 / few, sum.0 / many, sum.1 / few, sum.1 / many];
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((least, largest))
}
