//! The status object of a staged update run. This object is the run's memory, and is visible to users.
//!
//! Follows the status types of `apis/placement/v1beta1/stageupdate_types.go` and the reasons of `pkg/utils/condition/
//! reason.go`. Timestamps are whole seconds. Messages are in `conditions.rs`. Left out: observed generations, which
//! never matter because every pass sets them to the run's own.

use super::super::super::label_selector::SelectorError;
use super::super::super::{Revision, TargetId};
use super::super::binding::{ApplyStrategy, Binding, BindingState, ConditionStatus};
use super::super::limit::ScaledValueError;
use super::super::stored;
use fleetsim_units::SimTime;

/// The Progressing condition of the run or of a stage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProgressCondition {
    /// The condition's reason.
    pub reason: RunReason,
    /// Time of the last change of the condition's status, in whole seconds; a change of only the reason does not
    /// count.
    pub since: SimTime,
}

/// The reason why a run or a stage is progressing or not; upstream prefixes the names with `UpdateRun` and
/// `StageUpdating`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunReason {
    /// For a run: clusters are updated or deleted, or a stage starts.
    Progressing,
    /// For a stage: its clusters are updated or deleted.
    Started,
    /// Waiting for a task.
    Waiting,
    /// For a run: some cluster has been updating for more than five minutes.
    Stuck,
    /// The state of the run is Stop, and clusters are still being updated or deleted.
    Stopping,
    /// The state of the run is Stop, and nothing is in progress.
    Stopped,
    /// Done: successfully finished.
    Succeeded,
    /// For a stage: done without any action, because it has no clusters.
    SkippedNoClusters,
    /// Permanently failed.
    Failed,
}

impl RunReason {
    /// Returns the status of the condition.
    pub const fn status(self) -> ConditionStatus {
        match self {
            Self::Progressing | Self::Started => ConditionStatus::True,
            Self::Stopping => ConditionStatus::Unknown,
            _ => ConditionStatus::False,
        }
    }
}

impl ProgressCondition {
    /// Sets a condition; the condition's time changes only if its status changes.
    pub(super) fn mark(condition: &mut Option<Self>, now: SimTime, reason: RunReason) {
        let since = match condition {
            Some(before) if before.reason.status() == reason.status() => before.since,
            _ => now,
        };
        *condition = Some(Self { reason, since });
    }

    /// Returns whether the outcome is success or failure. `None`: not finished.
    pub(super) const fn outcome(self) -> Option<bool> {
        match self.reason {
            RunReason::Succeeded | RunReason::SkippedNoClusters => Some(true),
            RunReason::Failed => Some(false),
            _ => None,
        }
    }
}

/// One cluster in a stage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClusterStatus {
    /// The cluster.
    pub target: TargetId,
    /// The time at which the cluster's update (in the delete stage: its deletion) started, in whole seconds. `None`:
    /// not started.
    pub started: Option<SimTime>,
    /// Whether the cluster succeeded or failed. `None`: not finished.
    pub succeeded: Option<bool>,
}

impl ClusterStatus {
    /// Creates the status of a cluster that has not started.
    const fn new(target: TargetId) -> Self {
        Self {
            target,
            started: None,
            succeeded: None,
        }
    }

    /// Returns whether a pass has started the cluster, or its outcome is known.
    pub(super) const fn is_tried(&self) -> bool {
        self.started.is_some() || self.succeeded.is_some()
    }

    /// Returns whether the cluster has started and not finished.
    pub const fn is_updating(&self) -> bool {
        self.started.is_some() && self.succeeded.is_none()
    }
}

/// One task after a stage.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TaskStatus {
    /// For an `Approval`: whether it was accepted, which is permanent.
    pub approved: bool,
    /// For a `TimedWait`: whether a pass observed that it has ended.
    pub elapsed: bool,
}

/// One stage of the run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StageStatus {
    /// The stage's name; empty for the delete stage.
    pub name: String,
    /// The stage's clusters in the order in which they are updated.
    pub clusters: Vec<ClusterStatus>,
    /// Number of the stage's clusters that have started and not finished.
    pub in_progress: usize,
    /// Number of the stage's clusters that have succeeded.
    pub finished: usize,
    /// The Progressing condition. `None`: the stage was not reached.
    pub progressing: Option<ProgressCondition>,
    /// Whether the approval before the stage was accepted.
    pub approved_before: bool,
    /// Status of each task after the stage.
    pub after_tasks: Vec<TaskStatus>,
}

impl StageStatus {
    pub(super) fn new(name: String, targets: Vec<TargetId>, tasks: usize) -> Self {
        Self {
            name,
            clusters: targets.into_iter().map(ClusterStatus::new).collect(),
            after_tasks: vec![TaskStatus::default(); tasks],
            ..Self::default()
        }
    }

    /// Returns whether the stage succeeded or failed. `None`: not finished.
    pub fn succeeded(&self) -> Option<bool> {
        self.progressing.and_then(ProgressCondition::outcome)
    }

    pub(super) fn mark(&mut self, now: SimTime, reason: RunReason) {
        ProgressCondition::mark(&mut self.progressing, now, reason);
    }

