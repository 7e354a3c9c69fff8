//! Secrets in exports and in the products' files do not appear in any file of an imported experiment or of a results
//! folder, while all fields that affect a rollout do.

use std::fs;
use std::path::Path;

use fleetsim::scenario::Experiment;

use super::common::{
    contents, experiment_folders, fleetsim, folder_with, folders_in, loaded, root, text,
};

const SECRET: &str = "s3cr3t";

const FLEET_YAML: &str = "\
helm:
  chart: https://user:s3cr3t@charts.example.com/shop.tgz
  repo: https://user:s3cr3t@charts.example.com
  values: {db: {password: s3cr3t}}
  valuesFrom: [{secretKeyRef: {name: s3cr3t, key: s3cr3t}}]
namespaceAnnotations: {token: s3cr3t}
targetCustomizations: [{name: a, clusterSelector: {}, helm: {values: {token: s3cr3t}}}]
rolloutStrategy: {maxUnavailable: 2}
";

const APPLICATION_SET: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: shop
  namespace: argocd
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"token\": \"s3cr3t\"}'}
spec:
  goTemplate: true
  generators: [{git: {repoURL: 'https://user:s3cr3t@git.example.com/x.git', requeueAfterSeconds: 60, values: {t: s3cr3t}}}]
  strategy: {type: RollingSync, rollingSync: {steps: [{maxUpdate: 1}]}}
  template:
    metadata: {name: 'shop-{{.name}}', labels: {ring: a}, annotations: {token: s3cr3t}}
    spec:
      project: default
      source:
        repoURL: https://user:s3cr3t@git.example.com/shop.git
        helm: {parameters: [{name: password, value: s3cr3t}]}
      destination: {server: 'https://user:s3cr3t@10.0.0.1', namespace: shop}
      syncPolicy: {retry: {limit: 2}}
";

const PLACEMENT: &str = "\
kind: ClusterResourcePlacement
metadata: {name: shop, annotations: {token: s3cr3t}}
spec:
  resourceSelectors: [{group: '', version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, unavailablePeriodSeconds: 1}}
status: {conditions: [{message: s3cr3t}]}
";

const STAGED: &str = "\
kind: ClusterStagedUpdateStrategy
metadata: {name: all, annotations: {token: s3cr3t}, managedFields: [{manager: s3cr3t}]}
spec: {stages: [{name: all, labelSelector: {}, maxConcurrency: 1}]}
";

const DEPLOYMENT: &str = "{\"strategy\": \"rolling\", \"options\": {\"max_in_flight\": 2}, \
    \"metadata\": {\"annotations\": {\"token\": \"s3cr3t\"}}}";

const MANIFEST: &str = "{\"layers\": [{\"digest\": \"sha256:a\", \"size\": 10000000, \"annotations\": {\"t\": \"s3cr3t\"}}], \
    \"annotations\": {\"token\": \"s3cr3t\"}}";

const CLUSTERS: &str = "{\"kind\": \"List\", \"items\": [\
    {\"metadata\": {\"name\": \"a\", \"namespace\": \"fleet-default\", \"annotations\": {\"t\": \"s3cr3t\"}}, \
     \"spec\": {\"kubeConfigSecret\": \"s3cr3t\"}, \"status\": {\"namespace\": \"a\", \"agent\": {\"readyNodes\": 2}}}, \
    {\"metadata\": {\"name\": \"b\", \"namespace\": \"fleet-default\"}, \"spec\": {\"paused\": false, \"clientID\": \"s3cr3t\"}, \
     \"status\": {\"namespace\": \"b\", \"agent\": {\"readyNodes\": 1}}}]}";

const EXPERIMENT: &str = "
name: secrets
replicates: 2
horizon: 6h
inventory: {file: clusters.json}
release:
  images: [{name: shop, manifest: manifest.json}]
  workloads: [{kind: Deployment, image: shop}]
strategies:
  fleet: {rancherFleet: {file: fleet.yaml}}
  argo: {argoCd: {file: set.yaml, generate: false}}
  rolling: {kubeFleetRolling: {file: placement.yaml}}
  staged: {kubeFleetStaged: {file: staged.yaml}}
  cf: {cloudFoundry: {file: deployment.json}}
