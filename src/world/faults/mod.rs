//! What goes wrong, one file a kind; nothing does unless an experiment says so.
//!
//! | file | models |
//! |---|---|
//! | `cut` | a cluster without its network, without its link to the management cluster, or with a narrower downlink |
//! | `renewal` | times between failures and repairs, as they stand long after the first |
//! | `outage` | clusters that are cut off or have a brownout, each on its own |
//! | `regional` | clusters that are cut off or have a brownout together |
//! | `slow` | clusters that are slower than others |
//! | `pulls` | attempts that break, and tags that are not there |
//! | `defect` | a revision that crashes or is not ready, at once or later |
//! | `node_loss` | nodes that fail and come back |
//!
//! Clusters that are offline from the start are drawn in `luck`. Each kind draws from streams of its own, so that one
//! more kind leaves the luck of the others as it was.
//!
//! Why can a run come to rest while failures are still to come? A failure that has not begun never helps a rollout, and
//! processes of failures have no end; so what is to begin does not keep a run alive. What is in progress does, if the
//! cluster has something left to do or to tell once it is back.
//!
//! Left out: failures of the management cluster and of the controllers, and failures that cause others.

mod cut;
mod defect;
mod node_loss;
mod outage;
mod pulls;
mod regional;
mod renewal;
mod slow;
pub(crate) mod spec;
use crate::world::event::FaultEvent;
use crate::world::faults::spec::CutKind;
#[cfg(test)]
mod tests;

use crate::units::SimTime;
use crate::world::World;
use crate::world::event::{Event, Queue};
use crate::world::ids::{ClusterId, NodeId};

/// The processes of failures in one world.
#[derive(Debug, Default)]
pub(crate) struct FaultProcesses {
    /// Pending events of processes that never end.
    pub(crate) pending_events: usize,
    /// By regional outage: the number of its current turn.
    regional_turns: Vec<u64>,
}

impl FaultEvent {
    /// Whether it belongs to a process that goes on for ever, whatever the rollout does.
    const fn is_of_process(self) -> bool {
        match self {
            Self::OutageBegins { .. }
            | Self::OutageEnds { .. }
            | Self::RegionalBegins { .. }
            | Self::RegionalEnds { .. }
            | Self::NodeFails { .. }
            | Self::NodeReturns { .. } => true,
            Self::OfflineEnds { .. }
            | Self::NodeNotReady { .. }
            | Self::NodeEvicts { .. }
            | Self::NotFound { .. }
            | Self::DefectShows { .. } => false,
        }
    }
}

impl World<'_> {
    /// Starts every process of failures, as it stands when the rollout starts.
    pub(crate) fn start_faults(&mut self, queue: &mut Queue) {
        for at in 0..self.clusters.len() {
            self.start_outages(ClusterId::at(at), queue);
        }
        for at in 0..self.spec.faults.regional.len() {
            self.start_regional(at, queue);
        }
        for at in 0..self.nodes.len() {
            self.start_node_loss(NodeId::at(at), queue);
        }
    }

    fn schedule_fault(&mut self, at: SimTime, event: FaultEvent, queue: &mut Queue) {
        self.faults.pending_events += usize::from(event.is_of_process());
        queue.schedule(at, Event::Fault(event));
    }

    pub(crate) fn handle_fault(&mut self, event: FaultEvent, queue: &mut Queue) {
        self.faults.pending_events -= usize::from(event.is_of_process());
        match event {
            FaultEvent::OfflineEnds { cluster } => self.repair(cluster, CutKind::All, queue),
            FaultEvent::OutageBegins { cluster } => self.outage_begins(cluster, queue),
            FaultEvent::OutageEnds { cluster } => self.outage_ends(cluster, queue),
            FaultEvent::RegionalBegins { at } => self.regional_begins(at as usize, queue),
            FaultEvent::RegionalEnds { at } => self.regional_ends(at as usize, queue),
            FaultEvent::NodeFails { node } => self.node_fails(node, queue),
            FaultEvent::NodeReturns { node } => self.node_returns(node, queue),
            FaultEvent::NodeNotReady { node, failure } => self.node_not_ready(node, failure, queue),
            FaultEvent::NodeEvicts { node, failure } => self.node_evicts(node, failure, queue),
            FaultEvent::NotFound { pod } => self.not_found(pod, queue),
            FaultEvent::DefectShows { pod, start } => self.defect_shows(pod, start, queue),
        }
    }

    /// Whether some failure in progress has an end after which its cluster could do or tell more than it has.
    pub(crate) fn awaits_repair(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.repairs_due > 0 && !cluster.agent.is_at_rest(cluster.settled))
    }
}
