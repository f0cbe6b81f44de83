//! Errors as Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opendp_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::{callbacks, forked};

/// Convert an error to an exception. The kind of the error determines the class of the exception.
/// If a function of a user asked the program to stop, return the exception of
/// [`callbacks::stopped`].
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(stopped) = callbacks::stopped(error) {
        return stopped;
    }
    static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = OF
        .import(py, "opendp_rs._errors", "of")
        .and_then(|class| class.call1((error.kind(), error.to_string())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(other) => other,
    }
}

/// A result whose error can become a Python exception.
pub(crate) trait OrRaise<T> {
    /// Convert the error to an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}
impl<T> OrRaise<T> for Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

/// Run a function without the lock of the interpreter. A panic becomes an error. In a forked child
/// process, the function uses the threads of the child process.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    run: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| forked::run(run))));
    result.unwrap_or_else(|_| Err(panicked())).or_raise(py)
}
#[cold]
fn panicked() -> Error {
    Error::FailedFunction("the library stopped in the middle of a call; please report this".into())
}
