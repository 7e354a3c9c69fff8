//! The trials of one variant, from the first to the verdicts.

use super::lift::Lift;
use super::limit_words::limit_words;
use super::trial::{Counterparts, Trial, median_time};
use super::{EventBudget, FIRST_REPLICATE, RUNS, TriedVariant};
use crate::results::{CauseRow, CauseVerdict, Resource, ResourceKind, TrialKind};
use crate::scenario::Variant;
use crate::study::{StudyError, in_order};

/// A change of a smaller share of the time ends a trial after its first runs.
const LEAST: f64 = 0.025;
/// Resources that together must save this factor more than the best one alone.
const JOINT: f64 = 1.2;

/// A reason for which a limit is reached must save this share of what the limit saves, to be named instead.
const NEARLY: f64 = 0.9;
/// The number of runs after which a trial that saves and costs nothing ends.
const SCREENED: usize = 2;
/// A resource saves as much as another by half if it saves this share of it.
const AS_MUCH: f64 = 0.95;

/// The profile of a variant in progress.
pub(super) struct Profile<'p> {
    variant: &'p Variant,
    budget: &'p mut EventBudget,
    counterparts: Counterparts,
    /// The largest change by the placebo.
    noise_s: f64,
    /// Finished trials, with the counterparts of those that are not compared with the variant as it is.
    rows: Vec<CauseRow>,
    /// The events of one run.
    run_events: u64,
}

impl<'p> Profile<'p> {
    /// Returns the rows of all trials; empty if they do not fit into the budget.
    pub(super) fn rows(
        tried: &'p TriedVariant<'_>,
        budget: &'p mut EventBudget,
    ) -> Result<Vec<CauseRow>, StudyError> {
        let variant = tried.variant;
        let alone = trials_of(variant, TrialKind::Alone, &[]);
        // The counterparts, the placebo, the first run of each trial, and the others of two trials.
        let runs = 4 * RUNS + alone.len();
        if !budget.allows(tried.run_events * runs as u64) {
            return Ok(Vec::new());
        }
        let counterparts = Counterparts::simulate(tried, FIRST_REPLICATE, RUNS)?;
        budget.spend(counterparts.events());
        let mut profile = Self {
            variant,
            budget,
            run_events: counterparts.events() / RUNS as u64,
            counterparts,
            noise_s: 0.0,
            rows: Vec::new(),
        };
        profile.find(alone)?;
        Ok(profile.rows)
    }

    /// Simulates the placebo beside `base`, where some resources are lifted already, and measures how much it moves a
    /// run. Where a run completes only with or without it, chance decides, and no time can be told.
    fn measure_noise(
        &mut self,
        base: &Counterparts,
        lifted: &[Resource],
    ) -> Result<(), StudyError> {
        let lift = Lift::placebo().after(lifted);
        let mut trials = [Trial::new(TrialKind::Placebo, lifted.to_vec(), lift)];
        self.extend(&mut trials, RUNS, base)?;
        self.noise_s = trials[0].largest_change(base);
        self.keep(&trials, base);
        Ok(())
    }

    fn find(&mut self, mut alone: Vec<Trial>) -> Result<(), StudyError> {
        let base = self.counterparts.clone();
        self.measure_noise(&base, &[])?;
        self.screen(&mut alone, &base)?;
        for trial in &mut alone {
            if trial.costs(&base, self.noise_s) {
                trial.verdict = CauseVerdict::Slows;
            } else if is_named_kind(trial) && trial.frees(&base) {
                trial.verdict = CauseVerdict::Keeps;
            }
        }
        if !base.complete() {
            self.keep(&alone, &base);
            return Ok(());
        }
        let best = self.best(&alone, &base);
        let saves_half =
            best.is_some_and(|at| 2.0 * alone[at].median_saved(&base) >= median_time(&base.runs));
        if !saves_half && let Some(mut joint) = self.joint(best.map(|at| &alone[at]), &base)? {
            joint.verdict = CauseVerdict::First;
            self.keep(&alone, &base);
            self.keep(std::slice::from_ref(&joint), &base);
            return self.next(&joint);
        }
        let Some(best) = best else {
            self.keep(&alone, &base);
            return Ok(());
        };
        let halved = self.halved(&alone, &base)?;
        alone[best].verdict = if saves_most(&halved, &alone[best], &base, self.noise_s) {
            CauseVerdict::First
        } else {
            CauseVerdict::Saturates
        };
        self.keep(&alone, &base);
        self.keep(&halved, &base);
        self.next(&alone[best])
    }

