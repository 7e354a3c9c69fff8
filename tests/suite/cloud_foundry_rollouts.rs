//! Cloud Foundry's deployments of an app with 1 000 instances, as whole simulations: first deployments and updates,
//! rolling and canary, with and without failures.

use std::fs;
use std::path::Path;

use fleetsim::results::{RunOutcome, RunRecord, StatusRow};
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};
use fleetsim::sim;

use super::common::{fleetsim, loaded, peak_in_flight};

const CLUSTERS: usize = 1000;

/// An experiment with this strategy in a folder of its own.
fn write(folder: &Path, release: &str, faults: &str, strategy: &str) {
    let text = format!(
        "name: cloud-foundry
question: What does the updater do?
seed: 3
replicates: 1
horizon: 24h
fleet: [{{name: \"cell-{{0001..1000}}\", nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}]
registry: {{egress: 100 Gbit/s}}
release:
  kind: {release}
  images: [{{name: shop, manifest: {{layers: [{{size: 20 MB}}]}}, previous: {{layers: [{{size: 20 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, start: 4 s, readiness: {{period: 10 s}}}}]
faults: {{{faults}}}
agent: {{apply: 1 s, readiness: {{delay: 500 ms}}}}
strategies:
  app:
    cloudFoundry: {strategy}
"
    );
    fs::write(folder.join("experiment.yaml"), text).expect("the experiment is written");
}

fn load_in(folder: &Path) -> Result<Experiment, LoadError> {
    load(&folder.join("experiment.yaml"), &Overrides::default())
}

fn run(release: &str, faults: &str, strategy: &str) -> RunRecord {
    run_with(release, faults, strategy, &[])
}

/// The same, with parts of the experiment replaced.
fn run_with(release: &str, faults: &str, strategy: &str, changes: &[(&str, &str)]) -> RunRecord {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), release, faults, strategy);
    let file = folder.path().join("experiment.yaml");
    let mut text = fs::read_to_string(&file).expect("it was written");
    for (part, other) in changes {
        assert_eq!(text.matches(part).count(), 1, "{part}");
        text = text.replace(part, other);
    }
    fs::write(&file, text).expect("it is written");
    let experiment = loaded(folder.path());
    let run = sim::run_in_detail(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process");
    assert_eq!(run.clusters.len(), CLUSTERS);
    run
}

fn told(run: &RunRecord) -> usize {
    run.clusters.iter().filter(|cluster| cluster.told_s.is_some()).count()
}

/// When the first and the last of these instances were told.
fn told_between(run: &RunRecord, instances: std::ops::Range<usize>) -> (f64, f64) {
    let times = run.clusters[instances].iter().map(|cluster| cluster.told_s.expect("it was told"));
    times.fold((f64::INFINITY, 0.0), |(first, last), at| (at.min(first), at.max(last)))
}

fn ready_by(run: &RunRecord, instances: std::ops::Range<usize>) -> f64 {
    run.clusters[instances].iter().map(|cluster| cluster.ready_s.expect("it is ready")).fold(0.0, f64::max)
}

const STEPS: &str = "strategy: canary, maxInFlight: 100, canarySteps: [{instance_weight: 10}, {instance_weight: 50}]";

#[test]
fn a_first_push_starts_all_instances_simultaneously() {
    for strategy in ["{strategy: rolling, maxInFlight: 50}".to_owned(), format!("{{{STEPS}}}")] {
        let run = run("initial", "", &strategy);
        assert_eq!((run.run.outcome, run.run.held().as_str(), told(&run)), (RunOutcome::Complete, "", CLUSTERS));
        assert_eq!(run.passes.len(), 1, "there is no deployment for the updater to look at");
        assert_eq!(run.passes[0].promoted, CLUSTERS as u64);
        assert!(run.clusters.iter().all(|cluster| cluster.stage.is_empty()));
    }
}

#[test]
fn a_first_push_does_not_end_where_cells_are_missing() {
    let run = run("initial", "offline: {share: 1%}, pullFailure: 2%", "{}");
    assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Stalled, CLUSTERS));
    let offline = run.clusters.iter().filter(|cluster| cluster.offline).count();
    assert_eq!(run.run.targets_done as usize, CLUSTERS - offline, "failed pulls are repeated");
    let held = format!("routable: the app was started with all 1000 instances, {offline} of which are not routable");
    assert!(run.run.held().starts_with(&held), "{}", run.run.held());
}

#[test]
fn a_rolling_update_never_starts_more_than_max_in_flight() {
    for (faults, max_in_flight) in [("", 40), ("", 200), ("pullFailure: 2%", 40)] {
        let run = run("update", faults, &format!("{{maxInFlight: {max_in_flight}}}"));
        assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Complete, CLUSTERS), "{faults}");
        assert_eq!(peak_in_flight(&run.clusters), max_in_flight, "{faults}");
        assert_eq!(run.passes[0].promoted, max_in_flight as u64, "the request starts the first batch");
        assert_eq!(run.run.failed_pulls > 0, !faults.is_empty());
        // The updater's period, and nothing else, starts passes.
        for (index, pass) in run.passes.iter().enumerate() {
            assert!((pass.t_s - 5.0 * index as f64).abs() < 1e-9, "pass {index} at {} s", pass.t_s);
        }
    }
}

#[test]
fn one_instance_is_in_flight_by_default() {
    let run = run("update", "defect: {share: 1%}", "{}");
    assert_eq!(peak_in_flight(&run.clusters), 1);
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    let first_defect = run.clusters.iter().position(|cluster| cluster.defective).expect("ten or so are");
    assert_eq!(told(&run), first_defect + 1, "the first that crashes is the last that is told");
    assert!(run.run.held().starts_with("unhealthy: 1 of "), "{}", run.run.held());
    assert!(run.run.held().contains("(1 crashed)"), "{}", run.run.held());
    assert_eq!(
        run.run.crashes, 3,
        "Diego starts it again twice at once, and the pass after the third crash is the last"
    );
}

#[test]
fn the_file_can_set_how_often_an_instance_restarts_immediately() {
    for (immediate, crashes) in [(0, 1), (5, 6)] {
        let node = format!("node: {{crashBackoff: {{immediate: {immediate}}}}}\nfaults:");
        let run = run_with("update", "defect: {share: 1%}", "{}", &[("faults:", &node)]);
        assert_eq!((run.run.outcome, run.run.crashes), (RunOutcome::Stalled, crashes), "{}", run.run.held());
    }
}

#[test]
fn a_deployment_grows_while_the_instances_that_crash_look_as_if_they_start() {
    // About ten of 1 000 crash for ever, and there is room for all of them among 20 in flight.
    let short = ("horizon: 24h", "horizon: 30m");
    let at_once = run_with("update", "defect: {share: 1%}", "{maxInFlight: 20}", &[short]);
    // Nothing is started again before the horizon: the first crash that a pass sees is the end of all growth.
    let never = ("faults:", "node: {crashBackoff: {immediate: 0, initial: 1h, max: 1h}}\nfaults:");
    let not_again = run_with("update", "defect: {share: 1%}", "{maxInFlight: 20}", &[short, never]);
    let crashed = |run: &RunRecord| {
        run.clusters.iter().filter(|cluster| cluster.told_s.is_some() && cluster.defective).count() as u64
    };
    assert_eq!(not_again.run.crashes, crashed(&not_again), "each of them crashed once");
    assert!(told(&at_once) > told(&not_again), "{} and {}", told(&at_once), told(&not_again));
    let growth_after_a_crash = at_once.passes.iter().filter(|pass| pass.promoted > 0).map(|pass| pass.t_s);
    let first_crash = at_once.clusters.iter().filter(|cluster| cluster.defective).filter_map(|cluster| cluster.told_s);
    let first_crash = first_crash.fold(f64::INFINITY, f64::min) + 30.0;
    assert!(growth_after_a_crash.fold(0.0, f64::max) > first_crash, "it grew again after the first crash");
    for run in [&at_once, &not_again] {
        assert_eq!(run.run.outcome, RunOutcome::Horizon, "a pass that sees all of them starting would grow");
        assert!(run.run.held().starts_with("unhealthy: "), "{}", run.run.held());
    }
}

#[test]
fn crashing_instances_stop_a_deployment_almost_indefinitely() {
    let short = ("horizon: 24h", "horizon: 3h");
    let run = run_with("update", "defect: {share: 1%}, pullFailure: 2%", "{maxInFlight: 20}", &[short]);
    assert_eq!(
        run.run.outcome,
        RunOutcome::Horizon,
        "each is started again, and all of them at once would let it grow"
    );
    assert!(peak_in_flight(&run.clusters) <= 20);
    assert!(told(&run) < CLUSTERS, "it stands still at {}", told(&run));
    let crashed = run.clusters.iter().filter(|cluster| cluster.told_s.is_some() && cluster.defective).count();
    let held = format!("unhealthy: {crashed} of {} new instances", told(&run));
    assert!(run.run.held().starts_with(&held), "{}", run.run.held());
    assert_eq!(run.run.exposed_targets as usize, crashed);
}

#[test]
fn missing_cells_use_up_max_in_flight() {
    let many = run("update", "offline: {share: 1%}", "{maxInFlight: 100}");
    let offline = many.clusters.iter().filter(|cluster| cluster.offline).count();
    assert_eq!((many.run.outcome, told(&many)), (RunOutcome::Stalled, CLUSTERS));
    assert_eq!(many.run.targets_done as usize, CLUSTERS - offline);
    let held = format!("routable: {} of 1000 new instances are routable", CLUSTERS - offline);
    assert!(many.run.held().starts_with(&held), "{}", many.run.held());

    let few = run("update", "offline: {share: 1%}", "{maxInFlight: 2}");
    assert_eq!(few.run.outcome, RunOutcome::Stalled);
    let waiting = few.clusters.iter().filter(|cluster| cluster.told_s.is_some() && cluster.ready_s.is_none()).count();
    assert_eq!(waiting, 2, "both places are taken by cells that never come");
    assert!(few.run.held().starts_with("max_in_flight: 2 of "), "{}", few.run.held());

    let back = run("update", "offline: {share: 1%, return: 2h}", "{maxInFlight: 100}");
    assert_eq!((back.run.outcome, told(&back)), (RunOutcome::Complete, CLUSTERS));
    assert!(back.run.completion_s > Some(7200.0));
}

#[test]
fn a_canary_pauses_after_each_step_until_a_user_continues() {
    for faults in ["", "pullFailure: 2%"] {
        let run = run("update", faults, &format!("{{{STEPS}, continueAfter: 10m}}"));
        assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Complete, CLUSTERS));
        assert!(peak_in_flight(&run.clusters) <= 100);
        assert_eq!(run.passes[0].promoted, 1, "the request starts one instance");
        // 10 % and 50 % of 1 000, and the rest.
        let stages = [(0..100, "step 1 (10 %)"), (100..500, "step 2 (50 %)"), (500..1000, "after the last step")];
        for (instances, stage) in &stages {
            assert!(run.clusters[instances.clone()].iter().all(|cluster| cluster.stage == *stage), "{stage}");
        }
        for pair in stages.windows(2) {
            let (before, after) = (pair[0].0.clone(), pair[1].0.clone());
            let pause = told_between(&run, after).0 - ready_by(&run, before);
            // Seen in the pass after the last is ready, continued ten minutes later, done in the pass after that.
            assert!((600.0..=611.0).contains(&pause), "a pause of {pause} s before {}", pair[1].1);
        }
    }
}

/// What the API showed of the deployment, change by change.
fn shown(run: &RunRecord) -> Vec<(f64, String)> {
    let text = |row: &StatusRow| format!("{} {} {} {}", row.object, row.condition, row.status, row.reason);
    run.statuses.iter().map(|row| (row.t_s, text(row).trim_end().to_owned())).collect()
}

#[test]
fn the_status_of_a_deployment_is_that_of_the_api() {
    let run = run("update", "", &format!("{{{STEPS}, continueAfter: 10m}}"));
    let words: Vec<String> = shown(&run).into_iter().map(|(_, text)| text).collect();
    // Two steps, a user who continues after each, and the end. The presenter shows no PREPAUSED: scaling is DEPLOYING.
    assert_eq!(
        words,
        [
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status.canary.steps.current 1",
            "Deployment/1 status.canary.steps.total 2",
            "Deployment/1 status ACTIVE PAUSED",
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status.canary.steps.current 2",
            "Deployment/1 status ACTIVE PAUSED",
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status FINALIZED DEPLOYED",
        ]
    );
    let times: Vec<f64> = shown(&run).into_iter().map(|(at, _)| at).collect();
    let paused = [times[4] - times[3], times[7] - times[6]];
    // Ten minutes, noticed at the next tick of 5 s.
    assert!(paused.iter().all(|paused| (600.0..606.0).contains(paused)), "{paused:?}");
    assert_eq!(run.run.reported_s.map(f64::to_bits), Some(times[8].to_bits()), "completion is reported by this status");
    // One that nobody continues: the reason for the stall is the status.
    let run = run_with("update", "", &format!("{{{STEPS}}}"), &[]);
    let shown = shown(&run);
    let (_, last) = shown.iter().rfind(|(_, text)| text.contains(" status ")).expect("a status");
    assert_eq!(last, "Deployment/1 status ACTIVE PAUSED");
    let (_, step) = shown.iter().rfind(|(_, text)| text.contains("steps.current")).expect("a step");
    assert_eq!(step, "Deployment/1 status.canary.steps.current 1");
    let held = run.run.held();
    assert!(held.starts_with("canary: step 1 of 2") && held.contains("waits for a user"), "{held}");
}

#[test]
fn a_canary_that_nobody_continues_stalls_and_says_so() {
    let run = run("update", "", &format!("{{{STEPS}}}"));
    assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Stalled, 100));
    assert_eq!(
        run.run.held(),
        "canary: step 1 of 2 (10 %) is reached with 100 new and 901 old instances; it waits for a user to continue or \
         cancel"
    );
    assert!(run.run.end_s < 3600.0, "it does not wait for the horizon: {} s", run.run.end_s);
}

