//! The inputs of a product: the fleet, and one run over it.

use std::sync::Arc;

use crate::calendar::CalendarStart;
use crate::control_plane::{ControlLoop, SharedHub};
use crate::engine::Streams;
use crate::rollout::label_selector::LabelSelector;
use crate::rollout::rancher_fleet::ClusterGroup;
use crate::units::SimTime;
use crate::world::WorldSpec;

/// A cluster group and its selector. A group without a selector is empty.
pub type FleetGroup = (Arc<ClusterGroup>, Option<LabelSelector>);

/// The clusters that a strategy updates, and the release.
#[derive(Clone, Copy, Debug)]
pub struct Fleet<'a> {
    /// The clusters, the release, and the rest of the simulated world.
    pub world: &'a WorldSpec,
    /// Cluster groups that a product may refer to by name. Their selectors are valid.
    pub groups: &'a [FleetGroup],
    /// The date and time of the start, if the experiment has one.
    pub calendar: Option<&'a CalendarStart>,
}

impl Fleet<'_> {
    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.world.clusters.len()
    }

    /// Returns whether there are no clusters.
    pub fn is_empty(&self) -> bool {
        self.world.clusters.is_empty()
    }
}

/// One run of a strategy.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The run's label in messages to people.
    pub label: &'a str,
    /// The fleet.
    pub fleet: Fleet<'a>,
    /// The control loop.
    pub control_loop: &'a ControlLoop,
    /// The time at which the run ends.
    pub horizon: SimTime,
    /// The random streams of this seed and replicate.
    pub streams: Streams,
    /// The parts of the control plane that all rollouts of the run share.
    pub hub: SharedHub,
}
