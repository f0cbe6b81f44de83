//! Writes pipelines in the serialization of OpenDP 0.16.
//!
//! Each link of a chain states its input metric. For its input domain, the link contains a copy of
//! the link before it. So a link contains copies of all links before it, and its length grows with
//! the number of these links. The text of the chain contains every link. So the length of this text
//! grows with the square of the number of links. In the texts that OpenDP itself writes, each link
//! more than doubles the length.

mod spell;

use std::sync::Arc;

use opendp_core::{Arg, Constructed, Domain, Error, Kind, Measure, Metric, Result, TypeName};
use serde_json::{Map, Value as Json, json};

use self::spell::{described, function, known, lacks, plain};
use super::Document;
use super::build::Builder;
use super::node::{join, object_or_empty, repeated, same, text};
use crate::json::short;
use crate::{Entry, Registry};

/// The largest number of members of a list. Each copy of a repeated member counts.
const MOST_MEMBERS: usize = 4096;

impl Document {
    /// Write the pipeline in the serialization of OpenDP 0.16. The Python function `deserialize` of
    /// OpenDP reads the result.
    ///
    /// If OpenDP wrote the document, the document is returned unchanged. When OpenDP reads the
    /// result, OpenDP computes losses with its own maps. The bounds from these maps can be larger
    /// than the bounds from the maps of this library.
    ///
    /// ```
    /// # use opendp_registry::{Document, Registry};
    /// # use opendp_measurements as _;
    /// # use opendp_transformations as _;
    /// let document = Document::parse(r#"{
    ///     "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i64"}}},
    ///               "metric": "symmetric_distance"},
    ///     "chain": ["count", {"laplace": {"scale": 2.0}}]
    /// }"#)?;
    /// let written = document.to_opendp(Registry::global())?;
    /// assert_eq!(written["__function__"], "make_chain_mt");
    /// let read = Document::new(written)?.build(Registry::global())?;
    /// assert_eq!(read.map(&1.into())?, serde_json::json!(0.5));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotImplemented`, with the place in the document, when the document has a constructor, an
    /// argument or a number that OpenDP 0.16 lacks. `Argument` when a list has more than 4096
    /// members, when the document describes only a domain, a metric or a measure, or when a part of
    /// it is a call in the format of OpenDP. The errors of [`build`](Document::build).
    pub fn to_opendp(&self, registry: &Registry) -> Result<Json> {
        let made = self.build(registry)?;
        if self.json.get("__function__").is_some() {
            return Ok(self.json.clone());
        }
        let described = matches!(made.kind(), Kind::Domain | Kind::Metric | Kind::Measure);
        if described && self.json.get("constructor").is_none() {
            let reason = format!(
                "this document is {}, and only a pipeline is converted: write an object with \
                 `space` and `chain`, or a call with `constructor`",
                made.kind().with_article()
            );
            return Err(Error::argument("document", reason));
        }
        let builder = Builder::new(registry).written_for(self.versions.clone());
        Ok(Writer { builder }.node(&self.json, None)?.0)
    }
}

