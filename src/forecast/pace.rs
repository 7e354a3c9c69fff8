//! The posterior predictive check: the observed updates against those of the draws, and the plan that widens a
//! forecast when they differ.
//!
//! Each draw has a run that follows the rollout, so that the same targets update in it at the same times. The ratio of
//! the observed duration of an update to its duration in the run shows what the values in the run cannot explain, such
//! as a link that the experiment states wrongly. The logarithms of the ratios are fitted with [`CensoredFit`], because
//! an update in progress has only a lower bound.
//!
//! Learning can hide a wrong link behind another constant, whose range is wide. The first check is therefore against
//! the run with the experiment's own values: its ratio is reported if it is a quarter above or below 1, and 1 is
//! outside of its interval of 90 %. Durations of waiting targets then get the uncertainty of the mean ratio. The
//! second check is against the draws after learning. If they differ, the rest of each run is planned: a target is
//! ready after its duration in the run times a ratio, which is drawn with the uncertainty of its mean and the spread
//! that the run lacks. Without a difference, durations of waiting targets get half of that uncertainty, since
//! learning is too sure.
//!
//! In the same way, more failures than 95 % of the draws have mean that further targets fail with a probability drawn
//! from Beta(failures + 1/2, finished + 1/2), which is Jeffreys' prior.
//!
//! Left out: rates of transfers, because exports have no bytes (their effect on durations is checked), and failures
//! that depend on a group of targets.

use super::draws::{DrawGroup, PaceDraw};
use super::ratio::{PaceRatio, RatioEstimate, UNUSUAL};
use crate::engine::{Stream, dist};
use crate::sim::{PlannedRest, RolloutSoFar, SeenState};
use crate::stats::{CensoredFit, quantile_of_sorted, sorted};
use crate::units::{SimDuration, SimTime};

/// The least difference from the draws that is reported, as the logarithm of a ratio.
const LEAST_LN_RATIO: f64 = 0.1;

/// How much of the standard error of the ratio is added where the updates do not differ. Draws scatter by themselves;
/// this covers that learning keeps too few of them.
const LEARNING_ERROR: f64 = 0.5;

/// How the observed updates differ from those of the draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// The ratio of observed durations to drawn ones, and its interval. `None`: they do not differ.
    pub(super) ratio: Option<RatioEstimate>,
    /// Whether the observed durations differ from those of the draws after learning, too.
    is_unlearnt: bool,
    /// The number of failures that 95 % of the draws do not exceed. `None`: the observed number is not above it.
    pub(super) expected_failures: Option<usize>,
}

impl Difference {
    /// Checks the observation against the values of the experiment, and against the draws before learning and after
    /// it. `stated`: the ratio to the run with the values of the experiment.
    pub(super) fn of(stated: Option<PaceRatio>, group: &DrawGroup, seen: &RolloutSoFar) -> Self {
        let of_values = stated.and_then(PaceRatio::unusual);
        let of_draws = unusual_ratio(&group.learnt);
        Self {
            ratio: of_values.or(of_draws),
            is_unlearnt: of_draws.is_some(),
            expected_failures: unusual_failures(&group.prior, seen),
        }
    }
}

/// Returns the ratio of durations, if it is unusual in the draws.
fn unusual_ratio(draws: &[PaceDraw]) -> Option<RatioEstimate> {
    let mut slower = 0.0;
    let mut ends = Vec::new();
    let ratios: Vec<PaceRatio> = draws.iter().filter_map(|draw| draw.ratio).collect();
    if 2 * ratios.len() < draws.len() {
        return None;
    }
    for ratio in &ratios {
        slower += ratio.is_slower() / ratios.len() as f64;
        ends.extend([-1.0, 0.0, 1.0].map(|side| ratio.mu + side * ratio.error));
    }
    let ends = sorted(&ends);
    let at = |share| quantile_of_sorted(&ends, share).map(libm::exp);
    let median = at(0.5)?;
    let is_unusual = !(1.0 - UNUSUAL..=UNUSUAL).contains(&slower);
    if !is_unusual || libm::log(median).abs() < LEAST_LN_RATIO {
        return None;
    }
    Some(RatioEstimate {
        median,
        low: at(0.05)?,
        high: at(0.95)?,
    })
}

/// Returns the number of failures that 95 % of the draws do not exceed, if more targets have failed.
fn unusual_failures(prior: &[PaceDraw], seen: &RolloutSoFar) -> Option<usize> {
    let failed = count(seen, SeenState::Failed);
    let mut drawn: Vec<usize> = prior.iter().map(|draw| draw.failures).collect();
    drawn.sort_unstable();
    let usual = *drawn.get((UNUSUAL * drawn.len() as f64) as usize)?;
    (failed > usual).then_some(usual)
}

