//! Properties of every pass of random rollouts.

use super::super::rolling::{RollingAction, RollingUpdate, RollingView};
use super::super::staged::{StagedAction, StagedView};
use super::*;
use fleetsim_units::SimDuration;
use proptest::collection::vec;
use proptest::prelude::*;

const STATES: [WorkState; 7] = [
    WorkState::Unknown,
    WorkState::Applying,
    WorkState::ApplyFailed,
    WorkState::Applied,
    WorkState::Unavailable,
    WorkState::Available,
    WorkState::AvailableUntrackable,
];

#[derive(Clone, Debug)]
struct RecordedPass {
    seconds: u64,
    reports: Vec<(u32, usize)>,
    approves: bool,
    state: usize,
}

fn steps() -> impl Strategy<Value = Vec<RecordedPass>> {
    let reports = vec((0..9_u32, 0..STATES.len()), 0..9);
    let step = (0..400_u64, reports, any::<bool>(), 0..6_usize);
    vec(
        step.prop_map(|(seconds, reports, approves, state)| RecordedPass {
            seconds,
            reports,
            approves,
            state,
        }),
        1..25,
    )
}

fn report(bindings: &mut Bindings, now: SimTime, reports: &[(u32, usize)]) {
    for (index, state) in reports {
        if let Some(binding) = bindings.get_mut(TargetId(*index)) {
            binding.report(now, STATES[*state]);
        }
    }
}

