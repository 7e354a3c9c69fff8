//! A race that finds the best candidate that meets all limits, with few runs.
//!
//! Every candidate runs once. Further runs are used where they help to decide:
//!
//! 1. A candidate that demonstrably exceeds a limit is excluded. For a limit on every run, a single run that exceeds
//!    it is proof. Means and quantiles are evaluated after at least ten runs.
//! 2. The others run ten times, the minimum for a comparison.
//! 3. The leader is the best remaining candidate over common replicates. It runs in doubling steps until it has met
//!    all limits in `confirm` runs and its runs show that it meets the limits on means and quantiles. A candidate that
//!    occasionally exceeds a limit is therefore excluded before others are compared with it.
//! 4. The leader runs until its objective has an upper bound, and the others run in growing steps until each is worse
//!    than the leader, or not better by more than the zone of indifference.
//!
//! No decision is final: all decisions follow from the runs so far. A candidate that was worse than a former leader
//! returns to the race if that leader later exceeds a limit.
//!
//! The race guarantees, with a probability of `confidence`, that no worse candidate beats the best one. For this, the
//! best candidate must not, at any look, appear worse than another one or appear to exceed a limit that it meets. With
//! limits on means or quantiles, each of these two conditions gets half of the error. A comparison is decided by the
//! bounds of both objectives or by the paired runs, each with half of the comparison's error. Only the lower bound of
//! the best candidate can exclude it, so each lower bound gets half of the error for bounds. There are as many upper
//! bounds and pairs as other candidates, so these share the other half. [`super::bounds`] and [`super::means`]
//! describe the bounds. They assume no distribution.
//!
//! A candidate that leaves more targets behind than another one that meets the limits is excluded
//! ([`super::leftovers`]).
//!
//! If the objective is a setting, its values need no runs. The best value that meets all limits is the answer.
//!
//! The race does not assume that a larger setting is faster or causes a higher load. Such an assumption would save
//! runs, but would hide the worlds in which it is wrong. Without it, every candidate needs at least one run.

use super::bounds::{
    Bounds, FIRST_LOOK, QuantileRanks, is_greater_in_pairs, look_from, looks_to, paired_ranks,
    share_at_least,
};
use super::means;
use crate::results::{CandidateStatus, Estimate, Statistic, WithinLimits};
use crate::stats::in_turn;

/// Default maximum number of runs of a candidate for the bound of a limit, if the experiment has fewer runs. It is
/// sufficient for a 99th percentile.
const MOST_FOR_LIMITS: usize = 1_000;
/// Default maximum number of runs of a candidate for the bound of a comparison, if the experiment has fewer runs.
const MOST_FOR_COMPARISONS: usize = 215;

/// The parameters of a race.
#[derive(Clone, Debug)]
pub struct RaceRules {
    /// For each limit, the statistic of the runs' excess that must be at most 0.
    pub demands: Vec<Statistic>,
    /// The statistic of the values to minimise.
    pub objective: Statistic,
    /// Confidence of the answer, between 0 and 1.
    pub confidence: f64,
    /// Values that differ from the leader's by less than this share of it count as equal.
    pub indifference: f64,
    /// Number of runs in which the winner must have met the limits. Unused without limits.
    pub confirm: usize,
    /// Maximum number of runs per candidate.
    pub most: usize,
    /// Maximum number of runs for comparisons. Further runs only show that the leader meets the limits.
    pub most_compared: usize,
}

/// The numbers of runs after which the bounds for an answer can exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsForBounds {
    /// The number of runs for the objective's bound that a comparison needs.
    pub objective: usize,
    /// The number of runs for the bounds of all limits. 0 without limits.
    pub limits: usize,
}

impl RaceRules {
    /// Returns the numbers of runs after which the objective and the limits can have the bounds that are needed to
    /// choose among this many candidates.
    #[must_use]
    pub fn runs_for_bounds(&self, candidates: usize) -> RunsForBounds {
        let errors = Errors::of(self, candidates);
        let mut limits = 0;
        for &demand in &self.demands {
            limits = limits.max(runs_for_bound(demand, errors.confirm, MOST_FOR_LIMITS));
        }
        RunsForBounds {
            objective: runs_for_bound(self.objective, errors.high, MOST_FOR_COMPARISONS),
            limits,
        }
    }
}

