//! Quantiles of the rows of a column, chosen among candidates.

use std::sync::Arc;

use opendp_core::arith::Number;
use opendp_core::{Atom, Carrier, Result, TheMeasure, ZeroConcentratedDivergence};
use opendp_measurements::{Scale, SelectionMeasure, make_composition};
use opendp_transformations::Alpha;

use super::super::chain::{
    ColumnSpace, OfColumn, increasing, of_base, of_choices, quantile_bound, sorted, wrong,
};
use super::super::draft::SELECTION;
use super::super::report::ErrorIn;
use super::super::{Accounted, Choice};
use super::Rows;
use crate::make_private_quantile;

impl<'c, MO: Accounted, T: Atom> Rows<'c, MO, T> {
    /// Choose the candidate nearest in rank to a quantile. `alpha` is 0.5 for the median. The
    /// candidates are public.
    pub fn quantile(self, alpha: f64, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        let choices = candidates.len();
        let what = if alpha == 0.5 { "median".to_owned() } else { format!("{alpha} quantile") };
        let candidates = Arc::new(candidates);
        self.ranks(&what, choices, one_of(alpha, candidates.clone()), one_of(alpha, candidates))
    }
    /// Choose the candidates nearest to several quantiles, in increasing order, in one release.
    ///
    /// Each quantile has its own choice, and the chosen candidates are sorted. One noisy histogram
    /// of all candidates, or a tree of counts, would answer any number of quantiles. But the noise
    /// of a histogram adds up over the cells below a quantile, and the noise of a tree adds up over
    /// its layers. For a few quantiles, these sums of noise are larger than the noise of single
    /// choices. For dozens of quantiles use [`histogram_between`](Rows::histogram_between), and add
    /// up its counts. Choices compose best under [a rho](crate::Budget::rho).
    pub fn quantiles(self, alphas: &[f64], candidates: Vec<T>) -> Choice<'c, MO, Vec<T>>
    where
        T: Number,
    {
        let choices = candidates.len().saturating_mul(alphas.len());
        let (what, candidates) = (format!("quantiles {alphas:?}"), Arc::new(candidates));
        let other = several_of(alphas.to_vec(), candidates.clone());
        self.ranks(&what, choices, several_of(alphas.to_vec(), candidates), other)
    }
    /// Choose candidates by their ranks. `make` adds the noise of the base measure, and `gumbel`
    /// adds Gumbel noise. Only a budget with a delta pays for Gumbel noise.
    fn ranks<TO: Carrier>(
        self,
        what: &str,
        choices: usize,
        make: impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MO::Base, TO>>
        + Send
        + Sync
        + 'static,
        gumbel: impl Fn(ColumnSpace<T>, Scale) -> Result<Chosen<T, TO>> + Send + Sync + 'static,
    ) -> Choice<'c, MO, TO> {
        let mut draft = self.draft(what, SELECTION, |query, chain| {
            if chain.space().domain().element().nan() {
                return Err(wrong(
                    "a quantile needs an order, in which missing values (NaN) have no place: add \
                     `.impute(value)` before it"
                        .into(),
                ));
            }
            let steps = chain.clone();
            let (space, source) = (query.context.space().clone(), query.source.clone());
            Ok(Box::new(move |dials| {
                let source = source.clone();
                if let Some(delta) = dials.delta {
                    let release = steps.measure(|rows| gumbel(rows, dials.scale))?;
                    return Ok(of_choices(&space, release, delta, move |release, table| {
                        release.invoke(&*source.rows(table)?)
                    }));
                }
                let release = steps.measure(|rows| make(rows, dials.scale))?;
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                }))
            }))
        });
        draft.error_in = ErrorIn::Ranks;
        draft.bound = Some(quantile_bound(choices));
        Choice::new(draft)
    }
    /// Choose the median among public candidates.
    pub fn median(self, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        self.quantile(0.5, candidates)
    }
}
/// A measurement that chooses candidates by Gumbel noise.
type Chosen<T, TO> = OfColumn<T, ZeroConcentratedDivergence, TO>;
/// Make the choice of one quantile.
fn one_of<T: Atom + Number, MB: SelectionMeasure + Default>(
    alpha: f64,
    candidates: Arc<Vec<T>>,
) -> impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MB, T>> {
    move |rows, scale| {
        let (measure, candidates) = (TheMeasure(MB::default()), candidates.to_vec());
        make_private_quantile(rows, measure, candidates, Alpha::new(alpha)?, scale)
    }
}
/// Make the choices of several quantiles, in increasing order.
fn several_of<T: Atom + Number, MB: SelectionMeasure + Default>(
    alphas: Vec<f64>,
    candidates: Arc<Vec<T>>,
) -> impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MB, Vec<T>>> {
    move |rows, scale| {
        increasing(&alphas)?;
        let choose = |alpha: &f64| one_of(*alpha, candidates.clone())(rows.clone(), scale);
        make_composition(alphas.iter().map(choose).collect::<Result<_>>()?)?.then(sorted)
    }
}
