//! Write the SQL expressions that read the columns of a source as dates and times.
//!
//! An expression gives the number of a date or of a time, as the module `calendar` defines it. A
//! cell that is not a date or a time is null. A cell beyond the years 1 to 9999 becomes null when
//! a plan reads it. Each expression reads one row only, and no cell gives an error: the casts of
//! texts are `TRY_CAST`, and numbers are compared with their limits before they are multiplied.

use datafusion::arrow::datatypes::{DataType, TimeUnit};

use super::typed::{unreadable, value_type};
use crate::Type;
use crate::calendar::{DAY, TIMES, printed};
use crate::sql::quoted;

/// Write the expression that reads a column as dates or times. Return the reason if the type of the
/// column cannot be read as dates or times.
pub(super) fn read_as(column: &str, found: &DataType, kind: Type) -> Result<String, String> {
    let name = quoted(column);
    let number = format!("CAST({name} AS BIGINT)");
    let time = match value_type(found) {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let kind = if kind == Type::Date { "DATE" } else { "TIMESTAMP(6)" };
            return Ok(format!("CAST(TRY_CAST({name} AS {kind}) AS BIGINT) AS {name}"));
        }
        DataType::Null => return Ok(format!("TRY_CAST({name} AS BIGINT) AS {name}")),
        DataType::Date32 if kind == Type::Date => return Ok(format!("{number} AS {name}")),
        // A day of 32 bits times the microseconds of a day fits into 64 bits, except for days far
        // beyond the calendar.
        DataType::Date32 => scaled(&number, DAY),
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => scaled(&number, 1000),
        DataType::Timestamp(TimeUnit::Second, _) => scaled(&number, 1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => scaled(&number, 1),
        // The engine rounds a quotient towards 0, so a negative quotient is rounded down here.
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            format!("({number} / 1000 - CASE WHEN {number} % 1000 < 0 THEN 1 ELSE 0 END)")
        }
        _ => return Err(unreadable(column, found, kind)),
    };
    let read = if kind == Type::Date { printed::day(&time) } else { time };
    Ok(format!("{read} AS {name}"))
}
/// Write the product of a number and a factor. If the product is beyond the calendar, write null.
fn scaled(number: &str, factor: i64) -> String {
    let (first, last) = (TIMES.0.div_euclid(factor), TIMES.1.div_euclid(factor));
    format!("(CASE WHEN {number} BETWEEN {first} AND {last} THEN {number} * {factor} END)")
}
