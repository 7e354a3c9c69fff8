//! The forecast of a rollout in progress: when it will be done, given the state that the product shows.
//!
//! | file | subject |
//! |---|---|
//! | `fields` | the fields of the products' objects |
//! | `status` | conversion of the product's exports to facts about each target |
//! | `messages` | the product's own messages about a target |
//! | `repeated` | the messages that a forecast repeats |
//! | `draws` | draws of the constants that fit the observed updates, each with its run to the end |
//!
//! In [`sim::run_from`](crate::sim::run_from) the product's rules follow the observed state, and continue from there.
//! The interval covers both the unknown constants, within their ranges, and randomness.
//!
//! Left out: future actions of people that the experiment does not model, and errors of the model itself.

mod draws;
mod fields;
mod messages;
mod repeated;
mod status;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::calibrate::time::{Nanos, rfc3339, seconds_between};
use crate::document::problem::{LoadError, OrProblems, Problem, some_of};
use crate::import::sources::Texts;
use crate::results::{
    ForecastEstimate, ForecastHold, ForecastNext, ForecastRecord, ForecastSpan, ForecastTime,
    SeenCounts, ShownMessage, SlowTarget,
};
use crate::scenario::{Scenario, VariedExperiment};
use crate::sim::{RolloutSoFar, SeenState, SeenTarget};
use crate::stats::{CensoredFit, prediction_interval, quantile_of_sorted, sorted};
use crate::study::StudyError;
use crate::units::{SimDuration, SimTime};
use draws::{DrawEnd, DrawnRollout, PaceDraw};
use status::{ShownRollout, ShownTarget};

/// The probability that the intervals cover.
const LEVEL: f64 = 0.9;

/// Maximum size of a status file, which is held in memory as a whole. 100,000 BundleDeployments without managed fields
/// need about 300 MB.
const MOST_STATUS_BYTES: u64 = 500_000_000;

/// Maximum number of targets that are listed as slow.
const MOST_SLOW: usize = 5;

/// The inputs of a forecast.
#[derive(Clone, Debug)]
pub struct ForecastInputs {
    /// The exported files.
    pub status: Vec<PathBuf>,
    /// The time of the exports, in RFC 3339. `None`: the newest time in the exports, or `clock`.
    pub now: Option<String>,
    /// The start of the rollout, in RFC 3339. `None`: it is taken from the exports.
    pub released: Option<String>,
    /// The current time, in RFC 3339.
    pub clock: String,
    /// Number of draws of the constants, at least 2.
    pub draws: u32,
}

/// A rollout in progress, ready to be forecast.
#[derive(Debug)]
pub struct Forecaster<'s> {
    varied: &'s VariedExperiment,
    variant: usize,
    draws: u32,
    seen: RolloutSoFar,
    messages: Vec<ShownMessage>,
    released: Nanos,
}

impl<'s> Forecaster<'s> {
    /// Reads the state that the product shows, for the variant of the experiment with this index.
    ///
    /// # Errors
    /// Returns all problems of the exports, with positions and fixes, or the problem that they do not match the
    /// experiment.
    pub fn new(
        varied: &'s VariedExperiment,
        variant: usize,
        inputs: &ForecastInputs,
    ) -> Result<Self, LoadError> {
        let first = match inputs.status.first() {
            Some(path) => path.display().to_string(),
            None => String::new(),
        };
        Self::read(varied, variant, inputs, &first)
            .map_err(|problems| LoadError::new(problems, &first))
    }

