//! The limits of each cluster and of one of its nodes, compared with the demand of a release. Only the slowest of each
//! kind is reported.

use super::content::{ClusterNodes, NeededBlob, ReleaseContent, total_bytes};
use super::demand::ReleaseDemand;
use super::limits::over_link;
use super::need::{NeededAmount, ResourceNeed};
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::nodes::runtime::spec::SlotScope;
use crate::world::nodes::spec::DiskSpec;
use crate::world::registry::tcp::path_cap;
use crate::world::spec::WorldSpec;
use fleetsim_units::{Bytes, BytesPerSec, SimDuration};

/// The need of the slowest cluster, and the number of other clusters that are equally slow.
struct SlowestSite {
    need: ResourceNeed,
    alike: usize,
}

/// The slowest cluster for each kind of resource.
#[derive(Default)]
struct SlowestSites {
    /// One entry for each kind, in the order of [`SiteView::all`].
    kinds: Vec<Option<SlowestSite>>,
}

impl SlowestSites {
    /// Stores a need if it is slower than all previous ones of this kind.
    fn note(&mut self, kind: usize, need: Option<ResourceNeed>) {
        if self.kinds.len() <= kind {
            self.kinds.resize_with(kind + 1, || None);
        }
        let Some(need) = need else { return };
        match &mut self.kinds[kind] {
            Some(slowest) if need.least < slowest.need.least => {}
            Some(slowest) if need.least == slowest.need.least => slowest.alike += 1,
            place => *place = Some(SlowestSite { need, alike: 0 }),
        }
    }
}

/// The needs of clusters and of nodes.
pub(super) fn site_needs(
    world: &WorldSpec,
    content: &ReleaseContent,
    demand: &ReleaseDemand,
) -> Vec<ResourceNeed> {
    let mut slowest = SlowestSites::default();
    let mut latest: Option<(ClusterNodes, Vec<&NeededBlob>)> = None;
    for at in 0..world.clusters.len() {
        let nodes = ClusterNodes::of(world, at);
        // Most clusters equal the previous one, so its result is reused.
        let blobs = match latest {
            Some((before, blobs)) if before == nodes => blobs,
            _ => content.of_one_node(&nodes, world.images.len()),
        };
        let view = SiteView {
            world,
            demand,
            at,
            blobs: &blobs,
        };
        for (kind, need) in view.all().into_iter().enumerate() {
            slowest.note(kind, need);
        }
        latest = Some((nodes, blobs));
    }
    let mut needs = Vec::new();
    for SlowestSite { mut need, alike } in slowest.kinds.into_iter().flatten() {
        if alike > 0 {
            need.resource.push_str(&format!(" and {alike} alike"));
        }
        needs.push(need);
    }
    needs
}

/// A cluster with what one of its nodes needs.
struct SiteView<'w> {
    world: &'w WorldSpec,
    demand: &'w ReleaseDemand,
    at: usize,
    /// The blobs that one node needs.
    blobs: &'w [&'w NeededBlob],
}

