//! Diego's reports of a process, and how the updater counts them.
//!
//! Follows `lib/cloud_controller/diego/reporters/instances_reporter.rb`: a list of long-running processes (LRPs), one
//! for each index; those beyond the desired number are being stopped and are ignored; an index without a report is
//! down. There is no minimum healthy time. The counts are updated with every change, so a pass does not examine each
//! instance.

use std::collections::BTreeSet;
use std::ops::Deref;

/// The state of one instance, as Diego reports it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum LrpState {
    /// No report for this index: the instance is down or does not exist yet.
    #[default]
    Unreported,
    /// The instance waits for a cell (UNCLAIMED without a placement error).
    Unclaimed,
    /// No cell accepts the instance (UNCLAIMED with a placement error).
    PlacementError,
    /// A cell downloads and starts the instance.
    Claimed,
    /// The instance runs and is not routable: its readiness check has not passed.
    RunningNotRoutable,
    /// The instance runs and is routable.
    Running,
    /// The instance ended; Diego starts it again after a back-off.
    Crashed,
    /// Any other state.
    Unknown,
}

impl LrpState {
    /// Returns whether the instance runs, routable or not.
    pub(super) const fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::RunningNotRoutable)
    }

    /// Returns whether Diego is about to change the state.
    const fn is_in_motion(self) -> bool {
        matches!(self, Self::Claimed | Self::Crashed)
    }
}

/// The instances of a process with an index below its desired number, in the updater's three classes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InstanceCounts {
    /// Instances that are running and routable.
    pub routable: u32,
    /// Instances that are claimed, unclaimed without a placement error, or running and not routable.
    pub starting: u32,
    /// All other instances, including those without a report.
    pub unhealthy: u32,
}

impl InstanceCounts {
    /// Returns the counter for instances in this state.
    const fn of_state(&mut self, state: LrpState) -> &mut u32 {
        match state {
            LrpState::Running => &mut self.routable,
            LrpState::RunningNotRoutable | LrpState::Claimed | LrpState::Unclaimed => {
                &mut self.starting
            }
            LrpState::Unreported
            | LrpState::PlacementError
            | LrpState::Crashed
            | LrpState::Unknown => &mut self.unhealthy,
        }
    }
}

/// The states of a process's instances, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceReports {
    states: Vec<LrpState>,
    counts: InstanceCounts,
    /// Instances that are claimed or crashed.
    in_motion: BTreeSet<u32>,
}

impl InstanceReports {
    /// Changes the state of an instance.
    ///
    /// # Panics
    /// If the index has no report.
    pub fn set(&mut self, index: usize, state: LrpState) {
        let old = std::mem::replace(&mut self.states[index], state);
        self.uncount(index as u32, old);
        self.count(index as u32, state);
    }

    /// Adds a report.
    pub fn push(&mut self, state: LrpState) {
        let index = self.states.len() as u32;
        self.states.push(state);
        self.count(index, state);
    }

    /// Removes the last report.
    pub fn pop(&mut self) -> Option<LrpState> {
        let state = self.states.pop()?;
        self.uncount(self.states.len() as u32, state);
        Some(state)
    }

    /// Counts an instance in this state.
    fn count(&mut self, index: u32, state: LrpState) {
        *self.counts.of_state(state) += 1;
        if state.is_in_motion() {
            self.in_motion.insert(index);
        }
    }

    /// Stops counting an instance in this state.
    fn uncount(&mut self, index: u32, state: LrpState) {
        *self.counts.of_state(state) -= 1;
        if state.is_in_motion() {
            self.in_motion.remove(&index);
        }
    }

    /// Returns the instances that are claimed or crashed, by index.
    pub fn in_motion(&self) -> impl Iterator<Item = usize> {
        self.in_motion.iter().map(|index| *index as usize)
    }

