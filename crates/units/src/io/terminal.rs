//! Untrusted text on a terminal: names, questions, errors and process output may contain control characters.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text with escapes such as `\u001b` for every control character except tab and line feed, and for every
/// character that changes the direction of text. In JSON these characters can only occur in strings, where the escapes
/// do not change the meaning.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            _ if is_obeyed(character) => {
                write!(printable, "\\u{:04x}", u32::from(character))
                    .expect("writes to a text do not fail");
            }
            _ => printable.push(character),
        }
    }
    Cow::Owned(printable)
}

/// Like [`printable`], but also without line breaks: for names and values within a text.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    printable(text).replace('\n', "\\u000a")
}

const fn is_obeyed(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => matches!(character, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_contains_no_control_sequences() {
        assert_eq!(printable("a\tb\nü 漢"), "a\tb\nü 漢");
        assert_eq!(
            printable("\u{1b}[2J\r\u{9b}31m\u{7f}\u{202e}"),
            "\\u001b[2J\\u000d\\u009b31m\\u007f\\u202e"
        );
        let json: String = serde_json::from_str(&printable("\"\u{9b}x\"")).expect("still JSON");
        assert_eq!(json, "\u{9b}x", "and means the same");
        assert_eq!(in_one_line("v\n# \u{1b}"), "v\\u000a# \\u001b");
    }
}
