//! Replays a recorded trace: the controller, with applications that change as recorded.

use std::sync::Arc;

use fleetsim_rollout::argo_cd::{
    Application, ApplicationAction, ApplicationSetSpec, ApplicationSetStatus, ApplicationStatus,
    ApplicationView, ArgoCd, AutoSync, Automated, ControllerOptions, Generated, Health,
    OperationPhase, OperationState, Retry, RolloutStatus, Spec, SyncPolicy, SyncStatus,
    queues_pass,
};
use fleetsim_rollout::{Pass, Revision, TargetId, TargetSet};
use serde_json::{Map, Value, json};

use super::record::{Change, Trace, TraceApp, TraceStep, TraceTemplate};
use super::words::{is_empty, message, message_code, seconds, shown, status_letter, time};
use crate::suite::parse;

/// A replay of the controller, with applications that change as recorded.
pub struct Replay {
    names: Vec<String>,
    /// Recorded revisions and parameters. The number of each is its index plus 1.
    words: Vec<String>,
    template: TraceTemplate,
    /// The template's parameter.
    parameter: String,
    generated: Vec<TraceApp>,
    set: ArgoCd,
    /// A second controller with the same inputs and partial passes, which must make the same decisions.
    quick: ArgoCd,
    view: Vec<ApplicationView>,
    /// Whether the set is being deleted.
    is_deleted: bool,
    /// The view of the last pass.
    known: Vec<ApplicationView>,
    /// The last report of conditions and health.
    shown: Map<String, Value>,
    /// Whether the last pass queued another one.
    pub is_queued: bool,
    pub first_operation: Value,
}

impl Replay {
    pub fn new(trace: &Trace) -> Self {
        let mut names: Vec<String> = Vec::new();
        names.extend(trace.gen_.iter().flatten().map(|app| app.n.clone()));
        names.extend(
            trace
                .steps
                .iter()
                .flat_map(|step| step.gen_.iter().flatten().map(|app| app.n.clone())),
        );
        names.extend(trace.live.iter().flat_map(|(_, names)| names.clone()));
        names.extend(trace.rows.iter().flat_map(|(_, names)| names.clone()));
        names.sort_unstable();
        names.dedup();
        let mut spec = ApplicationSetSpec {
            strategy: trace.strategy.clone(),
            ..ApplicationSetSpec::default()
        };
        let automated = (trace.tmpl.auto > 0).then_some(Automated {
            prune: trace.tmpl.auto == 2,
            enabled: None,
        });
        let retry = (trace.tmpl.retry > 0).then_some(Retry {
            limit: trace.tmpl.retry,
            backoff: None,
        });
        spec.template.spec.sync_policy = Some(SyncPolicy { automated, retry });
        if trace.tmpl.fin == 1 {
            spec.template
                .metadata
                .finalizers
                .push("resources-finalizer.argocd.argoproj.io".to_owned());
        }
        let count = names.len();
        let set = ArgoCd::new(spec, ControllerOptions::default(), names.clone());
        let mut replay = Self {
            quick: set.clone(),
            set,
            names,
            words: Vec::new(),
            template: trace.tmpl,
            parameter: trace.p.clone(),
            generated: trace.gen_.clone().unwrap_or_default(),
            view: vec![ApplicationView::default(); count],
            is_deleted: false,
            known: Vec::new(),
            shown: Map::new(),
            is_queued: false,
            first_operation: Value::Null,
        };
        replay.generate();
        for (change, names) in &trace.live {
            for name in names {
                let index = replay.index(name);
                let generated = replay.view[index].generated.clone();
                let spec = Spec {
                    parameters: match &generated {
                        Some(generated) => generated.parameters,
                        None => replay.word(&trace.p),
                    },
                    auto_sync: if trace.tmpl.auto > 0 {
                        AutoSync::Disabled
                    } else {
                        AutoSync::Absent
                    },
                };
                let labels = generated
                    .map(|generated| generated.labels)
                    .unwrap_or_default();
                replay.view[index].live = Some(Application::new(labels, spec));
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
        replay.set.set_rows(rows.clone());
        replay.quick.set_rows(rows);
        replay.known = replay.view.clone();
        replay
    }

    fn index(&self, name: &str) -> usize {
        self.names
            .binary_search_by(|other| other.as_str().cmp(name))
            .expect("all names were collected")
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
        if texts == [""] {
            Arc::default()
        } else {
            texts.iter().map(|text| Revision(self.word(text))).collect()
        }
    }

    fn generate(&mut self) {
        self.view
            .iter_mut()
            .for_each(|application| application.generated = None);
        for app in self.generated.clone() {
            let index = self.index(&app.n);
            let mut parameters = app.p.unwrap_or_else(|| self.parameter.clone());
            // The error is in the application's spec, so this spec differs from the existing one.
            if app.bad == 1 {
                parameters.push_str(" invalid");
            }
            let parameters = self.word(&parameters);
            let generated = Generated::new(Arc::new(app.l), parameters, Revision(0));
            self.view[index].generated = Some(Generated {
                valid: app.bad == 0,
                ..generated
            });
        }
    }

    fn change(&mut self, index: usize, change: &Change) {
        let revisions = change.v.as_ref().map(|texts| self.revisions(texts));
        if change.x == 1 {
            self.view[index].live = None;
            return;
        }
        let live = self.view[index]
            .live
            .as_mut()
            .expect("only what exists is changed");
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
                "R" => Some(OperationPhase::Running),
                "S" => Some(OperationPhase::Succeeded),
                "F" => Some(OperationPhase::Failed),
                "E" => Some(OperationPhase::Error),
                "T" => Some(OperationPhase::Terminating),
                "" => None,
                other => panic!("the record knows no phase such as `{other}`"),
            };
            live.operation_state = phase.map(|phase| OperationState {
                phase,
                started_at: time(*started_at),
            });
        }
        if let Some(at) = change.r {
            live.reconciled_at = Some(time(at));
        }
        if let Some(conditions) = &change.e {
            let is_error = |condition: &String| {
                matches!(condition.as_str(), "InvalidSpecError" | "UnknownError")
            };
            live.has_error = conditions.iter().any(is_error);
        }
        if change.q == Some(0) {
            live.operation = None;
        }
    }

