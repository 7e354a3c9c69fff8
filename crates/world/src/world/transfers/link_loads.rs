//! The load of every link that does not belong to a registry: regions, mirrors, caches and peers.
//!
//! At the end of a transfer, its bytes count for each link that sends, receives or carries them. So the registries
//! send the bytes that caches and seeds receive, and the bytes that go to nodes directly. All other bytes that nodes
//! receive come from mirrors, caches and peers ([`World::assert_bytes_are_conserved`]).
//!
//! The meters follow the rates of regions, mirrors and caches of regions at every change, like those of registries. A
//! world without these links needs no meters. The link of a cache inside a cluster or a cell carries only transfers of
//! that cache, so its load is updated when one of these begins or ends.
//!
//! Left out: rates of peers, and of more links than [`MOST_METERED`]. Only their bytes are counted.

use crate::flow::{LinkId, Network};
use crate::world::World;
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::ids::StoreId;
use crate::world::meter::{EgressMeter, Meter};
use crate::world::spec::WorldSpec;
use crate::world::transfers::Transfers;
use crate::world::transfers::limit_loads::LimitLoad;
use crate::world::transfers::links::Destination;
use crate::world::transfers::payload::{Payload, Sender, Transfer};
use fleetsim_units::{Bytes, BytesPerSec, SimDuration, SimTime};

/// Maximum number of links whose rates are followed at every change. Each change examines all of them.
const MOST_METERED: usize = 64;

/// The owner of a link, or of several links of a kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkOwner {
    /// The region with this index: the link that its clusters share.
    Region(usize),
    /// The mirror with this index.
    Mirror(usize),
    /// The cache of the region with this index.
    RegionalCache(usize),
    /// The caches of all clusters.
    ClusterCaches,
    /// The caches of all cells.
    Cells,
    /// All nodes that send to others, with the seeds of swarms.
    Peers,
}

/// The load of a link, or of several of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkLoad {
    /// The owner of the links.
    pub owner: LinkOwner,
    /// Number of links.
    pub links: usize,
    /// Bytes that came in.
    pub received: Bytes,
    /// Bytes that went out.
    pub sent: Bytes,
    /// The rate at which each of them can send.
    pub capacity: Option<BytesPerSec>,
    /// Highest mean rate over one second. `None`: not metered.
    pub peak: Option<f64>,
    /// Time at capacity; for several links, that of the busiest. `None`: not metered.
    pub busy: Option<SimDuration>,
    /// What a cache fetched, and the time at its limit; of several, of the busiest. `None`: there is no limit.
    pub fetches: Option<LimitLoad>,
}

/// Bytes in and out.
#[derive(Clone, Copy, Debug, Default)]
struct PassedBytes {
    received: Bytes,
    sent: Bytes,
}

/// A link whose load is updated when its own transfers begin or end.
#[derive(Clone, Copy, Debug)]
struct OwnLink {
    link: LinkId,
    since: SimTime,
    at_capacity: bool,
    busy: SimDuration,
}

impl OwnLink {
    fn look(&mut self, network: &Network, now: SimTime) {
        self.advance(now);
        let rate = network.throughput(self.link).get();
        self.at_capacity = rate > 0.0 && network.is_saturated(self.link);
    }

    fn advance(&mut self, now: SimTime) {
        if self.at_capacity {
            self.busy += now - self.since;
        }
        self.since = now;
    }
}

/// The loads of a run so far.
#[derive(Debug, Default)]
pub(crate) struct LinkLoads {
    /// Regions, then mirrors, then caches of regions: those that the meters follow.
    metered: Vec<LinkId>,
    regions: Vec<Bytes>,
    mirrors: Vec<Bytes>,
    /// For each store (a cache, or the swarm of a blob), the bytes that passed.
    stores: Vec<PassedBytes>,
    peers: PassedBytes,
    /// For each cache inside a cluster or cell, its link.
    own_links: Vec<OwnLink>,
    /// Caches whose transfers have begun or ended since the last update.
    changed: Vec<StoreId>,
}

