//! A controller's work queue with its workers, and the timers that add keys to the queue again.
//!
//! Follows kubernetes/client-go (`util/workqueue`) and controller-runtime. Adding a key that is already waiting has no
//! effect. A key that is added while a worker processes it is processed again afterwards. No two workers process the
//! same key simultaneously. Keys are processed in the order of their arrival. A rate limiter determines when a failed
//! key returns, after the longer of two waits: a doubling back-off for each key, and a token bucket for all keys.
//!
//! The workers and the token bucket belong to the controller, and its keys to several rollouts. Each application of a
//! run has a queue with its own keys; [`SharedHub`] has what these queues share. A key that is added before the release
//! does not stand in the line for workers.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

use super::hub::{SharedHub, SharedWorkers, WorkerTurn};
use super::{Agenda, Plane};
use crate::engine::Reservations;
use crate::rollout::{QueueRequest, back_off};
use crate::units::{SimDuration, SimTime};

/// A controller's work queue with its workers and timers. `K`: keys. `S`: the controller's own timed steps.
#[derive(Debug)]
pub struct Runtime<K, S> {
    /// Whether the release has begun. Before it, workers process no keys.
    is_released: bool,
    workers: SharedWorkers,
    /// The keys that wait for a worker, in order of arrival.
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
    /// The timer that adds the key: its time and its number.
    timer: Option<(SimTime, u32)>,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug)]
enum Due<K, S> {
    Add(K),
    /// A worker finishes processing a key. The flag tells whether the pass reports completion.
    Finished(K, bool),
    Step(S),
}

impl<K: Copy + Ord, S> Runtime<K, S> {
    /// Creates the queue for a product's only controller, with this number of workers, which it does not share.
    pub fn new(workers: usize) -> Self {
        Self::of_controller(0, SharedWorkers::own(workers))
    }

    /// Creates the queue for the product's controller with this number ([`Agenda::of_controller`]).
    pub fn of_controller(number: u32, workers: SharedWorkers) -> Self {
        Self {
            is_released: false,
            workers,
            waiting: VecDeque::new(),
            keys: BTreeMap::new(),
            agenda: Agenda::of_controller(number),
        }
    }

    /// Allows workers to process keys.
    pub fn start(&mut self) {
        if !std::mem::replace(&mut self.is_released, true) {
            for _ in &self.waiting {
                self.workers.join();
            }
        }
    }

    /// Allows workers to process keys, and adds the key for the release.
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

    /// Adds a key to the queue.
    pub fn add(&mut self, key: K) {
        let state = self.keys.entry(key).or_default();
        if !std::mem::replace(&mut state.is_waiting, true) && !state.is_taken {
            self.wait(key);
        }
    }

    /// Adds a key to the end of the line for workers.
    fn wait(&mut self, key: K) {
        self.waiting.push_back(key);
        if self.is_released {
            self.workers.join();
        }
    }

    /// Adds a key at this time. If the key already has a timer, the earlier time applies.
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

    /// Cancels a timer set with [`Self::step`].
    pub fn cancel(&mut self, number: u32, plane: &mut Plane<'_>) {
        self.agenda.cancel(number, plane);
    }

    /// Handles a timer. Returns the controller's step if the timer was set for one.
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

    /// Returns the purpose of a pending timer, as a name for counts. `step` returns the name of a controller's own
    /// step. `None`: the timer belongs to another queue.
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

    /// Returns the next key for a free worker. The key's timer remains, as in client-go. The conditions after a
    /// completed pass are shown before the next pass begins. Call it until it returns `None`, so that another
    /// application gets the workers that are left.
    pub fn take(&mut self, plane: &mut Plane<'_>) -> Option<K> {
        if !self.is_released || plane.is_to_show() {
            return None;
        }
        match self.workers.take() {
            WorkerTurn::Own => {}
            WorkerTurn::Other(application) => {
                plane.wake(application);
                return None;
            }
            WorkerTurn::Nobody => return None,
        }
        let key = self.waiting.pop_front()?;
        let state = self
            .keys
            .get_mut(&key)
            .expect("a key that waits has a state");
        (state.is_waiting, state.is_taken) = (false, true);
        Some(key)
    }

