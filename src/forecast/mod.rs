//! The forecast of a rollout in progress: when it will be done, from what the product shows now.
//!
//! | file | subject |
//! |---|---|
//! | `fields` | the fields of the products' objects |
//! | `status` | exports of the product as facts about each target |
//! | `draws` | draws of the constants that fit the updates seen so far, each with its run to the end |
//!
//! [`sim::run_from`](crate::sim::run_from) has the product's rules follow what was seen, and go on from there. The
//! interval is total: it covers the constants that nobody knows, within their ranges, and randomness.
//!
//! Left out: what people will do, beyond the experiment's own models of them; errors of the model itself.

mod draws;
mod fields;
mod status;

use std::path::PathBuf;

use crate::calibrate::time::{Nanos, rfc3339, seconds_between};
use crate::document::problem::{LoadError, OrProblems, Problem, some_of};
use crate::import::sources::Texts;
use crate::results::{
    ForecastEstimate, ForecastHold, ForecastNext, ForecastRecord, ForecastSpan, ForecastTime,
    SeenCounts, SlowTarget,
};
use crate::scenario::{Scenario, VariedExperiment};
use crate::sim::{RolloutSoFar, SeenState, SeenTarget};
use crate::stats::{CensoredFit, prediction_interval, quantile_of_sorted, sorted};
use crate::study::StudyError;
use crate::units::{SimDuration, SimTime};
use draws::{DrawEnd, DrawnRollout, PaceDraw};
use status::{ShownRollout, ShownTarget};

/// The probability that intervals are for.
const LEVEL: f64 = 0.9;

/// Larger status files are refused, because they are held in memory as a whole. Without managed fields, 100,000
/// BundleDeployments have about 300 MB.
const MOST_STATUS_BYTES: u64 = 500_000_000;

/// Most targets that are named as slow.
const MOST_SLOW: usize = 5;

/// The inputs of a forecast.
#[derive(Clone, Debug)]
pub struct ForecastInputs {
    /// The exports.
    pub status: Vec<PathBuf>,
    /// The time of the exports, in RFC 3339. `None`: the newest time in them, or `clock`.
    pub now: Option<String>,
    /// When the rollout began, in RFC 3339. `None`: as the exports say.
    pub released: Option<String>,
    /// The present time, in RFC 3339.
    pub clock: String,
    /// Number of draws of the constants: at least 2.
    pub draws: u32,
}

/// A rollout that was read, ready to be forecast.
#[derive(Debug)]
pub struct Forecaster<'s> {
    varied: &'s VariedExperiment,
    variant: usize,
    draws: u32,
    seen: RolloutSoFar,
    released: Nanos,
}

impl<'s> Forecaster<'s> {
    /// Reads what the product shows, for a variant of the experiment, by its number.
    ///
    /// # Errors
    /// All that is wrong with the exports, with places and fixes; or that they do not fit the experiment.
    pub fn new(
        varied: &'s VariedExperiment,
        variant: usize,
        inputs: &ForecastInputs,
    ) -> Result<Self, LoadError> {
        let first = inputs
            .status
            .first()
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        let read = || -> OrProblems<Self> {
            let mut texts = Texts::limited_to(MOST_STATUS_BYTES);
            let sources: Result<Vec<_>, _> = inputs
                .status
                .iter()
                .map(|path| texts.read(path, status::COMMAND))
                .collect();
            let shown = status::read(&sources?)?;
            let fail = |message: String, help: &str| {
                vec![Problem::of_file(&first, message).with_help(help.to_owned())]
            };
            let given = |text: &Option<String>, option: &str| -> OrProblems<Option<Nanos>> {
                let Some(text) = text else { return Ok(None) };
                let at = rfc3339(text).map(|(at, _)| at);
                let message = || {
                    fail(
                        format!("{option}: `{text}` is not a time"),
                        "write e.g. `2026-03-01T15:04:05Z`",
                    )
                };
                at.map(Some).ok_or_else(message)
            };
            let clock = rfc3339(&inputs.clock).map(|(at, _)| at);
            // Instances have uptimes, which count back from now.
            let newest = shown.newest.filter(|_| !shown.is_numbered);
            let now = given(&inputs.now, "--now")?
                .or(newest)
                .or(clock)
                .unwrap_or_default();
            let Some(released) = given(&inputs.released, "--released")?.or(shown.released) else {
                return Err(fail(
                    "the export does not say when the rollout began".to_owned(),
                    "add e.g. `--released 2026-03-01T15:04:05Z`",
                ));
            };
            if released > now {
                let message = format!(
                    "the rollout began at {}, after {}, the time of the export",
                    rfc(released),
                    rfc(now)
                );
                return Err(fail(
                    message,
                    "set the time of the export with --now, or the start with --released",
                ));
            }
            let scenario = &varied.base().variants[variant].scenario;
            if scenario.world.distribution.pre_pull.is_some() {
                let help =
                    "remove `distribution.prePull` from the experiment that you forecast with";
                return Err(fail(
                    "a rollout with a pre-pull cannot be forecast".to_owned(),
                    help,
                ));
            }
            let names: Vec<&str> = scenario
                .world
                .clusters
                .iter()
                .map(|cluster| cluster.name.as_str())
                .collect();
            let targets = targets(&shown, &names, (released, now)).map_err(|unknown| {
                let message = format!("the experiment has no {}", some_of(&unknown));
                fail(
                    message,
                    "names in the experiment's `fleet` must be those of the product",
                )
            })?;
            let paused = paused(&shown, scenario);
            if !paused.is_empty() {
                let message = format!(
                    "the product has paused {}, and does not update what is paused",
                    some_of(&paused)
                );
                let help = "resume them and export again, or set `paused: true` for them in the experiment's `fleet`";
                return Err(fail(message, help));
            }
            let seen = RolloutSoFar {
                now: since(released, now),
                targets,
                acts: shown.acts,
            };
            if let Some(problem) = shown.over.filter(|_| !is_over(&seen)) {
                return Err(vec![problem]);
            }
            Ok(Self {
                varied,
                variant,
                draws: inputs.draws.max(2),
                seen,
                released,
            })
        };
        read().map_err(|problems| LoadError::new(problems, &first))
    }

