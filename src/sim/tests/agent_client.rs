//! The limit of an agent's client in a whole rollout, compared with a recording.
//!
//! 50 bundles are new to 50 clusters (`tests/closed-loop/several/fleet/apps-50x50-first`): Fleet's own hub reported the
//! last as complete 8.0 s later than one bundle alone (`apps-1x50-first`), 33.92 s instead of 25.92 s. Applies take
//! 0.1 s and pods 20 s. By hand: an agent reads 10 contents at once and 5 a second after that, so the last one
//! (50 − 10) / 5 = 8 s later. Reports come as far apart, and wait for nothing.

use std::fs;

use crate::scenario::{self, Overrides};
use crate::sim;

/// The seconds by which the limit delays the last of 50 bundles.
const DELAY_S: f64 = 8.0;

/// Returns when the product reports the last of these bundles as complete, in seconds.
fn reported_s(bundles: usize) -> f64 {
    let text = format!(
        "name: agents
seed: 1
replicates: 1
horizon: 1h
fleet: [{{name: 'c-{{1..3}}', nodes: 50, downlink: 10 Gbit/s, rtt: 1 ms}}]
node: {{sandbox: 1 ms}}
agent: {{instructionDelay: 5 ms, apply: 100 ms, applySpread: 0, reportDelay: 5 ms}}
controller: {{request: 5 ms, watchDelay: 5 ms}}
applications:
  'b-{{01..{bundles:02}}}':
    release:
      kind: initial
      images: [{{name: app, manifest: {{layers: [{{size: 1 kB}}]}}}}]
      workloads: [{{kind: Deployment, image: app, replicas: 1, start: 20 s}}]
strategies: {{unlimited: {{rancherFleet: {{maxUnavailable: 100%, autoPartitionSize: 100%}}}}}}
"
    );
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    let experiment = scenario::load(folder.path(), &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let variant = &experiment.variants[0];
    let record =
        sim::run_observed(variant, experiment.seed, 0, &mut ()).expect("it starts no process");
    record.run.reported_s.expect("all are ready")
}

#[test]
fn the_client_of_an_agent_delays_the_last_of_fifty_new_bundles_as_recorded() {
    let [one, fifty] = [1, 50].map(reported_s);
    let delay = fifty - one;
    assert!(
        (delay - DELAY_S).abs() < 0.2,
        "{one} s and {fifty} s; a token comes every 0.2 s"
    );
}
