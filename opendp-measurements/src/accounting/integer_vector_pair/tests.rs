//! Comparison of the pair with laws that are convolved exactly.

use std::collections::BTreeMap;

use opendp_core::PrivacyProfile;

use super::super::integer_gaussian::Smoothing;
use super::super::*;
use super::*;

/// A distribution: a list of integers, each with its probability.
type Law = BTreeMap<i64, f64>;

fn noise(scale: f64) -> Law {
    let reach = (12.0 * scale).ceil() as i64;
    let weight = |z: i64| (-(z as f64 / scale).powi(2) / 2.0).exp();
    let total: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|z| (z, weight(z) / total)).collect()
}
fn convolve(first: &Law, second: &Law) -> Law {
    let mut sum = Law::new();
    for (x, p) in first {
        for (y, q) in second {
            *sum.entry(x + y).or_default() += p * q;
        }
    }
    sum
}
/// Return the law of `s . Y` for a shift `s` and discrete Gaussian noise `Y`.
fn projected(shift: &[i64], scale: f64) -> Law {
    shift.iter().fold(Law::from([(0, 1.0)]), |law, s| {
        convolve(&law, &noise(scale).into_iter().map(|(z, p)| (s * z, p)).collect())
    })
}
/// Compute delta of a shift `s` at `epsilon`. `law` is the law of `s . Y`: it contains the
/// probability of each integer `u`. The loss at `u` is `(square + 2 u) / (2 scale^2)`.
fn exact(law: &Law, square: i64, scale: f64, epsilon: f64) -> f64 {
    let term = |(u, p): (&i64, &f64)| {
        let loss = (square as f64 + 2.0 * *u as f64) / (2.0 * scale * scale);
        if epsilon < loss { -(epsilon - loss).exp_m1() * p } else { 0.0 }
    };
    law.iter().map(term).sum()
}
/// Return all shifts whose numbers are from 1 to `limit` and have squares that add up to `square`.
/// The numbers of each shift are in descending order.
fn shifts(square: i64, limit: i64) -> Vec<Vec<i64>> {
    if square == 0 {
        return vec![Vec::new()];
    }
    let first = (1..=limit.min(square.isqrt())).rev();
    first
        .flat_map(|k| {
            let rest = shifts(square - k * k, k);
            rest.into_iter().map(move |rest| [vec![k], rest].concat())
        })
        .collect()
}
fn profile(square: i64, scale: f64) -> PrivacyProfile {
    profile_of_discrete_gaussian_vector((square as f64).sqrt(), scale).unwrap()
}
const EPSILONS: [f64; 7] = [0.0, 0.1, 0.31, 0.7, 1.2, 2.0, 3.3];

