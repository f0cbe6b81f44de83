use opendp_core::L2Distance;

use super::*;
use crate::make_composition;
use crate::noise::tests::{atoms, scale, vectors};

#[test]
fn maps_the_distance_to_half_its_squared_quotient() {
    let loss_at =
        |s, d_in: f64| make_gaussian(atoms::<f64, f64>(), scale(s), None).unwrap().map(&d_in);
    assert_eq!([1.0, 3.0].map(|d| loss_at(2.0, d).unwrap()), [0.125, 1.125]);
    let integers = make_gaussian(atoms::<i32, i32>(), scale(0.5), None).unwrap();
    assert_eq!(integers.map(&1).unwrap(), 2.0);
    assert_eq!([0.0, 1.0].map(|d| loss_at(0.0, d).unwrap()), [0.0, f64::INFINITY]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(loss_at(1.0, wrong).unwrap_err().kind(), "FailedMap");
        assert_eq!(loss_at(0.0, wrong).unwrap_err().kind(), "FailedMap");
    }
    assert_eq!(loss_at(5e-324, 1.0).unwrap_err().kind(), "Overflow");
    // The expected loss is 1 / 18, rounded up. If 1 / 3 were rounded before the square is computed,
    // the loss would be larger.
    assert_eq!(loss_at(3.0, 1.0).unwrap(), 0.055_555_555_555_555_56);
    let wide = make_gaussian(vectors::<i128, L2Distance<i128>>(), scale(1.0), None).unwrap();
    // The largest distance is 2^127 - 1. Half of its square is a little less than 2^253.
    assert_eq!(wide.map(&i128::MAX).unwrap(), 2.0_f64.powi(253));
}
#[test]
fn losses_of_several_releases_add_up() {
    // The losses of scales 1 and 2 add up to 1 / 2 + (1 / 2)^2 / 2.
    let release = |s| make_gaussian(atoms::<f64, f64>(), scale(s), None).unwrap();
    let both = make_composition(vec![release(1.0), release(2.0)]).unwrap();
    assert_eq!(both.map(&1.0).unwrap(), 0.625);
}
/// Compare the map with the exact Renyi divergence of the unsaturated releases from two integers.
#[test]
fn the_map_bounds_the_exact_divergence_and_is_tight_at_whole_orders() {
    for s in [0.3, 0.5, 1.0, 4.0] {
        let release = make_gaussian(atoms::<i64, i64>(), scale(s), None).unwrap();
        for (d, order) in [(1, 1.01), (1, 1.5), (1, 2.0), (2, 1.5), (2, 3.0), (5, 2.5)] {
            let rho = release.map(&d).unwrap();
            let weight = |r: f64, x: f64| -(r - x).powi(2) / (2.0 * s * s);
            let reach = (60.0 * s) as i64 + 40;
            let sum = |f: &dyn Fn(f64) -> f64| (-reach..=reach).map(|r| f(r as f64)).sum::<f64>();
            let all = sum(&|r| weight(r, 0.0).exp());
            let y = d as f64;
            let mixed = |r: f64| order * weight(r, 0.0) + (1.0 - order) * weight(r, y);
            let divergence = (sum(&|r| mixed(r).exp()) / all).ln() / (order - 1.0);
            assert!(divergence <= rho * order + 1e-9, "{s} {d} {order}: {divergence}");
            assert!(order.fract() != 0.0 || rho * order - 1e-9 <= divergence, "{s} {d} {order}");
        }
    }
}
#[test]
fn releases_have_the_spread_that_the_map_assumes() {
    let draws = 200_000;
    let spread = |released: &[f64]| {
        let n = released.len() as f64;
        let mean = released.iter().sum::<f64>() / n;
        (mean, released.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
    };
    let integers = make_gaussian(vectors::<i32, L2Distance<i32>>(), scale(3.0), None).unwrap();
    let floats = make_gaussian(vectors::<f64, L2Distance<f64>>(), scale(3.0), Some(-8)).unwrap();
    let released = integers.invoke(&vec![7; draws]).unwrap();
    let released: Vec<f64> = released.into_iter().map(f64::from).collect();
    for released in [released, floats.invoke(&vec![7.0; draws]).unwrap()] {
        let (mean, variance) = spread(&released);
        // The limits are eight standard deviations, so each limit is exceeded with a probability of
        // about 1e-15.
        assert!((mean - 7.0).abs() < 8.0 * 3.0 / (draws as f64).sqrt(), "{mean}");
        assert!((variance - 9.0).abs() < 8.0 * 9.0 * (2.0 / draws as f64).sqrt(), "{variance}");
    }
}

/// Compute the total epsilon of `count` releases, each at distance `d_in`, at a delta of 1e-6.
fn epsilon_of<D, M>(input: Space<D, M>, noise: f64, count: usize, d_in: M::Distance) -> f64
where
    D: Numbers,
    D::Number: NoiseNumber<Gaussian>,
    M: MetricOn<D> + NoiseLoss<Gaussian, SmoothedMaxDivergence>,
{
    let single: Measurement<D, M, SmoothedMaxDivergence, _> =
        make_gaussian_in(input, scale(noise), None).unwrap();
    let all = make_composition(vec![single; count]).unwrap();
    all.map(&d_in).unwrap().epsilon(1e-6).unwrap()
}
/// For the first composition, the test expects an epsilon of about 14.45. The sum of the losses
/// `rho` alone would give an epsilon of 15.33.
#[test]
fn histograms_of_integers_compose_as_tightly_as_those_of_floats() {
    let total_epsilon =
        |noise, count, d_in| epsilon_of(vectors::<i64, L2Distance<f64>>(), noise, count, d_in);
    let continuous = |noise: f64, count: f64, d_in: f64| {
        epsilon_of(vectors::<f64, L2Distance<f64>>(), noise, 1, d_in * count.sqrt())
    };
    let found = total_epsilon(4.0, 100, 1.0);
    assert!((14.45..14.46).contains(&found), "{found}");
    for (noise, count, d_in) in [(4.0, 100, 2f64.sqrt()), (40.0, 10_000, 1.0), (500.0, 10_000, 7.0)]
    {
        let (found, real) =
            (total_epsilon(noise, count, d_in), continuous(noise, count as f64, d_in));
        assert!(found < real * 1.001 && real * 0.9999 < found, "{noise}: {found} {real}");
    }
}
#[test]
fn integers_of_very_large_scales_compose_as_tightly_as_floats() {
    for (noise, count, d_in) in [(1e5, 10_000, 1.0), (1e5, 1, 1e5), (1e9, 3, 1e9)] {
        let found = epsilon_of(atoms::<i64, f64>(), noise, count, d_in);
        let real = epsilon_of(atoms::<f64, f64>(), noise, 1, d_in * (count as f64).sqrt());
        assert!(real * 0.999_99 < found && found < real * 1.001, "{noise}: {found} {real}");
    }
}
#[test]
fn integers_of_any_distance_and_scale_have_a_profile() {
    for d_in in [1.0, 1.5, 2.0, 9.0, 1e3, 1e9, 1e160, 1e300] {
        for noise in [1e-3, 0.5, 1.0, 3.0, 19.0, 60.0, 99.9, 1e4, 1e10, 1e160] {
            let single: Measurement<_, _, SmoothedMaxDivergence, _> =
                make_gaussian_in(vectors::<i64, L2Distance<f64>>(), scale(noise), None).unwrap();
            let Ok(profile) = single.map(&d_in) else {
                // The map fails here because the square of the quotient `d_in / noise` exceeds all
                // floats.
                assert!(1e150 < d_in / noise);
                continue;
            };
            let (delta, epsilon) = (profile.delta(1.0).unwrap(), profile.epsilon(1e-6).unwrap());
            assert!((0.0..=1.0).contains(&delta), "{d_in} {noise}: {delta}");
            assert!(0.0 < epsilon || d_in / noise < 1e-5, "{d_in} {noise}: {epsilon}");
        }
    }
}
#[test]
fn floats_at_a_distance_below_one_lose_something() {
    let told = make_gaussian_in::<_, _, opendp_core::SmoothedMaxDivergence>(
        atoms::<f64, f64>(),
        scale(1.0),
        None,
    );
    assert!(0.19 < told.unwrap().map(&0.5).unwrap().delta(0.0).unwrap());
}