#[test]
fn a_canary_step_with_a_crash_is_never_reached() {
    let run = run("update", "defect: {share: 3%}", &format!("{{{STEPS}, continueAfter: 1m}}"));
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    assert!(told(&run) <= 100, "step 1 ends with 100, and {} were told", told(&run));
    assert!(["unhealthy", "routable"].iter().any(|rule| run.run.held().starts_with(rule)), "{}", run.run.held());
}

#[test]
fn a_cancelled_deployment_goes_back() {
    let run = run("update", "", &format!("{{{STEPS}, cancelAfter: 10m}}"));
    assert_eq!((run.run.outcome, told(&run), run.run.targets_done), (RunOutcome::Stalled, 100, 0));
    let held = "cancel: the deployment was cancelled: the app is back on v1 with 1000 instances";
    assert_eq!(run.run.held(), held);
    let back = run.passes.last().expect("the pass that goes back");
    assert_eq!(back.promoted, 100, "all that were new are told the old version at once");
    assert!(run.run.end_s > 600.0);
}

#[test]
fn a_cancelled_deployment_has_all_its_old_instances_again() {
    let always = ("readiness: {period", "imagePullPolicy: Always, readiness: {period");
    for (change, pulls) in [(None, 1), (Some(always), 2)] {
        let strategy = format!("{{{STEPS}, cancelAfter: 10m}}");
        let run = run_with("update", "", &strategy, change.as_slice());
        let end = run.series.last().expect("there is a series");
        assert_eq!((end.ready_new, end.updating, end.not_ready), (0, 0, 0), "{pulls}");
        assert_eq!(end.waiting, CLUSTERS as u64, "{pulls}: all run the old revision");
        // The old image is still on the nodes: it is asked for again only where every start asks the registry.
        let new = run.clusters.iter().filter(|cluster| cluster.told_s.is_some());
        assert!(new.into_iter().all(|cluster| cluster.pulls == pulls), "{pulls}");
        assert_eq!(run.run.pulls, 100 * pulls);
        let bytes = run.clusters.iter().map(|cluster| cluster.received_bytes).max();
        assert!(bytes < Some(21_000_000), "the new image's 20 MB and nothing of the old one: {bytes:?}");
    }
}

