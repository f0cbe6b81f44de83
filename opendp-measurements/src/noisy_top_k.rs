//! The choice of several good candidates.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, Error, Function, LInfDistance, MaxDivergence, Measurement, MetricOn,
    PrivacyMap, Result, Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence, register,
};

use crate::gumbel_max::ScoreMetric;
use crate::samplers::{Optimize, Score};
use crate::selection::choose_some;
use crate::{Scale, SelectionMeasure};

/// Make a measurement that chooses the indices of several good scores, in the order of choice.
///
/// It chooses as [`make_noisy_max`](crate::make_noisy_max) does, removes the chosen candidate, and
/// chooses among the rest, with fresh noise each time.
///
/// # Arguments
/// * `input` - vectors of scores under the L-infinity distance
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `k` - how many to choose
/// * `scale` - the scale of the noise, in the unit of the scores; 0 for none
/// * `negate` - whether a small score is good, instead of a large one
///
/// # Precondition
/// That of [`make_noisy_max`](crate::make_noisy_max). If the length of the vectors is known, `k` is
/// at most that.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose divergence, in the measure, is at
/// most `map(d_in)`. A release has `k` indices, none twice, or all of them when there are fewer.
///
/// # Map
/// With `r = range / scale`, rounded up, the loss is `k r` under the max-divergence and `k r^2 / 8`,
/// each operation rounded up, under zero-concentrated divergence; `range` is `d_in` under a
/// `monotonic` distance, and `d_in + d_in`, rounded up, under any other. The loss is 0 for 0, and at
/// scale 0 infinite for all else.
///
/// # Proof
/// Take neighbours `u` and `v`; they have the same length because `d_in` is finite, so both release
/// equally many indices. Given the first indices of the release, the same candidates are left under
/// `u` and `v`, and the changes of their scores are some of all changes: no two of them differ by
/// more than `range`. By the proof of [`make_noisy_max`](crate::make_noisy_max) the next choice,
/// whose noise is fresh, loses at most `r`, or `r^2 / 8`. Losses of choices of which a later one
/// depends on the earlier ones add up, for the max-divergence (Dwork, Roth 2014, Theorem 3.16 and
/// after; here it is a product of conditional probabilities, each ratio at most `e^r`) and for
/// zero-concentrated divergence (Bun, Steinke 2016, Lemma 1.7). There are at most `k` choices.
///
/// # Errors
/// * `MakeMeasurement` when `k` exceeds the known number of scores
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when doubling
///   leaves the type of the distance or the loss exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_noisy_top_k};
/// let scores = VectorDomain::new(AtomDomain::<f64>::non_nan());
/// let input = Space::new(scores, LInfDistance::<f64>::new(true))?;
/// let best = make_noisy_top_k(input, TheMeasure(MaxDivergence), 2, Scale::new(0.5)?, false)?;
/// assert_eq!(best.map(&1.0)?, 4.0);
/// assert_eq!(best.invoke(&vec![0.0, 1e3, 1e6])?, [2, 1]); // but with probability exp(-2000)
/// # Ok::<(), Error>(())
/// ```
pub fn make_noisy_top_k<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    output_measure: TheMeasure<MO>,
    k: usize,
    scale: Scale,
    negate: bool,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, M, MO, Vec<usize>>>
where
    T: Atom + Number + Score,
    M: MetricOn<VectorDomain<AtomDomain<T>>> + ScoreMetric,
    MO: SelectionMeasure,
{
    if let Some(size) = input.domain().size().filter(|size| *size < k) {
        return Err(Error::MakeMeasurement(format!(
            "k: expected at most the number of scores, {size}, found {k}"
        )));
    }
    let metric = input.metric().clone();
    let optimize = if negate { Optimize::Min } else { Optimize::Max };
    let function =
        Function::map(move |scores: &Vec<T>| choose_some::<MO, T>(scores, k, scale, optimize));
    let map = PrivacyMap::new(move |d_in: &M::Distance| MO::loss(metric.loss(d_in, scale)?, k));
    Ok(Measurement::new(input, output_measure.0, function, map))
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "noisy_top_k.rs": make_noisy_top_k(input, output_measure, k, scale, negate = false)
                for T in [$t], M in [LInfDistance<$t>],
                    MO in [MaxDivergence, ZeroConcentratedDivergence];
        }
    )+};
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

#[cfg(test)]
mod tests {
    use opendp_core::random::Seeded;

    use super::*;
    use crate::samplers::chi_square::chi_square;
    use crate::samplers::permute_and_flip_distribution::probabilities as permute_and_flip;
    use crate::selection::peel;

