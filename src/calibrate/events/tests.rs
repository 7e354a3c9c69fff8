//! Tests with event streams that have the pitfalls of real ones.

use std::io::Cursor;

use super::{ContainerStart, ITEMS, PodEvents, Tally, containers};
use crate::calibrate::input::OpenInput;
use crate::calibrate::json_stream::JsonStream;
use crate::document::problem::OrProblem;

/// 2024-10-02T17:20:00Z in nanoseconds.
const START: i64 = 1_727_889_600_000_000_000;

fn events(text: &str, tally: &mut Tally) -> OrProblem<PodEvents> {
    let input = OpenInput::of_bytes("events.json", Cursor::new(text.to_owned())).expect("bytes");
    let mut stream = JsonStream::of(input, ITEMS);
    let mut events = PodEvents::default();
    super::read(&mut stream, &mut events, tally).map(|()| events)
}

fn read(text: &str) -> (Vec<ContainerStart>, Vec<(&'static str, u64)>) {
    let mut tally = Tally::default();
    let events = events(text, &mut tally).unwrap_or_else(|problem| panic!("{problem}"));
    let starts = containers(events, None, &mut tally);
    (starts, tally.left_out().collect())
}

fn refused(text: &str) -> String {
    events(text, &mut Tally::default())
        .expect_err(text)
        .to_string()
}

/// Returns an event as an exporter writes it. `pod` has its own node, and `after` is the number of seconds since the
/// start.
fn event(pod: &str, container: &str, after: f64, reason: &str, message: &str) -> String {
    let nanos = START + (after * 1e9).round() as i64;
    let second = format!("2024-10-02T17:20:{:02}Z", after as u64);
    let component = if reason == "Scheduled" {
        "default-scheduler"
    } else {
        "kubelet"
    };
    format!(
        "{{\"metadata\":{{\"name\":\"{pod}.{nanos:x}\",\"namespace\":\"default\",\"uid\":\"{pod}-{container}-{reason}-{nanos}\"}},\
         \"reason\":\"{reason}\",\"message\":{message:?},\"source\":{{\"component\":\"{component}\",\"host\":\"node-1\"}},\
         \"firstTimestamp\":\"{second}\",\"lastTimestamp\":\"{second}\",\"count\":1,\"type\":\"Normal\",\"eventTime\":null,\
         \"involvedObject\":{{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"{pod}\",\"uid\":\"uid-{pod}\",\
         \"fieldPath\":\"{container}\"}}}}\n"
    )
}

const MAIN: &str = "spec.containers{shop}";
const PULLED: &str = "Successfully pulled image \"shop:1\" in 1.5s (1.5s including waiting). Image size: 1000 bytes.";

/// Returns the events of a pod whose pull takes 1.5 s and begins at `from`.
fn pod(name: &str, from: f64, pulled: &str) -> String {
    [
        event(
            name,
            "",
            from,
            "Scheduled",
            &format!("Successfully assigned default/{name} to node-1"),
        ),
        event(
            name,
            MAIN,
            from + 0.44,
            "Pulling",
            "Pulling image \"shop:1\"",
        ),
        event(name, MAIN, from + 1.94, "Pulled", pulled),
        event(name, MAIN, from + 1.95, "Created", "Created container shop"),
        event(name, MAIN, from + 2.02, "Started", "Started container shop"),
    ]
    .concat()
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-6)
}

#[test]
fn times_are_derived_from_the_names_of_events() {
    let (starts, _) = read(&pod("a", 1.0, PULLED));
    let start = &starts[0];
    assert!(
        near(
            ContainerStart::between(start.scheduled, start.pulling),
            0.44
        ),
        "{start:?}"
    );
    assert!(
        near(ContainerStart::between(start.pulled, start.started), 0.08),
        "{start:?}"
    );
    assert!(near(start.pull_s, 1.5) && start.size == Some(1000) && start.unused.is_none());
    assert_eq!(
        (
            start.pod.as_str(),
            start.node.as_str(),
            start.image.as_str()
        ),
        ("default/a", "node-1", "shop:1")
    );
}

