//! Each scheduler during failures, in complete simulations of 100 clusters: an outage of half of the fleet in the
//! middle of a rollout, clusters that never return, a fleet that keeps failing, a missing tag, a defect that shows
//! late, and lost nodes. The end of each run is reported with the blocking rule; no run hangs, and nothing is lost.

use fleetsim::results::RunOutcome::{self, Complete, Horizon, Stalled};
use fleetsim::results::RunRecord;
use fleetsim::sim;

use super::common::{folder_with, loaded};

/// Settings with which neither the client nor the CPU of the application controller limits syncs.
const ARGO_CD: &str = "argoCd: {generate: false, file: rolling-sync.yaml, applicationController: \
                       {clientQps: 0, syncsPerSecond: 1000000000000}}";

const ARGO: &str = "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  goTemplate: true
  generators: [{clusters: {selector: {matchLabels: {app: shop}}}}]
  strategy:
    type: STRATEGY
    FIELD:
      steps:
        - matchExpressions: [{key: env, operator: In, values: [canary]}]
        - {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 10}
  template:
    metadata: {name: 'shop-{{.name}}'}
    spec:
      project: default
      source: {repoURL: https://example.com/shop.git, path: deploy, targetRevision: v2}
      destination: {server: '{{.server}}', namespace: shop}
      syncPolicy: {automated: {selfHeal: true}}
";
const STAGED: &str = "apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: by-env}
spec:
  stages:
    - {name: canary, labelSelector: {matchLabels: {env: canary}}, maxConcurrency: 5}
    - {name: prod, labelSelector: {matchLabels: {env: prod}}, maxConcurrency: 20}
";
const PLACEMENT: &str = "kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: '', version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%, unavailablePeriodSeconds: 30}}
";

const STRATEGIES: [(&str, &str); 10] = [
    (
        "fleet",
        "rancherFleet: {maxUnavailable: 10%, autoPartitionThreshold: 1}",
    ),
    ("argo-rolling-sync", ARGO_CD),
    ("argo-proposal", "argoCdProposal: {file: proposal.yaml}"),
    ("kubefleet-staged", "kubeFleetStaged: {file: staged.yaml}"),
    (
        "kubefleet-rolling",
        "kubeFleetRolling: {file: placement.yaml}",
    ),
    (
        "cloud-foundry",
        "cloudFoundry: {strategy: rolling, maxInFlight: 10}",
    ),
    ("all-at-once", "allAtOnce: {}"),
    ("batches", "batches: {size: 20}"),
    ("doubling", "doubling: {first: 5}"),
    ("one-by-one", "oneByOne: {}"),
];

/// Simulates an update of 20 canaries and 80 other clusters, with 3 nodes each and the given faults, for every
/// strategy.
fn run_all(faults: &str, workloads: &str) -> Vec<(&'static str, RunRecord)> {
    run_all_with("", faults, workloads)
}

/// Like [`run_all`], with the given registry settings.
pub(super) fn run_all_with(
    registry: &str,
    faults: &str,
    workloads: &str,
) -> Vec<(&'static str, RunRecord)> {
    let strategies: String = STRATEGIES
        .iter()
        .map(|(name, strategy)| format!("  {name}: {{{strategy}}}\n"))
        .collect();
    let text = format!(
        "name: failures
seed: 5
replicates: 1
horizon: 24h
fleet:
  - {{name: \"c-{{01..20}}\", labels: {{app: shop, env: canary}}, region: east}}
  - {{name: \"p-{{01..30}}\", labels: {{app: shop, env: prod}}, region: east}}
  - {{name: \"p-{{31..80}}\", labels: {{app: shop, env: prod}}}}
regions: [{{name: east, bandwidth: 1 Gbit/s}}]
registry: {{{registry}}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 60 MB}}, {{size: 40 MB}}]}}}}]
  workloads: [{workloads}]
faults: {{{faults}}}
strategies:
{strategies}"
    );
    let files = [
        ("experiment.yaml", text.as_str()),
        (
            "rolling-sync.yaml",
            &ARGO
                .replace("STRATEGY", "RollingSync")
                .replace("FIELD", "rollingSync"),
        ),
        (
            "proposal.yaml",
            &ARGO
                .replace("STRATEGY", "RollingUpdate")
                .replace("FIELD", "rollingUpdate"),
        ),
        ("staged.yaml", STAGED),
        ("placement.yaml", PLACEMENT),
    ];
    let experiment = loaded(folder_with(&files).path());
    let run = |variant| {
        let run = sim::run(variant, experiment.seed, 0).expect("the strategy starts no process");
        nothing_is_lost(&run);
        run
    };
    STRATEGIES
        .iter()
        .zip(&experiment.variants)
        .map(|((name, _), variant)| (*name, run(variant)))
        .collect()
}

