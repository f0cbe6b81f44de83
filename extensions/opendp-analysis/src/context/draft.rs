//! Queries before their noise is known.

use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::{Carrier, Error, Measure, Measurement, PrivacyMap, Result, SymmetricDistance};
use opendp_measurements::Scale;
use opendp_measurements::accounting::SharePair;

use super::account::Cost;
use super::question::Question;
use super::terms::Terms;
use super::{BudgetMeasure, TableDomain};
use crate::truncated_threshold::MOST;

/// A measurement whose input is a table.
pub(crate) type OfTable<MO, TO> = Measurement<TableDomain, SymmetricDistance, MO, TO>;
/// The privacy map of a measurement whose input is a table.
pub(crate) type TableMap<MO> = PrivacyMap<SymmetricDistance, MO>;
/// A function that makes the measurement of a query from the free parameters of the query.
pub(crate) type Build<MO, TO> = Box<dyn Fn(Dials) -> Result<Built<MO, TO>> + Send + Sync>;
/// A function that computes a bound on the error of an answer, from the scale of the noise and from
/// `alpha`. Here `alpha` is the largest probability that the error exceeds the bound. If a query
/// has this function, the bound of the function replaces the bound that the measurement states.
pub(crate) type Bound = Arc<dyn Fn(Scale, f64) -> Result<f64> + Send + Sync>;
/// A function that computes a loss of a release from an input distance. The loss is the square of a
/// `mu` in Gaussian differential privacy, or a `rho`.
pub(crate) type Square = Arc<dyn Fn(&u32) -> Result<Exact> + Send + Sync>;

/// The losses of a release. If the release is `mu`-GDP (Gaussian differentially private),
/// `mu_squared` computes the square of this `mu`.
pub(crate) struct Losses<MO: BudgetMeasure> {
    pub(crate) measure: MO,
    /// The loss in the measure of the budget.
    pub(crate) map: TableMap<MO>,
    pub(crate) mu_squared: Option<Square>,
    /// The zero-concentrated loss `rho` of the release, if the release chooses among candidates by
    /// Gumbel noise.
    pub(crate) rho: Option<Square>,
    /// The number of successive choices, if this number is known and the losses of the choices have
    /// equal ranges.
    pub(crate) choices: Option<u32>,
    /// The `rho` of the release, if the release has discrete Gaussian noise on integers.
    pub(crate) discrete: Option<Square>,
}
impl<MO: BudgetMeasure> Losses<MO> {
    /// Make a `Losses` from the map in the measure of the budget. Leave all other fields empty.
    pub(crate) fn stated(measure: &MO, map: TableMap<MO>) -> Self {
        let measure = measure.clone();
        Losses { measure, map, mu_squared: None, rho: None, choices: None, discrete: None }
    }
    pub(crate) fn exact(&self, d_in: &u32) -> Result<Vec<Exact>> {
        self.map.eval_exact(&self.measure, d_in)
    }
    pub(crate) fn cost(&self, d_in: &u32) -> Result<Cost> {
        let loss_of =
            |square: &Option<Square>| square.as_ref().map(|square| square(d_in)).transpose();
        let (mu_squared, rho) = (loss_of(&self.mu_squared)?, loss_of(&self.rho)?);
        let pair = match (&rho, self.choices) {
            (Some(rho), Some(count)) => Some(choices_of(rho, count)?),
            _ => None,
        };
        Ok(Cost { parts: self.exact(d_in)?, mu_squared, rho, pair })
    }
    pub(crate) fn mu_squared(&self, d_in: &u32) -> Result<Exact> {
        match &self.mu_squared {
            Some(square) => square(d_in),
            None => Err(Error::NotImplemented(
                "this statistic has no Gaussian noise: write `.laplace()`".into(),
            )),
        }
    }
}

/// A measurement of a table, and its losses.
pub(crate) struct Built<MO: BudgetMeasure, TO: Carrier> {
    measurement: OfTable<MO, TO>,
    losses: Losses<MO>,
}
impl<MO: BudgetMeasure, TO: Carrier> Built<MO, TO> {
    /// Replace the privacy map of a release by the map in `losses`. The new map states the loss in
    /// the measure of the budget. `losses` must be the losses of this release.
    pub(crate) fn new<MB: Measure>(release: &OfTable<MB, TO>, losses: Losses<MO>) -> Self {
        let measure = losses.measure.clone();
        Built { measurement: release.with_loss(measure, losses.map.clone()), losses }
    }
}

