//! KubeFleet's work generator, which turns a rollout's writes of bindings into work for the clusters.
//!
//! A write of a binding's spec wakes the generator (kubefleet-dev/kubefleet at e160c1cd,
//! `pkg/controllers/workgenerator/controller.go`). Until its cache shows the condition RolloutStarted, which is a
//! second write, it requeues the binding with controller-runtime's rate limiter. Most bindings are requeued twice, so
//! after the first hundred requeues a rollout instructs ten clusters per second. Then the generator writes the Work,
//! which the member agent watches, and the binding's status. A changed status of a Work wakes the generator again.
//!
//! Writes of finalizers and statuses carry the binding's version from the cache, and are rejected if the binding has
//! been written since. Conditions contain the second of their creation, so equal content written in another second is
//! another version. In a first deployment the hub agent has just started: the first read fills its cache of member
//! clusters, and readers check every 100 ms whether it is filled.
//!
//! A snapshot whose manifests equal those of the Work changes only the Work's labels: the binding is Applying until the
//! generator sees the labels, and the agent does nothing (`workHandlerFuncs`, and the predicate in
//! `pkg/controllers/workapplier/controller.go`; read, not recorded).
//!
//! Left out: the second status of a changed Work, which can invalidate a pass's read; all other caches, which a manager
//! fills before its controllers start; writes that exhaust their retries (they count as written here; the product
//! queues them again); and the wait of a binding that is picked again for the `RolloutStarted` of its new generation.
//! The generator's workers, its requeues and the limit of the client are shared by all placements of a run; left out is
//! that the first placement fills the cache of member clusters for the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::control_plane::{ApiClient, Plane, RateLimiter, RetryPolicy, Runtime};
use crate::products::Run;
use crate::rollout::Revision;
use crate::rollout::kubefleet::{Binding, Bindings, WorkState};
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplyFailure, NOTHING, Report, TargetId, WorldSpec};

/// Number of workers of the generator, for all placements: a tenth of the largest fleet times a tenth of the concurrent
/// placements, both 100 by default. Source: `cmd/hubagent/workload/setup.go` and
/// `cmd/hubagent/options/placementmgmt.go`.
const WORKERS: usize = 100;

/// The name of the generator at the hub, and of the hub agent's client.
const NAME: &str = "work generator";

/// The kinds of objects with separate rate limits in the hub agent's client.
pub(super) const BINDINGS: usize = 0;
const WORKS: usize = 1;
pub(super) const RUNS: usize = 2;
pub(super) const APPROVALS: usize = 3;

/// Interval at which a reader checks whether a cache is filled. Source: `syncedPollPeriod` of kubernetes/client-go's
/// `tools/cache/shared_informer.go`.
const CACHE_POLL: SimDuration = SimDuration::from_millis(100);

/// Interval at which the hub checks whether an offline cluster has removed its resources. Guess: runs check every 15
/// s.
const REMOVAL_WAIT: SimDuration = SimDuration::from_secs(15);

/// A change that may affect a rollout's controller.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// A binding's status for this revision is written, and the rollout's controller sees it.
    Status(TargetId, Revision, WorkState),
    /// A binding has a new version.
    Written(TargetId),
    /// The agent has removed the resources of its Work, so the binding no longer exists.
    Removed(TargetId),
}

/// A step of the generator; the comment names its function in `controller.go`.
#[derive(Clone, Copy, Debug)]
enum GeneratorStep {
    /// The caches show a changed spec of a binding, or a changed status of its Work.
    Wake(usize),
    /// The worker processes the binding again.
    LooksAgain(usize),
    /// The write of a new binding's finalizer is answered. The time is that of the cache read (`ensureFinalizer`).
    Finalized(usize, SimTime),
    /// The caches show that a binding is marked for deletion (`handleDelete`).
    Deleted(usize),
    /// A worker sends the status of a binding that it has read (`updateBindingStatusWithRetry`).
    Sends(StatusUpdate),
    /// The status update is answered.
    Answered(StatusUpdate),
    /// The caches show a written status.
    Seen(TargetId),
    /// The hub checks whether a cluster's agent has removed the resources of its Work, and checks again while the
    /// cluster is cut off.
    LooksForRemoval(TargetId),
    Effect(Effect),
}

/// A status update of a binding that is in flight.
#[derive(Clone, Copy, Debug)]
struct StatusUpdate {
    cluster: usize,
    revision: Revision,
    state: WorkState,
    /// The time at which the binding was read from the cache.
    read: SimTime,
    refused: u32,
    /// Whether a worker waits for the answer.
    has_worker: bool,
}

