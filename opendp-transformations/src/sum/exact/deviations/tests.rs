use super::*;
use crate::{make_sum_of_squared_deviations, make_variance};
use opendp_core::arith::InfCast;
use opendp_core::{
    Bounds, ChangeOneDistance, DatasetMetric, DistanceOn, HammingDistance, InsertDeleteDistance,
    VectorDomain, laws,
};

type Spread<M> = Transformation<Records<f64>, M, AtomDomain<f64>, AbsoluteDistance<f64>>;

fn space<T: Atom, M: DatasetMetric + Default + DistanceOn<Records<T>>>(
    lower: T,
    upper: T,
    size: usize,
) -> Space<Records<T>, M> {
    let bounds = Bounds::new(lower, upper).unwrap();
    let domain = VectorDomain::new(AtomDomain::bounded(bounds)).with_size(size);
    Space::new(domain, M::default()).unwrap()
}
fn ssd(lower: f64, upper: f64, size: usize) -> Spread<SymmetricDistance> {
    make_sum_of_squared_deviations(space(lower, upper, size)).unwrap()
}
fn variance(lower: f64, upper: f64, size: usize, ddof: usize) -> Spread<SymmetricDistance> {
    make_variance(space(lower, upper, size), ddof).unwrap()
}
#[track_caller]
fn check<T, M>(lower: T, upper: T, alphabet: &[T])
where
    T: Atom + Float + Distance + Into<f64> + InfCast<T>,
    M: DatasetMetric + Default + DistanceOn<Records<T>>,
{
    for size in 1..=4 {
        let input = || space::<T, M>(lower, upper, size);
        let ssd = make_sum_of_squared_deviations(input()).unwrap();
        let longest = if alphabet.len() < 4 { 4 } else { 3 };
        if size <= longest {
            assert!(laws::all(&ssd, alphabet, longest).unwrap() > 0);
        }
        for ddof in [0, 1] {
            if ddof < size && size <= longest {
                let spread = make_variance(input(), ddof).unwrap();
                assert!(laws::all(&spread, alphabet, longest).unwrap() > 0);
            }
        }
    }
}
#[track_caller]
fn check_all<T>(lower: T, upper: T, alphabet: &[T])
where
    T: Atom + Float + Distance + Into<f64> + InfCast<T>,
{
    check::<T, SymmetricDistance>(lower, upper, alphabet);
    check::<T, InsertDeleteDistance>(lower, upper, alphabet);
    check::<T, ChangeOneDistance>(lower, upper, alphabet);
    check::<T, HammingDistance>(lower, upper, alphabet);
}

#[test]
fn obeys_the_laws_under_every_metric() {
    check_all(-1.0, 0.1, &[-1.0, -0.0, 5e-324, 0.1]);
    check_all(0.0, 10.0, &[0.0, 1.0 / 3.0, 10.0]);
    check_all(-f64::MAX, f64::MAX, &[-f64::MAX, 1.0, f64::MAX]);
    check_all(-1e-310, 1e-323, &[-1e-310, -5e-324, 0.0, 1e-323]);
    check_all(1e150, 3e153, &[1e150, 2e153, 3e153]);
    check_all(-f32::MAX, f32::MAX, &[-f32::MAX, 1e-45, f32::MAX]);
    check_all(0.1_f32, 0.3, &[0.1, 0.15, 0.3]);
    check_all(-0.0, 0.0, &[-0.0, 0.0]);
}

