//! Later releases in complete simulations of small fleets, under the strategy of every product.
//!
//! A return to the installed release in mid-rollout must end with all targets on it, and a release after that with all
//! targets on that one. What the targets run is what their agents reported last, not what the product says.
//!
//! Left out: releases of a third revision, which the recorded rollouts have ([`super::recording`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::engine::Observer;
use crate::results::{RunOutcome, RunRecord};
use crate::rollout::Revision;
use crate::scenario::{self, Overrides};
use crate::sim;
use crate::units::SimTime;
use crate::world::{AgentEvent, Event, NEW, OLD, TargetId};

/// The number of clusters in the fleet.
const CLUSTERS: u64 = 12;

/// An update of twelve clusters, two of which are in the ring `canary`.
struct ReleaseStory {
    /// The strategy, with its product.
    strategy: &'static str,
    /// What people do.
    changes: String,
    /// What fails.
    faults: &'static str,
}

/// The end of a story.
struct EndedStory {
    record: RunRecord,
    /// The revision that each target reported as ready last. A target without a report never changed.
    ready: BTreeMap<TargetId, Option<Revision>>,
    /// Number of targets that were ever ready on the new revision.
    updated: usize,
}

impl ReleaseStory {
    fn play(&self) -> EndedStory {
        let Self {
            strategy,
            changes,
            faults,
        } = self;
        let text = format!(
            "name: releases
question: Does everything go back?
seed: 5
replicates: 1
horizon: 12h
fleet:
  - {{name: 'c-{{1..2}}', nodes: 1, labels: {{ring: canary}}}}
  - {{name: 'd-{{01..10}}', nodes: 1, labels: {{ring: rest}}}}
release:
  kind: update
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, readiness: {{initialDelay: 2 min, period: 10 s}}}}]
strategies:
  tested: {strategy}
changes: {changes}
faults: {{{faults}}}
"
        );
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("experiment.yaml"), text).expect("written");
        let experiment = scenario::load(folder.path(), &Overrides::default())
            .unwrap_or_else(|error| panic!("{strategy}: {error}"));
        let mut seen = SeenReports::default();
        let variant = &experiment.variants[0];
        let record = sim::run_observed(variant, experiment.seed, 0, &mut seen)
            .expect("the strategy starts no process");
        EndedStory {
            record,
            ready: seen.ready,
            updated: seen.updated.len(),
        }
    }
}

/// The reports of the agents that have arrived so far.
#[derive(Default)]
struct SeenReports {
    /// The revision that each target reported as ready last.
    ready: BTreeMap<TargetId, Option<Revision>>,
    /// Targets that were ever ready on the new revision.
    updated: BTreeSet<TargetId>,
}

impl Observer<Event> for SeenReports {
    fn observe(&mut self, _now: SimTime, event: &Event) {
        if let Event::Agent(AgentEvent::ReportArrives(report)) = event {
            let ready = report.ready.then_some(report.applied);
            self.ready.insert(report.target, ready);
            if ready == Some(NEW) {
                self.updated.insert(report.target);
            }
        }
    }
}

/// A strategy, and the minutes until the release is taken back.
struct Tested {
    strategy: &'static str,
    minutes: u32,
}

impl Tested {
    /// Returns the seconds from the rollback until the next release, when the rollback is in progress.
    const fn seconds_until_next(&self) -> u32 {
        if self.minutes <= 2 { 1 } else { 180 }
    }
}

const fn tested(strategy: &'static str, minutes: u32) -> Tested {
    Tested { strategy, minutes }
}

/// Strategies that are in mid-rollout after these minutes: pods are ready after two minutes.
const STRATEGIES: &[Tested] = &[
    tested("{oneByOne: {}}", 20),
    tested("{batches: {size: 3}}", 6),
    tested("{doubling: {first: 1}}", 6),
    tested("{allAtOnce: {}}", 1),
    tested("{rancherFleet: {maxUnavailable: 1}}", 20),
    tested("{rancherFleet: {}}", 1),
    tested(
        "{argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [
            {matchExpressions: [{key: ring, operator: In, values: [canary]}]},
            {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: 1}]}}}}",
        20,
    ),
    tested("{argoCd: {}}", 1),
    tested(
        "{argoCd: {release: commit, strategy: {type: RollingSync, rollingSync: {steps: [
            {matchExpressions: [{key: ring, operator: In, values: [canary]}]},
            {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: 1}]}}}}",
        20,
    ),
    tested("{argoCd: {release: commit}}", 2),
    tested("{argoCd: {release: parameters}}", 1),
    tested(
        "{argoCdProposal: {strategy: {type: RollingUpdate, rollingUpdate: {steps: [
            {matchExpressions: [{key: ring, operator: In, values: [canary]}]},
            {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: 1}]}}}}",
        20,
    ),
    tested(STAGED, 20),
    tested("{kubeFleetRolling: {maxUnavailable: 1, maxSurge: 0}}", 20),
    tested("{cloudFoundry: {maxInFlight: 1}}", 20),
    tested(
        "{cloudFoundry: {strategy: canary, maxInFlight: 2, canarySteps: [{instance_weight: 50}],
            continueAfter: 1 min}}",
        8,
    ),
];

