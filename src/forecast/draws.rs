//! Learns the pace of a rollout: draws constants that fit the observed updates, and runs the rollout to its end for
//! each draw.
//!
//! Constants are drawn from their ranges as for `uncertainty: constants`, and each draw is a run that follows the
//! rollout until the present ([`run_from`]). The weight of a draw is the likelihood of the observed durations under
//! the durations of its own run ([`CensoredFit`]). In each of [`ROUNDS`] rounds, draws are resampled by only a part of
//! their weight, so that a few of them do not replace all others. Each draw then makes a Metropolis move to other
//! values of some constants, possibly with other random numbers. This is sequential Monte Carlo with tempering (Del
//! Moral, Doucet and Jasra 2006).
//!
//! Given the constants, the targets' durations are neither independent nor exactly lognormal. They therefore count as
//! at most [`MOST_WEIGHT`] independent durations. `docs/forecast.md` reports the resulting coverage.

use super::ratio::{ComparedUpdate, PaceRatio};
use crate::engine::{EntityKey, Stream, Streams, dist};
use crate::results::ForecastHold;
use crate::scenario::{Level, VariedExperiment};
use crate::sim::{
    Continuation, PlannedRest, RolloutSoFar, SeenState, SeenTarget, draw_shares, run_from,
};
use crate::stats::{CensoredFit, bisected};
use crate::study::{StudyError, in_order};
use crate::units::{SimDuration, SimTime};

/// Number of rounds of resampling and moving. The last two rounds use the full weight.
const ROUNDS: u32 = 6;

/// A kind of move to other values of the constants.
struct Move {
    /// The share of the constants that a move changes.
    changed: f64,
    /// The size of a change as a share of the constant's range. `None`: the constants are drawn again, which reaches
    /// all values of constants that the observed updates do not determine.
    step: Option<f64>,
}

/// The possible moves, each equally likely.
const MOVES: [Move; 4] = [
    Move {
        changed: 0.15,
        step: None,
    },
    Move {
        changed: 0.3,
        step: None,
    },
    Move {
        changed: 0.4,
        step: Some(0.1),
    },
    Move {
        changed: 0.4,
        step: Some(0.3),
    },
];

/// Maximum number of independent durations as which the observed durations count.
const MOST_WEIGHT: f64 = 12.0;

/// A draw of the constants, with the results of its run.
#[derive(Clone, Debug, Default)]
pub(super) struct PaceDraw {
    replicate: u32,
    shares: Vec<f64>,
    weight: f64,
    /// Observed durations as a ratio to those of the run. `None`: there is nothing to compare.
    pub(super) ratio: Option<PaceRatio>,
    /// The duration of each target's update in the run, in seconds. `None`: it does not become ready.
    pub(super) own_s: Vec<Option<f64>>,
    /// Number of targets that were instructed before the present and never become ready in the run.
    pub(super) failures: usize,
    pub(super) end: DrawEnd,
}

impl PaceDraw {
    /// Returns whether two draws are the same, because one was resampled twice and no move was accepted.
    fn is_same(&self, other: &Self) -> bool {
        self.replicate == other.replicate && self.shares == other.shares
    }
}

/// The draws of one group, before and after learning.
pub(super) struct DrawGroup {
    pub(super) prior: Vec<PaceDraw>,
    pub(super) learnt: Vec<PaceDraw>,
}

/// The outcome of a run that continues from the present.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawEnd {
    /// Seconds from the release until all targets except failed ones are ready. Infinite if this never happens.
    pub(super) done_s: f64,
    /// The time at which each target was instructed, in seconds from the release.
    pub(super) instructed_s: Vec<Option<f64>>,
    /// The stage of each target, as a name.
    pub(super) stages: Vec<String>,
    /// Maximum rate at which the registry sends after the present, over one second, in bytes per second.
    pub(super) egress_peak: f64,
    /// Bytes that the registry sends after the present.
    pub(super) egress_bytes: f64,
    /// Whether a later release supersedes the observed one.
    pub(super) is_superseded: bool,
    /// The rule that blocked the rollout, if it stalled.
    pub(super) hold: Option<ForecastHold>,
}

