//! The product's own objects: strategies, runs and placements.
//!
//! Follows `apis/placement/v1beta1/{stageupdate,clusterresourceplacement}_types.go`. Unknown fields are ignored,
//! because real objects have many. Only types are checked here; [`super::validate`] performs the admission checks.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::IntOrString;
use super::super::label_selector::{LabelSelector, null_is_default};
use super::duration::parse_duration;
use fleetsim_units::SimDuration;

/// The name of an object.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ObjectMeta {
    /// The object's name, unique among the objects of its kind.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
}

/// The parts of an object that affect a rollout.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct KubeFleetObject<Spec> {
    /// The object's name.
    pub metadata: ObjectMeta,
    /// The object's specification.
    pub spec: Spec,
}

/// `kind: ClusterStagedUpdateStrategy`, whose name runs refer to.
pub type ClusterStagedUpdateStrategy = KubeFleetObject<StrategySpec>;

/// `kind: ClusterStagedUpdateRun`.
pub type ClusterStagedUpdateRun = KubeFleetObject<RunSpec>;

/// `kind: ClusterResourcePlacement`.
pub type ClusterResourcePlacement = KubeFleetObject<PlacementSpec>;

/// The stages of a strategy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default)]
pub struct StrategySpec {
    /// The stages in the order in which they are updated; at most 31.
    #[serde(deserialize_with = "null_is_default")]
    pub stages: Vec<StageConfig>,
}

/// One stage.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StageConfig {
    /// The stage's name: lowercase letters and digits, at most 63 characters.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// Selects member clusters. Absent: selects no cluster; `{}`: selects all.
    pub label_selector: Option<LabelSelector>,
    /// The label whose numeric value determines the order of clusters; ties are ordered by name. Absent: all are
    /// ordered by name.
    pub sorting_label_key: Option<String>,
    /// Number of concurrent clusters, or a share of the stage, rounded down to at least 1. Absent: 1.
    pub max_concurrency: Option<IntOrString>,
    /// Tasks before the stage starts: at most one `Approval`.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub before_stage_tasks: Vec<StageTask>,
    /// Tasks after the stage, before the next one starts: an `Approval`, a `TimedWait`, or both.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub after_stage_tasks: Vec<StageTask>,
}

/// One task of a stage.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StageTask {
    /// `Approval` or `TimedWait`.
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    /// Duration of a `TimedWait`, in h, m and s: `1h30m`.
    pub wait_time: Option<String>,
}

/// The specification of a run. All fields except the state are immutable.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSpec {
    /// The placement whose clusters the run updates.
    #[serde(deserialize_with = "null_is_default")]
    pub placement_name: String,
    /// The resource snapshot to roll out, a number in quotes. Empty: the newest.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub resource_snapshot_index: String,
    /// The strategy whose stages the run executes.
    #[serde(deserialize_with = "null_is_default")]
    pub staged_rollout_strategy_name: String,
    /// Requested state. Absent: `Initialize`.
    pub state: Option<RunState>,
}

/// The requested state of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum RunState {
    /// Compute the stages, then wait.
    #[default]
    Initialize,
    /// Start or continue updating clusters.
    Run,
    /// Start no further clusters.
    Stop,
}

/// The requested clusters, and how they are updated.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PlacementSpec {
    /// Which clusters are requested. Absent: `PickAll`.
    pub policy: Option<PlacementPolicyConfig>,
    /// The update strategy.
    #[serde(deserialize_with = "null_is_default")]
    pub strategy: PlacementStrategy,
}

/// The clusters that a placement requests. How they are picked (affinity, tolerations) is ignored here.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementPolicyConfig {
    /// `PickAll`, `PickN` or `PickFixed`. Absent: `PickAll`.
    pub placement_type: Option<String>,
    /// Number of clusters for `PickN`.
    pub number_of_clusters: Option<i32>,
    /// Names of clusters for `PickFixed`.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cluster_names: Vec<String>,
}

/// Rollout strategy of a placement.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementStrategy {
    /// `RollingUpdate`, or `External` for staged update runs. Absent: `RollingUpdate`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Limits for `RollingUpdate`. Absent: all defaults.
    pub rolling_update: Option<RollingUpdateConfig>,
    /// Method of applying the resources in a cluster.
    pub apply_strategy: Option<ApplyStrategyConfig>,
}

/// Method of applying the resources in a cluster; only its kind is read.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ApplyStrategyConfig {
    /// `ClientSideApply`, `ServerSideApply` or `ReportDiff`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// The limits of a rolling update.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdateConfig {
    /// Number or share of requested clusters that may be unavailable; a share is rounded up. Absent: 25%.
    pub max_unavailable: Option<IntOrString>,
    /// Number or share of additional clusters that may have the resources. A share is rounded up. Absent: 25%.
    pub max_surge: Option<IntOrString>,
    /// Seconds until resources without availability tracking count as available. A pass with bindings that are not
    /// ready is also repeated after this time. Absent: 60.
    pub unavailable_period_seconds: Option<i64>,
}

