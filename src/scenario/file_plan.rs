//! `plan`: the goal of a search and its candidates, as written.

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::units::Share;
use crate::units::serial::Ordered;

/// Goal and candidates of `fleetsim plan`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct PlanFile {
    /// Limits that a setting must meet, e.g. `registry.egress_p99 < 8 Gbit/s`. Default: those in `assert`. `==` and
    /// `!=` compare every run, without a statistic.
    pub(crate) limits: Option<Vec<String>>,
    /// Candidates: paths below `strategies`, each with values or a range. Default: those paths in `sweep`. The setting
    /// to minimise or maximise may also be one of the world. `strategies.NAME: auto` searches the settings of that
    /// strategy's product.
    pub(crate) search: Option<Ordered<SearchFile>>,
    /// Quantity to minimise: a measure with its statistic, or a swept or searched setting. Default:
    /// `reachable_ready_median`.
    pub(crate) minimise: Option<String>,
    /// A swept or searched setting to maximise, instead of `minimise`.
    pub(crate) maximise: Option<String>,
    /// Confidence of each comparison, at least 50% and less than 100%.
    pub(crate) confidence: Share,
    /// Values of the objective that differ by a smaller share than this count as equal.
    pub(crate) indifference: Share,
    /// Number of runs in which the recommended setting must have met all limits. Default: 59, which show with 95%
    /// confidence that 95% of all runs meet the limits; with another `confidence`, the number that it needs.
    pub(crate) confirm: Option<u32>,
    /// Maximum number of settings to try for each strategy and world. The search then chooses them, and the plan shows
    /// the front of time against load and exposure together with the current setting. Default: all settings are tried,
    /// or 100 with `auto`.
    pub(crate) tries: Option<u32>,
    /// Maximum number of runs. The search then stops and reports the best setting so far. Default: no limit.
    pub(crate) runs: Option<u64>,
}

impl Default for PlanFile {
    fn default() -> Self {
        Self {
            limits: None,
            search: None,
            minimise: None,
            maximise: None,
            confidence: Share::new(0.95),
            indifference: Share::new(0.01),
            confirm: None,
            tries: None,
            runs: None,
        }
    }
}

/// The keyword for searching the settings of a strategy's product.
pub(super) const AUTO: &str = "auto";

/// The values of a path: a list as in a sweep, or a range. They are read from the tree, which has their positions;
/// deserialization only rejects other kinds of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchFile;

/// A range of values with a constant ratio between consecutive ones.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read for its errors alone, see `SearchFile`")]
struct RangeFile {
    /// The lower end of the range, e.g. `1%`.
    from: Value,
    /// The upper end of the range, in the same unit.
    to: Value,
    /// Number of values, including both ends. Values that round to the same whole number count once.
    steps: u32,
}

impl<'de> Deserialize<'de> for SearchFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SearchFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of values, a range such as `{from: 1%, to: 100%, steps: 20}`, or `auto` for a strategy",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SearchFile, E> {
                match text {
                    AUTO => Ok(SearchFile),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SearchFile, A::Error> {
                while seq.next_element::<de::IgnoredAny>()?.is_some() {}
                Ok(SearchFile)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SearchFile, A::Error> {
                RangeFile::deserialize(MapAccessDeserializer::new(map)).map(|_| SearchFile)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
impl JsonSchema for SearchFile {
    fn schema_name() -> Cow<'static, str> {
        "Search".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let range = generator.subschema_for::<RangeFile>();
        json_schema!({ "anyOf": [{ "type": "array", "minItems": 1, "items": true }, range, { "const": AUTO }] })
    }
}
