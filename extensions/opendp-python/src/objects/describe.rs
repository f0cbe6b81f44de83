//! Descriptions of objects.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Arg, Domain as _, Measure as _, Metric as _, Space};
use opendp_registry::Registry;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Value as Json, json};

use super::{Domain, Measure, Metric, PySpace};
use crate::errors::{OrRaise, detached};
use crate::values;

macro_rules! described {
    ($($class:ident { $($more:tt)* })*) => {$(
        #[pymethods]
        impl $class {
            /// The name of the type of the object.
            #[getter]
            fn r#type(&self) -> String {
                self.made.inner_type().to_string()
            }
            /// Return the description of the object as JSON: a call that makes the object.
            fn to_json(&self) -> String {
                self.made.to_json().to_string()
            }
            fn __repr__(&self) -> String {
                self.call()
            }
            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<$class>().is_ok_and(|other| other.get().made == self.made)
            }
            fn __hash__(&self) -> u64 {
                use std::hash::{DefaultHasher, Hash, Hasher};
                let mut hasher = DefaultHasher::new();
                self.made.to_json().to_string().hash(&mut hasher);
                hasher.finish()
            }
            $($more)*
        }
        impl $class {
            /// Write the call that makes the object.
            pub(super) fn call(&self) -> String {
                call_of(&self.made.to_json())
            }
        }
    )*};
}
described! {
    Domain {
        /// The name of the type of the domain's members.
        #[getter]
        fn carrier_type(&self) -> String {
            self.made.carrier().to_string()
        }
        /// The number of records in each member of the domain, if this number is known.
        #[getter]
        fn size(&self) -> Option<usize> {
            self.made.records()
        }
        /// Return whether a value is a member of the domain.
        fn member(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
            let py = value.py();
            let value = values::converted(value, &self.made).or_raise(py)?;
            detached(py, || Ok(value.is_some_and(|value| self.made.member(&value))))
        }
    }
    Metric {}
    Measure {}
}

#[pymethods]
impl PySpace {
    #[new]
    fn new(domain: &Bound<'_, Domain>, metric: &Bound<'_, Metric>) -> Self {
        let arg = Arg::Pair(domain.get().made.clone(), metric.get().made.clone());
        PySpace { arg }
    }
    /// The domain of the space.
    #[getter]
    fn domain(&self, py: Python<'_>) -> PyResult<Py<Domain>> {
        Ok(self.parts(py)?.0)
    }
    /// The metric of the space.
    #[getter]
    fn metric(&self, py: Python<'_>) -> PyResult<Py<Metric>> {
        Ok(self.parts(py)?.1)
    }
    fn __len__(&self) -> usize {
        2
    }
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        self.pair(py)?.as_any().get_item(index)
    }
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.pair(py)?.try_iter()?.into_any())
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (domain, metric) = self.parts(py)?;
        Ok(format!("({}, {})", domain.get().call(), metric.get().call()))
    }
    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PySpace>() else { return Ok(false) };
        let ((a, b), (c, d)) = (self.parts(py)?, other.get().parts(py)?);
        Ok(a.get().made == c.get().made && b.get().made == d.get().made)
    }
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.pair(py)?.hash()
    }
}
impl PySpace {
    pub(super) fn of(space: &Space<AnyDomain, AnyMetric>) -> Self {
        PySpace { arg: Arg::Space(space.clone()) }
    }
    fn pair<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (domain, metric) = self.parts(py)?;
        PyTuple::new(py, [domain.into_any(), metric.into_any()])
    }
    pub(crate) fn parts(&self, py: Python<'_>) -> PyResult<(Py<Domain>, Py<Metric>)> {
        let (domain, metric) = match &self.arg {
            Arg::Space(space) => (space.domain().clone(), space.metric().clone()),
            Arg::Pair(domain, metric) => (domain.clone(), metric.clone()),
            _ => {
                let error = opendp_core::Error::FailedCast("not a space".into());
                return Err(crate::errors::exception(py, &error));
            }
        };
        Ok((Py::new(py, Domain { made: domain })?, Py::new(py, Metric { made: metric })?))
    }
}

/// Write a description as a call: `vector_domain(atom_domain(T="i32"), size=10)`.
pub(crate) fn call_of(json: &Json) -> String {
    match json {
        Json::String(name) if registered(name) => format!("{name}()"),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Null => "None".to_owned(),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(call_of).collect::<Vec<_>>().join(", "))
        }
        Json::Object(object) if object.len() == 1 => {
            let (name, args) = match object.iter().next() {
                Some((name, Json::Object(args))) => (name, args),
                _ => return json.to_string(),
            };
            let args = args.iter().map(|(key, value)| match value {
                // In documents, a parameter can have the name of a constructor, such as
                // `atom_domain`. The value of this parameter can be a call of any constructor. It
                // can also be the arguments of the constructor with the name of the parameter.
                Json::Object(_) if registered(key) && !is_description(value) => {
                    call_of(&json!({ key.as_str(): value }))
                }
                Json::Object(_) if registered(key) => call_of(value),
                Json::Array(items) if key == "bounds" => format!("{key}=({})", literals(items)),
                Json::Array(items) if !key.ends_with("domains") => {
                    format!("{key}=[{}]", literals(items))
                }
                other => format!("{key}={}", call_of(other)),
            });
            format!("{name}({})", args.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
/// Write a list of numbers, texts and booleans. Unlike [`call_of`], write the name of a constructor
/// as a text.
fn literals(items: &[Json]) -> String {
    let literal = |item: &Json| if item.is_string() { item.to_string() } else { call_of(item) };
    items.iter().map(literal).collect::<Vec<_>>().join(", ")
}
fn registered(name: &str) -> bool {
    Registry::global().signatures(name).is_ok()
}
/// Return whether a JSON value is an object with one entry, whose key is the name of a constructor,
/// and whose value is an object of arguments.
pub(super) fn is_description(json: &Json) -> bool {
    let entry = json.as_object().filter(|object| object.len() == 1);
    entry
        .and_then(|object| object.iter().next())
        .is_some_and(|(name, args)| args.is_object() && registered(name))
}
