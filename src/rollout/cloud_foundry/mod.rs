//! How Cloud Foundry's deployment updater replaces the instances of an app by those of a new version.
//!
//! Follows cloudfoundry/cloud_controller_ng at 3bbba9069894b1b74652c7b88fdfd4171136c8c4:
//! `lib/cloud_controller/deployment_updater/{scheduler,dispatcher,updater}.rb` with all its `actions/`,
//! `lib/cloud_controller/diego/reporters/instances_reporter.rb`, `app/models/runtime/{deployment_model,process_model}.rb`
//! with their constraints, `app/actions/deployment_{create,continue,cancel}.rb`,
//! `app/messages/deployment_create_message.rb` and `app/presenters/v3/deployment_presenter.rb`. What these did when
//! they were run is recorded in `tests/conformance/cloud-foundry`, and every case of it is a test.
//!
//! Cloud Foundry's own words, kept in this folder:
//!
//! | word | meaning |
//! |---|---|
//! | app | what is rolled out; one rollout at a time |
//! | process | a desired number of instances of one version; the target of this scheduler's actions |
//! | instance, LRP | one running copy, with an index below its process's number; what pulls, starts and is routable |
//! | deployment | one rollout, with the process that it rolls out; all other web processes are old |
//! | step | of a canary deployment: reached, it waits for a user to continue |
//! | interim process | one that a superseded deployment left behind |
//!
//! The scheduler is surge based: new instances are added beside the old ones, up to `max_in_flight` that are not
//! routable yet, and for each routable one an old one goes. The first batch starts when the deployment is created
//! ([`AppView::create`]), the next ones in passes, which come with a period and for no other reason.
//!
//! [`RuleSet`] chooses between what ships and what the product's proposals promise (`documented.rs`). Where shipped rules
//! surprise, they are kept: instances that are being stopped are not looked at; one unhealthy instance stops all
//! growth; nothing times out and nothing goes back by itself; a quota that lacks room for `max_in_flight` blocks for
//! ever; cancelling brings all old instances back at once. Two outright bugs can be switched off ([`CloudFoundryBugs`]).
//!
//! Left out: several apps (one scheduler each; no rule spans them), processes other than web, revisions, sidecars.

mod api;
mod control_loop;
mod documented;
mod draft;
mod explain;
mod hold;
mod json;
mod lrp;
mod pass;
mod quota;
mod request;
mod steps;
mod superseded;
#[cfg(test)]
mod tests;
mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Hold, Pass, Scheduler};
use crate::units::{SimDuration, SimTime};

pub use super::RuleSet;
pub use api::ApiError;
pub use control_loop::{
    CONCURRENT_DEPLOYMENTS, CRASH_BACKOFF_MAX, CRASH_BACKOFF_MIN, CRASH_RESET, GRACEFUL_SHUTDOWN, IMMEDIATE_RESTARTS,
    MAX_CRASHES, READINESS_CHECK_PERIOD, UPDATE_FREQUENCY, UPDATE_FREQUENCY_DEVELOPMENT, control_loop,
};
pub use explain::{CanaryStepExplanation, DeploymentExplanation, explain};
pub use lrp::{InstanceCounts, LrpState};
pub use quota::{AppQuota, QuotaError, QuotaLimits};
pub use request::{DeploymentOptions, DeploymentRequest, DeploymentStrategy, NumberField, NumberProblem, RequestError};
pub use steps::{CanaryStep, canary_step_plan};
pub use superseded::{Superseded, SupersededState};
pub use view::{AppView, Deployment, DeploymentState, DeploymentStatus, Process, UpdaterStatus};

/// Bugs of the product, as shipped unless they are switched off. Documented rules have none of them.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CloudFoundryBugs {
    /// Instances of a superseded canary that a pass takes away still count as old ones in that pass, so that the
    /// oldest process loses as many too much. Off: the pass counts what is left.
    pub purge: bool,
    /// A pass that removes an interim process and finishes the deployment fails, and the next one finishes it. Off: it
    /// finishes at once.
    pub interim_trap: bool,
}

impl CloudFoundryBugs {
    /// Neither.
    pub const NONE: Self = Self { purge: false, interim_trap: false };
    /// Both, as shipped.
    pub const ALL: Self = Self { purge: true, interim_trap: true };

    /// The bugs that go with these rules by default: the documentation knows of none.
    #[must_use]
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

/// The deployment updater of one app. All that it remembers is in the view, as the product's is in its database.
#[derive(Clone, Debug)]
pub struct CloudFoundry {
    rules: RuleSet,
    defects: CloudFoundryBugs,
    period: SimDuration,
    /// When the last pass began, from which the period counts.
    last: SimTime,
}

impl CloudFoundry {
    /// An updater with the production period ([`UPDATE_FREQUENCY`]).
    #[must_use]
    pub fn new(rules: RuleSet) -> Self {
        Self { rules, defects: CloudFoundryBugs::default(), period: UPDATE_FREQUENCY, last: SimTime::ZERO }
    }

    /// The same with these bugs.
    #[must_use]
    pub const fn with_defects(mut self, defects: CloudFoundryBugs) -> Self {
        self.defects = defects;
        self
    }

    /// The same with another period between the starts of passes.
    ///
    /// # Panics
    /// If it is zero: a pass would follow the other without end.
    #[must_use]
    pub const fn with_period(mut self, period: SimDuration) -> Self {
        assert!(!period.is_zero(), "an updater waits between passes");
        self.period = period;
        self
    }

    /// The rules it follows.
    #[must_use]
    pub const fn rules(&self) -> RuleSet {
        self.rules
    }

    /// When the updater's loop comes round next after `now`: so many periods after the start of the last pass, or after
    /// the beginning of time. A pass that takes longer than the period is followed by the next at once, for which its
    /// driver has to care; the period then counts from the start of that one (`scheduler.rb` sleeps for what the pass has
    /// left of the period).
    #[must_use]
    pub const fn next_pass(&self, now: SimTime) -> SimTime {
        let (last, period) = (self.last.as_nanos(), self.period.as_nanos());
        let rounds = now.as_nanos().saturating_sub(last) / period + 1;
        SimTime::from_nanos(last.saturating_add(rounds.saturating_mul(period)))
    }
}

impl Scheduler for CloudFoundry {
    type View = AppView;
    type Status = UpdaterStatus;

    /// One pass of the updater. It wants to be called again while a deployment is on its way; while all are paused or
    /// over, only a user's action (and then the [`next_pass`](Self::next_pass)) has one do something.
    fn reconcile(&mut self, now: SimTime, view: &AppView) -> Pass<UpdaterStatus> {
        self.last = now;
        let mut pass = pass::pass(self.rules, self.defects, now, view);
        let is_on_its_way = pass.status.deployments.iter().any(Deployment::is_ticked);
        pass.wake_at = is_on_its_way.then(|| self.next_pass(now));
        pass
    }

    /// Which rule holds the rollout at `view`. `None`: there is none, it is finished, or the next pass moves it on.
    fn hold(&self, view: &AppView) -> Option<Hold> {
        hold::hold(self, view)
    }
}
