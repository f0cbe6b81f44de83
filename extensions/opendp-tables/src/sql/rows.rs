//! Print row-wise expressions so that no row raises an error.

use super::Dialect;
use super::texts;
use crate::calendar::printed as calendar;
use crate::ir::{Lattice, Operator, Rounding, Row};
use crate::{Type, Value};

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Boolean(true) => "TRUE".into(),
        Value::Boolean(false) => "FALSE".into(),
        Value::Integer(value) => format!("CAST('{value}' AS BIGINT)"),
        Value::Float(value) => float(*value),
        Value::Text(text) => quoted_text(text),
        // The plan computes with the numbers of dates and times.
        Value::Date(value) | Value::Timestamp(value) => format!("CAST('{value}' AS BIGINT)"),
    }
}
pub(super) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
/// Print a float. Negative zero becomes zero.
fn float(value: f64) -> String {
    format!("CAST('{:e}' AS DOUBLE PRECISION)", value + 0.0)
}
pub(crate) fn list(values: &[Value]) -> String {
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}
/// Print an expression for the value of a column. NaN becomes null, and negative zero becomes zero,
/// because not all engines treat NaN and negative zero in the same way. Other floats are moved into
/// the interval from -1e100 to 1e100, and digits that stand for less than about 1e-116 are lost.
pub(crate) fn column(source: usize, name: &str, kind: Type, dialect: Dialect) -> String {
    let column = format!("t{source}.{}", quoted(name));
    let nan = match dialect {
        Dialect::DataFusion => format!("isnan({column})"),
        Dialect::PostgreSql => format!("{column} = CAST('NaN' AS DOUBLE PRECISION)"),
    };
    match kind {
        Type::Float => {
            let moderate = unchecked_moderate(&column);
            format!("(CASE WHEN {column} IS NULL OR {nan} THEN NULL ELSE {moderate} END)")
        }
        Type::Date | Type::Timestamp => calendar::column(&column, kind, dialect),
        _ => column,
    }
}

