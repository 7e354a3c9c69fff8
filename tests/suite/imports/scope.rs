//! Namespaces, owners and names decide which objects of an export count.

use std::fs;

use super::exports::{APPLICATION_SET, applications, fleet_clusters};
use super::{folder, json, printed, refused};
use crate::common::loaded;

/// A GitRepo of `fleet-default` with this specification.
fn git_repo(spec: &str) -> String {
    format!(
        "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: shop, namespace: fleet-default}}\n\
         spec: {{{spec}}}\n"
    )
}

/// Cluster groups `eu`, each of a namespace with a selector.
fn groups(of: &[(&str, &str)]) -> String {
    let group = |(namespace, selector): &(&str, &str)| {
        format!(
            "- apiVersion: fleet.cattle.io/v1alpha1\n  kind: ClusterGroup\n  \
             metadata: {{name: eu, namespace: {namespace}}}\n  spec: {{selector: {selector}}}\n"
        )
    };
    format!("apiVersion: v1\nkind: List\nitems:\n{}", of.iter().map(group).collect::<String>())
}

#[test]
fn cluster_groups_of_other_namespaces_have_no_members() {
    let strategy = "rolloutStrategy: {partitions: [{name: eu, clusterGroup: eu}, {name: all, clusterSelector: {}}]}\n";
    let selector = "{matchLabels: {region: eu}}";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("other.yaml", groups(&[("other", selector)])),
        ("both.yaml", groups(&[("other", "{}"), ("fleet-default", selector)])),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let words = "import --fleet clusters.json --strategy fleet.yaml --cluster-groups";
    let other = printed(folder.path(), &format!("{words} other.yaml -o other"));
    assert!(other.contains("note: left out: 1 cluster group outside of fleet-default"), "{other}");
    assert!(other.contains("warning: partitions[0] (`eu`) matches no cluster"), "{other}");
    let both = printed(folder.path(), &format!("{words} both.yaml -o both"));
    assert!(!both.contains("matches no cluster"), "{both}");
    let written = fs::read_to_string(folder.path().join("both/clustergroups.json")).expect("written");
    assert_eq!(written.matches("\"name\": \"eu\"").count(), 1, "{written}");
}

#[test]
fn a_paused_git_repo_pauses_its_clusters() {
    let repo = git_repo("paused: true, targets: [{clusterGroup: eu}, {clusterName: store-0001}]");
    let folder = folder(&[("clusters.json", json(&fleet_clusters(10))), ("gitrepo.yaml", repo)]);
    let imported = printed(folder.path(), "import --fleet clusters.json --gitrepo gitrepo.yaml -o out");
    assert!(imported.contains("note: the GitRepo is paused: its 1 cluster"), "{imported}");
    let unknown = "note: the cluster group `eu` of the GitRepo's targets selects nothing: add --cluster-groups";
    assert!(imported.contains(unknown), "{imported}");
    let experiment = loaded(&folder.path().join("out"));
    let clusters = experiment.variants[0].scenario.world.clusters.iter();
    assert_eq!(clusters.map(|cluster| (&*cluster.name, cluster.paused)).collect::<Vec<_>>(), [("store-0001", true)]);
}

#[test]
fn cluster_groups_that_are_not_given_are_asked_for() {
    let repo = git_repo("targets: [{clusterGroup: eu}]");
    let folder = folder(&[("clusters.json", json(&fleet_clusters(10))), ("gitrepo.yaml", repo)]);
    let (_, error) = refused(folder.path(), "import --fleet clusters.json --gitrepo gitrepo.yaml -o out", b"");
    assert!(error.contains("--cluster-groups"), "{error}");
}

/// Argo CD's clusters of two regions, in an order that is not that of their applications.
fn argo_clusters() -> String {
    let cluster = |(name, region): (&str, &str)| {
        serde_json::json!({"server": format!("https://{name}:6443"), "name": name,
                           "labels": {"region": region, "ring": "rest"}})
    };
    json(&[("c1", "us"), ("c2", "eu"), ("c3", "us")].map(cluster).into())
}

#[test]
fn generated_applications_have_the_names_of_the_template() {
    let set = |name: &str| {
        let set = APPLICATION_SET.replace("shop-{{.name}}", name);
        set.replace("{selector: {matchLabels: {argocd.argoproj.io/secret-type: cluster}}}", "{}")
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
    assert!(error.contains("several applications would have the name `us-shop`"), "{error}");
    assert!(error.contains(" --> same.yaml:"), "{error}");
    let other = printed(folder.path(), &format!("{words} other.yaml -o other"));
    assert!(other.contains("note: the name `{{.name | upper}}` cannot be computed from clusters"), "{other}");
}

#[test]
fn applications_of_a_set_in_another_namespace_are_left_out() {
    let mut apps = applications(4);
    let mut others = apps.clone();
    for app in others.as_array_mut().expect("a list") {
        app["metadata"]["namespace"] = "team-b".into();
    }
    apps.as_array_mut().expect("a list").append(others.as_array_mut().expect("a list"));
    let folder = folder(&[("apps.json", json(&apps)), ("set.yaml", APPLICATION_SET.to_owned())]);
    let imported = printed(folder.path(), "import --applications apps.json --strategy set.yaml -o out");
    assert!(imported.contains("note: left out: 8 applications of other ApplicationSets or of none"), "{imported}");
    assert_eq!(loaded(&folder.path().join("out")).variants[0].scenario.world.clusters.len(), 4);
}
