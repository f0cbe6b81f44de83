//! Re-exports the crates that most programs with OpenDP-rs need, so that one import is enough.
//!
//! ```
//! use opendp_rs::prelude::*;
//!
//! let ages = vec![31, 58, 44];
//! let context = Context::new(
//!     Table::new().with("age", ages)?,
//!     PrivacyUnit::person(1)?,
//!     Budget::epsilon(1.0)?,
//!     Split::evenly(1)?,
//! )?;
//! let people = context.query().count().laplace()?.release()?;
//! println!("about {} people", people.value);
//! # Ok::<(), Error>(())
//! ```
//!
//! Begin with [`Context`](prelude::Context), which answers questions about a table within one
//! privacy budget. Tables are read from CSV. The features `arrow` and `parquet` add the formats
//! Arrow and Parquet. This example computes the mean income by education, with intervals:
//!
//! ```
//! # use std::fs::File;
//! use opendp_rs::prelude::*;
//!
//! # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! # let file = std::env::temp_dir().join(format!("people-{}.csv", std::process::id()));
//! # std::fs::write(&file, "educ,income\n9,31000\n12,45000\n9,\n")?;
//! let cells = ColumnDomain::new(AtomDomain::<i64>::default());
//! let columns = ["educ", "income"].map(|name| (name.to_owned(), cells.clone()));
//! let people = CsvFrame::new(File::open(&file)?, &DataFrameDomain::with_schema(columns)?)?;
//! let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
//! let context = Context::new(Table::from_frames(people)?, unit, budget, Split::as_you_go())?;
//! let groups = context.query().group_by(["educ"]).keys("educ", 1..=16);
//! for row in groups.mean("income", (0.0, 100_000.0)).release()?.rows(0.05)? {
//!     println!("{row}");
//! }
//! # std::fs::remove_file(&file)?;
//! # Ok(())
//! # }
//! ```
//!
//! Without a ledger, each run of a program has the whole budget again.
//! [`ContextJournal`](opendp_ledger::ContextJournal) keeps the budget of a context in a file.
//!
//! A [`Study`](prelude::Study) is a budget with questions, in one JSON document. It reads its
//! columns from a file:
//!
//! ```
//! # use std::fs::File;
//! use opendp_rs::prelude::*;
//!
//! # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! # let file = std::env::temp_dir().join(format!("study-{}.csv", std::process::id()));
//! # std::fs::write(&file, "age\n31\n58\n\n")?;
//! let study = Study::parse(&serde_json::json!({
//!     "context": {
//!         "unit": {"person": 1},
//!         "budget": {"epsilon": 1},
//!         "columns": {"age": {"T": "i64", "bounds": [0, 120], "missing": "drop"}},
//!     },
//!     "questions": [{"count": {}}, {"mean": {"column": "age"}}],
//! }))?;
//! let table = File::open(&file)?;
//! let outcome = study.try_ask(study.reader(|columns| CsvFrame::new(table, columns)), 0.05);
//! println!("{}", outcome.map_err(|failure| failure.told())?.to_json());
//! # std::fs::remove_file(&file)?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Study::ask_charged`](prelude::Study::ask_charged) takes the same reader, and charges the
//! answers to a ledger.
//!
//! For a release that `Context` does not offer, chain constructors. The prelude contains them:
//!
//! ```
//! use opendp_rs::prelude::*;
//!
//! let ages = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
//! let total = make_clamp(ages, Bounds::new(0, 120)?)?
//!     .then(make_sum)?
//!     .then(|sum| make_laplace(sum, Scale::new(240.0)?, None))?;
//! assert_eq!(total.map(&1)?, 0.5); // epsilon
//! # Ok::<(), Error>(())
//! ```
//!
//! At run time, the registry finds each registered constructor by its name. For example, the
//! registry builds a measurement from a document:
//!
//! ```
//! use opendp_rs::prelude::*;
//!
//! let document = Document::parse(
//!     r#"{"space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}},
//!                   "metric": "symmetric_distance"},
//!         "chain": ["count", {"laplace": {"scale": 2.0}}]}"#,
//! )?;
//! let count = document.build(Registry::global())?;
//! assert_eq!(count.map(&1.into())?, 0.5);
//! # Ok::<(), Error>(())
//! ```
//!
//! # JSON in the same program
//! Amounts of budgets are exact decimal numbers. So these crates turn on the feature
//! `arbitrary_precision` of `serde_json`. Cargo turns a feature on for the whole program. With this
//! feature, `serde_json::from_str` cannot read numbers into some types: enums with
//! `#[serde(tag = "..")]` or `#[serde(untagged)]`, and fields with `#[serde(flatten)]`. The error
//! is `invalid type: map`. First read such a type as a `serde_json::Value`:
//!
//! ```
//! #[derive(serde::Deserialize)]
//! #[serde(tag = "kind")]
//! enum Request {
//!     Count { epsilon: f64 },
//! }
//! # use opendp_rs as _;
//! let text = r#"{"kind": "Count", "epsilon": 0.5}"#;
//! assert!(serde_json::from_str::<Request>(text).is_err());
//! let json: serde_json::Value = serde_json::from_str(text)?;
//! let Request::Count { epsilon } = serde_json::from_value(json)?;
//! assert_eq!(epsilon, 0.5);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The crates are re-exported here under their names. A program that needs only one of the crates
//! can depend on that crate alone. Such a program compiles faster.
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

pub use opendp_analysis;
pub use opendp_core;
pub use opendp_data;
pub use opendp_ledger;
pub use opendp_measurements;
pub use opendp_registry;
pub use opendp_study;
pub use opendp_transformations;

/// The names that most programs use.
pub mod prelude {
    pub use opendp_analysis::{
        Budget, Context, Goal, PrivacyUnit, ShareKind, Split, Table, make_private_quantile,
        statistics,
    };
    pub use opendp_core::*;
    #[cfg(feature = "arrow")]
    pub use opendp_data::{ArrowColumn, ArrowFrame};
    pub use opendp_data::{CsvColumn, CsvFrame};
    #[cfg(feature = "parquet")]
    pub use opendp_data::{ParquetColumn, ParquetFrame};
    pub use opendp_ledger::{ContextJournal, Ledger};
    pub use opendp_measurements::*;
    pub use opendp_registry::{Document, Registry};
    pub use opendp_study::Study;
    pub use opendp_transformations::*;
}
