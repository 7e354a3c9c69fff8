//! The rolling update of a KubeFleet placement: its rollout controller, in front of the work generator.
//!
//! Every cluster of the fleet is a member cluster that the placement has picked. A pass starts when Available of a
//! binding changes, by the pass's own writes to bindings, and on its timer (kubefleet-dev/kubefleet at e160c1cd,
//! `pkg/controllers/rollout/controller.go`). It lists the bindings from the API server. Then it writes them in groups,
//! one after the other, and each group all at the same time (`errgroup`): the apply strategy; the status of those that
//! are held back; the status of those that are up to date, changed or not; the spec of those that it rolls; and their
//! status. So a pass lasts a few requests, until the limit of the hub agent's client slows it down.
//!
//! Each write carries the version that was listed. If the work generator has written the binding since then, the write
//! is refused, and the pass ends with an error before the next group. It gives up those writes of the group that wait
//! for the client's limit; those that are sent are carried out. The statuses of bindings whose spec is written follow
//! all the same.
//!
//! The scheduler takes a cluster out of the placement by unscheduling its binding, which the rollout deletes within
//! `maxUnavailable`. The work generator then deletes the Work, and the member agent the resources. A cluster that comes
//! back gets a new binding when the old one is gone. Left out: conflicts of bindings that are patched.

use std::collections::{BTreeMap, BTreeSet};

use super::members::{self, Unavailable};
use super::work_generator::{BINDINGS, Effect, WorkGenerator};
use super::{KubeFleetRolling, member_clusters};
use crate::control_plane::{
    ApiRequest, Change, Clusters, Controller, ControllerInput, Plane, RateLimiter, Runtime, StatusLog, Traits,
};
use crate::products::Run;
use crate::rollout::kubefleet::rolling::{RollingAction, RollingStatus, RollingUpdate, RollingView, wakes};
use crate::rollout::kubefleet::{
    ApplyStrategy, Binding, BindingState, KubeFleetBugs, WorkState, binding_name, placement_conditions,
};
use crate::rollout::{Hold, Pass, QueueRequest, Revision, TargetId};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind};

/// Steps of the rollout controller.
#[derive(Clone, Copy, Debug)]
enum RolloutTimer {
    /// Something that it watches is in its cache.
    Wake,
    /// The snapshot of the release is made.
    Snapshot,
    /// A group of writes is over.
    GroupEnds,
    /// A spec, or for `None` a deletion, is written.
    SpecWritten(usize, Option<Revision>),
}

/// The groups of writes of a pass, in their order, with the functions of `controller.go` that make them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    /// The list of bindings: `ListBindingsFromKey` with the uncached reader.
    List,
    /// The placement's apply strategy: `processApplyStrategyUpdates`.
    Patch,
    /// The status of bindings that are held back: `updateStaleBindingsStatus`.
    Block,
    /// The status of bindings that are up to date: `refreshUpToDateBindingStatus`, or without anything to roll
    /// `checkAndUpdateStaleBindingsStatus`.
    Refresh,
    /// Specs, and deletions: `updateBindings`.
    Roll,
    /// The status of bindings whose spec is written: `updateBindingStatus`, which follows each spec.
    Start,
}

impl Group {
    const ALL: [Self; 6] = [Self::List, Self::Patch, Self::Block, Self::Refresh, Self::Roll, Self::Start];

    fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }
}

/// A pass in progress.
#[derive(Clone, Debug)]
struct RolloutPass {
    began: SimTime,
    group: Group,
    /// The timer of the group's end, and its time.
    ends: (u32, SimTime),
    /// What it decided. `None`: it is listing.
    decided: Option<Pass<RollingAction, RollingStatus>>,
    /// Bindings that were bound to the newest resources when it listed them, if it rolls any.
    up_to_date: Vec<usize>,
    /// The writes of the group, by binding.
    writes: BTreeMap<usize, ApiRequest>,
    /// Bindings that the group deletes, whatever their version.
    deleted: BTreeSet<usize>,
    /// Bindings that the generator has written since the list, and when it did so first.
    changed: BTreeMap<usize, SimTime>,
    /// When the first write of the group is refused.
    refused: Option<SimTime>,
    /// A group had a conflict.
    has_failed: bool,
    completes: bool,
}

