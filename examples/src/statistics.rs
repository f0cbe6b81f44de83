//! Private statistics of people, and what each of them costs.
//!
//! Two tables are neighbours when one holds one person more than the other. Each statistic reads
//! one column. A column is a projection of the table, and a projection is 1-stable: a person more
//! in the table is a row more in the column, so that neighbouring tables have neighbouring columns,
//! at [`SymmetricDistance`](opendp_core::SymmetricDistance) 1. Every loss here is the
//! measurement's own map at that distance, and the loss of all is their composition.

mod histogram;
mod quantiles;
mod sums;

use opendp_core::arith::Directed;
use opendp_core::search::binary_search;
use opendp_core::{Domain, Error, MaxDivergence, Measure, Measurement, Metric, Result};

use crate::table::People;

/// How many people neighbours differ in.
const NEIGHBOURS: u32 = 1;
/// The probability with which an answer may miss its accuracy.
pub const ALPHA: f64 = 0.05;
/// Into how many parts the budget is split: a count, two sums, six quantiles and a histogram.
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
    /// Which of the statistic's answers it is; empty when there is one.
    pub label: String,
    /// The answer, unless the noise has left none.
    pub value: Option<f64>,
    /// How many decimals of it are worth reading.
    pub decimals: usize,
    /// How far it may be from the truth, except with probability [`ALPHA`].
    pub accuracy: Accuracy,
}
/// How far an answer may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// By at most this much.
    PlusMinus(f64),
    /// By at most so many people in rank, beyond what the best candidate misses.
    Ranks(f64),
    /// Nobody knows.
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
    // Rounded down, so that ten parts are no more than the whole.
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

/// Find the least noise at which a measurement loses no more than its share.
///
/// Nothing is computed by hand: each candidate is a complete measurement, which is asked.
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
