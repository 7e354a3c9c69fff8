//! A staged update run: updates clusters stage by stage, with approvals and waits around the stages.
//!
//! Follows `pkg/controllers/updaterun` of kubefleet-dev/kubefleet at e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6.
//!
//! Invariants: at most `maxConcurrency` clusters of a stage have started and not finished; no cluster of a stage
//! starts before the clusters and the tasks of the previous stage are done (as shipped, a stage without clusters has
//! no tasks); the same inputs give the same actions. The cost of a partial pass
//! ([`StagedUpdateRun::reconcile_changed`]) depends on what changed.

mod conditions;
mod execute;
mod explain;
mod hold;
mod initialize;
mod ledger;
mod run;
mod stages;
mod view;

use super::super::{Pass, QueueRequest, TargetSet};
use super::config::{RunState, StageConfig, StageTask, StrategySpec};
use super::{Binding, KubeFleetBugs, KubeFleetVersion, MemberCluster, RuleSet, WorkState, by_name};
use fleetsim_units::SimTime;
use run::ErrorEffect;

pub use explain::{StageExplanation, StagedExplanation, explain};
pub use run::{
    ClusterStatus, ProgressCondition, RunError, RunReason, RunStatus, StageStatus, TaskStatus,
};
pub use view::{
    ApprovalRequest, PlacementView, PolicySnapshot, StagedAction, StagedDecision, StagedStatus,
    StagedView,
};

use initialize::Collected;
use ledger::{RunLedger, StageLedger};

/// Maximum number of bindings of a placement whose passes are compared with full passes in tests.
#[cfg(test)]
const SCANNED_MAX: usize = 100;

/// The scheduler of one run.
#[derive(Clone, Debug)]
pub struct StagedUpdateRun {
    inputs: RunInputs,
    run: RunStatus,
    /// Time of the last pass.
    last: SimTime,
    /// The stage's clusters after the last pass. `None`: the next pass observes all clusters.
    ledger: Option<RunLedger>,
}

/// Whether a task comes before or after the clusters of its stage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TaskTime {
    Before,
    After,
}

/// How KubeFleet behaves in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunBehaviour {
    /// Whether the shipped or the documented rules apply.
    pub rules: RuleSet,
    /// The version whose rules apply.
    pub version: KubeFleetVersion,
    /// The known bugs that are reproduced.
    pub bugs: KubeFleetBugs,
}

impl RunBehaviour {
    /// Returns the behaviour of the latest version: with all known bugs under shipped rules, without bugs under
    /// documented rules.
    pub const fn of(rules: RuleSet) -> Self {
        Self {
            rules,
            version: KubeFleetVersion::Main,
            bugs: KubeFleetBugs::of(rules),
        }
    }
}

/// The inputs of a run, which a pass does not change.
#[derive(Clone, Debug, Default)]
struct RunInputs {
    behaviour: RunBehaviour,
    run_name: String,
    /// The number of the resource snapshot to roll out. Empty: the newest.
    snapshot_index: String,
    /// The strategy, which no longer changes once the run is initialized. `None`: no strategy has this name.
    strategy: Option<StrategySpec>,
    clusters: Vec<MemberCluster>,
    /// Indices into `clusters`, in the byte order of names.
    by_name: Vec<u32>,
    /// For each stage, whether it selects each cluster, picked or not; or an error in the stage's tasks or selector.
    selects: Vec<Result<Vec<bool>, RunError>>,
}

impl StagedUpdateRun {
    /// Creates a run called `name` over these clusters; the index of a cluster is its
    /// [`TargetId`](super::super::TargetId). `strategy` includes the defaults of admission
    /// ([`StrategySpec::with_defaults`]); `None`: no strategy has this name.
    pub fn new(
        name: String,
        snapshot_index: String,
        strategy: Option<StrategySpec>,
        behaviour: RunBehaviour,
        clusters: Vec<MemberCluster>,
    ) -> Self {
        let inputs = RunInputs {
            behaviour,
            run_name: name,
            snapshot_index,
            strategy,
            ..RunInputs::default()
        };
        let mut run = Self {
            inputs,
            run: RunStatus::default(),
            last: SimTime::ZERO,
            ledger: None,
        };
        run.set_clusters(clusters);
        run
    }

