//! Statistics that need noise.

use std::fmt;

use opendp_core::{Carrier, MaxDivergence, Result};

use super::question::{Plan, Question};
use super::{Accounted, WithGaussian};

/// A statistic that needs noise.
pub struct Statistic<'c, MO: Accounted, TO: Carrier>(Plan<'c, MO, TO>);
impl<'c, MO: Accounted, TO: Carrier> Statistic<'c, MO, TO> {
    pub(super) fn new(plan: Plan<'c, MO, TO>) -> Self {
        Statistic(plan)
    }
    /// Find the least noise that fits the query's share of the budget, of the kind that the
    /// budget's measure uses.
    ///
    /// # Errors
    /// Those of the steps before; `BudgetExceeded` when nothing is left.
    pub fn noise(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
    /// Use noise of a given scale, if it fits the query's share of the budget.
    ///
    /// # Errors
    /// Those of [`noise`](Statistic::noise); `BudgetExceeded` when it does not fit.
    pub fn noise_of_scale(self, scale: f64) -> Result<Question<'c, MO, TO>> {
        self.0.of_scale(scale)
    }
    /// Find the least Laplace noise that fits the query's share of the budget.
    ///
    /// # Errors
    /// Those of [`noise`](Statistic::noise).
    pub fn laplace(self) -> Result<Question<'c, MO, TO>>
    where
        MO: Accounted<Base = MaxDivergence>,
    {
        self.noise()
    }
    /// Find the least Gaussian noise that fits the query's share of the budget.
    ///
    /// Under an epsilon and a delta, the noise is such that its epsilon, at the query's share of
    /// delta, is the query's share of epsilon, to four digits. The accounting is exact for single
    /// numbers, and uses zero-concentrated privacy for several integers.
    ///
    /// # Errors
    /// Those of [`noise`](Statistic::noise); `BudgetExceeded` when no delta is left.
    pub fn gaussian(self) -> Result<Question<'c, MO, TO>>
    where
        MO: WithGaussian,
    {
        if MO::TAKES_DELTA { self.0.solve_at_delta() } else { self.noise() }
    }
}
/// A choice among candidates, by noisy scores.
pub struct Choice<'c, MO: Accounted, TO: Carrier>(Plan<'c, MO, TO>);
impl<'c, MO: Accounted, TO: Carrier> Choice<'c, MO, TO> {
    pub(super) fn new(plan: Plan<'c, MO, TO>) -> Self {
        Choice(plan)
    }
    /// Find the least noise on the scores that fits the query's share of the budget.
    ///
    /// # Errors
    /// Those of the steps before; `BudgetExceeded` when nothing is left.
    pub fn choose(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
}
impl<MO: Accounted, TO: Carrier> fmt::Debug for Statistic<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistic").finish_non_exhaustive()
    }
}
impl<MO: Accounted, TO: Carrier> fmt::Debug for Choice<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").finish_non_exhaustive()
    }
}
