//! What holds rollouts of common kinds back: the resource that the answer names after its trials.
//!
//! Each world has the model's own delays beside the limit that it is about, so the limit must stand out from them.

use super::common::{fleetsim, folder_with, text};

/// A situation, and the start of the words in its answer's line `bound`.
struct Situation {
    /// The settings of the experiment after its name and seed.
    settings: &'static str,
    bound: &'static str,
}

/// An image with one layer of 100 MB, pulled by one pod in each cluster.
const RELEASE: &str = "
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
";

const ALL_AT_ONCE: &str = "
strategies: {all: {allAtOnce: {}}}
";

/// Returns the text of a situation's line `bound`.
fn bound(situation: &Situation) -> String {
    let mut experiment = format!(
        "name: situation\nseed: 1\nreplicates: 1\n{}",
        situation.settings
    );
    if !experiment.contains("\nrelease:") {
        experiment.push_str(RELEASE);
    }
    if !experiment.contains("\nstrategies:") {
        experiment.push_str(ALL_AT_ONCE);
    }
    let home = folder_with(&[("situation.yaml", &experiment)]);
    let out = fleetsim(home.path())
        .args(["run", "situation.yaml", "--out", "out"])
        .output()
        .expect("it runs");
    let printed = text(&out.stdout);
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, after) = words
        .split_once(" bound ")
        .unwrap_or_else(|| panic!("no line `bound`: {printed}{}", text(&out.stderr)));
    after.split(" else ").next().unwrap_or_default().to_owned()
}

#[test]
fn the_limit_of_each_kind_of_situation_is_named() {
    let situations = [
        Situation {
            settings: "
horizon: 24h
fleet: [{name: shop, nodes: 60, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 10 Gbit/s, pullQuota: {pulls: 20, per: 1 h}}
release:
  kind: initial
  images: [{name: app, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: DaemonSet, image: app}]
",
            bound: "the pull quota (20 pulls in 1 h",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{001..200}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 10 Gbit/s, requests: {rate: 120/min, burst: 20}}
",
            bound: "the registry's request limits (2/s)",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{01..50}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms, region: island}]
regions: [{name: island, bandwidth: 50 Mbit/s}]
",
            bound: "the regions' links (50 Mbit/s): 1",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{001..300}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 500 Mbit/s}
",
            bound: "the registry's link (500 Mbit/s): 7",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{01..20}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 10 Gbit/s, windows: [{from: 0 s, for: 15 min, down: true}]}
",
            bound: "outages of the registry: 15",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{01..20}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
node: {registryPullQPS: 1, registryBurst: 1}
release:
  kind: update
  images:
    - {name: a, manifest: {layers: [{size: 1 MB}]}}
    - {name: b, manifest: {layers: [{size: 1 MB}]}}
    - {name: c, manifest: {layers: [{size: 1 MB}]}}
    - {name: d, manifest: {layers: [{size: 1 MB}]}}
  workloads:
    - {kind: Deployment, image: a}
    - {kind: Deployment, image: b}
    - {kind: Deployment, image: c}
    - {kind: Deployment, image: d}
",
            bound: "the kubelet's pull limits: ",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{001..100}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms, region: north}]
regions: [{name: north, bandwidth: 40 Gbit/s}]
mirrors: [{name: m, region: north, egress: 100 Mbit/s}]
",
            bound: "the mirrors' links: 13",
        },
        Situation {
            settings: "
fleet: [{name: van, nodes: 1, downlink: 4 Mbit/s, rtt: 60 ms}]
",
            bound: "the sites' downlinks: 3",
        },
        Situation {
            settings: "
fleet: [{name: big, nodes: 40, downlink: 10 Gbit/s, rtt: 5 ms}]
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: DaemonSet, image: app, maxUnavailable: 1}]
",
            bound: "the workloads' rolling updates: ",
        },
        Situation {
            settings: "
fleet: [{name: 'app-{001..400}', nodes: 1, downlink: 1 Gbit/s, rtt: 5 ms}]
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 1 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {argo: {argoCd: {applicationController: {clientQps: 10}}}}
",
            bound: "Argo CD's application controller: ",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{01..20}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
registry: {egress: 1 Gbit/s, otherLoad: {constant: 995 Mbit/s}}
",
            bound: "other load on the registry: ",
        },
        Situation {
            settings: "
fleet: [{name: 'c-{01..20}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}]
node: {disk: {class: none}}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 100 MB, uncompressed: 9 GB}]}}]
  workloads: [{kind: Deployment, image: app}]
",
            bound: "unpacking: ",
        },
        Situation {
            settings: "
fleet:
  - {name: canary, nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms, labels: {stage: canary}}
  - {name: 'c-{01..19}', nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms, labels: {stage: rest}}
strategies:
  hub:
    kubeFleetStaged:
      approvals: {after: 40 min}
      stages:
        - {name: canary, labelSelector: {matchLabels: {stage: canary}}, afterStageTasks: [{type: Approval}]}
        - {name: rest, labelSelector: {matchLabels: {stage: rest}}, maxConcurrency: 100%}
",
            bound: "people: 39.6 of ",
        },
    ];
    let mut wrong = Vec::new();
    for situation in &situations {
        let found = bound(situation);
        if !found.starts_with(situation.bound) {
            wrong.push(format!("{} is not {found}", situation.bound));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