    /// Reads the exports. Problems that are not related to an object are assigned to the `first` file.
    fn read(
        varied: &'s VariedExperiment,
        variant: usize,
        inputs: &ForecastInputs,
        first: &str,
    ) -> OrProblems<Self> {
        let shown = read_exports(&inputs.status)?;
        let times = RolloutTimes::of(inputs, &shown, first)?;
        let scenario = &varied.base().variants[variant].scenario;
        if scenario.world.distribution.pre_pull.is_some() {
            return Err(refusal(
                first,
                "a rollout with a pre-pull cannot be forecast",
                "remove `distribution.prePull` from the experiment that you forecast with",
            ));
        }
        let names = cluster_names(scenario);
        let targets = targets(&shown, &names, times).map_err(|unknown| {
            refusal(
                first,
                &format!("the experiment has no {}", some_of(&unknown)),
                "names in the experiment's `fleet` must match those in the product",
            )
        })?;
        let paused = paused(&shown, scenario);
        if !paused.is_empty() {
            let message = format!(
                "the product has paused {}, and does not update paused targets",
                some_of(&paused)
            );
            let help = "resume them and export again, or set `paused: true` for them in the experiment's `fleet`";
            return Err(refusal(first, &message, help));
        }
        let messages = repeated::of_targets(&shown, &names, &targets);
        let seen = RolloutSoFar {
            now: since(times.released, times.now),
            targets,
            acts: shown.acts,
        };
        match shown.over {
            Some(problem) if !is_over(&seen) => Err(vec![problem]),
            _ => Ok(Self {
                varied,
                variant,
                draws: inputs.draws.max(2),
                seen,
                messages,
                released: times.released,
            }),
        }
    }

    /// Returns the number of runs that [`Forecaster::forecast`] simulates.
    #[must_use]
    pub fn runs(&self) -> u64 {
        if is_over(&self.seen) {
            0
        } else {
            self.drawn().runs()
        }
    }

