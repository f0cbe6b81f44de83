use super::*;
use crate::make_sized_bounded_covariance;
use opendp_core::arith::InfCast;
use opendp_core::{
    Bounds, ChangeOneDistance, DistanceOn, HammingDistance, InsertDeleteDistance,
    SymmetricDistance, laws,
};

/// The domain of data sets whose records are pairs of floats.
type Pairs<T> = VectorDomain<PairDomain<AtomDomain<T>, AtomDomain<T>>>;

fn space<T: Atom, M: DatasetMetric + Default + MetricOn<Pairs<T>>>(
    x: (T, T),
    y: (T, T),
    size: usize,
) -> Space<Pairs<T>, M> {
    let part = |bounds: (T, T)| AtomDomain::bounded(Bounds::new(bounds.0, bounds.1).unwrap());
    let domain = VectorDomain::new(PairDomain::new(part(x), part(y))).with_size(size);
    Space::new(domain, M::default()).unwrap()
}
#[track_caller]
fn check<T, M>(x: (T, T), y: (T, T), alphabet: &[(T, T)])
where
    T: Atom + Float + Distance + Into<f64> + InfCast<T>,
    M: DatasetMetric + Default + DistanceOn<Pairs<T>>,
{
    for (size, ddof) in [(1, 0), (2, 1), (3, 0), (3, 2)] {
        let made = make_covariance(space::<T, M>(x, y, size), ddof).unwrap();
        assert!(laws::all(&made, alphabet, 3).unwrap() > 0);
    }
}
#[track_caller]
fn check_all<T>(x: (T, T), y: (T, T), alphabet: &[(T, T)])
where
    T: Atom + Float + Distance + Into<f64> + InfCast<T>,
{
    check::<T, SymmetricDistance>(x, y, alphabet);
    check::<T, InsertDeleteDistance>(x, y, alphabet);
    check::<T, ChangeOneDistance>(x, y, alphabet);
    check::<T, HammingDistance>(x, y, alphabet);
}

#[test]
fn obeys_the_laws_under_every_metric() {
    let unit = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.1, 1.0 / 3.0)];
    check_all((0.0, 1.0), (0.0, 1.0), &unit);
    let base = 2_f64.powi(50);
    let far = [(base, -1e-310), (base + 1.0, 5e-324), (base + 0.25, -0.0)];
    check_all((base, base + 1.0), (-1e-310, 5e-324), &far);
    let huge = [(-f64::MAX, f64::MAX), (f64::MAX, f64::MAX), (1.0, -1.0)];
    check_all((-f64::MAX, f64::MAX), (-1.0, f64::MAX), &huge);
    check_all((0.1_f32, 0.3), (-1.0, 0.2), &[(0.1, 0.2), (0.3, -1.0), (0.2, 0.0)]);
}
/// Compute the sum of the products of deviations, times the number of records. The data are floats
/// that hold small integers, so the result is exact.
fn exact(data: &[(f64, f64)]) -> i64 {
    let n = i64::try_from(data.len()).unwrap();
    let integer = |x: f64| x as i64;
    let products: i64 = data.iter().map(|(x, y)| integer(*x) * integer(*y)).sum();
    let sum = |part: fn(&(f64, f64)) -> f64| data.iter().map(|p| integer(part(p))).sum::<i64>();
    n * products - sum(|p| p.0) * sum(|p| p.1)
}
#[test]
fn the_map_is_attained_by_one_replacement_and_never_exceeded() {
    let corners = [(0.0, 0.0), (0.0, 2.0), (3.0, 0.0), (3.0, 2.0)];
    for size in 2..=5_usize {
        let made =
            make_covariance(space::<f64, SymmetricDistance>((0.0, 3.0), (0.0, 2.0), size), 0)
                .unwrap();
        let all = laws::vectors(&corners, size);
        let ordered = |x: &Vec<(f64, f64)>| x.len() == size && x.is_sorted_by(|a, b| a <= b);
        let data: Vec<_> = all.into_iter().filter(ordered).collect();
        for replaced in 1..=u32::try_from(size).unwrap() {
            let mut worst = 0;
            for x in &data {
                assert!(
                    (made.invoke(x).unwrap() - exact(x) as f64 / (size * size) as f64).abs()
                        < 1e-14
                );
                for y in &data {
                    if made.input().distance(x, y).unwrap().unwrap() <= 2 * replaced {
                        worst = worst.max((exact(x) - exact(y)).abs());
                    }
                }
            }
            let claimed = made.map(&(2 * replaced)).unwrap() * (size * size) as f64;
            assert!(worst as f64 <= claimed * (1.0 + 1e-15), "{size} {replaced}");
            if replaced == 1 {
                assert!(claimed <= worst as f64 * (1.0 + 1e-12), "{size}");
            }
        }
    }
}
#[test]
fn a_map_that_is_too_small_is_refused() {
    let honest =
        make_covariance(space::<f64, SymmetricDistance>((0.0, 1.0), (0.0, 1.0), 2), 0).unwrap();
    let data = laws::vectors(&[(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)], 2);
    let map = StabilityMap::new(|d: &u32| Ok(f64::from(d / 2) * 0.24));
    let (output, function) = (honest.output().clone(), honest.function().clone());
    let wrong = Transformation::new(honest.input().clone(), output, function, map);
    assert!(laws::stable(&honest, &data).unwrap() > 0 && laws::stable(&wrong, &data).is_err());
}
#[test]
fn is_the_same_however_the_rows_are_divided() {
    let rows = 300_001_usize;
    let part = |i: usize, by: u64| (i as u64).wrapping_mul(by) as f64 / u64::MAX as f64;
    let data: Vec<(f64, f64)> = (0..rows)
        .map(|i| (part(i, 0x9e37_79b9_7f4a_7c15), part(i, 0xd1b5_4a32_d192_ed03)))
        .collect();
    let made = make_sized_bounded_covariance::<Sequential<f64>>(
        rows,
        Bounds::new(0.0, 1.0).unwrap(),
        Bounds::new(-1.0, 1.0).unwrap(),
        1,
    )
    .unwrap();
    let streamed = made.invoke_chunks(data.chunks(777).map(|chunk| Ok(chunk.to_vec())));
    let reversed: Vec<_> = data.iter().rev().copied().collect();
    assert_eq!(made.invoke(&data), streamed);
    assert_eq!(made.invoke(&data), made.invoke(&reversed));
}
#[test]
fn says_what_is_missing() {
    let refuse = |domain: Pairs<f64>, ddof: usize, gist: &str| {
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_covariance(input, ddof).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains(gist));
    };
    let bounded = space::<f64, SymmetricDistance>((0.0, 1.0), (0.0, 1.0), 3).domain().clone();
    refuse(bounded.clone().without_size(), 0, "number of records");
    refuse(bounded.clone(), 3, "ddof");
    refuse(bounded.with_size(0), 0, "at least 1, found 0 records");
    let free = PairDomain::new(AtomDomain::non_nan(), AtomDomain::non_nan());
    refuse(VectorDomain::new(free).with_size(2), 0, "make_clamp");
}
