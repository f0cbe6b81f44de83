//! Black-box audits of mechanisms. An audit takes two neighbouring data sets with a large loss
//! between their releases. The audit finds an event in half of the releases, and counts this event
//! in the other half. The frequencies of the event must agree with the loss that the map claims. As
//! a control, the same audit is applied to a mechanism with half of the noise, or with another
//! fault. The audit must refute the claimed loss for this mechanism. Some constructors have no
//! audit in this file. Examples are constructors that only call another constructor, and
//! combinators that add up losses.

use std::collections::HashMap;
use std::fmt::Debug;

use opendp_core::random::{shuffle, with_secure};
use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, BitVector, BitVectorDomain, Bounds, Carrier,
    ChangeOneDistance, DiscreteDistance, Domain, Function, L1Distance, L01InfDistance, L2Distance,
    L02InfDistance, LInfDistance, MapDomain, MaxDivergence, Measure, Measurement, Metric,
    PrivacyMap, PrivacyProfile, RangeDistance, Result, SmoothedMaxDivergence, Space, StabilityMap,
    TheMeasure, Transformation, VectorDomain, ZeroConcentratedDivergence,
};
use opendp_measurements::{
    Optimize, Scale, Temperature, make_canonical_noise, make_gaussian, make_gaussian_in,
    make_gaussian_threshold, make_geometric, make_gumbel_max, make_laplace, make_laplace_in,
    make_laplace_threshold, make_noisy_max, make_noisy_top_k, make_population_amplification,
    make_randomized_response, make_randomized_response_bitvec, make_randomized_response_bool,
    make_report_noisy_max_gumbel,
};

/// The number of releases for each of the two data sets. The audit finds an event in half of these
/// releases, and counts this event in the other half.
const DRAWS: usize = 1_000_000;
/// The number of releases for the audit of a control, which is a mechanism with half of the noise
/// or with another fault. With this number, the expected [`excess`] of each control is above 19. So
/// the probability that the audit does not refute a control is below 1e-20.
const FEW: usize = 200_000;
/// The largest value of [`excess`] that the audit accepts, in standard deviations. [`excess`]
/// returns the larger of two values, one for each order of the two data sets. Each of the two
/// values exceeds this limit with a probability of at most about 1e-15. So an honest mechanism
/// fails the audit with a probability of at most about 2e-15.
const SIGMAS: f64 = 8.0;

/// A measure whose losses imply a bound on delta for each epsilon.
trait Claim: Measure {
    /// Return an upper bound on delta at `epsilon`.
    fn delta(loss: &Self::Distance, epsilon: f64) -> f64;
    /// Choose the epsilon for which the audit compares frequencies with the bound on delta.
    fn epsilon(loss: &Self::Distance) -> f64;
}
impl Claim for MaxDivergence {
    fn delta(_: &f64, _: f64) -> f64 {
        0.0
    }
    fn epsilon(loss: &f64) -> f64 {
        *loss
    }
}
impl Claim for ZeroConcentratedDivergence {
    /// Compute the least value of `exp((a - 1)(a rho - epsilon)) (1 - 1 / a)^(a - 1) / a` over many
    /// orders `a` (Canonne, Kamath, Steinke 2020, Proposition 12).
    fn delta(rho: &f64, epsilon: f64) -> f64 {
        let bound_at = |a: f64| {
            let slack = (a - 1.0) * (a * rho - epsilon) + (a - 1.0) * (-1.0 / a).ln_1p();
            slack.exp() / a
        };
        (1..4000).map(|i| bound_at(1.0 + f64::from(i) / 100.0)).fold(1.0, f64::min)
    }
    fn epsilon(rho: &f64) -> f64 {
        2.0 * rho
    }
}
impl<M: Claim<Distance = f64>> Claim for Approximate<M> {
    fn delta((loss, delta): &(f64, f64), epsilon: f64) -> f64 {
        M::delta(loss, epsilon) + delta
    }
    fn epsilon((loss, _): &(f64, f64)) -> f64 {
        M::epsilon(loss)
    }
}

