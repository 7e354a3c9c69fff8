//! Containers and their pulls, from the events of pods.
//!
//! A container is identified by the pod's `uid` and the `fieldPath`: init containers and sidecars of one pod pull too.
//! A container that restarts has several starts; only the first after its pull belongs to the rollout.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::{ImageMessage, PulledMessage};
use super::read::{Happening, PodEvent};
use super::tally::Tally;
use crate::calibrate::time::{Nanos, seconds_between};

/// A point in time, and whether it has a fraction of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calibrate) struct Stamp {
    pub(in crate::calibrate) at: Nanos,
    pub(in crate::calibrate) is_exact: bool,
}

/// The first start of a container, with its pull if it needed one.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::calibrate) struct ContainerStart {
    /// Namespace and name of the pod.
    pub(in crate::calibrate) pod: String,
    /// `uid` of the pod.
    pub(in crate::calibrate) pod_id: String,
    /// `spec.containers{shop}`.
    pub(in crate::calibrate) container: String,
    pub(in crate::calibrate) node: String,
    pub(in crate::calibrate) image: String,
    /// Of the pod.
    pub(in crate::calibrate) scheduled: Option<Stamp>,
    pub(in crate::calibrate) pulling: Option<Stamp>,
    /// When the image was there.
    pub(in crate::calibrate) pulled: Option<Stamp>,
    pub(in crate::calibrate) started: Option<Stamp>,
    /// The first container of its pod that needed an image.
    pub(in crate::calibrate) is_first: bool,
    /// The image was on the node.
    pub(in crate::calibrate) was_present: bool,
    /// Attempts that failed before.
    pub(in crate::calibrate) failures: u64,
    /// Duration of the pull without waiting, if known.
    pub(in crate::calibrate) pull_s: Option<f64>,
    /// Duration with the wait for other pulls of the node.
    pub(in crate::calibrate) with_waiting_s: Option<f64>,
    /// `true` where the kubelet prints a pull's duration without its wait.
    pub(in crate::calibrate) prints_wait: bool,
    /// Compressed bytes.
    pub(in crate::calibrate) size: Option<u64>,
    /// Why the pull's duration is not used to fit rates.
    pub(in crate::calibrate) unused: Option<&'static str>,
}

impl ContainerStart {
    /// Whether there was a pull whose duration is known.
    pub(in crate::calibrate) fn is_pull(&self) -> bool {
        self.pull_s.is_some()
    }

    /// Seconds from one stamp to another. `None` when one is missing or has no fraction.
    pub(in crate::calibrate) fn between(from: Option<Stamp>, to: Option<Stamp>) -> Option<f64> {
        let (from, to) = (from?, to?);
        (from.is_exact && to.is_exact).then(|| seconds_between(from.at, to.at))
    }
}

/// A container while its events are read in order.
#[derive(Debug, Default)]
struct Open {
    pod: String,
    node: String,
    /// When the first attempt began, and the number of attempts.
    pulling: Option<(Stamp, u64)>,
    pulled: Option<(Stamp, PulledMessage)>,
    started: Option<Stamp>,
    failures: u64,
}

/// The containers in the order in which their images were there.
pub(super) fn containers(mut events: Vec<PodEvent>, tally: &mut Tally) -> Vec<ContainerStart> {
    // Stable: events of one second without a fraction keep the order of the file.
    events.sort_by_key(|event| event.at);
    let mut scheduled: BTreeMap<String, (Stamp, String)> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), Open> = BTreeMap::new();
    for event in events {
        let stamp = Stamp {
            at: event.at,
            is_exact: event.is_exact,
        };
        if event.happening == Happening::Scheduled {
            scheduled.entry(event.pod_id).or_insert((stamp, event.node));
            continue;
        }
        let container = open
            .entry((event.pod_id.clone(), event.container.clone()))
            .or_default();
        take(container, event, stamp, tally);
    }
    let with_init: BTreeSet<String> = open
        .keys()
        .filter(|(_, container)| container.starts_with(INIT))
        .map(|(pod, _)| pod.clone())
        .collect();
    let mut starts: Vec<ContainerStart> = Vec::new();
    for ((pod_id, container), found) in open {
        let placed = scheduled.get(&pod_id);
        starts.extend(closed(pod_id, container, found, placed, tally));
    }
    starts.sort_by(|a, b| {
        let key = |start: &ContainerStart| {
            start
                .pulling
                .or(start.pulled)
                .map_or(Nanos::MAX, |stamp| stamp.at)
        };
        key(a)
            .cmp(&key(b))
            .then_with(|| a.pod.cmp(&b.pod))
            .then_with(|| a.container.cmp(&b.container))
    });
    let mut pods = std::collections::BTreeSet::new();
    for start in &mut starts {
        start.is_first = pods.insert(start.pod_id.clone());
    }
    mark_after_lost_ones(&mut starts, &with_init, tally);
    mark_waiting(&mut starts);
    starts
}

