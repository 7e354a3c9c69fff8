//! Random worlds: small fleets with every kind of node, registry, workload and fault.

use std::collections::BTreeMap;

use fleetsim::engine::dist;
use fleetsim::units::{Bytes, BytesPerSec, Factor, PerSecond, Share, SimDuration};
use fleetsim::world::{
    AgentSpec, ApplicationSpec, AutoscalingSpec, BurstSpec, CachePlace, CacheSpec, CdnSpec,
    CellSpec, ClusterSpec, Coalesce, CountOrPercent, CutKind, DailyLoad, DebounceSpec, DefectKind,
    DefectSpec, DiskClass, DiskSpec, DistributionKind, DistributionSpec, DurationModel,
    FactorModel, FaultSpec, ImageSpec, LazySpec, LookSpec, MirrorSpec, NamedRegistry, NodeCreation,
    NodeLossSpec, NodeSpec, OfflineSpec, OtherLoad, OtherPulls, OutageSpec, OutageWindow,
    PiecesSpec, PlatformSpec, PodLimit, PodSpec, PrePullSpec, ProbeSpec, PullPolicy, ReadinessSpec,
    RegionSpec, RegionalOutageSpec, RegistrySpec, ReleaseKind, Requeue, Restarts, RetrySpec,
    RuntimeSpec, RuntimeVersion, SlotScope, SlowSpec, SpegelSpec, WorkloadKind, WorkloadSpec,
    WorldSpec, calibration,
};

use super::luck::Luck;

/// Number of values of the label `ring`.
pub(crate) const RINGS: u32 = 4;

/// Draws a random world. Parts that were added later have separate random numbers, from `extras` and `faults`, so that
/// the worlds of earlier seeds stay unchanged.
pub(crate) fn world(
    luck: &mut Luck,
    extras: &mut Luck,
    faults: &mut Luck,
) -> (WorldSpec, PlatformSpec) {
    let (mut world, mut agent) = plain(luck);
    node_extras(&mut world.node, extras);
    for workload in &mut world.applications[0].workloads {
        if let WorkloadKind::Deployment {
            progress_deadline, ..
        } = &mut workload.kind
        {
            *progress_deadline = SimDuration::from_secs(u64::from(extras.number(1, 600)));
        }
    }
    more_faults(faults, &mut world);
    world.registries = vec![other_registry(extras)];
    let (clusters, regions) = (world.clusters.len() as u32, world.regions.len() as u32);
    world.distribution = distribution(extras, clusters, regions, world.images.len() as u32);
    for image in &mut world.images {
        image.registry = usize::from(extras.chance(0.2));
    }
    agent.readiness = match extras.number(0, 2) {
        0 => ReadinessSpec::Delay(SimDuration::from_secs(5).into()),
        1 => ReadinessSpec::Debounce(DebounceSpec::FLEET),
        _ => ReadinessSpec::Looks(LookSpec::KUBEFLEET),
    };
    agent.wait = extras.chance(0.1);
    loads(extras, &mut world);
    (
        world,
        PlatformSpec {
            agent,
            restarts: Restarts::KUBELET,
        },
    )
}

/// Bursts and other loads of the registry, and queues of pods.
fn loads(luck: &mut Luck, world: &mut WorldSpec) {
    let egress = world.registry.egress.get();
    if luck.chance(0.2) {
        let bytes = Bytes::new(u64::from(luck.number(1, 1000)) * 1_000_000);
        world.registry.burst = Some(BurstSpec {
            bytes,
            baseline: BytesPerSec::new(egress * 0.1),
        });
    }
    world.registry.other_load = match luck.number(0, 9) {
        0 => Some(OtherLoad::Constant(BytesPerSec::new(egress * 0.5))),
        1 => {
            let rates = vec![BytesPerSec::ZERO, BytesPerSec::new(egress * 0.8)];
            Some(OtherLoad::Daily(DailyLoad {
                rates,
                starts: SimDuration::from_mins(715),
            }))
        }
        2 => Some(OtherLoad::Pulls(OtherPulls {
            // The other clients take about a tenth of the egress.
            rate: PerSecond::new(egress * 0.1 / 250e6),
            downlink: luck.rate(1e6, 1e9),
        })),
        _ => None,
    };
    if luck.chance(0.3) {
        let limit = PodLimit {
            rate: PerSecond::new(2.0),
            burst: luck.number(1, 5),
        };
        world.pods = PodSpec {
            creation: Some(limit),
            scheduling: Some(limit),
            starts_per_second: Some(Factor::new(3.0)),
        };
    }
}

