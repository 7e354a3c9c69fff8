//! A burst allowance on the bytes that a registry sends.
//!
//! Modelled: a bucket of bytes that starts full. While it holds bytes, the registry sends at its full egress, and each
//! byte above the baseline leaves the bucket. While it is empty, the registry sends at the baseline. A load below the
//! baseline refills it with the difference. So instances of clouds send (EC2's network credits: full rate for 5 to 60
//! minutes, then 7 to 50 % of it; awsdocs/amazon-ec2-user-guide @1300242), and some registries by tier.
//!
//! Rates change only when transfers or links do, so the bucket follows them exactly, and is empty at one event.
//!
//! Left out: buckets of single connections, and credits that expire.

use crate::engine::EventId;
use crate::world::World;
use crate::world::event::{Event, LoadEvent, Queue};
use crate::world::registry::load_spec::BurstSpec;
use fleetsim_units::{SimDuration, SimTime};

/// Bytes below which a bucket is empty.
const NOTHING: f64 = 1.0;

/// The bucket of one registry.
#[derive(Debug)]
pub(crate) struct Burst {
    spec: BurstSpec,
    /// Bytes in it.
    left: f64,
    /// Total sending rate since `counted`.
    rate: f64,
    counted: SimTime,
    /// It is empty, and the registry sends at the baseline.
    pub(crate) is_spent: bool,
    /// The pending event of its end.
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

    /// Events that can change nothing for the rollout while no transfer is in progress.
    pub(crate) fn pending_events(&self) -> usize {
        usize::from(self.ends.is_some())
    }

    /// Counts the bytes until `now`. The registry sends at `rate` from now on. Returns whether its capacity changes.
    fn count(&mut self, now: SimTime, rate: f64) -> bool {
        let baseline = self.spec.baseline.get();
        let used = (self.rate - baseline) * (now - self.counted).as_secs_f64();
        self.left = (self.left - used).clamp(0.0, self.spec.bytes.get() as f64);
        (self.counted, self.rate) = (now, rate);
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

    /// The time until it is empty. `None`: it does not shrink.
    fn lasts(&self) -> Option<SimDuration> {
        let above = self.rate - self.spec.baseline.get() * (1.0 + 1e-9);
        (!self.is_spent && above > 0.0)
            .then(|| SimDuration::from_secs_f64(self.left / above) + SimDuration::from_nanos(1))
    }
}

impl World<'_> {
    /// Counts the bytes of all bursts at the current rates, and adjusts the egress of those that end or begin.
    pub(crate) fn follow_bursts(&mut self, queue: &mut Queue) {
        for at in 0..self.registries.len() {
            if self.registries[at].burst.is_none() {
                continue;
            }
            let now = queue.now();
            let rate = self.total_egress(at);
            if self.burst_of(at).count(now, rate) {
                let capacity = self.transfers.links.data(self.registries[at].capacity());
                self.transfers
                    .network
                    .set_capacity(now, self.transfers.links.egress[at], capacity);
                let rate = self.total_egress(at);
                self.burst_of(at).rate = rate;
            }
            let burst = self.burst_of(at);
            let event = Event::RegistryLoad {
                registry: at as u32,
                change: LoadEvent::BurstEnds,
            };
            match (burst.lasts().map(|lasts| now + lasts), burst.ends) {
                (Some(end), Some(event)) => {
                    queue.reschedule(event, end);
                }
                (Some(end), None) => burst.ends = Some(queue.schedule(end, event)),
                (None, Some(event)) => {
                    queue.cancel(event);
                    burst.ends = None;
                }
                (None, None) => {}
            }
        }
    }

    fn burst_of(&mut self, registry: usize) -> &mut Burst {
        self.registries[registry]
            .burst
            .as_mut()
            .expect("it has a burst")
    }

    /// A bucket is empty.
    pub(crate) fn burst_ends(&mut self, registry: usize, queue: &mut Queue) {
        self.burst_of(registry).ends = None;
        self.rates_changed(queue);
    }

    /// The rate that a registry sends now, to the fleet and to others, with headers. Of a spent burst, the rate that it
    /// is asked for.
    pub(crate) fn total_egress(&self, registry: usize) -> f64 {
        let carried = self
            .transfers
            .network
            .throughput(self.transfers.links.egress[registry]);
        self.transfers.links.with_headers(carried).get()
            + self.registries[registry].steady_load().get()
    }
}
