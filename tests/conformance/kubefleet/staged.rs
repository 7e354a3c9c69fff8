//! Staged update runs: one initialization, passes one at a time, and closed loops.

use std::collections::BTreeMap;

use fleetsim::rollout::kubefleet::staged::{
    PlacementView, PolicySnapshot, RetryError, RunError, RunReason, RunStatus, StageStatus, StagedStatus,
    StagedUpdateRun, StagedView,
};
use fleetsim::rollout::kubefleet::{
    ApplyStrategy, Binding, BindingState, Bindings, ConditionStatus, Defects, LimitError, MemberCluster, Rules,
    RunSpec, RunState, StageTask, StrategySpec, format_duration, parse_duration,
};
use fleetsim::rollout::label_selector::Labels;
use fleetsim::rollout::{Action, ApprovalId, Pass, Revision, Scheduler, TargetId};
use fleetsim::units::{SimDuration, SimTime};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    External, Loop, Next, Phases, START, Started, at, binding_state, differ, next, parse, policy, text, work_state,
};

/// The latest policy snapshot at the start; older ones are below it.
const POLICY: u32 = 5;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Config {
    placement_type: String,
    number_of_clusters: u32,
    fixed_clusters: Vec<String>,
    state: RunState,
    resource_snapshot_index: String,
    strategy: StrategySpec,
    clusters: Vec<ConfigCluster>,
    bindings: Vec<ConfigBinding>,
    policy_not_scheduled: bool,
    placement_not_external: bool,
    strategy_missing: bool,
    placement_missing: bool,
    no_admission_defaults: bool,
}

#[derive(Deserialize)]
struct ConfigCluster {
    name: String,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
struct ConfigBinding {
    cluster: String,
    state: String,
    #[serde(default)]
    policy: String,
    snapshot: i64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    rollout_started: bool,
}

/// A run and the objects around it.
struct Around {
    run: StagedUpdateRun,
    view: StagedView,
    clusters: Vec<MemberCluster>,
    has_defaults: bool,
    /// Bindings that the scheduler made on the way.
    scheduled: usize,
}

impl Around {
    fn new(config: &Config) -> Self {
        let member = |c: &ConfigCluster| MemberCluster { name: c.name.clone(), labels: c.labels.clone(), left: false };
        let spec = RunSpec { resource_snapshot_index: config.resource_snapshot_index.clone(), ..RunSpec::default() };
        let mut around = Self {
            run: StagedUpdateRun::new(
                String::new(),
                RunSpec::default(),
                None,
                Rules::Shipped,
                Defects::ALL,
                Vec::new(),
            ),
            view: StagedView {
                state: config.state,
                placement: (!config.placement_missing).then_some(PlacementView {
                    external: !config.placement_not_external,
                    apply_strategy: ApplyStrategy(0),
                }),
                policy: PolicySnapshot {
                    index: POLICY,
                    scheduled: !config.policy_not_scheduled,
                    policy: policy(&config.placement_type, config.number_of_clusters, &config.fixed_clusters),
                },
                resource_snapshots: (0..=3).map(Revision).collect(),
                bindings: Bindings::default(),
                approvals: BTreeMap::new(),
            },
            clusters: config.clusters.iter().map(member).collect(),
            has_defaults: !config.no_admission_defaults,
            scheduled: 0,
        };
        let bindings: Vec<Binding> = config.bindings.iter().map(|stored| around.binding(stored)).collect();
        around.view.bindings = bindings.into_iter().collect();
        let strategy = (!config.strategy_missing).then(|| around.admitted(config.strategy.clone()));
        let clusters = around.clusters.clone();
        around.run = StagedUpdateRun::new("run".to_owned(), spec, strategy, Rules::Shipped, Defects::ALL, clusters);
        around
    }

    fn admitted(&self, strategy: StrategySpec) -> StrategySpec {
        if self.has_defaults { strategy.with_defaults() } else { strategy }
    }

    fn binding(&mut self, stored: &ConfigBinding) -> Binding {
        let policy = if stored.policy == "old" { POLICY - 1 } else { POLICY };
        let mut binding = Binding::scheduled(stored.cluster.clone(), self.target(&stored.cluster), policy);
        binding.state = binding_state(&stored.state);
        binding.snapshot = u32::try_from(stored.snapshot).ok().map(Revision);
        binding.apply_strategy = Some(ApplyStrategy(0));
        let an_hour_ago = SimTime::ZERO + START.since(SimTime::from_secs(3600));
        binding.report(an_hour_ago, work_state(&stored.status));
        if stored.rollout_started {
            start(&mut binding, an_hour_ago);
        }
        binding
    }

