//! The posterior predictive check: the observed updates against those of the draws, and the plan that widens a
//! forecast when they differ.
//!
//! Each draw has a run that follows the rollout, so that the same targets update in it at the same times. The ratio of
//! the observed duration of an update to its duration in the run shows what the values in the run cannot explain, such
//! as a link that the experiment states wrongly. The logarithms of the ratios are fitted with [`CensoredFit`], because
//! an update in progress has only a lower bound.
//!
//! | check | against | where they differ |
//! |---|---|---|
//! | of the values | the run with the experiment's own values | rests get the uncertainty of the ratio |
//! | before learning | the draws of the constants from their ranges | a sentence |
//! | after learning | the draws that fit the observation | the rests go by the observed durations, and a sentence |
//!
//! The ratio to the experiment's own values differs if it is a quarter above or below 1, and 1 is outside of its
//! interval of 90 %. The ranges of the constants are wide, so most rollouts differ from the values although the file is
//! right. This therefore only widens: durations of waiting targets get the uncertainty of the mean ratio, because
//! learning can hide a wrong link behind another constant.
//!
//! A sentence claims that the file may be wrong. It needs updates that are slower, or faster, than in all but 5 % of
//! the draws before learning (the prior predictive check of Box 1980). The observation of a rollout that the file
//! describes has any rank among its draws with the same probability, so the sentence is wrong in at most 10 %. No
//! check can tell a wrong link from constants that explain the durations as well.
//!
//! If the observation differs from the draws after learning (the posterior predictive check of Rubin 1984), the rest
//! of each run is planned: a target is ready after its duration in the run times a ratio, which is drawn with the
//! uncertainty of its mean and the spread that the run lacks. Without any difference, durations of waiting targets get
//! half of the uncertainty of the ratio, since learning is too sure.
//!
//! In the same way, more failures than 95 % of the draws have mean that further targets fail with a probability drawn
//! from Beta(failures + 1/2, finished + 1/2), which is Jeffreys' prior.
//!
//! Left out: rates of transfers, because exports have no bytes (their effect on durations is checked), and failures
//! that depend on a group of targets.

use super::draws::{DrawGroup, PaceDraw};
use super::ratio::{PaceRatio, RatioEstimate, UNUSUAL};
use crate::engine::{Stream, dist};
use crate::results::UpdateRatio;
use crate::sim::{PlannedRest, RolloutSoFar, SeenState};
use crate::stats::{CensoredFit, quantile_of_sorted, sorted};
use crate::units::{SimDuration, SimTime};

/// The least difference from the draws after learning that counts, as the logarithm of a ratio.
const LEAST_LN_RATIO: f64 = 0.1;

/// How much of the standard error of the ratio is added where the updates do not differ. Draws scatter by themselves;
/// this covers that learning keeps too few of them.
const LEARNING_ERROR: f64 = 0.5;

/// The largest share of the draws before learning on one side of the observation that is rare.
const RARE: f64 = 0.05;

/// How the observed updates differ from those of the draws.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// The ratio of observed durations to those with the experiment's values, if it is rare among the draws.
    pub(super) stated: Option<RareRatio>,
    /// The ratio of observed durations to those of the draws after learning. `None`: they do not differ.
    pub(super) unlearnt: Option<RatioEstimate>,
    /// Whether the durations of waiting targets get the whole uncertainty of the ratio.
    mean: MeanError,
    /// The number of failures that 95 % of the draws do not exceed. `None`: the observed number is not above it.
    pub(super) expected_failures: Option<usize>,
}

/// How much of the uncertainty of the mean ratio the durations of waiting targets get.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum MeanError {
    /// What learning lacks.
    #[default]
    OfLearning,
    /// All of it, because the experiment's own values do not give the observed durations.
    Whole,
}

/// A ratio that is rare among the draws before learning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RareRatio {
    pub(super) ratio: RatioEstimate,
    /// The share of the draws whose updates are on the other side: faster than slow updates, slower than fast ones.
    pub(super) beyond: f64,
}

impl RareRatio {
    /// Returns the ratio as it is recorded.
    pub(super) const fn record(self) -> UpdateRatio {
        UpdateRatio {
            ratio: self.ratio.record(),
            beyond: self.beyond,
        }
    }
}

impl Difference {
    /// Checks the observation against the values of the experiment, and against the draws before learning and after
    /// it. `stated`: the ratio to the run with the values of the experiment.
    pub(super) fn of(stated: Option<PaceRatio>, group: &DrawGroup, seen: &RolloutSoFar) -> Self {
        let of_values = stated.and_then(PaceRatio::unusual);
        let mean = if of_values.is_some() {
            MeanError::Whole
        } else {
            MeanError::OfLearning
        };
        Self {
            stated: rare_ratio(stated, &group.prior),
            unlearnt: unusual_ratio(&group.learnt),
            mean,
            expected_failures: unusual_failures(&group.prior, seen),
        }
    }

    /// Returns the logarithm of the ratio by which a draw's durations are multiplied.
    fn ln_ratio(&self, ratio: PaceRatio, share: f64) -> f64 {
        let deviation = ratio.deviation(share);
        if self.unlearnt.is_some() {
            return ratio.mu + deviation;
        }
        match self.mean {
            MeanError::Whole => deviation,
            MeanError::OfLearning => LEARNING_ERROR * deviation,
        }
    }
}

/// Returns the ratio to the experiment's own values, if it is unusual and rare among the draws before learning.
pub(super) fn rare_ratio(stated: Option<PaceRatio>, prior: &[PaceDraw]) -> Option<RareRatio> {
    rare(stated?.unusual()?, prior)
}

