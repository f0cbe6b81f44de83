//! Test queries on columns of dates and times: values, keys, bounds and errors.

use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit};

use super::*;
use crate::calendar::DAY;
use crate::engine::DataFusion;

/// Describe a table of visits. The dates are between 2019 and 2021.
fn visits() -> Table {
    Table::private(PrivacyUnit::rows(1))
        .with("d", Column::new(Type::Date).between("2019-12-01", "2020-03-15"))
        .with("t", Column::new(Type::Timestamp))
        .with("open", Column::new(Type::Date))
        .with("listed", Column::new(Type::Date).keys(["2020-01-05", "2020-01-20", "2020-02-29"]))
}
const CSV: &str = "d,t,open,listed\n\
    2019-12-31,2019-12-31T23:59:59.999999,2020-01-05,2020-01-05\n\
    2020-01-05,2020-01-05 00:00:00,2020-01-05,2020-01-20\n\
    2020-02-29,2020-02-29T12:30:00Z,2020-01-05,2020-02-29\n\
    2020-03-20,2020-03-20T08:00:00+02:00,2020-02-29,2020-01-06\n\
    2018-01-01,2018-01-01,,\n\
    ,,2020-02-29,2020-02-29\n\
    2020-02-30,2020-02-30T00:00:00,x,x\n\
    tomorrow,2020-01-01T25:00:00,9999-99-99,\n";