/// The generator's state of one binding.
#[derive(Clone, Copy, Debug, Default)]
struct TrackedBinding {
    /// The revision of the binding's spec.
    spec: Option<Revision>,
    /// The time at which RolloutStarted for this spec is in the API server. [`SimTime::MAX`]: it is not written yet.
    started: Option<SimTime>,
    /// The revision of the binding's Work.
    work: Option<Revision>,
    /// The agent's last report about the Work. A Work from before the rollout is available.
    report: Option<Report>,
    /// The last status: its revision, its state, and the second of its creation.
    status: Option<(Revision, WorkState, u64)>,
    /// The time of the last write of the binding.
    written: Option<SimTime>,
    /// The number of rejected writes of the binding's finalizer.
    refused: u32,
}

/// The times of the writes of a binding by the rollout's controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpecWrite {
    /// The time at which the spec is written.
    pub(super) spec: SimTime,
    /// The time at which RolloutStarted is written to the status. `SimTime::MAX`: not written yet.
    pub(super) started: SimTime,
}

/// Returns the bindings of clusters before the release, when they run the installed revision.
fn bindings_before_release(world: &WorldSpec) -> Vec<TrackedBinding> {
    let mut bindings = Vec::new();
    for (index, cluster) in world.clusters.iter().enumerate() {
        let Some(installed) = world.installed(0, index).filter(|_| cluster.registered) else {
            bindings.push(TrackedBinding::default());
            continue;
        };
        bindings.push(TrackedBinding {
            spec: Some(installed),
            work: Some(installed),
            report: Some(Report {
                target: TargetId(index as u32),
                applied: installed,
                ready: true,
                degraded: false,
                failure: None,
            }),
            status: Some((installed, WorkState::Available, 0)),
            ..TrackedBinding::default()
        });
    }
    bindings
}

/// The work generator of a hub, and the hub agent's client.
pub(super) struct WorkGenerator {
    /// The hub agent's client. The rollout's controller also sends its requests through it.
    pub(super) client: ApiClient,
    pub(super) watch_delay: SimDuration,
    /// Delay from a write of a status until it affects the rollout's controller.
    visible_after: SimDuration,
    runtime: Runtime<usize, GeneratorStep>,
    limiter: RateLimiter<usize>,
    bindings: Vec<TrackedBinding>,
    is_registered: Vec<bool>,
    /// Whether people have deleted the placement, so that clusters lose their resources for good.
    is_placement_deleted: bool,
    /// Clusters whose agents have failed to apply their Work at least once.
    failed: BTreeSet<usize>,
    /// The manifests of snapshots that restore those of an older one. Every other snapshot has its own.
    restored: BTreeMap<Revision, Revision>,
    /// The time at which the cache of member clusters is filled. `None`: the cache has not been read yet.
    members_cached: Option<SimTime>,
}

