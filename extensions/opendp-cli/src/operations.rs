//! The operations on a pipeline, with distances and values as JSON.

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Codec, Constructed, Domain, Error, Measure, PrivacyProfile, Result};
use opendp_registry::Registry;
use serde_json::{Value as Json, json};

/// Write an error as JSON.
pub(crate) fn error_json(error: &Error) -> Json {
    json!({"kind": error.kind(), "message": error.to_string()})
}

/// Describe the object that a document built: its kind and its spaces.
pub(crate) fn make(made: &Constructed) -> Json {
    let kind = made.kind().name();
    match made {
        Constructed::Transformation(t) => {
            json!({"kind": kind, "input": t.input().to_json(), "output": t.output().to_json()})
        }
        Constructed::Measurement(m) => {
            json!({"kind": kind, "input": m.input().to_json(), "measure": m.measure().to_json()})
        }
        Constructed::Odometer(o) => {
            json!({"kind": kind, "input": o.input().to_json(), "measure": o.measure().to_json()})
        }
        Constructed::Domain(domain) => json!({"kind": kind, "domain": domain.to_json()}),
        Constructed::Metric(metric) => {
            json!({"kind": kind, "metric": opendp_core::Metric::to_json(metric)})
        }
        Constructed::Measure(measure) => json!({"kind": kind, "measure": measure.to_json()}),
        _ => json!({"kind": kind}),
    }
}

/// Run a transformation or a measurement on a value. If `repeat` is given, run it `repeat` times,
/// and return the list of the results.
pub(crate) fn invoke(made: &Constructed, arg: &Json, repeat: Option<usize>) -> Result<Json> {
    type Once<'a> = Box<dyn Fn(&AnyValue) -> Result<Json> + 'a>;
    let (domain, once): (_, Once<'_>) = match made {
        Constructed::Transformation(made) => {
            let once = |arg: &AnyValue| made.invoke(arg).map(|out| out.to_json());
            (made.input().domain(), Box::new(once))
        }
        Constructed::Measurement(made) => {
            let once = |arg: &AnyValue| made.invoke(arg).and_then(|out| complete(&out));
            (made.input().domain(), Box::new(once))
        }
        other => {
            return Err(Error::NotImplemented(format!(
                "{} cannot be run on a value from JSON",
                other.kind().with_article()
            )));
        }
    };
    let value = domain.decode(arg).map_err(|error| error.at("argument `arg`"))?;
    if !domain.member(&value) {
        let reason = format!("expected a member of {}", domain.to_json());
        return Err(Error::argument("arg", reason));
    }
    match repeat {
        None => once(&value),
        Some(times) => (0..times).map(|_| once(&value)).collect(),
    }
}

/// Write a release as JSON. If a part of the release is an interactive mechanism, return an error,
/// because JSON cannot contain such a mechanism.
pub(crate) fn complete(release: &AnyValue) -> Result<Json> {
    if release.is_interactive() {
        return Err(unprintable());
    }
    Ok(release.to_json())
}
/// Return whether the last link of a document makes an interactive mechanism. The members of a
/// composition and the argument of a conversion are checked, too. The check reads no data.
///
/// The answer can be `false` for a document with an interactive release. For example, a constructor
/// of another crate can have erased types. [`complete`] then finds the interactive mechanism.
pub(crate) fn states_interactive(document: &Json, registry: &Registry) -> bool {
    let within = |json: &Json| states_interactive(json, registry);
    let members = |args: &Json| match (args.get("measurements"), args.get("measurement")) {
        (Some(Json::Array(members)), _) => members.iter().any(within),
        (_, Some(member)) => within(member),
        _ => false,
    };
    let makes = |name: &str| {
        let name = name.split_once('<').map_or(name, |(name, _)| name);
        let signatures = registry.signatures(name).unwrap_or_default();
        signatures.iter().any(|signature| signature.output().is_interactive())
    };
    let Json::Object(fields) = document else { return document.as_str().is_some_and(makes) };
    if let Some(Json::Array(chain)) = fields.get("chain") {
        return chain.last().is_some_and(within);
    }
    for (name, args) in [("constructor", "args"), ("__function__", "__kwargs__")] {
        if let Some(name) = fields.get(name).and_then(Json::as_str) {
            return makes(name) || fields.get(args).is_some_and(members);
        }
    }
    match fields.get("measurement") {
        // A repeated member of a list.
        Some(member) => within(member),
        None => fields.iter().any(|(name, args)| makes(name) || members(args)),
    }
}
/// Return the error for an interactive release.
#[cold]
pub(crate) fn unprintable() -> Error {
    Error::NotImplemented(
        "the release is interactive: write a program that asks it questions".into(),
    )
}

/// Return the privacy profile of a measurement at a distance.
pub(crate) fn profile(made: &Constructed, d_in: &Json) -> Result<PrivacyProfile> {
    match made {
        Constructed::Measurement(m) => {
            let d_in = m.input().metric().decode(d_in).map_err(|error| error.at("d_in"))?;
            m.measure().profile(&m.map(&d_in)?).map_err(|error| match error {
                Error::NotImplemented(reason) => Error::NotImplemented(convert(m, reason)),
                other => other,
            })
        }
        other => Err(Error::NotImplemented(format!(
            "{} has no privacy profile",
            other.kind().with_article()
        ))),
    }
}
/// Advise which conversion gives a profile to a measurement whose measure has none.
fn convert(measurement: &AnyMeasurement, reason: String) -> String {
    let measure = measurement.measure().to_json().to_string();
    let conversion = match () {
        () if measure.contains("zero_concentrated") => "zCDP_to_approxDP",
        () if measure.contains("renyi") => "RDP_to_approxDP",
        () => return reason,
    };
    format!("{reason}: convert it with {{\"{conversion}\": {{\"measurement\": ...}}}}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use opendp_core::Queryable;

    #[test]
    fn a_released_map_is_not_taken_for_a_conversation() {
        let (key, value) = ("queryable".to_owned(), "Queryable<i32, i32>".to_owned());
        let map = AnyValue::new(HashMap::from([(key, value)]));
        let talk = AnyValue::new(Queryable::stateless(|question: &i32| Ok(*question)));
        // The control: `map` and `talk` have the same JSON.
        assert_eq!(map.to_json(), talk.to_json());
        let maps = AnyValue::new(vec![map.clone(), map.clone()]);
        for release in [&map, &maps] {
            assert_eq!(complete(release).unwrap(), release.to_json());
        }
        let some = AnyValue::new(vec![map.clone(), talk.clone()]);
        for release in [talk.clone(), some, AnyValue::new((map, talk))] {
            assert_eq!(complete(&release).unwrap_err().kind(), "NotImplemented");
        }
    }
}
