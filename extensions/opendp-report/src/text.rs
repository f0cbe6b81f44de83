//! Escapes text for HTML.

/// Escape a text for HTML elements and quoted attributes, so that a browser shows the same text.
///
/// A control character becomes `�`, unless it is a tab or a line feed. A character that changes the
/// direction of the following text also becomes `�`.
///
/// ```
/// assert_eq!(opendp_report::escaped("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
/// ```
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for mark in text.chars() {
        match mark {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(mark),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            mark if mark.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            mark => escaped.push(mark),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let hostile = "<script>alert('x')</script><img src=x onerror=\"y\">&amp;";
        let text = escaped(hostile);
        assert!(!text.contains(['<', '>', '"', '\'']), "{text}");
        assert!(text.ends_with("&amp;amp;"), "{text}");
    }
    #[test]
    fn marks_that_hide_or_turn_text_are_shown() {
        assert_eq!(escaped("a\u{202e}b\0c\u{1b}d\ne"), "a\u{fffd}b\u{fffd}c\u{fffd}d\ne");
    }
}
