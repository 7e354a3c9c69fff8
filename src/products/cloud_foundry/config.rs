//! A Cloud Foundry deployment in an experiment: the product's request, people's actions, and other deployments of the
//! app. The product's own validation is applied, and the quota is checked against the fleet.
//!
//! Fields of the request keep their JSON values, because the product has its own messages for wrong types. One request
//! that the product accepts is rejected: a number of instances that differs from the number of clusters, because each
//! cluster is one instance here.

#[cfg(test)]
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{CloudFoundryDeployment, RESTARTS};
use crate::control_plane::ControlLoop;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::delay::UserDelay;
use crate::products::fields::{self, Accepted, FileChoice, ObjectKind};
use crate::products::{FieldPlaces, Fleet, Product, ProductFile, Strategy, TunedSetting};
use crate::rollout::RuleSet;
#[cfg(test)]
use crate::rollout::cloud_foundry::DeploymentStrategy;
use crate::rollout::cloud_foundry::{
    AppQuota, CloudFoundryBugs, DeploymentOptions, DeploymentRequest, RequestError, Superseded,
};
use crate::units::SimDuration;
use crate::world::{AgentSpec, DurationModel, NEW, ReleaseKind, Restarts};

/// The control loop of the deployment updater. Passes start only at the scheduler's own wake-up times, not after
/// changes, and every pass queries Diego; the delays of the agents represent Diego's delays.
const CONTROL_LOOP: ControlLoop = ControlLoop {
    // Guess: a query to Diego or to a database on the same network; the spread is that of an API server.
    request: DurationModel::LogNormal {
        median: SimDuration::from_millis(5),
        sigma: 0.4,
    },
    client_qps: 0,
    client_burst: 0,
    watch_delay: SimDuration::ZERO,
};

/// A Cloud Foundry deployment, from a request's body or set here. Fields set here override the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "CloudFoundry"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct CloudFoundryConfig {
    /// A body of `POST /v3/deployments`, which supplies the fields that are not set here.
    file: Option<String>,
    /// Names of fields in the file that affect the rollout but are not simulated. A listed field adds a note to the
    /// results; any other such field is an error.
    accept: Accepted,
    /// Fields of the app that affect the rollout but are not simulated; `import` writes them. Each is an error unless
    /// `accept` lists it.
    not_simulated: Vec<String>,
    /// `rolling`, or `canary` with pauses. Default: rolling.
    #[cfg_attr(test, schemars(with = "Option<DeploymentStrategy>"))]
    strategy: Option<Value>,
    /// The request's `max_in_flight`: the maximum number of new instances not yet routable. Default: 1.
    #[cfg_attr(test, schemars(with = "Option<u64>"))]
    max_in_flight: Option<Value>,
    /// The request's `canary.steps`: `[{instance_weight: 10}, {instance_weight: 50}]`. Default: one step with one
    /// instance.
    #[cfg_attr(test, schemars(with = "Option<Vec<BTreeMap<String, u8>>>"))]
    canary_steps: Option<Value>,
    /// The simulated rule set.
    rules: RuleSet,
    /// Bugs of the product to reproduce. Default: all with `shipped`, none with `documented`.
    upstream_bugs: Option<CloudFoundryBugs>,
    /// A deployment in progress when this one is created, which supersedes it. Default: none.
    supersedes: Option<Superseded>,
    /// Delay until a user continues a paused deployment, drawn for every pause, or `never`. Default: never.
    continue_after: Option<UserDelay>,
    /// Delay from the creation until a user cancels an unfinished deployment, or `never`. Default: never.
    cancel_after: Option<UserDelay>,
    /// Quotas that the app's instances must fit into. Default: no limit.
    quota: AppQuota,
    /// Rules for the displayed statuses. `documented`: also the line of `cf app` in the proposals, with max-in-flight.
    statuses: RuleSet,
    /// Whether runs have the measure `peak_instances`. It is the most instances of all versions at a time.
    count_instances: bool,
}

