//! The queue of pending events, which is also the clock.
//!
//! Order: earliest first; at equal times, in the order in which they were scheduled. Models may rely on it.
//!
//! Events lie in the lists of a wheel, 256 for each byte of a time. The list of an event follows from the highest byte
//! in which its time differs from now: so every event of a list is due before all events of later lists and of higher
//! bytes, and a list of the lowest byte holds events of one time. When the next list is of a higher byte, its earliest
//! event is taken and the others move to lists of lower bytes. Events of one time are always in one list, in the order
//! in which they were scheduled. So scheduling, cancelling and moving an event cost O(1), and taking the next one costs
//! at most eight moves for each event, in practice two or three.
//!
//! Left out: priorities among simultaneous events. A model that needs them schedules events in that order.

use crate::units::{SimDuration, SimTime};

/// Bytes of a time.
const BYTES: usize = 8;
/// Lists of each byte.
const LISTS: usize = 256;
/// No entry.
const NONE: u32 = u32::MAX;

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
    pending: usize,
    entries: Vec<QueueEntry<E>>,
    /// The first of the entries without an event; the others follow by `next`.
    free: u32,
    /// First and last entry of each list, byte by byte from the lowest.
    lists: Vec<(u32, u32)>,
    /// Of each byte, one bit for each list that is not empty.
    occupied: [[u64; LISTS / 64]; BYTES],
    /// One bit for each byte that has such a list.
    bytes: u32,
}

/// A pending event, or a free entry.
#[derive(Clone, Debug)]
struct QueueEntry<E> {
    at: u64,
    next: u32,
    previous: u32,
    generation: u32,
    event: Option<E>,
}

