//! Argo CD's steps, budgets and passes, as recorded from its own code (see `argocd-applicationset/README.md`).
//!
//! Every pass of a trace is compared in full: rows, requests, operations, objects, conditions, timers, and what queues
//! the next pass.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fleetsim::rollout::argo_cd::{
    Application, ApplicationSetSpec, ApplicationSetStatus, ApplicationSetView, ApplicationStatus, ApplicationView,
    ArgoCd, AutoSync, Automated, Budget, ErrorOccurred, Generated, Health, IntOrString, IssueKind, Message,
    OperationState, Options, Phase, Retry, Rollout, RolloutConfig, RolloutStatus, SetHealth, Spec, Step, Strategy,
    SyncPolicy, SyncStatus, queues_pass,
};
use fleetsim::rollout::label_selector::Labels;
use fleetsim::rollout::{Action, Pass, Revision, Scheduler, TargetId};
use fleetsim::units::SimTime;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::suite::{Suite, read_files};

/// Compares one case; the error tells where, what was expected and what came out.
type Check = fn(&Value) -> Result<(), String>;

/// Recorded times are relative to the start of a trace, and may be before it.
const START: i64 = 1_000_000;

/// All suites for which `folder` has files.
pub fn suites(folder: &Path) -> Vec<Suite> {
    let kinds: [(&str, &str, Check); 3] =
        [("budget", "cases", check_budget), ("steps", "cases", check_steps), ("traces", "traces", check_trace)];
    let mut suites = Vec::new();
    for (kind, list, check) in kinds {
        let files = read_files(folder, kind);
        if files.is_empty() {
            continue;
        }
        let mut suite = Suite { name: format!("argocd-applicationset/{kind}"), cases: 0, disagreements: Vec::new() };
        for (file, content) in files {
            let cases = content[list].as_array().unwrap_or_else(|| panic!("{file}: no list of {list}"));
            for (index, case) in cases.iter().enumerate() {
                suite.cases += 1;
                if let Err(why) = check(case) {
                    let id = case["id"].as_str().map_or_else(|| format!("#{index}"), str::to_owned);
                    suite.disagreements.push(format!("{file} {id}: {why}"));
                }
            }
        }
        suites.push(suite);
    }
    suites
}

/// One step, and rows in all three states: how many are promoted.
fn check_budget(case: &Value) -> Result<(), String> {
    let case: BudgetCase = parse(case);
    let step = Step { max_update: case.max.clone(), ..Step::default() };
    let names = (0..case.total).map(|index| format!("a{index:04}")).collect();
    let mut set = ArgoCd::new(rolling(&[step]), Options::default(), names);
    let row = |index: usize| ApplicationStatus {
        status: match index {
            index if index < case.updating => RolloutStatus::Progressing,
            index if index < case.updating + case.waiting => RolloutStatus::Waiting,
            _ => RolloutStatus::Healthy,
        },
        step: Some(1),
        target_revisions: Arc::new([Revision(1)]),
        last_transition_time: SimTime::ZERO,
        message: Message::Empty,
    };
    set.set_rows((0..case.total).map(|index| Some(row(index))).collect());
    let view = ApplicationSetView { deleted: false, applications: vec![out_of_sync(&Arc::default()); case.total] };
    let pass = set.reconcile(time(0), &view);
    let budget = pass.status.budgets[0];
    let got = json!({
        "promoted": pass.status.rows.pending,
        "invalid": u8::from(set.conditions().config == Some(RolloutConfig::Invalid(IssueKind::MaxUpdate))),
        "cap": budget.limit.filter(|_| budget.is_used_up),
    });
    let expected = json!({ "promoted": case.promoted, "invalid": case.invalid, "cap": case.cap });
    differ(&format!("{case:?}"), &expected, &got)
}

