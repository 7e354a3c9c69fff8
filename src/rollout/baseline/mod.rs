//! Reference schedulers for comparisons: all at once, fixed batches, one by one.
//!
//! They follow no product. They start targets in the order of the view, and see of each target whether it was started
//! and whether it is ready. A batch starts when every target of the previous ones is ready; nothing times out, so a
//! target that never becomes ready blocks all later batches indefinitely.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::names;
use super::{Hold, Pass, Revision, TargetId};
use crate::units::SimTime;

/// The order in which targets are started.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Baseline {
    /// Every target in the first pass: the fastest possible rollout, and the highest load on a registry.
    AllAtOnce,
    /// Batches of a fixed number of targets; 0 counts as 1.
    BatchSize(u32),
    /// Batches of a share of all targets in percent, rounded down to at least one target.
    BatchPercent(u32),
    /// One target after another: the slowest sensible rollout.
    OneByOne,
}

/// A baseline's rollout over a fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BaselineRollout {
    baseline: Baseline,
    /// For texts; the index is the [`TargetId`].
    names: Vec<String>,
}

/// The visible state of the rollout.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BaselineView {
    /// One for each target; the index is its [`TargetId`].
    pub targets: Vec<TargetView>,
}

/// The visible state of one target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TargetView {
    /// The wanted revision.
    pub wanted: Revision,
    /// The revision last assigned to it, if any.
    pub assigned: Option<Revision>,
    /// Whether it runs its assigned revision and is ready.
    pub ready: bool,
}

/// The status of a pass.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BaselineStatus {
    /// Targets that are ready on the wanted revision, before the pass.
    pub done: u32,
    /// Targets with the wanted revision that are not ready, including those of this pass.
    pub in_flight: u32,
    /// Targets not started yet, after the pass.
    pub waiting: u32,
}

/// A target to start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Start {
    /// The target.
    pub target: TargetId,
    /// Its new revision.
    pub revision: Revision,
}

impl Baseline {
    /// The number of targets in a batch, out of `targets`; at least 1.
    #[must_use]
    pub fn batch(self, targets: usize) -> usize {
        let batch = match self {
            Self::AllAtOnce => targets,
            Self::BatchSize(size) => size as usize,
            Self::BatchPercent(percent) => (targets as u64 * u64::from(percent) / 100) as usize,
            Self::OneByOne => 1,
        };
        batch.max(1)
    }
}

impl BaselineRollout {
    /// A rollout to targets with these names; the index of a target is its [`TargetId`].
    #[must_use]
    pub const fn new(baseline: Baseline, names: Vec<String>) -> Self {
        Self { baseline, names }
    }

    /// The number of targets in a batch; at least 1.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.baseline.batch(self.names.len())
    }
}

impl TargetView {
    fn is_started(&self) -> bool {
        self.assigned == Some(self.wanted)
    }
}

impl BaselineRollout {
    /// One pass.
    ///
    /// # Panics
    /// If the number of targets in the view differs from the number of names.
    pub fn reconcile(&mut self, _now: SimTime, view: &BaselineView) -> Pass<Start, BaselineStatus> {
        assert_eq!(view.targets.len(), self.names.len(), "every target has a name");
        let mut status = BaselineStatus::default();
        for target in view.targets.iter().filter(|target| target.is_started()) {
            *(if target.ready { &mut status.done } else { &mut status.in_flight }) += 1;
        }
        let waits = |(_, target): &(usize, &TargetView)| !target.is_started();
        let waiting = view.targets.iter().enumerate().filter(waits);
        // All-at-once does not wait for targets of earlier passes.
        let may_start = status.in_flight == 0 || self.baseline == Baseline::AllAtOnce;
        let batch = if may_start { self.batch() } else { 0 };
        let start =
            |(index, target): (usize, &TargetView)| Start { target: TargetId(index as u32), revision: target.wanted };
        let actions: Vec<Start> = waiting.take(batch).map(start).collect();
        status.in_flight += actions.len() as u32;
        status.waiting = view.targets.len() as u32 - status.done - status.in_flight;
        Pass { actions, wake_at: None, status }
    }

