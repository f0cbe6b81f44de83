//! If a part of a query cannot be made private, the error contains the name of this part.

use super::*;

fn refused(sql: &str, naming: &str) {
    let session = session(PrivacyUnit::id("pid", 2));
    let error = match session.query(sql) {
        Err(error) => error,
        Ok(_) => panic!("accepted: {sql}"),
    };
    let text = error.to_string();
    assert!(text.contains(naming), "{sql}\n{text}");
    assert!(text.lines().count() <= 3, "{text}");
}
#[test]
fn rows_are_not_listed() {
    refused("SELECT age FROM people", "without an aggregate");
    refused("SELECT DISTINCT sex FROM people", "without an aggregate");
    refused("SELECT sex FROM people GROUP BY sex", "without an aggregate");
}
#[test]
fn ids_are_not_groups() {
    refused("SELECT COUNT(*) FROM people GROUP BY pid", "is the id of the individuals");
    let sql = "SELECT COUNT(*) FROM (SELECT pid AS p FROM people) AS q GROUP BY p";
    refused(sql, "is the id of the individuals");
}
#[test]
fn errors_about_types_name_the_column() {
    refused(
        "SELECT COUNT(*) FROM people WHERE age = 'f'",
        "`=`: expected values of one type, found the column `age` of type integer and a literal of \
         type text",
    );
    refused(
        "SELECT COUNT(*) FROM people WHERE age IN (3, 'f')",
        "the column `age` of type integer",
    );
    refused("SELECT COUNT(*) FROM people WHERE sex = 1.5", "the column `sex` of type text and a");
    let found = "expected numbers, found the column `sex` of type text";
    for call in ["AVG(sex)", "SUM(people.sex)", "MEDIAN(sex)", "VAR(sex)", "quantile(sex, 0.5)"] {
        refused(&format!("SELECT {call} FROM people"), found);
    }
    refused("SELECT MIN(sex) FROM people", &format!("argument `min`: {found}"));
    refused("SELECT AVG(\"employed\") FROM people", "the column `employed` of type boolean");
    let types = "check the types of the arguments";
    refused("SELECT AVG(age > 3) FROM people", types);
    // The controls: a query that gives a column of numbers the name `sex` is accepted. If this
    // query also has an unknown column, the error is about the unknown column.
    let session = session(PrivacyUnit::rows(1));
    let renamed = "SELECT AVG(sex) FROM (SELECT age AS sex FROM people) AS p";
    assert!(session.query(renamed).is_ok());
    refused(&format!("{renamed} WHERE nothing = 1"), "nothing");
}
/// The engine merges equal keys. So if a query could repeat a key, the values of its answer would
/// be in the wrong columns.
#[test]
fn a_key_is_not_repeated() {
    let from = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY";
    for keys in ["sex, sex", "sex, (sex)", "town, sex, town", "age > 30, age > 30"] {
        refused(&format!("{from} {keys}"), "write each key once");
    }
    refused("SELECT sex AS g, COUNT(*), SUM(age) FROM people GROUP BY g, sex", "each key once");
    refused("SELECT sex, COUNT(*), SUM(age) FROM people GROUP BY sex, 1", "each key once");
    refused("SELECT COUNT(*), SUM(age) FROM people GROUP BY 'x', 'x'", "GROUP BY");
}
#[test]
fn errors_about_names_and_levels_say_what_to_write() {
    refused("SELECT COUNT(*) FROM poeple", "there is no table `poeple`; the tables are `people`:");
    refused("SELECT COUNT(*) FROM db.public.people", "write only the name of the table");
    refused("SELECT COUNT(*) FROM people WHERE sex = \"f\"", "A text needs single quotes");
    refused("SELECT variance(age) FROM people", "no function `variance`. The aggregates are");
    refused("SELECT SUM(IF(sex = 'f', 1, 0)) FROM people", "use CASE WHEN");
    refused("SELECT COUNT(*), COUNT(*) FROM people", "two columns are both `count(*)`");
    refused("SELECT COUNT(*) AS n, SUM(age) AS n FROM people", "of its own by AS");
    refused("SELECT quantile(age, 50) FROM people", "found 50");
    refused("SELECT COUNT(*) FROM people WHERE CAST(town AS DATE) > DATE '2020-01-01'", "`date`");
    refused("SELECT COUNT(*) FROM people WHERE town > '2020-01-01'", "`date`");
    refused(
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM people",
        "quantile(x, 0.5)",
    );
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    let table = metadata.tables.remove("people").unwrap();
    metadata.tables.insert("People".into(), table);
    let source = Source::Batches(vec![people()]);
    let session = Session::new(metadata, vec![("People".into(), source)]).unwrap();
    let error = session.query("SELECT COUNT(*) FROM People").unwrap_err().to_string();
    assert!(error.contains("write \"People\" in double quotes"), "{error}");
    let error = session.query("SELECT COUNT(DISTINCT sex) FROM \"People\"").unwrap_err();
    assert!(error.to_string().contains("group by this column"), "{error}");
}
/// The planner writes the types and the parts of its own errors. No error shows them.
#[test]
fn errors_about_mistakes_say_what_to_write_and_name_no_engine() {
    for (sql, part) in [
        (
            "SELECT COUNT(*) FROM people WHERE agee > 3",
            "no column `agee`. Did you mean `people.age`",
        ),
        ("SELECT town, COUNT(*) FROM people", "`people.town` is neither a key nor inside"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING age > 3", "`people.age` is neither"),
        ("SELECT AVG(COUNT(*)) FROM people", "the aggregate `count(*)` is inside of another"),
        ("SELECT COUNT(*) FROM people WHERE age", "`people.age` is not a condition"),
        (
            "SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY ALL",
            "After ORDER BY, name each column",
        ),
        ("SELECT COUNT(*) FORM people", "expected end of statement, found people at line 1"),
        ("SELECT COUNT(*) FROM people WHERE", "expected an expression, found the end"),
        ("SELECT COUNT(*) FROM `people`", "double quotes, not backticks"),
        ("SELECT COUNT(*) FROM people WHERE date_trunc(town, MONTH) = 'a'", "A period is a text"),
        ("SELECT COUNT(*) FROM people WHERE sex = 1", "write texts in single quotes"),
        ("SELECT COUNT(*) FROM people WHERE age = '1'", "write numbers without quotes"),
        ("SELECT SUM(CAST(age AS INT)) FROM people", "`CAST AS INT`"),
        ("SELECT COUNT(*) FROM people WHERE CAST(age AS TEXT) = '1'", "`CAST AS TEXT`"),
        ("SELECT AVG(pid * 2) FROM people", "`avg(people.pid * 2)`"),
        (
            "SELECT COUNT(*) FROM people GROUP BY floor(age / 10.0)",
            "found `floor(people.age / 10)`",
        ),
        ("SELECT COUNT(*) FROM people WHERE round(age) = 3", "write floor(x + 0.5)"),
        ("SELECT COUNT_IF(age > 3) FROM people", "FILTER (WHERE x > 1)"),
        ("SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people", "`UNION ALL`"),
    ] {
        refused(sql, part);
        let error = session(PrivacyUnit::id("pid", 2)).query(sql).unwrap_err().to_string();
        for name in ["Int64", "Utf8", "Float64", "Error", "Schema", "planning", "wildcard"] {
            assert!(!error.contains(name), "{sql}\n{error}");
        }
    }
}
#[test]
fn names_of_other_databases_for_coalesce_are_read() {
    let session = session(PrivacyUnit::rows(1));
    let digest = |call: &str| {
        session.query(&format!("SELECT SUM({call}(age, 5)) FROM people")).unwrap().digest()
    };
    assert_eq!(digest("nvl"), digest("coalesce"));
    assert_eq!(digest("IFNULL"), digest("coalesce"));
}
#[test]
fn private_tables_are_not_joined() {
    refused("SELECT COUNT(*) FROM people a JOIN people b ON a.pid = b.pid", "INNER JOIN");
    refused("SELECT COUNT(*) FROM people a, people b", "JOIN");
    refused("SELECT COUNT(*) FROM people a LEFT JOIN people b ON a.age = b.age", "LEFT JOIN");
}
#[test]
fn rows_are_not_chosen_by_comparing_them() {
    refused("SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5) AS p", "LIMIT");
    refused("SELECT COUNT(*) FROM (SELECT * FROM people ORDER BY age LIMIT 5) AS p", "LIMIT");
    refused("SELECT COUNT(*) FROM (SELECT * FROM people OFFSET 5) AS p", "LIMIT");
    refused("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM people) AS p", "DISTINCT");
    let window =
        "SELECT COUNT(*) FROM (SELECT row_number() OVER (ORDER BY age) AS r FROM people) AS p";
    refused(window, "OVER");
    let union = "SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT age FROM people) AS p";
    refused(union, "DISTINCT");
    let twice = "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM people GROUP BY sex) AS p";
    refused(twice, "GROUP BY");
}
#[test]
fn subqueries_in_expressions_are_refused() {
    refused("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "subquery");
    refused("SELECT COUNT(*) FROM people WHERE pid IN (SELECT pid FROM people)", "subquery");
    refused("SELECT COUNT(*) + (SELECT COUNT(*) FROM people) FROM people", "subquery");
}
#[test]
fn functions_that_are_random_or_can_fail_are_refused() {
    refused("SELECT COUNT(*) FROM people WHERE random() < 0.5", "random()");
    refused("SELECT COUNT(*) FROM people WHERE now() > '2020-01-01'", "now()");
    refused("SELECT SUM(clamp(CAST(town AS INT), 0, 1)) FROM people", "CAST");
    refused("SELECT SUM(clamp(age / 2, 0, 1)) FROM people", "/");
    refused("SELECT SUM(clamp(age % 2, 0, 1)) FROM people", "%");
    refused("SELECT COUNT(*) FROM people WHERE town < 'b'", "<");
    refused("SELECT COUNT(*) FROM people WHERE town SIMILAR TO '%a'", "SIMILAR TO");
}
#[test]
fn aggregates_without_bounds_are_refused() {
    refused("SELECT SUM(pid) FROM people", "no bounds");
    refused("SELECT SUM(age + pid) FROM people", "no bounds");
    refused("SELECT SUM(1.5 / age) FROM people", "no bounds");
    refused("SELECT SUM(CASE WHEN age > 3 THEN age ELSE pid END) FROM people", "no bounds");
    refused("SELECT SUM(coalesce(pid, 0)) FROM people", "no bounds");
    refused("SELECT SUM(age * 1e99) FROM people", "no bounds");
    refused("SELECT SUM(CASE WHEN age > 3 THEN 0 END) FROM people", "no bounds");
    refused("SELECT AVG(clamp(age, 5, 5)) FROM people", "are both 5");
    for level in ["-0.1", "0.00001", "0.99999", "1.1"] {
        refused(&format!("SELECT quantile(age, {level}) FROM people"), "rounded to four decimals");
    }
    refused("SELECT COUNT(DISTINCT age) FROM people", "DISTINCT");
    refused("SELECT array_agg(age) FROM people", "array_agg");
    refused("SELECT MEDIAN(pid) FROM people", "no candidates");
    refused("SELECT SUM(clamp(age, 0, age)) FROM people", "public numbers");
    refused("SELECT SUM(clamp(age, 5, 1)) FROM people", "bounds");
    refused("SELECT SUM(clamp(age, 0, 1e300)) FROM people", "public numbers");
    refused("SELECT SUM(clamp(age, 0, 1e-90)) FROM people", "1e-70");
}
#[test]
fn bounds_that_are_too_close_for_their_magnitude_are_refused() {
    let close = "clamp(income, 1e16, 1.0000000000000004e16)";
    refused(&format!("SELECT AVG({close}) FROM people"), "too close together");
    refused(&format!("SELECT VAR({close}) FROM people"), "too close together");
    // The controls: bounds with a larger distance are accepted. If a constant is first subtracted
    // from the values, bounds with the distance of the refused bounds are accepted, too.
    let session = session(PrivacyUnit::rows(1));
    for wide in ["clamp(income, 1e16, 1.0000000000004e16)", "clamp(income - 1e16, 0, 4)"] {
        assert!(session.query(&format!("SELECT AVG({wide}), VAR({wide}) FROM people")).is_ok());
    }
}
#[test]
fn keys_that_are_not_public_need_a_delta() {
    let session = session(PrivacyUnit::id("pid", 2));
    let question = session.query("SELECT COUNT(*) FROM people GROUP BY town").unwrap();
    let error = question.spending(plenty()).release().unwrap_err();
    assert!(error.to_string().contains("delta"), "{error}");
}
#[test]
fn other_statements_are_refused() {
    refused("DROP TABLE people", "cannot be made private");
    refused("INSERT INTO people (age) VALUES (1)", "cannot be made private");
    refused("SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people", "query");
    refused("COPY people TO 'x.csv'", "cannot be made private");
    refused("EXPLAIN SELECT COUNT(*) FROM people", "cannot be made private");
    refused("SELECT 1", "cannot be made private");
    refused(
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "cannot be made private",
    );
    refused("SELECT COUNT(*) FROM '/etc/passwd'", "query");
    refused("SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people", "UNION");
}
#[test]
fn unknown_fields_of_metadata_are_refused() {
    let text =
        "[budget]\nepsilon = 1\n[tables.t]\nunit = { rows = 1, max_row = 2 }\ncolumns = {}\n";
    let error = Metadata::parse(text).unwrap_err().to_string();
    assert!(error.contains("max_row"), "{error}");
    for unit in ["{ id = \"a\" }", "{}", "{ rows = 0 }", "{ rows = 1, id = \"a\", max_rows = 1 }"] {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\nunit = {unit}\n[tables.t.columns.a]\ntype = \"text\"\n"
        );
        assert!(Metadata::parse(&text).is_err(), "{unit}");
    }
}
#[test]
fn errors_about_units_and_candidates_say_what_is_wrong() {
    let error = |unit: &str, column: &str| {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\nunit = {unit}\n[tables.t.columns]\na = {column}\n"
        );
        Metadata::parse(&text).unwrap_err().to_string()
    };
    let unit = error("{ id = \"a\", max_rows = 0 }", "{ type = \"text\" }");
    assert!(unit.contains("`max_rows`: expected a number from 1") && unit.contains("found 0"));
    for (kind, candidates, reason) in [
        ("text", "1", "a column of numbers"),
        ("float", "", "at least one candidate"),
        ("float", "1, 1e200", "from -1e100 to 1e100, found 1e200"),
        ("float", "1, nan", "found NaN"),
        ("float", "1, 3, 2", "in increasing order, each once, found 3 and then 2"),
        ("integer", "2, 2", "found 2 and then 2"),
    ] {
        let column = format!("{{ type = \"{kind}\", candidates = [{candidates}] }}");
        let found = error("{ rows = 1 }", &column);
        assert!(found.contains("column `a`") && found.contains(reason), "{found}");
    }
}
#[test]
fn an_engine_that_fails_says_nothing_about_the_data() {
    #[derive(Debug)]
    struct Failing;
    impl crate::Engine for Failing {
        fn name(&self) -> String {
            "failing".into()
        }
        fn dialect(&self) -> crate::Dialect {
            crate::Dialect::DataFusion
        }
        fn run(&self, _: &str) -> opendp_core::Result<Vec<crate::Cells>> {
            Err(opendp_core::Error::FailedFunction("row 7 holds 'secret'".into()))
        }
    }
    let metadata = metadata(described(PrivacyUnit::rows(1)));
    let session = Session::with_engine(metadata, Box::new(Failing)).unwrap();
    let question = session.query("SELECT COUNT(*) FROM people").unwrap();
    let error = question.spending(plenty()).release().unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}
