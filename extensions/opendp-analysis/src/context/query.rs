//! Queries: from a table to a statistic.

use std::fmt;

use opendp_core::arith::{Directed, DirectedFloat, Exact, Float, InfCast, Number};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Carrier, Distance, Error, Function, Measure,
    Measurement, Metric, PrivacyMap, RangeDistance, Result, Space, StabilityMap, SymmetricDistance,
    TheMeasure, Transformation, VectorDomain, ZeroConcentratedDivergence,
};
use opendp_core::{Domain, MaxDivergence};
use opendp_measurements::{Scale, make_laplace_threshold, make_noise, make_noisy_top_k};
use opendp_transformations::{
    Alpha, Key, Summand, make_clamp, make_count, make_count_by, make_count_by_categories,
    make_filter, make_find_bin, make_impute_constant, make_mean, make_resize,
    make_sized_bounded_variance, make_sum,
};

use super::question::{Build, Dials, OfTable, Plan, Question};
use super::report::ErrorIn;
use super::table::{Source, Table};
use super::{Accounted, Budget, Context, Noisy, WithDelta};
use crate::make_private_quantile;

type Column<T> = VectorDomain<AtomDomain<T>>;
type ColumnSpace<T> = Space<Column<T>, SymmetricDistance>;
type Step<T> = Transformation<Column<T>, SymmetricDistance, Column<T>, SymmetricDistance>;
type Total<T, TO> =
    Transformation<Column<T>, SymmetricDistance, AtomDomain<TO>, AbsoluteDistance<TO>>;
type OfColumn<T, MO, TO> = Measurement<Column<T>, SymmetricDistance, MO, TO>;

/// The beginning of a query: what it may cost, and which rows it is about.
pub struct Query<'c, MO: Accounted> {
    context: &'c Context<MO>,
    wanted: Option<Vec<Exact>>,
    title: Option<String>,
    source: Source,
    about: String,
}
impl<'c, MO: Accounted> Query<'c, MO> {
    pub(crate) fn new(context: &'c Context<MO>) -> Self {
        let source = Source::default();
        Query { context, wanted: None, title: None, source, about: String::new() }
    }
    /// Say what it may cost, where the budget is spent as you go.
    #[must_use]
    pub fn spending(mut self, share: Budget<MO>) -> Self {
        self.wanted = Some(share.parts);
        self
    }
    /// Say how it is called in reports.
    #[must_use]
    pub fn named(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
    /// Keep the rows for which a column says so. `keep` must be a function of its argument alone.
    #[must_use]
    pub fn filter<T: Atom>(
        mut self,
        column: &str,
        keep: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.source.keep(column, keep);
        self.about += &format!(", where `{column}` fits");
        self
    }
    /// Take the rows of a column.
    pub fn column<T: Atom>(mut self, name: &str) -> Rows<'c, MO, T> {
        self.source.take(name);
        let start = || {
            // A wrong name or type is known before anything is spent.
            self.context.table().rows::<T>(name)?;
            let domain = self.source.domain::<T>(self.context.space().domain());
            Ok(Chain::Start(Space::new(domain, SymmetricDistance)?))
        };
        let chain = start();
        Rows { query: self, name: name.to_owned(), chain }
    }
    /// Count the rows of the table.
    pub fn count(self) -> Statistic<'c, MO, i64> {
        let source = self.source.clone();
        let build = || -> Result<Build<MO, i64>> {
            let rows = VectorDomain::new(AtomDomain::<bool>::default());
            let count = make_count::<_, _, i64>(Space::new(rows, SymmetricDistance)?)?;
            let space = self.context.space().clone();
            Ok(Box::new(move |dials| {
                let release = count.then(|count| <i64 as Noisy<MO>>::noisy(count, dials.scale))?;
                let source = source.clone();
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&source.records(table)?)
                }))
            }))
        };
        let build = build();
        Statistic(self.plan("count".to_owned(), MO::NOISE, build))
    }
    fn plan<TO: Carrier>(
        self,
        what: String,
        mechanism: &'static str,
        build: Result<Build<MO, TO>>,
    ) -> Plan<'c, MO, TO> {
        Plan {
            share: self.context.share(self.wanted.as_deref()),
            context: self.context,
            words: self.title.unwrap_or_else(|| what + &self.about),
            mechanism,
            error_in: ErrorIn::Value,
            threshold: false,
            bound: None,
            build,
        }
    }
}

