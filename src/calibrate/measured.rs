//! The quantities that container starts measure, and the table of containers.

use super::events::{ContainerStart, Stamp, Tally};
use super::fit::Measurements;
use super::time::{Nanos, seconds_between};
use crate::results::ContainerRow;

/// The longest believed latency: beyond a day, two events do not belong together.
const MOST_S: f64 = 86_400.0;

/// Why a difference of two times is not a measurement.
const BACKWARDS: &str = "negative or absurd time between two events (clocks that differ)";
const COARSE: &str = "latency without exact times (timestamps in seconds are too coarse)";

/// The measured quantities, each with at least one value.
pub(super) fn of_starts(
    starts: &[ContainerStart],
    source: &str,
    tally: &mut Tally,
) -> Vec<Measurements> {
    let firsts = starts.iter().filter(|start| start.is_first);
    let scheduled = latencies(firsts.map(|start| (start.scheduled, start.pulling)), tally);
    let started = latencies(
        starts.iter().map(|start| (start.pulled, start.started)),
        tally,
    );
    let overhead = starts
        .iter()
        .filter(|start| start.is_first)
        .filter_map(|start| {
            let before = ContainerStart::between(start.scheduled, start.pulling)?;
            let after = ContainerStart::between(start.pulled, start.started)?;
            (is_believable(before) && is_believable(after)).then_some(before + after)
        });
    let pulls = starts
        .iter()
        .filter(|start| start.unused.is_none())
        .filter_map(|start| start.pull_s);
    let waits = starts.iter().filter_map(|start| {
        // Printed with milliseconds: a difference of one is none.
        let wait = start.with_waiting_s? - start.pull_s?;
        start
            .prints_wait
            .then_some(if wait < 0.001_5 { 0.0 } else { wait })
    });
    let quantity =
        |name: &str, title: &str, values: Vec<f64>, setting: Option<&str>| Measurements {
            name: name.to_owned(),
            title: title.to_owned(),
            source: source.to_owned(),
            values,
            setting: setting.map(str::to_owned),
        };
    let quantities = vec![
        quantity(
            "scheduled_to_pulling",
            "from a pod's schedule to its first pull",
            scheduled,
            None,
        ),
        quantity(
            "pulled_to_started",
            "from a present image to a started container",
            started,
            None,
        ),
        quantity(
            "start_overhead",
            "start of a container without its pull: both of the above",
            overhead.collect(),
            Some("node.startOverhead"),
        ),
        quantity(
            "pull",
            "duration of a pull, of all images together",
            pulls.collect(),
            None,
        ),
        quantity(
            "pull_wait",
            "wait of a pull for other pulls of its node",
            waits.collect(),
            None,
        ),
    ];
    // Without any wait there is nothing to fit.
    quantities
        .into_iter()
        .filter(|quantity| quantity.values.iter().any(|value| *value > 0.0))
        .collect()
}

/// Times between two events of containers that have both.
fn latencies(
    events: impl Iterator<Item = (Option<Stamp>, Option<Stamp>)>,
    tally: &mut Tally,
) -> Vec<f64> {
    let mut values = Vec::new();
    for (from, to) in events.filter(|(from, to)| from.is_some() && to.is_some()) {
        match ContainerStart::between(from, to) {
            Some(seconds) if is_believable(seconds) => values.push(seconds),
            Some(_) => tally.add(BACKWARDS),
            None => tally.add(COARSE),
        }
    }
    values
}

fn is_believable(seconds: f64) -> bool {
    (0.0..MOST_S).contains(&seconds)
}

/// The rows of `containers.csv`, with times from the first event.
pub(super) fn rows(starts: &[ContainerStart]) -> Vec<ContainerRow> {
    let first = starts
        .iter()
        .flat_map(|start| [start.scheduled, start.pulling, start.pulled])
        .flatten();
    let first = first.map(|stamp| stamp.at).min().unwrap_or(0);
    starts.iter().map(|start| row(start, first)).collect()
}

fn row(start: &ContainerStart, first: Nanos) -> ContainerRow {
    let since = |stamp: Option<Stamp>| stamp.map(|stamp| seconds_between(first, stamp.at));
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
        scheduled_s: since(start.scheduled),
        pulling_s: since(start.pulling),
        pulled_s: since(start.pulled),
        started_s: since(start.started),
        pull_s: start.pull_s,
        with_waiting_s: start.with_waiting_s,
        size_bytes: start.size,
        failed_attempts: start.failures,
        left_out: left_out.unwrap_or_default().to_owned(),
    }
}
