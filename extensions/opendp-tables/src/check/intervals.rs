//! Translate sums and differences of dates, times and intervals.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator as Sign};
use opendp_core::{Error, Result};

use super::rows::{Reader, described};
use super::{dates, refused};
use crate::calendar::{self, Interval};
use crate::ir::Row;
use crate::{Type, Value};

/// The name of intervals in errors.
const NAME: &str = "INTERVAL";

/// If an expression is an interval that the query states, return this interval.
///
/// # Errors
/// `Argument` when the interval has parts of a microsecond.
fn interval(expr: &Expr) -> Result<Option<Interval>> {
    let (months, days, nanos) = match expr {
        Expr::Literal(ScalarValue::IntervalYearMonth(Some(months)), _) => (*months, 0, 0),
        Expr::Literal(ScalarValue::IntervalDayTime(Some(time)), _) => {
            (0, time.days, i64::from(time.milliseconds) * 1_000_000)
        }
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(time)), _) => {
            (time.months, time.days, time.nanoseconds)
        }
        Expr::Negative(inner) => return Ok(interval(inner)?.and_then(Interval::negated)),
        _ => return Ok(None),
    };
    if nanos % 1000 != 0 {
        return Err(Error::argument(NAME, "expected whole microseconds"));
    }
    Ok(Some(Interval { months: months.into(), days: days.into(), micros: nanos / 1000 }))
}
/// Return whether an expression is an interval that the query states.
pub(super) fn is_interval(expr: &Expr) -> bool {
    matches!(interval(expr), Ok(Some(_)) | Err(_))
}
/// Return the error for an interval at a place where no date or time is moved.
pub(super) fn alone() -> Error {
    Error::argument(
        NAME,
        "an interval can only be added to a date or a time, or subtracted from one, as in \
         d + INTERVAL '7 day'",
    )
}
/// Translate a sum or a difference, if one of its sides is an interval.
pub(super) fn moved(reader: &Reader<'_>, sum: &BinaryExpr, depth: usize) -> Result<Option<Row>> {
    let (left, right) = (interval(&sum.left)?, interval(&sum.right)?);
    let (value, interval) = match (sum.op, left, right) {
        (_, Some(_), Some(_)) | (Sign::Minus, Some(_), None) => return Err(alone()),
        (Sign::Plus, Some(interval), None) => (&sum.right, interval),
        (Sign::Plus, None, Some(interval)) => (&sum.left, interval),
        (Sign::Minus, None, Some(interval)) => {
            (&sum.left, interval.negated().ok_or_else(|| too_long(&sum.op))?)
        }
        _ => return Ok(None),
    };
    shifted(reader.row(value, depth + 1)?, interval).map(Some)
}
/// Translate a sum or a difference. At least one of its sides is a date or a time.
pub(super) fn of_dates(sign: Sign, x: Row, y: Row) -> Result<Row> {
    let name = sign.to_string();
    match (sign, &x, &y) {
        (Sign::Minus, _, Row::Literal(Value::Integer(days))) => match days.checked_neg() {
            Some(days) => whole_days(x, days),
            None => Err(too_long(&sign)),
        },
        (Sign::Plus, _, Row::Literal(Value::Integer(days))) => {
            let days = *days;
            whole_days(x, days)
        }
        (Sign::Plus, Row::Literal(Value::Integer(days)), _) => {
            let days = *days;
            whole_days(y, days)
        }
        (Sign::Minus, ..) => match dates::same_type(vec![x, y], &name)? {
            Ok(both) => difference(both),
            Err(both) => Err(of_other_types(&name, &both)),
        },
        _ => Err(of_other_types(&name, &[x, y])),
    }
}
fn of_other_types(name: &str, rows: &[Row]) -> Error {
    let found: Vec<String> = rows.iter().map(described).collect();
    let reason = format!(
        "found {}: write the difference of two dates, or a date or a time and an interval, as in \
         d + INTERVAL '7 day'",
        found.join(" and ")
    );
    Error::argument(name, reason)
}
fn too_long(sign: &Sign) -> Error {
    Error::argument(sign.to_string(), "the interval is too long")
}
/// Return the number of days between two dates: the first minus the second.
fn difference(both: Vec<Row>) -> Result<Row> {
    let [to, from] =
        <[Row; 2]>::try_from(both).map_err(|_| Error::argument("-", "expected two values"))?;
    if to.kind() != Some(Type::Date) || from.kind() != Some(Type::Date) {
        return Err(refused(
            "difference of times",
            "engines write such a difference differently",
            "write CAST(t AS DATE) - CAST(u AS DATE) for the number of days, or compare t with \
             u + INTERVAL '1 hour'",
        ));
    }
    Ok(match (&to, &from) {
        (Row::Literal(Value::Date(to)), Row::Literal(Value::Date(from))) => {
            Row::Literal(Value::Integer(to - from))
        }
        _ => Row::Days(from.into(), to.into()),
    })
}
/// Move a date by a number of days, as `d + 7` does.
fn whole_days(date: Row, days: i64) -> Result<Row> {
    match date.kind() {
        Some(Type::Date) => shifted(date, Interval::days(days)),
        _ => {
            let reason = format!(
                "a number cannot be added to {}: write an interval, as in t + INTERVAL '7 day'",
                described(&date)
            );
            Err(Error::argument("+", reason))
        }
    }
}
/// Move a date or a time by an interval. A literal is moved here. For any other expression, the
/// interval must have a fixed length. If the result is beyond the calendar, a literal is an error,
/// and any other expression gives null.
fn shifted(value: Row, interval: Interval) -> Result<Row> {
    let Some(kind) = value.kind().filter(|kind| kind.is_calendar()) else {
        let hint = match &value {
            Row::Literal(Value::Text(_)) => ": write DATE or TIMESTAMP before the text",
            _ => ": state the `type` `date` or `timestamp` in the metadata",
        };
        let reason = format!("expected a date or a time, found {}{hint}", described(&value));
        return Err(Error::argument(NAME, reason));
    };
    if kind == Type::Date && interval.micros != 0 {
        let reason = "a date has no hours, minutes and seconds: write an interval of days, or \
                      CAST(d AS TIMESTAMP) + INTERVAL '1 hour'";
        return Err(Error::argument(NAME, reason));
    }
    let beyond = || {
        let reason = "the result is beyond the years 1 to 9999: write a shorter interval";
        Error::argument(NAME, reason)
    };
    if let Row::Literal(Value::Date(number) | Value::Timestamp(number)) = &value {
        let moved = interval.after(kind, *number).and_then(|moved| calendar::value(kind, moved));
        return moved.map(Row::Literal).ok_or_else(beyond);
    }
    if interval.months != 0 {
        return Err(refused(
            "INTERVAL of months or years",
            "months have different lengths, so only literals can be moved by them",
            "write a number of days, as in d + INTERVAL '30 day', or compare \
             date_trunc('month', d)",
        ));
    }
    match interval.length(kind).ok_or_else(beyond)? {
        0 => Ok(value),
        length => Ok(Row::Shifted(length, value.into())),
    }
}