/// Checks that the rollout has ended with every target ready on a revision.
fn assert_all_run(ended: &EndedStory, revision: Revision, strategy: &str) {
    let EndedStory { record, ready, .. } = ended;
    let run = &record.run;
    assert_eq!(run.outcome, RunOutcome::Complete, "{strategy}: {run:?}");
    assert_eq!(run.targets_done, CLUSTERS, "{strategy}");
    for (target, last) in ready {
        assert_eq!(*last, Some(revision), "{strategy}: {target:?}");
    }
}

#[test]
fn after_a_rollback_in_mid_rollout_every_target_is_done_on_the_installed_revision() {
    for Tested { strategy, minutes } in STRATEGIES {
        let story = ReleaseStory {
            strategy,
            changes: format!("[{{after: {minutes} min, release: installed}}]"),
            faults: "",
        };
        let ended = story.play();
        println!(
            "{strategy}: {} were updated, complete after {:?}",
            ended.updated, ended.record.run.reachable_ready_s
        );
        assert_all_run(&ended, OLD, strategy);
        let rollback = f64::from(*minutes) * 60.0;
        let end = ended.record.run.reachable_ready_s.expect("it is complete");
        assert!(end >= rollback, "{strategy}: {end} s, before the rollback");
        let reported = ended.record.run.reported_s;
        let is_product = ["argoCd", "rancher", "kubeFleet", "cloudFoundry"];
        if is_product.iter().any(|product| strategy.contains(product)) {
            assert!(reported >= Some(rollback), "{strategy}: {reported:?}");
        }
        // In KubeFleet, the run of the release goes on below that of the rollback.
        let goes_on = strategy.starts_with("{kubeFleetStaged");
        assert!(
            goes_on || ended.updated < CLUSTERS as usize,
            "{strategy}: the rollout was over before"
        );
    }
}

/// Two stages with one cluster at a time.
const STAGED: &str = "{kubeFleetStaged: {stages: [
            {name: canary, labelSelector: {matchLabels: {ring: canary}}},
            {name: rest, labelSelector: {matchLabels: {ring: rest}}}]}}";

#[test]
fn an_update_run_goes_on_below_a_newer_one_unless_a_person_stops_it() {
    let release = "{after: 1201 s, release: installed}";
    let goes_on = ReleaseStory {
        strategy: STAGED,
        changes: format!("[{release}]"),
        faults: "",
    };
    let ended = goes_on.play();
    assert_all_run(&ended, OLD, STAGED);
    assert_eq!(ended.updated, CLUSTERS as usize, "no run knows of another");
    let stopped = ReleaseStory {
        strategy: STAGED,
        changes: format!("[{{after: 20 min, stop: true}}, {release}]"),
        faults: "",
    };
    let ended = stopped.play();
    assert_all_run(&ended, OLD, STAGED);
    assert!(
        ended.updated < CLUSTERS as usize,
        "the run of the release has stopped: {}",
        ended.updated
    );
}

#[test]
fn a_release_after_a_rollback_reaches_every_target() {
    for tested in STRATEGIES {
        let Tested { strategy, minutes } = tested;
        let later = minutes * 60 + tested.seconds_until_next();
        let story = ReleaseStory {
            strategy,
            changes: format!(
                "[{{after: {minutes} min, release: installed}}, {{after: {later} s, release: new}}]"
            ),
            faults: "",
        };
        let ended = story.play();
        println!(
            "{strategy}: complete after {:?}",
            ended.record.run.reachable_ready_s
        );
        assert_all_run(&ended, NEW, strategy);
        assert_eq!(ended.ready.len() as u64, CLUSTERS, "{strategy}");
    }
}