fn opened(source: Source, engine: DataFusion) -> Session {
    let sources = vec![("people".into(), source)];
    Session::on(metadata(visits()), sources, Box::new(engine)).unwrap()
}
/// Run a test on the table of [`CSV`]: as a CSV file and as batches, on both engines.
fn on_all(test: impl Fn(&Session)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, CSV).unwrap();
    let csv = || Source::Csv(path.to_string_lossy().into_owned());
    let engine = || DataFusion::new().unwrap();
    test(&opened(csv(), engine()));
    test(&opened(csv(), engine().portable()));
    // Write the cells of the CSV file with their types.
    let reader = opened(csv(), engine());
    let rows = reader.engine.run("SELECT \"d\", \"t\", \"open\", \"listed\" FROM people").unwrap();
    let column = |place: usize, kind: &DataType| {
        let numbers = rows.iter().map(|row| row[place].as_ref().map(|n| n.parse::<i64>().unwrap()));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter(numbers));
        match kind {
            DataType::Date32 => cast(&cast(&numbers, &DataType::Int32).unwrap(), kind).unwrap(),
            kind => cast(&numbers, kind).unwrap(),
        }
    };
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let batch = RecordBatch::try_from_iter([
        ("d", column(0, &DataType::Date32)),
        ("t", column(1, &time)),
        ("open", column(2, &DataType::Date32)),
        ("listed", column(3, &DataType::Date32)),
    ]);
    test(&opened(Source::Batches(vec![batch.unwrap()]), engine()));
}
/// Return the only cell of an answer.
fn count(session: &Session, condition: &str) -> f64 {
    let sql = format!("SELECT COUNT(*) FROM people WHERE {condition}");
    numbers(&ask(session, &sql).table)[0][0]
}
#[test]
fn conditions_on_dates_and_times() {
    on_all(|session| {
        for (condition, rows) in [
            ("d >= '2020-01-05'", 3.0),
            ("d > DATE '2020-01-05'", 2.0),
            ("d < '2020-01-05'", 2.0),
            ("d = CAST('2020-02-29' AS DATE)", 1.0),
            ("d <> '2020-02-29'", 4.0),
            ("d BETWEEN '2019-12-31' AND '2020-02-29'", 3.0),
            ("d NOT BETWEEN DATE '2019-12-31' AND DATE '2020-02-29'", 2.0),
            ("d IN ('2020-02-29', '2018-01-01', '2000-01-01')", 2.0),
            ("d IS NULL", 3.0),
            ("coalesce(d, open) = '2020-02-29'", 2.0),
            ("CASE WHEN d > open THEN d ELSE open END = DATE '2020-02-29'", 2.0),
            ("t >= '2020-01-05'", 3.0),
            ("t > TIMESTAMP '2020-01-05 00:00:00'", 2.0),
            ("t = '2019-12-31T23:59:59.999999'", 1.0),
            ("t = TIMESTAMP '2020-03-20 06:00:00'", 1.0),
            ("t IS NOT NULL", 5.0),
            ("t < d", 0.0),
            ("t = d", 2.0),
            ("CAST(t AS DATE) = d", 5.0),
            ("CAST(d AS TIMESTAMP) <= t", 5.0),
            ("EXTRACT(YEAR FROM d) = 2020", 3.0),
            ("date_part('month', d) = 2", 1.0),
            ("EXTRACT(HOUR FROM t) = 12 AND EXTRACT(MINUTE FROM t) = 30", 1.0),
            ("EXTRACT(SECOND FROM t) = 59", 1.0),
            ("EXTRACT(DOW FROM d) = 0", 1.0),
            ("EXTRACT(WEEK FROM d) = 1", 3.0),
            ("date_trunc('month', d) = '2020-02-01'", 1.0),
            ("date_trunc('hour', t) = '2020-02-29T12:00:00'", 1.0),
            ("date_trunc('year', t) = DATE '2020-01-01'", 3.0),
        ] {
            assert_eq!(count(session, condition), rows, "{condition}");
        }
    });
}
#[test]
fn aggregates_with_dates() {
    on_all(|session| {
        let sql = "SELECT COUNT(d), COUNT(t) FILTER (WHERE d >= '2020-01-01'), \
                   SUM(CASE WHEN open = '2020-01-05' THEN 1 ELSE 0 END), \
                   SUM(EXTRACT(MONTH FROM t)), MIN(EXTRACT(DAY FROM d)) FROM people";
        let found = numbers(&ask(session, sql).table);
        assert_eq!(found[0][..4], [5.0, 3.0, 3.0, 12.0 + 1.0 + 2.0 + 3.0 + 1.0]);
        assert_eq!(found[0][4], 1.0);
        let sql = "SELECT AVG(EXTRACT(YEAR FROM d)) FROM people";
        // The bounds of the years are 2019 and 2020. The year 2018 is moved into them.
        let mean = numbers(&ask(session, sql).table)[0][0];
        assert!((mean - 2019.6).abs() < 1e-6, "{mean}");
    });
}
/// Return the lines of an answer that have cells, without spaces.
fn lines(answer: &Answer) -> Vec<String> {
    let text = crate::answer::printed(&answer.table).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
    lines.map(|line| line.replace(' ', "")).collect()
}
#[test]
fn public_keys_of_dates_follow_from_keys_and_bounds() {
    on_all(|session| {
        let grouped = |key: &str| {
            let sql = format!("SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY {key}");
            lines(&ask(session, &sql))
        };
        assert_eq!(
            grouped("date_trunc('month', d)"),
            ["|2019-12-01|1.0|", "|2020-01-01|1.0|", "|2020-02-01|1.0|", "|2020-03-01|1.0|"]
                .map(|line| line.replace(".0", ""))
        );
        assert_eq!(grouped("EXTRACT(YEAR FROM d)"), ["|2019|1|", "|2020|3|"]);
        assert_eq!(grouped("date_trunc('year', d)"), ["|2019-01-01|1|", "|2020-01-01|3|"]);
        assert_eq!(grouped("EXTRACT(QUARTER FROM d)"), ["|1|4|", "|2|0|", "|3|0|", "|4|1|"]);
        assert_eq!(grouped("listed"), ["|2020-01-05|1|", "|2020-01-20|1|", "|2020-02-29|2|"]);
        assert_eq!(grouped("date_trunc('month', listed)"), ["|2020-01-01|3|", "|2020-02-01|2|"]);
        assert_eq!(grouped("d").len(), 31 + 31 + 29 + 15);
        assert_eq!(grouped("EXTRACT(HOUR FROM t)").len(), 24);
        assert_eq!(grouped("d >= '2020-01-01'"), ["|false|2|", "|true|3|"]);
        // HAVING, ORDER BY and expressions of released keys.
        let sql = "SELECT date_trunc('month', d) AS m, date_trunc('year', date_trunc('month', d)) \
                   AS y, COUNT(*) AS n FROM people GROUP BY 1 \
                   HAVING date_trunc('month', d) < DATE '2020-03-01' ORDER BY m DESC LIMIT 1";
        assert_eq!(lines(&ask(session, sql)), ["|2020-02-01|2020-01-01|1|"]);
    });
}
/// Return a budget with a delta, and practically no noise.
fn with_delta(session: &Session, sql: &str) -> Answer {
    let budget = Budget::epsilon_delta(1e8, 1e-3).unwrap();
    session.query(sql).unwrap().spending(budget).release().unwrap()
}
#[test]
fn keys_of_dates_that_are_not_public_need_a_threshold() {
    let days = (0..400).map(|k| Some([18_262, 18_263, 18_293][k % 3]));
    let days = days.chain([Some(-400_000), None, Some(i32::MAX)]);
    let days: Vec<Option<i32>> = days.collect();
    let times =
        days.iter().map(|day| i64::from((*day)?).checked_mul(DAY)?.checked_add(3_723_000_001));
    let batch = RecordBatch::try_from_iter([
        ("open", Arc::new(Date32Array::from(days.clone())) as ArrayRef),
        ("t", Arc::new(TimestampMicrosecondArray::from_iter(times))),
    ]);
    let table = Table::private(PrivacyUnit::rows(1))
        .with("open", Column::new(Type::Date))
        .with("t", Column::new(Type::Timestamp));
    let mut metadata = metadata(table);
    metadata.budget.delta = Some(0.5);
    let source = Source::Batches(vec![batch.unwrap()]);
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    let grouped = |key: &str| {
        let sql = format!("SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY {key}");
        let error = session.query(&sql).unwrap().spending(plenty()).release().unwrap_err();
        assert!(error.to_string().contains("delta"), "{error}");
        let answer = with_delta(&session, &sql);
        let groups = answer.document["noisy"]["groups"].clone();
        (lines(&answer), groups)
    };
    let (found, groups) = grouped("open");
    assert_eq!(found, ["|2020-01-01|134|", "|2020-01-02|133|", "|2020-02-01|133|"]);
    assert_eq!(groups[0][0], "2020-01-01");
    let (found, _) = grouped("date_trunc('month', open)");
    assert_eq!(found, ["|2020-01-01|267|", "|2020-02-01|133|"]);
    let (found, groups) = grouped("date_trunc('minute', t)");
    assert_eq!(found[0], "|2020-01-01T01:02:00|134|");
    assert_eq!((found.len(), &groups[0][0]), (3, &"2020-01-01T01:02:00".into()));
    assert_eq!(grouped("EXTRACT(YEAR FROM open)").0, ["|2020|400|"]);
}

