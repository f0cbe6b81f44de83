//! Test how the aggregates of a query share the loss of the query.

use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::prelude::{col, ident, lit};

use super::*;
use crate::Question;

/// Return the scale of each release in the units of the answer, for an epsilon of 1.
#[track_caller]
fn scales(question: Question<'_>) -> Vec<f64> {
    let explained = question.spending(Budget::epsilon(1.0).unwrap()).explain().unwrap();
    assert!(explained.loss.parts()[0].to_f64_up() <= 1.0, "{}", explained.loss);
    explained.releases.iter().map(|release| release.scale * release.step).collect()
}
#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}
const EVEN: &str = "SELECT COUNT(*) AS n, SUM(age) AS years FROM people";

#[test]
fn shares_are_in_proportion_to_weights() {
    let session = session(PrivacyUnit::rows(1));
    let ask = |sql: &str| session.query(sql).unwrap();
    near(&scales(ask(EVEN)), &[2.0, 200.0]);
    let weighted = "SELECT weight(COUNT(*), 3) AS n, SUM(age) AS years FROM people";
    near(&scales(ask(weighted)), &[4.0 / 3.0, 400.0]);
    // State the weight of an aggregate in three ways: under its name in the answer, under the name
    // of the aggregate itself, and in a text.
    near(&scales(ask(EVEN).weight("n", 3.0).unwrap()), &[4.0 / 3.0, 400.0]);
    near(&scales(ask(EVEN).weight("count(*)", 3.0).unwrap()), &[4.0 / 3.0, 400.0]);
    near(&scales(ask(EVEN).weight_in("count(*) = 3").unwrap()), &[4.0 / 3.0, 400.0]);
    // A weight that is stated outside of the query replaces the weight in the query.
    near(&scales(ask(weighted).weight("n", 1.0).unwrap()), &[2.0, 200.0]);
}
#[test]
fn a_sum_that_two_aggregates_need_has_the_larger_weight() {
    let session = session(PrivacyUnit::rows(1));
    // Both aggregates need the count of known ages, so this count gets the larger of the two
    // weights.
    let sql = "SELECT weight(AVG(age), 2) AS mean, weight(COUNT(age), 3) FROM people";
    near(&scales(session.query(sql).unwrap()), &[50.0 * 5.0 / 2.0, 5.0 / 3.0]);
    let sql = "SELECT MEDIAN(age), weight(COUNT(*), 1e-3) FROM people";
    let found = scales(session.query(sql).unwrap());
    near(&found[..1], &[1001.0]);
}
#[test]
fn metadata_state_the_weight_of_a_column() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    let columns = &mut metadata.tables.get_mut("people").unwrap().columns;
    columns.insert("age".into(), Column::new(Type::Integer).bounds(0.0, 100.0).weight(3.0));
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    near(&scales(session.query(EVEN).unwrap()), &[4.0, 400.0 / 3.0]);
    near(&scales(session.query(EVEN).unwrap().weight("years", 1.0).unwrap()), &[2.0, 200.0]);
}
#[test]
fn a_data_frame_states_weights_as_sql_does() {
    let session = session(PrivacyUnit::rows(1));
    let frame = session.table("people").unwrap();
    let frame = frame.aggregate(vec![], vec![sum(col("age")), sum(col("income"))]).unwrap();
    let weighted = crate::functions::weight(ident("sum(people.age)"), 3.0).alias("years");
    let frame = frame.select(vec![weighted, ident("sum(people.income)") + lit(1.0)]).unwrap();
    near(&scales(session.ask(frame).unwrap()), &[400.0 / 3.0, 4000.0]);
}
#[test]
fn a_weight_does_not_change_the_value() {
    let session = session(PrivacyUnit::rows(1));
    let sql = "SELECT sex, weight(COUNT(*), 2) + 1 AS n FROM people GROUP BY sex \
               HAVING weight(COUNT(*), 2) > 1 ORDER BY sex";
    let answer = ask(&session, sql);
    assert_eq!(numbers(&answer.table).iter().map(|row| row[1]).collect::<Vec<_>>(), [5.0, 3.0]);
}
#[test]
fn wrong_weights_are_refused() {
    let session = session(PrivacyUnit::rows(1));
    let error = session.query(EVEN).unwrap().weight("mean", 2.0).unwrap_err();
    assert!(error.kind() == "NotFound" && error.to_string().contains("count(*)"), "{error}");
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
        let error = session.query(EVEN).unwrap().weight("n", weight).unwrap_err();
        assert_eq!(error.kind(), "Argument", "{weight}");
        let sql = format!("SELECT weight(COUNT(*), {weight:?}) FROM people");
        assert!(session.query(&sql).is_err(), "{sql}");
    }
    for text in ["n", "n=", "n=two", ""] {
        let error = session.query(EVEN).unwrap().weight_in(text).unwrap_err();
        assert_eq!(error.kind(), "Argument", "{text}");
    }
    for sql in [
        "SELECT weight(COUNT(*), 2), weight(COUNT(*), 3) FROM people",
        "SELECT weight(sex, 2), COUNT(*) FROM people GROUP BY sex",
        "SELECT SUM(weight(age, 2)) FROM people",
        "SELECT weight(COUNT(*), SUM(age)) FROM people",
        "SELECT weight(COUNT(*)) FROM people",
    ] {
        assert!(session.query(sql).is_err(), "{sql}");
    }
    let wrong = "[budget]\nepsilon = 1\n[tables.t]\nunit = { rows = 1 }\n[tables.t.columns]\n\
                 x = { type = 'float', weight = 0 }\n";
    assert!(Metadata::parse(wrong).unwrap_err().to_string().contains("weight"));
}
