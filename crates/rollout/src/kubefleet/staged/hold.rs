//! The rule that blocks a staged run, with numbers and names.
//!
//! KubeFleet itself does not report this rule. It is derived from one more pass, on a copy of the
//! run, at the time of the last pass. If that pass would make progress, the rule of the last pass holds the run until
//! the next one, because a run looks at its clusters only from time to time.

use super::super::super::text::are;
use super::super::super::{Hold, TargetId};
use super::super::duration::format_duration;
use super::super::text::{listed, names, waits};
use super::super::{ConditionStatus, RuleSet};
use super::run::{RunError, RunStatus, StageStatus};
use super::view::{StagedAction, StagedDecision, StagedStatus, StagedView};
use super::{RunState, StageTask, StagedUpdateRun, TaskTime};
use fleetsim_units::SimTime;

impl StagedUpdateRun {
    /// Returns the rule that blocks the run at `view`, at the time of its last pass. `None`: the run has succeeded and
    /// all updated clusters are available, or the next pass makes progress. The call costs as much as several passes.
    pub fn hold(&self, view: &StagedView) -> Option<Hold> {
        let mut run = self.run.clone();
        let StagedDecision {
            actions, status, ..
        } = self.pass(&mut run, view, None);
        if run.succeeded() == Some(true) {
            return self.lost(&run, view);
        }
        if let Some(error) = &run.failure {
            return Some(self.failed(&run, error));
        }
        for action in &actions {
            match action {
                StagedAction::Deploy(..) | StagedAction::Delete(_) => return None,
                StagedAction::RequestApproval(_) => {}
            }
        }
        let goes_on =
            run.current_stage() != self.run.current_stage() && self.run.initialized.is_some();
        if goes_on || !status.restarted.is_empty() {
            return None;
        }
        Some(self.reason(view, &run, &status))
    }

    /// Returns the rule that blocked the run in its last pass. It holds until the next pass, even if that one will make
    /// progress. `None`: the run is over or not initialized.
    pub fn hold_until_next_pass(&self, view: &StagedView) -> Option<Hold> {
        if self.run.is_over() || self.run.initialized != Some(true) {
            return None;
        }
        let mut hold = self.reason(view, &self.run, &StagedStatus::default());
        hold.explanation += "; the run sees what has changed in its next pass";
        Some(hold)
    }

    /// Returns the end of the timed wait of the stage that waits for this approval. `None`: no wait is in progress.
    pub fn wait_beside(&self, approval: &str) -> Option<SimTime> {
        let mut stages = 0..self.run.stages.len();
        let index =
            stages.find(|index| self.inputs.approval(TaskTime::After, *index) == approval)?;
        let mut end = None;
        for task in &self.inputs.config(index).after_stage_tasks {
            if task.kind == "TimedWait" {
                end = end.max(wait_ends(self.run.stage(index), task));
            }
        }
        end
    }

    fn failed(&self, run: &RunStatus, error: &RunError) -> Hold {
        let rule = if run.initialized == Some(true) {
            "Succeeded"
        } else {
            "Initialized"
        };
        let mut explanation = format!("the run has failed: {error}");
        let waiting = unfinished(run);
        if !waiting.is_empty() {
            let clusters = listed(&self.inputs.clusters, &waiting);
            let are = are(waiting.len());
            explanation.push_str(&format!("; {clusters} {are} not updated"));
        }
        Hold::new(rule, explanation)
    }

    /// Returns the hold of a succeeded run, which no longer observes its clusters, even if they fail later.
    fn lost(&self, run: &RunStatus, view: &StagedView) -> Option<Hold> {
        let mut lost = Vec::new();
        for cluster in run.stages.iter().flat_map(|stage| &stage.clusters) {
            if let Some(binding) = view.bindings.get(cluster.target)
                && !binding.has_succeeded()
            {
                lost.push(cluster.target);
            }
        }
        if lost.is_empty() {
            return None;
        }
        let verb = if lost.len() == 1 {
            "was available and no longer is"
        } else {
            "were available and no longer are"
        };
        let clusters = listed(&self.inputs.clusters, &lost);
        let explanation = format!("the run has succeeded; {clusters} {verb}");
        Some(Hold::new("Available", explanation))
    }

