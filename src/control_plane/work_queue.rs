//! The work queue of a controller with its workers, and the timers that put keys back into it.
//!
//! Follows kubernetes/client-go (`util/workqueue`) and controller-runtime: a key that is added while it waits is
//! merged with itself, one that is added while a worker is at it comes up again when that worker is done, and no two
//! workers are at one key. Keys wait first come, first served. A rate limiter says when a failed key comes back: the
//! larger of a back-off that doubles for each key and one bucket for all keys.
//!
//! The workers belong to the controller, and keys may be of several rollouts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::{Agenda, Plane};
use crate::engine::Reservations;
use crate::rollout::{QueueRequest, back_off};
use crate::units::{SimDuration, SimTime};

/// A controller's work queue with its workers and timers. `K`: keys; `S`: the controller's own steps in time.
#[derive(Clone, Debug)]
pub struct Runtime<K, S> {
    /// The release has begun; before it no worker takes a key.
    is_released: bool,
    free_workers: usize,
    waiting: VecDeque<K>,
    /// The keys that wait or that a worker is at, or that have a timer.
    keys: BTreeMap<K, QueuedKey>,
    agenda: Agenda<Due<K, S>>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct QueuedKey {
    is_waiting: bool,
    /// A worker is at it.
    is_taken: bool,
    /// The time and the number of the timer that adds it.
    timer: Option<(SimTime, u32)>,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug)]
enum Due<K, S> {
    Add(K),
    /// A worker is done with a key. The pass has reported completion, or has not.
    Finished(K, bool),
    Step(S),
}

impl<K: Copy + Ord, S> Runtime<K, S> {
    /// The queue of a product's only controller, with this number of workers.
    pub fn new(workers: usize) -> Self {
        Self::of_controller(0, workers)
    }

    /// The queue of a product's controller of this number ([`Agenda::of_controller`]).
    pub fn of_controller(number: u32, workers: usize) -> Self {
        Self {
            is_released: false,
            free_workers: workers,
            waiting: VecDeque::new(),
            keys: BTreeMap::new(),
            agenda: Agenda::of_controller(number),
        }
    }

    /// Workers take keys from now on.
    pub fn start(&mut self) {
        self.is_released = true;
    }

    /// Workers take keys from now on. The release adds this one.
    pub fn release(&mut self, key: K) {
        self.start();
        self.add(key);
    }

    /// Removes the timer that adds a key.
    pub fn clear_timer(&mut self, key: K, plane: &mut Plane<'_>) {
        if let Some((_, number)) = self.keys.get_mut(&key).and_then(|state| state.timer.take()) {
            self.agenda.cancel(number, plane);
        }
    }

    /// Adds a key.
    pub fn add(&mut self, key: K) {
        let state = self.keys.entry(key).or_default();
        if !std::mem::replace(&mut state.is_waiting, true) && !state.is_taken {
            self.waiting.push_back(key);
        }
    }

    /// Adds a key at a time. The earlier one counts if there are two.
    pub fn add_at(&mut self, key: K, at: SimTime, plane: &mut Plane<'_>) {
        let state = self.keys.entry(key).or_default();
        match state.timer {
            Some((before, _)) if before <= at => return,
            Some((_, number)) => _ = self.agenda.cancel(number, plane),
            None => {}
        }
        state.timer = Some((at, self.agenda.add(at, Due::Add(key), plane)));
    }

    /// Sets a timer for a step of the controller's own. Returns its number.
    pub fn step(&mut self, at: SimTime, step: S, plane: &mut Plane<'_>) -> u32 {
        self.agenda.add(at, Due::Step(step), plane)
    }

    /// Removes a timer of [`Self::step`] before its time.
    pub fn cancel(&mut self, number: u32, plane: &mut Plane<'_>) {
        self.agenda.cancel(number, plane);
    }

    /// A timer goes off. Returns the controller's step, if it was for one.
    pub fn due(&mut self, number: u32, plane: &mut Plane<'_>) -> Option<S> {
        match self.agenda.take(number)? {
            Due::Step(step) => return Some(step),
            Due::Add(key) => {
                self.keys.entry(key).or_default().timer = None;
                self.add(key);
            }
            Due::Finished(key, completes) => {
                self.done(key);
                plane.shows();
                if completes {
                    plane.reports_completion(plane.now());
                }
            }
        }
        None
    }

