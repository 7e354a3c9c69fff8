//! Every node pulls from the registry: what containerd does out of the box.

use super::{Ask, Delivery, Leg, Reply, Source};
use crate::flow::Network;
use crate::units::SimDuration;
use crate::world::ids::NodeId;

/// Nobody stands between registry and nodes.
#[derive(Debug)]
pub(super) struct Direct;

impl Delivery for Direct {
    fn ask(&mut self, _ask: &Ask<'_>) -> (Reply, Source) {
        (Reply::Upstream { detour: SimDuration::ZERO }, Source::Registry)
    }

    fn last_leg(&mut self, source: Source, _node: NodeId, _blob: u16, _network: &mut Network) -> Leg {
        unreachable!("{source:?} sends nothing where there is only a registry")
    }
}
