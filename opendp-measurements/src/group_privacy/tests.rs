//! Tests that compare the bounds for groups with the exact losses of small mechanisms.

use opendp_core::{
    AbsoluteDistance, AtomDomain, ChangeOneDistance, DiscreteDistance, Function, HammingDistance,
    Ledger, Measure, MetricOn, PrivacyProfile, RenyiCurve, Space, SymmetricDistance, UserDomain,
    VectorDomain,
};

use super::*;
use crate::accounting::{
    gaussian_delta, gaussian_epsilon, profile_of_discrete_gaussian, profile_of_discrete_laplace,
    profile_of_gaussian, profile_of_laplace, profile_of_private,
};
use crate::{Scale, make_laplace};

type Rows = VectorDomain<AtomDomain<bool>>;
type Told<MI, MO> = Measurement<Rows, MI, MO, i32>;

/// Make a measurement that states its loss only for neighbours and at distance 0. No test reads the
/// loss at distance 0.
fn told<MI, MO>(metric: MI, measure: MO, size: Option<usize>, loss: MO::Distance) -> Told<MI, MO>
where
    MI: MetricOn<Rows> + opendp_core::Metric<Distance = u32>,
    MO: Measure,
{
    let rows = VectorDomain::new(AtomDomain::default());
    let space = Space::new(size.map_or(rows.clone(), |size| rows.with_size(size)), metric).unwrap();
    let map = PrivacyMap::new(move |d: &u32| match d {
        0 | 1 => Ok(loss.clone()),
        _ => Err(Error::FailedMap("more than one record".into())),
    });
    Measurement::new(space, measure, Function::map(|_: &Vec<bool>| Ok(0)), map)
}
fn grown<MO: GroupMeasure>(measure: MO, loss: MO::Distance, steps: u32) -> MO::Distance {
    let single = told(SymmetricDistance, measure, None, loss);
    make_group_privacy(single, steps).unwrap().map(&steps).unwrap()
}

/// Return six distributions: the laws of a noisy count on data sets with the counts 0 to 5. The
/// noise is two-sided geometric, and the noisy count is clamped to the range from 0 to 5. The loss
/// between two data sets whose counts differ by 1 is epsilon. The loss between the first and the
/// last data set is five times epsilon.
fn geometric(epsilon: f64) -> Vec<Vec<f64>> {
    let (ratio, ends) = ((-epsilon).exp(), 0..=5_i32);
    let law = |true_count: i32| {
        let mass = |told: i32| {
            let inside = ratio.powi((told - true_count).abs()) / (1.0 + ratio);
            if ends.start() < &told && &told < ends.end() { inside * (1.0 - ratio) } else { inside }
        };
        ends.clone().map(mass).collect()
    };
    ends.clone().map(law).collect()
}
/// Return the laws of noisy counts on data sets with the counts 0 to 5. The noise `z` on integers
/// has the weights `exp(-(z / s)^2 / 2)`. Only noisy counts from -120 to 125 are listed. All other
/// weights are negligible.
fn gaussian(s: f64) -> Vec<Vec<f64>> {
    let law = |true_count: i32| -> Vec<f64> {
        let weight = |told: i32| (-(f64::from(told - true_count) / s).powi(2) / 2.0).exp();
        let all: Vec<f64> = (-120..=125).map(weight).collect();
        let total: f64 = all.iter().sum();
        all.into_iter().map(|weight| weight / total).collect()
    };
    (0..=5).map(law).collect()
}
/// Return distributions on two outcomes. From each distribution to the next, the probability of the
/// first outcome grows by the largest amount that a loss of (epsilon, delta) permits.
fn leaking(epsilon: f64, delta: f64) -> Vec<Vec<f64>> {
    let mut p = 1e-3;
    let mut laws = vec![vec![p, 1.0 - p]];
    for _ in 0..5 {
        p = epsilon.exp() * p + delta;
        laws.push(vec![p, 1.0 - p]);
    }
    laws
}
/// Return the largest divergence of two laws whose indices differ by `steps`. Each pair is compared
/// in both directions.
fn apart(laws: &[Vec<f64>], steps: usize, divergence: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
    let pairs = laws.iter().zip(laws.iter().skip(steps));
    pairs.map(|(p, q)| divergence(p, q).max(divergence(q, p))).fold(0.0, f64::max)
}
fn pure(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max)
}
fn stick(epsilon: f64) -> impl Fn(&[f64], &[f64]) -> f64 {
    move |p, q| p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}
