//! Private queries on tables: SQL, one exact relational plan, and noise where the answer arrives.
//!
//! A [`Session`] holds tables with public [`Metadata`], a [`Budget`] and an [`Engine`]. A question
//! in SQL, or as a data frame, is checked before anything is read: [`Question::explain`] tells what
//! it costs and how accurate its answer will be, and [`Question::release`] spends and answers.
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
//! // The count and the sum get a half each. An individual has two rows at most.
//! assert_eq!(question.explain()?.releases.len(), 2);
//! assert_eq!(question.explain()?.releases[0].sensitivity, Some(2.0));
//! let answer = question.release()?;
//! assert_eq!(answer.table.num_rows(), 1);
//! assert_eq!(session.remaining()?.show(false), "epsilon 0.5");
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # What is promised
//! The tables of a session are protected as the privacy unit of each says, up to the budget of the
//! session, if the engine computes what SQL says, and if public metadata are not taken from the
//! data. The bound on what one individual changes in the exact results is proved in the module
//! `sensitivity`; the losses are those of constructors of the registry, which prove theirs. Losses
//! of one query and of several add up (Rogers, Roth, Ullman, Vadhan 2016, for questions that depend
//! on answers).
//!
//! Each table of a budget should protect the same individuals: the loss of an individual in several
//! tables is the sum of all losses, and that is what the budget bounds.
//!
//! What a query may contain, and what is not protected, is in the README of this package.
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
mod check;
mod columns;
mod engine;
pub mod functions;
mod ir;
mod mechanisms;
pub mod metadata;
mod noise;
mod page;
mod question;
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
pub use engine::{Cells, DataFusion, Engine, Source, cells};
pub use metadata::{Column, Metadata, PrivacyUnit, Table};
pub use question::{Explained, Explanation, Question};
pub use session::Session;
pub use sql::{Dialect, Statements};
pub use value::{Type, Value};
