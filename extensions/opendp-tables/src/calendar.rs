//! The calendar: dates and times as integers, their texts, their parts, and the starts of periods.
//!
//! A plan computes with integers only. A date is a number of days, and a time is a number of
//! microseconds. Both are counted from the first of January 1970 in the Gregorian calendar, without
//! a time zone. The years are 1 to 9999. In this range, no step of the formulas can overflow 64
//! bits, and no divisor is 0. So the value of one row never causes an error. The module
//! [`printed`] writes the same formulas as SQL.

use crate::{Type, Value};

mod interval;
pub(crate) mod printed;
mod text;

pub(crate) use interval::{Interval, movable};
pub(crate) use text::{date, show_date, show_time, time};

/// The first and the last day of the calendar: 0001-01-01 and 9999-12-31.
pub(crate) const DAYS: (i64, i64) = (-719_162, 2_932_896);
/// The number of microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;
/// The first and the last microsecond of the calendar.
pub(crate) const TIMES: (i64, i64) = (DAYS.0 * DAY, (DAYS.1 + 1) * DAY - 1);
/// The number of days from the first of March of the year 0 to the first of January 1970. A day of
/// the calendar plus this number is positive.
pub(crate) const SHIFT: i64 = 719_468;

/// A part of a date or a time, as in `EXTRACT(YEAR FROM d)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Quarter,
    Month,
    /// The week of ISO 8601, from 1 to 53.
    Week,
    Day,
    /// The day of the year, from 1 to 366.
    DayOfYear,
    /// The day of the week, from 0 for Sunday to 6 for Saturday.
    DayOfWeek,
    /// The day of the week, from 1 for Monday to 7 for Sunday.
    IsoDayOfWeek,
    Hour,
    Minute,
    /// The second, without its fraction.
    Second,
}
impl Part {
    /// The names of all parts in SQL.
    pub(crate) const NAMES: &str =
        "year, quarter, month, week, day, doy, dow, isodow, hour, minute or second";

    pub(crate) fn named(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" => Part::Year,
            "quarter" => Part::Quarter,
            "month" => Part::Month,
            "week" => Part::Week,
            "day" => Part::Day,
            "doy" => Part::DayOfYear,
            "dow" => Part::DayOfWeek,
            "isodow" => Part::IsoDayOfWeek,
            "hour" => Part::Hour,
            "minute" => Part::Minute,
            "second" => Part::Second,
            _ => return None,
        })
    }
    /// Return whether only times have the part.
    pub(crate) fn is_of_times(self) -> bool {
        matches!(self, Part::Hour | Part::Minute | Part::Second)
    }
    /// Return the least and the largest number that the part can be, whatever the date is.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            Part::Year => (1, 9999),
            Part::Quarter => (1, 4),
            Part::Month => (1, 12),
            Part::Week => (1, 53),
            Part::Day => (1, 31),
            Part::DayOfYear => (1, 366),
            Part::DayOfWeek => (0, 6),
            Part::IsoDayOfWeek => (1, 7),
            Part::Hour => (0, 23),
            Part::Minute | Part::Second => (0, 59),
        }
    }
}
/// A period, as in `date_trunc('month', d)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Year,
    Quarter,
    Month,
    /// A week, from Monday to Sunday.
    Week,
    Day,
    Hour,
    Minute,
    Second,
}
impl Period {
    /// The names of all periods in SQL.
    pub(crate) const NAMES: &str = "year, quarter, month, week, day, hour, minute or second";

