use opendp_core::{Approximate, Atom, MaxDivergence, TheMeasure, ZeroConcentratedDivergence};
use proptest::prelude::*;

use super::*;
use crate::samplers::{power_of_two, round_to_lattice};
use crate::tails::{discrete_laplacian_tail, laplacian_tail};
use crate::{make_gaussian_threshold, make_laplace_threshold, make_noise_threshold};

type Typed<const P: usize, Q> = L0PInfDistance<P, AbsoluteDistance<Q>>;
type MapSpace<const P: usize, K, V, Q> = super::MapSpace<K, V, Typed<P, Q>>;
type Release<const P: usize, K, V, Q, MO> = super::Release<K, V, Typed<P, Q>, MO>;

type Pure = Approximate<MaxDivergence>;
type Concentrated = Approximate<ZeroConcentratedDivergence>;

fn parts<const P: usize, V: Atom, Q: Distance + Number>() -> MapSpace<P, u32, V, Q> {
    let domain = MapDomain::new(AtomDomain::default(), AtomDomain::non_nan());
    Space::new(domain, L0PInfDistance::new(AbsoluteDistance::new())).unwrap()
}
fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}
fn laplace(s: f64, threshold: i32) -> Release<1, u32, i32, i32, Pure> {
    make_laplace_threshold(parts(), scale(s), threshold, None).unwrap()
}
fn laplace_f64(s: f64, threshold: f64, k: Option<i32>) -> Release<1, u32, f64, f64, Pure> {
    make_laplace_threshold(parts(), scale(s), threshold, k).unwrap()
}
fn gaussian(s: f64, threshold: i32) -> Release<2, u32, i32, i32, Concentrated> {
    make_gaussian_threshold(parts(), scale(s), threshold, None).unwrap()
}
/// Check the two parts of a loss. The first part, epsilon or rho, must equal its exact value. The
/// second part, delta, must be at least its exact value, with a relative error of at most `slack`.
#[track_caller]
fn close(found: Result<(f64, f64)>, (loss, delta): (f64, f64), slack: f64) {
    let found = found.unwrap();
    assert_eq!(found.0, loss);
    assert!(delta <= found.1 && found.1 <= delta * (1.0 + slack), "{found:?} for {delta}");
}

