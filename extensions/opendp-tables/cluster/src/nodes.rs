//! The nodes of a cluster: a scheduler and executors.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use opendp_core::{Error, Result};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::address::listening;
use crate::probe::appeared;
use crate::{Address, Network};

/// The number of seconds between two checks for lost executors.
const LOOK: u64 = 2;
/// An executor counts as lost after this number of seconds without a heartbeat. An executor sends a
/// heartbeat at least every 5 seconds.
const LOST: u64 = 20;
/// Executors request work from the scheduler. If the scheduler of Ballista 55.0 pushes work
/// instead, a job whose executor is killed can hang.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;
/// The longest time that an executor waits for its scheduler.
const PATIENCE: Duration = Duration::from_secs(30);
/// When an executor ends, it waits at most this time for parts of plans that still run.
const GRACE: Duration = Duration::from_secs(2);
/// The size of the stack of each thread, in bytes. Stacks are large, because plans are read by
/// recursion. Only the used part of a stack takes memory.
const STACK: usize = 256 << 20;

fn failed(what: &str, error: impl Display) -> Error {
    Error::FailedFunction(format!("{what}: {error}"))
}
fn runtime() -> Result<Runtime> {
    let built = Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    built.map_err(|error| failed("the node cannot start its threads", error))
}

/// A scheduler divides plans among executors.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The address on which the scheduler listens.
    pub host: IpAddr,
    /// The port of the scheduler, or 0 for any free port.
    pub port: u16,
    /// The programs that can reach the scheduler.
    pub network: Network,
    /// The number of executors that must be connected before clients send queries.
    pub executors: usize,
}
impl Default for Scheduler {
    fn default() -> Self {
        let (host, network) = (Ipv4Addr::LOCALHOST.into(), Network::Loopback);
        Scheduler { host, port: 50050, network, executors: 1 }
    }
}
impl Scheduler {
    /// Run until the future `stop` ends, or until the process ends. Call `started` with the address
    /// before the first request.
    ///
    /// # Errors
    /// `Argument` when `host` is an unspecified address such as `0.0.0.0`, or when other machines
    /// could reach the scheduler without [`Network::Trusted`]; `FailedFunction` when the scheduler
    /// cannot start, cannot listen on its port, or stops because of an error.
    pub fn run(
        &self,
        started: impl FnOnce(&Address),
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let runtime = runtime()?;
        let ended = runtime.block_on(async {
            tokio::select! {
                ended = self.serve(started) => ended,
                () = stop => Ok(()),
            }
        });
        runtime.shutdown_background();
        ended
    }
    async fn serve(&self, started: impl FnOnce(&Address)) -> Result<()> {
        let host = listening(self.host, self.network)?;
        let listener = tokio::net::TcpListener::bind((self.host, self.port)).await;
        let listener = listener.map_err(|error| {
            failed(&format!("port {} of {host} cannot be used", self.port), error)
        })?;
        let bound = listener
            .local_addr()
            .map_err(|error| failed("the port of the scheduler cannot be read", error))?;
        let config = Arc::new(self.config(&host, bound.port()));
        let stopped = |error| failed("the scheduler stopped", error);
        let cluster = BallistaCluster::new_from_config(&config).await.map_err(stopped)?;
        let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config);
        let scheduler = scheduler.await.map_err(stopped)?;
        started(&Address { host, port: bound.port() });
        start_grpc_service_with_listener(listener, scheduler).await.map_err(stopped)
    }
    fn config(&self, host: &str, port: u16) -> SchedulerConfig {
        SchedulerConfig {
            external_host: host.to_owned(),
            bind_host: host.to_owned(),
            bind_port: port,
            scheduling_policy: POLICY,
            executor_timeout_seconds: LOST,
            expire_dead_executor_interval_seconds: LOOK,
            no_executors_grace_period_seconds: LOST,
            min_ready_executors: self.executors,
            finished_job_data_clean_up_interval_seconds: 600,
            ..SchedulerConfig::default()
        }
    }
}

