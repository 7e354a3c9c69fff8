//! What the rolling update of a KubeFleet placement sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster that the placement has picked. What a binding says of its cluster is
//! in [`super::members`]. A pass starts when Available of a binding changes, by the pass's own writes to bindings, and
//! on its timer (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/rollout/controller.go`).
//!
//! The scheduler takes a cluster out of the placement by unscheduling its binding, which the rollout deletes within
//! `maxUnavailable`. The work generator then deletes the Work, and the member agent the resources. A cluster that comes
//! back gets a new binding when the old one is gone.
//!
//! That controller writes the bindings of a group all at the same time (`errgroup`): first those that are held back,
//! then those that are up to date, then those that it rolls, their spec before their status. So a pass lasts
//! a few requests, until the limit of the hub agent's client slows it down. A write of a binding that has another
//! version by then is refused ([`super::rollout_pass`]). Specs and deletions take effect when they are written.

use std::collections::{BTreeMap, BTreeSet};

use super::members::{Members, Unavailable};
use super::rollout_pass::{PassStage, RolloutPass};
use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetRolling, member_clusters};
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run, StatusLog};
use crate::rollout::kubefleet::rolling::{RollingAction, RollingStatus, RollingUpdate, RollingView, wakes};
use crate::rollout::kubefleet::{
    ApplyStrategy, Binding, BindingState, KubeFleetBugs, binding_name, placement_conditions,
};
use crate::rollout::{Hold, Pass, Revision, TargetId};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind, Report};

/// KubeFleet's rollout controller with one placement.
pub(super) struct RollingController {
    scheduler: RollingUpdate,
    view: RollingView,
    members: Members,
    unavailable: Unavailable,
    bugs: KubeFleetBugs,
    generator: WorkGenerator,
    /// The pass in progress.
    pass: Option<RolloutPass>,
    /// The last pass ended with an error.
    has_failed: bool,
    /// Bindings whose spec is on its way, and for whose answer nobody waits.
    given_up: BTreeSet<ClusterId>,
    /// The pass in progress ends earlier.
    ends_at: Option<SimTime>,
    /// Bindings were created at the release, and no pass has seen them.
    are_new: bool,
    /// Something was reported since the last pass.
    is_news: bool,
    /// The last pass rolled nothing.
    was_quiet: bool,
    /// Clusters that come back as soon as their old binding is gone, and how often each was asked for.
    returning: BTreeMap<ClusterId, usize>,
    /// The names of all clusters.
    names: Vec<String>,
    /// From the release until there is a snapshot of it, and when that is. `None`: it is there.
    snapshot_delay: Option<SimDuration>,
    snapshot_at: Option<SimTime>,
}

impl RollingController {
    pub(super) fn new(strategy: &KubeFleetRolling, run: Run<'_>) -> Self {
        let KubeFleetRolling { rules, upstream_bugs, policy, config, .. } = strategy;
        let world = run.fleet.world;
        let before = (world.release == ReleaseKind::Update).then_some(OLD);
        let snapshot_delay = strategy.snapshot_delay.draw(&run.streams, "hub".into(), "snapshot delay", 0);
        let snapshot_delay = Some(snapshot_delay).filter(|delay| !delay.is_zero());
        let members = Members::new(world);
        let view = RollingView {
            active: true,
            policy: *policy,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: if snapshot_delay.is_none() { Some(NEW) } else { before },
            bindings: Members::bindings(world, "placement", 0..world.clusters.len()),
        };
        let scheduler = RollingUpdate::new(config.clone(), *rules, *upstream_bugs, member_clusters(&world.clusters));
        let timing = run.control_loop;
        Self {
            scheduler,
            view,
            members,
            unavailable: Unavailable::new(world.clusters.len()),
            bugs: *upstream_bugs,
            // A pass lists the bindings from the API server.
            generator: WorkGenerator::new(timing, SimDuration::ZERO, run.streams, Members::works(world)),
            pass: None,
            has_failed: false,
            given_up: BTreeSet::new(),
            ends_at: None,
            are_new: world.release == ReleaseKind::Initial && world.clusters.len() > 1,
            is_news: false,
            was_quiet: false,
            returning: BTreeMap::new(),
            names: world.clusters.iter().map(|cluster| cluster.name.clone()).collect(),
            snapshot_delay,
            snapshot_at: None,
        }
    }

    /// The snapshot of the release is made when its time has come. Returns whether that is now.
    fn makes_snapshot(&mut self, now: SimTime) -> bool {
        let is_due = self.snapshot_at.is_some_and(|at| at <= now);
        if is_due {
            (self.snapshot_delay, self.snapshot_at) = (None, None);
            self.view.latest_snapshot = Some(NEW);
        }
        is_due
    }