/// A rollout that is continued in many draws of the constants.
pub(super) struct DrawnRollout<'s> {
    pub(super) varied: &'s VariedExperiment,
    pub(super) variant: usize,
    pub(super) seen: &'s RolloutSoFar,
    /// Observed durations as a ratio to those of the run with the experiment's own values.
    pub(super) stated: Option<PaceRatio>,
    /// Number of draws of a group.
    pub(super) draws: u32,
    /// The number of the group, which has its own random numbers.
    pub(super) group: u32,
}

impl DrawnRollout<'_> {
    /// Returns equally likely draws that fit the observations. `run_done` is called after each run, from any thread.
    pub(super) fn learnt(&self, run_done: &(impl Fn() + Sync)) -> Result<DrawGroup, StudyError> {
        let constants = self.varied.constants().iter();
        let names: Vec<&str> = constants.map(|constant| constant.name).collect();
        let seed = self.varied.base().seed;
        let mut draws = in_order(self.draws as usize, |number| {
            let replicate = self.first_replicate() + number as u32;
            self.run(replicate, draw_shares(&names, seed, replicate), run_done)
        })?;
        let prior = draws.clone();
        if !self.is_conditioned() {
            return Ok(DrawGroup {
                prior,
                learnt: draws,
            });
        }
        let mut heat = 0.0;
        for round in 1..=ROUNDS {
            let next = if round + 1 < ROUNDS {
                next_heat(&draws, heat)
            } else {
                1.0
            };
            draws = resampled(&draws, next - heat, seed, self.first_replicate() + round);
            heat = next;
            draws = in_order(draws.len(), |number| {
                let replicate = self.first_replicate() + round * self.draws + number as u32;
                self.moved(&draws[number], replicate, heat, run_done)
            })?;
        }
        Ok(DrawGroup {
            prior,
            learnt: draws,
        })
    }

    /// Returns the first replicate of the group.
    const fn first_replicate(&self) -> u32 {
        self.group * (1 + ROUNDS) * self.draws
    }

    /// Runs a draw again to its end, with another rest of the rollout.
    pub(super) fn continued(
        &self,
        draw: &PaceDraw,
        seen: &RolloutSoFar,
    ) -> Result<DrawEnd, StudyError> {
        let run = self.run_of(draw.replicate, &draw.shares, seen)?;
        Ok(end(&run, seen))
    }

    /// Returns a Metropolis move of a draw: other values of some constants, with the random numbers of `replicate` or
    /// its own. Returns the draw itself if the move is rejected. `heat`: the part of the log-likelihood that is used.
    fn moved(
        &self,
        draw: &PaceDraw,
        replicate: u32,
        heat: f64,
        run_done: &(impl Fn() + Sync),
    ) -> Result<PaceDraw, StudyError> {
        let streams = Streams::new(self.varied.base().seed, replicate);
        let mut stream = streams.stream(EntityKey::of("forecast"), "move");
        let shares = moved(&draw.shares, &mut stream);
        let numbers = if dist::bernoulli(&mut stream, 0.5) {
            draw.replicate
        } else {
            replicate
        };
        let chance = libm::log(dist::unit(&mut stream).max(1e-300));
        let moved = self.run(numbers, shares, run_done)?;
        if chance < heat * (moved.weight - draw.weight) {
            Ok(moved)
        } else {
            Ok(draw.clone())
        }
    }

    /// Returns whether any target has finished. Before that there is nothing to learn from.
    pub(super) fn is_conditioned(&self) -> bool {
        self.seen
            .targets
            .iter()
            .any(|target| target.state == SeenState::Ready)
    }

    /// Returns the number of runs that the draws need.
    pub(super) fn runs(&self) -> u64 {
        let draws = u64::from(self.draws);
        if self.is_conditioned() {
            draws * u64::from(1 + ROUNDS)
        } else {
            draws
        }
    }

    /// Runs the rollout with the constants at these shares of their ranges, from the observed state.
    fn run_of(
        &self,
        replicate: u32,
        shares: &[f64],
        seen: &RolloutSoFar,
    ) -> Result<Continuation, StudyError> {
        let levels: Vec<(usize, Level)> = shares
            .iter()
            .copied()
            .map(Level::Quantile)
            .enumerate()
            .collect();
        let experiment = self.varied.at(&levels)?;
        let variant = &experiment.variants[self.variant];
        Ok(run_from(variant, experiment.seed, replicate, seen)?)
    }

    /// Continues the rollout with the constants at these shares of their ranges.
    fn run(
        &self,
        replicate: u32,
        shares: Vec<f64>,
        run_done: &(impl Fn() + Sync),
    ) -> Result<PaceDraw, StudyError> {
        let run = self.run_of(replicate, &shares, self.seen)?;
        let draw = PaceDraw {
            replicate,
            shares,
            weight: likelihood(&run, self.seen),
            ratio: ratio(&run, self.seen),
            own_s: own_s(&run, self.seen),
            failures: failures(&run, self.seen),
            end: end(&run, self.seen),
        };
        run_done();
        Ok(draw)
    }
}

