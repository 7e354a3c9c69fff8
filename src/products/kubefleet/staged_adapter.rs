//! What the staged update runs of KubeFleet see of the world, and how their decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster with a binding of one placement. One run, or several, update them;
//! all runs of a hub share one worker, so their passes come one after the other (kubefleet-dev/kubefleet at e160c1cd,
//! `pkg/controllers/updaterun/controller.go`). Two runs of one placement write the same bindings: the one that finds a
//! cluster it is updating changed by the other fails. What a binding says of its cluster is in [`super::members`].
//!
//! A cluster that its placement no longer picks has an unscheduled binding, which the delete stage of a run removes.
//! Its member agent then deletes the resources, which a cluster that is offline does when it is back. Left out: what
//! this frees in the cluster.

use super::members::{Members, Unavailable};
use super::runs::UpdateRun;
use super::staged_run::{BindingWrite, StagedRun};
use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetStaged, member_clusters};
use crate::engine::Streams;
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run, StatusLog, Strategy};
use crate::rollout::kubefleet::staged::RunStatus;
use crate::rollout::kubefleet::{Bindings, MemberCluster, RunState, placement_conditions};
use crate::rollout::{Hold, Revision, TargetId};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, ReleaseKind, Report};

/// KubeFleet's controller with staged update runs.
pub(super) struct StagedController<'s> {
    strategy: &'s KubeFleetStaged,
    clusters: Vec<MemberCluster>,
    runs: Vec<StagedRun<'s>>,
    /// The run whose pass was the last one.
    current: usize,
    /// The bindings of each placement; their targets are positions in its list of clusters.
    bindings: Vec<Bindings>,
    /// The clusters of each placement, and of each cluster its placement and its position there.
    picked: Vec<Vec<usize>>,
    places: Vec<(usize, TargetId)>,
    members: Members,
    unavailable: Vec<Unavailable>,
    generator: WorkGenerator,
    /// What the pass in progress writes into bindings.
    unwritten: Vec<BindingWrite>,
    /// When the release was, from which the times of people count.
    released: Option<SimTime>,
    /// Something was reported since the last pass.
    is_news: bool,
    /// What another run is made of.
    release: ReleaseKind,
    streams: Streams,
    watch_delay: SimDuration,
    /// From the release until there is a snapshot of it.
    snapshot_delay: SimDuration,
    /// Why the status of a run cannot be written, so that no run begins.
    too_large: Option<String>,
}

impl<'s> StagedController<'s> {
    pub(super) fn new(strategy: &'s KubeFleetStaged, run: Run<'_>) -> Self {
        let world = run.fleet.world;
        let clusters = member_clusters(&world.clusters);
        let members = Members::new(world);
        let timing = run.control_loop;
        let placements = &strategy.updates.placements;
        let (mut picked, mut places) = (vec![Vec::new(); placements.len()], Vec::with_capacity(clusters.len()));
        for cluster in 0..clusters.len() {
            let of: &mut Vec<usize> = &mut picked[strategy.updates.placement_of(cluster)];
            places.push((strategy.updates.placement_of(cluster), TargetId(of.len() as u32)));
            of.push(cluster);
        }
        let bindings = placements.iter().zip(&picked);
        let mut bindings: Vec<Bindings> =
            bindings.map(|(name, picked)| Members::bindings(world, name, picked.iter().copied())).collect();
        for (cluster, &(placement, target)) in places.iter().enumerate() {
            if strategy.updates.is_unpicked(cluster) {
                bindings[placement].get_mut(target).expect("all have one").unschedule();
            }
        }
        let unavailable = picked.iter().map(|picked| Unavailable::new(picked.len())).collect();
        let run_of = |of: &UpdateRun| {
            let members = picked_from(&clusters, &picked[of.placement]);
            StagedRun::new(strategy, of, members, world.release, run.streams, timing.watch_delay)
        };
        Self {
            strategy,
            runs: strategy.updates.runs.iter().map(run_of).collect(),
            current: 0,
            bindings,
            picked,
            places,
            members,
            unavailable,
            // A run reads bindings from its cache.
            generator: WorkGenerator::new(timing, timing.watch_delay, run.streams, Members::works(world))
                .with_members(),
            unwritten: Vec::new(),
            released: None,
            is_news: false,
            release: world.release,
            streams: run.streams,
            watch_delay: timing.watch_delay,
            snapshot_delay: strategy.snapshot_delay.draw(&run.streams, "hub".into(), "snapshot delay", 0),
            too_large: strategy.object_limit(run.fleet),
            clusters,
        }
    }

