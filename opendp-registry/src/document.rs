//! Pipeline documents: transformations and measurements as JSON.

mod build;
mod describe;
mod foreign;
mod here;
mod migrate;
mod node;
mod weight;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use opendp_core::erased::AnyMeasure;
use opendp_core::{Arg, Constructed, Error, Result};
use serde_json::Value as Json;

use self::build::Builder;
use self::migrate::Versions;
use crate::{Registry, json};

/// The newest version of the document format that this program reads.
const VERSION: u64 = 1;

/// A pipeline as text: a space, constructors and their arguments.
///
/// The native form has a space and a chain of links. A link is the name of a constructor, with or
/// without `make_`, and the arguments of this constructor. At the first link, the current space is
/// the space of the document. At each later link, the current space is the output space of the
/// previous link. If the link of a constructor with a parameter `input` does not state an input
/// space, the current space becomes the argument `input`. An argument can contain three special
/// forms. The form `{"constructor": NAME, "types": {...}, "args": {...}}` is one call of a
/// constructor. The form `{"chain": [...]}` is a chain that starts from the current space. The form
/// `{"param": "NAME"}` stands for a number that is given later, or that a search finds. In a list,
/// `"repeat": N` next to `"chain"` makes N copies of the chain. A document can also be a
/// serialization of OpenDP 0.16 (`{"__function__": ...}`).
///
/// A document keeps its meaning when constructors change. `version` is the version of the format
/// and of the constructors of this workspace. `"packages": {"acme-dp": 2}` states the versions of
/// other packages. If a version is not stated, it is 1. If the arguments of a constructor change,
/// the author of the constructor [states](opendp_core::migrate) the change. This change is then
/// applied to documents of earlier versions. [`take_notes`](Registry::take_notes) returns advice
/// for authors whose documents use older arguments or deprecated constructors.
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
    /// Read a document, without building its objects.
    ///
    /// # Errors
    /// `Argument` when the text is too long, is not JSON, is nested too deeply, has a key twice in
    /// one object, or has too many values for its length. The errors of [`new`](Document::new).
    pub fn parse(text: &str) -> Result<Self> {
        weight::check_text(text)?;
        Document::new(json::parse_request(text)?)
    }
    /// Make a document from parsed JSON.
    ///
    /// # Errors
    /// `Argument` when `version` or `packages` is not valid. For example, the version of the format
    /// can be newer than the versions that this program reads.
    pub fn new(json: Json) -> Result<Self> {
        let versions = Versions::of(&json, VERSION)?;
        Ok(Document { json, versions })
    }
    /// Read a space in document form. Do not check whether its domain and its metric fit each
    /// other.
    pub(crate) fn space(registry: &Registry, json: &Json) -> Result<Arg> {
        Builder::new(registry).space(json).map_err(|error| error.at("space"))
    }
    /// Read a measure in document form.
    pub(crate) fn measure(registry: &Registry, json: &Json) -> Result<AnyMeasure> {
        let made = Builder::new(registry).descriptor(json, None);
        made.and_then(Constructed::measure).map_err(|error| error.at("measure"))
    }
    /// Return the document as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
    /// Return the names of the parameters that stand for numbers, in alphabetical order.
    pub fn parameters(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        collect(&self.json, &mut names);
        names.into_iter().collect()
    }
    /// Build the object that the document describes.
    ///
    /// # Errors
    /// `Argument` when a parameter has no value, when a part of the document has a wrong form, when
    /// the document has too many links or members, or when the stated version of a package is newer
    /// than this program. `FailedCast` when the JSON does not describe a domain, a metric or a
    /// measure where one of these is expected. The errors of finding and calling each constructor,
    /// with the place in the document.
    pub fn build(&self, registry: &Registry) -> Result<Constructed> {
        self.build_with(registry, &BTreeMap::new())
    }
    /// Build the object that the document describes, with values for its parameters.
    ///
    /// # Errors
    /// `Argument` when a parameter has no value or a value has no parameter. The errors of
    /// [`build`](Document::build).
    pub fn build_with(
        &self,
        registry: &Registry,
        values: &BTreeMap<String, Json>,
    ) -> Result<Constructed> {
        // If there are no values, the document is not copied.
        let filled = match values.is_empty() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.set(values)?),
        };
        let open = filled.parameters();
        if !open.is_empty() {
            return Err(Error::argument(
                open.join("`, `"),
                "no value: state one, such as `--set NAME=1.5`, or find it with `solve`",
            ));
        }
        self.versions.check(registry)?;
        Builder::new(registry).written_for(self.versions.clone()).top(&filled.json)
    }
    /// Build the object that the document describes. A chain that does not state a space starts
    /// from `space`.
    ///
    /// ```
    /// # use opendp_core::{AtomDomain, SymmetricDistance, VectorDomain, Space};
    /// # use opendp_registry::{Document, Registry};
    /// # use opendp_transformations as _;
    /// let rows = VectorDomain::new(AtomDomain::<i32>::default());
    /// let space = Space::new(rows, SymmetricDistance)?;
    /// let document = Document::parse(r#"{"chain": [{"clamp": {"bounds": [0, 9]}}, "sum"]}"#)?;
    /// assert!(document.build(Registry::global()).is_err());
    /// let sum = document.build_on(Registry::global(), &space)?;
    /// assert_eq!(sum.map(&1.into())?, 9);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`build`](Document::build). A parameter without a value gives the error of the
    /// constructor that gets it.
    pub fn build_on(&self, registry: &Registry, space: impl Into<Arg>) -> Result<Constructed> {
        self.versions.check(registry)?;
        let mut builder = Builder::new(registry).written_for(self.versions.clone());
        builder.inside(Some(space.into()), |builder, _| builder.top(&self.json))
    }
    /// Replace some of the parameters by values. The other parameters stay.
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
    /// `Argument` when one of the names in `values` is not a parameter of the document.
    pub fn set(&self, values: &BTreeMap<String, Json>) -> Result<Document> {
        let known = self.parameters();
        if let Some(name) = values.keys().find(|name| !known.contains(name)) {
            let reason = match known.as_slice() {
                [] => "the document has no parameters: write {\"param\": NAME} for a number".into(),
                known => format!(
                    "the document has no such parameter; its parameters are {}",
                    known.join(", ")
                ),
            };
            return Err(Error::argument(name, reason));
        }
        Ok(Document { json: fill(&self.json, values), versions: self.versions.clone() })
    }
}

/// Return the name of a parameter, if the JSON is `{"param": NAME}`.
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
/// Replace each parameter that has a value in `values` by this value.
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
