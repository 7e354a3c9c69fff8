//! The load that a registry sends to clients outside of the fleet.
//!
//! A steady load (constant, over the day, or from a file) has priority on the egress: other clients keep their
//! measured rate, and the fleet shares the rest. If the egress shrinks (a brownout, an exhausted burst), both lose the
//! same share.
//!
//! Pulls of another fleet are a Poisson process. Each is three transfers that share the egress with the fleet's own,
//! max-min fair, and are limited by the puller's link and by `perConnection`. Sizes of images and the share of the
//! largest layer are those of 145 of the 150 most pulled images of Docker Hub (paulosevero/hermes @36391a4,
//! `top150_images_dockerhub.json`, July 2023): p10, p25, p50, p75, p90 and p99 are 15, 66, 157, 289, 471 and 1,489
//! MiB, and the median share of the largest layer is 61% of the bytes.
//!
//! Left out: the effect of other clients' requests on the registry's limits, layers that their nodes already have
//! (sharing would save 23% for these images), and clients that pull more when they receive less.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::event::{Event, LoadEvent, Queue};
use crate::world::registry::Registry;
use crate::world::registry::load_spec::{OtherLoad, OtherPulls};
use crate::world::transfers::Transfers;
use crate::world::transfers::payload::{Payload, Sender, Transfer};
use fleetsim_units::{Bytes, BytesPerSec, SimDuration, SimTime};

const MIB: f64 = 1_048_576.0;

/// Shares of the images, each with the size in MiB that this share does not exceed. Source: paulosevero/hermes; the
/// ends are guesses.
const IMAGE_SIZES: [(f64, f64); 8] = [
    (0.0, 2.0),
    (0.1, 15.0),
    (0.25, 66.0),
    (0.5, 157.0),
    (0.75, 289.0),
    (0.9, 471.0),
    (0.99, 1489.0),
    (1.0, 3000.0),
];

/// Shares of an image's bytes on its three connections. Source: paulosevero/hermes, for the largest layer.
const LAYERS: [f64; 3] = [0.61, 0.195, 0.195];

/// Returns the size of an image that this share of the images does not exceed.
fn image_size(share: f64) -> f64 {
    let above = IMAGE_SIZES
        .iter()
        .position(|(end, _)| share <= *end)
        .unwrap_or(IMAGE_SIZES.len() - 1)
        .max(1);
    let (from, low) = IMAGE_SIZES[above - 1];
    let (to, high) = IMAGE_SIZES[above];
    low * libm::pow(high / low, (share - from) / (to - from)) * MIB
}

impl OtherPulls {
    /// Returns the mean rate of the load, in bytes per time.
    #[must_use]
    pub fn mean(&self) -> BytesPerSec {
        const PARTS: u32 = 10_000;
        let sizes = (0..PARTS).map(|at| image_size((f64::from(at) + 0.5) / f64::from(PARTS)));
        BytesPerSec::new(self.rate.get() * sizes.sum::<f64>() / f64::from(PARTS))
    }
}

/// The other load of one registry.
#[derive(Debug)]
pub(crate) struct Others {
    steps: Vec<(SimDuration, BytesPerSec)>,
    repeats: Option<SimDuration>,
    /// The current step, counted over all days.
    step: usize,
    pulls: Option<OtherPulls>,
    /// Number of pulls that have begun.
    begun: u64,
    key: EntityKey,
    /// Whether an event of the load is pending.
    has_event: bool,
}

impl Others {
    pub(crate) fn new(load: &OtherLoad, registry: u32) -> Self {
        let (steps, repeats) = load.steps();
        let pulls = if let OtherLoad::Pulls(pulls) = load {
            Some(*pulls)
        } else {
            None
        };
        let key = EntityKey::of("registry").part(u64::from(registry));
        Self {
            steps,
            repeats,
            step: 0,
            pulls,
            begun: 0,
            key,
            has_event: false,
        }
    }

    /// Returns the number of the load's events that cannot affect the rollout while the rollout waits for nothing
    /// else.
    pub(crate) fn pending_events(&self) -> usize {
        usize::from(self.has_event)
    }

    /// Returns the current steady rate.
    pub(crate) fn steady(&self) -> BytesPerSec {
        let step = self.steps.get(self.step % self.steps.len().max(1));
        step.map_or(BytesPerSec::ZERO, |(_, rate)| *rate)
    }