    /// The index of the trial that saves most of those that can be named. A failure, and load of others, come before a
    /// limit that saves hardly more, because they are why it is reached.
    fn best(&self, trials: &[Trial], base: &Counterparts) -> Option<usize> {
        let mut named: Vec<usize> = Vec::new();
        for (at, trial) in trials.iter().enumerate() {
            if is_named_kind(trial) && trial.saves(base, self.noise_s) {
                named.push(at);
            }
        }
        named.sort_by(|a, b| {
            let [a, b] = [a, b].map(|at| trials[*at].median_saved(base));
            b.total_cmp(&a)
        });
        let most = trials[*named.first()?].median_saved(base);
        let reason = named.iter().find(|at| {
            is_reason(&trials[**at]) && trials[**at].median_saved(base) >= NEARLY * most
        });
        Some(*reason.unwrap_or(&named[0]))
    }

    /// Finds resources that hold the rollout back together: each would take over half of the time as the only one.
    fn joint(
        &mut self,
        best: Option<&Trial>,
        base: &Counterparts,
    ) -> Result<Option<Trial>, StudyError> {
        let mut only = trials_of_only(self.variant);
        if !self.fits(only.len() + 2 * RUNS) {
            return Ok(None);
        }
        self.extend(&mut only, 1, base)?;
        let Some(whole) = base.runs[0].time_s else {
            return Ok(None);
        };
        // What remains under the rule when everything is lifted.
        let floor = only
            .iter()
            .find(|trial| trial.resources == [Resource::Rule])
            .map_or(0.0, |trial| median_time(&trial.runs));
        let half = f64::midpoint(floor, whole);
        let mut members = Vec::new();
        for trial in &only {
            let took = median_time(&trial.runs);
            if trial.resources != [Resource::Rule] && took.is_finite() && took > half {
                members.extend(&trial.resources);
            }
        }
        self.keep(&only, base);
        if members.len() < 2 {
            return Ok(None);
        }
        let lift = Lift::whole(&members);
        let mut together = [Trial::new(TrialKind::Together, members, lift)];
        self.extend(&mut together, RUNS, base)?;
        let [together] = together;
        let alone = best.map_or(0.0, |best| best.median_saved(base));
        let is_joint =
            together.saves(base, self.noise_s) && together.median_saved(base) > JOINT * alone;
        if is_joint {
            return Ok(Some(together));
        }
        self.keep(&[together], base);
        Ok(None)
    }

    /// Halves the time of each limit that can be named.
    fn halved(&mut self, alone: &[Trial], base: &Counterparts) -> Result<Vec<Trial>, StudyError> {
        let mut halved = Vec::new();
        for trial in alone {
            let is_limit = trial
                .resources
                .iter()
                .all(|one| one.kind() == ResourceKind::Limit);
            if !is_limit || !trial.saves(base, self.noise_s) {
                continue;
            }
            let lift = Lift::half(&trial.resources);
            if lift.changes(self.variant) {
                let resources = trial.resources.clone();
                halved.push(Trial::new(TrialKind::Halved, resources, lift));
            }
        }
        if !self.fits(halved.len() * RUNS) {
            return Ok(Vec::new());
        }
        self.extend(&mut halved, RUNS, base)?;
        Ok(halved)
    }

    /// Lifts each other resource after the first.
    fn next(&mut self, first: &Trial) -> Result<(), StudyError> {
        let base = self.counterparts.with_runs(&first.runs);
        let mut then = trials_of(self.variant, TrialKind::Then, &first.resources);
        if base.runs.len() < RUNS || !self.fits(then.len() + 2 * RUNS) {
            return Ok(());
        }
        self.measure_noise(&base, &first.resources)?;
        self.screen(&mut then, &base)?;
        if let Some(at) = self.best(&then, &base) {
            then[at].verdict = CauseVerdict::Next;
        }
        self.keep(&then, &base);
        Ok(())
    }

    /// Simulates the first runs of each trial, and the others where one of the first saves or costs something. Faults
    /// have all runs, because they may not occur in the first ones.
    fn screen(&mut self, trials: &mut [Trial], base: &Counterparts) -> Result<(), StudyError> {
        self.extend(trials, SCREENED, base)?;
        let median_s = median_time(&base.runs);
        let least = if median_s.is_finite() {
            self.noise_s.max(LEAST * median_s)
        } else {
            self.noise_s
        };
        let mut promising: Vec<&mut Trial> = Vec::new();
        for trial in trials {
            let moves = trial.largest_change(base) > least;
            if moves || is_reason(trial) {
                promising.push(trial);
            }
        }
        if !self.fits(promising.len() * (RUNS - SCREENED)) {
            return Ok(());
        }
        self.extend_all(promising, RUNS, base)
    }

