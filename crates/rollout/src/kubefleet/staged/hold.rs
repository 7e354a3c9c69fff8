//! The rule that blocks a staged run, with numbers and names.
//!
//! Derived from the status that one more pass at the time of the last one would leave.

use super::super::super::text::are;
use super::super::super::{Hold, TargetId};
use super::super::duration::format_duration;
use super::super::text::{listed, names, waits};
use super::super::{ConditionStatus, RuleSet};
use super::run::{RunStatus, StageStatus};
use super::view::{StagedAction, StagedDecision, StagedStatus, StagedView};
use super::{RunState, StageTask, StagedUpdateRun};
use fleetsim_units::SimTime;

impl StagedUpdateRun {
    /// The rule that blocks the run at `view`, at the time of its last pass. `None`: it has succeeded and all updated
    /// clusters are available, or the next pass makes progress. The call costs as much as several passes.
    pub fn hold(&self, view: &StagedView) -> Option<Hold> {
        let mut run = self.run.clone();
        let StagedDecision {
            actions, status, ..
        } = self.pass(&mut run, view, None);
        if run.succeeded() == Some(true) {
            return self.lost(&run, view);
        }
        if let Some(error) = &run.failure {
            let waiting = unfinished(&run);
            let rule = if run.initialized == Some(true) {
                "Succeeded"
            } else {
                "Initialized"
            };
            let end = if waiting.is_empty() {
                String::new()
            } else {
                format!(
                    "; {} {} not updated",
                    listed(&self.fixed.clusters, &waiting),
                    are(waiting.len())
                )
            };
            return Some(Hold::new(rule, format!("the run has failed: {error}{end}")));
        }
        let moves = actions
            .iter()
            .any(|action| matches!(action, StagedAction::Deploy(..) | StagedAction::Delete(..)));
        let goes_on =
            run.current_stage() != self.run.current_stage() && self.run.initialized.is_some();
        if moves || goes_on || !status.restarted.is_empty() {
            return None;
        }
        Some(self.reason(view, &run, &status))
    }

    /// The end of a timed wait that goes on while this approval is waited for.
    pub fn wait_beside(&self, approval: &str) -> Option<SimTime> {
        let is_it = |index: &usize| self.fixed.approval("after", *index) == approval;
        let index = (0..self.run.stages.len()).find(is_it)?;
        let tasks = self
            .fixed
            .config(index)
            .after_stage_tasks
            .iter()
            .filter(|task| task.kind == "TimedWait");
        tasks
            .filter_map(|task| wait_ends(self.run.stage(index), task))
            .max()
    }

    /// A run that has succeeded observes nothing any more, not even clusters that fail later.
    fn lost(&self, run: &RunStatus, view: &StagedView) -> Option<Hold> {
        let clusters = run
            .stages
            .iter()
            .flat_map(|stage| &stage.clusters)
            .map(|cluster| cluster.target);
        let is_lost = |target: &TargetId| {
            view.bindings
                .get(*target)
                .is_some_and(|binding| !binding.has_succeeded())
        };
        let lost: Vec<TargetId> = clusters.filter(is_lost).collect();
        let verb = if lost.len() == 1 {
            "was available and no longer is"
        } else {
            "were available and no longer are"
        };
        let text = format!(
            "the run has succeeded; {} {verb}",
            listed(&self.fixed.clusters, &lost)
        );
        (!lost.is_empty()).then(|| Hold::new("Available", text))
    }

