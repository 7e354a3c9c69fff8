//! Transfers in progress over shared links.
//!
//! | file | models |
//! |---|---|
//! | `links` | the links between registries and nodes |
//! | `blob_links` | the rate at which a registry sends one blob |
//! | `payload` | the content of a transfer, and its sender |
//! | `limit_loads` | time in which the limits of blobs and of fetches are reached |
//! | `link_loads` | bytes and rates on the links of regions, mirrors, caches and peers |
//! | `weights` | weights of connections on full links |
//! | `accounting` | starts and ends of transfers, and their bytes by sender |
//!
//! [`crate::flow`] shares the bandwidth of the links. A link whose capacity is zero is *dead*: transfers over it
//! stall.

mod accounting;
pub(crate) mod blob_links;
pub(crate) mod limit_loads;
pub(crate) mod link_loads;
pub(crate) mod links;
pub(crate) mod payload;
mod weights;

use crate::engine::EventId;
use crate::flow::{Connection, LinkId, Network, TransferId};
use crate::world::event::{Event, Queue};
use crate::world::ids::NodeId;
use fleetsim_units::{Bytes, BytesPerSec, SimTime};
use links::{Destination, Leg, Links};
use payload::Transfer;

/// The network with its transfers in progress.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub network: Network,
    pub links: Links,
    /// Transfers by the slot of their ids.
    in_progress: Vec<Option<(TransferId, Transfer)>>,
    /// Transfers that have completed at this instant but are not processed yet.
    completed: Vec<(TransferId, Option<Transfer>)>,
    /// Buffer for the completed transfers that the network reports.
    ended: Vec<TransferId>,
    /// The pending event of the next completion.
    next_completion: Option<EventId>,
    dead_links: usize,
    /// Number of transfers in progress that are for the fleet.
    own: usize,
    /// For each blob, whether a download from a registry has completed.
    warm: Vec<bool>,
    /// For each node, the number of weighted connections that it has opened. Empty before the first weighted
    /// connection.
    connections: Vec<u64>,
}

impl Transfers {
    /// Creates transfers over these links, with none in progress. `blobs`: the number of blobs.
    pub(super) fn new(network: Network, links: Links, blobs: usize) -> Self {
        Self {
            network,
            links,
            in_progress: Vec::new(),
            completed: Vec::new(),
            ended: Vec::new(),
            next_completion: None,
            dead_links: 0,
            own: 0,
            warm: vec![false; blobs],
            connections: Vec::new(),
        }
    }

    /// Starts a transfer from a registry to a node.
    pub(crate) fn start_from_registry(
        &mut self,
        now: SimTime,
        registry: usize,
        node: NodeId,
        connection: Connection,
        transfer: Transfer,
    ) -> TransferId {
        let to = Destination::Node(node);
        let limits_blob = self.links.blob(registry, transfer.blob, to).is_some();
        if registry > 0 || limits_blob {
            let links = self.links.path(registry, transfer.blob, to);
            return self.start_over(now, &Leg { links, connection }, transfer);
        }
        // The tree of links has the first registry as its root.
        let id = self
            .network
            .start(now, self.links.card(node), transfer.bytes, connection);
        self.insert(id, transfer);
        id
    }

    /// Starts a transfer over these links.
    pub(crate) fn start_over(&mut self, now: SimTime, leg: &Leg, transfer: Transfer) -> TransferId {
        let id = self
            .network
            .start_over(now, &leg.links, transfer.bytes, leg.connection);
        self.insert(id, transfer);
        id
    }

    /// Starts a transfer from a registry to another client.
    pub(crate) fn start_for_others(
        &mut self,
        now: SimTime,
        registry: usize,
        cap: BytesPerSec,
        transfer: Transfer,
    ) {
        let link = self.links.others[registry]
            .expect("a registry with pulls of others has a link for them");
        let id = self.network.start(now, link, transfer.bytes, Some(cap));
        self.insert(id, transfer);
    }

    /// Returns the number of pending events that only concern transfers of others.
    pub(crate) const fn events_of_others(&self) -> usize {
        (self.own == 0 && self.next_completion.is_some()) as usize
    }

    /// Returns the number of connections that a node has already opened, and counts a new one.
    fn next_connection(&mut self, node: NodeId) -> u64 {
        if self.connections.is_empty() {
            self.connections.resize(self.links.nodes.len(), 0);
        }
        let opened = &mut self.connections[node.index()];
        *opened += 1;
        *opened - 1
    }

    fn insert(&mut self, id: TransferId, transfer: Transfer) {
        if self.in_progress.len() <= id.slot() {
            self.in_progress.resize_with(id.slot() + 1, || None);
        }
        self.own += usize::from(!transfer.is_of_others());
        self.in_progress[id.slot()] = Some((id, transfer));
    }

