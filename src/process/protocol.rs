//! The messages of the protocol between fleetsim and a process, version 1: JSON Lines, times in integer nanoseconds.
//!
//! `docs/external-schedulers.md` describes every field. Unknown fields of an answer are ignored, so that later
//! versions can add fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message to the process; it has exactly one answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProcessMessage<'a> {
    /// The first message.
    Hello(Hello<'a>),
    /// A pass in which the process decides.
    Pass {
        /// Virtual time since the start of the run.
        now: u64,
        /// Changes since the last pass, in order of arrival.
        news: &'a [News],
    },
    /// For a process with its own control loop: first the events in `news` happen, then time passes until `until`.
    Run {
        /// The process may advance to this time.
        until: u64,
        /// Changes in the world, in order of occurrence.
        news: &'a [News],
    },
    /// Asks why nothing is deployed.
    Hold {},
    /// The run is over.
    Bye {},
}

impl ProcessMessage<'_> {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Pass { .. } => "pass",
            Self::Run { .. } => "run",
            Self::Hold {} => "hold",
            Self::Bye {} => "bye",
        }
    }
}

/// The release and its targets.
#[derive(Debug, Serialize)]
pub(crate) struct Hello<'a> {
    pub(crate) protocol: u32,
    pub(crate) run: &'a str,
    pub(crate) seed: u64,
    pub(crate) targets: Vec<Target<'a>>,
    pub(crate) files: BTreeMap<&'a str, &'a str>,
    pub(crate) release: Release,
    pub(crate) latency: Latency,
    pub(crate) client: ClientLimit,
    /// Cluster groups of the experiment.
    #[serde(rename = "clusterGroups", skip_serializing_if = "Vec::is_empty")]
    pub(crate) cluster_groups: Vec<HelloGroup<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) settings: &'a BTreeMap<String, String>,
    /// Whether answers to `run` may report with [`Advanced::seen`] which targets the product sees as ready.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) seen: bool,
}

/// Latencies of the controller's API server, in nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    /// The mean duration of a request.
    pub(crate) request: u64,
    /// Equally likely durations of requests, in ascending order. Empty: each request takes the mean duration.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub(crate) requests: Vec<u64>,
    /// Delay from a write to the event in a client's watch.
    pub(crate) watch: u64,
}

/// The rate limit of the controller's client.
#[derive(Debug, Serialize)]
pub(crate) struct ClientLimit {
    /// Requests per second for each kind of object. 0: no limit.
    pub(crate) qps: u32,
    /// Requests that the client may send before the limit applies.
    pub(crate) burst: u32,
}

/// A cluster group.
#[derive(Debug, Serialize)]
pub(crate) struct HelloGroup<'a> {
    pub(crate) name: &'a str,
    /// Labels of the group's own object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: &'a BTreeMap<String, String>,
    /// The label selector for the group's targets. `None`: the group is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selector: Option<serde_json::Value>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: &'a BTreeMap<String, String>,
    /// The experiment's group that contains the target.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) group: &'a str,
    /// The revision that the target runs initially, if that differs from `installed` in the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
    /// Whether a person has paused the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Whether the target has an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) registered: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Release {
    /// The revision that every target runs initially. 0: none.
    pub(crate) installed: u32,
    /// The revision that is rolled out.
    pub(crate) revision: u32,
}

/// An event: a target's agent has reported, was cut off or has returned, or a person has acted. Each event of an agent
/// contains the target's last reported state.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct News {
    /// The time of the event.
    pub(crate) at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<u32>,
    /// The revision that the target applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) applied: Option<u32>,
    /// Whether all workloads of that revision are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<bool>,
    /// Whether the agent is cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offline: Option<bool>,
    /// The reason why the revision cannot run. Empty: it can run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failing: Option<&'static str>,
    /// The new labels of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<BTreeMap<String, String>>,
    /// Whether the target belongs to the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected: Option<bool>,
    /// The revision that a person publishes, which is now the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<u32>,
    /// The approval that a person gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approve: Option<Approval>,
    /// Whether a person stops (`true`) or resumes (`false`) the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<bool>,
}

