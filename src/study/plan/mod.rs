//! The search for settings: one race for each world and strategy. All races run in common rounds, to keep every thread
//! busy.
//!
//! A round simulates the runs that all races request, in parallel, and then decides from all results in index order.
//! The same file and seed therefore give the same runs and the same answer on any number of threads. A run with the
//! same variant and replicate is the same as in `fleetsim run`. In a search with a number of tries, a [`Tuner`]
//! chooses the candidates of each race before it begins.

mod answer;
mod bounds;
mod exhaustive;
mod front;
mod leftovers;
mod means;
mod overall;
mod race;
#[cfg(test)]
mod tests;
mod tuner;

use std::cmp::Ordering;

use super::queue::in_order;
use super::{JournalEntry, StudyError, row_of};
use crate::results::{
    Journal, Measure, PlanRecord, RunRow, Setting, Statistic, TunedPlan, grouped,
};
use crate::scenario::{Experiment, FIRST_RUNS, Plan, Variant};
use crate::stats::in_turn;
use answer::PlanAnswers;

pub use race::{Race, RaceRules, RunsForBounds, RunsWanted, Sample};
pub use tuner::Tuner;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The answer of the search.
    pub plan: PlanRecord,
    /// Every simulated run, by variant and replicate.
    pub runs: Vec<RunRow>,
}

/// An experiment whose variants are the candidates of a plan.
#[derive(Clone, Copy)]
struct PlannedExperiment<'s> {
    experiment: &'s Experiment,
    plan: &'s Plan,
}

