//! A race finds the fastest candidate that meets all limits with few runs.
//!
//! Every candidate runs once. Further runs go where they help to decide:
//!
//! 1. A candidate that demonstrably exceeds a limit is out. For a limit on every run, one run that exceeds it is proof.
//!    For a quantile, the test is binomial on the number of runs that exceed it; for a mean or a median, Student's t on
//!    the excess.
//! 2. The leader, the fastest of the rest over common replicates, runs until it has met all limits in `confirm` runs, in
//!    doubling steps. So a candidate that exceeds a limit occasionally is out before the others are compared with it.
//! 3. The others run in growing steps until each is slower than the leader, or not faster by more than the zone of
//!    indifference: Student's t on the paired differences over the same replicates, with the same random numbers.
//!
//! No decision is final: all follow from the runs so far. A candidate that was slower than a former leader, which then
//! exceeded a limit, is in the race again.
//!
//! The guarantee, with probability `confidence`: no slower candidate beats the fastest one. For that, the fastest must
//! never appear slower than another one, nor appear to exceed a limit that it meets, at any look. The error is split
//! in halves for both, and then over the others, the limits, and the looks ([`super::bounds`]). Differences of single
//! replicates are taken as normal. The mean difference stands for that of the objective's statistic, whose order must
//! agree.
//!
//! Not assumed: that a larger setting is faster, or has a higher load. Such an assumption would save runs, but hide
//! the worlds in which it is wrong. The cost of not assuming it is one run of every candidate.

use super::bounds::{at_least, mean_range, share_at_least, share_of_look};
use crate::results::{CandidateStatus, Statistic};

/// The parameters of a race.
#[derive(Clone, Debug)]
pub struct RaceRules {
    /// For each limit, the statistic of the excess that must be at most 0.
    pub demands: Vec<Statistic>,
    /// The statistic of the times to minimise.
    pub fastest: Statistic,
    /// Confidence of the answer, between 0 and 1.
    pub confidence: f64,
    /// Times that differ by less than this share of the leader's count as equal.
    pub indifference: f64,
    /// Runs in which the winner must have met the limits; unused without limits.
    pub confirm: usize,
    /// Maximum number of runs per candidate.
    pub most: usize,
}

/// One run of a candidate, as the race sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The time to minimise; infinite if the run did not finish.
    pub time: f64,
    /// For each limit, by how much the run exceeds it; at most 0 if it meets the limit.
    pub excess: Vec<f64>,
}

/// Smallest standard deviation of a paired difference, as a share of the leader's time: three equal differences of
/// quantised times prove little. A guess that costs at most one more run.
const LEAST_SD: f64 = 0.001;
/// The first comparison: with two differences, Student's t is too wide.
const FIRST_LOOK: usize = 3;

/// The numbers of runs at which candidates are compared: 3, 4, 5, 6, 8, 10, 13, …, by a quarter more each time.
fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST_LOOK), |runs| Some(runs + (runs / 4).max(1)))
}

/// A race in progress.
#[derive(Clone, Debug)]
pub struct Race {
    rules: RaceRules,
    runs: Vec<Vec<Sample>>,
}

impl Race {
    /// A race of candidates without runs.
    #[must_use]
    pub fn new(candidates: usize, rules: RaceRules) -> Self {
        Self { rules, runs: vec![Vec::new(); candidates] }
    }

    /// Adds the next replicate of a candidate.
    pub fn add(&mut self, candidate: usize, sample: Sample) {
        self.runs[candidate].push(sample);
    }

    /// The replicates that a candidate has.
    #[must_use]
    pub fn runs(&self, candidate: usize) -> usize {
        self.runs[candidate].len()
    }

