//! Event churn: a fixed number of pending events, each of which schedules its successor when it is handled.
//!
//! The load is defined to the last draw, so its checksum compares queues and runs with each other.
//! - *hold*: n events start at their first increments. Each handled event `i` is scheduled again at its time plus the
//!   next increment: one pop and one push per event.
//! - *cancel*: each fired event first draws some `j`, cancels the pending event of `j` and schedules it at its time
//!   plus the next increment; then, unless `j = i`, schedules `i` likewise: one pop, one cancel, two pushes.
//!
//! Increments: 65 536 draws `floor(-ln(1 - f) · 10⁹) + 1` ns (exponential, mean 1 s) from SplitMix64 seeded 42, used
//! cyclically, starting at index 1. The `j` come from SplitMix64 seeded 9. The checksum is `sum = 31 · sum + (t xor
//! i)`, in 64 bits, over all fired events in order.

#![allow(dead_code, reason = "each bench and test needs a part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use fleetsim::engine::{self, EventId, EventQueue, Model};
use fleetsim::units::SimTime;

/// The operations that handling an event performs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Load {
    Hold,
    Cancel,
}

/// A queue of events with a payload, under test.
pub(crate) trait Pending {
    type Id: Copy;
    fn push(&mut self, at_ns: u64, payload: u32) -> Self::Id;
    fn cancel(&mut self, id: Self::Id);
    fn pop(&mut self) -> (u64, u32);
}

/// A queue filled with its first events, ready to run.
pub(crate) struct Churn<Q: Pending> {
    load: Load,
    queue: Q,
    ids: Vec<Q::Id>,
    increments: Vec<u64>,
    used: usize,
    draws: SplitMix64,
}

impl<Q: Pending> Churn<Q> {
    pub(crate) fn new(load: Load, pending: u32, queue: Q) -> Self {
        let mut draws = SplitMix64(42);
        let increments = (0..65_536)
            .map(|_| (-libm::log(1.0 - draws.unit()) * 1e9).floor() as u64 + 1)
            .collect();
        let mut churn = Self {
            load,
            queue,
            ids: Vec::new(),
            increments,
            used: 0,
            draws: SplitMix64(9),
        };
        for payload in 0..pending {
            let at = churn.increment();
            churn.ids.push(churn.queue.push(at, payload));
        }
        churn
    }

    /// Fires `count` events and returns the checksum over them.
    pub(crate) fn fire(&mut self, count: u32) -> u64 {
        let mut checksum = 0_u64;
        for _ in 0..count {
            let (at, payload) = self.queue.pop();
            checksum = checksum
                .wrapping_mul(31)
                .wrapping_add(at ^ u64::from(payload));
            if self.load == Load::Cancel {
                let other = self.draws.below(self.ids.len());
                self.queue.cancel(self.ids[other as usize]);
                self.push(at, other);
                if other == payload {
                    continue;
                }
            }
            self.push(at, payload);
        }
        black_box(checksum)
    }

    fn push(&mut self, now: u64, payload: u32) {
        let at = now + self.increment();
        self.ids[payload as usize] = self.queue.push(at, payload);
    }

    fn increment(&mut self) -> u64 {
        self.used += 1;
        self.increments[self.used % self.increments.len()]
    }
}

impl Churn<EventQueue<u32>> {
    /// Like [`Self::fire`], but through the engine's loop: every event is dispatched to a model, which schedules the
    /// next.
    pub(crate) fn dispatch(self, count: u32) -> u64 {
        let Self {
            load,
            mut queue,
            ids,
            increments,
            used,
            draws,
        } = self;
        let queue_of_model = EventQueue::new();
        let churn = Churn {
            load,
            queue: queue_of_model,
            ids,
            increments,
            used,
            draws,
        };
        let mut model = Dispatched {
            churn,
            checksum: 0,
            left: count,
        };
        engine::run(
            &mut model,
            &mut queue,
            &mut (),
            SimTime::from_nanos(u64::MAX),
            |model, _| model.left == 0,
        );
        black_box(model.checksum)
    }
}

/// The load as a model. The model does not use the queue of its own [`Churn`].
struct Dispatched {
    churn: Churn<EventQueue<u32>>,
    checksum: u64,
    left: u32,
}

impl Dispatched {
    fn schedule(&mut self, payload: u32, queue: &mut EventQueue<u32>) {
        let at = queue.now().as_nanos() + self.churn.increment();
        self.churn.ids[payload as usize] = queue.schedule(SimTime::from_nanos(at), payload);
    }
}

impl Model for Dispatched {
    type Event = u32;

    fn handle(&mut self, payload: u32, queue: &mut EventQueue<u32>) {
        self.left -= 1;
        self.checksum = self
            .checksum
            .wrapping_mul(31)
            .wrapping_add(queue.now().as_nanos() ^ u64::from(payload));
        if self.churn.load == Load::Cancel {
            let other = self.churn.draws.below(self.churn.ids.len());
            EventQueue::cancel(queue, self.churn.ids[other as usize]);
            self.schedule(other, queue);
            if other == payload {
                return;
            }
        }
        self.schedule(payload, queue);
    }
}

/// SplitMix64, the random number generator that the definition of the load names.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> u32 {
        ((u128::from(self.next()) * count as u128) >> 64) as u32
    }
}

/// The engine's queue under the loads of this module.
impl Pending for EventQueue<u32> {
    type Id = EventId;

    fn push(&mut self, at_ns: u64, payload: u32) -> Self::Id {
        self.schedule(SimTime::from_nanos(at_ns), payload)
    }

    fn cancel(&mut self, id: Self::Id) {
        Self::cancel(self, id);
    }

    fn pop(&mut self) -> (u64, u32) {
        let (at, payload) = Self::pop(self).expect("each fired event schedules another");
        (at.as_nanos(), payload)
    }
}

/// The reference queue with cancellation: a binary heap ordered by time and insertion. Cancelled entries stay in the
/// heap; an entry with an outdated stamp is skipped when it is popped.
#[derive(Default)]
pub(crate) struct HeapWithStamps {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
    pushed: u32,
    /// The stamp of each payload's latest entry.
    stamps: Vec<u32>,
}

impl Pending for HeapWithStamps {
    type Id = ();

    fn push(&mut self, at_ns: u64, payload: u32) {
        self.pushed += 1;
        if self.stamps.len() <= payload as usize {
            self.stamps.resize(payload as usize + 1, 0);
        }
        self.stamps[payload as usize] = self.pushed;
        self.heap.push(Reverse((at_ns, self.pushed, payload)));
    }

    fn cancel(&mut self, (): ()) {
        // The old entry stays in the heap, because the next entry of the same payload has a later stamp.
    }

    fn pop(&mut self) -> (u64, u32) {
        loop {
            let Reverse((at, stamp, payload)) =
                self.heap.pop().expect("each fired event schedules another");
            if self.stamps[payload as usize] == stamp {
                return (at, payload);
            }
        }
    }
}

/// The reference queue without cancellation: a binary heap ordered by time and insertion.
#[derive(Default)]
pub(crate) struct BareHeap {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
    pushed: u32,
}

impl Pending for BareHeap {
    type Id = ();

    fn push(&mut self, at_ns: u64, payload: u32) {
        self.pushed += 1;
        self.heap.push(Reverse((at_ns, self.pushed, payload)));
    }

    fn cancel(&mut self, (): ()) {
        unreachable!("a load without cancellation");
    }

    fn pop(&mut self) -> (u64, u32) {
        let Reverse((at, _, payload)) =
            self.heap.pop().expect("each fired event schedules another");
        (at, payload)
    }
}
