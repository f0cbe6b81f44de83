//! Answers to questions about groups. Each row of an answer has a label, and is computed from
//! releases.

use std::fmt;

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use opendp_measurements::Collected;
use opendp_measurements::accuracy::{Estimate, Ratio};
use serde_json::Value as Json;

use super::What;
use super::earlier::Subject;
use super::keys::label;
use super::moments::{Interval, Moments};

/// The released sums of a column, and the scales of their noise.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) moments: Moments,
    pub(super) sums: Released,
    pub(super) squares: Option<Released>,
}
/// One released number for each group, and the kind and the scale of the noise on these numbers.
#[derive(Clone, Debug)]
pub(super) struct Released {
    pub(super) estimates: Vec<Estimate>,
    pub(super) mechanism: &'static str,
    pub(super) scale: f64,
}

/// One statistic of one group: a row of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// The name of the statistic, such as "mean of income".
    pub statistic: String,
    /// The values of the columns that define the group; empty for the group of all other rows.
    pub key: Vec<Json>,
    /// The key of the group as text, such as "9, 1", or "all else" for the group of all other rows.
    pub label: String,
    /// The value of the statistic.
    pub value: f64,
    /// An interval that contains the true number, if an interval is known. The argument `alpha` of
    /// [`rows`](GroupAnswer::rows) is the largest probability that the interval misses this number.
    /// The interval includes the error of noise, and excludes the error of clamping.
    pub interval: Option<(f64, f64)>,
    /// The scales of the noise, one for each release that the value depends on.
    pub scales: Vec<f64>,
}
impl fmt::Display for GroupRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.statistic, self.label, shown(self.value))?;
        let Some((low, high)) = self.interval else { return Ok(()) };
        write!(f, " ({} to {})", shown(low), shown(high))
    }
}