    fn top<MO: SelectionMeasure>(
        measure: MO,
        (size, monotonic): (Option<usize>, bool),
        k: usize,
        scale: f64,
        negate: bool,
    ) -> Result<Measurement<VectorDomain<AtomDomain<f64>>, LInfDistance<f64>, MO, Vec<usize>>> {
        let domain = VectorDomain::new(AtomDomain::non_nan());
        let domain = size.map_or(domain.clone(), |size| domain.with_size(size));
        let input = Space::new(domain, LInfDistance::new(monotonic)).unwrap();
        make_noisy_top_k(input, TheMeasure(measure), k, Scale::new(scale).unwrap(), negate)
    }
    fn softmax(exponents: &[f64]) -> Vec<f64> {
        let weights: Vec<f64> = exponents.iter().map(|e| e.exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn pays_for_each_choice() {
        // Test vector 57.
        let pure = top(MaxDivergence, (None, false), 3, 2.0, false).unwrap();
        assert_eq!([0.0, 1.0].map(|d| pure.map(&d).unwrap()), [0.0, 3.0]);
        let concentrated = top(ZeroConcentratedDivergence, (None, true), 3, 2.0, false).unwrap();
        assert_eq!([0.0, 1.0].map(|d| concentrated.map(&d).unwrap()), [0.0, 0.09375]);
        let exact = top(MaxDivergence, (None, true), 3, 0.0, false).unwrap();
        assert_eq!([0.0, 1.0].map(|d| exact.map(&d).unwrap()), [0.0, f64::INFINITY]);
        let nothing = top(MaxDivergence, (None, true), 0, 0.0, false).unwrap();
        assert_eq!(nothing.map(&1.0), Ok(0.0));
        assert_eq!(nothing.invoke(&vec![1.0]), Ok(vec![]));
        assert_eq!(pure.map(&f64::MAX).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn chooses_no_index_twice_and_no_more_than_there_are() {
        let choose = |k, negate, scores: &[f64]| {
            top(MaxDivergence, (None, false), k, 0.0, negate).unwrap().invoke(&scores.to_vec())
        };
        let scores = [1.0, 3.0, f64::INFINITY, 3.0];
        assert_eq!(choose(3, false, &scores), Ok(vec![2, 3, 1]));
        assert_eq!(choose(9, true, &scores), Ok(vec![0, 3, 1, 2]));
        assert_eq!(choose(2, false, &[]), Ok(vec![]));
        let noisy = top(ZeroConcentratedDivergence, (Some(4), false), 4, 1e3, false).unwrap();
        for _ in 0..100 {
            let mut chosen = noisy.invoke(&scores.to_vec()).unwrap();
            chosen.sort_unstable();
            assert_eq!(chosen, [0, 1, 2, 3]);
        }
        let error = top(MaxDivergence, (Some(2), false), 3, 1.0, false).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("k: expected at most the number of scores, 2, found 3"));
    }
    /// Test pairs of choices against the product of the exact probabilities of each.
    fn check_pairs<MO: SelectionMeasure>(likely: impl Fn(&[f64]) -> Vec<f64>) {
        let (scores, draws) = ([0.0, 1.0, -0.5, 2.0], 200_000);
        let mut source = Seeded::<64>::new(1);
        let mut counts = [0; 16];
        for _ in 0..draws {
            let scale = Scale::new(2.0).unwrap();
            let pair = peel::<MO, f64, _>(&scores, 2, scale, Optimize::Max, &mut source).unwrap();
            counts[pair[0] * 4 + pair[1]] += 1;
        }
        let fit = |scale: f64| {
            let exponents = scores.map(|score| score / scale);
            let first = likely(&exponents);
            let mut expected = [0.0; 16];
            for i in 0..4 {
                let left: Vec<usize> = (0..4).filter(|j| *j != i).collect();
                let second = likely(&left.iter().map(|j| exponents[*j]).collect::<Vec<_>>());
                for (j, p) in left.into_iter().zip(second) {
                    expected[i * 4 + j] = f64::from(draws) * first[i] * p;
                }
            }
            chi_square(&counts, &expected)
        };
        assert!(fit(2.0) < 1.0, "{counts:?}");
        assert!(fit(2.2) > 1.0, "another scale goes unnoticed: {counts:?}");
    }
    #[test]
    fn pairs_have_the_probabilities_of_two_choices() {
        check_pairs::<MaxDivergence>(permute_and_flip);
        check_pairs::<ZeroConcentratedDivergence>(softmax);
    }
}
