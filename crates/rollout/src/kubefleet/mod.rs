//! KubeFleet: which clusters may move to a new version of a placement's resources, and when. Covers staged update
//! runs and the rolling update of a placement.
//!
//! Follows kubefleet-dev/kubefleet at e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6: `pkg/controllers/updaterun/
//! {controller,initialization,validation,execution,stop}.go` ([`staged`]), `pkg/controllers/rollout/controller.go`
//! ([`rolling`]), `pkg/utils/binding/binding.go`, `pkg/controllers/workgenerator/controller.go` and
//! `apis/placement/v1beta1/{stageupdate,clusterresourceplacement}_types.go`. `tests/conformance/kubefleet` holds
//! recorded executions of these controllers; every recorded case is a test.
//!
//! This folder uses KubeFleet's own terms:
//!
//! | word | meaning |
//! |---|---|
//! | placement | the resources to roll out and the number of clusters; its strategy is `RollingUpdate` or `External` |
//! | resource snapshot | one version of the placement's resources; its index is our [`Revision`](super::Revision) |
//! | policy snapshot | one version of the rule that picks clusters |
//! | binding | the object that links a placement to one cluster: Scheduled, then Bound, finally Unscheduled |
//! | rolling a binding | setting its resource snapshot, which its cluster then applies |
//! | update run, stage, task | one execution of the stages of a strategy, with approvals and waits around each stage |
//!
//! [`RuleSet`] selects the shipped rules or the rules that the product's documents describe; [`KubeFleetBugs`]
//! disables known bugs one by one. Under the documented rules, a staged run updates the clusters of a stage one at a
//! time whatever `maxConcurrency` is, requests approvals only after stages and names them `<run>-<stage>`, runs the
//! tasks of a stage without clusters, and starts as soon as it exists. A rolling update has a `maxUnavailable` of at
//! least 1, and no timer repeats a pass that waits for nothing. Surprising shipped rules are kept: a cluster that is
//! merely in progress counts as failed; a staged run observes its clusters only on a timer that then becomes a
//! doubling backoff; a failed apply never ends a run; and `maxUnavailable: 0` never updates anything.
//!
//! Left out: the ranking of the scheduler that picks clusters, overrides per cluster, namespaced placements (the same
//! code), creating a resource snapshot for a run that names none (the newest existing snapshot is used), the deletion
//! of a run, failing API calls, and several runs that share the single worker.

mod binding;
mod config;
mod control_loop;
mod limit;
mod picking;
mod placement;
pub mod rolling;
pub mod staged;
#[cfg(test)]
mod tests;
mod text;
mod validate;
mod version;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duration;
use super::label_selector::Labels;
use super::{by_name, stored};

pub use super::RuleSet;
pub use binding::{
    ApplyStrategy, Binding, BindingState, Bindings, ConditionStatus, WorkReport, WorkState,
    binding_name,
};
pub use config::{
    ApplyStrategyConfig, ClusterResourcePlacement, ClusterStagedUpdateRun,
    ClusterStagedUpdateStrategy, KubeFleetObject, ObjectMeta, PlacementPolicyConfig, PlacementSpec,
    PlacementStrategy, RollingUpdateConfig, RunSpec, RunState, StageConfig, StageTask,
    StrategySpec,
};
pub use control_loop::{CLEAN_UP_WAIT, CLUSTER_UPDATING_WAIT, STAGE_WAIT, STUCK_AFTER};
pub use duration::{format_duration, parse_duration};
pub use limit::{Rounding, ScaledValueError, limit};
pub use picking::{
    ClusterTaint, NotPicked, NotPickedReason, PickedBy, PickedMembers, PickingPlacement,
    PickingSpec, PickingStatus, SchedulableMember,
};
pub use placement::placement_conditions;
pub use validate::InvalidField;
pub use version::KubeFleetVersion;

/// Bugs of the product; `true` reproduces the bug. All are reproduced by default.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct KubeFleetBugs {
    /// A cluster whose work is still being applied or starting counts as failed. The work generator does not write the
    /// reasons that would exempt it (since 447629b0, #670).
    pub in_progress_is_failure: bool,
    /// A run that selects no cluster ends as failed once its last deleted binding is gone.
    pub delete_only_run_fails: bool,
    /// A condition that stays true at a newer generation does not wake the rolling update. This bug exists since
    /// c06ca95c.
    pub missed_wake_ups: bool,
}

impl KubeFleetBugs {
    /// Reproduces no bugs.
    pub const NONE: Self = Self {
        in_progress_is_failure: false,
        delete_only_run_fails: false,
        missed_wake_ups: false,
    };
    /// Reproduces all bugs, as shipped.
    pub const ALL: Self = Self {
        in_progress_is_failure: true,
        delete_only_run_fails: true,
        missed_wake_ups: true,
    };

    /// Returns the default bugs of these rules: the documented rules have none.
    pub const fn of(rules: RuleSet) -> Self {
        match rules {
            RuleSet::Shipped => Self::ALL,
            RuleSet::Documented => Self::NONE,
        }
    }
}

impl Default for KubeFleetBugs {
    fn default() -> Self {
        Self::ALL
    }
}

/// A member cluster of the fleet. Its index in the list is its [`TargetId`](super::TargetId).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MemberCluster {
    /// The cluster's name, unique in the fleet.
    pub name: String,
    /// The labels that stages select and sort by.
    pub labels: Labels,
    /// Whether the cluster's object was deleted; a binding may still refer to it.
    pub left: bool,
}