    /// Ends the processing of a key by a worker. The key is queued again if it was added in the meantime.
    pub fn done(&mut self, key: K) {
        self.workers.release();
        let state = self
            .keys
            .get_mut(&key)
            .expect("a key that is taken has a state");
        state.is_taken = false;
        if state.is_waiting {
            self.wait(key);
        } else if *state == QueuedKey::default() {
            self.keys.remove(&key);
        }
    }

    /// Ends the pass for a key at `end`, when the product's objects show the written changes. `created`: the number of
    /// objects that the pass creates. `completes`: whether the objects then show the rollout as complete.
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

    /// Returns whether a worker is processing any key, or all workers are busy with keys of other applications.
    pub fn is_busy(&self) -> bool {
        self.has_waiting() || self.keys.values().any(|state| state.is_taken)
    }

    /// Returns whether a key waits for a worker.
    pub fn has_waiting(&self) -> bool {
        self.is_released && !self.waiting.is_empty()
    }

    /// Returns the controller's own pending steps.
    pub fn steps(&self) -> impl Iterator<Item = &S> {
        self.agenda.iter().filter_map(|due| match due {
            Due::Step(step) => Some(step),
            _ => None,
        })
    }

    /// Returns whether the queue has no pending keys, timers or steps.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.agenda.iter().next().is_none()
    }
}

/// Determines when a failed key is added again.
#[derive(Debug)]
pub struct RateLimiter<K> {
    /// The tokens for all keys of the controller, also those of other applications.
    bucket: Rc<RefCell<Reservations>>,
    failures: BTreeMap<K, u32>,
}

impl<K: Copy + Ord> RateLimiter<K> {
    /// Maximum total requeues per second, and the burst. Source: `DefaultTypedControllerRateLimiter` of client-go.
    const PER_SECOND: f64 = 10.0;
    const BURST: u32 = 100;

    /// Creates controller-runtime's default limiter for the controller with this name.
    pub fn controller_default(hub: &SharedHub, name: &'static str) -> Self {
        let full = Reservations::new(Self::PER_SECOND, Self::BURST);
        Self {
            bucket: hub.part(name, (), full),
            failures: BTreeMap::new(),
        }
    }

    /// Returns the time at which a key that fails now is added again.
    pub fn again(&mut self, key: K, now: SimTime) -> SimTime {
        let failures = self.failures.entry(key).or_default();
        let wait = back_off(*failures);
        *failures += 1;
        let turn = self.bucket.borrow_mut().reserve(now);
        turn.max(now + wait)
    }

    /// Returns the time at which a key is added again when its pass ends with this request.
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

/// A pool of workers for tasks whose duration is known at their start. All applications of a run share it.
#[derive(Debug)]
pub struct WorkerPool {
    pool: Rc<RefCell<PooledWorkers>>,
}

/// The workers of a pool.
#[derive(Debug)]
struct PooledWorkers {
    size: usize,
    /// The time at which each busy worker becomes free.
    busy: BinaryHeap<Reverse<SimTime>>,
}

impl WorkerPool {
    /// Creates the pool with this name, of this number of workers.
    pub fn of_hub(hub: &SharedHub, name: &str, size: usize) -> Self {
        let pool = PooledWorkers {
            size,
            busy: BinaryHeap::new(),
        };
        Self {
            pool: hub.part(name, size, pool),
        }
    }

    /// Gives the pool with this name fewer workers than the `size` that the product asks for.
    #[cfg(test)]
    pub(crate) fn limit(hub: &SharedHub, name: &str, size: usize, fewer: usize) {
        let pool = PooledWorkers {
            size: fewer,
            busy: BinaryHeap::new(),
        };
        hub.part(name, size, pool);
    }

    /// Assigns a task of this duration to the first free worker. Returns the end of the task.
    pub fn work(&mut self, now: SimTime, duration: SimDuration) -> SimTime {
        let PooledWorkers { size, busy } = &mut *self.pool.borrow_mut();
        let is_free = busy.peek().is_some_and(|Reverse(free)| *free <= now);
        let begin = if is_free || busy.len() >= *size {
            busy.pop().map_or(now, |Reverse(free)| free.max(now))
        } else {
            now
        };
        busy.push(Reverse(begin + duration));
        begin + duration
    }
}
