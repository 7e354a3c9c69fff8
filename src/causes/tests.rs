//! Worlds whose limits are known by construction, so that algebra says what each trial saves.

use super::profile::trials_of_only;
use super::trial::Counterparts;
use super::{EventBudget, TriedVariant, causes};
use crate::engine::Stop;
use crate::results::{CauseRow, CauseVerdict, Resource, TrialKind};
use crate::scenario::{Experiment, Overrides, load};
use crate::world::resource_needs;

/// A world in which nothing takes time, but what a test adds. One image with a layer of 1 GB.
const INSTANT: &str = "
name: causes
seed: 3
replicates: 1
agent: {instructionDelay: 0 s, apply: 0 s, readiness: {delay: 0 s}, reportDelay: 0 s}
controller: {request: 0 s, watchDelay: 0 s}
pods: {creation: null, scheduling: null, startsPerSecond: null}
";

/// The settings of a world, each of which a test can replace.
#[derive(Clone)]
struct Limits {
    fleet: &'static str,
    registry: &'static str,
    node: &'static str,
    uncompressed: &'static str,
    workload: &'static str,
    strategy: &'static str,
    other: &'static str,
}

const NONE: Limits = Limits {
    fleet: "[{name: a, nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}]",
    registry: "{egress: unlimited, perConnection: unlimited, serviceTime: 0 s}",
    node: "{nic: 10000 Gbit/s, unpackRate: 1000000 GB/s, unpackSpread: 0, unpackPerLayer: 0 s, pullConstant: 0 s, \
           sandbox: 0 s, startOverhead: 0 s, startSpread: 0, disk: {class: none}, serializeImagePulls: false}",
    uncompressed: "1 MB",
    workload: "{kind: Deployment, image: shop, start: 0 s, termination: 0 s, maxUnavailable: 100%}",
    strategy: "{allAtOnce: {}}",
    other: "",
};

impl Limits {
    fn experiment(&self) -> Experiment {
        let Self {
            fleet,
            registry,
            node,
            uncompressed,
            workload,
            strategy,
            other,
        } = self;
        let text = format!(
            "{INSTANT}
fleet: {fleet}
registry: {registry}
node: {node}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 1 GB, uncompressed: {uncompressed}}}]}}}}]
  workloads: [{workload}]
strategies: {{it: {strategy}}}
{other}"
        );
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(home.path().join("experiment.yaml"), text).expect("written");
        load(home.path(), &Overrides::default()).expect("valid")
    }

    fn rows(&self) -> Vec<CauseRow> {
        let experiment = self.experiment();
        let mut budget = EventBudget::of_study(0);
        causes(&tried(&experiment), &mut budget).expect("no run fails")
    }
}

/// The only variant of an experiment.
fn tried(experiment: &Experiment) -> TriedVariant<'_> {
    TriedVariant {
        variant: &experiment.variants[0],
        seed: experiment.seed,
        run_events: 1_000,
        stop: Stop::default(),
    }
}

/// The row that names what holds a rollout back.
fn first(rows: &[CauseRow]) -> &CauseRow {
    rows.iter()
        .find(|row| row.verdict == CauseVerdict::First)
        .unwrap_or_else(|| panic!("nothing is named: {rows:#?}"))
}

/// A world with one limit, and the time that it costs.
struct OneLimit {
    limits: Limits,
    resource: Resource,
    costs_s: f64,
}