";

#[track_caller]
fn no_secret_in(folder: &Path) {
    for (name, bytes) in contents(folder) {
        let found = bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes());
        assert!(!found, "{name}: {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn results_contain_no_secrets_and_their_inputs_reproduce_the_rollout() {
    let folder = folder_with(&[
        ("experiment.yaml", EXPERIMENT),
        ("fleet.yaml", FLEET_YAML),
        ("set.yaml", APPLICATION_SET),
        ("placement.yaml", PLACEMENT),
        ("staged.yaml", STAGED),
        ("deployment.json", DEPLOYMENT),
        ("manifest.json", MANIFEST),
        ("clusters.json", CLUSTERS),
    ]);
    let at = folder.path();
    let run = fleetsim(at)
        .args(["run", ".", "--out", "out"])
        .output()
        .expect("run");
    let stderr = text(&run.stderr);
    assert!(run.status.success(), "{stderr}");
    assert!(
        stderr.contains(
            "note: inputs/fleet.yaml leaves out fields that are not simulated: helm.chart, helm.repo"
        ),
        "{stderr}"
    );
    no_secret_in(&at.join("out"));
    // Helm values determine how often Fleet's agent polls, so an experiment without them would have another rollout.
    let again = fleetsim(at)
        .args(["run", "out/inputs", "--out", "again"])
        .output()
        .expect("run");
    assert!(again.status.success(), "{}", text(&again.stderr));
    for table in [
        "runs.csv",
        "clusters.csv",
        "timeline.csv",
        "passes.csv",
        "statuses.csv",
    ] {
        let bytes = |out: &str| fs::read(at.join(out).join(table)).expect("written");
        assert!(bytes("out") == bytes("again"), "{table}");
    }
    let without = FLEET_YAML
        .replace("  values:", "  force: true\n  noValues:")
        .replace("  valuesFrom:", "  noValuesFrom:");
    fs::write(at.join("fleet.yaml"), without).expect("written");
    fleetsim(at)
        .args(["run", ".", "--out", "without"])
        .assert()
        .success();
    let runs = |out: &str| fs::read_to_string(at.join(out).join("runs.csv")).expect("written");
    assert_ne!(runs("out"), runs("without"), "values decide");
}

#[test]
fn a_page_with_the_simulator_contains_no_secrets() {
    let folder = folder_with(&[
        ("experiment.yaml", EXPERIMENT),
        ("fleet.yaml", FLEET_YAML),
        ("set.yaml", APPLICATION_SET),
        ("placement.yaml", PLACEMENT),
        ("staged.yaml", STAGED),
        ("deployment.json", DEPLOYMENT),
        ("manifest.json", MANIFEST),
        ("clusters.json", CLUSTERS),
    ]);
    let at = folder.path();
    // The page contains the simulator, but does not start it here, so any bytes that look like it are sufficient.
    fs::write(at.join("engine.gz"), [0x1f, 0x8b, 8]).expect("written");
    let page = [
        "explore",
        ".",
        "--page",
        "page.html",
        "--engine",
        "engine.gz",
    ];
    fleetsim(at).args(page).assert().success();
    let page = fs::read_to_string(at.join("page.html")).expect("written");
    assert!(page.contains("fleet.yaml"), "the files are in it");
    assert!(!page.contains(SECRET), "a secret is in the page");
}

#[test]
fn an_imported_experiment_contains_no_secrets() {
    let members = "{\"items\": [{\"apiVersion\": \"cluster.kubernetes-fleet.io/v1\", \"kind\": \"MemberCluster\", \
        \"metadata\": {\"name\": \"m\", \"annotations\": {\"t\": \"s3cr3t\"}}, \
        \"status\": {\"conditions\": [{\"type\": \"Joined\", \"status\": \"True\"}]}}]}";
    let secrets = "{\"items\": [{\"kind\": \"Secret\", \"apiVersion\": \"v1\", \
        \"metadata\": {\"name\": \"c\", \"labels\": {\"argocd.argoproj.io/secret-type\": \"cluster\"}, \"annotations\": {\"t\": \"s3cr3t\"}}, \
        \"stringData\": {\"name\": \"eu\", \"server\": \"https://eu\", \"config\": \"{\\\"bearerToken\\\": \\\"s3cr3t\\\"}\"}}]}";
    let with_clusters = APPLICATION_SET.replace(
        "{git: {repoURL: 'https://user:s3cr3t@git.example.com/x.git', requeueAfterSeconds: 60, values: {t: s3cr3t}}}",
        "{clusters: {values: {t: s3cr3t}}}",
    );
    let with_clusters = with_clusters.replace(
        "server: 'https://user:s3cr3t@10.0.0.1'",
        "server: '{{server}}'",
    );
    let process = "{\"pagination\": {}, \"resources\": [{\"guid\": \"g\", \"type\": \"web\", \"instances\": 3, \"command\": \"s3cr3t\"}]}";
    let deployed = DEPLOYMENT.replace(
        "{\"strategy\"",
        "{\"guid\": \"d\", \"droplet\": {\"guid\": \"s3cr3t\"}, \"strategy\"",
    );
    let folder = folder_with(&[
        (
            "clusters.json",
            &CLUSTERS.replace(
                "{\"metadata\"",
                "{\"kind\": \"Cluster\", \"apiVersion\": \"fleet.cattle.io/v1alpha1\", \"metadata\"",
            ),
        ),
        ("fleet.yaml", FLEET_YAML),
        ("members.json", members),
        (
            "placement.yaml",
            &format!("apiVersion: placement.kubernetes-fleet.io/v1\n{PLACEMENT}")
                .replace("RollingUpdate,", "External,"),
        ),
        ("staged.yaml", &format!("apiVersion: placement.kubernetes-fleet.io/v1\n{STAGED}")),
        ("secrets.json", secrets),
        ("set.yaml", &with_clusters),
        ("process.json", process),
        ("deployment.json", &deployed),
        ("manifest.json", MANIFEST),
    ]);
    let at = folder.path();
    for (name, options) in [
        (
            "fleet",
            &["--fleet", "clusters.json", "--strategy", "fleet.yaml"][..],
        ),
        (
            "kubefleet",
            &[
                "--members",
                "members.json",
                "--placement",
                "placement.yaml",
                "--strategy",
                "staged.yaml",
            ],
        ),
        (
            "argo",
            &["--clusters", "secrets.json", "--strategy", "set.yaml"],
        ),
        (
            "cf",
            &[
                "--process",
                "process.json",
                "--deployment",
                "deployment.json",
            ],
        ),
    ] {
        let arguments = [
            &["import", "--image", "manifest.json", "-o", name][..],
            options,
        ]
        .concat();
        let output = fleetsim(at).args(arguments).output().expect("run");
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(
            text(&output.stdout).contains("left out fields that are not simulated"),
            "{name}: {}",
            text(&output.stdout)
        );
        no_secret_in(&at.join(name));
        fleetsim(at).args(["check", name]).assert().success();
    }
}

/// The list of fields that are copied contains everything that our experiments need.
#[test]
fn the_copies_of_all_experiments_have_the_same_rollout() {
    let mut folders = experiment_folders();
    folders.extend(folders_in(&root().join("examples")));
    folders.retain(|folder| folder.join("experiment.yaml").exists());
    let mut compared = 0;
    for folder in folders {
        let original = loaded(&folder);
        // The name of an experiment may come from its folder.
        let home = tempfile::tempdir().expect("a folder");
        let copy = home.path().join(folder.file_name().expect("a name"));
        if original
            .inputs
            .iter()
            .any(|input| input.path.starts_with(".."))
        {
            continue;
        }
        for input in &original.inputs {
            let to = copy.join(&input.path);
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::write(to, &*input.copy().0).expect("written");
        }
        let copied = loaded(&copy);
        assert_eq!(
            original.resolved(),
            copied.resolved(),
            "{}",
            folder.display()
        );
        // The products' own programs receive the whole file.
        let scenarios = |experiment: &Experiment| {
            let native = experiment
                .variants
                .iter()
                .filter(|variant| variant.scenario.strategy().command().is_none());
            format!("{:?}", native.collect::<Vec<_>>())
        };
        assert!(
            scenarios(&original) == scenarios(&copied),
            "{}",
            folder.display()
        );
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}
