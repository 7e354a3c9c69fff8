//! Mirrors: registries of a region that are asked before the one that an image names.
//!
//! containerd tries the hosts of an image in order (`hosts.toml`). A mirror that responds 404 costs its round trip,
//! and the next host is asked immediately. A mirror serves the images that it holds from inside the region: manifests,
//! config and layers. Source: containerd `core/remotes/docker/{resolver,fetcher}.go` @301026e.
//!
//! Left out: how images get into a mirror, a mirror's tokens, and mirrors that lag behind.

use crate::flow::{LinkId, Network};
use crate::units::{BytesPerSec, SimDuration, SimTime};
use crate::world::distribution::method::{DistributionMethod, MemberChange, RouteQuery, Waiter};
use crate::world::distribution::spec::MirrorSpec;
use crate::world::ids::{ClusterId, FillId, NodeId, PullId, StoreId};
use crate::world::nodes::catalog::ImageRef;
use crate::world::registry::request::Request;
use crate::world::transfers::links::{Destination, Leg};
use crate::world::transfers::payload::{BlobSource, Routing};

/// One mirror, with its link.
#[derive(Debug)]
struct Mirror {
    link: LinkId,
    cap: Option<BytesPerSec>,
    rtt: SimDuration,
    holds: Vec<usize>,
}

/// Mirrors in front of another method.
#[derive(Debug)]
pub(super) struct Mirrored {
    mirrors: Vec<Mirror>,
    /// By cluster: the mirrors of its region, in order.
    of_cluster: Vec<Vec<u16>>,
    /// By node: its downlink and its network card.
    last: Vec<[LinkId; 2]>,
    next: Box<dyn DistributionMethod>,
}

impl Mirrored {
    pub(super) fn new(
        specs: &[MirrorSpec],
        regions: &[Option<usize>],
        last: Vec<[LinkId; 2]>,
        next: Box<dyn DistributionMethod>,
        network: &mut Network,
    ) -> Self {
        let mirrors = specs.iter().map(|spec| Mirror {
            link: network.add_link(None, spec.egress),
            cap: spec.per_connection,
            rtt: spec.rtt,
            holds: spec.holds.clone(),
        });
        let of_region = |region: usize| (0..).zip(specs).filter(move |(_, spec)| spec.region == region);
        let of_cluster = regions
            .iter()
            .map(|region| region.map_or_else(Vec::new, |region| of_region(region).map(|(at, _)| at).collect()))
            .collect();
        Self { mirrors: mirrors.collect(), of_cluster, last, next }
    }
}

impl DistributionMethod for Mirrored {
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let mut spent = SimDuration::ZERO;
        for &at in &self.of_cluster[query.cluster.index()] {
            let mirror = &self.mirrors[usize::from(at)];
            // The first request of a pull opens the connection.
            spent += mirror.rtt * if query.request == Request::Challenge { 3 } else { 1 };
            if mirror.holds.contains(&query.image.index()) {
                return match query.request {
                    Request::Token => (Routing::Nearby { after: SimDuration::ZERO }, BlobSource::Registry),
                    _ => (Routing::Nearby { after: spent }, BlobSource::Mirror(at)),
                };
            }
        }
        if query.request == Request::Token {
            spent = SimDuration::ZERO;
        }
        match self.next.route(query) {
            (Routing::Upstream { detour }, source) => (Routing::Upstream { detour: detour + spent }, source),
            (Routing::Nearby { after }, source) => (Routing::Nearby { after: after + spent }, source),
            (Routing::Refused { after }, source) => (Routing::Refused { after: after + spent }, source),
            (Routing::Waits, source) => (Routing::Waits, source),
        }
    }

    fn note_response(&mut self, cluster: ClusterId, image: ImageRef, request: Request) {
        self.next.note_response(cluster, image, request);
    }

    fn last_leg(&mut self, source: BlobSource, node: NodeId, blob: u16, network: &mut Network) -> Leg {
        let BlobSource::Mirror(at) = source else { return self.next.last_leg(source, node, blob, network) };
        let mirror = &self.mirrors[usize::from(at)];
        let [downlink, card] = self.last[node.index()];
        Leg { links: vec![mirror.link, downlink, card], cap: mirror.cap }
    }

    fn reads(
        &mut self,
        cluster: ClusterId,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        self.next.reads(cluster, node, blob, network)
    }

    fn first_leg(&self, store: StoreId) -> (Destination, Option<BytesPerSec>) {
        self.next.first_leg(store)
    }

    fn fill_begins(&mut self, store: StoreId, blob: u16, pull: PullId, fill: FillId) -> Vec<Waiter> {
        self.next.fill_begins(store, blob, pull, fill)
    }

    fn fill_ends(&mut self, store: StoreId, blob: u16, fill: FillId, whole: Option<SimTime>) -> Vec<Waiter> {
        self.next.fill_ends(store, blob, fill, whole)
    }

    fn cancel_pull(&mut self, cluster: ClusterId, pull: PullId) -> Vec<Waiter> {
        self.next.cancel_pull(cluster, pull)
    }

    fn member(&mut self, at: StoreId, blob: u16, change: MemberChange, now: SimTime, network: &mut Network) {
        self.next.member(at, blob, change, now, network);
    }

    fn settling(&self, store: StoreId, blob: u16) -> SimDuration {
        self.next.settling(store, blob)
    }

    fn is_shared(&self, store: StoreId) -> bool {
        self.next.is_shared(store)
    }
}