    /// Another release: somebody creates a run of it for the first placement.
    fn another_run(&mut self, snapshot: Revision, now: SimTime) {
        let after = self.released.map_or(SimDuration::ZERO, |released| now.saturating_since(released));
        let name = format!("{}-{}", self.strategy.updates.runs[0].name, snapshot.0);
        let run = UpdateRun { name, placement: 0, snapshot, states: vec![(after, RunState::Run)] };
        let clusters = picked_from(&self.clusters, &self.picked[0]);
        let mut run = StagedRun::new(self.strategy, &run, clusters, self.release, self.streams, self.watch_delay);
        run.add_snapshot(snapshot);
        self.runs.push(run);
    }

    /// The bindings of a cluster's placement, and which one is its own.
    fn bindings_of(&mut self, cluster: ClusterId) -> (&mut Bindings, TargetId) {
        let (placement, target) = self.places[cluster.index()];
        (&mut self.bindings[placement], target)
    }

    /// All runs hear which bindings of their placements have changed.
    fn hear(&mut self) {
        let changed = self.bindings.iter_mut().enumerate().filter(|(_, bindings)| !bindings.changed().is_empty());
        for (placement, bindings) in changed {
            self.unavailable[placement].look(bindings);
            let runs = self.runs.iter_mut().filter(|run| run.placement == placement);
            runs.for_each(|run| run.sees(bindings.changed()));
            bindings.clear_changed();
        }
    }

    /// People act on the runs. Returns whether this asks for a pass.
    fn people_act(&mut self, now: SimTime) -> bool {
        let Some(released) = self.released else { return false };
        // All of them, not up to the first.
        self.runs.iter_mut().map(|run| run.act(now, released)).filter(|has_acted| *has_acted).count() > 0
    }

    /// The run whose turn it is; the only one whenever there is a pass.
    fn turn(&self, now: SimTime) -> Option<usize> {
        let runs = self.runs.iter().enumerate();
        match &self.runs[..] {
            [only] => only.exists().then_some(0),
            _ => runs.filter(|(_, run)| run.is_due(now)).min_by_key(|(_, run)| run.wakes()).map(|(index, _)| index),
        }
    }

    /// Clusters that have the resources that were installed before, because a run has rolled them out again.
    fn went_back(&self) -> Option<Hold> {
        let old = self.bindings.iter().flat_map(Bindings::iter);
        let old = old.filter(|binding| binding.snapshot.is_some_and(|snapshot| snapshot != NEW) && !binding.deleting);
        let count = old.count();
        (count > 0).then(|| Hold {
            rule: "resourceSnapshotIndex",
            explanation: format!("all runs have ended, and {count} clusters do not have the snapshot of the release"),
        })
    }
}

/// The clusters of a placement.
fn picked_from(clusters: &[MemberCluster], picked: &[usize]) -> Vec<MemberCluster> {
    picked.iter().map(|cluster| clusters[*cluster].clone()).collect()
}

