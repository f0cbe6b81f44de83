//! A lock that returns an error where others hang or panic.

use super::sync::{Mutex, thread};
use crate::{Error, Result};

/// State that one thread at a time may change.
///
/// Any code may run under the lock. If it panics, the state may be inconsistent, so every later use
/// is an error. If it requests the same lock again, it gets an error instead of a deadlock.
pub(crate) struct Lock<S> {
    state: Mutex<S>,
    holder: Mutex<Option<thread::ThreadId>>,
}

impl<S> Lock<S> {
    /// Protect state by a lock.
    pub(crate) fn new(state: S) -> Self {
        Lock { state: Mutex::new(state), holder: Mutex::new(None) }
    }
    /// Run with the state.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut S) -> Result<R>) -> Result<R> {
        let here = thread::current().id();
        // Only this thread stores its own id here, so no other thread can change the result of this
        // test.
        if *self.holder.lock().map_err(poisoned)? == Some(here) {
            return Err(Error::FailedFunction(
                "a queryable answers one query at a time; a query may not ask its own queryable"
                    .into(),
            ));
        }
        let mut state = self.state.lock().map_err(poisoned)?;
        let _named = Named::new(&self.holder, here)?;
        run(&mut state)
    }
}

/// The id of the thread that holds a lock. It is cleared afterwards, even after a panic.
struct Named<'a>(&'a Mutex<Option<thread::ThreadId>>);
impl<'a> Named<'a> {
    fn new(holder: &'a Mutex<Option<thread::ThreadId>>, here: thread::ThreadId) -> Result<Self> {
        *holder.lock().map_err(poisoned)? = Some(here);
        Ok(Named(holder))
    }
}
impl Drop for Named<'_> {
    fn drop(&mut self) {
        if let Ok(mut holder) = self.0.lock() {
            *holder = None;
        }
    }
}

/// Report a lock that is unusable after a panic.
#[cold]
pub(crate) fn poisoned<T>(_: T) -> Error {
    Error::FailedFunction("an earlier query panicked, so its queryable is closed".into())
}
