//! Clusters that are cut off, from everything or only from the management cluster, or whose downlink is narrowed.
//!
//! A cluster that is cut off from the management cluster receives no instruction, and its reports are lost. When it is
//! back it receives the newest instruction and reports its state if that has changed. A cluster that is cut off from
//! everything also stalls its transfers and gets no response from a registry (see `transfers` and `nodes::runtime`).
//! Running containers keep running, and applying continues.
//!
//! In a brownout the downlink carries a share of its capacity, and nothing else changes. Of several at a time the
//! smallest share counts, as if each were a bottleneck of the same path. This is a guess: no source says how they
//! combine.
//!
//! Left out: requests, responses and slow starts that a brownout delays, TCP's retransmission waits, and the product's
//! view of an unreachable cluster.

use crate::units::BytesPerSec;
use crate::world::World;
use crate::world::event::Queue;
use crate::world::faults::spec::CutKind;
use crate::world::ids::ClusterId;

impl World<'_> {
    /// Begins an outage of a cluster; [`World::repair`] ends it.
    pub(crate) fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        self.clusters[id.index()].cuts.add(kind);
        self.set_downlink(id, queue);
        self.note_phase(id);
    }

    /// Ends an outage that [`World::cut`] began.
    pub(crate) fn repair(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.remove(kind);
        let is_managed_again = kind.is_offline() && cuts.is_managed();
        self.set_downlink(id, queue);
        if is_managed_again {
            self.is_managed_again(id, queue);
        }
    }

    /// Sets the capacity of a cluster's downlink according to its outages.
    fn set_downlink(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &self.clusters[id.index()];
        let capacity = BytesPerSec::new(cluster.downlink.get() * cluster.cuts.downlink_share());
        let (link, capacity) = (self.transfers.links.downlink(id), self.transfers.links.data(capacity));
        let nodes = cluster.nodes.clone();
        if self.transfers.network.capacity(link) != capacity {
            self.set_link(link, capacity, nodes, queue);
        }
    }
}