fn check_steps(case: &Value) -> Result<(), String> {
    let input: StepsCase = parse(case);
    let names: Vec<String> = input.apps.iter().map(|app| app.n.clone()).collect();
    let spec = ApplicationSetSpec { strategy: input.strategy, ..ApplicationSetSpec::default() };
    let mut set = ArgoCd::new(spec.clone(), Options::default(), names.clone());
    let row = ApplicationStatus {
        status: RolloutStatus::Waiting,
        step: None,
        target_revisions: Arc::new([Revision(1)]),
        last_transition_time: SimTime::ZERO,
        message: Message::Empty,
    };
    set.set_rows(vec![Some(row); names.len()]);
    let applications = input.apps.iter().map(|app| out_of_sync(&Arc::new(app.l.clone()))).collect();
    let pass = set.reconcile(time(0), &ApplicationSetView { deleted: false, applications });

    let plan = set.steps();
    let steps = spec.steps().ok().flatten();
    let named = |list: &[u32]| list.iter().map(|index| names[*index as usize].clone()).collect::<Vec<_>>();
    // All rows Waiting, every application that is in a step allowed: the budgets alone decide.
    let mut budgets: Vec<Budget> = Vec::new();
    let mut promoted = vec![0; plan.lists.len()];
    for (index, step) in steps.unwrap_or_default().iter().enumerate() {
        let total = (0..names.len()).filter(|application| plan.counted_in(*application) == index).count();
        budgets.push(Budget::new(step.max_update.as_ref(), total, 0));
    }
    let mut order: Vec<usize> = (0..plan.step_of.len()).collect();
    order.sort_by_key(|application| &names[*application]);
    for application in order {
        let (step, is_selected) = (plan.counted_in(application), plan.step_of[application].is_some());
        if step < budgets.len() {
            promoted[step] += i64::from(budgets[step].turn(is_selected));
        }
    }
    let unreadable: Vec<usize> = numbers(&budgets, |budget| budget.is_unreadable);
    let mut open = named(&plan.lists[..pass.status.open_steps].concat());
    open.sort_unstable();
    open.dedup();
    let step = |name: &String| {
        let index = names.iter().position(|other| other == name).expect("a name of the list");
        plan.step_of.get(index).copied().flatten().map_or(-1, |step| i64::from(step) + 1)
    };
    let mut issues = Map::from_iter([
        (
            "operator".to_owned(),
            json!(plan.issues.operators.iter().map(|(step, text)| json!([step + 1, text])).collect::<Vec<_>>()),
        ),
        (
            "duplicate".to_owned(),
            json!(
                plan.issues
                    .duplicates
                    .iter()
                    .map(|(index, steps)| (names[*index as usize].clone(), steps.iter().map(|s| s + 1).collect()))
                    .collect::<BTreeMap<_, Vec<_>>>()
            ),
        ),
        ("maxUpdate".to_owned(), json!(unreadable)),
        ("emptyStep".to_owned(), json!(plan.issues.empty_steps.iter().map(|step| step + 1).collect::<Vec<_>>())),
    ]);
    issues.retain(|_, value| !is_empty(value));
    let mut got = json!({
        "enabled": steps.is_some(),
        "lists": plan.lists.iter().map(|list| named(list)).collect::<Vec<_>>(),
        "step": names.iter().map(|name| (name.clone(), step(name))).collect::<BTreeMap<_, _>>(),
        "open": open,
        "budget": budgets.iter().map(|budget| budget.limit.filter(|_| budget.is_used_up)).collect::<Vec<_>>(),
        "promoted": promoted,
        "issues": issues,
        "report": config(set.conditions().config),
    });
    let mut expected = case.clone();
    for key in ["id", "kind", "about", "strategy", "apps"] {
        expected.as_object_mut().expect("an object").remove(key);
    }
    for value in [&mut got, &mut expected] {
        value.as_object_mut().expect("an object").retain(|_, value| !is_empty(value));
    }
    differ("steps", &expected, &got)
}