impl RolloutPass {
    /// When the write of a binding is refused, if it is.
    fn refusal(&self, cluster: usize) -> Option<SimTime> {
        let has_version = matches!(self.group, Group::Block | Group::Refresh | Group::Roll);
        if !has_version || self.deleted.contains(&cluster) {
            return None;
        }
        let changed = self.changed.get(&cluster)?;
        Some(self.writes.get(&cluster)?.answered).filter(|answered| changed < answered)
    }

    /// Those of these bindings that the group has written when it ends.
    fn written_of(&self, targets: &[TargetId], now: SimTime) -> Vec<TargetId> {
        let is_sent = |cluster: usize| self.writes.get(&cluster).is_some_and(|write| write.sent <= now);
        let is_written = |target: &TargetId| is_sent(target.index()) && self.refusal(target.index()).is_none();
        targets.iter().copied().filter(is_written).collect()
    }
}

/// KubeFleet's rollout controller with one placement.
pub(super) struct RollingController {
    scheduler: RollingUpdate,
    view: RollingView,
    unavailable: Unavailable,
    bugs: KubeFleetBugs,
    runtime: Runtime<(), RolloutTimer>,
    limiter: RateLimiter<()>,
    generator: WorkGenerator,
    watch_delay: SimDuration,
    pass: Option<RolloutPass>,
    /// The timers of specs and deletions that are on their way.
    specs: BTreeMap<usize, u32>,
    /// Bindings whose spec is on its way, and for whose answer nobody waits.
    given_up: BTreeSet<usize>,
    /// Bindings were created at the release, and no pass has seen them.
    bindings_are_new: bool,
    /// Something was reported since the last pass.
    is_dirty: bool,
    /// The last pass rolled nothing.
    wrote_nothing: bool,
    /// Clusters that come back as soon as their old binding is gone, and how often each was asked for.
    returning: BTreeMap<ClusterId, usize>,
    /// The names of all clusters.
    names: Vec<String>,
    /// From the release until there is a snapshot of it. `None`: it is there.
    snapshot_delay: Option<SimDuration>,
}

impl RollingController {
    pub(super) fn new(strategy: &KubeFleetRolling, run: Run<'_>) -> Self {
        let KubeFleetRolling { rules, upstream_bugs, policy, config, .. } = strategy;
        let world = run.fleet.world;
        let before = (world.release == ReleaseKind::Update).then_some(OLD);
        let snapshot_delay = strategy.delay.draw(&run.streams, "hub".into(), "snapshot delay", 0);
        let snapshot_delay = Some(snapshot_delay).filter(|delay| !delay.is_zero());
        let view = RollingView {
            active: true,
            policy: *policy,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: if snapshot_delay.is_none() { Some(NEW) } else { before },
            bindings: members::bindings_of(world, "placement", 0..world.clusters.len()),
        };
        Self {
            scheduler: RollingUpdate::new(config.clone(), *rules, *upstream_bugs, member_clusters(&world.clusters)),
            view,
            unavailable: Unavailable::new(world.clusters.len()),
            bugs: *upstream_bugs,
            runtime: Runtime::new(1),
            limiter: RateLimiter::controller_default(),
            // A pass lists the bindings from the API server.
            generator: WorkGenerator::new(&run, SimDuration::ZERO),
            watch_delay: run.control_loop.watch_delay,
            pass: None,
            specs: BTreeMap::new(),
            given_up: BTreeSet::new(),
            bindings_are_new: world.release == ReleaseKind::Initial && world.clusters.len() > 1,
            is_dirty: false,
            wrote_nothing: false,
            returning: BTreeMap::new(),
            names: world.clusters.iter().map(|cluster| cluster.name.clone()).collect(),
            snapshot_delay,
        }
    }

    /// The scheduler no longer picks the cluster, or picks it again.
    fn select(&mut self, cluster: ClusterId, is_selected: bool, plane: &mut Plane<'_>) {
        match self.view.bindings.get_mut(TargetId(cluster.0)) {
            Some(binding) if !is_selected => {
                binding.unschedule();
                self.generator.refresh(cluster.index(), plane.now(), plane);
            }
            Some(binding) if !binding.deleting => {
                binding.reschedule();
                self.generator.refresh(cluster.index(), plane.now(), plane);
            }
            Some(_) => *self.returning.entry(cluster).or_default() += 1,
            None if is_selected => {
                let name = binding_name("placement", &self.names[cluster.index()], cluster.0);
                self.view.bindings.insert(Binding::scheduled(name, TargetId(cluster.0), 0));
            }
            None => {}
        }
    }

