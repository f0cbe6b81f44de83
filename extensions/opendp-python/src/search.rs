//! Searches for a value at which a condition changes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opendp_core::search::{Bisect, binary_search, exponential_bounds_search};
use opendp_core::{Error, Result};
use pyo3::prelude::*;

use crate::errors::exception;

/// A condition that a Python function checks. If the function raises an error of this library, the
/// condition has no answer. Any other exception is a mistake in the function and is raised.
struct Condition<'py> {
    py: Python<'py>,
    callable: Bound<'py, PyAny>,
    /// The class `OpenDPError`.
    library_error: Bound<'py, PyAny>,
    /// The first exception that is not an error of this library.
    mistake: Mutex<Option<PyErr>>,
    /// The first error of this library. The search starts at a value of moderate size, and moves to
    /// extreme values. So the first error is usually about the chain of steps that the function
    /// builds, and later errors are often about an extreme value.
    first: Mutex<Option<PyErr>>,
}
impl<'py> Condition<'py> {
    fn new(callable: Bound<'py, PyAny>) -> PyResult<Self> {
        let py = callable.py();
        let library_error = py.import("opendp_rs._errors")?.getattr("OpenDPError")?;
        let (mistake, first) = (Mutex::new(None), Mutex::new(None));
        Ok(Condition { py, callable, library_error, mistake, first })
    }
    fn holds<T: IntoPyObject<'py>>(&self, value: T) -> Result<bool> {
        if held(&self.mistake).is_some() {
            return Err(Error::FailedFunction("the condition failed".into()));
        }
        let answer = self.callable.call1((value,)).and_then(|answer| answer.is_truthy());
        answer.map_err(|error| {
            let known = error.is_instance(self.py, &self.library_error);
            let slot = if known { &self.first } else { &self.mistake };
            let reason = error.value(self.py).to_string();
            held(slot).get_or_insert(error);
            Error::FailedFunction(reason)
        })
    }
    fn result<T>(self, found: Result<T>) -> PyResult<T> {
        if let Some(mistake) = held(&self.mistake).take() {
            return Err(mistake);
        }
        found.map_err(|error| match (error, held(&self.first).take()) {
            (Error::FailedFunction(_), Some(own)) => own,
            (error, _) => exception(self.py, &error),
        })
    }
}
/// Lock a slot and return its value, even after a panic. A panic leaves no partial state in a slot.
fn held<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
fn search<'py, T>(condition: Bound<'py, PyAny>, bounds: Option<(T, T)>) -> PyResult<T>
where
    T: Bisect + IntoPyObject<'py>,
{
    let condition = Condition::new(condition)?;
    let found = binary_search(|value: T| condition.holds(value), bounds);
    condition.result(found)
}
fn bracket<'py, T>(condition: Bound<'py, PyAny>) -> PyResult<(T, T)>
where
    T: Bisect + IntoPyObject<'py>,
{
    let condition = Condition::new(condition)?;
    let found = exponential_bounds_search(|value: T| condition.holds(value));
    condition.result(found)
}
/// Find the point where a condition changes. Of the two floats next to this point, return the float
/// at which the condition holds.
#[pyfunction]
#[pyo3(signature = (condition, bounds = None))]
pub(crate) fn search_float(
    condition: Bound<'_, PyAny>,
    bounds: Option<(f64, f64)>,
) -> PyResult<f64> {
    search(condition, bounds)
}
/// Find the point where a condition changes. Of the two whole numbers next to this point, return
/// the number at which the condition holds.
#[pyfunction]
#[pyo3(signature = (condition, bounds = None))]
pub(crate) fn search_int(condition: Bound<'_, PyAny>, bounds: Option<(i64, i64)>) -> PyResult<i64> {
    search(condition, bounds)
}
/// Find two floats between which a condition changes.
#[pyfunction]
pub(crate) fn bounds_float(condition: Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    bracket(condition)
}
/// Find two whole numbers between which a condition changes.
#[pyfunction]
pub(crate) fn bounds_int(condition: Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    bracket(condition)
}
