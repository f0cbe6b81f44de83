//! Columns of a source as their declared types.

use datafusion::arrow::datatypes::DataType;

use crate::Type;
use crate::sql::quoted;

fn sql_type(kind: Type) -> &'static str {
    match kind {
        Type::Boolean => "BOOLEAN",
        Type::Integer => "BIGINT",
        Type::Float => "DOUBLE PRECISION",
        Type::Text => "VARCHAR",
    }
}
/// Return the type of the values of a column. A column can be encoded by a dictionary or by runs.
/// For such a column, return the type of the decoded values.
fn value_type(found: &DataType) -> &DataType {
    match found {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        found => found,
    }
}
/// Write the expression that reads a column as its declared type.
pub(super) fn read_as(column: &str, found: &DataType, kind: Type) -> String {
    let column = quoted(column);
    let cast = format!("TRY_CAST({column} AS {})", sql_type(kind));
    let number = match value_type(found) {
        _ if kind != Type::Integer => None,
        found if found.is_floating() => Some(sql_type(Type::Float).to_owned()),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if 0 < *scale =>
        {
            Some(format!("DECIMAL({precision}, {scale})"))
        }
        _ => None,
    };
    // A cast to an integer drops the digits after the point. So two different ids could become the
    // same integer. To prevent this, a cell that is not a whole number becomes null. To find such
    // cells, the integer is cast back and compared with the cell. The condition `x % 1 = 0` would
    // not find all such cells, because the optimizer replaces `x % 1` by 0 for some types.
    match number {
        Some(number) => format!(
            "CASE WHEN TRY_CAST({cast} AS {number}) = CAST({column} AS {number}) THEN {cast} END \
             AS {column}"
        ),
        None => format!("{cast} AS {column}"),
    }
}
