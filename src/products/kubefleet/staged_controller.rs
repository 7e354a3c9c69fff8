//! KubeFleet's staged update runs: what they observe, and how their decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster with a binding of one placement. One or more runs update the
//! clusters. All runs of a hub share one worker, also those of other applications, so their passes run one after the
//! other (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/updaterun/controller.go`). Two runs of one placement
//! write the same bindings: if one run changes a cluster that the other run is updating, the other run fails.
//! [`super::members`] describes the content of a binding.
//!
//! A later release makes another snapshot, after the time for which changes are collected, and people create a run for
//! it on each placement. The return to an older release is a run with its snapshot, which exists; clusters that still
//! have this snapshot are done at once. No run looks for other runs of its placement (`validation.go` and
//! `execution.go` compare with the policy snapshot and the run's own status only), and a run writes its own snapshot to
//! each cluster that it has not started, whatever the cluster has. So an older run that is not stopped can put an older
//! release over a newer one, or fails when a newer run has changed a cluster that it is updating. People who stop the
//! rollout stop all of its runs.
//!
//! A cluster that its placement no longer picks has an unscheduled binding, which the delete stage of a run removes.
//! Its member agent then deletes the resources, which a cluster that is offline does when it is back. Left out: what
//! this frees in the cluster; conflicts of the run's own writes of bindings, which queue the run again.
//!
//! A deleted placement loses all bindings, one after the other (`cleanUpAllBindingsFor` in
//! `pkg/scheduler/scheduler.go`), and all clusters lose their workloads. The field `deleteStrategy` changes nothing:
//! its type is declared in `apis/placement/v1beta1/clusterresourceplacement_types.go`, and no controller reads it.
//! Left out: the member agents' retries while resources terminate; the hub looks every 15 s whether they are gone.

use super::members;
use super::runs::UpdateRun;
use super::staged_run::{PassEnd, StagedRun};
use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetStaged, edited_strategy, failed_apply, member_clusters, member_labels};
use crate::control_plane::{
    Change, Controller, ControllerInput, Plane, RateLimiter, RolloutObject, Runtime, StatusLog,
    TargetStates, Traits,
};
use crate::products::words::{add_stage, first_names};
use crate::products::{Run, Strategy};
use crate::rollout::kubefleet::{
    Bindings, MemberCluster, RunState, StrategySpec, placement_conditions,
};
use crate::rollout::{Hold, Revision, TargetId};
use crate::units::{SimDuration, SimTime, counted};
use crate::world::{NEW, OLD};

/// Number of workers of the controller of update runs, for all runs of a hub: the default of controller-runtime, which
/// `SetupWithManager` in `pkg/controllers/updaterun/controller.go` does not change.
const WORKERS: usize = 1;

/// The name of the controller at the hub.
const NAME: &str = "update run controller";

/// A person's action on a run. The number is the run's index.
#[derive(Clone, Debug)]
enum PersonStep {
    /// A person creates the run, or sets its state.
    SetState(usize, RunState),
    /// A person gives a requested approval.
    Approve(usize, String),
}

/// KubeFleet's controller with staged update runs. The keys of its queue are the indices of the runs.
pub(super) struct StagedController<'s> {
    strategy: &'s KubeFleetStaged,
    clusters: Vec<MemberCluster>,
    runs: Vec<StagedRun<'s>>,
    runtime: Runtime<usize, PersonStep>,
    limiter: RateLimiter<usize>,
    /// The bindings of each placement.
    bindings: Vec<Bindings>,
    generator: WorkGenerator,
    /// Whether anything was reported since the last pass.
    is_dirty: bool,
    /// The simulated rollout that contains the runs.
    rollout: Run<'s>,
    /// The reason why the status of a run cannot be written, which prevents all runs from starting.
    too_large: Option<String>,
    /// The snapshot of the last release.
    wanted: Revision,
    /// The snapshots of the releases so far, in their order.
    released: Vec<Revision>,
    /// The number of the last release's first run.
    first_run: usize,
}

