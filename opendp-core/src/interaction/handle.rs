//! Handles of conversations (queryables and sessions) that this library cannot find in an answer.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{mem, thread};

use super::turn::Turn;

/// The turns of a conversation that code outside of this library keeps. A conversation is a
/// queryable or a session. A [turn](crate::Turn) is the permission of a conversation to answer.
///
/// An answer can contain a queryable or a session inside of an object of another language. Code of
/// that language can also keep the queryable or the session somewhere else. In both cases,
/// [`bound_to`](crate::Codec::bound_to) does not find the conversation. So such code makes a handle
/// when it gets the conversation, and keeps the conversation together with the handle. When the
/// handle is made, some turns can [run](crate::Turns::begin) on the current thread. Each of these
/// turns is added to the handle when its run ends, even if the run ends with an error or a panic.
/// Until then, the code can use the conversation. The next turn of the same sequence begins only
/// after the handle has the earlier turn.
///
/// Before each question, bind the conversation to the turns of its handle. Clones of a handle share
/// their turns. A handle gets only turns that run on the thread that makes the handle.
///
/// ```
/// # use opendp_core::{Codec, Handle, Queryable, Turns};
/// let (turns, counter) = (Turns::new(), Queryable::stateless(|x: &i32| Ok(x + 1)));
/// let kept = turns.begin(|| Ok(()), |_| Ok((Handle::new(), counter)))?;
/// let (handle, counter) = kept;
/// let bound = || handle.turns().iter().fold(counter.clone(), |kept, turn| kept.bound_to(turn));
/// let ask = || bound().ask(&1);
/// assert_eq!(ask()?, 2);
/// turns.begin(|| Ok(()), |_| Ok(()))?;
/// assert!(ask().is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Handle(Arc<Mutex<Vec<Turn>>>);

impl Handle {
    /// Make a handle. If a turn now runs on the current thread, the handle gets this turn at the
    /// end of the run.
    #[allow(clippy::new_without_default, reason = "the result depends on the current thread")]
    pub fn new() -> Self {
        let handle = Handle(Arc::default());
        pass_on(vec![handle.clone()]);
        handle
    }
    /// Return the turns of the conversation so far, from the innermost to the outermost.
    pub fn turns(&self) -> Vec<Turn> {
        self.lock().clone()
    }
    fn lock(&self) -> MutexGuard<'_, Vec<Turn>> {
        // No code that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The handles that were made during each run on this thread, from the outermost run to the
    /// innermost run.
    static MADE: Cell<Vec<Vec<Handle>>> = const { Cell::new(Vec::new()) };
}
/// Call `change` with the handles of all runs on this thread. `change` must not make a handle.
fn with_made<R>(change: impl FnOnce(&mut Vec<Vec<Handle>>) -> R) -> R {
    let mut made = MADE.take();
    let result = change(&mut made);
    MADE.set(made);
    result
}
/// Add handles to the innermost run on this thread. Without a run, do nothing.
pub(crate) fn pass_on(handles: Vec<Handle>) {
    with_made(|made| {
        if let Some(innermost) = made.last_mut() {
            innermost.extend(handles);
        }
    });
}

/// A run of a turn or of other work on the current thread. The object is dropped when the run ends.
struct Run<'a>(Option<&'a Turn>);
impl<'a> Run<'a> {
    fn begin(turn: Option<&'a Turn>) -> Self {
        with_made(|made| made.push(Vec::new()));
        Run(turn)
    }
}
impl Drop for Run<'_> {
    fn drop(&mut self) {
        let handles = with_made(Vec::pop).unwrap_or_default();
        if let Some(turn) = self.0 {
            for handle in &handles {
                handle.lock().push(turn.clone());
            }
        }
        pass_on(handles);
    }
}
/// Call `run`, and then add the turn to each handle that was made during the run on this thread.
pub(super) fn within<R>(turn: &Turn, run: impl FnOnce() -> R) -> R {
    let _run = Run::begin(Some(turn));
    run()
}
/// Call `work`, and also return the handles that were made during the call on this thread. If
/// `work` panics, return the panic instead of the result. The caller runs the work for another
/// thread. That thread [passes the handles on](pass_on), and then continues the panic.
pub(crate) fn collected<R>(work: impl FnOnce() -> R) -> (thread::Result<R>, Vec<Handle>) {
    let run = Run::begin(None);
    let result = catch_unwind(AssertUnwindSafe(work));
    let handles = with_made(|made| made.last_mut().map(mem::take)).unwrap_or_default();
    drop(run);
    (result, handles)
}
