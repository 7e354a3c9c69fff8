//! Spegel: every node is a mirror of its complete images for the other nodes of its cluster.
//!
//! A node announces an image and its blobs when the image is complete (spegel-org/spegel @0a90881
//! `pkg/state/state.go`: on image events, which follow unpacking). It serves them from containerd's content store, so
//! blobs that are discarded after unpacking cannot be served. containerd asks its local Spegel first. A lookup that
//! finds a holder takes a few milliseconds. Otherwise the lookup times out after 20 ms, and the request then goes to
//! the registry immediately. Peers also resolve tags. There is no bandwidth limit (spegel#336, #670): the transfers of
//! a popular node share its network card.
//!
//! The holder is drawn uniformly from all holders in the cluster.
//!
//! Left out: holders that fail (Spegel tries three), delays of announcements, pulls across clusters, and the token of
//! a pull that began at peers and continues at the registry (its time is counted, but not its two requests).

use crate::engine::dist;
use crate::flow::{LinkId, Network};
use crate::world::distribution::method::{DistributionMethod, RouteQuery};
use crate::world::distribution::spec::SpegelSpec;
use crate::world::ids::NodeId;
use crate::world::nodes::node::{Blob, NodeState};
use crate::world::registry::request::Request;
use crate::world::transfers::links::Leg;
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::SimDuration;

/// The Spegel instances of a fleet.
#[derive(Debug)]
pub(super) struct Spegel {
    spec: SpegelSpec,
    /// For each node, its incoming and its outgoing link.
    links: Vec<(LinkId, LinkId)>,
    /// For each node, the number of holders drawn so far.
    draws: Vec<u64>,
    /// For each node, whether its last pull resolved the tag at a peer and has no token.
    from_peers: Vec<bool>,
}

impl Spegel {
    pub(super) fn new(spec: &SpegelSpec, links: Vec<(LinkId, LinkId)>) -> Self {
        let nodes = links.len();
        Self {
            spec: spec.clone(),
            links,
            draws: vec![0; nodes],
            from_peers: vec![false; nodes],
        }
    }

    /// Returns another node of the cluster that has the requested content.
    fn holder(&mut self, query: &RouteQuery<'_>) -> Option<NodeId> {
        let me = query.node.index();
        let members = query.members.clone();
        let holders: Vec<usize> = members
            .filter(|&at| at != me && holds(&query.nodes[at], query))
            .collect();
        if holders.is_empty() {
            return None;
        }
        let nth = self.draws[me];
        self.draws[me] += 1;
        let drawn = dist::unit(&mut query.streams.stream_nth(query.nodes[me].key, "peer", nth));
        Some(NodeId::at(
            holders[((drawn * holders.len() as f64) as usize).min(holders.len() - 1)],
        ))
    }
}

/// Returns whether a node announces the requested blob or manifest.
fn holds(node: &NodeState, query: &RouteQuery<'_>) -> bool {
    // If its blobs are deleted, the manifest is deleted too (garbage collection follows the leases).
    let blobs = &node.content.blobs;
    let Some(blob) = query.blob() else {
        let layers = &query.catalog.image(query.image).layers;
        return node.content.present[usize::from(query.image.0)]
            && layers
                .iter()
                .all(|layer| blobs[usize::from(layer.blob)] == Blob::Whole);
    };
    blobs[usize::from(blob)] == Blob::Whole
        && (0..node.content.present.len())
            .any(|at| node.content.present[at] && query.catalog.contains(at, blob))
}

impl DistributionMethod for Spegel {
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let me = query.node.index();
        match query.request {
            // The runtime's first request is for the tag. If a peer answers it, no token is needed.
            Request::Challenge => {
                self.from_peers[me] = self.holder(query).is_some();
                if self.from_peers[me] {
                    return (
                        Routing::Nearby {
                            wait: SimDuration::ZERO,
                        },
                        BlobSource::Registry,
                    );
                }
                return (
                    Routing::Upstream {
                        detour: self.spec.timeout,
                    },
                    BlobSource::Registry,
                );
            }
            Request::Token if self.from_peers[me] => {
                return (
                    Routing::Nearby {
                        wait: SimDuration::ZERO,
                    },
                    BlobSource::Registry,
                );
            }
            Request::Token => {
                return (
                    Routing::Upstream {
                        detour: SimDuration::ZERO,
                    },
                    BlobSource::Registry,
                );
            }
            _ => {}
        }
        match self.holder(query) {
            Some(peer) => (
                Routing::Nearby {
                    wait: self.spec.lookup,
                },
                BlobSource::Peer(peer),
            ),
            None => (
                Routing::Upstream {
                    detour: self.spec.timeout,
                },
                BlobSource::Registry,
            ),
        }
    }

    fn last_leg(
        &mut self,
        source: BlobSource,
        node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Leg {
        let BlobSource::Peer(peer) = source else {
            unreachable!("{source:?} is no peer")
        };
        let (_, out) = self.links[peer.index()];
        let (nic, _) = self.links[node.index()];
        Leg {
            links: vec![out, nic],
            connection: self.spec.per_connection.into(),
        }
    }
}
