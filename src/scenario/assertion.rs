//! `assert`: limits that the results of an experiment must meet, as written and as checked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::text_or::FromText;
use crate::results::{Limit, LimitInfo};

/// A limit that results must meet.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The limit that must be met.
    pub limit: Limit,
    /// The strategy whose variants must meet the limit. `None`: every variant.
    pub strategy: Option<String>,
}

impl Assertion {
    /// Returns the limit in the format of the results.
    #[must_use]
    pub fn info(&self) -> LimitInfo {
        LimitInfo {
            limit: self.limit.to_string(),
            strategy: self.strategy.clone(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertionFields {
    /// A measure, a comparison and a value, e.g. `completion_p95 < 4h`.
    pub(crate) limit: String,
    /// The strategy whose variants must meet the limit. Default: all.
    pub(crate) strategy: Option<String>,
}

/// One entry of `assert`: a limit for all strategies or for one.
impl FromText for AssertionFields {
    const NAME: &'static str = "Assertion";
    const EXPECTING: &'static str =
        "a limit such as `completion_p95 < 4h`, or `{strategy: careful, limit: failed_pulls == 0}`";
    const EXAMPLES: &'static [&'static str] = &["completion_p95 < 4h"];

    fn of_text(limit: &str) -> Result<Self, String> {
        Ok(Self {
            limit: limit.to_owned(),
            strategy: None,
        })
    }
}
