//! Kubernetes events in the format of a real exporter, with known parameters and every pitfall of real streams.
//!
//! The format is that of the events of container-chonks@fa06749: JSON lines after the exporter's own log line, times
//! in seconds, and nanoseconds in the hexadecimal end of the names.

use fleetsim::engine::{EntityKey, Stream, Streams, dist};

/// The true values of the stream: latencies in seconds (medians), and the pull model.
pub(crate) const TO_PULLING_S: f64 = 0.44;
pub(crate) const TO_STARTED_S: f64 = 0.08;
pub(crate) const CONSTANT_S: f64 = 0.25;
pub(crate) const PER_LAYER_S: f64 = 0.02;
pub(crate) const UNPACK_BYTES_PER_S: f64 = 160e6;

/// 2024-10-02T17:20:00Z in nanoseconds.
const START: i64 = 1_727_889_600_000_000_000;

/// A stream that is being generated.
pub(crate) struct EventStream {
    rng: Stream,
    lines: Vec<String>,
    pods: u32,
}

/// The kubelet's version, by the content of its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kubelet {
    /// Kubelet 1.18, whose messages have neither duration nor size.
    Bare,
    /// Kubelet 1.26, whose messages have a duration that includes the wait.
    Duration,
    /// Kubelet 1.30 and later, whose messages have both durations and the size.
    Full,
}

impl EventStream {
    pub(crate) fn new(seed: u64) -> Self {
        let log = "{\"level\":\"info\",\"time\":\"2024-10-02T17:19:33Z\",\"message\":\"Reading config file /data/config.yaml\"}\n";
        let rng = Streams::new(seed, 0).stream(EntityKey::of("events"), "test");
        Self {
            rng,
            lines: vec![log.to_owned()],
            pods: 0,
        }
    }

    /// The stream as JSON lines.
    pub(crate) fn text(&self) -> String {
        self.lines.concat()
    }

    /// The stream as a list, as printed by `kubectl get events -o json`, on one line.
    pub(crate) fn list(&self) -> String {
        let events: Vec<&str> = self.lines[1..].iter().map(|line| line.trim_end()).collect();
        format!(
            "{{\"apiVersion\":\"v1\",\"items\":[{}],\"kind\":\"List\"}}",
            events.join(",")
        )
    }

    pub(crate) fn event(
        &mut self,
        pod: &str,
        container: &str,
        node: &str,
        at: f64,
        reason: &str,
        message: &str,
    ) {
        let nanos = START + (at * 1e9).round() as i64;
        let second = at as u64;
        let stamp = format!(
            "2024-10-02T{:02}:{:02}:{:02}Z",
            17 + (1200 + second) / 3600,
            (1200 + second) / 60 % 60,
            second % 60
        );
        let component = if reason == "Scheduled" {
            "default-scheduler\",\"host\":\""
        } else {
            "kubelet\",\"host\":\""
        };
        let host = if reason == "Scheduled" { "" } else { node };
        let message = serde_json::to_string(message).expect("text");
        self.lines.push(format!(
            "{{\"metadata\":{{\"name\":\"{pod}.{nanos:x}\",\"namespace\":\"shop\",\"uid\":\"{nanos:x}-{reason}\",\
             \"creationTimestamp\":\"{stamp}\"}},\"reason\":\"{reason}\",\"message\":{message},\"source\":{{\"component\":\"{component}{host}\"}},\
             \"firstTimestamp\":\"{stamp}\",\"lastTimestamp\":\"{stamp}\",\"count\":1,\"type\":\"Normal\",\"eventTime\":null,\
             \"involvedObject\":{{\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":\"{pod}\",\"uid\":\"u-{pod}\",\"fieldPath\":\"{container}\"}}}}\n"
        ));
    }

    /// Adds a pod that is scheduled at `at` and pulls an image of equal layers; returns when it started.
    pub(crate) fn pod(
        &mut self,
        node: &str,
        at: f64,
        layers: u64,
        bytes: u64,
        kubelet: Kubelet,
    ) -> f64 {
        self.pods += 1;
        let pod = format!("shop-{:04}", self.pods);
        let image = format!("registry.example/bench:{layers}-layers-{bytes}-bytes");
        let main = "spec.containers{shop}";
        let slow: f64 = dist::lognormal(
            &mut Streams::new(5, 0).stream(EntityKey::of(node), "node"),
            1.0,
            0.05,
        );
        let noise = dist::lognormal(&mut self.rng, 1.0, 0.03);
        let took =
            (CONSTANT_S + layers as f64 * PER_LAYER_S + bytes as f64 / UNPACK_BYTES_PER_S * slow)
                * noise;
        let pulling = at + dist::lognormal(&mut self.rng, TO_PULLING_S, 0.08);
        let pulled = pulling + took;
        let started = pulled + dist::lognormal(&mut self.rng, TO_STARTED_S, 0.12);
        let printed = format!("{took:.3}s");
        let message = match kubelet {
            Kubelet::Bare => format!("Successfully pulled image \"{image}\""),
            Kubelet::Duration => format!("Successfully pulled image \"{image}\" in {printed}"),
            Kubelet::Full => format!(
                "Successfully pulled image \"{image}\" in {printed} ({printed} including waiting). Image size: {} bytes.",
                2_300_000 + bytes / 1000
            ),
        };
        self.event(
            &pod,
            "",
            node,
            at,
            "Scheduled",
            &format!("Successfully assigned shop/{pod} to {node}"),
        );
        self.event(
            &pod,
            main,
            node,
            pulling,
            "Pulling",
            &format!("Pulling image \"{image}\""),
        );
        self.event(&pod, main, node, pulled, "Pulled", &message);
        self.event(
            &pod,
            main,
            node,
            pulled + 0.01,
            "Created",
            "Created container shop",
        );
        self.event(
            &pod,
            main,
            node,
            started,
            "Started",
            "Started container shop",
        );
        started
    }