/// Returns the ratio to the experiment's values, if nearly all draws before learning are on one side of the observed
/// durations.
fn rare(ratio: RatioEstimate, prior: &[PaceDraw]) -> Option<RareRatio> {
    let mut compared = 0.0;
    let mut faster = 0.0;
    for ratio in prior.iter().filter_map(|draw| draw.ratio) {
        compared += 1.0;
        if ratio.mu > 0.0 {
            faster += 1.0;
        }
    }
    if 2.0 * compared < prior.len() as f64 {
        return None;
    }
    let beyond = if ratio.median > 1.0 {
        faster
    } else {
        compared - faster
    };
    // The observation is one of compared + 1 rollouts, each of which is the slowest with the same probability.
    let rank = (compared - beyond + 1.0) / (compared + 1.0);
    (rank <= RARE + 1e-9).then(|| RareRatio {
        ratio,
        beyond: beyond / compared,
    })
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
/// quantiles. Each dimension has the square root of another prime as its step (Richtmyer's sequence). Those are badly
/// approximated by fractions, so that no dimension repeats a few values.
#[derive(Clone, Copy)]
pub(super) struct EvenShares {
    /// The number of the draw among all draws.
    pub(super) number: u64,
}

impl EvenShares {
    /// Returns the share of a dimension. `offset`: where the sequence begins.
    fn share(self, dimension: Dimension, offset: f64) -> f64 {
        let step = libm::sqrt(dimension.prime as f64).fract();
        (offset + self.number as f64 * step).fract()
    }
}

/// A dimension of the sequence.
#[derive(Clone, Copy)]
struct Dimension {
    /// Its prime.
    prime: u64,
}

impl Dimension {
    const FIRST: Self = Self { prime: 2 };

    /// Returns the dimension of the next prime.
    fn next(self) -> Self {
        let mut prime = self.prime + 1;
        while !is_prime(prime) {
            prime += 1;
        }
        Self { prime }
    }
}

/// Returns whether a number above 1 has no other divisors than 1 and itself.
fn is_prime(number: u64) -> bool {
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    true
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
    let share_of_mean = even.share(Dimension::FIRST, dist::unit(offsets));
    let mu = draw
        .ratio
        .map_or(0.0, |ratio| difference.ln_ratio(ratio, share_of_mean));
    let failing = failing_share(seen, difference, stream);
    let mut dimension = Dimension::FIRST;
    for (at, target) in planned.targets.iter_mut().enumerate() {
        let timed = TimedDraw { mu, seen };
        if target.state == SeenState::Updating {
            dimension = dimension.next();
            let share = even.share(dimension, dist::unit(offsets));
            target.rest = if difference.unlearnt.is_some() {
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
    let spread = if difference.unlearnt.is_some() {
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
    use super::super::ratio::ComparedUpdate;
    use super::*;

    /// A draw whose updates take this long, where the observed ones take 60 s.
    fn draw(own_s: f64) -> PaceDraw {
        let mut updates = Vec::new();
        for at in 0..6 {
            updates.push(ComparedUpdate {
                observed_s: 60.0 + f64::from(at),
                own_s,
                is_over: true,
            });
        }
        let mut draw = PaceDraw::default();
        draw.ratio = PaceRatio::of(&updates);
        draw
    }

    const TWICE: RatioEstimate = RatioEstimate {
        median: 2.0,
        low: 1.8,
        high: 2.2,
    };

    /// Of 19 draws, the observation has to be the slowest; one slower draw makes it usual.
    #[test]
    fn a_ratio_is_rare_if_nearly_all_draws_are_on_one_side() {
        let mut draws = Vec::new();
        for at in 0..19 {
            draws.push(draw(20.0 + f64::from(at)));
        }
        let found = rare(TWICE, &draws).expect("all are faster");
        assert!((found.beyond - 1.0).abs() < 1e-9, "{found:?}");
        draws[7] = draw(200.0);
        assert_eq!(rare(TWICE, &draws), None);
        let fast = RatioEstimate {
            median: 0.5,
            ..TWICE
        };
        assert_eq!(rare(fast, &draws), None, "only one draw is slower");
    }

    /// Observations that are one more draw of the same rollouts: a tenth of them are rare, by either side.
    #[test]
    fn a_tenth_of_the_rollouts_that_the_file_describes_is_rare() {
        let mut found = 0;
        for rank in 0..100 {
            let mut draws = Vec::new();
            for at in 0..99 {
                let is_faster = at < rank;
                draws.push(draw(if is_faster { 30.0 } else { 120.0 }));
            }
            let slow = rare(TWICE, &draws);
            let fast = rare(
                RatioEstimate {
                    median: 0.5,
                    ..TWICE
                },
                &draws,
            );
            found += usize::from(slow.is_some()) + usize::from(fast.is_some());
        }
        assert_eq!(found, 10);
    }

    #[test]
    fn without_durations_to_compare_nothing_is_rare() {
        assert_eq!(rare(TWICE, &vec![PaceDraw::default(); 19]), None);
    }

    /// In each of 40 dimensions, 380 numbers are in all 38 equal parts of the interval, at most 20 in one.
    #[test]
    fn every_dimension_of_the_sequence_is_even() {
        let mut dimension = Dimension::FIRST;
        for _ in 0..40 {
            let mut parts = [0; 38];
            for number in 0..380 {
                let share = EvenShares { number }.share(dimension, 0.3);
                parts[(share * 38.0) as usize] += 1;
            }
            let prime = dimension.prime;
            assert!(
                parts.iter().all(|count| (1..=20).contains(count)),
                "{prime}: {parts:?}"
            );
            dimension = dimension.next();
        }
        assert_eq!(dimension.prime, 179, "the 41st prime");
    }
}
