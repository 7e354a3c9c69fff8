//! Detects runs without progress, whose events repeat at almost the same instant.
//!
//! Parts of a simulation that take no time can trigger each other endlessly. A controller without latencies may write
//! an object again as soon as it sees its own write, and a container that crashes at its start may be restarted
//! immediately. The clock then stops or hardly advances, so the run never reaches the horizon.
//!
//! Progress is something that can happen only a limited number of times: virtual time passes, a target is instructed
//! for the first time, the number of done targets reaches a new maximum, or a person acts. A run fails if, within a
//! second of virtual time and without progress, it has had many times more events than one round of all its targets
//! could need. The error lists the kinds of the events that follow, with their counts.
//!
//! Left out: loops within a single event, which do not exist, and runs that are slow but make progress.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};
use crate::world::{Event, WorkloadKind, WorldSpec};

/// Maximum length of an interval in which events count as being without progress. Within a second, products write an
/// object only a few times, because times in their statuses are in whole seconds.
const SPAN: SimDuration = SimDuration::from_secs(1);

/// Number of controller events without progress that any run may have, and the additional number for each target. A
/// target's first spec, comparison and status cause about twelve events, including the passes that they start.
const DRIVER_EVENTS: u64 = 20_000;
const DRIVER_EVENTS_OF_A_TARGET: u64 = 50;

/// Number of world events without progress that any run may have, and the additional numbers for each pod and for each
/// try of a request by a node's pull.
const WORLD_EVENTS: u64 = 1_000_000;
const WORLD_EVENTS_OF_A_POD: u64 = 200;
const WORLD_EVENTS_OF_A_TRY: u64 = 20;

/// Number of events that are counted by kind after the limit is reached.
const COUNTED: u64 = 10_000;

/// Maximum number of kinds listed in the error.
const MOST_KINDS: usize = 6;

/// The events of a run repeat endlessly.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the run makes no progress: the same events repeat at {at} of virtual time\n  run: {run}\n  {events} events in {span}, \
     without a target that is instructed or done\n  of the last {counted}: {kinds}\n  {}",
    advice(zero)
)]
pub struct NoProgress {
    /// Label of the run.
    pub run: String,
    /// The time at which the lack of progress was detected.
    pub at: SimTime,
    /// The virtual time since the last progress.
    pub span: SimDuration,
    /// Number of events since the last progress.
    pub events: u64,
    /// Number of events that were counted by kind.
    pub counted: u64,
    /// The kinds of events that repeat, with their counts, most frequent first.
    pub kinds: String,
    /// The settings that make a step take no time.
    pub zero: Vec<String>,
}

fn advice(zero: &[String]) -> String {
    if zero.is_empty() {
        return "no duration in the experiment is 0".to_owned();
    }
    format!(
        "settings that take no time: {}; give at least one of them a duration, such as 1 ms",
        zero.iter().join(", ")
    )
}

/// Measures of progress that only grow during a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ProgressMark {
    /// Number of first promotions of any target to any revision.
    pub(super) promotions: u64,
    /// Maximum number of targets that were done simultaneously.
    pub(super) done: usize,
    /// Number of people's actions, plus one for the release.
    pub(super) acts: u64,
}

/// Counts the events of a run since its last progress.
#[derive(Debug)]
pub(super) struct ProgressGuard {
    most_of_driver: u64,
    most_of_world: u64,
    of_driver: u64,
    of_world: u64,
    since: SimTime,
    mark: ProgressMark,
    /// The kinds of the events after the limit was reached, with their counts.
    kinds: Option<BTreeMap<String, u64>>,
}

impl ProgressGuard {
    /// Creates the guard for a run with this number of nodes.
    pub(super) fn new(scenario: &Scenario, nodes: u64) -> Self {
        let targets = scenario.targets() as u64;
        Self {
            most_of_driver: DRIVER_EVENTS + DRIVER_EVENTS_OF_A_TARGET * targets,
            most_of_world: most_world_events(&scenario.world, nodes),
            of_driver: 0,
            of_world: 0,
            since: SimTime::ZERO,
            mark: ProgressMark::default(),
            kinds: None,
        }
    }