/// An executor reads files and computes parts of plans.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The address of the executor's scheduler.
    pub scheduler: Address,
    /// The address on which the executor listens. Other nodes use this address.
    pub host: IpAddr,
    /// The programs that can reach the executor.
    pub network: Network,
    /// The number of parts of a plan that the executor computes at a time; by default, one for each
    /// core.
    pub cores: Option<NonZeroUsize>,
    /// The largest number of bytes of memory for computations; by default, 70 % of the memory.
    /// Where possible, the executor writes larger intermediate data to the disk.
    pub memory: Option<u64>,
    /// The folder in which the executor makes its own folder for intermediate results. The default
    /// is the folder for temporary files.
    pub folder: Option<PathBuf>,
}
impl Executor {
    /// Make an executor on loopback.
    pub fn new(scheduler: Address) -> Self {
        let (host, network) = (Ipv4Addr::LOCALHOST.into(), Network::Loopback);
        Executor { scheduler, host, network, cores: None, memory: None, folder: None }
    }
    /// Run until the future `stop` ends, or until the process gets a signal to end. If the
    /// scheduler is lost, wait until it answers again. Call `started` with the port. At the end,
    /// remove the intermediate results.
    ///
    /// # Errors
    /// `Argument` when `host` is an unspecified address such as `0.0.0.0`, or when other machines
    /// could reach the executor without [`Network::Trusted`]; `NotFound` when no scheduler answers
    /// within 30 s; `FailedFunction` when no folder can be made, no port is free, or the executor
    /// cannot start or stops because of an error.
    pub fn run(&self, started: impl FnOnce(u16), stop: impl Future<Output = ()>) -> Result<()> {
        let host = listening(self.host, self.network)?;
        let folder = private_folder(self.folder.as_deref())?;
        // Wait for the scheduler here. Ballista itself would either try to connect only once, or
        // try forever.
        appeared(&self.scheduler, PATIENCE)?;
        let port = free_port(self.host)?;
        let work = folder.path().to_string_lossy().into_owned();
        let config = Arc::new(self.config(host, port, work)?);
        started(port);
        let runtime = runtime()?;
        let ended = runtime.block_on(async {
            tokio::select! {
                ended = start_executor_process(config) => ended,
                () = stop => Ok(()),
            }
        });
        // If the folder were removed while a part of a plan runs, this part could make the folder
        // again, with other permissions. So end the threads first, and then remove the folder. A
        // part that does not end soon must not delay the end of the executor, so wait at most
        // `GRACE`.
        runtime.shutdown_timeout(GRACE);
        drop(folder);
        ended.map_err(|error| failed("the executor stopped", error))
    }
    fn config(&self, host: String, port: u16, work: String) -> Result<ExecutorProcessConfig> {
        let cores = match self.cores {
            Some(cores) => cores,
            None => available_parallelism().map_err(|error| {
                failed("the number of cores is unknown, so state `--cores`", error)
            })?,
        };
        Ok(ExecutorProcessConfig {
            bind_host: host.clone(),
            external_host: Some(host),
            port,
            // This executor requests its work from the scheduler, so it does not use `grpc_port`.
            grpc_port: port,
            scheduler_host: self.scheduler.host.clone(),
            scheduler_port: self.scheduler.port,
            vcores: cores.get(),
            task_scheduling_policy: POLICY,
            work_dir: Some(work),
            job_data_ttl_seconds: 24 * 3600,
            job_data_clean_up_interval_seconds: 600,
            memory_pool_size: self.memory,
            ..ExecutorProcessConfig::default()
        })
    }
}
/// Make a folder. On Unix, only the user of this process can read the folder. The folder is removed
/// when the returned value is dropped.
fn private_folder(inside: Option<&Path>) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("opendp-cluster-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let made = match inside {
        Some(folder) => builder.tempdir_in(folder),
        None => builder.tempdir(),
    };
    made.map_err(|error| failed("a folder for intermediate results cannot be made", error))
}
/// Find a free port. If another program takes the port before the executor uses it, the executor
/// stops with an error.
fn free_port(host: IpAddr) -> Result<u16> {
    let bound = TcpListener::bind((host, 0)).and_then(|held| held.local_addr());
    bound
        .map(|address| address.port())
        .map_err(|error| failed(&format!("no port of {host} is free"), error))
}
