//! Kubernetes' `intstr`: a number, or a text such as a percentage.
//!
//! Follows `k8s.io/apimachinery/pkg/util/intstr`. Each product interprets values itself: they round differently, and
//! some accept more than percentages.

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;
use std::fmt;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A 32-bit integer, or a text such as `10%`. A quoted number is a text, and has a different meaning.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A plain number.
    Int(i32),
    /// A text, unchanged.
    String(String),
}

impl From<i32> for IntOrString {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for IntOrString {
    /// Formats the value as in YAML: numbers and percentages without quotes, any other text in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::String(text) if text.ends_with('%') => f.write_str(text),
            Self::String(text) => write!(f, "{text:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrStringVisitor)
    }
}

#[cfg(any(test, feature = "schema"))]
impl JsonSchema for IntOrString {
    fn schema_name() -> Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A whole number of clusters, or a percentage such as `10%`.",
            "type": ["integer", "string"],
            "minimum": i32::MIN,
            "maximum": i32::MAX,
        })
    }
}

struct IntOrStringVisitor;

impl IntOrStringVisitor {
    fn int<E: de::Error>(
        number: Option<i32>,
        written: de::Unexpected<'_>,
    ) -> Result<IntOrString, E> {
        number
            .map(IntOrString::Int)
            .ok_or_else(|| E::invalid_value(written, &Self))
    }
}

impl Visitor<'_> for IntOrStringVisitor {
    type Value = IntOrString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of at most 32 bits, or a percentage such as `10%`")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Self::int(i32::try_from(number).ok(), de::Unexpected::Signed(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Self::int(i32::try_from(number).ok(), de::Unexpected::Unsigned(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        let whole = number.fract().abs() < f64::MIN_POSITIVE && number.abs() <= 2_147_483_648.0;
        let converted = whole
            .then_some(number as i64)
            .and_then(|number| i32::try_from(number).ok());
        Self::int(converted, de::Unexpected::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(IntOrString::String(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unquoted_number_is_an_int_and_a_quoted_number_a_string() {
        let cases = [
            // written, meaning, why
            ("10", Some(IntOrString::Int(10)), "a number"),
            (
                "-3",
                Some(IntOrString::Int(-3)),
                "no bounds but those of the type",
            ),
            (
                "2147483647",
                Some(IntOrString::Int(i32::MAX)),
                "the largest",
            ),
            ("2147483648", None, "one more"),
            ("-2147483649", None, "one less than the smallest"),
            ("99999999999999999999999", None, "far too large"),
            (
                "10.0",
                Some(IntOrString::Int(10)),
                "a whole number, however it is written",
            ),
            ("5.5", None, "half a cluster"),
            ("\"10\"", Some("10".into()), "quotes make a text"),
            (
                "10%",
                Some("10%".into()),
                "a percentage is a text without quotes too",
            ),
            ("\"\"", Some("".into()), "judged when it is used"),
            ("true", None, "neither"),
            ("[1]", None, "neither"),
        ];
        for (written, meaning, why) in cases {
            let yaml = serde_saphyr::from_str::<IntOrString>(written);
            assert_eq!(yaml.ok(), meaning, "yaml {written}: {why}");
            if !written.ends_with('%') {
                let json = serde_json::from_str::<IntOrString>(written);
                assert_eq!(json.ok(), meaning, "json {written}: {why}");
            }
        }
        let error = serde_json::from_str::<IntOrString>("5.5")
            .expect_err("not whole")
            .to_string();
        assert!(
            error.contains("a whole number of at most 32 bits, or a percentage such as `10%`"),
            "{error}"
        );
    }
}
