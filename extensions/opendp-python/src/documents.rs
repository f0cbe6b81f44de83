//! Documents of objects.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Arg, Args, Constructed, Domain as _, Error, Measure as _, Metric as _};
use opendp_core::{Result, TypeName};
use opendp_registry::{Document, Registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};

use crate::arguments;
use crate::errors::{OrRaise, detached};
use crate::objects::{
    self, Domain, Function, Measure, Measurement, Metric, Odometer, PySpace, Transformation,
};
use crate::recipe::Recipe;

/// The assumed number of constructors on the longest path through a loaded object. On a path, each
/// constructor made an argument of the previous constructor. The true number is not known, but the
/// depth of documents is limited. The number of constructors on a path is limited by
/// `arguments::MAX_LINKS`. With the assumed number, this limit allows at most two loaded objects on
/// a path.
const LOADED_LINKS: usize = 100;

/// Build the object of a JSON document. The document has the format of this library or of OpenDP
/// 0.16.
///
/// If a document states no space, the caller gives the space as an argument.
#[pyfunction]
#[pyo3(signature = (text, space = None))]
pub(crate) fn load(
    py: Python<'_>,
    text: &str,
    space: Option<&Bound<'_, PySpace>>,
) -> PyResult<Py<PyAny>> {
    let start = space.map(|space| Ok::<_, PyErr>((space.get().arg.clone(), described(py, space)?)));
    let start = start.transpose()?;
    let (document, made) = detached(py, || {
        let document = Document::parse(text)?;
        if let (Some((start, described)), Json::Object(mut fields)) =
            (start, document.json().clone())
        {
            let made = document.build_on(Registry::global(), start)?;
            fields.insert("space".to_owned(), described);
            return Ok((Document::new(Json::Object(fields))?, Loaded::Made(made)));
        }
        let made = match parts(document.json()) {
            Some(parts) => Loaded::Space(part(&parts[0])?.domain()?, part(&parts[1])?.metric()?),
            None => Loaded::Made(document.build(Registry::global())?),
        };
        Ok((document, made))
    })?;
    match made {
        Loaded::Space(domain, metric) => {
            let space = PySpace { arg: Arg::Pair(domain, metric) };
            Ok(Py::new(py, space)?.into_any())
        }
        Loaded::Made(made) => {
            let (output, recipe) = (output(document.json()), Recipe::read(document.json()));
            objects::to_python(py, made, &output, LOADED_LINKS, recipe, None)
        }
    }
}
enum Loaded {
    Made(Constructed),
    Space(AnyDomain, AnyMetric),
}
/// Return whether a document is a chain that does not state its input space.
#[pyfunction]
pub(crate) fn is_partial(py: Python<'_>, text: &str) -> PyResult<bool> {
    let document = Document::parse(text).or_raise(py)?;
    Ok(document.json().get("chain").is_some() && document.json().get("space").is_none())
}
/// Return a space in the form of a document.
fn described(py: Python<'_>, space: &Bound<'_, PySpace>) -> PyResult<Json> {
    let (domain, metric) = space.get().parts(py)?;
    Ok(json!({"domain": domain.get().made.to_json(), "metric": metric.get().made.to_json()}))
}
/// Return the descriptions of a domain and a metric, if the document is a space.
fn parts(document: &Json) -> Option<[Json; 2]> {
    let (domain, metric) = (document.get("domain")?, document.get("metric")?);
    Some([domain.clone(), metric.clone()])
}
fn part(description: &Json) -> Result<Constructed> {
    Document::new(called(description.clone()))?.build(Registry::global())
}
/// Write a description as a JSON object. A name without arguments also becomes a JSON object.
fn called(description: Json) -> Json {
    match description {
        Json::String(name) => json!({ name: {} }),
        other => other,
    }
}
/// Return the type of the object that a document describes, as far as this type is known without
/// building the object. If a document is one call that makes a function, the input type of the
/// function is known.
fn output(document: &Json) -> TypeName {
    let unknown = || TypeName::plain("Function");
    let Some(name) = document.get("constructor").and_then(Json::as_str) else { return unknown() };
    let mut args = Args::new();
    for key in ["types", "args"] {
        for (name, value) in document.get(key).and_then(Json::as_object).into_iter().flatten() {
            args = args.with(name, value.clone());
        }
    }
    Registry::global()
        .resolve(name, &args)
        .map_or_else(|_| unknown(), |entry| entry.output().clone())
}

