//! The actions that a controller may take: set timers, instruct clusters, and report what it did.

use super::clusters::Clusters;
use crate::engine::EventId;
use crate::process::ProcessError;
use crate::results::PassRow;
use crate::rollout::Revision;
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, ClusterSpec, DriverEvent, Event, NEW, NOTHING, Queue};

/// The control plane as a controller acts on it, at one instant.
pub struct Plane<'a> {
    /// The clusters, with what the management cluster can ask about them.
    pub clusters: &'a mut dyn Clusters,
    pub(super) queue: &'a mut Queue,
    pub(super) record: &'a mut Record,
}

/// The record of a controller's actions so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Its pending timers.
    pub(super) timers: usize,
    /// Reports and instructions on their way.
    pub(super) in_flight: usize,
    pub(super) passes: Vec<PassRow>,
    /// The revision that each cluster was last promoted to.
    pub(super) promoted: Vec<Option<Revision>>,
    /// The revisions that each cluster was ever promoted to, as bits.
    pub(super) ever_promoted: Vec<u32>,
    /// First promotions of a cluster to a revision. Going back and forth between revisions does not count as progress.
    pub(super) first_promotions: u64,
    /// Clusters whose state the controller sees differently since the last input.
    pub(super) changed: Vec<ClusterId>,
    /// When it waited for a person, in any order.
    pub(super) pauses: Vec<(SimTime, SimTime)>,
    /// When a timed wait of the strategy went on at the same time, in any order.
    pub(super) timed_waits: Vec<(SimTime, SimTime)>,
    /// When it first reported completion.
    pub(super) reported: Option<SimTime>,
    /// The acts of people that a run follows. `None`: they are those of its own models.
    pub(super) seen_acts: Option<SeenActs>,
    pub(super) failure: Option<ProcessError>,
    /// Its objects may show something else since the last input.
    pub(super) shows: bool,
}

impl Record {
    /// A pass promotes a cluster.
    fn note_promotion(&mut self, cluster: ClusterId, revision: Revision) {
        let Revision(number) = revision;
        let bit = 1 << number.min(u32::BITS - 1);
        let ever = &mut self.ever_promoted[cluster.index()];
        if *ever & bit == 0 {
            *ever |= bit;
            self.first_promotions += 1;
        }
    }
}

/// The acts of people that the export of a rollout in progress shows.
#[derive(Clone, Debug)]
pub struct SeenActs {
    /// The time at which the rollout was seen.
    pub now: SimTime,
    /// Acts that people had made by then, at least.
    pub made: usize,
    /// When each target was instructed, or `now` for an unknown time before that. `None`: it was not instructed.
    pub began: Vec<Option<SimTime>>,
}

impl SeenActs {
    /// When the `nth` act is made, from 0, that is asked for at `asked`, while targets were `promoted`.
    ///
    /// A target that was seen further than the run is shows that the act was made before it was instructed. An act
    /// that was not seen is made after now.
    fn time(
        &self,
        nth: usize,
        asked: SimTime,
        own: Option<SimTime>,
        promoted: &[Option<Revision>],
    ) -> Option<SimTime> {
        let left = self
            .began
            .iter()
            .zip(promoted)
            .filter(|(_, promoted)| **promoted != Some(NEW));
        let began = left.filter_map(|(began, _)| *began).min();
        match began.or((nth < self.made).then_some(self.now)) {
            Some(at) if at < self.now => Some(at.max(asked)),
            Some(_) => Some(asked),
            // An act at the very instant would count as seen.
            None => own.map(|at| at.max(self.now + SimDuration::from_millis(1))),
        }
    }
}

