//! A study simulates every variant of an experiment with every replicate, in parallel, with results in index order.
//!
//! One run uses one thread, and the assignment to threads does not affect results. All variants use the same fleets
//! and random numbers in each replicate. The measures and the series of every run are kept. The run of each variant
//! that reports display also has details; its replicate depends on the runs of all variants ([`displayed_replicate`]).
//! Details are therefore kept while they are small, and a run without them is simulated again.
//!
//! The first run of every variant is simulated first. It determines the estimated duration of the other runs, which
//! start in order of decreasing duration, so that a study does not end with one long run on one thread. If a precision
//! is requested, runs are added to each variant until it has enough ([`judge`]); their number depends only on the
//! variant's own runs, in the order of replicates.

mod batches;
mod details;
mod memory;
pub mod plan;
mod precision;
mod queue;
pub mod sensitivity;
mod uncertainty;

use std::cmp::Reverse;

use crate::results::{
    Journal, ResultsError, RunId, RunRecord, RunRow, VariantRecord, displayed_replicate,
};
use crate::scenario::{Experiment, LoadError, Precision, Variant};
use crate::sim::{self, RunFailure};
use details::Details;
use precision::Looks;
pub(crate) use queue::in_order;

pub use memory::{MOST_MEMORY, MemoryEstimate, TooMuchMemory};
pub use precision::{MeasurePrecision, judge};
pub use uncertainty::{DrawnRuns, drawn_count, drawn_runs};

/// The reason why a study has no result.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// At least one run failed. The other runs were simulated and saved.
    #[error("{}{}", .0[0], more(.0.len() - 1))]
    Runs(Vec<RunFailure>),
    /// The remaining runs belong to other shards. This shard's runs that are known so far were simulated and saved.
    #[error("the remaining runs belong to other shards; simulate these, and merge all of them")]
    OtherShards,
    /// The second simulation of a run had a different result.
    #[error(
        "{variant}, replicate {replicate}: the same run must always have the same result, but its second simulation \
         differs; the strategy's process must give the same answers to the same messages"
    )]
    Different {
        /// The label of the variant.
        variant: String,
        /// The replicate of the run.
        replicate: u32,
    },
    /// A finished run could not be saved.
    #[error(transparent)]
    Record(#[from] ResultsError),
    /// Changed values of constants make the experiment invalid.
    #[error(transparent)]
    Values(#[from] LoadError),
}

impl From<RunFailure> for StudyError {
    fn from(error: RunFailure) -> Self {
        Self::Runs(vec![error])
    }
}

/// A run's entry in a journal.
#[derive(Clone, Copy)]
struct JournalEntry<'j> {
    journal: &'j Journal,
    id: RunId,
}

/// Returns the row that the journal has for a run: a saved row, or the row of a new simulation without its details.
fn row_of(
    experiment: &Experiment,
    variant: usize,
    replicate: u32,
    entry: JournalEntry<'_>,
) -> Result<RunRow, StudyError> {
    let JournalEntry { journal, id } = entry;
    let variant = &experiment.variants[variant];
    if let Some(run) = saved_run(journal, id, variant, replicate) {
        return Ok(run.run);
    }
    if !journal.owns(id) {
        return Err(StudyError::OtherShards);
    }
    let mut run = sim::run(variant, experiment.seed, replicate)?;
    run.series = Vec::new();
    run.clusters = Vec::new();
    run.passes = Vec::new();
    journal.keep(id, &run)?;
    Ok(run.run)
}

/// Returns the run that is saved under `id`, if it belongs to this variant and replicate. A file with runs is an
/// untrusted input: its key names the study, and this function checks that each run matches its number.
fn saved_run(journal: &Journal, id: RunId, variant: &Variant, replicate: u32) -> Option<RunRecord> {
    let saved = journal.take(id)?;
    let run = &saved.run;
    let is_of_variant = run.variant == variant.label
        && run.strategy == variant.strategy
        && run.setting == variant.setting;
    let is_within_time = run.end_s <= variant.scenario.horizon.as_secs_f64();
    (is_of_variant && is_within_time && run.replicate == replicate).then_some(saved)
}

