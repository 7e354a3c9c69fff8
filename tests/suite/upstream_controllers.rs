//! `controller: upstream`: a product's own controller in the place of the native scheduler.
//!
//! The real programs are those of `controllers/build`. Tests that need them look in `target/controllers` and are
//! skipped with a message where there are none. They must be in the folder that `FLEETSIM_CONTROLLERS` names.

use std::path::{Path, PathBuf};

use super::common::{canaries_and_stores, contents, fleetsim, folder_with, root, text};

pub(super) const SET: &str = "
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: app, namespace: argocd}
spec:
  generators: [{clusters: {}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions: [{key: ring, operator: In, values: [canary]}]
        - matchExpressions: [{key: ring, operator: In, values: [rest]}]
          maxUpdate: 25%
  template:
    metadata: {name: '{{name}}'}
    spec:
      project: default
      source: {repoURL: https://git.example.com/app.git, path: deploy}
      destination: {server: '{{server}}', namespace: default}
";

pub(super) const BUNDLE: &str = "
defaultNamespace: app
rolloutStrategy:
  maxUnavailable: 25%
  partitions:
    - {name: canary, clusterSelector: {matchLabels: {ring: canary}}}
    - {name: rest, clusterSelector: {matchLabels: {ring: rest}}}
";

/// An experiment with twelve clusters, `strategies` and the products' files.
fn experiment(strategies: &str) -> tempfile::TempDir {
    let experiment = canaries_and_stores(2, strategies, "");
    folder_with(&[
        ("experiment.yaml", &experiment),
        ("applicationset.yaml", SET),
        ("fleet.yaml", BUNDLE),
    ])
}

/// The folder of the products' programs. `None`: there is none, and the test is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(super) fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("FLEETSIM_CONTROLLERS").map(PathBuf::from);
    let folder = named
        .clone()
        .unwrap_or_else(|| root().join("target/controllers"));
    if folder.join("argocd").exists() && folder.join("fleet").exists() {
        return Some(folder);
    }
    assert!(
        named.is_none(),
        "FLEETSIM_CONTROLLERS must name a folder with the programs"
    );
    eprintln!(
        "skipped: there are no programs in {}; controllers/build makes them",
        folder.display()
    );
    None
}

/// What the program prints to standard error when it runs this experiment with programs from `programs`, and its code.
fn run(experiment: &Path, programs: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = fleetsim(experiment);
    command
        .env("FLEETSIM_CONTROLLERS", programs)
        .args(["run", ".", "--allow-commands"])
        .args(more);
    let output = command.output().expect("it runs");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn the_products_own_controllers_complete_a_rollout_with_the_same_bytes_on_any_number_of_threads() {
    let Some(programs) = programs() else { return };
    let folder = experiment(
        "{argo: {argoCd: {file: applicationset.yaml, controller: upstream}}, \
          fleet: {rancherFleet: {file: fleet.yaml, controller: upstream}}}",
    );
    for (threads, out) in [("1", "one"), ("2", "two")] {
        let (code, messages) = run(
            folder.path(),
            &programs,
            &["--threads", threads, "--out", out],
        );
        assert_eq!(code, Some(0), "{messages}");
    }
    let tables = |out: &str| {
        let files = contents(&folder.path().join(out));
        files
            .into_iter()
            .filter(|(name, _)| name.ends_with(".csv"))
            .collect::<Vec<_>>()
    };
    let one = tables("one");
    assert!(one == tables("two"), "two threads change no byte");
    let runs = one
        .iter()
        .find(|(name, _)| name == "runs.csv")
        .map(|(_, bytes)| text(bytes))
        .expect("the runs");
    assert_eq!(runs.matches(",complete,").count(), 4, "{runs}");
}

#[test]
fn the_native_scheduler_instructs_clusters_in_the_order_of_the_products_own_controller() {
    let Some(programs) = programs() else { return };
    for (product, file) in [
        ("argoCd", "applicationset.yaml"),
        ("rancherFleet", "fleet.yaml"),
    ] {
        let order = |choice: &str| {
            let folder = experiment(&format!(
                "{{s: {{{product}: {{file: {file}, controller: {choice}}}}}}}"
            ));
            let (code, messages) = run(
                folder.path(),
                &programs,
                &["--replicates", "1", "--out", "out"],
            );
            assert_eq!(code, Some(0), "{messages}");
            instructed(&folder.path().join("out/clusters.csv"))
        };
        let (upstream, native) = (order("upstream"), order("native"));
        if product == "argoCd" {
            // Within a step, the order depends on how long comparisons take.
            assert!(
                upstream[..2]
                    .iter()
                    .chain(&native[..2])
                    .all(|cluster| cluster.starts_with("canary"))
            );
        } else {
            assert_eq!(upstream, native, "{product}");
        }
    }
}

/// The clusters in the order in which they were instructed.
fn instructed(table: &Path) -> Vec<String> {
    let mut table = csv::Reader::from_path(table).expect("the table");
    let names = table.headers().expect("a heading").clone();
    let at = |name: &str| {
        names
            .iter()
            .position(|column| column == name)
            .expect("a column")
    };
    let (cluster, told) = (at("cluster"), at("told_s"));
    let mut rows: Vec<(f64, String)> = table
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| (row[told].parse().expect("a time"), row[cluster].to_owned()))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, cluster)| cluster).collect()
}

