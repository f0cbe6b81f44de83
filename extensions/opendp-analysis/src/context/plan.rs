//! Plans. A plan asks several questions, and one search finds their noise.

mod answers;
mod asking;
mod choosing;
mod drafted;
mod endowed;
mod late;
mod solved;
mod solver;
mod tightened;

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_measurements::Collected;
use opendp_measurements::Scale;
use opendp_measurements::accounting::joined_epsilon;

use super::account::Reserve;
use super::{Budget, BudgetMeasure, Context};
pub use answers::Answers;
use answers::another;
use drafted::{Drafted, Units};
pub use drafted::{Noised, Planned};
pub(crate) use endowed::Endowed;
pub(crate) use late::{Late, OfKeys};
pub use solved::Solved;
pub(crate) use solver::Endowment;
use solver::Item;

/// The goal for the answer to a question of a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A weight. For each answer, consider the bound on its error that holds except with
    /// probability [`Context::ALPHA`]. The plan minimises the weighted sum of the squares of these
    /// bounds. Suppose that the weights of only a few questions are multiplied by 16. Then the
    /// errors of these questions become about half as large, or smaller. Under a budget of an
    /// epsilon, a factor of 8 instead of 16 is enough.
    Weight(f64),
    /// The largest allowed error. The error exceeds this number with probability at most
    /// [`Context::ALPHA`]. The error is in the unit of the answer. For a quantile, the error is in
    /// ranks: see [`ErrorIn::Ranks`](super::ErrorIn::Ranks). For several numbers, the goal applies
    /// to each number.
    Within(f64),
}

/// A list of questions. A plan finds the noise for all of them together.
///
/// The plan finds scales for which the composed loss fits the budget. The plan divides the budget
/// according to the goals of the questions, instead of evenly. A plan spends nothing until
/// [`release`](Solved::release).
///
/// If the [`Split`](super::Split) is even or by weights, a plan gets the shares of its questions.
/// If the budget is spent as you go, a plan gets the amount of [`spending`](Plan::spending), or the
/// whole remaining budget.
///
/// Under an epsilon and a delta, a plan also chooses the kind of noise. Numbers get Laplace or
/// Gaussian noise. Choices among candidates get exponential or Gumbel noise. The plan divides the
/// budget between pure losses, Gaussian noise and deltas. If nothing was spent before, the scales
/// are within one percent of the best scales for these kinds of noise. Questions after the plan
/// then use the division of the budget that the plan chose. If something was spent before, the
/// earlier releases have already limited the possible divisions of the budget. The scales of the
/// plan can then be larger than the best scales.
///
/// A question that finds keys has a threshold, and hides keys whose noisy counts are below this
/// threshold. If this question has a weight, its threshold counts as an error, in addition to the
/// error of the noise. In this case, the plan finds the scale, the threshold and the part of delta
/// for thresholds together.
///
/// The noise is reduced further under four conditions: the plan takes the whole budget, all its
/// goals are weights, no question has a threshold, and the releases have at most 16 different
/// losses. Then each release gets a share of the budget. The share is a pair of distributions
/// ([`SharedAccount`](opendp_measurements::accounting::SharedAccount)). The account composes these
/// distributions. For plans with choices, this composition is tighter than the bounds of an
/// [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount), so these plans need less
/// noise. Under these four conditions, Gaussian noise on integers is discrete if discrete noise has
/// smaller errors than continuous noise. Continuous noise is rounded, which adds 1/12 to the mean
/// square error of each number.
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
/// // Which budget would reach these accuracies? This is free.
/// let (epsilon, delta) = plan.needs()?;
/// assert!(epsilon < 1.0 && delta == 1e-6);
///
/// let solved = plan.solve()?;
/// assert!(solved.accuracy(mean)? <= 1.0 && solved.accuracy(by_city)? <= 50.0);
/// let mut answers = solved.release()?; // this spends
/// println!("{:?}, {}", answers.take(by_city)?.value, answers.take(mean)?.value);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Plan<'c, MO: BudgetMeasure> {
    context: &'c Context<MO>,
    number: PlanNumber,
    id: Option<String>,
    wanted: Option<Vec<Exact>>,
    /// The error of the amount in `wanted`.
    wrong: Option<Error>,
    /// Whether questions after the plan may use another division of the budget, as after a plan of
    /// [`Plan::of_one_question`].
    shares: bool,
    units: Option<Units>,
    drafts: Vec<Box<dyn Drafted<MO> + 'c>>,
    goals: Vec<Goal>,
    items: Vec<Item>,
}
/// The number of a plan. No other plan of this process has the same number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PlanNumber(u64);
impl PlanNumber {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        PlanNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
/// The handle of a question of a [`Plan`]. [`take`](Answers::take) returns the answer to the
/// question.
pub struct Asked<TO> {
    plan: PlanNumber,
    place: usize,
    types: PhantomData<fn() -> TO>,
}
impl<TO> Clone for Asked<TO> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<TO> Copy for Asked<TO> {}
impl<TO> Asked<TO> {
    /// Return the place of the question in the plan.
    pub(super) fn place(&self) -> usize {
        self.place
    }
    /// Return the place of the question in the plan with the given number.
    ///
    /// # Errors
    /// `Argument` when the question is of another plan.
    fn place_in(&self, plan: PlanNumber) -> Result<usize> {
        if self.plan == plan { Ok(self.place) } else { Err(another()) }
    }
}
impl<TO> fmt::Debug for Asked<TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Asked").field(&self.place).finish()
    }
}

