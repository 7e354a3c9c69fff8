//! One trial: runs of a variant with something lifted, each beside the run with the same random numbers.

use super::TriedVariant;
use super::lift::Lift;
use crate::engine::Stop;
use crate::results::{CauseRow, CauseVerdict, Resource, TrialKind, resource_keys};
use crate::scenario::Variant;
use crate::sim::{self, RunLimits};
use crate::stats::median;
use crate::study::{StudyError, in_order};

/// The share of a run's time below which a saving is not named.
const NAMED: f64 = 0.05;
/// A trial's run is stopped at this multiple of its counterpart's events.
const MOST_EVENTS: u64 = 10;
/// A trial may always have this number of events, because small runs vary.
const FEW_EVENTS: u64 = 200_000;

/// What a trial needs to know about one of its runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialRun {
    /// The replicate, and so the random numbers.
    replicate: u32,
    /// The time until all reachable targets are ready. `None`: they never are.
    pub(super) time_s: Option<f64>,
    pub(super) peak_pulls: u64,
    pub(super) events: u64,
}

/// The runs of a variant as it is, with which trials are compared.
#[derive(Clone, Debug)]
pub(super) struct Counterparts {
    seed: u64,
    stop: Stop,
    pub(super) runs: Vec<TrialRun>,
}

impl Counterparts {
    /// Simulates runs of a variant from the replicate `first`. Runs that complete come first, because a trial's first
    /// runs decide whether it goes on.
    pub(super) fn simulate(
        tried: &TriedVariant<'_>,
        first: u32,
        runs: usize,
    ) -> Result<Self, StudyError> {
        let seed = tried.seed;
        let mut runs = in_order(runs, |nth| {
            let replicate = first + nth as u32;
            let run = sim::run(tried.variant, seed, replicate)?.run;
            Ok(TrialRun {
                replicate,
                time_s: run.reachable_ready_s,
                peak_pulls: run.peak_pulls,
                events: run.events,
            })
        })?;
        runs.sort_by_key(|run| run.time_s.is_none());
        Ok(Self {
            seed,
            stop: tried.stop.clone(),
            runs,
        })
    }

    /// The runs of a trial as counterparts of further trials.
    pub(super) fn with_runs(&self, runs: &[TrialRun]) -> Self {
        Self {
            runs: runs.to_vec(),
            ..self.clone()
        }
    }

    /// The number of events of all runs.
    pub(super) fn events(&self) -> u64 {
        self.runs.iter().map(|run| run.events).sum()
    }

    /// Returns whether most runs complete.
    pub(super) fn complete(&self) -> bool {
        let complete = self.runs.iter().filter(|run| run.time_s.is_some()).count();
        2 * complete > self.runs.len()
    }

    /// Simulates a trial's run that belongs to the counterpart with index `nth`. `None`: it was stopped, or events
    /// repeated without progress.
    pub(super) fn trial_run(
        &self,
        variant: &Variant,
        lift: &Lift,
        nth: usize,
    ) -> Result<Option<TrialRun>, StudyError> {
        // Each run lifts its own world, because the worlds of all trials together may not fit into memory.
        let lifted = lift.of(variant).unwrap_or_else(|| variant.clone());
        let counterpart = &self.runs[nth];
        let replicate = counterpart.replicate;
        let most = (MOST_EVENTS * counterpart.events).max(FEW_EVENTS);
        let limits = RunLimits {
            most_events: most,
            stop: &self.stop,
        };
        let run = match sim::run_within(&lifted, self.seed, replicate, limits) {
            Ok(Some(record)) => record.run,
            Ok(None) | Err(sim::RunFailure::NoProgress(_)) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };
        Ok(Some(TrialRun {
            replicate,
            time_s: run.reachable_ready_s,
            peak_pulls: run.peak_pulls,
            events: run.events,
        }))
    }
}

/// Runs whose time can be judged, and those of them that change by more than chance.
#[derive(Clone, Copy, Debug, Default)]
struct JudgedRuns {
    judged: usize,
    exceeding: usize,
}

/// A trial in progress: what is lifted, and its runs so far.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) kind: TrialKind,
    pub(super) resources: Vec<Resource>,
    pub(super) lift: Lift,
    pub(super) runs: Vec<TrialRun>,
    /// Whether a run was stopped.
    pub(super) is_stopped: bool,
    pub(super) verdict: CauseVerdict,
}

impl Trial {
    pub(super) fn new(kind: TrialKind, resources: Vec<Resource>, lift: Lift) -> Self {
        Self {
            kind,
            resources,
            lift,
            runs: Vec::new(),
            is_stopped: false,
            verdict: CauseVerdict::None,
        }
    }

