use super::*;

#[test]
fn shows_the_type_and_never_the_content() {
    assert_eq!(format!("{:?}", AnyValue::new(vec![41, 42])), "AnyValue(Vec<i32>)");
}
#[test]
fn comes_back_with_its_type_only() {
    let value = AnyValue::new(vec![1.5]);
    assert_eq!(value.downcast_ref::<Vec<f64>>().unwrap(), &[1.5]);
    assert_eq!(value.clone().downcast::<Vec<f64>>().unwrap(), [1.5]);
    let error = value.downcast::<Vec<i32>>().unwrap_err();
    assert_eq!(error.to_string(), "expected a value of type Vec<i32>, found one of type Vec<f64>");
}
#[test]
fn changes_in_place_with_its_type_only() {
    let mut value = AnyValue::new(vec![1.5]);
    let shared = value.clone();
    value.downcast_mut::<Vec<f64>>().unwrap().push(2.5);
    assert_eq!(value.downcast_ref::<Vec<f64>>().unwrap(), &[1.5, 2.5]);
    assert_eq!(shared.downcast_ref::<Vec<f64>>().unwrap(), &[1.5]);
    assert_eq!(value.downcast_mut::<Vec<i32>>().unwrap_err().kind(), "FailedCast");
    assert!(AnyValue::buffer().downcast_mut::<Vec<i32>>().is_err());
}
#[test]
fn erasing_twice_is_erasing_once() {
    let value = AnyValue::new(AnyValue::new(1_u8));
    assert_eq!(value.inner_type().to_string(), "u8");
    assert_eq!(value.downcast_ref::<AnyValue>().unwrap().downcast_ref::<u8>().unwrap(), &1);
    assert_eq!(value.downcast::<AnyValue>().unwrap().downcast::<u8>().unwrap(), 1);
}
#[test]
fn a_pair_comes_apart_whatever_its_types() {
    let (left, right) = AnyValue::new((0.5, 7_u8)).pair().unwrap();
    assert_eq!(left.downcast::<f64>().unwrap(), 0.5);
    assert_eq!(right.downcast::<u8>().unwrap(), 7);
    let nested = AnyValue::new((1, (2, 3))).pair().unwrap().1;
    assert_eq!(nested.pair().unwrap().0.downcast::<i32>().unwrap(), 2);
    assert!(AnyValue::new(vec![1, 2]).pair().is_none() && AnyValue::buffer().pair().is_none());
}
#[test]
fn a_shared_buffer_is_copied_before_it_changes() {
    let mut value = AnyValue::new(vec![1, 2]);
    let shared = value.clone();
    value.reset();
    assert_eq!(shared.downcast_ref::<Vec<i32>>().unwrap(), &[1, 2]);
    value.append_rows(shared.chunk().narrow(1..2));
    assert_eq!(value.downcast_ref::<Vec<i32>>().unwrap(), &[2]);
}
#[test]
fn a_buffer_takes_the_type_and_only_the_rows_of_a_chunk() {
    let value = AnyValue::new(vec![1, 2, 3]);
    let mut buffer = AnyValue::buffer();
    buffer.append_rows(value.chunk().narrow(1..2));
    assert_eq!(buffer.downcast_ref::<Vec<i32>>().unwrap(), &[2]);
}
