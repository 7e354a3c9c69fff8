//! The rollout schedulers of real products, as state machines: observations in, actions out.
//!
//! Nothing in this folder depends on the simulator. A scheduler has no clock, no queue, no randomness and no handle to
//! a cluster: its actions depend only on the view it gets and on its own state, so a real controller could drive the
//! same code. It imports only [`fleetsim_units`].
//!
//! Terms shared by all products (each product's folder uses the product's own terms):
//!
//! | word | meaning |
//! |---|---|
//! | cluster | one Kubernetes cluster of the fleet |
//! | target | one application in one destination; the unit of a scheduler's decisions |
//! | revision | one version of what a target runs; a new release is a new revision |
//! | rollout | bringing every target to its wanted revision |
//! | stage | a group of targets that a product updates before later groups (Fleet: partition) |
//! | limit | the number of targets that a rule allows in a state |
//! | pass | one call of a scheduler's `reconcile` |

pub mod argo_cd;
mod back_off;
pub mod baseline;
pub mod cloud_foundry;
mod cost;
mod duration;
mod int_or_string;
pub mod kubefleet;
pub mod label_selector;
mod object_condition;
pub mod rancher_fleet;
mod target_set;
#[cfg(test)]
mod testing;
mod text;

use std::borrow::Cow;
use std::fmt;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fleetsim_units::SimTime;

pub use back_off::{QueueRequest, back_off};
pub use duration::parse_duration;
pub use int_or_string::IntOrString;
pub use object_condition::ObjectCondition;
pub use target_set::TargetSet;

/// A target of a rollout: one application in one destination. A dense index into the fleet's targets.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TargetId(pub u32);

impl TargetId {
    /// Returns the id of the target at `index`.
    ///
    /// # Panics
    /// If there are more than 2^32 targets.
    #[must_use]
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a fleet has fewer than 2^32 targets"))
    }

    /// Returns the index into a `Vec` with one entry per target.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Returns a timestamp as the Kubernetes API server stores it: whole seconds, rounded down.
fn stored(time: SimTime) -> SimTime {
    SimTime::from_secs(time.as_nanos() / 1_000_000_000)
}

/// Returns the indices of `list` in the byte order of names; items with equal names keep the order of the list.
pub fn by_name<T>(list: &[T], name: impl Fn(&T) -> &str) -> Vec<u32> {
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    order.sort_by(|a, b| name(&list[*a as usize]).cmp(name(&list[*b as usize])));
    order
}

/// Returns, for each index, its position in `order`, which contains all indices.
pub fn places_in(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, index) in (0..).zip(order) {
        places[*index as usize] = place;
    }
    places
}

/// One version of what a target runs. Equal revisions are the same version; their order has no meaning.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Revision(pub u32);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The simulated rules.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RuleSet {
    /// The rules of the product's code.
    #[default]
    Shipped,
    /// The rules of the product's documentation.
    Documented,
}

/// The result of a scheduler's pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass<Action, Status> {
    /// The actions, in the product's order.
    pub actions: Vec<Action>,
    /// The time at which the next pass is due even without changes. `None`: the next pass starts only after a change.
    pub wake_at: Option<SimTime>,
    /// The status that the product shows after this pass.
    pub status: Status,
}

/// The rule that blocks a rollout, as a person would report it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hold {
    /// The product's name for the rule or setting, e.g. `maxUnavailablePartitions`.
    pub rule: Cow<'static, str>,
    /// The reached limit and its cause, with numbers and names.
    pub explanation: String,
}

impl Hold {
    /// Creates a hold from a rule and an explanation of why it blocks.
    pub fn new(rule: &'static str, explanation: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            explanation: explanation.into(),
        }
    }
}

#[cfg(test)]
impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.explanation)
    }
}
