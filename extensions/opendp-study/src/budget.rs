//! The budget of a study.

use opendp_analysis::Budget;
use opendp_core::{Approximate, Error, MaxDivergence, Result, ZeroConcentratedDivergence};

use super::document::BudgetFields;

/// The budget of a study, with one variant for each measure.
#[derive(Clone, Debug)]
pub(super) enum StudyBudget {
    Epsilon(Budget<MaxDivergence>),
    EpsilonDelta(Budget<Approximate<MaxDivergence>>),
    Rho(Budget<ZeroConcentratedDivergence>),
}
impl StudyBudget {
    pub(super) fn read(fields: &BudgetFields) -> Result<Self> {
        match (fields.epsilon, fields.delta, fields.rho) {
            (Some(epsilon), None, None) => Budget::epsilon(epsilon).map(Self::Epsilon),
            (Some(epsilon), Some(delta), None) => {
                Budget::epsilon_delta(epsilon, delta).map(Self::EpsilonDelta)
            }
            (None, None, Some(rho)) => Budget::rho(rho).map(Self::Rho),
            _ => Err(Error::argument(
                "budget",
                "expected {\"epsilon\"}, {\"epsilon\", \"delta\"} or {\"rho\"}",
            )),
        }
    }
}