/// Optional features of a node.
fn node_extras(node: &mut NodeSpec, luck: &mut Luck) {
    if luck.chance(0.3) {
        node.requeue = Requeue::AtExpiry;
    }
    if luck.chance(0.3) {
        node.unpack_slots = luck.number(2, 4);
    }
    if luck.chance(0.3) {
        let buffer = Bytes::new(u64::from(luck.number(0, 50)) * 1_000_000);
        node.disk = Some(DiskSpec {
            rate: luck.rate(1e6, 1e9).into(),
            buffer,
            ..DiskSpec::default()
        });
    }
    if luck.chance(0.2) {
        node.pull_deadline = Some(SimDuration::from_secs(u64::from(luck.number(5, 300))));
    }
}

/// Nodes that join while pods wait, and disks that fill, with separate random numbers, so that other worlds stay
/// unchanged.
pub(crate) fn limit_room(luck: &mut Luck, world: &mut WorldSpec) {
    if luck.chance(0.15) {
        let pods_per_node = luck.number(1, 4);
        let needed = world.deployed_pods(0).div_ceil(u64::from(pods_per_node)) as u32;
        let autoscaling = AutoscalingSpec {
            min_nodes: Some(luck.number(0, 2)),
            // One node more than needed has room for some additional pods of an update.
            max_nodes: needed.max(2) + luck.number(0, 2),
            pods_per_node,
            decision: luck.duration(10.0),
            provisioning: luck.duration(100.0),
            creation: luck.chance(0.5).then(|| NodeCreation {
                rate: PerSecond::new(0.1),
                burst: 1,
            }),
        };
        for cluster in &mut world.clusters {
            cluster.autoscaling = luck.chance(0.7).then(|| autoscaling.clone());
        }
    }
    let limits_disks = luck.chance(0.15);
    if limits_disks && world.distribution.lazy.is_none() {
        let mut content: f64 = 0.0;
        for image in &world.images {
            for layer in image.layers.iter().chain(&image.previous) {
                content += layer.compressed.typical().get() as f64 + layer.typical_size_on_disk();
            }
        }
        let disk = world
            .node
            .disk
            .get_or_insert_with(|| DiskClass::None.spec());
        let used = 1e8;
        let room = 0.3 + 1.2 * dist::unit(&mut luck.0);
        disk.size = Some(Bytes::new((used + content * room) as u64));
        disk.used = Bytes::new(used as u64).into();
        disk.unused_images = Bytes::new((content * dist::unit(&mut luck.0)) as u64).into();
        disk.collection.image_minimum_gc_age = SimDuration::from_secs(20);
        disk.collection.image_gc_period = SimDuration::from_secs(60);
        disk.collection.pressure_transition = SimDuration::from_secs(60);
    }
}

