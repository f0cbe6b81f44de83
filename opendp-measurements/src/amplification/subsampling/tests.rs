use opendp_core::{
    AbsoluteDistance, AtomDomain, ChangeOneDistance, Fold, Measure, Metric, MetricOn,
    PrivacyProfile, Space, StabilityMap, Transformation, VectorDomain,
};

use super::*;
use crate::{Laplace, NoiseLoss, Scale, make_composition, make_gaussian_in, make_laplace_in};

mod directions;
mod refusals;

type Bits = VectorDomain<AtomDomain<i32>>;

fn bits() -> Bits {
    VectorDomain::new(AtomDomain::default())
}
/// The sum of the rows. If each row is from -1 to 1, an added row changes the sum by at most one,
/// and a replaced row changes the sum by at most two.
struct Total;
impl Fold<Vec<i32>, i32> for Total {
    type State = i64;
    fn label(&self) -> String {
        "total".into()
    }
    fn start(&self) -> i64 {
        0
    }
    fn absorb(&self, total: &mut i64, rows: &[i32]) -> Result<()> {
        *total += rows.iter().map(|x| i64::from(*x)).sum::<i64>();
        Ok(())
    }
    fn merge(&self, total: &mut i64, other: i64) -> Result<()> {
        *total += other;
        Ok(())
    }
    fn finish(&self, total: i64) -> Result<i32> {
        Ok(total as i32)
    }
}
/// Make a measurement that adds noise of scale 1 to the sum of the rows. One unit of distance
/// changes the sum by at most `by`.
fn noisy<M, MO>(domain: Bits, metric: M, by: i32) -> Measurement<Bits, M, MO, i32>
where
    M: MetricOn<Bits> + Metric<Distance = u32>,
    MO: Measure + Default,
    AbsoluteDistance<i32>: NoiseLoss<Laplace, MO>,
{
    let sum = Transformation::new(
        Space::new(domain, metric).unwrap(),
        Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new()).unwrap(),
        Function::fold(Total),
        StabilityMap::new(move |d_in: &u32| Ok(*d_in as i32 * by)),
    );
    sum.then(|sums| make_laplace_in(sums, Scale::new(1.0)?, None)).unwrap()
}

/// Compute the probabilities of the values from -60 to 60 of a noisy sum. The noisy sum is the sum
/// over a random subset of the rows, plus noise of scale 1. `chosen` returns the probability of a
/// subset.
fn law(rows: &[i32], chosen: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut law = vec![0.0; 121];
    let whole = (1.0 - (-1.0_f64).exp()) / (1.0 + (-1.0_f64).exp());
    for subset in 0..1_usize << rows.len() {
        let kept = (0..rows.len()).filter(|row| subset >> row & 1 == 1);
        let sum: i32 = kept.map(|row| rows[row]).sum();
        for (place, mass) in (-60..).zip(&mut law) {
            *mass += chosen(subset) * whole * (-f64::from(i32::abs(place - sum))).exp();
        }
    }
    law
}
fn poisson(rows: &[i32], rate: f64) -> Vec<f64> {
    law(rows, |subset| {
        let kept = subset.count_ones() as i32;
        rate.powi(kept) * (1.0 - rate).powi(rows.len() as i32 - kept)
    })
}
fn of_size(rows: &[i32], size: u32) -> Vec<f64> {
    let all = (0..1_usize << rows.len()).filter(|subset| subset.count_ones() == size).count();
    law(rows, |subset| if subset.count_ones() == size { 1.0 / all as f64 } else { 0.0 })
}
fn divergence(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}
/// Return the larger of two divergences, one for each direction.
fn either(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    divergence(p, q, epsilon).max(divergence(q, p, epsilon))
}
/// Return the law of two independent releases: the probability of each pair of answers.
fn twice(law: &[f64]) -> Vec<f64> {
    law.iter().flat_map(|p| law.iter().map(move |q| p * q)).collect()
}

