//! Contradictions between an export and the experiment, for which a forecast would mislead.
//!
//! One run with the values of the experiment follows the export (the probe). Its rules are those of the experiment, so
//! it shows how many targets may update at the same time, and which targets the rollout updates at all:
//!
//! | contradiction | how it is seen |
//! |---|---|
//! | more targets update than the setting allows | the probe never has as many in progress, in all or in a stage |
//! | targets are updated before others | the probe instructs them only after the time at which they were ready |
//! | a target is missing in the export | the probe updates it, and the product lists every target |
//! | the export is of another product | the key of the strategy is not that of the objects |
//! | the given start is wrong | an instruction comes before it, or far later after it than in the probe |
//!
//! A target in progress is instructed and not ready; one that has failed stays in progress. Left out: settings of
//! product files beside the experiment, which are named without their line.

use super::product::ShownProduct;
use crate::document::path::Path;
use crate::document::problem::{OrProblems, Problem, some_of};
use crate::results::ClusterRow;
use crate::scenario::VariedExperiment;
use crate::sim::{Continuation, RolloutSoFar, SeenState};
use crate::units::SimTime;

/// Tolerance between a given start and what the export shows, in seconds.
const START_TOLERANCE_S: f64 = 120.0;

/// How much later than its observed time of readiness the probe may instruct a target, in seconds. Some controllers
/// look only every minute.
const ORDER_TOLERANCE_S: f64 = 60.0;

/// Returns the targets that were ready, or had begun by now, before the probe instructs them.
pub(super) fn too_early(probe: &Continuation, seen: &RolloutSoFar) -> Vec<usize> {
    let mut early = Vec::new();
    for (at, target) in seen.targets.iter().enumerate() {
        let until = match target.state {
            SeenState::Waiting | SeenState::Failed => continue,
            SeenState::Updating => seen.now,
            SeenState::Ready => target.ready.unwrap_or(seen.now),
        };
        let latest_s = until.as_secs_f64() + ORDER_TOLERANCE_S;
        let told = probe.instructed[at].map_or(f64::INFINITY, SimTime::as_secs_f64);
        if told > latest_s {
            early.push(at);
        }
    }
    early
}

/// Returns the ready targets that the probe instructs before targets that were ready earlier than they. `early`: the
/// targets that were ready too early.
pub(super) fn late_blockers(
    probe: &Continuation,
    seen: &RolloutSoFar,
    early: &[usize],
) -> Vec<usize> {
    let mut blockers = Vec::new();
    for (at, target) in seen.targets.iter().enumerate() {
        let Some(ready) = target.ready else { continue };
        for &other in early {
            let is_later = seen.targets[other].ready.is_some_and(|other| ready > other);
            if is_later && told_at(probe, at) < told_at(probe, other) {
                blockers.push(at);
                break;
            }
        }
    }
    blockers
}

/// Returns when the probe instructs a target; the end of all times if it does not.
fn told_at(probe: &Continuation, target: usize) -> SimTime {
    probe.instructed[target].unwrap_or(SimTime::MAX)
}

/// An experiment's variant and what an export shows of its rollout.
#[derive(Clone, Copy)]
pub(super) struct Judged<'s> {
    pub(super) varied: &'s VariedExperiment,
    pub(super) variant: usize,
    pub(super) product: ShownProduct,
    pub(super) seen: &'s RolloutSoFar,
}

