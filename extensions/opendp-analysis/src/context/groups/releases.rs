//! The releases that answer questions about groups.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::{
    AtomDomain, Bounds, Carrier, Function, Measure, Measurement, PairDomain, Result, Space,
    SymmetricDistance, Transformation, VectorDomain, ZeroConcentratedDivergence,
};
use opendp_measurements::Collected;
use opendp_measurements::{Parts, make_parallel_composition};
use opendp_transformations::{
    make_clamp, make_count_by, make_count_by_categories, make_impute_constant, make_sum,
};

use super::super::chain::{
    Column, levels_of, of_base, of_choices, of_normal, quantiles_bound, release_of_tables, several,
    squared_of_gaussian, total_of_tables, wrong,
};
use super::super::counts::Counts;
use super::super::draft::{Build, Dials};
use super::super::query::CountsOfKeys;
use super::super::query::Threshold;
use super::super::report::ErrorIn;
use super::super::table::Source;
use super::super::terms::SELECTION;
use super::super::{BudgetMeasure, Choice, Noisy, Query, Statistic, Table};
use super::earlier::Subject;
use super::keys::{Grouping, no_numbers, texts};

/// The domain of rows that are pairs. A pair consists of the place of the row's group in the list
/// of groups, and a number.
type Pairs = VectorDomain<PairDomain<AtomDomain<usize>, AtomDomain<f64>>>;
type OfPairs<MO, TO> = Measurement<Pairs, SymmetricDistance, MO, TO>;

/// The numbers that are computed from the cells of a column.
#[derive(Clone)]
pub(super) struct Numbers {
    pub(super) column: String,
    /// The number that replaces missing numbers. The function `number` is also applied to this
    /// replacement.
    pub(super) missing: Option<f64>,
    /// The function that computes the number from a cell.
    pub(super) number: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    /// The bounds to which the number is clamped.
    pub(super) bounds: Option<(f64, f64)>,
}

/// Count the rows of each group.
pub(super) fn counts<'c, MO: BudgetMeasure>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    what: &str,
) -> Statistic<'c, MO, Vec<i64>>
where
    i64: Noisy<MO>,
{
    let counts = || -> Result<Counts> {
        let rows = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
        let groups = (0..grouping.count()).collected();
        let counts = make_count_by_categories(rows, groups, false)?;
        let (source, grouping) = (query.source.clone(), grouping.clone());
        let space = query.context.space();
        let total = total_of_tables(space, counts, move |table| {
            grouping.rows(&source, table).map(Cow::Owned)
        });
        Ok(Counts::new(total, space.domain().size().is_some()))
    };
    query.part(what).counts(what.to_owned(), counts())
}
/// Sum the numbers of the rows of each group.
pub(super) fn sums<'c, MO: BudgetMeasure>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    numbers: Numbers,
    what: &str,
) -> Statistic<'c, MO, Vec<f64>>
where
    f64: Noisy<MO>,
{
    let (source, grouping) = (query.source.clone(), grouping.clone());
    let (space, measure) = (query.context.space().clone(), query.context.measure().clone());
    let build = || -> Result<Build<MO, Vec<f64>>> {
        let total = of_cells(&query, &numbers)?.then(make_sum)?;
        Ok(Box::new(move |Dials { scale, delta, .. }| {
            let read = reader(&source, &grouping, &numbers);
            if let Some(delta) = delta {
                let noisy = total.then(|sum| <f64 as Noisy<MO>>::gaussian(sum, scale))?;
                let release = of_each_group(noisy, grouping.count())?;
                let release = release_of_tables(&space, release, read);
                return Ok(of_normal(&measure, &release, delta, squared_of_gaussian));
            }
            let noisy = total.then(|sum| <f64 as Noisy<MO>>::noisy(&measure, sum, scale))?;
            let release = of_each_group(noisy, grouping.count())?;
            Ok(of_base(&measure, &release_of_tables(&space, release, read)))
        }))
    };
    let kind = query.context.measure().facts().noise;
    let mut draft = query.part(what).draft(what.to_owned(), kind, build());
    draft.terms.noise = Some(<f64 as Noisy<MO>>::noise(query.context.measure()));
    Statistic::new(draft)
}
/// Choose candidates for several quantiles of the rows of each group.
pub(super) fn quantiles<'c, MO: BudgetMeasure>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    numbers: Numbers,
    (alphas, candidates): (Vec<f64>, Vec<f64>),
    what: &str,
) -> Choice<'c, MO, Vec<Vec<f64>>> {
    let (source, grouping) = (query.source.clone(), grouping.clone());
    let (space, measure) = (query.context.space().clone(), query.context.measure().clone());
    let bound = quantiles_bound(candidates.len(), &alphas);
    let levels = levels_of(alphas.len());
    let build = || -> Result<Build<MO, Vec<Vec<f64>>>> {
        let cells = of_cells(&query, &numbers)?;
        Ok(Box::new(move |Dials { scale, delta, .. }| {
            let read = reader(&source, &grouping, &numbers);
            if let Some(delta) = delta {
                let gumbel = ZeroConcentratedDivergence;
                let chosen =
                    cells.then(|rows| several(rows, gumbel, &candidates, &alphas, scale))?;
                let release = of_each_group(chosen, grouping.count())?;
                let release = release_of_tables(&space, release, read);
                return Ok(of_choices(&measure, &release, (delta, levels)));
            }
            let base = measure.base();
            let chosen = cells.then(|rows| several(rows, base, &candidates, &alphas, scale))?;
            let release = of_each_group(chosen, grouping.count())?;
            Ok(of_base(&measure, &release_of_tables(&space, release, read)))
        }))
    };
    let mut draft = query.part(what).draft(what.to_owned(), SELECTION, build());
    draft.terms.error_in = ErrorIn::Ranks;
    draft.terms.bound = Some(bound);
    Choice::new(draft)
}
/// Count the rows of each key of the groups `subject`, and leave out keys whose noisy counts do not
/// reach a threshold.
pub(super) fn found<'c, MO: BudgetMeasure>(
    query: Query<'c, MO>,
    subject: Subject,
    what: &str,
    release: Threshold<String, MO>,
) -> Statistic<'c, MO, HashMap<String, i64>>
where
    i64: Noisy<MO>,
{
    let counts = || -> Result<CountsOfKeys<String>> {
        let rows = VectorDomain::new(AtomDomain::<String>::default());
        let counts = make_count_by(Space::new(rows, SymmetricDistance)?)?;
        let names = subject.names.clone();
        for name in &names {
            super::keys::refuse_nullable(name, query.context.table().cells(name)?.nullable())?;
        }
        let source = query.source.clone();
        Ok(total_of_tables(query.context.space(), counts, move |table| {
            texts(&names, &source, table).map(Cow::Owned)
        }))
    };
    let noise = <i64 as Noisy<MO>>::noise(query.context.measure());
    let mut draft = query.part(what).counts_of_keys(what.to_owned(), counts(), release);
    draft.terms.noise = Some(noise);
    draft.terms.subject = Some(subject);
    Statistic::new(draft)
}

