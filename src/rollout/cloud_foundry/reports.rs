//! Diego's reports of a process's instances, with counts that follow every change, so that a pass does not look at
//! each.
//!
//! [`InstanceCounts::of`] counts the same instance by instance, and is the oracle.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::lrp::{InstanceCounts, LrpState};

/// The states of a process's instances, by index.
#[derive(Clone, Debug, Default)]
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
    /// If it is not reported.
    pub fn set(&mut self, index: usize, state: LrpState) {
        let old = std::mem::replace(&mut self.states[index], state);
        self.count(index, old, false);
        self.count(index, state, true);
    }

    /// Adds a report.
    pub fn push(&mut self, state: LrpState) {
        self.states.push(state);
        self.count(self.states.len() - 1, state, true);
    }

    /// Removes the last report.
    pub fn pop(&mut self) -> Option<LrpState> {
        let state = self.states.pop()?;
        self.count(self.states.len(), state, false);
        Some(state)
    }

    /// Removes reports, or adds some in this state, until there are `len`.
    pub fn resize(&mut self, len: usize, state: LrpState) {
        while self.states.len() > len {
            self.pop();
        }
        while self.states.len() < len {
            self.push(state);
        }
    }

    /// Instances that are claimed or crashed, by index.
    pub fn in_motion(&self) -> impl Iterator<Item = usize> {
        self.in_motion.iter().map(|index| *index as usize)
    }

    /// As [`InstanceCounts::of`], at the cost of the reports beyond `instances`.
    #[must_use]
    pub fn counts(&self, instances: u32) -> InstanceCounts {
        let mut counts = self.counts;
        for state in self.states.iter().skip(instances as usize) {
            *counts.of_state(*state) -= 1;
        }
        counts.unhealthy += instances.saturating_sub(self.states.len() as u32);
        debug_assert!(self.states.len() > 64 || counts == InstanceCounts::of(instances, &self.states));
        counts
    }

    fn count(&mut self, index: usize, state: LrpState, is_added: bool) {
        let number = self.counts.of_state(state);
        if is_added {
            *number += 1;
        } else {
            *number -= 1;
        }
        if !matches!(state, LrpState::Claimed | LrpState::Crashed) {
        } else if is_added {
            self.in_motion.insert(index as u32);
        } else {
            self.in_motion.remove(&(index as u32));
        }
    }
}

impl Deref for InstanceReports {
    type Target = [LrpState];

    fn deref(&self) -> &[LrpState] {
        &self.states
    }
}

impl PartialEq for InstanceReports {
    fn eq(&self, other: &Self) -> bool {
        self.states == other.states
    }
}

impl From<Vec<LrpState>> for InstanceReports {
    fn from(states: Vec<LrpState>) -> Self {
        states.into_iter().collect()
    }
}

impl FromIterator<LrpState> for InstanceReports {
    fn from_iter<T: IntoIterator<Item = LrpState>>(states: T) -> Self {
        let mut reports = Self::default();
        states.into_iter().for_each(|state| reports.push(state));
        reports
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn state() -> impl Strategy<Value = LrpState> {
        use LrpState::{Claimed, Crashed, PlacementError, Running, RunningNotRoutable, Unclaimed, Unknown, Unreported};
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

    proptest! {
        #[test]
        fn counts_after_every_change_are_those_of_counting_each(
            begin in vec(state(), 0..90),
            changes in vec((0..4_u8, 0..120_usize, state()), 0..60),
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
                    2 => prop_assert_eq!(reports.pop(), states.pop()),
                    _ => {
                        reports.resize(at, state);
                        states.resize(at, state);
                    }
                }
                for &instances in &wanted {
                    prop_assert_eq!(reports.counts(instances), InstanceCounts::of(instances, &states));
                }
                prop_assert_eq!(&reports[..], &states[..]);
                let moving = |index: &usize| matches!(states[*index], LrpState::Claimed | LrpState::Crashed);
                let expected: Vec<usize> = (0..states.len()).filter(moving).collect();
                prop_assert_eq!(reports.in_motion().collect::<Vec<_>>(), expected);
            }
        }
    }
}