impl Claim for SmoothedMaxDivergence {
    fn delta(profile: &PrivacyProfile, epsilon: f64) -> f64 {
        profile.delta(epsilon).unwrap()
    }
    fn epsilon(_: &PrivacyProfile) -> f64 {
        0.5
    }
}

/// Compute the fraction of releases in each cell. The function `cell` returns a number for a
/// release. Releases with the same number are in the same cell.
fn histogram<DI: Domain, MI: Metric, MO: Measure, R: Carrier>(
    mechanism: &Measurement<DI, MI, MO, R>,
    data: &DI::Carrier,
    draws: usize,
    cell: &dyn Fn(&R) -> i64,
) -> HashMap<i64, f64> {
    let mut counts = HashMap::new();
    for _ in 0..draws {
        *counts.entry(cell(&mechanism.invoke(data).unwrap())).or_insert(0_u32) += 1;
    }
    counts.into_iter().map(|(cell, count)| (cell, f64::from(count) / draws as f64)).collect()
}
/// In one half of the releases, find the event `S` with the largest value of
/// `P[x in S] - exp(epsilon) P[y in S]`. Here `P[x in S]` is the share of the releases from `x`
/// that are in `S`. In the other half, compute by how many standard deviations this value exceeds
/// delta. Do the same with `x` and `y` exchanged, and return the larger result.
fn excess<DI: Domain, MI: Metric, MO: Measure, R: Carrier>(
    mechanism: &Measurement<DI, MI, MO, R>,
    (x, y): (&DI::Carrier, &DI::Carrier),
    (epsilon, delta): (f64, f64),
    draws: usize,
    cell: &dyn Fn(&R) -> i64,
) -> f64 {
    let factor = epsilon.exp();
    let [found_x, found_y, x, y] =
        [x, y, x, y].map(|data| histogram(mechanism, data, draws / 2, cell));
    let share_at =
        |counts: &HashMap<i64, f64>, cell: &i64| counts.get(cell).copied().unwrap_or(0.0);
    let worst = |found: [&HashMap<i64, f64>; 2], counted: [&HashMap<i64, f64>; 2]| {
        let event: Vec<&i64> = found[0]
            .keys()
            .filter(|cell| share_at(found[0], cell) > factor * share_at(found[1], cell))
            .collect();
        let share = |counts| event.iter().map(|cell| share_at(counts, cell)).sum::<f64>();
        let (p, q) = (share(counted[0]), share(counted[1]));
        let variance = p * (1.0 - p) + factor * factor * q * (1.0 - q);
        // If no release is in the event, the estimated variance is 0. An additional term keeps the
        // standard deviation above 0. With this term, a difference of one release is insignificant.
        let draws = draws as f64 / 2.0;
        let deviation = ((variance + (1.0 + factor * factor) / draws) / draws).sqrt();
        (p - factor * q - delta) / deviation
    };
    worst([&found_x, &found_y], [&x, &y]).max(worst([&found_y, &found_x], [&y, &x]))
}
/// Audit a mechanism. Then audit the mechanism with half of its noise, and keep the claim for the
/// full noise. The second audit must refute the claim.
#[track_caller]
fn audit<DI: Domain, MI: Metric, MO: Claim, R: Carrier>(
    make: impl Fn(f64) -> Result<Measurement<DI, MI, MO, R>>,
    pair: (&DI::Carrier, &DI::Carrier),
    d_in: &MI::Distance,
    cell: impl Fn(&R) -> i64,
) where
    MO::Distance: Debug,
{
    let (honest, cheat) = (make(1.0).unwrap(), make(0.5).unwrap());
    let loss = honest.map(d_in).unwrap();
    let epsilon = MO::epsilon(&loss);
    let claim = (epsilon, MO::delta(&loss, epsilon));
    assert!(claim.1 < 0.5, "{claim:?} says nothing");
    let found = excess(&honest, pair, claim, DRAWS, &cell);
    assert!(found < SIGMAS, "{loss:?}: {found} standard deviations above {claim:?}");
    let found = excess(&cheat, pair, claim, FEW, &cell);
    assert!(found > SIGMAS, "{loss:?}: half the noise goes unnoticed at {found}");
}
fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}
/// Return the cell of a float. Cells have width 1/4.
fn quarter(y: &f64) -> i64 {
    (y * 4.0).floor().clamp(-200.0, 200.0) as i64
}

