//! Actions of people during a rollout: `changes` of an experiment, approvals that a process requests, and the states
//! of a run.

use std::path::Path;

use fleetsim::results::{RunOutcome, RunRecord, StatusRow};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

use super::common::{
    canaries_and_stores, contents, first_run, fleetsim, folder_with, loaded, peak_in_flight, root,
    text,
};
use super::external_scheduler::python;

/// An experiment with twelve clusters that become ready soon; two of them are canaries.
fn experiment(strategy: &str, changes: &str) -> String {
    canaries_and_stores(
        1,
        &format!("\n  s: {strategy}"),
        &format!("changes: {changes}"),
    )
}

const TWO_STAGES: &str = "{kubeFleetStaged: {stages: [
      {name: canary, labelSelector: {matchLabels: {ring: canary}}, afterStageTasks: [{type: Approval}]},
      {name: rest, labelSelector: {matchLabels: {ring: rest}}}], approvals: {after: never}}}";

#[test]
fn a_stop_blocks_a_rollout_until_it_resumes_under_every_scheduler_with_stops() {
    let rings =
        "{matchExpressions: [{key: ring, operator: In, values: [canary, rest]}], maxUpdate: 1}";
    let argo = format!(
        "{{argoCd: {{strategy: {{type: RollingSync, rollingSync: {{steps: [{rings}]}}}}}}}}"
    );
    let staged = "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}}]}}";
    for strategy in [
        "{batches: {size: 2}}",
        "{rancherFleet: {maxUnavailable: 1}}",
        &argo,
        staged,
    ] {
        let changes = "[{after: 31 min, stop: false}, {after: 15 s, stop: true}]";
        let run = first_run(&[("experiment.yaml", &experiment(strategy, changes))]);
        let told: Vec<f64> = run
            .clusters
            .iter()
            .filter_map(|cluster| cluster.instructed_s)
            .collect();
        let during = told
            .iter()
            .filter(|at| (50.0..31.0 * 60.0).contains(*at))
            .count();
        let before = told.iter().filter(|at| **at < 50.0).count();
        assert!(
            during == 0 && (1..12).contains(&before),
            "{strategy}: {told:?}"
        );
        assert_eq!(
            (run.run.outcome, told.len()),
            (RunOutcome::Complete, 12),
            "{strategy}"
        );
        let stopped = experiment(strategy, "[{after: 15 s, stop: true}]");
        let run = first_run(&[("experiment.yaml", &stopped)]).run;
        assert_ne!(run.outcome, RunOutcome::Complete, "{strategy}");
        assert!(!run.held_detail.is_empty(), "{strategy}");
    }
}

#[test]
fn agents_of_a_paused_bundle_apply_nothing_and_report_nothing() {
    // All clusters are instructed immediately; the clusters of the ring `rest` are offline until the bundle is
    // stopped.
    let offline = "\nfaults: {offline: {share: 40%, return: 5 min}}\n";
    let held = |changes: &str| {
        let text = experiment(
            "{rancherFleet: {maxUnavailable: 100%, maxUnavailablePartitions: 100%}}",
            changes,
        );
        first_run(&[("experiment.yaml", &(text + offline))])
    };
    let ready = |run: &RunRecord| -> Vec<f64> {
        run.clusters.iter().filter_map(|row| row.ready_s).collect()
    };
    let run = held("[{after: 3 min, stop: true}, {after: 31 min, stop: false}]");
    let (early, late): (Vec<f64>, Vec<f64>) = ready(&run).into_iter().partition(|at| *at < 180.0);
    assert!(
        !early.is_empty() && !late.is_empty(),
        "some are offline: {early:?}, {late:?}"
    );
    assert!(
        late.iter().all(|at| *at > 31.0 * 60.0),
        "nothing is ready while the bundle is paused: {late:?}"
    );
    let applied = |row: &fleetsim::results::ClusterRow| {
        row.applied_s
            .is_some_and(|at| (240.0..1_860.0).contains(&at))
    };
    assert!(!run.clusters.iter().any(applied), "and nothing is applied");
    let run = held("[{after: 2 s, stop: true}, {after: 31 min, stop: false}]");
    assert!(
        ready(&run).iter().all(|at| *at > 31.0 * 60.0),
        "readiness waits until agents are resumed"
    );
}