    /// Applies a step's inputs. Returns whether one of them queues a pass.
    pub fn apply(&mut self, step: &TraceStep) -> bool {
        let mut wakes = step.p.is_some() || step.gen_.is_some() || step.delset == 1;
        if let Some(strategy) = &step.strategy {
            let spec = ApplicationSetSpec {
                strategy: parse(strategy),
                ..self.set.spec().clone()
            };
            wakes |= spec != *self.set.spec();
            self.set.set_spec(spec.clone());
            self.quick.set_spec(spec);
        }
        if let Some(p) = &step.p {
            self.parameter.clone_from(p);
        }
        if let Some(generated) = &step.gen_ {
            self.generated.clone_from(generated);
        }
        self.generate();
        self.is_deleted |= step.delset == 1;
        let before: Vec<Option<Application>> = self.view.iter().map(|a| a.live.clone()).collect();
        for (change, names) in &step.set {
            for name in names {
                self.change(self.index(name), change);
            }
        }
        let pairs = before.iter().zip(&self.view);
        wakes
            | pairs
                .into_iter()
                .any(|(old, new)| queues_pass(old.as_ref(), new.live.as_ref()))
    }

    /// Runs one pass, and returns its effects in the format of the record; empty fields are omitted.
    pub fn pass(&mut self, at: i64) -> Map<String, Value> {
        let rows = self.set.rows().to_vec();
        let pass = if self.is_deleted {
            self.set.delete(time(at), &self.view)
        } else {
            let pass = self.set.reconcile(time(at), &self.view);
            self.pass_over_changes(at, &pass);
            pass
        };
        let mut starts = self.targets(&pass, |action| match action {
            ApplicationAction::Deploy(target) => Some(*target),
            _ => None,
        });
        self.set.store(&pass, &mut self.view);
        if !starts.is_empty() && self.first_operation.is_null() {
            self.first_operation = self.operation();
        }
        starts.sort_unstable();
        let status = &pass.status;
        let mut requested: Vec<String> = status
            .requested
            .iter()
            .map(|target| self.name(*target))
            .collect();
        requested.sort_unstable();
        let changes = rows.iter().zip(self.set.rows()).zip(&self.names);
        let st: Map<String, Value> = changes
            .clone()
            .filter_map(|((old, new), name)| {
                Some((name.clone(), self.row_change(old.as_ref(), new.as_ref()?)?))
            })
            .collect();
        let gone = changes.filter(|((old, new), _)| old.is_some() && new.is_none());
        let gone: Vec<String> = gone.map(|(_, name)| name.clone()).collect();
        let is_rolling = !self.is_deleted && self.set.is_rolling() == Ok(true);
        let mut got = Map::from_iter([
            ("st".to_owned(), Value::Object(st)),
            ("gone".to_owned(), json!(gone)),
            (
                "wave".to_owned(),
                if is_rolling {
                    json!(self.wave(status))
                } else {
                    Value::Null
                },
            ),
            ("trig".to_owned(), json!(requested)),
            ("ops".to_owned(), json!(starts)),
            (
                "new".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    ApplicationAction::Create(target) => Some(*target),
                    _ => None,
                })),
            ),
            (
                "upd".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    ApplicationAction::Stage(target) => Some(*target),
                    _ => None,
                })),
            ),
            (
                "del".to_owned(),
                json!(self.targets(&pass, |action| match action {
                    ApplicationAction::Delete(target) => Some(*target),
                    _ => None,
                })),
            ),
            (
                "rq".to_owned(),
                json!(
                    status
                        .requeue_after
                        .map(|after| after.as_nanos() / 1_000_000_000)
                ),
            ),
            (
                "again".to_owned(),
                json!(match (status.rows_written, status.objects_written) {
                    (true, true) => "sa",
                    (true, false) => "s",
                    (false, true) => "a",
                    (false, false) => "",
                }),
            ),
            (
                "released".to_owned(),
                if status.released {
                    json!(1)
                } else {
                    Value::Null
                },
            ),
            (
                "fail".to_owned(),
                if status.deletion_failed {
                    json!(1)
                } else {
                    Value::Null
                },
            ),
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

    /// Checks that the partial pass makes the recorded decision.
    fn pass_over_changes(&mut self, at: i64, pass: &Pass<ApplicationAction, ApplicationSetStatus>) {
        let mut changed = TargetSet::new(self.names.len());
        let pairs = (0..).zip(self.known.iter().zip(&self.view));
        for (index, _) in pairs.filter(|(_, (old, new))| old != new) {
            changed.insert(index);
        }
        self.known.clone_from(&self.view);
        let mut quick = self
            .quick
            .reconcile_changed(time(at), &self.view, &changed, &mut |_| Some(time(at)));
        // Only full passes list requests for applications that already have an operation.
        quick.status.requested.clone_from(&pass.status.requested);
        assert_eq!(&quick, pass, "at {at}");
        assert_eq!(self.quick.rows(), self.set.rows(), "at {at}");
    }

    fn targets(
        &self,
        pass: &Pass<ApplicationAction, ApplicationSetStatus>,
        select: impl Fn(&ApplicationAction) -> Option<TargetId>,
    ) -> Vec<String> {
        let mut names: Vec<String> = pass
            .actions
            .iter()
            .filter_map(select)
            .map(|target| self.name(target))
            .collect();
        names.sort_unstable();
        names
    }

    fn name(&self, target: TargetId) -> String {
        self.names[target.index()].clone()
    }

    /// Returns the largest number of first steps whose applications together are the allowed ones.
    fn wave(&self, status: &ApplicationSetStatus) -> usize {
        let lists = &self.set.steps().lists;
        let allowed = lists[..status.open_steps].concat();
        let adds_nothing =
            |list: &&Vec<u32>| list.iter().all(|application| allowed.contains(application));
        status.open_steps
            + lists[status.open_steps..]
                .iter()
                .take_while(adds_nothing)
                .count()
    }

    /// Returns the change of a row. `None`: unchanged.
    fn row_change(
        &self,
        old: Option<&ApplicationStatus>,
        new: &ApplicationStatus,
    ) -> Option<Value> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value, is_changed: bool| {
            if is_changed {
                fields.insert(key.to_owned(), value);
            }
        };
        put(
            "s",
            json!(status_letter(new.status)),
            old.is_none_or(|old| old.status != new.status),
        );
        put(
            "k",
            json!(new.step.map_or(-1, i64::from)),
            old.is_none_or(|old| old.step != new.step),
        );
        let at = new.last_transition_time;
        put(
            "t",
            json!(seconds(at)),
            old.is_none_or(|old| old.last_transition_time != at),
        );
        put(
            "m",
            json!(message_code(new.message)),
            old.is_none_or(|old| old.message != new.message),
        );
        let none: &[Revision] = &[];
        let before = old.map_or(none, |old| &old.target_revisions);
        let texts: Vec<&str> = new
            .target_revisions
            .iter()
            .map(|revision| self.words[revision.0 as usize - 1].as_str())
            .collect();
        let is_changed = before != &*new.target_revisions;
        put("r", json!(texts), is_changed && !texts.is_empty());
        put("re", json!(1), is_changed && texts.is_empty());
        (!fields.is_empty()).then_some(Value::Object(fields))
    }

    fn operation(&self) -> Value {
        let first = self
            .view
            .iter()
            .filter_map(|a| a.live.as_ref())
            .find_map(|a| a.operation);
        let operation = first.expect("one was requested");
        let mut value =
            json!({ "automated": true, "prune": operation.prune, "retry": operation.retry_limit });
        if self.template.auto > 0 {
            value["autosync"] = json!(false);
        }
        value
    }
}
