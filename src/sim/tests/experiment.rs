//! A recording as an experiment: its fleet and strategy, and the settings and latencies of the recorded controllers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use super::recording::Recording;
use crate::control_plane::ControlLoop;
use crate::scenario::{Overrides, Scenario, load};

/// Returns the recording's fleet and strategy as an experiment. The error is the reason why the experiment is
/// rejected.
pub(super) fn scenario(recording: &Recording, strategy: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text =
        "name: replay\nquestion: Is it the same?\nseed: 1\nreplicates: 1\nhorizon: 24h\nfleet:\n"
            .to_owned();
    for target in &recording.hello.targets {
        let labels = serde_json::to_string(&target.labels).expect("labels are text");
        // Revisions older than the installed one also count as old.
        let installed = target.revision != Some(0);
        writeln!(
            text,
            "  - {{name: {}, labels: {labels}, installed: {installed}}}",
            target.name
        )
        .expect("text");
    }
    let kind = if recording.hello.release.installed == 0 {
        "initial"
    } else {
        "update"
    };
    write!(
        text,
        "release:\n  kind: {kind}\n  images: [{{name: app, manifest: {{layers: [{{size: 1 MB}}]}}}}]\n  \
         workloads: [{{kind: Deployment, image: app}}]\nstrategies:\n  replayed: {{{strategy}}}\n"
    )
    .expect("text");
    let mut groups = Vec::new();
    for (name, content) in &recording.hello.files {
        // The recorded program writes the revision as a tag itself.
        let content = content.replace("path: deploy}", "path: deploy, targetRevision: v1}");
        let documents = content.split("---\n");
        let (given, rest): (Vec<_>, Vec<_>) =
            documents.partition(|document| document.contains("kind: ClusterGroup\n"));
        groups.extend(given.into_iter().map(cluster_group));
        fs::write(folder.path().join(name), rest.join("---\n")).expect("a file of the strategy");
    }
    if !groups.is_empty() {
        writeln!(text, "clusterGroups: {}", serde_json::Value::from(groups)).expect("text");
    }
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, text).expect("an experiment");
    match load(&file, &Overrides::default()) {
        Ok(mut experiment) => Ok(experiment.variants.remove(0).scenario),
        Err(error) => Err(error
            .problems
            .iter()
            .map(|problem| problem.message.clone())
            .collect::<Vec<_>>()
            .join("; ")),
    }
}

/// Converts a ClusterGroup to an entry of the experiment's `clusterGroups`.
fn cluster_group(document: &str) -> serde_json::Value {
    let group: serde_json::Value = serde_saphyr::from_str(document).expect("a ClusterGroup");
    let (name, labels) = (&group["metadata"]["name"], &group["metadata"]["labels"]);
    let labels = if labels.is_null() {
        json!({})
    } else {
        labels.clone()
    };
    json!({"name": name, "labels": labels, "selector": group["spec"]["selector"]})
}

/// Returns the latencies in the recording, with the product's own rate limit.
pub(super) fn timing(recording: &Recording, product: &ControlLoop) -> ControlLoop {
    let latency = &recording.hello.latency;
    ControlLoop {
        request: latency.request().into(),
        watch_delay: latency.watch(),
        ..product.clone()
    }
}

/// In Argo CD's recordings the application controller has no limits, and its comparisons take no time, unless the
/// recording says otherwise.
const UNLIMITED: &[(&str, &str)] = &[
    ("statusProcessors", "100000"),
    ("operationProcessors", "100000"),
    ("kubectlParallelism", "100000"),
    ("clientQps", "0"),
    ("syncsPerSecond", "1000000000000"),
    ("comparison", "0 s"),
];

/// Returns the strategy of a recording as written in an experiment, with the settings of the recorded controllers.
pub(super) fn argo_cd(recording: &Recording) -> String {
    let mut keys = Vec::new();
    let mut controller: BTreeMap<&str, &str> = UNLIMITED.iter().copied().collect();
    for (name, value) in &recording.hello.settings {
        match name.as_str() {
            "ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES" => {
                keys.push(format!("concurrentApplicationUpdates: {value}"));
            }
            "ARGOCD_K8S_TCP_TIMEOUT" => _ = controller.insert("tcpTimeout", value),
            "ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS" => {
                _ = controller.insert("statusProcessors", value);
            }
            "ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS" => {
                _ = controller.insert("operationProcessors", value);
            }
            name => {
                if let Some(key) = name.strip_prefix("applicationController.") {
                    controller.insert(key, value);
                }
            }
        }
    }
    if !recording.hello.files.is_empty() {
        keys.push("file: rollout.yaml".to_owned());
        // The recorded program also adds the clusters' labels to their applications.
        keys.push("generate: false".to_owned());
    }
    let controller: Vec<String> = controller
        .iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    keys.push(format!(
        "applicationController: {{{}}}",
        controller.join(", ")
    ));
    format!("argoCd: {{{}}}", keys.join(", "))
}

/// Adds the rate limit of the ApplicationSet controller's client.
pub(super) fn with_limit(recording: &Recording, timing: ControlLoop) -> ControlLoop {
    let number = |name| {
        recording
            .hello
            .settings
            .get(name)
            .map(|value| value.parse().expect("a whole number"))
    };
    let qps = number("ARGOCD_K8S_CLIENT_QPS");
    let burst = number("ARGOCD_K8S_CLIENT_BURST")
        .or(qps.map(|qps| 2 * qps))
        .unwrap_or(timing.client_burst);
    ControlLoop {
        client_qps: qps.unwrap_or(timing.client_qps),
        client_burst: burst,
        ..timing
    }
}
