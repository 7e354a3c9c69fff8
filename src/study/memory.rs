//! The memory of a study, estimated from its checked experiment before anything is simulated.
//!
//! A study keeps the experiment and the results of finished runs, and has as many runs in progress as threads. Tables
//! and charts are created after all runs have ended. [`crate::sim::memory_of_run`] estimates a run, and documents the
//! accuracy. The part for kept results is an upper bound, because it assumes that series last until the horizon.

use super::batches::{experiments_at_once, settings};
use crate::scenario::{Experiment, Variant, VariedExperiment};
use crate::sim::{MemoryPart, memory_of_run};
use crate::units::{Bytes, counted};

/// Default memory limit of a study. It is fixed, so that all machines accept the same experiments. Estimates for a
/// million clusters are 3 to 7.5 GB.
pub const MOST_MEMORY: Bytes = Bytes::new(8_000_000_000);

/// Bytes for the program and the charts of one variant.
const PROGRAM: f64 = 40e6;
/// Bytes for the charts of each further variant.
const CHARTS: f64 = 2e6;
/// Bytes for a cluster's settings.
const CLUSTER_SETTINGS: f64 = 400.0;
/// Bytes for a run's row of results, which is in several tables.
const ROW: f64 = 4_000.0;
/// Bytes for one bin of a series. The maximum number of bins follows.
const BIN: f64 = 72.0;
const MOST_BINS: f64 = 4_096.0;
/// Bytes for a cluster of a displayed run: until all runs have ended, and then in tables and charts.
const KEPT_CLUSTER: f64 = 300.0;
const SHOWN_CLUSTER: f64 = 1_500.0;
/// Bytes for a target in each draw of a forecast.
const FORECAST_TARGET: f64 = 140.0;

/// The estimated memory of a study.
#[derive(Clone, Debug)]
pub struct MemoryEstimate {
    /// Memory that is used while runs are in progress, apart from these runs.
    kept: Vec<MemoryPart>,
    /// Memory of each run in progress.
    run: Vec<MemoryPart>,
    /// Memory that is used after all runs have ended, instead of the runs' memory.
    after: Vec<MemoryPart>,
    /// Number of runs, which bounds the number of runs in progress.
    runs: u64,
}

/// The error if a study needs more memory than allowed, even with a single run at a time.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "it takes about {needed} of memory with one run at a time, but the limit is {most}; the largest part is {} for {}",
    Bytes::new(largest.bytes as u64),
    largest.of
)]
pub struct TooMuchMemory {
    /// The memory that the study needs.
    pub needed: Bytes,
    most: Bytes,
    largest: MemoryPart,
}

impl MemoryEstimate {
    /// Estimates all runs of an experiment, with their series and results. The runs are divided among this many
    /// `shards`.
    #[must_use]
    pub fn of_study(experiment: &Experiment, shards: u32) -> Self {
        let (_, runs) = super::run_counts(experiment);
        let runs = runs.div_ceil(u64::from(shards));
        let each = runs as f64 / experiment.variants.len().max(1) as f64;
        let mut estimate = Self::of_runs(experiment, &experiment.variants, runs);
        estimate.keep_rows(runs);
        let bins = bins(experiment);
        // The series of the largest variant are also copied side by side.
        estimate.kept.push(MemoryPart {
            bytes: (runs as f64 + each) * bins * BIN,
            of: format!("the series of {}", counted(runs, "run")),
        });
        let is_drawn = super::drawn_count(experiment) > 0 || !experiment.guesses.is_empty();
        if is_drawn {
            estimate.keep_draws(experiment);
            estimate.keep_rows(super::drawn_count(experiment));
        }
        estimate.show(experiment);
        estimate
    }

    /// Estimates a search that keeps the rows of at most this many runs.
    #[must_use]
    pub fn of_search(experiment: &Experiment, runs: u64) -> Self {
        let mut estimate = Self::of_runs(experiment, &experiment.variants, runs);
        estimate.keep_rows(runs);
        estimate
    }

