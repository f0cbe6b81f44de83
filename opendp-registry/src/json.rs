//! JSON as pipelines and data write it: bounded, exact, and with Python's names for non-numbers.

use std::borrow::Cow;

use opendp_core::{Error, Result};
use serde_json::Value as Json;

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 30;

/// Read JSON, and the bare tokens `NaN`, `Infinity` and `-Infinity` as if they were strings.
///
/// Numbers keep every digit. Nesting beyond 128 levels is an error, and so is text after the end.
///
/// ```
/// # use opendp_registry::json;
/// assert_eq!(json::parse("[1, NaN, -Infinity]")?.to_string(), r#"[1,"NaN","-Infinity"]"#);
/// assert!(json::parse(&"[".repeat(1_000_000)).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Errors
/// `Argument` that tells the line and column at which the text is not JSON.
pub fn parse(text: &str) -> Result<Json> {
    if MAX_BYTES < text.len() {
        return Err(Error::argument("json", format!("longer than {MAX_BYTES} bytes")));
    }
    serde_json::from_str(&quote_non_finite(text)).map_err(|error| {
        let reason = match error.classify() {
            serde_json::error::Category::Eof => "the text ends too early".to_owned(),
            _ if error.to_string().contains("recursion limit") => {
                "nested more than 128 levels deep".to_owned()
            }
            _ => "not JSON".to_owned(),
        };
        Error::argument(
            "json",
            format!("{reason}, at line {} column {}", error.line(), error.column()),
        )
    })
}

/// Put quotes around the bare tokens that Python writes for floats that are not finite.
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
        // Inside a string, a backslash takes the next character with it.
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
    fn keeps_every_digit() {
        assert_eq!(
            parse("123456789012345678901234567890").unwrap().to_string(),
            "123456789012345678901234567890"
        );
    }
    #[test]
    fn bounds_depth_and_tells_where() {
        for open in ["[", "{\"a\":"] {
            let error = parse(&open.repeat(1_000_000)).unwrap_err();
            assert!(error.to_string().contains("128 levels"), "{error}");
        }
        let error = parse("{\n  \"a\": oops}").unwrap_err();
        assert_eq!(error.to_string(), "argument `json`: not JSON, at line 2 column 8");
        assert!(parse("").unwrap_err().to_string().contains("too early"));
        assert!(parse("1 2").is_err());
    }
}
