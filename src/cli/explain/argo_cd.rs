//! What Argo CD's strategies would do to a fleet, in numbers.

use std::fmt::Write as _;

use fleetsim::rollout::argo_cd::proposal::{ProposalStrategy, ProposedRollingUpdate};
use fleetsim::rollout::argo_cd::{ApplicationSetSpec, ControllerOptions, explain};
use fleetsim::scenario::{ArgoCdRelease, Scenario};

use super::some_of;

/// Steps listed of one strategy before the rest is counted.
const STEPS_SHOWN: usize = 12;

pub(super) fn application_set(
    label: &str,
    scenario: &Scenario,
    spec: &ApplicationSetSpec,
    options: ControllerOptions,
    release: ArgoCdRelease,
) -> String {
    let explained =
        explain(spec, options, &scenario.argo_cd_applications()).expect("a checked strategy has steps or is none");
    let order = if explained.rolling { "RollingSync" } else { "all at once" };
    let mut text = format!("{label}: Argo CD ApplicationSet of {} applications, {order}\n", explained.applications);
    for step in explained.steps.iter().take(STEPS_SHOWN) {
        let _ = writeln!(text, "  {step}");
    }
    more(&mut text, explained.steps.len());
    if !explained.unselected.is_empty() {
        let _ = writeln!(text, "  in no step: {}", some_of(&explained.unselected));
    }
    for warning in &explained.warnings {
        let _ = writeln!(text, "  note: {warning}");
    }
    if explained.rolling && release == ArgoCdRelease::Parameters && !options.keep_spec_changes {
        text.push_str(
            "  note: the release changes parameters alone; on applications that are Synced and Healthy the rollout \
             loses such a change (argoproj/argo-cd#27949)\n",
        );
    }
    text
}

pub(super) fn proposal(label: &str, scenario: &Scenario, strategy: &ProposalStrategy) -> String {
    let applications = scenario.argo_cd_applications();
    let scheduler = ProposedRollingUpdate::new(strategy, &applications).expect("a checked strategy makes steps");
    let steps: Vec<_> = scheduler.steps().collect();
    let order = if steps.is_empty() { "all at once" } else { "RollingUpdate" };
    let count = applications.len();
    let mut text = format!("{label}: Argo CD's proposal that never shipped, {count} applications, {order}\n");
    for (number, (members, limit)) in (1..).zip(&steps).take(STEPS_SHOWN) {
        let names: Vec<String> = members.iter().map(|target| applications[target.index()].0.clone()).collect();
        let limit = limit.map_or_else(|| "all at once".to_owned(), |limit| format!("{limit} at once"));
        let _ = match names.is_empty() {
            true => writeln!(text, "  step {number}: no application"),
            false => writeln!(text, "  step {number}: {} applications ({}), {limit}", names.len(), some_of(&names)),
        };
    }
    more(&mut text, steps.len());
    let unselected: Vec<String> = scheduler.unselected().map(str::to_owned).collect();
    if !unselected.is_empty() {
        let _ = writeln!(text, "  in no step, so never changed: {}", some_of(&unselected));
    }
    text
}

fn more(text: &mut String, steps: usize) {
    if steps > STEPS_SHOWN {
        let _ = writeln!(text, "  ... and {} more steps", steps - STEPS_SHOWN);
    }
}
