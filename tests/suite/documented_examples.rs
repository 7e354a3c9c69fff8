//! The examples of Rancher Fleet's rollout document, in complete simulations: the documented behaviour (rules
//! `documented`) and the behaviour of the code (rules `shipped`), for first deployments and for updates.
//!
//! Document: SUSE Rancher Prime Continuous Delivery, "Rollout Strategy". Code: rancher/fleet at 3b2c622.

use std::collections::BTreeMap;

use fleetsim::results::{RunOutcome, RunRecord};

use super::common::{first_run, peak_in_flight};

/// Simulates a rollout to `clusters` clusters, one in ten of them labelled `stage: demoRollout` and `env: staging`,
/// the others `stage: stable` and `env: prod`. Every cluster takes about the same time, so that waves stay apart.
fn run(clusters: usize, release: &str, rules: &str, strategy: &str) -> RunRecord {
    let few = clusters / 10;
    let text = format!(
        r#"
name: documented-example
question: What does the document promise?
seed: 1
replicates: 1
horizon: 12h
fleet:
  - {{name: "a-{{001..{few:03}}}", labels: {{stage: demoRollout, env: staging}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
  - {{name: "b-{{001..{rest:03}}}", labels: {{stage: stable, env: prod}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
registry: {{egress: 1000 Gbit/s}}
release:
  kind: {release}
  images: [{{name: shop, manifest: shop.json}}]
  workloads: [{{kind: Deployment, image: shop, replicas: 1, start: 4 s, readiness: {{period: 10 s}}}}]
controller: {{request: 5 ms}}
strategies:
  example: {{rancherFleet: {{rules: {rules}, {strategy}}}}}
"#,
        rest = clusters - few,
    );
    let digest = "a".repeat(64);
    let manifest = format!(
        r#"{{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {{"digest": "sha256:{digest}", "size": 8000}},
            "layers": [{{"digest": "sha256:{digest}", "size": 100000000}}]}}"#
    );
    first_run(&[("experiment.yaml", &text), ("shop.json", &manifest)])
}

/// Number of clusters instructed before any cluster was ready.
pub(super) fn told_blindly(run: &RunRecord) -> usize {
    let first_ready = run
        .clusters
        .iter()
        .filter_map(|cluster| cluster.ready_s)
        .fold(f64::INFINITY, f64::min);
    run.clusters
        .iter()
        .filter(|cluster| cluster.instructed_s.is_some_and(|told| told < first_ready))
        .count()
}

/// Number of clusters instructed in the first pass that instructs any cluster.
fn first_pass(run: &RunRecord) -> u64 {
    run.passes
        .iter()
        .map(|pass| pass.promoted)
        .find(|promoted| *promoted > 0)
        .unwrap_or(0)
}

/// The stages (partitions) with the number of their clusters.
fn stages(run: &RunRecord) -> BTreeMap<&str, usize> {
    let mut stages = BTreeMap::new();
    for cluster in &run.clusters {
        *stages.entry(cluster.stage.as_str()).or_default() += 1;
    }
    stages
}

/// The facts of a run: clusters instructed in the first pass, clusters instructed before any cluster was ready,
/// maximum number of clusters in flight, and outcome.
type Facts = (u64, usize, usize, RunOutcome);

fn facts(run: &RunRecord) -> Facts {
    (
        first_pass(run),
        told_blindly(run),
        peak_in_flight(&run.clusters),
        run.run.outcome,
    )
}

const MANUAL: &str = "partitions: [
      {name: demoRollout, clusterSelector: {matchLabels: {stage: demoRollout}}},
      {name: stable, clusterSelector: {matchLabels: {stage: stable}}}]";

/// An example: clusters, strategy, and the facts for (initial, update) by (documented, shipped) rules.
struct Example {
    says: &'static str,
    clusters: usize,
    strategy: String,
    documented: [Facts; 2],
    shipped: [Facts; 2],
}

fn examples() -> Vec<Example> {
    use RunOutcome::{Complete, Stalled};
    vec![
        Example {
            says: "50 clusters, maxUnavailable 10 %: all 50 at once",
            clusters: 50,
            strategy: "maxUnavailable: 10%".to_owned(),
            documented: [(50, 50, 50, Complete), (50, 50, 50, Complete)],
            // An update promotes at most as many clusters as may be unavailable.
            shipped: [(50, 50, 50, Complete), (5, 5, 5, Complete)],
        },
        Example {
            says: "100 clusters, maxUnavailable 10 %: 50 at once, the other 50 when at most 10 are NotReady",
            clusters: 100,
            strategy: "maxUnavailable: 10%".to_owned(),
            documented: [(50, 50, 60, Complete), (50, 50, 60, Complete)],
            // The second pass creates the other 50 deployments although no cluster is ready.
            shipped: [(50, 100, 100, Complete), (10, 10, 10, Complete)],
        },
        Example {
            says: "a partition of 25, maxUnavailable 5: all 25, then check",
            clusters: 25,
            strategy: "maxUnavailable: 5".to_owned(),
            documented: [(25, 25, 25, Complete), (25, 25, 25, Complete)],
            shipped: [(25, 25, 25, Complete), (5, 5, 5, Complete)],
        },
        Example {
            says: "a partition of 100, maxUnavailable 5: 50, check, the other 50",
            clusters: 100,
            strategy: "maxUnavailable: 5".to_owned(),
            documented: [(50, 50, 55, Complete), (50, 50, 55, Complete)],
            shipped: [(50, 100, 100, Complete), (5, 5, 5, Complete)],
        },
        Example {
            says: "200 clusters, maxUnavailablePartitions 1, partitions of 10 %: about 40 pulls at a time",
            clusters: 200,
            strategy: "maxUnavailablePartitions: 1, autoPartitionSize: 10%".to_owned(),
            documented: [(40, 40, 40, Complete), (40, 40, 40, Complete)],
            // The default maxUnavailable of 100 % never makes a partition NotReady.
            shipped: [(50, 200, 200, Complete), (200, 200, 200, Complete)],
        },
        Example {
            says: "the same with maxUnavailable 0",
            clusters: 200,
            strategy: "maxUnavailable: 0, maxUnavailablePartitions: 1, autoPartitionSize: 10%"
                .to_owned(),
            documented: [(40, 40, 40, Complete), (40, 40, 40, Complete)],
            // An update of available clusters is never allowed, so the rollout stalls.
            shipped: [(40, 40, 40, Complete), (0, 0, 0, Stalled)],
        },
        Example {
            says: "5 partitions of 40, 10 %: 40 at once, the next partition when at most 4 are NotReady",
            clusters: 200,
            strategy: "maxUnavailable: 10%, autoPartitionSize: 20%".to_owned(),
            documented: [(40, 40, 44, Complete), (40, 40, 44, Complete)],
            shipped: [(40, 40, 44, Complete), (4, 4, 8, Complete)],
        },
        Example {
            says: "strict: maxUnavailable 0 and manual partitions, all ready before the next partition",
            clusters: 200,
            strategy: format!("maxUnavailable: 0, maxUnavailablePartitions: 0, {MANUAL}"),
            documented: [(20, 20, 50, Complete), (20, 20, 50, Complete)],
            // Inside the partition of 180 the passes follow each other without waiting.
            shipped: [(20, 20, 180, Complete), (0, 0, 0, Stalled)],
        },
        Example {
            says: "the defaults go through all partitions whatever the readiness",
            clusters: 200,
            strategy: String::new(),
            documented: [(200, 200, 200, Complete), (200, 200, 200, Complete)],
            shipped: [(50, 200, 200, Complete), (200, 200, 200, Complete)],
        },
    ]
}

#[test]
fn whole_simulations_reproduce_the_documented_examples() {
    let mut problems = Vec::new();
    for example in examples() {
        for (rules, expected) in [
            ("documented", example.documented),
            ("shipped", example.shipped),
        ] {
            for (release, expected) in ["initial", "update"].into_iter().zip(expected) {
                let run = run(example.clusters, release, rules, &example.strategy);
                let (first, blind, peak, outcome) = facts(&run);
                // Waves may overlap within the limits, so the maximum need not be reached.
                let agrees = first == expected.0
                    && blind == expected.1
                    && outcome == expected.3
                    && (expected.1.min(expected.2)..=expected.2).contains(&peak);
                if !agrees {
                    problems.push(format!(
                        "{}, {rules}, {release}: {:?}, expected {expected:?}; {}",
                        example.says,
                        (first, blind, peak, outcome),
                        run.run.held()
                    ));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn partitions_have_the_documented_sizes() {
    let auto = |count: usize, size: usize| {
        let mut expected = BTreeMap::new();
        for start in (0..count).step_by(size) {
            expected.insert(
                format!("Partition {start} - {}", (start + size).min(count)),
                size.min(count - start),
            );
        }
        expected
    };
    let all = |count: usize| BTreeMap::from([("All".to_owned(), count)]);
    let cases = [
        // clusters, strategy, partitions, the document's statement
        (
            230,
            "autoPartitionSize: 25%",
            auto(230, 57),
            "four of 57 and one of 2",
        ),
        (200, "", auto(200, 50), "four of 50 by default"),
        (199, "", all(199), "one below the threshold of 200"),
        (
            50,
            "autoPartitionThreshold: 50, autoPartitionSize: 50%",
            auto(50, 25),
            "two of 25",
        ),
        (
            500,
            "autoPartitionThreshold: 0",
            all(500),
            "0 switches automatic partitions off",
        ),
        (
            200,
            "maxUnavailablePartitions: 1, autoPartitionSize: 10%",
            auto(200, 20),
            "ten of 20",
        ),
    ];
    for (clusters, strategy, expected, why) in cases {
        for rules in ["documented", "shipped"] {
            let run = run(clusters, "initial", rules, strategy);
            let found: BTreeMap<String, usize> = stages(&run)
                .into_iter()
                .map(|(name, count)| (name.to_owned(), count))
                .collect();
            assert_eq!(found, expected, "{why}, {rules}");
        }
    }
}

#[test]
fn clusters_in_no_partition_are_left_out_and_block_only_the_shipped_rollout() {
    let staging = "partitions: [
      {name: demoRollout, maxUnavailable: 10%, clusterSelector: {matchLabels: {env: staging}}}]";
    let documented = run(50, "initial", "documented", staging);
    let found = (documented.run.outcome, documented.run.targets);
    assert_eq!(found, (RunOutcome::Complete, 5), "complete without them");
    let shipped = run(50, "initial", "shipped", staging);
    let found = (shipped.run.outcome, shipped.run.targets_done);
    assert_eq!(found, (RunOutcome::Stalled, 5), "staging alone");
    assert!(shipped.run.held().contains("45"), "{}", shipped.run.held());
}

#[test]
fn the_next_partition_begins_only_when_the_one_before_is_ready_enough() {
    for rules in ["documented", "shipped"] {
        let run = run(
            200,
            "initial",
            rules,
            "maxUnavailable: 10%, autoPartitionSize: 20%",
        );
        let mut partitions: BTreeMap<usize, (f64, Vec<f64>)> = BTreeMap::new();
        for cluster in &run.clusters {
            // "Partition 40 - 80" is the second of 40 clusters each.
            let first: usize = cluster
                .stage
                .split(' ')
                .nth(1)
                .and_then(|n| n.parse().ok())
                .expect("a partition");
            let entry = partitions
                .entry(first / 40)
                .or_insert((f64::INFINITY, Vec::new()));
            entry.0 = entry
                .0
                .min(cluster.instructed_s.expect("every cluster was told"));
            entry
                .1
                .push(cluster.ready_s.expect("every cluster became ready"));
        }
        assert_eq!(partitions.len(), 5);
        for next in 1..5 {
            let begins = partitions[&next].0;
            let behind = partitions[&(next - 1)]
                .1
                .iter()
                .filter(|ready| **ready > begins)
                .count();
            assert!(
                behind <= 4,
                "{rules}: partition {next} began with {behind} of the one before not ready"
            );
        }
    }
}

/// The duration of a pass is computed by hand: 20 ms, plus 50 us per target and 5 ms per write; `createBundle` of
/// rancher/fleet's `reconciler/bundle_controller.go` writes a deployment once with all decisions about it.
#[test]
fn a_pass_stages_and_promotes_a_cluster_in_one_write_and_writes_by_name() {
    for (release, limit, told) in [
        ("update", "100%", 100),
        ("update", "10%", 10),
        ("initial", "100%", 50),
    ] {
        let run = run(
            100,
            release,
            "shipped",
            &format!("maxUnavailable: {limit}, autoPartitionThreshold: 1000"),
        );
        // An update stages all clusters, and instructs as many as may be unavailable; a first deployment creates
        // `maxNew` and instructs them.
        let written = if release == "update" { 100 } else { 50 };
        // The writes are the finalizer, the content and the Secret of a new bundle, a write for each deployment, and
        // the bundle's status.
        let finalizer = if release == "update" { 0 } else { 3 };
        let duration = f64::from(finalizer + 1 + 2 * written + 1) * 0.005;
        assert!(
            (run.passes[0].duration_s - duration).abs() < 1e-9,
            "{release}, {limit}: {:?}",
            run.passes[0]
        );
        assert_eq!(run.passes[0].promoted, told);
        for (place, cluster) in run.clusters.iter().take(told as usize).enumerate() {
            let at = (finalizer as usize + 1 + 2 * (place + 1)) as f64 * 0.005;
            assert!(
                (cluster.instructed_s.expect("told") - at).abs() < 1e-9,
                "{release}, {limit}: {cluster:?}"
            );
        }
    }
}