#[test]
fn no_shift_of_a_vector_of_integers_loses_more_than_is_found_and_one_loses_as_much() {
    let mut tight = 0;
    for scale in [1.6, 2.3, 3.0] {
        for square in [2i64, 3, 4, 5, 6, 8] {
            let found = profile(square, scale);
            let listed = IntegerVectorPair::enclosed(square as u64, scale).unwrap().is_some();
            tight += usize::from(listed);
            let laws: Vec<Law> =
                shifts(square, square).iter().map(|shift| projected(shift, scale)).collect();
            for epsilon in EPSILONS {
                let upper = found.delta(epsilon).unwrap();
                let worst = laws.iter().map(|law| exact(law, square, scale, epsilon));
                let worst = worst.fold(0.0, f64::max);
                let name = format!("{square} {scale} {epsilon}: {upper} {worst}");
                assert!(worst <= upper * (1.0 + 1e-9) + 1e-14, "{name}");
                // If epsilon is a loss of the pair, delta of the pair is the largest delta of all
                // shifts, up to the probability of a failure. Between two losses, delta of the pair
                // is interpolated linearly. So this delta can be a little above the largest delta
                // of all shifts.
                assert!(!listed || upper < worst * 1.06 + 2e-7, "{name}");
            }
        }
    }
    assert!(12 <= tight, "{tight}");
}
#[test]
fn every_single_shift_is_too_little_where_there_are_several() {
    let (square, scale) = (4, 3.0);
    let laws: Vec<Law> = shifts(square, 4).iter().map(|shift| projected(shift, scale)).collect();
    assert_eq!(laws.len(), 2);
    // The losses of the first shift are on a lattice. The losses of the second shift are on a finer
    // lattice, which contains the first lattice. At a loss that is on both lattices, the second
    // shift has the larger delta. At a loss that is only on the finer lattice, the first shift has
    // the larger delta.
    let loss_at = |u: f64| (square as f64 + 2.0 * u) / (2.0 * scale * scale);
    let worse = |u: f64| {
        let [first, second] = [&laws[0], &laws[1]].map(|law| exact(law, square, scale, loss_at(u)));
        second < first
    };
    assert!(!worse(4.0) && worse(5.0));
}
#[test]
fn releases_of_different_shifts_lose_no_more_than_is_found() {
    let (square, scale) = (4, 2.5);
    let laws: Vec<Law> = shifts(square, 4).iter().map(|shift| projected(shift, scale)).collect();
    let found = PrivacyProfile::compose(&vec![profile(square, scale); 3]).unwrap();
    for which in [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]] {
        let law = which.iter().fold(Law::from([(0, 1.0)]), |law, i| convolve(&law, &laws[*i]));
        for epsilon in EPSILONS {
            let (upper, exact) =
                (found.delta(epsilon).unwrap(), exact(&law, 3 * square, scale, epsilon));
            assert!(exact <= upper && upper < exact * 1.06 + 1e-6, "{epsilon}: {upper} {exact}");
        }
    }
}
#[test]
fn equal_releases_of_integers_are_joined_to_what_they_lose() {
    for (shift, scale, count) in [(1i64, 4.0, 30), (2, 3.0, 5), (3, 5.0, 4)] {
        let single = projected(&[shift], scale);
        let law = (1..count).fold(single.clone(), |law, _| convolve(&law, &single));
        let pair = DiscreteGaussianPair { sensitivity: shift as u32, scale };
        assert_eq!(pair.between(count).unwrap().times, 1);
        let account = Account::new().with(Arc::new(pair), count);
        for epsilon in EPSILONS {
            let found = account.delta(epsilon).unwrap();
            let exact = exact(&law, count as i64 * shift * shift, scale, epsilon);
            let name = format!("{shift} {scale} {epsilon}: {found:?} {exact}");
            assert!(found.lower <= exact * (1.0 + 1e-9), "{name}");
            assert!(exact <= found.upper * (1.0 + 1e-9), "{name}");
            assert!(found.upper <= found.lower * (1.0 + 1e-3), "{name}");
        }
    }
}
/// For noise of a small scale, the law of the total noise of ten releases is not close enough to a
/// discrete Gaussian law.
#[test]
fn releases_of_little_noise_are_not_joined() {
    let joins = |scale: f64| joined(1, scale, 1, 10).unwrap().is_some();
    assert!(!joins(1.0) && !joins(2.0) && joins(2.5));
    assert!(joined(1, 99.0, 1, 1).unwrap().is_none() && joined(1, 101.0, 1, 1).unwrap().is_some());
    assert!(joined(u64::MAX, 1e12, 1, 2).unwrap().is_none());
}
#[test]
fn a_law_of_one_step_is_listed_to_the_last_digits() {
    let pair = IntegerVectorPair::new(2, 3.0, vec![1]);
    let law = projected(&[1, 1], 3.0);
    for (loss, p, q) in &pair.listed().list {
        let u = ((2.0 * 9.0 * loss - 2.0) / 2.0).round() as i64;
        let mass_at = |u: i64| law.get(&u).copied().unwrap_or(0.0);
        assert!((p - mass_at(u)).abs() < 1e-13 + 1e-12 * p, "{loss}: {p} {}", mass_at(u));
        assert!((q - mass_at(u + 2)).abs() < 1e-13 + 1e-12 * q);
    }
}
#[test]
fn what_is_found_decreases_with_epsilon_and_grows_with_the_distance() {
    for (smaller, larger, scale) in [(2, 3, 4.0), (3, 4, 4.0), (8, 9, 12.0), (2, 3, 150.0)] {
        let (less, more) = (profile(smaller, scale), profile(larger, scale));
        let mut before = 1.0;
        for step in 0..40 {
            let epsilon = f64::from(step) / 10.0;
            let delta = less.delta(epsilon).unwrap();
            assert!(
                delta <= before && delta <= more.delta(epsilon).unwrap(),
                "{smaller} {epsilon}"
            );
            before = delta;
        }
    }
}
/// Compare the bound for many equal releases with a lower bound. The lower bound is the epsilon of
/// releases that all have the same shift.
#[test]
fn vectors_whose_squared_distance_has_a_square_factor_compose_tightly() {
    for (square, scale, count) in [(4i64, 4.0, 100), (9, 4.0, 100), (16, 5.0, 50), (4, 3.0, 60)] {
        let all = PrivacyProfile::compose(&vec![profile(square, scale); count]).unwrap();
        // `ones` is the pair of the shift in which `square` numbers differ by 1.
        let ones = IntegerVectorPair::new(square as u64, scale, vec![1]);
        let least = Account::new().with(Arc::new(ones), count as u64).epsilon(1e-6).unwrap().lower;
        let found = all.epsilon(1e-6).unwrap();
        assert!(least <= found && found <= 1.001 * least, "{square} {scale}: {found} {least}");
    }
}
#[test]
fn vectors_at_distances_above_their_scale_compose_tightly() {
    for (distance, scale, count) in [(10.0, 5.0, 100), (4.0, 3.0, 100), (90.0, 19.0, 10)] {
        let vector = profile_of_discrete_gaussian_vector(distance, scale).unwrap();
        let all = PrivacyProfile::compose(&vec![vector; count]).unwrap();
        // `single` is the pair of the shift in which only one number differs.
        let single = DiscreteGaussianPair { sensitivity: distance as u32, scale };
        let least =
            Account::new().with(Arc::new(single), count as u64).epsilon(1e-6).unwrap().lower;
        let found = all.epsilon(1e-6).unwrap();
        assert!(least <= found && found <= 1.001 * least, "{distance} {scale}: {found} {least}");
    }
}
#[test]
fn one_integer_at_many_scales_is_listed() {
    let found = profile_of_discrete_gaussian(9.0, 1.0).unwrap().epsilon(1e-6).unwrap();
    let delta = exact(&projected(&[9], 1.0), 81, 1.0, found);
    assert!((9e-7..1.000_001e-6).contains(&delta), "{found} {delta}");
    // `found` is below the epsilon that follows from `rho` alone.
    assert!(found < 0.985 * concentrated_epsilon(40.5, 1e-6).unwrap());
}
#[test]
fn noise_that_is_smoothed_once_bounds_releases_of_any_shifts() {
    let mut control = 0;
    for (square, scale, count) in
        [(4i64, 1.0, 1), (5, 1.1, 2), (10, 1.2, 1), (10, 2.0, 1), (4, 1.5, 3)]
    {
        let smoothing = Smoothing::of(&[(square as f64, scale, count)]).unwrap().unwrap();
        let all = count as i64 * square;
        let laws: Vec<Law> =
            shifts(square, square).iter().map(|shift| projected(shift, scale)).collect();
        // Each release can have a different shift. So compute the law of the sum for each
        // combination of shifts.
        let mut sums = vec![Law::from([(0, 1.0)])];
        for _ in 0..count {
            sums = sums.iter().flat_map(|sum| laws.iter().map(|law| convolve(sum, law))).collect();
        }
        for epsilon in (0..40).map(|part| f64::from(part) / 8.0) {
            let worst = sums.iter().map(|law| exact(law, all, scale, epsilon)).fold(0.0, f64::max);
            let continuous = |squares: f64| gaussian_delta(squares.sqrt(), epsilon).unwrap().upper;
            let bound = smoothing.factor * continuous(smoothing.squares);
            assert!(worst <= bound * (1.0 + 1e-12), "{square} {scale} {epsilon}: {bound} {worst}");
            let bare = smoothing.factor * continuous(all as f64 / (scale * scale));
            control += usize::from(bare < worst);
        }
    }
    // The control: without the additional variance of the smoothing, the result is not a bound.
    assert!(20 < control, "{control}");
}
#[test]
fn too_little_noise_is_not_smoothed() {
    assert!(Smoothing::of(&[(4.0, 0.5, 10)]).unwrap().is_none());
    assert!(Smoothing::of(&[(4.0, 5.0, 10), (4.0, 0.5, 10)]).unwrap().is_none());
    assert!(Smoothing::of(&[]).unwrap().is_none());
}
/// A pair that counts how often its outputs are put on a grid.
#[derive(Debug)]
struct Counted(std::sync::atomic::AtomicUsize);
impl DominatingPair for Counted {
    fn range(&self, _: f64) -> (f64, f64) {
        (-1.0, 1.0)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        PrivatePair { epsilon: 1.0, delta: 0.0 }.buckets(grid)
    }
}
#[test]
fn a_composition_with_a_member_that_reveals_everything_needs_no_grid() {
    let counted = Arc::new(Counted(0.into()));
    let account = Account::new().with(counted.clone(), 1);
    assert!(account.clone().delta(0.5).unwrap().upper < 1.0);
    let before = counted.0.swap(0, std::sync::atomic::Ordering::Relaxed);
    let all = account.with(Arc::new(PrivatePair { epsilon: 0.0, delta: 1.0 }), 1);
    assert_eq!(all.delta(0.5).unwrap(), Certified { lower: 1.0, upper: 1.0 });
    assert_eq!(all.epsilon_above(1e-6).unwrap(), f64::INFINITY);
    assert_eq!(all.epsilon_above(1.0).unwrap(), 0.0);
    assert!(0 < before && counted.0.load(std::sync::atomic::Ordering::Relaxed) == 0);
}
/// The pair lists outputs only up to its largest scale. At a larger scale, it lists no outputs, and
/// all outputs count as infinite losses.
#[test]
fn a_scale_above_the_limit_does_not_reduce_delta() {
    let noise = DiscreteGaussianPair { sensitivity: 4_000_000, scale: 1e6 };
    let pair = ThresholdedPair { noise: Arc::new(noise), delta: 0.0 };
    let account = Account::new().with(Arc::new(pair), 1);
    for epsilon in [1.0, 17.81] {
        let (found, exact) =
            (account.delta(epsilon).unwrap(), gaussian_delta(4.0, epsilon).unwrap());
        assert!(0.004 < exact.lower && exact.lower <= found.upper, "{exact:?} {found:?}");
        assert!(found.lower <= exact.upper, "{exact:?} {found:?}");
    }
}
