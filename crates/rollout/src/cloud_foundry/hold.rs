//! The rule that blocks a rollout, with numbers.
//!
//! The product reports only errors; this is derived from a pass that would change nothing. The first applicable rule
//! is reported: a cancelled deployment, a pause, an unresponsive Diego, a quota, unhealthy instances,
//! `max_in_flight`, the wait for old instances to exit (documented rules), and the wait for instances to become
//! routable.

use super::super::{Hold, text};
use super::pass::{ScaleLimits, pass};
use super::quota::{AppQuota, QuotaLimits};
use super::reports::{InstanceCounts, LrpState};
use super::steps::CanaryStep;
use super::view::{AppView, Deployment, DeploymentState, Process};
use super::{CloudFoundry, RuleSet, documented};

impl CloudFoundry {
    /// Returns the rule that blocks the rollout at `view`. `None`: there is no rollout, it is finished, or the next
    /// pass makes progress.
    pub fn hold(&self, view: &AppView) -> Option<Hold> {
        let Some(deployment) = view.active() else {
            return cancelled(view);
        };
        if deployment.state == DeploymentState::Paused {
            return paused(self.rules, deployment);
        }
        // Errors of earlier passes remain until a pass makes a change. Here only the error of the next pass counts.
        let mut view = view.clone();
        for deployment in &mut view.deployments {
            deployment.error = None;
        }
        let next = pass(self.rules, self.defects, &view);
        let mut fails = false;
        for (before, after) in view.deployments.iter().zip(&next.status) {
            if before.state != after.state {
                return None;
            }
            fails |= after.error.is_some();
        }
        if !next.actions.is_empty() {
            return None;
        }
        let deployment = view.active()?;
        let process = view.process(deployment.process?)?;
        let stalled = StalledDeployment {
            rules: self.rules,
            view: &view,
            deployment,
            process,
            counts: process.counts(),
            goal: deployment.goal(self.rules).canary,
            fails,
        };
        let rules = [
            StalledDeployment::diego,
            StalledDeployment::quota,
            StalledDeployment::unhealthy,
            StalledDeployment::max_in_flight,
            StalledDeployment::tear_down,
        ];
        let hold = rules.iter().find_map(|rule| rule(&stalled));
        Some(hold.unwrap_or_else(|| stalled.routable()))
    }
}

fn cancelled(view: &AppView) -> Option<Hold> {
    let last = view.deployments.last()?;
    if last.state != DeploymentState::Canceled {
        return None;
    }
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
    let weight = match &deployment.options.canary_steps {
        Some(weights) => format!(" ({} %)", weights[current as usize - 1]),
        None => String::new(),
    };
    let explanation = format!(
        "step {current} of {}{weight} is reached with {canary} new and {original} old instances; it waits for a user to \
         continue or cancel",
        deployment.plan(rules).len()
    );
    Some(Hold::new("canary", explanation))
}

/// A deployment in which a pass would change nothing.
struct StalledDeployment<'a> {
    rules: RuleSet,
    view: &'a AppView,
    deployment: &'a Deployment,
    /// The new process.
    process: &'a Process,
    counts: InstanceCounts,
    /// Number of new instances that the deployment scales to.
    goal: u32,
    /// Whether the pass is rolled back because of an error.
    fails: bool,
}

/// The demand of a pass on one limit of a quota.
struct QuotaDemand {
    /// The name of the limit.
    rule: &'static str,
    unit: &'static str,
    /// The app's demand, including its present usage.
    wanted: u64,
    has: u64,
    /// The usage of other apps.
    others: u64,
    /// The limit. `None`: unlimited.
    limit: Option<u64>,
}

