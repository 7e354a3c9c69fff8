//! Quantities in files: text with a unit, read and written by [`super::text`], with a JSON Schema for editors.
//!
//! A bare number is read as text, so that the error says which unit is missing. Text that is written parses back to
//! exactly the same value.

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;
use std::fmt;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
#[cfg(any(test, feature = "schema"))]
use serde_json::{Map, Value, json};

use super::text::{self, WithUnit};
use super::{Bytes, BytesPerSec, Factor, PerSecond, Share, SimDuration};

/// Removes the defaults of a type's fields from its schema, because they depend on the product.
#[cfg(any(test, feature = "schema"))]
pub fn without_defaults(schema: &mut Schema) {
    for field in schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(Map::values_mut)
    {
        field
            .as_object_mut()
            .and_then(|field| field.remove("default"));
    }
}

/// A map that keeps the order of its source text.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

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
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
            }
        }

        deserializer
            .deserialize_map(OrderedVisitor(std::marker::PhantomData))
            .map(Self)
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(any(test, feature = "schema"))]
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

/// A visitor that reads a text with a function. A number is read as if it were text.
#[derive(Debug)]
pub struct TextVisitor<F> {
    /// A description of the valid texts, for the error message.
    pub expecting: &'static str,
    /// The function that parses the text.
    pub read: F,
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

/// Implements reading and writing of a quantity as text, and its schema. Arguments: name in the schema, expected
/// format, and examples.
macro_rules! quantity {
    ($($type:ty, $name:literal, $expecting:literal, $examples:tt;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor { expecting: $expecting, read: <$type>::parse })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.exact())
            }
        }

        #[cfg(any(test, feature = "schema"))]
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                text_schema($expecting, &<$type>::pattern(), &json!($examples))
            }
        }
    )*};
}

/// Returns the schema of a text with a unit. `pattern` has no anchors.
#[cfg(any(test, feature = "schema"))]
fn text_schema(expecting: &str, pattern: &str, examples: &Value) -> Schema {
    json_schema!({
        "type": "string",
        "description": format!("Text with a unit: {expecting}."),
        "pattern": format!(r"^\s*{pattern}\s*$"),
        "examples": examples,
    })
}

quantity! {
    SimDuration, "Duration", "a duration with a unit (ns, us, ms, s, m, h, d)", ["90s", "1m30s", "24h"];
    Bytes, "Size", "an amount of data with a unit (B, kB, MB, GB, KiB, MiB, GiB)", ["200 MiB", "30 MB"];
    BytesPerSec, "Rate", "a rate of data with a unit (Mbit/s, Gbit/s, MB/s, GB/s)", ["10 Gbit/s", "1.25 GB/s"];
    PerSecond, "PerTime", "a rate with a unit (/s, /min, /h)", ["1000/s", "600/min"];
    Share, "Percent", "a share in percent", ["3%", "0.2 %"];
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor {
            expecting: "a number",
            read: text::parse_factor,
        })
    }
}

impl Serialize for Factor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = self.get();
        if number.fract() == 0.0 && number < 1e15 {
            serializer.serialize_u64(number as u64)
        } else {
            serializer.serialize_f64(number)
        }
    }
}

#[cfg(any(test, feature = "schema"))]
impl JsonSchema for Factor {
    fn schema_name() -> Cow<'static, str> {
        "Factor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "examples": [3] })
    }
}

/// A type of setting whose values may have to be greater than 0.
pub trait Positive {
    /// A valid value, for the error message.
    const EXAMPLE: &'static str;

    /// Returns whether the value is greater than 0.
    fn is_positive(&self) -> bool;
}

/// Implements [`Positive`] for types, each given with its zero and a valid example.
macro_rules! positive {
    ($($type:ty, $zero:expr, $example:literal;)*) => {$(
        impl Positive for $type {
            const EXAMPLE: &'static str = $example;

            fn is_positive(&self) -> bool {
                *self > $zero
            }
        }
    )*};
}

positive! {
    u32, 0, "1";
    SimDuration, SimDuration::ZERO, "10 s";
    Bytes, Bytes::ZERO, "4 MB";
    BytesPerSec, BytesPerSec::ZERO, "10 Mbit/s";
    PerSecond, PerSecond::ZERO, "100/s";
    Share, Share::NONE, "5%";
}

/// An absent setting is not zero.
impl<T: Positive> Positive for Option<T> {
    const EXAMPLE: &'static str = T::EXAMPLE;

    fn is_positive(&self) -> bool {
        self.as_ref().is_none_or(T::is_positive)
    }
}