    /// The rule that blocks the rollout at what is visible now. `None` when no rule does.
    #[must_use]
    pub fn hold(&self, view: &BaselineView) -> Option<Hold> {
        let is_in_flight = |(_, target): &(&String, &TargetView)| target.is_started() && !target.ready;
        let targets = self.names.iter().zip(&view.targets);
        let in_flight: Vec<&str> = targets.filter(is_in_flight).map(|(name, _)| name.as_str()).collect();
        let waiting = view.targets.iter().filter(|target| !target.is_started()).count();
        if in_flight.is_empty() || (self.baseline == Baseline::AllAtOnce && waiting > 0) {
            return None;
        }
        let count = in_flight.len();
        let of_targets = format!("{count} started target(s) not ready ({})", names(in_flight));
        Some(if waiting > 0 {
            Hold {
                rule: "batch",
                explanation: format!("{of_targets}; the next of {waiting} waiting targets start when all are"),
            }
        } else {
            Hold { rule: "ready", explanation: format!("{of_targets}; all targets were started") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Revision = Revision(1);
    const NEW: Revision = Revision(2);
    const NOBODY: [u32; 0] = [];

    /// A rollout of six targets from OLD to NEW, and its story so far.
    struct Story {
        rollout: BaselineRollout,
        view: BaselineView,
    }

    impl Story {
        fn new(baseline: Baseline, targets: usize) -> Self {
            let target = TargetView { wanted: NEW, assigned: Some(OLD), ready: true };
            let names = (0..targets).map(|index| format!("store-{index}")).collect();
            let rollout = BaselineRollout::new(baseline, names);
            Self { rollout, view: BaselineView { targets: vec![target; targets] } }
        }

        /// Makes and applies one pass; returns the started targets.
        fn pass(&mut self) -> Vec<u32> {
            let pass = self.rollout.reconcile(SimTime::ZERO, &self.view);
            let again = self.rollout.reconcile(SimTime::ZERO, &self.view);
            assert_eq!(pass, again, "the same view gives the same pass");
            let mut started = Vec::new();
            for action in pass.actions {
                let Start { target, revision } = action;
                assert_eq!(revision, NEW);
                self.view.targets[target.index()] = TargetView { wanted: NEW, assigned: Some(NEW), ready: false };
                started.push(target.0);
            }
            started
        }

        fn ready(&mut self, targets: &[usize]) {
            targets.iter().for_each(|target| self.view.targets[*target].ready = true);
        }

        fn hold(&self) -> Option<String> {
            self.rollout.hold(&self.view).map(|hold| hold.to_string())
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
        story.view.targets[0] = TargetView { wanted: NEW, assigned: Some(OLD), ready: true };
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
            Some("batch: 1 started target(s) not ready (store-2); the next of 2 waiting targets start when all are")
        );
        story.ready(&[2]);
        assert_eq!(story.pass(), [4, 5]);
        story.ready(&[4, 5]);
        assert_eq!((story.pass(), story.hold()), (NOBODY.to_vec(), None), "done");
    }

    #[test]
    fn one_by_one_is_a_batch_of_one() {
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
            (Baseline::BatchSize(0), 200, 1, "a batch of none would stop the rollout"),
            (Baseline::BatchSize(500), 200, 500, "more than there are is all"),
            (Baseline::AllAtOnce, 0, 1, "no target, no matter"),
        ];
        for (baseline, targets, batch, why) in cases {
            assert_eq!(baseline.batch(targets), batch, "{baseline:?} of {targets}: {why}");
        }
    }

    #[test]
    fn a_baseline_is_chosen_by_key() {
        for (yaml, baseline) in [
            ("allAtOnce", Baseline::AllAtOnce),
            ("batchSize: 50", Baseline::BatchSize(50)),
            ("batchPercent: 10", Baseline::BatchPercent(10)),
            ("oneByOne", Baseline::OneByOne),
        ] {
            assert_eq!(serde_saphyr::from_str::<Baseline>(yaml).expect(yaml), baseline, "{yaml}");
        }
        let error = serde_saphyr::from_str::<Baseline>("rolling").expect_err("there is no such baseline").to_string();
        assert!(error.contains("allAtOnce"), "{error}");
    }
}
