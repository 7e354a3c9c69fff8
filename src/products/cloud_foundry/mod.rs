//! Cloud Foundry: a deployment of an app with one instance in each cluster.

mod adapter;
mod agent;
mod cells;
mod config;
mod explain;
mod updater_clock;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::control_plane::{Change, Controller};
use crate::products::delay::at_once;
use crate::products::strategy::remove_null;
use crate::products::{
    Documented, FailureRefusal, Fleet, Run, Strategy, StrategyExplanation, StrategyPart,
};
use crate::results::Snippet;
use crate::rollout::RuleSet;
use crate::rollout::cloud_foundry::{
    AppQuota, AppView, CRASH_BACKOFF_MAX, CRASH_BACKOFF_MIN, CRASH_RESET, CloudFoundryBugs,
    DeploymentOptions, IMMEDIATE_RESTARTS, MAX_CRASHES, Superseded,
};
use crate::world::{
    ApplyFailure, Backoff, DurationModel, NEW, OLD, ReleaseKind, Restarter, Restarts,
};

pub(crate) use config::{CloudFoundryConfig, accepted_of_app};

/// Diego's rule for restarting instances that crash.
pub const RESTARTS: Restarts = Restarts {
    by: Restarter::Diego,
    immediate: IMMEDIATE_RESTARTS,
    backoff: Backoff {
        initial: CRASH_BACKOFF_MIN,
        max: CRASH_BACKOFF_MAX,
        reset: CRASH_RESET,
    },
    last: Some(MAX_CRASHES),
};

/// A checked deployment that the product accepts for its fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudFoundryDeployment {
    /// The simulated rule set.
    pub rules: RuleSet,
    /// Bugs of the product to reproduce.
    pub upstream_bugs: CloudFoundryBugs,
    /// A deployment in progress when this one is created. `None`: the app is settled.
    pub supersedes: Option<Superseded>,
    /// The request's options. The number of instances does not change.
    pub options: DeploymentOptions,
    /// Quotas of the app's organization and space. The initial instances fit into them.
    pub quota: AppQuota,
    /// The delay until a user continues a paused deployment. `None`: it is never continued.
    pub continue_after: Option<DurationModel>,
    /// Delay from the creation of the deployment until a user cancels it. `None`: it is never cancelled.
    pub cancel_after: Option<DurationModel>,
    /// The rules for displayed statuses: only those of the API, or also the line of `cf app` in the proposals.
    pub statuses: RuleSet,
    /// Whether runs have the measure `peak_instances`.
    pub count_instances: bool,
}

impl CloudFoundryDeployment {
    /// Returns the app with `instances` before the request. A superseded deployment's release counts as an old one.
    pub fn app(&self, release: ReleaseKind, instances: u32) -> AppView {
        let mut app = match (release, self.supersedes) {
            (ReleaseKind::Update, None) => AppView::settled(OLD, instances),
            (ReleaseKind::Update, Some(superseded)) => {
                AppView::on_its_way(OLD, OLD, instances, superseded)
            }
            (ReleaseKind::Initial, _) => AppView::stopped(NEW, instances),
        };
        app.quota = self.quota.clone();
        app
    }
}

impl Strategy for CloudFoundryDeployment {
    fn refuses_failure(&self, _failure: ApplyFailure) -> Option<FailureRefusal> {
        Some(FailureRefusal {
            message: "Cloud Foundry applies nothing in a cluster; it starts instances, and these crash or stay unhealthy",
            help: "write `faults.defect: {share: 10%}` for instances that crash, with `kind: unready` for those that \
                   never become healthy, or `faults.notFound` for a missing image",
        })
    }

    fn memory_of_target(&self, _releases: usize) -> f64 {
        2_000.0
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        explain::explain(self, fleet)
    }

    fn as_documented(&self, _: Fleet<'_>) -> Option<Documented> {
        if self.rules == RuleSet::Documented {
            return None;
        }
        Some(Documented {
            strategy: Box::new(Self {
                rules: RuleSet::Documented,
                upstream_bugs: CloudFoundryBugs::of(RuleSet::Documented),
                ..self.clone()
            }),
            section: "cloud-foundry",
        })
    }

    fn snippet(&self) -> Option<Snippet> {
        let text = serde_json::to_string_pretty(&request(&self.options)).expect("plain data");
        let place = "Cloud Foundry, the body of POST /v3/deployments (without the app)".to_owned();
        Some(Snippet {
            place,
            text: text + "\n",
        })
    }

    /// Stopping the rollout cancels the deployment, and resuming it continues a canary: the product has no pause.
    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Release(_) | Change::Stop(_) => Ok(()),
            _ => Err(
                "fleetsim's own updater for Cloud Foundry supports `release` and `stop`".to_owned(),
            ),
        }
    }

    fn can_pause(&self) -> Result<(), String> {
        Err("Cloud Foundry has no pause, and `cf cancel-deployment` goes back".to_owned())
    }

    fn without(&self, part: StrategyPart) -> Option<Arc<dyn Strategy>> {
        if part != StrategyPart::People {
            return None;
        }
        Some(Arc::new(Self {
            continue_after: Some(at_once(self.continue_after.as_ref())),
            ..self.clone()
        }))
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(adapter::CloudFoundryController::new(self, &run))
    }
}

/// Returns the request body with these options. The matching `cf push` flags are `--strategy`, `--max-in-flight` and
/// `--instance-steps`.
fn request(options: &DeploymentOptions) -> Value {
    let mut fields = json!(options);
    let strategy = fields["strategy"].take();
    let weights = fields["canary_steps"].take();
    if let Value::Array(weights) = weights {
        let steps: Vec<Value> = weights
            .iter()
            .map(|weight| json!({ "instance_weight": weight }))
            .collect();
        fields["canary"] = json!({ "steps": steps });
    }
    let mut body = json!({ "strategy": strategy, "options": fields });
    remove_null(&mut body);
    body
}
