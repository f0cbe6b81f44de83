//! Test bounds: those of expressions, and values beyond the bounds.

use super::*;

/// Bounds of expressions follow from bounds of columns and from literals. The eight rows have the
/// ages 10, 20, 200, null, 40, 50, 60 and -5. The values of the expressions are moved into the
/// bounds.
#[test]
fn bounds_of_expressions_follow_from_bounds_of_columns() {
    let session = session(PrivacyUnit::rows(1));
    let cases = [
        ("SUM(CASE WHEN sex = 'f' THEN 1 ELSE 0 END)", 4.0, 1.0),
        ("SUM(CASE WHEN sex = 'f' THEN 1 END)", 4.0, 1.0),
        ("SUM(CASE WHEN sex = 'f' THEN -2.5 END)", -10.0, 2.5),
        ("SUM(CASE WHEN sex = 'f' THEN age ELSE 150 END)", 120.0 + 4.0 * 150.0, 150.0),
        ("SUM(coalesce(age, 100))", 380.0, 100.0),
        ("SUM(nullif(age, 40))", 240.0, 100.0),
        ("SUM(-age)", -280.0, 100.0),
        ("SUM(100 - age)", 420.0, 100.0),
        ("SUM(age * 2 + 1)", 567.0, 201.0),
        ("SUM(abs(age - 40) / 10.0)", 18.5, 6.0),
        ("SUM(floor(age / 3.0))", 91.0, 33.0),
    ];
    for (call, expected, largest) in cases {
        let sql = format!("SELECT {call} FROM people");
        let found = numbers(&ask(&session, &sql).table)[0][0];
        let question = session.query(&sql).unwrap().spending(Budget::epsilon(1.0).unwrap());
        let release = question.explain().unwrap().releases[0].clone();
        let change = release.sensitivity.unwrap() * release.step;
        assert!((change - largest).abs() < 1e-6, "{call}: {change}");
        assert!((found - expected).abs() < 1e-3, "{call}: {found}");
    }
}
/// Values beyond the bounds are moved into the bounds, as for a sum or a mean.
#[test]
fn a_quantile_of_values_beyond_the_candidates_is_the_nearest_candidate() {
    for (bounds, nearest) in [((500.0, 600.0), 500.0), ((-900.0, -800.0), -800.0)] {
        let age = Column::new(Type::Integer).bounds(bounds.0, bounds.1);
        let table = described(PrivacyUnit::rows(1)).with("age", age);
        let source = Source::Batches(vec![people()]);
        let session = Session::new(metadata(table), vec![("people".into(), source)]).unwrap();
        let sql = "SELECT MEDIAN(age), MIN(age), quantile(age, 0.9), AVG(age) FROM people";
        assert_eq!(numbers(&ask(&session, sql).table), [[nearest; 4]]);
    }
}
