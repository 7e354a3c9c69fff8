//! What a staged update run remembers, and what its user sees: its status object.
//!
//! Follows the status types of `apis/placement/v1beta1/stageupdate_types.go` and the reasons of `pkg/utils/condition/
//! reason.go`. Timestamps are whole seconds. Left out: messages, and observed generations, which are raised with the
//! run's at the start of every pass and so never matter.

use std::fmt;

use super::super::super::label_selector::SelectorError;
use super::super::super::{Revision, TargetId};
use super::super::binding::{ApplyStrategy, ConditionStatus};
use super::super::limit::ScaledValueError;
use super::super::stored;
use crate::units::SimTime;

/// A condition of the run or of a stage: whether it is making progress.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProgressCondition<Reason> {
    /// Whether it is.
    pub status: ConditionStatus,
    /// Why, or why not.
    pub reason: Reason,
    /// Since when the status is what it is, in whole seconds; a new reason alone does not move it.
    pub since: SimTime,
}

/// Why a run is making progress or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunReason {
    /// Clusters are updated or deleted, or a stage begins.
    Progressing,
    /// For a task.
    Waiting,
    /// Some cluster has been updating for more than five minutes.
    Stuck,
    /// It was told to stop, and clusters are still being updated or deleted.
    Stopping,
    /// It was told to stop, and nothing is on the way.
    Stopped,
    /// All stages are done.
    Succeeded,
    /// For good.
    Failed,
}

/// Why a stage is making progress or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StageReason {
    /// Its clusters are updated or deleted.
    Started,
    /// For a task.
    Waiting,
    /// The run was told to stop, and clusters are still on the way.
    Stopping,
    /// The run was told to stop, and nothing is on the way.
    Stopped,
    /// Done.
    Succeeded,
    /// Done, for want of clusters.
    SkippedNoClusters,
    /// For good.
    Failed,
}

impl fmt::Display for RunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UpdateRun{self:?}")
    }
}

impl fmt::Display for StageReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StageUpdating{self:?}")
    }
}

/// One cluster in a stage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClusterStatus {
    /// Which.
    pub target: TargetId,
    /// When its update (in the delete stage: its deletion) began, in whole seconds. `None`: not yet.
    pub started: Option<SimTime>,
    /// Whether it succeeded. `None`: not finished.
    pub succeeded: Option<bool>,
}

/// One task that follows a stage.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TaskStatus {
    /// An `Approval`: it was accepted, once and for all.
    pub approved: bool,
    /// A `TimedWait`: it was seen to be over.
    pub elapsed: bool,
}

/// One stage of the run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StageStatus {
    /// The stage's name; empty for the delete stage.
    pub name: String,
    /// In the order in which they are updated.
    pub clusters: Vec<ClusterStatus>,
    /// `None`: it was not reached.
    pub progressing: Option<ProgressCondition<StageReason>>,
    /// `None`: not finished.
    pub succeeded: Option<bool>,
    /// Whether the approval before the stage was accepted.
    pub approved_before: bool,
    /// One for each task after the stage.
    pub after: Vec<TaskStatus>,
}

impl StageStatus {
    pub(super) fn new(name: String, targets: Vec<TargetId>, tasks: usize) -> Self {
        let cluster = |target| ClusterStatus { target, started: None, succeeded: None };
        let clusters = targets.into_iter().map(cluster).collect();
        Self { name, clusters, after: vec![TaskStatus::default(); tasks], ..Self::default() }
    }

    pub(super) fn mark(&mut self, now: SimTime, status: ConditionStatus, reason: StageReason) {
        mark(&mut self.progressing, now, status, reason);
    }

    pub(super) fn end(&mut self, now: SimTime, reason: StageReason) {
        self.mark(now, ConditionStatus::False, reason);
        self.succeeded = Some(reason != StageReason::Failed);
    }

    /// Clusters of it that have started and not finished.
    pub fn updating(&self) -> impl Iterator<Item = &ClusterStatus> {
        self.clusters.iter().filter(|cluster| cluster.started.is_some() && cluster.succeeded.is_none())
    }

