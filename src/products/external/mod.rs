//! An external scheduler: a process in any language that decides which cluster is next.
//!
//! The protocol is in [`crate::process`]. If fleetsim runs the control loop (`controller` in the experiment), a pass
//! starts when the readiness of a target changes, the process makes the decisions, and its instructions are written
//! one after another. If the process runs the loop, it has its own passes, queues and timers in virtual time.
//!
//! Loading or checking an experiment never starts a command, and `fleetsim run` starts it only with permission.

mod adapter;
mod approvals;
mod config;
mod own_loop;
mod session;

pub(crate) use approvals::ApprovalModel;
pub use config::{ExternalConfig, LoopKeeper};

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{FailureRefusal, Fleet, Run, Strategy, StrategyExplanation};
use crate::control_plane::{Change, Controller};
use crate::process::{Decider, ProcessCommand};
use crate::results::Snippet;
use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyFailure, DurationModel, ReadinessSpec};

/// An object of the program that uses the library, which decides in place of a process.
#[derive(Clone, Debug)]
pub struct GuestDecider(pub Arc<dyn Decider>);

impl PartialEq for GuestDecider {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for GuestDecider {
    type Target = dyn Decider;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A checked external strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalStrategy {
    /// The command that starts a run's process.
    pub command: ProcessCommand,
    /// The object that decides in place of the process. `None`: the process decides.
    pub decider: Option<GuestDecider>,
    /// The strategy's own files, as path and text.
    pub files: Vec<(String, String)>,
    /// Flags that are passed to the process.
    pub settings: BTreeMap<String, String>,
    /// The side that runs the control loop.
    pub keeper: LoopKeeper,
    /// The approvals that the process requests, and the delay until they are given.
    pub(crate) approvals: ApprovalModel,
    /// Whether the process receives events of Deployments that exceed their progress deadline.
    pub sees_progress_deadlines: bool,
    /// Whether paused clusters are never instructed.
    pub heeds_pause: bool,
    /// The strategy as fleetsim reads it, if the process is the own controller of a supported product.
    pub native: Option<Arc<dyn Strategy>>,
    /// People's actions in the strategy, with their time since the release.
    pub acts: Vec<(SimDuration, Change)>,
}

impl ExternalStrategy {
    /// Returns the name of the object or the command that decides.
    fn decided_by(&self) -> String {
        match &self.decider {
            Some(decider) => decider.name(),
            None => self.command.shown(),
        }
    }
}

impl Strategy for ExternalStrategy {
    fn refuses_failure(&self, failure: ApplyFailure) -> Option<FailureRefusal> {
        let native = self.native.as_ref()?;
        if failure == ApplyFailure::Immutable {
            return Some(FailureRefusal {
                message: "the protocol can report a failed apply, but not one that is never retried",
                help: "write `kind: rejected`, or use `controller: native`",
            });
        }
        native.refuses_failure(failure)
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let Some(native) = &self.native else {
            let summary = format!(
                "{} clusters in the order that `{}` decides",
                fleet.len(),
                self.decided_by()
            );
            return StrategyExplanation {
                summary,
                ..StrategyExplanation::default()
            };
        };
        let mut explanation = native.explain(fleet);
        explanation.lines.push(
            "decided by the product's own controller; these lines are fleetsim's interpretation"
                .to_owned(),
        );
        explanation
    }

    fn snippet(&self) -> Option<Snippet> {
        self.native.as_ref()?.snippet()
    }

    fn acts(&self) -> Vec<(SimDuration, Change)> {
        self.acts.clone()
    }

    /// A product's own program simulates the agents' part in detecting readiness.
    fn agent(&self, described: AgentSpec) -> AgentSpec {
        let Some(native) = &self.native else {
            return described;
        };
        let at_once = ReadinessSpec::Delay(DurationModel::Constant(SimDuration::ZERO));
        AgentSpec {
            readiness: at_once,
            ..native.agent(described)
        }
    }

    /// A process ignores events that it does not need.
    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Edited(_) | Change::Deleted(_) => {
                Err("the protocol has no message for `edit` and `delete`".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn notes(&self, fleet: Fleet<'_>) -> Vec<String> {
        self.native
            .as_ref()
            .map_or_else(Vec::new, |native| native.notes(fleet))
    }

    fn zero_times(&self) -> Vec<String> {
        self.native
            .as_ref()
            .map_or_else(Vec::new, |native| native.zero_times())
    }

    fn command(&self) -> Option<&ProcessCommand> {
        self.decider.is_none().then_some(&self.command)
    }

    fn decided_in_process(&self, decider: &Arc<dyn Decider>) -> Option<Arc<dyn Strategy>> {
        if self.keeper == LoopKeeper::Process {
            return None;
        }
        Some(Arc::new(Self {
            decider: Some(GuestDecider(Arc::clone(decider))),
            ..self.clone()
        }))
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        match self.keeper {
            LoopKeeper::Fleetsim => Box::new(adapter::ExternalController::new(self, &run)),
            LoopKeeper::Process => Box::new(own_loop::OwnLoopController::new(self, &run)),
        }
    }
}