#[test]
fn timestamps_in_whole_seconds_are_not_used_for_latencies() {
    // Event names without a time, as other tools create them.
    let text = pod("a", 1.0, PULLED).replace("a.17fab", "a.x17fab");
    let (starts, _) = read(&text);
    let start = &starts[0];
    assert!(start.scheduled.is_some_and(|stamp| !stamp.is_exact));
    assert_eq!(
        ContainerStart::between(start.scheduled, start.pulling),
        None
    );
    assert!(near(start.pull_s, 1.5), "the message has the duration");
}

#[test]
fn log_lines_of_the_exporter_and_events_of_other_objects_are_counted() {
    let text = format!(
        "{{\"level\":\"info\",\"time\":\"2024-10-02T17:19:33Z\",\"message\":\"Reading config\"}}\nI1002 17:19:33 started\n\
         {{\"level\":\"error\",\"source\":\"main.go:12\",\"message\":\"x\"}}\n{}{}",
        pod("a", 1.0, PULLED),
        event("job", "", 5.0, "SuccessfulCreate", "Created pod: a")
            .replace("\"kind\":\"Pod\"", "\"kind\":\"Job\""),
    );
    let (starts, left_out) = read(&text);
    assert_eq!(starts.len(), 1);
    let of = |start: &str| {
        left_out
            .iter()
            .find(|(reason, _)| reason.starts_with(start))
            .map(|(_, count)| *count)
    };
    assert_eq!(of("line that is not an event"), Some(3));
    assert_eq!(of("event of an object other than a pod"), Some(1));
    assert_eq!(
        of("event with a reason that is not used here"),
        Some(1),
        "Created"
    );
}

#[test]
fn pulls_of_init_containers_are_separate_pulls() {
    let init = "spec.initContainers{migrate}";
    let text = [
        event(
            "a",
            "",
            1.0,
            "Scheduled",
            "Successfully assigned default/a to node-1",
        ),
        event("a", init, 1.4, "Pulling", "Pulling image \"migrate:1\""),
        event(
            "a",
            init,
            3.4,
            "Pulled",
            &PULLED.replace("shop", "migrate").replace("1.5s", "2s"),
        ),
        event("a", init, 3.5, "Started", "Started container migrate"),
        event("a", MAIN, 9.0, "Pulling", "Pulling image \"shop:1\""),
        event("a", MAIN, 10.5, "Pulled", PULLED),
        event("a", MAIN, 10.6, "Started", "Started container shop"),
    ]
    .concat();
    let (starts, _) = read(&text);
    let found: Vec<(&str, bool, Option<f64>)> = starts
        .iter()
        .map(|start| (start.container.as_str(), start.is_first, start.pull_s))
        .collect();
    assert_eq!(found, [(init, true, Some(2.0)), (MAIN, false, Some(1.5))]);
}

#[test]
fn kubelets_of_all_versions_are_understood() {
    let of = |pulled: &str| {
        let (mut starts, _) = read(&pod("a", 1.0, pulled));
        starts.remove(0)
    };
    let without_duration = of("Successfully pulled image \"shop:1\"");
    assert!(
        near(without_duration.pull_s, 1.5),
        "from the times of its events: {without_duration:?}"
    );
    assert_eq!(without_duration.size, None);
    let without_waiting = of("Successfully pulled image \"shop:1\" in 1.5s");
    assert!(near(without_waiting.pull_s, 1.5) && near(without_waiting.with_waiting_s, 1.5));
    let text = pod("a", 1.0, "Successfully pulled image \"shop:1\"").replace("a.17fab", "a.x17fab");
    let (starts, _) = read(&text);
    assert!(
        starts[0].pull_s.is_none() && starts[0].unused.is_some(),
        "seconds are too coarse for a duration"
    );
}

