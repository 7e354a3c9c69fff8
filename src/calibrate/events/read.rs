//! Kubernetes events in their file formats: a list, a watch stream, or the lines of an exporter.
//!
//! Both versions of the API are read: `v1` and `events.k8s.io/v1`, alone or wrapped as by `kubectl get --watch` and
//! event routers. An exporter writes an event again whenever the event's count rises; the last version is kept.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::message::{self, ImageMessage};
use super::tally::Tally;
use crate::calibrate::json_stream::{JsonStream, Piece};
use crate::calibrate::time::{Nanos, Stamp, of_event_name, rfc3339};
use crate::document::problem::{OrProblem, Problem};
use crate::scenario::import::object::OrDefault;

/// The command that exports the events of a cluster.
const COMMAND: &str =
    "write the file with `kubectl get events -A -o json`, or name the log of an event exporter";

/// The reason for leaving out an event that is unrelated to starts of containers.
const UNUSED: &str = "event with a reason that is not used here";

/// Maximum difference between the time in an event's name and the event's timestamps.
const NAME_TOLERANCE: Nanos = 60_000_000_000;

/// An object in the file. Fields that the newer version of the API renamed have aliases.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectJson {
    kind: Option<String>,
    metadata: OrDefault<NamedJson>,
    reason: Option<String>,
    #[serde(alias = "note")]
    message: Option<String>,
    #[serde(alias = "deprecatedSource")]
    source: OrDefault<SourceJson>,
    reporting_instance: Option<String>,
    #[serde(alias = "deprecatedFirstTimestamp")]
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    event_time: Option<String>,
    #[serde(alias = "deprecatedCount")]
    count: Option<u64>,
    series: OrDefault<SeriesJson>,
    #[serde(alias = "regarding")]
    involved_object: Option<NamedJson>,
    /// In a list. The items themselves have already been read as separate objects.
    items: Option<IgnoredAny>,
    /// In a watch stream: the event, next to the type of its change. From an event router: the event.
    #[serde(alias = "event")]
    object: Option<Box<ObjectJson>>,
    /// In a response from Prometheus.
    data: Option<IgnoredAny>,
}

/// The metadata of an object, or a reference to one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedJson {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    creation_timestamp: Option<String>,
    field_path: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct SourceJson {
    host: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct SeriesJson {
    count: Option<u64>,
}

/// An event of a pod or of one of its containers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Happening {
    /// The scheduler has chosen a node.
    Scheduled,
    /// An event about the container's image.
    Image(ImageMessage),
    /// The container's process is running.
    Started,
}

/// An event of a pod.
#[derive(Clone, Debug)]
pub(super) struct PodEvent {
    /// The pod's `uid`, or its namespace and name if the event has no `uid`.
    pub(super) pod_id: String,
    /// The pod's namespace and name.
    pub(super) pod: String,
    /// The container's field path, such as `spec.containers{shop}`. Empty for the pod itself.
    pub(super) container: String,
    /// The node that the scheduler chose, or the kubelet's node.
    pub(super) node: String,
    /// The time of the first occurrence.
    pub(super) stamp: Stamp,
    pub(super) count: u64,
    pub(super) happening: Happening,
}

/// The distinct events in several files.
#[derive(Debug, Default)]
pub(in crate::calibrate) struct PodEvents {
    pub(super) events: Vec<PodEvent>,
    /// The index of each event by its identity, for replacing the event when it occurs again with a higher count.
    known: BTreeMap<String, usize>,
}

/// The path to the events in a list object.
pub(in crate::calibrate) const ITEMS: &[&str] = &["items"];

/// The reason for leaving out a line.
const OTHER_LINE: &str = "line that is not an event (such as a log line of the exporter)";

/// Adds the events of a stream.
///
/// # Errors
/// Returns an error if the stream is not JSON, is truncated, or has no event.
pub(in crate::calibrate) fn read(
    stream: &mut JsonStream,
    all: &mut PodEvents,
    tally: &mut Tally,
) -> OrProblem<()> {
    let mut seen = 0;
    let mut foreign = None;
    stream.each(|piece| {
        let mut object: ObjectJson = match piece.read() {
            Ok(object) => object,
            // Other lines are JSON log lines.
            Err(error) if piece.is_element() || piece.has_any(&OF_EVENTS) => {
                return Err(piece.refused(&error));
            }
            Err(_) => {
                tally.add(OTHER_LINE);
                return Ok(());
            }
        };
        while let Some(inner) = object.object.take() {
            object = *inner;
        }
        if object.involved_object.is_some() {
            seen += 1;
            tally.events += 1;
            let id = identity(&object);
            if let Some(event) = pod_event(&object, tally) {
                all.add(id, event, tally);
            }
            return Ok(());
        }
        if object.items.is_none() {
            tally.add(OTHER_LINE);
        }
        foreign.get_or_insert_with(|| no_event(piece, object));
        Ok(())
    })?;
    tally.add_many(OTHER_LINE, stream.other_lines);
    match foreign {
        _ if seen > 0 => Ok(()),
        Some(problem) => Err(problem),
        None => Err(no_objects(stream)),
    }
}

/// Fields that identify events and objects that contain events.
const OF_EVENTS: [&str; 5] = ["involvedObject", "regarding", "items", "object", "event"];

impl PodEvents {
    fn add(&mut self, id: String, event: PodEvent, tally: &mut Tally) {
        match self.known.get(&id) {
            Some(&number) if !id.is_empty() => {
                tally.add("repetition of an event that was read before");
                let earlier = &mut self.events[number];
                earlier.count = earlier.count.max(event.count);
            }
            _ => {
                self.known.insert(id, self.events.len());
                self.events.push(event);
            }
        }
    }
}

