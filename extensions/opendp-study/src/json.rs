//! Reads the fields of a study from JSON. Errors name the wrong field.

use opendp_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// Read a value that has no named fields, or that this library wrote. Errors name no place.
pub(super) fn value<T: DeserializeOwned>(json: Json) -> Result<T> {
    serde_json::from_value(json).map_err(|error| Error::FailedCast(error.to_string()))
}
/// Read fields from JSON. Errors name the place of the wrong field.
pub(super) fn from_json<T: DeserializeOwned>(json: Json) -> Result<T> {
    T::deserialize(&json).map_err(|error| located::<T>(&json, &error))
}
/// Add the place of the wrong field to an error. To find this place, write the JSON as a text with
/// one value in each line, and read this text. Reading gives a second error, which states the line
/// of the wrong field.
#[cold]
fn located<T: DeserializeOwned>(json: &Json, error: &serde_json::Error) -> Error {
    let again = serde_json::to_string_pretty(json).ok().and_then(|text| {
        let error = serde_json::from_str::<T>(&text).err()?;
        Some((place_of_line(&text, error.line()), error))
    });
    let Some((place, again)) = again else { return Error::FailedCast(error.to_string()) };
    // The text is valid JSON. So if the second error is an error of syntax, its reason is wrong,
    // and the reason of the first error is used.
    let error = if again.is_syntax() { error } else { &again };
    let text = error.to_string();
    let line = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&line).unwrap_or(&text).to_owned();
    place.into_iter().rev().fold(Error::FailedCast(reason), Error::at)
}
/// Return the path to the value in the line with the number `line`. The path consists of the keys
/// of fields, and of the positions of items in lists. The text is JSON with one value in each line.
/// Two spaces indent each level.
fn place_of_line(text: &str, line: usize) -> Vec<String> {
    let mut places: Vec<(String, usize)> = Vec::new();
    for line in text.lines().take(line) {
        let value = line.trim_start();
        let depth = (line.len() - value.len()) / 2;
        if value.starts_with(['}', ']']) || depth == 0 {
            places.truncate(depth);
            continue;
        }
        let position = places.get(depth - 1).map_or(1, |(_, position)| position + 1);
        places.truncate(depth - 1);
        places.push((key(value).unwrap_or_else(|| format!("item {position}")), position));
    }
    places.into_iter().map(|(place, _)| place).collect()
}
/// Return the key of a field. Return `None` for an item of a list.
fn key(value: &str) -> Option<String> {
    let mut texts = serde_json::Deserializer::from_str(value).into_iter::<String>();
    let key = texts.next()?.ok()?;
    value.get(texts.byte_offset()..)?.starts_with(": ").then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_line_has_the_place_of_its_value() {
        let json = json!({"a": 1, "b: \"c": [{}, {"d": ["x: ", 2]}, "e"], "f": {"g": null}});
        let text = serde_json::to_string_pretty(&json).unwrap();
        let places: Vec<String> =
            (1..=text.lines().count()).map(|line| place_of_line(&text, line).join("/")).collect();
        assert_eq!(
            places,
            [
                "",
                "a",
                "b: \"c",
                "b: \"c/item 1",
                "b: \"c/item 2",
                "b: \"c/item 2/d",
                "b: \"c/item 2/d/item 1",
                "b: \"c/item 2/d/item 2",
                "b: \"c/item 2/d",
                "b: \"c/item 2",
                "b: \"c/item 3",
                "b: \"c",
                "f",
                "f/g",
                "f",
                ""
            ]
        );
    }
}
