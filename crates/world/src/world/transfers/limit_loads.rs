//! How long limits are reached: the rate of each blob of a registry (`registry.perBlob`), and the rate at which a cache
//! fetches (`distribution.cache.pullBandwidth`).
//!
//! Each of these limits is a link that carries only the transfers that it limits. While one of these is in progress,
//! the link is examined at every change of rates. A link without transfers cannot be full, so thousands of blobs cost
//! nothing. A world without these limits has no such links.
//!
//! Left out: reads on demand, which no blob's rate limits.

use crate::flow::{LinkId, Network};
use crate::world::World;
use crate::world::distribution::setup::CacheLinks;
use crate::world::ids::StoreId;
use crate::world::transfers::links::{Destination, Links};
use crate::world::transfers::payload::{Payload, Sender, Transfer};
use fleetsim_units::{Bytes, SimDuration, SimTime};

/// What passed a limit, and how long it was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitLoad {
    /// Bytes that passed.
    pub bytes: Bytes,
    /// Time in which the limit was reached.
    pub busy: SimDuration,
}

/// A link that stands for a limit.
#[derive(Clone, Copy, Debug)]
struct LimitLink {
    link: LinkId,
    load: LimitLoad,
    /// Number of its transfers in progress.
    transfers: u32,
    since: SimTime,
    at_capacity: bool,
}

impl LimitLink {
    const fn new(link: LinkId) -> Self {
        Self {
            link,
            load: LimitLoad {
                bytes: Bytes::ZERO,
                busy: SimDuration::ZERO,
            },
            transfers: 0,
            since: SimTime::ZERO,
            at_capacity: false,
        }
    }

    fn advance(&mut self, now: SimTime) {
        if self.at_capacity {
            self.load.busy += now - self.since;
        }
        self.since = now;
    }

    fn look(&mut self, network: &Network, now: SimTime) {
        self.advance(now);
        let rate = network.throughput(self.link).get();
        self.at_capacity = rate > 0.0 && network.is_saturated(self.link);
    }
}

/// The links of one kind of limit.
#[derive(Debug, Default)]
struct LimitLinks {
    links: Vec<LimitLink>,
    /// Those with transfers in progress.
    active: Vec<usize>,
}

impl LimitLinks {
    fn of(links: impl Iterator<Item = LinkId>) -> Self {
        Self {
            links: links.map(LimitLink::new).collect(),
            active: Vec::new(),
        }
    }

    fn begin(&mut self, at: usize, now: SimTime) {
        let link = &mut self.links[at];
        link.transfers += 1;
        if link.transfers == 1 {
            link.since = now;
            self.active.push(at);
        }
    }

    fn end(&mut self, at: usize, bytes: Bytes, now: SimTime) {
        let link = &mut self.links[at];
        link.advance(now);
        link.load.bytes += bytes;
        link.transfers -= 1;
        if link.transfers == 0 {
            link.at_capacity = false;
            self.active.retain(|active| *active != at);
        }
    }

    fn follow(&mut self, network: &Network, now: SimTime) {
        for &at in &self.active {
            self.links[at].look(network, now);
        }
    }

    /// Returns the load of the link whose limit was reached longest; of several, the one that carried most.
    fn busiest(&self) -> Option<LimitLoad> {
        let loads = self.links.iter().map(|link| link.load);
        loads.max_by_key(|load| (load.busy, load.bytes))
    }
}

/// The loads of all limits of a run so far.
#[derive(Debug, Default)]
pub(crate) struct LimitLoads {
    /// For each registry, the links of its blobs; empty if it does not limit blobs.
    blobs: Vec<LimitLinks>,
    /// The links that limit what caches fetch, one for each cache; empty without a limit.
    fetches: LimitLinks,
}

impl LimitLoads {
    pub(in crate::world) fn new(links: &Links, caches: &CacheLinks) -> Self {
        let mut blobs = Vec::new();
        for registry in 0..links.egress.len() {
            blobs.push(LimitLinks::of(links.blob_links(registry).iter().copied()));
        }
        Self {
            blobs,
            fetches: LimitLinks::of(caches.fetch_links().into_iter()),
        }
    }

    /// Updates the links with transfers after a change of rates.
    pub(super) fn follow(&mut self, network: &Network, now: SimTime) {
        for registry in &mut self.blobs {
            registry.follow(network, now);
        }
        self.fetches.follow(network, now);
    }

    /// Returns the busiest blob of a registry. `None`: it does not limit blobs.
    pub(in crate::world) fn busiest_blob(&self, registry: usize) -> Option<LimitLoad> {
        self.blobs[registry].busiest()
    }

    /// Returns what a cache fetched over its limit. `None`: it has none.
    pub(super) fn fetches_of(&self, store: StoreId) -> Option<LimitLoad> {
        let link = self.fetches.links.get(store.index())?;
        Some(link.load)
    }

    /// Returns what the cache fetched whose limit was reached longest. `None`: caches have no limit.
    pub(super) fn busiest_fetches(&self) -> Option<LimitLoad> {
        self.fetches.busiest()
    }
}

