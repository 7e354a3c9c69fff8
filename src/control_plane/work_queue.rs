//! The work queue of a controller with its workers, and the timers that add keys to it again.
//!
//! Follows kubernetes/client-go (`util/workqueue`) and controller-runtime. A key that is added while it waits is
//! merged with itself. A key that is added while a worker processes it is processed again afterwards. No two workers
//! process the same key. Keys are processed first come, first served. A rate limiter determines when a failed key
//! returns: the longer wait of a back-off that doubles for each key, and of one token bucket for all keys.
//!
//! The workers belong to the controller, and keys may belong to several rollouts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::{Agenda, Plane};
use crate::engine::Reservations;
use crate::rollout::{QueueRequest, back_off};
use crate::units::{SimDuration, SimTime};

/// A controller's work queue with its workers and timers. `K`: keys; `S`: the controller's own steps in time.
#[derive(Clone, Debug)]
pub struct Runtime<K, S> {
    /// Whether the release has begun; before it no worker takes a key.
    is_released: bool,
    free_workers: usize,
    waiting: VecDeque<K>,
    /// The keys that wait, are being processed, or have a timer.
    keys: BTreeMap<K, QueuedKey>,
    agenda: Agenda<Due<K, S>>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct QueuedKey {
    is_waiting: bool,
    /// Whether a worker is processing the key.
    is_taken: bool,
    /// The time and the number of the timer that adds the key.
    timer: Option<(SimTime, u32)>,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug)]
enum Due<K, S> {
    Add(K),
    /// A worker is done with a key, and whether the pass has reported completion.
    Finished(K, bool),
    Step(S),
}

impl<K: Copy + Ord, S> Runtime<K, S> {
    /// Creates the queue of a product's only controller, with this number of workers.
    pub fn new(workers: usize) -> Self {
        Self::of_controller(0, workers)
    }

    /// Creates the queue of a product's controller with this number ([`Agenda::of_controller`]).
    pub fn of_controller(number: u32, workers: usize) -> Self {
        Self {
            is_released: false,
            free_workers: workers,
            waiting: VecDeque::new(),
            keys: BTreeMap::new(),
            agenda: Agenda::of_controller(number),
        }
    }

    /// Lets workers take keys from now on.
    pub fn start(&mut self) {
        self.is_released = true;
    }

    /// Lets workers take keys from now on, and adds the key of the release.
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

    /// Adds a key at a time. If it is added twice, the earlier time applies.
    pub fn add_at(&mut self, key: K, at: SimTime, plane: &mut Plane<'_>) {
        let state = self.keys.entry(key).or_default();
        match state.timer {
            Some((before, _)) if before <= at => return,
            Some((_, number)) => _ = self.agenda.cancel(number, plane),
            None => {}
        }
        state.timer = Some((at, self.agenda.add(at, Due::Add(key), plane)));
    }

    /// Sets a timer for one of the controller's own steps. Returns its number.
    pub fn step(&mut self, at: SimTime, step: S, plane: &mut Plane<'_>) -> u32 {
        self.agenda.add(at, Due::Step(step), plane)
    }

    /// Cancels a timer of [`Self::step`].
    pub fn cancel(&mut self, number: u32, plane: &mut Plane<'_>) {
        self.agenda.cancel(number, plane);
    }

    /// Handles a timer. Returns the controller's step, if it was for one.
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

    /// Returns the purpose of a pending timer, as a name for counts; `step` names the controller's own steps. `None`:
    /// the timer belongs to another queue.
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

    /// Returns the next key for a free worker. A timer of the key stays, as in client-go. The status of a completed
    /// pass is shown before the next pass begins.
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

    /// Ends a worker's processing of a key, which is queued again if it was added meanwhile.
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

    /// Ends the pass of a key at `end`, when the product's objects show what it has written. `created`: the number of
    /// objects that it creates. `completes`: the objects show the rollout as complete.
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

    /// Returns whether a worker is processing a key.
    pub fn is_busy(&self) -> bool {
        self.keys.values().any(|state| state.is_taken)
    }

    /// Returns the controller's own pending steps.
    pub fn steps(&self) -> impl Iterator<Item = &S> {
        self.agenda.iter().filter_map(|due| match due {
            Due::Step(step) => Some(step),
            _ => None,
        })
    }

    /// Returns whether nothing is pending here.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.agenda.iter().next().is_none()
    }
}

/// Determines when a failed key is added again.
#[derive(Clone, Debug)]
pub struct RateLimiter<K> {
    bucket: Reservations,
    failures: BTreeMap<K, u32>,
}

impl<K: Copy + Ord> RateLimiter<K> {
    /// Maximum requeues per second of all keys together, and the burst. Source: `DefaultTypedControllerRateLimiter` of
    /// client-go.
    const PER_SECOND: f64 = 10.0;
    const BURST: u32 = 100;

    /// Creates controller-runtime's default limiter.
    pub fn controller_default() -> Self {
        Self {
            bucket: Reservations::new(Self::PER_SECOND, Self::BURST),
            failures: BTreeMap::new(),
        }
    }

    /// Returns the time at which a key that fails now is added again.
    pub fn again(&mut self, key: K, now: SimTime) -> SimTime {
        let failures = self.failures.entry(key).or_default();
        let wait = back_off(*failures);
        *failures += 1;
        let turn = self.bucket.reserve(now);
        turn.max(now + wait)
    }

    /// Returns the time at which a key whose pass ends with this request is added again.
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

    /// Resets the back-off of a key that has succeeded.
    pub fn forget(&mut self, key: K) {
        self.failures.remove(&key);
    }
}

/// Workers that are occupied by each task for a duration that is known at its start.
#[derive(Clone, Debug)]
pub struct WorkerPool {
    size: usize,
    /// The time at which each worker in use becomes free.
    busy: BinaryHeap<Reverse<SimTime>>,
}

impl WorkerPool {
    /// Creates a pool of this number of workers.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            busy: BinaryHeap::new(),
        }
    }

    /// Assigns work of this duration to the first free worker. Returns its end.
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
