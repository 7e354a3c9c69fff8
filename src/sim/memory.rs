//! The memory of a run, estimated from its scenario before anything is simulated.
//!
//! A run keeps records of all clusters, nodes and pods until its end, and of the pulls in progress. The estimate is
//! for the worst strategy, which updates all clusters at the same time. The sizes were fitted to the peak resident set
//! of complete runs with 10,000 to 60,000 clusters on Linux, including their results. The ratio of the estimates to
//! the measured memory:
//!
//! | run | estimate / measured |
//! |---|---|
//! | one node and one pod for each cluster, 1 or 9 layers in each revision | 1.15 to 1.25 |
//! | the same under Rancher Fleet, Argo CD, KubeFleet's rolling update and Cloud Foundry | 1.2 to 1.4 |
//! | 4 to 10 nodes, 30 pods, 60 layers, 10 workloads, 10 images or a cache for each cluster | 0.87 to 1.2 |
//! | DaemonSets, which update one node at a time, also with Spegel and Kraken | 1.4 to 2.0 |
//!
//! Left out, because only a run shows them: pods created again after a failure, retried pulls, and anything else that
//! grows with the duration of a stalled rollout.

use std::collections::BTreeSet;

use crate::control_plane::Change;
use crate::scenario::Scenario;
use crate::units::counted;
use crate::world::{CachePlace, DistributionKind, ImageSpec, WorkloadKind, WorldSpec};

/// Bytes for each cluster, with its link and its row in the results, without its nodes and pods.
const CLUSTER: f64 = 400.0;
/// Bytes for each node, with its network card and its disk.
const NODE: f64 = 640.0;
/// Bytes for each concurrent pull, with its downloads and events, and for each layer of its image.
const PULL: f64 = 900.0;
const PULLED_LAYER: f64 = 55.0;
/// Bytes for a node's state of each blob after a pull.
const NODE_BLOB: f64 = 20.0;
/// Bytes for each pod, and for each pod that has to pull.
const POD: f64 = 150.0;
const NEW_POD: f64 = 240.0;
/// Bytes for each workload in a cluster.
const WORKLOAD: f64 = 160.0;
/// Bytes for each cache, or each cluster's seeds, and for each blob in it.
const STORE: f64 = 800.0;
const STORED_BLOB: f64 = 60.0;
/// Bytes for the swarm of one blob in a cluster.
const SWARM: f64 = 240.0;
/// Bytes for the links of each node that serves other nodes.
const PEER: f64 = 700.0;

/// Bytes for each target in a product's list, such as a partition: 150 partitions of all 100,000 clusters took 679 MB
/// more than one.
const LISTED_TARGET: f64 = 45.0;

/// A part of the memory of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPart {
    /// The size in bytes.
    pub bytes: f64,
    /// The kind of part and its count, such as `1,000,000 clusters`.
    pub of: String,
}

impl MemoryPart {
    /// Creates the part for `number` items that need `bytes` each.
    #[must_use]
    pub fn of(number: f64, noun: &str, bytes: f64) -> Self {
        Self {
            bytes: number * bytes,
            of: counted(number as u64, noun),
        }
    }

    /// Returns the sum of the parts.
    #[must_use]
    pub fn sum(parts: &[Self]) -> f64 {
        parts.iter().map(|part| part.bytes).sum()
    }
}

/// Returns the memory of one run of a scenario by part, without the scenario itself.
#[must_use]
pub fn memory_of_run(scenario: &Scenario) -> Vec<MemoryPart> {
    let world = &*scenario.world;
    let sizes = WorldSizes::of(world);
    let mut parts = vec![
        of_clusters(scenario, &sizes),
        MemoryPart::of(sizes.nodes, "node", NODE),
        MemoryPart::of(sizes.new_pods, "new pod", NEW_POD),
        MemoryPart::of(sizes.old_pods, "old pod", POD),
        of_workloads(world),
        of_pulls(&sizes),
    ];
    for application in &scenario.applications {
        let lists = application.strategy.lists_of_targets();
        parts.push(of_lists(lists, scenario.targets_of(application)));
    }
    parts.extend(of_distribution(world, &sizes));
    parts
}

/// Returns the memory of clusters, and of a product's controllers for their targets.
fn of_clusters(scenario: &Scenario, sizes: &WorldSizes) -> MemoryPart {
    let mut of_targets = 0.0;
    for application in &scenario.applications {
        let changes = application.changes.iter();
        let releases = changes.filter(|(_, change)| matches!(change, Change::Release(_)));
        let of_target = application.strategy.memory_of_target(releases.count());
        of_targets += of_target * scenario.targets_of(application) as f64;
    }
    let bytes = sizes.clusters * CLUSTER + of_targets;
    let mut of = counted(sizes.clusters as u64, "cluster");
    if scenario.has_several_applications() {
        of = format!("{of} with {}", counted(scenario.targets(), "deployment"));
    }
    MemoryPart { bytes, of }
}

