//! Test that deeply nested queries end soon, either in an answer or in an error before the charge.

use super::*;
use crate::engine::parse::{PRINTED, WRITTEN, planned, too_deep};

fn nested(levels: usize, innermost: &str, level: impl Fn(String) -> String) -> String {
    (0..levels).fold(innermost.to_owned(), |inner, _| level(inner))
}
/// Ask a query. Return the text of its error, or an empty text if there is an answer. Without
/// limits, some of the refused queries of these tests would need hours.
fn asked(session: &Session, sql: &str) -> String {
    let budget = Budget::epsilon_delta(1e6, 1e-9).unwrap();
    let question = session.query(sql).map(|question| question.spending(budget));
    let answer = question.and_then(|question| question.release());
    answer.map_or_else(|error| error.to_string(), |_| String::new())
}
/// Open a session whose budget has a delta.
fn with_delta() -> Session {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    metadata.budget.delta = Some(0.5);
    Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))]).unwrap()
}
/// In the unchanged dialect of PostgreSQL, the parser needs `2^levels` steps for nested calls of
/// these functions. The module `engine::parse` changes the dialect.
#[test]
fn nested_functions_are_read_in_a_short_time() {
    let session = with_delta();
    let functions: [fn(String) -> String; 6] = [
        |e| format!("abs({e})"),
        |e| format!("nullif({e}, 7)"),
        |e| format!("floor({e})"),
        |e| format!("coalesce({e}, 7)"),
        |e| format!("clamp({e}, 0, 9)"),
        |e| format!("abs({e} - 1)"),
    ];
    for (k, level) in functions.into_iter().enumerate() {
        for levels in [5, 20, 40] {
            let below = format!("SUM(clamp({}, 0, 9))", nested(levels, "age", level));
            for expr in [below, nested(levels, "COUNT(*)", level)] {
                let error = asked(&session, &format!("SELECT {expr} FROM people"));
                let fine = error.is_empty() || 5 < levels && error.contains("nested too deeply");
                assert!(fine, "{k} {levels} {expr}: {error}");
                // The control: no operands of the first three functions are copied, so all levels
                // are computed.
                assert!(2 < k || error.is_empty(), "{k} {levels} {expr}: {error}");
            }
        }
    }
}
/// The parser tries to read wrong parts in several ways. It stops after a limited number of steps.
#[test]
fn wrong_statements_are_refused_in_a_short_time() {
    let session = with_delta();
    for level in ["NOT (E)", "position(E, 1)", "substring(E FOR)", "CAST(E AS)"] {
        let expr = nested(30, "age", |inner| level.replace('E', &inner));
        let error = asked(&session, &format!("SELECT COUNT(*) FROM people WHERE {expr}"));
        assert!(error.contains("query"), "{level}: {error}");
    }
}
#[test]
fn a_statement_is_read_up_to_a_limit_on_its_levels() {
    let engine = crate::DataFusion::new().unwrap();
    let state = engine.context().state();
    let read = |levels: usize, limit: usize| {
        let statement =
            format!("SELECT {}", nested(levels, "TRUE", |inner| format!("(NOT {inner})")));
        engine.wait(async { planned(&state, &statement, limit).await })
    };
    assert!(read(20, WRITTEN).is_ok() && read(400, PRINTED).is_ok());
    assert!(read(400, WRITTEN).is_err_and(|error| too_deep(&error)));
    let several = engine.wait(async { planned(&state, "SELECT 1; SELECT 2", WRITTEN).await });
    assert!(several.is_err_and(|error| error.to_string().contains("one statement")));
}
/// The optimizer moves a condition below the projections. At each level, the number of columns in
/// the condition doubles.
#[test]
fn conditions_above_nested_projections_are_refused_before_the_charge() {
    let session = with_delta();
    let asked = |levels: usize, key: &str, condition: &str| {
        let by = if key.is_empty() { String::new() } else { format!("GROUP BY {}", &key[..4]) };
        let first = format!("WITH t0 AS (SELECT {key} COUNT(*) AS a FROM people {by})");
        let level = |text: String, k: usize| {
            format!("{text}, t{} AS (SELECT {key} a + a AS a FROM t{k})", k + 1)
        };
        let text = (0..levels).fold(first, level);
        asked(&session, &format!("{text} SELECT a FROM t{levels} {condition}"))
    };
    let before = session.remaining().unwrap();
    for key in ["", "town, "] {
        let error = asked(30, key, "WHERE a > 0");
        assert!(error.contains("nested too deeply"), "{error}");
    }
    assert_eq!(session.remaining().unwrap(), before);
    // The controls: a few levels with a condition, and many levels without a condition, are
    // answered.
    for (levels, key, condition) in
        [(5, "", "WHERE a > 0"), (5, "town, ", "WHERE a > 0"), (30, "", ""), (30, "town, ", "")]
    {
        assert_eq!(asked(levels, key, condition), "", "{levels} {key} {condition}");
    }
}
/// An engine turns a list of two or three values into comparisons. So each level of these queries
/// has four copies of the level below it: three copies in the comparisons, and one copy in the
/// ELSE.
#[test]
fn short_lists_in_nested_projections_are_refused() {
    let session = with_delta();
    let query = |levels, list: &str| {
        let from = nested(levels, "SELECT age AS a FROM people", |inner| {
            format!("SELECT CASE WHEN a IN {list} THEN 1 ELSE a END AS a FROM ({inner}) AS t")
        });
        format!("SELECT SUM(clamp(a, 0, 9)) FROM ({from}) AS t WHERE a > 0 AND a < 100000")
    };
    assert!(asked(&session, &query(12, "(1, 2, 3)")).contains("nested too deeply"));
    // The controls: a query with longer lists, for which an engine copies no operands, is answered.
    // A query with only two levels is answered, too.
    assert_eq!(asked(&session, &query(4, "(1, 2, 3, 4, 5)")), "");
    assert_eq!(asked(&session, &query(2, "(1, 2, 3)")), "");
}
/// If a query has a LIMIT, the engine makes a condition from the order. The optimizer moves this
/// condition below the projections.
#[test]
fn an_order_with_a_limit_above_nested_projections_is_refused() {
    let session = with_delta();
    let query = |levels| {
        let from = nested(levels, "SELECT COUNT(*) AS a FROM people", |inner| {
            format!("SELECT a + a AS a FROM ({inner}) AS t")
        });
        format!("SELECT a FROM ({from}) AS t ORDER BY a LIMIT 1")
    };
    assert!(asked(&session, &query(30)).contains("nested too deeply"));
    assert_eq!(asked(&session, &query(8)), "");
}
#[test]
fn long_conditions_are_computed() {
    let session = with_delta();
    let terms = |count: usize, sign: &str, by: &str| -> String {
        (0..count).map(|k| format!("age {sign} {k}")).collect::<Vec<_>>().join(by)
    };
    let case = |e: String| format!("CASE WHEN {e} > 1 THEN 1 ELSE 2 END");
    for condition in [
        terms(95, "=", " OR "),
        terms(95, "<>", " AND "),
        format!("{} = 1", nested(40, "age", case)),
    ] {
        let sql = format!("SELECT COUNT(*) FROM people WHERE {condition}");
        assert_eq!(asked(&session, &sql), "", "{condition}");
    }
    // The values in the list of an IN add no levels.
    let list: Vec<String> = (0..1500).map(|k| k.to_string()).collect();
    let sql = format!("SELECT COUNT(*) FROM people WHERE age IN ({})", list.join(", "));
    assert_eq!(asked(&session, &sql), "");
}
/// An operand of an operation that could overflow is printed twice. A sum of a few integers cannot
/// overflow.
#[test]
fn only_operations_that_could_overflow_copy_their_operands() {
    let session = with_delta();
    let sum = |column: &str, count: usize, sign: &str| {
        format!("SELECT SUM(clamp({}, 0, 9)) FROM people", vec![column; count].join(sign))
    };
    for (column, count, sign) in
        [("age", 13, " + "), ("age", 40, " + "), ("income", 13, " + "), ("income", 6, " * ")]
    {
        assert_eq!(asked(&session, &sum(column, count, sign)), "", "{column} {count} {sign}");
    }
    let error = asked(&session, &sum("income", 12, " * "));
    assert!(error.contains("nested too deeply") && error.contains("income * "), "{error}");
    assert!(error.contains("beforehand, and read it as a column"), "{error}");
    assert!(error.len() < 300, "{error}");
}
/// The checker replaces a column by its expression in the projection below. So the levels of the
/// resulting expression are limited, too.
#[test]
fn levels_add_up_over_projections() {
    let session = with_delta();
    let text = |projections: usize| {
        let level = |text: String, k: usize| {
            let expr = nested(3, "e", |inner| format!("NOT ({inner})"));
            format!("{text}, t{} AS (SELECT {expr} AS e FROM t{k})", k + 1)
        };
        let first = "WITH t0 AS (SELECT employed AS e FROM people)".to_owned();
        let text = (0..projections).fold(first, level);
        format!("{text} SELECT COUNT(*) FROM t{projections} WHERE e")
    };
    let error = asked(&session, &text(90));
    assert!(error.contains("nested too deeply"), "{error}");
    // The control: with fewer projections, the query is answered.
    assert_eq!(asked(&session, &text(50)), "");
}
/// A cell with an unknown time zone cannot be printed.
#[test]
fn a_table_that_cannot_be_printed_is_refused_before_the_charge() {
    let session = with_delta();
    let before = session.remaining().unwrap();
    let time = |zone: &str| {
        format!("arrow_cast(CAST(0 AS BIGINT), 'Timestamp(Second, Some(\"{zone}\"))')")
    };
    for by in ["sex", "town"] {
        let sql = |zone: &str| {
            format!("SELECT COUNT(*) AS n, {} AS t FROM people GROUP BY {by}", time(zone))
        };
        for zone in ["+25:00", "Nowhere/Zone"] {
            let error = asked(&session, &sql(zone));
            assert!(error.contains("nothing was charged"), "{error}");
        }
        assert_eq!(session.remaining().unwrap(), before);
        // The control: a query with a zone that exists is explained.
        let question = session.query(&sql("+02:00")).unwrap();
        let budget = Budget::epsilon_delta(1e6, 1e-9).unwrap();
        assert!(question.spending(budget).explain().is_ok());
    }
}
#[test]
fn an_answer_that_cannot_be_printed_shows_the_released_values() {
    use datafusion::arrow::array::TimestampSecondArray;
    let mut answer = ask(&session(PrivacyUnit::rows(1)), "SELECT COUNT(*) AS n FROM people");
    assert!(!answer.to_string().contains("warning"), "the control: {answer}");
    let time = TimestampSecondArray::from(vec![0]).with_timezone("Nowhere/Zone");
    answer.table = RecordBatch::try_from_iter([("t", Arc::new(time) as ArrayRef)]).unwrap();
    let text = answer.to_string();
    assert!(text.starts_with("warning: ") && text.contains("count(*)"), "{text}");
}
