//! Scripts of staged update runs. `tests/conformance` covers single passes with recorded upstream behaviour; these
//! scripts cover holds and the documented rules, and serve as examples.
use super::super::staged::{
    PlacementView, PolicySnapshot, RunBehaviour, StagedAction, StagedUpdateRun, StagedView,
};
use super::*;

pub(super) fn view(clusters: &[MemberCluster]) -> StagedView {
    StagedView {
        state: RunState::Run,
        placement: Some(PlacementView {
            external: true,
            apply_strategy: ApplyStrategy(0),
        }),
        policy: PolicySnapshot {
            index: 0,
            scheduled: true,
            requested: None,
        },
        resource_snapshots: vec![OLD, NEW],
        bindings: settled(clusters),
        approval_requests: std::collections::BTreeMap::new(),
    }
}

pub(super) fn run(yaml: &str, rules: RuleSet, clusters: Vec<MemberCluster>) -> StagedUpdateRun {
    run_with(yaml, RunBehaviour::of(rules), clusters)
}

fn run_with(yaml: &str, behaviour: RunBehaviour, clusters: Vec<MemberCluster>) -> StagedUpdateRun {
    let strategy: StrategySpec = serde_saphyr::from_str(yaml).expect(yaml);
    StagedUpdateRun::new(
        "run".to_owned(),
        NEW.0.to_string(),
        Some(strategy.with_defaults()),
        behaviour,
        clusters,
    )
}

fn play(yaml: &str, rules: RuleSet, stages: &[(&str, usize)], story: &str) {
    let clusters = clusters(stages);
    let mut view = view(&clusters);
    let mut run = run(yaml, rules, clusters);
    let mut played = Vec::new();
    for (now, event, head) in lines(story) {
        let (word, rest) = event.split_once(' ').unwrap_or((event, ""));
        if !reports(&mut view.bindings, now, word, rest) {
            match word {
                "pass" => {}
                "run" => view.state = RunState::Run,
                "stop" => view.state = RunState::Stop,
                "approve" => {
                    let request = view
                        .approval_requests
                        .values_mut()
                        .find(|request| !request.accepted);
                    request.expect("it was requested").approved = true;
                }
                "unschedule" => {
                    for index in ranges(rest) {
                        view.bindings
                            .get_mut(TargetId(index))
                            .expect("a binding")
                            .unschedule();
                    }
                }
                "gone" => {
                    for index in ranges(rest) {
                        let left = view
                            .bindings
                            .iter()
                            .filter(|binding| binding.target != TargetId(index));
                        view.bindings = left.cloned().collect();
                    }
                }
                other => panic!("no event `{other}`"),
            }
        }
        let pass = run.reconcile(now, &view);
        let approvals: Vec<String> = pass
            .actions
            .iter()
            .filter_map(|action| match action {
                StagedAction::RequestApproval(approval) => Some(approval.clone()),
                _ => None,
            })
            .collect();
        view.store(&pass);
        let rolled = pass
            .actions
            .iter()
            .any(|a| matches!(a, StagedAction::Deploy(..) | StagedAction::Delete(..)));
        let hold = if rolled { None } else { run.hold(&view) };
        let is_done = run.status().succeeded() == Some(true);
        let word = |action: &StagedAction| match action {
            StagedAction::Deploy(target, _) => Some(("deploy", target.0)),
            StagedAction::Delete(target) => Some(("delete", target.0)),
            StagedAction::RequestApproval(..) => None,
        };
        played.push(format!(
            "{head} => {}",
            outcome(&pass, pass.status.next, word, hold, &approvals, is_done)
        ));
    }
    same(yaml, story, &played);
}

const TWO: &str = "stages: [
    {name: canary, labelSelector: {matchLabels: {stage: a}}, afterStageTasks: [{type: TimedWait, waitTime: 1m}]},
    {name: rest, labelSelector: {matchLabels: {stage: b}}, maxConcurrency: 50%, beforeStageTasks: [{type: Approval}]}]";

