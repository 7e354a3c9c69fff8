//! Cloud Foundry's deployment in instances: first batch, steps, the most there will be at once, and what users do.

use std::fmt::Write as _;

use fleetsim::rollout::cloud_foundry::{
    CloudFoundryBugs, DeploymentExplanation, DeploymentStrategy, RuleSet, Superseded, UPDATE_FREQUENCY, explain,
};
use fleetsim::scenario::{CloudFoundryDeployment, Scenario};
use fleetsim::world::{DurationModel, ReleaseKind};

pub(super) fn text(label: &str, scenario: &Scenario, deployment: &CloudFoundryDeployment) -> String {
    let instances = scenario.world.clusters.len() as u32;
    if scenario.world.release == ReleaseKind::Initial {
        return format!(
            "{label}: Cloud Foundry, a first `cf push`: all {instances} instances at once, without steps or limits\n"
        );
    }
    let CloudFoundryDeployment { rules, options, quota, supersedes, .. } = deployment;
    let explained = explain(options, *rules, instances, quota);
    let rules = match rules {
        RuleSet::Shipped => "the rules that ship",
        RuleSet::Documented => "the rules that its proposals describe",
    };
    // At first there may be more of both versions than ever again.
    let before = deployment.app(ReleaseKind::Update, instances).desired_instances();
    let most = explained.peak_instances.max(before + u64::from(explained.first_batch));
    let mut text = format!("{label}: Cloud Foundry, {} deployment, by {rules}\n", explained.strategy);
    let _ = writeln!(
        text,
        "  {} instances, one in each cluster; max_in_flight {}; {} start with the request; {} of both versions at most",
        explained.instances, explained.max_in_flight, explained.first_batch, most,
    );
    if let Some(passes) = explained.passes {
        let least = UPDATE_FREQUENCY * passes;
        let _ =
            writeln!(text, "  at least {passes} passes of the updater, {least} in all at one every {UPDATE_FREQUENCY}");
    }
    if let Some(superseded) = supersedes {
        superseding(&mut text, *superseded, instances, deployment);
    }
    defects(&mut text, deployment);
    steps(&mut text, &explained);
    users(&mut text, &explained, deployment);
    for warning in &explained.warnings {
        let _ = writeln!(text, "  note: {warning}");
    }
    text
}

/// What there is of the deployment that is superseded, and what the first pass that does something makes of it.
fn superseding(text: &mut String, superseded: Superseded, instances: u32, deployment: &CloudFoundryDeployment) {
    let (interim, oldest) = (superseded.instances, superseded.oldest_instances(instances));
    let _ = writeln!(text, "  it supersedes a deployment that leaves {oldest} old and {interim} interim instances");
    if deployment.rules == RuleSet::Shipped && superseded.state.is_purged() {
        let counted = if deployment.defects.purge { ", and counts them as old ones that are still there" } else { "" };
        let _ = writeln!(
            text,
            "  note: the first pass that does something takes all {interim} interim instances away{counted}"
        );
    }
}

/// Which bugs are reproduced; they come up only where a deployment is superseded.
fn defects(text: &mut String, deployment: &CloudFoundryDeployment) {
    let CloudFoundryBugs { purge, interim_trap } = deployment.defects;
    if deployment.defects != CloudFoundryBugs::of(deployment.rules) || deployment.supersedes.is_some() {
        let word = |is_on| if is_on { "on" } else { "off" };
        let _ = writeln!(text, "  defects: purge {}, interimTrap {}", word(purge), word(interim_trap));
    }
}

fn steps(text: &mut String, explained: &DeploymentExplanation) {
    if explained.steps.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "  {:4}  {:>6}  {:>6}  {:>13}  {:>13}",
        "step", "weight", "starts", "new instances", "old instances"
    );
    for (index, step) in explained.steps.iter().enumerate() {
        let weight = step.weight.map_or_else(|| "-".to_owned(), |weight| format!("{weight} %"));
        let number = index + 1;
        let _ = writeln!(
            text,
            "  {number:<4}  {weight:>6}  {:>6}  {:>13}  {:>13}",
            step.starts, step.canary, step.original
        );
    }
}

fn users(text: &mut String, explained: &DeploymentExplanation, deployment: &CloudFoundryDeployment) {
    if explained.strategy == DeploymentStrategy::Canary {
        let when = deployment.continue_after.as_ref();
        let when = when.map_or_else(|| "never; the rollout stalls at its first step".to_owned(), span);
        let _ = writeln!(text, "  a user continues after each step: {when}");
    }
    if let Some(after) = &deployment.cancel_after {
        let _ = writeln!(text, "  a user cancels what is still on its way: {}", span(after));
    }
}

fn span(model: &DurationModel) -> String {
    format!("after {model}")
}
