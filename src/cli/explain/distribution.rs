//! Explains the effect of a distribution method on this fleet, before any simulation.

use fleetsim::units::Bytes;
use fleetsim::world::{CachePlace, CacheSpec, Coalesce, DistributionKind, WorldSpec};

/// Returns a few lines about the method. Empty if every node pulls from the registry at the release.
pub(super) fn lines(world: &WorldSpec) -> Vec<String> {
    let images = world.images.len();
    let mut lines = Vec::new();
    for (at, registry) in (1..).zip(&world.registries) {
        let own = world.images.iter().filter(|image| image.registry == at);
        lines.push(format!(
            "registry {}: egress {}, {} of {images} images",
            registry.name,
            registry.spec.egress,
            own.count()
        ));
    }
    let distribution = &world.distribution;
    let mut copy = Bytes::ZERO;
    for image in &world.images {
        for layer in image.distinct_layers() {
            copy += layer.compressed.typical();
        }
    }
    // A cache or a swarm fetches each layer that nodes lack only once.
    let new = super::new_to_node(&super::released_images(world));
    let clusters = world.clusters.len() as u64;
    lines.extend(way(world, new, copy));
    if let Some(lazy) = &distribution.lazy {
        let needed = copy.mul_f64(lazy.start_fraction.get());
        let read = needed.mul_f64(1.0 - lazy.prefetch.get()).get();
        let reads = read
            .div_ceil(lazy.read.get())
            .div_ceil(u64::from(lazy.parallel_reads));
        lines.push(format!(
            "lazy pulls: containers are ready after {needed} of {copy}, in {reads} round trips one after another"
        ));
    }
    if let Some(pre_pull) = distribution.pre_pull {
        let group = pre_pull.group(world.clusters.len());
        let groups = clusters.div_ceil(group as u64);
        let last = pre_pull.every * (groups - 1);
        let release = match pre_pull.release_after {
            Some(after) => format!("the release at {after}, ready or not"),
            None => "the release when all online clusters have the images".to_owned(),
        };
        lines.push(format!(
            "pre-pull: {groups} groups of {group} clusters, the last begins after {last}; {release}"
        ));
    }
    for mirror in &distribution.mirrors {
        let region = &world.regions[mirror.region].name;
        lines.push(format!(
            "mirror {}: region {region}, holds {} of {images} images",
            mirror.name,
            mirror.holds.len()
        ));
    }
    lines
}

/// Returns the distribution method, and the bytes that it fetches from the registry. A node lacks `new` of `all`
/// bytes. `None`: every node pulls from the registry.
fn way(world: &WorldSpec, new: Bytes, all: Bytes) -> Option<String> {
    let clusters = world.clusters.len() as u64;
    let text = match &world.distribution.kind {
        DistributionKind::Direct => return None,
        DistributionKind::Cache(cache) => caches(world, cache, new),
        DistributionKind::Cells(cells) => {
            let places = u64::from(cells.count).min(clusters);
            let shared = clusters.div_ceil(places.max(1));
            let (copies, of) = if all > cells.cache {
                (clusters, "an instance")
            } else {
                (places, "a cell")
            };
            let once = Bytes::new(new.get() * copies);
            format!(
                "{places} cells with up to {shared} instances: {once} from the registry, one copy {of}"
            )
        }
        DistributionKind::Spegel(_) if world.node.keep_blobs => {
            "Spegel: nodes that pull while no node of their cluster is complete go to the registry, later ones to a peer"
                .to_owned()
        }
        DistributionKind::Spegel(_) => {
            "Spegel, which cannot serve anything: blobs are discarded after unpacking (`node.keepBlobs`)".to_owned()
        }
        DistributionKind::Pieces(pieces) => {
            let once = Bytes::new(new.get() * clusters);
            format!(
                "a swarm per cluster and blob with {} seeds: {once} from the registry, one copy per cluster; a node \
                 receives {} at most",
                pieces.seeds, pieces.peer_in
            )
        }
    };
    Some(format!("distribution: {text}"))
}

fn caches(world: &WorldSpec, cache: &CacheSpec, new: Bytes) -> String {
    let (places, of) = match cache.per {
        CachePlace::Cluster => (world.clusters.len() as u64, "cluster"),
        CachePlace::Region => (world.regions.len() as u64, "region"),
    };
    let once = Bytes::new(new.get() * places);
    let while_cold = match cache.coalesce {
        Coalesce::None => "every request before the first copy is complete fetches another copy",
        Coalesce::OwnCopy => {
            "every request before the cache's own copy is complete fetches another copy, and the cache fetches its own"
        }
        Coalesce::Wait => "requests wait for the first copy",
        Coalesce::Stream => "requests share the first copy as it arrives",
    };
    format!(
        "a cache per {of}, {places} in all: {once} from the registry if each fetches all images once; {while_cold}"
    )
}