#[test]
fn gives_the_losses_of_the_test_vectors_at_the_tail_of_the_rule() {
    // The number 1 reaches the threshold 5 if the noise is at least 4. So the map adds the
    // probabilities of all noise values of at least 4. OpenDP adds only the probabilities of noise
    // values of at least 5.
    close(laplace(1.0, 5).map(&(1, 1, 1)), (1.0, 0.013_389_804_932_698_45), 1e-15);
    let p = 0.013_389_804_932_698_45;
    close(laplace(1.0, 5).map(&(2, 2, 1)), (2.0, p * (2.0 - p) * (1.0 - 1e-15)), 1e-14);
    // The noise for floats is continuous, and the releases lie on a lattice. This lattice is very
    // fine, so half a lattice step does not change delta noticeably.
    let fine = laplace_f64(1.0, 5.0, None);
    close(fine.map(&(1, 1.0, 1.0)), (1.0, 0.009_157_819_444_367_09), 1e-11);
    close(fine.map(&(3, 2.0, 1.0)), (2.0, 0.027_222_629_388_718_66), 1e-11);
    for d in [1.0, 2.0, 3.0] {
        let exact = (d - 10.0_f64).exp() / 2.0;
        close(laplace_f64(1.0, 10.0, None).map(&(1, d, d)), (d, exact * (1.0 - 1e-15)), 1e-11);
    }
    // The probability that discrete Laplace noise is at least 10 - d is exp(-(10 - d)) / (1 + 1 /
    // e).
    for d in [1, 2, 3] {
        let exact = (f64::from(d) - 10.0).exp() / (1.0 + (-1.0_f64).exp());
        close(laplace(1.0, 10).map(&(1, d, d)), (f64::from(d), exact * (1.0 - 1e-15)), 1e-14);
    }
    // `exact` is the probability that discrete Gaussian noise of scale 1 is at least 9.
    let exact = 1.028_054_299_771_316_6e-18;
    close(gaussian(1.0, 10).map(&(1, 1, 1)), (0.5, exact), 1e-15);
    close(gaussian(1.0, 10).map(&(4, 2, 1)), (2.0, 4.0 * exact), 1e-15);
}
#[test]
fn nothing_is_lost_without_a_change_and_everything_without_noise() {
    for d_in in [(0, 0, 0), (0, 3, 3), (2, 0, 3), (2, 3, 0)] {
        for s in [0.0, 1.0] {
            assert_eq!(laplace(s, 5).map(&d_in), Ok((0.0, 0.0)));
            assert_eq!(gaussian(s, 5).map(&d_in), Ok((0.0, 0.0)));
        }
    }
    assert_eq!(laplace(0.0, 5).map(&(1, 1, 1)), Ok((f64::INFINITY, 1.0)));
    assert_eq!(gaussian(0.0, 5).map(&(1, 1, 1)), Ok((f64::INFINITY, 1.0)));
}
#[test]
fn each_bound_on_the_change_helps() {
    let loss_at = |d_in| laplace(1.0, 9).map(&d_in).unwrap();
    assert_eq!(loss_at((2, 100, 3)).0, 6.0);
    assert_eq!(loss_at((2, 5, 3)).0, 5.0);
    // No single change exceeds the sum of all changes, and this sum is at most 2. So the bound of
    // 100 on the largest change has the same effect as a bound of 2.
    assert_eq!(loss_at((1, 2, 100)), loss_at((1, 2, 2)));
    assert_eq!(loss_at((u32::MAX, 2, 2)).0, 2.0);
    let loss_at = |d_in| gaussian(1.0, 9).map(&d_in).unwrap();
    assert_eq!(
        [loss_at((2, 100, 3)).0, loss_at((2, 4, 3)).0, loss_at((1, 2, 100)).0],
        [9.0, 8.0, 2.0]
    );
    // A change of an integer is an integer, so the map rounds the parts of the distance down.
    let release: Release<1, u32, i32, f64, Pure> =
        make_laplace_threshold(parts(), scale(1.0), 5, None).unwrap();
    assert_eq!(release.map(&(1, 1.9, 1.9)), laplace(1.0, 5).map(&(1, 1, 1)));
    assert_eq!(release.map(&(9, 0.9, 0.9)), Ok((0.0, 0.0)));
    // Without noise, the loss is infinite if all parts of the distance are positive, even if a part
    // is rounded down to 0.
    let exact: Release<1, u32, i32, f64, Pure> =
        make_laplace_threshold(parts(), scale(0.0), 5, None).unwrap();
    assert_eq!(exact.map(&(9, 0.9, 0.9)), Ok((f64::INFINITY, 1.0)));
    assert_eq!(exact.map(&(9, 0.0, 0.9)), Ok((0.0, 0.0)));
    assert_eq!(release.map(&(2, 3.9, 1.9)).unwrap().0, 2.0);
    assert_eq!(release.map(&(2, f64::INFINITY, 1.0)).unwrap().0, 2.0);
    // The Euclidean length of integer changes need not be an integer, so this length is not rounded
    // down.
    let release: Release<2, u32, i32, f64, Concentrated> =
        make_gaussian_threshold(parts(), scale(1.0), 5, None).unwrap();
    assert_eq!(release.map(&(9, 1.5, 1.9)).unwrap().0, 1.125);
}
#[test]
fn refuses_distances_that_are_none_or_that_reach_the_threshold() {
    let release = laplace_f64(1.0, 5.0, None);
    let error = release.map(&(1, 6.0, 6.0)).unwrap_err();
    assert_eq!(error.kind(), "FailedMap");
    assert!(error.to_string().contains("threshold: expected a magnitude of at least 6"), "{error}");
    assert_eq!(laplace(1.0, 5).map(&(1, 6, 6)).unwrap_err().kind(), "FailedMap");
    assert_eq!(laplace(1.0, 5).map(&(1, 5, 5)).unwrap().1, 0.731_058_578_630_004_9);
    assert_eq!(laplace(1.0, 5).map(&(1, -1, 1)).unwrap_err().kind(), "FailedMap");
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        assert_eq!(release.map(&(1, wrong, wrong)).unwrap_err().kind(), "FailedMap");
    }
    // Every unsigned number reaches the threshold 0, so the map returns an error for a changed key.
    let release: Release<1, u32, u32, u32, Pure> =
        make_laplace_threshold(parts(), scale(1.0), 0, None).unwrap();
    assert_eq!(release.map(&(1, 1, 1)).unwrap_err().kind(), "FailedMap");
    let half: Result<Release<1, u32, i32, i32, Pure>> =
        make_laplace_threshold(parts(), scale(1.0), 5, Some(1));
    assert_eq!(half.unwrap_err().kind(), "MakeMeasurement");
}
#[test]
fn thresholds_of_integers_may_be_negative_and_of_floats_not() {
    // The probability that the key 3 is released is below exp(-40).
    let (up, down) = (laplace(0.1, 5), laplace(0.1, -5));
    assert_eq!(up.map(&(2, 3, 2)), down.map(&(2, 3, 2)));
    assert!(laplace(1.0, i32::MIN).map(&(1, 9, 9)).is_ok());
    let data = HashMap::from([(1, 1000), (2, -1000), (3, 1)]);
    assert_eq!(up.invoke(&data).unwrap().into_keys().collect::<Vec<_>>(), [1]);
    assert_eq!(down.invoke(&data).unwrap().into_keys().collect::<Vec<_>>(), [2]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        let made: Result<Release<1, u32, f64, f64, Pure>> =
            make_laplace_threshold(parts(), scale(1.0), wrong, None);
        assert_eq!(made.unwrap_err().kind(), "MakeMeasurement");
        let made: Result<Release<2, u32, f32, f32, Concentrated>> =
            make_gaussian_threshold(parts(), scale(1.0), wrong as f32, None);
        assert_eq!(made.unwrap_err().kind(), "MakeMeasurement");
    }
}

