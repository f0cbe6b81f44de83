//! Lists of the registry, for Python.

use std::collections::BTreeMap;

use opendp_core::{Kind, Result};
use opendp_registry::{Entry, Registry};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::errors::OrRaise;
use crate::json;

/// List the names of all constructors in alphabetical order. For each name, add the kind of objects
/// that the constructor makes, and whether the constructor is a combinator.
#[pyfunction]
pub(crate) fn names() -> Vec<(String, &'static str, bool)> {
    let registry = Registry::global();
    let mut all = BTreeMap::new();
    for listed in registry.names() {
        // If two functions have the same name, a use of this name is an error. So leave out this
        // name.
        let Ok(entries) = registry.signatures(&listed) else { continue };
        let Some(first) = entries.first() else { continue };
        let (kind, combines) = (first.kind().name(), combines(first));
        all.extend(first.names().map(|name| (name.to_owned(), (kind, combines))));
    }
    all.into_iter().map(|(name, (kind, combines))| (name, kind, combines)).collect()
}
/// Describe a constructor: its parameters, type parameters and documentation.
#[pyfunction]
pub(crate) fn describe<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    json::to_python(py, &family(name).or_raise(py)?, None)
}
fn family(name: &str) -> Result<Json> {
    let entries = Registry::global().signatures(name)?;
    let Some(first) = entries.first() else { return Ok(Json::Null) };
    let parameters = first.parameters().iter().enumerate().map(|(i, parameter)| {
        let types = distinct(
            entries
                .iter()
                .filter_map(|entry| Some(entry.parameters().get(i)?.type_name.to_string())),
        );
        json!({"name": parameter.name, "types": types, "default": parameter.default})
    });
    let generics = first.generics().enumerate().map(|(i, (generic, _))| {
        let types = distinct(
            entries.iter().filter_map(|entry| Some(entry.generics().nth(i)?.1.to_string())),
        );
        json!({"name": generic, "types": types})
    });
    let (package, version, module) = first.origin();
    Ok(json!({
        "name": first.name(),
        "names": first.names().collect::<Vec<_>>(),
        "kind": first.kind().name(),
        "documentation": first.documentation(),
        "package": package,
        "version": version,
        "module": module,
        "proved": first.proved(),
        "parameters": parameters.collect::<Vec<_>>(),
        "generics": generics.collect::<Vec<_>>(),
        "signatures": entries.iter().map(|entry| entry.to_string()).collect::<Vec<_>>(),
    }))
}
/// Return whether a constructor is a combinator. A constructor is a combinator if it takes a
/// transformation, a measurement or an odometer, or a list of such objects. A constructor is also a
/// combinator if it makes an odometer. A constructor that takes an `AnyMeasure` and no function is
/// also a combinator. An example is `make_adaptive_composition`.
fn combines(entry: &Entry) -> bool {
    let takes = |heads: &[&str]| {
        let mut parameters = entry.parameters().iter();
        parameters.any(|parameter| heads.contains(&parameter.type_name.head()))
    };
    let objects = ["AnyMeasurement", "Measurement", "AnyTransformation", "Odometer"];
    let lists = entry.parameters().iter().any(|parameter| {
        parameter.type_name.head() == "Vec"
            && parameter.type_name.args().iter().any(|argument| objects.contains(&argument.head()))
    });
    entry.kind() == Kind::Odometer
        || takes(&objects)
        || lists
        || takes(&["AnyMeasure"]) && !takes(&["AnyFunction"])
}
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
