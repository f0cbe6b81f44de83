//! Translate expressions of dates and times, and list their public values.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use opendp_core::{Error, Result};

use super::rows::{described, public_text, sql_name};
use super::{Picked, refused};
use crate::calendar::{self, DAY, Part, Period};
use crate::ir::Row;
use crate::value::example_of;
use crate::{Type, Value};

/// Read a literal of the engine. Return `None` if it is not a date or a time of the calendar.
pub(super) fn literal(value: &ScalarValue) -> Option<Value> {
    let (kind, number) = match value {
        ScalarValue::Date32(Some(day)) => (Type::Date, i64::from(*day)),
        ScalarValue::TimestampSecond(Some(time), None) => {
            (Type::Timestamp, time.checked_mul(1_000_000)?)
        }
        ScalarValue::TimestampMillisecond(Some(time), None) => {
            (Type::Timestamp, time.checked_mul(1000)?)
        }
        ScalarValue::TimestampMicrosecond(Some(time), None) => (Type::Timestamp, *time),
        ScalarValue::TimestampNanosecond(Some(time), None) if time % 1000 == 0 => {
            (Type::Timestamp, time / 1000)
        }
        _ => return None,
    };
    calendar::value(kind, number)
}
/// Convert a value to a date or a time. Return the value itself if this is not possible.
fn to_kind(row: Row, kind: Type) -> Result<Row, Row> {
    match (&row, row.kind(), kind) {
        (_, None, _) => Ok(row),
        (_, Some(found), kind) if found == kind => Ok(row),
        (Row::Literal(Value::Text(text)), _, kind) => {
            Value::dated(text, kind).map(Row::Literal).ok_or(row)
        }
        (Row::Literal(Value::Date(day)), _, Type::Timestamp) => {
            Ok(Row::Literal(Value::Timestamp(day * DAY)))
        }
        (_, Some(Type::Date), Type::Timestamp) => Ok(Row::Midnight(row.into())),
        _ => Err(row),
    }
}
/// Convert values to dates or to times, as `same_type` of the module `rows` states. Return the
/// values themselves if they have other types.
pub(super) fn same_type(rows: Vec<Row>, name: &str) -> Result<Result<Vec<Row>, Vec<Row>>> {
    let times = rows.iter().any(|row| row.kind() == Some(Type::Timestamp));
    let kind = if times { Type::Timestamp } else { Type::Date };
    let mut found = Vec::new();
    for row in &rows {
        match to_kind(row.clone(), kind) {
            Ok(row) => found.push(row),
            Err(Row::Literal(Value::Text(text))) => return Err(unreadable(&text, kind, name)),
            Err(_) => return Ok(Err(rows)),
        }
    }
    Ok(Ok(found))
}
fn unreadable(text: &str, kind: Type, name: &str) -> Error {
    let example = example_of(kind).replace('"', "'");
    let reason = format!(
        "expected a {} of the years 1 to 9999{example}; found '{text}'",
        if kind == Type::Date { "date" } else { "time" }
    );
    Error::argument(name, reason)
}
/// Translate a cast to a date or a time.
pub(super) fn convert(row: Row, to: &DataType) -> Result<Row> {
    let kind = match to {
        DataType::Date32 => Some(Type::Date),
        // A cast to seconds or milliseconds would round the time.
        DataType::Timestamp(TimeUnit::Nanosecond | TimeUnit::Microsecond, None) => {
            Some(Type::Timestamp)
        }
        _ => None,
    };
    let what = format!("CAST AS {}", sql_name(to));
    let Some(kind) = kind else {
        return Err(refused(
            &what,
            "dates and times have no time zone, and times have microseconds",
            "write CAST(x AS DATE) or CAST(x AS TIMESTAMP)",
        ));
    };
    if let (Some(Type::Timestamp), Type::Date) = (row.kind(), kind) {
        return Ok(Row::Day(row.into()));
    }
    match to_kind(row, kind) {
        Ok(row) if row.kind().is_some() => Ok(row),
        Err(Row::Literal(Value::Text(text))) => Err(unreadable(&text, kind, &what)),
        _ => Err(refused(
            &what,
            "only dates, times and literals can be read as dates and times",
            "state the `type` `date` or `timestamp` of the column in the metadata: cells of \
             another type are read as null",
        )),
    }
}
/// Translate `EXTRACT(part FROM value)`.
pub(super) fn part(part: &Expr, value: Row) -> Result<Row> {
    let name = "EXTRACT";
    let found = named(part, Part::named, Part::NAMES, name)?;
    check_operand(&value, found.is_of_times(), name)?;
    Ok(Row::Part(found, value.into()))
}
/// Translate `date_trunc(period, value)`.
pub(super) fn start(period: &Expr, value: Row) -> Result<Row> {
    let name = "date_trunc";
    let found = named(period, Period::named, Period::NAMES, name)?;
    check_operand(&value, found.part_of_day().is_some(), name)?;
    Ok(Row::Start(found, value.into()))
}
/// Read a public name. `names` lists the names that `read` knows, and `function` is the function
/// that takes the name.
fn named<T>(expr: &Expr, read: fn(&str) -> Option<T>, names: &str, function: &str) -> Result<T> {
    let stated = public_text(expr);
    stated.as_deref().and_then(read).ok_or_else(|| {
        let found = stated.unwrap_or_else(|| expr.to_string());
        Error::argument(function, format!("expected {names}; found {found}"))
    })
}
fn check_operand(value: &Row, needs_time: bool, name: &str) -> Result<()> {
    let reason = match value.kind() {
        Some(Type::Timestamp) => return Ok(()),
        Some(Type::Date) if !needs_time => return Ok(()),
        Some(Type::Date) => "a date has no hours, minutes and seconds: use a column of type \
                             timestamp"
            .to_owned(),
        _ if matches!(value, Row::Days(..)) => {
            "the difference of two dates is already a number of days: leave this call out".into()
        }
        _ => format!(
            "expected a date or a time, found {}: state the `type` `date` or `timestamp` in the \
             metadata",
            described(value)
        ),
    };
    Err(Error::argument(name, reason))
}

