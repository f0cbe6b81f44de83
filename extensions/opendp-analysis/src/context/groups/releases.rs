//! The releases that answer questions about groups.

use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::{
    AtomDomain, Bounds, Carrier, Function, Measure, Measurement, PairDomain, Result, Space,
    StabilityMap, SymmetricDistance, TheMeasure, Transformation, VectorDomain,
    ZeroConcentratedDivergence,
};
use opendp_measurements::{Parts, make_noise, make_parallel_composition};
use opendp_transformations::{
    make_clamp, make_count_by, make_count_by_categories, make_impute_constant, make_sum,
};

use super::super::chain::{
    Column, as_euclidean, gaussian_on_counts, levels_of, of_base, of_choices, of_gaussian,
    of_normal, on_tables, quantiles_bound, several, squared_of_gaussian, wrong,
};
use super::super::draft::{Build, Built, Dials, Draft, SELECTION};
use super::super::report::ErrorIn;
use super::super::table::Source;
use super::super::{Accounted, Choice, Noisy, Query, Statistic, WithDelta};
use super::keys::{Grouping, no_numbers, texts};

/// Rows. Each row is a pair: the place of its group, and a number.
type Pairs = VectorDomain<PairDomain<AtomDomain<usize>, AtomDomain<f64>>>;
type OfPairs<MO, TO> = Measurement<Pairs, SymmetricDistance, MO, TO>;

/// The shifted and clamped numbers of a column.
#[derive(Clone)]
pub(super) struct Numbers {
    pub(super) column: String,
    /// The number that replaces missing numbers before the shift.
    pub(super) missing: Option<f64>,
    /// The function that computes the number from a cell.
    pub(super) number: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    /// The bounds to which the number is clamped.
    pub(super) bounds: Option<(f64, f64)>,
}

/// Count the rows of each group.
pub(super) fn counts<'c, MO: Accounted>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    what: &str,
) -> Statistic<'c, MO, Vec<i64>> {
    let (source, grouping) = (query.source.clone(), grouping.clone());
    let space = query.context.space().clone();
    let build = || -> Result<Build<MO, Vec<i64>>> {
        let rows = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
        let groups = (0..grouping.count()).collect();
        let counts = make_count_by_categories::<_, _, MO::Norm, i64>(rows, groups, false)?;
        Ok(Box::new(move |dials| {
            let (source, grouping) = (source.clone(), grouping.clone());
            if let Some(delta) = dials.delta {
                let noisy = |counts| gaussian_on_counts(counts, dials);
                let release = counts.then(as_euclidean)?.then(noisy)?;
                let kind = (delta, dials.discrete);
                return Ok(of_gaussian(
                    on_tables(&space, release, move |release, table| {
                        release.invoke(&grouping.rows(&source, table)?)
                    }),
                    kind,
                ));
            }
            let measure = TheMeasure(MO::Base::default());
            let release = counts.then(|counts| make_noise(counts, measure, dials.scale, None))?;
            Ok(of_base(on_tables(&space, release, move |release, table| {
                release.invoke(&grouping.rows(&source, table)?)
            })))
        }))
    };
    let mut draft = query.part(what).draft(what.to_owned(), MO::NOISE, build());
    draft.noise = Some(<i64 as Noisy<MO>>::noise);
    Statistic::new(draft)
}
/// Sum numbers of the rows of each group.
pub(super) fn sums<'c, MO: Accounted>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    numbers: Numbers,
    what: &str,
) -> Statistic<'c, MO, Vec<f64>>
where
    f64: Noisy<MO>,
{
    let (source, grouping) = (query.source.clone(), grouping.clone());
    let space = query.context.space().clone();
    let build = || -> Result<Build<MO, Vec<f64>>> {
        let total = of_cells(&query, &numbers)?.then(make_sum)?;
        Ok(Box::new(move |Dials { scale, delta, .. }| {
            let read = reader(&source, &grouping, &numbers);
            if let Some(delta) = delta {
                let noisy = total.then(|sum| <f64 as Noisy<MO>>::gaussian(sum, scale))?;
                let release = of_each_group(noisy, grouping.count())?;
                return Ok(of_normal(
                    on_tables(&space, release, move |release, table| release.invoke(&read(table)?)),
                    delta,
                    squared_of_gaussian,
                ));
            }
            let noisy = total.then(|sum| <f64 as Noisy<MO>>::noisy(sum, scale))?;
            let release = of_each_group(noisy, grouping.count())?;
            Ok(of_base(on_tables(&space, release, move |release, table| {
                release.invoke(&read(table)?)
            })))
        }))
    };
    let mut draft = query.part(what).draft(what.to_owned(), MO::NOISE, build());
    draft.noise = Some(<f64 as Noisy<MO>>::noise);
    Statistic::new(draft)
}
/// Choose candidates for several quantiles of each group.
pub(super) fn quantiles<'c, MO: Accounted>(
    query: Query<'c, MO>,
    grouping: &Grouping,
    numbers: Numbers,
    (alphas, candidates): (Vec<f64>, Vec<f64>),
    what: &str,
) -> Choice<'c, MO, Vec<Vec<f64>>> {
    let (source, grouping) = (query.source.clone(), grouping.clone());
    let space = query.context.space().clone();
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
                return Ok(of_choices(
                    on_tables(&space, release, move |release, table| release.invoke(&read(table)?)),
                    (delta, levels),
                ));
            }
            let measure = MO::Base::default();
            let chosen = cells.then(|rows| several(rows, measure, &candidates, &alphas, scale))?;
            let release = of_each_group(chosen, grouping.count())?;
            Ok(of_base(on_tables(&space, release, move |release, table| {
                release.invoke(&read(table)?)
            })))
        }))
    };
    let mut draft = query.part(what).draft(what.to_owned(), SELECTION, build());
    draft.error_in = ErrorIn::Ranks;
    draft.bound = Some(bound);
    Choice::new(draft)
}
/// Count the rows of each key that enough people have.
pub(super) fn found<'c, MO: WithDelta>(
    query: Query<'c, MO>,
    names: &[String],
    what: &str,
) -> Statistic<'c, MO, HashMap<String, i64>> {
    let (source, names) = (query.source.clone(), names.to_vec());
    let space = query.context.space().clone();
    let build = || -> Result<Build<MO, HashMap<String, i64>>> {
        let rows = VectorDomain::new(AtomDomain::<String>::default());
        let counts = make_count_by::<_, _, i64>(Space::new(rows, SymmetricDistance)?)?;
        for name in &names {
            super::keys::refuse_nullable(name, query.context.table().cells(name)?.nullable())?;
        }
        Ok(Box::new(move |Dials { scale, threshold, .. }| {
            let release = counts.then(|counts| MO::threshold(counts, scale, threshold))?;
            let (source, names) = (source.clone(), names.clone());
            let run = move |release: &Measurement<Column<String>, _, MO, _>, table: &_| {
                release.invoke(&texts(&names, &source, table)?)
            };
            Ok(Built::stated(on_tables(&space, release, run)))
        }))
    };
    let mut draft: Draft<'c, MO, _> =
        query.part(what).draft(what.to_owned(), "Laplace, threshold", build());
    draft.threshold = true;
    draft.noise = Some(<i64 as Noisy<MO>>::noise);
    Statistic::new(draft)
}

