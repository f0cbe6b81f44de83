//! The probabilities of the `k` largest noisy scores, in order.

use super::chi_square::chi_square;
use super::permute_and_flip_distribution;
use super::short_tapes::check_ends;
use crate::samplers::{Optimize, exponential_top_k, gumbel_top_k};
use opendp_core::random::{Failing, NoEntropy, RandomSource, Seeded, Tape};

/// The probability of each outcome. An outcome lists the chosen indices in order.
pub(crate) type Law = Vec<(Vec<usize>, f64)>;

/// Return all ordered selections of `k` items.
fn orders(items: &[usize], k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![vec![]];
    }
    let mut found = Vec::new();
    for item in items {
        let rest: Vec<usize> = items.iter().copied().filter(|other| other != item).collect();
        for mut order in orders(&rest, k - 1) {
            order.insert(0, *item);
            found.push(order);
        }
    }
    found
}

/// Compute the distribution of `k` successive choices. Each choice is made with fresh noise among
/// the remaining items. `winner` computes the probabilities of one choice.
pub(crate) fn peeled(exponents: &[f64], k: usize, winner: impl Fn(&[f64]) -> Vec<f64>) -> Law {
    let n = exponents.len();
    let all: Vec<usize> = (0..n).collect();
    let probability = |order: &Vec<usize>| -> f64 {
        let mut left = all.clone();
        let steps = order.iter().map(|chosen| {
            let laws = winner(&left.iter().map(|i| exponents[*i]).collect::<Vec<_>>());
            let place = left.iter().position(|i| i == chosen).unwrap();
            left.remove(place);
            laws[place]
        });
        steps.product()
    };
    orders(&all, k.min(n)).into_iter().map(|order| (order.clone(), probability(&order))).collect()
}

