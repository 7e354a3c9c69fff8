//! Rolling updates: passes one at a time, and closed loops.

use fleetsim_rollout::kubefleet::rolling::{
    RollingAction, RollingError, RollingStatus, RollingUpdate, RollingView, wakes,
};
use fleetsim_rollout::kubefleet::{
    ApplyStrategy, Binding, BindingState, Bindings, KubeFleetBugs, MemberCluster,
    RollingUpdateConfig, RuleSet,
};
use fleetsim_rollout::rancher_fleet::IntOrString;
use fleetsim_rollout::{Pass, Revision, TargetId};
use fleetsim_units::{SimDuration, SimTime};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    External, Loop, Next, Phases, START, Started, at, binding_state, by_name, differ, insert, next,
    remove, requested, text, without_zeros, work_state,
};
use crate::suite::parse;

/// Maximum number of blocked bindings whose names a record holds.
const BLOCKED_NAMED: usize = 30;

#[derive(Deserialize)]
struct Config {
    placement_type: String,
    #[serde(default)]
    number_of_clusters: u32,
    #[serde(default)]
    fixed_clusters: Vec<String>,
    max_unavailable: Option<IntOrString>,
    max_surge: Option<IntOrString>,
    unavailable_period_seconds: Option<i64>,
    latest_snapshot: u32,
    #[serde(default)]
    bindings: Vec<ConfigBinding>,
}

#[derive(Deserialize)]
struct ConfigBinding {
    name: String,
    cluster: String,
    state: String,
    snapshot: i64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    status_age_ms: u64,
    #[serde(default)]
    deleting: bool,
    #[serde(default)]
    status_is_of_old_generation: bool,
    #[serde(default)]
    apply_strategy_unset: bool,
}

/// A placement and its bindings.
struct Around {
    update: RollingUpdate,
    /// A second scheduler with partial passes, which must make the same decisions as `update`.
    quick: RollingUpdate,
    view: RollingView,
    clusters: Vec<String>,
}

impl Around {
    fn new(config: &Config) -> Self {
        let limits = RollingUpdateConfig {
            max_unavailable: config.max_unavailable.clone(),
            max_surge: config.max_surge.clone(),
            unavailable_period_seconds: config.unavailable_period_seconds,
        };
        let view = RollingView {
            requested: requested(
                &config.placement_type,
                config.number_of_clusters,
                &config.fixed_clusters,
            ),
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: Some(Revision(config.latest_snapshot)),
            bindings: Bindings::default(),
        };
        let members: Vec<MemberCluster> = Vec::new();
        let update = RollingUpdate::new(limits, RuleSet::Shipped, KubeFleetBugs::ALL, members);
        let mut around = Self {
            quick: update.clone(),
            update,
            view,
            clusters: Vec::new(),
        };
        let bindings: Vec<Binding> = config
            .bindings
            .iter()
            .map(|stored| around.binding(stored))
            .collect();
        around.view.bindings = bindings.into_iter().collect();
        around
    }

    fn binding(&mut self, stored: &ConfigBinding) -> Binding {
        let mut binding = Binding::scheduled(stored.name.clone(), self.target(&stored.cluster), 0);
        binding.state = binding_state(&stored.state);
        binding.snapshot = u32::try_from(stored.snapshot).ok().map(Revision);
        binding.apply_strategy = (!stored.apply_strategy_unset).then_some(ApplyStrategy(0));
        binding.deleting = stored.deleting;
        let age = SimDuration::from_millis(stored.status_age_ms);
        let since = SimTime::from_nanos(START.as_nanos() - age.as_nanos());
        binding.report(since, work_state(&stored.status));
        if stored.status_is_of_old_generation {
            binding.generation += 1;
        }
        binding
    }

    fn target(&mut self, cluster: &str) -> TargetId {
        let found = self.clusters.iter().position(|known| known == cluster);
        TargetId(found.unwrap_or_else(|| {
            self.clusters.push(cluster.to_owned());
            self.clusters.len() - 1
        }) as u32)
    }