/// Reads the sigma of a lognormal factor.
///
/// # Errors
/// If the value is not between 0 and 2.
pub fn spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    checked_spread(f64::deserialize(deserializer)?, 0.1)
}

/// Reads a relative speed.
///
/// # Errors
/// If the value is not between 0.1 and 100.
pub fn speed_factor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let factor = f64::deserialize(deserializer)?;
    if (0.1..=100.0).contains(&factor) {
        return Ok(factor);
    }
    Err(de::Error::custom(format!(
        "must be between 0.1 and 100, not {factor}; 1 is as fast"
    )))
}

/// Returns the sigma of a lognormal factor if it is valid. `usual` is an example for the error.
pub fn checked_spread<E: de::Error>(sigma: f64, usual: f64) -> Result<f64, E> {
    if (0.0..=2.0).contains(&sigma) {
        return Ok(sigma);
    }
    Err(E::custom(format!(
        "must be between 0 and 2, not {sigma}; {usual} is usual"
    )))
}

/// For `#[serde(deserialize_with)]`: reads a value greater than 0.
///
/// # Errors
/// If the value is not greater than 0. The error shows a valid value.
pub fn positive<'de, T: Positive + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    if value.is_positive() {
        Ok(value)
    } else {
        Err(de::Error::custom(format!(
            "must be greater than 0; write e.g. `{}`",
            T::EXAMPLE
        )))
    }
}

/// Defines a limit greater than 0 that may be off: an `Option` in Rust, and a word for `None` in text.
macro_rules! or_word {
    ($(#[$doc:meta])* $module:ident, $type:ty, $schema:literal, $word:literal, $expecting:literal,
     $examples:tt) => {
        $(#[$doc])*
        pub mod $module {
            use super::*;

            /// For `#[serde(with)]`: reads a value greater than 0, or the word.
            ///
            /// # Errors
            /// If the text is neither a value greater than 0 nor the word.
            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<$type>, D::Error> {
                let read = |value: &str| match value.trim() {
                    $word => Ok(None),
                    value => <$type>::parse(value).map(Some).map_err(|error| error.or_word($word)),
                };
                let value = deserializer.deserialize_any(TextVisitor { expecting: $expecting, read })?;
                if value.is_positive() {
                    return Ok(value);
                }
                let example = <$type as Positive>::EXAMPLE;
                Err(de::Error::custom(format!(concat!("must be greater than 0; write e.g. `{}` or `", $word, "`"), example)))
            }

            /// For `#[serde(with)]`: writes a value, or the word for `None`.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize<S: Serializer>(value: &Option<$type>, serializer: S) -> Result<S::Ok, S::Error> {
                match value {
                    Some(value) => value.serialize(serializer),
                    None => serializer.serialize_str($word),
                }
            }

            /// For `#[schemars(with)]`: the type with the schema of these texts.
            #[cfg(any(test, feature = "schema"))]
            #[derive(Debug)]
            pub struct Text;

            #[cfg(any(test, feature = "schema"))]
            impl JsonSchema for Text {
                fn schema_name() -> Cow<'static, str> {
                    $schema.into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    text_schema($expecting, &format!("({}|{})", <$type>::pattern(), $word), &json!($examples))
                }
            }
        }
    };
}

or_word!(
    /// A rate of data, or `unlimited`.
    unlimited,
    BytesPerSec,
    "RateLimit",
    "unlimited",
    "a rate of data with a unit (Mbit/s, Gbit/s, MB/s, GB/s), or `unlimited`",
    ["88 MB/s", "unlimited"]
);
/// For `#[serde(deserialize_with)]`: reads a rate greater than 0, or `unlimited` for [`BytesPerSec::UNLIMITED`].
///
/// # Errors
/// If the text is neither.
pub fn link<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesPerSec, D::Error> {
    Ok(unlimited::deserialize(deserializer)?.unwrap_or(BytesPerSec::UNLIMITED))
}