/// Collects the results of independent parts. All parts are computed before missing runs of other shards are reported.
fn whole<T>(parts: impl Iterator<Item = Result<T, StudyError>>) -> Result<Vec<T>, StudyError> {
    let mut results = Vec::new();
    let mut is_whole = true;
    for part in parts {
        match part {
            Err(StudyError::OtherShards) => is_whole = false,
            part => results.push(part?),
        }
    }
    if is_whole {
        Ok(results)
    } else {
        Err(StudyError::OtherShards)
    }
}

/// Returns an error's line about further failed runs. Empty if there are none.
fn more(runs: usize) -> String {
    if runs == 0 {
        String::new()
    } else {
        format!("\n  {runs} more runs failed")
    }
}

/// A unit of work in a study, for one thread.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Job {
    /// A run, identified by the index of its variant and its replicate.
    Run(RunId),
    /// A repetition of the displayed run of this variant, for its details.
    Detail(u32),
}

impl Job {
    /// Returns the index of the job's variant.
    #[must_use]
    pub const fn variant(self) -> usize {
        match self {
            Self::Run((variant, _)) | Self::Detail(variant) => variant as usize,
        }
    }
}

/// Observes the progress of a study. Observers do not affect results.
pub trait StudyObserver: Sync {
    /// Called when a round begins. `at_hand`: the number of runs that each variant has, including saved runs.
    /// `wanted`: the number that it will have. `firsts`: the first run of every variant; empty in the first round.
    /// `again`: whether each variant's displayed run will probably be simulated again.
    fn round(&self, at_hand: &[u32], wanted: &[u32], firsts: &[&RunRecord], again: &[bool]);
    /// Called when a job begins, from any thread.
    fn begins(&self, job: Job);
    /// Called when a job has finished, from the thread that ran it.
    fn ended(&self, job: Job);
}

/// Simulates the whole experiment on the current rayon pool.
///
/// Runs in the journal are reused, and each further run is saved to it when the run finishes. A journal that is
/// limited to a shard leaves out the runs of other shards.
///
/// # Errors
/// Returns an error if a run could not be saved, or runs of other shards are missing.
pub fn simulate(
    experiment: &Experiment,
    journal: &Journal,
    watch: &impl StudyObserver,
) -> Result<Vec<VariantRecord>, StudyError> {
    let variants = experiment.variants.len();
    let most = most_replicates(experiment);
    let mut study = Study {
        experiment,
        journal,
        watch,
        runs: vec![Vec::new(); variants],
        details: Details::new(most),
        most,
    };
    // Runs of other shards do not wait for the first run of every variant.
    if journal.shard().is_none() {
        study.extend(&vec![experiment.replicates.min(1); variants])?;
    }
    study.extend(&vec![experiment.replicates; variants])?;
    if let Some(precision) = &experiment.precision {
        study.extend_until_precise(precision)?;
    }
    study.finish()
}

/// Simulates `replicates` runs of every variant on the current rayon pool, without saving them. `ended` is called
/// after each run, from any thread. Only the first run of each variant has details.
///
/// # Errors
/// Returns an error if a run failed.
pub fn simulate_plainly(
    experiment: &Experiment,
    replicates: u32,
    ended: impl Fn() + Sync,
) -> Result<Vec<VariantRecord>, StudyError> {
    let per_variant = replicates as usize;
    let mut runs = in_order(experiment.variants.len() * per_variant, |job| {
        let variant = &experiment.variants[job / per_variant];
        let run = run_plainly(variant, experiment.seed, (job % per_variant) as u32)?;
        ended();
        Ok(run)
    })?
    .into_iter();
    let mut records = Vec::new();
    for variant in &experiment.variants {
        records.push(record(variant, runs.by_ref().take(per_variant).collect()));
    }
    Ok(records)
}

/// Simulates a run without series. Only the first run of a variant has rows of clusters.
fn run_plainly(variant: &Variant, seed: u64, replicate: u32) -> Result<RunRecord, RunFailure> {
    let mut run = if replicate == 0 {
        sim::run_in_detail(variant, seed, replicate)?
    } else {
        sim::run(variant, seed, replicate)?
    };
    run.series = Vec::new();
    run.passes = Vec::new();
    run.statuses = Vec::new();
    run.application_series = Vec::new();
    Ok(run)
}

