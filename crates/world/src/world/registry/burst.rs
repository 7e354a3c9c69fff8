//! A burst allowance for the bytes that a registry sends.
//!
//! Modelled: a bucket of bytes that starts full. While it is not empty, the registry sends at its full egress, and
//! each byte above the baseline is taken from the bucket. While it is empty, the registry sends at the baseline. A
//! load below the baseline refills it with the difference. Cloud instances work like this (EC2's network credits: full
//! rate for 5 to 60 minutes, then 7 to 50% of the full rate; awsdocs/amazon-ec2-user-guide @1300242), and so do some
//! tiers of registries.
//!
//! Rates change only when transfers or links do, so the bucket is exact, and an event is scheduled for the time when
//! it becomes empty.
//!
//! Left out: buckets of single connections, and credits that expire.

use crate::engine::EventId;
use crate::world::event::{Event, LoadEvent, Queue};
use crate::world::registry::Registry;
use crate::world::registry::load_spec::BurstSpec;
use crate::world::transfers::Transfers;
use fleetsim_units::{SimDuration, SimTime};

/// A bucket with fewer bytes than this is empty.
const NOTHING: f64 = 1.0;

/// The bucket of one registry.
#[derive(Debug)]
pub(crate) struct Burst {
    spec: BurstSpec,
    /// Number of bytes in the bucket.
    left: f64,
    /// Total sending rate of the registry since `counted`.
    rate: f64,
    counted: SimTime,
    /// Whether the bucket is empty, so that the registry sends at the baseline.
    pub(crate) is_spent: bool,
    /// The pending event at which the bucket becomes empty.
    ends: Option<EventId>,
}

impl Burst {
    pub(crate) fn new(spec: BurstSpec) -> Self {
        let left = spec.bytes.get() as f64;
        Self {
            spec,
            left,
            rate: 0.0,
            counted: SimTime::ZERO,
            is_spent: false,
            ends: None,
        }
    }

    /// Returns the number of the bucket's events that cannot affect the rollout while no transfer is in progress.
    pub(crate) fn pending_events(&self) -> usize {
        usize::from(self.ends.is_some())
    }

    /// Counts the bytes until `now`, and sets the registry's current sending rate. Returns whether its capacity
    /// changes.
    fn count(&mut self, now: SimTime, rate: f64) -> bool {
        let baseline = self.spec.baseline.get();
        let used = (self.rate - baseline) * (now - self.counted).as_secs_f64();
        self.left = (self.left - used).clamp(0.0, self.spec.bytes.get() as f64);
        self.counted = now;
        self.rate = rate;
        let is_above = rate > baseline * (1.0 + 1e-9);
        let is_below = rate < baseline * (1.0 - 1e-9);
        let flips = if self.is_spent {
            is_below
        } else {
            is_above && self.left <= NOTHING
        };
        self.is_spent ^= flips;
        flips
    }

    /// Returns the time until the bucket is empty. `None`: it does not shrink.
    fn lasts(&self) -> Option<SimDuration> {
        let above = self.rate - self.spec.baseline.get() * (1.0 + 1e-9);
        (!self.is_spent && above > 0.0)
            .then(|| SimDuration::from_secs_f64(self.left / above) + SimDuration::from_nanos(1))
    }

    /// Schedules, moves or cancels the event at which the bucket becomes empty.
    fn schedule_end(&mut self, registry: u32, queue: &mut Queue) {
        let end = self.lasts().map(|lasts| queue.now() + lasts);
        let change = LoadEvent::BurstEnds;
        queue.keep_scheduled(
            &mut self.ends,
            end,
            Event::RegistryLoad { registry, change },
        );
    }
}

impl Registry<'_> {
    /// Counts the bytes of the burst at the current rates, and adjusts the egress if the burst ends or begins.
    pub(crate) fn follow_burst(&mut self, transfers: &mut Transfers, queue: &mut Queue) {
        if self.burst.is_none() {
            return;
        }
        let now = queue.now();
        let number = self.number;
        let rate = self.total_egress(transfers);
        if self.burst_mut().count(now, rate) {
            let capacity = transfers.links.data(self.capacity());
            let egress = transfers.links.egress[self.index()];
            transfers.network.set_capacity(now, egress, capacity);
            let rate = self.total_egress(transfers);
            self.burst_mut().rate = rate;
        }
        self.burst_mut().schedule_end(number, queue);
    }

    fn burst_mut(&mut self) -> &mut Burst {
        self.burst.as_mut().expect("it has a burst")
    }

    /// Handles the event at which the bucket becomes empty. The next count of the bytes empties the bucket.
    pub(crate) fn burst_ends(&mut self) {
        self.burst_mut().ends = None;
    }

    /// Returns the registry's current sending rate, to the fleet and to others, with headers. The steady
    /// load of others counts with the rate that it requests.
    fn total_egress(&self, transfers: &Transfers) -> f64 {
        let egress = transfers.links.egress[self.index()];
        let carried = transfers.network.throughput(egress);
        transfers.links.with_headers(carried).get() + self.steady_load().get()
    }
}