fn check_trace(case: &Value) -> Result<(), String> {
    let trace: Trace = parse(case);
    let mut replay = Replay::new(&trace);
    for (index, step) in trace.steps.iter().enumerate() {
        let wakes = replay.apply(step);
        let place = format!("step {index} (t={})", step.t);
        differ(&format!("{place} wake"), &json!(step.wake), &json!(u8::from(wakes)))?;
        let is_due = wakes || replay.is_queued;
        if trace.kind == "closed" && index > 0 && step.skip == 1 {
            differ(&format!("{place} skip"), &json!(false), &json!(is_due))?;
        }
        if step.skip == 1 {
            continue;
        }
        let got = replay.pass(step.t);
        let mut expected = step.out.clone();
        if let Some(rows) = expected.remove("st") {
            expected.insert("st".to_owned(), ungrouped(&rows));
        }
        differ(&place, &Value::Object(expected), &Value::Object(got))?;
    }
    differ("op", &trace.op.unwrap_or_default(), &replay.first_operation)
}

/// The controller over applications that change as the record says.
struct Replay {
    names: Vec<String>,
    /// Recorded revisions and parameters by their index here, from 1.
    words: Vec<String>,
    template: TraceTemplate,
    /// The template's parameter.
    parameter: String,
    generated: Vec<TraceApp>,
    set: ArgoCd,
    view: ApplicationSetView,
    /// What was last reported of the conditions and the health.
    shown: Map<String, Value>,
    /// The last pass queued another one.
    is_queued: bool,
    first_operation: Value,
}

impl Replay {
    fn new(trace: &Trace) -> Self {
        let mut names: Vec<String> = Vec::new();
        names.extend(trace.gen_.iter().flatten().map(|app| app.n.clone()));
        names.extend(trace.steps.iter().flat_map(|step| step.gen_.iter().flatten().map(|app| app.n.clone())));
        names.extend(trace.live.iter().flat_map(|(_, names)| names.clone()));
        names.extend(trace.rows.iter().flat_map(|(_, names)| names.clone()));
        names.sort_unstable();
        names.dedup();
        let mut spec = ApplicationSetSpec { strategy: trace.strategy.clone(), ..ApplicationSetSpec::default() };
        let automated = (trace.tmpl.auto > 0).then_some(Automated { prune: trace.tmpl.auto == 2, enabled: None });
        let retry = (trace.tmpl.retry > 0).then_some(Retry { limit: trace.tmpl.retry });
        spec.template.spec.sync_policy = Some(SyncPolicy { automated, retry });
        if trace.tmpl.fin == 1 {
            spec.template.metadata.finalizers.push("resources-finalizer.argocd.argoproj.io".to_owned());
        }
        let count = names.len();
        let mut replay = Self {
            set: ArgoCd::new(spec, Options::default(), names.clone()),
            names,
            words: Vec::new(),
            template: trace.tmpl,
            parameter: trace.p.clone(),
            generated: trace.gen_.clone().unwrap_or_default(),
            view: ApplicationSetView { deleted: false, applications: vec![ApplicationView::default(); count] },
            shown: Map::new(),
            is_queued: false,
            first_operation: Value::Null,
        };
        replay.generate();
        for (change, names) in &trace.live {
            for name in names {
                let index = replay.index(name);
                let generated = replay.view.applications[index].generated.clone();
                let spec = Spec {
                    parameters: match &generated {
                        Some(generated) => generated.parameters,
                        None => replay.word(&trace.p),
                    },
                    auto_sync: if trace.tmpl.auto > 0 { AutoSync::Disabled } else { AutoSync::Absent },
                };
                let labels = generated.map(|generated| generated.labels).unwrap_or_default();
                replay.view.applications[index].live = Some(Application::new(labels, spec));
                replay.change(index, change);
            }
        }
        let mut rows = vec![None; count];
        for (row, names) in &trace.rows {
            for name in names {
                rows[replay.index(name)] = Some(ApplicationStatus {
                    status: match row.s.as_str() {
                        "W" => RolloutStatus::Waiting,
                        "P" => RolloutStatus::Pending,
                        "G" => RolloutStatus::Progressing,
                        "H" => RolloutStatus::Healthy,
                        other => panic!("the record knows no status such as `{other}`"),
                    },
                    step: u32::try_from(row.k).ok(),
                    target_revisions: replay.revisions(&row.r),
                    last_transition_time: time(row.t),
                    message: message(&row.m),
                });
            }
        }
        replay.set.set_rows(rows);
        replay
    }

