//! The processors that all processes of the application controller share (`applicationController.cpu`).
//!
//! Modelled: processor sharing. A process computes one sync after another. Alone, it ends `syncsPerSecond` of them in a
//! second, for which it takes `cpuPerSync` · `syncsPerSecond` cores. If the processes that have work would take more
//! cores than there are, each gets an equal share. So n syncs take at least n · `cpuPerSync` / `cpu`, however many
//! processes there are. The syncs of all sets of a run share the processors. The set whose sync ends next has the timer
//! for it, and wakes the other sets of which syncs end at that time.
//!
//! Evidence: CNOE's benchmark of ten shards on nodes of 8 vCPU (2023). `tests/suite/validation/argo_cd.rs` compares it.
//!
//! Left out: comparisons and the repo server, whose work is part of `cpuPerSync`, because the benchmark counts them
//! together; deletions; other programs on the nodes; and several nodes of which only some are full.

use std::collections::{BTreeSet, VecDeque};

use super::settings::ApplicationControllerSettings;
use crate::control_plane::PendingWork;
use crate::units::{SimDuration, SimTime};
use crate::world::ApplicationId;

/// An application of a set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct SyncedApplication {
    pub(super) set: ApplicationId,
    /// The index in the set.
    pub(super) index: usize,
}

/// A sync that a process has to compute.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ComputedSync {
    pub(super) of: SyncedApplication,
    /// The time at which the client has sent the last request of the sync.
    pub(super) sent: SimTime,
}

/// The end of the next sync, if none is added or removed before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NextSyncEnd {
    pub(super) at: SimTime,
    /// The set of its application.
    pub(super) set: ApplicationId,
}

/// The shared processors, with the syncs that they have to compute.
#[derive(Clone, Debug)]
pub(super) struct HubCpu {
    /// The number of cores.
    cores: f64,
    /// The number of cores that one process takes if it gets all that it can use.
    most_of_one: f64,
    /// The work of a sync, as the time of one core.
    work: SimDuration,
    /// The syncs of each process. It computes the first one.
    queues: Vec<VecDeque<ComputedSync>>,
    /// The processes with work, by the state of the clock at which the first sync of each ends.
    ends: BTreeSet<(SimTime, usize)>,
    /// The work that a process with work has done since the start. All of them advance together.
    clock: SimTime,
    /// The time to which the clock belongs.
    at: SimTime,
    /// The syncs that have ended, and that their sets have not taken yet.
    ended: Vec<ComputedSync>,
    /// The next end for which a set has a timer, or was woken to set one.
    announced: Option<NextSyncEnd>,
}

impl HubCpu {
    /// Returns the processors. `None`: the processes share none, or can never use all of them.
    pub(super) fn new(settings: &ApplicationControllerSettings) -> Option<Self> {
        let cores = settings.cpu?.get();
        let most_of_one = settings.cores_of_a_process();
        if cores >= most_of_one * f64::from(settings.shards) {
            return None;
        }
        Some(Self {
            cores,
            most_of_one,
            work: settings.cpu_per_sync,
            queues: vec![VecDeque::new(); settings.shards as usize],
            ends: BTreeSet::new(),
            clock: SimTime::ZERO,
            at: SimTime::ZERO,
            ended: Vec::new(),
            announced: None,
        })
    }

    /// Returns the cores of each process with work.
    fn cores_each(&self) -> f64 {
        (self.cores / self.ends.len() as f64).min(self.most_of_one)
    }

    /// Advances the clock to this time, but not beyond the next end, which belongs to a timer.
    fn advance(&mut self, now: SimTime) {
        if let Some(&(next, _)) = self.ends.first() {
            let done = (now - self.at).mul_f64(self.cores_each());
            self.clock = (self.clock + done).min(next);
        }
        self.at = now;
    }

    /// Adds a sync to the work of a process.
    pub(super) fn begin(&mut self, process: usize, sync: ComputedSync, now: SimTime) {
        self.advance(now);
        self.queues[process].push_back(sync);
        if self.queues[process].len() == 1 {
            self.ends.insert((self.clock + self.work, process));
        }
    }

    /// Removes the sync of an application that is deleted.
    pub(super) fn forget(&mut self, process: usize, gone: SyncedApplication, now: SimTime) {
        self.advance(now);
        self.ended.retain(|sync| sync.of != gone);
        let first = self.queues[process].front().copied();
        self.queues[process].retain(|sync| sync.of != gone);
        if first.is_some_and(|sync| sync.of == gone) {
            self.ends.retain(|(_, other)| *other != process);
            self.begin_next(process);
        }
    }

    /// Begins the next sync of a process, if there is one.
    fn begin_next(&mut self, process: usize) {
        if !self.queues[process].is_empty() {
            self.ends.insert((self.clock + self.work, process));
        }
    }

    /// Returns the end of the next sync if none is added or removed. `None`: there is no work.
    pub(super) fn next_end(&self) -> Option<NextSyncEnd> {
        let &(next, process) = self.ends.first()?;
        let first = self.queues[process].front()?;
        Some(NextSyncEnd {
            at: self.at + (next - self.clock).mul_f64(1.0 / self.cores_each()),
            set: first.of.set,
        })
    }

    /// Stores the next end, of which its set is about to know. Returns whether it did not know.
    pub(super) fn announce(&mut self, next: Option<NextSyncEnd>) -> bool {
        std::mem::replace(&mut self.announced, next) != next
    }

    /// Ends the syncs that end now. Nothing happens before [`Self::next_end`].
    pub(super) fn end_due(&mut self, now: SimTime) {
        let is_due = self.next_end().is_some_and(|next| next.at <= now);
        let Some(&(next, _)) = self.ends.first().filter(|_| is_due) else {
            return;
        };
        self.at = now;
        // The rounding of times to nanoseconds must not leave a rest.
        self.clock = next;
        while let Some(&(end, process)) = self.ends.first()
            && end <= self.clock
        {
            self.ends.pop_first();
            self.ended.extend(self.queues[process].pop_front());
            self.begin_next(process);
        }
    }

