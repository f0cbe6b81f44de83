//! The operations on a pipeline, with distances and values as JSON.

use opendp_core::erased::AnyValue;
use opendp_core::{Codec, Constructed, Domain, Error, Measure, PrivacyProfile, Result};
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

/// Run the function on a value, once or `repeat` times.
pub(crate) fn invoke(made: &Constructed, arg: &Json, repeat: Option<usize>) -> Result<Json> {
    let once = |arg: &AnyValue| match made {
        Constructed::Transformation(t) => t.invoke(arg).map(|out| out.to_json()),
        Constructed::Measurement(m) => m.invoke(arg).and_then(|out| complete(&out)),
        Constructed::Function(f) => f.eval(arg).map(|out| out.to_json()),
        other => {
            Err(Error::NotImplemented(format!("{} cannot be run", other.kind().with_article())))
        }
    };
    let domain = match made {
        Constructed::Transformation(t) => t.input().domain(),
        Constructed::Measurement(m) => m.input().domain(),
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
/// because JSON cannot contain it.
pub(crate) fn complete(release: &AnyValue) -> Result<Json> {
    let json = release.to_json();
    if matches!(release.inner_type().head(), "Session" | "Queryable") || waits(&json) {
        return Err(Error::NotImplemented(
            "the release is interactive: write a program that asks it questions".into(),
        ));
    }
    Ok(json)
}
/// Return whether a part of this value is an interactive mechanism. JSON contains only the type of
/// such a mechanism.
fn waits(json: &Json) -> bool {
    match json {
        Json::Array(parts) => parts.iter().any(waits),
        Json::Object(parts) => {
            let is = |name: &str, head: &str| {
                let text = parts.get(name).and_then(Json::as_str);
                parts.len() == 1 && text.is_some_and(|text| text.starts_with(head))
            };
            is("session", "Session<") || is("queryable", "Queryable<") || parts.values().any(waits)
        }
        _ => false,
    }
}

/// Return the privacy profile of a measurement at a distance.
pub(crate) fn profile(made: &Constructed, d_in: &Json) -> Result<PrivacyProfile> {
    match made {
        Constructed::Measurement(m) => {
            let d_in = m.input().metric().decode(d_in).map_err(|error| error.at("d_in"))?;
            m.measure().profile(&m.map(&d_in)?)
        }
        other => Err(Error::NotImplemented(format!(
            "{} has no privacy profile",
            other.kind().with_article()
        ))),
    }
}
