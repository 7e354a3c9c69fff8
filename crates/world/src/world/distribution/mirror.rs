//! Mirrors: registries of a region that are tried before the registry that an image names.
//!
//! containerd tries the hosts of an image in order (`hosts.toml`). A mirror that responds 404 costs its round trip,
//! and the next host is tried immediately. A mirror serves its images from inside the region: manifests, config and
//! layers. Source: containerd `core/remotes/docker/{resolver,fetcher}.go` @301026e.
//!
//! Left out: how images get into a mirror, a mirror's tokens, and mirrors that lag behind.

use crate::flow::{LinkId, Network};
use crate::world::distribution::method::RouteQuery;
use crate::world::ids::NodeId;
use crate::world::registry::request::Request;
use crate::world::spec::WorldSpec;
use crate::world::transfers::links::{Leg, Links};
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::{BytesPerSec, SimDuration};

/// One mirror, with its link.
#[derive(Debug)]
struct Mirror {
    link: LinkId,
    cap: Option<BytesPerSec>,
    rtt: SimDuration,
    holds: Vec<usize>,
}

/// All mirrors. They are tried before every distribution method.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    mirrors: Vec<Mirror>,
    /// The mirrors of each cluster's region, in order.
    of_cluster: Vec<Vec<u16>>,
}

impl Mirrors {
    pub(super) fn new(spec: &WorldSpec, links: &Links, network: &mut Network) -> Self {
        let specs = &spec.distribution.mirrors;
        let mirrors = specs.iter().map(|spec| Mirror {
            link: network.add_link(None, links.data(spec.egress)),
            cap: spec.per_connection,
            rtt: spec.rtt,
            holds: spec.holds.clone(),
        });
        let mirrors = mirrors.collect();
        let mut of_cluster = Vec::with_capacity(spec.clusters.len());
        for cluster in &spec.clusters {
            let mut own = Vec::new();
            for (at, mirror) in (0..).zip(specs) {
                if Some(mirror.region) == cluster.region {
                    own.push(at);
                }
            }
            of_cluster.push(own);
        }
        Self {
            mirrors,
            of_cluster,
        }
    }

    /// The link of each mirror.
    pub(in crate::world) fn links(&self) -> Vec<LinkId> {
        self.mirrors.iter().map(|mirror| mirror.link).collect()
    }

    /// Routes a request to the first mirror that has the image. If none has it, returns the time spent on trying the
    /// mirrors.
    pub(super) fn route(
        &self,
        query: &RouteQuery<'_>,
    ) -> Result<(Routing, BlobSource), SimDuration> {
        let mut spent = SimDuration::ZERO;
        let image = query.catalog.specified_index(query.image);
        for &at in &self.of_cluster[query.cluster.index()] {
            let mirror = &self.mirrors[usize::from(at)];
            // The first request of a pull opens the connection.
            spent += mirror.rtt
                * if query.request == Request::Challenge {
                    3
                } else {
                    1
                };
            if mirror.holds.contains(&image) {
                return Ok(match query.request {
                    Request::Token => (
                        Routing::Nearby {
                            wait: SimDuration::ZERO,
                        },
                        BlobSource::Registry,
                    ),
                    _ => (Routing::Nearby { wait: spent }, BlobSource::Mirror(at)),
                });
            }
        }
        Err(if query.request == Request::Token {
            SimDuration::ZERO
        } else {
            spent
        })
    }

    /// Returns the links from a mirror to a node.
    pub(super) fn leg(&self, at: u16, node: NodeId, links: &Links) -> Leg {
        let mirror = &self.mirrors[usize::from(at)];
        let (cluster, card) = links.nodes[node.index()];
        Leg {
            links: vec![mirror.link, links.downlink(cluster), card],
            connection: mirror.cap.into(),
        }
    }
}
