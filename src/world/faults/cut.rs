//! A cluster that is cut off, from everything or from the management cluster alone, or whose downlink carries less.
//!
//! While it is cut off from the management cluster it hears no instruction, and its reports are lost; when it is back
//! it gets the newest instruction and reports how it stands, if that is news. While it is cut off from everything its
//! transfers stand still as well and what it asks of a registry gets no answer: `links` and `runtime` tell what follows.
//! What runs goes on running, and applying too.
//!
//! In a brownout the downlink carries a share of what it can, and nothing else changes. Of several at once the smallest
//! share counts, as if each were a narrow place of the same way. That is a guess: no source says how they combine.
//!
//! Left out: requests, answers and slow starts that a brownout delays, the waits of TCP between its repetitions, and what
//! a product shows of a cluster that it cannot reach.

use crate::units::BytesPerSec;
use crate::world::World;
use crate::world::event::Queue;
use crate::world::faults::spec::CutKind;
use crate::world::ids::ClusterId;

impl World<'_> {
    /// Cuts a cluster off, until [`World::repair`] was called as often.
    pub(crate) fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        self.clusters[id.index()].cuts.add(kind);
        self.set_downlink(id, queue);
        self.note_phase(id);
    }

    /// Ends one [`World::cut`] of the same kind.
    pub(crate) fn repair(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.remove(kind);
        let is_managed_again = kind.is_offline() && cuts.is_managed();
        self.set_downlink(id, queue);
        if is_managed_again {
            self.is_managed_again(id, queue);
        }
    }

    /// Sets the capacity of a cluster's downlink to what its outages leave of it.
    fn set_downlink(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &self.clusters[id.index()];
        let capacity = BytesPerSec::new(cluster.downlink.get() * cluster.cuts.downlink_share());
        let link = self.transfers.links.downlink(id);
        if self.transfers.network.capacity(link) != capacity {
            self.set_link(link, capacity, queue);
        }
    }
}
