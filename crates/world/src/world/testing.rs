//! Small worlds whose times can be computed by hand, for tests.

use crate::engine::{self, EventQueue, Model};
use crate::world::World;
use crate::world::clusters::agent_spec::AgentSpec;
use crate::world::clusters::cluster::ClusterFacts;
use crate::world::clusters::deployment::DeploymentFacts;
use crate::world::clusters::pod_queues::PodSpec;
use crate::world::clusters::spec::{ClusterSpec, PullPolicy, WorkloadKind, WorkloadSpec};
use crate::world::distribution::spec::DistributionSpec;
use crate::world::event::{DriverEvent, Event, Queue};
use crate::world::faults::spec::FaultSpec;
use crate::world::ids::{ApplicationId, NEW, TargetId};
use crate::world::meter::TotalsWithOthers;
use crate::world::nodes::runtime::spec::RuntimeSpec;
use crate::world::nodes::spec::NodeSpec;
use crate::world::quantity::{CountOrPercent, DurationModel};
use crate::world::registry::spec::RegistrySpec;
use crate::world::spec::{
    ApplicationSpec, ImageSpec, LayerSpec, PlatformSpec, ReleaseKind, Uncompressed, WorldSpec,
};
use crate::world::totals::Totals;
use crate::world::transfers::limit_loads::LimitLoad;
use crate::world::transfers::link_loads::LinkLoad;
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration, SimTime};

/// Returns a duration that does not vary.
pub(crate) const fn fixed(span: SimDuration) -> DurationModel {
    DurationModel::Constant(span)
}

/// Returns a layer of `bytes` that cannot be compressed.
pub(crate) fn layer(digest: &str, bytes: u64) -> LayerSpec {
    LayerSpec {
        digest: digest.to_owned(),
        compressed: Bytes::new(bytes).into(),
        uncompressed: Uncompressed::Ratio(1.0),
        is_zstd: false,
    }
}

/// Creates `count` online clusters with one node each, and a Deployment with one pod of a one-layer image. Only
/// downloads take time: 100 MB at 100 MB/s per cluster; every other delay is zero.
pub(crate) fn bare_world(count: usize) -> WorldSpec {
    let nothing: DurationModel = fixed(SimDuration::ZERO);
    let fast = BytesPerSec::new(1e12);
    let cluster = |at: usize| ClusterSpec {
        region_name: None,
        clusters: None,
        group: String::new(),
        name: format!("c{at:04}"),
        labels: std::sync::Arc::default(),
        nodes: 1.into(),
        autoscaling: None,
        site: None,
        downlink: BytesPerSec::new(100e6).into(),
        rtt: nothing.clone(),
        rtt_correlation: 0.0,
        nic: None,
        gaps: None,
        loss: Share::NONE,
        region: None,
        paused: false,
        registered: true,
        installed: true,
        offline: false,
    };
    WorldSpec {
        clusters: (0..count).map(cluster).collect(),
        regions: Vec::new(),
        registry: RegistrySpec::unlimited(fast, nothing.clone()),
        registries: Vec::new(),
        distribution: DistributionSpec::default(),
        node: NodeSpec {
            nic: fast.into(),
            registry_pull_qps: 0,
            error_requeue: nothing.clone(),
            unpack_rate: BytesPerSec::new(1e15).into(),
            unpack_spread: 0.0,
            unpack_per_layer: nothing.clone(),
            pull_constant: nothing.clone(),
            sandbox: nothing.clone(),
            start_overhead: nothing.clone(),
            runtime: RuntimeSpec {
                collect_after: None,
                ..RuntimeSpec::default()
            },
            ..NodeSpec::default()
        },
        pods: PodSpec::IMMEDIATE,
        images: vec![ImageSpec {
            name: "shop".to_owned(),
            layers: vec![layer("app", 100_000_000)],
            previous: Vec::new(),
            later: Vec::new(),
            config: Bytes::ZERO.into(),
            registry: 0,
            index: true,
        }],
        applications: vec![ApplicationSpec::everywhere(
            "shop".to_owned(),
            vec![WorkloadSpec {
                image_name: String::new(),
                name: "shop".to_owned(),
                kind: WorkloadKind::Deployment {
                    replicas: 1,
                    max_unavailable: CountOrPercent::Percent(25),
                    max_surge: CountOrPercent::Percent(25),
                    progress_deadline: SimDuration::from_secs(600),
                },
                image: 0,
                pull_policy: PullPolicy::IfNotPresent,
                start: nothing.clone(),
                readiness: None,
                start_timeout: None,
                min_ready: SimDuration::ZERO,
                termination: nothing.clone(),
            }],
            ReleaseKind::Initial,
        )],
        faults: FaultSpec::default(),
    }
}

/// The results of a run of a world without a product.
#[derive(Debug)]
pub(crate) struct Played {
    pub facts: Vec<ClusterFacts>,
    pub deployments: Vec<DeploymentFacts>,
    pub totals: Totals,
    pub peak_pulls: u64,
    pub peak_downloads: u64,
    pub egress_peaks: (f64, f64),
    /// The traffic that the registries sent to the fleet and to others.
    pub(crate) with_others: TotalsWithOthers,
    /// The load of every link that does not belong to a registry.
    pub(crate) links: Vec<LinkLoad>,
    /// The busiest blob of each registry that limits blobs.
    pub(crate) blobs: Vec<Option<LimitLoad>>,
    /// Number of seconds with the egress at its capacity.
    pub(crate) busy_s: f64,
    /// Every event with its time.
    pub events: Vec<(SimTime, Event)>,
}

