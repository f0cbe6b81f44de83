//! Several questions whose noise is solved for jointly.

mod answers;
mod drafted;
mod endowed;
mod solver;

use std::fmt;
use std::marker::PhantomData;

use opendp_core::arith::Exact;
use opendp_core::{Carrier, Error, Result};
use opendp_measurements::Scale;
use opendp_measurements::accounting::joined_epsilon;

use super::{Accounted, Budget, Context};

pub use answers::Answers;
use answers::another;
use drafted::{Drafted, Ready, Units};
pub use drafted::{Noised, Planned};
use endowed::Best;
pub(crate) use endowed::Endowed;
pub(crate) use solver::Endowment;
use solver::Item;

/// A plan does not try more ways to pay than this.
const MOST_TRIALS: usize = 256;

/// What the answer to a question of a [`Plan`] should reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A weight: the plan minimises the weighted sum of the squares of all errors at
    /// [`Context::ALPHA`]. Four times the weight is about half the error, if few questions have it.
    Weight(f64),
    /// An error that the answer may exceed only with probability [`Context::ALPHA`], in the unit of
    /// the answer; of a quantile, in ranks; of several numbers, for each of them.
    Within(f64),
}

/// Several questions whose noise is solved for jointly.
///
/// The scales of all questions are solved for at once, against the composed loss. So each question
/// gets what its goal needs, and not an even share. A plan spends nothing until
/// [`release`](Solved::release).
///
/// A plan has the share of the budget that its questions have in the [`Split`](super::Split), or
/// what [`spending`](Plan::spending) says, or all that is left if the budget is spent as you go.
///
/// Under an epsilon and a delta it chooses between Laplace and Gaussian noise, and what to pay with
/// what. If nothing was spent before, the scales are within one percent of the best for these
/// choices, and questions that are asked later draw on the same division of the budget. Otherwise
/// the plan uses the filters that are open, which may take more noise.
///
/// ```
/// # use opendp_analysis::{Budget, Context, Goal, PrivacyUnit, Split, Table};
/// # let table = Table::new()
/// #     .with("age", (0..1000).map(|i| f64::from(i % 90)).collect::<Vec<f64>>())?
/// #     .with("city", (0..1000).map(|i| ["Lyon", "Lille"][i % 2].to_owned()).collect())?;
/// # let unit = PrivacyUnit::answers_of_person(1)?;
/// let context = Context::new(table, unit, Budget::epsilon_delta(1.0, 1e-6)?, Split::as_you_go())?;
/// let cities = ["Lyon", "Lille"].map(str::to_owned).to_vec();
/// let ages = || context.query().column("age").impute(40.0).clamp(0.0, 120.0);
///
/// let mut plan = context.plan();
/// let by_city = plan.ask(context.query().column("city").histogram(cities), Goal::Within(50.0))?;
/// let mean = plan.ask(ages().mean(), Goal::Within(1.0))?;
/// // What budget would reach this? To know costs nothing.
/// let (epsilon, delta) = plan.needs()?;
/// assert!(epsilon < 1.0 && delta == 1e-6);
///
/// let solved = plan.solve()?;
/// assert!(solved.accuracy(mean)? <= 1.0 && solved.accuracy(by_city)? <= 50.0);
/// let mut answers = solved.release()?; // this spends
/// println!("{:?}, {}", answers.take(by_city)?.value, answers.take(mean)?.value);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Plan<'c, MO: Accounted> {
    context: &'c Context<MO>,
    wanted: Option<Vec<Exact>>,
    /// Whether to leave the division of the budget to other questions, if there may be any.
    shares: bool,
    units: Option<Units>,
    drafts: Vec<Box<dyn Drafted<MO> + 'c>>,
    goals: Vec<Goal>,
    items: Vec<Item>,
}
/// A question of a [`Plan`], by which its answer is found.
pub struct Asked<TO>(usize, PhantomData<fn() -> TO>);
impl<TO> Clone for Asked<TO> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<TO> Copy for Asked<TO> {}
impl<TO> Asked<TO> {
    /// Return its place in the plan.
    pub(super) fn place(&self) -> usize {
        self.0
    }
}
impl<TO> fmt::Debug for Asked<TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Asked").field(&self.0).finish()
    }
}