    fn index(&self, name: &str) -> usize {
        self.names.binary_search_by(|other| other.as_str().cmp(name)).expect("all names were collected")
    }

    fn word(&mut self, text: &str) -> u32 {
        let known = self.words.iter().position(|word| word == text);
        let index = known.unwrap_or_else(|| {
            self.words.push(text.to_owned());
            self.words.len() - 1
        });
        index as u32 + 1
    }

    fn revisions(&mut self, texts: &[String]) -> Arc<[Revision]> {
        if texts == [""] { Arc::default() } else { texts.iter().map(|text| Revision(self.word(text))).collect() }
    }

    fn generate(&mut self) {
        self.view.applications.iter_mut().for_each(|application| application.generated = None);
        for app in self.generated.clone() {
            let index = self.index(&app.n);
            let mut parameters = app.p.unwrap_or_else(|| self.parameter.clone());
            // What makes it fail is in its spec, which so differs from the one that exists.
            if app.bad == 1 {
                parameters.push_str(" invalid");
            }
            let parameters = self.word(&parameters);
            let generated = Generated::new(Arc::new(app.l), parameters, Revision(0));
            self.view.applications[index].generated = Some(Generated { valid: app.bad == 0, ..generated });
        }
    }

    fn change(&mut self, index: usize, change: &Change) {
        let revisions = change.v.as_ref().map(|texts| self.revisions(texts));
        if change.x == 1 {
            self.view.applications[index].live = None;
            return;
        }
        let live = self.view.applications[index].live.as_mut().expect("only what exists is changed");
        if let Some(sync) = &change.y {
            live.sync = match sync.as_str() {
                "S" => SyncStatus::Synced,
                "O" => SyncStatus::OutOfSync,
                "U" => SyncStatus::Unknown,
                "" => SyncStatus::NotCompared,
                other => panic!("the record knows no sync status such as `{other}`"),
            };
        }
        if let Some(health) = &change.h {
            live.health = match health.as_str() {
                "H" => Health::Healthy,
                "P" => Health::Progressing,
                "D" => Health::Degraded,
                "M" => Health::Missing,
                "S" => Health::Suspended,
                "U" => Health::Unknown,
                "" => Health::NotJudged,
                other => panic!("the record knows no health such as `{other}`"),
            };
        }
        if let Some(revisions) = revisions {
            live.revisions = revisions;
        }
        if let Some((phase, started_at)) = &change.o {
            let phase = match phase.as_str() {
                "R" => Some(Phase::Running),
                "S" => Some(Phase::Succeeded),
                "F" => Some(Phase::Failed),
                "E" => Some(Phase::Error),
                "T" => Some(Phase::Terminating),
                "" => None,
                other => panic!("the record knows no phase such as `{other}`"),
            };
            live.operation_state = phase.map(|phase| OperationState { phase, started_at: time(*started_at) });
        }
        if let Some(at) = change.r {
            live.reconciled_at = Some(time(at));
        }
        if let Some(conditions) = &change.e {
            let is_error = |condition: &String| matches!(condition.as_str(), "InvalidSpecError" | "UnknownError");
            live.has_error = conditions.iter().any(is_error);
        }
        if change.q == Some(0) {
            live.operation = None;
        }
    }

    /// Applies a step's inputs. True: one of them queues a pass.
    fn apply(&mut self, step: &TraceStep) -> bool {
        let mut wakes = step.p.is_some() || step.gen_.is_some() || step.delset == 1;
        if let Some(strategy) = &step.strategy {
            let spec = ApplicationSetSpec { strategy: parse(strategy), ..self.set.spec().clone() };
            wakes |= spec != *self.set.spec();
            self.set.set_spec(spec);
        }
        if let Some(p) = &step.p {
            self.parameter.clone_from(p);
        }
        if let Some(generated) = &step.gen_ {
            self.generated.clone_from(generated);
        }
        self.generate();
        self.view.deleted |= step.delset == 1;
        let before: Vec<Option<Application>> = self.view.applications.iter().map(|a| a.live.clone()).collect();
        for (change, names) in &step.set {
            for name in names {
                self.change(self.index(name), change);
            }
        }
        let pairs = before.iter().zip(&self.view.applications);
        wakes | pairs.into_iter().any(|(old, new)| queues_pass(old.as_ref(), new.live.as_ref()))
    }

