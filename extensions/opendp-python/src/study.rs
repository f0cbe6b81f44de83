//! Studies: a budget and questions about a table, in one document.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use opendp_core::{Error, Result};
use opendp_ledger::Failure;
use opendp_study::{CellType, Cells, Charge, Outcome, Study};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use serde_json::json;

use crate::callbacks::{raised, stopped, unless_stopped};
use crate::columns::texts;
use crate::errors::{OrRaise, detached};
use crate::forked::Opened;
use crate::json as python_json;
use crate::ledger::{PyLedger, charge_lines};
use crate::objects::Measure;
use crate::values::{Cell, double};

/// The native part of `Study` in Python: a study whose budget can be spent once.
#[pyclass(frozen, name = "Study", module = "opendp_rs._native")]
pub(crate) struct PyStudy {
    study: Study,
    opened: Opened,
    spent: AtomicBool,
}
#[pymethods]
impl PyStudy {
    /// Read the document of a study: JSON as a text, or a dictionary with the same fields.
    #[new]
    fn new(document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let json = match document.cast::<PyString>() {
            Ok(text) => opendp_registry::json::parse(text.to_str()?),
            Err(_) => python_json::from_python(document),
        };
        let study = json.and_then(|json| Study::parse(&json)).and_then(|study| {
            // `cells` removes the spaces around texts, so no cell equals a text with such spaces.
            study.check_spaces().map(|()| study)
        });
        let study = study.map_err(|error| error.at("study")).or_raise(document.py())?;
        Ok(PyStudy { study, opened: Opened::budget(), spent: AtomicBool::new(false) })
    }
    /// Return the measure of the budget, the budget, and the public number of rows, if it is
    /// stated.
    fn budget<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Measure, Bound<'py, PyAny>, Option<usize>)> {
        let (measure, loss) = detached(py, || {
            let measurement = self.study.measurement(1.0)?;
            let distance = json!(self.study.unit().distance());
            let loss = measurement.map(&measurement.input().metric().decode(&distance)?)?;
            Ok((measurement.measure().clone(), loss))
        })?;
        Ok((Measure { made: measure }, python_json::distance(py, &loss)?, self.study.rows()))
    }
    /// Return the names of the columns.
    fn columns(&self) -> Vec<&str> {
        self.study.columns().map(|(name, _)| name).collect()
    }
    /// Return the names of the columns with the types of their cells.
    fn types(&self) -> Vec<(&str, &'static str)> {
        let name = |kind| match kind {
            CellType::Integer => "i64",
            CellType::Float => "f64",
            CellType::Bool => "bool",
            CellType::Text => "String",
        };
        self.study.columns().map(|(column, kind)| (column, name(kind))).collect()
    }
    /// Return the names of the columns of `bool` that do not state `missing`.
    fn bools_without_missing(&self) -> Vec<&str> {
        self.study.bools_without_missing().collect()
    }
    /// Find the costs and the error bounds of the answers. Nothing is read, released or spent.
    fn rehearse<'py>(&self, py: Python<'py>, alpha: f64) -> PyResult<Answered<'py>> {
        answered(py, &detached(py, || self.study.rehearse(alpha))?)
    }
    /// Answer all questions, and charge the answers to a budget of a ledger. `read` returns the
    /// cells of a column, or None if a cell cannot be read. Also return the lines about the charge,
    /// and the charge as JSON.
    ///
    /// An error that may depend on the cells is charged, and kept like answers. If a call of `read`
    /// raises an exception that asks the program to stop, this exception is charged, too, and then
    /// raised again. If the program was asked to stop before the first call of `read`, nothing is
    /// read or charged.
    fn ask_charged<'py>(
        &self,
        py: Python<'py>,
        read: Py<PyAny>,
        alpha: f64,
        ledger: Py<PyLedger>,
        place: (String, String, String),
    ) -> PyResult<(Answered<'py>, Vec<String>, Bound<'py, PyAny>)> {
        // The budget is in a file. So a forked process can ask, but only the process that began to
        // ask gets an answer.
        let (opened, (budget, id, by)) = (Opened::budget(), place);
        opened.ask(py, || {
            let stop = Mutex::new(None);
            let keep = |error: PyErr| {
                *stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            };
            let charged = detached(py, || {
                let ledger = ledger.get().open()?;
                let mut reads = false;
                let read = |name: &str, kind| {
                    // Look for a signal only before the first column. After that, the cells could
                    // decide whether the process ends without a charge.
                    if !mem::replace(&mut reads, true) {
                        Python::attach(|py| py.check_signals()).map_err(|error| {
                            keep(error);
                            let reason = "the program was asked to stop before it read the data";
                            Failure::OfFile(Error::FailedFunction(reason.into()))
                        })?;
                    }
                    // From now on, an answer without a ledger would spend the budget of the study
                    // again.
                    self.spent.store(true, SeqCst);
                    let found = Python::attach(|py| {
                        let column = read.bind(py).call1((name,));
                        cells(&column.map_err(|error| raised(py, &error))?, name, kind)
                    });
                    if let Some(error) = found.as_ref().err().and_then(stopped) {
                        keep(error);
                    }
                    opened.check().map_err(Failure::OfFile)?;
                    Ok(found?)
                };
                let charge = Charge::new(&ledger, &budget, &id).by(&by);
                let charged = self.study.ask_charged(&charge, read, alpha);
                // The answers or the failure can also be those of an earlier process.
                if charged.as_ref().err().is_none_or(Failure::was_charged) {
                    self.spent.store(true, SeqCst);
                }
                charged
            });
            if let Some(stop) = stop.into_inner().unwrap_or_else(PoisonError::into_inner) {
                return Err(stop);
            }
            let charged = charged?;
            let json = python_json::to_python(py, &charged.charge_to_json(), None)?;
            Ok((answered(py, &charged.outcome)?, charge_lines(&charged), json))
        })
    }
    /// Answer all questions, and spend the budget. `columns` has a list of cells for each name.
    ///
    /// An error that is found without the cells spends nothing. Every other error can depend on the
    /// cells, so it spends the budget.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        read: &Bound<'py, PyAny>,
        alpha: f64,
    ) -> PyResult<Answered<'py>> {
        self.opened.ask(py, || {
            detached(py, || self.study.check_questions(alpha))?;
            if self.spent.swap(true, SeqCst) {
                let spent = "this study has answered, or failed while it read the data, so its \
                             budget is spent: make a new `Study` to spend another budget, and \
                             count the losses of both studies";
                return Err(Error::BudgetExceeded(spent.into())).or_raise(py);
            }
            // The budget is spent now. So a source of rows, such as a lazy frame, runs only once.
            let found = self.study.columns().map(|(name, kind)| {
                let column = read.call1((name,))?;
                Ok((name, cells(&column, name, kind).or_raise(py)?))
            });
            let mut read = found.collect::<PyResult<HashMap<_, _>>>()?;
            same_rows(&read).or_raise(py)?;
            let outcome = detached(py, || {
                let take = |name: &str, kind| read.remove(name).ok_or_else(|| misfit(name, kind));
                self.study.ask(take, alpha)
            })?;
            answered(py, &outcome)
        })
    }
}
/// The JSON of an outcome, its text and its notes.
type Answered<'py> = (Bound<'py, PyAny>, String, Vec<String>);