#[test]
fn numbers_with_laplace_noise() {
    let integers =
        Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let make = |s| make_laplace(integers.clone(), scale(2.0 * s), None);
    audit::<_, _, MaxDivergence, _>(make, (&0, &1), &1, |y| i64::from(*y));
    // Sums beyond the range of the type saturate. So all noise values above a limit give the same
    // release, which is the largest number of the type.
    audit::<_, _, MaxDivergence, _>(make, (&i32::MAX, &(i32::MAX - 2)), &2, |y| i64::from(*y));
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    for k in [None, Some(1)] {
        let make = |s| make_laplace(floats.clone(), scale(s), k);
        audit::<_, _, MaxDivergence, _>(make, (&0.0, &1.0), &1.0, quarter);
    }
}
#[test]
fn numbers_with_geometric_noise_within_bounds() {
    let integers =
        Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new()).unwrap();
    let make = |s| make_geometric(integers.clone(), scale(2.0 * s), Some(Bounds::new(0, 10)?));
    for pair in [(&0, &1), (&5, &6), (&10, &9), (&-3, &-2)] {
        // If both numbers are beyond the same bound, both are clamped to this bound, and their
        // releases have the same distribution. Then the audit cannot detect a mechanism with half
        // of the noise.
        if *pair.0 < 0 {
            let honest: Measurement<_, _, MaxDivergence, _> = make(1.0).unwrap();
            assert!(excess(&honest, pair, (0.0, 0.0), DRAWS, &|y| *y) < SIGMAS);
        } else {
            audit::<_, _, MaxDivergence, _>(make, pair, &1, |y| *y);
        }
    }
}
#[test]
fn numbers_with_gaussian_noise() {
    let integers =
        Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let make = |s| make_gaussian(integers.clone(), scale(2.0 * s), None);
    audit::<_, _, ZeroConcentratedDivergence, _>(make, (&0, &2), &2, |y| i64::from(*y));
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    let make = |s| make_gaussian(floats.clone(), scale(s), None);
    audit::<_, _, ZeroConcentratedDivergence, _>(make, (&0.0, &1.0), &1.0, quarter);
}
#[test]
fn whole_profiles_of_noise() {
    let integers =
        Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    let make = |s| make_laplace_in(integers.clone(), scale(s), None);
    audit::<_, _, SmoothedMaxDivergence, _>(make, (&0, &1), &1, |y| i64::from(*y));
    let make = |s| make_laplace_in(floats.clone(), scale(s), None);
    audit::<_, _, SmoothedMaxDivergence, _>(make, (&0.0, &1.0), &1.0, quarter);
    let make = |s| make_gaussian_in(integers.clone(), scale(2.0 * s), None);
    audit::<_, _, SmoothedMaxDivergence, _>(make, (&0, &2), &2, |y| i64::from(*y));
    let make = |s| make_gaussian_in(floats.clone(), scale(s), None);
    audit::<_, _, SmoothedMaxDivergence, _>(make, (&0.0, &1.0), &1.0, quarter);
}
#[test]
fn numbers_with_canonical_noise() {
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    // The control is `make(0.5)`. This mechanism has half of the noise, and its map gives an error
    // for the distance 1. So the control is audited with the claim of the mechanism with the full
    // noise.
    let make = |d_in| make_canonical_noise(floats.clone(), d_in, (0.7, 0.01)).unwrap();
    let claim = make(1.0).map(&1.0).unwrap();
    assert_eq!(claim, (0.7, 0.01));
    assert!(excess(&make(1.0), (&0.0, &1.0), claim, DRAWS, &quarter) < SIGMAS);
    assert!(excess(&make(0.5), (&0.0, &1.0), claim, FEW, &quarter) > SIGMAS);
}
#[test]
fn vectors_with_noise() {
    let cell = |y: &Vec<i32>| i64::from(y[0].clamp(-9, 9) * 100 + y[1].clamp(-9, 9));
    let input = Space::new(VectorDomain::default(), L1Distance::<i32>::new()).unwrap();
    let make = |s| make_laplace(input.clone(), scale(2.0 * s), None);
    audit::<_, _, MaxDivergence, _>(make, (&vec![0, 0], &vec![1, -1]), &2, cell);
    let input = Space::new(VectorDomain::default(), L2Distance::<i32>::new()).unwrap();
    let make = |s| make_gaussian(input.clone(), scale(5.0 * s), None);
    // The function `cell` projects a release onto the line through the vectors `[0, 0]` and
    // `[3, 4]`. The cells are intervals on this line.
    let cell = |y: &Vec<i32>| i64::from((3 * y[0] + 4 * y[1]) / 5);
    audit::<_, _, ZeroConcentratedDivergence, _>(make, (&vec![0, 0], &vec![3, 4]), &5, cell);
}
#[test]
fn choices_by_noisy_scores() {
    let input = || Space::new(VectorDomain::default(), LInfDistance::<i32>::new(false)).unwrap();
    // From `x` to `y`, one of the two best scores rises and the other falls.
    let (x, y) = (vec![0, 0, -3], vec![1, -1, -3]);
    let cell = |y: &usize| *y as i64;
    let make = |s| make_noisy_max(input(), TheMeasure(MaxDivergence), scale(2.0 * s), false);
    audit(make, (&x, &y), &1, cell);
    let make = |s| make_report_noisy_max_gumbel(input(), scale(2.0 * s), Optimize::Max);
    audit(make, (&vec![0; 2], &vec![-4, 4]), &4, cell);
    let range = || Space::new(VectorDomain::default(), RangeDistance::<i32>::new()).unwrap();
    let make = |s| make_gumbel_max(range(), Temperature::new(2.0 * s)?, Optimize::Min);
    // One score is much worse than the other score. So for one of the two choices, the ratio of the
    // probabilities for the two inputs is close to the bound that the map claims.
    audit(make, (&vec![0, 8], &vec![0, 4]), &4, cell);
    let make = |s| make_noisy_top_k(input(), TheMeasure(MaxDivergence), 2, scale(4.0 * s), false);
    audit(make, (&x, &y), &1, |y| (y[0] * 10 + y[1]) as i64);
}
#[test]
fn choices_under_zero_concentrated_divergence() {
    let input = || Space::new(VectorDomain::default(), LInfDistance::<i32>::new(false)).unwrap();
    let measure = || TheMeasure(ZeroConcentratedDivergence);
    let make = |s| make_noisy_max(input(), measure(), scale(s), false);
    let cell = |y: &usize| *y as i64;
    audit(make, (&vec![0, 0], &vec![1, -1]), &1, cell);
    let make = |s| make_noisy_top_k(input(), measure(), 2, scale(s), false);
    audit(make, (&vec![0, 0, -1], &vec![1, -1, -2]), &1, |y| (y[0] * 10 + y[1]) as i64);
}
/// Audit a release that is computed from two records. These two records are a random sample from
/// four records.
#[test]
fn releases_from_a_secret_sample() {
    let bit = AtomDomain::bounded(Bounds::new(0, 1).unwrap());
    let sample = VectorDomain::new(bit).with_size(2);
    let bits_of =
        |size| VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 1).unwrap())).with_size(size);
    let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap();
    let sum = Transformation::new(
        Space::new(sample, ChangeOneDistance).unwrap(),
        sums,
        Function::map(|rows: &Vec<i32>| Ok(rows.iter().sum())),
        StabilityMap::new(|d_in: &u32| Ok(*d_in as i32)),
    );
    let make = |s: f64| {
        let noisy = sum.clone().then(|sums| make_laplace(sums, scale(s), None))?;
        let amplified = make_population_amplification(noisy, 4)?;
        let (released, map) = (amplified.clone(), amplified);
        let drawn = Function::map(move |population: &Vec<i32>| {
            let mut population = population.clone();
            with_secure(|source| shuffle(&mut population, source))?;
            population.truncate(2);
            released.invoke(&population)
        });
        let population = Space::new(bits_of(4), ChangeOneDistance)?;
        let map = PrivacyMap::new(move |d_in: &u32| map.map(d_in));
        Ok(Measurement::new(population, MaxDivergence, drawn, map))
    };
    audit(make, (&vec![0; 4], &vec![0, 0, 0, 1]), &1, |y| i64::from(*y));
}
#[test]
fn randomized_responses() {
    let make = |s: f64| make_randomized_response_bool(0.5 + 0.2 / s, true);
    audit(make, (&true, &false), &1, |y| i64::from(*y));
    let make = |s: f64| make_randomized_response(vec![1, 2, 3], 0.4 / s);
    for pair in [(&1, &2), (&3, &1)] {
        audit(make, pair, &1, |y| i64::from(*y));
    }
    // Each vector has exactly one bit that is set: the first or the last bit of the first byte, or
    // the first bit of the second byte.
    let bits = |ones: &[usize]| (0..9).map(|i| ones.contains(&i)).collect::<BitVector>();
    let domain = BitVectorDomain::default().with_size(9).with_max_weight(1);
    let input = Space::new(domain, DiscreteDistance).unwrap();
    let make = |s: f64| make_randomized_response_bitvec(input.clone(), 0.8 * s, false);
    let cell = |y: &BitVector| y.words()[0] as i64;
    audit(make, (&bits(&[0]), &bits(&[8])), &1, cell);
    audit(make, (&bits(&[7]), &bits(&[8])), &1, cell);
}
#[test]
fn keys_that_reach_a_threshold() {
    let maps = || MapDomain::new(AtomDomain::<i32>::default(), AtomDomain::<i32>::default());
    let (x, y): (HashMap<i32, i32>, HashMap<i32, i32>) = ([(1, 1)].into(), HashMap::new());
    let cell = |y: &HashMap<i32, i32>| y.get(&1).map_or(-1, |count| i64::from(*count));
    let input = Space::new(maps(), L01InfDistance::new(AbsoluteDistance::<i32>::new())).unwrap();
    let make = |s| make_laplace_threshold(input.clone(), scale(s), 5, None);
    let honest: Measurement<_, _, Approximate<MaxDivergence>, _> = make(1.0).unwrap();
    let (epsilon, delta) = honest.map(&(1, 1, 1)).unwrap();
    assert!(excess(&honest, (&x, &y), (epsilon, delta), DRAWS, &cell) < SIGMAS);
    // With less noise, a single key is released less often. So the mechanism with half of the noise
    // cannot be used as a control. Instead, one control has twice the noise, and the other control
    // has a threshold that is lower by one.
    let twice: Measurement<_, _, Approximate<MaxDivergence>, _> = make(2.0).unwrap();
    assert!(excess(&twice, (&x, &y), (epsilon, delta), FEW, &cell) > SIGMAS);
    let low: Measurement<_, _, Approximate<MaxDivergence>, _> =
        make_laplace_threshold(input.clone(), scale(1.0), 4, None).unwrap();
    assert!(excess(&low, (&x, &y), (epsilon, delta), FEW, &cell) > SIGMAS);
    let input = Space::new(maps(), L02InfDistance::new(AbsoluteDistance::<i32>::new())).unwrap();
    let make = |s, threshold| make_gaussian_threshold(input.clone(), scale(s), threshold, None);
    let honest: Measurement<_, _, Approximate<ZeroConcentratedDivergence>, _> =
        make(2.0, 6).unwrap();
    let (_, delta) = honest.map(&(1, 1, 1)).unwrap();
    // If a key is in only one of the two maps, no epsilon bounds the loss of a release of this key.
    // Only delta bounds the probability of this release.
    let released = |y: &HashMap<i32, i32>| i64::from(!y.is_empty());
    assert!(excess(&honest, (&x, &y), (0.0, delta), DRAWS, &released) < SIGMAS);
    let low: Measurement<_, _, Approximate<ZeroConcentratedDivergence>, _> = make(2.0, 5).unwrap();
    assert!(excess(&low, (&x, &y), (0.0, delta), FEW, &released) > SIGMAS);
}