    /// Changes a binding. Returns whether this wakes the controller.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Binding)) -> bool {
        let Some(binding) = by_name(&mut self.view.bindings, name) else {
            return false;
        };
        let before = binding.clone();
        change(binding);
        wakes(&before, binding, KubeFleetBugs::ALL)
    }

    /// Applies an event. Returns whether it wakes the controller.
    fn apply(&mut self, now: SimTime, event: &Value) -> bool {
        match text(event, "type") {
            "binding_status" => {
                let state = work_state(text(event, "status"));
                self.change(text(event, "binding"), |binding| binding.report(now, state))
            }
            "new_snapshot" => {
                let snapshot = event["snapshot"]
                    .as_u64()
                    .and_then(|n| u32::try_from(n).ok())
                    .expect("a snapshot");
                self.view.latest_snapshot = Some(Revision(snapshot));
                true
            }
            "schedule" => {
                let target = self.target(text(event, "cluster"));
                insert(
                    &mut self.view.bindings,
                    Binding::scheduled(text(event, "binding").to_owned(), target, 0),
                );
                true
            }
            "unschedule" => self.change(text(event, "binding"), Binding::unschedule),
            "binding_gone" => {
                remove(&mut self.view.bindings, text(event, "binding"));
                false
            }
            "set_number_of_clusters" => {
                let number = event["n"]
                    .as_u64()
                    .and_then(|n| u32::try_from(n).ok())
                    .expect("a number");
                self.view.requested = Some(number);
                false
            }
            other => panic!("unknown event `{other}`"),
        }
    }

    /// Runs one pass over all bindings. The partial pass must make the same decision.
    fn reconcile(&mut self, now: SimTime) -> Pass<RollingAction, RollingStatus> {
        let full = self.update.reconcile(now, &self.view);
        let quick = self
            .quick
            .reconcile_changed(now, &self.view, self.view.bindings.changed());
        assert_eq!(
            quick, full,
            "a pass over what changed decides as one over all"
        );
        assert_eq!(self.quick.is_done(&self.view), self.view.is_done());
        self.view.bindings.clear_changed();
        full
    }

    /// Runs and stores one pass. Returns the pass, and its effects in the format of the record.
    fn pass(&mut self, now: SimTime) -> (Pass<RollingAction, RollingStatus>, Map<String, Value>) {
        let pass = self.reconcile(now);
        let live = |target: TargetId| {
            self.view
                .bindings
                .get(target)
                .expect("a binding that was decided about")
        };
        let (mut updated, mut bound, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for action in &pass.actions {
            match *action {
                RollingAction::Deploy(target, _)
                    if live(target).state == BindingState::Scheduled =>
                {
                    bound.push(live(target).name.clone());
                }
                RollingAction::Deploy(target, _) => updated.push(live(target).name.clone()),
                RollingAction::Delete(target) => deleted.push(live(target).name.clone()),
            }
        }
        let status = &pass.status;
        let names = |targets: &[TargetId]| -> Vec<String> {
            targets.iter().map(|t| live(*t).name.clone()).collect()
        };
        let (mut blocked, patched) = (
            names(&self.update.blocked(status, &self.view)),
            names(&status.patched),
        );
        for list in [&mut updated, &mut bound, &mut deleted, &mut blocked] {
            list.sort();
        }
        let mut got = without_zeros([("blocked_count", blocked.len() as i64)]);
        got.insert("next".to_owned(), next(status.next));
        got.insert(
            "error_code".to_owned(),
            json!(status.error.as_ref().map(error)),
        );
        for (key, list) in [
            ("updated", updated),
            ("bound", bound),
            ("deleted", deleted),
            ("apply_strategy_patched", patched),
            (
                "blocked",
                if blocked.len() > BLOCKED_NAMED {
                    Vec::new()
                } else {
                    blocked
                },
            ),
        ] {
            got.insert(key.to_owned(), json!(list));
        }
        if let Some(counts) = status.counts {
            let mut fields = json!({
                "target": counts.target,
                "ready": counts.ready,
                "can_be_unavailable": counts.can_be_unavailable,
                "can_be_ready": counts.can_be_ready,
                "bounding_candidates": counts.bounding_candidates,
                "remove_candidates": counts.remove_candidates,
                "update_candidates": counts.update_candidates,
                "failed_update_candidates": counts.failed_update_candidates,
            });
            if let Some(room) = status.room {
                fields["max_to_remove"] = json!(room.to_remove);
                fields["max_to_add"] = json!(room.to_add);
            }
            got.insert("counts".to_owned(), fields);
        }
        self.view.store(&pass);
        (pass, got)
    }
}