/// A pod has an init container if another pod of the same image has one. Where its events are lost, the time from the
/// schedule to the first known pull includes its run, so that pull is not the first.
fn mark_after_lost_ones(
    starts: &mut [ContainerStart],
    with_init: &BTreeSet<String>,
    tally: &mut Tally,
) {
    let is_init = |start: &ContainerStart| start.container.starts_with(INIT);
    let after_init: BTreeSet<String> = starts
        .iter()
        .filter(|start| !is_init(start) && with_init.contains(&start.pod_id))
        .map(|start| start.image.clone())
        .collect();
    for start in starts.iter_mut().filter(|start| start.is_first) {
        if !is_init(start) && after_init.contains(&start.image) {
            start.is_first = false;
            tally.add(
                "container after an init container whose events are missing (no start overhead)",
            );
        }
    }
}

/// The start of an init container's field path.
const INIT: &str = "spec.initContainers{";

fn take(container: &mut Open, event: PodEvent, stamp: Stamp, tally: &mut Tally) {
    if container.pod.is_empty() {
        container.pod.clone_from(&event.pod);
    }
    if container.node.is_empty() {
        container.node.clone_from(&event.node);
    }
    match event.happening {
        Happening::Image(ImageMessage::Pulling) if container.pulled.is_none() => {
            container.pulling.get_or_insert((stamp, 0)).1 += event.count;
        }
        Happening::Image(ImageMessage::Pulled(pulled)) if container.pulled.is_none() => {
            container.pulled = Some((stamp, pulled));
        }
        Happening::Image(ImageMessage::Failed) => container.failures += event.count,
        Happening::Started if container.started.is_none() => container.started = Some(stamp),
        _ => tally.add("event of a container that had started before (a restart)"),
    }
}

/// The container, once all its events are read.
fn closed(
    pod_id: String,
    container: String,
    found: Open,
    scheduled: Option<&(Stamp, String)>,
    tally: &mut Tally,
) -> Option<ContainerStart> {
    let Some((pulled, message)) = found.pulled else {
        return tally.skip(match (&found.pulling, found.failures) {
            (_, 1..) => "container whose pull had not succeeded",
            (Some(_), 0) => "container whose pull had not ended",
            (None, 0) => {
                "container whose pull is not in the events (discarded, or before they begin)"
            }
        });
    };
    let attempts = found.pulling.map_or(1, |(_, count)| count);
    let retried = found.failures > 0 || attempts > 1;
    let mut start = ContainerStart {
        pod: found.pod,
        pod_id,
        container,
        node: if found.node.is_empty() {
            scheduled.map(|(_, node)| node.clone()).unwrap_or_default()
        } else {
            found.node
        },
        image: message.image.clone(),
        scheduled: scheduled.map(|(stamp, _)| *stamp),
        pulling: found.pulling.map(|(stamp, _)| stamp),
        pulled: Some(pulled),
        started: found
            .started
            .filter(|started| started.at >= pulled.at || !started.is_exact),
        is_first: false,
        was_present: message.was_present,
        failures: found.failures,
        pull_s: None,
        with_waiting_s: message.with_waiting_s,
        prints_wait: message.with_waiting_s.is_some(),
        size: message.size,
        unused: None,
    };
    if message.was_present {
        tally.add("container whose image was already present (no pull)");
        return Some(start);
    }
    start.pull_s = message.took_s;
    let observed = ContainerStart::between(start.pulling, start.pulled).filter(|_| !retried);
    match (message.took_s, message.with_waiting_s, observed) {
        (Some(_), Some(_), _) => {}
        // Kubelets before 1.27 include the wait in the only duration that they print.
        (Some(took), None, _) => start.with_waiting_s = Some(took),
        (None, _, Some(observed)) => {
            start.pull_s = Some(observed);
            start.with_waiting_s = Some(observed);
            tally.add("pull without a duration in its message: taken from the times of its events");
        }
        (None, _, None) => {
            start.unused = Some(
                "pull without a duration in its message, and without exact times of its events",
            );
        }
    }
    if message.size.is_none() {
        tally.add("pull without an image size in its message");
    }
    if message.with_waiting_s.is_none() && start.pull_s.is_some() {
        tally.add("pull without a waiting time in its message");
    }
    if start.pulling.is_none() {
        tally.add("pull whose start is not in the events (discarded, or before they begin)");
    }
    Some(start)
}