    /// Simulates runs until each trial has `runs` of them.
    fn extend(
        &mut self,
        trials: &mut [Trial],
        runs: usize,
        base: &Counterparts,
    ) -> Result<(), StudyError> {
        self.extend_all(trials.iter_mut().collect(), runs, base)
    }

    fn extend_all(
        &mut self,
        mut trials: Vec<&mut Trial>,
        runs: usize,
        base: &Counterparts,
    ) -> Result<(), StudyError> {
        let mut jobs = Vec::new();
        for (at, trial) in trials.iter().enumerate() {
            for nth in trial.runs.len()..runs {
                jobs.push(TrialJob { at, nth });
            }
        }
        let variant = self.variant;
        let ended = in_order(jobs.len(), |job| {
            let TrialJob { at, nth } = jobs[job];
            base.trial_run(variant, &trials[at].lift, nth)
        })?;
        for (job, run) in jobs.into_iter().zip(ended) {
            let trial = &mut *trials[job.at];
            match run {
                Some(run) => {
                    self.budget.spend(run.events);
                    trial.runs.push(run);
                }
                None => trial.is_stopped = true,
            }
        }
        Ok(())
    }

    /// Returns whether this number of further runs fits into the budget.
    fn fits(&self, runs: usize) -> bool {
        self.budget.allows(self.run_events * runs as u64)
    }

    fn keep(&mut self, trials: &[Trial], base: &Counterparts) {
        for trial in trials {
            let limit = match trial.resources.as_slice() {
                [one] => limit_words(&self.variant.scenario.world, *one),
                _ => String::new(),
            };
            let row = trial.row(self.variant, base, limit, self.noise_s);
            self.rows.push(row);
        }
    }
}

/// A run of a trial to simulate.
#[derive(Clone, Copy)]
struct TrialJob {
    at: usize,
    nth: usize,
}

/// Returns whether a trial's resource can be named. The rule is what people set, so it is never the cause.
fn is_named_kind(trial: &Trial) -> bool {
    trial
        .resources
        .iter()
        .all(|resource| resource.kind() != ResourceKind::Rule)
}

/// One trial for each resource that the variant has, besides those that are lifted in all of them.
fn trials_of(variant: &Variant, kind: TrialKind, lifted: &[Resource]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for resource in Resource::ALL {
        if lifted.contains(&resource) || !Lift::whole(&[resource]).changes(variant) {
            continue;
        }
        let mut all = lifted.to_vec();
        all.push(resource);
        trials.push(Trial::new(kind, vec![resource], Lift::whole(&all)));
    }
    trials
}

/// One trial for each limit of the world, in which everything else but the rule is lifted; and one in which all limits
/// are lifted, which has the rule as its resource.
pub(super) fn trials_of_only(variant: &Variant) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut others: Vec<Resource> = Resource::ALL.to_vec();
    others.retain(|resource| *resource != Resource::Rule);
    for resource in Resource::ALL {
        let is_floor = resource == Resource::Rule;
        let is_limit =
            resource.kind() == ResourceKind::Limit && Lift::whole(&[resource]).changes(variant);
        if !is_floor && !is_limit {
            continue;
        }
        let mut lifted = others.clone();
        lifted.retain(|other| *other != resource);
        let lift = Lift::whole(&lifted);
        if lift.changes(variant) {
            trials.push(Trial::new(TrialKind::Only, vec![resource], lift));
        }
    }
    trials
}

/// Returns whether a trial lifts something that is the reason for which a limit is reached: a failure, or load of
/// others.
fn is_reason(trial: &Trial) -> bool {
    trial
        .resources
        .iter()
        .all(|one| one.kind() == ResourceKind::Fault || *one == Resource::OtherLoad)
}

/// Returns whether a resource also saves most when each one costs half of its time. Something that is there or not,
/// such as an outage, cannot be halved.
fn saves_most(halved: &[Trial], first: &Trial, base: &Counterparts, noise_s: f64) -> bool {
    let Some(own) = halved
        .iter()
        .find(|trial| trial.resources == first.resources)
    else {
        return true;
    };
    let saved = own.median_saved(base);
    let is_most = halved
        .iter()
        .all(|other| AS_MUCH * other.median_saved(base) <= saved);
    is_most && saved > noise_s
}