/// Returns the error for a stream whose first object is not an event.
fn no_event(piece: &Piece<'_>, object: ObjectJson) -> Box<Problem> {
    if object.data.is_some() {
        let help =
            "name it with `--prometheus KIND=FILE`; KIND is `egress`, `requests` or `durations`";
        return piece.at(
            "data",
            "this is a response of Prometheus, not a list of events",
            help,
        );
    }
    match object.kind {
        Some(kind) if kind != "Event" && kind != "List" => piece.at(
            "kind",
            format!("this is a {kind} of Kubernetes, not an event"),
            COMMAND,
        ),
        _ => piece.at("items", "the file has no Kubernetes events", COMMAND),
    }
}

/// Returns the error for a stream without objects.
fn no_objects(stream: &JsonStream) -> Box<Problem> {
    let text = &stream.head;
    if text.starts_with("LAST SEEN") || text.starts_with("NAMESPACE") {
        return stream.input.whole(
            "this is kubectl's human-readable table",
            "add `-o json` to the command",
        );
    }
    if text.starts_with("apiVersion:") || text.starts_with("items:") || text.starts_with("---") {
        return stream.input.whole(
            "this is YAML; events are read as JSON",
            "rerun the command with `-o json`",
        );
    }
    stream.input.whole(
        "the file has no JSON object, so no Kubernetes events",
        COMMAND,
    )
}

/// Returns the identity of an event, which does not change when the event is updated.
fn identity(object: &ObjectJson) -> String {
    let NamedJson {
        uid,
        name,
        namespace,
        ..
    } = &*object.metadata;
    match (uid, name) {
        (Some(uid), _) => uid.clone(),
        (None, Some(name)) => format!("{}/{name}", namespace.as_deref().unwrap_or_default()),
        (None, None) => String::new(),
    }
}

/// Returns the event if it is a relevant event of a pod.
fn pod_event(object: &ObjectJson, tally: &mut Tally) -> Option<PodEvent> {
    let involved = object.involved_object.as_ref()?;
    if involved.kind.as_deref().is_some_and(|kind| kind != "Pod") {
        return tally.skip("event of an object other than a pod");
    }
    let happening = match happening(object) {
        Ok(happening) => happening,
        Err(why) => return tally.skip(why),
    };
    let Some(stamp) = time_of(object) else {
        return tally.skip("event without a time");
    };
    let space = involved.namespace.as_deref().unwrap_or("default");
    let pod = format!("{space}/{}", involved.name.as_deref().unwrap_or_default());
    let pod_id = match &involved.uid {
        Some(uid) if !uid.is_empty() => uid.clone(),
        _ => pod.clone(),
    };
    let node = match happening {
        Happening::Scheduled => chosen_node(object),
        Happening::Image(_) | Happening::Started => kubelet(object),
    };
    Some(PodEvent {
        pod_id,
        pod,
        container: involved.field_path.clone().unwrap_or_default(),
        node,
        stamp,
        count: object.count.or(object.series.count).unwrap_or(1).max(1),
        happening,
    })
}

/// Returns what happened in an event of a pod. The error is the reason for leaving out the event.
fn happening(object: &ObjectJson) -> Result<Happening, &'static str> {
    let reason = object.reason.as_deref().unwrap_or_default();
    let message = object.message.as_deref().unwrap_or_default();
    match reason {
        "Scheduled" => Ok(Happening::Scheduled),
        "Started" => Ok(Happening::Started),
        "Pulling" | "Pulled" | "Failed" | "BackOff" => match message::read(message) {
            Some(message) => Ok(Happening::Image(message)),
            None if reason == "Failed" || reason == "BackOff" => Err(UNUSED),
            None => Err("event about an image whose message has an unknown form"),
        },
        _ => Err(UNUSED),
    }
}

/// Returns the node that the scheduler has chosen, according to its message.
fn chosen_node(object: &ObjectJson) -> String {
    let message = object.message.as_deref().unwrap_or_default();
    match message.rsplit_once(" to ") {
        Some((_, node)) => node.trim().to_owned(),
        None => String::new(),
    }
}

/// Returns the node of the kubelet that reports an event.
fn kubelet(object: &ObjectJson) -> String {
    match &object.source.host {
        Some(host) if !host.is_empty() => host.clone(),
        _ => object.reporting_instance.clone().unwrap_or_default(),
    }
}

/// Returns the time of the first occurrence. It is taken from the event's name if that agrees with the timestamps,
/// because timestamps have no fraction of a second.
fn time_of(object: &ObjectJson) -> Option<Stamp> {
    let event_time = read_time(object.event_time.as_ref());
    let stamped = read_time(object.first_timestamp.as_ref())
        .or(event_time)
        .or_else(|| read_time(object.metadata.creation_timestamp.as_ref()))
        .or_else(|| read_time(object.last_timestamp.as_ref()));
    let named = object.metadata.name.as_deref().and_then(of_event_name);
    if let Some(named) = named
        && stamped.is_none_or(|stamped| (named - stamped.at).abs() <= NAME_TOLERANCE)
    {
        return Some(Stamp {
            at: named,
            is_exact: true,
        });
    }
    match event_time {
        Some(event_time) if event_time.is_exact => Some(event_time),
        _ => stamped,
    }
}

fn read_time(text: Option<&String>) -> Option<Stamp> {
    rfc3339(text?)
}
