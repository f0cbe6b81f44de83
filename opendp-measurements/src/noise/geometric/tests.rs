use super::*;
use crate::samplers::tests::chi_square::chi_square;

type Vectors = VectorDomain<AtomDomain<i16>>;

fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}
fn bounds<T: opendp_core::Atom>(lower: T, upper: T) -> Option<Bounds<T>> {
    Some(Bounds::new(lower, upper).unwrap())
}
fn vectors() -> Space<Vectors, L1Distance<i16>> {
    Space::new(VectorDomain::default(), L1Distance::new()).unwrap()
}
/// Compute the probability of each release within the bounds. For `m >= 1`, the closure `tail`
/// computes `P[noise >= m]`.
fn probabilities(x: i16, s: f64, (lower, upper): (i16, i16)) -> Vec<f64> {
    let x = x.clamp(lower, upper);
    let q = (-1.0 / s).exp();
    let tail = |m: f64| q.powf(m) / (1.0 + q);
    let mass_at = |r: i16| match f64::from(r) - f64::from(x) {
        0.0 if r == lower || r == upper => 1.0 - tail(1.0),
        z if r == lower || r == upper => tail(z.abs()),
        z => (1.0 - q) / (1.0 + q) * q.powf(z.abs()),
    };
    (lower..=upper).map(mass_at).collect()
}

#[test]
fn bounded_releases_have_their_exact_probabilities() {
    let draws = 200_000;
    for (x, s, ends) in [
        (3, 2.0, (0, 10)),
        (-50, 1.5, (-4, 4)),
        (32_767, 6.0, (32_760, 32_767)),
        (-32_768, 3.0, (-32_768, -32_700)),
        (7, 40.0, (-100, 100)),
    ] {
        let release: Measurement<_, _, MaxDivergence, _> =
            make_geometric(vectors(), scale(s), bounds(ends.0, ends.1)).unwrap();
        let mut counts = vec![0; usize::try_from(ends.1 - ends.0 + 1).unwrap()];
        for r in release.invoke(&vec![x; draws]).unwrap() {
            counts[usize::try_from(i32::from(r) - i32::from(ends.0)).unwrap()] += 1;
        }
        let fit = |s: f64| {
            let expected = probabilities(x, s, ends).into_iter().map(|p| p * draws as f64);
            chi_square(&counts, &expected.collect::<Vec<_>>())
        };
        assert!(fit(s) < 1.0, "{x} {s}");
        assert!(fit(1.2 * s) > 1.0, "{x} {s}: a wrong scale goes unnoticed");
    }
}
#[test]
fn the_map_bounds_the_exact_divergence_and_is_tight() {
    let input = Space::new(AtomDomain::<i16>::default(), AbsoluteDistance::<i16>::new()).unwrap();
    for (s, ends) in [(0.4, (0, 9)), (2.0, (-5, 30)), (50.0, (0, 100))] {
        let release: Measurement<_, _, MaxDivergence, _> =
            make_geometric(input.clone(), scale(s), bounds(ends.0, ends.1)).unwrap();
        for d in [0, 1, 3] {
            let epsilon = release.map(&d).unwrap();
            let mut largest = 0.0_f64;
            for x in -8..40 {
                let (first, second) = (probabilities(x, s, ends), probabilities(x + d, s, ends));
                for (p, q) in first.iter().zip(&second) {
                    largest = largest.max((p / q).ln().abs());
                }
            }
            assert!(largest <= epsilon + 1e-9, "{largest} exceeds {epsilon}");
            assert!(epsilon - 1e-9 <= largest, "{largest} is below {epsilon}");
        }
    }
}
#[test]
fn without_bounds_it_is_discrete_laplace_noise() {
    let release: Measurement<_, _, MaxDivergence, _> =
        make_geometric(vectors(), scale(4.0), None).unwrap();
    let drawn = release.invoke(&vec![100; 50_000]).unwrap();
    assert!(drawn.iter().any(|r| *r < 80) && drawn.iter().any(|r| 120 < *r));
    assert_eq!(release.map(&2), Ok(0.5));
    let same: Measurement<_, _, MaxDivergence, _> =
        make_laplace(vectors(), scale(4.0), None).unwrap();
    assert_eq!(release.accuracy(0.05).unwrap(), same.accuracy(0.05).unwrap());
}
#[test]
fn no_bound_on_the_error_is_stated_for_numbers_that_may_be_clamped() {
    let release: Measurement<_, _, MaxDivergence, _> =
        make_geometric(vectors(), scale(4.0), bounds(0, 100)).unwrap();
    // A release for the number 300 is at most 100, so its error is at least 200. A bound on the
    // noise would be too small as a bound on this error.
    assert!(release.invoke(&vec![300]).unwrap()[0] <= 100);
    assert!(!release.accuracy(0.05).is_ok_and(|bounds| bounds.iter().any(Option::is_some)));
}
#[test]
fn bounds_hold_whatever_the_type_and_the_data() {
    fn stays<T: GeometricNumber + std::fmt::Debug>(numbers: &[T], ends: (T, T))
    where
        AtomDomain<T>: Numbers<Number = T> + opendp_core::Domain<Carrier = T>,
        AbsoluteDistance<f64>: MetricOn<AtomDomain<T>>,
    {
        let input = Space::new(AtomDomain::<T>::default(), AbsoluteDistance::<f64>::new()).unwrap();
        for s in [0.0, 0.5, 1e17, f64::MAX] {
            let release: Measurement<_, _, MaxDivergence, _> =
                make_geometric(input.clone(), scale(s), bounds(ends.0, ends.1)).unwrap();
            for x in numbers {
                for _ in 0..20 {
                    let r = release.invoke(x).unwrap();
                    assert!(ends.0 <= r && r <= ends.1, "{x:?} {s}: {r:?}");
                    assert!(0.0 < s || r == Bounds::new(ends.0, ends.1).unwrap().clamp(*x));
                }
            }
        }
    }
    stays(&[i8::MIN, -1, 0, 100, i8::MAX], (-128, 127));
    stays(&[i8::MIN, -1, 0, 100, i8::MAX], (-3, 5));
    stays(&[0, 1, u8::MAX], (0_u8, 200));
    stays(&[i64::MIN, 0, i64::MAX], (i64::MIN, i64::MAX));
    stays(&[i128::MIN, 0, i128::MAX], (i128::MIN, i128::MAX));
    stays(&[i128::MIN, 0, i128::MAX], (-7, i128::MAX));
    stays(&[0, u64::MAX], (5, 5));
}
#[test]
fn scale_zero_clamps_and_has_no_finite_loss() {
    let release: Measurement<_, _, MaxDivergence, _> =
        make_geometric(vectors(), scale(0.0), bounds(0, 9)).unwrap();
    assert_eq!(release.invoke(&vec![-4, 5, 300]), Ok(vec![0, 5, 9]));
    assert_eq!((release.map(&0), release.map(&1)), (Ok(0.0), Ok(f64::INFINITY)));
}
