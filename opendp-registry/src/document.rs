//! Pipeline documents: transformations and measurements as JSON.

mod build;
mod describe;
mod foreign;
mod migrate;
mod node;
mod weight;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use opendp_core::erased::AnyMeasure;
use opendp_core::{Arg, Constructed, Error, Result};
use serde_json::Value as Json;

use self::build::Builder;
use self::migrate::Versions;
use crate::{Registry, json};

/// The newest version of the document format that is read.
const VERSION: u64 = 1;

/// A pipeline as text: what to build, from which space, with which arguments.
///
/// The native form names a space and a chain. A link is a constructor's name, with or without
/// `make_`, and its arguments; `input` is the space that the chain has reached. Anywhere in the
/// arguments, `{"constructor": NAME, "types": {...}, "args": {...}}` stands for one call,
/// `{"chain": [...]}` for a chain that starts from the space reached so far (in a list, with
/// `"repeat": N` beside, for N of them), and `{"param": "NAME"}` for a number that is given or
/// solved for later. A document may also be a serialization of OpenDP 0.16
/// (`{"__function__": ...}`).
///
/// A document keeps its meaning. `version` is the version of the format and of the constructors of
/// this workspace; `"packages": {"acme-dp": 2}` states those of other packages. What is not stated
/// is 1. When a constructor changes its arguments, its author [states](opendp_core::migrate) the
/// change, and documents of earlier versions are read with it.
/// [`take_notes`](Registry::take_notes) tells what to rewrite.
///
/// ```
/// use opendp_registry::{Document, Registry};
/// use opendp_measurements as _;
/// use opendp_transformations as _;
///
/// let document = Document::parse(r#"{
///     "space": {
///         "domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 1000}},
///         "metric": "symmetric_distance"
///     },
///     "chain": [{"clamp": {"bounds": [0.0, 100.0]}}, {"mean": {}}, {"laplace": {"scale": 0.5}}]
/// }"#)?;
/// let mean = document.build(Registry::global())?.measurement()?;
/// let d_in = mean.input().metric().decode(&2.into())?;
/// assert!((mean.map(&d_in)?.downcast_ref::<f64>()? - 0.2).abs() < 1e-12);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    json: Json,
    versions: Versions,
}

impl Document {
    /// Read a document. Nothing is built yet.
    ///
    /// # Errors
    /// `Argument` when the text is not JSON, or is nested too deeply, or has a key twice in one
    /// object, or has a newer version of the format.
    pub fn parse(text: &str) -> Result<Self> {
        Document::new(json::parse_request(text)?)
    }
    /// Take a document that is already JSON.
    ///
    /// # Errors
    /// `Argument` when the document has a newer version of the format.
    pub fn new(json: Json) -> Result<Self> {
        let versions = Versions::of(&json, VERSION)?;
        Ok(Document { json, versions })
    }
    /// Read a space, as a document writes it. Its parts are not checked to fit.
    pub(crate) fn space(registry: &Registry, json: &Json) -> Result<Arg> {
        Builder::new(registry).space(json).map_err(|error| error.at("space"))
    }
    /// Read a measure, as a document writes it.
    pub(crate) fn measure(registry: &Registry, json: &Json) -> Result<AnyMeasure> {
        let made = Builder::new(registry).descriptor(json, None);
        made.and_then(Constructed::measure).map_err(|error| error.at("measure"))
    }
    /// Return the document as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
    /// Return the names of the parameters that stand for numbers, in order.
    pub fn parameters(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        collect(&self.json, &mut names);
        names.into_iter().collect()
    }
    /// Build what the document describes.
    ///
    /// # Errors
    /// The errors of resolving and calling each constructor, with the place in the document.
    pub fn build(&self, registry: &Registry) -> Result<Constructed> {
        self.build_with(registry, &BTreeMap::new())
    }
    /// Build what the document describes, with values for its parameters.
    ///
    /// # Errors
    /// `Argument` when a parameter has no value or a value has no parameter; the errors of
    /// [`build`](Document::build).
    pub fn build_with(
        &self,
        registry: &Registry,
        values: &BTreeMap<String, Json>,
    ) -> Result<Constructed> {
        let filled = self.set(values)?;
        let open = filled.parameters();
        if !open.is_empty() {
            return Err(Error::argument(
                open.join("`, `"),
                "no value: state one, such as `--set NAME=1.5`, or find it by `solve`",
            ));
        }
        self.versions.check(registry)?;
        Builder::new(registry).written_for(self.versions.clone()).top(&filled.json)
    }
    /// Give some of the parameters their values. The others stay.
    ///
    /// ```
    /// # use opendp_registry::Document;
    /// # use std::collections::BTreeMap;
    /// let laplace = Document::parse(r#"{"laplace": {"scale": {"param": "scale"}}}"#)?;
    /// let set = laplace.set(&BTreeMap::from([("scale".to_owned(), 2.into())]))?;
    /// assert_eq!(set.json()["laplace"]["scale"], 2);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` when the document has no parameter of a name.
    pub fn set(&self, values: &BTreeMap<String, Json>) -> Result<Document> {
        let known = self.parameters();
        if let Some(name) = values.keys().find(|name| !known.contains(name)) {
            let reason = match known.as_slice() {
                [] => "the document has no parameters: write {\"param\": NAME} for a number".into(),
                known => format!("the document has no such parameter, it has {}", known.join(", ")),
            };
            return Err(Error::argument(name, reason));
        }
        Ok(Document { json: fill(&self.json, values), versions: self.versions.clone() })
    }
}

/// Return the name of a parameter, if the node is a parameter.
fn parameter(json: &Json) -> Option<&str> {
    let object = json.as_object().filter(|object| object.len() == 1)?;
    object.get("param")?.as_str()
}
fn collect(json: &Json, names: &mut BTreeSet<String>) {
    if let Some(name) = parameter(json) {
        names.insert(name.to_owned());
        return;
    }
    match json {
        Json::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Json::Object(object) => object.values().for_each(|item| collect(item, names)),
        _ => {}
    }
}
/// Replace the parameters that have values.
fn fill(json: &Json, values: &BTreeMap<String, Json>) -> Json {
    if let Some(value) = parameter(json).and_then(|name| values.get(name)) {
        return value.clone();
    }
    match json {
        Json::Array(items) => items.iter().map(|item| fill(item, values)).collect(),
        Json::Object(object) => {
            object.iter().map(|(key, item)| (key.clone(), fill(item, values))).collect()
        }
        other => other.clone(),
    }
}