#[test]
fn the_profile_bounds_the_exact_divergence_of_every_pair_of_poisson_samples_and_is_tight() {
    let rate = 0.3;
    let close = |x: &[i32], y: &[i32]| -> u32 {
        let mut left = y.to_vec();
        let alone = x.iter().filter(|row| match left.iter().position(|other| other == *row) {
            Some(place) => left.swap_remove(place) != **row,
            None => true,
        });
        (alone.count() + left.len()) as u32
    };
    let data: [&[i32]; 8] = [&[], &[1], &[1, 1], &[1, 1, 1], &[-1], &[1, -1], &[1, 1, -1], &[0, 1]];
    let sampled_at = |rate: f64| {
        let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 1);
        make_poisson_subsampling(whole, rate, None).unwrap()
    };
    let (sampled, control) = (sampled_at(rate), sampled_at(rate / 2.0));
    let mut refused = 0;
    for epsilon in [0.0, 0.1, 0.3, 0.7, 1.3] {
        let mut worst = [0.0f64; 4];
        for (x, y) in data.iter().flat_map(|x| data.iter().map(move |y| (x, y))) {
            let d_in = close(x, y);
            let exact = either(&poisson(x, rate), &poisson(y, rate), epsilon);
            let bound = sampled.map(&d_in).unwrap().delta(epsilon).unwrap();
            assert!(exact <= bound + 1e-12, "{x:?} {y:?} {epsilon}: {exact} > {bound}");
            let wrong = control.map(&d_in).unwrap().delta(epsilon).unwrap();
            refused += u32::from(wrong + 1e-6 < exact);
            if let Some(worst) = worst.get_mut(d_in as usize) {
                *worst = worst.max(exact / bound.max(1e-300));
            }
        }
        if epsilon < 0.3 {
            assert!(worst[1] > 1.0 - 1e-9, "{epsilon}: {worst:?}");
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn two_poisson_samples_compose_direction_by_direction_to_the_exact_divergence() {
    let rate = 0.3;
    let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 1);
    let sampled = make_poisson_subsampling(whole, rate, None).unwrap();
    let both = make_composition(vec![sampled; 2]).unwrap();
    let profile = both.map(&1).unwrap();
    let (p, q) = (twice(&poisson(&[1], rate)), twice(&poisson(&[], rate)));
    for epsilon in [0.05, 0.2, 0.5, 0.8] {
        let (bound, exact) = (profile.delta(epsilon).unwrap(), either(&p, &q, epsilon));
        assert!(exact <= bound + 1e-12, "{epsilon}: {exact} > {bound}");
        assert!(bound <= exact * 1.001 + 1e-9, "{epsilon}: {exact} is far below {bound}");
        // The control: the two directions have different divergences. The exact delta is the larger
        // divergence, so the smaller divergence is too small as a bound.
        let less = divergence(&p, &q, epsilon).min(divergence(&q, &p, epsilon));
        assert!(less < 0.999 * exact, "{epsilon}: {less} {exact}");
    }
}

#[test]
fn poisson_samples_of_data_of_one_size_bound_replaced_records_exactly() {
    let rate = 0.3;
    let sampled_at = |rate: f64| {
        let whole = noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 1);
        make_poisson_subsampling(whole, rate, Some(3)).unwrap()
    };
    let (sampled, control) = (sampled_at(rate), sampled_at(rate / 2.0));
    assert_eq!(sampled.input().domain().records(), Some(3));
    let data = |negative: usize| -> Vec<i32> {
        (0..3).map(|row| if row < negative { -1 } else { 1 }).collect()
    };
    let (mut refused, mut tight) = (0, 0);
    for (x, y) in (0..=3_usize).flat_map(|x| (0..=3).map(move |y| (x, y))) {
        let d_in = 2 * x.abs_diff(y) as u32;
        let (first, second) = (poisson(&data(x), rate), poisson(&data(y), rate));
        for epsilon in [0.0, 0.1, 0.3, 0.7, 1.3] {
            let exact = either(&first, &second, epsilon);
            let bound = sampled.map(&d_in).unwrap().delta(epsilon).unwrap();
            assert!(exact <= bound + 1e-12, "{x} {y} {epsilon}: {exact} > {bound}");
            let wrong = control.map(&d_in).unwrap().delta(epsilon).unwrap();
            refused += u32::from(wrong + 1e-6 < exact);
        }
    }
    assert!(refused > 20, "{refused}");
    // If the data contain only the record that is replaced, the map is tight, for one release and
    // for two releases.
    let both = make_composition(vec![sampled.clone(); 2]).unwrap().map(&2).unwrap();
    let (first, second) = (poisson(&[1], rate), poisson(&[-1], rate));
    let alone = sampled.map(&2).unwrap();
    let added = make_poisson_subsampling(
        noisy::<_, SmoothedMaxDivergence>(bits(), SymmetricDistance, 1),
        rate,
        None,
    );
    let added = added.unwrap();
    for epsilon in [0.05, 0.2, 0.5] {
        let exact = either(&first, &second, epsilon);
        assert!(alone.delta(epsilon).unwrap() <= exact * 1.001 + 1e-7, "{epsilon}");
        let twice = either(&twice(&first), &twice(&second), epsilon);
        let found = both.delta(epsilon).unwrap();
        assert!(
            twice <= found + 1e-12 && found <= twice * 1.001 + 1e-7,
            "{epsilon}: {twice} {found}"
        );
        // Consider two losses as bounds for one replaced record. The loss at one added record is
        // too small, and the loss at two added or removed records is too large.
        let [less, more] = [1, 2].map(|d_in| added.map(&d_in).unwrap().delta(epsilon).unwrap());
        tight += u32::from(less < exact && exact * 1.01 < more);
    }
    assert_eq!(tight, 3);
}

