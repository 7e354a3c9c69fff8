//! Windows of Rancher Fleet's Schedules and of Argo CD's projects, in complete simulations of small fleets. The
//! expected times are computed by hand.
//!
//! An apply takes 1 s. Berlin is an hour ahead of UTC until 29 March 2026, 01:00 UTC, and two hours after that; New
//! York is four hours behind. The source for these waits is the products' code (`docs/schedulers.md`).

use std::fs;

use crate::results::{RunOutcome, RunRecord};
use crate::scenario::{self, Overrides};
use crate::sim;

/// An update of four clusters; two of them have the label `site: de`.
struct WindowStory {
    starts_at: &'static str,
    horizon: &'static str,
    /// The strategy, with its product.
    strategy: &'static str,
    /// `windows.yaml`.
    windows: String,
    /// Time from the start of a pod to its readiness.
    readiness: &'static str,
}

impl WindowStory {
    fn write(&self) -> tempfile::TempDir {
        let Self {
            starts_at,
            horizon,
            strategy,
            windows,
            readiness,
        } = self;
        let text = format!(
            "name: windows
question: What does a window do?
seed: 5
replicates: 1
startsAt: {starts_at}
horizon: {horizon}
fleet: [{{name: 'c-{{1..2}}', nodes: 1, labels: {{site: de}}}}, {{name: 'd-{{1..2}}', nodes: 1}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, readiness: {{initialDelay: {readiness}, period: 10 s}}}}]
agent: {{instructionDelay: 0 s, apply: 1 s, applySpread: 0, reportDelay: 0 s}}
strategies:
  tested: {strategy}
"
        );
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("experiment.yaml"), text).expect("written");
        fs::write(folder.path().join("windows.yaml"), windows).expect("written");
        folder
    }

    fn play(&self) -> RunRecord {
        let folder = self.write();
        let experiment = scenario::load(folder.path(), &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"));
        sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
            .expect("the strategy starts no process")
    }

    fn refused(&self) -> String {
        let folder = self.write();
        let error = scenario::load(folder.path(), &Overrides::default()).expect_err("refused");
        error.to_string()
    }
}

/// Checks that a cluster applied the new version within `within` seconds after `at`.
fn assert_applied(record: &RunRecord, cluster: &str, at: f64, within: f64) {
    let mut rows = record.clusters.iter();
    let row = rows.find(|row| row.cluster == cluster).expect("a cluster");
    let applied = row.applied_s.unwrap_or(f64::INFINITY);
    assert!(
        (at..at + within).contains(&applied),
        "{cluster}: {applied}, not {at} to {}",
        at + within
    );
}

fn instructed(record: &RunRecord, cluster: &str) -> f64 {
    let mut rows = record.clusters.iter();
    let row = rows.find(|row| row.cluster == cluster).expect("a cluster");
    row.instructed_s.unwrap_or(f64::INFINITY)
}

/// A Schedule of the clusters in Germany.
fn schedule(name: &str, cron: &str, duration: &str, location: &str) -> String {
    format!(
        "---
apiVersion: fleet.cattle.io/v1alpha1
kind: Schedule
metadata: {{name: {name}, namespace: fleet-default}}
spec:
  schedule: '{cron}'
  duration: {duration}
  location: {location}
  targets: {{clusters: [{{clusterSelector: {{matchLabels: {{site: de}}}}}}]}}
"
    )
}

fn fleet(starts_at: &'static str, windows: String) -> WindowStory {
    WindowStory {
        starts_at,
        horizon: "48h",
        strategy: "{rancherFleet: {maxUnavailable: 2, schedules: windows.yaml}}",
        windows,
        readiness: "5 s",
    }
}

/// 20:00 in Berlin; the window opens at 22:00 there.
#[test]
fn fleet_instructs_a_cluster_outside_its_window_and_the_limit_is_used_up() {
    let record = fleet(
        "2026-03-27 20:00 Europe/Berlin",
        schedule("nights", "0 0 22 * * ?", "2h", "Europe/Berlin"),
    )
    .play();
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    for cluster in ["c-1", "c-2"] {
        assert!(instructed(&record, cluster) < 10.0, "{cluster} is told");
        assert_applied(&record, cluster, 7_200.0, 10.0);
    }
    for cluster in ["d-1", "d-2"] {
        let told = instructed(&record, cluster);
        assert!(
            (7_200.0..7_260.0).contains(&told),
            "{cluster}: {told}; the two others were unavailable until they were ready"
        );
    }
}

