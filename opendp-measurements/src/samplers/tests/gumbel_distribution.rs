//! The probabilities with which candidates are chosen by Gumbel noise.

use super::chi_square::chi_square;
use super::short_tapes::check_ends;
use super::top_k_distribution::softmax;
use crate::samplers::{Optimize, Score, gumbel_argmax};
use opendp_core::random::{Failing, NoEntropy, RandomSource, Seeded, Tape};

/// Count how often each candidate is chosen.
fn choices<T: Score, S: RandomSource>(
    scores: &[T],
    temperature: f64,
    optimize: Optimize,
    draws: usize,
    source: &mut S,
) -> Vec<u64> {
    let mut counts = vec![0; scores.len()];
    for _ in 0..draws {
        let index = gumbel_argmax(scores, temperature, optimize, source).unwrap().unwrap();
        counts[index] += 1;
    }
    counts
}

/// Compare counts with the softmax probabilities of the given exponents.
fn fit(counts: &[u64], exponents: &[f64]) -> f64 {
    let draws: u64 = counts.iter().sum();
    let expected: Vec<f64> = softmax(exponents).iter().map(|p| draws as f64 * p).collect();
    chi_square(counts, &expected)
}

const SCORES: [f64; 6] = [0.0, 1.0, -2.5, 1.0, 0.3, -0.1];

fn exponents(temperature: f64) -> Vec<f64> {
    SCORES.iter().map(|s| s / temperature).collect()
}

#[test]
fn choices_have_softmax_probabilities_at_every_temperature_and_in_both_directions() {
    let mut source = Seeded::<64>::new(1);
    for (temperature, draws) in [(1.0, 1_000_000), (0.3, 1_000_000), (7.0, 1_000_000)] {
        for (optimize, sign) in [(Optimize::Max, 1.0), (Optimize::Min, -1.0)] {
            let counts = choices(&SCORES, temperature, optimize, draws, &mut source);
            assert!(fit(&counts, &exponents(sign * temperature)) < 1.0);
            let wrong = sign * temperature * 1.1;
            assert!(fit(&counts, &exponents(wrong)) > 1.0, "a wrong temperature must be noticed");
        }
    }
}

#[test]
fn forced_refinement_leaves_the_probabilities_alone() {
    let mut source = Seeded::<4>::new(2);
    let draws = 12_000;
    let counts = choices(&SCORES, 1.0, Optimize::Max, draws, &mut source);
    assert!(
        source.used() > 6 * draws as u64 + draws as u64 / 2,
        "refinement was rare: {}",
        source.used()
    );
    assert!(fit(&counts, &exponents(1.0)) < 1.0);
    assert!(fit(&counts, &exponents(1.3)) > 1.0, "a wrong temperature must be noticed");
    let mut source = Seeded::<1>::new(2);
    let counts = choices(&SCORES, 1.0, Optimize::Min, 5000, &mut source);
    assert!(fit(&counts, &exponents(-1.0)) < 1.0);
    assert!(fit(&counts, &exponents(-1.6)) > 1.0, "a wrong temperature must be noticed");
}

#[test]
fn equal_scores_are_chosen_equally_often() {
    let mut source = Seeded::<64>::new(3);
    for scores in [[5.0; 4], [1e300; 4], [-5e-324; 4]] {
        let counts = choices(&scores, 1e-300, Optimize::Max, 1_000_000, &mut source);
        assert!(fit(&counts, &[0.0; 4]) < 1.0);
    }
}

#[test]
fn extreme_scores_and_temperatures_keep_their_ratios() {
    let mut source = Seeded::<64>::new(4);
    for (unit, draws) in [(1e300, 1_000_000), (1e-300, 1_000_000), (2f64.powi(-1070), 1_000_000)] {
        // These multiples of `unit` are exact floats, even for a subnormal `unit`.
        let scores = [0.0, unit, -2.0 * unit, 3.0 * unit];
        let counts = choices(&scores, 2.0 * unit, Optimize::Max, draws, &mut source);
        assert!(fit(&counts, &[0.0, 0.5, -1.0, 1.5]) < 1.0, "unit {unit}");
        assert!(fit(&counts, &[0.0, 0.6, -1.0, 1.5]) > 1.0);
    }
    // The difference of the scores exceeds the largest float, but the quotient of the difference
    // and the temperature does not.
    let scores = [-f64::MAX, f64::MAX];
    let counts = choices(&scores, f64::MAX, Optimize::Max, 100_000, &mut source);
    assert!(fit(&counts, &[-1.0, 1.0]) < 1.0);
    assert!(fit(&counts, &[-0.9, 1.0]) > 1.0);
}