    /// Returns the counts of a process that should have `instances`. The cost is proportional to the number of excess
    /// reports.
    pub fn counts(&self, instances: u32) -> InstanceCounts {
        let mut counts = self.counts;
        for state in self.states.iter().skip(instances as usize) {
            *counts.of_state(*state) -= 1;
        }
        counts.unhealthy += instances.saturating_sub(self.states.len() as u32);
        counts
    }
}

impl Deref for InstanceReports {
    type Target = [LrpState];

    fn deref(&self) -> &[LrpState] {
        &self.states
    }
}

impl From<Vec<LrpState>> for InstanceReports {
    fn from(states: Vec<LrpState>) -> Self {
        let mut reports = Self::default();
        for state in states {
            reports.push(state);
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn state() -> impl Strategy<Value = LrpState> {
        use LrpState::{
            Claimed, Crashed, PlacementError, Running, RunningNotRoutable, Unclaimed, Unknown,
            Unreported,
        };
        prop::sample::select(vec![
            Unreported,
            Unclaimed,
            PlacementError,
            Claimed,
            RunningNotRoutable,
            Running,
            Crashed,
            Unknown,
        ])
    }

    /// Counts the instances one by one.
    fn counted(instances: u32, lrps: &[LrpState]) -> InstanceCounts {
        let mut counts = InstanceCounts::default();
        for index in 0..instances as usize {
            *counts.of_state(lrps.get(index).copied().unwrap_or_default()) += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn counts_after_every_change_equal_a_full_count(
            begin in vec(state(), 0..90),
            changes in vec((0..3_u8, 0..120_usize, state()), 0..60),
            wanted in vec(0..130_u32, 1..4),
        ) {
            let (mut reports, mut states) = (InstanceReports::from(begin.clone()), begin);
            for (kind, at, state) in changes {
                match kind {
                    0 if at < states.len() => {
                        reports.set(at, state);
                        states[at] = state;
                    }
                    1 => {
                        reports.push(state);
                        states.push(state);
                    }
                    _ => prop_assert_eq!(reports.pop(), states.pop()),
                }
                for &instances in &wanted {
                    prop_assert_eq!(reports.counts(instances), counted(instances, &states));
                }
                prop_assert_eq!(&reports[..], &states[..]);
                let moving = |index: &usize| matches!(states[*index], LrpState::Claimed | LrpState::Crashed);
                let expected: Vec<usize> = (0..states.len()).filter(moving).collect();
                prop_assert_eq!(reports.in_motion().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn every_instance_is_in_one_of_three_classes() {
        use LrpState::{
            Claimed, Crashed, PlacementError, Running, RunningNotRoutable, Unclaimed, Unknown,
            Unreported,
        };
        let cases: [(u32, &[LrpState], [u32; 3], &str); 7] = [
            (3, &[Running, Running, Running], [3, 0, 0], "all well"),
            (
                3,
                &[RunningNotRoutable, Claimed, Unclaimed],
                [0, 3, 0],
                "on their way",
            ),
            (
                4,
                &[PlacementError, Crashed, Unknown, Unreported],
                [0, 0, 4],
                "none of these comes up by itself",
            ),
            (
                3,
                &[Running],
                [1, 0, 2],
                "an index that Diego does not report is down",
            ),
            (
                1,
                &[Running, Running, Crashed],
                [1, 0, 0],
                "what is beyond the desired number is being stopped",
            ),
            (
                1,
                &[Unreported, Running],
                [0, 0, 1],
                "an index beyond it does not replace one below",
            ),
            (0, &[], [0, 0, 0], "nothing is wanted"),
        ];
        for (instances, lrps, [routable, starting, unhealthy], why) in cases {
            let expected = InstanceCounts {
                routable,
                starting,
                unhealthy,
            };
            assert_eq!(
                InstanceReports::from(lrps.to_vec()).counts(instances),
                expected,
                "{instances} of {lrps:?}: {why}"
            );
        }
    }
}
