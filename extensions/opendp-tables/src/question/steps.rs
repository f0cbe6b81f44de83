//! The steps of a query after its release: HAVING, ORDER BY, LIMIT and expressions.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::catalog::MemTable;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use opendp_core::{Error, Result};

use super::Question;
use crate::Value;
use crate::answer::{aggregate_table, printable};
use crate::check::replaced;
use crate::columns::{ReleasedColumn, columns};
use crate::ir::{Key, Plan};
use crate::mechanisms::Mechanisms;
use crate::released::{Group, Noisy};

impl Question<'_> {
    /// Run the steps after the release on made-up numbers, before the charge. If the steps fail
    /// both on small numbers and on large numbers, they would probably fail on the released
    /// numbers, too.
    ///
    /// A step such as a CAST of a key can need realistic values. So this function does not make up
    /// keys that are not public, and does not make up quantiles (MAX is a quantile, too). If a
    /// query has such a key or a quantile, its steps are planned, but not run.
    ///
    /// # Errors
    /// `Argument` when the steps fail, or when their result cannot be printed.
    pub(super) fn rehearse(&self, mechanisms: &Mechanisms) -> Result<()> {
        let plan = &self.checked.plan;
        let private = plan.keys.iter().any(|key| key.public.is_none());
        let attempt = |first: usize, step: usize| {
            let noisy = made_up(plan, first, step);
            let columns = columns(&self.checked, mechanisms, &noisy)?;
            printable(self.post_processed(&noisy, &columns)?).map(|_| ())
        };
        let tried = if private || !mechanisms.choices.is_empty() {
            self.arranged(mechanisms)
        } else {
            attempt(2, 1).or_else(|_| attempt(1_000_003, 7))
        };
        tried.map_err(|error| {
            let reason = format!(
                "{error}\nThe query was tried without the data, and nothing was charged. \
                 Change the expressions after the aggregates, such as `a / b` or CAST, and ask again."
            );
            Error::argument("query", reason)
        })
    }
    /// Plan the steps after the release on a table without rows, and print their empty result.
    fn arranged(&self, mechanisms: &Mechanisms) -> Result<()> {
        let sums = vec![Vec::new(); self.checked.plan.sums.len()];
        let choices = vec![Vec::new(); mechanisms.choices.len()];
        let noisy = Noisy { groups: Vec::new(), sums, choices };
        let columns = columns(&self.checked, mechanisms, &noisy)?;
        let plan = self.steps(&noisy, &columns)?;
        let schema = plan.schema().inner().clone();
        self.session.arranged(plan).map_err(failed)?;
        printable(RecordBatch::new_empty(schema)).map(|_| ())
    }
    /// Compute the steps of the query that come after its aggregates: HAVING, ORDER BY, LIMIT and
    /// expressions. These steps use only the released values.
    pub(super) fn post_processed(
        &self,
        noisy: &Noisy,
        columns: &[ReleasedColumn],
    ) -> Result<RecordBatch> {
        let plan = self.steps(noisy, columns)?;
        let schema = plan.schema().inner().clone();
        let batches = self.session.computed(plan).map_err(failed)?;
        let schema = batches.first().map_or(schema, RecordBatch::schema);
        concat_batches(&schema, &batches).map_err(|error| failed(error.into()))
    }
    fn steps(&self, noisy: &Noisy, columns: &[ReleasedColumn]) -> Result<LogicalPlan> {
        let schema = crate::check::aggregate_schema(&self.checked.query)?;
        let types: Vec<DataType> =
            schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let batch = aggregate_table(&self.checked.plan, noisy, columns, &types)?;
        let place = || -> Result<LogicalPlan, DataFusionError> {
            let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
            let source = provider_as_source(Arc::new(table));
            let scan = LogicalPlanBuilder::scan("__released", source, None)?;
            let column = |(k, (relation, field)): (usize, (Option<&_>, &Arc<_>))| {
                let field: &Arc<Field> = field;
                let relation: Option<&TableReference> = relation;
                let column = Expr::Column(Column::new(Some("__released"), format!("c{k}")));
                column.alias_qualified(relation.cloned(), field.name())
            };
            let released = scan.project(schema.iter().enumerate().map(column))?.build()?;
            replaced(&self.checked.query, released)
        };
        place().map_err(failed)
    }
}
fn failed(error: DataFusionError) -> Error {
    let reason = error.strip_backtrace();
    Error::FailedFunction(format!("computing with released values failed: {reason}"))
}
/// Make up noisy results of a plan whose keys are public. If the plan has no keys, make up one
/// group. Otherwise make up two groups. All sums are different, so that a difference of two sums is
/// not 0.
fn made_up(plan: &Plan, first: usize, step: usize) -> Noisy {
    let count = if plan.keys.is_empty() { 1 } else { 2 };
    let key = |key: &Key, group: usize| {
        let values = key.public.as_deref().unwrap_or_default();
        let value = values.get(group % values.len().max(1));
        value.map_or_else(String::new, Value::released)
    };
    let group =
        |group: usize| -> Group { plan.keys.iter().map(|named| key(named, group)).collect() };
    let groups: Vec<Group> = (0..count).map(group).collect();
    let sum = |sum: usize| -> Vec<String> {
        let value = |group: usize| first + step * (sum + group * plan.sums.len());
        (0..count).map(|group| value(group).to_string()).collect()
    };
    let sums: Vec<Vec<String>> = (0..plan.sums.len()).map(sum).collect();
    Noisy { groups, sums, choices: Vec::new() }
}
