//! The queue of pending events, which is also the clock.
//!
//! Order: earliest first; at equal times, in the order in which they were scheduled. Models may rely on it.
//!
//! The heap ([`heap`](super::heap)) tracks the position of each event, so an event is cancelled or moved in place in
//! O(log n) and no dead entries accumulate. A key is one 128-bit number, the time and then the order of scheduling: it
//! compares without a branch, which the processor could not predict. The heap's shape does not affect the order of
//! events, because keys are unique.
//!
//! Left out: priorities among simultaneous events. A model that needs them schedules events in that order.

use super::heap::{self, Keyed, NOWHERE};
use crate::units::{SimDuration, SimTime};

/// Identifies a scheduled event. The id becomes stale once the event is handled or cancelled; using a stale id has no
/// effect.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EventId {
    slot: u32,
    generation: u32,
}

/// Pending events, earliest first, and the current time.
///
/// ```
/// use fleetsim::engine::EventQueue;
/// use fleetsim::units::{SimDuration, SimTime};
///
/// let mut queue = EventQueue::new();
/// let tea = queue.schedule(SimTime::from_secs(5), "tea");
/// queue.schedule(SimTime::from_secs(9), "cake");
/// assert_eq!(queue.cancel(tea), Some("tea"));
/// assert_eq!(queue.pop(), Some((SimTime::from_secs(9), "cake")));
/// assert_eq!(queue.now(), SimTime::from_secs(9));
/// ```
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    now: SimTime,
    handled: u64,
    next_sequence: u64,
    /// Slots by [`EventQueue::next_key`].
    heap: Vec<Keyed<u128>>,
    // Indexed by slot. A slot holds one pending event or is listed in `free`.
    positions: Vec<u32>,
    generations: Vec<u32>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
}

impl<E> EventQueue<E> {
    /// No events; the time is [`SimTime::ZERO`].
    #[must_use]
    pub const fn new() -> Self {
        Self {
            now: SimTime::ZERO,
            handled: 0,
            next_sequence: 0,
            heap: Vec::new(),
            positions: Vec::new(),
            generations: Vec::new(),
            events: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The time of the event popped last; the start of the run before the first.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Number of pending events.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event is pending.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Number of events popped since the start of the run.
    #[must_use]
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Schedules `event` for `at`, after all events already scheduled for that time. `at` may be now.
    ///
    /// # Panics
    /// If `at` is before now, or 2³² events are pending.
    pub fn schedule(&mut self, at: SimTime, event: E) -> EventId {
        self.assert_not_past(at);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.events[slot as usize] = Some(event);
                slot
            }
            None => self.new_slot(event),
        };
        let key = self.next_key(at);
        heap::push(&mut self.heap, key, slot, &mut self.positions);
        EventId { slot, generation: self.generations[slot as usize] }
    }

    /// Schedules `event` for `after` from now, as [`Self::schedule`] does.
    ///
    /// # Panics
    /// If 2³² events are pending.
    pub fn schedule_in(&mut self, after: SimDuration, event: E) -> EventId {
        self.schedule(self.now + after, event)
    }

    /// Cancels a pending event and returns it. `None` when it was already handled or cancelled.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        let position = self.position(id)?;
        heap::remove(&mut self.heap, position, &mut self.positions);
        Some(self.release(id.slot))
    }

    /// Moves a pending event to `at`, as if it were cancelled and scheduled again: it comes after all events already
    /// scheduled for that time, even when `at` is unchanged. Its id stays valid. Returns `false` when the event was
    /// already handled or cancelled.
    ///
    /// # Panics
    /// If `at` is before now.
    pub fn reschedule(&mut self, id: EventId, at: SimTime) -> bool {
        self.assert_not_past(at);
        let Some(position) = self.position(id) else { return false };
        let key = self.next_key(at);
        heap::rekey(&mut self.heap, position, key, &mut self.positions);
        true
    }

    /// When the next event is due. `None` when none is pending.
    #[must_use]
    pub fn peek_time(&self) -> Option<SimTime> {
        self.heap.first().map(|first| time_of(first.key))
    }

    /// Takes the next event and moves the clock to its time. `None` when none is pending.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.heap.first()?;
        let Keyed { key, item: slot } = heap::remove(&mut self.heap, 0, &mut self.positions);
        self.now = time_of(key);
        self.handled += 1;
        Some((self.now, self.release(slot)))
    }

    fn assert_not_past(&self, at: SimTime) {
        assert!(at >= self.now, "cannot schedule an event for {at}: the time is already {}", self.now);
    }

    /// The key of an event that is scheduled now.
    fn next_key(&mut self, at: SimTime) -> u128 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        (u128::from(at.as_nanos()) << 64) | u128::from(sequence)
    }

    fn new_slot(&mut self, event: E) -> u32 {
        let slot = u32::try_from(self.events.len()).expect("fewer than 2^32 events are pending");
        self.events.push(Some(event));
        self.generations.push(0);
        self.positions.push(NOWHERE);
        slot
    }

    /// The position in the heap of the event of `id`. `None` when the id is stale.
    fn position(&self, id: EventId) -> Option<u32> {
        let slot = id.slot as usize;
        // An id of another queue may name a slot that this one lacks.
        (*self.generations.get(slot)? == id.generation && self.events[slot].is_some()).then(|| self.positions[slot])
    }

    /// Empties the slot of an event that has left the heap; ids of it are stale from here on.
    fn release(&mut self, slot: u32) -> E {
        let event = self.events[slot as usize].take().expect("a slot in the heap holds an event");
        // A slot that has used up its generations is never reused, so a stale id stays stale.
        if let Some(next) = self.generations[slot as usize].checked_add(1) {
            self.generations[slot as usize] = next;
            self.free.push(slot);
        }
        event
    }
}

