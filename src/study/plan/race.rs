//! A race finds the best candidate that meets all limits with few runs.
//!
//! Every candidate runs once. Further runs go where they help to decide:
//!
//! 1. A candidate that demonstrably exceeds a limit is out. For a limit on every run, one run that exceeds it is proof.
//!    A mean or a quantile is judged from ten runs on.
//! 2. The others run ten times, the fewest for a comparison.
//! 3. The leader, the best of the rest over common replicates, runs until it has met all limits in `confirm` runs, in
//!    doubling steps, and until its runs show that it meets the limits on means and quantiles. So a candidate that
//!    exceeds a limit occasionally is out before the others are compared with it.
//! 4. The leader runs until its objective has an upper bound, and the others in growing steps until each is worse than
//!    the leader, or not better by more than the zone of indifference.
//!
//! No decision is final: all follow from the runs so far. A candidate that was worse than a former leader, which then
//! exceeded a limit, is in the race again.
//!
//! The guarantee, with probability `confidence`: no worse candidate beats the best one. For that, the best must never
//! appear worse than another one, nor appear to exceed a limit that it meets, at any look. With limits on means or
//! quantiles, each has half of the error. A comparison is decided by the bounds of both objectives, or by the paired
//! runs, each with half of its error. Only the lower bound of the best can exclude it, so lower bounds have half of an
//! error each; upper bounds and pairs are as many as the others, who share the other half. [`super::bounds`] and
//! [`super::means`] describe the bounds. They assume no distribution.
//!
//! Where the objective is a setting, its values need no runs. The best value that meets all limits is the answer.
//!
//! Not assumed: that a larger setting is faster, or has a higher load. Such an assumption would save runs, but hide
//! the worlds in which it is wrong. The cost of not assuming it is one run of every candidate.

use super::bounds::{
    FIRST_LOOK, QuantileRanks, is_greater_in_pairs, look_from, looks_to, paired_ranks,
    share_at_least,
};
use super::means;
use crate::results::{CandidateStatus, Estimate, Statistic, WithinLimits};
use crate::stats::in_turn;

/// Runs of a candidate by default, beyond those of the experiment, up to which a bound of a limit is waited for: enough
/// for a 99th percentile.
const MOST_FOR_LIMITS: usize = 1_000;
/// The same for a comparison.
const MOST_FOR_COMPARISONS: usize = 215;

/// The parameters of a race.
#[derive(Clone, Debug)]
pub struct RaceRules {
    /// For each limit, the statistic of the excess that must be at most 0.
    pub demands: Vec<Statistic>,
    /// The statistic of the values to minimise.
    pub objective: Statistic,
    /// Confidence of the answer, between 0 and 1.
    pub confidence: f64,
    /// Values that differ by less than this share of the leader's count as equal.
    pub indifference: f64,
    /// Runs in which the winner must have met the limits; unused without limits.
    pub confirm: usize,
    /// Maximum number of runs per candidate.
    pub most: usize,
    /// The same for comparisons; the rest is for showing that the leader meets the limits.
    pub most_compared: usize,
}

impl RaceRules {
    /// The number of runs after which the objective can have the bound that an answer needs, among so many candidates,
    /// and the same for all limits.
    #[must_use]
    pub fn runs_for_bounds(&self, candidates: usize) -> (usize, usize) {
        let errors = Errors::of(self, candidates);
        let needed = |over: Statistic, error: f64, most: usize| match over {
            Statistic::Every => FIRST_LOOK,
            Statistic::Mean => look_from(means::runs_to_see(error / 2.0)).min(most),
            Statistic::Quantile(p) => QuantileRanks::new(p, error, error, most)
                .first_upper()
                .unwrap_or(most),
        };
        let limits = self
            .demands
            .iter()
            .map(|&demand| needed(demand, errors.confirm, MOST_FOR_LIMITS))
            .max();
        (
            needed(self.objective, errors.high, MOST_FOR_COMPARISONS),
            limits.unwrap_or(0),
        )
    }
}

