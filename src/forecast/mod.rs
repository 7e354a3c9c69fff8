//! The forecast of a rollout in progress: when it will be done, given the state that the product shows.
//!
//! | file | subject |
//! |---|---|
//! | `fields` | the fields of the products' objects |
//! | `status` | conversion of the product's exports to facts about each target |
//! | `fleet_status`, `kubefleet_status` | the objects of Fleet and of KubeFleet |
//! | `product` | the products, and where each one shows the start of a rollout |
//! | `agents` | signs of life of agents, and snapshots |
//! | `times` | the start of the rollout and the time of the export |
//! | `targets` | the targets of the fleet, matched with those of the export |
//! | `contradictions` | what an export cannot show if the experiment is right |
//! | `stuck` | targets that may come back or stay away |
//! | `messages` | the product's own messages about a target |
//! | `repeated` | the messages that a forecast repeats |
//! | `draws` | draws of the constants that fit the observed updates, each with its run to the end |
//! | `pace` | the check of the observed updates against the draws |
//! | `summary` | what is next, and which updates are slow |
//! | `ratio` | the ratio of observed durations to those in a run |
//! | `agreement` | as many draws as two seeds need to agree |
//!
//! In [`sim::run_from`](crate::sim::run_from) the product's rules follow the observed state, and continue from there.
//! The interval covers both the unknown constants, within their ranges, and randomness.
//!
//! Left out: future actions of people that the experiment does not model, and errors of the model itself.

mod agents;
mod agreement;
mod contradictions;
mod draws;
mod fields;
mod fleet_status;
mod kubefleet_status;
mod messages;
mod pace;
mod product;
mod ratio;
mod repeated;
mod status;
mod stuck;
mod summary;
mod targets;
mod times;

use std::path::PathBuf;

use crate::calibrate::time::Nanos;
use crate::document::path::Path;
use crate::document::problem::{LoadError, OrProblems, Problem, some_of};
use crate::import::sources::Texts;
use crate::results::{
    BegunTarget, ForecastEstimate, ForecastHold, ForecastRecord, ForecastSpan, ForecastTime,
    SeenCounts, ShownMessage, StuckTarget,
};
use crate::scenario::{Scenario, VariedExperiment};
use crate::sim::{Continuation, RolloutSoFar, SeenState, run_from};
use crate::stats::{ordered, smooth_quantile};
use crate::study::StudyError;
use crate::units::SimTime;
pub use agreement::MOST_GROUPS;
use agreement::{LEAST_EFFECTIVE, LearntRollout, end_quantile};
use contradictions::Judged;
use draws::{DrawnRollout, PaceDraw};
use pace::RareRatio;
use product::ShownProduct;
use ratio::{PaceRatio, RatioEstimate};
use status::ShownRollout;
use stuck::StuckSince;
use targets::{BegunSince, TargetPlaces, cluster_names, paused};
use times::{RolloutTimes, rfc, since};

/// The probability that the intervals cover.
const LEVEL: f64 = 0.9;

