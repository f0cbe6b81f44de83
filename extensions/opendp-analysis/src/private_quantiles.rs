//! A measurement that chooses several quantiles from a list of candidates.

mod accuracy;
mod chooser;

use opendp_core::arith::Number;
use opendp_core::erased::{AnyDistance, AnyMeasurement};
use opendp_core::{
    Atom, DatasetMetric, Error, Function, MaxDivergence, Measurement, MetricOn, PrivacyMap, Result,
    Space, TheMeasure, ZeroConcentratedDivergence, order, register,
};
use opendp_measurements::{AnySelectionMeasure, Scale, Selects, make_noisy_max};
use opendp_transformations::{any_null, counts_in_cells, increase};

use crate::private_quantile::{Choose, Rows, scores};
pub(crate) use accuracy::rank_bound;
use chooser::Chooser;

/// The position of a quantile between two points is rounded to a multiple of `1 / UNIT`.
const UNIT: u64 = 1 << 30;
/// The largest number of steps into which the rows of one candidate are divided.
const MOST_STEPS: usize = 16;
/// The largest number of steps of all candidates together, for up to 8192 candidates. If there are
/// more candidates, each candidate has two steps.
const POINTS: usize = 1 << 14;

/// Make a measurement that releases several quantiles, chosen from a list of candidates.
///
/// The measurement first chooses the middle one of the quantiles. This choice divides the rows into
/// two parts. In the same way, the measurement then chooses the lower quantiles in the lower part,
/// and the higher quantiles in the upper part. If there are `n` quantiles, each row affects only
/// about `log2(n)` choices.
///
/// # Arguments
/// * `input` - vectors of numbers under a dataset metric, of known or unknown size
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `candidates` - the values that may be released, in any order. Candidates are public, so they
///   must not be taken from the data
/// * `alphas` - the levels of the quantiles, from 0 to 1, in increasing order
/// * `scale` - the scale of the noise of a median, in rows. At scale 0, no noise is added
///
/// # Precondition
/// Records are not NaN. There is at least one candidate. No candidate is NaN, and all candidates
/// are different. `scale` is finite and not negative.
///
/// # Function
/// *Points.* Sort the candidates. A candidate represents the rows that are equal to it. On each
/// side, it also represents half of the rows up to the next candidate. If there is no other
/// candidate on this side, it represents all rows there. The represented rows of each candidate are
/// divided into `t` equal steps, so a candidate has `t + 1` points. A step can contain a fraction
/// of a row. The position of a point is the number of rows below the point. It is 0 for the first
/// point, and the number of all rows for the last point. Here `t` is 16 for up to 1024 candidates.
/// For more candidates, `t` is smaller, but at least 2.
///
/// *Choices.* Let two points `A` and `B` have the levels `l` and `h`. To choose the quantiles
/// between the two points, take the middle one of these quantiles. Let `a` be the level of this
/// quantile, and `r = (a - l) / (h - l)`, rounded to a multiple of `2^-30`. Let `p_A` and `p_B` be
/// the positions of `A` and `B`. The score of a point from `A` to `B` is the distance between the
/// position of the point and `(1 - r) p_A + r p_B`.
/// [`make_noisy_max`](opendp_measurements::make_noisy_max) with noise of scale
/// `2 max(r, 1 - r) scale` chooses a point `C` with a low score. The candidate of this point is
/// released. The quantiles with lower levels are then chosen between `A` and `C`. The quantiles
/// with higher levels are chosen between `C` and `B`. At first, `A` is the first point and has the
/// level 0, and `B` is the last point and has the level 1.
///
/// # Postcondition
/// For any two members at distance at most `d_in`, the divergence of the releases, in the measure,
/// is at most `map(d_in)`. The released candidates are in increasing order.
///
/// # Map
/// Let `d` be the symmetric distance: `d_in`, or twice `d_in` when the metric counts replaced
/// records. Let `k` be the number of levels of choices: `1 + floor(log2(n))` for `n` quantiles. Let
/// `e = d / scale`, rounded up. Under the max-divergence, the loss is `k e`, rounded up. Under
/// zero-concentrated divergence, the loss is `k e^2 / 8`, rounded up.
///
/// # Proof
/// *Distance.* The release does not depend on the order of the rows. Members at distance at most
/// `d_in` in the metric are at symmetric distance at most `d`. So at most `d` rows are in only one
/// of the two members.
///
/// *One row.* The position of each point is a sum over rows. The term of a row is from 0 to 1, and
/// does not depend on other rows. The term does not decrease from one point to the next point. Take
/// a choice between `A` and `B`. Let `w` be the term of a row at `B` minus its term at `A`. Let `v`
/// be its term at a point minus its term at `A`. Then `0 <= v <= w`. The row adds `v - r w` to the
/// signed distance of the point from the target `(1 - r) p_A + r p_B`. So the row changes each
/// score by at most `w max(r, 1 - r)`. The range of the changes of all scores is at most
/// `2 w max(r, 1 - r)`. A score above the largest `u64` is replaced by this number. The replacement
/// does not increase a change.
///
/// *One choice.* Let `W` be the sum of `w` over the rows that are in only one of the two members.
/// The ranges for the single rows add up. So the range of the changes by all these rows is at most
/// `2 W max(r, 1 - r)`. Divided by the scale of the noise, this is at most `W / scale`. By the
/// proof of [`make_noisy_max`](opendp_measurements::make_noisy_max), the choice has a pure loss of
/// at most `W / scale`, or a `rho` of at most `(W / scale)^2 / 8`.
///
/// *One level.* The first choice is level 1. The next two choices are level 2, and so on. Take the
/// points that were chosen on all earlier levels, and the first and the last point, all in sorted
/// order. Given these points, the choices on one level are independent. Each choice is between two
/// adjacent points of this order, and different choices are between different pairs of points. So
/// for each row, the sum of its `w` over the choices of a level is at most 1. So the sum of the `W`
/// of these choices is at most `d`. Under the max-divergence, the sum of the losses is at most
/// `d / scale`. The sum of the squares of the `W` is at most `d^2`. So under zero-concentrated
/// divergence, the sum of the losses is at most `(d / scale)^2 / 8`.
///
/// *All levels.* The levels are an adaptive composition, and the bound of a level holds for all
/// outcomes of the earlier choices. So the losses of the `k` levels add up (Dwork, Roth 2014,
/// Theorem 3.16; Bun, Steinke 2016, Lemma 2.3). The step from chosen points to candidates is
/// post-processing. Kaplan, Schnapp, Stemmer 2022 also choose quantiles recursively. Their
/// algorithm drops the rows that are equal to a chosen quantile. This measurement divides these
/// rows into steps instead, so repeated values do not move other quantiles.
///
/// Let `rho` be the bound `(W / scale)^2 / 8` for the loss of one choice, given the earlier
/// choices. With Gumbel noise, the choice has Gaussian differential privacy: it is `mu`-GDP with
/// `mu^2 = pi rho`. Over the choices, both `rho` and `mu^2` add up. So `pi` times the sum of all
/// `rho` bounds the `mu^2` of the release. [`mu_squared_of_choices`] computes this bound.
///
/// [`mu_squared_of_choices`]: opendp_measurements::accounting::mu_squared_of_choices
///
/// # Errors
/// * `MakeTransformation` when there are no candidates, a candidate is NaN, two candidates are
///   equal, or records may be NaN
/// * `Argument` when `alphas` is empty, is not in increasing order, or has a number that is not
///   from 0 to 1
/// * `Overflow` when the noise scale of a choice exceeds all floats
/// * from the map: `Overflow` when `d` does not fit `u32`, or the loss exceeds all floats
///
/// # Example
/// ```
/// use opendp_analysis::make_private_quantiles;
/// use opendp_core::*;
/// use opendp_measurements::Scale;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let (measure, years) = (TheMeasure(ZeroConcentratedDivergence), (0..=100).collect());
/// let deciles: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
/// let release = make_private_quantiles(input, measure, years, deciles, Scale::new(2.0)?)?;
/// assert_eq!(release.map(&1)?, 0.125); // four levels, each with (1 / 2)^2 / 8
/// let ages = (0..10_000).map(|i| i % 100).collect();
/// assert!(release.invoke(&ages)?.is_sorted());
/// # Ok::<(), Error>(())
/// ```
pub fn make_private_quantiles<T, M, MO>(
    input: Space<Rows<T>, M>,
    output_measure: TheMeasure<MO>,
    candidates: Vec<T>,
    alphas: Vec<f64>,
    scale: Scale,
) -> Result<Measurement<Rows<T>, M, MO, Vec<T>>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<Rows<T>>,
    MO: Selects,
{
    let candidates = order::sorted(&candidates);
    let (count, nan) = (candidates.len(), input.domain().element().nan());
    let (choose, map) = choices(alphas, count, scale, &output_measure, input.metric())?;
    check(any_null(&candidates), nan, 0 < count && increase(&candidates))?;
    Ok(Measurement::new(input, output_measure.0, releasing(candidates, &choose), map))
}

