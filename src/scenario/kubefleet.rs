//! What an experiment file says of KubeFleet, as its author wrote it, and the fleet as KubeFleet's rules see it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::Scenario;
use super::spread::Spread;
use crate::rollout::kubefleet::{KubeFleetBugs, MemberCluster, RuleSet, StageConfig};
use crate::rollout::rancher_fleet::IntOrString;
use crate::world::ClusterSpec;

impl Scenario {
    /// The clusters as KubeFleet's rules see them, in the fleet's order.
    #[must_use]
    pub fn kubefleet_clusters(&self) -> Vec<MemberCluster> {
        member_clusters(&self.world.clusters)
    }
}

pub(super) fn member_clusters(clusters: &[ClusterSpec]) -> Vec<MemberCluster> {
    let member = |cluster: &ClusterSpec| MemberCluster {
        name: cluster.name.clone(),
        labels: cluster.labels.clone(),
        left: false,
    };
    clusters.iter().map(member).collect()
}

/// A run of KubeFleet's ClusterStagedUpdateStrategy, from a real file or in place; what is in place counts before the
/// file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct KubeFleetStagedFile {
    /// A file with a ClusterStagedUpdateStrategy, whose stages count where there are none here.
    pub(crate) file: Option<String>,
    /// What the product does, or what its documents promise. Default: shipped.
    pub(crate) rules: Option<RuleSet>,
    /// Mistakes of the product to reproduce. Default: all with `shipped`, none with `documented`.
    pub(crate) defects: Option<DefectsFile>,
    /// The stages, in order.
    pub(crate) stages: Option<Vec<StageConfig>>,
    /// When approvals that the stages ask for are given. Required if they ask for any.
    pub(crate) approvals: Option<ApprovalsFile>,
}

/// The RollingUpdate of KubeFleet's ClusterResourcePlacement, from a real file or in place; what is in place counts
/// before the file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct KubeFleetRollingFile {
    /// A file with a ClusterResourcePlacement, whose limits count where nothing is set here.
    pub(crate) file: Option<String>,
    /// What the product does, or what its documents promise. Default: shipped.
    pub(crate) rules: Option<RuleSet>,
    /// Mistakes of the product to reproduce. Default: all with `shipped`, none with `documented`.
    pub(crate) defects: Option<DefectsFile>,
    /// Clusters that need not be ready, or a share of all, rounded up. Default: 25%.
    pub(crate) max_unavailable: Option<IntOrString>,
    /// Clusters above the number asked for that may have the resources, or a share, rounded up. Default: 25%.
    pub(crate) max_surge: Option<IntOrString>,
    /// Seconds after which a pass with anything not ready is repeated. Default: 60.
    pub(crate) unavailable_period_seconds: Option<i64>,
}

/// What KubeFleet's authors would call a bug: `true` reproduces it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DefectsFile {
    /// A cluster whose work is still being applied or coming up counts as failed.
    pub(crate) in_progress_is_failure: Option<bool>,
    /// A run without any selected cluster ends as failed once the last binding that it deletes is gone.
    pub(crate) delete_only_run_fails: Option<bool>,
    /// A condition that is true again at a newer generation does not wake the rolling update.
    pub(crate) missed_wake_ups: Option<bool>,
}

impl DefectsFile {
    /// What `rules` bring along, but for what is written.
    pub(super) fn over(self, rules: RuleSet) -> KubeFleetBugs {
        let default = KubeFleetBugs::of(rules);
        KubeFleetBugs {
            in_progress_is_failure: self.in_progress_is_failure.unwrap_or(default.in_progress_is_failure),
            delete_only_run_fails: self.delete_only_run_fails.unwrap_or(default.delete_only_run_fails),
            missed_wake_ups: self.missed_wake_ups.unwrap_or(default.missed_wake_ups),
        }
    }
}

/// How approvals are given.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApprovalsFile {
    /// From an approval being asked for to its being given: fixed, drawn anew for each, or `never`.
    pub(crate) after: ApprovalDelay,
}

/// A spread, or `never`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApprovalDelay(pub(crate) Option<Spread>);

impl<'de> Deserialize<'de> for ApprovalDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DelayVisitor;

        fn some(spread: Spread) -> ApprovalDelay {
            ApprovalDelay(Some(spread))
        }

        impl<'de> Visitor<'de> for DelayVisitor {
            type Value = ApprovalDelay;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as `10 min`, `{median: 10 min, sigma: 0.5}`, or `never`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ApprovalDelay, E> {
                if text.trim() == "never" {
                    return Ok(ApprovalDelay(None));
                }
                Spread::deserialize(text.into_deserializer()).map(some)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ApprovalDelay, A::Error> {
                Spread::deserialize(MapAccessDeserializer::new(map)).map(some)
            }
        }

        deserializer.deserialize_any(DelayVisitor)
    }
}

impl JsonSchema for ApprovalDelay {
    fn schema_name() -> Cow<'static, str> {
        "ApprovalDelay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let spread = generator.subschema_for::<Spread>();
        json_schema!({ "anyOf": [{ "const": "never" }, spread] })
    }
}