fn worlds_with_one_limit() -> Vec<OneLimit> {
    vec![
        OneLimit {
            limits: Limits {
                fleet: "[{name: 'a-{01..10}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}]",
                registry: "{egress: 1 Gbit/s, perConnection: unlimited, serviceTime: 0 s}",
                ..NONE
            },
            resource: Resource::RegistryLink,
            costs_s: 80.0,
        },
        OneLimit {
            limits: Limits {
                fleet: "[{name: a, nodes: 1, downlink: 100 Mbit/s, rtt: 0 ms}]",
                ..NONE
            },
            resource: Resource::Downlinks,
            costs_s: 80.0,
        },
        OneLimit {
            limits: Limits {
                fleet: "[{name: 'a-{1..5}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms, region: south}]",
                other: "regions: [{name: south, bandwidth: 100 Mbit/s}]",
                ..NONE
            },
            resource: Resource::RegionLinks,
            costs_s: 400.0,
        },
        OneLimit {
            limits: Limits {
                registry: "{egress: unlimited, perConnection: 40 Mbit/s, serviceTime: 0 s}",
                ..NONE
            },
            resource: Resource::ConnectionRate,
            costs_s: 200.0,
        },
        OneLimit {
            limits: Limits {
                fleet: "[{name: 'a-{01..10}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}]",
                registry: "{egress: unlimited, perConnection: unlimited, perBlob: 100 MB/s, serviceTime: 0 s}",
                ..NONE
            },
            resource: Resource::BlobRate,
            costs_s: 100.0,
        },
        OneLimit {
            limits: Limits {
                node: "{nic: 80 Mbit/s, unpackRate: 1000000 GB/s, unpackSpread: 0, unpackPerLayer: 0 s, \
                       pullConstant: 0 s, sandbox: 0 s, startOverhead: 0 s, startSpread: 0, disk: {class: none}}",
                ..NONE
            },
            resource: Resource::NetworkCards,
            costs_s: 100.0,
        },
        OneLimit {
            limits: Limits {
                node: "{nic: 10000 Gbit/s, unpackRate: 10 MB/s, unpackSpread: 0, unpackPerLayer: 0 s, \
                       pullConstant: 0 s, sandbox: 0 s, startOverhead: 0 s, startSpread: 0, disk: {class: none}}",
                uncompressed: "2.6 GB",
                ..NONE
            },
            resource: Resource::Unpacking,
            costs_s: 260.0,
        },
        OneLimit {
            limits: Limits {
                workload: "{kind: Deployment, image: shop, start: 90 s, readiness: {period: 1 s}, termination: 0 s, maxUnavailable: 100%}",
                ..NONE
            },
            resource: Resource::PodStart,
            costs_s: 90.0,
        },
        OneLimit {
            limits: Limits {
                // Six requests of each of 25 clusters: two for tokens, and the others for manifests and blobs.
                fleet: "[{name: 'a-{01..25}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}]",
                registry: "{egress: unlimited, perConnection: unlimited, serviceTime: 4 s, workers: 1, tokens: false}",
                ..NONE
            },
            resource: Resource::RegistryWorkers,
            costs_s: 0.0,
        },
        OneLimit {
            limits: Limits {
                registry: "{egress: unlimited, perConnection: unlimited, serviceTime: 0 s, \
                           windows: [{from: 0 s, for: 10 min, down: true}]}",
                ..NONE
            },
            resource: Resource::RegistryOutages,
            costs_s: 600.0,
        },
        OneLimit {
            limits: Limits {
                fleet: "[{name: a, downlink: 10000 Gbit/s, rtt: 0 ms, installed: false, autoscaling: {minNodes: 0, \
                        maxNodes: 1, podsPerNode: 1, decision: 0 s, provisioning: 80 s}}]",
                ..NONE
            },
            resource: Resource::NodeJoins,
            costs_s: 80.0,
        },
        OneLimit {
            limits: Limits {
                fleet: "[{name: 'a-{01..10}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}]",
                registry: "{egress: 1 Gbit/s, otherLoad: {constant: 800 Mbit/s}, perConnection: unlimited, \
                           serviceTime: 0 s}",
                ..NONE
            },
            resource: Resource::RegistryLink,
            costs_s: 400.0,
        },
    ]
}

#[test]
fn a_trial_saves_what_algebra_says() {
    for world in worlds_with_one_limit() {
        let rows = world.limits.rows();
        let named = first(&rows);
        assert_eq!(named.resources(), [world.resource], "{rows:#?}");
        let base = named.base_s.expect("complete");
        // Times are lifted to 1%, and everything else takes no time.
        let costs = if world.costs_s > 0.0 {
            world.costs_s
        } else {
            base
        };
        let saved = named.saved_s.expect("complete");
        assert!(
            (saved / costs - 1.0).abs() < 0.011,
            "{:?}: {saved} of {costs} s",
            world.resource
        );
        let others = rows
            .iter()
            .filter(|row| row.trial == TrialKind::Then && row.verdict == CauseVerdict::Next);
        assert!(others.count() <= 1, "{rows:#?}");
    }
}