/// Returns the number of runs, at most `most`, at which a statistic can have an upper bound with this error.
fn runs_for_bound(over: Statistic, error: f64, most: usize) -> usize {
    match over {
        Statistic::Every => FIRST_LOOK,
        Statistic::Mean => look_from(means::runs_to_see(error / 2.0)).min(most),
        Statistic::Quantile(p) => QuantileRanks::new(p, error, error, most)
            .first_upper()
            .unwrap_or(most),
    }
}

/// One run of a candidate, reduced to the values that the race needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The value to minimise. Infinite if the run did not finish.
    pub value: f64,
    /// For each limit, by how much the run exceeds it. At most 0 if the run meets the limit.
    pub excess: Vec<f64>,
    /// The targets that the run leaves behind, beyond those that the experiment allows.
    pub left: u64,
}

impl Sample {
    /// Returns whether the run finished and meets all limits.
    fn meets_limits(&self) -> bool {
        self.value.is_finite() && self.excess.iter().all(|excess| *excess <= 0.0)
    }
}

/// A race's request for runs of one candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsWanted {
    /// The index of the candidate in the race.
    pub candidate: usize,
    /// The number of replicates that the candidate should have afterwards.
    pub up_to: usize,
}

/// How the error probability is divided.
#[derive(Clone, Copy, Debug)]
struct Errors {
    /// Error probability of each lower bound of an objective.
    low: f64,
    /// Error probability of each upper bound of an objective.
    high: f64,
    /// Error probability of each comparison of pairs.
    paired: f64,
    /// Error probability of wrongly finding a limit exceeded, for each limit on a mean or a quantile.
    exclude: f64,
    /// Error probability of wrongly finding a limit met, for each limit on a mean or a quantile and each candidate.
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
    /// The number of possible candidates, over which the error is divided.
    candidates: usize,
    /// Whether settings with the same runs are equal. Among many combinations, some differ only in settings without
    /// effect.
    same_is_equal: bool,
    runs: Vec<Vec<Sample>>,
    /// Ranks for the objective's bounds. `None`: the objective is a mean or a setting.
    ranks: Option<QuantileRanks>,
    /// Ranks for comparing pairs of the objective's values. `None`: the objective is a mean or a setting.
    paired_ranks: Option<QuantileRanks>,
    /// Ranks for each limit's bounds. `None`: the limit is not on a quantile.
    limit_ranks: Vec<Option<QuantileRanks>>,
    /// Bounds for each candidate's objective, from the candidate's looks so far.
    bounds: Vec<Bounds>,
    /// The values of the setting to minimise. `None`: the objective is a measure.
    settings: Option<Vec<f64>>,
}

impl Race {
    /// Creates a race without candidates. With `same_is_equal`, two settings count as equal if at least ten replicates
    /// of both are the same.
    #[must_use]
    pub fn new(candidates: usize, same_is_equal: bool, rules: RaceRules) -> Self {
        let errors = Errors::of(&rules, candidates);
        let most = rules.most;
        let paired_ranks = match rules.objective {
            Statistic::Quantile(p) => Some(paired_ranks(p, errors.paired, most)),
            Statistic::Every | Statistic::Mean => None,
        };
        let mut limit_ranks = Vec::new();
        for &demand in &rules.demands {
            limit_ranks.push(ranks(demand, errors.exclude, errors.confirm, most));
        }
        Self {
            errors,
            candidates,
            same_is_equal,
            runs: Vec::new(),
            ranks: ranks(rules.objective, errors.low, errors.high, most),
            paired_ranks,
            limit_ranks,
            bounds: Vec::new(),
            settings: Some(Vec::new()),
            rules,
        }
    }

    /// Adds a candidate with the value of its setting to minimise. `None`: the objective is a measure.
    pub fn enter(&mut self, setting: Option<f64>) {
        self.runs.push(Vec::new());
        self.bounds.push(Bounds::NONE);
        match (&mut self.settings, setting) {
            (Some(settings), Some(setting)) => settings.push(setting),
            _ => self.settings = None,
        }
    }

