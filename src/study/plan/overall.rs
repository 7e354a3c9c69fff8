//! The best of the strategies' answers in one world, and whether the runs confirm it.
//!
//! Each strategy has its own race. The winners have the same replicates, so they are compared in pairs, with bounds
//! that assume no distribution. Any two candidates might have been compared, so each possible pair gets an equal part
//! of the error.
//!
//! Left out: further runs to decide between strategies. If the runs do not show which strategy is best, the answer is
//! reported as uncertain.

use super::bounds::{is_greater_in_pairs, looks_to, paired_ranks};
use super::means;
use crate::results::Statistic;

/// The answer of one strategy.
pub(super) struct Winner<'a> {
    /// The label of the strategy's best variant.
    pub(super) variant: &'a String,
    /// The number of targets that each run leaves behind, beyond those that the experiment allows.
    pub(super) left: Vec<u64>,
    /// The objective of each run.
    pub(super) values: Vec<f64>,
    /// The value of the setting that is the objective. `None`: the objective is a measure.
    pub(super) setting: Option<f64>,
}

/// The best of the winners.
#[derive(Debug, PartialEq)]
pub(super) struct BestAnswer<'a> {
    /// The label of the best variant.
    pub(super) variant: &'a String,
    /// Whether the runs confirm that this variant is the best.
    pub(super) is_shown: bool,
}

impl Winner<'_> {
    /// Returns how many targets the first `runs` runs leave behind in all.
    fn left_in(&self, runs: usize) -> u64 {
        self.left[..runs].iter().sum()
    }

    /// Returns whether this winner has the smaller statistic over common replicates, or the smaller setting.
    fn is_better(&self, other: &Self, over: Statistic) -> bool {
        if let (Some(own), Some(other)) = (self.setting, other.setting) {
            return own < other;
        }
        let common = self.values.len().min(other.values.len());
        over.of(&self.values[..common]) < over.of(&other.values[..common])
    }

    /// Returns whether the runs show that this winner has the smaller statistic. The answer is wrong with a
    /// probability of at most `error`.
    fn is_shown_better(&self, other: &Self, over: Statistic, error: f64) -> bool {
        if let (Some(own), Some(other)) = (self.setting, other.setting) {
            return own < other;
        }
        let common = self.values.len().min(other.values.len());
        let Some(runs) = looks_to(common).take_while(|look| *look <= common).last() else {
            return false;
        };
        let base = &self.values[..runs];
        let other = &other.values[..runs];
        if base.iter().chain(other).any(|value| value.is_infinite()) {
            return false;
        }
        match over {
            Statistic::Every => false,
            Statistic::Mean => means::is_greater_in_pairs(base, other, error),
            Statistic::Quantile(p) => {
                is_greater_in_pairs(base, other, &paired_ranks(p, error, common), error)
            }
        }
    }
}

/// The winners that leave the fewest targets behind in the replicates that all of them have.
fn with_fewest_left<'w, 'a>(winners: &'w [Winner<'a>]) -> Vec<&'w Winner<'a>> {
    let mut shared = usize::MAX;
    for winner in winners {
        shared = shared.min(winner.left.len());
    }
    let mut fewest = u64::MAX;
    for winner in winners {
        fewest = fewest.min(winner.left_in(shared));
    }
    let mut best: Vec<&Winner<'a>> = winners.iter().collect();
    best.retain(|winner| winner.left_in(shared) == fewest);
    best
}