impl<E> EventQueue<E> {
    /// No events; the time is [`SimTime::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            now: SimTime::ZERO,
            handled: 0,
            pending: 0,
            entries: Vec::new(),
            free: NONE,
            lists: vec![(NONE, NONE); BYTES * LISTS],
            occupied: [[0; LISTS / 64]; BYTES],
            bytes: 0,
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
        self.pending
    }

    /// Whether no event is pending.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pending == 0
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
        let slot = match self.free {
            NONE => self.new_slot(),
            slot => {
                self.free = self.entries[slot as usize].next;
                slot
            }
        };
        let entry = &mut self.entries[slot as usize];
        (entry.at, entry.event) = (at.as_nanos(), Some(event));
        let generation = entry.generation;
        self.link(slot);
        self.pending += 1;
        EventId { slot, generation }
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
        if !self.is_pending(id) {
            return None;
        }
        self.unlink(id.slot);
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
        if !self.is_pending(id) {
            return false;
        }
        self.unlink(id.slot);
        self.entries[id.slot as usize].at = at.as_nanos();
        self.link(id.slot);
        true
    }

    /// When the next event is due. `None` when none is pending.
    #[must_use]
    pub fn peek_time(&self) -> Option<SimTime> {
        self.earliest().map(|slot| SimTime::from_nanos(self.entries[slot as usize].at))
    }

    /// Takes the next event and moves the clock to its time. `None` when none is pending.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::from_nanos(u64::MAX))
    }

    /// As [`Self::pop`], of events that are due by `horizon`. `None` when there is none.
    pub fn pop_until(&mut self, horizon: SimTime) -> Option<(SimTime, E)> {
        let slot = self.earliest()?;
        let at = self.entries[slot as usize].at;
        if at > horizon.as_nanos() {
            return None;
        }
        let list = self.list_of(at);
        self.unlink(slot);
        self.now = SimTime::from_nanos(at);
        if list >= LISTS {
            self.spread(list);
        }
        self.handled += 1;
        Some((self.now, self.release(slot)))
    }

    fn assert_not_past(&self, at: SimTime) {
        assert!(at >= self.now, "cannot schedule an event for {at}: the time is already {}", self.now);
    }

    /// The list of events of this time.
    #[inline]
    fn list_of(&self, at: u64) -> usize {
        let byte = (63 - ((at ^ self.now.as_nanos()) | 1).leading_zeros()) as usize / 8;
        byte * LISTS + (at >> (8 * byte)) as usize % LISTS
    }

    /// The next event: the first in its list of those that are due first.
    #[inline]
    fn earliest(&self) -> Option<u32> {
        if self.bytes == 0 {
            return None;
        }
        let byte = self.bytes.trailing_zeros() as usize;
        let words = &self.occupied[byte];
        let word = words.iter().position(|word| *word != 0).expect("a byte with a list has a bit");
        let list = byte * LISTS + word * 64 + words[word].trailing_zeros() as usize;
        let mut slot = self.lists[list].0;
        if byte == 0 {
            return Some(slot);
        }
        let mut found = slot;
        let mut least = self.entries[slot as usize].at;
        loop {
            slot = self.entries[slot as usize].next;
            if slot == NONE {
                return Some(found);
            }
            let at = self.entries[slot as usize].at;
            if at < least {
                (found, least) = (slot, at);
            }
        }
    }

    /// Moves the events of a list to the lists in which they belong now.
    fn spread(&mut self, list: usize) {
        let (mut slot, _) = std::mem::replace(&mut self.lists[list], (NONE, NONE));
        if slot == NONE {
            return;
        }
        self.mark(list, false);
        while slot != NONE {
            let next = self.entries[slot as usize].next;
            self.link(slot);
            slot = next;
        }
    }

    /// Notes whether a list has events.
    #[inline]
    fn mark(&mut self, list: usize, has_events: bool) {
        let (byte, at) = (list / LISTS, list % LISTS);
        let words = &mut self.occupied[byte];
        if has_events {
            words[at / 64] |= 1 << (at % 64);
            self.bytes |= 1 << byte;
        } else {
            words[at / 64] &= !(1 << (at % 64));
            if words.iter().all(|word| *word == 0) {
                self.bytes &= !(1 << byte);
            }
        }
    }

    /// Adds an entry at the end of its list.
    #[inline]
    fn link(&mut self, slot: u32) {
        let list = self.list_of(self.entries[slot as usize].at);
        let (first, last) = self.lists[list];
        let entry = &mut self.entries[slot as usize];
        (entry.previous, entry.next) = (last, NONE);
        if first == NONE {
            self.lists[list] = (slot, slot);
            self.mark(list, true);
        } else {
            self.entries[last as usize].next = slot;
            self.lists[list].1 = slot;
        }
    }

    /// Takes an entry out of its list.
    #[inline]
    fn unlink(&mut self, slot: u32) {
        let QueueEntry { at, next, previous, .. } = self.entries[slot as usize];
        let list = self.list_of(at);
        match previous {
            NONE => self.lists[list].0 = next,
            previous => self.entries[previous as usize].next = next,
        }
        match next {
            NONE => self.lists[list].1 = previous,
            next => self.entries[next as usize].previous = previous,
        }
        if (previous, next) == (NONE, NONE) {
            self.mark(list, false);
        }
    }

    fn new_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.entries.len()).ok().filter(|slot| *slot != NONE);
        self.entries.push(QueueEntry { at: 0, next: NONE, previous: NONE, generation: 0, event: None });
        slot.expect("fewer than 2^32 events are pending")
    }

    /// Whether the event of `id` is pending. An id of another queue may name a slot that this one lacks.
    fn is_pending(&self, id: EventId) -> bool {
        let entry = self.entries.get(id.slot as usize);
        entry.is_some_and(|entry| entry.generation == id.generation && entry.event.is_some())
    }

    /// Empties the slot of an event that has left its list; ids of it are stale from here on.
    fn release(&mut self, slot: u32) -> E {
        self.pending -= 1;
        let entry = &mut self.entries[slot as usize];
        let event = entry.event.take().expect("a slot in a list holds an event");
        // A slot that has used up its generations is never reused, so a stale id stays stale.
        if let Some(next) = entry.generation.checked_add(1) {
            (entry.generation, entry.next) = (next, self.free);
            self.free = slot;
        }
        event
    }
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
        queue.entries[first.slot as usize].generation = u32::MAX;
        let last = EventId { generation: u32::MAX, ..first };
        assert_eq!(queue.cancel(last), Some(()));
        assert_eq!(queue.cancel(last), None);
        assert_ne!(queue.schedule(secs(1), ()).slot, first.slot);
    }

    #[test]
    fn an_event_after_the_horizon_stays() {
        let mut queue = EventQueue::new();
        queue.schedule(secs(3), "late");
        queue.schedule(secs(2), "in time");
        assert_eq!(queue.pop_until(secs(2)), Some((secs(2), "in time")));
        assert_eq!(queue.pop_until(secs(2)), None);
        assert_eq!((queue.now(), queue.len()), (secs(2), 1));
        assert_eq!(queue.pop(), Some((secs(3), "late")));
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

    /// Delays in every byte of a time. Few of them, so equal times are common.
    fn delay() -> impl Strategy<Value = u64> {
        (0u64..8, 0u32..7).prop_map(|(after, byte)| after << (8 * byte))
    }

    /// Ids of all events ever scheduled, so stale ones are common.
    fn step() -> impl Strategy<Value = QueueStep> {
        prop_oneof![
            4 => delay().prop_map(|after| QueueStep::Schedule { after }),
            1 => any::<prop::sample::Index>().prop_map(|id| QueueStep::Cancel { id: id.index(1 << 20) }),
            2 => (any::<prop::sample::Index>(), delay())
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