#[test]
fn pure_losses_of_a_replaced_record_are_those_of_the_worst_pair() {
    let moved_by = |by: i32| {
        let whole = noisy::<_, MaxDivergence>(bits(), InsertDeleteDistance, by);
        make_poisson_subsampling(whole, 0.3, Some(5)).unwrap()
    };
    let found = moved_by(1).map(&2).unwrap();
    let (x, y) = (poisson(&[1], 0.3), poisson(&[-1], 0.3));
    let exact = x.iter().zip(&y).map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max);
    assert!(exact <= found * (1.0 + 1e-9) && found <= exact * (1.0 + 1e-9), "{exact} {found}");
    // One removed and one added record have a larger loss than one replaced record.
    assert!(found < 0.9 * (0.51 * 2_f64.exp_m1()).ln_1p());
    assert_eq!((moved_by(1).map(&0).unwrap(), moved_by(1).map(&3).unwrap()), (0.0, found));
    assert!(moved_by(1).map(&4).unwrap() <= 2.0 * found * (1.0 + 1e-12));
    let pairs = <Approximate<MaxDivergence> as AmplifiableMeasure>::amplified_by_replacement;
    let (epsilon, delta) = pairs(0.3, &(1.0, 1e-6), &(2.0, 2e-6)).unwrap();
    assert!(epsilon == found && (delta - 6e-7).abs() < 1e-18, "{epsilon} {delta}");
    // If the loss at one added record is infinite, the map uses the loss at one replaced record.
    let (epsilon, _) = pairs(0.3, &(f64::INFINITY, 0.0), &(2.0, 0.0)).unwrap();
    assert!((epsilon - (0.3 * 2_f64.exp_m1()).ln_1p()).abs() < 1e-12);
}

#[test]
fn the_profile_bounds_the_exact_divergence_of_samples_of_fixed_size() {
    let sampled_from = |size: usize, by: i32| {
        let inner = noisy::<_, SmoothedMaxDivergence>(bits().with_size(2), ChangeOneDistance, by);
        make_fixed_size_subsampling(inner, size).unwrap()
    };
    let (sampled, control) = (sampled_from(5, 2), sampled_from(10, 2));
    assert_eq!(sampled.input().domain().records(), Some(5));
    let all = |n: u32| [vec![1; 5 - n as usize], vec![-1; n as usize]].concat();
    let mut refused = 0;
    for (replaced, epsilon) in (0..=5).flat_map(|n| [0.0, 0.2, 0.5, 1.0].map(|e| (n, e))) {
        for start in 0..=(5 - replaced) {
            let (x, y) = (of_size(&all(start), 2), of_size(&all(start + replaced), 2));
            let exact = either(&x, &y, epsilon);
            let bound = sampled.map(&replaced).unwrap().delta(epsilon).unwrap();
            assert!(exact <= bound + 1e-12, "{replaced} {epsilon}: {exact} > {bound}");
            let wrong = control.map(&replaced).unwrap().delta(epsilon).unwrap();
            refused += u32::from(wrong + 1e-6 < exact);
        }
    }
    assert!(refused > 3, "{refused}");
    // For two releases and one replaced record, the map bounds the divergence in both directions.
    let both = make_composition(vec![sampled; 2]).unwrap().map(&1).unwrap();
    let (p, q) = (twice(&of_size(&all(0), 2)), twice(&of_size(&all(1), 2)));
    for epsilon in [0.1, 0.4, 0.9] {
        assert!(either(&p, &q, epsilon) <= both.delta(epsilon).unwrap() + 1e-12);
    }
}