    /// The candidates that run next, each with its new number of replicates; empty when the race is over.
    #[must_use]
    pub fn next(&self) -> Vec<(usize, usize)> {
        let new: Vec<(usize, usize)> =
            (0..self.runs.len()).filter(|&at| self.runs[at].is_empty()).map(|at| (at, 1)).collect();
        if !new.is_empty() {
            return new;
        }
        let states = self.states();
        let Some(leader) = states.iter().position(|state| *state == CandidateStatus::Best) else { return new };
        let have = self.runs(leader);
        let confirm = if self.rules.demands.is_empty() { 1 } else { self.rules.confirm.min(self.rules.most) };
        if have < confirm {
            return vec![(leader, (2 * have).min(confirm))];
        }
        if !self.seems_to_keep(leader) && have < self.rules.most {
            return vec![(leader, self.after(have))];
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut pairs = have;
        for (at, state) in states.iter().enumerate() {
            // Pairs need both: a leader with fewer runs catches up first.
            if *state == CandidateStatus::Undecided && self.runs(at).min(have) < self.rules.most {
                let next = self.after(self.runs(at).min(have));
                pairs = pairs.max(next);
                if next > self.runs(at) {
                    wanted.push((at, next));
                }
            }
        }
        if pairs > have {
            wanted.push((leader, pairs));
        }
        wanted
    }

    /// The state of each candidate; all of them have run.
    ///
    /// # Panics
    /// When a candidate has not run.
    #[must_use]
    pub fn states(&self) -> Vec<CandidateStatus> {
        let out: Vec<Option<CandidateStatus>> = (0..self.runs.len()).map(|at| self.out(at)).collect();
        let Some(leader) = self.leader(&out) else {
            return out.into_iter().map(|out| out.expect("without a leader all are out")).collect();
        };
        let state = |(at, out): (usize, Option<CandidateStatus>)| match out {
            Some(out) => out,
            None if at == leader => CandidateStatus::Best,
            None => self.compared(leader, at),
        };
        out.into_iter().enumerate().map(state).collect()
    }

    /// Number of runs in which a candidate met all limits, number of its runs, and the lower confidence bound of the
    /// share of all runs that do. The error is split over the candidates, as any of them might meet the limits by
    /// chance.
    #[must_use]
    pub fn kept(&self, candidate: usize) -> (usize, usize, f64) {
        let runs = &self.runs[candidate];
        let keeps = |run: &&Sample| run.time.is_finite() && run.excess.iter().all(|excess| *excess <= 0.0);
        let kept = runs.iter().filter(keeps).count();
        let error = (1.0 - self.rules.confidence) / self.runs.len() as f64;
        (kept, runs.len(), share_at_least(kept, runs.len(), error))
    }

    /// Whether a candidate met all limits in the required number of runs.
    #[must_use]
    pub fn is_confirmed(&self, candidate: usize) -> bool {
        let enough = self.rules.demands.is_empty() || self.runs(candidate) >= self.rules.confirm.min(self.rules.most);
        enough && self.seems_to_keep(candidate)
    }

    /// The candidate with the smallest share of unfinished runs, then with the smallest sum of relative excesses.
    #[must_use]
    pub fn closest(&self, scales: &[f64]) -> Option<usize> {
        let distance = |at: usize| {
            let unfinished = self.runs[at].iter().filter(|run| run.time.is_infinite()).count();
            let beyond = |limit: usize| {
                let excess: Vec<f64> = self.runs[at].iter().map(|run| run.excess[limit]).collect();
                (self.rules.demands[limit].of(&excess) / scales[limit]).max(0.0)
            };
            let sum: f64 = (0..self.rules.demands.len()).map(beyond).sum();
            (unfinished as f64 / self.runs[at].len() as f64, sum)
        };
        (0..self.runs.len()).filter(|&at| !self.runs[at].is_empty()).min_by(|&a, &b| {
            let ((a, sum_a), (b, sum_b)) = (distance(a), distance(b));
            a.total_cmp(&b).then(sum_a.total_cmp(&sum_b))
        })
    }

    /// Mean difference of a candidate's time to another's over common replicates, with its interval at the confidence
    /// of the race, for the reader and without correction for looks. `None` for fewer than two.
    #[must_use]
    pub fn difference(&self, base: usize, other: usize) -> Option<(f64, f64, f64)> {
        let differences = self.differences(base, other, self.runs(base).min(self.runs(other)));
        if differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let (low, high) = mean_range(&differences, (1.0 - self.rules.confidence) / 2.0, 0.0)?;
        Some((0.5 * (low + high), low, high))
    }

    fn after(&self, runs: usize) -> usize {
        looks().find(|look| *look > runs).expect("looks have no end").min(self.rules.most)
    }

    /// The fastest that is not out, by the statistic over common replicates; among equals, the first.
    fn leader(&self, out: &[Option<CandidateStatus>]) -> Option<usize> {
        let rest = (0..out.len()).filter(|&at| out[at].is_none());
        rest.reduce(|best, at| {
            let common = self.runs(best).min(self.runs(at));
            if self.time(at, common) < self.time(best, common) { at } else { best }
        })
    }

    fn time(&self, candidate: usize, runs: usize) -> f64 {
        let times: Vec<f64> = self.runs[candidate][..runs].iter().map(|run| run.time).collect();
        self.rules.fastest.of(&times)
    }

    /// Whether the runs so far meet all limits.
    fn seems_to_keep(&self, candidate: usize) -> bool {
        let runs = &self.runs[candidate];
        (0..self.rules.demands.len()).all(|limit| {
            let excess: Vec<f64> = runs.iter().map(|run| run.excess[limit]).collect();
            self.rules.demands[limit].of(&excess) <= 0.0
        })
    }

    /// Why a candidate is out. `None`: it is not.
    fn out(&self, candidate: usize) -> Option<CandidateStatus> {
        let runs = &self.runs[candidate];
        assert!(!runs.is_empty(), "every candidate runs once before it is judged");
        if runs.iter().any(|run| run.time.is_infinite()) {
            return Some(CandidateStatus::Unfinished);
        }
        self.broken(candidate).map(|_| CandidateStatus::Breaks)
    }

    /// The first limit that a candidate exceeds, demonstrably or in its last run.
    #[must_use]
    pub fn broken(&self, candidate: usize) -> Option<usize> {
        let runs = &self.runs[candidate];
        let statistical = self.rules.demands.iter().filter(|demand| **demand != Statistic::Every).count();
        // Half of the error, split over the limits.
        let error = (1.0 - self.rules.confidence) / 2.0 / statistical.max(1) as f64;
        let is_last_word = runs.len() >= self.rules.most;
        (0..self.rules.demands.len()).find(|&limit| {
            let excess: Vec<f64> = runs.iter().map(|run| run.excess[limit]).collect();
            let demand = self.rules.demands[limit];
            surely_beyond(demand, &excess, error) || (is_last_word && demand.of(&excess) > 0.0)
        })
    }

    fn differences(&self, base: usize, other: usize, pairs: usize) -> Vec<f64> {
        let (base, other) = (&self.runs[base][..pairs], &self.runs[other][..pairs]);
        base.iter().zip(other).map(|(base, other)| other.time - base.time).collect()
    }

    /// Compares a candidate with the leader. All runs of both finished.
    fn compared(&self, leader: usize, other: usize) -> CandidateStatus {
        let has_statistical = self.rules.demands.iter().any(|demand| *demand != Statistic::Every);
        let error = (1.0 - self.rules.confidence) / if has_statistical { 2.0 } else { 1.0 };
        let error = error / (self.runs.len() - 1) as f64;
        let common = self.runs(leader).min(self.runs(other));
        let mut state = CandidateStatus::Undecided;
        for (look, pairs) in (1..).zip(looks().take_while(|pairs| *pairs <= common)) {
            let time = self.time(leader, pairs);
            let differences = self.differences(leader, other, pairs);
            let low =
                mean_range(&differences, error * share_of_look(look), LEAST_SD * time).map_or(0.0, |range| range.0);
            let by = self.time(other, pairs) - time;
            let zone = self.rules.indifference * time;
            if low > 0.0 && by > 0.0 {
                return CandidateStatus::Slower;
            }
            if low > -zone && by > -zone {
                state = CandidateStatus::Equal;
            }
        }
        state
    }
}

/// Whether these excesses show that the statistic of all runs is greater than 0. Wrong with probability at most
/// `error` over all looks.
fn surely_beyond(demand: Statistic, excess: &[f64], error: f64) -> bool {
    let beyond = excess.iter().filter(|excess| **excess > 0.0).count();
    match demand {
        Statistic::Every => beyond > 0,
        _ if beyond == 0 => false,
        // Finite values cannot compensate an infinite one.
        Statistic::Mean if excess.contains(&f64::INFINITY) => true,
        Statistic::Mean => student(excess, error),
        Statistic::Quantile(p) => {
            let is_median = (p - 0.5).abs() < 1e-9;
            let finite = excess.iter().all(|excess| excess.is_finite());
            let counted = (1..=excess.len()).any(|runs| {
                let beyond = excess[..runs].iter().filter(|excess| **excess > 0.0).count();
                at_least(beyond, runs, 1.0 - p) <= error * share_of_look(runs)
            });
            counted || (is_median && finite && student(excess, error))
        }
    }
}

/// Student's t of the mean at the looks of the race. Equal values, which are common for counts, do not show their
/// spread.
fn student(excess: &[f64], error: f64) -> bool {
    (1..).zip(looks().take_while(|runs| *runs <= excess.len())).any(|(look, runs)| {
        let differ = excess[..runs].iter().any(|other| (other - excess[0]).abs() > 0.0);
        differ && mean_range(&excess[..runs], error * share_of_look(look), 0.0).is_some_and(|(low, _)| low > 0.0)
    })
}
