//! Translate row-wise expressions. The value of such an expression depends on one row only.

use std::cell::Cell;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator as Sign};
use opendp_core::{Error, Result};

use super::{check_count, check_levels, copied, dates, deep, refused, texts};
use super::{functions, intervals};
use crate::ir::{Comparison, Operator, Row};
use crate::{Type, Value};

/// Translate an expression over the columns of `schema`. For each of these columns, `columns` has
/// an expression over the columns of a table.
pub(crate) fn row(expr: &Expr, schema: &DFSchema, columns: &[Row]) -> Result<Row> {
    let row = Reader { schema, columns, copied: Cell::new(0) }.row(expr, 0)?;
    check_levels(row, expr)
}
/// If an expression is a number that the query states, return this number.
pub(crate) fn public_number(expr: &Expr) -> Option<f64> {
    let number = match expr {
        Expr::Literal(value, _) => match literal(value)? {
            Value::Integer(value) if value.unsigned_abs() <= 1 << 53 => value as f64,
            Value::Float(value) => value,
            _ => return None,
        },
        Expr::Negative(inner) => -public_number(inner)?,
        Expr::Cast(cast) => public_number(&cast.expr)?,
        _ => return None,
    };
    Some(number + 0.0)
}
/// If an expression is a text that the query states, return this text.
pub(super) fn public_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(
            ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text),
            _,
        ) => text.clone(),
        _ => None,
    }
}
fn literal(value: &ScalarValue) -> Option<Value> {
    match value {
        value if value.is_null() => Some(Value::Null),
        ScalarValue::Boolean(Some(value)) => Some(Value::Boolean(*value)),
        ScalarValue::Int8(Some(value)) => Some(Value::Integer((*value).into())),
        ScalarValue::Int16(Some(value)) => Some(Value::Integer((*value).into())),
        ScalarValue::Int32(Some(value)) => Some(Value::Integer((*value).into())),
        ScalarValue::Int64(Some(value)) => Some(Value::Integer(*value)),
        ScalarValue::UInt64(Some(value)) => i64::try_from(*value).ok().map(Value::Integer),
        ScalarValue::Float64(Some(value)) => {
            (value.abs() <= 1e100).then_some(Value::Float(*value + 0.0))
        }
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Value::text(text),
        other => dates::literal(other),
    }
}