/// The steps from a column to the rows that a statistic is of.
enum Chain<T: Atom> {
    Start(ColumnSpace<T>),
    Steps(Step<T>),
}
impl<T: Atom> Chain<T> {
    fn space(&self) -> &ColumnSpace<T> {
        match self {
            Chain::Start(space) => space,
            Chain::Steps(steps) => steps.output(),
        }
    }
    fn step(&self, next: impl FnOnce(ColumnSpace<T>) -> Result<Step<T>>) -> Result<Self> {
        self.total(next).map(Chain::Steps)
    }
    fn total<DO: Domain, M: Metric>(
        &self,
        next: impl FnOnce(ColumnSpace<T>) -> Result<Transformation<Column<T>, SymmetricDistance, DO, M>>,
    ) -> Result<Transformation<Column<T>, SymmetricDistance, DO, M>> {
        match self {
            Chain::Start(space) => next(space.clone()),
            Chain::Steps(steps) => steps.then(next),
        }
    }
    fn measure<MO: Measure, TO: Carrier>(
        &self,
        next: impl FnOnce(ColumnSpace<T>) -> Result<OfColumn<T, MO, TO>>,
    ) -> Result<OfColumn<T, MO, TO>> {
        match self {
            Chain::Start(space) => next(space.clone()),
            Chain::Steps(steps) => steps.then(next),
        }
    }
}