    pub(crate) fn named(name: &str) -> Option<Period> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" => Period::Year,
            "quarter" => Period::Quarter,
            "month" => Period::Month,
            "week" => Period::Week,
            "day" => Period::Day,
            "hour" => Period::Hour,
            "minute" => Period::Minute,
            "second" => Period::Second,
            _ => return None,
        })
    }
    /// Return the number of microseconds, if the period is shorter than a day.
    pub(crate) fn part_of_day(self) -> Option<i64> {
        match self {
            Period::Hour => Some(3_600_000_000),
            Period::Minute => Some(60_000_000),
            Period::Second => Some(1_000_000),
            _ => None,
        }
    }
    /// Return a number of days that leads from the first day of a period into the next period.
    fn step(self) -> i64 {
        match self {
            Period::Year => 367,
            Period::Quarter => 93,
            Period::Month => 32,
            Period::Week => 7,
            _ => 1,
        }
    }
}
/// A year, and the number of days since the first of March. `of_march` is at least 306 in January
/// and February. Then the year is the year after the March.
struct Split {
    year: i64,
    of_march: i64,
}
/// Split a day of the calendar. The formulas are those of Neri and Schneider, "Euclidean affine
/// functions and their application to calendar algorithms" (2022).
fn split(day: i64) -> Split {
    let shifted = 4 * (day + SHIFT) + 3;
    let of_century = 2_939_745 * (4 * (shifted % 146_097 / 4) + 3);
    let of_march = of_century % (1 << 32) / 2_939_745 / 4;
    Split { year: 100 * (shifted / 146_097) + of_century / (1 << 32) + of_march / 306, of_march }
}
/// Return the year, the month and the day of the month of a day of the calendar.
pub(crate) fn civil(day: i64) -> (i64, i64, i64) {
    let Split { year, of_march } = split(day);
    let month = 2141 * of_march + 197_913;
    (year, (month / 65_536 - 1) % 12 + 1, month % 65_536 / 2141 + 1)
}
/// Return the number of a day. Return `None` if there is no such day in the calendar.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let before = year - 1;
    let first = 365 * before + before / 4 - before / 100 + before / 400 + DAYS.0;
    let start = (1..month).fold(first, |start, _| next(Period::Month, start));
    let found = start + day - 1;
    (civil(found) == (year, month, day)).then_some(found)
}
/// Return the first day of the period that contains a day.
pub(crate) fn first_day(period: Period, day: i64) -> i64 {
    match period {
        Period::Year => day - day_of_year(day) + 1,
        Period::Quarter => {
            let month = first_day(Period::Month, day);
            match (civil(month).1 - 1) % 3 {
                0 => month,
                _ => first_day(Period::Quarter, month - 1),
            }
        }
        Period::Month => day - civil(day).2 + 1,
        Period::Week => day - iso_day_of_week(day) + 1,
        _ => day,
    }
}
fn iso_day_of_week(day: i64) -> i64 {
    (day + 3).rem_euclid(7) + 1
}
fn day_of_year(day: i64) -> i64 {
    let Split { of_march, .. } = split(day);
    match of_march {
        306.. => of_march - 305,
        // The day before the first of March is the last day of February.
        _ => of_march + split(day - of_march - 1).of_march - 304,
    }
}
/// Return the first day of the period after the period that begins on the day `start`.
fn next(period: Period, start: i64) -> i64 {
    first_day(period, start + period.step())
}
/// Return the start of the period that contains a date or a time.
pub(crate) fn start(period: Period, kind: Type, value: i64) -> i64 {
    match (kind, period.part_of_day()) {
        (Type::Timestamp, Some(length)) => value - value.rem_euclid(length),
        (Type::Timestamp, None) => first_day(period, value.div_euclid(DAY)) * DAY,
        _ => first_day(period, value),
    }
}
/// List the starts of the periods from the period of `first` to the period of `last`. List at most
/// `limit` starts.
pub(crate) fn starts(
    period: Period,
    kind: Type,
    (first, last): (i64, i64),
    limit: usize,
) -> Vec<i64> {
    let following = |value: &i64| {
        let next = match (kind, period.part_of_day()) {
            (Type::Timestamp, Some(length)) => value + length,
            (Type::Timestamp, None) => next(period, value.div_euclid(DAY)) * DAY,
            _ => next(period, *value),
        };
        (next <= last).then_some(next)
    };
    std::iter::successors(Some(start(period, kind, first)), following).take(limit).collect()
}
/// Return a part of a date or a time.
pub(crate) fn part(part: Part, kind: Type, value: i64) -> i64 {
    let time = if kind == Type::Timestamp { value.rem_euclid(DAY) / 1_000_000 } else { 0 };
    let day = if kind == Type::Timestamp { value.div_euclid(DAY) } else { value };
    match part {
        Part::Year => civil(day).0,
        Part::Quarter => (civil(day).1 - 1) / 3 + 1,
        Part::Month => civil(day).1,
        // The week belongs to the year of its Thursday.
        Part::Week => (day_of_year(first_day(Period::Week, day) + 3) - 1) / 7 + 1,
        Part::Day => civil(day).2,
        Part::DayOfYear => day_of_year(day),
        Part::DayOfWeek => iso_day_of_week(day) % 7,
        Part::IsoDayOfWeek => iso_day_of_week(day),
        Part::Hour => time / 3600,
        Part::Minute => time % 3600 / 60,
        Part::Second => time % 60,
    }
}
/// Return the number of a date or of a time.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Date(value) | Value::Timestamp(value) => Some(*value),
        _ => None,
    }
}
/// Make a date or a time from its number. Return `None` if the number is beyond the calendar.
pub(crate) fn value(kind: Type, number: i64) -> Option<Value> {
    match kind {
        Type::Date if (DAYS.0..=DAYS.1).contains(&number) => Some(Value::Date(number)),
        Type::Timestamp if (TIMES.0..=TIMES.1).contains(&number) => Some(Value::Timestamp(number)),
        _ => None,
    }
}
