//! Errors as Python exceptions.

use std::cell::Cell;
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

/// Write the advice of an error in the syntax of Python.
pub(crate) fn in_python<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
    result.map_err(|error| {
        let module = py.import("opendp_rs._errors");
        let known = module.and_then(|module| {
            let class = module.getattr("OpenDPError")?;
            if error.is_instance(py, &class) {
                module.call_method1("in_python", (error.value(py),))?;
            }
            Ok(())
        });
        known.err().unwrap_or(error)
    })
}

/// Run a function without the lock of the interpreter. A panic becomes an error. In a forked child
/// process, the function uses the threads of the child process.
///
/// # Errors
/// `FailedFunction` when [`MAX_NESTED`] calls already run inside each other.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    run: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result =
        py.detach(|| catch_unwind(AssertUnwindSafe(|| forked::run(|| nested(MAX_NESTED, run)))));
    result.unwrap_or_else(|_| Err(panicked())).or_raise(py)
}
/// The largest number of calls of the library that run inside each other. For example, a question
/// calls a function of a user, and this function asks another question. Each call takes a part of
/// the stack of its thread. Without a limit, the stack could overflow, which ends the process.
const MAX_NESTED: usize = 16;
/// The text of the error of a call that is nested too deeply.
pub(crate) const TOO_NESTED: &str = "too many calls of this library run inside each other: expected at most 16; a Python function \
     calls the library, which calls a Python function again, and so on; ask fewer questions inside \
     of answers";
thread_local! {
    /// The number of calls that run inside each other on this thread.
    static NESTED: Cell<usize> = const { Cell::new(0) };
    /// The error of a function of a user that asked the program to stop during the current call.
    static STOP: Cell<Option<Error>> = const { Cell::new(None) };
}
/// Keep the error of a function of a user that asked the program to stop. The current call returns
/// this error, even if the library leaves the error out. For example, a value is not a member of a
/// domain if the membership function of a user fails.
pub(crate) fn keep_stop(error: Error) {
    STOP.set(Some(error));
}
/// Convert a Python value. The conversion can run Python code of the value, such as its method
/// `tolist`, which can call the library again.
///
/// # Errors
/// `FailedFunction` when too many calls already run inside each other. Further errors are the
/// errors of the conversion.
pub(crate) fn converting<T>(convert: impl FnOnce() -> Result<T>) -> Result<T> {
    // The innermost call can still convert values. A conversion can run another one inside.
    nested(MAX_NESTED + 2, convert)
}
fn nested<T>(limit: usize, run: impl FnOnce() -> Result<T>) -> Result<T> {
    /// When this value is dropped, also by a panic, it sets `NESTED` back to the number of outer
    /// calls.
    struct Outer(usize);
    impl Drop for Outer {
        fn drop(&mut self) {
            NESTED.set(self.0);
        }
    }
    let outer = Outer(NESTED.get());
    if limit <= outer.0 {
        return Err(Error::FailedFunction(TOO_NESTED.into()));
    }
    NESTED.set(outer.0 + 1);
    if outer.0 == 0 {
        STOP.set(None);
    }
    let result = run();
    STOP.take().map_or(result, Err)
}
#[cold]
fn panicked() -> Error {
    Error::FailedFunction("the library stopped in the middle of a call; please report this".into())
}