or_word!(
    /// A duration, or `off`.
    off,
    SimDuration,
    "Timeout",
    "off",
    "a duration with a unit (ns, us, ms, s, m, h, d), or `off`",
    ["5m", "off"]
);

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Serialize + for<'de> Deserialize<'de> + PartialEq + fmt::Debug + Copy>(
        value: T,
        text: &str,
    ) {
        let written = serde_json::to_value(value).expect("a quantity is text");
        assert_eq!(written, text, "{value:?}");
        assert_eq!(
            serde_json::from_value::<T>(written).expect("it reads back"),
            value
        );
    }

    /// Returns whether an editor accepts a text, by the pattern of its type.
    fn accepts<T: JsonSchema>(text: &str) -> bool {
        let schema = T::json_schema(&mut SchemaGenerator::default());
        let pattern = schema
            .get("pattern")
            .and_then(Value::as_str)
            .expect("a text has a pattern");
        regex::Regex::new(pattern)
            .expect("a regular expression")
            .is_match(text)
    }

    #[test]
    fn the_schema_rejects_the_same_texts_as_the_program() {
        let refused = [
            accepts::<BytesPerSec>("2 Gbit"),
            accepts::<BytesPerSec>("10 GB"),
            accepts::<BytesPerSec>("100"),
            accepts::<BytesPerSec>("unlimited"),
            accepts::<Bytes>("30 MB/s"),
            accepts::<Bytes>("30 mb"),
            accepts::<SimDuration>("90"),
            accepts::<SimDuration>("5 minutes"),
            accepts::<SimDuration>("1m30"),
            accepts::<PerSecond>("1000"),
            accepts::<PerSecond>("1000/d"),
            accepts::<Share>("3"),
            accepts::<Share>("-3%"),
            accepts::<off::Text>("none"),
        ];
        assert_eq!(refused, [false; 14]);
        let accepted = [
            accepts::<BytesPerSec>("2 Gbit/s"),
            accepts::<BytesPerSec>("100Mbps"),
            accepts::<unlimited::Text>("unlimited"),
            accepts::<unlimited::Text>(" 88 MB/s "),
            accepts::<Bytes>("1_000.5 MiB"),
            accepts::<SimDuration>("1h2m3.5s"),
            accepts::<SimDuration>("0"),
            accepts::<SimDuration>("1.5 h"),
            accepts::<PerSecond>("600 /min"),
            accepts::<Share>("0.2 %"),
            accepts::<off::Text>("off"),
            accepts::<off::Text>("5m"),
        ];
        assert_eq!(accepted, [true; 12]);
    }

    proptest::proptest! {
        /// Editor and program agree on every text, except on numbers that are out of range.
        #[test]
        fn schema_patterns_accept_exactly_the_texts_that_the_program_reads(
            text in r"[ +]?[0-9.]{0,3}[0-9_]{0,2} ?(ns|us|ms|s|m|min|h|d|B|kB|MiB|GB|bit/s|Gbit/s|Mbps|MB/s|/s|/min|%|x)?([0-9]s)? ?",
        ) {
            fn agree<T: WithUnit + JsonSchema>(text: &str) {
                let is_read = match T::parse(text) {
                    Ok(_) => true,
                    Err(error) => error.to_string().contains("is out of range"),
                };
                // Leading separators are readable in numbers, but the pattern does not need to allow them.
                if !text.trim_start_matches([' ', '+', '.']).starts_with('_') {
                    assert_eq!(accepts::<T>(text), is_read, "{text:?} as {}", T::schema_name());
                }
            }
            agree::<SimDuration>(&text);
            agree::<Bytes>(&text);
            agree::<BytesPerSec>(&text);
            agree::<PerSecond>(&text);
            agree::<Share>(&text);
        }
    }

    #[test]
    fn quantities_read_back_as_they_were_written() {
        round_trip(SimDuration::ZERO, "0 s");
        round_trip(SimDuration::from_secs(300), "5 min");
        round_trip(SimDuration::from_millis(1500), "1.5 s");
        round_trip(SimDuration::from_millis(25), "25 ms");
        round_trip(
            SimDuration::from_nanos(123_456_789_012_345),
            "123456.789012345 s",
        );
        round_trip(Bytes::new(131_072), "128 KiB");
        round_trip(Bytes::new(4_000_000), "4 MB");
        round_trip(Bytes::new(1460), "1460 B");
        round_trip(BytesPerSec::from_gbit(10.0), "10 Gbit/s");
        round_trip(BytesPerSec::new(88e6), "88 MB/s");
        round_trip(BytesPerSec::from_mbit(100.0), "100 Mbit/s");
        round_trip(PerSecond::new(1000.0), "1000/s");
        round_trip(PerSecond::new(600.0 / 60.0), "10/s");
        round_trip(Share::new(0.064), "6.4%");
        round_trip(Share::ALL, "100%");
        for odd in [1.0 / 3.0, 12_345.678_901_234, 1e-9] {
            let rate = BytesPerSec::new(odd);
            let text = serde_json::to_value(rate).expect("text");
            assert_eq!(
                serde_json::from_value::<BytesPerSec>(text).expect("it reads back"),
                rate
            );
        }
    }
}
