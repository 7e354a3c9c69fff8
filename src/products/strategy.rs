//! A strategy that was checked: what every product's strategies can do.

use std::any::Any;
use std::fmt::Debug;

use serde_json::Value;

use super::{Fleet, Run};
use crate::control_plane::{Change, Controller};
use crate::document::yaml::to_yaml;
use crate::process::ProcessCommand;
use crate::results::Snippet;
use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyFailure};

/// A rollout strategy of a product, checked against the fleet that it is for.
pub trait Strategy: Any + StrategyEq + Debug + Send + Sync {
    /// The effects that the strategy would have on this fleet, before any simulation.
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation;

    /// The strategy by the rules that the product's documentation describes, for this fleet. `None`: the product has
    /// one set of rules only, or the documentation does not accept the strategy.
    fn as_documented(&self, _fleet: Fleet<'_>) -> Option<Documented> {
        None
    }

    /// The strategy as a part of the product's own file, with all settings, so that none is left to a default that
    /// another file has changed. What only this program knows is left out. `None`: the product has no such file.
    fn snippet(&self) -> Option<Snippet> {
        None
    }

    /// A warning if one of the product's objects would be too large for this fleet.
    fn object_limit(&self, _fleet: Fleet<'_>) -> Option<String> {
        None
    }

    /// Bytes that the controller of a run keeps for each target, with people's further `releases`; for an estimate.
    fn memory_of_target(&self, _releases: usize) -> f64 {
        1_000.0
    }

    /// Lists of targets, such as partitions or steps, in each of which every target may be.
    fn lists_of_targets(&self) -> usize {
        0
    }

    /// The command that every run starts. `None`: runs start no process.
    fn command(&self) -> Option<&ProcessCommand> {
        None
    }

    /// The agents of its runs, from those that the experiment describes.
    fn agent(&self, described: AgentSpec) -> AgentSpec {
        described
    }

    /// Why an apply cannot fail in this way under this strategy. `None`: it can.
    fn refuses_failure(&self, _failure: ApplyFailure) -> Option<FailureRefusal> {
        None
    }

    /// Whether rollouts of this strategy take a person's act in mid-rollout.
    ///
    /// # Errors
    /// Why they do not, in words.
    fn takes(&self, _change: &Change) -> Result<(), String> {
        Err("its rollouts take no acts of people".to_owned())
    }

    /// Acts of people that the strategy itself describes, for a controller that does not know them: times since the
    /// release.
    fn acts(&self) -> Vec<(SimDuration, Change)> {
        Vec::new()
    }

    /// What a reader of results must know about them, one sentence each.
    fn notes(&self, _fleet: Fleet<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Settings of the product that take no time, or hardly any, where others do: their paths in the strategy.
    fn zero_times(&self) -> Vec<String> {
        Vec::new()
    }

    /// The product's controller for one run.
    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r>;
}

/// Equality of strategies whose products may differ. Every strategy with [`PartialEq`] has it.
pub trait StrategyEq {
    /// Whether the other strategy is of the same product and has the same settings.
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

/// Why an apply cannot fail in some way under a strategy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FailureRefusal {
    /// The reason, in the product's terms.
    pub message: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

/// A strategy by the rules that its product's documentation describes.
#[derive(Debug)]
pub struct Documented {
    /// The strategy.
    pub strategy: Box<dyn Strategy>,
    /// Where `docs/schedulers.md` lists the differences: the name of the section in a link.
    pub section: &'static str,
}

/// The effects that a strategy would have on a fleet, in words and numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StrategyExplanation {
    /// One line: the product and the shape of the rollout.
    pub summary: String,
    /// Further lines, such as a table of stages.
    pub lines: Vec<String>,
    /// Effects that may surprise.
    pub warnings: Vec<String>,
}

/// A snippet in YAML, without the fields that are not set.
pub(super) fn yaml_snippet(place: &str, mut fields: Value) -> Option<Snippet> {
    remove_null(&mut fields);
    Some(Snippet {
        place: place.to_owned(),
        text: to_yaml(&fields),
    })
}

/// Removes the fields that are not set.
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
