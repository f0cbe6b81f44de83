//! Reads JSON of pipelines and data. The size of the text is limited, and numbers are exact. The
//! names that Python writes for non-finite numbers are allowed.

use std::{borrow::Cow, fmt};

use opendp_core::{Error, Result, codec::NUMBER};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json, error::Category};

/// The largest length of a text, in bytes.
pub const MAX_BYTES: usize = 1 << 30;

/// Read JSON. Read the tokens `NaN`, `Infinity` and `-Infinity` as strings, even without quotes.
///
/// Numbers keep every digit. Nesting of more than 127 levels is an error. Text after the end of the
/// JSON value is an error. A key that occurs twice in one object is an error too. Errors never show
/// the text.
///
/// ```
/// # use opendp_registry::json;
/// assert_eq!(json::parse("[1, NaN, -Infinity]")?.to_string(), r#"[1,"NaN","-Infinity"]"#);
/// assert!(json::parse(&"[".repeat(1_000_000)).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// A byte order mark at the beginning of the text is skipped.
///
/// # Errors
/// `Argument` with the line and column of the mistake. `Argument` also when the text has more than
/// [`MAX_BYTES`] bytes.
pub fn parse(text: &str) -> Result<Json> {
    read(text, Node { names: false })
}
/// Read JSON as [`parse`] does, but with more details in errors. The text is a document or a
/// request.
///
/// If a key occurs twice, the error names this key. Keys within `arg` are never named, because
/// `arg` is the part of a request that contains data.
///
/// ```
/// # use opendp_registry::json;
/// let error = json::parse_request(r#"{"scale": 1, "scale": 2}"#).unwrap_err();
/// assert!(error.to_string().contains("`scale` occurs twice"));
/// ```
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_request(text: &str) -> Result<Json> {
    read(text, Node { names: true })
}
fn read(text: &str, node: Node) -> Result<Json> {
    if MAX_BYTES < text.len() {
        return Err(Error::argument("json", format!("expected at most {MAX_BYTES} bytes")));
    }
    // Some editors write a byte order mark at the beginning of a file.
    let text = quote_non_finite(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut reader = serde_json::Deserializer::from_str(&text);
    let json = node.deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    json.map_err(|error| {
        let message = error.to_string();
        let reason = match error.classify() {
            Category::Eof => "the text ends too early",
            // An error of `Node` contains the place of the mistake. Remove the place here, because
            // the returned error states the place too.
            Category::Data => message.split(" at line ").next().unwrap_or_default(),
            _ if message.contains("recursion limit") => "nested 128 levels deep or more",
            // Keep the part of the message that states the expected grammar. This part does not
            // reveal the text.
            _ => message.split(" at line ").next().unwrap_or_default(),
        };
        // A hint is given only for documents and requests.
        let syntax = node.names && error.classify() == Category::Syntax;
        let hint = if syntax { hint(&text, error.line(), error.column()) } else { "" };
        let wrong = if error.classify() == Category::Syntax { "not JSON: " } else { "" };
        Error::argument(
            "json",
            format!("{wrong}{reason}, at line {} column {}{hint}", error.line(), error.column()),
        )
    })
}
/// Return advice about the correct form of JSON, if the character at this line and column shows the
/// mistake.
fn hint(text: &str, line: usize, column: usize) -> &'static str {
    let first = (line, column) == (1, 1);
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    match line.as_bytes().get(column.saturating_sub(1)) {
        Some(b'\'') => ": write names and texts in double quotes",
        Some(b'a'..=b'z' | b'A'..=b'Z') if first => ": a document begins with `{`",
        Some(b'T' | b'F' | b'N') => ": JSON writes true, false and null",
        Some(b'/' | b'#') => ": JSON has no comments",
        Some(b'.') => ": write a digit before the point, as in 0.5",
        _ => "",
    }
}

