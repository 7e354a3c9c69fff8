//! `assert`: limits that the results of an experiment must keep to, as written and as checked.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::document::text_or::TextOr;
use crate::results::Limit;

/// A limit that results must keep to.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The limit.
    pub limit: Limit,
    /// The strategy whose variants must keep to it. `None`: every variant must.
    pub strategy: Option<String>,
}

/// One entry of `assert`: a limit, or one for a single strategy.
#[derive(Clone, Debug)]
pub(crate) struct AssertionFile(pub(crate) AssertionFields);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertionFields {
    /// A measure, a comparison and a value, e.g. `completion_p95 < 4h`.
    pub(crate) limit: String,
    /// The strategy whose variants must keep to it. Default: all.
    pub(crate) strategy: Option<String>,
}

impl<'de> Deserialize<'de> for AssertionFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expecting: "a limit such as `completion_p95 < 4h`, or `{strategy: careful, limit: failed_pulls == 0}`",
            of_text: |limit| Self(AssertionFields { limit, strategy: None }),
            of_fields: Self,
        })
    }
}

impl JsonSchema for AssertionFile {
    fn schema_name() -> Cow<'static, str> {
        "Assertion".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<AssertionFields>();
        json_schema!({ "anyOf": [{ "type": "string", "examples": ["completion_p95 < 4h"] }, fields] })
    }
}
