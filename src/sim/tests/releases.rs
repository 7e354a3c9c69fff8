//! Later releases in complete simulations of small fleets, under the strategy of every product.
//!
//! A return to the installed release in mid-rollout must end with all targets on it, and a release after that with all
//! targets on that one. What the targets run is what their agents reported last, not what the product says.
//!
//! Left out: releases of a third revision, which the recorded rollouts have ([`super::recording`]).

use std::collections::BTreeMap;
use std::fs;

use crate::results::{RunOutcome, RunRecord};
use crate::rollout::Revision;
use crate::scenario::{self, Overrides};
use crate::sim;
use crate::world::{AgentEvent, Event, NEW, OLD, TargetId};

/// The number of clusters in the fleet.
const CLUSTERS: u64 = 12;

/// An update of twelve clusters, two of which are in the ring `canary`.
struct ReleaseStory {
    /// The strategy, with its product.
    strategy: &'static str,
    /// What people do.
    changes: String,
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
        let Self { strategy, changes } = self;
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
"
        );
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("experiment.yaml"), text).expect("written");
        let experiment = scenario::load(folder.path(), &Overrides::default())
            .unwrap_or_else(|error| panic!("{strategy}: {error}"));
        let mut ready = BTreeMap::new();
        let mut updated = std::collections::BTreeSet::new();
        let mut observer = |_, event: &Event| {
            if let Event::Agent(AgentEvent::ReportArrives(report)) = event {
                ready.insert(report.target, report.ready.then_some(report.applied));
                if report.ready && report.applied == NEW {
                    updated.insert(report.target);
                }
            }
        };
        let variant = &experiment.variants[0];
        let record = sim::run_observed(variant, experiment.seed, 0, &mut observer)
            .expect("the strategy starts no process");
        EndedStory {
            record,
            ready,
            updated: updated.len(),
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
        "{cloudFoundry: {strategy: canary, maxInFlight: 2, canarySteps: [{instance_weight: 50}], continueAfter: 1 min}}",
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
        };
        let ended = story.play();
        println!(
            "{strategy}: {} were updated, complete after {:?}",
            ended.updated, ended.record.run.reachable_ready_s
        );
        assert_all_run(&ended, OLD, strategy);
        let end = ended.record.run.reachable_ready_s.expect("it is complete");
        assert!(
            end >= f64::from(*minutes) * 60.0,
            "{strategy}: {end} s, before the rollback"
        );
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
    };
    let ended = goes_on.play();
    assert_all_run(&ended, OLD, STAGED);
    assert_eq!(ended.updated, CLUSTERS as usize, "no run knows of another");
    let stopped = ReleaseStory {
        strategy: STAGED,
        changes: format!("[{{after: 20 min, stop: true}}, {release}]"),
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
