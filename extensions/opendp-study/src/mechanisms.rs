//! The noise of the answers of a study. The measure of the budget is known only at run time, so all
//! code of a study is compiled once.

use std::collections::HashMap;

use opendp_core::erased::AnyMeasure;
use opendp_core::{Carrier, Error, Result};
use opendp_transformations::Key;

use super::document::NoiseFields;
use opendp_analysis::context::{Groups, Question, Rows, Statistic};

/// Find the least noise of kind `noise` that fits the question's share of the budget. If `noise` is
/// `None`, choose the kind with the smallest error.
pub(super) fn add_noise<TO: Carrier>(
    statistic: Statistic<'_, AnyMeasure, TO>,
    noise: Option<NoiseFields>,
) -> Result<Question<'_, AnyMeasure, TO>> {
    match noise {
        None => statistic.best(),
        Some(NoiseFields::Laplace) => statistic.try_laplace(),
        Some(NoiseFields::Gaussian) => statistic.try_gaussian(),
    }
}
/// Count the rows of each key. The keys are not public, so a budget without a delta returns an
/// error.
pub(super) fn count_by<T: Key>(
    rows: Rows<'_, AnyMeasure, T>,
) -> Result<Question<'_, AnyMeasure, HashMap<T, i64>>> {
    let counts = rows.try_count_by().map_err(|_| {
        Error::argument(
            "counts_by",
            "keys that are not public need a budget with an epsilon and a delta; or list them: \
             {\"histogram\": {\"column\", \"categories\"}}",
        )
    })?;
    counts.try_laplace()
}
/// Find the keys of groups to which enough people belong. The noise scales of the keys and of all
/// statistics of these groups are found together. A budget without a delta returns an error.
pub(super) fn find_keys(groups: Groups<'_, AnyMeasure>) -> Result<Groups<'_, AnyMeasure>> {
    groups.try_find_keys().map_err(|_| {
        Error::argument(
            "keys",
            "a search for keys needs a budget with an epsilon and a delta; or list them: \
             \"keys\": {column: [value, ..]}",
        )
    })
}
