//! The aggregates of a query: sums of integers, and choices among candidates. Before values are
//! added, they are rounded to the points of a lattice: the integer multiples of a step between two
//! bounds.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Expr};
use opendp_core::arith::shown;
use opendp_core::{Error, Result};

use super::bounds::bounds_of;
use super::candidates::candidates_of;
use super::rows::{described, public_number};
use super::source::Relation;
use super::{Picked, refused};
use crate::Type;
use crate::ir::{Addend, Bounding, Buckets, Lattice, Row, Sum};
use crate::metadata::check_bounds;

/// Each of the three constants below states a number `n` of bits: the magnitudes on a lattice are
/// at most about `2^n` steps. For a sum, these are the magnitudes of the values. For a mean or a
/// variance, these are the magnitudes of the differences from the middle of the bounds. `BITS` is
/// for floats: with 2^40 steps, the rounding error of a value is far below any useful noise. But
/// for a mean or a variance of floats far from 0, there are fewer steps: see [`Lattice::centred`]
/// and `LEAST_STEPS`. `WHOLE_BITS` is for integers. Their bounds have magnitudes of at most 2^53.
/// So their step is 1, and they are not rounded. `SQUARE_BITS` is for numbers that are squared: the
/// squares of magnitudes up to 2^25 + 1 have at most 51 bits.
const BITS: i32 = 40;
const WHOLE_BITS: i32 = 54;
const SQUARE_BITS: i32 = 25;

/// The least number of steps between the bounds of a mean or a variance of floats. With fewer
/// steps, the rounding of values would change the answer noticeably, and the interval would not
/// include this change.
const LEAST_STEPS: f64 = 100.0;

/// The quantile level of MIN. The quantile level of MAX is one minus this level. The true minimum
/// and the true maximum are values of single individuals. So a private answer is not reliably near
/// these values.
const EXTREME: f64 = 0.005;

/// The value that is released for an aggregate. All values except public numbers and quantiles are
/// computed from noisy sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Output {
    /// A sum of integers, multiplied by the step of their lattice. For a count, the step is 1.
    Sum { sum: usize, step: f64 },
    /// A mean: the centre of the bounds plus a quotient. The quotient is a sum of differences from
    /// the centre, divided by a count.
    Mean { sum: usize, count: usize, lattice: Lattice },
    /// A variance, or the square root of a variance.
    Spread { squares: usize, sum: usize, count: usize, lattice: Lattice, sample: bool, root: bool },
    /// A number that is public.
    Public { value: f64 },
    /// A mean over a public number of rows.
    MeanOf { sum: usize, rows: u64, lattice: Lattice },
    /// A candidate near a quantile, chosen with noise.
    Quantile { buckets: usize, alpha: f64 },
}
impl Output {
    /// Return the sums that the value is computed from.
    pub(crate) fn sums(&self) -> Vec<usize> {
        match self {
            Output::Sum { sum, .. } | Output::MeanOf { sum, .. } => vec![*sum],
            Output::Mean { sum, count, .. } => vec![*sum, *count],
            Output::Spread { squares, sum, count, .. } => vec![*squares, *sum, *count],
            Output::Public { .. } | Output::Quantile { .. } => Vec::new(),
        }
    }
    /// If the value is a quantile, return the index of its buckets in the plan, and the level of
    /// the quantile as a fraction.
    pub(crate) fn choice(&self) -> Option<(usize, (u64, u64))> {
        match self {
            Output::Quantile { buckets, alpha } => {
                Some((*buckets, crate::mechanisms::fraction(*alpha)))
            }
            _ => None,
        }
    }
}

