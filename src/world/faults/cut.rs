//! A cluster that is cut off: from everything, or from the management cluster alone.
//!
//! While it is cut off from the management cluster it hears no instruction, and its reports are lost; when it is back
//! it gets the newest instruction and reports how it stands, if that is news. While it is cut off from everything its
//! transfers stand still as well, and what it asks of a registry gets no answer until it is back: TCP repeats what
//! was lost, so what was under way goes on where it was. A pull that has waited for 5 minutes without a byte gives up,
//! and one that begins without a network gives up when it cannot connect. What runs goes on running, and applying too.
//!
//! Sources: `image_pull_progress_timeout` (5 min) of containerd `internal/cri/config`; the dialer's time-out of 30 s in
//! containerd `core/remotes/docker/config/hosts.go`.
//!
//! Left out: the waits of TCP between its repetitions, and what a product shows of a cluster that it cannot reach.

use super::super::ids::{ClusterId, PullId};
use super::super::pull::PullError;
use super::super::{Event, Queue, World};
use super::FaultEvent;
use crate::units::{BytesPerSec, SimDuration};

/// A pull without a byte for so long is given up. Source: containerd's `image_pull_progress_timeout`; 1 min in v1.7.0.
const NO_PROGRESS: SimDuration = SimDuration::from_mins(5);
/// A connection that is not made within this is given up. Source: the dialer in containerd's `hosts.go`.
const NO_CONNECTION: SimDuration = SimDuration::from_secs(30);

/// What an outage cuts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CutKind {
    /// All that goes into the cluster and out of it.
    All,
    /// The link to the management cluster; images still come.
    Management,
}

/// What of a cluster is cut off, and by how many outages at once.
#[derive(Debug, Default)]
pub(in super::super) struct Cuts {
    management: u32,
    network: u32,
    /// Cuts of the network so far.
    number: u32,
    /// What reached the cluster's end of the line while there was none.
    held: Vec<Event>,
}

impl Cuts {
    /// Whether the management cluster and the cluster reach each other.
    pub(in super::super) const fn is_managed(&self) -> bool {
        self.management == 0
    }
}

impl World<'_> {
    /// Cuts a cluster off, until [`World::mend`] was called as often.
    pub(in super::super) fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.management += 1;
        if kind == CutKind::All {
            cuts.network += 1;
            if cuts.network == 1 {
                cuts.number += 1;
                self.network_goes(id, queue);
            }
        }
        self.note_phase(id);
    }

    /// Ends one [`World::cut`] of the same kind.
    pub(in super::super) fn mend(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.management = cuts.management.checked_sub(1).expect("what is restored was cut off");
        let is_managed = cuts.management == 0;
        if kind == CutKind::All {
            cuts.network = cuts.network.checked_sub(1).expect("what is restored was cut off");
            if cuts.network == 0 {
                self.network_returns(id, queue);
            }
        }
        if is_managed {
            self.is_managed_again(id, queue);
        }
    }

    fn network_goes(&mut self, id: ClusterId, queue: &mut Queue) {
        let (link, number) = (self.clusters[id.index()].link, self.clusters[id.index()].cuts.number);
        self.network.set_capacity(queue.now(), link, BytesPerSec::ZERO);
        self.flow_changed(queue);
        for node in self.nodes_of(id) {
            for at in 0..self.nodes[node].pulls.len() {
                let pull = self.nodes[node].pulls[at];
                let event = FaultEvent::NoProgress { pull, cut: number };
                self.schedule_fault(queue.now() + NO_PROGRESS, event, queue);
            }
        }
    }

    fn network_returns(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let held = std::mem::take(&mut cluster.cuts.held);
        self.network.set_capacity(queue.now(), cluster.link, cluster.downlink);
        self.flow_changed(queue);
        for event in held {
            queue.schedule(queue.now(), event);
        }
    }

    /// Keeps an event of a pull back while its cluster has no network. Returns whether it did.
    pub(in super::super) fn is_held(&mut self, event: &Event) -> bool {
        let (Event::RequestArrives { pull, .. } | Event::Answered { pull, .. } | Event::BlobHostAnswers { pull, .. }) =
            *event
        else {
            return false;
        };
        let node = self.pulls[pull.index()].node;
        let cuts = &mut self.clusters[self.nodes[node.index()].cluster.index()].cuts;
        let is_held = cuts.network > 0;
        if is_held {
            cuts.held.push(*event);
        }
        is_held
    }

    /// A pull begins; without a network it cannot connect.
    pub(in super::super) fn expect_connection(&mut self, cluster: ClusterId, pull: PullId, queue: &mut Queue) {
        let cuts = &self.clusters[cluster.index()].cuts;
        if cuts.network > 0 {
            let event = FaultEvent::NoProgress { pull, cut: cuts.number };
            self.schedule_fault(queue.now() + NO_CONNECTION, event, queue);
        }
    }

    pub(super) fn no_progress(&mut self, id: PullId, cut: u32, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        let cuts = &self.clusters[self.nodes[pull.node.index()].cluster.index()].cuts;
        if !pull.ended && cuts.network > 0 && cuts.number == cut && pull.waits_for_network() {
            self.fail(id, PullError::NoProgress, queue);
        }
    }
}
