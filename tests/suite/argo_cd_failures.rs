//! Failures under Argo CD, in complete simulations of small fleets whose times can be computed by hand.
//!
//! In all simulations, a sync takes 1 s in a cluster that answers, and news takes 1 s, so that no operation begins in
//! the second of its promotion (Argo CD would not count it). Passes and comparisons take some hundred milliseconds.
//! Neither the client nor the CPU of the application controller limits syncs.

use fleetsim::results::{ClusterRow, RunOutcome, RunRecord};

use super::common::first_run;

/// Steps with ten canaries first, and then twenty other clusters.
const STEPS: &str = "strategy: {type: RollingSync, rollingSync: {steps: [
      {matchExpressions: [{key: env, operator: In, values: [canary]}]},
      {matchExpressions: [{key: env, operator: In, values: [prod]}]}]}}";
const FLEET: &str = "
  - {name: 'canary-{01..10}', labels: {env: canary}}
  - {name: 'prod-{01..20}', labels: {env: prod}}";
const DEPLOYMENT: &str = "{kind: Deployment, image: shop, readiness: {period: 10 s}}";

struct Story<'a> {
    fleet: &'static str,
    workload: &'static str,
    faults: &'static str,
    /// The settings of `argoCd`, as YAML.
    strategy: String,
    /// The content of `applicationset.yaml`, if the strategy names it.
    set: &'a str,
    apply: &'static str,
    syncs_per_second: u64,
}

impl Story<'_> {
    fn new(faults: &'static str) -> Self {
        let (strategy, syncs_per_second) = (STEPS.to_owned(), 1_000_000_000_000);
        Self {
            fleet: FLEET,
            workload: DEPLOYMENT,
            faults,
            strategy,
            set: "",
            apply: "1 s",
            syncs_per_second,
        }
    }

    fn play(&self) -> RunRecord {
        let Self {
            fleet,
            workload,
            faults,
            strategy,
            set,
            apply,
            syncs_per_second,
        } = self;
        let text = format!(
            "name: failures
question: What does a failure do?
seed: 5
replicates: 1
horizon: 24h
fleet: {fleet}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{workload}]
faults: {faults}
agent: {{instructionDelay: 0 s, apply: {apply}, applySpread: 0, reportDelay: 0 s}}
controller: {{request: 10 ms, watchDelay: 1 s}}
strategies:
  tested:
    argoCd:
      {strategy}
      applicationController: {{clientQps: 0, syncsPerSecond: {syncs_per_second}}}
"
        );
        first_run(&[("experiment.yaml", &text), ("applicationset.yaml", set)])
    }
}

fn offline<'r>(record: &'r RunRecord, step: &str) -> Vec<&'r ClusterRow> {
    record
        .clusters
        .iter()
        .filter(|row| row.offline && row.stage == step)
        .collect()
}

fn last_told(record: &RunRecord) -> f64 {
    record
        .clusters
        .iter()
        .filter_map(|row| row.instructed_s)
        .max_by(f64::total_cmp)
        .expect("some cluster was told")
}

#[test]
fn an_offline_canary_fails_twice_after_six_attempts_and_blocks_its_step() {
    let record = Story::new("{offline: {share: 40%}}").play();
    let lost = offline(&record, "step 1").len();
    assert!(
        (1..10).contains(&lost),
        "{lost}: some canaries are offline, not all"
    );
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    let held = &record.run.held();
    assert!(
        held.starts_with(
            "rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: "
        ),
        "{held}"
    );
    // The application's sync and health are as before the release; only the operation shows the failure.
    assert!(
        held.contains("Progressing, OutOfSync, Healthy, operation Failed (retries are used up); 20 applications"),
        "{held}"
    );
    assert_eq!(
        record.run.targets_done,
        10 - lost as u64,
        "the step's others arrive, and no other step begins"
    );
    // Six connections time out after 30 s each; the waits between them are 10 + 20 + 40 + 80 + 160 s.
    let failed = 6.0 * 30.0 + 310.0;
    // The pass that sees the failure also moves the row out of Pending, and requests the sync once more. A pass that
    // gives up after five conflicts is repeated, which takes up to a second each time.
    assert!(
        (2.0 * failed..2.0 * failed + 12.0).contains(&record.run.end_s),
        "ends at {} s",
        record.run.end_s
    );
    let once = format!("options: {{triggerOnce: true}}\n      {STEPS}");
    let once = Story {
        strategy: once,
        ..Story::new("{offline: {share: 40%}}")
    }
    .play();
    assert!(
        (failed..failed + 8.0).contains(&once.run.end_s),
        "as argoproj/argo-cd#21502 wants it: {}",
        once.run.end_s
    );
}

