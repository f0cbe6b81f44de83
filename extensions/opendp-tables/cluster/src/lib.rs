//! Private queries on a cluster: Ballista runs the exact plan, and the client adds the noise.
//!
//! The exact plan of a query computes aggregates without noise. A [`Cluster`] is an engine of a
//! session of `opendp-tables`. The engine sends exact plans to a scheduler of Ballista, and the
//! scheduler divides the plans among executors. Plans use only built-in functions of SQL, so nodes
//! need no code for privacy. After the client has received the last aggregate, it draws all noise.
//! If a node is lost, the cluster runs a part of the plan again or returns an error. A second run
//! does not change the scale of the noise.
//!
//! ```no_run
//! use std::time::Duration;
//! use opendp_cluster::{Address, Cluster};
//! use opendp_tables::{Budget, Session};
//!
//! let scheduler: Address = "127.0.0.1:50050".parse()?;
//! let engine = Cluster::connect(&scheduler, Duration::from_secs(600))?;
//! let session = Session::open_on("study.toml", Box::new(engine))?;
//! let question = session.query("SELECT sex, COUNT(*) FROM people GROUP BY sex")?;
//! println!("{}", question.spending(Budget::epsilon(0.5)?).release()?);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # What is not protected
//! Ballista has no passwords and no encryption. Every program that reaches a port of a node can
//! read all files that the executors can read, and all exact intermediate results. So nodes listen
//! on loopback by default, and on other addresses only with [`Network::Trusted`]. Files of
//! intermediate results are in folders. On Unix, only the user of the executor can read these
//! folders. When a query ends, the client requests that the files of this query are removed. When
//! an executor ends, it removes its remaining files. If an executor is killed, its files remain.
#![forbid(unsafe_code)]

mod address;
mod client;
mod nodes;
mod probe;

pub use address::{Address, Network};
pub use client::Cluster;
pub use nodes::{Executor, Scheduler};
pub use probe::ready;
