//! Cloud Foundry's step plans, requests, single passes and whole deployments, as recorded from its own code (see
//! `cloud-foundry/README.md`).
//!
//! Every case is deserialized into a type that rejects unknown fields, so that no field is left out of the comparison.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use fleetsim_rollout::cloud_foundry::{
    ApiError, AppView, CloudFoundry, Deployment, DeploymentOptions, DeploymentRequest,
    DeploymentState, DeploymentStrategy, InstanceReports, LrpState, Process, QuotaLimits, RuleSet,
    canary_step_plan,
};
use fleetsim_rollout::{Revision, TargetId};
use fleetsim_units::SimTime;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::suite::{Suite, differ, read_files_as};

const VERSION: Revision = Revision(1);

/// Returns all suites for which `folder` has files.
pub fn suites(folder: &Path) -> Vec<Suite> {
    let kinds = [
        suite(folder, "canary_steps", check_steps),
        suite(folder, "ticks", |file: TickFile, found| {
            found.check_all(&file.cases, |case| (&case.id, check_tick(case)));
        }),
        suite(folder, "traces", |file: TraceFile, found| {
            found.check_all(&file.scenarios, |trace| (&trace.id, check_trace(trace)));
        }),
        suite(folder, "validation", |file: ValidationFile, found| {
            for (index, case) in file.cases.iter().enumerate() {
                found.check(&format!("#{index}"), check_request(case));
            }
        }),
    ];
    kinds.into_iter().flatten().collect()
}

/// Returns the suite of one kind. `None`: the folder has no file of this kind.
fn suite<T: DeserializeOwned>(
    folder: &Path,
    kind: &str,
    check: impl Fn(T, &mut Found),
) -> Option<Suite> {
    let files = read_files_as(folder, kind);
    if files.is_empty() {
        return None;
    }
    let mut suite = Suite {
        name: format!("cloud-foundry/{kind}"),
        cases: 0,
        disagreements: Vec::new(),
    };
    for (file, content) in files {
        check(
            content,
            &mut Found {
                file,
                suite: &mut suite,
            },
        );
    }
    Some(suite)
}

/// Collects the number of compared cases, and those that disagree.
struct Found<'a> {
    file: String,
    suite: &'a mut Suite,
}

impl Found<'_> {
    fn check(&mut self, id: &str, result: Result<(), String>) {
        self.suite.cases += 1;
        if let Err(why) = result {
            self.suite
                .disagreements
                .push(format!("{} {id}: {why}", self.file));
        }
    }

    fn check_all<'c, T>(
        &mut self,
        cases: &'c [T],
        check: impl Fn(&'c T) -> (&'c String, Result<(), String>),
    ) {
        for case in cases {
            let (id, result) = check(case);
            self.check(id, result);
        }
    }
}

// ---- canary_steps

#[derive(Deserialize)]
struct StepFile {
    #[serde(default)]
    table: BTreeMap<String, TableRow>,
    #[serde(default)]
    plans: Vec<PlanCase>,
    #[serde(default)]
    float_edges: Vec<EdgeCase>,
}

