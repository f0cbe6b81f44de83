//! The command `opendp-cluster`: run the nodes of a cluster, and private queries on it.
#![forbid(unsafe_code)]

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use opendp_cluster::{Address, Cluster, Executor, Network, Scheduler};
use opendp_core::Result;
use opendp_tables::Session;
use opendp_tables::command::{Ask, print_charged, warn};

/// Run private queries in SQL on a cluster. Nodes have no passwords. Every program that reaches a
/// port of a node can read the private data.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}
#[derive(Subcommand)]
enum Command {
    /// Run a scheduler. A scheduler divides plans among executors.
    Scheduler {
        #[command(flatten)]
        place: Place,
        /// The port of the scheduler. 0 means any free port.
        #[arg(long, default_value_t = 50050)]
        port: u16,
        /// The number of executors that must be connected before clients send queries.
        #[arg(long, default_value_t = 1)]
        executors: usize,
    },
    /// Run an executor. An executor reads files and computes parts of plans.
    Executor {
        /// The scheduler, as HOST:PORT.
        #[arg(long)]
        scheduler: Address,
        #[command(flatten)]
        place: Place,
        /// The number of parts of a plan that the executor computes at a time; by default, one for
        /// each core.
        #[arg(long)]
        cores: Option<NonZeroUsize>,
        /// The largest amount of memory for computations, in mebibytes; by default, 70 % of the
        /// memory.
        #[arg(long)]
        memory: Option<NonZeroU64>,
        /// The folder in which the executor makes its own folder for intermediate results. The
        /// results are private.
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// Check that a scheduler has enough executors.
    Ready {
        /// The scheduler, as HOST:PORT.
        #[arg(long)]
        scheduler: Address,
        /// The largest number of seconds to wait for the executors.
        #[arg(long, default_value_t = 0)]
        wait: u32,
    },
    /// Charge the budget for a query, and release the answer of the query. The cluster runs the
    /// exact plan. This machine adds the noise.
    Query(Box<OnCluster>),
}
#[derive(Args)]
struct Place {
    /// The address of this machine on which the node listens.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// State that all machines that reach the node may read the private data.
    #[arg(long)]
    trusted_network: bool,
    /// End when the standard input ends. The standard input ends when the program that started the
    /// node ends.
    #[arg(long)]
    watch_input: bool,
}
impl Place {
    /// If `watch_input` is true, wait until the standard input ends. Otherwise, wait forever.
    async fn input_ends(&self) {
        if !self.watch_input {
            return std::future::pending().await;
        }
        let (sender, ended) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            drop(sender);
        });
        let _ = ended.await;
    }
    fn network(&self) -> Network {
        if self.trusted_network { Network::Trusted } else { Network::Loopback }
    }
}
#[derive(Args)]
struct OnCluster {
    /// The scheduler, as HOST:PORT.
    #[arg(long)]
    scheduler: Address,
    #[command(flatten)]
    ask: Ask,
    /// The largest number of seconds for each statement of the exact plan.
    #[arg(long, default_value = "3600")]
    limit: NonZeroU64,
    /// The number of parts of each step of the exact plan. The best value is the number of cores of
    /// all executors together.
    #[arg(long, default_value = "16")]
    parts: NonZeroUsize,
}
impl OnCluster {
    fn answer(&self) -> Result<String> {
        let engine = Cluster::connect(&self.scheduler, Duration::from_secs(self.limit.get()))?;
        let engine = Box::new(engine.divided(self.parts));
        let session = Session::open_on(&self.ask.config, engine)?;
        let answer = self.ask.question(&session)?.release_with(warn)?;
        self.ask.remark(&session, &answer);
        Ok(if self.ask.json { format!("{:#}", answer.document) } else { answer.to_string() })
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Scheduler { place, port, executors } => {
            let network = place.network();
            let scheduler = Scheduler { host: place.host, port, network, executors };
            let started = |address: &Address| {
                say(&format!("scheduler: listening on {address}"));
                state_risk();
            };
            scheduler.run(started, place.input_ends())
        }
        Command::Executor { scheduler, place, cores, memory, folder } => {
            let network = place.network();
            let memory = memory.map(|mebibytes| mebibytes.get().saturating_mul(1 << 20));
            let executor = Executor { scheduler, host: place.host, network, cores, memory, folder };
            let started = |port: u16| {
                say(&format!("executor: listening on port {port}"));
                state_risk();
            };
            executor.run(started, place.input_ends())
        }
        Command::Ready { scheduler, wait } => {
            opendp_cluster::ready(&scheduler, Duration::from_secs(wait.into()))
        }
        Command::Query(query) => query.answer().and_then(|answer| print_charged(&answer)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", error.kind());
            ExitCode::from(1)
        }
    }
}
/// Print a line about a node. If the line cannot be printed, do nothing, so the node continues.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
fn state_risk() {
    say("There are no passwords: every program that reaches this port can read the data.");
}
