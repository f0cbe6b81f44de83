//! The engine that a session uses to send exact plans to a scheduler and to fetch the results.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::BALLISTA_VERSION;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, CleanJobDataParams};
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use datafusion_proto::protobuf::LogicalPlanNode;
use opendp_core::{Error, Result};
use opendp_tables::datafusion::arrow::array::RecordBatch;
use opendp_tables::datafusion::error::DataFusionError;
use opendp_tables::datafusion::execution::SessionStateBuilder;
use opendp_tables::datafusion::physical_plan::{ExecutionPlan, collect};
use opendp_tables::datafusion::prelude::{SessionConfig, SessionContext};
use opendp_tables::{Cells, DataFusion, Dialect, Engine, Source, Table, cells, datafusion};
use tokio::time::timeout;

use crate::Address;
use crate::probe::{State, ready, state};

/// The longest time that the client waits for a scheduler to cancel a job and to remove the files
/// of the job.
const FAREWELL: Duration = Duration::from_secs(5);

/// An engine that runs plans on a cluster of Ballista.
pub struct Cluster {
    scheduler: Address,
    limit: Duration,
    local: DataFusion,
}
impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("scheduler", &self.scheduler).finish_non_exhaustive()
    }
}
enum Failure {
    TooLate,
    Engine(DataFusionError),
}
impl Cluster {
    /// Connect to a scheduler. No statement may take longer than `limit`.
    ///
    /// # Errors
    /// `NotFound` when no scheduler answers, or when the scheduler has too few executors;
    /// `FailedFunction` when the client cannot be made, or when no thread can be started.
    pub fn connect(scheduler: &Address, limit: Duration) -> Result<Self> {
        ready(scheduler, Duration::ZERO)?;
        // The client polls the state of its job. So the client notices when the scheduler is lost.
        // The cache of file statistics is off, because the scheduler could have outdated
        // statistics. The adaptive planner of Ballista 55.0 is off, because it loses the order of
        // the rows. If a plan limits the rows of each id, it sorts these rows and then numbers
        // them. So with this planner, such a plan would fail.
        let config = SessionConfig::new_with_ballista()
            .set_bool("ballista.scheduler.share_file_statistics_cache", false)
            .set_bool("ballista.client.pull", true)
            .set_bool("ballista.planner.adaptive.enabled", false)
            .set_u64("ballista.client.grpc_connect_timeout_seconds", 5)
            .set_u64("ballista.client.grpc_timeout_seconds", 20);
        let plain = SessionStateBuilder::new().with_config(config).with_default_features().build();
        let upgraded = plain.upgrade_for_ballista(scheduler.url()).map_err(|error| {
            Error::FailedFunction(format!("the client of the cluster cannot be made: {error}"))
        })?;
        let local = DataFusion::on(SessionContext::new_with_state(upgraded))?;
        Ok(Cluster { scheduler: scheduler.clone(), limit, local })
    }
    /// Divide each step of a plan into `parts` parts. Without this call, each step has 16 parts.
    /// Each core of the executors computes one part at a time.
    #[must_use]
    pub fn divided(self, parts: NonZeroUsize) -> Self {
        let state = self.local.context().state_ref();
        state.write().config_mut().options_mut().execution.target_partitions = parts.get();
        self
    }
    /// Run a statement on the cluster. Then request that the cluster removes the files of the
    /// statement.
    async fn ask(&self, statement: &str) -> Result<Vec<RecordBatch>, Failure> {
        let context = self.local.context();
        let plan = self.local.plan(statement).await.map_err(Failure::Engine)?;
        let asked = timeout(self.limit, collect(plan.clone(), context.task_ctx())).await;
        let answer = match asked {
            Ok(answer) => answer.map_err(Failure::Engine),
            Err(_) => Err(Failure::TooLate),
        };
        if let Some(job) = job(&plan) {
            // If the request to remove the files fails, the scheduler or the executor removes them
            // later.
            let _ = timeout(FAREWELL, self.leave(job, answer.is_err())).await;
        }
        answer
    }
    /// Cancel the job if it has no result yet, and remove the files of the job.
    async fn leave(&self, job_id: String, cancel: bool) -> Result<(), Box<dyn std::error::Error>> {
        let config = GrpcClientConfig::default();
        let endpoint = create_grpc_client_endpoint(self.scheduler.url(), Some(&config))?;
        let mut scheduler = SchedulerGrpcClient::new(endpoint.connect().await?);
        if cancel {
            scheduler.cancel_job(CancelJobParams { job_id: job_id.clone() }).await?;
        }
        let all = CleanJobDataParams { job_id, remove_stage_ids: Vec::new() };
        scheduler.clean_job_data(all).await?;
        Ok(())
    }
    /// Return the error for a failure. The text of a `NotFound` error contains no data. The text of
    /// any other error can contain data.
    fn explained(&self, failure: Failure) -> Error {
        let (scheduler, seconds) = (&self.scheduler, self.limit.as_secs());
        match (failure, state(scheduler)) {
            (_, State::Lost) => Error::NotFound(format!(
                "the scheduler at {scheduler} was lost while it ran the exact plan, and nothing \
                 was released.\nStart the scheduler and the executors again, and ask again."
            )),
            (_, State::Waiting) => Error::NotFound(format!(
                "executors were lost while they ran the exact plan, and nothing was released.\n\
                 Start executors, as in `opendp-cluster executor --scheduler {scheduler}`, and ask \
                 again."
            )),
            (Failure::TooLate, State::Ready) => Error::NotFound(format!(
                "the cluster gave no answer within {seconds} s, so the job was cancelled and \
                 nothing was released.\nAllow more time, as in `--limit {}`, or start more executors.",
                seconds.saturating_mul(2)
            )),
            (Failure::Engine(error), State::Ready) => Error::FailedFunction(error.to_string()),
        }
    }
}
/// Return the id of the job of a plan, if the scheduler has accepted the plan.
fn job(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let query = plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>()?;
    query.job_id().map(String::from)
}
impl Engine for Cluster {
    fn name(&self) -> String {
        format!("Ballista {BALLISTA_VERSION} on DataFusion {}", datafusion::DATAFUSION_VERSION)
    }
    fn dialect(&self) -> Dialect {
        Dialect::DataFusion
    }
    fn register(&self, name: &str, table: &Table, source: Source) -> Result<()> {
        let source = match source {
            Source::Csv(path) => Source::Csv(absolute(name, &path)?),
            Source::Parquet(path) => Source::Parquet(absolute(name, &path)?),
            Source::Batches(_) | Source::Provider(_) => {
                return Err(Error::NotImplemented(format!(
                    "table `{name}`: its source exists only in this process, and executors cannot \
                     read it.\nWrite the rows to a Parquet or CSV file that they can read."
                )));
            }
        };
        self.local.register(name, table, source)
    }
    fn run(&self, statement: &str) -> Result<Vec<Cells>> {
        // The client can read all files, so it checks them for the executors.
        self.local.check_quotes(statement)?;
        let answer = self.local.wait(async { Ok(self.ask(statement).await) });
        match answer.unwrap_or_else(|error| Err(Failure::Engine(error))) {
            Ok(batches) => cells(&batches),
            Err(failure) => Err(self.explained(failure)),
        }
    }
}
/// Return the absolute path of a file, because executors have other working folders.
fn absolute(name: &str, path: &str) -> Result<String> {
    if path.contains("://") {
        return Err(Error::NotImplemented(format!(
            "table `{name}`: {path} is a URL.\n\
             State the path of a file, without `file://`, on a disk that the client and all \
             executors can read."
        )));
    }
    let path = std::fs::canonicalize(path)
        .map_err(|error| Error::FailedFunction(format!("table `{name}`: {path}: {error}")))?;
    Ok(path.to_string_lossy().into_owned())
}
