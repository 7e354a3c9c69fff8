//! Starts and ends of transfers, and their bytes by sender.
//!
//! Every byte is counted at its sender: a registry (`sent`, of which `upstream` went to caches and seeds), a cache or
//! mirror, or a peer. So the bytes received by nodes are `sent` − `upstream` + the bytes from caches and peers.

use std::ops::Range;

use crate::flow::{LinkId, TransferId};
use crate::world::World;
use crate::world::event::Queue;
use crate::world::ids::{NodeId, PullId};
use crate::world::transfers::payload::{Payload, Sender, Transfer};
use fleetsim_units::{Bytes, BytesPerSec, SimTime};

impl World<'_> {
    /// Starts a transfer from the registry to a pull's node.
    pub(crate) fn start_registry_transfer(
        &mut self,
        pull: PullId,
        size: Bytes,
        payload: Payload,
        blob: Option<u16>,
        queue: &mut Queue,
    ) -> TransferId {
        let from = self.registry_of(pull);
        let cap = self.connection_cap(pull, blob);
        let node = self.pulls[pull.index()].node;
        let key = self.nodes[node.index()].key;
        let tcp = &self.registries[from].spec.tcp;
        let connection = self.transfers.connect(node, key, cap, tcp, &self.streams);
        let transfer = Transfer {
            payload,
            bytes: size,
            sender: Sender::Registry(from),
            receiver: Some(node),
            blob,
        };
        self.limits_begin(&transfer, queue.now());
        let id = self
            .transfers
            .start_from_registry(queue.now(), from, node, connection, transfer);
        self.registries[from].transfer_begins();
        self.meter.registry_downloads.rise();
        self.note_download_begins(node);
        self.rates_changed(queue);
        id
    }

    /// Records that a node begins a download.
    pub(crate) fn note_download_begins(&mut self, node: NodeId) {
        let cluster = self.nodes[node.index()].cluster;
        self.clusters[cluster.index()].download_begins(&mut self.meter);
    }

    /// Ends a transfer early. After the last such call, the caller must call [`World::rates_changed`].
    pub(crate) fn cancel_transfer(&mut self, id: TransferId, now: SimTime) -> Bytes {
        let (transfer, arrived) = self.transfers.cancel(now, id);
        self.count_transfer(&transfer, arrived);
        arrived
    }

    /// Ends all transfers in progress at the end of a run.
    pub(crate) fn cancel_all_transfers(&mut self, now: SimTime) {
        for id in self.transfers.all_in_progress() {
            let (transfer, arrived) = self.transfers.cancel(now, id);
            self.count_transfer(&transfer, arrived);
            // Bytes for a cache or for another fleet are not counted for any node.
            self.totals.lost += if transfer.receiver.is_some() {
                arrived
            } else {
                Bytes::ZERO
            };
        }
    }

    fn count_transfer(&mut self, transfer: &Transfer, bytes: Bytes) {
        self.count_on_links(transfer, bytes);
        self.limits_end(transfer, bytes);
        if matches!(
            transfer.sender,
            Sender::Registry(_) | Sender::RegistryFill(_)
        ) {
            self.meter.registry_downloads.fall();
        }
        match transfer.sender {
            Sender::Registry(from) => self.registries[from].transfer_ends(bytes),
            Sender::RegistryFill(from) => {
                self.totals.upstream += bytes;
                self.registries[from].transfer_ends(bytes);
            }
            Sender::RegistryReads(from) => self.registries[from].sent += bytes,
            Sender::Others(from) => self.registries[from].sent_to_others += bytes,
            Sender::Mirror(_) | Sender::Cache(_) => self.totals.from_caches += bytes,
            Sender::Peers => self.totals.from_peers += bytes,
        }
        let Some(node) = transfer.receiver else {
            return;
        };
        match transfer.payload {
            Payload::Config(pull) | Payload::Layer(pull, _) => {
                self.pulls[pull.index()].received += bytes;
            }
            Payload::Reads(node, image) | Payload::Background(node, image, _) => {
                self.count_lazily_received(node, image, bytes);
            }
            Payload::Fill(_) | Payload::Others => {}
        }
        let cluster = &mut self.clusters[self.nodes[node.index()].cluster.index()];
        cluster.download_ends(&mut self.meter);
        cluster.facts.received += bytes;
    }

    pub(crate) fn transfers_end(&mut self, queue: &mut Queue) {
        for at in 0..self.transfers.advance(queue.now()) {
            let Some(transfer) = self.transfers.take_completed(at) else {
                continue;
            };
            self.count_transfer(&transfer, transfer.bytes);
            self.transfer_completed(transfer.payload, transfer.bytes, queue);
        }
        self.transfers.completed.clear();
        self.rates_changed(queue);
    }

    fn transfer_completed(&mut self, payload: Payload, size: Bytes, queue: &mut Queue) {
        match payload {
            Payload::Config(pull) => self.config_arrived(pull, size, queue),
            Payload::Layer(pull, layer) => {
                if self.last_leg_ended(pull, layer, size, queue) {
                    self.layer_arrived(pull, usize::from(layer), size, queue);
                }
            }
            Payload::Fill(fill) => self.fill_ended(fill, queue),
            Payload::Reads(node, image) => self.reads_end(node, image, size, queue),
            Payload::Background(node, _, blob) => self.background_ends(node, blob, size),
            Payload::Others => {}
        }
    }

    /// Called when transfers have started or ended, or links have changed: updates the meters with the new egress and
    /// schedules the next completion.
    pub(crate) fn rates_changed(&mut self, queue: &mut Queue) {
        self.admit_waiting(queue);
        for registry in &mut self.registries {
            registry.follow_load(&mut self.transfers, queue.now());
        }
        for registry in &mut self.registries {
            registry.follow_burst(&mut self.transfers, queue);
        }
        if self.orders.is_none() {
            self.meter.set_egress(self.transfers.egress());
            let others: f64 = self
                .registries
                .iter()
                .map(|registry| registry.sent_steadily().get())
                .sum();
            self.meter
                .add_others(others + self.transfers.rate_of_others());
            self.link_loads
                .follow(&self.transfers.network, &mut self.meter);
            self.limit_loads
                .follow(&self.transfers.network, self.meter.now());
        }
        self.transfers.schedule_completion(queue);
    }

    /// Sets the capacity of a link that is used only by transfers to `nodes` and by the fills for which these nodes
    /// wait.
    pub(crate) fn set_link(
        &mut self,
        link: LinkId,
        capacity: BytesPerSec,
        nodes: Range<usize>,
        queue: &mut Queue,
    ) {
        let now = queue.now();
        self.meter.advance(now);
        let died_or_revived = self.transfers.set_capacity(now, link, capacity);
        self.rates_changed(queue);
        if died_or_revived {
            self.check_stalls(nodes, queue);
        }
    }
}
