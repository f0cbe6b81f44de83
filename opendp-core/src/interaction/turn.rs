//! Turns. A turn permits one of several interactive mechanisms to answer.

use std::fmt;

use super::handle::within;
use super::lock::Lock;
use super::sync::Arc;
use crate::{Error, Result};

/// A sequence of turns. Only the last turn is active.
///
/// Some measures compose interactive mechanisms only one after the other. Under such a measure, a
/// mechanism can start several interactive mechanisms. The mechanism [begins](Turns::begin) one
/// turn for each interactive mechanism that it starts, and binds the release of the started
/// mechanism to this turn. A bound release answers questions only until the next turn begins. All
/// code that runs during a turn holds one lock, so all threads see the same order of turns.
#[derive(Clone)]
pub struct Turns(Arc<Lock<u64>>);

/// The permission of a mechanism to answer. The permission ends when a later turn begins.
#[derive(Clone)]
pub struct Turn {
    turns: Turns,
    number: u64,
}

impl Turns {
    /// Make a sequence in which no turn has begun.
    #[allow(clippy::new_without_default, reason = "each call begins another sequence")]
    pub fn new() -> Self {
        Turns(Arc::new(Lock::new(0)))
    }
    /// If `admit` succeeds, begin the next turn and call `run` with this turn.
    ///
    /// When the next turn begins, all earlier turns end. The earlier turns remain ended even if
    /// `run` fails. If `admit` fails, nothing changes. Each [`Handle`](crate::Handle) that `run`
    /// makes on this thread gets the new turn.
    ///
    /// # Errors
    /// The errors of `admit` and of `run`. `FailedFunction` when this function is called from
    /// inside a turn of the sequence, or after a panic in a turn.
    pub fn begin<R>(
        &self,
        admit: impl FnOnce() -> Result<()>,
        run: impl FnOnce(Turn) -> Result<R>,
    ) -> Result<R> {
        self.0.with(|last| {
            admit()?;
            *last += 1;
            let turn = Turn { turns: self.clone(), number: *last };
            within(&turn, || run(turn.clone()))
        })
    }
}

impl Turn {
    /// Call `run` if the turn is active. The next turn can begin only after `run` returns. Each
    /// [`Handle`](crate::Handle) that `run` makes on this thread gets this turn.
    ///
    /// # Errors
    /// `FailedFunction` when a later turn has begun, and in the cases that [`Turns::begin`] states.
    pub fn run<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        self.turns.0.with(|last| if *last == self.number { within(self, run) } else { Err(over()) })
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
        "a later query has begun, so this conversation is closed: the privacy measure permits \
         only one open conversation at a time"
            .into(),
    )
}

/// The turns to which a release is bound, from the innermost to the outermost. The release answers
/// only if all these turns are active.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Vec<Turn>);

impl Bindings {
    /// Add a turn as the outermost turn. A turn that is already bound is not added again.
    pub(crate) fn bind(&mut self, turn: &Turn) {
        if !self.0.iter().any(|bound| bound.is(turn)) {
            self.0.push(turn.clone());
        }
    }
    /// Return the turns to which the release is bound.
    pub(crate) fn turns(&self) -> &[Turn] {
        &self.0
    }
    /// Call `run` if all turns of the release are active.
    pub(crate) fn run<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        nested(&self.0, run)
    }
}
fn nested<R>(turns: &[Turn], run: impl FnOnce() -> Result<R>) -> Result<R> {
    match turns {
        [] => run(),
        // All threads lock the outermost turn first, and the inner turns later. So there is no
        // deadlock.
        [inner @ .., outermost] => outermost.run(|| nested(inner, run)),
    }
}
