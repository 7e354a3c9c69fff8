//! The names of states, messages, conditions and times in the record.

use std::sync::Arc;

use fleetsim_rollout::Revision;
use fleetsim_rollout::argo_cd::{
    Application, ApplicationSetSpec, ApplicationSetStatus, ApplicationSetStrategy, ApplicationView,
    ErrorOccurred, Generated, IssueKind, Message, Rollout, RolloutConfig, RolloutStatus,
    RolloutStep, Spec, SyncStatus,
};
use fleetsim_rollout::label_selector::Labels;
use fleetsim_units::SimTime;
use serde_json::{Value, json};

use crate::suite::parse;

/// Our time for the start of a trace. Recorded times are relative to it, and may be negative.
const START: i64 = 1_000_000;

/// Returns conditions and health with their names in the record.
pub fn shown(status: &ApplicationSetStatus) -> [(&'static str, Value); 4] {
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
    // The set's `status.health`, which ignores the health of the applications.
    let health = match (conditions.error, conditions.rollout) {
        (Some(ErrorOccurred::Validation { .. } | ErrorOccurred::NoSteps), _) => "Degraded",
        (_, Some(Rollout::Progressing(_))) => "Progressing",
        (Some(ErrorOccurred::No), _) => "Healthy",
        (None, _) => "Unknown",
    };
    [
        ("prog", json!(progress)),
        ("bad", json!(config(conditions.config))),
        ("err", json!(error)),
        ("hl", json!(health)),
    ]
}

pub fn config(config: Option<RolloutConfig>) -> &'static str {
    match config {
        None => "",
        Some(RolloutConfig::Valid) => "ok",
        Some(RolloutConfig::Invalid(IssueKind::Operator)) => "operator",
        Some(RolloutConfig::Invalid(IssueKind::Duplicate)) => "duplicate",
        Some(RolloutConfig::Invalid(IssueKind::MaxUpdate)) => "maxUpdate",
        Some(RolloutConfig::Invalid(IssueKind::EmptyStep)) => "emptyStep",
    }
}

pub const fn status_letter(status: RolloutStatus) -> &'static str {
    match status {
        RolloutStatus::Waiting => "W",
        RolloutStatus::Pending => "P",
        RolloutStatus::Progressing => "G",
        RolloutStatus::Healthy => "H",
    }
}

pub const MESSAGES: [(Message, &str); 13] = [
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

pub fn message(code: &str) -> Message {
    let code = if code.is_empty() { "-" } else { code };
    let found = MESSAGES.iter().find(|(_, other)| *other == code);
    found
        .unwrap_or_else(|| panic!("the record knows no message such as `{code}`"))
        .0
}

pub fn message_code(message: Message) -> &'static str {
    MESSAGES
        .iter()
        .find(|(other, _)| *other == message)
        .expect("every message has a code")
        .1
}

/// Expands groups `[value, [names]]` to one value for each name.
pub fn ungrouped(groups: &Value) -> Value {
    let groups: Vec<(Value, Vec<String>)> = parse(groups);
    let each = groups
        .into_iter()
        .flat_map(|(value, names)| names.into_iter().map(move |name| (name, value.clone())));
    Value::Object(each.collect())
}

pub fn time(seconds: i64) -> SimTime {
    SimTime::from_secs(u64::try_from(START + seconds).expect("no time is so long before the start"))
}

pub fn seconds(time: SimTime) -> i64 {
    i64::try_from(time.as_nanos() / 1_000_000_000).expect("it fits") - START
}

pub fn numbers<T>(list: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    (1..)
        .zip(list)
        .filter(|(_, item)| test(item))
        .map(|(number, _)| number)
        .collect()
}

pub fn rolling(steps: &[RolloutStep]) -> ApplicationSetSpec {
    let strategy: ApplicationSetStrategy =
        parse(&json!({ "type": "RollingSync", "rollingSync": { "steps": steps } }));
    ApplicationSetSpec {
        strategy: Some(strategy),
        ..ApplicationSetSpec::default()
    }
}

pub fn out_of_sync(labels: &Arc<Labels>) -> ApplicationView {
    let settled = Application::settled(Arc::clone(labels), Spec::default(), Revision(1));
    ApplicationView {
        generated: Some(Generated::new(Arc::clone(labels), 0, Revision(1))),
        live: Some(Application {
            sync: SyncStatus::OutOfSync,
            ..settled
        }),
    }
}

pub fn is_empty(value: &Value) -> bool {
    value == &json!("") || value == &json!([]) || value == &json!({}) || value.is_null()
}