impl Judged<'_> {
    /// Rejects an export of a product that is not the strategy's. Strategies of no product accept every export.
    pub(super) fn is_of_product(&self) -> OrProblems<()> {
        let strategy = &self.varied.base().variants[self.variant].strategy;
        let Some(key) = self.varied.product(strategy) else {
            return Ok(());
        };
        let own = self.product.key();
        if key == own || !is_shown(key) {
            return Ok(());
        }
        let message = format!(
            "the export is of {}, but the strategy is `{key}`",
            self.product.title()
        );
        let help =
            format!("choose a strategy `{own}` with --variant, or export the rollout of `{key}`");
        Err(vec![self.problem(&[], message).with_help(help)])
    }

    /// Returns whether more targets of the whole rollout are in progress than the probe ever has at the same time.
    pub(super) fn has_too_many_updates(&self, probe: &Continuation) -> bool {
        self.expect_allowed(&probe.record.clusters, None).is_err()
    }

    /// Rejects an export in which more targets are in progress than the probe ever has at the same time.
    pub(super) fn has_allowed_updates(&self, probe: &Continuation) -> OrProblems<()> {
        let rows = &probe.record.clusters;
        let mut stages: Vec<&str> = rows.iter().map(|row| row.stage.as_str()).collect();
        stages.sort_unstable();
        stages.dedup();
        stages.retain(|stage| !stage.is_empty());
        // A stage is named before the rollout as a whole. A single stage is the whole.
        if stages.len() > 1 {
            for stage in stages {
                self.expect_allowed(rows, Some(stage))?;
            }
        }
        self.expect_allowed(rows, None)
    }

    /// Rejects more targets in progress in a stage than the probe ever has. `None`: in the whole rollout.
    fn expect_allowed(&self, rows: &[ClusterRow], stage: Option<&str>) -> OrProblems<()> {
        let mut seen = 0;
        let mut spans = Vec::new();
        for (row, target) in rows.iter().zip(&self.seen.targets) {
            if stage.is_some_and(|stage| row.stage != stage) {
                continue;
            }
            let is_in_progress = matches!(target.state, SeenState::Updating | SeenState::Failed);
            seen += usize::from(is_in_progress);
            if let Some(from) = row.instructed_s {
                spans.push((from, row.ready_s.unwrap_or(f64::INFINITY)));
            }
        }
        let most = most_at_once(&spans);
        if seen <= most + tolerance(self.product, most) {
            return Ok(());
        }
        let rule = rule_of(self.product);
        let target = self.varied.base().target;
        let place = stage.map_or_else(String::new, |stage| format!(" in `{stage}`"));
        let message = format!(
            "{seen} {target}s are updating{place}, and the experiment lets at most {most} update at the same time"
        );
        let share = (100 * seen).div_ceil(rows.len().max(1));
        let help = format!(
            "set `{rule}: {seen}` (about {share}% of {}), if the product has that, and check that the export is of \
             this rollout",
            rows.len()
        );
        let steps: Vec<&str> = match (self.product, stage) {
            (ShownProduct::Fleet, Some(stage)) => vec!["partitions", stage, rule],
            (ShownProduct::KubeFleetStaged, Some(stage)) => vec!["stages", stage, rule],
            _ => vec![rule],
        };
        let problem = self.problem(&steps, message);
        Err(vec![problem.with_help(help)])
    }

    /// Rejects an export without a target that the probe updates. `shown`: whether each target is in the export.
    pub(super) fn shows_all(&self, probe: &Continuation, shown: &[bool]) -> OrProblems<()> {
        if !self.product.lists_all_targets() {
            return Ok(());
        }
        let mut missing = Vec::new();
        for (at, row) in probe.record.clusters.iter().enumerate() {
            if !shown[at] && row.instructed_s.is_some() {
                missing.push(row.cluster.clone());
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the export does not show {}, which the experiment updates",
            some_of(&missing)
        );
        let help = "export the whole rollout, or leave them out of the experiment's `fleet`";
        let problem = self.varied.problem_at(&Path::of("fleet"), message);
        Err(vec![problem.with_help(help.to_owned())])
    }

    /// Rejects an export that shows targets as updated before others, in another order than the experiment's.
    pub(super) fn is_in_order(&self, probe: &Continuation) -> OrProblems<()> {
        let early = too_early(probe, self.seen);
        let Some(&first) = early.first() else {
            return Ok(());
        };
        let rows = &probe.record.clusters;
        let told_first = rows[first].instructed_s.unwrap_or(f64::INFINITY);
        let mut before = Vec::new();
        for (row, target) in rows.iter().zip(&self.seen.targets) {
            let is_unready = target.state != SeenState::Ready;
            if is_unready && row.instructed_s.is_some_and(|told| told < told_first) {
                before.push(row.cluster.clone());
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the export shows `{}` updated, and the experiment lets it wait for {}",
            rows[first].cluster,
            some_of(&before)
        );
        let help = "give the experiment the partitions, steps or stages of the rollout, with the product's order of \
                    clusters; if a cluster was ready before, export again when it is ready again";
        Err(vec![self.problem(&[], message).with_help(help.to_owned())])
    }

    /// Rejects a given start after which the first target was instructed far later than in the probe.
    pub(super) fn begins_in_time(&self, probe: &Continuation, file: &str) -> OrProblems<()> {
        let Some(first) = self.first_instructed() else {
            return Ok(());
        };
        let rows = probe.record.clusters.iter();
        let own = rows
            .filter_map(|row| row.instructed_s)
            .fold(f64::INFINITY, f64::min);
        let first = first.as_secs_f64();
        if !own.is_finite() || first <= 3.0 * own + START_TOLERANCE_S {
            return Ok(());
        }
        let target = self.varied.base().target;
        let message = format!(
            "the first {target} was instructed {first:.0} s after the start given with --released; in the experiment \
             this takes {own:.0} s"
        );
        let problem = Problem::of_file(file, message);
        Err(vec![problem.with_help(self.product.start_help())])
    }

    /// Returns the first instruction. `None`: the export does not show all of them, so an earlier one may be hidden.
    fn first_instructed(&self) -> Option<SimTime> {
        let mut first: Option<SimTime> = None;
        for target in &self.seen.targets {
            if target.state == SeenState::Waiting {
                continue;
            }
            let at = target.instructed?;
            first = Some(first.map_or(at, |first| first.min(at)));
        }
        first
    }

    /// Returns a problem at a field of the strategy, or at the strategy if it has no such field.
    fn problem(&self, steps: &[&str], message: String) -> Problem {
        let strategy = &self.varied.base().variants[self.variant].strategy;
        let mut path = Path::of("strategies").key(strategy).key(self.product.key());
        for step in steps {
            path = path.key(step);
        }
        self.varied.problem_at(&path, message)
    }
}

/// Returns how many more targets may be unready than the limit allows. Where a target that was ready counts as
/// updating when it is unready again, the limit holds only for starts of updates: a fifth of it, and at least 1.
fn tolerance(product: ShownProduct, most: usize) -> usize {
    match product {
        ShownProduct::Fleet | ShownProduct::KubeFleetRolling | ShownProduct::CloudFoundry => {
            (most / 5).max(1)
        }
        ShownProduct::ArgoCd | ShownProduct::KubeFleetStaged => 0,
    }
}

/// Returns whether exports of this product's rollouts can be read.
fn is_shown(key: &str) -> bool {
    const ALL: [ShownProduct; 5] = [
        ShownProduct::Fleet,
        ShownProduct::ArgoCd,
        ShownProduct::KubeFleetStaged,
        ShownProduct::KubeFleetRolling,
        ShownProduct::CloudFoundry,
    ];
    ALL.iter().any(|product| product.key() == key)
}

/// The setting that limits how many targets update at the same time.
const fn rule_of(product: ShownProduct) -> &'static str {
    match product {
        ShownProduct::Fleet | ShownProduct::KubeFleetRolling => "maxUnavailable",
        ShownProduct::ArgoCd => "maxUpdate",
        ShownProduct::KubeFleetStaged => "maxConcurrency",
        ShownProduct::CloudFoundry => "maxInFlight",
    }
}

/// Returns the maximum number of spans, with a start and an end, that contain the same moment.
fn most_at_once(spans: &[(f64, f64)]) -> usize {
    let mut changes = Vec::new();
    for (from, to) in spans {
        changes.push((*from, 1));
        changes.push((*to, -1));
    }
    // At the same moment, spans end before others begin.
    changes.sort_by(|a: &(f64, i64), b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut most = 0;
    let mut at_once = 0;
    for (_, change) in changes {
        at_once += change;
        most = most.max(at_once);
    }
    most as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two overlap from 2 to 3, and the third one begins when the second one ends.
    #[test]
    fn spans_that_touch_do_not_overlap() {
        let spans = [(0.0, 3.0), (2.0, 5.0), (5.0, f64::INFINITY)];
        assert_eq!(most_at_once(&spans), 2);
        assert_eq!(most_at_once(&[]), 0);
    }
}
