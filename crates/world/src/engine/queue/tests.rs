//! Compares the queue with a sorted list, and tests cases written by hand.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

#[test]
fn simultaneous_events_are_popped_in_scheduling_order() {
    let mut queue = EventQueue::new();
    for event in 0..100 {
        queue.schedule(secs(event % 3), event);
    }
    let popped: Vec<u64> = std::iter::from_fn(|| queue.pop())
        .map(|(_, event)| event)
        .collect();
    let mut expected: Vec<u64> = (0..100).collect();
    expected.sort_by_key(|event| event % 3);
    assert_eq!(popped, expected);
    assert_eq!((queue.now(), queue.handled()), (secs(2), 100));
}

#[test]
fn an_event_scheduled_for_now_comes_after_those_already_scheduled_for_now() {
    let mut queue = EventQueue::new();
    queue.schedule(secs(1), "first");
    queue.schedule(secs(1), "second");
    queue.pop();
    queue.schedule_in(SimDuration::ZERO, "third");
    assert_eq!(queue.pop(), Some((secs(1), "second")));
    assert_eq!(queue.pop(), Some((secs(1), "third")));
}

#[test]
fn a_rescheduled_event_comes_after_others_even_at_its_old_time() {
    let mut queue = EventQueue::new();
    let a = queue.schedule(secs(1), "a");
    queue.schedule(secs(1), "b");
    assert!(queue.reschedule(a, secs(1)));
    assert_eq!(queue.pop(), Some((secs(1), "b")));
    assert_eq!(queue.pop(), Some((secs(1), "a")));
}

#[test]
fn a_stale_id_does_nothing_to_the_next_event_in_its_slot() {
    let mut queue = EventQueue::new();
    let handled = queue.schedule(secs(1), "handled");
    queue.pop();
    let cancelled = queue.schedule(secs(2), "cancelled");
    assert_eq!(queue.cancel(cancelled), Some("cancelled"));
    let live = queue.schedule(secs(3), "live");
    assert_eq!(
        (handled.slot, cancelled.slot),
        (live.slot, live.slot),
        "the case needs one slot used three times"
    );
    for stale in [handled, cancelled] {
        assert_eq!(queue.cancel(stale), None);
        assert!(!queue.reschedule(stale, secs(9)));
    }
    assert_eq!(queue.pop(), Some((secs(3), "live")));
}

#[test]
fn a_slot_without_unused_generations_is_not_reused() {
    let mut queue = EventQueue::new();
    let first = queue.schedule(secs(1), ());
    queue.slots[first.slot as usize].generation = u32::MAX;
    let last = EventId {
        generation: u32::MAX,
        ..first
    };
    assert_eq!(queue.cancel(last), Some(()));
    assert_eq!(queue.cancel(last), None);
    assert_ne!(queue.schedule(secs(1), ()).slot, first.slot);
}

#[test]
fn an_event_after_the_horizon_stays_in_the_queue() {
    let mut queue = EventQueue::new();
    queue.schedule(secs(3), "late");
    queue.schedule(secs(2), "in time");
    assert_eq!(queue.pop_until(secs(2)), Some((secs(2), "in time")));
    assert_eq!(queue.pop_until(secs(2)), None);
    assert_eq!((queue.now(), queue.len()), (secs(2), 1));
    assert_eq!(queue.pop(), Some((secs(3), "late")));
}

#[test]
fn an_event_cancelled_and_scheduled_for_the_same_time_in_the_same_slot_comes_last() {
    let mut queue = EventQueue::new();
    let first = queue.schedule(secs(1), "cancelled");
    queue.schedule(secs(1), "second");
    queue.cancel(first);
    assert_eq!(queue.schedule(secs(1), "third").slot, first.slot);
    assert_eq!(queue.pop(), Some((secs(1), "second")));
    assert_eq!(queue.pop(), Some((secs(1), "third")));
    assert_eq!(queue.pop(), None);
}

#[test]
fn a_reused_stamp_does_not_revive_an_old_ticket() {
    let mut queue = EventQueue::new();
    let gone = queue.schedule(secs(1), "gone");
    queue.schedule(secs(5), "last");
    queue.cancel(gone);
    queue.slots[gone.slot as usize].stamp = u32::MAX;
    let moved = queue.schedule(secs(2), "moved");
    assert_eq!((moved.slot, queue.tickets), (gone.slot, 3));
    assert!(queue.reschedule(moved, secs(3)));
    assert_eq!(
        (queue.slots[moved.slot as usize].stamp, queue.tickets),
        (1, 2),
        "that of the event at 1 s"
    );
    assert_eq!(queue.pop(), Some((secs(3), "moved")));
    assert_eq!(queue.pop(), Some((secs(5), "last")));
}