/// 22:00 in New York is 02:00 UTC, seven hours after 20:00 in Berlin.
#[test]
fn a_schedule_follows_the_time_of_its_own_location() {
    let record = fleet(
        "2026-03-27 20:00 Europe/Berlin",
        schedule("nights", "0 0 22 * * ?", "2h", "America/New_York"),
    )
    .play();
    assert_applied(&record, "c-1", 7.0 * 3_600.0, 10.0);
}

/// From 23:00 to 03:00, only three hours pass in Berlin, because the clocks skip one.
#[test]
fn a_schedule_follows_the_clocks_when_they_change() {
    let record = fleet(
        "2026-03-28 23:00 Europe/Berlin",
        schedule("nights", "0 0 3 * * ?", "2h", "Europe/Berlin"),
    )
    .play();
    assert_applied(&record, "c-1", 3.0 * 3_600.0, 10.0);
}

#[test]
fn a_window_that_is_open_at_the_start_blocks_no_cluster() {
    let record = fleet(
        "2026-03-27 23:00 Europe/Berlin",
        schedule("nights", "0 0 22 * * ?", "2h", "Europe/Berlin"),
    )
    .play();
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert_applied(&record, "c-1", 0.0, 10.0);
    assert!(record.run.completion_s < Some(300.0));
}

/// The window ends at midnight, two minutes after the start, and the pods become ready after three. Fleet sees this
/// when the next window opens, at 22:00: 22 h and 2 min after the start.
#[test]
fn readiness_after_a_window_is_seen_in_the_next_window() {
    let mut story = fleet(
        "2026-03-27 23:58 Europe/Berlin",
        schedule("nights", "0 0 22 * * ?", "2h", "Europe/Berlin"),
    );
    story.readiness = "3 min";
    let record = story.play();
    assert_applied(&record, "c-1", 0.0, 10.0);
    let opens = 22.0 * 3_600.0 + 120.0;
    let told = instructed(&record, "d-1");
    assert!((opens..opens + 30.0).contains(&told), "{told}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
}

/// One window is open until 23:00, the other until 00:30. At 23:10 the cluster is closed nevertheless, until 22:00 of
/// the next day: 22 h and 50 min.
#[test]
fn the_first_of_two_windows_that_ends_closes_the_cluster() {
    let windows = [
        schedule("early", "0 0 22 * * ?", "1h", "Europe/Berlin"),
        schedule("late", "0 30 22 * * ?", "2h", "Europe/Berlin"),
    ]
    .concat();
    let record = fleet("2026-03-26 23:10 Europe/Berlin", windows).play();
    assert_applied(&record, "c-1", 22.0 * 3_600.0 + 50.0 * 60.0, 10.0);
}

#[test]
fn a_rollout_that_waits_for_a_window_after_the_horizon_reports_when_the_window_opens() {
    let mut story = fleet(
        "2026-03-28 12:00 Europe/Berlin",
        schedule("fridays", "0 0 22 ? * FRI", "2h", "Europe/Berlin"),
    );
    story.horizon = "24h";
    let record = story.play();
    assert_eq!(record.run.targets_done, 0);
    let held = record.run.held();
    let words = "2 clusters (c-1, c-2) wait for a window of their schedule, which opens on Fri 2026-04-03 22:00 \
                 Europe/Berlin";
    assert!(held.contains(words), "{held}");
    assert!(held.starts_with("maxUnavailable"), "{held}");
}

#[test]
fn schedules_that_fleet_refuses_are_refused_with_its_reason() {
    for (windows, message) in [
        (
            schedule("nights", "0 22 * * *", "2h", "UTC"),
            "parse cron expression: invalid expression length",
        ),
        (
            schedule("nights", "0 0 22 * * ?", "24h", "UTC"),
            "duration is too long and overlaps with the next execution time",
        ),
        (
            schedule("nights", "0 0 22 * * ?", "2d", "UTC"),
            "`2d` is not a duration",
        ),
        (
            schedule("nights", "0 0 22 * * ?", "2h", "Berlin"),
            "unknown time zone Berlin",
        ),
    ] {
        let error = fleet("2026-03-28 12:00", windows).refused();
        assert!(error.contains(message), "{error}");
        assert!(error.contains("windows.yaml:"), "{error}");
    }
    let nights = schedule("nights", "0 0 22 * * ?", "2h", "UTC");
    let error = fleet("Sat 12:00", nights.clone()).refused();
    assert!(
        error.contains("add e.g. `startsAt: 2026-03-28 22:00 Europe/Berlin`"),
        "{error}"
    );
    let mut story = fleet("2026-03-28 12:00", nights);
    story.strategy = "{rancherFleet: {version: '0.13', schedules: windows.yaml}}";
    let error = story.refused();
    assert!(
        error.contains("Rancher Fleet has Schedules since 0.14"),
        "{error}"
    );
}

/// A project with these sync windows.
fn project(windows: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {{name: shop, namespace: argocd}}
spec:
  sourceRepos: ['*']
  syncWindows:
  {windows}
"
    )
}