    fn reason(&self, view: &StagedView, run: &RunStatus, status: &StagedStatus) -> Hold {
        let rest = waits(&self.inputs.clusters, &unfinished(run));
        match view.state {
            RunState::Initialize if self.inputs.behaviour.rules == RuleSet::Shipped => {
                let explanation =
                    format!("the run is initialized and its state is not Run; {rest}");
                return Hold::new("state", explanation);
            }
            RunState::Stop => {
                let explanation = format!("the state of the run is Stop; {rest}");
                return Hold::new("state", explanation);
            }
            RunState::Initialize | RunState::Run => {}
        }
        let index = run.current_stage();
        if index == run.stages.len() {
            let explanation = format!("waiting for the deletion of their bindings: {rest}");
            return Hold::new("deletionStage", explanation);
        }
        let stage = &run.stages[index];
        if stage.finished == stage.clusters.len() {
            let explanation = format!("{}; {rest}", self.tasks(index, stage));
            return Hold::new("afterStageTasks", explanation);
        }
        if stage.updating().next().is_some() || stage.approved_before {
            return self.updating(view, run, index);
        }
        if self.inputs.needs_approval_before(index) {
            let name = self.inputs.approval(TaskTime::Before, index);
            let explanation = format!("`{name}` is not approved; {rest}");
            return Hold::new("beforeStageTasks", explanation);
        }
        let mut explanation = format!("no cluster of stage `{}` can start; {rest}", stage.name);
        if let Some(error) = &status.error {
            explanation.push_str(&format!("; {error}"));
        }
        Hold::new("stages", explanation)
    }

    fn tasks(&self, index: usize, stage: &StageStatus) -> String {
        let inputs = &self.inputs;
        let mut texts = vec![format!("all of stage `{}` is done", stage.name)];
        let tasks = &inputs.config(index).after_stage_tasks;
        for (task, status) in tasks.iter().zip(&stage.after_tasks) {
            if task.kind == "Approval" && !status.approved {
                let name = inputs.approval(TaskTime::After, index);
                texts.push(format!("`{name}` is not approved"));
            }
            if task.kind == "TimedWait"
                && let Some(end) = wait_ends(stage, task)
                && end > self.last
            {
                let wait = format_duration(task.wait());
                texts.push(format!("a TimedWait of {wait} ends at {end}"));
            }
        }
        texts.join(", ")
    }

    fn updating(&self, view: &StagedView, run: &RunStatus, index: usize) -> Hold {
        let stage = &run.stages[index];
        let clusters = &self.inputs.clusters;
        let mut going = Vec::new();
        let mut failing = Vec::new();
        let mut next = Vec::new();
        for cluster in &stage.clusters {
            let target = cluster.target;
            if cluster.is_updating() {
                going.push(target);
                if let Some(binding) = view.bindings.get(target)
                    && self.inputs.is_failing(binding)
                {
                    failing.push(target);
                }
            } else if cluster.started.is_none() {
                next.push(target);
            }
        }
        let mut explanation = format!(
            "in stage `{}`, {} {} updating",
            stage.name,
            listed(clusters, &going),
            are(going.len())
        );
        if !failing.is_empty() {
            explanation += &format!(
                " (counting as failed, and retried indefinitely: {})",
                names(clusters, &failing)
            );
        }
        if !run.stuck.is_empty() {
            explanation += &format!(" (for more than 5m: {})", names(clusters, &run.stuck));
        }
        if !next.is_empty() {
            let limit = self.inputs.max_concurrency(index, stage.clusters.len());
            let limit = limit.unwrap_or(0);
            explanation += &format!(
                ", and maxConcurrency allows {limit}; {}",
                waits(clusters, &next)
            );
            return Hold::new("maxConcurrency", explanation);
        }
        let later = run.stages[index + 1..].iter();
        let later = later.flat_map(|stage| &stage.clusters);
        let later: Vec<TargetId> = later.map(|cluster| cluster.target).collect();
        if !later.is_empty() {
            let verb = if later.len() == 1 { "waits" } else { "wait" };
            explanation += &format!("; {} in later stages {verb}", listed(clusters, &later));
        }
        Hold::new("stages", explanation)
    }
}

/// Returns the clusters of all stages that are not done.
fn unfinished(run: &RunStatus) -> Vec<TargetId> {
    let mut unfinished = Vec::new();
    for stage in run.stages.iter().chain([&run.deletion]) {
        for cluster in &stage.clusters {
            if cluster.succeeded != Some(true) {
                unfinished.push(cluster.target);
            }
        }
    }
    unfinished
}

/// Returns when a timed wait after a stage ends. `None`: the stage's clusters are not all done.
fn wait_ends(stage: &StageStatus, task: &StageTask) -> Option<SimTime> {
    let progress = stage.progressing?;
    if progress.reason.status() != ConditionStatus::False {
        return None;
    }
    Some(progress.since + task.wait())
}