impl StalledDeployment<'_> {
    fn diego(&self) -> Option<Hold> {
        if self.view.diego_available || self.deployment.state == DeploymentState::Canceling {
            return None;
        }
        let explanation = "Diego does not respond; passes have no effect until it does";
        Some(Hold::new("diego", explanation))
    }

    /// Returns the quota that the next pass would exceed, if it fails.
    fn quota(&self) -> Option<Hold> {
        if !self.fails {
            return None;
        }
        let AppQuota {
            organization,
            space,
        } = &self.view.quota;
        for (limits, kind) in [(organization, "organization"), (space, "space")] {
            for demand in self.demands(limits) {
                let QuotaDemand {
                    rule,
                    unit,
                    wanted,
                    has,
                    others,
                    limit,
                } = demand;
                if let Some(limit) = limit
                    && others + wanted > limit
                {
                    let explanation = format!(
                        "the pass needs {wanted} {unit} for the app, which has {has}; others use {others}, and {kind} \
                         `{}` allows {limit}; the pass is rolled back, and so is the next",
                        limits.name
                    );
                    return Some(Hold::new(rule, explanation));
                }
            }
        }
        Some(Hold::new(
            "quota",
            "the pass does not fit into a quota; it is rolled back, and so is the next",
        ))
    }

    /// Returns the demand of the next pass on the limits of an organization or a space.
    fn demands(&self, limits: &QuotaLimits) -> [QuotaDemand; 2] {
        let usage = self.view.usage();
        let instances = self.wanted();
        [
            QuotaDemand {
                rule: "app_instance_limit",
                unit: "instances",
                wanted: instances,
                has: usage.instances,
                others: limits.other_instances,
                limit: limits.app_instance_limit,
            },
            QuotaDemand {
                rule: "memory",
                unit: "MB",
                wanted: instances * u64::from(self.process.memory_in_mb),
                has: usage.memory_in_mb,
                others: limits.other_memory_in_mb,
                limit: limits.memory_limit_in_mb,
            },
        ]
    }

    /// Returns the number of instances that the app would have after the next pass if the pass were not rolled back.
    fn wanted(&self) -> u64 {
        if self.deployment.state == DeploymentState::Canceling {
            return u64::from(self.deployment.original_instances);
        }
        let limits = ScaleLimits::of(self.rules, self.deployment, self.counts.routable);
        let old = limits.old.min(self.old_instances());
        let new = limits.new.max(u64::from(self.process.instances));
        old + new
    }

    /// Returns the hold if instances are unhealthy. Shipped rules only: under the documented rules, unhealthy
    /// instances only count as in flight.
    fn unhealthy(&self) -> Option<Hold> {
        let unhealthy = self.counts.unhealthy;
        if self.rules == RuleSet::Documented || unhealthy == 0 {
            return None;
        }
        let explanation = format!(
            "{unhealthy} of {} new instances {} not healthy ({}), so no other is started, and nothing times out; {}",
            self.process.instances,
            text::are(unhealthy as usize),
            self.states(&STATES[3..]),
            self.left()
        );
        Some(Hold::new("unhealthy", explanation))
    }

    fn max_in_flight(&self) -> Option<Hold> {
        let in_flight = match self.rules {
            RuleSet::Shipped => self.counts.starting,
            RuleSet::Documented => self.counts.starting + self.counts.unhealthy,
        };
        let limit = self.deployment.options.max_in_flight;
        if !self.is_short() || u64::from(in_flight) < limit {
            return None;
        }
        let explanation = format!(
            "{in_flight} of {} new instances {} not routable yet ({}), and max_in_flight allows {limit}; {}",
            self.process.instances,
            text::are(in_flight as usize),
            self.states(&STATES),
            self.left()
        );
        Some(Hold::new("max_in_flight", explanation))
    }

    /// Returns the hold if old instances have not exited. Documented rules only: shipped rules ignore old instances.
    fn tear_down(&self) -> Option<Hold> {
        if self.rules == RuleSet::Shipped || !self.is_short() {
            return None;
        }
        let stopping: u32 = self.view.processes.iter().map(Process::stopping).sum();
        let explanation = format!(
            "{} instances exist, {stopping} of them being stopped, and at most {} may exist; {}",
            self.view.desired_instances() + u64::from(stopping),
            documented::cap(self.deployment),
            self.left()
        );
        Some(Hold::new("max_in_flight", explanation))
    }

    /// Returns whether new instances are still to be started.
    const fn is_short(&self) -> bool {
        self.process.instances < self.goal
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

    /// Describes the remaining work.
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

    /// Formats the number of new instances in each of `states`: `2 crashed, 1 not reported`.
    fn states(&self, states: &[(LrpState, &str)]) -> String {
        let mut texts = Vec::new();
        for (state, name) in states {
            let count = self.instances_in(*state);
            if count > 0 {
                texts.push(format!("{count} {name}"));
            }
        }
        texts.join(", ")
    }

    /// Returns the number of new instances in a state.
    fn instances_in(&self, wanted: LrpState) -> usize {
        let lrps = &self.process.lrps;
        let indices = 0..self.process.instances as usize;
        let states = indices.map(|index| lrps.get(index).copied().unwrap_or_default());
        states.filter(|state| *state == wanted).count()
    }
}

/// All states except routable; the last four states count as unhealthy.
const STATES: [(LrpState, &str); 7] = [
    (LrpState::Claimed, "starting"),
    (LrpState::Unclaimed, "waiting for a cell"),
    (LrpState::RunningNotRoutable, "running and not routable"),
    (LrpState::Crashed, "crashed"),
    (LrpState::PlacementError, "placed nowhere"),
    (LrpState::Unknown, "in an unknown state"),
    (LrpState::Unreported, "not reported"),
];
