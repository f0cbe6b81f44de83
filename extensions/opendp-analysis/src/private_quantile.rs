//! A measurement that chooses a quantile from a list of candidates.

use opendp_core::arith::{Directed, InfCast, Number};
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Function, MaxDivergence, Measurement, MetricOn, RangeDistance,
    Result, Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence, order, register,
};
use opendp_measurements::{AnySelectionMeasure, Scale, Selects, make_noisy_max};
use opendp_transformations::{Alpha, make_quantile_rank_scores};

pub(crate) type Rows<T> = VectorDomain<AtomDomain<T>>;
/// A measurement that chooses the index of a low score.
pub(crate) type Choose<MO> =
    Measurement<VectorDomain<AtomDomain<u64>>, RangeDistance<u64>, MO, usize>;

/// Make a measurement that releases a quantile, chosen from a list of candidates.
///
/// The score of a candidate is the distance between its ranks and the rank of the quantile. A
/// candidate that is equal to many records has all their ranks. The measurement adds noise to the
/// scores, and releases the candidate whose noisy score is least.
///
/// # Arguments
/// * `input` - vectors of numbers under a dataset metric, of known or unknown size
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `candidates` - the values that may be released, in any order. Candidates are public, so they
///   must not be taken from the data
/// * `alpha` - the level of the quantile: a number from 0 to 1, or a pair
///   `[numerator, denominator]`
/// * `scale` - the scale of the noise, in rows. At scale 0, no noise is added
///
/// # Precondition
/// Records are not NaN. There is at least one candidate. No candidate is NaN, and all candidates
/// are different. `scale` is finite and not negative.
///
/// # Function
/// Let `a / b` be the fraction that
/// [`make_quantile_rank_scores`](opendp_transformations::make_quantile_rank_scores) uses
/// for `alpha`. Let `n` be the number of records. The score of a candidate `c` is
/// `max(0, b * #(x < c) - a * n, a * n - b * #(x <= c))`. Here `#(x < c)` is the number of records
/// below `c`, and `#(x <= c)` is the number of records that are not above `c`. So the score is `b`
/// times the distance between `a n / b` and the ranks of `c`. The product `b * scale` is rounded up
/// to a float.
/// [`make_noisy_max`](opendp_measurements::make_noisy_max) adds noise of this scale to each score,
/// and chooses the candidate with the lowest sum.
///
/// # Postcondition
/// For any two members at distance at most `d_in`, the divergence of the releases, in the measure,
/// is at most `map(d_in)`. The release is one of the candidates. At scale 0, the release is the
/// largest candidate with the lowest score.
///
/// # Map
/// Let `d` be the symmetric distance: `d_in`, or twice `d_in` when the metric counts replaced
/// records. Let `range` be `2 d max(a, b - a)` when the size is unknown, and `2 floor(d / 2) b`
/// when the size is known. If `a / b` is 0 or 1, `range` is half of this number. Let
/// `r = range / (b * scale)`, rounded up. Under the max-divergence, the loss is `r`. Under
/// zero-concentrated divergence, the loss is `r^2 / 8`, rounded up. If `range` is 0, the loss is 0.
/// At scale 0, the loss is infinite if `range` is above 0.
///
/// # Proof
/// The measurement is a chain of three steps, each with its own proof. First, the scores of members
/// at distance `d_in` are at most `range` apart under `RangeDistance`, by the proof of
/// [`make_quantile_rank_scores`](opendp_transformations::make_quantile_rank_scores).
/// Second, [`make_noisy_max`](opendp_measurements::make_noisy_max) bounds the loss of choosing an
/// index, for scores that are at most `range` apart. The product `b * scale` is rounded up to a
/// float. This float is the scale of the noise, and the map divides by the same float. So the
/// rounding does not make the map too small. Third, the released candidate is a function of the
/// chosen index and of a public list (Dwork, Roth 2014, Proposition 2.1). The order of the sorted
/// candidates does not depend on the data.
///
/// For `a / b` strictly between 0 and 1, the range of the changes of all scores is at most twice
/// the largest change of one score. If `a / b` is 0 or 1, each added, removed or replaced row
/// changes all scores in one direction. So the range is at most the largest change of one score.
///
/// # Accuracy
/// The distance in rank of a candidate is its score divided by `b`. Let `k` be the number of
/// candidates. Except with probability `beta`, this distance of the released candidate exceeds the
/// least distance of any candidate by at most `scale ln(k / beta)`. The proof is in
/// [`make_noisy_max`](opendp_measurements::make_noisy_max). No bound on the value itself holds for
/// all data.
///
/// # Errors
/// * `MakeTransformation` when there are no candidates, a candidate is NaN, or two candidates are
///   equal; `FailedFunction` when a record may be NaN; `Overflow` when `b * scale` exceeds all
///   floats
/// * from the map: `Overflow` when `d` does not fit `u32`, the range does not fit `u64`, or the
///   loss exceeds all floats
///
/// # Example
/// ```
/// use opendp_analysis::make_private_quantile;
/// use opendp_core::*;
/// use opendp_measurements::Scale;
/// use opendp_transformations::Alpha;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance)?;
/// let measure = TheMeasure(ZeroConcentratedDivergence);
/// let (candidates, alpha) = (vec![0.0, 50.0, 100.0], Alpha::new(0.5)?);
/// let median = make_private_quantile(input, measure, candidates, alpha, Scale::new(2.0)?)?;
/// assert_eq!(median.map(&1)?, 0.03125); // (1 / 2)^2 / 8
/// assert_eq!(median.invoke(&vec![50.0; 1000])?, 50.0); // except with probability 2 exp(-250)
/// # Ok::<(), Error>(())
/// ```
pub fn make_private_quantile<T, M, MO>(
    input: Space<Rows<T>, M>,
    output_measure: TheMeasure<MO>,
    candidates: Vec<T>,
    alpha: Alpha,
    scale: Scale,
) -> Result<Measurement<Rows<T>, M, MO, T>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<Rows<T>>,
    MO: Selects,
{
    let unit = alpha.denominator(input.domain().size());
    let candidates = order::sorted(&candidates);
    let scores = make_quantile_rank_scores(input, candidates.clone(), alpha)?;
    let choice = scores.then(|scores| make_choice(scores, output_measure, scale, unit))?;
    choice.then(|| Ok(Function::row_at(candidates)))
}

register! {
    "private_quantile.rs": make_private_quantile(input, output_measure, candidates, alpha, scale)
        for T in numbers, M in dataset_metrics,
            MO in [MaxDivergence, ZeroConcentratedDivergence] as AnySelectionMeasure;
}

/// Make a measurement that chooses a low score. A difference of `unit` between two scores stands
/// for one row. So the scale of the noise, in rows, is multiplied by `unit`.
fn make_choice<MO: Selects>(
    scores: Space<VectorDomain<AtomDomain<u64>>, RangeDistance<u64>>,
    output_measure: TheMeasure<MO>,
    scale: Scale,
    unit: u64,
) -> Result<Choose<MO>> {
    let scale = Scale::new(scale.value().inf_mul(f64::inf_cast(unit)?)?)?;
    make_noisy_max(scores, output_measure, scale, true)
}
/// Return the space of all lists of scores.
pub(crate) fn scores() -> Result<Space<VectorDomain<AtomDomain<u64>>, RangeDistance<u64>>> {
    Space::new(VectorDomain::new(AtomDomain::default()), RangeDistance::new())
}

#[cfg(test)]
pub(crate) mod tests;
