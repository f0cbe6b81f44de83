//! The error for a loss whose measure is not the measure of the budget.

use opendp_core::Error;

use super::Notion;

/// Return the error for a loss in the measure `found`, if the budget is in the measure `expected`.
pub(super) fn mismatch(expected: Notion, found: Notion) -> Error {
    let (place, advice) = match (expected, found) {
        (Notion::Pure | Notion::Concentrated, Notion::Approximate) => {
            ("leave the delta out, or use a budget with an epsilon and a delta", "")
        }
        (Notion::Approximate, _) => (
            "the release costs a rho, and the budget is an epsilon and a delta",
            ": convert the measurement with `zCDP_to_approxDP` and `fix_delta`, or use a budget of \
             rho",
        ),
        (Notion::Pure | Notion::Concentrated, Notion::Pure | Notion::Concentrated) => {
            ("a budget of epsilon needs Laplace noise; a budget of rho needs Gaussian noise", "")
        }
    };
    wrong(expected, found, advice).at(place)
}
/// Return the error for a study whose budget is in the measure `found`, if the budget of the ledger
/// is in the measure `expected`.
pub(crate) fn of_study(expected: Notion, found: Notion) -> Error {
    let [theirs, mine] = [expected, found].map(|notion| notion.parts().join(" and "));
    let advice = format!(": state {theirs} in the study, or use a ledger with a budget of {mine}");
    let place = format!("the study states a budget of {mine}, and the ledger has {theirs}");
    wrong(expected, found, &advice).at(place)
}
/// Make the error. The advice follows the measures, because [`Error::at`] cuts off a long text.
fn wrong(expected: Notion, found: Notion, advice: &str) -> Error {
    let (expected, found) = (expected.name().into(), format!("{}{advice}", found.name()));
    Error::MeasureMismatch { expected, found }
}