impl std::fmt::Debug for Plane<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plane")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl Plane<'_> {
    /// The present time.
    pub fn now(&self) -> SimTime {
        self.queue.now()
    }

    /// Sets a timer; a time that is past means now. The number comes back in [`super::ControllerInput::Timer`].
    pub fn timer(&mut self, at: SimTime, number: u32) -> EventId {
        self.record.timers += 1;
        self.queue.schedule(
            at.max(self.queue.now()),
            Event::Driver(DriverEvent::Timer(number)),
        )
    }

    /// Removes a timer that has not gone off.
    pub fn cancel(&mut self, timer: EventId) {
        self.record.timers -= usize::from(self.queue.cancel(timer).is_some());
    }

    /// A write that instructs a cluster's agent takes effect at `at`; [`NOTHING`] removes what the cluster runs.
    pub fn instruct(&mut self, at: SimTime, cluster: ClusterId, revision: Revision) {
        if at > self.queue.now() {
            self.record.in_flight += 1;
            self.queue
                .schedule(at, Event::Driver(DriverEvent::Instruct(cluster, revision)));
        } else if revision == NOTHING {
            self.clusters.remove(cluster, self.queue);
        } else {
            self.clusters.instruct(cluster, revision, self.queue);
        }
    }

    /// A write that pauses a cluster's deployment, or resumes it, takes effect at `at`.
    pub fn pause(&mut self, at: SimTime, cluster: ClusterId, is_paused: bool) {
        if at > self.queue.now() {
            self.record.in_flight += 1;
            self.queue
                .schedule(at, Event::Driver(DriverEvent::Pause(cluster, is_paused)));
        } else {
            self.clusters.pause(cluster, is_paused, self.queue);
        }
    }

    /// A pass decides that a cluster gets a revision, and instructs it at `at`. A cluster that is paused or has no
    /// agent never hears of it.
    pub fn deploy(
        &mut self,
        at: SimTime,
        spec: &ClusterSpec,
        cluster: ClusterId,
        revision: Revision,
    ) {
        if spec.registered && !spec.paused {
            self.promote(cluster, revision);
            self.instruct(at, cluster, revision);
        }
    }

    /// A cluster's agent is instructed now to remove what it runs.
    pub fn remove(&mut self, cluster: ClusterId) {
        self.instruct(self.now(), cluster, NOTHING);
    }

    /// The management cluster itself applies a revision in a cluster now; one that is offline never hears of it.
    pub fn push(&mut self, cluster: ClusterId, revision: Revision) {
        self.clusters.push(cluster, revision, self.queue);
    }

    /// The management cluster breaks off an apply that would fail, and hears nothing of it.
    pub fn break_off(&mut self, cluster: ClusterId) {
        self.clusters.break_off(cluster, self.queue);
    }

    /// A pass begins.
    pub fn begin_pass(&mut self, unavailable: u64) {
        let t_s = self.now().as_secs_f64();
        self.record.passes.push(PassRow {
            t_s,
            passes: 1,
            duration_s: 0.0,
            created: 0,
            promoted: 0,
            unavailable,
        });
    }

    /// The last pass that began continues until `end`, and creates objects. A pass that continues after the last
    /// target was ready has been recorded.
    pub fn pass_until(&mut self, end: SimTime, created: u64) {
        if let Some(pass) = self.record.passes.last_mut() {
            pass.duration_s = end.as_secs_f64() - pass.t_s;
            pass.created += created;
        }
    }

    /// A pass decides that a cluster gets a revision, which counts once for each cluster and revision.
    pub fn promote(&mut self, cluster: ClusterId, revision: Revision) {
        let before = self.record.promoted[cluster.index()].replace(revision);
        self.record.note_promotion(cluster, revision);
        if before != Some(revision)
            && let Some(pass) = self.record.passes.last_mut()
        {
            pass.promoted += 1;
        }
    }

    /// The passes so far. A process reports its own.
    pub fn passes(&mut self) -> &mut Vec<PassRow> {
        &mut self.record.passes
    }

    /// [`super::Controller::is_done`] of a cluster may have another answer now.
    pub fn changed(&mut self, cluster: ClusterId) {
        self.record.changed.push(cluster);
    }

    /// The product's own status says that the rollout of the new revision is complete.
    pub fn reports_completion(&mut self, at: SimTime) {
        self.record.reported.get_or_insert(at);
    }

    /// The rollout waits for a person from `asked` until `given`, by the delays of people in the strategy.
    pub fn waits_for_person(&mut self, asked: SimTime, given: SimTime) {
        self.record.pauses.push((asked, given));
    }

    /// When the person acts that the rollout waits for from `asked` on: at the time of the strategy's own model, unless
    /// the run follows what people did. `None`: never.
    pub fn person_acts(&mut self, asked: SimTime, own: Option<SimTime>) -> Option<SimTime> {
        let Record {
            seen_acts,
            pauses,
            promoted,
            ..
        } = &*self.record;
        let given = match seen_acts {
            Some(acts) => acts.time(pauses.len(), asked, own, promoted),
            None => own,
        };
        given.inspect(|given| self.waits_for_person(asked, *given))
    }

    /// A timed wait of the strategy lasts from `begins` until `ends`, while the rollout also waits for a person.
    pub fn waits_for_time(&mut self, begins: SimTime, ends: SimTime) {
        self.record.timed_waits.push((begins, ends));
    }

    /// The product's objects may show something else now.
    pub fn shows(&mut self) {
        self.record.shows = true;
    }

    /// Whether [`Plane::shows`] was called and the objects were not asked yet.
    pub(super) const fn is_to_show(&self) -> bool {
        self.record.shows
    }

    /// The controller's process has failed: the run ends with this error.
    pub fn fail(&mut self, error: ProcessError) {
        self.record.failure.get_or_insert(error);
    }
}
