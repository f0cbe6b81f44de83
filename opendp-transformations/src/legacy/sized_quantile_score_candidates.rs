//! Scores of the candidates for a quantile of a known number of records, under the older name.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, LInfDistance, MetricOn, RangeDistance, Result, Space,
    Transformation, VectorDomain,
};

use crate::stated::known_size;
use crate::{Alpha, ScoreDistance, make_quantile_score_candidates};

/// Score each candidate by its distance from a quantile of a known number of records.
///
/// This is [`make_quantile_score_candidates`] for data sets whose size is public, under its older
/// name.
///
/// # Arguments
/// * `size` - the number of records; the size of the input when absent
/// * `candidates` - the values that may be released, in increasing order
/// * `alpha` - which quantile: a number from 0 to 1, or a pair `[numerator, denominator]`
///
/// # Precondition
/// The size of the input is known. Records are not NaN. There is at least one candidate, no
/// candidate is NaN, and each is greater than the one before.
///
/// # Function
/// With the fraction `a / b` that `make_quantile_score_candidates` uses for `alpha`, the score of
/// the candidate `c` is `|(b - a) * #(x < c) - a * #(x > c)|`.
///
/// # Postcondition
/// The output holds the score of each candidate, in order.
///
/// # Map
/// Let `d` be the symmetric distance, which is `d_in`, or `2 * d_in` when the metric counts
/// replaced records. The map gives `floor(d / 2) * b` for `LInfDistance`. For `RangeDistance` it
/// gives twice as much, or the same if `alpha` is 0 or 1.
///
/// # Proof
/// The proof of `make_quantile_score_candidates` for known size applies.
///
/// # Errors
/// `MakeTransformation` when the size is not known or is not `size`; and the errors of
/// `make_quantile_score_candidates`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::{Alpha, make_sized_quantile_score_candidates};
/// let five = VectorDomain::new(AtomDomain::<i32>::default()).with_size(5);
/// let median = make_sized_quantile_score_candidates::<_, _, RangeDistance<u64>>(
///     Space::new(five, ChangeOneDistance)?,
///     Some(5),
///     vec![0, 1, 2, 3, 4],
///     Alpha::new(0.5)?,
/// )?;
/// assert_eq!(median.invoke(&vec![0, 1, 2, 3, 4])?, [4, 2, 0, 2, 4]);
/// assert_eq!(median.map(&1)?, 4);
/// # Ok::<(), Error>(())
/// ```
pub fn make_sized_quantile_score_candidates<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    candidates: Vec<T>,
    alpha: Alpha,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<u64>>, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: ScoreDistance,
{
    let advice = "use `make_quantile_score_candidates`, or `make_resize` first";
    known_size(input.domain(), size, advice)?;
    make_quantile_score_candidates(input, candidates, alpha)
}

register! {
    "sized_quantile_score_candidates.rs":
        make_sized_quantile_score_candidates(input, size = null, candidates, alpha)
        for T in numbers,
            M in dataset_metrics,
            MO in [RangeDistance<u64>, LInfDistance<u64>] = RangeDistance<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{SymmetricDistance, laws};

    type Scores = Transformation<
        VectorDomain<AtomDomain<u8>>,
        SymmetricDistance,
        VectorDomain<AtomDomain<u64>>,
        RangeDistance<u64>,
    >;
    fn make(known: Option<usize>, stated: Option<usize>) -> Result<Scores> {
        let domain = VectorDomain::new(AtomDomain::default());
        let domain = if let Some(size) = known { domain.with_size(size) } else { domain };
        let input = Space::new(domain, SymmetricDistance)?;
        make_sized_quantile_score_candidates(input, stated, vec![1, 2, 255], Alpha::new(0.25)?)
    }

    #[test]
    fn obeys_the_laws() {
        let scores = make(Some(3), Some(3)).unwrap();
        assert!(laws::all(&scores, &[0, 1, 2, 254, 255], 3).unwrap() > 0);
        assert_eq!([1, 2, 4].map(|d| scores.map(&d).unwrap()), [0, 8, 16]);
    }
    #[test]
    fn takes_the_size_of_the_input_and_refuses_another() {
        assert!(make(Some(3), None).is_ok());
        for (known, stated, gist) in
            [(Some(3), Some(4), "size: expected 3"), (None, Some(3), "make_quantile_score")]
        {
            let error = make(known, stated).unwrap_err();
            assert_eq!(error.kind(), "MakeTransformation");
            assert!(error.to_string().contains(gist), "{error}");
        }
    }
}
