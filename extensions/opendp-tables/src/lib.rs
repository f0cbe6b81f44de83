//! Private queries on tables. A query in SQL becomes one exact relational plan. Noise is added to
//! the results of this plan.
//!
//! A [`Session`] has tables with public [`Metadata`], a [`Budget`] and an [`Engine`]. A question is
//! a query in SQL or a data frame. The session checks a question before it reads any row.
//! [`Question::explain`] returns the cost of the question and the accuracy of its answer.
//! [`Question::release`] charges this cost to the budget and returns the answer.
//!
//! ```
//! use std::sync::Arc;
//! use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
//! use opendp_tables::{Budget, Metadata, Session, Source, datafusion};
//!
//! let metadata = Metadata::parse(
//!     r#"
//!     [budget]
//!     epsilon = 1.0
//!     [tables.people]
//!     unit = { id = "pid", max_rows = 2 }
//!     [tables.people.columns]
//!     pid = { type = "integer" }
//!     age = { type = "integer", bounds = [0, 100] }
//!     "#,
//! )?;
//! let ids = Arc::new(Int64Array::from_iter_values((0..900).map(|k| k / 3))) as ArrayRef;
//! let ages = Arc::new(Int64Array::from_iter_values((0..900).map(|k| k % 90))) as ArrayRef;
//! let rows = RecordBatch::try_from_iter([("pid", ids), ("age", ages)])
//!     .map_err(|error| opendp_core::Error::FailedFunction(error.to_string()))?;
//! let session = Session::new(metadata, vec![("people".into(), Source::Batches(vec![rows]))])?;
//!
//! let question = session.query("SELECT COUNT(*) AS rows, SUM(age) AS years FROM people")?;
//! let question = question.spending(Budget::epsilon(0.5)?);
//! // The count and the sum each get half of the loss. The plan keeps at most two rows of each id.
//! assert_eq!(question.explain()?.releases.len(), 2);
//! assert_eq!(question.explain()?.releases[0].sensitivity, Some(2.0));
//! let answer = question.release()?;
//! assert_eq!(answer.table.num_rows(), 1);
//! assert_eq!(session.remaining()?.show(false), "epsilon 0.5");
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # What is promised
//! A session protects the privacy unit of each table, up to the budget of the session. There are
//! two conditions: the engine computes SQL correctly, and public metadata are not taken from the
//! data. The module `sensitivity` proves a bound on the change that one individual causes in the
//! exact results. Constructors of the registry compute the losses and have their own proofs. The
//! losses of the releases of a query compose, and so do the losses of several queries. If the
//! budget does not compose tightly, the losses of the queries add up. The losses compose even if a
//! question depends on earlier answers (Rogers, Roth, Ullman, Vadhan 2016).
//!
//! The protected individuals should be the same in all tables of a budget. If an individual has
//! rows in several tables, the losses of these tables add up for this individual. The budget bounds
//! their sum.
//!
//! The README of this package lists the allowed parts of a query, and the limits of the protection.
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::expect_used,
        reason = "tests stop by panicking"
    )
)]

mod answer;
mod budget;
mod calendar;
mod check;
mod columns;
pub mod command;
mod direct;
mod engine;
pub mod functions;
mod ir;
mod mechanisms;
pub mod metadata;
mod noise;
mod page;
mod question;
mod readable;
mod released;
mod sensitivity;
mod session;
mod sql;
#[cfg(test)]
mod tests;
mod value;

pub use datafusion;

pub use answer::Answer;
pub use budget::Budget;
pub use direct::release_memory;
pub use engine::{Cells, DataFusion, Engine, Source, cells};
pub use mechanisms::Kind as NoiseKind;
pub use metadata::{Column, Metadata, PrivacyUnit, Table};
pub use question::{Explained, Explanation, Question};
pub use session::Session;
pub use sql::{Dialect, Statements};
pub use value::{Type, Value};
