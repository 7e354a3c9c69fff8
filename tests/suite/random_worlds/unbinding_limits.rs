//! A limit that is never reached changes no byte: neither times, nor the order of simultaneous events, nor their
//! number.
//!
//! Each limit is removed from a random world in one run, and set so high that it is never reached in the other. Both
//! runs must be equal in every table. Worlds here have many simultaneous events: their latencies are constants or
//! zero.

use std::any::Any;
use std::sync::Arc;

use fleetsim::products::argo_cd::ArgoCdStrategy;
use fleetsim::results::{RegistryRow, RunRecord};
use fleetsim::scenario::Variant;
use fleetsim::sim;
use fleetsim::units::{Bytes, BytesPerSec, Factor, PerSecond, Share, SimDuration};
use fleetsim::world::{
    AutoscalingSpec, BurstSpec, ClientScope, ConnectionLimit, DiskClass, DistributionKind,
    DurationModel, Excess, HostSpec, OverloadSpec, PodLimit, PullQuota, RegistrySpec, RequestLimit,
    WorldSpec,
};

use super::strategies::Product;
use super::variant;

/// Number of random worlds for each limit.
const SEEDS: u64 = 12;

/// A number of requests that no run reaches.
const MANY: u32 = 1_000_000_000;

/// A function that sets a limit so high that it never binds, or removes it (`false`).
type SetLimit = fn(&mut Variant, bool);

const LIMITS: [(&str, SetLimit); 22] = [
    ("pull quota of an account", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.pull_quota = is_set.then_some(quota(ClientScope::Account));
        });
    }),
    ("pull quota of an address", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.pull_quota = is_set.then_some(quota(ClientScope::Address));
        });
    }),
    ("requests", |variant, is_set| {
        each_host(variant, &|host| host.request_limit = is_set.then(requests));
    }),
    ("requests of an address", |variant, is_set| {
        each_host(variant, &|host| {
            host.request_limit = is_set.then(|| requests_of(ClientScope::Address));
        });
    }),
    ("requests of a node", |variant, is_set| {
        each_host(variant, &|host| {
            host.request_limit = is_set.then(|| requests_of(ClientScope::Node));
        });
    }),
    ("requests for manifests", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.manifest_limit = is_set.then(requests);
        });
    }),
    ("requests for blobs", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.blob_limit = is_set.then(requests);
        });
    }),
    ("connections, others refused", |variant, is_set| {
        each_host(variant, &|host| {
            host.connections = is_set.then_some(connections(Excess::Refuse));
        });
    }),
    ("connections, others queued", |variant, is_set| {
        each_host(variant, &|host| {
            host.connections = is_set.then_some(connections(Excess::Queue));
        });
    }),
    ("workers", |variant, is_set| {
        each_host(variant, &|host| host.workers = is_set.then_some(MANY));
    }),
    ("blobs sent without overload", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.blobs.overload = is_set.then_some(OverloadSpec {
                connections: MANY,
                floor: Share::new(0.2),
            });
        });
    }),
    ("a burst of bytes", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.burst = is_set.then_some(BurstSpec {
                bytes: Bytes::new(1 << 60),
                baseline: BytesPerSec::new(registry.egress.get() / 2.0),
            });
        });
    }),
    ("the rate of a connection", |variant, is_set| {
        each_registry(variant, &|registry| {
            registry.per_connection = is_set.then(|| BytesPerSec::new(1e14));
        });
    }),
    ("cores of Argo CD's shards", |variant, is_set| {
        let any: &dyn Any = variant.scenario.strategy();
        if let Some(argo_cd) = any.downcast_ref::<ArgoCdStrategy>() {
            let mut argo_cd = argo_cd.clone();
            let cores = Factor::new(f64::from(MANY));
            argo_cd.application_controller.cpu = is_set.then_some(cores);
            variant.scenario.set_strategy(Arc::new(argo_cd));
        }
    }),
    ("connections of a cache", |variant, is_set| {
        if let DistributionKind::Cache(cache) = &mut world(variant).distribution.kind {
            cache.upstream_connections = is_set.then_some(MANY);
        }
    }),
    ("pulls of a kubelet", |variant, is_set| {
        let node = &mut world(variant).node;
        node.registry_pull_qps = if is_set { MANY } else { 0 };
        node.registry_burst = MANY;
    }),
    ("parallel pulls of a kubelet", |variant, is_set| {
        let node = &mut world(variant).node;
        node.serialize_image_pulls = Some(false);
        node.max_parallel_image_pulls = is_set.then_some(MANY);
    }),
    ("pods of a cluster", |variant, is_set| {
        let limit = is_set.then_some(PodLimit {
            rate: PerSecond::new(f64::from(MANY)),
            burst: MANY,
        });
        let pods = &mut world(variant).pods;
        (pods.creation, pods.scheduling) = (limit, limit);
    }),
    ("room on nodes", |variant, is_set| {
        let world = world(variant);
        // A node that is not ready has no room.
        world.faults.node_loss = None;
        for cluster in &mut world.clusters {
            let nodes = cluster.nodes.mean() as u32;
            cluster.autoscaling = is_set.then(|| AutoscalingSpec {
                min_nodes: None,
                max_nodes: nodes,
                pods_per_node: MANY,
                decision: SimDuration::from_secs(5).into(),
                provisioning: SimDuration::from_secs(60).into(),
                creation: None,
            });
        }
    }),
    ("the size of disks", |variant, is_set| {
        let world = world(variant);
        let disk = world
            .node
            .disk
            .get_or_insert_with(|| DiskClass::None.spec());
        disk.unused_images = Bytes::new(0).into();
        disk.size = is_set.then(|| Bytes::new(1 << 60));
    }),
    ("requests of a controller", |variant, is_set| {
        let control_loop = &mut variant.scenario.control_loop;
        control_loop.client_qps = if is_set { MANY } else { 0 };
        control_loop.client_burst = MANY;
    }),
    (
        "requests of the application controller",
        |variant, is_set| {
            let any: &dyn Any = variant.scenario.strategy();
            if let Some(argo_cd) = any.downcast_ref::<ArgoCdStrategy>() {
                let mut argo_cd = argo_cd.clone();
                argo_cd.application_controller.client_qps = if is_set { MANY } else { 0 };
                argo_cd.application_controller.client_burst = Some(MANY);
                variant.scenario.set_strategy(Arc::new(argo_cd));
            }
        },
    ),
];