register! {
    "private_quantiles.rs":
        make_private_quantiles(input, output_measure, candidates, alphas, scale)
        for T in numbers, M in dataset_metrics,
            MO in [MaxDivergence, ZeroConcentratedDivergence] as AnySelectionMeasure;
}

/// A function that chooses one candidate for each quantile. The input is the number of rows in each
/// [cell](counts_in_cells) of the candidates. The output is the indices of the chosen candidates.
type Choosing = Function<Vec<u64>, Vec<usize>>;
/// Return the function that releases the chosen candidates. The candidates are sorted.
fn releasing<T: Atom + Number>(candidates: Vec<T>, choose: &Choosing) -> Function<Vec<T>, Vec<T>> {
    let counts = counts_in_cells(candidates.clone());
    counts.then(choose).then(&Function::rows_at(candidates))
}
/// Return the function that chooses the candidates, and its map.
fn choices<M: DatasetMetric, MO: Selects>(
    alphas: Vec<f64>,
    candidates: usize,
    scale: Scale,
    measure: &TheMeasure<MO>,
    metric: &M,
) -> Result<(Choosing, PrivacyMap<M, MO>)> {
    let make = |scale| {
        let choice: Choose<MO> = make_noisy_max(scores()?, measure.clone(), scale, true)?;
        Ok((choice.function().clone(), choice.erase()))
    };
    let chooser = Chooser::new(&alphas, steps(candidates), scale, &make)?;
    let (levels, metric) = (chooser.levels.clone(), metric.clone());
    let (exact, same) = (levels.clone(), metric.clone());
    let map = PrivacyMap::new(move |d_in: &u32| loss_of(&levels, metric.to_symmetric(*d_in)?))
        .with_exact(move |d_in| exact.exact_map(&distance(same.to_symmetric(*d_in)?)));
    Ok((Function::map(move |cells: &Vec<u64>| chooser.choose(&halves_of(cells))), map))
}
fn loss_of(levels: &AnyMeasurement, d_in: u32) -> Result<f64> {
    levels.map(&distance(d_in))?.downcast_ref().copied()
}
/// Return a distance between scores.
fn distance(d_in: u32) -> AnyDistance {
    AnyDistance::new(u64::from(d_in))
}
/// Return the number of levels of choices for `count` quantiles.
pub(crate) fn levels(count: usize) -> usize {
    (usize::BITS - count.leading_zeros()) as usize
}
/// Divide the list `alphas` into the quantiles below the middle quantile, the middle quantile, and
/// the quantiles above the middle quantile.
fn halves(alphas: &[f64]) -> (&[f64], Option<f64>, &[f64]) {
    let (below, rest) = alphas.split_at(alphas.len() / 2);
    match rest.split_first() {
        Some((middle, above)) => (below, Some(*middle), above),
        None => (below, None, rest),
    }
}
/// Return the position of `alpha` between `low` and `high`: 0 at `low`, and `UNIT` at `high`.
fn part(alpha: f64, (low, high): (f64, f64)) -> u64 {
    let part = ((alpha - low) / (high - low) * UNIT as f64).round();
    (part.max(0.0) as u64).min(UNIT)
}
/// Compute the number of rows that each candidate represents, in units of half a row. The input is
/// the number of rows in each [cell](counts_in_cells) of the candidates.
fn halves_of(cells: &[u64]) -> Vec<u64> {
    let mut halves: Vec<u64> = Vec::with_capacity(cells.len() / 2);
    for cell in cells.windows(3).step_by(2) {
        // The rows below the candidate, the rows that are equal to it, and the rows above it.
        halves.push(cell[0].saturating_add(cell[1].saturating_mul(2)).saturating_add(cell[2]));
    }
    // Rows below all candidates, or above all candidates, have no other candidate.
    if let (Some(first), Some(below)) = (halves.first_mut(), cells.first()) {
        *first = first.saturating_add(*below);
    }
    if let (Some(last), Some(above)) = (halves.last_mut(), cells.last()) {
        *last = last.saturating_add(*above);
    }
    halves
}
/// Return the number of steps into which the rows of each candidate are divided.
fn steps(candidates: usize) -> usize {
    (POINTS / candidates.max(1)).clamp(2, MOST_STEPS)
}
/// Check that no candidate and no record is NaN, and that there are candidates without repetitions.
/// `distinct` states whether there are candidates, and all are different.
fn check(nan_candidate: bool, nan: bool, distinct: bool) -> Result<()> {
    let reason = if nan_candidate {
        "candidates: expected numbers, found NaN"
    } else if nan {
        "input: NaN has no order, so it has no quantiles: replace NaN first"
    } else if !distinct {
        "candidates: expected at least one number, and no number twice"
    } else {
        return Ok(());
    };
    Err(Error::MakeTransformation(reason.into()))
}
/// Compute the position of each point, in units of `1 / (2 steps)` of a row. The input is the
/// number of rows that each candidate represents, in units of half a row.
fn positions(halves: &[u64], steps: usize) -> Vec<u64> {
    let mut below = 0_u64;
    let mut positions = Vec::with_capacity(halves.len() * (steps + 1));
    let unit = steps as u64;
    for own in halves {
        for step in 0..=unit {
            let own = step.saturating_mul(*own);
            positions.push(unit.saturating_mul(below).saturating_add(own));
        }
        below = below.saturating_add(*own);
    }
    positions
}
/// Check that the levels of quantiles are from 0 to 1, and in increasing order.
fn ordered(alphas: &[f64]) -> Result<()> {
    let within = alphas.iter().all(|alpha| (0.0..=1.0).contains(alpha));
    if within && increase(alphas) {
        return Ok(());
    }
    let reason = "expected quantiles from 0 to 1 in increasing order, such as [0.25, 0.5, 0.75]";
    Err(Error::argument("alphas", reason))
}
#[cold]
fn no_alphas() -> Error {
    Error::argument("alphas", "expected at least one quantile, found none")
}

#[cfg(test)]
mod tests;
