//! Waves that double: 1, 2, 4, 8, … targets, each wave started when all earlier ones are ready.
//!
//! No product is followed. Many teams roll out by hand in this way: a defect shows early, in few clusters, and the
//! number of waves grows only with the logarithm of the fleet. Targets start in the order of the view. Nothing times
//! out, so that one target that never becomes ready blocks all later waves.

use super::{Hold, TargetId};

/// How many targets a hold names.
const NAMED: usize = 3;

/// A rollout in doubling waves.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DoublingRollout {
    /// Targets of the first wave; 0 counts as 1.
    first: usize,
    /// For people; the index is the [`TargetId`].
    names: Vec<String>,
}

/// What is known of one target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DoublingTarget {
    /// Whether it was told to run the new revision.
    pub started: bool,
    /// Whether it runs the new revision, and is ready.
    pub ready: bool,
}

impl DoublingRollout {
    /// A rollout to targets of these names, with `first` of them in the first wave.
    #[must_use]
    pub fn new(first: u32, names: Vec<String>) -> Self {
        Self { first: first.max(1) as usize, names }
    }

    /// One pass: the targets to start now. Waves before the next one have `first * (2^k - 1)` targets together, so the
    /// next one has that many and `first`.
    #[must_use]
    pub fn reconcile(&self, view: &[DoublingTarget]) -> Vec<TargetId> {
        if view.iter().any(|target| target.started && !target.ready) {
            return Vec::new();
        }
        let started = view.iter().filter(|target| target.started).count();
        let waiting = view.iter().enumerate().filter(|(_, target)| !target.started);
        waiting.take(started + self.first).map(|(index, _)| TargetId(index as u32)).collect()
    }

    /// The number of the wave that each target is in, from 1.
    pub fn waves(&self) -> impl Iterator<Item = u32> {
        let first = self.first;
        (0..self.names.len()).map(move |target| (target / first + 1).ilog2() + 1)
    }

    /// The rule that blocks the rollout at what is visible now. `None` when no rule does.
    #[must_use]
    pub fn hold(&self, view: &[DoublingTarget]) -> Option<Hold> {
        let in_flight = self.names.iter().zip(view).filter(|(_, target)| target.started && !target.ready);
        let names: Vec<&str> = in_flight.map(|(name, _)| name.as_str()).collect();
        let waiting = view.iter().filter(|target| !target.started).count();
        (!names.is_empty()).then(|| {
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let shown = names[..names.len().min(NAMED)].join(", ");
            Hold {
                rule: "doubling",
                explanation: format!("{waiting} targets wait for {shown}{more}, which is not ready"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wave_has_twice_as_many_targets_as_the_one_before() {
        for (first, waves) in [(1, vec![1, 2, 4, 8, 5]), (3, vec![3, 6, 11]), (0, vec![1, 2, 4, 8, 5]), (50, vec![20])]
        {
            let rollout = DoublingRollout::new(first, (0..20).map(|index| format!("c{index}")).collect());
            let mut view = vec![DoublingTarget::default(); 20];
            let mut sizes = Vec::new();
            loop {
                let started = rollout.reconcile(&view);
                if started.is_empty() {
                    break;
                }
                sizes.push(started.len());
                let wave = sizes.len() as u32;
                let waves: Vec<u32> = rollout.waves().collect();
                for target in started {
                    assert_eq!(waves[target.index()], wave, "{target:?} of {first}");
                    view[target.index()] = DoublingTarget { started: true, ready: false };
                }
                assert_eq!(rollout.reconcile(&view), [], "the next wave waits");
                assert!(rollout.hold(&view).is_some());
                view.iter_mut().filter(|target| target.started).for_each(|target| target.ready = true);
            }
            assert_eq!(sizes, waves, "first {first}");
            assert_eq!(rollout.hold(&view), None);
        }
    }

    #[test]
    fn a_target_that_is_not_ready_blocks_the_next_wave_and_is_named() {
        let rollout = DoublingRollout::new(1, vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let target = DoublingTarget { started: true, ready: false };
        let view = [target, DoublingTarget::default(), DoublingTarget::default()];
        let hold = rollout.hold(&view).expect("it waits");
        assert_eq!(hold.to_string(), "doubling: 2 targets wait for a, which is not ready");
    }
}
