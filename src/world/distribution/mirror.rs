//! Mirrors: registries of a region that are asked before the one that an image names.
//!
//! containerd tries the hosts of an image in order (`hosts.toml`): a mirror that answers 404 costs its round trip, and
//! the next host is asked at once. What a mirror holds it serves itself, from inside of the region: manifests, config and layers.
//! Source: containerd `core/remotes/docker/{resolver,fetcher}.go` @301026e.
//!
//! Left out: how images get into a mirror, tokens of a mirror, and mirrors that lag behind.

use crate::flow::{LinkId, Network};
use crate::units::{BytesPerSec, SimDuration, SimTime};
use crate::world::distribution::spec::MirrorSpec;
use crate::world::distribution::{
    BlobSource, DistributionMethod, FillId, FirstLeg, Leg, MemberChange, RouteQuery, Routing, StoreId, Waiter,
};
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::nodes::catalog::ImageRef;
use crate::world::nodes::runtime::request::Request;

/// One mirror, with its link.
#[derive(Debug)]
struct Mirror {
    link: LinkId,
    cap: Option<BytesPerSec>,
    rtt: SimDuration,
    holds: Vec<usize>,
}

/// Mirrors before another way.
#[derive(Debug)]
pub(super) struct Mirrored {
    mirrors: Vec<Mirror>,
    /// By cluster: the mirrors of its region, in order.
    of_cluster: Vec<Vec<u16>>,
    /// By cluster and by node: the links of the last leg.
    downlinks: Vec<LinkId>,
    nodes: Vec<(ClusterId, LinkId)>,
    next: Box<dyn DistributionMethod>,
}

impl Mirrored {
    pub(super) fn new(
        specs: &[MirrorSpec],
        regions: &[Option<usize>],
        downlinks: Vec<LinkId>,
        nodes: Vec<(ClusterId, LinkId)>,
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
        Self { mirrors: mirrors.collect(), of_cluster, downlinks, nodes, next }
    }
}

impl DistributionMethod for Mirrored {
    fn ask(&mut self, ask: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let mut spent = SimDuration::ZERO;
        for &at in &self.of_cluster[ask.cluster.index()] {
            let mirror = &self.mirrors[usize::from(at)];
            // The connection is made by the first request of a pull.
            spent += mirror.rtt * if ask.request == Request::Challenge { 3 } else { 1 };
            if mirror.holds.contains(&ask.image.index()) {
                return match ask.request {
                    Request::Token => (Routing::Near { after: SimDuration::ZERO }, BlobSource::Registry),
                    _ => (Routing::Near { after: spent }, BlobSource::Mirror(at)),
                };
            }
        }
        if ask.request == Request::Token {
            spent = SimDuration::ZERO;
        }
        match self.next.ask(ask) {
            (Routing::Upstream { detour }, source) => (Routing::Upstream { detour: detour + spent }, source),
            (Routing::Near { after }, source) => (Routing::Near { after: after + spent }, source),
            (Routing::Refused { after }, source) => (Routing::Refused { after: after + spent }, source),
            (Routing::Waits, source) => (Routing::Waits, source),
        }
    }

    fn answered(&mut self, cluster: ClusterId, image: ImageRef, request: Request) {
        self.next.answered(cluster, image, request);
    }

    fn last_leg(&mut self, source: BlobSource, node: NodeId, blob: u16, network: &mut Network) -> Leg {
        let BlobSource::Mirror(at) = source else { return self.next.last_leg(source, node, blob, network) };
        let mirror = &self.mirrors[usize::from(at)];
        let (cluster, nic) = self.nodes[node.index()];
        Leg { over: vec![mirror.link, self.downlinks[cluster.index()], nic], cap: mirror.cap }
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

    fn first_leg(&self, place: StoreId) -> (FirstLeg, Option<BytesPerSec>) {
        self.next.first_leg(place)
    }

    fn fill_begins(&mut self, place: StoreId, blob: u16, pull: PullId, fill: FillId) -> Vec<Waiter> {
        self.next.fill_begins(place, blob, pull, fill)
    }

    fn fill_ends(&mut self, place: StoreId, blob: u16, fill: FillId, whole: Option<SimTime>) -> Vec<Waiter> {
        self.next.fill_ends(place, blob, fill, whole)
    }

    fn gives_up(&mut self, cluster: ClusterId, pull: PullId) -> Vec<Waiter> {
        self.next.gives_up(cluster, pull)
    }

    fn member(&mut self, at: StoreId, blob: u16, change: MemberChange, now: SimTime, network: &mut Network) {
        self.next.member(at, blob, change, now, network);
    }

    fn settling(&self, place: StoreId, blob: u16) -> SimDuration {
        self.next.settling(place, blob)
    }

    fn is_shared(&self, place: StoreId) -> bool {
        self.next.is_shared(place)
    }
}