#[test]
fn repeated_cancellation_does_not_use_more_memory() {
    let mut queue = EventQueue::new();
    let pending: Vec<EventId> = (0..10)
        .map(|after| queue.schedule(secs(after), after))
        .collect();
    for round in 0..10_000 {
        let deadline = queue.schedule(secs(1_000 + round), 0);
        assert_eq!(queue.cancel(deadline), Some(0));
        assert!(queue.reschedule(pending[round as usize % 10], secs(round % 7)));
        assert!(
            queue.tickets <= FEW + 3 * queue.len() + 1,
            "{} tickets",
            queue.tickets
        );
    }
    assert_eq!(
        (
            queue.slots.len(),
            std::iter::from_fn(|| queue.pop()).count()
        ),
        (11, 10)
    );
}

#[test]
#[should_panic(expected = "the time is already 2 s")]
fn scheduling_in_the_past_panics() {
    let mut queue = EventQueue::new();
    queue.schedule(secs(2), ());
    queue.pop();
    queue.schedule(secs(1), ());
}

#[derive(Clone, Debug)]
enum QueueStep {
    Schedule {
        after: u64,
    },
    Cancel {
        id: usize,
    },
    Reschedule {
        id: usize,
        after: u64,
    },
    Pop,
    /// Pops events that are due by a horizon. Often there are none, so later events may be scheduled before all
    /// others.
    PopUntil {
        after: u64,
    },
}

/// Delays that differ in every byte of a time. Only few values exist, so equal times are common.
fn delay() -> impl Strategy<Value = u64> {
    (0u64..8, 0u32..7).prop_map(|(after, byte)| after << (8 * byte))
}

/// Ids refer to all events ever scheduled, so stale ids are common.
fn step() -> impl Strategy<Value = QueueStep> {
    prop_oneof![
        4 => delay().prop_map(|after| QueueStep::Schedule { after }),
        1 => any::<prop::sample::Index>().prop_map(|id| QueueStep::Cancel { id: id.index(1 << 20) }),
        2 => (any::<prop::sample::Index>(), delay())
            .prop_map(|(id, after)| QueueStep::Reschedule { id: id.index(1 << 20), after }),
        2 => Just(QueueStep::Pop),
        1 => delay().prop_map(|after| QueueStep::PopUntil { after }),
    ]
}

/// The reference queue: a list in the order of scheduling, which is searched for the earliest event; the first of
/// equals wins.
#[derive(Default)]
struct ListQueue {
    now: SimTime,
    pending: Vec<(SimTime, usize)>,
}

impl ListQueue {
    fn schedule(&mut self, at: SimTime, event: usize) {
        self.pending.push((at, event));
    }

    fn cancel(&mut self, event: usize) -> Option<usize> {
        let place = self.pending.iter().position(|&(_, other)| other == event)?;
        Some(self.pending.remove(place).1)
    }

    fn pop(&mut self) -> Option<(SimTime, usize)> {
        self.pending.sort_by_key(|&(at, _)| at);
        let first = (!self.pending.is_empty()).then(|| self.pending.remove(0))?;
        self.now = first.0;
        Some(first)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_interleaving_of_operations_agrees_with_a_sorted_list(steps in vec(step(), 0..400)) {
        let mut queue = EventQueue::new();
        let mut list = ListQueue::default();
        let mut ids = Vec::new();
        for step in steps {
            match step {
                QueueStep::Schedule { after } => {
                    let at = list.now + SimDuration::from_nanos(after);
                    list.schedule(at, ids.len());
                    ids.push(queue.schedule(at, ids.len()));
                }
                QueueStep::Cancel { id } if !ids.is_empty() => {
                    let event = id % ids.len();
                    prop_assert_eq!(queue.cancel(ids[event]), list.cancel(event));
                }
                QueueStep::Reschedule { id, after } if !ids.is_empty() => {
                    let event = id % ids.len();
                    let at = list.now + SimDuration::from_nanos(after);
                    let was_pending = list.cancel(event).is_some();
                    if was_pending {
                        list.schedule(at, event);
                    }
                    prop_assert_eq!(queue.reschedule(ids[event], at), was_pending);
                }
                QueueStep::Pop => prop_assert_eq!(queue.pop(), list.pop()),
                QueueStep::PopUntil { after } => {
                    let horizon = list.now + SimDuration::from_nanos(after);
                    let is_due = list.pending.iter().any(|&(at, _)| at <= horizon);
                    prop_assert_eq!(queue.pop_until(horizon), if is_due { list.pop() } else { None });
                }
                QueueStep::Cancel { .. } | QueueStep::Reschedule { .. } => {}
            }
            prop_assert_eq!(queue.len(), list.pending.len());
            prop_assert_eq!(queue.now(), list.now);
            prop_assert_eq!(queue.peek_time(), list.pending.iter().map(|&(at, _)| at).min());
        }
        while let Some(expected) = list.pop() {
            prop_assert_eq!(queue.pop(), Some(expected));
        }
        prop_assert!(queue.is_empty() && queue.pop().is_none());
    }
}
