//! Write the names that the engine gives to expressions as a person would write them.

/// The largest number of characters of a heading.
const LONGEST: usize = 60;

/// The types that the engine writes around literals.
const TYPES: [&str; 10] = [
    "Int32",
    "Int64",
    "UInt64",
    "Float64",
    "Boolean",
    "Utf8",
    "Utf8View",
    "LargeUtf8",
    "Date32",
    "IntervalMonthDayNano",
];

/// Write the literals of an expression without the types of the engine. For example, write `5` for
/// `Int64(5)`, and `'a'` for `Utf8("a")`.
pub(crate) fn readable(text: &str) -> String {
    let mut written = String::new();
    let text = text.replace("count(Int64(1))", "count(*)");
    let mut rest = text.as_str();
    while let Some(place) = rest.find('(') {
        let (before, after) = (rest.get(..place), rest.get(place + 1..));
        let (Some(before), Some(after)) = (before, after) else { break };
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |k| k + 1);
        let kind = before.get(start..).unwrap_or_default();
        let found = if TYPES.contains(&kind) { literal(after) } else { None };
        match found {
            Some((literal, length)) => {
                written += before.get(..start).unwrap_or_default();
                written += &literal;
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                written += before;
                written.push('(');
                rest = after;
            }
        }
    }
    (written + rest).replace(" AS Date32)", " AS DATE)")
}
/// Read a literal and the parenthesis after it. Return the literal as SQL, and the number of bytes
/// that were read. Return `None` for a text with quotes, because its end is not certain.
fn literal(text: &str) -> Option<(String, usize)> {
    let (value, mark, quotes) = match text.strip_prefix('"') {
        Some(inner) => (inner, "\")", 1),
        None => (text, ")", 0),
    };
    let end = value.find(mark)?;
    let value = value.get(..end)?;
    if value.contains(['(', '"', '\'']) {
        return None;
    }
    if let Some(interval) = interval(value) {
        return Some((interval, quotes + end + mark.len()));
    }
    let quote = if quotes == 1 { "'" } else { "" };
    Some((format!("{quote}{value}{quote}"), quotes + end + mark.len()))
}
/// Write an interval of the engine as SQL. The engine writes each part with its name.
fn interval(text: &str) -> Option<String> {
    let parts = text.strip_prefix("IntervalMonthDayNano { ")?.strip_suffix(" }")?;
    let part = |part: &str| {
        let (name, number) = part.split_once(": ")?;
        (number != "0").then(|| format!("{number} {name}"))
    };
    let parts: Vec<String> = parts.split(", ").filter_map(part).collect();
    Some(format!("INTERVAL '{}'", parts.join(" ")))
}
/// Write the heading of a column. A long heading is cut.
pub(crate) fn heading(text: &str) -> String {
    let text = readable(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    let start: String = text.chars().take(LONGEST - 4).collect();
    format!("{} ...", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_written_without_types() {
        for (text, expected) in [
            ("count(Int64(1))", "count(*)"),
            ("quantile(t.x,Float64(0.9))", "quantile(t.x,0.9)"),
            (
                "sum(CASE WHEN t.s = Utf8(\"a b\") THEN Int64(-1) ELSE Int64(0) END)",
                "sum(CASE WHEN t.s = 'a b' THEN -1 ELSE 0 END)",
            ),
            ("t.d >= CAST(Utf8(\"2020-01-31\") AS Date32)", "t.d >= CAST('2020-01-31' AS DATE)"),
            (
                "t.d + IntervalMonthDayNano(\"IntervalMonthDayNano { months: 1, days: -3, \
                 nanoseconds: 0 }\")",
                "t.d + INTERVAL '1 months -3 days'",
            ),
            ("avg(t.x)", "avg(t.x)"),
            ("", ""),
            ("f((", "f(("),
            // The ends of these texts are not certain.
            ("Utf8(\"a(b\")", "Utf8(\"a(b\")"),
            ("Utf8(\"it's\")", "Utf8(\"it's\")"),
            ("Int64(", "Int64("),
            ("myInt64(5)", "myInt64(5)"),
            ("é(Int64(5))", "é(5)"),
        ] {
            assert_eq!(readable(text), expected);
        }
    }
    #[test]
    fn a_long_heading_is_cut() {
        let whole = "é".repeat(LONGEST);
        assert_eq!(heading(&whole), whole);
        let cut = heading(&(whole + "x"));
        assert_eq!(cut.chars().count(), LONGEST);
        assert!(cut.ends_with("é ..."));
    }
}