proptest! {
    /// A stage starts only when all clusters and tasks of the previous one are done; at most `maxConcurrency` clusters
    /// of a stage are in progress; and a hold never contradicts a pass that makes progress.
    #[test]
    fn stages_run_in_order_within_their_concurrency(
        steps in steps(),
        limit in 1..4_i64,
        documented in any::<bool>(),
    ) {
        let rules = if documented { RuleSet::Documented } else { RuleSet::Shipped };
        let clusters = clusters(&[("a", 3), ("b", 4), ("c", 2)]);
        let mut view: StagedView = super::staged::view(&clusters);
        let mut run = super::staged::run(&three_stages(limit), rules, clusters);
        let limit = if documented { 1 } else { limit };
        let mut now = SimTime::ZERO;
        for step in steps {
            now = now + SimDuration::from_secs(step.seconds);
            report(&mut view.bindings, now, &step.reports);
            view.state = if step.state == 0 { RunState::Stop } else { RunState::Run };
            if step.approves {
                view.approval_requests.values_mut().for_each(|request| request.approved = true);
            }
            let held = run.hold(&view);
            let is_going = run.status().initialized == Some(true) && !run.status().is_over();
            prop_assert_eq!(run.hold_until_next_pass(&view).is_some(), is_going);
            let pass = run.reconcile(now, &view);
            view.store(&pass);
            let rolled = pass.actions.iter().filter(|action| matches!(action, StagedAction::Deploy(..))).count();
            // The hold refers to the time of the previous pass, so a timed wait can have ended since.
            prop_assert!(rolled == 0 || held.is_none_or(|hold| hold.rule == "afterStageTasks" || hold.rule == "stages"));
            let status = run.status();
            for (index, stage) in status.stages.iter().enumerate() {
                prop_assert!(stage.updating().count() as i64 <= limit, "{stage:?}");
                if stage.clusters.iter().any(|cluster| cluster.started.is_some()) {
                    let before = &status.stages[..index];
                    prop_assert!(before.iter().all(|stage| stage.succeeded() == Some(true)), "{status:?}");
                    let is_passed = |stage: &super::super::staged::StageStatus| {
                        stage.after_tasks.iter().all(|task| task.approved || task.elapsed) && stage.finished == stage.clusters.len()
                    };
                    prop_assert!(before.iter().all(is_passed), "{status:?}");
                    prop_assert!(documented || index != 2 || stage.approved_before, "{status:?}");
                }
            }
            prop_assert!(status.failure.is_none(), "nothing here ends a run: {status:?}");
        }
    }

    /// Apart from failed clusters, no pass updates more ready clusters than `maxUnavailable` allows; no binding is
    /// bound beyond `maxSurge`; and the same view gives the same actions.
    #[test]
    fn limits_are_not_exceeded(
        reports in vec((0..9_u32, 0..STATES.len()), 0..20),
        scheduled in 0..6_u32,
        unscheduled in vec(0..9_u32, 0..4),
        (unavailable, surge, asked) in (0..5_i32, 0..5_i32, 0..12_u32),
        without_bugs in any::<bool>(),
    ) {
        let bugs = if without_bugs { KubeFleetBugs::NONE } else { KubeFleetBugs::ALL };
        let clusters = clusters(&[("a", 15)]);
        let now = SimTime::from_secs(1000);
        let mut view = RollingView { requested: Some(asked), ..super::rolling::view(&clusters[..9]) };
        for index in 9..9 + scheduled {
            let name = binding_name("crp", &clusters[index as usize].name, 0);
            let mut binding = Binding::scheduled(name, TargetId(index), 0);
            binding.apply_strategy = Some(ApplyStrategy(0));
            view.bindings = view.bindings.iter().cloned().chain([binding]).collect();
        }
        for index in unscheduled {
            view.bindings.get_mut(TargetId(index)).expect("it settles").unschedule();
        }
        report(&mut view.bindings, now, &reports);
        let config = RollingUpdateConfig {
            max_unavailable: Some(unavailable.into()),
            max_surge: Some(surge.into()),
            unavailable_period_seconds: None,
        };
        let mut update = RollingUpdate::new(config, RuleSet::Shipped, bugs, clusters);
        let pass = update.reconcile(now, &view);
        prop_assert_eq!(&update.clone().reconcile(now, &view).actions, &pass.actions);
        let counts = pass.status.counts.expect("it counted");
        let (mut taken, mut added) = (0, 0);
        for action in &pass.actions {
            let (RollingAction::Deploy(target, _) | RollingAction::Delete(target)) = *action;
            let binding = view.bindings.get(target).expect("a binding");
            match binding.state {
                BindingState::Scheduled => added += 1,
                BindingState::Bound if binding.has_failed(bugs) => {}
                BindingState::Bound | BindingState::Unscheduled => taken += 1,
            }
        }
        prop_assert!(taken == 0 || counts.ready - taken >= i64::from(asked) - i64::from(unavailable), "{counts:?}");
        prop_assert!(added == 0 || counts.can_be_ready + added <= i64::from(asked) + i64::from(surge), "{counts:?}");
        prop_assert_eq!(update.hold(&view).is_some(), pass.actions.is_empty() && !view.is_done());
    }

    /// The time of the work generator's writes has no effect, except for resources without availability tracking.
    #[test]
    fn the_time_of_a_condition_matters_only_if_availability_cannot_be_tracked(
        reports in vec((0..9_u32, 0..STATES.len()), 0..20),
        (first, second, later) in (0..1000_u64, 0..1000_u64, 0..100_u64),
        without_bugs in any::<bool>(),
    ) {
        let bugs = if without_bugs { KubeFleetBugs::NONE } else { KubeFleetBugs::ALL };
        let tracked: Vec<(u32, usize)> =
            reports.into_iter().filter(|(_, state)| STATES[*state] != WorkState::AvailableUntrackable).collect();
        let clusters = clusters(&[("a", 9)]);
        let now = SimTime::from_secs(1000 + later);
        let passes = [first, second].map(|written| {
            let written = SimTime::from_secs(written);
            let mut rolled: RollingView = super::rolling::view(&clusters);
            let before = rolled.bindings.clone();
            report(&mut rolled.bindings, written, &tracked);
            let woken: Vec<bool> =
                before.iter().zip(rolled.bindings.iter()).map(|(a, b)| super::super::rolling::wakes(a, b, bugs)).collect();
            let mut update =
                RollingUpdate::new(RollingUpdateConfig::default(), RuleSet::Shipped, bugs, clusters.clone());
            let mut staged: StagedView = super::staged::view(&clusters);
            let stages = "stages: [{name: a, labelSelector: {}, maxConcurrency: 3}]";
            let mut run = super::staged::run(stages, RuleSet::Shipped, clusters.clone());
            let begun = run.reconcile(SimTime::from_secs(1000), &staged);
            staged.store(&begun);
            report(&mut staged.bindings, written, &tracked);
            (woken, update.reconcile(now, &rolled), run.reconcile(now, &staged), run.status().clone())
        });
        prop_assert_eq!(&passes[0], &passes[1]);
    }
}

#[test]
fn untracked_resources_are_ready_a_period_after_they_were_applied() {
    let clusters = clusters(&[("a", 4)]);
    let rolled = |written: u64| {
        let mut view: RollingView = super::rolling::view(&clusters);
        report(
            &mut view.bindings,
            SimTime::from_secs(written),
            &[(0, STATES.len() - 1)],
        );
        let config = RollingUpdateConfig {
            max_unavailable: Some(1.into()),
            ..RollingUpdateConfig::default()
        };
        let mut update = RollingUpdate::new(
            config,
            RuleSet::Shipped,
            KubeFleetBugs::ALL,
            clusters.clone(),
        );
        update
            .reconcile(SimTime::from_secs(1000), &view)
            .actions
            .len()
    };
    assert_eq!(
        (rolled(939), rolled(940)),
        (1, 0),
        "unavailablePeriodSeconds is 60, and must have passed"
    );
}