/// Time in which a pull was in progress.
struct Span {
    /// Its container.
    start: usize,
    from: Nanos,
    to: Nanos,
    /// Event times and printed durations differ by some milliseconds; times without a fraction by up to a second.
    tolerance: Nanos,
}

/// Pulls of a node that a further one is compared with. A node runs at most some hundred pods, so a stream with more of
/// them at one time is damaged or made up, and comparing all pairs would take hours.
const MOST_AT_ONCE: usize = 500;

impl Span {
    /// Whether a later span has more than a moment in common with this one.
    fn shares_time_with(&self, later: &Self) -> bool {
        let shared = self.to.min(later.to) - later.from;
        let shorter = (later.to - later.from).min(self.to - self.from);
        shared > later.tolerance.max(self.tolerance) && shared as f64 >= 0.1 * shorter as f64
    }
}

/// Pulls of different images that were in progress on one node shared its disk and link, so their durations are not
/// their own. Pulls of one image share its layers (the runtime fetches each once) and take as long as one. But where
/// the kubelet prints no waiting time, the later one waited for the first, and its duration includes that.
fn mark_waiting(starts: &mut [ContainerStart]) {
    let mut of_nodes: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for (at, start) in starts.iter().enumerate() {
        let Some((end, length)) = start.pulled.zip(start.pull_s) else {
            continue;
        };
        let from = end.at - (length * 1e9) as Nanos;
        let tolerance = if end.is_exact {
            50_000_000
        } else {
            1_100_000_000
        };
        of_nodes.entry(&start.node).or_default().push(Span {
            start: at,
            from,
            to: end.at,
            tolerance,
        });
    }
    let mut reasons: Vec<Option<&'static str>> = vec![None; starts.len()];
    for spans in of_nodes.values_mut() {
        spans.sort_by_key(|span| (span.from, span.start));
        let mut active: VecDeque<&Span> = VecDeque::new();
        for span in spans.iter() {
            active.retain(|other| other.to - span.from > other.tolerance);
            for other in &active {
                if !other.shares_time_with(span) {
                    continue;
                }
                let (earlier, later) = (&starts[other.start], &starts[span.start]);
                if earlier.image != later.image {
                    reasons[other.start].get_or_insert(SHARED);
                    reasons[span.start].get_or_insert(SHARED);
                } else if !later.prints_wait {
                    reasons[span.start].get_or_insert(WAITED);
                }
            }
            if active.len() == MOST_AT_ONCE {
                active.pop_front();
            }
            active.push_back(span);
        }
    }
    for (start, reason) in starts.iter_mut().zip(reasons) {
        start.unused = start.unused.or(reason);
    }
}

const SHARED: &str = "pull that shared its node with the pull of another image";
const WAITED: &str = "pull that waited for another one, by a kubelet that prints no waiting time";
