//! What holds a rollout back, found by trials: the same runs again with a resource lifted.
//!
//! This is a causal profile, as Coz made it for programs (SOSP 2015). It is nearly exact here, because a trial has the
//! random numbers of the run that it is compared with. It is not exact where requests are repeated: then a change of
//! 0.1% moves a run too, and a *placebo* measures by how much.
//!
//! - *Alone*: each resource is lifted alone. What it saves is what the resource costs.
//! - *Only*, if no resource saves half of the time: everything is lifted but one resource, and the rule. Several that
//!   take over half of the time hold the rollout back together, and are lifted *together*.
//! - *Halved*: the resource that saves most must save something by half, and more than others, or it saturates.
//! - *Then*: after the first, each other resource is lifted.
//!
//! A resource is named if it saves over 5% of the time, and more than the placebo moves a run, in each of six runs.
//! These runs are extra: no run of the study has their random numbers. A run that saves nothing ends its trial, so
//! most trials have one run. The number of trials is limited by their events, and not by time, so that results are the
//! same on any machine.
//!
//! The tests compare the profile with algebra: worlds with one, two and three limits. `docs/causes.md` tells readers
//! when not to trust it.

mod fault_lifts;
mod lift;
mod limit_words;
mod node_lifts;
mod profile;
mod registry_lifts;
mod relief;
#[cfg(test)]
mod tests;
mod trial;

use crate::engine::Stop;
use crate::results::CauseRow;
use crate::scenario::Variant;
use crate::study::StudyError;

/// The number of runs of a trial that names a resource.
const RUNS: usize = 6;
/// The replicate of the first run, beyond those of any study.
const FIRST_REPLICATE: u32 = 1_000_000;
/// A study may always use this number of events for trials.
const ALWAYS: u64 = 50_000_000;
/// The share of its own events that a larger study may use for trials.
const SHARE: u64 = 4;

/// The events that the trials of a study may still use.
#[derive(Clone, Copy, Debug)]
pub struct EventBudget {
    left: u64,
}

impl EventBudget {
    /// Returns the budget of a study whose runs have handled this number of events.
    #[must_use]
    pub fn of_study(events: u64) -> Self {
        Self {
            left: ALWAYS.max(events / SHARE),
        }
    }

    /// Returns whether this number of further events fits.
    const fn allows(self, events: u64) -> bool {
        events <= self.left
    }

    const fn spend(&mut self, events: u64) {
        self.left = self.left.saturating_sub(events);
    }
}

/// A variant to try.
#[derive(Clone, Debug)]
pub struct TriedVariant<'v> {
    /// The variant.
    pub variant: &'v Variant,
    /// The seed of the study.
    pub seed: u64,
    /// The number of events in a run of the variant.
    pub run_events: u64,
    /// Ends the trials when it is set. Their rows are then incomplete.
    pub stop: Stop,
}

/// Finds what holds a variant back, on the current rayon pool. Returns the rows of all trials; empty if they do not
/// fit into the budget.
///
/// # Errors
/// Returns an error if a run fails as it is, without anything lifted.
pub fn causes(
    tried: &TriedVariant<'_>,
    budget: &mut EventBudget,
) -> Result<Vec<CauseRow>, StudyError> {
    profile::Profile::rows(tried, budget)
}