impl<'s> PlannedExperiment<'s> {
    /// Returns the variant with this index.
    fn variant(self, number: usize) -> &'s Variant {
        &self.experiment.variants[number]
    }

    /// Returns whether a setting is searched, so that candidates of one race differ in it.
    fn is_searched(self, setting: &Setting) -> bool {
        setting.is_of_strategy() || self.plan.objective.is_setting(setting)
    }

    /// Returns the searched settings of a variant.
    fn searched_settings(self, variant: usize) -> Vec<&'s Setting> {
        let settings = self.variant(variant).settings.iter();
        settings
            .filter(|setting| self.is_searched(setting))
            .collect()
    }

    /// Returns the value of a run for its race. It is infinite if the run did not finish, unless the objective is not
    /// a duration and some limit bounds a duration.
    fn value(self, run: &RunRow) -> f64 {
        let objective = &self.plan.objective;
        if objective.is_time() || run.is_done() || self.has_time_limit() {
            objective.of(run)
        } else {
            f64::INFINITY
        }
    }

    /// Returns whether some limit bounds a duration.
    fn has_time_limit(self) -> bool {
        let mut limits = self.plan.limits.iter();
        limits.any(|limit| limit.measure().is_time())
    }

    /// Returns the statistic of the objective over runs.
    fn objective_of(self, runs: &[RunRow]) -> f64 {
        let mut values = Vec::new();
        for run in runs {
            values.push(self.value(run));
        }
        self.plan.objective.over().of(&values)
    }

    /// Returns the objective of each run, including unfinished runs.
    fn objectives<'r>(self, runs: impl IntoIterator<Item = &'r RunRow>) -> Vec<f64> {
        let mut values = Vec::new();
        for run in runs {
            values.push(self.plan.objective.of(run));
        }
        values
    }

    /// Returns a run in the form that its race needs.
    fn sample(self, run: &RunRow) -> Sample {
        let mut excess = Vec::new();
        for limit in &self.plan.limits {
            excess.push(limit.excess(run));
        }
        Sample {
            value: self.value(run),
            excess,
            left: self.left(run),
        }
    }

    /// Returns how many targets runs leave behind in all, beyond those that the experiment allows.
    fn all_left(self, runs: &[RunRow]) -> u64 {
        let mut left = 0;
        for run in runs {
            left += self.left(run);
        }
        left
    }

    /// Returns how many targets a run leaves behind, beyond those that the experiment allows.
    fn left(self, run: &RunRow) -> u64 {
        self.experiment.allowed_left.beyond(run)
    }

    /// Returns the key of a variant's race. If a setting is the objective, it does not distinguish worlds.
    fn race_of(self, variant: &Variant) -> RaceKey {
        let world = Setting::of_world(&variant.settings)
            .filter(|setting| !self.plan.objective.is_setting(setting));
        RaceKey {
            world: Setting::in_short(world),
            strategy: variant.strategy.clone(),
        }
    }

    /// Returns the variants of each race, in the order of the experiment.
    fn variants_by_race(self) -> Vec<(RaceKey, Vec<usize>)> {
        let mut variants = Vec::new();
        for (number, variant) in self.experiment.variants.iter().enumerate() {
            variants.push((self.race_of(variant), number));
        }
        grouped(variants)
    }

    /// Returns the rules of a race between this many candidates.
    fn rules(self, candidates: usize) -> RaceRules {
        let plan = self.plan;
        let mut demands = Vec::new();
        for limit in &plan.limits {
            demands.push(limit.demand().expect("checked when the plan was read"));
        }
        let mut rules = RaceRules {
            demands,
            objective: plan.objective.over(),
            confidence: plan.confidence,
            indifference: plan.indifference,
            confirm: plan.confirm as usize,
            most: 0,
            most_compared: 0,
        };
        let needed = rules.runs_for_bounds(candidates);
        rules.most = self.most_runs(needed.objective.max(needed.limits));
        rules.most_compared = self.most_runs(needed.objective);
        rules
    }

    /// Returns the maximum number of runs per candidate, given that bounds need `needed` runs.
    fn most_runs(self, needed: usize) -> usize {
        match self.plan.most {
            Some(most) => most as usize,
            None => needed.max(self.experiment.replicates.max(self.plan.confirm) as usize),
        }
    }

    /// Returns the candidate variants and the tuner that picks among them. If the current setting is also a point in
    /// the grid, the duplicate is dropped.
    fn tuning(self, mut variants: Vec<usize>, tries: usize) -> Tuning {
        let present = self.present_setting(&variants);
        let duplicate = present.and_then(|present| self.duplicate_of(present, &variants[1..]));
        variants.retain(|&variant| Some(variant) != duplicate);
        let mut settings = Vec::new();
        for &variant in &variants {
            // The current setting replaces its duplicate in the grid.
            let at_point = match duplicate {
                Some(duplicate) if Some(variant) == present => duplicate,
                _ => variant,
            };
            settings.push(self.searched_settings(at_point));
        }
        Tuning {
            tuner: Tuner::new(&settings, present.map(|_| 0), tries),
            variants,
        }
    }

    /// Returns the first of a race's variants that has only the experiment's own settings, if the race has several
    /// variants.
    fn present_setting(self, variants: &[usize]) -> Option<usize> {
        let &first = variants.first()?;
        let is_present = variants.len() > 1 && self.searched_settings(first).is_empty();
        is_present.then_some(first)
    }

    /// Returns the first of the other variants with the same strategies, with the same settings and release times.
    fn duplicate_of(self, variant: usize, others: &[usize]) -> Option<usize> {
        let scenario = &self.variant(variant).scenario;
        let mut others = others.iter().copied();
        others.find(|&other| self.variant(other).scenario.has_same_pace(scenario))
    }
}

/// The key that identifies a race of an experiment.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct RaceKey {
    /// A short form of the world's settings.
    world: String,
    /// The strategy's name.
    strategy: String,
}

/// The choice of a race's candidates in a search with a number of tries.
struct Tuning {
    /// All variants that may become candidates.
    variants: Vec<usize>,
    /// The tuner that picks among them.
    tuner: Tuner,
}

impl Tuning {
    /// Returns the rank of a variant among all possible candidates.
    fn rank_of(&self, variant: usize) -> usize {
        self.variants
            .iter()
            .position(|known| *known == variant)
            .expect("it is one of all")
    }
}

/// The race of one strategy in one world.
struct StrategyRace {
    key: RaceKey,
    /// The candidates of the race, as indices of the experiment's variants.
    variants: Vec<usize>,
    /// The choice of the candidates. `None`: all variants of the race are candidates.
    tuning: Option<Tuning>,
    race: Race,
    /// The runs of each candidate, in the order of their replicates.
    runs: Vec<Vec<RunRow>>,
    /// The last round in which each candidate had runs.
    rounds: Vec<u32>,
}

