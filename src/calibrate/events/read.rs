//! Kubernetes events as files have them: a list, a watch stream, or the lines of an exporter.
//!
//! Both forms of the API are read: `v1` and `events.k8s.io/v1`, alone or wrapped as `kubectl get --watch` and event
//! routers do. An exporter writes an event again whenever its count rises; the last of these is kept.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::message::{self, ImageMessage};
use super::tally::Tally;
use crate::calibrate::json_stream::{JsonStream, Piece};
use crate::calibrate::time::{Nanos, of_event_name, rfc3339};
use crate::document::problem::{OrProblem, Problem};

/// The command that writes the events of a cluster.
const COMMAND: &str = "write the file with `kubectl get events -A -o json`, or name the log of an event exporter";

/// Why an event is left out that says nothing about a start.
const UNUSED: &str = "event with a reason that is not used here";

/// Greatest difference between the time in an event's name and its own timestamp.
const NAME_TOLERANCE: Nanos = 60_000_000_000;

/// An object of the file, with the fields of both forms of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectJson {
    kind: Option<String>,
    metadata: Option<MetadataJson>,
    reason: Option<String>,
    message: Option<String>,
    note: Option<String>,
    source: Option<SourceJson>,
    deprecated_source: Option<SourceJson>,
    reporting_instance: Option<String>,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    deprecated_first_timestamp: Option<String>,
    event_time: Option<String>,
    count: Option<u64>,
    deprecated_count: Option<u64>,
    series: Option<SeriesJson>,
    involved_object: Option<InvolvedJson>,
    regarding: Option<InvolvedJson>,
    items: Option<Vec<ObjectJson>>,
    /// Of a watch: the event with the type of its change.
    object: Option<Box<ObjectJson>>,
    /// Of an event router.
    event: Option<Box<ObjectJson>>,
    /// Of a response of Prometheus.
    data: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MetadataJson {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    creation_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SourceJson {
    host: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SeriesJson {
    count: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct InvolvedJson {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    field_path: Option<String>,
}

/// What happened to a pod or one of its containers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Happening {
    /// The scheduler has chosen this node.
    Scheduled { node: String },
    /// Something about its image.
    Image(ImageMessage),
    /// Its process runs.
    Started,
}

/// An event of a pod.
#[derive(Clone, Debug)]
pub(super) struct PodEvent {
    /// `uid` of the pod, or namespace and name where the event has none.
    pub(super) pod_id: String,
    /// Namespace and name.
    pub(super) pod: String,
    /// `spec.containers{shop}`; empty for the pod itself.
    pub(super) container: String,
    /// The kubelet's node; empty for the scheduler.
    pub(super) node: String,
    /// The first occurrence.
    pub(super) at: Nanos,
    /// Whether the time has a fraction of a second.
    pub(super) is_exact: bool,
    pub(super) count: u64,
    pub(super) happening: Happening,
}

/// The events of several files, each once.
#[derive(Debug, Default)]
pub(in crate::calibrate) struct PodEvents {
    pub(super) events: Vec<PodEvent>,
    /// Where each event is, to find the same one again with a higher count.
    known: BTreeMap<String, usize>,
}

/// Where a list has its events.
pub(in crate::calibrate) const ITEMS: &[&str] = &["items"];

/// Why a line is left out.
const OTHER_LINE: &str = "line that is not an event (such as a log line of the exporter)";

/// Adds the events of a stream.
///
/// # Errors
/// When it is not JSON, is cut off, or has no event.
pub(in crate::calibrate) fn read(stream: &mut JsonStream, all: &mut PodEvents, tally: &mut Tally) -> OrProblem<()> {
    let mut seen = 0;
    let mut foreign = None;
    while let Some(piece) = stream.next()? {
        let mut open: Vec<ObjectJson> = match JsonStream::parse(&piece) {
            Ok(object) => vec![object],
            Err(error) if error.is_data() && !piece.is_element && !is_event(&piece) => {
                tally.add(OTHER_LINE);
                continue;
            }
            Err(error) => return Err(stream.refused(&piece, &error)),
        };
        while let Some(mut object) = open.pop() {
            if let Some(inner) = object.object.take().or(object.event.take()) {
                open.push(*inner);
                continue;
            }
            if let Some(items) = object.items.take() {
                if seen == 0 && items.is_empty() {
                    foreign = foreign.or_else(|| Some(no_event(stream, &piece, object)));
                }
                open.extend(items.into_iter().rev());
                continue;
            }
            if object.involved_object.is_none() && object.regarding.is_none() {
                tally.add(OTHER_LINE);
                foreign = foreign.or_else(|| Some(no_event(stream, &piece, object)));
                continue;
            }
            seen += 1;
            tally.events += 1;
            let id = identity(&object);
            let Some(event) = pod_event(&object, tally) else { continue };
            all.add(id, event, tally);
        }
    }
    tally.add_many(OTHER_LINE, stream.other_lines);
    match foreign {
        _ if seen > 0 => Ok(()),
        Some(problem) => Err(problem),
        None => Err(no_objects(stream)),
    }
}

/// Returns true if an object that cannot be read has the fields of an event. Others are log lines in JSON.
fn is_event(piece: &Piece) -> bool {
    let value: serde_json::Value = JsonStream::parse(piece).unwrap_or_default();
    ["involvedObject", "regarding", "items", "object", "event"].iter().any(|key| value.get(key).is_some())
}

impl PodEvents {
    fn add(&mut self, id: String, event: PodEvent, tally: &mut Tally) {
        match self.known.get(&id).filter(|_| !id.is_empty()) {
            Some(&earlier) => {
                tally.add("repetition of an event that was read before");
                let kept = &mut self.events[earlier];
                kept.count = kept.count.max(event.count);
            }
            None => {
                self.known.insert(id, self.events.len());
                self.events.push(event);
            }
        }
    }
}

/// Why a file has no events: the first object is something else.
fn no_event(stream: &JsonStream, piece: &Piece, object: ObjectJson) -> Box<Problem> {
    if object.data.is_some() {
        let help = "name it with `--prometheus KIND=FILE`; KIND is `egress`, `requests` or `durations`";
        return stream.at(piece, "data", "this is a response of Prometheus, not a list of events", help);
    }
    match object.kind {
        Some(kind) if kind != "Event" && kind != "List" => {
            stream.at(piece, "kind", format!("this is a {kind} of Kubernetes, not an event"), COMMAND)
        }
        _ => stream.at(piece, "items", "the file has no Kubernetes events", COMMAND),
    }
}

/// Why a file has no events: it has no objects.
fn no_objects(stream: &JsonStream) -> Box<Problem> {
    let text = stream.head();
    if text.starts_with("LAST SEEN") || text.starts_with("NAMESPACE") {
        return stream.whole("this is the table that kubectl prints for people", "add `-o json` to the command");
    }
    if text.starts_with("apiVersion:") || text.starts_with("items:") || text.starts_with("---") {
        return stream.whole("this is YAML; events are read as JSON", "write the file again with `-o json`");
    }
    stream.whole("the file has no JSON object, so no Kubernetes events", COMMAND)
}

/// Identifies an event. An event that is updated keeps it.
fn identity(object: &ObjectJson) -> String {
    let Some(metadata) = &object.metadata else { return String::new() };
    match (&metadata.uid, &metadata.name) {
        (Some(uid), _) => uid.clone(),
        (None, Some(name)) => format!("{}/{name}", metadata.namespace.as_deref().unwrap_or_default()),
        (None, None) => String::new(),
    }
}

/// The event, if it is one of a pod that matters here.
fn pod_event(object: &ObjectJson, tally: &mut Tally) -> Option<PodEvent> {
    let reason = object.reason.clone().unwrap_or_default();
    let involved = object.involved_object.as_ref().or(object.regarding.as_ref())?;
    if involved.kind.as_deref().is_some_and(|kind| kind != "Pod") {
        return tally.skip("event of an object other than a pod");
    }
    let message = object.message.as_deref().or(object.note.as_deref()).unwrap_or_default();
    let happening = match reason.as_str() {
        "Scheduled" => {
            let node = message.rsplit_once(" to ").map(|(_, node)| node.trim().to_owned()).unwrap_or_default();
            Happening::Scheduled { node }
        }
        "Started" => Happening::Started,
        "Pulling" | "Pulled" | "Failed" | "BackOff" => match message::read(message) {
            Some(message) => Happening::Image(message),
            None if reason == "Failed" || reason == "BackOff" => return tally.skip(UNUSED),
            None => return tally.skip("event about an image whose message has an unknown form"),
        },
        _ => return tally.skip(UNUSED),
    };
    let Some((at, is_exact)) = time_of(object) else { return tally.skip("event without a time") };
    let pod = format!(
        "{}/{}",
        involved.namespace.as_deref().unwrap_or("default"),
        involved.name.as_deref().unwrap_or_default()
    );
    let source = object.source.as_ref().or(object.deprecated_source.as_ref());
    let host = source.and_then(|source| source.host.clone()).filter(|host| !host.is_empty());
    let node = match &happening {
        Happening::Scheduled { node } => node.clone(),
        _ => host.or_else(|| object.reporting_instance.clone()).unwrap_or_default(),
    };
    let series = object.series.as_ref().and_then(|series| series.count);
    Some(PodEvent {
        pod_id: involved.uid.clone().filter(|uid| !uid.is_empty()).unwrap_or_else(|| pod.clone()),
        pod,
        container: involved.field_path.clone().unwrap_or_default(),
        node,
        at,
        is_exact,
        count: object.count.or(object.deprecated_count).or(series).unwrap_or(1).max(1),
        happening,
    })
}

/// The time of the first occurrence: from the event's name if it agrees with the timestamps, which have no fraction.
fn time_of(object: &ObjectJson) -> Option<(Nanos, bool)> {
    let metadata = object.metadata.as_ref();
    let read = |text: &Option<String>| text.as_deref().and_then(rfc3339);
    let first = read(&object.first_timestamp).or_else(|| read(&object.deprecated_first_timestamp));
    let event_time = read(&object.event_time);
    let created = metadata.and_then(|metadata| read(&metadata.creation_timestamp));
    let stamped = first.or(event_time).or(created).or_else(|| read(&object.last_timestamp));
    let named = metadata.and_then(|metadata| of_event_name(metadata.name.as_deref()?));
    match (named, stamped) {
        (Some(named), Some((stamped, _))) if (named - stamped).abs() <= NAME_TOLERANCE => Some((named, true)),
        (Some(named), None) => Some((named, true)),
        _ => event_time.filter(|(_, is_exact)| *is_exact).or(stamped),
    }
}