impl<'s> StagedController<'s> {
    pub(super) fn new(strategy: &'s KubeFleetStaged, rollout: Run<'s>) -> Self {
        let world = rollout.fleet.world;
        let clusters = member_clusters(&world.clusters);
        let updates = &strategy.updates;
        let mut bindings = Vec::new();
        for (placement, name) in updates.placements.iter().enumerate() {
            let picked =
                (0..clusters.len()).filter(|&cluster| updates.placement_of(cluster) == placement);
            bindings.push(members::bindings_of(world, name, picked));
        }
        for cluster in (0..clusters.len()).filter(|cluster| updates.is_unpicked(*cluster)) {
            let binding = bindings[updates.placement_of(cluster)].get_mut(TargetId(cluster as u32));
            binding.expect("all have one").unschedule();
        }
        let mut runs = Vec::new();
        for run in &updates.runs {
            let clusters = clusters.clone();
            runs.push(StagedRun::new(
                strategy,
                run.clone(),
                clusters,
                rollout.clone(),
            ));
        }
        Self {
            strategy,
            runs,
            runtime: Runtime::of_controller(0, rollout.hub.workers(NAME, WORKERS)),
            limiter: RateLimiter::controller_default(&rollout.hub, NAME),
            bindings,
            generator: WorkGenerator::new(&rollout, true),
            is_dirty: false,
            too_large: strategy.object_limit(rollout.fleet),
            wanted: NEW,
            released: vec![OLD, NEW],
            first_run: 0,
            rollout,
            clusters,
        }
    }

    /// Handles another release: people create a run for it on each placement, once its snapshot exists.
    fn release_again(&mut self, snapshot: Revision, now: SimTime, plane: &mut Plane<'_>) {
        self.wanted = snapshot;
        let nth = self.released.len() as u64;
        let is_new = !self.released.contains(&snapshot);
        self.released.push(snapshot);
        self.first_run = self.runs.len();
        let streams = &self.rollout.streams;
        let delay = if is_new {
            let delay = &self.strategy.delay;
            delay.draw(streams, "hub".into(), "snapshot delay", nth)
        } else {
            SimDuration::ZERO
        };
        for placement in 0..self.strategy.updates.placements.len() {
            self.create_run(placement, snapshot);
            let number = self.runs.len() - 1;
            if delay.is_zero() {
                self.step(PersonStep::SetState(number, RunState::Run));
            } else {
                let step = PersonStep::SetState(number, RunState::Run);
                self.runtime.step(now + delay, step, plane);
            }
        }
    }

    /// Adds a run of a snapshot that a person will create.
    fn create_run(&mut self, placement: usize, snapshot: Revision) {
        let first = &self.strategy.updates.runs[0].name;
        let mut name = format!("{first}-{}", snapshot.0);
        if self.runs.iter().any(|run| run.described.name == name) {
            name.push_str(&format!("-{}", self.runs.len() + 1));
        }
        let run = UpdateRun {
            name,
            placement,
            snapshot,
            states: vec![(SimDuration::ZERO, RunState::Run)],
        };
        let rollout = self.rollout.clone();
        let mut run = StagedRun::new(self.strategy, run, self.clusters.clone(), rollout);
        if !run.view.resource_snapshots.contains(&snapshot) {
            run.view.resource_snapshots.push(snapshot);
        }
        self.runs.push(run);
    }

    /// Returns the bindings of a target's placement.
    fn bindings_of(&mut self, target: TargetId) -> &mut Bindings {
        &mut self.bindings[self.strategy.updates.placement_of(target.index())]
    }

    /// Notifies all runs of changed bindings in their placements.
    fn observe(&mut self) {
        for (placement, bindings) in self.bindings.iter_mut().enumerate() {
            if bindings.changed().is_empty() {
                continue;
            }
            for run in &mut self.runs {
                if run.described.placement != placement {
                    continue;
                }
                for cluster in bindings.changed().iter() {
                    run.changed.insert(cluster);
                }
            }
            bindings.clear_changed();
        }
    }

    /// Starts the release: people create the runs whose snapshot exists.
    fn release(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.runtime.start();
        // People's delays count from the time of the release's snapshot.
        let begin = now
            + self
                .strategy
                .delay
                .draw(&self.rollout.streams, "hub".into(), "snapshot delay", 0);
        for (number, run) in self.runs.iter().enumerate() {
            for &(after, state) in &run.described.states {
                self.runtime
                    .step(begin + after, PersonStep::SetState(number, state), plane);
            }
        }
    }

    fn step(&mut self, step: PersonStep) {
        let (PersonStep::SetState(number, _) | PersonStep::Approve(number, _)) = step;
        let run = &mut self.runs[number];
        run.pending -= 1;
        let changes = match step {
            PersonStep::SetState(_, state) => run.set_state(state),
            PersonStep::Approve(_, approval) => run.approved(&approval),
        };
        if changes {
            self.runtime.add(number);
        }
    }