impl StageTask {
    /// Returns the duration of a `TimedWait`; 0 if it cannot be parsed.
    pub(super) fn wait(&self) -> SimDuration {
        self.wait_time
            .as_deref()
            .and_then(parse_duration)
            .unwrap_or_default()
    }

    /// Returns whether the task is a `TimedWait` of 0.
    pub(super) fn is_wait_of_zero(&self) -> bool {
        self.kind == "TimedWait" && self.wait().is_zero()
    }
}

impl StrategySpec {
    /// Sets `maxConcurrency` to 1 where it is absent, like the product's admission.
    pub fn with_defaults(mut self) -> Self {
        for stage in &mut self.stages {
            stage.max_concurrency.get_or_insert(IntOrString::Int(1));
        }
        self
    }
}

impl PlacementSpec {
    /// Returns the number of requested clusters; `None`: all that match. A missing or negative number is 0, which
    /// admission rejects.
    pub fn requested(&self) -> Option<u32> {
        let policy = self.policy.as_ref()?;
        match policy.placement_type.as_deref()? {
            "PickN" => Some(
                policy
                    .number_of_clusters
                    .and_then(|n| u32::try_from(n).ok())
                    .unwrap_or(0),
            ),
            "PickFixed" => Some(policy.cluster_names.len() as u32),
            _ => None,
        }
    }

    /// Returns whether staged update runs update the placement, instead of the rolling update.
    pub fn is_external(&self) -> bool {
        self.strategy.kind.as_deref() == Some("External")
    }

    /// Returns the placement's limits for a rolling update, or the defaults if it has no limits.
    pub fn rolling_update(&self) -> RollingUpdateConfig {
        self.strategy.rolling_update.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strategy in the format of the product's documentation.
    const STRATEGY: &str = r#"
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata:
  name: by-ring
  annotations: {owner: shop}
spec:
  stages:
    - name: first
      labelSelector: {matchLabels: {ring: "0"}}
      afterStageTasks:
        - type: TimedWait
          waitTime: 1h
    - name: rest
      labelSelector:
      sortingLabelKey: order
      maxConcurrency: 10%
      somethingNewer: 7
      beforeStageTasks: [{type: Approval}]
      afterStageTasks: null
"#;

    #[test]
    fn real_objects_are_read_with_their_other_fields() {
        let strategy: ClusterStagedUpdateStrategy =
            serde_saphyr::from_str(STRATEGY).expect("it is read");
        assert_eq!(strategy.metadata.name, "by-ring");
        let [first, rest] = &strategy.spec.stages[..] else {
            panic!("two stages")
        };
        assert_eq!(first.after_stage_tasks[0].wait_time.as_deref(), Some("1h"));
        assert_eq!(
            (&rest.label_selector, &rest.after_stage_tasks),
            (&None, &Vec::new()),
            "null is absent"
        );
        assert_eq!(rest.max_concurrency, Some("10%".into()));
        let filled = strategy.spec.with_defaults();
        assert_eq!(
            filled.stages[0].max_concurrency,
            Some(1.into()),
            "the default of admission"
        );
        assert_eq!(
            filled.stages[1].max_concurrency,
            Some("10%".into()),
            "and what it leaves"
        );

        let placement: ClusterResourcePlacement = serde_saphyr::from_str(
            "{spec: {resourceSelectors: [{kind: Namespace}], policy: {placementType: PickN, numberOfClusters: 3}, \
             strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2, unavailablePeriodSeconds: 5}}}}",
        )
        .expect("it is read");
        assert_eq!(placement.spec.requested(), Some(3));
        assert_eq!(
            placement.spec.rolling_update().max_unavailable,
            Some(2.into())
        );
        assert!(!placement.spec.is_external());
    }

    #[test]
    fn written_objects_are_read_back() {
        let strategy: ClusterStagedUpdateStrategy =
            serde_saphyr::from_str(STRATEGY).expect("it is read");
        let json = serde_json::to_string(&strategy).expect("it is JSON");
        assert_eq!(
            serde_json::from_str::<ClusterStagedUpdateStrategy>(&json).expect("its own"),
            strategy
        );
    }

    #[test]
    fn a_placement_defaults_to_pick_all_and_rolling_update() {
        let spec = PlacementSpec::default();
        assert_eq!(spec.requested(), None);
        assert!(!spec.is_external());
        let fixed = PlacementPolicyConfig {
            placement_type: Some("PickFixed".to_owned()),
            cluster_names: vec!["a".to_owned(), "b".to_owned()],
            ..PlacementPolicyConfig::default()
        };
        let spec = PlacementSpec {
            policy: Some(fixed),
            ..PlacementSpec::default()
        };
        assert_eq!(spec.requested(), Some(2));
    }
}
