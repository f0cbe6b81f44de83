//! Edge privacy for graphs: an example of a crate of a third party.
//!
//! No crate of the framework is changed. This crate adds:
//!
//! - a carrier (the type of the members of a domain), [`Graph`], declared with `carrier!`;
//! - a domain with a descriptor, [`GraphDomain`];
//! - a metric on this domain, [`EdgeDistance`]. Tests can compute its distances;
//! - a privacy measure with its own rule of composition, [`GaussianTradeoff`];
//! - a transformation to a space of the core crate, [`make_edge_count`]. So mechanisms of the
//!   framework can add noise to its output;
//! - a mechanism, [`make_randomized_graph`], and the type of its parameter, [`FlipProbability`];
//! - a mechanism for a column of a table, [`make_randomized_presence`]. Studies can use it;
//! - a function of the releases of [`make_randomized_graph`], [`make_debiased_edge_count`];
//! - two combinators, [`make_repeat`] and [`make_gaussian_accounting`];
//! - two constructors of the framework, each registered for one more type (see `more_types.rs`).
//!
//! In documents, all names of this crate begin with `acme::`. So these names cannot clash with
//! names of other crates. A program that uses this crate names the crate once in code:
//! `use custom_mechanism as _;`.
//!
//! ```
//! use custom_mechanism::{EdgeDistance, Graph, GraphDomain, make_edge_count};
//! use opendp_core::Space;
//! use opendp_measurements::{Scale, make_laplace};
//!
//! let friends = Space::new(GraphDomain::new(100)?, EdgeDistance)?;
//! let scale = Scale::new(4.0)?;
//! let count = make_edge_count(friends)?.then(|count| make_laplace(count, scale, None))?;
//! assert_eq!(count.map(&1)?, 0.25); // one friendship more or less
//! let release: i64 = count.invoke(&Graph::new([(0, 1), (1, 2)]))?;
//! # let _ = release;
//! # Ok::<(), opendp_core::Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::expect_used))]

mod debiased_edge_count;
mod edge_count;
mod edge_distance;
mod flip_probability;
mod gaussian_accounting;
mod gaussian_tradeoff;
mod graph;
mod graph_domain;
mod graph_samples;
mod more_types;
mod randomized_graph;
mod randomized_presence;
mod repeat;

pub use debiased_edge_count::make_debiased_edge_count;
pub use edge_count::make_edge_count;
pub use edge_distance::{EdgeDistance, edge_distance};
pub use flip_probability::FlipProbability;
pub use gaussian_accounting::make_gaussian_accounting;
pub use gaussian_tradeoff::{GaussianTradeoff, gaussian_tradeoff};
pub use graph::Graph;
pub use graph_domain::{GraphDomain, graph_domain};
pub use randomized_graph::make_randomized_graph;
pub use randomized_presence::make_randomized_presence;
pub use repeat::make_repeat;