fn renyi(order: f64) -> impl Fn(&[f64], &[f64]) -> f64 {
    move |p, q| {
        let terms = p.iter().zip(q).map(|(p, q)| p * (p / q).powf(order - 1.0));
        terms.sum::<f64>().ln() / (order - 1.0)
    }
}
const ORDERS: [f64; 5] = [1.001, 1.25, 2.0, 3.5, 8.0];

#[test]
fn a_pure_loss_adds_up_and_is_reached() {
    for epsilon in [0.1, 0.7] {
        let laws = geometric(epsilon);
        for steps in 1..=5 {
            let bound = grown(MaxDivergence, epsilon, steps);
            let exact = apart(&laws, steps as usize, pure);
            assert!(exact <= bound + 1e-9 && bound <= exact + 1e-9, "{steps}: {exact} {bound}");
            // The control: the bound for `steps - 1` steps is too small.
            assert!(bound - epsilon < exact - 1e-3);
        }
    }
}
#[test]
fn a_concentrated_loss_grows_as_the_square() {
    let laws = gaussian(4.0);
    for steps in 2..=5 {
        let bound = grown(ZeroConcentratedDivergence, 1.0 / 32.0, steps);
        assert_eq!(bound, f64::from(steps * steps) / 32.0);
        for order in ORDERS {
            let exact = apart(&laws, steps as usize, renyi(order));
            assert!(exact <= order * bound * (1.0 + 1e-9) + 1e-12, "{steps} {order}");
            // The control: the loss of a step times the number of steps is too small.
            assert!(order * f64::from(steps) / 32.0 < exact - 1e-3, "{steps} {order}");
        }
    }
}
#[test]
fn a_delta_grows_by_the_geometric_sum() {
    for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-4), (0.0, 0.01)] {
        let laws = leaking(epsilon, delta);
        assert!(apart(&laws, 1, stick(epsilon)) <= delta * (1.0 + 1e-9), "the loss of one step");
        for steps in 2..=5_u32 {
            let (all, sum) = grown(Approximate(MaxDivergence), (epsilon, delta), steps);
            assert_eq!(all, f64::from(steps) * epsilon);
            let exact = apart(&laws, steps as usize, stick(all));
            assert!((sum / exact - 1.0).abs() < 1e-9, "{steps}: {exact} {sum}");
            // The control: the sum of the deltas of all steps is too small.
            assert!(epsilon == 0.0 || delta * f64::from(steps) < exact * 0.9);
        }
    }
    let grown = |loss, steps| grown(Approximate(MaxDivergence), loss, steps);
    assert_eq!(grown((1.0, 0.3), 5), (5.0, 1.0));
    let large = 2_f64.powi(1000);
    assert_eq!(grown((large, 1e-300), 5), (5.0 * large, 1.0));
    assert_eq!(grown((large, 0.0), 5), (5.0 * large, 0.0));
    assert_eq!(grown((f64::INFINITY, 1e-9), 1), (f64::INFINITY, 1e-9));
    assert_eq!(grown((f64::INFINITY, 1e-9), 2), (f64::INFINITY, 1.0));
    let (_, tiny) = grown((5e-324, 0.125), 4);
    assert!((0.5..=0.75).contains(&tiny), "{tiny}");
}
#[test]
fn renyi_divergences_at_larger_orders_bound_those_of_groups() {
    for laws in [gaussian(4.0), geometric(0.7), leaking(0.5, 0.05)] {
        let known = laws.clone();
        let curve = RenyiCurve::new(move |order| Ok(apart(&known, 1, renyi(order))));
        for steps in 1..=5 {
            let bound = grown(RenyiDivergence, curve.clone(), steps);
            for order in ORDERS {
                let (exact, bound) =
                    (apart(&laws, steps as usize, renyi(order)), bound.epsilon(order).unwrap());
                assert!(exact <= bound * (1.0 + 1e-9) + 1e-12, "{steps} {order}: {exact} {bound}");
            }
        }
    }
    // For Gaussian noise, the bound equals the exact divergence. With more than 1024 steps, the
    // consecutive orders of a block share one value of the curve: the value at the largest order of
    // the block. So with 5000 steps, the bound is larger by up to 1 percent. The control: the sum
    // of the divergences of all steps at the same order is too small.
    let line = RenyiCurve::new(|order| Ok(order / 32.0));
    for steps in [2, 5, 1024, 5000] {
        let bound = grown(RenyiDivergence, line.clone(), steps);
        for order in ORDERS {
            let exact = order * f64::from(steps).powi(2) / 32.0;
            let found = bound.epsilon(order).unwrap();
            assert!((exact..exact * if steps < 2000 { 1.0 + 1e-9 } else { 1.01 }).contains(&found));
            assert!(f64::from(steps) * line.epsilon(order).unwrap() < 0.6 * exact);
        }
    }
    let far = grown(RenyiDivergence, RenyiCurve::new(|_| Ok(0.5)), 3);
    assert_eq!(far.epsilon(f64::MAX).unwrap(), 1.5);
    let points = RenyiCurve::from_points(vec![(8.0, 0.5)]);
    let known = grown(RenyiDivergence, points, 4);
    assert!(known.epsilon(2.0).unwrap() < 4.0 * 0.5 * 8.0 / 5.0);
    assert_eq!(known.epsilon(2.5).unwrap(), f64::INFINITY);
}
#[test]
fn profiles_of_gaussian_noise_grow_as_a_longer_shift_does() {
    for (mu, steps) in [(1.0, 2), (0.25, 4), (0.5, 10), (0.01, 100), (3.0, 2)] {
        let single = profile_of_gaussian(mu, 1.0).unwrap();
        let all = grown(SmoothedMaxDivergence, single.clone(), steps);
        let shift = mu * f64::from(steps);
        for place in 0..8 {
            let epsilon = f64::from(place) * shift * shift.max(1.0) / 4.0;
            let exact = gaussian_delta(shift, epsilon).unwrap();
            let found = all.delta(epsilon).unwrap();
            assert!(exact.lower <= found, "{mu} {steps} {epsilon}: {exact:?} {found}");
            let loose = found / exact.lower;
            assert!(loose < 1.05 || found < 1e-12, "{mu} {steps} {epsilon}: {loose} {found}");
            // The control: the sum of the deltas of all steps is too small.
            let added = single.delta(epsilon).unwrap() * f64::from(steps);
            assert!(place < 2 || added < exact.lower, "{mu} {steps} {epsilon}");
        }
        let epsilon = gaussian_epsilon(shift, 1e-6).unwrap().upper;
        assert!(all.epsilon(1e-6).unwrap() < 1.03 * epsilon);
    }
}
/// Each profile of noise grows to the profile of a longer shift. Deltas of a group are compared
/// with the deltas of the laws whose means are as far apart as the ends of the path.
#[test]
fn shifts_of_noise_grow_exactly_however_far_they_are() {
    for (mu, steps) in [(0.1, 3), (1.0, 50), (10.0, 50), (3.0, 2000)] {
        let all = grown(SmoothedMaxDivergence, profile_of_gaussian(mu, 1.0).unwrap(), steps);
        let exact = gaussian_epsilon(mu * f64::from(steps), 1e-6).unwrap();
        let found = all.epsilon(1e-6).unwrap();
        assert!(exact.lower <= found && found <= exact.upper * (1.0 + 1e-9), "{mu} {steps}");
    }
    let many = vec![profile_of_gaussian(0.6, 1.0).unwrap(), profile_of_gaussian(0.8, 1.0).unwrap()];
    let many = grown(SmoothedMaxDivergence, PrivacyProfile::compose(&many).unwrap(), 7);
    let exact = gaussian_epsilon(7.0, 1e-6).unwrap();
    assert!((many.epsilon(1e-6).unwrap() / exact.upper - 1.0).abs() < 1e-9);
    let laplace = grown(SmoothedMaxDivergence, profile_of_laplace(1.0, 2.0).unwrap(), 10);
    for epsilon in [0.0, 1.0, 4.5] {
        let exact = 1.0 - f64::exp((epsilon - 5.0) / 2.0);
        assert!((laplace.delta(epsilon).unwrap() - exact).abs() < 1e-12, "{epsilon}");
    }
    // Both kinds of discrete noise have the laws of the functions below.
    let gaussians = (gaussian(4.0), profile_of_discrete_gaussian(1.0, 4.0).unwrap());
    let doubly: Vec<Vec<f64>> = (0..=5)
        .map(|mean: i32| {
            let weight = |told: i32| f64::exp(-f64::from((told - mean).abs()) / 3.0);
            let all: Vec<f64> = (-150..=155).map(weight).collect();
            let total: f64 = all.iter().sum();
            all.into_iter().map(|weight| weight / total).collect()
        })
        .collect();
    for (laws, single) in [gaussians, (doubly, profile_of_discrete_laplace(1.0, 3.0).unwrap())] {
        for steps in 2..=5 {
            let all = grown(SmoothedMaxDivergence, single.clone(), steps);
            for epsilon in [0.0, 0.3, 0.8, 1.5] {
                let exact = apart(&laws, steps as usize, stick(epsilon));
                let found = all.delta(epsilon).unwrap();
                assert!((found - exact).abs() < 1e-11, "{steps} {epsilon}: {exact} {found}");
            }
        }
    }
    // A composition of group losses is the group loss of one release with more noise.
    let group = grown(SmoothedMaxDivergence, profile_of_gaussian(0.1, 1.0).unwrap(), 5);
    let composed = PrivacyProfile::compose(&vec![group; 4]).unwrap().epsilon(1e-6).unwrap();
    assert!((composed / gaussian_epsilon(1.0, 1e-6).unwrap().upper - 1.0).abs() < 1e-4);
}
#[test]
fn profiles_of_small_mechanisms_grow_no_less_than_those_of_groups() {
    for laws in [gaussian(4.0), geometric(0.7), leaking(0.5, 0.01)] {
        let known = laws.clone();
        let single =
            PrivacyProfile::new(
                move |epsilon| Ok(apart(&known, 1, stick(epsilon)) * (1.0 + 1e-12)),
            );
        for steps in 1..=5 {
            let all = grown(SmoothedMaxDivergence, single.clone(), steps);
            for place in 0..40 {
                let epsilon = f64::from(place) / 8.0;
                let exact = apart(&laws, steps as usize, stick(epsilon));
                let found = all.delta(epsilon).unwrap();
                assert!(exact <= found + 1e-15, "{steps} {epsilon}: {exact} {found}");
            }
        }
    }
    // Take a pair of epsilon and delta, and the profile of this pair. Compute a bound on delta for
    // three steps from the profile, and another bound from the pair. At three times epsilon, the
    // bound from the profile is at most the bound from the pair.
    let pair = grown(SmoothedMaxDivergence, profile_of_private(0.5, 1e-6).unwrap(), 3);
    let (_, delta) = grown(Approximate(MaxDivergence), (0.5, 1e-6), 3);
    assert!(pair.delta(1.5).unwrap() <= delta * (1.0 + 1e-12));
    assert!(pair.delta(f64::INFINITY).unwrap() <= 3e-6 * 0.5_f64.exp().powi(3));
    let pure = grown(SmoothedMaxDivergence, profile_of_private(0.5, 0.0).unwrap(), 3);
    assert_eq!((pure.delta(1.5).unwrap(), pure.delta(f64::INFINITY).unwrap()), (0.0, 0.0));
    assert!(pure.delta(1.0).unwrap() < 0.5);
    let little = grown(SmoothedMaxDivergence, profile_of_private(0.05, 0.0).unwrap(), 3);
    let many = PrivacyProfile::compose(&vec![little; 100]).unwrap();
    assert!(many.epsilon(1e-6).unwrap() < 0.9 * 15.0);
    let none = grown(SmoothedMaxDivergence, profile_of_private(0.0, 0.0).unwrap(), 3);
    assert_eq!(none.delta(0.0).unwrap(), 0.0);
    let nothing = grown(SmoothedMaxDivergence, PrivacyProfile::new(|_| Ok(1.0)), 3);
    assert_eq!(nothing.delta(50.0).unwrap(), 1.0);
    let broken = PrivacyProfile::new(|_| Err(Error::Overflow("no".into())));
    assert_eq!(grown(SmoothedMaxDivergence, broken, 3).delta(1.0).unwrap(), 1.0);
}

