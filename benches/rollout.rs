//! Whole simulated rollouts: time per run, events per second.
//!
//! The load is in the id: clusters x nodes x layers, and an update under Rancher Fleet with `maxUnavailable: 10%` or
//! of all clusters simultaneously. Every run prints a checksum of its results (bytes from the registry, completion).
//! `cargo test` runs a small load once, to check that this file works.

#![allow(
    missing_docs,
    reason = "the macros of criterion generate public functions"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fleetsim::control_plane::ControlLoop;
use fleetsim::products::Strategy;
use fleetsim::products::rancher_fleet::{HelmWait, RancherFleetStrategy};
use fleetsim::rollout::baseline::Baseline;
use fleetsim::rollout::rancher_fleet::{IntOrString, RolloutStrategy, RuleSet};
use fleetsim::scenario::{ApplicationRollout, Scenario, Variant};
use fleetsim::sim;
use fleetsim::units::{Bytes, BytesPerSec, Share, SimDuration};
use fleetsim::world::{
    AgentSpec, ApplicationSpec, ClusterSpec, FaultSpec, ImageSpec, LayerSpec, NodeSpec,
    PlatformSpec, PodSpec, ProbeSpec, PullPolicy, RegistrySpec, ReleaseKind, Restarts,
    Uncompressed, WorkloadKind, WorkloadSpec, WorldSpec, calibration,
};

const NODES: u32 = 3;
const LAYERS: usize = 9;

fn layer(digest: String, megabytes: u64) -> LayerSpec {
    let bytes = Bytes::new(megabytes * 1_000_000);
    LayerSpec {
        digest,
        compressed: bytes.into(),
        uncompressed: Uncompressed::Ratio(calibration::COMPRESSION_RATIO),
        is_zstd: false,
    }
}

fn world(clusters: usize) -> WorldSpec {
    WorldSpec {
        clusters: (0..clusters)
            .map(|at| ClusterSpec {
                site: None,
                rtt_correlation: 0.0,
                nic: None,
                gaps: None,
                autoscaling: None,
                region_name: None,
                clusters: None,
                group: String::new(),
                name: format!("store-{at:05}"),
                labels: Arc::default(),
                nodes: NODES.into(),
                downlink: BytesPerSec::from_mbit(if at % 10 == 0 { 10_000.0 } else { 100.0 })
                    .into(),
                rtt: calibration::RTT,
                loss: Share::NONE,
                region: None,
                paused: false,
                registered: true,
                installed: true,
                offline: false,
            })
            .collect(),
        regions: Vec::new(),
        registry: RegistrySpec::unlimited(BytesPerSec::from_gbit(10.0), calibration::SERVICE_TIME),
        pods: PodSpec::IMMEDIATE,
        registries: Vec::new(),
        distribution: fleetsim::world::DistributionSpec::default(),
        node: NodeSpec {
            registry_pull_qps: 0,
            ..NodeSpec::default()
        },
        // The nodes have no layers of the image: every layer is a transfer.
        images: vec![ImageSpec {
            name: "shop".to_owned(),
            layers: (0..LAYERS)
                .map(|at| layer(format!("layer-{at}"), 4 + 3 * at as u64))
                .collect(),
            previous: Vec::new(),
            later: Vec::new(),
            config: calibration::CONFIG_SIZE.into(),
            registry: 0,
            index: true,
        }],
        applications: vec![ApplicationSpec::everywhere(
            "shop".to_owned(),
            vec![WorkloadSpec {
                image_name: String::new(),
                name: "shop".to_owned(),
                kind: WorkloadKind::Deployment {
                    replicas: NODES,
                    max_unavailable: fleetsim::world::DEPLOYMENT_MAX_UNAVAILABLE,
                    max_surge: fleetsim::world::DEPLOYMENT_MAX_SURGE,
                    progress_deadline: calibration::PROGRESS_DEADLINE,
                },
                image: 0,
                pull_policy: PullPolicy::IfNotPresent,
                start: calibration::START,
                readiness: Some(ProbeSpec {
                    initial_delay: SimDuration::ZERO,
                    period: calibration::PROBE_PERIOD,
                    success_threshold: 1,
                }),
                min_ready: SimDuration::ZERO,
                start_timeout: None,
                termination: calibration::TERMINATION,
            }],
            ReleaseKind::Update,
        )],
        faults: FaultSpec::default(),
    }
}

fn variant(clusters: usize, strategy: Arc<dyn Strategy>) -> Variant {
    Variant {
        label: "bench".to_owned(),
        strategy: "bench".to_owned(),
        setting: String::new(),
        settings: Vec::new(),
        scenario: Scenario {
            world: Arc::new(world(clusters)),
            groups: Arc::new(Vec::new()),
            calendar: None,
            applications: vec![ApplicationRollout::only(strategy)],
            product: "bench",
            is_bound: false,
            control_loop: ControlLoop::kubernetes(),
            platform: PlatformSpec {
                agent: AgentSpec::HELM,
                restarts: Restarts::KUBELET,
            },
            horizon: SimDuration::from_hours(48),
            operator: Vec::new(),
            price: None,
        },
    }
}

#[allow(clippy::print_stderr, reason = "a bench prints its checksum")]
fn rollouts(criterion: &mut Criterion) {
    // Criterion does not say whether it is in test mode; without `--bench`, a tiny load is enough.
    let sizes: &[usize] = if std::env::args().any(|arg| arg == "--bench") {
        &[200, 1000, 5000]
    } else {
        &[10]
    };
    let careful = || -> Arc<dyn Strategy> {
        let max_unavailable = Some(IntOrString::String("10%".to_owned()));
        let strategy = RolloutStrategy {
            max_unavailable,
            ..RolloutStrategy::default()
        };
        Arc::new(RancherFleetStrategy {
            judges_wanted: true,
            rules: RuleSet::Shipped,
            strategy,
            ignored: Vec::new(),
            has_values: false,
            paused: false,
            schedules: None,
            helm: HelmWait::default(),
        })
    };
    let bound = || -> Arc<dyn Strategy> { Arc::new(Baseline::AllAtOnce) };
    let mut group = criterion.benchmark_group("rollout");
    group.sample_size(10);
    for &clusters in sizes {
        for (name, strategy) in [("fleet-10%", careful()), ("all-at-once", bound())] {
            let variant = variant(clusters, strategy);
            let run = sim::run(&variant, 1, 0)
                .expect("the strategy starts no process")
                .run;
            eprintln!(
                "{name} {clusters} clusters: {} events, {} B, completion {:?} s",
                run.events, run.egress_bytes, run.completion_s
            );
            // One iteration is one run: the time is per run, the throughput in events.
            group.throughput(Throughput::Elements(run.events));
            let id = BenchmarkId::new(
                name,
                format!("{clusters} clusters x {NODES} nodes x {LAYERS} layers"),
            );
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    black_box(sim::run(&variant, 1, 0).expect("the strategy starts no process"))
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Criterion's plots need a font, and plotters is built without fonts.
    config = Criterion::default().without_plots();
    targets = rollouts
}
criterion_main!(benches);
