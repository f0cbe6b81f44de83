//! Escapes text for HTML, and replaces characters that have no visible form.

/// Escape a text for HTML elements and quoted attributes, so that a browser shows the same text.
///
/// Tabs and line feeds are kept. Every other character that [`visible`] replaces becomes `�`.
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
            _ => escaped.push(shown(mark)),
        }
    }
    escaped
}
/// Replace two kinds of characters in a text: characters that have no visible form, and characters
/// that change the order or the lines of the text around them. A terminal obeys such characters. So
/// use this function for texts from other people, such as keys that were found in the data.
///
/// ```
/// # use opendp_report::visible;
/// assert_eq!(visible("a\u{1b}[2J\n"), "a\u{fffd}[2J\u{fffd}");
/// assert_eq!(visible("1\u{202e}23"), "1\u{fffd}23");
/// ```
pub fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}
fn shown(c: char) -> char {
    if is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c }
}
/// Return whether a character is a control character, a format character, a separator of lines or
/// of paragraphs, or a letter without a visible form.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
        )
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
    #[test]
    fn characters_that_hide_or_turn_a_text_are_replaced_and_letters_are_kept() {
        let turns = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        let marks = "\u{200e}\u{200f}\u{61c}\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}\u{feff}\u{fe0f}";
        let lines = "\n\r\u{85}\u{2028}\u{2029}\u{1b}\u{9b}\u{e0041}\u{3164}";
        for hidden in [turns, marks, lines].concat().chars() {
            assert_eq!(visible(&format!("a{hidden}b")), "a\u{fffd}b", "{hidden:?}");
        }
        let letters = "Zürich e\u{301} Łódź 東京 القاهرة \u{1f600} a\u{a0}b";
        assert_eq!(visible(letters), letters);
    }
}