#[test]
fn documented_rules_replace_one_for_one() {
    let run = run("update", "", "{maxInFlight: 50, rules: documented}");
    assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Complete, CLUSTERS));
    assert!(peak_in_flight(&run.clusters) <= 50);
}

#[test]
fn a_drawn_pause_is_the_same_in_all_variants() {
    let first_of_rest = |max_in_flight: u32| {
        let strategy =
            format!("{{strategy: canary, maxInFlight: {max_in_flight}, continueAfter: {{median: 20m, sigma: 0.6}}}}");
        told_between(&run("update", "", &strategy), 1..CLUSTERS).0
    };
    let (few, many) = (first_of_rest(50), first_of_rest(500));
    assert!((few - many).abs() < 0.1 && few > 60.0, "{few} and {many} s");
}

/// A folder with the request `body` as a file.
fn with_file(body: &str, strategy: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "update", "", strategy);
    fs::write(folder.path().join("deployment.json"), body).expect("the request is written");
    folder
}

#[test]
fn requests_that_the_product_rejects_are_refused_with_their_line_and_its_message() {
    let file = "{file: deployment.json}";
    let cases = [
        (
            "{\n  \"strategy\": \"blue-green\"\n}",
            file,
            "deployment.json:2:",
            "Strategy 'blue-green' is not a supported deployment strategy",
        ),
        (
            "{\n  \"options\": {\n    \"max_in_flight\": 0\n  }\n}",
            file,
            "deployment.json:3:",
            "Max in flight must be an integer greater than 0",
        ),
        (
            "{\"strategy\": \"canary\",\n \"options\": {\"canary\": {\n  \"steps\": [{\"instance_weight\": 50},\n   \
             {\"instance_weight\": 20}]}}}",
            file,
            "deployment.json:3:",
            "Options canary steps instance weight must be sorted in ascending order",
        ),
        (
            "{\"options\": {\n\"max_inflight\": 5}}",
            file,
            "deployment.json:2:",
            "Options has unsupported key(s): max_inflight",
        ),
        ("{\n\"strateg\": 1}", file, "deployment.json:2:", "Unknown field(s): 'strateg'"),
        ("{}", "{file: deployment.json, maxInFlight: many}", "experiment.yaml:16:", "Max in flight must be an integer"),
        (
            "{}",
            "{strategy: rolling, canarySteps: [{instance_weight: 5}]}",
            "experiment.yaml:16:",
            "Options canary are only valid for Canary deployments",
        ),
        (
            "{}",
            "{maxInFlight: 10, quota: {organization: {name: ACME, totalInstances: 1005}}}",
            "experiment.yaml:16:",
            "app_instance_limit app_instance_limit_exceeded for organization ACME. This organization's quota may not be \
             large enough to support rolling deployments or your configured max-in-flight.",
        ),
        ("{\"options\": {\n\"web_instances\": 5}}", file, "deployment.json:2:", "the app has 1000 instances"),
        ("{}", "{continueAfter: 5}", "experiment.yaml:16:", "`5` has no unit"),
    ];
    for (body, strategy, place, reason) in cases {
        let folder = with_file(body, strategy);
        let error = load_in(folder.path()).expect_err(reason).to_string();
        assert!(error.contains(place) && error.contains(reason), "{strategy} with {body}: {error}");
    }
}