    /// Estimates a sensitivity analysis that keeps the rows of at most this many runs.
    #[must_use]
    pub fn of_analysis(varied: &VariedExperiment, runs: u64) -> Self {
        let mut estimate = Self::of_search(varied.base(), runs);
        estimate.keep_draws(varied.base());
        estimate
    }

    /// Estimates one side of a comparison.
    #[must_use]
    pub fn of_comparison(experiment: &Experiment, replicates: u32) -> Self {
        let runs = experiment.variants.len() as u64 * u64::from(replicates);
        let mut estimate = Self::of_runs(experiment, &experiment.variants, runs);
        estimate.keep_rows(runs);
        estimate.show(experiment);
        estimate
    }

    /// Estimates a forecast of a variant with this many draws.
    #[must_use]
    pub fn of_forecast(experiment: &Experiment, variant: usize, draws: u32) -> Self {
        let variant = std::slice::from_ref(&experiment.variants[variant]);
        let mut estimate = Self::of_runs(experiment, variant, u64::from(draws));
        let targets = targets(variant);
        // Each run in progress has its own experiment in memory.
        estimate.run.push(MemoryPart::of(
            settings(experiment),
            "cluster",
            CLUSTER_SETTINGS,
        ));
        estimate.kept.push(MemoryPart {
            bytes: f64::from(draws) * targets * FORECAST_TARGET,
            of: format!(
                "{} of {}",
                counted(draws, "draw"),
                counted(targets as u64, "target")
            ),
        });
        estimate
    }

    /// Estimates a page's question that compares two of these variants, with at most this many pairs of runs.
    #[must_use]
    pub fn of_question(experiment: &Experiment, variants: &[Variant], pairs: usize) -> Self {
        let runs = 2 * pairs as u64;
        let shown = variants.iter().map(|variant| variant.scenario.targets());
        let shown = 2 * shown.max().unwrap_or(0);
        let mut estimate = Self::of_runs(experiment, variants, runs);
        estimate.keep_rows(runs);
        estimate.kept.push(MemoryPart {
            bytes: runs as f64 * bins(experiment) * BIN,
            of: format!("the series of {}", counted(runs, "run")),
        });
        estimate.after.push(MemoryPart::of(
            shown as f64,
            "displayed cluster",
            SHOWN_CLUSTER,
        ));
        estimate
    }

    /// Estimates this many runs of an experiment's variants, without keeping their results.
    #[must_use]
    pub fn of_runs(experiment: &Experiment, variants: &[Variant], runs: u64) -> Self {
        let mut largest = Vec::new();
        for variant in variants {
            let run = memory_of_run(&variant.scenario);
            if MemoryPart::sum(&run) > MemoryPart::sum(&largest) {
                largest = run;
            }
        }
        let program = MemoryPart {
            bytes: PROGRAM + CHARTS * variants.len() as f64,
            of: "the program and its charts".to_owned(),
        };
        let clusters = MemoryPart::of(settings(experiment), "described cluster", CLUSTER_SETTINGS);
        Self {
            kept: vec![program, clusters],
            run: largest,
            after: Vec::new(),
            runs,
        }
    }

    fn keep_rows(&mut self, runs: u64) {
        self.kept
            .push(MemoryPart::of(runs as f64, "row of a run", ROW));
    }

    /// Adds experiments with drawn constants, in batches, and the experiment that they are derived from.
    fn keep_draws(&mut self, experiment: &Experiment) {
        let clusters = settings(experiment);
        let together = experiments_at_once(experiment, 32) as f64;
        self.kept.push(MemoryPart {
            bytes: (together + 1.0) * clusters * CLUSTER_SETTINGS,
            of: format!(
                "{} with drawn constants",
                counted((together * clusters) as u64, "cluster")
            ),
        });
    }