#[test]
fn a_query_that_is_nested_too_deeply_is_an_error_and_no_crash() {
    let long = vec!["1"; 500].join("+");
    refused(&format!("SELECT COUNT(*) + {long} FROM people"), "too deeply");
    refused(&format!("SELECT COUNT(*) FROM people WHERE age > {long}"), "too deeply");
    let union = vec!["SELECT age FROM people"; 250].join(" UNION ALL ");
    refused(&format!("SELECT COUNT(*) FROM ({union}) AS p"), "query");
    let nested = format!("{}age{}", "(".repeat(2000), ")".repeat(2000));
    refused(&format!("SELECT COUNT({nested}) FROM people"), "query");
}
/// Each level contains two copies of the expression below it. Without a limit, 45 levels need more
/// than 2^45 nodes.
#[test]
fn nested_ranges_and_cases_are_an_error_before_they_fill_the_memory() {
    let nested = |depth: usize, level: &dyn Fn(String) -> String| {
        let expr = (0..depth).fold("age".to_owned(), |inner, _| level(inner));
        format!("SELECT COUNT(*) FROM people WHERE {expr} = 1")
    };
    let ranges = |e: String| format!("CASE WHEN {e} BETWEEN 0 AND 1 THEN 1 ELSE 0 END");
    let cases = |e: String| format!("CASE {e} WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE 0 END");
    refused(&nested(45, &ranges), "nested too deeply");
    refused(&nested(45, &cases), "nested too deeply");
    let after = |depth: usize, level: &dyn Fn(String) -> String| {
        let expr = (0..depth).fold("COUNT(*)".to_owned(), |inner, _| level(inner));
        format!("SELECT {expr} FROM people")
    };
    refused(&after(45, &ranges), "nested too deeply");
    refused(&after(45, &cases), "nested too deeply");
    // The control: a few levels are allowed.
    let session = session(PrivacyUnit::rows(1));
    assert!(
        session.query(&nested(5, &ranges)).is_ok() && session.query(&nested(5, &cases)).is_ok()
    );
    assert!(session.query(&after(5, &ranges)).is_ok() && session.query(&after(5, &cases)).is_ok());
}
/// Each projection contains eight copies of the expression below it. Without a limit, a query of 1
/// KB fills the memory before the whole query is checked.
#[test]
fn nested_projections_are_an_error_before_they_fill_the_memory() {
    let nested = |depth: usize| {
        let source = (0..depth).fold("people".to_owned(), |source, level| {
            format!("(SELECT {} AS age FROM {source}) AS p{level}", ["age"; 8].join("+"))
        });
        format!("SELECT SUM(clamp(age, 0, 9)) FROM {source}")
    };
    refused(&nested(15), "nested too deeply");
    // The outer expression names the column `a` 100 times. So the outer expression copies the inner
    // expression 100 times.
    let long = |name: &str, count: usize| format!("coalesce({})", vec![name; count].join(","));
    let (inner, outer) = (long("age", 300), long("a", 100));
    let source = format!("(SELECT {inner} AS a FROM people) AS p");
    refused(&format!("SELECT COUNT(*) FROM {source} WHERE {outer} = 1"), "nested too deeply");
    // The control: one projection is not too deep.
    let session = session(PrivacyUnit::rows(1));
    assert!(session.query(&nested(1)).is_ok());
}
