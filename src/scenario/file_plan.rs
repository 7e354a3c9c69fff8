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
    /// Limits that a setting must meet, e.g. `registry.egress_p99 < 8 Gbit/s`. By default those of `assert`. `==` and
    /// `!=` compare every run, without a statistic.
    pub(crate) limits: Option<Vec<String>>,
    /// The candidates: a path below `strategies`, and its values or a range. By default those paths of `sweep`. The
    /// setting to minimise or maximise may also be one of the world. `strategies.NAME: auto` searches the settings of
    /// its product.
    pub(crate) search: Option<Ordered<SearchFile>>,
    /// A measure with its statistic over the runs, or a swept or searched setting, to minimise. By default
    /// `reachable_ready_median`.
    pub(crate) minimise: Option<String>,
    /// A swept or searched setting to maximise, instead of `minimise`.
    pub(crate) maximise: Option<String>,
    /// Confidence of each comparison; at least 50% and less than 100%.
    pub(crate) confidence: Share,
    /// Values of the objective that differ by a smaller share count as equal.
    pub(crate) indifference: Share,
    /// Number of runs in which the recommended setting must have met all limits. By default 59, which show with 95%
    /// confidence that 95% of all runs meet them; with another `confidence` as many as it needs.
    pub(crate) confirm: Option<u32>,
    /// Maximum number of settings of each strategy and world that are tried. The search then chooses them, and the
    /// plan shows the front of time against load and exposure with the present setting. By default all are tried, and
    /// with `auto` 100.
    pub(crate) tries: Option<u32>,
    /// Maximum number of runs. The search then stops and reports the best setting so far. By default there is no
    /// limit.
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

/// The keyword for the settings of a product's strategies.
pub(super) const AUTO: &str = "auto";

/// The values of a path: a list as in a sweep, or a range. They are taken from the tree, where their positions are
/// known; deserializing them here only detects other kinds of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchFile;

/// Values from one to another, each greater than the previous one by the same ratio.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read for its errors alone, see `SearchFile`")]
struct RangeFile {
    /// The lower end, e.g. `1%`.
    from: Value,
    /// The upper end, in the same unit.
    to: Value,
    /// Number of values, both ends included. Values that round to the same whole number count once.
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
