//! Private statistics of people, and the loss of each statistic.
//!
//! Two tables are neighbours if one table has the people of the other table and one more person.
//! Each statistic reads one column. A column is a projection of the table. This projection is
//! 1-stable, because one more person in the table adds one row to the column. So the columns of
//! neighbouring tables are at [`SymmetricDistance`](opendp_core::SymmetricDistance) 1. The map of
//! each measurement computes the loss of this measurement at this distance. The total loss is the
//! composition of these losses.

mod histogram;
mod quantiles;
mod sums;

use opendp_core::arith::{Directed, shown};
use opendp_core::search::binary_search;
use opendp_core::{Domain, Error, MaxDivergence, Measure, Measurement, Metric, Result};

use crate::table::People;

/// The number of people by which neighbours differ.
const NEIGHBOURS: u32 = 1;
/// The largest probability with which the error of an answer may exceed the stated accuracy.
pub const ALPHA: f64 = 0.05;
/// The number of equal parts of the budget. There is one part for a count, two for sums, six for
/// quantiles and one for a histogram.
const PARTS: f64 = 10.0;

/// All releases about the people of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Census {
    /// The statistics, in the order of the report.
    pub statistics: Vec<Statistic>,
    /// The loss of all releases together.
    pub total: f64,
}
/// The answers of one release.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// The name of the statistic.
    pub name: String,
    /// The loss of the release.
    pub epsilon: f64,
    /// The answers of the release.
    pub answers: Vec<Answer>,
}
/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The name that distinguishes the answer from the other answers of the statistic. The name is
    /// empty when the statistic has only one answer.
    pub label: String,
    /// The answer. A mean is missing if the noisy number of people is below 1.
    pub value: Option<f64>,
    /// The number of decimals with which a report writes the answer.
    pub decimals: usize,
    /// A bound on the distance between this answer and the true answer. The bound fails with
    /// probability at most [`ALPHA`].
    pub accuracy: Accuracy,
}
/// A bound on the distance between an answer and the true answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// The distance is at most this number.
    PlusMinus(f64),
    /// Compare two distances to the quantile in rank: the distance of the answer, and the least
    /// distance of a candidate. The first distance exceeds the second by at most this number. Ranks
    /// are counted in people.
    Ranks(f64),
    /// No bound on the distance is known.
    Unknown,
}

/// Release all statistics, at a total loss of at most `epsilon`.
///
/// # Errors
/// `Argument` when `epsilon` is not positive, is not finite, or is too small. `NoEntropy` when the
/// operating system returns no random bits.
pub fn census(people: &People, epsilon: f64) -> Result<Census> {
    if !(0.0 < epsilon && epsilon < f64::INFINITY) {
        let reason = format!("expected a finite number above 0, found {}", shown(epsilon));
        return Err(Error::argument("epsilon", reason));
    }
    // Round each part down, so that ten parts are at most the whole epsilon.
    let share = epsilon.neg_inf_div(PARTS)?;
    let all = || -> Result<Vec<Statistic>> {
        let count = sums::people(people, share)?;
        let mut statistics = vec![count.statistic("people", 0)];
        statistics.push(sums::age(people, share)?.over(&count).statistic("age, mean", 1));
        statistics.extend(quantiles::age(people, share)?);
        statistics.push(sums::income(people, share)?.over(&count).statistic("income, mean", 0));
        statistics.extend(quantiles::income(people, share)?);
        statistics.push(histogram::education(people, share)?);
        Ok(statistics)
    };
    let statistics = all().map_err(|error| match error {
        // No finite scale of noise makes the loss small enough.
        Error::Search(reason) => Error::argument("epsilon", format!("too small: {reason}")),
        other => other,
    })?;
    let losses: Vec<f64> = statistics.iter().map(|statistic| statistic.epsilon).collect();
    Ok(Census { total: MaxDivergence.compose(&losses)?, statistics })
}

/// Find the least noise for which the loss of a measurement is at most its share of the budget.
///
/// Each trial builds a complete measurement and calls its map. So this program contains no formula
/// for a loss.
fn least_noise<DI, MI, TO>(
    share: f64,
    build: impl Fn(f64) -> Result<Measurement<DI, MI, MaxDivergence, TO>>,
) -> Result<Measurement<DI, MI, MaxDivergence, TO>>
where
    DI: Domain,
    MI: Metric<Distance = u32>,
    TO: opendp_core::Carrier,
{
    let noise = binary_search(|noise| build(noise)?.check(&NEIGHBOURS, &share), None)?;
    build(noise)
}

#[cfg(test)]
mod tests;