#[test]
fn an_approval_at_a_time_lets_the_next_stage_begin() {
    let changes = "[{after: 2 h, approve: {stage: canary, when: after}}]";
    let run = first_run(&[("experiment.yaml", &experiment(TWO_STAGES, changes))]);
    let told = |ring: &str| -> Vec<f64> {
        run.clusters
            .iter()
            .filter(|row| row.cluster.starts_with(ring))
            .filter_map(|row| row.instructed_s)
            .collect()
    };
    assert!(
        told("canary").iter().all(|at| *at < 600.0),
        "{:?}",
        told("canary")
    );
    assert!(
        told("store").len() == 10 && told("store").iter().all(|at| *at >= 7_200.0),
        "{:?}",
        told("store")
    );
}

#[test]
fn new_labels_take_effect_during_a_rollout() {
    // A cluster that changes its ring is then in another stage than the run has recorded, so the run fails.
    let changes = "[{after: 1 min, relabel: {clusters: {matchLabels: {ring: canary}}, labels: {ring: rest}}}]";
    let run = first_run(&[("experiment.yaml", &experiment(TWO_STAGES, changes))]).run;
    assert_eq!(run.outcome, RunOutcome::Stalled);
    assert!(run.held_detail.contains("failed"), "{}", run.held_detail);
}

#[test]
fn a_strategy_that_is_deleted_or_edited_counts_for_runs_that_are_not_initialized() {
    let later =
        "{kubeFleetStaged: {runs: [{after: 10 min}], stages: [{name: all, labelSelector: {}}]}}";
    let run = |changes: &str| first_run(&[("experiment.yaml", &experiment(later, changes))]);
    let deleted = run("[{after: 5 min, delete: strategy}]").run;
    assert_eq!(deleted.outcome, RunOutcome::Stalled);
    assert!(
        deleted.held_detail.contains("updateStrategy not found"),
        "{}",
        deleted.held_detail
    );
    // The run is already initialized at that time.
    let kept = run("[{after: 11 min, delete: strategy}]");
    assert_eq!(kept.run.outcome, RunOutcome::Complete);
    let edit = "edit: {stages: [{name: all, labelSelector: {}, maxConcurrency: 100%}]}";
    let before = run(&format!("[{{after: 5 min, {edit}}}]"));
    let after = run(&format!("[{{after: 11 min, {edit}}}]"));
    assert_eq!(
        peak_in_flight(&before.clusters),
        12,
        "the run is of the edited strategy"
    );
    assert_eq!(
        peak_in_flight(&after.clusters),
        1,
        "the run has its snapshot"
    );
}

#[test]
fn an_edit_must_be_of_the_strategys_object() {
    let refused = |strategy: &str, edit: &str| {
        let text = experiment(strategy, &format!("[{{after: 5 min, edit: {edit}}}]"));
        let folder = folder_with(&[("experiment.yaml", &text)]);
        let error = load(folder.path(), &Overrides::default()).expect_err("it is refused");
        error.render(false)
    };
    let staged = "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}}]}}";
    for (strategy, edit, reason) in [
        (staged, "{stages: []}", "its `edit` has no `stages`"),
        (
            staged,
            "{stages: 5}",
            "is not a valid spec of a ClusterStagedUpdateStrategy",
        ),
        (
            "{argoCdProposal: {}}",
            "{stages: []}",
            "no `strategy` of an ApplicationSet",
        ),
        (
            "{argoCdProposal: {}}",
            "{strategy: {type: Replace}}",
            "RollingUpdate and AllAtOnce",
        ),
        (
            "{rancherFleet: {}}",
            "{maxUnavailable: 1}",
            "supports `release`, `relabel` and `stop`",
        ),
    ] {
        let found = refused(strategy, edit);
        assert!(found.contains(reason), "{edit}: {found}");
    }
}