/// Return the function that computes the rows from a table. Each row is a pair: the place of its
/// group, and a number.
fn reader(
    source: &Source,
    grouping: &Grouping,
    numbers: &Numbers,
) -> impl for<'a> Fn(&'a Table) -> Result<Cow<'a, Vec<(usize, f64)>>> + Send + Sync + use<> {
    let (source, grouping, numbers) = (source.clone(), grouping.clone(), numbers.clone());
    move |table| grouping.numbers(&source, table, &numbers.column, &*numbers.number).map(Cow::Owned)
}
/// Make a measurement that runs `release` on the rows of each group, by parallel composition. A row
/// is in at most one group.
fn of_each_group<MO, TO>(release: OfPairs<MO, TO>, groups: usize) -> Result<OfPairs<MO, Vec<TO>>>
where
    MO: Measure<Distance = f64>,
    TO: Carrier,
{
    let parts = Parts::by(|row: &(usize, f64)| Some(row.0));
    make_parallel_composition(release.input().clone(), parts, vec![release; groups])
}
/// Make the transformation from the rows of one group to their numbers. If there are bounds, the
/// numbers are clamped to the bounds.
fn of_cells<MO: BudgetMeasure>(
    query: &Query<'_, MO>,
    numbers: &Numbers,
) -> Result<Transformation<Pairs, SymmetricDistance, Column<f64>, SymmetricDistance>> {
    let name = &numbers.column;
    let cells = query.context.table().cells(name)?;
    if !cells.are_numbers() {
        return Err(no_numbers(name));
    }
    let missing = match numbers.missing {
        Some(value) => value,
        None if cells.nullable() => {
            return Err(wrong(format!(
                "`{name}` may hold missing values (NaN): state what replaces them, with \
                 `.impute(\"{name}\", value)`"
            )));
        }
        // A column of this type has no missing numbers, so the replacement value has no effect.
        None => 0.0,
    };
    let missing = (numbers.number)(missing);
    let cells = cells_alone()?.then(|cells| make_impute_constant(cells, missing))?;
    match numbers.bounds {
        Some((lower, upper)) => cells.then(|cells| make_clamp(cells, Bounds::new(lower, upper)?)),
        None => Ok(cells),
    }
}
/// Make the transformation that keeps only the number of each row. All rows belong to one group, so
/// the place of the group is not needed. The transformation acts on each row alone, so it is
/// 1-stable.
fn cells_alone() -> Result<Transformation<Pairs, SymmetricDistance, Column<f64>, SymmetricDistance>>
{
    let group = PairDomain::new(AtomDomain::default(), AtomDomain::default());
    let rows = Space::new(VectorDomain::new(group), SymmetricDistance)?;
    let drop = Function::rows(|rows: &[(usize, f64)], cells: &mut Vec<f64>| {
        cells.extend(rows.iter().map(|(_, cell)| *cell));
        Ok(())
    });
    Transformation::each_kept(rows, AtomDomain::default(), true, drop)
}