impl Controller for StagedController<'_> {
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
            Change::Stop(is_stopped) => {
                let state = if *is_stopped { RunState::Stop } else { RunState::Run };
                self.runs.iter_mut().filter(|run| run.exists()).for_each(|run| run.set_state(state, now));
                Some(true)
            }
            Change::Approve { stage, before } => {
                let asked = self.runs.iter_mut().map(|run| run.approve(stage, *before, now));
                Some(asked.filter(|is_asked| *is_asked).count() > 0)
            }
            // The scheduler's change of a binding, which wakes no run.
            Change::Selected(cluster, false) => {
                let (bindings, target) = self.bindings_of(*cluster);
                bindings.get_mut(target)?.unschedule();
                Some(false)
            }
            Change::Labels(cluster, labels) => {
                self.clusters[cluster.index()].labels = labels.clone();
                let (placement, _) = self.places[cluster.index()];
                let clusters = picked_from(&self.clusters, &self.picked[placement]);
                let runs = self.runs.iter_mut().filter(|run| run.placement == placement);
                runs.for_each(|run| run.set_clusters(clusters.clone()));
                Some(false)
            }
            Change::Release(snapshot) => {
                self.another_run(*snapshot, now);
                Some(true)
            }
            Change::Selected(_, true) => None,
        }
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        // People create runs of a snapshot that exists.
        self.released.get_or_insert(now + self.snapshot_delay);
        self.people_act(now);
        self.hear();
        let unavailable = self.unavailable.iter().map(Unavailable::count).sum();
        let mut decision = Decision { unavailable, ..Decision::default() };
        let Some(current) = self.turn(now).filter(|_| self.too_large.is_none()) else { return decision };
        self.current = current;
        let run = &mut self.runs[current];
        self.unwritten = run.decide(now, &mut self.bindings[run.placement], &mut decision);
        let mut statuses = self.runs.iter().map(StagedRun::status);
        let is_over = statuses.clone().all(RunStatus::is_over);
        decision.complete = is_over && statuses.any(|run| run.succeeded == Some(true));
        self.is_news = false;
        decision
    }

    fn answered(&mut self, answers: &[SimTime]) {
        let Some(run) = self.runs.get_mut(self.current) else { return };
        run.answered(answers);
        let picked = &self.picked[run.placement];
        for write in std::mem::take(&mut self.unwritten) {
            match write {
                BindingWrite::Rolled(target, revision, [spec, started]) => {
                    self.generator.rolled(picked[target], revision, answers[spec], answers[started]);
                }
                BindingWrite::Deleted(target, request) => self.generator.deleted(picked[target], answers[request]),
            }
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        let acts = self.released.into_iter().flat_map(|at| self.runs.iter().filter_map(move |run| run.next_act(at)));
        self.generator.next().into_iter().chain(acts).min()
    }

    fn advance(&mut self, now: SimTime, clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened { starts_pass: self.people_act(now), ..Happened::default() };
        while let Some(effect) = self.generator.advance(now) {
            match effect {
                Effect::Instruct(cluster, revision) if self.members.is_registered(cluster) => {
                    happened.instructions.push((cluster, revision));
                }
                Effect::Status(cluster, revision, state) => {
                    let (bindings, target) = self.bindings_of(cluster);
                    self.is_news |= Members::write(bindings, target, revision, state).is_some();
                    happened.changed.push(cluster);
                }
                Effect::Remove(cluster) => happened.removals.push(cluster),
                Effect::Gone(cluster) if clusters.is_online(cluster) && self.members.is_registered(cluster) => {
                    let (bindings, target) = self.bindings_of(cluster);
                    bindings.remove(target);
                    self.is_news = true;
                    happened.changed.push(cluster);
                }
                // The resources are deleted when the cluster is back.
                Effect::Gone(cluster) => {
                    if clusters.is_repair_due(cluster) {
                        self.generator.waits_for(cluster, now);
                    }
                }
                Effect::Rolled(..)
                | Effect::Marked(_)
                | Effect::Instruct(..)
                | Effect::Seen(_)
                | Effect::Reworded(_)
                | Effect::Wake => {}
            }
        }
        happened
    }

    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        if let Some(run) = self.runs.get_mut(self.current) {
            run.pass_ended(end);
        }
        // A run whose status cannot be written is not begun.
        let runs = self.runs.iter().filter(|run| run.exists() && self.too_large.is_none());
        runs.filter_map(StagedRun::wakes).min()
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let (placement, target) = self.places[cluster.index()];
        let bindings = &self.bindings[placement];
        if self.strategy.updates.is_unpicked(cluster.index()) {
            return bindings.get(target).is_none();
        }
        bindings.get(target).is_some() && Members::is_done(bindings, target)
    }

    fn hold(&self) -> Option<Hold> {
        if let Some(reason) = &self.too_large {
            return Some(Hold { rule: "objectSize", explanation: reason.clone() });
        }
        let exist = || self.runs.iter().filter(|run| run.exists());
        let hold_of = |run: &StagedRun<'_>| {
            let mut hold = run.hold(&self.bindings[run.placement])?;
            if self.runs.len() > 1 {
                hold.explanation = format!("run `{}`: {}", run.name(), hold.explanation);
            }
            Some(hold)
        };
        let going = exist().filter(|run| !run.status().is_over()).find_map(hold_of);
        going.or_else(|| exist().find_map(hold_of)).or_else(|| self.went_back())
    }

    fn show(&mut self, log: &mut StatusLog) {
        for run in self.runs.iter().filter(|run| run.exists()) {
            log.show(run.scheduler().conditions());
        }
        for (name, bindings) in self.strategy.updates.placements.iter().zip(&self.bindings) {
            log.show(placement_conditions(name, bindings, None));
        }
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.clusters.len()];
        for run in &self.runs {
            for stage in &run.status().stages {
                for cluster in &stage.clusters {
                    let name = &mut stages[self.picked[run.placement][cluster.target.index()]];
                    if self.runs.len() == 1 {
                        name.clone_from(&stage.name);
                    } else {
                        let separator = if name.is_empty() { "" } else { "; " };
                        name.push_str(&format!("{separator}{}/{}", run.name(), stage.name));
                    }
                }
            }
        }
        stages
    }

    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        let is_stopped = self.too_large.is_some();
        is_stopped || !self.is_news && self.generator.is_idle() && self.runs.iter().all(StagedRun::is_idle)
    }
}
