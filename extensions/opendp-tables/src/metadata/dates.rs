//! Public bounds of columns of dates and times.

use opendp_core::{Error, Result};

use super::Column;
use crate::value::example_of;
use crate::{Value, calendar};

/// What to write instead of `bounds`.
pub(super) const INSTEAD: &str = "expected a column of numbers: for dates and times, write `lower` and `upper`, as in \
     `lower = \"2020-01-01\"`";

/// Read the bounds of a column of dates or times. Return `None` if they are not stated.
pub(super) fn range(column: &Column) -> Result<Option<(i64, i64)>> {
    let stated = [("lower", &column.lower), ("upper", &column.upper)];
    let mut found = Vec::new();
    for (name, text) in stated {
        let Some(text) = text else { continue };
        if !column.kind.is_calendar() {
            let reason = "expected a column of type date or timestamp: for numbers, write `bounds`";
            return Err(Error::argument(name, reason));
        }
        let number = Value::dated(text, column.kind).as_ref().and_then(calendar::number);
        found.push(number.ok_or_else(|| {
            let (kind, example) = (column.kind.name(), example_of(column.kind));
            let reason =
                format!("expected a {kind} of the years 1 to 9999{example}; found \"{text}\"");
            Error::argument(name, reason)
        })?);
    }
    match found.as_slice() {
        [] => Ok(None),
        [lower, upper] if lower <= upper => Ok(Some((*lower, *upper))),
        [_, _] => Err(Error::argument("upper", "expected a value that is not before `lower`")),
        _ => Err(Error::argument("lower", "expected both `lower` and `upper`, found one of them")),
    }
}