    /// Clusters of it that are finished.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.clusters.iter().filter(|cluster| cluster.succeeded == Some(true)).count()
    }
}

/// The run's status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunStatus {
    /// `None`: not yet. `Some(false)` is final.
    pub initialized: Option<bool>,
    /// `None`: it never was in a state other than `Initialize`.
    pub progressing: Option<ProgressCondition<RunReason>>,
    /// `None`: not finished. Otherwise final.
    pub succeeded: Option<bool>,
    /// Why it could not be initialized or has failed.
    pub failure: Option<RunError>,
    /// The clusters that make it stuck, while [`RunReason::Stuck`] is its reason.
    pub stuck: Vec<TargetId>,
    /// The stages, in the order in which they are worked on.
    pub stages: Vec<StageStatus>,
    /// The stage that deletes the bindings of clusters that are no longer picked.
    pub deletion: StageStatus,
    /// How many clusters the placement has picked.
    pub cluster_count: u32,
    /// The policy snapshot that it began with.
    pub(super) policy: u32,
    /// The resource snapshot that its clusters are to have. `None`: not initialized.
    pub snapshot: Option<Revision>,
    /// The placement's apply strategy when it began.
    pub(super) apply_strategy: ApplyStrategy,
}

impl RunStatus {
    pub(super) fn mark(&mut self, now: SimTime, status: ConditionStatus, reason: RunReason) {
        mark(&mut self.progressing, now, status, reason);
    }

    pub(super) fn end(&mut self, now: SimTime, reason: RunReason) {
        self.mark(now, ConditionStatus::False, reason);
        self.succeeded = Some(reason != RunReason::Failed);
    }

    pub(super) fn fail(&mut self, now: SimTime, error: RunError) {
        self.end(now, RunReason::Failed);
        self.failure = Some(error);
    }

    /// The first stage that is not finished; the number of stages means the delete stage.
    #[must_use]
    pub fn current_stage(&self) -> usize {
        self.stages.iter().position(|stage| stage.succeeded != Some(true)).unwrap_or(self.stages.len())
    }

    /// A stage by its number; the number of stages means the delete stage.
    ///
    /// # Panics
    /// If there is no such stage.
    #[must_use]
    pub fn stage(&self, index: usize) -> &StageStatus {
        if index == self.stages.len() { &self.deletion } else { &self.stages[index] }
    }

    /// Whether it has ended, well or not.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.succeeded.is_some() || self.initialized == Some(false)
    }

    /// What the API server makes of it once a pass is over: times in whole seconds. Within the pass they are exact.
    pub(super) fn store(&mut self) {
        let floor = |since: &mut SimTime| *since = stored(*since);
        self.progressing.iter_mut().for_each(|progress| floor(&mut progress.since));
        let stages = self.stages.iter_mut().chain([&mut self.deletion]);
        stages.filter_map(|stage| stage.progressing.as_mut()).for_each(|progress| floor(&mut progress.since));
    }

    pub(super) fn reason(&self) -> Option<RunReason> {
        self.progressing.map(|progress| progress.reason)
    }
}

/// Sets a condition; its time moves only when the status changes.
fn mark<Reason: Copy>(
    condition: &mut Option<ProgressCondition<Reason>>,
    now: SimTime,
    status: ConditionStatus,
    reason: Reason,
) {
    let since = condition.filter(|before| before.status == status).map_or(now, |before| before.since);
    *condition = Some(ProgressCondition { status, reason, since });
}

