//! Clusters that are cut off, from everything or only from the management cluster, or whose downlink is narrowed.
//!
//! A cluster that is cut off from the management cluster receives no instruction, and its reports are lost. When it
//! reconnects, it receives the newest instruction and reports its state if that has changed. A cluster that is cut off
//! from everything also stalls its transfers and gets no response from a registry (see `transfers` and
//! `nodes::runtime`). Running containers keep running, and applying continues.
//!
//! In a brownout the downlink has a share of its capacity, and nothing else changes. If several overlap, the smallest
//! share counts, as if each were a bottleneck of the same path. This is a guess: no source describes how brownouts
//! combine.
//!
//! With `tcp.retransmission`, transfers that a cut has stalled continue with their sender's next retransmission.
//! Retransmissions follow the last acknowledgement after waits that double (RFC 6298, section 5.5), up to
//! `TCP_RTO_MAX` of Linux.
//!
//! Left out: requests, responses and slow starts that a brownout delays, transfers that begin before the next
//! retransmission and therefore also wait for it, and the product's view of an unreachable cluster.

use crate::world::World;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::ids::ClusterId;
use fleetsim_units::{BytesPerSec, SimDuration};

/// Longest wait between two retransmissions. Source: `TCP_RTO_MAX`, 120 s, in torvalds/linux `include/net/tcp.h`.
const RETRANSMISSION_MAX: SimDuration = SimDuration::from_secs(120);

impl World<'_> {
    /// Begins an outage of a cluster; [`World::repair`] ends it.
    pub fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        self.clusters[id.index()].cuts.add(kind, queue.now());
        self.set_downlink(id, queue);
        for at in 0..self.clusters[id.index()].deployments.len() {
            let target = self.clusters[id.index()].deployments[at];
            self.note_phase(target);
        }
    }

    /// Ends an outage that [`World::cut`] began.
    pub fn repair(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.remove(kind, queue.now());
        let is_managed_again = kind.is_offline() && cuts.is_managed();
        if kind == CutKind::All && cuts.has_network() {
            self.wait_for_retransmission(id, queue);
        }
        self.set_downlink(id, queue);
        if is_managed_again {
            self.is_managed_again(id, queue);
        }
    }

    /// Called when a cluster's network has recovered: stalled transfers wait for the next retransmission of their
    /// senders.
    fn wait_for_retransmission(&mut self, id: ClusterId, queue: &mut Queue) {
        let Some(least) = self.spec.registry.tcp.retransmission else {
            return;
        };
        let cluster = &self.clusters[id.index()];
        let mut pulls = cluster
            .nodes
            .clone()
            .flat_map(|node| &self.nodes[node].pulls);
        if !pulls.any(|pull| self.is_stalled(*pull)) {
            return;
        }
        let wait = until_next_try(least + cluster.rtt, queue.now() - cluster.cuts.lost());
        self.clusters[id.index()].cuts.silence();
        queue.schedule_in(wait, Event::Fault(FaultEvent::TransfersResume(id)));
    }

    /// Called when senders retransmit.
    pub(super) fn transfers_resume(&mut self, id: ClusterId, queue: &mut Queue) {
        self.clusters[id.index()].cuts.end_silence();
        self.set_downlink(id, queue);
    }

    /// Sets the capacity of a cluster's downlink according to its outages.
    fn set_downlink(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &self.clusters[id.index()];
        let left = BytesPerSec::new(cluster.downlink.get() * cluster.cuts.downlink_share());
        let link = self.transfers.links.downlink(id);
        let capacity = self.transfers.links.data(left);
        let nodes = cluster.nodes.clone();
        if self.transfers.network.capacity(link) != capacity {
            self.set_link(link, capacity, nodes, queue);
        }
    }
}

/// Returns the time from the end of a cut of length `lasted` until the next retransmission; the first was `first`
/// after the start.
fn until_next_try(first: SimDuration, lasted: SimDuration) -> SimDuration {
    let mut wait = first;
    let mut tried = first;
    while tried < lasted {
        wait = (wait * 2).min(RETRANSMISSION_MAX);
        tried += wait;
    }
    tried.saturating_sub(lasted)
}
