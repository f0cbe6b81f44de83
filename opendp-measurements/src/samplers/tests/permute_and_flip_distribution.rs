//! The probabilities of candidates chosen by permute-and-flip.

use super::chi_square::chi_square;
use crate::samplers::{Optimize, Score, permute_and_flip};
use opendp_core::random::{Failing, NoEntropy, Seeded, Tape};

/// Compute the probability of each choice by permute-and-flip. This probability is a sum over all
/// sets of candidates that can be visited before the chosen candidate.
///
/// `P[i] = a_i sum_S |S|! (n - 1 - |S|)! / n! prod_(j in S) (1 - a_j)`, over all sets `S` without
/// `i`. `n` is the number of candidates, and `a_i` is the probability that candidate `i` is
/// accepted when it is visited.
pub(crate) fn probabilities(exponents: &[f64]) -> Vec<f64> {
    let n = exponents.len();
    let best = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let accept: Vec<f64> = exponents.iter().map(|e| (e - best).exp()).collect();
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    (0..n)
        .map(|i| {
            let sets = (0..1_u32 << n).filter(|set| set >> i & 1 == 0);
            let terms = sets.map(|set| {
                let visited = set.count_ones() as usize;
                let orders = factorial(visited) * factorial(n - 1 - visited) / factorial(n);
                let flips = (0..n).filter(|j| set >> j & 1 == 1).map(|j| 1.0 - accept[j]);
                orders * flips.product::<f64>()
            });
            accept[i] * terms.sum::<f64>()
        })
        .collect()
}
/// Compare the choices of many draws with the exact probabilities for the given exponents.
fn fit<T: Score, const B: u32>(
    (scores, scale, optimize): (&[T], f64, Optimize),
    draws: u64,
    exponents: &[&[f64]],
) -> Vec<f64> {
    let (mut source, mut counts) = (Seeded::<B>::new(1), vec![0; scores.len()]);
    for _ in 0..draws {
        counts[permute_and_flip(scores, scale, optimize, &mut source).unwrap().unwrap()] += 1;
    }
    let test = |exponents: &&[f64]| {
        let expected: Vec<f64> =
            probabilities(exponents).iter().map(|p| p * draws as f64).collect();
        chi_square(&counts, &expected)
    };
    exponents.iter().map(test).collect()
}
fn right_and_not_wrong(fits: &[f64]) {
    assert!(fits[0] < 1.0, "{fits:?}");
    assert!(fits[1] > 1.0, "another scale goes unnoticed: {fits:?}");
}

