//! How long a person takes: fixed, drawn, or `never`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};

use crate::document::context::Context;
use crate::document::path::Path;
use crate::world::DurationModel;

/// How long a user takes to do something. `None`: it is never done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserDelay(Option<DurationModel>);

impl UserDelay {
    /// The delay with measured values read from their file. `None`: never, or a problem was reported.
    pub(crate) fn check(&self, path: &Path, context: &mut Context<'_>) -> Option<DurationModel> {
        self.0.clone()?.read_values(path, context)
    }
}

impl<'de> Deserialize<'de> for UserDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DelayVisitor;

        impl<'de> Visitor<'de> for DelayVisitor {
            type Value = UserDelay;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`never`, or a duration such as `5m` or `{median: 5m, sigma: 0.6}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<UserDelay, E> {
                if text.trim() == "never" {
                    return Ok(UserDelay(None));
                }
                DurationModel::deserialize(text.into_deserializer()).map(Some).map(UserDelay)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<UserDelay, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<UserDelay, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<UserDelay, A::Error> {
                DurationModel::deserialize(MapAccessDeserializer::new(map)).map(Some).map(UserDelay)
            }
        }

        deserializer.deserialize_any(DelayVisitor)
    }
}

impl JsonSchema for UserDelay {
    fn schema_name() -> Cow<'static, str> {
        "UserDelay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let delay = generator.subschema_for::<DurationModel>();
        json_schema!({
            "description": "`never`, or how long a user takes, fixed or drawn.",
            "anyOf": [{ "const": "never" }, delay],
        })
    }
}
