//! Learning the pace: draws of the constants that fit the updates seen so far, each with its run to the end.
//!
//! Constants are drawn from their ranges as `uncertainty: constants` does, and each draw is a run that follows the
//! rollout until now ([`run_from`]). A draw weighs as much as the durations seen are likely under the durations of its
//! own run ([`CensoredFit`]). In each of [`ROUNDS`] rounds, draws are resampled by a part of their weight, so that a
//! few of them do not replace all others. Each then makes a Metropolis move: other values of some constants, perhaps
//! with other random numbers. This is sequential Monte Carlo with tempering (Del Moral, Doucet and Jasra 2006).
//!
//! Durations of targets are not independent given the constants, and not exactly lognormal. So they count as at most
//! [`MOST_WEIGHT`] independent ones. `docs/forecast.md` has the coverage that this gives.

use crate::engine::{EntityKey, Stream, Streams, dist};
use crate::scenario::{Level, VariedExperiment};
use crate::sim::{Continuation, RolloutSoFar, SeenState, draw_shares, run_from};
use crate::stats::{CensoredFit, bisected};
use crate::study::{StudyError, in_order};
use crate::units::{SimDuration, SimTime};

/// Rounds of resampling and moving. The last two have the whole weight.
const ROUNDS: u32 = 6;

/// The share of the constants that a move changes, and its step as a share of a range. `None`: they are drawn again,
/// which reaches all values of constants that the updates seen say nothing about.
const WAYS: [(f64, Option<f64>); 4] = [
    (0.15, None),
    (0.3, None),
    (0.4, Some(0.1)),
    (0.4, Some(0.3)),
];

/// Most independent durations that those seen count for.
const MOST_WEIGHT: f64 = 12.0;

/// A draw of the constants, with what its run says.
#[derive(Clone, Debug)]
pub(super) struct PaceDraw {
    replicate: u32,
    shares: Vec<f64>,
    weight: f64,
    pub(super) end: DrawEnd,
}

/// The end of a run that goes on from now.
#[derive(Clone, Debug)]
pub(super) struct DrawEnd {
    /// Seconds from the release until all targets but failed ones are ready; infinite for never.
    pub(super) done_s: f64,
    /// When each target was instructed, in seconds from the release.
    pub(super) told_s: Vec<Option<f64>>,
    /// The stage of each target.
    pub(super) stages: Vec<String>,
    /// The greatest rate that the registry sends at for a second, from now on, in bytes per second.
    pub(super) egress_peak: f64,
    /// Bytes that the registry sends from now on.
    pub(super) egress_bytes: f64,
    /// The rule that held the rollout, and the detail.
    pub(super) hold: Option<(String, String)>,
}

/// A rollout that is continued in many draws of the constants.
pub(super) struct DrawnRollout<'s> {
    pub(super) varied: &'s VariedExperiment,
    pub(super) variant: usize,
    pub(super) seen: &'s RolloutSoFar,
    pub(super) draws: u32,
}