#[test]
fn pure_losses_shrink_by_the_formula_and_groups_cost_at_most_their_number() {
    let pure = |rate: f64| {
        let whole = noisy::<_, MaxDivergence>(bits(), InsertDeleteDistance, 1);
        make_poisson_subsampling(whole, rate, None).unwrap()
    };
    let near = |left: f64, right: f64| right <= left && left < right * (1.0 + 1e-12);
    let single = (0.1 * 1_f64.exp_m1()).ln_1p();
    assert!(near(pure(0.1).map(&1).unwrap(), single));
    assert_eq!(pure(0.1).map(&0).unwrap(), 0.0);
    assert_eq!(pure(1.0).map(&3).unwrap(), 3.0);
    let three = ((1.0 - 0.9_f64.powi(3)) * 3_f64.exp_m1()).ln_1p();
    assert!(near(pure(0.1).map(&3).unwrap(), three.min(3.0 * single)));
    // At the rates 0.01, 0.5 and 0.99, the loss that the map states for two records is at least the
    // exact loss for two data sets. One data set has two records, and the other data set is empty.
    for rate in [0.01, 0.5, 0.99] {
        let (x, y) = (poisson(&[1, 1], rate), poisson(&[], rate));
        let exact = x.iter().zip(&y).map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max);
        assert!(exact <= pure(rate).map(&2).unwrap() * (1.0 + 1e-9));
    }
}

#[test]
fn thousands_of_sampled_gaussian_releases_cost_what_the_literature_says() {
    let rows = VectorDomain::new(AtomDomain::<f64>::non_nan());
    let noisy_sum = |scale: f64, rate: f64| {
        let sum = Transformation::new(
            Space::new(rows.clone(), SymmetricDistance).unwrap(),
            Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap(),
            Function::map(|rows: &Vec<f64>| Ok(rows.iter().sum())),
            StabilityMap::new(|d_in: &u32| Ok(f64::from(*d_in))),
        );
        let noisy = sum.then(|sums| make_gaussian_in(sums, Scale::new(scale)?, None)).unwrap();
        make_poisson_subsampling::<_, _, SmoothedMaxDivergence, _>(noisy, rate, None).unwrap()
    };
    for (scale, rate, count, epsilon) in
        [(4.0, 0.01, 1000, 0.272_137), (1.5, 0.04, 2250, 6.768_780)]
    {
        let training = make_composition(vec![noisy_sum(scale, rate); count]).unwrap();
        let found = training.map(&1).unwrap().epsilon(1e-5).unwrap();
        assert!(epsilon * 0.999 < found && found < epsilon * 1.001, "{found} {epsilon}");
    }
    // For one release, delta has a closed form. The computed epsilon must be nearly the least
    // epsilon at which this delta is at most 10^-6.
    let profile = noisy_sum(1.0, 0.01).map(&1).unwrap();
    let epsilon = profile.epsilon(1e-6).unwrap();
    assert!(profile.delta(epsilon).unwrap() <= 1e-6 * (1.0 + 1e-9));
    assert!(profile.delta(epsilon * 0.999).unwrap() > 1e-6);
}

/// Make a measurement that releases the data without noise.
fn told<M: MetricOn<Bits> + Metric<Distance = u32>>(
    domain: Bits,
    metric: M,
) -> Measurement<Bits, M, MaxDivergence, Vec<i32>> {
    let map = PrivacyMap::new(|d: &u32| Ok(if *d == 0 { 0.0 } else { f64::INFINITY }));
    let input = Space::new(domain, metric).unwrap();
    Measurement::new(input, MaxDivergence, Function::map(|rows: &Vec<i32>| Ok(rows.clone())), map)
}