    /// A binding is gone.
    fn remove(&mut self, cluster: ClusterId, plane: &mut Plane<'_>) {
        self.view.bindings.remove(TargetId(cluster.0));
        self.generator.forget(cluster.index());
        self.is_dirty = true;
        plane.changed(cluster);
        self.runtime.add(());
        if let Some(times) = self.returning.get_mut(&cluster) {
            *times -= 1;
            if *times == 0 {
                self.returning.remove(&cluster);
            }
            self.select(cluster, true, plane);
        }
    }

    /// A pass begins: it lists the bindings.
    fn begin(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.unavailable.look(&self.view.bindings);
        plane.begin_pass(self.unavailable.count());
        if std::mem::take(&mut self.bindings_are_new) {
            // The event of the first one has started this pass. Those of the others come while it lists.
            self.runtime.add(());
        }
        let listed = self.generator.client.send(BINDINGS, now).answered;
        self.pass = Some(RolloutPass {
            began: now,
            group: Group::List,
            ends: (self.runtime.step(listed, RolloutTimer::GroupEnds, plane), listed),
            decided: None,
            up_to_date: Vec::new(),
            writes: BTreeMap::new(),
            deleted: BTreeSet::new(),
            changed: BTreeMap::new(),
            refused: None,
            has_failed: false,
            completes: false,
        });
    }

    /// A group of writes is over, and the next one begins.
    fn group_ends(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let Some(mut pass) = self.pass.take() else { return };
        self.close(&mut pass, now, plane);
        // A binding whose spec is written gets its status in any case.
        let mut next = pass.group.next().filter(|next| !pass.has_failed || *next == Group::Start);
        while let Some(group) = next {
            pass.group = group;
            if let Some(end) = self.open(&mut pass, now, plane) {
                pass.ends = (self.runtime.step(end, RolloutTimer::GroupEnds, plane), end);
                plane.pass_until(end, 0);
                self.pass = Some(pass);
                return;
            }
            next = group.next();
        }
        let asked = pass.decided.map_or(QueueRequest::None, |decided| decided.status.next);
        let asked = if pass.has_failed { QueueRequest::Error } else { asked };
        if let Some(at) = self.limiter.requeue((), now, asked) {
            self.runtime.add_at((), at, plane);
        }
        let completes = pass.completes && !pass.has_failed && self.snapshot_delay.is_none();
        self.runtime.end_pass((), now, 0, completes, plane);
    }

    /// The bindings that a group writes.
    fn bindings_of(&self, pass: &RolloutPass, decided: &Pass<RollingAction, RollingStatus>) -> Vec<usize> {
        let indices = |targets: &[TargetId]| targets.iter().map(|target| target.index()).collect();
        match pass.group {
            Group::List => Vec::new(),
            Group::Patch => indices(&decided.status.patched),
            Group::Block => indices(&self.scheduler.blocked(decided, &self.view)),
            Group::Refresh if is_rolling(decided) => pass.up_to_date.clone(),
            Group::Refresh => indices(&decided.status.restarted),
            Group::Roll | Group::Start => decided.actions.iter().map(|action| action.target().index()).collect(),
        }
    }

    /// A group of writes begins. Returns when it ends: at its last write, or at its first conflict. `None`: it is
    /// empty.
    fn open(&mut self, pass: &mut RolloutPass, now: SimTime, plane: &mut Plane<'_>) -> Option<SimTime> {
        let decided = pass.decided.take().expect("a pass decides when it has listed the bindings");
        let clusters = self.bindings_of(pass, &decided);
        let end = if pass.group == Group::Start {
            // Each status is sent when its spec is written.
            pass.writes.clear();
            pass.refused = None;
            clusters.into_iter().filter_map(|cluster| self.generator.started(cluster)).filter(|at| *at > now).max()
        } else {
            let write = |cluster| (cluster, self.generator.client.send_for_now(BINDINGS, now));
            let writes: Vec<(usize, ApiRequest)> = clusters.into_iter().map(write).collect();
            self.send(pass, &decided, &writes, plane);
            pass.writes = writes.into_iter().collect();
            pass.refused = pass.changed.keys().filter_map(|cluster| pass.refusal(*cluster)).min();
            pass.refused.or(pass.writes.values().map(|write| write.answered).max())
        };
        pass.decided = Some(decided);
        end
    }

