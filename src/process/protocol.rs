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
pub struct Hello<'a> {
    /// The version of the protocol.
    pub protocol: u32,
    /// Label of the run, for messages.
    pub run: &'a str,
    /// A number that belongs to the run.
    pub seed: u64,
    /// The targets of the release, by their number.
    pub targets: Vec<Target<'a>>,
    /// Path and text of each of the strategy's files.
    pub files: BTreeMap<&'a str, &'a str>,
    /// The revisions of the release.
    pub release: Release,
    /// Latencies of the controller's API server.
    pub latency: Latency,
    /// The rate limit of the controller's client.
    pub client: ClientLimit,
    /// Cluster groups of the experiment.
    #[serde(rename = "clusterGroups", skip_serializing_if = "Vec::is_empty")]
    pub cluster_groups: Vec<HelloGroup<'a>>,
    /// Flags from the experiment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: &'a BTreeMap<String, String>,
    /// Whether answers to `run` may report with `seen` which targets the product sees as ready.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seen: bool,
}

/// Latencies of the controller's API server, in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Latency {
    /// The mean duration of a request.
    pub request: u64,
    /// Equally likely durations of requests, in ascending order. Empty: each request takes the mean duration.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub requests: Vec<u64>,
    /// Delay from a write to the event in a client's watch.
    pub watch: u64,
}

/// The rate limit of the controller's client.
#[derive(Debug, Serialize)]
pub struct ClientLimit {
    /// Requests per second for each kind of object. 0: no limit.
    pub qps: u32,
    /// Requests that the client may send before the limit applies.
    pub burst: u32,
}

/// A cluster group.
#[derive(Debug, Serialize)]
pub struct HelloGroup<'a> {
    /// The name.
    pub name: &'a str,
    /// Labels of the group's own object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: &'a BTreeMap<String, String>,
    /// The label selector for the group's targets. `None`: the group is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<serde_json::Value>,
}

/// A target of the release.
#[derive(Debug, Serialize)]
pub struct Target<'a> {
    /// The name.
    pub name: &'a str,
    /// The labels of the target.
    pub labels: &'a BTreeMap<String, String>,
    /// The experiment's group that contains the target.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub group: &'a str,
    /// The revision that the target runs initially, if that differs from `installed` in the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Whether a person has paused the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Whether the target has an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registered: Option<bool>,
}

/// The revisions of a release.
#[derive(Debug, Serialize)]
pub struct Release {
    /// The revision that every target runs initially. 0: none.
    pub installed: u32,
    /// The revision that is rolled out.
    pub revision: u32,
}

/// An event: a target's agent has reported, was cut off or has returned, or a person has acted. Each event of an agent
/// contains the target's last reported state.
#[derive(Clone, Debug, Default, Serialize)]
pub struct News {
    /// The time of the event.
    pub at: u64,
    /// The number of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// The revision that the target applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<u32>,
    /// Whether all workloads of that revision are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Whether the agent is cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offline: Option<bool>,
    /// The reason why the revision cannot run. Empty: it can run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<&'static str>,
    /// The new labels of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Whether the target belongs to the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// The revision that a person publishes, which is now the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<u32>,
    /// The approval that a person gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approval>,
    /// Whether a person stops (`true`) or resumes (`false`) the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<bool>,
}

/// An approval of a stage, which the process requests or a person gives.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Approval {
    /// The name of the stage.
    pub stage: String,
    /// Whether the approval is before or after the stage.
    pub when: ApprovalTime,
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
pub enum ApprovalTime {
    /// Before the stage.
    Before,
    /// After the stage.
    After,
}

/// The answer to `hello`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// The stages, for people.
    pub stages: Vec<StageTargets>,
    /// Delay from an event of the world until it can reach the process.
    pub lookahead: u64,
    /// Whether the process reports with `seen` which targets its product sees as ready.
    pub sees: bool,
}

/// The targets of each stage, for display.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum StageTargets {
    /// A stage with a name.
    Named {
        /// The name.
        name: String,
        /// The numbers of its targets.
        targets: Vec<u32>,
    },
    /// Stages that are named by their numbers, which begin at 1.
    Numbered(Vec<u32>),
}

/// The answer to `pass`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// The instructions, in the order in which they are written.
    pub deploy: Vec<Instruction>,
    /// The time at which the process wants another pass, even without a change.
    pub wake: Option<u64>,
    /// Approvals that the process requests.
    pub approvals: Vec<Approval>,
}

/// An instruction for one target.
#[derive(Debug, Deserialize)]
pub struct Instruction {
    /// The number of the target.
    pub target: u32,
    /// The revision.
    pub revision: u32,
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
pub struct Held {
    /// The setting that blocks the rollout. Empty: none does.
    pub rule: String,
    /// One sentence about it.
    pub explanation: String,
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
