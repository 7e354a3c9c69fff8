//! A value of any type as a client wrote it, so that the product's own validation can check it.
//!
//! Left out: integers beyond 64 bits, which are read and checked as floats.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use fleetsim_units::serial::Ordered;

/// A JSON or YAML value; keys keep their order.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Json {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Ordered<Json>),
}

impl Json {
    /// Returns the value of `key`; null if the key is absent or this value is not an object.
    pub(super) fn at(&self, key: &str) -> &Self {
        const NULL: &Json = &Json::Null;
        let Self::Object(Ordered(fields)) = self else {
            return NULL;
        };
        match fields.iter().rfind(|(name, _)| name == key) {
            Some((_, value)) => value,
            None => NULL,
        }
    }

    /// Returns whether this value is an object with this key.
    pub(super) fn has(&self, key: &str) -> bool {
        let Self::Object(Ordered(fields)) = self else {
            return false;
        };
        fields.iter().any(|(name, _)| name == key)
    }

    /// Returns whether the value is neither null nor false, which makes it true in Ruby.
    pub(super) fn is_truthy(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    /// Returns whether the value is null, false or empty, which makes it blank in Rails.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Object(Ordered(fields)) => fields.is_empty(),
            Self::Bool(true) | Self::Number(_) => false,
        }
    }

    /// Sets the value at a path of keys. Intermediate values that are not objects become objects.
    pub(super) fn set(&mut self, path: &str, value: Self) {
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        if !matches!(self, Self::Object(_)) {
            *self = Self::Object(Ordered::default());
        }
        let Self::Object(Ordered(fields)) = self else {
            unreachable!("it was just made one")
        };
        if fields.iter().all(|(name, _)| name != key) {
            fields.push((key.to_owned(), Self::Null));
        }
        let field = fields.iter_mut().rfind(|(name, _)| name == key);
        let (_, field) = field.expect("it was just added");
        if rest.is_empty() {
            *field = value;
        } else {
            field.set(rest, value);
        }
    }
}

impl fmt::Display for Json {
    /// Prints the value as Ruby does in a message: null is empty, a text is unquoted, and everything else is JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Text(text) => f.write_str(text),
            _ => f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?),
        }
    }
}
