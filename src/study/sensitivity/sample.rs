//! Runs of an experiment with constants at other levels.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::results::{Journal, RunRow};
use crate::scenario::{Experiment, Level, VariedExperiment};
use crate::study::batches::experiments_at_once;
use crate::study::queue::in_order;
use crate::study::{StudyError, row_of, whole};

/// Most experiments that are in memory together.
const BATCH: usize = 32;

/// The runs of each chosen variant, in the order of their replicates.
pub(super) type SampleRuns = Vec<Vec<RunRow>>;

/// Levels as a key: the bits of their numbers.
type SampleKey = Vec<(usize, bool, u64)>;

/// A variant at levels of the constants that its strategy has: the number of the levels, and the variant's place.
type SampleId = (u32, usize);

/// Simulates variants at levels of constants. Each variant is simulated once at each combination of the levels that
/// it depends on: a constant of Argo CD's controllers changes no run of Rancher Fleet.
pub(super) struct Sampler<'s> {
    pub(super) varied: &'s VariedExperiment,
    /// The chosen variants.
    pub(super) variants: Vec<usize>,
    journal: &'s Journal,
    run_done: &'s (dyn Fn() + Sync),
    /// Numbers of the combinations so far, which identify their runs in the journal. They follow from the results
    /// alone.
    numbers: HashMap<SampleKey, u32>,
    known: HashMap<(SampleId, Range<u32>), Vec<RunRow>>,
    /// Runs so far.
    pub(super) runs: u64,
}

/// A combination of levels, with the variants that were not simulated at it.
type Wanted<'l> = (&'l [(usize, Level)], Vec<SampleId>);

impl<'s> Sampler<'s> {
    pub(super) fn new(
        varied: &'s VariedExperiment,
        variants: Vec<usize>,
        journal: &'s Journal,
        run_done: &'s (dyn Fn() + Sync),
    ) -> Self {
        let (numbers, known) = (HashMap::new(), HashMap::new());
        Self {
            varied,
            variants,
            journal,
            run_done,
            numbers,
            known,
            runs: 0,
        }
    }

    /// The names of the chosen variants.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.variants
            .iter()
            .map(|&at| self.varied.base().variants[at].label.as_str())
    }

    /// The strategy of the variant at this place.
    fn strategy(&self, place: usize) -> &'s str {
        &self.varied.base().variants[self.variants[place]].strategy
    }

    /// The product of the variant at this place.
    pub(super) fn product(&self, place: usize) -> Option<&'static str> {
        self.varied.product(self.strategy(place))
    }

    /// The runs of these replicates at each combination of levels.
    pub(super) fn samples(
        &mut self,
        levels: &[Vec<(usize, Level)>],
        replicates: Range<u32>,
    ) -> Result<Vec<SampleRuns>, StudyError> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        let mut asked = HashSet::new();
        let mut samples: Vec<Vec<SampleId>> = Vec::new();
        for levels in levels {
            let ids: Vec<SampleId> = (0..self.variants.len())
                .map(|place| self.id(levels, place))
                .collect();
            let is_new = |id: &SampleId| {
                !self.known.contains_key(&(*id, replicates.clone())) && asked.insert(*id)
            };
            let new: Vec<SampleId> = ids.iter().copied().filter(is_new).collect();
            if !new.is_empty() {
                wanted.push((levels, new));
            }
            samples.push(ids);
        }
        let together = experiments_at_once(self.varied.base(), BATCH);
        let simulated = whole(
            wanted
                .chunks(together)
                .map(|batch| self.simulate(batch, &replicates)),
        )?;
        self.known.extend(
            simulated
                .into_iter()
                .flatten()
                .map(|(id, runs)| ((id, replicates.clone()), runs)),
        );
        let runs_of = |id: &SampleId| self.known[&(*id, replicates.clone())].clone();
        Ok(samples
            .iter()
            .map(|ids| ids.iter().map(runs_of).collect())
            .collect())
    }

    fn id(&mut self, levels: &[(usize, Level)], place: usize) -> SampleId {
        let (strategy, constants) = (self.strategy(place), self.varied.constants());
        let own = levels
            .iter()
            .filter(|(at, _)| constants[*at].strategies.iter().any(|of| of == strategy));
        // The numbers below are those of a study of the same experiment.
        let next = self.numbers.len() as u32 + 1;
        (*self.numbers.entry(key(own)).or_insert(next), place)
    }

    fn simulate(
        &mut self,
        batch: &[Wanted<'_>],
        replicates: &Range<u32>,
    ) -> Result<Vec<(SampleId, Vec<RunRow>)>, StudyError> {
        let experiments = in_order(batch.len(), |at| Ok(self.varied.at(batch[at].0)?))?;
        let samples = batch
            .iter()
            .zip(&experiments)
            .flat_map(|((_, ids), of)| ids.iter().map(move |id| (*id, of)));
        let jobs: Vec<(SampleId, &Experiment, u32)> = samples
            .flat_map(|(id, of)| replicates.clone().map(move |replicate| (id, of, replicate)))
            .collect();
        let rows = in_order(jobs.len(), |job| {
            let ((number, place), experiment, replicate) = jobs[job];
            let id = (
                number * self.variants.len() as u32 + place as u32,
                replicate,
            );
            let row = row_of(
                experiment,
                self.variants[place],
                replicate,
                (self.journal, id),
            )?;
            (self.run_done)();
            Ok(row)
        })?;
        self.runs += jobs.len() as u64;
        let mut rows = rows.into_iter();
        let mut runs_of = |id: &SampleId| (*id, rows.by_ref().take(replicates.len()).collect());
        Ok(batch
            .iter()
            .flat_map(|(_, ids)| ids)
            .map(&mut runs_of)
            .collect())
    }
}

fn key<'l>(levels: impl Iterator<Item = &'l (usize, Level)>) -> SampleKey {
    let bits = |(at, level): &(usize, Level)| match level {
        Level::Toward(share) => (*at, true, share.to_bits()),
        Level::Quantile(share) => (*at, false, share.to_bits()),
    };
    levels.map(bits).collect()
}
