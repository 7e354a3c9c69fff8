//! Every node pulls from the registry, which is containerd's default.

use crate::flow::Network;
use crate::world::distribution::method::{DistributionMethod, RouteQuery};
use crate::world::ids::NodeId;
use crate::world::transfers::links::Leg;
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::SimDuration;

/// The registry serves every node.
#[derive(Debug)]
pub(super) struct Direct;

impl DistributionMethod for Direct {
    fn route(&mut self, _query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        (
            Routing::Upstream {
                detour: SimDuration::ZERO,
            },
            BlobSource::Registry,
        )
    }

    fn last_leg(
        &mut self,
        source: BlobSource,
        _node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Leg {
        unreachable!("{source:?} sends nothing where there is only a registry")
    }
}