#[test]
fn a_controller_that_is_missing_is_named_with_the_command_that_builds_it() {
    let folder = experiment("{s: {rancherFleet: {file: fleet.yaml, controller: upstream}}}");
    let (code, messages) = run(
        folder.path(),
        &folder.path().join("nowhere"),
        &["--out", "out"],
    );
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("nowhere/fleet` must exist; build it with `controllers/build`"),
        "{messages}"
    );
    assert!(!folder.path().join("out").exists(), "nothing is written");
    let check = fleetsim(folder.path())
        .env("FLEETSIM_CONTROLLERS", "/nowhere")
        .args(["check", "."])
        .assert()
        .success();
    let warnings = text(&check.get_output().stdout).replace("\n  ", " ");
    assert!(
        warnings.contains("warning: s: the program `/nowhere/fleet` must exist"),
        "{warnings}"
    );
}

#[test]
fn a_missing_controller_is_found_before_the_runs_of_other_strategies() {
    let folder = experiment(
        "{native: {rancherFleet: {file: fleet.yaml}}, s: {rancherFleet: {file: fleet.yaml, controller: upstream}}}",
    );
    let (code, messages) = run(
        folder.path(),
        &folder.path().join("nowhere"),
        &["--out", "out"],
    );
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("s: the program") && !messages.contains("saved"),
        "{messages}"
    );
}

#[test]
fn settings_that_the_products_controller_cannot_read_are_refused() {
    let refused = |strategy: &str| {
        let folder = experiment(&format!("{{s: {strategy}}}"));
        let output = fleetsim(folder.path())
            .args(["check", "."])
            .assert()
            .code(2)
            .get_output()
            .clone();
        text(&output.stderr)
    };
    let messages = refused("{rancherFleet: {maxUnavailable: 1, controller: upstream}}");
    assert!(
        messages.contains("needs the strategy in the product's own file"),
        "{messages}"
    );
    let messages =
        refused("{rancherFleet: {file: fleet.yaml, maxUnavailable: 1, controller: upstream}}");
    assert!(
        messages.contains("`maxUnavailable` has no effect with `controller: upstream`, which reads `fleet.yaml` alone"),
        "{messages}"
    );
}

#[test]
fn nothing_is_started_to_check_or_explain() {
    let folder = experiment("{s: {argoCd: {file: applicationset.yaml, controller: upstream}}}");
    for command in ["check", "explain"] {
        fleetsim(folder.path())
            .env("FLEETSIM_CONTROLLERS", "/nowhere")
            .args([command, "."])
            .assert()
            .success();
    }
    let output = fleetsim(folder.path())
        .args(["run", "."])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("add --allow-commands"),
        "{}",
        text(&output.stderr)
    );
}