    /// The time that each run saves. Infinite where only the trial completes, and minus infinity where only its
    /// counterpart does.
    pub(super) fn saved(&self, counterparts: &Counterparts) -> Vec<f64> {
        let mut saved = Vec::new();
        for (run, base) in self.runs.iter().zip(&counterparts.runs) {
            saved.push(match (base.time_s, run.time_s) {
                (Some(base), Some(lifted)) => base - lifted,
                (None, Some(_)) => f64::INFINITY,
                (Some(_), None) => f64::NEG_INFINITY,
                (None, None) => 0.0,
            });
        }
        saved
    }

    /// The median of the time that the runs save.
    pub(super) fn median_saved(&self, counterparts: &Counterparts) -> f64 {
        median_of(&self.saved(counterparts))
    }

    /// Returns whether every run saves more than a share of its counterpart's time, and more than `noise`.
    pub(super) fn saves(&self, counterparts: &Counterparts, noise_s: f64) -> bool {
        self.exceeds(counterparts, noise_s, 1.0)
    }

    /// Returns whether every run costs more than a share of its counterpart's time, and more than `noise`.
    pub(super) fn costs(&self, counterparts: &Counterparts, noise_s: f64) -> bool {
        self.exceeds(counterparts, noise_s, -1.0)
    }

    /// The number of runs that save more than a share of their counterpart's time, and more than `noise`.
    pub(super) fn saving_runs(&self, counterparts: &Counterparts, noise_s: f64) -> usize {
        self.changes(counterparts, noise_s, 1.0).exceeding
    }

    /// Returns whether a rollout completes in every run in which its counterpart does not, and in no run less often.
    pub(super) fn frees(&self, counterparts: &Counterparts) -> bool {
        let mut freed = 0;
        for (run, base) in self.runs.iter().zip(&counterparts.runs) {
            if run.time_s.is_none() {
                return false;
            }
            freed += usize::from(base.time_s.is_none());
        }
        self.runs.len() == counterparts.runs.len() && freed > 0
    }

    fn exceeds(&self, counterparts: &Counterparts, noise_s: f64, sign: f64) -> bool {
        let changes = self.changes(counterparts, noise_s, sign);
        let is_every = changes.exceeding == changes.judged;
        !self.is_stopped && is_every && 2 * changes.judged > self.runs.len()
    }

    /// Counts the runs that change in the direction of `sign` by more than chance.
    fn changes(&self, counterparts: &Counterparts, noise_s: f64, sign: f64) -> JudgedRuns {
        let mut runs = JudgedRuns::default();
        for (saved, base) in self.saved(counterparts).iter().zip(&counterparts.runs) {
            // A rollout that completes in neither run says nothing about the time.
            if *saved == 0.0 && base.time_s.is_none() {
                continue;
            }
            runs.judged += 1;
            let least = (NAMED * base.time_s.unwrap_or(0.0)).max(noise_s);
            runs.exceeding += usize::from(sign * saved > least);
        }
        runs
    }

    /// The largest change in either direction.
    pub(super) fn largest_change(&self, counterparts: &Counterparts) -> f64 {
        let saved = self.saved(counterparts);
        saved.iter().fold(0.0, |most, saved| saved.abs().max(most))
    }

    /// The trial as a row of `causes.csv`.
    pub(super) fn row(
        &self,
        variant: &Variant,
        counterparts: &Counterparts,
        limit: String,
        noise_s: f64,
    ) -> CauseRow {
        let base = &counterparts.runs[..self.runs.len()];
        let saved = self.saved(counterparts);
        CauseRow {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            trial: self.kind,
            resource: resource_keys(&self.resources),
            limit,
            runs: self.runs.len() as u64,
            base_s: finite(median_time(base)),
            lifted_s: finite(median_time(&self.runs)),
            saved_s: finite(median_of(&saved)),
            saved_low_s: finite(saved.iter().copied().fold(f64::INFINITY, f64::min)),
            saved_high_s: finite(saved.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            base_peak_pulls: median_peak(base),
            peak_pulls: median_peak(&self.runs),
            saving_runs: self.saving_runs(counterparts, noise_s) as u64,
            verdict: if self.is_stopped {
                CauseVerdict::Stopped
            } else {
                self.verdict
            },
        }
    }
}

/// The median time of runs; infinite if most did not complete.
pub(super) fn median_time(runs: &[TrialRun]) -> f64 {
    let mut times = Vec::new();
    for run in runs {
        times.push(run.time_s.unwrap_or(f64::INFINITY));
    }
    median_of(&times)
}

fn median_peak(runs: &[TrialRun]) -> f64 {
    let peaks: Vec<f64> = runs.iter().map(|run| run.peak_pulls as f64).collect();
    median(&peaks).unwrap_or(0.0)
}

/// The median of some values, which may be infinite: then it is one of the middle two. Not a number where there is
/// none.
fn median_of(values: &[f64]) -> f64 {
    if values.iter().all(|value| value.is_finite()) {
        return median(values).unwrap_or(f64::NAN);
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