#[test]
fn a_quota_that_is_too_small_for_the_surge_blocks_indefinitely() {
    // The request fits, its first pass does not: one instance at first, then two.
    let quota = "quota: {organization: {name: ACME, totalInstances: 1005}}";
    let run = run("update", "", &format!("{{strategy: canary, maxInFlight: 10, {quota}, continueAfter: 1m}}"));
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    assert!(run.run.held().starts_with("app_instance_limit: "), "{}", run.run.held());
    assert_eq!(told(&run), 1);
}

#[test]
fn each_quota_blocks_a_whole_run_and_is_named() {
    // The step of one instance fits. Then 999 old ones stay beside it, and ten more are wanted; each has 1 024 MB.
    let wants = "the pass needs 1010 instances";
    let wants_memory = "the pass needs 1034240 MB";
    let cases = [
        (
            "organization: {name: ACME, totalInstances: 1005}",
            "app_instance_limit: ",
            wants,
            "organization `ACME` allows 1005",
        ),
        ("space: {name: shop, totalInstances: 1005}", "app_instance_limit: ", wants, "space `shop` allows 1005"),
        (
            "organization: {name: ACME, totalMemoryInMb: 1029120}",
            "memory: ",
            wants_memory,
            "organization `ACME` allows 1029120",
        ),
        (
            "space: {name: shop, totalMemoryInMb: 1129120, otherMemoryInMb: 100000}",
            "memory: ",
            wants_memory,
            "others use 100000, and space `shop` allows 1129120",
        ),
    ];
    for (quota, rule, wanted, limit) in cases {
        let run =
            run("update", "", &format!("{{strategy: canary, maxInFlight: 10, quota: {{{quota}}}, continueAfter: 1m}}"));
        let held = &run.run.held();
        assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Stalled, 1), "{quota}: {held}");
        assert!(held.starts_with(rule) && held.contains(wanted) && held.contains(limit), "{quota}: {held}");
        assert_eq!(most_lacking(&run), 0, "what a pass took away is undone with the rest of it");
    }
}

