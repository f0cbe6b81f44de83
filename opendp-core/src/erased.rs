//! Erased objects: their type parameters are known only at run time.
//!
//! Erased objects have the same generic types as typed objects. For example, an
//! [`AnyTransformation`] is a [`Transformation`](crate::Transformation) between erased spaces. So
//! chaining, composition and maps are written once for erased and typed objects. An erased object
//! is made from a typed object, or from other erased objects by chaining or composition. The
//! constructor of a typed object checks that the parts of the object fit together.

mod distance;
mod objects;
pub(crate) mod space;
mod value;

pub use distance::AnyDistance;
pub use objects::{AnyFunction, AnyMeasurement, AnyOdometer, AnyTransformation, Constructed, Kind};
pub use space::{AnyDomain, AnyMeasure, AnyMetric};
pub use value::{AnyChunk, AnyValue};
pub(crate) use value::{AnyRef, mixed_up};
