//! Finds constructors by name and type signature, and reads pipeline documents.
//!
//! A program links the crates whose constructors it needs, and names each of these crates once in
//! code (`use opendp_transformations as _;`). [`Registry::global`] then contains their
//! constructors.
//!
//! ```
//! use opendp_core::{Args, AtomDomain, Space, SymmetricDistance, VectorDomain};
//! use opendp_registry::Registry;
//! use opendp_transformations as _;
//!
//! let records = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
//! let bounds = serde_json::json!([0, 10]);
//! let args = Args::new().with("input", &records.erase()).with("bounds", bounds);
//! let clamp = Registry::global().make("make_clamp", &args)?.transformation()?;
//! assert_eq!(clamp.output().domain().inner_type().to_string(), "VectorDomain<AtomDomain<i32>>");
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! A registry also builds objects from the text of a pipeline document. See [`Document`].
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

mod advice;
mod catalogues;
mod document;
mod entry;
mod expecting;
mod explain;
mod introspect;
pub mod json;
mod memo;
mod refusal;
mod registry;
mod request;
mod solve;
mod suggest;
mod types;

pub use document::Document;
pub use entry::{Addition, Entry};
pub use registry::Registry;
pub use request::Request;
pub use suggest::{Goal, Limits, Obstacle, Suggestion, Suggestions};