/// Why a run could not be initialized, or has failed. Both are final.
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
    /// The placement's apply strategy is not the one that the run began with.
    #[error("the applyStrategy in the updateRun is outdated")]
    ApplyStrategyChanged,
    /// The scheduler is not done with the newest policy.
    #[error("policy snapshot `{0}` not fully scheduled yet")]
    PolicyNotScheduled(u32),
    /// There is a newer policy.
    #[error("the policy snapshot index used in the updateRun is outdated, latest: {latest}, recorded: {recorded}")]
    PolicySnapshotChanged { latest: u32, recorded: u32 },
    /// The placement has no bindings.
    #[error("no scheduled or to-be-deleted bindings found for the latest policy snapshot {0}")]
    NoBindings(u32),
    /// The placement has picked another number of clusters than it asks for.
    #[error("the number of selected bindings {selected} is not equal to the observed cluster count {observed}")]
    ClusterCountMismatch { selected: usize, observed: u32 },
    /// The strategy is gone.
    #[error("referenced updateStrategy not found")]
    StrategyNotFound,
    /// More than one task before a stage, or one that is no approval.
    #[error("the before stage tasks of stage `{0}` are invalid: at most one task, of type Approval")]
    InvalidBeforeStageTasks(String),
    /// Two tasks of the same type after a stage, or a wait without a duration above 0.
    #[error("the after stage tasks of stage `{0}` are invalid: no type twice, and a waitTime above 0 for a TimedWait")]
    InvalidAfterStageTasks(String),
    /// A selector that Kubernetes refuses.
    #[error("the label selector of stage `{stage}` is invalid: {source}")]
    InvalidLabelSelector { stage: String, source: SelectorError },
    /// Two stages take the same cluster.
    #[error("cluster `{cluster}` appears in more than one stages, again in `{stage}`")]
    ClusterInMultipleStages { cluster: String, stage: String },
    /// A cluster's label is no whole number, or missing.
    #[error("the sorting label `{key}:{value}` on cluster `{cluster}` is not valid: it must be a whole number")]
    SortingLabelInvalid { cluster: String, key: String, value: String },
    /// Clusters were picked that no stage takes. `first` are up to ten of them.
    #[error("some clusters are not placed in any stage, total {total}, showing up to 10: {}", first.join(", "))]
    ClustersNotInAnyStage { total: usize, first: Vec<String> },
    /// The number of the resource snapshot is none.
    #[error("invalid resource snapshot index `{0}` provided, expected an integer >= 0")]
    ResourceSnapshotIndexInvalid(String),
    /// There is no such resource snapshot.
    #[error("no resourceSnapshots with index `{0}` found")]
    ResourceSnapshotNotFound(String),
    /// A stage has more or fewer clusters than when the run began.
    #[error("the number of clusters in stage `{stage}` has changed, new: {new}, existing: {existing}")]
    StageClusterCountChanged { stage: String, new: usize, existing: usize },
    /// A stage has other clusters, or in another order, than when the run began.
    #[error("the {position}. cluster in stage `{stage}` has changed, new: {new}, existing: {existing}")]
    StageClusterChanged { stage: String, position: usize, new: String, existing: String },
    /// A cluster is no longer picked, and was when the run began.
    #[error("the cluster `{0}` to be deleted is not in the delete stage")]
    NewClusterToDelete(String),
    /// Somebody else changed a binding that the run is updating.
    #[error(
        "the binding of the updating cluster `{cluster}` in the stage `{stage}` is not up-to-date with the desired \
             status: is there a concurrent updateRun of the same placement?"
    )]
    Preempted { cluster: String, stage: String },
    /// A stage's `maxConcurrency` means no number.
    #[error("maxConcurrency of stage `{stage}`: {source}")]
    MaxConcurrency { stage: String, source: ScaledValueError },
    /// The binding of a cluster that was deleted is there again, or is no longer being deleted.
    #[error("the cluster `{0}` in the deleting stage has a binding that is not being deleted")]
    DeletedBindingIsBack(String),
}

/// Why a pass is to be repeated after a backoff. None of them ends the run.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// The scheduler has not come to this cluster's binding with its newest policy.
    #[error("the binding of cluster `{0}` has an old policy snapshot and is not unscheduled: a transient state")]
    OldPolicyBinding(String),
    /// These clusters count as failed; they are looked at again, and may be started ones or not.
    #[error("the cluster updating encountered an error: {}", .0.join(", "))]
    ClusterUpdate(Vec<String>),
    /// A stage's `maxConcurrency` means no number, seen when a later pass checks all stages.
    #[error("maxConcurrency of stage `{stage}`: {source}")]
    MaxConcurrency {
        /// Which.
        stage: String,
        /// What is wrong with it.
        source: ScaledValueError,
    },
}
