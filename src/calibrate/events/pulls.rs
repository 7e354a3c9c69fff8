//! Containers and their pulls, from the events of pods.
//!
//! A container is identified by the pod's `uid` and the `fieldPath`, because a pod's init containers and sidecars also
//! pull images. A container that restarts has several starts; only the first start after its pull belongs to the
//! rollout.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::{ImageMessage, PulledMessage};
use super::read::{Happening, PodEvent};
use super::tally::Tally;
use crate::calibrate::time::{Nanos, Stamp, seconds_between};

/// The first start of a container, and its pull if it needed one.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::calibrate) struct ContainerStart {
    /// The pod's namespace and name.
    pub(in crate::calibrate) pod: String,
    /// The pod's `uid`.
    pub(in crate::calibrate) pod_id: String,
    /// The container's field path, such as `spec.containers{shop}`.
    pub(in crate::calibrate) container: String,
    pub(in crate::calibrate) node: String,
    pub(in crate::calibrate) image: String,
    /// The time at which the pod was scheduled.
    pub(in crate::calibrate) scheduled: Option<Stamp>,
    pub(in crate::calibrate) pulling: Option<Stamp>,
    /// The time at which the image was present.
    pub(in crate::calibrate) pulled: Option<Stamp>,
    pub(in crate::calibrate) started: Option<Stamp>,
    /// Whether this is the first container of its pod that needed an image.
    pub(in crate::calibrate) is_first: bool,
    /// Whether the image was already on the node.
    pub(in crate::calibrate) was_present: bool,
    /// The number of failed attempts before the successful pull.
    pub(in crate::calibrate) failures: u64,
    /// Duration of the pull without the wait, if known.
    pub(in crate::calibrate) pull_s: Option<f64>,
    /// Duration of the pull including the wait for other pulls on the node.
    pub(in crate::calibrate) with_waiting_s: Option<f64>,
    /// Whether the kubelet prints pull durations without the wait.
    pub(in crate::calibrate) prints_wait: bool,
    /// Compressed size of the image in bytes.
    pub(in crate::calibrate) size: Option<u64>,
    /// The reason why the pull's duration is not used for fitting rates.
    pub(in crate::calibrate) unused: Option<&'static str>,
}

impl ContainerStart {
    /// Returns whether the start needed a pull with a known duration.
    pub(in crate::calibrate) fn is_pull(&self) -> bool {
        self.pull_s.is_some()
    }

    fn is_init(&self) -> bool {
        self.container.starts_with(INIT)
    }

    /// Returns the start of the pull, or the time at which the image was present if there was no pull.
    fn first_seen(&self) -> Nanos {
        let stamp = self.pulling.or(self.pulled);
        stamp.map_or(Nanos::MAX, |stamp| stamp.at)
    }

    /// Returns the seconds between two timestamps. `None`: a timestamp is missing or has no fraction of a second.
    pub(in crate::calibrate) fn between(from: Option<Stamp>, to: Option<Stamp>) -> Option<f64> {
        let from = from?;
        let to = to?;
        (from.is_exact && to.is_exact).then(|| seconds_between(from.at, to.at))
    }
}

/// A container's state while its events are read in order.
#[derive(Debug, Default)]
struct Open {
    pod: String,
    node: String,
    /// The start of the first attempt to pull the image.
    pulling: Option<Stamp>,
    /// The number of attempts to pull the image.
    attempts: u64,
    pulled: Option<(Stamp, PulledMessage)>,
    started: Option<Stamp>,
    failures: u64,
}

/// Returns the containers in the order in which their images were present.
pub(super) fn containers(mut events: Vec<PodEvent>, tally: &mut Tally) -> Vec<ContainerStart> {
    // The sort is stable, so events in the same second without a fraction keep the order of the file.
    events.sort_by_key(|event| event.stamp.at);
    let mut schedules: BTreeMap<String, Schedule> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), Open> = BTreeMap::new();
    for event in events {
        if event.happening == Happening::Scheduled {
            schedules.entry(event.pod_id).or_insert(Schedule {
                stamp: event.stamp,
                node: event.node,
            });
            continue;
        }
        let key = (event.pod_id.clone(), event.container.clone());
        open.entry(key).or_default().take(event, tally);
    }
    let mut with_init = BTreeSet::new();
    for (pod_id, container) in open.keys() {
        if container.starts_with(INIT) {
            with_init.insert(pod_id.clone());
        }
    }
    let mut starts: Vec<ContainerStart> = Vec::new();
    for ((pod_id, container), found) in open {
        let schedule = schedules.get(&pod_id);
        starts.extend(found.closed(pod_id, container, schedule, tally));
    }
    starts.sort_by(|a, b| {
        let by_time = a.first_seen().cmp(&b.first_seen());
        by_time
            .then_with(|| a.pod.cmp(&b.pod))
            .then_with(|| a.container.cmp(&b.container))
    });
    let mut pods = BTreeSet::new();
    for start in &mut starts {
        start.is_first = pods.insert(start.pod_id.clone());
    }
    mark_after_lost_ones(&mut starts, &with_init, tally);
    mark_waiting(&mut starts);
    starts
}

/// The node to which a pod was scheduled, and the time.
struct Schedule {
    stamp: Stamp,
    node: String,
}

