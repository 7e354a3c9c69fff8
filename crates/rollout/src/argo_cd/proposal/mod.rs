//! The rollout strategy that was proposed for ApplicationSets and never shipped: `RollingUpdate`.
//!
//! Follows the text of argoproj/argo-cd#9437 and of `docs/proposals/2022-07-13-appset-progressive-rollout-strategy.md`
//! at 37ee0097cf851bc2dd7665fc081bbce61a7e836e. No code exists to compare with, so the tests are scripts written by
//! hand from the text. The text states:
//!
//! - The strategy orders changes of the Application objects themselves. An application whose step has not started is
//!   neither created nor changed; afterwards it syncs by its own policy. New commits in a source are not ordered.
//! - A step starts when the previous one is completely finished. If `maxUpdate` is 0 or absent, all applications of
//!   the step are changed together.
//! - Without steps, applications are changed one by one, in a fixed order.
//! - A failing application stalls the step. The others within `maxUpdate` continue; no later step starts.
//! - A changed set abandons the running rollout: applications are not changed back, and a new rollout starts.
//!
//! Choices where the text is silent: a percentage of the step's applications is rounded as in the shipped strategy
//! ([`limit`](super::limit)). The fixed order is the order of names. An application that several steps select is in
//! the first of them; an application that no step selects is never changed. The expressions are those of the shipped
//! strategy. An application whose health never leaves Healthy is never Progressing. An application that stops being
//! Healthy later is no longer complete.

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
    /// Whether the strategy has steps. If false, it is AllAtOnce: a single step with all applications.
    is_rolling: bool,
    stages: Vec<Stage>,
    /// Applications that no step selects.
    unselected: Vec<u32>,
}

/// One step; without steps, the whole set.
#[derive(Clone, Debug)]
struct Stage {
    /// Applications in the order of their names.
    members: Vec<u32>,
    /// Maximum number of concurrent applications. `None`: all.
    limit: Option<usize>,
}

/// The first step that is not complete.
struct CurrentStage<'a> {
    index: usize,
    limit: Option<usize>,
    /// Applications that were changed and are not complete.
    updating: Vec<u32>,
    waiting: Vec<u32>,
    later: &'a [Stage],
}

/// One ApplicationSet in the controller's cache.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalView {
    /// The revision in the set's spec.
    pub wanted: Revision,
    /// The Application objects, in the scheduler's order. `None`: the object does not exist.
    pub applications: Vec<Option<ProposalObject>>,
}

/// An Application object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProposalObject {
    /// The revision in the object's spec, as last written.
    pub revision: Revision,
    /// Whether a sync to `revision` has succeeded.
    pub is_synced: bool,
    /// The application's current health.
    pub health: Health,
}

impl ProposalView {
    /// Applies the result of a pass to the objects. A changed object keeps its health until it is evaluated again.
    ///
    /// # Panics
    /// If the pass belongs to another view.
    pub fn store(&mut self, pass: &ProposalDecision) {
        for target in &pass.actions {
            let live = &mut self.applications[target.index()];
            let health = live.map_or(Health::Missing, |live| live.health);
            *live = Some(ProposalObject {
                revision: self.wanted,
                is_synced: false,
                health,
            });
        }
    }

    /// Returns true if every application is complete.
    pub fn is_done(&self) -> bool {
        (0..self.applications.len() as u32).all(|application| self.is_complete(application))
    }

    /// Returns true if an application runs the wanted revision: synced successfully, and Healthy since.
    pub fn is_complete(&self, application: u32) -> bool {
        self.is_changed(application) && self.is_synced_and(Health::Healthy, application)
    }

    /// Returns true if an application was synced successfully and has this health now.
    fn is_synced_and(&self, health: Health, application: u32) -> bool {
        let live = self.applications[application as usize];
        live.is_some_and(|live| live.is_synced && live.health == health)
    }

    fn is_changed(&self, application: u32) -> bool {
        self.applications[application as usize].is_some_and(|live| live.revision == self.wanted)
    }
}

/// The decision of a pass: the applications that are written with the wanted revision and instructed to run it now.
/// The status is the number of applications of the current step that were changed before the pass and are not
/// complete.
pub type ProposalDecision = Pass<TargetId, usize>;

impl ProposedRollingUpdate {
    /// Creates a scheduler for applications with these names and labels. The index of an application is its
    /// [`TargetId`].
    ///
    /// # Errors
    /// If the strategy is invalid.
    pub fn new(
        strategy: &ProposalStrategy,
        applications: &[(String, Arc<Labels>)],
    ) -> Result<Self, ProposalError> {
        let names: Vec<String> = applications.iter().map(|(name, _)| name.clone()).collect();
        let order = by_name(&names, String::as_str);
        let mut proposed = Self {
            names,
            is_rolling: true,
            stages: Vec::new(),
            unselected: Vec::new(),
        };
        match strategy.steps()? {
            None => {
                proposed.is_rolling = false;
                proposed.stages = vec![Stage {
                    members: order,
                    limit: None,
                }];
            }
            // No steps: change the applications one by one.
            Some([]) => {
                proposed.stages = vec![Stage {
                    members: order,
                    limit: Some(1),
                }];
            }
            Some(steps) => {
                let labels: Vec<_> = applications
                    .iter()
                    .map(|(_, labels)| Some(Arc::clone(labels)))
                    .collect();
                let plan = Steps::new(steps, &labels);
                for (index, step) in (0..).zip(steps) {
                    let members = members_of(&plan, &order, Some(index));
                    let limit = config::limit_of(index as usize, step, members.len())?;
                    proposed.stages.push(Stage { members, limit });
                }
                proposed.unselected = members_of(&plan, &order, None);
            }
        }
        Ok(proposed)
    }

