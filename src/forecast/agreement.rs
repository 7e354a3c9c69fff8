//! Enough draws: groups of draws are added until two seeds would agree, and the rest of each draw is run again where
//! the observation differs from the draws or where targets are stuck.
//!
//! Each draw has several rests, and the ends of the interval are smooth quantiles of all of them
//! ([`smooth_quantile`]), which scatter less from seed to seed. Their standard error follows from the order statistics
//! around them (David and Nagaraja, Order Statistics, section 7.1), for the number of draws that the learnt draws are
//! worth. Each group learns by itself with its own random numbers, so groups are independent.
//!
//! A stuck target may come back or stay away. Both ends are computed: with the rest that the run draws, and with the
//! stuck targets as failed.

use super::draws::{DrawEnd, DrawGroup, DrawnRollout, PaceDraw, effective};
use super::pace::{Difference, EvenShares, planned, rare_ratio};
use crate::engine::{EntityKey, Streams};
use crate::sim::{PlannedRest, RolloutSoFar, SeenState};
use crate::stats::{ordered, quantile_of_sorted, sample_sd, smooth_quantile};
use crate::study::{StudyError, in_order};
use crate::units::SimTime;

/// Maximum number of groups of draws.
pub const MOST_GROUPS: u32 = 12;

/// Number of groups after which two seeds need not agree any more, if a group is small.
const GROUPS_TO_AGREE: u32 = 5;

/// The least size of a group with which [`MOST_GROUPS`] are made for two seeds to agree: that of `--draws` without a
/// value. Who asks for less wants an answer sooner.
const WHOLE_GROUP: u32 = 99;

/// Number of rests of each draw. Learning needs seven runs for a draw, so further rests cost little, and they fill the
/// tails of the interval: an update that takes far longer than others is rare among as many draws as one group has.
const RESTS: u32 = 4;

/// The least number of different draws that a forecast may be based on.
pub(super) const LEAST_EFFECTIVE: f64 = 20.0;

/// The share of the interval's width by which an end may differ between two seeds.
pub(super) const MOST_DISAGREEMENT: f64 = 0.1;

/// The least rest of a rollout, in seconds, in the average of logarithms.
const LEAST_REST_S: f64 = 0.1;

/// The shares of the draws below the two ends of the interval.
const ENDS: [f64; 2] = [0.05, 0.95];

