//! The event queue under the loads of its benchmark: it returns the same events in the same order as a sorted list,
//! and gives the checksums that every queue must give.

#[path = "../../benches/churn/mod.rs"]
mod churn;

use std::collections::BTreeMap;

use churn::{Churn, Load, Pending};
use fleetsim::engine::EventQueue;

/// The reference queue: a map sorted by time, and then by the order of scheduling.
#[derive(Default)]
struct SortedMap {
    scheduled: u64,
    pending: BTreeMap<(u64, u64), u32>,
}

impl Pending for SortedMap {
    type Id = (u64, u64);

    fn push(&mut self, at_ns: u64, payload: u32) -> Self::Id {
        self.scheduled += 1;
        self.pending.insert((at_ns, self.scheduled), payload);
        (at_ns, self.scheduled)
    }

    fn cancel(&mut self, id: Self::Id) {
        self.pending.remove(&id);
    }

    fn pop(&mut self) -> (u64, u32) {
        let ((at_ns, _), payload) = self
            .pending
            .pop_first()
            .expect("each fired event schedules another");
        (at_ns, payload)
    }
}

#[test]
fn the_queue_fires_the_same_events_as_a_sorted_map() {
    for load in [Load::Hold, Load::Cancel] {
        // With 50,000 events, the first lists are too long to be sorted immediately.
        for pending in [1, 2, 10, 1_000, 50_000] {
            let fast = Churn::new(load, pending, EventQueue::new()).fire(20_000);
            let slow = Churn::new(load, pending, SortedMap::default()).fire(20_000);
            assert_eq!(fast, slow, "{load:?}, {pending} pending");
        }
    }
}

#[test]
fn two_million_events_give_the_known_checksums() {
    for (load, expected) in [
        (Load::Hold, 0x6a89_a2bf_959c_aa30),
        (Load::Cancel, 0xd0da_7380_b2f8_2afd),
    ] {
        let checksum = Churn::new(load, 1_000, EventQueue::new()).fire(2_000_000);
        assert_eq!(checksum, expected, "{load:?}: {checksum:016x}");
    }
}
