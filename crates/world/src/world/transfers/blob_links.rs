//! The rate at which a registry sends one blob, shared by all nodes that receive it (`registry.perBlob`).
//!
//! Modelled: a link for each blob, in front of the registry's egress. Its capacity is drawn once per run and digest, so
//! every strategy has the same. With `perBlobScope: region`, each region has its own link of each blob, like the edges
//! of a content delivery network.
//!
//! Evidence: pulls from ghcr.io by 2 to 256 nodes (docs/validation.md). One large layer arrives at 1.5 to 2 GB/s, many
//! layers together at 4 to 6.
//!
//! Left out: configs and reads on demand, which are small; rates that change while a blob gets popular; the reason for
//! the limit, which no registry has published.

use crate::engine::{EntityKey, Streams};
use crate::flow::{LinkId, Network};
use crate::world::nodes::catalog::Catalog;
use crate::world::registry::spec::BlobScope;
use crate::world::spec::WorldSpec;
use fleetsim_units::BytesPerSec;

/// The links of the blobs of all registries.
#[derive(Debug, Default)]
pub(crate) struct BlobLinks {
    /// For each registry, the links of its blobs. `None`: it does not limit blobs.
    registries: Vec<Option<EdgeLinks>>,
}

/// The links of the blobs of one registry.
#[derive(Debug)]
struct EdgeLinks {
    scope: BlobScope,
    /// The links of all blobs for clusters without a region, then those of each region if regions have their own.
    links: Vec<LinkId>,
    blobs: usize,
}

impl BlobLinks {
    pub(crate) fn new(
        spec: &WorldSpec,
        catalog: &Catalog,
        streams: &Streams,
        network: &mut Network,
    ) -> Self {
        let mut registries = Vec::new();
        for (number, registry) in spec.all_registries().enumerate() {
            let Some(model) = &registry.per_blob else {
                registries.push(None);
                continue;
            };
            let mut edges = vec![None];
            if registry.per_blob_scope == BlobScope::Region {
                edges.extend(
                    spec.regions
                        .iter()
                        .map(|region| Some(EntityKey::of(&region.name))),
                );
            }
            let mut links = Vec::with_capacity(edges.len() * catalog.blobs);
            for edge in edges {
                for &blob in &catalog.blob_keys {
                    let key = edge.map_or(blob, |edge| blob.at(edge));
                    let rate = model.draw(streams, key, "rate of a blob", number as u64);
                    // At least 1 byte per second, so that every transfer ends.
                    let rate = BytesPerSec::new(rate.get().max(1.0));
                    links.push(network.add_link(None, rate));
                }
            }
            registries.push(Some(EdgeLinks {
                scope: registry.per_blob_scope,
                links,
                blobs: catalog.blobs,
            }));
        }
        Self { registries }
    }

    /// Returns the links of all blobs of a registry. Empty if it does not limit blobs.
    pub(crate) fn all(&self, registry: usize) -> &[LinkId] {
        match &self.registries[registry] {
            Some(edges) => &edges.links,
            None => &[],
        }
    }

    /// Returns the place of a blob's link among all of its registry. `None`: the registry does not limit blobs.
    pub(crate) fn place(&self, registry: usize, blob: u16, region: Option<usize>) -> Option<usize> {
        let edges = self.registries[registry].as_ref()?;
        let edge = match (edges.scope, region) {
            (BlobScope::Region, Some(region)) => region + 1,
            (BlobScope::Region, None) | (BlobScope::Registry, _) => 0,
        };
        Some(edge * edges.blobs + usize::from(blob))
    }

    /// Returns the link of a blob from a registry to a region. `None`: the registry does not limit blobs.
    pub(crate) fn link(&self, registry: usize, blob: u16, region: Option<usize>) -> Option<LinkId> {
        let place = self.place(registry, blob, region)?;
        Some(self.all(registry)[place])
    }
}

#[cfg(test)]
mod tests {
    use crate::world::quantity::RateModel;
    use crate::world::registry::spec::BlobScope;
    use crate::world::spec::{RegionSpec, WorldSpec};
    use crate::world::testing::{bare_world, layer, play};
    use fleetsim_units::{BytesPerSec, SimDuration};