#[test]
fn a_cluster_that_returns_between_two_attempts_is_synced_by_the_next() {
    let record = Story::new("{offline: {share: 40%, return: 50 s}}").play();
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{}",
        record.run.held()
    );
    let canaries = offline(&record, "step 1");
    assert!(!canaries.is_empty(), "else nothing is shown");
    for canary in canaries {
        let tried = canary
            .instructed_s
            .expect("the first attempt is the one that is remembered");
        // The first passes may give up after five conflicts each.
        assert!(tried < 8.0, "{}: {tried}", canary.cluster);
        // The sync is retried after 30 + 10 s, and after another 30 + 20 s; applying takes 1 s.
        let applied = canary.applied_s.expect("applied");
        assert!(
            (applied - tried - 91.0).abs() < 0.01,
            "{}: {tried}, {applied}",
            canary.cluster
        );
    }
}

#[test]
fn an_attempt_fails_if_its_cluster_is_cut_off_while_requests_wait() {
    // One sync per second, in the order of names: most of the 30 attempts have begun and are waiting when all clusters
    // are cut off.
    let faults = "{regional: [{selector: {}, windows: [{from: 15 s, for: 60 s}]}]}";
    let record = Story {
        strategy: "autoSync: true".to_owned(),
        syncs_per_second: 1,
        ..Story::new(faults)
    }
    .play();
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{}",
        record.run.held()
    );
    let before = record
        .clusters
        .iter()
        .filter(|row| row.applied_s.is_some_and(|at| at < 15.0))
        .count();
    assert!(
        (1..30).contains(&before),
        "{before}: some have it before the cut, not all"
    );
}

#[test]
fn a_cluster_that_returns_after_its_operation_failed_stays_unsynced() {
    for strategy in [STEPS, "autoSync: true"] {
        let story = Story {
            strategy: strategy.to_owned(),
            ..Story::new("{offline: {share: 40%, return: 20m}}")
        };
        let record = story.play();
        assert_eq!(record.run.outcome, RunOutcome::Stalled, "{strategy}");
        let held = &record.run.held();
        assert!(
            held.contains("OutOfSync, Healthy, operation Failed"),
            "{strategy}: {held}"
        );
        let back = record
            .clusters
            .iter()
            .filter(|row| row.offline && row.instructed_s.is_some());
        assert!(
            back.map(|row| assert_eq!(row.applied_s, None, "{}", row.cluster))
                .count()
                > 0,
            "{strategy}"
        );
        assert!(
            (1200.0..1210.0).contains(&record.run.end_s),
            "nothing happens once all are back"
        );
    }
}

/// A real file whose template repeats failed syncs indefinitely.
const ENDLESS: &str = "kind: ApplicationSet
spec:
  generators: [{git: {}}]
  template: {spec: {syncPolicy: {automated: {}, retry: {limit: -1}}}}
";

/// Like [`ENDLESS`], but with steps, and with a generator that has no timer.
const ENDLESS_STEPS: &str = "kind: ApplicationSet
spec:
  generators: [{clusters: {}}]
  strategy: {type: RollingSync, rollingSync: {steps: [
    {matchExpressions: [{key: env, operator: In, values: [canary]}]},
    {matchExpressions: [{key: env, operator: In, values: [prod]}]}]}}
  template: {spec: {syncPolicy: {automated: {}, retry: {limit: -1}}}}
";

#[test]
fn a_sync_with_unlimited_retries_outlasts_an_outage() {
    for set in [ENDLESS, ENDLESS_STEPS] {
        // All canaries are offline for the first twenty minutes after the release.
        let regional = "{regional: [{selector: {matchLabels: {env: canary}}, windows: [{from: 0 s, for: 20m}]}]}";
        let story = Story {
            strategy: "generate: false\n      file: applicationset.yaml".to_owned(),
            set,
            ..Story::new(regional)
        };
        let record = story.play();
        assert_eq!(
            record.run.outcome,
            RunOutcome::Complete,
            "at {} s: {}",
            record.run.end_s,
            record.run.held()
        );
        for canary in record.clusters.iter().filter(|row| row.offline) {
            let span = canary.applied_s.expect("applied")
                - canary.instructed_s.expect("the first attempt");
            // Nine attempts take 30 s each, and the waits between them are 10 + 20 + 40 + 80 + 160 + 4 · 180 s. The
            // tenth attempt reaches the cluster, and applying takes 1 s. Ten canaries leave a processor for each
            // attempt, unless other applications sync too.
            let alone = 270.0 + 1030.0 + 1.0;
            let wait = if set == ENDLESS { 30.0 } else { 0.01 };
            assert!(
                (-0.01..wait).contains(&(span - alone)),
                "{}: {span} s",
                canary.cluster
            );
        }
    }
}