impl StrategyRace {
    /// Creates a race between these variants or, with a number of tries, between the variants that a tuner picks.
    fn new(key: RaceKey, variants: Vec<usize>, task: PlannedExperiment<'_>) -> Self {
        let is_tuned = task.plan.tries.is_some();
        let mut race = Self {
            key,
            variants: Vec::new(),
            tuning: None,
            race: Race::new(variants.len(), is_tuned, task.rules(variants.len())),
            runs: Vec::new(),
            rounds: Vec::new(),
        };
        if let Some(tries) = task.plan.tries {
            race.tuning = Some(task.tuning(variants, tries));
            return race;
        }
        for variant in variants {
            race.enter(variant, task);
        }
        race
    }

    /// Adds further settings to the race, up to the number of tries. Returns the runs that they need.
    fn tune(&mut self, task: PlannedExperiment<'_>) -> Vec<RunsWanted> {
        let Some(mut tuning) = self.tuning.take() else {
            return Vec::new();
        };
        let mut leading = Vec::new();
        for candidate in self.leading(task) {
            leading.push(tuning.rank_of(self.variants[candidate]));
        }
        let up_to = task.rules(1).most.min(FIRST_RUNS);
        let mut wanted = Vec::new();
        for rank in tuning.tuner.next(&leading) {
            let candidate = self.variants.len();
            self.enter(tuning.variants[rank], task);
            wanted.push(RunsWanted { candidate, up_to });
        }
        self.tuning = Some(tuning);
        wanted
    }

    /// Makes a variant a candidate.
    fn enter(&mut self, variant: usize, task: PlannedExperiment<'_>) {
        let settings = &task.variant(variant).settings;
        self.race.enter(task.plan.objective.rank(settings));
        self.variants.push(variant);
        self.runs.push(Vec::new());
        self.rounds.push(0);
    }

    /// Makes the variants that the tuner did not pick candidates, too.
    fn enter_rest(&mut self, task: PlannedExperiment<'_>) {
        let all = match &self.tuning {
            Some(tuning) => tuning.variants.clone(),
            None => return,
        };
        for variant in all {
            if !self.variants.contains(&variant) {
                self.enter(variant, task);
            }
        }
    }

    /// Adds a finished run that the race requested.
    fn record(&mut self, candidate: usize, run: RunRow, round: u32, sample: Sample) {
        self.race.add(candidate, sample);
        self.runs[candidate].push(run);
        self.rounds[candidate] = round;
    }

    /// Returns the candidates whose neighbours may be better: the best one that meets the limits (or the one that
    /// exceeds them least), and those on the front.
    fn leading(&self, task: PlannedExperiment<'_>) -> Vec<usize> {
        let optimal = self.on_front(task);
        let scales = answer::scales(task.plan);
        let mut order = Vec::new();
        for (candidate, rows) in self.runs.iter().enumerate() {
            let left = task.all_left(rows) as f64;
            order.push(TriedSetting {
                candidate,
                faults: [excess(task.plan, &scales, rows), left],
                objective: task.objective_of(rows),
            });
        }
        order.sort_by(TriedSetting::compare);
        let mut leading = Vec::new();
        for TriedSetting { candidate, .. } in order {
            let is_best = leading.is_empty();
            if is_best || optimal[candidate] {
                leading.push(candidate);
            }
        }
        leading
    }

    /// Returns whether each candidate is on the front of this race.
    fn on_front(&self, task: PlannedExperiment<'_>) -> Vec<bool> {
        let measures = front::FrontMeasures::of(
            answer::time_of(task.plan),
            &answer::load_axis(task.plan),
            std::slice::from_ref(self),
        );
        let mut points = Vec::new();
        for rows in &self.runs {
            points.push(front::steps(&measures.place(task, rows, false)));
        }
        front::optimal(&points)
    }
}

/// A setting with its rank among those that were tried.
struct TriedSetting {
    candidate: usize,
    /// By how much it exceeds the limits, and how many targets it leaves behind.
    faults: [f64; 2],
    objective: f64,
}

impl TriedSetting {
    /// Compares by the faults, then by the objective.
    fn compare(&self, other: &Self) -> Ordering {
        in_turn(self.faults, other.faults).then(self.objective.total_cmp(&other.objective))
    }
}