    /// The purpose of a pending timer, in words for a count; `step` names the controller's own steps. `None`: it is of
    /// another queue.
    pub fn timer_kind(
        &self,
        number: u32,
        step: impl Fn(&S) -> &'static str,
    ) -> Option<&'static str> {
        Some(match self.agenda.peek(number)? {
            Due::Add(_) => "timers that start a pass",
            Due::Finished(..) => "ends of a pass",
            Due::Step(of) => step(of),
        })
    }

    /// The next key that a free worker takes. A timer of the key stays, as in client-go. A pass that has ended is shown
    /// before the next one begins.
    pub fn take(&mut self, plane: &Plane<'_>) -> Option<K> {
        if !self.is_released || self.free_workers == 0 || plane.is_to_show() {
            return None;
        }
        let key = self.waiting.pop_front()?;
        self.free_workers -= 1;
        let state = self
            .keys
            .get_mut(&key)
            .expect("a key that waits has a state");
        (state.is_waiting, state.is_taken) = (false, true);
        Some(key)
    }

    /// A worker is done with a key, which comes up again if it was added meanwhile.
    pub fn done(&mut self, key: K) {
        self.free_workers += 1;
        let state = self
            .keys
            .get_mut(&key)
            .expect("a key that is taken has a state");
        state.is_taken = false;
        if state.is_waiting {
            self.waiting.push_back(key);
        } else if *state == QueuedKey::default() {
            self.keys.remove(&key);
        }
    }

    /// The pass of a key ends at `end`: the product's objects then show what it has written. `created`: objects that it
    /// creates. `completes`: they show the rollout as complete.
    pub fn end_pass(
        &mut self,
        key: K,
        end: SimTime,
        created: u64,
        completes: bool,
        plane: &mut Plane<'_>,
    ) {
        plane.pass_until(end, created);
        self.agenda.add(end, Due::Finished(key, completes), plane);
    }

    /// Whether a worker is at a key.
    pub fn is_busy(&self) -> bool {
        self.keys.values().any(|state| state.is_taken)
    }

    /// The controller's own steps that are still to come.
    pub fn steps(&self) -> impl Iterator<Item = &S> {
        self.agenda.iter().filter_map(|due| match due {
            Due::Step(step) => Some(step),
            _ => None,
        })
    }

    /// Whether nothing is to come here.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.agenda.iter().next().is_none()
    }
}

/// When a failed key comes back.
#[derive(Clone, Debug)]
pub struct RateLimiter<K> {
    bucket: Reservations,
    failures: BTreeMap<K, u32>,
}

impl<K: Copy + Ord> RateLimiter<K> {
    /// Requeues a second of all keys together, and how many may come at once. Source:
    /// `DefaultTypedControllerRateLimiter` of client-go.
    const PER_SECOND: f64 = 10.0;
    const BURST: u32 = 100;

    /// Controller-runtime's default.
    pub fn controller_default() -> Self {
        Self {
            bucket: Reservations::new(Self::PER_SECOND, Self::BURST),
            failures: BTreeMap::new(),
        }
    }

    /// When a key that fails now comes back.
    pub fn again(&mut self, key: K, now: SimTime) -> SimTime {
        let failures = self.failures.entry(key).or_default();
        let wait = back_off(*failures);
        *failures += 1;
        let turn = self.bucket.reserve(now);
        turn.max(now + wait)
    }

    /// When a key comes back whose pass ends with this request.
    pub fn requeue(&mut self, key: K, end: SimTime, request: QueueRequest) -> Option<SimTime> {
        if matches!(request, QueueRequest::RateLimited | QueueRequest::Error) {
            return Some(self.again(key, end));
        }
        self.forget(key);
        if let QueueRequest::After(delay) = request {
            Some(end + delay)
        } else {
            None
        }
    }

    /// A key has succeeded: its next failure is its first one.
    pub fn forget(&mut self, key: K) {
        self.failures.remove(&key);
    }
}

/// Workers that each piece of work occupies for a time that is known when it begins.
#[derive(Clone, Debug)]
pub struct WorkerPool {
    size: usize,
    /// When each worker in use is free.
    busy: BinaryHeap<Reverse<SimTime>>,
}

impl WorkerPool {
    /// A pool of this number of workers.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            busy: BinaryHeap::new(),
        }
    }

    /// The first worker that is free takes work of this duration. Returns when it ends.
    pub fn work(&mut self, now: SimTime, duration: SimDuration) -> SimTime {
        let is_free = self.busy.peek().is_some_and(|Reverse(free)| *free <= now);
        let begin = if is_free || self.busy.len() >= self.size {
            self.busy.pop().map_or(now, |Reverse(free)| free.max(now))
        } else {
            now
        };
        self.busy.push(Reverse(begin + duration));
        begin + duration
    }
}