#[test]
fn only_the_configured_backoff_decides_whether_an_outage_is_outlasted() {
    // All canaries are offline for the first five minutes after the release. A connection times out after 30 s, and an
    // attempt is retried twice. Each case states when the attempt that reaches the cluster begins, or how long the
    // operation runs if no attempt reaches it.
    let cases = [
        // template's backoff, seconds to the successful attempt, or to the end
        ("", Err(3 * 30 + 10 + 20)),
        ("backoff: {duration: 2m}", Ok(2 * (30 + 180))),
        ("backoff: {duration: 2m, factor: 1}", Ok(2 * (30 + 120))),
        (
            "backoff: {duration: '120', maxDuration: 1m}",
            Err(3 * 30 + 2 * 60),
        ),
        (
            "backoff: {duration: 3750ms, factor: 8, maxDuration: 10m}",
            Ok(30 + 30 + 30 + 240),
        ),
        (
            "backoff: {duration: 3750ms, factor: 8}",
            Err(3 * 30 + 30 + 180),
        ),
        (
            "backoff: {duration: 4m, factor: 1, maxDuration: 1h}",
            Ok(2 * (30 + 240)),
        ),
        (
            "backoff: {duration: 4m, factor: 0, maxDuration: 1h}",
            Err(3 * 30),
        ),
    ];
    for (backoff, expected) in cases {
        let set = ENDLESS_STEPS.replace("limit: -1", &format!("limit: 2, {backoff}"));
        let regional = "{regional: [{selector: {matchLabels: {env: canary}}, windows: [{from: 0 s, for: 5m}]}]}";
        let strategy =
            "generate: false\n      file: applicationset.yaml\n      options: {triggerOnce: true}"
                .to_owned();
        let record = Story {
            strategy,
            set: &set,
            ..Story::new(regional)
        }
        .play();
        let held = &record.run.held();
        match expected {
            Ok(seconds) => {
                assert_eq!(
                    record.run.outcome,
                    RunOutcome::Complete,
                    "{backoff}: {held}"
                );
                for canary in record.clusters.iter().filter(|row| row.offline) {
                    let span = canary.applied_s.expect("applied")
                        - canary.instructed_s.expect("the first attempt");
                    // The span also includes 1 s for applying.
                    assert!(
                        (span - 1.0 - f64::from(seconds)).abs() < 0.01,
                        "{backoff}: {span} s"
                    );
                }
            }
            Err(seconds) => {
                assert_eq!(record.run.outcome, RunOutcome::Stalled, "{backoff}");
                assert!(held.contains("operation Failed"), "{backoff}: {held}");
                assert!(
                    seconds < 301,
                    "{backoff}: all attempts were during the outage"
                );
                assert_eq!(record.run.targets_done, 0, "{backoff}");
            }
        }
    }
}

#[test]
fn rows_that_no_pass_updates_do_not_keep_a_run_alive() {
    // There are fifteen clusters for ten processors: when the last clusters are tried for the first time, the first
    // ones have been compared again, so that a pass would set their rows to Progressing. However, the first operation
    // of an application does not queue a pass.
    let story = Story {
        fleet: "
  - {name: 'canary-{01..15}', labels: {env: canary}}
  - {name: 'prod-{01..20}', labels: {env: prod}}",
        strategy: "generate: false\n      file: applicationset.yaml".to_owned(),
        set: ENDLESS_STEPS,
        ..Story::new("{offline: {share: 100%}}")
    };
    let record = story.play();
    assert_eq!(
        record.run.outcome,
        RunOutcome::Stalled,
        "{}",
        record.run.held()
    );
    let held = &record.run.held();
    assert!(
        held.starts_with(
            "rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: "
        ),
        "{held}"
    );
    assert!(record.run.end_s < 120.0, "ends at {} s", record.run.end_s);
}

