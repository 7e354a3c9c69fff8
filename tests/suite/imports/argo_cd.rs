//! Exported Applications of Argo CD: their own settings, their ApplicationSet, and the state of their clusters.

use std::fs;
use std::path::Path;

use fleetsim::world::SiteKind;
use serde_json::{Value, json};

use super::exports::{APPLICATION_SET, applications};
use super::{folder, json as text_of, printed, refused};
use crate::common::loaded;

/// The set of [`applications`] without steps, whose template has automated sync.
fn set_without_steps() -> String {
    let (before, steps) = APPLICATION_SET
        .split_once("  strategy:\n")
        .expect("it has a strategy");
    let (_, template) = steps
        .split_once("  template:\n")
        .expect("it has a template");
    let spec = "    spec:\n      syncPolicy: {automated: {}}\n";
    format!(
        "{before}  template:\n{}",
        template.replace("    spec:\n", spec)
    )
}

/// An ApplicationSet as returned by the API server.
fn set_object() -> Value {
    let text = "
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  generators: [{clusters: {selector: {matchLabels: {a: b}}}}]
  strategy: {type: RollingSync, rollingSync: {steps: [{maxUpdate: 2}]}}
  template:
    metadata: {name: 'shop-{{name}}'}
    spec:
      project: default
      source: {repoURL: https://git.example.com/shop.git, targetRevision: v2, path: deploy}
      destination: {server: '{{server}}', namespace: shop}
";
    serde_saphyr::from_str(text).expect("YAML")
}

/// The strategies of an imported experiment, as text.
fn strategies(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("out/experiment.yaml")).expect("written");
    let at = text.find("\nstrategies:").expect("it has strategies");
    text[at..].to_owned()
}

/// The applications that are offline in the imported experiment.
fn offline(folder: &Path) -> Vec<String> {
    let experiment = loaded(&folder.join("out"));
    let clusters = experiment.variants[0].scenario.world.clusters.iter();
    let offline = clusters.filter(|cluster| cluster.offline);
    offline.map(|cluster| cluster.name.clone()).collect()
}

#[test]
fn automated_sync_is_read_from_each_application() {
    let mut apps = applications(6);
    apps[1]["spec"]["syncPolicy"] = json!({});
    apps[2]["spec"]["syncPolicy"]["automated"]["enabled"] = false.into();
    apps[3]["spec"]["syncPolicy"]["automated"]["enabled"] = true.into();
    let files = [
        ("apps.json", text_of(&apps)),
        ("set.yaml", set_without_steps()),
        ("steps.yaml", APPLICATION_SET.to_owned()),
    ];
    let folder = folder(&files);
    let import = "import --applications apps.json --replace -o out";
    let imported = printed(folder.path(), &format!("{import} --strategy set.yaml"));
    let note =
        "2 of 6 have no automated sync (`shop-eu-01`, `shop-eu-02`), although the template has it";
    assert!(imported.contains(note), "{imported}");
    let except = "      autoSyncExcept:\n        - shop-eu-01\n        - shop-eu-02\n";
    assert!(strategies(folder.path()).contains(except));
    let run = printed(folder.path(), "run out --replicates 1");
    assert!(run.contains("4 of 6 clusters"), "{run}");
    assert!(
        run.contains("2 of 6 clusters paused for the whole time"),
        "{run}"
    );

    // A RollingSync turns automated sync off and syncs all applications itself.
    let rolling = printed(folder.path(), &format!("{import} --strategy steps.yaml"));
    let note = "4 of 6 have automated sync, which a RollingSync turns off";
    assert!(rolling.contains(note), "{rolling}");
    assert!(!strategies(folder.path()).contains("autoSync"));
    let run = printed(folder.path(), "run out --replicates 1");
    assert!(run.contains("all 6 clusters ready in"), "{run}");
}