fn plain(luck: &mut Luck) -> (WorldSpec, AgentSpec) {
    let regions = luck.number(0, 2);
    let clusters = luck.number(1, 12);
    let images = luck.number(1, 2);
    let workloads = luck.number(1, 3);
    let mut agent = AgentSpec::INSTANT;
    let world = WorldSpec {
        regions: (0..regions)
            .map(|at| RegionSpec {
                name: format!("r{at}"),
                bandwidth: luck.rate(1e6, 1e9),
            })
            .collect(),
        clusters: (0..clusters)
            .map(|at| ClusterSpec {
                region_name: None,
                clusters: None,
                group: String::new(),
                name: format!("c{at:02}"),
                labels: labels(at).into(),
                nodes: luck.number(1, 4).into(),
                site: None,
                rtt_correlation: 0.0,
                nic: None,
                gaps: None,
                autoscaling: None,
                downlink: luck.rate(1e6, 1e9).into(),
                rtt: SimDuration::from_millis(u64::from(luck.number(0, 100))).into(),
                region: (regions > 0 && luck.chance(0.5))
                    .then(|| luck.number(0, regions - 1) as usize),
                paused: luck.chance(0.05),
                registered: !luck.chance(0.05),
                installed: true,
                offline: false,
                loss: luck.share(0.2, 0.02),
            })
            .collect(),
        registry: luck.registry(),
        registries: Vec::new(),
        pods: PodSpec::IMMEDIATE,
        distribution: DistributionSpec::default(),
        node: NodeSpec {
            version: RuntimeVersion::default(),
            crash_backoff: None,
            nic: luck.rate(1e7, 1e10).into(),
            serialize_image_pulls: None,
            max_parallel_image_pulls: match luck.number(0, 2) {
                0 => None,
                1 => Some(u32::MAX),
                _ => Some(luck.number(1, 3)),
            },
            registry_pull_qps: 5,
            // A bucket of this size never rejects a pull.
            registry_burst: if luck.chance(0.5) {
                luck.number(1, 10)
            } else {
                u32::MAX
            },
            image_backoff: fleetsim::world::Backoff::default(),
            error_requeue: calibration::ERROR_REQUEUE,
            requeue: Requeue::AfterError,
            sync_frequency: calibration::SYNC_PERIOD,
            pull_deadline: None,
            runtime: RuntimeSpec {
                download_slots: luck.number(1, 4),
                slot_scope: if luck.chance(0.5) {
                    SlotScope::Node
                } else {
                    SlotScope::Image
                },
                retry_429: RetrySpec {
                    attempts: luck.number(1, 6),
                    delay: SimDuration::from_millis(u64::from(luck.number(0, 1) * 500)),
                    delay_max: SimDuration::from_secs(60),
                    honours_retry_after: luck.chance(0.5),
                },
                retry_5xx: luck.number(0, 2),
                no_progress_timeout: luck
                    .chance(0.7)
                    .then(|| SimDuration::from_secs(u64::from(luck.number(10, 100)))),
                resume: luck.chance(0.5),
                merge_pulls: luck.chance(0.5),
                ..RuntimeSpec::CONTAINERD_2_4
            },
            keep_blobs: luck.chance(0.5),
            unpack_slots: 1,
            disk: None,
            unpack_rate: luck.rate(1e7, 1e9).into(),
            zstd_factor: calibration::ZSTD_FACTOR,
            unpack_spread: 0.1,
            unpack_per_layer: SimDuration::from_millis(25).into(),
            pull_constant: SimDuration::from_millis(300).into(),
            sandbox: SimDuration::ZERO.into(),
            start_overhead: luck.duration(3.0),
            start_spread: if luck.chance(0.5) { 0.3 } else { 0.0 },
        },
        images: (0..images)
            .map(|at| ImageSpec {
                name: format!("i{at}"),
                layers: luck.layers(&["base", "runtime", "libs-2", "app-2", "tail"]),
                previous: luck.layers(&["base", "runtime", "libs-1", "app-1", "tail"]),
                later: Vec::new(),
                config: Bytes::new(8000).into(),
                registry: 0,
                index: true,
            })
            .collect(),
        applications: vec![ApplicationSpec::everywhere(
            String::new(),
            (0..workloads)
                .map(|at| WorkloadSpec {
                    image_name: String::new(),
                    name: format!("w{at}"),
                    kind: if luck.chance(0.6) {
                        WorkloadKind::Deployment {
                            replicas: luck.number(1, 6),
                            max_unavailable: luck.limit(),
                            max_surge: luck.limit(),
                            progress_deadline: calibration::PROGRESS_DEADLINE,
                        }
                    } else {
                        WorkloadKind::DaemonSet {
                            max_unavailable: luck.limit(),
                            max_surge: luck.limit(),
                        }
                    },
                    image: luck.number(0, images - 1) as usize,
                    pull_policy: if luck.chance(0.5) {
                        PullPolicy::IfNotPresent
                    } else {
                        PullPolicy::Always
                    },
                    start: luck.duration(10.0),
                    readiness: luck.chance(0.7).then(|| ProbeSpec {
                        initial_delay: SimDuration::from_secs(u64::from(luck.number(0, 5))),
                        period: SimDuration::from_secs(u64::from(luck.number(1, 10))),
                        success_threshold: luck.number(1, 2),
                    }),
                    start_timeout: None,
                    min_ready: SimDuration::from_secs(u64::from(luck.number(0, 3))),
                    termination: luck.duration(5.0),
                })
                .collect(),
            if luck.chance(0.5) {
                ReleaseKind::Initial
            } else {
                ReleaseKind::Update
            },
        )],
        faults: {
            // These delays are drawn after the rest of the world and before its faults, so that earlier seeds give the
            // same worlds.
            for delay in [
                (&mut agent.instruction_delay, 1.0),
                (&mut agent.apply, 5.0),
                (&mut agent.report_delay, 1.0),
            ] {
                *delay.0 = luck.duration(delay.1);
            }
            FaultSpec {
                offline: OfflineSpec {
                    share: luck.share(0.3, 0.4),
                    comes_back: luck.chance(0.5).then(|| luck.duration(600.0)),
                },
                pull_failure: luck.share(0.5, 0.5),
                defect: DefectSpec {
                    share: luck.share(0.3, 0.5),
                    crash_after: luck.duration(20.0),
                    ..DefectSpec::default()
                },
                ..FaultSpec::default()
            }
        },
    };
    (world, agent)
}

