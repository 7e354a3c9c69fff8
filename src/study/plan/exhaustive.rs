//! Chooses the best candidate that meets all limits, from all replicates of all candidates.
//!
//! This verifies that the search found the same answer with fewer runs.

use super::{PlannedExperiment, StrategyRace};
use crate::results::{ExhaustiveSearch, PlanRecord, RunRow, StrategyAnswer};

/// Returns the choice in each race, in the order of the record's answers, and whether the search agrees.
pub(super) fn exhaustive(
    races: &[StrategyRace],
    task: PlannedExperiment<'_>,
    record: &PlanRecord,
) -> ExhaustiveSearch {
    let mut answers = Vec::new();
    for question in &record.questions {
        for answer in &question.answers {
            let choice = AllReplicates {
                race: race_of(races, &question.world, &answer.strategy),
                task,
            };
            let best = choice.best();
            let agrees = choice.agrees(best, answer);
            answers.push((best.map(|at| choice.label(at).to_owned()), agrees));
        }
    }
    ExhaustiveSearch {
        runs: record.exhaustive_runs,
        answers,
    }
}

/// Returns the race that an answer belongs to. Answers are in the order of worlds, races in the order of variants.
fn race_of<'r>(races: &'r [StrategyRace], world: &str, strategy: &str) -> &'r StrategyRace {
    races
        .iter()
        .find(|race| race.key.world == world && race.key.strategy == strategy)
        .expect("an answer is that of a race")
}

/// A race whose candidates have all replicates.
struct AllReplicates<'s> {
    race: &'s StrategyRace,
    task: PlannedExperiment<'s>,
}

impl AllReplicates<'_> {
    /// Returns the candidate with the smallest objective among those that meet all limits and leave the fewest targets
    /// behind. In a tie, the first one is returned.
    fn best(&self) -> Option<usize> {
        let mut best = None;
        for candidate in self.eligible() {
            if best.is_none_or(|best| self.objective(candidate) < self.objective(best)) {
                best = Some(candidate);
            }
        }
        best
    }

    /// Returns the candidates that meet all limits and leave the fewest targets behind.
    fn eligible(&self) -> Vec<usize> {
        let mut eligible = Vec::new();
        let mut fewest = u64::MAX;
        for candidate in 0..self.race.variants.len() {
            if self.meets_limits(candidate) {
                eligible.push(candidate);
                fewest = fewest.min(self.left(candidate));
            }
        }
        eligible.retain(|&candidate| self.left(candidate) == fewest);
        eligible
    }

    /// Returns how many targets the runs of a candidate leave behind in all.
    fn left(&self, candidate: usize) -> u64 {
        self.task.all_left(self.rows(candidate))
    }

    /// Returns whether the search's answer meets the limits and equals the best candidate within the zone of
    /// indifference. If neither has an answer, they agree as well.
    fn agrees(&self, best: Option<usize>, answer: &StrategyAnswer) -> bool {
        let planned = (0..self.race.variants.len())
            .find(|&candidate| Some(self.label(candidate)) == answer.variant.as_deref());
        match (best, planned) {
            (Some(best), Some(planned)) => {
                let least = self.objective(best);
                let most = least + least.abs() * self.task.plan.indifference;
                self.eligible().contains(&planned) && self.objective(planned) <= most
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns the label of a candidate.
    fn label(&self, candidate: usize) -> &str {
        &self.task.variant(self.race.variants[candidate]).label
    }

    /// Returns the replicates of a candidate that the experiment requests.
    fn rows(&self, candidate: usize) -> &[RunRow] {
        let rows = &self.race.runs[candidate];
        let most = self.task.experiment.replicates as usize;
        &rows[..rows.len().min(most)]
    }

    /// Returns whether all runs of a candidate finished and met all limits.
    fn meets_limits(&self, candidate: usize) -> bool {
        let rows = self.rows(candidate);
        let is_finished = rows.iter().all(|row| self.task.value(row).is_finite());
        let mut limits = self.task.plan.limits.iter();
        is_finished && limits.all(|limit| limit.judge(rows).holds)
    }

    /// Returns the objective of a candidate, from its runs or its setting.
    fn objective(&self, candidate: usize) -> f64 {
        let objective = &self.task.plan.objective;
        let variant = self.task.variant(self.race.variants[candidate]);
        if let Some(rank) = objective.rank(&variant.settings) {
            return rank;
        }
        let values = self.task.objectives(self.rows(candidate));
        objective.over().of(&values)
    }
}