/// The current space of a link. `domain` and `metric` are the domain and the metric of this space,
/// in the JSON of OpenDP.
#[derive(Clone)]
struct Start {
    here: Arg,
    domain: Json,
    metric: Json,
}
struct Writer<'a> {
    builder: Builder<'a>,
}
impl Writer<'_> {
    /// Write a pipeline or a call. Also return the object that the pipeline or the call makes.
    fn node(&mut self, json: &Json, start: Option<&Start>) -> Result<(Json, Constructed)> {
        let Some(object) = json.as_object() else {
            return Err(Error::argument("pipeline", "expected an object"));
        };
        if object.contains_key("__function__") {
            let reason = "a pipeline that is already in the format of OpenDP cannot be a part of \
                          another pipeline: write this part as a call or a chain";
            return Err(Error::argument("__function__", reason));
        }
        if object.contains_key("chain") {
            return self.pipeline(object, start);
        }
        let name = text(object, "constructor")?;
        let none = Map::new();
        let types = object_or_empty(object, "types", &none)?;
        let mut given = object_or_empty(object, "args", &none)?.clone();
        given.extend(types.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.called(name, json, &given, start)
    }
    fn pipeline(
        &mut self,
        object: &Map<String, Json>,
        start: Option<&Start>,
    ) -> Result<(Json, Constructed)> {
        let mut start = match (object.get("space"), start) {
            (Some(space), _) => self.start(space)?,
            (None, Some(start)) => start.clone(),
            (None, None) => return Err(Error::argument("space", "missing")),
        };
        let links = object.get("chain").and_then(Json::as_array);
        let mut whole: Option<(Json, Constructed)> = None;
        for (place, link) in links.into_iter().flatten().enumerate() {
            let name = name_of(link);
            let place = format!("chain link {} {}", place + 1, short(name));
            let (written, made) = self.link(link, &start).map_err(|error| error.at(place))?;
            if let Constructed::Transformation(made) = &made {
                start = Start {
                    here: Arg::Space(made.output().clone()),
                    domain: function(
                        "core",
                        "transformation_output_domain",
                        json!({"this": written}),
                    ),
                    metric: described(&made.output().metric().to_json())?,
                };
            }
            whole = Some(match whole {
                None => (written, made),
                Some((before, first)) => {
                    (chained(before, &first, written, &made), join(Some(first), made)?)
                }
            });
        }
        whole.ok_or_else(|| Error::argument("chain", "expected at least one link"))
    }
    /// Read a space, and write its domain and its metric.
    fn start(&mut self, space: &Json) -> Result<Start> {
        let arg = self.builder.space(space)?;
        let Arg::Pair(domain, metric) = &arg else {
            return Err(Error::argument("space", "expected a domain and a metric"));
        };
        let (domain, metric) = (described(&domain.to_json())?, described(&metric.to_json())?);
        Ok(Start { here: arg, domain, metric })
    }
    fn link(&mut self, link: &Json, start: &Start) -> Result<(Json, Constructed)> {
        let none = Map::new();
        match link {
            Json::String(name) => self.called(name, link, &none, Some(start)),
            Json::Object(object)
                if object.contains_key("constructor") || object.contains_key("chain") =>
            {
                self.node(link, Some(start))
            }
            Json::Object(object) => match object.iter().next() {
                Some((name, Json::Object(given))) => self.called(name, link, given, Some(start)),
                Some((name, _)) => self.called(name, link, &none, Some(start)),
                None => Err(Error::argument("chain", "expected a name")),
            },
            _ => Err(Error::argument("chain", "expected a name or {NAME: {arguments}}")),
        }
    }

    /// Write one call of a constructor.
    fn called(
        &mut self,
        name: &str,
        link: &Json,
        given: &Map<String, Json>,
        start: Option<&Start>,
    ) -> Result<(Json, Constructed)> {
        let here = start.map(|start| start.here.clone());
        let made = match here {
            Some(here) => self.builder.link(link, &here, None).1?,
            None => match self.builder.read(link)? {
                Arg::Made(made) => made,
                _ => return Err(Error::argument(name, "expected a constructor")),
            },
        };
        let entry = self.builder.called.clone();
        let entry = entry.ok_or_else(|| Error::argument(name, "expected a constructor"))?;
        let given = self.builder.current(&entry, given)?;
        let stated =
            match (given.get("input_domain"), given.get("input_metric"), given.get("input")) {
                (Some(domain), Some(metric), _) => {
                    Some(self.start(&json!({"domain": domain, "metric": metric}))?)
                }
                (.., Some(input)) => Some(self.start(input)?),
                _ => None,
            };
        let start = stated.as_ref().or(start);
        let Some(known) = entry.names().find_map(known) else {
            return Err(lacks(name, &format!("constructor `{}`", entry.name())));
        };
        let listed = |key: &str| known.parameters.contains(&key);
        let unknown = given.iter().find(|(key, it)| !listed(key) && !implied(&entry, key, it));
        if let Some((key, _)) = unknown {
            return Err(lacks(name, &format!("argument `{key}` of `{}`", known.name)));
        }
        match &made {
            Constructed::Transformation(made) => {
                known.check(name, &made.input().metric().inner_type())?;
            }
            // The list `known.takes` contains the types that a function accepts, or is empty. If a
            // function has the parameter `output_measure`, this list can contain only metrics, as
            // for `make_private_quantile`. For any other function that makes measurements, this
            // list can contain only measures, as for `make_laplace`.
            Constructed::Measurement(made) if listed("output_measure") => {
                known.check(name, &made.input().metric().inner_type())?;
            }
            Constructed::Measurement(made) => known.check(name, &made.measure().inner_type())?,
            _ => {}
        }
        let mut arguments = Map::new();
        for parameter in &known.parameters {
            if let Some(value) = self.argument(&entry, parameter, &given, start, &made)? {
                arguments.insert((*parameter).to_owned(), value);
            }
        }
        Ok((function(known.module, known.name, Json::Object(arguments)), made))
    }
    /// Write the value of one parameter of OpenDP's function. Return `None` if neither the document
    /// nor a default determines the value.
    fn argument(
        &mut self,
        entry: &Arc<Entry>,
        parameter: &str,
        given: &Map<String, Json>,
        start: Option<&Start>,
        made: &Constructed,
    ) -> Result<Option<Json>> {
        match (parameter, start, made) {
            ("input_domain" | "domain", Some(start), _) => return Ok(Some(start.domain.clone())),
            ("input_metric" | "metric", Some(start), _) => return Ok(Some(start.metric.clone())),
            ("output_measure", _, Constructed::Measurement(made)) => {
                return described(&made.measure().to_json()).map(Some);
            }
            ("output_measure", _, Constructed::Odometer(made)) => {
                return described(&made.measure().to_json()).map(Some);
            }
            _ => {}
        }
        if let Some((_, name)) = entry.generics().find(|(generic, _)| *generic == parameter) {
            return Ok(Some(name.to_string().into()));
        }
        let Some(ours) = entry.parameters().iter().find(|p| p.name == parameter) else {
            return Ok(None);
        };
        let value = match (given.get(parameter), &ours.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => serde_json::from_str(default).unwrap_or_default(),
            (None, None) => return Ok(None),
        };
        let located = |error: Error| error.at(format!("argument `{parameter}`"));
        self.value(&value, &ours.type_name, start).map(Some).map_err(located)
    }
    /// Write a value whose type is `type_name`. The value is a description, a pipeline, or plain
    /// JSON.
    fn value(&mut self, value: &Json, type_name: &TypeName, start: Option<&Start>) -> Result<Json> {
        if let Json::Array(items) = value
            && items.iter().any(is_node)
        {
            let mut written = Vec::new();
            for item in items {
                let (member, times) = repeated(item)?.unwrap_or_else(|| (item.clone(), 1));
                if MOST_MEMBERS < written.len().saturating_add(times) {
                    let reason = format!("expected at most {MOST_MEMBERS} members");
                    return Err(Error::argument("repeat", reason));
                }
                let node = self.node(&member, start)?.0;
                written.extend(std::iter::repeat_n(node, times));
            }
            return Ok(Json::Array(written));
        }
        if is_node(value) {
            return self.node(value, start).map(|(written, _)| written);
        }
        match self.builder.read(value)? {
            Arg::Made(Constructed::Domain(made)) => described(&made.to_json()),
            Arg::Made(Constructed::Metric(made)) => described(&made.to_json()),
            Arg::Made(Constructed::Measure(made)) => described(&made.to_json()),
            Arg::Made(made) => {
                let what = format!("form for {} as an argument", made.kind().with_article());
                Err(lacks(type_name.to_string().as_str(), &what))
            }
            _ => plain(value, type_name),
        }
    }
}
/// Return whether JSON describes a pipeline or a call.
fn is_node(json: &Json) -> bool {
    let keys = ["chain", "constructor", "measurement", "__function__"];
    json.as_object().is_some_and(|object| keys.iter().any(|key| object.contains_key(*key)))
}
/// Return whether an argument can be left out if the function of OpenDP lacks the parameter.
/// Default values, type arguments, null, and the input space can be left out.
fn implied(entry: &Entry, key: &str, value: &Json) -> bool {
    let generic = entry.generics().any(|(name, _)| name == key);
    let default =
        entry.parameters().iter().find(|p| p.name == key).and_then(|p| p.default.as_deref());
    let default = default.and_then(|default| serde_json::from_str::<Json>(default).ok());
    generic || key == "input" || value.is_null() || default.is_some_and(|it| same(&it, value))
}
fn name_of(link: &Json) -> &str {
    let name = link.as_str().or_else(|| link.get("constructor")?.as_str());
    name.or_else(|| Some(link.as_object()?.keys().next()?.as_str())).unwrap_or("?")
}
/// Write the chain of two parts as one call.
fn chained(before: Json, first: &Constructed, next: Json, last: &Constructed) -> Json {
    let (name, arguments) = match (first, last) {
        (Constructed::Transformation(_), Constructed::Transformation(_)) => {
            ("make_chain_tt", json!({"transformation1": next, "transformation0": before}))
        }
        (Constructed::Transformation(_), _) => {
            ("make_chain_mt", json!({"measurement1": next, "transformation0": before}))
        }
        _ => ("make_chain_pm", json!({"postprocess1": next, "measurement0": before})),
    };
    function("combinators", name, arguments)
}