/// Release a map with many keys, all with the value `number`. Return the fraction of keys that are
/// released, and eight standard deviations of this fraction.
fn rate<const P: usize, V: Copy + Atom, Q: Distance + Number, MO: Measure>(
    release: &Release<P, u32, V, Q, MO>,
    number: V,
) -> (f64, f64) {
    let keys = 200_000;
    let data: HashMap<u32, V> = (0..keys).map(|key| (key, number)).collect();
    let rate = release.invoke(&data).unwrap().len() as f64 / f64::from(keys);
    (rate, 8.0 * (rate * (1.0 - rate) / f64::from(keys)).sqrt())
}
/// Suppose that a key occurs in the data of only one person. Check that the probability of
/// releasing this key is delta, up to eight standard deviations.
#[test]
fn singletons_are_released_no_more_often_than_delta() {
    for threshold in [4, 5, 6] {
        let release = laplace(1.0, threshold);
        let delta = release.map(&(1, 1, 1)).unwrap().1;
        let (rate, slack) = rate(&release, 1);
        assert!((rate - delta).abs() < slack, "{threshold}: {rate} for {delta}");
        // The control: in OpenDP, delta is the probability that the noisy number is above the
        // threshold. This mechanism also releases a noisy number that equals the threshold, so the
        // delta of OpenDP is too small.
        let control = discrete_laplacian_tail(scale(1.0), f64::from(threshold)).unwrap();
        assert!(control < rate - slack, "{threshold}: {control} goes unnoticed");
    }
    let release = gaussian(2.0, 5);
    let delta = release.map(&(1, 1, 1)).unwrap().1;
    let (found, slack) = rate(&release, 1);
    assert!((found - delta).abs() < slack, "{found} for {delta}");
    let (found, slack) = rate(&laplace(1.0, -4), -1);
    let delta = laplace(1.0, -4).map(&(1, 1, 1)).unwrap().1;
    assert!((found - delta).abs() < slack, "{found} for {delta}");
}
#[test]
fn delta_covers_what_the_lattice_rounds_up() {
    for (threshold, k) in [(4.0, 2), (5.0, 2), (4.0, 1), (3.0, 0), (3.25, -1)] {
        let release = laplace_f64(1.0, threshold, Some(k));
        let delta = release.map(&(1, 1.0, 1.0)).unwrap().1;
        let (rate, slack) = rate(&release, 1.0);
        assert!((rate - delta).abs() < slack, "{threshold} {k}: {rate} for {delta}");
    }
    // The control: rounding to the lattice can raise a number by half a lattice step. A delta that
    // ignores this rounding is too small.
    let control = laplacian_tail(scale(1.0), 3.0).unwrap();
    let (rate, slack) = rate(&laplace_f64(1.0, 4.0, Some(2)), 1.0);
    assert!(control < rate - slack, "{control} goes unnoticed");
}
#[test]
fn draws_keep_to_the_map_where_keys_come_and_others_change() {
    let (x, y) = (HashMap::from([(1, 1), (2, 4)]), HashMap::from([(2, 3)]));
    // Compute by how many standard deviations the frequency of an event under `x` exceeds its
    // bound. The bound follows from the claimed loss and the frequency of the event under `y`. The
    // event is that key 1 is released, or that key 2 is released with a number of at least 4. Do
    // the same with `x` and `y` exchanged. Return the larger result.
    let excess = |release: &Release<1, u32, i32, i32, Pure>, (epsilon, delta): (f64, f64)| {
        let draws = 100_000;
        let often = |data: &HashMap<u32, i32>| {
            let high = |_: &i32| {
                let released = release.invoke(data).unwrap();
                released.contains_key(&1) || released.get(&2).is_some_and(|r| 4 <= *r)
            };
            (0..draws).filter(high).count() as f64 / f64::from(draws)
        };
        let (p, q, factor) = (often(&x), often(&y), epsilon.exp());
        let deviation = |p: f64, q: f64| {
            ((p * (1.0 - p) + factor * factor * q * (1.0 - q)) / f64::from(draws)).sqrt()
        };
        let there = (p - factor * q - delta) / deviation(p, q);
        there.max((q - factor * p - delta) / deviation(q, p))
    };
    let claim = laplace(2.0, 3).map(&(2, 2, 1)).unwrap();
    assert!(excess(&laplace(2.0, 3), claim) < 8.0);
    // The control uses a wrong claim for the mechanism with threshold 3. This claim is the loss of
    // the mechanism with threshold 9 for one changed key. The epsilon of this claim is half of the
    // true epsilon, and the delta of this claim is near 0.
    let single = laplace(2.0, 9).map(&(1, 1, 1)).unwrap();
    assert!(8.0 < excess(&laplace(2.0, 3), single));
}
#[test]
fn a_key_of_the_number_zero_is_one_that_is_not_there() {
    // If noise were added to keys with the number 0, the noisy numbers of many of these keys would
    // reach a threshold of 1.
    let data: HashMap<u32, i32> = (0..1000).map(|key| (key, 0)).collect();
    assert!(laplace(10.0, 1).invoke(&data).unwrap().is_empty());
    let ones: HashMap<u32, i32> = (0..1000).map(|key| (key, 1)).collect();
    assert!(!laplace(10.0, 1).invoke(&ones).unwrap().is_empty());
    let zeros = HashMap::from([(1, 0.0), (2, -0.0)]);
    assert!(laplace_f64(10.0, 0.0, None).invoke(&zeros).unwrap().is_empty());
}
#[test]
fn the_layout_of_a_release_tells_nothing_of_the_keys_that_were_hidden() {
    let few: HashMap<u32, i32> = (0..20).map(|key| (key, 1000)).collect();
    let mut many = few.clone();
    many.extend((1000..100_000).map(|key| (key, 1)));
    let release = laplace(0.0, 500);
    let (from_few, from_many) = (release.invoke(&few).unwrap(), release.invoke(&many).unwrap());
    assert_eq!(from_few, from_many);
    assert_eq!(from_few.capacity(), from_many.capacity());
    // The control: a map keeps its capacity when keys are removed. So the capacity of `many` shows
    // that `many` had more keys before.
    many.retain(|_, number| 500 <= *number);
    assert_ne!(from_few.capacity(), many.capacity());
}
#[test]
fn joint_deltas_are_as_small_as_they_are() {
    // If 1 - (1 - delta)^count were computed in floats, the result would be a multiple of 2^-53,
    // and often 0.
    for (count, delta) in [(1_000_000, 1e-20), (3, 1e-300), (2, 5e-324), (1000, 1e-5), (2, 0.5)] {
        let joint = any_of(count, delta).unwrap();
        let exact = -(f64::from(count) * (-delta).ln_1p()).exp_m1();
        assert!(
            exact * (1.0 - 1e-15) <= joint && joint <= exact * (1.0 + 1e-14),
            "{count} {delta}"
        );
        assert!(joint <= f64::from(count) * delta);
    }
    // At least one of three independent events of probability delta happens with probability
    // `3 delta - 3 delta^2 + delta^3`.
    let number = |x: f64| opendp_core::arith::Exact::from_f64(x).unwrap();
    for delta in [0.1, 0.3, 0.7, 1e-3, 1e-9, 1.1e-17, 1.3e-20] {
        let (p, square) = (number(delta), number(delta).times(&number(delta)));
        let all = p.times(&number(3.0)).plus(&square.times(&p));
        let exact = all.minus(&square.times(&number(3.0)));
        assert!(exact <= number(any_of(3, delta).unwrap()), "{delta}");
    }
    assert_eq!([any_of(1, 0.25), any_of(7, 1.0), any_of(7, 0.0)], [Ok(0.25), Ok(1.0), Ok(0.0)]);
    assert_eq!(any_of(u32::MAX, 0.9), Ok(1.0));
}
#[test]
fn a_gap_is_rounded_down() {
    let gap = <i64 as ThresholdNumber>::gap((1 << 60) + 1, 0_i64, None);
    assert_eq!(gap, Ok(Some((1_u64 << 60) as f64)));
    let change = (1_i64 << 53) + 1;
    // The change is rounded up to `2^53 + 2`, and half a lattice step is 4. The difference is
    // `2^55 - 4 - (2^53 + 2) = 3 * 2^53 - 6`. This difference is rounded down to a float, which is
    // a multiple of 4.
    let gap = <f64 as ThresholdNumber>::gap((1_u64 << 55) as f64, change, Some(3));
    assert_eq!(gap, Ok(Some((3 * (1_u64 << 53) - 8) as f64)));
    let number = |x: f64| opendp_core::arith::Exact::from_f64(x).unwrap();
    for change in [0.1, 0.3, 1.7, 1e-9] {
        let gap = <f64 as ThresholdNumber>::gap(10.0, change, None).unwrap().unwrap();
        let reached = number(gap).plus(&number(change));
        assert!(
            reached <= number(9.5),
            "noise of 9.5 reaches 10 after it is rounded to an integer"
        );
        let gap = <f64 as ThresholdNumber>::gap(10.0, change, Some(-80)).unwrap().unwrap();
        assert!(number(gap).plus(&number(change)) < number(10.0_f64.next_down()), "{change}");
    }
}
#[test]
fn floats_at_a_distance_below_one_lose_something() {
    let (loss, delta) = laplace_f64(1.0, 10.0, None).map(&(1, 0.5, 0.5)).unwrap();
    assert!(loss == 0.5 && 0.0 < delta);
}
#[test]
fn released_numbers_have_the_accuracy_of_their_noise() {
    assert_eq!(laplace(1.0, 5).accuracy(0.05), Ok(vec![Some(3.0)]));
    assert_eq!(gaussian(100.0, 5).accuracy(0.05), Ok(vec![Some(196.0)]));
    assert_eq!(laplace(1.0, 5).accuracy(0.0).unwrap_err().kind(), "InvalidDistance");
}