/// Compute `n` times the sum of squared deviations of `n` records, exactly. The records are
/// multiples of `2^-2`. The unit of the result is `2^-4`.
fn exact(data: &[f64]) -> i128 {
    let quarters: Vec<i128> = data.iter().map(|x| (x * 4.0) as i128).collect();
    let (sum, n): (i128, i128) = (quarters.iter().sum(), data.len().try_into().unwrap());
    quarters.iter().map(|x| x * x).sum::<i128>() * n - sum * sum
}
#[test]
fn holds_where_two_passes_in_floats_do_not() {
    // There are 1024 records with bounds (2^50, 2^50 + 1). One record changes by 0.25, 0.5, 0.75 or
    // 1.
    let base = 2_f64.powi(50);
    let spread = ssd(base, base + 1.0, 1024);
    let claimed = spread.map(&2).unwrap();
    assert_eq!(claimed, 1023.0 / 1024.0);
    let mut worst = 0.0_f64;
    for high in [0, 1, 300, 512, 1023] {
        let data = |moved: f64| {
            let rest = [vec![base + 1.0; high], vec![base; 1023 - high]].concat();
            [rest, vec![base + moved]].concat()
        };
        let run = |moved| spread.invoke(&data(moved)).unwrap();
        for moved in [0.25, 0.5, 0.75, 1.0] {
            worst = worst.max((run(0.0) - run(moved)).abs());
            // The output is the exact result, up to the last rounding.
            let truth = exact(&data(moved)) as f64 / 16.0 / 1024.0;
            assert!((run(moved) - truth).abs() <= 2_f64.powi(-43), "{high} {moved}");
        }
    }
    assert!(0.5 < worst && worst <= claimed);
    let two_pass = |data: &[f64]| {
        let mean = data.iter().sum::<f64>() / 1024.0;
        data.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>()
    };
    // If the result is computed with floats in two passes, the result changes by more than
    // `claimed`.
    let data = |last: f64| {
        let rest = [vec![base + 1.0; 511], vec![base; 512]].concat();
        [rest, vec![last]].concat()
    };
    let moves = [0.0, 0.25, 0.5, 0.75, 1.0].map(|x| two_pass(&data(base + x)));
    let spread = moves.iter().fold(f64::MIN, |a, b| a.max(*b))
        - moves.iter().fold(f64::MAX, |a, b| a.min(*b));
    assert!(spread > claimed, "{spread}");
}
#[test]
fn the_map_is_the_largest_change_for_every_number_of_replacements() {
    for size in 1..=6_usize {
        let spread = ssd(0.0, 4.0, size);
        let data: Vec<Vec<f64>> = laws::vectors(&[0.0, 1.0, 4.0], size)
            .into_iter()
            .filter(|x| x.len() == size && x.is_sorted())
            .collect();
        for replaced in 0..=size {
            let d_in = 2 * u32::try_from(replaced).unwrap();
            let mut worst = 0;
            for x in &data {
                for y in &data {
                    let distance = spread.input().distance(x, y).unwrap().unwrap();
                    if distance <= d_in {
                        worst = worst.max((exact(x) - exact(y)).abs());
                    }
                }
            }
            let n = size as f64;
            let claimed = spread.map(&d_in).unwrap() * 16.0 * n;
            // The largest change is equal to the value of the map, up to a relative error of 1e-12.
            assert!(worst as f64 <= claimed * (1.0 + 1e-15), "{size} {replaced}");
            assert!(claimed <= worst as f64 * (1.0 + 1e-12), "{size} {replaced} {worst} {claimed}");
        }
    }
}
#[test]
fn maps_as_the_catalogue_lists_or_less() {
    let spread = ssd(0.0, 10.0, 10);
    assert_eq!([0, 1, 2, 3].map(|d| spread.map(&d).unwrap()), [0.0, 0.0, 90.0, 90.0]);
    // At distance 4, two records are replaced, and the bound is less than twice the bound for one
    // replaced record.
    assert_eq!(spread.map(&4), Ok(160.0));
    assert_eq!(spread.map(&1000), Ok(250.0));
    let d_out = |ddof| variance(0.0, 10.0, 10, ddof).map(&2).unwrap();
    assert!(10.0 <= d_out(1) && d_out(1) <= 10.0 * (1.0 + 1e-15));
    assert!(9.0 <= d_out(0) && d_out(0) <= 9.0 * (1.0 + 1e-15));
    let hamming = make_variance(space::<f64, HammingDistance>(0.0, 10.0, 10), 0);
    assert_eq!(hamming.unwrap().map(&1), Ok(d_out(0)));
}
#[test]
fn spreads() {
    let data = vec![1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(ssd(0.0, 10.0, 5).invoke(&data), Ok(10.0));
    assert_eq!(variance(0.0, 10.0, 5, 1).invoke(&data), Ok(2.5));
    assert_eq!(variance(0.0, 10.0, 5, 0).invoke(&data), Ok(2.0));
    assert_eq!(ssd(-9.0, 9.0, 1).invoke(&vec![7.0]), Ok(0.0));
    assert_eq!(ssd(-9.0, 9.0, 1).map(&2), Ok(0.0));
    let huge = ssd(-f64::MAX, f64::MAX, 2);
    assert_eq!(huge.invoke(&vec![f64::MAX, -f64::MAX]), Ok(f64::MAX));
    assert_eq!(huge.map(&2).unwrap_err().kind(), "Overflow");
}
#[test]
fn a_map_without_the_factor_of_the_mean_or_half_of_it_is_refused() {
    let honest = ssd(0.0, 1.0, 4);
    let data = laws::vectors(&[0.0, 0.5, 1.0], 4);
    assert!(laws::stable(&honest, &data).unwrap() > 0);
    for factor in [0.5, 0.74] {
        let map = StabilityMap::new(move |d: &u32| Ok(f64::from(d / 2) * factor));
        let (output, function) = (honest.output().clone(), honest.function().clone());
        let wrong = Transformation::new(honest.input().clone(), output, function, map);
        assert!(laws::stable(&wrong, &data).is_err());
    }
}
#[test]
fn clamps_records_beyond_the_bounds() {
    let told = |data: [f64; 3]| variance(0.0, 1.0, 3, 1).invoke(&data.to_vec()).unwrap();
    assert_eq!(told([0.0, 0.5, 7.0]), told([0.0, 0.5, 1.0]));
    assert_eq!(told([-7.0, 0.5, 1.0]), told([0.0, 0.5, 1.0]));
}
#[test]
fn says_what_is_missing() {
    let refuse = |domain: Records<f64>, ddof: usize, gist: &str| {
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_variance(input, ddof).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains(gist), "{error}");
    };
    let bounded = VectorDomain::new(AtomDomain::bounded(Bounds::new(0.0, 1.0).unwrap()));
    refuse(bounded.clone(), 1, "make_resize");
    refuse(bounded.clone().with_size(0), 0, "make_resize");
    refuse(bounded.clone().with_size(3), 3, "ddof");
    refuse(VectorDomain::new(AtomDomain::non_nan()).with_size(3), 1, "make_clamp");
    let infinite = AtomDomain::bounded(Bounds::new(0.0, f64::INFINITY).unwrap());
    refuse(VectorDomain::new(infinite).with_size(3), 1, "make_clamp");
}