impl LinkLoads {
    /// Creates the loads of a world's links. The links of caches are separate from the others.
    pub(in crate::world) fn new(
        spec: &WorldSpec,
        transfers: &Transfers,
        mirrors: &[LinkId],
        caches: &[LinkId],
    ) -> Self {
        let mut metered = transfers.links.regions().to_vec();
        metered.extend(mirrors);
        let mut own_links = Vec::new();
        if Self::has_regional_caches(spec) {
            metered.extend(caches);
        } else {
            for &link in caches {
                own_links.push(OwnLink {
                    link,
                    since: SimTime::ZERO,
                    at_capacity: false,
                    busy: SimDuration::ZERO,
                });
            }
        }
        metered.truncate(MOST_METERED);
        Self {
            metered,
            regions: vec![Bytes::ZERO; spec.regions.len()],
            mirrors: vec![Bytes::ZERO; mirrors.len()],
            stores: vec![PassedBytes::default(); caches.len()],
            own_links,
            ..Self::default()
        }
    }

    fn has_regional_caches(spec: &WorldSpec) -> bool {
        matches!(&spec.distribution.kind, DistributionKind::Cache(cache) if cache.per == CachePlace::Region)
    }

    /// Returns the number of links that the meters follow.
    pub(in crate::world) const fn metered(&self) -> usize {
        self.metered.len()
    }

    /// Records that a transfer of a cache begins or ends.
    pub(in crate::world) fn note_change(&mut self, sender: Sender) {
        if let Sender::Cache(store) = sender
            && !self.own_links.is_empty()
        {
            self.changed.push(store);
        }
    }

    /// Updates the meters after a change of rates.
    pub(super) fn follow(&mut self, network: &Network, meter: &mut Meter) {
        if !self.metered.is_empty() {
            meter.set_links(self.metered.iter().map(|&link| {
                let rate = network.throughput(link);
                (rate, rate.get() > 0.0 && network.is_saturated(link))
            }));
        }
        for store in self.changed.drain(..) {
            self.own_links[store.index()].look(network, meter.now());
        }
    }

    /// Counts bytes that a cache or a seed has received from a registry, over the link of this region if there is one.
    fn fill(&mut self, store: StoreId, region: Option<usize>, bytes: Bytes) {
        match self.stores.get_mut(store.index()) {
            Some(cache) => cache.received += bytes,
            None => self.peers.received += bytes,
        }
        self.cross(region, bytes);
    }

    /// Counts bytes that have crossed the link of a region.
    fn cross(&mut self, region: Option<usize>, bytes: Bytes) {
        if let Some(region) = region {
            self.regions[region] += bytes;
        }
    }

    /// Returns the sum of the bytes that caches and seeds have received, and the sum of the bytes that mirrors and
    /// caches have sent.
    fn sums(&self) -> (Bytes, Bytes) {
        let taken = self.stores.iter().map(|store| store.received);
        let stores = self.stores.iter().map(|store| store.sent);
        (
            taken.sum::<Bytes>() + self.peers.received,
            stores.chain(self.mirrors.iter().copied()).sum(),
        )
    }
}

