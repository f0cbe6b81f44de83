//! The choice of several good candidates.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, Error, LInfDistance, MaxDivergence, Measurement, MetricOn, RangeDistance,
    Result, Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence,
};

use crate::Scale;
use crate::samplers::{Optimize, Score};
use crate::selection::gumbel_max::ScoreMetric;
use crate::selection::{
    AnyScoreMetric, AnySelectionMeasure, Selects, check_best, choosing, loss_of_choices,
};

/// Make a measurement that chooses the indices of several good scores, in the order of choice.
///
/// If `negate` is true, each score is first negated. Each score is divided by the scale, and
/// independent noise is added once. The release lists the indices of the `k` largest sums, with the
/// largest first. [`make_noisy_max`](crate::make_noisy_max) uses the same noise.
///
/// Under zero-concentrated divergence, the release has the distribution of `k` successive choices.
/// Each choice is made with fresh noise among the remaining candidates. Under the max-divergence,
/// the distribution is different: the second and later choices tend to be better than choices with
/// fresh noise. The reason is that the noise of the candidates that were not chosen yet tends to be
/// smaller than fresh noise. The loss is the same as the loss of `k` successive choices with fresh
/// noise.
///
/// # Arguments
/// * `input` - vectors of scores under the L-infinity distance or the range distance
/// * `output_measure` - the measure of the loss: max-divergence or zero-concentrated divergence
/// * `k` - the number of indices to choose
/// * `scale` - the scale of the noise, in the unit of the scores. At scale 0, no noise is added
/// * `negate` - true if a small score is good, false if a large score is good
///
/// # Precondition
/// The precondition of [`make_noisy_max`](crate::make_noisy_max) holds. If the length of the
/// vectors is known, `k` is at most this length.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose divergence in `output_measure` is
/// at most `map(d_in)`. A release has `k` different indices, or all indices when there are fewer
/// than `k` scores.
///
/// # Map
/// Let `r = range / scale`, rounded up. The loss is `k r` under the max-divergence, and `k r^2 / 8`
/// under zero-concentrated divergence. Each operation is rounded up. `range` is `d_in` under the
/// range distance and under a `monotonic` L-infinity distance. Otherwise `range` is `d_in + d_in`,
/// rounded up. The loss is 0 if the range is 0 or `k` is 0. Otherwise, the loss at scale 0 is
/// infinite.
///
/// # Proof
/// Let `u` and `v` be the score vectors of neighbours, divided by the scale. If `negate` is true,
/// `u` and `v` are also negated. The neighbours have the same length because `d_in` is finite. So
/// both releases have the same number of indices. This number is at most `k`. Any two of the
/// changes `v_j - u_j` differ by at most `r`. Let `h = max_j (v_j - u_j)`.
///
/// *Max-divergence.* [`exponential_top_k`](crate::samplers::exponential_top_k) returns exactly the
/// indices of the largest sums `u_j + E_j`, in order. The `E_j` are independent standard
/// exponential variables. Fix an outcome and the set `C` of its indices. Also fix the noise of all
/// indices outside of `C`. For `j` in `C`, let `c_j = h - (v_j - u_j)`, which is from 0 to `r`.
/// Suppose that the `E_j` give this outcome under `u`. Under `v`, take the noise `E_j + c_j` for
/// the indices in `C`. The noise of the other indices stays the same. This noise gives the same
/// outcome. The sums in `C` are `v_j + E_j + c_j = u_j + E_j + h`. So each of these sums exceeds
/// the sum under `u` by `h`, and the order of these sums does not change. The other sums are
/// `v_i + E_i <= u_i + E_i + h`, so the other sums stay below the sums in `C`. Let `c >= 0`. The
/// noise has the density `e^-x` on `x >= 0`. The density at `x + c` is `e^-c` times the density at
/// `x`. So substitute `E_j + c_j` for `E_j` in the integral over the noise in `C`, and average over
/// the other noise. Let `P_u` and `P_v` be the probabilities of the outcome under `u` and `v`. The
/// result is `P_v >= e^-(sum c_j) P_u >= e^-(k r) P_u`. A bound for every outcome is a bound for
/// every event. (For one index, this is the argument of report-noisy-max: Dwork, Roth 2014, Claim
/// 3.9.)
///
/// *Zero-concentrated divergence.* [`gumbel_top_k`](crate::samplers::gumbel_top_k) has exactly the
/// distribution of `k` successive choices. Each choice is made by the exponential mechanism among
/// the remaining candidates, with fresh noise (Durfee, Rogers 2019, Lemma 4.2). Given the first
/// indices of the release, the same candidates remain under `u` and `v`. The changes `v_j - u_j` of
/// the scores of these candidates are among the changes of all scores. So any two of these changes
/// differ by at most `r`. By the proof of [`make_noisy_max`](crate::make_noisy_max), the loss of
/// the next choice is at most `r^2 / 8`. Losses of choices add up, even if a later choice depends
/// on earlier choices (Bun, Steinke 2016, Lemma 1.7).
///
/// *Scale 0.* If the range is 0, all scores change by the same number. So the order of the scores
/// is the same for both neighbours, and the releases are equal.
///
/// # Errors
/// * `MakeMeasurement` when `k` exceeds the known number of scores
/// * `Argument` when `negate` is false, but the space states that the lowest score is the best
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when
///   `d_in + d_in` does not fit the type of `d_in`, or the loss exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_noisy_top_k};
/// let scores = VectorDomain::new(AtomDomain::<f64>::non_nan());
/// let input = Space::new(scores, LInfDistance::<f64>::new(true))?;
/// let best = make_noisy_top_k(input, TheMeasure(MaxDivergence), 2, Scale::new(0.5)?, false)?;
/// assert_eq!(best.map(&1.0)?, 4.0);
/// assert_eq!(best.invoke(&vec![0.0, 1e3, 1e6])?, [2, 1]); // fails with probability exp(-2000)
/// # Ok::<(), Error>(())
/// ```
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
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
    MO: Selects,
{
    if let Err(error) = check_count(k, input.domain().size()) {
        return Err(error);
    }
    let optimize = if negate { Optimize::Min } else { Optimize::Max };
    let input = match check_best(input, optimize, "negate", "true") {
        Ok(input) => input,
        Err(error) => return Err(error),
    };
    let map = loss_of_choices(&output_measure.0, input.metric().clone(), scale, k);
    let function = choosing(k, scale, optimize, output_measure.0.chooser());
    Ok(Measurement::new(input, output_measure.0, function, map))
}
fn check_count(k: usize, size: Option<usize>) -> Result<()> {
    match size {
        Some(size) if size < k => Err(Error::MakeMeasurement(format!(
            "k: expected at most the number of scores, {size}, found {k}"
        ))),
        _ => Ok(()),
    }
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "noisy_top_k.rs": make_noisy_top_k(input, output_measure, k, scale, negate = false)
                for T in [$t], M in [LInfDistance<$t>, RangeDistance<$t>] as AnyScoreMetric<true>,
                    MO in [MaxDivergence, ZeroConcentratedDivergence] as AnySelectionMeasure;
        }
    )+};
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SelectionMeasure;
    use crate::samplers::tests::chi_square::chi_square;
    use crate::samplers::tests::top_k_distribution::{Law, joint, peeled, softmax};

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

    #[test]
    fn pays_for_each_choice() {
        // For monotonic scores, the range is the largest change. For other scores, the range is
        // twice the largest change.
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
        let three = opendp_core::arith::Exact::from_f64(3.0).unwrap();
        let single = top(ZeroConcentratedDivergence, (None, true), 1, 2.0, false).unwrap();
        for d_in in [0.1, 0.3, 0.7] {
            let exact = pure.exact_map(&d_in).unwrap()[0].to_f64_up();
            assert_eq!(pure.map(&d_in), Ok(exact));
            let exact = concentrated.exact_map(&d_in).unwrap();
            assert!(exact[0].to_f64_down() <= concentrated.map(&d_in).unwrap());
            assert_eq!(exact[0], single.exact_map(&d_in).unwrap()[0].times(&three));
        }
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
    /// Compare the frequencies of released pairs of indices with the probabilities of these pairs
    /// under a privacy measure.
    fn check_pairs<MO: SelectionMeasure>(measure: MO, likely: impl Fn(&[f64]) -> Law) {
        let (scores, draws) = (vec![0.0, 1.0, -0.5, 2.0], 100_000);
        let choice = top(measure, (None, false), 2, 2.0, true).unwrap();
        let mut counts = [0; 16];
        for _ in 0..draws {
            let pair = choice.invoke(&scores).unwrap();
            counts[pair[0] * 4 + pair[1]] += 1;
        }
        let fit = |scale: f64| {
            let exponents: Vec<f64> = scores.iter().map(|score| -score / scale).collect();
            let mut expected = [0.0; 16];
            for (pair, p) in likely(&exponents) {
                expected[pair[0] * 4 + pair[1]] = f64::from(draws) * p;
            }
            chi_square(&counts, &expected)
        };
        assert!(fit(2.0) < 1.0, "{counts:?}");
        assert!(fit(2.3) > 1.0, "another scale goes unnoticed: {counts:?}");
    }
    #[test]
    fn pairs_have_the_probabilities_of_the_two_best_of_one_race() {
        check_pairs(MaxDivergence, |exponents| joint(exponents, 2));
        check_pairs(ZeroConcentratedDivergence, |exponents| peeled(exponents, 2, softmax));
    }
    /// Find the largest divergence between the releases from two neighbouring score vectors. `law`
    /// returns the probabilities of the releases. Each score changes by 0 or by `range`.
    fn worst(
        range: f64,
        law: impl Fn(&[f64]) -> Law,
        divergence: impl Fn(&Law, &Law) -> f64,
    ) -> f64 {
        let levels = [0.0, 0.3, 9.0];
        let mut worst = 0.0_f64;
        for n in 2..=4_usize {
            for shape in 0..3_usize.pow(n as u32) {
                let level = |i: usize| levels[shape / 3_usize.pow(i as u32) % 3];
                let u: Vec<f64> = (0..n).map(level).collect();
                for moved in 1..(1_u32 << n) - 1 {
                    let move_up = |(i, s): (usize, &f64)| s + range * f64::from(moved >> i & 1);
                    let v: Vec<f64> = u.iter().enumerate().map(move_up).collect();
                    let (p, q) = (law(&u), law(&v));
                    worst = worst.max(divergence(&p, &q)).max(divergence(&q, &p));
                }
            }
        }
        worst
    }
    #[test]
    fn no_ratio_of_exact_probabilities_exceeds_the_pure_loss() {
        let ratio = |p: &Law, q: &Law| {
            p.iter().zip(q).map(|((_, p), (_, q))| (p / q).ln()).fold(0.0, f64::max)
        };
        for (k, range) in [(2, 0.5), (2, 2.0), (3, 0.5)] {
            let epsilon = MaxDivergence::loss(range, k).unwrap();
            let found = worst(range, |u| joint(u, k), ratio);
            assert!(found <= epsilon + 1e-9, "{found} exceeds {epsilon}");
            assert!(0.99 * epsilon <= found, "{epsilon} is loose: {found}");
            // The control: the largest log-ratio exceeds the stated loss of `k - 1` choices.
            assert!(MaxDivergence::loss(range, k - 1).unwrap() < found);
        }
    }
    #[test]
    fn no_renyi_divergence_exceeds_the_concentrated_loss() {
        let renyi = |p: &Law, q: &Law| {
            let terms = p.iter().zip(q).map(|((_, p), (_, q))| p * p / q);
            terms.sum::<f64>().ln()
        };
        for (k, range) in [(2, 0.25), (3, 1.0)] {
            let bound = 2.0 * ZeroConcentratedDivergence::loss(range, k).unwrap();
            let found = worst(range, |u| peeled(u, k, softmax), renyi);
            assert!(found <= bound + 1e-12, "{found} exceeds {bound}");
            // The control: the divergence with exponential noise exceeds the bound for Gumbel
            // noise.
            let control = worst(range, |u| joint(u, k), renyi);
            assert!(bound < control, "the wrong noise goes unnoticed: {control}");
        }
    }
    #[test]
    fn pays_once_for_the_range_of_the_changes() {
        let domain = VectorDomain::new(AtomDomain::<u64>::default());
        let input = Space::new(domain, RangeDistance::<u64>::new()).unwrap();
        let measure = TheMeasure(MaxDivergence);
        let best = make_noisy_top_k(input, measure, 3, Scale::new(2.0).unwrap(), true).unwrap();
        assert_eq!(best.map(&4), Ok(6.0));
    }
}
