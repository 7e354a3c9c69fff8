//! KubeFleet's work generator: it stands between a rollout's writes to bindings and the clusters.
//!
//! A write of a binding's spec wakes it (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/workgenerator/
//! controller.go`). As long as RolloutStarted, a second write, is not in its cache, it puts the binding back into its
//! queue. That queue's limiter is controller-runtime's default: the larger of a back-off from 5 ms that doubles for each
//! binding, and one bucket of 10 a second (burst 100) for the whole controller. It is a race that most bindings lose
//! twice, so a rollout instructs ten clusters a second after its first hundred requeues. Then the generator writes the
//! Work, which the member agent watches, and the binding's status. A changed status of a Work wakes it again.
//!
//! Left out: the limit of the hub agent's client, which the generator shares with the rollout's controllers, and the
//! finalizer of a binding's first Work where it meets a conflict.

use std::collections::BTreeMap;

use crate::engine::{Reservations, Stream, Streams};
use crate::products::ControlLoop;
use crate::rollout::Revision;
use crate::rollout::kubefleet::WorkState;
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, DurationModel, Report};

/// The queue's bucket: requeues a second, and its size. Source: `DefaultTypedControllerRateLimiter` of
/// kubernetes/client-go, which controller-runtime v0.22.4 uses where a controller sets none.
const REQUEUES_PER_SECOND: f64 = 10.0;
const REQUEUE_BURST: u32 = 100;

/// The queue's back-off for one binding: the first wait, which doubles, and the longest one. Source: as above.
const FIRST_WAIT: SimDuration = SimDuration::from_millis(5);
const LONGEST_WAIT: SimDuration = SimDuration::from_secs(1_000);

/// How often the hub looks whether a cluster that was cut off has removed its resources. Guess: runs look every 15 s.
const REMOVAL_WAIT: SimDuration = SimDuration::from_secs(15);

/// What the generator does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Effect {
    /// A Work is written: the cluster's agent is instructed.
    Instruct(ClusterId, Revision),
    /// The status of a binding to this revision is written, and the rollout's controller sees it.
    Status(ClusterId, Revision, WorkState),
    /// A Work is deleted: the cluster's agent removes the resources.
    Remove(ClusterId),
    /// The agent has had time to do so. Then the binding is gone.
    Gone(ClusterId),
    /// A written status has reached the caches.
    Seen(ClusterId),
    /// Something that the rollout's controller watches has changed.
    Wake,
}

#[derive(Clone, Copy, Debug)]
enum GeneratorStep {
    Look(usize),
    Requeued(usize),
    Deleted(usize),
    Does(Effect),
}

/// What the generator knows of one binding.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    /// What the binding's spec says.
    revision: Option<Revision>,
    /// From when on RolloutStarted of this spec is in the API server.
    started: Option<SimTime>,
    /// The revision of its Work.
    work: Option<Revision>,
    /// What the Work's status says.
    report: Option<Report>,
    failures: u32,
    timer: Option<SimTime>,
}

/// The work generator with the bindings of one placement.
pub(super) struct WorkGenerator {
    request: DurationModel,
    watch_delay: SimDuration,
    /// From a write of a status until the rollout's controller takes it into account.
    visible_after: SimDuration,
    draws: Stream,
    limiter: Reservations,
    items: Vec<Item>,
    agenda: BTreeMap<(SimTime, usize), GeneratorStep>,
    scheduled: usize,
}

impl WorkGenerator {
    /// A generator whose Works say what is given.
    pub(super) fn new(
        timing: &ControlLoop,
        visible_after: SimDuration,
        streams: Streams,
        works: impl Iterator<Item = Option<Revision>>,
    ) -> Self {
        Self {
            request: timing.request.clone(),
            watch_delay: timing.watch_delay,
            visible_after,
            draws: streams.stream("controller", "work generator"),
            limiter: Reservations::new(REQUEUES_PER_SECOND, REQUEUE_BURST),
            items: works.map(|work| Item { revision: work, work, ..Item::default() }).collect(),
            agenda: BTreeMap::new(),
            scheduled: 0,
        }
    }

    fn schedule(&mut self, at: SimTime, step: GeneratorStep) {
        self.agenda.insert((at, self.scheduled), step);
        self.scheduled += 1;
    }

    /// One more wake-up of the rollout's controller.
    pub(super) fn wake(&mut self, written: SimTime) {
        self.schedule(written + self.watch_delay, GeneratorStep::Does(Effect::Wake));
    }

    /// A binding's status is written at this time.
    pub(super) fn seen(&mut self, cluster: ClusterId, written: SimTime) {
        self.schedule(written + self.watch_delay, GeneratorStep::Does(Effect::Seen(cluster)));
    }

    /// A binding's spec is written, and then its RolloutStarted.
    pub(super) fn rolled(&mut self, cluster: usize, revision: Revision, spec: SimTime, started: SimTime) {
        let item = &mut self.items[cluster];
        (item.revision, item.started) = (Some(revision), Some(started));
        self.schedule(spec + self.watch_delay, GeneratorStep::Look(cluster));
    }

    /// A binding is marked for deletion.
    pub(super) fn deleted(&mut self, cluster: usize, written: SimTime) {
        self.items[cluster].revision = None;
        self.schedule(written + self.watch_delay, GeneratorStep::Deleted(cluster));
    }

    /// The agent of a cluster whose Work was deleted cannot be reached.
    pub(super) fn waits_for(&mut self, cluster: ClusterId, now: SimTime) {
        self.schedule(now + REMOVAL_WAIT, GeneratorStep::Does(Effect::Gone(cluster)));
    }