/// One run of a candidate, as the race sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The value to minimise; infinite if the run did not finish.
    pub value: f64,
    /// For each limit, by how much the run exceeds it; at most 0 if it meets the limit.
    pub excess: Vec<f64>,
}

/// The split of the probability of error.
#[derive(Clone, Copy, Debug)]
struct Errors {
    /// Of each lower bound of an objective.
    low: f64,
    /// Of each upper bound.
    high: f64,
    /// Of each comparison of pairs.
    paired: f64,
    /// That a candidate seems to exceed a limit, for each limit on a mean or a quantile.
    exclude: f64,
    /// That a candidate seems to meet a limit, for each of them and each candidate.
    confirm: f64,
}

impl Errors {
    fn of(rules: &RaceRules, candidates: usize) -> Self {
        let whole = 1.0 - rules.confidence;
        let statistical = rules
            .demands
            .iter()
            .filter(|demand| **demand != Statistic::Every)
            .count();
        let others = candidates.saturating_sub(1).max(1) as f64;
        let compare = if statistical > 0 { whole / 2.0 } else { whole };
        Self {
            low: compare / 4.0,
            high: compare / 4.0 / others,
            paired: compare / 2.0 / others,
            exclude: whole / 2.0 / statistical.max(1) as f64,
            confirm: whole / candidates as f64 / statistical.max(1) as f64,
        }
    }
}

/// A race in progress.
#[derive(Clone, Debug)]
pub struct Race {
    rules: RaceRules,
    errors: Errors,
    /// All candidates that may take part, over which the error is split.
    candidates: usize,
    /// Whether settings with the same runs are equal: of many combinations, some differ in what never matters.
    same_is_equal: bool,
    runs: Vec<Vec<Sample>>,
    /// Ranks of the objective's bounds. `None`: it is a mean, or a setting.
    ranks: Option<QuantileRanks>,
    /// Those for comparing its pairs.
    paired_ranks: Option<QuantileRanks>,
    /// The same for each limit.
    limit_ranks: Vec<Option<QuantileRanks>>,
    /// Lower and upper bound of each candidate's objective, from its looks so far.
    bounds: Vec<(f64, f64)>,
    /// The values of the setting to minimise. `None`: the objective is a measure.
    settings: Option<Vec<f64>>,
}

impl Race {
    /// A race before any of its candidates has entered. With `same_is_equal`, settings count as equal whose runs are
    /// the same in every one of at least ten replicates.
    #[must_use]
    pub fn new(candidates: usize, same_is_equal: bool, rules: RaceRules) -> Self {
        let errors = Errors::of(&rules, candidates);
        let ranks = |over: Statistic, low: f64, high: f64| match over {
            Statistic::Quantile(p) => Some(QuantileRanks::new(p, low, high, rules.most)),
            Statistic::Every | Statistic::Mean => None,
        };
        Self {
            errors,
            candidates,
            same_is_equal,
            runs: Vec::new(),
            ranks: ranks(rules.objective, errors.low, errors.high),
            paired_ranks: match rules.objective {
                Statistic::Quantile(p) => Some(paired_ranks(p, errors.paired, rules.most)),
                Statistic::Every | Statistic::Mean => None,
            },
            limit_ranks: rules
                .demands
                .iter()
                .map(|&over| ranks(over, errors.exclude, errors.confirm))
                .collect(),
            bounds: Vec::new(),
            settings: Some(Vec::new()),
            rules,
        }
    }

    /// Adds a candidate, with the value of the setting to minimise. `None`: the objective is a measure.
    pub fn enter(&mut self, setting: Option<f64>) {
        self.runs.push(Vec::new());
        self.bounds.push((f64::NEG_INFINITY, f64::INFINITY));
        match (&mut self.settings, setting) {
            (Some(settings), Some(setting)) => settings.push(setting),
            _ => self.settings = None,
        }
    }

