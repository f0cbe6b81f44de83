//! Studies: a budget and questions about a table, in one document.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use opendp_core::{Error, Result};
use opendp_ledger::Failure;
use opendp_study::{CellType, Cells, Charge, Outcome, Study};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::json;

use crate::callbacks::{raised, stopped};
use crate::errors::{OrRaise, detached};
use crate::forked::Opened;
use crate::json as python_json;
use crate::ledger::{PyLedger, charge_lines};
use crate::objects::Measure;
use crate::values::Cell;

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
    /// An error that may depend on the cells is charged, and kept like answers. An exception of
    /// `read` that asks the program to stop is charged, too, and then raised again.
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
            let charged = detached(py, || {
                let ledger = ledger.get().open()?;
                let read = |name: &str, kind| {
                    let found = Python::attach(|py| match read.bind(py).call1((name,)) {
                        Ok(column) => cells(&column, kind),
                        Err(error) => {
                            *stop.lock().unwrap_or_else(PoisonError::into_inner) =
                                Some(raised(py, &error));
                            None
                        }
                    });
                    opened.check().map_err(Failure::OfFile)?;
                    found.ok_or_else(|| misfit(name, kind).into())
                };
                let charge = Charge::new(&ledger, &budget, &id).by(&by);
                self.study.ask_charged(&charge, read, alpha)
            });
            let stop = stop.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(stopped) = stop.as_ref().and_then(stopped) {
                return Err(stopped);
            }
            let charged = charged?;
            // An answer without a ledger would spend the budget of the study again.
            self.spent.store(true, SeqCst);
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
        columns: HashMap<String, Bound<'py, PyAny>>,
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
            let read = self.study.columns().map(|(name, kind)| {
                let column = columns.get(name).and_then(|column| cells(column, kind));
                Ok((name, column.ok_or_else(|| misfit(name, kind))?))
            });
            let mut read = read.collect::<Result<HashMap<_, _>>>().or_raise(py)?;
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
        CellType::Bool => ("booleans", "such as with a comparison"),
        CellType::Text => ("texts", "such as with `.astype(str)`"),
    };
    let reason = format!(
        "expected {expected}, or None or NaN for missing cells, and a cell is something else: \
         convert the column, {advice}. The budget of this study is spent, because the error \
         depends on the data: make a new `Study`"
    );
    Error::argument(name, reason)
}
/// Convert a column. `None` means that a cell has another type.
///
/// A missing cell is `None`, NaN, or a null of pandas. Texts lose the spaces around them, and the
/// empty text is missing, as in the files that the command `opendp` reads.
fn cells(column: &Bound<'_, PyAny>, kind: CellType) -> Option<Cells> {
    Some(match kind {
        CellType::Integer => Cells::Integer(read(column, whole)?),
        CellType::Float => {
            let floats = read(column, f64::from_python)?;
            Cells::Float(floats.into_iter().map(|cell| cell.filter(|x| !x.is_nan())).collect())
        }
        CellType::Bool => Cells::Bool(read(column, bool::from_python)?),
        CellType::Text => {
            let texts = read(column, |cell| String::from_python(cell).map(trimmed))?;
            Cells::Text(texts.into_iter().map(|cell| cell.filter(|x| !x.is_empty())).collect())
        }
    })
}
fn trimmed(text: String) -> String {
    text.trim().to_owned()
}
fn read<T>(
    column: &Bound<'_, PyAny>,
    cell: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let mut cells = Vec::with_capacity(column.len().ok()?.min(1 << 16));
    for item in column.try_iter().ok()? {
        let item = item.ok()?;
        let known = if item.is_none() { None } else { cell(&item) };
        if known.is_none() && !is_missing(&item) {
            return None;
        }
        cells.push(known);
    }
    Some(cells)
}
/// Convert a whole number. pandas stores a column of integers with missing cells as floats, so a
/// float can be a whole number.
fn whole(cell: &Bound<'_, PyAny>) -> Option<i64> {
    i64::from_python(cell).or_else(|| {
        let float = f64::from_python(cell)?;
        (float.fract() == 0.0 && float.abs() <= (1_u64 << 53) as f64).then_some(float as i64)
    })
}
/// Return whether a value stands for a missing cell.
fn is_missing(cell: &Bound<'_, PyAny>) -> bool {
    let is_null = |name: Bound<'_, PyString>| name == "NAType" || name == "NaTType";
    cell.is_none()
        || f64::from_python(cell).is_some_and(f64::is_nan)
        || cell.get_type().name().is_ok_and(is_null)
}
