//! `cloudFoundry` of an experiment file as its author wrote it: the product's request, and what the product leaves to
//! people and to other apps.
//!
//! What goes into the request is kept as it is written, because the product judges wrong types with messages of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use super::spread::Spread;
use crate::rollout::cloud_foundry::{CloudFoundryBugs, DeploymentStrategy, RuleSet, SupersededState};

/// A deployment of Cloud Foundry, from a request's body or in place; what is in place counts before the file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CloudFoundryFile {
    /// A body of `POST /v3/deployments`, which counts where nothing is set here.
    pub(crate) file: Option<String>,
    /// `rolling`, or `canary` with pauses. Default: rolling.
    #[schemars(with = "Option<DeploymentStrategy>")]
    pub(crate) strategy: Option<serde_json::Value>,
    /// The request's `max_in_flight`: new instances that may be started beyond those that are routable. Default: 1.
    #[schemars(with = "Option<u64>")]
    pub(crate) max_in_flight: Option<serde_json::Value>,
    /// The request's `canary.steps`: `[{instance_weight: 10}, {instance_weight: 50}]`. Default: one step with one
    /// instance.
    #[schemars(with = "Option<Vec<BTreeMap<String, u8>>>")]
    pub(crate) canary_steps: Option<serde_json::Value>,
    /// What the product does, or what its proposals promise. Default: shipped.
    pub(crate) rules: Option<RuleSet>,
    /// Mistakes of the product to reproduce. Default: all with `shipped`, none with `documented`.
    pub(crate) defects: Option<CloudFoundryDefectsFile>,
    /// A deployment that is still on its way when this one is created, and ends with it. Default: none.
    pub(crate) supersedes: Option<SupersededFile>,
    /// How long a user takes to continue a paused deployment, drawn for every pause, or `never`. Default: never.
    pub(crate) continue_after: Option<UserFile>,
    /// When a user cancels the deployment, if it is still on its way, from its creation on, or `never`. Default: never.
    pub(crate) cancel_after: Option<UserFile>,
    /// What the app's instances must fit into. Default: no limit.
    pub(crate) quota: Option<QuotaFile>,
}

/// What Cloud Foundry's authors would call a bug: `true` reproduces it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CloudFoundryDefectsFile {
    /// Instances of a superseded canary count as old ones in the very pass that takes them away.
    pub(crate) purge: Option<bool>,
    /// A pass that removes an interim process and finishes the deployment fails, and the next one finishes it.
    pub(crate) interim_trap: Option<bool>,
}

impl CloudFoundryDefectsFile {
    /// What `rules` bring along, but for what is written.
    pub(super) fn over(self, rules: RuleSet) -> CloudFoundryBugs {
        let default = CloudFoundryBugs::of(rules);
        CloudFoundryBugs {
            purge: self.purge.unwrap_or(default.purge),
            interim_trap: self.interim_trap.unwrap_or(default.interim_trap),
        }
    }
}

/// A deployment that is on its way when the next one is created. Its version is, for the clusters, the previous one.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SupersededFile {
    /// Instances of its process, all of them routable.
    pub(crate) instances: Option<u32>,
    /// `DEPLOYING` (rolling, or a canary after its last step), `PREPAUSED` (a canary on the way to a step) or `PAUSED`.
    pub(crate) state: Option<SupersededState>,
}

/// Limits of the app's organization and space.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct QuotaFile {
    /// Of the organization. Default: no limit.
    pub(crate) organization: Option<LimitsFile>,
    /// Of the space. Default: no limit.
    pub(crate) space: Option<LimitsFile>,
}

/// Limits on what all started processes together ask for, and what other apps use of them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LimitsFile {
    /// The name, for messages. Default: empty.
    pub(crate) name: Option<String>,
    /// Instances (the quota's `apps.total_instances`). Default: no limit.
    pub(crate) total_instances: Option<u64>,
    /// Megabytes of memory (the quota's `apps.total_memory_in_mb`); an instance has 1024. Default: no limit.
    pub(crate) total_memory_in_mb: Option<u64>,
    /// Instances of other apps. Default: 0.
    pub(crate) other_instances: Option<u64>,
    /// Megabytes of memory of other apps. Default: 0.
    pub(crate) other_memory_in_mb: Option<u64>,
}

/// When a user does something. `None`: never.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserFile(pub(crate) Option<Box<Spread>>);

impl<'de> Deserialize<'de> for UserFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UserVisitor;

        impl<'de> Visitor<'de> for UserVisitor {
            type Value = UserFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`never`, or a duration such as `5m` or `{median: 5m, sigma: 0.6}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<UserFile, E> {
                if text == "never" {
                    return Ok(UserFile(None));
                }
                Spread::deserialize(text.into_deserializer()).map(|spread| UserFile(Some(Box::new(spread))))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<UserFile, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<UserFile, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<UserFile, A::Error> {
                Spread::deserialize(MapAccessDeserializer::new(map)).map(|spread| UserFile(Some(Box::new(spread))))
            }
        }

        deserializer.deserialize_any(UserVisitor)
    }
}

impl JsonSchema for UserFile {
    fn schema_name() -> Cow<'static, str> {
        "User".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let spread = generator.subschema_for::<Spread>();
        json_schema!({
            "description": "`never`, or how long a user takes, fixed or drawn.",
            "anyOf": [{ "const": "never" }, spread],
        })
    }
}
