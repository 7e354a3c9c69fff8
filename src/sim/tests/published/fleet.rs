//! Published times of Rancher Fleet.
//!
//! 50 bundles of a chart with one ConfigMap are new to 50 clusters, without any limit of a strategy. From the GitRepo,
//! 8 s passed until the bundles existed, 10 to 20 s until their deployments did, and 44 to 49 s until all bundles were
//! ready (rancher/fleet#4599, log of 2026-02-27, Fleet 0.15.0). The two ranges are the intervals of polls; the later
//! ends are compared. Nothing is set on these times.
//!
//! Left out: the GitRepo controller, and the hub's CPU.

use super::{compare, median, runs};

/// Number of simulated runs.
const RUNS: u32 = 9;

/// The seconds from the bundles to all of their deployments, and to all bundles ready: medians over runs.
struct PublishedTimes {
    created_s: f64,
    ready_s: f64,
}

impl PublishedTimes {
    /// Returns the time from the last deployment until all bundles are ready.
    const fn since_creation_s(&self) -> f64 {
        self.ready_s - self.created_s
    }
}

/// The times of the log.
const MEASURED: PublishedTimes = PublishedTimes {
    created_s: 12.0,
    ready_s: 41.0,
};

/// Simulates the rollout with these settings of the agents.
fn simulated(agent: &str) -> PublishedTimes {
    let text = format!(
        "name: published
seed: 1
replicates: {RUNS}
horizon: 6h
fleet: [{{name: 'c-{{01..50}}', nodes: 1, downlink: 10 Gbit/s, rtt: 2 ms}}]
agent: {{{agent}}}
applications:
  'b-{{01..50}}':
    release:
      kind: initial
      workloads: []
strategies: {{unlimited: {{rancherFleet: {{maxUnavailable: 100%, autoPartitionSize: 100%}}}}}}
"
    );
    let mut created = Vec::new();
    let mut ready = Vec::new();
    for record in runs(&text, RUNS) {
        let mut last: f64 = 0.0;
        for row in &record.clusters {
            last = last.max(row.instructed_s.expect("no strategy limits it"));
        }
        created.push(last);
        ready.push(record.run.reported_s.expect("all are ready"));
    }
    PublishedTimes {
        created_s: median(created),
        ready_s: median(ready),
    }
}

#[test]
fn fifty_bundles_are_ready_as_late_as_published_but_not_created_as_late() {
    let ours = simulated("");
    let total = compare(
        "bundles until all are ready",
        ours.ready_s,
        MEASURED.ready_s,
    );
    assert!(total.abs() < 0.2, "predicted");
    let created = compare(
        "bundles until their deployments exist",
        ours.created_s,
        MEASURED.created_s,
    );
    assert!(created < -0.2, "missed: the hub's CPU is no limit");
    let since = compare(
        "deployments until all bundles are ready",
        ours.since_creation_s(),
        MEASURED.since_creation_s(),
    );
    assert!(since > 0.2, "missed: the clusters of a fleet differ");
    let alike = simulated("applySpread: 0");
    compare(
        "the same in clusters of one kind",
        alike.since_creation_s(),
        MEASURED.since_creation_s(),
    );
    assert!(
        alike.since_creation_s() < 0.7 * ours.since_creation_s(),
        "the slowest cluster decides"
    );
}