impl World<'_> {
    /// Counts the bytes of an ended transfer on all links that it crossed.
    pub(super) fn count_on_links(&mut self, transfer: &Transfer, bytes: Bytes) {
        self.link_loads.note_change(transfer.sender);
        match transfer.sender {
            Sender::Registry(_) | Sender::RegistryReads(_) => {
                let region = transfer.receiver.and_then(|node| {
                    let cluster = self.nodes[node.index()].cluster;
                    self.spec.clusters[cluster.index()].region
                });
                self.link_loads.cross(region, bytes);
            }
            Sender::RegistryFill(_) => {
                let Payload::Fill(fill) = transfer.payload else {
                    unreachable!("only a registry fills a store");
                };
                let store = self.delivery.fills[fill.index()].store;
                let region = match self.delivery.method.first_leg(store).to {
                    Destination::Region(region) => Some(region),
                    Destination::Cluster(cluster) => self.spec.clusters[cluster.index()].region,
                    Destination::Node(_) => None,
                };
                self.link_loads.fill(store, region, bytes);
            }
            Sender::Mirror(at) => self.link_loads.mirrors[usize::from(at)] += bytes,
            Sender::Cache(store) => self.link_loads.stores[store.index()].sent += bytes,
            Sender::Peers => self.link_loads.peers.sent += bytes,
            Sender::Others(_) => {}
        }
    }

    /// Checks that the bytes of caches, mirrors and peers equal the totals.
    pub(in crate::world) fn assert_links_carry_all(&self) {
        let (taken, sent) = self.link_loads.sums();
        assert_eq!(
            (taken, sent, self.link_loads.peers.sent),
            (
                self.totals.upstream,
                self.totals.from_caches,
                self.totals.from_peers
            ),
            "every byte must be on the link of its sender"
        );
    }

    /// Returns the load of every link that does not belong to a registry. Call it after [`World::finish`].
    #[must_use]
    pub fn link_loads(&self) -> Vec<LinkLoad> {
        let loads = &self.link_loads;
        let mut rows = Vec::new();
        for (at, region) in self.spec.regions.iter().enumerate() {
            let bytes = PassedBytes {
                received: loads.regions[at],
                sent: loads.regions[at],
            };
            rows.push(self.metered_load(LinkOwner::Region(at), bytes, region.bandwidth));
        }
        for (at, mirror) in self.spec.distribution.mirrors.iter().enumerate() {
            let bytes = PassedBytes {
                received: Bytes::ZERO,
                sent: loads.mirrors[at],
            };
            rows.push(self.metered_load(LinkOwner::Mirror(at), bytes, mirror.egress));
        }
        match &self.spec.distribution.kind {
            DistributionKind::Direct => {}
            DistributionKind::Cache(cache) if cache.per == CachePlace::Region => {
                for (at, bytes) in loads.stores.iter().enumerate() {
                    let owner = LinkOwner::RegionalCache(at);
                    rows.push(LinkLoad {
                        fetches: self.limit_loads.fetches_of(StoreId::at(at)),
                        ..self.metered_load(owner, *bytes, cache.egress)
                    });
                }
            }
            DistributionKind::Cache(cache) => {
                rows.push(LinkLoad {
                    fetches: self.limit_loads.busiest_fetches(),
                    ..loads.of_all(LinkOwner::ClusterCaches, Some(cache.egress))
                });
            }
            DistributionKind::Cells(_) => rows.push(loads.of_all(LinkOwner::Cells, None)),
            DistributionKind::Spegel(_) | DistributionKind::Pieces(_) => rows.push(LinkLoad {
                owner: LinkOwner::Peers,
                links: self.nodes.len(),
                received: loads.peers.received,
                sent: loads.peers.sent,
                capacity: None,
                peak: None,
                busy: None,
                fetches: None,
            }),
        }
        rows
    }

    /// Returns the load of a link that the meters follow. The meters have the order of the rows.
    fn metered_load(&self, owner: LinkOwner, bytes: PassedBytes, rate: BytesPerSec) -> LinkLoad {
        let before = match owner {
            LinkOwner::Mirror(_) => self.spec.regions.len(),
            LinkOwner::RegionalCache(_) => {
                self.spec.regions.len() + self.spec.distribution.mirrors.len()
            }
            _ => 0,
        };
        let at = match owner {
            LinkOwner::Region(at) | LinkOwner::Mirror(at) | LinkOwner::RegionalCache(at) => at,
            _ => 0,
        };
        let meter = self.meter.links().get(before + at);
        LinkLoad {
            owner,
            links: 1,
            received: bytes.received,
            sent: bytes.sent,
            capacity: rate.get().is_finite().then_some(rate),
            peak: meter.map(EgressMeter::peak),
            busy: meter.map(EgressMeter::busy),
            fetches: None,
        }
    }

    /// Counts the time at capacity up to the end of the run.
    pub(in crate::world) fn close_links(&mut self, now: SimTime) {
        for link in &mut self.link_loads.own_links {
            link.advance(now);
        }
    }
}

