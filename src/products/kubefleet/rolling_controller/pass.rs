//! A pass of KubeFleet's rollout controller: the groups of its writes, and how conflicts end them.
//!
//! Follows `pkg/controllers/rollout/controller.go` of kubefleet-dev/kubefleet; each group names its function. The
//! header of [`super`] lists what is left out, and the evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::super::work_generator::{BINDINGS, SpecWrite};
use super::{RollingController, RolloutTimer};
use crate::control_plane::{ApiRequest, Plane};
use crate::rollout::kubefleet::BindingState;
use crate::rollout::kubefleet::rolling::{RollingAction, RollingDecision, RollingStatus};
use crate::rollout::{QueueRequest, TargetId};
use crate::units::SimTime;

/// The groups of writes in a pass, in order, with the functions of `controller.go` that send them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Group {
    /// Listing the bindings: `ListBindingsFromKey` with the uncached reader.
    #[default]
    List,
    /// Writing the placement's apply strategy: `processApplyStrategyUpdates`.
    Patch,
    /// Writing the status of bindings that are held back: `updateStaleBindingsStatus`.
    Block,
    /// Writing the status of bindings that are up to date: `refreshUpToDateBindingStatus`, or
    /// `checkAndUpdateStaleBindingsStatus` if no binding needs an update.
    Refresh,
    /// Writing specs and deletions: `updateBindings`.
    Roll,
    /// Writing the status of bindings whose spec was written: `updateBindingStatus`, which follows each spec.
    Start,
}

impl Group {
    const ALL: &'static [Self] = &[
        Self::List,
        Self::Patch,
        Self::Block,
        Self::Refresh,
        Self::Roll,
        Self::Start,
    ];

    /// Returns the groups that follow this one.
    fn following(self) -> &'static [Self] {
        &Self::ALL[self as usize + 1..]
    }
}

/// A pass in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct RolloutPass {
    began: SimTime,
    group: Group,
    /// The timer for the end of the current group, and its time.
    ends: (u32, SimTime),
    /// The decision of the pass. Empty until the pass has listed the bindings.
    actions: Vec<RollingAction>,
    status: RollingStatus,
    /// Bindings whose status the pass refreshes. If any binding must still be updated or removed, these are all
    /// bindings that were bound to the newest resources when listed, changed or not.
    up_to_date: Vec<TargetId>,
    /// The writes of the current group, by binding.
    writes: BTreeMap<usize, ApiRequest>,
    /// Bindings that the pass deletes regardless of their version.
    deleted: BTreeSet<usize>,
    /// Bindings that the generator has written since the list, with the time of the first write.
    changed: BTreeMap<usize, SimTime>,
    /// The time at which a write of the current group is first rejected.
    refused: Option<SimTime>,
    /// Whether any group of the pass had a conflict.
    has_failed: bool,
    completes: bool,
}

impl RolloutPass {
    /// Returns the time at which the write of a binding is rejected, if it is rejected.
    fn refusal(&self, cluster: usize) -> Option<SimTime> {
        if self.group == Group::Patch || self.deleted.contains(&cluster) {
            return None;
        }
        let changed = self.changed.get(&cluster)?;
        Some(self.writes.get(&cluster)?.answered).filter(|answered| changed < answered)
    }

    /// Returns the targets among these whose bindings the group has written by its end.
    fn written_of(&self, targets: &[TargetId], now: SimTime) -> Vec<TargetId> {
        let mut written = Vec::new();
        for &target in targets {
            let cluster = target.index();
            let is_sent = self
                .writes
                .get(&cluster)
                .is_some_and(|write| write.sent <= now);
            if is_sent && self.refusal(cluster).is_none() {
                written.push(target);
            }
        }
        written
    }
}

