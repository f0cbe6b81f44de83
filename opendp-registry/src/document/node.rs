//! Functions that read and check the JSON of one node of a document, such as a link or a chain.

use std::collections::BTreeSet;

use opendp_core::arith::Exact;
use opendp_core::{Arg, Codec, Constructed, Domain, Error, Kind, Metric, Result};
use serde_json::{Map, Value as Json, json};

use crate::explain::nearest;

/// Split an item `{"repeat": N, ...}` of a list into a member and the number of copies of this
/// member. The member is the value of `measurement`, or the rest of the item if there is no
/// `measurement`. Return `None` if the item does not have this form.
pub(super) fn repeated(item: &Json) -> Result<Option<(Json, usize)>> {
    let Some((object, times)) = item.as_object().and_then(|o| Some((o, o.get("repeat")?))) else {
        return Ok(None);
    };
    let members = ["measurement", "chain", "constructor", "__function__"];
    if !members.iter().any(|key| object.contains_key(*key)) {
        return Ok(None);
    }
    let times = usize::from_json(times).map_err(|error| match error {
        Error::FailedCast(reason) => Error::argument("repeat", reason),
        other => other.at("repeat"),
    })?;
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
/// Return a repeated member, which must be a measurement. Copies of any other value use memory, and
/// no constructor accepts such copies.
pub(super) fn repeatable(member: Arg) -> Result<Arg> {
    match member {
        Arg::Made(Constructed::Measurement(_)) => Ok(member),
        _ => Err(Error::argument("repeat", "expected a measurement to repeat")),
    }
}
/// Report a document that describes no object. Suggest the key that was probably meant.
#[cold]
pub(super) fn no_document(json: &Json) -> Error {
    let known: BTreeSet<String> =
        ["space", "chain", "constructor", "__function__"].map(str::to_owned).into();
    let mut others = json.as_object().into_iter().flat_map(Map::keys);
    let meant = others.find_map(|key| nearest(key, &known).filter(|known| *known != key));
    let meant = meant.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
    let reason = format!(
        "expected an object with `space` and `chain`, with `constructor`, or with \
         `__function__`{meant}"
    );
    Error::argument("pipeline", reason)
}
/// Check that an object has only allowed keys.
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
/// Return whether two JSON values are the same. Numbers are compared by their values, except
/// numbers inside objects, which are compared by their texts.
pub(super) fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(a), Json::Number(b)) => {
            let exact = |number: &serde_json::Number| number.to_string().parse::<Exact>().ok();
            a == b || exact(a).is_some_and(|number| exact(b) == Some(number))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => left == right,
    }
}
/// Check that the first link of a chain starts from the space that the chain states.
pub(super) fn on_space(stated: &Arg, first: &Constructed) -> Result<()> {
    let Arg::Pair(domain, metric) = stated else { return Ok(()) };
    let input = match first {
        Constructed::Transformation(t) => t.input(),
        Constructed::Measurement(m) => m.input(),
        Constructed::Odometer(o) => o.input(),
        _ => return Ok(()),
    };
    if input.domain() == domain && input.metric() == metric {
        return Ok(());
    }
    let stated = json!({"domain": domain.to_json(), "metric": metric.to_json()});
    Err(Error::argument(
        "space",
        format!(
            "the first link has its own input space {}, but the chain states the space {stated}; \
             state one of them",
            input.to_json()
        ),
    ))
}
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
pub(super) fn cannot_follow(next: Kind, chain: Option<Kind>) -> Error {
    let before = chain.map_or("the space", Kind::with_article);
    let advice = match (next, chain) {
        (Kind::Transformation, Some(Kind::Measurement)) => "; put it before the noise",
        (Kind::Measurement, Some(Kind::Measurement)) => {
            "; release both by {\"composition\": {\"measurements\": [..]}}"
        }
        _ => "",
    };
    Error::argument("chain", format!("{} cannot follow {before}{advice}", next.with_article()))
}