#[test]
fn a_sync_with_unlimited_retries_waits_for_a_cluster_but_the_run_ends() {
    let endless = |faults| Story {
        strategy: "generate: false\n      file: applicationset.yaml".to_owned(),
        set: ENDLESS,
        ..Story::new(faults)
    };
    let back = endless("{offline: {share: 40%, return: 20m}}").play();
    assert_eq!(
        back.run.outcome,
        RunOutcome::Complete,
        "at {} s: {}",
        back.run.end_s,
        back.run.held()
    );
    // The longest wait between two attempts is 180 s, and an attempt takes 30 s.
    assert!(
        (1200.0..1200.0 + 240.0).contains(&back.run.end_s),
        "ends at {} s",
        back.run.end_s
    );
    let gone = endless("{offline: {share: 40%}}").play();
    assert_eq!(
        gone.run.outcome,
        RunOutcome::Stalled,
        "attempts that must fail and the generator's timer are no life"
    );
    assert!(
        gone.run.held().contains("operation Running"),
        "{}",
        gone.run.held()
    );
}

#[test]
fn a_defective_release_is_degraded_after_the_deadline_and_blocks_its_step() {
    let deployment =
        "{kind: Deployment, image: shop, readiness: {period: 10 s}, progressDeadline: 5m}";
    let daemon_set = "{kind: DaemonSet, image: shop, termination: 2 s, readiness: {period: 10 s}}";
    for (workload, health, seconds) in [
        (DEPLOYMENT, "Degraded", 600.0),
        (deployment, "Degraded", 300.0),
        (daemon_set, "Progressing", 30.0),
    ] {
        let record = Story {
            workload,
            ..Story::new("{defect: {share: 30%}}")
        }
        .play();
        let held = &record.run.held();
        // Crash loops continue indefinitely; pods that no probe reports as ready do not change that.
        assert_eq!(
            record.run.outcome,
            RunOutcome::Stalled,
            "{workload}: {held}"
        );
        let state = format!("Progressing, Synced, {health}, operation Succeeded");
        assert!(
            held.starts_with("rollingSync.steps: step 1") && held.contains(&state),
            "{workload}: {held}"
        );
        // The sync, its pods and the news of them take some seconds more.
        assert!(
            (seconds..seconds + 60.0).contains(&record.run.end_s),
            "{workload}: ends at {} s",
            record.run.end_s
        );
        assert!(
            record
                .clusters
                .iter()
                .filter(|row| row.stage == "step 2")
                .all(|row| row.instructed_s.is_none())
        );
    }
}

#[test]
fn a_rollout_continues_when_a_degraded_application_becomes_ready() {
    let slow = "{kind: Deployment, image: shop, start: 2m, readiness: {period: 10 s}, progressDeadline: 30 s}";
    let record = Story {
        workload: slow,
        ..Story::new("{}")
    }
    .play();
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{}",
        record.run.held()
    );
    let quick = Story {
        workload: "{kind: Deployment, image: shop, start: 2m, readiness: {period: 10 s}}",
        ..Story::new("{}")
    };
    let quick = quick.play();
    assert!(
        record.run.passes > quick.run.passes,
        "Degraded and what follows it start passes"
    );
    let [degraded, healthy] =
        [&record, &quick].map(|record| record.run.completion_s.expect("complete"));
    // The times of requests and the waits after conflicts are random; additional passes change which ones are drawn.
    assert!(
        (degraded - healthy).abs() < 0.01,
        "and delay nothing: {degraded} s and {healthy} s"
    );
}

#[test]
fn a_commit_without_a_webhook_is_found_by_the_periodic_refresh() {
    let story = Story {
        strategy: "autoSync: true\n      release: commit".to_owned(),
        ..Story::new("{}")
    };
    let record = story.play();
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{}",
        record.run.held()
    );
    let mut told: Vec<f64> = record
        .clusters
        .iter()
        .map(|row| row.instructed_s.expect("told"))
        .collect();
    told.sort_by(f64::total_cmp);
    // A refresh comes every 120 to 300 s, spread by a jitter of 60 s.
    assert!(told[0] >= 0.0 && told[29] <= 301.0, "{told:?}");
    assert!(told[29] - told[0] > 30.0, "not all at once: {told:?}");
    let with_webhook = Story {
        strategy: "autoSync: true\n      release: commit\n      webhook: true".to_owned(),
        ..Story::new("{}")
    }
    .play();
    // 30 requests are within the burst of 100. News takes 1 s twice: for the annotation, and for the result of the
    // comparison.
    assert!(
        last_told(&with_webhook) < 10.0,
        "a webhook announces it to all: {}",
        last_told(&with_webhook)
    );
    let announced = Story {
        strategy: "autoSync: true".to_owned(),
        ..Story::new("{}")
    }
    .play();
    assert!(
        last_told(&announced) < 10.0,
        "a change of the set is seen at once"
    );
    let stepped = Story {
        strategy: format!("release: commit\n      {STEPS}"),
        ..Story::new("{}")
    }
    .play();
    assert_eq!(
        stepped.run.outcome,
        RunOutcome::Complete,
        "{}",
        stepped.run.held()
    );
}