impl SiteView<'_> {
    /// Returns the needs of the cluster, one of each kind.
    fn all(&self) -> [Option<ResourceNeed>; 11] {
        [
            self.downlink(),
            self.cache(),
            self.cache_fetches(),
            self.connections(),
            self.card(),
            self.peers(),
            self.seeds(),
            self.unpacking(),
            self.disk(),
            self.new_nodes(),
            self.space(),
        ]
    }

    /// `downlink of van-001`.
    fn named(&self, what: &str) -> String {
        format!("{what} {}", self.world.clusters[self.at].name)
    }

    fn data_share(&self) -> f64 {
        self.world.registry.tcp.data_share()
    }

    fn downlink(&self) -> Option<ResourceNeed> {
        let rate = self.world.clusters[self.at].downlink.typical();
        let bytes = self.demand.downlinks[self.at];
        over_link(self.named("downlink of"), bytes, rate, self.data_share())
    }

    fn cache_fetches(&self) -> Option<ResourceNeed> {
        let DistributionKind::Cache(cache) = &self.world.distribution.kind else {
            return None;
        };
        if cache.per != CachePlace::Cluster {
            return None;
        }
        let name = self.named("fetches of the cache of");
        let bytes = self.demand.fetches[self.at];
        over_link(name, bytes, cache.pull_bandwidth?, self.data_share())
    }

    fn cache(&self) -> Option<ResourceNeed> {
        let DistributionKind::Cache(cache) = &self.world.distribution.kind else {
            return None;
        };
        if cache.per != CachePlace::Cluster {
            return None;
        }
        let bytes = self.demand.caches[self.at];
        over_link(
            self.named("cache of"),
            bytes,
            cache.egress,
            self.data_share(),
        )
    }

    /// Returns the need of a node's connections to the registry, which are limited by window, loss and round trip.
    fn connections(&self) -> Option<ResourceNeed> {
        let is_direct = self.world.distribution.kind == DistributionKind::Direct;
        if !is_direct || !self.world.distribution.mirrors.is_empty() {
            return None;
        }
        let cluster = &self.world.clusters[self.at];
        let registry = &self.world.registry;
        if !self.world.registries.is_empty() {
            return None;
        }
        let path = path_cap(registry, cluster.rtt.typical(), cluster.loss);
        let cdn = registry.cdn.map(|cdn| cdn.warm);
        let caps = [path, cdn].into_iter().flatten();
        let cap = caps.map(BytesPerSec::get).fold(f64::INFINITY, f64::min);
        if !cap.is_finite() || cap <= 0.0 {
            return None;
        }
        let open = self.connections_at_once();
        let bytes = total_bytes(self.blobs);
        let largest = self.blobs.iter().map(|blob| blob.bytes).fold(0.0, f64::max);
        let seconds = (largest / cap).max(bytes / (cap * open as f64));
        Some(ResourceNeed {
            resource: self.named("connections of a node of"),
            amount: NeededAmount::Bytes(Bytes::new(bytes.round() as u64)),
            limit: format!("{open} of {}", BytesPerSec::new(cap)),
            least: SimDuration::from_secs_f64(seconds),
        })
    }

    /// Returns the maximum number of concurrent connections that a node can use.
    fn connections_at_once(&self) -> usize {
        let runtime = &self.world.node.runtime;
        let slots = runtime.download_slots as usize;
        let pulls = self
            .world
            .node
            .parallel_pulls()
            .min(self.world.images.len());
        let slots = match runtime.slot_scope {
            SlotScope::Node => slots,
            SlotScope::Image => slots * pulls,
        };
        // Configs are downloaded in addition to the layers.
        let layers = self.blobs.iter().filter(|blob| !blob.is_config).count();
        (slots.min(layers) + self.blobs.len() - layers).max(1)
    }

    /// Returns the need of a node's network card. Copies within a cell do not cross it.
    fn card(&self) -> Option<ResourceNeed> {
        if matches!(self.world.distribution.kind, DistributionKind::Cells(_)) {
            return None;
        }
        let bytes = total_bytes(self.blobs);
        let name = self.named("network card of a node of");
        over_link(name, bytes, self.card_rate(), self.data_share())
    }

    /// Returns the rate of the network card of each node.
    fn card_rate(&self) -> BytesPerSec {
        let own = self.world.clusters[self.at].nic;
        own.unwrap_or_else(|| self.world.node.nic.typical())
    }

    /// Returns the need of the bytes that a node receives from its peers.
    fn peers(&self) -> Option<ResourceNeed> {
        let DistributionKind::Pieces(pieces) = &self.world.distribution.kind else {
            return None;
        };
        let name = self.named("peers of a node of");
        over_link(name, self.layer_bytes(), pieces.peer_in, 1.0)
    }

    /// Returns the need of the seeds of a swarm, which send at least one copy of what a node needs.
    fn seeds(&self) -> Option<ResourceNeed> {
        let DistributionKind::Pieces(pieces) = &self.world.distribution.kind else {
            return None;
        };
        let mut out = pieces.seed_out.get();
        if pieces.seeds_have_node_cards {
            out = out.min(self.card_rate().get() * self.data_share());
        }
        let rate = BytesPerSec::new(out * f64::from(pieces.seeds));
        over_link(self.named("seeds of"), self.layer_bytes(), rate, 1.0)
    }

    /// The bytes of the layers that one node needs.
    fn layer_bytes(&self) -> f64 {
        let layers: Vec<&NeededBlob> = (self.blobs.iter().copied())
            .filter(|blob| !blob.is_config)
            .collect();
        total_bytes(&layers)
    }

    /// Returns the need of decompression. Images are unpacked one after another, unless several layers or images are
    /// unpacked concurrently.
    fn unpacking(&self) -> Option<ResourceNeed> {
        let node = &self.world.node;
        let lanes = match node.unpack_slots {
            1 => node.parallel_pulls().min(self.world.images.len()).max(1),
            slots => slots as usize,
        };
        let mut bytes = 0.0;
        let mut total_s = 0.0;
        let mut longest_s: f64 = 0.0;
        for blob in self.blobs {
            bytes += blob.unpacked;
            total_s += blob.unpack_s;
            longest_s = longest_s.max(blob.unpack_s);
        }
        Some(ResourceNeed {
            resource: self.named("unpacking on a node of"),
            amount: NeededAmount::Bytes(Bytes::new(bytes.round() as u64)),
            limit: format!("{} of one layer", node.unpack_rate.typical()),
            least: SimDuration::from_secs_f64(longest_s.max(total_s / lanes as f64)),
        })
    }

    /// Returns the need of the disk for bytes that exceed the page cache.
    fn disk(&self) -> Option<ResourceNeed> {
        let (rate, buffer) = self.world.node.disk.as_ref()?.limit()?;
        let rate = rate.typical();
        let bytes: f64 = self.blobs.iter().map(|blob| blob.unpacked).sum();
        let waits = (bytes - buffer.get() as f64).max(0.0);
        Some(ResourceNeed {
            resource: self.named("disk of a node of"),
            amount: NeededAmount::Bytes(Bytes::new(bytes.round() as u64)),
            limit: format!("{rate}, and {buffer} in memory"),
            least: SimDuration::from_secs_f64(waits / rate.get()),
        })
    }

    /// Returns the need of nodes that join before all pods have room. Additional pods of an update are left out.
    fn new_nodes(&self) -> Option<ResourceNeed> {
        let cluster = &self.world.clusters[self.at];
        let autoscaling = cluster.autoscaling.as_ref()?;
        let gets_release = !cluster.offline && !cluster.paused && cluster.registered;
        if !gets_release || self.world.runs_anything(self.at) {
            return None;
        }
        let start = cluster.mean_nodes().round() as u32;
        let needed = autoscaling.nodes_for(self.world.deployed_pods(self.at));
        let missing = needed.min(autoscaling.max_nodes).saturating_sub(start);
        if missing == 0 {
            return None;
        }
        let ready = autoscaling.provisioning.typical();
        let mut least = autoscaling.decision.typical() + ready;
        if let Some(limit) = autoscaling.creation {
            let later = missing.saturating_sub(limit.burst);
            least += SimDuration::from_secs_f64(f64::from(later) / limit.rate.get());
        }
        Some(ResourceNeed {
            resource: self.named("new nodes of"),
            amount: NeededAmount::Nodes(u64::from(missing)),
            limit: format!("ready {ready} after a request"),
            least,
        })
    }

    /// Returns the need of space on a node's disk, with what is on it at the start.
    fn space(&self) -> Option<ResourceNeed> {
        let disk = self.world.node.disk.as_ref()?;
        let size = disk.size?;
        let runs_previous = self.world.runs_anything(self.at);
        let mut bytes = space_at_start(self.world, disk, runs_previous);
        for blob in self.blobs.iter().filter(|blob| !blob.is_config) {
            bytes += blob.unpacked;
            if self.world.node.keep_blobs {
                bytes += blob.bytes;
            }
        }
        Some(ResourceNeed {
            resource: self.named("space on a disk of"),
            amount: NeededAmount::Space(Bytes::new(bytes.round() as u64)),
            limit: size.to_string(),
            least: SimDuration::ZERO,
        })
    }
}

/// Returns the bytes that are on a node's disk at the start and cannot be removed. A node may run one of several
/// images of the previous revision.
pub(super) fn space_at_start(world: &WorldSpec, disk: &DiskSpec, runs_previous: bool) -> f64 {
    let used = disk.used.typical().get() as f64;
    if !runs_previous {
        return used;
    }
    let mut largest: f64 = 0.0;
    for image in &world.images {
        let mut bytes = 0.0;
        for layer in &image.previous {
            let compressed = layer.compressed.typical().get() as f64;
            bytes += layer.typical_size_on_disk();
            if world.node.keep_blobs {
                bytes += compressed;
            }
        }
        largest = largest.max(bytes);
    }
    used + largest
}
