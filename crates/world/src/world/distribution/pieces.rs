//! Swarms that forward pieces while they download, modelled as a fluid: Dragonfly and Kraken.
//!
//! For each cluster and blob, the seeds fetch one copy from the registry, and the nodes exchange pieces. With x nodes
//! downloading, y complete nodes and s complete seeds, upload rates μ and σ, and the effectiveness η of incomplete
//! nodes, the whole swarm downloads at min{c·x, μ(η·x + y) + σ·s}: Qiu and Srikant, "Modeling and performance analysis
//! of BitTorrent-like peer-to-peer networks" (SIGCOMM 2004), equation 1, with the seeds as a second class. Here the
//! second term is the capacity of a link that the swarm's downloads share max-min fairly, c is each node's own limit,
//! and x and y change with the simulation. A node has its blob when its share has arrived, the seeds are complete, and
//! a last piece has arrived over log_k(x + y) hops of k connections each: no node can be further ahead of the seeds
//! than that (Kumar and Ross, "Peer-assisted file distribution: the minimum distribution time", 2006: no faster than
//! one copy leaves the seeds).
//!
//! Sources of the numbers: kraken @2a7fbcb `lib/torrent/scheduler/conn/config.go` and `connstate/config.go`; dragonfly
//! @66db456
//! `scheduler/config/constants.go`.
//!
//! Slow hosts: before its last piece, a node's attempts to reach a peer fail with a probability, each after a
//! time-out, so the lost time has a geometric distribution. Kraken waits 5 s for a handshake (@3705d31
//! `lib/torrent/scheduler/conn/config.go`). The failure rate of handshakes is not published.
//!
//! Left out: the choice of pieces (rarest first), peers that are slow or leave, two swarms on one outgoing network
//! card, and the load of the tracker or scheduler. Dragonfly's connection limits (4 parents per peer, 200 uploads per
//! peer, 2,000 per seed) matter only if more than 2,000 nodes per seed begin simultaneously, since each node takes 4
//! connections and offers 200. Its limit of 200 downloads from the source is for peers without a parent, which a swarm
//! without failures does not have.

use crate::flow::{LinkId, Network};
use crate::world::distribution::cache_store::{CacheLookup, CacheStore};
use crate::world::distribution::method::{DistributionMethod, MemberChange, RouteQuery};
use crate::world::distribution::spec::{Coalesce, PeerTimeouts, PiecesSpec};
use crate::world::ids::{ClusterId, NodeId, StoreId};
use crate::world::transfers::links::{Destination, FirstLeg, Leg};
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::{BytesPerSec, SimDuration, SimTime};

/// The peers around one blob in one cluster.
#[derive(Clone, Copy, Debug)]
struct Swarm {
    link: LinkId,
    downloading: u32,
    complete: u32,
}

/// The swarms of a fleet. A store represents the seeds of a cluster.
#[derive(Debug)]
pub(super) struct Pieces {
    spec: PiecesSpec,
    stores: Vec<CacheStore>,
    /// The swarms by cluster and blob.
    swarms: Vec<Vec<Option<Swarm>>>,
    /// For each node, the link that limits its downloads from peers.
    inlets: Vec<LinkId>,
}

impl Pieces {
    pub(super) fn new(
        spec: &PiecesSpec,
        clusters: usize,
        blobs: usize,
        inlets: Vec<LinkId>,
    ) -> Self {
        let mut stores = Vec::new();
        stores.resize_with(clusters, || {
            CacheStore::new(blobs, Coalesce::Stream, SimDuration::MAX, None)
        });
        Self {
            spec: spec.clone(),
            stores,
            swarms: vec![vec![None; blobs]; clusters],
            inlets,
        }
    }

    /// Returns the upload capacity of a swarm: the second term of the fluid equation.
    fn upload(&self, downloading: u32, complete: u32) -> BytesPerSec {
        let PiecesSpec {
            seeds,
            seed_out,
            peer_out,
            effectiveness,
            ..
        } = self.spec;
        let peers = effectiveness.get() * f64::from(downloading) + f64::from(complete);
        BytesPerSec::new(peer_out.get() * peers + seed_out.get() * f64::from(seeds))
    }

