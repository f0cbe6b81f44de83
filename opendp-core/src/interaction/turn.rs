//! Turns: which of several interactive mechanisms may answer.

use std::fmt;

use super::lock::Lock;
use super::sync::Arc;
use crate::{Error, Result};

/// A sequence of turns, of which the last one is on.
///
/// Where a measure composes interactive mechanisms only one after the other, the mechanism that
/// starts them [begins](Turns::begin) a turn for each, and binds what the mechanism released to its
/// turn. Questions to it are then answered only until the next turn begins. All that happens in
/// turns happens under one lock, so that the order is the same for everybody.
#[derive(Clone)]
pub struct Turns(Arc<Lock<u64>>);

/// Permission to answer, as long as no later turn has begun.
#[derive(Clone)]
pub struct Turn {
    turns: Turns,
    number: u64,
}

impl Turns {
    /// Make a sequence that has not begun.
    #[allow(clippy::new_without_default, reason = "a new sequence is an act, and not a value")]
    pub fn new() -> Self {
        Turns(Arc::new(Lock::new(0)))
    }
    /// If `admit` succeeds, begin the next turn, and run with it.
    ///
    /// Earlier turns are over, whether `run` succeeds or not. When `admit` fails nothing changes.
    ///
    /// # Errors
    /// Those of `admit` and of `run`; `FailedFunction` when called from inside of a turn of the
    /// sequence, or after something in one panicked.
    pub fn begin<R>(
        &self,
        admit: impl FnOnce() -> Result<()>,
        run: impl FnOnce(Turn) -> Result<R>,
    ) -> Result<R> {
        self.0.with(|last| {
            admit()?;
            *last += 1;
            run(Turn { turns: self.clone(), number: *last })
        })
    }
}

impl Turn {
    /// Run, if the turn is on; no other begins before this is done.
    ///
    /// # Errors
    /// `FailedFunction` when a later turn has begun, and as for [`Turns::begin`].
    pub fn run<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        self.turns.0.with(|last| if *last == self.number { run() } else { Err(over()) })
    }
    fn is(&self, other: &Turn) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.turns.0, &other.turns.0)
    }
}
impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}
impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Turn({})", self.number)
    }
}
#[cold]
fn over() -> Error {
    Error::FailedFunction(
        "a later query has begun; under this privacy measure, its earlier siblings answer no more"
            .into(),
    )
}

/// The turns that a release is bound to, from the innermost to the outermost.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Vec<Turn>);

impl Bindings {
    /// Add a turn outside of all others. Adding one twice is adding it once.
    pub(crate) fn bind(&mut self, turn: &Turn) {
        if !self.0.iter().any(|bound| bound.is(turn)) {
            self.0.push(turn.clone());
        }
    }
    /// All turns.
    pub(crate) fn turns(&self) -> &[Turn] {
        &self.0
    }
    /// Run, if all turns are on.
    pub(crate) fn run<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        nested(&self.0, run)
    }
}
fn nested<R>(turns: &[Turn], run: impl FnOnce() -> Result<R>) -> Result<R> {
    match turns {
        [] => run(),
        // All threads take these locks from the outermost inward, so that none waits in a circle.
        [inner @ .., outermost] => outermost.run(|| nested(inner, run)),
    }
}
