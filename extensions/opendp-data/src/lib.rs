//! Columns and frames of tables as streams of rows: CSV, Arrow record batches and Parquet files.
//!
//! A source is an iterator of chunks of members of a domain, which
//! [`Measurement::invoke_chunks`](opendp_core::Measurement::invoke_chunks) reads: a statistic of a
//! table that is larger than memory is released in memory that does not grow with it.
//!
//! Reading is **total**: each record of the table gives exactly one row, a member of the domain,
//! whatever its cell holds. Whether a cell reads is a fact about one person's data; an error, or a
//! row less, would release it. The rules are those of the domain:
//!
//! | cell | `AtomDomain` | `OptionDomain` |
//! |---|---|---|
//! | reads as the type, and is a member | the value | the value |
//! | is missing, or does not read | NaN, or the default where there is none | `None` |
//! | is out of the domain's bounds | the nearest bound | `None` |
//!
//! An integer may be written as any number without a fraction, such as `47.0`. The default is 0,
//! `false` or the empty text.
//!
//! What can fail is what does not depend on any one record: opening the file, a format that is none
//! of these, a column that the header or schema does not name, a read that breaks off, and a number
//! of records that is not the one that the domain states ([`outside`]). The last is meant for domains
//! whose size is public. No error shows what is in the file, nor the names of its columns, which are
//! a record where there is no header.
//!
//! CSV may be compressed by gzip or zstd, which is told by its first bytes; [`CsvTable`] reads cells
//! with another separator than the comma.
//!
//! ```
//! use opendp_core::*;
//! use opendp_data::CsvColumn;
//! use opendp_measurements::{Scale, make_laplace};
//! use opendp_transformations::{make_clamp, make_sum};
//! let table = "name,age\nAda,36\nBlaise,\nCarl,x\n";
//! let people = Space::new(VectorDomain::new(AtomDomain::<i64>::default()), SymmetricDistance)?;
//! let ages = CsvColumn::new(table.as_bytes(), Some("age"), people.domain())?;
//! let release = make_clamp(people.clone(), Bounds::new(0, 120)?)?
//!     .then(make_sum)?
//!     .then(|sum| make_laplace(sum, Scale::new(120.0)?, None))?;
//! release.invoke_chunks(ages)?; // 36 + 0 + 0, and noise
//! # Ok::<(), Error>(())
//! ```
//!
//! [`CsvFrame`] reads several columns together, as frames of the schema of a domain: each cell by
//! the rule of its column.
//!
//! The features `arrow` and `parquet` add the other formats.
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

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod arrow_frame;
mod cells;
mod csv;
mod csv_frame;
mod csv_table;
mod format;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_frame;
#[cfg(feature = "parquet")]
mod parquet_texts;
mod progress;
mod zstd;

#[cfg(feature = "arrow")]
pub use crate::arrow::{ArrowColumn, ArrowDomain};
#[cfg(feature = "arrow")]
pub use crate::arrow_frame::ArrowFrame;
pub use crate::csv::CsvColumn;
pub use crate::csv_frame::CsvFrame;
pub use crate::csv_table::CsvTable;
pub use crate::format::{Compression, text};
#[cfg(feature = "parquet")]
pub use crate::parquet::ParquetColumn;
#[cfg(feature = "parquet")]
pub use crate::parquet_frame::ParquetFrame;
#[cfg(feature = "parquet")]
pub use crate::parquet_texts::ParquetTexts;
pub use crate::progress::{Progress, outside};