/// Marks pulls that follow init containers whose events are lost. A pod must have an init container if another pod
/// with the same image has one. If its events are lost, the time from the schedule to the first known pull includes
/// the init container's run, so that pull does not count as the first.
fn mark_after_lost_ones(
    starts: &mut [ContainerStart],
    with_init: &BTreeSet<String>,
    tally: &mut Tally,
) {
    let mut after_init = BTreeSet::new();
    for start in starts.iter() {
        if !start.is_init() && with_init.contains(&start.pod_id) {
            after_init.insert(start.image.clone());
        }
    }
    for start in starts.iter_mut().filter(|start| start.is_first) {
        if !start.is_init() && after_init.contains(&start.image) {
            start.is_first = false;
            tally.add(
                "container after an init container whose events are missing (no start overhead)",
            );
        }
    }
}

/// The prefix of an init container's field path.
const INIT: &str = "spec.initContainers{";

impl Open {
    fn take(&mut self, event: PodEvent, tally: &mut Tally) {
        if self.pod.is_empty() {
            self.pod.clone_from(&event.pod);
        }
        if self.node.is_empty() {
            self.node.clone_from(&event.node);
        }
        match event.happening {
            Happening::Image(ImageMessage::Pulling) if self.pulled.is_none() => {
                self.pulling.get_or_insert(event.stamp);
                self.attempts += event.count;
            }
            Happening::Image(ImageMessage::Pulled(pulled)) if self.pulled.is_none() => {
                self.pulled = Some((event.stamp, pulled));
            }
            Happening::Image(ImageMessage::Failed) => self.failures += event.count,
            Happening::Started if self.started.is_none() => self.started = Some(event.stamp),
            _ => tally.add("event of a container that had started before (a restart)"),
        }
    }

    /// Returns the container once all its events are read.
    fn closed(
        self,
        pod_id: String,
        container: String,
        schedule: Option<&Schedule>,
        tally: &mut Tally,
    ) -> Option<ContainerStart> {
        let is_retried = self.failures > 0 || self.attempts > 1;
        let Some((pulled, message)) = self.pulled else {
            return tally.skip(match (self.pulling, self.failures) {
                (_, 1..) => "container whose pull had not succeeded",
                (Some(_), 0) => "container whose pull had not ended",
                (None, 0) => {
                    "container whose pull is not in the events (discarded, or before they begin)"
                }
            });
        };
        let node = match schedule {
            Some(schedule) if self.node.is_empty() => schedule.node.clone(),
            _ => self.node,
        };
        let mut start = ContainerStart {
            pod: self.pod,
            pod_id,
            container,
            node,
            image: message.image.clone(),
            scheduled: schedule.map(|schedule| schedule.stamp),
            pulling: self.pulling,
            pulled: Some(pulled),
            started: self
                .started
                .filter(|started| started.at >= pulled.at || !started.is_exact),
            is_first: false,
            was_present: message.was_present,
            failures: self.failures,
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
        start.set_durations(&message, is_retried, tally);
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
}

impl ContainerStart {
    /// Sets the durations of the pull from the kubelet's message, or from the times of the pull's events.
    fn set_durations(&mut self, message: &PulledMessage, is_retried: bool, tally: &mut Tally) {
        self.pull_s = message.took_s;
        if let Some(took) = message.took_s {
            // Kubelets before 1.27 print only one duration, which includes the wait.
            self.with_waiting_s = message.with_waiting_s.or(Some(took));
            return;
        }
        match Self::between(self.pulling, self.pulled) {
            Some(observed) if !is_retried => {
                self.pull_s = Some(observed);
                self.with_waiting_s = Some(observed);
                tally.add(
                    "pull without a duration in its message: taken from the times of its events",
                );
            }
            _ => {
                self.unused = Some(
                    "pull without a duration in its message, and without exact times of its events",
                );
            }
        }
    }
}

/// The interval in which a pull was in progress.
struct Span {
    /// The index of the pull's container start.
    start: usize,
    from: Nanos,
    to: Nanos,
    /// Tolerance for comparing event times with printed durations: a few milliseconds, or a second for times without a
    /// fraction.
    tolerance: Nanos,
}

/// Maximum number of concurrent pulls on a node that another pull is compared with. A node runs at most a few hundred
/// pods, so a stream with more concurrent pulls is damaged or artificial, and comparing all pairs would take hours.
const MOST_AT_ONCE: usize = 500;

impl Span {
    /// Returns whether a later interval overlaps this one by more than the tolerance.
    fn shares_time_with(&self, later: &Self) -> bool {
        let shared = self.to.min(later.to) - later.from;
        let shorter = (later.to - later.from).min(self.to - self.from);
        shared > later.tolerance.max(self.tolerance) && shared as f64 >= 0.1 * shorter as f64
    }
}

/// Marks pulls whose durations depend on other pulls. Concurrent pulls of different images on one node share its disk
/// and link. Pulls of the same image share its layers (the runtime fetches each layer once) and take as long as a
/// single pull. But if the kubelet prints no waiting time, the later pull waited for the first, and its duration
/// includes the wait.
fn mark_waiting(starts: &mut [ContainerStart]) {
    let mut of_nodes: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for (at, start) in starts.iter().enumerate() {
        let (Some(end), Some(length)) = (start.pulled, start.pull_s) else {
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
                let earlier = &starts[other.start];
                let later = &starts[span.start];
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
