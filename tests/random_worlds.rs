//! What must be true of every run, held over random experiments: bytes are conserved, every pull that began ends,
//! every run ends with a reason, and the same seed gives the same run.
//!
//! A failure prints its seed; `FLEETSIM_SEED=<seed> cargo test --test random_worlds` runs that one alone, and
//! `FLEETSIM_SEEDS=<n>` runs so many instead of the usual ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetsim::engine::{Stream, Streams, dist};
use fleetsim::record::{Outcome, RunRecord};
use fleetsim::rollout::rancher_fleet::{IntOrString, RolloutStrategy, Rules, control_loop};
use fleetsim::scenario::{Scenario, Strategy, Variant};
use fleetsim::sim;
use fleetsim::units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, SimTime};
use fleetsim::world::{
    AgentSpec, Backoff, CachePlace, CacheSpec, CdnSpec, ClusterSpec, Coalesce, ConnectionLimit, CountOrPercent,
    DistributionSpec, DurationModel, Event, Excess, FaultSpec, HostSpec, ImageSpec, LayerSpec, LazySpec, MirrorSpec,
    NamedRegistry, NodeSpec, OverLimit, OverloadSpec, PiecesSpec, PrePullSpec, ProbeSpec, PullOrder, PullPolicy,
    RegionSpec, RegistrySpec, ReleaseKind, RequestLimit, RetrySpec, RuntimeSpec, SlotScope, SpegelSpec, TcpSpec,
    Trouble, Way, WindowSpec, WorkloadKind, WorkloadSpec, WorldSpec,
};

/// Experiments tried in one go, unless told otherwise.
const SEEDS: u64 = 500;
/// Later ones that once found a fault: pulls of one node that race for a blob which is discarded after unpacking.
const FOUND_FAULTS: [u64; 2] = [555, 1333];

struct Luck(Stream);

impl Luck {
    /// A whole number from `lo` to `hi`, both included.
    fn number(&mut self, lo: u32, hi: u32) -> u32 {
        lo + (dist::unit(&mut self.0) * f64::from(hi - lo + 1)) as u32
    }

    fn chance(&mut self, p: f64) -> bool {
        dist::bernoulli(&mut self.0, p)
    }

    fn duration(&mut self, max_s: f64) -> DurationModel {
        let median = SimDuration::from_secs_f64(dist::unit(&mut self.0) * max_s + 0.001);
        match self.number(0, 3) {
            0 => DurationModel::Constant(median),
            1 => DurationModel::LogNormal { median, sigma: 0.7 },
            2 => DurationModel::Exponential { mean: median },
            _ => DurationModel::Uniform { min: SimDuration::ZERO, max: median },
        }
    }

    fn share(&mut self, p: f64, max: f64) -> Share {
        if self.chance(p) { Share::new(dist::unit(&mut self.0) * max) } else { Share::NONE }
    }

    fn limit(&mut self) -> CountOrPercent {
        if self.chance(0.5) {
            CountOrPercent::Count(self.number(0, 3))
        } else {
            CountOrPercent::Percent(self.number(0, 100))
        }
    }

    fn rate(&mut self, lo: f64, hi: f64) -> BytesPerSec {
        BytesPerSec::new(lo * (hi / lo).powf(dist::unit(&mut self.0)))
    }

    fn request_limit(&mut self) -> Option<RequestLimit> {
        self.chance(0.5)
            .then(|| RequestLimit { rate: PerSecond::new(f64::from(self.number(1, 50))), burst: self.number(1, 50) })
    }

    fn host(&mut self, max_s: f64) -> HostSpec {
        let excess = if self.chance(0.5) { Excess::Refuse } else { Excess::Queue };
        HostSpec {
            request_limit: self.request_limit(),
            over_limit: if self.chance(0.5) { OverLimit::TooMany } else { OverLimit::Unavailable },
            connections: self.chance(0.3).then(|| ConnectionLimit { max: self.number(1, 20), excess }),
            workers: self.chance(0.3).then(|| self.number(1, 10)),
            service_time: self.duration(max_s),
        }
    }