    /// One pass, and what it did in the record's words; what is empty is left out.
    fn pass(&mut self, at: i64) -> Map<String, Value> {
        let rows = self.set.rows().to_vec();
        let pass = self.set.reconcile(time(at), &self.view);
        let mut starts = self.targets(&pass, |action| match action {
            Action::Deploy { target, .. } => Some(*target),
            _ => None,
        });
        self.set.store(time(at), &pass, &mut self.view);
        if !starts.is_empty() && self.first_operation.is_null() {
            self.first_operation = self.operation();
        }
        starts.sort_unstable();
        let status = &pass.status;
        let mut requested: Vec<String> = status.requested.iter().map(|target| self.name(*target)).collect();
        requested.sort_unstable();
        let changes = rows.iter().zip(self.set.rows()).zip(&self.names);
        let st: Map<String, Value> = changes
            .clone()
            .filter_map(|((old, new), name)| Some((name.clone(), self.row_change(old.as_ref(), new.as_ref()?)?)))
            .collect();
        let gone = changes.filter(|((old, new), _)| old.is_some() && new.is_none());
        let gone: Vec<String> = gone.map(|(_, name)| name.clone()).collect();
        let is_rolling = !self.view.deleted && self.set.is_rolling() == Ok(true);
        let mut got = Map::from_iter([
            ("st".to_owned(), Value::Object(st)),
            ("gone".to_owned(), json!(gone)),
            ("wave".to_owned(), if is_rolling { json!(self.wave(status)) } else { Value::Null }),
            ("trig".to_owned(), json!(requested)),
            ("ops".to_owned(), json!(starts)),
            (
                "new".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    Action::Create { target } => Some(*target),
                    _ => None,
                })),
            ),
            (
                "upd".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    Action::Stage { target, .. } => Some(*target),
                    _ => None,
                })),
            ),
            (
                "del".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    Action::Delete { target } => Some(*target),
                    _ => None,
                })),
            ),
            ("rq".to_owned(), json!(status.requeue_after.map(|after| after.as_nanos() / 1_000_000_000))),
            (
                "again".to_owned(),
                json!(match (status.rows_written, status.objects_written) {
                    (true, true) => "sa",
                    (true, false) => "s",
                    (false, true) => "a",
                    (false, false) => "",
                }),
            ),
            ("released".to_owned(), if status.released { json!(1) } else { Value::Null }),
            ("fail".to_owned(), if status.deletion_failed { json!(1) } else { Value::Null }),
        ]);
        got.retain(|_, value| !is_empty(value));
        self.is_queued = pass.wake_at == Some(time(at));
        for (key, value) in shown(status) {
            if self.shown.get(key) != Some(&value) {
                self.shown.insert(key.to_owned(), value.clone());
                got.insert(key.to_owned(), value);
            }
        }
        got
    }

    fn targets(&self, pass: &Pass<ApplicationSetStatus>, select: impl Fn(&Action) -> Option<TargetId>) -> Vec<String> {
        let mut names: Vec<String> = pass.actions.iter().filter_map(select).map(|target| self.name(target)).collect();
        names.sort_unstable();
        names
    }

    fn name(&self, target: TargetId) -> String {
        self.names[target.index()].clone()
    }

    /// The largest number of steps whose applications together are those that are allowed.
    fn wave(&self, status: &ApplicationSetStatus) -> usize {
        let lists = &self.set.steps().lists;
        let allowed = lists[..status.open_steps].concat();
        let adds_nothing = |list: &&Vec<u32>| list.iter().all(|application| allowed.contains(application));
        status.open_steps + lists[status.open_steps..].iter().take_while(adds_nothing).count()
    }

    /// What changed in a row; `None`: nothing.
    fn row_change(&self, old: Option<&ApplicationStatus>, new: &ApplicationStatus) -> Option<Value> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value, is_changed: bool| {
            if is_changed {
                fields.insert(key.to_owned(), value);
            }
        };
        put("s", json!(status_letter(new.status)), old.is_none_or(|old| old.status != new.status));
        put("k", json!(new.step.map_or(-1, i64::from)), old.is_none_or(|old| old.step != new.step));
        let at = new.last_transition_time;
        put("t", json!(seconds(at)), old.is_none_or(|old| old.last_transition_time != at));
        put("m", json!(message_code(new.message)), old.is_none_or(|old| old.message != new.message));
        let none: &[Revision] = &[];
        let before = old.map_or(none, |old| &old.target_revisions);
        let texts: Vec<&str> =
            new.target_revisions.iter().map(|revision| self.words[revision.0 as usize - 1].as_str()).collect();
        let is_changed = before != &*new.target_revisions;
        put("r", json!(texts), is_changed && !texts.is_empty());
        put("re", json!(1), is_changed && texts.is_empty());
        (!fields.is_empty()).then_some(Value::Object(fields))
    }

    fn operation(&self) -> Value {
        let first = self.view.applications.iter().filter_map(|a| a.live.as_ref()).find_map(|a| a.operation);
        let operation = first.expect("one was requested");
        let mut value = json!({ "automated": true, "prune": operation.prune, "retry": operation.retry_limit });
        if self.template.auto > 0 {
            value["autosync"] = json!(false);
        }
        value
    }
}

