//! Builds the objects that the JSON of a document describes.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Arg, Args, Constructed, Error, Kind, Result, TypeName};
use serde_json::{Map, Value as Json};

use super::foreign::{self, Fingerprint};
use super::here::Here;
use super::migrate::{Versions, migrated};
use super::node::{
    cannot_follow, join, no_document, object_or_empty, on_space, only, repeated, text,
};
use super::weight::{self, MAX_LINKS, Weight};
use crate::json::short;
use crate::{Entry, Registry};

/// Builds one document from its JSON.
pub(super) struct Builder<'a> {
    pub(super) registry: &'a Registry,
    pub(super) here: Here,
    /// The objects built from the nodes of a document that OpenDP 0.16 wrote. Equal nodes share one
    /// object, if the object does not depend on the current space.
    pub(super) made: HashMap<Fingerprint, (Constructed, Weight)>,
    /// The weight of the node that was read last. A [`Weight`] is a cost that must stay within
    /// limits.
    pub(super) weight: Weight,
    /// The number of links that were built so far.
    links: usize,
    /// The versions that the document was written for.
    versions: Versions,
    /// The signature of the last call that ended.
    pub(super) called: Option<Arc<Entry>>,
}
const BY_NAME: &str =
    "expected an object with the names of arguments as keys, such as {\"bounds\": [0, 1]}";
const ONE_MEASURE: &str = "convert one measure, as by \"pureDP_to_zCDP\" or \"zCDP_to_approxDP\"";
const ONE_NAME: &str =
    "expected {NAME: {arguments}} with one name; write each step as a separate object";

impl<'a> Builder<'a> {
    pub(super) fn new(registry: &'a Registry) -> Self {
        let (here, made) = (Here::default(), HashMap::new());
        let (weight, versions) = (Weight::default(), Versions::default());
        Builder { registry, here, made, weight, links: 0, versions, called: None }
    }
    /// Set the versions that the document was written for.
    pub(super) fn written_for(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }
    /// Return the arguments of a call in their newest form.
    pub(super) fn current(
        &self,
        entry: &Entry,
        given: &Map<String, Json>,
    ) -> Result<Map<String, Json>> {
        migrated(self.registry, &self.versions, Some(entry), given).map(Cow::into_owned)
    }
    pub(super) fn top(&mut self, json: &Json) -> Result<Constructed> {
        match self.read(json)? {
            Arg::Made(made) => Ok(made),
            _ => Err(no_document(json)),
        }
    }
    /// Read a node. If the node describes an object, build the object. Otherwise keep the node as
    /// JSON.
    pub(super) fn read(&mut self, json: &Json) -> Result<Arg> {
        self.weight = Weight::default();
        match json {
            Json::Object(object) => {
                if object.contains_key("__function__") {
                    return foreign::call(self, object).map(Arg::Made);
                }
                if let Some(items) = object.get("__tuple__").filter(|_| object.len() == 1) {
                    return self.read(items);
                }
                if object.contains_key("constructor") {
                    return self.constructor(object).map(Arg::Made);
                }
                if object.contains_key("chain") {
                    return self.pipeline(object).map(Arg::Made);
                }
                match self.descriptor_call(object) {
                    Some((name, args)) => self.call(name, args, None).map(Arg::Made),
                    None => Ok(Arg::Json(json.clone())),
                }
            }
            Json::Array(items) => self.list(json, items),
            _ => Ok(Arg::Json(json.clone())),
        }
    }
    /// Read a list. In a list, `repeat` states the number of copies of a member.
    fn list(&mut self, json: &Json, items: &[Json]) -> Result<Arg> {
        // An array of data is copied as a whole. Its items are not decoded one by one.
        if items.iter().all(|item| self.describes_nothing(item)) {
            return Ok(Arg::Json(json.clone()));
        }
        let mut read: Vec<Arg> = Vec::with_capacity(items.len());
        let mut weight = Weight::default();
        for item in items {
            let (arg, times) = match repeated(item)? {
                None => (self.read(item)?, 1),
                Some((member, times)) => (super::node::repeatable(self.read(&member)?)?, times),
            };
            weight = weight.and_members(self.weight, times)?;
            read.extend(std::iter::repeat_n(arg, times));
        }
        self.weight = weight;
        let plain = read.iter().all(|item| matches!(item, Arg::Json(_)));
        Ok(if plain { Arg::Json(json.clone()) } else { Arg::List(read) })
    }

