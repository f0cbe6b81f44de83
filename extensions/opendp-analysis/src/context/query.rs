//! The start of a query: the largest cost of the query, and the rows that the query uses.

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{
    Atom, AtomDomain, Carrier, Error, Result, Space, SymmetricDistance, VectorDomain,
};
use opendp_transformations::make_count;

use super::chain::{Chain, gaussian_on, of_base, of_gaussian, on_tables};
use super::draft::{Build, Draft};
use super::report::ErrorIn;
use super::table::Source;
use super::{Accounted, Budget, Context, Groups, Noisy, Rows, Statistic};

/// The start of a query: the largest cost of the query, and the rows that the query uses.
pub struct Query<'c, MO: Accounted> {
    pub(super) context: &'c Context<MO>,
    pub(super) wanted: Option<Vec<Exact>>,
    title: Option<String>,
    pub(super) source: Source,
    failed: Option<Error>,
    about: String,
}
impl<MO: Accounted> Clone for Query<'_, MO> {
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
impl<'c, MO: Accounted> Query<'c, MO> {
    pub(crate) fn new(context: &'c Context<MO>) -> Self {
        let source = Source::default();
        Query { context, wanted: None, title: None, source, failed: None, about: String::new() }
    }
    /// Set the largest cost of the query, if the budget is spent as you go. Under an epsilon and a
    /// delta, the account keeps a part of the budget's delta for each kind of noise. The query gets
    /// a fraction of the part for its kind of noise. The fraction is the delta of `share` divided
    /// by the budget's delta. See
    /// [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount).
    #[must_use]
    pub fn spending(mut self, share: Budget<MO>) -> Self {
        self.wanted = Some(share.parts);
        self
    }
    /// Set the title of the query in reports.
    #[must_use]
    pub fn named(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
    /// Keep the rows for which `keep` returns `true` for the value in a column. The result of
    /// `keep` must depend only on its argument.
    #[must_use]
    pub fn filter<T: Atom>(
        mut self,
        column: &str,
        keep: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        // Detect a wrong name or type before anything is spent.
        let wrong = self.context.table().rows::<T>(column).err();
        self.failed = self.failed.or(wrong);
        self.source.keep(column, keep);
        self.about += &format!(", where `{column}` fits");
        self
    }
    /// Take the rows of a column.
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
    /// Divide the rows into groups: one for each combination of values of some columns. Then state
    /// the [keys](Groups::keys) of the groups, and ask for statistics of each group.
    pub fn group_by<S: Into<String>>(self, columns: impl IntoIterator<Item = S>) -> Groups<'c, MO> {
        Groups::new(self, columns.into_iter().map(Into::into).collect())
    }
    /// Return a copy of the query for one part of the answer. If the query has a title, add `what`
    /// to the title of the copy.
    pub(super) fn part(&self, what: &str) -> Self {
        let mut part = self.clone();
        part.title = part.title.map(|title| format!("{title}: {what}"));
        part
    }
    /// Count the rows of the table.
    pub fn count(self) -> Statistic<'c, MO, i64> {
        let source = self.source.clone();
        let build = || -> Result<Build<MO, i64>> {
            let rows = VectorDomain::new(AtomDomain::<bool>::default());
            let count = make_count::<_, _, i64>(Space::new(rows, SymmetricDistance)?)?;
            let space = self.context.space().clone();
            Ok(Box::new(move |dials| {
                if let Some(delta) = dials.delta {
                    let release = count.then(|count| gaussian_on::<MO, i64>(count, dials))?;
                    let (kind, source) = ((delta, dials.discrete), source.clone());
                    return Ok(of_gaussian(
                        on_tables(&space, release, move |release, table| {
                            release.invoke(&source.records(table)?)
                        }),
                        kind,
                    ));
                }
                let release = count.then(|count| <i64 as Noisy<MO>>::noisy(count, dials.scale))?;
                let source = source.clone();
                Ok(of_base(on_tables(&space, release, move |release, table| {
                    release.invoke(&source.records(table)?)
                })))
            }))
        };
        let build = build();
        let mut draft = self.draft("count".to_owned(), MO::NOISE, build);
        draft.noise = Some(<i64 as Noisy<MO>>::noise);
        Statistic::new(draft)
    }
    pub(super) fn draft<TO: Carrier>(
        self,
        what: String,
        mechanism: &'static str,
        build: Result<Build<MO, TO>>,
    ) -> Draft<'c, MO, TO> {
        Draft {
            share: self.context.share(self.wanted.as_deref()),
            context: self.context,
            words: self.title.unwrap_or_else(|| what + &self.about),
            mechanism,
            error_in: ErrorIn::Value,
            threshold: false,
            noise: None,
            bound: None,
            build: self.failed.map_or(build, Err),
        }
    }
}
impl<MO: Accounted> fmt::Debug for Query<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").finish_non_exhaustive()
    }
}