    /// Up to two windows of at most a quarter of an hour, one after the other.
    fn windows(&mut self) -> Vec<WindowSpec> {
        let mut from = SimTime::ZERO;
        let mut windows = Vec::new();
        for _ in 0..self.number(0, 2) {
            from = from + SimDuration::from_secs(u64::from(self.number(0, 100)));
            let to = from + SimDuration::from_secs(u64::from(self.number(1, 900)));
            let trouble = if self.chance(0.5) {
                Trouble::Down
            } else {
                Trouble::Brownout { egress: self.share(0.7, 1.0), requests: Share::new(0.1) }
            };
            windows.push(WindowSpec { from, to, trouble });
            from = to;
        }
        windows
    }

    fn registry(&mut self) -> RegistrySpec {
        let egress = self.rate(1e6, 1e10);
        RegistrySpec {
            per_connection: self.chance(0.5).then(|| self.rate(1e6, 1e8)),
            tcp: TcpSpec {
                window: self.chance(0.3).then_some(Bytes::new(4_194_304)),
                initial_segments: self.chance(0.3).then_some(10),
                ..TcpSpec::OFF
            },
            api: self.host(0.1),
            token: self.host(0.1),
            blobs: self.host(0.01),
            redirect: self.chance(0.7),
            manifest_limit: self.request_limit(),
            blob_limit: self.request_limit(),
            retry_after: self.chance(0.5).then(|| SimDuration::from_secs(3)),
            overload: self
                .chance(0.3)
                .then(|| OverloadSpec { connections: self.number(1, 10), floor: Share::new(0.2) }),
            windows: self.windows(),
            ..RegistrySpec::unlimited(egress, DurationModel::Constant(SimDuration::ZERO))
        }
    }

    fn layers(&mut self, names: &[&str]) -> Vec<LayerSpec> {
        let mut layers = Vec::new();
        for name in names {
            if self.chance(0.8) {
                // The size belongs to the digest, wherever it appears.
                let bytes = name.bytes().map(u64::from).sum::<u64>() * 97_003 % 30_000_000 + 1;
                layers.push(LayerSpec {
                    digest: (*name).to_owned(),
                    compressed: Bytes::new(bytes),
                    uncompressed: Bytes::new(bytes * 2),
                });
            }
        }
        layers
    }
}

fn distribution(luck: &mut Luck, clusters: u32, regions: u32, images: u32) -> DistributionSpec {
    let way = match luck.number(0, 7) {
        0..=3 => Way::Direct,
        4 | 5 => Way::Cache(CacheSpec {
            per: if luck.chance(0.5) { CachePlace::Cluster } else { CachePlace::Region },
            egress: luck.rate(1e6, 1e9),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            rtt: SimDuration::from_millis(u64::from(luck.number(0, 5))),
            coalesce: [Coalesce::None, Coalesce::Wait, Coalesce::Stream][luck.number(0, 2) as usize],
            ttl: SimDuration::from_secs(u64::from(luck.number(1, 1000))),
            upstream_connections: luck.chance(0.3).then(|| luck.number(1, 4)),
        }),
        6 => Way::Spegel(SpegelSpec {
            lookup: SimDuration::from_millis(u64::from(luck.number(0, 5))),
            timeout: SimDuration::from_millis(u64::from(luck.number(0, 20))),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
        }),
        _ => Way::Pieces(PiecesSpec {
            seeds: luck.number(1, 3),
            source_rate: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            seed_out: luck.rate(1e6, 1e9),
            peer_out: luck.rate(1e6, 1e9),
            peer_in: luck.rate(1e6, 1e9),
            piece: Bytes::new(4_000_000),
            connections: luck.number(2, 10),
            effectiveness: dist::unit(&mut luck.0),
            announce: SimDuration::from_millis(u64::from(luck.number(0, 100))),
        }),
    };
    let lazy = luck.chance(0.15).then(|| LazySpec {
        start_fraction: dist::unit(&mut luck.0),
        prefetch: dist::unit(&mut luck.0),
        read: Bytes::new(128 * 1024),
        parallel_reads: luck.number(1, 4),
        toc: Bytes::new(u64::from(luck.number(0, 1_000_000))),
        background: luck.chance(0.7).then(|| luck.rate(1e6, 1e8)),
    });
    let pre_pull = luck.chance(0.15).then(|| PrePullSpec {
        clusters: luck.number(1, clusters),
        every: SimDuration::from_secs(u64::from(luck.number(1, 60))),
        release_after: luck.chance(0.5).then(|| SimDuration::from_secs(u64::from(luck.number(0, 600)))),
    });
    let mirrors = if regions > 0 && luck.chance(0.2) { luck.number(1, 2) } else { 0 };
    let mirrors = (0..mirrors)
        .map(|at| MirrorSpec {
            name: format!("m{at}"),
            region: luck.number(0, regions - 1) as usize,
            egress: luck.rate(1e6, 1e9),
            per_connection: luck.chance(0.5).then(|| luck.rate(1e6, 1e8)),
            rtt: SimDuration::from_millis(u64::from(luck.number(0, 20))),
            holds: (0..images as usize).filter(|_| luck.chance(0.7)).collect(),
        })
        .collect();
    DistributionSpec { way, lazy, pre_pull, mirrors }
}