    /// Adds the displayed run of each variant.
    fn show(&mut self, experiment: &Experiment) {
        let shown = targets(&experiment.variants);
        self.kept
            .push(MemoryPart::of(shown, "displayed cluster", KEPT_CLUSTER));
        self.after
            .push(MemoryPart::of(shown, "displayed cluster", SHOWN_CLUSTER));
    }

    /// Returns the memory of each run in progress.
    #[must_use]
    pub fn of_run(&self) -> Bytes {
        bytes(MemoryPart::sum(&self.run))
    }

    /// Returns the memory with at most this many runs in progress.
    #[must_use]
    pub fn with(&self, at_once: usize) -> Bytes {
        let in_progress = (at_once as u64).min(self.runs).max(1) as f64;
        let runs = in_progress * MemoryPart::sum(&self.run);
        bytes(MemoryPart::sum(&self.kept) + runs.max(MemoryPart::sum(&self.after)))
    }

    /// Returns how many runs, at most `wanted`, can be in progress within `most` memory.
    ///
    /// # Errors
    /// Returns an error if a single run at a time needs more memory.
    pub fn runs_within(&self, most: Bytes, wanted: usize) -> Result<usize, TooMuchMemory> {
        let needed = self.with(1);
        if needed.get() > most.get() {
            return Err(TooMuchMemory {
                needed,
                most,
                largest: self.largest(),
            });
        }
        let mut at_once = wanted.max(1);
        while self.with(at_once).get() > most.get() {
            at_once -= 1;
        }
        Ok(at_once)
    }

    /// Returns the largest part of the memory with one run at a time.
    fn largest(&self) -> MemoryPart {
        let in_progress = MemoryPart::sum(&self.run) >= MemoryPart::sum(&self.after);
        let of_phase = if in_progress { &self.run } else { &self.after };
        let parts = self.kept.iter().chain(of_phase);
        parts
            .max_by(|a, b| a.bytes.total_cmp(&b.bytes))
            .cloned()
            .expect("the program is a part")
    }
}

/// Returns the total number of clusters in all variants.
fn targets(variants: &[Variant]) -> f64 {
    let clusters = variants
        .iter()
        .map(|variant| variant.scenario.targets() as f64);
    clusters.sum()
}

/// Returns the maximum number of bins of a run's series.
fn bins(experiment: &Experiment) -> f64 {
    let horizons = experiment
        .variants
        .iter()
        .map(|variant| variant.scenario.horizon.as_secs_f64());
    horizons.fold(0.0, f64::max).ceil().min(MOST_BINS)
}

fn bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: f64, of: &str) -> MemoryPart {
        MemoryPart {
            bytes,
            of: of.to_owned(),
        }
    }

    /// An estimate with 10 bytes kept, 30 bytes for each of 5 runs, and 50 bytes for tables after the runs have ended.
    fn estimate() -> MemoryEstimate {
        MemoryEstimate {
            kept: vec![part(10.0, "program")],
            run: vec![part(10.0, "nodes"), part(20.0, "pods")],
            after: vec![part(50.0, "tables")],
            runs: 5,
        }
    }

    #[test]
    fn memory_includes_the_tables_and_no_more_concurrent_runs_than_there_are() {
        let with = [1, 2, 5, 9].map(|at_once| estimate().with(at_once).get());
        assert_eq!(with, [60, 70, 160, 160]);
    }

    #[test]
    fn as_many_runs_are_concurrent_as_fit_into_memory_and_a_run_too_large_is_rejected() {
        let within = |most| estimate().runs_within(Bytes::new(most), 4);
        for (most, expected) in [(130, 4), (129, 3), (100, 3), (99, 2), (60, 1)] {
            assert_eq!(within(most).expect("one fits"), expected, "{most}");
        }
        let refused = within(59).expect_err("tables take 50").to_string();
        let expected = "it takes about 60 B of memory with one run at a time, but the limit is 59 B; \
                        the largest part is 50 B for tables";
        assert_eq!(refused, expected);
    }
}