    /// Returns the rollout, in the form for continuing it with drawn constants.
    const fn drawn(&self) -> DrawnRollout<'_> {
        DrawnRollout {
            varied: self.varied,
            variant: self.variant,
            seen: &self.seen,
            draws: self.draws,
        }
    }

    /// Returns the name of a target, which is a cluster of the fleet.
    fn name(&self, target: usize) -> &str {
        let scenario = &self.varied.base().variants[self.variant].scenario;
        &scenario.world.clusters[target].name
    }

    /// Simulates the forecast on the current rayon pool. `run_done` is called after each run, from any thread.
    ///
    /// # Errors
    /// Returns an error if a run failed.
    pub fn forecast(&self, run_done: impl Fn() + Sync) -> Result<ForecastRecord, StudyError> {
        let drawn = self.drawn();
        let is_over = is_over(&self.seen);
        let draws = if is_over {
            Vec::new()
        } else {
            drawn.learnt(&run_done)?
        };
        let mut ends: Vec<&DrawEnd> = draws.iter().map(|draw| &draw.end).collect();
        let ended = self.ended();
        if is_over {
            ends.push(&ended);
        }
        let done: Vec<f64> = ends.iter().map(|end| end.done_s).collect();
        let peaks: Vec<f64> = ends.iter().map(|end| end.egress_peak).collect();
        let bytes: Vec<f64> = ends.iter().map(|end| end.egress_bytes).collect();
        let unfinished = done.iter().filter(|done| done.is_infinite()).count();
        let base = self.varied.base();
        Ok(ForecastRecord {
            schema_version: 1,
            variant: base.variants[self.variant].label.clone(),
            target: base.target.to_owned(),
            released: self.at(0.0),
            now: self.at(self.seen.now.as_secs_f64()),
            seen: self.counts(),
            is_conditioned: drawn.is_conditioned(),
            draws: draws.len() as u32,
            level: LEVEL,
            done: if is_over {
                self.moment(ended.done_s)
            } else {
                self.span(&done)
            },
            unfinished: unfinished as f64 / done.len() as f64,
            next: self.next(&draws),
            slow: self.slow(&draws),
            hold: self.hold(&draws),
            shown: self.messages.clone(),
            egress_peak_bytes_per_s: estimate(&peaks),
            egress_bytes: estimate(&bytes),
        })
    }

    /// Returns the number of targets in each state.
    fn counts(&self) -> SeenCounts {
        SeenCounts {
            targets: self.seen.targets.len(),
            ready: self.count(SeenState::Ready),
            updating: self.count(SeenState::Updating),
            waiting: self.count(SeenState::Waiting),
            failed: self.count(SeenState::Failed),
        }
    }

    /// Returns the number of targets in a state.
    fn count(&self, state: SeenState) -> usize {
        let mut count = 0;
        for target in &self.seen.targets {
            count += usize::from(target.state == state);
        }
        count
    }

    /// Returns the reason why the rollout stalls, from the first draw in which it does. `None`: it does not stall, or
    /// no target is waiting.
    fn hold(&self, draws: &[PaceDraw]) -> Option<ForecastHold> {
        if self.count(SeenState::Waiting) == 0 {
            return None;
        }
        draws.iter().find_map(|draw| draw.end.hold.clone())
    }

    /// Returns the time this many seconds after the release.
    fn at(&self, seconds: f64) -> ForecastTime {
        let at = self
            .released
            .saturating_add(SimDuration::from_secs_f64(seconds).as_nanos() as i64);
        ForecastTime {
            at: rfc(at),
            s: seconds,
        }
    }

    /// Returns the outcome of a finished rollout: the time at which the last target was ready, but not after the
    /// present. It no longer loads the registry.
    fn ended(&self) -> DrawEnd {
        let mut last: Option<SimTime> = None;
        for target in &self.seen.targets {
            if target.state == SeenState::Ready {
                last = last.max(Some(target.ready.unwrap_or(self.seen.now)));
            }
        }
        DrawEnd {
            done_s: last.unwrap_or(self.seen.now).as_secs_f64(),
            ..DrawEnd::default()
        }
    }

    /// Returns a known time as a span without uncertainty.
    fn moment(&self, seconds: f64) -> ForecastSpan {
        let at = Some(self.at(seconds));
        ForecastSpan {
            median: at.clone(),
            low: at.clone(),
            high: at,
        }
    }

    /// Returns the median and the interval of times, in seconds after the release. Times in exports are in whole
    /// seconds, so an interval is at least that wide.
    fn span(&self, seconds: &[f64]) -> ForecastSpan {
        let ForecastEstimate { median, low, high } = estimate(seconds);
        let low = (low - 1.0).max(self.seen.now.as_secs_f64());
        ForecastSpan {
            median: self.finite_at(median),
            low: self.finite_at(low),
            high: self.finite_at(high + 1.0),
        }
    }

    /// Returns the time this many seconds after the release. `None`: `seconds` is infinite.
    fn finite_at(&self, seconds: f64) -> Option<ForecastTime> {
        seconds.is_finite().then(|| self.at(seconds))
    }

    /// Returns the first stage that has not begun or, without one, the next target, as in most draws.
    fn next(&self, draws: &[PaceDraw]) -> Option<ForecastNext> {
        let stages = &draws.first()?.end.stages;
        let waiting = self.waiting();
        let of_new_stages = self.of_new_stages(&waiting, stages);
        if let Some(first) = first_instructed(draws, &of_new_stages) {
            let stage = stages[first.target].clone();
            return Some(self.next_record(stage, first, draws, &of_new_stages));
        }
        let first = first_instructed(draws, &waiting)?;
        Some(self.next_record(String::new(), first, draws, &waiting))
    }

    /// Returns the targets that wait to be instructed.
    fn waiting(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = (0..self.seen.targets.len()).collect();
        waiting.retain(|&target| self.seen.targets[target].state == SeenState::Waiting);
        waiting
    }

    /// Returns the waiting targets whose stage has not begun, because all of its targets are waiting.
    fn of_new_stages(&self, waiting: &[usize], stages: &[String]) -> Vec<usize> {
        let mut begun = BTreeSet::new();
        for (stage, target) in stages.iter().zip(&self.seen.targets) {
            if target.state != SeenState::Waiting {
                begun.insert(stage);
            }
        }
        let mut of_new = waiting.to_vec();
        of_new.retain(|&target| !stages[target].is_empty() && !begun.contains(&stages[target]));
        of_new
    }

    /// Returns the candidate that is instructed first, with the times at which the draws instruct their first
    /// candidate.
    fn next_record(
        &self,
        stage: String,
        first: Instructed,
        draws: &[PaceDraw],
        candidates: &[usize],
    ) -> ForecastNext {
        let mut times = Vec::new();
        for draw in draws {
            let of_draw = first_of_draw(draw, candidates);
            times.push(of_draw.map_or(f64::INFINITY, |first| first.at_s));
        }
        ForecastNext {
            stage,
            first: self.name(first.target).to_owned(),
            begins: self.span(&times),
        }
    }

    /// Returns the targets whose updates take longer than nearly all others.
    fn slow(&self, draws: &[PaceDraw]) -> Vec<SlowTarget> {
        let updates = self.updates(draws);
        let durations: Vec<(f64, bool)> = updates
            .iter()
            .map(|update| (update.for_s, update.is_over))
            .collect();
        let Some(fit) = CensoredFit::of(&durations) else {
            return Vec::new();
        };
        let mut slow = Vec::new();
        for update in updates {
            let longer_than = 1.0 - fit.longer(update.for_s);
            if !update.is_over && longer_than > 0.9 {
                slow.push(SlowTarget {
                    name: self.name(update.target).to_owned(),
                    for_s: update.for_s,
                    longer_than,
                });
            }
        }
        slow.sort_by(|a, b| {
            let longest_first = b.for_s.total_cmp(&a.for_s);
            longest_first.then_with(|| a.name.cmp(&b.name))
        });
        slow.truncate(MOST_SLOW);
        slow
    }

    /// Returns the updates that have begun, with their durations until now.
    fn updates(&self, draws: &[PaceDraw]) -> Vec<SeenUpdate> {
        let mut updates = Vec::new();
        for (target, seen) in self.seen.targets.iter().enumerate() {
            let Some(instructed) = self.instructed_s(target, draws) else {
                continue;
            };
            match (seen.state, seen.ready) {
                (SeenState::Ready, Some(ready)) => updates.push(SeenUpdate {
                    target,
                    for_s: ready.as_secs_f64() - instructed,
                    is_over: true,
                }),
                (SeenState::Updating, _) => updates.push(SeenUpdate {
                    target,
                    for_s: (self.seen.now.as_secs_f64() - instructed).max(0.0),
                    is_over: false,
                }),
                _ => {}
            }
        }
        updates
    }

    /// Returns the time at which a target was instructed, in seconds from the release. If the product does not show
    /// the time, the median over the draws is used.
    fn instructed_s(&self, target: usize, draws: &[PaceDraw]) -> Option<f64> {
        if let Some(instructed) = self.seen.targets[target].instructed {
            return Some(instructed.as_secs_f64());
        }
        let mut drawn = Vec::new();
        for draw in draws {
            drawn.extend(draw.end.instructed_s[target]);
        }
        quantile_of_sorted(&sorted(&drawn), 0.5)
    }
}