/// Write an object as a document. Before the document is returned, an object is built from the
/// document once. This checks that the document can be read again.
#[pyfunction]
pub(crate) fn write(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<String> {
    macro_rules! descriptions {
        ($($class:ident)*) => {$(
            if let Ok(object) = object.cast::<$class>() {
                let made = object.get().made.clone();
                return detached(py, || checked(called(made.to_json()), &made.into()));
            }
        )*};
    }
    macro_rules! objects {
        ($($class:ident)*) => {$(
            if let Ok(object) = object.cast::<$class>() {
                let object = object.get();
                return detached(py, || {
                    let made = Constructed::from(object.made.clone());
                    checked(object.recipe.document()?, &made)
                });
            }
        )*};
    }
    descriptions!(Domain Metric Measure);
    objects!(Transformation Measurement Function Odometer);
    if let Ok(space) = object.cast::<PySpace>() {
        let (domain, metric) = space.get().parts(py)?;
        let (domain, metric) = (domain.get().made.clone(), metric.get().made.clone());
        let space = described(py, space)?;
        return detached(py, || {
            checked(called(domain.to_json()), &domain.into())?;
            checked(called(metric.to_json()), &metric.into())?;
            Ok(space.to_string())
        });
    }
    let name = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let reason = format!("expected an object of this library, found a value of type {name}");
    Err(crate::errors::exception(py, &Error::argument("dp_obj", reason)))
}
macro_rules! pickled {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            /// Tell pickle and copy how to make the object again: from its document. An object
            /// without a document cannot be copied. The error says which part cannot be in a
            /// document.
            fn __reduce__<'py>(
                this: &Bound<'py, Self>,
            ) -> PyResult<(Bound<'py, PyAny>, (String,))> {
                let read = this.py().import("opendp_rs.prelude")?.getattr("deserialize")?;
                Ok((read, (write(this.py(), this.as_any())?,)))
            }
        }
    )*};
}
pickled!(Domain Metric Measure Transformation Measurement Function Odometer PySpace);

/// Write a chain of constructors without an input space. Each part of the chain has the name of a
/// constructor and its arguments. A part without a name is an object, or the text of a document.
#[pyfunction]
pub(crate) fn write_partial(
    py: Python<'_>,
    parts: Vec<(Option<String>, Bound<'_, PyAny>)>,
) -> PyResult<String> {
    let mut recipes = Vec::new();
    for (name, part) in parts {
        match name {
            Some(name) => {
                let given = arguments::read(part.cast::<PyDict>()?).or_raise(py)?;
                recipes.push(Recipe::call(&name, given.args, given.inner));
            }
            None => recipes.push(recipe(&part)?),
        }
    }
    detached(py, || Recipe::partial(&recipes).map(|document| document.to_string()))
}
fn recipe(part: &Bound<'_, PyAny>) -> PyResult<Recipe> {
    macro_rules! objects {
        ($($class:ident)*) => {$(
            if let Ok(object) = part.cast::<$class>() {
                return Ok(object.get().recipe.clone());
            }
        )*};
    }
    objects!(Transformation Measurement Function Odometer);
    if let Ok(text) = part.extract::<String>() {
        return Ok(Recipe::read(Document::parse(&text).or_raise(part.py())?.json()));
    }
    Ok(Recipe::Unknown)
}
/// Build the object of a document, and check with `same` that this object is the same as `made`.
/// Return the text of the document.
fn checked(document: Json, made: &Constructed) -> Result<String> {
    let text = document.to_string();
    let again = Document::parse(&text).and_then(|document| document.build(Registry::global()));
    match again {
        Ok(again) if same(&again, made) => Ok(text),
        Ok(_) => Err(Error::NotImplemented("the document would build another object".into())),
        Err(error) => Err(Error::NotImplemented(format!("the object has no document: {error}"))),
    }
}
/// Return whether two objects are of the same kind, and have the same spaces and the same measure.
/// Functions have no spaces and no measure, so any two functions count as the same.
fn same(left: &Constructed, right: &Constructed) -> bool {
    match (left, right) {
        (Constructed::Domain(a), Constructed::Domain(b)) => a == b,
        (Constructed::Metric(a), Constructed::Metric(b)) => a == b,
        (Constructed::Measure(a), Constructed::Measure(b)) => a == b,
        (Constructed::Transformation(a), Constructed::Transformation(b)) => {
            a.input() == b.input() && a.output() == b.output()
        }
        (Constructed::Measurement(a), Constructed::Measurement(b)) => {
            a.input() == b.input() && a.measure() == b.measure()
        }
        (Constructed::Odometer(a), Constructed::Odometer(b)) => {
            a.input() == b.input() && a.measure() == b.measure()
        }
        (Constructed::Function(_), Constructed::Function(_)) => true,
        _ => false,
    }
}
