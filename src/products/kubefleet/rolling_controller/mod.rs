//! The rolling update of a KubeFleet placement: its rollout controller, which writes bindings for the work generator.
//!
//! Every cluster of the fleet is a member cluster that the placement has picked. A pass starts when the condition
//! Available of a binding changes, after the pass's own writes to bindings, and on its timer (kubefleet-dev/kubefleet
//! at e160c1cd, `pkg/controllers/rollout/controller.go`). It lists the bindings from the API server. Then it writes
//! them in groups, one group after the other, with all writes of a group in parallel (`errgroup`): the apply strategy;
//! the status of bindings that are held back; the status of bindings that are up to date, changed or not; the spec of
//! bindings that it updates; and the status of those bindings. A pass therefore takes the time of a few requests,
//! unless the hub agent's client is rate limited. All placements share the workers of the controller and that limit.
//!
//! Each write carries the version that was listed. If the work generator has written the binding since then, the write
//! is rejected, and the pass ends with an error before the next group. The pass cancels those writes of the group that
//! still wait for the client's limit; writes that were already sent are carried out. A binding whose spec was written
//! still gets its status.
//!
//! The scheduler removes a cluster from the placement by unscheduling its binding, which the rollout deletes within
//! `maxUnavailable`. The work generator then deletes the Work, and the member agent the resources. A cluster that
//! returns gets a new binding when the old one is gone.
//!
//! Every change of the resources makes another snapshot, after the time for which changes are collected. The return to
//! older resources does, too: only the latest snapshot is compared with the resources (`GetOrCreateResourceSnapshot` in
//! `pkg/utils/controller/resource_snapshot_resolver.go`), so all clusters are bound again, and those that still run
//! these resources apply nothing. The rest of the rollout before is superseded: a binding is only ever moved to the
//! latest snapshot.
//!
//! Left out: conflicts of patched bindings; and changes that are collected together with others, so that their
//! snapshot never exists.

mod pass;

use std::collections::{BTreeMap, BTreeSet};

use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetRolling, failed_apply, member_clusters, members};
use crate::control_plane::{
    Change, Controller, ControllerInput, Plane, RateLimiter, Runtime, StatusLog, TargetStates,
    Traits,
};
use crate::engine::Streams;
use crate::products::Run;
use crate::rollout::kubefleet::rolling::{RollingAction, RollingUpdate, RollingView, wakes};
use crate::rollout::kubefleet::{
    ApplyStrategy, Binding, KubeFleetBugs, binding_name, placement_conditions,
};
use crate::rollout::{Hold, Revision, TargetId};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterSpec, DurationModel, NEW, OLD, ReleaseKind};
use pass::RolloutPass;

/// Number of workers of the rollout controller, for all placements: a thirtieth of the largest fleet, rounded up, times
/// a tenth of the concurrent placements, both 100 by default. Source: `cmd/hubagent/workload/setup.go` and
/// `cmd/hubagent/options/placementmgmt.go`.
const WORKERS: usize = 40;

/// The name of the controller at the hub.
const NAME: &str = "rollout controller";

/// Timed steps of the rollout controller.
#[derive(Clone, Copy, Debug)]
enum RolloutTimer {
    /// The cache shows a watched change.
    Wake,
    /// The snapshot of a release exists.
    Snapshot(Revision),
    /// A group of writes is complete.
    GroupEnds,
    /// A spec or a deletion is written.
    SpecWritten(RollingAction),
}

/// KubeFleet's rollout controller with one placement.
pub(super) struct RollingController<'r> {
    scheduler: RollingUpdate,
    view: RollingView,
    bugs: KubeFleetBugs,
    runtime: Runtime<(), RolloutTimer>,
    limiter: RateLimiter<()>,
    generator: WorkGenerator,
    pass: Option<RolloutPass>,
    /// The timers of the spec writes and deletions in flight.
    specs: BTreeMap<usize, u32>,
    /// Bindings whose spec write is in flight although no pass waits for the answer.
    given_up: BTreeSet<usize>,
    /// Whether bindings were created at the release and no pass has seen them yet.
    bindings_are_new: bool,
    /// Whether anything was reported since the last pass.
    is_dirty: bool,
    /// Whether the last pass updated no binding.
    wrote_nothing: bool,
    /// Clusters that return as soon as their old binding is removed.
    returning: BTreeSet<TargetId>,
    clusters: &'r [ClusterSpec],
    /// Delay from the release until its snapshot exists. `None`: the snapshot already exists.
    snapshot_delay: Option<SimDuration>,
    /// Delays from later releases until their snapshots exist.
    later_delay: DurationModel,
    /// The snapshot of the last release. It may not exist yet.
    wanted: Revision,
    streams: Streams,
}