#[test]
fn stages_apply_concurrency_waits_and_approvals() {
    play(
        TWO,
        RuleSet::Shipped,
        &[("a", 2), ("b", 4)],
        "
t=0 pass => deploy 0; requeue after 15s
t=15 pass => hold maxConcurrency: in stage `canary`, 1 cluster (m00) is updating, and maxConcurrency allows 1; 1 cluster (m01) waits; requeue after 15s
t=30 available 0 => deploy 1; requeue after 15s
t=45 available 1 => hold afterStageTasks: all of stage `canary` is done, a TimedWait of 1m0s ends at 1 min 45 s; 4 clusters (m02, m03, m04 and 1 more) wait; requeue after 1m0s
t=105 pass => hold beforeStageTasks: `run-before-rest` is not approved; 4 clusters (m02, m03, m04 and 1 more) wait; requeue
t=105.005 pass => ask for run-before-rest; hold beforeStageTasks: `run-before-rest` is not approved; 4 clusters (m02, m03, m04 and 1 more) wait; requeue after 1m0s
t=130 approve => deploy 2-3; requeue after 15s
t=145 available 2-3 => deploy 4-5; requeue after 15s
t=160 available 4-5 => requeue
t=160.005 pass => done
t=200 unavailable 1,3 => hold Available: the run has succeeded; 2 clusters (m01, m03) were available and no longer are; done
t=300 available 1,3 => done",
    );
}

#[test]
fn a_failing_cluster_keeps_its_slot_and_never_fails_the_run() {
    play(
        "stages: [{name: all, labelSelector: {}, maxConcurrency: 2}]",
        RuleSet::Shipped,
        &[("a", 3)],
        "
t=0 pass => deploy 0-1; requeue after 15s
t=15 failed 0 => hold maxConcurrency: in stage `all`, 2 clusters (m00, m01) are updating (counting as failed, and retried indefinitely: m00), and maxConcurrency allows 2; 1 cluster (m02) waits; requeue after an error
t=16 available 1 => deploy 2; requeue after an error
t=301 available 2 => hold stages: in stage `all`, 1 cluster (m00) is updating (counting as failed, and retried indefinitely: m00) (for more than 5m: m00); requeue after an error
t=302 available 0 => requeue
t=302.04 pass => done",
    );
}

#[test]
fn after_a_stop_started_clusters_finish() {
    play(
        "stages: [{name: all, labelSelector: {}, maxConcurrency: 2}]",
        RuleSet::Shipped,
        &[("a", 3)],
        "
t=0 pass => deploy 0-1; requeue after 15s
t=5 stop => hold state: the state of the run is Stop; 3 clusters (m00, m01, m02) wait; requeue after 15s
t=15 available 0-1 => hold state: the state of the run is Stop; 1 cluster (m02) waits
t=90 run => deploy 2; requeue after 15s",
    );
}

#[test]
fn clusters_no_longer_picked_are_deleted_last_and_together() {
    play(
        "stages: [{name: all, labelSelector: {}}]",
        RuleSet::Shipped,
        &[("a", 3)],
        "
t=0 unschedule 1-2 => deploy 0; requeue after 15s
t=15 available 0 => requeue
t=15.005 pass => delete 1-2; requeue after 15s
t=30.005 gone 1 => hold deletionStage: waiting for the deletion of their bindings: 1 cluster (m02) waits; requeue after 15s
t=45.005 gone 2 => done",
    );
}

#[test]
fn a_change_of_the_picked_clusters_ends_the_run() {
    play(
        "stages: [{name: all, labelSelector: {}}]",
        RuleSet::Shipped,
        &[("a", 2)],
        "
t=0 pass => deploy 0; requeue after 15s
t=15 unschedule 1 => hold Succeeded: the run has failed: the number of clusters in stage `all` has changed, new: 1, existing: 2; 2 clusters (m00, m01) are not updated",
    );
}

