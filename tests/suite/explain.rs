//! `fleetsim explain`: what a release needs compared with the limits of each resource, and the rules of each product.

use super::common::{fleetsim, folder_with, text};

/// Returns the output of `explain` for an experiment.
fn explained(experiment: &str) -> String {
    let home = folder_with(&[("experiment.yaml", experiment)]);
    let output = fleetsim(home.path())
        .args(["explain", "."])
        .assert()
        .success();
    text(&output.get_output().stdout)
}

/// Returns the first row of the first table of needs, without the spaces between its columns.
fn first_need(experiment: &str) -> String {
    let printed = explained(experiment);
    let mut lines = printed
        .lines()
        .skip_while(|line| !line.starts_with("needs against limits"));
    let row = lines.nth(2).unwrap_or_else(|| panic!("no need: {printed}"));
    let cells: Vec<&str> = row.split("  ").map(str::trim).collect();
    let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
    cells.join(" | ")
}

#[test]
fn the_resource_that_needs_the_most_time_comes_first() {
    let vans = "
name: vans
fleet: [{name: 'van-{001..500}', nodes: 1, downlink: 5 Mbit/s, rtt: 80 ms}]
registry: {egress: 10 Gbit/s}
release:
  images: [{name: app, manifest: {layers: [{digest: base, size: 500 MB}, {size: 400 MB}]},
            previous: {layers: [{digest: base, size: 500 MB}, {digest: old, size: 400 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {fleet: {rancherFleet: {}}}
";
    let need = first_need(vans);
    assert!(
        need.starts_with("downlink of van-001 and 499 alike | 400 MB | 5 Mbit/s | 10 min 40 s"),
        "{need}"
    );
    let region = "
name: crossing
fleet: [{name: home, nodes: 5, region: lan, downlink: 1 Gbit/s}]
regions: [{name: lan, bandwidth: 16 Mbit/s}]
registry: {egress: 1 Gbit/s}
release:
  kind: initial
  images: [{name: app, manifest: {layers: [{size: 600 MB}]}}]
  workloads: [{kind: DaemonSet, image: app}]
strategies: {all: {allAtOnce: {}}}
";
    let need = first_need(region);
    assert!(
        need.starts_with("link of region lan | 3 GB | 16 Mbit/s | 25 min"),
        "{need}"
    );
    let quota = "
name: hub
fleet: [{name: prod, nodes: 30, downlink: 1 Gbit/s}]
registry: {preset: docker-hub-signed-in}
release:
  images: [{name: 'a', manifest: {layers: [{size: 1 MB}]}}, {name: 'b', manifest: {layers: [{size: 1 MB}]}},
           {name: 'c', manifest: {layers: [{size: 1 MB}]}}, {name: 'd', manifest: {layers: [{size: 1 MB}]}},
           {name: 'e', manifest: {layers: [{size: 1 MB}]}}, {name: 'f', manifest: {layers: [{size: 1 MB}]}},
           {name: 'g', manifest: {layers: [{size: 1 MB}]}}, {name: 'h', manifest: {layers: [{size: 1 MB}]}}]
  workloads:
    - {kind: DaemonSet, image: a}
    - {kind: DaemonSet, image: b}
    - {kind: DaemonSet, image: c}
    - {kind: DaemonSet, image: d}
    - {kind: DaemonSet, image: e}
    - {kind: DaemonSet, image: f}
    - {kind: DaemonSet, image: g}
    - {kind: DaemonSet, image: h}
strategies: {all: {allAtOnce: {}}}
";
    // There are 240 pulls, and the quota allows 200 in 6 h.
    let need = first_need(quota);
    assert!(
        need.starts_with("registry, pull quota | 240 pulls | 200 pulls in 6 h"),
        "{need}"
    );
}

#[test]
fn first_deployments_are_not_held_back_by_max_unavailable() {
    let experiment = |kind: &str| {
        format!(
            "
name: first
fleet: [{{name: 'c-{{001..100}}', nodes: 1}}]
release:
  kind: {kind}
  images: [{{name: app, manifest: {{layers: [{{size: 60 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies: {{stock: {{rancherFleet: {{maxUnavailable: 2}}}}}}
"
        )
    };
    let words = "first deployments: 100 of 100 clusters run nothing yet, and maxUnavailable does not limit them; \
                 each pass creates up to 50";
    assert!(explained(&experiment("initial")).contains(words));
    assert!(!explained(&experiment("update")).contains("first deployments: "));
}

#[test]
fn an_empty_stage_is_explained_by_version() {
    let experiment = |version: &str| {
        format!(
            "
name: stages
fleet: [{{name: 'm-{{1..3}}', labels: {{region: east}}, nodes: 1}}]
release:
  images: [{{name: app, manifest: {{layers: [{{size: 50 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies:
  staged:
    kubeFleetStaged:
      version: {version}
      stages:
        - {{name: nobody, labelSelector: {{matchLabels: {{region: west}}}},
           afterStageTasks: [{{type: TimedWait, waitTime: 1h}}]}}
        - {{name: all, labelSelector: {{matchLabels: {{region: east}}}}, maxConcurrency: 3}}
"
        )
    };
    let waits = "KubeFleet 0.3 nevertheless waits for its tasks: TimedWait 1h after it";
    assert!(explained(&experiment("\"0.3\"")).contains(waits));
    let main = explained(&experiment("main"));
    assert!(main.contains("stage `nobody` selects no cluster; its tasks are skipped"));
}

/// Five pods need three nodes with room for two.
#[test]
fn a_cluster_with_autoscaling_has_the_nodes_with_which_its_run_starts() {
    let experiment = |kind: &str| {
        format!(
            "
name: scaling
fleet: [{{name: a, autoscaling: {{minNodes: 0, maxNodes: 4, podsPerNode: 2}}}}]
release:
  kind: {kind}
  images: [{{name: app, manifest: {{layers: [{{size: 100 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app, replicas: 5}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
"
        )
    };
    let update = explained(&experiment("update"));
    assert!(update.contains(", 3 nodes; registry egress"), "{update}");
    assert!(
        update.contains("if every node pulls once: 300 MB"),
        "{update}"
    );
    let initial = explained(&experiment("initial"));
    assert!(initial.contains(", 0 nodes; registry egress"), "{initial}");
    assert!(
        initial.contains("if every node pulls once: 300 MB"),
        "{initial}"
    );
}

#[test]
fn later_releases_and_the_rules_of_people_are_explained_in_words() {
    let printed = explained(
        "
name: way-back
horizon: 12h
fleet: [{name: 'c-{01..10}', nodes: 1}]
release:
  images:
    - name: shop
      manifest: {layers: [{digest: base, size: 100 MB}, {size: 40 MB}]}
      previous: {layers: [{digest: base, size: 100 MB}, {size: 30 MB}]}
  workloads: [{kind: Deployment, image: shop}]
releases:
  - {at: 10 min}
  - {at: 1h, images: [{name: shop, manifest: {layers: [{digest: base, size: 100 MB}, {size: 50 MB}]}}]}
  - {at: 2h}
  - {at: 3h, rollback: true}
operator:
  - {when: failed > 10%, within: {median: 20 min, sigma: 0.5}, then: rollback}
  - {when: stalled > 30 min, within: 5 min, then: pause}
  - when: exposed > 1
    within: 1h
    then: fixForward
    images: [{name: shop, manifest: {layers: [{size: 1 MB}]}}]
strategies: {fleet: {rancherFleet: {}}}
",
    );
    for line in [
        "  these are the needs of the first releases only",
        "release 2 at 1 h 00 min: content 2; 50 MB of it new to a node that runs content 1",
        "release 3 at 2 h 00 min: content 3; 0 B of it new to a node that runs content 2",
        "release 4 at 3 h 00 min: content 2; 0 B of it new to a node that runs content 3",
        "people: when more than 10% of the targets fail, they release the content before it again, a median of \
         20 min 00 s, sigma 0.5 later",
        "people: when no target gets ready for 30 min 00 s, they pause its rollout, 5 min 00 s later",
        "people: when more than 1 target have a defective revision, they release content 4, 1 h 00 min later",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line}\n{printed}"
        );
    }
}
