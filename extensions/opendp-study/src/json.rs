//! Reads the fields of a study from JSON. If a field is wrong, the error names this field.

use opendp_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::{Path, Segment};

/// Read a value that has no named fields, or that this library wrote. Errors name no place.
pub(super) fn value<T: DeserializeOwned>(json: Json) -> Result<T> {
    serde_json::from_value(json).map_err(|error| Error::FailedCast(error.to_string()))
}
/// Read fields from JSON. If a field is wrong, the error states its place.
pub(super) fn from_json<T: DeserializeOwned>(json: &Json) -> Result<T> {
    serde_path_to_error::deserialize(json)
        .map_err(|error| located(error.path(), error.inner().to_string()))
}
/// Check that a document and its context state their fields by name. `serde` also reads the fields
/// from an array, in the order of their declarations.
pub(super) fn check_fields(document: &Json) -> Result<()> {
    let expected = || Error::FailedCast("expected an object with named fields".into());
    let fields = document.as_object().ok_or_else(expected)?;
    let named = fields.get("context").is_some_and(Json::is_object);
    if named { Ok(()) } else { Err(expected().at("context")) }
}
/// Make the error for the field at a path. Items of lists are counted from 1.
#[cold]
fn located(path: &Path, reason: String) -> Error {
    let mut error = Error::FailedCast(reason);
    for segment in path.iter().collect::<Vec<_>>().into_iter().rev() {
        error = match segment {
            Segment::Seq { index } => error.at(format!("item {}", index + 1)),
            Segment::Map { key } => error.at(key),
            Segment::Enum { variant } => error.at(variant),
            Segment::Unknown => error,
        };
    }
    error
}
