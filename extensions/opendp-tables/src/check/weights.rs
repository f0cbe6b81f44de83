//! The weights with which the aggregates of a query share its loss.
//!
//! Weights are public, because they come from the query and from metadata. They decide how much
//! noise each aggregate gets. They never change the total cost of a release.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use opendp_core::{Error, Result};

use super::aggregates::Output;
use super::rows::public_number;
use super::{Picked, refused};
use crate::functions::WEIGHT;
use crate::ir::{Addend, Row};
use crate::metadata::check_weight;

/// Return the weight of each output. If the query states a weight for an output, this weight is
/// used. Otherwise, the weight of the aggregated column in the metadata is used. If the metadata
/// state no weight for this column, the weight is 1.
pub(super) fn weights(
    query: &LogicalPlan,
    aggregate: &Aggregate,
    outputs: &[Output],
    picked: &Picked<'_>,
) -> Result<Vec<f64>> {
    let usual = |output: &Output| {
        column_of(output, picked)
            .and_then(|row| picked.described(0, row).and_then(|column| column.weight))
    };
    let mut weights: Vec<f64> = outputs.iter().map(|output| usual(output).unwrap_or(1.0)).collect();
    for (place, weight) in stated(query, aggregate)? {
        if let Some(current) = weights.get_mut(place) {
            *current = weight;
        }
    }
    Ok(weights)
}
/// Return the column that an output aggregates. The result is the expression of this column in the
/// first branch.
fn column_of<'a>(output: &Output, picked: &'a Picked<'_>) -> Option<&'a Row> {
    let of_sum = |sum: &usize| match picked.sums.get(*sum)?.addend {
        Addend::Known(column) | Addend::Value(column, _) | Addend::Square(column, _) => {
            Some(column)
        }
        Addend::One | Addend::Id => None,
    };
    let column = match output {
        Output::Sum { sum, .. } | Output::Mean { sum, .. } | Output::MeanOf { sum, .. } => {
            of_sum(sum)
        }
        Output::Spread { sum, .. } => of_sum(sum),
        Output::Quantile { buckets, .. } => Some(picked.buckets.get(*buckets)?.column),
        Output::Public { .. } => None,
    };
    picked.branches.first()?.columns.get(column?)
}
/// Find all calls of `weight` in the nodes above the aggregate node. For each weighted aggregate,
/// return its index and its weight.
fn stated(query: &LogicalPlan, aggregate: &Aggregate) -> Result<Vec<(usize, f64)>> {
    let mut calls: Vec<(Expr, f64)> = Vec::new();
    let mut wrong = None;
    for expr in above(query) {
        let visited = expr.apply(|part| {
            if let Expr::ScalarFunction(call) = part
                && call.func.name() == WEIGHT
            {
                match read(&call.args) {
                    Ok(call) => calls.push(call),
                    Err(error) => wrong = Some(error),
                }
            }
            Ok(TreeNodeRecursion::Continue)
        });
        visited.map_err(|error| Error::argument(WEIGHT, error.to_string()))?;
    }
    if let Some(error) = wrong {
        return Err(error);
    }
    let mut all: Vec<(usize, f64)> = Vec::new();
    for (value, weight) in calls {
        let places = places(&value, aggregate);
        if places.is_empty() {
            return Err(refused(
                "weight()",
                "its first argument contains no aggregate of this SELECT",
                "write weight(COUNT(*), 2) in place of the aggregate",
            ));
        }
        for place in places {
            if all.iter().any(|(known, other)| *known == place && *other != weight) {
                let reason = "an aggregate has two different weights: write one of them";
                return Err(Error::argument(WEIGHT, reason));
            }
            all.push((place, weight));
        }
    }
    Ok(all)
}
fn read(args: &[Expr]) -> Result<(Expr, f64)> {
    let [value, weight] = args else {
        return Err(Error::argument(WEIGHT, "expected a value and a number"));
    };
    let weight = public_number(weight);
    let weight = weight.ok_or_else(|| Error::argument(WEIGHT, "expected a public number"))?;
    check_weight(weight)?;
    Ok((value.clone(), weight))
}
/// Return the expressions of the nodes above the aggregate node, from the top node down.
fn above(query: &LogicalPlan) -> Vec<Expr> {
    let (mut all, mut node) = (Vec::new(), query);
    while !matches!(node, LogicalPlan::Aggregate(_)) {
        all.extend(node.expressions());
        match node.inputs().as_slice() {
            [input] => node = input,
            _ => break,
        }
    }
    all
}
/// Return the indices of the aggregates that an expression refers to.
fn places(value: &Expr, aggregate: &Aggregate) -> Vec<usize> {
    let keys = aggregate.group_expr.len();
    let fields = aggregate.schema.fields().iter().skip(keys).zip(0..);
    let refers = |name: &str| value.column_refs().iter().any(|column| column.name == name);
    fields.filter(|(field, _)| refers(field.name())).map(|(_, place)| place).collect()
}
/// Return the indices of the aggregates that the column `name` of the answer depends on.
pub(crate) fn named(query: &LogicalPlan, name: &str) -> Result<Vec<usize>> {
    let aggregate = super::post::aggregate_of(query)?;
    let mut node = query;
    while !matches!(node, LogicalPlan::Aggregate(_)) {
        if let LogicalPlan::Projection(projection) = node {
            let fields = projection.schema.fields().iter().zip(&projection.expr);
            let named = fields.filter(|(field, _)| field.name() == name);
            return Ok(named.flat_map(|(_, expr)| places(expr, aggregate)).collect());
        }
        match node.inputs().as_slice() {
            [input] => node = input,
            _ => break,
        }
    }
    Ok(Vec::new())
}
