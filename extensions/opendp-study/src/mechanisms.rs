//! The mechanisms that are available under the budget of a study.

use std::collections::HashMap;

use opendp_core::{Approximate, Carrier, Error, MaxDivergence, Result, ZeroConcentratedDivergence};
use opendp_transformations::Key;

use super::document::NoiseFields;
use opendp_analysis::context::{Accounted, Groups, Question, Rows, Statistic};

pub(super) trait Mechanisms: Accounted {
    /// Find the least noise of kind `noise` that fits the question's share of the budget. If
    /// `noise` is `None`, choose the kind with the smallest error.
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>>;
    /// Count the rows of each key. The keys are not public, so a measure without a delta returns an
    /// error.
    fn count_by<T: Key>(rows: Rows<'_, Self, T>) -> Result<Question<'_, Self, HashMap<T, i64>>> {
        let _ = rows;
        Err(Error::argument(
            "counts_by",
            "keys that are not public need a budget with an epsilon and a delta; or list them: \
             {\"histogram\": {\"column\", \"categories\"}}",
        ))
    }
    /// Find the keys of groups to which enough people belong. The noise scales of the keys and of
    /// all statistics of these groups are found together. A measure without a delta returns an
    /// error.
    fn find_keys<'c>(groups: Groups<'c, Self>) -> Result<Groups<'c, Self>> {
        let _ = groups;
        Err(Error::argument(
            "keys",
            "a search for keys needs a budget with an epsilon and a delta; or list them: \
             \"keys\": {column: [value, ..]}",
        ))
    }
}
fn no_noise(wanted: &str, budget: &str) -> Error {
    Error::argument("noise", format!("{wanted} noise needs a budget with {budget}"))
}
impl Mechanisms for MaxDivergence {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Laplace) => statistic.laplace(),
            Some(NoiseFields::Gaussian) => {
                Err(no_noise("Gaussian", "a rho, or with an epsilon and a delta"))
            }
        }
    }
}
impl Mechanisms for ZeroConcentratedDivergence {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Gaussian) => statistic.gaussian(),
            Some(NoiseFields::Laplace) => Err(no_noise("Laplace", "an epsilon")),
        }
    }
}
impl Mechanisms for Approximate<MaxDivergence> {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Laplace) => statistic.laplace(),
            Some(NoiseFields::Gaussian) => statistic.gaussian(),
        }
    }
    fn count_by<T: Key>(rows: Rows<'_, Self, T>) -> Result<Question<'_, Self, HashMap<T, i64>>> {
        rows.count_by().laplace()
    }
    fn find_keys<'c>(groups: Groups<'c, Self>) -> Result<Groups<'c, Self>> {
        Ok(groups.find_keys())
    }
}
