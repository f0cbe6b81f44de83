//! Plans whose noise is known.

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_measurements::Collected;

use super::super::account::{Cost, Reserve};
use super::super::report::Entry;
use super::super::{BudgetMeasure, Context};
use super::answers::{Answers, AnyAnswer, another};
use super::drafted::{Drafted, Noised, Ready};
use super::{Asked, PlanNumber, Setting};

/// A plan whose noise is known. Nothing has been spent.
pub struct Solved<'c, MO: BudgetMeasure> {
    pub(super) context: &'c Context<MO>,
    pub(super) number: PlanNumber,
    pub(super) id: Option<String>,
    pub(super) drafts: Vec<Box<dyn Drafted<MO> + 'c>>,
    pub(super) settings: Vec<Setting>,
    /// The delta of each threshold.
    pub(super) delta: Exact,
    /// The delta at which the epsilon of Gaussian or Gumbel noise is stated.
    pub(super) stated: f64,
    pub(super) reserved: Option<Reserve>,
    /// If `true`, all questions have wanted accuracies, so some of the budget can be left after the
    /// plan.
    pub(super) spares: bool,
    pub(super) stretched: f64,
}
impl<'c, MO: BudgetMeasure> Solved<'c, MO> {
    /// Return the scale of the noise of a question.
    ///
    /// # Errors
    /// `Argument` when the question is of another plan.
    pub fn scale<TO>(&self, asked: Asked<TO>) -> Result<f64> {
        Ok(self.at(asked.place_in(self.number)?)?.1.scale.value())
    }
    /// Return a bound on the distance between the answer to a question and the true answer. The
    /// bound holds except with probability [`Context::ALPHA`].
    ///
    /// # Errors
    /// `Argument` when the question is of another plan; the errors of
    /// [`Question::accuracy`](super::super::Question::accuracy) and of [`noises`](Solved::noises).
    pub fn accuracy<TO>(&self, asked: Asked<TO>) -> Result<f64> {
        let (draft, setting) = self.at(asked.place_in(self.number)?)?;
        draft.ready(*setting, &self.delta, self.stated)?.accuracy()
    }
    /// Return the threshold that the noisy count of a key must reach, if the question finds keys.
    ///
    /// # Errors
    /// `Argument` when the question is of another plan; the errors of [`noises`](Solved::noises).
    pub fn threshold<TO>(&self, asked: Asked<TO>) -> Result<Option<f64>> {
        let (draft, setting) = self.at(asked.place_in(self.number)?)?;
        Ok(draft.ready(*setting, &self.delta, self.stated)?.threshold())
    }
    /// Return the factor by which [`stretch`](super::Plan::stretch) multiplied the wanted
    /// accuracies. The factor is 1 if no wanted accuracy had to be changed.
    pub fn stretched(&self) -> f64 {
        self.stretched
    }
    /// Spend the cost of all answers, then answer. Charge for all answers or for none. If a
    /// question fails after the charge, [`take`](Answers::take) returns the error of this question,
    /// and the other questions have their answers.
    ///
    /// # Errors
    /// `BudgetExceeded` when the plan no longer fits the budget, because something was spent after
    /// the plan was solved. `Argument` when a plan with this id was charged before.
    /// `FailedFunction` when a journal panicked. The errors of the
    /// [`Journal`](super::super::Journal): nothing is released, but the charge stays. Also the
    /// errors of [`noises`](Solved::noises).
    pub fn release(self) -> Result<Answers<MO>> {
        let mut answers: Vec<Option<AnyAnswer>> = Vec::new();
        for (place, question) in self.pay()?.into_iter().enumerate() {
            let answer = self.answer(place, question, &answers);
            answers.push(Some(answer));
        }
        Ok(Answers::new(self.number, answers))
    }
    /// Answer a question that was charged. `earlier` contains the answers to all earlier questions
    /// of the plan.
    fn answer(
        &self,
        place: usize,
        question: Box<dyn Ready + '_>,
        earlier: &[Option<AnyAnswer>],
    ) -> AnyAnswer {
        let (draft, setting) = self.at(place)?;
        let Some(keys) = draft.finds() else { return question.run() };
        let found = earlier.get(keys).and_then(Option::as_ref).ok_or_else(another)?;
        let found = found.as_ref().map_err(Error::clone)?;
        let noise = (*setting, &self.delta, self.stated);
        draft.answer(noise, &**found, question.cost())
    }
    /// Spend the cost of all answers, but release nothing. This function is for rehearsals: ask all
    /// questions in a separate context, and call this function instead of `release`. You then know
    /// the noise of all questions before you release an answer.
    ///
    /// # Errors
    /// The errors of [`release`](Solved::release).
    pub fn forgo(self) -> Result<()> {
        self.pay().map(drop)
    }
    /// Describe the noise of each question. Bounds on errors hold except with probability `alpha`.
    ///
    /// # Errors
    /// The errors of the search for thresholds: `BudgetExceeded` when no threshold fits the part of
    /// the delta for the keys of a question. A wrong `alpha` is not an error: no bound is stated.
    pub fn noises(&self, alpha: f64) -> Result<Vec<Noised>> {
        let mut all = Vec::with_capacity(self.drafts.len());
        for (draft, setting) in self.drafts.iter().zip(&self.settings) {
            all.push(draft.ready(*setting, &self.delta, self.stated)?.noised(alpha));
        }
        Ok(all)
    }
    fn pay(&self) -> Result<Vec<Box<dyn Ready + '_>>> {
        let mut ready = Vec::with_capacity(self.drafts.len());
        for (draft, setting) in self.drafts.iter().zip(&self.settings) {
            ready.push(draft.ready(*setting, &self.delta, self.stated)?);
        }
        let costs = costs_of(&ready);
        // If some budget can be left after the plan, first try to charge without a reserve. A
        // reserve replaces the filters of the account by one filter or by shares. Without a
        // reserve, the account keeps all its filters, so it can admit all kinds of later questions.
        let reserved = self.reserved.as_ref();
        let ways: &[_] = match reserved {
            Some(_) if !self.spares => &[reserved],
            _ => &[None, reserved],
        };
        let id = self.id.as_deref();
        self.context
            .charge(id, &costs, ways, &|left, reserved| entries_of(&ready, id, &left, reserved))?;
        Ok(ready)
    }
    fn at(&self, place: usize) -> Result<(&dyn Drafted<MO>, &Setting)> {
        match (self.drafts.get(place), self.settings.get(place)) {
            (Some(draft), Some(setting)) => Ok((draft.as_ref(), setting)),
            _ => Err(another()),
        }
    }
}
/// Return the costs of all questions.
fn costs_of<'a>(ready: &'a [Box<dyn Ready + '_>]) -> Vec<&'a Cost> {
    ready.iter().map(|question| question.cost()).collected()
}
/// Return the entries of the report for the questions of a plan.
fn entries_of(
    ready: &[Box<dyn Ready + '_>],
    id: Option<&str>,
    left: &[Exact],
    reserved: Option<&Reserve>,
) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(ready.len());
    for question in ready {
        let mut entry = question.entry(left.to_vec());
        entry.plan = id.map(str::to_owned);
        if matches!(reserved, Some(Reserve::Shares(_))) {
            entry.share = Some(question.cost().pair());
        }
        entries.push(entry);
    }
    if let Some(first) = entries.first_mut() {
        match reserved.cloned() {
            Some(Reserve::Filter(parts)) => first.reserved = Some(parts),
            Some(Reserve::Shares(pairs)) => first.shares = Some(pairs),
            None => {}
        }
    }
    entries
}
impl<MO: BudgetMeasure> fmt::Debug for Solved<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solved").field("settings", &self.settings).finish_non_exhaustive()
    }
}