pub(super) struct Reader<'a> {
    schema: &'a DFSchema,
    columns: &'a [Row],
    /// The number of nodes that were copied from `columns`.
    copied: Cell<usize>,
}
impl Reader<'_> {
    pub(super) fn row(&self, expr: &Expr, depth: usize) -> Result<Row> {
        if depth > 100 {
            return Err(deep(expr));
        }
        let read = |expr: &Expr| self.row(expr, depth + 1);
        let condition = |expr: &Expr| self.typed(expr, Type::Boolean, depth);
        match expr {
            Expr::Alias(alias) => read(&alias.expr),
            Expr::Column(column) => {
                let place = self.schema.index_of_column(column).ok();
                let found = place
                    .and_then(|place| self.columns.get(place))
                    .ok_or_else(|| Error::NotFound(format!("there is no column `{column}`")))?;
                // If a query uses the name of a long expression many times, the copies of the
                // expression could fill the memory. So limit the number of copied nodes.
                self.copied.set(self.copied.get().saturating_add(found.size()));
                check_count(self.copied.get(), column)?;
                Ok(found.clone())
            }
            interval if intervals::is_interval(interval) => Err(intervals::alone()),
            Expr::Literal(value, _) => literal(value).map(Row::Literal).ok_or_else(|| {
                let reason = "expected truth values, integers, floats up to 1e100, texts, or dates \
                              and times of the years 1 to 9999";
                Error::argument("literal", format!("{reason}; found {value}"))
            }),
            Expr::Not(inner) => Ok(Row::Not(condition(inner)?.into())),
            Expr::IsNull(inner) => Ok(Row::IsNull(read(inner)?.into())),
            Expr::IsNotNull(inner) => Ok(Row::Not(Row::IsNull(read(inner)?.into()).into())),
            Expr::Negative(inner) => match read(inner)? {
                Row::Literal(Value::Integer(value)) if value != i64::MIN => {
                    Ok(Row::Literal(Value::Integer(-value)))
                }
                inner => Ok(Row::Negative(float(inner, "-")?.into())),
            },
            Expr::BinaryExpr(binary) => self.binary(binary, depth),
            Expr::Between(between) => {
                let value = copied(read(&between.expr)?, 2, &between.expr)?;
                let low = compare(Comparison::AtLeast, value.clone(), read(&between.low)?)?;
                let high = compare(Comparison::AtMost, value, read(&between.high)?)?;
                let inside = Row::And(low.into(), high.into());
                Ok(if between.negated { Row::Not(inside.into()) } else { inside })
            }
            Expr::InList(list) => self.in_list(list, depth),
            Expr::Like(like) => texts::like(read(&like.expr)?, like),
            Expr::Case(case) => self.case(case, depth),
            Expr::Cast(cast) => convert(read(&cast.expr)?, cast.field.data_type()),
            Expr::TryCast(cast) => convert(read(&cast.expr)?, cast.field.data_type()),
            Expr::ScalarFunction(function) => functions::function(self, function, depth),
            other => Err(refused_expression(other)),
        }
    }
    fn typed(&self, expr: &Expr, kind: Type, depth: usize) -> Result<Row> {
        let row = self.row(expr, depth + 1)?;
        if row.kind() == Some(kind) {
            return Ok(row);
        }
        Err(Error::argument("query", format!("expected {expr} to be of type {}", kind.name())))
    }
    fn binary(&self, binary: &BinaryExpr, depth: usize) -> Result<Row> {
        let condition = |expr: &Expr| self.typed(expr, Type::Boolean, depth);
        match binary.op {
            Sign::And => {
                let (x, y) = (condition(&binary.left)?, condition(&binary.right)?);
                return Ok(Row::And(x.into(), y.into()));
            }
            Sign::Or => {
                let (x, y) = (condition(&binary.left)?, condition(&binary.right)?);
                return Ok(Row::Or(x.into(), y.into()));
            }
            Sign::Plus | Sign::Minus => {
                if let Some(row) = intervals::moved(self, binary, depth)? {
                    return Ok(row);
                }
            }
            _ => {}
        }
        let (x, y) = (self.row(&binary.left, depth + 1)?, self.row(&binary.right, depth + 1)?);
        let arithmetic = |operator: Operator, x: Row, y: Row| {
            let sign = binary.op.to_string();
            Ok(Row::Arithmetic(operator, float(x, &sign)?.into(), float(y, &sign)?.into()))
        };
        match binary.op {
            Sign::Plus | Sign::Minus if is_calendar(&x) || is_calendar(&y) => {
                intervals::of_dates(binary.op, x, y)
            }
            Sign::Plus => arithmetic(Operator::Add, x, y),
            Sign::Minus => arithmetic(Operator::Subtract, x, y),
            Sign::Multiply => arithmetic(Operator::Multiply, x, y),
            Sign::Divide => {
                if x.kind() == Some(Type::Integer) && y.kind() == Some(Type::Integer) {
                    return Err(refused(
                        "/",
                        "engines round quotients of integers differently",
                        "write CAST(x AS DOUBLE) / y",
                    ));
                }
                arithmetic(Operator::Divide, x, y)
            }
            Sign::Eq => compare(Comparison::Equal, x, y),
            Sign::NotEq => compare(Comparison::NotEqual, x, y),
            Sign::Lt => compare(Comparison::Less, x, y),
            Sign::LtEq => compare(Comparison::AtMost, x, y),
            Sign::Gt => compare(Comparison::Greater, x, y),
            Sign::GtEq => compare(Comparison::AtLeast, x, y),
            Sign::StringConcat => texts::joined(vec![x, y], "||"),
            other => Err(refused(
                &other.to_string(),
                "its result is not the same on every engine, or it can fail on some rows",
                "use + - * /, ||, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE or CASE",
            )),
        }
    }
    fn in_list(&self, list: &InList, depth: usize) -> Result<Row> {
        let value = self.row(&list.expr, depth + 1)?;
        let mut rows = vec![value];
        for item in &list.list {
            rows.push(self.row(item, depth + 1)?);
        }
        let mut rows = same_type(rows, "IN")?.into_iter();
        let value = rows.next();
        let literal = |row: Row| match row {
            Row::Literal(value) if value != Value::Null => Some(value),
            Row::Float(inner) => match *inner {
                Row::Literal(Value::Integer(value)) => Some(Value::Float(value as f64)),
                _ => None,
            },
            _ => None,
        };
        let values: Option<Vec<Value>> = rows.map(literal).collect();
        let (Some(value), Some(values)) = (value, values) else {
            return Err(Error::argument("IN", "expected a list of literals without NULL"));
        };
        if values.is_empty() {
            return Err(Error::argument("IN", "expected at least one literal"));
        }
        let inside = Row::In(value.into(), values);
        Ok(if list.negated { Row::Not(inside.into()) } else { inside })
    }
    fn case(&self, case: &Case, depth: usize) -> Result<Row> {
        let copies = case.when_then_expr.len();
        let subject = |expr: &Expr| copied(self.row(expr, depth + 1)?, copies, expr);
        let subject = case.expr.as_deref().map(subject).transpose()?;
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (when, then) in &case.when_then_expr {
            conditions.push(match &subject {
                Some(value) => {
                    compare(Comparison::Equal, value.clone(), self.row(when, depth + 1)?)?
                }
                None => self.typed(when, Type::Boolean, depth)?,
            });
            values.push(self.row(then, depth + 1)?);
        }
        if let Some(otherwise) = &case.else_expr {
            values.push(self.row(otherwise, depth + 1)?);
        }
        let mut values = same_type(values, "CASE")?;
        let otherwise = case.else_expr.as_ref().and_then(|_| values.pop()).map(Box::new);
        Ok(Row::Case(conditions.into_iter().zip(values).collect(), otherwise))
    }
}
fn is_calendar(row: &Row) -> bool {
    row.kind().is_some_and(Type::is_calendar)
}
fn refused_expression(expr: &Expr) -> Error {
    match expr {
        Expr::WindowFunction(_) => {
            refused("OVER", "a window compares rows of different individuals", "use aggregates")
        }
        Expr::ScalarSubquery(_)
        | Expr::InSubquery(_)
        | Expr::Exists(_)
        | Expr::SetComparison(_) => refused(
            "subquery in an expression",
            "it may read other private rows",
            "write a list of literals, or join with a public table",
        ),
        Expr::SimilarTo(_) => refused(
            "SIMILAR TO",
            "engines read its patterns differently",
            "use LIKE or ILIKE with the wildcards % and _, or store the answer of each row as a \
             column of booleans",
        ),
        other => refused(
            &other.to_string(),
            "expressions of this kind are not supported",
            "use + - * /, ||, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE or CASE",
        ),
    }
}
fn convert(row: Row, to: &DataType) -> Result<Row> {
    match (row.kind(), to) {
        (Some(Type::Integer | Type::Float), DataType::Float64) => float(row, "CAST"),
        (Some(Type::Integer), DataType::Int64)
        | (Some(Type::Boolean), DataType::Boolean)
        | (Some(Type::Text), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) => Ok(row),
        (_, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) => {
            dates::convert(row, to)
        }
        _ => Err(refused(
            &format!("CAST AS {}", sql_name(to)),
            "its result differs between engines, or it fails on some rows",
            "leave the cast out, and state the type of the column in the metadata: cells of another \
             type are read as null",
        )),
    }
}
/// Return the name that a type of the engine has in SQL.
pub(super) fn sql_name(kind: &DataType) -> String {
    let name = match kind {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "TEXT",
        DataType::Int8 | DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Decimal128(..) | DataType::Decimal256(..) => "NUMERIC",
        DataType::Date32 => "DATE",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        other => return other.to_string(),
    };
    name.to_owned()
}
/// Describe an expression for an error: the name of a column, and the type.
pub(super) fn described(row: &Row) -> String {
    let kind = row.kind().map_or("unknown", Type::name);
    match row {
        Row::Column { name, .. } => format!("the column `{name}` of type {kind}"),
        Row::Literal(_) => format!("a literal of type {kind}"),
        Row::Float(inner) => described(inner),
        _ => format!("an expression of type {kind}"),
    }
}
pub(super) fn float(row: Row, name: &str) -> Result<Row> {
    match row.kind() {
        Some(Type::Float) => Ok(row),
        Some(Type::Integer) => Ok(Row::Float(row.into())),
        _ => Err(Error::argument(name, format!("expected numbers, found {}", described(&row)))),
    }
}
fn compare(sign: Comparison, x: Row, y: Row) -> Result<Row> {
    let ordered = !matches!(sign, Comparison::Equal | Comparison::NotEqual);
    let both = same_type(vec![x, y], sign.sign())?;
    let [x, y] = <[Row; 2]>::try_from(both)
        .map_err(|_| Error::argument(sign.sign(), "expected two values"))?;
    if x == Row::Literal(Value::Null) || y == Row::Literal(Value::Null) {
        return Err(Error::argument(sign.sign(), "a comparison with NULL gives NULL: use IS NULL"));
    }
    if ordered && x.kind().is_some_and(|kind| !kind.is_number() && !kind.is_calendar()) {
        return Err(refused(
            sign.sign(),
            "engines order text differently",
            "compare text by = or IN; for a column of dates or times, state the `type` `date` or \
             `timestamp` in the metadata",
        ));
    }
    Ok(Row::Compare(sign, x.into(), y.into()))
}
/// Say what to write instead of values of several types.
fn mixed(rows: &[Row]) -> &'static str {
    let is = |test: fn(Type) -> bool| rows.iter().any(|row| row.kind().is_some_and(test));
    let text = rows.iter().any(|row| matches!(row, Row::Literal(Value::Text(_))));
    match (is(Type::is_number), is(Type::is_calendar)) {
        (_, true) => ": write dates and times in single quotes, as in '2020-01-31'",
        (true, _) if text => ": write numbers without quotes",
        (true, _) if is(|kind| kind == Type::Text) => ": write texts in single quotes",
        _ => "",
    }
}
/// Convert values to one type. If one value is a float, integers become floats. If one value is a
/// date or a time, texts that the query states become dates or times. If one value is a time, dates
/// become times.
pub(super) fn same_type(rows: Vec<Row>, name: &str) -> Result<Vec<Row>> {
    let kinds: Vec<Type> = rows.iter().filter_map(Row::kind).collect();
    let Some(first) = kinds.first() else {
        return Err(Error::argument(name, "expected a value that is not NULL"));
    };
    if kinds.iter().all(|kind| kind == first) {
        return Ok(rows);
    }
    let rows = match kinds.iter().any(|kind| kind.is_calendar()) {
        true => match dates::same_type(rows, name)? {
            Ok(rows) => return Ok(rows),
            Err(rows) => rows,
        },
        false => rows,
    };
    if !kinds.iter().all(|kind| kind.is_number()) {
        let differs = |row: &&Row| row.kind().is_some_and(|kind| kind != *first);
        let pair = [rows.iter().find(|row| row.kind().is_some()), rows.iter().find(differs)];
        let pair: Vec<String> = pair.into_iter().flatten().map(described).collect();
        let found = pair.join(" and ");
        let reason = format!("expected values of one type, found {found}{}", mixed(&rows));
        return Err(Error::argument(name, reason));
    }
    rows.into_iter()
        .map(|row| if row.kind().is_some() { float(row, name) } else { Ok(row) })
        .collect()
}
