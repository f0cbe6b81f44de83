//! Chains of transformations from a column to a statistic of its rows. Other functions of this file
//! make a measurement of tables from a measurement of a column.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use opendp_core::arith::{Directed, DirectedFloat, Exact, InfCast, Number};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Carrier, Domain, Error, Function, L1Distance, Measure,
    Measurement, Metric, PrivacyMap, RangeDistance, Result, Space, StabilityMap, SymmetricDistance,
    TheMeasure, Transformation, VectorDomain, ZeroConcentratedDivergence, order,
};
use opendp_measurements::accounting::{
    concentrated_epsilon, joined_epsilon, mu_squared_of_choices,
};
use opendp_measurements::{Scale, Selects, make_composition};
use opendp_transformations::{Alpha, increase};

use super::draft::{Bound, Built, Dials, Losses, OfTable, Square, TableMap};
use super::{BudgetMeasure, Noisy, Table, TableDomain};
use crate::private_quantiles::{levels, rank_bound};
use crate::{make_private_quantile, make_private_quantiles};

pub(super) type Column<T> = VectorDomain<AtomDomain<T>>;
pub(super) type ColumnSpace<T> = Space<Column<T>, SymmetricDistance>;
pub(super) type Step<T> =
    Transformation<Column<T>, SymmetricDistance, Column<T>, SymmetricDistance>;
pub(super) type OfRows<T, DO, M> = Transformation<Column<T>, SymmetricDistance, DO, M>;
pub(super) type OfColumn<T, MO, TO> = Measurement<Column<T>, SymmetricDistance, MO, TO>;

/// The steps from a column to the rows of a statistic.
#[derive(Clone)]
pub(super) enum Chain<T: Atom> {
    Start(ColumnSpace<T>),
    Steps(Step<T>),
}
impl<T: Atom> Chain<T> {
    pub(super) fn space(&self) -> &ColumnSpace<T> {
        match self {
            Chain::Start(space) => space,
            Chain::Steps(steps) => steps.output(),
        }
    }
    pub(super) fn step(
        &self,
        next: impl FnOnce(ColumnSpace<T>) -> Result<Step<T>>,
    ) -> Result<Self> {
        self.total(next).map(Chain::Steps)
    }
    pub(super) fn total<DO: Domain, M: Metric>(
        &self,
        next: impl FnOnce(ColumnSpace<T>) -> Result<OfRows<T, DO, M>>,
    ) -> Result<OfRows<T, DO, M>> {
        match self {
            Chain::Start(space) => next(space.clone()),
            Chain::Steps(steps) => steps.then(next),
        }
    }
    pub(super) fn measure<MO: Measure, TO: Carrier>(
        &self,
        next: impl FnOnce(ColumnSpace<T>) -> Result<OfColumn<T, MO, TO>>,
    ) -> Result<OfColumn<T, MO, TO>> {
        match self {
            Chain::Start(space) => next(space.clone()),
            Chain::Steps(steps) => steps.then(next),
        }
    }
}

pub(super) fn wrong(reason: String) -> Error {
    Error::MakeTransformation(reason)
}
pub(super) fn bounded<T: Atom>(what: &str, name: &str, chain: &Chain<T>) -> Result<()> {
    if chain.space().domain().element().bounds().is_some() {
        return Ok(());
    }
    Err(wrong(format!(
        "a {what} needs bounds on `{name}`, which limit the contribution of one person: add \
         `.clamp(lower, upper)` before the {what}"
    )))
}
pub(super) fn sized<T: Atom>(what: &str, chain: &Chain<T>) -> Result<()> {
    if chain.space().domain().size().is_some() {
        return Ok(());
    }
    Err(wrong(format!(
        "a {what} needs a known number of rows: add `.resize(n)` or ask for a count and a sum"
    )))
}
/// Make the transformation that treats counts as scores. The counts stay unchanged, and the output
/// metric is [`RangeDistance`].
///
/// # Proof
/// The range of the changes of all counts is the largest change minus the smallest change. This
/// range is at most the sum of the magnitudes of all changes. If the largest and the smallest
/// change have the same sign, the range is at most the larger of their two magnitudes. Otherwise,
/// the range is the sum of their two magnitudes.
pub(super) fn as_scores(
    counts: Space<Column<i64>, L1Distance<i64>>,
) -> Result<Transformation<Column<i64>, L1Distance<i64>, Column<i64>, RangeDistance<i64>>> {
    let scores = Space::new(counts.domain().clone(), RangeDistance::new())?;
    let same = Function::map(|counts: &Vec<i64>| Ok(counts.clone()));
    Ok(Transformation::new(counts, scores, same, StabilityMap::new(|d_in| Ok(*d_in))))
}