/// What the record calls conditions and health.
fn shown(status: &ApplicationSetStatus) -> [(&'static str, Value); 4] {
    let conditions = status.conditions;
    let progress = match conditions.rollout {
        None => -1,
        Some(Rollout::Complete) => 0,
        Some(Rollout::Progressing(step)) => i64::from(step),
    };
    let error = match conditions.error {
        None => "",
        Some(ErrorOccurred::No) => "ok",
        Some(ErrorOccurred::Validation { .. }) => "ApplicationValidationError",
        Some(ErrorOccurred::NoSteps) => "ApplicationSetRolloutError",
    };
    let health = match conditions.health() {
        SetHealth::Degraded => "Degraded",
        SetHealth::Progressing => "Progressing",
        SetHealth::Healthy => "Healthy",
        SetHealth::Unknown => "Unknown",
    };
    [("prog", json!(progress)), ("bad", json!(config(conditions.config))), ("err", json!(error)), ("hl", json!(health))]
}

fn config(config: Option<RolloutConfig>) -> &'static str {
    match config {
        None => "",
        Some(RolloutConfig::Valid) => "ok",
        Some(RolloutConfig::Invalid(IssueKind::Operator)) => "operator",
        Some(RolloutConfig::Invalid(IssueKind::Duplicate)) => "duplicate",
        Some(RolloutConfig::Invalid(IssueKind::MaxUpdate)) => "maxUpdate",
        Some(RolloutConfig::Invalid(IssueKind::EmptyStep)) => "emptyStep",
    }
}

const fn status_letter(status: RolloutStatus) -> &'static str {
    match status {
        RolloutStatus::Waiting => "W",
        RolloutStatus::Pending => "P",
        RolloutStatus::Progressing => "G",
        RolloutStatus::Healthy => "H",
    }
}

const MESSAGES: [(Message, &str); 13] = [
    (Message::Empty, "-"),
    (Message::New, "new"),
    (Message::Revision, "rev"),
    (Message::Spec, "spec"),
    (Message::RevisionAndSpec, "rev+spec"),
    (Message::SyncedHealthy, "synced-h"),
    (Message::SyncedNotHealthy, "synced-g"),
    (Message::Promoted, "pend"),
    (Message::OperationRunning, "op-run"),
    (Message::OperationSucceeded, "op-ok"),
    (Message::OperationFailed, "op-done"),
    (Message::ApplicationError, "app-err"),
    (Message::Arrived, "healthy"),
];

