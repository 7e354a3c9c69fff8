//! Every source in all its forms: standard input, YAML, several documents, indexes, GitRepo targets, Secrets,
//! manifests.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::exports::{
    APPLICATION_SET, FLEET_YAML, applications, cluster_secrets, deployment, digest, fleet_clusters,
    members, new_image, nodes, processes,
};
use super::{folder, json, names, printed, refused};
use crate::common::{fleetsim, loaded, text};

/// The names of the targets of an imported experiment.
fn targets(folder: &Path) -> Vec<String> {
    let experiment = loaded(&folder.join("out"));
    experiment.variants[0]
        .scenario
        .world
        .clusters
        .iter()
        .map(|cluster| cluster.name.clone())
        .collect()
}

#[test]
fn standard_input_is_read_like_a_file() {
    let folder = folder(&[]);
    let mut command = fleetsim(folder.path());
    let input = json(&fleet_clusters(5));
    command
        .args(["import", "--fleet", "-", "-o", "out"])
        .write_stdin(input)
        .assert()
        .success();
    assert_eq!(
        targets(folder.path()),
        ["store-0001", "store-0002", "store-0003", "store-0004"]
    );
}

#[test]
fn yaml_with_several_documents_is_read_like_json() {
    let clusters = fleet_clusters(5);
    let documents: Vec<String> = clusters["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(pretty)
        .collect();
    let folder = folder(&[("clusters.yaml", format!("---\n{}", documents.join("---\n")))]);
    printed(folder.path(), "import --fleet clusters.yaml -o out");
    assert_eq!(targets(folder.path()).len(), 4);
}

/// The value as indented JSON, which is also YAML.
fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("values can be written") + "\n"
}

#[test]
fn a_git_repo_and_groups_decide_the_targets() {
    let repo = "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {name: shop, namespace: fleet-default}\n\
        spec: {repo: https://example.com/shop.git, targets: [{clusterGroup: eu}]}\n";
    let groups = r#"{"kind": "List", "items": [{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup",
        "metadata": {"name": "eu", "namespace": "fleet-default"}, "spec": {"selector": {"matchLabels": {"region": "eu"}}}}]}"#;
    let strategy = "rolloutStrategy: {partitions: [{name: eu, clusterGroup: eu}]}\n";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(10))),
        ("gitrepo.yaml", repo.to_owned()),
        ("groups.json", groups.to_owned()),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let words = "import --fleet clusters.json --gitrepo gitrepo.yaml --cluster-groups groups.json --strategy fleet.yaml -o out";
    let imported = printed(folder.path(), words);
    assert_eq!(
        targets(folder.path()),
        ["store-0003", "store-0006", "store-0009"]
    );
    assert!(
        imported.contains("note: left out: 6 clusters not selected by the GitRepo"),
        "{imported}"
    );
}

#[test]
fn another_workspace_is_chosen_by_its_name() {
    let folder = folder(&[("clusters.json", json(&fleet_clusters(60)))]);
    printed(
        folder.path(),
        "import --fleet clusters.json --namespace edge-lab -o out",
    );
    assert_eq!(targets(folder.path()), ["store-0050"]);
}

#[test]
fn an_index_next_to_its_manifests_is_followed() {
    let image = new_image();
    let digest_of_image = {
        use sha2::{Digest, Sha256};
        let bytes: String = Sha256::digest(image.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("sha256:{bytes}")
    };
    let index = serde_json::json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            {"digest": digest("arm"), "size": 1, "platform": {"os": "linux", "architecture": "arm64"}},
            {"digest": digest_of_image, "size": image.len(), "platform": {"os": "linux", "architecture": "amd64"}},
            {"digest": digest("attestation"), "size": 1, "platform": {"os": "unknown", "architecture": "unknown"}},
        ],
    });
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(3))),
        ("v2.json", format!("{}\n{image}\n", json(&index))),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --image v2.json -o out",
    );
    assert!(imported.contains("v2.json: 3 layers, 90 MB"), "{imported}");
    let copy = fs::read_to_string(folder.path().join("out/v2.json")).expect("written");
    let [mut image, copy] =
        [&image, &copy].map(|text| serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    image
        .as_object_mut()
        .expect("an object")
        .remove("annotations");
    assert_eq!(copy, image, "annotations decide nothing");
}

