//! A number or a share of a count, like Kubernetes' `intstr`.

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use fleetsim_units::serial::TextVisitor;

/// A number or a share of a count, like Kubernetes' `intstr`. Each rule rounds in its own way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CountOrPercent {
    /// A plain number.
    Count(u32),
    /// A percentage, in whole percent as Kubernetes' workload controllers accept it.
    Percent(u32),
}

impl CountOrPercent {
    /// Returns whether the value is 0 or 0%.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }
}

impl<'de> Deserialize<'de> for CountOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |value: &str| {
            let percent = value.strip_suffix('%');
            let digits = percent.unwrap_or(value);
            match digits.parse::<u32>() {
                // Kubernetes accepts no sign, spaces or fraction here.
                Ok(number) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Ok(match percent {
                        Some(_) => CountOrPercent::Percent(number),
                        None => CountOrPercent::Count(number),
                    })
                }
                _ => Err(format!(
                    "`{value}` is neither a count nor a whole percentage; write e.g. `2` or `25%`"
                )),
            }
        };
        deserializer.deserialize_any(TextVisitor {
            expecting: "a count or a percentage",
            read,
        })
    }
}

impl Serialize for CountOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::Percent(percent) => serializer.serialize_str(&format!("{percent}%")),
        }
    }
}

#[cfg(any(test, feature = "schema"))]
impl JsonSchema for CountOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "CountOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A count, or a whole percentage as text.",
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": "^[0-9]+%?$",
            "examples": [2, "25%"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::reader::tests::read_one;

    #[test]
    fn amounts_are_counts_or_whole_percentages() {
        for (text, amount) in [
            ("2", CountOrPercent::Count(2)),
            ("25%", CountOrPercent::Percent(25)),
            ("\"2\"", CountOrPercent::Count(2)),
        ] {
            assert_eq!(read_one::<CountOrPercent>(text), Ok(amount), "{text}");
        }
        for text in ["-1", "2.5%", "25 %", "x", "\"%\"", "2.5"] {
            let error = read_one::<CountOrPercent>(text).expect_err(text);
            assert!(
                error.contains("is neither a count nor a whole percentage"),
                "{text}: {error}"
            );
        }
    }
}
