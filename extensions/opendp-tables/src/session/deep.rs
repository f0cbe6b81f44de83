//! Limits on the sizes of plans, so that an engine makes each plan in a short time.

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The limit on the levels of an expression, and also on the nodes of a plan.
pub(super) const MOST_LEVELS: usize = 200;
/// The limit on the nodes that an engine adds to an expression when it copies operands.
const MOST_COPIES: usize = 4000;
/// The limit on the nodes of all conditions and all sort orders together, counted only above the
/// aggregate.
const MOST_CONDITIONS: usize = 20_000;
/// The error for a query that exceeds a limit.
pub(super) const DEEP: &str = "the query is nested too deeply: use fewer levels of expressions and \
                               subqueries, or compute a part of it beforehand";

/// Return whether a plan exceeds one of four limits. A plan may have at most [`MOST_LEVELS`] nodes.
/// Each expression may have at most [`MOST_LEVELS`] levels and [`MOST_COPIES`] copied nodes. All
/// conditions and sort orders above the aggregate together may have at most [`MOST_CONDITIONS`]
/// nodes.
///
/// The thread that makes plans has a large stack. A thread with a smaller stack could run out of
/// stack when it processes a plan with more than [`MOST_LEVELS`] nodes or levels.
pub(super) fn is_deep(plan: &LogicalPlan) -> Result<bool, DataFusionError> {
    let (mut nodes, mut levels, mut copies) = (0, 0, 0);
    plan.apply_with_subqueries(|node| {
        nodes += 1;
        for expr in node.expressions() {
            levels = levels.max(depth(&expr)?);
            if levels <= MOST_LEVELS {
                let [stated, copied] = size(&expr, None)?;
                copies = copies.max(copied - stated);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if MOST_LEVELS < levels || MOST_LEVELS < nodes || MOST_COPIES < copies {
        return Ok(true);
    }
    let mut conditions = 0;
    sizes(plan, &mut conditions)?;
    Ok(MOST_CONDITIONS < conditions)
}
/// For each column of a plan, return the size of its expression. The expression can contain columns
/// that a node above the aggregate computes. The size of such a column is the size of its own
/// expression. Add the sizes of all conditions and sort orders above the aggregate to `conditions`.
///
/// The optimizer moves a condition below a projection, and replaces the columns of the projection
/// by their expressions. If each of `k` projections uses the column of the projection below it
/// twice, a condition above all of them has `2^k` copies of the lowest column.
fn sizes(plan: &LogicalPlan, conditions: &mut usize) -> Result<Vec<usize>, DataFusionError> {
    let columns = plan.schema().fields().len();
    let inputs = plan.inputs();
    let ([input], false) = (inputs.as_slice(), matches!(plan, LogicalPlan::Aggregate(_))) else {
        return Ok(vec![1; columns]);
    };
    let below = sizes(input, conditions)?;
    let known = Some((input.schema().as_ref(), below.as_slice()));
    match plan {
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().map(|expr| Ok(size(expr, known)?[1])).collect()
        }
        LogicalPlan::Filter(filter) => {
            *conditions = conditions.saturating_add(size(&filter.predicate, known)?[1]);
            Ok(below)
        }
        // If the query has a LIMIT, the engine makes a condition from the sort order, and moves
        // this condition below projections.
        LogicalPlan::Sort(sort) => {
            for order in &sort.expr {
                *conditions = conditions.saturating_add(size(&order.expr, known)?[1]);
            }
            Ok(below)
        }
        // The columns of the input come first. The node itself makes the other columns, so these
        // columns have the size 1.
        _ if below.len() <= columns => {
            Ok(below.into_iter().chain(std::iter::repeat(1)).take(columns).collect())
        }
        _ => Ok(vec![below.into_iter().max().unwrap_or(1); columns]),
    }
}
/// Count the nodes of an expression in two ways: as the expression is stated, and with the copies
/// that an engine makes. The function `copies` counts the copies of each operand. `known` has the
/// columns of the expression, and their sizes. If `known` is `None`, a column has the size 1.
fn size(expr: &Expr, known: Option<(&DFSchema, &[usize])>) -> Result<[usize; 2], DataFusionError> {
    if let (Expr::Column(column), Some((schema, sizes))) = (expr, known) {
        let place = schema.maybe_index_of_column(column);
        return Ok([1, place.and_then(|place| sizes.get(place)).copied().unwrap_or(1)]);
    }
    let mut sum = [1_usize, 1];
    expr.apply_children(|child| {
        let [stated, copied] = size(child, known)?;
        sum[0] = sum[0].saturating_add(stated);
        sum[1] = sum[1].saturating_add(copied.saturating_mul(copies(expr, child)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(sum)
}
/// Return how many times an engine writes the operand `child` of `expr`. The operand of BETWEEN is
/// written twice. The operand of CASE is written once for each WHEN. An IN with at most three
/// values becomes comparisons, so its operand is written once for each value. The arguments of
/// `coalesce` and `nvl` are written twice, except the last one.
fn copies(expr: &Expr, child: &Expr) -> usize {
    let is = |operand: &Expr| std::ptr::eq(operand, child);
    match expr {
        Expr::Between(between) if is(&between.expr) => 2,
        // A short list is turned into comparisons.
        Expr::InList(list) if is(&list.expr) && list.list.len() <= 3 => list.list.len().max(1),
        Expr::Case(case) if case.expr.as_deref().is_some_and(is) => {
            case.when_then_expr.len().max(1)
        }
        Expr::ScalarFunction(call) if matches!(call.func.name(), "coalesce" | "nvl") => {
            if call.args.last().is_some_and(is) { 1 } else { 2 }
        }
        _ => 1,
    }
}
fn depth(expr: &Expr) -> Result<usize, DataFusionError> {
    let mut below = 0;
    expr.apply_children(|child| {
        below = below.max(depth(child)?);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(below + 1)
}