/// The time in the key of an event.
const fn time_of(key: u128) -> SimTime {
    SimTime::from_nanos((key >> 64) as u64)
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
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
        let popped: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        let mut expected: Vec<u64> = (0..100).collect();
        expected.sort_by_key(|event| event % 3);
        assert_eq!(popped, expected);
        assert_eq!((queue.now(), queue.handled()), (secs(2), 100));
    }

    #[test]
    fn an_event_scheduled_for_now_comes_after_earlier_events_of_now() {
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
        assert_eq!((handled.slot, cancelled.slot), (live.slot, live.slot), "the case needs one slot used three times");
        for stale in [handled, cancelled] {
            assert_eq!(queue.cancel(stale), None);
            assert!(!queue.reschedule(stale, secs(9)));
        }
        assert_eq!(queue.pop(), Some((secs(3), "live")));
    }

    #[test]
    fn a_slot_that_used_up_its_generations_is_not_reused() {
        let mut queue = EventQueue::new();
        let first = queue.schedule(secs(1), ());
        queue.generations[first.slot as usize] = u32::MAX;
        let last = EventId { generation: u32::MAX, ..first };
        assert_eq!(queue.cancel(last), Some(()));
        assert_eq!(queue.cancel(last), None);
        assert_ne!(queue.schedule(secs(1), ()).slot, first.slot);
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
        Schedule { after: u64 },
        Cancel { id: usize },
        Reschedule { id: usize, after: u64 },
        Pop,
    }

    /// Few distinct times, so equal ones are common; ids of all events ever scheduled, so stale ones are common.
    fn step() -> impl Strategy<Value = QueueStep> {
        prop_oneof![
            4 => (0u64..8).prop_map(|after| QueueStep::Schedule { after }),
            1 => any::<prop::sample::Index>().prop_map(|id| QueueStep::Cancel { id: id.index(1 << 20) }),
            2 => (any::<prop::sample::Index>(), 0u64..8)
                .prop_map(|(id, after)| QueueStep::Reschedule { id: id.index(1 << 20), after }),
            2 => Just(QueueStep::Pop),
        ]
    }

    /// The reference queue: a list in order of scheduling, searched for the earliest event; the first among equals
    /// wins.
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
        fn any_interleaving_agrees_with_a_sorted_list(steps in vec(step(), 0..400)) {
            let mut queue = EventQueue::new();
            let mut list = ListQueue::default();
            let mut ids = Vec::new();
            for step in steps {
                match step {
                    QueueStep::Schedule { after } => {
                        let at = list.now + SimDuration::from_secs(after);
                        list.schedule(at, ids.len());
                        ids.push(queue.schedule(at, ids.len()));
                    }
                    QueueStep::Cancel { id } if !ids.is_empty() => {
                        let event = id % ids.len();
                        prop_assert_eq!(queue.cancel(ids[event]), list.cancel(event));
                    }
                    QueueStep::Reschedule { id, after } if !ids.is_empty() => {
                        let event = id % ids.len();
                        let at = list.now + SimDuration::from_secs(after);
                        let was_pending = list.cancel(event).is_some();
                        if was_pending {
                            list.schedule(at, event);
                        }
                        prop_assert_eq!(queue.reschedule(ids[event], at), was_pending);
                    }
                    QueueStep::Pop => prop_assert_eq!(queue.pop(), list.pop()),
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
}
