//! Namespaces, owners and names decide which objects of an export are used.

use std::fs;
use std::path::Path;

use super::exports::{
    APPLICATION_SET, PLACEMENT, STAGES, applications, deployment, fleet_clusters, members,
    processes,
};
use super::{folder, json, printed, refused};
use crate::common::loaded;

/// A GitRepo of the namespace `fleet-default` with the given specification.
fn git_repo(spec: &str) -> String {
    format!(
        "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: shop, namespace: fleet-default}}\n\
         spec: {{{spec}}}\n"
    )
}

/// Cluster groups named `eu`, each with its namespace and selector.
fn groups(of: &[(&str, &str)]) -> String {
    let group = |(namespace, selector): &(&str, &str)| {
        format!(
            "- apiVersion: fleet.cattle.io/v1alpha1\n  kind: ClusterGroup\n  \
             metadata: {{name: eu, namespace: {namespace}}}\n  spec: {{selector: {selector}}}\n"
        )
    };
    format!(
        "apiVersion: v1\nkind: List\nitems:\n{}",
        of.iter().map(group).collect::<String>()
    )
}

#[test]
fn cluster_groups_of_other_namespaces_have_no_members() {
    let strategy = "rolloutStrategy: {partitions: [{name: eu, clusterGroup: eu}, {name: all, clusterSelector: {}}]}\n";
    let selector = "{matchLabels: {region: eu}}";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("other.yaml", groups(&[("other", selector)])),
        (
            "both.yaml",
            groups(&[("other", "{}"), ("fleet-default", selector)]),
        ),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let words = "import --fleet clusters.json --strategy fleet.yaml --cluster-groups";
    let other = printed(folder.path(), &format!("{words} other.yaml -o other"));
    assert!(
        other.contains("note: left out: 1 cluster group outside of fleet-default"),
        "{other}"
    );
    assert!(
        other.contains("warning: partitions[0] (`eu`) matches no cluster"),
        "{other}"
    );
    let both = printed(folder.path(), &format!("{words} both.yaml -o both"));
    assert!(!both.contains("matches no cluster"), "{both}");
    let written =
        fs::read_to_string(folder.path().join("both/clustergroups.json")).expect("written");
    assert_eq!(written.matches("\"name\": \"eu\"").count(), 1, "{written}");
}

#[test]
fn a_paused_git_repo_pauses_its_clusters() {
    let repo = git_repo("paused: true, targets: [{clusterGroup: eu}, {clusterName: store-0001}]");
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("gitrepo.yaml", repo),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --gitrepo gitrepo.yaml -o out",
    );
    assert!(
        imported.contains("note: the GitRepo is paused, so 1 cluster cannot be updated"),
        "{imported}"
    );
    let unknown = "note: the cluster group `eu` of the GitRepo's targets selects nothing: add --cluster-groups";
    assert!(imported.contains(unknown), "{imported}");
    let experiment = loaded(&folder.path().join("out"));
    let clusters = experiment.variants[0].scenario.world.clusters.iter();
    assert_eq!(
        clusters
            .map(|cluster| (&*cluster.name, cluster.paused))
            .collect::<Vec<_>>(),
        [("store-0001", true)]
    );
}

#[test]
fn an_import_asks_for_missing_cluster_groups() {
    let repo = git_repo("targets: [{clusterGroup: eu}]");
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("gitrepo.yaml", repo),
    ]);
    let (_, error) = refused(
        folder.path(),
        "import --fleet clusters.json --gitrepo gitrepo.yaml -o out",
        b"",
    );
    assert!(error.contains("--cluster-groups"), "{error}");
}

/// Argo CD's clusters of two regions, in a different order than their applications.
fn argo_clusters() -> String {
    let cluster = |(name, region): (&str, &str)| {
        serde_json::json!({"server": format!("https://{name}:6443"), "name": name,
                           "labels": {"region": region, "ring": "rest"},
                           "connectionState": {"status": "Successful"}})
    };
    json(
        &[("c1", "us"), ("c2", "eu"), ("c3", "us")]
            .map(cluster)
            .into(),
    )
}

