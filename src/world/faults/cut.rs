//! A cluster that is cut off: from everything, or from the management cluster alone.
//!
//! While it is cut off from the management cluster it hears no instruction, and its reports are lost; when it is back
//! it gets the newest instruction and reports how it stands, if that is news. While it is cut off from everything its
//! transfers stand still as well and what it asks of a registry gets no answer: `links` and `runtime` tell what follows.
//! What runs goes on running, and applying too.
//!
//! Left out: the waits of TCP between its repetitions, and what a product shows of a cluster that it cannot reach.

use super::super::ids::ClusterId;
use super::super::{Queue, World};

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
}

impl Cuts {
    /// Whether the management cluster and the cluster reach each other.
    pub(in super::super) const fn is_managed(&self) -> bool {
        self.management == 0
    }

    /// Whether the cluster and its registry reach each other.
    pub(in super::super) const fn has_network(&self) -> bool {
        self.network == 0
    }
}

impl World<'_> {
    /// Cuts a cluster off, until [`World::mend`] was called as often.
    pub(in super::super) fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.management += 1;
        if kind == CutKind::All {
            cuts.network += 1;
            self.set_downlink(id, queue);
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
            self.set_downlink(id, queue);
        }
        if is_managed {
            self.is_managed_again(id, queue);
        }
    }
}
