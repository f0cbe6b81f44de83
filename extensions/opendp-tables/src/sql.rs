//! Print exact plans as SQL.
//!
//! A plan is one statement for the sums and one for each quantile. All of them read the same
//! bounded rows. Every statement is total: it raises no error that depends on the data, whatever
//! the cells are, as far as the engine can read them with the declared types.
//!
//! The rows of an id are ranked by a hash of the seed, the id, the row as the query sees it, and
//! the number of the row among equal ones. So the choice depends on the rows of this id alone; it
//! is the same on every engine; and over seeds it is uniform.

use std::fmt::Write as _;

use crate::Type;
use crate::ir::{Addend, Bounding, Branch, Buckets, Key, Plan, Sum};

mod rows;

pub(crate) use rows::quoted;

/// The words in which engines differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// DataFusion, also when it is distributed.
    DataFusion,
    /// PostgreSQL.
    PostgreSql,
}

/// Where the secret seed of a statement goes. Statements are shown with this in its place.
pub(crate) const SEED: &str = "<seed>";

/// The statements of a plan, without the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// One row for each group that has rows: the keys, then the sums, all as text.
    pub sums: Option<String>,
    /// One for each quantile: the keys, the bucket and the number of rows, all as text.
    pub buckets: Vec<String>,
}
impl Plan {
    /// Print the plan for an engine.
    pub(crate) fn statements(&self, dialect: Dialect) -> Statements {
        let printer = Printer { plan: self, dialect };
        let sums = (!self.sums.is_empty()).then(|| printer.sums());
        let buckets = (0..self.buckets.len()).map(|k| printer.bucket(k)).collect();
        Statements { sums, buckets }
    }
}

