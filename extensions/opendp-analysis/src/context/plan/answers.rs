//! The answers of a plan.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use opendp_core::{Carrier, Error, Result};

use super::super::BudgetMeasure;
use super::super::question::Answer;
use super::{Asked, PlanNumber};

#[cold]
pub(super) fn another() -> Error {
    Error::argument("asked", "the question belongs to another plan, or its answer was taken before")
}

/// The answer to a question, stored without its type, or the error of the question.
pub(super) type AnyAnswer = Result<Box<dyn Any + Send>>;

impl<MO: BudgetMeasure> Default for Answers<MO> {
    fn default() -> Self {
        Answers::new(PlanNumber::next(), Vec::new())
    }
}
/// The answers of a [`Plan`](super::Plan).
pub struct Answers<MO> {
    plan: PlanNumber,
    answers: Vec<Option<AnyAnswer>>,
    measure: PhantomData<fn() -> MO>,
}
impl<MO: BudgetMeasure> Answers<MO> {
    pub(super) fn new(plan: PlanNumber, answers: Vec<Option<AnyAnswer>>) -> Self {
        Answers { plan, answers, measure: PhantomData }
    }
    /// Take the answer to a question.
    ///
    /// # Errors
    /// `Argument` when the answer was taken before, or when the question belongs to another plan;
    /// the error of the question when the question failed after the plan was charged.
    pub fn take<TO: Carrier>(&mut self, asked: Asked<TO>) -> Result<Answer<MO, TO>> {
        let place = asked.place_in(self.plan)?;
        let answer = self.answers.get_mut(place).and_then(Option::take).ok_or_else(another)??;
        answer.downcast().map(|answer| *answer).map_err(|_| another())
    }
}
impl<MO> fmt::Debug for Answers<MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("answers", &self.answers.len()).finish_non_exhaustive()
    }
}
