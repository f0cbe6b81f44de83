//! Reads the fields of a study from JSON. If a field is wrong, the error names this field.

use opendp_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use serde_path_to_error::{Path, Segment};

/// Read a value that has no named fields, or that this library wrote. Errors name no place.
pub(super) fn value<T: DeserializeOwned>(json: Json) -> Result<T> {
    serde_json::from_value(json).map_err(|error| Error::FailedCast(error.to_string()))
}
/// Read fields from JSON. If a field is wrong, the error states its place.
pub(super) fn from_json<T: DeserializeOwned>(json: &Json) -> Result<T> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let path = error.path();
        located(path, plain(error.inner().to_string(), found(json, path)))
    })
}
/// Return the value at the path of an error, if the path leads to a value.
fn found<'a>(json: &'a Json, path: &Path) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, segment| match segment {
        Segment::Seq { index } => json.get(index),
        Segment::Map { key } => json.get(key),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}
/// Replace a message of `serde` about a number. Such a message names a type of Rust, or only says
/// that a number is invalid. The new message says what the field expects, and what was found.
fn plain(reason: String, found: Option<&Json>) -> String {
    const WHOLE: &str = "expected a whole number of at least 0";
    match found {
        Some(Json::Number(number)) if reason == "invalid number" => {
            let below = number.to_string().starts_with('-');
            let large = !below && number.as_f64().is_some_and(|number| number.fract() == 0.0);
            let advice = if large { ": state a smaller number" } else { "" };
            format!("{WHOLE}, found {number}{advice}")
        }
        Some(Json::String(text)) => {
            for (expected, what) in [
                ("expected usize", WHOLE),
                ("expected u32", WHOLE),
                ("expected f64", "expected a number"),
            ] {
                if reason.ends_with(expected) {
                    return format!(
                        "{what}, found the text {text:?}: write numbers without quotes"
                    );
                }
            }
            reason
        }
        _ => reason,
    }
}
/// Check that a document states its fields by name, in its context, its budget, its columns and its
/// questions. `serde` also reads the fields from an array, in the order of their declarations.
pub(super) fn check_fields(document: &Json) -> Result<()> {
    let document = fields(document)?;
    let context = document.get("context").unwrap_or(&Json::Null);
    check_context(context).map_err(|error| error.at("context"))?;
    let questions = document.get("questions").unwrap_or(&Json::Null);
    check_questions(questions).map_err(|error| error.at("questions"))
}
fn check_context(context: &Json) -> Result<()> {
    let context = fields(context)?;
    let budget = context.get("budget").unwrap_or(&Json::Null);
    fields(budget).map_err(|error| error.at("budget"))?;
    for (name, column) in context.get("columns").and_then(Json::as_object).into_iter().flatten() {
        no_list(column).map_err(|error| error.at(format!("column `{name}`")))?;
    }
    Ok(())
}
fn check_questions(questions: &Json) -> Result<()> {
    for (place, question) in questions.as_array().into_iter().flatten().enumerate() {
        check_question(question).map_err(|error| error.at(format!("item {}", place + 1)))?;
    }
    Ok(())
}
fn check_question(question: &Json) -> Result<()> {
    for (name, value) in fields(question)? {
        let checked = match name.as_str() {
            "statistics" => check_questions(value),
            "group_by" | "keys" => Ok(()),
            _ => no_list(value),
        };
        checked.map_err(|error| error.at(name))?;
    }
    Ok(())
}
fn fields(json: &Json) -> Result<&Map<String, Json>> {
    json.as_object().ok_or_else(unnamed)
}
fn no_list(json: &Json) -> Result<()> {
    if json.is_array() { Err(unnamed()) } else { Ok(()) }
}
#[cold]
fn unnamed() -> Error {
    Error::FailedCast("expected an object with named fields".into())
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