/// An update of a target that has begun.
struct SeenUpdate {
    /// The index of the target.
    target: usize,
    /// The duration until now in seconds.
    for_s: f64,
    /// Whether the update is over, because the target is ready.
    is_over: bool,
}

/// A target that is instructed in a draw.
#[derive(Clone, Copy)]
struct Instructed {
    /// The time of the instruction in seconds from the release.
    at_s: f64,
    target: usize,
}

impl Instructed {
    /// Compares two instructions by time, then by target.
    fn compare(&self, other: &Self) -> Ordering {
        let by_time = self.at_s.total_cmp(&other.at_s);
        by_time.then(self.target.cmp(&other.target))
    }
}

/// Returns the candidate that is instructed first in any draw.
fn first_instructed(draws: &[PaceDraw], candidates: &[usize]) -> Option<Instructed> {
    draws
        .iter()
        .filter_map(|draw| first_of_draw(draw, candidates))
        .min_by(Instructed::compare)
}

/// Returns the candidate that is instructed first in a draw.
fn first_of_draw(draw: &PaceDraw, candidates: &[usize]) -> Option<Instructed> {
    let mut instructed = Vec::new();
    for &target in candidates {
        if let Some(at_s) = draw.end.instructed_s[target] {
            instructed.push(Instructed { at_s, target });
        }
    }
    instructed.into_iter().min_by(Instructed::compare)
}

