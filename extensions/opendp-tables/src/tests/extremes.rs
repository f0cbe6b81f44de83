//! Test numbers at the ends of their types: the smallest integer of 64 bits, and sums beyond 64
//! bits.

use opendp_core::IBig;

use super::sensitivity::{Person, exact};
use super::*;
use crate::check::Output;
use crate::engine::DataFusion;

/// The largest magnitude of bounds of integers.
const MOST: i64 = 1 << 53;

fn row(age: i64) -> Person {
    let (sex, town) = (Some("f"), Some("a"));
    Person { pid: Some(age), sex, town, age: Some(age), income: Some(1.0), employed: Some(true) }
}
fn wide(unit: PrivacyUnit) -> Table {
    let age = Column::new(Type::Integer).bounds(-MOST as f64, MOST as f64);
    described(unit).with("age", age)
}
/// Run the exact plan of a query with one aggregate, and return its first sum, multiplied by its
/// step. The module `direct` and the portable SQL statements both run the plan, and their results
/// must be the same.
fn sum(sql: &str, rows: &[Person]) -> f64 {
    let table = wide(PrivacyUnit::rows(1));
    let idle = Box::new(DataFusion::new().unwrap());
    let session = Session::with_engine(metadata(table.clone()), idle).unwrap();
    let checked = session.checked(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Output::Sum { sum, step } = checked.outputs[0] else { panic!("{sql}") };
    let exact = exact(&checked.plan, &table, rows, false);
    let total = exact.sums.values().fold(IBig::ZERO, |all, sums| all + sums[sum].clone());
    total.to_string().parse::<f64>().unwrap() * step
}
/// `-x` and `abs(x)` are computed with floats, so they do not wrap around.
#[test]
fn the_smallest_integer_has_a_negative_and_a_magnitude() {
    let rows = [i64::MIN, i64::MAX, i64::MIN + 1, -7].map(row);
    let count =
        |condition: &str| sum(&format!("SELECT COUNT(*) FROM people WHERE {condition}"), &rows);
    assert_eq!(count("-age > 9e18"), 2.0);
    assert_eq!(count("-(-age) < -9e18"), 2.0);
    assert_eq!(count("abs(age) > 9e18"), 3.0);
    assert_eq!(count("abs(-age) < 0"), 0.0);
    assert_eq!(count("age - 1 < -9e18"), 2.0);
    assert_eq!(count("age * -1 > 9e18"), 2.0);
    assert_eq!(count("age = -9223372036854775808"), 1.0);
    assert_eq!(count("age <= -9223372036854775808"), 1.0);
    assert_eq!(count("-age = -(-9223372036854775808)"), 2.0);
    assert_eq!(count("nullif(age, -9223372036854775808) IS NULL"), 1.0);
    let largest = MOST as f64;
    for (value, expected) in [
        ("SUM(age)", -largest + largest - largest - 7.0),
        (
            "SUM(clamp(-age, -9007199254740992, 9007199254740992))",
            largest - largest + largest + 7.0,
        ),
        ("SUM(clamp(abs(age), 0, 9007199254740992))", 3.0 * largest + 7.0),
        ("SUM(clamp(-abs(age), -1e19, 0))", -3.0 * 2f64.powi(63)),
    ] {
        let found = sum(&format!("SELECT {value} FROM people"), &rows);
        assert!((found - expected).abs() <= 1e-11 * expected.abs(), "{value}: {found} {expected}");
    }
}
#[test]
fn integers_are_summed_without_rounding_whatever_their_bounds_are() {
    let rows = [3, -(1 << 53) + 1].map(row);
    assert_eq!(sum("SELECT SUM(age) FROM people", &rows[..1]), 3.0);
    assert_eq!(sum("SELECT SUM(age) FROM people", &rows[1..]), 1.0 - MOST as f64);
    let odd = "SELECT SUM(clamp(age, -9007199254740991, 9007199254740991)) FROM people";
    assert_eq!(sum(odd, &rows[1..]), 1.0 - MOST as f64);
}
#[test]
fn sums_beyond_64_bits_are_exact() {
    let rows = vec![row(i64::MAX); 1500];
    assert!(u128::from(MOST.unsigned_abs()) * 1500 > 1 << 63);
    let expected = MOST as f64 * 1500.0;
    assert_eq!(sum("SELECT SUM(age) FROM people", &rows), expected);
    assert_eq!(sum("SELECT SUM(clamp(-age, -9007199254740992, 0)) FROM people", &rows), -expected);
    let rows = vec![row(i64::MIN); 1500];
    assert_eq!(sum("SELECT SUM(age) FROM people", &rows), -expected);
}
/// If a released sum does not fit into 64 bits, the answer has the nearest integer that fits. A
/// later step fails if the result of this step does not fit.
#[test]
fn steps_after_the_release_do_not_wrap_around() {
    for (value, steps) in
        [(i64::MIN, ["-SUM(age)", "-(-SUM(age))"]), (i64::MAX, ["SUM(age) + 1"; 2])]
    {
        let source = Source::Batches(vec![super::sensitivity::batch(&vec![row(value); 1500])]);
        let known = metadata(wide(PrivacyUnit::rows(1)));
        let session = Session::new(known, vec![("people".into(), source)]).unwrap();
        let whole = |answer: &Answer| answer.table.column(0).as_primitive::<Int64Type>().value(0);
        let answer = ask(&session, "SELECT SUM(age) FROM people");
        assert_eq!(whole(&answer), value);
        let released = answer.values.column_by_name("value").unwrap();
        let released = released.as_primitive::<Float64Type>().value(0);
        assert!((released.abs() / (1500.0 * MOST as f64) - 1.0).abs() < 1e-6, "{released}");
        for step in steps {
            let answer = ask(&session, &format!("SELECT {step} AS s FROM people"));
            let warning = answer.document["warning"].as_str().unwrap_or_default();
            assert!(warning.contains("is out of range Int64"), "{step}: {warning}");
        }
        // The control: a result that fits is correct.
        let near = ask(&session, "SELECT -(SUM(age) / 2) AS s FROM people");
        assert_eq!(whole(&near), -(value / 2));
    }
}