/// Labels by which stages and steps select, and a number to sort by. They are computed from the number of the cluster,
/// so they consume no random numbers.
fn labels(cluster: u32) -> BTreeMap<String, String> {
    let env = if cluster.is_multiple_of(3) { "a" } else { "b" };
    let labels = [
        ("env", env.to_owned()),
        ("ring", (cluster % RINGS).to_string()),
        ("wave", (cluster * 7 % 5).to_string()),
    ];
    labels.map(|(key, value)| (key.to_owned(), value)).into()
}

/// Adds faults to half of the worlds, with separate random numbers, so that the worlds themselves stay unchanged.
fn more_faults(luck: &mut Luck, world: &mut WorldSpec) {
    if luck.chance(0.5) {
        return;
    }
    let cuts = |luck: &mut Luck| {
        if luck.chance(0.7) {
            CutKind::All
        } else {
            CutKind::Management
        }
    };
    let times = |luck: &mut Luck, outage: RegionalOutageSpec| {
        if luck.chance(0.5) {
            let secs =
                |luck: &mut Luck, most| SimDuration::from_secs(u64::from(luck.number(0, most)));
            let window = |_| OutageWindow {
                from: secs(luck, 600),
                lasts: secs(luck, 1000),
            };
            RegionalOutageSpec {
                windows: (0..3).map(window).collect(),
                ..outage
            }
        } else {
            let between = Some(DurationModel::Exponential {
                mean: SimDuration::from_secs(5000),
            });
            RegionalOutageSpec {
                between,
                repair: Some(luck.duration(1000.0)),
                ..outage
            }
        }
    };
    let faults = &mut world.faults;
    faults.outages = luck.chance(0.4).then(|| OutageSpec {
        between: DurationModel::weibull_of_mean(
            SimDuration::from_secs(u64::from(luck.number(300, 100_000))),
            0.75,
        ),
        repair: luck.duration(2000.0),
        cuts: cuts(luck),
        downlink: None,
    });
    for _ in 0..luck.number(0, 2) {
        let clusters = (0..world.clusters.len())
            .filter(|_| luck.chance(0.5))
            .collect();
        let outage = RegionalOutageSpec {
            clusters,
            cuts: cuts(luck),
            ..RegionalOutageSpec::default()
        };
        faults.regional.push(times(luck, outage));
    }
    faults.slow = luck.chance(0.3).then(|| SlowSpec {
        share: Share::new(0.3),
        factor: FactorModel::Uniform {
            min: fleetsim::units::Factor::new(1.0),
            max: fleetsim::units::Factor::new(20.0),
        },
    });
    faults.not_found = luck.share(0.3, 0.3);
    if luck.chance(0.5) {
        faults.defect.kind = DefectKind::Unready;
    }
    faults.defect.detected_after = luck.chance(0.3).then(|| luck.duration(300.0));
    faults.node_loss = luck.chance(0.4).then(|| NodeLossSpec {
        between: DurationModel::weibull_of_mean(
            SimDuration::from_secs(u64::from(luck.number(300, 100_000))),
            0.75,
        ),
        repair: luck.duration(2000.0),
        grace: SimDuration::from_secs(40),
        eviction: SimDuration::from_secs(300),
    });
    for _ in 0..luck.number(0, 2) {
        let downlink = Some(Share::new(f64::from(luck.number(1, 99)) / 100.0));
        let clusters = (0..world.clusters.len())
            .filter(|_| luck.chance(0.7))
            .collect();
        faults.regional.push(times(
            luck,
            RegionalOutageSpec {
                clusters,
                downlink,
                ..RegionalOutageSpec::default()
            },
        ));
    }
}