/// Maximum size of a status file, which is held in memory as a whole. 100,000 BundleDeployments without managed fields
/// need about 300 MB.
const MOST_STATUS_BYTES: u64 = 500_000_000;

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
    begun: Vec<BegunSince>,
    /// Observed durations as a ratio to those of the run with the experiment's own values.
    stated: Option<PaceRatio>,
    stuck: Vec<StuckSince>,
    /// The product of the export. A hold of its rules at the present contradicts an active rollout.
    product: Option<ShownProduct>,
    released: Nanos,
    /// The name of the first file, for problems that concern the export as a whole.
    first: String,
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
        if scenario.has_several_applications() {
            let message = "a rollout of several applications cannot be forecast";
            let problem = varied.problem_at(&Path::of("applications"), message.to_owned());
            let help = "keep the application whose state you have";
            return Err(vec![problem.with_help(help.to_owned())]);
        }
        expect_one_release(varied, scenario, since(times.released, times.now))?;
        expect_unpaused(&shown, scenario, first)?;
        let names = cluster_names(scenario);
        let places = TargetPlaces::of(&shown, &names)
            .map_err(|unknown| unknown_targets(varied, &unknown))?;
        let mut forecaster = Self {
            varied,
            variant,
            draws: inputs.draws.max(2),
            messages: Vec::new(),
            begun: places.begun(times),
            stated: None,
            stuck: Vec::new(),
            product: shown.product,
            seen: RolloutSoFar {
                now: since(times.released, times.now),
                targets: places.seen(times),
                acts: shown.acts,
            },
            released: times.released,
            first: first.to_owned(),
        };
        forecaster.messages = repeated::of_targets(&shown, &names, &forecaster.seen.targets);
        match shown.over {
            Some(problem) if !is_over(&forecaster.seen) => return Err(vec![problem]),
            _ => {}
        }
        let heard = targets::heard(&shown, &names, times);
        forecaster.judge(&places, &heard, inputs.released.is_some())?;
        Ok(forecaster)
    }

    /// Rejects an export that contradicts the experiment, and finds the stuck targets. `is_given`: whether the user
    /// gave the start of the rollout.
    fn judge(
        &mut self,
        places: &TargetPlaces<'_>,
        heard: &[Option<f64>],
        is_given: bool,
    ) -> OrProblems<()> {
        let Some(product) = self.product else {
            return Ok(());
        };
        self.judged(product).is_of_product()?;
        if is_over(&self.seen) {
            return Ok(());
        }
        // A run that fails here fails in the forecast, too, which then says why.
        let Some(probe) = self.probe() else {
            return Ok(());
        };
        let judged = self.judged(product);
        judged.shows_all(&probe, &places.are_shown())?;
        // Too many updates are often out of order, too, but only their number has a setting that would agree.
        if judged.has_too_many_updates(&probe) {
            judged.has_allowed_updates(&probe)?;
        }
        judged.is_in_order(&probe)?;
        judged.has_allowed_updates(&probe)?;
        if is_given {
            judged.begins_in_time(&probe, &self.first)?;
        }
        self.stuck = stuck::stuck(&self.seen, &probe, places, heard);
        for stuck in &self.stuck {
            self.seen.targets[stuck.target].is_stuck = true;
        }
        self.stated = draws::ratio(&probe, &self.seen);
        Ok(())
    }

    /// Returns a run with the experiment's own values that follows the rollout. `None`: it fails.
    ///
    /// A condition may have changed again after the update, because a pod was restarted, so that targets seem to have
    /// been updated before those that they had to wait for. Such times of readiness are forgotten.
    fn probe(&mut self) -> Option<Continuation> {
        let probe = self.run_from(&self.seen)?;
        let early = contradictions::too_early(&probe, &self.seen);
        let blockers = contradictions::late_blockers(&probe, &self.seen, &early);
        if blockers.is_empty() {
            return Some(probe);
        }
        let mut forgotten = self.seen.clone();
        for at in blockers {
            forgotten.targets[at].ready = None;
        }
        let again = self.run_from(&forgotten)?;
        if contradictions::too_early(&again, &forgotten).len() >= early.len() {
            return Some(probe);
        }
        self.seen = forgotten;
        Some(again)
    }

    /// Returns a run with the experiment's own values that follows a rollout. `None`: it fails.
    fn run_from(&self, seen: &RolloutSoFar) -> Option<Continuation> {
        let base = self.varied.base();
        run_from(&base.variants[self.variant], base.seed, 0, seen).ok()
    }

    const fn judged(&self, product: ShownProduct) -> Judged<'_> {
        Judged {
            varied: self.varied,
            variant: self.variant,
            product,
            seen: &self.seen,
        }
    }

    /// Returns the number of runs that [`Forecaster::forecast`] simulates.
    #[must_use]
    pub fn runs(&self) -> u64 {
        if is_over(&self.seen) {
            0
        } else {
            self.drawn().most_runs()
        }
    }

    /// Returns the rollout, in the form for continuing it with drawn constants.
    const fn drawn(&self) -> DrawnRollout<'_> {
        DrawnRollout {
            varied: self.varied,
            variant: self.variant,
            seen: &self.seen,
            stated: self.stated,
            draws: self.draws,
            group: 0,
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
        if is_over(&self.seen) {
            return Ok(self.over_record());
        }
        let drawn = self.drawn();
        let learnt = drawn.learnt_in_agreement(&run_done)?;
        self.expect_enough(&learnt)?;
        let draws = &learnt.draws;
        let mut peaks = Vec::new();
        let mut bytes = Vec::new();
        for draw in draws {
            peaks.push(draw.end.egress_peak);
            bytes.push(draw.end.egress_bytes);
        }
        let done = &learnt.done_s;
        let superseded = draws.iter().filter(|draw| draw.end.is_superseded).count();
        let unfinished = done.iter().filter(|done| done.is_infinite()).count();
        let others: Vec<f64> = learnt.without_stuck.iter().map(|end| end.done_s).collect();
        Ok(ForecastRecord {
            is_conditioned: drawn.is_conditioned(),
            draws: draws.len() as u32,
            effective_draws: learnt.effective,
            disagreement: learnt.disagreement,
            done: self.span(done),
            done_without_stuck: (!others.is_empty()).then(|| self.span(&others)),
            unfinished: unfinished as f64 / done.len() as f64,
            superseded: superseded as f64 / draws.len() as f64,
            next: self.next(draws),
            slow: self.slow(draws),
            hold: self.hold(draws),
            update_ratio: learnt.difference.stated.map(RareRatio::record),
            unlearnt_ratio: learnt.difference.unlearnt.map(RatioEstimate::record),
            widening: self.widening(&learnt),
            expected_failures: learnt.difference.expected_failures,
            egress_peak_bytes_per_s: estimate(&peaks),
            egress_bytes: estimate(&bytes),
            ..self.over_record()
        })
    }

    /// Returns the forecast of a rollout with no target left to update.
    fn over_record(&self) -> ForecastRecord {
        let base = self.varied.base();
        let none = ForecastEstimate {
            median: 0.0,
            low: 0.0,
            high: 0.0,
        };
        ForecastRecord {
            schema_version: 1,
            variant: base.variants[self.variant].label.clone(),
            target: base.target.to_owned(),
            released: self.at(0.0),
            now: self.at(self.seen.now.as_secs_f64()),
            seen: self.counts(),
            is_conditioned: self.drawn().is_conditioned(),
            draws: 0,
            effective_draws: 0.0,
            disagreement: 0.0,
            level: LEVEL,
            done: self.moment(self.ended_s()),
            done_without_stuck: None,
            unfinished: 0.0,
            superseded: 0.0,
            next: None,
            slow: Vec::new(),
            failed: self.names_of(SeenState::Failed),
            begun: self.begun_targets(),
            stuck: self.stuck_targets(),
            hold: None,
            shown: self.messages.clone(),
            update_ratio: None,
            unlearnt_ratio: None,
            widening: None,
            expected_failures: None,
            egress_peak_bytes_per_s: none,
            egress_bytes: none,
        }
    }

    /// Returns an error if the learnt draws are worth too few different ones for an interval.
    fn expect_enough(&self, learnt: &LearntRollout) -> Result<(), StudyError> {
        if learnt.effective >= LEAST_EFFECTIVE {
            return Ok(());
        }
        let message = format!(
            "the observed updates fit only {:.0} of {} draws of the experiment's constants, too few for an interval",
            learnt.effective,
            learnt.draws.len()
        );
        let help = "ask for more with --draws, or compare the experiment's links and images with the real ones";
        let problems = refusal(&self.first, &message, help);
        Err(LoadError::new(problems, &self.first).into())
    }

    /// Returns the names of the targets in a state.
    fn names_of(&self, state: SeenState) -> Vec<String> {
        let mut names = Vec::new();
        for (at, target) in self.seen.targets.iter().enumerate() {
            if target.state == state {
                names.push(self.name(at).to_owned());
            }
        }
        names
    }

    /// Returns the targets that are updating or have failed, with their times.
    fn begun_targets(&self) -> Vec<BegunTarget> {
        let mut targets = Vec::new();
        for begun in &self.begun {
            targets.push(BegunTarget {
                name: self.name(begun.target).to_owned(),
                since: begun.since.map(|since| self.at(since.as_secs_f64())),
            });
        }
        targets
    }

    /// Returns the stuck targets with their times.
    fn stuck_targets(&self) -> Vec<StuckTarget> {
        let mut targets = Vec::new();
        for stuck in &self.stuck {
            targets.push(StuckTarget {
                name: self.name(stuck.target).to_owned(),
                since: self.at(stuck.since_s),
                is_silent: stuck.is_silent,
            });
        }
        targets
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

    /// Returns the rule that holds waiting targets at the present, in most draws. `None`: no target is waiting, or the
    /// run of a draw has nothing to wait for.
    fn hold(&self, draws: &[PaceDraw]) -> Option<ForecastHold> {
        if self.count(SeenState::Waiting) == 0 {
            return None;
        }
        let mut holds: Vec<HeldDraws<'_>> = Vec::new();
        for draw in draws {
            let Some(hold) = &draw.end.hold else { continue };
            let position = holds.iter().position(|known| known.rule == hold.rule);
            let held = position.unwrap_or_else(|| {
                holds.push(HeldDraws::of_rule(&hold.rule));
                holds.len() - 1
            });
            holds[held].draws += 1;
            if holds[held].as_shown.is_none() && self.has_shown_updates(draw) {
                holds[held].as_shown = Some(hold);
            }
        }
        let mut most: Option<&HeldDraws<'_>> = None;
        for held in &holds {
            if most.is_none_or(|most| held.draws > most.draws) {
                most = Some(held);
            }
        }
        let held = most?;
        // The numbers of another state would contradict the export.
        let explanation = held.as_shown.map(|hold| hold.explanation.clone());
        Some(ForecastHold {
            rule: held.rule.to_owned(),
            explanation: explanation.unwrap_or_default(),
        })
    }

    /// Returns whether the targets that the run of a draw has instructed at the present are those of the export.
    fn has_shown_updates(&self, draw: &PaceDraw) -> bool {
        let now_s = self.seen.now.as_secs_f64() + 1.0;
        let told = draw.end.instructed_s.iter();
        told.zip(&self.seen.targets).all(|(told, target)| {
            let is_told = told.is_some_and(|told| told <= now_s);
            is_told == (target.state != SeenState::Waiting)
        })
    }

    /// Returns the time this many seconds after the release.
    fn at(&self, seconds: f64) -> ForecastTime {
        let at = self.released.saturating_add((seconds * 1e9).round() as i64);
        ForecastTime {
            at: rfc(at),
            s: seconds,
        }
    }

    /// Returns when the last target of a finished rollout was ready, but not after the present.
    fn ended_s(&self) -> f64 {
        let mut last: Option<SimTime> = None;
        for target in &self.seen.targets {
            if target.state == SeenState::Ready {
                last = last.max(Some(target.ready.unwrap_or(self.seen.now)));
            }
        }
        last.unwrap_or(self.seen.now).as_secs_f64()
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
        let ForecastEstimate { median, low, high } = self.estimate_of_ends(seconds);
        let low = (low - 1.0).max(self.seen.now.as_secs_f64());
        ForecastSpan {
            median: self.finite_at(median),
            low: self.finite_at(low),
            high: self.finite_at(high + 1.0),
        }
    }

    /// Returns the median and the interval of ends, in seconds from the release.
    fn estimate_of_ends(&self, seconds: &[f64]) -> ForecastEstimate {
        let by_size = ordered(seconds);
        let at = |share| end_quantile(&by_size, self.seen.now, share);
        ForecastEstimate {
            median: at(0.5),
            low: at((1.0 - LEVEL) / 2.0),
            high: at((1.0 + LEVEL) / 2.0),
        }
    }

    /// Returns how many times as wide the interval is as that of the learnt ends, without the uncertainty that the
    /// check of the updates adds. `None`: an interval is endless.
    fn widening(&self, learnt: &LearntRollout) -> Option<f64> {
        let [now, before] = [&learnt.done_s, &learnt.unchecked_s].map(|ends| {
            let ForecastEstimate { low, high, .. } = self.estimate_of_ends(ends);
            // Times in exports are in whole seconds.
            (high - low).max(1.0)
        });
        let times = now / before;
        times.is_finite().then_some(times)
    }

    /// Returns the time this many seconds after the release. `None`: `seconds` is infinite.
    fn finite_at(&self, seconds: f64) -> Option<ForecastTime> {
        seconds.is_finite().then(|| self.at(seconds))
    }
}