    /// The scheduler no longer picks the cluster, or picks it again.
    fn select(&mut self, cluster: ClusterId, is_selected: bool, now: SimTime) {
        match self.view.bindings.get_mut(TargetId(cluster.0)) {
            Some(binding) if !is_selected => {
                binding.unschedule();
                self.generator.refresh(cluster.index(), now);
            }
            Some(binding) if !binding.deleting => {
                binding.reschedule();
                self.generator.refresh(cluster.index(), now);
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
    fn gone(&mut self, cluster: ClusterId, now: SimTime) {
        self.view.bindings.remove(TargetId(cluster.0));
        self.generator.forgets(cluster.index());
        self.is_news = true;
        if let Some(times) = self.returning.get_mut(&cluster) {
            *times -= 1;
            if *times == 0 {
                self.returning.remove(&cluster);
            }
            self.select(cluster, true, now);
        }
    }

    /// Bindings that are bound to the newest resources.
    fn up_to_date(&self) -> Vec<usize> {
        let is_newest =
            |binding: &&Binding| binding.state == BindingState::Bound && binding.snapshot == self.view.latest_snapshot;
        self.view.bindings.iter().filter(is_newest).map(|binding| binding.target.index()).collect()
    }

    /// The bindings of a group of writes.
    fn group(&self, stage: PassStage, pass: &Pass<RollingAction, RollingStatus>, up_to_date: &[usize]) -> Vec<usize> {
        let indices = |targets: &[TargetId]| targets.iter().map(|target| target.index()).collect();
        match stage {
            PassStage::Patching => indices(&pass.status.patched),
            PassStage::Blocking => indices(&self.scheduler.blocked(pass, &self.view)),
            PassStage::Refreshing if is_rolling(pass) => up_to_date.to_vec(),
            PassStage::Refreshing => indices(&pass.status.restarted),
            _ => pass.actions.iter().map(|action| action.target().index()).collect(),
        }
    }

    /// A group of writes begins. Returns when it ends; `None`: there is none.
    fn begin(&mut self, pass: &mut RolloutPass, stage: PassStage, now: SimTime) -> Option<SimTime> {
        let decided = pass.decided.as_ref().expect("a pass decides when it has listed the bindings");
        let group = self.group(stage, decided, &pass.up_to_date);
        if stage == PassStage::Starting {
            // Each status is sent when its spec is written.
            let started = |cluster: usize| self.generator.started(cluster);
            return pass.starts(group.into_iter().filter_map(started).filter(|written| *written > now).max());
        }
        let writes: Vec<_> = group.into_iter().map(|cluster| (cluster, self.generator.request_of_pass(now))).collect();
        let marked: BTreeSet<TargetId> = match stage {
            PassStage::Blocking => decided.status.blocked.iter().copied().collect(),
            PassStage::Refreshing => decided.status.restarted.iter().copied().collect(),
            _ => BTreeSet::new(),
        };
        for (cluster, write) in writes.iter().filter(|(cluster, _)| marked.contains(&TargetId(*cluster as u32))) {
            self.generator.marks(*cluster, write.answered);
        }
        if stage == PassStage::Patching {
            writes.iter().for_each(|(_, write)| self.generator.wake(write.answered));
        }
        if stage == PassStage::Rolling {
            let deleted = |action: &&RollingAction| matches!(action, RollingAction::Delete(_));
            let deleted: Vec<_> =
                decided.actions.iter().filter(deleted).map(|action| action.target().index()).collect();
            for (action, (cluster, write)) in decided.actions.iter().zip(&writes) {
                let revision = match action {
                    RollingAction::Deploy(_, revision) => Some(*revision),
                    RollingAction::Delete(_) => None,
                };
                self.generator.rolls(*cluster, revision, write.answered);
            }
            pass.deletes(deleted.into_iter());
        }
        pass.begin(stage, writes)
    }

    /// The write of a spec or of a deletion is answered.
    fn roll(&mut self, pass: Option<&RolloutPass>, cluster: ClusterId, revision: Option<Revision>, now: SimTime) {
        let (target, has_given_up) = (TargetId(cluster.0), self.given_up.remove(&cluster));
        let is_refused = pass.is_some_and(|pass| pass.is_refused(cluster.index()));
        if is_refused || self.view.bindings.get(target).is_none() {
            return;
        }
        if let Some(revision) = revision {
            self.view.store_actions(now, &[RollingAction::Deploy(target, revision)]);
            if has_given_up {
                self.view.store_started(now, &[target], false);
            }
            self.generator.write_spec(cluster.index(), revision, has_given_up, now);
        } else {
            self.view.store_actions(now, &[RollingAction::Delete(target)]);
            self.generator.deleted(cluster.index(), now);
            self.generator.wake(now);
        }
    }

    /// A group of specs is over at `now`: those of this instant are written, and those that wait are given up.
    fn close_rolls(&mut self, pass: &RolloutPass, now: SimTime) {
        let decided = pass.decided.as_ref().expect("a pass decides before it rolls");
        for action in &decided.actions {
            let cluster = action.target().index();
            if self.generator.will_roll(cluster).is_some_and(|written| written <= now)
                && let Some(Effect::Rolled(cluster, revision)) = self.generator.takes_back(cluster)
            {
                self.roll(Some(pass), cluster, revision, now);
            }
        }
        let [waiting, sent] = pass.unanswered(now);
        let (refused, sent): (Vec<_>, Vec<_>) = sent.into_iter().partition(|cluster| pass.is_refused(*cluster));
        waiting.into_iter().chain(refused).for_each(|cluster| _ = self.generator.takes_back(cluster));
        self.given_up.extend(sent.into_iter().map(|cluster| ClusterId(cluster as u32)));
    }

    /// A group of statuses is over: the last ones are written at this instant.
    fn mark_last(&mut self, pass: &RolloutPass, written: &[TargetId], now: SimTime) {
        for target in written {
            if pass.write(target.index()).is_some_and(|write| write.answered == now) {
                self.generator.marked(target.index(), now);
            }
        }
    }

    /// A group of writes is over.
    fn close(&mut self, pass: &mut RolloutPass, now: SimTime) {
        if pass.fails(now) {
            pass.has_failed = true;
            self.generator.give_up(now);
        }
        match (pass.stage, &pass.decided) {
            (PassStage::Listing, _) => {
                pass.listed();
                let decided = self.reconcile(pass.began);
                pass.complete = self.scheduler.is_done(&self.view);
                let status = &decided.status;
                self.was_quiet = decided.actions.is_empty() && status.patched.is_empty() && status.restarted.is_empty();
                self.is_news = false;
                if is_rolling(&decided) {
                    pass.up_to_date = self.up_to_date();
                }
                pass.decided = Some(decided);
            }
            (PassStage::Patching, Some(decided)) => self.view.store_patched(&decided.status),
            (PassStage::Blocking, Some(decided)) => {
                let written = pass.written_of(&decided.status.blocked, now);
                self.mark_last(pass, &written, now);
                self.block(pass, &written, now);
            }
            (PassStage::Refreshing, Some(decided)) => {
                let written = pass.written_of(&decided.status.restarted, now);
                self.mark_last(pass, &written, now);
                self.view.store_started(pass.began, &written, true);
                written.iter().for_each(|target| self.generator.restarts(target.index(), now));
            }
            (PassStage::Rolling, Some(_)) => self.close_rolls(pass, now),
            _ => {}
        }
    }

    fn reconcile(&mut self, began: SimTime) -> Pass<RollingAction, RollingStatus> {
        self.unavailable.look(&self.view.bindings);
        let decided = self.scheduler.reconcile_changed(began, &self.view, self.view.bindings.changed());
        self.view.bindings.clear_changed();
        decided
    }

    /// Bindings say that they are held back: those that did not say so, and those that have changed since.
    fn block(&mut self, pass: &RolloutPass, new: &[TargetId], now: SimTime) {
        let changed = self.view.bindings.changed().iter().map(TargetId);
        let again: Vec<TargetId> = changed.filter(|target| self.scheduler.is_blocked(*target, &self.view)).collect();
        self.view.store_started(pass.began, new, false);
        self.view.store_started(pass.began, &pass.written_of(&again, now), false);
    }

    /// A binding has another version from now on, which may end the pass in progress.
    fn meets(&mut self, cluster: ClusterId, at: SimTime) {
        if let Some(pass) = &mut self.pass
            && let Some(conflict) = pass.changes(cluster.index(), at)
        {
            self.ends_at = Some(conflict);
        }
    }

    /// A binding's status is written at `at`.
    fn write(&mut self, effect: Effect, at: SimTime) {
        let Effect::Status(cluster, revision, state) = effect else { unreachable!("it is a status") };
        self.generator.seen(cluster, at);
        if let Some((before, after)) = Members::write(&mut self.view.bindings, TargetId(cluster.0), revision, state) {
            self.is_news = true;
            self.meets(cluster, at);
            if wakes(&before, &after, self.bugs) {
                self.generator.wake(at);
            }
        }
    }
}

/// True if anything is left to roll. The status of each binding that is up to date is then written, changed or not.
fn is_rolling(pass: &Pass<RollingAction, RollingStatus>) -> bool {
    !pass.actions.is_empty() || pass.status.blocked_count > 0
}

impl Controller for RollingController {
    fn heeds_pause(&self) -> bool {
        false
    }

    fn reports_completion(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        self.generator.reported(report, now);
        false
    }

    fn change(&mut self, change: &Change, now: SimTime) -> Option<bool> {
        match change {
            Change::Release(revision) => self.view.latest_snapshot = Some(*revision),
            Change::Selected(cluster, is_selected) => self.select(*cluster, *is_selected, now),
            _ => return None,
        }
        Some(true)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let mut decision = Decision { ends_at: Some(now), ..Decision::default() };
        let Some(mut pass) = self.pass.take() else {
            self.unavailable.look(&self.view.bindings);
            decision.unavailable = self.unavailable.count();
            self.snapshot_at = self.snapshot_at.or_else(|| self.snapshot_delay.map(|delay| now + delay));
            if std::mem::take(&mut self.are_new) {
                // The event of the first one has started this pass. Those of the others come while it lists.
                self.generator.wake_now(now);
            }
            decision.ends_at = Some(self.generator.answer(now));
            decision.continues = true;
            self.pass = Some(RolloutPass::new(now));
            return decision;
        };
        self.close(&mut pass, now);
        // A binding whose spec is written gets its status, too.
        let mut stage = pass.stage.next().filter(|next| !pass.has_failed || *next == PassStage::Starting);
        while let Some(next) = stage {
            if let Some(end) = self.begin(&mut pass, next, now) {
                let decided = pass.decided.as_ref().filter(|_| next == PassStage::Rolling);
                decision.requested = decided.map_or(0, |decided| decided.actions.len());
                (decision.ends_at, decision.continues) = (Some(end), true);
                self.pass = Some(pass);
                return decision;
            }
            stage = next.next();
        }
        self.has_failed = pass.has_failed;
        decision.complete = pass.complete && !self.has_failed && self.snapshot_delay.is_none();
        decision
    }

    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        if std::mem::take(&mut self.has_failed) {
            self.scheduler.pass_failed(end)
        } else {
            self.scheduler.pass_ended(end)
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.generator.next().into_iter().chain(self.snapshot_at).min()
    }

    fn advance(&mut self, now: SimTime, clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened { starts_pass: self.makes_snapshot(now), ..Happened::default() };
        while let Some(effect) = self.generator.advance(now) {
            match effect {
                Effect::Marked(cluster) => {
                    let writes = |pass: &RolloutPass| pass.writes_status() && !pass.is_refused(cluster.index());
                    if self.pass.as_ref().is_some_and(writes) {
                        self.generator.marked(cluster.index(), now);
                    }
                }
                Effect::Rolled(cluster, revision) => {
                    let pass = self.pass.take();
                    self.roll(pass.as_ref(), cluster, revision, now);
                    self.pass = pass;
                }
                Effect::Instruct(cluster, revision) if self.members.is_registered(cluster) => {
                    happened.instructions.push((cluster, revision));
                }
                Effect::Instruct(..) => {}
                Effect::Remove(cluster) => happened.removals.push(cluster),
                Effect::Gone(cluster) if clusters.is_online(cluster) && self.members.is_registered(cluster) => {
                    self.gone(cluster, now);
                    happened.changed.push(cluster);
                    happened.starts_pass = true;
                }
                // The resources are deleted when the cluster is back.
                Effect::Gone(cluster) if clusters.is_repair_due(cluster) => self.generator.waits_for(cluster, now),
                Effect::Gone(_) => {}
                Effect::Status(..) => self.write(effect, now),
                Effect::Reworded(cluster) => self.meets(cluster, now),
                Effect::Seen(cluster) => happened.changed.push(cluster),
                Effect::Wake => happened.starts_pass = true,
            }
        }
        happened.pass_ends_at = self.ends_at.take();
        happened
    }

    /// A cluster that the placement no longer picks is done when its binding is gone.
    fn is_done(&self, cluster: ClusterId) -> bool {
        self.view.bindings.get(TargetId(cluster.0)).is_none()
            || Members::is_done(&self.view.bindings, TargetId(cluster.0))
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn show(&mut self, log: &mut StatusLog) {
        log.show(placement_conditions("placement", &self.view.bindings, self.view.latest_snapshot));
    }

    fn stages(&self) -> Vec<String> {
        vec![String::new(); self.names.len()]
    }

    /// Availability of what runs here can be tracked, so that time alone makes nothing ready.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        self.was_quiet && !self.is_news && self.snapshot_at.is_none() && self.generator.is_idle()
    }
}
