//! The answer to typical questions: the verdict and the lines that a person acts on.
//!
//! Each experiment states the constants of its world that decide, so a new model version does not move the answer.

use super::common::{fleetsim, folder_with, text};

/// Returns the output of `run` for an experiment, as one line. The exit code may be that of an exceeded limit.
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
fn a_limit_on_requests_is_named_and_more_concurrent_updates_are_slower() {
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
    assert_says(
        &answer,
        &["answers 429", "bound the registry's request limits (2/s)"],
    );
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
fn exposure_is_reported_in_a_sentence() {
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

/// Two sites of twelve are cut off for two hours.
fn cut_off(faults: &str) -> String {
    said(&format!(
        "
name: cut-off
seed: 1
replicates: 2
horizon: 6h
fleet:
  - {{name: \"near-{{01..10}}\", nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}}
  - {{name: \"far-{{1..2}}\", labels: {{far: \"yes\"}}, nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}}
registry: {{egress: 1 Gbit/s}}
release:
  kind: update
  images: [{{name: app, manifest: {{layers: [{{size: 50 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
faults: {{{faults}}}
strategies: {{argo: {{argoCd: {{}}}}}}
assert: [completion < 5 min]
"
    ))
}

#[test]
fn an_outage_has_one_verdict_in_both_ways_of_writing() {
    let window =
        "regional: [{selector: {matchLabels: {far: \"yes\"}}, windows: [{from: 0s, for: 2h}]}]";
    for faults in [
        window,
        "offline: {share: 17%, return: 2h}, draws: stratified",
    ] {
        let answer = cut_off(faults);
        assert_says(
            &answer,
            &[
                "✗ `argo` misses the limit. ✗ completion < 5 min: never, ",
                " stalled with ",
                "(retries are used up)",
            ],
        );
    }
}

#[test]
fn a_rollout_that_stalls_in_some_runs_names_an_example() {
    let experiment = "
name: one-of-ten
seed: 1
replicates: 10
horizon: 6h
fleet: [{name: \"box-{01..10}\", nodes: 1, downlink: 50 Mbit/s, rtt: 20 ms}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 60 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
faults: {offline: {share: 10%}}
strategies:
  one: {rancherFleet: {maxUnavailable: 10%}}
";
    let answer = said(experiment);
    assert!(answer.starts_with("✗ `one` completes in "), "{answer}");
    assert_says(
        &answer,
        &[
            " of 10 runs stalled with ",
            "; in run ",
            " is unavailable, ",
            " offline)",
        ],
    );
    let answer = said(&format!(
        "{experiment}  two: {{rancherFleet: {{maxUnavailable: 3}}}}\n"
    ));
    assert_says(
        &answer,
        &[
            "one: ",
            " runs stalled, blocked by maxUnavailable; for example run ",
        ],
    );
}

#[test]
fn one_late_device_does_not_hide_the_others() {
    let answer = said(
        "
name: late
seed: 1
replicates: 2
horizon: 6h
fleet:
  - {name: \"box-{1..9}\", nodes: 1, downlink: 50 Mbit/s, rtt: 20 ms}
  - {name: far, nodes: 1, downlink: 50 Mbit/s, rtt: 20 ms, region: lab}
regions: [{name: lab, bandwidth: 1 Gbit/s}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 60 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
faults: {regional: [{region: lab, windows: [{from: 0s, for: 3h}]}]}
strategies:
  all: {rancherFleet: {}}
  two: {rancherFleet: {maxUnavailable: 2}}
",
    );
    assert_says(
        &answer,
        &[
            "`all` is the fastest for 9 of 10 clusters: ",
            "all 10 clusters ready in 3.0",
            ", the last is for example far",
            "bound outages of sites: 3.00 of 3.01 h",
        ],
    );
}

#[test]
fn an_outage_of_the_registry_is_named() {
    let answer = said(
        "
name: outage
seed: 1
replicates: 2
horizon: 6h
fleet: [{name: \"n-{01..10}\", nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 10 Gbit/s, windows: [{from: 0 s, for: 4 min, down: true}]}
release:
  kind: initial
  images: [{name: app, manifest: {layers: [{size: 50 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {all: {allAtOnce: {}}}
",
    );
    assert_says(
        &answer,
        &["requests timed out", "bound outages of the registry: 4."],
    );
}

#[test]
fn a_link_that_offices_use_too_has_no_room() {
    let answer = said(
        "
name: offices
seed: 1
replicates: 2
fleet: [{name: \"s-{01..80}\", nodes: 1, downlink: 50 Mbit/s, rtt: 20 ms}]
registry: {egress: 200 Mbit/s, otherLoad: {constant: 100 Mbit/s}}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {git: {rancherFleet: {}}}
sweep: {strategies.git.rancherFleet.maxUnavailable: [10%, 100%]}
",
    );
    assert_says(
        &answer,
        &[
            "No setting leaves room on the registry's link; ",
            "busiest minute 200 of 200 Mbit/s with other load; link full for ",
        ],
    );
}

#[test]
fn a_small_image_behind_a_large_one_is_the_answer() {
    let answer = said(
        "
name: serial
seed: 1
replicates: 2
horizon: 6h
fleet: [{name: \"node-{1..4}\", nodes: 1, downlink: 1 Gbit/s, rtt: 10 ms}]
registry: {egress: 100 Gbit/s}
release:
  kind: initial
  images:
    - {name: model, manifest: {layers: [{size: 3 GB}, {size: 3 GB}]}, compressionRatio: 1}
    - {name: logger, manifest: {layers: [{size: 60 MB}]}}
  workloads: [{kind: DaemonSet, image: model}, {kind: DaemonSet, image: logger}]
strategies: {all: {allAtOnce: {}}}
sweep: {node.serializeImagePulls: [true, false]}
",
    );
    assert_says(
        &answer,
        &[
            "Use `serializeImagePulls=false`: ",
            "logger is ready after ",
            " instead of ",
        ],
    );
}

#[test]
fn caches_and_mirrors_are_compared_in_one_sentence() {
    let answer = said(
        "
name: mitigations
seed: 1
replicates: 2
horizon: 24h
fleet:
  - {name: \"a-{01..20}\", nodes: 3, downlink: 50 Mbit/s, rtt: 20 ms, region: a}
  - {name: \"b-{01..20}\", nodes: 3, downlink: 50 Mbit/s, rtt: 20 ms, region: b}
regions: [{name: a, bandwidth: 10 Gbit/s}, {name: b, bandwidth: 10 Gbit/s}]
registry: {egress: 200 Mbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: DaemonSet, image: app}]
strategies: {git: {rancherFleet: {}}}
sweep:
  strategies.git.rancherFleet.maxUnavailable: [25%, 100%]
  distribution: [{direct: {}}, {cache: {per: cluster, coalesce: wait}}, {cache: {per: region, coalesce: wait}}]
",
    );
    assert_eq!(answer.matches("Use `").count(), 1, "{answer}");
    assert_says(
        &answer,
        &[
            "Use `cache(per=region, coalesce=wait)`: all 40 clusters are ready after ",
            "and the registry sends 0.2 instead of 12 GB",
            "Each choice has its best setting.",
            "else `cache(per=cluster, coalesce=wait)`: ",
        ],
    );
}

#[test]
fn applications_that_run_the_bad_commit_do_not_count_as_waiting() {
    let answer = said(
        "
name: commit
seed: 1
replicates: 1
horizon: 6h
fleet:
  - {name: z-dev, labels: {env: dev}, nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}
  - {name: \"a-prod-{1..6}\", labels: {env: prod}, nodes: 1, downlink: 100 Mbit/s, rtt: 20 ms}
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 60 MB}]}}]
  workloads: [{kind: Deployment, image: app, readiness: {period: 10 s}}]
faults: {defect: {share: 100%, kind: unready}}
strategies:
  commit:
    argoCd:
      version: \"3.5\"
      release: commit
      strategy:
        type: RollingSync
        rollingSync:
          steps:
            - {matchExpressions: [{key: env, operator: In, values: [dev]}]}
            - {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 1}
",
    );
    let exposed: u32 = number_after(&answer, "defective revision: ");
    let waiting: u32 = number_after(&answer, "operation Succeeded; ");
    assert_eq!(exposed + waiting, 7, "{answer}");
}

/// The number after some words of an answer.
fn number_after(answer: &str, words: &str) -> u32 {
    let (_, rest) = answer.split_once(words).expect(words);
    let number = rest.split(' ').next().expect("a number");
    number
        .parse()
        .unwrap_or_else(|_| panic!("{number}: {answer}"))
}
