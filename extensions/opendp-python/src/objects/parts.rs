//! The parts of domains: bounds, and the domains of elements, keys and values.

use opendp_core::{Constructed, Domain as _};
use opendp_registry::{Document, Registry};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use serde_json::{Map, Value as Json, json};

use super::Domain;
use super::describe::is_description;
use crate::errors::OrRaise;
use crate::json as python_json;

#[pymethods]
impl Domain {
    /// The bounds of the values of an atomic domain, or None. Other domains have no bounds.
    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let args = self.args("bounds", &["atom_domain"])?;
        let Some(Json::Array(ends)) = args.get("bounds") else { return Ok(None) };
        let is_float = matches!(self.made.carrier().to_string().as_str(), "f64" | "f32");
        let ends = ends.iter().map(|end| match end {
            // JSON has no infinities, so an infinite bound is a text.
            Json::String(text) if is_float => {
                Ok(PyFloat::new(py, text.parse().unwrap_or(f64::NAN)).into_any())
            }
            end => python_json::to_python(py, end, None),
        });
        Ok(Some(PyTuple::new(py, ends.collect::<PyResult<Vec<_>>>()?)?))
    }
    /// Whether an atomic domain of floats contains NaN. Other atomic domains do not contain NaN.
    #[getter]
    fn nan(&self) -> PyResult<bool> {
        Ok(self.args("nan", &["atom_domain"])?.get("nan") == Some(&json!(true)))
    }
    /// The domain of the elements of a vector domain, or of the present values of an option domain.
    #[getter]
    fn element_domain(&self, py: Python<'_>) -> PyResult<Domain> {
        let args = self.args("element_domain", &["vector_domain", "option_domain"])?;
        let of_option = args.get("element_domain");
        part(py, of_option.or_else(|| args.get("atom_domain")))
    }
    /// The domain of the keys of a map domain.
    #[getter]
    fn key_domain(&self, py: Python<'_>) -> PyResult<Domain> {
        part(py, self.args("key_domain", &["map_domain"])?.get("key_domain"))
    }
    /// The domain of the values of a map domain.
    #[getter]
    fn value_domain(&self, py: Python<'_>) -> PyResult<Domain> {
        part(py, self.args("value_domain", &["map_domain"])?.get("value_domain"))
    }
}
impl Domain {
    /// Return the arguments of the constructor of the domain. It is an error if the domain has
    /// another constructor than `makers`.
    fn args(&self, attribute: &str, makers: &[&str]) -> PyResult<Map<String, Json>> {
        let object = match self.made.to_json() {
            Json::Object(object) => object,
            _ => Map::new(),
        };
        match object.into_iter().next() {
            Some((maker, Json::Object(args))) if makers.contains(&maker.as_str()) => Ok(args),
            _ => {
                let found = format!("{} has no `{attribute}`", self.call());
                Err(PyAttributeError::new_err(found))
            }
        }
    }
}
/// Build the domain that a description states. In documents, the elements of a vector domain can be
/// described by the arguments of `atom_domain`.
fn part(py: Python<'_>, described: Option<&Json>) -> PyResult<Domain> {
    let described = described.cloned().unwrap_or_default();
    let call =
        if is_description(&described) { described } else { json!({ "atom_domain": described }) };
    match Document::new(call)
        .and_then(|document| document.build(Registry::global()))
        .or_raise(py)?
    {
        Constructed::Domain(made) => Ok(Domain { made }),
        _ => Err(PyAttributeError::new_err("the part is not a domain")),
    }
}
