//! Runs in a process that was forked.

use std::sync::{Arc, Mutex, OnceLock};
use std::{mem, process};

use opendp_core::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the library.
static LOADED_BY: OnceLock<u32> = OnceLock::new();
/// The pool of a child process, and the process that made it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Note which process loads the library.
pub(crate) fn remember() {
    LOADED_BY.get_or_init(process::id);
}
/// Run a function that may divide its work among threads.
///
/// The threads of the global pool do not exist in a child process, where their work would wait
/// forever. There, a pool of the child runs the function.
pub(crate) fn run<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let process = process::id();
    if LOADED_BY.get().is_none_or(|loaded_by| *loaded_by == process) {
        return run();
    }
    pool(process)?.install(run)
}
fn pool(process: u32) -> Result<Arc<ThreadPool>> {
    // The lock may have been held when this process was forked, so do not wait for it.
    let Ok(mut slot) = POOL.try_lock() else { return new() };
    if let Some((made_by, pool)) = &*slot
        && *made_by == process
    {
        return Ok(pool.clone());
    }
    let pool = new()?;
    // The threads of a parent's pool are not here, so nothing can end them.
    mem::forget(slot.replace((process, pool.clone())));
    Ok(pool)
}
fn new() -> Result<Arc<ThreadPool>> {
    let no_threads = |_| Error::FailedFunction("the operating system gave no threads".into());
    ThreadPoolBuilder::new().build().map(Arc::new).map_err(no_threads)
}