fn other_registry(luck: &mut Luck) -> NamedRegistry {
    let mut spec = RegistrySpec::unlimited(luck.rate(1e6, 1e10), luck.duration(0.1));
    spec.per_connection = luck.chance(0.5).then(|| luck.rate(1e6, 1e8));
    spec.cdn = luck.chance(0.5).then(|| CdnSpec { cold: luck.rate(1e6, 1e7), warm: luck.rate(1e7, 1e8) });
    NamedRegistry { name: "other".to_owned(), spec }
}

fn world(luck: &mut Luck) -> WorldSpec {
    let regions = luck.number(0, 2);
    let clusters = luck.number(1, 12);
    let images = luck.number(1, 2);
    let workloads = luck.number(1, 3);
    WorldSpec {
        regions: (0..regions).map(|at| RegionSpec { name: format!("r{at}"), bandwidth: luck.rate(1e6, 1e9) }).collect(),
        clusters: (0..clusters)
            .map(|at| ClusterSpec {
                name: format!("c{at:02}"),
                labels: BTreeMap::from([("env".to_owned(), if at % 3 == 0 { "a" } else { "b" }.to_owned())]),
                nodes: luck.number(1, 4),
                downlink: luck.rate(1e6, 1e9),
                rtt: SimDuration::from_millis(u64::from(luck.number(0, 100))),
                loss: luck.share(0.2, 0.02),
                region: (regions > 0 && luck.chance(0.5)).then(|| luck.number(0, regions - 1) as usize),
                paused: luck.chance(0.05),
                registered: !luck.chance(0.05),
            })
            .collect(),
        registry: luck.registry(),
        registries: vec![other_registry(luck)],
        distribution: distribution(luck, clusters, regions, images),
        node: NodeSpec {
            nic: luck.rate(1e7, 1e10),
            pulls: match luck.number(0, 2) {
                0 => PullOrder::Serial,
                1 => PullOrder::Parallel { max: None },
                _ => PullOrder::Parallel { max: Some(luck.number(1, 3)) },
            },
            pull_rate: luck.chance(0.5).then(|| RequestLimit { rate: PerSecond::new(5.0), burst: luck.number(1, 10) }),
            image_backoff: Backoff { initial: SimDuration::from_secs(10), max: SimDuration::from_secs(300) },
            crash_backoff: Backoff { initial: SimDuration::from_secs(10), max: SimDuration::from_secs(300) },
            error_requeue: DurationModel::Uniform { min: SimDuration::from_secs(10), max: SimDuration::from_secs(15) },
            runtime: RuntimeSpec {
                download_slots: luck.number(1, 4),
                slot_scope: if luck.chance(0.5) { SlotScope::Node } else { SlotScope::Image },
                retry_429: RetrySpec {
                    attempts: luck.number(1, 6),
                    delay: SimDuration::from_millis(u64::from(luck.number(0, 1) * 500)),
                    delay_max: SimDuration::from_secs(60),
                    honours_retry_after: luck.chance(0.5),
                },
                retry_5xx: luck.number(0, 2),
                no_progress_timeout: luck.chance(0.7).then(|| SimDuration::from_secs(u64::from(luck.number(10, 100)))),
                resume: luck.chance(0.5),
                merge_pulls: luck.chance(0.5),
                ..RuntimeSpec::CONTAINERD_2_4
            },
            keep_blobs: luck.chance(0.5),
            unpack_rate: luck.rate(1e7, 1e9),
            unpack_spread: 0.1,
            unpack_per_layer: SimDuration::from_millis(25),
            pull_constant: SimDuration::from_millis(300),
            start_overhead: luck.duration(3.0),
        },
        images: (0..images)
            .map(|at| ImageSpec {
                name: format!("i{at}"),
                layers: luck.layers(&["base", "runtime", "libs-2", "app-2", "tail"]),
                previous: luck.layers(&["base", "runtime", "libs-1", "app-1", "tail"]),
                config: Bytes::new(8000),
                registry: usize::from(luck.chance(0.2)),
            })
            .collect(),
        workloads: (0..workloads)
            .map(|at| WorkloadSpec {
                name: format!("w{at}"),
                kind: if luck.chance(0.6) {
                    WorkloadKind::Deployment {
                        replicas: luck.number(1, 6),
                        max_unavailable: luck.limit(),
                        max_surge: luck.limit(),
                    }
                } else {
                    WorkloadKind::DaemonSet { max_unavailable: luck.limit(), max_surge: luck.limit() }
                },
                image: luck.number(0, images - 1) as usize,
                pull_policy: if luck.chance(0.5) { PullPolicy::IfNotPresent } else { PullPolicy::Always },
                start: luck.duration(10.0),
                readiness: luck.chance(0.7).then(|| ProbeSpec {
                    initial_delay: SimDuration::from_secs(u64::from(luck.number(0, 5))),
                    period: SimDuration::from_secs(u64::from(luck.number(1, 10))),
                    success_threshold: luck.number(1, 2),
                }),
                min_ready: SimDuration::from_secs(u64::from(luck.number(0, 3))),
                termination: luck.duration(5.0),
            })
            .collect(),
        release: if luck.chance(0.5) { ReleaseKind::Initial } else { ReleaseKind::Update },
        agent: AgentSpec {
            instruction_delay: luck.duration(1.0),
            apply: luck.duration(5.0),
            report_delay: luck.duration(1.0),
            readiness_delay: SimDuration::from_secs(5),
        },
        faults: FaultSpec {
            offline: luck.share(0.3, 0.4),
            offline_return: luck.chance(0.5).then(|| luck.duration(600.0)),
            pull_failure: luck.share(0.5, 0.5),
            defect: luck.share(0.3, 0.5),
            crash_after: luck.duration(20.0),
        },
    }
}

