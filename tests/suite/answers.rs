//! The answer to typical questions: the verdict and the lines that a person acts on.
//!
//! Each experiment states the constants of its world that decide, so a new model version does not move the answer.

use super::common::{fleetsim, folder_with, text};

/// What `run` prints for an experiment, as one line. The exit code may be that of a missed limit.
fn said(experiment: &str) -> String {
    let home = folder_with(&[("question.yaml", experiment)]);
    let out = fleetsim(home.path())
        .args(["run", "question.yaml", "--out", "out"])
        .output()
        .expect("it runs");
    let printed = text(&out.stdout);
    assert!(!printed.is_empty(), "{}", text(&out.stderr));
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fails unless an answer contains all these texts.
fn assert_says(answer: &str, texts: &[&str]) {
    for expected in texts {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
}

#[test]
fn a_strategy_that_gives_up_on_sites_is_not_praised() {
    let answer = said(
        "
name: sites
seed: 1
replicates: 2
horizon: 6h
fleet:
  - {name: \"near-{1..7}\", nodes: 1, downlink: 100 Mbit/s}
  - {name: \"far-{1..2}\", labels: {far: \"yes\"}, nodes: 1, downlink: 100 Mbit/s}
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 50 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
faults: {regional: [{selector: {matchLabels: {far: \"yes\"}}, windows: [{from: 0s, for: 2h}]}]}
strategies:
  argo: {argoCd: {}}
  fleet: {rancherFleet: {}}
",
    );
    assert_says(&answer, &["`argo`: no run completes, up to 2 stay behind"]);
    assert!(!answer.starts_with("`argo`"), "{answer}");
}

#[test]
fn a_limit_of_requests_is_named_and_more_at_once_is_slower() {
    let answer = said(
        "
name: requests
seed: 1
replicates: 2
horizon: 12h
fleet: [{name: \"c-{01..60}\", nodes: 3, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 10 Gbit/s, requests: {rate: 2/s, burst: 20}}
release:
  kind: initial
  images: [{name: app, manifest: {layers: [{size: 5 MB}]}}]
  workloads: [{kind: Deployment, image: app, replicas: 3}]
strategies: {all: {allAtOnce: {}}}
",
    );
    assert_says(&answer, &["answers 429", "wait after HTTP 429"]);
    assert!(!answer.contains("leaves room"), "{answer}");
}

#[test]
fn the_full_link_of_a_region_is_named_and_choices_are_compared() {
    let answer = said(
        "
name: crossing
seed: 1
replicates: 2
horizon: 12h
fleet: [{name: home, nodes: 5, region: lan, downlink: 1 Gbit/s, rtt: 2 ms}]
regions: [{name: lan, bandwidth: 16 Mbit/s}]
registry: {egress: 1 Gbit/s}
release:
  kind: initial
  images: [{name: app, manifest: {layers: [{size: 300 MB}]}}]
  workloads: [{kind: DaemonSet, image: app}]
strategies: {all: {allAtOnce: {}}}
sweep: {distribution: [{direct: {}}, {cache: {per: region, coalesce: stream}}]}
",
    );
    assert_says(
        &answer,
        &[
            "Use `cache(per=region, coalesce=stream)`: the cluster is ready after 2.",
            "the registry sends 0.3 instead of 1.5 GB",
            "link of region lan (16 Mbit/s) full for 2.",
        ],
    );
}

#[test]
fn each_limit_has_its_own_mark() {
    let answer = said(
        "
name: limits
seed: 1
replicates: 2
horizon: 20h
fleet: [{name: \"c-{01..20}\", nodes: 1, downlink: 100 Mbit/s}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {git: {rancherFleet: {maxUnavailable: 50%}}}
assert: [registry.egress_p99 < 1 Mbit/s, completion_p95 < 20h]
",
    );
    assert_says(
        &answer,
        &[
            "✗ `git` misses 1 of 2 limits.",
            "✗ registry.egress_p99 < 1 Mbit/s: ",
            "✓ completion_p95 < 20h: ",
        ],
    );
}

#[test]
fn exposure_is_a_sentence() {
    let answer = said(
        "
name: bad
seed: 1
replicates: 2
horizon: 2h
fleet: [{name: \"c-{01..10}\", nodes: 1, downlink: 100 Mbit/s}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: DaemonSet, image: shop, readiness: {period: 10 s}}]
faults: {defect: {share: 100%, kind: unready}}
strategies: {a: {rancherFleet: {maxUnavailable: 20%}}}
",
    );
    assert_says(
        &answer,
        &[
            "`a` exposes clusters to the defective revision: 2 of 10 in every run.",
            "stops every run",
            "maxUnavailable allows 2",
            "(2 defective)",
        ],
    );
}