fn of_workloads(world: &WorldSpec) -> MemoryPart {
    let mut on_clusters = 0;
    let mut workloads = 0;
    for application in &world.applications {
        let own = application.workloads.len();
        let clusters = application.clusters.as_ref().map(Vec::len);
        on_clusters += own * clusters.unwrap_or(world.clusters.len());
        workloads += own;
    }
    let on = if world.applications.len() > 1 {
        "on the clusters of their applications".to_owned()
    } else {
        format!("in each of {}", counted(world.clusters.len(), "cluster"))
    };
    MemoryPart {
        bytes: on_clusters as f64 * WORKLOAD,
        of: format!("{} {on}", counted(workloads, "workload")),
    }
}

fn of_pulls(sizes: &WorldSizes) -> MemoryPart {
    MemoryPart {
        bytes: sizes.pulls * (PULL + sizes.layers * PULLED_LAYER + sizes.blobs * NODE_BLOB),
        of: format!(
            "{} of up to {} each, on nodes with {}",
            counted(sizes.pulls as u64, "pull"),
            counted(sizes.layers as u64, "layer"),
            counted(sizes.blobs as u64, "blob")
        ),
    }
}

/// Returns the memory of a product's lists. Each list may contain every cluster.
fn of_lists(lists: usize, targets: usize) -> MemoryPart {
    MemoryPart {
        bytes: (lists * targets) as f64 * LISTED_TARGET,
        of: format!(
            "{lists} partitions or steps of up to {} each",
            counted(targets, "cluster")
        ),
    }
}

/// Returns the memory of caches, cells and peers between registry and nodes. `None`: the world has none.
fn of_distribution(world: &WorldSpec, sizes: &WorldSizes) -> Option<MemoryPart> {
    match &world.distribution.kind {
        DistributionKind::Direct => None,
        DistributionKind::Cache(cache) => Some(match cache.per {
            CachePlace::Cluster => of_stores(sizes, sizes.clusters, "cache", STORED_BLOB),
            CachePlace::Region => {
                of_stores(sizes, world.regions.len() as f64, "cache", STORED_BLOB)
            }
        }),
        DistributionKind::Cells(cells) => {
            let number = f64::from(cells.count).min(sizes.clusters);
            Some(of_stores(sizes, number, "cell", STORED_BLOB))
        }
        DistributionKind::Spegel(_) => Some(MemoryPart::of(sizes.nodes, "peer", PEER)),
        DistributionKind::Pieces(_) => {
            let peers = MemoryPart::of(sizes.nodes, "peer", PEER);
            let seeds = of_stores(sizes, sizes.clusters, "seed", STORED_BLOB + SWARM);
            Some(MemoryPart {
                bytes: peers.bytes + seeds.bytes,
                of: format!("{} and {}", seeds.of, peers.of),
            })
        }
    }
}

/// Returns the memory of stores that hold every blob, given the bytes that a store needs for each blob.
fn of_stores(sizes: &WorldSizes, number: f64, noun: &str, blob: f64) -> MemoryPart {
    MemoryPart {
        bytes: number * (STORE + sizes.blobs * blob),
        of: format!(
            "{} with {} each",
            counted(number as u64, noun),
            counted(sizes.blobs as u64, "blob")
        ),
    }
}

/// The number of records of each kind in a run. Random numbers of nodes are replaced by their means.
struct WorldSizes {
    clusters: f64,
    nodes: f64,
    old_pods: f64,
    new_pods: f64,
    /// Maximum number of concurrent pulls: one for each node.
    pulls: f64,
    /// Maximum number of layers in a new image.
    layers: f64,
    /// Number of distinct blobs in all images.
    blobs: f64,
}

impl WorldSizes {
    fn of(world: &WorldSpec) -> Self {
        let mut sizes = Self {
            clusters: world.clusters.len() as f64,
            nodes: 0.0,
            old_pods: 0.0,
            new_pods: 0.0,
            pulls: 0.0,
            layers: most_layers(&world.images) as f64,
            blobs: blobs(&world.images).len() as f64,
        };
        for (at, cluster) in world.clusters.iter().enumerate() {
            let own_nodes = match &cluster.autoscaling {
                Some(autoscaling) => f64::from(autoscaling.max_nodes),
                None => cluster.nodes.mean(),
            };
            sizes.nodes += own_nodes;
            let mut own_pods = 0.0;
            for (number, application) in world.applications.iter().enumerate() {
                if !application.is_on(at) {
                    continue;
                }
                let mut pods = 0.0;
                for workload in &application.workloads {
                    pods += match workload.kind {
                        WorkloadKind::Deployment { replicas, .. } => f64::from(replicas),
                        WorkloadKind::DaemonSet { .. } => own_nodes,
                    };
                }
                if world.installed(number, at).is_some() {
                    sizes.old_pods += pods;
                }
                own_pods += pods;
            }
            sizes.new_pods += own_pods;
            sizes.pulls += own_nodes.min(own_pods);
        }
        sizes
    }
}

/// Returns the maximum number of layers of an image.
fn most_layers(images: &[ImageSpec]) -> usize {
    let layers = images.iter().map(|image| image.layers.len());
    layers.max().unwrap_or(0)
}

/// Returns the digests of all layers.
fn blobs(images: &[ImageSpec]) -> BTreeSet<&str> {
    let mut digests = BTreeSet::new();
    for image in images {
        for layer in image.layers.iter().chain(&image.previous) {
            digests.insert(layer.digest.as_str());
        }
    }
    digests
}