    /// Adds the next replicate of a candidate.
    pub fn add(&mut self, candidate: usize, sample: Sample) {
        self.runs[candidate].push(sample);
        let runs = self.runs(candidate);
        let is_look = looks_to(self.rules.most).any(|look| look == runs);
        if self.settings.is_some() || !is_look {
            return;
        }
        let values = self.values(candidate, runs);
        self.bounds[candidate] = match &self.ranks {
            Some(ranks) => ranks.bounds(&values),
            None => Bounds {
                low: means::lower(&values, self.errors.low),
                high: means::upper(&values, self.errors.high),
            },
        };
    }

    /// Returns the number of replicates that a candidate has.
    #[must_use]
    pub fn runs(&self, candidate: usize) -> usize {
        self.runs[candidate].len()
    }

    /// Returns the number of limits.
    #[cfg(test)]
    pub(super) const fn limits(&self) -> usize {
        self.rules.demands.len()
    }

    /// Returns the runs that candidates need next. Empty when the race is over.
    #[must_use]
    pub fn next(&self) -> Vec<RunsWanted> {
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let first_runs = self.wanted_below(1, &all);
        if !first_runs.is_empty() {
            return first_runs;
        }
        let states = self.states();
        let Some(leader) = leader_of(&states) else {
            return Vec::new();
        };
        let mut rest = all;
        rest.retain(|&at| self.out(at).is_none());
        if rest.len() > 1 && (self.settings.is_none() || self.leaves_differ(&rest)) {
            for few in [3, FIRST_LOOK] {
                let wanted = self.wanted_below(few.min(self.rules.most), &rest);
                if !wanted.is_empty() {
                    return wanted;
                }
            }
        }
        let mut pending = rest;
        pending.retain(|&at| states[at] == CandidateStatus::Undecided);
        match self.next_of_leader(leader, !pending.is_empty()) {
            Some(wanted) => vec![wanted],
            None => self.next_comparisons(leader, &pending),
        }
    }

    /// Returns requests for the candidates with fewer than `runs` replicates, to increase their number to `runs`.
    fn wanted_below(&self, runs: usize, candidates: &[usize]) -> Vec<RunsWanted> {
        let mut wanted = Vec::new();
        for &candidate in candidates {
            if self.runs(candidate) < runs {
                let up_to = runs.min(self.rules.most);
                wanted.push(RunsWanted { candidate, up_to });
            }
        }
        wanted
    }

    /// Returns the runs that the leader needs before others are compared with it: for confirming the limits, and for
    /// the upper bound of its objective. `is_compared`: whether any candidate is undecided.
    fn next_of_leader(&self, leader: usize, is_compared: bool) -> Option<RunsWanted> {
        let have = self.runs(leader);
        let confirm = if self.rules.demands.is_empty() {
            1
        } else {
            self.rules.confirm.min(self.rules.most)
        };
        if have < confirm {
            return Some(RunsWanted {
                candidate: leader,
                up_to: (2 * have).min(confirm),
            });
        }
        if have >= self.rules.most {
            return None;
        }
        let needs_bound = is_compared && self.bounds[leader].high.is_infinite();
        let may_compare = have < self.rules.most_compared;
        if self.unshown(leader).is_none() && !(needs_bound && may_compare) {
            return None;
        }
        Some(RunsWanted {
            candidate: leader,
            up_to: self.after(have),
        })
    }

    /// Returns further runs for the pending candidates, and the runs that the leader needs to form pairs with them.
    fn next_comparisons(&self, leader: usize, pending: &[usize]) -> Vec<RunsWanted> {
        let have = self.runs(leader);
        let mut wanted = Vec::new();
        let mut pairs = have;
        for &candidate in pending {
            // Pairs need runs of both candidates, so a leader with fewer runs catches up.
            let up_to = self
                .after(self.runs(candidate).min(have))
                .min(self.rules.most_compared);
            pairs = pairs.max(up_to);
            if up_to > self.runs(candidate) {
                wanted.push(RunsWanted { candidate, up_to });
            }
        }
        if pairs > have {
            wanted.push(RunsWanted {
                candidate: leader,
                up_to: pairs,
            });
        }
        wanted
    }

