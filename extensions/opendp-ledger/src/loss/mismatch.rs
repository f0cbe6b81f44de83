//! The error for a loss whose measure is not the measure of the budget.

use opendp_core::Error;

use super::Notion;

/// Return the error for a loss in the measure `found`, if the budget is in the measure `expected`.
/// [`Error::at`] adds the advice. The advice is short, because an error message cuts off the end of
/// a long text.
pub(super) fn mismatch(expected: Notion, found: Notion) -> Error {
    let advice = match found {
        Notion::Approximate => "leave the delta out, or use a budget with an epsilon and a delta",
        Notion::Pure | Notion::Concentrated => {
            "a budget of epsilon needs Laplace noise, a budget of rho needs Gaussian noise"
        }
    };
    let (expected, found) = (expected.name().into(), found.name().into());
    Error::MeasureMismatch { expected, found }.at(advice)
}
