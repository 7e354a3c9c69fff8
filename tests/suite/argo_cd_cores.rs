//! The cores that the shards of Argo CD's application controller share (`applicationController.cpu`).
//!
//! The expected times follow from algebra: n syncs of `cpuPerSync` need n · `cpuPerSync` / `cpu`.

use fleetsim::scenario::{Overrides, load};

use super::common::{first_run, fleetsim, folder_with, text};

/// An experiment in which 400 applications are found OutOfSync together, and nothing but these settings of the
/// application controller takes time.
fn experiment(controller: &str) -> String {
    format!(
        "name: cores
question: How long do shared cores take?
seed: 1
replicates: 1
horizon: 24h
fleet: [{{name: 'app-{{001..400}}', nodes: 1, downlink: 10 Gbit/s, rtt: 1 ms}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 1 kB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
agent: {{instructionDelay: 0 s, apply: 1 ms, reportDelay: 0 s}}
strategies:
  commit:
    argoCd:
      applicationController: {{sharding: round-robin, operationProcessors: 400, clientQps: 0, comparison: 1 ms, {controller}}}
"
    )
}

/// The time from the first sync to the last apply.
fn applied_in_s(controller: &str) -> f64 {
    let record = first_run(&[("experiment.yaml", &experiment(controller))]);
    let mut applied: Vec<f64> = Vec::new();
    for row in &record.clusters {
        applied.push(row.applied_s.expect("every application is synced"));
    }
    applied.into_iter().fold(0.0, f64::max)
}

#[test]
fn shards_take_as_long_as_their_shared_cores_need() {
    // 400 syncs of 0.5 s on 4 cores.
    for shards in [2, 4, 10] {
        let controller = format!("shards: {shards}, cpu: 4, cpuPerSync: 0.5 s");
        let taken = applied_in_s(&controller);
        assert!((50.0..52.5).contains(&taken), "{shards} shards: {taken}");
    }
    // Twice the cores halve the time.
    let taken = applied_in_s("shards: 10, cpu: 8, cpuPerSync: 0.5 s");
    assert!((25.0..27.5).contains(&taken), "{taken}");
}

#[test]
fn a_single_shard_is_as_slow_as_its_own_limit() {
    // 15 syncs a second, for which it takes 7.5 of 100 cores.
    let taken = applied_in_s("shards: 1, cpu: 100, cpuPerSync: 0.5 s");
    assert!(
        (400.0 / 15.0..400.0 / 15.0 + 2.5).contains(&taken),
        "{taken}"
    );
}

#[test]
fn cores_that_are_not_used_up_change_nothing() {
    let run = |controller: &str| first_run(&[("experiment.yaml", &experiment(controller))]);
    assert_eq!(run("shards: 4"), run("shards: 4, cpu: 40"));
    assert_ne!(run("shards: 4"), run("shards: 4, cpu: 20"));
}

#[test]
fn the_cause_and_the_explanation_name_the_cores() {
    let controller = "shards: 10, cpu: 4, cpuPerSync: 0.5 s";
    let home = folder_with(&[("cores.yaml", &experiment(controller))]);
    let printed = |command: &[&str]| {
        let out = fleetsim(home.path())
            .args(command)
            .output()
            .expect("it runs");
        let words = text(&out.stdout) + &text(&out.stderr);
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let run = printed(&["run", "cores.yaml", "--out", "out"]);
    assert!(run.contains("bound Argo CD's shared cores: "), "{run}");
    let explained = printed(&["explain", "cores.yaml"]);
    let line = "the shards share 4 cores: at most 8.0 syncs a second, so 400 applications take at least 50 s";
    assert!(explained.contains(line), "{explained}");
}

#[test]
fn the_work_of_a_sync_needs_cores_to_share() {
    let home = folder_with(&[("experiment.yaml", &experiment("cpuPerSync: 0.5 s"))]);
    let error = load(home.path(), &Overrides::default()).expect_err("it has no effect");
    let error = error.render(false);
    assert!(
        error.contains("`cpuPerSync` has no effect without `cpu`"),
        "{error}"
    );
}
