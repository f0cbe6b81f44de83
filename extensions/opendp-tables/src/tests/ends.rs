//! Test cells at the ends of the calendar and beyond it, and texts that are not dates.

use datafusion::arrow::array::{Date32Array, PrimitiveArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};

use super::*;
use crate::calendar::{self, DAY, DAYS, Part, TIMES};
use crate::engine::{DataFusion, Engine};

/// Return numbers of all magnitudes, such as the ends of the calendar and of each type.
fn extremes() -> Vec<i64> {
    let ends = [DAYS.0, DAYS.1, i64::from(i32::MIN), i64::from(i32::MAX), 0, 18_321];
    let units = [1, 86_400, 86_400_000, DAY];
    let all = ends.iter().flat_map(|end| units.map(|unit| end.saturating_mul(unit)));
    let all = all.chain([i64::MIN, i64::MAX, i64::MIN / 1000, i64::MAX / 1000, i64::MIN / DAY]);
    all.flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]).collect()
}
fn stored<T: ArrowTimestampType>(zone: Option<&str>) -> ArrayRef {
    let numbers = extremes().into_iter();
    let array: PrimitiveArray<T> = numbers.map(Some).collect();
    Arc::new(array.with_timezone_opt(zone))
}
/// Return the number of microseconds of a stored number, if it is in the calendar.
fn micros(kind: &DataType, number: i64) -> Option<i64> {
    let number = i128::from(number);
    let time = match kind {
        DataType::Date32 => number * i128::from(DAY),
        DataType::Date64 => number * 1000,
        DataType::Timestamp(TimestampSecondType::UNIT, _) => number * 1_000_000,
        DataType::Timestamp(TimestampMillisecondType::UNIT, _) => number * 1000,
        DataType::Timestamp(TimestampMicrosecondType::UNIT, _) => number,
        _ => number.div_euclid(1000),
    };
    i64::try_from(time).ok().filter(|time| (TIMES.0..=TIMES.1).contains(time))
}
/// An attack: one cell beyond the calendar makes a query fail, or changes other rows. Each query
/// must count the other rows as if this cell were null.
#[test]
fn cells_beyond_the_calendar_are_null() {
    let narrow = extremes().into_iter().filter_map(|n| i32::try_from(n).ok());
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Date32Array::from_iter_values(narrow)),
        cast(&Int64Array::from(extremes()), &DataType::Date64).unwrap(),
    ];
    for zone in [None, Some("-12:30")] {
        columns.push(stored::<TimestampSecondType>(zone));
        columns.push(stored::<TimestampMillisecondType>(zone));
        columns.push(stored::<TimestampMicrosecondType>(zone));
        columns.push(stored::<TimestampNanosecondType>(zone));
    }
    for column in columns {
        let kind = column.data_type().clone();
        let numbers: Vec<i64> = match kind {
            DataType::Date32 => {
                column.as_primitive::<Date32Type>().values().iter().map(|x| i64::from(*x)).collect()
            }
            _ => extremes(),
        };
        let known: Vec<i64> = numbers.iter().filter_map(|n| micros(&kind, *n)).collect();
        assert!(!known.is_empty(), "{kind}");
        for declared in [Type::Date, Type::Timestamp] {
            for portable in [false, true] {
                let engine = DataFusion::new().unwrap();
                let engine = if portable { engine.portable() } else { engine };
                let table = Table::private(PrivacyUnit::rows(1)).with("d", Column::new(declared));
                let batch = RecordBatch::try_from_iter([("d", column.clone())]).unwrap();
                let sources = vec![("people".into(), Source::Batches(vec![batch]))];
                let session = Session::on(metadata(table), sources, Box::new(engine)).unwrap();
                at_extremes(&session, declared, &known, &format!("{kind} {declared:?}"));
            }
        }
    }
}
fn at_extremes(session: &Session, declared: Type, known: &[i64], what: &str) {
    let asked = |sql: &str| numbers(&ask(session, sql).table);
    let all = known.len() as f64;
    assert_eq!(asked("SELECT COUNT(d) FROM people"), [[all]], "{what}");
    let number = |time: &i64| if declared == Type::Date { time.div_euclid(DAY) } else { *time };
    let parts =
        |part: Part| known.iter().map(move |time| calendar::part(part, declared, number(time)));
    let sum = |part: Part| parts(part).sum::<i64>() as f64;
    let found = asked(
        "SELECT SUM(EXTRACT(MONTH FROM d)), SUM(EXTRACT(DOY FROM d)), SUM(EXTRACT(WEEK FROM d)), \
         COUNT(*) FILTER (WHERE date_trunc('week', d) <= d), \
         COUNT(*) FILTER (WHERE date_trunc('year', d) <= d), \
         COUNT(*) FILTER (WHERE CAST(CAST(d AS TIMESTAMP) AS DATE) >= '0001-01-01'), \
         COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM d) BETWEEN 1 AND 9999) FROM people",
    );
    let sums = [sum(Part::Month), sum(Part::DayOfYear), sum(Part::Week)];
    assert_eq!(found[0], [&sums[..], &[all; 4]].concat(), "{what}");
    let mondays = parts(Part::IsoDayOfWeek).filter(|day| *day == 1).count() as f64;
    let found = asked("SELECT EXTRACT(ISODOW FROM d), COUNT(*) FROM people GROUP BY 1 ORDER BY 1");
    assert_eq!((found.len(), found[0][1]), (7, mondays), "{what}");
}
/// The control of the attack: with the functions of the engine, one such cell makes the query of
/// all rows fail.
#[test]
fn control_with_the_functions_of_the_engine_one_cell_makes_a_query_fail() {
    let engine = DataFusion::new().unwrap();
    for (statement, fails) in [
        (
            "SELECT date_trunc('month', x) FROM (VALUES (arrow_cast(1, 'Timestamp(µs)'))) AS t(x)",
            false,
        ),
        (
            "SELECT date_trunc('month', x) FROM (VALUES (arrow_cast(9223372036854775807, 'Timestamp(µs)')), \
          (arrow_cast(1, 'Timestamp(µs)'))) AS t(x)",
            true,
        ),
    ] {
        assert_eq!(engine.run(statement).is_err(), fails, "{statement}");
    }
}
/// Texts that are not dates do not affect other rows, whatever they contain.
#[test]
fn unreadable_texts_are_null() {
    let cells = [
        "2020-02-29",
        "2020-02-30",
        "+10000-01-01",
        "-0001-01-01",
        "0000-12-31",
        "0001-01-01",
        "9999-12-31",
        "10000-01-01",
        "2020-02-29T23:59:60",
        "2020-02-29T23:59:59.999999999999",
        "2020-02-29T00:00:00+25:00",
        "2020-02-29 00:00:00 Nowhere/Town",
        "é",
        "2020-02-29é",
        "2020-02-29T00:00:00é",
        "2020-02-2\u{fe0f}9",
        " 2020-02-29",
        "NaN",
        "infinity",
        "-",
        "+",
        "+99999999999-01-01",
        "2020-02-29T00:00:00.",
        "2020-02-29T12:00:00 America/New_York",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "2020-03-29 02:30:00 Europe/Berlin",
    ];
    let texts: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
    let table = |kind| Table::private(PrivacyUnit::rows(1)).with("d", Column::new(kind));
    let alone = |kind: Type, text: &str| {
        let cell: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let engine = DataFusion::new().unwrap();
        let batch = RecordBatch::try_from_iter([("d", cell)]).unwrap();
        engine.register("people", &table(kind), Source::Batches(vec![batch])).unwrap();
        engine.run("SELECT \"d\" FROM people").unwrap()[0][0].clone()
    };
    for kind in [Type::Date, Type::Timestamp] {
        let engine = DataFusion::new().unwrap();
        let batch = RecordBatch::try_from_iter([("d", texts.clone())]).unwrap();
        engine.register("people", &table(kind), Source::Batches(vec![batch])).unwrap();
        let found = engine.run("SELECT \"d\" FROM people").unwrap().concat();
        let each: Vec<_> = cells.iter().map(|text| alone(kind, text)).collect();
        assert_eq!(found, each, "{kind:?}");
        let known = found
            .iter()
            .flatten()
            .filter(|number| calendar::value(kind, number.parse().unwrap()).is_some());
        let known = known.count() as f64;
        let session = Session::with_engine(metadata(table(kind)), Box::new(engine)).unwrap();
        let sql = "SELECT COUNT(d), COUNT(*) FILTER (WHERE d = '2020-02-29'), \
                   COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM d) > 0) FROM people";
        let found = numbers(&ask(&session, sql).table);
        assert_eq!([found[0][0], found[0][2]], [known, known], "{kind:?}");
        assert!(1.0 <= found[0][1] && found[0][1] < known, "{found:?}");
    }
}
