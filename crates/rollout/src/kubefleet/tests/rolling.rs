//! Scripts of rolling updates. `tests/conformance` covers single passes with recorded upstream behaviour; these
//! scripts cover holds and the documented rules, and serve as examples.
use super::super::rolling::{RollingAction, RollingUpdate, RollingView, wakes};
use super::*;

pub(super) fn view(clusters: &[MemberCluster]) -> RollingView {
    RollingView {
        requested: None,
        apply_strategy: ApplyStrategy(0),
        latest_snapshot: Some(NEW),
        bindings: settled(clusters),
    }
}

fn play(yaml: &str, rules: RuleSet, count: usize, story: &str) {
    let clusters = clusters(&[("a", count)]);
    let mut view = view(&clusters);
    let config: RollingUpdateConfig = serde_saphyr::from_str(yaml).expect(yaml);
    let mut update = RollingUpdate::new(config, rules, KubeFleetBugs::of(rules), clusters);
    let mut played = Vec::new();
    for (now, event, head) in lines(story) {
        let (word, rest) = event.split_once(' ').unwrap_or((event, ""));
        if !reports(&mut view.bindings, now, word, rest) {
            match word {
                "pass" => {}
                "release" => view.latest_snapshot = rest.parse().ok().map(Revision),
                other => panic!("no event `{other}`"),
            }
        }
        let pass = update.reconcile(now, &view);
        view.store(&pass);
        let hold = if pass.actions.is_empty() {
            update.hold(&view)
        } else {
            None
        };
        let word = |action: &RollingAction| match action {
            RollingAction::Deploy(target, _) => Some(("deploy", target.0)),
            RollingAction::Delete(target) => Some(("delete", target.0)),
        };
        played.push(format!(
            "{head} => {}",
            outcome(&pass, pass.status.next, word, hold, &[], view.is_done())
        ));
    }
    same(yaml, story, &played);
}

#[test]
fn updates_stay_within_max_unavailable() {
    play(
        "{maxUnavailable: 2}",
        RuleSet::Shipped,
        4,
        "
t=0 pass => deploy 0-1; requeue
t=1 applied 0-1 => hold maxUnavailable: of 4 clusters requested, maxUnavailable allows 2 to be unavailable; 2 are ready, 0 of them being deleted (not available: 2 clusters (m00, m01)), so 0 may be updated; 2 clusters (m02, m03) wait; requeue after 1m0s
t=9 available 0 => deploy 2; requeue after 1m0s
t=12 available 1-2 => deploy 3; requeue
t=13 applying 3 => hold Available: 1 cluster (m03) is assigned the newest resources or being removed, and not available: in progress, offline or failing, without a time-out
t=15 available 3 => done",
    );
}

#[test]
fn a_limit_of_zero_never_updates_and_keeps_retrying() {
    play(
        "{maxUnavailable: 0}",
        RuleSet::Shipped,
        2,
        "
t=0 pass => hold maxUnavailable: maxUnavailable is 0, so no available cluster is ever updated; 2 clusters (m00, m01) wait; requeue
t=1 pass => hold maxUnavailable: maxUnavailable is 0, so no available cluster is ever updated; 2 clusters (m00, m01) wait; requeue",
    );
    play(
        "{maxUnavailable: 0}",
        RuleSet::Documented,
        2,
        "\nt=0 pass => deploy 0; requeue",
    );
}

#[test]
fn only_as_shipped_a_newer_release_ignores_the_limit_for_clusters_in_progress() {
    let begin = "
t=0 pass => deploy 0; requeue
t=1 applying 0 => hold maxUnavailable: of 3 clusters requested, maxUnavailable allows 1 to be unavailable; 2 are ready, 0 of them being deleted (not available: 1 cluster (m00)), so 0 may be updated; 2 clusters (m01, m02) wait";
    let shipped = "; requeue after 1m0s\nt=2 release 3 => deploy 0; requeue after 1m0s";
    let documented = "\nt=2 release 3 => hold maxUnavailable: of 3 clusters requested, maxUnavailable allows 1 to be unavailable; 2 are ready, 0 of them being deleted (not available: 1 cluster (m00)), so 0 may be updated; 3 clusters (m00, m01, m02) wait";
    play(
        "{maxUnavailable: 1}",
        RuleSet::Shipped,
        3,
        &format!("{begin}{shipped}"),
    );
    play(
        "{maxUnavailable: 1}",
        RuleSet::Documented,
        3,
        &format!("{begin}{documented}"),
    );
}

#[test]
fn untracked_resources_count_as_available_after_their_period() {
    play(
        "{maxUnavailable: 1, unavailablePeriodSeconds: 10}",
        RuleSet::Shipped,
        2,
        "
t=0 pass => deploy 0; requeue
t=2.5 untrackable 0 => hold maxUnavailable: of 2 clusters requested, maxUnavailable allows 1 to be unavailable; 1 is ready, 0 of them being deleted (not available: 0 clusters), so 0 may be updated; 1 cluster (m01) waits; requeue after 9.5s
t=12 pass => hold maxUnavailable: of 2 clusters requested, maxUnavailable allows 1 to be unavailable; 1 is ready, 0 of them being deleted (not available: 0 clusters), so 0 may be updated; 1 cluster (m01) waits; requeue
t=12.005 pass => deploy 1; requeue",
    );
}

#[test]
fn as_shipped_a_condition_that_becomes_true_again_causes_no_pass() {
    let clusters = clusters(&[("a", 1)]);
    let mut binding = settled(&clusters)
        .get(TargetId(0))
        .expect("a binding")
        .clone();
    binding.roll(NEW, Some(ApplyStrategy(0)));
    let (mut again, mut applying) = (binding.clone(), binding.clone());
    again.report(SimTime::from_secs(6), WorkState::Available);
    assert!(
        !wakes(&binding, &again, KubeFleetBugs::ALL),
        "true at the old generation, true at the new one"
    );
    assert!(wakes(&binding, &again, KubeFleetBugs::NONE));
    applying.report(SimTime::from_secs(1), WorkState::Applying);
    assert!(
        wakes(&binding, &applying, KubeFleetBugs::ALL),
        "Available went away"
    );
    assert!(
        wakes(&applying, &again, KubeFleetBugs::ALL),
        "and came back"
    );
}
