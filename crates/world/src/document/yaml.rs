//! Writes JSON values as YAML in block style, like files of the products.
//!
//! Keys are in alphabetical order, except for those that name an object or its kind, which are first. Text is quoted
//! if YAML would read it as another type.

use std::fmt::Write as _;

use itertools::Itertools;
use serde_json::Value;

/// Keys that are written first, in this order.
const FIRST: [&str; 7] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "type",
    "key",
    "operator",
];

/// Returns the value as a YAML document.
pub fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

/// Returns the rank of a key: its index in [`FIRST`]. All other keys share the last rank.
fn rank(key: &str) -> usize {
    FIRST
        .iter()
        .position(|first| *first == key)
        .unwrap_or(FIRST.len())
}

fn block(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) => {
            let keys = map.keys().sorted_by_key(|key| (rank(key), *key));
            for (at, key) in keys.enumerate() {
                // The first key of a list entry follows the dash.
                let lead = if at == 0 && text.ends_with("- ") {
                    String::new()
                } else {
                    " ".repeat(indent)
                };
                let _ = write!(text, "{lead}{}:", quoted(key));
                nested(text, &map[key], indent + 2);
            }
        }
        Value::Array(list) => {
            for entry in list {
                let _ = write!(text, "{}- ", " ".repeat(indent));
                match entry {
                    Value::Object(map) if !map.is_empty() => block(text, entry, indent + 2),
                    _ => *text += &format!("{}\n", plain(entry)),
                }
            }
        }
        scalar => *text += &format!("{}\n", plain(scalar)),
    }
}

/// Writes the value of a key, after the key.
fn nested(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            block(text, value, indent);
        }
        Value::Array(list)
            if list
                .iter()
                .any(|entry| entry.is_object() || entry.is_array()) =>
        {
            text.push('\n');
            block(text, value, indent);
        }
        _ => *text += &format!(" {}\n", plain(value)),
    }
}

/// Splits a text into lines of at most `width` characters, for comments.
pub fn in_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns a value on one line.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(plain).format(", ")),
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(key), plain(value)));
            format!("{{{}}}", entries.format(", "))
        }
        other => other.to_string(),
    }
}

/// Returns a text, in quotes unless it is clearly a text without them: a word, a path, or a percentage such as `10%`.
pub fn quoted(text: &str) -> String {
    let is_percent = text.strip_suffix('%').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let mut letters = text.chars();
    let begins = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = letters.all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_lowercase().as_str());
    if is_percent || (begins && goes_on && !is_word) {
        text.to_owned()
    } else {
        in_quotes(text)
    }
}

/// Returns a text in quotes. A quoted JSON text is valid YAML, except for characters that YAML does not allow
/// unescaped.
fn in_quotes(text: &str) -> String {
    let mut quoted = String::new();
    for c in Value::String(text.to_owned()).to_string().chars() {
        if c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c) || is_no_character(c) {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        } else {
            quoted.push(c);
        }
    }
    quoted
}

/// Returns whether a character is a byte order mark, or a noncharacter of the basic plane.
fn is_no_character(c: char) -> bool {
    ['\u{feff}', '\u{fffe}', '\u{ffff}'].contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_people_write_them_and_read_back() {
        let value = json!({
            "spec": {
                "stages": [
                    {"maxConcurrency": "10%", "name": "rest", "labelSelector": {}, "waits": []},
                    {"name": "2", "afterStageTasks": [{"type": "TimedWait", "waitTime": "1h"}]},
                ],
            },
            "kind": "Strategy",
            "odd": ["yes", "10:30", "a: b", "", " x", "1.5", "line\nline", "#", "-"],
            "number": 7,
            "share": 0.5,
            "none": null,
        });
        let text = to_yaml(&value);
        insta::assert_snapshot!(text, @r##"
        kind: Strategy
        none: null
        number: 7
        odd: ["yes", "10:30", "a: b", "", " x", "1.5", "line\nline", "#", "-"]
        share: 0.5
        spec:
          stages:
            - name: rest
              labelSelector: {}
              maxConcurrency: 10%
              waits: []
            - name: "2"
              afterStageTasks:
                - type: TimedWait
                  waitTime: "1h"
        "##);
        assert_eq!(serde_saphyr::from_str::<Value>(&text).expect("YAML"), value);
    }

    proptest! {
        #[test]
        fn a_text_is_read_back_as_a_value_and_as_a_key(text: String, odd in r##"[ \-:#{}\[\],&*!|>'"%@`~0-9a-zA-Z_.\\/\n\t\r]{0,12}"##) {
            for text in [text, odd] {
                let written = format!("{}: {}\n", quoted(&text), quoted(&text));
                let read: Value = serde_saphyr::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
                prop_assert_eq!(read, json!({ text.clone(): text }), "{}", written);
            }
        }
    }
}