struct Printer<'a> {
    plan: &'a Plan,
    dialect: Dialect,
}
impl Printer<'_> {
    fn sums(&self) -> String {
        let sums = self.plan.sums.iter().enumerate();
        let values = sums.map(|(k, sum)| match sum.addend {
            Addend::Id => {
                format!("CAST(COUNT(DISTINCT CASE WHEN v{k} = 1 THEN id END) AS VARCHAR)")
            }
            _ => format!("CAST(COALESCE(SUM(CAST(v{k} AS NUMERIC(28, 0))), 0) AS VARCHAR)"),
        });
        self.grouped(values.collect(), "", None)
    }
    fn bucket(&self, k: usize) -> String {
        let values = vec![format!("CAST(b{k} AS VARCHAR)"), "CAST(COUNT(*) AS VARCHAR)".into()];
        self.grouped(values, &format!(" WHERE b{k} >= 0"), Some(format!("b{k}")))
    }
    /// Select values of each group of the bounded rows.
    fn grouped(&self, values: Vec<String>, filter: &str, more: Option<String>) -> String {
        let (stages, last) = self.stages();
        let keys = self.keys();
        let printed = keys.iter().map(|key| format!("CAST({key} AS VARCHAR)"));
        let select: Vec<String> = printed.chain(values).collect();
        let by: Vec<String> = keys.into_iter().chain(more).collect();
        let by = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        format!("WITH {stages}\nSELECT {} FROM {last}{filter}{by}", select.join(", "))
    }
    fn keys(&self) -> Vec<String> {
        (0..self.plan.keys.len()).map(|k| format!("k{k}")).collect()
    }
    /// The columns of a rated row besides its id: keys, addends and buckets.
    fn content(&self) -> Vec<String> {
        let sums = (0..self.plan.sums.len()).map(|k| format!("v{k}"));
        let buckets = (0..self.plan.buckets.len()).map(|k| format!("b{k}"));
        self.keys().into_iter().chain(sums).chain(buckets).collect()
    }
    /// Print the common part of all statements, and name its last stage.
    fn stages(&self) -> (String, &'static str) {
        let picked: Vec<String> =
            self.plan.branches.iter().map(|branch| self.branch(branch)).collect();
        let mut text = format!("__picked AS (\n{}\n)", picked.join("\nUNION ALL\n"));
        let _ = write!(text, ",\n__rated AS ({})", self.rated());
        match &self.plan.bounding {
            Bounding::Trusted { .. } => (text, "__rated"),
            Bounding::Enforced { rows, groups, rows_per_group, .. } => {
                let _ = write!(text, "{}", self.bounded(*rows, *groups, *rows_per_group));
                (text, "__bounded")
            }
        }
    }
    /// Rows of the private table, joined and filtered, with the columns of the query.
    fn branch(&self, branch: &Branch) -> String {
        let mut columns = Vec::new();
        if let Bounding::Enforced { id: (id, _), .. } = &self.plan.bounding {
            columns.push(format!("t0.{} AS id", rows::quoted(id)));
        }
        for (k, column) in branch.columns.iter().enumerate() {
            columns.push(format!("{} AS c{k}", rows::print(column, self.dialect)));
        }
        // A statement needs a column.
        columns.push("1 AS one".into());
        let mut text =
            format!("SELECT {} FROM {} AS t0", columns.join(", "), rows::quoted(&branch.table));
        for (k, join) in branch.joins.iter().enumerate() {
            let source = k + 1;
            let kind = if join.keeps_all { "LEFT JOIN" } else { "INNER JOIN" };
            let key = rows::column(source, &join.key.0, join.key.1, self.dialect);
            let on = rows::print(&join.on, self.dialect);
            let table = rows::quoted(&join.table);
            let _ = write!(text, " {kind} {table} AS t{source} ON {on} = {key}");
        }
        let filters: Vec<String> = branch
            .filters
            .iter()
            .map(|filter| format!("({})", rows::print(filter, self.dialect)))
            .collect();
        if !filters.is_empty() {
            let _ = write!(text, " WHERE {}", filters.join(" AND "));
        }
        text
    }
    /// Keys, integers to add, and buckets of each row; rows outside of public groups are left out.
    fn rated(&self) -> String {
        let mut columns = Vec::new();
        let mut filters = Vec::new();
        if let Bounding::Enforced { .. } = self.plan.bounding {
            columns.push("id".to_owned());
            filters.push("id IS NOT NULL".to_owned());
        }
        for (k, Key { column, public, .. }) in self.plan.keys.iter().enumerate() {
            columns.push(format!("c{column} AS k{k}"));
            filters.push(match public {
                Some(values) => format!("c{column} IN ({})", rows::list(values)),
                None => format!("c{column} IS NOT NULL"),
            });
        }
        for (k, sum) in self.plan.sums.iter().enumerate() {
            columns.push(format!("{} AS v{k}", self.addend(sum)));
        }
        for (k, buckets) in self.plan.buckets.iter().enumerate() {
            columns.push(format!("{} AS b{k}", self.bucket_of(buckets)));
        }
        let filter = match filters.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", filters.join(" AND ")),
        };
        format!("SELECT {} FROM __picked{filter}", columns.join(", "))
    }
    fn addend(&self, sum: &Sum) -> String {
        let value = match &sum.addend {
            Addend::One | Addend::Id => "1".to_owned(),
            Addend::Known(column) => format!("CASE WHEN c{column} IS NOT NULL THEN 1 ELSE 0 END"),
            Addend::Value(column, lattice) => {
                rows::on_lattice(*column, self.kind(*column), lattice, false, self.dialect)
            }
            Addend::Square(column, lattice) => {
                rows::on_lattice(*column, self.kind(*column), lattice, true, self.dialect)
            }
        };
        match sum.only {
            Some(only) => format!("CASE WHEN c{only} THEN {value} ELSE 0 END"),
            None => value,
        }
    }
    /// The bucket of a row among candidates, or -1.
    fn bucket_of(&self, buckets: &Buckets) -> String {
        let column = buckets.column;
        let value = format!("CAST(c{column} AS DOUBLE PRECISION)");
        let place = rows::search(&value, &buckets.candidates, 0);
        let known = match buckets.only {
            Some(only) => format!("c{column} IS NOT NULL AND c{only}"),
            None => format!("c{column} IS NOT NULL"),
        };
        format!("CASE WHEN {known} THEN {place} ELSE -1 END")
    }
    fn kind(&self, column: usize) -> Option<Type> {
        self.plan.branches.iter().find_map(|branch| branch.columns.get(column)?.kind())
    }
    /// Enforce the limits of each id, in three steps: rows of a group, groups, rows.
    fn bounded(&self, rows: Option<u64>, groups: Option<u64>, per_group: Option<u64>) -> String {
        let content = self.content();
        let all = |more: &str| [&["id".to_owned()], &content[..], &[more.to_owned()]].concat();
        let equal = [&["id".to_owned()], &content[..]].concat().join(", ");
        let keys = [vec!["id".to_owned()], self.keys()].concat();
        let row_hash = hash([&["id".to_owned()], &content[..], &["copy".to_owned()]].concat());
        let mut text = format!(
            ",\n__copies AS (SELECT {}, row_number() OVER (PARTITION BY {equal}) AS copy \
             FROM __rated)",
            [&["id".to_owned()], &content[..]].concat().join(", ")
        );
        let _ = write!(
            text,
            ",\n__drawn AS (SELECT {}, {row_hash} AS lot, {} AS group_lot FROM __copies)",
            all("copy").join(", "),
            hash([&["'group'".to_owned()], &keys[..]].concat()),
        );
        let mut last = "__drawn";
        let mut step = |name: &'static str, rank: String, limit: u64| {
            let columns = [all("copy"), vec!["lot".into(), "group_lot".into()]].concat().join(", ");
            let _ = write!(
                text,
                ",\n{name} AS (SELECT {columns} FROM (SELECT {columns}, {rank} AS place FROM {last}) \
                 AS {name}_ranked WHERE place <= {limit})",
            );
            last = name;
        };
        if let Some(limit) = per_group {
            let by = keys.join(", ");
            let rank = format!("row_number() OVER (PARTITION BY {by} ORDER BY lot, copy)");
            step("__per_group", rank, limit);
        }
        if let (Some(limit), false) = (groups, self.plan.keys.is_empty()) {
            let ties = self.keys().join(", ");
            let rank = format!("dense_rank() OVER (PARTITION BY id ORDER BY group_lot, {ties})");
            step("__groups", rank, limit);
        }
        if let Some(limit) = rows {
            let rank = "row_number() OVER (PARTITION BY id ORDER BY lot, copy)".to_owned();
            step("__rows", rank, limit);
        }
        let _ = write!(text, ",\n__bounded AS (SELECT {equal} FROM {last})");
        text
    }
}
/// The hash of the seed and of columns.
fn hash(columns: Vec<String>) -> String {
    let text = |column: &String| match column.as_str() {
        "'group'" => column.clone(),
        _ => format!("CAST({column} AS VARCHAR)"),
    };
    let parts: Vec<String> = columns.iter().map(text).collect();
    format!("md5('{SEED}' || '|' || {})", parts.join(" || '|' || "))
}
/// Put the seed into a statement.
pub(crate) fn seeded(statement: &str, seed: &str) -> String {
    statement.replace(&format!("md5('{SEED}'"), &format!("md5('{seed}'"))
}
