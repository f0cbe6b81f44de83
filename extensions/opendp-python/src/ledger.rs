//! Budgets that remain in a file after the process ends.

use std::path::PathBuf;

use opendp_analysis::context::visible;
use opendp_core::{Domain as _, Error, Metric as _, Result};
use opendp_ledger::{Account, Ledger, Loss, Request, Terms, Unit};
use opendp_study::Charged;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::errors::{OrRaise, detached};
use crate::json as python_json;
use crate::objects::{Measurement, Metric};

/// The native part of `Ledger` in Python: the path of a ledger. Each call opens the file again, so
/// a forked process has no copy of the ledger's locks.
#[pyclass(frozen, name = "Ledger", module = "opendp_rs._native")]
pub(crate) struct PyLedger {
    path: PathBuf,
}
/// The unit of a new budget: a metric, the distance of one record, and the records of a person.
type Protected<'py> = (Bound<'py, Metric>, u32, Option<u32>);

#[pymethods]
impl PyLedger {
    #[new]
    fn new(path: PathBuf) -> Self {
        PyLedger { path }
    }
    /// Create a budget, and create the file if it does not exist. `amounts` has the epsilon, the
    /// delta and the rho. `data` has the digest and the number of people. Return warnings about the
    /// budget.
    fn create(
        &self,
        py: Python<'_>,
        name: &str,
        amounts: (Option<String>, Option<String>, Option<String>),
        tight: bool,
        unit: Option<Protected<'_>>,
        data: (Option<String>, Option<u64>),
    ) -> PyResult<Vec<String>> {
        let unit = unit.map(|(metric, unit, contributions)| {
            (metric.get().made.to_json(), unit, contributions)
        });
        detached(py, || {
            let (total, terms) = (total(&amounts)?, terms(unit, data)?);
            // Check the budget here, so that a wrong name or amount creates no file.
            total.check_budget(name, tight)?;
            let ledger = Ledger::open(&self.path)?;
            match tight {
                true => ledger.create_tight(name, &total, &terms)?,
                false => ledger.create_with(name, &total, &terms)?,
            }
            let mut warnings = total.cautions(terms.size());
            if terms.unit().is_none() {
                warnings.push(NO_UNIT.into());
            }
            if terms.has_public_rows_by_size() {
                warnings.push(PUBLIC_ROWS.into());
            }
            Ok(warnings)
        })
    }
    /// Charge the loss of a measurement to a budget, before the measurement is run. `place` has the
    /// name of the budget, the id of the charge, and the name of the person who asks. An id is
    /// charged once. The ledger keeps no release.
    fn charge(
        &self,
        py: Python<'_>,
        place: (String, String, String),
        measurement: &Bound<'_, Measurement>,
        d_in: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (budget, id, by) = place;
        let made = measurement.get().made.clone();
        let d_in = python_json::distance_from_python(d_in, "d_in").or_raise(py)?;
        detached(py, || {
            let d_in = made.input().metric().decode(&d_in).map_err(|error| error.at("d_in"))?;
            let ledger = self.open()?;
            let terms = ledger.account(&budget)?.terms;
            if terms.unit().is_none() {
                return Err(Error::argument("budget", NO_UNIT));
            }
            terms.check_file(None)?;
            terms.check_size(made.input().domain().records(), "domain")?;
            let request = Request::new(&id, &made, &d_in)?.by(&by);
            let request =
                request.pipeline(&json!({"context": null})).source(&json!({"data": null}));
            match ledger.release(&budget, &request, || Ok(Json::Null))?.repeated() {
                false => Ok(()),
                true => {
                    let reason = format!(
                        "budget `{budget}` was charged for a context with the id `{id}` before, \
                         and the ledger keeps no answers of contexts: use another id"
                    );
                    Err(Error::argument("id", reason))
                }
            }
        })
    }
    /// Return the accounts of all budgets.
    fn budgets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, |ledger| Ok(ledger.accounts()?.iter().map(Account::to_json).collect()))
    }
    /// Return the account of a budget.
    fn show<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, |ledger| Ok(ledger.account(name)?.to_json()))
    }
    /// Return all entries of a budget.
    fn history<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, |ledger| {
            let (account, entries) = (ledger.account(name)?, ledger.history(name)?);
            Ok(entries.iter().map(|entry| account.entry_to_json(entry)).collect())
        })
    }
    /// Accept requests to a budget again after a correction of the clock. Return the entry that
    /// records the call.
    fn settle_clock<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        by: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let entry = detached(py, || {
            let ledger = self.open()?;
            let entry = ledger.settle_clock(name, by)?;
            Ok(ledger.account(name)?.entry_to_json(&entry))
        })?;
        python_json::to_python(py, &entry, None)
    }
}
impl PyLedger {
    /// Open the ledger, to charge a budget.
    pub(crate) fn open(&self) -> Result<Ledger> {
        Ledger::open_existing(&self.path)
    }
    fn read<'py>(
        &self,
        py: Python<'py>,
        read: impl FnOnce(&Ledger) -> Result<Json> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let json = detached(py, || read(&Ledger::open_to_read(&self.path)?))?;
        python_json::to_python(py, &json, None)
    }
}
const NO_UNIT: &str = "the budget states no unit, so no study and no context can be charged to it: \
                       create a budget with `unit` and `metric`, such as unit=1 and \
                       metric=\"symmetric_distance\"";
const PUBLIC_ROWS: &str = "with `size`, and with `contributions` 1 or None, each person must have \
                           exactly one row, and the number of rows is public. Otherwise leave out \
                           `size`, or state `contributions` above 1";

fn total(amounts: &(Option<String>, Option<String>, Option<String>)) -> Result<Loss> {
    match amounts {
        (Some(epsilon), None, None) => Loss::epsilon(epsilon),
        (Some(epsilon), Some(delta), None) => Loss::epsilon_delta(epsilon, delta),
        (None, None, Some(rho)) => Loss::rho(rho),
        _ => Err(Error::argument(
            "epsilon",
            "state one budget: `epsilon`, `epsilon` with `delta`, or `rho`",
        )),
    }
}
fn terms(
    unit: Option<(Json, u32, Option<u32>)>,
    (digest, size): (Option<String>, Option<u64>),
) -> Result<Terms> {
    let mut terms = Terms::new();
    if let Some((metric, unit, contributions)) = unit {
        let unit = Unit::new(metric, unit)?;
        terms = terms.with_unit(match contributions {
            Some(contributions) => unit.contributions(contributions)?,
            None => unit,
        });
    }
    if let Some(digest) = digest {
        terms = terms.with_digest(&digest)?;
    }
    Ok(match size {
        Some(size) => terms.with_size(size),
        None => terms,
    })
}
/// Write the lines that report a charge to a budget.
pub(crate) fn charge_lines(charged: &Charged) -> Vec<String> {
    let entry = charged.release.entry();
    let (id, budget) = (visible(&entry.id), visible(&entry.budget));
    let mut lines = Vec::new();
    if charged.release.repeated() {
        lines.push(format!(
            "repeated: these are the earlier answers with the id `{id}`: no new noise is drawn, \
             and nothing is charged again"
        ));
    }
    let (loss, left) = (entry.loss.say(true), charged.remaining.say(false));
    lines.push(format!("budget {budget} as `{id}`: {loss} charged, {left} left"));
    lines
}