#[test]
fn applications_without_a_set_or_automated_sync_wait_for_a_user() {
    let mut apps = applications(3);
    for app in apps.as_array_mut().expect("a list") {
        app["spec"]["syncPolicy"] = Value::Null;
    }
    apps[2]["spec"]["syncPolicy"] =
        json!({"automated": {}, "retry": {"limit": 2}, "syncOptions": ["CreateNamespace=true"]});
    apps[1]["spec"]["ignoreDifferences"] = json!([{"kind": "Deployment"}]);
    apps[1]["status"]["sync"]["status"] = "OutOfSync".into();
    let folder = folder(&[("apps.json", text_of(&apps))]);
    let imported = printed(folder.path(), "import --applications apps.json -o out");
    for note in [
        "`spec.ignoreDifferences` is not simulated and can change the answer: `shop-eu-01`\n",
        "`spec.syncPolicy.retry` is not simulated and can change the answer: `shop-eu-02`\n",
        "OutOfSync now, and simulated as Synced before the release: `shop-eu-01`\n",
    ] {
        assert!(imported.contains(note), "{note}: {imported}");
    }
    assert!(!imported.contains("syncOptions"), "{imported}");
    let written = strategies(folder.path());
    let lines = "      autoSync: false\n      autoSyncExcept:\n        - shop-eu-02\n      release: commit\n";
    assert!(written.contains(lines), "{written}");
    let explained = printed(folder.path(), "explain out");
    let note = "automated: shop-eu-02; only a user syncs the others";
    assert!(explained.contains(note), "{explained}");
}

