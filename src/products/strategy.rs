//! A checked strategy, with the operations that every product's strategies support.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

use super::{Fleet, Run};
use crate::control_plane::{Change, Controller};
use crate::document::yaml::to_yaml;
use crate::process::{Decider, ProcessCommand};
use crate::results::Snippet;
use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyFailure};

/// A rollout strategy of a product, checked against its fleet.
pub trait Strategy: Any + StrategyEq + Debug + Send + Sync {
    /// Returns the effects that the strategy would have on this fleet, before any simulation.
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation;

    /// Returns the strategy under the rules in the product's documentation, for this fleet. `None`: the product has
    /// only one rule set, or the documentation does not permit the strategy.
    fn as_documented(&self, _fleet: Fleet<'_>) -> Option<Documented> {
        None
    }

    /// Returns the strategy as part of the product's own file. All settings are included, so that defaults in another
    /// file cannot change it; settings that only fleetsim has are left out. `None`: the product has no such file.
    fn snippet(&self) -> Option<Snippet> {
        None
    }

    /// Returns a warning if one of the product's objects would be too large for this fleet.
    fn object_limit(&self, _fleet: Fleet<'_>) -> Option<String> {
        None
    }

    /// Returns the memory in bytes that a run's controller needs for each target, as an estimate. `releases`: the
    /// number of further releases by people.
    fn memory_of_target(&self, _releases: usize) -> f64 {
        1_000.0
    }

    /// Returns the number of lists of targets, such as partitions or steps, each of which may contain every target.
    fn lists_of_targets(&self) -> usize {
        0
    }

    /// Returns the command that every run starts. `None`: runs start no process.
    fn command(&self) -> Option<&ProcessCommand> {
        None
    }

    /// Returns the strategy with an object of this process in place of the external process. `None`: no process
    /// decides in the passes of this strategy.
    fn decided_in_process(&self, _decider: &Arc<dyn Decider>) -> Option<Arc<dyn Strategy>> {
        None
    }

    /// Returns the agents in the strategy's runs, given the agents in the experiment.
    fn agent(&self, described: AgentSpec) -> AgentSpec {
        described
    }

    /// Returns why an apply cannot fail in this way under this strategy. `None`: it can.
    fn refuses_failure(&self, _failure: ApplyFailure) -> Option<FailureRefusal> {
        None
    }

    /// Checks whether this strategy supports a person's action during the rollout.
    ///
    /// # Errors
    /// Returns the reason why the strategy does not support the action.
    fn takes(&self, _change: &Change) -> Result<(), String> {
        Err("no changes by people are supported".to_owned())
    }

    /// Returns whether people can pause a rollout of the strategy where it is. Otherwise returns the reason, in a form
    /// that can follow a colon.
    ///
    /// # Errors
    /// If they cannot.
    fn can_pause(&self) -> Result<(), String> {
        self.takes(&Change::Stop(true))
    }

    /// Returns people's actions in the strategy's own settings, with their times since the release, for a controller
    /// that does not read these settings.
    fn acts(&self) -> Vec<(SimDuration, Change)> {
        Vec::new()
    }

    /// Returns notes for readers of the results, one sentence each.
    fn notes(&self, _fleet: Fleet<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Returns the product's settings that make a step take little or no time although it normally takes time, as
    /// paths in the strategy.
    fn zero_times(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the strategy in a world where this part of its product holds nothing back. `None`: the strategy has no
    /// such part, or the part holds nothing back.
    fn without(&self, _part: StrategyPart) -> Option<Arc<dyn Strategy>> {
        None
    }

    /// Creates the product's controller for one run.
    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r>;
}

/// Equality of strategies that may belong to different products. Every strategy with [`PartialEq`] implements it.
pub trait StrategyEq {
    /// Returns whether the other strategy belongs to the same product and has the same settings.
    fn is_same(&self, other: &dyn Strategy) -> bool;
}

impl<S: Strategy + PartialEq> StrategyEq for S {
    fn is_same(&self, other: &dyn Strategy) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<S>() == Some(self)
    }
}

impl PartialEq for dyn Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

/// A part of a strategy's product that can hold a rollout back, beside the strategy's own pace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StrategyPart {
    /// People who approve or continue.
    People,
    /// Windows in which the product does not act.
    Windows,
    /// A controller of the product between its scheduler and the clusters.
    ClusterController,
    /// The processors that the processes of this controller share.
    HubCpu,
}

/// What remains of a time that a trial lifts. It is not zero, because steps without any duration may repeat endlessly.
pub(crate) const REMAINING_TIME: f64 = 0.01;

/// The reason why an apply cannot fail in some way under a strategy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FailureRefusal {
    /// The reason, in the product's terms.
    pub message: &'static str,
    /// The suggested replacement.
    pub help: &'static str,
}

/// A strategy under the rules in its product's documentation.
#[derive(Debug)]
pub struct Documented {
    /// The strategy under the documented rules.
    pub strategy: Box<dyn Strategy>,
    /// The anchor of the section in `docs/schedulers.md` that lists the differences.
    pub section: &'static str,
}

/// The effects of a strategy on a fleet, in words and numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StrategyExplanation {
    /// One line with the product and the shape of the rollout.
    pub summary: String,
    /// Further lines, such as a table of stages.
    pub lines: Vec<String>,
    /// Effects that may be surprising.
    pub warnings: Vec<String>,
}

/// Returns a YAML snippet, without fields that are not set.
pub(super) fn yaml_snippet(place: &str, mut fields: Value) -> Option<Snippet> {
    remove_null(&mut fields);
    Some(Snippet {
        place: place.to_owned(),
        text: to_yaml(&fields),
    })
}

/// Removes fields that are not set.
pub(super) fn remove_null(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_null);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}