/// The rows of a column, on their way to a statistic.
///
/// Steps do not fail: what is wrong with one is told when the noise is solved for.
pub struct Rows<'c, MO: Accounted, T: Atom> {
    query: Query<'c, MO>,
    name: String,
    chain: Result<Chain<T>>,
}
impl<'c, MO: Accounted, T: Atom> Rows<'c, MO, T> {
    fn step(mut self, next: impl FnOnce(&str, &Chain<T>) -> Result<Chain<T>>) -> Self {
        self.chain = self.chain.and_then(|chain| next(&self.name, &chain));
        self
    }
    /// Put a value in the place of those that are missing, which are NaN.
    #[must_use]
    pub fn impute(self, value: T) -> Self {
        self.step(|_, chain| chain.step(|rows| make_impute_constant(rows, value)))
    }
    /// Keep the rows that fit. `keep` must be a function of its argument alone.
    #[must_use]
    pub fn filter(self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.step(|_, chain| chain.step(|rows| make_filter(rows, keep)))
    }
    /// Move values into bounds, which must not be taken from the data.
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
    /// Bring the rows to a known number: leave some out, or fill up with zeros, which are moved into
    /// the bounds. The number must not be taken from the data.
    #[must_use]
    pub fn resize(self, size: usize) -> Self {
        self.step(|_, chain| {
            let filler = chain.space().domain().element().admit(Some(T::default()));
            chain.step(|rows| make_resize(rows, size, filler))
        })
    }
    /// Bring the rows to a known number, as [`resize`](Rows::resize), and fill up with this value.
    #[must_use]
    pub fn resize_with(self, size: usize, filler: T) -> Self {
        self.step(|_, chain| chain.step(|rows| make_resize(rows, size, filler)))
    }
    /// Count the rows.
    pub fn count(self) -> Statistic<'c, MO, i64> {
        self.number("count", |_, chain| chain.total(make_count))
    }
    /// Add the rows up. This needs bounds.
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
    /// Take the mean. This needs bounds, and a known number of rows.
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
    /// Take the variance of a sample, which divides by one less than the number of rows. This needs
    /// bounds, and a known number of rows.
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
    /// Count the rows of each category, and last those of none. The categories are public.
    pub fn histogram(self, categories: Vec<T>) -> Statistic<'c, MO, Vec<i64>>
    where
        T: Key,
    {
        self.counts("histogram", |chain| {
            chain.total(|rows| make_count_by_categories(rows, categories, true))
        })
    }
    /// Count the rows between edges: below the first, from each to the next, and from the last on.
    /// The edges are public.
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
    /// Count the rows of each key, without a list of keys: those of which few people speak are left
    /// out. This takes a budget with a delta.
    pub fn count_by(self) -> Statistic<'c, MO, std::collections::HashMap<T, i64>>
    where
        T: Key,
        MO: WithDelta,
    {
        let build = |query: &Query<'c, MO>, chain: &Chain<T>| -> Result<Build<MO, _>> {
            let counts = chain.total(make_count_by::<_, _, i64>)?;
            let (space, source) = (query.context.space().clone(), query.source.clone());
            Ok(Box::new(move |Dials { scale, threshold }| {
                let release = counts.then(|counts| {
                    make_laplace_threshold::<_, _, _, MO>(counts, scale, threshold, None)
                })?;
                let source = source.clone();
                Ok(of_table(
                    &space,
                    release,
                    move |release, table| release.invoke(&*source.rows(table)?),
                    Ok,
                    Ok,
                ))
            }))
        };
        let mut plan = self.plan("counts by", "Laplace, threshold", build);
        plan.threshold = true;
        Statistic(plan)
    }
    /// Choose the candidate nearest to a quantile, by rank; `alpha` is 0.5 for the median. The
    /// candidates are public.
    pub fn quantile(self, alpha: f64, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        let choices = candidates.len();
        let what = if alpha == 0.5 { "median".to_owned() } else { format!("{alpha} quantile") };
        let build = |query: &Query<'c, MO>, chain: &Chain<T>| -> Result<Build<MO, T>> {
            if chain.space().domain().element().nan() {
                return Err(wrong(
                    "a quantile needs an order, in which missing values (NaN) have no place: add \
                     `.impute(value)` before it"
                        .into(),
                ));
            }
            let alpha = Alpha::new(alpha)?;
            let make = move |rows: ColumnSpace<T>, scale| {
                let measure = TheMeasure(MO::Base::default());
                make_private_quantile(rows, measure, candidates.clone(), alpha, scale)
            };
            let steps = match chain {
                Chain::Start(space) => Chain::Start(space.clone()),
                Chain::Steps(steps) => Chain::Steps(steps.clone()),
            };
            let (space, source) = (query.context.space().clone(), query.source.clone());
            Ok(Box::new(move |dials| {
                let release = steps.measure(|rows| make(rows, dials.scale))?;
                let source = source.clone();
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                }))
            }))
        };
        let mut plan = self.plan(&what, "selection", build);
        plan.error_in = ErrorIn::Ranks;
        // `scale ln(n / alpha)`, as in the documentation of `make_private_quantile`.
        plan.bound = Some(Box::new(move |scale: Scale, alpha: f64| {
            let logarithm = f64::inf_cast(choices)?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?;
            logarithm.inf_mul(scale.value())
        }));
        Choice(plan)
    }
    /// Choose the median among candidates, which are public.
    pub fn median(self, candidates: Vec<T>) -> Choice<'c, MO, T>
    where
        T: Number,
    {
        self.quantile(0.5, candidates)
    }
    /// Choose the `k` categories with the most rows, the first one first. The categories are public.
    pub fn top_k(self, k: usize, categories: Vec<T>) -> Choice<'c, MO, Vec<T>>
    where
        T: Key,
    {
        let build = |query: &Query<'c, MO>, chain: &Chain<T>| -> Result<Build<MO, Vec<T>>> {
            let (names, space) = (categories.clone(), query.context.space().clone());
            let source = query.source.clone();
            let counts = chain
                .total(|rows| {
                    make_count_by_categories::<_, _, opendp_core::L1Distance<i64>, i64>(
                        rows, categories, false,
                    )
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
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                }))
            }))
        };
        Choice(self.plan(&format!("top {k}"), "selection", build))
    }

    /// Add noise to a number.
    fn number<N: Noisy<MO>>(
        self,
        what: &str,
        total: impl FnOnce(&str, &Chain<T>) -> Result<Total<T, N>>,
    ) -> Statistic<'c, MO, N> {
        let name = self.name.clone();
        Statistic(self.plan(what, MO::NOISE, |query, chain| {
            let (space, source) = (query.context.space().clone(), query.source.clone());
            let total = total(&name, chain)?;
            Ok(Box::new(move |dials| {
                let release = total.then(|number| N::noisy(number, dials.scale))?;
                let source = source.clone();
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                }))
            }))
        }))
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
        Statistic(self.plan(what, MO::NOISE, |query, chain| {
            let (space, source) = (query.context.space().clone(), query.source.clone());
            let counts = counts(chain)?;
            Ok(Box::new(move |dials| {
                let measure = TheMeasure(MO::Base::default());
                let release =
                    counts.then(|counts| make_noise(counts, measure, dials.scale, None))?;
                let source = source.clone();
                Ok(of_base(&space, release, move |release, table| {
                    release.invoke(&*source.rows(table)?)
                }))
            }))
        }))
    }
    fn plan<TO: Carrier>(
        self,
        what: &str,
        mechanism: &'static str,
        build: impl FnOnce(&Query<'c, MO>, &Chain<T>) -> Result<Build<MO, TO>>,
    ) -> Plan<'c, MO, TO> {
        let build = self.chain.and_then(|chain| build(&self.query, &chain));
        let what = match mechanism.starts_with("Laplace,") {
            true => format!("{what} `{}`", self.name),
            false => format!("{what} of `{}`", self.name),
        };
        self.query.plan(what, mechanism, build)
    }
}
fn wrong(reason: String) -> Error {
    Error::MakeTransformation(reason)
}
fn bounded<T: Atom>(what: &str, name: &str, chain: &Chain<T>) -> Result<()> {
    if chain.space().domain().element().bounds().is_some() {
        return Ok(());
    }
    Err(wrong(format!(
        "a {what} needs bounds on `{name}`, so that one person's share in it is limited: add \
         `.clamp(lower, upper)` before it"
    )))
}
fn sized<T: Atom>(what: &str, chain: &Chain<T>) -> Result<()> {
    if chain.space().domain().size().is_some() {
        return Ok(());
    }
    Err(wrong(format!(
        "a {what} needs a known number of rows: add `.resize(n)` or ask for count and sum"
    )))
}
/// See counts as scores.
///
/// # Proof
/// The range of changes is at most the sum of their magnitudes: if the largest and the least have
/// one sign, the range is at most the larger magnitude, and else it is the sum of the two.
fn as_scores(
    counts: Space<Column<i64>, opendp_core::L1Distance<i64>>,
) -> Result<
    Transformation<Column<i64>, opendp_core::L1Distance<i64>, Column<i64>, RangeDistance<i64>>,