fn message(code: &str) -> Message {
    let code = if code.is_empty() { "-" } else { code };
    let found = MESSAGES.iter().find(|(_, other)| *other == code);
    found.unwrap_or_else(|| panic!("the record knows no message such as `{code}`")).0
}

fn message_code(message: Message) -> &'static str {
    MESSAGES.iter().find(|(other, _)| *other == message).expect("every message has a code").1
}

/// Groups `[value, [names]]` as one value for each name.
fn ungrouped(groups: &Value) -> Value {
    let groups: Vec<(Value, Vec<String>)> = parse(groups);
    let each = groups.into_iter().flat_map(|(value, names)| names.into_iter().map(move |name| (name, value.clone())));
    Value::Object(each.collect())
}

fn time(seconds: i64) -> SimTime {
    SimTime::from_secs(u64::try_from(START + seconds).expect("no time is so long before the start"))
}

fn seconds(time: SimTime) -> i64 {
    i64::try_from(time.as_nanos() / 1_000_000_000).expect("it fits") - START
}

fn numbers<T>(list: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    (1..).zip(list).filter(|(_, item)| test(item)).map(|(number, _)| number).collect()
}

fn rolling(steps: &[Step]) -> ApplicationSetSpec {
    let strategy: Strategy = parse(&json!({ "type": "RollingSync", "rollingSync": { "steps": steps } }));
    strategy.into()
}

fn out_of_sync(labels: &Arc<Labels>) -> ApplicationView {
    let settled = Application::settled(Arc::clone(labels), Spec::default(), Revision(1));
    ApplicationView {
        generated: Some(Generated::new(Arc::clone(labels), 0, Revision(1))),
        live: Some(Application { sync: SyncStatus::OutOfSync, ..settled }),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn differ(place: &str, expected: &Value, got: &Value) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{place}\nexpected {expected}\ngot      {got}")) }
}

fn is_empty(value: &Value) -> bool {
    value == &json!("") || value == &json!([]) || value == &json!({}) || value.is_null()
}

#[derive(Debug, Deserialize)]
struct BudgetCase {
    max: Option<IntOrString>,
    total: usize,
    updating: usize,
    waiting: usize,
    promoted: usize,
    #[serde(default)]
    invalid: u8,
    cap: Option<i64>,
}

#[derive(Deserialize)]
struct StepsCase {
    strategy: Option<Strategy>,
    apps: Vec<TraceApp>,
}

#[derive(Clone, Deserialize)]
struct TraceApp {
    n: String,
    #[serde(default)]
    l: Labels,
    p: Option<String>,
    #[serde(default)]
    bad: u8,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct TraceTemplate {
    auto: u8,
    retry: i64,
    fin: u8,
}

#[derive(Deserialize)]
struct Trace {
    kind: String,
    strategy: Option<Strategy>,
    tmpl: TraceTemplate,
    p: String,
    #[serde(rename = "gen")]
    gen_: Option<Vec<TraceApp>>,
    #[serde(default)]
    live: Vec<(Change, Vec<String>)>,
    #[serde(default)]
    rows: Vec<(StoredRow, Vec<String>)>,
    op: Option<Value>,
    steps: Vec<TraceStep>,
}

#[derive(Deserialize)]
struct StoredRow {
    s: String,
    #[serde(default)]
    k: i64,
    #[serde(default)]
    t: i64,
    #[serde(default)]
    m: String,
    #[serde(default)]
    r: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    y: Option<String>,
    h: Option<String>,
    v: Option<Vec<String>>,
    o: Option<(String, i64)>,
    r: Option<i64>,
    e: Option<Vec<String>>,
    q: Option<u8>,
    x: u8,
}

#[derive(Deserialize)]
struct TraceStep {
    t: i64,
    /// `Some(null)`: removed.
    #[serde(default, deserialize_with = "present")]
    strategy: Option<Value>,
    #[serde(rename = "gen")]
    gen_: Option<Vec<TraceApp>>,
    p: Option<String>,
    #[serde(default)]
    set: Vec<(Change, Vec<String>)>,
    #[serde(default)]
    delset: u8,
    wake: u8,
    #[serde(default)]
    skip: u8,
    out: Map<String, Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