    /// The writes of a group take effect when they are answered.
    fn send(
        &mut self,
        pass: &mut RolloutPass,
        decided: &Pass<RollingAction, RollingStatus>,
        writes: &[(usize, ApiRequest)],
        plane: &mut Plane<'_>,
    ) {
        pass.deleted.clear();
        let marked = match pass.group {
            Group::Block => &decided.status.blocked[..],
            Group::Refresh => &decided.status.restarted[..],
            _ => &[],
        };
        let marked: BTreeSet<usize> = marked.iter().map(|target| target.index()).collect();
        for (cluster, write) in writes.iter().filter(|(cluster, _)| marked.contains(cluster)) {
            self.generator.write_binding(*cluster, write.answered);
        }
        match pass.group {
            Group::Patch => {
                for (_, write) in writes {
                    self.runtime.step(write.answered + self.watch_delay, RolloutTimer::Wake, plane);
                }
            }
            Group::Roll => {
                for (action, (cluster, write)) in decided.actions.iter().zip(writes) {
                    let revision = match action {
                        RollingAction::Deploy(_, revision) => Some(*revision),
                        RollingAction::Delete(_) => None,
                    };
                    match revision {
                        Some(revision) => plane.promote(ClusterId(*cluster as u32), revision),
                        None => _ = pass.deleted.insert(*cluster),
                    }
                    let timer = self.runtime.step(write.answered, RolloutTimer::SpecWritten(*cluster, revision), plane);
                    self.specs.insert(*cluster, timer);
                }
            }
            _ => {}
        }
    }

    /// A group of writes is over.
    fn close(&mut self, pass: &mut RolloutPass, now: SimTime, plane: &mut Plane<'_>) {
        if pass.refused.is_some_and(|at| at <= now) {
            pass.has_failed = true;
            self.generator.client.give_up(BINDINGS, now);
        }
        let Some(decided) = pass.decided.take() else {
            pass.changed.clear();
            pass.decided = Some(self.decide(pass));
            return;
        };
        match pass.group {
            Group::Patch => self.view.store_patched(&decided.status),
            Group::Block => {
                let written = pass.written_of(&decided.status.blocked, now);
                self.view.store_started(pass.began, &written, false);
                // Those that the generator has changed meanwhile say it again.
                let changed = self.view.bindings.changed().iter().map(TargetId);
                let again: Vec<TargetId> =
                    changed.filter(|target| self.scheduler.is_blocked(*target, &self.view)).collect();
                self.view.store_started(pass.began, &pass.written_of(&again, now), false);
            }
            Group::Refresh => {
                let written = pass.written_of(&decided.status.restarted, now);
                self.view.store_started(pass.began, &written, true);
                written.iter().for_each(|target| self.generator.write_started(target.index(), now));
            }
            Group::Roll => {
                for (&cluster, write) in pass.writes.iter().filter(|(_, write)| write.answered > now) {
                    if write.sent > now || pass.refusal(cluster).is_some() {
                        let timer = self.specs.remove(&cluster).expect("a spec on its way has a timer");
                        self.runtime.cancel(timer, plane);
                    } else {
                        self.given_up.insert(cluster);
                    }
                }
            }
            Group::List | Group::Start => {}
        }
        pass.decided = Some(decided);
    }

    /// The bindings are listed: the pass decides.
    fn decide(&mut self, pass: &mut RolloutPass) -> Pass<RollingAction, RollingStatus> {
        self.unavailable.look(&self.view.bindings);
        let decided = self.scheduler.reconcile_changed(pass.began, &self.view, self.view.bindings.changed());
        self.view.bindings.clear_changed();
        pass.completes = self.scheduler.is_done(&self.view);
        let status = &decided.status;
        self.wrote_nothing = decided.actions.is_empty() && status.patched.is_empty() && status.restarted.is_empty();
        self.is_dirty = false;
        if is_rolling(&decided) {
            let newest = self.view.latest_snapshot;
            let is_newest = |of: &&Binding| of.state == BindingState::Bound && of.snapshot == newest;
            pass.up_to_date = self.view.bindings.iter().filter(is_newest).map(|of| of.target.index()).collect();
        }
        decided
    }

    /// The write of a spec or of a deletion is answered.
    fn spec_written(&mut self, cluster: usize, revision: Option<Revision>, plane: &mut Plane<'_>) {
        let (now, target) = (plane.now(), TargetId(cluster as u32));
        self.specs.remove(&cluster);
        let is_given_up = self.given_up.remove(&cluster);
        let is_refused = self.pass.as_ref().is_some_and(|pass| pass.refusal(cluster).is_some());
        if is_refused || self.view.bindings.get(target).is_none() {
            return;
        }
        if let Some(revision) = revision {
            self.view.store_actions(now, &[RollingAction::Deploy(target, revision)]);
            let started = if is_given_up {
                self.view.store_started(now, &[target], false);
                SimTime::MAX
            } else {
                self.generator.client.send(BINDINGS, now).answered
            };
            self.generator.write_spec(cluster, revision, [now, started], plane);
        } else {
            self.view.store_actions(now, &[RollingAction::Delete(target)]);
            self.generator.delete(cluster, now, plane);
        }
        self.runtime.step(now + self.watch_delay, RolloutTimer::Wake, plane);
    }