> {
    let scores = Space::new(counts.domain().clone(), RangeDistance::new())?;
    let same = Function::map(|counts: &Vec<i64>| Ok(counts.clone()));
    Ok(Transformation::new(counts, scores, same, StabilityMap::new(|d_in| Ok(*d_in))))
}

/// Make a measurement of tables from one of rows, which the rows of a [`Source`] keep 1-stable.
fn of_table<D, MB, MO, TO>(
    space: &Space<super::TableDomain, SymmetricDistance>,
    release: Measurement<D, SymmetricDistance, MB, TO>,
    run: impl Fn(&Measurement<D, SymmetricDistance, MB, TO>, &Table) -> Result<TO>
    + Send
    + Sync
    + 'static,
    lift: fn(MB::Distance) -> Result<MO::Distance>,
    lift_exact: fn(Vec<Exact>) -> Result<Vec<Exact>>,
) -> OfTable<MO, TO>
where
    D: Domain,
    MB: Measure,
    MO: Accounted,
    TO: Carrier,
{
    let (loss, exact, accuracy) = (release.clone(), release.clone(), release.clone());
    let map = PrivacyMap::new(move |d_in| lift(loss.map(d_in)?))
        .with_exact(move |d_in| lift_exact(exact.exact_map(d_in)?));
    let function = Function::map(move |table: &Table| run(&release, table));
    Measurement::new(space.clone(), MO::default(), function, map)
        .with_accuracy(move |alpha| accuracy.accuracy(alpha))
}
fn of_base<D, MO, TO>(
    space: &Space<super::TableDomain, SymmetricDistance>,
    release: Measurement<D, SymmetricDistance, MO::Base, TO>,
    run: impl Fn(&Measurement<D, SymmetricDistance, MO::Base, TO>, &Table) -> Result<TO>
    + Send
    + Sync
    + 'static,
) -> OfTable<MO, TO>
where
    D: Domain,
    MO: Accounted,
    TO: Carrier,
{
    of_table(space, release, run, MO::lift, MO::lift_exact)
}

/// A statistic that takes noise.
pub struct Statistic<'c, MO: Accounted, TO: Carrier>(Plan<'c, MO, TO>);
impl<'c, MO: Accounted, TO: Carrier> Statistic<'c, MO, TO> {
    /// Find the least noise that fits the query's share of the budget, of the kind that the budget
    /// is measured for.
    ///
    /// # Errors
    /// What is wrong with the steps before; `BudgetExceeded` when nothing is left.
    pub fn noise(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
    /// Take noise of a scale, if it fits the query's share of the budget.
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
    /// # Errors
    /// Those of [`noise`](Statistic::noise).
    pub fn gaussian(self) -> Result<Question<'c, MO, TO>>
    where
        MO: Accounted<Base = ZeroConcentratedDivergence>,
    {
        self.noise()
    }
}
/// A choice among candidates, by noisy scores.
pub struct Choice<'c, MO: Accounted, TO: Carrier>(Plan<'c, MO, TO>);
impl<'c, MO: Accounted, TO: Carrier> Choice<'c, MO, TO> {
    /// Find the least noise on the scores that fits the query's share of the budget.
    ///
    /// # Errors
    /// What is wrong with the steps before; `BudgetExceeded` when nothing is left.
    pub fn choose(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
}

macro_rules! debug {
    ($($t:ident<$($p:ident: $bound:ident),*>)*) => {$(
        impl<MO: Accounted $(, $p: $bound)*> fmt::Debug for $t<'_, MO $(, $p)*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($t)).finish_non_exhaustive()
            }
        }
    )*};
}
debug!(Query<> Rows<T: Atom> Statistic<TO: Carrier> Choice<TO: Carrier>);