#[test]
fn a_pull_that_waited_is_used_only_if_the_kubelet_prints_the_wait() {
    // Two pods on one node; the second waits 1 s for the first.
    let waited = "Successfully pulled image \"shop:1\" in 1.5s (2.5s including waiting). Image size: 1000 bytes.";
    let both = |message: &str| {
        let second = pod("b", 1.5, message).replace("17:20:03", "17:20:04");
        // The second pod's pull ends 1 s later.
        let shifted: Vec<String> = second
            .lines()
            .map(|line| {
                if line.contains("\"Pulled\"")
                    || line.contains("\"Started\"")
                    || line.contains("\"Created\"")
                {
                    let name = line
                        .split("b.")
                        .nth(1)
                        .expect("a name")
                        .split('"')
                        .next()
                        .expect("a quote");
                    let nanos = i64::from_str_radix(name, 16).expect("a time") + 1_000_000_000;
                    line.replace(name, &format!("{nanos:x}"))
                } else {
                    line.to_owned()
                }
            })
            .collect();
        read(&(pod("a", 1.0, PULLED) + &shifted.join("\n"))).0
    };
    let printed = both(waited);
    assert!(
        printed.iter().all(|start| start.unused.is_none()),
        "{printed:?}"
    );
    assert!(near(printed[1].pull_s, 1.5) && near(printed[1].with_waiting_s, 2.5));
    let not_printed = both("Successfully pulled image \"shop:1\" in 2.5s");
    let unused: Vec<bool> = not_printed
        .iter()
        .map(|start| start.unused.is_some())
        .collect();
    assert_eq!(
        unused,
        [false, true],
        "nobody knows how much of the second was waiting"
    );
}

#[test]
fn concurrent_pulls_of_different_images_on_one_node_are_not_independent() {
    let other = pod("b", 1.5, PULLED).replace("shop:1", "cart:1");
    let (starts, _) = read(&(pod("a", 1.0, PULLED) + &other));
    assert!(starts.iter().all(|start| {
        start
            .unused
            .is_some_and(|reason| reason.contains("another image"))
    }));
    let same = read(&(pod("a", 1.0, PULLED) + &pod("b", 1.5, PULLED))).0;
    assert!(
        same.iter().all(|start| start.unused.is_none()),
        "the runtime fetches each layer once: {same:?}"
    );
}

#[test]
fn an_image_that_was_present_is_not_counted_as_a_pull() {
    let text = [
        event(
            "a",
            "",
            1.0,
            "Scheduled",
            "Successfully assigned default/a to node-1",
        ),
        event(
            "a",
            MAIN,
            1.5,
            "Pulled",
            "Container image \"shop:1\" already present on machine",
        ),
        event("a", MAIN, 1.6, "Started", "Started container shop"),
    ]
    .concat();
    let (starts, left_out) = read(&text);
    assert!(starts[0].was_present && !starts[0].is_pull());
    assert_eq!(
        left_out,
        [("container whose image was already present (no pull)", 1)]
    );
}

#[test]
fn repeated_discarded_and_restarted_events_are_counted_once() {
    let exported_again = pod("a", 1.0, PULLED).replace("\"count\":1", "\"count\":3");
    let restart = event("a", MAIN, 30.0, "Started", "Started container shop");
    let discarded = event("b", MAIN, 31.0, "Started", "Started container shop");
    let (starts, left_out) = read(&format!(
        "{}{exported_again}{restart}{discarded}",
        pod("a", 1.0, PULLED)
    ));
    assert_eq!(starts.len(), 1);
    let of = |start: &str| {
        left_out
            .iter()
            .find(|(reason, _)| reason.starts_with(start))
            .map(|(_, count)| *count)
    };
    assert_eq!(of("repetition of an event"), Some(4), "Created is not read");
    assert_eq!(of("event of a container that had started"), Some(1));
    assert_eq!(of("container whose pull is not in the events"), Some(1));
}

