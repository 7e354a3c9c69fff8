//! One process of the application controller, with the resources that comparisons and syncs wait for.
//!
//! A comparison waits for a status processor. An attempt of an operation waits for an operation processor, then for
//! its API requests and for the CPU, and, if it has something to apply, for a free slot among the concurrent applies.
//! It keeps its processor throughout. The requests of an attempt all precede its apply, and attempts send theirs one
//! after another. Interleaving the requests would give the same rate, because each attempt begins when another ends.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::settings::{ApplicationControllerSettings, Sharding};
use crate::control_plane::{
    ApiClient, ControlLoop, Plane, SharedHub, SharedWorkers, WorkerPool, WorkerTurn,
};
use crate::engine::{Streams, dist};
use crate::units::{SimDuration, SimTime};

/// Returns the shard of a cluster, given its index among the destinations and its name.
fn shard_of(
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

/// The clusters that Argo CD knows, for all sets of a run. All applications of a cluster belong to one shard.
#[derive(Debug)]
pub(super) struct Destinations {
    luck: Streams,
    /// The number of each cluster, in the order in which the sets of the run name them.
    numbers: BTreeMap<String, usize>,
}

impl Destinations {
    /// Returns the destinations of a run. The first set's random streams decide where clusters are.
    pub(super) fn of_hub(hub: &SharedHub, luck: Streams) -> Rc<RefCell<Self>> {
        let none = Self {
            luck,
            numbers: BTreeMap::new(),
        };
        hub.part("destinations", (), none)
    }

    /// Returns the shard of the cluster with this name.
    pub(super) fn shard(&mut self, settings: &ApplicationControllerSettings, name: &str) -> usize {
        let count = self.numbers.len();
        let number = *self.numbers.entry(name.to_owned()).or_insert(count);
        shard_of(settings, &self.luck, number, name)
    }
}

/// A fixed number of slots for the applications of all sets, assigned in order of arrival.
#[derive(Debug)]
pub(super) struct Places {
    slots: SharedWorkers,
    /// The applications of this set that wait for a slot, in order of arrival.
    waiting: VecDeque<usize>,
}

impl Places {
    const fn new(slots: SharedWorkers) -> Self {
        Self {
            slots,
            waiting: VecDeque::new(),
        }
    }

    /// Adds an application to the end of the line.
    pub(super) fn wait(&mut self, application: usize) {
        self.waiting.push_back(application);
        self.slots.join();
    }

    /// Removes an application from the line.
    pub(super) fn forget(&mut self, application: usize) {
        while let Some(place) = self.waiting.iter().position(|other| *other == application) {
            self.waiting.remove(place);
            self.slots.leave(place);
        }
    }

    /// Returns the waiting applications of this set.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().copied()
    }

    /// Returns the next application of this set that gets a slot now. If a slot is free for another set, that set is
    /// woken.
    pub(super) fn next(&mut self, plane: &mut Plane<'_>) -> Option<usize> {
        match self.slots.take() {
            WorkerTurn::Own => self.waiting.pop_front(),
            WorkerTurn::Other(set) => {
                plane.wake(set);
                None
            }
            WorkerTurn::Nobody => None,
        }
    }

    /// Returns the slot of an application.
    pub(super) fn release(&self) {
        self.slots.release();
    }
}

/// One process of the application controller, as one set uses it. All sets share what it has.
#[derive(Debug)]
pub(super) struct Shard {
    settings: ApplicationControllerSettings,
    /// The status processors.
    comparers: WorkerPool,
    /// The operation processors.
    pub(super) operations: Places,
    /// The shard's API client. Its latencies are part of the durations of comparisons and applies.
    client: ApiClient,
    /// The time at which the CPU is free for another sync.
    cpu: Rc<RefCell<SimTime>>,
    /// The attempts that are applying, and those that hold a processor and wait to apply.
    pub(super) applying: Places,
}

