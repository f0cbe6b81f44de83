//! The part of a query above its aggregate. This part computes only with released values.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, DataFusionError};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
    WindowFunctionDefinition, cast,
};
use opendp_core::{Error, Result};

use super::{node_name, refused};
use crate::functions::WEIGHT;

/// Find the aggregate below projections, HAVING, ORDER BY and LIMIT.
pub(crate) fn aggregate_of(plan: &LogicalPlan) -> Result<&Aggregate> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => Ok(aggregate),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Window(_) => {
            plan.expressions().iter().try_for_each(allowed)?;
            match plan.inputs().as_slice() {
                [input] => aggregate_of(input),
                _ => Err(without_aggregate(plan)),
            }
        }
        other => Err(without_aggregate(other)),
    }
}
fn without_aggregate(plan: &LogicalPlan) -> Error {
    match plan {
        LogicalPlan::Union(_) | LogicalPlan::Join(_) => refused(
            &node_name(plan),
            "it combines the results of several aggregates, or rows without an aggregate",
            "write one query for each aggregate, or apply UNION ALL and JOIN before the aggregate",
        ),
        LogicalPlan::TableScan(_) => refused(
            "SELECT without an aggregate",
            "it lists rows of individuals",
            "use COUNT, SUM or AVG",
        ),
        _ => refused(
            &node_name(plan),
            "it is not a SELECT with aggregates over the rows of a private table",
            "write a query such as SELECT COUNT(*) FROM t, where t is a private table",
        ),
    }
}
/// Check that an expression above the aggregate has no subquery, and no `DISTINCT` that the engine
/// would ignore.
fn allowed(expr: &Expr) -> Result<()> {
    let mut refusal = None;
    let visited = expr.apply(|part| {
        refusal = refusal_of(part);
        Ok(if refusal.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    match refusal {
        Some(refusal) => Err(refusal),
        None => visited.map(|_| ()).map_err(|_| with_subquery()),
    }
}
fn refusal_of(part: &Expr) -> Option<Error> {
    match part {
        Expr::ScalarSubquery(_)
        | Expr::InSubquery(_)
        | Expr::Exists(_)
        | Expr::SetComparison(_)
        | Expr::OuterReferenceColumn(..) => Some(with_subquery()),
        // If the function of a window is not an aggregate, the engine ignores `DISTINCT`.
        Expr::WindowFunction(call) if call.params.distinct => match &call.fun {
            WindowFunctionDefinition::WindowUDF(function) => Some(Error::NotImplemented(format!(
                "`DISTINCT` in `{}(...)` is not supported: the engine would leave it out.\n\
                 Instead, remove `DISTINCT`, or use an aggregate such as COUNT.",
                function.name()
            ))),
            WindowFunctionDefinition::AggregateUDF(_) => None,
        },
        _ => None,
    }
}
fn with_subquery() -> Error {
    refused(
        "subquery in an expression",
        "it may read private rows a second time",
        "ask the subquery as a separate query, and write its answer as a literal",
    )
}

/// Return the columns of the aggregate of a query: keys, then values.
pub(crate) fn aggregate_schema(plan: &LogicalPlan) -> Result<DFSchemaRef> {
    Ok(aggregate_of(plan)?.schema.clone())
}
/// Replace the aggregate of a query by another plan with the same columns.
pub(crate) fn replaced(
    plan: &LogicalPlan,
    released: LogicalPlan,
) -> Result<LogicalPlan, DataFusionError> {
    if let LogicalPlan::Aggregate(_) = plan {
        return Ok(released);
    }
    match plan.inputs().as_slice() {
        [input] => {
            let input = replaced(input, released)?;
            let node = plan.with_new_exprs(without_wrapping(plan, input.schema())?, vec![input])?;
            narrowed(plan, node)
        }
        _ => Err(DataFusionError::Internal("a node with several inputs".into())),
    }
}
/// Return the expressions of a node. A negation, a sum, a difference or a product of integers can
/// be too large for its type. Then the returned expressions fail. With the expressions of the node
/// itself, the engine would return a wrong number.
fn without_wrapping(plan: &LogicalPlan, input: &DFSchema) -> Result<Vec<Expr>, DataFusionError> {
    let names = NamePreserver::new(plan);
    let exact = |expr: Expr| {
        let name = names.save(&expr);
        Ok(name.restore(expr.transform_up(|part| exact(part, input))?.data))
    };
    plan.expressions().into_iter().map(exact).collect()
}
/// The type to which integers are cast before they are negated, added, subtracted or multiplied.
/// Every integer of 64 bits has at most 20 digits.
const WIDE: DataType = DataType::Decimal128(20, 0);
fn exact(part: Expr, input: &DFSchema) -> Result<Transformed<Expr>, DataFusionError> {
    use Operator::{Minus, Multiply, Plus};
    let kind = match &part {
        Expr::Negative(_) | Expr::BinaryExpr(BinaryExpr { op: Plus | Minus | Multiply, .. }) => {
            part.get_type(input)?
        }
        Expr::WindowFunction(call) if call.fun.name() == "sum" => part.get_type(input)?,
        _ => return Ok(Transformed::no(part)),
    };
    match part {
        Expr::Negative(inner) if kind.is_integer() => {
            let wide = Expr::Negative(Box::new(cast(*inner, WIDE)));
            Ok(Transformed::yes(cast(wide, kind)))
        }
        // The difference of two dates is an integer too, and cannot be too large.
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if kind.is_integer() && !left.get_type(input)?.is_temporal() =>
        {
            let wide = |side: Box<Expr>| Box::new(cast(*side, WIDE));
            let wide = BinaryExpr::new(wide(left), op, wide(right));
            Ok(Transformed::yes(cast(Expr::BinaryExpr(wide), kind)))
        }
        // The sum of a window keeps the type `WIDE`. A node of windows cannot cast this sum, so
        // `narrowed` casts it.
        Expr::WindowFunction(mut call) if kind.is_integer() => {
            call.params.args =
                call.params.args.into_iter().map(|argument| cast(argument, WIDE)).collect();
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        part => Ok(Transformed::no(part)),
    }
}
/// Cast the columns of a node to the types that they have in `plan`. If a number does not fit, the
/// cast fails.
fn narrowed(plan: &LogicalPlan, node: LogicalPlan) -> Result<LogicalPlan, DataFusionError> {
    let (before, after) = (plan.schema(), node.schema().clone());
    let mut types = before.fields().iter().zip(after.fields());
    if types.all(|(field, wide)| field.data_type() == wide.data_type()) {
        return Ok(node);
    }
    let columns = before.iter().zip(after.columns()).map(|((relation, field), column)| {
        let column = cast(Expr::Column(column), field.data_type().clone());
        column.alias_qualified(relation.cloned(), field.name())
    });
    LogicalPlanBuilder::from(node).project(columns)?.build()
}
/// Return a title for each aggregate. If a column of the answer shows the aggregate unchanged and
/// renames it, the title is the name of this column. Otherwise, the title is the name in `names`.
pub(crate) fn titles(query: &LogicalPlan, names: &[String]) -> Result<Vec<String>> {
    let aggregate = aggregate_of(query)?;
    // For each pair `(a, b)` in `shown`, the column `a` of the answer shows the column `b` of
    // `node`.
    let answer = query.schema().fields().iter();
    let mut shown: Vec<(String, String)> =
        answer.map(|field| (field.name().clone(), field.name().clone())).collect();
    let mut node = query;
    while !matches!(node, LogicalPlan::Aggregate(_)) {
        if let LogicalPlan::Projection(projection) = node {
            let below = |name: &String| {
                let fields = projection.schema.fields().iter().zip(&projection.expr);
                fields.filter(|(field, _)| field.name() == name).find_map(|(_, expr)| column(expr))
            };
            shown = shown.into_iter().filter_map(|(a, b)| Some((a, below(&b)?))).collect();
        }
        match node.inputs().as_slice() {
            [input] => node = input,
            _ => break,
        }
    }
    let fields = aggregate.schema.fields().iter().skip(aggregate.group_expr.len());
    let title = |(field, name): (&Arc<Field>, &String)| {
        let found = shown.iter().find(|(title, inner)| inner == field.name() && title != inner);
        found.map_or(name, |(title, _)| title).clone()
    };
    Ok(fields.zip(names).map(title).collect())
}
/// Return the name of the column that an expression shows unchanged. The expression can state a
/// weight.
fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Alias(alias) => column(&alias.expr),
        Expr::Column(column) => Some(column.name.clone()),
        Expr::ScalarFunction(call) if call.func.name() == WEIGHT => column(call.args.first()?),
        _ => None,
    }
}