    fn person(&mut self, change: &Change, now: SimTime, plane: &mut Plane<'_>) {
        match change {
            Change::Stop(_) | Change::Approve { .. } => {
                for (number, run) in self.runs.iter_mut().enumerate() {
                    if run.person(change) {
                        self.runtime.add(number);
                    }
                }
            }
            // The scheduler changes a binding, which does not wake any run.
            Change::Selected(target, false) => {
                if let Some(binding) = self.bindings_of(*target).get_mut(*target) {
                    binding.unschedule();
                }
            }
            Change::Selected(_, true) => {}
            Change::Labels(cluster, labels) => {
                let member = &mut self.clusters[cluster.index()];
                member.labels = member_labels(&member.name, labels);
                for run in &mut self.runs {
                    run.scheduler.set_clusters(self.clusters.clone());
                }
            }
            Change::Release(snapshot) => self.release_again(*snapshot, now, plane),
            // Neither change wakes a run. An initialized run uses its snapshot of the strategy, and looks up its
            // placement in its next pass.
            Change::Edited(fields) => {
                let spec = edited_strategy(fields).expect("an edit is checked with the experiment");
                self.set_strategy(Some(&spec));
            }
            Change::Deleted(RolloutObject::Strategy) => self.set_strategy(None),
            Change::Deleted(RolloutObject::Placement | RolloutObject::ApplicationSet) => {}
        }
    }

    /// Deletes all placements with their bindings. Each run fails in its next pass.
    fn delete_placements(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        for run in &mut self.runs {
            run.view.placement = None;
        }
        let mut at = now;
        for bindings in &mut self.bindings {
            at = self.generator.delete_all(bindings, at, plane);
        }
    }

    /// Which clusters have lost their workloads, if the placements are deleted.
    fn removal(&self) -> Option<String> {
        if !self.generator.is_placement_deleted() {
            return None;
        }
        let updates = &self.strategy.updates;
        let mut left = Vec::new();
        let mut picked = 0;
        for (index, cluster) in self.clusters.iter().enumerate() {
            if updates.is_unpicked(index) {
                continue;
            }
            picked += 1;
            let bindings = &self.bindings[updates.placement_of(index)];
            if bindings.get(TargetId(index as u32)).is_some() {
                left.push(cluster.name.clone());
            }
        }
        let removed = picked - left.len();
        let mut text = format!(
            "the placement is deleted, and {removed} of {} have lost their workloads",
            counted(picked, "cluster")
        );
        if !left.is_empty() {
            let names = first_names(&left);
            text.push_str(&format!("; the hub does not reach the others: {names}"));
        }
        Some(text)
    }

    /// Replaces or removes the strategy's object.
    fn set_strategy(&mut self, strategy: Option<&StrategySpec>) {
        for run in &mut self.runs {
            run.scheduler.set_strategy(strategy.cloned());
        }
    }

    fn reconcile(&mut self, number: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.observe();
        let mut unavailable = 0;
        for bindings in &mut self.bindings {
            unavailable += bindings.count_unavailable() as u64;
        }
        plane.begin_pass(unavailable);
        if self.too_large.is_some() {
            self.runtime.end_pass(number, now, 0, false, plane);
            return;
        }
        let run = &mut self.runs[number];
        let bindings = &mut self.bindings[run.described.placement];
        let PassEnd {
            end,
            approvals,
            is_new,
            next,
        } = run.reconcile(now, bindings, &mut self.generator, plane);
        for (approval, given) in approvals {
            self.runtime
                .step(given, PersonStep::Approve(number, approval), plane);
        }
        if is_new {
            self.limiter.again(number, end);
        }
        if let Some(at) = self.limiter.requeue(number, end, next) {
            self.runtime.add_at(number, at, plane);
        }
        self.is_dirty = false;
        let is_over = self.runs.iter().all(|run| run.scheduler.status().is_over());
        let mut last_runs = self.runs[self.first_run..].iter();
        let completes =
            is_over && last_runs.any(|run| run.scheduler.status().succeeded() == Some(true));
        self.runtime.end_pass(number, end, 0, completes, plane);
    }

    fn effect(&mut self, effect: Effect, plane: &mut Plane<'_>) {
        match effect {
            Effect::Written(_) => {}
            Effect::Status(target, revision, state) => {
                let bindings = self.bindings_of(target);
                self.is_dirty |= members::write_status(bindings, target, revision, state).is_some();
                plane.changed(target);
            }
            Effect::Removed(target) => {
                self.bindings_of(target).remove(target);
                self.is_dirty = true;
                plane.changed(target);
            }
        }
    }