#[test]
fn exact_losses_stay_exact() {
    let space = Space::new(VectorDomain::new(AtomDomain::<bool>::default()), SymmetricDistance);
    let third = || "1".parse::<Exact>().unwrap().over(&"3".parse().unwrap());
    let map = PrivacyMap::new(|_: &u32| Ok(0.34)).with_exact(move |_| Ok(vec![third()]));
    let single =
        Measurement::new(space.unwrap(), MaxDivergence, Function::map(|_: &Vec<bool>| Ok(0)), map);
    let three = make_group_privacy(single, 3).unwrap();
    assert_eq!(three.map(&3).unwrap(), 1.0);
    let mut ledger = Ledger::with_budget(MaxDivergence, &1.0).unwrap();
    ledger.charge(&three.exact_map(&3).unwrap()).unwrap();
    assert!(ledger.exact_left().unwrap()[0].is_zero());
}
#[test]
fn a_distance_is_divided_and_never_loses_less_than_a_shorter_one() {
    let single = told(SymmetricDistance, MaxDivergence, None, 0.25);
    let four = make_group_privacy(single, 4).unwrap();
    assert_eq!([1, 2, 3, 4].map(|d| four.map(&d).unwrap()), [0.25, 0.5, 0.75, 1.0]);
    assert_eq!(four.map(&5).unwrap_err().kind(), "FailedMap");
    // The map of `any` also accepts distances above 1. Seven records are divided into four steps of
    // at most two records.
    let any = |_: &u32| Ok(0.25);
    let measure = MaxDivergence;
    let any = four.with_loss(measure, PrivacyMap::new(any));
    let any = make_group_privacy(any, 4).unwrap();
    let losses: Vec<f64> = (1..40).map(|d| any.map(&d).unwrap()).collect();
    assert!(losses.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(any.map(&7).unwrap(), 1.0);
    let curve = told(HammingDistance, RenyiDivergence, Some(3), RenyiCurve::new(Ok));
    let curve = make_group_privacy(curve, 2).unwrap();
    assert_eq!(curve.exact_map(&2).unwrap().len(), RenyiDivergence.parts().unwrap());
}
/// If the size of the data is public and fixed, two data sets never have distance 1. So the map of
/// the measurement may return any value at distance 1, here 0. A step of length 1 would use this
/// value, so a step must have length 2.
#[test]
fn a_public_size_makes_a_step_a_replaced_record() {
    let rows = VectorDomain::new(AtomDomain::<bool>::default()).with_size(3);
    let space = Space::new(rows, SymmetricDistance).unwrap();
    let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d / 2)));
    let function = Function::map(|_: &Vec<bool>| Ok(0));
    let single = Measurement::new(space, MaxDivergence, function, map);
    let group = make_group_privacy(single, 3).unwrap();
    assert_eq!([0, 1, 2, 3, 4, 6].map(|d| group.map(&d).unwrap()), [0.0, 0.0, 1.0, 1.0, 2.0, 3.0]);
}
#[test]
fn spaces_without_paths_are_refused() {
    let kind = |made: Result<_>| -> &'static str { made.map(|_: ()| ()).unwrap_err().kind() };
    let single = told(ChangeOneDistance, MaxDivergence, Some(2), 1.0);
    assert_eq!(kind(make_group_privacy(single, 0).map(drop)), "MakeMeasurement");
    let numbers = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let noise = make_laplace(numbers, Scale::new(1.0).unwrap(), None).unwrap().erase();
    let noise = noise.in_measure::<MaxDivergence>().unwrap();
    assert_eq!(kind(make_group_privacy(noise, 2).map(drop)), "MakeMeasurement");
    let map = PrivacyMap::new(|_: &u32| Ok(1.0));
    let silent = || Function::map(|_: &opendp_core::erased::AnyValue| Ok(0));
    let some = UserDomain::new("sorted lists", |_| true);
    let space = Space::new(some.clone(), SymmetricDistance).unwrap();
    let sorted = Measurement::new(space, MaxDivergence, silent(), map);
    assert_eq!(kind(make_group_privacy(sorted, 2).map(drop)), "MakeMeasurement");
    let space = Space::new(some, DiscreteDistance).unwrap();
    let map = PrivacyMap::new(|_: &u32| Ok(1.0));
    let discrete = Measurement::new(space, MaxDivergence, silent(), map);
    assert_eq!(make_group_privacy(discrete, 9).unwrap().map(&9).unwrap(), 1.0);
}
#[test]
fn the_loss_of_a_group_is_rounded_up() {
    for loss in [0.1, 0.7, 1e-9] {
        for steps in [3, 7, 11] {
            let exact = Exact::from_f64(loss).unwrap();
            let exact = exact.times(&Exact::from_f64(f64::from(steps)).unwrap());
            assert_eq!(grown(MaxDivergence, loss, steps), exact.to_f64_up());
        }
    }
}