/// Reads one JSON value. A key that occurs twice in one object is an error.
#[derive(Clone, Copy)]
struct Node {
    /// Whether the error for a repeated key names the key.
    names: bool,
}
impl<'de> DeserializeSeed<'de> for Node {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        reader.deserialize_any(self)
    }
}
/// The JSON reader passes an integer of 64 bits to the visitor as an integer. The reader passes any
/// other number as a map with the key [`NUMBER`]. The value in the map is the text of the number,
/// with all digits.
impl<'de> Visitor<'de> for Node {
    type Value = Json;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        // When an array grows, its capacity doubles. The array can be kept for a long time, so
        // release the unused capacity.
        all.shrink_to_fit();
        Ok(Json::Array(all))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = pairs.next_key::<String>()? {
            if key == NUMBER && object.is_empty() {
                let digits: String = pairs.next_value()?;
                return digits.parse().map(Json::Number).map_err(A::Error::custom);
            }
            if object.contains_key(&key) {
                return Err(A::Error::custom(match self.names {
                    true => format!("the key {} occurs twice in one object", short(&key)),
                    false => "a key occurs twice in one object".to_owned(),
                }));
            }
            let value = pairs.next_value_seed(Node { names: self.names && key != "arg" })?;
            object.insert(key, value);
        }
        Ok(Json::Object(object))
    }
}
/// Quote the first 60 characters of a text for a message. Escape the characters that control a
/// terminal.
pub fn short(text: &str) -> String {
    format!("`{}`", text.chars().take(60).collect::<String>().escape_debug())
}

/// Add quotes to the tokens that Python writes for floats that are not finite.
fn quote_non_finite(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        if !in_string
            && let Some(token) =
                ["NaN", "-Infinity", "Infinity"].into_iter().find(|token| rest.starts_with(token))
        {
            out.push('"');
            out.push_str(token);
            out.push('"');
            rest = &rest[token.len()..];
            continue;
        }
        // Inside a string, a backslash escapes the next character.
        let length = match (in_string, c) {
            (true, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (_, '"') => {
                in_string = !in_string;
                1
            }
            _ => c.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_bare_tokens_and_leaves_strings_alone() {
        let text = r#"{"a": NaN, "NaN \" Infinity": [-Infinity, Infinity], "ü": "\\"}"#;
        let json = parse(text).unwrap();
        assert_eq!(json["a"], "NaN");
        assert_eq!(json["NaN \" Infinity"][0], "-Infinity");
        assert_eq!(json["ü"], "\\");
    }
    #[test]
    fn skips_a_byte_order_mark_at_the_beginning_only() {
        assert_eq!(parse("\u{feff}[1]").unwrap(), serde_json::json!([1]));
        for text in ["\u{feff}\u{feff}[1]", "[\u{feff}1]", "[1]\u{feff}"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
    #[test]
    fn keeps_every_digit() {
        assert_eq!(
            parse("123456789012345678901234567890").unwrap().to_string(),
            "123456789012345678901234567890"
        );
    }
    #[test]
    fn a_key_that_occurs_twice_is_an_error_at_any_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"[[{"b": {"x": 0, "a": [1], "a": 2}}]]"#,
            r#"{"a": 1, "b": 2, "\u0061": 3}"#,
        ] {
            let error = parse_request(text).unwrap_err().to_string();
            assert!(error.contains("`a` occurs twice") && error.contains("line 1"), "{error}");
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("twice") && !error.contains("`a`"), "{error}");
        }
        assert!(parse_request(r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#).is_ok());
        // Errors do not show the data of a request.
        let error = parse_request(r#"{"arg": [{"Ada": 1, "Ada": 1}]}"#).unwrap_err().to_string();
        assert!(error.contains("twice") && !error.contains("Ada"), "{error}");
        let error =
            parse_request("{\"\\u001b[2J\": 1, \"\\u001b[2J\": 2}").unwrap_err().to_string();
        assert!(error.contains("\\u{1b}") && !error.contains('\u{1b}'), "{error}");
    }
    #[test]
    fn reads_what_the_reader_of_the_library_reads() {
        for text in [
            "null",
            "true",
            "-0",
            "1e400",
            "-1.50E-3",
            "\"\\ud83d\\ude00\"",
            "[]",
            "{}",
            r#"{"b": [1, {"c": null}], "a": "x"}"#,
            r#"{"$serde_json::private::Number": "7"}"#,
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Json>(text).unwrap(), "{text}");
        }
        assert_eq!(parse(r#"{"b": 1, "a": 2}"#).unwrap().to_string(), r#"{"b":1,"a":2}"#);
        for text in [r#"{"$serde_json::private::Number": "x"}"#, "{\"a\" 1}", "[1,]", "tru"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
    #[test]
    fn bounds_depth_and_tells_where() {
        for open in ["[", "{\"a\":"] {
            let error = parse(&open.repeat(1_000_000)).unwrap_err();
            assert!(error.to_string().contains("128 levels"), "{error}");
        }
        let error = parse("{\n  \"a\": oops}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument `json`: not JSON: expected value, at line 2 column 8"
        );
        assert!(parse("").unwrap_err().to_string().contains("too early"));
        assert!(parse("1 2").is_err());
    }
}
