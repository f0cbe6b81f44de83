use opendp_core::{IBig, L1Distance};

use super::*;
use crate::noise::tests::{atoms, scale, vectors};

#[test]
fn maps_the_distance_to_its_quotient() {
    let loss_at =
        |s, d_in: f64| make_laplace(atoms::<f64, f64>(), scale(s), None).unwrap().map(&d_in);
    assert_eq!([0.0, 1.0, 2.5].map(|d| loss_at(1.0, d).unwrap()), [0.0, 1.0, 2.5]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(loss_at(1.0, wrong).unwrap_err().kind(), "FailedMap");
        assert_eq!(loss_at(0.0, wrong).unwrap_err().kind(), "FailedMap");
    }
    assert!(
        loss_at(1.0, f64::INFINITY).unwrap_err().to_string().contains("expected a finite distance")
    );
    assert_eq!(loss_at(3.0, 1.0).unwrap(), 0.333_333_333_333_333_37);
    assert_eq!((loss_at(0.0, 0.0).unwrap(), loss_at(0.0, 1.0).unwrap()), (0.0, f64::INFINITY));
    assert_eq!(loss_at(5e-324, 1.0).unwrap_err().kind(), "Overflow");
    // For integers, the map gives the same quotient as for floats.
    let integers = make_laplace(atoms::<i32, i32>(), scale(2.0), None).unwrap();
    assert_eq!([1, 3].map(|d| integers.map(&d).unwrap()), [0.5, 1.5]);
    let integers = make_laplace(atoms::<i32, f64>(), scale(2.0), Some(0)).unwrap();
    assert_eq!(integers.map(&1.5).unwrap(), 0.75);
    let long = make_laplace(atoms::<IBig, f64>(), scale(3.0), None).unwrap();
    assert_eq!([6.0, 3e300].map(|d| long.map(&d).unwrap()), [2.0, 3e300 / 3.0]);
    let wide = make_laplace(vectors::<i128, L1Distance<i128>>(), scale(3.0), None).unwrap();
    assert_eq!(
        wide.map(&i128::MAX).unwrap(),
        56_713_727_820_156_410_577_229_101_238_628_035_243.0_f64.next_up()
    );
}
#[test]
fn floats_at_a_distance_below_one_lose_something() {
    let told = make_laplace_in::<_, _, opendp_core::SmoothedMaxDivergence>(
        atoms::<f64, f64>(),
        scale(1.0),
        None,
    );
    let delta = told.unwrap().map(&0.5).unwrap().delta(0.0).unwrap();
    assert!(-(-0.25_f64).exp_m1() <= delta, "{delta}");
}