/// Returns by how much runs exceed the limits: the sum of the excesses, each relative to the limit's scale.
fn excess(plan: &Plan, scales: &[f64], rows: &[RunRow]) -> f64 {
    let mut shares = Vec::new();
    for (limit, scale) in plan.limits.iter().zip(scales) {
        let values: Vec<f64> = rows.iter().map(|row| limit.excess(row)).collect();
        let excess = limit.demand().unwrap_or(Statistic::Every).of(&values);
        shares.push((excess / scale).max(0.0));
    }
    shares.into_iter().sum()
}

/// Searches the settings of an experiment whose variants are the candidates, on the current rayon pool.
///
/// With `exhaustive`, all replicates of every candidate are simulated after the search, and both answers are reported.
/// The search does not use these additional runs. `run_done` is called after each run, from any thread. The journal
/// works as in [`super::simulate`].
///
/// # Errors
/// Returns an error if a run could not be saved.
pub fn search(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    journal: &Journal,
    run_done: impl Fn(u64) + Sync,
) -> Result<SearchResult, StudyError> {
    search_among(experiment, plan, exhaustive, |variant, replicate| {
        let entry = JournalEntry {
            journal,
            id: (variant as u32, replicate),
        };
        let row = row_of(experiment, variant, replicate, entry)?;
        run_done(row.events);
        Ok(row)
    })
}

/// Searches like [`search`], with runs from any source: `run` returns the run for a variant's index and a replicate.
///
/// # Errors
/// Returns the errors of `run`.
pub fn search_among(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    run: impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync,
) -> Result<SearchResult, StudyError> {
    let mut search = SettingSearch::new(PlannedExperiment { experiment, plan });
    search.run_races(&run)?;
    let mut record = search.record();
    let runs = search.runs();
    if exhaustive {
        search.complete(&run)?;
        let found = exhaustive::exhaustive(&search.races, search.task, &record);
        record.exhaustive = Some(found);
    }
    Ok(SearchResult { plan: record, runs })
}

/// One run that a race requests.
#[derive(Clone, Copy, Debug)]
struct RaceJob {
    /// The index of the race.
    race: usize,
    /// The candidate's index in the race.
    candidate: usize,
    /// The variant's index in the experiment.
    variant: usize,
    replicate: u32,
}

/// Simulates jobs in parallel. Returns their runs in the same order.
fn simulated(
    jobs: &[RaceJob],
    run: &(impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync),
) -> Result<Vec<RunRow>, StudyError> {
    in_order(jobs.len(), |number| {
        run(jobs[number].variant, jobs[number].replicate)
    })
}

/// A search in progress.
struct SettingSearch<'s> {
    task: PlannedExperiment<'s>,
    /// The races, in the order of the experiment.
    races: Vec<StrategyRace>,
    /// Number of runs simulated so far.
    spent: u64,
    /// The budget of runs, if it stopped the search.
    stopped_at: Option<u64>,
}

impl<'s> SettingSearch<'s> {
    /// Creates a search before its first run.
    fn new(task: PlannedExperiment<'s>) -> Self {
        let mut races = Vec::new();
        for (key, variants) in task.variants_by_race() {
            races.push(StrategyRace::new(key, variants, task));
        }
        Self {
            task,
            races,
            spent: 0,
            stopped_at: None,
        }
    }

