//! One process of the application controller, with the resources that comparisons and syncs wait for.
//!
//! A comparison waits for a status processor. An attempt of an operation waits for an operation processor, then for
//! its API requests and for the CPU, and, if it has something to apply, for a free slot among the concurrent applies.
//! It keeps its processor throughout. The requests of an attempt all precede its apply, and attempts send theirs one
//! after another. Interleaving the requests would give the same rate, because each attempt begins when another ends.

use std::collections::VecDeque;

use super::settings::{ApplicationControllerSettings, Sharding};
use crate::control_plane::{ApiClient, ControlLoop, WorkerPool};
use crate::engine::{Streams, dist};
use crate::units::{SimDuration, SimTime};

/// Returns the shard of a cluster, given its index in the fleet and its name.
pub(super) fn shard_of(
    settings: &ApplicationControllerSettings,
    luck: &Streams,
    index: usize,
    name: &str,
) -> usize {
    let shards = settings.shards as usize;
    match settings.sharding {
        Sharding::RoundRobin => index % shards,
        Sharding::Legacy => {
            let place = dist::unit(&mut luck.stream(name, "argocd shard")) * shards as f64;
            (place as usize).min(shards - 1)
        }
    }
}

/// A fixed number of slots for applications, assigned in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Places {
    size: u32,
    pub(super) taken: u32,
    pub(super) waiting: VecDeque<usize>,
}

impl Places {
    const fn new(size: u32) -> Self {
        Self {
            size,
            taken: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Returns the next application that gets a slot, if one is free.
    pub(super) fn next(&mut self) -> Option<usize> {
        let next = if self.taken < self.size {
            self.waiting.pop_front()
        } else {
            None
        };
        self.taken += u32::from(next.is_some());
        next
    }
}

/// One process of the application controller.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    settings: ApplicationControllerSettings,
    /// The status processors.
    comparers: WorkerPool,
    /// The operation processors.
    pub(super) operations: Places,
    /// The shard's API client. Its latencies are part of the durations of comparisons and applies.
    client: ApiClient,
    /// The time at which the CPU is free for another sync.
    cpu: SimTime,
    /// The attempts that are applying, and those that hold a processor and wait to apply.
    applying: Places,
}

impl Shard {
    pub(super) fn new(settings: ApplicationControllerSettings, streams: &Streams) -> Self {
        let request = SimDuration::ZERO.into();
        let client = ControlLoop {
            request,
            ..ControlLoop::limited(settings.client_qps, settings.burst())
        };
        Self {
            settings,
            comparers: WorkerPool::new(settings.status_processors as usize),
            operations: Places::new(settings.operation_processors),
            client: ApiClient::new(&client, streams, "application-controller"),
            cpu: SimTime::ZERO,
            applying: Places::new(settings.kubectl_parallelism),
        }
    }

    /// Returns the end of a comparison that is requested now.
    pub(super) fn compare(&mut self, now: SimTime) -> SimTime {
        self.comparers.work(now, self.settings.comparison)
    }

    /// Returns the time at which the requests and the computation of an attempt are complete if the attempt begins
    /// now.
    pub(super) fn sync(&mut self, now: SimTime) -> SimTime {
        self.cpu = self.cpu.max(now)
            + SimDuration::from_secs_f64(1.0 / self.settings.syncs_per_second.get());
        self.send_requests(now).max(self.cpu)
    }

    /// Sends the requests of an attempt that begins now. Returns the time of the last one.
    pub(super) fn send_requests(&mut self, now: SimTime) -> SimTime {
        let requests = self.settings.requests_per_sync;
        (0..requests)
            .map(|_| self.client.send(0, now).sent)
            .last()
            .unwrap_or(now)
    }

    /// Returns whether this attempt may apply now. Otherwise a later call of [`Self::applied`] returns it.
    pub(super) fn apply(&mut self, application: usize) -> bool {
        self.applying.waiting.push_back(application);
        // While a slot is free, no attempt waits, so this one gets it.
        self.applying.next().is_some()
    }

    /// Handles the end of an apply. Returns the next attempt to get its slot.
    pub(super) fn applied(&mut self) -> Option<usize> {
        self.applying.taken -= 1;
        self.applying.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_sync_waits_for_requests_and_for_the_cpu() {
        let settings = ApplicationControllerSettings {
            client_qps: 60,
            ..ApplicationControllerSettings::default()
        };
        let mut shard = Shard::new(settings, &Streams::new(1, 0));
        let times: Vec<SimTime> = (0..20).map(|_| shard.sync(at(0))).collect();
        let seconds = |nth: usize| times[nth].as_secs_f64();
        // The burst of 120 requests covers the first 10 syncs, and the CPU handles 15 syncs per second.
        assert!((seconds(9) - 10.0 / 15.0).abs() < 1e-6, "{}", seconds(9));
        // The last 10 syncs need another 120 requests.
        assert!((seconds(19) - 2.0).abs() < 1e-6, "{}", seconds(19));
    }

    #[test]
    fn comparisons_wait_for_a_status_processor() {
        let settings = ApplicationControllerSettings {
            status_processors: 2,
            ..Default::default()
        };
        let mut shard = Shard::new(settings, &Streams::new(1, 0));
        let ends: Vec<SimTime> = (0..4).map(|_| shard.compare(at(0))).collect();
        assert_eq!(ends, [at(200), at(200), at(400), at(400)]);
        assert_eq!(shard.compare(at(1000)), at(1200), "all are free again");
    }

    #[test]
    fn a_waiting_sync_starts_when_another_sync_has_applied() {
        let settings = ApplicationControllerSettings {
            kubectl_parallelism: 1,
            ..Default::default()
        };
        let mut shard = Shard::new(settings, &Streams::new(1, 0));
        assert!(shard.apply(7));
        assert!(!shard.apply(8));
        assert_eq!(shard.applied(), Some(8));
        assert_eq!(shard.applied(), None);
        assert!(shard.apply(9));
    }

    #[test]
    fn round_robin_shards_differ_by_one_cluster_and_hashed_shards_by_more() {
        let luck = Streams::new(1, 0);
        let loads = |sharding| {
            let settings = ApplicationControllerSettings {
                shards: 10,
                sharding,
                ..Default::default()
            };
            let mut loads = [0; 10];
            for index in 0..500 {
                loads[shard_of(&settings, &luck, index, &format!("store-{index}"))] += 1;
            }
            loads
        };
        assert_eq!(loads(Sharding::RoundRobin), [50; 10]);
        let hashed = loads(Sharding::Legacy);
        assert_eq!(hashed.iter().sum::<usize>(), 500);
        assert!(
            (55..80).contains(hashed.iter().max().expect("ten")),
            "{hashed:?}"
        );
        assert!(
            (20..45).contains(hashed.iter().min().expect("ten")),
            "{hashed:?}"
        );
    }
}