/// The draws that a forecast is based on.
pub(super) struct LearntRollout {
    pub(super) draws: Vec<PaceDraw>,
    /// The ends of all rests of the draws, in seconds from the release.
    pub(super) done_s: Vec<f64>,
    /// The number of different draws that they are worth.
    pub(super) effective: f64,
    /// How the observation differs from the draws.
    pub(super) difference: Difference,
    /// The ends of the draws if stuck targets stay away. Empty if no target is stuck.
    pub(super) without_stuck: Vec<DrawEnd>,
    /// The draws of all groups before learning.
    prior: Vec<PaceDraw>,
    /// The ends in seconds as learnt, without the uncertainty that the check of the updates adds.
    pub(super) unchecked_s: Vec<f64>,
    /// The ends of the interval of each group by itself.
    of_groups: Vec<[f64; 2]>,
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
            done_s: Vec::new(),
            effective: 0.0,
            difference: Difference::default(),
            without_stuck: Vec::new(),
            prior: Vec::new(),
            unchecked_s: Vec::new(),
            of_groups: Vec::new(),
            disagreement: 1.0,
        };
        for number in 0..MOST_GROUPS {
            let of_group = DrawnRollout {
                group: number,
                ..*self
            };
            let group = of_group.learnt(run_done)?;
            if number == 0 {
                learnt.difference = Difference::of(self.stated, &group, self.seen);
            }
            of_group.add(group, &mut learnt, run_done)?;
            learnt.disagreement = disagreement(&learnt);
            let agrees = learnt.disagreement <= MOST_DISAGREEMENT;
            let is_tried = number + 1 >= self.groups_to_agree();
            if learnt.effective >= LEAST_EFFECTIVE && (agrees || is_tried) {
                break;
            }
        }
        // A group has few draws, and those of one seed are the same for every rollout. All together scatter less.
        learnt.difference.stated = rare_ratio(self.stated, &learnt.prior);
        Ok(learnt)
    }

    /// Returns the number of groups after which two seeds need not agree any more.
    const fn groups_to_agree(&self) -> u32 {
        if self.draws < WHOLE_GROUP {
            GROUPS_TO_AGREE
        } else {
            MOST_GROUPS
        }
    }

    /// Returns the maximum number of runs.
    pub(super) fn most_runs(&self) -> u64 {
        u64::from(self.groups_to_agree())
            * (self.runs() + u64::from(RESTS + 1) * u64::from(self.draws))
    }

    /// Adds a group to the learnt draws, with the rest of each draw.
    fn add(
        &self,
        group: DrawGroup,
        learnt: &mut LearntRollout,
        run_done: &(impl Fn() + Sync),
    ) -> Result<(), StudyError> {
        learnt.effective += effective(&group.learnt);
        learnt.prior.extend(group.prior);
        let mut draws = group.learnt;
        // Rests are spread evenly over neighbouring draws, so draws with similar runs are neighbours.
        draws.sort_by(|a, b| a.end.done_s.total_cmp(&b.end.done_s));
        for draw in &draws {
            learnt.unchecked_s.push(draw.end.done_s);
        }
        let mut done_s = Vec::new();
        if self.is_conditioned() {
            let difference = &learnt.difference;
            draws = in_order(draws.len(), |at| {
                let mut draw = draws[at].clone();
                draw.end = self.continued(&draw, &self.plan(&draw, at, 0, difference))?;
                run_done();
                Ok(draw)
            })?;
            done_s = self.further_ends(&draws, difference, run_done)?;
        }
        for draw in &draws {
            done_s.push(draw.end.done_s);
        }
        if self.seen.targets.iter().any(|target| target.is_stuck) {
            let difference = &learnt.difference;
            let ends = in_order(draws.len(), |at| {
                let rest = without_stuck(self.plan(&draws[at], at, 0, difference));
                let end = self.continued(&draws[at], &rest)?;
                run_done();
                Ok(end)
            })?;
            learnt.without_stuck.extend(ends);
        }
        let done = ordered(&done_s);
        learnt
            .of_groups
            .push(ENDS.map(|share| end_quantile(&done, self.seen.now, share)));
        learnt.done_s.extend(done_s);
        learnt.draws.extend(draws);
        Ok(())
    }

    /// Returns the ends of all rests of draws except the first one.
    fn further_ends(
        &self,
        draws: &[PaceDraw],
        difference: &Difference,
        run_done: &(impl Fn() + Sync),
    ) -> Result<Vec<f64>, StudyError> {
        let further = (RESTS - 1) as usize;
        in_order(draws.len() * further, |number| {
            let at = number / further;
            let rest = 1 + (number % further) as u32;
            let plan = self.plan(&draws[at], at, rest, difference);
            let end = self.continued(&draws[at], &plan)?;
            run_done();
            Ok(end.done_s)
        })
    }

    /// Returns the rollout with the planned rest of a draw. `rest`: its number among the rests of the draw.
    fn plan(&self, draw: &PaceDraw, at: usize, rest: u32, difference: &Difference) -> RolloutSoFar {
        if !self.is_conditioned() {
            return self.seen.clone();
        }
        let seed = self.varied.base().seed;
        let before = u64::from(self.group * self.draws) + at as u64;
        let even = EvenShares {
            number: before * u64::from(RESTS) + u64::from(rest),
        };
        let key = EntityKey::of("forecast").part(even.number);
        let mut stream = Streams::new(seed, 0).stream(key, "plan");
        let mut offsets = Streams::new(seed, 0).stream(EntityKey::of("forecast"), "offsets");
        planned(
            draw,
            self.seen,
            difference,
            even,
            (&mut stream, &mut offsets),
        )
    }
}