#[test]
fn a_rolling_deployment_that_fits_at_first_fits_to_its_end() {
    let quota = |limit: u32| format!("{{maxInFlight: 10, quota: {{space: {{name: shop, totalInstances: {limit}}}}}}}");
    let run = run("update", "", &quota(1010));
    assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Complete, CLUSTERS), "{}", run.run.held());
    let error = load_in(with_file("{}", &quota(1009)).path()).expect_err("it has no room for ten more").to_string();
    assert!(error.contains("app_instance_limit space_app_instance_limit_exceeded for space shop."), "{error}");
}

#[test]
fn inline_settings_override_the_file_and_explain_prints_them() {
    let body = r#"{"strategy": "canary", "options": {"max_in_flight": 7,
        "canary": {"steps": [{"instance_weight": 10}, {"instance_weight": 100}]}}}"#;
    let folder = with_file(body, "{file: deployment.json, maxInFlight: 50, continueAfter: {median: 5m, sigma: 0.6}}");
    let output = fleetsim(folder.path()).args(["explain", "."]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for line in [
        "app: Cloud Foundry, canary deployment, by the rules that ship",
        "  1000 instances, one in each cluster; max_in_flight 50; 1 start with the request; 1051 of both versions at most",
        "  1       10 %     100            100            901",
        "  2      100 %     900           1000              0",
        "  a user continues after each step: after a median of 5 min 00 s, sigma 0.6",
        "  note: it waits for a user 2 times, without a time limit",
    ] {
        assert!(text.lines().any(|found| found == line), "`{line}` is in\n{text}");
    }
}

