//! An error in one value of a document: its path, a message in YAML terms, and a fix.

use std::fmt;

use serde::de;

use super::path::{Path, Step};
use super::problem::{any_of, did_you_mean};
use super::wording::Wording;

/// An error in one value.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct ReadError {
    /// The path of the value; for an unknown field, the path of that field.
    pub path: Path,
    /// The problem.
    pub kind: Kind,
}

/// The problem with a value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Kind {
    /// The field does not exist.
    #[error("unknown field `{field}`")]
    UnknownField {
        /// The unknown field.
        field: String,
        /// The valid fields.
        known: Vec<&'static str>,
    },
    /// The choice does not exist.
    #[error("unknown choice `{written}`")]
    UnknownChoice {
        /// The unknown choice.
        written: String,
        /// The valid choices.
        known: Vec<&'static str>,
    },
    /// A required field is missing.
    #[error("the field `{0}` is missing")]
    MissingField(&'static str),
    /// Any other problem, as a message.
    #[error("{0}")]
    Other(String),
}

impl ReadError {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            path: Path::default(),
            kind,
        }
    }

    /// Prepends a step to the path. Paths are built from the inside, so steps arrive in reverse order.
    pub(super) fn under(mut self, step: Step) -> Self {
        self.path.0.insert(0, step);
        self
    }

    /// Returns whether the error concerns the key instead of the value. (If a choice is written as a key, this key is
    /// the last step of the path.)
    pub fn is_of_key(&self) -> bool {
        match &self.kind {
            Kind::UnknownField { .. } => true,
            Kind::UnknownChoice { written, .. } => {
                matches!(self.path.0.last(), Some(Step::Key(last)) if last == written)
            }
            Kind::MissingField(_) | Kind::Other(_) => false,
        }
    }

    /// Returns the message without the location.
    pub fn message(&self) -> String {
        self.kind.to_string()
    }

    /// Returns the message without any content of the document.
    pub fn bare_message(&self) -> &'static str {
        match &self.kind {
            Kind::UnknownField { .. } => "unknown field",
            Kind::UnknownChoice { .. } => "unknown choice",
            Kind::MissingField(_) => "a field is missing",
            Kind::Other(_) => "the value is not valid here",
        }
    }

    /// Returns both messages: with and without content of the document.
    pub fn wording(&self) -> Wording {
        Wording::quoting(self.message(), self.bare_message())
    }

    /// Returns a fix, if one is known.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            Kind::UnknownField {
                field: written,
                known,
            }
            | Kind::UnknownChoice { written, known } => Some(match renamed(written, known) {
                Some(now) => format!("`{written}` is now `{now}`"),
                None => did_you_mean(written, known.iter().copied(), || {
                    format!("known here: {}", any_of(known))
                }),
            }),
            Kind::MissingField(_) | Kind::Other(_) => None,
        }
    }
}

/// The old and the new names of renamed fields.
const RENAMED: &[(&str, &str)] = &[
    ("defects", "upstreamBugs"),
    ("fastest", "minimise"),
    ("passBase", "request"),
    ("passPerTarget", "request"),
    ("passPerWrite", "request"),
    ("readinessDelay", "readiness"),
];

/// Returns the new name of a field if it was renamed.
fn renamed(field: &str, known: &[&'static str]) -> Option<&'static str> {
    RENAMED
        .iter()
        .find(|(old, now)| *old == field && known.contains(now))
        .map(|(_, now)| *now)
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Kind::Other(message.to_string()))
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        let found_in_words = in_words(&found);
        if let Some(most) = most(&expected)
            && is_above(&found, most)
        {
            return Self::custom(format!(
                "expected a whole number, at most {most}, found {found_in_words}"
            ));
        }
        let words = expected_in_words(&expected);
        let fix = match found {
            de::Unexpected::Float(number)
                if words.starts_with("a whole number")
                    && number >= 0.0
                    && number.fract() == 0.0 =>
            {
                format!("; write it as `{number:.0}`")
            }
            _ => String::new(),
        };
        Self::custom(format!("expected {words}, found {found_in_words}{fix}"))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownField {
            field: field.to_owned(),
            known: known.to_vec(),
        })
    }

    fn unknown_variant(written: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownChoice {
            written: written.to_owned(),
            known: known.to_vec(),
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Kind::MissingField(field))
    }
}

/// Returns the maximum of an unsigned Rust type, by its name.
fn most(expected: &str) -> Option<u64> {
    Some(match expected {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX,
        _ => return None,
    })
}

/// Returns whether a value is a number greater than `most`.
fn is_above(found: &de::Unexpected<'_>, most: u64) -> bool {
    match *found {
        de::Unexpected::Unsigned(number) => number > most,
        de::Unexpected::Float(number) => number.is_finite() && number >= most as f64 + 1.0,
        _ => false,
    }
}

/// Translates Rust's type names in serde's messages to YAML terms: maps, lists, texts and numbers.
fn expected_in_words(expected: &str) -> String {
    let words = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a string" | "identifier" | "variant identifier" => "text",
        _ if expected.starts_with("struct ") => "a map of fields",
        other => other,
    };
    words.to_owned()
}

fn in_words(found: &de::Unexpected<'_>) -> String {
    match found {
        de::Unexpected::Bool(value) => format!("`{value}`"),
        de::Unexpected::Unsigned(value) => format!("the number {value}"),
        de::Unexpected::Signed(value) => format!("the number {value}"),
        de::Unexpected::Float(value) => format!("the number {value:?}"),
        de::Unexpected::Str(value) => format!("the text `{value}`"),
        de::Unexpected::Unit | de::Unexpected::Option => "nothing".to_owned(),
        de::Unexpected::Seq => "a list".to_owned(),
        de::Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}
