//! The engine that runs DataFusion in this process.

use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::catalog::MemTable;
use datafusion::datasource::file_format::options::ReadOptions;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, collect};
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};
use futures::StreamExt;
use opendp_core::{Error, Result};
use tokio::runtime::{Builder, Handle};

use super::background::Background;
use super::files::{cannot_open, check_files, located, of_system, partitions, reason};
use super::header::{DIFFERENT, check_parquet, header, missing_because};
use super::settings::{self, read_rows_by_themselves};
use super::source::{Source, same_columns};
use super::typed::read_as;
use super::{Cells, Engine, cells, failed, joined, parse, undecoded};
use crate::Dialect;
use crate::metadata::{Column, Table};
use crate::sql::quoted;

/// The size of the stack of each thread, in bytes. The engine reads nested expressions by
/// recursion, and a stack overflow ends the process. Only the used part of a stack takes memory.
const STACK: usize = 256 << 20;

/// DataFusion in this process: the default engine.
pub struct DataFusion {
    context: SessionContext,
    /// Runs futures on `_runtime`.
    handle: Handle,
    _runtime: Arc<Background>,
    /// The plan that runs now, or the last plan.
    running: Mutex<Option<Arc<dyn ExecutionPlan>>>,
    portable: bool,
    /// The approximate number of bytes that rows of individuals may take in one pass over the data.
    memory: usize,
    /// For each table of CSV files, the location of its files.
    pub(super) csv: Mutex<BTreeMap<String, ListingTableUrl>>,
}
/// The approximate number of bytes that the rows of individuals may take by default.
const MEMORY: usize = 3 << 30;
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
        Ok(DataFusion { portable: false, ..DataFusion::on(settings::context())? })
    }
    /// Start the engine on a context, such as a context that sends its plans to other processes.
    /// The engine runs [portable](DataFusion::portable) statements.
    ///
    /// The engine changes settings of the context, so that the statistics of files have no effect
    /// on the rows that are read. **Do not change these settings.** With the default settings of
    /// DataFusion, one row can change how other rows are read.
    ///
    /// # Errors
    /// `FailedFunction` when no thread can be started.
    pub fn on(context: SessionContext) -> Result<Self> {
        let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
        let runtime = runtime.map_err(|error| {
            Error::FailedFunction(format!("the engine could not start its threads: {error}"))
        })?;
        let state = context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        options.sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
        read_rows_by_themselves(options);
        drop(state);
        let (handle, running) = (runtime.handle().clone(), Mutex::new(None));
        let _runtime = Arc::new(Background(Some(runtime)));
        let (portable, memory, csv) = (true, MEMORY, Mutex::default());
        Ok(DataFusion { context, handle, _runtime, running, portable, memory, csv })
    }
    /// Let the engine run each plan completely as SQL statements, as other engines do. The results
    /// are the same as without this option, bit for bit. But a run takes longer. If limits for each
    /// id are enforced, the run also needs memory to sort the rows.
    #[must_use]
    pub fn portable(self) -> Self {
        DataFusion { portable: true, ..self }
    }
    /// Let the rows of individuals take about `bytes` bytes of memory, instead of 3 GiB. If the
    /// rows need more memory, they are read several times. Each time, only the rows of some
    /// individuals are kept. Later queries use the same memory again. See
    /// [`release_memory`](crate::release_memory).
    #[must_use]
    pub fn with_memory(self, bytes: usize) -> Self {
        DataFusion { memory: bytes, ..self }
    }
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
    /// Return the DataFusion context of the engine.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
    /// Make the DataFusion plan of a statement, such as a statement of an exact plan. In contrast
    /// to the context of the engine, this function also reads statements that nest deeply. The time
    /// to read an expression grows only in proportion to its length.
    ///
    /// # Errors
    /// The errors of the engine.
    pub async fn plan(&self, statement: &str) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let plan = parse::planned(&self.context.state(), statement, parse::PRINTED).await?;
        self.context.execute_logical_plan(plan).await?.create_physical_plan().await
    }
    /// Make the plan of a statement, and store it as the running plan.
    fn planned(&self, statement: &str) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let plan = self.wait(self.plan(statement))?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        Ok(plan)
    }
    /// Run a statement, and pass each batch of its result to `each`. Several threads can call
    /// `each` at the same time.
    ///
    /// # Errors
    /// The errors of `each` and of [`check_quotes`](DataFusion::check_quotes). [`undecoded`] when a
    /// record cannot be decoded or a thread panics. [`failed`] when the statement fails for another
    /// reason.
    pub(crate) fn scan(
        &self,
        statement: &str,
        each: &(dyn Fn(&RecordBatch) -> Result<()> + Sync),
    ) -> Result<()> {
        let plan = self.planned(statement).map_err(|_| failed())?;
        let read = |part: usize| {
            self.handle.block_on(async {
                let rows = plan.execute(part, self.context.task_ctx());
                let mut rows = rows.map_err(|_| failed())?;
                while let Some(batch) = rows.next().await {
                    each(&batch.map_err(|error| unread(&error))?)?;
                }
                Ok(())
            })
        };
        let read = &read;
        std::thread::scope(|scope| {
            let thread = || std::thread::Builder::new().stack_size(STACK);
            let start = |part: usize| {
                thread().spawn_scoped(scope, move || read(part)).map_err(|_| failed())
            };
            let quotes = thread().spawn_scoped(scope, || self.check_quotes(statement));
            let parts = 0..plan.output_partitioning().partition_count();
            let mut threads: Vec<_> = parts.map(start).collect();
            threads.push(quotes.map_err(|_| failed()));
            joined(threads).map(|_| ())
        })
    }
    /// Register a table with its described columns. Each column is read as its declared type. A
    /// cell that cannot be read as this type is null.
    ///
    /// # Errors
    /// `FailedFunction` when the source or one of its files cannot be opened or lacks a described
    /// column, when the type of a column cannot be read as the declared type, or when two columns
    /// of a file have the same name. The same error is returned when Parquet files have different
    /// types for a column, or when CSV files or batches have different columns. A folder also gives
    /// this error if the engine would silently skip a file whose name does not begin with `_` or
    /// `.`, or would read a file whose name begins with `_` or `.`. A pattern also gives this error
    /// if the engine would read files of folders that the pattern matches. A URL also gives this
    /// error if it has a query or a fragment. The errors show no cell of a file, and no name of a
    /// column that the metadata do not describe.
    pub fn register(&self, name: &str, table: &Table, source: Source) -> Result<()> {
        let raw = format!("__raw {name}");
        let source = source.local().map_err(|reason| cannot_open(name, &reason))?;
        check_files(name, &source)?;
        let known = source.clone();
        let is_csv = matches!(source, Source::Csv(_));
        let closed = |error: DataFusionError| cannot_open(name, &reason(&error, &known));
        let header = match &source {
            Source::Csv(path) => {
                let read = async { header(&self.context, &located(path)?).await };
                self.wait(read).map_err(closed)?
            }
            Source::Parquet(path) => {
                let folders = partitions(path);
                let in_files = |column: &&String| !folders.iter().any(|(name, _)| name == *column);
                let described: Vec<&String> = table.columns.keys().filter(in_files).collect();
                let check =
                    async { check_parquet(&self.context, &located(path)?, &described).await };
                self.wait(check).map_err(closed)?.map(|_| Vec::new())
            }
            Source::Batches(batches) if !same_columns(batches) => Err(DIFFERENT.into()),
            Source::Batches(_) | Source::Provider(_) => Ok(Vec::new()),
        };
        let header = header.map_err(|reason| cannot_open(name, &reason))?;
        self.wait(self.open(&raw, source, &header)).map_err(closed)?;
        let found = self.wait(self.context.table(quoted(&raw))).map_err(closed)?;
        let read = |(column, described): (&String, &Column)| match found
            .schema()
            .field_with_unqualified_name(column)
        {
            Ok(field) => read_as(column, field.data_type(), described.kind)
                .map_err(|reason| cannot_open(name, &reason)),
            Err(_) => {
                let names = table.columns.keys();
                let cause = if is_csv { missing_because(&header, names) } else { String::new() };
                let reason =
                    format!("it has no column `{column}`, which its metadata describe{cause}");
                Err(cannot_open(name, &reason))
            }
        };
        let columns = table.columns.iter().map(read).collect::<Result<Vec<_>>>()?;
        let view = format!("SELECT {} FROM {}", columns.join(", "), quoted(&raw));
        let made = self.wait(async {
            let view = parse::planned(&self.context.state(), &view, parse::PRINTED).await?;
            let view = self.context.execute_logical_plan(view).await?.into_view();
            self.context.register_table(quoted(name), view)
        });
        made.map_err(closed)?;
        if let Source::Csv(path) = &known {
            let mut csv = self.csv.lock().unwrap_or_else(PoisonError::into_inner);
            csv.insert(name.to_owned(), located(path).map_err(closed)?);
        }
        Ok(())
    }
    /// Register a source as a table. `header` has the names of the columns of a CSV file.
    async fn open(
        &self,
        name: &str,
        source: Source,
        header: &[String],
    ) -> Result<(), DataFusionError> {
        let name = quoted(name);
        let (config, defaults) =
            (self.context.copied_config(), self.context.state().default_table_options());
        match source {
            Source::Csv(path) => {
                // Read cells as text first, so that a cell of another type becomes null and is not
                // an error.
                let field = |name: &String| Field::new(name, DataType::Utf8, true);
                let schema = Schema::new(header.iter().map(field).collect::<Vec<_>>());
                let options = CsvReadOptions::new().newlines_in_values(true);
                let options = options.table_partition_cols(partitions(&path));
                let options = options.to_listing_options(&config, defaults);
                self.listed(&name, located(&path)?, options, Arc::new(schema))
            }
            Source::Parquet(path) => {
                let options = ParquetReadOptions::default();
                let options = options.table_partition_cols(partitions(&path));
                let options = options.to_listing_options(&config, defaults);
                let url = located(&path)?;
                let schema = options.infer_schema(&self.context.state(), &url).await?;
                self.listed(&name, url, options, nullable(schema.fields()))
            }
            Source::Batches(batches) => {
                let fields = batches.first().map(|batch| batch.schema().fields().clone());
                let schema = nullable(&fields.unwrap_or_default());
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
    /// Register the files at a place as a table.
    fn listed(
        &self,
        name: &str,
        url: ListingTableUrl,
        options: ListingOptions,
        schema: Arc<Schema>,
    ) -> Result<(), DataFusionError> {
        if !url.is_collection() && !url.as_str().ends_with(&options.file_extension) {
            let reason = "the name of the file does not have the ending of its format";
            return Err(DataFusionError::Execution(reason.into()));
        }
        let url = url.with_table_ref(name.into());
        let config = ListingTableConfig::new(url).with_listing_options(options);
        let table = ListingTable::try_new(config.with_schema(schema))?;
        self.context.register_table(name, Arc::new(table)).map(|_| ())
    }
    /// Wait for a future on a separate thread. The thread of the caller can be inside a runtime,
    /// where `block_on` would panic.
    ///
    /// # Errors
    /// The errors of the future, and an error when the thread cannot be started.
    pub fn wait<T: Send>(
        &self,
        future: impl Future<Output = Result<T, DataFusionError>> + Send,
    ) -> Result<T, DataFusionError> {
        let runtime = &self.handle;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let waiting = thread.spawn_scoped(scope, || runtime.block_on(future))?.join();
            waiting.unwrap_or_else(|_| Err(DataFusionError::Internal("a thread stopped".into())))
        })
    }
    /// Wait for a future on a separate thread, but not longer than `limit`. If the time is over,
    /// the thread continues, because nothing can stop it.
    ///
    /// # Errors
    /// The errors of the future, and an error when the time is over or the thread cannot be
    /// started.
    pub(crate) fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        future: impl Future<Output = Result<T, DataFusionError>> + Send + 'static,
    ) -> Result<T, DataFusionError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let runtime = self.handle.clone();
        let thread = std::thread::Builder::new().stack_size(STACK);
        // After the limit, the result is dropped.
        thread.spawn(move || drop(sender.send(runtime.block_on(future))))?;
        receiver.recv_timeout(limit).unwrap_or_else(|error| {
            let reason = match error {
                RecvTimeoutError::Timeout => format!("no plan was found in {limit:?}"),
                RecvTimeoutError::Disconnected => "a thread stopped".to_owned(),
            };
            Err(DataFusionError::Execution(reason))
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
    fn embedded(&self) -> Option<&DataFusion> {
        (!self.portable).then_some(self)
    }
    fn run(&self, statement: &str) -> Result<Vec<Cells>> {
        let shown = |error: &DataFusionError| Error::FailedFunction(error.to_string());
        let plan = self.planned(statement).map_err(|error| shown(&error))?;
        self.check_quotes(statement)?;
        let batches = self.wait(async { collect(plan, self.context.task_ctx()).await });
        let failure = |error: DataFusionError| match unread(&error) {
            unread if unread == undecoded() => unread,
            _ => shown(&error),
        };
        cells(&batches.map_err(failure)?)
    }
}
/// Make a schema whose columns can all be null. If a schema declares a column without nulls, it
/// makes a claim about the rows of all files or batches.
fn nullable(fields: &Fields) -> Arc<Schema> {
    let nullable = fields.iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(nullable.collect::<Vec<_>>()))
}
/// Return the number of rows that all scans of a plan have read together.
fn scanned(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let children = plan.children();
    if children.is_empty() {
        let rows = plan.metrics().and_then(|metrics| metrics.output_rows());
        return rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
    }
    children.into_iter().map(scanned).fold(0, u64::saturating_add)
}
/// Return the error for a failure while records are read. If the file itself cannot be read, return
/// `failed`. Otherwise a single record can cause the failure, so return `undecoded`.
fn unread(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => failed(),
        _ if of_system(error).is_some() => failed(),
        _ => undecoded(),
    }
}