/// Most instances that the app lacked when a pass began.
fn most_lacking(run: &RunRecord) -> u64 {
    run.passes.iter().map(|pass| pass.unavailable).max().unwrap_or(0)
}

#[test]
fn superseding_a_paused_canary_loses_instances_and_more_with_the_purge_defect() {
    // Step 1 had 500 new instances: 501 old ones and 500 of the canary, 1001 in all. The first pass, at 5 s, has no
    // routable instance yet and one too many; it takes the 500 away. As shipped they count all the same, so that one
    // more goes of the 501: 500 are left of 1000. Without the defect it is 501.
    for (bugs, lacking) in [("", 500), (", upstreamBugs: {purge: false}", 499)] {
        let supersedes = "supersedes: {instances: 500, state: PAUSED}";
        let run = run("update", "", &format!("{{maxInFlight: 50, {supersedes}{bugs}}}"));
        assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Complete, CLUSTERS), "{bugs}");
        assert_eq!(most_lacking(&run), lacking, "{bugs}");
        assert_eq!(run.passes[0].unavailable, 0, "the request itself takes nothing away");
        assert!(peak_in_flight(&run.clusters) <= 50, "{bugs}");
    }
}

#[test]
fn the_purge_defect_can_take_the_last_instance_that_serves() {
    let lost = |bugs: &str| {
        let strategy = format!(
            "{{maxInFlight: 1000, supersedes: {{instances: 1000, state: PREPAUSED}}, upstreamBugs: {{{bugs}}}}}"
        );
        most_lacking(&run("update", "", &strategy))
    };
    // One old instance beside 1000 of the canary, one more than is kept, and no new one is routable yet. The purge
    // takes the 1000; with the defect the one too many is taken from the oldest process as well.
    assert_eq!((lost("purge: true"), lost("purge: false")), (1000, 999));
}