/// Make the function that sorts the chosen candidates of several quantiles. The list of quantiles
/// is in increasing order, so the `i`-th smallest candidate is the answer for the `i`-th quantile.
fn sorted<T: Atom>() -> Result<Function<Vec<T>, Vec<T>>> {
    Ok(Function::map(|chosen: &Vec<T>| Ok(order::sorted(chosen))))
}
/// Bound the errors in rank of one or more quantiles: `scale ln(n / alpha)`. Here `n` is `choices`:
/// the number of candidates times the number of quantiles.
///
/// # Proof
/// [`make_private_quantile`](crate::make_private_quantile) documents the bound for one quantile. By
/// the union bound over the quantiles, the errors of all chosen candidates are at most
/// `scale ln(n / alpha)`, except with probability `alpha`. This bound also holds for the sorted
/// candidates. Measure all distances in ranks. None of the first `i` chosen candidates exceeds the
/// `i`-th quantile by more than this bound. So the `i`-th smallest candidate does not exceed this
/// quantile by more than the bound. Also, none of the chosen candidates from the `i`-th on is below
/// the `i`-th quantile by more than this bound. So the `i`-th smallest candidate is not below this
/// quantile by more than the bound.
pub(super) fn quantile_bound(choices: usize) -> Bound {
    Arc::new(move |scale: Scale, alpha: f64| {
        let logarithm = f64::inf_cast(choices)?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?;
        logarithm.inf_mul(scale.value())
    })
}
/// From this number of quantiles on, one release of all quantiles is better than a separate release
/// of each quantile. Separate releases make one choice after another, one for each quantile. One
/// release of at least this many quantiles makes several choices at once, so there are fewer
/// successive steps.
pub(super) const SEVERAL: usize = 3;
/// Return the number of successive choices that choose `quantiles` quantiles, if the losses of
/// these choices have equal ranges. Return `None` for two quantiles, because the losses of the two
/// choices can have different ranges.
pub(super) fn levels_of(quantiles: usize) -> Option<u32> {
    let levels = match quantiles {
        1 => Some(1),
        count if SEVERAL <= count => Some(levels(count)),
        _ => None,
    };
    levels.and_then(|levels| u32::try_from(levels).ok())
}
/// Bound the errors in rank of several quantiles. The bound holds for each quantile separately,
/// except with probability `alpha`.
pub(super) fn quantiles_bound(candidates: usize, alphas: &[f64]) -> Bound {
    if alphas.len() < SEVERAL {
        return quantile_bound(candidates.saturating_mul(alphas.len()));
    }
    let alphas = alphas.to_vec();
    // The search for the noise calls the bound for many scales, and for one `alpha`.
    let last: Mutex<Option<(f64, f64)>> = Mutex::new(None);
    Arc::new(move |scale: Scale, alpha: f64| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = match *last {
            Some((same, bound)) if same == alpha => bound,
            _ => rank_bound(candidates, &alphas, alpha)?,
        };
        *last = Some((alpha, bound));
        bound.inf_mul(scale.value())
    })
}
/// Make a measurement that chooses candidates for several quantiles of rows. The chosen candidates
/// are in increasing order.
pub(super) fn several<T: Atom + Number, MB: Selects>(
    rows: ColumnSpace<T>,
    measure: MB,
    candidates: &[T],
    alphas: &[f64],
    scale: Scale,
) -> Result<OfColumn<T, MB, Vec<T>>> {
    increasing(alphas)?;
    if SEVERAL <= alphas.len() {
        let (measure, candidates) = (TheMeasure(measure), candidates.to_vec());
        return make_private_quantiles(rows, measure, candidates, alphas.to_vec(), scale);
    }
    let mut choices = Vec::with_capacity(alphas.len());
    for alpha in alphas {
        let (measure, alpha) = (TheMeasure(measure.clone()), Alpha::new(*alpha)?);
        let candidates = candidates.to_vec();
        choices.push(make_private_quantile(rows.clone(), measure, candidates, alpha, scale)?);
    }
    make_composition(choices)?.then(sorted)
}
pub(super) fn increasing(alphas: &[f64]) -> Result<()> {
    if !alphas.is_empty() && increase(alphas) {
        return Ok(());
    }
    let reason = "expected quantiles in increasing order, such as [0.25, 0.5, 0.75]";
    Err(Error::argument("alphas", reason))
}

/// A transformation whose input is a table.
pub(super) type TableTotal<DO, M> = Transformation<TableDomain, SymmetricDistance, DO, M>;

