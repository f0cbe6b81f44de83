//! Checks of a budget for a study or a context. Both must have the same privacy unit, and state the
//! same number of people.

use opendp_analysis::PrivacyUnit;
use opendp_core::{Error, Result};

use crate::{Account, Misfit, Terms, Unit};

/// The kind of an object whose releases are charged to a budget. Errors name the kind, and write
/// privacy units as an object of this kind states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A document with questions.
    Study,
    /// A [`Context`](opendp_analysis::Context).
    Context,
}
impl Asker {
    fn name(self) -> &'static str {
        match self {
            Asker::Study => "study",
            Asker::Context => "context",
        }
    }
    /// Write a privacy unit. `unit` is the name of its function.
    fn write(self, unit: &str, rows: u32) -> String {
        match self {
            Asker::Study => format!("{{\"{unit}\": {rows}}}"),
            Asker::Context => format!("`PrivacyUnit::{unit}({rows})`"),
        }
    }
    /// Write the unit of a budget. Return `None` if no study and no context has this unit.
    fn stated(self, unit: &Unit) -> Option<String> {
        let name = match unit.metric().as_str()? {
            "symmetric_distance" => "person",
            "change_one_distance" => "answers_of_person",
            _ => return None,
        };
        Some(self.write(name, unit.d_in()))
    }
    /// Return the reason why nothing can be charged to a budget without a unit.
    fn without_unit(self, account: &Account) -> String {
        let (name, asker, unit) = (&account.name, self.name(), self.write("person", 1));
        let all = match self {
            Asker::Study => "studies",
            Asker::Context => "contexts",
        };
        let mut reason = format!(
            "budget `{name}` states no unit, so nothing checks that all {all} protect the same \
             unit: create a budget with a unit and a metric, such as unit 1 and metric \
             symmetric_distance for a {asker} with {unit} (`--unit 1 --metric \
             symmetric_distance`)"
        );
        if 0 < account.releases {
            reason += &format!(
                ". The releases of `{name}` remain charged: do not give the new budget more than \
                 {}, the rest of `{name}`",
                account.remaining().say(false)
            );
        }
        reason
    }
}
impl Account {
    /// Check that the budget states the privacy unit of a study or of a context. For every release,
    /// the ledger also calls [`Terms::misfit`]. But the errors of the ledger do not write the unit
    /// in the form that a study or a context uses.
    ///
    /// Different studies can protect different units, such as one row of each person, two rows of
    /// each person, or the replacement of rows. The sum of losses for different units is not a
    /// bound on the loss for one unit. So the budget must state its unit.
    ///
    /// # Errors
    /// `Argument` when the budget states no unit or another unit.
    pub fn check_unit(&self, asker: Asker, protects: PrivacyUnit) -> Result<()> {
        let unit = self.stated_unit(asker)?;
        let (name, who) = (&self.name, asker.name());
        let (metric, d_in) = ("symmetric_distance".into(), protects.distance().to_string());
        let misfit = self.terms.misfit(protects.size_is_public(), Some(&metric), &d_in);
        let reason = match (asker.stated(unit), misfit) {
            (None, _) => format!(
                "budget `{name}` protects data at distance {unit}. The budget of a {who} needs the \
                 metric `symmetric_distance` or `change_one_distance`: create such a budget"
            ),
            (Some(stated), Some(Misfit::Size)) => format!(
                "the {who} needs a public number of rows, and budget `{name}` protects this \
                 number: its unit is the distance {unit}. State the unit {stated} in the {who}, or \
                 create a budget with the metric `change_one_distance` or with a public number of \
                 people (`size`, as a flag `--size`; one contribution each)"
            ),
            (Some(stated), Some(Misfit::Distance)) => format!(
                "budget `{name}` protects data at distance {unit}, but the {who} protects \
                 {protects}: state the unit {stated} in the {who}, or use another budget"
            ),
            (Some(_), None) => return Ok(()),
        };
        Err(Error::argument("unit", reason))
    }
    /// Return the unit of the budget.
    ///
    /// # Errors
    /// `Argument` when the budget states no unit.
    pub(crate) fn stated_unit(&self, asker: Asker) -> Result<&Unit> {
        let missing = || Error::argument("budget", asker.without_unit(self));
        self.terms.unit().ok_or_else(missing)
    }
}
impl Terms {
    /// Compare two public numbers: the number of rows that is stated in `place`, and the number of
    /// people of the budget. If both numbers are stated, and the unit of the budget has at most one
    /// row for each person, the two numbers must be equal. The rows of the data are not counted.
    ///
    /// # Errors
    /// `Argument` when the two numbers differ.
    pub fn check_size(&self, rows: Option<usize>, place: &str) -> Result<()> {
        let one_each = self.unit().is_some_and(Unit::is_one_contribution);
        match (rows, self.size()) {
            (Some(rows), Some(size)) if one_each && u64::try_from(rows) != Ok(size) => {
                let reason = format!(
                    "the number of rows in the {place} is {rows}, and the number of people in the \
                     budget is {size}: state the same number"
                );
                Err(Error::argument("size", reason))
            }
            _ => Ok(()),
        }
    }
}
