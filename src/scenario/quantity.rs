//! Quantities in files: text with a unit, read by `units::text`, with a JSON Schema for editors.
//!
//! A bare number is read as text, so that it is refused with the mend and not with a remark on types.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, text};

/// A visitor that reads one text, or a number as if it were text, with a function.
pub(super) struct TextVisitor<F> {
    pub(super) expecting: &'static str,
    pub(super) read: F,
}

impl<T, M: fmt::Display, F: FnOnce(&str) -> Result<T, M>> Visitor<'_> for TextVisitor<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
        (self.read)(value).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.visit_str(&value.to_string())
    }
}

/// A quantity as text: its type here, what it holds, how it is read, and how an editor is told.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($holds:ty), $read:expr, $expecting:literal, $pattern:literal, $examples:tt) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct $name(pub(crate) $holds);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor { expecting: $expecting, read: $read }).map($name)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": concat!("Text with a unit: ", $expecting, "."),
                    "pattern": $pattern,
                    "examples": $examples,
                })
            }
        }
    };
}

quantity!(
    /// A duration that is always the same.
    Duration(SimDuration), text::parse_duration,
    "a duration with a unit (ns, us, ms, s, m, h, d)", r"^\s*[0-9].*$", ["90s", "1m30s", "24h"]
);
quantity!(
    /// An amount of data.
    Size(Bytes), text::parse_bytes,
    "an amount of data with a unit (B, kB, MB, GB, KiB, MiB, GiB)", r"^\s*[0-9].*[A-Za-z]\s*$", ["200 MiB", "30 MB"]
);
quantity!(
    /// A rate of data.
    Rate(BytesPerSec), text::parse_rate,
    "a rate of data with a unit (Mbit/s, Gbit/s, MB/s, GB/s)", r"^\s*[0-9].*[A-Za-z]\s*$", ["10 Gbit/s", "1.25 GB/s"]
);
quantity!(
    /// A rate of data, or no limit to it.
    RateLimit(Option<BytesPerSec>), read_rate_limit,
    "a rate of data with a unit (Mbit/s, Gbit/s, MB/s, GB/s), or `unlimited`", r"^\s*([0-9].*[A-Za-z]\s*|unlimited)$",
    ["88 MB/s", "unlimited"]
);
quantity!(
    /// A duration, or no end.
    Timeout(Option<SimDuration>), read_timeout,
    "a duration with a unit (ns, us, ms, s, m, h, d), or `off`", r"^\s*([0-9].*|off)$", ["5m", "off"]
);
quantity!(
    /// A rate of countable things.
    PerTime(PerSecond), text::parse_per_second,
    "a rate with a unit (/s, /min, /h)", r"^\s*[0-9].*/(s|min|h)\s*$", ["1000/s", "600/min"]
);
quantity!(
    /// A share of a whole, or a probability.
    Percent(Share), text::parse_share,
    "a share in percent", r"^\s*[0-9].*%\s*$", ["3%", "0.2 %"]
);

fn read_rate_limit(value: &str) -> Result<Option<BytesPerSec>, crate::units::UnitError> {
    if value.trim() == "unlimited" { Ok(None) } else { text::parse_rate(value).map(Some) }
}

fn read_timeout(value: &str) -> Result<Option<SimDuration>, crate::units::UnitError> {
    if value.trim() == "off" { Ok(None) } else { text::parse_duration(value).map(Some) }
}

pub(crate) use crate::world::CountOrPercent as Amount;

/// A map that keeps the order in which it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OrderedVisitor<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(OrderedVisitor(std::marker::PhantomData)).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for Ordered<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

/// Any value at all; what it must be is decided elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Anything;

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Anything {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Anything".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::reader::tests::read_one;

    #[test]
    fn a_link_may_be_unlimited() {
        assert_eq!(read_one::<RateLimit>("unlimited").map(|limit| limit.0), Ok(None));
        assert_eq!(read_one::<RateLimit>("8 Mbit/s").map(|limit| limit.0), Ok(Some(BytesPerSec::from_mbit(8.0))));
        assert!(read_one::<Rate>("unlimited").is_err());
    }
}