/// The draws in which the same rule holds the rollout.
struct HeldDraws<'d> {
    rule: &'d str,
    draws: usize,
    /// The hold of the first draw in whose run the export's targets are instructed at the present.
    as_shown: Option<&'d ForecastHold>,
}

impl<'d> HeldDraws<'d> {
    const fn of_rule(rule: &'d str) -> Self {
        Self {
            rule,
            draws: 0,
            as_shown: None,
        }
    }
}

/// Rejects an experiment with a later release before the export was made, at `now`: nothing shows which targets it has
/// reached.
fn expect_one_release(
    varied: &VariedExperiment,
    scenario: &Scenario,
    now: SimTime,
) -> OrProblems<()> {
    let later = &scenario.applications[0].later;
    let Some(first) = later
        .first()
        .filter(|first| SimTime::ZERO + first.after <= now)
    else {
        return Ok(());
    };
    let message = format!(
        "a forecast follows one release, but another one supersedes it after {}, before the export",
        first.after
    );
    let problem = varied.problem_at(&Path::of("releases"), message);
    let help =
        "write the release that is rolled out now as `release`, and later ones in `releases`";
    Err(vec![problem.with_help(help.to_owned())])
}

/// Rejects targets that the product has paused and the experiment has not.
fn expect_unpaused(shown: &ShownRollout, scenario: &Scenario, first: &str) -> OrProblems<()> {
    let paused = paused(shown, scenario);
    if paused.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the product has paused {}, and does not update paused targets",
        some_of(&paused)
    );
    let help =
        "resume them and export again, or set `paused: true` for them in the experiment's `fleet`";
    Err(refusal(first, &message, help))
}

/// Returns the problem with names that the experiment's fleet does not contain.
fn unknown_targets(varied: &VariedExperiment, unknown: &[String]) -> Vec<Problem> {
    let message = format!(
        "the experiment has no {}, which the export shows",
        some_of(unknown)
    );
    let help = "add them to `fleet`, whose names must match those in the product, or export another rollout";
    let problem = varied.problem_at(&Path::of("fleet"), message);
    vec![problem.with_help(help)]
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

/// Returns true if every target is ready or has failed.
fn is_over(seen: &RolloutSoFar) -> bool {
    seen.targets
        .iter()
        .all(|target| matches!(target.state, SeenState::Ready | SeenState::Failed))
}

/// Returns the median and the interval of draws.
fn estimate(values: &[f64]) -> ForecastEstimate {
    let by_size = ordered(values);
    let at = |share| smooth_quantile(&by_size, share).unwrap_or(f64::INFINITY);
    ForecastEstimate {
        median: at(0.5),
        low: at((1.0 - LEVEL) / 2.0),
        high: at((1.0 + LEVEL) / 2.0),
    }
}
