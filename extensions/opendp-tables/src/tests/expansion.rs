//! Test queries whose plans would be large although their texts are short. Such a query is refused
//! before its plan is made.

use super::*;

/// Return the text of the error for a query, or an empty text if there is no error.
fn error(sql: &str) -> String {
    let session = session(PrivacyUnit::rows(1));
    session.query(sql).err().map(|error| error.to_string()).unwrap_or_default()
}
/// Return a query whose WITH has a first query, and one more query for each level. The function
/// `level` makes the query of a level from the name of the query before it.
fn doubled(levels: usize, first: &str, level: &dyn Fn(&str) -> String, last: &str) -> String {
    let mut text = format!("WITH a0 AS ({first})");
    for k in 1..=levels {
        text += &format!(", a{k} AS ({})", level(&format!("a{}", k - 1)));
    }
    text + " " + &last.replace("LAST", &format!("a{levels}"))
}
/// Without a limit, 30 levels would fill the memory.
#[test]
fn queries_that_read_each_other_twice_are_refused_before_the_plan_is_made() {
    let first = "SELECT age FROM people";
    let last = "SELECT COUNT(*) FROM LAST";
    let union = |a: &str| format!("SELECT * FROM {a} UNION ALL SELECT * FROM {a}");
    let capital = |a: &str| union(&a.to_uppercase());
    let cross = |a: &str| format!("SELECT l.age FROM {a} AS l CROSS JOIN {a} AS r");
    let comma = |a: &str| format!("SELECT l.age FROM {a} AS l, {a} AS r");
    let inside = |a: &str| format!("SELECT (SELECT MAX(age) FROM {a}) AS age FROM {a}");
    let filter = |a: &str| format!("SELECT age FROM {a} WHERE age IN (SELECT age FROM {a})");
    let nested = |a: &str| {
        format!("WITH b AS (SELECT * FROM {a}), c AS ({}) TABLE c", union("b"))
            .replace("TABLE c", "SELECT * FROM c")
    };
    let levels: [&dyn Fn(&str) -> String; 7] =
        [&union, &capital, &cross, &comma, &inside, &filter, &nested];
    for level in levels {
        let error = error(&doubled(30, first, level, last));
        assert!(error.contains("more than 200 SELECTs and tables"), "{error}");
        assert!(error.lines().count() <= 3, "{error}");
    }
    // A query of WITH that is not used is planned too.
    let unused = doubled(30, first, &union, "SELECT COUNT(*) FROM people");
    assert!(error(&unused).contains("more than 200"));
    // The controls: four levels are allowed. If each query reads the query before it only once,
    // many levels are allowed.
    assert_eq!(error(&doubled(4, first, &union, last)), "");
    assert_eq!(error(&doubled(60, first, &|a| format!("SELECT age FROM {a}"), last)), "");
    let names: Vec<String> = (0..60).map(|k| format!("a{k} AS ({first})")).collect();
    assert_eq!(error(&format!("WITH {} SELECT COUNT(*) FROM a59", names.join(", "))), "");
}
#[test]
fn a_query_with_many_tables_is_refused() {
    let union = |parts: usize| vec!["SELECT age FROM people"; parts].join(" UNION ALL ");
    let query = |parts: usize| format!("SELECT COUNT(*) FROM ({}) AS p", union(parts));
    assert!(error(&query(100)).contains("more than 200"));
    // The control: 64 parts are allowed. This is the largest number of parts of a UNION ALL.
    assert_eq!(error(&query(64)), "");
}
/// The planner reads the arguments of `map` twice at each level.
#[test]
fn nested_maps_are_refused_at_once() {
    for name in ["map", "MAKE_MAP"] {
        let nested = (0..40).fold("1".to_owned(), |inner, _| format!("{name}({inner}, 1)"));
        assert!(error(&format!("SELECT {nested}, COUNT(*) FROM people")).contains("`map`"));
    }
}
/// The parser reads a query in two levels of parentheses twice if it is the left side of a join.
/// Without a limit on the steps, these queries would take minutes.
#[test]
fn nested_joins_in_parentheses_are_refused_at_once() {
    let tables = vec!["people"; 700];
    let joins = tables.join(" JOIN ");
    for (list, first) in [("", tables.join(", ")), ("1", joins), ("", "people".into())] {
        let nested = (0..15).fold(first, |inner, _| {
            format!("((SELECT {list} FROM {inner}) AS l CROSS JOIN people)")
        });
        let error = error(&format!("SELECT COUNT(*) FROM {nested}"));
        assert!(error.contains("nested too deeply"), "{error}");
    }
    // The control: four levels are read, so the error is about the join.
    let nested = (0..4).fold("people".to_owned(), |inner, _| {
        format!("((SELECT 1 FROM {inner}) AS l CROSS JOIN people)")
    });
    assert!(error(&format!("SELECT COUNT(*) FROM {nested}")).contains("INNER JOIN"));
}
