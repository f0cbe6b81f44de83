//! The same vocabulary with its type parameters erased.
//!
//! Erased objects are ordinary instances: an [`AnyTransformation`] is a
//! [`Transformation`](crate::Transformation) between erased spaces, so chaining, composition and
//! maps are written once. An erased object is made from a typed one, never from erased parts, so no
//! check is ever skipped.

mod distance;
mod objects;
pub(crate) mod space;
mod value;

pub use distance::AnyDistance;
pub use objects::{AnyFunction, AnyMeasurement, AnyOdometer, AnyTransformation, Constructed, Kind};
pub use space::{AnyDomain, AnyMeasure, AnyMetric};
pub use value::{AnyChunk, AnyValue};
pub(crate) use value::{AnyRef, mixed_up};
