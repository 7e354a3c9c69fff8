//! The links between registries and nodes.
//!
//! Each registry has an egress link; behind it are the links of regions, the downlinks of clusters and the network
//! cards of nodes. The links of the first registry form a tree, which the flow model solves quickly; transfers from
//! another registry list every link that they use.
//!
//! If the experiment configures headers, they take a share of each of these links and of the links of caches and
//! mirrors. Left out: headers in swarms, whose limits apply to data.

use crate::flow::{Connection, LinkId, Network};
use crate::world::ids::{ClusterId, NodeId};
use crate::world::registry::load_spec::OtherLoad;
use crate::world::spec::WorldSpec;
use crate::world::transfers::blob_links::BlobLinks;
use fleetsim_units::BytesPerSec;

/// The end of a path from a registry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Destination {
    /// The path ends behind the link of this region.
    Region(usize),
    /// The path ends behind the downlink of this cluster.
    Cluster(ClusterId),
    /// The path ends behind the network card of this node.
    Node(NodeId),
}

/// The links that a transfer uses, and its connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leg {
    pub links: Vec<LinkId>,
    pub connection: Connection,
}

/// All links between registries and nodes.
#[derive(Debug)]
pub(crate) struct Links {
    /// The share of the links' rates that is available for data.
    data_share: f64,
    /// The egress of each registry.
    pub egress: Vec<LinkId>,
    /// The link to other clients of each registry, if it has any.
    pub others: Vec<Option<LinkId>>,
    blobs: BlobLinks,
    regions: Vec<LinkId>,
    /// The region and the downlink of each cluster.
    clusters: Vec<(Option<usize>, LinkId)>,
    /// The cluster and the network card of each node.
    pub nodes: Vec<(ClusterId, LinkId)>,
}

impl Links {
    /// Creates the egress of the first registry, and the regions behind it.
    pub(crate) fn new(spec: &WorldSpec, network: &mut Network) -> Self {
        let data_share = spec.registry.tcp.data_share();
        let mut links = Self {
            data_share,
            egress: Vec::new(),
            others: Vec::new(),
            blobs: BlobLinks::default(),
            regions: Vec::new(),
            clusters: Vec::new(),
            nodes: Vec::new(),
        };
        let egress = network.add_link(None, links.data(spec.registry.egress));
        links.egress.push(egress);
        for region in &spec.regions {
            let link = network.add_link(Some(egress), links.data(region.bandwidth));
            links.regions.push(link);
        }
        links
    }

    /// Adds the egress of the other registries, and the links of other clients.
    pub(crate) fn add_registries(&mut self, spec: &WorldSpec, network: &mut Network) {
        for other in &spec.registries {
            let link = network.add_link(None, self.data(other.spec.egress));
            self.egress.push(link);
        }
        for (at, &egress) in self.egress.iter().enumerate() {
            let has_pulls = matches!(spec.registry_at(at).other_load, Some(OtherLoad::Pulls(_)));
            self.others
                .push(has_pulls.then(|| network.add_link(Some(egress), BytesPerSec::UNLIMITED)));
        }
    }

    /// Adds the links of the blobs.
    pub(crate) fn add_blobs(&mut self, blobs: BlobLinks) {
        self.blobs = blobs;
    }

    /// Adds a cluster's downlink behind `uplink` if it is given, otherwise behind its region or the first registry.
    pub(crate) fn add_cluster(
        &mut self,
        region: Option<usize>,
        uplink: Option<LinkId>,
        capacity: BytesPerSec,
        network: &mut Network,
    ) -> LinkId {
        let uplink =
            uplink.unwrap_or_else(|| region.map_or(self.egress[0], |region| self.regions[region]));
        let downlink = network.add_link(Some(uplink), self.data(capacity));
        self.clusters.push((region, downlink));
        downlink
    }

    /// Adds a node's network card behind `uplink`.
    pub(crate) fn add_node(
        &mut self,
        cluster: ClusterId,
        uplink: LinkId,
        nic: BytesPerSec,
        network: &mut Network,
    ) {
        self.nodes
            .push((cluster, network.add_link(Some(uplink), self.data(nic))));
    }

    /// Returns the rate at which a link of this rate carries data, without headers.
    pub(crate) fn data(&self, rate: BytesPerSec) -> BytesPerSec {
        BytesPerSec::new(rate.get() * self.data_share)
    }

    /// Returns the rate, with headers, that a link needs to carry data at this rate.
    pub(crate) fn with_headers(&self, data: BytesPerSec) -> BytesPerSec {
        BytesPerSec::new(data.get() / self.data_share)
    }

    /// The link of each region.
    pub(crate) fn regions(&self) -> &[LinkId] {
        &self.regions
    }

    /// The number of clusters.
    pub(crate) const fn clusters(&self) -> usize {
        self.clusters.len()
    }

    pub(crate) fn downlink(&self, cluster: ClusterId) -> LinkId {
        self.clusters[cluster.index()].1
    }

    pub(crate) fn card(&self, node: NodeId) -> LinkId {
        self.nodes[node.index()].1
    }

    /// Returns the link of a blob from a registry to a destination. `None`: the registry does not limit blobs, or the
    /// bytes are not a blob.
    pub(crate) fn blob(
        &self,
        registry: usize,
        blob: Option<u16>,
        to: Destination,
    ) -> Option<LinkId> {
        self.blobs.link(registry, blob?, self.region_of(to))
    }

    /// Returns the place of a blob's link among [`Self::blob_links`]. `None`: the registry does not limit blobs.
    pub(crate) fn blob_place(&self, registry: usize, blob: u16, to: Destination) -> Option<usize> {
        self.blobs.place(registry, blob, self.region_of(to))
    }

    /// Returns the links of all blobs of a registry. Empty if it does not limit blobs.
    pub(crate) fn blob_links(&self, registry: usize) -> &[LinkId] {
        self.blobs.all(registry)
    }

    /// Returns the links from a registry to a destination, for a blob or for other bytes.
    pub(crate) fn path(&self, registry: usize, blob: Option<u16>, to: Destination) -> Vec<LinkId> {
        let mut links: Vec<LinkId> = self.blob(registry, blob, to).into_iter().collect();
        links.push(self.egress[registry]);
        if let Some(region) = self.region_of(to) {
            links.push(self.regions[region]);
        }
        match to {
            Destination::Region(_) => {}
            Destination::Cluster(cluster) => links.push(self.downlink(cluster)),
            Destination::Node(node) => {
                let (cluster, card) = self.nodes[node.index()];
                links.extend([self.downlink(cluster), card]);
            }
        }
        links
    }

    fn region_of(&self, to: Destination) -> Option<usize> {
        match to {
            Destination::Region(region) => Some(region),
            Destination::Cluster(cluster) => self.clusters[cluster.index()].0,
            Destination::Node(node) => {
                let (cluster, _) = self.nodes[node.index()];
                self.clusters[cluster.index()].0
            }
        }
    }
}
