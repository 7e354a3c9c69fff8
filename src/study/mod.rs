//! Many runs: every variant of an experiment with every replicate, in parallel, with results in index order.
//!
//! One run is one thread; which thread runs what never shows in a result. Every variant meets the same fleets and the
//! same luck, replicate by replicate. Of each run its measures and its series are kept; the detail of the run that
//! stands for its variant is simulated once more instead of being kept for all, which is the same run by definition.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::record::VariantRecord;
use crate::scenario::Experiment;
use crate::sim;

/// Why a study has no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Simulates the whole experiment on the current rayon pool.
///
/// `run_done` is called after each run, from any thread, with the events that the run handled. When `stop` becomes
/// true, runs that have not begun are not begun.
///
/// # Errors
/// [`Interrupted`] when `stop` became true before the end.
pub fn simulate(
    experiment: &Experiment,
    run_done: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Vec<VariantRecord>, Interrupted> {
    let replicates = experiment.replicates as usize;
    let jobs = experiment.variants.len() * replicates;
    let runs = parallel(jobs, stop, |job| {
        let variant = &experiment.variants[job / replicates];
        let mut run = sim::run(variant, experiment.seed, (job % replicates) as u32);
        run.clusters = Vec::new();
        run.passes = Vec::new();
        run_done(run.run.events);
        run
    })?;
    let mut runs = runs.into_iter();
    let mut variants: Vec<VariantRecord> = experiment
        .variants
        .iter()
        .map(|variant| VariantRecord {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            runs: runs.by_ref().take(replicates).collect(),
        })
        .collect();
    let details = parallel(variants.len(), stop, |at| {
        let representative = variants[at].representative()?;
        Some((representative, sim::run(&experiment.variants[at], experiment.seed, representative as u32)))
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
fn parallel<T: Send>(jobs: usize, stop: &AtomicBool, job: impl Fn(usize) -> T + Sync) -> Result<Vec<T>, Interrupted> {
    (0..jobs)
        .into_par_iter()
        .map(|at| if stop.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(job(at)) })
        .collect()
}