    /// Removes the events of the last pod that have the given reason, as an exporter does with old events.
    fn discard(&mut self, reason: &str) {
        let pod = format!("\"name\":\"shop-{:04}\"", self.pods);
        let is_gone = |line: &String| {
            line.contains(&pod) && line.contains(&format!("\"reason\":\"{reason}\""))
        };
        self.lines.retain(|line| !is_gone(line));
    }

    /// Repeats the last lines with a higher count, as an exporter writes a repeated event.
    fn repeat(&mut self, lines: usize) {
        let again: Vec<String> = self.lines[self.lines.len() - lines..].to_vec();
        self.lines.extend(
            again
                .into_iter()
                .map(|line| line.replace("\"count\":1", "\"count\":2")),
        );
    }

    /// Adds a pod with an init container that pulls an image, and with a main container that fails once and is
    /// restarted.
    fn awkward(&mut self, node: &str, at: f64) {
        let (init, main) = ("spec.initContainers{migrate}", "spec.containers{shop}");
        let pod = "awkward";
        self.event(
            pod,
            "",
            node,
            at,
            "Scheduled",
            &format!("Successfully assigned shop/{pod} to {node}"),
        );
        self.event(
            pod,
            init,
            node,
            at + 0.43,
            "Pulling",
            "Pulling image \"migrate:1\"",
        );
        self.event(
            pod,
            init,
            node,
            at + 1.43,
            "Pulled",
            "Successfully pulled image \"migrate:1\" in 1s (1s including waiting). Image size: 900 bytes.",
        );
        self.event(
            pod,
            init,
            node,
            at + 1.51,
            "Started",
            "Started container migrate",
        );
        self.event(
            pod,
            main,
            node,
            at + 3.0,
            "Pulling",
            "Pulling image \"cart:1\"",
        );
        self.event(
            pod,
            main,
            node,
            at + 4.0,
            "Failed",
            "Failed to pull image \"cart:1\": rpc error: code = Unavailable",
        );
        self.event(
            pod,
            main,
            node,
            at + 16.0,
            "Pulling",
            "Pulling image \"cart:1\"",
        );
        self.event(
            pod,
            main,
            node,
            at + 17.0,
            "Pulled",
            "Successfully pulled image \"cart:1\" in 1s (1s including waiting). Image size: 900 bytes.",
        );
        self.event(
            pod,
            main,
            node,
            at + 17.08,
            "Started",
            "Started container shop",
        );
        self.event(
            pod,
            main,
            node,
            at + 60.0,
            "Started",
            "Started container shop",
        );
        self.event(
            "present",
            "",
            node,
            at + 61.0,
            "Scheduled",
            &format!("Successfully assigned shop/present to {node}"),
        );
        self.event(
            "present",
            main,
            node,
            at + 61.5,
            "Pulled",
            "Container image \"cart:1\" already present on machine",
        );
        self.event(
            "present",
            main,
            node,
            at + 61.58,
            "Started",
            "Started container shop",
        );
    }
}

/// A rollout over six nodes of images with 9 and 60 layers, in eight sizes, with every pitfall of real streams.
pub(crate) fn benchmark(seed: u64) -> EventStream {
    of_nodes(seed, 0..6)
}

/// Like [`benchmark`], but on one node.
pub(crate) fn small(seed: u64) -> EventStream {
    of_nodes(seed, 4..5)
}

fn of_nodes(seed: u64, nodes: std::ops::Range<u32>) -> EventStream {
    let mut stream = EventStream::new(seed);
    for node in nodes {
        let name = format!("node-{node}");
        let kubelet = match node {
            0 => Kubelet::Bare,
            1 => Kubelet::Duration,
            _ => Kubelet::Full,
        };
        let mut at = f64::from(node) * 0.37;
        for (nth, layers) in [9_u64, 60].into_iter().cycle().take(16).enumerate() {
            let bytes = [40_u64, 80, 150, 300, 500, 900, 1_500, 2_500][nth / 2] * 1_000_000;
            at = stream.pod(&name, at, layers, bytes, kubelet) + 1.0;
            match (node, nth) {
                (2, 3) => stream.discard("Scheduled"),
                (2, 5) => stream.discard("Pulling"),
                (3, 4) => stream.repeat(5),
                _ => {}
            }
        }
        if node == 4 {
            stream.awkward(&name, at);
        }
    }
    stream
}
