//! Many runs: every variant of an experiment with every replicate, in parallel, with results in index order.
//!
//! One run is one thread; which thread runs what never shows in a result. Every variant meets the same fleets and the
//! same luck, replicate by replicate. Of each run its measures and its series are kept; the detail of the run that
//! stands for its variant is simulated once more instead of being kept for all, which is the same run by definition.

pub mod plan;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::record::{Journal, RecordError, RunRecord, VariantRecord};
use crate::scenario::Experiment;
use crate::sim;

/// Why a study has no result.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
    /// A finished run could not be kept.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Simulates the whole experiment on the current rayon pool.
///
/// Runs that the journal holds are taken from it, and each further one is kept in it as it finishes. `run_done` is called
/// after each run, from any thread, with the events that the run handled. When `stop` becomes true, runs that
/// have not begun are not begun.
///
/// # Errors
/// When `stop` became true before the end, or a run could not be kept.
pub fn simulate(
    experiment: &Experiment,
    journal: &Journal,
    run_done: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Vec<VariantRecord>, StudyError> {
    let replicates = experiment.replicates as usize;
    let jobs = experiment.variants.len() * replicates;
    let runs = parallel(jobs, stop, |job| -> Result<RunRecord, StudyError> {
        let (variant, replicate) = (job / replicates, (job % replicates) as u32);
        let id = (variant as u32, replicate);
        if let Some(run) = journal.take(id) {
            run_done(run.run.events);
            return Ok(run);
        }
        let mut run = sim::run(&experiment.variants[variant], experiment.seed, replicate);
        run.clusters = Vec::new();
        run.passes = Vec::new();
        journal.keep(id, &run)?;
        run_done(run.run.events);
        Ok(run)
    })?;
    let mut runs = runs.into_iter();
    let mut variants: Vec<VariantRecord> = experiment
        .variants
        .iter()
        .map(|variant| VariantRecord {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            settings: variant.settings.clone(),
            runs: runs.by_ref().take(replicates).collect(),
        })
        .collect();
    let details = parallel(variants.len(), stop, |at| {
        let representative = variants[at].representative();
        Ok(representative.map(|at_run| (at_run, sim::run(&experiment.variants[at], experiment.seed, at_run as u32))))
    })?;
    for (variant, detail) in variants.iter_mut().zip(details) {
        if let Some((at, run)) = detail {
            assert_eq!(run.run, variant.runs[at].run, "a run simulated again is the same run");
            variant.runs[at] = run;
        }
    }
    Ok(variants)
}

/// The number of runs that [`simulate`] reports as done.
#[must_use]
pub fn run_count(experiment: &Experiment) -> u64 {
    experiment.variants.len() as u64 * u64::from(experiment.replicates)
}

/// Does `jobs` jobs in parallel and returns their results in the order of their numbers.
fn parallel<T: Send>(
    jobs: usize,
    stop: &AtomicBool,
    job: impl Fn(usize) -> Result<T, StudyError> + Sync,
) -> Result<Vec<T>, StudyError> {
    (0..jobs)
        .into_par_iter()
        .map(|at| if stop.load(Ordering::Relaxed) { Err(StudyError::Interrupted) } else { job(at) })
        .collect()
}