    /// Replaces the strategy, like an edit of its object; `None` deletes it. An initialized run keeps its strategy.
    pub fn set_strategy(&mut self, strategy: Option<StrategySpec>) {
        if self.run.initialized.is_none() {
            self.inputs.strategy = strategy;
            self.inputs.select();
        }
    }

    /// Replaces the member clusters after clusters joined, left or changed labels. Existing clusters keep their index;
    /// a cluster that has left is marked.
    pub fn set_clusters(&mut self, clusters: Vec<MemberCluster>) {
        let by_name = by_name(&clusters, |cluster| &cluster.name);
        self.inputs.clusters = clusters;
        self.inputs.by_name = by_name;
        self.inputs.select();
        self.ledger = None;
    }

    /// Returns the member clusters.
    pub fn clusters(&self) -> &[MemberCluster] {
        &self.inputs.clusters
    }

    /// Returns the run's status after its last pass.
    pub const fn status(&self) -> &RunStatus {
        &self.run
    }

    /// Returns the strategy; fixed once the run is initialized.
    pub const fn strategy(&self) -> Option<&StrategySpec> {
        self.inputs.strategy.as_ref()
    }

    /// The name of the `ClusterApprovalRequest` before or after a stage of this name.
    pub fn approval_name(&self, stage: &str, before: bool) -> String {
        let time = if before {
            TaskTime::Before
        } else {
            TaskTime::After
        };
        self.inputs.approval_of(time, stage)
    }

    /// Returns the resolved `maxConcurrency` of a stage in an initialized run.
    ///
    /// # Errors
    /// If the configured value is invalid; the run fails when it reaches the stage.
    ///
    /// # Panics
    /// If the run is not initialized or the stage does not exist.
    pub fn max_concurrency(&self, stage: usize) -> Result<i64, super::ScaledValueError> {
        self.inputs
            .max_concurrency(stage, self.run.stages[stage].clusters.len())
    }

    /// Runs one pass of the run's reconciler over all bindings. The status of the decision tells the queue when to run
    /// the next pass.
    ///
    /// # Panics
    /// If a binding belongs to an unknown cluster, or time goes backwards.
    pub fn reconcile(&mut self, now: SimTime, view: &StagedView) -> StagedDecision {
        self.ledger = None;
        self.reconcile_changed(now, view, &TargetSet::default())
    }

