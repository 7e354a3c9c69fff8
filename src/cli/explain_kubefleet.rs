//! What KubeFleet's strategies would do to a fleet: stages with their clusters, limits and tasks, and warnings.

use std::fmt::Write as _;

use fleetsim::rollout::kubefleet::staged::{StageExplanation, explain as explain_staged};
use fleetsim::rollout::kubefleet::{
    PlacementPolicy, RollingUpdateConfig, RuleSet, RunSpec, RunState, StrategySpec, rolling::explain as explain_rolling,
};
use fleetsim::scenario::Scenario;
use fleetsim::world::DurationModel;

fn by(rules: RuleSet) -> &'static str {
    match rules {
        RuleSet::Shipped => "the rules that ship",
        RuleSet::Documented => "the rules that its documents describe",
    }
}

fn warnings(text: &mut String, warnings: &[String]) {
    for warning in warnings {
        let _ = writeln!(text, "  note: {warning}");
    }
}

pub(super) fn staged(
    label: &str,
    scenario: &Scenario,
    rules: RuleSet,
    strategy: &StrategySpec,
    approvals: Option<&DurationModel>,
) -> String {
    let run = RunSpec { state: Some(RunState::Run), ..RunSpec::default() };
    let explained = explain_staged(strategy, &run, rules, &scenario.kubefleet_clusters())
        .expect("a run of a checked strategy can be initialized");
    let mut text = format!("{label}: KubeFleet's staged update run, by {}\n", by(rules));
    stages(&mut text, &explained.stages);
    let tasks = |stage: &StageExplanation| [&stage.before[..], &stage.after[..]].concat();
    if explained.stages.iter().flat_map(tasks).any(|task| task == "Approval") {
        let given = match approvals {
            None => "never given".to_owned(),
            Some(DurationModel::Constant(span)) => format!("given {span} after they are asked for"),
            Some(drawn) => format!("given after {drawn}"),
        };
        let _ = writeln!(text, "  approvals: {given}");
    }
    warnings(&mut text, &explained.warnings);
    text
}

fn stages(text: &mut String, stages: &[StageExplanation]) {
    let width = stages.iter().map(|stage| stage.name.chars().count()).max().unwrap_or(0).max(5);
    let list = |tasks: &[String]| if tasks.is_empty() { "-".to_owned() } else { tasks.join(" and ") };
    let before = stages.iter().map(|stage| list(&stage.before).len()).max().unwrap_or(0).max(6);
    let after = stages.iter().map(|stage| list(&stage.after).len()).max().unwrap_or(0).max(5);
    let _ = writeln!(
        text,
        "  {:width$}  {:>8}  {:>14}  {:before$}  {:after$}  first clusters",
        "stage", "clusters", "maxConcurrency", "before", "after"
    );
    for stage in stages {
        let limit = stage.max_concurrency.as_ref().map_or_else(ToString::to_string, ToString::to_string);
        let _ = writeln!(
            text,
            "  {:width$}  {:>8}  {:>14}  {:before$}  {:after$}  {}",
            stage.name,
            stage.count,
            limit,
            list(&stage.before),
            list(&stage.after),
            stage.first.join(", "),
        );
    }
}

pub(super) fn rolling(
    label: &str,
    scenario: &Scenario,
    rules: RuleSet,
    policy: PlacementPolicy,
    config: &RollingUpdateConfig,
) -> String {
    let clusters = u32::try_from(scenario.world.clusters.len()).expect("a fleet has fewer than 2^32 clusters");
    let target = policy.count().unwrap_or(clusters);
    let explained = explain_rolling(config, rules, target);
    let mut text = format!("{label}: KubeFleet's rolling update, by {}\n", by(rules));
    let waves = explained.waves.map_or_else(|| "it never ends".to_owned(), |waves| format!("in {waves} waves or more"));
    let _ = writeln!(
        text,
        "  maxUnavailable {} and maxSurge {} of {target} clusters; an update begins with {} clusters; {waves}; looks \
         again every {} s",
        explained.limits.max_unavailable,
        explained.limits.max_surge,
        explained.first_wave,
        explained.unavailable_period_seconds,
    );
    warnings(&mut text, &explained.warnings);
    text
}
