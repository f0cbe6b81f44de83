//! Find bounds of expressions.

use super::{Picked, dates};
use crate::ir::{Operator, Rounding, Row};
use crate::metadata::check_bounds;
use crate::{Type, Value};

/// Return bounds of an expression, or `None` if no bounds are known. The values of the expression
/// are moved into these bounds before they are aggregated. So wrong bounds would change an answer,
/// but not its privacy.
///
/// The bounds are those of a `clamp`, those that the metadata state for a column, or bounds that
/// follow from these bounds and from literals. They hold if the values of the columns are within
/// their own bounds.
pub(super) fn bounds_of(branch: usize, row: &Row, picked: &Picked<'_>) -> Option<[f64; 2]> {
    let known = |row: &Row| bounds_of(branch, row, picked);
    let bounds = match row {
        Row::Clamp(_, low, high) => return Some([*low, *high]),
        Row::Float(inner) => return known(inner),
        Row::Column { .. } => return picked.described(branch, row)?.bounds,
        Row::Negative(inner) => known(inner).map(|[low, high]| [-high, -low]),
        Row::Rounded(rounding, inner) => known(inner).map(|bounds| rounded(*rounding, bounds)),
        Row::Arithmetic(operator, x, y) => {
            arithmetic(*operator, part(x, &known)?, part(y, &known)?)
        }
        Row::NullIf(inner, _) => known(inner),
        Row::Part(part, value) => {
            let (low, high) = dates::part_range(branch, *part, value, picked)?;
            Some([low as f64, high as f64])
        }
        Row::Days(from, to) => {
            let (low, high) = dates::days_range(branch, from, to, picked)?;
            Some([low as f64, high as f64])
        }
        Row::Coalesce(all) => whole(all.iter(), &known),
        Row::Case(cases, otherwise) => {
            let values = cases.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            // A sum counts a null as 0. So `CASE WHEN x THEN 1 END` has the bounds 0 and 1.
            whole(values, &known).map(|[low, high]| match low == high {
                true => [low.min(0.0), high.max(0.0)],
                false => [low, high],
            })
        }
        _ => None,
    };
    let is_usable = |[low, high]: &[f64; 2]| check_bounds(*low, *high, Type::Float).is_ok();
    bounds.map(|bounds| bounds.map(|bound| bound + 0.0)).filter(is_usable)
}
/// Return bounds of a part of an expression. The part can be a literal.
fn part(row: &Row, known: &dyn Fn(&Row) -> Option<[f64; 2]>) -> Option<[f64; 2]> {
    match row {
        Row::Literal(Value::Integer(value)) if value.unsigned_abs() <= 1 << 53 => {
            Some([*value as f64; 2])
        }
        Row::Literal(Value::Float(value)) => Some([*value; 2]),
        Row::Float(inner) => part(inner, known),
        row => known(row),
    }
}
/// Return bounds that contain all values of several parts. A null has no value.
fn whole<'a>(
    rows: impl Iterator<Item = &'a Row>,
    known: &dyn Fn(&Row) -> Option<[f64; 2]>,
) -> Option<[f64; 2]> {
    let mut found: Option<[f64; 2]> = None;
    for row in rows.filter(|row| **row != Row::Literal(Value::Null)) {
        let [low, high] = part(row, known)?;
        let joined = |[lower, upper]: [f64; 2]| [lower.min(low), upper.max(high)];
        found = Some(found.map_or([low, high], joined));
    }
    found
}
fn rounded(rounding: Rounding, [low, high]: [f64; 2]) -> [f64; 2] {
    match rounding {
        Rounding::Floor => [low.floor(), high.floor()],
        Rounding::Ceiling => [low.ceil(), high.ceil()],
        Rounding::Absolute if low <= 0.0 && 0.0 <= high => [0.0, high.max(-low)],
        Rounding::Absolute => [low.abs().min(high.abs()), low.abs().max(high.abs())],
    }
}
/// Return bounds of the result of an operation. A quotient has bounds if its divisor is never 0.
fn arithmetic(operator: Operator, x: [f64; 2], y: [f64; 2]) -> Option<[f64; 2]> {
    let all = |operation: fn(f64, f64) -> f64| {
        let ends = x.into_iter().flat_map(|x| y.into_iter().map(move |y| operation(x, y)));
        let ends: Vec<f64> = ends.collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        [low, ends.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
    };
    match operator {
        Operator::Add => Some(all(|x, y| x + y)),
        Operator::Subtract => Some(all(|x, y| x - y)),
        Operator::Multiply => Some(all(|x, y| x * y)),
        Operator::Divide if y[0] <= 0.0 && 0.0 <= y[1] => None,
        Operator::Divide => Some(all(|x, y| x / y)),
    }
}
