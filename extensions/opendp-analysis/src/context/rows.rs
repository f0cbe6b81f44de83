//! The rows of a column, and their statistics.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use opendp_core::arith::{self, Directed, DirectedFloat, InfCast};
use opendp_core::{
    Atom, Domain, Function, L1Distance, Metric, Result, Space, SymmetricDistance, TheMeasure,
};
use opendp_measurements::{Scale, make_noisy_top_k};
use opendp_transformations::{Key, make_filter, make_resize};

use super::chain::{Chain, Column, OfRows, TableTotal, halved, of_base, total_of_tables};
use super::counts::Counts;
use super::draft::{Bound, Build};
use super::possible::largest_variance;
use super::query::{Number, Threshold};
use super::report::ErrorIn;
use super::table::Source;
use super::terms::SELECTION;
use super::{BudgetMeasure, Choice, Noisy, Query, Statistic, TableDomain, WithDelta};

mod centred;
mod mechanism;
mod ranks;
mod steps;
mod sums;

pub use centred::Centre;
pub use mechanism::Mechanism;
pub use sums::{Averaged, Summed};

/// The rows of a column, before a statistic of the rows is chosen.
///
/// Steps do not return errors themselves. The error of a step is returned later, by the function
/// that finds the noise.
pub struct Rows<'c, MO: BudgetMeasure, T: Atom> {
    query: Query<'c, MO>,
    name: String,
    chain: Result<Chain<T>>,
    origin: Origin,
}
/// What is known about the differences between the rows of neighbouring tables, in addition to the
/// domain of the rows.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// Nothing else is known.
    Private,
    /// The table has a public number of rows, and each row of the table gives at most one of these
    /// rows. So if `k` rows of the table are replaced, at most `k` rows are removed and at most `k`
    /// are added.
    OneForOne,
    /// `resize` was applied to rows that were as in `OneForOne`. The number of these rows was
    /// private.
    Resized,
}
impl<'c, MO: BudgetMeasure, T: Atom> Rows<'c, MO, T> {
    pub(super) fn new(query: Query<'c, MO>, name: &str, chain: Result<Chain<T>>) -> Self {
        let sized = query.context.space().domain().size().is_some();
        let origin = if sized { Origin::OneForOne } else { Origin::Private };
        Rows { query, name: name.to_owned(), chain, origin }
    }
    pub(super) fn measure(&self) -> &MO {
        self.query.context.measure()
    }
    fn step(mut self, next: impl FnOnce(&str, &Chain<T>) -> Result<Chain<T>>) -> Self {
        self.chain = self.chain.and_then(|chain| next(&self.name, &chain));
        self
    }
    /// Replace missing values (NaN) by a value.
    #[must_use]
    pub fn impute(self, value: T) -> Self {
        self.step(|_, chain| steps::impute(chain, value))
    }
    /// Keep the rows for which `keep` returns `true`. The result of `keep` must depend only on its
    /// argument.
    #[must_use]
    pub fn filter(self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.step(|_, chain| chain.step(|rows| make_filter(rows, keep)))
    }
    /// Clamp values to bounds. The bounds must not be taken from the data.
    #[must_use]
    pub fn clamp(self, lower: T, upper: T) -> Self
    where
        T: arith::Number,
    {
        self.step(|name, chain| steps::clamp(chain, (lower, upper), name, "clamp"))
    }
    /// Bring the number of rows to `size`: drop rows, or add copies of a default value. If rows
    /// have bounds, this value is clamped to the bounds. For numbers, the default value is 0.
    /// `size` must not be taken from the data.
    #[must_use]
    pub fn resize(self, size: usize) -> Self {
        self.resized().step(|_, chain| {
            let filler = chain.space().domain().element().admit(Some(T::default()));
            chain.step(|rows| make_resize(rows, size, filler))
        })
    }
    /// Bring the number of rows to `size`, as [`resize`](Rows::resize) does, but add copies of
    /// `filler`.
    #[must_use]
    pub fn resize_with(self, size: usize, filler: T) -> Self {
        self.resized().step(|_, chain| chain.step(|rows| make_resize(rows, size, filler)))
    }
    /// Update the origin of the rows for a call of `resize`. Suppose that the origin is
    /// `OneForOne`. If the number of rows before the call is private, the origin becomes `Resized`.
    /// If this number is known, the map of `make_resize` already uses the number, so the origin
    /// becomes `Private`.
    fn resized(mut self) -> Self {
        if self.origin == Origin::OneForOne {
            self.origin = if self.is_sized() { Origin::Private } else { Origin::Resized };
        }
        self
    }
    /// Return whether the number of rows is known.
    fn is_sized(&self) -> bool {
        self.chain.as_ref().is_ok_and(|chain| chain.space().domain().size().is_some())
    }
    /// Count the rows.
    ///
    /// # Map
    /// The map is the composition of the maps of the steps and of
    /// [`make_count`](opendp_transformations::make_count). A filter makes the number of counted
    /// rows private. Suppose that there is a filter, and that the number of rows of the table is
    /// known. Then one replaced row changes the count by at most one, so the map is evaluated at
    /// `d_in / 2`, rounded up. After [`resize`](Rows::resize), the proof of `make_resize` bounds
    /// this change instead.
    pub fn count(self) -> Statistic<'c, MO, i64>
    where
        i64: Noisy<MO>,
    {
        let total = self.total(steps::count(&self.chain));
        let total = total.map(|total| self.replaced(total));
        self.number("count", total)
    }
    /// Sum the rows. The sum needs bounds. Integers of fewer than 64 bits are added as `i64`. If a
    /// sum is outside of the range of its type, the nearest number of the type replaces this sum.
    ///
    /// # Map
    /// The map is the composition of the maps of the steps and of
    /// [`make_sum`](opendp_transformations::make_sum). Suppose that the number of rows of the table
    /// is known, and a filter makes the number of summed rows private. If no row is below 0, or no
    /// row is above 0, one replaced row changes the sum by at most the largest magnitude of a row.
    pub fn sum(self) -> Statistic<'c, MO, T::Sum>
    where
        T: Summed,
        T::Sum: Noisy<MO>,
    {
        let total = self.total(steps::sum(&self.chain, &self.name));
        let bounds =
            self.chain.as_ref().ok().and_then(|chain| chain.space().domain().element().bounds());
        let one_direction = bounds.is_some_and(T::has_one_direction);
        let total = total.map(|total| if one_direction { self.replaced(total) } else { total });
        self.number("sum", total)
    }
    /// Take the mean of the rows, as an `f64`. The mean needs bounds and a known number of rows. If
    /// noise moves the mean out of the bounds, the answer is the nearest bound.
    pub fn mean(self) -> Statistic<'c, MO, f64>
    where
        T: Averaged,
        f64: Noisy<MO>,
    {
        let total = self.total(steps::mean(&self.chain, &self.name));
        let range = self.bounds();
        self.number("mean", total).within(range)
    }
    /// Take the sample variance, as an `f64`. The divisor is the number of rows minus 1. The
    /// variance needs bounds and a known number of rows. If noise makes the variance negative, the
    /// answer is 0. If noise makes it larger than the variance of any rows within the bounds, the
    /// answer is this largest variance.
    pub fn variance(self) -> Statistic<'c, MO, f64>
    where
        T: Averaged,
        f64: Noisy<MO>,
    {
        let total = self.total(steps::variance(&self.chain, &self.name));
        let rows = self.chain.as_ref().ok().and_then(|chain| chain.space().domain().size());
        let rows = rows.and_then(|rows| f64::inf_cast(rows).ok());
        let largest = self.bounds().zip(rows);
        let largest = largest.and_then(|(bounds, rows)| largest_variance(bounds, rows).ok());
        self.number("variance", total).within(largest.map(|largest| (0.0, largest)))
    }
    /// Return the bounds of the rows, if they are known.
    fn bounds(&self) -> Option<(f64, f64)>
    where
        T: Averaged,
    {
        let bounds = self.chain.as_ref().ok()?.space().domain().element().bounds()?;
        Some((bounds.lower().nearest_f64(), bounds.upper().nearest_f64()))
    }
    /// Count the rows of each category, and leave out the rows that have no category. The
    /// categories are public. [`Query::group_by`] can return the same counts together with the
    /// names of the categories.
    pub fn histogram(self, categories: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        i64: Noisy<MO>,
        T: Key,
    {
        let counts = steps::histogram(&self.chain, categories, false);
        self.histogram_of(counts)
    }
    /// Count the rows of each category, as [`histogram`](Rows::histogram) does. The last count is
    /// the number of rows without a category.
    pub fn histogram_and_others(self, categories: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        i64: Noisy<MO>,
        T: Key,
    {
        let counts = steps::histogram(&self.chain, categories, true);
        self.histogram_of(counts)
    }
    /// Count the rows in each bin. The first bin is below the first edge. The other bins go from
    /// one edge to the next edge, and the last bin begins at the last edge. A row that is equal to
    /// an edge is in the bin above this edge. The edges are public.
    pub fn histogram_between(self, edges: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        i64: Noisy<MO>,
        T: arith::Number,
    {
        let counts = steps::histogram_between(&self.chain, edges);
        self.histogram_of(counts)
    }
    /// Count the rows of each key, without a list of keys. Keys that few people have are left out.
    /// A budget with a delta is necessary.
    pub fn count_by(self) -> Statistic<'c, MO, HashMap<T, i64>>
    where
        T: Key,
        MO: WithDelta,
    {
        self.counts_of_keys(|_, counts, scale, threshold| MO::threshold(counts, scale, threshold))
    }
    pub(super) fn counts_of_keys(
        self,
        release: Threshold<T, MO>,
    ) -> Statistic<'c, MO, HashMap<T, i64>>
    where
        T: Key,
    {
        let counts = self.total(steps::count_by(&self.chain));
        let what = format!("counts by `{}`", self.name);
        Statistic::new(self.query.counts_of_keys(what, counts, release))
    }
    /// Choose the `k` categories with the highest noisy counts, in descending order of these
    /// counts. The categories are public.
    pub fn top_k(self, k: usize, categories: Vec<T>) -> Choice<'c, MO, Vec<T>>
    where
        T: Key,
    {
        let (choices, names) = (categories.len(), categories.clone());
        let scores = self.total(steps::scores(&self.chain, categories));
        let measure = self.measure().clone();
        let noise = measure.facts().noise;
        let build = scores.map(|scores| -> Build<MO, Vec<T>> {
            Box::new(move |dials| {
                let base = TheMeasure(measure.base());
                let chosen =
                    scores.then(|scores| make_noisy_top_k(scores, base, k, dials.scale, false))?;
                Ok(of_base(&measure, &chosen.then(|| Ok(Function::rows_at(names.clone())))?))
            })
        });
        // Let `n` be the number of categories. Exponential noise is not negative. Except with
        // probability `alpha`, all exponential noise is below `scale ln(n / alpha)`. If all noise
        // is below this bound, the count of a chosen category is at most `scale ln(n / alpha)`
        // below the count of a category that was not chosen. With Gumbel noise, there are `k`
        // successive choices (Durfee, Rogers 2019, Lemma 4.2). Let `t` be a number. In each choice,
        // the probability that the chosen count is more than `t` below the best remaining count is
        // at most `n exp(-t / scale)`. By the union bound over the `k` choices, `n k` replaces `n`
        // in the bound.
        let chances = choices.saturating_mul(if noise == "Laplace" { 1 } else { k.max(1) });
        let what = format!("top {k} of `{}`", self.name);
        let mut draft = self.query.draft(what, SELECTION, build);
        draft.terms.error_in = ErrorIn::Counts;
        draft.terms.bound = Some(top_bound(chances));
        Choice::new(draft)
    }

    /// Make a transformation of tables from `total`, a transformation of the rows.
    ///
    /// # Proof
    /// In `Origin::Resized`, the map is evaluated at half the input distance. Let `k` rows of the
    /// table be replaced. Before `resize`, at most `k` rows are removed and at most `k` are added.
    /// By the proof of `make_resize`, the resized rows are then at distance at most `2 k`. The
    /// number `2 k` is the value of the map of `make_resize` at `k`. So the output changes by at
    /// most the value of the whole map at `k`, as [`halved`] requires.
    fn total<DO: Domain, M: Metric>(
        &self,
        total: Result<OfRows<T, DO, M>>,
    ) -> Result<TableTotal<DO, M>> {
        let space = self.query.context.space();
        of_tables(space, total, &self.query.source, self.origin == Origin::Resized)
    }
    /// If the rows are as in `Origin::OneForOne` and their number is private, evaluate the map of a
    /// statistic at half the input distance.
    ///
    /// # Precondition
    /// Adding rows never decreases the statistic, or adding rows never increases it.
    ///
    /// # Proof
    /// Let `k` rows of the table be replaced. Let `c` be the rows that do not change. Each of the
    /// two lists of rows consists of `c` and at most `k` more rows. Suppose that adding rows never
    /// decreases the statistic `f`, and let `m` be the value of its map at `k`. Then both values of
    /// `f` are from `f(c)` to `f(c) + m`, so they differ by at most `m`. If adding rows never
    /// increases `f`, both values are from `f(c) - m` to `f(c)`.
    fn replaced<DO: Domain, M: Metric>(&self, total: TableTotal<DO, M>) -> TableTotal<DO, M> {
        let fits = self.origin == Origin::OneForOne && !self.is_sized();
        if fits { halved(total) } else { total }
    }
    fn number<N: Noisy<MO>>(self, what: &str, total: Result<Number<N>>) -> Statistic<'c, MO, N> {
        self.query.number(format!("{what} of `{}`", self.name), total)
    }
    /// Make a histogram from the steps of the rows and from a step that counts each row in at most
    /// one count.
    fn histogram_of(
        self,
        counts: Result<OfRows<T, Column<i64>, L1Distance<i64>>>,
    ) -> Statistic<'c, MO, Vec<i64>>
    where
        i64: Noisy<MO>,
    {
        let sized = self.is_sized() || self.origin == Origin::OneForOne;
        let counts = self.total(counts).map(|total| Counts::new(total, sized));
        self.query.counts(format!("histogram of `{}`", self.name), counts)
    }
}
/// Return the total of the rows that `source` reads from tables. If `resized` is true, evaluate its
/// map at half the input distance.
fn of_tables<T: Atom, DO: Domain, M: Metric>(
    space: &Space<TableDomain, SymmetricDistance>,
    total: Result<OfRows<T, DO, M>>,
    source: &Source,
    resized: bool,
) -> Result<TableTotal<DO, M>> {
    let total = total_of_tables(space, total?, source.reader());
    Ok(if resized { halved(total) } else { total })
}
/// Return the bound on the error of a choice of several categories.
fn top_bound(chances: usize) -> Bound {
    Arc::new(move |scale: Scale, alpha: f64| {
        let logarithm = f64::inf_cast(chances)?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?;
        logarithm.max(0.0).inf_mul(scale.value())
    })
}
impl<MO: BudgetMeasure, T: Atom> fmt::Debug for Rows<'_, MO, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}