    /// Counts an event. Returns whether [`Self::judge`] must be called now.
    pub(super) fn count(&mut self, event: &Event) -> bool {
        if event.is_of_driver() {
            self.of_driver += 1;
        } else {
            self.of_world += 1;
        }
        self.of_driver > self.most_of_driver || self.of_world > self.most_of_world
    }

    /// Checks after many events whether there was progress. If not, starts counting the kinds of events. Returns
    /// whether enough of them were counted.
    pub(super) fn judge(&mut self, now: SimTime, mark: ProgressMark, kind: &str) -> bool {
        if mark != self.mark || now - self.since >= SPAN {
            self.of_driver = 0;
            self.of_world = 0;
            self.kinds = None;
            self.since = now;
            self.mark = mark;
            return false;
        }
        let kinds = self.kinds.get_or_insert_default();
        if let Some(count) = kinds.get_mut(kind) {
            *count += 1;
        } else {
            kinds.insert(kind.to_owned(), 1);
        }
        kinds.values().sum::<u64>() >= COUNTED
    }

    /// Returns the error with the counted kinds of events.
    pub(super) fn error(&self, run: &str, now: SimTime, scenario: &Scenario) -> NoProgress {
        let kinds = self.kinds.iter().flatten();
        let kinds = kinds
            .sorted_by_key(|(_, count)| std::cmp::Reverse(**count))
            .take(MOST_KINDS)
            .map(|(kind, count)| format!("{count} {kind}"));
        NoProgress {
            run: run.to_owned(),
            at: now,
            span: now - self.since,
            events: self.of_driver + self.of_world,
            counted: COUNTED,
            kinds: kinds.collect_vec().join(", "),
            zero: zero_times(scenario),
        }
    }
}

/// Returns the number of world events that a run may have without progress: many times the events in one round of all
/// its pods and pulls.
fn most_world_events(world: &WorldSpec, nodes: u64) -> u64 {
    /// Number of requests in a pull other than those for its layers.
    const OTHER_REQUESTS: usize = 6;
    let clusters = world.clusters.len() as u64;
    let mut pods = world.targets() as u64;
    for application in &world.applications {
        for workload in &application.workloads {
            pods += match workload.kind {
                WorkloadKind::Deployment { replicas, .. } => u64::from(replicas) * clusters,
                WorkloadKind::DaemonSet { .. } => nodes,
            };
        }
    }
    let mut requests = 0;
    for image in &world.images {
        requests += (image.layers.len() + OTHER_REQUESTS) as u64;
    }
    let runtime = &world.node.runtime;
    let tries = u64::from(runtime.retry_429.attempts) + u64::from(runtime.retry_transport.attempts);
    WORLD_EVENTS
        + WORLD_EVENTS_OF_A_POD * pods
        + (WORLD_EVENTS_OF_A_TRY * nodes * requests).saturating_mul(tries)
}

/// Returns the settings that make a step take no time although it usually takes time.
fn zero_times(scenario: &Scenario) -> Vec<String> {
    let agent = &scenario.platform.agent;
    let node = &scenario.world.node;
    let loops = &scenario.control_loop;
    let times = [
        ("controller.request", loops.request.typical()),
        ("controller.watchDelay", loops.watch_delay),
        ("agent.instructionDelay", agent.instruction_delay.typical()),
        ("agent.apply", agent.apply.typical()),
        ("agent.readiness", agent.readiness.shortest()),
        ("agent.reportDelay", agent.report_delay.typical()),
        ("node.errorRequeue", node.error_requeue.typical()),
        ("node.imageBackoff.max", node.image_backoff.max),
        (
            "node.crashBackoff.max",
            scenario.platform.restarts.backoff.max,
        ),
        ("node.sandbox", node.sandbox.typical()),
        ("node.startOverhead", node.start_overhead.typical()),
    ];
    let mut zero: Vec<String> = Vec::new();
    for application in &scenario.applications {
        for setting in application.strategy.zero_times() {
            if !zero.contains(&setting) {
                zero.push(setting);
            }
        }
    }
    for (name, time) in times {
        if time.is_zero() {
            zero.push(name.to_owned());
        }
    }
    let applications = scenario.world.applications.iter();
    let mut workloads = applications.flat_map(|application| &application.workloads);
    if workloads.any(|workload| workload.start.typical().is_zero()) {
        zero.push("release.workloads[].start".to_owned());
    }
    zero
}