    /// Returns the time of the load's next event.
    fn next(&self, now: SimTime, streams: &Streams) -> Option<SimTime> {
        if let Some(pulls) = &self.pulls {
            let mut rng = streams.stream_nth(self.key, "other pull begins", self.begun);
            let wait =
                SimDuration::from_secs_f64(dist::exponential(&mut rng, 1.0 / pulls.rate.get()));
            return Some(now + wait.max(SimDuration::from_nanos(1)));
        }
        let next = self.step + 1;
        let days = match self.repeats {
            Some(day) => day * (next / self.steps.len()) as u64,
            None if next >= self.steps.len() => return None,
            None => SimDuration::ZERO,
        };
        Some((SimTime::ZERO + days + self.steps[next % self.steps.len()].0).max(now))
    }

    /// Draws the sizes of the next pull's transfers.
    fn next_pull(&mut self, streams: &Streams) -> [Bytes; 3] {
        let mut rng = streams.stream_nth(self.key, "other pull size", self.begun);
        self.begun += 1;
        let size = image_size(dist::unit(&mut rng));
        LAYERS.map(|share| Bytes::new((size * share) as u64))
    }
}

impl Registry<'_> {
    /// Schedules the first event of the other load, if there is one.
    pub(crate) fn start_other_load(
        &mut self,
        transfers: &mut Transfers,
        streams: &Streams,
        queue: &mut Queue,
    ) {
        if self.others.is_none() {
            return;
        }
        let capacity = transfers.links.data(self.capacity());
        let egress = transfers.links.egress[self.index()];
        transfers.set_capacity(queue.now(), egress, capacity);
        self.schedule_other_load(streams, queue);
    }

    /// Schedules the next event of the other load, if there is one.
    pub(crate) fn schedule_other_load(&mut self, streams: &Streams, queue: &mut Queue) {
        let Some(others) = &mut self.others else {
            return;
        };
        let change = if others.pulls.is_some() {
            LoadEvent::OtherPull
        } else {
            LoadEvent::OtherRate
        };
        let next = others.next(queue.now(), streams);
        others.has_event = next.is_some();
        if let Some(at) = next {
            let registry = self.number;
            queue.schedule(at, Event::RegistryLoad { registry, change });
        }
    }

    /// Applies a change of a steady load's rate.
    pub(crate) const fn other_rate_changes(&mut self) {
        if let Some(others) = &mut self.others {
            others.step += 1;
        }
    }

    /// Begins a pull of another fleet.
    pub(crate) fn other_pull_begins(
        &mut self,
        transfers: &mut Transfers,
        streams: &Streams,
        now: SimTime,
    ) {
        let registry = self.index();
        let Some(others) = &mut self.others else {
            return;
        };
        let Some(pulls) = others.pulls else { return };
        let share_of_link = pulls.downlink.get() / LAYERS.len() as f64;
        let cap = match self.spec.per_connection {
            Some(most) => most.get().min(share_of_link),
            None => share_of_link,
        };
        for bytes in others.next_pull(streams) {
            let transfer = Transfer {
                payload: Payload::Others,
                bytes,
                sender: Sender::Others(registry),
                receiver: None,
                blob: None,
            };
            transfers.start_for_others(now, registry, BytesPerSec::new(cap), transfer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim_units::PerSecond;

    #[test]
    fn images_of_other_clients_have_the_published_quantiles() {
        assert!(
            (image_size(0.5) - 157.0 * MIB).abs() < 1.0
                && (image_size(0.9) - 471.0 * MIB).abs() < 1.0
        );
        // The size is between p50 and p75, with linear interpolation of the logarithm: sqrt(157 · 289).
        assert!((image_size(0.625) - 213.0 * MIB).abs() < 0.1 * MIB);
        let pulls = OtherPulls {
            rate: PerSecond::new(2.0),
            downlink: BytesPerSec::from_mbit(100.0),
        };
        // The mean of the 145 images is about 236 MiB: two per second are 495 MB/s.
        assert!(
            (0.4e9..0.6e9).contains(&pulls.mean().get()),
            "{}",
            pulls.mean()
        );
    }
}