fn strategy(luck: &mut Luck) -> Strategy {
    let limit = |luck: &mut Luck| {
        luck.chance(0.7).then(|| {
            if luck.chance(0.5) {
                IntOrString::Int(luck.number(0, 4) as i32)
            } else {
                IntOrString::String(format!("{}%", luck.number(0, 100)))
            }
        })
    };
    match luck.number(0, 4) {
        0 => Strategy::AllAtOnce {},
        1 => Strategy::Batches { size: CountOrPercent::Count(luck.number(1, 5)) },
        _ => Strategy::RancherFleet {
            rules: if luck.chance(0.5) { Rules::Shipped } else { Rules::Documented },
            strategy: RolloutStrategy {
                max_unavailable: limit(luck),
                max_unavailable_partitions: limit(luck),
                auto_partition_size: Some(IntOrString::String(format!("{}%", luck.number(10, 100)))),
                auto_partition_threshold: Some(1),
                ..RolloutStrategy::default()
            },
        },
    }
}

fn variant(seed: u64) -> Variant {
    let mut luck = Luck(Streams::new(seed, 0).stream("random world", "shape"));
    Variant {
        label: "random".to_owned(),
        strategy: "random".to_owned(),
        setting: String::new(),
        scenario: Scenario {
            world: Arc::new(world(&mut luck)),
            groups: Arc::new(Vec::new()),
            strategy: strategy(&mut luck),
            control_loop: control_loop(),
            horizon: SimDuration::from_hours(6),
        },
    }
}