    /// Adds the next replicate of a candidate.
    pub fn add(&mut self, candidate: usize, sample: Sample) {
        self.runs[candidate].push(sample);
        let runs = self.runs(candidate);
        if self.settings.is_none() && looks_to(self.rules.most).any(|look| look == runs) {
            let values = self.values(candidate, runs);
            self.bounds[candidate] = match &self.ranks {
                Some(ranks) => ranks.bounds(&values),
                None => (
                    means::lower(&values, self.errors.low),
                    means::upper(&values, self.errors.high),
                ),
            };
        }
    }

    /// The replicates that a candidate has.
    #[must_use]
    pub fn runs(&self, candidate: usize) -> usize {
        self.runs[candidate].len()
    }

    /// The number of limits.
    #[cfg(test)]
    pub(super) const fn limits(&self) -> usize {
        self.rules.demands.len()
    }

    /// The candidates that run next, each with its new number of replicates; empty when the race is over.
    #[must_use]
    pub fn next(&self) -> Vec<(usize, usize)> {
        let below = |runs: usize, of: &[usize]| -> Vec<(usize, usize)> {
            of.iter()
                .filter(|&&at| self.runs(at) < runs)
                .map(|&at| (at, runs.min(self.rules.most)))
                .collect()
        };
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let new = below(1, &all);
        if !new.is_empty() {
            return new;
        }
        let states = self.states();
        let Some(leader) = states
            .iter()
            .position(|state| *state == CandidateStatus::Best)
        else {
            return new;
        };
        let rest: Vec<usize> = all
            .into_iter()
            .filter(|&at| self.out(at).is_none())
            .collect();
        if rest.len() > 1 && self.settings.is_none() {
            for few in [3, FIRST_LOOK] {
                let wanted = below(few.min(self.rules.most), &rest);
                if !wanted.is_empty() {
                    return wanted;
                }
            }
        }
        let have = self.runs(leader);
        let confirm = if self.rules.demands.is_empty() {
            1
        } else {
            self.rules.confirm.min(self.rules.most)
        };
        if have < confirm {
            return vec![(leader, (2 * have).min(confirm))];
        }
        let is_pending =
            |at: &usize| states[*at] == CandidateStatus::Undecided && self.out(*at).is_none();
        let pending: Vec<usize> = rest.into_iter().filter(is_pending).collect();
        let needs_bound = !pending.is_empty() && self.bounds[leader].1.is_infinite();
        let may_compare = have < self.rules.most_compared;
        if have < self.rules.most
            && (self.unshown(leader).is_some() || (needs_bound && may_compare))
        {
            return vec![(leader, self.after(have))];
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut pairs = have;
        for at in pending {
            // Pairs need both: a leader with fewer runs catches up.
            let next = self
                .after(self.runs(at).min(have))
                .min(self.rules.most_compared);
            pairs = pairs.max(next);
            if next > self.runs(at) {
                wanted.push((at, next));
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
        let out: Vec<Option<CandidateStatus>> =
            (0..self.runs.len()).map(|at| self.out(at)).collect();
        let Some(leader) = self.leader(&out) else {
            return out
                .into_iter()
                .map(|out| out.expect("without a leader all are out"))
                .collect();
        };
        let state = |(at, out): (usize, Option<CandidateStatus>)| match out {
            Some(CandidateStatus::Undecided) => match self.compared(leader, at) {
                // A limit that it may exceed does not matter for what is worse than the leader.
                CandidateStatus::Slower => CandidateStatus::Slower,
                _ => CandidateStatus::Undecided,
            },
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
    pub fn kept(&self, candidate: usize) -> WithinLimits {
        let runs = &self.runs[candidate];
        let keeps =
            |run: &&Sample| run.value.is_finite() && run.excess.iter().all(|excess| *excess <= 0.0);
        let kept = runs.iter().filter(keeps).count();
        let error = (1.0 - self.rules.confidence) / self.candidates as f64;
        // A limit on every run ends with the first run that exceeds it, so n of n runs are a single look.
        let looks = looks_to(self.rules.most)
            .filter(|look| *look <= runs.len())
            .count()
            .max(1) as f64;
        let error = if kept == runs.len() {
            error
        } else {
            error / (looks * (looks + 1.0))
        };
        let share_at_least = share_at_least(kept, runs.len(), error);
        WithinLimits {
            kept: kept as u64,
            runs: runs.len() as u64,
            share_at_least,
        }
    }

    /// Whether a candidate met all limits in the required number of runs, and is shown to meet those on means and
    /// quantiles.
    #[must_use]
    pub fn is_confirmed(&self, candidate: usize) -> bool {
        let enough = self.rules.demands.is_empty() || self.runs(candidate) >= self.rules.confirm;
        enough && self.unshown(candidate).is_none()
    }

    /// The candidate with the smallest share of unfinished runs, then with the smallest sum of relative excesses.
    #[must_use]
    pub fn closest(&self, scales: &[f64]) -> Option<usize> {
        let distance = |at: usize| {
            let unfinished = self.runs[at]
                .iter()
                .filter(|run| run.value.is_infinite())
                .count();
            let beyond = |limit: usize| {
                (self.rules.demands[limit].of(&self.excess(at, limit)) / scales[limit]).max(0.0)
            };
            let sum: f64 = (0..self.rules.demands.len()).map(beyond).sum();
            [unfinished as f64 / self.runs[at].len() as f64, sum]
        };
        let with_runs = (0..self.runs.len()).filter(|&at| !self.runs[at].is_empty());
        with_runs.min_by(|&a, &b| in_turn(distance(a), distance(b)))
    }

    /// Difference of a candidate's objective from another's over common replicates, with the least and the greatest
    /// difference of a replicate. `None` for an unfinished run, and where the objective is a setting.
    #[must_use]
    pub fn difference(&self, base: usize, other: usize) -> Option<Estimate> {
        let pairs = self.runs(base).min(self.runs(other));
        let (base, other) = (self.values(base, pairs), self.values(other, pairs));
        let differences = || base.iter().zip(&other).map(|(base, other)| other - base);
        if self.settings.is_some()
            || pairs == 0
            || differences().any(|difference| !difference.is_finite())
        {
            return None;
        }
        let value = self.rules.objective.of(&other) - self.rules.objective.of(&base);
        Some(Estimate {
            value,
            low: differences().fold(value, f64::min),
            high: differences().fold(value, f64::max),
        })
    }

    /// The first limit that a candidate demonstrably exceeds.
    #[must_use]
    pub fn broken(&self, candidate: usize) -> Option<usize> {
        (0..self.rules.demands.len()).find(|&limit| {
            let excess = self.excess(candidate, limit);
            match (self.rules.demands[limit], &self.limit_ranks[limit]) {
                (Statistic::Every, _) => excess.iter().any(|excess| *excess > 0.0),
                // Finite values cannot compensate an infinite one.
                (Statistic::Mean, _) if excess.contains(&f64::INFINITY) => true,
                (_, Some(ranks)) => ranks.bounds(&excess).0 > 0.0,
                (_, None) => means::is_above_zero(&excess, excess[0], self.errors.exclude),
            }
        })
    }

    /// The first limit that a candidate is not shown to meet. A limit on every run is met as long as no run exceeds it.
    #[must_use]
    pub fn unshown(&self, candidate: usize) -> Option<usize> {
        (0..self.rules.demands.len()).find(|&limit| {
            let excess = self.excess(candidate, limit);
            let is_shown = match (self.rules.demands[limit], &self.limit_ranks[limit]) {
                (Statistic::Every, _) => excess.iter().all(|excess| *excess <= 0.0),
                (_, Some(ranks)) => ranks.bounds(&excess).1 <= 0.0,
                (_, None) => {
                    let room: Vec<f64> = excess.iter().map(|excess| -excess).collect();
                    let never = room.iter().all(|room| *room >= 0.0);
                    (never && room.len() >= means::runs_to_see(self.errors.confirm))
                        || means::is_above_zero(&room, room[0], self.errors.confirm)
                }
            };
            !is_shown
        })
    }

    fn after(&self, runs: usize) -> usize {
        look_from(runs + 1).min(self.rules.most)
    }

    /// The best that is not out, by the statistic over common replicates; among equals, the first.
    fn leader(&self, out: &[Option<CandidateStatus>]) -> Option<usize> {
        let rest = (0..out.len()).filter(|&at| out[at].is_none());
        rest.reduce(|best, at| {
            let common = self.runs(best).min(self.runs(at));
            if self.objective(at, common) < self.objective(best, common) {
                at
            } else {
                best
            }
        })
    }

    fn objective(&self, candidate: usize, runs: usize) -> f64 {
        match &self.settings {
            Some(values) => values[candidate],
            None => self.rules.objective.of(&self.values(candidate, runs)),
        }
    }

    fn values(&self, candidate: usize, runs: usize) -> Vec<f64> {
        self.runs[candidate][..runs]
            .iter()
            .map(|run| run.value)
            .collect()
    }

    fn excess(&self, candidate: usize, limit: usize) -> Vec<f64> {
        self.runs[candidate]
            .iter()
            .map(|run| run.excess[limit])
            .collect()
    }

    /// Why a candidate is out. `None`: it is not. Undecided: it has all its runs, and they do not show that it meets
    /// the limits, although another candidate might.
    fn out(&self, candidate: usize) -> Option<CandidateStatus> {
        let runs = &self.runs[candidate];
        assert!(
            !runs.is_empty(),
            "every candidate runs once before it is judged"
        );
        if runs.iter().any(|run| run.value.is_infinite()) {
            return Some(CandidateStatus::Unfinished);
        }
        if self.broken(candidate).is_some() {
            return Some(CandidateStatus::Breaks);
        }
        let is_last_word = runs.len() >= self.rules.most;
        (is_last_word && self.unshown(candidate).is_some()).then_some(CandidateStatus::Undecided)
    }

    /// True if the pairs show that `other` is greater.
    fn is_greater(&self, base: &[f64], other: &[f64]) -> bool {
        match &self.paired_ranks {
            Some(ranks) => is_greater_in_pairs(base, other, ranks, self.errors.paired),
            None => means::is_greater_in_pairs(base, other, self.errors.paired),
        }
    }

    /// Compares a candidate with the leader. All runs of both finished.
    fn compared(&self, leader: usize, other: usize) -> CandidateStatus {
        if let Some(values) = &self.settings {
            return if values[other] > values[leader] {
                CandidateStatus::Slower
            } else {
                CandidateStatus::Equal
            };
        }
        let within = 1.0 - self.rules.indifference;
        let (low, high) = (self.bounds[other].0, self.bounds[leader].1);
        if low > high {
            return CandidateStatus::Slower;
        }
        if high.is_finite() && low >= high * within {
            return CandidateStatus::Equal;
        }
        let pairs = self.runs(leader).min(self.runs(other));
        if pairs < FIRST_LOOK {
            return CandidateStatus::Undecided;
        }
        let (base, other) = (self.values(leader, pairs), self.values(other, pairs));
        if self.same_is_equal && base == other {
            return CandidateStatus::Equal;
        }
        let is_greater = |scale: f64| {
            self.is_greater(
                &base,
                &other.iter().map(|value| value / scale).collect::<Vec<_>>(),
            )
        };
        match (
            is_greater(1.0),
            self.rules.indifference > 0.0 && is_greater(within),
        ) {
            (true, _) => CandidateStatus::Slower,
            (false, true) => CandidateStatus::Equal,
            (false, false) => CandidateStatus::Undecided,
        }
    }
}
