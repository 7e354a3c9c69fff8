//! The queue of pending events, which is also the clock.
//!
//! Order: earliest first; at equal times, in the order in which they were scheduled. Models may rely on this order.
//!
//! Events stay in slots. Tickets, each with a time and a slot, determine their order. Tickets are in a wheel, or in a
//! sorted list of those that are due next. When that list is empty, the wheel's next list is opened: a short list is
//! sorted, a long one is distributed over the lists of lower bytes (see `wheel`). So a ticket is moved two or three
//! times, always together with its neighbours in memory. A slot is accessed when its event is scheduled, when its list
//! is opened, and when the event is handled.
//!
//! A cancelled event leaves its slot immediately. Its ticket becomes void, and is dropped when it is due or when void
//! tickets outnumber the others. So scheduling and cancelling cost O(1). Popping an event costs at most eight moves of
//! its ticket, and its share of the cost of sorting a short list.
//!
//! Left out: priorities among simultaneous events. A model that needs them schedules events in that order.

mod wheel;

use std::cmp::Ordering;
use std::collections::VecDeque;

use fleetsim_units::{SimDuration, SimTime};
use wheel::{EventTicket, Wheel};

/// Maximum number of tickets in a list that is sorted. In tests this and the limits below are smaller, so that few
/// events suffice.
const SHORT: usize = if cfg!(test) { 4 } else { 512 };
/// Number of bits for an index into a list that is sorted.
const PLACE: u32 = 10;
/// Maximum number of tickets that are due next when a ticket is inserted among them.
const CROWD: usize = 2 * SHORT;
/// Number of void tickets that never cause them to be dropped.
const FEW: usize = if cfg!(test) { 8 } else { 4096 };

/// Identifies a scheduled event. The id becomes stale once the event is handled or cancelled; a stale id has no
/// effect.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EventId {
    slot: u32,
    generation: u32,
}

/// Pending events, earliest first, and the current time.
///
/// ```
/// use fleetsim_world::engine::EventQueue;
/// use fleetsim_units::{SimDuration, SimTime};
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
    slots: Vec<Slot<E>>,
    /// Slots without an event.
    free: Vec<u32>,
    /// All tickets that are due up to `near_until`, in order.
    near: VecDeque<EventTicket>,
    near_until: u64,
    /// All tickets that are due after `near_until`.
    far: Wheel,
    /// Number of tickets, including void ones.
    tickets: usize,
    /// Reused buffer: for each ticket of a list, its time within the list and its index in `opened`.
    keys: Vec<u64>,
    opened: Vec<EventTicket>,
}

/// A slot for a pending event. It may be free.
#[derive(Clone, Debug)]
struct Slot<E> {
    generation: u32,
    /// The stamp of the event's ticket. Each new ticket gets another stamp.
    stamp: u32,
    event: Option<E>,
}

