//! Runs of functions in a forked process.

use std::sync::{Arc, Mutex, OnceLock};
use std::{mem, process};

use opendp_core::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The id of the process that loaded the library.
static LOADED_BY: OnceLock<u32> = OnceLock::new();
/// The pool of threads of a forked child process, and the id of this child process.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

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
