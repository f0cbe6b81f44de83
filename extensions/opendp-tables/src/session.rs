//! Sessions: tables, questions about the tables, and a budget.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::datasource::empty::EmptyTable;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Query, Statement as SqlStatement};
use opendp_core::{Error, Result};
use opendp_ledger::Loss;
use serde_json::{Value as Json, json};

use crate::Type;
use crate::budget::Account;
use crate::check::{Checked, Tables, check, refused};
use crate::engine::{DataFusion, Engine, Source, is_compressed, parse};
use crate::functions::{clamp_function, date_trunc_function, quantile_function, weight_function};
use crate::metadata::{Metadata, check_name};
use crate::question::Question;
use crate::sql::quoted;

mod calls;
mod clauses;
mod deep;
mod expansion;
mod hints;
mod planning;
mod public;
mod typing;

use planning::unreadable;

/// Tables with public metadata, a budget, and an engine that reads the tables.
pub struct Session {
    pub(crate) metadata: Metadata,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) account: Account,
    /// The paths or URLs of the tables that are files, by the names of the tables.
    places: BTreeMap<String, String>,
    /// The context that plans queries and computes with released values. The tables of this context
    /// are empty.
    planner: SessionContext,
    waiter: Arc<DataFusion>,
}
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("tables", &self.metadata.tables.keys()).finish()
    }
}
impl Session {
    /// Open the tables of a metadata file. Paths in the file are relative to the folder of the
    /// file.
    ///
    /// # Errors
    /// `NotFound` when the metadata file cannot be read. `Argument` when a table has no `path`, or
    /// has an unknown format. Further errors are the errors of the metadata, the tables and the
    /// ledger.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Session::open_on(path, Box::new(DataFusion::new()?))
    }
    /// Open the tables of a metadata file on an engine.
    ///
    /// # Errors
    /// The errors of [`open`](Session::open) and of the engine.
    pub fn open_on(path: impl AsRef<Path>, engine: Box<dyn Engine>) -> Result<Self> {
        let metadata = Metadata::open(path)?;
        let sources = sources(&metadata)?;
        Session::on(metadata, sources, engine)
    }
    /// Open the tables of a metadata file only to explain questions and to print plans. If the
    /// ledger or the budget does not exist yet, the whole budget is shown as the remaining budget,
    /// and each release is an error.
    ///
    /// # Errors
    /// The errors of [`open`](Session::open), except that a ledger or a budget can be missing.
    pub fn open_to_explain(path: impl AsRef<Path>) -> Result<Self> {
        let metadata = Metadata::open(path)?;
        let sources = sources(&metadata)?;
        Session::filled(metadata, sources, Box::new(DataFusion::new()?), Account::to_explain)
    }
    /// Open a session on sources. Each source comes with the name that its table has in the
    /// metadata.
    ///
    /// # Errors
    /// `NotFound` when a table of the metadata has no source, or when a source belongs to a table
    /// that the metadata do not describe. Further errors are the errors of the metadata, the
    /// sources and the ledger.
    pub fn new(metadata: Metadata, sources: Vec<(String, Source)>) -> Result<Self> {
        Session::on(metadata, sources, Box::new(DataFusion::new()?))
    }
    /// Open a session on sources, and let `engine` read the sources.
    ///
    /// # Errors
    /// The errors of [`new`](Session::new) and of the engine.
    pub fn on(
        metadata: Metadata,
        sources: Vec<(String, Source)>,
        engine: Box<dyn Engine>,
    ) -> Result<Self> {
        Session::filled(metadata, sources, engine, Account::of_metadata)
    }
    /// Let an engine open sources, then open the account, and return the session.
    fn filled(
        metadata: Metadata,
        sources: Vec<(String, Source)>,
        engine: Box<dyn Engine>,
        account: fn(&Metadata) -> Result<Account>,
    ) -> Result<Self> {
        let mut missing: Vec<&String> = metadata.tables.keys().collect();
        let mut places = BTreeMap::new();
        for (name, source) in sources {
            let table = metadata.tables.get(&name);
            let table = table.ok_or_else(|| {
                Error::NotFound(format!("table `{name}` is not described by the metadata"))
            })?;
            table.check().map_err(|error| error.at(format!("table `{name}`")))?;
            let place = source.place();
            engine.register(&name, table, source)?;
            missing.retain(|other| **other != name);
            places.extend(place.map(|place| (name, place)));
        }
        if let Some(name) = missing.first() {
            return Err(Error::NotFound(format!("table `{name}` of the metadata has no source")));
        }
        let account = account(&metadata)?;
        Ok(Session { places, ..Session::with_account(metadata, engine, account)? })
    }
    /// Open a session on an engine that already has the tables. The tables of the engine must have
    /// the columns that the metadata describe, with the declared types.
    ///
    /// # Errors
    /// The errors of the metadata and the ledger. `FailedFunction` when no thread can be started.
    pub fn with_engine(metadata: Metadata, engine: Box<dyn Engine>) -> Result<Self> {
        let account = Account::of_metadata(&metadata)?;
        Session::with_account(metadata, engine, account)
    }
    fn with_account(metadata: Metadata, engine: Box<dyn Engine>, account: Account) -> Result<Self> {
        let planner = planner(&metadata.tables)?;
        let waiter = Arc::new(DataFusion::new()?);
        let places = BTreeMap::new();
        Ok(Session { metadata, engine, account, places, planner, waiter })
    }
    /// Ask a question in SQL. Nothing is read and nothing is spent yet.
    ///
    /// # Errors
    /// `Argument` when the text is not one statement, has more than 10,000 bytes, is nested too
    /// deeply, names an unknown table or column, or has a value of a wrong type. `NotImplemented`
    /// when a part of the query cannot be made private.
    pub fn query(&self, sql: &str) -> Result<Question<'_>> {
        Ok(Question::new(self, sql, self.checked(sql)?))
    }
    /// Begin a question in Rust. Return a data frame with the columns of a table. The frame has no
    /// rows, so collecting it reveals nothing. Filter, aggregate and sort it, then call
    /// [`ask`](Session::ask).
    ///
    /// # Errors
    /// `NotFound` when there is no such table.
    pub fn table(&self, name: &str) -> Result<DataFrame> {
        let frame = self.waiter.wait(self.planner.table(quoted(name)));
        frame.map_err(|_| Error::NotFound(format!("there is no table `{name}`")))
    }
    /// Ask the question that a data frame states. If a data frame and a text in SQL have the same
    /// logical plan, their questions have the same exact plan and the same cost.
    ///
    /// # Errors
    /// The errors of [`query`](Session::query). `NotFound` when the data frame reads a table that
    /// the metadata do not describe.
    pub fn ask(&self, frame: DataFrame) -> Result<Question<'_>> {
        let plan = frame.into_unoptimized_plan();
        let plan = self
            .waiter
            .wait(async { without_depth(plan) })
            .map_err(|error| unreadable(&error, &self.metadata.tables))?;
        let text = plan.display_indent().to_string();
        Ok(Question::new(self, &text, check(plan, &self.metadata.tables)?))
    }
    /// Return the name of a table. If the table is a file, also return its path or URL. A request
    /// for a release contains this result, so the id of a release cannot be used again with another
    /// source.
    pub(crate) fn source(&self, table: &str) -> Json {
        match self.places.get(table) {
            Some(place) => json!({"table": table, "data": place}),
            None => json!(table),
        }
    }
    pub(crate) fn checked(&self, sql: &str) -> Result<Checked> {
        check(self.planned(sql)?, &self.metadata.tables)
    }
    /// Return the remaining budget.
    ///
    /// # Errors
    /// The errors of the ledger.
    pub fn remaining(&self) -> Result<Loss> {
        self.account.left()
    }
    /// Return a note about the rest of the budget, for the person who asks. A budget in memory ends
    /// with the session. So for such a budget, the note says that a later session can spend the
    /// budget again.
    ///
    /// # Errors
    /// The errors of the ledger.
    pub fn note(&self) -> Result<String> {
        match self.account {
            Account::Durable { .. } => {
                Ok(format!("{} of the budget is left", self.remaining()?.say(false)))
            }
            Account::Absent { .. } => Ok("the budget does not exist yet, so the whole budget is \
                shown as the rest: run `opendp-sql create`, or correct `ledger` and `name`"
                .into()),
            Account::Memory { .. } | Account::Tight { .. } => {
                Ok("no ledger keeps this budget, so \
                another run can spend it again: state `ledger` and `name` in the metadata, and run \
                `opendp-sql create`"
                    .into())
            }
        }
    }
    /// Return whether the budget exists. Only a session that was opened to explain questions can
    /// lack its budget.
    pub fn has_budget(&self) -> bool {
        !matches!(self.account, Account::Absent { .. })
    }
    /// Return the number of rows that the running exact plan has read so far. Return `None` if this
    /// number is not known. The number is private, so show it only to people who may see the data.
    pub fn rows_read(&self) -> Option<u64> {
        self.engine.rows_read()
    }
    /// Return the statements of the exact plan of a query, without the seed.
    ///
    /// # Errors
    /// The errors of [`query`](Session::query).
    pub fn statements(&self, sql: &str, dialect: crate::Dialect) -> Result<crate::Statements> {
        Ok(self.checked(sql)?.plan.statements(dialect))
    }
    fn planned(&self, sql: &str) -> Result<LogicalPlan> {
        if sql.len() > 10_000 {
            return Err(Error::argument("query", "expected at most 10000 bytes"));
        }
        let state = self.planner.state();
        let is_scalar = |name: &str| state.scalar_functions().contains_key(name);
        // Make the plan on a thread with a large stack. If the plan is nested too deeply, it is
        // refused, and its memory is freed on this thread too.
        let planned = self.waiter.wait(async {
            let statement = parse::parsed(sql, parse::WRITTEN)?;
            let checked = selected(&statement).and_then(|query| {
                clauses::check(query, &is_scalar)?;
                expansion::check(query)?;
                Ok(typing::mistake(query, &self.metadata.tables))
            });
            let mistake = match checked {
                Ok(mistake) => mistake,
                Err(error) => return Ok(Err(error)),
            };
            match (state.statement_to_plan(statement).await, mistake) {
                (Err(error), Some(mistake)) if mistake.explains(&error.to_string()) => {
                    Ok(Err(mistake.error()))
                }
                (plan, _) => without_depth(plan?).map(Ok),
            }
        });
        planned.map_err(|error| unreadable(&error, &self.metadata.tables))?
    }
    /// Run a plan that computes only with released values.
    pub(crate) fn computed(&self, plan: LogicalPlan) -> Result<Vec<RecordBatch>, DataFusionError> {
        let plan = self.arranged(plan)?;
        self.waiter.wait(collect(plan, self.planner.task_ctx()))
    }
    /// Make the physical plan of a logical plan that computes only with released values. If the
    /// planning takes longer than [`PLANNING`], return an error. Without this limit, the answer of
    /// a release could take forever after its loss is charged.
    pub(crate) fn arranged(
        &self,
        plan: LogicalPlan,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let planner = self.planner.clone();
        self.waiter.within(PLANNING, async move {
            planner.execute_logical_plan(plan).await?.create_physical_plan().await
        })
    }
}
/// Return the sources that the paths of the tables name.
fn sources(metadata: &Metadata) -> Result<Vec<(String, Source)>> {
    let mut sources = Vec::new();
    public::check(metadata)?;
    for (name, table) in &metadata.tables {
        let file = table
            .path
            .clone()
            .ok_or_else(|| Error::argument("path", format!("table `{name}` has no `path`")))?;
        let extension = Path::new(&file).extension().and_then(|text| text.to_str());
        let format = table.format.as_deref().or(extension).unwrap_or("parquet");
        sources.push((
            name.clone(),
            match format {
                "csv" => Source::Csv(file),
                "parquet" => Source::Parquet(file),
                other => {
                    let reason = match &table.format {
                        Some(_) => format!("expected `csv` or `parquet`, found `{other}`"),
                        None if is_compressed(&file) => {
                            format!("`{file}` is compressed: unpack it, and name the new file")
                        }
                        None => format!(
                            "the name `{file}` ends in neither `.csv` nor `.parquet`: if it is \
                             a file, rename it; if it is a folder, state its `format`"
                        ),
                    };
                    return Err(Error::argument("format", reason).at(format!("table `{name}`")));
                }
            },
        ));
    }
    Ok(sources)
}
/// The longest time to plan the steps after a release. Usual steps take some milliseconds.
const PLANNING: Duration = Duration::from_secs(60);
fn selected(statement: &Statement) -> Result<&Query> {
    if let Statement::Statement(statement) = statement
        && let SqlStatement::Query(query) = statement.as_ref()
    {
        return Ok(query);
    }
    let text = statement.to_string();
    let name = text.split([' ', '(']).next().unwrap_or("statement");
    Err(refused(
        name,
        "it is not a SELECT with aggregates over the rows of a private table",
        "write a query such as SELECT COUNT(*) FROM t, where t is a private table",
    ))
}
/// Return a plan unchanged, or an error if it is nested too deeply.
fn without_depth(plan: LogicalPlan) -> Result<LogicalPlan, DataFusionError> {
    if deep::is_deep(&plan)? { Err(DataFusionError::Plan(deep::DEEP.into())) } else { Ok(plan) }
}
/// Make a context that has all tables with their columns, but without rows.
fn planner(tables: &Tables) -> Result<SessionContext> {
    let mut config = SessionConfig::new();
    config.options_mut().sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
    let context = SessionContext::new_with_config(config);
    let wrong = |error: DataFusionError| Error::argument("metadata", error.to_string());
    for (name, table) in tables {
        check_name(name)?;
        table.check().map_err(|error| error.at(format!("table `{name}`")))?;
        let field = |(name, column): (&String, &crate::metadata::Column)| {
            let kind = match column.kind {
                Type::Boolean => DataType::Boolean,
                Type::Integer => DataType::Int64,
                Type::Float => DataType::Float64,
                Type::Text => DataType::Utf8,
                Type::Date => DataType::Date32,
                Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            };
            Field::new(name, kind, true)
        };
        let schema = Schema::new(table.columns.iter().map(field).collect::<Vec<_>>());
        let empty = Arc::new(EmptyTable::new(Arc::new(schema)));
        context.register_table(quoted(name), empty).map_err(wrong)?;
    }
    context.register_udf(clamp_function());
    context.register_udf(date_trunc_function());
    context.register_udf(weight_function());
    context.register_udaf(quantile_function());
    Ok(context)
}