/// A pull leaves 6% of the disk. The node takes no pods for 5 min, and the second pod would be created after 60 s.
#[test]
fn a_larger_disk_saves_the_time_under_pressure() {
    let small = Limits {
        node: "{nic: 10000 Gbit/s, unpackRate: 1000000 GB/s, unpackSpread: 0, unpackPerLayer: 0 s, pullConstant: 0 s, \
               sandbox: 0 s, startOverhead: 0 s, startSpread: 0, serializeImagePulls: false, disk: {class: none, \
               size: 10 GB, used: 5 GB, unusedImages: 9 GB}}",
        workload: "{kind: Deployment, image: shop, start: 0 s, termination: 0 s, replicas: 2, maxUnavailable: 0, \
                   maxSurge: 1, minReady: 60 s}",
        ..NONE
    };
    let rows = small.rows();
    let row = rows
        .iter()
        .find(|row| row.trial == TrialKind::Alone && row.resources() == [Resource::DiskSpace])
        .unwrap_or_else(|| panic!("disks are tried: {rows:#?}"));
    let saved = row.saved_s.expect("complete");
    assert!((240.0..=250.0).contains(&saved), "{saved}: {rows:#?}");
    assert_eq!(row.limit, "10 GB");
}

#[test]
fn equal_limits_are_named_together() {
    let two = Limits {
        fleet: "[{name: 'a-{1..5}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms, region: south}]",
        registry: "{egress: 100 Mbit/s, perConnection: unlimited, serviceTime: 0 s}",
        other: "regions: [{name: south, bandwidth: 100 Mbit/s}]",
        ..NONE
    };
    let rows = two.rows();
    let named = first(&rows);
    assert_eq!(named.trial, TrialKind::Together, "{rows:#?}");
    assert_eq!(
        named.resources(),
        [Resource::RegistryLink, Resource::RegionLinks]
    );
    let saved = named.saved_s.expect("complete");
    assert!((saved / 400.0 - 1.0).abs() < 0.01, "{saved}");

    let three = Limits {
        fleet: "[{name: a, nodes: 1, downlink: 100 Mbit/s, rtt: 0 ms, region: south}]",
        ..two
    };
    assert_eq!(
        first(&three.rows()).resources(),
        [
            Resource::RegistryLink,
            Resource::RegionLinks,
            Resource::Downlinks
        ]
    );
}

/// Nine sites fill the registry's link for 72 s; the tenth needs 800 s for its own downlink.
#[test]
fn a_full_link_that_does_not_bind_is_not_named() {
    let rows = Limits {
        fleet: "[{name: 'a-{1..9}', nodes: 1, downlink: 10000 Gbit/s, rtt: 0 ms}, \
                {name: b, nodes: 1, downlink: 10 Mbit/s, rtt: 0 ms}]",
        registry: "{egress: 1 Gbit/s, perConnection: unlimited, serviceTime: 0 s}",
        ..NONE
    }
    .rows();
    assert_eq!(first(&rows).resources(), [Resource::Downlinks]);
    let link = rows
        .iter()
        .find(|row| row.trial == TrialKind::Alone && row.resources() == [Resource::RegistryLink]);
    let link = link.expect("tried");
    assert_eq!(link.verdict, CauseVerdict::None);
    assert!(link.saved_s.expect("complete") < 10.0, "{link:?}");
}

#[test]
fn approvals_are_named_as_people() {
    let rows = Limits {
        fleet: "[{name: a, nodes: 1, downlink: 100 Mbit/s, rtt: 0 ms, labels: {stage: one}}, \
                {name: b, nodes: 1, downlink: 100 Mbit/s, rtt: 0 ms, labels: {stage: two}}]",
        strategy: "{kubeFleetStaged: {stages: [{name: one, labelSelector: {matchLabels: {stage: one}}, \
                   afterStageTasks: [{type: Approval}]}, {name: two, labelSelector: {matchLabels: {stage: two}}}], \
                   approvals: {after: 30 min}}}",
        ..NONE
    }
    .rows();
    let named = first(&rows);
    assert_eq!(named.resources(), [Resource::People], "{rows:#?}");
    let saved = named.saved_s.expect("complete");
    assert!((saved / 1_782.0 - 1.0).abs() < 0.02, "{saved}");
}

