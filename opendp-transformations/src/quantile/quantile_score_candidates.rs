//! Scores each candidate by its distance from a quantile.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Error, Function, LInfDistance, Metric, MetricOn,
    RangeDistance, Result, Space, StabilityMap, Transformation, VectorDomain,
};

use crate::Alpha;
use crate::increasing::{any_null, increase};
use crate::quantile::alpha::Fraction;
use crate::quantile::ranks::{Alphas, Equal, QuantileScores, Rule};
use crate::rows::clamp::may_be_nan;
use crate::rows::each::Input;
use crate::symmetric::Records;

/// Score each candidate by its distance from a quantile of the records.
///
/// The candidates near the quantile usually have the lowest scores. So select the lowest score: set
/// the argument `negate` of the selection to `true`, or its argument `optimize` to `"min"`.
///
/// The score leaves out the records that are equal to the candidate. So if many records are equal,
/// a candidate between two frequent values can have a lower score than the quantile itself. For
/// such data, use [`make_quantile_rank_scores`](super::make_quantile_rank_scores), which has the
/// same map.
///
/// # Arguments
/// * `candidates` - the values that can be released, in increasing order
/// * `alpha` - the quantile level: a number from 0 to 1, or a pair `[numerator, denominator]`
///
/// # Precondition
/// Records are not NaN. There is at least one candidate. No candidate is NaN, and each candidate is
/// greater than the previous candidate.
///
/// # Function
/// Let `n` be the number of records. Let `D` be 10000 when the size is unknown, and
/// `floor(u64::MAX / max(n, 1))` when the size is known. If the denominator of `alpha` is below
/// `D`, let `a / b` be `alpha`. Otherwise let `a / b` be `trunc(alpha * D) / D`. For a float
/// `alpha`, `D` and the product `alpha * D` are rounded to floats. Let `#(x < c)` be the number of
/// records below `c`. The numbers `#(x = c)` and `#(x > c)` are defined in the same way. The score
/// of the candidate `c` is
///
/// `|(b - a) * #(x < c) - a * #(x > c)| = |b * #(x < c) - a * (n - #(x = c))|`.
///
/// The score is the distance between the rank of `c` and the ideal rank, times `b`. The score is
/// computed exactly in 128 bits. A score that does not fit `u64` becomes the largest `u64`. The
/// counts themselves are not limited. Suppose that `#(x < c)` and `n - #(x = c)` were limited
/// separately. Then one of these two numbers could reach its limit while the other number does not.
/// In this case, one record could change the score by more than the map states.
///
/// # Postcondition
/// The output contains the score of each candidate, in the same order. The output space states that
/// the lowest score is the best.
///
/// # Map
/// If the metric counts replaced records, let `d` be `2 * d_in`. Otherwise let `d` be `d_in`. The
/// largest change of a score is at most
///
/// - unknown size: `d * max(a, b - a)`;
/// - known size: `floor(d / 2) * b`.
///
/// This bound is the map for `LInfDistance`. The flag `monotonic` of `LInfDistance` is `false`,
/// because some scores can increase while others decrease. If `a / b` is 0 or 1, the map for
/// `RangeDistance` equals this bound. For any other `a / b`, the map for `RangeDistance` is twice
/// this bound.
///
/// # Proof
/// Let `t(c) = (b - a) * #(x < c) - a * #(x > c)`. The score is `|t(c)|`.
///
/// *Unknown size.* Let a record `x` be added. Then `t(c)` changes by `b - a` if `x < c`, by `-a` if
/// `x > c`, and by zero if `x = c`. If `x` is removed, the change has the opposite sign. The
/// absolute value and saturation do not increase the distance between two numbers. So each score
/// changes by at most `max(a, b - a)`. In `d` such steps, each score changes by at most
/// `d * max(a, b - a)`.
///
/// *Known size.* The data sets differ by at most `floor(d / 2)` replacements. Let `x` be replaced
/// by `y > x`. Then `t(c)` changes by `-b` if `x < c < y`, by `a - b` if `c = y`, and by `-a` if
/// `c = x`. Otherwise `t(c)` does not change. The inverse replacement causes the opposite change.
/// So each replacement changes each score by at most `b`.
///
/// *Range.* The changes of two scores differ by at most twice the largest change. If `a = 0` then
/// the score is `b * #(x < c)`. An added record changes each score by 0 or `b`. A replacement by a
/// greater record changes each score by 0 or `-b`. The inverse steps change the scores in the other
/// direction. In each step, all scores change in one direction, even after saturation. So in one
/// step, the changes of two scores differ by at most `b`. The range of the changes is the largest
/// difference between the changes of two scores. The range satisfies the triangle inequality. So
/// the range of the total changes is at most the sum of the ranges of all steps. If `a = b` then
/// the score is `b * #(x > c)`, and the same argument holds with `<` and `>` exchanged.
///
/// If there are enough records, some candidates and data sets attain the bounds.
///
/// # Errors
/// `FailedFunction` when the input domain contains NaN. `MakeTransformation` when there are no
/// candidates, when a candidate is NaN, or when the candidates do not strictly increase. The map
/// returns `Overflow` when its value does not fit `u64`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::{Alpha, make_quantile_score_candidates};
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let median = make_quantile_score_candidates::<_, _, RangeDistance<u64>>(
///     input,
///     vec![0, 25, 50, 75, 100],
///     Alpha::new(0.5)?,
/// )?;
/// assert_eq!(median.invoke(&(0..=100).collect())?, [100, 50, 0, 50, 100]);
/// assert_eq!(median.map(&1)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_quantile_score_candidates<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    candidates: Vec<T>,
    alpha: Alpha,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<u64>>, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: ScoreDistance,
{
    scored(input, candidates, alpha, Equal::LeftOut)
}
/// Make the transformation of [`make_quantile_score_candidates`] or of
/// [`make_quantile_rank_scores`](super::make_quantile_rank_scores). Both have the same map.
pub(super) fn scored<T, M, MO>(
    input: Space<Records<T>, M>,
    candidates: Vec<T>,
    alpha: Alpha,
    equal: Equal,
) -> Result<Transformation<Records<T>, M, VectorDomain<AtomDomain<u64>>, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<Records<T>>,
    MO: ScoreDistance,
{
    check(input.domain(), &candidates)?;
    let alpha = alpha.for_size(input.domain().size());
    let (output, map) = scores(&input, candidates.len(), alpha)?;
    let rule = Rule::Scores(Alphas { alpha, equal });
    let function = Function::fold(QuantileScores::new(candidates, rule));
    Ok(Transformation::new(input, output, function, map))
}
type Scores<M, MO> = (Space<VectorDomain<AtomDomain<u64>>, MO>, StabilityMap<M, MO>);
/// Return the output space and the map. They do not depend on the type of the records.
fn scores<M: DatasetMetric, MO: ScoreDistance>(
    input: &dyn Input<M>,
    candidates: usize,
    alpha: Fraction,
) -> Result<Scores<M, MO>> {
    let domain = VectorDomain::new(AtomDomain::default()).with_size(candidates);
    let (metric, sized) = (input.metric().clone(), input.size().is_some());
    let map = StabilityMap::new(move |d_in: &u32| {
        sensitivity::<MO>(metric.to_symmetric(*d_in)?, sized, alpha)
    });
    Ok((Space::new(domain, MO::default())?.with_lowest_best(), map))
}

register! {
    "quantile_score_candidates.rs": make_quantile_score_candidates(input, candidates, alpha)
        for T in numbers,
            M in dataset_metrics,
            MO in [RangeDistance<u64>, LInfDistance<u64>] = RangeDistance<u64>;
}

/// A distance between vectors of scores. The largest change of a score gives a bound on this
/// distance.
pub trait ScoreDistance:
    Metric<Distance = u64> + Default + MetricOn<VectorDomain<AtomDomain<u64>>>
{
    /// Return an upper bound on the distance, given an upper bound `change` on the change of any
    /// score. If `in_one_direction` is `true`, three facts hold. The scores change in several
    /// steps. In each step, all scores change in one direction. The largest changes of the steps
    /// add up to at most `change`.
    ///
    /// # Errors
    /// `Overflow` when the bound does not fit `u64`.
    fn from_largest(change: u64, in_one_direction: bool) -> Result<u64>;
}
impl ScoreDistance for LInfDistance<u64> {
    fn from_largest(change: u64, _: bool) -> Result<u64> {
        Ok(change)
    }
}
impl ScoreDistance for RangeDistance<u64> {
    fn from_largest(change: u64, in_one_direction: bool) -> Result<u64> {
        if in_one_direction { Ok(change) } else { checked_product(change, 2) }
    }
}

fn check<T: Atom + Number>(records: &Records<T>, candidates: &[T]) -> Result<()> {
    if records.element().nan() {
        return Err(may_be_nan());
    }
    let reason = if candidates.is_empty() {
        "candidates: expected at least one value, found none"
    } else if any_null(candidates) {
        "candidates: expected numbers, found NaN"
    } else if !increase(candidates) {
        "candidates: expected strictly increasing values: sort them, and leave out repeats"
    } else {
        return Ok(());
    };
    Err(Error::MakeTransformation(reason.into()))
}

fn sensitivity<MO: ScoreDistance>(d_in: u32, sized: bool, alpha: Fraction) -> Result<u64> {
    let Fraction { numerator, denominator } = alpha;
    let rest = denominator - numerator;
    let change = match sized {
        true => checked_product(u64::from(d_in / 2), denominator)?,
        false => checked_product(d_in.into(), numerator.max(rest))?,
    };
    MO::from_largest(change, numerator == 0 || rest == 0)
}
fn checked_product(left: u64, right: u64) -> Result<u64> {
    left.checked_mul(right).ok_or_else(|| {
        Error::Overflow(format!("d_in: the sensitivity {left} * {right} does not fit u64"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::score_checks::make;
    use opendp_core::{SymmetricDistance, laws};

    #[test]
    fn scores_are_the_distances_from_the_quantile_times_its_denominator() {
        let check = |records: i32, alpha: (u64, u64), expected: &[u64]| {
            let data: Vec<i32> = (0..records).collect();
            let scores =
                make::<SymmetricDistance, RangeDistance<u64>>(Equal::LeftOut, None, &data, alpha);
            assert_eq!(scores.invoke(&data).unwrap(), expected);
        };
        check(5, (1, 2), &[4, 2, 0, 2, 4]);
        check(6, (1, 2), &[5, 3, 1, 1, 3, 5]);
        check(5, (1, 4), &[4, 0, 4, 8, 12]);
        check(6, (1, 4), &[5, 1, 3, 7, 11, 15]);
        let hundred: Vec<i32> = (0..100).collect();
        let median = [20, 33, 40, 50, 72, 100];
        let median =
            make::<SymmetricDistance, LInfDistance<u64>>(Equal::LeftOut, None, &median, (1, 2));
        assert_eq!(median.invoke(&hundred).unwrap(), [59, 33, 19, 1, 45, 100]);
    }
    #[test]
    fn maps_as_the_catalogue_lists_for_the_largest_change() {
        let map = |size, alpha, d: u32| {
            let domain = VectorDomain::new(AtomDomain::<i32>::default());
            let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
            let input = Space::new(domain, SymmetricDistance).unwrap();
            let alpha = Alpha::new(alpha).unwrap();
            make_quantile_score_candidates::<_, _, LInfDistance<u64>>(input, vec![0, 25], alpha)
                .unwrap()
                .map(&d)
                .unwrap()
        };
        assert_eq!([1, 2].map(|d| map(None, 0.5, d)), [1, 2]);
        assert_eq!((map(None, 0.75, 1), map(None, 0.9, 1)), (3, 9000));
        assert_eq!([1, 2, 3, 4].map(|d| map(Some(100), 0.75, d)), [0, 4, 4, 8]);
        let linf = sensitivity::<LInfDistance<u64>>;
        let fraction = |numerator, denominator| Fraction { numerator, denominator };
        assert_eq!(linf(1, false, fraction(2, 3)), Ok(2));
        assert_eq!(linf(3, true, fraction(1, 2)), Ok(2));
        assert_eq!(linf(2, true, fraction(2, 3)), Ok(3));
    }
    #[test]
    fn takes_floats_of_every_kind() {
        let input =
            Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance).unwrap();
        let scores = make_quantile_score_candidates::<f64, _, RangeDistance<u64>>(
            input,
            vec![f64::NEG_INFINITY, -0.0, 5e-324],
            Alpha::new(0.3).unwrap(),
        )
        .unwrap();
        let alphabet = [f64::NEG_INFINITY, -0.0, 0.0, 5e-324, f64::MAX];
        assert!(laws::all(&scores, &alphabet, 3).unwrap() > 0);
    }
    #[track_caller]
    fn refuse(domain: Records<f64>, candidates: &[f64], kind: &str, gist: &str) {
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_quantile_score_candidates::<_, _, RangeDistance<u64>>(
            input,
            candidates.to_vec(),
            Alpha::new(0.5).unwrap(),
        )
        .unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(gist), "{error}");
    }
    #[test]
    fn refuses_candidates_that_are_not_in_order_and_records_that_may_be_nan() {
        let domain = || VectorDomain::new(AtomDomain::non_nan());
        refuse(domain(), &[], "MakeTransformation", "candidates");
        refuse(domain(), &[1.0, 0.0], "MakeTransformation", "increasing");
        refuse(domain(), &[-0.0, 0.0], "MakeTransformation", "increasing");
        refuse(domain(), &[f64::NAN], "MakeTransformation", "NaN");
        refuse(VectorDomain::new(AtomDomain::default()), &[0.0], "FailedFunction", "NaN");
    }
    #[test]
    fn gives_an_error_when_the_sensitivity_does_not_fit() {
        let scores = make::<SymmetricDistance, RangeDistance<u64>>(
            Equal::LeftOut,
            Some(1),
            &[0],
            (1, u64::MAX),
        );
        assert_eq!(scores.map(&1), Ok(0));
        assert_eq!(scores.map(&2).unwrap_err().kind(), "Overflow");
    }
}
