//! Private queries on a cluster: Ballista runs the exact plan, and the client adds the noise.
//!
//! A [`Cluster`] is an engine of a session of `opendp-tables`. It sends exact plans to a scheduler
//! of Ballista, which divides them among executors. Plans use built-in functions alone, so nodes
//! need to know nothing about privacy: they compute what SQL says, and the client draws all noise
//! after the last aggregate arrived. A node that is lost leads to a retry or to an error. The scale
//! of the noise depends on neither.
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
//! Ballista knows no passwords and no encryption. Every program that reaches a port of a node can
//! read all files that the executors can read, and all exact intermediate results. So nodes listen
//! on loopback, unless [`Network::Trusted`] is stated. Files of intermediate results are in folders
//! that only the user of the executor can read. The client has them removed when a query ends, and
//! the executor removes what is left when it stops.
#![forbid(unsafe_code)]

mod address;
mod client;
mod nodes;
mod probe;

pub use address::{Address, Network};
pub use client::Cluster;
pub use nodes::{Executor, Scheduler};
pub use probe::ready;
