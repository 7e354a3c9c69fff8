//! KubeFleet's work generator: it stands between a rollout's writes to bindings and the clusters.
//!
//! A write of a binding's spec wakes it (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/workgenerator/
//! controller.go`). As long as RolloutStarted, a second write, is not in its cache, it puts the binding back into its
//! queue. That queue's limiter is controller-runtime's default: the larger of a back-off from 5 ms that doubles for
//! each binding, and one bucket of 10 a second (burst 100) for the whole controller. It is a race that most bindings
//! lose twice, so a rollout instructs ten clusters a second after its first hundred requeues. Timers of that queue that
//! go off at one instant have the order of its heap ([`super::requeues`]). Then the generator writes
//! the Work, which the member agent watches, and the binding's status. A changed status of a Work wakes it again.
//!
//! The hub agent's client has a limit for each kind of object, which the generator shares with the rolling update: both
//! write bindings. The finalizer of a new binding is refused if its status was written since the cache was read, and is
//! tried again after 10 ms. A status of a binding is refused for the same reason, and is sent again at once. Conditions
//! carry the second in which they were made, so the same words in another second are another version. One worker
//! at a time is at a binding: what wakes the generator meanwhile has it look again afterwards, often before the cache
//! shows what it has just written. In a first deployment the hub agent has just started, and has no member clusters in
//! its cache. Left out: the limit that staged runs share, whose requests are few.

mod pass_writes;

use std::collections::{BTreeMap, VecDeque};

use super::hub_client::{HubClient, HubKind, INSTANT, RETRIES};
use super::requeues::Requeues;
use super::status_write::{Saying, StatusWrite};
use crate::engine::{Reservations, Streams};
use crate::products::ControlLoop;
use crate::rollout::Revision;
use crate::rollout::kubefleet::WorkState;
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, Report};

/// Workers of the generator: a tenth of the largest fleet times a tenth of the concurrent placements, both 100 by
/// default. Source: `cmd/hubagent/workload/setup.go` and `cmd/hubagent/options/placementmgmt.go`.
const WORKERS: usize = 100;

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
    /// The rollout's controller writes a binding: the spec, or for `None` its deletion.
    Rolled(ClusterId, Option<Revision>),
    /// The rollout's controller writes a binding's RolloutStarted, which was another one before.
    Marked(ClusterId),
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
    /// A binding's status is written with another content, which need not mean anything else to the rollout.
    Reworded(ClusterId),
    /// Something that the rollout's controller watches has changed.
    Wake,
}

#[derive(Clone, Copy, Debug)]
enum GeneratorStep {
    Look(usize),
    /// The worker that is at a binding looks at it again.
    LooksAgain(usize),
    /// A worker is done with a binding.
    Finished(usize),
    Deleted(usize),
    /// The finalizer of a new binding is answered that the generator had looked at then.
    Finalized {
        cluster: usize,
        looked: SimTime,
    },
    /// The rollout's controller has the answer to the write of a spec, or of a deletion.
    Rolled(usize, Option<Revision>),
    /// The Work of a binding is sent, by a look that began then.
    WritesWork(usize, Revision, SimTime),
    /// The status of a binding is sent.
    Sends(StatusWrite),
    /// It is answered.
    Answered(StatusWrite),
    Does(Effect),
}

/// When a step is due. A timer goes off before the events of its instant, and other steps keep their order.
type Turn = (SimTime, bool, usize);

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
    /// It waits for a worker.
    waits: bool,
    /// A worker is at it, and must look again when it is done.
    is_taken: bool,
    is_dirty: bool,
    /// The generator's last words in its status, and when anybody last changed that.
    says: Option<Saying>,
    written: Option<SimTime>,
    /// How often the write of its finalizer was refused.
    refused: u32,
    /// The step in which its spec or its deletion is written.
    rolls: Option<Turn>,
    /// Its Work is older than the rollout, and what it says is available.
    was_installed: bool,
}

impl Item {
    /// A binding as it is before the rollout.
    fn installed(work: Option<Revision>) -> Self {
        let says = work.map(|revision| (revision, WorkState::Available, false, None));
        Self { revision: work, work, says, was_installed: work.is_some(), ..Self::default() }
    }
}