impl<E> EventQueue<E> {
    /// Creates an empty queue; the time is [`SimTime::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            now: SimTime::ZERO,
            handled: 0,
            pending: 0,
            slots: Vec::new(),
            free: Vec::new(),
            near: VecDeque::new(),
            near_until: 0,
            far: Wheel::new(),
            tickets: 0,
            keys: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Returns the time of the last popped event; before the first event, the start of the run.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Returns the number of pending events.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pending
    }

    /// Returns true if no event is pending.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Returns the number of events popped since the start of the run.
    #[must_use]
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Schedules `event` for `at`, after all events already scheduled for that time. `at` may be the current time.
    ///
    /// # Panics
    /// If `at` is in the past, or 2³² events are pending.
    pub fn schedule(&mut self, at: SimTime, event: E) -> EventId {
        self.assert_not_past(at);
        let number = self.free.pop().unwrap_or_else(|| self.new_slot());
        let slot = &mut self.slots[number as usize];
        slot.event = Some(event);
        let generation = slot.generation;
        let stamp = slot.stamp;
        self.add(EventTicket {
            at: at.as_nanos(),
            slot: number,
            stamp,
        });
        self.pending += 1;
        EventId {
            slot: number,
            generation,
        }
    }

    /// Like [`Self::schedule`], for the time `after` from now.
    ///
    /// # Panics
    /// If 2³² events are pending.
    pub fn schedule_in(&mut self, after: SimDuration, event: E) -> EventId {
        self.schedule(self.now + after, event)
    }

    /// Cancels a pending event and returns it. `None` if the event was already handled or cancelled.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        if !self.is_pending(id) {
            return None;
        }
        let event = self.release(id.slot);
        self.drop_void_if_many();
        Some(event)
    }

    /// Moves a pending event to `at`, as if it were cancelled and scheduled again: it is handled after all events
    /// already scheduled for that time, even if `at` is unchanged. The event's id stays valid. Returns `false` when
    /// the event was already handled or cancelled.
    ///
    /// # Panics
    /// If `at` is in the past.
    pub fn reschedule(&mut self, id: EventId, at: SimTime) -> bool {
        self.assert_not_past(at);
        if !self.is_pending(id) {
            return false;
        }
        self.void(id.slot);
        self.add(EventTicket {
            at: at.as_nanos(),
            slot: id.slot,
            stamp: self.slots[id.slot as usize].stamp,
        });
        self.drop_void_if_many();
        true
    }

    /// Schedules the event for `at`, moves it there if it is already pending, or cancels it if `at` is `None`.
    /// `pending` is the event's id, which its handler must clear.
    ///
    /// # Panics
    /// If `at` is in the past, or `pending` is the id of an event that was handled or cancelled.
    pub fn keep_scheduled(&mut self, pending: &mut Option<EventId>, at: Option<SimTime>, event: E) {
        match (at, *pending) {
            (Some(at), Some(id)) => {
                let is_moved = self.reschedule(id, at);
                assert!(
                    is_moved,
                    "an event that is kept scheduled is pending until it is handled"
                );
            }
            (Some(at), None) => *pending = Some(self.schedule(at, event)),
            (None, Some(id)) => {
                self.cancel(id);
                *pending = None;
            }
            (None, None) => {}
        }
    }

    /// Returns the time of the next event. `None` if no event is pending.
    #[must_use]
    pub fn peek_time(&self) -> Option<SimTime> {
        let near = self
            .near
            .iter()
            .find(|ticket| self.is_valid(**ticket))
            .map(|ticket| ticket.at);
        let next = near.or_else(|| self.far.occupied().find_map(|list| self.least(list)));
        next.map(SimTime::from_nanos)
    }

    /// Takes the next event and advances the clock to its time. `None` if no event is pending.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::from_nanos(u64::MAX))
    }

    /// Like [`Self::pop`], for events that are due by `horizon`. `None` if no event is due by then.
    pub fn pop_until(&mut self, horizon: SimTime) -> Option<(SimTime, E)> {
        loop {
            let Some(&ticket) = self.near.front() else {
                if self.open(horizon.as_nanos()) {
                    continue;
                }
                return None;
            };
            let is_valid = self.is_valid(ticket);
            if is_valid && ticket.at > horizon.as_nanos() {
                return None;
            }
            self.near.pop_front();
            self.tickets -= 1;
            if is_valid {
                self.now = SimTime::from_nanos(ticket.at);
                self.handled += 1;
                return Some((self.now, self.release(ticket.slot)));
            }
        }
    }

    fn assert_not_past(&self, at: SimTime) {
        assert!(
            at >= self.now,
            "cannot schedule an event for {at}: the time is already {}",
            self.now
        );
    }

    /// Returns true if the ticket belongs to a pending event.
    #[inline]
    fn is_valid(&self, ticket: EventTicket) -> bool {
        self.slots[ticket.slot as usize].stamp == ticket.stamp
    }

    /// Adds a ticket after all others with the same time.
    #[inline]
    fn add(&mut self, ticket: EventTicket) {
        self.tickets += 1;
        if ticket.at > self.near_until {
            self.far.push(ticket);
        } else if self.near.back().is_none_or(|last| last.at <= ticket.at) {
            self.near.push_back(ticket);
        } else {
            self.insert(ticket);
        }
    }

    /// Inserts a ticket among those that are due next.
    fn insert(&mut self, ticket: EventTicket) {
        if self.near.len() < CROWD {
            let place = self.near.partition_point(|other| other.at <= ticket.at);
            self.near.insert(place, ticket);
            return;
        }
        // There are too many tickets to move: those after the current time go to the wheel.
        self.near_until = self.now.as_nanos();
        self.far.set_base(self.near_until);
        let after = self
            .near
            .partition_point(|other| other.at <= self.near_until);
        for later in self.near.drain(after..) {
            self.far.push(later);
        }
        if ticket.at > self.near_until {
            self.far.push(ticket);
        } else {
            self.near.push_back(ticket);
        }
    }

    /// Opens the wheel's first list. Returns whether anything may be due by `horizon`.
    fn open(&mut self, horizon: u64) -> bool {
        let Some(list) = self.far.first() else {
            return false;
        };
        // Tickets of the highest byte share so few leading bits that a key has no room for the slot.
        if self.far.len(list) <= SHORT && Wheel::within(list) <= u64::MAX >> PLACE {
            self.sort(list);
            return true;
        }
        match self.least(list) {
            Some(least) if least > horizon => return false,
            Some(least) => self.spread(list, least),
            None => self.far.take(list, |_, _| self.tickets -= 1),
        }
        true
    }

    /// Returns the time of the first event in a list. `None`: the list has only void tickets.
    fn least(&self, list: usize) -> Option<u64> {
        let mut least = None;
        self.far.each(list, |ticket| {
            if least.is_none_or(|least| ticket.at < least) && self.is_valid(ticket) {
                least = Some(ticket.at);
            }
        });
        least
    }

    /// Moves the tickets of a short list to those that are due next.
    fn sort(&mut self, list: usize) {
        let Self {
            far, slots, opened, ..
        } = self;
        opened.resize(far.len(list), EventTicket::default());
        // Written without a branch on the content of a slot, so that the processor can fetch many slots concurrently.
        let mut valid = 0;
        let mut some = 0;
        far.take(list, |_, ticket| {
            opened[valid] = ticket;
            valid += usize::from(slots[ticket.slot as usize].stamp == ticket.stamp);
            some = ticket.at;
        });
        self.tickets -= self.opened.len() - valid;
        self.near_until = Wheel::end(list, some);
        let within = Wheel::within(list);
        let Self {
            near, opened, keys, ..
        } = self;
        keys.clear();
        keys.extend(
            opened[..valid]
                .iter()
                .zip(0..)
                .map(|(ticket, place)| (ticket.at & within) << PLACE | place),
        );
        keys.sort_unstable();
        near.extend(keys.iter().map(|key| opened[*key as usize % (1 << PLACE)]));
    }

    /// Moves the tickets of a list to lists of lower bytes. Tickets with time `least`, the time of its first event,
    /// are due next. This first event is handled next, so no event can be scheduled before it any more.
    fn spread(&mut self, list: usize, least: u64) {
        let Self {
            far, near, tickets, ..
        } = self;
        self.near_until = least;
        far.set_base(least);
        far.take(list, |far, ticket| match ticket.at.cmp(&least) {
            Ordering::Greater => far.push(ticket),
            Ordering::Equal => near.push_back(ticket),
            Ordering::Less => *tickets -= 1,
        });
    }

    fn new_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 events are pending");
        self.slots.push(Slot {
            generation: 0,
            stamp: 1,
            event: None,
        });
        slot
    }

    /// Returns true if the event of `id` is pending. An id from another queue may name a slot that does not exist
    /// here.
    fn is_pending(&self, id: EventId) -> bool {
        let slot = self.slots.get(id.slot as usize);
        slot.is_some_and(|slot| slot.generation == id.generation && slot.event.is_some())
    }

    /// Empties a slot. Ids of its event become stale, and the event's ticket becomes void.
    fn release(&mut self, number: u32) -> E {
        self.pending -= 1;
        self.void(number);
        let slot = &mut self.slots[number as usize];
        // A slot whose generations are used up is never reused, so a stale id stays stale.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(number);
        }
        slot.event.take().expect("a valid ticket has an event")
    }

    /// Makes the ticket of a slot void.
    fn void(&mut self, number: u32) {
        let stamp = &mut self.slots[number as usize].stamp;
        *stamp = stamp.wrapping_add(1);
        if *stamp == 0 {
            // No ticket has stamp 0. Stamps restart, so no old ticket of this slot may remain.
            self.drop_void();
            self.slots[number as usize].stamp = 1;
        }
    }

    fn drop_void_if_many(&mut self) {
        if self.tickets - self.pending > FEW + 2 * self.pending {
            self.drop_void();
        }
    }

    fn drop_void(&mut self) {
        let Self {
            near, far, slots, ..
        } = self;
        let mut left = 0;
        let mut is_valid = |ticket: EventTicket| {
            let is_valid = slots[ticket.slot as usize].stamp == ticket.stamp;
            left += usize::from(is_valid);
            is_valid
        };
        near.retain(|&ticket| is_valid(ticket));
        far.retain(is_valid);
        self.tickets = left;
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
