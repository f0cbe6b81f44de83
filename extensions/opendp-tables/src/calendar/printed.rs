//! The formulas of the calendar as SQL of integers. All operands are days or microseconds of the
//! calendar, or null. Each formula divides only positive integers by positive literals. So every
//! engine computes the same results, and no row gives an error.

use super::{DAY, DAYS, Part, Period, SHIFT, TIMES, movable};
use crate::{Dialect, Type};

/// A multiple of 7 that makes the number of a day of the calendar positive.
const WEEKS: i64 = 719_173;
/// The number of microseconds that belongs to [`SHIFT`]. It is a multiple of each part of a day.
const SHIFT_OF_TIMES: i64 = SHIFT * DAY;

/// Print the number of a date or of a time that a table stores. If the stored value is beyond the
/// calendar, print null.
pub(crate) fn column(column: &str, kind: Type, dialect: Dialect) -> String {
    let (days, times) = (DAYS, TIMES);
    match (dialect, kind) {
        (Dialect::DataFusion, Type::Date) => {
            let number = format!("CAST({column} AS BIGINT)");
            format!("(CASE WHEN {number} BETWEEN {} AND {} THEN {number} END)", days.0, days.1)
        }
        (Dialect::DataFusion, _) => {
            let number = format!("CAST({column} AS BIGINT)");
            format!("(CASE WHEN {number} BETWEEN {} AND {} THEN {number} END)", times.0, times.1)
        }
        // A difference with an infinite date would be an error.
        (Dialect::PostgreSql, Type::Date) => format!(
            "(CASE WHEN {column} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' \
             THEN CAST({column} - DATE '1970-01-01' AS BIGINT) END)"
        ),
        (Dialect::PostgreSql, _) => format!(
            "(CASE WHEN {column} >= TIMESTAMP '0001-01-01' AND {column} < TIMESTAMP '10000-01-01' \
             THEN CAST(floor(EXTRACT(EPOCH FROM {column}) * 1000000) AS BIGINT) END)"
        ),
    }
}
/// Print the day of a time.
pub(crate) fn day(time: &str) -> String {
    format!("(({time} + {SHIFT_OF_TIMES}) / {DAY} - {SHIFT})")
}
/// Print the time at which a day begins.
pub(crate) fn midnight(day: &str) -> String {
    format!("({day} * {DAY})")
}
/// Print a date plus a number of days, or a time plus a number of microseconds. If the sum is
/// beyond the calendar, print null. The length is at most that of the calendar, so the sum fits
/// into 64 bits.
pub(crate) fn shifted(kind: Type, length: i64, value: &str) -> String {
    let (first, last) = movable(kind, length);
    format!("(CASE WHEN {value} >= {first} AND {value} <= {last} THEN {value} + ({length}) END)")
}
/// Print the number of days from one date to another.
pub(crate) fn days(from: &str, to: &str) -> String {
    format!("({to} - {from})")
}
/// Print the start of the period that contains a date or a time.
pub(crate) fn start(period: Period, kind: Type, value: &str) -> String {
    match (kind, period.part_of_day()) {
        (Type::Timestamp, Some(length)) => {
            format!("({value} - ({value} + {SHIFT_OF_TIMES}) % {length})")
        }
        (Type::Timestamp, None) => midnight(&first_day(period, &day(value))),
        _ => first_day(period, value),
    }
}
fn first_day(period: Period, day: &str) -> String {
    match period {
        Period::Year => format!("({day} - {} + 1)", day_of_year(day)),
        // From the first of March, the quarters begin after 31, 122, 214 and 306 days. Before the
        // first of April, the quarter begins with the year.
        Period::Quarter => {
            let of_march = of_march(day);
            format!(
                "(CASE WHEN {of_march} < 31 THEN {day} - {} + 1 ELSE {day} - {of_march} + CASE \
                 WHEN {of_march} < 122 THEN 31 WHEN {of_march} < 214 THEN 122 \
                 WHEN {of_march} < 306 THEN 214 ELSE 306 END END)",
                day_of_year(day)
            )
        }
        Period::Month => format!("({day} - {} + 1)", day_of_month(day)),
        Period::Week => format!("({day} - ({day} + {}) % 7)", WEEKS + 3),
        _ => day.to_owned(),
    }
}
/// Print a part of a date or a time.
pub(crate) fn part(part: Part, kind: Type, value: &str) -> String {
    let own = if kind == Type::Timestamp { day(value) } else { value.to_owned() };
    let second = format!("(({value} + {SHIFT_OF_TIMES}) / 1000000 % 86400)");
    match part {
        Part::Year => {
            let of_century = of_century(&own);
            let century = format!("(4 * ({own} + {SHIFT}) + 3) / 146097");
            format!("(100 * ({century}) + {of_century} / 4294967296 + {} / 306)", of_march(&own))
        }
        Part::Quarter => format!("(({} - 1) / 3 + 1)", month(&own)),
        Part::Month => month(&own),
        Part::Week => {
            let thursday = format!("({} + 3)", first_day(Period::Week, &own));
            format!("(({} - 1) / 7 + 1)", day_of_year(&thursday))
        }
        Part::Day => day_of_month(&own),
        Part::DayOfYear => day_of_year(&own),
        Part::DayOfWeek => format!("(({own} + {}) % 7)", WEEKS + 4),
        Part::IsoDayOfWeek => format!("(({own} + {}) % 7 + 1)", WEEKS + 3),
        Part::Hour => format!("({second} / 3600)"),
        Part::Minute => format!("({second} % 3600 / 60)"),
        Part::Second => format!("({second} % 60)"),
    }
}
fn of_century(day: &str) -> String {
    format!("(2939745 * (4 * ((4 * ({day} + {SHIFT}) + 3) % 146097 / 4) + 3))")
}
/// Print the number of days since the first of March.
fn of_march(day: &str) -> String {
    format!("({} % 4294967296 / 2939745 / 4)", of_century(day))
}
fn month(day: &str) -> String {
    format!("(((2141 * {} + 197913) / 65536 - 1) % 12 + 1)", of_march(day))
}
fn day_of_month(day: &str) -> String {
    format!("((2141 * {} + 197913) % 65536 / 2141 + 1)", of_march(day))
}
fn day_of_year(day: &str) -> String {
    let march = of_march(day);
    let february = of_march(&format!("({day} - {march} - 1)"));
    format!("(CASE WHEN {march} >= 306 THEN {march} - 305 ELSE {march} + {february} - 304 END)")
}
/// Count the copies of the operand in a printed formula, and bound the number of its other nodes.
/// `print` prints the formula for an operand.
pub(crate) fn size(print: impl Fn(&str) -> String) -> (usize, usize) {
    let text = print("@");
    let copies = text.matches('@').count();
    (copies, 1 + text.split_whitespace().count())
}