    /// Runs one pass like [`Self::reconcile`], at a cost that depends on what changed. The caller guarantees that only
    /// bindings of clusters in `changed` differ from those of the last pass. `changed` includes the clusters that
    /// storing the last pass has changed ([`Bindings::changed`](super::Bindings::changed)). The first pass of a run
    /// examines all bindings, and so do passes after a change of the placement or of the picked clusters, passes of a
    /// stopped run, and passes of the delete stage.
    ///
    /// # Panics
    /// Same as [`Self::reconcile`].
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &StagedView,
        changed: &TargetSet,
    ) -> StagedDecision {
        self.last = now;
        let mut run = std::mem::take(&mut self.run);
        let mut ledger = match self.ledger.take() {
            Some(ledger) => ledger.update(&self.inputs, &run, view, changed),
            None => None,
        };
        #[cfg(test)]
        let before =
            (ledger.is_some() && view.bindings.places() <= SCANNED_MAX).then(|| run.clone());
        let stage = ledger.as_mut().map(|ledger| &mut ledger.stage);
        let decision = self.pass(&mut run, view, stage);
        #[cfg(test)]
        if let Some(mut scanned) = before {
            let scan = self.pass(&mut scanned, view, None);
            assert_eq!(
                (&decision, &run),
                (&scan, &scanned),
                "a pass decides as one over all"
            );
        }
        if ledger.is_none()
            && matches!(
                decision.status.error,
                None | Some(RunError::ClusterUpdate(_))
            )
        {
            ledger = RunLedger::new(&self.inputs, &run, view);
        }
        self.run = run;
        self.ledger = ledger;
        decision
    }

    /// Runs one pass at the time of the last one; without a ledger, the pass examines everything.
    fn pass(
        &self,
        run: &mut RunStatus,
        view: &StagedView,
        ledger: Option<&mut StageLedger>,
    ) -> StagedDecision {
        let mut decision = Pass {
            actions: Vec::new(),
            wake_at: None,
            status: StagedStatus::default(),
        };
        if !run.is_over() {
            match self
                .inputs
                .pass(run, self.last, view, ledger, &mut decision)
            {
                Ok(()) => {}
                Err(error) => match error.effect() {
                    ErrorEffect::PassIsRepeated => {
                        decision.status.error = Some(error);
                        decision.status.next = QueueRequest::Error;
                    }
                    ErrorEffect::RunEnds => {
                        decision.status.next = QueueRequest::None;
                        if run.initialized == Some(true) {
                            run.mark(self.last, RunReason::Failed);
                        } else {
                            run.initialized = Some(false);
                        }
                        run.failure = Some(error);
                    }
                },
            }
        }
        run.store();
        decision
    }
}

impl RunInputs {
    fn pass(
        &self,
        run: &mut RunStatus,
        now: SimTime,
        view: &StagedView,
        ledger: Option<&mut StageLedger>,
        decision: &mut StagedDecision,
    ) -> Result<(), RunError> {
        let collected: Collected<'_> = match &ledger {
            Some(_) => Collected::default(),
            None if run.initialized.is_none() => self.initialize(run, view)?,
            None => self.validate(run, view)?,
        };
        let mut new;
        let stage = match ledger {
            Some(ledger) => ledger,
            None => {
                new = StageLedger::new(run, run.current_stage());
                &mut new
            }
        };
        let mut pass = execute::RunPass {
            inputs: self,
            now,
            view,
            collected,
            stage,
            preempted: None,
            run,
            decision,
        };
        match (self.behaviour.rules, view.state) {
            // The run is only initialized.
            (RuleSet::Shipped, RunState::Initialize) => Ok(()),
            // The document describes no state, so a run starts as soon as it exists.
            (RuleSet::Documented, RunState::Initialize) | (_, RunState::Run) => pass.execute(),
            (_, RunState::Stop) => pass.stop(),
        }
    }

    fn config(&self, stage: usize) -> &StageConfig {
        &self
            .strategy
            .as_ref()
            .expect("a run with stages has a strategy")
            .stages[stage]
    }

    /// Returns whether a cluster counts as failed.
    fn is_failing(&self, binding: &Binding) -> bool {
        binding.has_failed(self.behaviour.bugs) || binding.work_state() == WorkState::DiffFailed
    }

    fn needs_approval_before(&self, stage: usize) -> bool {
        self.behaviour.rules == RuleSet::Shipped
            && !self.config(stage).before_stage_tasks.is_empty()
    }

    /// Returns the name of a stage's `ClusterApprovalRequest`. Stages with the same name share a request.
    fn approval(&self, time: TaskTime, stage: usize) -> String {
        self.approval_of(time, &self.config(stage).name)
    }

    fn approval_of(&self, time: TaskTime, stage: &str) -> String {
        let run = &self.run_name;
        match (self.behaviour.rules, time) {
            (RuleSet::Documented, _) => format!("{run}-{stage}"),
            (RuleSet::Shipped, TaskTime::Before) => format!("{run}-before-{stage}"),
            (RuleSet::Shipped, TaskTime::After) => format!("{run}-after-{stage}"),
        }
    }
}