/// The answer to a question about groups.
#[derive(Clone, Debug)]
pub struct GroupAnswer {
    pub(super) subject: Subject,
    pub(super) keys: Vec<Vec<Json>>,
    pub(super) others: bool,
    pub(super) asked: Vec<What>,
    pub(super) counts: Option<Released>,
    /// Whether the scales of all noises were fixed before the first release. The scales are not
    /// fixed if the counts are from an earlier answer.
    pub(super) at_once: bool,
    pub(super) columns: Vec<Column>,
    /// For each list of quantiles in the question: the quantiles of each group, and the scale of
    /// their noise.
    pub(super) quantiles: Vec<(Vec<Vec<f64>>, f64)>,
}
impl GroupAnswer {
    /// Return the names of the columns that define the groups.
    pub fn columns(&self) -> &[String] {
        &self.subject.names
    }
    /// Return a row for each statistic of each group. Each interval contains the true number except
    /// with probability `alpha`.
    ///
    /// # Errors
    /// `InvalidDistance` when a statistic has an interval, and `alpha` is not in `(0, 1]` or is too
    /// small to be divided among the noises of the statistic. `Overflow` when a number exceeds all
    /// floats.
    pub fn rows(&self, alpha: f64) -> Result<Vec<GroupRow>> {
        let (groups, mut rows) = (self.groups(), Vec::new());
        let mut chosen_of = self.quantiles.iter();
        for what in &self.asked {
            let What::Quantiles(column, alphas, _) = what else {
                // All groups have the same noise, so all means have the same `Ratio`.
                let mut ratio = None;
                for (group, key) in groups.iter().enumerate() {
                    let (number, scales) = self.number(what, group, alpha, &mut ratio)?;
                    rows.push(row(what.words(), *key, number, scales));
                }
                continue;
            };
            let (chosen, scale) = chosen_of.next().ok_or_else(lost)?;
            for (place, alpha) in alphas.iter().enumerate() {
                let words = quantile(*alpha, column);
                for (group, key) in groups.iter().enumerate() {
                    let value = chosen.get(group).and_then(|chosen| chosen.get(place));
                    let value = *value.ok_or_else(lost)?;
                    rows.push(row(words.clone(), *key, (value, None), vec![*scale]));
                }
            }
        }
        Ok(rows)
    }
    fn groups(&self) -> Vec<Option<&Vec<Json>>> {
        let mut groups = self.keys.iter().map(Some).collected();
        groups.extend(self.others.then_some(None));
        groups
    }
    /// Compute the statistic `what` of the group with index `group`, its interval, and the scales
    /// of its noise. `ratio` keeps the intervals of means for the next group.
    fn number(
        &self,
        what: &What,
        group: usize,
        alpha: f64,
        ratio: &mut Option<Ratio>,
    ) -> Result<(Interval, Vec<f64>)> {
        let count = || of_group(self.counts.as_ref(), group);
        if *what == What::Count {
            let (count, scale) = count()?;
            return Ok(((count.value(), Some(count.interval(alpha)?)), vec![scale]));
        }
        let column = self
            .columns
            .iter()
            .find(|column| what.is_about(&column.name, column.moments.column_bounds))
            .ok_or_else(lost)?;
        let moments = &column.moments;
        let (sum, scale) = of_group(Some(&column.sums), group)?;
        if matches!(what, What::Sum(..)) {
            let (mut total, mut scales) = (sum.clone(), vec![scale]);
            if moments.centre != 0.0 && self.counts.is_some() {
                let (count, of_count) = count()?;
                total = moments.sum(sum, count)?;
                scales.push(of_count);
            }
            return Ok(((total.value(), Some(total.interval(alpha)?)), scales));
        }
        let (count, of_count) = count()?;
        if matches!(what, What::Variance(..)) {
            let (squares, of_squares) = of_group(column.squares.as_ref(), group)?;
            let variance = moments.variance((sum, squares, count), alpha)?;
            return Ok((variance, vec![scale, of_squares, of_count]));
        }
        if self.at_once && !ratio.as_ref().is_some_and(|ratio| ratio.fits(sum, count)) {
            *ratio = moments.ratio(sum, count, alpha);
        }
        Ok((moments.mean(sum, count, alpha, ratio.as_ref())?, vec![scale, of_count]))
    }
}
/// Return the released number of the group with index `group`, and the scale of its noise.
fn of_group(released: Option<&Released>, group: usize) -> Result<(&Estimate, f64)> {
    let released = released.ok_or_else(lost)?;
    Ok((released.estimates.get(group).ok_or_else(lost)?, released.scale))
}
fn row(
    statistic: String,
    key: Option<&Vec<Json>>,
    (value, interval): Interval,
    scales: Vec<f64>,
) -> GroupRow {
    let label = key.map_or_else(|| "all else".to_owned(), |key| label(key));
    GroupRow { statistic, key: key.cloned().unwrap_or_default(), label, value, interval, scales }
}
/// Return the name of a quantile of a column.
pub(super) fn quantile(alpha: f64, column: &str) -> String {
    if alpha == 0.5 {
        format!("median of {column}")
    } else {
        format!("quantile {} of {column}", shown(alpha))
    }
}
#[cold]
pub(super) fn lost() -> Error {
    Error::FailedFunction("the answer to this question is not complete".into())
}
impl What {
    pub(super) fn words(&self) -> String {
        match self {
            What::Count => "count".to_owned(),
            What::Sum(column, _) => format!("sum of {column}"),
            What::Mean(column, _) => format!("mean of {column}"),
            What::Variance(column, _) => format!("variance of {column}"),
            What::Quantiles(column, alphas, _) => format!("quantiles {alphas:?} of {column}"),
        }
    }
    /// Return whether the statistic is computed from sums of the numbers of `column`, clamped to
    /// `bounds`.
    pub(super) fn is_about(&self, column: &str, bounds: (f64, f64)) -> bool {
        match self {
            What::Sum(name, clamped)
            | What::Mean(name, clamped)
            | What::Variance(name, clamped) => name == column && *clamped == bounds,
            What::Count | What::Quantiles(..) => false,
        }
    }
}