#[test]
fn superseding_a_rolling_deployment_keeps_the_capacity() {
    let strategy = |bugs: &str| format!("{{maxInFlight: 100, supersedes: {{instances: 300, state: DEPLOYING}}{bugs}}}");
    // Passes of different lengths would draw different latencies.
    let run = |strategy: &str| {
        run_with("update", "", strategy, &[("strategies:", "controller: {request: 5 ms}\nstrategies:")])
    };
    let shipped = run(&strategy(""));
    let mended = run(&strategy(", upstreamBugs: {interimTrap: false}"));
    for run in [&shipped, &mended] {
        assert_eq!((run.run.outcome, told(run), most_lacking(run)), (RunOutcome::Complete, CLUSTERS, 0));
    }
    let plain = run("{maxInFlight: 100}");
    assert_eq!(shipped.run.completion_s, plain.run.completion_s, "interim instances are old instances");
    // The trap fails the pass that finishes, and by then all instances are routable.
    assert_eq!(shipped.run.completion_s, mended.run.completion_s);
}

#[test]
fn a_cancelled_deployment_falls_back_on_the_rolling_one_that_it_superseded() {
    let supersedes = "supersedes: {instances: 300, state: DEPLOYING}";
    let run = run("update", "", &format!("{{{STEPS}, {supersedes}, cancelAfter: 10m}}"));
    assert_eq!((run.run.outcome, told(&run), run.run.targets_done), (RunOutcome::Stalled, 100, 0));
    assert_eq!(run.run.held(), "cancel: the deployment was cancelled: the app is back on v1 with 1000 instances");
    assert_eq!(run.passes.last().map(|pass| pass.promoted), Some(100));
}

#[test]
fn a_crash_also_stops_a_deployment_that_supersedes_another() {
    let supersedes = "supersedes: {instances: 400, state: PAUSED}";
    let short = ("horizon: 24h", "horizon: 3h");
    let run = run_with("update", "defect: {share: 1%}", &format!("{{maxInFlight: 20, {supersedes}}}"), &[short]);
    assert_eq!(run.run.outcome, RunOutcome::Horizon);
    assert!(run.run.held().starts_with("unhealthy: "), "{}", run.run.held());
    // The canary's 400 are gone, and so is the one too many: nothing brings them back.
    assert!(run.passes.last().expect("there are passes").unavailable > 0);
}