impl LinkLoads {
    /// Returns the combined load of all caches inside clusters or cells, with the time at capacity of the busiest.
    fn of_all(&self, owner: LinkOwner, capacity: Option<BytesPerSec>) -> LinkLoad {
        LinkLoad {
            owner,
            links: self.stores.len(),
            received: self.stores.iter().map(|store| store.received).sum(),
            sent: self.stores.iter().map(|store| store.sent).sum(),
            capacity,
            peak: None,
            busy: self.own_links.iter().map(|link| link.busy).max(),
            fetches: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::distribution::spec::{CacheSpec, DistributionSpec, MirrorSpec};
    use crate::world::spec::RegionSpec;
    use crate::world::testing::{bare_world, play};

    const DAY: SimDuration = SimDuration::from_hours(24);
    const LAYER: u64 = 100_000_000;

    fn mb(rate: f64) -> BytesPerSec {
        BytesPerSec::new(rate * 1e6)
    }

    /// Two clusters of one region whose link has this rate; each pulls 100 MB.
    fn regional(bandwidth: f64) -> WorldSpec {
        let mut world = bare_world(2);
        world.regions.push(RegionSpec {
            name: "south".to_owned(),
            bandwidth: mb(bandwidth),
        });
        for cluster in &mut world.clusters {
            cluster.region = Some(0);
        }
        world
    }

    fn cached(mut world: WorldSpec, per: CachePlace, egress: f64) -> WorldSpec {
        world.distribution = DistributionSpec {
            kind: DistributionKind::Cache(CacheSpec {
                per,
                egress: mb(egress),
                ..CacheSpec::default()
            }),
            ..DistributionSpec::default()
        };
        world
    }

    /// The loads of a run: bytes in and out, and whole seconds at capacity.
    fn loads(world: &WorldSpec) -> Vec<(LinkOwner, u64, u64, Option<u64>)> {
        let mut rows = Vec::new();
        for load in play(world, 1, DAY).links {
            let busy = load.busy.map(|busy| busy.as_secs_f64().round() as u64);
            rows.push((load.owner, load.received.get(), load.sent.get(), busy));
        }
        rows
    }

    #[test]
    fn the_link_of_a_region_carries_the_pulls_of_its_clusters_and_is_full_in_the_meantime() {
        assert_eq!(
            loads(&regional(10.0)),
            [(LinkOwner::Region(0), 2 * LAYER, 2 * LAYER, Some(20))]
        );
        let played = play(&regional(10.0), 1, DAY);
        let peak = played.links[0].peak.expect("a region is metered");
        assert!((peak - 10e6).abs() < 1.0, "{peak}");
        assert_eq!(loads(&bare_world(2)), [], "nothing to follow");
    }

    #[test]
    fn a_mirror_sends_the_pulls_of_its_region_and_the_link_of_the_region_carries_no_bytes() {
        let mut world = regional(10.0);
        world.distribution.mirrors.push(MirrorSpec {
            region_name: String::new(),
            image_names: None,
            name: "near".to_owned(),
            region: 0,
            egress: mb(50.0),
            per_connection: None,
            rtt: SimDuration::ZERO,
            holds: vec![0],
        });
        assert_eq!(
            loads(&world),
            [
                (LinkOwner::Region(0), 0, 0, Some(0)),
                (LinkOwner::Mirror(0), 0, 2 * LAYER, Some(4))
            ]
        );
    }

    #[test]
    fn a_cache_of_a_region_receives_missing_blobs_and_sends_each_pull() {
        let rows = loads(&cached(regional(1000.0), CachePlace::Region, 50.0));
        let (owner, taken, sent, busy) = rows[1];
        assert_eq!((owner, sent), (LinkOwner::RegionalCache(0), 2 * LAYER));
        // Both clusters ask simultaneously, and each request for an unknown blob fills the cache.
        assert_eq!(taken, 2 * LAYER);
        assert_eq!((rows[0].2, busy), (taken, Some(4)));
    }

    #[test]
    fn caches_of_clusters_are_one_row_with_the_busiest() {
        let mut world = cached(bare_world(2), CachePlace::Cluster, 50.0);
        world.clusters[1].nodes = 3.into();
        world.applications[0].workloads[0].kind =
            crate::world::clusters::spec::WorkloadKind::DaemonSet {
                max_unavailable: crate::world::quantity::CountOrPercent::Count(1),
                max_surge: crate::world::quantity::CountOrPercent::Count(0),
            };
        let rows = loads(&world);
        let (owner, _, sent, busy) = rows[0];
        // 100 MB to one node, and 300 MB to three nodes in 6 s.
        assert_eq!(
            (owner, sent, rows.len()),
            (LinkOwner::ClusterCaches, 4 * LAYER, 1)
        );
        assert_eq!(busy, Some(6));
    }
}
