//! Cloud Foundry's deployment updater: how it replaces the instances of an app with those of a new version.
//!
//! Follows cloudfoundry/cloud_controller_ng at 3bbba9069894b1b74652c7b88fdfd4171136c8c4:
//! `lib/cloud_controller/deployment_updater/{scheduler,dispatcher,updater}.rb` with all its `actions/`,
//! `lib/cloud_controller/diego/reporters/instances_reporter.rb`,
//! `app/models/runtime/{deployment_model,process_model}.rb` with their constraints,
//! `app/actions/deployment_{create,continue,cancel}.rb`, `app/messages/deployment_create_message.rb` and
//! `app/presenters/v3/deployment_presenter.rb`. `tests/conformance/cloud-foundry` holds recorded executions of this
//! code; every recorded case is a test.
//!
//! This folder uses Cloud Foundry's own terms:
//!
//! | word | meaning |
//! |---|---|
//! | app | the application that is rolled out; one rollout at a time |
//! | process | a desired number of instances of one version; the target of this scheduler's actions |
//! | instance, LRP | one running copy, with an index below its process's number; it pulls, starts and is routable |
//! | deployment | one rollout, with the process that it rolls out; all other web processes are old |
//! | step | part of a canary deployment; at its end the deployment waits for a user to continue |
//! | interim process | a process that a superseded deployment left behind |
//!
//! The scheduler is surge based: new instances are added to the old ones, up to `max_in_flight` that are not routable
//! yet, and an old instance is removed for each routable new one. The first batch starts when the deployment is
//! created ([`AppView::create`]), the next ones in passes, which only a period triggers.
//!
//! [`RuleSet`] selects the shipped rules or the rules of the product's proposals (`documented.rs`). Surprising shipped
//! rules are kept: instances that are being stopped are ignored; one unhealthy instance stops all growth; nothing
//! times out, and nothing is rolled back automatically; a quota without room for `max_in_flight` blocks indefinitely;
//! cancelling restarts all old instances simultaneously. Two outright bugs can be disabled ([`CloudFoundryBugs`]).
//!
//! Left out: several apps (one scheduler each; no rule spans them), processes other than web, revisions, sidecars.

mod api;
mod conditions;
mod control_loop;
mod documented;
mod draft;
mod explain;
mod hold;
mod json;
mod pass;
mod quota;
mod reports;
mod request;
mod steps;
mod superseded;
#[cfg(test)]
mod tests;
mod view;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pass;
use fleetsim_units::SimTime;

pub use super::RuleSet;
pub use api::ApiError;
pub use control_loop::{
    CRASH_BACKOFF_MAX, CRASH_BACKOFF_MIN, CRASH_RESET, GRACEFUL_SHUTDOWN, IMMEDIATE_RESTARTS,
    MAX_CRASHES, UPDATE_FREQUENCY,
};
pub use explain::{DeploymentExplanation, explain};
pub use quota::{AppQuota, QuotaLimits};
pub use reports::{InstanceCounts, InstanceReports, LrpState};
pub use request::{DeploymentOptions, DeploymentRequest, DeploymentStrategy, RequestError};
pub use steps::{CanaryStep, canary_step_plan};
pub use superseded::{Superseded, SupersededState};
pub use view::{AppView, Deployment, DeploymentState, Process, ProcessAction};

/// Bugs of the product; `true` reproduces the bug. The documented rules have no bugs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct CloudFoundryBugs {
    /// Instances of a superseded canary still count as old in the pass that removes them. So the oldest process loses
    /// too many instances: as many as the canary had. Off: the pass counts the remaining instances.
    pub purge: bool,
    /// The pass that removes an interim process does not finish the deployment. The next pass finishes it. Off: the
    /// deployment finishes immediately.
    pub interim_trap: bool,
}

impl CloudFoundryBugs {
    /// Reproduces no bugs.
    pub const NONE: Self = Self {
        purge: false,
        interim_trap: false,
    };

    /// Reproduces both bugs, as shipped.
    pub const ALL: Self = Self {
        purge: true,
        interim_trap: true,
    };

    /// Returns the default bugs of these rules: the documented rules have none.
    pub const fn of(rules: RuleSet) -> Self {
        match rules {
            RuleSet::Shipped => Self::ALL,
            RuleSet::Documented => Self::NONE,
        }
    }
}

impl Default for CloudFoundryBugs {
    fn default() -> Self {
        Self::ALL
    }
}

/// The deployment updater of one app. Its state is in the view, as the product keeps it in its database.
#[derive(Clone, Debug)]
pub struct CloudFoundry {
    rules: RuleSet,
    defects: CloudFoundryBugs,
    /// Start of the last pass, from which the period counts.
    last: SimTime,
}

impl CloudFoundry {
    /// Creates an updater with the production period ([`UPDATE_FREQUENCY`]).
    pub fn new(rules: RuleSet) -> Self {
        Self {
            rules,
            defects: CloudFoundryBugs::default(),
            last: SimTime::ZERO,
        }
    }

    /// Sets the bugs to reproduce.
    pub const fn with_defects(mut self, defects: CloudFoundryBugs) -> Self {
        self.defects = defects;
        self
    }

    /// Returns the next iteration of the updater's loop after `now`: a multiple of the period after the start of the
    /// last pass, or after time zero. If a pass takes longer than the period, the driver must start the next pass
    /// immediately; the period then counts from that start (`scheduler.rb` sleeps for the rest of the period).
    pub const fn next_pass(&self, now: SimTime) -> SimTime {
        let last = self.last.as_nanos();
        let period = UPDATE_FREQUENCY.as_nanos();
        let rounds = now.as_nanos().saturating_sub(last) / period + 1;
        SimTime::from_nanos(last.saturating_add(rounds.saturating_mul(period)))
    }

    /// Runs one pass of the updater. While a deployment is in progress, each pass requests the next pass. While all
    /// deployments are paused or finished, passes have no effect. After an action of a user, the next pass is due at
    /// [`next_pass`](Self::next_pass).
    pub fn reconcile(
        &mut self,
        now: SimTime,
        view: &AppView,
    ) -> Pass<ProcessAction, Vec<Deployment>> {
        self.last = now;
        let mut pass = pass::pass(self.rules, self.defects, view);
        let is_on_its_way = pass.status.iter().any(Deployment::is_ticked);
        pass.wake_at = is_on_its_way.then(|| self.next_pass(now));
        pass
    }
}