    /// Number of runs of [`Forecaster::forecast`].
    #[must_use]
    pub fn runs(&self) -> u64 {
        if is_over(&self.seen) {
            0
        } else {
            self.drawn().runs()
        }
    }

    const fn drawn(&self) -> DrawnRollout<'_> {
        DrawnRollout {
            varied: self.varied,
            variant: self.variant,
            seen: &self.seen,
            draws: self.draws,
        }
    }

    /// Simulates, on the current rayon pool. `run_done` is called after each run, from any thread.
    ///
    /// # Errors
    /// When a run failed.
    pub fn forecast(&self, run_done: impl Fn() + Sync) -> Result<ForecastRecord, StudyError> {
        let drawn = self.drawn();
        let is_over = is_over(&self.seen);
        let draws = if is_over {
            Vec::new()
        } else {
            drawn.learnt(&run_done)?
        };
        let ended = is_over.then(|| self.ended());
        let done: Vec<f64> = ended
            .into_iter()
            .chain(draws.iter().map(|draw| draw.end.done_s))
            .collect();
        let unfinished =
            done.iter().filter(|done| done.is_infinite()).count() as f64 / done.len() as f64;
        let count = |state| {
            self.seen
                .targets
                .iter()
                .filter(|target| target.state == state)
                .count()
        };
        let seen = SeenCounts {
            targets: self.seen.targets.len(),
            ready: count(SeenState::Ready),
            updating: count(SeenState::Updating),
            waiting: count(SeenState::Waiting),
            failed: count(SeenState::Failed),
        };
        // A rollout that is over loads the registry no more.
        let load = |of: fn(&DrawEnd) -> f64| {
            let drawn = draws.iter().map(|draw| of(&draw.end));
            estimate(is_over.then_some(0.0).into_iter().chain(drawn))
        };
        let hold = draws
            .iter()
            .find_map(|draw| draw.end.hold.clone())
            .filter(|_| seen.waiting > 0);
        Ok(ForecastRecord {
            schema_version: 1,
            variant: self.varied.base().variants[self.variant].label.clone(),
            target: self.varied.base().target.to_owned(),
            released: self.at(0.0),
            now: self.at(self.seen.now.as_secs_f64()),
            seen,
            is_conditioned: drawn.is_conditioned(),
            draws: draws.len() as u32,
            level: LEVEL,
            done: ended.map_or_else(|| self.span(&done), |at| self.moment(at)),
            unfinished,
            next: self.next(&draws),
            slow: self.slow(&draws),
            hold: hold.map(|(rule, explanation)| ForecastHold { rule, explanation }),
            egress_peak_bytes_per_s: load(|draw| draw.egress_peak),
            egress_bytes: load(|draw| draw.egress_bytes),
        })
    }

    /// The time these seconds after the release.
    fn at(&self, seconds: f64) -> ForecastTime {
        let at = self
            .released
            .saturating_add(SimDuration::from_secs_f64(seconds).as_nanos() as i64);
        ForecastTime {
            at: rfc(at),
            s: seconds,
        }
    }

    /// When the last target of a rollout that is over was ready, in seconds from the release: now at the latest.
    fn ended(&self) -> f64 {
        let ready = self
            .seen
            .targets
            .iter()
            .filter(|target| target.state == SeenState::Ready);
        ready
            .map(|target| target.ready.unwrap_or(self.seen.now))
            .max()
            .unwrap_or(self.seen.now)
            .as_secs_f64()
    }

    /// A time that is known.
    fn moment(&self, seconds: f64) -> ForecastSpan {
        let at = Some(self.at(seconds));
        ForecastSpan {
            median: at.clone(),
            low: at.clone(),
            high: at,
        }
    }

    /// Exports tell times to the second, so an interval is not sharper than that.
    fn span(&self, seconds: &[f64]) -> ForecastSpan {
        let ForecastEstimate { median, low, high } = estimate(seconds.iter().copied());
        let (low, high) = ((low - 1.0).max(self.seen.now.as_secs_f64()), high + 1.0);
        let at = |seconds: f64| seconds.is_finite().then(|| self.at(seconds));
        ForecastSpan {
            median: at(median),
            low: at(low),
            high: at(high),
        }
    }

    /// The first stage that has not begun, or else the next target, in most draws.
    fn next(&self, draws: &[PaceDraw]) -> Option<ForecastNext> {
        let clusters = &self.varied.base().variants[self.variant]
            .scenario
            .world
            .clusters;
        let is_waiting = |at: &usize| self.seen.targets[*at].state == SeenState::Waiting;
        let stages = &draws.first()?.end.stages;
        let has_begun =
            |stage: &str| (0..stages.len()).any(|at| stages[at] == stage && !is_waiting(&at));
        let is_new =
            |at: &usize| is_waiting(at) && !stages[*at].is_empty() && !has_begun(&stages[*at]);
        let first = |is_it: &dyn Fn(&usize) -> bool| {
            let of_draw = |draw: &PaceDraw| {
                let told = (0..draw.end.told_s.len())
                    .filter(is_it)
                    .filter_map(|at| Some((draw.end.told_s[at]?, at)));
                told.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            };
            let firsts: Vec<Option<(f64, usize)>> = draws.iter().map(of_draw).collect();
            let (_, at) = firsts
                .iter()
                .flatten()
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
                .copied()?;
            let times: Vec<f64> = firsts
                .iter()
                .map(|first| first.map_or(f64::INFINITY, |(told, _)| told))
                .collect();
            Some((at, self.span(&times)))
        };
        let (stage, (at, begins)) = match first(&is_new) {
            Some(found) => (stages[found.0].clone(), found),
            None => (String::new(), first(&is_waiting)?),
        };
        Some(ForecastNext {
            stage,
            first: clusters[at].name.clone(),
            begins,
        })
    }

    /// The targets that take longer than nearly all others.
    fn slow(&self, draws: &[PaceDraw]) -> Vec<SlowTarget> {
        let now = self.seen.now.as_secs_f64();
        // Where the product does not say when it instructed a target, the draws do.
        let told = |at: usize| {
            let known = self.seen.targets[at].told.map(SimTime::as_secs_f64);
            let drawn = || {
                sorted(
                    &draws
                        .iter()
                        .filter_map(|draw| draw.end.told_s[at])
                        .collect::<Vec<f64>>(),
                )
            };
            known.or_else(|| quantile_of_sorted(&drawn(), 0.5))
        };
        let updates: Vec<(usize, f64, bool)> = (0..self.seen.targets.len())
            .filter_map(|at| match self.seen.targets[at] {
                SeenTarget {
                    state: SeenState::Ready,
                    ready: Some(ready),
                    ..
                } => Some((at, ready.as_secs_f64() - told(at)?, true)),
                SeenTarget {
                    state: SeenState::Updating,
                    ..
                } => Some((at, (now - told(at)?).max(0.0), false)),
                _ => None,
            })
            .collect();
        let durations: Vec<(f64, bool)> = updates
            .iter()
            .map(|(_, span, is_over)| (*span, *is_over))
            .collect();
        let Some(fit) = CensoredFit::of(&durations) else {
            return Vec::new();
        };
        let clusters = &self.varied.base().variants[self.variant]
            .scenario
            .world
            .clusters;
        let mut slow: Vec<SlowTarget> = updates
            .iter()
            .filter(|(_, _, is_over)| !is_over)
            .map(|(at, for_s, _)| SlowTarget {
                name: clusters[*at].name.clone(),
                for_s: *for_s,
                longer_than: 1.0 - fit.longer(*for_s),
            })
            .filter(|slow| slow.longer_than > 0.9)
            .collect();
        slow.sort_by(|a, b| {
            b.for_s
                .total_cmp(&a.for_s)
                .then_with(|| a.name.cmp(&b.name))
        });
        slow.truncate(MOST_SLOW);
        slow
    }
}

