//! Scores each candidate by the distance between the ranks of the candidate and the rank of a
//! quantile.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, MetricOn, RangeDistance, Result, Space, Transformation,
    VectorDomain,
};

use super::quantile_score_candidates::{ScoreDistance, scored};
use crate::Alpha;
use crate::quantile::ranks::Equal;

/// Score each candidate by the distance between the ranks of the candidate and the rank of a
/// quantile.
///
/// A candidate that is equal to many records has all their ranks. If the rank of the quantile is
/// one of these ranks, the score of the candidate is 0. So a candidate that is equal to the
/// quantile always has the score 0. A selection mechanism that prefers low scores probably releases
/// a candidate near the quantile. To prefer low scores, set the argument `negate` of the selection
/// to `true`, or its argument `optimize` to `"min"`.
///
/// # Arguments
/// * `candidates` - the values that can be released, in increasing order
/// * `alpha` - the quantile level: a number from 0 to 1, or a pair `[numerator, denominator]`
///
/// # Precondition
/// The same as for [`make_quantile_score_candidates`](super::make_quantile_score_candidates).
///
/// # Function
/// Let `n` be the number of records, and let `a / b` be the fraction that
/// [`make_quantile_score_candidates`](super::make_quantile_score_candidates) uses for `alpha`. Let
/// `#(x < c)` be the number of records below `c`. The numbers `#(x <= c)` and `#(x > c)` are
/// defined in the same way. For a candidate `c`, take the interval from `#(x < c)` to `#(x <= c)`.
/// The score of `c` is the distance of this interval from the ideal rank `a n / b`, times `b`:
///
/// `max(0, b * #(x < c) - a * n, a * n - b * #(x <= c))`.
///
/// The score is computed exactly in 128 bits. A score that does not fit `u64` becomes the largest
/// `u64`.
///
/// # Postcondition
/// The output contains the score of each candidate, in the same order. The output space states that
/// the lowest score is the best.
///
/// # Map
/// The same as for [`make_quantile_score_candidates`](super::make_quantile_score_candidates). Let
/// `d` be `2 * d_in` if the metric counts replaced records, and otherwise `d_in`. The largest
/// change of a score is at most `d * max(a, b - a)` if the size is unknown, and
/// `floor(d / 2) * b` if the size is known. This is the map for `LInfDistance`. If `a / b` is 0 or
/// 1, the map for `RangeDistance` equals this bound. For any other `a / b`, the map for
/// `RangeDistance` is twice this bound.
///
/// # Proof
/// Let `A(c) = b * #(x < c) - a * n` and `B(c) = a * n - b * #(x <= c)`. The score is
/// `max(0, A(c), B(c))`. If each of three numbers changes by at most `t`, the largest of these
/// numbers also changes by at most `t`. Saturation does not increase a change. So it is enough to
/// bound the changes of `A(c)` and `B(c)`.
///
/// *Unknown size.* Let a record `x` be added. Then `A(c)` changes by `b - a` if `x < c`, and
/// otherwise by `-a`. `B(c)` changes by `a` if `x > c`, and otherwise by `-(b - a)`. If `x` is
/// removed, the changes have the opposite signs. So each score changes by at most `max(a, b - a)`.
/// In `d` such steps, each score changes by at most `d * max(a, b - a)`.
///
/// *Known size.* The data sets differ by at most `floor(d / 2)` replacements. A replacement changes
/// `#(x < c)` and `#(x <= c)` by at most 1 each, and does not change `n`. So the replacement
/// changes `A(c)` and `B(c)` by at most `b` each.
///
/// *Range.* The changes of two scores differ by at most twice the largest change. If `a = 0`, the
/// score is `b * #(x < c)`. If `a = b`, the score is `b * #(x > c)`. In these two cases,
/// [`make_quantile_score_candidates`](super::make_quantile_score_candidates) has the same scores.
/// So the proof there also holds here.
///
/// If no record is equal to a candidate, both constructors compute the same scores. So data sets
/// without such records attain the bounds of both constructors.
///
/// # Errors
/// The same as for [`make_quantile_score_candidates`](super::make_quantile_score_candidates).
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::{Alpha, make_quantile_rank_scores};
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let candidates = vec![32, 40, 47, 65];
/// let median = make_quantile_rank_scores::<_, _, RangeDistance<u64>>(
///     input,
///     candidates,
///     Alpha::new(0.5)?,
/// )?;
/// // Four records are 32, five are 47, and one is 65. The median has the rank 5.
/// let ages = [vec![32; 4], vec![47; 5], vec![65]].concat();
/// assert_eq!(median.invoke(&ages)?, [2, 2, 0, 8]); // twice the distances 1, 1, 0 and 4
/// assert_eq!(median.map(&1)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_quantile_rank_scores<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    candidates: Vec<T>,
    alpha: Alpha,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<u64>>, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: ScoreDistance,
{
    scored(input, candidates, alpha, Equal::Ranks)
}

