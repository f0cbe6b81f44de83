//! From the JSON of a document to what it describes.

use std::collections::HashMap;

use opendp_core::{Arg, Args, Constructed, Error, Kind, Result, TypeName};
use serde_json::{Map, Value as Json};

use super::foreign;
use crate::{Entry, Registry};

/// The most links of a chain: each adds a frame to the stack of a run.
const MAX_LINKS: usize = 256;

/// The most members of a list that `repeat` may make.
const MAX_REPEAT: usize = 1_000_000;

/// Builds one document.
pub(super) struct Builder<'a> {
    pub(super) registry: &'a Registry,
    /// The space that the chain around the current node has reached.
    here: Vec<Arg>,
    /// What repeated nodes of a foreign document have already made.
    pub(super) made: HashMap<String, Constructed>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(registry: &'a Registry) -> Self {
        Builder { registry, here: Vec::new(), made: HashMap::new() }
    }
    /// The space that the chain around the current node has reached.
    pub(super) fn here(&self) -> Option<Arg> {
        self.here.last().cloned()
    }
    /// Build the whole document.
    pub(super) fn top(&mut self, json: &Json) -> Result<Constructed> {
        match self.read(json)? {
            Arg::Made(made) => Ok(made),
            _ => Err(Error::argument(
                "pipeline",
                "expected an object with `space` and `chain`, with `constructor`, or with \
                 `__function__`",
            )),
        }
    }
    /// Read a node: what describes an object is built, anything else stays as it is.
    pub(super) fn read(&mut self, json: &Json) -> Result<Arg> {
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
            Json::Array(items) => {
                let mut read: Vec<Arg> = Vec::with_capacity(items.len());
                for item in items {
                    match repeated(item)? {
                        None => read.push(self.read(item)?),
                        Some((member, times)) => {
                            if MAX_REPEAT < read.len() + times {
                                let reason = format!("expected at most {MAX_REPEAT} in all");
                                return Err(Error::argument("repeat", reason));
                            }
                            let member = self.read(&member)?;
                            read.extend(std::iter::repeat_n(member, times));
                        }
                    }
                }
                let plain = read.iter().all(|item| matches!(item, Arg::Json(_)));
                Ok(if plain { Arg::Json(json.clone()) } else { Arg::List(read) })
            }
            _ => Ok(Arg::Json(json.clone())),
        }
    }

    /// `{"constructor": NAME, "types": {...}, "args": {...}}`
    fn constructor(&mut self, object: &Map<String, Json>) -> Result<Constructed> {
        only(object, &["constructor", "types", "args", "version"])?;
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
        let here = self.here.last().cloned();
        self.call(&request, object_or_empty(object, "args", &none)?, here)
    }

    /// `{"space": {"domain": ..., "metric": ...}, "chain": [...]}`
    fn pipeline(&mut self, object: &Map<String, Json>) -> Result<Constructed> {
        only(object, &["space", "chain", "version"])?;
        let start = match object.get("space") {
            Some(space) => self.space(space).map_err(|error| error.at("space"))?,
            None => self.here.last().cloned().ok_or_else(|| {
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
        for (i, link) in links.iter().enumerate() {
            let (name, next) = self.link(link, &start, chain.as_ref());
            let place = format!("chain link {} `{name}`", i + 1);
            let joined = next.and_then(|next| join(chain.take(), next));
            chain = Some(joined.map_err(|error| error.at(place))?);
        }
        chain.ok_or_else(|| Error::argument("chain", "expected at least one link"))
    }
    /// Build one link on the space that the chain has reached, and tell its name.
    fn link<'j>(
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
                            _ => Err(Error::argument(name, "expected an object of arguments")),
                        });
                        (name, built)
                    }
                    _ => ("?", Err(Error::argument("chain", "expected {NAME: {arguments}}"))),
                }
            }
            _ => ("?", Err(Error::argument("chain", "expected a name or {NAME: {arguments}}"))),
        }
    }
    /// Do something while chains that name no space of their own start from `here`.
    pub(super) fn inside(
        &mut self,
        here: Option<Arg>,
        run: impl FnOnce(&mut Self, Option<Arg>) -> Result<Constructed>,
    ) -> Result<Constructed> {
        let depth = self.here.len();
        self.here.extend(here.clone());
        let made = run(self, here);
        self.here.truncate(depth);
        made
    }

    /// Call a constructor. `input` is what its parameter of this name takes unless it is given.
    pub(super) fn call(
        &mut self,
        request: &str,
        given: &Map<String, Json>,
        input: Option<Arg>,
    ) -> Result<Constructed> {
        let name = request.split('<').next().unwrap_or(request);
        let family = self.registry.family(name)?;
        let entries = &family.entries;
        let has = |parameter: &str| entries.iter().any(|e| e.has_parameter(parameter));
        let mut args = Args::new();
        let mut pair = (None, None);
        for (key, value) in given {
            let arg = if has(key) {
                self.argument(entries, key, value)
            } else if key == "input_domain" && has("input") {
                pair.0 = Some(self.domain(value).map_err(|error| error.at(key))?);
                continue;
            } else if key == "input_metric" && has("input") {
                pair.1 =
                    Some(self.metric(value, given.get("input_domain")).map_err(|e| e.at(key))?);
                continue;
            } else if entries.iter().any(|e| e.generics().any(|(generic, _)| generic == key)) {
                match value {
                    Json::Null => continue,
                    Json::String(text) if !self.registry.knows(text) => {
                        Ok(Arg::Json(value.clone()))
                    }
                    _ => self.descriptor(value, None).map(Arg::Made),
                }
            } else if let Some(parameter) = self.descriptor_parameter(entries, given, key) {
                let whole = Json::Object([(key.clone(), value.clone())].into_iter().collect());
                args = args.with(&parameter, self.descriptor(&whole, None)?);
                continue;
            } else {
                Ok(Arg::Json(value.clone()))
            };
            args = args.with(key, arg.map_err(|error| error.at(format!("argument `{key}`")))?);
        }
        match (pair, input) {
            ((Some(domain), Some(metric)), _) => {
                args = args.with("input", Arg::Pair(domain, metric))
            }
            ((None, None), Some(input)) if has("input") && args.get("input").is_none() => {
                args = args.with("input", input);
            }
            ((None, None), _) => {}
            _ => return Err(Error::argument("input", "expected both a domain and a metric")),
        }
        self.registry.make(request, &args)
    }
    /// Read the argument of a parameter. Where no signature takes JSON, it describes an object.
    fn argument(
        &mut self,
        entries: &[std::sync::Arc<Entry>],
        key: &str,
        value: &Json,
    ) -> Result<Arg> {
        if matches!(key, "input" | "output") && value.get("domain").is_some() {
            return self.space(value);
        }
        let json = Arg::Json(value.clone());
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
    /// The parameter that `{"vector_domain": {"option_domain": {...}}}` means: the only one that is
    /// a description and is not given.
    fn descriptor_parameter(
        &self,
        entries: &[std::sync::Arc<Entry>],
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

/// Append a link to a chain.
pub(super) fn join(chain: Option<Constructed>, next: Constructed) -> Result<Constructed> {
    match (chain, next) {
        (
            None,
            next @ (Constructed::Transformation(_)
            | Constructed::Measurement(_)
            | Constructed::Odometer(_)),
        ) => Ok(next),
        (Some(Constructed::Transformation(t)), Constructed::Transformation(next)) => {
            t.then(|_| Ok(next)).map(Constructed::from)
        }
        (Some(Constructed::Transformation(t)), Constructed::Measurement(next)) => {
            t.then(|_| Ok(next)).map(Constructed::from)
        }
        (Some(Constructed::Measurement(m)), Constructed::Function(next)) => {
            m.then(|| Ok(next)).map(Constructed::from)
        }
        (chain, next) => Err(cannot_follow(next.kind(), chain.map(|chain| chain.kind()))),
    }
}
#[cold]
fn cannot_follow(next: Kind, chain: Option<Kind>) -> Error {
    let before = chain.map_or("the space", Kind::with_article);
    Error::argument("chain", format!("{} cannot follow {before}", next.with_article()))
}

impl Entry {
    fn has_parameter(&self, name: &str) -> bool {
        self.parameters().iter().any(|parameter| parameter.name == name)
    }
    fn takes(&self, name: &str, arg: &Arg) -> bool {
        self.parameters().iter().any(|parameter| parameter.name == name && parameter.accepts(arg))
    }
}

/// Split `{"repeat": N, ...}` in a list into its member, which is the rest or stands under
/// `measurement`, and how often it counts.
fn repeated(item: &Json) -> Result<Option<(Json, usize)>> {
    let Some((object, times)) = item.as_object().and_then(|o| Some((o, o.get("repeat")?))) else {
        return Ok(None);
    };
    let members = ["measurement", "chain", "constructor", "__function__"];
    if !members.iter().any(|key| object.contains_key(*key)) {
        return Ok(None);
    }
    let Some(times) = times.as_u64().and_then(|times| usize::try_from(times).ok()) else {
        let reason = format!("expected a number of times, found {times}");
        return Err(Error::argument("repeat", reason));
    };
    let mut rest = object.clone();
    rest.remove("repeat");
    let member = match rest.get("measurement") {
        Some(member) => {
            only(&rest, &["measurement"])?;
            member.clone()
        }
        None => Json::Object(rest),
    };
    Ok(Some((member, times)))
}
/// Check that an object has no other keys.
pub(super) fn only(object: &Map<String, Json>, keys: &[&str]) -> Result<()> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let short: String = key.chars().take(60).collect();
            Err(Error::argument(
                short,
                format!("unknown here, expected one of `{}`", keys.join("`, `")),
            ))
        }
    }
}
pub(super) fn text<'j>(object: &'j Map<String, Json>, key: &str) -> Result<&'j str> {
    let name = object.get(key).and_then(Json::as_str);
    name.ok_or_else(|| Error::argument(key, "expected a string"))
}
pub(super) fn object_or_empty<'j>(
    object: &'j Map<String, Json>,
    key: &str,
    none: &'j Map<String, Json>,
) -> Result<&'j Map<String, Json>> {
    match object.get(key) {
        None | Some(Json::Null) => Ok(none),
        Some(Json::Object(inner)) => Ok(inner),
        Some(_) => Err(Error::argument(key, "expected an object")),
    }
}
