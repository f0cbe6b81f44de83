//! Reads columns and frames of tables as streams of rows, from CSV, Arrow record batches and
//! Parquet files.
//!
//! A source is an iterator of chunks. Each chunk is a member of a domain.
//! [`Measurement::invoke_chunks`](opendp_core::Measurement::invoke_chunks) reads such an iterator.
//! Some functions of measurements can process the rows chunk by chunk. Then the memory for the
//! release does not grow with the table. So the table can be larger than memory. A domain that the
//! caller defines can have a condition on all rows together, such as their order. Such a domain
//! does not [recombine](opendp_core::Domain::recombines), so all rows are read as one chunk.
//!
//! Reading is **total**: each record of the table gives exactly one row, whatever its cells
//! contain. This row is a member of the domain. Whether a cell parses is a fact about the data of
//! one person. An error or a missing row would reveal this fact. So the domain determines the row
//! by these rules:
//!
//! | cell | `AtomDomain` | `OptionDomain` |
//! |---|---|---|
//! | parses as the type, and is a member | the value | the value |
//! | is missing, does not parse, or is NaN in a domain without NaN | NaN, or the default if the domain has no NaN | `None` |
//! | is out of the domain's bounds | the nearest bound | `None` |
//!
//! An integer can be written as any number without a fraction, such as `47.0`. The default of a
//! type is 0, `false` or the empty text. If the default is out of the domain's bounds, the row is
//! the nearest bound.
//!
//! In a CSV table, each line after the header is one record. So remove line breaks from cells
//! before the table is written ([`CsvColumn`]).
//!
//! With two exceptions, reading can fail only in steps that do not depend on any single record. An
//! error can occur if the file cannot be opened, if its format is unknown, or if the header or
//! schema lacks a column. An error can also occur if a read is interrupted. The first exception is
//! the error [`outside`], which has two cases. In the first case, the domain states a size, and the
//! number of records differs from this size. This case is intended for domains whose size is
//! public. In the second case, the domain has a condition on all rows together, and the rows do not
//! fulfil this condition. The second exception is a Parquet file or an Arrow batch whose records
//! cannot be decoded. For example, a text is not UTF-8, or a Parquet file states a wrong number of
//! rows. [`depends_on_records`] recognizes both errors. No error shows the content of the file. If
//! a file has no header, its first record is read as the names of the columns. So no error shows
//! these names either.
//!
//! CSV can be compressed by gzip or zstd. The compression is detected from the first bytes. If the
//! separator is not a comma, use [`CsvTable`].
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
//! [`CsvFrame`] reads several columns together, as frames with the schema of a domain. The domain
//! of each column determines the rules for its cells.
//!
//! The features `arrow` and `parquet` add the formats Arrow and Parquet.
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod arrow_frame;
mod cells;
mod csv;
mod csv_frame;
mod csv_table;
mod format;
#[cfg(feature = "arrow")]
mod panics;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_batches;
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
pub use crate::progress::{Progress, depends_on_records, outside};
