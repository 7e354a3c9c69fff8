//! The clock of the deployment updater, which handles all deployments of a Cloud Controller.
//!
//! Every 5 s, the updater takes all deployments in progress, gives each to a pool of 50 threads, and waits until all
//! are done. If that takes longer than 5 s, it begins again immediately (`scheduler.rb` and `dispatcher.rb` in
//! `lib/cloud_controller/deployment_updater` of cloudfoundry/cloud_controller_ng). So all deployments of a run have
//! their passes at the same times.
//!
//! Left out: the order in which the updater takes its deployments, first those that scale and then those that are
//! cancelled. Here they come in the order in which they were due.

use crate::units::SimTime;

/// The passes of the updater over all deployments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UpdaterClock {
    /// The time at which the last pass began.
    begun: SimTime,
    /// The time at which all of its deployments are done, as far as they have begun.
    ends: SimTime,
}

/// When a deployment takes part in a pass of the updater.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PassStart {
    /// Now, in the pass that began at this time.
    In(SimTime),
    /// At this time, because the pass before it is not done yet.
    NotBefore(SimTime),
}

impl UpdaterClock {
    /// Returns the time at which the last pass began.
    pub(super) const fn begun(&self) -> SimTime {
        self.begun
    }

    /// Begins a pass for a deployment that was due at `due`, unless it belongs to the pass in progress. It may be later
    /// than that, because all threads were busy.
    pub(super) fn join(&mut self, due: SimTime, now: SimTime) -> PassStart {
        if due > self.begun {
            if now < self.ends {
                return PassStart::NotBefore(self.ends);
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

    #[test]
    fn a_pass_begins_when_all_deployments_of_the_one_before_are_done() {
        let at = SimTime::from_secs;
        let mut clock = UpdaterClock::default();
        assert_eq!(clock.join(at(5), at(5)), PassStart::In(at(5)));
        clock.ends_at(at(6));
        // It waited for a thread, and is still one of the deployments of the first pass.
        assert_eq!(clock.join(at(5), at(6)), PassStart::In(at(5)));
        clock.ends_at(at(12));
        assert_eq!(clock.join(at(10), at(10)), PassStart::NotBefore(at(12)));
        assert_eq!(clock.join(at(12), at(12)), PassStart::In(at(12)));
        assert_eq!(clock.begun(), at(12), "the period counts from here");
    }
}
