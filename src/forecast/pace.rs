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
use crate::engine::{Stream, dist};
use crate::sim::{PlannedRest, RolloutSoFar, SeenState};
use crate::stats::{CensoredFit, quantile_of_sorted, sorted, t_quantile};
use crate::units::{SimDuration, SimTime};

/// The share of draws on one side of the check at which the observation counts as different.
const UNUSUAL: f64 = 0.95;

/// The least difference from the draws that is reported, as the logarithm of a ratio.
const LEAST_LN_RATIO: f64 = 0.1;

/// The least difference from the experiment's own values that is reported, as the logarithm of a ratio: a quarter more
/// or less.
const LEAST_LN_STATED: f64 = 0.22;

/// How much of the standard error of the ratio is added where the updates do not differ. Draws scatter by themselves;
/// this covers that learning keeps too few of them.
const LEARNING_ERROR: f64 = 0.5;

/// Ratios are fitted in thousandths, because durations below 0.1 s count as 0.1 s in a fit.
const THOUSAND: f64 = 1000.0;

/// The ratio of observed durations to those of a run, as a lognormal.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaceRatio {
    /// Mean of the ratios' logarithms.
    pub(super) mu: f64,
    /// Standard error of the mean.
    pub(super) error: f64,
    /// Spread of the ratios' logarithms.
    sigma: f64,
    /// Spread of the observed durations' logarithms beyond that of the run's durations.
    pub(super) spread: f64,
    /// Number of finished updates behind the ratio.
    pub(super) count: usize,
}

impl PaceRatio {
    /// Compares updates. Each is an observed duration, the duration in the run, and whether the observed one is over.
    pub(super) fn of(updates: &[ComparedUpdate]) -> Option<Self> {
        let mut ratios = Vec::new();
        let mut observed = Vec::new();
        let mut own = Vec::new();
        let mut count = 0;
        for update in updates {
            ratios.push((THOUSAND * update.observed_s / update.own_s, update.is_over));
            observed.push((update.observed_s, update.is_over));
            own.push((update.own_s, true));
            count += usize::from(update.is_over);
        }
        let ratio = CensoredFit::of(&ratios)?;
        let spread = CensoredFit::of(&observed)?.sigma;
        let own_spread = CensoredFit::of(&own)?.sigma;
        let beyond = spread * spread - own_spread * own_spread;
        Some(Self {
            mu: ratio.mu - libm::log(THOUSAND),
            error: ratio.sigma / libm::sqrt(count as f64),
            sigma: ratio.sigma,
            spread: libm::sqrt(beyond.max(0.0)),
            count,
        })
    }

    /// Returns the probability that the true mean of the logarithms is above 0.
    fn is_slower(self) -> f64 {
        0.5 * libm::erfc(-self.mu / self.error / std::f64::consts::SQRT_2)
    }

    /// Returns the ratio with its interval of 90 %, if it differs enough from 1.
    fn unusual(self) -> Option<RatioEstimate> {
        let is_sure = self.mu.abs() > self.deviation(UNUSUAL).abs();
        if !is_sure || self.mu.abs() < LEAST_LN_STATED {
            return None;
        }
        Some(RatioEstimate {
            median: libm::exp(self.mu),
            low: libm::exp(self.mu - self.deviation(UNUSUAL)),
            high: libm::exp(self.mu + self.deviation(UNUSUAL)),
        })
    }

    /// Returns the deviation of the mean at this share of Student's distribution.
    fn deviation(self, share: f64) -> f64 {
        let degrees = self.count.saturating_sub(1).max(1) as u32;
        self.error * t_quantile(share.clamp(1e-3, 1.0 - 1e-3), degrees).clamp(-6.0, 6.0)
    }
}

/// An update as it was observed and as it is in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedUpdate {
    pub(super) observed_s: f64,
    pub(super) own_s: f64,
    /// Whether the observed update is over; otherwise its duration is a lower bound.
    pub(super) is_over: bool,
}

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

/// A ratio of durations with its interval of 90 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioEstimate {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn update(observed_s: f64, own_s: f64, is_over: bool) -> ComparedUpdate {
        ComparedUpdate {
            observed_s,
            own_s,
            is_over,
        }
    }

    /// Updates that take three times as long as in the run, some of them unfinished.
    #[test]
    fn the_ratio_of_durations_is_found_in_finished_and_unfinished_updates() {
        let mut updates = Vec::new();
        for at in 0..8 {
            let own = 50.0 + 2.0 * f64::from(at);
            updates.push(update(3.0 * own, own, true));
        }
        updates.push(update(20.0, 60.0, false));
        let ratio = PaceRatio::of(&updates).expect("some are over");
        assert!((libm::exp(ratio.mu) - 3.0).abs() < 0.2, "{ratio:?}");
        assert!(ratio.is_slower() > 0.999 && ratio.count == 8, "{ratio:?}");
        assert!(PaceRatio::of(&[update(20.0, 60.0, false)]).is_none());
    }
}