fn argo_cd(starts_at: &'static str, windows: &str) -> WindowStory {
    WindowStory {
        starts_at,
        horizon: "24h",
        strategy: "{argoCd: {project: windows.yaml}}",
        windows: project(windows),
        readiness: "5 s",
    }
}

/// Automated sync begins at the first refresh in an open window, and refreshes are at most 300 s apart.
const REFRESH: f64 = 310.0;

/// In Berlin 18:00 to 22:00, two hours after the start.
#[test]
fn a_deny_window_delays_automated_sync() {
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, applications: ['*'], timeZone: Europe/Berlin}";
    let record = argo_cd("2026-03-27 20:00 Europe/Berlin", deny).play();
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    for cluster in ["c-1", "c-2", "d-1", "d-2"] {
        assert_applied(&record, cluster, 7_200.0, REFRESH);
    }
    // `manualSync` affects only syncs that users request.
    let manual = deny.replace("duration", "manualSync: true, duration");
    let record = argo_cd("2026-03-27 20:00 Europe/Berlin", &manual).play();
    assert_applied(&record, "c-1", 7_200.0, REFRESH);
}

/// 22:00 in New York is 02:00 UTC, seven hours after 20:00 in Berlin.
#[test]
fn an_allow_window_blocks_all_times_outside_of_it() {
    let allow = "- {kind: allow, schedule: '0 22 * * *', duration: 2h, applications: ['*'], timeZone: America/New_York}";
    let record = argo_cd("2026-03-27 20:00 Europe/Berlin", allow).play();
    assert_applied(&record, "d-2", 7.0 * 3_600.0, REFRESH);
}

/// The window is open from 02:30 to 03:30. Before 01:00 UTC the clocks are an hour ahead, so the window would open at
/// 01:30 UTC. From then on they are two hours ahead, and the window is open from 00:30 to 01:30 UTC. So it opens
/// immediately at 01:00 UTC, three hours after the start.
#[test]
fn a_change_of_the_clocks_moves_a_sync_window_immediately() {
    let allow = "- {kind: allow, schedule: '30 2 * * *', duration: 1h, applications: ['*'], timeZone: Europe/Berlin}";
    let record = argo_cd("2026-03-28 23:00 Europe/Berlin", allow).play();
    assert_applied(&record, "c-1", 3.0 * 3_600.0, REFRESH);
}

#[test]
fn one_list_suffices_and_with_and_operator_all_must_match() {
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, applications: ['?-*'], clusters: [c-1], \
                timeZone: Europe/Berlin}";
    let record = argo_cd("2026-03-27 20:00 Europe/Berlin", deny).play();
    assert_applied(&record, "c-1", 7_200.0, REFRESH);
    assert_applied(&record, "d-1", 7_200.0, REFRESH);
    let both = deny.replace("duration", "andOperator: true, duration");
    let record = argo_cd("2026-03-27 20:00 Europe/Berlin", &both).play();
    assert_applied(&record, "c-1", 7_200.0, REFRESH);
    assert_applied(&record, "d-1", 0.0, 60.0);
}

const ROLLING: &str = "
    argoCd:
      project: windows.yaml
      strategy: {type: RollingSync, rollingSync: {steps: [
        {matchExpressions: [{key: site, operator: In, values: [de]}]},
        {matchExpressions: [{key: site, operator: NotIn, values: [de]}]}]}}";

/// A requested operation is Running and blocked, and is checked every 30 s. Its row keeps the second step closed.
#[test]
fn a_blocked_operation_keeps_its_row_and_continues_when_the_window_ends() {
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, clusters: ['c-*'], timeZone: Europe/Berlin}";
    let mut story = argo_cd("2026-03-27 20:00 Europe/Berlin", deny);
    story.strategy = ROLLING;
    let record = story.play();
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert_applied(&record, "c-1", 7_200.0, 40.0);
    assert_applied(&record, "d-1", 7_200.0, 300.0);
    // The operation before this one ran in an open window.
    let overrun = deny.replace("duration", "syncOverrun: true, duration");
    let mut story = argo_cd("2026-03-27 20:00 Europe/Berlin", &overrun);
    story.strategy = ROLLING;
    let record = story.play();
    assert_applied(&record, "c-1", 0.0, 60.0);
}

