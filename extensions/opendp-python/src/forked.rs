//! Runs functions in a forked process. Also makes sure that a forked process does not spend its
//! copy of a budget.

use std::sync::{Arc, Mutex, OnceLock};
use std::{mem, process};

use opendp_core::{Error, Result};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::OrRaise;

/// The id of the process that loaded the library.
static LOADED_BY: OnceLock<u32> = OnceLock::new();
/// The pool of threads of a forked child process, and the id of this child process.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The process that opened an interactive mechanism.
///
/// A fork copies the mechanism together with its remaining budget. If the parent and the child
/// could both ask questions, the total loss could be twice the budget. So only the process that
/// opened the mechanism may ask questions.
#[derive(Clone)]
pub(crate) struct Opened {
    process: u32,
    /// A guard that detects a fork, even if the child process has the id of the process that opened
    /// the mechanism.
    fork: Option<forkguard::Guard>,
    /// The message of the error in a child process.
    refused: &'static str,
}
impl Opened {
    /// Remember that this process opened a budget.
    pub(crate) fn budget() -> Self {
        Opened::here(
            "this budget was opened before a fork, and this process is the child: a copy of a \
             budget must not be spent; ask the question in the parent process, or open a new \
             budget in the child and count both losses",
        )
    }
    /// Remember that this process made a queryable. The type of a queryable does not state whether
    /// the queryable holds a budget.
    pub(crate) fn queryable() -> Self {
        Opened::here(
            "this queryable was made before a fork, and this process is the child: a queryable can \
             hold a budget, so its copy does not answer; ask the question in the parent process, \
             or make a new queryable in the child and count both losses",
        )
    }
    fn here(refused: &'static str) -> Self {
        Opened { process: process::id(), fork: forkguard::Guard::try_new().ok(), refused }
    }
    /// Ask a question if this process opened the mechanism.
    ///
    /// A function of a user can fork while the question is answered. Then the parent and the child
    /// would both have an answer, each with its own noise. So check the process again after the
    /// question, even if the question failed. A child process gets no answer.
    ///
    /// # Errors
    /// `FailedFunction` in a forked child process, unless the question asked this process to stop.
    /// Further errors are the errors of the question.
    pub(crate) fn ask<T>(&self, py: Python<'_>, ask: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.check().or_raise(py)?;
        let answer = ask();
        match &answer {
            // The question raised an exception that stops this process, such as `SystemExit`. Such
            // an exception contains no answer, so a child process also gets the exception.
            Err(stop) if !stop.is_instance_of::<PyException>(py) => {}
            _ => self.check().or_raise(py)?,
        }
        answer
    }
    /// Check that this process opened the mechanism.
    pub(crate) fn check(&self) -> Result<()> {
        // `detected_fork` changes the guard, and later calls must give the same answer. So ask a
        // copy of the guard.
        let forked = self.fork.clone().is_some_and(|mut fork| fork.detected_fork());
        if forked || self.process != process::id() {
            return Err(Error::FailedFunction(self.refused.into()));
        }
        Ok(())
    }
}
/// Store the id of the process that loads the library.
pub(crate) fn remember() {
    LOADED_BY.get_or_init(process::id);
}
/// Run a function that may divide its work among threads.
///
/// A child process does not have the threads of the global pool, so work for the global pool would
/// wait forever. In a child process, another pool runs the function.
pub(crate) fn run<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let process = process::id();
    if LOADED_BY.get().is_none_or(|loaded_by| *loaded_by == process) {
        return run();
    }
    pool(process)?.install(run)
}
fn pool(process: u32) -> Result<Arc<ThreadPool>> {
    // Another thread of the parent can have held the lock at the time of the fork. The child does
    // not have this thread, so its copy of the lock would never be released. So do not wait for the
    // lock.
    let Ok(mut slot) = POOL.try_lock() else { return new() };
    if let Some((made_by, pool)) = &*slot
        && *made_by == process
    {
        return Ok(pool.clone());
    }
    let pool = new()?;
    // This process does not have the threads of the parent's pool. Dropping the pool would wait for
    // those threads, so the pool is not dropped.
    mem::forget(slot.replace((process, pool.clone())));
    Ok(pool)
}
fn new() -> Result<Arc<ThreadPool>> {
    let no_threads = |_| Error::FailedFunction("the system could not start threads".into());
    ThreadPoolBuilder::new().build().map(Arc::new).map_err(no_threads)
}
