//! Real exports of Rancher Fleet: which clusters are targets, and which files are not a fleet.yaml.

use super::common::{fleetsim, folder_with, loaded, text};

/// A cluster as kubectl prints it.
fn cluster(namespace: &str, name: &str) -> String {
    format!(
        r#"{{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
            "metadata": {{"name": "{name}", "namespace": "{namespace}", "labels": {{"env": "prod"}}}},
            "spec": {{}}, "status": {{"namespace": "cluster-{namespace}-{name}"}}}}"#
    )
}

fn inventory(clusters: &[(&str, &str)]) -> String {
    let items: Vec<String> = clusters
        .iter()
        .map(|(namespace, name)| cluster(namespace, name))
        .collect();
    format!(r#"{{"kind": "List", "items": [{}]}}"#, items.join(", "))
}

fn experiment(inventory: &str) -> String {
    format!(
        "
name: x
inventory: {inventory}
release:
  images: [{{name: app, manifest: {{layers: [{{size: 10 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies: {{s: {{rancherFleet: {{file: fleet.yaml}}}}}}
"
    )
}

/// Names of the targets of an experiment with the given clusters.
fn targets(written: &str, clusters: &[(&str, &str)]) -> Vec<String> {
    let files = [
        ("experiment.yaml", experiment(written)),
        ("clusters.json", inventory(clusters)),
        (
            "fleet.yaml",
            "rolloutStrategy: {maxUnavailable: 1}\n".to_owned(),
        ),
    ];
    let folder = folder_with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let experiment = loaded(folder.path());
    experiment.variants[0]
        .scenario
        .world
        .clusters
        .iter()
        .map(|cluster| cluster.name.clone())
        .collect()
}

/// Errors that `fleetsim check` prints for the given files.
fn refused(written: &str, clusters: &[(&str, &str)], fleet_yaml: &str) -> String {
    let files = [
        ("experiment.yaml", experiment(written)),
        ("clusters.json", inventory(clusters)),
        ("fleet.yaml", fleet_yaml.into()),
    ];
    let folder = folder_with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    text(
        &fleetsim(folder.path())
            .args(["check", "."])
            .assert()
            .failure()
            .get_output()
            .stderr,
    )
}

/// 300 clusters as printed by `kubectl get clusters.fleet.cattle.io -A`: the management cluster, two that are paused,
/// and one whose agent has not registered.
fn export() -> String {
    let mut items = vec![cluster("fleet-local", "local")];
    for at in 1..300 {
        let item = cluster("fleet-default", &format!("store-{at:03}"));
        items.push(match at {
            17 | 170 => item.replace(r#""spec": {}"#, r#""spec": {"paused": true}"#),
            250 => item.replace(
                r#""status": {"namespace": "cluster-fleet-default-store-250"}"#,
                r#""status": {}"#,
            ),
            _ => item,
        });
    }
    format!(r#"{{"kind": "List", "items": [{}]}}"#, items.join(", "))
}

#[test]
fn an_exported_fleet_with_clusters_that_cannot_be_updated_gets_an_answer() {
    let text_of = experiment("clusters.json")
        .replace("name: x\n", "name: stores\nreplicates: 6\n")
        .replace(
            "strategies: {s: {rancherFleet: {file: fleet.yaml}}}",
            "strategies: {s: {rancherFleet: {maxUnavailable: 10%}}}
sweep: {strategies.s.rancherFleet.maxUnavailable: [10, 10%, 25%, 100%]}",
        );
    let folder = folder_with(&[
        ("experiment.yaml", text_of.as_str()),
        ("clusters.json", export().as_str()),
    ]);
    let printed = text(
        &fleetsim(folder.path())
            .args(["run", "."])
            .assert()
            .success()
            .get_output()
            .stdout,
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first: Vec<&str> = printed.lines().take(6).collect();
    let answer = words(&first.join(" "));
    assert!(
        answer.starts_with("Use `maxUnavailable=100%`: the fastest of 4 settings"),
        "{printed}"
    );
    assert!(
        answer.contains("3 of 299 clusters cannot be updated: 2 paused and 1 without agent"),
        "{printed}"
    );
    assert!(
        !printed.contains("unfinished"),
        "every setting has a time: {printed}"
    );
    let results = folder.path().join("results/stores");
    let page = std::fs::read_to_string(results.join("report.html")).expect("the page");
    let answered = page
        .split("<h2 id=\"answer-title\">Answer</h2>")
        .nth(1)
        .expect("the page has an answer");
    let answered = &answered[..answered.find("</section>").expect("it ends")];
    assert!(
        answered.contains("3 of 299 clusters cannot be updated: 2 paused and 1 without agent"),
        "{answered}"
    );
    let mut runs = csv::Reader::from_path(results.join("runs.csv")).expect("runs.csv");
    let rows: Vec<fleetsim::results::RunRow> =
        runs.deserialize().collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), 24);
    for row in rows {
        assert_eq!(
            (row.targets, row.reachable_targets, row.completion_s),
            (299, 296, None)
        );
        assert_eq!(
            (
                row.paused_targets,
                row.agentless_targets,
                row.offline_targets
            ),
            (2, 1, 0)
        );
        assert!(row.reachable_ready_s.is_some(), "{}", row.held());
    }
}

const ALL: [(&str, &str); 3] = [
    ("fleet-local", "local"),
    ("fleet-default", "a"),
    ("fleet-default", "b"),
];

#[test]
fn the_targets_of_a_bundle_are_the_clusters_of_its_workspace() {
    assert_eq!(targets("clusters.json", &ALL), ["a", "b"]);
    assert_eq!(
        targets("{file: clusters.json, namespace: fleet-local}", &ALL),
        ["local"]
    );
    assert_eq!(
        targets("clusters.json", &ALL[..1]),
        ["local"],
        "the one workspace of the file"
    );
    let twins = [("fleet-default", "a"), ("edge", "a")];
    assert_eq!(
        targets("{file: clusters.json, namespace: edge}", &twins),
        ["a"],
        "names repeat between workspaces"
    );
}

#[test]
fn a_workspace_must_exist_and_be_chosen() {
    let two = [("edge", "a"), ("core", "b")];
    let messages = refused("clusters.json", &two, "");
    assert!(
        messages.contains("the inventory has clusters in 2 namespaces"),
        "{messages}"
    );
    assert!(
        messages.contains("set `inventory.namespace` to one of"),
        "{messages}"
    );
    let messages = refused("{file: clusters.json, namespace: prod}", &two, "");
    assert!(
        messages.contains("the inventory has no clusters in the namespace `prod`"),
        "{messages}"
    );
}

#[test]
fn a_file_that_is_not_a_fleet_yaml_is_refused() {
    let one = [("fleet-default", "a")];
    for (fleet_yaml, message, help) in [
        (
            "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nspec: {}",
            "this is a GitRepo",
            "name the fleet.yaml in the repository",
        ),
        (
            "kind: Bundle\nspec: {rolloutStrategy: {}}",
            "this is a Bundle",
            "name the fleet.yaml of the bundle",
        ),
    ] {
        let messages = refused("clusters.json", &one, fleet_yaml);
        assert!(
            messages.contains(message) && messages.contains(help),
            "{messages}"
        );
    }
}

/// Names of the targets of a GitRepo, or the errors of loading it.
fn of_git_repo(git_repo: &str) -> Result<Vec<String>, String> {
    let clusters = [
        ("fleet-local", "local"),
        ("fleet-default", "a"),
        ("fleet-default", "b"),
        ("edge", "c"),
    ];
    let written = "{file: clusters.json, gitRepo: gitrepo.yaml, clusterGroups: groups.json}";
    let groups = r#"{"kind": "List", "items": [{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup",
        "metadata": {"name": "shops"}, "spec": {"selector": {"matchLabels": {"env": "prod"}}}},
        {"metadata": {"name": "lab", "namespace": "edge"}, "spec": {"selector": {}}}]}"#;
    let files = [
        ("experiment.yaml", experiment(written)),
        ("clusters.json", inventory(&clusters)),
        ("groups.json", groups.to_owned()),
        ("gitrepo.yaml", git_repo.to_owned()),
        (
            "fleet.yaml",
            "rolloutStrategy: {maxUnavailable: 1}\n".to_owned(),
        ),
    ];
    let folder = folder_with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let checked = fleetsim(folder.path())
        .args(["check", "."])
        .output()
        .expect("run");
    if !checked.status.success() {
        return Err(text(&checked.stderr));
    }
    let experiment = loaded(folder.path());
    let clusters = experiment.variants[0].scenario.world.clusters.iter();
    Ok(clusters
        .map(|cluster| {
            format!(
                "{}{}",
                cluster.name,
                if cluster.paused { " (paused)" } else { "" }
            )
        })
        .collect())
}

#[test]
fn a_git_repo_decides_which_clusters_are_targets() {
    let repo = |namespace: &str, targets: &str| {
        of_git_repo(&format!(
            "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: shop, namespace: {namespace}}}\n\
             spec: {{repo: https://example.com/shop.git, branch: main, paths: [shop], {targets}}}\n"
        ))
    };
    let names = |names: &[&str]| {
        Ok(names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>())
    };
    assert_eq!(
        repo("fleet-default", "targets: [{clusterSelector: {}}]"),
        names(&["a", "b"])
    );
    assert_eq!(
        repo("fleet-default", "targets: [{clusterName: b}]"),
        names(&["b"])
    );
    assert_eq!(
        repo(
            "fleet-default",
            "targets: [{clusterName: b}, {clusterGroup: shops}]"
        ),
        names(&["a", "b"])
    );
    assert_eq!(
        repo(
            "edge",
            "targets: [{clusterSelector: {matchLabels: {env: prod}}}]"
        ),
        names(&["c"])
    );
    assert_eq!(
        repo("edge", "paused: true, targets: [{clusterName: c}]"),
        names(&["c (paused)"])
    );
    assert_eq!(
        repo("edge", "targets: [{clusterGroup: lab}]"),
        names(&["c"])
    );
    for (targets, message) in [
        (
            "targets: [{clusterName: x}]",
            "spec.targets: the targets select no cluster of the inventory",
        ),
        // The group `lab` is in the namespace `edge`.
        (
            "targets: [{clusterGroup: lab}]",
            "spec.targets: the targets select no cluster of the inventory",
        ),
        (
            "targets: []",
            "a GitRepo without targets deploys to the cluster group `default`, which has no cluster here",
        ),
    ] {
        let refused = repo("fleet-default", targets).expect_err(message);
        assert!(
            refused.contains(message.split(": ").last().expect("words")),
            "{refused}"
        );
        assert!(refused.contains("gitrepo.yaml:4:"), "{refused}");
    }
    let refused = of_git_repo("kind: Bundle\n").expect_err("another kind");
    assert!(
        refused.contains("the file must be a GitRepo, but this is a Bundle"),
        "{refused}"
    );
}

#[test]
fn a_partition_by_group_has_clusters_of_the_groups_own_namespace() {
    let groups = r#"[{"metadata": {"name": "eu", "namespace": "fleet-default"}, "spec": {}},
        {"metadata": {"name": "eu", "namespace": "edge"}, "spec": {"selector": {}}}]"#;
    let fleet_yaml = "rolloutStrategy: {partitions: [{name: p, clusterGroup: eu}, {name: q, clusterSelector: {}}]}\n";
    let folder = folder_with(&[
        (
            "experiment.yaml",
            &experiment("{file: clusters.json, clusterGroups: groups.json}"),
        ),
        (
            "clusters.json",
            &inventory(&[("fleet-default", "a"), ("fleet-default", "b")]),
        ),
        ("groups.json", groups),
        ("fleet.yaml", fleet_yaml),
    ]);
    let explained = text(
        &fleetsim(folder.path())
            .args(["explain", "."])
            .assert()
            .success()
            .get_output()
            .stdout,
    );
    assert!(
        explained.contains("partitions[0] (`p`) matches no cluster"),
        "{explained}"
    );
}
