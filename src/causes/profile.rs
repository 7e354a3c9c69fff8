//! The trials of one variant, from the first to the verdicts.

use super::lift::Lift;
use super::limit_words::limit_words;
use super::trial::{Counterparts, Trial, median_time};
use super::{EventBudget, FIRST_REPLICATE, RUNS, TriedVariant};
use crate::results::{CauseRow, CauseVerdict, Resource, ResourceKind, TrialKind};
use crate::scenario::Variant;
use crate::study::{StudyError, in_order};

/// Resources that together must save this factor more than the best one alone.
const JOINT: f64 = 1.2;

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
        profile.measure_noise()?;
        profile.find(alone)?;
        Ok(profile.rows)
    }

    /// Simulates the placebo.
    fn measure_noise(&mut self) -> Result<(), StudyError> {
        let lift = Lift::placebo(self.variant);
        let mut trials = [Trial::new(TrialKind::Placebo, Vec::new(), lift)];
        let base = self.counterparts.clone();
        self.extend(&mut trials, RUNS, &base)?;
        let change = trials[0].largest_change(&base);
        // Where a run completes only with or without the placebo, chance decides, and no time can be told.
        self.noise_s = change;
        self.keep(&trials, &base);
        Ok(())
    }

    fn find(&mut self, mut alone: Vec<Trial>) -> Result<(), StudyError> {
        let base = self.counterparts.clone();
        self.screen(&mut alone, &base)?;
        if !base.complete() {
            name_keepers(&mut alone, &base);
            self.keep(&alone, &base);
            return Ok(());
        }
        for trial in &mut alone {
            if trial.costs(&base, self.noise_s) {
                trial.verdict = CauseVerdict::Slows;
            }
        }
        let best = self.best(&alone, &base);
        let saves_half =
            best.is_some_and(|at| 2.0 * alone[at].median_saved(&base) >= median_time(&base.runs));
        let joint = if saves_half {
            None
        } else {
            self.joint(best.map(|at| &alone[at]), &base)?
        };
        let first = match (joint, best) {
            (Some(mut joint), _) => {
                joint.verdict = CauseVerdict::First;
                self.keep(&alone, &base);
                joint
            }
            (None, Some(at)) => {
                let halved = self.halved(&alone, &base)?;
                alone[at].verdict = if saves_most(&halved, &alone[at], &base, self.noise_s) {
                    CauseVerdict::First
                } else {
                    CauseVerdict::Saturates
                };
                self.keep(&alone, &base);
                self.keep(&halved, &base);
                alone.swap_remove(at)
            }
            (None, None) => {
                self.keep(&alone, &base);
                return Ok(());
            }
        };
        if first.kind == TrialKind::Together {
            self.keep(std::slice::from_ref(&first), &base);
        }
        self.next(&first)
    }

    /// The index of the trial that saves most of those that can be named.
    fn best(&self, trials: &[Trial], base: &Counterparts) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (at, trial) in trials.iter().enumerate() {
            if !is_named_kind(trial) || !trial.saves(base, self.noise_s) {
                continue;
            }
            let saved = trial.median_saved(base);
            if best.is_none_or(|best| saved > trials[best].median_saved(base)) {
                best = Some(at);
            }
        }
        best
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
        // What remains under the rule when everything is lifted.
        let floor = only
            .iter()
            .find(|trial| trial.resources == [Resource::Rule])
            .map_or(0.0, |trial| median_time(&trial.runs));
        let half = f64::midpoint(floor, base.runs[0].time_s.unwrap_or(f64::INFINITY));
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

    /// Halves the time of each resource that can be named.
    fn halved(&mut self, alone: &[Trial], base: &Counterparts) -> Result<Vec<Trial>, StudyError> {
        let mut halved = Vec::new();
        for trial in alone {
            if !is_named_kind(trial) || !trial.saves(base, self.noise_s) {
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
        self.screen(&mut then, &base)?;
        if let Some(at) = self.best(&then, &base) {
            then[at].verdict = CauseVerdict::Next;
        }
        self.keep(&then, &base);
        Ok(())
    }

    /// Simulates the first run of each trial, and the others of those whose first run saves or costs something.
    fn screen(&mut self, trials: &mut [Trial], base: &Counterparts) -> Result<(), StudyError> {
        self.extend(trials, 1, base)?;
        let noise_s = self.noise_s;
        let mut promising: Vec<&mut Trial> = Vec::new();
        for trial in trials {
            if trial.saves(base, noise_s) || trial.costs(base, noise_s) {
                promising.push(trial);
            }
        }
        if !self.fits(promising.len() * (RUNS - 1)) {
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
            self.rows.push(trial.row(self.variant, base, limit));
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

/// Names what keeps a rollout from completing: every run without it completes, and most runs with it do not.
fn name_keepers(alone: &mut [Trial], base: &Counterparts) {
    for trial in alone {
        let frees = trial.runs.len() == RUNS && trial.runs.iter().all(|run| run.time_s.is_some());
        if frees && is_named_kind(trial) && trial.saves(base, 0.0) {
            trial.verdict = CauseVerdict::Keeps;
        }
    }
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
    let is_most = halved.iter().all(|other| other.median_saved(base) <= saved);
    is_most && saved > noise_s
}