    /// Twenty clusters that pull an image from a registry that sends each blob at 100 MB/s.
    fn limited(layers: &[u64]) -> WorldSpec {
        let mut world = bare_world(20);
        for cluster in &mut world.clusters {
            cluster.downlink = BytesPerSec::new(1e12).into();
        }
        world.registry.per_blob = Some(BytesPerSec::new(100e6).into());
        world.images[0].layers = Vec::new();
        for (at, &bytes) in layers.iter().enumerate() {
            world.images[0]
                .layers
                .push(layer(&format!("layer-{at}"), bytes));
        }
        world
    }

    fn ready_s(world: &WorldSpec) -> Vec<f64> {
        let played = play(world, 1, SimDuration::from_hours(24));
        let mut ready = Vec::new();
        for at in played.ready_s() {
            ready.push(at.expect("it became ready"));
        }
        ready
    }

    fn last(world: &WorldSpec) -> f64 {
        ready_s(world).into_iter().fold(0.0, f64::max)
    }

    #[test]
    fn all_nodes_share_the_rate_of_a_blob() {
        // 20 · 100 MB at 100 MB/s.
        let ready = ready_s(&limited(&[100_000_000]));
        assert!(ready.iter().all(|at| (at - 20.0).abs() < 1e-6), "{ready:?}");
    }

    #[test]
    fn two_equal_blobs_take_half_as_long_as_one_of_double_size() {
        assert!((last(&limited(&[200_000_000])) - 40.0).abs() < 1e-6);
        assert!((last(&limited(&[100_000_000, 100_000_000])) - 20.0).abs() < 1e-6);
    }

    #[test]
    fn the_egress_limits_all_blobs_together() {
        let mut world = limited(&[100_000_000, 100_000_000]);
        world.registry.egress = BytesPerSec::new(125e6);
        // 20 · 200 MB at 125 MB/s.
        assert!((last(&world) - 32.0).abs() < 1e-6);
    }

    #[test]
    fn a_storm_is_as_slow_as_with_connections_of_the_nth_part_of_the_rate() {
        let limited = limited(&[100_000_000, 60_000_000]);
        let mut by_connection = limited.clone();
        by_connection.registry.per_blob = None;
        by_connection.registry.per_connection = Some(BytesPerSec::new(100e6 / 20.0));
        assert!((last(&limited) - last(&by_connection)).abs() < 1e-6);
    }

    #[test]
    fn a_rate_that_does_not_bind_changes_nothing() {
        let mut free = limited(&[100_000_000]);
        free.registry.egress = BytesPerSec::new(50e6);
        let mut unlimited = free.clone();
        unlimited.registry.per_blob = None;
        assert_eq!(ready_s(&free), ready_s(&unlimited));
    }

    #[test]
    fn each_edge_sends_a_blob_at_its_own_rate() {
        let mut world = limited(&[100_000_000]);
        world.regions = vec![RegionSpec {
            name: "north".to_owned(),
            bandwidth: BytesPerSec::new(1e12),
        }];
        for cluster in &mut world.clusters[..5] {
            cluster.region = Some(0);
        }
        assert!((last(&world) - 20.0).abs() < 1e-6, "one rate for all");
        world.registry.per_blob_scope = BlobScope::Region;
        let ready = ready_s(&world);
        assert!(
            ready[..5].iter().all(|at| (at - 5.0).abs() < 1e-6),
            "{ready:?}"
        );
        assert!(
            ready[5..].iter().all(|at| (at - 15.0).abs() < 1e-6),
            "{ready:?}"
        );
    }

    #[test]
    fn a_drawn_rate_belongs_to_the_digest_and_the_run() {
        let mut world = limited(&[100_000_000]);
        world.registry.per_blob = Some(RateModel::LogNormal {
            median: BytesPerSec::new(100e6),
            sigma: 0.3,
        });
        let drawn = last(&world);
        assert!((drawn - 20.0).abs() > 1e-3, "{drawn}");
        assert!(
            (last(&world) - drawn).abs() < 1e-12,
            "the same run draws the same"
        );
        // Another layer beside it changes nothing.
        world.images[0].layers.push(layer("other", 1));
        assert!((last(&world) - drawn).abs() < 1e-6);
    }
}