    /// Returns the applications that no step selects and that are therefore never changed, by name.
    pub fn unselected(&self) -> impl Iterator<Item = &str> {
        self.unselected
            .iter()
            .map(|application| self.names[*application as usize].as_str())
    }

    /// Returns the applications of each step, and how many of them are changed concurrently (`None`: all). Empty:
    /// AllAtOnce.
    pub fn steps(&self) -> impl Iterator<Item = (Vec<TargetId>, Option<usize>)> {
        let stages = self.stages.iter().filter(|_| self.is_rolling);
        stages.map(|stage| {
            (
                stage.members.iter().copied().map(TargetId).collect(),
                stage.limit,
            )
        })
    }

    /// Returns the first step that is not complete at `view`.
    fn current(&self, view: &ProposalView) -> Option<CurrentStage<'_>> {
        let mut stages = self.stages.iter();
        let index = stages.position(|stage| !stage.is_complete(view))?;
        let stage = &self.stages[index];
        let mut current = CurrentStage {
            index,
            limit: stage.limit,
            updating: Vec::new(),
            waiting: Vec::new(),
            later: &self.stages[index + 1..],
        };
        for &member in &stage.members {
            if !view.is_changed(member) {
                current.waiting.push(member);
            } else if !view.is_complete(member) {
                current.updating.push(member);
            }
        }
        Some(current)
    }

    fn list(&self, applications: &[u32]) -> String {
        let names = applications
            .iter()
            .map(|index| self.names[*index as usize].as_str());
        listed(names, "application")
    }

    /// Runs one pass. Only a change requires another pass; there is no timer.
    ///
    /// # Panics
    /// If the view does not have one entry for each application.
    pub fn reconcile(&self, view: &ProposalView) -> ProposalDecision {
        assert_eq!(
            view.applications.len(),
            self.names.len(),
            "the view has one entry for each application"
        );
        let Some(current) = self.current(view) else {
            return Pass {
                actions: Vec::new(),
                wake_at: None,
                status: 0,
            };
        };
        let actions = current.started().iter().copied().map(TargetId).collect();
        let status = if self.is_rolling {
            current.updating.len()
        } else {
            0
        };
        Pass {
            actions,
            wake_at: None,
            status,
        }
    }

    /// Returns the rule that blocks the rollout at `view`. `None`: the rollout is finished, or the next pass makes
    /// progress.
    pub fn hold(&self, view: &ProposalView) -> Option<Hold> {
        if view.is_done() {
            return None;
        }
        let Some(current) = self.current(view) else {
            let unselected = self.list(&self.unselected);
            let explanation = format!("no step selects {unselected}, so they are never changed");
            return Some(Hold::new("matchExpressions", explanation));
        };
        if !current.started().is_empty() {
            return None;
        }
        let updating = self.list(&current.updating);
        if !self.is_rolling {
            let explanation = format!("all were updated simultaneously; not complete: {updating}");
            return Some(Hold::new("AllAtOnce", explanation));
        }
        Some(self.step_hold(&current, view))
    }

    /// Returns the hold of a step in which no application can be changed now.
    fn step_hold(&self, current: &CurrentStage<'_>, view: &ProposalView) -> Hold {
        let CurrentStage {
            index,
            limit,
            updating,
            waiting,
            later,
        } = current;
        let mut explanation = format!(
            "in step {}, not complete: {}",
            index + 1,
            self.list(updating)
        );
        let mut failed = updating.clone();
        failed.retain(|application| view.is_synced_and(Health::Degraded, *application));
        if !failed.is_empty() {
            explanation.push_str(&format!(
                "; failed, which stalls the rollout: {}",
                self.list(&failed)
            ));
        }
        if !waiting.is_empty() {
            explanation.push_str(&format!("; {} of the step wait", self.list(waiting)));
        }
        let mut waiting_later = Vec::new();
        for &member in later.iter().flat_map(|stage| &stage.members) {
            if !view.is_complete(member) {
                waiting_later.push(member);
            }
        }
        if !waiting_later.is_empty() {
            let waiting_later = self.list(&waiting_later);
            explanation.push_str(&format!("; {waiting_later} of later steps wait"));
        }
        if waiting.is_empty() {
            return Hold::new("rollingUpdate.steps", explanation);
        }
        if let Some(limit) = limit {
            explanation.push_str(&format!("; maxUpdate allows {limit} concurrently"));
        }
        Hold::new("maxUpdate", explanation)
    }
}

/// Returns the applications in `order` whose first step is `step`.
fn members_of(plan: &Steps, order: &[u32], step: Option<u32>) -> Vec<u32> {
    let mut members = order.to_vec();
    members.retain(|application| plan.step_of[*application as usize] == step);
    members
}

impl Stage {
    fn is_complete(&self, view: &ProposalView) -> bool {
        self.members.iter().all(|member| view.is_complete(*member))
    }
}

impl CurrentStage<'_> {
    /// Returns the applications that the next pass changes.
    fn started(&self) -> &[u32] {
        let room = match self.limit {
            Some(limit) => limit.saturating_sub(self.updating.len()),
            None => usize::MAX,
        };
        &self.waiting[..room.min(self.waiting.len())]
    }
}
