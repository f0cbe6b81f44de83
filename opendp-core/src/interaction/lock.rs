//! A lock that returns an error in cases where other locks hang or panic.

use std::cell::Cell;
use std::marker::PhantomData;

use super::sync::{Mutex, MutexGuard, thread};
use crate::{Error, Result};

/// A state that only one thread at a time can change.
///
/// Any code can run under the lock. If the code panics, the state can be inconsistent, so every
/// later use of the lock returns an error. If the code requests the same lock again on the same
/// thread, the request gives an error instead of a deadlock.
pub(crate) struct Lock<S> {
    state: Mutex<S>,
    holder: Mutex<Option<thread::ThreadId>>,
}

impl<S> Lock<S> {
    /// Protect a state by a lock.
    pub(crate) fn new(state: S) -> Self {
        Lock { state: Mutex::new(state), holder: Mutex::new(None) }
    }
    /// Lock the state, and call `run` with the state.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut S) -> Result<R>) -> Result<R> {
        let mut locked = self.locked()?;
        run(&mut locked.state)
    }
    fn locked(&self) -> Result<Locked<'_, S>> {
        let here = other_than(&self.holder)?;
        let state = self.state.lock().map_err(poisoned)?;
        Ok(Locked { _holder: Holder::new(&self.holder, here)?, state })
    }
}
/// A locked state. The fields are dropped in this order: the id of this thread is cleared first,
/// and then the state is unlocked.
struct Locked<'a, S> {
    _holder: Holder<'a>,
    state: MutexGuard<'a, S>,
}
/// Return the id of this thread. Return an error if this thread is the holder of the lock.
fn other_than(holder: &Mutex<Option<thread::ThreadId>>) -> Result<thread::ThreadId> {
    let here = thread::current().id();
    // A thread changes `holder` only while it holds the lock of `state`, and stores only its own id
    // or `None`. So other threads cannot change whether `holder` is equal to the id of this thread.
    if *holder.lock().map_err(poisoned)? == Some(here) {
        return Err(Error::FailedFunction(
            "a queryable answers one query at a time; a query must not ask its own queryable"
                .into(),
        ));
    }
    Ok(here)
}

thread_local! {
    /// The number of locks that this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
}
/// Return whether this thread holds a lock.
pub(crate) fn holds_lock() -> bool {
    HELD.get() > 0
}

/// A marker that the current thread holds a lock, such as a `Mutex`. While this object exists,
/// `with_threads` avoids deadlocks with threads that wait for the lock.
///
/// If work under a lock can call `with_threads`, make this object before the work. Also make this
/// object before work that initializes a `OnceLock`. The evaluation of a privacy map or of a
/// privacy profile can call `with_threads`.
#[derive(Debug)]
pub struct HeldLock(PhantomData<*const ()>);
impl HeldLock {
    /// Count one more lock of the current thread, until the object is dropped.
    #[allow(clippy::new_without_default, reason = "each object counts as one lock")]
    pub fn new() -> Self {
        HELD.set(HELD.get() + 1);
        HeldLock(PhantomData)
    }
}
impl Drop for HeldLock {
    fn drop(&mut self) {
        HELD.set(HELD.get().saturating_sub(1));
    }
}

/// The id of the thread that holds a lock. When the thread releases the lock, the id is cleared,
/// even after a panic.
struct Holder<'a> {
    holder: &'a Mutex<Option<thread::ThreadId>>,
    _held: HeldLock,
}
impl<'a> Holder<'a> {
    fn new(holder: &'a Mutex<Option<thread::ThreadId>>, here: thread::ThreadId) -> Result<Self> {
        *holder.lock().map_err(poisoned)? = Some(here);
        Ok(Holder { holder, _held: HeldLock::new() })
    }
}
impl Drop for Holder<'_> {
    fn drop(&mut self) {
        if let Ok(mut holder) = self.holder.lock() {
            *holder = None;
        }
    }
}

/// Make the error for a lock that is unusable after a panic.
#[cold]
pub(crate) fn poisoned<T>(_: T) -> Error {
    Error::FailedFunction(
        "an earlier query panicked, so its queryable is closed; a new queryable has its own loss, \
         which adds to the loss of this one"
            .into(),
    )
}
