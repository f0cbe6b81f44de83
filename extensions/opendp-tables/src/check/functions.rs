//! Translate calls of functions on the values of a row.

use datafusion::logical_expr::expr::ScalarFunction;
use opendp_core::{Error, Result};

use super::rows::{Reader, float, public_number, same_type};
use super::{dates, refused, texts};
use crate::Value;
use crate::ir::{Rounding, Row};
use crate::metadata::check_bounds;

pub(super) fn function(
    reader: &Reader<'_>,
    function: &ScalarFunction,
    depth: usize,
) -> Result<Row> {
    let row = |place: usize| match function.args.get(place) {
        Some(expr) => reader.row(expr, depth + 1),
        None => Ok(Row::Literal(Value::Null)),
    };
    let rows = |count: usize| (0..count).map(row).collect::<Result<Vec<_>>>();
    let name = function.name();
    match (name, function.args.as_slice()) {
        ("clamp", [_, low, high]) => {
            let bounds = (public_number(low), public_number(high));
            let (Some(low), Some(high)) = bounds else {
                return Err(Error::argument("clamp", "expected two public numbers as bounds"));
            };
            check_bounds(low, high, crate::Type::Float).map_err(|error| error.at("clamp"))?;
            Ok(Row::Clamp(float(row(0)?, name)?.into(), low, high))
        }
        ("coalesce", args @ [_, ..]) => Ok(Row::Coalesce(same_type(rows(args.len())?, name)?)),
        ("nvl", [_, _]) => Ok(Row::Coalesce(same_type(rows(2)?, name)?)),
        ("nullif", [_, _]) => match same_type(rows(2)?, name)?.as_slice() {
            [x, y] => Ok(Row::NullIf(x.clone().into(), y.clone().into())),
            _ => Err(Error::argument(name, "expected two values")),
        },
        ("abs" | "floor" | "ceil", [_]) => {
            let rounding = match name {
                "abs" => Rounding::Absolute,
                "floor" => Rounding::Floor,
                _ => Rounding::Ceiling,
            };
            Ok(Row::Rounded(rounding, float(row(0)?, name)?.into()))
        }
        ("date_part", [part, _]) => dates::part(part, row(1)?),
        ("date_trunc", [period, _]) => dates::start(period, row(1)?),
        (_, args) => match texts::function(name, args, &row)? {
            Some(row) => Ok(row),
            None => Err(unknown(name)),
        },
    }
}
fn unknown(name: &str) -> Error {
    let what = format!("{name}()");
    let (why, instead) = match name {
        "now" | "current_date" | "current_time" | "today" => (
            "the answer would depend on the time of the query, so it could not be computed again",
            "write the date or the time as a literal, as in DATE '2020-01-31'",
        ),
        "to_char" | "date_format" | "date_bin" => (
            "its result is not the same on every engine",
            "write date_trunc('month', d), or EXTRACT(MONTH FROM d)",
        ),
        "to_date" | "make_date" | "to_timestamp" => (
            "it can fail on some rows",
            "write a literal, as in DATE '2020-01-31', or state the `type` `date` or `timestamp` \
             of the column in the metadata",
        ),
        "round" => ("engines round halves differently", "write floor(x + 0.5)"),
        _ => return unsupported(&what),
    };
    refused(&what, why, instead)
}
fn unsupported(what: &str) -> Error {
    refused(
        what,
        "the supported functions cannot fail, and use only the values of one row",
        "use clamp, abs, floor, ceil, coalesce, nullif, CASE, LIKE, lower, upper, trim, ltrim, \
         rtrim, substr, left, length, concat, ||, starts_with, EXTRACT, date_part or date_trunc, or \
         compute it beforehand",
    )
}
