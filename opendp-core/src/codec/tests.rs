//! Tests of values as JSON.

use serde_json::json;

use super::*;

#[track_caller]
fn check<T: Codec + PartialEq + std::fmt::Debug>(value: T, text: &str) {
    assert_eq!(value.to_json().to_string(), text);
    assert_eq!(T::from_json(&serde_json::from_str(text).unwrap()).unwrap(), value);
}
#[track_caller]
fn refuse<T: Codec + std::fmt::Debug>(text: &str) {
    let error = T::from_json(&serde_json::from_str(text).unwrap()).unwrap_err();
    assert_eq!(error.kind(), "FailedCast", "{text}: {error}");
    assert!(!error.to_string().contains(text), "{error} shows the value");
}

#[test]
fn keeps_every_number_exact() {
    check(i64::MIN, "-9223372036854775808");
    check(u64::MAX, "18446744073709551615");
    check(i128::MAX, "170141183460469231731687303715884105727");
    check(0.1_f64, "0.1");
    check(1.0_f64, "1.0");
    check(5e-324_f64, "5e-324");
    check(f64::MAX, "1.7976931348623157e+308");
    check(0.1_f32, "0.1");
    check(f64::NEG_INFINITY, "\"-Infinity\"");
    assert!(f64::from_json(&json!("NaN")).unwrap().is_nan());
    assert_eq!(i32::from_json(&json!(3.0)).unwrap(), 3);
    assert_eq!(u32::from_json(&serde_json::from_str("1e3").unwrap()).unwrap(), 1000);
}
#[test]
fn refuses_numbers_that_do_not_fit() {
    refuse::<i8>("129");
    refuse::<u32>("-1");
    refuse::<i64>("9223372036854775809");
    refuse::<i32>("1.5");
    refuse::<i64>("9007199254740994.0");
    refuse::<i64>("1e400");
    refuse::<i32>("\"12\"");
    refuse::<f64>("9223372036854775808");
    refuse::<f64>("-9007199254740993");
    refuse::<f32>("16777217");
    refuse::<f64>("1e309");
    refuse::<f64>("1e-400");
    refuse::<f64>("true");
    refuse::<f64>("\"12\"");
    assert_eq!(f64::from_json(&serde_json::from_str("0e5").unwrap()).unwrap(), 0.0);
}
#[test]
fn the_range_of_a_type_is_stated_and_quotes_are_mentioned() {
    fn says<T: Codec + std::fmt::Debug>(text: &str, part: &str) {
        let error = T::from_json(&serde_json::from_str(text).unwrap()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    says::<u32>("1099511627776", "from 0 to 4294967295");
    says::<i8>("1e3", "from -128 to 127");
    says::<f32>("1e39", "at most 3.4e38");
    says::<f64>("1e-400", "0 or at least 4.94e-324 in size");
    says::<u8>("\"7\"", "found a string; write numbers without quotes");
    says::<f64>("\"7\"", "found a string; write numbers without quotes");
    assert!(!f64::from_json(&json!([])).unwrap_err().to_string().contains("quotes"));
}
#[test]
fn only_the_digits_decide_whether_a_number_is_an_integer() {
    // These numbers are not integers, so they are refused. The `f64` nearest to each number is an
    // integer, but `from_json` reads the digits and not this `f64`.
    refuse::<u32>("1e-400");
    refuse::<i64>("1.00000000000000000000000001");
    refuse::<usize>("-1e-400");
    let beyond = u64::from_json(&serde_json::from_str("9007199254740994.0").unwrap());
    assert!(beyond.unwrap_err().to_string().contains("beyond 2^53"));
}
#[test]
fn writes_equal_maps_alike() {
    let forward: HashMap<i32, i32> = (0..20).map(|k| (k, -k)).collect();
    let backward: HashMap<i32, i32> = (0..20).rev().map(|k| (k, -k)).collect();
    assert_eq!(forward.to_json().to_string(), backward.to_json().to_string());
}
#[test]
fn maps_with_a_private_word_of_the_library_can_be_read_again() {
    let word = "$serde_json::private::Number".to_owned();
    let counts = HashMap::from([(word.clone(), 3)]);
    let nested = vec![counts.clone(), HashMap::from([("a".to_owned(), 1), (word.clone(), 2)])];
    let text = nested.to_json().to_string();
    assert_eq!(Vec::from_json(&serde_json::from_str(&text).unwrap()), Ok(nested));
    // `serde_json` cannot read this map if it is written as an object. So `to_json` writes an
    // array.
    let object = json!([{word: 3}]).to_string();
    assert!(serde_json::from_str::<serde_json::Value>(&object).is_err());
    assert!(counts.to_json().is_array());
}
#[test]
fn reads_containers() {
    check(vec![Some(1), None], "[1,null]");
    check((1_u32, 0.5), "[1,0.5]");
    check(HashMap::from([("a".to_owned(), 1)]), "{\"a\":1}");
    check(HashMap::from([(7, 1)]), "[[7,1]]");
    assert_eq!(<(i32, i32)>::from_json(&json!({"__tuple__": [1, 2]})).unwrap(), (1, 2));
    refuse::<(i32, i32)>("[1,2,3]");
    refuse::<HashMap<i32, i32>>("[[1,2],[1,3]]");
    refuse::<Vec<i32>>("{}");
}
