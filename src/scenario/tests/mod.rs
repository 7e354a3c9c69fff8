//! Tests of complete experiments, valid and invalid, in separate folders.

mod applications;
mod bad;
pub(super) mod documented;
mod effects;
mod good;
mod refused;
mod releases;
mod set;
mod snippets;
mod sweeps;
mod turned_off;
mod varied;

use std::any::Any;
use std::fs;
use std::path::Path;

use super::*;
use crate::products::Strategy;

const MANIFEST: &str = r#"{"config": {"digest": "sha256:c", "size": 7000},
    "layers": [{"digest": "sha256:a", "size": 30000000}, {"digest": "sha256:b", "size": 60000000}]}"#;
const PREVIOUS: &str = r#"{"config": {"digest": "sha256:d", "size": 7000},
    "layers": [{"digest": "sha256:a", "size": 30000000}, {"digest": "sha256:e", "size": 50000000}]}"#;
const CLUSTERS: &str = r#"{"kind": "List", "items": [
{"kind": "Cluster", "metadata": {"name": "a", "labels": {"env": "prod"}}, "status": {"namespace": "n"}},
{"kind": "Cluster", "metadata": {"name": "b", "labels": {"env": "dev"}}, "spec": {"paused": true}}
]}"#;
const FLEET_YAML: &str =
    "helm: {chart: ./chart}\nrolloutStrategy: {maxUnavailable: 15%, maxNew: 20}\n";

/// A draft of an experiment file, as a user would begin it.
const SKETCH: &str = r#"name: max-unavailable
question: Which maxUnavailable can a 10 Gbit/s registry bear for 1 000 edge clusters?
seed: 1
replicates: 20
horizon: 24h                         # what is not done by then is reported as unfinished, and why
fleet:
  - {name: "store-{0001..0900}", labels: {env: prod, region: eu}, nodes: 3, downlink: 100 Mbit/s, rtt: 30 ms}
  - {name: "dc-{001..100}", labels: {env: staging}, nodes: 20, downlink: 10 Gbit/s, rtt: 2 ms}
registry: {egress: 10 Gbit/s, requests: {rate: 1000/s, burst: 2000}}
release:
  kind: update                       # or: initial
  images: [{name: shop, manifest: shop-v2.json, previous: shop-v1.json}]
  workloads: [{kind: Deployment, image: shop, replicas: 6, start: {median: 4 s, sigma: 0.6}, readiness: {period: 10 s}}]
faults: {offline: {share: 3%}, pullFailure: 0.2%, defect: {share: 0%}}
strategies:                          # name -> {product: its own configuration}
  defaults: {rancherFleet: {}}
  from-git: {rancherFleet: {file: fleet.yaml}}
  bound: {allAtOnce: {}}
sweep: {strategies.defaults.rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 50%, 100%]}
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("shop-v2.json", MANIFEST),
        ("shop-v1.json", PREVIOUS),
        ("clusters.json", CLUSTERS),
        ("fleet.yaml", FLEET_YAML),
    ] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn load_in(folder: &Path, text: &str) -> Result<Experiment, LoadError> {
    let file = folder.join("experiment.yaml");
    fs::write(&file, text).expect("written");
    load(&file, &Overrides::default())
}

/// Returns the strategy of a variant as its product's type.
fn strategy_of<S: Strategy>(experiment: &Experiment, variant: usize) -> &S {
    let strategy: &dyn Any = experiment.variants[variant].scenario.strategy();
    strategy.downcast_ref().expect("the product's own type")
}

fn load_text(text: &str) -> Result<Experiment, LoadError> {
    load_in(folder().path(), text)
}

/// Returns each problem as one line, without the temporary folder and the name of the experiment file.
fn lines(error: &LoadError) -> Vec<String> {
    let line = |problem: &Problem| {
        let text = problem.to_string();
        let path = text.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        let text = format!("{file}{}", &text[path.len()..]);
        text.strip_prefix("experiment.yaml:")
            .map_or(text.clone(), str::to_owned)
    };
    error.problems.iter().map(line).collect()
}
