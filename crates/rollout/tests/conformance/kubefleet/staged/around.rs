//! A run and the objects around it, and the events that change them.

use std::collections::BTreeMap;

use fleetsim_rollout::kubefleet::staged::{
    PlacementView, PolicySnapshot, RunBehaviour, StagedAction, StagedStatus, StagedUpdateRun,
    StagedView,
};
use fleetsim_rollout::kubefleet::{
    ApplyStrategy, Binding, BindingState, Bindings, MemberCluster, RuleSet, RunState, StrategySpec,
};
use fleetsim_rollout::label_selector::Labels;
use fleetsim_rollout::{Pass, Revision, TargetId};
use fleetsim_units::SimTime;
use serde::Deserialize;
use serde_json::Value;

use super::super::{START, binding_state, insert, remove, requested, text, work_state};
use super::change::Change;
use crate::suite::parse;

/// The latest policy snapshot at the start of a trace; older snapshots have lower numbers.
pub const POLICY: u32 = 5;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct Config {
    placement_type: String,
    number_of_clusters: u32,
    fixed_clusters: Vec<String>,
    state: RunState,
    resource_snapshot_index: String,
    strategy: StrategySpec,
    clusters: Vec<ConfigCluster>,
    bindings: Vec<ConfigBinding>,
    policy_not_scheduled: bool,
    placement_not_external: bool,
    strategy_missing: bool,
    placement_missing: bool,
    no_admission_defaults: bool,
}

#[derive(Deserialize)]
pub struct ConfigCluster {
    name: String,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
pub struct ConfigBinding {
    cluster: String,
    state: String,
    #[serde(default)]
    policy: String,
    snapshot: i64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    rollout_started: bool,
}

/// A run and the objects around it.
pub struct Around {
    pub run: StagedUpdateRun,
    /// A second run with partial passes, which must make the same decisions as `run`.
    quick: StagedUpdateRun,
    pub view: StagedView,
    pub clusters: Vec<MemberCluster>,
    pub has_defaults: bool,
    /// Number of bindings that the scheduler created during the trace.
    pub scheduled: usize,
}

impl Around {
    pub fn new(config: &Config) -> Self {
        let member = |c: &ConfigCluster| MemberCluster {
            name: c.name.clone(),
            labels: c.labels.clone(),
            left: false,
        };
        let snapshot = config.resource_snapshot_index.clone();
        let newest = String::new();
        let behaviour = RunBehaviour::of(RuleSet::Shipped);
        let none = StagedUpdateRun::new(String::new(), newest, None, behaviour, Vec::new());
        let mut around = Self {
            run: none.clone(),
            quick: none,
            view: StagedView {
                state: config.state,
                placement: (!config.placement_missing).then_some(PlacementView {
                    external: !config.placement_not_external,
                    apply_strategy: ApplyStrategy(0),
                }),
                policy: PolicySnapshot {
                    index: POLICY,
                    scheduled: !config.policy_not_scheduled,
                    requested: requested(
                        &config.placement_type,
                        config.number_of_clusters,
                        &config.fixed_clusters,
                    ),
                },
                resource_snapshots: (0..=3).map(Revision).collect(),
                bindings: Bindings::default(),
                approval_requests: BTreeMap::new(),
            },
            clusters: config.clusters.iter().map(member).collect(),
            has_defaults: !config.no_admission_defaults,
            scheduled: 0,
        };
        let bindings: Vec<Binding> = config
            .bindings
            .iter()
            .map(|stored| around.binding(stored))
            .collect();
        around.view.bindings = bindings.into_iter().collect();
        let strategy = (!config.strategy_missing).then(|| around.admitted(config.strategy.clone()));
        let clusters = around.clusters.clone();
        around.run =
            StagedUpdateRun::new("run".to_owned(), snapshot, strategy, behaviour, clusters);
        around.quick = around.run.clone();
        around
    }

    fn admitted(&self, strategy: StrategySpec) -> StrategySpec {
        if self.has_defaults {
            strategy.with_defaults()
        } else {
            strategy
        }
    }

    fn binding(&mut self, stored: &ConfigBinding) -> Binding {
        let policy = if stored.policy == "old" {
            POLICY - 1
        } else {
            POLICY
        };
        let mut binding =
            Binding::scheduled(stored.cluster.clone(), self.target(&stored.cluster), policy);
        binding.state = binding_state(&stored.state);
        binding.snapshot = u32::try_from(stored.snapshot).ok().map(Revision);
        binding.apply_strategy = Some(ApplyStrategy(0));
        let an_hour_ago = SimTime::ZERO + START.since(SimTime::from_secs(3600));
        binding.report(an_hour_ago, work_state(&stored.status));
        if stored.rollout_started {
            start(&mut binding);
        }
        binding
    }

    /// Returns a cluster's index. A cluster that is not in the list has left.
    fn target(&mut self, cluster: &str) -> TargetId {
        let found = self.clusters.iter().position(|known| known.name == cluster);
        let index = found.unwrap_or_else(|| {
            let (name, labels) = (cluster.to_owned(), Labels::new());
            self.clusters.push(MemberCluster {
                name,
                labels,
                left: true,
            });
            self.clusters.len() - 1
        });
        TargetId(index as u32)
    }

