//! Clauses that the planner would leave out are errors. Without these errors, a question would get
//! the answer to another query, and the loss of this answer would be charged.

use super::*;

/// Return the text of the error for a query, or an empty text if there is no error.
fn error(sql: &str) -> String {
    let session = session(PrivacyUnit::id("pid", 2));
    session.query(sql).err().map(|error| error.to_string()).unwrap_or_default()
}
fn refused(sql: &str, clause: &str) {
    let error = error(sql);
    assert!(error.contains(clause) && error.contains("is not supported"), "{sql}\n{error}");
    assert!(error.lines().count() <= 3 && error.contains("Instead, "), "{error}");
}
#[test]
fn a_clause_after_a_table_is_refused() {
    for (clause, named) in [
        ("TABLESAMPLE BERNOULLI (50)", "TABLESAMPLE"),
        ("TABLESAMPLE SYSTEM (1) REPEATABLE (3)", "TABLESAMPLE"),
        ("p TABLESAMPLE SYSTEM (1)", "TABLESAMPLE"),
        ("WITH (NOLOCK)", "`WITH` after a table"),
        ("WITH ORDINALITY", "WITH ORDINALITY"),
        ("AS p(a int, b, c, d, e, f)", "type of a column"),
        ("CONNECT BY age = 1", "CONNECT BY"),
        ("START WITH age = 1 CONNECT BY PRIOR pid = age", "CONNECT BY"),
        ("FOR UPDATE", "FOR UPDATE"),
        ("FOR SHARE NOWAIT", "FOR SHARE"),
        ("FETCH FIRST 1 ROWS WITH TIES", "FETCH"),
        ("DISTRIBUTE BY age", "DISTRIBUTE BY"),
        ("SORT BY age", "SORT BY"),
        ("CLUSTER BY age", "CLUSTER BY"),
        ("LATERAL VIEW explode(age) t", "LATERAL VIEW"),
        ("QUALIFY row_number() OVER (ORDER BY COUNT(*)) = 1", "QUALIFY"),
    ] {
        refused(&format!("SELECT COUNT(*) FROM people {clause}"), named);
    }
    refused("SELECT COUNT(*) INTO other FROM people", "INTO");
    refused("SELECT TOP 1 COUNT(*) FROM people", "TOP");
    refused("SELECT COUNT(*) FROM UNNEST([1])", "UNNEST");
    refused("SELECT COUNT(*) FROM generate_series(1, 3)", "table function");
    refused("SELECT COUNT(*) FROM LATERAL generate_series(1, 3)", "table function");
}
#[test]
fn a_clause_inside_of_a_query_is_refused() {
    let sample = "SELECT age FROM people TABLESAMPLE BERNOULLI (50)";
    for sql in [
        format!("SELECT COUNT(*) FROM ({sample}) AS p"),
        format!("WITH p AS ({sample}) SELECT COUNT(*) FROM p"),
        format!("SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL {sample}) AS p"),
        format!("SELECT COUNT(*) FROM people WHERE age IN ({sample})"),
        format!("SELECT COUNT(*), ({sample}) FROM people"),
        format!("SELECT COUNT(*) FROM people JOIN ({sample}) AS p ON true"),
        "SELECT COUNT(*) FROM (people TABLESAMPLE BERNOULLI (50) JOIN people p ON true)".into(),
        "SELECT COUNT(*) FROM (SELECT age FROM people) AS p TABLESAMPLE BERNOULLI (50)".into(),
    ] {
        refused(&sql, "TABLESAMPLE");
    }
    let limited = "SELECT age FROM people UNION ALL SELECT age FROM people LIMIT 1";
    refused(&format!("WITH RECURSIVE p AS ({limited}) SELECT COUNT(*) FROM p"), "WITH RECURSIVE");
}
#[test]
fn a_part_of_a_call_that_would_be_left_out_is_refused() {
    let sum = |call: &str| format!("SELECT SUM({call}) FROM people");
    refused(&sum("clamp(age, 0, 9) FILTER (WHERE sex = 'f')"), "`FILTER` in `clamp(...)`");
    refused(&sum("abs(age) OVER (PARTITION BY sex)"), "`OVER` in `abs(...)`");
    refused(&sum("CLAMP(DISTINCT age, 0, 9)"), "`DISTINCT` or `ALL` in `clamp(...)`");
    refused(&sum("clamp(age, 0, 9 ORDER BY sex)"), "a clause after the arguments in `clamp(...)`");
    refused(&sum("abs(age) IGNORE NULLS"), "`RESPECT NULLS` in `abs(...)`");
    refused(&sum("\"abs\"(age) WITHIN GROUP (ORDER BY sex)"), "`WITHIN GROUP` in `abs(...)`");
    refused("SELECT abs(DISTINCT COUNT(*)) FROM people", "`DISTINCT` or `ALL` in `abs(...)`");
    let window = |call: &str| {
        format!("SELECT sex, {call} OVER (ORDER BY sex) FROM people GROUP BY sex ORDER BY sex")
    };
    refused(&window("1 + lag(DISTINCT COUNT(*))"), "`DISTINCT` in `lag(...)`");
    // The control: without `DISTINCT`, the window is allowed.
    assert_eq!(error(&window("1 + lag(COUNT(*))")), "");
}
#[test]
fn a_length_of_a_text_that_would_be_left_out_is_refused() {
    for call in [
        "CAST(COUNT(*) AS VARCHAR(1))",
        "COUNT(*)::char(2)",
        "TRY_CAST(COUNT(*) AS CHARACTER VARYING(3))",
    ] {
        refused(&format!("SELECT {call} FROM people"), "a length of a text");
    }
    assert_eq!(error("SELECT CAST(COUNT(*) AS VARCHAR), COUNT(*)::text AS t FROM people"), "");
}
#[test]
fn a_window_that_would_be_left_out_is_refused() {
    let query = |over: &str, end: &str| {
        format!("SELECT sex, SUM(COUNT(*)) OVER {over} FROM people GROUP BY sex {end}")
    };
    let window = "WINDOW w AS (PARTITION BY sex)";
    refused(&query("(w ORDER BY sex)", window), "the name of a window in `sum(...)`");
    let order = format!("{window} ORDER BY COUNT(*) OVER w");
    refused(&query("w", &order), "`OVER w` outside of the list after `SELECT`");
    refused(&query("w", &format!("HAVING COUNT(*) OVER w > 1 {window}")), "`OVER w` outside");
    // The controls: windows that the planner reads are allowed.
    assert_eq!(error(&query("w", window)), "");
    assert_eq!(error(&query("(PARTITION BY sex ORDER BY sex)", "")), "");
    assert_eq!(error(&query("w", &format!("{window} ORDER BY COUNT(*)"))), "");
}
#[test]
fn clauses_that_the_planner_reads_are_allowed() {
    for sql in [
        "SELECT COUNT(*) FILTER (WHERE sex = 'f'), COUNT(DISTINCT pid), COUNT(ALL age) FROM people",
        "SELECT coalesce(AVG(age) FILTER (WHERE sex = 'f'), 0) FROM people",
        "WITH p(a, b, c, d, e, f) AS MATERIALIZED (SELECT * FROM people) SELECT COUNT(d) FROM p",
        "SELECT sex, COUNT(*) AS n FROM people AS p GROUP BY sex HAVING COUNT(*) > 1 ORDER BY n \
         DESC NULLS LAST LIMIT 1 OFFSET 1",
        "SELECT DISTINCT COUNT(*) FROM people GROUP BY ALL",
        "(SELECT sex, COUNT(*) FROM people GROUP BY sex) ORDER BY sex LIMIT ALL",
        "SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL (SELECT age FROM people)) AS p",
    ] {
        assert_eq!(error(sql), "", "{sql}");
    }
}
#[test]
fn statements_that_are_no_queries_are_refused_before_they_are_planned() {
    for (sql, named) in [
        ("EXPLAIN SELECT COUNT(*) FROM people", "`EXPLAIN`"),
        ("COPY (SELECT 1) TO 'x.csv'", "`COPY`"),
        ("CREATE VIEW v AS SELECT COUNT(*) FROM people", "`CREATE`"),
        ("INSERT INTO people SELECT * FROM people", "`INSERT`"),
        ("SET a = 1", "`SET`"),
    ] {
        let error = error(sql);
        assert!(error.contains(named) && error.contains("cannot be made private"), "{error}");
    }
}