impl<'c, MO: BudgetMeasure> Plan<'c, MO> {
    pub(super) fn new(context: &'c Context<MO>) -> Self {
        Plan {
            context,
            number: PlanNumber::next(),
            id: None,
            wanted: None,
            wrong: None,
            shares: false,
            units: None,
            drafts: Vec::new(),
            goals: Vec::new(),
            items: Vec::new(),
        }
    }
    /// Begin a plan for the releases of one question. If the plan may spend only a part of the
    /// remaining budget, it does not fix the division of the budget for later questions. `wanted`
    /// is the amount that the query states, or `None` if the query states no amount.
    pub(super) fn of_one_question(context: &'c Context<MO>, wanted: Option<Vec<Exact>>) -> Self {
        Plan { wanted, shares: true, ..Plan::new(context) }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }
    /// Set the limit for the total cost of all questions of the plan. Use this method if the budget
    /// is spent as you go. The queries of a plan must not state amounts.
    ///
    /// If the types of the measures are erased, an amount in another measure makes the plan an
    /// error.
    #[must_use]
    pub fn spending(mut self, share: Budget<MO>) -> Self {
        self.wrong = share.check_measure(self.context.measure()).err();
        self.wanted = Some(share.parts);
        self
    }
    /// Give the plan an id. If a [`Journal`](super::Journal) keeps the entries, a plan with an id
    /// is charged only once, even after a crash.
    ///
    /// All releases are charged and recorded before the first release is run. If the process ends
    /// before the record is written, nothing is released, and the journal contains no charge. The
    /// plan can then be released again. If the process ends after the record is written, the plan
    /// stays charged. A later release of a plan with this id is then an error, so noise is never
    /// drawn a second time. Answers that were not used before the process ended are lost. For new
    /// answers, a plan with another id must be charged.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, Goal, PrivacyUnit, Split, Table};
    /// # let table = Table::new().with("age", vec![30.0, 40.0])?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
    /// # let context = Context::new(table, unit, budget, Split::as_you_go())?;
    /// let count = || {
    ///     let mut plan = context.plan().with_id("survey of May");
    ///     let people = plan.ask(context.query().count(), Goal::Within(20.0))?;
    ///     plan.solve()?.release()?.take(people)
    /// };
    /// assert!(count().is_ok());
    /// assert_eq!(count().unwrap_err().kind(), "Argument");
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }
    /// Return the budget that is needed for all wanted accuracies. If the budget of the context is
    /// an epsilon and a delta, return its delta, and the epsilon that is needed at this delta.
    ///
    /// # Errors
    /// `Argument` when a question has a weight instead of a wanted accuracy. Further errors are the
    /// errors of [`solve`](Plan::solve) about an empty plan and about the split.
    pub fn needs(&self) -> Result<MO::Distance> {
        if self.items.iter().any(|item| item.weight != 0.0) {
            let reason = "a question has a weight and no wanted accuracy, so the budget that it \
                          needs is not defined; give it an accuracy, or call `.solve()` and then \
                          `.accuracy(..)`";
            return Err(Error::argument("goal", reason));
        }
        let endowed = self.endowed()?;
        let mut least = f64::INFINITY;
        for mode in endowed.modes(&self.items) {
            if let Some(all) = mode.demand(&self.items) {
                least = least.min(match endowed.delta {
                    Some(delta) => joined_epsilon(all.pure, all.square.sqrt(), delta)?,
                    None if self.context.measure.facts().squares => all.square / 2.0,
                    None => all.pure,
                });
            }
        }
        let mut parts = vec![least];
        parts.extend(endowed.full_delta);
        self.context.measure.join(&parts)
    }
    /// Find the scales of all questions. A question with a wanted accuracy gets about the largest
    /// scale that reaches this accuracy. The questions with weights get the remaining part of the
    /// share. If no question has a weight, this part stays in the budget.
    ///
    /// # Errors
    /// `BudgetExceeded` when the wanted accuracies do not fit, when nothing is left of the budget,
    /// or when the split has too few queries left; `Argument` when the plan has no questions, when
    /// the split is [by kinds](super::Split::by_kinds), or when the plan states an amount, but the
    /// split divides the budget.
    pub fn solve(self) -> Result<Solved<'c, MO>> {
        self.solved(1.0)
    }
    /// Find the scales of all questions, as [`solve`](Plan::solve) does. If the wanted accuracies
    /// do not fit, multiply all of them by about the least factor with which they fit. If some
    /// questions have weights, the wanted accuracies must fit nine tenths of the share. The rest of
    /// the share is for the questions with weights.
    ///
    /// # Errors
    /// The errors of [`solve`](Plan::solve) and of the account. Wanted accuracies that do not fit
    /// are not an error, unless nothing is left of the budget.
    pub fn stretch(mut self) -> Result<Solved<'c, MO>> {
        let weighted = self.items.iter().any(|item| item.weight != 0.0);
        let room = if weighted { 0.9 } else { 1.0 };
        let endowed = self.endowed()?;
        let taken = |factor: f64| endowed.stretch(&self.widened(factor)?);
        let (mut low, mut high) = (1.0, 1.0);
        while !(taken(high)? <= room) {
            (low, high) = (high, high * 2.0);
            if !(high < 1e100) {
                let reason = "nothing is left of the budget; nothing was run";
                return Err(Error::BudgetExceeded(reason.into()));
            }
        }
        while low * 1.000_1 < high {
            let middle = low + (high - low) / 2.0;
            if taken(middle)? <= room { high = middle } else { low = middle }
        }
        // The exact limits of the account can be slightly below the limits that were computed
        // above. As long as the account does not admit the losses, increase all wanted errors by 2
        // percent, again and again.
        self.items = self.widened(high)?;
        while self.chosen()?.is_none() && high < 1e100 {
            high *= 1.02;
            self.items = self.widened(high)?;
        }
        self.solved(high)
    }
    /// Describe the questions for the solver, with all wanted errors multiplied by `factor`.
    fn widened(&self, factor: f64) -> Result<Vec<Item>> {
        let Some(units) = &self.units else { return Ok(Vec::new()) };
        let wider = |goal: &Goal| match goal {
            Goal::Within(error) => Goal::Within(error * factor),
            weight => *weight,
        };
        let drafts = self.drafts.iter().zip(&self.goals);
        drafts.map(|(draft, goal)| draft.item(wider(goal), units)).try_collected()
    }
    fn endowed(&self) -> Result<Endowed> {
        if self.items.is_empty() {
            return Err(Error::argument("plan", "expected at least one question, found none"));
        }
        let count = self.items.len();
        let deltas = self.drafts.iter().filter(|draft| draft.takes_delta()).count();
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let mut endowed = self.context.endowed(count, self.wanted.as_deref())?;
        if self.shares {
            endowed.use_open_filters()?;
        }
        Ok(endowed.with_thresholds(deltas))
    }
    fn solved(self, stretched: f64) -> Result<Solved<'c, MO>> {
        let Some((mut best, settings)) = self.chosen()? else {
            let words = match self.needs() {
                Ok(needs) => format!("together they cost {}", opendp_core::Distance::show(&needs)),
                Err(_) => "together they cost more".to_owned(),
            };
            return Err(Error::BudgetExceeded(format!(
                "the wanted accuracies do not fit what this plan may spend: {words}; nothing was \
                 run. To multiply all wanted errors by one factor so that they fit, write \
                 `.stretch()`"
            )));
        };
        let (settings, reserved) = match self.tightened(&best, &settings)? {
            Some((settings, pairs)) => (settings, Some(Reserve::Shares(pairs))),
            None => (settings, best.reserved.take().map(Reserve::Filter)),
        };
        Ok(Solved {
            context: self.context,
            number: self.number,
            id: self.id,
            settings,
            drafts: self.drafts,
            delta: best.delta_of_each,
            stated: best.stated,
            reserved,
            spares: self.items.iter().all(|item| item.weight == 0.0),
            stretched,
        })
    }
}
/// The scale and the kind of the noise of one question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    scale: Scale,
    /// Whether the noise is Gaussian noise, or Gumbel noise for a choice. This field is `true` only
    /// under an epsilon and a delta.
    gaussian: bool,
    /// Whether Gaussian noise on integers is discrete.
    discrete: bool,
}

impl<MO: BudgetMeasure> fmt::Debug for Plan<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("questions", &self.drafts.len()).finish_non_exhaustive()
    }
}
#[cfg(test)]
mod tests;