    /// Replaces the status of a cluster.
    pub(super) fn set(&mut self, position: usize, cluster: ClusterStatus) {
        let old = std::mem::replace(&mut self.clusters[position], cluster);
        self.finished -= usize::from(old.succeeded == Some(true));
        self.finished += usize::from(cluster.succeeded == Some(true));
        self.in_progress -= usize::from(old.is_updating());
        self.in_progress += usize::from(cluster.is_updating());
    }

    /// Returns the stage's clusters that have started and not finished.
    pub fn updating(&self) -> impl Iterator<Item = &ClusterStatus> {
        self.clusters.iter().filter(|cluster| cluster.is_updating())
    }
}

/// The run's status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunStatus {
    /// Whether the run was initialized. `None`: not yet. `Some(false)` is final.
    pub initialized: Option<bool>,
    /// The Progressing condition. `None`: the state has always been `Initialize`.
    pub progressing: Option<ProgressCondition>,
    /// The reason why the run could not be initialized or has failed.
    pub failure: Option<RunError>,
    /// The clusters that make the run stuck, while [`RunReason::Stuck`] is its reason.
    pub stuck: Vec<TargetId>,
    /// The stages, in the order in which they are updated.
    pub stages: Vec<StageStatus>,
    /// The stage that deletes the bindings of clusters that are no longer picked.
    pub deletion: StageStatus,
    /// Number of clusters that the placement has picked.
    pub cluster_count: u32,
    /// The policy snapshot at the start of the run.
    pub(super) policy: u32,
    /// The resource snapshot that the run rolls out. `None`: not initialized.
    pub snapshot: Option<Revision>,
    /// The placement's apply strategy at the start of the run.
    pub(super) apply_strategy: ApplyStrategy,
}

impl RunStatus {
    /// Returns whether the run succeeded or failed, which is final. `None`: not finished.
    pub fn succeeded(&self) -> Option<bool> {
        self.progressing.and_then(ProgressCondition::outcome)
    }

    pub(super) fn mark(&mut self, now: SimTime, reason: RunReason) {
        ProgressCondition::mark(&mut self.progressing, now, reason);
    }

    /// Returns the first stage that is not finished; the number of stages denotes the delete stage.
    pub fn current_stage(&self) -> usize {
        let mut stages = self.stages.iter();
        let current = stages.position(|stage| stage.succeeded() != Some(true));
        current.unwrap_or(self.stages.len())
    }

    /// Returns a stage by its number; the number of stages denotes the delete stage.
    ///
    /// # Panics
    /// If the stage does not exist.
    pub fn stage(&self, index: usize) -> &StageStatus {
        if index == self.stages.len() {
            &self.deletion
        } else {
            &self.stages[index]
        }
    }

    /// Returns whether the run has ended, successfully or not.
    pub fn is_over(&self) -> bool {
        self.succeeded().is_some() || self.initialized == Some(false)
    }

    /// Rounds times to whole seconds, as the API server stores them after a pass. Within a pass, times are exact.
    pub(super) fn store(&mut self) {
        let stages = self.stages.iter_mut().chain([&mut self.deletion]);
        let of_stages = stages.map(|stage| &mut stage.progressing);
        for progress in of_stages.chain([&mut self.progressing]).flatten() {
            progress.since = stored(progress.since);
        }
    }

    /// Returns whether a binding is bound to the resources of the run.
    pub(super) fn is_in_sync(&self, binding: &Binding) -> bool {
        self.snapshot.is_some()
            && binding.snapshot == self.snapshot
            && binding.apply_strategy == Some(self.apply_strategy)
            && binding.state == BindingState::Bound
    }
}

