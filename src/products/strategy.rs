//! A strategy that was checked: what every product's strategies can do.

use std::any::Any;
use std::fmt::Debug;

use super::{Controller, Fleet, Run};
use crate::results::Snippet;

/// A rollout strategy of a product, checked against the fleet that it is for.
pub trait Strategy: Any + Debug + Send + Sync {
    /// What the strategy would do to this fleet, before any simulation.
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation;

    /// The strategy as a part of the product's own file, with all settings, so that none is left to a default that
    /// another file has changed. What only this program knows is left out. `None`: the product has no such file.
    fn snippet(&self) -> Option<Snippet>;

    /// The product's controller for one run.
    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r>;
}

impl dyn Strategy {
    /// The strategy as a product's own type.
    #[must_use]
    pub fn downcast_ref<S: Strategy>(&self) -> Option<&S> {
        (self as &dyn Any).downcast_ref()
    }
}

/// What a strategy would do to a fleet, in words and numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StrategyExplanation {
    /// One line: the product and the shape of the rollout.
    pub summary: String,
    /// Further lines, such as a table of stages.
    pub lines: Vec<String>,
    /// What may surprise.
    pub warnings: Vec<String>,
}