/// Returns true if every target is ready or has failed.
fn is_over(seen: &RolloutSoFar) -> bool {
    seen.targets
        .iter()
        .all(|target| matches!(target.state, SeenState::Ready | SeenState::Failed))
}

/// The targets that the product has paused before their update, but the experiment has not.
fn paused(shown: &ShownRollout, scenario: &Scenario) -> Vec<String> {
    let clusters = &scenario.world.clusters;
    let names: Vec<&str> = clusters
        .iter()
        .map(|cluster| cluster.name.as_str())
        .collect();
    let waits = |target: &&ShownTarget| target.is_paused && target.state != SeenState::Ready;
    let is_known =
        |target: &ShownTarget| place_of(&target.name, &names).is_some_and(|at| clusters[at].paused);
    let waiting = shown
        .targets
        .iter()
        .filter(waits)
        .filter(|target| !is_known(target));
    waiting.map(|target| target.name.clone()).collect()
}

/// The targets of the experiment as they were seen. Those that the export does not show are waiting.
///
/// # Errors
/// The names that the experiment does not have.
fn targets(
    shown: &ShownRollout,
    names: &[&str],
    (released, now): (Nanos, Nanos),
) -> Result<Vec<SeenTarget>, Vec<String>> {
    let mut seen = vec![SeenTarget::default(); names.len()];
    let mut unknown = Vec::new();
    for target in &shown.targets {
        let place = if shown.is_numbered {
            target.name.parse().ok().filter(|at| *at < names.len())
        } else {
            place_of(&target.name, names)
        };
        let Some(place) = place else {
            unknown.push(target.name.clone());
            continue;
        };
        let ready = target
            .ready
            .or_else(|| Some(now.saturating_sub((target.uptime? * 1e9) as i64)));
        // What was ready before the rollout is ready on the old revision, unless the product says otherwise.
        let is_old = target.state == SeenState::Ready
            && target.told.is_none()
            && target.ready < Some(released);
        let is_old = is_old && target.ready.is_some();
        seen[place] = SeenTarget {
            state: if is_old {
                SeenState::Waiting
            } else {
                target.state
            },
            told: target.told.map(|at| since(released, at)),
            ready: ready
                .filter(|_| !is_old)
                .map(|at| since(released, at.min(now))),
        };
    }
    if unknown.is_empty() {
        Ok(seen)
    } else {
        Err(unknown)
    }
}