    /// A cluster's index; one that is in no list has left.
    fn target(&mut self, cluster: &str) -> TargetId {
        let found = self.clusters.iter().position(|known| known.name == cluster);
        let index = found.unwrap_or_else(|| {
            let (name, labels) = (cluster.to_owned(), Labels::new());
            self.clusters.push(MemberCluster { name, labels, left: true });
            self.clusters.len() - 1
        });
        TargetId(index as u32)
    }

    fn name(&self, target: TargetId) -> String {
        self.clusters[target.index()].name.clone()
    }

    fn approval(&self, request: &str) -> ApprovalId {
        let stages = self.run.strategy().map_or(0, |strategy| strategy.stages.len()) as u32;
        let named = (0..2 * stages).map(ApprovalId).find(|id| self.run.approval_name(*id) == request);
        named.unwrap_or_else(|| panic!("no approval request `{request}`"))
    }

    fn change(&mut self, cluster: &str, change: impl FnOnce(&mut Binding)) {
        let target = self.target(cluster);
        if let Some(binding) = self.view.bindings.get_mut(target) {
            change(binding);
        }
    }

    fn remove(&mut self, cluster: &str, test: impl Fn(&Binding) -> bool) {
        let target = self.target(cluster);
        let found = self.view.bindings.iter().find(|binding| binding.target == target && test(binding));
        if let Some(name) = found.map(|binding| binding.name.clone()) {
            self.view.bindings.remove(&name);
        }
    }

    /// Makes an event happen. Tells whether it wakes the run.
    fn apply(&mut self, now: SimTime, event: &Value) -> bool {
        match text(event, "type") {
            "binding_status" => {
                let state = work_state(text(event, "status"));
                self.change(text(event, "cluster"), |binding| binding.report(now, state));
            }
            "approve" => {
                let id = self.approval(text(event, "request"));
                let request = self.view.approvals.get_mut(&id);
                return request.is_some_and(|request| !std::mem::replace(&mut request.approved, true));
            }
            "unapprove" => {
                let id = self.approval(text(event, "request"));
                let request = self.view.approvals.get_mut(&id);
                return request.is_some_and(|request| std::mem::replace(&mut request.approved, false));
            }
            "delete_approval" => {
                let id = self.approval(text(event, "request"));
                return self.view.approvals.remove(&id).is_some_and(|request| !request.accepted);
            }
            "set_state" => {
                let state = parse(&event["state"]);
                return std::mem::replace(&mut self.view.state, state) != state;
            }
            "binding_gone" => self.remove(text(event, "cluster"), |binding| binding.deleting),
            "binding_removed_by_scheduler" => self.remove(text(event, "cluster"), |_| true),
            "unschedule" => self.change(text(event, "cluster"), Binding::unschedule),
            "schedule" => self.schedule(text(event, "cluster")),
            "concurrent_run_rolls" => {
                let snapshot = event["snapshot"].as_u64().and_then(|n| u32::try_from(n).ok()).expect("a snapshot");
                self.change(text(event, "cluster"), |binding| {
                    binding.snapshot = Some(Revision(snapshot));
                    binding.generation += 1;
                    start(binding, now);
                });
            }
            "join_cluster" | "relabel_cluster" => {
                let target = self.target(text(event, "cluster"));
                let cluster = &mut self.clusters[target.index()];
                cluster.labels = event.get("labels").map(parse).unwrap_or_default();
                cluster.left = false;
            }
            "remove_cluster" => {
                let target = self.target(text(event, "cluster"));
                self.clusters[target.index()].left = true;
            }
            "edit_strategy" => {
                let strategy = self.admitted(parse(&event["strategy"]));
                self.run.set_strategy(Some(strategy));
            }
            "delete_strategy" => self.run.set_strategy(None),
            "delete_placement" => self.view.placement = None,
            "placement_to_rolling_update" => {
                self.view.placement.as_mut().expect("a placement").external = false;
            }
            "change_apply_strategy" => {
                self.view.placement.as_mut().expect("a placement").apply_strategy.0 += 1;
            }
            "new_policy_snapshot" => self.view.policy.index += 1,
            other => panic!("unknown event `{other}`"),
        }
        self.run.set_clusters(self.clusters.clone());
        false
    }

