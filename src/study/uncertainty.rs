//! Runs with uncertain constants: each replicate draws all of them, and all variants use the same draws.

use std::ops::Range;

use super::batches::experiments_at_once;
use super::queue::in_order;
use super::{JournalEntry, StudyError, row_of, whole};
use crate::results::{DrawnConstant, Journal, RunRow};
use crate::scenario::{Experiment, Level, VariedExperiment};
use crate::sim;

/// Maximum number of draws whose experiments are kept in memory.
const BATCH: usize = 16;

/// The runs with drawn constants.
#[derive(Clone, Debug, Default)]
pub struct DrawnRuns {
    /// The runs of each variant, in the order of the draws.
    pub runs: Vec<Vec<RunRow>>,
    /// The values of the constants in each draw.
    pub constants: Vec<DrawnConstant>,
}

/// Returns the number of runs that [`drawn_runs`] simulates.
#[must_use]
pub fn drawn_count(experiment: &Experiment) -> u64 {
    u64::from(draws(experiment)) * experiment.variants.len() as u64
}

/// Returns the number of draws of the constants. 0: the experiment does not draw them.
fn draws(experiment: &Experiment) -> u32 {
    match &experiment.uncertainty {
        Some(uncertainty) => uncertainty.draws,
        None => 0,
    }
}

/// Simulates every variant once for each draw of the constants, on the current rayon pool. Draw n uses the random
/// numbers of replicate n. `run_done` is called after each run, from any thread. The journal works as in
/// [`super::simulate`].
///
/// # Errors
/// Returns an error if a run could not be saved, or drawn values are inconsistent.
pub fn drawn_runs(
    varied: &VariedExperiment,
    journal: &Journal,
    run_done: impl Fn() + Sync,
) -> Result<DrawnRuns, StudyError> {
    let base = varied.base();
    let draws = draws(base);
    let together = experiments_at_once(base, BATCH) as u32;
    let mut batches = Vec::new();
    let mut first = 0;
    while first < draws {
        let after = draws.min(first + together);
        batches.push(DrawBatch::new(varied, first..after));
        first = after;
    }
    let simulated = batches
        .iter()
        .map(|batch| batch.simulate(varied, journal, &run_done));
    let simulated = whole(simulated)?;
    let variants = base.variants.len();
    let mut drawn = DrawnRuns {
        runs: vec![Vec::new(); variants],
        constants: Vec::new(),
    };
    for (batch, rows) in batches.iter().zip(simulated) {
        for (job, row) in rows.into_iter().enumerate() {
            drawn.runs[job % variants].push(row);
        }
        for draw in &batch.draws {
            drawn.constants.extend(draw.values(varied));
        }
    }
    Ok(drawn)
}

/// One draw of all constants.
struct ConstantsDraw {
    /// The index of the draw, which is also the number of its replicate.
    number: u32,
    /// The level of each constant.
    levels: Vec<(usize, Level)>,
}

impl ConstantsDraw {
    /// Returns the draw with this index.
    fn new(varied: &VariedExperiment, number: u32) -> Self {
        let constants = varied.constants().iter();
        let names: Vec<&str> = constants.map(|constant| constant.name).collect();
        let shares = sim::draw_shares(&names, varied.base().seed, number);
        Self {
            number,
            levels: shares
                .into_iter()
                .map(Level::Quantile)
                .enumerate()
                .collect(),
        }
    }

    /// Returns the drawn values in the format of the results.
    fn values(&self, varied: &VariedExperiment) -> Vec<DrawnConstant> {
        let mut drawn = Vec::new();
        for &(constant, level) in &self.levels {
            let constant = &varied.constants()[constant];
            for value in &constant.values {
                drawn.push(DrawnConstant {
                    draw: self.number,
                    constant: constant.own_name.clone(),
                    product: value.product.unwrap_or_default().to_owned(),
                    value: value.value,
                    drawn: value.at(level),
                    unit: value.constant.unit().to_owned(),
                });
            }
        }
        drawn
    }
}

/// Draws whose experiments are in memory simultaneously.
struct DrawBatch {
    draws: Vec<ConstantsDraw>,
}

impl DrawBatch {
    /// Returns the draws with these indices.
    fn new(varied: &VariedExperiment, numbers: Range<u32>) -> Self {
        Self {
            draws: numbers
                .map(|number| ConstantsDraw::new(varied, number))
                .collect(),
        }
    }