impl<'r> RollingController<'r> {
    pub(super) fn new(strategy: &KubeFleetRolling, run: &Run<'r>) -> Self {
        let KubeFleetRolling {
            rules,
            upstream_bugs,
            requested,
            config,
            ..
        } = strategy;
        let world = run.fleet.world;
        let before = (world.applications[0].release == ReleaseKind::Update).then_some(OLD);
        let snapshot_delay = strategy
            .delay
            .draw(&run.streams, "hub".into(), "snapshot delay", 0);
        let snapshot_delay = Some(snapshot_delay).filter(|delay| !delay.is_zero());
        let view = RollingView {
            requested: *requested,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: if snapshot_delay.is_none() {
                Some(NEW)
            } else {
                before
            },
            bindings: members::bindings_of(world, "placement", 0..world.clusters.len()),
        };
        Self {
            scheduler: RollingUpdate::new(
                config.clone(),
                *rules,
                *upstream_bugs,
                member_clusters(&world.clusters),
            ),
            view,
            bugs: *upstream_bugs,
            runtime: Runtime::of_controller(0, run.hub.workers(NAME, WORKERS)),
            limiter: RateLimiter::controller_default(&run.hub, NAME),
            // A pass lists the bindings from the API server.
            generator: WorkGenerator::new(run, false),
            pass: None,
            specs: BTreeMap::new(),
            given_up: BTreeSet::new(),
            bindings_are_new: world.applications[0].release == ReleaseKind::Initial
                && world.clusters.len() > 1,
            is_dirty: false,
            wrote_nothing: false,
            returning: BTreeSet::new(),
            clusters: &world.clusters,
            snapshot_delay,
            later_delay: strategy.delay.clone(),
            wanted: NEW,
            streams: run.streams,
        }
    }

    /// Handles a change of the resources to those of a revision, which makes another snapshot.
    fn release(&mut self, manifests: Revision, now: SimTime, plane: &mut Plane<'_>) {
        if self.generator.manifests_of(self.wanted) == manifests {
            return;
        }
        let Revision(last) = self.wanted;
        let snapshot = Revision(last + 1);
        self.wanted = snapshot;
        if snapshot != manifests {
            self.generator.restore(snapshot, manifests);
        }
        let nth = u64::from(last);
        let delay = self
            .later_delay
            .draw(&self.streams, "hub".into(), "snapshot delay", nth);
        if delay.is_zero() {
            self.snapshot_exists(snapshot);
        } else {
            let exists = now + delay;
            self.runtime
                .step(exists, RolloutTimer::Snapshot(snapshot), plane);
        }
    }

    /// Handles a new snapshot, unless a later one exists.
    fn snapshot_exists(&mut self, snapshot: Revision) {
        if self.view.latest_snapshot < Some(snapshot) {
            self.view.latest_snapshot = Some(snapshot);
            self.runtime.add(());
        }
    }

    /// Handles the scheduler's decision to pick a cluster or to stop picking it.
    fn select(&mut self, target: TargetId, is_selected: bool, plane: &mut Plane<'_>) {
        match self.view.bindings.get_mut(target) {
            Some(binding) if !is_selected || !binding.deleting => {
                let change: fn(&mut Binding) = if is_selected {
                    Binding::reschedule
                } else {
                    Binding::unschedule
                };
                change(binding);
                self.generator.refresh(target.index(), plane.now(), plane);
            }
            Some(_) => _ = self.returning.insert(target),
            None if is_selected => {
                let name = binding_name("placement", &self.clusters[target.index()].name, target.0);
                self.view
                    .bindings
                    .insert(Binding::scheduled(name, target, 0));
            }
            None => {}
        }
    }