#[test]
fn the_documented_scheduler_is_stopped_and_resumed_like_batches() {
    let Some(python) = python() else { return };
    let script = std::fs::read_to_string(root().join("examples/external-scheduler/scheduler.py"))
        .expect("the example");
    let changes = "[{after: 15 s, stop: true}, {after: 31 min, stop: false}]";
    let external = experiment(
        &format!("{{external: {{command: [{python:?}, scheduler.py, '2']}}}}"),
        changes,
    );
    let folder = folder_with(&[("experiment.yaml", &external), ("scheduler.py", &script)]);
    let run = only_run(folder.path());
    assert_eq!(run.run.outcome, RunOutcome::Complete);
    assert_eq!(
        run,
        first_run(&[(
            "experiment.yaml",
            &experiment("{batches: {size: 2}}", changes)
        )])
    );
}

/// The first run of an experiment that may start processes.
fn only_run(folder: &Path) -> RunRecord {
    let experiment = loaded(folder);
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A process with its own loop, which takes no time. It updates the canaries, requests an approval, and continues. It
/// shows each action of a person as a condition, with the time at which the news of the action arrived.
const PEOPLE: &str = r#"
import json, sys

now, number, shown, asked, approved = 0, 0, [], False, False
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        canaries = [t["labels"]["ring"] == "canary" for t in message["targets"]]
        assigned, ready = [1] * len(canaries), [True] * len(canaries)
        answer = {"ready": {"lookahead": 0}}
    elif kind == "run":
        answer = {"deploy": []}
        for news in message["news"]:
            assert news["at"] == now, (now, news)
            act = {key: news[key] for key in ("target", "labels", "selected", "release", "approve", "stop") if key in news}
            if "applied" in news:
                ready[news["target"]] = news["ready"] and news["applied"] == assigned[news["target"]]
            else:
                number += 1
                shown.append({"at": now, "object": f"Person/{number}", "condition": "Act", "status": json.dumps(act)})
            if "approve" in news:
                approved = True
            if news.get("selected") is False:
                assigned[news["target"]] = 0
                answer["deploy"].append({"target": news["target"], "revision": 0})
        wave = [at for at, old in enumerate(assigned) if old == 1 and (approved or canaries[at])]
        for at in wave:
            assigned[at], ready[at] = 2, False
            answer["deploy"].append({"target": at, "revision": 2})
        if not asked and not wave and all(ready[at] for at, canary in enumerate(canaries) if canary):
            asked, answer["approvals"] = True, [{"stage": "canary", "when": "after"}]
        if not answer["deploy"] and "approvals" not in answer:
            now = message["until"]
        answer, shown = {**answer, "now": now, "conditions": shown, "next": 2**63}, []
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn a_process_is_notified_of_every_action_of_a_person_at_its_time() {
    let Some(python) = python() else { return };
    let strategy = format!(
        "{{external: {{command: [{python:?}, people.py], loop: process, approvals: {{after: 20 min}}}}}}"
    );
    let changes = "
  - {after: 10 s, relabel: {clusters: {matchLabels: {ring: canary}}, labels: {env: lab}}}
  - {after: 11 s, deselect: {matchExpressions: [{key: ring, operator: In, values: [rest]}]}, strategy: other}
  - {after: 12 s, stop: true}
  - {after: 13 s, approve: {stage: early, when: before}, strategy: other}
  - {after: 14 s, release: new}
  - {after: 15 s, relabel: {clusters: {matchLabels: {ring: canary}}, labels: {zone: b}}}
  - {after: 16 s, deselect: {matchLabels: {spare: 'yes'}}}";
    let other = format!("{strategy}\n  other: {{external: {{command: ['true']}}}}");
    let file = experiment(&other, changes).replace(
        "fleet:\n",
        "fleet:\n  - {name: spare, labels: {ring: rest, spare: 'yes'}, nodes: 1}\n",
    );
    let folder = folder_with(&[("experiment.yaml", &file), ("people.py", PEOPLE)]);
    let run = only_run(folder.path());
    let acts: Vec<(f64, &str)> = acts(&run.statuses);
    let canary = r#"{"target": 1, "labels": {"env": "lab", "ring": "canary"}}"#;
    let approval = r#"{"approve": {"stage": "canary", "when": "after"}}"#;
    assert_eq!(acts[0], (10.0, canary));
    assert_eq!(
        acts[2..4],
        [(12.0, r#"{"stop": true}"#), (14.0, r#"{"release": 2}"#)]
    );
    assert_eq!(
        acts[4].1,
        r#"{"target": 1, "labels": {"env": "lab", "ring": "canary", "zone": "b"}}"#
    );
    assert_eq!(acts[6], (16.0, r#"{"target": 0, "selected": false}"#));
    assert_eq!((acts[7].1, acts.len()), (approval, 8));
    // The other clusters are instructed 20 minutes after the last canary is ready.
    let ready = |name: &str| -> f64 {
        let rows = run
            .clusters
            .iter()
            .filter(|row| row.cluster.starts_with(name));
        rows.filter_map(|row| row.ready_s).fold(0.0, f64::max)
    };
    let seen = acts[7].0 - 1_200.0;
    assert!(
        (ready("canary") - 1e-6..ready("canary") + 30.0).contains(&seen),
        "{seen}"
    );
    let told = run
        .clusters
        .iter()
        .filter(|row| row.cluster.starts_with("store"))
        .map(|row| row.instructed_s);
    assert!(
        told.into_iter().all(|at| at == Some(acts[7].0)),
        "{:?}",
        run.clusters
    );
    // A cluster that has left the rollout counts as finished.
    assert_eq!(
        (run.run.outcome, run.run.targets_done),
        (RunOutcome::Complete, 13)
    );
    assert!(run.clusters[0].instructed_s.is_none());
}

/// The actions of people that the process was notified of, with the times of the notifications.
fn acts(statuses: &[StatusRow]) -> Vec<(f64, &str)> {
    statuses
        .iter()
        .filter(|row| row.condition == "Act")
        .map(|row| (row.t_s, row.status.as_str()))
        .collect()
}

/// A substitute for KubeFleet's own controller: it answers at the end of each window, with conditions of that window.
/// The canaries are ready at 100 s. It acknowledges each action of a person.
const KUBEFLEET: &str = r#"
import json, sys

now, shown = 0, []
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        answer = {"ready": {"lookahead": 5_000_000}}
    elif kind == "run":
        for news in message.get("news", []):
            act = {key: news[key] for key in ("approve", "stop") if key in news}
            if act:
                shown.append({"at": news["at"], "object": "Person", "condition": "Act", "status": json.dumps(act)})
        then, now = now, message["until"]
        if then < 100_000_000_000 <= now:
            shown.append({
                "at": 100_000_000_000, "object": "ClusterStagedUpdateRun/run/canary", "condition": "Progressing",
                "status": "False", "reason": "StageUpdatingWaiting",
                "message": "All clusters in the stage are updated, waiting for after-stage tasks to complete"})
        answer, shown = {"now": now, "conditions": shown}, []
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;

const STAGES: &str = "
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: strategy}
spec:
  stages:
    - {name: canary, labelSelector: {matchLabels: {ring: canary}}, afterStageTasks: [{type: Approval}]}
    - {name: rest, labelSelector: {matchLabels: {ring: rest}}}
";

#[cfg(unix)]
#[test]
fn kubefleets_own_controller_receives_approvals_and_the_states_of_its_run() {
    use std::os::unix::fs::PermissionsExt;
    let Some(python) = python() else { return };
    let strategy =
        "{kubeFleetStaged: {file: stages.yaml, controller: upstream, approvals: {after: 10 min},
        runs: [{states: [{after: 5 min, state: Stop}, {after: 6 min, state: Run}]}]}}";
    let file =
        experiment(strategy, "[]").replace("replicates: 1", "replicates: 1\nhorizon: 20 min");
    let folder = folder_with(&[
        ("experiment.yaml", &file),
        ("stages.yaml", STAGES),
        ("program.py", KUBEFLEET),
    ]);
    let program = folder.path().join("kubefleet");
    std::fs::write(
        &program,
        format!(
            "#!/bin/sh\nexec {python} {}/program.py\n",
            folder.path().display()
        ),
    )
    .expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let mut command = fleetsim(folder.path());
    command.env("FLEETSIM_CONTROLLERS", folder.path()).args([
        "run",
        ".",
        "--allow-commands",
        "--out",
        "out",
    ]);
    command.assert().success();
    let files = contents(&folder.path().join("out"));
    let table = files
        .iter()
        .find(|(name, _)| name == "statuses.csv")
        .map(|(_, bytes)| text(bytes))
        .expect("it is written");
    let acts: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("Person"))
        .collect();
    // The wait began at 100 s, regardless of the window in which it was reported.
    for (act, (at, wanted)) in acts
        .iter()
        .zip([(300, "stop"), (360, "stop"), (700, "canary")])
    {
        assert!(
            act.contains(&format!(",{at}.0,")) || act.contains(&format!(",{at},")),
            "{act}"
        );
        assert!(act.contains(wanted), "{act}");
    }
    assert_eq!(acts.len(), 3, "{table}");
}

#[test]
fn a_change_that_cannot_happen_is_refused_with_a_fix() {
    let cases = [
        (
            "{allAtOnce: {}}",
            "[{after: 1 min}]",
            "a change must have one of `approve`, `delete`, `deselect`,",
        ),
        (
            "{allAtOnce: {}}",
            "[{after: 1 min, stop: true, release: new}]",
            "one entry for each change",
        ),
        (
            "{allAtOnce: {}}",
            "[{after: 48 h, stop: true}]",
            "write an earlier time, or a longer `horizon`",
        ),
        (
            "{allAtOnce: {}}",
            "[{after: 1 h, stop: true, strategy: t}]",
            "there is no strategy `t`",
        ),
        ("{allAtOnce: {}}", "[{stop: true}]", "`after`"),
        (
            "{batches: {size: 1}}",
            "[{after: 1 min, approve: {stage: canary, when: after}}]",
            "`s` does not support this change: a baseline supports `release` and `stop`",
        ),
        (
            "{argoCd: {}}",
            "[{after: 1 min, stop: true}]",
            "an ApplicationSet that does not roll in steps cannot be stopped",
        ),
        (
            TWO_STAGES,
            "[{after: 1 min, approve: {stage: canary2, when: after}}]",
            "there is no stage `canary2`",
        ),
        (
            "{external: {command: [x]}}",
            "[{after: 1 min, deselect: {matchLabels: {ring: x}}}]",
            "matches no cluster",
        ),
        (
            "{cloudFoundry: {}}",
            "[{after: 1 min, edit: {stages: []}}]",
            "fleetsim's own updater for Cloud Foundry supports `release` and `stop`",
        ),
    ];
    for (strategy, changes, wanted) in cases {
        let folder = folder_with(&[("experiment.yaml", &experiment(strategy, changes))]);
        let output = fleetsim(folder.path())
            .args(["check", "."])
            .assert()
            .code(2)
            .get_output()
            .clone();
        let found = text(&output.stderr);
        assert!(
            found.contains(wanted),
            "{changes}\n{found}\nlacks: {wanted}"
        );
    }
}

#[test]
fn delays_of_people_are_the_same_under_all_products() {
    let pause = "{median: 30 min, sigma: 1}";
    let staged = TWO_STAGES.replace("never", pause);
    let canary = format!("{{cloudFoundry: {{strategy: canary, continueAfter: {pause}}}}}");
    let text = canaries_and_stores(20, &format!("\n  staged: {staged}\n  canary: {canary}"), "");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let experiment = loaded(folder.path());
    let times = |variant: usize| -> Vec<f64> {
        let run = |replicate| {
            sim::run(&experiment.variants[variant], 1, replicate)
                .expect("no process")
                .run
        };
        (0..20)
            .map(|replicate| run(replicate).reachable_ready_s.expect("complete"))
            .collect()
    };
    let (staged, canary) = (times(0), times(1));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| (x - mean(a)) * (y - mean(b)))
            .sum()
    };
    let correlation =
        product(&staged, &canary) / (product(&staged, &staged) * product(&canary, &canary)).sqrt();
    assert!(
        correlation > 0.99,
        "correlation {correlation}: {staged:?} {canary:?}"
    );
}