fn nothing_is_lost(record: &RunRecord) {
    let run = &record.run;
    assert_eq!(
        run.egress_bytes,
        run.received_bytes + run.lost_bytes,
        "bytes"
    );
    assert_eq!((run.targets, record.clusters.len()), (100, 100), "targets");
    assert_eq!(
        run.egress_bytes,
        record
            .clusters
            .iter()
            .map(|cluster| cluster.received_bytes)
            .sum::<u64>()
    );
    for bin in &record.series {
        assert_eq!(
            bin.ready_new + bin.updating + bin.not_ready + bin.waiting,
            100,
            "at {} s",
            bin.t_s
        );
    }
    assert_eq!(
        run.outcome == RunOutcome::Complete,
        run.targets_done == run.targets
    );
}

const POD: &str = "{kind: Deployment, image: shop, replicas: 2, readiness: {period: 5 s}}";
const DAEMON: &str = "{kind: DaemonSet, image: shop, readiness: {period: 5 s}}";

fn show(runs: &[(&str, RunRecord)]) -> String {
    let line = |(name, run): &(&str, RunRecord)| {
        let run = &run.run;
        format!(
            "{name}: {:?} {} done at {:.0} s; {}\n",
            run.outcome,
            run.targets_done,
            run.end_s,
            run.held()
        )
    };
    runs.iter().map(line).collect()
}

/// Asserts how the run of each strategy ends: its outcome, the number of finished targets, and the beginning of the
/// blocking rule. Every stalled run is detected long before the horizon.
#[track_caller]
fn ends(runs: &[(&str, RunRecord)], expected: &[(&str, RunOutcome, u64, &str)]) {
    assert_eq!(runs.len(), expected.len());
    for ((name, record), (expected_name, outcome, done, held_by)) in runs.iter().zip(expected) {
        let run = &record.run;
        assert_eq!(name, expected_name);
        let is_held = if held_by.is_empty() {
            run.held().is_empty()
        } else {
            run.held().starts_with(held_by)
        };
        let is_so = (run.outcome, run.targets_done) == (*outcome, *done) && is_held;
        assert!(
            is_so,
            "{name} should be {outcome:?} with {done} done, held by `{held_by}`:\n{}",
            show(runs)
        );
        // Under Cloud Foundry, an instance that keeps crashing is restarted from time to time, and a pass that finds
        // all such instances starting continues the rollout.
        let may_last =
            run.outcome == RunOutcome::Complete || (*outcome, *name) == (Horizon, "cloud-foundry");
        assert!(
            may_last || run.end_s < 2.0 * 3600.0,
            "{name} hangs until {} s",
            run.end_s
        );
    }
}

fn end_s(runs: &[(&str, RunRecord)], strategy: &str) -> f64 {
    runs.iter()
        .find(|(name, _)| *name == strategy)
        .expect("a strategy")
        .1
        .run
        .end_s
}

/// Longest time after which a strategy notices a change: after an hour without changes, KubeFleet's member agent polls
/// only every 900 s.
fn longest_look(strategy: &str) -> f64 {
    if strategy.starts_with("kubefleet") {
        900.0
    } else {
        0.0
    }
}

fn complete(runs: &[(&str, RunRecord)]) {
    for (name, record) in runs {
        assert_eq!(
            record.run.outcome,
            RunOutcome::Complete,
            "{name}:\n{}",
            show(runs)
        );
        assert!(
            record
                .clusters
                .iter()
                .all(|cluster| cluster.ready_s.is_some()),
            "{name}"
        );
    }
}

