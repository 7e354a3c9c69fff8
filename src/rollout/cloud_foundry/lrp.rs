//! Diego's reports of a process, and how the updater counts them.
//!
//! Follows `lib/cloud_controller/diego/reporters/instances_reporter.rb`: a list of long-running processes (LRPs), one
//! for each index; those beyond the desired number are being stopped and are ignored; an index without a report is
//! down. No minimum time of being healthy exists.

/// One instance, as Diego reports it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum LrpState {
    /// No report of this index: the instance is down or does not exist yet.
    #[default]
    Unreported,
    /// It waits for a cell (UNCLAIMED without placement error).
    Unclaimed,
    /// No cell takes it (UNCLAIMED with a placement error).
    PlacementError,
    /// A cell fetches and starts it.
    Claimed,
    /// It runs and is not routable: its readiness check has not passed.
    RunningNotRoutable,
    /// It runs and is routable.
    Running,
    /// It ended; Diego starts it again after a back-off.
    Crashed,
    /// Any other state.
    Unknown,
}

/// The instances of a process with an index below its desired number, in the updater's three classes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InstanceCounts {
    /// Running and routable.
    pub routable: u32,
    /// Claimed, unclaimed without placement error, or running and not routable.
    pub starting: u32,
    /// All others, those without a report included.
    pub unhealthy: u32,
}

impl LrpState {
    /// Whether the instance runs, routable or not.
    #[must_use]
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::RunningNotRoutable)
    }
}

impl InstanceCounts {
    /// Counts the LRPs of a process that is to have `instances`.
    #[must_use]
    pub fn of(instances: u32, lrps: &[LrpState]) -> Self {
        let mut counts = Self::default();
        for lrp in lrps.iter().take(instances as usize) {
            *counts.of_state(*lrp) += 1;
        }
        counts.unhealthy += instances.saturating_sub(lrps.len() as u32);
        counts
    }

    /// The number that counts instances in this state.
    pub(super) const fn of_state(&mut self, state: LrpState) -> &mut u32 {
        match state {
            LrpState::Running => &mut self.routable,
            LrpState::RunningNotRoutable | LrpState::Claimed | LrpState::Unclaimed => &mut self.starting,
            LrpState::Unreported | LrpState::PlacementError | LrpState::Crashed | LrpState::Unknown => {
                &mut self.unhealthy
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_is_in_one_of_three_classes() {
        use LrpState::{Claimed, Crashed, PlacementError, Running, RunningNotRoutable, Unclaimed, Unknown, Unreported};
        let cases: [(u32, &[LrpState], [u32; 3], &str); 7] = [
            (3, &[Running, Running, Running], [3, 0, 0], "all well"),
            (3, &[RunningNotRoutable, Claimed, Unclaimed], [0, 3, 0], "on their way"),
            (4, &[PlacementError, Crashed, Unknown, Unreported], [0, 0, 4], "none of these comes up by itself"),
            (3, &[Running], [1, 0, 2], "an index that Diego does not report is down"),
            (1, &[Running, Running, Crashed], [1, 0, 0], "what is beyond the desired number is being stopped"),
            (1, &[Unreported, Running], [0, 0, 1], "an index beyond it does not replace one below"),
            (0, &[], [0, 0, 0], "nothing is wanted"),
        ];
        for (instances, lrps, [routable, starting, unhealthy], why) in cases {
            let expected = InstanceCounts { routable, starting, unhealthy };
            assert_eq!(InstanceCounts::of(instances, lrps), expected, "{instances} of {lrps:?}: {why}");
        }
    }
}