/// Returns a smooth quantile of ends in ascending order, in seconds from the release. The tail of the rests is heavy,
/// so their logarithms are averaged.
pub(super) fn end_quantile(done_s: &[f64], now: SimTime, share: f64) -> f64 {
    let now_s = now.as_secs_f64();
    let mut rests = Vec::new();
    for done in done_s {
        rests.push(libm::log((done - now_s).max(LEAST_REST_S)));
    }
    let rest = smooth_quantile(&rests, share).unwrap_or(f64::INFINITY);
    now_s + libm::exp(rest)
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

/// Returns the share of the interval's width by which an end may differ with another seed: two standard errors. The
/// rests of updates are spread evenly over the draws, so the ends of groups may scatter less than independent draws.
fn disagreement(learnt: &LearntRollout) -> f64 {
    let of_draws = of_independent_draws(&learnt.done_s, learnt.effective);
    if learnt.of_groups.len() < 3 {
        return of_draws;
    }
    of_draws.min(between_groups(&learnt.done_s, &learnt.of_groups))
}

/// Returns two standard errors of the ends as a share of the width, from the order statistics around them.
fn of_independent_draws(done: &[f64], effective: f64) -> f64 {
    let done = ordered(done);
    let at = |share: f64| quantile_of_sorted(&done, share.clamp(0.0, 1.0)).unwrap_or(0.0);
    let width = at(ENDS[1]) - at(ENDS[0]);
    let mut most: f64 = 0.0;
    for share in ENDS {
        let error = libm::sqrt(share * (1.0 - share) / effective.max(1.0));
        let (low, high) = (at(share - error), at(share + error));
        most = most.max(share_of_width(high - low, low, high, width));
    }
    most
}

/// Returns two standard errors of the ends as a share of the width, from the ends of the groups.
fn between_groups(done: &[f64], groups: &[[f64; 2]]) -> f64 {
    let done = ordered(done);
    let at = |share| quantile_of_sorted(&done, share).unwrap_or(0.0);
    let width = at(ENDS[1]) - at(ENDS[0]);
    let mut most: f64 = 0.0;
    for end in 0..ENDS.len() {
        let ends: Vec<f64> = groups.iter().map(|group| group[end]).collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let errors = 2.0 * sample_sd(&ends).unwrap_or(0.0) / libm::sqrt(ends.len() as f64);
        most = most.max(share_of_width(errors, low, high, width));
    }
    most
}

/// Returns a difference as a share of the width. Times are whole seconds, so up to two seconds are no difference. An
/// end that moves is no share of an endless width, unless some seeds never reach it.
fn share_of_width(difference: f64, low: f64, high: f64, width: f64) -> f64 {
    if low.is_infinite() || high - low < 2.0 {
        0.0
    } else if high.is_infinite() {
        1.0
    } else if !width.is_finite() {
        0.0
    } else {
        (difference / width.max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws that are done at 0, 10, 20 … seconds: an end moves by 2 · √(0.05 · 0.95 / n) of all, which span 0.9.
    #[test]
    fn more_draws_agree_better() {
        let draws = |count: u32| {
            let mut done = Vec::new();
            for number in 0..count {
                done.push(10_000.0 * f64::from(number) / f64::from(count - 1));
            }
            done
        };
        let of_100 = of_independent_draws(&draws(100), 100.0);
        assert!((of_100 - 0.0484).abs() < 0.005, "{of_100}");
        assert!(of_independent_draws(&draws(400), 400.0) < 0.6 * of_100);
        let mut never = draws(100);
        never[90..].fill(f64::INFINITY);
        assert!(
            of_independent_draws(&never, 100.0) < 1e-9,
            "the upper end is never, for every seed"
        );
    }

    /// Groups whose upper ends are 90, 100 and 110 s: the standard error is 10 / √3 s.
    #[test]
    fn the_scatter_of_groups_is_an_error_of_their_mean() {
        let mut done = Vec::new();
        for number in 0..=100 {
            done.push(f64::from(number));
        }
        let groups = [[5.0, 90.0], [5.0, 100.0], [5.0, 110.0]];
        let expected = 2.0 * 10.0 / libm::sqrt(3.0) / 90.0;
        assert!((between_groups(&done, &groups) - expected).abs() < 1e-9);
    }
}
