//! The quantities that container starts measure, and the table of containers.

use super::events::{ContainerStart, Tally};
use super::fit::Measurements;
use super::time::{Nanos, Stamp, seconds_between};
use crate::results::ContainerRow;

/// Maximum plausible latency in seconds. Events more than a day apart do not belong together.
const MOST_S: f64 = 86_400.0;

/// The reason why a difference between two times is not a measurement.
const BACKWARDS: &str = "negative or implausible time between two events (clocks that differ)";
const COARSE: &str = "latency without exact times (timestamps in seconds are too coarse)";

/// Returns the measured quantities that have at least one value.
pub(super) fn of_starts(
    starts: &[ContainerStart],
    source: &str,
    tally: &mut Tally,
) -> Vec<Measurements> {
    let mut scheduled = Latencies::default();
    let mut started = Latencies::default();
    let mut overheads = Latencies::default();
    let mut pulls = Latencies::default();
    let mut waits = Latencies::default();
    for start in starts.iter().filter(|start| start.is_first) {
        scheduled.add(start.scheduled, start.pulling, &start.node, tally);
    }
    for start in starts {
        started.add(start.pulled, start.started, &start.node, tally);
        overheads.extend(overhead(start), &start.node);
        if start.unused.is_none() {
            pulls.extend(start.pull_s, &start.node);
        }
        waits.extend(wait(start), &start.node);
    }
    let mut quantities = vec![
        Measurements {
            name: "scheduled_to_pulling".to_owned(),
            title: "from a pod's schedule to its first pull".to_owned(),
            values: scheduled.values,
            nodes: scheduled.nodes,
            setting: Some("node.sandbox".to_owned()),
            ..Measurements::default()
        },
        Measurements {
            name: "pulled_to_started".to_owned(),
            title: "from a present image to a started container".to_owned(),
            values: started.values,
            nodes: started.nodes,
            setting: Some("node.startOverhead".to_owned()),
            ..Measurements::default()
        },
        Measurements {
            name: "start_overhead".to_owned(),
            title: "start of a container without its pull: both of the above".to_owned(),
            values: overheads.values,
            nodes: overheads.nodes,
            ..Measurements::default()
        },
        Measurements {
            name: "pull".to_owned(),
            title: "duration of a pull, of all images together".to_owned(),
            values: pulls.values,
            nodes: pulls.nodes,
            ..Measurements::default()
        },
        Measurements {
            name: "pull_wait".to_owned(),
            title: "time that a pull waits for other pulls on its node".to_owned(),
            values: waits.values,
            nodes: waits.nodes,
            ..Measurements::default()
        },
    ];
    for quantity in &mut quantities {
        source.clone_into(&mut quantity.source);
    }
    // If no pull had to wait, there is nothing to fit.
    quantities.retain(|quantity| quantity.values.iter().any(|value| *value > 0.0));
    quantities
}

/// Returns the time from a pod's schedule to its first start, without the pull.
fn overhead(start: &ContainerStart) -> Option<f64> {
    if !start.is_first {
        return None;
    }
    let before = ContainerStart::between(start.scheduled, start.pulling)?;
    let after = ContainerStart::between(start.pulled, start.started)?;
    (is_believable(before) && is_believable(after)).then_some(before + after)
}

/// Returns how long a pull waited for other pulls. Durations are printed in milliseconds, so a difference of one
/// millisecond does not count.
fn wait(start: &ContainerStart) -> Option<f64> {
    if !start.prints_wait {
        return None;
    }
    let wait = start.with_waiting_s? - start.pull_s?;
    Some(if wait < 0.001_5 { 0.0 } else { wait })
}

/// Latencies in seconds, each with the node on which it was measured.
#[derive(Default)]
struct Latencies {
    values: Vec<f64>,
    nodes: Vec<String>,
}

impl Latencies {
    fn extend(&mut self, seconds: Option<f64>, node: &str) {
        if let Some(seconds) = seconds {
            self.values.push(seconds);
            self.nodes.push(node.to_owned());
        }
    }

    /// Adds the time between two events, for containers that have both events.
    fn add(&mut self, from: Option<Stamp>, to: Option<Stamp>, node: &str, tally: &mut Tally) {
        if from.is_none() || to.is_none() {
            return;
        }
        match ContainerStart::between(from, to) {
            Some(seconds) if is_believable(seconds) => self.extend(Some(seconds), node),
            Some(_) => tally.add(BACKWARDS),
            None => tally.add(COARSE),
        }
    }
}

fn is_believable(seconds: f64) -> bool {
    (0.0..MOST_S).contains(&seconds)
}

/// Returns the rows of `containers.csv`. Times count from the first event.
pub(super) fn rows(starts: &[ContainerStart]) -> Vec<ContainerRow> {
    let mut first: Option<Nanos> = None;
    for start in starts {
        for stamp in [start.scheduled, start.pulling, start.pulled]
            .into_iter()
            .flatten()
        {
            first = Some(first.map_or(stamp.at, |first| first.min(stamp.at)));
        }
    }
    let first = first.unwrap_or(0);
    starts.iter().map(|start| row(start, first)).collect()
}

fn row(start: &ContainerStart, first: Nanos) -> ContainerRow {
    let left_out = if start.was_present {
        Some("the image was already present")
    } else {
        start.unused
    };
    ContainerRow {
        pod: start.pod.clone(),
        container: start.container.clone(),
        node: start.node.clone(),
        image: start.image.clone(),
        scheduled_s: seconds_since(first, start.scheduled),
        pulling_s: seconds_since(first, start.pulling),
        pulled_s: seconds_since(first, start.pulled),
        started_s: seconds_since(first, start.started),
        pull_s: start.pull_s,
        with_waiting_s: start.with_waiting_s,
        size_bytes: start.size,
        failed_attempts: start.failures,
        left_out: left_out.unwrap_or_default().to_owned(),
    }
}

fn seconds_since(first: Nanos, stamp: Option<Stamp>) -> Option<f64> {
    Some(seconds_between(first, stamp?.at))
}