    /// Removes and returns the ended syncs of a set.
    pub(super) fn take_ended(&mut self, set: ApplicationId) -> Vec<ComputedSync> {
        self.ended
            .extract_if(.., |sync| sync.of.set == set)
            .collect()
    }

    /// Returns the sets that have ended syncs.
    pub(super) fn sets_with_ended(&self) -> BTreeSet<ApplicationId> {
        self.ended.iter().map(|sync| sync.of.set).collect()
    }
}

impl PendingWork for HubCpu {
    /// Returns whether syncs of a set are computed, or have ended and were not taken yet.
    fn has_work_of(&self, set: ApplicationId) -> bool {
        let mut computed = self.queues.iter().flatten().chain(&self.ended);
        computed.any(|sync| sync.of.set == set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Factor;

    const fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    /// Processes that take a core each, with syncs of one second.
    fn settings(shards: u32, cpu: f64) -> ApplicationControllerSettings {
        ApplicationControllerSettings {
            shards,
            cpu: Some(Factor::new(cpu)),
            cpu_per_sync: SimDuration::from_secs(1),
            syncs_per_second: Factor::new(1.0),
            ..ApplicationControllerSettings::default()
        }
    }

    fn hub(shards: u32, cpu: f64) -> HubCpu {
        HubCpu::new(&settings(shards, cpu)).expect("the processes share the cores")
    }

    const SET: ApplicationId = ApplicationId(0);

    const fn of(index: usize) -> SyncedApplication {
        SyncedApplication { set: SET, index }
    }

    const fn sync(application: usize) -> ComputedSync {
        ComputedSync {
            of: of(application),
            sent: SimTime::ZERO,
        }
    }

    /// The ends of all syncs, in milliseconds, by application.
    fn ends(hub: &mut HubCpu) -> Vec<(u64, usize)> {
        let mut ends = Vec::new();
        while let Some(next) = hub.next_end() {
            hub.end_due(next.at);
            for sync in hub.take_ended(SET) {
                let millis = (next.at.as_secs_f64() * 1000.0).round() as u64;
                ends.push((millis, sync.of.index));
            }
        }
        ends
    }

    #[test]
    fn processes_with_work_share_the_cores_equally() {
        let mut hub = hub(3, 1.0);
        hub.begin(0, sync(0), at(0));
        hub.begin(1, sync(1), at(500));
        // Alone until 0.5 s; then each has half a core: 0 ends at 1.5 s, and 1, which is alone again, at 2 s.
        assert_eq!(ends(&mut hub), [(1500, 0), (2000, 1)]);
    }

    #[test]
    fn a_process_computes_its_syncs_one_by_one_and_takes_no_more_than_it_can_use() {
        let mut hub = hub(2, 1.5);
        for application in [0, 1] {
            hub.begin(0, sync(application), at(0));
        }
        assert_eq!(ends(&mut hub), [(1000, 0), (2000, 1)], "one of 1.5 cores");
    }

    #[test]
    fn the_cores_bound_all_processes_together() {
        for shards in [2, 5, 10] {
            let mut hub = hub(shards, 1.0);
            for application in 0..20 {
                hub.begin(application % shards as usize, sync(application), at(0));
            }
            let last = ends(&mut hub).last().copied();
            assert_eq!(last.map(|(end, _)| end), Some(20_000), "{shards} shards");
        }
    }

    #[test]
    fn a_deleted_application_leaves_its_share_to_the_others() {
        let mut hub = hub(2, 1.0);
        hub.begin(0, sync(0), at(0));
        hub.begin(0, sync(1), at(0));
        hub.begin(1, sync(2), at(0));
        // Each process has done half of a sync at 1 s. Then 1 begins in the place of 0.
        hub.forget(0, of(0), at(1000));
        assert_eq!(ends(&mut hub), [(2000, 2), (2500, 1)]);
    }

    #[test]
    fn a_set_takes_its_own_syncs_and_knows_when_the_next_of_another_ends() {
        let mut hub = hub(2, 1.0);
        let mut other = sync(5);
        other.of.set = ApplicationId(1);
        hub.begin(0, sync(0), at(0));
        let alone = hub.next_end().expect("there is work");
        assert_eq!(
            alone,
            NextSyncEnd {
                at: at(1000),
                set: SET
            }
        );
        assert!(hub.announce(Some(alone)));
        hub.begin(1, other, at(0));
        let both = hub.next_end().expect("there is work");
        assert_eq!(
            both,
            NextSyncEnd {
                at: at(2000),
                set: SET
            }
        );
        assert!(hub.announce(Some(both)));
        assert!(!hub.announce(Some(both)), "it knows");
        hub.end_due(at(1000));
        assert_eq!(hub.sets_with_ended(), BTreeSet::new(), "it is too early");
        hub.end_due(at(2000));
        assert_eq!(hub.sets_with_ended(), [SET, ApplicationId(1)].into());
        assert_eq!(hub.take_ended(ApplicationId(1)), [other]);
        assert!(hub.has_work_of(SET) && !hub.has_work_of(ApplicationId(1)));
    }

    #[test]
    fn cores_that_the_processes_can_never_use_up_are_no_limit() {
        assert!(HubCpu::new(&settings(4, 4.0)).is_none());
        assert!(HubCpu::new(&settings(4, 3.9)).is_some());
        let unlimited = ApplicationControllerSettings {
            cpu: None,
            ..settings(4, 1.0)
        };
        assert!(HubCpu::new(&unlimited).is_none());
    }
}