/// The fields' names in the experiment, and their paths in a request.
const IN_PLACE: [(&str, &str); 3] = [
    ("strategy", "strategy"),
    ("maxInFlight", "options.max_in_flight"),
    ("canarySteps", "options.canary.steps"),
];

/// Examples: one early or late pause, and two or three pauses.
const CANARY_STEPS: &[&str] = &[
    "[{instance_weight: 1}]",
    "[{instance_weight: 10}]",
    "[{instance_weight: 10}, {instance_weight: 50}]",
    "[{instance_weight: 1}, {instance_weight: 10}, {instance_weight: 50}]",
    "[{instance_weight: 50}]",
];

const DEPLOYMENT: ObjectKind = ObjectKind {
    product: "Cloud Foundry",
    ..ObjectKind::of("deployment")
};

impl Product for CloudFoundryConfig {
    const KEY: &'static str = "cloudFoundry";
    const TITLE: &'static str = "Cloud Foundry";
    const SUMMARY: &'static str =
        "Cloud Foundry's deployment of an app; each entry of the fleet is one instance.";
    const TARGET: Option<&'static str> = Some("instance");
    const IN_FILE: &'static [(&'static str, &'static str)] = &IN_PLACE;
    const TUNED: &'static [TunedSetting] = &[
        TunedSetting::of("maxInFlight", &["1", "2", "5", "10", "20", "50", "100"]),
        TunedSetting {
            list: Some(("canarySteps", true)),
            ..TunedSetting::of("canarySteps", CANARY_STEPS)
        },
    ];
    const CONTROL_LOOP: ControlLoop = CONTROL_LOOP;
    const AGENT: &'static AgentSpec = &super::agent::AGENT;
    const RESTARTS: Restarts = RESTARTS;

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        self.check_app(path, context);
        let options = self.options(path, fleet, context)?;
        if let Some(superseded) = self.supersedes {
            let at = path.key("supersedes");
            if !is_possible_before(&at, superseded, fleet, context) {
                return None;
            }
        }
        let upstream_bugs = context.over(
            &path.key("upstreamBugs"),
            CloudFoundryBugs::of(self.rules),
            &[],
        );
        let continue_after = self.continue_after.as_ref();
        let cancel_after = self.cancel_after.as_ref();
        let deployment = CloudFoundryDeployment {
            rules: self.rules,
            upstream_bugs,
            supersedes: self.supersedes,
            options,
            quota: self.quota.clone(),
            continue_after: continue_after
                .and_then(|delay| delay.check(&path.key("continueAfter"), context)),
            cancel_after: cancel_after
                .and_then(|delay| delay.check(&path.key("cancelAfter"), context)),
            statuses: self.statuses,
            count_instances: self.count_instances,
        };
        let mut app = deployment.app(fleet.world.applications[0].release, fleet.len() as u32);
        if let Err(error) = app.create(self.rules, &deployment.options, NEW) {
            let help = "Cloud Foundry refuses this too and creates no deployment";
            context.report(&path.key("quota"), error.to_string(), help);
        }
        Some(Arc::new(deployment))
    }
}

impl CloudFoundryConfig {
    /// Reports fields of the app that affect the rollout and are not accepted, and adds a note about accepted ones.
    fn check_app(&self, path: &Path, context: &mut Context<'_>) {
        for (at, name) in self.not_simulated.iter().enumerate() {
            let at = path.key("notSimulated").index(at);
            let Some(effect) = fields::effect_of_app_field(name) else {
                let message =
                    format!("`{name}` of an app is simulated, or cannot change the answer");
                context.report(&at, message, "remove it");
                continue;
            };
            if self.accept.has(name) {
                context.notes.push(accepted_of_app(name, &effect));
                continue;
            }
            let message = format!(
                "`{name}` of the app is not simulated and can change the answer ({effect})"
            );
            let help = format!(
                "write `accept: [{name}]` in the strategy to go on without it, or remove it here if the app does not have it"
            );
            context.report(&at, message, &help);
        }
    }