/// The reason why a run could not be initialized or has failed, or why a pass is repeated after a backoff.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum RunError {
    /// The placement is gone.
    #[error("parent placement not found")]
    PlacementNotFound,
    /// The placement's strategy is `RollingUpdate`.
    #[error("parent placement does not have an external rollout strategy")]
    PlacementNotExternal,
    /// The placement's apply strategy has changed since the run started.
    #[error("the applyStrategy in the updateRun is outdated")]
    ApplyStrategyChanged,
    /// The scheduler has not finished the newest policy.
    #[error("policy snapshot `{0}` not fully scheduled yet")]
    PolicyNotScheduled(u32),
    /// There is a newer policy.
    #[error(
        "the policy snapshot index used in the updateRun is outdated, latest: {latest}, recorded: {recorded}"
    )]
    PolicySnapshotChanged { latest: u32, recorded: u32 },
    /// The placement has no bindings.
    #[error("no scheduled or to-be-deleted bindings found for the latest policy snapshot {0}")]
    NoBindings(u32),
    /// The placement has picked a different number of clusters than it requests.
    #[error(
        "the number of selected bindings {selected} is not equal to the observed cluster count {observed}"
    )]
    ClusterCountMismatch { selected: usize, observed: u32 },
    /// The strategy is gone.
    #[error("referenced updateStrategy not found")]
    StrategyNotFound,
    /// More than one task before a stage, or a task that is not an approval.
    #[error(
        "the before stage tasks of stage `{0}` are invalid: at most one task, of type Approval"
    )]
    InvalidBeforeStageTasks(String),
    /// Two tasks of the same type after a stage, or a wait without a duration above 0.
    #[error(
        "the after stage tasks of stage `{0}` are invalid: no type twice, and a waitTime above 0 for a TimedWait"
    )]
    InvalidAfterStageTasks(String),
    /// A selector that Kubernetes rejects.
    #[error("the label selector of stage `{stage}` is invalid: {source}")]
    InvalidLabelSelector {
        stage: String,
        source: SelectorError,
    },
    /// Two stages select the same cluster.
    #[error("cluster `{cluster}` appears in more than one stages, again in `{stage}`")]
    ClusterInMultipleStages { cluster: String, stage: String },
    /// A cluster's label is not a whole number, or missing.
    #[error(
        "the sorting label `{key}:{value}` on cluster `{cluster}` is not valid: it must be a whole number"
    )]
    SortingLabelInvalid {
        cluster: String,
        key: String,
        value: String,
    },
    /// No stage selects some picked clusters; `first` names up to ten of them.
    #[error("some clusters are not placed in any stage, total {total}, showing up to 10: {}", first.join(", "))]
    ClustersNotInAnyStage { total: usize, first: Vec<String> },
    /// The number of the resource snapshot is invalid.
    #[error("invalid resource snapshot index `{0}` provided, expected an integer >= 0")]
    ResourceSnapshotIndexInvalid(String),
    /// The resource snapshot does not exist.
    #[error("no resourceSnapshots with index `{0}` found")]
    ResourceSnapshotNotFound(String),
    /// A stage has more or fewer clusters than when the run started.
    #[error(
        "the number of clusters in stage `{stage}` has changed, new: {new}, existing: {existing}"
    )]
    StageClusterCountChanged {
        stage: String,
        new: usize,
        existing: usize,
    },
    /// A stage has different clusters, or another order, than when the run started.
    #[error(
        "the {position}. cluster in stage `{stage}` has changed, new: {new}, existing: {existing}"
    )]
    StageClusterChanged {
        stage: String,
        position: usize,
        new: String,
        existing: String,
    },
    /// A cluster that was picked when the run started is no longer picked.
    #[error("the cluster `{0}` to be deleted is not in the delete stage")]
    NewClusterToDelete(String),
    /// Another writer changed a binding that the run is updating.
    #[error(
        "the binding of the updating cluster `{cluster}` in the stage `{stage}` is not up-to-date with the desired \
             status: is there a concurrent updateRun of the same placement?"
    )]
    Preempted { cluster: String, stage: String },
    /// A stage's `maxConcurrency` is invalid.
    #[error("maxConcurrency of stage `{stage}`: {source}")]
    MaxConcurrency {
        stage: String,
        source: ScaledValueError,
    },
    /// The binding of a deleted cluster exists again, or is no longer being deleted.
    #[error("the cluster `{0}` in the deleting stage has a binding that is not being deleted")]
    DeletedBindingIsBack(String),
    /// The scheduler has not processed this cluster's binding with its newest policy.
    #[error(
        "the binding of cluster `{0}` has an old policy snapshot and is not unscheduled: a transient state"
    )]
    OldPolicyBinding(String),
    /// These clusters count as failed, started or not; later passes observe them again. Up to ten are named.
    #[error("the cluster updating encountered an error: {}", .0.join(", "))]
    ClusterUpdate(Vec<String>),
}

/// The effect of an error in a pass on the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ErrorEffect {
    /// The run has failed for good (`errInitializedFailed`, `errStagedUpdatedAborted`).
    RunEnds,
    /// The queue retries the pass after a backoff.
    PassIsRepeated,
}

impl RunError {
    /// Returns whether the error ends the run. The match lists every error, so that a new one is not forgotten.
    pub(super) const fn effect(&self) -> ErrorEffect {
        match self {
            Self::OldPolicyBinding(_) | Self::ClusterUpdate(_) => ErrorEffect::PassIsRepeated,
            Self::PlacementNotFound
            | Self::PlacementNotExternal
            | Self::ApplyStrategyChanged
            | Self::PolicyNotScheduled(_)
            | Self::PolicySnapshotChanged { .. }
            | Self::NoBindings(_)
            | Self::ClusterCountMismatch { .. }
            | Self::StrategyNotFound
            | Self::InvalidBeforeStageTasks(_)
            | Self::InvalidAfterStageTasks(_)
            | Self::InvalidLabelSelector { .. }
            | Self::ClusterInMultipleStages { .. }
            | Self::SortingLabelInvalid { .. }
            | Self::ClustersNotInAnyStage { .. }
            | Self::ResourceSnapshotIndexInvalid(_)
            | Self::ResourceSnapshotNotFound(_)
            | Self::StageClusterCountChanged { .. }
            | Self::StageClusterChanged { .. }
            | Self::NewClusterToDelete(_)
            | Self::Preempted { .. }
            | Self::MaxConcurrency { .. }
            | Self::DeletedBindingIsBack(_) => ErrorEffect::RunEnds,
        }
    }
}
