//! A view of a network's links and transfers for the checkers.

use crate::flow::mesh::HubSize;
use crate::flow::{Connection, LinkId, Network, TransferId, TransferPhase, TransferRecord};
use fleetsim_units::{Bytes, BytesPerSec};

/// A transfer in flight, as returned by [`Network::transfers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TransferState {
    /// The id of the transfer.
    pub(super) id: TransferId,
    /// The link that the transfer was started on; for a transfer over a set of links, the last link given.
    pub(super) link: LinkId,
    /// The transfer's cap and weight.
    pub(super) connection: Connection,
    /// The transfer's current rate.
    pub(super) rate: BytesPerSec,
    /// Bytes delivered so far, rounded down.
    pub(super) delivered: Bytes,
}

impl Network {
    /// Creates a network whose general solver treats links with more bundles than this as hubs.
    pub(super) fn with_hubs_above(bundles: usize) -> Self {
        let network = Self::new();
        network.mesh.borrow_mut().hub_size = HubSize {
            above: bundles,
            below: bundles.div_ceil(2),
        };
        network
    }

    /// Returns the transfers in flight, in an unspecified order (the same in every run).
    pub(super) fn transfers(&self) -> impl Iterator<Item = TransferState> + '_ {
        self.transfers
            .iter()
            .zip(0..)
            .filter(|(transfer, _)| transfer.phase == TransferPhase::InFlight)
            .map(
                |(
                    &TransferRecord {
                        serial,
                        connection,
                        link,
                        ..
                    },
                    slot,
                )| {
                    let id = TransferId { serial, slot };
                    TransferState {
                        id,
                        link,
                        connection,
                        rate: self.rate(id),
                        delivered: self.delivered(id),
                    }
                },
            )
    }

    /// Returns the links in the order in which they were added.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.nodes.len() as u32).map(LinkId)
    }

    /// Returns the links of a transfer in flight: from the root to the link that it was started on, or the given links
    /// in the given order.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    pub(super) fn path(&self, id: TransferId) -> Vec<LinkId> {
        let transfer = self.transfer(id);
        if transfer.crossing {
            self.mesh
                .borrow()
                .path(id.slot)
                .into_iter()
                .map(LinkId)
                .collect()
        } else {
            let mut path: Vec<LinkId> = self.path_down_to(transfer.link).collect();
            path.reverse();
            path
        }
    }
}
