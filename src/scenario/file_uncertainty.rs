//! `uncertainty` as written: the uncertain constants, the number of draws, and the user's own ranges.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::text_or::FromText;
use crate::units::serial::Ordered;

/// Default number of draws: the minimum and the maximum of 39 draws enclose another draw with a probability of 38/40 =
/// 95 %.
const DRAWS: u32 = 39;

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UncertaintyFields {
    /// Number of draws of the constants, from 0 to 10000. Each draw is a run of every variant.
    #[serde(default = "draws")]
    pub(crate) draws: u32,
    /// Constants that you know and that do not vary. Use the paths that `fleetsim assumptions` prints.
    #[serde(default)]
    pub(crate) known: Vec<String>,
    /// Your own ranges: the path of a constant, and `{low: …, high: …}`.
    #[serde(default)]
    #[cfg_attr(
        test,
        schemars(with = "std::collections::BTreeMap<String, UncertainRange>")
    )]
    pub(crate) ranges: Ordered<UncertainRange>,
}

/// The minimum and the maximum plausible value of a constant.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UncertainRange {
    /// The minimum plausible value, as an experiment would write it.
    pub(crate) low: RangeEnd,
    /// The maximum plausible value, as an experiment would write it.
    pub(crate) high: RangeEnd,
}

/// A text with a unit, or a number.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub(crate) enum RangeEnd {
    /// An end with a unit.
    Text(String),
    /// An end without a unit.
    Number(f64),
}

impl RangeEnd {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

const fn draws() -> u32 {
    DRAWS
}

impl FromText for UncertaintyFields {
    const NAME: &'static str = "Uncertainty";
    const EXPECTING: &'static str = "`constants`, or `{draws: 39, known: [fleet[*].downlink]}`";
    const EXAMPLES: &'static [&'static str] = &["constants"];

    fn of_text(text: &str) -> Result<Self, String> {
        match text.trim() {
            "constants" => Ok(Self {
                draws: DRAWS,
                known: Vec::new(),
                ranges: Ordered::default(),
            }),
            other => Err(format!("expected {}, not `{other}`", Self::EXPECTING)),
        }
    }
}