#[test]
fn a_run_without_picked_clusters_fails_as_shipped_and_succeeds_without_the_defect() {
    let yaml = "stages: [{name: all, labelSelector: {}}]";
    let begin = "
t=0 unschedule 0 => requeue
t=0.005 pass => delete 0; requeue after 15s
t=15.005 gone 0 => ";
    let failed = "hold Succeeded: the run has failed: no scheduled or to-be-deleted bindings found for the latest \
                  policy snapshot 0; 1 cluster (m00) is not updated";
    play(
        yaml,
        RuleSet::Shipped,
        &[("a", 1)],
        &format!("{begin}{failed}"),
    );
    play(
        yaml,
        RuleSet::Documented,
        &[("a", 1)],
        &format!("{begin}done"),
    );
}

#[test]
fn as_documented_clusters_go_one_at_a_time_with_approvals_only_after_stages() {
    let yaml = "stages: [
        {name: canary, labelSelector: {matchLabels: {stage: a}}, afterStageTasks: [{type: Approval}]},
        {name: rest, labelSelector: {matchLabels: {stage: b}}, maxConcurrency: 100%,
         beforeStageTasks: [{type: Approval}]}]";
    play(
        yaml,
        RuleSet::Documented,
        &[("a", 1), ("b", 2)],
        "
t=0 pass => deploy 0; requeue after 15s
t=15 available 0 => ask for run-canary; hold afterStageTasks: all of stage `canary` is done, `run-canary` is not approved; 2 clusters (m01, m02) wait; requeue after 1m0s
t=20 approve => requeue
t=20.005 pass => deploy 1; requeue after 15s
t=35.005 applying 1 => hold maxConcurrency: in stage `rest`, 1 cluster (m01) is updating, and maxConcurrency allows 1; 1 cluster (m02) waits; requeue after 15s
t=50.005 available 1 => deploy 2; requeue after 15s",
    );
}

#[test]
fn an_empty_stage_is_skipped_with_its_tasks_only_since_0_3_1() {
    let stages = "stages: [{name: none, labelSelector: {matchLabels: {ring: nowhere}}, \
                  beforeStageTasks: [{type: Approval}]}, {name: all, labelSelector: {}}]";
    let clusters = clusters(&[("a", 1)]);
    let reason = |version| {
        let mut view = view(&clusters);
        let behaviour = RunBehaviour {
            version,
            ..RunBehaviour::of(RuleSet::Shipped)
        };
        let mut run = run_with(stages, behaviour, clusters.clone());
        for second in 0..4 {
            run.reconcile(SimTime::from_secs(second), &view);
        }
        view.approval_requests.clear();
        run.status().stages[0]
            .progressing
            .map(|condition| condition.reason)
    };
    assert_eq!(
        reason(KubeFleetVersion::Main),
        Some(super::super::staged::RunReason::SkippedNoClusters)
    );
    assert_eq!(
        reason(KubeFleetVersion::V0_3),
        Some(super::super::staged::RunReason::Waiting)
    );
}

/// A run looks at its clusters every 15 s. Between a report and the next pass, the rule of the last pass still holds.
#[test]
fn the_rule_of_the_last_pass_holds_until_the_next_one() {
    let clusters = clusters(&[("a", 2), ("b", 4)]);
    let mut view = view(&clusters);
    let mut run = run(TWO, RuleSet::Shipped, clusters);
    assert_eq!(run.hold_until_next_pass(&view), None, "not initialized");
    for at in [0, 15] {
        let pass = run.reconcile(SimTime::from_secs(at), &view);
        view.store(&pass);
    }
    let reported = SimTime::from_secs(20);
    reports(&mut view.bindings, reported, "available", "0");
    assert_eq!(run.hold(&view), None, "the next pass starts m01");
    let hold = run.hold_until_next_pass(&view).expect("the run goes on");
    let explanation = "in stage `canary`, 1 cluster (m00) is updating, and maxConcurrency allows 1; 1 cluster (m01) \
                       waits; the run sees what has changed in its next pass";
    assert_eq!(hold, Hold::new("maxConcurrency", explanation));
}