    /// Returns the state of each candidate. Every candidate must have at least one run.
    ///
    /// # Panics
    /// Panics if a candidate has no run.
    #[must_use]
    pub fn states(&self) -> Vec<CandidateStatus> {
        let mut out: Vec<Option<CandidateStatus>> =
            (0..self.runs.len()).map(|at| self.out(at)).collect();
        for candidate in self.leaving_more(&out) {
            out[candidate] = Some(CandidateStatus::Leaves);
        }
        let Some(leader) = self.leader(&out) else {
            return out
                .into_iter()
                .map(|out| out.expect("without a leader all are out"))
                .collect();
        };
        let mut states = Vec::new();
        for (candidate, out) in out.into_iter().enumerate() {
            states.push(self.state(candidate, out, leader));
        }
        states
    }

    /// Returns the state of a candidate in a race with this leader. `out`: the reason why the candidate is excluded,
    /// if it is.
    fn state(
        &self,
        candidate: usize,
        out: Option<CandidateStatus>,
        leader: usize,
    ) -> CandidateStatus {
        match out {
            // It does not matter whether the candidate exceeds a limit if it is worse than the leader.
            Some(CandidateStatus::Undecided)
                if self.compared(leader, candidate) == CandidateStatus::Slower =>
            {
                CandidateStatus::Slower
            }
            Some(out) => out,
            None if candidate == leader => CandidateStatus::Best,
            None => self.compared(leader, candidate),
        }
    }