#[test]
fn generated_applications_have_the_names_of_the_template() {
    let set = |name: &str| {
        let set = APPLICATION_SET.replace("shop-{{.name}}", name);
        set.replace(
            "{selector: {matchLabels: {argocd.argoproj.io/secret-type: cluster}}}",
            "{}",
        )
    };
    let folder = folder(&[
        ("clusters.json", argo_clusters()),
        ("set.yaml", set("{{.metadata.labels.region}}-{{.name}}")),
        ("same.yaml", set("{{.metadata.labels.region}}-shop")),
        ("other.yaml", set("{{.name | upper}}")),
    ]);
    let words = "import --clusters clusters.json --strategy";
    printed(folder.path(), &format!("{words} set.yaml -o out"));
    let explained = printed(folder.path(), "explain out");
    assert!(explained.contains("(eu-c2, us-c1, us-c3)"), "{explained}");

    let (_, error) = refused(folder.path(), &format!("{words} same.yaml -o same"), b"");
    assert!(
        error.contains("several applications would have the name `us-shop`"),
        "{error}"
    );
    assert!(error.contains(" --> same.yaml:"), "{error}");
    let other = printed(folder.path(), &format!("{words} other.yaml -o other"));
    assert!(
        other.contains("note: the name `{{.name | upper}}` cannot be computed from clusters"),
        "{other}"
    );
}