#[test]
fn each_row_is_in_a_poisson_sample_as_often_as_the_rate_says_and_apart_from_others() {
    let sampled = make_poisson_subsampling(told(bits(), SymmetricDistance), 0.3, None).unwrap();
    let (data, draws) = ((0..130).collect::<Vec<i32>>(), 20_000);
    let (mut seen, mut pairs) = ([0; 130], 0);
    for _ in 0..draws {
        let sample = sampled.invoke(&data).unwrap();
        assert!(sample.is_sorted());
        let has = |row: &i32| sample.contains(row);
        pairs += i32::from(has(&63) && has(&64));
        sample.iter().for_each(|row| seen[*row as usize] += 1);
    }
    // Each frequency must be within eight standard deviations of its expected value. The
    // probability that at least one of the 131 frequencies is farther away is below 1e-12.
    let off = |count: i32, p: f64| {
        let n = f64::from(draws);
        (f64::from(count) - n * p).abs() / (n * p * (1.0 - p)).sqrt()
    };
    assert!(seen.iter().all(|count| off(*count, 0.3) < 8.0), "{seen:?}");
    assert!(off(pairs, 0.09) < 8.0);
    // The control: at the rate 0.36, the expected frequency of a row is 17 standard deviations
    // larger than at the rate 0.3. So the observed frequency is not within eight standard
    // deviations of this larger value.
    assert!(off(seen[0], 0.36) > 8.0, "the check does not detect a wrong rate");
}

#[test]
fn all_samples_of_fixed_size_are_equally_likely() {
    let inner = told(bits().with_size(2), ChangeOneDistance);
    let sampled = make_fixed_size_subsampling(inner, 4).unwrap();
    let mut seen = std::collections::HashMap::new();
    for _ in 0..12_000 {
        *seen.entry(sampled.invoke(&vec![0, 1, 2, 3]).unwrap()).or_insert(0.0) += 1.0;
    }
    let chi: f64 = seen.values().map(|n: &f64| (n - 2000.0).powi(2) / 2000.0).sum();
    // With five degrees of freedom, the chi-squared value exceeds 70 with a probability of about
    // 1e-13.
    assert!(seen.len() == 6 && chi < 70.0, "{seen:?}");
    assert!(seen.keys().all(|sample| sample.is_sorted() && sample.len() == 2));
}

#[test]
fn a_sample_streams_where_the_measurement_does_and_an_empty_one_is_one_as_well() {
    let whole = noisy::<_, MaxDivergence>(bits(), SymmetricDistance, 1);
    let sampled = make_poisson_subsampling(whole, 0.5, None).unwrap();
    let chunks = (0..100).map(|_| Ok(vec![1; 1000]));
    let sum = sampled.invoke_chunks(chunks).unwrap();
    // The limits are nine standard deviations away from the expected sum, 50,000.
    assert!((48_500..51_500).contains(&sum), "{sum}");
    let told = make_poisson_subsampling(told(bits(), SymmetricDistance), 1e-300, None).unwrap();
    assert_eq!(told.invoke(&vec![1, 2, 3]), Ok(vec![]));
    let erased = told.erase();
    for rows in [vec![], vec![7]] {
        let release = erased.invoke(&AnyValue::new(rows)).unwrap();
        assert!(release.downcast_ref::<Vec<i32>>().unwrap().is_empty());
    }
    let inner = make_fixed_size_subsampling(self::told(bits().with_size(0), ChangeOneDistance), 9);
    let inner = inner.unwrap();
    assert_eq!((inner.invoke(&vec![1; 9]), inner.map(&1)), (Ok(vec![]), Ok(0.0)));
}

#[test]
fn wrong_arguments_are_named() {
    for rate in [0.0, -0.5, 1.5, f64::NAN] {
        let error =
            make_poisson_subsampling(told(bits(), SymmetricDistance), rate, None).unwrap_err();
        assert!(error.kind() == "MakeMeasurement" && error.to_string().contains("rate"), "{error}");
    }
    let sized = told(bits().with_size(3), SymmetricDistance);
    let error = make_poisson_subsampling(sized.clone(), 0.5, None).unwrap_err();
    assert!(error.to_string().contains("fixes 3"), "{error}");
    let error = make_fixed_size_subsampling(sized, 2).unwrap_err();
    assert!(error.to_string().contains("size: expected at least 3, the size"), "{error}");
    let any = told(bits(), SymmetricDistance);
    assert_eq!(make_fixed_size_subsampling(any, 2).unwrap_err().kind(), "MakeMeasurement");
    let replaced = told(bits().with_size(2), ChangeOneDistance).erase();
    assert!(AnyMetric::changed(replaced.input().metric(), &AnyDistance::new(1_u32)).is_err());
}
