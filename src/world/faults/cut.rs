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

use crate::units::Share;
use crate::world::World;
use crate::world::event::Queue;
use crate::world::faults::spec::CutKind;
use crate::world::ids::ClusterId;

impl CutKind {
    /// Whether the management cluster cannot reach the cluster meanwhile.
    pub(super) const fn is_offline(self) -> bool {
        matches!(self, Self::All | Self::Management)
    }

    /// Whether something may wait for its end: what is only slower goes on by itself.
    pub(super) fn is_waited_for(self) -> bool {
        match self {
            Self::All | Self::Management => true,
            Self::Brownout { downlink } => downlink == Share::NONE,
        }
    }
}

/// What of a cluster is cut off, and by how many outages at once.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    management: u32,
    network: u32,
    /// What each brownout in progress leaves of the downlink.
    brownouts: Vec<Share>,
}

impl Cuts {
    /// Whether the management cluster and the cluster reach each other.
    pub(crate) const fn is_managed(&self) -> bool {
        self.management == 0
    }

    /// Whether the cluster and its registry reach each other.
    pub(crate) const fn has_network(&self) -> bool {
        self.network == 0
    }

    /// What is left of the downlink.
    pub(crate) fn downlink_share(&self) -> f64 {
        let whole = if self.has_network() { 1.0 } else { 0.0 };
        self.brownouts.iter().map(|share| share.get()).fold(whole, f64::min)
    }
}

impl World<'_> {
    /// Cuts a cluster off, until [`World::repair`] was called as often.
    pub(crate) fn cut(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.management += u32::from(kind.is_offline());
        match kind {
            CutKind::All => cuts.network += 1,
            CutKind::Management => {}
            CutKind::Brownout { downlink } => cuts.brownouts.push(downlink),
        }
        self.set_downlink(id, queue);
        self.note_phase(id);
    }

    /// Ends one [`World::cut`] of the same kind.
    pub(crate) fn repair(&mut self, id: ClusterId, kind: CutKind, queue: &mut Queue) {
        const CUT: &str = "what is restored was cut off";
        let cuts = &mut self.clusters[id.index()].cuts;
        cuts.management = cuts.management.checked_sub(u32::from(kind.is_offline())).expect(CUT);
        let is_managed_again = kind.is_offline() && cuts.management == 0;
        match kind {
            CutKind::All => cuts.network = cuts.network.checked_sub(1).expect(CUT),
            CutKind::Management => {}
            CutKind::Brownout { downlink } => {
                let at = cuts.brownouts.iter().position(|one| *one == downlink).expect(CUT);
                cuts.brownouts.swap_remove(at);
            }
        }
        self.set_downlink(id, queue);
        if is_managed_again {
            self.is_managed_again(id, queue);
        }
    }
}
