//! A user's request: the body of `POST /v3/deployments`, and its validation by the product.
//!
//! Follows `app/messages/deployment_create_message.rb` and `process_scale_message.rb`. A body is stored unchanged,
//! because the product reports wrong types with its own messages, and rejects unknown fields itself. The options
//! match those of `cf push --strategy --max-in-flight --instance-steps`. `relationships`, `metadata`, and the content
//! of `droplet` and `revision` are ignored.

mod error;
mod number;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

pub use error::RequestError;
pub use number::{NumberField, NumberProblem};

use super::json::Json;
use crate::units::serial::Ordered;
use read::{read_options, unknown_keys, unreadable};

/// Replacement of the old version by the new one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentStrategy {
    /// Without a pause.
    #[default]
    Rolling,
    /// With a pause after each step, until a user continues.
    Canary,
}

impl fmt::Display for DeploymentStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rolling => "rolling",
            Self::Canary => "canary",
        })
    }
}

/// A body of `POST /v3/deployments`, unchanged. [`check`](Self::check) interprets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DeploymentRequest(Json);

/// A checked request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeploymentOptions {
    /// The deployment strategy.
    pub strategy: DeploymentStrategy,
    /// New instances that may be started beyond those that are routable; at least 1.
    pub max_in_flight: u64,
    /// Final number of instances. `None`: unchanged.
    pub web_instances: Option<u32>,
    /// Memory of a new instance. `None`: unchanged.
    pub memory_in_mb: Option<u32>,
    /// Disk of a new instance, without effect on the updater. `None`: unchanged.
    pub disk_in_mb: Option<u32>,
    /// Log rate of a new instance, without effect here. `None`: unchanged.
    pub log_rate_limit_in_bytes_per_second: Option<i64>,
    /// The steps' weights in percent, ascending. `None`: one step with one new instance.
    pub canary_steps: Option<Vec<u8>>,
}

impl Default for DeploymentOptions {
    fn default() -> Self {
        Self {
            strategy: DeploymentStrategy::Rolling,
            max_in_flight: 1,
            web_instances: None,
            memory_in_mb: None,
            disk_in_mb: None,
            log_rate_limit_in_bytes_per_second: None,
            canary_steps: None,
        }
    }
}

impl<'de> Deserialize<'de> for DeploymentRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Null => Ok(Self::default()),
            body @ Json::Object(_) => Ok(Self(body)),
            _ => Err(de::Error::custom("a deployment is an object, e.g. `{strategy: rolling}`")),
        }
    }
}

impl DeploymentRequest {
    /// The fields that the product knows.
    pub const FIELDS: [&str; 6] = ["strategy", "options", "droplet", "revision", "relationships", "metadata"];

    /// The fields of `options` that the product knows.
    pub const OPTIONS: [&str; 6] = [
        "max_in_flight",
        "web_instances",
        "memory_in_mb",
        "disk_in_mb",
        "log_rate_limit_in_bytes_per_second",
        "canary",
    ];

    /// The options of the request, if it passes the product's validation and does not make the product fail
    /// afterwards.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn check(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let options = self.validate()?;
        if options.canary_steps.as_ref().is_some_and(Vec::is_empty) {
            return Err(vec![RequestError::EmptySteps]);
        }
        Ok(options)
    }

    /// The options of the request, by the product's validation alone: it accepts an empty list of steps, which cannot
    /// be created.
    ///
    /// # Errors
    /// All errors, in the product's order; at least one.
    pub fn validate(&self) -> Result<DeploymentOptions, Vec<RequestError>> {
        let mut errors = Vec::new();
        let unknown = unknown_keys(&self.0, &Self::FIELDS);
        if !unknown.is_empty() {
            errors.push(RequestError::UnknownFields(unknown));
        }
        let mut found = DeploymentOptions::default();
        match self.0.at("strategy") {
            Json::Null => {}
            Json::Text(text) if text == "rolling" => {}
            Json::Text(text) if text == "canary" => found.strategy = DeploymentStrategy::Canary,
            other => errors.push(RequestError::Strategy(other.to_string())),
        }
        if !self.0.at("droplet").is_blank() && !self.0.at("revision").is_blank() {
            errors.push(RequestError::DropletAndRevision);
        }
        match self.0.at("options") {
            options if options.is_blank() => {
                // Validation ends here. The product fails when it reads options that should not have passed.
                if errors.is_empty() {
                    errors.extend(unreadable(options));
                }
            }
            options @ Json::Object(_) => read_options(options, &mut found, &mut errors),
            _ => errors.push(RequestError::OptionsNotObject),
        }
        if errors.is_empty() { Ok(found) } else { Err(errors) }
    }

    /// This request, with every field that `other` sets replaced, option by option.
    #[must_use]
    pub fn overridden_by(mut self, other: Self) -> Self {
        let Json::Object(Ordered(fields)) = other.0 else { return self };
        for (key, value) in fields {
            match value {
                Json::Object(Ordered(options)) if key == "options" => {
                    let mut merged = self.0.at("options").clone();
                    options.into_iter().for_each(|(option, value)| merged.set(&option, value));
                    self.0.set("options", merged);
                }
                value => self.0.set(&key, value),
            }
        }
        self
    }
}
