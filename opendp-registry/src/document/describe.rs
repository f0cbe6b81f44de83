//! Reads the descriptions of domains, metrics, measures and spaces in documents.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Arg, Constructed, Error, Kind, Result, TypeName};
use serde_json::{Map, Value as Json};

use super::build::Builder;
use super::node::only;

impl Builder<'_> {
    pub(super) fn space(&mut self, json: &Json) -> Result<Arg> {
        let Some(object) = json.as_object() else {
            return Err(Error::argument("space", "expected an object with `domain` and `metric`"));
        };
        only(object, &["domain", "metric"])?;
        let part = |key: &str| {
            let such = match key {
                "domain" => "{\"vector_domain\": {\"atom_domain\": {\"T\": \"f64\"}}}",
                _ => "\"symmetric_distance\"",
            };
            let missing = || Error::argument(key, format!("missing, write one, such as {such}"));
            object.get(key).ok_or_else(missing)
        };
        let domain = self.domain(part("domain")?).map_err(|error| error.at("domain"))?;
        let metric = self
            .metric(part("metric")?, object.get("domain"))
            .map_err(|error| error.at("metric"))?;
        Ok(Arg::Pair(domain, metric))
    }
    pub(super) fn domain(&mut self, json: &Json) -> Result<AnyDomain> {
        self.descriptor(json, None)?.domain()
    }
    /// Read a metric. If the JSON does not state the type of the metric's numbers, use the type of
    /// the domain's atoms.
    pub(super) fn metric(&mut self, json: &Json, domain: Option<&Json>) -> Result<AnyMetric> {
        let made = match self.descriptor(json, None) {
            Err(Error::Ambiguous(message)) => {
                let written = match json {
                    Json::String(name) => Some((name.as_str(), Map::new())),
                    Json::Object(object) => {
                        self.descriptor_call(object).map(|(name, args)| (name, args.clone()))
                    }
                    _ => None,
                };
                match (written, domain.and_then(atom)) {
                    (Some((name, mut args)), Some(atom))
                        if args.get("T").is_none_or(Json::is_null) =>
                    {
                        args.insert("T".to_owned(), atom.into());
                        self.call(name, &args, None)
                    }
                    _ => Err(Error::Ambiguous(message)),
                }
            }
            made => made,
        };
        made?.metric()
    }
    /// Read a domain, a metric or a measure. The JSON is the name of a function, with or without
    /// arguments, or the name of a type. If the name of the parameter is also the name of a
    /// function, the JSON can be the arguments of this function alone.
    pub(super) fn descriptor(
        &mut self,
        json: &Json,
        parameter: Option<&str>,
    ) -> Result<Constructed> {
        match json {
            Json::String(name) if self.registry.knows(name) => self.call(name, &Map::new(), None),
            Json::String(name) => match name.parse::<TypeName>() {
                Ok(parsed) => self.registry.of_type(&parsed),
                Err(_) => Err(self.registry.family(name).err().unwrap_or_else(not_described)),
            },
            Json::Object(object) => {
                if let Some((name, args)) = self.descriptor_call(object) {
                    return self.call(name, args, None);
                }
                if let Arg::Made(made) = self.read(json)? {
                    return Ok(made);
                }
                match (parameter, object.keys().next()) {
                    (Some(name), _) if self.registry.knows(name) => self.call(name, object, None),
                    (_, Some(name)) if object.len() == 1 => {
                        Err(self.registry.family(name).err().unwrap_or_else(not_described))
                    }
                    _ => Err(not_described()),
                }
            }
            _ => Err(not_described()),
        }
    }
    /// Read `{NAME: {arguments}}`, if the name belongs to a domain, a metric or a measure.
    pub(super) fn descriptor_call<'j>(
        &self,
        object: &'j Map<String, Json>,
    ) -> Option<(&'j str, &'j Map<String, Json>)> {
        let (name, args) = object.iter().next().filter(|_| object.len() == 1)?;
        let kind = self.registry.kind(name)?;
        let describes = matches!(kind, Kind::Domain | Kind::Metric | Kind::Measure);
        describes.then_some((name.as_str(), args.as_object()?))
    }
}

#[cold]
fn not_described() -> Error {
    Error::FailedCast(
        "expected a domain, a metric or a measure: its name, {NAME: {arguments}}, or its type"
            .into(),
    )
}
/// Return the first atomic type in the description of a domain.
fn atom(json: &Json) -> Option<String> {
    match json {
        Json::Object(object) => match object.get("T") {
            Some(Json::String(name)) => Some(name.clone()),
            _ => object.values().find_map(atom),
        },
        Json::String(name) => {
            let mut name = name.parse::<TypeName>().ok()?;
            while let Some(inner) = name.args().first() {
                name = inner.clone();
            }
            Some(name.to_string())
        }
        _ => None,
    }
}
