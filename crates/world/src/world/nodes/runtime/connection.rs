//! The connection between a pull's node and its registry.

use crate::world::World;
use crate::world::ids::PullId;
use crate::world::registry::tcp;
use fleetsim_units::{Bytes, BytesPerSec, SimDuration};

impl World<'_> {
    /// Returns the index of the registry that a pull's image comes from.
    pub(crate) fn registry_of(&self, pull: PullId) -> usize {
        let image = self.catalog.specified_index(self.pulls[pull.index()].image);
        self.spec.images[image].registry
    }

    fn cluster_of(&self, pull: PullId) -> usize {
        self.nodes[self.pulls[pull.index()].node.index()]
            .cluster
            .index()
    }

    /// Returns whether requests of a pull reach its registry.
    pub(crate) fn is_reachable(&self, pull: PullId) -> bool {
        !self.registries[self.registry_of(pull)].down
            && self.clusters[self.cluster_of(pull)].cuts.has_network()
    }

    pub(crate) fn rtt(&self, pull: PullId) -> SimDuration {
        self.clusters[self.cluster_of(pull)].rtt
    }

    /// Returns the maximum rate of one connection of a pull; `blob`: the blob, if the connection is for one.
    pub(crate) fn connection_cap(&self, pull: PullId, blob: Option<u16>) -> Option<BytesPerSec> {
        let from = self.registry_of(pull);
        let cluster = &self.clusters[self.cluster_of(pull)];
        let path = tcp::path_cap(self.registries[from].spec, cluster.rtt, cluster.loss);
        self.registries[from].connection_cap(path, blob.map(|blob| self.transfers.is_warm(blob)))
    }

    /// Returns the delay of a transfer due to slow start.
    pub(crate) fn ramp_up(&self, pull: PullId, size: Bytes) -> SimDuration {
        let tcp = self.registries[self.registry_of(pull)].spec.tcp;
        if !tcp.slow_start {
            return SimDuration::ZERO;
        }
        let cluster = &self.clusters[self.cluster_of(pull)];
        let card = self.transfers.links.card(self.pulls[pull.index()].node);
        let links = self
            .transfers
            .links
            .data(cluster.downlink)
            .get()
            .min(self.transfers.network.capacity(card).get());
        let rate = self
            .connection_cap(pull, None)
            .map_or(links, |cap| cap.get().min(links));
        tcp::slow_start_delay(tcp, cluster.rtt, rate, size)
    }
}