    fn remove(&mut self, id: TransferId) -> Option<Transfer> {
        let place = self.in_progress.get_mut(id.slot())?;
        let (_, transfer) = place.take_if(|(other, _)| *other == id)?;
        self.own -= usize::from(!transfer.is_of_others());
        Some(transfer)
    }

    /// Ends a transfer early. Returns the transfer, and the number of bytes that have arrived.
    pub(super) fn cancel(&mut self, now: SimTime, id: TransferId) -> (Transfer, Bytes) {
        if let Some(transfer) = self.remove(id) {
            return (transfer, self.network.cancel(now, id));
        }
        // The transfer has completed at this instant but was not processed yet.
        let completed = self.completed.iter_mut().find(|(other, _)| *other == id);
        let transfer = completed
            .and_then(|(_, transfer)| transfer.take())
            .expect("it is in progress");
        let arrived = transfer.bytes;
        (transfer, arrived)
    }

    /// Returns the transfers in progress, in the order of their starts.
    fn all_in_progress(&self) -> Vec<TransferId> {
        let moving = self.in_progress.iter().flatten().map(|(id, _)| *id);
        let completed = self
            .completed
            .iter()
            .filter(|(_, transfer)| transfer.is_some())
            .map(|(id, _)| *id);
        let mut ids: Vec<TransferId> = moving.chain(completed).collect();
        ids.sort_unstable();
        ids
    }

    /// Advances the network to `now` and returns how many transfers have completed.
    fn advance(&mut self, now: SimTime) -> usize {
        self.next_completion = None;
        self.network.advance(now, &mut self.ended);
        let mut ended = std::mem::take(&mut self.ended);
        for id in ended.drain(..) {
            let transfer = self.remove(id);
            self.completed.push((id, transfer));
        }
        self.ended = ended;
        self.completed.len()
    }

    /// Removes and returns a completed transfer. `None`: it was cancelled when an earlier completion of this instant
    /// was processed.
    fn take_completed(&mut self, at: usize) -> Option<Transfer> {
        let transfer = self.completed[at].1.take()?;
        if let Some(blob) = transfer.blob {
            self.warm[usize::from(blob)] = true;
        }
        Some(transfer)
    }

    /// Returns whether bytes of a transfer are arriving now.
    pub(crate) fn is_moving(&self, id: TransferId) -> bool {
        // The network no longer contains transfers that have completed at this instant.
        self.completed.iter().any(|(other, _)| *other == id) || self.network.rate(id).get() > 0.0
    }

    /// Returns whether some link has no capacity.
    pub(crate) const fn has_dead_links(&self) -> bool {
        self.dead_links > 0
    }

    /// Returns whether a content delivery network has cached a blob.
    pub(crate) fn is_warm(&self, blob: u16) -> bool {
        self.warm[usize::from(blob)]
    }

    /// Changes the capacity of a link. Returns whether the link became dead or recovered.
    pub(crate) fn set_capacity(
        &mut self,
        now: SimTime,
        link: LinkId,
        capacity: BytesPerSec,
    ) -> bool {
        let was_dead = self.network.capacity(link).get() <= 0.0;
        let is_dead = capacity.get() <= 0.0;
        self.network.set_capacity(now, link, capacity);
        self.dead_links += usize::from(is_dead && !was_dead);
        self.dead_links -= usize::from(was_dead && !is_dead);
        was_dead != is_dead
    }

    /// Returns the current sending rate of each registry to the fleet, and whether it is at its capacity.
    fn egress(&self) -> impl Iterator<Item = (BytesPerSec, bool)> {
        self.links
            .egress
            .iter()
            .zip(&self.links.others)
            .map(|(&egress, others)| {
                let rate = self.network.throughput(egress);
                let own = match others {
                    None => rate,
                    Some(_) if self.own == 0 => BytesPerSec::ZERO,
                    Some(others) => BytesPerSec::new(
                        (rate.get() - self.network.throughput(*others).get()).max(0.0),
                    ),
                };
                // A link without capacity transfers nothing and is therefore not busy.
                (own, rate.get() > 0.0 && self.network.is_saturated(egress))
            })
    }

    /// Returns the current rate of transfers to other clients.
    fn rate_of_others(&self) -> f64 {
        self.links
            .others
            .iter()
            .flatten()
            .map(|&link| self.network.throughput(link).get())
            .sum()
    }

    /// Schedules the event of the next completion.
    fn schedule_completion(&mut self, queue: &mut Queue) {
        let at = self.network.next_completion();
        queue.keep_scheduled(&mut self.next_completion, at, Event::TransfersEnd);
    }
}