/// For each weight from 1 to 100, the plan's only step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableRow {
    canary: Vec<u32>,
    original: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanCase {
    instances: u32,
    web_instances: Option<u32>,
    weights: Option<Vec<u8>>,
    plan: Value,
    total: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeCase {
    instances: u32,
    weight: u8,
    canary: u32,
    exact_half_up: u32,
}

fn check_steps(file: StepFile, found: &mut Found<'_>) {
    let one = |rules, instances: u32, weight: u8| {
        canary_step_plan(rules, instances, None, Some(&[weight]))[0]
    };
    for (instances, row) in &file.table {
        assert_eq!(
            (row.canary.len(), row.original.len()),
            (100, 100),
            "a row has all weights"
        );
        let count = instances.parse().expect("a number of instances");
        for weight in 1..=100_u8 {
            let index = usize::from(weight) - 1;
            let step = one(RuleSet::Shipped, count, weight);
            let expected = json!([row.canary[index], row.original[index]]);
            let result = differ("the step", &expected, &json!([step.canary, step.original]));
            found.check(&format!("{weight} % of {instances}"), result);
        }
    }
    for (index, case) in file.plans.iter().enumerate() {
        let steps = canary_step_plan(
            RuleSet::Shipped,
            case.instances,
            case.web_instances,
            case.weights.as_deref(),
        );
        let plan: Vec<_> = steps
            .iter()
            .map(|step| [step.canary, step.original])
            .collect();
        let total: Vec<_> = steps.iter().map(|step| step.total()).collect();
        let expected = json!({ "plan": case.plan, "total": case.total });
        let got = json!({ "plan": plan, "total": total });
        found.check(
            &format!("plan #{index}"),
            differ("the plan", &expected, &got),
        );
    }
    for case in file.float_edges {
        // The exact share ends in a half, which the documented rules round down: to one less than rounded up.
        let got = json!({
            "canary": one(RuleSet::Shipped, case.instances, case.weight).canary,
            "exact_half_up": one(RuleSet::Documented, case.instances, case.weight).canary + 1,
        });
        let expected = json!({ "canary": case.canary, "exact_half_up": case.exact_half_up });
        let id = format!("edge {} % of {}", case.weight, case.instances);
        found.check(&id, differ("the step", &expected, &got));
    }
}

// ---- validation

#[derive(Deserialize)]
struct ValidationFile {
    cases: Vec<ValidationCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValidationCase {
    request: DeploymentRequest,
    valid: bool,
    errors: Option<Vec<String>>,
    max_in_flight: Option<u64>,
    exception: Option<String>,
}

fn check_request(case: &ValidationCase) -> Result<(), String> {
    let expected = json!({
        "valid": case.valid,
        "errors": case.errors,
        "max_in_flight": case.max_in_flight,
        "exception": case.exception,
    });
    let mut got =
        json!({ "valid": false, "errors": null, "max_in_flight": null, "exception": null });
    match case.request.validate() {
        Ok(options) => {
            got["valid"] = json!(true);
            got["max_in_flight"] = json!(options.max_in_flight);
        }
        Err(errors) => match errors.iter().find_map(|error| error.exception) {
            Some(class) => got["exception"] = json!(class),
            None => {
                got["errors"] = json!(errors.iter().map(ToString::to_string).collect::<Vec<_>>());
            }
        },
    }
    let request = serde_json::to_string(&case.request).expect("a request is JSON");
    differ(&request, &expected, &got)
}

// ---- common parts of ticks and traces

/// An object that preserves the order of its keys: processes are in the order of their creation.
struct Ordered<T>(Vec<(String, T)>);

/// Numbers of instances: routable, running and not routable, starting, crashed, placement error, unknown.
type Lrps = [usize; 6];

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Expands counts to states; indices follow the order of the counts.
fn expand(counts: &Lrps) -> Vec<LrpState> {
    const STATES: [LrpState; 6] = [
        LrpState::Running,
        LrpState::RunningNotRoutable,
        LrpState::Claimed,
        LrpState::Crashed,
        LrpState::PlacementError,
        LrpState::Unknown,
    ];
    STATES
        .into_iter()
        .zip(counts)
        .flat_map(|(state, count)| std::iter::repeat_n(state, *count))
        .collect()
}

fn status_row(deployment: &Deployment) -> Value {
    let current = deployment.canary_current_step;
    let total = current.map(|_| deployment.options.canary_steps.as_ref().map_or(1, Vec::len));
    let mut row = vec![
        json!(format!("{:?}", deployment.state).to_uppercase()),
        json!(deployment.value()),
        json!(deployment.reason()),
        json!(current),
        json!(total),
    ];
    row.extend(deployment.error.clone().map(Value::String));
    Value::Array(row)
}

/// An app whose processes and deployments are identified by labels.
struct Labelled {
    app: AppView,
    processes: Vec<(String, TargetId)>,
    deployments: Vec<String>,
}

impl Labelled {
    fn report(&mut self, lrps: &Ordered<Lrps>, diego_unavailable: bool) {
        self.app.diego_available = !diego_unavailable;
        self.app
            .processes
            .iter_mut()
            .for_each(|process| process.lrps = InstanceReports::default());
        for (label, counts) in &lrps.0 {
            // Do not query Diego's reports for a destroyed process.
            let process = self
                .processes
                .iter()
                .find(|(name, _)| name == label)
                .map(|(_, id)| *id);
            if let Some(process) = process.and_then(|id| self.app.process_mut(id)) {
                process.lrps = expand(counts).into();
            }
        }
    }

    fn pass(&mut self) {
        let pass = CloudFoundry::new(RuleSet::Shipped).reconcile(SimTime::ZERO, &self.app);
        self.app.store(&pass);
    }

    fn label(&self, process: &Process) -> &str {
        let (label, _) = self
            .processes
            .iter()
            .find(|(_, id)| *id == process.id)
            .expect("every process has a label");
        label
    }

    fn instances(&self) -> Value {
        let instance =
            |process: &Process| (self.label(process).to_owned(), json!(process.instances));
        Value::Object(self.app.processes.iter().map(instance).collect())
    }

    fn deployment(&self, label: &str) -> Option<usize> {
        self.deployments.iter().position(|name| name == label)
    }
}

// ---- ticks

#[derive(Deserialize)]
struct TickFile {
    cases: Vec<TickCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TickCase {
    id: String,
    deployment: TickDeployment,
    interim_owner_state: BTreeMap<String, String>,
    before: Ordered<u32>,
    lrps: Ordered<Lrps>,
    #[serde(default)]
    diego_unavailable: bool,
    after: Value,
    result: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TickDeployment {
    strategy: DeploymentStrategy,
    max_in_flight: u64,
    original_instances: u32,
    web_instances: Option<u32>,
    weights: Option<Vec<u8>>,
    step: Option<u32>,
    state: String,
    reason: String,
    error: Option<String>,
}

fn state(name: &str) -> DeploymentState {
    match name {
        "DEPLOYING" => DeploymentState::Deploying,
        "PREPAUSED" => DeploymentState::Prepaused,
        "PAUSED" => DeploymentState::Paused,
        "CANCELING" => DeploymentState::Canceling,
        "DEPLOYED" => DeploymentState::Deployed,
        "CANCELED" => DeploymentState::Canceled,
        other => panic!("unknown state `{other}`"),
    }
}

fn check_tick(case: &TickCase) -> Result<(), String> {
    let mut app = AppView::settled(VERSION, 0);
    app.processes.clear();
    let mut processes = Vec::new();
    for (index, (label, instances)) in case.before.0.iter().enumerate() {
        let id = TargetId(index as u32);
        processes.push((label.clone(), id));
        app.processes.push(Process {
            id,
            revision: VERSION,
            instances: *instances,
            memory_in_mb: 1,
            lrps: InstanceReports::default(),
        });
    }
    let id = |label: &str| {
        processes
            .iter()
            .find(|(name, _)| name == label)
            .map(|(_, id)| *id)
    };
    let written = &case.deployment;
    let deployment = Deployment {
        process: id("new"),
        options: DeploymentOptions {
            strategy: written.strategy,
            max_in_flight: written.max_in_flight,
            web_instances: written.web_instances,
            canary_steps: written.weights.clone(),
            ..DeploymentOptions::default()
        },
        original_instances: written.original_instances,
        canary_current_step: written.step,
        state: state(&written.state),
        superseded: false,
        error: written.error.clone(),
        previous_revision: VERSION,
    };
    assert_eq!(
        deployment.reason(),
        written.reason,
        "the reason follows from the state"
    );
    for (label, owner) in &case.interim_owner_state {
        let (state, superseded, process) = (state(owner), true, id(label));
        app.deployments.push(Deployment {
            process,
            state,
            superseded,
            ..deployment.clone()
        });
    }
    app.deployments.push(deployment);
    let mut app = Labelled {
        app,
        processes,
        deployments: Vec::new(),
    };
    app.report(&case.lrps, case.diego_unavailable);
    app.pass();
    let expected = json!({ "after": case.after, "result": case.result });
    let deployment = app.app.deployments.last().expect("it is never removed");
    differ(
        "the tick",
        &expected,
        &json!({ "after": app.instances(), "result": status_row(deployment) }),
    )
}

// ---- traces

#[derive(Deserialize)]
struct TraceFile {
    scenarios: Vec<Trace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    id: String,
    #[serde(rename = "note")]
    _note: String,
    setup: Setup,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    instances: u32,
    app_state: Option<String>,
    org_instance_limit: Option<u64>,
    #[serde(default)]
    other_instances: u64,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Step {
    Create {
        deployment: String,
        strategy: Option<Value>,
        options: Option<Value>,
        result: Value,
        after: Value,
    },
    Continue {
        deployment: String,
        result: Value,
        after: Value,
    },
    Cancel {
        deployment: String,
        result: Value,
        after: Value,
    },
    Tick {
        lrps: Ordered<Lrps>,
        #[serde(default)]
        diego_unavailable: bool,
        after: Value,
    },
}

fn check_trace(trace: &Trace) -> Result<(), String> {
    let setup = &trace.setup;
    let mut app = match setup.app_state.as_deref() {
        None | Some("STARTED") => AppView::settled(VERSION, setup.instances),
        Some("STOPPED") => AppView::stopped(VERSION, setup.instances),
        Some(other) => panic!("unknown state `{other}` of an app"),
    };
    if let Some(limit) = setup.org_instance_limit {
        app.quota.organization = QuotaLimits {
            name: "ORG".to_owned(),
            app_instance_limit: Some(limit),
            other_instances: setup.other_instances,
            ..QuotaLimits::default()
        };
    }
    let processes = vec![("p0".to_owned(), app.processes[0].id)];
    let mut app = Labelled {
        app,
        processes,
        deployments: Vec::new(),
    };
    for (index, step) in trace.steps.iter().enumerate() {
        let (expected, got) = play(&mut app, step);
        differ(&format!("step {index}"), &expected, &got)?;
    }
    Ok(())
}

/// Returns the recorded and the actual result of a step.
fn play(app: &mut Labelled, step: &Step) -> (Value, Value) {
    match step {
        Step::Create {
            deployment,
            strategy,
            options,
            result,
            after,
        } => {
            let got = create(app, deployment, strategy.as_ref(), options.as_ref());
            (json!([result, after]), json!([got, after_step(app)]))
        }
        Step::Continue {
            deployment,
            result,
            after,
        } => {
            let index = app.deployment(deployment).unwrap_or(usize::MAX);
            let got = outcome(app.app.continue_deployment(index));
            (json!([result, after]), json!([got, after_step(app)]))
        }
        Step::Cancel {
            deployment,
            result,
            after,
        } => {
            let index = app.deployment(deployment).unwrap_or(usize::MAX);
            let got = outcome(app.app.cancel_deployment(index));
            (json!([result, after]), json!([got, after_step(app)]))
        }
        Step::Tick {
            lrps,
            diego_unavailable,
            after,
        } => {
            app.report(lrps, *diego_unavailable);
            app.pass();
            (after.clone(), after_step(app))
        }
    }
}

fn create(
    app: &mut Labelled,
    label: &str,
    strategy: Option<&Value>,
    options: Option<&Value>,
) -> Value {
    let request =
        DeploymentRequest::deserialize(json!({ "strategy": strategy, "options": options }));
    let options = match request.expect("a body is an object").validate() {
        Ok(options) => options,
        Err(errors) => {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            return json!({ "ok": false, "errors": errors });
        }
    };
    match app.app.create(RuleSet::Shipped, &options, VERSION) {
        Err(ApiError::EmptySteps) => json!({ "ok": false, "exception": "NoMethodError" }),
        result => {
            if let Ok(index) = result {
                app.deployments.push(label.to_owned());
                app.processes.extend(
                    app.app.deployments[index]
                        .process
                        .map(|process| (label.to_owned(), process)),
                );
            }
            outcome(result.map(|_| ()))
        }
    }
}

fn outcome(result: Result<(), ApiError>) -> Value {
    match result {
        Ok(()) => json!({ "ok": true }),
        Err(error) => json!({ "ok": false, "errors": [error.to_string()] }),
    }
}

fn after_step(app: &Labelled) -> Value {
    let newest = app
        .app
        .deployments
        .last()
        .and_then(|deployment| deployment.process);
    let new = newest
        .and_then(|id| app.app.process(id))
        .map(|process| process.instances);
    let rows = app.deployments.iter().zip(&app.app.deployments);
    json!({
        "p": app.instances(),
        "old": app.app.desired_instances() - u64::from(new.unwrap_or(0)),
        "new": new,
        "d": Value::Object(rows.map(|(label, deployment)| (label.clone(), status_row(deployment))).collect()),
    })
}