    /// Return whether a node describes no object. Such a node stays as it is.
    fn describes_nothing(&self, json: &Json) -> bool {
        const MEANING: [&str; 5] =
            ["__function__", "__tuple__", "constructor", "chain", "measurement"];
        match json {
            Json::Array(items) => items.iter().all(|item| self.describes_nothing(item)),
            Json::Object(object) => {
                !MEANING.iter().any(|key| object.contains_key(*key))
                    && self.descriptor_call(object).is_none()
            }
            _ => true,
        }
    }
    /// Read `{"constructor": NAME, "types": {...}, "args": {...}}`.
    fn constructor(&mut self, object: &Map<String, Json>) -> Result<Constructed> {
        only(object, &["constructor", "types", "args", "version", "packages"])?;
        self.versions.check_inner(object)?;
        let name = text(object, "constructor")?;
        let (none, types) = (Map::new(), object.get("types"));
        let mut request = name.to_owned();
        match types {
            None | Some(Json::Null) => {}
            Some(Json::Object(types)) => {
                let list = types.iter().map(|(generic, value)| match value.as_str() {
                    Some(value) => Ok(format!("{generic}={}", value.parse::<TypeName>()?)),
                    None => Err(Error::argument(generic, "expected the name of a type")),
                });
                let list = list.collect::<Result<Vec<_>>>()?;
                if !list.is_empty() {
                    request = format!("{name}<{}>", list.join(", "));
                }
            }
            Some(_) => return Err(Error::argument("types", "expected an object of type names")),
        }
        let here = self.here();
        self.call(&request, object_or_empty(object, "args", &none)?, here)
    }