/// Returns the number of different draws that the draws are worth: N² / Σ n² for n copies of each.
pub(super) fn effective(draws: &[PaceDraw]) -> f64 {
    let mut squares = 0.0;
    for draw in draws {
        squares += draws.iter().filter(|other| draw.is_same(other)).count() as f64;
    }
    let count = draws.len() as f64;
    count * count / squares.max(1.0)
}

/// Returns the weights of draws if this part of their log-likelihoods is used. The maximum weight is 1.
fn weights(draws: &[PaceDraw], part: f64) -> Vec<f64> {
    let mut most = f64::NEG_INFINITY;
    for draw in draws {
        most = most.max(draw.weight);
    }
    let mut weights = Vec::new();
    for draw in draws {
        weights.push(libm::exp(part * (draw.weight - most)));
    }
    weights
}

/// Returns the largest part of the log-likelihood, not below the current part, for which the weights correspond to at
/// least half of the draws.
fn next_heat(draws: &[PaceDraw], heat: f64) -> f64 {
    if !has_few_draws(draws, 1.0 - heat) {
        return 1.0;
    }
    let (next, _) = bisected((heat, 1.0), 40, |next| has_few_draws(draws, next - heat));
    next
}

/// Returns whether the weights correspond to less than half of the draws if this part of the log-likelihoods is used.
fn has_few_draws(draws: &[PaceDraw], part: f64) -> bool {
    let mut sum = 0.0;
    let mut squares = 0.0;
    for weight in weights(draws, part) {
        sum += weight;
        squares += weight * weight;
    }
    sum * sum / squares < 0.5 * draws.len() as f64
}

/// Resamples draws in proportion to their weights (systematic resampling).
fn resampled(draws: &[PaceDraw], part: f64, seed: u64, round: u32) -> Vec<PaceDraw> {
    let weights = weights(draws, part);
    let step = weights.iter().sum::<f64>() / draws.len() as f64;
    let mut stream = Streams::new(seed, round).stream(EntityKey::of("forecast"), "resample");
    let offset = dist::unit(&mut stream);
    let mut kept = Vec::with_capacity(draws.len());
    let mut below = 0.0;
    for (draw, weight) in draws.iter().zip(&weights) {
        below += weight;
        while kept.len() < draws.len() && (kept.len() as f64 + offset) * step < below {
            kept.push(draw.clone());
        }
    }
    // Because of rounding, the last draw may be missing.
    while kept.len() < draws.len() {
        kept.extend(kept.last().or(draws.last()).cloned());
    }
    kept
}

