//! DataFusion in this process.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};
use opendp_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};

use super::{Cells, Engine};
use crate::metadata::Table;
use crate::sql::quoted;
use crate::{Dialect, Type};

/// Where the rows of a table are.
#[derive(Clone)]
pub enum Source {
    /// A file or folder of CSV, with a header.
    Csv(String),
    /// A file or folder of Parquet; folders may be partitioned as `column=value`.
    Parquet(String),
    /// Batches in memory.
    Batches(Vec<RecordBatch>),
    /// Any table of DataFusion.
    Provider(Arc<dyn TableProvider>),
}
impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Csv(path) => write!(f, "Csv({path:?})"),
            Source::Parquet(path) => write!(f, "Parquet({path:?})"),
            Source::Batches(_) => f.write_str("Batches"),
            Source::Provider(_) => f.write_str("Provider"),
        }
    }
}

/// The size of stacks. The engine walks nested expressions by recursion, and a stack that overflows
/// ends the process. Only what is used of it takes memory.
const STACK: usize = 256 << 20;

/// DataFusion in this process: the default engine.
pub struct DataFusion {
    context: SessionContext,
    runtime: Arc<Runtime>,
    /// The plan that runs now.
    running: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}
impl std::fmt::Debug for DataFusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataFusion").finish_non_exhaustive()
    }
}
impl DataFusion {
    /// Start the engine.
    ///
    /// # Errors
    /// `FailedFunction` when no thread can be started.
    pub fn new() -> Result<Self> {
        DataFusion::on(SessionContext::new())
    }
    /// Start the engine on a context, such as one that sends its plans to other processes.
    ///
    /// # Errors
    /// `FailedFunction` when no thread can be started.
    pub fn on(context: SessionContext) -> Result<Self> {
        let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
        let runtime = runtime.map_err(|error| {
            Error::FailedFunction(format!("the engine could not start its threads: {error}"))
        })?;
        let state = context.state_ref();
        let dialect = datafusion::common::config::Dialect::PostgreSQL;
        state.write().config_mut().options_mut().sql_parser.dialect = dialect;
        Ok(DataFusion { context, runtime: Arc::new(runtime), running: Mutex::new(None) })
    }
    /// Return the context.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
    /// Plan a statement that runs next.
    fn planned(&self, statement: &str) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let plan = async { self.context.sql(statement).await?.create_physical_plan().await };
        let plan = self.wait(plan)?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        Ok(plan)
    }
    /// Register a table: its described columns, each read as its declared type. A cell that cannot
    /// be read as this type is null.
    ///
    /// # Errors
    /// `FailedFunction` when the file cannot be opened or lacks a column.
    pub fn register(&self, name: &str, table: &Table, source: Source) -> Result<()> {
        let raw = format!("__raw {name}");
        let opened = self.wait(self.open(&raw, source));
        opened.map_err(|error| cannot_open(name, &error.to_string()))?;
        let columns = table.columns.iter().map(|(column, described)| {
            let quoted = quoted(column);
            format!("TRY_CAST({quoted} AS {}) AS {quoted}", sql_type(described.kind))
        });
        let columns: Vec<String> = columns.collect();
        let view = format!("SELECT {} FROM {}", columns.join(", "), quoted(&raw));
        let made = self.wait(async {
            let view = self.context.sql(&view).await?.into_view();
            self.context.register_table(quoted(name), view)
        });
        made.map(|_| ()).map_err(|error| cannot_open(name, &error.to_string()))
    }
    async fn open(&self, name: &str, source: Source) -> Result<(), DataFusionError> {
        let name = quoted(name);
        match source {
            Source::Csv(path) => {
                // Cells are read as text first: a cell of another type is null, not an error.
                let inferred = CsvReadOptions::new().schema_infer_max_records(1);
                let partitions = partitions(&path);
                let plain = self.context.read_csv(path.as_str(), inferred).await?;
                let fields = plain.schema().fields().iter();
                let fields = fields.map(|field| Field::new(field.name(), DataType::Utf8, true));
                let schema = Schema::new(fields.collect::<Vec<_>>());
                let options = CsvReadOptions::new().schema(&schema).newlines_in_values(true);
                let options = options.table_partition_cols(partitions);
                self.context.register_csv(name, path.as_str(), options).await
            }
            Source::Parquet(path) => {
                let options = ParquetReadOptions::default();
                let options = options.table_partition_cols(partitions(&path));
                self.context.register_parquet(name, path.as_str(), options).await
            }
            Source::Batches(batches) => {
                let fields = batches.first().map(|batch| batch.schema().fields().clone());
                let fields = fields.iter().flatten();
                let nullable = fields.map(|field| field.as_ref().clone().with_nullable(true));
                let schema = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
                let same = |batch: RecordBatch| {
                    RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
                };
                let batches = batches.into_iter().map(same).collect::<Result<Vec<_>, _>>()?;
                let table = MemTable::try_new(schema, vec![batches])?;
                self.context.register_table(name, Arc::new(table)).map(|_| ())
            }
            Source::Provider(table) => self.context.register_table(name, table).map(|_| ()),
        }
    }
    /// Wait for a future on a thread of its own, so that callers may be inside of a runtime.
    ///
    /// # Errors
    /// Those of the future, and when the thread cannot be started.
    pub fn wait<T: Send>(
        &self,
        future: impl Future<Output = Result<T, DataFusionError>> + Send,
    ) -> Result<T, DataFusionError> {
        let runtime = &self.runtime;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let waiting = thread.spawn_scoped(scope, || runtime.block_on(future))?.join();
            waiting.unwrap_or_else(|_| Err(DataFusionError::Internal("a thread stopped".into())))
        })
    }
}
impl Engine for DataFusion {
    fn name(&self) -> String {
        format!("DataFusion {}", datafusion::DATAFUSION_VERSION)
    }
    fn dialect(&self) -> Dialect {
        Dialect::DataFusion
    }
    fn register(&self, name: &str, table: &Table, source: Source) -> Result<()> {
        DataFusion::register(self, name, table, source)
    }
    fn rows_read(&self) -> Option<u64> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(running.map_or(0, |plan| scanned(&plan)))
    }
    fn run(&self, statement: &str) -> Result<Vec<Cells>> {
        let batches = self
            .planned(statement)
            .and_then(|plan| self.wait(async { collect(plan, self.context.task_ctx()).await }));
        cells(&batches.map_err(|error| Error::FailedFunction(error.to_string()))?)
    }
}
/// Write the rows of batches as text.
///
/// # Errors
/// `FailedFunction` when a column has no text.
pub fn cells(batches: &[RecordBatch]) -> Result<Vec<Cells>> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().map(text).collect::<Result<Vec<_>>>()?;
        rows.extend((0..batch.num_rows()).map(|row| {
            let cell = |column: &Vec<Option<String>>| column.get(row).cloned().flatten();
            columns.iter().map(cell).collect::<Cells>()
        }));
    }
    Ok(rows)
}
/// Add up the rows that the leaves of a plan have read.
fn scanned(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let children = plan.children();
    if children.is_empty() {
        let rows = plan.metrics().and_then(|metrics| metrics.output_rows());
        return rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
    }
    children.into_iter().map(scanned).fold(0, u64::saturating_add)
}
/// Find the columns of a folder that is partitioned as `column=value`.
fn partitions(path: &str) -> Vec<(String, DataType)> {
    let mut folder = std::path::PathBuf::from(path);
    let mut columns = Vec::new();
    // More levels than any folder has: links may lead back.
    for _ in 0..32 {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let named = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (column, _) = name.split_once('=')?;
            entry.path().is_dir().then(|| (column.to_owned(), entry.path()))
        };
        let Some((column, next)) = entries.filter_map(named).min() else { break };
        columns.push((column, DataType::Utf8));
        folder = next;
    }
    columns
}
fn text(column: &ArrayRef) -> Result<Vec<Option<String>>> {
    let column = datafusion::arrow::compute::cast(column, &DataType::Utf8)
        .map_err(|error| Error::FailedFunction(error.to_string()))?;
    let column = column.as_string::<i32>();
    Ok((0..column.len())
        .map(|row| column.is_valid(row).then(|| column.value(row).to_owned()))
        .collect())
}
fn sql_type(kind: Type) -> &'static str {
    match kind {
        Type::Boolean => "BOOLEAN",
        Type::Integer => "BIGINT",
        Type::Float => "DOUBLE PRECISION",
        Type::Text => "VARCHAR",
    }
}
fn cannot_open(name: &str, reason: &str) -> Error {
    Error::FailedFunction(format!("table `{name}` cannot be opened: {reason}"))
}