/// Returns the number of targets in a state.
fn count(seen: &RolloutSoFar, state: SeenState) -> usize {
    let targets = seen.targets.iter();
    targets.filter(|target| target.state == state).count()
}

/// A draw's place in a sequence that fills the interval from 0 to 1 evenly, so that other seeds give nearly the same
/// quantiles (Kronecker's sequence, with the golden ratio first).
#[derive(Clone, Copy)]
pub(super) struct EvenShares {
    /// The number of the draw among all draws.
    pub(super) number: u64,
}

impl EvenShares {
    /// Returns the share of one dimension. `offset`: where the sequence begins.
    fn share(self, dimension: u64, offset: f64) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        const STEP: f64 = 0.754_877_666_246_692_7;
        let step = GOLDEN + dimension as f64 * STEP;
        (offset + self.number as f64 * step.fract()).fract()
    }
}

/// Returns the rollout with a planned rest for each target that is not ready, in place of the run of this draw.
/// `offsets`: the same random numbers for all draws.
pub(super) fn planned(
    draw: &PaceDraw,
    seen: &RolloutSoFar,
    difference: &Difference,
    even: EvenShares,
    (stream, offsets): (&mut Stream, &mut Stream),
) -> RolloutSoFar {
    let mut planned = seen.clone();
    let share_of_mean = even.share(0, dist::unit(offsets));
    let mu = draw.ratio.map_or(0.0, |ratio| {
        let deviation = ratio.deviation(share_of_mean);
        if difference.is_unlearnt {
            ratio.mu + deviation
        } else if difference.ratio.is_some() {
            deviation
        } else {
            LEARNING_ERROR * deviation
        }
    });
    let failing = failing_share(seen, difference, stream);
    let mut updating = 0;
    for (at, target) in planned.targets.iter_mut().enumerate() {
        let timed = TimedDraw { mu, seen };
        if target.state == SeenState::Updating {
            updating += 1;
            let share = even.share(updating, dist::unit(offsets));
            target.rest = if difference.is_unlearnt {
                rest_of_update(draw, at, share, timed)
            } else {
                PlannedRest::Longer(share)
            };
        } else if target.state == SeenState::Waiting {
            target.rest = if dist::bernoulli(stream, failing) {
                PlannedRest::Fails
            } else {
                whole_update(draw, at, difference, timed, stream)
            };
        }
    }
    planned
}

/// What the rests of a draw have in common.
#[derive(Clone, Copy)]
struct TimedDraw<'s> {
    /// The logarithm of the ratio of durations.
    mu: f64,
    seen: &'s RolloutSoFar,
}

/// Returns the rest of an update that is in progress.
fn rest_of_update(draw: &PaceDraw, at: usize, share: f64, timed: TimedDraw<'_>) -> PlannedRest {
    let (Some(own), Some(ratio)) = (draw.own_s[at], draw.ratio) else {
        return PlannedRest::Longer(share);
    };
    let fit = CensoredFit {
        mu: libm::log(own.max(0.1)) + timed.mu,
        sigma: ratio.sigma.max(ratio.spread),
    };
    let told = timed.seen.targets[at].instructed;
    let told_s = told.map(SimTime::as_secs_f64);
    let told_s = told_s.or(draw.end.instructed_s[at]);
    let now_s = timed.seen.now.as_secs_f64();
    let elapsed = told_s.map_or(0.0, |told| (now_s - told).max(0.0));
    takes(fit.beyond(elapsed, 1.0 - share))
}

/// Returns the whole update of a waiting target.
fn whole_update(
    draw: &PaceDraw,
    at: usize,
    difference: &Difference,
    timed: TimedDraw<'_>,
    stream: &mut Stream,
) -> PlannedRest {
    let (Some(own), Some(ratio)) = (draw.own_s[at], draw.ratio) else {
        return PlannedRest::Simulated;
    };
    let spread = if difference.is_unlearnt {
        ratio.spread
    } else {
        0.0
    };
    takes(own * libm::exp(timed.mu + spread * normal(stream)))
}

fn takes(seconds: f64) -> PlannedRest {
    PlannedRest::Takes(SimDuration::from_secs_f64(seconds.clamp(1e-3, 1e8)))
}

/// Draws the probability that a further target fails; 0 if the failures so far are usual.
fn failing_share(seen: &RolloutSoFar, difference: &Difference, stream: &mut Stream) -> f64 {
    if difference.expected_failures.is_none() {
        return 0.0;
    }
    let failed = count(seen, SeenState::Failed) as f64 + 0.5;
    let ready = count(seen, SeenState::Ready) as f64 + 0.5;
    let failed = dist::gamma(stream, failed, failed);
    failed / (failed + dist::gamma(stream, ready, ready))
}

/// Draws a standard normal number.
fn normal(stream: &mut Stream) -> f64 {
    libm::log(dist::lognormal(stream, 1.0, 1.0))
}
