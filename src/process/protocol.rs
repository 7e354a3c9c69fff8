//! The messages of the protocol between fleetsim and a process, version 1: JSON Lines, times in integer nanoseconds.
//!
//! `docs/external-schedulers.md` describes every field. Unknown fields of an answer are ignored, so that a later
//! version can add some.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message to the process; it has exactly one answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProcessMessage<'a> {
    /// The first message.
    Hello(Hello<'a>),
    /// One pass: the process decides.
    Pass {
        /// Virtual time since the start of the run.
        now: u64,
        /// Changes since the last pass, in the order of their arrival.
        news: &'a [News],
    },
    /// Of a process with a control loop of its own: news happens, then time passes.
    Run {
        /// The process may advance to this time.
        until: u64,
        /// Changes in the world, in the order in which they happened.
        news: &'a [News],
    },
    /// Why nothing is deployed.
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
    /// Answers to `run` may say with [`Advanced::seen`] which targets the product sees as ready.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) seen: bool,
}

/// Latencies of the controller's API server, in nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    /// One request, typically.
    pub(crate) request: u64,
    /// Durations of requests that are equally likely, in rising order. Empty: each takes as long as the typical one.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub(crate) requests: Vec<u64>,
    /// From a write to the event in a client's watch.
    pub(crate) watch: u64,
}

/// The limit of the controller's client.
#[derive(Debug, Serialize)]
pub(crate) struct ClientLimit {
    /// Requests per second and kind of object; 0: no limit.
    pub(crate) qps: u32,
    /// Requests that it may send before the limit applies.
    pub(crate) burst: u32,
}

/// A cluster group.
#[derive(Debug, Serialize)]
pub(crate) struct HelloGroup<'a> {
    pub(crate) name: &'a str,
    /// Labels of the group's own object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: &'a BTreeMap<String, String>,
    /// The label selector of the targets that belong to it. `None`: none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selector: Option<serde_json::Value>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: &'a BTreeMap<String, String>,
    /// The group of the experiment that it belongs to.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) group: &'a str,
    /// The revision that it runs at first, where the release names another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
    /// A person has paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Whether it has an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) registered: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Release {
    /// The revision that every target runs at first; 0: none.
    pub(crate) installed: u32,
    /// The revision that is rolled out.
    pub(crate) revision: u32,
}

/// A target's agent has reported, or was cut off, or is back; or a person has done something. What a target reported
/// last is in each piece of news of its agent.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct News {
    /// When it happened.
    pub(crate) at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<u32>,
    /// The revision that the target applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) applied: Option<u32>,
    /// Whether all of that revision is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<bool>,
    /// The agent is cut off, or is back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offline: Option<bool>,
    /// Why the revision cannot run; empty when this is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failing: Option<&'static str>,
    /// The target's labels are these now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<BTreeMap<String, String>>,
    /// Whether the target belongs to the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected: Option<bool>,
    /// This revision is published, and is the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<u32>,
    /// A person approves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approve: Option<Approval>,
    /// A person stops the rollout, or resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<bool>,
}

/// An approval of a stage: asked for by the process, or given by a person.
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

/// Which end of a stage is approved.
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
    /// Time from an event of the world until the process can know of it.
    pub(crate) lookahead: u64,
    /// The process says with [`Advanced::seen`] which targets its product sees as ready.
    pub(crate) sees: bool,
}

/// A group of targets, for people.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum StageTargets {
    Named {
        name: String,
        targets: Vec<u32>,
    },
    /// It is called by its number, from 1.
    Numbered(Vec<u32>),
}

/// The answer to `pass`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Decided {
    /// In the order in which they are written.
    pub(crate) deploy: Vec<Instruction>,
    /// When the process wants another pass, whatever happens.
    pub(crate) wake: Option<u64>,
    /// Approvals that the process asks for.
    pub(crate) approvals: Vec<Approval>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Instruction {
    pub(crate) target: u32,
    pub(crate) revision: u32,
}

/// What a process's product sees of a target.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct SeenReadiness {
    pub(crate) target: u32,
    /// The revision that the target has applied.
    pub(crate) revision: u32,
    /// All of that revision is ready.
    pub(crate) ready: bool,
}

/// The answer to `run`.
#[derive(Debug, Deserialize)]
pub(crate) struct Advanced {
    /// The process's present time.
    pub(crate) now: u64,
    /// Instructions at that time.
    #[serde(default)]
    pub(crate) deploy: Vec<Instruction>,
    /// Nothing will happen earlier, unless there is news. `None`: the process does not know.
    pub(crate) next: Option<u64>,
    /// Approvals that the process asks for at that time.
    #[serde(default)]
    pub(crate) approvals: Vec<Approval>,
    /// Targets that the product sees as ready from that time on, or not any more.
    #[serde(default)]
    pub(crate) seen: Vec<SeenReadiness>,
    /// Passes since the last answer.
    #[serde(default)]
    pub(crate) passes: u32,
    /// The conditions that the objects of the process show to people, where they have changed.
    #[serde(default)]
    pub(crate) conditions: Vec<ProcessCondition>,
    /// The process reports that the rollout of this revision is complete.
    pub(crate) completed: Option<u32>,
    /// The process reports that it has ended the rollout without success, with its message.
    pub(crate) failed: Option<String>,
}

/// A condition, or a field of the status, of an object of the process.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProcessCondition {
    /// When it changed.
    pub(crate) at: u64,
    pub(crate) object: String,
    pub(crate) condition: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl ProcessCondition {
    /// The bytes of its texts.
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

/// An answer, with its parts unread.
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

/// The process gives up.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) message: String,
}