#[test]
fn exported_nodes_determine_the_number_of_nodes_and_the_runtime() {
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(3))),
        ("nodes.json", json(&nodes())),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --nodes nodes.json -o out",
    );
    assert!(
        imported.contains("read nodes.json: 4 nodes, 3 of them for pods"),
        "{imported}"
    );
    assert!(
        imported.contains("containerd://1.7.13 is simulated as containerd-1.7"),
        "{imported}"
    );
    let text = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("written");
    assert!(
        text.contains("\n    nodes: 3\n") && text.contains("\n  runtime: containerd-1.7\n"),
        "{text}"
    );
    assert!(!imported.contains("inventory.default.nodes"), "{imported}");
}

#[test]
fn applications_are_computed_from_cluster_secrets_without_their_credentials() {
    let folder = folder(&[
        ("secrets.json", json(&cluster_secrets(6))),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --clusters secrets.json --strategy set.yaml -o out",
    );
    assert!(
        imported.contains("note: left out: 1 Secret without a cluster"),
        "{imported}"
    );
    let names_of_template = [
        "shop-eu-0",
        "shop-eu-1",
        "shop-eu-2",
        "shop-eu-3",
        "shop-eu-4",
        "shop-eu-5",
    ];
    assert_eq!(targets(folder.path()), names_of_template);
    let table = fs::read_to_string(folder.path().join("out/clusters.csv")).expect("written");
    assert_eq!(table.lines().nth(1), Some("shop-eu-0,ring=canary"));
    for name in names(&folder.path().join("out")) {
        let text = fs::read_to_string(folder.path().join("out").join(&name)).expect("text");
        assert!(
            !text.contains("eyJiZWFyZXJUb2tlbiI6"),
            "{name} has no credentials"
        );
    }
}

#[test]
fn applications_are_read_in_the_format_of_kubectl() {
    let mut items = applications(4);
    for application in items.as_array_mut().expect("a list") {
        application["apiVersion"] = "argoproj.io/v1alpha1".into();
        application["kind"] = "Application".into();
    }
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let folder = folder(&[
        ("apps.json", json(&list)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    printed(
        folder.path(),
        "import --applications apps.json --strategy set.yaml -o out",
    );
    assert_eq!(
        targets(folder.path()),
        ["shop-eu-00", "shop-eu-01", "shop-eu-02", "shop-eu-03"]
    );
}

#[test]
fn clusters_are_read_in_the_format_of_argo_cds_client() {
    let cluster = |name: &str, kind: &str, ring: &str| {
        serde_json::json!({
            "server": format!("https://{name}:6443"), "name": name, "serverVersion": "1.29",
            "config": {"bearerToken": "secret", "tlsClientConfig": {"insecure": false}},
            "connectionState": {"status": "Successful", "message": "", "attemptedAt": "2026-03-02T08:11:09Z"},
            "info": {"applicationsCount": 3}, "labels": {"argocd.argoproj.io/secret-type": kind, "ring": ring},
        })
    };
    let local = serde_json::json!({"server": "https://kubernetes.default.svc", "name": "in-cluster", "config": {}});
    let clusters = serde_json::json!([
        local,
        cluster("eu-1", "cluster", "canary"),
        cluster("eu-2", "cluster", "rest")
    ]);
    let folder = folder(&[
        ("clusters.json", json(&clusters)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --clusters clusters.json --strategy set.yaml -o out",
    );
    assert!(
        imported.contains("note: left out: 1 cluster not selected by the generators"),
        "{imported}"
    );
    assert_eq!(targets(folder.path()), ["shop-eu-1", "shop-eu-2"]);
}

#[test]
fn several_images_become_separate_workloads() {
    let files = [
        ("clusters.json", json(&fleet_clusters(3))),
        ("shop-v2.json", new_image()),
        ("shop-v1.json", super::exports::old_image()),
        ("proxy-1.2.json", super::exports::manifest(&[("proxy", 12)])),
    ];
    let folder = folder(&files);
    printed(
        folder.path(),
        "import --fleet clusters.json --image shop-v2.json --image proxy-1.2.json --previous shop-v1.json -o out",
    );
    let experiment = loaded(&folder.path().join("out"));
    let world = &experiment.variants[0].scenario.world;
    let names: Vec<&str> = world.applications[0]
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    assert_eq!(names, ["shop", "proxy"]);
    assert_eq!(world.images[0].previous.len(), 3);
    assert!(world.images[1].previous.is_empty());
}

#[test]
fn applications_of_one_cluster_share_its_link() {
    let mut apps = applications(6);
    for application in apps.as_array_mut().expect("a list").iter_mut().take(4) {
        application["spec"]["destination"] = serde_json::json!({"name": "big", "namespace": "x"});
    }
    let folder = folder(&[
        ("apps.json", json(&apps)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --applications apps.json --strategy set.yaml -o out",
    );
    assert!(
        imported.contains("note: 1 cluster with several applications"),
        "{imported}"
    );
    let experiment = loaded(&folder.path().join("out"));
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(world.regions.len(), 1);
    assert_eq!(
        world
            .clusters
            .iter()
            .filter(|cluster| cluster.region == Some(0))
            .count(),
        4
    );
}

#[test]
fn an_app_manifest_names_the_instances() {
    let manifest = "---\napplications:\n- name: shop\n  instances: 3\n  memory: 256M\n  buildpacks: [ruby_buildpack]\n\
        \x20 readiness-health-check-type: http\n- name: worker\n  no-route: true\n";
    let request = r#"{"strategy": "rolling", "options": {"max_in_flight": 2}, "relationships": {"app": {"data": {"guid": "x"}}}}"#;
    let folder = folder(&[
        ("manifest.yml", manifest.to_owned()),
        ("request.json", request.to_owned()),
    ]);
    printed(
        folder.path(),
        "import --manifest manifest.yml --app shop --deployment request.json -o out",
    );
    assert_eq!(targets(folder.path()), ["shop-0", "shop-1", "shop-2"]);
    assert_eq!(
        fs::read_to_string(folder.path().join("out/request.json")).expect("copied"),
        request
    );
}

#[test]
fn an_existing_deployment_is_converted_to_its_request() {
    let folder = folder(&[
        ("processes.json", json(&processes(20))),
        ("deployment.json", json(&deployment())),
    ]);
    printed(
        folder.path(),
        "import --process processes.json --deployment deployment.json -o out",
    );
    let written = fs::read_to_string(folder.path().join("out/deployment.json")).expect("written");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(
        written["options"],
        serde_json::json!({"max_in_flight": 20, "canary": {"steps": [{"instance_weight": 5}, {"instance_weight": 25}]}})
    );
    assert!(written.get("guid").is_none() && written.get("status").is_none());
}

#[test]
fn a_rolling_placement_is_also_the_strategy() {
    let placement = "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourcePlacement\nmetadata: {name: shop}\n\
        spec:\n  policy: {placementType: PickN, numberOfClusters: 3}\n  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}\n\
        status: {placementStatuses: [{clusterName: aks-member-006}, {clusterName: aks-member-002}, {clusterName: aks-member-001}]}\n";
    let folder = folder(&[
        ("members.json", json(&members(12))),
        ("placement.yaml", placement.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --members members.json --placement placement.yaml -o out",
    );
    assert!(
        imported.contains("note: the 3 members of the placement's status are its targets"),
        "{imported}"
    );
    assert_eq!(
        targets(folder.path()),
        ["aks-member-001", "aks-member-002", "aks-member-006"]
    );
}

#[test]
fn leftovers_of_a_killed_import_are_removed_by_the_next_one() {
    let folder = folder(&[("clusters.json", json(&fleet_clusters(4)))]);
    // The import waits for its standard input, after creating its hidden folder.
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    waiting
        .args(["import", "--fleet", "-", "-o", "out"])
        .current_dir(folder.path())
        .stdin(Stdio::piped());
    let mut waiting = waiting.spawn().expect("started");
    let is_hidden =
        |name: &String| name.starts_with(".out.fleetsim-new-") && !name.ends_with(".lock");
    let hidden = || names(folder.path()).into_iter().filter(is_hidden).count();
    let begun = Instant::now();
    while hidden() == 0 {
        assert!(
            begun.elapsed().as_secs() < 30,
            "the import makes its hidden folder"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    printed(folder.path(), "import --fleet clusters.json -o out");
    assert_eq!(hidden(), 1, "a folder in use stays");
    waiting.kill().expect("killed");
    waiting.wait().expect("it ends");
    assert_eq!(hidden(), 1, "a killed import cannot clean up");
    printed(
        folder.path(),
        "import --fleet clusters.json -o out --replace",
    );
    assert_eq!(names(folder.path()), ["clusters.json", "out"]);
    // If an import is killed between two renames, the earlier folder stays moved aside.
    fs::rename(
        folder.path().join("out"),
        folder.path().join(".out.fleetsim-old"),
    )
    .expect("renamed");
    let (code, error) = refused(
        folder.path(),
        "import --fleet none.json -o out --replace",
        b"",
    );
    assert!(
        code == 2 && error.contains("there is no such file"),
        "{error}"
    );
    assert_eq!(
        names(folder.path()),
        ["clusters.json", "out"],
        "the earlier import is back"
    );
    assert_eq!(targets(folder.path()).len(), 3);
}

#[test]
fn a_report_from_the_future_does_not_make_other_agents_late() {
    let mut clusters = fleet_clusters(41);
    clusters["items"][5]["status"]["agent"]["lastSeen"] = "9999-03-02T08:00:00Z".into();
    let folder = folder(&[("clusters.json", json(&clusters))]);
    let imported = printed(folder.path(), "import --fleet clusters.json -o out");
    assert!(
        imported.contains("note: left out: the last report of 1 agent, a time in the future\n"),
        "{imported}"
    );
    assert!(!imported.contains("are offline in every run"), "{imported}");
}

#[test]
fn agents_without_recent_reports_are_offline_by_name() {
    let mut clusters = fleet_clusters(41);
    for (at, seen) in [
        (5, "2026-02-27T08:00:00Z"),
        (6, "2026-03-02T06:30:00Z"),
        (8, "2026-03-02T07:30:00Z"),
    ] {
        clusters["items"][at]["status"]["agent"]["lastSeen"] = seen.into();
    }
    let folder = folder(&[("clusters.json", json(&clusters))]);
    let imported = printed(folder.path(), "import --fleet clusters.json -o out");
    let note = "2 of 40 are offline in every run, because their agents were last seen more than an hour before the newest \
                report: `store-0005`, `store-0006`";
    assert!(imported.contains(note), "{imported}");
    let experiment = loaded(&folder.path().join("out"));
    let world = &experiment.variants[0].scenario.world;
    let offline = world.clusters.iter().filter(|cluster| cluster.offline);
    let names: Vec<&str> = offline.map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["store-0005", "store-0006"]);
    let text = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("written");
    assert!(!text.contains("faults:"), "nothing is drawn: {text}");
}

#[test]
fn an_earlier_import_is_replaced_on_request_only() {
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(4))),
        ("fleet.yaml", FLEET_YAML.to_owned()),
    ]);
    let import = |words: &str| {
        let mut command = fleetsim(folder.path());
        let output = command
            .args(["import", "--fleet", "clusters.json", "-o", "out"])
            .args(words.split_whitespace())
            .output();
        let output = output.expect("run");
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(import("").0, Some(0));
    let (code, error) = import("");
    assert_eq!(
        (code, error.as_str()),
        (
            Some(1),
            "error: out exists; add --replace, or choose another output folder\n"
        )
    );
    assert_eq!(import("--replace"), (Some(0), String::new()));
    assert_eq!(
        names(folder.path()),
        ["clusters.json", "fleet.yaml", "out"],
        "both are the same"
    );

    let experiment = folder.path().join("out/experiment.yaml");
    let mine = fs::read_to_string(&experiment)
        .expect("written")
        .replace("seed: 1", "seed: 23");
    fs::write(&experiment, &mine).expect("edited");
    assert_eq!(import("--replace"), (Some(0), String::new()));
    let kept = folder.path().join("out.before-import");
    assert_eq!(
        fs::read_to_string(kept.join("experiment.yaml")).expect("kept"),
        mine
    );
    assert!(
        fs::read_to_string(&experiment)
            .expect("written")
            .contains("seed: 1\n")
    );
    fs::write(&experiment, &mine).expect("edited again");
    let (code, error) = import("--replace");
    let refused =
        "error: out would be kept as out.before-import, which exists; move or remove it\n";
    assert_eq!((code, error.as_str()), (Some(1), refused));
    assert_eq!(
        fs::read_to_string(&experiment).expect("written"),
        mine,
        "the edits are there"
    );
}

/// An ApplicationSet whose template computes the label that its steps select.
const LABELS_OF_TEMPLATE: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  goTemplate: true
  generators: [{clusters: {selector: {matchLabels: {shop: 'yes'}}}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{key: envLabel, operator: In, values: [canary]}]
        - matchExpressions: [{key: envLabel, operator: In, values: [prod]}]
          maxUpdate: 25%
  template:
    metadata: {name: '{{.name}}-shop', labels: {envLabel: '{{.metadata.labels.env}}'}}
    spec:
      source: {repoURL: 'https://git.example.com/x.git', path: shop, targetRevision: HEAD}
      destination: {server: '{{.server}}', namespace: shop}
";

#[test]
fn labels_that_a_template_has_computed_are_not_computed_again() {
    let mut apps = applications(20);
    for app in apps.as_array_mut().expect("a list") {
        let env = if app["metadata"]["labels"]["ring"] == "canary" {
            "canary"
        } else {
            "prod"
        };
        app["metadata"]["labels"] = serde_json::json!({"envLabel": env});
    }
    let folder = folder(&[
        ("apps.json", json(&apps)),
        ("set.yaml", LABELS_OF_TEMPLATE.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --applications apps.json --strategy set.yaml -o out",
    );
    assert!(!imported.contains("selects no application"), "{imported}");
    let explained = printed(folder.path(), "explain out");
    for step in ["step 1: 10 applications", "step 2: 10 applications"] {
        assert!(explained.contains(step), "{explained}");
    }
}

#[test]
fn agents_that_never_reported_and_dead_clusters_are_counted_by_all_importers() {
    let mut clusters = fleet_clusters(41);
    // Fleet creates the namespace before an agent registers.
    for (at, agent) in [
        (5, serde_json::json!({"lastSeen": null})),
        (6, serde_json::json!({})),
        (8, serde_json::json!(null)),
    ] {
        clusters["items"][at]["status"]["agent"] = agent;
    }
    clusters["items"][9]["status"]["display"] = serde_json::json!({"state": "WaitCheckIn"});
    let mut members = members(30);
    for at in [3, 12] {
        members["items"][at]["status"]["agentStatus"][0]["lastReceivedHeartbeat"] =
            "2025-11-02T08:11:09Z".into();
    }
    let mut apps = applications(20);
    apps[5]["status"]["health"]["status"] = "Unknown".into();
    let server = |at: usize| format!("https://10.0.{at}.1:6443");
    let connection = |at: usize| {
        if at == 7 || at == 30 {
            "Failed"
        } else {
            "Successful"
        }
    };
    let known: Vec<_> = (0..40)
        .map(|at| {
            serde_json::json!({"server": server(at), "name": format!("eu-{at:02}"), "config": {},
                                     "connectionState": {"status": connection(at)}})
        })
        .collect();
    let folder = folder(&[
        ("clusters.json", json(&clusters)),
        ("members.json", json(&members)),
        ("apps.json", json(&apps)),
        ("known.json", serde_json::to_string(&known).expect("JSON")),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let imported = printed(folder.path(), "import --fleet clusters.json -o out");
    // Clusters 3 and 12 are paused, and 7 has no agent in either case.
    assert!(
        imported.contains("7 of the clusters cannot be updated: 2 paused, 5 without agent"),
        "{imported}"
    );
    let counted = |options: &str| {
        let imported = printed(
            folder.path(),
            &format!("import {options} --replace -o other"),
        );
        let experiment = loaded(&folder.path().join("other"));
        let clusters = experiment.variants[0].scenario.world.clusters.iter();
        let offline = clusters.filter(|cluster| cluster.offline).count();
        let note = format!("note: {offline} of ");
        assert!(imported.contains(&note), "{imported}");
        offline
    };
    assert_eq!(counted("--members members.json"), 2);
    // One cluster is Unknown; one of the failed clusters has an application.
    let options = "--applications apps.json --clusters known.json --strategy set.yaml";
    assert_eq!(counted(options), 2);
}

#[test]
fn exports_are_read_in_all_common_forms() {
    let [first, second] = [fleet_clusters(4), fleet_clusters(9)];
    let rest: Vec<_> = second["items"].as_array().expect("a list")[4..].to_vec();
    // The output of `jq -s . page1.json page2.json`.
    let slurped =
        serde_json::json!([first, {"kind": "ClusterList", "apiVersion": "v1", "items": rest}]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(json(&slurped).as_bytes())
        .expect("compressed");
    let folder = folder(&[("fleet.yaml", FLEET_YAML.to_owned())]);
    fs::write(
        folder.path().join("clusters.json.gz"),
        packed.finish().expect("compressed"),
    )
    .expect("written");
    printed(
        folder.path(),
        "import --fleet clusters.json.gz --strategy fleet.yaml -o out",
    );
    let wanted: Vec<String> = (1..9).map(|at| format!("store-{at:04}")).collect();
    assert_eq!(targets(folder.path()), wanted);

    // Names that consist of digits, as YAML 1.1 writers print them.
    let yaml = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: fleet.cattle.io/v1alpha1\n  kind: Cluster\n  metadata:\n    \
                labels: {store: 0008}\n    name: 0008\n    namespace: fleet-default\n  status: {namespace: x}\n";
    fs::write(folder.path().join("clusters.yaml"), yaml).expect("written");
    printed(
        folder.path(),
        "import --fleet clusters.yaml --replace -o out",
    );
    assert_eq!(targets(folder.path()), ["0008"]);
    let table = fs::read_to_string(folder.path().join("out/clusters.csv")).expect("written");
    assert_eq!(table.lines().nth(1), Some("0008,fleet-default,store=0008"));
}

#[test]
fn nodes_that_accept_no_pods_are_not_counted() {
    let mut nodes = nodes();
    let ready = |status: &str| serde_json::json!([{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]);
    let worker = nodes["items"][1].clone();
    for change in 0..4 {
        let mut node = worker.clone();
        node["metadata"]["name"] = format!("other-{change}").into();
        node["status"]["conditions"] = ready(if change == 1 { "Unknown" } else { "True" });
        node["status"]["nodeInfo"]["operatingSystem"] = "linux".into();
        node["status"]["nodeInfo"]["architecture"] =
            if change == 2 { "arm64" } else { "amd64" }.into();
        if change == 0 {
            node["spec"]["unschedulable"] = true.into();
        }
        nodes["items"].as_array_mut().expect("a list").push(node);
    }
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(3))),
        ("nodes.json", json(&nodes)),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --nodes nodes.json -o out",
    );
    let line = "read nodes.json: 8 nodes, 4 of them for pods, 1 cordoned, 1 not ready, 1 of another platform";
    assert!(imported.contains(line), "{imported}");
}

#[test]
fn a_helm_chart_is_not_read_as_an_image() {
    let chart = r#"{"schemaVersion": 2, "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json",
        "digest": "sha256:aa", "size": 117}, "layers": [{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        "digest": "sha256:bb", "size": 2487}]}"#;
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(3))),
        ("chart.json", chart.to_owned()),
    ]);
    let (code, error) = refused(
        folder.path(),
        "import --fleet clusters.json --image chart.json -o out",
        b"",
    );
    assert!(
        code == 2
            && error.contains("this is a Helm chart, not an image")
            && error.contains("help:"),
        "{error}"
    );
}

#[test]
fn an_inline_strategy_replaces_that_of_the_file() {
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(40))),
        ("fleet.yaml", FLEET_YAML.to_owned()),
    ]);
    printed(
        folder.path(),
        "import --fleet clusters.json --strategy fleet.yaml --inline -o out",
    );
    let page = folder.path().join("out/experiment.yaml");
    let text = fs::read_to_string(&page).expect("written");
    assert!(
        text.contains("\n      file: fleet.yaml\n")
            && text.contains("\n      maxUnavailable: 10%\n"),
        "{text}"
    );
    let of = || {
        loaded(&folder.path().join("out")).variants[0]
            .scenario
            .strategy()
            .snippet()
            .map(|snippet| snippet.text)
    };
    let both = of();
    assert!(
        both.as_ref().is_some_and(|text| text.contains("canary")),
        "{both:?}"
    );
    let (head, _) = text.split_once("      # These replace").expect("a comment");
    fs::write(&page, format!("{head}  all-at-once: {{allAtOnce: {{}}}}\n")).expect("written");
    assert_eq!(of(), both, "the file alone is the same strategy");
}

#[test]
fn links_depend_on_the_kind_of_site_in_the_exports() {
    let mut shops = fleet_clusters(12);
    for shop in shops["items"].as_array_mut().expect("a list") {
        shop["metadata"]["labels"]["provider.cattle.io"] = "k3s".into();
    }
    let folder = folder(&[
        ("members.json", json(&members(12))),
        ("shops.json", json(&shops)),
    ]);
    let link = |of: &str| {
        let clusters = loaded(&folder.path().join(of)).variants[0]
            .scenario
            .world
            .clusters
            .clone();
        (
            clusters[0].downlink.to_string(),
            clusters[0].rtt.to_string(),
        )
    };
    let imported = printed(folder.path(), "import --members members.json -o aks");
    assert!(
        imported.contains(
            "the links are those of `--site cloud`, because labels or addresses of all clusters say so"
        ),
        "{imported}"
    );
    assert_eq!(link("aks"), ("100 Gbit/s".to_owned(), "5 ms".to_owned()));
    let imported = printed(folder.path(), "import --fleet shops.json -o shops");
    assert!(
        imported.contains("note: no --site: the links are those of branch offices;"),
        "{imported}"
    );
    assert_eq!(
        link("shops"),
        (
            "a median of 100 Mbit/s, sigma 0.9".to_owned(),
            "a median of 30 ms, sigma 0.35".to_owned()
        )
    );
    for (at, shop) in shops["items"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .enumerate()
    {
        shop["metadata"]["labels"]["site"] = if at < 4 { "dc" } else { "kiosk" }.into();
    }
    fs::write(folder.path().join("labelled.json"), json(&shops)).expect("written");
    let imported = printed(folder.path(), "import --fleet labelled.json -o labelled");
    assert!(
        imported.contains("labels and addresses indicate: 3 data-centre (column `site`"),
        "one is `local`: {imported}"
    );
    let clusters = loaded(&folder.path().join("labelled")).variants[0]
        .scenario
        .world
        .clusters
        .clone();
    let fast = clusters
        .iter()
        .filter(|cluster| cluster.downlink.to_string() == "10 Gbit/s")
        .count();
    assert_eq!((fast, clusters.len()), (3, 11));
    let imported = printed(folder.path(), "import --fleet shops.json --site dsl -o dsl");
    assert!(
        imported.contains("FCC's Measuring Broadband America") && !imported.contains("no --site"),
        "{imported}"
    );
    assert_eq!(link("dsl").0, "a median of 16 Mbit/s, sigma 1.1");
}
