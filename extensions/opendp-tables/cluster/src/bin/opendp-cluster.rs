//! The command `opendp-cluster`: nodes of a cluster, and private queries that it computes.
#![forbid(unsafe_code)]

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use opendp_cluster::{Address, Cluster, Executor, Network, Scheduler};
use opendp_core::{Error, Result};
use opendp_tables::{Budget, Question, Session};

/// Ask private tables in SQL on a cluster. Nodes know no passwords: every program that
/// reaches a port of a node can read the private data.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}
#[derive(Subcommand)]
enum Command {
    /// Run a scheduler, which divides plans among executors.
    Scheduler {
        #[command(flatten)]
        place: Place,
        /// The port; 0 stands for a free one.
        #[arg(long, default_value_t = 50050)]
        port: u16,
        /// Clients ask nothing before so many executors are there.
        #[arg(long, default_value_t = 1)]
        executors: usize,
    },
    /// Run an executor, which reads files and computes parts of plans.
    Executor {
        /// The scheduler, as HOST:PORT.
        #[arg(long)]
        scheduler: Address,
        #[command(flatten)]
        place: Place,
        /// How many parts of a plan it computes at a time; by default, one for each core.
        #[arg(long)]
        cores: Option<NonZeroUsize>,
        /// The most mebibytes for its computations; by default, 70 % of the memory.
        #[arg(long)]
        memory: Option<NonZeroU64>,
        /// Where it makes its folder of intermediate results. They are private.
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// Check that a scheduler has its executors.
    Ready {
        /// The scheduler, as HOST:PORT.
        #[arg(long)]
        scheduler: Address,
        /// The most seconds to wait for them.
        #[arg(long, default_value_t = 0)]
        wait: u32,
    },
    /// Spend, let the cluster compute the exact plan, add noise here, and release the answer.
    Query(Box<Ask>),
}
#[derive(Args)]
struct Place {
    /// The address of this machine on which the node listens.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// State that all machines that reach the node may read the private data.
    #[arg(long)]
    trusted_network: bool,
    /// End when the standard input ends, as it does when the program that holds it ends.
    #[arg(long)]
    watch_input: bool,
}
impl Place {
    /// End when the input ends, if that is asked for; otherwise, never.
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
struct Ask {
    /// The scheduler, as HOST:PORT.
    #[arg(long)]
    scheduler: Address,
    /// The metadata file: tables, bounds, keys, privacy unit and budget, in TOML or JSON.
    #[arg(long)]
    config: PathBuf,
    /// The query.
    sql: String,
    /// What the query may cost.
    #[arg(long)]
    epsilon: Option<f64>,
    /// The delta that it may cost besides epsilon.
    #[arg(long, requires = "epsilon")]
    delta: Option<f64>,
    /// What the query may cost, as a rho.
    #[arg(long, conflicts_with = "epsilon")]
    rho: Option<f64>,
    /// A constructor of the registry for the noise of sums.
    #[arg(long)]
    mechanism: Option<String>,
    /// The id of the release. With a ledger, the same id gives the same release.
    #[arg(long)]
    id: Option<String>,
    /// Who asks, for the ledger.
    #[arg(long, default_value = "")]
    by: String,
    /// The most seconds that the cluster may take for each statement of the exact plan.
    #[arg(long, default_value = "3600")]
    limit: NonZeroU64,
    /// Divide each step of the exact plan into so many parts: the cores of all executors.
    #[arg(long, default_value = "16")]
    parts: NonZeroUsize,
    /// Print the release document as JSON.
    #[arg(long)]
    json: bool,
}
impl Ask {
    fn question<'a>(&self, session: &'a Session) -> Result<Question<'a>> {
        let mut question = session.query(&self.sql)?.by(&self.by);
        let spending = match (self.epsilon, self.delta, self.rho) {
            (Some(epsilon), None, _) => Some(Budget::epsilon(epsilon)?),
            (Some(epsilon), Some(delta), _) => Some(Budget::epsilon_delta(epsilon, delta)?),
            (_, _, Some(rho)) => Some(Budget::rho(rho)?),
            _ => None,
        };
        if let Some(spending) = spending {
            question = question.spending(spending);
        }
        if let Some(mechanism) = &self.mechanism {
            question = question.mechanism(mechanism);
        }
        Ok(match &self.id {
            Some(id) => question.id(id),
            None => question,
        })
    }
    fn answer(&self) -> Result<String> {
        let engine = Cluster::connect(&self.scheduler, Duration::from_secs(self.limit.get()))?;
        let engine = Box::new(engine.divided(self.parts));
        let session = Session::open_on(&self.config, engine)?;
        let answer = self.question(&session)?.release()?;
        Ok(if self.json { format!("{:#}", answer.document) } else { answer.to_string() })
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Scheduler { place, port, executors } => {
            let network = place.network();
            let scheduler = Scheduler { host: place.host, port, network, executors };
            let started = |address: &Address| {
                say(&format!("scheduler: listening on {address}"));
                warn();
            };
            scheduler.run(started, place.input_ends())
        }
        Command::Executor { scheduler, place, cores, memory, folder } => {
            let network = place.network();
            let memory = memory.map(|mebibytes| mebibytes.get().saturating_mul(1 << 20));
            let executor = Executor { scheduler, host: place.host, network, cores, memory, folder };
            let started = |port: u16| {
                say(&format!("executor: listening on port {port}"));
                warn();
            };
            executor.run(started, place.input_ends())
        }
        Command::Ready { scheduler, wait } => {
            opendp_cluster::ready(&scheduler, Duration::from_secs(wait.into()))
        }
        Command::Query(ask) => ask.answer().and_then(|answer| {
            writeln!(std::io::stdout(), "{answer}").map_err(|error| {
                Error::FailedFunction(format!("the answer cannot be printed: {error}"))
            })
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", error.kind());
            ExitCode::from(1)
        }
    }
}
/// Say what a node does. It works on when the output is closed.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
fn warn() {
    say("There are no passwords: every program that reaches this port can read the data.");
}
