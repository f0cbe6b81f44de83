//! Print exact plans as SQL.
//!
//! A plan has one statement for the sums, and one statement for each list of buckets. Quantiles are
//! computed from the counts of the buckets. All statements compute with the same rows. If the plan
//! limits the rows of each id, these are the rows that the limits keep. Every statement is total.
//! This means: if the engine can read all cells as the declared types, the statement raises no
//! error that depends on the data.
//!
//! The statements choose which rows of an id are kept. The choice depends only on the seed, the id
//! and the rows of this id. With the same seed, every engine makes the same choice. For a random
//! seed, all choices are equally likely. See [`limits`].

use std::fmt::Write as _;

use crate::Type;
use crate::ir::{Addend, Bounding, Branch, Buckets, Key, Plan, Row, Sum};

mod limits;
mod rows;
pub(crate) mod texts;

pub(crate) use limits::seeded;
pub(crate) use rows::{is_safe, quoted};

/// The SQL dialect that an engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// DataFusion, in one process or distributed.
    DataFusion,
    /// PostgreSQL.
    PostgreSql,
}

/// The statements of a plan, without the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// The statement for sums. The statement returns one line for each group that has rows.
    /// Without keys, it always returns one line. A line has the keys, then the sums, all as text.
    pub sums: Option<String>,
    /// The statements for quantiles. Each statement returns the keys, the bucket and the number of
    /// rows, all as text.
    pub buckets: Vec<String>,
}
impl Statements {
    /// Put a seed into the statements, so that any engine can run the statements. The seed decides
    /// which rows of an id are kept. The results of the statements have no noise. So keep these
    /// results as secret as the data.
    pub fn with_seed(&self, seed: &str) -> Statements {
        let put = |statement: &String| seeded(statement, seed);
        let buckets = self.buckets.iter().map(put).collect();
        Statements { sums: self.sums.as_ref().map(put), buckets }
    }
}
impl Plan {
    pub(crate) fn statements(&self, dialect: Dialect) -> Statements {
        let printer = Printer { plan: self, dialect };
        let sums = (!self.sums.is_empty()).then(|| printer.sums());
        let buckets = (0..self.buckets.len()).map(|k| printer.bucket(k)).collect();
        Statements { sums, buckets }
    }
    /// Print a statement for the engine in this process. The statement joins and filters the rows,
    /// but applies no limits. If `raw[k]` is true and column `k` of the statement is a column of a
    /// table, the statement returns the values of this table column unchanged.
    pub(crate) fn picked_statement(&self, raw: &[bool]) -> String {
        let printer = Printer { plan: self, dialect: Dialect::DataFusion };
        let picked = self.branches.iter().map(|branch| printer.branch(branch, raw));
        picked.collect::<Vec<_>>().join("\nUNION ALL\n")
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
    /// Print a statement that begins with the stages that all statements share. A stage is a query
    /// in the `WITH` of a statement. The statement groups the rows of the last stage by the keys
    /// and by the column `more`, and selects `values` for each group. `filter` is the condition on
    /// these rows.
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
    /// List the columns of the stage `__rated` without the id: the keys, the addends and the
    /// buckets.
    fn content(&self) -> Vec<String> {
        let sums = (0..self.plan.sums.len()).map(|k| format!("v{k}"));
        let buckets = (0..self.plan.buckets.len()).map(|k| format!("b{k}"));
        self.keys().into_iter().chain(sums).chain(buckets).collect()
    }
    /// Print the stages that all statements share. Also return the name of the last of these
    /// stages.
    fn stages(&self) -> (String, &'static str) {
        let picked: Vec<String> =
            self.plan.branches.iter().map(|branch| self.branch(branch, &[])).collect();
        let mut text = format!("__picked AS (\n{}\n)", picked.join("\nUNION ALL\n"));
        let _ = write!(text, ",\n__rated AS ({})", self.rated());
        match &self.plan.bounding {
            Bounding::Trusted { .. } => (text, "__rated"),
            Bounding::Enforced { .. } => {
                text += &limits::stages(self.plan, self.dialect, &self.content());
                (text, "__bounded")
            }
        }
    }
    /// Print the SELECT of one branch. The SELECT joins and filters the rows of the private table,
    /// and computes the columns of the query.
    fn branch(&self, branch: &Branch, raw: &[bool]) -> String {
        let mut columns = Vec::new();
        if let Bounding::Enforced { id: (id, _), .. } = &self.plan.bounding {
            columns.push(format!("t0.{} AS id", rows::quoted(id)));
        }
        for (k, column) in branch.columns.iter().enumerate() {
            let printed = match column {
                Row::Column { source, name, .. } if raw.get(k) == Some(&true) => {
                    format!("t{source}.{}", rows::quoted(name))
                }
                _ => rows::print(column, self.dialect),
            };
            columns.push(format!("{printed} AS c{k}"));
        }
        // A SELECT needs at least one column, so add a constant column.
        columns.push("1 AS one".into());
        let mut tables = format!("{} AS t0", rows::quoted(&branch.table));
        for (k, join) in branch.joins.iter().enumerate() {
            let source = k + 1;
            // The engine does not know the sizes of files. It keeps the first table of a join in
            // memory, so the public table is first.
            let kind = if join.keeps_all { "RIGHT JOIN" } else { "INNER JOIN" };
            let key = rows::column(source, &join.key.0, join.key.1, self.dialect);
            let on = rows::print(&join.on, self.dialect);
            let (open, close) = if k == 0 { ("", "") } else { ("(", ")") };
            let table = rows::quoted(&join.table);
            tables = format!("{table} AS t{source} {kind} {open}{tables}{close} ON {on} = {key}");
        }
        let mut text = format!("SELECT {} FROM {tables}", columns.join(", "));
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
    /// Print the SELECT for the keys, the integers to add, and the buckets of each row. If the
    /// values of a key are public, leave out rows with any other value of this key. If the values
    /// are not public, leave out rows in which this key is null. If the plan has limits for each
    /// id, leave out rows without an id.
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
        let filter = if filters.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", filters.join(" AND "))
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
    /// Print the bucket of a row. Each candidate has its own bucket. The other buckets are the
    /// intervals below, between and above the candidates. The bucket is -1 if the value is null or
    /// the row does not meet the condition of the aggregate.
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
}