    fn reason(&self, view: &StagedView, run: &RunStatus, status: &StagedStatus) -> Hold {
        let waiting = unfinished(run);
        let rest = waits(&self.fixed.clusters, &waiting);
        match view.state {
            RunState::Initialize if self.fixed.rules == RuleSet::Shipped => {
                return Hold::new(
                    "state",
                    format!("the run is initialized and its state is not Run; {rest}"),
                );
            }
            RunState::Stop => {
                return Hold::new("state", format!("the state of the run is Stop; {rest}"));
            }
            _ => {}
        }
        let index = run.current_stage();
        if index == run.stages.len() {
            return Hold::new(
                "deletionStage",
                format!("waiting for the deletion of their bindings: {rest}"),
            );
        }
        let stage = &run.stages[index];
        if stage.updating().next().is_none()
            && stage.finished < stage.clusters.len()
            && !stage.approved_before
        {
            let error = status
                .error
                .as_ref()
                .map(|error| format!("; {error}"))
                .unwrap_or_default();
            if self.fixed.needs_approval_before(index) {
                let name = self.fixed.approval("before", index);
                return Hold::new(
                    "beforeStageTasks",
                    format!("`{name}` is not approved; {rest}"),
                );
            }
            return Hold::new(
                "stages",
                format!(
                    "no cluster of stage `{}` can start; {rest}{error}",
                    stage.name
                ),
            );
        }
        if stage.finished == stage.clusters.len() {
            return Hold::new(
                "afterStageTasks",
                format!("{}; {rest}", self.tasks(index, stage)),
            );
        }
        self.updating(view, run, index)
    }

    fn tasks(&self, index: usize, stage: &StageStatus) -> String {
        let fixed = &self.fixed;
        let mut texts = vec![format!("all of stage `{}` is done", stage.name)];
        for (task, status) in fixed
            .config(index)
            .after_stage_tasks
            .iter()
            .zip(&stage.after_tasks)
        {
            if task.kind == "Approval" && !status.approved {
                texts.push(format!(
                    "`{}` is not approved",
                    fixed.approval("after", index)
                ));
            }
            if task.kind == "TimedWait"
                && let Some(end) = wait_ends(stage, task).filter(|end| *end > self.last)
            {
                texts.push(format!(
                    "a TimedWait of {} ends at {end}",
                    format_duration(task.wait())
                ));
            }
        }
        texts.join(", ")
    }

    fn updating(&self, view: &StagedView, run: &RunStatus, index: usize) -> Hold {
        let stage = &run.stages[index];
        let clusters = &self.fixed.clusters;
        let going: Vec<TargetId> = stage.updating().map(|cluster| cluster.target).collect();
        let not_started = |cluster: &&super::ClusterStatus| cluster.started.is_none();
        let next: Vec<TargetId> = stage
            .clusters
            .iter()
            .filter(not_started)
            .map(|cluster| cluster.target)
            .collect();
        let is_failing = |target: &TargetId| {
            view.bindings
                .get(*target)
                .is_some_and(|of| self.fixed.is_failing(of))
        };
        let failing: Vec<TargetId> = going.iter().copied().filter(is_failing).collect();
        let limit = self
            .fixed
            .max_concurrency(index, stage.clusters.len())
            .unwrap_or(0);
        let mut here = format!(
            "in stage `{}`, {} {} updating",
            stage.name,
            listed(clusters, &going),
            are(going.len())
        );
        if !failing.is_empty() {
            here += &format!(
                " (counting as failed, and retried indefinitely: {})",
                names(clusters, &failing)
            );
        }
        if !run.stuck.is_empty() {
            here += &format!(" (for more than 5m: {})", names(clusters, &run.stuck));
        }
        if !next.is_empty() {
            here += &format!(
                ", and maxConcurrency allows {limit}; {}",
                waits(clusters, &next)
            );
            return Hold::new("maxConcurrency", here);
        }
        let later: Vec<TargetId> = run.stages[index + 1..]
            .iter()
            .flat_map(|stage| &stage.clusters)
            .map(|c| c.target)
            .collect();
        if !later.is_empty() {
            let verb = if later.len() == 1 { "waits" } else { "wait" };
            here += &format!("; {} in later stages {verb}", listed(clusters, &later));
        }
        Hold::new("stages", here)
    }
}

/// Clusters of all stages that are not done.
fn unfinished(run: &RunStatus) -> Vec<TargetId> {
    let clusters = run
        .stages
        .iter()
        .chain([&run.deletion])
        .flat_map(|stage| &stage.clusters);
    clusters
        .filter(|cluster| cluster.succeeded != Some(true))
        .map(|cluster| cluster.target)
        .collect()
}

/// The end of a timed wait after a stage, once its clusters are done.
fn wait_ends(stage: &StageStatus, task: &StageTask) -> Option<SimTime> {
    let progress = stage
        .progressing
        .filter(|progress| progress.reason.status() == ConditionStatus::False)?;
    Some(progress.since + task.wait())
}
