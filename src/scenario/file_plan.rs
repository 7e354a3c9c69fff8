//! `plan`: what to search for and among what, as written.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

use super::quantity::{Anything, Ordered};
use crate::units::Share;

/// What `fleetsim plan` searches for, and among what.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct PlanFile {
    /// What a setting must keep to, e.g. `registry.egress_p99 < 8 Gbit/s`. Default: the limits of `assert`.
    pub(crate) limits: Option<Vec<String>>,
    /// The candidates: a path below `strategies` -> its values, or a range. Default: those paths of `sweep`.
    pub(crate) search: Option<Ordered<SearchFile>>,
    /// The time that is to be short, with the statistic over the runs. Default: `completion_median`.
    pub(crate) fastest: Option<String>,
    /// How sure the comparisons have to be. Default: 95%.
    pub(crate) confidence: Option<Share>,
    /// Times that differ by less are one. Default: 1%.
    pub(crate) indifference: Option<Share>,
    /// Runs in which the setting that is named has kept to all limits. Default: 10, or `replicates` where that is less.
    pub(crate) confirm: Option<u32>,
    /// The search stops after so many runs. Default: candidates times `replicates`, which it never needs.
    pub(crate) runs: Option<u64>,
}

/// The values of a path: a list as in a sweep, or a range. They are taken from the tree, where they know their place;
/// reading them here finds what is neither.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchFile;

/// Values from one to another, each the same ratio above the one before.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read for its errors alone, see `SearchFile`")]
struct RangeFile {
    /// The least, e.g. `1%`.
    from: Anything,
    /// The greatest, in the same unit.
    to: Anything,
    /// How many, both ends included; those that round to the same whole number are one.
    steps: u32,
}

impl<'de> Deserialize<'de> for SearchFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SearchFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of values, or a range such as `{from: 1%, to: 100%, steps: 20}`")
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

impl JsonSchema for SearchFile {
    fn schema_name() -> Cow<'static, str> {
        "Search".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let range = generator.subschema_for::<RangeFile>();
        json_schema!({ "anyOf": [{ "type": "array", "minItems": 1, "items": true }, range] })
    }
}
