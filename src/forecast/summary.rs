//! What is next in a forecast, and which updates are slow.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::Forecaster;
use super::draws::PaceDraw;
use crate::results::{ForecastNext, SlowTarget};
use crate::sim::SeenState;
use crate::stats::{CensoredFit, quantile_of_sorted, sorted};

/// Maximum number of targets that are listed as slow.
const MOST_SLOW: usize = 5;

impl Forecaster<'_> {
    /// Returns the first stage that has not begun or, without one, the next target, as in most draws.
    pub(super) fn next(&self, draws: &[PaceDraw]) -> Option<ForecastNext> {
        let stages = &draws.first()?.end.stages;
        let waiting = self.waiting();
        let of_new_stages = self.of_new_stages(&waiting, stages);
        if let Some(first) = first_instructed(draws, &of_new_stages) {
            let stage = stages[first.target].clone();
            return Some(self.next_record(stage, first, draws, &of_new_stages));
        }
        let first = first_instructed(draws, &waiting)?;
        Some(self.next_record(String::new(), first, draws, &waiting))
    }

    /// Returns the targets that wait to be instructed.
    fn waiting(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = (0..self.seen.targets.len()).collect();
        waiting.retain(|&target| self.seen.targets[target].state == SeenState::Waiting);
        waiting
    }

    /// Returns the waiting targets whose stage has not begun, because all of its targets are waiting.
    fn of_new_stages(&self, waiting: &[usize], stages: &[String]) -> Vec<usize> {
        let mut begun = BTreeSet::new();
        for (stage, target) in stages.iter().zip(&self.seen.targets) {
            if target.state != SeenState::Waiting {
                begun.insert(stage);
            }
        }
        let mut of_new = waiting.to_vec();
        of_new.retain(|&target| !stages[target].is_empty() && !begun.contains(&stages[target]));
        of_new
    }

    /// Returns the candidate that is instructed first, with the times at which the draws instruct their first
    /// candidate.
    fn next_record(
        &self,
        stage: String,
        first: Instructed,
        draws: &[PaceDraw],
        candidates: &[usize],
    ) -> ForecastNext {
        let mut times = Vec::new();
        for draw in draws {
            let of_draw = first_of_draw(draw, candidates);
            times.push(of_draw.map_or(f64::INFINITY, |first| first.at_s));
        }
        ForecastNext {
            stage,
            first: self.name(first.target).to_owned(),
            begins: self.span(&times),
        }
    }

    /// Returns the targets whose updates take longer than nearly all others.
    pub(super) fn slow(&self, draws: &[PaceDraw]) -> Vec<SlowTarget> {
        let updates = self.updates(draws);
        let durations: Vec<(f64, bool)> = updates
            .iter()
            .map(|update| (update.for_s, update.is_over))
            .collect();
        let Some(fit) = CensoredFit::of(&durations) else {
            return Vec::new();
        };
        let mut slow = Vec::new();
        for update in updates {
            let longer_than = 1.0 - fit.longer(update.for_s);
            let is_stuck = self.seen.targets[update.target].is_stuck;
            if !update.is_over && !is_stuck && longer_than > 0.9 {
                slow.push(SlowTarget {
                    name: self.name(update.target).to_owned(),
                    for_s: update.for_s,
                    longer_than,
                });
            }
        }
        slow.sort_by(|a, b| {
            let longest_first = b.for_s.total_cmp(&a.for_s);
            longest_first.then_with(|| a.name.cmp(&b.name))
        });
        slow.truncate(MOST_SLOW);
        slow
    }

    /// Returns the updates that have begun, with their durations until now.
    fn updates(&self, draws: &[PaceDraw]) -> Vec<SeenUpdate> {
        let mut updates = Vec::new();
        for (target, seen) in self.seen.targets.iter().enumerate() {
            let Some(instructed) = self.instructed_s(target, draws) else {
                continue;
            };
            match (seen.state, seen.ready) {
                (SeenState::Ready, Some(ready)) => updates.push(SeenUpdate {
                    target,
                    for_s: ready.as_secs_f64() - instructed,
                    is_over: true,
                }),
                (SeenState::Updating, _) => updates.push(SeenUpdate {
                    target,
                    for_s: (self.seen.now.as_secs_f64() - instructed).max(0.0),
                    is_over: false,
                }),
                _ => {}
            }
        }
        updates
    }

    /// Returns the time at which a target was instructed, in seconds from the release. If the product does not show
    /// the time, the median over the draws is used.
    fn instructed_s(&self, target: usize, draws: &[PaceDraw]) -> Option<f64> {
        if let Some(instructed) = self.seen.targets[target].instructed {
            return Some(instructed.as_secs_f64());
        }
        let mut drawn = Vec::new();
        for draw in draws {
            drawn.extend(draw.end.instructed_s[target]);
        }
        quantile_of_sorted(&sorted(&drawn), 0.5)
    }
}

/// An update of a target that has begun.
struct SeenUpdate {
    /// The index of the target.
    target: usize,
    /// The duration until now in seconds.
    for_s: f64,
    /// Whether the update is over, because the target is ready.
    is_over: bool,
}

/// A target that is instructed in a draw.
#[derive(Clone, Copy)]
struct Instructed {
    /// The time of the instruction in seconds from the release.
    at_s: f64,
    target: usize,
}

impl Instructed {
    /// Compares two instructions by time, then by target.
    fn compare(&self, other: &Self) -> Ordering {
        let by_time = self.at_s.total_cmp(&other.at_s);
        by_time.then(self.target.cmp(&other.target))
    }
}

/// Returns the candidate that is instructed first in any draw.
fn first_instructed(draws: &[PaceDraw], candidates: &[usize]) -> Option<Instructed> {
    draws
        .iter()
        .filter_map(|draw| first_of_draw(draw, candidates))
        .min_by(Instructed::compare)
}

/// Returns the candidate that is instructed first in a draw.
fn first_of_draw(draw: &PaceDraw, candidates: &[usize]) -> Option<Instructed> {
    let mut instructed = Vec::new();
    for &target in candidates {
        if let Some(at_s) = draw.end.instructed_s[target] {
            instructed.push(Instructed { at_s, target });
        }
    }
    instructed.into_iter().min_by(Instructed::compare)
}
