//! The outages that currently cut a cluster off or narrow its downlink.

use crate::world::faults::cut_kind::CutKind;
use fleetsim_units::{Share, SimTime};

/// The outages in progress, by the link or traffic that they affect.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    management: u32,
    network: u32,
    /// The time at which the network was last lost.
    lost: SimTime,
    /// The times at which the connection to the management cluster was last lost, and restored.
    management_lost: SimTime,
    management_back: SimTime,
    /// The management cluster reached the cluster for some time before the connection was lost.
    was_managed: bool,
    /// Number of ended cuts after which transfers still wait for a retransmission.
    silences: u32,
    /// The share of the downlink that remains in each brownout in progress.
    brownouts: Vec<Share>,
}

impl Cuts {
    /// Begins an outage of this kind.
    pub(crate) fn add(&mut self, kind: CutKind, now: SimTime) {
        if kind.is_offline() && self.is_managed() {
            self.was_managed |= now > self.management_back;
            self.management_lost = now;
        }
        self.management += u32::from(kind.is_offline());
        match kind {
            CutKind::All => {
                if self.has_network() {
                    self.lost = now;
                }
                self.network += 1;
            }
            CutKind::Management => {}
            CutKind::Brownout { downlink } => self.brownouts.push(downlink),
        }
    }

    /// Ends an outage of this kind.
    pub(crate) fn remove(&mut self, kind: CutKind, now: SimTime) {
        const CUT: &str = "an outage that ends has begun";
        self.management = self
            .management
            .checked_sub(u32::from(kind.is_offline()))
            .expect(CUT);
        if kind.is_offline() && self.is_managed() {
            self.management_back = now;
        }
        match kind {
            CutKind::All => self.network = self.network.checked_sub(1).expect(CUT),
            CutKind::Management => {}
            CutKind::Brownout { downlink } => {
                let at = self
                    .brownouts
                    .iter()
                    .position(|one| *one == downlink)
                    .expect(CUT);
                self.brownouts.swap_remove(at);
            }
        }
    }

    /// Returns whether the management cluster and the cluster can reach each other.
    pub(crate) const fn is_managed(&self) -> bool {
        self.management == 0
    }

    /// Returns whether the cluster and its registry can reach each other.
    pub(crate) const fn has_network(&self) -> bool {
        self.network == 0
    }

    /// Returns whether the management cluster reaches the cluster now, or has reached it for some time.
    pub(crate) const fn was_ever_managed(&self) -> bool {
        self.is_managed() || self.was_managed
    }

    /// Returns the time at which the connection to the management cluster was last lost.
    pub(crate) const fn management_lost(&self) -> SimTime {
        self.management_lost
    }

    /// Returns when the network was last lost.
    pub(crate) const fn lost(&self) -> SimTime {
        self.lost
    }

    /// Records that the network has recovered, and that senders have not noticed this yet.
    pub(crate) const fn silence(&mut self) {
        self.silences += 1;
    }

    /// Records that senders have retried after a cut.
    pub(crate) const fn end_silence(&mut self) {
        self.silences -= 1;
    }

    /// Returns the remaining share of the downlink.
    pub(crate) fn downlink_share(&self) -> f64 {
        let whole = if self.has_network() && self.silences == 0 {
            1.0
        } else {
            0.0
        };
        self.brownouts
            .iter()
            .map(|share| share.get())
            .fold(whole, f64::min)
    }
}