    /// The generator has written a binding, which may end the group in progress.
    fn binding_written(&mut self, cluster: ClusterId, now: SimTime, plane: &mut Plane<'_>) {
        let Some(pass) = &mut self.pass else { return };
        pass.changed.entry(cluster.index()).or_insert(now);
        if let Some(refused) = pass.refusal(cluster.index())
            && pass.refused.is_none_or(|before| refused < before)
        {
            pass.refused = Some(refused);
            let (timer, end) = pass.ends;
            if refused < end {
                self.runtime.cancel(timer, plane);
                pass.ends = (self.runtime.step(refused, RolloutTimer::GroupEnds, plane), refused);
            }
        }
    }

    fn effect(&mut self, effect: Effect, now: SimTime, plane: &mut Plane<'_>) {
        match effect {
            Effect::Status(cluster, revision, state) => self.status(cluster, revision, state, now, plane),
            Effect::Written(cluster) => self.binding_written(cluster, now, plane),
            Effect::Removed(cluster) => {
                if self.generator.has_removed(cluster, now, plane) {
                    self.remove(cluster, plane);
                }
            }
        }
    }

    /// A binding's status is written.
    fn status(
        &mut self,
        cluster: ClusterId,
        revision: Revision,
        state: WorkState,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        if let Some((before, after)) =
            members::write_status(&mut self.view.bindings, TargetId(cluster.0), revision, state)
        {
            self.is_dirty = true;
            self.binding_written(cluster, now, plane);
            if wakes(&before, &after, self.bugs) {
                self.runtime.step(now + self.watch_delay, RolloutTimer::Wake, plane);
            }
        }
    }

    fn step(&mut self, step: RolloutTimer, now: SimTime, plane: &mut Plane<'_>) {
        match step {
            RolloutTimer::Wake => self.runtime.add(()),
            RolloutTimer::Snapshot => {
                self.snapshot_delay = None;
                self.view.latest_snapshot = Some(NEW);
                self.runtime.add(());
            }
            RolloutTimer::GroupEnds => self.group_ends(now, plane),
            RolloutTimer::SpecWritten(cluster, revision) => self.spec_written(cluster, revision, plane),
        }
    }
}

/// Whether anything is left to roll. The status of each binding that is up to date is then written, changed or not.
fn is_rolling(pass: &Pass<RollingAction, RollingStatus>) -> bool {
    !pass.actions.is_empty() || pass.status.blocked_count > 0
}

impl Controller for RollingController {
    fn traits(&self) -> Traits {
        Traits { ignores_pause: true, reports_completion: true, ..Traits::default() }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => {
                self.runtime.release(());
                if let Some(delay) = self.snapshot_delay {
                    self.runtime.step(now + delay, RolloutTimer::Snapshot, plane);
                }
            }
            ControllerInput::Report(report) => self.generator.report(report),
            ControllerInput::Person(Change::Release(revision)) => {
                self.view.latest_snapshot = Some(*revision);
                self.runtime.add(());
            }
            ControllerInput::Person(Change::Selected(cluster, is_selected)) => {
                self.select(*cluster, *is_selected, plane);
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

    /// A cluster that the placement no longer picks is done when its binding is gone.
    fn is_done(&self, cluster: ClusterId) -> bool {
        self.view.bindings.get(TargetId(cluster.0)).is_none()
            || members::is_done(&self.view.bindings, TargetId(cluster.0))
    }

    /// Availability of what runs here can be tracked, so that time alone makes nothing ready.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        let has_steps = self.runtime.steps().next().is_some() || self.runtime.is_busy();
        self.wrote_nothing && !self.is_dirty && !has_steps && self.generator.is_idle()
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        vec![String::new(); self.names.len()]
    }

    fn show(&mut self, log: &mut StatusLog) {
        if self.pass.is_none() {
            log.show(placement_conditions("placement", &self.view.bindings, self.view.latest_snapshot));
        }
    }
}
