//! Published times of Argo CD's application controller in ten shards, with many applications in every cluster.
//!
//! One commit makes 10,000 applications with a ConfigMap OutOfSync, in 100, 250 and 500 clusters. Ten shards on a node
//! of 8 cores synced them in 9, 9 and 11 min (cnoe-io/website 1454da8f, blog of 2023-11-21; Argo CD 2.8, read from
//! charts). Here each ApplicationSet has one application in each cluster: 100, 40 and 20 sets.
//!
//! The requests and the CPU of a sync are those that `tests/suite/validation/argo_cd.rs` sets on rows with one
//! simulated cluster for each application: 12 requests and 15 syncs a second on AWS's test, and 0.54 s of a core on the
//! row with 500 clusters, with shards of equal size. What is predicted here is that sets share shards and cores.
//!
//! Left out: as there, the work that grows with the number of clusters.

use super::{compare, runs};

/// A row of the published table.
struct ShardedRow {
    clusters: usize,
    sets: usize,
    minutes: f64,
}

const ROWS: [ShardedRow; 3] = [
    ShardedRow {
        clusters: 100,
        sets: 100,
        minutes: 9.0,
    },
    ShardedRow {
        clusters: 250,
        sets: 40,
        minutes: 9.0,
    },
    ShardedRow {
        clusters: 500,
        sets: 20,
        minutes: 11.0,
    },
];

/// Returns the minutes from the first OutOfSync application until all are synced. `scale`: a burst, and an interval of
/// refreshes, this many times smaller than the published ones, for as many times fewer applications.
fn synced_in_min(sets: usize, clusters: usize, scale: u32) -> f64 {
    let burst = 100 / scale;
    let refresh = 180 / scale;
    let text = format!(
        "name: shards
question: How long are all applications synced?
seed: 1
replicates: 1
horizon: 24h
fleet: [{{name: 'c-{{001..{clusters:03}}}', nodes: 1, downlink: 10 Gbit/s, rtt: 1 ms}}]
agent: {{instructionDelay: 0 s, apply: 300 ms, reportDelay: 0 s}}
applications:
  'set-{{001..{sets:03}}}': {{release: {{workloads: []}}}}
strategies:
  commit:
    argoCd:
      release: commit
      applicationController:
        appResync: {refresh} s
        appResyncJitter: 0 s
        shards: 10
        sharding: round-robin
        cpu: 8
        clientBurst: {burst}
"
    );
    let mut first = f64::INFINITY;
    let mut last: f64 = 0.0;
    for record in runs(&text, 1) {
        for row in &record.clusters {
            first = first.min(row.instructed_s.expect("every application is synced"));
            last = last.max(row.applied_s.expect("every application is synced"));
        }
    }
    (last - first) / 60.0
}

#[test]
fn ten_thousand_applications_of_several_sets_are_synced_as_by_one_set() {
    for row in ROWS {
        let minutes = synced_in_min(row.sets, row.clusters, 1);
        let what = format!("10,000 applications in {} clusters, min", row.clusters);
        let error = compare(&what, minutes, row.minutes);
        if row.clusters == 500 {
            assert!(error.abs() < 0.1, "set on this row, with one set");
        } else {
            assert!(
                (0.2..0.4).contains(&error),
                "missed: a sync took less core time with fewer clusters to watch"
            );
        }
    }
}

#[test]
fn the_number_of_sets_does_not_change_how_long_their_shards_take() {
    let one = synced_in_min(1, 1000, 10);
    for (sets, clusters) in [(10, 100), (4, 250), (2, 500)] {
        let several = synced_in_min(sets, clusters, 10);
        let what = format!("{sets} sets on {clusters} clusters, like one on 1,000, min");
        let error = compare(&what, several, one);
        assert!(error.abs() < 0.05, "{sets} sets: {several} min, {one} min");
    }
}
