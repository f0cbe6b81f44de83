//! The functions of OpenDP 0.16, and the form of these functions in the JSON of OpenDP.

use opendp_core::{Error, Result, TypeName};
use serde_json::{Map, Value as Json, json};

/// The text of a file that lists the functions of OpenDP 0.16. Each line describes one function:
/// its module, its name, and the names of its parameters. In some lines, a slash and a list follow.
/// The list contains the metrics of data sets, or the measures, that the Python library accepts for
/// this function.
const FUNCTIONS: &str = include_str!("../opendp_0_16.txt");
/// The version of OpenDP that the serialization states.
const VERSION: &str = "0.16.0";

/// A function of OpenDP 0.16.
pub(super) struct Known {
    pub(super) module: &'static str,
    pub(super) name: &'static str,
    pub(super) parameters: Vec<&'static str>,
    /// The metrics of data sets or the measures that the function accepts. If the list is empty,
    /// the function accepts all metrics and measures.
    pub(super) takes: Vec<&'static str>,
}
impl Known {
    /// Check that the function accepts the metric or the measure with the name `type_name`.
    pub(super) fn check(&self, link: &str, type_name: &TypeName) -> Result<()> {
        let name = type_name.to_string();
        if self.takes.is_empty() || self.takes.contains(&name.as_str()) {
            return Ok(());
        }
        Err(lacks(link, &format!("`{}` for {name}", self.name)))
    }
}
pub(super) fn known(name: &str) -> Option<Known> {
    FUNCTIONS.lines().find_map(|line| {
        let (line, takes) = line.split_once(" / ").unwrap_or((line, ""));
        let mut words = line.split_whitespace();
        let (module, function) = (words.next()?, words.next()?);
        (function == name).then(|| Known {
            module,
            name: function,
            parameters: words.collect(),
            takes: takes.split_whitespace().collect(),
        })
    })
}
#[cold]
pub(super) fn lacks(name: &str, what: &str) -> Error {
    Error::NotImplemented(format!("{name}: OpenDP 0.16 has no {what}, so this cannot be written"))
}
/// Write a call of a function of OpenDP.
pub(super) fn function(module: &str, name: &str, arguments: Json) -> Json {
    json!({
        "__function__": name, "__module__": module, "__kwargs__": arguments, "__version__": VERSION,
    })
}
/// Write a domain, a metric or a measure from its description.
pub(super) fn described(json: &Json) -> Result<Json> {
    let none = Map::new();
    let (name, given) = match json {
        Json::String(name) => (name.as_str(), &none),
        Json::Object(object) => match object.iter().next() {
            Some((name, Json::Object(given))) if object.len() == 1 => (name.as_str(), given),
            _ => return Err(Error::argument("space", "expected a description")),
        },
        _ => return Err(Error::argument("space", "expected a description")),
    };
    let Some(Known { module, name, parameters, .. }) = known(name) else {
        return Err(lacks("the space or the measure", &format!("`{name}`")));
    };
    let atom = given.get("T").and_then(Json::as_str).unwrap_or_default();
    let mut arguments = Map::new();
    let open = parameters.iter().find(|parameter| !given.contains_key(**parameter));
    for (key, value) in given {
        let listed = parameters.contains(&key.as_str());
        // The elements of a vector can be described by a domain, instead of the arguments of an
        // `atom_domain`.
        let inner = || match value {
            Json::Object(object) if key == "atom_domain" && names_domain(object) => {
                described(value)
            }
            _ => described(&json!({ key.as_str(): value })),
        };
        let (parameter, value) = match (known(key).is_some(), listed, value, open) {
            (true, true, ..) => (key.as_str(), inner()?),
            (true, false, _, Some(open)) if is_domain(open) => (*open, inner()?),
            (false, true, Json::Array(_) | Json::Number(_), _) => {
                let head = if key == "bounds" { "Bounds" } else { "Vec" };
                let atom = atom.parse().unwrap_or(TypeName::plain("_"));
                (key.as_str(), plain(value, &TypeName::generic(head, [atom]))?)
            }
            (false, true, Json::Object(_), _) => (key.as_str(), described(value)?),
            (false, true, Json::String(name), _) if known(name).is_some() => {
                (key.as_str(), described(value)?)
            }
            (false, true, ..) => (key.as_str(), value.clone()),
            _ => return Err(lacks(name, &format!("argument `{key}`"))),
        };
        arguments.insert(parameter.to_owned(), value);
    }
    Ok(function(module, name, Json::Object(arguments)))
}
/// Return whether an object is a description of a domain, and not the arguments of an
/// `atom_domain`.
fn names_domain(object: &Map<String, Json>) -> bool {
    object.len() == 1 && object.keys().all(|name| name.ends_with("_domain"))
}
/// Return whether a parameter takes all domains, and not only domains of atoms.
fn is_domain(parameter: &str) -> bool {
    parameter.ends_with("_domain") && parameter != "atom_domain"
}
/// Write JSON with the types of Python, which distinguishes floats from integers and tuples from
/// lists.
pub(super) fn plain(value: &Json, type_name: &TypeName) -> Result<Json> {
    let text = type_name.to_string();
    let float = text.contains("f64") || text.contains("f32") || FLOATS.contains(&type_name.head());
    let tuple = ["Bounds", "Option<Bounds", "("].iter().any(|head| text.starts_with(head));
    Ok(match value {
        Json::Number(_) => number(value, float)?,
        Json::Array(items) => {
            let items = items.iter().map(|item| plain(item, inner(type_name)));
            let items: Json = items.collect::<Result<Vec<_>>>()?.into();
            if tuple { json!({ "__tuple__": items }) } else { items }
        }
        Json::String(name) if float => match name.as_str() {
            "NaN" | "Infinity" | "-Infinity" => {
                return Err(Error::NotImplemented(format!(
                    "OpenDP 0.16 has no form for the number {name} in a document"
                )));
            }
            _ => value.clone(),
        },
        other => other.clone(),
    })
}
/// The types of parameters whose values are written as floats, in addition to the types that
/// contain `f32` or `f64`.
const FLOATS: [&str; 2] = ["Scale", "Alpha"];
/// If the type is a vector or bounds, return the type of the items. Otherwise return the type
/// itself. Ignore an `Option` around the type.
fn inner(type_name: &TypeName) -> &TypeName {
    match (type_name.head(), type_name.args()) {
        ("Option", [item]) => inner(item),
        ("Vec" | "Bounds", [items]) => items,
        _ => type_name,
    }
}
fn number(value: &Json, float: bool) -> Result<Json> {
    let text = value.to_string();
    let written = match (float, value.as_f64()) {
        (true, Some(number)) if number.is_finite() => Some(json!(number)),
        (true, _) => None,
        (false, _) if !text.contains(['.', 'e', 'E']) => Some(value.clone()),
        // If the type is not a float type, write a whole number such as `3.0` as an integer.
        (false, Some(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
            serde_json::from_str(&format!("{number:.0}")).ok()
        }
        (false, _) => Some(value.clone()),
    };
    written.ok_or_else(|| {
        Error::NotImplemented(format!("OpenDP 0.16 cannot represent the number {text}"))
    })
}
