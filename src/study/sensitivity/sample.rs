//! Runs of an experiment with constants at other levels.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::results::{Journal, RunRow};
use crate::scenario::{Level, VariedExperiment};
use crate::study::queue::in_order;
use crate::study::{StudyError, row_of, whole};

/// Experiments that are kept in memory together.
const BATCH: usize = 32;

/// The runs of each chosen variant, in the order of their replicates.
pub(super) type SampleRuns = Vec<Vec<RunRow>>;

/// Levels as a key: the bits of their numbers.
type SampleKey = Vec<(usize, bool, u64)>;

/// Simulates variants at levels of constants, each combination once.
pub(super) struct Sampler<'s> {
    pub(super) varied: &'s VariedExperiment,
    /// The chosen variants.
    pub(super) variants: Vec<usize>,
    journal: &'s Journal,
    run_done: &'s (dyn Fn() + Sync),
    stop: &'s AtomicBool,
    /// Numbers of the combinations so far, which identify their runs in the journal. They follow from the results
    /// alone.
    numbers: HashMap<SampleKey, u32>,
    known: HashMap<(u32, Range<u32>), SampleRuns>,
    /// Runs so far.
    pub(super) runs: u64,
}

impl<'s> Sampler<'s> {
    pub(super) fn new(
        varied: &'s VariedExperiment,
        variants: Vec<usize>,
        journal: &'s Journal,
        run_done: &'s (dyn Fn() + Sync),
        stop: &'s AtomicBool,
    ) -> Self {
        let (numbers, known) = (HashMap::new(), HashMap::new());
        Self { varied, variants, journal, run_done, stop, numbers, known, runs: 0 }
    }

    /// The names of the chosen variants.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.variants.iter().map(|&at| self.varied.base().variants[at].label.as_str())
    }

    /// The product of the variant at this place.
    pub(super) fn product(&self, place: usize) -> Option<&'static str> {
        self.varied.product(&self.varied.base().variants[self.variants[place]].strategy)
    }

    /// The runs of these replicates at each combination of levels.
    pub(super) fn samples(
        &mut self,
        levels: &[Vec<(usize, Level)>],
        replicates: Range<u32>,
    ) -> Result<Vec<SampleRuns>, StudyError> {
        let mut wanted: Vec<(u32, &Vec<(usize, Level)>)> = Vec::new();
        let mut numbers = Vec::new();
        for levels in levels {
            // The numbers below are those of a study of the same experiment.
            let next = self.numbers.len() as u32 + 1;
            let number = *self.numbers.entry(key(levels)).or_insert(next);
            numbers.push(number);
            let is_known = self.known.contains_key(&(number, replicates.clone()));
            if !is_known && wanted.iter().all(|(other, _)| *other != number) {
                wanted.push((number, levels));
            }
        }
        let simulated = whole(wanted.chunks(BATCH).map(|batch| self.simulate(batch, &replicates)))?;
        for ((number, _), runs) in wanted.iter().zip(simulated.into_iter().flatten()) {
            self.known.insert((*number, replicates.clone()), runs);
        }
        Ok(numbers.iter().map(|number| self.known[&(*number, replicates.clone())].clone()).collect())
    }

    fn simulate(
        &mut self,
        batch: &[(u32, &Vec<(usize, Level)>)],
        replicates: &Range<u32>,
    ) -> Result<Vec<SampleRuns>, StudyError> {
        let experiments = in_order(batch.len(), self.stop, |job| Ok(self.varied.at(batch[job].1)?))?;
        let each = replicates.len();
        let jobs = batch.len() * self.variants.len() * each;
        let rows = in_order(jobs, self.stop, |job| {
            let (sample, rest) = (job / (self.variants.len() * each), job % (self.variants.len() * each));
            let (number, place, replicate) = (batch[sample].0, rest / each, replicates.start + (rest % each) as u32);
            let id = (number * self.variants.len() as u32 + place as u32, replicate);
            let row = row_of(&experiments[sample], self.variants[place], replicate, (self.journal, id))?;
            (self.run_done)();
            Ok(row)
        })?;
        self.runs += jobs as u64;
        let mut rows = rows.into_iter();
        let mut runs_of = || (0..self.variants.len()).map(|_| rows.by_ref().take(each).collect()).collect();
        Ok((0..batch.len()).map(|_| runs_of()).collect())
    }
}

fn key(levels: &[(usize, Level)]) -> SampleKey {
    let bits = |(at, level): &(usize, Level)| match level {
        Level::Toward(share) => (*at, true, share.to_bits()),
        Level::Quantile(share) => (*at, false, share.to_bits()),
    };
    levels.iter().map(bits).collect()
}
