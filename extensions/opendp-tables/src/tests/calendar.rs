//! Check the formulas of the calendar: in Rust, as SQL, and compared with another implementation.

use std::collections::HashMap;

use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::compute::{DatePart, date_part};
use datafusion::arrow::datatypes::Int32Type;

use super::*;
use crate::Value;
use crate::calendar::{self, DAY, DAYS, Part, Period, TIMES, printed};
use crate::engine::{DataFusion, Engine};

const PARTS: [Part; 11] = [
    Part::Year,
    Part::Quarter,
    Part::Month,
    Part::Week,
    Part::Day,
    Part::DayOfYear,
    Part::DayOfWeek,
    Part::IsoDayOfWeek,
    Part::Hour,
    Part::Minute,
    Part::Second,
];
const PERIODS: [Period; 8] = [
    Period::Year,
    Period::Quarter,
    Period::Month,
    Period::Week,
    Period::Day,
    Period::Hour,
    Period::Minute,
    Period::Second,
];

/// Return days of the whole calendar: the ends, all days of some years, and every 97th day.
fn days() -> Vec<i64> {
    let year = |year| {
        let first = calendar::day_of(year, 1, 1).unwrap();
        let last = calendar::day_of(year, 12, 31).unwrap();
        first..=last
    };
    let years = [1, 2, 4, 100, 400, 1582, 1900, 1969, 1970, 2000, 2023, 2024, 9996, 9999];
    let years = years.into_iter().flat_map(year);
    years.chain((DAYS.0..=DAYS.1).step_by(97)).chain([DAYS.0, DAYS.1]).collect()
}
/// Return times of [`days`], and times around the starts of seconds, minutes, hours and days.
fn times() -> Vec<i64> {
    let clock = [0, 1, 999_999, 1_000_000, 59_999_999, 3_600_000_000, DAY / 2 - 1, DAY - 1];
    let all = days().into_iter().step_by(7);
    let all = all.enumerate().map(|(k, day)| day * DAY + clock[k % clock.len()]);
    all.chain([TIMES.0, TIMES.1, -1, 0, 1]).collect()
}
/// Return the part of arrow that a part stands for.
fn of_arrow(part: Part) -> DatePart {
    match part {
        Part::Year => DatePart::Year,
        Part::Quarter => DatePart::Quarter,
        Part::Month => DatePart::Month,
        Part::Week => DatePart::Week,
        Part::Day => DatePart::Day,
        Part::DayOfYear => DatePart::DayOfYear,
        Part::DayOfWeek => DatePart::DayOfWeekSunday0,
        Part::IsoDayOfWeek => DatePart::DayOfWeekMonday1,
        Part::Hour => DatePart::Hour,
        Part::Minute => DatePart::Minute,
        Part::Second => DatePart::Second,
    }
}
/// Check that the parts and the starts of periods are those of other implementations, and that the
/// printed formulas compute the same numbers.
fn formulas_are_right(kind: Type, numbers: &[i64]) {
    let typed: ArrayRef = match kind {
        Type::Date => {
            Arc::new(Date32Array::from_iter_values(numbers.iter().map(|day| *day as i32)))
        }
        _ => Arc::new(TimestampMicrosecondArray::from_iter_values(numbers.iter().copied())),
    };
    let engine = DataFusion::new().unwrap();
    let table = Table::private(PrivacyUnit::rows(1)).with("x", Column::new(Type::Integer));
    let column: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    engine.register("t", &table, Source::Batches(vec![batch])).unwrap();
    // The engine returns the rows in any order.
    let run = |formula: &str| -> Vec<i64> {
        let rows = engine.run(&format!("SELECT x, {formula} AS y FROM t")).unwrap();
        let number = |cell: &Option<String>| cell.as_ref().unwrap().parse::<i64>().unwrap();
        let found: HashMap<i64, i64> =
            rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
        numbers.iter().map(|number| found[number]).collect()
    };
    for part in PARTS.into_iter().filter(|part| kind == Type::Timestamp || !part.is_of_times()) {
        let ours: Vec<i64> = numbers.iter().map(|n| calendar::part(part, kind, *n)).collect();
        let theirs = date_part(&typed, of_arrow(part)).unwrap();
        let theirs = theirs.as_primitive::<Int32Type>().values().iter().map(|x| i64::from(*x));
        assert!(ours.iter().copied().eq(theirs), "{part:?}");
        assert!(ours == run(&printed::part(part, kind, "x")), "{part:?}");
        let (least, largest) = part.range();
        assert!(ours.iter().all(|x| (least..=largest).contains(x)), "{part:?}");
        assert!(ours.contains(&least) && ours.contains(&largest), "{part:?}");
    }
    for period in PERIODS {
        if kind == Type::Date && period.part_of_day().is_some() {
            continue;
        }
        let ours: Vec<i64> = numbers.iter().map(|n| calendar::start(period, kind, *n)).collect();
        assert!(ours == run(&printed::start(period, kind, "x")), "{period:?}");
        let least = if kind == Type::Date { DAYS.0 } else { TIMES.0 };
        assert!(ours.iter().zip(numbers).all(|(start, x)| least <= *start && start <= x));
    }
}
#[test]
fn the_formulas_of_dates_are_those_of_the_calendar() {
    formulas_are_right(Type::Date, &days());
    // Each start is the day of its period whose parts are the first ones.
    for day in days() {
        let start = |period| calendar::start(period, Type::Date, day);
        let (year, month, _) = calendar::civil(day);
        assert_eq!(calendar::civil(start(Period::Year)), (year, 1, 1));
        assert_eq!(calendar::civil(start(Period::Quarter)), (year, (month - 1) / 3 * 3 + 1, 1));
        assert_eq!(calendar::civil(start(Period::Month)), (year, month, 1));
        assert_eq!(calendar::part(Part::IsoDayOfWeek, Type::Date, start(Period::Week)), 1);
        assert!(day - start(Period::Week) < 7);
        let text = calendar::show_date(day);
        assert_eq!(calendar::date(&text), Some(Value::Date(day)), "{text}");
    }
}
#[test]
fn the_formulas_of_times_are_those_of_the_calendar() {
    formulas_are_right(Type::Timestamp, &times());
    for time in times() {
        let text = calendar::show_time(time);
        assert_eq!(calendar::time(&text), Some(Value::Timestamp(time)), "{text}");
    }
}
#[test]
fn only_days_and_times_of_the_calendar_are_read() {
    for text in [
        "2023-02-29",
        "1900-02-29",
        "2020-00-01",
        "2020-13-01",
        "2020-04-31",
        "0000-01-01",
        "10000-01-01",
        "-001-01-01",
        "2020-1-1",
        "20200101",
        "2020-01-01 ",
        "",
        "2020-01-01T00:00",
        "٢٠٢٠-01-01",
    ] {
        assert_eq!(calendar::date(text), None, "{text}");
    }
    for text in [
        "2020-01-01T24:00:00",
        "2020-01-01T00:60:00",
        "2020-01-01T00:00:60",
        "2020-01-01T0:00",
        "2020-01-01T00:00:00.1234567",
        "2020-01-01T00:00:00+01:00",
        "2020-01-01T00",
        "T00:00",
        "2020-01-01T00:00.5",
    ] {
        assert_eq!(calendar::time(text), None, "{text}");
    }
    let noon = Some(Value::Timestamp(DAY / 2));
    for text in ["1970-01-01T12:00", "1970-01-01 12:00:00", "1970-01-01T12:00:00.000Z"] {
        assert_eq!(calendar::time(text), noon, "{text}");
    }
    assert_eq!(calendar::time("1970-01-01"), Some(Value::Timestamp(0)));
    assert_eq!(calendar::date("2000-02-29"), Some(Value::Date(11_016)));
}
