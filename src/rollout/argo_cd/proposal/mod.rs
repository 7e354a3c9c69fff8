//! The rollout strategy that was proposed for ApplicationSets and never shipped: `RollingUpdate`.
//!
//! Follows the text of argoproj/argo-cd#9437 and of
//! `docs/proposals/2022-07-13-appset-progressive-rollout-strategy.md` at 37ee0097cf851bc2dd7665fc081bbce61a7e836e. No
//! code exists to compare with: its tests are scripts written by hand from the text. The text states:
//!
//! - It orders changes of the Application objects themselves. An application whose step has not started is neither
//!   created nor changed; afterwards it syncs by its own policy. New commits in a source are not ordered.
//! - A step starts when the previous one is finished entirely. `maxUpdate` 0 or absent: its applications together.
//! - No steps: one by one, in a fixed order.
//! - A failing application stalls the step. The rest within `maxUpdate` continues; no later step starts.
//! - A changed set abandons the running rollout: applications are not changed back, and a new rollout starts.
//!
//! Choices where the text leaves one: a percentage of the step's applications is rounded as in the shipped strategy
//! ([`limit`](super::limit)); the fixed order is that of names; an application that several steps select is in the
//! first; one that no step selects is never changed; the expressions are those of the shipped strategy; an
//! application whose health never leaves Healthy counts as Progressing for no time; and one that stops being Healthy
//! later is no longer complete.

mod config;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::text::listed;
use super::super::{Hold, Pass, Revision, TargetId, by_name};
use super::Health;
use super::steps::Steps;

pub use config::{ProposalError, ProposalFile, ProposalSpec, ProposalStrategy, RollingUpdateBlock};

/// The scheduler of one ApplicationSet under the proposal.
#[derive(Clone, Debug)]
pub struct ProposedRollingUpdate {
    names: Vec<String>,
    /// Indices into `names` in byte order.
    by_name: Vec<u32>,
    /// `None`: AllAtOnce.
    stages: Option<Vec<Stage>>,
    /// Applications that no step selects.
    unselected: Vec<u32>,
}

/// One step, or the whole set where there are no steps.
#[derive(Clone, Debug)]
struct Stage {
    /// By name.
    members: Vec<u32>,
    /// Concurrent applications. `None`: all.
    limit: Option<usize>,
}

/// One ApplicationSet in the controller's cache; one entry for each application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProposalView {
    /// In the scheduler's order.
    pub applications: Vec<ProposalApplication>,
}

/// One application: its generated state, and its object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProposalApplication {
    /// The revision that the set's spec wants.
    pub wanted: Revision,
    /// `None`: it does not exist.
    pub live: Option<ProposalObject>,
}

/// An Application object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProposalObject {
    /// The revision in its spec, as last written.
    pub revision: Revision,
    /// The result of its sync to that revision.
    pub sync: SyncResult,
    /// Its current health.
    pub health: Health,
}

/// The result of the sync of an application to its current spec.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SyncResult {
    /// Not finished.
    #[default]
    Open,
    /// Successfully.
    Succeeded,
    /// Failed.
    Failed,
}

/// An action of a pass of the proposal, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProposalAction {
    /// Create the product's own object for this target. The cluster does not see it.
    Create(TargetId),
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
}

/// The set's status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProposalStatus {
    /// Applications of the current step that were changed and are not complete, before the pass.
    pub updating: usize,
    /// Those that failed.
    pub failed: Vec<TargetId>,
}

impl ProposalObject {
    /// An object that was just written.
    pub const fn written(revision: Revision, health: Health) -> Self {
        Self { revision, sync: SyncResult::Open, health }
    }

    /// Synced successfully and Healthy since.
    pub fn is_complete(&self) -> bool {
        self.sync == SyncResult::Succeeded && self.health == Health::Healthy
    }

    /// The sync failed, or the synced application is Degraded.
    pub fn has_failed(&self) -> bool {
        self.sync == SyncResult::Failed || (self.sync == SyncResult::Succeeded && self.health == Health::Degraded)
    }
}

impl ProposalApplication {
    /// Whether it runs the wanted revision.
    pub fn is_complete(&self) -> bool {
        self.live.is_some_and(|live| live.revision == self.wanted && live.is_complete())
    }

    fn is_changed(&self) -> bool {
        self.live.is_some_and(|live| live.revision == self.wanted)
    }
}

impl ProposalView {
    /// Applies the result of a pass to the objects. A changed object keeps its health until it is evaluated again.
    ///
    /// # Panics
    /// If the pass belongs to another view.
    pub fn store(&mut self, pass: &Pass<ProposalAction, ProposalStatus>) {
        for action in &pass.actions {
            if let ProposalAction::Deploy(target, revision) = *action {
                let live = &mut self.applications[target.index()].live;
                let health = live.map_or(Health::Missing, |live| live.health);
                *live = Some(ProposalObject::written(revision, health));
            }
        }
    }

    /// Whether every application runs the wanted revision.
    pub fn is_done(&self) -> bool {
        self.applications.iter().all(ProposalApplication::is_complete)
    }
}