impl RollingController<'_> {
    /// Begins a pass, which lists the bindings.
    pub(super) fn begin(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(self.view.bindings.count_unavailable() as u64);
        if std::mem::take(&mut self.bindings_are_new) {
            // The first binding's event has started this pass. The other events arrive while the bindings are being
            // listed.
            self.runtime.add(());
        }
        let listed = self.generator.client.send(BINDINGS, now).answered;
        self.pass = Some(RolloutPass {
            began: now,
            ends: (
                self.runtime.step(listed, RolloutTimer::GroupEnds, plane),
                listed,
            ),
            ..RolloutPass::default()
        });
    }

    /// Ends a group of writes and begins the next group.
    pub(super) fn group_ends(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let Some(mut pass) = self.pass.take() else {
            return;
        };
        self.close(&mut pass, now, plane);
        // A binding whose spec was written gets its status even after a conflict.
        let goes_on = !pass.has_failed || pass.group == Group::Roll;
        let following = if goes_on { pass.group.following() } else { &[] };
        for &group in following {
            pass.group = group;
            if let Some(end) = self.open(&mut pass, now, plane) {
                pass.ends = (self.runtime.step(end, RolloutTimer::GroupEnds, plane), end);
                plane.pass_until(end, 0);
                self.pass = Some(pass);
                return;
            }
        }
        let asked = if pass.has_failed {
            QueueRequest::Error
        } else {
            pass.status.next
        };
        if let Some(at) = self.limiter.requeue((), now, asked) {
            self.runtime.add_at((), at, plane);
        }
        let is_latest = self.view.latest_snapshot == Some(self.wanted);
        let completes = pass.completes && !pass.has_failed && is_latest;
        self.runtime.end_pass((), now, 0, completes, plane);
    }

    /// Begins a group of writes. Returns the time of its end, which is its last write or its first conflict. `None`:
    /// the group is empty.
    fn open(
        &mut self,
        pass: &mut RolloutPass,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> Option<SimTime> {
        let status = &pass.status;
        // The bindings that the group writes, and the bindings whose version changes as a result.
        let (targets, versioned): (Vec<TargetId>, &[TargetId]) = match pass.group {
            Group::List => (Vec::new(), &[]),
            Group::Patch => (status.patched.clone(), &[]),
            Group::Block => (self.scheduler.blocked(status, &self.view), &status.blocked),
            Group::Refresh => (pass.up_to_date.clone(), &status.restarted),
            Group::Roll => (
                pass.actions.iter().map(|action| action.target()).collect(),
                &[],
            ),
            Group::Start => {
                // Each status is sent once its spec is written.
                pass.writes.clear();
                pass.refused = None;
                let started = pass
                    .actions
                    .iter()
                    .filter_map(|action| self.generator.started(action.target().index()));
                return started.filter(|at| *at > now).max();
            }
        };
        let client = &mut self.generator.client;
        pass.writes = targets
            .iter()
            .map(|target| (target.index(), client.send_for_now(BINDINGS, now)))
            .collect();
        for target in versioned {
            self.generator
                .write_binding(target.index(), pass.writes[&target.index()].answered);
        }
        if pass.group == Group::Patch {
            for target in &targets {
                let seen = pass.writes[&target.index()].answered + self.generator.watch_delay;
                self.runtime.step(seen, RolloutTimer::Wake, plane);
            }
        }
        if pass.group == Group::Roll {
            self.roll(pass, plane);
        }
        pass.refused = pass
            .changed
            .keys()
            .filter_map(|cluster| pass.refusal(*cluster))
            .min();
        pass.refused
            .or(pass.writes.values().map(|write| write.answered).max())
    }

    /// Sends specs and deletions. Each takes effect when the API server answers.
    fn roll(&mut self, pass: &mut RolloutPass, plane: &mut Plane<'_>) {
        for action in &pass.actions {
            let cluster = action.target().index();
            match *action {
                RollingAction::Deploy(target, revision) => {
                    plane.promote(target, self.generator.manifests_of(revision));
                }
                RollingAction::Delete(_) => _ = pass.deleted.insert(cluster),
            }
            let answered = pass.writes[&cluster].answered;
            let timer = self
                .runtime
                .step(answered, RolloutTimer::SpecWritten(*action), plane);
            self.specs.insert(cluster, timer);
        }
    }

    /// Ends a group of writes.
    fn close(&mut self, pass: &mut RolloutPass, now: SimTime, plane: &mut Plane<'_>) {
        if pass.refused.is_some_and(|at| at <= now) {
            pass.has_failed = true;
            self.generator.client.give_up(BINDINGS, now);
        }
        match pass.group {
            Group::List => self.decide(pass),
            Group::Patch => self.view.store_patched(&pass.status.patched),
            Group::Block => {
                // Bindings that the generator has changed in the meantime are reported again.
                let again = self.view.bindings.changed().iter().map(TargetId);
                let blocked: Vec<TargetId> =
                    pass.status.blocked.iter().copied().chain(again).collect();
                self.view
                    .store_started(&pass.written_of(&blocked, now), false);
            }
            Group::Refresh => {
                let written = pass.written_of(&pass.status.restarted, now);
                self.view.store_started(&written, true);
                for target in &written {
                    self.generator.write_started(target.index(), now);
                }
            }
            Group::Roll => self.give_up_specs(pass, now, plane),
            Group::Start => {}
        }
    }

    /// Stops waiting for unanswered specs and deletions. Those not sent yet are not sent.
    fn give_up_specs(&mut self, pass: &RolloutPass, now: SimTime, plane: &mut Plane<'_>) {
        for (&cluster, write) in &pass.writes {
            if write.answered <= now {
                continue;
            }
            if write.sent > now || pass.refusal(cluster).is_some() {
                let timer = self
                    .specs
                    .remove(&cluster)
                    .expect("a spec in transit has a timer");
                self.runtime.cancel(timer, plane);
            } else {
                self.given_up.insert(cluster);
            }
        }
    }

    /// Makes the decision of the pass after the bindings are listed.
    fn decide(&mut self, pass: &mut RolloutPass) {
        let RollingDecision {
            actions, status, ..
        } = self
            .scheduler
            .reconcile_changed(pass.began, &self.view, self.view.bindings.changed());
        self.view.bindings.clear_changed();
        pass.changed.clear();
        pass.completes = self.scheduler.is_done(&self.view);
        self.wrote_nothing =
            actions.is_empty() && status.patched.is_empty() && status.restarted.is_empty();
        self.is_dirty = false;
        pass.up_to_date = if status.room.is_some() {
            self.bound_to_newest()
        } else {
            status.restarted.clone()
        };
        pass.actions = actions;
        pass.status = status;
    }

    /// Returns the targets whose bindings are bound to the newest snapshot.
    fn bound_to_newest(&self) -> Vec<TargetId> {
        let mut targets = Vec::new();
        for binding in self.view.bindings.iter() {
            if binding.state == BindingState::Bound && binding.snapshot == self.view.latest_snapshot
            {
                targets.push(binding.target);
            }
        }
        targets
    }

    /// Handles the answer to the write of a spec or a deletion.
    pub(super) fn spec_written(
        &mut self,
        action: RollingAction,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let target = action.target();
        let cluster = target.index();
        self.specs.remove(&cluster);
        let is_given_up = self.given_up.remove(&cluster);
        let is_refused = self
            .pass
            .as_ref()
            .is_some_and(|pass| pass.refusal(cluster).is_some());
        if is_refused || self.view.bindings.get(target).is_none() {
            return;
        }
        self.view.store_action(action);
        match action {
            RollingAction::Deploy(_, revision) if is_given_up => {
                self.view.store_started(&[target], false);
                let write = SpecWrite {
                    spec: now,
                    started: SimTime::MAX,
                };
                self.generator.write_spec(cluster, revision, write, plane);
            }
            RollingAction::Deploy(_, revision) => {
                let started = self.generator.client.send(BINDINGS, now).answered;
                let write = SpecWrite { spec: now, started };
                self.generator.write_spec(cluster, revision, write, plane);
            }
            RollingAction::Delete(_) => self.generator.delete(cluster, now, plane),
        }
        self.runtime
            .step(now + self.generator.watch_delay, RolloutTimer::Wake, plane);
    }

    /// Handles a write of a binding by the generator, which may end the group in progress.
    pub(super) fn binding_written(
        &mut self,
        target: TargetId,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let Some(pass) = &mut self.pass else { return };
        pass.changed.entry(target.index()).or_insert(now);
        if let Some(refused) = pass.refusal(target.index())
            && pass.refused.is_none_or(|before| refused < before)
        {
            pass.refused = Some(refused);
            let (timer, end) = pass.ends;
            if refused < end {
                self.runtime.cancel(timer, plane);
                pass.ends = (
                    self.runtime.step(refused, RolloutTimer::GroupEnds, plane),
                    refused,
                );
            }
        }
    }
}
