//! When a controller processes a key again: the work queue's backoff and its timer.
//!
//! Follows `pkg/internal/controller/controller.go` of kubernetes-sigs/controller-runtime v0.22.4 and
//! `util/workqueue/delaying_queue.go` of kubernetes/client-go v0.34.1, which KubeFleet uses.
//! Left out: the limit of 10 per second over all keys of a controller, which a single rollout does not reach.

use crate::rollout::back_off;
use crate::units::{SimDuration, SimTime};

/// The request of a pass to its queue.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum QueueRequest {
    /// No requeue; the failure counter is reset.
    #[default]
    None,
    /// Requeue after this long; the failure counter is reset.
    After(SimDuration),
    /// Requeue after the backoff, without an error.
    RateLimited,
    /// Requeue after the backoff, because of an error.
    Error,
}

/// The queue's state of one key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WorkQueue {
    key: KeyState,
    /// The state when the last pass started.
    before: KeyState,
    /// The request of the last pass.
    next: QueueRequest,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct KeyState {
    failures: u32,
    timer: Option<SimTime>,
}

impl WorkQueue {
    /// A pass starts: a timer that is due is removed.
    pub(super) fn begin(&mut self, now: SimTime) {
        self.key.timer = self.key.timer.filter(|timer| *timer > now);
    }

    /// A pass has failed, and its backoff is over: the next one is longer.
    pub(super) fn has_failed(&mut self) {
        self.key.failures += 1;
    }

    /// The pass has ended immediately. See [`WorkQueue::end_later`] for the returned time.
    pub(super) fn end(&mut self, now: SimTime, next: QueueRequest) -> Option<SimTime> {
        (self.before, self.next) = (self.key, next);
        self.end_later(now)
    }

    /// As [`WorkQueue::end_later`], of a pass that has ended with an error.
    pub(super) fn fail_later(&mut self, now: SimTime) -> Option<SimTime> {
        self.next = QueueRequest::Error;
        self.end_later(now)
    }

    /// The last pass has ended only now: its request counts from here.
    ///
    /// Returns the time at which the key is processed again: that of the pending timer, which is the earliest
    /// requested and which other wake-ups leave in place; or that of a timer that expired during the pass, after
    /// which the key is processed again immediately while the timer requested by this pass stays pending.
    pub(super) fn end_later(&mut self, now: SimTime) -> Option<SimTime> {
        self.key = self.before;
        self.key.end(now, self.next)
    }
}

impl KeyState {
    fn end(&mut self, now: SimTime, next: QueueRequest) -> Option<SimTime> {
        let delay = match next {
            QueueRequest::None => {
                self.failures = 0;
                None
            }
            QueueRequest::After(delay) => {
                self.failures = 0;
                Some(delay)
            }
            QueueRequest::RateLimited | QueueRequest::Error => {
                self.failures += 1;
                Some(back_off(self.failures - 1))
            }
        };
        let gone_off = self.timer.take_if(|timer| *timer <= now);
        let asked = delay.map(|delay| now + delay);
        self.timer = [self.timer, asked].into_iter().flatten().min();
        gone_off.or(self.timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_succeeds_resets_the_backoff() {
        let mut queue = WorkQueue::default();
        let mut now = SimTime::ZERO;
        for wait in [5, 10, 20].map(SimDuration::from_millis) {
            let at = queue.end(now, QueueRequest::Error).expect("a time");
            assert_eq!(at.since(now), wait);
            now = at;
            queue.begin(now);
        }
        let quarter = SimDuration::from_secs(15);
        assert_eq!(queue.end(now, QueueRequest::After(quarter)), Some(now + quarter));
        let again = queue.end(now, QueueRequest::RateLimited);
        assert_eq!(again, Some(now + SimDuration::from_millis(5)), "reset, and the earlier timer counts");
    }

    #[test]
    fn a_timer_that_expires_during_a_pass_causes_another_and_keeps_the_requested_timer() {
        let at = SimTime::from_secs;
        let wait = |secs| QueueRequest::After(SimDuration::from_secs(secs));
        let mut queue = WorkQueue::default();
        assert_eq!(queue.end(SimTime::ZERO, wait(15)), Some(at(15)));
        // Woken early, and still running when the timer expires.
        queue.begin(at(14));
        assert_eq!(queue.end(at(16), wait(60)), Some(at(15)), "immediately");
        queue.begin(at(16));
        assert_eq!(queue.end(at(18), wait(300)), Some(at(76)), "60 s from the end of the first pass");
    }

    #[test]
    fn an_early_wake_up_leaves_the_timer_in_place() {
        let mut queue = WorkQueue::default();
        let minute = SimDuration::from_secs(60);
        let due = queue.end(SimTime::ZERO, QueueRequest::After(minute));
        let early = SimTime::from_secs(7);
        queue.begin(early);
        assert_eq!(queue.end(early, QueueRequest::After(minute)), due);
        queue.begin(SimTime::from_secs(60));
        assert_eq!(queue.end(SimTime::from_secs(60), QueueRequest::None), None, "it expired");
    }
}
