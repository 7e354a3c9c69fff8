//! The distribution of images: who responds to a node's request, and who sends the bytes.
//!
//! Each distribution method implements [`DistributionMethod`]: it routes requests, chooses the sender of a blob, and
//! stores the content of caches and swarms. Requests, transfers and their times are the same for all methods
//! (`delivery`), so that bytes are counted in one place.
//!
//! | file | models |
//! |---|---|
//! | `method` | the interface of all methods |
//! | `direct` | every node pulls from the registry |
//! | `mirror` | registries of a region that are tried first |
//! | `cache`, `cache_store`, `cache_room` | pull-through caches, per cluster, region or cell, and their content |
//! | `spegel` | nodes that serve complete images to each other |
//! | `pieces`, `crowd` | swarms that forward pieces while they download (Dragonfly, Kraken), and what machines send |
//! | `lazy` | containers that start before their image is complete |
//! | `pre_pull` | images that are pulled before the release |
//! | `delivery`, `setup` | requests and transfers of all methods, and their links |
//! | `spec` | the settings |

mod cache;
mod cache_room;
mod cache_store;
mod crowd;
pub(super) mod delivery;
mod direct;
pub(super) mod lazy;
pub(super) mod method;
mod mirror;
mod pieces;
pub(super) mod pre_pull;
pub(super) mod setup;
pub(super) mod spec;
mod spegel;
#[cfg(test)]
mod swarm_tests;
#[cfg(test)]
mod tests;

use crate::flow::TransferId;
use crate::world::distribution::method::DistributionMethod;
use crate::world::distribution::mirror::Mirrors;
use crate::world::distribution::pre_pull::PrePull;
use crate::world::distribution::setup::CacheLinks;
use crate::world::event::Queue;
use crate::world::ids::{PodId, PullId, StoreId};
use crate::world::nodes::catalog::Catalog;
use crate::world::nodes::pull_progress::PullLayer;
use crate::world::spec::WorldSpec;
use crate::world::transfers::Transfers;

/// A store's download of a blob or config.
#[derive(Debug)]
pub(crate) struct Fill {
    pub store: StoreId,
    /// The downloaded blob. `None`: a config, which no request waits for.
    blob: Option<u16>,
    transfer: Option<TransferId>,
    /// The pull whose failure cancels the fill. `None`: the fill is shared.
    owner: Option<PullId>,
    /// Layers whose transfer to the node has completed before this fill.
    followers: Vec<PullLayer>,
}

impl Fill {
    /// Creates a fill whose transfer has not started.
    fn new(store: StoreId, blob: Option<u16>, owner: Option<PullId>) -> Self {
        Self {
            store,
            blob,
            transfer: None,
            owner,
            followers: Vec::new(),
        }
    }
}

/// The distribution of images in one world.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub method: Box<dyn DistributionMethod>,
    pub mirrors: Mirrors,
    /// Every fill so far.
    pub fills: Vec<Fill>,
    pub pre_pull: Option<PrePull>,
    /// Images that were pulled without a pre-pull, until [`take_pulled`](crate::world::World::take_pulled) returns
    /// them.
    pub brought: Vec<PodId>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            method: Box::new(direct::Direct),
            mirrors: Mirrors::default(),
            fills: Vec::new(),
            pre_pull: None,
            brought: Vec::new(),
        }
    }
}

impl Delivery {
    /// Creates the specified distribution, once all links of clusters and nodes exist.
    pub(super) fn new(
        spec: &WorldSpec,
        caches: CacheLinks,
        catalog: &Catalog,
        transfers: &mut Transfers,
        queue: &mut Queue,
    ) -> Self {
        let pre_pull = spec
            .distribution
            .pre_pull
            .map(|pre_pull| PrePull::begin(pre_pull, spec.clusters.len(), queue));
        let method = setup::method(spec, caches, catalog, transfers);
        let mirrors = Mirrors::new(spec, &transfers.links, &mut transfers.network);
        Self {
            method,
            mirrors,
            fills: Vec::new(),
            pre_pull,
            brought: Vec::new(),
        }
    }
}
