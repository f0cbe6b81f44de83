//! Ready-made measurements, each with its own name. Some of these measurements are chains of a
//! transformation and a measurement.
//!
//! The crates `opendp-transformations` and `opendp-measurements` do not depend on each other. Code
//! that needs both crates is here.
//!
//! - [`Context`] answers questions about a table from one privacy budget; see the tour in
//!   [`context`].
//! - [`statistics`] answers a single question in one call.
//! - [`make_private_quantile`] releases a quantile, chosen from a list of candidates.
//! - [`make_private_quantiles`] releases several quantiles at once.
//! - [`make_truncated_laplace_threshold`] releases noisy counts of keys, and hides rare keys.
//!
//! The registry contains the three constructors (`make_..`) only if a program links this crate and
//! mentions it in code (`use opendp_analysis as _;`).
//!
//! ```
//! use opendp_analysis::make_private_quantile;
//! use opendp_core::*;
//! use opendp_measurements::Scale;
//! use opendp_transformations::Alpha;
//!
//! let ages = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
//! let (measure, years) = (TheMeasure(MaxDivergence), (0..=120).collect());
//! let median = make_private_quantile(ages, measure, years, Alpha::new(0.5)?, Scale::new(10.0)?)?;
//! assert_eq!(median.map(&1)?, 0.1); // epsilon
//! let release: i32 = median.invoke(&vec![31, 58, 44])?;
//! # let _ = release;
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests compare with the platform's own functions")
)]

pub mod context;
mod private_quantile;
mod private_quantiles;
pub mod statistics;
mod truncated_threshold;

pub use context::{Budget, Context, Goal, PrivacyUnit, ShareKind, Split, Table};
pub use private_quantile::make_private_quantile;
pub use private_quantiles::make_private_quantiles;
pub use truncated_threshold::make_truncated_laplace_threshold;