    /// Removes a binding that no longer exists.
    fn remove(&mut self, target: TargetId, plane: &mut Plane<'_>) {
        self.view.bindings.remove(target);
        self.generator.forget(target.index());
        self.is_dirty = true;
        plane.changed(target);
        self.runtime.add(());
        if self.returning.remove(&target) {
            self.select(target, true, plane);
        }
    }

    fn effect(&mut self, effect: Effect, now: SimTime, plane: &mut Plane<'_>) {
        match effect {
            Effect::Status(target, revision, state) => {
                let bindings = &mut self.view.bindings;
                let written = members::write_status(bindings, target, revision, state);
                if let Some((before, after)) = written {
                    self.is_dirty = true;
                    self.binding_written(target, now, plane);
                    if wakes(&before, &after, self.bugs) {
                        self.runtime.step(
                            now + self.generator.watch_delay,
                            RolloutTimer::Wake,
                            plane,
                        );
                    }
                }
            }
            Effect::Written(target) => self.binding_written(target, now, plane),
            Effect::Removed(target) => self.remove(target, plane),
        }
    }

    fn step(&mut self, step: RolloutTimer, now: SimTime, plane: &mut Plane<'_>) {
        match step {
            RolloutTimer::Wake => self.runtime.add(()),
            RolloutTimer::Snapshot(snapshot) => self.snapshot_exists(snapshot),
            RolloutTimer::GroupEnds => self.group_ends(now, plane),
            RolloutTimer::SpecWritten(action) => self.spec_written(action, now, plane),
        }
    }
}

impl Controller for RollingController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            ignores_pause: true,
            reports_completion: true,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => {
                self.runtime.release(());
                if let Some(delay) = self.snapshot_delay {
                    self.runtime
                        .step(now + delay, RolloutTimer::Snapshot(NEW), plane);
                }
            }
            ControllerInput::Report(report) => self.generator.report(report),
            ControllerInput::Person(Change::Release(revision)) => {
                self.release(*revision, now, plane);
            }
            ControllerInput::Person(Change::Selected(target, is_selected)) => {
                self.select(*target, *is_selected, plane);
                self.runtime.add(());
            }
            ControllerInput::Timer(number) => {
                if let Some(step) = self.runtime.due(number, plane) {
                    self.step(step, now, plane);
                } else if let Some(effect) = self.generator.due(number, now, plane) {
                    self.effect(effect, now, plane);
                }
            }
            _ => {}
        }
        self.generator.work(now, plane);
        while self.runtime.take(plane).is_some() {
            self.begin(now, plane);
        }
    }

    /// A cluster that the placement no longer picks is done when its binding no longer exists.
    fn is_done(&self, target: TargetId) -> bool {
        members::is_done(&self.view.bindings, target, self.wanted).unwrap_or(true)
    }

    /// The workloads' availability can be tracked, so nothing becomes ready merely because time passes.
    fn is_idle(&self, _targets: &dyn TargetStates) -> bool {
        let has_steps = self.runtime.steps().next().is_some() || self.runtime.is_busy();
        self.wrote_nothing && !self.is_dirty && !has_steps && self.generator.is_idle()
    }

    fn hold(&self) -> Option<Hold> {
        let hold = self.scheduler.hold(&self.view);
        failed_apply::with_failures(hold, &self.generator, self.clusters)
    }

    fn timer_kind(&self, number: u32) -> Option<&'static str> {
        let own = self.runtime.timer_kind(number, |_| "timers of the rollout");
        own.or_else(|| self.generator.timer_kind(number))
    }

    fn stages(&self) -> Vec<String> {
        vec![String::new(); self.clusters.len()]
    }

    fn show(&mut self, log: &mut StatusLog) {
        if self.pass.is_none() {
            log.show(placement_conditions(
                "placement",
                &self.view.bindings,
                self.view.latest_snapshot,
            ));
            let failed = self.generator.ever_failed();
            let failed = failed_apply::conditions("placement", failed, self.clusters);
            log.show(failed);
        }
    }
}
