//! The delay of a person: fixed, drawn, or `never`.
//!
//! The n-th pause of a rollout uses one random number per replicate for all products. A person is therefore equally
//! slow under every strategy, and equal distributions give equal pauses.

#[cfg(test)]
use std::borrow::Cow;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::text_or::TextOrMap;
use crate::engine::Streams;
use crate::products::REMAINING_TIME;
use crate::units::{SimDuration, WithUnit};
use crate::world::DurationModel;

/// The delay of a user's action. `None`: the user never acts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserDelay(Option<DurationModel>);

impl UserDelay {
    /// Returns the delay, with measured values read from their file. `None`: the delay is `never`, or a problem was
    /// reported.
    pub(crate) fn check(&self, path: &Path, context: &mut Context<'_>) -> Option<DurationModel> {
        self.0.clone()?.read_values(path, context)
    }
}

/// Returns the delay of a replicate's people at the pause with index `nth` (from 0).
pub(crate) fn pause(model: &DurationModel, streams: &Streams, nth: u64) -> SimDuration {
    model.sample(&mut streams.stream_nth("people", "pause", nth))
}

/// Returns the delay of people who do at once what they do after `delay`, or never.
pub(crate) fn at_once(delay: Option<&DurationModel>) -> DurationModel {
    match delay {
        Some(delay) => delay.scaled(REMAINING_TIME),
        None => DurationModel::Constant(SimDuration::from_secs(1)),
    }
}

/// The delay of approvals.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Approvals"))]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalDelay {
    /// Delay from an approval's request to the approval: fixed, drawn per request, or `never`.
    after: UserDelay,
}

impl ApprovalDelay {
    /// Checks the delay, like [`UserDelay::check`].
    pub(crate) fn check(&self, path: &Path, context: &mut Context<'_>) -> Option<DurationModel> {
        self.after.check(&path.key("after"), context)
    }
}

impl<'de> Deserialize<'de> for UserDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap {
            expecting: "`never`, or a duration such as `5m` or `{median: 5m, sigma: 0.6}`",
            of_text: |text| match text.trim() {
                "never" => Ok(Self(None)),
                _ => SimDuration::parse(text)
                    .map(|delay| Self(Some(delay.into())))
                    .map_err(|error| error.to_string()),
            },
            of_fields: |delay: DurationModel| Ok(Self(Some(delay))),
        })
    }
}

#[cfg(test)]
impl JsonSchema for UserDelay {
    fn schema_name() -> Cow<'static, str> {
        "UserDelay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let delay = generator.subschema_for::<DurationModel>();
        json_schema!({
            "description": "`never`, or how long a user takes, fixed or drawn.",
            "anyOf": [{ "const": "never" }, delay],
        })
    }
}
