//! Cloud Foundry's deployments of an app with 1 000 instances, in complete simulations: first deployments and updates,
//! rolling and canary, with and without failures.

mod canaries;
mod redeployments;
mod requests;
mod rollouts;
mod start_timeouts;
mod superseded;

use std::fs;
use std::path::Path;

use fleetsim::results::RunRecord;
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};
use fleetsim::sim;

use super::common::loaded;

const CLUSTERS: usize = 1000;

/// Writes an experiment with the given strategy to a folder.
fn write(folder: &Path, release: &str, faults: &str, strategy: &str) {
    let text = format!(
        "name: cloud-foundry
question: What does the updater do?
seed: 3
replicates: 1
horizon: 24h
fleet: [{{name: \"cell-{{0001..1000}}\", nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}]
registry: {{egress: 100 Gbit/s}}
release:
  kind: {release}
  images: [{{name: shop, manifest: {{layers: [{{size: 20 MB}}]}}, previous: {{layers: [{{size: 20 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, start: 4 s, readiness: {{period: 10 s}}}}]
faults: {{{faults}}}
agent: {{apply: 1 s, readiness: {{delay: 500 ms}}}}
strategies:
  app:
    cloudFoundry: {strategy}
"
    );
    fs::write(folder.join("experiment.yaml"), text).expect("the experiment is written");
}

fn load_in(folder: &Path) -> Result<Experiment, LoadError> {
    load(&folder.join("experiment.yaml"), &Overrides::default())
}

fn run(release: &str, faults: &str, strategy: &str) -> RunRecord {
    run_with(release, faults, strategy, &[])
}

/// Runs the experiment of this module, with parts of its text replaced.
fn run_with(release: &str, faults: &str, strategy: &str, changes: &[(&str, &str)]) -> RunRecord {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), release, faults, strategy);
    let file = folder.path().join("experiment.yaml");
    let mut text = fs::read_to_string(&file).expect("it was written");
    for (part, other) in changes {
        assert_eq!(text.matches(part).count(), 1, "{part}");
        text = text.replace(part, other);
    }
    fs::write(&file, text).expect("it is written");
    let experiment = loaded(folder.path());
    let run = sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process");
    assert_eq!(run.clusters.len(), CLUSTERS);
    run
}

fn told(run: &RunRecord) -> usize {
    run.clusters
        .iter()
        .filter(|cluster| cluster.instructed_s.is_some())
        .count()
}

/// The times at which the first and the last of the given instances were instructed.
fn told_between(run: &RunRecord, instances: std::ops::Range<usize>) -> (f64, f64) {
    let times = run.clusters[instances]
        .iter()
        .map(|cluster| cluster.instructed_s.expect("it was told"));
    times.fold((f64::INFINITY, 0.0), |(first, last), at| {
        (at.min(first), at.max(last))
    })
}

fn ready_by(run: &RunRecord, instances: std::ops::Range<usize>) -> f64 {
    run.clusters[instances]
        .iter()
        .map(|cluster| cluster.ready_s.expect("it is ready"))
        .fold(0.0, f64::max)
}

const STEPS: &str = "strategy: canary, maxInFlight: 100, canarySteps: [{instance_weight: 10}, {instance_weight: 50}]";

/// Creates a folder with an experiment whose strategy names a file with the request `body`.
fn with_file(body: &str, strategy: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "update", "", strategy);
    fs::write(folder.path().join("deployment.json"), body).expect("the request is written");
    folder
}

/// Maximum number of instances that the app lacked at the start of a pass.
fn most_lacking(run: &RunRecord) -> u64 {
    run.passes
        .iter()
        .map(|pass| pass.unavailable)
        .max()
        .unwrap_or(0)
}