    pub fn name(&self, target: TargetId) -> String {
        self.clusters[target.index()].name.clone()
    }

    fn change(&mut self, cluster: &str, change: impl FnOnce(&mut Binding)) {
        let target = self.target(cluster);
        if let Some(binding) = self.view.bindings.get_mut(target) {
            change(binding);
        }
    }

    fn remove(&mut self, cluster: &str, test: impl Fn(&Binding) -> bool) {
        let target = self.target(cluster);
        let found = self
            .view
            .bindings
            .iter()
            .find(|binding| binding.target == target && test(binding));
        if let Some(name) = found.map(|binding| binding.name.clone()) {
            remove(&mut self.view.bindings, &name);
        }
    }

    /// Applies an event. Returns whether it wakes the run.
    pub fn apply(&mut self, now: SimTime, event: &Value) -> bool {
        match text(event, "type") {
            "binding_status" => {
                let state = work_state(text(event, "status"));
                self.change(text(event, "cluster"), |binding| binding.report(now, state));
            }
            "approve" => {
                let request = self.view.approval_requests.get_mut(text(event, "request"));
                return request
                    .is_some_and(|request| !std::mem::replace(&mut request.approved, true));
            }
            "unapprove" => {
                let request = self.view.approval_requests.get_mut(text(event, "request"));
                return request
                    .is_some_and(|request| std::mem::replace(&mut request.approved, false));
            }
            "delete_approval" => {
                let removed = self.view.approval_requests.remove(text(event, "request"));
                return removed.is_some_and(|request| !request.accepted);
            }
            "set_state" => {
                let state = parse(&event["state"]);
                return std::mem::replace(&mut self.view.state, state) != state;
            }
            "binding_gone" => self.remove(text(event, "cluster"), |binding| binding.deleting),
            "binding_removed_by_scheduler" => self.remove(text(event, "cluster"), |_| true),
            "unschedule" => self.change(text(event, "cluster"), Binding::unschedule),
            "schedule" => self.schedule(text(event, "cluster")),
            "concurrent_run_rolls" => {
                let snapshot = event["snapshot"]
                    .as_u64()
                    .and_then(|n| u32::try_from(n).ok())
                    .expect("a snapshot");
                self.change(text(event, "cluster"), |binding| {
                    binding.snapshot = Some(Revision(snapshot));
                    binding.generation += 1;
                    start(binding);
                });
            }
            "join_cluster" | "relabel_cluster" => {
                let target = self.target(text(event, "cluster"));
                let cluster = &mut self.clusters[target.index()];
                cluster.labels = event.get("labels").map(parse).unwrap_or_default();
                cluster.left = false;
            }
            "remove_cluster" => {
                let target = self.target(text(event, "cluster"));
                self.clusters[target.index()].left = true;
            }
            "edit_strategy" => {
                let strategy = self.admitted(parse(&event["strategy"]));
                self.run.set_strategy(Some(strategy.clone()));
                self.quick.set_strategy(Some(strategy));
            }
            "delete_strategy" => {
                self.run.set_strategy(None);
                self.quick.set_strategy(None);
            }
            "delete_placement" => self.view.placement = None,
            "placement_to_rolling_update" => {
                self.view.placement.as_mut().expect("a placement").external = false;
            }
            "change_apply_strategy" => {
                self.view
                    .placement
                    .as_mut()
                    .expect("a placement")
                    .apply_strategy
                    .0 += 1;
            }
            "new_policy_snapshot" => self.view.policy.index += 1,
            other => panic!("unknown event `{other}`"),
        }
        self.run.set_clusters(self.clusters.clone());
        if self.quick.clusters() != self.clusters {
            self.quick.set_clusters(self.clusters.clone());
        }
        false
    }

    fn schedule(&mut self, cluster: &str) {
        let target = self.target(cluster);
        let is_live = |binding: &Binding| {
            binding.target == target && binding.state != BindingState::Unscheduled
        };
        if self.view.bindings.iter().any(is_live) {
            return;
        }
        self.scheduled += 1;
        let name = format!("{cluster}-n{}", self.scheduled);
        insert(
            &mut self.view.bindings,
            Binding::scheduled(name, target, self.view.policy.index),
        );
    }

    /// Runs and stores one pass. Returns the pass, and the changes in the run.
    pub fn pass(&mut self, now: SimTime) -> (Pass<StagedAction, StagedStatus>, Change) {
        let before = self.run.status().clone();
        let pass = self.run.reconcile(now, &self.view);
        let quick = self
            .quick
            .reconcile_changed(now, &self.view, self.view.bindings.changed());
        assert_eq!(
            quick, pass,
            "a pass over what changed decides as one over all"
        );
        assert_eq!(self.quick.status(), self.run.status());
        self.view.bindings.clear_changed();
        self.view.store(&pass);
        let change = Change::new(self, &before, &pass);
        (pass, change)
    }
}

/// Marks a binding as started at its generation, as another writer would.
pub fn start(binding: &mut Binding) {
    binding.rollout_started = Some((true, binding.generation));
}