    /// Returns the number of runs in which a candidate met all limits, the number of its runs, and the lower
    /// confidence bound for the share of all runs that meet them. The error is divided among the candidates, because
    /// any of them might meet the limits by chance.
    #[must_use]
    pub fn kept(&self, candidate: usize) -> WithinLimits {
        let runs = &self.runs[candidate];
        let kept = runs.iter().filter(|run| run.meets_limits()).count();
        let error = (1.0 - self.rules.confidence) / self.candidates as f64;
        // For a limit on every run, looking stops at the first run that exceeds it, so n of n runs count as a single
        // look.
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

    /// Returns whether a candidate met all limits in the required number of runs, and is shown to meet the limits on
    /// means and quantiles.
    #[must_use]
    pub fn is_confirmed(&self, candidate: usize) -> bool {
        let enough = self.rules.demands.is_empty() || self.runs(candidate) >= self.rules.confirm;
        enough && self.unshown(candidate).is_none()
    }

    /// Returns the candidate with the smallest share of unfinished runs and, among those, the smallest sum of relative
    /// excesses.
    #[must_use]
    pub fn closest(&self, scales: &[f64]) -> Option<usize> {
        let mut distances = Vec::new();
        for candidate in 0..self.runs.len() {
            if !self.runs[candidate].is_empty() {
                distances.push((candidate, self.distance(candidate, scales)));
            }
        }
        let (closest, _) = distances
            .into_iter()
            .min_by(|(_, a), (_, b)| in_turn(*a, *b))?;
        Some(closest)
    }

    /// Returns the number of unfinished runs of a candidate.
    fn unfinished(&self, candidate: usize) -> usize {
        let runs = self.runs[candidate].iter();
        runs.filter(|run| run.value.is_infinite()).count()
    }

    /// Returns the share of a candidate's unfinished runs, and the sum of its excesses relative to the limits' scales.
    fn distance(&self, candidate: usize, scales: &[f64]) -> [f64; 2] {
        let mut excesses = Vec::new();
        for (limit, demand) in self.rules.demands.iter().enumerate() {
            let excess = demand.of(&self.excess(candidate, limit));
            excesses.push((excess / scales[limit]).max(0.0));
        }
        [
            self.unfinished(candidate) as f64 / self.runs(candidate) as f64,
            excesses.iter().sum::<f64>(),
        ]
    }

    /// Returns the difference between the objectives of two candidates over common replicates, with the minimum and
    /// maximum difference of a replicate. `None`: a run did not finish, or the objective is a setting.
    #[must_use]
    pub fn difference(&self, base: usize, other: usize) -> Option<Estimate> {
        let pairs = self.runs(base).min(self.runs(other));
        if self.settings.is_some() || pairs == 0 {
            return None;
        }
        let base = self.values(base, pairs);
        let other = self.values(other, pairs);
        let differences = means::differences(&base, &other);
        if differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let value = self.rules.objective.of(&other) - self.rules.objective.of(&base);
        Some(Estimate {
            value,
            low: differences.iter().copied().fold(value, f64::min),
            high: differences.iter().copied().fold(value, f64::max),
        })
    }

    /// Returns the first limit that a candidate demonstrably exceeds, if any.
    #[must_use]
    pub fn broken(&self, candidate: usize) -> Option<usize> {
        (0..self.rules.demands.len()).find(|&limit| self.is_broken(candidate, limit))
    }

    /// Returns whether a candidate demonstrably exceeds a limit.
    fn is_broken(&self, candidate: usize, limit: usize) -> bool {
        let excess = self.excess(candidate, limit);
        match (self.rules.demands[limit], &self.limit_ranks[limit]) {
            (Statistic::Every, _) => excess.iter().any(|excess| *excess > 0.0),
            // Finite values cannot compensate for an infinite one.
            (Statistic::Mean, _) if excess.contains(&f64::INFINITY) => true,
            (_, Some(ranks)) => ranks.bounds(&excess).low > 0.0,
            (_, None) => means::is_above_zero(&excess, excess[0], self.errors.exclude),
        }
    }

    /// Returns the first limit that a candidate is not yet shown to meet. A limit on every run counts as met while no
    /// run exceeds it.
    #[must_use]
    pub fn unshown(&self, candidate: usize) -> Option<usize> {
        (0..self.rules.demands.len()).find(|&limit| !self.is_shown(candidate, limit))
    }

    /// Returns whether the runs show that a candidate meets a limit.
    fn is_shown(&self, candidate: usize, limit: usize) -> bool {
        let excess = self.excess(candidate, limit);
        match (self.rules.demands[limit], &self.limit_ranks[limit]) {
            (Statistic::Every, _) => excess.iter().all(|excess| *excess <= 0.0),
            (_, Some(ranks)) => ranks.bounds(&excess).high <= 0.0,
            (_, None) => self.is_mean_shown(&excess),
        }
    }

    /// Returns whether the runs show that the mean excess is at most 0.
    fn is_mean_shown(&self, excess: &[f64]) -> bool {
        let error = self.errors.confirm;
        let room: Vec<f64> = excess.iter().map(|excess| -excess).collect();
        let is_never_exceeded = room.iter().all(|room| *room >= 0.0);
        if is_never_exceeded && room.len() >= means::runs_to_see(error) {
            return true;
        }
        means::is_above_zero(&room, room[0], error)
    }

    /// Returns the number of runs at the next look of a candidate that has this many runs.
    fn after(&self, runs: usize) -> usize {
        look_from(runs + 1).min(self.rules.most)
    }

    /// Returns the best candidate that is not excluded, by the statistic over common replicates. In a tie, the first
    /// one is returned.
    fn leader(&self, out: &[Option<CandidateStatus>]) -> Option<usize> {
        let mut leader = None;
        for (candidate, out) in out.iter().enumerate() {
            if out.is_some() {
                continue;
            }
            if leader.is_none_or(|leader| self.is_better(candidate, leader)) {
                leader = Some(candidate);
            }
        }
        leader
    }

    /// Returns whether a candidate has a smaller objective than another one over their common replicates.
    fn is_better(&self, candidate: usize, other: usize) -> bool {
        let common = self.runs(other).min(self.runs(candidate));
        self.objective(candidate, common) < self.objective(other, common)
    }

    /// Returns the objective of a candidate, computed over its first `runs` runs.
    fn objective(&self, candidate: usize, runs: usize) -> f64 {
        match &self.settings {
            Some(values) => values[candidate],
            None => self.rules.objective.of(&self.values(candidate, runs)),
        }
    }

    /// Returns the values of a candidate's first `runs` runs.
    fn values(&self, candidate: usize, runs: usize) -> Vec<f64> {
        let mut values = Vec::new();
        for run in &self.runs[candidate][..runs] {
            values.push(run.value);
        }
        values
    }

    /// Returns by how much each run of a candidate exceeds a limit.
    fn excess(&self, candidate: usize, limit: usize) -> Vec<f64> {
        let mut excess = Vec::new();
        for run in &self.runs[candidate] {
            excess.push(run.excess[limit]);
        }
        excess
    }

    /// Returns the reason why a candidate is excluded. `None`: it is not excluded. Undecided: it has all its runs, and
    /// they do not show that it meets the limits, although another candidate might.
    fn out(&self, candidate: usize) -> Option<CandidateStatus> {
        let runs = &self.runs[candidate];
        assert!(
            !runs.is_empty(),
            "every candidate runs once before it is judged"
        );
        if self.unfinished(candidate) > 0 {
            return Some(CandidateStatus::Unfinished);
        }
        if self.broken(candidate).is_some() {
            return Some(CandidateStatus::Breaks);
        }
        let is_last_word = runs.len() >= self.rules.most;
        (is_last_word && self.unshown(candidate).is_some()).then_some(CandidateStatus::Undecided)
    }

    /// Returns the numbers of targets that the first `runs` runs of a candidate leave behind.
    pub(super) fn left(&self, candidate: usize, runs: usize) -> Vec<u64> {
        let mut left = Vec::new();
        for run in &self.runs[candidate][..runs] {
            left.push(run.left);
        }
        left
    }

    /// Returns whether the pairs show that `other` is greater than `base`.
    fn is_greater(&self, base: &[f64], other: &[f64]) -> bool {
        match &self.paired_ranks {
            Some(ranks) => is_greater_in_pairs(base, other, ranks, self.errors.paired),
            None => means::is_greater_in_pairs(base, other, self.errors.paired),
        }
    }

    /// Compares a candidate with the leader. All runs of both have finished.
    fn compared(&self, leader: usize, other: usize) -> CandidateStatus {
        if let Some(values) = &self.settings {
            return if values[other] > values[leader] {
                CandidateStatus::Slower
            } else {
                CandidateStatus::Equal
            };
        }
        let within = 1.0 - self.rules.indifference;
        let low = self.bounds[other].low;
        let high = self.bounds[leader].high;
        if low > high {
            return CandidateStatus::Slower;
        }
        if high.is_finite() && low >= high * within {
            return CandidateStatus::Equal;
        }
        self.compared_in_pairs(leader, other, within)
    }

    /// Compares a candidate with the leader over their common replicates. A candidate counts as equal if its objective
    /// is shown to be greater than `within` times the leader's.
    fn compared_in_pairs(&self, leader: usize, other: usize, within: f64) -> CandidateStatus {
        let pairs = self.runs(leader).min(self.runs(other));
        if pairs < FIRST_LOOK {
            return CandidateStatus::Undecided;
        }
        let base = self.values(leader, pairs);
        let other = self.values(other, pairs);
        if self.same_is_equal && base == other {
            return CandidateStatus::Equal;
        }
        if self.is_greater(&base, &other) {
            return CandidateStatus::Slower;
        }
        let raised: Vec<f64> = other.iter().map(|value| value / within).collect();
        if self.rules.indifference > 0.0 && self.is_greater(&base, &raised) {
            return CandidateStatus::Equal;
        }
        CandidateStatus::Undecided
    }
}

/// Returns the leader according to these states.
pub(super) fn leader_of(states: &[CandidateStatus]) -> Option<usize> {
    states
        .iter()
        .position(|state| *state == CandidateStatus::Best)
}

/// Returns the ranks for a quantile's bounds with these errors. `None`: the statistic is not a quantile.
fn ranks(over: Statistic, low_error: f64, high_error: f64, most: usize) -> Option<QuantileRanks> {
    match over {
        Statistic::Quantile(p) => Some(QuantileRanks::new(p, low_error, high_error, most)),
        Statistic::Every | Statistic::Mean => None,
    }
}
