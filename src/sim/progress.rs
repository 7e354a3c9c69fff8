//! The progress of a rollout, as its product sees it.

use std::ops::Range;

use crate::units::SimTime;
use crate::world::TargetId;

/// The targets that are done, and the time at which each count of done targets was first reached.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    done: Vec<bool>,
    count: usize,
    /// The times at which one, two, three and more targets were first done simultaneously.
    first: Vec<SimTime>,
    /// Every change, in the order of time.
    changes: Vec<TargetChange>,
    /// The number of changes before each time at which another revision was wanted of some targets.
    begun: Vec<usize>,
}

/// A change of a target between done and not done.
#[derive(Clone, Copy, Debug)]
struct TargetChange {
    at: SimTime,
    target: TargetId,
    is_done: bool,
}

/// A change after which a target is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoneChange {
    /// The change's index among all changes.
    pub(super) number: usize,
    pub(super) at: SimTime,
    pub(super) target: TargetId,
}

impl Progress {
    pub(super) fn new(targets: usize) -> Self {
        Self {
            done: vec![false; targets],
            count: 0,
            first: Vec::with_capacity(targets),
            changes: Vec::with_capacity(targets),
            begun: Vec::new(),
        }
    }

    /// Records whether a target is done.
    pub(super) fn set(&mut self, target: TargetId, is_done: bool, now: SimTime) {
        let was_done = std::mem::replace(&mut self.done[target.index()], is_done);
        match (was_done, is_done) {
            (false, true) => self.count += 1,
            (true, false) => self.count -= 1,
            (true, true) | (false, false) => return,
        }
        self.changes.push(TargetChange {
            at: now,
            target,
            is_done,
        });
        if self.count > self.first.len() {
            self.first.push(now);
        }
    }

    /// Begins anew for a range of targets, for which another revision is wanted now: none of them is done.
    pub(super) fn begin_anew(&mut self, targets: Range<usize>, now: SimTime) {
        for target in targets {
            self.set(TargetId::at(target), false, now);
        }
        self.first.truncate(self.count);
        self.begun.push(self.changes.len());
    }

    /// Returns the time of the last change after which a target was done. `None`: there was none.
    pub(super) fn last_done(&self) -> Option<SimTime> {
        let mut changes = self.changes.iter().rev();
        Some(changes.find(|change| change.is_done)?.at)
    }

    pub(super) fn is_done(&self, target: TargetId) -> bool {
        self.done[target.index()]
    }

    /// Returns the time at which all of these targets were first done simultaneously, for what is wanted now. `None`:
    /// this never happened, or the set is empty.
    pub(super) fn all_of(&self, among: &[bool]) -> Option<SimTime> {
        let wanted = among.iter().filter(|is_wanted| **is_wanted).count();
        let mut done = 0;
        let mut reached = None;
        for (number, change) in self.changes.iter().enumerate() {
            if done < wanted && self.begun.binary_search(&number).is_ok() {
                reached = None;
            }
            if !among[change.target.index()] {
                continue;
            }
            if change.is_done {
                done += 1;
            } else {
                done -= 1;
            }
            if done == wanted && reached.is_none() {
                reached = Some(change.at);
            }
        }
        let is_begun_last = self.begun.last() == Some(&self.changes.len()) && done < wanted;
        reached.filter(|_| !is_begun_last)
    }

    /// Returns the last change after which a target is done, with an index below `before` and a time not after
    /// `until`.
    pub(super) fn done_until(&self, until: SimTime, before: usize) -> Option<DoneChange> {
        let end = self.changes.partition_point(|change| change.at <= until);
        let changes = &self.changes[..end.min(before)];
        let number = changes.iter().rposition(|change| change.is_done)?;
        Some(DoneChange {
            number,
            at: changes[number].at,
            target: changes[number].target,
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.count == self.done.len()
    }

    /// Returns the maximum number of targets that were done simultaneously.
    pub(super) const fn most_done(&self) -> usize {
        self.first.len()
    }

    pub(super) const fn targets(&self) -> u64 {
        self.done.len() as u64
    }

    pub(super) const fn done(&self) -> u64 {
        self.count as u64
    }

    /// Returns the time at which this share of the targets, rounded up, was first done. `None`: the share was never
    /// reached.
    pub(super) fn reached(&self, share: f64) -> Option<SimTime> {
        let wanted = (share * self.done.len() as f64).ceil() as usize;
        self.first.get(wanted.max(1) - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::from_secs(seconds)
    }

    #[test]
    fn targets_of_a_new_release_are_done_again_before_a_share_is_reached() {
        let mut progress = Progress::new(3);
        for target in 0..3 {
            progress.set(TargetId(target), true, at(1));
        }
        progress.begin_anew(1..3, at(5));
        assert!(!progress.is_complete());
        assert_eq!(progress.all_of(&[true, true, true]), None);
        assert_eq!(progress.all_of(&[true, false, false]), Some(at(1)));
        assert_eq!(
            (progress.most_done(), progress.last_done()),
            (1, Some(at(1)))
        );
        progress.set(TargetId(1), true, at(6));
        progress.set(TargetId(2), true, at(7));
        assert_eq!(progress.reached(1.0), Some(at(7)));
        assert_eq!(progress.all_of(&[true, true, true]), Some(at(7)));
    }

    #[test]
    fn a_release_of_targets_that_are_never_done_again_keeps_the_time_of_the_others() {
        let mut progress = Progress::new(2);
        progress.set(TargetId(0), true, at(1));
        progress.begin_anew(0..1, at(2));
        progress.set(TargetId(0), true, at(3));
        progress.begin_anew(1..2, at(4));
        let reached = progress.all_of(&[true, false]);
        assert_eq!(
            reached,
            Some(at(3)),
            "not 1 s, which was before the release at 2 s"
        );
        assert_eq!(progress.all_of(&[true, true]), None);
    }

    #[test]
    fn a_share_is_reached_when_enough_targets_are_ready_simultaneously_for_the_first_time() {
        let mut progress = Progress::new(4);
        progress.set(TargetId(0), true, at(1));
        progress.set(TargetId(1), true, at(2));
        progress.set(TargetId(0), false, at(3));
        progress.set(TargetId(2), true, at(4));
        assert_eq!(
            progress.reached(0.5),
            Some(at(2)),
            "one fell back and another came: still two"
        );
        assert_eq!(progress.reached(0.51), None);
        progress.set(TargetId(0), true, at(5));
        progress.set(TargetId(3), true, at(6));
        assert_eq!(
            (progress.reached(0.9), progress.is_complete()),
            (Some(at(6)), true)
        );
    }
}
