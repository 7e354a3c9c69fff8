//! The rule that blocks a rollout, with numbers.
//!
//! The product reports only errors; this is derived from a pass that would change nothing. The first applicable rule
//! is reported: a cancelled deployment, a pause, an unresponsive Diego, a quota, unhealthy instances,
//! `max_in_flight`, the wait for old instances to exit (documented rules), and the wait for instances to become
//! routable.

use super::super::{Hold, text};
use super::pass::{limits, pass};
use super::quota::{AppQuota, QuotaLimits};
use super::reports::{InstanceCounts, LrpState};
use super::steps::CanaryStep;
use super::view::{AppView, Deployment, DeploymentState, Process};
use super::{CloudFoundry, RuleSet, documented};

impl CloudFoundry {
    /// The rule that blocks the rollout at `view`. `None`: no rollout, it is finished, or the next pass makes
    /// progress.
    pub fn hold(&self, view: &AppView) -> Option<Hold> {
        let Some(deployment) = view.active() else {
            return cancelled(view);
        };
        if deployment.state == DeploymentState::Paused {
            return paused(self.rules, deployment);
        }
        // Errors of earlier passes stay until one makes a change; here only that of the next pass counts.
        let mut view = view.clone();
        view.deployments
            .iter_mut()
            .for_each(|deployment| deployment.error = None);
        let next = pass(self.rules, self.defects, &view);
        let is_moved = |(before, after): (&Deployment, &Deployment)| before.state != after.state;
        if !next.actions.is_empty() || view.deployments.iter().zip(&next.status).any(is_moved) {
            return None;
        }
        let fails = next
            .status
            .iter()
            .any(|deployment| deployment.error.is_some());
        let deployment = view.active()?;
        let process = view.process(deployment.process?)?;
        let (counts, goal) = (process.counts(), deployment.goal(self.rules).canary);
        let stalled = StalledDeployment {
            rules: self.rules,
            view: &view,
            deployment,
            process,
            counts,
            goal,
        };
        stalled
            .diego()
            .or_else(|| fails.then(|| stalled.quota()))
            .or_else(|| stalled.unhealthy())
            .or_else(|| stalled.max_in_flight())
            .or_else(|| stalled.tear_down())
            .or_else(|| Some(stalled.routable()))
    }
}

fn cancelled(view: &AppView) -> Option<Hold> {
    let last = view
        .deployments
        .last()
        .filter(|last| last.state == DeploymentState::Canceled)?;
    let explanation = format!(
        "the deployment was cancelled: the app is back on {} with {}",
        view.revision,
        text::count(last.original_instances as usize, "instance")
    );
    Some(Hold::new("cancel", explanation))
}

fn paused(rules: RuleSet, deployment: &Deployment) -> Option<Hold> {
    let current = deployment.canary_current_step?;
    let CanaryStep { canary, original } = deployment.current_step(rules)?;
    let weight = deployment
        .options
        .canary_steps
        .as_ref()
        .map(|weights| weights[current as usize - 1]);
    let weight = weight.map_or_else(String::new, |weight| format!(" ({weight} %)"));
    let text = format!(
        "step {current} of {}{weight} is reached with {canary} new and {original} old instances; it waits for a user to \
         continue or cancel",
        deployment.plan(rules).len()
    );
    Some(Hold::new("canary", text))
}

/// A pass that would change nothing.
struct StalledDeployment<'a> {
    rules: RuleSet,
    view: &'a AppView,
    deployment: &'a Deployment,
    /// The new one, and its instances.
    process: &'a Process,
    counts: InstanceCounts,
    /// The number of new instances that it scales to.
    goal: u32,
}

