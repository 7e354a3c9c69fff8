//! The targets of a strategy: the entries of the fleet that the product's files select.

use std::sync::Arc;

use crate::rollout::label_selector::Labels;

/// The entries of the fleet that a rollout updates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Targets {
    /// Every entry of the fleet, with its own labels.
    All,
    /// The chosen entries of the fleet, in this order.
    Chosen(Vec<ChosenTarget>),
}

/// The order of a strategy's targets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TargetOrder {
    /// The order in which the product's files select them.
    OfProduct,
    /// The order of the fleet, which several applications share.
    OfFleet,
}

impl Targets {
    /// Returns the targets in this order.
    pub(crate) fn in_order(mut self, order: TargetOrder) -> Self {
        if let (Self::Chosen(targets), TargetOrder::OfFleet) = (&mut self, order) {
            targets.sort_by_key(|target| target.index);
        }
        self
    }
}

/// An entry of the fleet that is a target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChosenTarget {
    /// The target's index in the fleet.
    pub(crate) index: usize,
    /// The labels of the product's object for the entry. `None`: the entry's own labels.
    pub(crate) labels: Option<Arc<Labels>>,
}
