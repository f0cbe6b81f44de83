//! The parts of the example programs.
//!
//! `census` prints private statistics of a table of people. The program uses these modules, in this
//! order:
//!
//! - [`population`] generates a table of fictitious people;
//! - [`table`] defines the columns of a table, and reads a file. A wrong cell in the file gives no
//!   error;
//! - [`statistics`] is the part to read first. Each statistic is a chain of typed steps, from a
//!   column to a release. The map of the chain returns the loss of the release;
//! - [`report`] writes the releases, for display and as JSON;
//! - [`page`] makes a page of the releases, with charts.
//!
//! The program `analyst` asks one question after another with the module [`interview`]. Each
//! question may depend on the earlier answers. The questions are about whole tables. [`people`]
//! defines the space of tables, and makes the transformations from a table to a column.
//!
//! Programs that need more crates are separate packages, so each program compiles only its own
//! dependencies. `example-budget` asks ten questions about a labour force with `opendp-analysis`,
//! and can keep the budget in a ledger. `example-registry` has a tour of the registry, and uses the
//! mechanism of a third party. Like `census`, all programs print their result with [`terminal`].
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