register! {
    "quantile_rank_scores.rs": make_quantile_rank_scores(input, candidates, alpha)
        for T in numbers, M in dataset_metrics, MO in [RangeDistance<u64>];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::score_checks::{ALPHAS, make};
    use opendp_core::{LInfDistance, SymmetricDistance, laws};

    #[test]
    fn scores_are_the_distances_from_the_ranks_of_the_candidate() {
        for alpha in ALPHAS {
            let made = make::<SymmetricDistance, LInfDistance<u64>>(
                Equal::Ranks,
                None,
                &[0, 1, 2, 3],
                alpha,
            );
            for data in laws::vectors(&[-1, 0, 1, 3, 4], 5) {
                let (a, b, n) = (alpha.0 as i64, alpha.1 as i64, data.len() as i64);
                let count =
                    |keep: &dyn Fn(i32) -> bool| data.iter().filter(|x| keep(**x)).count() as i64;
                let expected = [0, 1, 2, 3].map(|c| {
                    let (first, last) = (count(&|x| x < c), count(&|x| x <= c));
                    // Compute the distance between the ideal rank and the nearest rank of the
                    // candidate, times `b`.
                    (first..=last).map(|rank| (b * rank - a * n).unsigned_abs()).min().unwrap()
                });
                let found = made.invoke(&data).unwrap();
                for (found, nearest) in found.iter().zip(expected) {
                    // The ideal rank can be between two ranks of the candidate.
                    assert!(*found <= nearest && nearest - *found < b as u64, "{data:?}");
                    assert!(*found == nearest || *found == 0, "{data:?}");
                }
            }
        }
    }
    /// No candidate can have a lower score than the quantile, because no score is negative.
    #[test]
    fn the_quantile_itself_has_the_score_zero() {
        let data = [vec![32; 44], vec![47; 42], vec![65; 14]].concat();
        let candidates: Vec<i32> = (0..=100).collect();
        for alpha in ALPHAS {
            let made = make::<SymmetricDistance, RangeDistance<u64>>(
                Equal::Ranks,
                None,
                &candidates,
                alpha,
            );
            let rank = (alpha.0 * data.len() as u64).div_ceil(alpha.1).max(1);
            let quantile = data[rank as usize - 1];
            assert_eq!(made.invoke(&data).unwrap()[quantile as usize], 0, "{alpha:?}");
        }
        // The other constructor ignores equal records. It gives the candidate 40, between two
        // frequent values, a lower score than the median, 47.
        let input = Space::new(VectorDomain::default(), SymmetricDistance).unwrap();
        let alpha = Alpha::from_fraction(1, 2).unwrap();
        let other = super::super::make_quantile_score_candidates::<_, _, RangeDistance<u64>>(
            input, candidates, alpha,
        );
        let scores = other.unwrap().invoke(&data).unwrap();
        assert!(scores[40] < scores[47]);
    }
}