pub(crate) fn outputs(
    aggregate: &Aggregate,
    source: &Relation,
    picked: &mut Picked<'_>,
) -> Result<Vec<Output>> {
    if aggregate.aggr_expr.is_empty() {
        return Err(refused(
            "GROUP BY",
            "without an aggregate, it would list the keys of the groups",
            "add COUNT(*) or COUNT(DISTINCT id)",
        ));
    }
    aggregate.aggr_expr.iter().map(|expr| output(expr, source, picked)).collect()
}
fn output(expr: &Expr, source: &Relation, picked: &mut Picked<'_>) -> Result<Output> {
    let Expr::AggregateFunction(call) = expr.clone().unalias_nested().data else {
        return Err(refused(
            "aggregate",
            "it is not a direct call of an aggregate function",
            "use COUNT, SUM or AVG",
        ));
    };
    let params = &call.params;
    if !params.order_by.is_empty() || params.null_treatment.is_some() {
        return Err(refused(
            "ORDER BY in an aggregate",
            "ordering rows compares the rows of different individuals",
            "leave it out, or write quantile(x, 0.5) for a percentile",
        ));
    }
    let filter = params.filter.as_deref();
    let only = filter.map(|filter| condition(filter, source, picked)).transpose()?;
    let name = call.func.name().to_lowercase();
    if params.distinct {
        return distinct(&name, &call, source, picked, only);
    }
    let args = params.args.as_slice();
    match (name.as_str(), args) {
        ("count", [arg]) => count(arg, source, picked, only),
        ("sum", [arg]) => {
            let (column, lattice) = bounded(arg, source, picked, BITS, &name, false)?;
            let sum = sum_of(picked, Addend::Value(column, lattice), only);
            Ok(Output::Sum { sum, step: lattice.step() })
        }
        ("avg" | "mean", [arg]) => mean(arg, source, picked, only, &name),
        (
            "var" | "var_samp" | "var_sample" | "var_pop" | "var_population" | "stddev"
            | "stddev_samp" | "stddev_pop",
            [arg],
        ) => {
            let (column, lattice) = bounded(arg, source, picked, SQUARE_BITS, &name, true)?;
            let squares = sum_of(picked, Addend::Square(column, lattice), only);
            let sum = sum_of(picked, Addend::Value(column, lattice), only);
            let count = sum_of(picked, Addend::Known(column), only);
            let (sample, root) = (!name.contains("pop"), name.starts_with("stddev"));
            Ok(Output::Spread { squares, sum, count, lattice, sample, root })
        }
        ("min", [arg]) => quantile(&name, arg, EXTREME, source, picked, only),
        ("max", [arg]) => quantile(&name, arg, 1.0 - EXTREME, source, picked, only),
        ("median", [arg]) => quantile(&name, arg, 0.5, source, picked, only),
        ("quantile", [arg, second]) => match public_number(second) {
            Some(alpha) if is_level(alpha) => quantile(&name, arg, alpha, source, picked, only),
            found => {
                let found = found.map_or_else(|| second.to_string(), |x| shown(x).to_string());
                Err(Error::argument("quantile", format!("{LEVELS}; found {found}")))
            }
        },
        _ => Err(refused(
            &format!("{name}()"),
            "it is not known how much one individual can change its result",
            "use COUNT, SUM, AVG, VAR, STDDEV, MIN, MAX, MEDIAN or quantile(x, 0.9)",
        )),
    }
}
const LEVELS: &str = "expected a public number from 0.0001 to 0.9999, or 0 or 1; the number is \
                      rounded to four decimals";