impl<'c, MO: Accounted> Plan<'c, MO> {
    pub(super) fn new(context: &'c Context<MO>) -> Self {
        let (drafts, goals, items) = (Vec::new(), Vec::new(), Vec::new());
        Plan { context, wanted: None, shares: false, units: None, drafts, goals, items }
    }
    /// Begin a plan of the releases of one question, among others.
    pub(super) fn of_one_question(context: &'c Context<MO>, wanted: Option<Vec<Exact>>) -> Self {
        Plan { wanted, shares: true, ..Plan::new(context) }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }
    /// Set what all questions together may cost, if the budget is spent as you go.
    #[must_use]
    pub fn spending(mut self, share: Budget<MO>) -> Self {
        self.wanted = Some(share.parts);
        self
    }
    /// Add a question: a statistic or a choice, before its noise is solved for.
    ///
    /// # Errors
    /// The errors of the steps of the query; `Argument` when the goal is not a positive number, or
    /// is finer than what rounding to integers allows.
    pub fn ask<TO: Carrier>(
        &mut self,
        question: impl Planned<'c, MO, TO>,
        goal: Goal,
    ) -> Result<Asked<TO>> {
        let (Goal::Weight(amount) | Goal::Within(amount)) = goal;
        if !(0.0 < amount && amount.is_finite()) {
            let reason = format!("expected a positive number, found {amount}");
            return Err(Error::argument("goal", reason));
        }
        let units = match &self.units {
            Some(units) => *units,
            None => *self.units.insert(Units::new(Context::<MO>::ALPHA)?),
        };
        let draft = question.draft();
        self.items.push(draft.item(goal, &units)?);
        self.goals.push(goal);
        self.drafts.push(Box::new(draft));
        Ok(Asked(self.drafts.len() - 1, PhantomData))
    }
    /// Return the budget that reaches all wanted accuracies: of an epsilon and a delta, the epsilon
    /// at the delta of the context's budget.
    ///
    /// # Errors
    /// `Argument` when a question has a weight, which is not an accuracy to reach.
    pub fn needs(&self) -> Result<MO::Distance> {
        if self.items.iter().any(|item| item.weight != 0.0) {
            let reason = "a question has a weight, and reaches more with any larger budget; give it \
                          an accuracy, or call `.solve()` and ask for its accuracy";
            return Err(Error::argument("goal", reason));
        }
        let endowed = self.endowed()?;
        let mut least = f64::INFINITY;
        for mode in endowed.modes() {
            if let Some(all) = mode.demand(&self.items) {
                least = least.min(match endowed.delta {
                    Some(delta) => joined_epsilon(all.pure, all.square.sqrt(), delta)?,
                    None if MO::SQUARES => all.square / 2.0,
                    None => all.pure,
                });
            }
        }
        let mut parts = vec![least];
        parts.extend(endowed.full_delta);
        MO::default().join(&parts)
    }
    /// Find the scales of all questions. Wanted accuracies are reached exactly, and the questions
    /// with weights get the rest. If there are none, the rest stays in the budget.
    ///
    /// # Errors
    /// `BudgetExceeded` when the wanted accuracies do not fit.
    pub fn solve(self) -> Result<Solved<'c, MO>> {
        self.solved(1.0)
    }
    /// Find the scales of all questions, as [`solve`](Plan::solve) does, but widen all wanted
    /// accuracies by the least factor with which they fit. Next to questions with weights they take
    /// nine tenths of the room.
    ///
    /// # Errors
    /// The errors of the account.
    pub fn stretch(mut self) -> Result<Solved<'c, MO>> {
        let weighted = self.items.iter().any(|item| item.weight != 0.0);
        let room = if weighted { 0.9 } else { 1.0 };
        let endowed = self.endowed()?;
        let taken = |factor: f64| endowed.stretch(&self.widened(factor)?);
        let (mut low, mut high) = (1.0, 1.0);
        while !(taken(high)? <= room) {
            (low, high) = (high, high * 2.0);
            if !(high < 1e100) {
                return Err(Error::BudgetExceeded("nothing is left; nothing was run".into()));
            }
        }
        while low * 1.000_1 < high {
            let middle = low + (high - low) / 2.0;
            if taken(middle)? <= room { high = middle } else { low = middle }
        }
        // What the account admits may be a little less than what it has room for.
        self.items = self.widened(high)?;
        while self.chosen()?.is_none() && high < 1e100 {
            high *= 1.02;
            self.items = self.widened(high)?;
        }
        self.solved(high)
    }
    /// Describe the questions with wider goals.
    fn widened(&self, factor: f64) -> Result<Vec<Item>> {
        let Some(units) = &self.units else { return Ok(Vec::new()) };
        let wider = |goal: &Goal| match goal {
            Goal::Within(error) => Goal::Within(error * factor),
            weight => *weight,
        };
        let drafts = self.drafts.iter().zip(&self.goals);
        drafts.map(|(draft, goal)| draft.item(wider(goal), units)).collect()
    }
    fn endowed(&self) -> Result<Endowed> {
        if self.items.is_empty() {
            return Err(Error::argument("plan", "expected at least one question, found none"));
        }
        let count = self.items.len();
        let deltas = self.drafts.iter().filter(|draft| draft.takes_delta()).count();
        let mut endowed = self.context.endowed(count, self.wanted.as_deref())?;
        if self.shares {
            endowed.leave_open()?;
        }
        Ok(endowed.with_thresholds(deltas))
    }
    /// Find the best way to pay that the account admits.
    fn chosen(&self) -> Result<Option<(Best, Vec<Setting>)>> {
        for best in self.endowed()?.ways(&self.items)?.into_iter().take(MOST_TRIALS) {
            let demand = best.mode.demand(&self.items).unwrap_or_default();
            let scales = best.mode.scales(&self.items, &demand, best.room);
            let settings = self.items.iter().zip(scales).map(|(item, scale)| {
                let gaussian = best.mode.gaussian && item.gaussian.is_some() || item.pure.is_none();
                Ok(Setting { scale: Scale::new(scale)?, gaussian: gaussian && MO::TIGHT })
            });
            let settings = settings.collect::<Result<Vec<_>>>()?;
            if best.reserved.is_some() || self.admits(&best, &settings)? {
                return Ok(Some((best, settings)));
            }
        }
        Ok(None)
    }
    /// Whether the account admits all releases, in their order.
    fn admits(&self, best: &Best, settings: &[Setting]) -> Result<bool> {
        let mut account = self.context.account()?;
        for (draft, setting) in self.drafts.iter().zip(settings) {
            let ready = match draft.ready(*setting, &best.delta_of_each, best.stated) {
                // There is too little delta for a threshold.
                Err(Error::BudgetExceeded(_)) => return Ok(false),
                ready => ready?,
            };
            if account.charge(ready.cost()).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
    fn solved(self, stretched: f64) -> Result<Solved<'c, MO>> {
        let Some((best, settings)) = self.chosen()? else {
            let words = match self.needs() {
                Ok(needs) => format!("together they take {}", opendp_core::Distance::show(&needs)),
                Err(_) => "together they take more".to_owned(),
            };
            return Err(Error::BudgetExceeded(format!(
                "the wanted accuracies do not fit what this plan may spend: {words}; nothing was \
                 run. To widen all of them until they fit, write `.stretch()`"
            )));
        };
        Ok(Solved {
            context: self.context,
            settings,
            drafts: self.drafts,
            delta: best.delta_of_each,
            stated: best.stated,
            reserved: best.reserved,
            spares: self.items.iter().all(|item| item.weight == 0.0),
            stretched,
        })
    }
}
/// The noise of one question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    scale: Scale,
    gaussian: bool,
}