/// The times of a rollout's start and of its export.
#[derive(Clone, Copy, Debug)]
struct RolloutTimes {
    released: Nanos,
    now: Nanos,
}

impl RolloutTimes {
    /// Returns the times in the inputs, or the times in the exports if the inputs have none.
    fn of(inputs: &ForecastInputs, shown: &ShownRollout, first: &str) -> OrProblems<Self> {
        let clock = rfc3339(&inputs.clock).map(|stamp| stamp.at);
        // The exports of instances contain uptimes, which count back from the present.
        let newest = shown.newest.filter(|_| !shown.is_numbered);
        let now = given_time(inputs.now.as_deref(), "--now", first)?
            .or(newest)
            .or(clock)
            .unwrap_or_default();
        let given = given_time(inputs.released.as_deref(), "--released", first)?;
        let Some(released) = given.or(shown.released) else {
            return Err(refusal(
                first,
                "the export does not say when the rollout began",
                "add e.g. `--released 2026-03-01T15:04:05Z`",
            ));
        };
        if released > now {
            let message = format!(
                "the rollout began at {}, after {}, the time of the export",
                rfc(released),
                rfc(now)
            );
            let help = "set the time of the export with --now, or the start with --released";
            return Err(refusal(first, &message, help));
        }
        Ok(Self { released, now })
    }
}

/// Parses the time given with an option, if any.
fn given_time(text: Option<&str>, option: &str, first: &str) -> OrProblems<Option<Nanos>> {
    let Some(text) = text else {
        return Ok(None);
    };
    match rfc3339(text) {
        Some(stamp) => Ok(Some(stamp.at)),
        None => Err(refusal(
            first,
            &format!("{option}: `{text}` is not a time"),
            "write e.g. `2026-03-01T15:04:05Z`",
        )),
    }
}

/// Reads the exports of a rollout.
fn read_exports(status: &[PathBuf]) -> OrProblems<ShownRollout> {
    let mut texts = Texts::limited_to(MOST_STATUS_BYTES);
    let mut sources = Vec::new();
    for path in status {
        sources.push(texts.read(path, status::COMMAND)?);
    }
    status::read(&sources)
}

/// Returns a problem with a file as a whole.
fn refusal(file: &str, message: &str, help: &str) -> Vec<Problem> {
    vec![Problem::of_file(file, message.to_owned()).with_help(help.to_owned())]
}

/// Returns the names of the experiment's clusters.
fn cluster_names(scenario: &Scenario) -> Vec<&str> {
    let clusters = scenario.world.clusters.iter();
    clusters.map(|cluster| cluster.name.as_str()).collect()
}

/// Returns true if every target is ready or has failed.
fn is_over(seen: &RolloutSoFar) -> bool {
    seen.targets
        .iter()
        .all(|target| matches!(target.state, SeenState::Ready | SeenState::Failed))
}

/// Returns the targets that the product has paused before their update but the experiment has not paused.
fn paused(shown: &ShownRollout, scenario: &Scenario) -> Vec<String> {
    let clusters = &scenario.world.clusters;
    let names = cluster_names(scenario);
    let mut paused = Vec::new();
    for target in &shown.targets {
        if !target.is_paused || target.state == SeenState::Ready {
            continue;
        }
        let is_known = place_of(&target.name, &names).is_some_and(|at| clusters[at].paused);
        if !is_known {
            paused.push(target.name.clone());
        }
    }
    paused
}