pub fn check_trace(case: &Value) -> Result<(), String> {
    let mut around = Around::new(&parse(&case["config"]));
    let mut now = START;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        now = now + SimDuration::from_millis(step["advance_ms"].as_u64().expect("a time"));
        for event in step
            .get("events")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            around.apply(now, event);
        }
        let (_, got) = around.pass(now);
        differ(
            &format!("step {index}"),
            &step["result"],
            &Value::Object(got),
        )?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct LoopCase {
    config: Config,
    #[serde(flatten)]
    phases: Phases,
    deletion_ms: u64,
    horizon_ms: u64,
    #[serde(default)]
    externals: Vec<External>,
}

enum Event {
    External(Value),
    Status {
        binding: String,
        generation: u64,
        status: String,
    },
    Gone {
        binding: String,
    },
}

pub fn check_loop(case: &Value) -> Result<(), String> {
    let read: LoopCase = parse(case);
    let mut around = Around::new(&read.config);
    let mut clock = Loop::new(read.horizon_ms);
    let mut started = Started::default();
    around
        .view
        .bindings
        .iter()
        .for_each(|binding| _ = started.is_new(binding));
    for external in read.externals {
        clock.schedule(external.at_ms, Event::External(external.event));
    }
    let (mut recorded, mut passes, mut errors) = (Vec::new(), 0, 0);
    let ended = loop {
        match clock.next() {
            Next::End(how) => break how,
            Next::Event(Event::External(event)) => {
                if text(&event, "type") == "schedule"
                    && has_live_binding(&mut around, text(&event, "cluster"))
                {
                    continue;
                }
                let wakes = around.apply(at(clock.now), &event);
                clock.is_ready |= wakes;
            }
            Next::Event(Event::Gone { binding }) => remove(&mut around.view.bindings, &binding),
            Next::Event(Event::Status {
                binding,
                generation,
                status,
            }) => {
                let found = around
                    .view
                    .bindings
                    .iter()
                    .find(|found| found.name == binding);
                if found.is_some_and(|binding| binding.generation == generation) {
                    let state = work_state(&status);
                    clock.is_ready |=
                        around.change(&binding, |binding| binding.report(at(clock.now), state));
                }
            }
            Next::Pass => {
                passes += 1;
                let (pass, mut got) = around.pass(at(clock.now));
                clock.pass_ends(pass.status.next);
                clock.is_ready |= wakes_itself(&pass);
                for binding in around.view.bindings.iter() {
                    if started.is_new(binding) {
                        for phase in read.phases.of(&around.clusters[binding.target.index()]) {
                            let (binding, generation) = (binding.name.clone(), binding.generation);
                            let status = phase.status.clone();
                            clock.schedule(
                                clock.now + phase.after_ms,
                                Event::Status {
                                    binding,
                                    generation,
                                    status,
                                },
                            );
                        }
                    }
                }
                for name in got["deleted"].as_array().expect("a list") {
                    let binding = name.as_str().expect("a name").to_owned();
                    clock.schedule(clock.now + read.deletion_ms, Event::Gone { binding });
                }
                // Names of blocked bindings are not recorded in this suite.
                got.remove("blocked");
                got.insert("t_ms".to_owned(), json!(clock.now));
                let has_error = pass.status.error.is_some();
                errors += usize::from(has_error);
                if wakes_itself(&pass) || passes <= 3 || has_error && errors <= 3 {
                    recorded.push(Value::Object(got));
                }
            }
        }
    };
    let expected = case["passes"].as_array().expect("passes");
    for (index, (expected, got)) in expected.iter().zip(&recorded).enumerate() {
        differ(&format!("pass {index}"), expected, got)?;
    }
    differ(
        "recorded passes",
        &json!(expected.len()),
        &json!(recorded.len()),
    )?;
    differ("reconcile_count", &case["reconcile_count"], &json!(passes))?;
    differ("ended", &case["ended"], &json!(ended))
}

fn has_live_binding(around: &mut Around, cluster: &str) -> bool {
    let target = around.target(cluster);
    let is_live =
        |b: &Binding| b.target == target && b.state != BindingState::Unscheduled && !b.deleting;
    around.view.bindings.iter().any(is_live)
}

fn error(error: &RollingError) -> &'static str {
    match error {
        RollingError::TwoBindings { .. } => "two_live_bindings_on_one_cluster",
        RollingError::BoundAndDeleting(_) => "bound_and_deleting_binding_on_one_cluster",
        other => panic!("the record knows no error such as {other}"),
    }
}

/// Returns whether the pass's own writes wake the controller immediately, as writes of a binding's spec do.
fn wakes_itself(pass: &Pass<RollingAction, RollingStatus>) -> bool {
    !pass.actions.is_empty() || !pass.status.patched.is_empty()
}
