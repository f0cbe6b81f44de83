//! Translate the plan of a query to a small language for plans that can be made private. This
//! module is called the checker.
//!
//! The checker has a list of allowed nodes, functions and types. Any other node, function or type
//! leads to an error. The error contains the name of this node, function or type.

use std::collections::BTreeMap;
use std::fmt::Display;

use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use opendp_core::{Error, Result};

use crate::ir::{Bounding, Branch, Plan, Row};
use crate::metadata::{PrivacyUnit, Table};
use crate::readable::readable;

mod aggregates;
mod bounds;
mod candidates;
mod dates;
mod functions;
mod intervals;
mod keys;
mod post;
mod rows;
mod source;
mod texts;
mod weights;

pub(crate) use aggregates::Output;
pub(crate) use post::{aggregate_schema, replaced, titles};
pub(crate) use weights::named;

/// The largest number of nodes in the expressions of a query.
const MOST_NODES: usize = 20_000;
/// The largest number of levels of an expression. Recursive functions process expressions, so more
/// levels could overflow the stack. One level of an expression gives at most 40 levels of the
/// printed statement. [`PRINTED`](crate::engine::parse::PRINTED) bounds the levels of a statement.
const MOST_LEVELS: usize = 200;
/// The largest number of [steps](Row::steps) of all expressions of a query together. An engine
/// needs about a second for this number of steps.
const MOST_STEPS: usize = 4_000_000;
/// The largest number of characters of an expression that an error shows.
const SHOWN: usize = 60;

/// A query that can be made private.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// The exact plan, which an engine runs without noise.
    pub(crate) plan: Plan,
    /// Descriptions of the released values, in the order of the aggregates. All values except
    /// public numbers are computed from the sums and buckets of the exact plan.
    pub(crate) outputs: Vec<Output>,
    /// The weight of each released value. The values share the loss of the query in proportion to
    /// these weights.
    pub(crate) weights: Vec<f64>,
    /// The plan of the whole query. After the release, the released table replaces the aggregate in
    /// this plan.
    pub(crate) query: LogicalPlan,
}

/// The descriptions of tables, by the names of the tables.
pub(crate) type Tables = BTreeMap<String, Table>;

/// Check that a query can be made private, and translate its plan.
pub(crate) fn check(query: LogicalPlan, tables: &Tables) -> Result<Checked> {
    let aggregate = post::aggregate_of(&query)?;
    let source = source::relation(&aggregate.input, tables)?;
    let mut picked = Picked::new(&source, tables)?;
    let keys = keys::keys(aggregate, &source, &mut picked)?;
    picked.keys = keys;
    let outputs = aggregates::outputs(aggregate, &source, &mut picked)?;
    let weights = weights::weights(&query, aggregate, &outputs, &picked)?;
    let mut plan = picked.plan()?;
    crate::mechanisms::add_selecting_sum(&mut plan);
    if plan.sums.is_empty() && plan.buckets.is_empty() {
        return Err(refused(
            "COUNT(*)",
            "the number of rows of the table is public, so nothing here needs noise",
            "read `rows` in the metadata",
        ));
    }
    Ok(Checked { plan, outputs, weights, query })
}

/// Return the error for a part of a query that cannot be made private.
pub(crate) fn refused(what: &str, why: &str, instead: &str) -> Error {
    let what = readable(what);
    Error::NotImplemented(format!("`{what}` cannot be made private: {why}.\nInstead, {instead}."))
}