    /// Returns the hold for clusters on which a run has rolled out other resources than those of the last release.
    fn went_back(&self) -> Option<Hold> {
        let mut count = 0;
        for binding in self.bindings.iter().flat_map(Bindings::iter) {
            let is_other = binding
                .snapshot
                .is_some_and(|snapshot| snapshot != self.wanted);
            if is_other && !binding.deleting {
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let text = format!(
            "all runs have ended, and {count} clusters do not have the snapshot of the release"
        );
        Some(Hold::new("resourceSnapshotIndex", text))
    }

    /// Returns the rule that blocks a run. The text names the run if there are several.
    fn hold_of(&self, run: &StagedRun<'_>) -> Option<Hold> {
        let hold = run.hold(&self.bindings[run.described.placement]);
        let clusters = &self.rollout.fleet.world.clusters;
        let mut hold = failed_apply::with_failures(hold, &self.generator, clusters)?;
        if let Some(removal) = self.removal() {
            hold.explanation = format!("{}; {removal}", hold.explanation);
        }
        if self.runs.len() > 1 {
            hold.explanation = format!("run `{}`: {}", run.described.name, hold.explanation);
        }
        Some(hold)
    }
}

impl Controller for StagedController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            ignores_pause: true,
            reports_completion: true,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => self.release(now, plane),
            ControllerInput::Report(report) => self.generator.report(report),
            ControllerInput::Person(Change::Deleted(RolloutObject::Placement)) => {
                self.delete_placements(now, plane);
            }
            ControllerInput::Person(change) => self.person(change, now, plane),
            ControllerInput::Timer(number) => {
                if let Some(step) = self.runtime.due(number, plane) {
                    self.step(step);
                } else if let Some(effect) = self.generator.due(number, now, plane) {
                    self.effect(effect, plane);
                }
            }
            _ => {}
        }
        self.generator.work(now, plane);
        while let Some(number) = self.runtime.take(plane) {
            self.reconcile(number, now, plane);
        }
    }

    fn is_done(&self, target: TargetId) -> bool {
        let placement = self.strategy.updates.placement_of(target.index());
        let is_done = members::is_done(&self.bindings[placement], target, self.wanted);
        if self.strategy.updates.is_unpicked(target.index()) {
            is_done.is_none()
        } else {
            is_done.unwrap_or(false)
        }
    }

    fn hold(&self) -> Option<Hold> {
        if let Some(reason) = &self.too_large {
            return Some(Hold::new("objectSize", reason));
        }
        let existing: Vec<&StagedRun<'_>> = self.runs.iter().filter(|run| run.exists).collect();
        // A failed run is not the reason for a hold while a later run continues.
        let all_over = existing.iter().all(|run| run.scheduler.status().is_over());
        for run in existing {
            if (all_over || !run.scheduler.status().is_over())
                && let Some(hold) = self.hold_of(run)
            {
                return Some(hold);
            }
        }
        if all_over { self.went_back() } else { None }
    }

    fn show(&mut self, log: &mut StatusLog) {
        for run in self.runs.iter().filter(|run| run.exists) {
            log.show(run.scheduler.conditions());
        }
        let updates = &self.strategy.updates;
        let clusters = &self.rollout.fleet.world.clusters;
        for (placement, name) in updates.placements.iter().enumerate() {
            log.show(placement_conditions(name, &self.bindings[placement], None));
            let failed = self.generator.ever_failed();
            let failed = failed.filter(|(index, _)| updates.placement_of(*index) == placement);
            log.show(failed_apply::conditions(name, failed, clusters));
        }
    }

    fn timer_kind(&self, number: u32) -> Option<&'static str> {
        let own = self.runtime.timer_kind(number, |_| "acts of people");
        own.or_else(|| self.generator.timer_kind(number))
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.clusters.len()];
        for run in &self.runs {
            for stage in &run.scheduler.status().stages {
                let prefix = if self.runs.len() == 1 {
                    String::new()
                } else {
                    format!("{}/", run.described.name)
                };
                for cluster in &stage.clusters {
                    add_stage(
                        &mut stages[cluster.target.index()],
                        &format!("{prefix}{}", stage.name),
                    );
                }
            }
        }
        stages
    }

    fn is_idle(&self, _targets: &dyn TargetStates) -> bool {
        self.too_large.is_some()
            || !self.is_dirty
                && !self.runtime.is_busy()
                && self.generator.is_idle()
                && self.runs.iter().all(StagedRun::is_idle)
    }
}