/// A plan whose noise is known. Nothing has been spent.
pub struct Solved<'c, MO: Accounted> {
    context: &'c Context<MO>,
    drafts: Vec<Box<dyn Drafted<MO> + 'c>>,
    settings: Vec<Setting>,
    /// The delta of each threshold.
    delta: Exact,
    /// The delta at which Gaussian noise states its epsilon.
    stated: f64,
    reserved: Option<[Exact; 2]>,
    /// Whether some of the budget may be left.
    spares: bool,
    stretched: f64,
}
impl<'c, MO: Accounted> Solved<'c, MO> {
    /// Return the scale of the noise of a question.
    ///
    /// # Errors
    /// `Argument` when it is a question of another plan.
    pub fn scale<TO>(&self, asked: Asked<TO>) -> Result<f64> {
        Ok(self.at(asked.0)?.1.scale.value())
    }
    /// Bound the distance of an answer from the truth, except with probability [`Context::ALPHA`].
    ///
    /// # Errors
    /// The errors of [`Question::accuracy`](super::Question::accuracy).
    pub fn accuracy<TO>(&self, asked: Asked<TO>) -> Result<f64> {
        let (draft, setting) = self.at(asked.0)?;
        draft.ready(*setting, &self.delta, self.stated)?.accuracy()
    }
    /// Return by how much wanted accuracies were widened: 1 if not at all.
    pub fn stretched(&self) -> f64 {
        self.stretched
    }
    /// Spend what all answers cost, then answer. All or none of them are paid for.
    ///
    /// # Errors
    /// As for [`Question::release`](super::Question::release). `BudgetExceeded` also when something
    /// was spent since the plan was solved.
    pub fn release(self) -> Result<Answers<MO>> {
        let answers = self.pay()?.into_iter().map(|question| question.run().map(Some));
        Ok(Answers::new(answers.collect::<Result<_>>()?))
    }
    /// Spend what all answers cost, and do without them. In a context of its own this tells what
    /// the next questions would get.
    ///
    /// # Errors
    /// The errors of [`release`](Solved::release).
    pub fn forgo(self) -> Result<()> {
        self.pay().map(drop)
    }
    /// Say of each question what it is of, and tell its mechanism, its scale and its error.
    pub(super) fn noises(&self, alpha: f64) -> Result<Vec<Noised>> {
        let mut all = Vec::with_capacity(self.drafts.len());
        for (draft, setting) in self.drafts.iter().zip(&self.settings) {
            all.push(draft.ready(*setting, &self.delta, self.stated)?.noised(alpha)?);
        }
        Ok(all)
    }
    fn pay(&self) -> Result<Vec<Box<dyn Ready + '_>>> {
        let ready = self.drafts.iter().zip(&self.settings);
        let ready = ready.map(|(draft, setting)| draft.ready(*setting, &self.delta, self.stated));
        let ready = ready.collect::<Result<Vec<_>>>()?;
        let costs: Vec<_> = ready.iter().map(|question| question.cost()).collect();
        // The rest of the budget is more useful in filters for all kinds of questions.
        let reserved = self.reserved.as_ref();
        let ways: &[_] = match reserved {
            Some(_) if !self.spares => &[reserved],
            _ => &[None, reserved],
        };
        self.context.charge(&costs, ways, &|left, reserved| {
            let mut entries: Vec<_> = ready.iter().map(|ready| ready.entry(left.clone())).collect();
            if let Some(first) = entries.first_mut() {
                first.reserved = reserved.cloned();
            }
            entries
        })?;
        Ok(ready)
    }
    fn at(&self, place: usize) -> Result<(&dyn Drafted<MO>, &Setting)> {
        match (self.drafts.get(place), self.settings.get(place)) {
            (Some(draft), Some(setting)) => Ok((draft.as_ref(), setting)),
            _ => Err(another()),
        }
    }
}
impl<MO: Accounted> fmt::Debug for Plan<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("questions", &self.drafts.len()).finish_non_exhaustive()
    }
}
impl<MO: Accounted> fmt::Debug for Solved<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solved").field("settings", &self.settings).finish_non_exhaustive()
    }
}
#[cfg(test)]
mod tests;