    /// Returns the request's options, from the file and the experiment. `None`: Cloud Foundry would reject them for
    /// this fleet, and a problem was reported.
    fn options(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<DeploymentOptions> {
        let choice = FileChoice {
            name: self.file.as_deref(),
            path,
            accept: &self.accept,
            moot: &[],
        };
        let kind = ObjectKind {
            has_quota: self.quota != AppQuota::default(),
            ..DEPLOYMENT
        };
        let file: ProductFile<DeploymentRequest> = ProductFile::whole(choice, kind, context)?;
        let mut places = FieldPlaces::new(path, file.document.as_ref(), &IN_PLACE);
        places.marks_names = true;
        let options = match self.request(file.value).check() {
            Ok(options) => options,
            Err(errors) => {
                report_errors(&errors, &places, context);
                return None;
            }
        };
        let clusters = &fleet.world.clusters;
        if clusters.iter().any(|cluster| !cluster.installed) {
            let message = "an app runs in all clusters of the fleet before an update";
            let help = "remove `installed: false` from the fleet, or compare without Cloud Foundry";
            context.report(path, message, help);
            return None;
        }
        let count = clusters.len() as u32;
        if options
            .web_instances
            .is_some_and(|instances| instances != count)
        {
            let message = format!("the app has {count} instances, one for each entry of the fleet");
            let help = "leave `web_instances` out; Cloud Foundry would scale the app with it";
            places.report("options.web_instances", message, help, context);
            return None;
        }
        Some(options)
    }

    /// Merges the fields set here into the file's request.
    fn request(&self, mut request: DeploymentRequest) -> DeploymentRequest {
        let in_place = [&self.strategy, &self.max_in_flight, &self.canary_steps];
        for (value, (_, field)) in in_place.into_iter().zip(IN_PLACE) {
            if let Some(value) = value {
                request.set(field, value);
            }
        }
        request
    }
}

/// Returns the note about an accepted field of the app.
pub(crate) fn accepted_of_app(name: &str, effect: &str) -> String {
    format!("the app: `{name}` is accepted and not simulated ({effect})")
}

/// The path of the canary steps in a request.
const STEPS: &str = "options.canary.steps";

/// Reports the reasons why Cloud Foundry would reject a request.
fn report_errors(errors: &[RequestError], places: &FieldPlaces<'_>, context: &mut Context<'_>) {
    for error in errors {
        let help = match error.exception {
            Some(_) => "Cloud Foundry fails on this (HTTP 500) and creates no deployment",
            None if error.field == STEPS => {
                "write e.g. `canarySteps: [{instance_weight: 20}, {instance_weight: 50}]`; Cloud Foundry refuses this too \
                 (HTTP 422) and creates no deployment"
            }
            None => "Cloud Foundry refuses this too (HTTP 422) and creates no deployment",
        };
        places.report(&error.field, error.to_string(), help, context);
    }
}

/// Returns whether an app of the fleet's size can have this deployment in progress. Otherwise the problem is reported.
fn is_possible_before(
    path: &Path,
    superseded: Superseded,
    fleet: Fleet<'_>,
    context: &mut Context<'_>,
) -> bool {
    let clusters = fleet.len() as u32;
    if fleet.world.applications[0].release == ReleaseKind::Initial {
        let help = "leave `supersedes` out, or make the release an update";
        context.report(
            path,
            "the first deployment of an app cannot supersede another",
            help,
        );
        return false;
    }
    let Superseded { instances, state } = superseded;
    // A rolling deployment that has all its instances is no longer in progress.
    let most = if state.is_purged() {
        clusters
    } else {
        clusters.saturating_sub(1)
    };
    if instances == 0 || instances > most {
        let message = format!(
            "must be from 1 to {most}: a deployment in progress has at most that many of {clusters} instances"
        );
        let help = "an app has one instance for each entry of the fleet";
        context.report(&path.key("instances"), message, help);
        return false;
    }
    true
}
