//! Runs of an experiment with constants at other levels.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::results::{Journal, RunRow};
use crate::scenario::{Experiment, Level, VariedExperiment};
use crate::study::batches::experiments_at_once;
use crate::study::queue::in_order;
use crate::study::{JournalEntry, StudyError, row_of, whole};

/// Maximum number of experiments that are kept in memory.
const BATCH: usize = 32;

/// The runs of each chosen variant, in the order of their replicates.
pub(super) type SampleRuns = Vec<Vec<RunRow>>;

/// Levels of some constants, by the constant's index.
pub(super) type Levels = Vec<(usize, Level)>;

/// A level of a constant, in a form that can be a key.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct LevelKey {
    constant: usize,
    /// Whether the level is a share of the distance to an end of the range; otherwise it is a quantile.
    is_toward: bool,
    /// The bits of the share or quantile.
    bits: u64,
}

/// A variant at levels of the constants that its strategy uses.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct SampleId {
    /// The index of the combination of levels.
    combination: u32,
    /// The variant's index among the chosen variants.
    place: usize,
}

/// The runs of a sample that are requested.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct SampleRange {
    sample: SampleId,
    replicates: Range<u32>,
}

/// Simulates variants at levels of constants. Each variant is simulated once at each combination of the levels that it
/// depends on: a constant of Argo CD's controllers does not affect runs of Rancher Fleet.
pub(super) struct Sampler<'s> {
    pub(super) varied: &'s VariedExperiment,
    /// The chosen variants.
    pub(super) variants: Vec<usize>,
    journal: &'s Journal,
    run_done: &'s (dyn Fn() + Sync),
    /// Indices of the combinations used so far, which identify their runs in the journal. They depend only on results,
    /// not on threads.
    numbers: HashMap<Vec<LevelKey>, u32>,
    known: HashMap<SampleRange, Vec<RunRow>>,
    /// The number of simulated runs so far.
    pub(super) runs: u64,
}

/// A combination of levels, and the variants that were not simulated with it yet.
struct MissingRuns<'l> {
    levels: &'l [(usize, Level)],
    samples: Vec<SampleId>,
}

/// A job that simulates one run of a sample.
struct SampleJob<'e> {
    sample: SampleId,
    /// The experiment with the constants at the sample's levels.
    experiment: &'e Experiment,
    replicate: u32,
}

impl<'s> Sampler<'s> {
    /// Creates a sampler that has no runs yet.
    pub(super) fn new(
        varied: &'s VariedExperiment,
        variants: Vec<usize>,
        journal: &'s Journal,
        run_done: &'s (dyn Fn() + Sync),
    ) -> Self {
        Self {
            varied,
            variants,
            journal,
            run_done,
            numbers: HashMap::new(),
            known: HashMap::new(),
            runs: 0,
        }
    }

