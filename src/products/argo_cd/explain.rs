//! Explains Argo CD's strategies for a fleet, in numbers.

use std::sync::Arc;

use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::products::StrategyExplanation;
use crate::products::words::first_names;
use crate::rollout::argo_cd::proposal::{ProposalStrategy, ProposedRollingUpdate};
use crate::rollout::argo_cd::{NO_AUTOMATED_SYNC, explain as explain_set};
use crate::rollout::label_selector::Labels;
use crate::units::counted;
use crate::world::ClusterSpec;

/// Maximum number of steps listed; further steps are only counted.
const STEPS_SHOWN: usize = 12;

pub(super) fn application_set(
    strategy: &ArgoCdStrategy,
    clusters: &[ClusterSpec],
) -> StrategyExplanation {
    let applications = strategy.applications(clusters);
    let explained = explain_set(&strategy.spec, strategy.options, &applications)
        .expect("a checked strategy has steps or is none");
    let order = if strategy.is_rolling() {
        "RollingSync"
    } else {
        "all at once"
    };
    let summary = format!(
        "Argo CD ApplicationSet of {} applications, {order}",
        applications.len()
    );
    let mut lines: Vec<String> = explained.steps.iter().take(STEPS_SHOWN).cloned().collect();
    more(&mut lines, explained.steps.len());
    if !explained.unselected.is_empty() {
        lines.push(format!(
            "in no step: {}",
            first_names(&explained.unselected)
        ));
    }
    lines.extend(strategy.windows_in_words(clusters));
    lines.extend(shared_cores(strategy, applications.len()));
    let mut warnings = explained.warnings;
    exception_warnings(strategy, clusters, &mut warnings);
    if strategy.is_rolling() {
        warnings.extend(lost_changes(strategy));
        warnings.extend(endless_grace_period(strategy));
    }
    warnings.extend(strategy.close_race(clusters));
    StrategyExplanation {
        summary,
        lines,
        warnings,
    }
}

/// Returns how long the cores that the shards share need for all applications. `None`: the shards share none.
fn shared_cores(strategy: &ArgoCdStrategy, applications: usize) -> Option<String> {
    let settings = &strategy.application_controller;
    let per_second = settings.syncs_of_the_hub()?;
    let least = settings
        .cpu_per_sync
        .mul_f64(applications as f64 / settings.cpu?.get());
    Some(format!(
        "the shards share {} cores: at most {per_second:.1} syncs a second, so {} take at least {least}",
        settings.cpu?.get(),
        counted(applications as u64, "application"),
    ))
}

/// Adds warnings about applications that differ from the template.
fn exception_warnings(
    strategy: &ArgoCdStrategy,
    clusters: &[ClusterSpec],
    warnings: &mut Vec<String>,
) {
    let exceptions = &strategy.exceptions;
    if !exceptions.other_auto_sync.is_empty() {
        warnings.retain(|warning| warning != NO_AUTOMATED_SYNC);
        let names = names_of(exceptions.other_auto_sync.iter(), clusters);
        let warning = if strategy.is_rolling() {
            "autoSyncExcept has no effect: a RollingSync turns automated sync off on every application".to_owned()
        } else if strategy.is_automated() {
            format!("not automated, so that only a user syncs them: {names}")
        } else {
            format!("automated: {names}; only a user syncs the others")
        };
        warnings.push(warning);
    }
    if exceptions.skipped.is_empty() {
        return;
    }
    let names = names_of(exceptions.skipped.keys(), clusters);
    warnings.push(format!(
        "skip-reconcile keeps Argo CD from comparing or syncing {names}"
    ));
    let mut blocking = Vec::new();
    for (index, status) in &exceptions.skipped {
        if strategy.is_rolling() && !status.is_settled() {
            blocking.push(index);
        }
    }
    if !blocking.is_empty() {
        let names = names_of(blocking.into_iter(), clusters);
        warnings.push(format!(
            "not Synced and Healthy, and skipped: {names}; their step is never complete"
        ));
    }
}

/// Returns the names of the first entries at these indices.
fn names_of<'i>(indices: impl Iterator<Item = &'i u32>, clusters: &[ClusterSpec]) -> String {
    let mut names = Vec::new();
    for index in indices {
        names.push(clusters[*index as usize].name.clone());
    }
    first_names(&names)
}

/// Returns a warning if a rolling set ignores the release on applications that are Synced and Healthy.
fn lost_changes(strategy: &ArgoCdStrategy) -> Option<String> {
    let options = &strategy.options;
    let keeps_changes = options.keep_spec_changes && options.version.sees_spec_changes();
    if strategy.release != ArgoCdRelease::Parameters || keeps_changes {
        return None;
    }
    Some(
        "the release changes only parameters; on applications that are Synced and Healthy the rollout loses such \
         a change (argoproj/argo-cd#27949)"
            .to_owned(),
    )
}

/// Returns a warning if no pass follows the grace period, during which a rolling set promotes nothing.
fn endless_grace_period(strategy: &ArgoCdStrategy) -> Option<String> {
    let options = &strategy.options;
    if !options.version.has_barrier()
        || options.refresh_grace_period.is_zero()
        || strategy.spec.requeue_after().is_some()
    {
        return None;
    }
    Some(format!(
        "nothing is promoted within {} of a change, and no generator with a timer starts a pass after that \
         (argoproj/argo-cd#29347): the rollout waits for the next change of an application",
        options.refresh_grace_period
    ))
}

pub(super) fn proposal(
    strategy: &ProposalStrategy,
    applications: &[(String, Arc<Labels>)],
) -> StrategyExplanation {
    let scheduler =
        ProposedRollingUpdate::new(strategy, applications).expect("a checked strategy makes steps");
    let steps: Vec<_> = scheduler.steps().collect();
    let order = if steps.is_empty() {
        "all at once"
    } else {
        "RollingUpdate"
    };
    let count = applications.len();
    let summary = format!("Argo CD's proposal that never shipped, {count} applications, {order}");
    let mut lines = Vec::new();
    for (number, (members, limit)) in (1..).zip(&steps).take(STEPS_SHOWN) {
        let names: Vec<String> = members
            .iter()
            .map(|target| applications[target.index()].0.clone())
            .collect();
        let limit = match limit {
            Some(limit) => format!("{limit} at once"),
            None => "all at once".to_owned(),
        };
        lines.push(if names.is_empty() {
            format!("step {number}: no application")
        } else {
            let count = names.len();
            let first = first_names(&names);
            format!("step {number}: {count} applications ({first}), {limit}")
        });
    }
    more(&mut lines, steps.len());
    let mut warnings = Vec::new();
    for (number, (members, _)) in (1..).zip(&steps) {
        if members.is_empty() {
            warnings.push(format!("step {number} selects no application"));
        }
    }
    let unselected: Vec<String> = scheduler.unselected().map(str::to_owned).collect();
    if !unselected.is_empty() {
        let names = first_names(&unselected);
        lines.push(format!("in no step, so never changed: {names}"));
        warnings.push(format!(
            "no step selects {} of {count} applications, so they are never changed: {names}",
            unselected.len()
        ));
    }
    StrategyExplanation {
        summary,
        lines,
        warnings,
    }
}

fn more(lines: &mut Vec<String>, steps: usize) {
    if steps > STEPS_SHOWN {
        lines.push(format!("... and {} more steps", steps - STEPS_SHOWN));
    }
}