/// Returns the observed state of the experiment's targets. Targets that the export does not show are waiting.
///
/// # Errors
/// Returns the names that the experiment does not contain.
fn targets(
    shown: &ShownRollout,
    names: &[&str],
    times: RolloutTimes,
) -> Result<Vec<SeenTarget>, Vec<String>> {
    let mut seen = vec![SeenTarget::default(); names.len()];
    let mut unknown = Vec::new();
    for target in &shown.targets {
        let place = if shown.is_numbered {
            target.name.parse().ok().filter(|at| *at < names.len())
        } else {
            place_of(&target.name, names)
        };
        match place {
            Some(place) => seen[place] = seen_target(target, times),
            None => unknown.push(target.name.clone()),
        }
    }
    if unknown.is_empty() {
        Ok(seen)
    } else {
        Err(unknown)
    }
}

/// Returns the observed state of a target, with times since the release.
fn seen_target(target: &ShownTarget, times: RolloutTimes) -> SeenTarget {
    let RolloutTimes { released, now } = times;
    // A target that became ready before the rollout is ready on the old revision, unless the product shows otherwise.
    let was_ready_before = target.ready.is_some_and(|ready| ready < released);
    let is_ready = target.state == SeenState::Ready;
    if is_ready && target.instructed.is_none() && was_ready_before {
        return SeenTarget {
            state: SeenState::Waiting,
            instructed: None,
            ready: None,
        };
    }
    let up_since = target
        .uptime
        .map(|uptime| now.saturating_sub((uptime * 1e9) as i64));
    let ready = target.ready.or(up_since);
    SeenTarget {
        state: target.state,
        instructed: target.instructed.map(|at| since(released, at)),
        ready: ready.map(|at| since(released, at.min(now))),
    }
}

/// Returns the index of the target with this name. If there is none, returns the target with the longest name that
/// `name` ends with after a `-` or `/`.
fn place_of(name: &str, names: &[&str]) -> Option<usize> {
    if let Some(place) = names.iter().position(|known| *known == name) {
        return Some(place);
    }
    let mut best: Option<usize> = None;
    for (place, known) in names.iter().enumerate() {
        let fits = ends_with_name(name, known) || ends_with_name(known, name);
        if fits && best.is_none_or(|best| known.len() > names[best].len()) {
            best = Some(place);
        }
    }
    best
}

/// Returns whether `long` equals `short`, or ends with it after a `-` or `/`.
fn ends_with_name(long: &str, short: &str) -> bool {
    match long.strip_suffix(short) {
        Some(rest) => rest.is_empty() || rest.ends_with(['-', '/']),
        None => false,
    }
}

/// Returns the time from the release until another time, or 0 if that is before the release.
fn since(released: Nanos, at: Nanos) -> SimTime {
    SimTime::ZERO + SimDuration::from_secs_f64(seconds_between(released, at).max(0.0))
}

/// Formats a time in RFC 3339, in whole seconds.
fn rfc(at: Nanos) -> String {
    jiff::Timestamp::from_second(at.div_euclid(1_000_000_000))
        .unwrap_or_default()
        .to_string()
}

/// Returns the median and the interval of draws.
fn estimate(values: &[f64]) -> ForecastEstimate {
    let mut by_size = values.to_vec();
    by_size.sort_by(f64::total_cmp);
    let median = quantile_of_sorted(&by_size, 0.5).unwrap_or(f64::INFINITY);
    match prediction_interval(values, LEVEL) {
        Some(range) => ForecastEstimate {
            median,
            low: range.low,
            high: range.high,
        },
        None => ForecastEstimate {
            median,
            low: median,
            high: median,
        },
    }
}