#[test]
fn offline_clusters_are_named_where_they_keep_a_rollout_from_completing() {
    let rows = Limits {
        fleet: "[{name: b, nodes: 1, downlink: 1 Gbit/s, rtt: 0 ms, offline: true}, \
                {name: 'a-{1..4}', nodes: 1, downlink: 1 Gbit/s, rtt: 0 ms}]",
        strategy: "{oneByOne: {}}",
        other: "faults: {offline: {return: 100 h}}",
        ..NONE
    }
    .rows();
    let kept: Vec<Vec<Resource>> = rows
        .iter()
        .filter(|row| row.verdict == CauseVerdict::Keeps)
        .map(CauseRow::resources)
        .collect();
    assert_eq!(kept, [[Resource::OfflineClusters]], "{rows:#?}");
}

#[test]
fn trials_that_do_not_fit_into_the_budget_are_left_out() {
    let experiment = NONE.experiment();
    let mut budget = EventBudget { left: 1_000 };
    let rows = causes(&tried(&experiment), &mut budget);
    assert_eq!(rows.expect("no run fails"), []);
}

/// The rows must not depend on the number of threads.
#[test]
fn the_trials_are_the_same_on_any_number_of_threads() {
    let world = &worlds_with_one_limit()[0].limits;
    let mut found = Vec::new();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        found.push(pool.install(|| world.rows()));
    }
    assert_eq!(found[0], found[1]);
}

/// A world with several limits of different sizes, in which no request is repeated.
const SEVERAL: Limits = Limits {
    fleet: "[{name: 'a-{01..20}', nodes: 3, downlink: 60 Mbit/s, rtt: 0 ms, region: south}]",
    registry: "{egress: 500 Mbit/s, perConnection: unlimited, serviceTime: 500 ms, workers: 1, tokens: false}",
    node: "{nic: 100 Mbit/s, unpackRate: 20 MB/s, unpackSpread: 0, unpackPerLayer: 0 s, pullConstant: 0 s, \
           sandbox: 0 s, startOverhead: 0 s, startSpread: 0, disk: {class: emmc, rate: 25 MB/s, buffer: 1 MB}}",
    uncompressed: "2 GB",
    workload: "{kind: DaemonSet, image: shop, start: 0 s, termination: 0 s, maxUnavailable: 100%}",
    other: "regions: [{name: south, bandwidth: 300 Mbit/s}]",
    ..NONE
};

/// The words with which `explain` names what a trial calls by its key.
const EXPLAINED: [(Resource, &str); 6] = [
    (Resource::RegistryLink, "registry link"),
    (Resource::RegistryWorkers, "registry, workers"),
    (Resource::RegionLinks, "link of region"),
    (Resource::Downlinks, "downlink of"),
    (Resource::NetworkCards, "network card of"),
    (Resource::Unpacking, "unpacking on"),
];

#[test]
fn a_world_with_only_one_limit_takes_the_least_time_that_explain_states() {
    let experiment = SEVERAL.experiment();
    let variant = &experiment.variants[0];
    let needs = resource_needs(&variant.scenario.world);
    let counterparts = Counterparts::simulate(&tried(&experiment), 0, 1).expect("no run fails");
    let mut compared = 0;
    for trial in trials_of_only(variant) {
        let [resource] = trial.resources[..] else {
            panic!("one resource each")
        };
        let Some((_, words)) = EXPLAINED.iter().find(|(known, _)| *known == resource) else {
            continue;
        };
        let need = needs.iter().find(|need| need.resource.starts_with(words));
        let least = need
            .unwrap_or_else(|| panic!("explain names {words}: {needs:#?}"))
            .least
            .as_secs_f64();
        let run = counterparts.trial_run(variant, &trial.lift, 0);
        let took = run
            .expect("no run fails")
            .expect("not stopped")
            .time_s
            .expect("complete");
        assert!(
            (took / least - 1.0).abs() < 0.02,
            "{resource:?} takes {took} s; explain says {least} s"
        );
        compared += 1;
    }
    assert_eq!(compared, EXPLAINED.len());
}
