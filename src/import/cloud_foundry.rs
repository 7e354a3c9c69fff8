//! Cloud Foundry: processes, deployments and app manifests.
//!
//! A target is an instance of the app. A deployment is the body of `POST /v3/deployments`, or the response to a GET;
//! only the response's request fields are kept. Left out: memory, disk and quotas, and cells that instances share.

mod manifest;

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::{AppField, ImportedFleet, ReadinessFacts, StrategyDraft, WorkloadDraft};
use super::guess::Guess;
use super::kinds::{ClientObject, DEPLOYMENT, ExportShape, PROCESS};
use super::sources::{ImportSources, Texts};
use super::strategy::{self, FoundStrategy};
use super::target::FleetTarget;
use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::document::tree::{self, MOST_YAML_VALUES};
use crate::products::fields;
use crate::rollout::cloud_foundry::DeploymentRequest;
use crate::scenario::import::object::OrDefault;
use crate::scenario::import::objects::ReadObject;
use crate::units::counted;

/// Maximum number of instances of an app.
const MOST_INSTANCES: u64 = 100_000;

/// Cloud Foundry's default interval between readiness checks, in seconds.
const READINESS_INTERVAL: u64 = 30;

/// Cloud Foundry's default time limit for an instance to become healthy, in seconds: `default_health_check_timeout` in
/// `config/cloud_controller.yml`.
const START_TIMEOUT: u64 = 60;

#[derive(Deserialize)]
struct ProcessObject {
    #[serde(rename = "type", default)]
    kind: String,
    instances: Option<u64>,
    health_check: OrDefault<HealthCheck>,
    readiness_health_check: OrDefault<HealthCheck>,
}

#[derive(Default, Deserialize)]
struct HealthCheck {
    #[serde(rename = "type")]
    kind: Option<String>,
    data: OrDefault<HealthCheckData>,
}

#[derive(Default, Deserialize)]
struct HealthCheckData {
    timeout: Option<u64>,
    interval: Option<u64>,
}

/// The facts about an app that affect a rollout.
struct AppFacts {
    name: String,
    origin: String,
    instances: u64,
    readiness: ReadinessFacts,
    /// Time limit for an instance to become healthy, in seconds. `None`: an instance is healthy once its process runs.
    start_timeout: Option<u64>,
    /// Fields that affect the rollout but are not simulated.
    deciding: Vec<AppField>,
}

/// Reads Cloud Foundry's exports.
///
/// # Errors
/// Returns all problems of the exports.
pub(super) fn import(sources: &ImportSources, texts: &mut Texts) -> OrProblems<ImportedFleet> {
    let mut read = Vec::new();
    let note = "every instance has its own cell and link; set `distribution: {cells: {count: …}}` if they share \
                cells";
    let mut notes = vec![note.to_owned()];
    let mut of_manifest = None;
    if let Some(path) = &sources.manifest {
        let app = sources.app.as_deref();
        of_manifest = Some(manifest::read(path, app, texts, &mut read, &mut notes)?);
    }
    let mut process = None;
    if let Some(path) = &sources.process {
        process = Some(of_process(path, texts, &mut read, &mut notes)?);
    }
    let deployment_file = sources
        .deployment
        .as_deref()
        .or(sources.strategy.as_deref());
    let deployment = deployment(deployment_file, texts, &mut read, &mut notes)?;
    let name = match &of_manifest {
        Some(app) => app.name.clone(),
        None => "app".to_owned(),
    };
    let Some(app) = process.or(of_manifest) else {
        return Err(vec![without_instances(deployment_file)]);
    };
    let instances = deployment.instances.unwrap_or(app.instances);
    if instances != app.instances {
        notes.extend(deployment.notes_on_scaling(app.instances, instances));
    }
    if !(1..=MOST_INSTANCES).contains(&instances) {
        let message = format!("the app has {instances} instances");
        let help = format!(
            "1 to {MOST_INSTANCES} are simulated; start the app, or export another process"
        );
        return Err(vec![Problem::of_file(&app.origin, message).with_help(help)]);
    }
    let count = instances as usize;
    let strategy = StrategyDraft {
        of_app: app.deciding,
        ..deployment.strategy
    };
    Ok(ImportedFleet {
        in_words: counted(count, "instance"),
        origin: app.origin,
        targets: targets(&name, count),
        left_out: Vec::new(),
        regions: Vec::new(),
        cluster_groups: None,
        strategy,
        workload: WorkloadDraft {
            is_one_instance: true,
            readiness: app.readiness,
            start_timeout: app.start_timeout,
        },
        read,
        notes,
    })
}