fn world(variant: &mut Variant) -> &mut WorldSpec {
    Arc::make_mut(&mut variant.scenario.world)
}

fn each_registry(variant: &mut Variant, change: &dyn Fn(&mut RegistrySpec)) {
    let world = world(variant);
    change(&mut world.registry);
    for other in &mut world.registries {
        change(&mut other.spec);
    }
}

fn each_host(variant: &mut Variant, change: &dyn Fn(&mut HostSpec)) {
    each_registry(variant, &|registry| {
        for host in [
            &mut registry.api,
            &mut registry.token,
            &mut registry.blobs.host,
        ] {
            change(host);
        }
    });
}

const fn quota(scope: ClientScope) -> PullQuota {
    PullQuota {
        pulls: MANY,
        per: SimDuration::from_hours(6),
        scope,
    }
}

fn requests_of(scope: ClientScope) -> RequestLimit {
    RequestLimit {
        scope,
        ..requests()
    }
}

fn requests() -> RequestLimit {
    RequestLimit::new(PerSecond::new(f64::from(MANY)), MANY)
}

const fn connections(excess: Excess) -> ConnectionLimit {
    ConnectionLimit { max: MANY, excess }
}

/// Makes events coincide: all clusters are equal, and durations are whole milliseconds or zero.
fn synchronise(variant: &mut Variant, step: SimDuration) {
    variant.scenario.control_loop.request = DurationModel::Constant(step);
    let world = world(variant);
    for cluster in &mut world.clusters {
        cluster.rtt = DurationModel::Constant(step);
    }
    each_host(variant, &|host| {
        host.service_time = DurationModel::Constant(step);
    });
}

#[test]
fn an_unreached_limit_changes_no_byte() {
    let mut differ = Vec::new();
    for (name, set) in LIMITS {
        for seed in 0..SEEDS {
            let product = Product::ALL[(seed % Product::ALL.len() as u64) as usize];
            let mut without = variant(seed, product);
            // With an odd number of nanoseconds, the two halves of a round trip must still add up.
            match seed / Product::ALL.len() as u64 % 2 {
                0 => synchronise(&mut without, SimDuration::ZERO),
                _ => synchronise(&mut without, SimDuration::from_nanos(2_000_001)),
            }
            let mut with = without.clone();
            set(&mut without, false);
            set(&mut with, true);
            let run = |variant: &Variant| {
                let mut record = sim::run_in_detail(variant, seed, 0).expect("the run ends");
                // Only runs with these limits have their measures.
                record.run.joined_nodes = None;
                record.run.peak_waiting_pods = None;
                record.run.failed_pulls_no_space = None;
                record.run.removed_images = None;
                record.run.disk_pressures = None;
                forget_limits(&mut record);
                format!("{record:?}")
            };
            if run(&without) != run(&with) {
                differ.push(format!("{name}, {product:?} with seed {seed}"));
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}

/// Removes the columns that exist only where a limit is set.
fn forget_limits(record: &mut RunRecord) {
    for row in &mut record.registries {
        *row = RegistryRow {
            busiest_blob_bytes: None,
            busiest_blob_share: None,
            clients: None,
            refused_clients: None,
            most_refused_requests: None,
            in_capacity_bytes_per_s: None,
            in_busy_share: None,
            ..row.clone()
        };
    }
}

/// In a reported case, a quota of 10^9 pulls changed the order of simultaneous events on 500 nodes with equal
/// latencies.
#[test]
fn an_unreached_quota_does_not_reorder_the_requests_of_equal_nodes() {
    let mut without = variant(3, Product::FleetOrBaseline);
    // The registries below have no prices.
    without.scenario.price = None;
    synchronise(&mut without, SimDuration::from_millis(30));
    let world = world(&mut without);
    world.registry = RegistrySpec::unlimited(
        BytesPerSec::new(1e8),
        DurationModel::Constant(SimDuration::from_millis(5)),
    );
    world.registries.clear();
    for image in &mut world.images {
        image.registry = 0;
    }
    for cluster in &mut world.clusters {
        cluster.nodes = 10.into();
    }
    let mut with = without.clone();
    self::world(&mut with).registry.pull_quota = Some(quota(ClientScope::Account));
    let run = |variant: &Variant| sim::run_in_detail(variant, 1, 0).expect("the run ends");
    assert_eq!(run(&without), run(&with));
}