proptest! {
    /// Check that the sum of the number 0 and noise reaches the threshold only if the noise is at
    /// least the computed gap.
    #[test]
    fn no_sum_below_the_gap_reaches_the_threshold(
        threshold in 1e-3..1e3, exact in -20..20_i32, k in -60..8,
    ) {
        for threshold in [threshold, 2_f64.powi(exact), 3.0 * 2_f64.powi(exact)] {
            let released = |y: f64| round_to_lattice(y, k);
            let step = power_of_two(k);
            let gap = f64::gap(threshold, 0.0, Some(k)).unwrap().unwrap();
            prop_assert!(released(gap.next_down()) < threshold);
            let ulp = threshold - threshold.next_down();
            prop_assert!(threshold <= released(gap.max(threshold) + step + ulp));
            if step >= ulp {
                prop_assert!(threshold <= released(gap.next_up()));
            }
            let narrow = threshold as f32;
            let gap = f32::gap(narrow, 0.0_f64, Some(k)).unwrap().unwrap();
            prop_assert!((released(gap.next_down()) as f32) < narrow);
        }
    }
}

#[test]
fn the_measure_decides_the_noise() {
    let s = scale(2.0);
    let pure =
        make_noise_threshold(parts::<1, i32, i32>(), TheMeasure(Pure::default()), s, 5, None);
    assert_eq!(pure.unwrap().map(&(2, 3, 2)), laplace(2.0, 5).map(&(2, 3, 2)));
    let measure = TheMeasure(Concentrated::default());
    let made = make_noise_threshold(parts::<2, i32, i32>(), measure, s, 5, None);
    assert_eq!(made.unwrap().map(&(2, 3, 2)), gaussian(2.0, 5).map(&(2, 3, 2)));
}
