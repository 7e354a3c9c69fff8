//! Reference schedulers for comparisons: everything in one batch, fixed batches, one by one, and waves that double.
//!
//! They follow no product. They start targets in the order of the view, and know only whether each target was started
//! and is ready. A batch starts when every target of the previous ones is ready; nothing times out, so a target that
//! never becomes ready blocks all later batches indefinitely. Many teams roll out by hand in doubling waves: a defect
//! shows early, in few clusters, and the number of waves grows only with the logarithm of the fleet.

use super::text::names;
use super::{Hold, TargetId};

/// The order in which targets are started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Baseline {
    /// Every target in the first pass: the fastest possible rollout, and the highest load on a registry.
    AllAtOnce,
    /// Batches of a fixed number of targets; 0 counts as 1.
    BatchSize(u32),
    /// Batches of a share of all targets in percent, rounded down to at least one target.
    BatchPercent(u32),
    /// One target after another: the slowest sensible rollout.
    OneByOne,
    /// A first batch of this size (0 counts as 1). Each later batch is twice as large as the previous one.
    Doubling(u32),
}

/// The visible state of one target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BaselineTarget {
    /// Whether the target was instructed to run the new revision.
    pub started: bool,
    /// Whether the target runs the revision that it was last instructed to run, and is ready.
    pub ready: bool,
}

impl BaselineTarget {
    fn is_in_flight(self) -> bool {
        self.started && !self.ready
    }
}

impl Baseline {
    /// Returns the size of the next batch after `started` of all `targets`; at least 1.
    pub fn batch(self, started: usize, targets: usize) -> usize {
        let batch = match self {
            Self::AllAtOnce => targets,
            Self::BatchSize(size) => size as usize,
            Self::BatchPercent(percent) => (targets as u64 * u64::from(percent) / 100) as usize,
            Self::OneByOne => 1,
            // Together, the previous waves have `first * (2^k - 1)` targets.
            Self::Doubling(first) => started + first.max(1) as usize,
        };
        batch.max(1)
    }