#[test]
fn a_skipped_application_keeps_its_status_and_its_step() {
    let mut apps = applications(14);
    let skip = |value: &str| json!({"argocd.argoproj.io/skip-reconcile": value});
    apps[1]["metadata"]["annotations"] = skip("true");
    // `strconv.ParseBool` rejects this value.
    apps[2]["metadata"]["annotations"] = skip("yes");
    let mut behind = apps.clone();
    behind[1]["status"]["sync"]["status"] = "OutOfSync".into();
    let folder = folder(&[
        ("apps.json", text_of(&apps)),
        ("behind.json", text_of(&behind)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let import = "--strategy set.yaml --replace -o out";
    let imported = printed(
        folder.path(),
        &format!("import --applications apps.json {import}"),
    );
    assert!(
        imported.contains("`skip-reconcile` keeps Argo CD from comparing or syncing `shop-eu-01`;"),
        "{imported}"
    );
    let line = "skipReconcile:\n        - {name: shop-eu-01, sync: Synced, health: Healthy}\n";
    assert!(strategies(folder.path()).contains(line));
    let run = printed(folder.path(), "run out --replicates 1");
    // The row of the skipped application is Healthy because of its last status, so the second step begins.
    assert!(run.contains("13 of 14 clusters ready in"), "{run}");

    printed(
        folder.path(),
        &format!("import --applications behind.json {import}"),
    );
    let explained = printed(folder.path(), "explain out");
    let note = "not Synced and Healthy, and skipped: shop-eu-01; their step is never complete";
    assert!(explained.contains(note), "{explained}");
    let run = printed(folder.path(), "run out --replicates 1");
    assert!(run.contains("blocked by"), "{run}");
    assert!(run.contains("skip-reconcile keeps Argo CD from"), "{run}");
}

#[test]
fn applications_of_a_skipped_cluster_are_skipped() {
    let apps = applications(3);
    let cluster = |at: usize, annotations: Value| {
        json!({"server": format!("https://10.0.{at}.1:6443"), "name": format!("c{at}"), "config": {},
               "annotations": annotations})
    };
    let skip = json!({"argocd.argoproj.io/skip-reconcile": "true"});
    let known = json!([
        cluster(0, Value::Null),
        cluster(1, skip),
        cluster(2, json!({}))
    ]);
    let folder = folder(&[
        ("apps.json", text_of(&apps)),
        ("known.json", text_of(&known)),
    ]);
    let import = "import --applications apps.json --clusters known.json --replace -o out";
    printed(folder.path(), import);
    assert!(strategies(folder.path()).contains("- {name: shop-eu-01, sync: Synced"));
    printed(
        folder.path(),
        "import --clusters known.json --replace -o out",
    );
    assert!(strategies(folder.path()).contains("- {name: c1, sync: Synced"));
}

#[test]
fn an_export_of_a_set_and_its_applications_gives_the_strategy_and_the_fleet() {
    let mut apps = applications(5).as_array().expect("a list").clone();
    for app in &mut apps {
        app["apiVersion"] = "argoproj.io/v1alpha1".into();
        app["kind"] = "Application".into();
    }
    let mut both = apps.clone();
    both.push(set_object());
    let mut two = both.clone();
    two.push(set_object());
    let list =
        |items: &[Value]| text_of(&json!({"kind": "List", "apiVersion": "v1", "items": items}));
    let folder = folder(&[
        ("both.json", list(&both)),
        ("two.json", list(&two)),
        ("apps.json", list(&apps)),
        ("set.json", text_of(&set_object())),
    ]);
    let imported = printed(folder.path(), "import --applications both.json -o out");
    for line in [
        "read both.json: 8 applications\n",
        "read both.json (ApplicationSet shop): an ApplicationSet\n",
        "note: from both.json: the applications, with their labels, clusters, automated sync and status; from \
         both.json (ApplicationSet shop): the strategy\n",
        "note: left out: 2 applications belonging to other ApplicationSets or to none\n",
    ] {
        assert!(imported.contains(line), "{line}: {imported}");
    }
    assert!(!imported.contains("objects of other kinds"), "{imported}");
    let table = fs::read_to_string(folder.path().join("out/clusters.csv")).expect("written");
    assert_eq!(table.lines().nth(1), Some("shop-eu-00,ring=canary"));
    let explained = printed(folder.path(), "explain out");
    assert!(explained.contains("step 1: 5 applications"), "{explained}");

    // The same content is in two files.
    let words = "--applications apps.json --strategy set.json --replace -o two-files";
    let files = printed(folder.path(), &format!("import {words}"));
    assert!(files.contains("from set.json: the strategy"), "{files}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("written");
    assert_eq!(read("out/clusters.csv"), read("two-files/clusters.csv"));
    let (_, error) = refused(
        folder.path(),
        "import --applications two.json -o other",
        b"",
    );
    assert!(error.contains("the file has two strategies"), "{error}");
    assert!(error.contains("argocd appset get NAME -o yaml"), "{error}");
}

#[test]
fn an_export_that_contains_its_set_may_come_from_standard_input() {
    let mut items = applications(3).as_array().expect("a list").clone();
    items.push(set_object());
    let mut command = crate::common::fleetsim(tempfile::tempdir().expect("a folder").path());
    let folder = folder(&[]);
    let assert = command
        .current_dir(folder.path())
        .args(["import", "--applications", "-", "-o", "out"])
        .write_stdin(text_of(&Value::Array(items)))
        .assert()
        .success();
    let said = crate::common::text(&assert.get_output().stdout);
    assert!(
        said.contains("(ApplicationSet shop): an ApplicationSet"),
        "{said}"
    );
}

#[test]
fn applications_whose_clusters_cannot_be_reached_are_offline_by_name() {
    let mut apps = applications(9);
    let failed = |message: &str| {
        json!({"sync": {"status": "Unknown"}, "health": {"status": "Healthy"},
               "conditions": [{"type": "ComparisonError", "message": message}]})
    };
    apps[1]["status"] = failed("Failed to load live state: dial tcp 10.0.1.1:6443: i/o timeout");
    apps[2]["status"] =
        failed("Failed to load target state: failed to generate manifest for source 1 of 1");
    apps[4]["status"]["health"]["status"] = "Unknown".into();
    apps[5]["status"] = json!({"sync": {"status": "Unknown"}, "health": {"status": "Unknown"},
        "conditions": [{"type": "InvalidSpecError", "message": "there are no clusters with this name"}]});
    let known = json!([
        {"server": "https://10.0.6.1:6443", "name": "c6", "config": {}, "connectionState": {"status": "Failed"}},
        {"server": "https://10.0.7.1:6443", "name": "c7", "config": {}, "connectionState": {"status": "Successful"}},
    ]);
    let folder = folder(&[
        ("apps.json", text_of(&apps)),
        ("known.json", text_of(&known)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let words = "import --applications apps.json --clusters known.json --strategy set.yaml -o out";
    let imported = printed(folder.path(), words);
    for note in [
        "3 of 9 are offline in every run, because Argo CD cannot reach their clusters: `shop-eu-01`, `shop-eu-04`, \
         `shop-eu-06`; see column `offline`",
        "the manifests of `shop-eu-02` cannot be generated now",
        "Degraded now, and simulated as Healthy before the release: `shop-eu-03`",
        "not valid (InvalidSpecError), so never written or synced: `shop-eu-05`",
    ] {
        assert!(imported.contains(note), "{note}: {imported}");
    }
    assert_eq!(
        offline(folder.path()),
        ["shop-eu-01", "shop-eu-04", "shop-eu-06"]
    );
    let text = fs::read_to_string(folder.path().join("out/experiment.yaml")).expect("written");
    assert!(!text.contains("faults:"), "nothing is drawn: {text}");
}

#[test]
fn clusters_in_a_cloud_have_the_links_of_that_cloud() {
    let mut apps = applications(5);
    let mut to = |at: usize, destination: Value| apps[at]["spec"]["destination"] = destination;
    to(
        0,
        json!({"server": "https://0A1B.gr7.eu-west-1.eks.amazonaws.com"}),
    );
    to(1, json!({"name": "gke_shop_europe-west1_a"}));
    to(2, json!({"server": "https://10.0.2.1:6443"}));
    to(
        3,
        json!({"server": "https://shop-1a2b.hcp.westeurope.azmk8s.io:443"}),
    );
    let known = json!([{"server": "https://10.0.2.1:6443", "name": "c2", "config": {},
                        "labels": {"topology.kubernetes.io/region": "eu-1"}}]);
    let folder = folder(&[
        ("apps.json", text_of(&apps)),
        ("known.json", text_of(&known)),
    ]);
    let words = "import --applications apps.json --clusters known.json -o out";
    let imported = printed(folder.path(), words);
    let note = "addresses indicate: 5 cloud (column `site` in clusters.csv); for the other 2, those of branch";
    assert!(imported.contains(note), "{imported}");
    let experiment = loaded(&folder.path().join("out"));
    let clusters = &experiment.variants[0].scenario.world.clusters;
    let sites: Vec<String> = clusters[..5]
        .iter()
        .map(|cluster| cluster.site.map_or_else(String::new, SiteKind::name))
        .collect();
    assert_eq!(sites, ["cloud", "cloud", "cloud", "cloud", "branch"]);
    let all = printed(
        folder.path(),
        "import --clusters known.json --replace -o out",
    );
    assert!(
        all.contains("`--site cloud`, because labels or addresses of all clusters say so"),
        "{all}"
    );
}

#[test]
fn a_note_on_a_release_by_commit_names_the_polling_and_the_alternative() {
    let mut tags = applications(3);
    for app in tags.as_array_mut().expect("a list") {
        app["spec"]["source"]["targetRevision"] = "v1.2.0".into();
    }
    let mut mixed = tags.clone();
    mixed[0]["spec"]["source"]["targetRevision"] = "HEAD".into();
    let folder = folder(&[
        ("apps.json", text_of(&applications(3))),
        ("tags.json", text_of(&tags)),
        ("mixed.json", text_of(&mixed)),
        ("set.yaml", APPLICATION_SET.to_owned()),
    ]);
    let import = "import --applications";
    let imported = printed(
        folder.path(),
        &format!("{import} apps.json --strategy set.yaml -o out"),
    );
    assert!(
        imported.contains(
            "`targetRevision` is main, so a release is a commit, which applications find by polling"
        ),
        "{imported}"
    );
    assert!(
        imported.contains("strategies.as-exported.argoCd.webhook"),
        "{imported}"
    );
    assert!(strategies(folder.path()).contains("\n      webhook: false\n"));

    let tagged = printed(folder.path(), &format!("{import} tags.json -o tags"));
    assert!(!tagged.contains("webhook"), "{tagged}");
    let some = printed(folder.path(), &format!("{import} mixed.json -o mixed"));
    assert!(
        some.contains("1 of 5 follow commits; the others name a tag"),
        "{some}"
    );
    let mixed = fs::read_to_string(folder.path().join("mixed/experiment.yaml")).expect("written");
    assert!(mixed.contains("      release: commit\n"), "{mixed}");
}