impl Played {
    /// Returns when each target was ready, in seconds.
    pub(crate) fn ready_s(&self) -> Vec<Option<f64>> {
        self.deployments
            .iter()
            .map(|facts| facts.ready.map(SimTime::as_secs_f64))
            .collect()
    }

    /// Returns when the events that `wanted` accepts occurred, in seconds.
    pub(crate) fn times(&self, wanted: impl Fn(&Event) -> bool) -> Vec<f64> {
        self.events
            .iter()
            .filter(|(_, event)| wanted(event))
            .map(|(at, _)| at.as_secs_f64())
            .collect()
    }
}

/// An action of a test on a world.
pub(crate) type Intervention = fn(&mut World<'_>, &mut Queue);

/// A world without a product, with the interventions of a test in time order.
struct BareModel<'s> {
    world: World<'s>,
    interventions: std::vec::IntoIter<Intervention>,
}

impl Model for BareModel<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if event == Event::Driver(ApplicationId::default(), DriverEvent::Timer(0)) {
            self.interventions
                .next()
                .expect("one event per intervention")(&mut self.world, queue);
        }
        self.world.handle(event, queue);
        self.world.take_reports();
    }
}

/// Instructs every target to run the new revision at time zero, and runs the world until it is at rest or at the
/// horizon. Checks the conservation of bytes.
pub(crate) fn play(spec: &WorldSpec, seed: u64, horizon: SimDuration) -> Played {
    play_with(spec, seed, horizon, &[])
}

/// Like [`play`] with seed 1 and a horizon of a day, but with this agent.
pub(crate) fn play_agent(spec: &WorldSpec, agent: AgentSpec) -> Played {
    play_agent_with(spec, agent, &[])
}

/// As [`play_agent`], with interventions at the given seconds, in order of time.
pub(crate) fn play_agent_with(
    spec: &WorldSpec,
    agent: AgentSpec,
    interventions: &[(f64, Intervention)],
) -> Played {
    let platform = PlatformSpec {
        agent,
        ..PlatformSpec::INSTANT
    };
    play_on(
        spec,
        &platform,
        1,
        SimDuration::from_hours(24),
        interventions,
    )
}

/// Like [`play`], with interventions at the given seconds, in time order.
pub(crate) fn play_with(
    spec: &WorldSpec,
    seed: u64,
    horizon: SimDuration,
    interventions: &[(f64, Intervention)],
) -> Played {
    play_on(spec, &PlatformSpec::INSTANT, seed, horizon, interventions)
}

pub(crate) fn play_on(
    spec: &WorldSpec,
    platform: &PlatformSpec,
    seed: u64,
    horizon: SimDuration,
    interventions: &[(f64, Intervention)],
) -> Played {
    let script = Script {
        seed,
        horizon,
        instructed: (0..spec.targets()).map(TargetId::at).collect(),
        interventions,
    };
    play_script(spec, platform, &script)
}

/// What happens in a run of a world without a product.
pub(crate) struct Script<'a> {
    pub(crate) seed: u64,
    pub(crate) horizon: SimDuration,
    /// The targets that are instructed at time zero to run the new revision, in this order.
    pub(crate) instructed: Vec<TargetId>,
    /// Actions at the given seconds, in order of time.
    pub(crate) interventions: &'a [(f64, Intervention)],
}

pub(crate) fn play_script(
    spec: &WorldSpec,
    platform: &PlatformSpec,
    script: &Script<'_>,
) -> Played {
    let mut queue = EventQueue::new();
    let world = World::new(spec, platform, script.seed, 0, &mut queue);
    let interventions = script.interventions;
    let actions: Vec<Intervention> = interventions.iter().map(|&(_, deed)| deed).collect();
    let mut model = BareModel {
        world,
        interventions: actions.into_iter(),
    };
    for target in &script.instructed {
        model.world.instruct(*target, NEW, &mut queue);
    }
    for &(at, _) in interventions {
        queue.schedule(
            SimTime::ZERO + SimDuration::from_secs_f64(at),
            Event::Driver(ApplicationId::default(), DriverEvent::Timer(0)),
        );
    }
    let mut events = Vec::new();
    let mut observer = |now: SimTime, event: &Event| events.push((now, *event));
    engine::run(
        &mut model,
        &mut queue,
        &mut observer,
        SimTime::ZERO + script.horizon,
        |model, queue| model.world.is_at_rest(queue, 0),
    );
    let totals = model.world.finish(queue.now());
    model.world.assert_bytes_are_conserved();
    model.world.assert_littles_law();
    model.world.assert_pods_fit();
    Played {
        facts: model.world.cluster_facts().copied().collect(),
        deployments: model.world.deployment_facts().copied().collect(),
        totals,
        peak_pulls: model.world.meter().pulls.peak(),
        peak_downloads: model.world.meter().downloads.peak(),
        egress_peaks: model.world.meter().egress_peaks(),
        with_others: model.world.meter().totals_with_others(),
        links: model.world.link_loads(),
        blobs: model
            .world
            .registry_totals()
            .map(|totals| totals.busiest_blob)
            .collect(),
        busy_s: model.world.meter().busy().as_secs_f64(),
        events,
    }
}
