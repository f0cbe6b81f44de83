//! A study as one measurement.

use opendp_analysis::{Budget, Context, Split, Table};
use opendp_core::erased::AnyMeasurement;
use opendp_core::{Error, Function, Measure, Measurement, PrivacyMap, Result};

use super::Study;
use super::budget::{StudyBudget, rounded_up};
use super::questions::Mode;

impl Study {
    /// Return the study as one measurement of tables. The loss of the measurement is the whole
    /// budget, and a ledger can charge this loss.
    ///
    /// The exact loss is the exact budget: the decimal numbers of the document. Proof that the
    /// answers cost no more: the account of `run` has this exact budget. The account refuses a
    /// release if the exact total would exceed this budget.
    ///
    /// # Errors
    /// Errors about the columns. `Argument` when there is not enough memory for the stated rows. A
    /// wrong `alpha`, and errors about the split and the questions, are errors of the measurement.
    pub fn measurement(&self, alpha: f64) -> Result<AnyMeasurement> {
        let limit = self.unit.distance();
        let context =
            Context::new(self.blank()?, self.unit, self.budget.erase(), Split::as_you_go())?;
        macro_rules! measurement_of {
            ($budget:expr) => {{
                let parts = $budget.exact_amount().to_vec();
                let amount = rounded_up($budget)?;
                let within = move |d_in: &u32| match *d_in <= limit {
                    true => Ok(()),
                    false => Err(Error::FailedMap(format!(
                        "the study protects tables at distance {limit}, and not at {d_in}"
                    ))),
                };
                let map = PrivacyMap::new(move |d_in| within(d_in).map(|()| amount.clone()))
                    .with_exact(move |d_in| within(d_in).map(|()| parts.clone()));
                let study = self.clone();
                let function = Function::map(move |table: &Table| {
                    Ok(study.run(table.clone(), alpha, Mode::Ask)?.to_json().to_string())
                });
                Measurement::new(context.space().clone(), measure_of($budget), function, map)
                    .erase()
            }};
        }
        Ok(match &self.budget {
            StudyBudget::Epsilon(budget) => measurement_of!(budget),
            StudyBudget::EpsilonDelta(budget) => measurement_of!(budget),
            StudyBudget::Rho(budget) => measurement_of!(budget),
        })
    }
}
fn measure_of<MO: Measure + Default>(_: &Budget<MO>) -> MO {
    MO::default()
}
