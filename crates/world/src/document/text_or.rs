//! Fields that are written as a text or, with more details, as a map.

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;
use std::fmt;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor,
    value::MapAccessDeserializer,
};

/// Reads a text with one function, and a map with another. A number is read as if it were text.
#[derive(Debug)]
pub struct TextOrMap<'e, T, F> {
    /// A description of both forms, for error messages.
    pub expecting: &'e str,
    /// The function that parses the text.
    pub of_text: fn(&str) -> Result<T, String>,
    /// The function that converts the map.
    pub of_fields: fn(F) -> Result<T, String>,
}

impl<'de, T, F: DeserializeOwned> Visitor<'de> for TextOrMap<'_, T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.of_text)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        (self.of_fields)(F::deserialize(MapAccessDeserializer::new(map))?)
            .map_err(de::Error::custom)
    }
}

/// A map of fields that may also be written as a text.
pub trait FromText: DeserializeOwned {
    /// The name of the type in the schema.
    const NAME: &'static str;
    /// A description of both forms, for error messages.
    const EXPECTING: &'static str;
    /// Example texts, for the schema.
    const EXAMPLES: &'static [&'static str] = &[];

    /// Parses the text.
    ///
    /// # Errors
    /// If the text is invalid. The error describes the valid form.
    fn of_text(text: &str) -> Result<Self, String>;
}

/// A value that is written as a text or, with more details, as a map.
#[derive(Clone, Debug)]
pub struct TextOr<F>(pub F);

impl<'de, F: FromText> Deserialize<'de> for TextOr<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = TextOrMap {
            expecting: F::EXPECTING,
            of_text: F::of_text,
            of_fields: Ok,
        };
        deserializer.deserialize_any(read).map(Self)
    }
}

#[cfg(any(test, feature = "schema"))]
impl<F: FromText + JsonSchema> JsonSchema for TextOr<F> {
    fn schema_name() -> Cow<'static, str> {
        F::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut text = json_schema!({ "type": "string" });
        if !F::EXAMPLES.is_empty() {
            text.insert("examples".to_owned(), F::EXAMPLES.into());
        }
        json_schema!({ "anyOf": [text, generator.subschema_for::<F>()] })
    }
}