#[test]
fn applications_of_a_set_in_another_namespace_are_left_out() {
    let mut apps = applications(4);
    let mut others = apps.clone();
    for app in others.as_array_mut().expect("a list") {
        app["metadata"]["namespace"] = "team-b".into();
    }
    apps.as_array_mut()
        .expect("a list")
        .append(others.as_array_mut().expect("a list"));
    let folder = folder(&[
        ("apps.json", json(&apps)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --applications apps.json --strategy set.yaml -o out",
    );
    assert!(
        imported.contains(
            "note: left out: 8 applications belonging to other ApplicationSets or to none"
        ),
        "{imported}"
    );
    assert_eq!(
        loaded(&folder.path().join("out")).variants[0]
            .scenario
            .world
            .clusters
            .len(),
        4
    );
}

#[test]
fn an_update_run_and_a_placement_given_with_the_stages_are_used() {
    let run = |name: &str| {
        format!(
            "---\napiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterStagedUpdateRun\nmetadata: {{name: {name}}}\n\
             spec: {{placementName: shop, stagedRolloutStrategyName: by-stage, resourceSnapshotIndex: \"7\"}}\n"
        )
    };
    let placement = "---\napiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\n\
                     metadata: {name: shop}\nspec: {strategy: {type: External}, policy: {placementType: PickFixed, \
                     clusterNames: [CLUSTERS]}}\n";
    let exported = members(30);
    let mut picked = Vec::new();
    for at in [1, 2, 3] {
        let name = exported["items"][at]["metadata"]["name"].as_str();
        picked.push(name.expect("a name").to_owned());
    }
    let placement = placement.replace("CLUSTERS", &picked.join(", "));
    let folder = folder(&[
        ("members.json", json(&exported)),
        (
            "one.yaml",
            format!("{STAGES}{}{placement}", run("release-7")),
        ),
        ("two.yaml", format!("{STAGES}{}{}", run("a"), run("b"))),
    ]);
    let imported = printed(
        folder.path(),
        "import --members members.json --strategy one.yaml -o one",
    );
    let note = "the update run `release-7` is in the state Initialize, in which it updates nothing";
    assert!(imported.contains(note), "{imported}");
    assert!(
        imported.contains("read one.yaml: a placement"),
        "{imported}"
    );
    let written =
        std::fs::read_to_string(folder.path().join("one/experiment.yaml")).expect("written");
    for line in [
        "      resourceSnapshots: {installed: 6, release: 7}\n",
        "      runs: [{name: release-7, placementName: shop, resourceSnapshotIndex: \"7\", state: Run}]\n",
    ] {
        assert!(written.contains(line), "{written}");
    }
    let variants = loaded(&folder.path().join("one")).variants;
    assert_eq!(variants[0].scenario.world.clusters.len(), 3);
    let imported = printed(
        folder.path(),
        "import --members members.json --strategy two.yaml -o two",
    );
    let note = "note: left out: 2 update runs in two.yaml; to simulate them, save each as a file";
    assert!(imported.contains(note), "{imported}");
}

#[test]
fn an_error_of_the_strategy_is_shown_once() {
    let stages = STAGES.replace("maxConcurrency: 5", "maxConcurrency: 0");
    let folder = folder(&[
        ("members.json", json(&members(30))),
        ("stages.yaml", stages),
    ]);
    let (_, error) = refused(
        folder.path(),
        "import --members members.json --strategy stages.yaml -o out",
        b"",
    );
    assert!(error.contains(" --> stages.yaml:10:"), "{error}");
    assert_eq!(error.matches("error: ").count(), 1, "{error}");
}

#[test]
fn a_named_member_that_cannot_be_picked_is_reported_with_the_reason() {
    let fixed = "  policy: {placementType: PickFixed, clusterNames: [aks-member-001, aks-member-009, aks-member-004, nope]}\n";
    let head = PLACEMENT.split("  policy:").next().expect("a head");
    let folder = folder(&[
        ("members.json", json(&members(12))),
        ("placement.yaml", format!("{head}{fixed}")),
    ]);
    let (_, error) = refused(
        folder.path(),
        "import --members members.json --placement placement.yaml -o out",
        b"",
    );
    for message in [
        "`aks-member-009` is leaving the fleet",
        "`aks-member-004` has not joined the fleet",
        "`nope` is not among the member clusters",
    ] {
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn a_canary_deployment_that_scales_the_app_names_the_base_of_its_steps() {
    let mut scaled = deployment();
    scaled["options"]["web_instances"] = 40.into();
    let folder = folder(&[
        ("processes.json", json(&processes(20))),
        ("deployment.json", json(&scaled)),
    ]);
    let imported = printed(
        folder.path(),
        "import --process processes.json --deployment deployment.json -o out",
    );
    let note = "note: the steps of the canary phase are computed from 40 instances; Cloud Foundry uses 20 where";
    assert!(imported.contains(note), "{imported}");
}

#[test]
fn every_invalid_label_is_counted() {
    let mut clusters = fleet_clusters(30);
    for cluster in clusters["items"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .take(25)
    {
        cluster["metadata"]["labels"]["note"] = "a, b".into();
    }
    let folder = folder(&[("clusters.json", json(&clusters))]);
    let (_, error) = refused(folder.path(), "import --fleet clusters.json -o out", b"");
    assert!(
        error.contains("and 5 more problems") && error.contains("25 problems"),
        "{error}"
    );
}

/// The number of targets of every strategy of the experiment in `out`.
fn targets_of_strategies(folder: &Path) -> Vec<usize> {
    let variants = loaded(&folder.join("out")).variants;
    let mut counts = Vec::new();
    for variant in &variants {
        counts.push(variant.scenario.world.clusters.len());
    }
    counts
}

#[test]
fn clusters_that_a_fleet_yaml_does_not_select_are_left_out_for_all_strategies() {
    let strategy = "overrideTargets: [{clusterSelector: {matchLabels: {region: eu}}}]\n\
        targetCustomizations: [{clusterName: store-0003, doNotDeploy: true}]\n";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --strategy fleet.yaml -o out",
    );
    // Every third of the clusters store-0001 to store-0009 is in the region eu.
    assert!(
        imported.contains("note: left out: 6 clusters not selected by fleet.yaml\n"),
        "{imported}"
    );
    assert!(
        imported.contains("note: left out: 1 cluster with `doNotDeploy` in fleet.yaml\n"),
        "{imported}"
    );
    let counts = targets_of_strategies(folder.path());
    assert!(
        counts.len() > 2 && counts.iter().all(|count| *count == 2),
        "{counts:?}"
    );
    let experiment = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("text");
    assert!(
        experiment.contains("with `doNotDeploy` in fleet.yaml: store-0003."),
        "{experiment}"
    );
    let checked = printed(folder.path(), "check out");
    assert!(!checked.contains("different targets"), "{checked}");
}

#[test]
fn targets_of_the_fleet_yaml_replace_those_of_the_git_repo() {
    let repo = git_repo("targets: [{clusterSelector: {matchLabels: {region: us}}}]");
    let strategy = "overrideTargets: [{clusterSelector: {matchLabels: {region: eu}}}]\n";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("gitrepo.yaml", repo),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --gitrepo gitrepo.yaml --strategy fleet.yaml -o out",
    );
    let note = "note: the targets of the GitRepo are ignored: fleet.yaml has its own\n";
    assert!(imported.contains(note), "{imported}");
    assert!(
        imported.contains("note: left out: 6 clusters not selected by fleet.yaml\n"),
        "{imported}"
    );
    let counts = targets_of_strategies(folder.path());
    assert!(counts.iter().all(|count| *count == 3), "{counts:?}");
}

#[test]
fn members_that_a_placement_does_not_pick_are_named_in_the_experiment() {
    let folder = folder(&[
        ("members.json", json(&members(45))),
        ("placement.yaml", PLACEMENT.to_owned()),
        ("stages.yaml", STAGES.to_owned()),
    ]);
    printed(
        folder.path(),
        "import --members members.json --placement placement.yaml --strategy stages.yaml -o out",
    );
    let experiment = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("text");
    let note =
        "left out: 1 member with a taint that the placement does not tolerate: aks-member-039.";
    assert!(
        experiment.replace("\n# ", " ").contains(note),
        "{experiment}"
    );
    let counts = targets_of_strategies(folder.path());
    assert!(
        counts.len() > 1 && counts.iter().all(|count| *count == counts[0]),
        "{counts:?}"
    );
}
