//! Print functions of texts. For every text, each of them gives a text or a number, and no error.
//!
//! | SQL | why the value of one row causes no error |
//! |---|---|
//! | `lower`, `upper` | They map each character. The mapped text has at most three times the bytes. An engine cannot store a text of 2^31 bytes, so at most [`LONGEST`] characters are mapped. |
//! | `btrim`, `ltrim`, `rtrim` | They remove spaces only. |
//! | `substr`, `left` | The numbers are public and not negative. The engine clips them to the text. |
//! | `character_length` | It counts characters. |
//! | `LIKE`, `ILIKE` | The pattern is public, and the checker tries it. The engine compares in a time that is proportional to the length of the text, and stores no copy of it. |
//! | `||` | An engine fails if all texts of a batch have 2^31 bytes together, so one long text would affect the other rows. Each part has at most [`LONGEST_PART`] characters of at most four bytes, there are at most [`MOST_PARTS`] parts, and a batch has 8192 rows. So a batch has less than 2^29 bytes. |
//!
//! Each function computes with one row only. In DataFusion, some of these functions have a second
//! code path for batches without characters beyond ASCII. Both paths give the same texts.

use super::rows::quoted_text;
use crate::ir::TextFunction;

/// The number of characters of a text that `lower` and `upper` map.
pub(crate) const LONGEST: i64 = 10_000_000;
/// The number of characters of each part of `||`.
pub(crate) const LONGEST_PART: i64 = 1000;
/// The largest number of parts of `||`.
pub(crate) const MOST_PARTS: usize = 10;

pub(super) fn like(value: &str, pattern: &str, folded: bool) -> String {
    let operator = if folded { "ILIKE" } else { "LIKE" };
    format!("({value} {operator} {})", quoted_text(pattern))
}
pub(super) fn function(function: TextFunction, value: &str) -> String {
    match function {
        TextFunction::Lower => format!("lower(left({value}, {LONGEST}))"),
        TextFunction::Upper => format!("upper(left({value}, {LONGEST}))"),
        TextFunction::Trim => format!("btrim({value})"),
        TextFunction::TrimStart => format!("ltrim({value})"),
        TextFunction::TrimEnd => format!("rtrim({value})"),
        TextFunction::Part(start, None) => format!("substr({value}, {start})"),
        TextFunction::Part(start, Some(count)) => format!("substr({value}, {start}, {count})"),
        TextFunction::Left(count) => format!("left({value}, {count})"),
    }
}
pub(super) fn length(value: &str) -> String {
    format!("CAST(character_length({value}) AS BIGINT)")
}
/// Print the texts one after the other. Each text comes with whether it is a literal.
pub(super) fn joined(parts: impl Iterator<Item = (String, bool)>) -> String {
    let part = |(text, is_literal): (String, bool)| match is_literal {
        true => text,
        false => format!("left({text}, {LONGEST_PART})"),
    };
    format!("({})", parts.map(part).collect::<Vec<_>>().join(" || "))
}