/// The work generator with the bindings of one placement.
pub(super) struct WorkGenerator {
    client: HubClient,
    watch_delay: SimDuration,
    /// From a write of a status until the rollout's controller takes it into account.
    visible_after: SimDuration,
    limiter: Reservations,
    /// Timers of bindings that were put back.
    requeues: Requeues,
    /// Workers that are at a binding, and bindings that wait for one.
    busy: usize,
    waiting: VecDeque<usize>,
    items: Vec<Item>,
    agenda: BTreeMap<Turn, GeneratorStep>,
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
        let items: Vec<Item> = works.map(Item::installed).collect();
        Self {
            // Before an update, the hub agent has put something into clusters.
            client: HubClient::new(timing, streams, items.iter().any(|item| item.was_installed)),
            watch_delay: timing.watch_delay,
            visible_after,
            limiter: Reservations::new(REQUEUES_PER_SECOND, REQUEUE_BURST),
            requeues: Requeues::default(),
            busy: 0,
            waiting: VecDeque::new(),
            items,
            agenda: BTreeMap::new(),
            scheduled: 0,
        }
    }

    fn schedule(&mut self, at: SimTime, step: GeneratorStep) {
        let is_timer = matches!(step, GeneratorStep::LooksAgain(_));
        self.agenda.insert((at, !is_timer, self.scheduled), step);
        self.scheduled += 1;
    }

    /// The run has read the member clusters before.
    pub(super) fn with_members(mut self) -> Self {
        self.client.has_members();
        self
    }

    /// One more wake-up of the rollout's controller, which is due now.
    pub(super) fn wake_now(&mut self, now: SimTime) {
        self.schedule(now, GeneratorStep::Does(Effect::Wake));
    }

    /// One more wake-up of the rollout's controller.
    pub(super) fn wake(&mut self, written: SimTime) {
        self.schedule(written + self.watch_delay, GeneratorStep::Does(Effect::Wake));
    }

    /// A binding's status is written at this time.
    pub(super) fn seen(&mut self, cluster: ClusterId, written: SimTime) {
        self.schedule(written + self.watch_delay, GeneratorStep::Does(Effect::Seen(cluster)));
    }

    /// The rollout's controller reads or writes a binding now. Returns when it has the answer.
    pub(super) fn answer(&mut self, now: SimTime) -> SimTime {
        self.client.answer(HubKind::Binding, now)
    }

    /// A binding's spec is written, and then its RolloutStarted.
    pub(super) fn rolled(&mut self, cluster: usize, revision: Revision, spec: SimTime, started: SimTime) {
        let item = &mut self.items[cluster];
        (item.revision, item.started) = (Some(revision), Some(started));
        self.schedule(spec + self.watch_delay, GeneratorStep::Look(cluster));
    }

    /// The scheduler has changed a binding's spec: its conditions are written anew, with the same content.
    pub(super) fn refresh(&mut self, cluster: usize, now: SimTime) {
        let item = self.items[cluster];
        let Some(revision) = item.revision.filter(|revision| item.work == Some(*revision)) else { return };
        let state = match item.report.filter(|report| report.applied == revision) {
            Some(report) if report.ready => WorkState::Available,
            Some(_) => WorkState::Unavailable,
            None if item.was_installed => WorkState::Available,
            None => WorkState::Applying,
        };
        // The rollout's pass starts at the same event, and lists first.
        let status = StatusWrite { has_worker: false, ..StatusWrite::new(cluster, revision, state, now) };
        self.schedule(now, GeneratorStep::Sends(status));
    }

    /// A binding is gone.
    pub(super) fn forgets(&mut self, cluster: usize) {
        // A write on its way is still carried out.
        let Item { rolls, waits, is_taken, is_dirty, .. } = self.items[cluster];
        self.items[cluster] = Item { rolls, waits, is_taken, is_dirty, ..Item::default() };
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
        let written = SimTime::from_nanos(now.as_nanos().saturating_sub(self.watch_delay.as_nanos()));
        let late = self.client.admits(written).since(written);
        self.schedule(now + late, GeneratorStep::Look(cluster));
    }

    pub(super) fn next(&self) -> Option<SimTime> {
        self.agenda.keys().next().map(|&(at, ..)| at).into_iter().chain(self.requeues.next()).min()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.agenda.is_empty() && self.requeues.next().is_none()
    }

    /// The next effect until now. `None`: there is none yet.
    pub(super) fn advance(&mut self, now: SimTime) -> Option<Effect> {
        loop {
            let first = self.agenda.first_entry().filter(|entry| entry.key().0 <= now);
            let due = first.as_ref().map_or(now, |entry| entry.key().0);
            // Timers go off before the events of their instant.
            let timers = self.requeues.due(due);
            if !timers.is_empty() {
                timers.into_iter().for_each(|(at, cluster)| self.take_up(cluster, at));
                continue;
            }
            let entry = first?;
            let at = due;
            let (key, step) = entry.remove_entry();
            match step {
                GeneratorStep::Does(effect) => return Some(effect),
                GeneratorStep::Look(cluster) => self.take_up(cluster, at),
                GeneratorStep::LooksAgain(cluster) => self.look(cluster, at),
                GeneratorStep::Finished(cluster) => self.finished(cluster, at),
                GeneratorStep::Deleted(cluster) => {
                    // The Work is deleted; its agent hears of that, and takes its finalizer away.
                    let id = ClusterId(cluster as u32);
                    let deleted = self.client.answer(HubKind::Work, at);
                    let removed = deleted + self.watch_delay + self.client.latency();
                    self.schedule(deleted, GeneratorStep::Does(Effect::Remove(id)));
                    self.schedule(removed + self.watch_delay, GeneratorStep::Does(Effect::Gone(id)));
                }
                GeneratorStep::Finalized { cluster, looked } => self.finalized(cluster, looked, at),
                GeneratorStep::Rolled(cluster, revision) => {
                    self.items[cluster].rolls.take_if(|rolls| *rolls == key);
                    return Some(Effect::Rolled(ClusterId(cluster as u32), revision));
                }
                GeneratorStep::WritesWork(cluster, revision, looked) => self.write_work(cluster, revision, looked, at),
                GeneratorStep::Sends(write) => self.send(write, at),
                GeneratorStep::Answered(write) => self.answered(write, at),
            }
        }
    }

    /// A free worker looks at a binding; otherwise the binding waits for one. No two workers are at one binding.
    fn take_up(&mut self, cluster: usize, now: SimTime) {
        let item = &mut self.items[cluster];
        if item.is_taken {
            item.is_dirty = true;
        } else if self.busy < WORKERS {
            item.is_taken = true;
            self.busy += 1;
            self.look(cluster, now);
        } else if !std::mem::replace(&mut item.waits, true) {
            self.waiting.push_back(cluster);
        }
    }

    /// A worker is free again, and takes up the next binding.
    fn finished(&mut self, cluster: usize, now: SimTime) {
        self.busy -= 1;
        let item = &mut self.items[cluster];
        item.is_taken = false;
        if std::mem::take(&mut item.is_dirty) && !std::mem::replace(&mut item.waits, true) {
            self.waiting.push_back(cluster);
        }
        if let Some(next) = self.waiting.pop_front() {
            self.items[next].waits = false;
            self.take_up(next, now);
        }
    }

    fn look(&mut self, cluster: usize, now: SimTime) {
        let item = self.items[cluster];
        if item.revision.is_none() {
            self.schedule(now, GeneratorStep::Finished(cluster));
            return;
        }
        if let Some(wait) = self.client.read_member(now) {
            self.schedule(now + wait, GeneratorStep::LooksAgain(cluster));
            return;
        }
        if item.work.is_none() {
            // The finalizer of a new binding: the answer shows the binding as it is in the API server.
            let answered = self.client.answer(HubKind::Binding, now);
            self.schedule(answered, GeneratorStep::Finalized { cluster, looked: now });
        } else {
            let is_started = match item.started {
                Some(SimTime::MAX) => false,
                Some(started) => started + self.watch_delay < now,
                None => true,
            };
            self.go_on(cluster, is_started, now);
        }
    }

    /// The finalizer of a new binding is written, unless its status was written after the cache had been read.
    fn finalized(&mut self, cluster: usize, looked: SimTime, now: SimTime) {
        let item = &mut self.items[cluster];
        let started = item.started.filter(|started| *started <= now);
        let is_refused = started.is_some_and(|started| started + self.watch_delay > looked);
        if is_refused && item.refused < RETRIES {
            item.refused += 1;
            let refused = item.refused;
            let wait = self.client.retry_wait(refused);
            self.schedule(now + wait, GeneratorStep::LooksAgain(cluster));
            return;
        }
        item.refused = 0;
        let is_started = item.started.is_none() || started.is_some();
        self.go_on(cluster, is_started, now);
    }

    /// What a look does when the binding has its finalizer.
    fn go_on(&mut self, cluster: usize, is_started: bool, now: SimTime) {
        let item = self.items[cluster];
        match item.revision {
            Some(_) if !is_started => {
                self.requeue(cluster, now);
                self.schedule(now, GeneratorStep::Finished(cluster));
            }
            Some(revision) if item.work != Some(revision) => {
                // A pass that begins at this instant lists first.
                self.schedule(now + INSTANT, GeneratorStep::WritesWork(cluster, revision, now));
            }
            Some(revision) => {
                self.items[cluster].failures = 0;
                let (state, is_later) = match item.report.filter(|report| report.applied == revision) {
                    Some(report) if report.ready => (WorkState::Available, false),
                    Some(_) => (WorkState::Unavailable, false),
                    None if item.was_installed => (WorkState::Available, false),
                    None => (WorkState::Applying, true),
                };
                self.send(StatusWrite::new(cluster, revision, state, now).later(is_later), now);
            }
            None => self.schedule(now, GeneratorStep::Finished(cluster)),
        }
    }

    /// The Work of a binding is written, and then the binding's status.
    fn write_work(&mut self, cluster: usize, revision: Revision, looked: SimTime, now: SimTime) {
        let written = self.client.answer(HubKind::Work, now);
        let item = &mut self.items[cluster];
        item.failures = 0;
        let was_there = item.work.is_some();
        (item.work, item.report, item.was_installed) = (Some(revision), None, false);
        let instruct = Effect::Instruct(ClusterId(cluster as u32), revision);
        self.schedule(written, GeneratorStep::Does(instruct));
        if was_there {
            // The Work says another snapshot now, which wakes the generator. A new Work does not.
            self.schedule(written + self.watch_delay, GeneratorStep::Look(cluster));
        }
        let status = StatusWrite::new(cluster, revision, WorkState::Applying, looked);
        self.schedule(written, GeneratorStep::Sends(status));
    }

    /// A binding's status is sent.
    fn send(&mut self, write: StatusWrite, now: SimTime) {
        let answered = self.client.answer(HubKind::Binding, now);
        self.schedule(answered, GeneratorStep::Answered(write.sent(now)));
    }

    /// A binding's status is written, unless another one was since the binding had been read. Then it is read anew.
    fn answered(&mut self, write: StatusWrite, now: SimTime) {
        let StatusWrite { cluster, revision, state, read, refused, has_worker, .. } = write;
        let item = &mut self.items[cluster];
        if item.written.is_some_and(|written| written + self.watch_delay > read) && refused <= RETRIES {
            let wait = self.client.retry_wait(refused);
            let again = StatusWrite { read: now + wait, refused: refused + 1, ..write };
            self.schedule(now + wait, GeneratorStep::Sends(again));
            return;
        }
        let says = write.says();
        if item.says.replace(says) != Some(says) {
            item.written = Some(now);
            self.schedule(now, GeneratorStep::Does(Effect::Reworded(ClusterId(cluster as u32))));
        }
        let effect = Effect::Status(ClusterId(cluster as u32), revision, state);
        self.schedule(now + self.visible_after, GeneratorStep::Does(effect));
        if has_worker {
            self.schedule(now, GeneratorStep::Finished(cluster));
        }
    }

    fn requeue(&mut self, cluster: usize, now: SimTime) {
        let turn = self.limiter.reserve(now);
        let item = &mut self.items[cluster];
        let wait = (FIRST_WAIT * (1 << item.failures.min(18))).min(LONGEST_WAIT);
        item.failures += 1;
        let at = turn.max(now + wait);
        self.requeues.insert(cluster, at);
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
                    // Requests of one instant are nanoseconds apart.
                    instructed.push((SimTime::from_nanos(at.as_nanos() / 1_000 * 1_000), cluster.index()));
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
