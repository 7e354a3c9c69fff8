//! A controller's work queue, which decides by backoff and timer when a key is processed again. Passes take no time.
//!
//! Follows `pkg/internal/controller/controller.go` of kubernetes-sigs/controller-runtime v0.22.4 and
//! `util/workqueue/delaying_queue.go` of kubernetes/client-go v0.34.1, which KubeFleet uses. The simulation uses the
//! control plane's queue instead.

use fleetsim_rollout::{QueueRequest, back_off};
use fleetsim_units::SimTime;

/// The queue's state for one key.
#[derive(Default)]
pub struct WorkQueue {
    failures: u32,
    timer: Option<SimTime>,
}

impl WorkQueue {
    /// Runs a pass that takes no time. Returns when the key is processed again: at the time of the earliest requested
    /// timer. Other wake-ups do not change that timer.
    pub fn pass(&mut self, now: SimTime, next: QueueRequest) -> Option<SimTime> {
        self.timer = self.timer.filter(|timer| *timer > now);
        let delay = match next {
            QueueRequest::None => None,
            QueueRequest::After(delay) => Some(delay),
            QueueRequest::RateLimited | QueueRequest::Error => {
                self.failures += 1;
                Some(back_off(self.failures - 1))
            }
        };
        if !matches!(next, QueueRequest::RateLimited | QueueRequest::Error) {
            self.failures = 0;
        }
        self.timer = [self.timer, delay.map(|delay| now + delay)]
            .into_iter()
            .flatten()
            .min();
        self.timer
    }
}
