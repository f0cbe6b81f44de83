//! Finds the bins that contain quantiles. The quantiles are computed from noisy counts.

use opendp_core::{Error, Result};

use crate::quantile::cdf::cumulative;

/// For each alpha, find the first bin at which the cumulative share of the counts is at least
/// alpha. Return the index of the bin, and a position in the bin from zero to one. If there are no
/// bins, the result for each alpha is `None`. `edges` is the number of edges. The number of counts
/// must be `edges - 1` or `edges + 1`. Otherwise return `FailedFunction`.
pub(crate) fn places(
    counts: &[f64],
    edges: usize,
    alphas: &[f64],
) -> Result<Vec<Option<(usize, f64)>>> {
    let inner = edges - 1;
    let counts = match counts.len() {
        bins if bins == inner => counts,
        bins if bins == inner + 2 => &counts[1..=inner],
        bins => return Err(unfit(edges, bins)),
    };
    let cdf = cumulative(counts);
    let place = |alpha: &f64| {
        let bin = cdf.iter().position(|share| alpha <= share)?;
        let left = bin.checked_sub(1).and_then(|before| cdf.get(before)).copied().unwrap_or(0.0);
        let share = (alpha - left) / (cdf.get(bin).copied().unwrap_or(1.0) - left);
        // `share` is NaN only if alpha is zero and the cumulative share of the first bin is zero.
        // In this case, the position in the bin is zero.
        Some((bin, if 0.0 < share { share.min(1.0) } else { 0.0 }))
    };
    Ok(alphas.iter().map(place).collect())
}
#[cold]
fn unfit(edges: usize, counts: usize) -> Error {
    Error::FailedFunction(format!(
        "expected one count less or one count more than the number of edges, {edges}, found \
         {counts}"
    ))
}