/// How images are distributed: half of the worlds pull only from the registry.
fn distribution(luck: &mut Luck, clusters: u32, regions: u32, images: u32) -> DistributionSpec {
    let kind = match luck.number(0, 7) {
        0..=3 => DistributionKind::Direct,
        4 if luck.chance(0.5) => DistributionKind::Cells(CellSpec {
            count: luck.number(1, 8),
            cache: Bytes::new(u64::from(luck.number(1_000, 100_000_000))),
            downloads: luck.number(1, 5),
        }),
        4 | 5 => DistributionKind::Cache(CacheSpec {
            per: if luck.chance(0.5) {
                CachePlace::Cluster
            } else {
                CachePlace::Region
            },
            egress: luck.rate(1e6, 1e9),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            rtt: SimDuration::from_millis(u64::from(luck.number(0, 5))),
            coalesce: [
                Coalesce::None,
                Coalesce::OwnCopy,
                Coalesce::Wait,
                Coalesce::Stream,
            ][luck.number(0, 3) as usize],
            ttl: SimDuration::from_secs(u64::from(luck.number(1, 1000))),
            upstream_connections: luck.chance(0.3).then(|| luck.number(1, 4)),
            pull_bandwidth: luck.chance(0.3).then(|| luck.rate(1e6, 1e8)),
        }),
        6 => DistributionKind::Spegel(SpegelSpec {
            lookup: SimDuration::from_millis(u64::from(luck.number(0, 5))),
            timeout: SimDuration::from_millis(u64::from(luck.number(0, 20))),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
        }),
        _ => DistributionKind::Pieces(PiecesSpec {
            seeds: luck.number(1, 3),
            source_rate: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            seed_out: luck.rate(1e6, 1e9),
            peer_out: luck.rate(1e6, 1e9),
            peer_in: luck.rate(1e6, 1e9),
            piece: Bytes::new(4_000_000),
            connections: luck.number(2, 10),
            effectiveness: Share::new(dist::unit(&mut luck.0)),
            announce: SimDuration::from_millis(u64::from(luck.number(0, 100))),
            timeouts: None,
            seeds_have_node_cards: luck.chance(0.3),
        }),
    };
    let lazy = luck.chance(0.15).then(|| LazySpec {
        start_fraction: Share::new(dist::unit(&mut luck.0)),
        prefetch: Share::new(dist::unit(&mut luck.0)),
        read: Bytes::new(128 * 1024),
        parallel_reads: luck.number(1, 4),
        toc: Bytes::new(u64::from(luck.number(0, 1_000_000))),
        background: luck.chance(0.7).then(|| luck.rate(1e6, 1e8)),
        ..LazySpec::default()
    });
    let pre_pull = luck.chance(0.15).then(|| PrePullSpec {
        clusters: CountOrPercent::Count(luck.number(1, clusters)),
        every: SimDuration::from_secs(u64::from(luck.number(1, 60))),
        release_after: luck
            .chance(0.5)
            .then(|| SimDuration::from_secs(u64::from(luck.number(0, 600)))),
    });
    let mirrors = if regions > 0 && luck.chance(0.2) {
        luck.number(1, 2)
    } else {
        0
    };
    let mirrors = (0..mirrors)
        .map(|at| MirrorSpec {
            name: format!("m{at}"),
            region_name: String::new(),
            region: luck.number(0, regions - 1) as usize,
            egress: luck.rate(1e6, 1e9),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            rtt: SimDuration::from_millis(u64::from(luck.number(0, 20))),
            image_names: None,
            holds: (0..images as usize).filter(|_| luck.chance(0.7)).collect(),
        })
        .collect();
    DistributionSpec {
        kind,
        lazy,
        pre_pull,
        mirrors,
    }
}

fn other_registry(luck: &mut Luck) -> NamedRegistry {
    let mut spec = RegistrySpec::unlimited(luck.rate(1e6, 1e10), luck.duration(0.1));
    spec.per_connection = luck.chance(0.5).then(|| luck.rate(1e6, 1e8));
    spec.per_blob = luck.chance(0.2).then(|| luck.rate(1e6, 1e9).into());
    spec.cdn = luck.chance(0.5).then(|| CdnSpec {
        cold: luck.rate(1e6, 1e7),
        warm: luck.rate(1e7, 1e8),
    });
    NamedRegistry {
        name: "other".to_owned(),
        spec,
    }
}
