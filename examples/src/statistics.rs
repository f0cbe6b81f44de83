//! Private statistics of people, and the loss of each.
//!
//! Two tables are neighbours when one holds one person more than the other. Each statistic reads
//! one column. A column is a projection of the table, and a projection is 1-stable: one more person
//! in the table is one more row in the column. So neighbouring tables have neighbouring columns, at
//! [`SymmetricDistance`](opendp_core::SymmetricDistance) 1. Every loss here is computed by the
//! measurement's own map at that distance, and the total loss is their composition.

mod histogram;
mod quantiles;
mod sums;

use opendp_core::arith::Directed;
use opendp_core::search::binary_search;
use opendp_core::{Domain, Error, MaxDivergence, Measure, Measurement, Metric, Result};

use crate::table::People;

/// The number of people in which neighbours differ.
const NEIGHBOURS: u32 = 1;
/// The probability with which an answer may exceed its accuracy.
pub const ALPHA: f64 = 0.05;
/// The number of parts of the budget: a count, two sums, six quantiles and a histogram.
const PARTS: f64 = 10.0;

/// What was released about some people.
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
    /// What was asked.
    pub name: String,
    /// The loss of the release.
    pub epsilon: f64,
    /// What was answered.
    pub answers: Vec<Answer>,
}
/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The name of this answer within the statistic; empty when there is only one.
    pub label: String,
    /// The answer. It is missing if no answer is valid because of the noise.
    pub value: Option<f64>,
    /// The number of meaningful decimals.
    pub decimals: usize,
    /// A bound on its distance from the truth, except with probability [`ALPHA`].
    pub accuracy: Accuracy,
}
/// A bound on the distance of an answer from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// At most this distance.
    PlusMinus(f64),
    /// At most this many people in rank, in addition to the error of the best candidate.
    Ranks(f64),
    /// No bound is known.
    Unknown,
}

/// Release all statistics, at a total loss of at most `epsilon`.
///
/// # Errors
/// `Argument` when `epsilon` is not a positive number, `FailedFunction` without entropy.
pub fn census(people: &People, epsilon: f64) -> Result<Census> {
    if !(0.0 < epsilon && epsilon < f64::INFINITY) {
        let reason = format!("expected a positive number, found {epsilon}");
        return Err(Error::argument("epsilon", reason));
    }
    // Rounded down, so ten parts are at most the whole.
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
        // No finite amount of noise is enough.
        Error::Search(reason) => Error::argument("epsilon", format!("too small: {reason}")),
        other => other,
    })?;
    let losses: Vec<f64> = statistics.iter().map(|statistic| statistic.epsilon).collect();
    Ok(Census { total: MaxDivergence.compose(&losses)?, statistics })
}

/// Find the least noise at which a measurement loses at most its share.
///
/// Nothing is computed by hand: each candidate is a complete measurement whose map is called.
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