type Reader = Arc<dyn Fn(&super::super::Table) -> Result<Vec<(usize, f64)>> + Send + Sync>;
fn reader(source: &Source, grouping: &Grouping, numbers: &Numbers) -> Reader {
    let (source, grouping, numbers) = (source.clone(), grouping.clone(), numbers.clone());
    Arc::new(move |table| grouping.numbers(&source, table, &numbers.column, &*numbers.number))
}
/// Run a measurement on the rows of each group. A row is in at most one group.
fn of_each_group<MO, TO>(release: OfPairs<MO, TO>, groups: usize) -> Result<OfPairs<MO, Vec<TO>>>
where
    MO: Measure<Distance = f64>,
    TO: Carrier,
{
    let parts = Parts::by(|row: &(usize, f64)| Some(row.0));
    make_parallel_composition(release.input().clone(), parts, vec![release; groups])
}
/// Make the steps from the rows of one group to numbers within bounds.
fn of_cells<MO: Accounted>(
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
                "`{name}` may hold missing values (NaN): say what stands for them, with \
                 `.impute(\"{name}\", value)`"
            )));
        }
        // The column has no missing numbers, so the replacement value has no effect.
        None => 0.0,
    };
    let missing = (numbers.number)(missing);
    let cells = cells_alone()?.then(|cells| make_impute_constant(cells, missing))?;
    match numbers.bounds {
        Some((lower, upper)) => cells.then(|cells| make_clamp(cells, Bounds::new(lower, upper)?)),
        None => Ok(cells),
    }
}
/// Drop the place of the group from each row, because all rows belong to one group.
fn cells_alone() -> Result<Transformation<Pairs, SymmetricDistance, Column<f64>, SymmetricDistance>>
{
    let group = PairDomain::new(AtomDomain::default(), AtomDomain::default());
    let rows = Space::new(VectorDomain::new(group), SymmetricDistance)?;
    let cells = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
    let drop = Function::rows(|rows: &[(usize, f64)], cells: &mut Vec<f64>| {
        cells.extend(rows.iter().map(|(_, cell)| *cell));
        Ok(())
    });
    Ok(Transformation::new(rows, cells, drop, StabilityMap::from_constant(1)))
}