/// Return public bounds of a date or a time. They are the bounds of a column, or follow from them.
fn range_of(branch: usize, row: &Row, picked: &Picked<'_>) -> Option<(i64, i64)> {
    let kind = row.kind()?;
    let (first, last) = match row {
        Row::Column { .. } => return picked.described(branch, row)?.range().ok()?,
        Row::Start(period, inner) => {
            let (first, last) = range_of(branch, inner, picked)?;
            (calendar::start(*period, kind, first), calendar::start(*period, kind, last))
        }
        Row::Day(inner) => {
            let (first, last) = range_of(branch, inner, picked)?;
            (first.div_euclid(DAY), last.div_euclid(DAY))
        }
        Row::Midnight(inner) => {
            let (first, last) = range_of(branch, inner, picked)?;
            (first * DAY, last * DAY)
        }
        Row::Shifted(length, inner) => {
            let (first, last) = range_of(branch, inner, picked)?;
            let (least, largest) = calendar::movable(kind, *length);
            let (first, last) = (first.max(least), last.min(largest));
            (first <= last).then_some((first + length, last + length))?
        }
        _ => return None,
    };
    Some((first, last))
}
/// Return the least and the largest number that a part of a date or a time can be, if they are
/// public. The years are public only if the dates have public bounds.
pub(super) fn part_range(
    branch: usize,
    part: Part,
    value: &Row,
    picked: &Picked<'_>,
) -> Option<(i64, i64)> {
    if part != Part::Year {
        return Some(part.range());
    }
    let (kind, (first, last)) = (value.kind()?, range_of(branch, value, picked)?);
    Some((calendar::part(part, kind, first), calendar::part(part, kind, last)))
}
/// Return the least and the largest number of days between two dates, if they are public.
pub(super) fn days_range(
    branch: usize,
    from: &Row,
    to: &Row,
    picked: &Picked<'_>,
) -> Option<(i64, i64)> {
    let ends = |row: &Row| match row {
        Row::Literal(Value::Date(day)) => Some((*day, *day)),
        row => range_of(branch, row, picked),
    };
    let (from, to) = (ends(from)?, ends(to)?);
    Some((to.0 - from.1, to.1 - from.0))
}
/// Return all values that an expression of dates or times can have, except null. Return `None` if
/// these values are not public. They are public if the metadata state keys or bounds. There are
/// too many times between two bounds, so bounds make only periods and dates public. Return at most
/// `limit` values.
pub(super) fn keys_of(
    branch: usize,
    row: &Row,
    picked: &Picked<'_>,
    limit: usize,
) -> Result<Option<Vec<Value>>> {
    let Some(kind) = row.kind() else { return Ok(None) };
    let of_column = |row: &Row| match picked.described(branch, row) {
        Some(column) => column.public_keys(),
        None => Ok(None),
    };
    let (period, inner) = match row {
        Row::Start(period, inner) => (*period, inner.as_ref()),
        row if kind == Type::Date => (Period::Day, row),
        row => return of_column(row),
    };
    if let Some(keys) = of_column(inner)? {
        let numbers = keys.iter().filter_map(calendar::number);
        let mut starts: Vec<i64> = numbers.map(|n| calendar::start(period, kind, n)).collect();
        starts.sort_unstable();
        starts.dedup();
        return Ok(Some(starts.into_iter().filter_map(|n| calendar::value(kind, n)).collect()));
    }
    let Some(range) = range_of(branch, inner, picked) else { return Ok(None) };
    let starts = calendar::starts(period, kind, range, limit);
    Ok(Some(starts.into_iter().filter_map(|n| calendar::value(kind, n)).collect()))
}
/// Return all numbers that a part of a date or a time can be, if they are public.
pub(super) fn part_keys(
    branch: usize,
    part: Part,
    value: &Row,
    picked: &Picked<'_>,
) -> Option<Vec<Value>> {
    let (first, last) = part_range(branch, part, value, picked)?;
    Some((first..=last).map(Value::Integer).collect())
}