/// The Application shows the product's message from the first look, two hours before the window ends, until the sync
/// succeeds.
#[test]
fn a_blocked_operation_shows_the_products_message() {
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, clusters: [c-1], timeZone: Europe/Berlin}";
    let mut story = argo_cd("2026-03-27 20:00 Europe/Berlin", deny);
    story.strategy = ROLLING;
    let record = story.play();
    let mut shown = Vec::new();
    for row in &record.statuses {
        if row.condition == "operationState" {
            shown.push((
                row.object.as_str(),
                row.status.as_str(),
                row.message.as_str(),
            ));
        }
    }
    let blocked = "Sync operation blocked by sync window";
    let expected = [
        ("Application/c-1", "Running", blocked),
        ("Application/c-1", "Succeeded", ""),
    ];
    assert_eq!(shown[..2], expected);
    // A RollingSync requests another sync in the pass after the first, and nothing blocks it.
    assert!(
        shown[2..].iter().all(|(_, _, message)| message.is_empty()),
        "{shown:?}"
    );
}

#[test]
fn a_window_after_the_horizon_is_named_with_the_products_message() {
    let allow = "- {kind: allow, schedule: '0 22 * * fri', duration: 2h, applications: ['*']}";
    let record = argo_cd("2026-03-28 12:00", allow).play();
    assert_eq!(record.run.targets_done, 0);
    let words = "4 applications (c-1, c-2, d-1, d-2) wait for a sync window, which does not open within the horizon: \
                 Sync prevented by sync window";
    assert!(record.run.held().contains(words), "{}", record.run.held());
    let mut story = argo_cd("2026-03-28 12:00", allow);
    story.strategy = ROLLING;
    let held = story.play().run.held();
    assert!(
        held.contains("Sync operation blocked by sync window"),
        "{held}"
    );
}

#[test]
fn sync_windows_that_cannot_be_read_are_refused() {
    for (window, message) in [
        (
            "- {kind: deny, schedule: '@daily', duration: 1h, applications: ['*']}",
            "cannot parse schedule '@daily': parser does not accept descriptors: @daily",
        ),
        (
            "- {kind: stop, schedule: '0 0 * * *', duration: 1h, applications: ['*']}",
            "kind 'stop' mismatch: can only be allow or deny",
        ),
        (
            "- {kind: deny, schedule: '0 0 * * *', duration: 1d, applications: ['*']}",
            "cannot parse duration '1d'",
        ),
        (
            "- {kind: deny, schedule: '0 0 * * *', duration: 1h, namespaces: ['shop']}",
            "the namespace of the destination of `c-1` is not known",
        ),
    ] {
        let error = argo_cd("2026-03-28 12:00", window).refused();
        assert!(error.contains(message), "{error}");
        assert!(error.contains("windows.yaml:"), "{error}");
    }
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, applications: ['*']}";
    let error = argo_cd("18:00", deny).refused();
    assert!(error.contains("startsAt"), "{error}");
}

/// The windows of a strategy are one line of its explanation.
#[test]
fn explanations_name_the_targets_with_windows_and_when_the_first_window_opens() {
    let nights = schedule("nights", "0 0 22 * * ?", "2h", "Europe/Berlin");
    let deny = "- {kind: deny, schedule: '0 18 * * *', duration: 4h, clusters: ['c-*'], timeZone: Europe/Berlin}";
    for (story, line) in [
        (
            fleet("2026-03-27 20:00 Europe/Berlin", nights),
            "schedules (nights): 2 of 4 clusters (c-1, c-2); outside their windows at the start: 2; the first window \
             opens on Fri 2026-03-27 22:00 Europe/Berlin",
        ),
        (
            argo_cd("2026-03-27 20:00 Europe/Berlin", deny),
            "sync windows (1): 2 of 4 applications (c-1, c-2); blocked at the start: 2; the first may sync from Fri \
             2026-03-27 22:00 Europe/Berlin",
        ),
    ] {
        let folder = story.write();
        let experiment = scenario::load(folder.path(), &Overrides::default()).expect("valid");
        let scenario = &experiment.variants[0].scenario;
        let explained = scenario.strategy().explain(scenario.fleet());
        assert!(
            explained.lines.iter().any(|found| found == line),
            "{:?}",
            explained.lines
        );
        assert!(scenario.notes().iter().any(|found| found == line));
    }
}