    /// Read `{"space": {"domain": ..., "metric": ...}, "chain": [...]}`.
    fn pipeline(&mut self, object: &Map<String, Json>) -> Result<Constructed> {
        only(object, &["space", "chain", "version", "packages"])?;
        self.versions.check_inner(object)?;
        let space = object.get("space");
        let start = match space {
            Some(space) => self.space(space).map_err(|error| error.at("space"))?,
            None => self.here().ok_or_else(|| {
                Error::argument("space", "missing, expected an object with `domain` and `metric`")
            })?,
        };
        let Some(Json::Array(links)) = object.get("chain") else {
            return Err(Error::argument("chain", "expected an array of links"));
        };
        if links.is_empty() || MAX_LINKS < links.len() {
            let reason = format!("expected from 1 to {MAX_LINKS} links, found {}", links.len());
            return Err(Error::argument("chain", reason));
        }
        let mut chain: Option<Constructed> = None;
        let mut weight = Weight::default();
        for (i, link) in links.iter().enumerate() {
            self.weight = weight;
            let (name, next) = self.link(link, &start, chain.as_ref());
            let place = format!("chain link {} {}", i + 1, short(name));
            let joined = next.and_then(|next| {
                weight = weight.then(self.weight)?;
                if i == 0 && space.is_some() {
                    on_space(&start, &next)?;
                }
                join(chain.take(), next)
            });
            chain = Some(joined.map_err(|error| error.at(place))?);
        }
        self.weight = weight;
        chain.ok_or_else(|| Error::argument("chain", "expected at least one link"))
    }
    /// Build the link after `chain`. If `chain` is `None`, build the first link, which starts from
    /// the space `start`. Also return the name of the link.
    pub(super) fn link<'j>(
        &mut self,
        link: &'j Json,
        start: &Arg,
        chain: Option<&Constructed>,
    ) -> (&'j str, Result<Constructed>) {
        let here = match chain {
            None => Some(start.clone()),
            Some(Constructed::Transformation(t)) => Some(Arg::Space(t.output().clone())),
            Some(_) => None,
        };
        let none = Map::new();
        let name = match link {
            Json::String(name) => Some(name),
            Json::Object(object) if object.len() == 1 => object.keys().next(),
            _ => None,
        };
        if let (None, Some(name), Some(chain)) = (&here, name, chain)
            && let Some(kind) = self.registry.kind(name)
            && kind != Kind::Function
        {
            return (name, Err(cannot_follow(kind, Some(chain.kind()))));
        }
        match link {
            Json::String(name) => {
                (name, self.inside(here, |this, here| this.call(name, &none, here)))
            }
            Json::Object(object) => {
                if object.contains_key("constructor") || object.contains_key("chain") {
                    let built = self.inside(here, |this, _| match this.read(link)? {
                        Arg::Made(made) => Ok(made),
                        _ => Err(Error::argument("chain", "expected a link")),
                    });
                    let name = object.get("constructor").and_then(Json::as_str);
                    return (name.unwrap_or("chain"), built);
                }
                let mut pairs = object.iter();
                match (pairs.next(), pairs.next()) {
                    (Some((name, args)), None) => {
                        let built = self.inside(here, |this, here| match args {
                            Json::Object(args) => this.call(name, args, here),
                            Json::Null => this.call(name, &none, here),
                            _ => Err(Error::argument(name, BY_NAME)),
                        });
                        (name, built)
                    }
                    _ => ("?", Err(Error::argument("chain", ONE_NAME))),
                }
            }
            _ => ("?", Err(Error::argument("chain", "expected a name or {NAME: {arguments}}"))),
        }
    }
    /// Call a constructor. If the constructor has a parameter `input` and `given` has no input
    /// space, pass `input` as this argument.
    pub(super) fn call(
        &mut self,
        request: &str,
        given: &Map<String, Json>,
        input: Option<Arg>,
    ) -> Result<Constructed> {
        let name = request.split('<').next().unwrap_or(request);
        let family = self.registry.family(name)?;
        let entries = &family.entries;
        let first = entries.first().map(|entry| &**entry);
        let given = migrated(self.registry, &self.versions, first, given)?;
        let given = &*given;
        let mut call = Call { entries, given, args: Args::new(), space: (None, None) };
        let mut weight = Weight::default();
        for (key, value) in given {
            self.weight = Weight::default();
            let located = |error: Error| error.at(format!("argument {}", short(key)));
            self.parameter(&mut call, key, value).map_err(located)?;
            weight = weight.beside(self.weight)?;
        }
        match (call.space, input) {
            ((Some(_), _) | (_, Some(_)), _) if given.contains_key("input") => {
                let reason = "state the space once: as `input`, or as `input_domain` and \
                              `input_metric`";
                return Err(Error::argument("input", reason));
            }
            ((Some(domain), Some(metric)), _) => {
                call.args = call.args.with("input", Arg::Pair(domain, metric));
            }
            ((None, None), Some(here)) if has(entries, "input") && !given.contains_key("input") => {
                call.args = call.args.with("input", here);
            }
            ((None, None), _) => {}
            _ => return Err(Error::argument("input", "expected both a domain and a metric")),
        }
        let kind = entries.first().map(|entry| entry.kind());
        if !matches!(kind, Some(Kind::Domain | Kind::Metric | Kind::Measure)) {
            weight = weight.link()?;
            self.links = weight::one_more(self.links)?;
        }
        self.weight = weight;
        let entry = self.registry.resolve(request, &call.args)?;
        let made = entry.construct(&call.args).map_err(|error| match error.kind() {
            "MeasureMismatch" => error.at(ONE_MEASURE),
            _ => error,
        });
        self.called = Some(entry);
        made
    }
    /// Read one argument of a call.
    fn parameter(&mut self, call: &mut Call<'_>, key: &str, value: &Json) -> Result<()> {
        let entries = call.entries;
        let generic = || entries.iter().any(|e| e.generics().any(|(generic, _)| generic == key));
        let arg = if has(entries, key) {
            self.argument(entries, key, value)?
        } else if key == "input_domain" && has(entries, "input") {
            call.space.0 = Some(self.domain(value)?);
            return Ok(());
        } else if key == "input_metric" && has(entries, "input") {
            call.space.1 = Some(self.metric(value, call.given.get("input_domain"))?);
            return Ok(());
        } else if generic() {
            match value {
                Json::Null => return Ok(()),
                Json::String(text) if !self.registry.knows(text) => Arg::Json(value.clone()),
                _ => Arg::Made(self.descriptor(value, None)?),
            }
        } else if let Some(parameter) = self.descriptor_parameter(entries, call.given, key) {
            let whole = Json::Object([(key.to_owned(), value.clone())].into_iter().collect());
            let made = self.descriptor(&whole, None)?;
            call.with(&parameter, made.into());
            return Ok(());
        } else {
            Arg::Json(value.clone())
        };
        call.with(key, arg);
        Ok(())
    }
    /// Read the argument of a parameter. If no signature takes JSON for this parameter, build the
    /// object that the argument describes.
    fn argument(&mut self, entries: &[Arc<Entry>], key: &str, value: &Json) -> Result<Arg> {
        if matches!(key, "input" | "output") && value.get("domain").is_some() {
            return self.space(value);
        }
        let json = Arg::Json(outline(value));
        if entries.iter().any(|entry| entry.takes(key, &json)) {
            return self.read(value);
        }
        match (self.read(value)?, value) {
            (Arg::Json(_), Json::String(_) | Json::Object(_)) => {
                self.descriptor(value, Some(key)).map(Arg::Made)
            }
            (read, _) => Ok(read),
        }
    }
    /// Find the parameter for a description that does not name its parameter, as in
    /// `{"vector_domain": {"option_domain": {...}}}`. Return the first parameter that has no
    /// argument in the call and does not accept null.
    fn descriptor_parameter(
        &self,
        entries: &[Arc<Entry>],
        given: &Map<String, Json>,
        key: &str,
    ) -> Option<String> {
        let kind = self.registry.kind(key)?;
        if !matches!(kind, Kind::Domain | Kind::Metric | Kind::Measure) {
            return None;
        }
        let first = entries.first()?;
        let open =
            |name: &str| !given.contains_key(name) && !first.takes(name, &Arg::Json(Json::Null));
        first.parameters().iter().map(|p| p.name.to_string()).find(|name| open(name))
    }
}

