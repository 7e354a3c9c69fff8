//! The blobs of a release, and the number of a cluster's nodes that need each blob.

use std::collections::BTreeMap;

use crate::world::clusters::spec::WorkloadKind;
use crate::world::spec::{ImageSpec, LayerSpec, ReleaseKind, Uncompressed, WorldSpec};

/// A layer or a config of the new revision. Images that share a layer share its blob.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NeededBlob {
    /// Indices of the images that contain the blob.
    pub(super) images: Vec<usize>,
    /// Bytes over the wire that a container needs before it can start.
    pub(super) bytes: f64,
    /// Bytes on disk. 0 for a config, and if images are pulled lazily.
    pub(super) unpacked: f64,
    /// Seconds to unpack the blob alone.
    pub(super) unpack_s: f64,
    /// The blob is a config, which a runtime requests before the layers.
    pub(super) is_config: bool,
    /// Indices of the applications whose previous revision has the blob, so that a node that runs it has it, too.
    held_by: Vec<usize>,
}

/// The blobs of the new revision.
#[derive(Debug)]
pub(super) struct ReleaseContent {
    pub(super) blobs: Vec<NeededBlob>,
}

impl ReleaseContent {
    pub(super) fn of(world: &WorldSpec) -> Self {
        let held = held_layers(world);
        let mut blobs: Vec<NeededBlob> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, image) in world.images.iter().enumerate() {
            blobs.push(config(image, number));
            for layer in image.distinct_layers() {
                let digest = layer.digest.as_str();
                if let Some(&at) = known.get(digest) {
                    blobs[at].images.push(number);
                    continue;
                }
                known.insert(digest, blobs.len());
                let mut blob = layer_blob(world, layer, number);
                blob.held_by = held.get(digest).cloned().unwrap_or_default();
                blobs.push(blob);
            }
        }
        Self { blobs }
    }

    /// Returns the minimum number of a cluster's nodes that need a blob.
    pub(super) fn nodes_with(&self, cluster: &ClusterNodes, blob: usize) -> u32 {
        let blob = &self.blobs[blob];
        for application in &blob.held_by {
            if cluster.runs_previous[*application] {
                return 0;
            }
        }
        let nodes = blob.images.iter().map(|&image| cluster.of_image[image]);
        nodes.max().unwrap_or(0)
    }

    /// The blobs that one node of a cluster needs: those that all of its nodes need, or those of one image if they are
    /// more.
    pub(super) fn of_one_node(&self, cluster: &ClusterNodes, images: usize) -> Vec<&NeededBlob> {
        let mut best: Vec<&NeededBlob> = Vec::new();
        for image in (0..images).map(Some).chain([None]) {
            let mut needed = Vec::new();
            for (at, blob) in self.blobs.iter().enumerate() {
                let is_part = match image {
                    Some(image) => blob.images.contains(&image) && cluster.of_image[image] > 0,
                    None => self.nodes_with(cluster, at) == cluster.nodes,
                };
                if is_part && self.nodes_with(cluster, at) > 0 {
                    needed.push(blob);
                }
            }
            if total_bytes(&needed) > total_bytes(&best) {
                best = needed;
            }
        }
        best
    }
}

/// Returns the layers of previous revisions that run anywhere at the start, with their applications. An image that no
/// workload names belongs to the first application.
fn held_layers(world: &WorldSpec) -> BTreeMap<&str, Vec<usize>> {
    let mut held: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (application, spec) in world.applications.iter().enumerate() {
        if spec.release == ReleaseKind::Initial {
            continue;
        }
        for (number, image) in world.images.iter().enumerate() {
            let is_own = spec
                .workloads
                .iter()
                .any(|workload| workload.image == number);
            if is_own || application == 0 && !is_named(world, number) {
                for layer in &image.previous {
                    held.entry(&layer.digest).or_default().push(application);
                }
            }
        }
    }
    held
}

/// Returns whether a workload has this image.
fn is_named(world: &WorldSpec, image: usize) -> bool {
    world
        .applications
        .iter()
        .flat_map(|application| &application.workloads)
        .any(|workload| workload.image == image)
}

/// The bytes of some blobs over the wire.
pub(super) fn total_bytes(blobs: &[&NeededBlob]) -> f64 {
    blobs.iter().map(|blob| blob.bytes).sum()
}

/// The config of an image.
fn config(image: &ImageSpec, number: usize) -> NeededBlob {
    NeededBlob {
        images: vec![number],
        bytes: image.config.typical().get() as f64,
        unpacked: 0.0,
        unpack_s: 0.0,
        is_config: true,
        held_by: Vec::new(),
    }
}

/// A layer of an image.
fn layer_blob(world: &WorldSpec, layer: &LayerSpec, number: usize) -> NeededBlob {
    let node = &world.node;
    let compressed = layer.compressed.typical().get() as f64;
    let unpacked = layer.typical_size_on_disk();
    let gzip = node.unpack_rate.typical().get();
    let decompress_s = match layer.uncompressed {
        // If the node has a disk model, only the disk limits the time.
        Uncompressed::AsSent if node.disk.is_some() => 0.0,
        _ if layer.is_zstd => unpacked / (gzip * node.zstd_factor.max(1.0)),
        _ => unpacked / gzip,
    };
    let mut blob = NeededBlob {
        images: vec![number],
        bytes: compressed,
        unpacked,
        unpack_s: decompress_s + node.unpack_per_layer.typical().as_secs_f64(),
        is_config: false,
        held_by: Vec::new(),
    };
    if let Some(lazy) = &world.distribution.lazy {
        blob.bytes *= lazy.start_fraction.get();
        (blob.unpacked, blob.unpack_s) = (0.0, 0.0);
    }
    blob
}

/// The nodes of a cluster that pull each image.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ClusterNodes {
    pub(super) nodes: u32,
    /// For each image, the minimum number of nodes that pull it. The scheduler puts each new pod on a node with the
    /// fewest pods.
    pub(super) of_image: Vec<u32>,
    /// Whether the previous revision of each application runs in the cluster.
    pub(super) runs_previous: Vec<bool>,
}

impl ClusterNodes {
    pub(super) fn of(world: &WorldSpec, at: usize) -> Self {
        let cluster = &world.clusters[at];
        let mut nodes = (cluster.nodes.typical().get().round() as u32).max(1);
        let mut room = None;
        if let Some(autoscaling) = &cluster.autoscaling {
            let needed = autoscaling.nodes_for(world.deployed_pods(at));
            nodes = autoscaling.min_nodes.unwrap_or(nodes).max(needed);
            nodes = nodes.min(autoscaling.max_nodes);
            room = Some(autoscaling.pods_per_node);
        }
        let mut of_image = vec![0; world.images.len()];
        let gets_release = !cluster.offline && !cluster.paused && cluster.registered;
        let workloads = world
            .applications_on(at)
            .flat_map(|application| &application.workloads);
        for workload in workloads.filter(|_| gets_release) {
            let pulling = match workload.kind {
                WorkloadKind::Deployment { replicas, .. } => match room {
                    // Pods that wait may all get the same few nodes.
                    Some(room) => replicas.div_ceil(room).min(nodes),
                    None => replicas.min(nodes),
                },
                WorkloadKind::DaemonSet { .. } => nodes,
            };
            let most: &mut u32 = &mut of_image[workload.image];
            *most = pulling.max(*most);
        }
        Self {
            nodes,
            of_image,
            runs_previous: (0..world.applications.len())
                .map(|application| world.installed(application, at).is_some())
                .collect(),
        }
    }
}
