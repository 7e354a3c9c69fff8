//! Random placements and runs, with several changes between passes. In tests each partial pass is compared with a pass
//! over sets that are rebuilt from all bindings.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::super::TargetSet;
use super::super::rolling::{RollingUpdate, RollingView};
use super::super::staged::{RunBehaviour, StagedUpdateRun, StagedView};
use super::*;
use fleetsim_units::SimDuration;

/// Number of clusters of a placement.
const CLUSTERS: u32 = 90;

const STATES: [WorkState; 7] = [
    WorkState::Available,
    WorkState::Applying,
    WorkState::ApplyFailed,
    WorkState::Applied,
    WorkState::Unavailable,
    WorkState::AvailableUntrackable,
    WorkState::DiffReported,
];

/// An event between two passes; most events have the number of a cluster.
#[derive(Clone, Debug)]
enum Event {
    /// The work generator reports a state.
    Report(u32, usize),
    /// The scheduler no longer picks the cluster, or picks it again.
    Select(u32, bool),
    /// A binding is removed.
    Gone(u32),
    /// New resources are released.
    Release(Revision),
    /// The limits are replaced.
    Limits(i32, i32),
    /// The placement's apply strategy is replaced.
    Apply(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        30 => (0..CLUSTERS, prop_oneof![6 => Just(0), 4 => 0..STATES.len()]).prop_map(|(at, state)| Event::Report(at, state)),
        3 => (0..CLUSTERS, any::<bool>()).prop_map(|(at, is_picked)| Event::Select(at, is_picked)),
        2 => (0..CLUSTERS).prop_map(Event::Gone),
        1 => prop_oneof![Just(OLD), Just(NEW), Just(Revision(3))].prop_map(Event::Release),
        1 => (0..40_i32, 0..40_i32).prop_map(|(unavailable, surge)| Event::Limits(unavailable, surge)),
        1 => (0..2_u32).prop_map(Event::Apply),
    ]
}

/// Applies the scheduler's change to a cluster's binding.
fn select(bindings: &mut Bindings, cluster: u32, is_picked: bool) {
    let target = TargetId(cluster);
    match bindings.get_mut(target) {
        Some(binding) if !is_picked && binding.state != BindingState::Unscheduled => {
            binding.unschedule();
        }
        Some(binding)
            if is_picked && !binding.deleting && binding.state == BindingState::Unscheduled =>
        {
            binding.reschedule();
        }
        None if is_picked => {
            let name = binding_name("crp", &format!("m{cluster:02}"), 0);
            bindings.insert(Binding::scheduled(name, target, 0));
        }
        _ => {}
    }
}