#[test]
fn mistakes_with_dates_have_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, CSV).unwrap();
    let session =
        opened(Source::Csv(path.to_string_lossy().into_owned()), DataFusion::new().unwrap());
    for (query, part) in [
        ("COUNT(*) FROM people WHERE d > '2020-02-30'", "expected a date of the years 1 to 9999"),
        ("COUNT(*) FROM people WHERE d > '2020-01-01T10:00:00'", "as in '2020-01-31'"),
        ("COUNT(*) FROM people WHERE t > 'noon'", "as in '2020-01-31T12:00:00'"),
        ("COUNT(*) FROM people WHERE d + INTERVAL '1 month' > '2020-01-01'", "INTERVAL '30 day'"),
        ("COUNT(*) FROM people WHERE d > 20200101", "date"),
        ("COUNT(*) FROM people WHERE EXTRACT(CENTURY FROM d) = 20", "expected year, quarter"),
        ("COUNT(*) FROM people WHERE EXTRACT(HOUR FROM d) = 2", "a date has no hours"),
        ("COUNT(*) FROM people WHERE date_trunc('decade', d) = d", "expected year, quarter"),
        ("COUNT(*) FROM people WHERE CAST('x' AS DATE) = d", "expected a date"),
        ("COUNT(*) FROM people WHERE to_char(d, '%Y') = '2020'", "to_char()"),
        ("COUNT(*) FROM people WHERE now() > t", "depend on the time of the query"),
        ("COUNT(*) FROM people WHERE d > current_date - 30", "as in DATE '2020-01-31'"),
        ("MIN(d) FROM people", "min(EXTRACT(YEAR FROM d))"),
        ("MAX(t) FROM people", "of type timestamp"),
        ("SUM(d) FROM people", "of type date"),
        ("AVG(EXTRACT(YEAR FROM t)) FROM people", "no bounds"),
    ] {
        let error = session.query(&format!("SELECT {query}")).unwrap_err().to_string();
        assert!(error.contains(part), "{query}\n{error}");
    }
    let described = |column: &str| {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\nunit = {{ rows = 1 }}\n[tables.t.columns]\na = {column}\n"
        );
        Metadata::parse(&text).map(|_| ()).map_err(|error| error.to_string())
    };
    for (column, part) in [
        ("{ type = \"date\", bounds = [0, 1] }", "write `lower` and `upper`"),
        ("{ type = \"integer\", lower = \"2020-01-01\" }", "for numbers, write `bounds`"),
        ("{ type = \"date\", lower = \"2020-01-01\" }", "expected both `lower` and `upper`"),
        ("{ type = \"date\", lower = \"2020\", upper = \"2021\" }", "found \"2020\""),
        ("{ type = \"date\", lower = \"2020-01-02\", upper = \"2020-01-01\" }", "not before"),
        ("{ type = \"date\", keys = [\"2020-02-30\"] }", "as in \"2020-01-31\""),
        ("{ type = \"date\", keys = [20200101] }", "expected keys of type date"),
        ("{ type = \"timestamp\", candidates = [1] }", "expected a column of numbers"),
    ] {
        let error = described(column).unwrap_err();
        assert!(error.contains(part), "{column}\n{error}");
    }
    let good = "{ type = \"timestamp\", lower = \"2020-01-01\", upper = \"2020-12-31T23:59:59\" }";
    assert_eq!(described(good), Ok(()));
    assert_eq!(described("{ type = \"date\", keys = [\"2020-02-29\"] }"), Ok(()));
}
/// A data frame and a text in SQL ask the same question.
#[test]
fn a_data_frame_uses_dates_as_sql_does() {
    use datafusion::common::ScalarValue;
    use datafusion::functions_aggregate::expr_fn::count;
    use datafusion::prelude::{col, lit};
    on_all(|session| {
        for literal in [lit("2020-01-05"), lit(ScalarValue::Date32(Some(18_266)))] {
            let frame = session.table("people").unwrap();
            let frame = frame.filter(col("d").gt_eq(literal)).unwrap();
            let frame = frame.aggregate(vec![], vec![count(lit(1_i64))]).unwrap();
            let question = session.ask(frame).unwrap().spending(plenty());
            let sql = "SELECT COUNT(*) FROM people WHERE d >= DATE '2020-01-05'";
            assert_eq!(question.digest(), session.query(sql).unwrap().digest());
            assert_eq!(numbers(&question.release().unwrap().table), [[3.0]]);
        }
    });
}
/// Plans without dates and functions of texts have the digests that they had before these existed.
/// The id of a release belongs to the digest of its plan.
#[test]
fn digests_of_other_plans_do_not_change() {
    let session = session(PrivacyUnit::id("pid", 2));
    for (sql, digest) in [
        (
            "SELECT sex, COUNT(*), AVG(age), SUM(income) FROM people GROUP BY sex",
            "810ed6d09b20a46dbd122a471f74f3cfd1d7ef6167067682be8840a9a14d2008",
        ),
        (
            "SELECT MEDIAN(age), COUNT(*) FILTER (WHERE town = 'a' OR coalesce(income, 5) / age > 1) \
             FROM people WHERE employed",
            "5807b11e0e8340d14805dd91a8582dc9e55387a48ef2bb00c5a158a16f8d0bfb",
        ),
    ] {
        assert_eq!(session.query(sql).unwrap().digest(), digest, "{sql}");
    }
}
