use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::{Args, Registration, laws};
use serde_json::json;

use super::*;
use crate::private_quantile::tests::only;

fn made(scale: f64, threshold: f64) -> Result<Release<u32, i64>> {
    let domain = MapDomain::new(AtomDomain::default(), AtomDomain::default());
    let input = Space::new(domain, L01InfDistance::new(AbsoluteDistance::new())).unwrap();
    make_truncated_laplace_threshold(input, Scale::new(scale).unwrap(), threshold)
}
/// Compute the law of a released count. Element `n` of the list is the probability that the noisy
/// count `n` is released. The last element is the probability that the key is hidden.
fn law(count: i64, scale: f64, threshold: f64) -> Vec<f64> {
    let (mut law, more) = (vec![0.0; 200], threshold.fract());
    let mut hidden = f64::from(u8::from(count == 0));
    for (weight, least) in [(1.0 - more, threshold.floor()), (more, threshold.floor() + 1.0)] {
        let (least, k) = (least as i64, least as i64 - 1);
        let mass = |z: i64| (-(z.abs() as f64) / scale).exp();
        let all: f64 = (-k..=k).map(mass).sum();
        for z in (-k..=k).filter(|_| count != 0) {
            match count + z {
                noisy if least <= noisy => law[noisy as usize] += weight * mass(z) / all,
                _ => hidden += weight * mass(z) / all,
            }
        }
    }
    law.push(hidden);
    law
}
/// Compute the delta of the laws `p` and `q` at `epsilon`.
fn delta(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

#[test]
fn no_pair_of_neighbours_loses_more_than_the_map() {
    for (scale, threshold) in [(1.0, 14.0), (1.0, 14.067), (0.7, 6.5), (3.0, 9.25), (2.0, 2.0)] {
        let release = made(scale, threshold).unwrap();
        let mut closest = 0.0_f64;
        for change in 1..=3_i64 {
            let (epsilon, bound) = release.map(&(1, change, change)).unwrap();
            for count in 0..60_i64 {
                let (p, q) = (law(count, scale, threshold), law(count + change, scale, threshold));
                let worst = delta(&p, &q, epsilon).max(delta(&q, &p, epsilon));
                assert!(worst <= bound * (1.0 + 1e-9), "{scale} {threshold} {count}: {worst}");
                closest = closest.max(worst / bound);
            }
        }
        // The control: at least one delta is above 0.99 times its bound.
        assert!(0.99 < closest, "{scale} {threshold}: {closest}");
    }
}
#[test]
fn two_changed_keys_lose_no_more_than_the_map() {
    let (scale, threshold) = (1.0, 4.5);
    let (epsilon, bound) = made(scale, threshold).unwrap().map(&(2, 2, 1)).unwrap();
    let joint = |counts: [i64; 2]| -> Vec<f64> {
        let [a, b] = counts.map(|count| law(count, scale, threshold));
        a.iter().flat_map(|a| b.iter().map(move |b| a * b)).collect()
    };
    let mut closest = 0.0_f64;
    for (x, y) in [([0, 0], [1, 1]), ([0, 3], [1, 2]), ([5, 9], [6, 10]), ([0, 9], [1, 8])] {
        let (p, q) = (joint(x), joint(y));
        let worst = delta(&p, &q, epsilon).max(delta(&q, &p, epsilon));
        assert!(worst <= bound * (1.0 + 1e-9), "{x:?} {y:?}: {worst} {bound}");
        closest = closest.max(worst / bound);
    }
    assert!(0.9 < closest, "{closest}");
}
#[test]
fn the_samples_have_the_stated_law() {
    let (scale, threshold, keys) = (1.5, 5.25, 40_000_u32);
    let release = made(scale, threshold).unwrap();
    for count in [1, 4, 6] {
        let data: HashMap<u32, i64> = (0..keys).map(|key| (key, count)).collect();
        let found = release.invoke(&data).unwrap();
        let expected = law(count, scale, threshold);
        let mut seen = vec![0.0; expected.len()];
        found.values().for_each(|noisy| seen[*noisy as usize] += 1.0);
        seen[expected.len() - 1] = f64::from(keys) - found.len() as f64;
        for (noisy, (seen, mass)) in seen.iter().zip(&expected).enumerate() {
            // Each expected number of keys, `mean`, is 0 or above 100. So an assertion fails by
            // chance with a probability below 1e-14.
            let mean = mass * f64::from(keys);
            assert!(
                (seen - mean).abs() <= 9.0 * mean.sqrt() + 1e-9,
                "{count} {noisy}: {seen} {mean}"
            );
        }
    }
}
#[test]
fn losses_at_the_ends() {
    let release = made(1.0, 14.0).unwrap();
    for nothing in [(0, 0, 0), (0, 3, 3), (2, 0, 3), (2, 3, 0)] {
        assert_eq!(release.map(&nothing), Ok((0.0, 0.0)));
    }
    assert_eq!(release.map(&(1, -1, 1)).unwrap_err().kind(), "FailedMap");
    assert_eq!(release.map(&(1, 20, 20)), Ok((20.0, 1.0)));
    assert_eq!(release.map(&(2, 100, 3)).unwrap().0, 6.0);
    assert_eq!(made(0.0, 5.0).unwrap().map(&(1, 1, 1)), Ok((f64::INFINITY, 1.0)));
    assert!(made(1.0, MOST).unwrap().map(&(1, 1, 1)).unwrap().1 < 1e-300);
    for wrong in [0.5, -1.0, f64::NAN, f64::INFINITY, MOST * 2.0] {
        let error = made(0.1, wrong).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("threshold"), "{error}");
    }
    assert!(made(9.0, 8.0).is_err(), "a threshold below the scale must be refused");
    // A key with the count 0 is dropped. A key with the count -1000 never reaches the threshold.
    let counts = HashMap::from([(1, 0), (2, -1000), (3, 1000)]);
    assert_eq!(release.invoke(&counts).unwrap().into_keys().collect::<Vec<_>>(), [3]);
}
#[test]
fn a_fraction_of_a_threshold_takes_all_of_delta() {
    // For a delta of 1e-6, the least threshold that is a whole number is 15.
    let (low, high) = (made(1.0, 14.0).unwrap(), made(1.0, 15.0).unwrap());
    let delta = |release: &Release<u32, i64>| release.map(&(1, 1, 1)).unwrap().1;
    assert!(delta(&high) < 1e-6 && 1e-6 < delta(&low));
    let part = (delta(&low) - 1e-6) / (delta(&low) - delta(&high));
    let between = made(1.0, 14.0 + part).unwrap();
    assert!((delta(&between) / 1e-6 - 1.0).abs() < 1e-9);
}
#[test]
fn at_one_loss_more_keys_are_released_than_with_laplace_noise() {
    for (epsilon, delta) in [(1.0_f64, 1e-6_f64), (0.3, 1e-8), (2.0, 1e-3)] {
        let scale = 1.0 / epsilon;
        let fits = |threshold: f64| Ok(made(scale, threshold)?.map(&(1, 1, 1))?.1 <= delta);
        let threshold = opendp_core::search::binary_search(fits, Some((scale, 1e6))).unwrap();
        // `other` is the best threshold for Laplace noise. At this threshold, a key with the count
        // 1 is released with probability delta.
        let other = 1.0 + (1.0 / (2.0 * delta)).ln() * scale;
        let (mut ours, mut others) = (0.0, 0.0);
        for count in 1..120 {
            let mut law = law(count, scale, threshold);
            let released = 1.0 - law.pop().unwrap();
            let noise = (other - count as f64) / scale;
            let tail = (-noise.abs()).exp() / 2.0;
            let laplace = if 0.0 < noise { tail } else { 1.0 - tail };
            assert!(laplace <= released * (1.0 + 1e-6), "{epsilon} {count}: {laplace} {released}");
            (ours, others) = (ours + released, others + laplace);
            // If the key is hidden, count the error as 0. Then the mean square error is at most the
            // variance of Laplace noise without truncation.
            let square =
                |(noisy, mass): (usize, &f64)| mass * (noisy as f64 - count as f64).powi(2);
            let variance: f64 = law.iter().enumerate().map(square).sum();
            assert!(variance <= 2.0 * scale * scale, "{epsilon} {count}: {variance}");
        }
        assert!(others + 0.05 < ours, "{epsilon}: {ours} {others}");
    }
}

