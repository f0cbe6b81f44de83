//! What the example programs are made of.
//!
//! `census` prints private statistics of a table of people. It reads from here, in this order:
//!
//! - [`population`] makes a table of people who do not exist;
//! - [`table`] holds the columns of a table, and reads them from a file so that no cell can fail;
//! - [`statistics`] is the part to read first: each statistic is a chain of typed steps, from a
//!   column to a release, and its loss is what the chain's own map says;
//! - [`report`] writes what was released for people, and as JSON.
//!
//! `analyst` asks one question after the other, each in view of the answers, in [`interview`]; its
//! questions are about whole tables, whose space and columns are in [`people`].
//!
//! The programs that need more crates are packages of their own, so that each compiles what it uses:
//! `example-budget` asks ten questions about a labour force through the front door of
//! `opendp-analysis`, and keeps the budget in a ledger; `example-registry` has a tour of the registry,
//! and a third party's mechanism in use. All of them end as `census` does, in [`terminal`].
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
