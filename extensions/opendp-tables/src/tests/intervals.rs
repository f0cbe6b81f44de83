//! Test sums and differences of dates, times and intervals.

use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};

use super::*;
use crate::calendar::{self, DAY, DAYS, Interval, TIMES, movable, printed};
use crate::engine::{DataFusion, Engine};

/// Rows of days and times. The first rows have the ends of the calendar, and cells beyond it.
fn rows() -> Vec<(Option<i64>, Option<i64>)> {
    let day = |year, month, day| calendar::day_of(year, month, day);
    let time = |days: Option<i64>, micros: i64| Some(days? * DAY + micros);
    vec![
        (Some(DAYS.0), Some(TIMES.0)),
        (Some(DAYS.1), Some(TIMES.1)),
        (Some(DAYS.0 - 1), Some(TIMES.0 - 1)),
        (Some(i64::from(i32::MAX)), Some(i64::MAX)),
        (Some(i64::from(i32::MIN)), Some(i64::MIN)),
        (None, None),
        (day(2020, 1, 31), time(day(2020, 2, 1), 0)),
        (day(2020, 2, 28), time(day(2020, 2, 29), DAY - 1)),
        (day(2020, 3, 1), time(day(2020, 3, 8), DAY / 2)),
    ]
}
fn visits() -> Table {
    Table::private(PrivacyUnit::rows(1))
        .with("d", Column::new(Type::Date).between("2020-01-01", "2020-03-31"))
        .with("t", Column::new(Type::Timestamp))
        .with("open", Column::new(Type::Date))
}
/// Run a test on the rows, on both engines.
fn on_both(test: impl Fn(&Session)) {
    let days = || rows().into_iter().map(|(day, _)| day.map(|day| i32::try_from(day).unwrap()));
    let times = rows().into_iter().map(|(_, time)| time);
    let batch = RecordBatch::try_from_iter([
        ("d", Arc::new(Date32Array::from_iter(days())) as ArrayRef),
        ("t", Arc::new(TimestampMicrosecondArray::from_iter(times))),
        ("open", Arc::new(Date32Array::from_iter(days()))),
    ]);
    let batch = batch.unwrap();
    for portable in [false, true] {
        let engine = DataFusion::new().unwrap();
        let engine = if portable { engine.portable() } else { engine };
        let sources = vec![("people".into(), Source::Batches(vec![batch.clone()]))];
        test(&Session::on(metadata(visits()), sources, Box::new(engine)).unwrap());
    }
}
fn count(session: &Session, condition: &str) -> f64 {
    let sql = format!("SELECT COUNT(*) FROM people WHERE {condition}");
    numbers(&ask(session, &sql).table)[0][0]
}
fn refused(session: &Session, sql: &str) -> String {
    match session.query(sql) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted: {sql}"),
    }
}
/// Each sum of a literal and an interval is that of another implementation.
#[test]
fn literals_are_moved_as_by_the_engine() {
    let engine = DataFusion::new().unwrap();
    let text = |sql: &str| engine.run(&format!("SELECT {sql}")).unwrap()[0][0].clone().unwrap();
    let days = ["2020-01-31", "2020-02-29", "2019-12-31", "1900-02-28", "0001-01-01", "9999-12-31"];
    for months in [-25, -12, -2, -1, 0, 1, 2, 11, 12, 13, 49] {
        for more in [-32, -1, 0, 1, 400] {
            for day in days {
                let Some(crate::Value::Date(number)) = calendar::date(day) else { panic!("{day}") };
                let interval = Interval { months, days: more, micros: 0 };
                let Some(found) = interval.after(Type::Date, number) else {
                    assert!(
                        day.starts_with("0001") || day.starts_with("9999"),
                        "{day} {interval:?}"
                    );
                    continue;
                };
                let sql = format!(
                    "CAST(DATE '{day}' + INTERVAL '{months} months {more} days' AS VARCHAR)"
                );
                assert_eq!(calendar::show_date(found), text(&sql), "{sql}");
                let micros = interval.after(Type::Timestamp, number * DAY + 7).unwrap();
                assert_eq!(micros, found * DAY + 7);
            }
        }
    }
    let after =
        |months, days, micros, kind, number| Interval { months, days, micros }.after(kind, number);
    assert_eq!(after(0, 0, -1, Type::Timestamp, 0), Some(-1));
    assert_eq!(after(1, -31, DAY, Type::Timestamp, 0), Some(DAY));
    for (months, days, micros, kind, number) in [
        (0, 1, 0, Type::Date, DAYS.1),
        (0, -1, 0, Type::Date, DAYS.0),
        (1, 0, 0, Type::Date, DAYS.1),
        (-1, 0, 0, Type::Date, DAYS.0),
        (0, 0, 1, Type::Timestamp, TIMES.1),
        (0, 0, -1, Type::Timestamp, TIMES.0),
        (0, 0, 1, Type::Date, 0),
        (i64::MAX, 0, 0, Type::Date, 0),
        (0, i64::MAX, 0, Type::Timestamp, 0),
        (0, i64::MIN, i64::MIN, Type::Timestamp, 0),
        (0, 1, i64::MAX, Type::Timestamp, 0),
    ] {
        assert_eq!(after(months, days, micros, kind, number), None, "{months} {days} {micros}");
    }
}
/// The printed formulas compute the same numbers as Rust, or null beyond the calendar.
#[test]
fn printed_shifts_stay_within_the_calendar() {
    let engine = DataFusion::new().unwrap();
    for (kind, (first, last)) in [(Type::Date, DAYS), (Type::Timestamp, TIMES)] {
        let whole = last - first;
        for length in [1, -1, 40, -whole, whole, whole - 1] {
            let (least, largest) = movable(kind, length);
            let numbers = [first, first + 1, 0, last - 1, last, least, largest];
            for number in numbers.into_iter().filter(|n| (first..=last).contains(n)) {
                let value = format!("CAST('{number}' AS BIGINT)");
                let sql =
                    format!("SELECT CAST({} AS VARCHAR)", printed::shifted(kind, length, &value));
                let moved = number + length;
                let expected = (first..=last).contains(&moved).then(|| moved.to_string());
                assert_eq!(engine.run(&sql).unwrap(), [[expected]], "{sql}");
            }
        }
    }
}
#[test]
fn conditions_with_intervals() {
    on_both(|session| {
        for (condition, rows) in [
            ("d >= DATE '2020-01-31' + INTERVAL '1 month'", 2.0),
            ("d = DATE '2020-01-31' + INTERVAL '1 month' - INTERVAL '1 day'", 1.0),
            ("d < INTERVAL '1 day' + DATE '2020-01-31'", 2.0),
            ("t > TIMESTAMP '2020-03-01 00:00:00' - INTERVAL '1 microsecond'", 2.0),
            ("t >= DATE '2020-03-01' - INTERVAL '1 day'", 3.0),
            // The ends of the calendar become null. All other rows are counted.
            ("d + INTERVAL '1 day' IS NOT NULL", 4.0),
            ("d - INTERVAL '1 day' IS NOT NULL", 4.0),
            ("d + INTERVAL '3652058 day' IS NOT NULL", 1.0),
            ("d + INTERVAL '0 day' IS NOT NULL", 5.0),
            ("d + INTERVAL '1 day' = '2020-02-29'", 1.0),
            ("d - -1 = '2020-02-29'", 1.0),
            ("1 + d = '2020-02-29'", 1.0),
            ("t + INTERVAL '1 microsecond' IS NOT NULL", 4.0),
            ("t - INTERVAL '1 microsecond' IS NOT NULL", 4.0),
            ("t + INTERVAL '1 microsecond' = '2020-03-01'", 1.0),
            ("t < d + INTERVAL '7 day'", 3.0),
            ("t <= d + INTERVAL '2 day'", 3.0),
            ("t - INTERVAL '36 hours' > d", 2.0),
            ("CAST(d AS TIMESTAMP) + INTERVAL '24 hours' = t", 1.0),
            ("CAST(t AS DATE) - d = 1", 2.0),
            ("d - CAST(t AS DATE) < 0", 3.0),
            ("d - open = 0", 5.0),
            ("d - '2020-02-28' BETWEEN 0 AND 2", 2.0),
            ("d - DATE '2020-02-28' > 7000", 1.0),
            ("DATE '2020-03-01' - d IN (1, 2)", 1.0),
            ("DATE '2020-03-01' - DATE '2020-02-01' = 29", 9.0),
            ("(d - open) / 2.0 = 0", 5.0),
        ] {
            assert_eq!(count(session, condition), rows, "{condition}");
        }
    });
}
#[test]
fn differences_have_bounds_and_public_keys() {
    on_both(|session| {
        let first = |sql: &str| numbers(&ask(session, sql).table)[0][0];
        // The bounds of the difference are 0 and 90. The two ends of the calendar are moved there.
        let sum = first("SELECT SUM(d - DATE '2020-01-01') FROM people");
        assert_eq!(sum, 90.0 + 30.0 + 58.0 + 60.0);
        assert_eq!(
            first("SELECT SUM(DATE '2020-03-31' - d) FROM people"),
            90.0 + 60.0 + 32.0 + 30.0
        );
        assert_eq!(first("SELECT MAX(d - DATE '2020-01-01') FROM people"), 90.0);
        let mean = first("SELECT AVG(clamp(CAST(t AS DATE) - open, 0, 9)) FROM people");
        assert!((mean - 9.0 / 5.0).abs() < 1e-6, "{mean}");
        let answer =
            ask(session, "SELECT d - DATE '2020-02-28' AS k, COUNT(*) FROM people GROUP BY 1");
        let found = numbers(&answer.table);
        assert_eq!(found.len(), 91);
        assert_eq!((&found[0][0], &found[90][0]), (&-58.0, &32.0));
        let counts: Vec<f64> = found.iter().map(|row| row[1]).collect();
        assert_eq!(counts.iter().sum::<f64>(), 3.0);
        assert_eq!([counts[58 - 28], counts[58], counts[60]], [1.0; 3]);
        // Moved dates are public keys too.
        let answer =
            ask(session, "SELECT d + 1 AS k, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY 1");
        assert_eq!(answer.table.num_rows(), 91);
        let sql =
            "SELECT COUNT(*) AS n FROM people GROUP BY date_trunc('month', d + INTERVAL '31 day')";
        assert_eq!(numbers(&ask(session, sql).table), [[0.0], [2.0], [1.0], [0.0]]);
        // After the release, dates are subtracted too.
        let sql = "SELECT d - DATE '2020-01-01' AS k, COUNT(*) AS n FROM people GROUP BY d HAVING \
                   COUNT(*) > 0 ORDER BY k DESC";
        assert_eq!(numbers(&ask(session, sql).table), [[60.0, 1.0], [58.0, 1.0], [30.0, 1.0]]);
        let first_day = "SELECT DATE '2020-01-01' + MIN(d - DATE '2020-01-01') AS k FROM people";
        assert_eq!(ask(session, first_day).table.num_rows(), 1);
    });
}
#[test]
fn mistakes_with_intervals_have_clear_errors() {
    on_both(|session| {
        for (condition, part) in [
            ("d + INTERVAL '1 month' > '2020-01-01'", "so only literals can be moved"),
            ("d + INTERVAL '1 hour' > '2020-01-01'", "a date has no hours"),
            ("DATE '2020-01-01' + INTERVAL '1 hour' > d", "a date has no hours"),
            ("t + 1 > '2020-01-01'", "write an interval, as in t + INTERVAL '7 day'"),
            ("t - t > INTERVAL '1 day'", "CAST(t AS DATE) - CAST(u AS DATE)"),
            ("t - d > 3", "difference of times"),
            ("d + d > 3", "write the difference of two dates"),
            ("d - 1.5 > '2020-01-01'", "write the difference of two dates"),
            ("INTERVAL '1 day' > 3", "an interval can only be added"),
            ("INTERVAL '1 day' - d > 3", "an interval can only be added"),
            ("d > DATE '9999-12-31' + INTERVAL '1 day'", "beyond the years 1 to 9999"),
            ("d + 4000000 IS NULL", "beyond the years 1 to 9999"),
            ("t > TIMESTAMP '2020-01-01' + INTERVAL '1 nanosecond'", "whole microseconds"),
            ("'2020-01-01' + INTERVAL '1 day' < d", "write DATE or TIMESTAMP before the text"),
            ("d - '2020-02-30' = 1", "found '2020-02-30'"),
            ("EXTRACT(DAY FROM d - open) = 1", "already a number of days"),
            ("date_diff('day', d, open) = 1", "write d - e"),
            ("date_add(d, 3) = open", "INTERVAL '7 day'"),
            ("age(d) = open", "write d - e"),
            ("year(d) = 2020", "EXTRACT(YEAR FROM d)"),
        ] {
            let error = refused(session, &format!("SELECT COUNT(*) FROM people WHERE {condition}"));
            assert!(error.contains(part), "{condition}\n{error}");
            assert!(!error.contains("MonthDayNano"), "{error}");
        }
        let error = refused(session, "SELECT AVG(open - d) FROM people");
        assert!(error.contains("`lower` and `upper` of the dates"), "{error}");
        let error = refused(session, "SELECT AVG(d - '2020-01-01') FROM people");
        assert!(error.contains("`date - text` is not defined"), "{error}");
        // Each interval copies its operand, so a long chain is an error and fills no memory.
        let long = "d".to_owned() + &" + INTERVAL '1 day'".repeat(40);
        let error = refused(session, &format!("SELECT COUNT(*) FROM people WHERE {long} = open"));
        assert!(error.contains("nested too deeply"), "{error}");
    });
}
