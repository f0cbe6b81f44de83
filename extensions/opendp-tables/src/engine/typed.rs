//! Write the SQL expressions that read the columns of a source as their declared types.

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, TimeUnit};

use super::dates;
use crate::Type;
use crate::sql::quoted;

/// The first and the last second of the calendar, counted from 1970. A time before the first or
/// after the last second cannot be written as text.
const FIRST: i64 = -8_334_601_228_800;
const LAST: i64 = 8_210_266_876_799;
const DAY: i64 = 86_400;

fn sql_type(kind: Type) -> &'static str {
    match kind {
        Type::Boolean => "BOOLEAN",
        Type::Integer => "BIGINT",
        Type::Float => "DOUBLE PRECISION",
        Type::Text => "VARCHAR",
        // The number of a date or of a time.
        Type::Date | Type::Timestamp => "BIGINT",
    }
}
/// Return the type of the values of a column. A column can be encoded by a dictionary or by runs.
/// For such a column, return the type of the decoded values.
pub(super) fn value_type(found: &DataType) -> &DataType {
    match found {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        found => found,
    }
}
/// Dates, times and durations are stored as numbers. For such a type, return the smallest and the
/// largest number that can be written as text. Return `None` for other types, and for types whose
/// numbers can all be written as text.
fn numbers_with_text(found: &DataType) -> Option<(i64, i64)> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    // The local time of a zone can be almost a day before or after the stored time. For a local
    // time beyond the calendar, the cast would panic. So for times in a zone, the first and the
    // last day are left out.
    let dates = |parts: i64, zoned: bool| {
        let days = if zoned { DAY } else { 0 };
        Some(((FIRST + days) * parts, (LAST - days) * parts + (parts - 1)))
    };
    let times = |parts: i64| Some((0, DAY * parts - 1));
    match found {
        DataType::Date32 => Some((FIRST / DAY, LAST / DAY)),
        DataType::Date64 => dates(1000, false),
        DataType::Timestamp(Second, zone) => dates(1, zone.is_some()),
        DataType::Timestamp(Millisecond, zone) => dates(1000, zone.is_some()),
        DataType::Timestamp(Microsecond, zone) => dates(1_000_000, zone.is_some()),
        DataType::Time32(Second) => times(1),
        DataType::Time32(Millisecond) => times(1000),
        DataType::Time64(Microsecond) => times(1_000_000),
        DataType::Time64(Nanosecond) => times(1_000_000_000),
        // The longest duration has `i64::MAX` milliseconds.
        DataType::Duration(Second) => Some((-(i64::MAX / 1000), i64::MAX / 1000)),
        DataType::Duration(Millisecond) => Some((-i64::MAX, i64::MAX)),
        _ => None,
    }
}
/// Return whether the cells of a column are lists or other nested values with times in a zone.
/// Times in nanoseconds do not count. Such a column is refused, because a single time near the end
/// of the calendar would make the cast of the whole column to texts fail. A time in nanoseconds is
/// never near the end of the calendar. If another nested value has a part that cannot be written as
/// text, the text of its cell contains an error in place of this part.
fn is_nested_zone(found: &DataType) -> bool {
    value_type(found).is_nested()
        && zones(found).iter().any(|(unit, _)| *unit != TimeUnit::Nanosecond)
}
/// Return whether a column has times in a time zone that the engine does not know. No such time can
/// be cast to text.
fn has_unknown_zone(found: &DataType) -> bool {
    zones(found).iter().any(|(_, zone)| zone.parse::<Tz>().is_err())
}
/// Return the units and time zones of all times of a type.
fn zones(found: &DataType) -> Vec<(TimeUnit, &str)> {
    match value_type(found) {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => zones(field.data_type()),
        DataType::Struct(fields) => fields.iter().flat_map(|f| zones(f.data_type())).collect(),
        DataType::Union(fields, _) => {
            fields.iter().flat_map(|(_, field)| zones(field.data_type())).collect()
        }
        DataType::Timestamp(unit, Some(zone)) => vec![(*unit, zone)],
        _ => Vec::new(),
    }
}
/// Write an expression for a column. The expression keeps each cell that has a text, and replaces
/// each other cell by null. NaN has no text, because NaN is null. The cast of a whole column fails
/// if a single cell cannot be written as text. An example is a date beyond the calendar. So such
/// cells must be replaced.
fn with_text(column: &str, found: &DataType) -> String {
    let values = value_type(found);
    let limits = numbers_with_text(values);
    if limits.is_none() && !values.is_floating() {
        return column.to_owned();
    }
    // A cast of a dictionary to texts casts all values of the dictionary, even values that no row
    // uses. So the dictionary is decoded first.
    let column = if values == found {
        column.to_owned()
    } else {
        format!("arrow_cast({column}, '{}')", values.to_string().replace('\'', "''"))
    };
    match limits {
        Some((first, last)) => format!(
            "CASE WHEN CAST({column} AS BIGINT) BETWEEN {first} AND {last} THEN {column} END"
        ),
        None => format!("CASE WHEN {} THEN {column} END", is_number(&column)),
    }
}
/// Write the condition that a cell of a column of numbers is not NaN.
fn is_number(column: &str) -> String {
    format!("NOT isnan(CAST({column} AS DOUBLE PRECISION))")
}
/// Write the expression that reads a column of numbers as booleans: 0 is false, NaN is null, and
/// each other number is true. The planner wrongly assumes that a cast to a boolean is monotone. So
/// such a cast is not used.
fn boolean_of_number(column: &str) -> String {
    let number = format!("CAST({column} AS DOUBLE PRECISION)");
    format!("CASE WHEN {} THEN {number} <> 0.0 END", is_number(column))
}
/// Write the expression that reads a column of texts as integers. Some programs write an integer
/// with a point, as in `47.0`. Such a text is first read as a float. If the float is a whole number
/// with a magnitude below 2^53, it becomes the integer. Beyond 2^53, two integers can have the same
/// float.
fn integer_of_text(column: &str) -> String {
    let integer = format!("TRY_CAST({column} AS BIGINT)");
    let float = format!("TRY_CAST({column} AS DOUBLE PRECISION)");
    let whole = format!("TRY_CAST({float} AS BIGINT)");
    format!(
        "CASE WHEN {integer} IS NOT NULL THEN {integer} \
         WHEN {float} > -9007199254740992.0 AND {float} < 9007199254740992.0 \
         AND CAST({whole} AS DOUBLE PRECISION) = {float} THEN {whole} END"
    )
}
/// Write the expression that reads a column as its declared type. Return the reason if the type of
/// the column cannot be read as its declared type.
pub(super) fn read_as(column: &str, found: &DataType, kind: Type) -> Result<String, String> {
    if kind.is_calendar() {
        return dates::read_as(column, found, kind);
    }
    let target = match kind {
        Type::Boolean => DataType::Boolean,
        Type::Integer => DataType::Int64,
        Type::Float => DataType::Float64,
        Type::Text | Type::Date | Type::Timestamp => DataType::Utf8View,
    };
    // `can_cast_types` is true for some intervals, but the engine cannot cast them to integers.
    let is_interval = matches!(value_type(found), DataType::Interval(_));
    if !can_cast_types(found, &target)
        || kind == Type::Text && (is_nested_zone(found) || has_unknown_zone(found))
        || kind == Type::Integer && is_interval
    {
        return Err(unreadable(column, found, kind));
    }
    Ok(expression(column, found, kind))
}
pub(super) fn unreadable(column: &str, found: &DataType, kind: Type) -> String {
    format!(
        "its column `{column}` has the type {found}, which cannot be read as {}; write the column \
         with another type, or declare another type",
        kind.name()
    )
}
fn expression(column: &str, found: &DataType, kind: Type) -> String {
    let (column, values) = (quoted(column), value_type(found));
    let cast = |cell: &str| format!("TRY_CAST({cell} AS {})", sql_type(kind));
    let read = match kind {
        Type::Boolean if values.is_numeric() => boolean_of_number(&column),
        Type::Boolean | Type::Float => cast(&column),
        Type::Integer => integer(&column, values),
        Type::Text | Type::Date | Type::Timestamp => cast(&with_text(&column, found)),
    };
    format!("{read} AS {column}")
}
/// Write the expression that reads a column as integers. `values` is the type of its values.
fn integer(column: &str, values: &DataType) -> String {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    use DataType::{LargeUtf8, UInt64, Utf8, Utf8View};
    let cast = format!("TRY_CAST({column} AS BIGINT)");
    // A cast to an integer drops the digits after the point. So two different ids could become the
    // same integer. To prevent this, a cell that is not a whole number becomes null. To find such
    // cells, the integer is cast back and compared with the cell. The condition `x % 1 = 0` would
    // not find all such cells, because the optimizer replaces `x % 1` by 0 for some types.
    let whole = |number: &str| {
        format!(
            "CASE WHEN TRY_CAST({cast} AS {number}) = CAST({column} AS {number}) THEN {cast} END"
        )
    };
    match values {
        Utf8 | Utf8View | LargeUtf8 => integer_of_text(column),
        values if values.is_floating() => whole(sql_type(Type::Float)),
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale)
            if 0 < *scale =>
        {
            whole(&format!("DECIMAL({precision}, {scale})"))
        }
        // A number beyond 64 bits is null. Without the CASE, the optimizer would remove the cast
        // from a comparison, and the comparison would use the number before the cast.
        UInt64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
            format!("CASE WHEN {cast} IS NOT NULL THEN {cast} END")
        }
        _ => cast,
    }
}
