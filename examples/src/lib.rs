//! The parts of the example programs.
//!
//! `census` prints private statistics of a table of people. It uses these modules, in this order:
//!
//! - [`population`] generates a table of fictitious people;
//! - [`table`] holds the columns of a table, and reads them from a file so that no cell can fail;
//! - [`statistics`] is the part to read first: each statistic is a chain of typed steps, from a
//!   column to a release, and the chain's own map gives its loss;
//! - [`report`] writes what was released, for display and as JSON;
//! - [`page`] makes a page of it, with charts.
//!
//! `analyst` asks one question after the other in [`interview`]. Each question may depend on the
//! earlier answers. Its questions are about whole tables; [`people`] has their space and columns.
//!
//! Programs that need more crates are separate packages, so that each compiles only what it uses.
//! `example-budget` asks ten questions about a labour force with `opendp-analysis`, and keeps the
//! budget in a ledger. `example-registry` has a tour of the registry, and uses a third party's
//! mechanism. All of them end like `census`, in [`terminal`].
//!
//! ```
//! use opendp_examples::{population, report, statistics};
//!
//! let people = population::generate(1_000, 1);
//! let census = statistics::census(&people, 1.0)?;
//! assert!(census.total <= 1.0);
//! println!("{}", report::table(&census));
//! # Ok::<(), opendp_core::Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]

pub mod interview;
pub mod page;
pub mod people;
pub mod population;
pub mod report;
pub mod statistics;
pub mod table;
pub mod terminal;

/// The example of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