    fn schedule(&mut self, cluster: &str) {
        let target = self.target(cluster);
        let is_live = |binding: &Binding| binding.target == target && binding.state != BindingState::Unscheduled;
        if self.view.bindings.iter().any(is_live) {
            return;
        }
        self.scheduled += 1;
        let name = format!("{cluster}-n{}", self.scheduled);
        self.view.bindings.insert(Binding::scheduled(name, target, self.view.policy.index));
    }

    /// One pass, stored, and what changed in the run.
    fn pass(&mut self, now: SimTime) -> (Pass<StagedStatus>, Change) {
        let before = self.run.run().clone();
        let pass = self.run.reconcile(now, &self.view);
        self.view.store(now, &pass);
        let change = Change::new(self, &before, &pass);
        (pass, change)
    }
}

/// Marks a binding as started by somebody, at its generation.
fn start(binding: &mut Binding, now: SimTime) {
    use fleetsim::rollout::kubefleet::{Condition, Reason};
    let observed_generation = binding.generation;
    binding.conditions.rollout_started = Some(Condition {
        status: ConditionStatus::True,
        reason: Reason::RolloutStarted,
        observed_generation,
        since: now,
    });
}

/// What one pass changed in a run, in the record's words. Stages with their clusters are in their order.
#[derive(Default)]
struct Change {
    rolled: Vec<String>,
    deleted: Vec<String>,
    started: Vec<(String, String)>,
    succeeded: Vec<(String, String)>,
    failed: Vec<(String, String)>,
    requested: Vec<String>,
    accepted: Vec<String>,
    elapsed: Vec<String>,
    /// Name, progressing, reason, succeeded.
    stages: Vec<(String, Progress)>,
    run: Option<RunText>,
}

type Progress = (&'static str, String, &'static str);
/// Progressing, reason, succeeded, failure, stuck clusters.
type RunText = (Progress, &'static str, String);

impl Change {
    fn new(around: &Around, before: &RunStatus, pass: &Pass<StagedStatus>) -> Self {
        let mut change = Self::default();
        for action in &pass.actions {
            match *action {
                Action::Deploy { target, .. } => change.rolled.push(around.name(target)),
                Action::Delete { target } => change.deleted.push(around.name(target)),
                Action::RequestApproval { approval } => change.requested.push(around.run.approval_name(approval)),
                other => panic!("a run asks for no {other:?}"),
            }
        }
        change.deleted.sort();
        let accepted = pass.status.accepted.iter().map(|approval| around.run.approval_name(*approval));
        change.accepted = accepted.collect();
        let after = around.run.run();
        let nothing = StageStatus::default();
        let stages =
            after.stages.iter().enumerate().map(|(index, stage)| (before.stages.get(index), stage, stage.name.clone()));
        let deletion = (Some(&before.deletion), &after.deletion, "__delete__".to_owned());
        for (old, new, name) in stages.chain([deletion]) {
            let old = old.unwrap_or(&nothing);
            for (index, cluster) in new.clusters.iter().enumerate() {
                let was = old.clusters.get(index);
                let entry = (name.clone(), around.name(cluster.target));
                if cluster.started.is_some() && was.is_none_or(|was| was.started.is_none()) {
                    change.started.push(entry.clone());
                }
                if cluster.succeeded != was.and_then(|was| was.succeeded) {
                    let list = if cluster.succeeded == Some(true) { &mut change.succeeded } else { &mut change.failed };
                    list.push(entry);
                }
            }
            let has_elapsed = |stage: &StageStatus| stage.after.iter().filter(|task| task.elapsed).count();
            if has_elapsed(new) > has_elapsed(old) {
                change.elapsed.push(name.clone());
            }
            if stage_text(old) != stage_text(new) {
                change.stages.push((name, stage_text(new)));
            }
        }
        if run_text(around, before) != run_text(around, after) {
            change.run = Some(run_text(around, after));
        }
        change
    }

    fn names(list: &[(String, String)]) -> Vec<&str> {
        list.iter().map(|(_, cluster)| cluster.as_str()).collect()
    }
}

fn stage_text(stage: &StageStatus) -> Progress {
    match stage.progressing {
        None => ("", String::new(), tri(stage.succeeded)),
        Some(progress) => (status(progress.status), progress.reason.to_string(), tri(stage.succeeded)),
    }
}

fn run_text(around: &Around, run: &RunStatus) -> RunText {
    let progress = match run.progressing {
        None => ("", String::new(), tri(run.succeeded)),
        Some(progress) => (status(progress.status), progress.reason.to_string(), tri(run.succeeded)),
    };
    let stuck = if run.progressing.is_some_and(|progress| progress.reason == RunReason::Stuck) {
        let names: Vec<String> = run.stuck.iter().take(3).map(|target| around.name(*target)).collect();
        format!("{}{}", names.join(", "), if run.stuck.len() > 3 { "..." } else { "" })
    } else {
        String::new()
    };
    (progress, run.failure.as_ref().map_or("", run_error), stuck)
}

fn status(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn tri(value: Option<bool>) -> &'static str {
    match value {
        None => "",
        Some(true) => "True",
        Some(false) => "False",
    }
}

pub fn check_init(case: &Value) -> Result<(), String> {
    let config: Config = parse(&case["config"]);
    let mut around = Around::new(&config);
    let (pass, _) = around.pass(START);
    let run = around.run.run();
    let tasks = |tasks: &[StageTask]| -> Vec<String> {
        let wait = |task: &StageTask| task.wait_time.as_deref().and_then(parse_duration).map(format_duration);
        let text = |task: &StageTask| match wait(task).filter(|_| task.kind == "TimedWait") {
            Some(wait) => format!("{}:{wait}", task.kind),
            None => task.kind.clone(),
        };
        tasks.iter().map(text).collect()
    };
    let names = |stage: &StageStatus| -> Vec<String> {
        stage.clusters.iter().map(|cluster| around.name(cluster.target)).collect()
    };
    let stage = |(index, stage): (usize, &StageStatus)| {
        let config = &around.run.strategy().expect("a strategy").stages[index];
        let limit = around.run.max_concurrency(index);
        json!({
            "name": stage.name,
            "clusters": names(stage),
            "resolved_max_concurrency": limit.as_ref().ok(),
            "max_concurrency_error": limit.as_ref().err().map(limit_error),
            "before_tasks": tasks(&config.before_stage_tasks),
            "after_tasks": tasks(&config.after_stage_tasks),
        })
    };
    let mut got = json!({
        "outcome": match run.initialized {
            Some(true) => "initialized",
            Some(false) => "failed",
            None => "retry",
        },
        "stages": run.stages.iter().enumerate().map(stage).collect::<Vec<_>>(),
        "deletion_stage": names(&run.deletion),
    });
    let fields = got.as_object_mut().expect("an object");
    if run.initialized == Some(true) {
        fields.insert("observed_cluster_count".to_owned(), json!(run.cluster_count));
    } else {
        let retried = pass.status.error.as_ref().map(retry_error);
        fields.insert("code".to_owned(), json!(run.failure.as_ref().map(run_error).or(retried)));
    }
    match &run.failure {
        Some(RunError::ClustersNotInAnyStage { total, first }) => {
            fields.insert("missing_total".to_owned(), json!(total));
            fields.insert("missing_clusters_first10".to_owned(), json!(first));
        }
        Some(RunError::ClusterInMultipleStages { cluster, .. } | RunError::SortingLabelInvalid { cluster, .. }) => {
            fields.insert("cluster".to_owned(), json!(cluster));
        }
        _ => {}
    }
    let mut expected = case["expect"].clone();
    if expected["outcome"] == "initialized" {
        expected.as_object_mut().expect("an object").entry("observed_cluster_count").or_insert(json!(0));
    }
    differ("initialization", &expected, &got)
}

pub fn check_trace(case: &Value) -> Result<(), String> {
    let config: Config = parse(&case["config"]);
    let mut around = Around::new(&config);
    let mut now = START;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        now = now + SimDuration::from_millis(step["advance_ms"].as_u64().expect("a time"));
        for event in step.get("events").and_then(Value::as_array).into_iter().flatten() {
            around.apply(now, event);
        }
        let (pass, change) = around.pass(now);
        let run = around.run.run();
        let ((progressing, reason, succeeded), fail_code, stuck) = run_text(&around, run);
        let stage = |(name, (progressing, reason, succeeded)): &(String, Progress)| json!({"stage": name, "progressing": progressing, "reason": reason, "succeeded": succeeded});
        let got = json!({
            "next": next(pass.status.next),
            "error_code": pass.status.error.as_ref().map(retry_error),
            "bindings_rolled": change.rolled,
            "clusters_started": Change::names(&change.started),
            "clusters_succeeded": Change::names(&change.succeeded),
            "clusters_failed": Change::names(&change.failed),
            "bindings_deleted": change.deleted,
            "approvals_created": change.requested,
            "approvals_accepted": change.accepted,
            "timed_waits_elapsed": change.elapsed,
            "stage_changes": change.stages.iter().map(stage).collect::<Vec<_>>(),
            "run": {
                "initialized": tri(run.initialized),
                "progressing": progressing,
                "reason": reason,
                "succeeded": succeeded,
                "fail_code": fail_code,
                "stuck": stuck,
            },
        });
        differ(&format!("step {index}"), &step["result"], &got)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct LoopCase {
    config: Config,
    #[serde(flatten)]
    phases: Phases,
    approval_delay_ms: Option<u64>,
    deletion_ms: u64,
    horizon_ms: u64,
    #[serde(default)]
    externals: Vec<External>,
}

enum Event {
    External(Value),
    Status { binding: String, generation: u64, status: String },
    Gone { binding: String },
}

pub fn check_loop(case: &Value) -> Result<(), String> {
    let read: LoopCase = parse(case);
    let mut around = Around::new(&read.config);
    let mut clock = Loop::new(read.horizon_ms);
    let mut started = Started::default();
    around.view.bindings.iter().for_each(|binding| _ = started.is_new(binding));
    for external in read.externals {
        clock.schedule(external.at_ms, Event::External(external.event));
    }
    let (mut timeline, mut times, mut passes) = (Vec::new(), Vec::new(), 0);
    let ended = loop {
        match clock.next() {
            Next::End(how) => break how,
            Next::Event(Event::External(event)) => {
                let wakes = around.apply(at(clock.now), &event);
                clock.is_ready |= wakes;
            }
            Next::Event(Event::Gone { binding }) => _ = around.view.bindings.remove(&binding),
            Next::Event(Event::Status { binding, generation, status }) => {
                let found = around.view.bindings.named_mut(&binding);
                if let Some(binding) = found.filter(|binding| binding.generation == generation) {
                    binding.report(at(clock.now), work_state(&status));
                }
            }
            Next::Pass => {
                passes += 1;
                if times.len() < 60 {
                    times.push(clock.now);
                }
                let initialized = around.run.run().initialized;
                let deleting: Vec<String> = names_of_deleting(&around);
                let (pass, change) = around.pass(at(clock.now));
                clock.set_timer(pass.wake_at);
                for binding in around.view.bindings.iter() {
                    if started.is_new(binding) {
                        for phase in read.phases.of(&around.clusters[binding.target.index()].name) {
                            let (binding, generation) = (binding.name.clone(), binding.generation);
                            let status = phase.status.clone();
                            clock.schedule(clock.now + phase.after_ms, Event::Status { binding, generation, status });
                        }
                    }
                }
                for binding in names_of_deleting(&around) {
                    if !deleting.contains(&binding) {
                        clock.schedule(clock.now + read.deletion_ms, Event::Gone { binding });
                    }
                }
                if let Some(delay) = read.approval_delay_ms {
                    for request in &change.requested {
                        let event = json!({"type": "approve", "request": request});
                        clock.schedule(clock.now + delay, Event::External(event));
                    }
                }
                note(&mut timeline, clock.now, &around, initialized, &change);
            }
        }
    };
    differ("timeline", &lines(&case["timeline"]), &lines(&json!(timeline)))?;
    differ("reconcile_times_ms", &case["reconcile_times_ms"], &json!(times))?;
    differ("reconcile_count", &case["reconcile_count"], &json!(passes))?;
    differ("ended", &case["ended"], &json!(ended))
}

fn names_of_deleting(around: &Around) -> Vec<String> {
    around.view.bindings.iter().filter(|binding| binding.deleting).map(|binding| binding.name.clone()).collect()
}

/// Adds what a pass changed to the timeline.
fn note(timeline: &mut Vec<Value>, now: u64, around: &Around, initialized: Option<bool>, change: &Change) {
    let mut add = |kind: &str, stage: &str, cluster: &str, detail: &str| {
        let mut entry: Map<String, Value> = Map::new();
        entry.insert("t_ms".to_owned(), json!(now));
        for (key, value) in [("type", kind), ("stage", stage), ("cluster", cluster), ("detail", detail)] {
            entry.insert(key.to_owned(), json!(value));
        }
        timeline.push(Value::Object(entry));
    };
    let run = around.run.run();
    if run.initialized != initialized {
        match run.initialized {
            Some(true) => add("run_initialized", "", "", ""),
            _ => add("run_init_failed", "", "", run.failure.as_ref().map_or("", run_error)),
        }
    }
    for (kind, list) in [
        ("cluster_succeeded", &change.succeeded),
        ("cluster_failed", &change.failed),
        ("cluster_started", &change.started),
    ] {
        list.iter().for_each(|(stage, cluster)| add(kind, stage, cluster, ""));
    }
    change.requested.iter().for_each(|request| add("approval_requested", "", "", request));
    change.accepted.iter().for_each(|request| add("approval_accepted", "", "", request));
    change.elapsed.iter().for_each(|stage| add("timed_wait_elapsed", stage, "", ""));
    for (stage, (progressing, reason, succeeded)) in &change.stages {
        add("stage", stage, "", &format!("{progressing}/{reason}/{succeeded}"));
    }
    if let Some(((progressing, reason, succeeded), code, stuck)) =
        change.run.as_ref().filter(|((p, ..), ..)| !p.is_empty())
    {
        let mut detail = format!("{progressing}/{reason}/{succeeded}");
        if !stuck.is_empty() {
            detail.push_str(&format!(" stuck: {stuck}"));
        }
        if !code.is_empty() {
            detail.push_str(&format!(" code: {code}"));
        }
        add("run", "", "", &detail);
    }
}

/// The timeline as text, so that a disagreement can be read.
fn lines(timeline: &Value) -> Value {
    let line = |entry: &Value| {
        let field = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("\n{} {} {} {} {}", entry["t_ms"], field("type"), field("stage"), field("cluster"), field("detail"))
    };
    Value::String(timeline.as_array().expect("a list").iter().map(line).collect())
}

fn limit_error(error: &LimitError) -> &'static str {
    match error {
        LimitError::NotAPercentage(_) => "max_concurrency_invalid",
        LimitError::Missing => "max_concurrency_missing",
        other => panic!("the record knows no error such as {other}"),
    }
}

fn retry_error(error: &RetryError) -> &'static str {
    match error {
        RetryError::OldPolicyBinding(_) => "transient_old_policy_binding",
        RetryError::ClusterUpdate(_) => "cluster_update_error",
        RetryError::MaxConcurrency { source, .. } => limit_error(source),
        other => panic!("the record knows no error such as {other}"),
    }
}

fn run_error(error: &RunError) -> &'static str {
    match error {
        RunError::PlacementNotFound => "placement_not_found",
        RunError::PlacementNotExternal => "placement_not_external",
        RunError::ApplyStrategyChanged => "apply_strategy_changed",
        RunError::PolicyNotScheduled(_) => "policy_not_scheduled",
        RunError::PolicySnapshotChanged { .. } => "policy_snapshot_changed",
        RunError::NoBindings(_) => "no_bindings",
        RunError::ClusterCountMismatch { .. } => "cluster_count_mismatch",
        RunError::StrategyNotFound => "strategy_not_found",
        RunError::InvalidBeforeStageTasks(_) => "invalid_before_stage_tasks",
        RunError::InvalidAfterStageTasks(_) => "invalid_after_stage_tasks",
        RunError::InvalidLabelSelector { .. } => "invalid_label_selector",
        RunError::ClusterInMultipleStages { .. } => "cluster_in_multiple_stages",
        RunError::SortingLabelInvalid { .. } => "sorting_label_invalid",
        RunError::ClustersNotInAnyStage { .. } => "clusters_not_in_any_stage",
        RunError::ResourceSnapshotIndexInvalid(_) => "resource_snapshot_index_invalid",
        RunError::ResourceSnapshotNotFound(_) => "resource_snapshot_not_found",
        RunError::StageClusterCountChanged { .. } => "stage_cluster_count_changed",
        RunError::StageClusterChanged { .. } => "stage_cluster_changed",
        RunError::NewClusterToDelete(_) => "new_cluster_to_delete",
        RunError::Preempted { .. } => "preempted",
        RunError::MaxConcurrency { source, .. } => limit_error(source),
        other => panic!("the record knows no error such as {other}"),
    }
}