/// Returns the problem with exports that do not contain the number of instances.
fn without_instances(deployment: Option<&Path>) -> Problem {
    let file = match deployment {
        Some(path) => path.display().to_string(),
        None => String::new(),
    };
    let help = format!("add --process with `{}`, or --manifest", PROCESS.command);
    Problem::of_file(&file, "the number of instances is missing").with_help(help)
}

/// Returns a target for each instance of an app. The instance numbers are padded to equal length.
fn targets(app: &str, count: usize) -> Vec<FleetTarget> {
    let digits = (count - 1).to_string().len();
    let mut targets = Vec::new();
    for index in 0..count {
        targets.push(FleetTarget {
            name: format!("{app}-{index:0digits$}"),
            ..FleetTarget::default()
        });
    }
    targets
}

/// Returns the web processes of an app in descending order of size.
fn web_processes<'p, 'o>(
    found: &'p [ReadObject<'o, ProcessObject>],
) -> Vec<&'p ReadObject<'o, ProcessObject>> {
    let mut web: Vec<&ReadObject<'_, ProcessObject>> = found
        .iter()
        .filter(|process| process.value.kind == "web")
        .collect();
    web.sort_by_key(|process| std::cmp::Reverse(process.value.instances));
    web
}

fn of_process(
    path: &Path,
    texts: &mut Texts,
    read: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> OrProblems<AppFacts> {
    let source = texts.read(path, PROCESS.command)?;
    let found = PROCESS.read::<ProcessObject>(&source)?.found;
    let web = web_processes(&found);
    let Some(process) = web.first() else {
        let kinds: Vec<String> = found
            .iter()
            .map(|process| process.value.kind.clone())
            .collect();
        let problem = Problem::of_file(&source.name, "the app has no process of the type `web`");
        return Err(vec![problem.with_help(format!(
            "a deployment rolls out the web process; the file has only {}",
            some_of(&kinds)
        ))]);
    };
    if web.len() > 1 {
        notes.push(format!(
            "{}: the app has {} web processes, as during a deployment; the one with the most instances is used",
            source.name,
            web.len()
        ));
    }
    if found.len() > web.len() {
        notes.push(format!(
            "left out: {} of the app's processes, not of the type `web`",
            found.len() - web.len()
        ));
    }
    let deciding = deciding(process);
    let instances = process.value.instances.unwrap_or(0);
    read.push(format!(
        "{}: a web process with {}",
        source.name,
        counted(instances, "instance")
    ));
    let health = &process.value.health_check;
    let HealthCheck { kind, data } = &*process.value.readiness_health_check;
    Ok(AppFacts {
        name: "app".to_owned(),
        origin: source.name.clone(),
        instances,
        readiness: readiness(kind.as_deref(), data.interval),
        start_timeout: start_timeout(health.kind.as_deref(), health.data.timeout),
        deciding,
    })
}

/// Returns the fields of a process that affect the rollout but are not simulated.
fn deciding(process: &ReadObject<'_, ProcessObject>) -> Vec<AppField> {
    let text = process.object.to_json().to_string();
    let source = Arc::new(Source::new("process", text.as_str()));
    let Ok((mut root, replaced)) = tree::parse_as_product(MOST_YAML_VALUES, &source) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for field in fields::checked(&mut root, &replaced, &source, &fields::PROCESS).deciding {
        let path = field.path.to_string();
        found.push(AppField::of(field, |message| {
            process.object.problem(&path, message)
        }));
    }
    found
}

/// Returns the time limit in seconds for an instance to pass its health check, after which the instance counts as
/// crashed: `start_timeout_ms` in `lib/cloud_controller/diego/app_recipe_builder.rb` of
/// cloudfoundry/cloud_controller_ng. Without a port or HTTP check there is no health check to pass
/// (`depot/transformer/transformer.go` of code.cloudfoundry.org/executor).
fn start_timeout(kind: Option<&str>, timeout: Option<u64>) -> Option<u64> {
    match kind {
        Some("process" | "none") => None,
        _ => Some(timeout.unwrap_or(START_TIMEOUT)),
    }
}

/// Returns the check that determines whether an instance is routable. Diego's check of starting instances is part of
/// the product's agent.
fn readiness(kind: Option<&str>, interval: Option<u64>) -> ReadinessFacts {
    match kind {
        Some("http" | "port") => ReadinessFacts::Known(format!(
            "{{period: {} s}}",
            interval.unwrap_or(READINESS_INTERVAL).max(1)
        )),
        _ => ReadinessFacts::None,
    }
}

/// The facts about a deployment that an import needs.
struct ExportedDeployment {
    strategy: StrategyDraft,
    /// The final number of instances, if the deployment contains it.
    instances: Option<u64>,
}

impl ExportedDeployment {
    /// Returns the notes about a deployment that changes the number of instances.
    fn notes_on_scaling(&self, from: u64, to: u64) -> Vec<String> {
        let mut notes = vec![format!(
            "the deployment scales the app from {from} to {to} instances; {to} are simulated"
        )];
        // Only a canary deployment needs a person to continue it.
        let is_canary = !self.strategy.guesses.is_empty();
        if is_canary {
            notes.push(format!(
                "the steps of the canary phase are computed from {to} instances; Cloud Foundry uses {from} where \
                 `web_instances` is above it, or where the deployment has no steps"
            ));
        }
        notes
    }
}

/// Reads the deployment in a file. Without a file, returns the default.
fn deployment(
    path: Option<&Path>,
    texts: &mut Texts,
    read: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> OrProblems<ExportedDeployment> {
    let found = strategy::read(path, &DEPLOYMENT, is_deployment, "deployment.json", texts)?;
    if let Some(found) = found {
        read.push(format!("{}: a deployment", found.file.origin));
        return draft(found, notes);
    }
    notes.push(
        "no --deployment: the strategy is a rolling deployment with `max_in_flight` 1".to_owned(),
    );
    Ok(ExportedDeployment {
        strategy: StrategyDraft::of("cloudFoundry"),
        instances: None,
    })
}

fn is_deployment(shape: &ExportShape) -> bool {
    shape.is_client(ClientObject::CloudFoundryDeployment)
}

/// Returns the draft for a deployment found in a file.
fn draft(found: FoundStrategy, notes: &mut Vec<String>) -> OrProblems<ExportedDeployment> {
    let body = found.read::<Map<String, Value>>()?;
    let is_answer = ["guid", "state", "status", "links"]
        .iter()
        .any(|key| body.contains_key(*key));
    if !is_answer {
        refuse_request(&found)?;
    }
    let RequestFields { fields, instances } = request_of(&body);
    let mut draft = StrategyDraft::of("cloudFoundry");
    if fields.get("strategy").and_then(Value::as_str) == Some("canary") {
        draft.guesses.push(Guess::continue_after());
    }
    if body.contains_key("state") || body.contains_key("status") {
        let state = body
            .get("status")
            .and_then(|status| status["value"].as_str().or(status["reason"].as_str()));
        let state = match state {
            Some(state) => format!(" ({state})"),
            None => String::new(),
        };
        notes.push(format!(
            "{}: an existing deployment{state}; it is simulated from its start",
            found.file.origin
        ));
    }
    let is_request = instances.is_none()
        && body
            .keys()
            .all(|key| DeploymentRequest::FIELDS.contains(&key.as_str()));
    let mut file = found.file;
    if !is_request {
        "deployment.json".clone_into(&mut file.name);
        file.text = serde_json::to_string_pretty(&Value::Object(fields))
            .expect("values can be written")
            + "\n";
    }
    draft.file = Some(file);
    Ok(ExportedDeployment {
        strategy: draft,
        instances,
    })
}

/// Rejects a request that Cloud Foundry rejects.
fn refuse_request(found: &FoundStrategy) -> OrProblems<()> {
    let Err(errors) = found.read::<DeploymentRequest>()?.check() else {
        return Ok(());
    };
    let mut problems = Vec::new();
    for error in errors {
        let help = match error.exception {
            Some(_) => "Cloud Foundry fails on this (HTTP 500) and creates no deployment",
            None => "Cloud Foundry refuses this too (HTTP 422) and creates no deployment",
        };
        let problem = found.problem(&error.field, error.to_string());
        problems.push(problem.with_help(help));
    }
    Err(problems)
}

/// The fields of a deployment that its request contains.
struct RequestFields {
    /// All request fields except null values and `web_instances`.
    fields: Map<String, Value>,
    /// The value of `web_instances`.
    instances: Option<u64>,
}

/// Returns the request fields in a response to a GET.
fn request_of(body: &Map<String, Value>) -> RequestFields {
    let mut fields = Map::new();
    let mut instances = None;
    for key in ["strategy", "options", "metadata", "relationships"] {
        if let Some(value) = body.get(key)
            && !value.is_null()
        {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(options)) = fields.get_mut("options") {
        instances = options
            .remove("web_instances")
            .as_ref()
            .and_then(Value::as_u64);
        options.retain(|key, value| {
            !value.is_null() && DeploymentRequest::OPTIONS.contains(&key.as_str())
        });
        // The API returns an empty canary block for a rolling deployment.
        if options
            .get("canary")
            .is_some_and(|canary| canary.get("steps").is_none_or(Value::is_null))
        {
            options.remove("canary");
        }
    }
    RequestFields { fields, instances }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_request_of_an_existing_deployment_keeps_its_options() {
        let body = json!({
            "guid": "d-1", "state": "DEPLOYING", "status": {"value": "ACTIVE", "reason": "DEPLOYING"},
            "strategy": "canary",
            "options": {"max_in_flight": 5, "web_instances": 20, "memory_in_mb": null,
                        "canary": {"steps": [{"instance_weight": 10}]}},
            "droplet": {"guid": "x"}, "new_processes": [], "links": {},
        });
        let request = request_of(body.as_object().expect("an object"));
        assert_eq!(request.instances, Some(20));
        let expected = json!({"strategy": "canary", "options": {"max_in_flight": 5, "canary": {"steps": [{"instance_weight": 10}]}}});
        assert_eq!(Value::Object(request.fields), expected);
    }

    #[test]
    fn an_instance_without_a_check_has_no_start_timeout() {
        assert_eq!(start_timeout(None, None), Some(60));
        assert_eq!(start_timeout(Some("port"), Some(120)), Some(120));
        assert_eq!(start_timeout(Some("http"), None), Some(60));
        assert_eq!(start_timeout(Some("process"), Some(120)), None);
        assert_eq!(start_timeout(Some("none"), None), None);
    }

    #[test]
    fn only_a_readiness_check_becomes_a_probe() {
        assert_eq!(
            readiness(Some("http"), Some(5)),
            ReadinessFacts::Known("{period: 5 s}".to_owned())
        );
        assert_eq!(
            readiness(Some("port"), None),
            ReadinessFacts::Known("{period: 30 s}".to_owned())
        );
        assert_eq!(readiness(Some("process"), None), ReadinessFacts::None);
        assert_eq!(readiness(None, None), ReadinessFacts::None);
    }
}