#[test]
fn a_hopeless_candidate_is_never_chosen() {
    let mut source = Seeded::<64>::new(5);
    for scores in [[1e300, -1e300], [1e-300, -1e-290], [f64::MAX, f64::MAX.next_down()]] {
        let counts = choices(&scores, 1e-300, Optimize::Max, 1000, &mut source);
        assert_eq!(counts, [1000, 0]);
        let counts = choices(&scores, 1e-300, Optimize::Min, 1000, &mut source);
        assert_eq!(counts, [0, 1000]);
    }
}

#[test]
fn integer_scores_keep_differences_that_floats_would_lose() {
    let mut source = Seeded::<64>::new(6);
    let base = i64::MAX - 4;
    let counts = choices(&[base, base + 1, base + 3], 2.0, Optimize::Max, 100_000, &mut source);
    assert!(fit(&counts, &[0.0, 0.5, 1.5]) < 1.0);
    assert!(fit(&counts, &[0.0, 0.0, 0.0]) > 1.0, "differences lost to floats must be noticed");
    let counts = choices(&[i128::MAX, i128::MAX - 2], 2.0, Optimize::Min, 100_000, &mut source);
    assert!(fit(&counts, &[-1.0, 0.0]) < 1.0);
    let counts = choices(&[0, u64::MAX], u64::MAX as f64, Optimize::Max, 100_000, &mut source);
    assert!(fit(&counts, &[0.0, 1.0]) < 1.0);
}

#[test]
fn no_candidate_and_a_single_one_draw_nothing() {
    let mut source = Failing::default();
    assert_eq!(gumbel_argmax::<f64, _>(&[], 1.0, Optimize::Max, &mut source), Ok(None));
    assert_eq!(gumbel_argmax(&[3.0], 1.0, Optimize::Max, &mut source), Ok(Some(0)));
    assert_eq!(source.attempts(), 0);
    assert_eq!(gumbel_argmax(&[3.0, 1.0], 1.0, Optimize::Max, &mut source), Err(NoEntropy));
}

#[test]
fn a_tape_that_ends_is_reported_wherever_it_ends() {
    let choose = |tape: &mut Tape<1>| gumbel_argmax(&SCORES, 1.0, Optimize::Max, tape);
    assert!(check_ends(7, choose) > SCORES.len());
}

#[test]
fn senseless_arguments_still_return() {
    let mut source = Seeded::<64>::new(8);
    for temperature in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        for odd in [1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for scores in [[odd, 1.0, 2.0], [2.0, 1.0, odd]] {
                let choice = gumbel_argmax(&scores, temperature, Optimize::Max, &mut source);
                assert!(choice.unwrap().is_some());
            }
        }
    }
    let counts = choices(&[1.0, 2.0], f64::NAN, Optimize::Max, 10_000, &mut source);
    assert!(fit(&counts, &[0.0, 0.0]) < 1.0);
}

#[test]
fn many_candidates_are_chosen_by_class() {
    // There are 1000 candidates in three classes. The probabilities of all candidates in a class
    // are added.
    let scores: Vec<i64> = (0..1000).map(|i| [0, 2, 7][i % 3]).collect();
    let mut source = Seeded::<64>::new(9);
    let mut counts = [0; 3];
    for _ in 0..20_000 {
        let index = gumbel_argmax(&scores, 2.0, Optimize::Max, &mut source).unwrap().unwrap();
        counts[index % 3] += 1;
    }
    let class = |size: f64, score: f64| size.ln() + score / 2.0;
    assert!(fit(&counts, &[class(334.0, 0.0), class(333.0, 2.0), class(333.0, 7.0)]) < 1.0);
    assert!(fit(&counts, &[class(334.0, 0.0), class(333.0, 2.0), class(333.0, 6.0)]) > 1.0);
}
