//! Runs of functions in a forked process, and budgets that a fork must not copy.

use std::sync::{Arc, Mutex, OnceLock};
use std::{mem, process};

use opendp_core::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The id of the process that loaded the library.
static LOADED_BY: OnceLock<u32> = OnceLock::new();
/// The pool of threads of a forked child process, and the id of this child process.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The process that opened an interactive mechanism.
///
/// A fork copies the mechanism together with its remaining budget. If both processes could ask
/// questions, the total loss could be twice the budget. So only the process that opened the
/// mechanism may ask questions.
#[derive(Clone)]
pub(crate) struct Opened {
    process: u32,
    /// Also detects a child process that has the same id as the process that opened the mechanism.
    fork: Option<forkguard::Guard>,
}
impl Opened {
    /// Remember this process.
    pub(crate) fn here() -> Self {
        Opened { process: process::id(), fork: forkguard::Guard::try_new().ok() }
    }
    /// Check that this process opened the mechanism.
    ///
    /// # Errors
    /// `FailedFunction` in a forked child process.
    pub(crate) fn check(&self) -> Result<()> {
        // `detected_fork` changes the guard, and later calls must give the same answer. So ask a
        // copy of the guard.
        let forked = self.fork.clone().is_some_and(|mut fork| fork.detected_fork());
        if forked || self.process != process::id() {
            return Err(Error::FailedFunction(
                "this budget was opened before a fork, and this process is the child: a copy of a \
                 budget must not be spent; ask the question in the parent process, or open a new \
                 budget in the child and count both losses"
                    .into(),
            ));
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
