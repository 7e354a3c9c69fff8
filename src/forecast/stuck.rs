//! Targets that are stuck: nobody knows whether they come back, so a forecast gives both ends.
//!
//! | stuck | since |
//! |---|---|
//! | the agent was last heard an hour ago or earlier | the last sign of life |
//! | the agent has not answered an instruction for an hour | the instruction |
//! | the update takes far longer than all finished ones | the instruction |
//!
//! An update takes far longer if it is more than three standard deviations of a lognormal above the finished ones, and
//! three times as long as the longest of them. The durations of stuck targets say nothing about the others.
//!
//! Left out: agents of Argo CD and Cloud Foundry, of which exports show no sign of life.

use super::status::ShownTarget;
use super::targets::TargetPlaces;
use crate::sim::{Continuation, RolloutSoFar, SeenState};
use crate::stats::CensoredFit;
use crate::units::SimTime;

/// An agent that was not heard for this long is silent, in seconds.
const SILENT_S: f64 = 3600.0;

/// The least number of finished updates that show how long an update takes.
const LEAST_FINISHED: usize = 3;

/// How far above the finished updates a stuck one is, in standard deviations.
const LEAST_DEVIATIONS: f64 = 3.0;

/// How many times as long as the longest finished update a stuck one takes.
const LEAST_TIMES: f64 = 3.0;

/// A target that is stuck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StuckSince {
    /// The index of the target.
    pub(super) target: usize,
    /// Since when, in seconds from the release, which are negative before it.
    pub(super) since_s: f64,
    /// Whether the agent is silent; otherwise the update takes far longer than the others.
    pub(super) is_silent: bool,
}

/// Returns the stuck targets. `probe`: a run that follows the rollout, for instructions whose times are unknown.
pub(super) fn stuck(
    seen: &RolloutSoFar,
    probe: &Continuation,
    places: &TargetPlaces<'_>,
    heard: &[Option<f64>],
) -> Vec<StuckSince> {
    let longest = FinishedUpdates::of(seen, probe);
    let mut stuck = Vec::new();
    for (target, of_target) in seen.targets.iter().enumerate() {
        let is_updating = of_target.state == SeenState::Updating;
        let is_open = is_updating || of_target.state == SeenState::Waiting;
        let told = of_target.instructed.or(probe.instructed[target]);
        let told = told.filter(|told| is_updating && *told <= seen.now);
        let told = told.map(SimTime::as_secs_f64);
        let now = seen.now.as_secs_f64();
        let shown = places.shown(target);
        let unanswered = told.filter(|_| shown.is_some_and(is_unanswered));
        let silent = heard[target].filter(|_| is_open).or(unanswered);
        if let Some(since_s) = silent.filter(|since| now - since >= SILENT_S) {
            stuck.push(StuckSince {
                target,
                since_s,
                is_silent: true,
            });
        } else if let (Some(since_s), Some(longest)) = (told, longest)
            && longest.are_exceeded_by(now - since_s)
        {
            stuck.push(StuckSince {
                target,
                since_s,
                is_silent: false,
            });
        }
    }
    stuck
}

fn is_unanswered(target: &ShownTarget) -> bool {
    target.is_unanswered
}

/// The durations of finished updates.
#[derive(Clone, Copy)]
struct FinishedUpdates {
    fit: CensoredFit,
    longest_s: f64,
}

impl FinishedUpdates {
    /// Returns the finished updates. `None`: there are too few.
    fn of(seen: &RolloutSoFar, probe: &Continuation) -> Option<Self> {
        let mut durations = Vec::new();
        let mut longest_s: f64 = 0.0;
        for (at, target) in seen.targets.iter().enumerate() {
            let told = target.instructed.or(probe.instructed[at]);
            if let (SeenState::Ready, Some(ready), Some(told)) = (target.state, target.ready, told)
            {
                let took = ready.saturating_since(told).as_secs_f64();
                longest_s = longest_s.max(took);
                durations.push((took, true));
            }
        }
        if durations.len() < LEAST_FINISHED {
            return None;
        }
        let fit = CensoredFit::of(&durations)?;
        Some(Self { fit, longest_s })
    }

    /// Returns whether an update that has taken this long is stuck.
    fn are_exceeded_by(self, elapsed_s: f64) -> bool {
        let above = (libm::log(elapsed_s.max(0.1)) - self.fit.mu) / self.fit.sigma;
        above > LEAST_DEVIATIONS && elapsed_s > LEAST_TIMES * self.longest_s
    }
}
