//! Dates and times as texts of ISO 8601.

use super::{DAY, civil, day_of, value};
use crate::{Type, Value};

/// Read a date such as `2020-01-31`.
pub(crate) fn date(text: &str) -> Option<Value> {
    days(text).map(Value::Date)
}
/// Read a time such as `2020-01-31T23:59:59.5`. There can be a space instead of the `T`. The
/// seconds can be missing, and the whole time of the day can be missing. A `Z` can follow.
pub(crate) fn time(text: &str) -> Option<Value> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let parts = clock.split(':').map(|part| digits(part, 2)).collect::<Option<Vec<i64>>>()?;
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] if fraction.is_empty() => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    if 23 < hour || 59 < minute || 59 < second || 6 < fraction.len() {
        return None;
    }
    let micros = match fraction {
        "" => 0,
        fraction => digits(&format!("{fraction:0<6}"), 6)?,
    };
    let seconds = (hour * 60 + minute) * 60 + second;
    value(Type::Timestamp, days(day)? * DAY + seconds * 1_000_000 + micros)
}
fn days(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return None };
    day_of(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)
}
/// Read a number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
/// Write a date.
pub(crate) fn show_date(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}
/// Write a time. The fraction of a second is left out if it is 0.
pub(crate) fn show_time(time: i64) -> String {
    let (day, of_day) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{}T{clock}{fraction}", show_date(day))
}
