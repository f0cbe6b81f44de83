use super::*;
use opendp_core::{DatasetMetric, DistanceOn, StabilityMap, laws};

type Sum<T, M> = Transformation<Records<T>, M, AtomDomain<T>, AbsoluteDistance<T>>;

#[track_caller]
fn check<M: DatasetMetric + Default + DistanceOn<Records<i8>>>(
    bounds: (i8, i8),
    make: impl Fn(Bounds<i8>) -> Result<Sum<i8, M>>,
) {
    let sum = make(Bounds::new(bounds.0, bounds.1).unwrap()).unwrap();
    let alphabet = [bounds.0, 0, 1, bounds.1];
    assert!(laws::all(&sum, &alphabet, 3).unwrap() > 0);
    let map = StabilityMap::new(|d: &u32| Ok(i8::from(*d > 1)));
    let (output, function) = (sum.output().clone(), sum.function().clone());
    let wrong = Transformation::new(sum.input().clone(), output, function, map);
    assert!(laws::stable(&wrong, &laws::vectors(&alphabet, 3)).is_err());
}
#[track_caller]
fn check_floats<M: DatasetMetric + Default + DistanceOn<Records<f64>>>(
    make: impl Fn(Bounds<f64>) -> Result<Sum<f64, M>>,
) {
    let sum = make(Bounds::new(-1.0, 0.1).unwrap()).unwrap();
    assert!(laws::all(&sum, &[-1.0, -0.0, 5e-324, 0.1], 3).unwrap() > 0);
    let map = StabilityMap::new(|d: &u32| Ok(f64::from(d / 2) * 0.9));
    let (output, function) = (sum.output().clone(), sum.function().clone());
    let wrong = Transformation::new(sum.input().clone(), output, function, map);
    assert!(laws::stable(&wrong, &laws::vectors(&[-1.0, 0.1], 3)).is_err());
}

