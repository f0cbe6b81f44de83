//! The reasons why a signature does not fit a request.

use opendp_core::{Arg, Args, Constructed, TypeName};
use serde_json::Value as Json;

use crate::{Entry, Request};

impl Entry {
    /// Return the reason why a request does not fit this signature. Return `None` if the request
    /// can fit.
    pub(crate) fn refuses(&self, request: &Request, args: &Args) -> Option<Refusal> {
        for (i, (name, wanted)) in request.types.iter().enumerate() {
            let found = match name {
                Some(name) => self.generics.iter().find(|generic| generic.name == name),
                None => self.generics.get(i),
            };
            let label = name.clone().unwrap_or_else(|| format!("type argument {}", i + 1));
            match found {
                None => return Some(Refusal::NoGeneric(label)),
                Some(found) if found.type_name != *wanted => {
                    return Some(Refusal::Type(label, found.type_name.clone()));
                }
                Some(_) => {}
            }
        }
        for (name, arg) in args.iter() {
            if let Some(parameter) = self.parameters.iter().find(|p| p.name == name) {
                if !parameter.accepts(arg) {
                    return Some(Refusal::Argument(name.to_owned(), parameter.type_name.clone()));
                }
                continue;
            }
            let Some(generic) = self.generics.iter().find(|generic| generic.name == name) else {
                return Some(Refusal::NoParameter(name.to_owned()));
            };
            if !generic.means(arg) {
                return Some(Refusal::Type(name.to_owned(), generic.type_name.clone()));
            }
        }
        None
    }
    pub(crate) fn decodes(&self, args: &Args) -> bool {
        self.parameters.iter().all(|parameter| {
            args.get(&parameter.name).is_none_or(|arg| parameter.decodes(arg).is_ok())
        })
    }
    pub(crate) fn names_type(&self, name: &str) -> bool {
        self.generics.iter().any(|generic| generic.type_name.to_string() == name)
    }
}
impl crate::entry::Generic {
    /// Return whether an argument states the type of this type parameter. The argument can be the
    /// name of the type, or a domain, a metric or a measure of the type. It can also be null, if
    /// the type parameter has a default.
    fn means(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Json(Json::Null) => self.default.is_some(),
            Arg::Json(Json::String(text)) => {
                text.parse::<TypeName>().is_ok_and(|name| name == self.type_name)
            }
            Arg::Made(Constructed::Domain(domain)) => domain.inner_type() == self.type_name,
            Arg::Made(Constructed::Metric(metric)) => metric.inner_type() == self.type_name,
            Arg::Made(Constructed::Measure(measure)) => measure.inner_type() == self.type_name,
            _ => false,
        }
    }
}
/// The reason why a signature is excluded.
pub(crate) enum Refusal {
    /// The signature has no type parameter of this name.
    NoGeneric(String),
    /// The type parameter of this name has another type in the request. The second field is the
    /// type in the signature.
    Type(String, TypeName),
    /// The signature has no parameter of this name.
    NoParameter(String),
    /// The kind of an argument does not fit the parameter. The second field is the type of the
    /// parameter.
    Argument(String, TypeName),
}
impl Refusal {
    /// Return the expected type, if `name` is the argument or the type parameter that does not fit.
    pub(crate) fn at(&self, name: &str) -> Option<&TypeName> {
        match self {
            Refusal::Argument(argument, expected) | Refusal::Type(argument, expected)
                if argument == name =>
            {
                Some(expected)
            }
            _ => None,
        }
    }
}