/// Return whether a number can be the level of a quantile. A level is rounded to four decimals, and
/// a level very near 0 or 1 would be rounded to 0 or 1. So levels between 0 and 0.0001 and levels
/// between 0.9999 and 1 are not allowed.
fn is_level(alpha: f64) -> bool {
    [0.0, 1.0].contains(&alpha) || (0.0001..=0.9999).contains(&alpha)
}
/// Translate the condition on the rows of an aggregate, and return the position of its column.
fn condition(filter: &Expr, source: &Relation, picked: &mut Picked<'_>) -> Result<usize> {
    let rows = source.rows(filter)?;
    if rows.iter().any(|row| row.kind() != Some(Type::Boolean)) {
        return Err(Error::argument("FILTER", "expected a condition"));
    }
    Ok(picked.column(rows))
}
/// Translate a mean. The plan needs no count for this mean under three conditions: the mean is over
/// all rows, the number of these rows is public, and every row has a value.
fn mean(
    arg: &Expr,
    source: &Relation,
    picked: &mut Picked<'_>,
    only: Option<usize>,
    name: &str,
) -> Result<Output> {
    let (column, lattice) = bounded(arg, source, picked, BITS, name, true)?;
    let sum = sum_of(picked, Addend::Value(column, lattice), only);
    let rows = picked.public_rows().filter(|_| only.is_none());
    if let Some(rows) = rows.filter(|_| is_complete(column, picked)) {
        return Ok(Output::MeanOf { sum, rows, lattice });
    }
    let count = sum_of(picked, Addend::Known(column), only);
    Ok(Output::Mean { sum, count, lattice })
}
fn sum_of(picked: &mut Picked<'_>, addend: Addend, only: Option<usize>) -> usize {
    let sum = Sum { addend, only };
    if let Some(found) = picked.sums.iter().position(|known| *known == sum) {
        return found;
    }
    picked.sums.push(sum);
    picked.sums.len() - 1
}
fn count(
    arg: &Expr,
    source: &Relation,
    picked: &mut Picked<'_>,
    only: Option<usize>,
) -> Result<Output> {
    #[expect(deprecated, reason = "plans that are not analyzed can contain `Wildcard`")]
    let every =
        matches!(arg, Expr::Literal(ScalarValue::Int64(Some(_)), _) | Expr::Wildcard { .. });
    let addend = if every { Addend::One } else { Addend::Known(picked.column(source.rows(arg)?)) };
    if let (Addend::One, None, Some(rows)) = (&addend, only, picked.public_rows()) {
        return Ok(Output::Public { value: rows as f64 });
    }
    Ok(Output::Sum { sum: sum_of(picked, addend, only), step: 1.0 })
}
fn distinct(
    name: &str,
    call: &AggregateFunction,
    source: &Relation,
    picked: &mut Picked<'_>,
    only: Option<usize>,
) -> Result<Output> {
    let what = format!("{}(DISTINCT)", name.to_uppercase());
    let ids = match call.params.args.as_slice() {
        [arg] if name == "count" => source.rows(arg)?.iter().all(|row| picked.is_id(row)),
        _ => false,
    };
    if ids && matches!(picked.bounding, Bounding::Enforced { .. }) {
        return Ok(Output::Sum { sum: sum_of(picked, Addend::Id, only), step: 1.0 });
    }
    let instead = match picked.bounding {
        Bounding::Enforced { .. } => {
            "count individuals by COUNT(DISTINCT id), with the id of the privacy unit"
        }
        Bounding::Trusted { .. } => {
            "group by this column, and count the released groups; individuals can be counted by \
             COUNT(DISTINCT id) if the privacy unit is an id"
        }
    };
    Err(refused(
        &what,
        "values may be shared, and it is not known how much one individual can change the result",
        instead,
    ))
}
/// Return whether a column has a value in every row of every branch.
fn is_complete(column: usize, picked: &Picked<'_>) -> bool {
    let expression = |branch: &crate::ir::Branch| branch.columns.get(column).cloned();
    let rows = picked.branches.iter().map(expression).enumerate();
    rows.fold(true, |all, (branch, row)| {
        all && row.is_some_and(|row| picked.is_complete(branch, &row))
    })
}
/// Find the bounds of an aggregated expression, and add the expression as a column. Return the
/// position of the column, and a lattice for its values. If `centred` is true, the lattice
/// subtracts the middle of the bounds.
fn bounded(
    arg: &Expr,
    source: &Relation,
    picked: &mut Picked<'_>,
    bits: i32,
    name: &str,
    centred: bool,
) -> Result<(usize, Lattice)> {
    let mut rows = source.rows(arg)?;
    let mut found: Option<[f64; 2]> = None;
    for (branch, row) in rows.iter().enumerate() {
        let bounds = bounds_of(branch, row, picked).ok_or_else(|| {
            refused(
                &format!("{name}({arg})"),
                "no bounds are known, so one individual could change it without limit",
                with_bounds(row),
            )
        })?;
        if found.is_some_and(|found| found != bounds) {
            let reason = "the parts of UNION ALL have different bounds: write clamp(x, low, high)";
            return Err(Error::argument(name, reason));
        }
        found = Some(bounds);
    }
    let Some([low, high]) = found else {
        return Err(Error::argument(name, "expected an expression"));
    };
    rows = bare(&rows, [low, high]);
    let whole = are_integers(&rows);
    let kind = if whole { Type::Integer } else { Type::Float };
    check_bounds(low, high, kind)?;
    let bits = if whole && bits == BITS { WHOLE_BITS } else { bits };
    let lattice = if centred {
        Lattice::centred(low, high, whole, bits)
    } else {
        Lattice::of(low, high, whole, bits)
    };
    let distance = high - low;
    if centred && !whole && 0.0 < distance && distance < LEAST_STEPS * lattice.step() {
        let (low, high) = (shown(low), shown(high));
        let reason = format!(
            "{low} and {high} are too close together for floats of this magnitude, so {name} would \
             be wrong: subtract a constant from the values, and clamp the differences"
        );
        return Err(Error::argument("bounds", reason));
    }
    if lattice.low == lattice.high {
        let reason =
            format!("the bounds of {name}({arg}) are both {}: state two numbers", shown(low));
        return Err(Error::argument("bounds", reason));
    }
    Ok((picked.column(rows), lattice))
}
/// Say how to give bounds to an expression.
fn with_bounds(row: &Row) -> &'static str {
    match row {
        Row::Part(..) | Row::Days(..) => {
            "state `lower` and `upper` of the dates in the metadata, or write clamp(x, low, high)"
        }
        _ => "state `bounds` of the column in the metadata, or write clamp(x, low, high)",
    }
}
/// Remove the clamps from the expressions of the branches, because the lattice clamps to the same
/// bounds. If the bounds are whole numbers, and each expression is an integer or a float that was
/// converted from an integer, also remove these conversions.
fn bare(rows: &[Row], bounds: [f64; 2]) -> Vec<Row> {
    let bared = |row: &Row, unconverted: bool| match row {
        Row::Clamp(inner, ..) => match inner.as_ref() {
            Row::Float(column) if unconverted => column.as_ref().clone(),
            inner => inner.clone(),
        },
        _ => row.clone(),
    };
    let all = |unconverted| rows.iter().map(|row| bared(row, unconverted)).collect::<Vec<_>>();
    let whole = bounds.iter().all(|x| x.fract() == 0.0 && x.abs() <= 2f64.powi(53));
    Some(all(true)).filter(|rows| whole && are_integers(rows)).unwrap_or_else(|| all(false))
}
fn are_integers(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.kind() == Some(Type::Integer))
}
fn quantile(
    name: &str,
    arg: &Expr,
    alpha: f64,
    source: &Relation,
    picked: &mut Picked<'_>,
    only: Option<usize>,
) -> Result<Output> {
    let rows = source.rows(arg)?;
    if let Some(row) = rows.iter().find(|row| !row.kind().is_some_and(Type::is_number)) {
        let hint = match row.kind().is_some_and(Type::is_calendar) {
            true => format!(
                ": write for example {name}(EXTRACT(YEAR FROM d)), or for a date d with `lower` and \
                 `upper` DATE '2020-01-31' + {name}(d - DATE '2020-01-31')"
            ),
            false => String::new(),
        };
        let reason = format!("expected numbers, found {}{hint}", described(row));
        return Err(Error::argument(name, reason));
    }
    let candidates = rows.first().and_then(|row| candidates_of(row, picked));
    let candidates = candidates.ok_or_else(|| {
        refused(
            &format!("quantile of {arg}"),
            "no candidates are known, and the data's own values are private",
            "state `candidates` or `bounds` of the column, or write clamp(x, low, high)",
        )
    })?;
    let buckets = Buckets { column: picked.column(rows), candidates, only };
    let place = picked.buckets.iter().position(|known| *known == buckets);
    let place = place.unwrap_or_else(|| {
        picked.buckets.push(buckets);
        picked.buckets.len() - 1
    });
    Ok(Output::Quantile { buckets: place, alpha })
}