impl Shard {
    /// Returns the shard with this number.
    pub(super) fn new(
        number: u32,
        settings: ApplicationControllerSettings,
        streams: &Streams,
        hub: &SharedHub,
    ) -> Self {
        let comparers = format!("status processors of shard {number}");
        let operations = format!("operation processors of shard {number}");
        let process = format!("application controller, shard {number}");
        let applying = format!("kubectl parallelism of shard {number}");
        let operation_processors = settings.operation_processors as usize;
        let parallelism = settings.kubectl_parallelism as usize;
        let request = SimDuration::ZERO.into();
        let client = ControlLoop {
            request,
            ..ControlLoop::limited(settings.client_qps, settings.burst())
        };
        Self {
            settings,
            comparers: WorkerPool::of_hub(hub, &comparers, settings.status_processors as usize),
            operations: Places::new(hub.workers(&operations, operation_processors)),
            client: ApiClient::new(&client, streams, "application-controller")
                .of_process(hub, &process),
            cpu: hub.part(&process, settings.syncs_per_second, SimTime::ZERO),
            applying: Places::new(hub.workers(&applying, parallelism)),
        }
    }

    /// Returns the end of a comparison that is requested now.
    pub(super) fn compare(&mut self, now: SimTime) -> SimTime {
        self.comparers.work(now, self.settings.comparison)
    }

    /// Returns the time at which the requests and the computation of an attempt are complete if the attempt begins
    /// now.
    pub(super) fn sync(&mut self, now: SimTime) -> SimTime {
        let each = SimDuration::from_secs_f64(1.0 / self.settings.syncs_per_second.get());
        let before = *self.cpu.borrow();
        let computed = before.max(now) + each;
        *self.cpu.borrow_mut() = computed;
        self.send_requests(now).max(computed)
    }

    /// Sends the requests of an attempt that begins now. Returns the time of the last one.
    pub(super) fn send_requests(&mut self, now: SimTime) -> SimTime {
        let requests = self.settings.requests_per_sync;
        (0..requests)
            .map(|_| self.client.send(0, now).sent)
            .last()
            .unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ApplicationId;

    fn shard(settings: ApplicationControllerSettings) -> Shard {
        Shard::new(0, settings, &Streams::new(1, 0), &SharedHub::of_run())
    }

    const fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_sync_waits_for_requests_and_for_the_cpu() {
        let settings = ApplicationControllerSettings {
            client_qps: 60,
            ..ApplicationControllerSettings::default()
        };
        let mut shard = shard(settings);
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
        let mut shard = shard(settings);
        let ends: Vec<SimTime> = (0..4).map(|_| shard.compare(at(0))).collect();
        assert_eq!(ends, [at(200), at(200), at(400), at(400)]);
        assert_eq!(shard.compare(at(1000)), at(1200), "all are free again");
    }

    #[test]
    fn sets_share_a_shard_and_differ_from_those_with_other_settings() {
        let hub = SharedHub::of_run();
        let one = ApplicationControllerSettings {
            status_processors: 1,
            operation_processors: 1,
            ..Default::default()
        };
        let two = ApplicationControllerSettings {
            status_processors: 2,
            ..one
        };
        let streams = Streams::new(1, 0);
        let other = hub.seen_by(ApplicationId(1));
        let mut first = Shard::new(0, one, &streams, &hub);
        let mut second = Shard::new(0, one, &streams, &other);
        assert_eq!(
            [first.compare(at(0)), second.compare(at(0))],
            [at(200), at(400)]
        );
        let mut of_next_process = Shard::new(1, one, &streams, &other);
        let mut of_other_installation = Shard::new(0, two, &streams, &other);
        assert_eq!(of_next_process.compare(at(0)), at(200));
        assert_eq!(of_other_installation.compare(at(0)), at(200));
    }

    #[test]
    fn a_cluster_has_one_shard_for_all_sets() {
        let hub = SharedHub::of_run();
        let settings = ApplicationControllerSettings {
            shards: 100,
            ..Default::default()
        };
        let first = Destinations::of_hub(&hub, Streams::new(1, 0));
        let second = Destinations::of_hub(&hub.seen_by(ApplicationId(1)), Streams::new(2, 0));
        for index in 0..10 {
            let name = format!("store-{index}");
            let expected = shard_of(&settings, &Streams::new(1, 0), index, &name);
            assert_eq!(first.borrow_mut().shard(&settings, &name), expected);
        }
        let round_robin = ApplicationControllerSettings {
            sharding: Sharding::RoundRobin,
            ..settings
        };
        for (name, number) in [("store-7", 7), ("hub-1", 10), ("store-2", 2)] {
            assert_eq!(second.borrow_mut().shard(&round_robin, name), number);
        }
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
