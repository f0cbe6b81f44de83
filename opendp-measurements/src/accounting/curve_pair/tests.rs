//! Check that the measure of a hull is above the given profile, also after rounding.

use opendp_core::arith::DirectedFloat;

use super::super::{Account, profile_of};
use super::*;

/// Return the points of the hull of a curve, as `Hull::of` computes them, but without a search for
/// the lower hull. A measure that is above all these points is also above their lower hull.
fn points(reach: f64, curve: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let place = |i: u32| reach * (f64::from(i) / f64::from(PLACES));
    (0..=PLACES).map(|i| (place(i), curve(place(i)))).collect()
}
/// Return a lower bound on the profile of a measure at a loss of any sign. The functions of
/// `DirectedFloat` err by at most one unit in the last place, and all terms are positive.
fn profile(hull: &Hull, loss: f64) -> f64 {
    let above = hull.atoms.iter().filter(|atom| loss < atom.0);
    let terms: Vec<f64> = above.map(|(x, p, _)| -p * (loss - x).inf_exp_m1().unwrap()).collect();
    super::super::elementary::sum(&terms) * (1.0 - 64.0 * U) + hull.infinite
}
/// Check that a measure is above a curve in both directions, at 0, and where everything is lost.
#[track_caller]
fn is_above(hull: &Hull, points: &[(f64, f64)]) {
    for (x, delta) in points {
        let found = profile(hull, *x);
        assert!(*delta <= found, "{x}: {found:e} is below {delta:e}");
        let opposite = -(-x).inf_exp_m1().unwrap() + (-x).neg_inf_exp().unwrap() * delta;
        let found = profile(hull, -x);
        assert!(opposite * (1.0 - 4.0 * U) <= found, "{x}: {found} is below {opposite}");
    }
    assert!(1.0 <= profile(hull, -1e9));
}
/// Return delta of a randomized response with the given loss.
fn response(loss: f64, x: f64) -> f64 {
    (-(x - loss).exp_m1()).max(0.0) / (1.0 + (-loss).exp())
}
/// Profiles of mechanisms: with a corner, with many corners, constant, and with values that floats
/// can hardly hold. Profiles are convex, so the lower hull contains all their points.
fn curves() -> Vec<(f64, fn(f64) -> f64)> {
    let laplace = |x: f64| if x < 1.0 { -((x - 1.0) / 2.0).exp_m1() } else { 0.0 };
    vec![
        (1.0, laplace),
        (100.0, laplace),
        (1e-6, |x| response(1e-6, x)),
        (1e-6, |x| response(5e-7, x)),
        (1e-6, |x| 1e-9 * response(2e-7, x) + 0.5 * response(7e-7, x)),
        (1e-6, |_| 0.3),
        (3.0, |x| response(3.0, x)),
        (100.0, |x| 0.5 * response(0.2, x) + 0.4 * response(30.0, x) + 0.1 * response(99.0, x)),
        (100.0, |x| 1e-30 * response(90.0, x) + 1e-300),
        (100.0, |x| 1e-12 + (1.0 - 1e-12) * response(40.0, x)),
        (100.0, |_| 5e-324),
        (100.0, |_| 0.0),
        (50.0, |_| 1.0 - f64::EPSILON),
        (50.0, |_| 1.0),
    ]
}

#[test]
fn the_measure_is_above_the_curve_after_rounding() {
    for (reach, curve) in curves() {
        is_above(&Hull::of(reach, &curve), &points(reach, &curve));
    }
}
#[test]
fn masses_that_are_too_small_are_enlarged() {
    let (reach, curve) = (1.0, |x: f64| if x < 1.0 { -((x - 1.0) / 2.0).exp_m1() } else { 0.0 });
    let points = points(reach, &curve);
    let hull: Vec<_> = std::iter::once((f64::NEG_INFINITY, 0.0, 1.0))
        .chain(points[1..].iter().rev().map(|(x, d)| (-x, exp(-x), 1.0 - exp(-x) * (1.0 - d))))
        .chain(points.iter().map(|(x, d)| (*x, exp(*x), *d)))
        .map(|(x, ratio, value)| (x, ratio, (value * (1.0 + 64.0 * U)).min(1.0)))
        .collect();
    let right = Hull::below(&hull);
    is_above(&right, &points);
    assert!(right.infinite < 1e-240, "{:e}", right.infinite);
    // The masses are made smaller: by a little, by much, and to 0. The small error is corrected by
    // a factor, the others by a mass at infinity.
    for (share, bound) in [(1.0 - 1e-10, 1e-240), (1.0 - 1e-5, 1e-4), (0.0, 1.0 + 1e-12)] {
        let small: Vec<_> = right.atoms.iter().map(|(x, p, _)| (*x, p * share)).collect();
        let wrong: Vec<_> = small.iter().map(|(x, p)| (*x, *p, 0.0)).collect();
        // The control: the smaller masses alone are below the curve.
        assert!(profile(&Hull { atoms: wrong, infinite: 0.0 }, 0.0) < points[0].1);
        let found = Hull::covering(&hull, &small);
        is_above(&found, &points);
        assert!(found.infinite <= bound, "{share}: {:e}", found.infinite);
    }
}
#[test]
fn rounding_adds_no_mass_at_infinity_that_matters() {
    // The curve of Laplace noise is linear between the 257 epsilons, up to 1e-6.
    let laplace = |x: f64| if x < 0.1 { -((x - 0.1) / 2.0).exp_m1() } else { 0.0 };
    let pair = Arc::new(CurvePair::new(0.1, laplace));
    let account = Account::new().with(pair, 100);
    for delta in [1e-15, 1e-18, 1e-30] {
        let found = account.epsilon_above(delta).unwrap();
        assert!(found < 10.0, "{delta:e}: {found}");
    }
}
#[test]
fn a_curve_without_a_value_reveals_everything() {
    for pair in [CurvePair::new(1.0, |_| f64::NAN), CurvePair::new(f64::NAN, |_| 1.0)] {
        assert_eq!(profile_of(pair).delta(0.5).unwrap_or(1.0), 1.0);
    }
    let late = CurvePair::new(1.0, |x| if x < 0.5 { 0.1 } else { f64::NAN });
    assert_eq!(profile_of(late).delta(0.9).unwrap_or(1.0), 1.0);
}