    /// Simulates rounds until no race requests runs, or the budget is spent.
    fn run_races(
        &mut self,
        run: &(impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync),
    ) -> Result<(), StudyError> {
        for round in 1.. {
            let mut jobs = self.requested();
            if jobs.is_empty() {
                break;
            }
            self.cut_to_budget(&mut jobs);
            let rows = simulated(&jobs, run)?;
            self.spent += rows.len() as u64;
            for (job, row) in jobs.iter().zip(rows) {
                let sample = self.task.sample(&row);
                self.races[job.race].record(job.candidate, row, round, sample);
            }
            if self.stopped_at.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the runs that the races request for the next round. While any race adds candidates, only the runs of
    /// new candidates are returned.
    fn requested(&mut self) -> Vec<RaceJob> {
        let mut tuned = Vec::new();
        for race in &mut self.races {
            tuned.push(race.tune(self.task));
        }
        let is_tuning = tuned.iter().any(|wanted| !wanted.is_empty());
        let mut jobs = Vec::new();
        for (number, tuned) in tuned.into_iter().enumerate() {
            let race = &self.races[number].race;
            let wanted = if is_tuning { tuned } else { race.next() };
            for RunsWanted { candidate, up_to } in wanted {
                self.push_jobs(&mut jobs, number, candidate, up_to);
            }
        }
        jobs
    }

    /// Adds jobs for the replicates below `up_to` that a candidate lacks.
    fn push_jobs(&self, jobs: &mut Vec<RaceJob>, race: usize, candidate: usize, up_to: usize) {
        let of_race = &self.races[race];
        for replicate in of_race.runs[candidate].len()..up_to {
            jobs.push(RaceJob {
                race,
                candidate,
                variant: of_race.variants[candidate],
                replicate: replicate as u32,
            });
        }
    }

    /// Drops the jobs that exceed the budget. The search stops after the remaining ones.
    fn cut_to_budget(&mut self, jobs: &mut Vec<RaceJob>) {
        let Some(budget) = self.task.plan.runs else {
            return;
        };
        let left = budget.saturating_sub(self.spent);
        if jobs.len() as u64 > left {
            jobs.truncate(left as usize);
            self.stopped_at = Some(budget);
        }
    }

    /// Simulates all replicates of all variants that the search did not simulate.
    fn complete(
        &mut self,
        run: &(impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync),
    ) -> Result<(), StudyError> {
        let replicates = self.task.experiment.replicates as usize;
        let mut jobs = Vec::new();
        for number in 0..self.races.len() {
            self.races[number].enter_rest(self.task);
            for candidate in 0..self.races[number].variants.len() {
                self.push_jobs(&mut jobs, number, candidate, replicates);
            }
        }
        let rows = simulated(&jobs, run)?;
        for (job, row) in jobs.iter().zip(rows) {
            self.races[job.race].runs[job.candidate].push(row);
        }
        Ok(())
    }

    /// Returns all runs so far, by variant and replicate.
    fn runs(&self) -> Vec<RunRow> {
        let runs = self.races.iter().flat_map(|race| &race.runs);
        runs.flatten().cloned().collect()
    }

    /// Returns the answer from the runs so far.
    fn record(&self) -> PlanRecord {
        let PlannedExperiment { experiment, plan } = self.task;
        let load = answer::load_axis(plan);
        let time = answer::time_of(plan);
        let front = plan
            .tries
            .map(|_| front::FrontMeasures::of(time, &load, &self.races));
        let answers = PlanAnswers {
            task: self.task,
            races: &self.races,
            load: &load,
            front,
        };
        let questions = answers.questions();
        let all_variants = experiment.variants.len() as u64;
        let currency = experiment.currency();
        let unit = match plan.objective.measure() {
            Some(Measure::Cost) => currency.as_deref().unwrap_or_default(),
            Some(measure) => measure.unit(),
            None => "",
        };
        let tuned = plan.tries.zip(front).map(|(tries, front)| TunedPlan {
            tries: tries as u64,
            settings: all_variants,
            runs_each: FIRST_RUNS as u64,
            exposure: front.exposure,
        });
        PlanRecord {
            schema_version: PlanRecord::SCHEMA_VERSION,
            objective: plan.objective.to_string(),
            unit: unit.to_owned(),
            is_maximised: plan.objective.is_maximised(),
            limits: plan.limits.iter().map(ToString::to_string).collect(),
            allowed_left: experiment.allowed_left,
            confidence: plan.confidence,
            indifference: plan.indifference,
            confirm: plan.confirm,
            replicates: experiment.replicates,
            runs: self.spent,
            exhaustive_runs: all_variants * u64::from(experiment.replicates),
            stopped_at: self.stopped_at,
            load,
            questions,
            tuned,
            exhaustive: None,
        }
    }
}

/// Returns an upper bound for the number of runs that [`search`] reports as done.
#[must_use]
pub fn run_count_at_most(experiment: &Experiment, plan: &Plan, exhaustive: bool) -> u64 {
    let task = PlannedExperiment { experiment, plan };
    let mut all = 0;
    for (_, variants) in task.variants_by_race() {
        let candidates = variants.len();
        let tried = plan.tries.unwrap_or(candidates).min(candidates);
        all += tried * task.rules(candidates).most;
    }
    let all = all as u64;
    match plan.runs {
        Some(budget) if !exhaustive => budget.min(all),
        _ => all,
    }
}
