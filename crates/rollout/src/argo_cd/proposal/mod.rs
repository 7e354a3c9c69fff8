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
    /// False: AllAtOnce, which is one step of all applications.
    is_rolling: bool,
    stages: Vec<Stage>,
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

/// The first step that is not complete.
struct CurrentStage<'a> {
    index: usize,
    limit: Option<usize>,
    /// Applications that are changed and not complete, and those that are not changed.
    updating: Vec<u32>,
    waiting: Vec<u32>,
    later: &'a [Stage],
}

/// One ApplicationSet in the controller's cache.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalView {
    /// The revision that the set's spec wants.
    pub wanted: Revision,
    /// The Application objects, in the scheduler's order. `None`: it does not exist.
    pub applications: Vec<Option<ProposalObject>>,
}

/// An Application object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProposalObject {
    /// The revision in its spec, as last written.
    pub revision: Revision,
    /// Its sync to that revision has succeeded.
    pub is_synced: bool,
    /// Its current health.
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
        let is_fine = |live: ProposalObject| live.is_synced && live.health == Health::Healthy;
        self.is_changed(application) && self.applications[application as usize].is_some_and(is_fine)
    }

    fn is_changed(&self, application: u32) -> bool {
        self.applications[application as usize].is_some_and(|live| live.revision == self.wanted)
    }
}

/// The decision of a pass: the applications that are written with the wanted revision, each of which is instructed to
/// run it now. Its status: applications of the current step that were changed and are not complete, before the pass.
pub type ProposalDecision = Pass<TargetId, usize>;

impl ProposedRollingUpdate {
    /// A scheduler for applications with these names and labels; the index of an application is its [`TargetId`].
    ///
    /// # Errors
    /// The strategy is invalid.
    pub fn new(
        strategy: &ProposalStrategy,
        applications: &[(String, Arc<Labels>)],
    ) -> Result<Self, ProposalError> {
        let steps = strategy.steps()?;
        let names: Vec<String> = applications.iter().map(|(name, _)| name.clone()).collect();
        let order = by_name(&names, String::as_str);
        let is_rolling = steps.is_some();
        let steps = steps.unwrap_or_default();
        if steps.is_empty() {
            let stages = vec![Stage {
                members: order,
                limit: is_rolling.then_some(1),
            }];
            return Ok(Self {
                names,
                is_rolling,
                stages,
                unselected: Vec::new(),
            });
        }
        let labels: Vec<_> = applications
            .iter()
            .map(|(_, labels)| Some(Arc::clone(labels)))
            .collect();
        let plan = Steps::new(steps, &labels);
        let of = |step: Option<u32>| -> Vec<u32> {
            order
                .iter()
                .copied()
                .filter(|a| plan.step_of[*a as usize] == step)
                .collect()
        };
        let mut stages = Vec::new();
        for (index, step) in (0..).zip(steps) {
            let members = of(Some(index));
            let limit = config::limit_of(index as usize, step, members.len())?;
            stages.push(Stage { members, limit });
        }
        Ok(Self {
            names,
            is_rolling,
            stages,
            unselected: of(None),
        })
    }

    /// Applications that no step selects and that are therefore never changed, by name.
    pub fn unselected(&self) -> impl Iterator<Item = &str> {
        self.unselected
            .iter()
            .map(|application| self.names[*application as usize].as_str())
    }

    /// For each step its applications, and how many of them are changed concurrently (`None`: all). Empty: AllAtOnce.
    pub fn steps(&self) -> impl Iterator<Item = (Vec<TargetId>, Option<usize>)> {
        let stages = self.stages.iter().filter(|_| self.is_rolling);
        stages.map(|stage| {
            (
                stage.members.iter().copied().map(TargetId).collect(),
                stage.limit,
            )
        })
    }

    fn current(&self, view: &ProposalView) -> Option<CurrentStage<'_>> {
        let is_open = |stage: &Stage| {
            stage
                .members
                .iter()
                .any(|member| !view.is_complete(*member))
        };
        let index = self.stages.iter().position(is_open)?;
        let Stage { members, limit } = &self.stages[index];
        let open = members
            .iter()
            .copied()
            .filter(|member| !view.is_complete(*member));
        let (updating, waiting) = open.partition(|member| view.is_changed(*member));
        Some(CurrentStage {
            index,
            limit: *limit,
            updating,
            waiting,
            later: &self.stages[index + 1..],
        })
    }

    fn list(&self, applications: &[u32]) -> String {
        listed(
            applications
                .iter()
                .map(|application| self.names[*application as usize].as_str()),
            "application",
        )
    }

    /// One pass. It has no timer: only a change requires another one.
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

    /// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress.
    pub fn hold(&self, view: &ProposalView) -> Option<Hold> {
        let Some(current) = self.current(view) else {
            let explanation = format!(
                "no step selects {}, so they are never changed",
                self.list(&self.unselected)
            );
            return (!view.is_done()).then(|| Hold::new("matchExpressions", explanation));
        };
        if !current.started().is_empty() {
            return None;
        }
        let CurrentStage {
            index,
            limit,
            updating,
            waiting,
            later,
        } = current;
        if !self.is_rolling {
            let explanation = format!(
                "all were updated simultaneously; not complete: {}",
                self.list(&updating)
            );
            return Some(Hold::new("AllAtOnce", explanation));
        }
        let later = later.iter().flat_map(|stage| &stage.members).copied();
        let later: Vec<u32> = later
            .filter(|application| !view.is_complete(*application))
            .collect();
        let mut explanation = format!(
            "in step {}, not complete: {}",
            index + 1,
            self.list(&updating)
        );
        let has_failed = |live: ProposalObject| live.is_synced && live.health == Health::Degraded;
        let mut failed = updating;
        failed
            .retain(|application| view.applications[*application as usize].is_some_and(has_failed));
        if !failed.is_empty() {
            explanation.push_str(&format!(
                "; failed, which stalls the rollout: {}",
                self.list(&failed)
            ));
        }
        for (group, place) in [(&waiting, "of the step"), (&later, "of later steps")] {
            if !group.is_empty() {
                explanation.push_str(&format!("; {} {place} wait", self.list(group)));
            }
        }
        let limit = limit.map(|limit| format!("; maxUpdate allows {limit} concurrently"));
        explanation.push_str(&limit.filter(|_| !waiting.is_empty()).unwrap_or_default());
        let rule = if waiting.is_empty() {
            "rollingUpdate.steps"
        } else {
            "maxUpdate"
        };
        Some(Hold::new(rule, explanation))
    }
}

impl CurrentStage<'_> {
    /// Applications that the next pass changes.
    fn started(&self) -> &[u32] {
        let room = self.limit.map_or(usize::MAX, |limit| {
            limit.saturating_sub(self.updating.len())
        });
        &self.waiting[..room.min(self.waiting.len())]
    }
}