#[test]
fn an_outage_of_half_of_the_fleet_delays_every_rollout_but_stops_none() {
    let whole = run_all("", POD);
    complete(&whole);
    let cut = run_all(
        "regional: [{region: east, windows: [{from: 60 s, for: 1h}]}]",
        POD,
    );
    complete(&cut);
    let managed = run_all(
        "regional: [{region: east, windows: [{from: 60 s, for: 1h}], cuts: management}]",
        POD,
    );
    complete(&managed);
    for (name, _) in STRATEGIES {
        let (whole, cut, managed) = (
            end_s(&whole, name),
            end_s(&cut, name),
            end_s(&managed, name),
        );
        // The other half of the fleet continues meanwhile within its limit; no rollout finishes before the region is
        // back.
        let most = whole + 3600.0 + 1000.0 + longest_look(name);
        assert!(
            cut > 3660.0 && cut < most,
            "{name}: {cut} s, {whole} s without the outage"
        );
        assert!(
            managed <= cut && managed > 3660.0,
            "{name}: {managed} s when images still come, not {cut} s"
        );
    }
    // All clusters were instructed before the outage. They report as soon as they are back, unless they have to pull
    // something again.
    assert!(
        end_s(&managed, "all-at-once") < 3670.0,
        "{}",
        show(&managed)
    );
}

#[test]
fn a_registry_outage_of_an_hour_delays_every_rollout_but_stops_none() {
    let whole = run_all("", POD);
    let down = run_all_with("windows: [{from: 20 s, for: 1h, down: true}]", "", POD);
    complete(&down);
    assert!(
        down.iter().any(|(_, record)| record.run.lost_bytes > 0),
        "what had come is collected"
    );
    for ((name, down), (_, whole)) in down.iter().zip(&whole) {
        let (end, usual) = (down.run.end_s, whole.run.end_s);
        // The region is back at 3 620 s. A pull that failed meanwhile is retried at most 315 s after its last failure,
        // which takes up to 150 s: five connection attempts of 30 s each.
        let most = usual + 3600.0 + 470.0 * 2.0 + longest_look(name);
        assert!(
            end > 3620.0 && end < most,
            "{name}: {end} s, {usual} s without the outage"
        );
        assert!(down.run.failed_pulls > 0, "{name}");
    }
}

#[test]
fn ten_percent_permanently_offline_stop_a_rollout_at_its_limit() {
    let runs = run_all("offline: {share: 10%}", POD);
    let offline = runs[0]
        .1
        .clusters
        .iter()
        .filter(|cluster| cluster.offline)
        .count();
    assert_eq!(offline, 5, "of this seed: one canary and four others");
    ends(
        &runs,
        &[
            (
                "fleet",
                Stalled,
                71,
                "maxUnavailable: in partition `Partition 50 - 75`, 2 clusters",
            ),
            (
                "argo-rolling-sync",
                Stalled,
                19,
                "rollingSync.steps: step 1 is complete when all of it is Healthy",
            ),
            (
                "argo-proposal",
                Stalled,
                19,
                "rollingUpdate.steps: in step 1, not complete: 1 application",
            ),
            (
                "kubefleet-staged",
                Stalled,
                19,
                "stages: in stage `canary`, 1 cluster",
            ),
            ("kubefleet-rolling", Stalled, 95, "Available: 5 clusters"),
            (
                "cloud-foundry",
                Stalled,
                95,
                "routable: 95 of 100 new instances are routable",
            ),
            (
                "all-at-once",
                Stalled,
                95,
                "ready: 5 started target(s) not ready",
            ),
            (
                "batches",
                Stalled,
                19,
                "batch: 1 started target(s) not ready",
            ),
            (
                "doubling",
                Stalled,
                14,
                "doubling: 1 started target(s) not ready",
            ),
            (
                "one-by-one",
                Stalled,
                14,
                "batch: 1 started target(s) not ready",
            ),
        ],
    );
}

#[test]
fn all_products_but_argo_cd_complete_on_a_fleet_with_frequent_outages() {
    let outages =
        "outages: {between: {weibull: {mean: 2 h, shape: 0.75}}, repair: {median: 10m, sigma: 1}}";
    let mut runs = run_all(outages, POD);
    let (_, argo_cd) = runs.remove(1);
    complete(&runs);
    // A sync that a cluster misses is retried for eight minutes, at most twice, and then never again, even if the
    // cluster is back. Half of the repairs take longer than ten minutes, two of them on canaries.
    assert_eq!(argo_cd.run.outcome, Stalled);
    let held_by = "rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 2 applications (c-06, c-18)";
    assert!(
        argo_cd.run.held().contains("operation Failed"),
        "{}",
        argo_cd.run.held()
    );
    assert!(
        argo_cd.run.held().starts_with(held_by),
        "{}",
        argo_cd.run.held()
    );
}

