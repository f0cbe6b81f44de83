//! Translate the part of a query below its aggregate. This part computes with each row of one
//! private table separately.

use datafusion::common::{DFSchema, DFSchemaRef, JoinType, NullEquality};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, LogicalPlan, Operator};
use opendp_core::{Error, Result};

use super::rows::row;
use super::{Tables, check_count, node_name, refused};
use crate::Type;
use crate::ir::{Branch, Joined, Row};

/// Rows of a private table, and the names of their columns. The rows are in one branch, or in a
/// union of several branches.
pub(crate) struct Relation {
    pub(crate) branches: Vec<Branch>,
    pub(crate) schema: DFSchemaRef,
}
impl Relation {
    /// Translate an expression for each branch.
    pub(crate) fn rows(&self, expr: &Expr) -> Result<Vec<Row>> {
        self.branches.iter().map(|branch| row(expr, &self.schema, &branch.columns)).collect()
    }
    fn named(self, schema: &DFSchemaRef) -> Self {
        Relation { schema: schema.clone(), ..self }
    }
}

/// Translate the part of a plan that reads the rows of a private table.
pub(crate) fn relation(plan: &LogicalPlan, tables: &Tables) -> Result<Relation> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let name = scan.table_name.table();
            let table = tables.get(name);
            let table =
                table.ok_or_else(|| Error::NotFound(format!("there is no table `{name}`")))?;
            if table.public {
                return Err(refused(
                    name,
                    "the table is public, so nothing here needs noise",
                    "write a query on a private table, and join the public table with it",
                ));
            }
            if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
                return Err(Error::NotImplemented(format!(
                    "table `{name}`: expected a scan without a projection, filters or a limit"
                )));
            }
            let columns = scanned(plan, 0, tables)?;
            let (joins, filters) = (Vec::new(), Vec::new());
            let branch = Branch { table: name.to_owned(), joins, filters, columns };
            Ok(Relation { branches: vec![branch], schema: plan.schema().clone() })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            Ok(relation(&alias.input, tables)?.named(&alias.schema))
        }
        LogicalPlan::Projection(projection) => {
            let mut source = relation(&projection.input, tables)?;
            for branch in &mut source.branches {
                branch.columns = projected(&projection.expr, &source.schema, &branch.columns)?;
            }
            Ok(source.named(&projection.schema))
        }
        LogicalPlan::Filter(filter) => {
            let mut source = relation(&filter.input, tables)?;
            for branch in &mut source.branches {
                let predicate = row(&filter.predicate, &source.schema, &branch.columns)?;
                if predicate.kind() != Some(Type::Boolean) {
                    return Err(Error::argument("WHERE", "expected a condition"));
                }
                branch.filters.push(predicate);
            }
            Ok(source)
        }
        // Without a limit, a sort changes only the order of the rows.
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => relation(&sort.input, tables),
        LogicalPlan::Union(union) => {
            let mut branches = Vec::new();
            for input in &union.inputs {
                branches.extend(relation(input, tables)?.branches);
            }
            check_union(&branches)?;
            Ok(Relation { branches, schema: union.schema.clone() })
        }
        LogicalPlan::Join(join) => joined(join, tables),
        other => Err(not_row_wise(other)),
    }
}
/// Translate the expressions of a projection. Each projection can contain several copies of the
/// expressions of the projection below it. So after each expression, check the number of nodes.
fn projected(exprs: &[Expr], schema: &DFSchema, columns: &[Row]) -> Result<Vec<Row>> {
    let mut nodes = 0_usize;
    let read = |expr: &Expr| {
        let row = row(expr, schema, columns)?;
        nodes = nodes.saturating_add(row.size());
        check_count(nodes, expr).map(|()| row)
    };
    exprs.iter().map(read).collect()
}
fn check_union(branches: &[Branch]) -> Result<()> {
    let kinds = |branch: &Branch| branch.columns.iter().map(Row::kind).collect::<Vec<_>>();
    let mut all = branches.iter().map(kinds);
    let first = all.next();
    if all.all(|kinds| Some(&kinds) == first.as_ref()) && branches.len() <= 64 {
        return Ok(());
    }
    let reason = "expected at most 64 parts, whose columns have the same types";
    Err(Error::argument("UNION ALL", reason))
}
fn not_row_wise(plan: &LogicalPlan) -> Error {
    let name = node_name(plan);
    match plan {
        LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => refused(
            &name,
            "before the aggregate, it would choose rows by comparing individuals",
            "write it after the aggregates of the whole query",
        ),
        LogicalPlan::Distinct(_) => refused(
            &name,
            "whether it keeps a row depends on the rows of other individuals",
            "count individuals by COUNT(DISTINCT id)",
        ),
        LogicalPlan::Aggregate(_) => refused(
            &name,
            "it is an aggregate of aggregates, and the inner aggregates have no known bounds",
            "release the inner aggregate, and compute with the answer",
        ),
        _ => refused(
            &name,
            "it may combine the rows of different individuals",
            "use expressions of one row, WHERE, joins with public tables and UNION ALL",
        ),
    }
}
/// Return the columns of a scan as expressions. `source` is the index of the scanned table in its
/// branch. It is 0 for the private table, and 1 or more for a joined public table.
fn scanned(plan: &LogicalPlan, source: usize, tables: &Tables) -> Result<Vec<Row>> {
    let LogicalPlan::TableScan(scan) = plan else { return Ok(Vec::new()) };
    let table = tables.get(scan.table_name.table());
    let column = |name: &String| {
        let described = table.and_then(|table| table.columns.get(name));
        let kind = described.map(|column| column.kind);
        let kind = kind.ok_or_else(|| Error::NotFound(format!("there is no column `{name}`")))?;
        Ok(Row::Column { source, name: name.clone(), kind })
    };
    plan.schema().fields().iter().map(|field| column(field.name())).collect()
}
/// If a plan is an unchanged public table, return the scan of this table.
fn public_scan<'a>(plan: &'a LogicalPlan, tables: &Tables) -> Option<&'a LogicalPlan> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let table = tables.get(scan.table_name.table())?;
            let whole =
                scan.filters.is_empty() && scan.fetch.is_none() && scan.projection.is_none();
            (table.public && whole).then_some(plan)
        }
        LogicalPlan::SubqueryAlias(alias) => public_scan(&alias.input, tables),
        _ => None,
    }
}
fn joined(join: &Join, tables: &Tables) -> Result<Relation> {
    let name = node_name(&LogicalPlan::Join(join.clone()));
    let (left, right) = (public_scan(&join.left, tables), public_scan(&join.right, tables));
    let (private, public, scan, private_is_left) = match (left, right) {
        (None, Some(scan)) => (&join.left, &join.right, scan, true),
        (Some(scan), None) => (&join.right, &join.left, scan, false),
        _ => {
            return Err(refused(
                &name,
                "only one side may be private, and the other side must be an unchanged public \
                 table: otherwise one individual could multiply the rows of others",
                "join the private table with a public one, by its key",
            ));
        }
    };
    let keeps_all = match (join.join_type, private_is_left) {
        (JoinType::Inner, _) => false,
        (JoinType::Left, true) | (JoinType::Right, false) => true,
        _ => {
            return Err(refused(
                &name,
                "it adds rows that belong to no individual, or drops columns",
                "use JOIN, or a LEFT JOIN with the private table on the left",
            ));
        }
    };
    let source = relation(private, tables)?;
    let LogicalPlan::TableScan(public_table) = scan else { return Err(not_row_wise(scan)) };
    let table_name = public_table.table_name.table();
    let (on_private, key) = key_of(join, public, table_name, private_is_left, tables)?;
    let mut branches = Vec::new();
    for mut branch in source.branches {
        let on = row(on_private, &source.schema, &branch.columns)?;
        if on.kind() != Some(key.1) {
            let reason = format!("expected an equality of two columns of type {}", key.1.name());
            return Err(Error::argument("ON", reason));
        }
        let (table, key) = (table_name.to_owned(), key.clone());
        branch.joins.push(Joined { table, key, on, keeps_all });
        let columns = scanned(scan, branch.joins.len(), tables)?;
        branch.columns = if private_is_left {
            [branch.columns, columns].concat()
        } else {
            [columns, branch.columns].concat()
        };
        branches.push(branch);
    }
    Ok(Relation { branches, schema: join.schema.clone() })
}
/// Check that the condition of a join is an equality with the key of a public table. Return the
/// private side of the equality, and the key of the public table.
fn key_of<'a>(
    join: &'a Join,
    public: &LogicalPlan,
    table: &str,
    private_is_left: bool,
    tables: &Tables,
) -> Result<(&'a Expr, (String, Type))> {
    let by_key = || {
        refused(
            "ON",
            "each row must match at most one row of the public table",
            "write JOIN t ON with one equality, where one side is the column that the metadata \
             state as the `key` of the public table",
        )
    };
    let of_public = |expr: &Expr| match expr {
        Expr::Column(column) => public.schema().index_of_column(column).is_ok(),
        _ => false,
    };
    let (private, other) = match (join.on.as_slice(), &join.filter) {
        ([(left, right)], None) if join.null_equality == NullEquality::NullEqualsNothing => {
            if private_is_left {
                (left, right)
            } else {
                (right, left)
            }
        }
        // Here ON has one condition, an equality. The private side of the equality can be on the
        // left or on the right.
        ([], Some(Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }))) => {
            match (of_public(left), of_public(right)) {
                (false, true) => (left.as_ref(), right.as_ref()),
                (true, false) => (right.as_ref(), left.as_ref()),
                _ => return Err(by_key()),
            }
        }
        _ => return Err(by_key()),
    };
    let Expr::Column(column) = other else { return Err(by_key()) };
    if !of_public(other) {
        return Err(by_key());
    }
    let described = tables.get(table).and_then(|table| {
        let key = table.key.as_ref()?;
        Some((key.clone(), table.columns.get(key)?.kind))
    });
    match described {
        Some((key, kind @ (Type::Integer | Type::Text))) if key == column.name => {
            Ok((private, (key, kind)))
        }
        _ => Err(by_key()),
    }
}