/// The place of a target: by its name, or by the longest name that its own ends with after a `-` or `/`.
fn place_of(name: &str, names: &[&str]) -> Option<usize> {
    let fits = |known: &str| {
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', '/']))
        };
        ends(name, known) || ends(known, name)
    };
    names.iter().position(|known| *known == name).or_else(|| {
        let fitting = names.iter().enumerate().filter(|(_, known)| fits(known));
        fitting
            .max_by_key(|(at, known)| (known.len(), usize::MAX - at))
            .map(|(at, _)| at)
    })
}

fn since(released: Nanos, at: Nanos) -> SimTime {
    SimTime::ZERO + SimDuration::from_secs_f64(seconds_between(released, at).max(0.0))
}

/// A time in RFC 3339, to the second.
fn rfc(at: Nanos) -> String {
    jiff::Timestamp::from_second(at.div_euclid(1_000_000_000))
        .unwrap_or_default()
        .to_string()
}

fn estimate(values: impl Iterator<Item = f64>) -> ForecastEstimate {
    let values: Vec<f64> = values.collect();
    let mut by_size = values.clone();
    by_size.sort_by(f64::total_cmp);
    let median = quantile_of_sorted(&by_size, 0.5).unwrap_or(f64::INFINITY);
    let range = prediction_interval(&values, LEVEL);
    let (low, high) = range.map_or((median, median), |range| (range.low, range.high));
    ForecastEstimate { median, low, high }
}
