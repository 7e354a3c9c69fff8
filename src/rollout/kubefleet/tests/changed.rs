//! A pass over what changed decides as a pass over all bindings, over random placements and runs.
//!
//! Larger placements than those that debug builds check by themselves, and several changes between passes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::rolling::{RollingUpdate, RollingView};
use super::super::staged::{RetryError, StagedUpdateRun, StagedView};
use super::*;
use crate::units::SimDuration;

/// Clusters of a placement; above the number that debug builds check.
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

/// Something that happens between two passes, mostly to a cluster by its number.
#[derive(Clone, Debug)]
enum Event {
    /// The work generator reports a state.
    Report(u32, usize),
    /// The scheduler no longer picks the cluster, or picks it again.
    Select(u32, bool),
    /// A binding is gone.
    Gone(u32),
    /// The newest resources.
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

/// The scheduler's change of a cluster's binding.
fn select(bindings: &mut Bindings, cluster: u32, is_picked: bool) {
    let target = TargetId(cluster);
    match bindings.get_mut(target) {
        Some(binding) if !is_picked && binding.state != BindingState::Unscheduled => binding.unschedule(),
        Some(binding) if is_picked && !binding.deleting && binding.state == BindingState::Unscheduled => {
            binding.reschedule();
        }
        None if is_picked => {
            let name = binding_name("crp", &format!("m{cluster:02}"), 0);
            bindings.insert(Binding::scheduled(name, target, 0));
        }
        _ => {}
    }
}

/// Two schedulers, each with its own view: one looks at all bindings in every pass, one at those that changed.
struct Twins {
    full: (RollingUpdate, RollingView),
    quick: (RollingUpdate, RollingView),
}

impl Twins {
    fn happen(&mut self, now: SimTime, event: &Event) {
        for (update, view) in [&mut self.full, &mut self.quick] {
            match event {
                Event::Report(at, state) => {
                    view.bindings.get_mut(TargetId(*at)).into_iter().for_each(|it| it.report(now, STATES[*state]));
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
    }

    /// Both make a pass, which is stored unless it is lost. Panics when they differ.
    fn pass(&mut self, now: SimTime, is_stored: bool) {
        let (update, view) = &mut self.full;
        let full = update.reconcile(now, view);
        let (quick, seen) = &mut self.quick;
        let pass = quick.reconcile_changed(now, seen, seen.bindings.changed());
        seen.bindings.clear_changed();
        assert_eq!(quick.blocked(&pass, seen), full.status.blocked);
        assert_eq!(pass.status.blocked_count, full.status.blocked.len());
        assert_eq!(quick.is_done(seen), view.is_done());
        let mut expected = full.clone();
        expected.status.blocked.clone_from(&pass.status.blocked);
        assert_eq!(pass, expected);
        if is_stored {
            view.store(now, &full);
            seen.store(now, &pass);
            assert_eq!(view, seen, "bindings that are not listed as blocked say so already");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn passes_over_changed_bindings_decide_as_passes_over_all(
        (unavailable, surge, asked) in (0..40_i32, 0..40_i32, prop::option::of(60..100_u32)),
        is_documented in any::<bool>(),
        is_new in any::<bool>(),
        rounds in vec((0..100_u64, vec(event(), 0..12), prop::bool::weighted(0.8)), 1..15),
    ) {
        let rules = if is_documented { RuleSet::Documented } else { RuleSet::Shipped };
        let clusters = clusters(&[("a", CLUSTERS as usize)]);
        let mut view: RollingView = super::rolling::view(&clusters);
        view.policy = asked.map_or(PlacementPolicy::PickAll, PlacementPolicy::PickN);
        if is_new {
            let new = view.bindings.iter().map(|it| Binding::scheduled(it.name.clone(), it.target, 0));
            view.bindings = new.collect();
        }
        let config = RollingUpdateConfig {
            max_unavailable: Some(unavailable.into()),
            max_surge: Some(surge.into()),
            unavailable_period_seconds: None,
        };
        let update = RollingUpdate::new(config, rules, KubeFleetBugs::of(rules), clusters);
        let mut twins = Twins { full: (update.clone(), view.clone()), quick: (update, view) };
        let mut now = SimTime::from_secs(1_000);
        for (seconds, events, is_stored) in rounds {
            events.iter().for_each(|event| twins.happen(now, event));
            now = now + SimDuration::from_secs(seconds);
            twins.pass(now, is_stored);
        }
    }
}

/// Two runs, each with its own view.
struct TwinRuns {
    full: (StagedUpdateRun, StagedView),
    quick: (StagedUpdateRun, StagedView),
}

impl TwinRuns {
    fn happen(&mut self, now: SimTime, event: &Event) {
        for (_, view) in [&mut self.full, &mut self.quick] {
            match event {
                Event::Report(at, state) => {
                    view.bindings.get_mut(TargetId(*at)).into_iter().for_each(|it| it.report(now, STATES[*state]));
                }
                // Another run rolls the cluster.
                Event::Apply(1) => {
                    let binding = view.bindings.get_mut(TargetId(0));
                    binding.into_iter().for_each(|it| it.roll(now, OLD, Some(ApplyStrategy(0))));
                }
                Event::Select(at, false) if at % 8 == 0 => select(&mut view.bindings, *at, false),
                Event::Limits(..) => view.state = RunState::Stop,
                Event::Release(_) => view.state = RunState::Run,
                _ => view.approval_requests.values_mut().for_each(|request| request.approved = true),
            }
        }
    }

    /// Both make a pass, which is stored unless it is lost. Panics when they differ.
    fn pass(&mut self, now: SimTime, is_stored: bool) {
        let (run, view) = &mut self.full;
        let full = run.reconcile(now, view);
        let (quick, seen) = &mut self.quick;
        let pass = quick.reconcile_changed(now, seen, seen.bindings.changed());
        seen.bindings.clear_changed();
        let mut expected = full.clone();
        if let Some(RetryError::ClusterUpdate(names)) = &mut expected.status.error {
            names.truncate(10);
        }
        assert_eq!(pass, expected);
        assert_eq!(quick.run(), run.run());
        if is_stored {
            view.store(now, &full);
            seen.store(now, &pass);
            assert_eq!(view, seen);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn passes_of_a_run_over_changed_bindings_decide_as_passes_over_all(
        limit in 1..20_i32,
        is_documented in any::<bool>(),
        with_bugs in any::<bool>(),
        rounds in vec((0..200_u64, vec(event(), 0..40), prop::bool::weighted(0.95)), 1..40),
    ) {
        let rules = if is_documented { RuleSet::Documented } else { RuleSet::Shipped };
        let clusters = clusters(&[("a", 30), ("b", 40), ("c", 20)]);
        let strategy: StrategySpec = serde_saphyr::from_str(&three_stages(limit.into())).expect("valid");
        let spec = RunSpec { resource_snapshot_index: NEW.0.to_string(), ..RunSpec::default() };
        let bugs = if with_bugs { KubeFleetBugs::ALL } else { KubeFleetBugs::NONE };
        let view: StagedView = super::staged::view(&clusters);
        let strategy = Some(strategy.with_defaults());
        let run = StagedUpdateRun::new("run".to_owned(), spec, strategy, rules, bugs, clusters);
        let mut twins = TwinRuns { full: (run.clone(), view.clone()), quick: (run, view) };
        let mut now = SimTime::from_secs(1_000);
        for (seconds, events, is_stored) in rounds {
            events.iter().for_each(|event| twins.happen(now, event));
            now = now + SimDuration::from_secs(seconds);
            twins.pass(now, is_stored);
        }
    }
}

#[test]
fn a_change_that_is_not_named_is_not_seen() {
    let clusters = clusters(&[("a", CLUSTERS as usize)]);
    let mut view: RollingView = super::rolling::view(&clusters);
    let config = RollingUpdateConfig { max_unavailable: Some(1.into()), ..RollingUpdateConfig::default() };
    let mut update = RollingUpdate::new(config, RuleSet::Shipped, KubeFleetBugs::ALL, clusters);
    let first = update.reconcile_changed(SimTime::ZERO, &view, view.bindings.changed());
    assert_eq!(first.actions.len(), 1, "the first pass looks at all");
    view.store(SimTime::ZERO, &first);
    let none = super::super::super::TargetSet::new(CLUSTERS as usize);
    let again = update.reconcile_changed(SimTime::ZERO, &view, &none);
    assert_eq!(again.actions, first.actions, "the test above can fail");
    let seen = update.reconcile_changed(SimTime::ZERO, &view, view.bindings.changed());
    assert!(seen.actions.is_empty() && seen.status.blocked.is_empty());
    assert_eq!(seen.status.blocked_count, CLUSTERS as usize - 1);
}