fn answered<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Answered<'py>> {
    Ok((python_json::to_python(py, &outcome.to_json(), None)?, outcome.to_text(), outcome.notes()))
}
/// Write the page of an outcome, which is given as JSON.
#[pyfunction]
pub(crate) fn outcome_page(py: Python<'_>, outcome: &Bound<'_, PyAny>) -> PyResult<String> {
    let json = python_json::from_python(outcome).or_raise(py)?;
    Ok(Outcome::parse(&json).or_raise(py)?.to_html())
}
/// Check that all columns have the same number of cells.
fn same_rows(columns: &HashMap<&str, Cells>) -> Result<()> {
    let mut rows = columns.values().map(Cells::rows);
    let first = rows.next();
    if rows.all(|other| Some(other) == first) {
        return Ok(());
    }
    let reason = "expected columns with the same number of cells: the budget of this study is \
                  spent, because the error depends on the data. Make a new `Study`";
    Err(Error::argument("data", reason))
}
/// Return the error for a column with a cell of another type. The error does not contain the cell.
#[cold]
fn misfit(name: &str, kind: CellType) -> Error {
    let (expected, advice) = match kind {
        CellType::Integer => ("whole numbers in the range of `i64`", "or state `f64` in the study"),
        CellType::Float => ("numbers", "such as with `pandas.to_numeric(..., errors=\"coerce\")`"),
        CellType::Bool => ("booleans, 0 or 1", "such as with a comparison"),
        // In some versions of pandas, `.astype(str)` writes a missing cell as the text "nan".
        CellType::Text => ("texts", "such as with `.astype(\"string\")`"),
    };
    let reason = format!(
        "expected {expected}, or None or NaN for missing cells, and a cell is something else: \
         convert the column, {advice}. The budget of this study is spent, because the error \
         depends on the data: make a new `Study`"
    );
    Error::argument(name, reason)
}
/// Convert a column.
///
/// A missing cell is `None`, NaN, or a null of pandas. Texts lose the spaces around them, and the
/// empty text is missing, as in the files that the command `opendp` reads.
///
/// # Errors
/// The error of [`misfit`] when a cell has another type or cannot be read. The error of
/// [`unless_stopped`].
fn cells(column: &Bound<'_, PyAny>, name: &str, kind: CellType) -> Result<Cells> {
    let found = match kind {
        CellType::Integer => read(column, whole)?.map(Cells::Integer),
        CellType::Float => {
            let known = |cell: &Bound<'_, PyAny>| Ok(double(cell)?.filter(|x| !x.is_nan()));
            read(column, known)?.map(Cells::Float)
        }
        CellType::Bool => read(column, truth)?.map(Cells::Bool),
        CellType::Text => {
            let texts = match texts::in_memory(column)? {
                None => read(column, String::from_python)?,
                texts => texts,
            };
            let known = |cell: Option<String>| cell.map(trimmed).filter(|x| !x.is_empty());
            texts.map(|texts| Cells::Text(texts.into_iter().map(known).collect()))
        }
    };
    found.ok_or_else(|| misfit(name, kind))
}
fn trimmed(text: String) -> String {
    let trimmed = text.trim();
    if trimmed.len() == text.len() { text } else { trimmed.to_owned() }
}
/// Read the cells of a column. `None` means that a cell has another type or cannot be read.
fn read<T>(
    column: &Bound<'_, PyAny>,
    cell: impl Fn(&Bound<'_, PyAny>) -> Result<Option<T>>,
) -> Result<Option<Vec<Option<T>>>> {
    let py = column.py();
    let Some(length) = unless_stopped(py, column.len())? else { return Ok(None) };
    let Some(items) = unless_stopped(py, column.try_iter())? else { return Ok(None) };
    let mut cells = Vec::with_capacity(length.min(1 << 16));
    for item in items {
        let Some(item) = unless_stopped(py, item)? else { return Ok(None) };
        let known = if item.is_none() { None } else { cell(&item)? };
        if known.is_none() && !is_missing(&item)? {
            return Ok(None);
        }
        cells.push(known);
    }
    Ok(Some(cells))
}
/// Convert a boolean. The numbers 1 and 0 are also booleans, as in the files that the command
/// `opendp` reads.
fn truth(cell: &Bound<'_, PyAny>) -> Result<Option<bool>> {
    if let Some(known) = bool::from_python(cell)? {
        return Ok(Some(known));
    }
    let number = double(cell)?.filter(|x| *x == 0.0 || *x == 1.0);
    Ok(number.map(|number| number == 1.0))
}
/// Convert a whole number. pandas stores a column of integers with missing cells as floats, so a
/// float can be a whole number.
fn whole(cell: &Bound<'_, PyAny>) -> Result<Option<i64>> {
    if cell.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    if let Some(whole) = unless_stopped(cell.py(), cell.extract())? {
        return Ok(Some(whole));
    }
    let is_whole = |x: &f64| x.fract() == 0.0 && x.abs() <= (1_u64 << 53) as f64;
    Ok(double(cell)?.filter(is_whole).map(|float| float as i64))
}
/// Return whether a value stands for a missing cell.
fn is_missing(cell: &Bound<'_, PyAny>) -> Result<bool> {
    let is_null = |name: Bound<'_, PyString>| name == "NAType" || name == "NaTType";
    Ok(cell.is_none()
        || double(cell)?.is_some_and(f64::is_nan)
        || cell.get_type().name().is_ok_and(is_null))
}
