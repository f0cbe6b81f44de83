//! The budget of a study, and its division among the questions.

use opendp_analysis::Budget;
use opendp_analysis::context::Accounted;
use opendp_core::arith::Exact;
use opendp_core::erased::AnyMeasure;
use opendp_core::{Approximate, Error, MaxDivergence, Result, ZeroConcentratedDivergence};
use serde_json::Value as Json;

use super::document::BudgetFields;
use super::json::value;

/// The budget of a study, with one variant for each measure.
#[derive(Clone, Debug)]
pub(super) enum StudyBudget {
    Epsilon(Budget<MaxDivergence>),
    EpsilonDelta(Budget<Approximate<MaxDivergence>>),
    Rho(Budget<ZeroConcentratedDivergence>),
}
impl StudyBudget {
    /// Read a budget. Its exact amount consists of the decimal numbers of the document, and not of
    /// the nearest floats. So ten studies with epsilon 0.1 cost exactly epsilon 1.
    pub(super) fn read(fields: &BudgetFields) -> Result<Self> {
        match (fields.epsilon, fields.delta, fields.rho) {
            (Some(epsilon), None, None) => {
                Budget::epsilon(epsilon)?.in_decimals().map(Self::Epsilon)
            }
            (Some(epsilon), Some(delta), None) => {
                Budget::epsilon_delta(epsilon, delta)?.in_decimals().map(Self::EpsilonDelta)
            }
            (None, None, Some(rho)) => Budget::rho(rho)?.in_decimals().map(Self::Rho),
            _ => Err(Error::argument(
                "budget",
                "expected {\"epsilon\"}, {\"epsilon\", \"delta\"} or {\"rho\"}",
            )),
        }
    }
    /// Return the budget in a measure that is known only at run time.
    pub(super) fn erase(&self) -> Budget<AnyMeasure> {
        match self.clone() {
            StudyBudget::Epsilon(budget) => budget.erase(),
            StudyBudget::EpsilonDelta(budget) => budget.erase(),
            StudyBudget::Rho(budget) => budget.erase(),
        }
    }
}
/// Return the weights of the questions, which divide the budget.
pub(super) fn weights(split: Option<&Json>, questions: usize) -> Result<Vec<f64>> {
    match split {
        None => Ok(vec![1.0; questions]),
        Some(Json::String(word)) if word == "evenly" => Ok(vec![1.0; questions]),
        Some(list) => match value::<Vec<f64>>(list.clone()) {
            Ok(weights) if weights.len() == questions => Ok(weights),
            _ => {
                let reason = format!(
                    "expected \"evenly\", or a list of positive weights, one for each question; the \
                     number of questions is {questions}"
                );
                Err(Error::argument("split", reason))
            }
        },
    }
}
pub(super) fn rounded_up<MO: Accounted>(budget: &Budget<MO>) -> Result<MO::Distance> {
    match budget.exact_amount() {
        [epsilon, delta] => MO::lift_approximate((epsilon.to_f64_up(), delta.to_f64_up())),
        parts => MO::lift(parts.first().map_or(0.0, Exact::to_f64_up)),
    }
}