impl StalledDeployment<'_> {
    fn diego(&self) -> Option<Hold> {
        (!self.view.diego_available && self.deployment.state != DeploymentState::Canceling).then(
            || {
                Hold::new(
                    "diego",
                    "Diego does not respond; passes have no effect until it does",
                )
            },
        )
    }

    /// The quota that the next pass would exceed.
    fn quota(&self) -> Hold {
        let usage = self.view.usage();
        let instances = self.wanted();
        let megabytes = instances * u64::from(self.process.memory_in_mb);
        let AppQuota {
            organization,
            space,
        } = &self.view.quota;
        for (limits, kind) in [(organization, "organization"), (space, "space")] {
            let QuotaLimits {
                name,
                other_instances,
                other_memory_in_mb,
                ..
            } = limits;
            let (most_instances, most_memory) =
                (limits.app_instance_limit, limits.memory_limit_in_mb);
            for (rule, unit, wanted, has, others, limit) in [
                (
                    "app_instance_limit",
                    "instances",
                    instances,
                    usage.instances,
                    other_instances,
                    most_instances,
                ),
                (
                    "memory",
                    "MB",
                    megabytes,
                    usage.memory_in_mb,
                    other_memory_in_mb,
                    most_memory,
                ),
            ] {
                if let Some(limit) = limit.filter(|limit| others + wanted > *limit) {
                    let explanation = format!(
                        "the pass needs {wanted} {unit} for the app, which has {has}; others use {others}, and {kind} \
                         `{name}` allows {limit}; the pass is rolled back, and so is the next"
                    );
                    return Hold::new(rule, explanation);
                }
            }
        }
        Hold::new(
            "quota",
            "the pass does not fit into a quota; it is rolled back, and so is the next",
        )
    }

    /// Instances of the app after the next pass, if it were not rolled back.
    fn wanted(&self) -> u64 {
        if self.deployment.state == DeploymentState::Canceling {
            return u64::from(self.deployment.original_instances);
        }
        let (keep, new) = limits(self.rules, self.deployment, self.counts.routable);
        keep.min(self.old_instances()) + new.max(u64::from(self.process.instances))
    }

    /// Shipped only: as documented an unhealthy instance only counts as in flight.
    fn unhealthy(&self) -> Option<Hold> {
        let unhealthy = self.counts.unhealthy;
        let text = format!(
            "{unhealthy} of {} new instances {} not healthy ({}), so no other is started, and nothing times out; {}",
            self.process.instances,
            text::are(unhealthy as usize),
            self.states(&STATES[3..]),
            self.left()
        );
        (self.rules == RuleSet::Shipped && unhealthy > 0).then(|| Hold::new("unhealthy", text))
    }

    fn max_in_flight(&self) -> Option<Hold> {
        let in_flight = match self.rules {
            RuleSet::Shipped => self.counts.starting,
            RuleSet::Documented => self.counts.starting + self.counts.unhealthy,
        };
        let limit = self.deployment.options.max_in_flight;
        let text = format!(
            "{in_flight} of {} new instances {} not routable yet ({}), and max_in_flight allows {limit}; {}",
            self.process.instances,
            text::are(in_flight as usize),
            self.states(&STATES),
            self.left()
        );
        (self.process.instances < self.goal && u64::from(in_flight) >= limit)
            .then(|| Hold::new("max_in_flight", text))
    }

    /// Documented only: shipped rules ignore old instances.
    fn tear_down(&self) -> Option<Hold> {
        let stopping: u32 = self.view.processes.iter().map(Process::stopping).sum();
        let text = format!(
            "{} instances exist, {stopping} of them being stopped, and at most {} may exist; {}",
            self.view.desired_instances() + u64::from(stopping),
            documented::cap(self.deployment),
            self.left()
        );
        let is_short = self.process.instances < self.goal;
        (self.rules == RuleSet::Documented && is_short).then(|| Hold::new("max_in_flight", text))
    }

    fn routable(&self) -> Hold {
        let text = format!(
            "{} of {} new instances are routable, and all of them must be ({}); nothing times out",
            self.counts.routable,
            self.process.instances,
            self.states(&STATES)
        );
        Hold::new("routable", text)
    }

    /// The remaining work.
    fn left(&self) -> String {
        let place = match self.deployment.canary_current_step {
            Some(step) if self.deployment.state == DeploymentState::Prepaused => {
                format!(" for step {step}")
            }
            _ => String::new(),
        };
        format!(
            "{} more must be started{place}, {} old ones are running",
            self.goal.saturating_sub(self.process.instances),
            self.old_instances()
        )
    }

    fn old_instances(&self) -> u64 {
        self.view.desired_instances() - u64::from(self.process.instances)
    }

    /// `2 crashed, 1 not reported`: the number of new instances in each of `states`.
    fn states(&self, states: &[(LrpState, &str)]) -> String {
        let instances = self.process.instances as usize;
        let state = |index: usize| self.process.lrps.get(index).copied().unwrap_or_default();
        let count = |wanted: LrpState| {
            (0..instances)
                .filter(|index| state(*index) == wanted)
                .count()
        };
        let found = states
            .iter()
            .map(|(state, name)| (count(*state), name))
            .filter(|(count, _)| *count > 0);
        found
            .map(|(count, name)| format!("{count} {name}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// All states but routable ones; those that count as unhealthy are the last four.
const STATES: [(LrpState, &str); 7] = [
    (LrpState::Claimed, "starting"),
    (LrpState::Unclaimed, "waiting for a cell"),
    (LrpState::RunningNotRoutable, "running and not routable"),
    (LrpState::Crashed, "crashed"),
    (LrpState::PlacementError, "placed nowhere"),
    (LrpState::Unknown, "in an unknown state"),
    (LrpState::Unreported, "not reported"),
];