#[test]
fn a_superseded_deployment_that_cannot_be_is_refused() {
    let cases = [
        ("{supersedes: {instances: 1001, state: PAUSED}}", "must be from 1 to 1000"),
        ("{supersedes: {instances: 1000, state: DEPLOYING}}", "must be from 1 to 999"),
        ("{supersedes: {instances: 0, state: PAUSED}}", "supersedes.instances"),
        ("{supersedes: {instances: 3}}", "the field `state` is missing"),
        ("{supersedes: {instances: 3, state: CANCELED}}", "CANCELED"),
        ("{upstreamBugs: {trap: false}}", "trap"),
        ("{defects: {purge: false}}", "`defects` is now `upstreamBugs`"),
    ];
    for (strategy, reason) in cases {
        let folder = with_file("{}", strategy);
        let error = load_in(folder.path()).expect_err(reason).to_string();
        assert!(error.contains("experiment.yaml:16:") && error.contains(reason), "{strategy}: {error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "initial", "", "{supersedes: {instances: 3, state: PAUSED}}");
    let error = load_in(folder.path()).expect_err("a first push supersedes nothing").to_string();
    assert!(error.contains("a first push has no deployment before it"), "{error}");
}

#[test]
fn explain_lists_the_bugs_and_the_superseded_deployment() {
    let folder = with_file("{}", "{maxInFlight: 50, supersedes: {instances: 300, state: PAUSED}}");
    let explained = fleetsim(folder.path()).args(["explain", "."]).assert().success();
    let text = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    for line in [
        "  1000 instances, one in each cluster; max_in_flight 50; 50 start with the request; 1051 of both versions at most",
        "  it supersedes a deployment that leaves 701 old and 300 interim instances",
        "  note: the first pass that changes anything removes all 300 interim instances, and counts them as old ones that \
         are still there",
        "  upstreamBugs: purge on, interimTrap on",
    ] {
        assert!(text.lines().any(|found| found == line), "`{line}` is in\n{text}");
    }
}

#[test]
fn explain_and_the_quota_count_the_extra_instance_of_a_superseded_canary() {
    let strategy = |limit: u32| {
        format!(
            "{{maxInFlight: 50, supersedes: {{instances: 300, state: PAUSED}}, quota: {{space: {{name: shop, \
             totalInstances: {limit}}}}}}}"
        )
    };
    let error = load_in(with_file("{}", &strategy(1050)).path()).expect_err("701 + 300 + 50 are 1051").to_string();
    assert!(error.contains("space_app_instance_limit_exceeded for space shop."), "{error}");
    let folder = with_file("{}", &strategy(1051));
    let explained = fleetsim(folder.path()).args(["explain", "."]).assert().success();
    let text = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    assert!(text.contains("50 start with the request; 1051 of both versions at most"), "{text}");
    assert!(!text.contains("quota"), "it fits: {text}");
}

#[test]
fn a_pass_that_outlasts_the_period_is_followed_immediately_and_shifts_the_period() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "update", "", "{maxInFlight: 500}");
    let file = folder.path().join("experiment.yaml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, text.replace("strategies:", "controller: {request: 400 ms}\nstrategies:")).expect("written");
    let experiment = loaded(folder.path());
    let run = sim::run(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process");
    assert_eq!(run.run.outcome, RunOutcome::Complete, "{}", run.run.held());
    let (mut long, mut short) = (0, 0);
    // The first row is the user's request.
    for pair in run.passes[1..].windows(2) {
        let next = pair[0].t_s + pair[0].duration_s.max(5.0);
        assert!((pair[1].t_s - next).abs() < 1e-6, "max(period, duration) after the start: {pair:?}");
        *(if pair[0].duration_s > 5.0 { &mut long } else { &mut short }) += 1;
    }
    assert!(long > 0 && short > 0, "{:?}", run.passes);
}
