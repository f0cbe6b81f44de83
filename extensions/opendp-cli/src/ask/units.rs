//! Checks that a budget protects the privacy unit of a study.

use opendp_analysis::PrivacyUnit;
use opendp_core::{Error, Result};
use opendp_ledger::{Account, Misfit, Unit};

/// Check that a budget protects the unit of a study. For every release, the ledger also calls
/// [`Terms::misfit`](opendp_ledger::Terms::misfit). But the errors of the ledger do not write the
/// unit in the form that a study uses.
///
/// Different studies can protect different units, such as one row of each person, two rows of each
/// person, or the replacement of rows. The sum of losses for different units is not a bound on the
/// loss for one unit. So the budget must state its unit.
pub(super) fn check(account: &Account, study: PrivacyUnit) -> Result<()> {
    let Some(unit) = account.terms.unit() else {
        return Err(Error::argument("budget", without_unit(account)));
    };
    let name = &account.name;
    let (metric, d_in) = ("symmetric_distance".into(), study.distance().to_string());
    let misfit = account.terms.misfit(study.size_is_public(), Some(&metric), &d_in);
    let reason = match (stated(unit), misfit) {
        (None, _) => format!(
            "budget `{name}` protects data at distance {unit}. The budget of a study needs the \
             metric `symmetric_distance` or `change_one_distance`: create such a budget"
        ),
        (Some(stated), Some(Misfit::Size)) => format!(
            "the study needs a public number of rows, and budget `{name}` protects this number: \
             its unit is the distance {unit}. State the unit {stated} in the study, or create a \
             budget with the metric `change_one_distance` or with a public number of people \
             (`--size`, one contribution each)"
        ),
        (Some(stated), Some(Misfit::Distance)) => format!(
            "budget `{name}` protects data at distance {unit}, but the study protects {study}: \
             state the unit {stated} in the study, or use another budget"
        ),
        (Some(_), None) => return Ok(()),
    };
    Err(Error::argument("unit", reason))
}
/// Write the unit of a budget in the form that a study uses. Return `None` if no study has this
/// unit.
fn stated(unit: &Unit) -> Option<String> {
    let name = match unit.metric().as_str()? {
        "symmetric_distance" => "person",
        "change_one_distance" => "answers_of_person",
        _ => return None,
    };
    Some(format!("{{\"{name}\": {}}}", unit.d_in()))
}
/// Return the reason why no study can be charged to a budget without a unit.
fn without_unit(account: &Account) -> String {
    let name = &account.name;
    let mut reason = format!(
        "budget `{name}` states no unit, so nothing checks that all studies protect the same \
         unit: create a budget with --unit and --metric, such as `--unit 1 --metric \
         symmetric_distance` for a study with {{\"person\": 1}}"
    );
    if 0 < account.releases {
        reason += &format!(
            ". The releases of `{name}` remain charged: do not give the new budget more than {}, \
             the rest of `{name}`",
            account.remaining().say(false)
        );
    }
    reason
}
