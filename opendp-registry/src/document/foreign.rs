//! The serialization of OpenDP 0.16: a tree of calls, as its Python library writes it.
//!
//! A node is `{"__function__": NAME, "__module__": MODULE, "__kwargs__": {...}, "__version__": V}`.
//! A chain repeats its beginning in every later step, so that the text doubles with each; here
//! every distinct node is built once.

use opendp_core::{Constructed, Error, Result};
use serde_json::{Map, Value as Json};

use super::build::{Builder, object_or_empty, only, text};

/// Build a node.
pub(super) fn call(builder: &mut Builder<'_>, node: &Map<String, Json>) -> Result<Constructed> {
    only(node, &["__function__", "__module__", "__kwargs__", "__version__"])?;
    let (name, none) = (text(node, "__function__")?, Map::new());
    let arguments = object_or_empty(node, "__kwargs__", &none)?;
    let key = format!("{name} {}", Json::Object(arguments.clone()));
    if let Some(made) = builder.made.get(&key) {
        return Ok(made.clone());
    }
    let made = match accessor(builder, name, arguments)? {
        Some(made) => made,
        None => builder.call(name, &with_defaults(name, arguments), None)?,
    };
    builder.made.insert(key, made.clone());
    Ok(made)
}

/// The space of an object that another node describes.
fn accessor(
    builder: &mut Builder<'_>,
    name: &str,
    arguments: &Map<String, Json>,
) -> Result<Option<Constructed>> {
    let (object, part) = match name {
        _ if name.starts_with("transformation_") => ("transformation", &name[15..]),
        _ if name.starts_with("measurement_") => ("measurement", &name[12..]),
        _ => return Ok(None),
    };
    let this = arguments.get("this").ok_or_else(|| Error::argument("this", "missing"))?;
    let made = builder.read(this)?;
    let opendp_core::Arg::Made(made) = made else {
        return Err(Error::argument("this", format!("expected a {object}")));
    };
    Ok(Some(match (made, part) {
        (Constructed::Transformation(t), "input_domain") => t.input().domain().clone().into(),
        (Constructed::Transformation(t), "input_metric") => t.input().metric().clone().into(),
        (Constructed::Transformation(t), "output_domain") => t.output().domain().clone().into(),
        (Constructed::Transformation(t), "output_metric") => t.output().metric().clone().into(),
        (Constructed::Measurement(m), "input_domain") => m.input().domain().clone().into(),
        (Constructed::Measurement(m), "input_metric") => m.input().metric().clone().into(),
        (Constructed::Measurement(m), "output_measure") => m.measure().clone().into(),
        _ => return Err(Error::NotFound(format!("`{name}` is not a function of this library"))),
    }))
}

/// Add the type arguments that OpenDP 0.16 means where ours has grown others, and name arguments as
/// all other functions do.
fn with_defaults(name: &str, arguments: &Map<String, Json>) -> Map<String, Json> {
    let mut arguments = arguments.clone();
    if name == "make_identity" {
        for (theirs, ours) in [("domain", "input_domain"), ("metric", "input_metric")] {
            if let Some(value) = arguments.remove(theirs) {
                arguments.insert(ours.into(), value);
            }
        }
    }
    if name.ends_with("quantile_score_candidates") && !arguments.contains_key("MO") {
        arguments.insert("MO".into(), "LInfDistance<u64>".into());
    }
    arguments
}
