//! The serialization of OpenDP 0.16: a tree of calls, as the Python library of OpenDP writes it.
//!
//! A node is `{"__function__": NAME, "__module__": MODULE, "__kwargs__": {...}, "__version__": V}`.
//! Each step of a chain contains the text of all earlier steps several times: in its input domain,
//! in its input metric, and as the first part of the chain. So the length of the text more than
//! doubles with each step. For this reason, this module builds equal nodes only once. The exception
//! is a node that depends on the current space of the chain around the node. The current space is
//! the input space of the next link of this chain.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use opendp_core::{Arg, Constructed, Error, Result};
use serde_json::{Map, Value as Json, json};

use super::build::Builder;
use super::node::{join, object_or_empty, only, text};
use super::weight::Weight;

/// A hash of 128 bits that identifies a call by its name and its arguments. The text of a call is
/// not stored, because the texts of nested calls repeat the inner calls at each level.
pub(super) type Fingerprint = [u64; 2];
/// Hash a call with secret keys. The author of a document does not have the keys, so the author
/// cannot find two calls with equal fingerprints.
fn fingerprint(name: &str, arguments: &Map<String, Json>) -> Fingerprint {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    KEYS.each_ref().map(|key| key.hash_one((name, arguments)))
}

/// Build the object that a node describes. If the object of an equal node is stored, return this
/// object.
pub(super) fn call(builder: &mut Builder<'_>, node: &Map<String, Json>) -> Result<Constructed> {
    only(node, &["__function__", "__module__", "__kwargs__", "__version__"])?;
    let (name, none) = (text(node, "__function__")?, Map::new());
    let arguments = object_or_empty(node, "__kwargs__", &none)?;
    let key = fingerprint(name, arguments);
    if let Some((made, weight)) = builder.made.get(&key) {
        builder.weight = *weight;
        return Ok(made.clone());
    }
    // An object that depends on the current space is not stored. The text of the call does not
    // contain this space, so the same text can describe another object on another space.
    let (made, depends) = builder.depending(|builder| object(builder, name, arguments))?;
    if !depends {
        builder.made.insert(key, (made.clone(), builder.weight));
    }
    Ok(made)
}
/// Build the object of a call, even if the object of an equal call is stored.
fn object(
    builder: &mut Builder<'_>,
    name: &str,
    arguments: &Map<String, Json>,
) -> Result<Constructed> {
    if let Some(domain) = start(name, arguments) {
        let here = if starts_from_text(name) { None } else { builder.here() };
        let input = match here {
            Some(here) => here,
            None => builder.space(&json!({"domain": domain, "metric": "symmetric_distance"}))?,
        };
        return builder.call(name, arguments, Some(input));
    }
    match (chain(builder, name, arguments)?, accessor(builder, name, arguments)?) {
        (Some(made), _) | (_, Some(made)) => Ok(made),
        _ => builder.call(name, &with_defaults(name, arguments), None),
    }
}

/// Return the default input domain of a constructor. Return `None` if the constructor has no
/// default, or if the arguments state the input domain. [`object`] uses the default if there is no
/// current space. For `make_split_lines` and `make_split_dataframe`, [`object`] always uses the
/// default.
fn start(name: &str, arguments: &Map<String, Json>) -> Option<Json> {
    if arguments.contains_key("input_domain") {
        return None;
    }
    let text = json!({"T": "String"});
    let frames = |key: &str| {
        let names = arguments.get(key).filter(|name| !name.is_null()).cloned();
        json!({"dataframe_domain": {"K": names.unwrap_or_else(|| "String".into())}})
    };
    let lines = json!({"vector_domain": {"atom_domain": text}});
    match name {
        "make_split_lines" | "make_split_dataframe" => Some(json!({"atom_domain": text})),
        "make_split_records" => Some(lines),
        "make_create_dataframe" => Some(json!({"vector_domain": {"atom_domain": lines}})),
        "make_select_column" => Some(frames("K")),
        "make_subset_by" => Some(frames("TK")),
        _ => None,
    }
}
fn starts_from_text(name: &str) -> bool {
    matches!(name, "make_split_lines" | "make_split_dataframe")
}
/// Build a chain of two parts. If the second part states no space, it starts from the output space
/// of the first part.
fn chain(
    builder: &mut Builder<'_>,
    name: &str,
    arguments: &Map<String, Json>,
) -> Result<Option<Constructed>> {
    let second = match name {
        "make_chain_tt" => arguments.get("transformation1"),
        "make_chain_mt" => arguments.get("measurement1"),
        _ => None,
    };
    let (Some(first), Some(second)) = (arguments.get("transformation0"), second) else {
        return Ok(None);
    };
    let Arg::Made(first) = builder.read(first)? else { return Ok(None) };
    let weight = builder.weight;
    let here = match &first {
        Constructed::Transformation(t) => Some(Arg::Space(t.output().clone())),
        _ => None,
    };
    let second = builder.inside(here, |builder, _| match builder.read(second)? {
        Arg::Made(made) => Ok(made),
        _ => Err(Error::argument(name, "expected a transformation or a measurement")),
    })?;
    builder.weight = weight.then(builder.weight)?;
    join(Some(first), second).map(Some)
}

/// Build the transformation or the measurement that the argument `this` describes, and return one
/// part of this object. The part can be the domain or the metric of the input space, the domain or
/// the metric of the output space, or the privacy measure. Return `None` if `name` begins with
/// neither `transformation_` nor `measurement_`.
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
    let made = builder.alone(this)?;
    // A domain, a metric or a measure is not a link, so it has no weight.
    builder.weight = Weight::default();
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

/// Add type arguments that this library requires but OpenDP 0.16 does not write. Also replace some
/// names of arguments by the names that this library uses.
fn with_defaults<'j>(name: &str, arguments: &'j Map<String, Json>) -> Cow<'j, Map<String, Json>> {
    let mut arguments = Cow::Borrowed(arguments);
    if name == "make_identity" {
        for (theirs, ours) in [("domain", "input_domain"), ("metric", "input_metric")] {
            if let Some(value) = arguments.get(theirs).cloned() {
                arguments.to_mut().remove(theirs);
                arguments.to_mut().insert(ours.into(), value);
            }
        }
    }
    if name.ends_with("quantile_score_candidates") && !arguments.contains_key("MO") {
        arguments.to_mut().insert("MO".into(), "LInfDistance<u64>".into());
    }
    arguments
}
