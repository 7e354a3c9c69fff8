//! The targets of a strategy: the entries of the fleet that the product's files select.

use std::sync::Arc;

use crate::rollout::label_selector::Labels;

/// The entries of the fleet that a rollout is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Targets {
    /// Every entry, with the labels that it has.
    All,
    /// These entries, in this order.
    Chosen(Vec<ChosenTarget>),
}

/// An entry of the fleet that is a target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChosenTarget {
    /// Its place in the fleet.
    pub(crate) index: usize,
    /// The labels of the object that stands for it in the product. `None`: those of the entry.
    pub(crate) labels: Option<Arc<Labels>>,
}