/// The exact plan while the checker builds it. A branch of the plan is one part of a `UNION ALL`.
pub(crate) struct Picked<'a> {
    tables: &'a Tables,
    branches: Vec<Branch>,
    pub(crate) bounding: Bounding,
    pub(crate) keys: Vec<crate::ir::Key>,
    pub(crate) sums: Vec<crate::ir::Sum>,
    pub(crate) buckets: Vec<crate::ir::Buckets>,
}
impl<'a> Picked<'a> {
    fn new(source: &source::Relation, tables: &'a Tables) -> Result<Self> {
        let branches: Vec<Branch> = source
            .branches
            .iter()
            .map(|branch| Branch { columns: Vec::new(), ..branch.clone() })
            .collect();
        let bounding = bounding(&branches, tables)?;
        let (keys, sums, buckets) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Picked { tables, branches, bounding, keys, sums, buckets })
    }
    /// Return the position of a column among the columns of each branch. If the column is new, add
    /// it. `rows` has the expression of the column in each branch.
    pub(crate) fn column(&mut self, rows: Vec<Row>) -> usize {
        let count = self.branches.first().map_or(0, |branch| branch.columns.len());
        let same = |k: &usize| {
            self.branches.iter().zip(&rows).all(|(branch, row)| branch.columns.get(*k) == Some(row))
        };
        if let Some(found) = (0..count).find(same) {
            return found;
        }
        for (branch, row) in self.branches.iter_mut().zip(rows) {
            branch.columns.push(row);
        }
        count
    }
    /// If an expression of a branch is a column of a table, return the metadata of this column.
    pub(crate) fn described(&self, branch: usize, row: &Row) -> Option<&crate::metadata::Column> {
        let branch = self.branches.get(branch)?;
        match row {
            Row::Column { source: 0, name, .. } => {
                self.tables.get(&branch.table)?.columns.get(name)
            }
            Row::Column { source, name, .. } => {
                let join = branch.joins.get(source - 1)?;
                self.tables.get(&join.table)?.columns.get(name)
            }
            _ => None,
        }
    }
    /// If the number of rows that reach the aggregates is public, return this number. The number is
    /// public if there are no keys and no conditions, each join keeps all rows, and the number of
    /// rows of the table is public.
    pub(crate) fn public_rows(&self) -> Option<u64> {
        let all = |branch: &Branch| {
            branch.filters.is_empty() && branch.joins.iter().all(|join| join.keeps_all)
        };
        if !self.keys.is_empty() || !self.branches.iter().all(all) {
            return None;
        }
        let rows = self.tables.get(&self.branches.first()?.table)?.rows?;
        rows.checked_mul(self.branches.len() as u64)
    }
    /// Return whether an expression certainly has a value in every row. The metadata state which
    /// columns have a value in every row.
    pub(crate) fn is_complete(&self, branch: usize, row: &Row) -> bool {
        match row {
            Row::Column { source: 0, .. } => {
                self.described(branch, row).is_some_and(|column| column.complete)
            }
            Row::Literal(value) => *value != crate::Value::Null,
            Row::Coalesce(all) => all.iter().any(|row| self.is_complete(branch, row)),
            Row::Float(row) | Row::Clamp(row, ..) => self.is_complete(branch, row),
            _ => false,
        }
    }
    pub(crate) fn is_id(&self, row: &Row) -> bool {
        match (&self.bounding, row) {
            (Bounding::Enforced { id: (id, _), .. }, Row::Column { source: 0, name, .. }) => {
                id == name
            }
            _ => false,
        }
    }
    fn plan(self) -> Result<Plan> {
        let rows = self.branches.iter().flat_map(|branch| {
            let joined = branch.joins.iter().map(|join| &join.on);
            branch.columns.iter().chain(&branch.filters).chain(joined)
        });
        check_nodes(rows)?;
        let Picked { branches, bounding, keys, sums, buckets, .. } = self;
        Ok(Plan { branches, bounding, keys, sums, buckets })
    }
}
/// Check that the expressions of a query together have at most [`MOST_NODES`] nodes and at most
/// [`MOST_STEPS`] steps.
fn check_nodes<'a>(mut rows: impl Iterator<Item = &'a Row>) -> Result<()> {
    // Stop at the first expression that exceeds a limit.
    let add = |(nodes, steps): (usize, usize), row: &Row| {
        let (nodes, steps) = (nodes + row.size(), steps.saturating_add(row.steps()));
        if nodes <= MOST_NODES && steps <= MOST_STEPS {
            Ok((nodes, steps))
        } else {
            Err(nested("in all parts of the query together"))
        }
    };
    rows.try_fold((0, 0), add).map(|_| ())
}
/// Check that a number of nodes is at most [`MOST_NODES`]. `what` is the expression that has these
/// nodes.
fn check_count(nodes: usize, what: &dyn Display) -> Result<()> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    Err(deep(what))
}
/// Check that the numbers of nodes, levels and steps of an expression are within their limits.
fn check_levels(row: Row, what: &Expr) -> Result<Row> {
    check_count(row.size(), what)?;
    if row.levels() <= MOST_LEVELS && row.steps() <= MOST_STEPS { Ok(row) } else { Err(deep(what)) }
}
/// Return the error for an expression with too many nodes, levels or steps. The error shows only
/// the beginning of a long expression.
pub(crate) fn deep(what: &dyn Display) -> Error {
    let text = readable(&what.to_string());
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { " ..." } else { "" };
    nested(&format!("at `{start}{more}`"))
}
fn nested(place: &str) -> Error {
    let reason = format!(
        "expressions are nested too deeply, or are too long, {place}.\n\
         Compute a part of the expressions beforehand, and read it as a column of the table"
    );
    Error::argument("query", reason)
}
/// Check that `copies` copies of an expression have at most [`MOST_NODES`] nodes together. Without
/// this check, an expression could be copied at each level of a nested expression. The copies could
/// fill the memory before the whole query is checked.
fn copied(row: Row, copies: usize, what: &Expr) -> Result<Row> {
    check_count(row.size().saturating_mul(copies), what).map(|()| row)
}
/// Find the limits on the rows of one individual for a union of branches. All branches must read
/// the same table. The privacy unit of this table states the limits.
fn bounding(branches: &[Branch], tables: &Tables) -> Result<Bounding> {
    let mut names: Vec<&str> = branches.iter().map(|branch| branch.table.as_str()).collect();
    names.dedup();
    let [name] = names.as_slice() else {
        return Err(refused(
            "UNION ALL",
            "its parts read different private tables, and an individual may be in several of them",
            "write one query for each table",
        ));
    };
    let table = tables.get(*name);
    let Some((table, unit)) = table.and_then(|table| Some((table, table.unit.as_ref()?))) else {
        return Err(Error::NotFound(format!(
            "private table `{name}` is not described by the metadata"
        )));
    };
    let number = |limit: Option<u32>| limit.map(u64::from);
    match unit {
        PrivacyUnit { rows: Some(rows), .. } => {
            // All branches of a union read the same table. So each row of the table counts once for
            // each branch.
            let rows = u64::from(*rows) * branches.len() as u64;
            Ok(Bounding::Trusted { rows, exchanged: table.rows.is_some() })
        }
        PrivacyUnit { id: Some(id), max_rows, max_groups, max_rows_per_group, .. } => {
            let kind = table.columns.get(id).map(|column| column.kind);
            let kind = kind.ok_or_else(|| Error::NotFound(format!("there is no column `{id}`")))?;
            Ok(Bounding::Enforced {
                id: (id.clone(), kind),
                rows: number(*max_rows),
                groups: number(*max_groups),
                rows_per_group: number(*max_rows_per_group),
            })
        }
        _ => Err(Error::argument("unit", "expected `rows` or `id`")),
    }
}
/// Return the name that a node of a plan has in SQL.
pub(crate) fn node_name(plan: &LogicalPlan) -> String {
    match plan {
        LogicalPlan::Window(_) => "OVER".into(),
        LogicalPlan::Distinct(_) => "DISTINCT".into(),
        LogicalPlan::Limit(_) => "LIMIT".into(),
        LogicalPlan::Sort(_) => "ORDER BY".into(),
        LogicalPlan::Aggregate(Aggregate { .. }) => "GROUP BY".into(),
        LogicalPlan::Union(_) => "UNION ALL".into(),
        LogicalPlan::Join(join) => format!("{} JOIN", join.join_type).to_uppercase(),
        other => {
            let text = other.display().to_string();
            text.split([':', ' ']).next().unwrap_or("query").to_owned()
        }
    }
}