    /// The status of a binding's Work has changed.
    pub(super) fn reported(&mut self, report: Report, now: SimTime) {
        let cluster = report.cluster.index();
        self.items[cluster].report = Some(report);
        self.schedule(now, GeneratorStep::Look(cluster));
    }

    pub(super) fn next(&self) -> Option<SimTime> {
        self.agenda.keys().next().map(|&(at, _)| at)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.agenda.is_empty()
    }

    /// The next effect until now. `None`: there is none yet.
    pub(super) fn advance(&mut self, now: SimTime) -> Option<Effect> {
        loop {
            let entry = self.agenda.first_entry().filter(|entry| entry.key().0 <= now)?;
            let at = entry.key().0;
            match entry.remove() {
                GeneratorStep::Does(effect) => return Some(effect),
                GeneratorStep::Look(cluster) => self.look(cluster, at),
                GeneratorStep::Deleted(cluster) => {
                    // The Work is deleted; its agent hears of that, and takes its finalizer away.
                    let id = ClusterId(cluster as u32);
                    let deleted = at + self.request.sample(&mut self.draws);
                    let removed = deleted + self.watch_delay + self.request.sample(&mut self.draws);
                    self.schedule(deleted, GeneratorStep::Does(Effect::Remove(id)));
                    self.schedule(removed + self.watch_delay, GeneratorStep::Does(Effect::Gone(id)));
                }
                GeneratorStep::Requeued(cluster) => {
                    if self.items[cluster].timer.take_if(|timer| *timer <= at).is_some() {
                        self.look(cluster, at);
                    }
                }
            }
        }
    }

    /// Statuses that are written until `listed`: a list from the API server contains them.
    pub(super) fn statuses_until(&mut self, listed: SimTime) -> Vec<(SimTime, Effect)> {
        let is_status = |step: &GeneratorStep| matches!(step, GeneratorStep::Does(Effect::Status(..)));
        let keys: Vec<(SimTime, usize)> = self
            .agenda
            .range(..=(listed, usize::MAX))
            .filter(|(_, step)| is_status(step))
            .map(|(key, _)| *key)
            .collect();
        let effects = keys.into_iter().filter_map(|key| match self.agenda.remove(&key) {
            Some(GeneratorStep::Does(effect)) => Some((key.0, effect)),
            _ => None,
        });
        effects.collect()
    }

    fn look(&mut self, cluster: usize, now: SimTime) {
        let item = self.items[cluster];
        let Some(revision) = item.revision else { return };
        let mut now = now;
        // The finalizer of a new binding: the answer shows the binding as it is in the API server.
        let is_new = item.work.is_none();
        if is_new {
            now = now + self.request.sample(&mut self.draws);
        }
        let lag = if is_new { SimDuration::ZERO } else { self.watch_delay };
        let is_started = item.started.is_none_or(|started| if is_new { started <= now } else { started + lag < now });
        if !is_started {
            self.requeue(cluster, now);
            return;
        }
        self.items[cluster].failures = 0;
        let id = ClusterId(cluster as u32);
        if item.work != Some(revision) {
            let written = now + self.request.sample(&mut self.draws);
            let status = written + self.request.sample(&mut self.draws);
            self.items[cluster].work = Some(revision);
            self.items[cluster].report = None;
            self.schedule(written, GeneratorStep::Does(Effect::Instruct(id, revision)));
            self.status(id, revision, WorkState::Applying, status);
        } else if let Some(report) = item.report.filter(|report| report.applied == revision) {
            let status = now + self.request.sample(&mut self.draws);
            let state = if report.ready { WorkState::Available } else { WorkState::Unavailable };
            self.status(id, revision, state, status);
        }
    }

    fn status(&mut self, cluster: ClusterId, revision: Revision, state: WorkState, written: SimTime) {
        self.schedule(written + self.visible_after, GeneratorStep::Does(Effect::Status(cluster, revision, state)));
    }

    fn requeue(&mut self, cluster: usize, now: SimTime) {
        let turn = self.limiter.reserve(now);
        let item = &mut self.items[cluster];
        let wait = (FIRST_WAIT * (1 << item.failures.min(18))).min(LONGEST_WAIT);
        item.failures += 1;
        let at = turn.max(now + wait);
        // The queue keeps the earliest timer of a binding.
        if item.timer.is_none_or(|timer| at < timer) {
            item.timer = Some(at);
            self.schedule(at, GeneratorStep::Requeued(cluster));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{NEW, OLD};

    #[test]
    fn after_a_hundred_requeues_ten_clusters_a_second_are_instructed() {
        let timing = ControlLoop {
            request: SimDuration::from_millis(5).into(),
            watch_delay: SimDuration::from_millis(5),
            ..ControlLoop::kubernetes()
        };
        let millis = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let works = std::iter::repeat_n(Some(OLD), 125);
        let mut generator = WorkGenerator::new(&timing, SimDuration::ZERO, Streams::new(1, 0), works);
        for cluster in 0..125 {
            generator.rolled(cluster, NEW, millis(20), millis(25));
        }
        let mut instructed = Vec::new();
        while let Some(at) = generator.next() {
            while let Some(effect) = generator.advance(at) {
                if let Effect::Instruct(cluster, _) = effect {
                    instructed.push((at, cluster.index()));
                }
            }
        }
        // All look at 25 ms and find no RolloutStarted. A hundred tokens let the first hundred look at 30 ms, when the
        // status is just on its way, and the others every 0.1 s from 125 ms on; a Work takes 5 ms more. The first
        // hundred need a second token each, and get theirs after these: the recorded rollout of 500 clusters does so.
        assert_eq!(instructed[0], (millis(130), 100));
        assert_eq!(instructed[24], (millis(2_530), 124));
        assert_eq!(instructed[25], (millis(2_630), 0));
        assert_eq!(instructed.len(), 125);
    }
}