/// The places of the limits that a transfer passes, in the lists of their registry and of caches.
#[derive(Clone, Copy, Debug, Default)]
struct PassedLimits {
    /// The registry and the place of the blob.
    blob: Option<(usize, usize)>,
    fetch: Option<usize>,
}

impl World<'_> {
    /// Returns the limits that a transfer passes.
    fn limits_of(&self, transfer: &Transfer) -> PassedLimits {
        let mut passed = PassedLimits::default();
        let (registry, to) = match (transfer.sender, transfer.payload) {
            (Sender::Registry(registry), _) => {
                let Some(node) = transfer.receiver else {
                    return passed;
                };
                (registry, Destination::Node(node))
            }
            (Sender::RegistryFill(registry), Payload::Fill(fill)) => {
                let store = self.delivery.fills[fill.index()].store;
                if store.index() < self.limit_loads.fetches.links.len() {
                    passed.fetch = Some(store.index());
                }
                (registry, self.delivery.method.first_leg(store).to)
            }
            _ => return passed,
        };
        if let Some(blob) = transfer.blob {
            let place = self.transfers.links.blob_place(registry, blob, to);
            passed.blob = place.map(|place| (registry, place));
        }
        passed
    }

    /// Records that a transfer begins.
    pub(in crate::world) fn limits_begin(&mut self, transfer: &Transfer, now: SimTime) {
        let passed = self.limits_of(transfer);
        if let Some((registry, place)) = passed.blob {
            self.limit_loads.blobs[registry].begin(place, now);
        }
        if let Some(cache) = passed.fetch {
            self.limit_loads.fetches.begin(cache, now);
        }
    }

    /// Records that a transfer has ended.
    pub(super) fn limits_end(&mut self, transfer: &Transfer, bytes: Bytes) {
        let now = self.meter.now();
        let passed = self.limits_of(transfer);
        if let Some((registry, place)) = passed.blob {
            self.limit_loads.blobs[registry].end(place, bytes, now);
        }
        if let Some(cache) = passed.fetch {
            self.limit_loads.fetches.end(cache, bytes, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::world::distribution::spec::{CachePlace, CacheSpec, DistributionKind};
    use crate::world::spec::WorldSpec;
    use crate::world::testing::{bare_world, layer, play};
    use fleetsim_units::{BytesPerSec, SimDuration};

    const DAY: SimDuration = SimDuration::from_hours(24);
    const LAYER: u64 = 100_000_000;

    fn mb(rate: f64) -> BytesPerSec {
        BytesPerSec::new(rate * 1e6)
    }

    /// Two clusters that pull a layer of 100 MB from a registry with these rates of a blob and of its egress.
    fn with_blobs(per_blob: f64, egress: f64) -> WorldSpec {
        let mut world = bare_world(2);
        for cluster in &mut world.clusters {
            cluster.downlink = mb(1e6).into();
        }
        world.registry.egress = mb(egress);
        world.registry.per_blob = Some(mb(per_blob).into());
        world
    }

    #[test]
    fn the_busiest_blob_is_at_its_limit_while_nodes_share_its_rate() {
        let mut world = with_blobs(100.0, 1000.0);
        // Beside the layer of 100 MB, which takes 2 s, one of 10 MB takes 0.2 s.
        world.images[0].layers.push(layer("small", LAYER / 10));
        let load = play(&world, 1, DAY).blobs[0].expect("blobs have a limit");
        assert_eq!(load.bytes.get(), 2 * LAYER);
        assert!((load.busy.as_secs_f64() - 2.0).abs() < 1e-6, "{load:?}");
    }

    #[test]
    fn a_limit_that_is_not_reached_has_bytes_and_no_time() {
        let load = play(&with_blobs(1000.0, 100.0), 1, DAY).blobs[0].expect("blobs have a limit");
        assert_eq!(
            (load.bytes.get(), load.busy),
            (2 * LAYER, SimDuration::ZERO)
        );
        let mut free = with_blobs(1.0, 100.0);
        free.registry.per_blob = None;
        assert_eq!(play(&free, 1, DAY).blobs, [None]);
    }

    #[test]
    fn a_cache_is_at_its_limit_while_it_fetches_at_its_rate() {
        let mut world = with_blobs(1e6, 1000.0);
        world.registry.per_blob = None;
        for (rate, busy) in [
            (Some(20.0), Some(5.0)),
            (Some(1e5), Some(0.0)),
            (None, None),
        ] {
            world.distribution.kind = DistributionKind::Cache(CacheSpec {
                per: CachePlace::Cluster,
                pull_bandwidth: rate.map(mb),
                ..CacheSpec::default()
            });
            let played = play(&world, 1, DAY);
            let fetches = played.links[0].fetches;
            let found = fetches.map(|load| load.busy.as_secs_f64());
            // The busiest of two caches fetches 100 MB at 20 MB/s.
            assert_eq!(found.is_some(), busy.is_some(), "{rate:?}");
            if let (Some(found), Some(busy)) = (found, busy) {
                assert!((found - busy).abs() < 1e-6, "{rate:?}: {found}");
                assert_eq!(fetches.map(|load| load.bytes.get()), Some(LAYER));
            }
        }
    }
}