impl DrawnRollout<'_> {
    /// The draws, equally likely, given what was seen. `run_done` is called after each run, from any thread.
    pub(super) fn learnt(
        &self,
        run_done: &(impl Fn() + Sync),
    ) -> Result<Vec<PaceDraw>, StudyError> {
        let names: Vec<&str> = self
            .varied
            .constants()
            .iter()
            .map(|constant| constant.name)
            .collect();
        let seed = self.varied.base().seed;
        let simulate = |replicate: u32, shares: Vec<f64>| {
            let draw = self.run(replicate, shares)?;
            run_done();
            Ok(draw)
        };
        let mut draws = in_order(self.draws as usize, |at| {
            simulate(at as u32, draw_shares(&names, seed, at as u32))
        })?;
        if !self.is_conditioned() {
            return Ok(draws);
        }
        let mut heat = 0.0;
        for round in 1..=ROUNDS {
            let next = if round + 1 < ROUNDS {
                next_heat(&draws, heat)
            } else {
                1.0
            };
            draws = resampled(&draws, next - heat, seed, round);
            heat = next;
            draws = in_order(draws.len(), |at| {
                let replicate = round * self.draws + at as u32;
                let streams = Streams::new(seed, replicate);
                let (draw, mut stream) = (
                    &draws[at],
                    streams.stream(EntityKey::of("forecast"), "move"),
                );
                let shares = moved(&draw.shares, &mut stream);
                let numbers = if dist::bernoulli(&mut stream, 0.5) {
                    draw.replicate
                } else {
                    replicate
                };
                let chance = libm::log(dist::unit(&mut stream).max(1e-300));
                let moved = simulate(numbers, shares)?;
                Ok(if chance < heat * (moved.weight - draw.weight) {
                    moved
                } else {
                    draw.clone()
                })
            })?;
        }
        Ok(draws)
    }

    /// Whether a target has finished: before that there is nothing to learn from.
    pub(super) fn is_conditioned(&self) -> bool {
        self.seen
            .targets
            .iter()
            .any(|target| target.state == SeenState::Ready)
    }

    /// Number of runs.
    pub(super) fn runs(&self) -> u64 {
        u64::from(self.draws)
            * if self.is_conditioned() {
                u64::from(1 + ROUNDS)
            } else {
                1
            }
    }

    fn run(&self, replicate: u32, shares: Vec<f64>) -> Result<PaceDraw, StudyError> {
        let levels: Vec<(usize, Level)> = shares
            .iter()
            .copied()
            .map(Level::Quantile)
            .enumerate()
            .collect();
        let experiment = self.varied.at(&levels)?;
        let run = run_from(
            &experiment.variants[self.variant],
            experiment.seed,
            replicate,
            self.seen,
        )?;
        Ok(PaceDraw {
            replicate,
            shares,
            weight: likelihood(&run, self.seen),
            end: end(&run, self.seen),
        })
    }
}

/// The weights of draws when this part of their log-likelihoods counts, the greatest being 1.
fn weights(draws: &[PaceDraw], part: f64) -> Vec<f64> {
    let most = draws
        .iter()
        .map(|draw| draw.weight)
        .fold(f64::NEG_INFINITY, f64::max);
    draws
        .iter()
        .map(|draw| libm::exp(part * (draw.weight - most)))
        .collect()
}

/// The greatest part of the log-likelihood, from the one that counted so far, with which the weights are still those of
/// half of the draws or more.
fn next_heat(draws: &[PaceDraw], heat: f64) -> f64 {
    let is_too_few = |next: f64| {
        let weights = weights(draws, next - heat);
        let (sum, squares) = weights
            .iter()
            .fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
        sum * sum / squares < 0.5 * draws.len() as f64
    };
    if is_too_few(1.0) {
        bisected((heat, 1.0), 40, is_too_few).0
    } else {
        1.0
    }
}

/// Draws by their weights, each as often as its share of all weights (systematic resampling).
fn resampled(draws: &[PaceDraw], part: f64, seed: u64, round: u32) -> Vec<PaceDraw> {
    let weights = weights(draws, part);
    let step = weights.iter().sum::<f64>() / draws.len() as f64;
    let offset =
        dist::unit(&mut Streams::new(seed, round).stream(EntityKey::of("forecast"), "resample"));
    let (mut kept, mut below) = (Vec::with_capacity(draws.len()), 0.0);
    for (draw, weight) in draws.iter().zip(&weights) {
        below += weight;
        while kept.len() < draws.len() && (kept.len() as f64 + offset) * step < below {
            kept.push(draw.clone());
        }
    }
    // Rounding may leave out the last.
    while kept.len() < draws.len() {
        kept.extend(kept.last().or(draws.last()).cloned());
    }
    kept
}

