//! Enough draws: groups of draws are added until two seeds would agree, and the rest of each draw is run again where the
//! observation differs from the draws or where targets are stuck.
//!
//! The ends of the interval are quantiles of the draws. Their standard error follows from the order statistics around
//! them (David and Nagaraja, Order Statistics, section 7.1), for the number of draws that the learnt draws are worth.
//! Each group learns by itself with its own random numbers, so groups are independent.
//!
//! A stuck target may come back or stay away. Both ends are computed: with the rest that the run draws, and with the
//! stuck targets as failed.

use super::draws::{DrawEnd, DrawGroup, DrawnRollout, PaceDraw, effective};
use super::pace::{Difference, planned};
use crate::engine::{EntityKey, Streams};
use crate::sim::{PlannedRest, RolloutSoFar, SeenState};
use crate::stats::{ordered, quantile_of_sorted};
use crate::study::{StudyError, in_order};

/// Maximum number of groups.
const MOST_GROUPS: u32 = 4;

/// The least number of different draws that a forecast may be based on.
pub(super) const LEAST_EFFECTIVE: f64 = 20.0;

/// The share of the interval's width by which an end may differ between two seeds.
pub(super) const MOST_DISAGREEMENT: f64 = 0.1;

/// The shares of the draws below the two ends of the interval.
const ENDS: [f64; 2] = [0.05, 0.95];

/// The draws that a forecast is based on.
pub(super) struct LearntRollout {
    pub(super) draws: Vec<PaceDraw>,
    /// The number of different draws that they are worth.
    pub(super) effective: f64,
    /// How the observation differs from the draws.
    pub(super) difference: Difference,
    /// The ends of the draws if stuck targets stay away. Empty if no target is stuck.
    pub(super) without_stuck: Vec<DrawEnd>,
    /// The share of the interval's width by which an end may differ with another seed.
    pub(super) disagreement: f64,
}

impl DrawnRollout<'_> {
    /// Returns draws of as many groups as two seeds need to agree. `run_done` is called after each run.
    pub(super) fn learnt_in_agreement(
        &self,
        run_done: &(impl Fn() + Sync),
    ) -> Result<LearntRollout, StudyError> {
        let mut learnt = LearntRollout {
            draws: Vec::new(),
            effective: 0.0,
            difference: Difference {
                ratio: None,
                expected_failures: None,
            },
            without_stuck: Vec::new(),
            disagreement: 1.0,
        };
        for number in 0..MOST_GROUPS {
            let of_group = DrawnRollout {
                group: number,
                ..*self
            };
            let group = of_group.learnt(run_done)?;
            if number == 0 {
                learnt.difference = Difference::of(&group.prior, &group.learnt, self.seen);
            }
            of_group.add(group, &mut learnt, run_done)?;
            learnt.disagreement = disagreement(&learnt.draws, learnt.effective);
            let is_enough = learnt.effective >= LEAST_EFFECTIVE;
            if is_enough && learnt.disagreement <= MOST_DISAGREEMENT {
                break;
            }
        }
        Ok(learnt)
    }

    /// Returns the maximum number of runs.
    pub(super) fn most_runs(&self) -> u64 {
        u64::from(MOST_GROUPS) * (self.runs() + 2 * u64::from(self.draws))
    }

    /// Adds a group to the learnt draws, with the rest of each draw.
    fn add(
        &self,
        group: DrawGroup,
        learnt: &mut LearntRollout,
        run_done: &(impl Fn() + Sync),
    ) -> Result<(), StudyError> {
        learnt.effective += effective(&group.learnt);
        let mut draws = group.learnt;
        if learnt.difference.is_some() {
            let difference = &learnt.difference;
            draws = in_order(draws.len(), |at| {
                let mut draw = draws[at].clone();
                draw.end = self.continued(&draw, &self.plan(&draw, at, difference))?;
                run_done();
                Ok(draw)
            })?;
        }
        if self.seen.targets.iter().any(|target| target.is_stuck) {
            let difference = &learnt.difference;
            let ends = in_order(draws.len(), |at| {
                let rest = without_stuck(self.plan(&draws[at], at, difference));
                let end = self.continued(&draws[at], &rest)?;
                run_done();
                Ok(end)
            })?;
            learnt.without_stuck.extend(ends);
        }
        learnt.draws.extend(draws);
        Ok(())
    }

    /// Returns the rollout with the planned rest of a draw, if the observation differs from the draws.
    fn plan(&self, draw: &PaceDraw, at: usize, difference: &Difference) -> RolloutSoFar {
        if !difference.is_some() {
            return self.seen.clone();
        }
        let streams = Streams::new(self.varied.base().seed, self.group);
        let key = EntityKey::of("forecast").part(at as u64);
        planned(
            draw,
            self.seen,
            difference,
            &mut streams.stream(key, "plan"),
        )
    }
}

/// Returns a rollout in which stuck targets stay away: those in progress have failed, and those that wait will fail.
fn without_stuck(mut seen: RolloutSoFar) -> RolloutSoFar {
    for target in &mut seen.targets {
        if target.is_stuck {
            target.rest = PlannedRest::Fails;
            if target.state == SeenState::Updating {
                target.state = SeenState::Failed;
            }
        }
    }
    seen
}

/// Returns the share of the interval's width by which an end may differ with another seed: two standard errors.
fn disagreement(draws: &[PaceDraw], effective: f64) -> f64 {
    let done: Vec<f64> = draws.iter().map(|draw| draw.end.done_s).collect();
    let done = ordered(&done);
    let at = |share: f64| quantile_of_sorted(&done, share.clamp(0.0, 1.0)).unwrap_or(0.0);
    let width = at(ENDS[1]) - at(ENDS[0]);
    let mut most: f64 = 0.0;
    for share in ENDS {
        let error = libm::sqrt(share * (1.0 - share) / effective.max(1.0));
        let (low, high) = (at(share - error), at(share + error));
        let is_equal = high - low < 2.0 || low.is_infinite();
        most = most.max(if is_equal {
            0.0
        } else if high.is_infinite() || !width.is_finite() {
            1.0
        } else {
            (high - low) / width.max(1.0)
        });
    }
    most.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws that are done at 0, 10, 20 … seconds: an end moves by 2 · √(0.05 · 0.95 / n) of all, which span 0.9.
    #[test]
    fn more_draws_agree_better() {
        let draws = |count: u32| {
            let mut draws = Vec::new();
            for number in 0..count {
                let mut draw = PaceDraw::default();
                draw.end.done_s = 10_000.0 * f64::from(number) / f64::from(count - 1);
                draws.push(draw);
            }
            draws
        };
        let of_100 = disagreement(&draws(100), 100.0);
        assert!((of_100 - 0.0484).abs() < 0.005, "{of_100}");
        assert!(disagreement(&draws(400), 400.0) < 0.6 * of_100);
        let mut never = draws(100);
        for draw in &mut never[90..] {
            draw.end.done_s = f64::INFINITY;
        }
        assert_eq!(
            disagreement(&never, 100.0),
            0.0,
            "the upper end is never, for every seed"
        );
    }
}
