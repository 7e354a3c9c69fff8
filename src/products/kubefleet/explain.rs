//! The effects of KubeFleet's strategies on a fleet: stages with their clusters, limits and tasks.

use super::{KubeFleetRolling, KubeFleetStaged, UpdateRun, UpdateRuns, picked_by};
use crate::products::words::{by, table};
use crate::products::{Fleet, StrategyExplanation};
use crate::rollout::kubefleet::rolling::explain as explain_rolling;
use crate::rollout::kubefleet::staged::{
    RunBehaviour, StageExplanation, explain as explain_staged,
};
use crate::rollout::kubefleet::{RuleSet, RunState};
use crate::world::{ClusterSpec, DurationModel, NEW, ReleaseKind};

pub(super) fn staged(strategy: &KubeFleetStaged, clusters: &[ClusterSpec]) -> StrategyExplanation {
    let first = strategy.updates.runs.first().map_or(0, |run| run.placement);
    let picked = picked_by(&strategy.updates, first, clusters);
    let behaviour = RunBehaviour {
        rules: strategy.rules,
        version: strategy.version,
        bugs: strategy.upstream_bugs,
    };
    let explained = explain_staged(&strategy.strategy, behaviour, picked);
    let explained = explained.expect("a run of a checked strategy can be initialized");
    let mut lines = stages(&explained.stages);
    if explained.stages.iter().any(asks_for_approval) {
        let given = match &strategy.approvals {
            None => "never given".to_owned(),
            Some(DurationModel::Constant(span)) => format!("given {span} after they are requested"),
            Some(drawn) => format!("given after {drawn}"),
        };
        lines.push(format!("approvals: {given}"));
    }
    if strategy.updates != UpdateRuns::default() {
        lines.extend(runs(&strategy.updates, strategy.rules, clusters));
    }
    let mut warnings = explained.warnings;
    if strategy.rules == RuleSet::Shipped {
        warnings.extend(strategy.updates.runs.iter().filter_map(never_started));
    }
    let summary = format!("KubeFleet's staged update run, {}", by(strategy.rules));
    StrategyExplanation {
        summary,
        lines,
        warnings,
    }
}

/// Returns the text for a run whose state is never `Run`. As shipped, such a run computes its stages and updates no
/// cluster.
fn never_started(run: &UpdateRun) -> Option<String> {
    let mut states = run.states.iter();
    if states.any(|(_, state)| *state == RunState::Run) {
        return None;
    }
    Some(format!(
        "run `{}` updates nothing: its state is never `Run`, and without a state it is `Initialize`; write \
         `state: Run` in its file, or `states: [{{after: 0 s, state: Run}}]` here",
        run.name
    ))
}

/// Returns whether a task before or after the stage is an approval.
fn asks_for_approval(stage: &StageExplanation) -> bool {
    let mut tasks = stage.before_tasks.iter().chain(&stage.after_tasks);
    tasks.any(|task| task == "Approval")
}

/// Returns a line for each run, with people's actions on it and the clusters that it updates.
fn runs(updates: &UpdateRuns, rules: RuleSet, clusters: &[ClusterSpec]) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &updates.runs {
        let mut states = Vec::new();
        for (after, state) in &run.states {
            states.push(match (rules, state) {
                // The documented API has no state: a run starts when it is created.
                (RuleSet::Documented, RunState::Initialize) => format!("starts after {after}"),
                _ => format!("{state:?} after {after}"),
            });
        }
        let picked = picked_by(updates, run.placement, clusters).len();
        let unpicked = (0..clusters.len())
            .filter(|&cluster| updates.placement_of(cluster) == run.placement)
            .filter(|&cluster| updates.is_unpicked(cluster))
            .count();
        let removed = match unpicked {
            0 => String::new(),
            count => format!(", and the delete stage removes {count}"),
        };
        let what = if run.snapshot == NEW {
            "the release"
        } else {
            "what is installed"
        };
        lines.push(format!(
            "run `{}`: {}; {what} for {picked} clusters of the placement `{}`{removed}",
            run.name,
            states.join(", "),
            updates.placements[run.placement],
        ));
    }
    lines
}

/// Returns a table of the stages.
fn stages(stages: &[StageExplanation]) -> Vec<String> {
    let mut rows = Vec::new();
    for stage in stages {
        rows.push([
            stage.name.clone(),
            stage.count.to_string(),
            stage.max_concurrency.to_string(),
            joined_or_dash(&stage.before_tasks),
            joined_or_dash(&stage.after_tasks),
            stage.first.join(", "),
        ]);
    }
    let header = [
        "stage",
        ">clusters",
        ">maxConcurrency",
        "before",
        "after",
        "first clusters",
    ];
    table(header, rows.into_iter())
}

fn joined_or_dash(tasks: &[String]) -> String {
    if tasks.is_empty() {
        "-".to_owned()
    } else {
        tasks.join(" and ")
    }
}

pub(super) fn rolling(strategy: &KubeFleetRolling, fleet: Fleet<'_>) -> StrategyExplanation {
    let summary = format!("KubeFleet's rolling update, {}", by(strategy.rules));
    let clusters = u32::try_from(fleet.len()).expect("a fleet has fewer than 2^32 clusters");
    if fleet.world.applications[0].release == ReleaseKind::Initial {
        // No binding is bound yet, so maxSurge allows all of them and nothing needs an update.
        let lines = vec![format!(
            "a first deployment: all {clusters} clusters get the resources in the first pass; maxUnavailable and \
             maxSurge limit later updates"
        )];
        return StrategyExplanation {
            summary,
            lines,
            warnings: Vec::new(),
        };
    }
    let target = strategy.requested.unwrap_or(clusters);
    let explained = explain_rolling(&strategy.config, strategy.rules, target);
    StrategyExplanation {
        summary,
        lines: vec![explained.limits],
        warnings: explained.warnings,
    }
}
