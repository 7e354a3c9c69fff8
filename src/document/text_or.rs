//! Fields that are written as one text, or as a map where there is more to say.

use std::fmt;

use serde::de::{self, DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer};

/// Reads either a text or a map.
pub(crate) struct TextOr<T, F> {
    pub(crate) expecting: &'static str,
    pub(crate) of_text: fn(String) -> T,
    pub(crate) of_fields: fn(F) -> T,
}

impl<'de, T, F: DeserializeOwned> Visitor<'de> for TextOr<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok((self.of_text)(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        F::deserialize(MapAccessDeserializer::new(map)).map(self.of_fields)
    }
}