#[test]
fn a_failed_attempt_is_not_part_of_the_duration() {
    // Attempts are merged into one event with a count. The event's name contains the time of the first attempt.
    let text = [
        event(
            "a",
            "",
            1.0,
            "Scheduled",
            "Successfully assigned default/a to node-1",
        ),
        event("a", MAIN, 1.4, "Pulling", "Pulling image \"shop:1\"")
            .replace("\"count\":1", "\"count\":2"),
        event(
            "a",
            MAIN,
            2.0,
            "Failed",
            "Failed to pull image \"shop:1\": rpc error",
        ),
        event(
            "a",
            MAIN,
            30.0,
            "Pulled",
            "Successfully pulled image \"shop:1\"",
        ),
        event("a", MAIN, 30.1, "Started", "Started container shop"),
    ]
    .concat();
    let (starts, _) = read(&text);
    assert_eq!(
        (starts[0].pull_s, starts[0].failures),
        (None, 1),
        "28.6 s are not a pull"
    );
}

#[test]
fn lists_watches_and_the_newer_api_are_also_read() {
    let lines = pod("a", 1.0, PULLED);
    let all: Vec<&str> = lines.lines().collect();
    let list = format!(
        "{{\"apiVersion\": \"v1\",\n\"kind\": \"List\",\n\"items\": [\n{}\n]}}",
        all.join(",\n")
    );
    let watched: String = all
        .iter()
        .map(|line| format!("{{\"type\":\"ADDED\",\"object\":{line}}}\n"))
        .collect();
    let newer = lines
        .replace("involvedObject", "regarding")
        .replace("\"message\"", "\"note\"")
        .replace("\"source\"", "\"deprecatedSource\"")
        .replace("firstTimestamp", "deprecatedFirstTimestamp");
    let expected = read(&lines).0;
    for text in [list, watched, newer] {
        assert_eq!(read(&text).0, expected, "{text}");
    }
}

#[test]
fn files_without_events_are_refused_with_the_fix() {
    for (text, message) in [
        (
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
            "events.json:1:1: data: this is a response of Prometheus, not a list of events",
        ),
        (
            "{\"kind\":\"PodList\",\"items\":[]}",
            "events.json:1:1: kind: this is a PodList of Kubernetes",
        ),
        (
            "{\"kind\":\"Pod\",\"metadata\":{}}",
            "events.json:1:1: kind: this is a Pod of Kubernetes, not an event",
        ),
        (
            "apiVersion: v1\nitems:\n- reason: Pulled\n",
            "events.json: this is YAML; events are read as JSON",
        ),
        (
            "LAST SEEN   TYPE   REASON\n2m   Normal   Pulled\n",
            "events.json: this is kubectl's human-readable table",
        ),
        ("pull_s\n4\n", "events.json: the file has no JSON object"),
    ] {
        let found = refused(text);
        assert!(
            found.starts_with(message) && found.contains("help:"),
            "{text}: {found}"
        );
    }
}

#[test]
fn damaged_files_are_refused_with_their_line() {
    let good = pod("a", 1.0, PULLED);
    let cut = &good[..good.len() - 40];
    let found = refused(cut);
    assert!(
        found.starts_with("events.json:5:") && found.contains("the JSON ends too early"),
        "{found}"
    );
    let wrong = good.replacen("\"count\":1", "\"count\":\"one\"", 1);
    let found = refused(&wrong);
    assert!(
        found.starts_with("events.json:1:") && found.contains("expected u64"),
        "{found}"
    );
    let garbage = good.replacen("\"reason\":", "\"reason\" ", 1);
    assert!(
        refused(&garbage).contains("not JSON: expected `:`"),
        "{}",
        refused(&garbage)
    );
    let found = refused(&format!("{good}{}", "\0".repeat(16_000_001)));
    let limit = "events.json:6:1: a JSON value or another line must have at most 16000000 bytes (help: rerun the command";
    assert!(found.starts_with(limit), "{found}");
}