pub(crate) fn print(row: &Row, dialect: Dialect) -> String {
    let text = |row: &Row| print(row, dialect);
    match row {
        Row::Column { source, name, kind } => column(*source, name, *kind, dialect),
        Row::Literal(value) => literal(value),
        Row::Arithmetic(operator, x, y) => arithmetic(*operator, x, y, dialect),
        Row::Negative(x) => format!("({} - {})", float(0.0), text(x)),
        Row::Rounded(Rounding::Absolute, x) => format!("abs({})", text(x)),
        Row::Rounded(Rounding::Floor, x) => format!("(floor({}) + {})", text(x), float(0.0)),
        Row::Rounded(Rounding::Ceiling, x) => format!("(ceil({}) + {})", text(x), float(0.0)),
        Row::Compare(sign, x, y) => format!("({} {} {})", text(x), sign.sign(), text(y)),
        Row::And(x, y) => format!("({} AND {})", text(x), text(y)),
        Row::Or(x, y) => format!("({} OR {})", text(x), text(y)),
        Row::Not(x) => format!("(NOT {})", text(x)),
        Row::IsNull(x) => format!("({} IS NULL)", text(x)),
        Row::In(x, values) => format!("({} IN ({}))", text(x), list(values)),
        Row::Case(cases, otherwise) => {
            let cases: String = cases
                .iter()
                .map(|(when, then)| format!(" WHEN {} THEN {}", text(when), text(then)))
                .collect();
            let otherwise = otherwise.as_ref().map_or("NULL".to_owned(), |row| text(row));
            format!("(CASE{cases} ELSE {otherwise} END)")
        }
        Row::Coalesce(all) => {
            format!("COALESCE({})", all.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        Row::NullIf(x, y) => format!("NULLIF({}, {})", text(x), text(y)),
        Row::Float(x) => format!("CAST({} AS DOUBLE PRECISION)", text(x)),
        Row::Clamp(x, low, high) => clamped(&text(x), *low, *high),
        Row::Part(part, x) => calendar::part(*part, kind_of(x), &text(x)),
        Row::Start(period, x) => calendar::start(*period, kind_of(x), &text(x)),
        Row::Day(x) => calendar::day(&text(x)),
        Row::Midnight(x) => calendar::midnight(&text(x)),
        Row::Shifted(length, x) => calendar::shifted(kind_of(x), *length, &text(x)),
        Row::Days(from, to) => calendar::days(&text(from), &text(to)),
        Row::Like(x, pattern, folded) => texts::like(&text(x), pattern, *folded),
        Row::Text(function, x) => texts::function(*function, &text(x)),
        Row::Length(x) => texts::length(&text(x)),
        Row::Joined(all) => {
            let part = |row: &Row| (text(row), matches!(row, Row::Literal(_)));
            texts::joined(all.iter().map(part))
        }
    }
}
fn kind_of(row: &Row) -> Type {
    row.kind().unwrap_or(Type::Timestamp)
}
/// Print an expression that moves a float into bounds. Null stays null.
fn clamped(value: &str, low: f64, high: f64) -> String {
    // The functions `greatest` and `least` ignore nulls, so the expression needs `IS NULL`.
    let inner = format!("least({value}, {})", float(high));
    format!("CASE WHEN {value} IS NULL THEN NULL ELSE greatest({inner}, {}) END", float(low))
}
/// Print an operation on floats so that it cannot fail. If an operation overflows or underflows,
/// some servers raise an error, and other servers return infinity or zero. So the printed operation
/// must not overflow or underflow. If the operation could overflow or underflow, its operands are
/// first rounded to moderate magnitudes: 0, or from about 1e-116 to 1e100. A product or a quotient
/// can be negative zero. Here and in [`column`], negative zero becomes zero. A sum or a difference
/// is never negative zero, because its operands are not negative zero.
fn arithmetic(operator: Operator, x: &Row, y: &Row, dialect: Dialect) -> String {
    let safe = is_safe(operator, x, y);
    let operand =
        |row: &Row| if safe { print(row, dialect) } else { moderate(&print(row, dialect)) };
    let (x, y) = (operand(x), operand(y));
    match operator {
        Operator::Add => format!("({x} + {y})"),
        Operator::Subtract => format!("({x} - {y})"),
        Operator::Multiply => format!("({x} * {y} + {})", float(0.0)),
        Operator::Divide => format!("({x} / NULLIF({y}, {zero}) + {zero})", zero = float(0.0)),
    }
}
/// Return whether an operation on floats can neither overflow nor underflow. If the result is
/// false, `arithmetic` moves the operands to moderate magnitudes, and prints each operand twice.
pub(crate) fn is_safe(operator: Operator, x: &Row, y: &Row) -> bool {
    Magnitude::of(operator, Magnitude::of_row(x), Magnitude::of_row(y)).is_safe()
}
/// Print an expression that moves a float to a moderate magnitude, as `unchecked_moderate` does.
/// Null stays null.
fn moderate(value: &str) -> String {
    let moved = unchecked_moderate(value);
    format!("(CASE WHEN {value} IS NULL THEN NULL ELSE {moved} END)")
}
/// Print an expression that moves a float to a moderate magnitude: 0, or from about 1e-116 to
/// 1e100. The float must not be null, because `greatest` and `least` ignore nulls.
fn unchecked_moderate(value: &str) -> String {
    // Adding and then subtracting 1e-100 changes only tiny values.
    let (tiny, largest, least) = (float(1e-100), float(1e100), float(-1e100));
    format!("((greatest(least({value}, {largest}), {least}) + {tiny}) - {tiny})")
}

/// Bounds on the magnitude of a float that is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Magnitude {
    least: f64,
    largest: f64,
}
impl Magnitude {
    const MODERATE: Magnitude = Magnitude { least: 1e-117, largest: 2e100 };

    fn is_safe(self) -> bool {
        1e-290 < self.least && self.largest < 1e290
    }
    fn either(self, other: Magnitude) -> Magnitude {
        Magnitude { least: self.least.min(other.least), largest: self.largest.max(other.largest) }
    }
    /// Bound the magnitude of the result of an operator. If a sum or a difference is not 0, its
    /// magnitude is at least one unit in the last place of the smaller operand.
    fn of(operator: Operator, x: Magnitude, y: Magnitude) -> Magnitude {
        let (least, largest) = match operator {
            Operator::Add | Operator::Subtract => {
                (x.least.min(y.least) * 1e-17, x.largest + y.largest)
            }
            Operator::Multiply => (x.least * y.least, x.largest * y.largest),
            Operator::Divide => (x.least / y.largest, x.largest / y.least),
        };
        Magnitude { least: least / 2.0, largest: largest * 2.0 }
    }
    pub(crate) fn of_row(row: &Row) -> Magnitude {
        let whole = Magnitude { least: 1.0, largest: 1e19 };
        match row {
            Row::Float(_) => whole,
            Row::Literal(Value::Integer(_)) => whole,
            Row::Literal(Value::Float(value)) if *value != 0.0 => {
                Magnitude { least: value.abs(), largest: value.abs() }
            }
            Row::Literal(_) => Magnitude { least: 1.0, largest: 1.0 },
            Row::Arithmetic(operator, x, y) => {
                let result = Magnitude::of(*operator, Magnitude::of_row(x), Magnitude::of_row(y));
                let moderate = Magnitude::of(*operator, Self::MODERATE, Self::MODERATE);
                if result.is_safe() { result } else { moderate }
            }
            Row::Negative(x) | Row::Rounded(Rounding::Absolute, x) => Magnitude::of_row(x),
            Row::Rounded(_, x) => {
                Magnitude { least: 1.0, largest: Magnitude::of_row(x).largest + 1.0 }
            }
            Row::Clamp(x, low, high) => {
                let bounds = [low.abs(), high.abs()].into_iter().filter(|bound| *bound > 0.0);
                let least = bounds.fold(Magnitude::of_row(x).least, f64::min);
                Magnitude { least, largest: low.abs().max(high.abs()) }
            }
            Row::NullIf(x, _) => Magnitude::of_row(x),
            Row::Coalesce(all) => all
                .iter()
                .map(Magnitude::of_row)
                .fold(Magnitude::of_row(&Row::Literal(Value::Null)), Magnitude::either),
            Row::Case(cases, otherwise) => {
                let values = cases.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                values
                    .map(Magnitude::of_row)
                    .fold(Magnitude::of_row(&Row::Literal(Value::Null)), Magnitude::either)
            }
            _ => Self::MODERATE,
        }
    }
}

/// Print the value of a column as a whole number of lattice steps. The value is moved into the
/// bounds and rounded to the lattice, and the centre is subtracted. If `square` is true, this
/// difference is squared. A null gives 0.
pub(crate) fn on_lattice(
    column: usize,
    kind: Option<Type>,
    lattice: &Lattice,
    square: bool,
    dialect: Dialect,
) -> String {
    let Lattice { exponent, low, high, centre } = *lattice;
    let name = format!("c{column}");
    let whole = kind == Some(Type::Integer) && exponent == 0;
    let point = |point: i64| literal(&Value::Integer(point));
    let (least, largest, inside) = if whole {
        (point(low), point(high), name.clone())
    } else {
        let value = moderate(&format!("CAST({name} AS DOUBLE PRECISION)"));
        let (step, steps) = (lattice.step(), 2f64.powi(-exponent));
        let scaled = format!("floor({value} * {} + {})", float(steps), float(0.5));
        let cast = match dialect {
            Dialect::DataFusion => "TRY_CAST",
            Dialect::PostgreSql => "CAST",
        };
        let bound = |point: i64| float(point as f64 * step);
        // The `CASE` below uses `inside` only for values between the bounds. The bounds are lattice
        // points, and rounding does not change lattice points. Every operation of the rounding is
        // monotone by its definition. So a rounded value is also between the bounds, and `greatest`
        // and `least` normally have no effect. They protect against engines in which an operation
        // is not monotone.
        let inside =
            format!("greatest(least({cast}({scaled} AS BIGINT), {}), {})", point(high), point(low));
        (bound(low), bound(high), inside)
    };
    let centre = point(centre);
    let from = |place: String| {
        if square {
            format!("({place} - {centre}) * ({place} - {centre})")
        } else {
            format!("({place} - {centre})")
        }
    };
    format!(
        "CASE WHEN {name} IS NULL THEN 0 WHEN {name} <= {least} THEN {} WHEN {name} >= {largest} \
         THEN {} ELSE {} END",
        from(point(low)),
        from(point(high)),
        from(inside)
    )
}
/// Print the place of a value among candidates. If the value equals candidate `k`, counted from 0,
/// the place is `2 k + 1`. Otherwise the place is `2 k`, where `k` is the number of candidates
/// below the value. The list `candidates` begins with candidate `first`.
pub(crate) fn search(value: &str, candidates: &[f64], first: usize) -> String {
    let middle = candidates.len() / 2;
    let Some(candidate) = candidates.get(middle) else { return (2 * first).to_string() };
    let (below, above) = (&candidates[..middle], &candidates[middle + 1..]);
    let (hit, after) = (2 * (first + middle) + 1, first + middle + 1);
    let candidate = float(*candidate);
    format!(
        "CASE WHEN {value} < {candidate} THEN {} WHEN {value} = {candidate} THEN {hit} ELSE {} END",
        search(value, below, first),
        search(value, above, after)
    )
}
