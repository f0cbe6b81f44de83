//! Builds objects from the names of types, and finds JSON arguments that can select a signature.

use std::{collections::BTreeSet, sync::Arc};

use opendp_core::{Arg, Args, Constructed, Error, Kind, Result, TypeName};
use serde_json::Value as Json;

use crate::explain::nearest;
use crate::{Entry, Registry};

impl Registry {
    /// Make a domain, a metric or a measure from the name of its type alone.
    pub(crate) fn of_type(&self, name: &TypeName) -> Result<Constructed> {
        let Some(entry) = self.describing(name) else {
            let kinds = [Kind::Domain, Kind::Metric, Kind::Measure];
            let known = kinds.iter().flat_map(|kind| self.of_kind(*kind));
            let names: BTreeSet<String> = known
                .flat_map(|entry| entry.names().map(str::to_owned).collect::<Vec<_>>())
                .collect();
            let meant = nearest(&name.to_string(), &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            // The name of a third party's type has a prefix.
            let links = match name.head().contains("::") {
                true => {
                    ". A program links only the crates that its code names: `use my_crate as _;`"
                }
                false => "",
            };
            return Err(Error::TypeParse {
                text: name.to_string(),
                reason: format!(
                    "no domain, metric or measure of this type is registered{meant}{links}"
                ),
            });
        };
        let mut args = Args::new();
        for parameter in entry.parameters() {
            if parameter.default.is_none() {
                args = args.with(&parameter.name, self.of_type(&parameter.type_name)?);
            }
        }
        entry.construct(&args)
    }
    /// An argument for a type parameter can be an object, which states its own type. Check that
    /// such an object has no arguments of its own, because only the type of the object has an
    /// effect.
    pub(crate) fn check_type_arguments(&self, entry: &Entry, args: &Args) -> Result<()> {
        for (name, arg) in args.iter() {
            let Arg::Made(made) = arg else { continue };
            let Some(generic) = entry.generics.iter().find(|g| g.name == name) else { continue };
            let plain = match self.plain.get(&generic.type_name) {
                Some(plain) => plain.value().clone(),
                None => {
                    // The object is compared with an object that is made from the name of the type
                    // alone. If no such object can be made, the argument is accepted.
                    let Ok(plain) = self.of_type(&generic.type_name) else { continue };
                    self.plain.insert(generic.type_name.clone(), plain.clone());
                    plain
                }
            };
            let same = match (made, &plain) {
                (Constructed::Domain(made), Constructed::Domain(plain)) => made == plain,
                (Constructed::Metric(made), Constructed::Metric(plain)) => made == plain,
                (Constructed::Measure(made), Constructed::Measure(plain)) => made == plain,
                _ => true,
            };
            if !same {
                let reason = format!(
                    "expected `{}` without arguments, because they would be lost; leave them out",
                    generic.type_name
                );
                return Err(Error::argument(name, reason));
            }
        }
        Ok(())
    }
}

/// Return the JSON arguments that have different types in different signatures. Such arguments can
/// select a signature.
pub(crate) fn telling<'a>(left: &[&Arc<Entry>], args: &'a Args) -> Vec<&'a Json> {
    let type_of = |entry: &Entry, name: &str| {
        entry.parameters.iter().find(|p| p.name == name).map(|p| p.type_name.clone())
    };
    let differs = |name: &str| {
        let first = left.first().map(|entry| type_of(entry, name));
        left.iter().any(|entry| Some(type_of(entry, name)) != first)
    };
    let json = args.iter().filter_map(|(name, arg)| match arg {
        Arg::Json(Json::Null) => None,
        Arg::Json(json) => differs(name).then_some(json),
        _ => None,
    });
    json.collect()
}
/// Return whether a number in JSON is written as a float.
pub(crate) fn has_float(json: &Json) -> bool {
    match json {
        Json::Number(number) => number.to_string().contains(['.', 'e', 'E']),
        Json::Array(items) => items.iter().any(has_float),
        Json::Object(object) => object.values().any(has_float),
        _ => false,
    }
}