/// Shares a step away, reflected at 0 and 1.
fn moved(shares: &[f64], stream: &mut Stream) -> Vec<f64> {
    let (moved, step) = WAYS[dist::uniform(stream, 0.0, WAYS.len() as f64) as usize % WAYS.len()];
    let mut step = |share: f64| {
        if !dist::bernoulli(stream, moved) {
            return share;
        }
        let Some(size) = step else {
            return dist::unit(stream);
        };
        let to = (share + size * libm::log(dist::lognormal(stream, 1.0, 1.0))).abs() % 2.0;
        if to > 1.0 { 2.0 - to } else { to }
    };
    shares.iter().map(|share| step(*share)).collect()
}

/// The log-likelihood of the durations seen, under the durations of a run.
fn likelihood(run: &Continuation, seen: &RolloutSoFar) -> f64 {
    let end = run.record.run.end_s;
    // When the product instructed a target; one that was seen waiting hears of it now at the earliest.
    let began = |at: usize| {
        let told = SimTime::ZERO + SimDuration::from_secs_f64(run.record.clusters[at].told_s?);
        Some(if seen.targets[at].state == SeenState::Waiting {
            told.max(seen.now)
        } else {
            told
        })
    };
    let own: Vec<(f64, bool)> = (0..run.told.len())
        .filter_map(|at| {
            let told = began(at)?.as_secs_f64();
            let (ready, is_over) =
                run.own[at].map_or((end, false), |own| (own.as_secs_f64(), true));
            Some((ready - told, is_over))
        })
        .collect();
    // A world in which nothing ever finishes is as unlikely as can be.
    let Some(fit) = CensoredFit::of(&own) else {
        return -1e6;
    };
    let span = |from: SimTime, to: SimTime| to.saturating_since(from).as_secs_f64().max(1.0);
    let of_target = |at: usize| {
        let target = seen.targets[at];
        let told = target.told.or(began(at))?;
        let tail = |share: f64| libm::log(share.max(1e-12));
        match (target.state, target.ready) {
            (SeenState::Ready, Some(ready)) => Some(fit.ln_density(span(told, ready))),
            (SeenState::Ready, None) => Some(tail(1.0 - fit.longer(span(told, seen.now)))),
            (SeenState::Updating, _) => Some(tail(fit.longer(span(told, seen.now)))),
            _ => None,
        }
    };
    let terms: Vec<f64> = (0..seen.targets.len()).filter_map(of_target).collect();
    let count = terms.len().max(1) as f64;
    terms.iter().sum::<f64>() * (MOST_WEIGHT / count).min(1.0)
}

fn end(run: &Continuation, seen: &RolloutSoFar) -> DrawEnd {
    let record = &run.record;
    let now = seen.now.as_secs_f64();
    let states = seen.targets.iter().map(|target| target.state);
    let rest = record
        .clusters
        .iter()
        .zip(states)
        .filter(|(_, state)| *state != SeenState::Failed);
    let last = rest
        .clone()
        .map(|(cluster, _)| cluster.ready_s.unwrap_or(f64::INFINITY))
        .fold(0.0, f64::max);
    let is_whole = rest.count() == record.clusters.len();
    let done_s = match record.run.reachable_ready_s {
        Some(done) if is_whole => done,
        None if is_whole => f64::INFINITY,
        _ => last,
    };
    let later = record
        .series
        .iter()
        .filter(|bin| bin.t_s + record.bin_s > now);
    DrawEnd {
        done_s,
        told_s: run
            .told
            .iter()
            .map(|told| told.map(SimTime::as_secs_f64))
            .collect(),
        stages: record
            .clusters
            .iter()
            .map(|cluster| cluster.stage.clone())
            .collect(),
        egress_peak: later
            .clone()
            .map(|bin| bin.egress_peak_1s_bytes_per_s)
            .fold(0.0, f64::max),
        egress_bytes: later.map(|bin| bin.egress_bytes_per_s * record.bin_s).sum(),
        hold: run
            .hold
            .as_ref()
            .map(|hold| (hold.rule.clone().into_owned(), hold.explanation.clone())),
    }
}
