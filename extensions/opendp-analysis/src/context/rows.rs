//! The rows of a column, and their statistics.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat, Float, InfCast, Number};
use opendp_core::{
    Atom, Bounds, Carrier, Distance, Function, L1Distance, Result, SymmetricDistance, TheMeasure,
    Transformation,
};
use opendp_measurements::{Scale, make_noise, make_noisy_top_k};
use opendp_transformations::{
    Key, Summand, make_clamp, make_count, make_count_by, make_count_by_categories, make_filter,
    make_find_bin, make_impute_constant, make_mean, make_resize, make_sized_bounded_variance,
    make_sum,
};

use super::chain::{
    Chain, Column, Total, as_euclidean, as_scores, bounded, gaussian_on, gaussian_on_counts,
    of_base, of_gaussian, on_tables, sized, wrong,
};
use super::draft::{Build, Built, Dials, Draft, SELECTION};
use super::report::ErrorIn;
use super::{Accounted, Choice, Noisy, Query, Statistic, WithDelta};

mod centred;
mod ranks;

pub use centred::Centre;

/// The rows of a column, before a statistic of the rows is chosen.
///
/// Steps do not return errors themselves. The error of a step is returned later, by the function
/// that finds the noise.
pub struct Rows<'c, MO: Accounted, T: Atom> {
    query: Query<'c, MO>,
    name: String,
    chain: Result<Chain<T>>,
}
impl<'c, MO: Accounted, T: Atom> Rows<'c, MO, T> {
    pub(super) fn new(query: Query<'c, MO>, name: &str, chain: Result<Chain<T>>) -> Self {
        Rows { query, name: name.to_owned(), chain }
    }
    fn step(mut self, next: impl FnOnce(&str, &Chain<T>) -> Result<Chain<T>>) -> Self {
        self.chain = self.chain.and_then(|chain| next(&self.name, &chain));
        self
    }
    /// Replace missing values (NaN) by a value.
    #[must_use]
    pub fn impute(self, value: T) -> Self {
        self.step(|_, chain| chain.step(|rows| make_impute_constant(rows, value)))
    }
    /// Keep the rows for which `keep` is `true`. The result of `keep` must depend only on its
    /// argument.
    #[must_use]
    pub fn filter(self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.step(|_, chain| chain.step(|rows| make_filter(rows, keep)))
    }
    /// Clamp values to bounds. The bounds must not be taken from the data.
    #[must_use]
    pub fn clamp(self, lower: T, upper: T) -> Self
    where
        T: Number,
    {
        self.step(|name, chain| {
            if chain.space().domain().element().nan() {
                return Err(wrong(format!(
                    "`{name}` may hold missing values (NaN), which have no place between bounds: \
                     say what stands for them, with `.impute(value)` before `.clamp(..)`"
                )));
            }
            chain.step(|rows| make_clamp(rows, Bounds::new(lower, upper)?))
        })
    }
    /// Bring the number of rows to `size`: drop rows, or add zeros that are clamped to the bounds.
    /// `size` must not be taken from the data.
    #[must_use]
    pub fn resize(self, size: usize) -> Self {
        self.step(|_, chain| {
            let filler = chain.space().domain().element().admit(Some(T::default()));
            chain.step(|rows| make_resize(rows, size, filler))
        })
    }
    /// Bring the number of rows to `size`, as [`resize`](Rows::resize) does, but add copies of
    /// `filler`.
    #[must_use]
    pub fn resize_with(self, size: usize, filler: T) -> Self {
        self.step(|_, chain| chain.step(|rows| make_resize(rows, size, filler)))
    }
    /// Count the rows.
    pub fn count(self) -> Statistic<'c, MO, i64> {
        self.number("count", |_, chain| chain.total(make_count))
    }
    /// Sum the rows. The sum needs bounds.
    pub fn sum(self) -> Statistic<'c, MO, T::Total>
    where
        T: Summand,
        T::Total: Noisy<MO>,
    {
        self.number("sum", |name, chain| {
            bounded("sum", name, chain)?;
            chain.total(make_sum)
        })
    }
    /// Take the mean of the rows. The mean needs bounds and a known number of rows.
    pub fn mean(self) -> Statistic<'c, MO, T>
    where
        T: Float + Distance + Into<f64> + Noisy<MO>,
    {
        self.number("mean", |name, chain| {
            bounded("mean", name, chain)?;
            sized("mean", chain)?;
            chain.total(make_mean)
        })
    }
    /// Take the variance of a sample: divide by one less than the number of rows. The variance
    /// needs bounds and a known number of rows.
    pub fn variance(self) -> Statistic<'c, MO, T>
    where
        T: Float + Distance + Into<f64> + Noisy<MO>,
    {
        self.number("variance", |name, chain| {
            bounded("variance", name, chain)?;
            sized("variance", chain)?;
            chain.total(|rows| make_sized_bounded_variance(rows, None, None, 1))
        })
    }
    /// Count the rows of each category, and leave out the rows that have no category. The
    /// categories are public. [`Query::group_by`] returns the same counts, in rows with labels.
    pub fn histogram(self, categories: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        T: Key,
    {
        self.counts("histogram", |chain| {
            chain.total(|rows| make_count_by_categories(rows, categories, false))
        })
    }
    /// Count the rows of each category, as [`histogram`](Rows::histogram) does. The last count is
    /// of the rows without a category.
    pub fn histogram_and_others(self, categories: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        T: Key,
    {
        self.counts("histogram", |chain| {
            chain.total(|rows| make_count_by_categories(rows, categories, true))
        })
    }
    /// Count the rows below the first edge, between each two adjacent edges, and from the last edge
    /// up. The edges are public.
    pub fn histogram_between(self, edges: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        T: Number,
    {
        self.counts("histogram", |chain| {
            let bins: Vec<usize> = (0..=edges.len()).collect();
            chain
                .total(|rows| make_find_bin(rows, edges))?
                .then(|bin| make_count_by_categories(bin, bins, false))
        })
    }
    /// Count the rows of each key, without a list of keys. Keys that few people have are left out.
    /// A budget with a delta is necessary.
    pub fn count_by(self) -> Statistic<'c, MO, HashMap<T, i64>>
    where
        T: Key,
        MO: WithDelta,
    {
        let build = |query: &Query<'c, MO>, chain: &Chain<T>| -> Result<Build<MO, _>> {
            let counts = chain.total(make_count_by::<_, _, i64>)?;
            let (space, source) = (query.context.space().clone(), query.source.clone());
            Ok(Box::new(move |Dials { scale, threshold, .. }| {
                let release = counts.then(|counts| MO::threshold(counts, scale, threshold))?;
                let source = source.clone();
                Ok(Built::stated(on_tables(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                })))
            }))
        };
        let mut draft = self.draft("counts by", "Laplace, threshold", build);
        draft.threshold = true;
        Statistic::new(draft)
    }
    /// Choose the `k` categories with the most rows, in descending order. The categories are
    /// public.
    pub fn top_k(self, k: usize, categories: Vec<T>) -> Choice<'c, MO, Vec<T>>
    where
        T: Key,
    {
        let choices = categories.len();
        let build = |query: &Query<'c, MO>, chain: &Chain<T>| -> Result<Build<MO, Vec<T>>> {
            let (names, space) = (categories.clone(), query.context.space().clone());
            let source = query.source.clone();
            let counts = chain
                .total(|rows| {
                    make_count_by_categories::<_, _, L1Distance<i64>, i64>(rows, categories, false)
                })?
                .then(as_scores)?;
            Ok(Box::new(move |dials| {
                let measure = TheMeasure(MO::Base::default());
                let chosen = counts
                    .then(|scores| make_noisy_top_k(scores, measure, k, dials.scale, false))?;
                let (names, source) = (names.clone(), source.clone());
                let release = chosen.then(|| {
                    Ok(Function::map(move |chosen: &Vec<usize>| {
                        Ok(chosen.iter().filter_map(|place| names.get(*place).cloned()).collect())
                    }))
                })?;
                Ok(of_base(on_tables(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                })))
            }))
        };
        // Let `n` be the number of categories. All exponential noise is below `scale ln(n / alpha)`
        // except with probability `alpha`. Then the count of a chosen category is at most
        // `scale ln(n / alpha)` below the count of a category that was not chosen. Gumbel noise
        // makes `k` successive choices (Durfee, Rogers 2019, Lemma 4.2). The count of each choice
        // is more than `t` below the best remaining count with probability at most
        // `n exp(-t / scale)`.
        let chances = choices.saturating_mul(if MO::NOISE == "Laplace" { 1 } else { k.max(1) });
        let mut draft = self.draft(&format!("top {k}"), SELECTION, build);
        draft.error_in = ErrorIn::Counts;
        draft.bound = Some(Arc::new(move |scale: Scale, alpha: f64| {
            let logarithm = f64::inf_cast(chances)?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?;
            logarithm.max(0.0).inf_mul(scale.value())
        }));
        Choice::new(draft)
    }

    /// Add noise to a number.
    fn number<N: Noisy<MO>>(
        self,
        what: &str,
        total: impl FnOnce(&str, &Chain<T>) -> Result<Total<T, N>>,
    ) -> Statistic<'c, MO, N> {
        let name = self.name.clone();
        let mut draft = self.draft(what, MO::NOISE, |query, chain| {
            let (space, source) = (query.context.space().clone(), query.source.clone());
            let total = total(&name, chain)?;
            Ok(Box::new(move |dials| {
                let source = source.clone();
                if let Some(delta) = dials.delta {
                    let release = total.then(|number| gaussian_on::<MO, N>(number, dials))?;
                    let kind = (delta, dials.discrete);
                    return Ok(of_gaussian(
                        on_tables(&space, release, move |release, table| {
                            release.invoke(&*source.rows(table)?)
                        }),
                        kind,
                    ));
                }
                let release = total.then(|number| N::noisy(number, dials.scale))?;
                Ok(of_base(on_tables(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                })))
            }))
        });
        draft.noise = Some(N::noise);
        Statistic::new(draft)
    }
    /// Add noise to counts.
    fn counts(
        self,
        what: &str,
        counts: impl FnOnce(
            &Chain<T>,
        ) -> Result<
            Transformation<Column<T>, SymmetricDistance, Column<i64>, MO::Norm>,
        >,
    ) -> Statistic<'c, MO, Vec<i64>> {
        let mut draft = self.draft(what, MO::NOISE, |query, chain| {
            let (space, source) = (query.context.space().clone(), query.source.clone());
            let counts = counts(chain)?;
            Ok(Box::new(move |dials| {
                if let Some(delta) = dials.delta {
                    let noisy = |counts| gaussian_on_counts(counts, dials);
                    let release = counts.then(as_euclidean)?.then(noisy)?;
                    let (kind, source) = ((delta, dials.discrete), source.clone());
                    return Ok(of_gaussian(
                        on_tables(&space, release, move |release, table| {
                            release.invoke(&*source.rows(table)?)
                        }),
                        kind,
                    ));
                }
                let measure = TheMeasure(MO::Base::default());
                let release =
                    counts.then(|counts| make_noise(counts, measure, dials.scale, None))?;
                let source = source.clone();
                Ok(of_base(on_tables(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                })))
            }))
        });
        draft.noise = Some(<i64 as Noisy<MO>>::noise);
        Statistic::new(draft)
    }
    fn draft<TO: Carrier>(
        self,
        what: &str,
        mechanism: &'static str,
        build: impl FnOnce(&Query<'c, MO>, &Chain<T>) -> Result<Build<MO, TO>>,
    ) -> Draft<'c, MO, TO> {
        let build = self.chain.and_then(|chain| build(&self.query, &chain));
        let what = match mechanism.starts_with("Laplace,") {
            true => format!("{what} `{}`", self.name),
            false => format!("{what} of `{}`", self.name),
        };
        self.query.draft(what, mechanism, build)
    }
}
impl<MO: Accounted, T: Atom> fmt::Debug for Rows<'_, MO, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}