#[test]
fn a_number_that_exceeds_the_type_of_counts_is_the_largest_one() {
    let domain = MapDomain::new(AtomDomain::<u32>::default(), AtomDomain::<i32>::default());
    let input = Space::new(domain, L01InfDistance::new(AbsoluteDistance::<i32>::new())).unwrap();
    let release = make_truncated_laplace_threshold(input, Scale::new(1e3).unwrap(), 1e6).unwrap();
    let counts: HashMap<u32, i32> = (0..100).map(|key| (key, i32::MAX)).collect();
    let found = release.invoke(&counts).unwrap();
    // The noise of about half of the keys is not negative. The released counts of these keys are
    // the largest `i32`.
    assert!(found.values().filter(|count| **count == i32::MAX).count() > 10);
    assert!(found.values().any(|count| *count < i32::MAX) && found.len() == 100);
    // Noise is below the threshold, so no key with a negative count is released.
    let lost: HashMap<u32, i32> = (0..100).map(|key| (key, i32::MIN)).collect();
    assert!(release.invoke(&lost).unwrap().is_empty());
}
#[test]
fn the_registered_one_has_the_map_and_the_releases_of_the_typed_one() {
    fn check<V: Atom + Integer + Distance>(all: &[&'static Registration], [near, far]: [V; 2]) {
        let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<V>::default());
        let metric = L01InfDistance::new(AbsoluteDistance::<V>::new());
        let input = Space::new(domain, metric).unwrap();
        for (scale, threshold) in [(0.0, 5.0), (2.0, 27.5)] {
            let args = Args::new().with("input", &input.erase());
            let args = args.with("scale", json!(scale)).with("threshold", json!(threshold));
            let erased = only(all, &args).construct(&args).unwrap().measurement().unwrap();
            let scale = Scale::new(scale).unwrap();
            let typed = make_truncated_laplace_threshold(input.clone(), scale, threshold).unwrap();
            for d_in in [(0, near, near), (1, near, near), (3, far, near), (1, far, far)] {
                let loss = erased.map(&AnyDistance::new(d_in)).unwrap();
                let loss = *loss.downcast_ref::<(f64, f64)>().unwrap();
                assert_eq!(loss, typed.map(&d_in).unwrap());
            }
            assert_eq!(erased.accuracy(0.05).unwrap(), typed.accuracy(0.05).unwrap());
            let counts = HashMap::from([("the".to_owned(), far), ("rare".to_owned(), near)]);
            let any = AnyValue::new(counts.clone());
            for _ in 0..20 {
                let pair = laws::on_one_tape(|| erased.invoke(&any), || typed.invoke(&counts));
                let (released, expected) = pair.unwrap();
                let released = released.unwrap().downcast::<HashMap<String, V>>().unwrap();
                assert_eq!(released, expected.unwrap());
                assert_eq!(released.keys().collect::<Vec<_>>(), ["the"]);
            }
        }
    }
    let named = |r: &&Registration| r.family.names.contains(&"make_truncated_laplace_threshold");
    let all: Vec<_> = Registration::all().filter(named).collect();
    let signatures: Vec<_> = all.iter().flat_map(|r| r.signatures()).collect();
    assert_eq!((all.len(), signatures.len()), (7 * 2, 7 * 2));
    assert!(all[0].documentation().starts_with("Make a measurement that adds truncated Laplace"));
    check(&all, [1_i32, 1000]);
    check(&all, [1_i64, 1000]);
}