/// The state of a call while its arguments are read.
struct Call<'c> {
    entries: &'c [Arc<Entry>],
    given: &'c Map<String, Json>,
    args: Args,
    /// The values of `input_domain` and `input_metric`.
    space: (Option<AnyDomain>, Option<AnyMetric>),
}
impl Call<'_> {
    fn with(&mut self, name: &str, arg: Arg) {
        self.args = std::mem::take(&mut self.args).with(name, arg);
    }
}
/// Shorten an array or an object to at most one item. The kind of the value stays the same, and an
/// empty value stays empty. Whether a parameter accepts a value depends only on two facts: the JSON
/// kind of the value, and whether the value is empty. So this short form is enough for the check.
fn outline(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().take(1).map(|_| Json::Null).collect(),
        Json::Object(object) => {
            object.keys().take(1).map(|_| (String::new(), Json::Null)).collect()
        }
        plain => plain.clone(),
    }
}
/// Return whether a signature has a parameter with this name.
pub(super) fn has(entries: &[Arc<Entry>], name: &str) -> bool {
    entries.iter().any(|entry| entry.parameters().iter().any(|p| p.name == name))
}
impl Entry {
    fn takes(&self, name: &str, arg: &Arg) -> bool {
        self.parameters().iter().any(|parameter| parameter.name == name && parameter.accepts(arg))
    }
}