    /// Returns the sizes of all batches of a rollout to `targets`.
    pub fn batches(self, targets: usize) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut started = 0;
        while started < targets {
            let size = self.batch(started, targets).min(targets - started);
            sizes.push(size);
            started += size;
        }
        sizes
    }

    /// Runs one pass. Returns the targets to start now.
    pub fn reconcile(self, targets: &[BaselineTarget]) -> Vec<TargetId> {
        // All-at-once does not wait for targets of earlier passes.
        if self != Self::AllAtOnce && targets.iter().any(|target| target.is_in_flight()) {
            return Vec::new();
        }
        let started = targets.iter().filter(|target| target.started).count();
        let batch = self.batch(started, targets.len());
        let waiting = (0..).zip(targets).filter(|(_, target)| !target.started);
        let first = waiting.take(batch);
        first.map(|(index, _)| TargetId(index)).collect()
    }

    /// Returns the rule that blocks the rollout in the visible state; `all` has the names of the targets. `None` if no
    /// rule blocks it.
    pub fn hold<'n>(
        self,
        targets: &[BaselineTarget],
        all: impl Iterator<Item = &'n str>,
    ) -> Option<Hold> {
        let mut in_flight = Vec::new();
        for (target, name) in targets.iter().zip(all) {
            if target.is_in_flight() {
                in_flight.push(name);
            }
        }
        let waiting = targets.iter().filter(|target| !target.started).count();
        if in_flight.is_empty() || (self == Self::AllAtOnce && waiting > 0) {
            return None;
        }
        let not_ready = format!(
            "{} started target(s) not ready ({})",
            in_flight.len(),
            names(in_flight)
        );
        if waiting == 0 {
            let explanation = format!("{not_ready}; all targets were started");
            return Some(Hold::new("ready", explanation));
        }
        let rule = match self {
            Self::Doubling(_) => "doubling",
            _ => "batch",
        };
        let explanation =
            format!("{not_ready}; the next of {waiting} waiting targets start when all are");
        Some(Hold::new(rule, explanation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: [u32; 0] = [];
    const WAITING: BaselineTarget = BaselineTarget {
        started: false,
        ready: true,
    };

    /// A rollout and its log so far.
    struct Story {
        baseline: Baseline,
        targets: Vec<BaselineTarget>,
    }

    impl Story {
        fn new(baseline: Baseline, targets: usize) -> Self {
            Self {
                baseline,
                targets: vec![WAITING; targets],
            }
        }

        /// Runs and applies one pass; returns the started targets.
        fn pass(&mut self) -> Vec<u32> {
            let started = self.baseline.reconcile(&self.targets);
            for target in &started {
                self.targets[target.index()] = BaselineTarget {
                    started: true,
                    ready: false,
                };
            }
            started.into_iter().map(|target| target.0).collect()
        }

        fn ready(&mut self, targets: &[usize]) {
            targets
                .iter()
                .for_each(|target| self.targets[*target].ready = true);
        }

        fn hold(&self) -> Option<String> {
            let names: Vec<String> = (0..self.targets.len())
                .map(|index| format!("store-{index}"))
                .collect();
            self.baseline
                .hold(&self.targets, names.iter().map(String::as_str))
                .map(|hold| hold.to_string())
        }
    }

    #[test]
    fn all_at_once_starts_every_target_in_the_first_pass() {
        let mut story = Story::new(Baseline::AllAtOnce, 6);
        assert_eq!(story.pass(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(story.pass(), NOBODY);
        story.ready(&[0, 1, 3, 4, 5]);
        assert_eq!(
            story.hold().as_deref(),
            Some("ready: 1 started target(s) not ready (store-2); all targets were started")
        );
        story.targets[0] = WAITING;
        assert_eq!(story.hold(), None, "the next pass starts the new target");
        assert_eq!(story.pass(), [0], "a new target does not wait");
    }

    #[test]
    fn a_batch_starts_when_the_previous_one_is_ready() {
        let mut story = Story::new(Baseline::BatchSize(4), 6);
        assert_eq!(story.hold(), None, "the next pass makes progress");
        assert_eq!(story.pass(), [0, 1, 2, 3]);
        story.ready(&[0, 1, 3]);
        assert_eq!(story.pass(), NOBODY, "one is still at work");
        assert_eq!(
            story.hold().as_deref(),
            Some(
                "batch: 1 started target(s) not ready (store-2); the next of 2 waiting targets start when all are"
            )
        );
        story.ready(&[2]);
        assert_eq!(story.pass(), [4, 5]);
        story.ready(&[4, 5]);
        assert_eq!((story.pass(), story.hold()), (Vec::new(), None), "done");
    }

    #[test]
    fn one_by_one_has_batches_of_one_target() {
        let mut story = Story::new(Baseline::OneByOne, 3);
        for target in 0..3 {
            assert_eq!(story.pass(), [target]);
            assert_eq!(story.pass(), NOBODY);
            story.ready(&[target as usize]);
        }
        assert_eq!(story.pass(), NOBODY);
    }

    #[test]
    fn a_batch_has_at_least_one_target() {
        let cases = [
            // baseline, targets, batch, why
            (Baseline::BatchPercent(10), 200, 20, "the plain case"),
            (Baseline::BatchPercent(10), 19, 1, "rounds down"),
            (Baseline::BatchPercent(10), 3, 1, "to at least one"),
            (Baseline::BatchPercent(0), 200, 1, "also for 0 %"),
            (Baseline::BatchPercent(100), 200, 200, "all"),
            (Baseline::BatchSize(0), 200, 1, "a batch must not be empty"),
            (
                Baseline::BatchSize(500),
                200,
                500,
                "more than there are is all",
            ),
            (Baseline::AllAtOnce, 0, 1, "no target, no matter"),
            (
                Baseline::Doubling(0),
                20,
                1,
                "the first wave must not be empty",
            ),
        ];
        for (baseline, targets, batch, why) in cases {
            assert_eq!(
                baseline.batch(0, targets),
                batch,
                "{baseline:?} of {targets}: {why}"
            );
        }
    }

    #[test]
    fn each_wave_has_twice_as_many_targets_as_the_previous_one() {
        for (first, waves) in [
            (1, vec![1, 2, 4, 8, 5]),
            (3, vec![3, 6, 11]),
            (0, vec![1, 2, 4, 8, 5]),
            (50, vec![20]),
        ] {
            let mut story = Story::new(Baseline::Doubling(first), 20);
            assert_eq!(story.baseline.batches(20), waves, "first {first}");
            for size in waves {
                assert_eq!(story.pass().len(), size, "first {first}");
                assert_eq!(story.pass(), NOBODY, "the next wave waits");
                assert!(story.hold().is_some());
                story
                    .targets
                    .iter_mut()
                    .filter(|target| target.started)
                    .for_each(|target| target.ready = true);
            }
            assert_eq!((story.pass(), story.hold()), (Vec::new(), None), "done");
        }
    }

    #[test]
    fn an_unready_target_blocks_the_next_wave_and_is_named() {
        let mut story = Story::new(Baseline::Doubling(1), 3);
        story.pass();
        let hold = story.hold().expect("it waits");
        assert_eq!(
            hold,
            "doubling: 1 started target(s) not ready (store-0); the next of 2 waiting targets start when all are"
        );
    }
}
