//! Statistics and choices whose noise is not known yet.

use std::fmt;

use opendp_core::{Carrier, Result};

use super::draft::Draft;
use super::question::Question;
use super::{BudgetMeasure, Context, WithGaussian, WithLaplace};

/// A statistic that needs noise.
pub struct Statistic<'c, MO: BudgetMeasure, TO: Carrier>(Draft<'c, MO, TO>);
impl<'c, MO: BudgetMeasure, TO: Carrier> Statistic<'c, MO, TO> {
    pub(super) fn new(draft: Draft<'c, MO, TO>) -> Self {
        Statistic(draft)
    }
    pub(super) fn into_draft(self) -> Draft<'c, MO, TO> {
        self.0
    }
    pub(super) fn measure(&self) -> &MO {
        self.0.terms.context.measure()
    }
    /// State the range of the possible values of the statistic, if this range is known.
    pub(super) fn within(mut self, range: Option<(f64, f64)>) -> Self {
        self.0.terms.range = range;
        self
    }
    /// Find the least noise that fits the query's share of the budget. The budget's measure sets
    /// the kind of noise.
    ///
    /// # Errors
    /// The errors of earlier steps; `BudgetExceeded` when nothing is left, when the split has no
    /// share for another query, or when the account refuses every cost near the share of the query;
    /// `Argument` when the query states no amount, but the split is [as you
    /// go](super::Split::as_you_go), or when it states an amount, but the split divides the budget.
    pub fn noise(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
    /// Use noise of a given scale, if the cost of this noise fits the query's share of the budget.
    ///
    /// # Errors
    /// The errors of [`Scale::new`](opendp_measurements::Scale::new) and of
    /// [`noise`](Statistic::noise); `BudgetExceeded` when the cost of the noise does not fit the
    /// share, or when the account refuses this cost.
    pub fn noise_of_scale(self, scale: f64) -> Result<Question<'c, MO, TO>> {
        self.0.of_scale(scale)
    }
    /// Among the kinds of noise that fit the query's share of the budget, find the kind with the
    /// smallest error. For a budget of an epsilon and a delta, this kind is Laplace or Gaussian
    /// noise. For other budgets, the measure sets the kind of noise. The method compares bounds on
    /// the error. These bounds hold except with probability [`Context::ALPHA`]. The answer and the
    /// report state the [kind of noise](Question::mechanism).
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let table = Table::new().with("age", vec![30.0, 40.0])?;
    /// # let open = |questions| {
    /// #     let (unit, split) = (PrivacyUnit::person(1)?, Split::evenly(questions)?);
    /// #     Context::new(table.clone(), unit, Budget::epsilon_delta(1.0, 1e-6)?, split)
    /// # };
    /// let (few, many) = (open(2)?, open(100)?);
    /// assert_eq!(few.query().count().best()?.mechanism(), "Laplace");
    /// assert_eq!(many.query().count().best()?.mechanism(), "Gaussian");
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`noise`](Statistic::noise).
    pub fn best(self) -> Result<Question<'c, MO, TO>> {
        let first = self.0.solve();
        if !self.measure().facts().tight {
            return first;
        }
        better(first, self.0.solve_gaussian())
    }
    /// Find the least Laplace noise that fits the query's share of the budget.
    ///
    /// # Errors
    /// The errors of [`noise`](Statistic::noise).
    pub fn laplace(self) -> Result<Question<'c, MO, TO>>
    where
        MO: WithLaplace,
    {
        self.noise()
    }
    /// Find the least Gaussian noise that fits the query's share of the budget.
    ///
    /// Under an epsilon and a delta, the loss is a `mu` in Gaussian differential privacy. If the
    /// split is not `Split::by_kinds`, the budget limits the sum of the `mu^2` of all Gaussian
    /// noise. The share of the query is a part of this limit.
    /// [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount) states what is proved.
    /// Under an epsilon and a delta, integers get continuous Gaussian noise, and the noisy integers
    /// are rounded.
    ///
    /// # Errors
    /// The errors of [`noise`](Statistic::noise); `BudgetExceeded` when the budget has no delta
    /// left; `NotImplemented` when the statistic counts keys that are not public.
    pub fn gaussian(self) -> Result<Question<'c, MO, TO>>
    where
        MO: WithGaussian,
    {
        if MO::TAKES_DELTA { self.0.solve_gaussian() } else { self.noise() }
    }
}
/// A choice among candidates, by noisy scores.
pub struct Choice<'c, MO: BudgetMeasure, TO: Carrier>(Draft<'c, MO, TO>);
impl<'c, MO: BudgetMeasure, TO: Carrier> Choice<'c, MO, TO> {
    pub(super) fn new(draft: Draft<'c, MO, TO>) -> Self {
        Choice(draft)
    }
    pub(super) fn into_draft(self) -> Draft<'c, MO, TO> {
        self.0
    }
    /// Find the least noise on the scores that fits the query's share of the budget.
    ///
    /// Under an epsilon and a delta, there are two kinds of noise. Exponential noise has a pure
    /// loss. Gumbel noise has a loss `mu` in Gaussian differential privacy. Quantiles get the kind
    /// of noise with the smaller error. If there are many questions, Gumbel noise has the smaller
    /// error. Under an epsilon and a delta, [`Rows::top_k`](super::Rows::top_k) always gets
    /// exponential noise.
    ///
    /// # Errors
    /// The errors of [`Statistic::noise`].
    pub fn choose(self) -> Result<Question<'c, MO, TO>> {
        let first = self.0.solve();
        match self.0.terms.context.measure().facts().tight {
            true => better(first, self.0.solve_gaussian()),
            false => first,
        }
    }
}
/// Return the question with the smaller bound on the error of its answer. If one of the two results
/// is an `Err`, return the other result. If both are an `Err`, return the first one.
fn better<'c, MO: BudgetMeasure, TO: Carrier>(
    first: Result<Question<'c, MO, TO>>,
    second: Result<Question<'c, MO, TO>>,
) -> Result<Question<'c, MO, TO>> {
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let alpha = Context::<MO>::ALPHA;
            Ok(if second.accuracy(alpha)? < first.accuracy(alpha)? { second } else { first })
        }
        (Err(_), Ok(only)) | (Ok(only), Err(_)) => Ok(only),
        (Err(error), Err(_)) => Err(error),
    }
}
impl<MO: BudgetMeasure, TO: Carrier> fmt::Debug for Statistic<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistic").finish_non_exhaustive()
    }
}
impl<MO: BudgetMeasure, TO: Carrier> fmt::Debug for Choice<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").finish_non_exhaustive()
    }
}
