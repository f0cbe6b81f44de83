//! Queries, before a column or a statistic is chosen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Carrier, Error, HashableAtom, MapDomain, Result, Space,
    SymmetricDistance, VectorDomain,
};
use opendp_measurements::Scale;
use opendp_transformations::make_count;

use super::budget::{CountsDistance, CountsRelease};
use super::chain::{Chain, TableTotal, gaussian_on, halved, of_base, of_gaussian, total_of_tables};
use super::counts::Counts;
use super::draft::{Build, Built, Dials, Draft, Losses};
use super::report::ErrorIn;
use super::table::Source;
use super::terms::{FOUND, Terms};
use super::{Budget, BudgetMeasure, Context, Groups, Noisy, Rows, Statistic};

/// The start of a query: a limit on the cost of the query, and the rows that the query uses.
pub struct Query<'c, MO: BudgetMeasure> {
    pub(super) context: &'c Context<MO>,
    pub(super) wanted: Option<Vec<Exact>>,
    title: Option<String>,
    pub(super) source: Source,
    failed: Option<Error>,
    about: String,
}
impl<MO: BudgetMeasure> Clone for Query<'_, MO> {
    fn clone(&self) -> Self {
        Query {
            context: self.context,
            wanted: self.wanted.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            failed: self.failed.clone(),
            about: self.about.clone(),
        }
    }
}
impl<'c, MO: BudgetMeasure> Query<'c, MO> {
    pub(crate) fn new(context: &'c Context<MO>) -> Self {
        let source = Source::default();
        Query { context, wanted: None, title: None, source, failed: None, about: String::new() }
    }
    /// Set a limit on the cost of the query, if the budget is spent as you go. Under an epsilon and
    /// a delta, the account keeps a part of the budget's delta for each kind of noise. The query
    /// gets a fraction of the part for its kind of noise. The fraction is the delta of `share`
    /// divided by the budget's delta. See
    /// [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount).
    ///
    /// The queries of a [`Plan`](super::Plan) must not state amounts. The plan
    /// [states](super::Plan::spending) one amount for all its queries.
    ///
    /// If the types of the measures are erased, an amount in another measure makes the query an
    /// error.
    #[must_use]
    pub fn spending(mut self, share: Budget<MO>) -> Self {
        let wrong = share.check_measure(self.context.measure()).err();
        self.wanted = Some(share.parts);
        self.failing(wrong)
    }
    /// Set the title of the query in reports.
    #[must_use]
    pub fn named(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
    /// Keep the rows for which `keep` returns `true`. The argument of `keep` is the value of the
    /// row in `column`. The result of `keep` must depend only on its argument.
    #[must_use]
    pub fn filter<T: Atom>(
        mut self,
        column: &str,
        keep: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        // Detect a wrong name or type before anything is spent.
        let wrong = self.context.table().rows::<T>(column).err();
        self.source.keep(column, keep);
        self.filtered(column, wrong)
    }
    fn filtered(mut self, column: &str, wrong: Option<Error>) -> Self {
        self.about += &format!(", where `{column}` fits");
        self.failing(wrong)
    }
    /// Use the values of a column as rows.
    pub fn column<T: Atom>(mut self, name: &str) -> Rows<'c, MO, T> {
        self.source.take(name);
        let start = || {
            self.context.table().rows::<T>(name)?;
            let domain = self.source.domain::<T>(self.context.space().domain());
            Ok(Chain::Start(Space::new(domain, SymmetricDistance)?))
        };
        let chain = start();
        Rows::new(self, name, chain)
    }
    /// Divide the rows into groups: one for each combination of values of some columns. The caller
    /// then states the [keys](Groups::keys) of the groups, and asks for statistics of each group.
    pub fn group_by<S: Into<String>>(self, columns: impl IntoIterator<Item = S>) -> Groups<'c, MO> {
        Groups::new(self, columns.into_iter().map(Into::into).collect())
    }
    /// Keep the error of a step, if there is no error of an earlier step.
    pub(super) fn failing(mut self, error: Option<Error>) -> Self {
        self.failed = self.failed.or(error);
        self
    }
    /// Return a copy of the query for one part of its answer. If the query has a title, add `what`
    /// to the title of the copy.
    pub(super) fn part(&self, what: &str) -> Self {
        let mut part = self.clone();
        part.title = part.title.map(|title| format!("{title}: {what}"));
        part
    }
    /// Count the rows that the query uses.
    ///
    /// # Map
    /// `d_out = d_in`. If the number of rows of the table is known, `d_out = d_in / 2`, rounded up.
    ///
    /// # Proof
    /// One row that is added to the table, or removed from it, changes the count by at most one.
    /// Two tables of the same size at symmetric distance `d_in` differ in `d_in / 2` replaced rows.
    /// Each replaced row changes the count by at most one: the filters keep or drop the old row,
    /// and keep or drop the new row.
    pub fn count(self) -> Statistic<'c, MO, i64>
    where
        i64: Noisy<MO>,
    {
        let total = || -> Result<Number<i64>> {
            let rows = VectorDomain::new(AtomDomain::<bool>::default());
            let count = make_count(Space::new(rows, SymmetricDistance)?)?;
            let source = self.source.clone();
            let space = self.context.space();
            let total =
                total_of_tables(space, count, move |table| source.records(table).map(Cow::Owned));
            let sized = space.domain().size().is_some();
            Ok(if sized { halved(total) } else { total })
        };
        let total = total();
        self.number("count".to_owned(), total)
    }
    /// Make a statistic that adds noise to a number.
    pub(super) fn number<N: Noisy<MO>>(
        self,
        what: String,
        total: Result<Number<N>>,
    ) -> Statistic<'c, MO, N> {
        let build = total.map(|total| -> Build<MO, N> {
            let measure = self.context.measure().clone();
            Box::new(move |dials| match dials.delta {
                Some(delta) => {
                    let release = total.then(|number| gaussian_on::<MO, N>(number, dials))?;
                    Ok(of_gaussian(&measure, &release, (delta, dials.discrete)))
                }
                None => {
                    let noisy = total.then(|number| N::noisy(&measure, number, dials.scale))?;
                    Ok(of_base(&measure, &noisy))
                }
            })
        });
        let (noise, kind) =
            (N::noise(self.context.measure()), self.context.measure().facts().noise);
        let mut draft = self.draft(what, kind, build);
        draft.terms.noise = Some(noise);
        draft.terms.cut_off = <N as Noisy<MO>>::is_cut_off();
        Statistic::new(draft)
    }
    /// Make a statistic that adds noise to counts.
    pub(super) fn counts(self, what: String, counts: Result<Counts>) -> Statistic<'c, MO, Vec<i64>>
    where
        i64: Noisy<MO>,
    {
        let build = counts.map(|counts| -> Build<MO, Vec<i64>> {
            let measure = self.context.measure().clone();
            Box::new(move |dials| match dials.delta {
                Some(delta) => {
                    Ok(of_gaussian(&measure, &counts.gaussian(dials)?, (delta, dials.discrete)))
                }
                None => Ok(of_base(&measure, &measure.noisy_counts(&counts, dials.scale)?)),
            })
        });
        let noise = <i64 as Noisy<MO>>::noise(self.context.measure());
        let kind = self.context.measure().facts().noise;
        let mut draft = self.draft(what, kind, build);
        draft.terms.noise = Some(noise);
        Statistic::new(draft)
    }
    /// Make a draft that adds noise to the counts of keys that are not public, and releases the
    /// keys whose noisy counts reach a threshold. `release` makes the measurement, as
    /// [`WithDelta::threshold`](super::WithDelta::threshold) does.
    pub(super) fn counts_of_keys<K: HashableAtom>(
        self,
        what: String,
        counts: Result<CountsOfKeys<K>>,
        release: Threshold<K, MO>,
    ) -> Draft<'c, MO, HashMap<K, i64>> {
        let build = counts.map(|counts| -> Build<MO, HashMap<K, i64>> {
            let measure = self.context.measure().clone();
            Box::new(move |Dials { scale, threshold, .. }| {
                let release = counts.then(|counts| release(&measure, counts, scale, threshold))?;
                Ok(Built::new(&release, Losses::stated(&measure, release.privacy_map())))
            })
        });
        let mut draft = self.draft(what, FOUND, build);
        draft.terms.threshold = true;
        draft
    }
    pub(super) fn draft<TO: Carrier>(
        self,
        what: String,
        mechanism: &'static str,
        build: Result<Build<MO, TO>>,
    ) -> Draft<'c, MO, TO> {
        let (terms, failed) = self.terms(what, mechanism);
        match failed {
            Some(error) => Draft { terms, build: Err(error) },
            None => Draft { terms, build },
        }
    }
    /// Return the terms of the query, and the error of an earlier step, if there is one.
    fn terms(self, what: String, mechanism: &'static str) -> (Terms<'c, MO>, Option<Error>) {
        let terms = Terms {
            share: self.context.share(self.wanted.as_deref()),
            states_amount: self.wanted.is_some(),
            context: self.context,
            words: self.title.unwrap_or_else(|| what + &self.about),
            mechanism,
            error_in: ErrorIn::Value,
            threshold: false,
            noise: None,
            cut_off: false,
            range: None,
            bound: None,
            subject: None,
        };
        (terms, self.failed)
    }
}
/// A number that is computed from a table. Noise is not added yet.
pub(super) type Number<N> = TableTotal<AtomDomain<N>, AbsoluteDistance<N>>;
/// The counts of the keys in a table. Noise is not added yet.
pub(super) type CountsOfKeys<K> = TableTotal<KeyDomain<K>, CountsDistance>;

/// A function that makes the measurement of counts by a noise scale and a threshold.
pub(super) type Threshold<K, MO> =
    fn(&MO, Space<KeyDomain<K>, CountsDistance>, Scale, f64) -> Result<CountsRelease<K, MO>>;
type KeyDomain<K> = MapDomain<AtomDomain<K>, AtomDomain<i64>>;

impl<MO: BudgetMeasure> fmt::Debug for Query<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").finish_non_exhaustive()
    }
}
