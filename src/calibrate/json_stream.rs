//! JSON values that follow each other in a text: a single document, one in each line, or `kubectl get --watch`.
//!
//! Lines between them that are no JSON are counted: exporters print log lines of their own, and a log that was cut at
//! its start begins inside of a line.

use serde::de::DeserializeOwned;

use super::input::Input;
use crate::document::problem::{OrProblem, Problem};

/// A value with the byte at which it begins.
#[derive(Debug)]
pub(super) struct Found<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// The values of a text, and the number of lines that are no JSON.
#[derive(Debug)]
pub(super) struct JsonValues<T> {
    pub(super) found: Vec<Found<T>>,
    pub(super) other_lines: usize,
}

/// Reads all values. `is_foreign` tells of an object that does not have the form of `T` whether it is none of ours,
/// such as a log line in JSON; it is then counted as another line.
pub(super) fn read_values<T: DeserializeOwned>(
    input: &Input,
    is_foreign: impl Fn(&serde_json::Value) -> bool,
) -> OrProblem<JsonValues<T>> {
    let text = input.source.text.as_str();
    let (mut at, mut found, mut other_lines) = (0, Vec::new(), 0);
    while let Some(start) = text[at..].find(|letter: char| !letter.is_whitespace()) {
        at += start;
        let rest = &text[at..];
        let next_line = || rest.find('\n').map_or(text.len(), |end| at + end + 1);
        if !rest.starts_with(['{', '[']) {
            other_lines += 1;
            at = next_line();
            continue;
        }
        match next::<T>(rest) {
            Ok((value, length)) => {
                found.push(Found { at, value });
                at += length;
            }
            Err(error) => match next::<serde_json::Value>(rest) {
                Ok((value, length)) if error.is_data() && is_foreign(&value) => {
                    other_lines += 1;
                    at += length;
                }
                // A line such as `[warn] no config`.
                Err(_) if rest.starts_with('[') && !found.is_empty() => {
                    other_lines += 1;
                    at = next_line();
                }
                _ => return Err(refused(input, at, &error)),
            },
        }
    }
    Ok(JsonValues { found, other_lines })
}

/// The first value of a text, and its length.
fn next<T: DeserializeOwned>(text: &str) -> Result<(T, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next().expect("the text does not begin with a space")?;
    Ok((value, values.byte_offset()))
}

/// The error with its place. `serde_json` counts lines and columns from the start of the value, columns in bytes.
pub(super) fn refused(input: &Input, start: usize, error: &serde_json::Error) -> Box<Problem> {
    let text = &input.source.text[start..];
    let line = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let place = start + line + error.column().saturating_sub(1);
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        let help = "the file is cut off; write it again, or remove its last line";
        return input.at(place, "", format!("the JSON ends too early: {message}"), help);
    }
    let what = if error.is_data() { "a field has another type than expected" } else { "not JSON" };
    input.at(place, "", format!("{what}: {message}"), "write the file again with the command it came from")
}
