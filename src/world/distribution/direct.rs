//! Every node pulls from the registry: what containerd does out of the box.

use crate::flow::Network;
use crate::units::SimDuration;
use crate::world::distribution::{BlobSource, DistributionMethod, Leg, RouteQuery, Routing};
use crate::world::ids::NodeId;

/// Nobody stands between registry and nodes.
#[derive(Debug)]
pub(super) struct Direct;

impl DistributionMethod for Direct {
    fn ask(&mut self, _ask: &RouteQuery<'_>) -> (Routing, BlobSource) {
        (Routing::Upstream { detour: SimDuration::ZERO }, BlobSource::Registry)
    }

    fn last_leg(&mut self, source: BlobSource, _node: NodeId, _blob: u16, _network: &mut Network) -> Leg {
        unreachable!("{source:?} sends nothing where there is only a registry")
    }
}