#[test]
fn targets_whose_apply_fails_go_back_and_are_done() {
    let steps = "{argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [
            {matchExpressions: [{key: ring, operator: In, values: [canary, rest]}], maxUpdate: 6}]}}}}";
    let cases = [
        ("{rancherFleet: {maxUnavailable: 6}}", "immutable"),
        ("{rancherFleet: {maxUnavailable: 6}}", "rejected"),
        (steps, "rejected"),
        (steps, "hook"),
        ("{argoCd: {}}", "hook"),
        ("{kubeFleetRolling: {maxUnavailable: 6}}", "rejected"),
        (STAGED, "immutable"),
        ("{batches: {size: 6}}", "rejected"),
    ];
    for (strategy, kind) in cases {
        let faults = match kind {
            "immutable" => "apply: [{share: 100%, kind: immutable}]",
            "hook" => "apply: [{share: 100%, kind: hook}]",
            _ => "apply: [{share: 100%, kind: rejected}]",
        };
        let story = ReleaseStory {
            strategy,
            changes: "[{after: 4 min, release: installed}]".to_owned(),
            faults,
        };
        let ended = story.play();
        assert_all_run(&ended, OLD, &format!("{strategy}, {kind}"));
        assert_eq!(ended.updated, 0, "{strategy}: all applies of it fail");
    }
}

#[test]
fn a_rollback_in_a_rolling_update_binds_every_cluster_again_and_applies_only_where_needed() {
    let story = ReleaseStory {
        strategy: "{kubeFleetRolling: {maxUnavailable: 1, maxSurge: 0}}",
        changes: "[{after: 20 min, release: installed}]".to_owned(),
        faults: "",
    };
    let ended = story.play();
    assert_all_run(&ended, OLD, story.strategy);
    let began = ended.ready.len() as u64;
    assert!(began < CLUSTERS, "some clusters never had the release");
    assert_eq!(
        ended.record.run.promotions,
        began + CLUSTERS,
        "once to the release, and all of them back"
    );
}

#[test]
fn a_revert_reaches_only_applications_that_have_the_commit() {
    for (strategy, within_s) in [
        ("{argoCd: {release: commit}}", 300.0),
        ("{argoCd: {release: commit, webhook: true}}", 5.0),
    ] {
        let story = ReleaseStory {
            strategy,
            changes: "[{after: 1 min, release: installed}]".to_owned(),
            faults: "",
        };
        let ended = story.play();
        assert_all_run(&ended, OLD, strategy);
        let end = ended.record.run.reachable_ready_s.expect("it is complete");
        assert!(
            (60.0..60.0 + within_s).contains(&end),
            "{strategy}: {end} s"
        );
        let synced = ended.ready.len() as u64;
        let has_webhook = within_s < 10.0;
        assert_eq!(
            synced == CLUSTERS,
            has_webhook,
            "{strategy}: {synced} were synced"
        );
    }
}

#[test]
fn a_stop_cancels_a_deployment_and_a_resumption_continues_a_canary() {
    let cancelled = ReleaseStory {
        strategy: "{cloudFoundry: {maxInFlight: 1}}",
        changes: "[{after: 20 min, stop: true}]".to_owned(),
        faults: "",
    };
    let ended = cancelled.play();
    assert_eq!(ended.record.run.held_by, "cancel");
    assert!((1..CLUSTERS as usize).contains(&ended.updated));
    for (target, last) in &ended.ready {
        assert_eq!(*last, Some(OLD), "{target:?} is back");
    }
    let continued = ReleaseStory {
        strategy: "{cloudFoundry: {strategy: canary, maxInFlight: 12}}",
        changes: "[{after: 20 min, stop: false}]".to_owned(),
        faults: "",
    };
    let ended = continued.play();
    assert_all_run(&ended, NEW, continued.strategy);
    let end = ended.record.run.reachable_ready_s.expect("it is complete");
    // The next pass begins within 5 s, and pods are ready after two minutes.
    assert!((1_320.0..1_340.0).contains(&end), "{end} s");
}

#[test]
fn a_deployment_without_room_in_the_quota_is_refused() {
    let story = ReleaseStory {
        strategy: "{cloudFoundry: {maxInFlight: 1, quota: {organization: {name: shops, totalInstances: 13}}}}",
        changes: "[{after: 20 min, release: installed}]".to_owned(),
        faults: "",
    };
    let ended = story.play();
    let run = &ended.record.run;
    assert_eq!((run.outcome, run.targets_done), (RunOutcome::Stalled, 0));
    assert_eq!(run.held_by, "quota");
    assert!(
        run.held_detail
            .contains("app_instance_limit_exceeded for organization shops"),
        "{}",
        run.held_detail
    );
    assert_eq!(
        ended.updated, CLUSTERS as usize,
        "the deployment in progress goes on"
    );
}