impl ProposedRollingUpdate {
    /// A scheduler for applications with these names and labels; the index of an application is its [`TargetId`].
    ///
    /// # Errors
    /// The strategy is invalid.
    pub fn new(strategy: &ProposalStrategy, applications: &[(String, Arc<Labels>)]) -> Result<Self, ProposalError> {
        let steps = strategy.steps()?;
        let names: Vec<String> = applications.iter().map(|(name, _)| name.clone()).collect();
        let order = by_name(&names, String::as_str);
        let mut unselected = Vec::new();
        let stages = match steps {
            None => None,
            Some([]) => Some(vec![Stage { members: order.clone(), limit: Some(1) }]),
            Some(steps) => {
                let labels: Vec<_> = applications.iter().map(|(_, labels)| Some(Arc::clone(labels))).collect();
                let plan = Steps::new(steps, &labels);
                let of = |step: Option<u32>| -> Vec<u32> {
                    order.iter().copied().filter(|a| plan.step_of[*a as usize] == step).collect()
                };
                unselected = of(None);
                let mut stages = Vec::new();
                for (index, step) in (0..).zip(steps) {
                    let members = of(Some(index));
                    let limit = config::limit_of(index as usize, step, members.len())?;
                    stages.push(Stage { members, limit });
                }
                Some(stages)
            }
        };
        Ok(Self { names, by_name: order, stages, unselected })
    }

    /// Applications that no step selects and that are therefore never changed, by name.
    pub fn unselected(&self) -> impl Iterator<Item = &str> {
        self.unselected.iter().map(|application| self.names[*application as usize].as_str())
    }

    /// For each step its applications, and how many of them are changed concurrently (`None`: all). Empty: AllAtOnce.
    pub fn steps(&self) -> impl Iterator<Item = (Vec<TargetId>, Option<usize>)> {
        let stages = self.stages.iter().flatten();
        stages.map(|stage| (stage.members.iter().copied().map(TargetId).collect(), stage.limit))
    }

    /// The first step that is not complete, if any.
    fn current(&self, view: &ProposalView) -> Option<(usize, &Stage)> {
        let is_open = |(_, stage): &(usize, &Stage)| {
            stage.members.iter().any(|member| !view.applications[*member as usize].is_complete())
        };
        self.stages.iter().flatten().enumerate().find(is_open)
    }

    fn step(&self, view: &ProposalView) -> (Vec<u32>, ProposalStatus) {
        let at = |application: &u32| &view.applications[*application as usize];
        let Some(_) = &self.stages else {
            let changed = self.by_name.iter().copied().filter(|application| !at(application).is_changed()).collect();
            return (changed, ProposalStatus::default());
        };
        let Some((_, stage)) = self.current(view) else { return (Vec::new(), ProposalStatus::default()) };
        let is_updating = |application: &&u32| at(application).is_changed() && !at(application).is_complete();
        let updating: Vec<u32> = stage.members.iter().filter(is_updating).copied().collect();
        let room = stage.limit.map_or(usize::MAX, |limit| limit.saturating_sub(updating.len()));
        let changed =
            stage.members.iter().copied().filter(|application| !at(application).is_changed()).take(room).collect();
        let has_failed = |application: &u32| at(application).live.is_some_and(|live| live.has_failed());
        let status = ProposalStatus {
            updating: updating.len(),
            failed: updating.iter().copied().filter(has_failed).map(TargetId).collect(),
        };
        (changed, status)
    }

    fn list(&self, applications: impl Iterator<Item = u32>) -> String {
        let names: Vec<&str> = applications.map(|application| self.names[application as usize].as_str()).collect();
        listed(names.into_iter(), "application")
    }

    /// One pass. It has no timer: only a change requires another one.
    ///
    /// # Panics
    /// If the view does not have one entry for each application.
    pub fn reconcile(&self, view: &ProposalView) -> Pass<ProposalAction, ProposalStatus> {
        assert_eq!(view.applications.len(), self.names.len(), "the view has one entry for each application");
        let (started, status) = self.step(view);
        let mut actions = Vec::new();
        for target in started.into_iter().map(TargetId) {
            let application = &view.applications[target.index()];
            if application.live.is_none() {
                actions.push(ProposalAction::Create(target));
            }
            actions.push(ProposalAction::Deploy(target, application.wanted));
        }
        Pass { actions, wake_at: None, status }
    }

    /// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress.
    pub fn hold(&self, view: &ProposalView) -> Option<Hold> {
        let (started, status) = self.step(view);
        if view.is_done() || !started.is_empty() {
            return None;
        }
        let Some((index, stage)) = self.current(view) else {
            let is_open = |application: &u32| !view.applications[*application as usize].is_complete();
            if self.stages.is_none() {
                let open = self.list(self.by_name.iter().copied().filter(is_open));
                let explanation = format!("all were updated simultaneously; not complete: {open}");
                return Some(Hold::new("AllAtOnce", explanation));
            }
            let outside = self.list(self.unselected.iter().copied());
            let explanation = format!("no step selects {outside}, so they are never changed");
            return Some(Hold::new("matchExpressions", explanation));
        };
        let at = |application: &u32| &view.applications[*application as usize];
        let updating = stage.members.iter().copied().filter(|a| at(a).is_changed() && !at(a).is_complete());
        let waiting: Vec<u32> = stage.members.iter().copied().filter(|a| !at(a).is_changed()).collect();
        let later = self.stages.iter().flatten().skip(index + 1).flat_map(|stage| &stage.members);
        let later: Vec<u32> = later.copied().filter(|a| !at(a).is_complete()).collect();
        let mut explanation = format!("in step {}, not complete: {}", index + 1, self.list(updating));
        if !status.failed.is_empty() {
            let failed = self.list(status.failed.iter().map(|target| target.0));
            explanation.push_str(&format!("; failed, which stalls the rollout: {failed}"));
        }
        for (group, place) in [(&waiting, "of the step"), (&later, "of later steps")] {
            if !group.is_empty() {
                explanation.push_str(&format!("; {} {place} wait", self.list(group.iter().copied())));
            }
        }
        let limit = stage.limit.map(|limit| format!("; maxUpdate allows {limit} concurrently"));
        explanation.push_str(&limit.filter(|_| !waiting.is_empty()).unwrap_or_default());
        let rule = if waiting.is_empty() { "rollingUpdate.steps" } else { "maxUpdate" };
        Some(Hold::new(rule, explanation))
    }
}