#[test]
fn ten_operations_run_concurrently_and_offline_clusters_occupy_processors() {
    let fleet = "\n  - {name: 'c-{001..100}'}";
    let story = |faults| Story {
        fleet,
        strategy: "autoSync: true".to_owned(),
        apply: "4 s",
        ..Story::new(faults)
    };
    let healthy = story("{}").play();
    // Ten applications sync at a time, each for 4 s, because the application controller is notified immediately when a
    // cluster has applied. The tenth group begins after nine of these intervals, which begin after the first pass and
    // its notification.
    let told = last_told(&healthy);
    assert!((37.0..39.5).contains(&told), "the last is told at {told} s");
    let sick = story("{offline: {share: 40%}}").play();
    let arrived = |record: &RunRecord| {
        record
            .clusters
            .iter()
            .filter(|row| row.ready_s.is_some())
            .filter_map(|row| row.instructed_s)
            .max_by(f64::total_cmp)
    };
    let later = arrived(&sick).expect("some arrive");
    assert!(
        later > told + 30.0,
        "clusters that answer wait behind those that do not: {later} s after {told} s"
    );
}

#[test]
fn an_unknown_destination_is_never_written_and_a_paused_cluster_is_treated_like_any_other() {
    let fleet = "
  - {name: 'canary-{01..10}', labels: {env: canary}, paused: true}
  - {name: 'prod-{01..20}', labels: {env: prod}, registered: false}";
    let record = Story {
        fleet,
        ..Story::new("{}")
    }
    .play();
    assert_eq!(
        (record.run.outcome, record.run.targets_done),
        (RunOutcome::Stalled, 10)
    );
    let held = &record.run.held();
    assert!(
        held.starts_with("rollingSync.steps: step 2") && held.contains("not valid"),
        "{held}"
    );
    assert!(
        record.run.end_s < 600.0,
        "the timer that looks again every 180 s keeps nothing alive"
    );
}

#[test]
fn an_application_that_argo_cd_skips_keeps_its_revision() {
    let skip = |status: &str| Story {
        strategy: format!("skipReconcile: [{{name: canary-03{status}}}]\n      {STEPS}"),
        ..Story::new("{}")
    };
    let settled = skip("").play();
    // The row of an application that is Synced and Healthy never waits, so all others get the release.
    assert_eq!(
        settled.run.held(),
        "skipReconcile: skip-reconcile keeps Argo CD from canary-03"
    );
    assert!(settled.run.reachable_ready_s.is_some());
    assert_eq!(
        (settled.run.reachable_targets, settled.run.paused_targets),
        (29, 1)
    );
    let skipped = settled
        .clusters
        .iter()
        .find(|row| row.cluster == "canary-03");
    assert_eq!(skipped.expect("it is there").applied_s, None);

    let behind = skip(", sync: OutOfSync").play();
    assert_eq!(behind.run.outcome, RunOutcome::Stalled);
    let held = behind.run.held();
    let rule = "rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (canary-03) Pending, \
                OutOfSync, Healthy";
    assert!(held.contains(rule), "{held}");
    assert!(
        held.contains("skip-reconcile keeps Argo CD from canary-03"),
        "{held}"
    );
    let of_step_2 = behind
        .clusters
        .iter()
        .filter(|row| row.cluster.starts_with("prod"));
    assert!(of_step_2.map(|row| row.applied_s).all(|at| at.is_none()));
}

#[test]
fn an_application_without_automated_sync_waits_for_a_user() {
    let story = |words: &str| Story {
        strategy: format!("{words}\n      autoSyncExcept: [prod-01, prod-02]"),
        ..Story::new("{}")
    };
    let applied = |record: &RunRecord| {
        let rows = record.clusters.iter().filter(|row| row.applied_s.is_some());
        rows.count()
    };
    let manual = story("autoSync: true").play();
    assert!(
        manual
            .run
            .held()
            .contains("only a user can sync 2 applications (prod-01, prod-02)"),
        "{}",
        manual.run.held()
    );
    assert!(manual.run.reachable_ready_s.is_some());
    assert_eq!((applied(&manual), manual.run.paused_targets), (28, 2));
    let automated = story("autoSync: false").play();
    assert_eq!(automated.run.outcome, RunOutcome::Stalled);
    assert_eq!(applied(&automated), 2);
    assert!(
        automated
            .run
            .held()
            .contains("only a user can sync 28 applications"),
        "{}",
        automated.run.held()
    );
}
