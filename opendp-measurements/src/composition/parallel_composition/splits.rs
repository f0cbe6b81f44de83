//! The worst split of changed rows among the parts of a parallel composition.
//!
//! A split is a list `d_1, ..., d_k` of whole numbers with the sum `d_in`. Let `map_i` be the map
//! of part `i`. For each split, compose the losses `map_i(d_i)` of the parts with `d_i > 0`. The
//! worst split is the split with the largest composition. The proofs are in the documentation of
//! [`make_parallel_composition`](super::make_parallel_composition).

use opendp_core::arith::Directed;
use opendp_core::{Error, Measure, Result};

use crate::collected::{Collected, sort_by};

/// The composition of losses in a measure whose losses are numbers.
pub(super) trait Composing: Send + Sync {
    /// Compose losses, rounding up.
    fn compose(&self, losses: &[f64]) -> Result<f64>;
    /// Return the only [part](Measure::parts) of a loss. Return `None` if losses do not have
    /// exactly one part. In a composition, the parts of the losses are added.
    fn part(&self, loss: f64) -> Result<Option<f64>>;
    /// Return the loss whose only part is `part`.
    fn loss(&self, part: f64) -> Result<f64>;
}
impl<MO: Measure<Distance = f64>> Composing for MO {
    fn compose(&self, losses: &[f64]) -> Result<f64> {
        Measure::compose(self, losses)
    }
    fn part(&self, loss: f64) -> Result<Option<f64>> {
        match self.parts() {
            Ok(1) => Ok(self.split(&loss)?.first().copied()),
            _ => Ok(None),
        }
    }
    fn loss(&self, part: f64) -> Result<f64> {
        self.join(&[part])
    }
}

/// The largest allowed number of steps of one search. A step is one composition, or one call of a
/// map.
const MOST_STEPS: u64 = 1 << 18;
fn fits(steps: u64) -> bool {
    steps <= MOST_STEPS
}