fn happen(update: &mut RollingUpdate, view: &mut RollingView, now: SimTime, event: &Event) {
    match event {
        Event::Report(at, state) => {
            view.bindings
                .get_mut(TargetId(*at))
                .into_iter()
                .for_each(|it| it.report(now, STATES[*state]));
        }
        Event::Select(at, is_picked) => select(&mut view.bindings, *at, *is_picked),
        Event::Gone(at) => view.bindings.remove(TargetId(*at)),
        Event::Release(revision) => view.latest_snapshot = Some(*revision),
        Event::Limits(unavailable, surge) => update.set_config(RollingUpdateConfig {
            max_unavailable: Some((*unavailable).into()),
            max_surge: Some((*surge).into()),
            unavailable_period_seconds: None,
        }),
        Event::Apply(number) => view.apply_strategy = ApplyStrategy(*number),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn passes_over_changed_bindings_decide_like_full_scans(
        (unavailable, surge, asked) in (0..40_i32, 0..40_i32, prop::option::of(60..100_u32)),
        is_documented in any::<bool>(),
        is_new in any::<bool>(),
        rounds in vec((0..100_u64, vec(event(), 0..12), prop::bool::weighted(0.8)), 1..15),
    ) {
        let rules = if is_documented { RuleSet::Documented } else { RuleSet::Shipped };
        let clusters = clusters(&[("a", CLUSTERS as usize)]);
        let mut view: RollingView = super::rolling::view(&clusters);
        view.requested = asked;
        if is_new {
            let new = view.bindings.iter().map(|it| Binding::scheduled(it.name.clone(), it.target, 0));
            view.bindings = new.collect();
        }
        let config = RollingUpdateConfig {
            max_unavailable: Some(unavailable.into()),
            max_surge: Some(surge.into()),
            unavailable_period_seconds: None,
        };
        let mut update = RollingUpdate::new(config, rules, KubeFleetBugs::of(rules), clusters);
        let mut now = SimTime::from_secs(1_000);
        for (seconds, events, is_stored) in rounds {
            events.iter().for_each(|event| happen(&mut update, &mut view, now, event));
            now = now + SimDuration::from_secs(seconds);
            let pass = update.reconcile_changed(now, &view, view.bindings.changed());
            view.bindings.clear_changed();
            if is_stored {
                view.store(&pass);
                let blocked = update.blocked(&pass.status, &view);
                let binding = |target: &TargetId| view.bindings.get(*target).expect("a binding");
                prop_assert!(blocked.iter().all(|target| binding(target).is_marked_blocked()), "{blocked:?}");
            }
        }
    }
}

fn happen_in_run(view: &mut StagedView, now: SimTime, event: &Event) {
    match event {
        Event::Report(at, state) => {
            view.bindings
                .get_mut(TargetId(*at))
                .into_iter()
                .for_each(|it| it.report(now, STATES[*state]));
        }
        // A change by another run, which rolls the cluster.
        Event::Apply(1) => {
            let binding = view.bindings.get_mut(TargetId(0));
            binding
                .into_iter()
                .for_each(|it| it.roll(OLD, Some(ApplyStrategy(0))));
        }
        Event::Select(at, false) if at % 8 == 0 => select(&mut view.bindings, *at, false),
        Event::Limits(..) => view.state = RunState::Stop,
        Event::Release(_) => view.state = RunState::Run,
        _ => view
            .approval_requests
            .values_mut()
            .for_each(|request| request.approved = true),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn passes_of_a_run_over_changed_bindings_decide_like_full_scans(
        limit in 1..20_i32,
        is_documented in any::<bool>(),
        with_bugs in any::<bool>(),
        rounds in vec((0..200_u64, vec(event(), 0..40), prop::bool::weighted(0.95)), 1..40),
    ) {
        let rules = if is_documented { RuleSet::Documented } else { RuleSet::Shipped };
        let clusters = clusters(&[("a", 30), ("b", 40), ("c", 20)]);
        let strategy: StrategySpec = serde_saphyr::from_str(&three_stages(limit.into())).expect("valid");
        let bugs = if with_bugs { KubeFleetBugs::ALL } else { KubeFleetBugs::NONE };
        let mut view: StagedView = super::staged::view(&clusters);
        let strategy = Some(strategy.with_defaults());
        let behaviour = RunBehaviour { rules, bugs, ..RunBehaviour::default() };
        let mut run = StagedUpdateRun::new("run".to_owned(), NEW.0.to_string(), strategy, behaviour, clusters);
        let mut now = SimTime::from_secs(1_000);
        for (seconds, events, is_stored) in rounds {
            events.iter().for_each(|event| happen_in_run(&mut view, now, event));
            now = now + SimDuration::from_secs(seconds);
            let pass = run.reconcile_changed(now, &view, view.bindings.changed());
            view.bindings.clear_changed();
            if is_stored {
                view.store(&pass);
            }
        }
    }
}

#[test]
#[should_panic(expected = "decides as one over sets built again")]
fn an_unreported_change_is_not_noticed() {
    let clusters = clusters(&[("a", CLUSTERS as usize)]);
    let mut view: RollingView = super::rolling::view(&clusters);
    let config = RollingUpdateConfig {
        max_unavailable: Some(1.into()),
        ..RollingUpdateConfig::default()
    };
    let mut update = RollingUpdate::new(config, RuleSet::Shipped, KubeFleetBugs::ALL, clusters);
    let pass = update.reconcile_changed(SimTime::ZERO, &view, view.bindings.changed());
    view.store(&pass);
    update.reconcile_changed(SimTime::ZERO, &view, &TargetSet::default());
}