/// Compute the distribution of the `k` largest sums `exponents[i] + E_i`. Each item has one
/// standard exponential variable `E_i`.
///
/// Imagine that item `i` begins to wait at time `x_i = exponents[i]` and leaves at time
/// `x_i + E_i`. The `k` items that leave last are chosen. The item that leaves last has the largest
/// sum. The times `x_i` divide the time line into spans. Suppose that an item is still waiting at
/// the beginning of a span of length `t`. This item leaves within the span with probability
/// `1 - e^-t`, independently of the other items. The order of the items that leave within one span
/// is uniformly random.
pub(crate) fn joint(exponents: &[f64], k: usize) -> Law {
    let n = exponents.len();
    let mut cuts = exponents.to_vec();
    cuts.sort_by(f64::total_cmp);
    let span = |s: usize| if s + 1 < n { cuts[s + 1] - cuts[s] } else { f64::INFINITY };
    let mut law: Law = orders(&(0..n).collect::<Vec<_>>(), k.min(n))
        .into_iter()
        .map(|order| (order, 0.0))
        .collect();
    let leaves_in = |i: usize, s: usize| -> f64 {
        let waits = |s: usize| exponents[i] <= cuts[s];
        let stays: f64 = (0..s).filter(|s| waits(*s)).map(|s| (-span(s)).exp()).product();
        if waits(s) { stays * (1.0 - (-span(s)).exp()) } else { 0.0 }
    };
    let table: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|s| leaves_in(i, s)).collect()).collect();
    // Enumerate all ways in which the items can leave in the spans.
    for code in 0..n.pow(n as u32) {
        let leaves = |i: usize| code / n.pow(i as u32) % n;
        let all: f64 = (0..n).map(|i| table[i][leaves(i)]).product();
        if all == 0.0 {
            continue;
        }
        for (order, probability) in &mut law {
            // An item that leaves in a later span ranks higher. Among items that leave in the same
            // span, each item is equally likely to be next.
            let (mut chance, mut left) = (all, (1_u32 << n) - 1);
            for chosen in order {
                let among = || (0..n).filter(|i| left >> i & 1 == 1).map(leaves);
                let last = among().max().unwrap();
                if leaves(*chosen) != last {
                    chance = 0.0;
                    break;
                }
                chance /= among().filter(|s| *s == last).count() as f64;
                left &= !(1 << *chosen);
            }
            *probability += chance;
        }
    }
    law
}
/// Compute probabilities proportional to the exponentials of the given exponents.
pub(crate) fn softmax(exponents: &[f64]) -> Vec<f64> {
    let best = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = exponents.iter().map(|e| (e - best).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}
/// Compare the frequencies of outcomes with a distribution.
fn fit(outcomes: &[Vec<usize>], law: &Law) -> f64 {
    let count = |order: &Vec<usize>| outcomes.iter().filter(|found| *found == order).count() as u64;
    let counts: Vec<u64> = law.iter().map(|(order, _)| count(order)).collect();
    let draws = outcomes.len() as f64;
    chi_square(&counts, &law.iter().map(|(_, p)| draws * p).collect::<Vec<_>>())
}

type Race<S> = fn(&[f64], usize, f64, Optimize, &mut S) -> Result<Vec<usize>, NoEntropy>;
fn outcomes<S: RandomSource>(
    race: Race<S>,
    (scores, k, scale): (&[f64], usize, f64),
    draws: usize,
    source: &mut S,
) -> Vec<Vec<usize>> {
    (0..draws).map(|_| race(scores, k, scale, Optimize::Max, source).unwrap()).collect()
}
const SCORES: [f64; 4] = [0.0, 1.0, -0.5, 2.0];
fn over(scale: f64) -> [f64; 4] {
    SCORES.map(|score| score / scale)
}

#[test]
fn the_laws_are_distributions_and_agree_where_they_must() {
    for k in 0..=5 {
        for law in [joint(&SCORES, k), peeled(&SCORES, k, softmax)] {
            assert!((law.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
    // With exponential noise and `k = 1`, the result has the distribution of permute-and-flip.
    let flipped = permute_and_flip_distribution::probabilities(&SCORES);
    for (order, p) in joint(&SCORES, 1) {
        assert!((p - flipped[order[0]]).abs() < 1e-12);
    }
    // The expected probability was computed by hand: with probability exp(-1) / 6, item 2 leaves
    // first, then item 1, and then item 0.
    let law = joint(&[0.0, -1.0, 0.0], 2);
    let (_, p) = law.iter().find(|(order, _)| *order == [0, 1]).unwrap();
    assert!((p - (-1.0_f64).exp() / 6.0).abs() < 1e-15);
}
#[test]
fn ordered_winners_have_the_probabilities_of_one_race() {
    let mut source = Seeded::<64>::new(1);
    for k in [2, 4] {
        let set = (SCORES.as_slice(), k, 2.0);
        let gumbel = outcomes(gumbel_top_k, set, 100_000, &mut source);
        assert!(fit(&gumbel, &peeled(&over(2.0), k, softmax)) < 1.0, "{k}");
        assert!(
            fit(&gumbel, &peeled(&over(2.2), k, softmax)) > 1.0,
            "a wrong scale must be noticed"
        );
        let exponential = outcomes(exponential_top_k, set, 100_000, &mut source);
        assert!(fit(&exponential, &joint(&over(2.0), k)) < 1.0, "{k}");
        assert!(fit(&exponential, &joint(&over(2.2), k)) > 1.0, "a wrong scale must be noticed");
        let fresh = peeled(&over(2.0), k, permute_and_flip_distribution::probabilities);
        assert!(fit(&exponential, &fresh) > 1.0, "fresh noise must be noticed");
    }
}
/// Choose the `k` best candidates by Gumbel noise, but with a mistake: this function never draws a
/// second digit.
fn hasty<S: RandomSource>(
    scores: &[f64],
    k: usize,
    scale: f64,
    _: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    let mut sums = Vec::new();
    for (index, score) in scores.iter().enumerate() {
        let (e_lo, e_hi) = crate::samplers::neg_ln(source.word()?, S::BITS);
        sums.push((score / scale - (e_lo + e_hi.min(1e9)).ln(), index));
    }
    sums.sort_by(|a, b| b.partial_cmp(a).unwrap());
    Ok(sums.into_iter().take(k).map(|(_, index)| index).collect())
}
#[test]
fn forced_refinement_leaves_the_probabilities_alone() {
    for k in [2, 4] {
        let set = (SCORES.as_slice(), k, 1.0);
        let mut source = Seeded::<4>::new(2);
        let gumbel = outcomes(gumbel_top_k, set, 12_000, &mut source);
        assert!(source.used() > 9 * 6_000, "refinement was rare: {}", source.used());
        assert!(fit(&gumbel, &peeled(&SCORES, k, softmax)) < 1.0);
        let exponential = outcomes(exponential_top_k, set, 12_000, &mut source);
        assert!(fit(&exponential, &joint(&SCORES, k)) < 1.0);
        let hasty = outcomes(hasty, set, 12_000, &mut source);
        assert!(fit(&hasty, &peeled(&SCORES, k, softmax)) > 1.0, "rounding goes unnoticed");
        let mut source = Seeded::<1>::new(3);
        let gumbel = outcomes(gumbel_top_k, set, 4_000, &mut source);
        assert!(fit(&gumbel, &peeled(&SCORES, k, softmax)) < 1.0);
        let exponential = outcomes(exponential_top_k, set, 4_000, &mut source);
        assert!(fit(&exponential, &joint(&SCORES, k)) < 1.0);
    }
}
#[test]
fn the_best_of_many_come_first_and_none_twice() {
    // Except with probability 1e-12, all noise values of all races are between -10 and 40. The
    // scores differ by at least 50, so the noise does not change their order.
    let scores: Vec<i64> = (0..10_000).map(|i| (i * 7919) % 10_000 * 50).collect();
    let mut source = Seeded::<64>::new(4);
    for k in [1, 10, 10_000, 20_000] {
        for race in [gumbel_top_k, exponential_top_k] {
            let chosen = race(&scores, k, 1.0, Optimize::Min, &mut source).unwrap();
            let found: Vec<i64> = chosen.iter().map(|i| scores[*i]).collect();
            let expected: Vec<i64> = (0..10_000).map(|i| i * 50).take(k).collect();
            assert_eq!(found, expected);
        }
    }
}
#[test]
fn equal_scores_fill_every_place_equally_often() {
    let mut source = Seeded::<64>::new(5);
    for race in [gumbel_top_k::<f64, Seeded<64>>, exponential_top_k] {
        let mut counts = [0; 900];
        for _ in 0..10_000 {
            let chosen = race(&[7.0; 300], 3, 1.0, Optimize::Max, &mut source).unwrap();
            for (place, index) in chosen.into_iter().enumerate() {
                counts[300 * place + index] += 1;
            }
        }
        assert!(chi_square(&counts, &[1e4 / 300.0; 900]) < 1.0);
        let mut expected = [1e4 / 300.0; 900];
        expected[..150].iter_mut().for_each(|e| *e *= 1.25);
        expected[150..300].iter_mut().for_each(|e| *e *= 0.75);
        assert!(chi_square(&counts, &expected) > 1.0, "a preference must be noticed");
    }
}
#[test]
fn draws_no_more_than_it_must() {
    let mut none = Failing::default();
    for (scores, k, expected) in
        [(&[][..], 2, vec![]), (&[3.0], 2, vec![0]), (&[3.0, 1.0], 0, vec![])]
    {
        assert_eq!(gumbel_top_k(scores, k, 1.0, Optimize::Max, &mut none), Ok(expected));
    }
    assert_eq!(none.attempts(), 0);
    check_ends(7, |tape: &mut Tape<1>| gumbel_top_k(&SCORES, 2, 1.0, Optimize::Max, tape));
}
#[test]
fn senseless_arguments_still_return() {
    let mut source = Seeded::<64>::new(8);
    for scale in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        for odd in [1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for race in [gumbel_top_k::<f64, Seeded<64>>, exponential_top_k] {
                let chosen = race(&[odd, 1.0, odd, 2.0], 3, scale, Optimize::Max, &mut source);
                assert_eq!(chosen.unwrap().len(), 3);
            }
        }
    }
}