#[test]
fn a_defect_stops_a_fleet_with_frequent_failures_like_any_other() {
    // There is no last outage, and future outages cannot help a rollout. So a run counts as stalled at the first time
    // at which no pending repair matters.
    let outages =
        "outages: {between: {weibull: {mean: 2 h, shape: 0.75}}, repair: {median: 5m, sigma: 1}}";
    let runs = run_all(&format!("{outages}, defect: {{share: 10%}}"), POD);
    ends(
        &runs,
        &[
            (
                "fleet",
                Stalled,
                16,
                "maxUnavailable: in partition `Partition 0 - 25`, 2 clusters",
            ),
            (
                "argo-rolling-sync",
                Stalled,
                18,
                "rollingSync.steps: step 1",
            ),
            (
                "argo-proposal",
                Stalled,
                18,
                "rollingUpdate.steps: in step 1",
            ),
            (
                "kubefleet-staged",
                Stalled,
                18,
                "stages: in stage `canary`, 2 clusters",
            ),
            ("kubefleet-rolling", Stalled, 91, "Available: 9 clusters"),
            (
                "cloud-foundry",
                Horizon,
                22,
                "unhealthy: 3 of 25 new instances are not healthy (3 crashed)",
            ),
            (
                "all-at-once",
                Stalled,
                91,
                "ready: 9 started target(s) not ready",
            ),
            (
                "batches",
                Stalled,
                18,
                "batch: 2 started target(s) not ready",
            ),
            (
                "doubling",
                Stalled,
                14,
                "doubling: 1 started target(s) not ready",
            ),
            (
                "one-by-one",
                Stalled,
                6,
                "batch: 1 started target(s) not ready",
            ),
        ],
    );
}

#[test]
fn a_missing_tag_blocks_indefinitely() {
    let runs = run_all("notFound: 10%", POD);
    ends(
        &runs,
        &[
            (
                "fleet",
                Stalled,
                5,
                "maxUnavailable: in partition `Partition 0 - 25`, 2 clusters (c-01, c-07)",
            ),
            (
                "argo-rolling-sync",
                Stalled,
                18,
                "rollingSync.steps: step 1",
            ),
            (
                "argo-proposal",
                Stalled,
                18,
                "rollingUpdate.steps: in step 1",
            ),
            (
                "kubefleet-staged",
                Stalled,
                18,
                "stages: in stage `canary`, 2 clusters",
            ),
            ("kubefleet-rolling", Stalled, 92, "Available: 8 clusters"),
            (
                "cloud-foundry",
                Horizon,
                8,
                "unhealthy: 2 of 10 new instances are not healthy (2 crashed)",
            ),
            (
                "all-at-once",
                Stalled,
                92,
                "ready: 8 started target(s) not ready",
            ),
            (
                "batches",
                Stalled,
                18,
                "batch: 2 started target(s) not ready",
            ),
            (
                "doubling",
                Stalled,
                4,
                "doubling: 1 started target(s) not ready",
            ),
            (
                "one-by-one",
                Stalled,
                0,
                "batch: 1 started target(s) not ready",
            ),
        ],
    );
    for (name, record) in &runs {
        let without = record
            .clusters
            .iter()
            .filter(|cluster| cluster.received_bytes == 0 && cluster.pulls > 0);
        assert!(
            without.count() > 0,
            "{name}: some were told and got nothing"
        );
    }
}

