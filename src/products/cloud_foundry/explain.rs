//! Explains a Cloud Foundry deployment in numbers of instances: first batch, steps, maximum, and users' actions.

use super::CloudFoundryDeployment;
use crate::products::words::{by, table};
use crate::products::{Fleet, StrategyExplanation};
use crate::rollout::RuleSet;
use crate::rollout::cloud_foundry::{
    CloudFoundryBugs, DeploymentExplanation, DeploymentStrategy, Superseded, UPDATE_FREQUENCY,
    explain as explain_deployment,
};
use crate::world::ReleaseKind;

pub(super) fn explain(
    deployment: &CloudFoundryDeployment,
    fleet: Fleet<'_>,
) -> StrategyExplanation {
    let instances = fleet.len() as u32;
    if fleet.world.applications[0].release == ReleaseKind::Initial {
        let summary = format!(
            "Cloud Foundry, a first `cf push`: all {instances} instances at once, without steps or limits"
        );
        return StrategyExplanation {
            summary,
            ..StrategyExplanation::default()
        };
    }
    let CloudFoundryDeployment {
        rules,
        options,
        quota,
        ..
    } = deployment;
    let explained = explain_deployment(options, *rules, instances, quota);
    // The total number of instances of both versions may be highest in the first pass.
    let before = deployment
        .app(ReleaseKind::Update, instances)
        .desired_instances();
    let most = explained
        .peak_instances
        .max(before + u64::from(explained.first_batch));
    let kind = if options.strategy == DeploymentStrategy::Canary {
        "canary"
    } else {
        "rolling"
    };
    let summary = format!("Cloud Foundry, {kind} deployment, {}", by(*rules));
    let mut lines = vec![format!(
        "{} instances, one for each entry of the fleet; max_in_flight {}; {} start with the request; {most} of both versions at most",
        instances, options.max_in_flight, explained.first_batch,
    )];
    if let Some(passes) = explained.passes {
        let least = UPDATE_FREQUENCY * passes;
        lines.push(format!(
            "at least {passes} passes of the updater, {least} in total at one every \
        {UPDATE_FREQUENCY}"
        ));
    }
    lines.push(match rules {
        RuleSet::Shipped => {
            "further new instances start as others become routable; old ones that still run do not hold them back".to_owned()
        }
        RuleSet::Documented => {
            "a further new instance starts for each old one that was torn down".to_owned()
        }
    });
    let mut warnings = Vec::new();
    if let Some(superseded) = deployment.supersedes {
        let interim = superseded.instances;
        let oldest = superseded.oldest_instances(instances);
        lines.push(format!(
            "it supersedes a deployment that leaves {oldest} old and {interim} interim instances"
        ));
        warnings.extend(purge(deployment, superseded));
    }
    lines.extend(bugs(deployment));
    lines.extend(steps(&explained, options.canary_steps.as_deref()));
    lines.extend(users(deployment));
    warnings.extend(explained.warnings);
    StrategyExplanation {
        summary,
        lines,
        warnings,
    }
}

/// Returns the effect of the first pass on the instances of a superseded canary.
fn purge(deployment: &CloudFoundryDeployment, superseded: Superseded) -> Option<String> {
    if deployment.rules != RuleSet::Shipped || !superseded.state.is_purged() {
        return None;
    }
    let interim = superseded.instances;
    let counted = if deployment.upstream_bugs.purge {
        ", and counts them as old ones that are still there"
    } else {
        ""
    };
    Some(format!(
        "the first pass that changes anything removes all {interim} interim instances{counted}"
    ))
}

/// Returns the bugs that are reproduced. Bugs have an effect only if a deployment is superseded.
fn bugs(deployment: &CloudFoundryDeployment) -> Option<String> {
    let CloudFoundryBugs {
        purge,
        interim_trap,
    } = deployment.upstream_bugs;
    let is_default = deployment.upstream_bugs == CloudFoundryBugs::of(deployment.rules);
    if is_default && deployment.supersedes.is_none() {
        return None;
    }
    Some(format!(
        "upstreamBugs: purge {}, interimTrap {}",
        on_or_off(purge),
        on_or_off(interim_trap)
    ))
}

const fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn steps(explained: &DeploymentExplanation, weights: Option<&[u8]>) -> Vec<String> {
    if explained.steps.is_empty() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (at, step) in explained.steps.iter().enumerate() {
        let weight = match weights {
            Some(weights) => format!("{} %", weights[at]),
            None => "-".to_owned(),
        };
        rows.push([
            (at + 1).to_string(),
            weight,
            explained.starts(at).to_string(),
            step.canary.to_string(),
            step.original.to_string(),
        ]);
    }
    table(
        [
            "step",
            ">weight",
            ">starts",
            ">new instances",
            ">old instances",
        ],
        rows.into_iter(),
    )
}

fn users(deployment: &CloudFoundryDeployment) -> Vec<String> {
    let mut lines = Vec::new();
    if deployment.options.strategy == DeploymentStrategy::Canary {
        let when = match &deployment.continue_after {
            Some(after) => format!("after {after}"),
            None => "never; the rollout stalls at its first step".to_owned(),
        };
        lines.push(format!("a user continues after each step: {when}"));
    }
    if let Some(after) = &deployment.cancel_after {
        lines.push(format!(
            "a user cancels a deployment that is still in progress: after {after}"
        ));
    }
    lines
}
