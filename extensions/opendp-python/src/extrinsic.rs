//! Python objects as values, for functions that a user writes.

use std::sync::Arc;

use opendp_core::erased::AnyValue;
use opendp_core::{Codec, Error, Result, carrier, named};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

/// A Python object that passes through the library unchanged.
#[derive(Clone, Default)]
pub(crate) struct Extrinsic(Option<Arc<Py<PyAny>>>);
impl Extrinsic {
    /// Wrap a Python object as an [`AnyValue`].
    pub(crate) fn value(object: &Bound<'_, PyAny>) -> AnyValue {
        AnyValue::new(Extrinsic(Some(Arc::new(object.clone().unbind()))))
    }
    /// Return the wrapped Python object. The default value wraps `None`.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match &self.0 {
            Some(object) => object.bind(py).clone(),
            None => py.None().into_bound(py),
        }
    }
}
/// The JSON states only that the value is a Python object. So the object cannot be read from JSON.
impl Codec for Extrinsic {
    fn to_json(&self) -> Json {
        json!({"extrinsic": "Python object"})
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast("a Python object cannot be read from JSON".into()))
    }
}
named!(Extrinsic as "ExtrinsicObject");
carrier!(Extrinsic);
