//! Quantiles of the rows of a column. Each quantile is chosen among candidates.

use std::sync::Arc;

use opendp_core::arith::Number;
use opendp_core::{Atom, Carrier, Error, Result, TheMeasure, ZeroConcentratedDivergence};
use opendp_measurements::{Scale, Selects};
use opendp_transformations::Alpha;

use super::super::chain::{
    Chain, ColumnSpace, OfColumn, levels_of, of_base, of_choices, quantile_bound, quantiles_bound,
    release_of_tables, several, wrong,
};
use super::super::draft::{Bound, Build};
use super::super::report::ErrorIn;
use super::super::terms::SELECTION;
use super::super::{BudgetMeasure, Choice};
use super::Rows;
use crate::make_private_quantile;

impl<'c, MO: BudgetMeasure, T: Atom> Rows<'c, MO, T> {
    /// Choose a candidate near a quantile, by noisy distances in rank. `alpha` is 0.5 for the
    /// median. The candidates are public.
    pub fn quantile(self, alpha: f64, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        let bound = quantile_bound(candidates.len());
        let what = if alpha == 0.5 { "median".to_owned() } else { format!("{alpha} quantile") };
        let candidates = Arc::new(candidates);
        let gumbel = one_of(ZeroConcentratedDivergence, alpha, candidates.clone());
        let base = self.measure().base();
        self.ranks(&what, (bound, 1), one_of(base, alpha, candidates), gumbel)
    }
    /// Choose candidates near several quantiles, in increasing order, in one release.
    ///
    /// If there are three or more quantiles,
    /// [`make_private_quantiles`](crate::make_private_quantiles) chooses them. It chooses the
    /// middle quantile first. This choice divides the rows into two parts. The other quantiles are
    /// chosen in these parts in the same way. Each round of choices is a level. Nine quantiles need
    /// four levels, so their cost is the cost of four choices. The stated scale of the noise is the
    /// scale for a median. The accuracy bounds the distance in ranks between a quantile and the
    /// rows that its candidate represents. A candidate represents the rows that are equal to it. On
    /// each side, it also represents half of the rows between this candidate and the next one. If
    /// there is no other candidate on a side, it represents all rows on this side. For three or
    /// more quantiles, the accuracy holds for each quantile separately. For two quantiles, it holds
    /// for both together. The accuracy does not include one part of the distance to the quantile.
    /// On each level, this part is at most 1/32 of the number of rows that one candidate
    /// represents. If there are more than 1024 candidates, this part is at most 1/4 of this number.
    pub fn quantiles(self, alphas: &[f64], candidates: Vec<T>) -> Choice<'c, MO, Vec<T>>
    where
        T: Number,
    {
        let bound = quantiles_bound(candidates.len(), alphas);
        let (what, candidates) = (format!("quantiles {alphas:?}"), Arc::new(candidates));
        let gumbel = ZeroConcentratedDivergence;
        let gumbel = several_of(gumbel, alphas.to_vec(), candidates.clone());
        let base = several_of(self.measure().base(), alphas.to_vec(), candidates);
        self.ranks(&what, (bound, alphas.len()), base, gumbel)
    }
    /// Make a choice of candidates by their ranks. `make` makes the measurement with the noise of
    /// the base measure. `gumbel` makes the measurement with Gumbel noise under an epsilon and a
    /// delta.
    fn ranks<TO: Carrier>(
        self,
        what: &str,
        (bound, quantiles): (Bound, usize),
        make: impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MO::Base, TO>>
        + Send
        + Sync
        + 'static,
        gumbel: impl Fn(ColumnSpace<T>, Scale) -> Result<Chosen<T, TO>> + Send + Sync + 'static,
    ) -> Choice<'c, MO, TO> {
        let levels = levels_of(quantiles);
        let build = self.steps_without_nan().map(|steps| -> Build<MO, TO> {
            let (space, source) = (self.query.context.space().clone(), self.query.source.clone());
            let measure = self.query.context.measure().clone();
            Box::new(move |dials| match dials.delta {
                Some(delta) => {
                    let release = steps.measure(|rows| gumbel(rows, dials.scale))?;
                    let release = release_of_tables(&space, release, source.reader());
                    Ok(of_choices(&measure, &release, (delta, levels)))
                }
                None => {
                    let release = steps.measure(|rows| make(rows, dials.scale))?;
                    Ok(of_base(&measure, &release_of_tables(&space, release, source.reader())))
                }
            })
        });
        let mut draft = self.query.draft(format!("{what} of `{}`", self.name), SELECTION, build);
        draft.terms.error_in = ErrorIn::Ranks;
        draft.terms.bound = Some(bound);
        Choice::new(draft)
    }
    fn steps_without_nan(&self) -> Result<Chain<T>> {
        let chain = self.chain.as_ref().map_err(Error::clone)?;
        if chain.space().domain().element().nan() {
            return Err(wrong(
                "quantiles need ordered values, and missing values (NaN) have no order: add \
                 `.impute(value)` before the quantile"
                    .into(),
            ));
        }
        Ok(chain.clone())
    }
    /// Choose a candidate near the median, by noisy distances in rank. The candidates are public.
    pub fn median(self, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        self.quantile(0.5, candidates)
    }
}
/// A measurement that chooses candidates by Gumbel noise.
type Chosen<T, TO> = OfColumn<T, ZeroConcentratedDivergence, TO>;
/// Return the function that makes the measurement of one quantile at a noise scale.
fn one_of<T: Atom + Number, MB: Selects>(
    measure: MB,
    alpha: f64,
    candidates: Arc<Vec<T>>,
) -> impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MB, T>> {
    move |rows, scale| {
        let (measure, candidates) = (TheMeasure(measure.clone()), candidates.to_vec());
        make_private_quantile(rows, measure, candidates, Alpha::new(alpha)?, scale)
    }
}
/// Return the function that makes the measurement of several quantiles at a noise scale. The chosen
/// candidates are in increasing order.
fn several_of<T: Atom + Number, MB: Selects>(
    measure: MB,
    alphas: Vec<f64>,
    candidates: Arc<Vec<T>>,
) -> impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MB, Vec<T>>> {
    move |rows, scale| several(rows, measure.clone(), &candidates, &alphas, scale)
}