    /// Returns the names of the chosen variants.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.variants
            .iter()
            .map(|&at| self.varied.base().variants[at].label.as_str())
    }

    /// Returns the strategy of the variant with this index.
    fn strategy(&self, place: usize) -> &'s str {
        &self.varied.base().variants[self.variants[place]].strategy
    }

    /// Returns the product of the variant with this index.
    pub(super) fn product(&self, place: usize) -> Option<&'static str> {
        self.varied.product(self.strategy(place))
    }

    /// Returns the runs for these replicates at each combination of levels.
    pub(super) fn samples(
        &mut self,
        combinations: &[Levels],
        replicates: Range<u32>,
    ) -> Result<Vec<SampleRuns>, StudyError> {
        let mut missing = Vec::new();
        let mut asked = HashSet::new();
        let mut samples = Vec::new();
        for levels in combinations {
            let mut ids = Vec::new();
            for place in 0..self.variants.len() {
                ids.push(self.id(levels, place));
            }
            let mut new = ids.clone();
            new.retain(|&id| !self.is_known(id, &replicates) && asked.insert(id));
            if !new.is_empty() {
                missing.push(MissingRuns {
                    levels,
                    samples: new,
                });
            }
            samples.push(ids);
        }
        self.simulate_all(&missing, &replicates)?;
        let mut runs = Vec::new();
        for ids in samples {
            let known = ids.into_iter().map(|id| self.known_runs(id, &replicates));
            runs.push(known.collect());
        }
        Ok(runs)
    }

    /// Returns whether these replicates of a sample were already simulated.
    fn is_known(&self, sample: SampleId, replicates: &Range<u32>) -> bool {
        let replicates = replicates.clone();
        self.known.contains_key(&SampleRange { sample, replicates })
    }

    /// Returns the already simulated runs for these replicates of a sample.
    fn known_runs(&self, sample: SampleId, replicates: &Range<u32>) -> Vec<RunRow> {
        let replicates = replicates.clone();
        self.known[&SampleRange { sample, replicates }].clone()
    }

    /// Returns the identity of a variant at these levels.
    fn id(&mut self, levels: &[(usize, Level)], place: usize) -> SampleId {
        let strategy = self.strategy(place);
        let constants = self.varied.constants();
        let mut key = Vec::new();
        for (constant, level) in levels {
            let mut strategies = constants[*constant].strategies.iter();
            if strategies.any(|of| of == strategy) {
                key.push(level_key(*constant, *level));
            }
        }
        // The lower numbers belong to the study of the same experiment.
        let next = self.numbers.len() as u32 + 1;
        SampleId {
            combination: *self.numbers.entry(key).or_insert(next),
            place,
        }
    }

    /// Simulates samples in batches.
    fn simulate_all(
        &mut self,
        missing: &[MissingRuns<'_>],
        replicates: &Range<u32>,
    ) -> Result<(), StudyError> {
        let together = experiments_at_once(self.varied.base(), BATCH);
        let batches = missing.chunks(together);
        let simulated = whole(batches.map(|batch| self.simulate(batch, replicates)))?;
        for (range, runs) in simulated.into_iter().flatten() {
            self.known.insert(range, runs);
        }
        Ok(())
    }

    /// Simulates samples whose experiments are in memory simultaneously.
    fn simulate(
        &mut self,
        batch: &[MissingRuns<'_>],
        replicates: &Range<u32>,
    ) -> Result<Vec<(SampleRange, Vec<RunRow>)>, StudyError> {
        let experiments = in_order(batch.len(), |at| Ok(self.varied.at(batch[at].levels)?))?;
        let mut jobs = Vec::new();
        for (missing, experiment) in batch.iter().zip(&experiments) {
            for &sample in &missing.samples {
                for replicate in replicates.clone() {
                    jobs.push(SampleJob {
                        sample,
                        experiment,
                        replicate,
                    });
                }
            }
        }
        let rows = in_order(jobs.len(), |number| self.run(&jobs[number]))?;
        self.runs += jobs.len() as u64;
        let mut rows = rows.into_iter();
        let mut simulated = Vec::new();
        for &sample in batch.iter().flat_map(|missing| &missing.samples) {
            let range = SampleRange {
                sample,
                replicates: replicates.clone(),
            };
            simulated.push((range, rows.by_ref().take(replicates.len()).collect()));
        }
        Ok(simulated)
    }

    /// Returns the row of one run, simulated or from the journal.
    fn run(&self, job: &SampleJob<'_>) -> Result<RunRow, StudyError> {
        let SampleId { combination, place } = job.sample;
        let number = combination * self.variants.len() as u32 + place as u32;
        let entry = JournalEntry {
            journal: self.journal,
            id: (number, job.replicate),
        };
        let row = row_of(job.experiment, self.variants[place], job.replicate, entry)?;
        (self.run_done)();
        Ok(row)
    }
}

/// Returns a level of a constant as a key.
fn level_key(constant: usize, level: Level) -> LevelKey {
    let (is_toward, share) = match level {
        Level::Toward(share) => (true, share),
        Level::Quantile(share) => (false, share),
    };
    LevelKey {
        constant,
        is_toward,
        bits: share.to_bits(),
    }
}
