//! KubeFleet's staged update runs and rolling updates, as recorded from its own code (see `kubefleet/README.md`).

mod rolling;
mod staged;
mod work_queue;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use fleetsim_rollout::QueueRequest;
use fleetsim_rollout::kubefleet::{Binding, BindingState, Bindings, WorkState};
use fleetsim_units::{SimDuration, SimTime};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::suite::{self, Check, Suite, suites_of};
use work_queue::WorkQueue;

/// Returns all suites for which `folder` has files.
pub fn suites(folder: &Path) -> Vec<Suite> {
    let kinds: [(&str, &str, Check); 5] = [
        ("init", "cases", staged::check_init),
        ("staged_traces", "cases", staged::check_trace),
        ("staged_loops", "cases", staged::check_loop),
        ("rolling_traces", "cases", rolling::check_trace),
        ("rolling_loops", "cases", rolling::check_loop),
    ];
    suites_of("kubefleet", folder, &kinds)
}

/// Our time for t = 0 of the records, so that times before it can be represented.
const START: SimTime = SimTime::from_secs(10_000_000);

fn at(t_ms: u64) -> SimTime {
    START + SimDuration::from_millis(t_ms)
}

/// Adds a binding that the scheduler creates, and replaces any binding with the same name.
fn insert(bindings: &mut Bindings, binding: Binding) {
    remove(bindings, &binding.name);
    *bindings = bindings.iter().cloned().chain([binding]).collect();
}

/// Removes the binding of a cluster that is cleaned up.
fn remove(bindings: &mut Bindings, name: &str) {
    *bindings = bindings
        .iter()
        .filter(|binding| binding.name != name)
        .cloned()
        .collect();
}

/// Returns the binding with this name. If its cluster has no other binding, only this cluster counts as changed.
fn by_name<'b>(bindings: &'b mut Bindings, name: &str) -> Option<&'b mut Binding> {
    let target = bindings.iter().find(|binding| binding.name == name)?.target;
    bindings.of_mut(target).find(|binding| binding.name == name)
}

/// The events around a controller in a closed loop, and the times of its passes.
struct Loop<Event> {
    events: BinaryHeap<Reverse<(u64, usize)>>,
    made: Vec<Option<Event>>,
    horizon: u64,
    now: u64,
    is_ready: bool,
    queue: WorkQueue,
    timer: Option<u64>,
}

/// The next event of a closed loop.
enum Next<Event> {
    Event(Event),
    Pass,
    End(&'static str),
}

impl<Event> Loop<Event> {
    fn new(horizon: u64) -> Self {
        Self {
            events: BinaryHeap::new(),
            made: Vec::new(),
            horizon,
            now: 0,
            is_ready: true,
            queue: WorkQueue::default(),
            timer: None,
        }
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.made.len())));
        self.made.push(Some(event));
    }

    /// Returns the next event. At equal times, events come first, in the order of their creation, then the timer, then
    /// passes.
    fn next(&mut self) -> Next<Event> {
        loop {
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            if event == Some(self.now) {
                let Reverse((_, index)) = self.events.pop().expect("it was seen");
                return Next::Event(self.made[index].take().expect("an event comes once"));
            }
            if self.timer == Some(self.now) {
                self.timer = None;
                self.is_ready = true;
            }
            if std::mem::take(&mut self.is_ready) {
                return Next::Pass;
            }
            match [event, self.timer].into_iter().flatten().min() {
                None => return Next::End("idle"),
                Some(next) if next > self.horizon => return Next::End("horizon"),
                Some(next) => self.now = next,
            }
        }
    }

    /// Ends a pass, and applies its request to the queue.
    fn pass_ends(&mut self, next: QueueRequest) {
        let wake_at = self.queue.pass(at(self.now), next);
        self.timer = wake_at.map(|time| time.since(START).as_nanos() / 1_000_000);
    }
}

#[derive(Clone, Deserialize)]
struct Phase {
    after_ms: u64,
    status: String,
}

#[derive(Deserialize)]
struct Phases {
    #[serde(default)]
    default_phases: Vec<Phase>,
    #[serde(default)]
    phases: BTreeMap<String, Vec<Phase>>,
}

impl Phases {
    fn of(&self, cluster: &str) -> &[Phase] {
        self.phases.get(cluster).unwrap_or(&self.default_phases)
    }
}

/// For each binding, the generation at which it was last observed to have started.
#[derive(Default)]
struct Started(BTreeMap<String, u64>);

impl Started {
    /// Returns whether the binding has started at another generation than when last observed.
    fn is_new(&mut self, binding: &Binding) -> bool {
        binding.has_started()
            && self.0.insert(binding.name.clone(), binding.generation) != Some(binding.generation)
    }
}

#[derive(Deserialize)]
struct External {
    at_ms: u64,
    event: Value,
}

fn differ(place: &str, expected: &Value, got: &Value) -> Result<(), String> {
    suite::differ(place, &pruned(expected), &pruned(got))
}

/// Returns a value without its empty fields, which the record omits. Numbers are kept.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .map(|(key, value)| (key.clone(), pruned(value)))
                .filter(|(_, value)| !is_empty(value));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(pruned).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value == &json!("") || value == &json!([])
}

/// Returns the fields of an object without those that are 0.
fn without_zeros(fields: impl IntoIterator<Item = (&'static str, i64)>) -> Map<String, Value> {
    let kept = fields.into_iter().filter(|(_, number)| *number != 0);
    kept.map(|(key, number)| (key.to_owned(), json!(number)))
        .collect()
}

fn text<'v>(event: &'v Value, key: &str) -> &'v str {
    event[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {event}"))
}

fn next(next: QueueRequest) -> Value {
    match next {
        QueueRequest::None => json!({"kind": "none"}),
        QueueRequest::After(delay) => json!({"kind": "after", "ms": delay.as_nanos() / 1_000_000}),
        QueueRequest::RateLimited => json!({"kind": "rate_limited"}),
        QueueRequest::Error => json!({"kind": "error_backoff"}),
    }
}

fn work_state(status: &str) -> WorkState {
    match status {
        "" | "none" => WorkState::Unknown,
        "override_failed" => WorkState::OverrideFailed,
        "sync_failed" => WorkState::SyncFailed,
        "sync_pending" => WorkState::SyncPending,
        "applying" => WorkState::Applying,
        "apply_failed" => WorkState::ApplyFailed,
        "apply_pending" => WorkState::ApplyPending,
        "applied" => WorkState::Applied,
        "unavailable" => WorkState::Unavailable,
        "not_available_yet" => WorkState::NotAvailableYet,
        "available" => WorkState::Available,
        "available_untrackable" => WorkState::AvailableUntrackable,
        "diff_reported" => WorkState::DiffReported,
        "diff_failed" => WorkState::DiffFailed,
        other => panic!("unknown status `{other}`"),
    }
}

fn binding_state(state: &str) -> BindingState {
    match state {
        "Scheduled" => BindingState::Scheduled,
        "Bound" => BindingState::Bound,
        "Unscheduled" => BindingState::Unscheduled,
        other => panic!("unknown state `{other}`"),
    }
}

/// Returns the number of clusters that a placement requests.
fn requested(kind: &str, number: u32, fixed: &[String]) -> Option<u32> {
    match kind {
        "PickAll" => None,
        "PickN" => Some(number),
        "PickFixed" => Some(fixed.len() as u32),
        other => panic!("unknown placement type `{other}`"),
    }
}
