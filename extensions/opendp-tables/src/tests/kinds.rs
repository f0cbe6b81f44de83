//! Check queries with dates, times and texts on random neighbours: no claimed bound is exceeded,
//! and all engines give the same results, bit for bit. `OPENDP_TABLES_QUERIES` sets the number of
//! queries.

use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};

use super::postgres::Psql;
use super::sensitivity::{Dice, exceeded, unit};
use super::*;
use crate::calendar::{self, DAY, DAYS, TIMES};
use crate::engine::DataFusion;
use crate::ir::Plan;
use crate::released::Exact;

const SEED: &str = "0123456789abcdef";

#[derive(Clone, Debug)]
struct Visit {
    pid: Option<i64>,
    day: Option<i64>,
    time: Option<i64>,
    word: Option<&'static str>,
}
fn visit(dice: &mut Dice) -> Visit {
    let near = calendar::day_of(2020, 2, 27).unwrap();
    let days =
        [DAYS.0, DAYS.0 - 1, DAYS.1, DAYS.1 + 1, 0, -1, i64::from(i32::MAX), i64::from(i32::MIN)];
    let times = [TIMES.0, TIMES.0 - 1, TIMES.1, TIMES.1 + 1, -1, 0, i64::MAX, i64::MIN];
    let day = match dice.below(4) {
        0 => dice.pick(&days),
        _ => near + dice.below(5) as i64,
    };
    let time = match dice.below(4) {
        0 => dice.pick(&times),
        _ => (near + dice.below(4) as i64) * DAY + dice.below(5) as i64 * (DAY / 4 - 1),
    };
    let words = ["ab", "Ab ", " AB", "a%b", "a_b", "ß", "", "a longer text than twelve bytes"];
    Visit {
        pid: dice.pick(&[Some(1), Some(2), Some(3), None]),
        day: Some(day).filter(|_| dice.below(8) > 0),
        time: Some(time).filter(|_| dice.below(8) > 0),
        word: Some(dice.pick(&words)).filter(|_| dice.below(8) > 0),
    }
}
fn described(unit: PrivacyUnit) -> Table {
    Table::private(unit)
        .with("pid", Column::new(Type::Integer))
        .with("day", Column::new(Type::Date).between("2020-02-01", "2020-03-01"))
        .with("time", Column::new(Type::Timestamp))
        .with("word", Column::new(Type::Text))
}
fn batch(rows: &[Visit]) -> RecordBatch {
    let days = rows.iter().map(|row| row.day.map(|day| i32::try_from(day).unwrap()));
    let columns: [(&str, ArrayRef); 4] = [
        ("pid", Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.pid)))),
        ("day", Arc::new(Date32Array::from_iter(days))),
        ("time", Arc::new(TimestampMicrosecondArray::from_iter(rows.iter().map(|row| row.time)))),
        ("word", Arc::new(StringArray::from_iter(rows.iter().map(|row| row.word)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}
fn neighbours(dice: &mut Dice, unit: &PrivacyUnit) -> [Vec<Visit>; 2] {
    let mut less: Vec<Visit> = (0..dice.below(12)).map(|_| visit(dice)).collect();
    let extra = 1 + dice.below(unit.rows.map_or(8, |rows| rows as usize));
    let mut more: Vec<Visit> = (0..extra).map(|_| visit(dice)).collect();
    if unit.id.is_some() {
        let pid = dice.pick(&[1, 2, 3]);
        less.retain(|row| row.pid != Some(pid));
        more.iter_mut().for_each(|row| row.pid = Some(pid));
    }
    let mut all = [more, less.clone()].concat();
    for k in (1..all.len()).rev() {
        all.swap(k, dice.below(k + 1));
    }
    [all, less]
}
fn query(dice: &mut Dice) -> String {
    let filters = [
        "",
        " WHERE day >= '2020-02-28'",
        " WHERE time < TIMESTAMP '2020-02-29 12:00:00' OR day IS NULL",
        " WHERE word LIKE 'a%' OR lower(trim(word)) = 'ab'",
        " WHERE day BETWEEN '2020-02-28' AND '2020-02-29' AND word NOT LIKE '%\\_%'",
        " WHERE CAST(time AS DATE) = day",
        " WHERE EXTRACT(YEAR FROM time) IN (1, 2020, 9999)",
        " WHERE day + INTERVAL '3 day' > '2020-03-01' OR day - 800000 IS NULL",
        " WHERE time - INTERVAL '6 hours 1 microsecond' < day OR time + INTERVAL '1 day' IS NULL",
        " WHERE CAST(time AS DATE) - day BETWEEN -1 AND 2000000",
    ];
    let keys = [
        "",
        " GROUP BY date_trunc('month', day)",
        " GROUP BY EXTRACT(DAY FROM day)",
        " GROUP BY day",
        " GROUP BY time",
        " GROUP BY date_trunc('week', time)",
        " GROUP BY date_trunc('hour', time), day",
        " GROUP BY EXTRACT(YEAR FROM time)",
        " GROUP BY day - INTERVAL '2 day'",
        " GROUP BY day - DATE '2020-02-28'",
        " GROUP BY CAST(time AS DATE) - day",
        " GROUP BY date_trunc('month', time + INTERVAL '36 hours')",
        " GROUP BY lower(left(word, 2))",
        " GROUP BY word || '-' || substr(word, 2, 1)",
        " GROUP BY length(word)",
        " GROUP BY word ILIKE '%B%'",
    ];
    let aggregates = [
        "COUNT(*)",
        "COUNT(day)",
        "COUNT(time) FILTER (WHERE day > '2020-02-28')",
        "SUM(EXTRACT(MONTH FROM day))",
        "AVG(EXTRACT(HOUR FROM time))",
        "STDDEV(EXTRACT(DOY FROM time))",
        "MEDIAN(EXTRACT(WEEK FROM day))",
        "MIN(EXTRACT(YEAR FROM day))",
        "AVG(day - DATE '2020-02-28')",
        "MAX(day - DATE '2020-01-01')",
        "VAR(clamp(CAST(time AS DATE) - day, -5, 5))",
        "SUM(EXTRACT(DOY FROM day + INTERVAL '60 day'))",
        "SUM(clamp(length(word), 0, 5))",
        "SUM(CASE WHEN word LIKE '%b' THEN 2 WHEN date_trunc('quarter', day) = '2020-01-01' \
         THEN 1 ELSE -1 END)",
        "COUNT(concat(word, 'x')) FILTER (WHERE starts_with(word, 'a'))",
    ];
    let count = 1 + dice.below(3);
    let chosen: Vec<String> =
        (0..count).map(|k| format!("{} AS a{k}", dice.pick(&aggregates))).collect();
    format!("SELECT {} FROM people{}{}", chosen.join(", "), dice.pick(&filters), dice.pick(&keys))
}
fn planned(unit: &PrivacyUnit) -> Session {
    let idle = Box::new(DataFusion::new().unwrap());
    Session::with_engine(metadata(described(unit.clone())), idle).unwrap()
}
fn exact(plan: &Plan, unit: &PrivacyUnit, rows: &[Visit]) -> Exact {
    let engine = DataFusion::new().unwrap();
    let middle = rows.len() / 2;
    let batches = vec![batch(&rows[..middle]), batch(&rows[middle..])];
    engine.register("people", &described(unit.clone()), Source::Batches(batches)).unwrap();
    let exact = Exact::run(plan, &engine, SEED).unwrap();
    let portable = Exact::run(plan, &engine.portable(), SEED).unwrap();
    assert_eq!((&exact.sums, &exact.buckets), (&portable.sums, &portable.buckets), "{rows:?}");
    exact
}
#[test]
fn no_claimed_bound_is_exceeded() {
    let count = std::env::var("OPENDP_TABLES_QUERIES").ok().and_then(|text| text.parse().ok());
    let mut dice = Dice::new(23);
    let mut changed = 0;
    for _ in 0..count.unwrap_or(60) {
        let unit = unit(&mut dice);
        let sql = query(&mut dice);
        let plan = planned(&unit).checked(&sql).unwrap().plan;
        let [all, less] = neighbours(&mut dice, &unit);
        let (left, right) = (exact(&plan, &unit, &all), exact(&plan, &unit, &less));
        assert_eq!(exceeded(&plan, &left, &right), None, "{sql}\n{all:?}\n{less:?}");
        changed += usize::from((left.sums, left.buckets) != (right.sums, right.buckets));
    }
    assert!(changed > 20, "{changed}");
}
/// The control: a table with one more row than the unit states exceeds the bound.
#[test]
fn control_one_more_row_than_the_unit_exceeds_the_bound() {
    let unit = PrivacyUnit::rows(1);
    let sql = "SELECT COUNT(*) FROM people WHERE day >= '2020-01-01'";
    let plan = planned(&unit).checked(sql).unwrap().plan;
    let row = Visit { pid: None, day: Some(18_321), time: None, word: None };
    let run = |rows: usize| exact(&plan, &unit, &vec![row.clone(); rows]);
    assert_eq!(exceeded(&plan, &run(3), &run(2)), None);
    assert!(exceeded(&plan, &run(3), &run(1)).is_some());
}
fn table_of(rows: &[Visit]) -> String {
    let mut text = String::from(
        "SET client_min_messages = error; DROP TABLE IF EXISTS people;\n\
         CREATE TABLE people (pid BIGINT, day DATE, time TIMESTAMP, word TEXT);\n",
    );
    let cell = |cell: Option<String>| {
        cell.map_or("NULL".into(), |cell| format!("'{}'", cell.replace('\'', "''")))
    };
    let within = |number: i64, (first, last): (i64, i64), show: fn(i64) -> String| match number {
        number if number < first => "-infinity".to_owned(),
        number if last < number => "infinity".to_owned(),
        number => show(number),
    };
    for row in rows {
        let cells = [
            cell(row.pid.map(|pid| pid.to_string())),
            cell(row.day.map(|day| within(day, DAYS, calendar::show_date))),
            cell(row.time.map(|time| within(time, TIMES, calendar::show_time))),
            cell(row.word.map(str::to_owned)),
        ];
        text += &format!("INSERT INTO people VALUES ({});\n", cells.join(", "));
    }
    text
}
#[test]
fn postgresql_gives_the_same_results() {
    let Ok(server) = std::env::var("OPENDP_TABLES_POSTGRES") else {
        eprintln!("SKIPPED: no PostgreSQL server; set OPENDP_TABLES_POSTGRES");
        return;
    };
    // The tables of this test are in their own schema, because another test uses the same names.
    let server = Psql::new(&server, "kinds");
    let mut dice = Dice::new(29);
    for _ in 0..5 {
        let unit = unit(&mut dice);
        let session = planned(&unit);
        let [rows, _] = neighbours(&mut dice, &unit);
        server.execute(&table_of(&rows)).unwrap();
        for _ in 0..4 {
            let sql = query(&mut dice);
            let plan = session.checked(&sql).unwrap().plan;
            let theirs =
                Exact::run(&plan, &server, SEED).unwrap_or_else(|error| panic!("{sql}\n{error}"));
            let ours = exact(&plan, &unit, &rows);
            assert_eq!(ours.sums, theirs.sums, "{sql}\n{rows:?}");
            assert_eq!(ours.buckets, theirs.buckets, "{sql}\n{rows:?}");
        }
    }
}