#[test]
fn split_sums_obey_the_laws_of_either_sign() {
    for bounds in [(-127, 127), (-20, 127), (0, 127)] {
        check(bounds, make_bounded_int_split_sum);
        check(bounds, |bounds| make_sized_bounded_int_split_sum(3, bounds));
    }
}
#[test]
fn monotonic_sums_obey_the_laws_of_either_sign() {
    for bounds in [(0, 127), (-127, 0)] {
        check(bounds, make_bounded_int_monotonic_sum);
        check(bounds, |bounds| make_sized_bounded_int_monotonic_sum(3, bounds));
    }
}
#[test]
fn ordered_sums_obey_the_laws() {
    for bounds in [(-127, 127), (0, 127)] {
        check(bounds, make_bounded_int_ordered_sum);
        check(bounds, |bounds| make_sized_bounded_int_ordered_sum(3, bounds));
    }
    check_floats(|bounds| make_bounded_float_ordered_sum::<Pairwise<f64>>(2, bounds));
    check_floats(|bounds| make_sized_bounded_float_ordered_sum::<Sequential<f64>>(3, bounds));
}
#[test]
fn checked_sums_obey_the_laws() {
    for bounds in [(-42, 42), (0, 42)] {
        check(bounds, |bounds| make_sized_bounded_int_checked_sum(3, bounds));
    }
    check_floats(|bounds| make_bounded_float_checked_sum::<Pairwise<f64>>(9, bounds));
    check_floats(|bounds| make_sized_bounded_float_checked_sum::<Sequential<f64>>(3, bounds));
}
#[test]
fn each_name_adds_up_and_has_the_map_of_its_size() {
    #[track_caller]
    fn sums<T: Summand<Total = T> + Distance, M: DatasetMetric>(
        made: Result<Sum<T, M>>,
        rows: [T; 3],
        expected: (T, T),
    ) {
        let sum = made.unwrap();
        assert_eq!((sum.invoke(&rows.to_vec()).unwrap(), sum.map(&2).unwrap()), expected);
    }
    let (wide, positive) = (Bounds::new(-10, 10).unwrap(), Bounds::new(1, 10).unwrap());
    sums(make_bounded_int_split_sum(wide), [-10, -10, 7], (-13, 20));
    sums(make_sized_bounded_int_split_sum(3, wide), [-10, -10, 7], (-13, 20));
    sums(make_bounded_int_ordered_sum(wide), [-10, -10, 7], (-13, 20));
    sums(make_sized_bounded_int_ordered_sum(3, wide), [-10, -10, 7], (-13, 20));
    sums(make_bounded_int_monotonic_sum(positive), [1, 2, 3], (6, 20));
    sums(make_sized_bounded_int_monotonic_sum(3, positive), [1, 2, 3], (6, 9));
    sums(make_sized_bounded_int_checked_sum(3, positive), [1, 2, 3], (6, 9));
    let (bounds, rows) = (Bounds::new(0.0, 10.0).unwrap(), [1.0, 2.0, 3.5]);
    sums(make_bounded_float_checked_sum::<Pairwise<f64>>(3, bounds), rows, (6.5, 20.0));
    sums(make_sized_bounded_float_checked_sum::<Pairwise<f64>>(3, bounds), rows, (6.5, 10.0));
    sums(make_bounded_float_ordered_sum::<Pairwise<f64>>(3, bounds), rows, (6.5, 20.0));
    sums(make_sized_bounded_float_ordered_sum::<Pairwise<f64>>(3, bounds), rows, (6.5, 10.0));
}
#[test]
fn split_sums_saturate_the_exact_sum_once() {
    let sum = make_bounded_int_split_sum(Bounds::new(i8::MIN, i8::MAX).unwrap()).unwrap();
    assert_eq!(sum.invoke(&vec![-128, 127, 127]), Ok(126));
    assert_eq!(sum.invoke(&vec![-128, -1, 1]), Ok(-128));
}
#[test]
fn monotonic_sums_saturate_and_refuse_two_signs() {
    let sum = make_bounded_int_monotonic_sum(Bounds::new(0, i32::MAX).unwrap()).unwrap();
    assert_eq!(sum.invoke(&vec![i32::MAX, 5]), Ok(i32::MAX));
    let mixed = Bounds::new(-1, 1).unwrap();
    let error = make_bounded_int_monotonic_sum(mixed).unwrap_err();
    assert_eq!(error.kind(), "MakeTransformation");
    assert!(make_sized_bounded_int_monotonic_sum(3, mixed).is_err());
}
#[test]
fn in_ordered_sums_no_order_matters_and_no_record_is_left_out() {
    let bounds = Bounds::new(i8::MIN, i8::MAX).unwrap();
    let sum = make_bounded_int_ordered_sum(bounds).unwrap();
    assert_eq!(sum.invoke(&vec![127, 127, -128]), Ok(126));
    let bounds = Bounds::new(0.0_f32, 10.0).unwrap();
    let sum = make_bounded_float_ordered_sum::<Pairwise<f32>>(2, bounds).unwrap();
    assert_eq!(sum.invoke(&vec![1.0, 2.0, 3.0]), Ok(6.0));
}
#[test]
fn promises_less_than_sums_of_rounded_floats_do() {
    let bounds = Bounds::new(-5.0, 10.0).unwrap();
    let sum = make_bounded_float_checked_sum::<Pairwise<f64>>(1 << 20, bounds).unwrap();
    assert_eq!(sum.map(&1), Ok(10.0));
    let sum = make_sized_bounded_float_checked_sum::<Sequential<f64>>(10, bounds).unwrap();
    assert_eq!([0, 1, 2, 3].map(|d| sum.map(&d).unwrap()), [0.0, 0.0, 15.0, 15.0]);
}
#[test]
fn refuses_sums_that_may_overflow() {
    let gist = |error: Error| {
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains("potential for overflow"), "{error}");
    };
    let bytes = |size| make_sized_bounded_int_checked_sum(size, Bounds::new(-64_i8, 1).unwrap());
    assert!(bytes(2).is_ok());
    gist(bytes(3).unwrap_err());
    gist(bytes(usize::MAX).unwrap_err());
    let wide = Bounds::new(0, i128::MAX).unwrap();
    gist(make_sized_bounded_int_checked_sum(2, wide).unwrap_err());
    let huge = Bounds::new(-1e308, 0.0).unwrap();
    gist(make_bounded_float_checked_sum::<Pairwise<f64>>(2, huge).unwrap_err());
    gist(make_bounded_float_ordered_sum::<Pairwise<f64>>(2, huge).unwrap_err());
    gist(make_sized_bounded_float_checked_sum::<Pairwise<f64>>(2, huge).unwrap_err());
    assert!(make_bounded_float_checked_sum::<Pairwise<f64>>(1, huge).is_ok());
}