impl WorkGenerator {
    /// Returns the purpose of a pending timer. `None`: the timer belongs to another controller.
    pub(super) fn timer_kind(&self, number: u32) -> Option<&'static str> {
        self.runtime
            .timer_kind(number, |_| "steps of the work generator")
    }

    /// Creates the generator of a hub whose clusters run the installed revision. It is the hub's second controller;
    /// the first is the rollout's controller. `reads_cache`: the first controller reads bindings from its cache, and
    /// has therefore already read the member clusters.
    pub(super) fn new(run: &Run<'_>, reads_cache: bool) -> Self {
        let world = run.fleet.world;
        let bindings = bindings_before_release(world);
        let mut runtime = Runtime::of_controller(1, run.hub.workers(NAME, WORKERS));
        runtime.start();
        Self {
            client: ApiClient::new(run.control_loop, &run.streams, NAME).of_hub(&run.hub),
            watch_delay: run.control_loop.watch_delay,
            visible_after: if reads_cache {
                run.control_loop.watch_delay
            } else {
                SimDuration::ZERO
            },
            runtime,
            limiter: RateLimiter::controller_default(&run.hub, NAME),
            is_placement_deleted: false,
            is_registered: world
                .clusters
                .iter()
                .map(|cluster| cluster.registered)
                .collect(),
            // Before an update, the hub agent has already deployed to clusters, so its cache is filled.
            members_cached: (reads_cache || bindings.iter().any(|of| of.work.is_some()))
                .then_some(SimTime::ZERO),
            failed: BTreeSet::new(),
            restored: BTreeMap::new(),
            bindings,
        }
    }

    /// Records that a snapshot has the manifests of an older revision.
    pub(super) fn restore(&mut self, snapshot: Revision, manifests: Revision) {
        self.restored.insert(snapshot, manifests);
    }

    /// Returns the revision whose manifests a snapshot has.
    pub(super) fn manifests_of(&self, snapshot: Revision) -> Revision {
        *self.restored.get(&snapshot).unwrap_or(&snapshot)
    }

    /// Records a write of a binding by the rollout's controller, answered at `written`. Later updates based on an
    /// older version are rejected.
    pub(super) fn write_binding(&mut self, cluster: usize, written: SimTime) {
        self.bindings[cluster].written = Some(written);
    }

    /// Records the writes of a binding's spec and its RolloutStarted.
    pub(super) fn write_spec(
        &mut self,
        cluster: usize,
        revision: Revision,
        write: SpecWrite,
        plane: &mut Plane<'_>,
    ) {
        let binding = &mut self.bindings[cluster];
        binding.spec = Some(revision);
        binding.started = Some(write.started);
        binding.written = Some(write.spec);
        let seen = write.spec + self.watch_delay;
        self.runtime.step(seen, GeneratorStep::Wake(cluster), plane);
    }

    /// Records that RolloutStarted of a binding is written at `started`, unless it was written before.
    pub(super) fn write_started(&mut self, cluster: usize, started: SimTime) {
        if self.bindings[cluster].started == Some(SimTime::MAX) {
            self.bindings[cluster].started = Some(started);
        }
    }

    /// Returns the time at which RolloutStarted is written for a binding with a written spec.
    pub(super) fn started(&self, cluster: usize) -> Option<SimTime> {
        self.bindings[cluster]
            .started
            .filter(|started| *started != SimTime::MAX)
    }

    /// Handles a change of a binding's spec by the scheduler: its conditions are written again with the same content.
    pub(super) fn refresh(&mut self, cluster: usize, now: SimTime, plane: &mut Plane<'_>) {
        let binding = self.bindings[cluster];
        if let Some(revision) = binding
            .spec
            .filter(|revision| binding.work == Some(*revision))
        {
            let update = StatusUpdate {
                has_worker: false,
                ..self.status(cluster, revision, now)
            };
            self.runtime.step(now, GeneratorStep::Sends(update), plane);
        }
    }

    /// Removes the state of a binding that no longer exists.
    pub(super) fn forget(&mut self, cluster: usize) {
        self.bindings[cluster] = TrackedBinding::default();
    }

    /// Marks a binding for deletion at `written`.
    pub(super) fn delete(&mut self, cluster: usize, written: SimTime, plane: &mut Plane<'_>) {
        self.bindings[cluster].spec = None;
        self.runtime.step(
            written + self.watch_delay,
            GeneratorStep::Deleted(cluster),
            plane,
        );
    }

    /// Deletes the bindings of a deleted placement one after the other: the scheduler first writes each of them without
    /// its finalizer (`cleanUpAllBindingsFor` in `pkg/scheduler/scheduler.go`). Returns when the last one is deleted.
    pub(super) fn delete_all(
        &mut self,
        bindings: &mut Bindings,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> SimTime {
        self.is_placement_deleted = true;
        let mut targets = Vec::new();
        for binding in bindings.iter() {
            targets.push((binding.target, binding.deleting));
        }
        let mut at = now;
        for (target, is_deleting) in targets {
            at = self.client.in_turn(BINDINGS, at, 1);
            if is_deleting {
                continue;
            }
            at = self.client.in_turn(BINDINGS, at, 1);
            bindings.of_mut(target).for_each(Binding::delete);
            self.delete(target.index(), at, plane);
            plane.changed(target);
        }
        at
    }

    /// Handles a changed status of a binding's Work.
    pub(super) fn report(&mut self, report: Report) {
        self.bindings[report.target.index()].report = Some(report);
        if report.failure.is_some() {
            self.failed.insert(report.target.index());
        }
        self.runtime.add(report.target.index());
    }

    /// The clusters whose agents could not apply their Work, by the last status of the binding.
    pub(super) fn failed_works(&self) -> impl Iterator<Item = (usize, ApplyFailure)> {
        self.ever_failed()
            .filter_map(|(cluster, failure)| Some((cluster, failure?)))
    }

    /// Returns the clusters whose agents have failed to apply their Work at least once, with the failure that their
    /// binding shows now.
    pub(super) fn ever_failed(&self) -> impl Iterator<Item = (usize, Option<ApplyFailure>)> {
        self.failed.iter().map(|cluster| {
            let binding = &self.bindings[*cluster];
            let is_shown = matches!(binding.status, Some((_, WorkState::ApplyFailed, _)));
            let failure = binding.report.and_then(|report| report.failure);
            let kind = failure.map(|failure| failure.kind);
            (*cluster, kind.filter(|_| is_shown))
        })
    }

    /// Whether people have deleted the placement.
    pub(super) const fn is_placement_deleted(&self) -> bool {
        self.is_placement_deleted
    }

    pub(super) fn is_idle(&self) -> bool {
        self.runtime.is_empty()
    }

    /// Handles a timer. Returns its effect on the rollout's controller, if any.
    pub(super) fn due(
        &mut self,
        number: u32,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> Option<Effect> {
        match self.runtime.due(number, plane)? {
            GeneratorStep::Effect(effect) => return Some(effect),
            GeneratorStep::Wake(cluster) => self.runtime.add(cluster),
            GeneratorStep::LooksAgain(cluster) => self.reconcile(cluster, now, plane),
            GeneratorStep::Finalized(cluster, read) => self.finalized(cluster, read, now, plane),
            GeneratorStep::Deleted(cluster) => self.delete_work(cluster, now, plane),
            GeneratorStep::LooksForRemoval(id) => return self.look_for_removal(id, now, plane),
            GeneratorStep::Sends(update) => self.send(update, now, plane),
            GeneratorStep::Answered(update) => self.answered(update, now, plane),
            GeneratorStep::Seen(target) => plane.changed(target),
        }
        None
    }

    /// Deletes the Work of a binding. The agent sees the deletion and removes the Work's finalizer.
    fn delete_work(&mut self, cluster: usize, now: SimTime, plane: &mut Plane<'_>) {
        let id = TargetId(cluster as u32);
        let deleted = self.client.send(WORKS, now).answered;
        if self.is_placement_deleted {
            plane.withdraw(deleted, id);
        } else {
            plane.instruct(deleted, id, NOTHING);
        }
        let removed = deleted + self.watch_delay + self.client.latency() + self.watch_delay;
        self.runtime
            .step(removed, GeneratorStep::LooksForRemoval(id), plane);
    }

    /// Removes the binding if the agent has had the chance to remove the resources of its Work. Otherwise the hub
    /// checks again later.
    fn look_for_removal(
        &mut self,
        id: TargetId,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> Option<Effect> {
        let is_reached = plane.targets.is_online(id) && self.is_registered[id.index()];
        let has_pods = self.is_placement_deleted && !plane.targets.is_removed(id);
        if is_reached && !has_pods {
            return Some(Effect::Removed(id));
        }
        if is_reached || plane.targets.is_repair_due(id) {
            let again = now + REMOVAL_WAIT;
            self.runtime
                .step(again, GeneratorStep::LooksForRemoval(id), plane);
        }
        None
    }

    /// Assigns waiting bindings to free workers.
    pub(super) fn work(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        while let Some(cluster) = self.runtime.take(plane) {
            self.reconcile(cluster, now, plane);
        }
    }

    /// Processes a binding in a worker.
    fn reconcile(&mut self, cluster: usize, now: SimTime, plane: &mut Plane<'_>) {
        let binding = self.bindings[cluster];
        if binding.spec.is_none() {
            self.runtime.done(cluster);
            return;
        }
        let full = *self
            .members_cached
            .get_or_insert_with(|| now + self.client.latency());
        if full > now {
            self.runtime
                .step(now + CACHE_POLL, GeneratorStep::LooksAgain(cluster), plane);
        } else if binding.work.is_none() {
            // A new binding gets its finalizer. The answer contains the binding as it is in the API server.
            let answered = self.client.send(BINDINGS, now).answered;
            self.runtime
                .step(answered, GeneratorStep::Finalized(cluster, now), plane);
        } else {
            // A read at the instant at which a write reaches the cache does not see the write.
            let is_started = match binding.started {
                None => true,
                Some(SimTime::MAX) => false,
                Some(started) => started + self.watch_delay < now,
            };
            self.synchronize(cluster, is_started, now, plane);
        }
    }

    /// Writes the finalizer of a new binding, unless the binding was written after the read.
    fn finalized(&mut self, cluster: usize, read: SimTime, now: SimTime, plane: &mut Plane<'_>) {
        let binding = &mut self.bindings[cluster];
        let is_refused = binding
            .started
            .is_some_and(|started| self.client.is_conflict(read, now, started));
        if is_refused && binding.refused + 1 < RetryPolicy::BACKOFF.tries {
            let wait = self.client.wait(RetryPolicy::BACKOFF, binding.refused);
            binding.refused += 1;
            self.runtime
                .step(now + wait, GeneratorStep::LooksAgain(cluster), plane);
            return;
        }
        binding.refused = 0;
        let is_started = binding.started.is_none_or(|started| started <= now);
        self.synchronize(cluster, is_started, now, plane);
    }

    /// Processes a binding that has its finalizer.
    fn synchronize(
        &mut self,
        cluster: usize,
        is_started: bool,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let binding = &mut self.bindings[cluster];
        match binding.spec {
            None => self.runtime.done(cluster),
            Some(_) if !is_started => {
                let again = self.limiter.again(cluster, now);
                self.runtime.add_at(cluster, again, plane);
                self.runtime.done(cluster);
            }
            Some(revision) if binding.work == Some(revision) => {
                self.limiter.forget(cluster);
                let update = self.status(cluster, revision, now);
                self.send(update, now, plane);
            }
            Some(revision) => {
                self.limiter.forget(cluster);
                self.write_work(cluster, revision, now, plane);
            }
        }
    }

    /// Writes the Work of a binding, and then the binding's status.
    fn write_work(
        &mut self,
        cluster: usize,
        revision: Revision,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let written = self.client.send(WORKS, now).answered;
        let before = self.bindings[cluster].work.replace(revision);
        let manifests = self.manifests_of(revision);
        if before.map(|snapshot| self.manifests_of(snapshot)) != Some(manifests) {
            self.bindings[cluster].report = None;
            if self.is_registered[cluster] {
                plane.instruct(written, TargetId(cluster as u32), manifests);
            }
        }
        if before.is_some() {
            // A change of the snapshot in an existing Work wakes the generator; the creation of a Work does not.
            let seen = written + self.watch_delay;
            self.runtime.step(seen, GeneratorStep::Wake(cluster), plane);
        }
        let update = StatusUpdate {
            state: WorkState::Applying,
            ..self.status(cluster, revision, now)
        };
        self.runtime
            .step(written, GeneratorStep::Sends(update), plane);
    }

    /// Returns a status update for a binding that a worker reads now.
    fn status(&self, cluster: usize, revision: Revision, now: SimTime) -> StatusUpdate {
        let binding = &self.bindings[cluster];
        let manifests = self.manifests_of(revision);
        // A report of the failure of other manifests is one of the Work before its last write, which says nothing about
        // the written one: the generator reads conditions of the Work's generation only.
        let state = match binding.report {
            Some(Report {
                failure: Some(failure),
                ..
            }) if failure.tried() == manifests => WorkState::ApplyFailed,
            Some(Report {
                failure: Some(_), ..
            }) => WorkState::Applying,
            Some(report) if report.applied == manifests && report.ready => WorkState::Available,
            Some(report) if report.applied == manifests => WorkState::Unavailable,
            _ => WorkState::Applying,
        };
        StatusUpdate {
            cluster,
            revision,
            state,
            read: now,
            refused: 0,
            has_worker: true,
        }
    }

    fn send(&mut self, update: StatusUpdate, now: SimTime, plane: &mut Plane<'_>) {
        let answered = self.client.send(BINDINGS, now).answered;
        self.runtime
            .step(answered, GeneratorStep::Answered(update), plane);
    }

    /// Writes a binding's status, unless the binding was written after the read. In that case the binding is read
    /// again, the first time immediately (`updateBindingStatusWithRetry`).
    fn answered(&mut self, update: StatusUpdate, now: SimTime, plane: &mut Plane<'_>) {
        let StatusUpdate {
            cluster,
            revision,
            state,
            read,
            refused,
            has_worker,
        } = update;
        let binding = &mut self.bindings[cluster];
        let is_refused = binding
            .written
            .is_some_and(|written| self.client.is_conflict(read, now, written));
        if is_refused && refused < RetryPolicy::BACKOFF.tries {
            let wait = match refused {
                0 => SimDuration::ZERO,
                _ => self.client.wait(RetryPolicy::BACKOFF, refused - 1),
            };
            let again = StatusUpdate {
                read: now + wait,
                refused: refused + 1,
                ..update
            };
            self.runtime
                .step(now + wait, GeneratorStep::Sends(again), plane);
            return;
        }
        let id = TargetId(cluster as u32);
        let status = Some((revision, state, now.as_nanos() / 1_000_000_000));
        if std::mem::replace(&mut binding.status, status) != status {
            binding.written = Some(now);
            let written = GeneratorStep::Effect(Effect::Written(id));
            self.runtime.step(now, written, plane);
        }
        let status = GeneratorStep::Effect(Effect::Status(id, revision, state));
        self.runtime.step(now + self.visible_after, status, plane);
        let seen = now + self.watch_delay;
        self.runtime.step(seen, GeneratorStep::Seen(id), plane);
        if has_worker {
            self.runtime.done(cluster);
        }
    }
}
