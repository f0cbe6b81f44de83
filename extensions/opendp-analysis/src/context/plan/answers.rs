//! The answers of a plan.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use opendp_core::{Carrier, Error, Result};

use super::super::Accounted;
use super::super::question::Answer;
use super::Asked;

#[cold]
pub(super) fn another() -> Error {
    Error::argument("asked", "the question is of another plan, or its answer was already taken")
}

impl<MO> Default for Answers<MO> {
    fn default() -> Self {
        Answers(Vec::new(), PhantomData)
    }
}
/// The answers of a [`Plan`](super::Plan).
pub struct Answers<MO>(Vec<Option<Box<dyn Any + Send>>>, PhantomData<fn() -> MO>);
impl<MO: Accounted> Answers<MO> {
    pub(super) fn new(answers: Vec<Option<Box<dyn Any + Send>>>) -> Self {
        Answers(answers, PhantomData)
    }
    /// Take the answer to a question.
    ///
    /// # Errors
    /// `Argument` when the answer was taken before, or when the question belongs to another plan.
    pub fn take<TO: Carrier>(&mut self, asked: Asked<TO>) -> Result<Answer<MO, TO>> {
        let answer = self.0.get_mut(asked.place()).and_then(Option::take).ok_or_else(another)?;
        answer.downcast().map(|answer| *answer).map_err(|_| another())
    }
}
impl<MO> fmt::Debug for Answers<MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("answers", &self.0.len()).finish_non_exhaustive()
    }
}
