//! Erased objects: their type parameters are known only at run time.
//!
//! Erased objects have the same generic types as typed objects. For example, an
//! [`AnyTransformation`] is a [`Transformation`](crate::Transformation) between erased spaces. So
//! chaining, composition and maps are written once for erased and typed objects. An erased object
//! is made from a typed object, or from other erased objects by chaining or composition. The
//! constructor of a typed object checks that the parts of the object fit together.

use std::sync::Arc;

mod distance;
mod objects;
pub(crate) mod space;
mod value;

pub use distance::AnyDistance;
pub use objects::{AnyFunction, AnyMeasurement, AnyOdometer, AnyTransformation, Constructed, Kind};
pub use space::{AnyDomain, AnyMeasure, AnyMetric};
pub use value::{AnyChunk, AnyValue};
pub(crate) use value::{AnyRef, mixed_up};

/// Move a value into shared memory.
///
/// A panic in a function of the C ABI ends the process, so such a function never unwinds. The
/// callers, which are compiled for many types, need no code that drops their values after a panic.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn shared<T>(value: T) -> Arc<T> {
    Arc::new(value)
}