/// The splits of changed rows among parts.
pub(super) struct Splits<'a> {
    pub(super) measure: &'a dyn Composing,
    pub(super) parts: usize,
    /// Whether all parts have the same map.
    pub(super) alike: bool,
    /// Return the loss of the part with a given index, for a given number of changed rows.
    pub(super) loss: &'a dyn Fn(usize, u32) -> Result<f64>,
}
impl Splits<'_> {
    /// Return an upper bound on the composed loss of all parts, for the worst split of `d_in`
    /// changed rows.
    ///
    /// If the search over all splits takes at most `MOST_STEPS` steps, the bound is the maximum
    /// over all splits of at most `d_in` rows. Each composition is rounded up.
    pub(super) fn worst(&self, d_in: u32) -> Result<f64> {
        let (rows, parts) = (u64::from(d_in), self.parts as u64);
        let pairs = rows.saturating_mul(rows) / 2;
        if self.alike && rows <= parts && fits(pairs) {
            return self.over_any_parts(d_in);
        }
        if fits(parts.saturating_mul(pairs)) {
            return self.over_these_parts(d_in);
        }
        let fewest = self.of_largest(d_in)?;
        let maps = if self.alike { 1 } else { parts };
        let tighter = match fits(pairs) && fits(maps.saturating_mul(rows)) {
            true => Some(self.over_any_parts(d_in)?),
            false => self.by_rate(d_in, maps)?,
        };
        Ok(tighter.map_or(fewest, |loss| loss.min(fewest)))
    }
    /// Return the loss of one part, and refuse NaN.
    fn loss_at(&self, place: usize, rows: u32) -> Result<f64> {
        match (self.loss)(place, rows)? {
            loss if loss.is_nan() => {
                Err(Error::FailedMap("a loss in the composition is NaN".into()))
            }
            loss => Ok(loss),
        }
    }
    /// For each part, take the loss with `rows` changed rows. Return the largest of these losses.
    fn loss_of_any(&self, rows: u32) -> Result<f64> {
        let maps = if self.alike { 1 } else { self.parts };
        let losses = (0..maps).map(|place| self.loss_at(place, rows));
        losses
            .reduce(|left, right| Ok(left?.max(right?)))
            .unwrap_or_else(|| self.measure.compose(&[]))
    }
    /// Compute the largest composed loss over all splits of at most `d_in` rows, part by part. For
    /// `k` parts and `d` changed rows, the cost is `k d^2 / 2` compositions.
    fn over_these_parts(&self, d_in: u32) -> Result<f64> {
        let nothing = self.measure.compose(&[])?;
        let rows = usize::try_from(d_in).unwrap_or(usize::MAX);
        // For each number of changed rows, `worst` contains the worst loss of the parts that are
        // already processed.
        let mut worst = vec![nothing; rows + 1];
        for place in 0..self.parts {
            let mut row = vec![nothing];
            for (d, before) in (1..=d_in).zip(0..) {
                row.push(self.loss_at(place, d)?.max(row[before]));
            }
            for d in (1..=rows).rev() {
                for (j, here) in row.iter().enumerate().take(d + 1).skip(1) {
                    let both = match d - j {
                        0 => *here,
                        rest => self.measure.compose(&[worst[rest], *here])?,
                    };
                    worst[d] = worst[d].max(both);
                }
            }
        }
        Ok(worst[rows])
    }
    /// Return the largest composed loss over all splits of `d_in` rows among any number of parts.
    /// All these parts have the same map: for each number of rows, the largest loss of the given
    /// parts. For `d` changed rows, the cost is `d^2 / 2` compositions.
    fn over_any_parts(&self, d_in: u32) -> Result<f64> {
        let nothing = self.measure.compose(&[])?;
        // The lists `alone` and `worst` have an entry for each number of changed rows. An entry of
        // `alone` is the largest loss if all these rows are in one part. An entry of `worst` is the
        // worst loss over all splits of these rows.
        let (mut alone, mut worst) = (vec![nothing], vec![nothing]);
        for (d, before) in (1..=d_in).zip(0..) {
            alone.push(self.loss_of_any(d)?.max(alone[before]));
            let mut largest = alone[before + 1];
            for (j, here) in alone.iter().enumerate().take(before + 1).skip(1) {
                largest = largest.max(self.measure.compose(&[worst[before + 1 - j], *here])?);
            }
            worst.push(largest);
        }
        Ok(worst.last().copied().unwrap_or(nothing))
    }
    /// For each of the `k` parts, take the loss with `d_in` changed rows. Compose the
    /// `min(k, d_in)` largest of these losses.
    fn of_largest(&self, d_in: u32) -> Result<f64> {
        let count = usize::try_from(d_in).unwrap_or(usize::MAX).min(self.parts);
        if self.alike {
            return self.measure.compose(&vec![self.loss_at(0, d_in)?; count]);
        }
        let losses = (0..self.parts).map(|place| self.loss_at(place, d_in));
        let mut losses = losses.try_collected()?;
        sort_by(&mut losses, &|left, right| right.total_cmp(left));
        losses.truncate(count);
        self.measure.compose(&losses)
    }
    /// Return an upper bound on `d_in` times the largest loss per changed row. Return `None` if
    /// losses cannot be added, if the bound is not finite, or if its computation takes too many
    /// steps.
    ///
    /// The numbers from 1 to `d_in` are divided into intervals `[low, high]`. An interval
    /// contributes the largest loss at `high`, divided by `low`. So the intervals raise the bound
    /// by a factor of at most `high / low`, which is at most 257 / 256.
    fn by_rate(&self, d_in: u32, maps: u64) -> Result<Option<f64>> {
        let mut intervals = Vec::new();
        let mut low = 1_u32;
        while low <= d_in {
            let high = low.saturating_add(low / 256).min(d_in);
            intervals.push((low, high));
            low = match high.checked_add(1) {
                Some(next) => next,
                None => break,
            };
        }
        if !fits(maps.saturating_mul(intervals.len() as u64)) {
            return Ok(None);
        }
        let mut rate: f64 = 0.0;
        for (low, high) in intervals {
            match self.measure.part(self.loss_of_any(high)?)? {
                Some(part) if part.is_finite() => rate = rate.max(part.inf_div(low.into())?),
                _ => return Ok(None),
            }
        }
        let Ok(total) = rate.inf_mul(d_in.into()) else { return Ok(None) };
        self.measure.loss(total).map(Some)
    }
}

#[cfg(test)]
mod tests;