#[test]
fn the_formula_gives_the_known_probability_of_two() {
    let [worse, better] = probabilities(&[0.0, 1.0])[..] else { panic!("two") };
    assert!((worse - (-1.0_f64).exp() / 2.0).abs() < 1e-15);
    assert!((worse + better - 1.0).abs() < 1e-15);
}
#[test]
fn a_million_choices_have_the_probabilities_of_permute_and_flip() {
    let two = ([0.0, 1.0].as_slice(), 1.0, Optimize::Max);
    right_and_not_wrong(&fit::<_, 64>(two, 1_000_000, &[&[0.0, 1.0], &[0.0, 1.05]]));
    let scores = [0.0, 1.0, -2.5, 1.0, 0.3, -0.1];
    for (scale, optimize, sign) in [(1.0, Optimize::Max, 1.0), (3.0, Optimize::Min, -1.0)] {
        let right = scores.map(|s| sign * s / scale);
        let wrong = right.map(|e| e * 1.1);
        let set = (scores.as_slice(), scale, optimize);
        right_and_not_wrong(&fit::<_, 64>(set, 1_000_000, &[&right, &wrong]));
    }
}
#[test]
fn softmax_is_another_distribution() {
    let (mut source, mut counts) = (Seeded::<64>::new(3), [0; 2]);
    for _ in 0..100_000 {
        let chosen = permute_and_flip(&[0, 1], 1.0, Optimize::Max, &mut source);
        counts[chosen.unwrap().unwrap()] += 1;
    }
    let softmax = 1e5 / (1.0 + 1.0_f64.exp());
    assert!(chi_square(&counts, &[softmax, 1e5 - softmax]) > 1.0);
}
#[test]
fn forced_refinement_leaves_the_probabilities_alone() {
    let scores = [0.0, 1.0, -2.5, 1.0, 0.3, -0.1];
    let wrong = scores.map(|s| s * 1.4);
    let set = (scores.as_slice(), 1.0, Optimize::Max);
    right_and_not_wrong(&fit::<_, 4>(set, 12_000, &[&scores, &wrong]));
    right_and_not_wrong(&fit::<_, 1>(set, 6_000, &[&scores, &scores.map(|s| s * 1.6)]));
}
#[test]
fn equal_scores_are_chosen_equally_often() {
    for score in [5.0, 1e300, -5e-324] {
        let scores = [score; 4];
        let set = (scores.as_slice(), 1e-300, Optimize::Max);
        let fits = fit::<_, 64>(set, 200_000, &[&[0.0; 4], &[0.0, 0.05, 0.0, 0.0]]);
        right_and_not_wrong(&fits);
    }
}
/// Compute the probability that the chosen score is a best score. There are `ahead` equal best
/// scores, and `behind` other scores, which are lower by `gap` times the scale. A score is
/// acceptable if a visit would accept it. Each lower score is independently acceptable, with
/// probability `p = e^-gap`. So the number of acceptable lower scores is binomial. All best scores
/// are acceptable. The first acceptable score in random order is chosen, so all acceptable scores
/// are equally likely.
fn of_the_first_class(ahead: f64, behind: i32, gap: f64) -> f64 {
    let p = (-gap).exp();
    let (mut probability, mut sum) = ((1.0 - p).powi(behind), 0.0);
    for count in 0..=behind {
        sum += probability * ahead / (ahead + f64::from(count));
        probability *= p / (1.0 - p) * f64::from(behind - count) / f64::from(count + 1);
    }
    sum
}
#[test]
fn many_candidates_are_chosen_by_class() {
    fn check<const B: u32>((ahead, behind, gap): (usize, usize, f64), draws: u64, wrong: f64) {
        // The best scores are spread over all blocks of the list.
        let n = ahead + behind;
        let scores: Vec<f64> =
            (0..n).map(|i| if i * ahead % n < ahead { 0.0 } else { -gap }).collect();
        assert_eq!(scores.iter().filter(|score| **score == 0.0).count(), ahead);
        let (mut source, mut first) = (Seeded::<B>::new(4), 0);
        for _ in 0..draws {
            let chosen = permute_and_flip(&scores, 1.0, Optimize::Max, &mut source);
            first += u64::from(scores[chosen.unwrap().unwrap()] == 0.0);
        }
        let fits = [gap, wrong].map(|gap| {
            let expected = of_the_first_class(ahead as f64, behind as i32, gap) * draws as f64;
            chi_square(&[first, draws - first], &[expected, draws as f64 - expected])
        });
        right_and_not_wrong(&fits);
    }
    check::<64>((20, 980, 3.0), 40_000, 3.2);
    check::<64>((3, 1997, 7.0), 40_000, 7.4);
    check::<64>((400, 400, 0.5), 40_000, 0.65);
    check::<4>((5, 45, 2.0), 4_000, 2.6);
    check::<1>((4, 12, 1.0), 3_000, 1.6);
}
#[test]
fn extreme_scores_keep_their_differences() {
    for unit in [1e300, 1e-300, 2f64.powi(-1070)] {
        let scores = [0.0, unit, -2.0 * unit, 3.0 * unit];
        let set = (scores.as_slice(), 2.0 * unit, Optimize::Max);
        let wrong = [0.0, 0.6, -1.0, 1.5];
        right_and_not_wrong(&fit::<_, 64>(set, 300_000, &[&[0.0, 0.5, -1.0, 1.5], &wrong]));
    }
    let base = i64::MAX - 4;
    let integers = [base, base + 1, base + 3];
    let set = (integers.as_slice(), 2.0, Optimize::Max);
    right_and_not_wrong(&fit::<_, 64>(set, 100_000, &[&[0.0, 0.5, 1.5], &[0.0; 3]]));
    let widest = ([-f64::MAX, f64::MAX].as_slice(), f64::MAX, Optimize::Max);
    right_and_not_wrong(&fit::<_, 64>(widest, 100_000, &[&[-1.0, 1.0], &[-0.9, 1.0]]));
    let mut source = Seeded::<64>::new(2);
    for scores in [[1e300, -1e300], [f64::MAX, f64::MAX.next_down()]] {
        for _ in 0..1000 {
            let chosen = permute_and_flip(&scores, 1e-300, Optimize::Max, &mut source);
            assert_eq!(chosen, Ok(Some(0)));
        }
    }
}
#[test]
fn no_candidate_and_a_single_one_draw_nothing() {
    let mut source = Failing::default();
    assert_eq!(permute_and_flip::<f64, _>(&[], 1.0, Optimize::Max, &mut source), Ok(None));
    assert_eq!(permute_and_flip(&[3.0], 1.0, Optimize::Max, &mut source), Ok(Some(0)));
    assert_eq!(source.attempts(), 0);
    let mut tape = Tape::<64>::new(vec![1]);
    // The first word decides that no candidate has a rare first digit (a hit). The digits of the
    // three candidates take more words, but the tape has only one word.
    assert_eq!(permute_and_flip(&[3.0, 1.0, 1.0], 1.0, Optimize::Max, &mut tape), Err(NoEntropy));
}
#[test]
fn senseless_arguments_still_return() {
    let mut source = Seeded::<64>::new(8);
    for scale in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        for odd in [1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let chosen = permute_and_flip(&[odd, 1.0, 2.0], scale, Optimize::Max, &mut source);
            assert!(chosen.unwrap().is_some());
        }
    }
}