/// Returns the record of a variant with these runs.
fn record(variant: &Variant, runs: Vec<RunRecord>) -> VariantRecord {
    VariantRecord {
        variant: variant.label.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        settings: variant.settings.clone(),
        runs,
    }
}

/// Returns the minimum and the maximum number of runs that the experiment may need.
#[must_use]
pub fn run_counts(experiment: &Experiment) -> (u64, u64) {
    let variants = experiment.variants.len() as u64;
    let least = variants * u64::from(experiment.replicates);
    let most = variants * u64::from(most_replicates(experiment));
    (least, most)
}

/// Returns the maximum number of runs that a variant may need.
fn most_replicates(experiment: &Experiment) -> u32 {
    match &experiment.precision {
        Some(precision) => precision.max,
        None => experiment.replicates,
    }
}

/// A run in a round. A saved run needs no simulation.
struct RoundRun {
    id: RunId,
    run: Option<RunRecord>,
}

impl RoundRun {
    /// Returns the index of the run's variant.
    const fn variant(&self) -> usize {
        Job::Run(self.id).variant()
    }
}

/// A study in progress.
struct Study<'s, W> {
    experiment: &'s Experiment,
    journal: &'s Journal,
    watch: &'s W,
    /// The runs of each variant, in the order of replicates.
    runs: Vec<Vec<RunRecord>>,
    details: Details,
    /// Maximum number of runs of a variant.
    most: u32,
}

