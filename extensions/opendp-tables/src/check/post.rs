//! Read the part of a query above its aggregate. This part computes only with released values.

use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, DataFusionError};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
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
            plan.expressions().iter().try_for_each(without_subquery)?;
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
fn without_subquery(expr: &Expr) -> Result<()> {
    let mut found = false;
    let visited = expr.apply(|part| {
        found |= matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
        );
        Ok(TreeNodeRecursion::Continue)
    });
    if found || visited.is_err() {
        return Err(refused(
            "subquery in an expression",
            "it may read private rows a second time",
            "ask the subquery as a separate query, and write its answer as a literal",
        ));
    }
    Ok(())
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
        [input] => plan.with_new_exprs(plan.expressions(), vec![replaced(input, released)?]),
        _ => Err(DataFusionError::Internal("a node with several inputs".into())),
    }
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