/// An approval of a stage, which the process requests or a person gives.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Approval {
    pub(crate) stage: String,
    pub(crate) when: ApprovalTime,
}

impl Approval {
    pub(crate) fn new(stage: &str, before: bool) -> Self {
        let when = if before {
            ApprovalTime::Before
        } else {
            ApprovalTime::After
        };
        Self {
            stage: stage.to_owned(),
            when,
        }
    }
}

/// Whether an approval is before or after a stage.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApprovalTime {
    Before,
    After,
}

/// The answer to `hello`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ready {
    pub(crate) stages: Vec<StageTargets>,
    /// Delay from an event of the world until it can reach the process.
    pub(crate) lookahead: u64,
    /// Whether the process reports with [`Advanced::seen`] which targets its product sees as ready.
    pub(crate) sees: bool,
}

/// The targets of each stage, for display.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum StageTargets {
    Named {
        name: String,
        targets: Vec<u32>,
    },
    /// Stages that are named by their numbers, which begin at 1.
    Numbered(Vec<u32>),
}

/// The answer to `pass`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Decided {
    /// The instructions, in the order in which they are written.
    pub(crate) deploy: Vec<Instruction>,
    /// The time at which the process wants another pass, even without a change.
    pub(crate) wake: Option<u64>,
    /// Approvals that the process requests.
    pub(crate) approvals: Vec<Approval>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Instruction {
    pub(crate) target: u32,
    pub(crate) revision: u32,
}

/// The readiness of a target, as the process's product sees it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct SeenReadiness {
    pub(crate) target: u32,
    /// The revision that the target has applied.
    pub(crate) revision: u32,
    /// Whether all workloads of that revision are ready.
    pub(crate) ready: bool,
}

/// The answer to `run`.
#[derive(Debug, Deserialize)]
pub(crate) struct Advanced {
    /// The process's current time.
    pub(crate) now: u64,
    /// Instructions given at `now`.
    #[serde(default)]
    pub(crate) deploy: Vec<Instruction>,
    /// Time before which nothing happens without an event. `None`: the process does not know.
    pub(crate) next: Option<u64>,
    /// Approvals that the process requests at `now`.
    #[serde(default)]
    pub(crate) approvals: Vec<Approval>,
    /// Targets that the product sees as ready, or as no longer ready, starting at `now`.
    #[serde(default)]
    pub(crate) seen: Vec<SeenReadiness>,
    /// Number of passes since the last answer.
    #[serde(default)]
    pub(crate) passes: u32,
    /// Changed status conditions of the process's objects.
    #[serde(default)]
    pub(crate) conditions: Vec<ProcessCondition>,
    /// The revision whose rollout the process reports as complete.
    pub(crate) completed: Option<u32>,
    /// The message with which the process reports that the rollout has failed.
    pub(crate) failed: Option<String>,
}

/// A condition, or a status field, of one of the process's objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProcessCondition {
    /// The time of the change.
    pub(crate) at: u64,
    pub(crate) object: String,
    pub(crate) condition: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl ProcessCondition {
    /// Returns the total size of the condition's texts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.object.len()
            + self.condition.len()
            + self.status.len()
            + self.reason.len()
            + self.message.len()
    }
}

/// The answer to `hold`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Held {
    pub(crate) rule: String,
    pub(crate) explanation: String,
}

/// An answer whose parts are not parsed yet.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Answer<'a> {
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow)]
    ready: Option<&'a RawValue>,
    #[serde(borrow)]
    hold: Option<&'a RawValue>,
    #[serde(borrow)]
    bye: Option<&'a RawValue>,
}

impl<'a> Answer<'a> {
    pub(crate) fn part(&self, name: &str) -> Option<&'a RawValue> {
        match name {
            "ready" => self.ready,
            "hold" => self.hold,
            _ => self.bye,
        }
    }
}

/// The message with which the process refuses to continue.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) message: String,
}