/// Returns the shares after one of the [`MOVES`], chosen at random.
fn moved(shares: &[f64], stream: &mut Stream) -> Vec<f64> {
    let number = dist::uniform(stream, 0.0, MOVES.len() as f64) as usize % MOVES.len();
    let Move { changed, step } = MOVES[number];
    let mut moved = Vec::new();
    for &share in shares {
        moved.push(if !dist::bernoulli(stream, changed) {
            share
        } else if let Some(size) = step {
            one_step(share, size, stream)
        } else {
            dist::unit(stream)
        });
    }
    moved
}

/// Returns a share at a random distance from this one, reflected at 0 and 1.
fn one_step(share: f64, size: f64, stream: &mut Stream) -> f64 {
    let to = (share + size * libm::log(dist::lognormal(stream, 1.0, 1.0))).abs() % 2.0;
    if to > 1.0 { 2.0 - to } else { to }
}

/// Returns the log-likelihood of the observed durations, under the durations of a run.
fn likelihood(run: &Continuation, seen: &RolloutSoFar) -> f64 {
    // A run in which nothing ever finishes gets the minimum likelihood.
    let Some(fit) = CensoredFit::of(&own_durations(run, seen)) else {
        return -1e6;
    };
    let mut terms = Vec::new();
    for target in 0..seen.targets.len() {
        terms.extend(likelihood_of_target(run, seen, target, &fit));
    }
    let count = terms.len().max(1) as f64;
    terms.iter().sum::<f64>() * (MOST_WEIGHT / count).min(1.0)
}

/// Returns the durations of a run's updates in seconds, and whether each update had ended by the end of the run.
fn own_durations(run: &Continuation, seen: &RolloutSoFar) -> Vec<(f64, bool)> {
    let mut durations = Vec::new();
    for (target, own) in run.own_ready.iter().enumerate() {
        let Some(began) = began(run, seen, target) else {
            continue;
        };
        let ended_s = own.map_or(run.record.run.end_s, SimTime::as_secs_f64);
        durations.push((ended_s - began.as_secs_f64(), own.is_some()));
    }
    durations
}

/// Returns the observed durations as a ratio to those of a run.
pub(super) fn ratio(run: &Continuation, seen: &RolloutSoFar) -> Option<PaceRatio> {
    PaceRatio::of(&compared(run, seen))
}

/// Returns the observed updates, each with its duration in a run.
fn compared(run: &Continuation, seen: &RolloutSoFar) -> Vec<ComparedUpdate> {
    let own = own_s(run, seen);
    let mut updates = Vec::new();
    for (at, target) in seen.targets.iter().enumerate() {
        let told = target.instructed.or(began(run, seen, at));
        let (Some(own_s), Some(told)) = (own[at], told) else {
            continue;
        };
        let (until, is_over) = match (target.state, target.ready) {
            (SeenState::Ready, Some(ready)) => (ready, true),
            (SeenState::Updating, _) if !target.is_stuck => (seen.now, false),
            _ => continue,
        };
        updates.push(ComparedUpdate {
            observed_s: span(told, until),
            own_s: own_s.max(1.0),
            is_over,
        });
    }
    updates
}

/// Returns the duration of each target's update in a run, in seconds. `None`: it does not become ready.
fn own_s(run: &Continuation, seen: &RolloutSoFar) -> Vec<Option<f64>> {
    let mut durations = Vec::new();
    for (target, own) in run.own_ready.iter().enumerate() {
        let spans = began(run, seen, target).zip(*own);
        durations.push(spans.map(|(from, to)| to.saturating_since(from).as_secs_f64()));
    }
    durations
}

/// Returns the number of targets that were instructed before the present and never become ready in the run.
fn failures(run: &Continuation, seen: &RolloutSoFar) -> usize {
    let mut failures = 0;
    for (target, own) in run.own_ready.iter().enumerate() {
        let told = run.instructed[target];
        failures += usize::from(own.is_none() && told.is_some_and(|told| told < seen.now));
    }
    failures
}

