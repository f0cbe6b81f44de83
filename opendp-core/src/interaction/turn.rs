//! Turns: they decide which of several interactive mechanisms may answer.

use std::fmt;

use super::lock::Lock;
use super::sync::Arc;
use crate::{Error, Result};

/// A sequence of turns. Only the last one is active.
///
/// Some measures compose interactive mechanisms only one after the other. A mechanism that starts
/// several of them [begins](Turns::begin) a turn for each, and binds its release to that turn. The
/// release then answers questions only until the next turn begins. Everything in turns happens
/// under one lock, so all threads see the same order.
#[derive(Clone)]
pub struct Turns(Arc<Lock<u64>>);

/// Permission to answer until a later turn begins.
#[derive(Clone)]
pub struct Turn {
    turns: Turns,
    number: u64,
}

impl Turns {
    /// Make a sequence in which no turn has begun.
    #[allow(clippy::new_without_default, reason = "a new sequence is an act, and not a value")]
    pub fn new() -> Self {
        Turns(Arc::new(Lock::new(0)))
    }
    /// If `admit` succeeds, begin the next turn and call `run` with it.
    ///
    /// Earlier turns then end, even if `run` fails. If `admit` fails, nothing changes.
    ///
    /// # Errors
    /// The errors of `admit` and of `run`; `FailedFunction` when called from inside a turn of the
    /// sequence, or after a panic in a turn.
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
    /// Call `run` if the turn is active. No other turn begins before it returns.
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
        "a later query has begun, so this conversation is closed: the privacy measure permits one \
         at a time"
            .into(),
    )
}

/// The turns that a release is bound to, from the innermost to the outermost.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Vec<Turn>);

impl Bindings {
    /// Add a turn outside of all others. Adding it again has no effect.
    pub(crate) fn bind(&mut self, turn: &Turn) {
        if !self.0.iter().any(|bound| bound.is(turn)) {
            self.0.push(turn.clone());
        }
    }
    /// All turns.
    pub(crate) fn turns(&self) -> &[Turn] {
        &self.0
    }
    /// Call `run` if all turns are active.
    pub(crate) fn run<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        nested(&self.0, run)
    }
}
fn nested<R>(turns: &[Turn], run: impl FnOnce() -> Result<R>) -> Result<R> {
    match turns {
        [] => run(),
        // All threads take these locks from the outermost inward, so they cannot deadlock.
        [inner @ .., outermost] => outermost.run(|| nested(inner, run)),
    }
}
