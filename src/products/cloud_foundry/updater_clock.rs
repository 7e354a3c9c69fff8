//! The clock of the deployment updater, which handles all deployments of a Cloud Controller.
//!
//! Every 5 s, the updater takes all deployments in progress, gives each to a pool of 50 threads, and waits until all
//! are done. If that takes longer than 5 s, it begins again immediately (`scheduler.rb` and `dispatcher.rb` in
//! `lib/cloud_controller/deployment_updater` of cloudfoundry/cloud_controller_ng). So all deployments of a run have
//! their passes at the same times, and a deployment that is created during a pass waits for the next one.
//!
//! Nobody knows when a pass ends before all of its deployments have begun. So an app of several asks the clock when its
//! deployment exists, and again at each time that the clock names. A single app knows its passes in advance.
//!
//! Left out: the order in which the updater takes its deployments, first those that scale and then those that are
//! cancelled. Here they come in the order in which they were due. If more than 50 deployments are in progress, one that
//! is due exactly when a thread becomes free may begin the next pass before the last deployments of this one.
//!
//! How we know: the tests below are computed by hand; `sim::tests::hub` compares the passes of two apps, one of which
//! is released during a pass of the other.

use crate::rollout::cloud_foundry::UPDATE_FREQUENCY;
use crate::units::{SimDuration, SimTime};

/// The passes of the updater over all deployments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UpdaterClock {
    /// The time at which the last pass began.
    begun: SimTime,
    /// The time at which all of its deployments are done, as far as they have begun.
    ends: SimTime,
    /// The number of apps whose deployments it handles.
    apps: usize,
}

/// When a deployment takes part in a pass of the updater.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PassStart {
    /// Now, in the pass that began at this time.
    In(SimTime),
    /// At this time or later, because the pass before it is not done yet, or because no pass begins now.
    NotBefore(SimTime),
}

impl UpdaterClock {
    /// Adds an app whose deployments the updater handles.
    pub(super) const fn add_app(&mut self) {
        self.apps += 1;
    }

    /// Returns when an app asks for its next pass, if there is nothing to do for it before `at`.
    pub(super) fn asks_at(&self, at: SimTime) -> SimTime {
        if self.apps > 1 {
            at
        } else {
            self.first_pass(at + SimDuration::from_nanos(1))
        }
    }

    /// Returns the time of the first pass at or after `at`, if no other deployment is in progress until then.
    fn first_pass(&self, at: SimTime) -> SimTime {
        let next = self.ends.max(self.begun + UPDATE_FREQUENCY);
        let periods = at
            .saturating_since(next)
            .as_nanos()
            .div_ceil(UPDATE_FREQUENCY.as_nanos());
        next + UPDATE_FREQUENCY * periods
    }

    /// Begins a pass for a deployment that has been due since `due`, unless it belongs to the pass in progress. It may
    /// be later than that, because all threads were busy.
    pub(super) fn join(&mut self, due: SimTime, now: SimTime) -> PassStart {
        if due > self.begun {
            let first = self.first_pass(now);
            if now < first {
                return PassStart::NotBefore(first);
            }
            self.begun = now;
        }
        PassStart::In(self.begun)
    }

    /// Records the end of a deployment's part of the pass.
    pub(super) fn ends_at(&mut self, end: SimTime) {
        self.ends = self.ends.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    #[test]
    fn a_pass_begins_when_all_deployments_of_the_one_before_are_done() {
        let mut clock = UpdaterClock::default();
        assert_eq!(clock.join(at(5), at(5)), PassStart::In(at(5)));
        clock.ends_at(at(6));
        // It waited for a thread, and is still one of the deployments of the first pass.
        assert_eq!(clock.join(at(5), at(6)), PassStart::In(at(5)));
        clock.ends_at(at(12));
        assert_eq!(clock.join(at(10), at(10)), PassStart::NotBefore(at(12)));
        assert_eq!(clock.join(at(12), at(12)), PassStart::In(at(12)));
    }

    #[test]
    fn a_deployment_that_is_created_during_a_pass_waits_for_the_next_one() {
        let mut clock = UpdaterClock::default();
        assert_eq!(clock.join(at(5), at(5)), PassStart::In(at(5)));
        clock.ends_at(at(24));
        assert_eq!(clock.join(at(10), at(24)), PassStart::In(at(24)));
        clock.ends_at(at(42));
        assert_eq!(clock.join(at(26), at(26)), PassStart::NotBefore(at(42)));
        assert_eq!(clock.join(at(42), at(42)), PassStart::In(at(42)));
    }

    #[test]
    fn passes_that_are_not_longer_begin_every_five_seconds() {
        let mut clock = UpdaterClock::default();
        assert_eq!(clock.join(at(5), at(5)), PassStart::In(at(5)));
        clock.ends_at(at(7));
        assert_eq!(clock.join(at(8), at(8)), PassStart::NotBefore(at(10)));
        // Passes without any deployment begin at 10, 15 and 20 s.
        assert_eq!(clock.join(at(21), at(21)), PassStart::NotBefore(at(25)));
        assert_eq!(clock.join(at(25), at(25)), PassStart::In(at(25)));
    }

    #[test]
    fn only_a_single_app_knows_its_passes_in_advance() {
        let mut clock = UpdaterClock::default();
        clock.add_app();
        let asks = [0, 4, 5, 12].map(|secs| clock.asks_at(at(secs)));
        assert_eq!(asks, [at(5), at(5), at(10), at(15)]);
        clock.add_app();
        assert_eq!(clock.asks_at(at(12)), at(12));
    }
}
