//! How questions are added to a plan.

use std::marker::PhantomData;

use opendp_core::arith::shown;
use opendp_core::{Carrier, Error, Result};

use super::super::{BudgetMeasure, Context};
use super::drafted::{Drafted, Planned, Units};
use super::{Asked, Goal, Late, Plan};

impl<'c, MO: BudgetMeasure> Plan<'c, MO> {
    /// Add a question: a statistic or a choice. Its noise is not known yet.
    ///
    /// # Errors
    /// The errors of the steps of the query. `Argument` when the goal is not a finite number above
    /// 0, when the budget is a rho and the wanted error of integers is below 1, when the question
    /// is of another context, or when its query states an amount by
    /// [`spending`](super::super::Query::spending).
    pub fn ask<TO: Carrier>(
        &mut self,
        question: impl Planned<'c, MO, TO>,
        goal: Goal,
    ) -> Result<Asked<TO>> {
        self.add(Box::new(question.draft()), goal)
    }
    /// Add a question about groups whose keys an earlier question of the plan finds.
    pub(in super::super) fn ask_later<TO: Carrier>(
        &mut self,
        question: Late<'c, MO, TO>,
        goal: Goal,
    ) -> Result<Asked<TO>> {
        self.add(Box::new(question), goal)
    }
    /// Run `ask`, which adds several questions. If `ask` fails, remove the questions that it added.
    pub(in super::super) fn ask_all_or_none<T>(
        &mut self,
        ask: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.drafts.len();
        let asked = ask(self);
        if asked.is_err() {
            self.drafts.truncate(before);
            self.goals.truncate(before);
            self.items.truncate(before);
        }
        asked
    }
    fn add<TO>(&mut self, draft: Box<dyn Drafted<MO> + 'c>, goal: Goal) -> Result<Asked<TO>> {
        let (plan, place) = (self.number, self.push(draft, goal)?);
        Ok(Asked { plan, place, types: PhantomData })
    }
    /// Add a draft, and return its place.
    fn push(&mut self, draft: Box<dyn Drafted<MO> + 'c>, goal: Goal) -> Result<usize> {
        let (Goal::Weight(amount) | Goal::Within(amount)) = goal;
        if !(0.0 < amount && amount.is_finite()) {
            let reason = format!("expected a finite number above 0, found {}", shown(amount));
            return Err(Error::argument("goal", reason));
        }
        self.check(draft.as_ref())?;
        let units = match &self.units {
            Some(units) => *units,
            None => *self.units.insert(Units::new(Context::<MO>::ALPHA)?),
        };
        self.items.push(draft.item(goal, &units)?);
        self.goals.push(goal);
        self.drafts.push(draft);
        Ok(self.drafts.len() - 1)
    }
    /// Check that the question is about the table of this plan's context, and that the query states
    /// no amount of its own. In a plan that [`of_one_question`](Plan::of_one_question) began, the
    /// query may state an amount, because the plan already uses this amount.
    fn check(&self, draft: &dyn Drafted<MO>) -> Result<()> {
        if !std::ptr::eq(draft.context(), self.context) {
            let reason = "the question is about the table of another context, and only the budget \
                          of that context pays for it: ask it in a plan of that context";
            return Err(Error::argument("question", reason));
        }
        if draft.states_amount() && !self.shares {
            let reason = "a plan divides one amount among its questions: leave `.spending(..)` out \
                          of the query. State the amount of all questions by `.spending(..)` of \
                          the plan, and the part of this question by its weight";
            return Err(Error::argument("spending", reason));
        }
        Ok(())
    }
}