/// Runs one experiment and checks what must be true of it.
fn check(seed: u64) -> RunRecord {
    let variant = variant(seed);
    let mut last = 0;
    let mut pulled = 0_u64;
    let mut watch = |now: fleetsim::units::SimTime, event: &Event| {
        assert!(now.as_nanos() >= last, "time runs forward");
        last = now.as_nanos();
        pulled += u64::from(matches!(event, Event::Pulled { .. }));
    };
    let record = sim::run_observed(&variant, seed, 0, &mut watch);
    let run = &record.run;
    let to_nodes = run.egress_bytes - run.upstream_bytes + run.cache_bytes + run.peer_bytes;
    assert_eq!(to_nodes, run.received_bytes + run.lost_bytes, "bytes are conserved");
    let in_rows: u64 = record.clusters.iter().map(|cluster| cluster.received_bytes).sum();
    assert_eq!(to_nodes, in_rows, "what registry, caches and peers send to nodes arrives in some cluster");
    let in_bins: f64 = record.series.iter().map(|bin| bin.egress_bytes_per_s * record.bin_s).sum();
    let egress = run.egress_bytes as f64;
    // A transfer that is cancelled counts in whole bytes, rounded down; a failed pull cancels its config or its slots.
    let rounding = (run.failed_pulls * u64::from(variant.scenario.world.node.runtime.download_slots + 1)) as f64;
    assert!((in_bins - egress).abs() <= egress * 1e-6 + 1000.0 + rounding, "the series adds up: {in_bins} of {egress}");
    let world = &variant.scenario.world;
    let others = world.registries.iter().map(|other| other.spec.egress.get());
    let capacity = world.registry.egress.get() + others.sum::<f64>();
    assert!(run.egress_peak_1s_bytes_per_s <= capacity * (1.0 + 1e-9), "the egress link is not exceeded");
    assert!(run.peak_downloads >= record.series.iter().map(|bin| bin.downloads).max().unwrap_or(0));
    for bin in &record.series {
        let clusters = bin.ready_new + bin.updating + bin.not_ready + bin.waiting;
        assert_eq!(clusters, run.targets, "every cluster is in one state at {} s", bin.t_s);
    }
    match run.outcome {
        Outcome::Complete => {
            assert_eq!(run.targets_done, run.targets);
            assert_eq!(run.held_by, "");
            assert!(record.clusters.iter().all(|cluster| cluster.ready_s.is_some()));
        }
        Outcome::Stalled | Outcome::Horizon => {
            assert!(run.targets_done < run.targets);
            assert!(run.held_by != "no rule" || run.outcome == Outcome::Horizon, "{}", run.held_by);
        }
    }
    if run.outcome == Outcome::Stalled {
        // Nothing is under way any more, so every attempt ended one way or the other.
        assert!(pulled + run.failed_pulls >= run.pulls, "{pulled} + {} of {}", run.failed_pulls, run.pulls);
    }
    record
}

#[test]
fn what_must_be_true_of_every_run_is_true_of_random_ones() {
    let number = |name: &str| -> Option<u64> {
        std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
    };
    let only = number("FLEETSIM_SEED");
    let count = number("FLEETSIM_SEEDS").unwrap_or(SEEDS);
    let seeds: Vec<u64> = only.map_or_else(|| (0..count).chain(FOUND_FAULTS).collect(), |seed| vec![seed]);
    let mut outcomes = BTreeMap::new();
    for seed in seeds {
        let record = std::panic::catch_unwind(|| check(seed));
        match record {
            Ok(record) => *outcomes.entry(format!("{:?}", record.run.outcome)).or_insert(0) += 1,
            Err(_) => panic!("to see it again: FLEETSIM_SEED={seed} cargo test --test random_worlds"),
        }
    }
    if only.is_none() {
        // The generator would be worthless if all worlds were easy, or all hopeless.
        for outcome in ["Complete", "Stalled"] {
            assert!(outcomes.get(outcome).is_some_and(|count| *count >= 30), "{outcome}: {outcomes:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        assert_eq!(check(seed), check(seed), "seed {seed}");
    }
}