/// Make a transformation of tables from a transformation of rows. `read` computes the rows of a
/// table, and must be 1-stable: it must not increase distances. Each method of
/// [`Source`](super::table::Source) and of `Grouping` (in `groups/keys.rs`) that computes rows is
/// 1-stable.
pub(super) fn total_of_tables<D: Domain, DO: Domain, M: Metric>(
    space: &Space<TableDomain, SymmetricDistance>,
    total: Transformation<D, SymmetricDistance, DO, M>,
    read: impl for<'a> Fn(&'a Table) -> Result<Cow<'a, D::Carrier>> + Send + Sync + 'static,
) -> TableTotal<DO, M> {
    let (output, map) = (total.output().clone(), total.stability_map().clone());
    let function = Function::map(move |table: &Table| total.invoke(&*read(table)?));
    Transformation::new(space.clone(), output, function, map)
}
/// Return `total` with another map: the map of `total`, evaluated at half of the input distance
/// (rounded up). All input tables have the same public size.
///
/// # Precondition
/// If `k` rows of a table are replaced, the output changes by at most the value of the map at
/// distance `k`.
///
/// # Proof
/// Two tables of the same size at symmetric distance `d_in` differ in `d_in / 2` replaced rows.
pub(super) fn halved<DO: Domain, M: Metric>(total: TableTotal<DO, M>) -> TableTotal<DO, M> {
    let map = total.stability_map().clone();
    let replaced = StabilityMap::new(move |d_in: &u32| map.eval(&d_in.div_ceil(2)));
    let (input, output) = (total.input().clone(), total.output().clone());
    Transformation::new(input, output, total.function().clone(), replaced)
}
/// Make a measurement of tables from a measurement of rows, as [`total_of_tables`] does for a
/// transformation.
pub(super) fn release_of_tables<D: Domain, MB: Measure, TO: Carrier>(
    space: &Space<TableDomain, SymmetricDistance>,
    release: Measurement<D, SymmetricDistance, MB, TO>,
    read: impl for<'a> Fn(&'a Table) -> Result<Cow<'a, D::Carrier>> + Send + Sync + 'static,
) -> OfTable<MB, TO> {
    let (measure, map) = (release.measure().clone(), release.privacy_map());
    let members = [release.clone()];
    let function = Function::map(move |table: &Table| release.invoke(&*read(table)?));
    Measurement::new(space.clone(), measure, function, map).with_accuracy_of(members)
}
/// State the loss of a release in the measure of the budget, by [`Accounted::lift`].
pub(super) fn of_base<MO: BudgetMeasure, TO: Carrier>(
    measure: &MO,
    release: &OfTable<MO::Base, TO>,
) -> Built<MO, TO> {
    Built::new(release, lifted(measure, release.privacy_map()))
}
fn lifted<MO: BudgetMeasure>(measure: &MO, base: TableMap<MO::Base>) -> Losses<MO> {
    let (exact, lift, lift_exact) = (base.clone(), measure.clone(), measure.clone());
    let map = PrivacyMap::new(move |d_in| lift.lifted(base.eval(d_in)?)).with_exact(move |d_in| {
        lift_exact.lifted_exact(exact.eval_exact(&lift_exact.base(), d_in)?)
    });
    Losses::stated(measure, map)
}
/// State the loss of a `mu`-GDP (Gaussian differentially private) release as an epsilon at a delta.
/// The function `squared` computes `mu^2` from the zero-concentrated loss `rho` of the release. For
/// continuous Gaussian noise, `squared` is [`squared_of_gaussian`].
pub(super) fn of_normal<MO: BudgetMeasure, TO: Carrier>(
    measure: &MO,
    release: &OfTable<ZeroConcentratedDivergence, TO>,
    delta: f64,
    squared: fn(&Exact) -> Result<Exact>,
) -> Built<MO, TO> {
    Built::new(release, normal(measure, rho_of(release.privacy_map()), delta, squared))
}
fn normal<MO: BudgetMeasure>(
    measure: &MO,
    rho: Square,
    delta: f64,
    squared: fn(&Exact) -> Result<Exact>,
) -> Losses<MO> {
    let mu_squared: Square = Arc::new(move |d_in: &u32| squared(&rho(d_in)?));
    let (square, lift) = (mu_squared.clone(), measure.clone());
    let map = PrivacyMap::new(move |d_in: &u32| {
        let mu = square(d_in)?.to_f64_up().inf_sqrt()?;
        lift.lifted_approximate((joined_epsilon(0.0, mu, delta)?, delta))
    });
    Losses { mu_squared: Some(mu_squared), ..Losses::stated(measure, map) }
}
/// State the loss of Gaussian noise as an epsilon at a delta. The noise was added to a number by
/// [`gaussian_on`], or to several counts by `Counts::gaussian`. If the noise is discrete, the `rho`
/// of the release determines the stated loss.
pub(super) fn of_gaussian<MO: BudgetMeasure, TO: Carrier>(
    measure: &MO,
    release: &OfTable<ZeroConcentratedDivergence, TO>,
    (delta, discrete): (f64, bool),
) -> Built<MO, TO> {
    if !discrete {
        return of_normal(measure, release, delta, squared_of_gaussian);
    }
    Built::new(release, concentrated(measure, rho_of(release.privacy_map()), delta))
}
fn concentrated<MO: BudgetMeasure>(measure: &MO, rho: Square, delta: f64) -> Losses<MO> {
    let (stated, lift) = (rho.clone(), measure.clone());
    let map = PrivacyMap::new(move |d_in: &u32| {
        let epsilon = concentrated_epsilon(stated(d_in)?.to_f64_up(), delta)?;
        lift.lifted_approximate((epsilon, delta))
    });
    Losses { discrete: Some(rho), ..Losses::stated(measure, map) }
}
/// Make a measurement that adds Gaussian noise to a number. On integers, the noise is discrete if
/// `dials.discrete` is `true`.
pub(super) fn gaussian_on<MO: BudgetMeasure, N: Noisy<MO>>(
    number: Space<AtomDomain<N>, AbsoluteDistance<N>>,
    dials: Dials,
) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, ZeroConcentratedDivergence, N>> {
    match dials.discrete {
        true => N::discrete_gaussian(number, dials.scale),
        false => N::gaussian(number, dials.scale),
    }
}
/// State the loss of a release that chooses among candidates by Gumbel noise. The loss is stated as
/// an epsilon at a delta.
///
/// # Proof of `mu_squared_of_choices`
/// A release of choices by Gumbel noise is an adaptive composition of choices. In a parallel
/// composition, each row is in at most one part. Fix how many changed rows fall into each part.
/// Then the parallel composition is an adaptive composition of choices. For these numbers of rows,
/// the sum of the `rho` of all parts is at most the `rho` of the parallel composition. So
/// `mu_squared_of_choices` computes an upper bound on `mu^2` from the `rho` of the release.
///
/// # Proof of the number of choices
/// A release makes its choices in successive steps, called levels. One level can make several
/// choices at once. Suppose that `choices` states the number `k` of levels. Then each level has the
/// same `rho`, and the choices on one level do not depend on each other. The range of the loss of
/// one choice is proportional to the number of changed rows on which the choice depends. A row can
/// be divided among the choices on one level, and then each choice counts a fraction of the row.
/// Each choice depends on a number of changed rows. So on one level, these numbers add up to at
/// most the number of all changed rows. The ranges of independent choices add up. So the range of
/// the losses of each level is at most the range `r` of one choice that depends on all changed
/// rows. The `rho` of the level is stated as `r^2 / 8`. Let `rho` be the `rho` of the release,
/// which is the sum over the `k` levels. Each level has `rho / k`, so `r` is `sqrt(8 rho / k)`.
pub(super) fn of_choices<MO: BudgetMeasure, TO: Carrier>(
    measure: &MO,
    release: &OfTable<ZeroConcentratedDivergence, TO>,
    (delta, choices): (f64, Option<u32>),
) -> Built<MO, TO> {
    let rho = rho_of(release.privacy_map());
    let losses = normal(measure, rho.clone(), delta, mu_squared_of_choices);
    Built::new(release, Losses { rho: Some(rho), choices, ..losses })
}
/// Return the function that computes the `rho` of a release.
fn rho_of(map: TableMap<ZeroConcentratedDivergence>) -> Square {
    Arc::new(move |d_in: &u32| {
        match map.eval_exact(&ZeroConcentratedDivergence, d_in)?.as_slice() {
            [rho] => Ok(rho.clone()),
            parts => Err(Error::FailedMap(format!(
                "the number of parts of a loss: expected 1, found {}",
                parts.len()
            ))),
        }
    })
}
/// Compute the `mu^2` of continuous Gaussian noise from its `rho`: `2 rho`.
///
/// # Proof
/// The postcondition of `make_continuous_gaussian` states that a release is `mu`-GDP, and that the
/// `rho` of the release is exactly `mu^2 / 2`. The other releases to which this function is applied
/// are parallel compositions of releases of `make_continuous_gaussian`. Let `k` be the number of
/// parts, and let `mu_i` be the `mu` of part `i`. Fix how many changed rows fall into each of the
/// `k` parts. Then the composition is `sqrt(mu_1^2 + ... + mu_k^2)`-GDP (Dong, Roth, Su 2022,
/// Corollary 3.3). For all these numbers of rows, the `rho` of the composition is at least the sum
/// of the `mu_i^2 / 2`. So `2 rho` is at least the square of the `mu` of the composition.
pub(super) fn squared_of_gaussian(rho: &Exact) -> Result<Exact> {
    Ok(rho.plus(rho))
}