    /// Returns the rows of all runs, ordered by draw and then by variant.
    fn simulate(
        &self,
        varied: &VariedExperiment,
        journal: &Journal,
        run_done: &(impl Fn() + Sync),
    ) -> Result<Vec<RunRow>, StudyError> {
        let variants = varied.base().variants.len();
        let experiments = in_order(
            self.draws.len(),
            |at| Ok(varied.at(&self.draws[at].levels)?),
        )?;
        in_order(self.draws.len() * variants, |job| {
            let at = job / variants;
            let variant = job % variants;
            let draw = self.draws[at].number;
            let entry = JournalEntry {
                journal,
                // The lower numbers belong to the runs with the constants' values in force.
                id: ((variants + variant) as u32, draw),
            };
            let row = row_of(&experiments[at], variant, draw, entry)?;
            run_done();
            Ok(row)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Overrides;
    use crate::stats::prediction_interval;

    /// Returns an experiment with one cluster that pulls 100 MB over a link whose rate is uncertain. All other
    /// constants are known.
    fn one_cluster(seed: u64) -> VariedExperiment {
        let home = tempfile::tempdir().expect("a temporary folder");
        let text = |known: &str| {
            format!(
                "
name: one
seed: {seed}
replicates: 2
uncertainty: {{draws: 39, known: [{known}]}}
fleet: [{{name: a, nodes: 1, downlink: 100 Mbit/s}}]
registry: {{perConnection: unlimited}}
agent: {{instructionDelay: 0 s, apply: 0 s, readiness: {{delay: 0 s}}, reportDelay: 0 s}}
controller: {{request: 0 s, watchDelay: 0 s}}
node: {{unpackSpread: 0, pullConstant: 0 s, sandbox: 0 s, startOverhead: 0 s}}
release:
  images: [{{name: shop, compressionRatio: 0.1, manifest: {{layers: [{{size: 100 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, start: 0 s, termination: 0 s}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
"
            )
        };
        let load = |known: &str| {
            std::fs::write(home.path().join("experiment.yaml"), text(known)).expect("written");
            VariedExperiment::load(home.path(), &Overrides::default()).expect("valid")
        };
        let all = load("");
        let others = all
            .constants()
            .iter()
            .map(|constant| constant.name)
            .filter(|name| *name != "fleet[*].downlink");
        let known: Vec<String> = others.map(|name| format!("\"{name}\"")).collect();
        load(&known.join(", "))
    }

    fn drawn(varied: &VariedExperiment, threads: usize) -> DrawnRuns {
        let journal = Journal::unsaved();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        pool.install(|| drawn_runs(varied, &journal, || {}))
            .expect("simulated")
    }

    /// The true rate has the distribution of its range, which is loguniform from 20 to 500 Mbit/s, so the share of
    /// rates below a given pull time can be computed by hand. The interval of each study then contains the true value
    /// with a probability that can be computed exactly. Its mean over studies must be 38/40.
    #[test]
    fn total_intervals_contain_the_true_value_as_often_as_stated() {
        const STUDIES: u64 = 30;
        let mut covered = Vec::new();
        for seed in 1..=STUDIES {
            let varied = one_cluster(seed);
            assert_eq!(varied.constants().len(), 1, "all but the link is known");
            let drawn = drawn(&varied, 2);
            let times: Vec<f64> = drawn.runs[0]
                .iter()
                .map(|run| run.completion_s.expect("complete"))
                .collect();
            let rates: Vec<f64> = drawn
                .constants
                .iter()
                .map(|constant| constant.drawn)
                .collect();
            // Times that do not depend on the link are the same in every run, except for the registry's response
            // times.
            let rest: Vec<f64> = times
                .iter()
                .zip(&rates)
                .map(|(time, rate)| time - 100e6 / rate)
                .collect();
            let mean_rest = rest.iter().sum::<f64>() / rest.len() as f64;
            assert!(
                rest.iter().all(|rest| (rest - mean_rest).abs() < 0.5),
                "the time is bytes / rate: {rest:?}"
            );
            let interval = prediction_interval(&times, 0.95).expect("39 draws");
            // Returns the share of rates whose pull time is below `time`.
            let below = |time: f64| {
                let rate = 100e6 / (time - mean_rest) * 8.0 / 1e6;
                1.0 - (libm::log(rate / 20.0) / libm::log(25.0)).clamp(0.0, 1.0)
            };
            covered.push(below(interval.high) - below(interval.low));
        }
        let mean = covered.iter().sum::<f64>() / STUDIES as f64;
        // Each probability is Beta(38, 2) with mean 0.95 and standard deviation 0.034, so the standard error of 30 is
        // 0.0062.
        assert!((mean - 0.95).abs() < 0.02, "{mean}: {covered:?}");
    }

    #[test]
    fn draws_are_the_same_on_any_number_of_threads_and_for_all_variants() {
        let varied = one_cluster(5);
        let (one, three) = (drawn(&varied, 1), drawn(&varied, 3));
        assert_eq!((&one.runs, &one.constants), (&three.runs, &three.constants));
        assert_eq!(one.constants.len(), 39);
        assert!(
            one.constants
                .iter()
                .any(|constant| (constant.drawn - one.constants[0].drawn).abs() > 1.0)
        );
    }
}
