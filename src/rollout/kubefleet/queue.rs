//! When a controller's key comes up again: the work queue's backoff and its one timer.
//!
//! Follows `pkg/internal/controller/controller.go` of kubernetes-sigs/controller-runtime v0.22.4 and
//! `util/workqueue/{default_rate_limiters,delaying_queue}.go` of kubernetes/client-go v0.34.1, which KubeFleet uses.
//! Left out: the limit of 10 a second over all keys of a controller, which no single rollout reaches.

use crate::units::{SimDuration, SimTime};

/// Backoff of the first failure. Each further one doubles it.
const FIRST: SimDuration = SimDuration::from_millis(5);
/// The longest backoff.
const MOST: SimDuration = SimDuration::from_secs(1000);

/// What a pass asks of its queue.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum QueueRequest {
    /// Nothing; the failure counter is reset.
    #[default]
    None,
    /// To be called again after this long; the failure counter is reset.
    After(SimDuration),
    /// To be called again after the backoff, though nothing went wrong.
    RateLimited,
    /// To be called again after the backoff, because something did.
    Error,
}

/// The queue's memory of one key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WorkQueue {
    key: KeyState,
    /// As it was when the last pass began.
    before: KeyState,
    /// What the last pass asked for.
    next: QueueRequest,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct KeyState {
    failures: u32,
    timer: Option<SimTime>,
}

impl WorkQueue {
    /// A pass begins: a timer that is due is gone.
    pub(super) fn begin(&mut self, now: SimTime) {
        self.key.timer = self.key.timer.filter(|timer| *timer > now);
    }

    /// The pass has ended at once. When the key comes up again, see [`WorkQueue::end_later`].
    pub(super) fn end(&mut self, now: SimTime, next: QueueRequest) -> Option<SimTime> {
        (self.before, self.next) = (self.key, next);
        self.end_later(now)
    }

    /// It turns out that the last pass has ended only now: what it asked for counts from here.
    ///
    /// Gives the time at which the key comes up again: that of the pending timer, which is the earliest that was asked
    /// for and which a wake-up by something else leaves in place; or that of a timer that went off during the pass,
    /// after which the key comes up again at once, and the timer that this pass asked for is pending beside.
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
            QueueRequest::RateLimited | QueueRequest::Error => Some(self.back_off()),
        };
        let gone_off = self.timer.take_if(|timer| *timer <= now);
        let asked = delay.map(|delay| now + delay);
        self.timer = [self.timer, asked].into_iter().flatten().min();
        gone_off.or(self.timer)
    }

    fn back_off(&mut self) -> SimDuration {
        // 5 ms x 2^18 is above 1 000 s.
        let factor = 1_u64 << self.failures.min(18);
        self.failures += 1;
        (FIRST * factor).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_a_thousand_seconds_and_a_good_pass_resets_it() {
        let mut queue = WorkQueue::default();
        let mut now = SimTime::ZERO;
        let mut delays = Vec::new();
        for _ in 0..20 {
            let at = queue.end(now, QueueRequest::Error).expect("a time");
            delays.push(at.since(now));
            now = at;
            queue.begin(now);
        }
        assert_eq!(delays[..3], [5, 10, 20].map(SimDuration::from_millis));
        assert_eq!(delays[17], SimDuration::from_millis(655_360));
        assert_eq!(delays[18..], [MOST, MOST]);
        assert_eq!(
            queue.end(now, QueueRequest::After(SimDuration::from_secs(15))),
            Some(now + SimDuration::from_secs(15))
        );
        assert_eq!(queue.end(now, QueueRequest::RateLimited), Some(now + FIRST), "reset, and the earlier timer counts");
    }

    #[test]
    fn a_timer_that_goes_off_during_a_pass_has_another_follow_and_leaves_what_the_first_asked_for() {
        let at = SimTime::from_secs;
        let wait = |secs| QueueRequest::After(SimDuration::from_secs(secs));
        let mut queue = WorkQueue::default();
        assert_eq!(queue.end(SimTime::ZERO, wait(15)), Some(at(15)));
        // Woken early, and still at work when the timer goes off.
        queue.begin(at(14));
        assert_eq!(queue.end(at(16), wait(60)), Some(at(15)), "at once");
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
        assert_eq!(queue.end(SimTime::from_secs(60), QueueRequest::None), None, "it came");
    }
}
