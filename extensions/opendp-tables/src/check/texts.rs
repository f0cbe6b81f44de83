//! Translate functions of texts and comparisons with patterns.

use datafusion::arrow::array::{Scalar, StringViewArray};
use datafusion::arrow::compute::{ilike, like as matches};
use datafusion::logical_expr::{Expr, Like};
use opendp_core::{Error, Result};

use super::refused;
use super::rows::{described, public_number, public_text};
use crate::ir::{Row, TextFunction};
use crate::sql::texts::MOST_PARTS;
use crate::{Type, Value};

/// The largest number of bytes of a pattern.
const LONGEST_PATTERN: usize = 1000;
/// The largest public number of characters that a function gets.
const MOST: i64 = 1_000_000_000;

/// Translate a comparison with a pattern. The row is the compared value.
pub(super) fn like(value: Row, like: &Like) -> Result<Row> {
    let name = if like.case_insensitive { "ILIKE" } else { "LIKE" };
    let Some(pattern) = public_text(&like.pattern) else {
        return Err(refused(
            &format!("{name} with a pattern that is not a literal"),
            "a pattern of a row can make the comparison fail",
            "write the pattern as a text, as in 'a%'",
        ));
    };
    if like.escape_char.is_some_and(|mark| mark != '\\') {
        return Err(refused(
            "ESCAPE",
            "not all engines support it",
            "write a backslash before a % or _ of the text, as in '10\\%'",
        ));
    }
    let row = pattern_row(text(value, name)?, pattern, like.case_insensitive)?;
    Ok(if like.negated { Row::Not(row.into()) } else { row })
}
/// Make a comparison with a pattern. Try the pattern first, so that it cannot fail on the rows.
fn pattern_row(value: Row, pattern: String, folded: bool) -> Result<Row> {
    let name = if folded { "ILIKE" } else { "LIKE" };
    let escapes = pattern.chars().rev().take_while(|mark| *mark == '\\').count();
    let reason = if pattern.len() > LONGEST_PATTERN {
        format!("expected a pattern of at most {LONGEST_PATTERN} bytes")
    } else if pattern.contains('\0') || escapes % 2 == 1 {
        "the pattern ends in a backslash, or has the character with code 0: write \\\\ for a \
         backslash"
            .to_owned()
    } else if !is_readable(&pattern, folded) {
        "the engine cannot read the pattern: write a shorter one".to_owned()
    } else {
        return Ok(Row::Like(value.into(), pattern, folded));
    };
    Err(Error::argument(name, reason))
}
/// Return whether an engine can read a pattern.
fn is_readable(pattern: &str, folded: bool) -> bool {
    // The engine has a second way to read the pattern, if all texts of a batch are ASCII.
    ["a", "\u{e4}"].into_iter().all(|cell| {
        let cells = StringViewArray::from(vec![cell]);
        let pattern = Scalar::new(StringViewArray::from(vec![pattern]));
        if folded { ilike(&cells, &pattern).is_ok() } else { matches(&cells, &pattern).is_ok() }
    })
}
fn text(row: Row, name: &str) -> Result<Row> {
    if row.kind() == Some(Type::Text) {
        return Ok(row);
    }
    Err(Error::argument(name, format!("expected text, found {}", described(&row))))
}
/// Read a public number of characters.
fn count(expr: &Expr, least: i64, name: &str) -> Result<i64> {
    let number = public_number(expr).filter(|x| x.fract() == 0.0).map(|x| x as i64);
    number.filter(|x| (least..=MOST).contains(x)).ok_or_else(|| {
        let reason = format!("expected a public whole number from {least} to {MOST}, found {expr}");
        Error::argument(name, reason)
    })
}
/// Put texts one after the other. Null if one of them is null.
pub(super) fn joined(rows: Vec<Row>, name: &str) -> Result<Row> {
    let mut parts = Vec::new();
    for row in rows {
        match text(row, name)? {
            // The parts of `a || b || c` are not divided into two nodes, so each part is cut once.
            Row::Joined(inner) => parts.extend(inner),
            other => parts.push(other),
        }
    }
    if parts.len() > MOST_PARTS {
        let reason = format!("expected at most {MOST_PARTS} parts, found {}", parts.len());
        return Err(Error::argument(name, reason));
    }
    Ok(Row::Joined(parts))
}
/// Translate a call of a function. Return `None` if this is not a supported function of texts.
pub(super) fn function(
    name: &str,
    args: &[Expr],
    row: &dyn Fn(usize) -> Result<Row>,
) -> Result<Option<Row>> {
    let first = || text(row(0)?, name);
    let made = |function: TextFunction| Ok(Some(Row::Text(function, first()?.into())));
    match (name, args) {
        ("lower", [_]) => made(TextFunction::Lower),
        ("upper", [_]) => made(TextFunction::Upper),
        ("btrim", [_]) => made(TextFunction::Trim),
        ("ltrim", [_]) => made(TextFunction::TrimStart),
        ("rtrim", [_]) => made(TextFunction::TrimEnd),
        ("substr", [_, start]) => made(TextFunction::Part(count(start, 1, name)?, None)),
        ("substr", [_, start, length]) => {
            let (start, length) = (count(start, 1, name)?, count(length, 0, name)?);
            made(TextFunction::Part(start, Some(length)))
        }
        ("left", [_, length]) => made(TextFunction::Left(count(length, 0, name)?)),
        ("character_length", [_]) => Ok(Some(Row::Length(first()?.into()))),
        ("concat", [_, ..]) => {
            // In contrast to `||`, this function leaves nulls out.
            let known = |place| {
                let row = text(row(place)?, name)?;
                let empty = || Row::Literal(Value::Text(String::new()));
                Ok(match row {
                    Row::Literal(_) => row,
                    row => Row::Coalesce(vec![row, empty()]),
                })
            };
            let parts = (0..args.len()).map(known).collect::<Result<Vec<_>>>()?;
            joined(parts, name).map(Some)
        }
        ("starts_with", [_, start]) => {
            let Some(start) = public_text(start) else {
                let reason = "expected a text that the query states, as in starts_with(x, 'a')";
                return Err(Error::argument(name, reason));
            };
            let escaped = |mark: char| match mark {
                '%' | '_' | '\\' => format!("\\{mark}"),
                mark => mark.to_string(),
            };
            let pattern: String = start.chars().map(escaped).chain(["%".into()]).collect();
            pattern_row(first()?, pattern, false).map(Some)
        }
        _ => Ok(None),
    }
}
