//! Cloud Foundry's deployment: held against the product's own validation, and against its quota for this fleet.
//!
//! One thing that the product accepts is refused as well: another number of instances than the fleet has clusters,
//! because an instance is a cluster here.

use serde_json::{Map, Value, json};

use super::super::cloud_foundry_file::{CloudFoundryFile, LimitsFile, QuotaFile, SupersededFile, UserFile};
use super::super::{CloudFoundryDeployment, Strategy};
use super::{CheckedWorld, Checker};
use crate::document::context::Document;
use crate::document::path::{Path, Step};
use crate::document::problem::Problem;
use crate::rollout::cloud_foundry::{AppQuota, DeploymentRequest, QuotaLimits, RequestError, Superseded};
use crate::units::{SimDuration, SimTime};
use crate::world::{NEW, ReleaseKind};

/// A request's body from a file.
struct FromFile {
    document: Document,
    request: DeploymentRequest,
}

/// The fields in place, and where they are in a request.
const IN_PLACE: [(&str, &str); 3] =
    [("strategy", "strategy"), ("maxInFlight", "options.max_in_flight"), ("canarySteps", "options.canary.steps")];

impl Checker<'_> {
    pub(super) fn cloud_foundry(
        &mut self,
        path: &Path,
        written: &CloudFoundryFile,
        world: &CheckedWorld,
    ) -> Option<Strategy> {
        let file = match &written.file {
            Some(name) => Some(self.deployment_file(&path.key("file"), name)?),
            None => None,
        };
        let request = file.as_ref().map(|file| file.request.clone()).unwrap_or_default();
        let request = request.overridden_by(in_place(written));
        let options = match request.check() {
            Ok(options) => options,
            Err(errors) => {
                for error in errors {
                    let help = match error.exception() {
                        Some(_) => "Cloud Foundry breaks on this (HTTP 500) and creates no deployment",
                        None => "Cloud Foundry refuses this too (HTTP 422) and creates no deployment",
                    };
                    let problem = self.request_problem(path, file.as_ref(), &error).with_help(help);
                    self.problems.push(problem);
                }
                return None;
            }
        };
        let clusters = world.world.clusters.len() as u32;
        if options.web_instances.is_some_and(|instances| instances != clusters) {
            let message = format!("the app has {clusters} instances, one in each cluster of the fleet");
            let problem = self.request_field_problem(path, file.as_ref(), "options.web_instances", message);
            self.problems
                .push(problem.with_help("leave `web_instances` out; Cloud Foundry would scale the app with it"));
            return None;
        }
        let supersedes = match written.supersedes {
            Some(written) => Some(self.superseded(&path.key("supersedes"), written, world)?),
            None => None,
        };
        let rules = written.rules.unwrap_or_default();
        let mut user = |key: &str, written: Option<&UserFile>| {
            // The default is taken only where a file of values cannot be read, and then nothing is run.
            let written = written?.0.as_deref()?;
            Some(self.spread(&path.key(key), Some(written), SimDuration::ZERO.into()))
        };
        let continue_after = user("continueAfter", written.continue_after.as_ref());
        let cancel_after = user("cancelAfter", written.cancel_after.as_ref());
        let deployment = CloudFoundryDeployment {
            rules,
            defects: written.defects.unwrap_or_default().over(rules),
            supersedes,
            options,
            quota: written.quota.as_ref().map(quota).unwrap_or_default(),
            continue_after,
            cancel_after,
        };
        let mut app = deployment.app(world.world.release, clusters);
        if let Err(error) = app.create(SimTime::ZERO, rules, &deployment.options, NEW) {
            let help = "Cloud Foundry refuses this too and creates no deployment";
            self.report(&path.key("quota"), error.to_string(), help);
        }
        Some(Strategy::CloudFoundry { deployment: Box::new(deployment) })
    }

    /// A deployment that is on its way.
    fn superseded(&mut self, path: &Path, written: SupersededFile, world: &CheckedWorld) -> Option<Superseded> {
        let clusters = world.world.clusters.len() as u32;
        if world.world.release == ReleaseKind::Initial {
            let help = "leave `supersedes` out, or make the release an update";
            self.report(path, "a first push has no deployment before it".to_owned(), help);
            return None;
        }
        let (Some(instances), Some(state)) = (written.instances, written.state) else {
            let help = "write e.g. `{instances: 3, state: PAUSED}`";
            self.report(path, "needs `instances` and `state`".to_owned(), help);
            return None;
        };
        // A rolling deployment with all its instances is not on its way any more.
        let most = if state.is_purged() { clusters } else { clusters.saturating_sub(1) };
        if instances == 0 || instances > most {
            let message = format!("{instances} instances, and a deployment on its way has 1 to {most} of {clusters}");
            let help = "an app has one instance in each cluster of the fleet";
            self.report(&path.key("instances"), message, help);
            return None;
        }
        Some(Superseded { instances, state })
    }

    /// A problem that the product has with a request.
    fn request_problem(&self, path: &Path, file: Option<&FromFile>, error: &RequestError) -> Problem {
        let unknown = match error {
            RequestError::UnknownFields(names) => names.first().cloned(),
            RequestError::UnknownOptions(names) => names.first().map(|name| format!("options.{name}")),
            _ => None,
        };
        let field = unknown.unwrap_or_else(|| error.field().to_owned());
        self.request_field_problem(path, file, &field, error.to_string())
    }

    /// A problem with a field of a request: in place if it is set there, else in the file.
    fn request_field_problem(&self, path: &Path, file: Option<&FromFile>, field: &str, message: String) -> Problem {
        let is_at_or_below = |set: &str, field: &str| {
            set.strip_prefix(field).is_some_and(|rest| field.is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        let here = IN_PLACE.iter().find(|(key, at)| is_at_or_below(at, field) && self.is_set(&path.key(key)));
        match (here, file) {
            (Some((key, _)), _) => self.at(&path.key(key), message),
            (None, Some(file)) => {
                let there = Path::parse(field).unwrap_or_default();
                let is_key = matches!(there.0.last(), Some(Step::Key(_))) && file.document.tree.get(&there).is_some();
                if is_key { file.document.at_key(&there, message) } else { file.document.at(&there, message) }
            }
            (None, None) => self.at(path, message),
        }
    }

    /// A body of `POST /v3/deployments`.
    fn deployment_file(&mut self, path: &Path, name: &str) -> Option<FromFile> {
        let document = self.document(name, path)?;
        let request = self.read_from(&document, &Path::default(), |_| true)?;
        Some(FromFile { document, request })
    }
}

/// The fields that are set in place, as a request.
fn in_place(written: &CloudFoundryFile) -> DeploymentRequest {
    let mut body = Map::new();
    if let Some(strategy) = &written.strategy {
        body.insert("strategy".to_owned(), strategy.clone());
    }
    let mut options = Map::new();
    if let Some(max_in_flight) = &written.max_in_flight {
        options.insert("max_in_flight".to_owned(), max_in_flight.clone());
    }
    if let Some(steps) = &written.canary_steps {
        options.insert("canary".to_owned(), json!({ "steps": steps }));
    }
    if !options.is_empty() {
        body.insert("options".to_owned(), Value::Object(options));
    }
    serde_json::from_value(Value::Object(body)).expect("any object is a request")
}

fn quota(written: &QuotaFile) -> AppQuota {
    let limits = |written: &Option<LimitsFile>| {
        let written = written.clone().unwrap_or_default();
        QuotaLimits {
            name: written.name.unwrap_or_default(),
            app_instance_limit: written.total_instances,
            memory_limit_in_mb: written.total_memory_in_mb,
            other_instances: written.other_instances.unwrap_or(0),
            other_memory_in_mb: written.other_memory_in_mb.unwrap_or(0),
        }
    };
    AppQuota { organization: limits(&written.organization), space: limits(&written.space) }
}