/// Returns the best of the winners. A strategy that leaves more targets behind than another is never the best, however
/// fast it is. `candidates` is the total number of candidates of all strategies.
pub(super) fn best<'a>(
    winners: &[Winner<'a>],
    over: Statistic,
    confidence: f64,
    candidates: usize,
) -> Option<BestAnswer<'a>> {
    let winners = with_fewest_left(winners);
    let mut best = *winners.first()?;
    for &other in &winners[1..] {
        if other.is_better(best, over) {
            best = other;
        }
    }
    let pairs = candidates * candidates.saturating_sub(1);
    let error = (1.0 - confidence) / pairs.max(1) as f64;
    let mut is_shown = true;
    for other in winners {
        let is_another = other.variant != best.variant;
        is_shown &= !is_another || best.is_shown_better(other, over, error);
    }
    Some(BestAnswer {
        variant: best.variant,
        is_shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Streams, dist};

    /// Returns whether the faster of two winners is chosen, and whether it is confirmed, if it is `by` seconds faster
    /// and each run has 10 s of noise.
    fn found(by: f64, over: Statistic, seed: u64) -> (bool, bool) {
        let streams = Streams::new(seed, 0);
        let values = |name: &str, less: f64| -> Vec<f64> {
            let run =
                |at| 100.0 - less + 10.0 * dist::unit(&mut streams.stream_nth(name, "noise", at));
            (0..170).map(run).collect()
        };
        let names = ["a".to_owned(), "b".to_owned()];
        let winner = |at: usize, less| Winner {
            variant: &names[at],
            left: Vec::new(),
            values: values(&names[at], less),
            setting: None,
        };
        let best = best(&[winner(0, 0.0), winner(1, by)], over, 0.95, 10).expect("there are two");
        (best.variant == "b", best.is_shown)
    }

    #[test]
    fn a_clear_difference_is_shown_and_equal_strategies_are_not_distinguished() {
        for over in [Statistic::Mean, Statistic::Quantile(0.5)] {
            assert_eq!(found(8.0, over, 1), (true, true), "{over:?}");
            let wrong = (0..100).filter(|&seed| found(0.0, over, seed).1).count();
            assert!(wrong <= 5, "{over:?}: {wrong} of 100 pairs of equals");
        }
        assert_eq!(
            found(8.0, Statistic::Every, 1),
            (true, false),
            "no runs bound a greatest value"
        );
    }

    #[test]
    fn values_of_settings_are_exact_and_a_single_winner_needs_no_comparison() {
        let names = ["a".to_owned(), "b".to_owned()];
        let winner = |at: usize, setting| Winner {
            variant: &names[at],
            left: Vec::new(),
            values: Vec::new(),
            setting: Some(setting),
        };
        let over = Statistic::Mean;
        let answer = |at: usize, is_shown| BestAnswer {
            variant: &names[at],
            is_shown,
        };
        assert_eq!(
            best(&[winner(0, 2.0), winner(1, 1.0)], over, 0.95, 4),
            Some(answer(1, true))
        );
        assert_eq!(
            best(&[winner(0, 1.0), winner(1, 1.0)], over, 0.95, 4),
            Some(answer(0, false))
        );
        assert_eq!(
            best(&[winner(0, 2.0)], over, 0.95, 4),
            Some(answer(0, true))
        );
        assert_eq!(best(&[], over, 0.95, 4), None);
    }

    #[test]
    fn only_replicates_that_all_have_are_compared() {
        let names = ["long", "short"].map(str::to_owned);
        // The same targets are offline in the same replicates; the first has more runs.
        let winner = |at: usize, left: Vec<u64>, value| Winner {
            variant: &names[at],
            values: vec![value; left.len()],
            left,
            setting: None,
        };
        let winners = [
            winner(0, vec![1, 1, 4, 4], 10.0),
            winner(1, vec![1, 1], 60.0),
        ];
        let best = best(&winners, Statistic::Mean, 0.95, 4).expect("there are two");
        assert_eq!(best.variant, "long");
    }

    #[test]
    fn a_strategy_that_leaves_more_targets_behind_is_never_the_best() {
        let [fast, whole] = ["fast", "whole"].map(str::to_owned);
        let winners = [
            Winner {
                variant: &fast,
                left: vec![3; 200],
                values: vec![10.0; 200],
                setting: None,
            },
            Winner {
                variant: &whole,
                left: vec![0; 200],
                values: vec![60.0; 200],
                setting: None,
            },
        ];
        let best = best(&winners, Statistic::Mean, 0.95, 4).expect("there are two");
        assert_eq!((best.variant.as_str(), best.is_shown), ("whole", true));
    }
}