/// The free parameters of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dials {
    pub(crate) scale: Scale,
    pub(crate) threshold: f64,
    /// The delta at which the epsilon of Gaussian or Gumbel noise is stated. `None` for the noise
    /// that [`Accounted::Base`] has: Laplace or exponential noise, or any noise under a rho.
    pub(crate) delta: Option<f64>,
    /// Whether Gaussian noise on integers is discrete. Otherwise, the noise is continuous, and the
    /// noisy integers are rounded.
    pub(crate) discrete: bool,
}
impl Dials {
    pub(crate) fn at(scale: f64) -> Result<Self> {
        let scale = Scale::new(scale)?;
        Ok(Dials { scale, threshold: MOST, delta: None, discrete: false })
    }
}

/// A query whose noise is not known yet.
pub(crate) struct Draft<'c, MO: BudgetMeasure, TO: Carrier> {
    pub(crate) terms: Terms<'c, MO>,
    pub(crate) build: Result<Build<MO, TO>>,
}
impl<'c, MO: BudgetMeasure, TO: Carrier> Draft<'c, MO, TO> {
    /// Find the least noise of the measure [`Accounted::Base`] that fits the query's share of the
    /// budget.
    pub(crate) fn solve(&self) -> Result<Question<'c, MO, TO>> {
        self.question(self.checked()?.solve(&|dials| self.losses(dials))?)
    }
    /// Find the least Gaussian noise that fits the query's share of an epsilon and a delta. For a
    /// choice among candidates, find the least Gumbel noise.
    pub(crate) fn solve_gaussian(&self) -> Result<Question<'c, MO, TO>> {
        self.question(self.checked()?.solve_gaussian(&|dials| self.losses(dials))?)
    }
    /// Find the value of a parameter with which the query fits its share of the budget.
    pub(crate) fn solve_parameter(&self) -> Result<Question<'c, MO, TO>> {
        self.question(self.checked()?.solve_parameter(&|dials| self.losses(dials))?)
    }
    /// Use the noise scale that the analyst gives. Return an error if the cost of this noise does
    /// not fit the query's share, or if the account refuses this cost.
    pub(crate) fn of_scale(&self, scale: f64) -> Result<Question<'c, MO, TO>> {
        self.question(self.checked()?.of_scale(scale, &|dials| self.losses(dials))?)
    }
    /// Make the question, with the noise that was found.
    pub(crate) fn question(&self, dials: Dials) -> Result<Question<'c, MO, TO>> {
        let Built { measurement, losses } = self.build(dials)?;
        Ok(Question { known: self.terms.known(dials, &losses)?, measurement })
    }
    /// Return the losses of the query for the parameters `dials`.
    pub(crate) fn losses(&self, dials: Dials) -> Result<Losses<MO>> {
        Ok(self.build(dials)?.losses)
    }
    fn build(&self, dials: Dials) -> Result<Built<MO, TO>> {
        match &self.build {
            Ok(build) => build(dials),
            Err(error) => Err(error.clone()),
        }
    }
    /// Return the terms, or the error of an earlier step of the query. Call this function before
    /// the budget is used, so that the error of a step is returned before any error of the budget.
    fn checked(&self) -> Result<&Terms<'c, MO>> {
        match &self.build {
            Ok(_) => Ok(&self.terms),
            Err(error) => Err(error.clone()),
        }
    }
}
/// Return a pair of distributions that dominates `count` successive choices whose losses have equal
/// ranges. `rho` is the `rho` of all choices together. A choice whose loss has the range `r` has a
/// `rho` of `r^2 / 8`.
fn choices_of(rho: &Exact, count: u32) -> Result<SharePair> {
    if !rho.is_finite() {
        return Ok(SharePair::Choices { range: f64::INFINITY, count });
    }
    let each = rho.to_f64_up().inf_mul(8.0)?.inf_div(f64::from(count))?;
    Ok(SharePair::Choices { range: each.inf_sqrt()?, count })
}
