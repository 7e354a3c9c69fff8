//! What the simulation asks of a product: its controller's cache and decisions, as late as they are in reality.

use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterId, Report};

/// A cluster to tell what to run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Deploy {
    pub(super) cluster: ClusterId,
    pub(super) revision: Revision,
    /// How many objects the pass writes before this one takes effect, it included.
    pub(super) after_writes: usize,
}

/// What one pass of a product's controller comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Decision {
    /// In the order in which they are written.
    pub(super) deploys: Vec<Deploy>,
    /// Objects that the pass creates.
    pub(super) created: usize,
    /// Objects that the pass writes, created ones included.
    pub(super) writes: usize,
    /// What the pass wrote starts another one.
    pub(super) again: bool,
    /// Unavailable targets, as the product counted them at the start of the pass.
    pub(super) unavailable: u64,
    /// When the scheduler wants to be called again whatever happens.
    pub(super) wake_at: Option<SimTime>,
}

/// One product's controller: the adapter between a scheduler and the world.
pub(super) trait Product {
    /// A report has reached the controller's cache. Returns whether the change starts a pass.
    fn learn(&mut self, report: Report) -> bool;

    /// One pass on what is in the cache now. The cache then holds what the pass decided; the clusters hear of it as
    /// it is written.
    fn decide(&mut self, now: SimTime) -> Decision;

    /// Whether the product sees the target on its wanted revision and ready.
    fn is_done(&self, cluster: ClusterId) -> bool;

    /// Which rule holds the rollout now.
    fn hold(&self) -> Option<Hold>;

    /// The stage that each target is in, for people; empty for none.
    fn stages(&self) -> Vec<String>;

    /// Whether every further pass on what is in the cache now would come to nothing, whenever it is made. A product
    /// that looks again and again by a timer says so, and its rollout counts as stalled when no news can come either.
    fn is_idle(&self) -> bool {
        false
    }
}
