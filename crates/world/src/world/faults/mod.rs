//! Everything that can fail, one file per kind. By default nothing fails.
//!
//! | file | models |
//! |---|---|
//! | `apply` | applies that are rejected, whose hook fails, or that get no response |
//! | `cut` | a cluster without network, without its link to the management cluster, or with a narrower downlink |
//! | `renewal` | alternating failures and repairs in their stationary state |
//! | `outage` | outages and brownouts of single clusters |
//! | `gaps` | seconds without data over the link of a cluster |
//! | `regional` | outages and brownouts of several clusters together |
//! | `returns` | whether a cluster that is offline comes back |
//! | `guest` | outages from a failure model of another program |
//! | `slow` | clusters that are slower than others |
//! | `pulls` | attempts that abort, and images that do not exist |
//! | `defect` | a revision that crashes or is not ready, immediately or later |
//! | `node_loss` | nodes that fail and recover |
//! | `strata` | failures spread evenly over the runs of a study |
//! | `spec` | the settings |
//!
//! Clusters that are offline from the start are drawn in `clusters::cluster_draws`. Each kind draws from its own
//! streams, so that a new kind does not change the draws of the others.
//!
//! A run may end although failures are still scheduled: a future failure cannot help a rollout, and processes of
//! failures never end. A failure in progress prevents the end of a run if its cluster will then have work to do or a
//! report to send.
//!
//! Left out: failures of the management cluster and of the controllers, and failures that cause others.

mod apply;
mod cut;
pub(crate) mod cut_kind;
mod defect;
pub(crate) mod gaps;
pub(crate) mod guest;
mod node_loss;
mod outage;
pub(crate) mod pulls;
mod regional;
pub(crate) mod renewal;
mod returns;
mod slow;
pub(crate) mod spec;
pub(crate) mod strata;

use crate::world::World;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::guest::GuestOutages;
use crate::world::faults::renewal::ProcessState;
use crate::world::faults::strata::FaultDraws;
use crate::world::ids::{ClusterId, NodeId};
use fleetsim_units::SimTime;
#[cfg(test)]
mod tests;

/// The processes of failures in one world.
#[derive(Debug, Default)]
pub(crate) struct FaultProcesses {
    /// Number of pending events of processes that never end.
    pub(crate) pending_events: usize,
    pub draws: FaultDraws,
    /// For each regional outage, the state of its process, if it has one.
    regional: Vec<ProcessState>,
    /// The outages from a failure model of another program.
    guests: GuestOutages,
}

impl FaultProcesses {
    pub(super) fn new(draws: FaultDraws) -> Self {
        Self {
            draws,
            ..Self::default()
        }
    }

    /// Schedules a failure or its end.
    fn schedule(&mut self, at: SimTime, event: FaultEvent, queue: &mut Queue) {
        self.pending_events += usize::from(event.is_of_process());
        queue.schedule(at, Event::Fault(event));
    }
}

impl FaultEvent {
    /// Returns whether the event belongs to a process that never ends.
    const fn is_of_process(self) -> bool {
        match self {
            Self::OutageBegins(_)
            | Self::OutageEnds(_)
            | Self::RegionalBegins(_)
            | Self::RegionalEnds(_)
            | Self::GuestBegins(_)
            | Self::GuestEnds(_)
            | Self::NodeFails(_)
            | Self::NodeReturns(_) => true,
            Self::OfflineEnds(_)
            | Self::TransfersResume(_)
            | Self::GapChanges(_)
            | Self::NodeNotReady { .. }
            | Self::NodeEvicts { .. }
            | Self::NotFound(_)
            | Self::DefectShows { .. } => false,
        }
    }
}

impl World<'_> {
    /// Starts every failure process in its state at the start of the rollout.
    pub(crate) fn start_faults(&mut self, queue: &mut Queue) {
        for at in 0..self.clusters.len() {
            self.start_outages(ClusterId::at(at), queue);
        }
        for at in 0..self.spec.faults.regional.len() {
            self.start_regional(at, queue);
        }
        self.start_guest_outages(queue);
        for cluster in 0..self.clusters.len() {
            for at in self.clusters[cluster].nodes.clone() {
                self.start_node_loss(NodeId::at(at), queue);
            }
        }
    }

    pub(crate) fn handle_fault(&mut self, event: FaultEvent, queue: &mut Queue) {
        self.faults.pending_events -= usize::from(event.is_of_process());
        match event {
            FaultEvent::OfflineEnds(cluster) => self.repair(cluster, CutKind::All, queue),
            FaultEvent::OutageBegins(cluster) => self.outage_begins(cluster, queue),
            FaultEvent::OutageEnds(cluster) => self.outage_ends(cluster, queue),
            FaultEvent::TransfersResume(cluster) => self.transfers_resume(cluster, queue),
            FaultEvent::GapChanges(cluster) => self.gap_changes(cluster, queue),
            FaultEvent::RegionalBegins(at) => self.regional_begins(at as usize, queue),
            FaultEvent::RegionalEnds(at) => self.regional_ends(at as usize, queue),
            FaultEvent::GuestBegins(number) => self.guest_begins(number as usize, queue),
            FaultEvent::GuestEnds(number) => self.guest_ends(number as usize, queue),
            FaultEvent::NodeFails(node) => self.node_fails(node, queue),
            FaultEvent::NodeReturns(node) => self.node_returns(node, queue),
            FaultEvent::NodeNotReady { node, failure } => self.node_not_ready(node, failure, queue),
            FaultEvent::NodeEvicts { node, failure } => self.node_evicts(node, failure, queue),
            FaultEvent::NotFound(pod) => self.not_found(pod, queue),
            FaultEvent::DefectShows { pod, start } => self.defect_shows(pod, start, queue),
        }
    }

    /// Returns whether a cluster has a failure that will end, and then has work to do or a report to send.
    fn has_cluster_behind_a_repair(&self) -> bool {
        for cluster in &self.clusters {
            if cluster.repairs_due == 0 {
                continue;
            }
            for target in &cluster.deployments {
                let deployment = &self.deployments[target.index()];
                if !deployment.agent.is_at_rest(deployment.settled) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns true if something waits for the end of a failure: its cluster, with work to do or a report to send, or
    /// a fill over its link.
    pub(crate) fn awaits_repair(&self) -> bool {
        // This is called after many events: without failures that end, there is no need to examine every cluster.
        let faults = &self.spec.faults;
        let has_repairs = faults.outages.is_some()
            || !faults.regional.is_empty()
            || !self.faults.guests.is_empty()
            || faults.node_loss.is_some();
        has_repairs
            && (self.has_cluster_behind_a_repair()
                || self.delivery.has_fill_behind_a_repair(&self.clusters))
    }
}