/// Returns the time at which the product in a run instructed a target. A target that was observed waiting is
/// instructed at the present or later.
fn began(run: &Continuation, seen: &RolloutSoFar, target: usize) -> Option<SimTime> {
    let instructed_s = run.record.clusters[target].instructed_s?;
    let instructed = SimTime::ZERO + SimDuration::from_secs_f64(instructed_s);
    if seen.targets[target].state == SeenState::Waiting {
        Some(instructed.max(seen.now))
    } else {
        Some(instructed)
    }
}

/// Returns the log-likelihood of the duration of a target's update so far. `None`: the target was not instructed, or
/// has failed.
fn likelihood_of_target(
    run: &Continuation,
    seen: &RolloutSoFar,
    target: usize,
    fit: &CensoredFit,
) -> Option<f64> {
    let of_target = seen.targets[target];
    let instructed = of_target.instructed.or(began(run, seen, target))?;
    let so_far = span(instructed, seen.now);
    match (of_target.state, of_target.ready) {
        (SeenState::Ready, Some(ready)) => Some(fit.ln_density(span(instructed, ready))),
        (SeenState::Ready, None) => Some(ln_tail(1.0 - fit.longer(so_far))),
        (SeenState::Updating, _) if !of_target.is_stuck => Some(ln_tail(fit.longer(so_far))),
        _ => None,
    }
}

/// Returns the seconds between two times, at least one.
fn span(from: SimTime, to: SimTime) -> f64 {
    to.saturating_since(from).as_secs_f64().max(1.0)
}

/// Returns the logarithm of a probability, which may have been rounded to 0.
fn ln_tail(share: f64) -> f64 {
    libm::log(share.max(1e-12))
}

/// Returns the outcome of a run that continues from the present.
fn end(run: &Continuation, seen: &RolloutSoFar) -> DrawEnd {
    let record = &run.record;
    let now = seen.now.as_secs_f64();
    let mut end = DrawEnd {
        done_s: done_s(run, seen),
        instructed_s: Vec::new(),
        stages: Vec::new(),
        egress_peak: 0.0,
        egress_bytes: 0.0,
        is_superseded: record.releases.len() > 1,
        hold: None,
    };
    for instructed in &run.instructed {
        end.instructed_s.push(instructed.map(SimTime::as_secs_f64));
    }
    for cluster in &record.clusters {
        end.stages.push(cluster.stage.clone());
    }
    let mut bytes = Vec::new();
    for bin in &record.series {
        if bin.t_s + record.bin_s > now {
            end.egress_peak = end.egress_peak.max(bin.egress_peak_1s_bytes_per_s);
            bytes.push(bin.egress_bytes_per_s * record.bin_s);
        }
    }
    end.egress_bytes = bytes.into_iter().sum();
    end.hold = run.hold.as_ref().map(|hold| ForecastHold {
        rule: hold.rule.clone().into_owned(),
        explanation: hold.explanation.clone(),
    });
    end
}

/// Returns the seconds from the release until all targets except failed ones are ready. Infinite if this never
/// happens.
fn done_s(run: &Continuation, seen: &RolloutSoFar) -> f64 {
    let record = &run.record;
    if !seen.targets.iter().any(fails) {
        return record.run.reachable_ready_s.unwrap_or(f64::INFINITY);
    }
    let mut last: f64 = 0.0;
    for (cluster, target) in record.clusters.iter().zip(&seen.targets) {
        if !fails(target) {
            last = last.max(cluster.ready_s.unwrap_or(f64::INFINITY));
        }
    }
    last
}

/// Returns whether an update of a target has failed permanently, or will fail.
fn fails(target: &SeenTarget) -> bool {
    target.state == SeenState::Failed || target.rest == PlannedRest::Fails
}