#[test]
fn a_late_defect_reaches_more_clusters_before_it_stops_a_rollout() {
    let at_once = run_all("defect: {share: 10%, kind: unready}", POD);
    let late = run_all(
        "defect: {share: 10%, kind: unready, detectedAfter: {min: 30 s, max: 5m}}",
        POD,
    );
    ends(
        &late,
        &[
            (
                "fleet",
                Stalled,
                18,
                "maxUnavailable: in partition `Partition 0 - 25`, 2 clusters",
            ),
            // An application that was once Healthy stays so for RollingSync, so no step notices.
            (
                "argo-rolling-sync",
                Stalled,
                91,
                "applicationStatus: the rollout is complete",
            ),
            (
                "argo-proposal",
                Stalled,
                35,
                "rollingUpdate.steps: in step 1",
            ),
            (
                "kubefleet-staged",
                Stalled,
                91,
                "stages: in stage `prod`, 2 clusters",
            ),
            ("kubefleet-rolling", Stalled, 91, "Available: 9 clusters"),
            (
                "cloud-foundry",
                Stalled,
                35,
                "unhealthy: 5 of 40 new instances are not healthy",
            ),
            (
                "all-at-once",
                Stalled,
                91,
                "ready: 9 started target(s) not ready",
            ),
            (
                "batches",
                Stalled,
                35,
                "batch: 5 started target(s) not ready",
            ),
            // Waves of 5, 10, 20 and 40 clusters start before the first defect shows; 8 of the 75 clusters are
            // defective.
            (
                "doubling",
                Stalled,
                67,
                "doubling: 8 started target(s) not ready",
            ),
            (
                "one-by-one",
                Stalled,
                12,
                "batch: 1 started target(s) not ready",
            ),
        ],
    );
    for ((name, late), (_, at_once)) in late.iter().zip(&at_once) {
        assert!(
            at_once.run.outcome == Stalled && at_once.run.end_s < 7200.0,
            "{name} at {} s",
            at_once.run.end_s
        );
        assert!(
            late.run.exposed_targets >= at_once.run.exposed_targets,
            "{name}"
        );
        let told = late
            .clusters
            .iter()
            .filter(|cluster| cluster.defective && cluster.instructed_s.is_some())
            .count();
        assert_eq!(
            late.run.exposed_targets, told as u64,
            "{name}: each defective cluster that was told counts once"
        );
    }
    let exposed = |runs: &[(&str, RunRecord)], at: usize| runs[at].1.run.exposed_targets;
    assert_eq!(
        (exposed(&at_once, 1), exposed(&late, 1)),
        (2, 9),
        "RollingSync goes through to the end"
    );
}

#[test]
fn lost_nodes_are_replaced_under_a_deployment_and_waited_for_under_a_daemon_set() {
    let loss = "nodeLoss: {between: {mean: 12h}, repair: {median: 15m, sigma: 0.5}}";
    let pods = run_all(loss, POD);
    complete(&pods);
    let daemons = run_all(loss, DAEMON);
    for (name, _) in STRATEGIES {
        assert!(
            end_s(&daemons, name) > end_s(&pods, name),
            "{name}:\n{}\n{}",
            show(&pods),
            show(&daemons)
        );
    }
    // There are 300 nodes, each of which is lost for 15 min twice a day, so some cluster is nearly always not ready.
    // Strategies that need all clusters to be ready simultaneously take hours; the slowest reaches the horizon.
    let (_, last) = daemons.last().expect("one by one");
    assert_eq!(
        (last.run.outcome, last.run.end_s),
        (RunOutcome::Horizon, 86_400.0)
    );
    assert!(
        last.run.held().starts_with("batch: "),
        "{}",
        last.run.held()
    );
}

#[test]
fn slow_clusters_delay_rollouts_but_stop_none() {
    let (even, slow) = (
        run_all("", POD),
        run_all("slow: {share: 10%, factor: 10}", POD),
    );
    complete(&slow);
    for (name, _) in STRATEGIES {
        assert!(end_s(&slow, name) > end_s(&even, name), "{name}");
    }
    ends(&slow[6..7], &[("all-at-once", Complete, 100, "")]);
}

#[test]
fn every_strategy_meets_the_same_failures() {
    let runs = run_all(
        "offline: {share: 10%}, defect: {share: 10%}, outages: {between: {mean: 1h}, repair: 1h}",
        POD,
    );
    let lots = |record: &RunRecord| -> Vec<(bool, bool)> {
        record
            .clusters
            .iter()
            .map(|cluster| (cluster.offline, cluster.defective))
            .collect()
    };
    for (name, record) in &runs {
        assert_eq!(lots(record), lots(&runs[0].1), "{name}");
    }
}