impl<W: StudyObserver> Study<'_, W> {
    /// Returns the number of runs that each variant has.
    fn counts(&self) -> Vec<u32> {
        self.runs.iter().map(|runs| runs.len() as u32).collect()
    }

    /// Simulates runs until each variant has the `wanted` number.
    fn extend(&mut self, wanted: &[u32]) -> Result<(), StudyError> {
        let mut round = self.round(wanted);
        self.announce(&round, wanted);
        let mut missing: Vec<usize> = (0..round.len()).collect();
        missing.retain(|&at| round[at].run.is_none());
        missing.sort_by_key(|&at| Reverse(self.cost(round[at].variant())));
        let simulated = in_order(missing.len(), |job| self.run(round[missing[job]].id))?;
        for (at, run) in missing.into_iter().zip(simulated) {
            round[at].run = Some(run);
        }
        for of_round in round {
            let variant = of_round.variant();
            let run = of_round.run.expect("it was taken or simulated");
            self.runs[variant].push(run);
        }
        Ok(())
    }

    /// Returns the runs that variants lack to reach the `wanted` numbers, by variant and replicate.
    fn round(&self, wanted: &[u32]) -> Vec<RoundRun> {
        let mut round = Vec::new();
        for (variant, &wanted) in wanted.iter().enumerate() {
            for replicate in self.runs[variant].len() as u32..wanted {
                let id = (variant as u32, replicate);
                round.push(RoundRun {
                    id,
                    run: self.saved(id),
                });
            }
        }
        round
    }

    /// Returns a saved run. Its details, if any, are stored.
    fn saved(&self, id: RunId) -> Option<RunRecord> {
        let (variant, replicate) = id;
        let variant = &self.experiment.variants[variant as usize];
        let mut run = saved_run(self.journal, id, variant, replicate)?;
        self.details.put_back(id, &mut run);
        Some(run)
    }

    /// Notifies the observer that a round begins with these runs, some of which are saved.
    fn announce(&self, round: &[RoundRun], wanted: &[u32]) {
        let mut at_hand = self.counts();
        let mut wanted = wanted.to_vec();
        for of_round in round {
            let variant = of_round.variant();
            if of_round.run.is_some() {
                at_hand[variant] += 1;
            } else if !self.journal.owns(of_round.id) {
                wanted[variant] -= 1;
            }
        }
        let firsts: Vec<&RunRecord> = self.runs.iter().filter_map(|runs| runs.first()).collect();
        let again: Vec<bool> = (0..self.runs.len())
            .map(|variant| !self.keeps_details(variant))
            .collect();
        self.watch.round(&at_hand, &wanted, &firsts, &again);
    }

    /// Returns the relative cost of a run of this variant: the number of events in its first run or, before that, the
    /// size of its fleet.
    fn cost(&self, variant: usize) -> u64 {
        match self.runs[variant].first() {
            Some(run) => run.run.events,
            None => self.experiment.variants[variant]
                .scenario
                .world
                .clusters
                .len() as u64,
        }
    }

    /// Simulates a run, and saves it.
    fn run(&self, id: RunId) -> Result<RunRecord, StudyError> {
        if !self.journal.owns(id) {
            return Err(StudyError::OtherShards);
        }
        self.watch.begins(Job::Run(id));
        let (variant, replicate) = id;
        let has_details = self.keeps_details(variant as usize);
        let variant = &self.experiment.variants[variant as usize];
        let mut run = if has_details {
            sim::run_in_detail(variant, self.experiment.seed, replicate)?
        } else {
            sim::run(variant, self.experiment.seed, replicate)?
        };
        let is_saved_whole = has_details && self.journal.shard().is_some();
        if is_saved_whole {
            self.journal.keep(id, &run)?;
        }
        if has_details {
            self.details.keep(id, &mut run, self.most == 1);
        }
        run.clusters = Vec::new();
        run.passes = Vec::new();
        if !is_saved_whole {
            self.journal.keep(id, &run)?;
        }
        self.watch.ended(Job::Run(id));
        Ok(run)
    }

    /// Returns whether the details of a further run of this variant are kept. A shard saves them, so that merging
    /// requires no simulation.
    fn keeps_details(&self, variant: usize) -> bool {
        let is_saved = self.details.is_wanted && self.journal.shard().is_some();
        let scenario = &self.experiment.variants[variant].scenario;
        let has_process = scenario.starts_commands();
        !has_process && (is_saved || self.details.has_room())
    }

    /// Simulates further rounds until each variant has enough runs.
    fn extend_until_precise(&mut self, precision: &Precision) -> Result<(), StudyError> {
        let seed = self.experiment.seed;
        let mut looks: Vec<Option<Looks>> = vec![Some(Looks::default()); self.runs.len()];
        loop {
            let mut wanted = self.counts();
            for (variant, open) in looks.iter_mut().enumerate() {
                let Some(of_variant) = open else {
                    continue;
                };
                match of_variant.look(precision, &self.runs[variant], seed) {
                    Some(more) => wanted[variant] = more,
                    None => *open = None,
                }
            }
            if looks.iter().all(Option::is_none) {
                return Ok(());
            }
            self.extend(&wanted)?;
        }
    }

    /// Returns the records of all variants, each with the details of its displayed run.
    fn finish(mut self) -> Result<Vec<VariantRecord>, StudyError> {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.retain(|&at| !self.runs[at].is_empty());
        order.sort_by_key(|&at| Reverse(self.cost(at)));
        let mut records = Vec::new();
        for (variant, runs) in self.experiment.variants.iter().zip(self.runs.drain(..)) {
            records.push(record(variant, runs));
        }
        let Some(displayed) = displayed_replicate(&records) else {
            return Ok(records);
        };
        let mut without_details = Vec::new();
        for at in order {
            let run = &mut records[at].runs[displayed as usize];
            if !self.details.restore((at as u32, displayed), run) {
                without_details.push(at);
            }
        }
        let details = in_order(without_details.len(), |job| {
            self.run_again(without_details[job], displayed)
        })?;
        for (at, run) in without_details.into_iter().zip(details) {
            // Runs are in the order of their replicates, which begin at 0.
            let kept = &mut records[at].runs[displayed as usize];
            // Only an external process can cause a different result.
            if run.run != kept.run {
                return Err(StudyError::Different {
                    variant: kept.run.variant.clone(),
                    replicate: displayed,
                });
            }
            *kept = run;
        }
        Ok(records)
    }

    /// Simulates the displayed run of a variant again to get its details.
    fn run_again(&self, variant: usize, displayed: u32) -> Result<RunRecord, StudyError> {
        let id = (variant as u32, displayed);
        if !self.journal.owns(id) {
            return Err(StudyError::OtherShards);
        }
        self.watch.begins(Job::Detail(variant as u32));
        let described = &self.experiment.variants[variant];
        let run = sim::run_in_detail(described, self.experiment.seed, displayed)?;
        if self.journal.shard().is_some() {
            self.journal.keep(id, &run)?;
        }
        self.watch.ended(Job::Detail(variant as u32));
        Ok(run)
    }
}
