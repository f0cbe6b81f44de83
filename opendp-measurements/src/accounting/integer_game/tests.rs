//! Comparison of the recursion of `IntegerGame` with laws whose probabilities are listed one by
//! one.

use opendp_core::PrivacyProfile;

use super::super::profile_of_discrete_gaussian_vector;
use super::*;

/// Let `Y` be the noise of a release: a vector of discrete Gaussian numbers. Add up `shift . Y`
/// over `count` releases. Return the probability of each value of the sum, from the lowest value
/// on.
fn law(shift: &[usize], scale: f64, count: usize) -> Vec<f64> {
    let reach = (9.0 * scale).ceil() as i32;
    let weights: Vec<f64> =
        (-reach..=reach).map(|z| (-(f64::from(z) / scale).powi(2) / 2.0).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut found = vec![1.0];
    for step in std::iter::repeat_n(shift, count).flatten() {
        let mut next = vec![0.0; found.len() + step * (weights.len() - 1)];
        for (i, mass) in found.iter().enumerate().filter(|(_, mass)| 1e-25 < **mass) {
            for (j, weight) in weights.iter().enumerate() {
                next[i + j * step] += mass * weight / total;
            }
        }
        found = next;
    }
    found
}
/// Compute delta at `epsilon` by its definition, from the `law` of `shift . Y` for all releases
/// together. `square` is the square of the L2 distance for all releases together.
fn exact(law: &[f64], square: usize, scale: f64, epsilon: f64) -> f64 {
    let middle = (law.len() / 2) as f64;
    let term = |(i, mass): (usize, &f64)| {
        let loss = (square as f64 + 2.0 * (i as f64 - middle)) / (2.0 * scale * scale);
        if epsilon < loss { -mass * (epsilon - loss).exp_m1() } else { 0.0 }
    };
    law.iter().enumerate().map(term).sum()
}

#[test]
fn ten_vectors_of_a_small_scale_cost_what_their_exact_laws_cost() {
    // Each case is the square of a distance, with some shifts of this distance. Every other shift
    // of this distance has the same greatest common divisor as one of the listed shifts. Then
    // `shift . Y` has the same law for both of these shifts, up to a negligible factor.
    let cases: [(u64, &[&[usize]]); 4] = [
        (4, &[&[2], &[1, 1, 1, 1]]),
        (5, &[&[2, 1], &[1, 1, 1, 1, 1]]),
        (8, &[&[2, 2], &[2, 1, 1, 1, 1]]),
        (9, &[&[3], &[2, 2, 1]]),
    ];
    for (square, shifts) in cases {
        let game = IntegerGame::new(square, 2.0, 10, 1e-6).unwrap();
        let mut largest = 0.0f64;
        for shift in shifts {
            let law = law(shift, 2.0, 10);
            let delta = |epsilon: f64| exact(&law, 10 * square as usize, 2.0, epsilon);
            // Check delta at the total losses and between these losses.
            for i in 0..40 {
                let epsilon = game.middle + f64::from(i) * 0.4;
                let (bound, least) = (game.delta(epsilon), delta(epsilon));
                assert!(least <= bound * (1.0 + 1e-9), "{square} {shift:?} {epsilon}: {bound}");
            }
            let (mut low, mut high) = (0.0, 100.0);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if delta(middle) <= 1e-6 { high = middle } else { low = middle }
            }
            largest = largest.max(high);
        }
        let found = game.epsilon(1e-6);
        // For the square 5, all shifts have the same greatest common divisor, so `shift . Y` has
        // almost the same law for all shifts. The adversary gains nothing from a choice of shifts.
        // `largest` is the epsilon of the worst fixed shift. So the bound is closer to `largest`
        // than for the other squares.
        let share = if square == 5 { 1.001 } else { 1.002 };
        assert!(
            largest <= found * (1.0 + 1e-9) && found <= share * largest,
            "{square}: {found} {largest}"
        );
        assert!(game.delta(found) <= 1e-6 && 1e-6 < game.delta(found * (1.0 - 1e-9)));
    }
}
/// Compute delta of two releases by a search. Try each law for the first release. For each output
/// of the first release, try each law for the second release.
#[test]
fn two_releases_cost_what_the_best_choice_after_the_first_costs() {
    let (square, scale) = (4u64, 2.0);
    let laws = [law(&[2], scale, 1), law(&[1, 1, 1, 1], scale, 1)];
    let game = IntegerGame::new(square, scale, 2, 1e-9).unwrap();
    for epsilon in [0.3f64, 1.0, 2.6, 4.25, 5.5] {
        let after = |law: &[f64], epsilon: f64| -> f64 {
            let middle = (law.len() / 2) as f64;
            let value = |(i, mass): (usize, &f64)| {
                let loss = (4.0 + 2.0 * (i as f64 - middle)) / 8.0;
                let rest = epsilon - loss;
                let best = laws.iter().map(|law| exact(law, 4, scale, rest));
                mass * best.fold(0.0, f64::max)
            };
            law.iter().enumerate().map(value).sum()
        };
        let largest = laws.iter().map(|law| after(law, epsilon)).fold(0.0, f64::max);
        let bound = game.delta(epsilon);
        assert!(largest <= bound * (1.0 + 1e-9), "{epsilon}: {bound} {largest}");
        // The bound is exact at the total losses, which are multiples of a quarter.
        if (epsilon * 4.0).fract() == 0.0 {
            assert!(bound <= largest * (1.0 + 1e-6), "{epsilon}: {bound} {largest}");
        }
    }
}
#[test]
fn says_nothing_where_it_would_take_long_or_be_loose() {
    assert!(IntegerGame::new(4, 2.0, 100_000, 1e-6).is_none());
    assert!(IntegerGame::new(400, 2.0, 1, 1e-6).is_none());
    assert!(IntegerGame::new(4, 0.5, 1, 1e-6).is_none());
    assert!(IntegerGame::new(4, f64::NAN, 1, 1e-6).is_none());
    assert!(IntegerGame::new(0, 2.0, 1, 1e-6).is_none());
    // At a scale of 2, the bound of `Smoothing` (in `integer_gaussian`) is not tight for 125
    // releases. So the recursion is still used.
    assert!(IntegerGame::new(4, 2.0, 125, 1e-6).is_some());
}
#[test]
fn ten_vectors_of_scale_2_in_an_account_cost_what_their_worst_choice_costs() {
    let single = profile_of_discrete_gaussian_vector(2.0, 2.0).unwrap();
    let all = PrivacyProfile::compose(&vec![single; 10]).unwrap();
    let found = all.epsilon(1e-6).unwrap();
    // The expected value is from an independent computation of the recursion. Without the recursion
    // the bound is 19.6015.
    assert!((19.45885..19.45887).contains(&found), "{found}");
    let delta = all.delta(found).unwrap();
    assert!((1e-6 * (1.0 - 1e-6)..1e-6 * (1.0 + 1e-9)).contains(&delta), "{delta}");
}
/// Near a delta of 1, the total losses are near 0 or negative, and adjacent entries are almost
/// equal.
#[test]
fn delta_at_the_returned_epsilon_is_at_most_the_given_delta() {
    let cases = [(4, 2.0, 10, 1e-6), (4, 2.0, 125, 1e-6), (1, 3.0, 400, 0.4), (9, 3.0, 50, 1e-9)];
    for (square, scale, count, least) in cases {
        let game = IntegerGame::new(square, scale, count, least).unwrap();
        assert!(game.deltas.is_sorted(), "{square} {scale} {count}");
        let least = game.deltas[0];
        assert!(game.epsilon(least * 0.5).is_infinite() && game.delta(f64::INFINITY) == least);
        let near =
            |delta: &f64| [delta.next_down(), *delta, delta.next_up(), delta * (1.0 - 1e-13)];
        let some = [0.3, 0.999, 1.0 - 1e-9, 1.0 - 1e-14, 1f64.next_down(), 1.0];
        let entries = game.deltas.iter().step_by(1 + game.deltas.len() / 97).flat_map(near);
        for delta in entries.chain(some).filter(|delta| game.deltas[0] * (1.0 + 1e-13) < *delta) {
            let epsilon = game.epsilon(delta);
            assert!(
                game.delta(epsilon) <= delta,
                "{square} {scale} {count} {delta:e}: {epsilon:e}"
            );
            // The result is tight: a slightly smaller epsilon has a larger delta.
            let less = epsilon - 1e-9 * (1.0 + epsilon);
            assert!(
                less < 0.0 || delta * (1.0 - 1e-9) < game.delta(less),
                "{delta:e}: {epsilon:e}"
            );
        }
    }
}