    fn swarm(&mut self, store: StoreId, blob: u16, network: &mut Network) -> LinkId {
        let upload = self.upload(0, 0);
        let swarm = &mut self.swarms[store.index()][usize::from(blob)];
        let swarm = swarm.get_or_insert_with(|| Swarm {
            link: network.add_link(None, upload),
            downloading: 0,
            complete: 0,
        });
        swarm.link
    }
}

impl DistributionMethod for Pieces {
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let Some(blob) = query.blob() else {
            return (
                Routing::Upstream {
                    detour: SimDuration::ZERO,
                },
                BlobSource::Registry,
            );
        };
        let store = StoreId(query.cluster.0);
        let announce = self.spec.announce;
        match self.stores[store.index()].look_up(query.now, blob, query.asked()) {
            CacheLookup::Hit => (
                Routing::Nearby { wait: announce },
                BlobSource::Store(store, None),
            ),
            CacheLookup::Filling(fill) => (
                Routing::Nearby { wait: announce },
                BlobSource::Store(store, Some(fill)),
            ),
            CacheLookup::Miss => (
                Routing::Upstream { detour: announce },
                BlobSource::Miss(store),
            ),
            CacheLookup::Waits => (Routing::Waits, BlobSource::Store(store, None)),
            CacheLookup::Full => unreachable!("a cluster's seeds have no limit of fetches"),
        }
    }

    fn last_leg(
        &mut self,
        source: BlobSource,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Leg {
        let (BlobSource::Store(store, _) | BlobSource::Miss(store)) = source else {
            unreachable!("{source:?} is no swarm");
        };
        let swarm = self.swarm(store, blob, network);
        Leg {
            links: vec![swarm, self.inlets[node.index()]],
            connection: None.into(),
        }
    }

    /// Serves reads from the swarm without a wait, because pieces are larger than reads and arrive before them.
    fn reads(
        &mut self,
        cluster: ClusterId,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        let store = StoreId(cluster.0);
        Some((
            self.last_leg(BlobSource::Store(store, None), node, blob, network),
            SimDuration::ZERO,
        ))
    }

    fn first_leg(&self, store: StoreId) -> FirstLeg {
        // One copy has to leave the seeds, so a faster fill has no effect.
        let out = self.spec.seed_out.get() * f64::from(self.spec.seeds);
        let cap = self
            .spec
            .source_rate
            .map_or(out, |rate| rate.get().min(out));
        FirstLeg {
            cap: Some(BytesPerSec::new(cap)),
            ..FirstLeg::to(Destination::Cluster(ClusterId(store.0)))
        }
    }

    fn contents(&mut self, store: StoreId) -> &mut CacheStore {
        &mut self.stores[store.index()]
    }

    fn store_of(&self, cluster: ClusterId) -> Option<StoreId> {
        Some(StoreId(cluster.0))
    }

    fn member(
        &mut self,
        at: StoreId,
        blob: u16,
        change: MemberChange,
        now: SimTime,
        network: &mut Network,
    ) {
        self.swarm(at, blob, network);
        let swarm = self.swarms[at.index()][usize::from(blob)]
            .as_mut()
            .expect("it was made just now");
        match change {
            MemberChange::Joins => swarm.downloading += 1,
            MemberChange::Completes => {
                swarm.downloading -= 1;
                swarm.complete += 1;
            }
            MemberChange::Leaves => swarm.downloading -= 1,
        }
        let Swarm {
            link,
            downloading,
            complete,
        } = *swarm;
        network.set_capacity(now, link, self.upload(downloading, complete));
    }

    fn timeouts(&self) -> Option<PeerTimeouts> {
        self.spec.timeouts
    }

    fn settling(&self, store: StoreId, blob: u16) -> SimDuration {
        let swarm = self.swarms[store.index()][usize::from(blob)];
        let peers = swarm
            .map_or(1, |swarm| swarm.downloading + swarm.complete)
            .max(1);
        let hops = libm::log(f64::from(peers)) / libm::log(f64::from(self.spec.connections));
        let piece = self
            .spec
            .piece
            .time_at(self.spec.peer_out)
            .unwrap_or(SimDuration::ZERO);
        piece.mul_f64(hops)
    }
}
